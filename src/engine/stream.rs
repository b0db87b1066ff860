//! Copies of bytes by wide registers: past the cache, or within it.

use super::simd::{WIDE_REGISTER, has_wide_registers};
use super::tuning::CACHE_LINE;

/// Whether [`stream`] goes past the cache on this target.
pub(crate) const CAN_STREAM: bool = cfg!(all(target_arch = "x86_64", not(miri)));

/// Copies `bytes` bytes with non-temporal stores: whole cache lines of `to` go to memory without being read first and without
/// pushing anything out of the cache. Bytes before the first and after the last whole line are copied as usual.
///
/// The bytes need not be initialised. Elsewhere than on x86-64 it is a plain copy.
///
/// Other threads see the bytes only after [`stream_fence`] on this thread.
///
/// # Safety
///
/// `from` is readable and `to` is writable for `bytes` bytes, and the two do not overlap.
#[inline]
pub(crate) unsafe fn stream(from: *const u8, to: *mut u8, bytes: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        let head = to.align_offset(CACHE_LINE).min(bytes);
        let lines = (bytes - head) / CACHE_LINE;
        let tail = bytes - head - lines * CACHE_LINE;
        let end = bytes - tail;
        if head > 0 {
            // SAFETY: `head <= bytes`, for which the caller vouches.
            unsafe { std::ptr::copy_nonoverlapping(from, to, head) };
        }
        if lines > 0 {
            let (from, to) = (from.wrapping_add(head), to.wrapping_add(head));
            // SAFETY: `head + 64 * lines <= bytes`, for which the caller vouches, and `to + head` is aligned to a cache line
            // because `lines > 0` means that `head` is what `align_offset` gave.
            unsafe { stream_lines(from, to, lines) };
        }
        if tail > 0 {
            let (from, to) = (from.wrapping_add(end), to.wrapping_add(end));
            // SAFETY: `end + tail == bytes`, for which the caller vouches.
            unsafe { std::ptr::copy_nonoverlapping(from, to, tail) };
        }
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    // SAFETY: the caller vouches for both ranges.
    unsafe {
        std::ptr::copy_nonoverlapping(from, to, bytes)
    };
}

/// Fewer bytes than this are copied by `memcpy`, which then takes no longer.
const COPY_WIDE_FROM: usize = 256;

/// Copies `bytes` bytes that stay in the cache, from source bytes that are there.
///
/// On x86-64 with AVX2 by registers of 32 bytes that begin at multiples of 32: 59 us for 4 MiB in pieces of 16 KiB on one thread, where
/// the `memcpy` of glibc takes 60 to 63.
///
/// # Safety
///
/// `from` is readable and `to` is writable for `bytes` bytes, and the two do not overlap.
#[inline]
pub(crate) unsafe fn copy_in_cache(from: *const u8, to: *mut u8, bytes: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if bytes >= COPY_WIDE_FROM && has_wide_registers() {
        // SAFETY: the caller's promise; the processor has AVX2, and these are more than a line.
        return unsafe { copy_wide(from, to, bytes) };
    }
    // SAFETY: the caller vouches for both ranges.
    unsafe { std::ptr::copy_nonoverlapping(from, to, bytes) };
}

/// # Safety
///
/// As [`copy_in_cache`]; AVX2 is there, and `bytes` is at least 128.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[target_feature(enable = "avx2")]
unsafe fn copy_wide(from: *const u8, to: *mut u8, bytes: usize) {
    let head = to.align_offset(WIDE_REGISTER);
    // All whole lines from the first aligned byte on; at least one, as `bytes - head` is more than 96.
    let lines = (bytes - head) / CACHE_LINE;
    let end = head + lines * CACHE_LINE;
    // In assembly because a load of bytes that may be padding, thus uninitialised, is undefined in Rust but not here.
    // SAFETY: the first 32 bytes; then each line that the caller vouches for, from `head` on, with `vmovaps` on multiples of 32;
    // then the last 64 bytes. All of them are among the caller's, which are at least 128.
    unsafe {
        std::arch::asm!(
            "vmovups ymm0, [{first_from}]",
            "vmovups [{first_to}], ymm0",
            "2:",
            "vmovups ymm0, [{from} + {at}]",
            "vmovups ymm1, [{from} + {at} + 32]",
            "vmovaps [{to} + {at}], ymm0",
            "vmovaps [{to} + {at} + 32], ymm1",
            "add {at}, 64",
            "jnz 2b",
            "vmovups ymm0, [{first_from} + {last}]",
            "vmovups ymm1, [{first_from} + {last} + 32]",
            "vmovups [{first_to} + {last}], ymm0",
            "vmovups [{first_to} + {last} + 32], ymm1",
            "vzeroupper",
            first_from = in(reg) from,
            first_to = in(reg) to,
            last = in(reg) bytes - CACHE_LINE,
            from = in(reg) from.wrapping_add(end),
            to = in(reg) to.wrapping_add(end),
            at = inout(reg) ((lines * CACHE_LINE) as isize).wrapping_neg() => _,
            // `vzeroupper` writes to all of them.
            out("ymm0") _, out("ymm1") _, out("ymm2") _, out("ymm3") _,
            out("ymm4") _, out("ymm5") _, out("ymm6") _, out("ymm7") _,
            out("ymm8") _, out("ymm9") _, out("ymm10") _, out("ymm11") _,
            out("ymm12") _, out("ymm13") _, out("ymm14") _, out("ymm15") _,
            options(nostack),
        );
    }
}

