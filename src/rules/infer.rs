//! The rules on shapes that are known in part.
//!
//! Under every rule, the size of an output axis depends only on the axes that are aligned with it,
//! and axes of different columns do not restrict each other. So the smallest box is found column by
//! column, by one of three relations: [`PartialSize::stretched_to`] (a 1 of the input replicates),
//! [`PartialSize::common`] (a 1 of either side) and [`PartialSize::and`] (none). What remains is
//! which axes are aligned, for ranks that may be unknown. An unknown rank may be any.

use super::axes::{in_range, increasing, unique};
use crate::error::{AxesFault, BroadcastError, ErrorKind, PartialFault, copied, shape_overflow};
use crate::mode::{BroadcastMode, ElementwiseRule};
use crate::partial::{PartialShape, PartialSize, PartialSizes};
use crate::pattern::AxisPattern;
use crate::plan::{BroadcastPlan, PartialCall, PartialPlan};
use crate::rule::Rule;
use crate::shape::{KEEP, Sizes, elements};
use ndarray::{IntoDimension, IxDyn};
use smallvec::SmallVec;

impl BroadcastMode {
    /// The output's shape, as far as it follows from what is known of input and target: the
    /// smallest box that holds every result that shapes within the bounds can give.
    ///
    /// The limit of `isize::MAX` elements is applied to the lower bounds only. Under `expand`, only
    /// a size known to be [`KEEP`] keeps the input's.
    ///
    /// # Errors
    ///
    /// If no shapes within the bounds fit: [`Impossible`](crate::ErrorKind::Impossible), or the
    /// error of the rule if both shapes are known.
    ///
    /// ```
    /// use ndarray_broadcast::{BroadcastMode, PartialShape, PartialSize};
    ///
    /// let input = PartialShape::new([PartialSize::between(2, 5)?, PartialSize::known(1)]);
    /// let target = PartialShape::new([PartialSize::ANY, PartialSize::ANY]);
    /// let output = BroadcastMode::Numpy.infer(&input, &target)?;
    /// assert_eq!(output.to_string(), "[2..5, ?]");
    /// assert_eq!(
    ///     BroadcastMode::Numpy
    ///         .infer(&input, &PartialShape::new([(6..).into(), PartialSize::ANY]))
    ///         .unwrap_err()
    ///         .to_string(),
    ///     "\
    /// cannot broadcast [2..5, 1] to [6.., ?] (numpy)
    ///   input    2..5  1
    ///   target    6..  ?
    ///               ^ 2..5 is never 6.., and never 1",
    /// );
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    ///
    /// Source: the rules, by interval arithmetic. OpenVINO's shape inference gives larger boxes.
    pub fn infer(
        &self,
        input: &PartialShape,
        target: &PartialShape,
    ) -> Result<PartialShape, BroadcastError> {
        if let (Some(input), Some(target)) = (input.value(), target.value()) {
            let plan = BroadcastPlan::with_mode(input, target, self)?;
            return Ok(PartialShape::known(plan.output_dim()));
        }
        let call = Call {
            rule: self.rule(),
            shapes: [input, target],
            operands: false,
        };
        match self {
            BroadcastMode::Numpy => call.right_aligned(None),
            BroadcastMode::Bidirectional => call.common(),
            BroadcastMode::Explicit { axes_mapping: axes }
            | BroadcastMode::InDim {
                broadcast_dimensions: axes,
            } => call.mapped(axes, increasing),
            BroadcastMode::InDimPermuting {
                broadcast_dimensions: axes,
            } => call.mapped(axes, unique),
            BroadcastMode::BroadcastAxes {
                broadcast_axes: axes,
            } => call.broadcast_axes(axes),
            BroadcastMode::Expand => call.right_aligned(Some(KEEP)),
            BroadcastMode::Pdpd { axis } => call.pdpd(*axis),
            BroadcastMode::Named { pattern } => call.named(pattern),
        }
    }
}

