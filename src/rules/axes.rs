//! The conditions on lists of axes that `explicit`, `in_dim`, `broadcast_axes` and `xla` share.

use crate::error::{BroadcastError, ErrorKind, with_copies};
use crate::rule::Rule;
use crate::shape::Sizes;
use ndarray::Dimension;

/// What is wrong with a list of axes, and at which position.
#[derive(Clone, Copy)]
pub(crate) enum AxesFault {
    Length,
    OutOfRange(usize),
    Unsorted(usize),
    Repeated(usize),
}

/// One entry for each input axis, each an axis of the target.
#[inline(always)]
pub(crate) fn one_per_input_axis(
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
pub(crate) fn in_range(axes: &[usize], target_rank: usize) -> Result<(), AxesFault> {
    match axes.iter().position(|&axis| axis >= target_rank) {
        Some(position) => Err(AxesFault::OutOfRange(position)),
        None => Ok(()),
    }
}

/// Strictly increasing.
#[inline(always)]
pub(crate) fn increasing(axes: &[usize]) -> Result<(), AxesFault> {
    match axes.windows(2).position(|pair| pair[0] >= pair[1]) {
        Some(at) if axes[..=at].contains(&axes[at + 1]) => Err(AxesFault::Repeated(at + 1)),
        Some(at) => Err(AxesFault::Unsorted(at + 1)),
        None => Ok(()),
    }
}

/// No axis twice, in any order.
#[inline(always)]
pub(crate) fn unique(axes: &[usize]) -> Result<(), AxesFault> {
    // Not `contains`: its loop over chunks is never unrolled.
    match (1..axes.len()).find(|&at| axes[..at].iter().any(|&axis| axis == axes[at])) {
        Some(position) => Err(AxesFault::Repeated(position)),
        None => Ok(()),
    }
}

impl AxesFault {
    /// The error. It takes copies of the dimensions, as in `BroadcastPlan::new`.
    #[inline(always)]
    pub(crate) fn error<I: Dimension, E: Dimension>(
        self,
        rule: Rule,
        input: &I,
        target: &E,
        axes: &[usize],
    ) -> BroadcastError {
        let (input, target) = (input.clone(), target.clone());
        self.error_of_shapes(rule, input.sizes(), target.sizes(), axes)
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn error_of_shapes(
        self,
        rule: Rule,
        input: &[usize],
        target: &[usize],
        axes: &[usize],
    ) -> BroadcastError {
        with_copies([input, target, axes], |[input, target, axes]| match self {
            AxesFault::Length => ErrorKind::AxesLength {
                rule,
                input,
                target,
                axes,
            },
            AxesFault::OutOfRange(position) => ErrorKind::AxisOutOfRange {
                rule,
                input,
                target,
                axes,
                position,
            },
            AxesFault::Unsorted(position) => ErrorKind::AxesUnsorted {
                rule,
                input,
                target,
                axes,
                position,
            },
            AxesFault::Repeated(position) => ErrorKind::AxisRepeated {
                rule,
                input,
                target,
                axes,
                position,
            },
        })
    }
}
