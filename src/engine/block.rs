//! Blocks: what the gather copies. They say where their elements lie, and copy one of them.

use super::machine::copy_in_cache;
use super::nest::LoopAxis;
use super::tuning::BLOCK;
use super::tuning::copies::SHORT_REPEAT;
use std::mem::MaybeUninit;
use std::ptr;

/// One axis of a block: how many elements it has, and how many bytes lie between two of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Along {
    pub(crate) len: usize,
    pub(crate) step: isize,
}

impl Along {
    /// A loop over an operand of a nest, whose strides are in bytes.
    #[inline(always)]
    pub(crate) fn of<const N: usize>(axis: &LoopAxis<N>, operand: usize) -> Self {
        Along {
            len: axis.size,
            step: axis.strides[operand],
        }
    }
}

/// A block of elements, and the place of a copy. In the copy, the elements of a row are contiguous.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Block {
    pub(crate) to: *mut u8,
    /// Bytes between two rows of the copy. A negative number is wrapped.
    pub(crate) pitch: usize,
    pub(crate) from: *const u8,
    pub(crate) rows: Along,
    pub(crate) columns: Along,
}

/// Memory for copies on the stack, which begins at a cache line.
#[repr(align(64))]
pub(crate) struct StackBlock(pub(crate) [MaybeUninit<u8>; BLOCK]);

impl StackBlock {
    #[inline(always)]
    pub(crate) fn new() -> Self {
        StackBlock([MaybeUninit::uninit(); BLOCK])
    }
}

/// An element as large as a `B`, at any address. It may be padding.
#[derive(Clone, Copy)]
#[repr(C, packed)]
pub(super) struct Slot<B>(pub(super) MaybeUninit<B>);

impl Block {
    /// Where the copy of an element of `size` bytes is.
    #[inline(always)]
    pub(super) fn to(&self, row: usize, column: usize, size: usize) -> *mut u8 {
        let down = row.wrapping_mul(self.pitch);
        self.to
            .wrapping_add(down.wrapping_add(column.wrapping_mul(size)))
    }

    #[inline(always)]
    pub(super) fn from(&self, row: usize, column: usize) -> *const u8 {
        let along = self.columns.step.wrapping_mul(column as isize);
        let down = self.rows.step.wrapping_mul(row as isize);
        self.from.wrapping_byte_offset(down.wrapping_add(along))
    }

    /// The part of `height` by `width` elements of `size` bytes that begins at this row and column.
    #[inline(always)]
    pub(super) fn part(self, at: [usize; 2], height: usize, width: usize, size: usize) -> Self {
        let resized = |axis: Along, len| Along { len, ..axis };
        Block {
            to: self.to(at[0], at[1], size),
            pitch: self.pitch,
            from: self.from(at[0], at[1]),
            rows: resized(self.rows, height),
            columns: resized(self.columns, width),
        }
    }

    /// Copies one element.
    ///
    /// # Safety
    ///
    /// There are such a row and such a column, of elements of the size of `B`.
    #[inline(always)]
    pub(super) unsafe fn copy_one<B: Copy>(&self, row: usize, column: usize) {
        let to = self.to(row, column, size_of::<B>()).cast::<Slot<B>>();
        let from = self.from(row, column).cast::<Slot<B>>();
        // SAFETY: the contract of this function.
        unsafe { ptr::copy_nonoverlapping(from, to, 1) };
    }
}

/// Copies the first `count` bytes from `to` on to the places that are a multiple of `period` bytes
/// behind them, as far as these are among the first `bytes`.
///
/// # Safety
///
/// `bytes` bytes are writable, and the first `count` are written, at most `period`, which is not 0.
pub(super) unsafe fn repeat(to: *mut u8, count: usize, period: usize, bytes: usize) {
    let (mut done, mut piece) = (period, count);
    while done < bytes {
        let count = piece.min(bytes - done);
        // SAFETY: bytes that are written, and bytes behind them: the contract of this function.
        unsafe { copy_in_cache(to, to.wrapping_add(done), count) };
        done += period.max(count);
        // What is copied doubles until it is long enough, and stays in the first-level cache.
        if done <= SHORT_REPEAT && piece >= period {
            piece = done;
        }
    }
}
