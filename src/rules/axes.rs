//! The conditions on a list of axes that explicit, in_dim, broadcast_axes and xla share.

use crate::error::{BroadcastError, Refusal, boxed, refusal};
use crate::mode::Rule;
use ndarray::Dimension;

/// What is wrong with a list of axes, and where in it.
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

/// Each an axis of the target.
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
    // Not `contains`, whose loop over chunks is never unrolled.
    match (1..axes.len()).find(|&at| axes[..at].iter().any(|&axis| axis == axes[at])) {
        Some(position) => Err(AxesFault::Repeated(position)),
        None => Ok(()),
    }
}

impl AxesFault {
    /// The error that shows it. It is given copies of the dimensions, as `BroadcastPlan::new` does.
    #[inline(always)]
    pub(crate) fn refuse<I: Dimension, E: Dimension>(
        self,
        rule: Rule,
        input: &I,
        target: &E,
        axes: &[usize],
    ) -> Refusal {
        let (input, target) = (input.clone(), target.clone());
        self.refusal(rule, input.slice(), target.slice(), axes)
    }

    /// The error that shows it.
    #[cold]
    #[inline(never)]
    pub(crate) fn refusal(
        self,
        rule: Rule,
        input: &[usize],
        target: &[usize],
        axes: &[usize],
    ) -> Refusal {
        refusal(|| {
            let (input, target, axes) = (boxed(input)?, boxed(target)?, boxed(axes)?);
            Ok(match self {
                AxesFault::Length => BroadcastError::AxesLength {
                    rule,
                    input,
                    target,
                    axes,
                },
                AxesFault::OutOfRange(position) => BroadcastError::AxisOutOfRange {
                    rule,
                    input,
                    target,
                    axes,
                    position,
                },
                AxesFault::Unsorted(position) => BroadcastError::AxesUnsorted {
                    rule,
                    input,
                    target,
                    axes,
                    position,
                },
                AxesFault::Repeated(position) => BroadcastError::AxisRepeated {
                    rule,
                    input,
                    target,
                    axes,
                    position,
                },
            })
        })
    }
}