impl ElementwiseRule {
    /// The common shape, as far as it follows from what is known of both: the smallest box that
    /// holds every result that shapes within the bounds can give.
    ///
    /// # Errors
    ///
    /// If no shapes within the bounds fit: [`Impossible`](crate::ErrorKind::Impossible), or the
    /// error of the rule if both shapes are known.
    ///
    /// ```
    /// use ndarray_broadcast::{ElementwiseRule, PartialShape, PartialSize};
    ///
    /// let batch = PartialShape::new([PartialSize::ANY, PartialSize::known(3)]);
    /// let row = PartialShape::new([PartialSize::ANY]);
    /// assert_eq!(ElementwiseRule::Numpy.infer(&batch, &row)?.to_string(), "[?, 3]");
    /// assert!(ElementwiseRule::None.infer(&batch, &row).is_err());
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    ///
    /// Source: the rules, by interval arithmetic. OpenVINO's shape inference gives larger boxes.
    pub fn infer(
        &self,
        a: &PartialShape,
        b: &PartialShape,
    ) -> Result<PartialShape, BroadcastError> {
        if let (Some(a), Some(b)) = (a.value(), b.value()) {
            let (plan, _) = BroadcastPlan::pair(a, b, self)?;
            return Ok(PartialShape::known(plan.output_dim()));
        }
        let (rule, operands) = (self.rule(), true);
        let shapes = [a, b];
        let call = Call {
            rule,
            shapes,
            operands,
        };
        match self {
            ElementwiseRule::None => call.identical(),
            ElementwiseRule::Numpy => call.common(),
            // B is broadcast to A.
            ElementwiseRule::Pdpd { axis } => Call {
                rule,
                shapes: [b, a],
                operands: false,
            }
            .pdpd(*axis),
            ElementwiseRule::Xla {
                broadcast_dimensions,
            } => call.xla(broadcast_dimensions),
        }
    }
}

impl PartialPlan {
    /// The plan of a mode on what is known of the shapes. Example: [`PartialPlan`].
    ///
    /// # Errors
    ///
    /// Those of [`BroadcastMode::infer`].
    pub fn with_mode(
        input: PartialShape,
        target: PartialShape,
        mode: BroadcastMode,
    ) -> Result<Self, BroadcastError> {
        let output = mode.infer(&input, &target)?;
        Ok(PartialPlan {
            call: PartialCall::Mode(mode),
            input,
            target,
            output,
        })
    }

    /// The plan of [`BroadcastPlan::prepend`] on what is known of the input and of the new sizes.
    ///
    /// # Errors
    ///
    /// [`ShapeOverflow`](ErrorKind::ShapeOverflow).
    ///
    /// ```
    /// use ndarray_broadcast::{PartialPlan, PartialShape, PartialSize};
    ///
    /// let input = PartialShape::new([PartialSize::ANY]);
    /// let plan = PartialPlan::prepend(input, PartialShape::known((2, 3)))?;
    /// assert_eq!(plan.output_shape().to_string(), "[2, 3, ?]");
    /// assert_eq!(plan.resolve(4, (2, 3))?.output_shape(), [2, 3, 4]);
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    pub fn prepend(input: PartialShape, sizes: PartialShape) -> Result<Self, BroadcastError> {
        let output = match (sizes.sizes(), input.sizes()) {
            (Some(sizes), Some(input)) => checked(sizes.iter().chain(input).copied().collect())?,
            _ => PartialShape::UNKNOWN,
        };
        Ok(PartialPlan {
            call: PartialCall::Prepend,
            input,
            target: sizes,
            output,
        })
    }

    /// The plan, now that the shapes are known. Example: [`PartialPlan`].
    ///
    /// # Errors
    ///
    /// [`NotPossible`](ErrorKind::NotPossible) if a shape is not within what was known of it. Those
    /// of the rule.
    pub fn resolve(
        &self,
        input: impl IntoDimension,
        target: impl IntoDimension,
    ) -> Result<BroadcastPlan, BroadcastError> {
        let (input, target) = (input.into_dimension(), target.into_dimension());
        self.check(&input, &target)?;
        let (input, target) = (IxDyn(input.sizes()), IxDyn(target.sizes()));
        match &self.call {
            PartialCall::Mode(mode) => BroadcastPlan::with_mode(input, target, mode),
            PartialCall::Prepend => BroadcastPlan::prepend(input, target),
        }
    }
}

