//! The conditions on lists of axes that `explicit`, `in_dim`, `broadcast_axes` and `xla` share.

use crate::error::AxesFault;
use std::collections::HashSet;

/// What is wrong with a list that has one entry for each input axis, each an axis of the target.
#[inline(always)]
pub(super) fn one_per_input_axis(
    axes: &[usize],
    input_rank: usize,
    target_rank: usize,
) -> Option<AxesFault> {
    match axes.len() == input_rank {
        true => in_range(axes, target_rank),
        false => Some(AxesFault::Length),
    }
}

/// What is wrong with entries that are axes of the target.
#[inline(always)]
pub(super) fn in_range(axes: &[usize], target_rank: usize) -> Option<AxesFault> {
    let position = axes.iter().position(|&axis| axis >= target_rank);
    position.map(AxesFault::OutOfRange)
}

/// What is wrong with strictly increasing entries.
#[inline(always)]
pub(super) fn increasing(axes: &[usize]) -> Option<AxesFault> {
    let at = axes.windows(2).position(|pair| pair[0] >= pair[1])?;
    Some(match axes[..=at].contains(&axes[at + 1]) {
        true => AxesFault::Repeated(at + 1),
        false => AxesFault::Unsorted(at + 1),
    })
}

/// In lists of more axes repeated ones are found by a hash table.
const MANY_AXES: usize = 32;

#[cold]
fn first_repeated(axes: &[usize]) -> Option<usize> {
    let mut seen = HashSet::new();
    axes.iter().position(|axis| !seen.insert(axis))
}

/// What is wrong with entries that are unique, in any order.
#[inline(always)]
pub(super) fn unique(axes: &[usize]) -> Option<AxesFault> {
    let repeated = match axes.len() <= MANY_AXES {
        // Not `contains`: its loop over chunks is never unrolled.
        true => (1..axes.len()).find(|&at| axes[..at].iter().any(|&axis| axis == axes[at])),
        false => first_repeated(axes),
    };
    repeated.map(AxesFault::Repeated)
}
