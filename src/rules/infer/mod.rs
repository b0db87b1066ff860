//! The rules on shapes that are known in part: inference, and plans that resolve later.

mod call;
mod mapping;

pub(crate) use mapping::infer_explicit;

use super::axes::{increasing, unique};
use crate::error::{BroadcastError, PartialFault, copied_text, shape_not_possible};
use crate::mode::{BroadcastMode, ElementwiseRule};
use crate::partial::{PartialShape, PartialSize, PartialSizes};
use crate::pattern::{AxisPattern, Name};
use crate::plan::{BroadcastPlan, PartialCall, PartialPlan};
use crate::rule::Rule;
use crate::shape::{KEEP, Sizes};
use call::{Call, checked, unknown};
use ndarray::{IntoDimension, IxDyn};

impl BroadcastMode {
    /// The output's shape, as far as it follows from what is known of input and target: the
    /// smallest box that holds every result that shapes within the bounds can give.
    ///
    /// The limit of `isize::MAX` elements is applied to the lower bounds only. Under `expand`, only
    /// a size known to be [`KEEP`] keeps the input's.
    ///
    /// # Errors
    ///
    /// If no shapes within the bounds fit: [`Impossible`](crate::ErrorKind::Impossible), or
    /// [`ShapeOverflow`](crate::ErrorKind::ShapeOverflow) if even the smallest have too many
    /// elements, or the error of the rule if both shapes are known.
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
    /// If no shapes within the bounds fit: [`Impossible`](crate::ErrorKind::Impossible), or
    /// [`ShapeOverflow`](crate::ErrorKind::ShapeOverflow) if even the smallest have too many
    /// elements, or the error of the rule if both shapes are known.
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

impl AxisPattern<2> {
    /// The common shape of two arrays, as far as it follows from what is known of both: the
    /// smallest box that holds every possible result. Axes that neither array has may have any
    /// size.
    ///
    /// # Errors
    ///
    /// [`Impossible`](crate::ErrorKind::Impossible) if no shapes within the bounds fit;
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
    /// cannot broadcast [?, 2..=5] with [6, 7] (named)
    ///   a   ?  2..=5
    ///   b   6      7
    ///   \"y\" is 2..=5 in a, but 6 in b",
    /// );
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    ///
    /// Source: xarray, broadcasting by dimension name.
    pub fn infer(
        &self,
        a: &PartialShape,
        b: &PartialShape,
    ) -> Result<PartialShape, BroadcastError> {
        let call = Call {
            rule: Rule::Named,
            shapes: [a, b],
            operands: true,
        };
        let integer = |name: &Name| name.size.map_or(PartialSize::ANY, PartialSize::known);
        let mut output: PartialSizes = self.output.names.iter().map(integer).collect();
        for (operand, (list, shape)) in self.operands.iter().zip([a, b]).enumerate() {
            let Some(sizes) = shape.sizes() else { continue };
            if sizes.len() != list.names.len() {
                return Err(call.error(PartialFault::Ranks));
            }
            for (name, &size) in list.names.iter().zip(sizes) {
                let slot = output.get_mut(name.output_axis);
                let known = slot.as_deref().copied().unwrap_or(PartialSize::ONE);
                match (size.and(known), slot) {
                    (Some(both), Some(slot)) => *slot = both,
                    (Some(_), None) => {}
                    (None, None) => return Err(call.error(PartialFault::One { operand, size })),
                    (None, Some(_)) => {
                        let (name, sizes) = (copied_text(self.name(name))?, [known, size]);
                        return Err(call.error(PartialFault::Name { name, sizes }));
                    }
                }
            }
        }
        checked(output)
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
    pub fn prepend(input: PartialShape, sizes: PartialShape) -> Result<Self, BroadcastError> {
        let output = match (sizes.sizes(), input.sizes()) {
            (Some(sizes), Some(input)) => checked(sizes.iter().chain(input).copied().collect())?,
            _ => unknown([&sizes, &input])?,
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
    /// [`NotPossible`](crate::ErrorKind::NotPossible) if a shape is not within what was known of
    /// it. Those of the rule.
    pub fn resolve(
        &self,
        input: impl IntoDimension,
        target: impl IntoDimension,
    ) -> Result<BroadcastPlan, BroadcastError> {
        let (input, target) = (input.into_dimension(), target.into_dimension());
        self.check(&input, &target)?;
        let (input, target) = (IxDyn(input.sizes()), IxDyn(target.sizes()));
        let plan = match &self.call {
            PartialCall::Mode(mode) => BroadcastPlan::with_mode(input, target, mode),
            PartialCall::Prepend => BroadcastPlan::prepend(input, target),
        }?;
        // Under `expand`, a target of `KEEP` gives the input's size. The output allows for that
        // only if the target was known to be `KEEP`.
        match self.output.contains(plan.output_shape()) {
            true => Ok(plan),
            false => Err(shape_not_possible(&self.output, plan.output_shape())),
        }
    }
}
