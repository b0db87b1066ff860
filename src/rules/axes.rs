//! The conditions on lists of axes that `explicit`, `in_dim`, `broadcast_axes` and `xla` share.

use super::call::Call;
use crate::error::{AxesFault, BroadcastError};
use crate::rule::Relation;
use std::collections::HashSet;

/// One entry for each input axis, each an axis of the target.
#[inline(always)]
pub(super) fn one_per_input_axis(
    axes: &[usize],
    input_rank: usize,
    target_rank: usize,
) -> Result<(), AxesFault> {
    if axes.len() != input_rank {
        return Err(AxesFault::Length);
    }
    in_range(axes, target_rank)
}

/// Each entry is an axis of the target.
#[inline(always)]
pub(super) fn in_range(axes: &[usize], target_rank: usize) -> Result<(), AxesFault> {
    match axes.iter().position(|&axis| axis >= target_rank) {
        Some(position) => Err(AxesFault::OutOfRange(position)),
        None => Ok(()),
    }
}

/// Strictly increasing.
#[inline(always)]
pub(super) fn increasing(axes: &[usize]) -> Result<(), AxesFault> {
    match axes.windows(2).position(|pair| pair[0] >= pair[1]) {
        Some(at) if axes[..=at].contains(&axes[at + 1]) => Err(AxesFault::Repeated(at + 1)),
        Some(at) => Err(AxesFault::Unsorted(at + 1)),
        None => Ok(()),
    }
}

/// In lists of more axes repeated ones are found by a hash table.
const MANY_AXES: usize = 32;

#[cold]
fn first_repeated(axes: &[usize]) -> Option<usize> {
    let mut seen = HashSet::new();
    axes.iter().position(|axis| !seen.insert(axis))
}

/// No axis twice, in any order.
#[inline(always)]
pub(super) fn unique(axes: &[usize]) -> Result<(), AxesFault> {
    let repeated = match axes.len() <= MANY_AXES {
        // Not `contains`: its loop over chunks is never unrolled.
        true => (1..axes.len()).find(|&at| axes[..at].iter().any(|&axis| axis == axes[at])),
        false => first_repeated(axes),
    };
    match repeated {
        Some(position) => Err(AxesFault::Repeated(position)),
        None => Ok(()),
    }
}

/// Input axis `i` feeds target axis `mapping[i]`. The mapping has one entry for each input axis,
/// each an axis of the target, in the order that `order` demands.
#[inline(always)]
pub(super) fn mapped<C: Call>(
    call: C,
    mapping: &[usize],
    order: impl FnOnce(&[usize]) -> Result<(), AxesFault>,
) -> Result<C::Output, BroadcastError> {
    let [input, target] = call.ranks();
    one_per_input_axis(mapping, input, target)
        .and_then(|()| order(mapping))
        .map_err(|fault| call.refused().axes(mapping, fault))?;
    call.related(Relation::Stretch, |axis| mapping[axis])
}
