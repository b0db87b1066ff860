//! Scratch memory of threads.

use super::super::tuning::CACHE_LINE;
use crate::error::{Result, reserved};
use std::mem::MaybeUninit;

/// A line of the cache, as scratch memory.
#[repr(align(64))]
pub(super) struct Line {
    _bytes: [MaybeUninit<u8>; CACHE_LINE],
}

/// Scratch memory of [`reduce_few`](super::few::reduce_few): enough for the lanes of 64 columns of
/// `f64`, or of 32 positions with their `f32`. With 8 KiB, these would be planned: positions over
/// the first axis of 32 by 32 take 365 ns, and 674 ns by the plan.
pub(super) type Few = MaybeUninit<[Line; 256]>;

/// Memory that is not initialised, aligned as asked for.
pub(super) struct Memory {
    first: *mut u8,
    _lines: Vec<Line>,
}

// SAFETY: it is a plain allocation.
unsafe impl Send for Memory {}

// SAFETY: shared references only tell where it is.
unsafe impl Sync for Memory {}

impl Memory {
    pub(super) fn new(bytes: usize, align: usize) -> Result<Self> {
        // More than the bytes, if a line is not aligned enough.
        let more = usize::from(bytes > 0 && align > CACHE_LINE) * align;
        let lines = bytes.saturating_add(more).div_ceil(CACHE_LINE);
        let mut lines: Vec<Line> = reserved(lines)?;
        let first = lines.as_mut_ptr().cast::<u8>();
        let first = first.wrapping_add(first.align_offset(align));
        let _lines = lines;
        Ok(Memory { first, _lines })
    }

    /// The place of this byte.
    pub(super) fn at(&self, byte: usize) -> *mut u8 {
        self.first.wrapping_add(byte)
    }
}
