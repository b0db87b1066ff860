//! The rules on shapes that are known in part: inference, and plans that resolve later.

use super::alignment::{FewAxes, checked, infer, sizes_of, unknown};
use super::{broadcast_axes, named, xla};
use crate::error::{ArrayRole, Result, check_possible, wrong_shape};
use crate::mode::{BroadcastMode, ElementwiseRule};
use crate::partial::{PartialShape, PartialSize, PartialSizes, symbols_agree};
use crate::pattern::AxisPattern;
use crate::plan::{BroadcastPlan, PartialPlan};
use crate::shape::{KEEP, Sizes};
use ndarray::{Dimension, IntoDimension};

impl BroadcastMode {
    /// The output's shape, as far as it follows from what is known of input and target: the
    /// smallest box that holds every result that shapes within the bounds can give.
    ///
    /// The limit of `isize::MAX` elements is applied to the lower bounds only. Under `expand`, only
    /// a size known to be [`KEEP`](crate::KEEP) keeps the input's.
    ///
    /// # Errors
    ///
    /// If no shapes within the bounds fit: the error of the rule, or
    /// [`ShapeOverflow`](crate::ErrorKind::ShapeOverflow) if even the smallest have too many
    /// elements.
    ///
    /// ```
    /// use ndarray_broadcast::BroadcastMode;
    /// use ndarray_broadcast::infer::{PartialShape, PartialSize};
    ///
    /// let input =
    ///     PartialShape::new([PartialSize::between(2, 5)?, PartialSize::known(1)]);
    /// let target = PartialShape::new([PartialSize::ANY, PartialSize::ANY]);
    /// let output = BroadcastMode::Numpy.infer(&input, &target)?;
    /// assert_eq!(output.to_string(), "[2..=5, ?]");
    /// assert_eq!(
    ///     BroadcastMode::Numpy
    ///         .infer(&input, &PartialShape::new([(6..).into(), PartialSize::ANY]))
    ///         .unwrap_err()
    ///         .to_string(),
    ///     "\
    /// cannot broadcast [2..=5, 1] to [6.., ?] (numpy)
    ///   input    2..=5  1
    ///   target     6..  ?
    ///                ^ 2..=5 is never 6.., and never 1",
    /// );
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    ///
    /// Source: the rules, by interval arithmetic. OpenVINO's shape inference gives larger boxes.
    pub fn infer(&self, input: &PartialShape, target: &PartialShape) -> Result<PartialShape> {
        let mut rank_is_known = true;
        // An input of unknown rank may have any rank that fits, with axes of size 1.
        let ranks = match self {
            Self::Numpy | Self::Expand => [target.rank().or(Some(0)), None],
            Self::Bidirectional => [None, None],
            Self::Explicit { .. } | Self::InDim { .. } | Self::InDimPermuting { .. } => {
                [Some(self.axes().len()), None]
            }
            Self::BroadcastAxes { .. } => {
                let added = broadcast_axes::distinct(self.axes()).len();
                let kept = target.rank().map(|rank| rank.saturating_sub(added));
                [kept, input.rank().map(|rank| rank + added)]
            }
            Self::Pdpd { .. } => [Some(0), None],
            Self::Named { pattern } => {
                let count = |of: &AxisPattern| [of.operands[0].names.len(), of.output.names.len()];
                let [names, output] = count(pattern);
                let rank = match (input.rank(), target.rank()) {
                    (None, Some(rank)) => {
                        if rank + 1 < output {
                            pattern.check_rank(&pattern.output, rank)?;
                        }
                        // With `...` the target's rank says the input's.
                        Some((rank + names).saturating_sub(output))
                    }
                    (rank, _) => rank,
                };
                let of_rank;
                (of_rank, rank_is_known) = pattern.of_ranks([rank])?;
                count(&of_rank).map(Some)
            }
        };
        let operands = [ArrayRole::Input, ArrayRole::Target];
        let found = &mut FewAxes::new();
        let output = infer(self.rule(), operands, [input, target], ranks, |shapes| {
            self.align(shapes, found)
        })?;
        Ok(if rank_is_known {
            output
        } else {
            PartialShape::UNKNOWN
        })
    }
}