/// The mode `explicit` with a mapping known in part, as OpenVINO's operator has it: scalar data may
/// have a mapping of one entry onto an axis of size 1.
pub(crate) fn infer_explicit(
    data: &PartialShape,
    target: &PartialShape,
    mapping: &PartialShape,
) -> Result<PartialShape, BroadcastError> {
    let call = Call {
        rule: Rule::Explicit,
        shapes: [data, target],
        operands: false,
    };
    let scalar_as_vector = data.rank() == Some(0) && mapping.rank() == Some(1);
    if let (Some(axes), false) = (mapping.value(), scalar_as_vector) {
        return call.mapped(axes.sizes(), increasing);
    }
    let refused = || Err(call.error(PartialFault::Mapping(mapping.clone())));
    let rank = match (data.rank(), mapping.rank()) {
        (Some(0), Some(1)) => 1,
        (Some(rank), Some(entries)) if rank != entries => return refused(),
        (Some(rank), _) | (None, Some(rank)) => rank,
        // The data may be scalar.
        (None, None) => return Ok(target.clone()),
    };
    let any = |count| SmallVec::<[_; 4]>::from_elem(PartialSize::ANY, count);
    let axes = mapping
        .sizes()
        .map_or_else(|| any(rank), SmallVec::from_slice);
    // A scalar with one entry is as data of size 1 that must not be stretched.
    let (data, fit): (_, Fit) = match data.sizes() {
        _ if scalar_as_vector => (any(0), PartialSize::and),
        Some(data) => (SmallVec::from_slice(data), PartialSize::stretched_to),
        None => (any(rank), PartialSize::stretched_to),
    };
    let size = |axis: usize| data.get(axis).copied().unwrap_or(PartialSize::ONE);
    let Some(target) = target.sizes() else {
        let mut next = 0;
        for axis in &axes {
            let at = axis.min().max(next);
            if !axis.contains(at) {
                return refused();
            }
            next = at.saturating_add(1);
        }
        return Ok(PartialShape::UNKNOWN);
    };
    // The size of a target axis that this data axis feeds, if it may.
    let fed = |axis: usize, at: usize| match axes[axis].contains(at) {
        true => fit(size(axis), target[at]),
        false => None,
    };
    // The first target axes that data axes 0, 0 and 1, ... can feed in increasing order, and the
    // last ones that can be fed by the last data axis, by the last two, ...
    let mut first: SmallVec<[usize; 4]> = SmallVec::from_elem(0, rank);
    let mut last = first.clone();
    let mut from = 0;
    for (axis, at) in first.iter_mut().enumerate() {
        match (from..target.len()).find(|&at| fed(axis, at).is_some()) {
            Some(found) => *at = found,
            None => return refused(),
        }
        from = *at + 1;
    }
    let mut to = target.len();
    for (axis, at) in last.iter_mut().enumerate().rev() {
        // There is one, as there was one above.
        *at = (0..to)
            .rev()
            .find(|&at| fed(axis, at).is_some())
            .unwrap_or(0);
        to = *at;
    }
    // Whether data axes before this one fit before the target axis, and the others from there on.
    let before = |axis: usize, at| axis == 0 || first[axis - 1] < at;
    let after = |axis: usize, at| axis == rank || last[axis] > at;
    let output = (0..target.len()).map(|at| {
        let not_fed = (0..=rank)
            .any(|axis| before(axis, at) && after(axis, at))
            .then_some(target[at]);
        (0..rank)
            .filter(|&axis| before(axis, at) && after(axis + 1, at))
            .filter_map(|axis| fed(axis, at))
            .chain(not_fed)
            .reduce(PartialSize::or)
            .unwrap_or(target[at])
    });
    checked(output.collect())
}

/// How the sizes of two aligned axes fit. The result is that of the output.
type Fit = fn(PartialSize, PartialSize) -> Option<PartialSize>;

/// A rule on two shapes.
#[derive(Clone, Copy)]
struct Call<'a> {
    rule: Rule,
    /// Input and target, or two operands.
    shapes: [&'a PartialShape; 2],
    operands: bool,
}

impl<'a> Call<'a> {
    #[cold]
    fn error(self, fault: PartialFault) -> BroadcastError {
        BroadcastError::new(ErrorKind::Impossible {
            rule: self.rule,
            shapes: self.shapes.map(PartialShape::clone),
            operands: self.operands,
            fault,
        })
    }

    #[cold]
    fn axes_error(self, axes: &[usize], fault: AxesFault) -> BroadcastError {
        match copied(axes) {
            Ok(axes) => self.error(PartialFault::Axes { axes, fault }),
            Err(error) => error,
        }
    }

    fn sizes(self) -> [Option<&'a [PartialSize]>; 2] {
        self.shapes.map(PartialShape::sizes)
    }

    /// The output: the sizes of `output`, of which those that are aligned with an axis of `other`
    /// fit it. An axis of `other` past the end must be able to be 1.
    fn aligned(
        self,
        mut output: PartialSizes,
        other: &[PartialSize],
        output_axis_of: impl Fn(usize) -> usize,
        fit: Fit,
    ) -> Result<PartialShape, BroadcastError> {
        for (axis, &size) in other.iter().enumerate() {
            let at = output_axis_of(axis);
            let wanted = output.get(at).copied().unwrap_or(PartialSize::ONE);
            match (fit(size, wanted), output.get_mut(at)) {
                (Some(fitting), Some(size)) => *size = fitting,
                (Some(_), None) => {}
                (None, _) => {
                    let mapping = (0..other.len()).map(&output_axis_of).collect();
                    return Err(self.error(PartialFault::Sizes { mapping, axis: at }));
                }
            }
        }
        checked(output)
    }

