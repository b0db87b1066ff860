//! Which terms of each sum are reduced, and the numbers that they have among all terms.

use std::ops::Range;

/// A range of the terms that an array has for each sum. Example: [`Part`](super::Part).
#[derive(Debug, Clone)]
pub struct Terms {
    /// Positions in the order of the array's axes that are summed.
    pub(super) range: Range<usize>,
    /// The number of position 0 among all terms, and so on. It wraps: position 0 need not be in the
    /// range.
    pub(super) number: usize,
}

impl Terms {
    /// All of `len` terms, each with its position as its number.
    pub(super) fn all(len: usize) -> Self {
        Terms {
            range: 0..len,
            number: 0,
        }
    }
}
