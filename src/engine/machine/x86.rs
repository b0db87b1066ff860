//! x86-64: streamed and wide copies, shuffles and transposes.

use super::{Shuffle, WIDE_REGISTER, has_wide_registers};
use crate::engine::tuning::{CACHE_LINE, WIDE_FROM};
use std::arch::asm;
use std::ptr::copy_nonoverlapping;

pub(crate) const CAN_STREAM: bool = true;

pub(crate) fn can_shuffle() -> bool {
    std::is_x86_feature_detected!("ssse3")
}

pub(crate) fn fence() {
    // SAFETY: a store fence has no precondition; SSE is in the baseline of the target. It is in
    // assembly like the stores, so that the compiler moves no other memory access across it.
    unsafe { asm!("sfence", options(nostack, preserves_flags)) };
}

/// See [`super::stream`].
///
/// # Safety
///
/// As there.
#[inline]
pub(crate) unsafe fn stream(from: *const u8, to: *mut u8, bytes: usize) {
    let head = to.align_offset(CACHE_LINE).min(bytes);
    let lines = (bytes - head) / CACHE_LINE;
    let end = head + lines * CACHE_LINE;
    // SAFETY: `head <= bytes`, and both pointers are valid for `bytes`: contract of `stream`.
    unsafe { copy_nonoverlapping(from, to, head) };
    if lines > 0 {
        let (from, to) = (from.wrapping_add(head), to.wrapping_add(head));
        // SAFETY: `head + 64 * lines <= bytes`, for which both pointers are valid. `to + head` is
        // aligned to a line: `lines > 0` means that `head` is what `align_offset` returned.
        unsafe { stream_lines(from, to, lines) };
    }
    let (from, to) = (from.wrapping_add(end), to.wrapping_add(end));
    // SAFETY: `end + (bytes - end) == bytes`, for which both pointers are valid.
    unsafe { copy_nonoverlapping(from, to, bytes - end) };
}

