//! xla: two operands of equal rank, whose axes of size 1 replicate on either side. If the ranks
//! differ, broadcast dimensions align the operands first. XLA never guesses them.
//!
//! Source: XLA's broadcasting semantics for binary operations (`broadcast_dimensions`, then
//! degenerate dimensions), as `XlaBuilder` checks them.

use super::axes::{increasing, one_per_input_axis};
use super::call::Call;
use crate::error::{AxesFault, BroadcastError};
use crate::rule::Relation;

/// The elementwise rule, for two operands.
#[inline(always)]
pub(super) fn in_dimensions<C: Call>(
    call: C,
    dimensions: &[usize],
) -> Result<C::Output, BroadcastError> {
    let [a, b] = call.ranks();
    let (small, rank) = (a.min(b), a.max(b));
    let identity = || small == rank && dimensions.iter().copied().eq(0..rank);
    let checked = if small == rank || small == 0 {
        match dimensions.is_empty() || identity() {
            true => Ok(()),
            false => Err(AxesFault::Unexpected),
        }
    } else if dimensions.is_empty() {
        Err(AxesFault::Missing)
    } else {
        one_per_input_axis(dimensions, small, rank).and_then(|()| increasing(dimensions))
    };
    checked.map_err(|fault| call.refused().axes(dimensions, fault))?;
    // Operands of full rank are aligned axis by axis, the smaller one by the dimensions.
    call.related(Relation::Common, |axis| match small == rank {
        true => axis,
        false => dimensions[axis],
    })
}

/// The ranks that operands of unknown rank are taken to have. If one may have several, their boxes
/// are equal, or the output's rank is unknown.
pub(super) fn ranks(ranks: [Option<usize>; 2], dimensions: &[usize]) -> [Option<usize>; 2] {
    let count = dimensions.len();
    let beside = |rank: usize| match count {
        0 => (rank > 0).then_some(rank),
        _ => (count < rank).then_some(count),
    };
    match ranks {
        [None, None] => [Some(count), None],
        [a, b] => [b.and_then(beside), a.and_then(beside)],
    }
}
