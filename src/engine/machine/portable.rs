//! Plain copies, for processors without code of their own.

use super::Shuffle;

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

pub(crate) use stream as copy_in_cache;

pub(crate) fn fence() {}

pub(crate) fn can_shuffle() -> bool {
    false
}

pub(crate) const CAN_TRANSPOSE: bool = false;

/// Never called, as [`CAN_TRANSPOSE`] is false.
pub(crate) unsafe fn transpose_4_of_4(_: (*mut u8, *const u8), _: [isize; 2]) {}

pub(crate) use transpose_4_of_4 as transpose_2_of_8;
pub(crate) use transpose_4_of_4 as transpose_8_of_1;
pub(crate) use transpose_4_of_4 as transpose_8_of_2;

/// Never called, as [`can_shuffle`] is false.
pub(crate) unsafe fn shuffle_all(_: &[Shuffle], _: (*mut u8, *const u8), _: [usize; 2]) {}
