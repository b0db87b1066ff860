//! xla: two operands of equal rank, whose axes of size 1 replicate on either side. If the ranks
//! differ, broadcast dimensions align the operands first. XLA never guesses them.
//!
//! Source: XLA's broadcasting semantics for binary operations (`broadcast_dimensions`, then
//! degenerate dimensions), as `XlaBuilder` checks them.

use super::axes::{increasing, invalid_axes, one_per_input_axis};
use crate::error::{ArrayRole, BroadcastError, ErrorKind, operand_mismatch, with_copies};
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
            return Err(with_copies(
                [shapes[0], shapes[1], dimensions],
                |[a, b, dimensions]| {
                    let shapes = [a, b];
                    ErrorKind::DimensionsUnexpected { shapes, dimensions }
                },
            ));
        }
    } else if dimensions.is_empty() {
        let kind = |shapes| ErrorKind::DimensionsRequired {
            operands: [0, 1].map(ArrayRole::Operand),
            shapes,
        };
        return Err(with_copies(shapes, kind));
    } else {
        one_per_input_axis(dimensions, small.len(), rank)
            .and_then(|()| increasing(dimensions))
            .map_err(|fault| {
                let operand = ArrayRole::Operand(usize::from(a.ndim() > b.ndim()));
                invalid_axes(Rule::Xla, [small, large, dimensions], fault).with_input(operand)
            })?;
    }

    // Operands of full rank are aligned axis by axis, the smaller one by the dimensions.
    let output_axis_of = |operand_rank: usize| {
        move |axis: usize| {
            if operand_rank == rank {
                axis
            } else {
                dimensions[axis]
            }
        }
    };
    let of_small = output_axis_of(small.len());
    let mut output: <I as DimMax<J>>::Output = dimension(large);
    for (axis, &size) in small.iter().enumerate() {
        let axis = of_small(axis);
        let Some(size) = common(size, large[axis]) else {
            return Err(operand_mismatch(
                Rule::Xla,
                [0, 1].map(ArrayRole::Operand),
                shapes,
                axis,
                &of_small,
            ));
        };
        output.sizes_mut()[axis] = size;
    }
    let (of_a, of_b) = (output_axis_of(a.ndim()), output_axis_of(b.ndim()));
    Ok((
        BroadcastPlan::new(Rule::Xla, a, output.sizes(), of_a)?,
        BroadcastPlan::new(Rule::Xla, b, output.sizes(), of_b)?,
    ))
}
