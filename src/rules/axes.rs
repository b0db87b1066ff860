//! The conditions on lists of axes that `explicit`, `in_dim`, `broadcast_axes` and `xla` share.

use crate::error::{ArrayRole, AxesFault, BroadcastError, ErrorKind, with_copies};
use crate::plan::BroadcastPlan;
use crate::rule::Rule;
use crate::shape::Sizes;
use ndarray::Dimension;
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

/// In lists of more axes repeated ones are found by a hash table. Among more axes, those of a list
/// are found by a table.
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

/// For each axis of a target of many axes, whether the list has it. Its axes must be in range.
/// `None` for few axes: a search in the list is faster.
#[inline(always)]
pub(super) fn membership_table(axes: &[usize], target_rank: usize) -> Option<Vec<bool>> {
    (target_rank > MANY_AXES && axes.len() > MANY_AXES).then(|| filled_table(axes, target_rank))
}

#[cold]
fn filled_table(axes: &[usize], target_rank: usize) -> Vec<bool> {
    let mut table = vec![false; target_rank];
    for &axis in axes {
        table[axis] = true;
    }
    table
}

impl<I: Dimension, O: Dimension> BroadcastPlan<I, O> {
    /// The plan in which input axis `i` feeds target axis `mapping[i]`. The mapping has one entry
    /// for each input axis, each an axis of the target, in the order that `order` demands.
    #[inline(always)]
    pub(super) fn by_mapping(
        rule: Rule,
        input: I,
        target: &impl Dimension,
        mapping: &[usize],
        order: impl FnOnce(&[usize]) -> Result<(), AxesFault>,
    ) -> Result<Self, BroadcastError> {
        one_per_input_axis(mapping, input.ndim(), target.ndim())
            .and_then(|()| order(mapping))
            .map_err(|fault| {
                // Copies, as in `BroadcastPlan::new`.
                let (input, target) = (input.clone(), target.clone());
                invalid_axes(rule, [input.sizes(), target.sizes(), mapping], fault)
            })?;
        BroadcastPlan::new(rule, input, target.sizes(), |axis| mapping[axis])
    }
}

/// The error for an input shape, a target shape and a list of axes.
#[cold]
#[inline(never)]
pub(super) fn invalid_axes(rule: Rule, lists: [&[usize]; 3], fault: AxesFault) -> BroadcastError {
    with_copies(lists, |[input, target, axes]| ErrorKind::InvalidAxes {
        rule,
        array: ArrayRole::Input,
        input,
        target,
        axes,
        fault,
    })
}
