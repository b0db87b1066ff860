//! Memory: allocated without a panic, backed by huge pages where that pays, written past the cache where that pays.

use crate::error::{BroadcastError, allocation_failed, output_too_large};
use crate::plan::elements;
use std::mem::MaybeUninit;

/// Bytes of a cache line, which streaming stores fill whole.
pub(crate) const CACHE_LINE: usize = 64;

/// Bytes of a huge page on x86-64 and, with 4 KiB base pages, on AArch64.
pub(crate) const HUGE_PAGE: usize = 2 << 20;

/// From this size on a fresh allocation is advised to use huge pages.
///
/// glibc's `malloc` gives every allocation from 32 MiB up a mapping of its own (its threshold grows to that and no further), so the
/// advice never touches memory that others use, and it goes away with the allocation.
const HUGE_PAGES_FROM: usize = 32 << 20;

/// How many elements a fresh array of `shape` has.
///
/// # Errors
///
/// `OutputTooLarge` if its bytes pass `isize::MAX`.
#[inline]
pub(crate) fn output_len<A>(shape: &[usize]) -> Result<usize, BroadcastError> {
    if let Some(len) = elements(shape) {
        if len
            .checked_mul(size_of::<A>())
            .is_some_and(|bytes| isize::try_from(bytes).is_ok())
        {
            return Ok(len);
        }
    }
    Err(output_too_large(shape, size_of::<A>()))
}

/// A vector of `len` elements that are not initialised yet.
///
/// # Errors
///
/// `AllocationFailed`, with the number of bytes.
#[inline]
pub(crate) fn uninit_vec<A>(len: usize) -> Result<Vec<MaybeUninit<A>>, BroadcastError> {
    let mut vec = Vec::new();
    vec.try_reserve_exact(len)
        .map_err(|_| allocation_failed(len.saturating_mul(size_of::<A>())))?;
    // SAFETY: the capacity is at least `len`, and a `MaybeUninit` needs no initialisation.
    unsafe { vec.set_len(len) };
    if len.saturating_mul(size_of::<A>()) >= HUGE_PAGES_FROM {
        advise_huge_pages(&mut vec);
    }
    Ok(vec)
}

/// The vector, now that all its elements are initialised.
///
/// # Safety
///
/// Every element has been initialised.
#[inline]
pub(crate) unsafe fn assume_init_vec<A>(vec: Vec<MaybeUninit<A>>) -> Vec<A> {
    let mut vec = std::mem::ManuallyDrop::new(vec);
    let (pointer, len, capacity) = (vec.as_mut_ptr(), vec.len(), vec.capacity());
    // SAFETY: the parts are those of a vector that is not dropped, `MaybeUninit<A>` has the layout of `A`, and the caller says
    // that the elements are initialised.
    unsafe { Vec::from_raw_parts(pointer.cast::<A>(), len, capacity) }
}

