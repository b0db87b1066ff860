//! Plain copies, for processors without code of their own.

use super::TransposeSquare;

pub(crate) const CAN_STREAM: bool = false;

/// See [`super::stream`].
///
/// # Safety
///
/// As there.
pub(crate) unsafe fn stream(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: the contract of this function.
    unsafe { std::ptr::copy_nonoverlapping(from, to, bytes) };
}

pub(crate) fn fence() {}

/// See [`super::square`].
pub(crate) const fn square(_: usize) -> Option<(usize, TransposeSquare)> {
    None
}
