//! The smallest box of each rule.
//!
//! Under every rule, the size of an output axis depends only on the axes that are aligned with it,
//! and axes of different columns do not restrict each other. So the smallest box is found column by
//! column, by one of three relations: [`PartialSize::stretched_to`] (a 1 of the input replicates),
//! [`PartialSize::common`] (a 1 of either side) and [`PartialSize::and`] (none). What remains is
//! which axes are aligned, for ranks that may be unknown. An unknown rank may be any.

use crate::error::{AxesFault, BroadcastError, ErrorKind, PartialFault, copied, shape_overflow};
use crate::partial::{PartialShape, PartialSize, PartialSizes};
use crate::pattern::AxisPattern;
use crate::rule::Rule;
use crate::rules::axes::{in_range, increasing};
use crate::shape::elements;
use smallvec::SmallVec;

/// How the sizes of two aligned axes fit. The result is that of the output.
pub(super) type Fit = fn(PartialSize, PartialSize) -> Option<PartialSize>;

/// A rule on two shapes.
#[derive(Clone, Copy)]
pub(super) struct Call<'a> {
    pub(super) rule: Rule,
    /// Input and target, or two operands.
    pub(super) shapes: [&'a PartialShape; 2],
    /// Whether they are two operands.
    pub(super) operands: bool,
}

impl<'a> Call<'a> {
    #[cold]
    pub(super) fn error(self, fault: PartialFault) -> BroadcastError {
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
    pub(super) fn right_aligned(self, keep: Option<usize>) -> Result<PartialShape, BroadcastError> {
        let [input, Some(target)] = self.sizes() else {
            return unknown(self.shapes);
        };
        let offset = match input {
            Some(input) => (target.len().checked_sub(input.len()))
                .ok_or_else(|| self.error(PartialFault::Ranks))?,
            // Whatever rank fits: its axes may all have size 1.
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
    pub(super) fn common(self) -> Result<PartialShape, BroadcastError> {
        let [Some(a), Some(b)] = self.sizes() else {
            return unknown(self.shapes);
        };
        let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
        let offset = long.len() - short.len();
        let output = PartialSizes::from_slice(long);
        self.aligned(output, short, |axis| offset + axis, PartialSize::common)
    }

    pub(super) fn identical(self) -> Result<PartialShape, BroadcastError> {
        match self.sizes() {
            [Some(a), Some(b)] if a.len() != b.len() => Err(self.error(PartialFault::Ranks)),
            [Some(a), b] => {
                let output = PartialSizes::from_slice(a);
                self.aligned(output, b.unwrap_or(&[]), |axis| axis, PartialSize::and)
            }
            [None, _] => checked_shape(self.shapes[1]),
        }
    }

    /// explicit and in_dim.
    pub(super) fn mapped(
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
            return unknown(self.shapes);
        };
        let (input, output) = (input.unwrap_or(&[]), PartialSizes::from_slice(target));
        self.aligned(output, input, |axis| axes[axis], PartialSize::stretched_to)
    }

    pub(super) fn broadcast_axes(self, axes: &[usize]) -> Result<PartialShape, BroadcastError> {
        let [input, target] = self.sizes();
        let mut set: SmallVec<[usize; 4]> = SmallVec::from_slice(axes);
        set.sort_unstable();
        set.dedup();
        let rank = match (input, target) {
            (None, None) => return unknown(self.shapes),
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

    pub(super) fn pdpd(self, axis: isize) -> Result<PartialShape, BroadcastError> {
        let refused = || Err(self.error(PartialFault::PdpdAxis(axis)));
        if axis < -1 {
            return refused();
        }
        let [b, Some(a)] = self.sizes() else {
            return unknown(self.shapes);
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

    pub(super) fn named(self, pattern: &AxisPattern) -> Result<PartialShape, BroadcastError> {
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

    pub(super) fn xla(self, dimensions: &[usize]) -> Result<PartialShape, BroadcastError> {
        let (short, long) = match self.sizes() {
            [Some(a), Some(b)] if a.len() <= b.len() => (a, b),
            [Some(a), Some(b)] => (b, a),
            [Some(known), None] | [None, Some(known)] => {
                return self.xla_with_any_rank(known, dimensions);
            }
            [None, None] => {
                self.increasing(dimensions)?;
                return unknown(self.shapes);
            }
        };
        let (count, rank) = (dimensions.len(), long.len());
        let output = PartialSizes::from_slice(long);
        if short.len() == rank || short.is_empty() {
            let identity = short.len() == rank && dimensions.iter().copied().eq(0..rank);
            return match count == 0 || identity {
                true => self.aligned(output, short, |axis| axis, PartialSize::common),
                false => Err(self.dimensions_error(dimensions)),
            };
        }
        if count != short.len() {
            return Err(self.dimensions_error(dimensions));
        }
        in_range(dimensions, rank).map_err(|fault| self.axes_error(dimensions, fault))?;
        self.increasing(dimensions)?;
        self.aligned(output, short, |i| dimensions[i], PartialSize::common)
    }

    /// xla of an operand with one of unknown rank.
    fn xla_with_any_rank(
        self,
        known: &[PartialSize],
        dimensions: &[usize],
    ) -> Result<PartialShape, BroadcastError> {
        let (count, rank) = (dimensions.len(), known.len());
        let mut output = PartialSizes::from_slice(known);
        if count == 0 {
            // The ranks are equal, or either operand is a scalar.
            if rank == 0 {
                return unknown(self.shapes);
            }
            for size in &mut output {
                *size = size.common(PartialSize::ANY).unwrap_or(*size);
            }
            return checked(output);
        }
        if rank == 0 || count > rank {
            return Err(self.dimensions_error(dimensions));
        }
        self.increasing(dimensions)?;
        if count == rank {
            // The other operand may have any larger rank.
            return unknown(self.shapes);
        }
        in_range(dimensions, rank).map_err(|fault| self.axes_error(dimensions, fault))?;
        let other = PartialSizes::from_elem(PartialSize::ANY, count);
        self.aligned(output, &other, |i| dimensions[i], PartialSize::common)
    }

    fn increasing(self, axes: &[usize]) -> Result<(), BroadcastError> {
        increasing(axes).map_err(|fault| self.axes_error(axes, fault))
    }

    #[cold]
    fn dimensions_error(self, dimensions: &[usize]) -> BroadcastError {
        match copied(dimensions) {
            Ok(dimensions) => self.error(PartialFault::Dimensions(dimensions)),
            Err(error) => error,
        }
    }
}

/// A shape of which nothing is known, unless no array has one of `shapes`.
pub(super) fn unknown(shapes: [&PartialShape; 2]) -> Result<PartialShape, BroadcastError> {
    for shape in shapes {
        checked_shape(shape)?;
    }
    Ok(PartialShape::UNKNOWN)
}

/// The shape, unless it has too many elements even if every size is the smallest possible.
pub(super) fn checked_shape(shape: &PartialShape) -> Result<PartialShape, BroadcastError> {
    match shape.sizes() {
        Some(sizes) => checked(PartialSizes::from_slice(sizes)),
        None => Ok(PartialShape::UNKNOWN),
    }
}

/// The shape of these sizes, checked as [`checked_shape`].
pub(super) fn checked(sizes: PartialSizes) -> Result<PartialShape, BroadcastError> {
    let smallest: SmallVec<[usize; 4]> = sizes.iter().map(|size| size.min()).collect();
    match elements(&smallest) {
        Some(_) => Ok(PartialShape::from(sizes)),
        None => Err(shape_overflow(&smallest)),
    }
}
