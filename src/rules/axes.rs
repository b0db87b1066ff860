//! The conditions on a list of axes that explicit, in_dim and xla share.

use crate::error::{BroadcastError, boxed, either};
use crate::mode::Rule;

/// What an error about a list of axes shows.
pub(crate) struct AxesCheck<'a> {
    pub(crate) rule: Rule,
    pub(crate) input: &'a [usize],
    pub(crate) target: &'a [usize],
    pub(crate) axes: &'a [usize],
}

impl AxesCheck<'_> {
    /// One entry for each input axis, each an axis of the target.
    #[inline]
    pub(crate) fn one_per_input_axis(&self) -> Result<(), BroadcastError> {
        if self.axes.len() != self.input.len() {
            return Err(self.length());
        }
        match self.axes.iter().position(|&axis| axis >= self.target.len()) {
            Some(position) => Err(self.out_of_range(position)),
            None => Ok(()),
        }
    }

    /// Strictly increasing.
    #[inline]
    pub(crate) fn increasing(&self) -> Result<(), BroadcastError> {
        match self.axes.windows(2).position(|pair| pair[0] >= pair[1]) {
            Some(at) if self.axes[..=at].contains(&self.axes[at + 1]) => Err(self.repeated(at + 1)),
            Some(at) => Err(self.unsorted(at + 1)),
            None => Ok(()),
        }
    }

    /// No axis twice, in any order.
    pub(crate) fn unique(&self) -> Result<(), BroadcastError> {
        match (1..self.axes.len()).find(|&at| self.axes[..at].contains(&self.axes[at])) {
            Some(position) => Err(self.repeated(position)),
            None => Ok(()),
        }
    }

    #[cold]
    pub(crate) fn length(&self) -> BroadcastError {
        either((|| {
            Ok(BroadcastError::AxesLength {
                rule: self.rule,
                input: boxed(self.input)?,
                target: boxed(self.target)?,
                axes: boxed(self.axes)?,
            })
        })())
    }

    #[cold]
    pub(crate) fn out_of_range(&self, position: usize) -> BroadcastError {
        either((|| {
            Ok(BroadcastError::AxisOutOfRange {
                rule: self.rule,
                input: boxed(self.input)?,
                target: boxed(self.target)?,
                axes: boxed(self.axes)?,
                position,
            })
        })())
    }

    #[cold]
    fn unsorted(&self, position: usize) -> BroadcastError {
        either((|| {
            Ok(BroadcastError::AxesUnsorted {
                rule: self.rule,
                input: boxed(self.input)?,
                target: boxed(self.target)?,
                axes: boxed(self.axes)?,
                position,
            })
        })())
    }

    #[cold]
    fn repeated(&self, position: usize) -> BroadcastError {
        either((|| {
            Ok(BroadcastError::AxisRepeated {
                rule: self.rule,
                input: boxed(self.input)?,
                target: boxed(self.target)?,
                axes: boxed(self.axes)?,
                position,
            })
        })())
    }
}
