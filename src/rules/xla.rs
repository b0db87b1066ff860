//! xla: two operands of equal rank, whose axes of size 1 replicate on either side. If the ranks
//! differ, broadcast dimensions align the operands first. XLA never guesses them.
//!
//! Source: XLA's broadcasting semantics for binary operations (`broadcast_dimensions`, then
//! degenerate dimensions), as `XlaBuilder` checks them.

use super::axes::{increasing, one_per_input_axis};
use crate::error::{BroadcastError, ErrorKind, operand_mismatch, with_copies};
use crate::plan::{BroadcastPlan, PlanPair};
use crate::rule::Rule;
use crate::shape::{Sizes, common, dimension};
use ndarray::{DimMax, Dimension};

/// The elementwise rule, for two operands.
pub(super) fn pair<I: Dimension + DimMax<J>, J: Dimension>(
    a: I,
    b: J,
    dimensions: &[usize],
) -> Result<PlanPair<I, J>, BroadcastError> {
    let shapes = [a.sizes(), b.sizes()];
    let [small, large] = match a.ndim() <= b.ndim() {
        true => shapes,
        false => [shapes[1], shapes[0]],
    };
    let rank = large.len();
    if small.len() == rank || small.is_empty() {
        let identity = small.len() == rank && dimensions.iter().copied().eq(0..rank);
        if !dimensions.is_empty() && !identity {
            return Err(dimensions_unexpected(shapes, dimensions));
        }
    } else if dimensions.is_empty() {
        let kind = |shapes| ErrorKind::DimensionsRequired { shapes };
        return Err(with_copies(shapes, kind));
    } else {
        one_per_input_axis(dimensions, small.len(), rank)
            .and_then(|()| increasing(dimensions))
            .map_err(|fault| fault.error(Rule::Xla, [small, large, dimensions]))?;
    }

    // Equal ranks are aligned axis by axis, with or without the identity as dimensions.
    let output_axis_of = |axis: usize| match small.len() == rank {
        true => axis,
        false => dimensions[axis],
    };
    let mut output: <I as DimMax<J>>::Output = dimension(large);
    for (axis, &size) in small.iter().enumerate() {
        let axis = output_axis_of(axis);
        match common(size, large[axis]) {
            Some(size) => output.sizes_mut()[axis] = size,
            None => {
                let (rule, operands) = (Rule::Xla, [0, 1]);
                return Err(operand_mismatch(
                    rule,
                    operands,
                    shapes,
                    axis,
                    output_axis_of,
                ));
            }
        }
    }
    Ok((
        operand(a, output.sizes(), dimensions)?,
        operand(b, output.sizes(), dimensions)?,
    ))
}

/// The plan of an operand: the larger one axis by axis, the smaller one by the dimensions.
fn operand<I: Dimension, O: Dimension>(
    input: I,
    output: &[usize],
    dimensions: &[usize],
) -> Result<BroadcastPlan<I, O>, BroadcastError> {
    let is_larger = input.ndim() == output.len();
    BroadcastPlan::new(Rule::Xla, input, output, |axis| match is_larger {
        true => axis,
        false => dimensions[axis],
    })
}

#[cold]
fn dimensions_unexpected([a, b]: [&[usize]; 2], dimensions: &[usize]) -> BroadcastError {
    with_copies([a, b, dimensions], |[a, b, dimensions]| {
        let shapes = [a, b];
        ErrorKind::DimensionsUnexpected { shapes, dimensions }
    })
}
