//! Reductions that end when further terms cannot change the results.

use crate::engine::fold::BLOCK_TERMS;
use crate::engine::reduce::{Typing, Value, accumulators};
use crate::engine::sums::{SUMMED, Terms};
use crate::error::BroadcastError;
use ndarray::{Array, Dimension, Zip};

/// How many terms are looked at first. A reduction of fewer has no time to lose: 64 Ki terms of one
/// byte take 3 us.
const FIRST: usize = 64 * BLOCK_TERMS;

/// Each further look is at this many times the terms before it.
const GROWTH: usize = 16;

/// Accumulators, and how many terms they are of.
type Accs<Acc, J> = (Array<Acc, J>, usize);

/// The accumulators of all terms, or of so many that all are decided, and how many terms there
/// are in all. `None` if looking at all of them at once is
/// faster: if there are few, or if the memory of the first input is walked in another order.
///
/// # Errors
///
/// `ShapeOverflow`, `AllocationFailed`.
pub(super) fn decided<Acc: Value, Out: Value, J: Dimension>(
    kernel: &dyn Typing<Acc = Acc, Out = Out>,
    becomes: &[usize],
    dim: J,
    combine: impl Fn(Acc, Acc) -> Acc,
    is_decided: impl Fn(Acc) -> bool,
) -> Result<Option<Accs<Acc, J>>, BroadcastError> {
    let axes = kernel.inputs()[0].shape.iter().zip(becomes);
    let summed = axes.filter(|&(_, &axis)| axis == SUMMED);
    let count: usize = summed.map(|(&size, _)| size).product();
    // Otherwise the first terms lie anywhere in memory.
    let order = kernel.inputs()[0].strides.iter().zip(becomes);
    let order = order.filter(|&(_, &axis)| axis == SUMMED);
    let in_order = order
        .map(|(stride, _)| stride.unsigned_abs())
        .is_sorted_by(|a, b| a >= b);
    if count <= FIRST || dim.size() == 0 || !in_order {
        return Ok(None);
    }
    let look = |range| {
        let terms = Terms { range, number: 0 };
        accumulators(kernel, becomes, dim.clone(), terms)
    };
    let mut end = FIRST;
    let mut accs = look(0..end)?;
    while end < count && !accs.iter().all(|&acc| is_decided(acc)) {
        let next = end.saturating_mul(GROWTH).min(count);
        let more = look(end..next)?;
        Zip::from(&mut accs)
            .and(&more)
            .for_each(|acc, &more| *acc = combine(*acc, more));
        end = next;
    }
    Ok(Some((accs, count)))
}