/// Asks the kernel for huge pages behind the whole 2 MiB pages inside `memory`. What it answers does not matter.
#[cfg(all(target_os = "linux", not(miri)))]
#[cold]
fn advise_huge_pages<A>(memory: &mut [MaybeUninit<A>]) {
    use std::ffi::{c_int, c_void};
    unsafe extern "C" {
        fn madvise(address: *mut c_void, length: usize, advice: c_int) -> c_int;
    }
    const MADV_HUGEPAGE: c_int = 14;
    let bytes = size_of_val(memory);
    let start = memory.as_mut_ptr().cast::<u8>();
    let skip = start.align_offset(HUGE_PAGE);
    if skip < bytes {
        let whole = (bytes - skip) / HUGE_PAGE * HUGE_PAGE;
        // SAFETY: `skip + whole <= bytes`, so the range lies inside `memory`; this advice changes no byte of it.
        unsafe { madvise(start.wrapping_add(skip).cast(), whole, MADV_HUGEPAGE) };
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
fn advise_huge_pages<A>(_memory: &mut [MaybeUninit<A>]) {}

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

/// Bytes of a register of AVX2.
pub(crate) const WIDE_REGISTER: usize = 32;

/// Tests also do without wide registers where there are some.
#[cfg(test)]
pub(crate) static WITHOUT_WIDE_REGISTERS: std::sync::atomic::AtomicBool =
    std::sync::atomic::AtomicBool::new(false);

/// Whether the processor has registers of [`WIDE_REGISTER`] bytes.
#[inline]
pub(crate) fn has_wide_registers() -> bool {
    #[cfg(test)]
    if WITHOUT_WIDE_REGISTERS.load(std::sync::atomic::Ordering::Relaxed) {
        return false;
    }
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("avx2");
    #[cfg(not(target_arch = "x86_64"))]
    return false;
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

    #[test]
    fn refuses_what_does_not_fit() {
        assert_eq!(output_len::<u8>(&[3, 4]), Ok(12));
        assert_eq!(output_len::<[u8; 0]>(&[usize::MAX / 2]), Ok(usize::MAX / 2));
        assert_eq!(output_len::<u64>(&[usize::MAX / 2, 0]), Ok(0));
        for shape in [
            &[usize::MAX / 2][..],
            &[usize::MAX / 8],
            &[1 << 40, 1 << 40],
        ] {
            assert_eq!(
                output_len::<u64>(shape),
                Err(output_too_large(shape, 8)),
                "{shape:?}"
            );
        }
        let bytes = 1 << 60;
        assert_eq!(
            uninit_vec::<u8>(bytes).unwrap_err(),
            allocation_failed(bytes)
        );
    }

    /// The parts of `memory` that lie in mappings for which huge pages have been advised, as offsets; what the kernel says of them.
    #[cfg(all(target_os = "linux", not(miri)))]
    fn advised(memory: &[MaybeUninit<u8>]) -> Vec<std::ops::Range<usize>> {
        let start = memory.as_ptr().addr();
        let (mut found, mut mapping) = (vec![], 0..0);
        let smaps = std::fs::read_to_string("/proc/self/smaps").expect("Linux has it");
        for line in smaps.lines() {
            let first = line.split(' ').next().expect("one part at least");
            let address = |text| usize::from_str_radix(text, 16).ok();
            if let Some((from, to)) = first.split_once('-') {
                if let (Some(from), Some(to)) = (address(from), address(to)) {
                    mapping = from..to;
                }
            }
            let inside = mapping.start.max(start)..mapping.end.min(start + memory.len());
            if first == "VmFlags:" && line.split(' ').any(|flag| flag == "hg") && !inside.is_empty()
            {
                found.push(inside.start - start..inside.end - start);
            }
        }
        found
    }

    #[cfg(all(target_os = "linux", not(miri)))]
    #[test]
    fn huge_pages_are_advised_for_all_whole_ones_of_large_memory() {
        if !std::fs::exists("/sys/kernel/mm/transparent_hugepage").is_ok_and(|there| there) {
            return;
        }
        let small = uninit_vec::<u8>(HUGE_PAGES_FROM - 1).unwrap();
        assert!(advised(&small).is_empty());
        for bytes in [HUGE_PAGES_FROM, HUGE_PAGES_FROM + 3 * HUGE_PAGE + 12_345] {
            let large = uninit_vec::<u8>(bytes).unwrap();
            let first = large.as_ptr().addr().next_multiple_of(HUGE_PAGE) - large.as_ptr().addr();
            let end = first + (bytes - first) / HUGE_PAGE * HUGE_PAGE;
            assert_eq!(advised(&large), std::slice::from_ref(&(first..end)));
        }
        // What holds no whole page is left alone.
        let mut none = uninit_vec::<u8>(HUGE_PAGE - 1).unwrap();
        advise_huge_pages(&mut none);
        assert!(advised(&none).is_empty());
    }
}