/// # Safety
///
/// `from` is readable and `to` is writable for `lines` cache lines, the two do not overlap,
/// `to` is aligned to a cache line and `lines` is not 0.
unsafe fn stream_lines(from: *const u8, to: *mut u8, lines: usize) {
    let bytes = lines * CACHE_LINE;
    // Wider stores are no faster: four of these fill a line's buffer as well. SAFETY: each turn
    // reads and writes one of the `lines` lines, by `movntps` on multiples of 16, as `to` is
    // aligned to a line. SSE2 is in the baseline of the target.
    unsafe {
        asm!(
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

/// See [`super::copy_in_cache`].
///
/// # Safety
///
/// `from` is readable and `to` is writable for `bytes` bytes, and the two do not overlap.
#[inline]
pub(crate) unsafe fn copy_in_cache(from: *const u8, to: *mut u8, bytes: usize) {
    if bytes >= WIDE_FROM && has_wide_registers() {
        // SAFETY: both pointers are valid for `bytes`: contract of `copy_in_cache`. The processor
        // has AVX2, and `WIDE_FROM` is above 128.
        unsafe { copy_wide(from, to, bytes) };
    } else {
        // SAFETY: both pointers are valid for `bytes`: contract of `copy_in_cache`.
        unsafe { copy_nonoverlapping(from, to, bytes) };
    }
}

/// # Safety
///
/// The processor has AVX2. `from` is readable and `to` is writable for `bytes` bytes, at least 128,
/// and the two do not overlap.
#[target_feature(enable = "avx2")]
unsafe fn copy_wide(from: *const u8, to: *mut u8, bytes: usize) {
    let head = to.align_offset(WIDE_REGISTER);
    // All whole lines from the first aligned byte on; at least one, as `bytes - head` is above 96.
    let lines = (bytes - head) / CACHE_LINE;
    let end = head + lines * CACHE_LINE;
    // SAFETY: it copies the first 32 bytes, then each whole line from `head` on, by `vmovaps` on
    // multiples of 32, then the last 64 bytes. All of them are among the `bytes >= 128` bytes.
    unsafe {
        asm!(
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

pub(crate) const CAN_TRANSPOSE: bool = true;

/// Lines of assembly: a load of each of these registers, from rows of the source.
macro_rules! load {
    ($move:literal: $($register:literal)*) => {
        concat!($($move, " xmm", $register, ", [{from}]\nadd {from}, {from_step}\n"),*)
    };
}

/// Lines of assembly: a store of each of these registers, to rows of the output.
macro_rules! store {
    ($($move:literal $register:literal)*) => {
        concat!($($move, " [{to}], xmm", $register, "\nadd {to}, {to_step}\n"),*)
    };
}

/// Lines of assembly: elements of `a` and `b` in turn, their first halves to `low`, and their
/// second halves to `a`.
macro_rules! interleave {
    ($elements:literal: $($a:literal $b:literal $low:literal),*) => {
        concat!($(
            "movdqa xmm", $low, ", xmm", $a,
            "\npunpckl", $elements, " xmm", $low, ", xmm", $b,
            "\npunpckh", $elements, " xmm", $a, ", xmm", $b, "\n"
        ),*)
    };
}

macro_rules! square {
    ($name:ident: $($lines:expr),*) => {
        transpose_square!($name,
            ["xmm0" "xmm1" "xmm2" "xmm3" "xmm4" "xmm5" "xmm6" "xmm7" "xmm8"], $($lines),*);
    };
}

square!(transpose_2_of_8:
    load!("movdqu": 0 1),
    interleave!("qdq": 0 1 2),
    store!("movdqu" 2 "movdqu" 0));

square!(transpose_4_of_4:
    load!("movdqu": 0 1 2 3),
    interleave!("dq": 0 2 4, 1 3 2),
    interleave!("dq": 4 2 3, 0 1 2),
    store!("movdqu" 3 "movdqu" 4 "movdqu" 2 "movdqu" 0));

square!(transpose_8_of_2:
    load!("movdqu": 0 1 2 3 4 5 6 7),
    interleave!("wd": 0 4 8, 1 5 4, 2 6 5, 3 7 6),
    interleave!("wd": 8 5 7, 0 2 5, 4 6 2, 1 3 6),
    interleave!("wd": 7 2 3, 8 4 2, 5 6 4, 0 1 6),
    store!("movdqu" 3 "movdqu" 7 "movdqu" 2 "movdqu" 8
        "movdqu" 4 "movdqu" 5 "movdqu" 6 "movdqu" 0));

// Rows are half a register.
square!(transpose_8_of_1:
    load!("movq": 0 1 2 3 4 5 6 7),
    "punpcklbw xmm0, xmm4", "punpcklbw xmm1, xmm5",
    "punpcklbw xmm2, xmm6", "punpcklbw xmm3, xmm7",
    interleave!("bw": 0 2 4, 1 3 5),
    interleave!("bw": 4 5 6, 0 1 7),
    store!("movq" 6 "movhps" 6 "movq" 4 "movhps" 4
        "movq" 7 "movhps" 7 "movq" 0 "movhps" 0));

/// # Safety
///
/// The processor has SSSE3. `from` is readable for the 16 bytes at each offset of `shuffles` plus
/// each of `(0..times) * step`, and `to` is writable for `times` registers of each of `shuffles`.
/// `times` is not 0, and there are 1 to `MOST_SHUFFLES` entries.
pub(crate) unsafe fn shuffle_all(
    shuffles: &[Shuffle],
    (to, from): (*mut u8, *const u8),
    [step, times]: [usize; 2],
) {
    // Each entry is its place, then names for its offset and its shuffle.
    macro_rules! each {
        ($count:literal: $($at:literal $offset:ident $shuffle:ident),*) => {
            // SAFETY: `from` and `to` are valid where it reads and writes: contract of
            // `shuffle_all`. The table has an entry for each register, aligned as `movdqa` needs
            // it.
            unsafe {
                asm!(
                    $(
                        concat!("movdqa {", stringify!($shuffle), "}, [{t} + 32 * ", $at, "]"),
                        concat!("mov {", stringify!($offset), "}, [{t} + 32 * ", $at, " + 16]"),
                    )*
                    // The loop of one shuffle takes twice as long if it crosses a line of code.
                    ".p2align 5",
                    "2:",
                    $(
                        concat!("movdqu {register}, [{from} + {", stringify!($offset), "}]"),
                        concat!("pshufb {register}, {", stringify!($shuffle), "}"),
                        concat!("movdqu [{to} + 16 * ", $at, "], {register}"),
                    )*
                    concat!("add {to}, 16 * ", $count),
                    "add {from}, {step}",
                    "dec {times}",
                    "jnz 2b",
                    $(
                        $offset = out(reg) _,
                        $shuffle = out(xmm_reg) _,
                    )*
                    register = out(xmm_reg) _,
                    t = in(reg) shuffles.as_ptr(),
                    from = inout(reg) from => _,
                    to = inout(reg) to => _,
                    step = in(reg) step,
                    times = inout(reg) times => _,
                    options(nostack),
                )
            }
        };
    }
    match shuffles.len() {
        1 => each!(1: 0 o0 s0),
        2 => each!(2: 0 o0 s0, 1 o1 s1),
        3 => each!(3: 0 o0 s0, 1 o1 s1, 2 o2 s2),
        4 => each!(4: 0 o0 s0, 1 o1 s1, 2 o2 s2, 3 o3 s3),
        5 => each!(5: 0 o0 s0, 1 o1 s1, 2 o2 s2, 3 o3 s3, 4 o4 s4),
        6 => each!(6: 0 o0 s0, 1 o1 s1, 2 o2 s2, 3 o3 s3, 4 o4 s4, 5 o5 s5),
        _ => each!(7: 0 o0 s0, 1 o1 s1, 2 o2 s2, 3 o3 s3, 4 o4 s4, 5 o5 s5, 6 o6 s6),
    }
}