impl ElementwiseRule {
    /// The common shape, as far as it follows from what is known of both: the smallest box that
    /// holds every result that shapes within the bounds can give.
    ///
    /// # Errors
    ///
    /// If no shapes within the bounds fit: the error of the rule, or
    /// [`ShapeOverflow`](crate::ErrorKind::ShapeOverflow) if even the smallest have too many
    /// elements.
    ///
    /// ```
    /// use ndarray_broadcast::ElementwiseRule;
    /// use ndarray_broadcast::infer::{PartialShape, PartialSize};
    ///
    /// let batch = PartialShape::new([PartialSize::ANY, PartialSize::known(3)]);
    /// let row = PartialShape::new([PartialSize::ANY]);
    /// assert_eq!(ElementwiseRule::Numpy.infer(&batch, &row)?.to_string(), "[?, 3]");
    /// assert!(ElementwiseRule::None.infer(&batch, &row).is_err());
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    ///
    /// Source: the rules, by interval arithmetic. OpenVINO's shape inference gives larger boxes.
    pub fn infer(&self, a: &PartialShape, b: &PartialShape) -> Result<PartialShape> {
        let [rank_a, rank_b] = [a, b].map(PartialShape::rank);
        let (operands, shapes, ranks) = match self {
            // Paddle takes identical shapes with any axis, and no others below -1.
            Self::None | Self::Paddle { axis: ..-1 } => ([0, 1], [a, b], [rank_b, rank_a]),
            Self::Numpy | Self::Paddle { .. } => ([0, 1], [a, b], [None, None]),
            Self::Pdpd { .. } => ([1, 0], [b, a], [Some(0), None]),
            Self::Xla {
                broadcast_dimensions: axes,
            } => ([0, 1], [a, b], xla::ranks([rank_a, rank_b], axes)),
        };
        let operands = operands.map(ArrayRole::Operand);
        infer(self.rule(), operands, shapes, ranks, |shapes| {
            self.align(shapes)
        })
    }
}

impl AxisPattern<2> {
    /// The common shape of two arrays, as far as it follows from what is known of both: the
    /// smallest box that holds every possible result. Axes that neither array has may have any
    /// size.
    ///
    /// # Errors
    ///
    /// [`InvalidPattern`](crate::ErrorKind::InvalidPattern) if no shapes within the bounds fit;
    /// [`ShapeOverflow`](crate::ErrorKind::ShapeOverflow) if the smallest have too many elements.
    ///
    /// ```
    /// use ndarray_broadcast::infer::{PartialShape, PartialSize};
    /// use ndarray_broadcast::named::AxisPattern;
    ///
    /// let pattern: AxisPattern<2> = "x y, y z".parse()?;
    /// let a = PartialShape::new([PartialSize::ANY, PartialSize::between(2, 5)?]);
    /// let b = PartialShape::new([PartialSize::from(4..), 7.into()]);
    /// assert_eq!(pattern.infer(&a, &b)?.to_string(), "[?, 4..=5, 7]");
    /// assert_eq!(
    ///     pattern.infer(&a, &PartialShape::known((6, 7))).unwrap_err().to_string(),
    ///     "\
    /// the shapes do not fit the axis pattern
    ///   x y, y z -> x y z
    ///        ^ \"y\" has the sizes 6 and 2..=5",
    /// );
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    ///
    /// Source: xarray, broadcasting by dimension name.
    pub fn infer(&self, a: &PartialShape, b: &PartialShape) -> Result<PartialShape> {
        let (pattern, rank_is_known) = self.of_ranks([a.rank(), b.rank()])?;
        let ranks = pattern
            .operands
            .each_ref()
            .map(|list| Some(list.names.len()));
        let sizes = [sizes_of(a, ranks[0]), sizes_of(b, ranks[1])];
        for (list, sizes) in pattern.operands.iter().zip(&sizes) {
            pattern.check_rank(list, sizes.as_ref().map_or(0, PartialSizes::len))?;
        }
        let known = sizes
            .each_ref()
            .map(|sizes| sizes.as_deref().unwrap_or(&[]));
        let output = named::output_sizes(&pattern, known, &[], None)?;
        let any = |size: Option<PartialSize>| size.unwrap_or(PartialSize::ANY);
        let common = checked(output.into_iter().map(any).collect())?;
        Ok(if rank_is_known {
            common
        } else {
            PartialShape::UNKNOWN
        })
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
    ) -> Result<Self> {
        Self::new(Some(mode), input, target)
    }

