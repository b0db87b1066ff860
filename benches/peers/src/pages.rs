//! Memory on huge pages.

use std::mem::MaybeUninit;

/// Bytes of a huge page.
pub(crate) const HUGE_PAGE: usize = 2 << 20;

/// `n` elements to be read, with huge pages from 4 MiB on, as those of NumPy's arrays.
pub(crate) fn source<T: Copy>(n: usize, value: T) -> Vec<T> {
    let mut vec = Vec::with_capacity(n);
    advise_huge_pages(vec.spare_capacity_mut(), 4 << 20);
    vec.resize(n, value);
    vec
}

/// Asks for huge pages behind `room` if it has so many bytes.
#[cfg(target_os = "linux")]
pub(crate) fn advise_huge_pages<T>(room: &mut [MaybeUninit<T>], from_bytes: usize) {
    let bytes = size_of_val(room);
    if bytes < from_bytes {
        return;
    }
    let skipped = room.as_ptr().cast::<u8>().align_offset(HUGE_PAGE);
    let whole = bytes.saturating_sub(skipped) / HUGE_PAGE * HUGE_PAGE;
    let start = room.as_mut_ptr().wrapping_byte_add(skipped);
    // SAFETY: the pages lie inside `room`, and the advice changes no byte. If it fails, the pages
    // stay small.
    unsafe { libc::madvise(start.cast(), whole, libc::MADV_HUGEPAGE) };
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn advise_huge_pages<T>(_: &mut [MaybeUninit<T>], _: usize) {}
