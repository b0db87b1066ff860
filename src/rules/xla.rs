//! xla: two operands of the same rank, 1s replicating on either side; ranks that differ are lined up by broadcast
//! dimensions first, never by a guess.
//!
//! Source: XLA's semantics of broadcasting for binary operations (`broadcast_dimensions`, then degenerate dimensions),
//! as `XlaBuilder` checks them.

use super::axes::{increasing, one_per_input_axis};
use super::numpy::common;
use crate::error::{BroadcastError, Refusal, boxed, refusal};
use crate::mode::Rule;
use crate::plan::{BroadcastPlan, PlanPair};
use ndarray::{DimMax, Dimension};

pub(crate) fn pair<I: Dimension + DimMax<J>, J: Dimension>(
    a: I,
    b: J,
    dimensions: &[usize],
) -> Result<PlanPair<I, J>, Refusal> {
    let (shape_a, shape_b) = (a.slice(), b.slice());
    if shape_a.len() == shape_b.len() {
        let identity = dimensions.iter().copied().eq(0..shape_a.len());
        if !dimensions.is_empty() && !identity {
            return Err(dimensions_unexpected(shape_a, shape_b, dimensions));
        }
    } else {
        let (small, large) = by_rank(shape_a, shape_b);
        if small.is_empty() && !dimensions.is_empty() {
            return Err(dimensions_unexpected(shape_a, shape_b, dimensions));
        }
        if !small.is_empty() && dimensions.is_empty() {
            return Err(dimensions_required(shape_a, shape_b));
        }
        one_per_input_axis(dimensions, small.len(), large.len())
            .and_then(|()| increasing(dimensions))
            .map_err(|fault| fault.refusal(Rule::Xla, small, large, dimensions))?;
    }

    let (small, large) = by_rank(shape_a, shape_b);
    let rank = large.len();
    // Equal ranks line up axis by axis, whether or not the identity is spelled out.
    let column = |axis: usize| {
        if small.len() == rank {
            axis
        } else {
            dimensions[axis]
        }
    };
    let mut output = <I as DimMax<J>>::Output::zeros(rank);
    output.slice_mut().copy_from_slice(large);
    for (axis, &size) in small.iter().enumerate() {
        match common(size, large[column(axis)]) {
            Some(size) => output.slice_mut()[column(axis)] = size,
            None => return Err(operand_mismatch(shape_a, shape_b, column(axis), column)),
        }
    }
    let output = output.slice();
    Ok((
        operand(a, output, dimensions)?,
        operand(b, output, dimensions)?,
    ))
}

/// The operand's own plan: the larger one axis by axis, the smaller one as the dimensions say.
fn operand<I: Dimension, O: Dimension>(
    input: I,
    output: &[usize],
    dimensions: &[usize],
) -> Result<BroadcastPlan<I, O>, Refusal> {
    if input.ndim() == output.len() {
        super::numpy::to_target(Rule::Xla, input, output)
    } else {
        BroadcastPlan::new(Rule::Xla, input, output, |axis| dimensions[axis])
    }
}

/// The shape with fewer axes, then the one with more.
fn by_rank<'a>(a: &'a [usize], b: &'a [usize]) -> (&'a [usize], &'a [usize]) {
    if a.len() <= b.len() { (a, b) } else { (b, a) }
}

#[cold]
fn dimensions_required(a: &[usize], b: &[usize]) -> Refusal {
    refusal(|| {
        Ok(BroadcastError::DimensionsRequired {
            shapes: [boxed(a)?, boxed(b)?],
        })
    })
}

#[cold]
fn dimensions_unexpected(a: &[usize], b: &[usize], dimensions: &[usize]) -> Refusal {
    refusal(|| {
        Ok(BroadcastError::DimensionsUnexpected {
            shapes: [boxed(a)?, boxed(b)?],
            dimensions: boxed(dimensions)?,
        })
    })
}

#[cold]
fn operand_mismatch(
    a: &[usize],
    b: &[usize],
    axis: usize,
    column: impl Fn(usize) -> usize,
) -> Refusal {
    refusal(|| {
        let mut mapping = boxed(by_rank(a, b).0)?;
        mapping
            .iter_mut()
            .enumerate()
            .for_each(|(axis, entry)| *entry = column(axis));
        Ok(BroadcastError::OperandMismatch {
            rule: Rule::Xla,
            operands: [0, 1],
            shapes: [boxed(a)?, boxed(b)?],
            mapping,
            axis,
        })
    })
}
