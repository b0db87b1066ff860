//! x86-64: streamed copies and transposes.

// Before Rust 1.87 the intrinsics are unsafe functions.
#![allow(unused_unsafe, clippy::multiple_unsafe_ops_per_block)]

use crate::engine::tuning::CACHE_LINE;
use std::arch::x86_64::{
    _mm_sfence, _mm_stream_si128, _mm_unpackhi_epi8, _mm_unpackhi_epi16, _mm_unpackhi_epi32,
    _mm_unpackhi_epi64, _mm_unpacklo_epi8, _mm_unpacklo_epi16, _mm_unpacklo_epi32,
    _mm_unpacklo_epi64,
};
use std::array;
use std::ptr::copy_nonoverlapping;

pub(crate) const CAN_STREAM: bool = true;

/// See [`super::stream`].
///
/// # Safety
///
/// As there.
pub(crate) unsafe fn stream(from: *const u8, to: *mut u8, bytes: usize) {
    let head = to.align_offset(CACHE_LINE).min(bytes);
    let end = bytes - (bytes - head) % CACHE_LINE;
    // SAFETY: `head <= bytes`, and both pointers are valid for `bytes`: the contract.
    unsafe { copy_nonoverlapping(from, to, head) };
    for at in (head..end).step_by(CACHE_LINE) {
        let line = to.wrapping_add(at).cast::<Register>();
        // SAFETY: registers of a line before `end`.
        let registers: [_; 4] = array::from_fn(|i| unsafe { load(from.wrapping_add(at + 16 * i)) });
        for (i, register) in registers.into_iter().enumerate() {
            // SAFETY: as above; `to + head` is aligned to a line.
            unsafe { _mm_stream_si128(line.wrapping_add(i), register) };
        }
    }
    // SAFETY: the bytes from `end` on.
    unsafe { copy_nonoverlapping(from.wrapping_add(end), to.wrapping_add(end), bytes - end) };
}

pub(crate) fn fence() {
    // SAFETY: a store fence has no precondition; SSE is in the baseline of the target.
    unsafe { _mm_sfence() };
}

pub(crate) use std::arch::x86_64::__m128i as Register;

load_bytes!(xmm_reg: "movdqu {}, [{}]", "movq {}, [{}]");

/// The elements of `a` and `b` in turn, of `SIZE` bytes: of their first halves, then of their
/// second halves.
#[inline(always)]
pub(crate) fn interleave<const SIZE: usize>(a: Register, b: Register) -> [Register; 2] {
    // SAFETY: SSE2 is in the baseline of the target.
    unsafe {
        match SIZE {
            1 => [_mm_unpacklo_epi8(a, b), _mm_unpackhi_epi8(a, b)],
            2 => [_mm_unpacklo_epi16(a, b), _mm_unpackhi_epi16(a, b)],
            4 => [_mm_unpacklo_epi32(a, b), _mm_unpackhi_epi32(a, b)],
            _ => [_mm_unpacklo_epi64(a, b), _mm_unpackhi_epi64(a, b)],
        }
    }
}
