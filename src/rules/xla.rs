//! xla: two operands of equal rank, whose axes of size 1 replicate on either side. If the ranks
//! differ, broadcast dimensions align the operands first. XLA never guesses them.
//!
//! Source: XLA's broadcasting semantics for binary operations (`broadcast_dimensions`, then
//! degenerate dimensions), as `XlaBuilder` checks them.

use super::alignment::{Aligned, Axes};
use super::axes::{increasing, one_per_input_axis};
use crate::error::{AxesFault, Mismatch};
use crate::rule::Relation;

/// The elementwise rule, for two operands.
#[inline(always)]
pub(super) fn in_dimensions([a, b]: [usize; 2], dimensions: &[usize]) -> Aligned<'_> {
    let (small, rank) = (a.min(b), a.max(b));
    let identity = || small == rank && dimensions.iter().copied().eq(0..rank);
    let fault = if small == rank || small == 0 {
        (!dimensions.is_empty() && !identity()).then_some(AxesFault::Unexpected)
    } else if dimensions.is_empty() {
        Some(AxesFault::Missing)
    } else {
        one_per_input_axis(dimensions, small, rank).or_else(|| increasing(dimensions))
    };
    match fault {
        Some(fault) => Err(Mismatch::axes(dimensions, fault)),
        // Operands of full rank are aligned axis by axis, the smaller one by the dimensions.
        None if small == rank => Ok((Relation::Common, Axes::From(0))),
        None => Ok((Relation::Common, Axes::Listed(dimensions))),
    }
}

/// The ranks that operands of unknown rank are taken to have. If one may have several, their boxes
/// are equal, or the output's rank is unknown.
pub(super) fn ranks(ranks: [Option<usize>; 2], dimensions: &[usize]) -> [Option<usize>; 2] {
    let count = dimensions.len();
    let beside = |rank: usize| (count < rank).then_some(if count == 0 { rank } else { count });
    match ranks {
        [None, None] => [Some(count), None],
        [a, b] => [b.and_then(beside), a.and_then(beside)],
    }
}