    /// The plan of [`BroadcastPlan::prepend`] on what is known of the input and of the new sizes.
    ///
    /// # Errors
    ///
    /// [`ShapeOverflow`](crate::ErrorKind::ShapeOverflow).
    ///
    /// ```
    /// use ndarray_broadcast::infer::{PartialPlan, PartialShape, PartialSize};
    ///
    /// let input = PartialShape::new([PartialSize::ANY]);
    /// let plan = PartialPlan::prepend(input, PartialShape::known((2, 3)))?;
    /// assert_eq!(plan.output_shape().to_string(), "[2, 3, ?]");
    /// assert_eq!(plan.resolve(4, (2, 3))?.output_shape(), [2, 3, 4]);
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    pub fn prepend(input: PartialShape, sizes: PartialShape) -> Result<Self> {
        Self::new(None, input, sizes)
    }

    /// Without a mode, the plan of `prepend`.
    pub(crate) fn new(
        mode: Option<BroadcastMode>,
        input: PartialShape,
        target: PartialShape,
    ) -> Result<Self> {
        let output = match (&mode, target.sizes(), input.sizes()) {
            (Some(mode), ..) => mode.infer(&input, &target)?,
            (None, Some(new), Some(sizes)) => checked(new.iter().chain(sizes).copied().collect())?,
            _ => unknown([&target, &input])?,
        };
        Ok(PartialPlan {
            mode,
            input,
            target,
            output,
        })
    }

    /// The plan, now that the shapes are known. Example: [`PartialPlan`].
    ///
    /// # Errors
    ///
    /// [`WrongShape`](crate::ErrorKind::WrongShape) if a shape is not within what was known of
    /// it. Those of the rule.
    pub fn resolve(
        &self,
        input: impl IntoDimension,
        target: impl IntoDimension,
    ) -> Result<BroadcastPlan> {
        let (input, target) = (
            input.into_dimension().into_dyn(),
            target.into_dimension().into_dyn(),
        );
        check_possible(ArrayRole::Input, &self.input, input.sizes())?;
        let refused = |expected| Err(wrong_shape(ArrayRole::Target, expected, target.sizes()));
        if !self.target.is_within_bounds(target.sizes()) {
            return refused(self.target.clone());
        }
        let output = {
            let of_input = self.input.pairs(input.sizes());
            let pairs = of_input.chain(self.target.pairs(target.sizes()));
            // Under `expand`, `KEEP` stands for the size of the input, and is no size of a symbol.
            let pairs = pairs.filter(|&(_, size)| size != KEEP);
            if !symbols_agree(pairs.clone()) {
                return refused(self.target.with_symbols_of(pairs));
            }
            self.output.with_symbols_of(pairs)
        };
        let plan = match &self.mode {
            Some(mode) => BroadcastPlan::with_mode(input, target, mode)?,
            None => BroadcastPlan::prepend(input, target)?,
        };
        // Under `expand`, a target of `KEEP` gives the input's size, which may be outside of what
        // was known of the output.
        check_possible(ArrayRole::Target, &output, plan.output_shape())?;
        Ok(plan)
    }
}