/// # Safety
///
/// `from` is readable and `to` is writable for `lines` cache lines, the two do not overlap, `to` is aligned to a cache line and
/// `lines` is not 0.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline]
unsafe fn stream_lines(from: *const u8, to: *mut u8, lines: usize) {
    let bytes = lines * CACHE_LINE;
    // In assembly because a load of bytes that may be padding, thus uninitialised, is undefined in Rust but not here. SSE2 is
    // part of every x86-64; wider stores were no faster, as four of these fill a line's buffer just as well.
    // SAFETY: each turn of the loop reads and writes one of the lines that the caller vouches for, with `movntps` on addresses
    // that are multiples of 16. SSE2 is in the baseline of the target.
    unsafe {
        std::arch::asm!(
            "2:",
            "movups {a}, [{from} + {at}]",
            "movups {b}, [{from} + {at} + 16]",
            "movups {c}, [{from} + {at} + 32]",
            "movups {d}, [{from} + {at} + 48]",
            "movntps [{to} + {at}], {a}",
            "movntps [{to} + {at} + 16], {b}",
            "movntps [{to} + {at} + 32], {c}",
            "movntps [{to} + {at} + 48], {d}",
            "add {at}, 64",
            "jnz 2b",
            from = in(reg) from.wrapping_add(bytes),
            to = in(reg) to.wrapping_add(bytes),
            at = inout(reg) (bytes as isize).wrapping_neg() => _,
            a = out(xmm_reg) _,
            b = out(xmm_reg) _,
            c = out(xmm_reg) _,
            d = out(xmm_reg) _,
            options(nostack),
        );
    }
}

/// Makes what this thread has streamed visible in order before whatever it stores next: to be called once after a thread's last
/// [`stream`].
#[inline]
pub(crate) fn stream_fence() {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a store fence has no precondition; SSE is in the baseline of the target. In assembly like the stores, so that
    // the compiler moves no other memory access across it.
    unsafe {
        std::arch::asm!("sfence", options(nostack, preserves_flags));
    }
}

/// Calls [`stream_fence`] when it is dropped, so that what has been streamed is seen by others after a panic too.
pub(crate) struct FenceOnDrop;

impl Drop for FenceOnDrop {
    #[inline]
    fn drop(&mut self) {
        stream_fence();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_any_length_from_and_to_any_alignment() {
        type Copy = unsafe fn(*const u8, *mut u8, usize);
        let copies: [Copy; 2] = [
            |from, to, bytes| {
                // SAFETY: the caller's promise.
                unsafe { stream(from, to, bytes) };
                stream_fence();
            },
            // SAFETY: the caller's promise.
            |from, to, bytes| unsafe { copy_in_cache(from, to, bytes) },
        ];
        let source: Vec<u8> = (0..1024).map(|i| (i * 7 % 251) as u8).collect();
        for to_offset in 0..=64 {
            for from_offset in [0, 1, 3, 8, 31, 63] {
                for bytes in (0..=330).chain([500, 512, 900]) {
                    for copy in copies {
                        let mut target = vec![0xee_u8; 1100];
                        let from = source.as_ptr().wrapping_add(from_offset);
                        let to = target.as_mut_ptr().wrapping_add(to_offset);
                        // SAFETY: both ranges end within their vectors, and the vectors are two.
                        unsafe { copy(from, to, bytes) };
                        let (before, rest) = target.split_at(to_offset);
                        let (copied, after) = rest.split_at(bytes);
                        assert_eq!(copied, &source[from_offset..from_offset + bytes]);
                        assert!(before.iter().chain(after).all(|&byte| byte == 0xee));
                    }
                }
            }
        }
    }
}