    /// numpy; and expand, where a target size may be `keep`.
    fn right_aligned(self, keep: Option<usize>) -> Result<PartialShape, BroadcastError> {
        let [input, Some(target)] = self.sizes() else {
            return Ok(PartialShape::UNKNOWN);
        };
        let offset = match input {
            Some(input) => (target.len().checked_sub(input.len()))
                .ok_or_else(|| self.error(PartialFault::Ranks))?,
            // As few axes as keep a size.
            None => target.len(),
        };
        let mut output = PartialSizes::from_slice(target);
        for (axis, size) in output.iter_mut().enumerate() {
            if keep.is_some() && size.value() == keep {
                *size = match input {
                    None => PartialSize::ANY,
                    Some(_) if axis < offset => {
                        return Err(self.error(PartialFault::KeepOnNewAxis(axis)));
                    }
                    Some(input) => input[axis - offset],
                };
            }
        }
        let input = input.unwrap_or(&[]);
        self.aligned(
            output,
            input,
            |axis| offset + axis,
            PartialSize::stretched_to,
        )
    }

    /// bidirectional, and numpy of two operands.
    fn common(self) -> Result<PartialShape, BroadcastError> {
        let [Some(a), Some(b)] = self.sizes() else {
            return Ok(PartialShape::UNKNOWN);
        };
        let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
        let offset = long.len() - short.len();
        let output = PartialSizes::from_slice(long);
        self.aligned(output, short, |axis| offset + axis, PartialSize::common)
    }

    fn identical(self) -> Result<PartialShape, BroadcastError> {
        match self.sizes() {
            [Some(a), Some(b)] if a.len() != b.len() => Err(self.error(PartialFault::Ranks)),
            [Some(a), b] => {
                let output = PartialSizes::from_slice(a);
                self.aligned(output, b.unwrap_or(&[]), |axis| axis, PartialSize::and)
            }
            [None, _] => Ok(self.shapes[1].clone()),
        }
    }

    /// explicit and in_dim.
    fn mapped(
        self,
        axes: &[usize],
        order: fn(&[usize]) -> Result<(), AxesFault>,
    ) -> Result<PartialShape, BroadcastError> {
        let [input, target] = self.sizes();
        let length = match input {
            Some(input) if input.len() != axes.len() => Err(AxesFault::Length),
            _ => Ok(()),
        };
        length
            .and_then(|()| target.map_or(Ok(()), |target| in_range(axes, target.len())))
            .and_then(|()| order(axes))
            .map_err(|fault| self.axes_error(axes, fault))?;
        let Some(target) = target else {
            return Ok(PartialShape::UNKNOWN);
        };
        let (input, output) = (input.unwrap_or(&[]), PartialSizes::from_slice(target));
        self.aligned(output, input, |axis| axes[axis], PartialSize::stretched_to)
    }

    fn broadcast_axes(self, axes: &[usize]) -> Result<PartialShape, BroadcastError> {
        let [input, target] = self.sizes();
        let mut set: SmallVec<[usize; 4]> = SmallVec::from_slice(axes);
        set.sort_unstable();
        set.dedup();
        let rank = match (input, target) {
            (None, None) => return Ok(PartialShape::UNKNOWN),
            (_, Some(target)) => target.len(),
            (Some(input), None) => input.len() + set.len(),
        };
        in_range(axes, rank).map_err(|fault| match target {
            Some(_) => self.axes_error(axes, fault),
            None => self.error(PartialFault::Ranks),
        })?;
        if input.is_some_and(|input| input.len() + set.len() != rank) {
            return Err(self.error(PartialFault::Ranks));
        }
        let output = match target {
            Some(target) => PartialSizes::from_slice(target),
            None => SmallVec::from_elem(PartialSize::ANY, rank),
        };
        let mut added = set.into_iter().peekable();
        let kept: SmallVec<[usize; 4]> = (0..rank)
            .filter(|axis| added.next_if_eq(axis).is_none())
            .collect();
        let input = input.unwrap_or(&[]);
        self.aligned(output, input, |axis| kept[axis], PartialSize::and)
    }

    fn pdpd(self, axis: isize) -> Result<PartialShape, BroadcastError> {
        let refused = || Err(self.error(PartialFault::PdpdAxis(axis)));
        if axis < -1 {
            return refused();
        }
        let [b, Some(a)] = self.sizes() else {
            return Ok(PartialShape::UNKNOWN);
        };
        let right_aligned = a.len().checked_sub(b.map_or(0, <[_]>::len));
        let right_aligned = right_aligned.ok_or_else(|| self.error(PartialFault::Ranks))?;
        let axis = usize::try_from(axis).unwrap_or(right_aligned);
        if axis > a.len() {
            return refused();
        }
        // Past A's end, B must be able to be 1: only trailing 1s are trimmed.
        let (b, output) = (b.unwrap_or(&[]), PartialSizes::from_slice(a));
        self.aligned(output, b, |i| axis + i, PartialSize::stretched_to)
    }

    fn named(self, pattern: &AxisPattern) -> Result<PartialShape, BroadcastError> {
        let (names, output) = (&pattern.operands[0].names, &pattern.output.names);
        let [input, target] = self.sizes();
        let other_rank = |shape: Option<&[_]>, rank| shape.is_some_and(|s| s.len() != rank);
        if other_rank(input, names.len())
            || other_rank(target, output.len())
            || names.len() > output.len()
        {
            return Err(self.error(PartialFault::Ranks));
        }
        let any = |count| PartialSizes::from_elem(PartialSize::ANY, count);
        let mut target = target.map_or_else(|| any(output.len()), PartialSizes::from_slice);
        for (axis, (size, name)) in target.iter_mut().zip(output).enumerate() {
            let wanted = name.size.map_or(PartialSize::ANY, PartialSize::known);
            let Some(both) = size.and(wanted) else {
                let mapping = names.iter().map(|name| name.output_axis).collect();
                return Err(self.error(PartialFault::Sizes { mapping, axis }));
            };
            *size = both;
        }
        let input = input.unwrap_or(&[]);
        self.aligned(target, input, |i| names[i].output_axis, PartialSize::and)
    }

    fn xla(self, dimensions: &[usize]) -> Result<PartialShape, BroadcastError> {
        let refused = || match copied(dimensions) {
            Ok(dimensions) => Err(self.error(PartialFault::Dimensions(dimensions))),
            Err(error) => Err(error),
        };
        let invalid = |fault| self.axes_error(dimensions, fault);
        let (short, long) = match self.sizes() {
            [Some(a), Some(b)] if a.len() <= b.len() => (Some(a), b),
            [Some(a), Some(b)] => (Some(b), a),
            [Some(known), None] | [None, Some(known)] => (None, known),
            [None, None] => {
                increasing(dimensions).map_err(invalid)?;
                return Ok(PartialShape::UNKNOWN);
            }
        };
        let (count, rank) = (dimensions.len(), long.len());
        let identity = || dimensions.iter().copied().eq(0..rank);
        let mut output = PartialSizes::from_slice(long);
        match short {
            None if rank == 0 && count > 0 => return refused(),
            None if rank == 0 => return Ok(PartialShape::UNKNOWN),
            // The other has the same rank, or it is a scalar.
            None if count == 0 => {
                for size in &mut output {
                    *size = size.common(PartialSize::ANY).unwrap_or(*size);
                }
                return checked(output);
            }
            None => {
                increasing(dimensions).map_err(invalid)?;
                match count.cmp(&rank) {
                    // The other is the smaller one.
                    std::cmp::Ordering::Less => in_range(dimensions, rank).map_err(invalid)?,
                    // The other may be larger, by any number of axes.
                    std::cmp::Ordering::Equal => return Ok(PartialShape::UNKNOWN),
                    std::cmp::Ordering::Greater => return refused(),
                }
                let other = PartialSizes::from_elem(PartialSize::ANY, count);
                self.aligned(output, &other, |i| dimensions[i], PartialSize::common)
            }
            Some(short) if short.len() == rank || short.is_empty() => {
                let allowed = count == 0 || (short.len() == rank && identity());
                match allowed {
                    true => self.aligned(output, short, |axis| axis, PartialSize::common),
                    false => refused(),
                }
            }
            Some(short) => {
                if count != short.len() {
                    return refused();
                }
                in_range(dimensions, rank)
                    .and_then(|()| increasing(dimensions))
                    .map_err(invalid)?;
                self.aligned(output, short, |i| dimensions[i], PartialSize::common)
            }
        }
    }
}

/// The shape, unless it has too many elements even if every size is the smallest possible.
fn checked(sizes: PartialSizes) -> Result<PartialShape, BroadcastError> {
    let smallest: SmallVec<[usize; 4]> = sizes.iter().map(|size| size.min()).collect();
    match elements(&smallest) {
        Some(_) => Ok(PartialShape::from(sizes)),
        None => Err(shape_overflow(&smallest)),
    }
}
