//! What depends on the machine: vector registers, copies past the cache.
//!
//! Kernels are portable code that the compiler vectorises. [`widest`] compiles a kernel twice, once
//! for AVX2, and chooses at run time. Results do not depend on the choice: the compiler never
//! contracts or reorders operations on floats.
//!
//! The instructions of copies stand in assembly, because Rust has no load of bytes that may be
//! uninitialised, as padding is. x86-64 has all of them, aarch64 shuffles and transposes; elsewhere
//! the copies are plain.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// Bytes of a register of AVX2.
pub(crate) const WIDE_REGISTER: usize = 32;

/// How many tests run the code for processors without wide registers. Tests that run at the same
/// time do so too, and have the same results.
#[cfg(test)]
static WITHOUT_WIDE_REGISTERS: std::sync::atomic::AtomicUsize =
    std::sync::atomic::AtomicUsize::new(0);

/// While it lives, the processor seems to have no wide registers.
#[cfg(test)]
pub(crate) struct WithoutWideRegisters(());

#[cfg(test)]
impl WithoutWideRegisters {
    pub(crate) fn new() -> Self {
        WITHOUT_WIDE_REGISTERS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        WithoutWideRegisters(())
    }
}

#[cfg(test)]
impl Drop for WithoutWideRegisters {
    fn drop(&mut self) {
        WITHOUT_WIDE_REGISTERS.fetch_sub(1, std::sync::atomic::Ordering::Relaxed);
    }
}

/// Whether the processor has registers of [`WIDE_REGISTER`] bytes.
#[inline]
pub(crate) fn has_wide_registers() -> bool {
    #[cfg(test)]
    if WITHOUT_WIDE_REGISTERS.load(std::sync::atomic::Ordering::Relaxed) > 0 {
        return false;
    }
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    return std::arch::is_x86_feature_detected!("avx2");
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    return false;
}

/// A kernel that is compiled for several instruction sets.
pub(crate) trait Vectorize {
    type Output;

    /// Runs the kernel. Implementations are `#[inline(always)]`, and so is what they call in their
    /// loops: only code that is inlined into [`widest`] is compiled for wide vectors.
    fn run(self) -> Self::Output;
}

/// Runs `kernel` in the widest vectors of the processor.
#[inline]
pub(crate) fn widest<K: Vectorize>(kernel: K) -> K::Output {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if has_wide_registers() {
        // SAFETY: the processor has AVX2, as `has_wide_registers` has just found.
        return unsafe { run_avx2(kernel) };
    }
    kernel.run()
}

/// # Safety
///
/// The processor has AVX2.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[target_feature(enable = "avx2")]
unsafe fn run_avx2<K: Vectorize>(kernel: K) -> K::Output {
    kernel.run()
}

/// What the target has. The names of an aarch64 shadow those of the glob.
mod target {
    #[cfg(not(all(target_arch = "x86_64", target_pointer_width = "64", not(miri))))]
    pub(crate) use super::portable::*;

    #[cfg(all(target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
    pub(crate) use super::x86::*;

    #[cfg(all(
        target_arch = "aarch64",
        target_pointer_width = "64",
        target_endian = "little",
        not(miri)
    ))]
    pub(crate) use super::aarch64::{
        CAN_TRANSPOSE, can_shuffle, shuffle_all, transpose_2_of_8, transpose_4_of_4,
        transpose_8_of_1, transpose_8_of_2,
    };
}

/// Whether streamed copies go past the cache on this target.
pub(crate) use target::CAN_STREAM;

/// Whether [`copy_shuffled`] can copy anything on this machine.
pub(crate) use target::can_shuffle;

/// Copies `bytes` bytes with non-temporal stores: whole cache lines of `to` go to memory without
/// being read first and without pushing anything out of the cache. Bytes before the first and after
/// the last whole line are copied with plain stores. The bytes need not be initialised.
///
/// # Safety
///
/// `from` is readable and `to` is writable for `bytes` bytes, and the two do not overlap. No other
/// thread is told of the bytes before this thread drops a [`FenceOnDrop`].
pub(crate) use target::stream;

/// Orders what this thread has streamed before whatever it stores next, when it is dropped, also
/// during a panic.
pub(crate) struct FenceOnDrop;

impl Drop for FenceOnDrop {
    fn drop(&mut self) {
        target::fence();
    }
}

/// The permission to stream on this thread, with the fence at its end.
pub(crate) struct Streamer {
    _fence: FenceOnDrop,
    /// Neither `Send` nor `Sync`: the fence concerns the thread that streams.
    _thread: PhantomData<*const ()>,
}

impl Streamer {
    /// # Safety
    ///
    /// The streamer is dropped before another thread is told of the bytes that it has streamed.
    pub(crate) unsafe fn new() -> Self {
        Streamer {
            _fence: FenceOnDrop,
            _thread: PhantomData,
        }
    }

    /// [`stream`] for slices of equal length.
    pub(crate) fn copy<T: Copy>(&self, from: &[T], to: &mut [T]) {
        assert!(from.len() == to.len());
        let (bytes, from, to) = (size_of_val(from), from.as_ptr(), to.as_mut_ptr());
        // SAFETY: the slices have `bytes` bytes each, and `to` is borrowed mutably, so they do not
        // overlap. The fence follows when `self` is dropped: contract of `Streamer::new`.
        unsafe { stream(from.cast(), to.cast(), bytes) };
    }
}

/// Copies between slices of equal length that stay in the cache.
#[inline]
pub(crate) fn copy_in_cache<T: Copy>(from: &[T], to: &mut [T]) {
    assert!(from.len() == to.len());
    let bytes = size_of_val(from);
    // SAFETY: the slices have `bytes` bytes each, and `to` is borrowed mutably, so they do not
    // overlap.
    unsafe { target::copy_in_cache(from.as_ptr().cast(), to.as_mut_ptr().cast(), bytes) };
}

/// Transposes a square of elements: row `i` of the output has element `i` of each row of the
/// source. The arguments are output and source, and the bytes from one row to the next in each. The
/// bytes need not be initialised.
///
/// # Safety
///
/// The source is readable and the output is writable for each row of the square. The two do not
/// overlap.
pub(crate) type TransposeSquare = unsafe fn((*mut u8, *const u8), [isize; 2]);

/// How many rows and columns of elements of `size` bytes are transposed together, and by what.
/// `None`: the target has no code for these.
///
/// Compilers make no vector code of such a loop. Two threads transpose 16 matrices of 256 x 64
/// `f32` in 25 us by squares and in 54 element by element; of `u8` in 15 and 45; of `f64` in 62 and
/// 80.
pub(crate) const fn square(size: usize) -> Option<(usize, TransposeSquare)> {
    if !target::CAN_TRANSPOSE {
        return None;
    }
    match size {
        1 => Some((8, target::transpose_8_of_1)),
        2 => Some((8, target::transpose_8_of_2)),
        4 => Some((4, target::transpose_4_of_4)),
        8 => Some((2, target::transpose_2_of_8)),
        _ => None,
    }
}

/// Bytes of the registers that [`copy_shuffled`] writes.
pub(crate) const SHUFFLED: usize = 16;

/// The most registers that [`copy_shuffled`] writes for each step of the source. Their shuffles and
/// offsets stay in registers: 4 MiB of `[N]` to `[N, 3]`, `f32`, take 36 us, and 73 if the shuffles
/// and offsets are loaded again for each register of output.
pub(crate) const MOST_SHUFFLES: usize = 7;

/// One register of output: where its sixteen source bytes begin, and which of them go where.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
pub(crate) struct Shuffle {
    pub(crate) indices: [u8; SHUFFLED],
    pub(crate) offset: usize,
}

impl Shuffle {
    pub(crate) const NONE: Self = Shuffle {
        indices: [0; SHUFFLED],
        offset: 0,
    };
}

/// Writes one register for each of `shuffles`, again and again, while the source moves on by `step`
/// bytes each time. Returns how many bytes of `to` are written: as many whole repeats as fit into
/// `to` and read inside `from`.
///
/// With a streamer the stores go past the cache; `to` must then be aligned to a register.
pub(crate) fn copy_shuffled(
    shuffles: &[Shuffle],
    from: &[MaybeUninit<u8>],
    step: usize,
    to: &mut [MaybeUninit<u8>],
    streamer: Option<&Streamer>,
) -> usize {
    assert!(step > 0 && (streamer.is_none() || to.as_ptr().addr() % SHUFFLED == 0));
    let Some(last) = shuffles.iter().map(|shuffle| shuffle.offset).max() else {
        return 0;
    };
    let Some(more) = from.len().checked_sub(SHUFFLED + last) else {
        return 0;
    };
    let period = shuffles.len() * SHUFFLED;
    let times = (to.len() / period).min(more / step + 1);
    if times == 0 || shuffles.len() > MOST_SHUFFLES || !can_shuffle() {
        return 0;
    }
    let (from, to) = (from.as_ptr().cast(), to.as_mut_ptr().cast());
    // SAFETY: the processor has the instructions: `can_shuffle`. The last repeat reads from
    // `(times - 1) * step <= more` on, at most `last + 16` bytes, which ends inside `from`. `times *
    // period` bytes fit into `to`, which is aligned to a register if it is streamed. There are up
    // to `MOST_SHUFFLES` entries, and neither none nor 0 `times`.
    unsafe { target::shuffle_all(shuffles, (to, from), [step, times], streamer.is_some()) };
    times * period
}

/// Defines a function that transposes a square, from its lines of assembly and the registers that
/// they write. With `n` rows, row `i` is interleaved with row `i + n / 2`, and the rows that result
/// are interleaved again, log2(n) times in all.
#[allow(unused_macros)]
macro_rules! transpose_square {
    ($name:ident, [$($register:tt)*], $($lines:expr),*) => {
        /// # Safety
        ///
        /// As [`super::TransposeSquare`].
        #[inline(always)]
        pub(crate) unsafe fn $name(
            (to, from): (*mut u8, *const u8),
            [to_step, from_step]: [isize; 2],
        ) {
            // SAFETY: it reads and writes the rows of a square, which are valid for that: contract
            // of `TransposeSquare`. Every processor of the target has the registers.
            unsafe {
                asm!(
                    $($lines,)*
                    from = inout(reg) from => _,
                    to = inout(reg) to => _,
                    from_step = in(reg) from_step,
                    to_step = in(reg) to_step,
                    $(out($register) _,)*
                    options(nostack),
                );
            }
        }
    };
}

#[cfg(all(target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
mod x86 {
    use super::{Shuffle, WIDE_REGISTER, has_wide_registers};
    use crate::engine::tuning::{CACHE_LINE, COPY_WIDE_FROM};
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
            // SAFETY: `head + 64 * lines <= bytes`, for which both pointers are valid. `to + head`
            // is aligned to a line: `lines > 0` means that `head` is what `align_offset` returned.
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

    /// # Safety
    ///
    /// `from` is readable and `to` is writable for `bytes` bytes, and the two do not overlap.
    #[inline]
    pub(crate) unsafe fn copy_in_cache(from: *const u8, to: *mut u8, bytes: usize) {
        if bytes >= COPY_WIDE_FROM && has_wide_registers() {
            // SAFETY: both pointers are valid for `bytes`: contract of `copy_in_cache`. The
            // processor has AVX2, and `COPY_WIDE_FROM` is above 128.
            unsafe { copy_wide(from, to, bytes) };
        } else {
            // SAFETY: both pointers are valid for `bytes`: contract of `copy_in_cache`.
            unsafe { copy_nonoverlapping(from, to, bytes) };
        }
    }

    /// # Safety
    ///
    /// The processor has AVX2. `from` is readable and `to` is writable for `bytes` bytes, at least
    /// 128, and the two do not overlap.
    #[target_feature(enable = "avx2")]
    unsafe fn copy_wide(from: *const u8, to: *mut u8, bytes: usize) {
        let head = to.align_offset(WIDE_REGISTER);
        // All whole lines from the first aligned byte on; at least one, as `bytes - head` is above
        // 96.
        let lines = (bytes - head) / CACHE_LINE;
        let end = head + lines * CACHE_LINE;
        // SAFETY: it copies the first 32 bytes, then each whole line from `head` on, by `vmovaps`
        // on multiples of 32, then the last 64 bytes. All of them are among the `bytes >= 128`
        // bytes.
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
    /// The processor has SSSE3. `from` is readable for the 16 bytes at each offset of `shuffles`
    /// plus each of `(0..times) * step`, and `to` is writable for `times` registers of each of
    /// `shuffles`; with `streamed` it is aligned to a register. `times` is not 0, and there are 1
    /// to `MOST_SHUFFLES` entries.
    pub(crate) unsafe fn shuffle_all(
        shuffles: &[Shuffle],
        (to, from): (*mut u8, *const u8),
        [step, times]: [usize; 2],
        streamed: bool,
    ) {
        // Each entry is its place, then names for its offset and its shuffle.
        macro_rules! each {
            ($store:literal, $count:literal: $($at:literal $offset:ident $shuffle:ident),*) => {
                // SAFETY: `from` and `to` are valid where it reads and writes: contract of
                // `shuffle_all`. The table has an entry for each register, aligned as `movdqa`
                // needs it.
                unsafe {
                    asm!(
                        $(
                            concat!("movdqa {", stringify!($shuffle), "}, [{t} + 32 * ", $at, "]"),
                            concat!("mov {", stringify!($offset), "}, [{t} + 32 * ", $at, " + 16]"),
                        )*
                        "2:",
                        $(
                            concat!("movdqu {register}, [{from} + {", stringify!($offset), "}]"),
                            concat!("pshufb {register}, {", stringify!($shuffle), "}"),
                            concat!($store, " [{to} + 16 * ", $at, "], {register}"),
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
        macro_rules! shuffle_all {
            ($store:literal) => {
                match shuffles.len() {
                    1 => each!($store, 1: 0 o0 s0),
                    2 => each!($store, 2: 0 o0 s0, 1 o1 s1),
                    3 => each!($store, 3: 0 o0 s0, 1 o1 s1, 2 o2 s2),
                    4 => each!($store, 4: 0 o0 s0, 1 o1 s1, 2 o2 s2, 3 o3 s3),
                    5 => each!($store, 5: 0 o0 s0, 1 o1 s1, 2 o2 s2, 3 o3 s3, 4 o4 s4),
                    6 => each!($store, 6: 0 o0 s0, 1 o1 s1, 2 o2 s2, 3 o3 s3, 4 o4 s4, 5 o5 s5),
                    _ => each!(
                        $store, 7: 0 o0 s0, 1 o1 s1, 2 o2 s2, 3 o3 s3, 4 o4 s4, 5 o5 s5, 6 o6 s6
                    ),
                }
            };
        }
        if streamed {
            shuffle_all!("movntdq");
        } else {
            shuffle_all!("movdqu");
        }
    }
}

/// Shuffles in the registers that every aarch64 has. `[N]` to `[N, 3]` of `f32` takes 4.8
/// instructions for 16 bytes, and 8.4 without; of `u8` 6.6 and 44. A plugin of qemu counted them,
/// for N = 4096.
///
/// Transposes use these registers too. The plugin counted the instructions for an element of a
/// matrix of 256 by 256, with the squares below and without: `u8` 0.75 and 6.3, `u16` 0.78 and 6.6,
/// `f32` 1.5 and 7.1, `f64` 3.6 and 8.2.
// Little-endian: an aarch64 in the other order reverses the bytes of a register that it reads.
#[cfg(all(
    target_arch = "aarch64",
    target_pointer_width = "64",
    target_endian = "little",
    not(miri)
))]
mod aarch64 {
    use super::Shuffle;
    use std::arch::asm;

    pub(crate) fn can_shuffle() -> bool {
        true
    }

    pub(crate) const CAN_TRANSPOSE: bool = true;

    /// Lines of assembly: a load of each of these registers, from rows of the source.
    macro_rules! load {
        ($elements:literal: $($register:literal)*) => {
            concat!($("ld1 {{v", $register, $elements, "}}, [{from}], {from_step}\n"),*)
        };
    }

    /// Lines of assembly: a store of each of these registers, to rows of the output.
    macro_rules! store {
        ($elements:literal: $($register:literal)*) => {
            concat!($("st1 {{v", $register, $elements, "}}, [{to}], {to_step}\n"),*)
        };
    }

    /// Lines of assembly: elements of `a` and `b` in turn, their first halves to `low`, and their
    /// second halves to `high`.
    macro_rules! interleave {
        ($elements:literal: $($a:literal $b:literal $low:literal $high:literal),*) => {
            concat!($(
                "zip1 v", $low, $elements, ", v", $a, $elements, ", v", $b, $elements,
                "\nzip2 v", $high, $elements, ", v", $a, $elements, ", v", $b, $elements, "\n"
            ),*)
        };
    }

    macro_rules! square {
        ($name:ident: $($lines:expr),*) => {
            transpose_square!($name, ["v0" "v1" "v2" "v3" "v4" "v5" "v6" "v7"
                "v16" "v17" "v18" "v19" "v20" "v21" "v22" "v23"], $($lines),*);
        };
    }

    square!(transpose_2_of_8:
        load!(".2d": 0 1),
        interleave!(".2d": 0 1 2 3),
        store!(".2d": 2 3));

    square!(transpose_4_of_4:
        load!(".4s": 0 1 2 3),
        interleave!(".4s": 0 2 4 5, 1 3 6 7),
        interleave!(".4s": 4 6 0 1, 5 7 2 3),
        store!(".4s": 0 1 2 3));

    macro_rules! square_of_8 {
        ($name:ident: $elements:literal) => {
            square!($name:
                load!($elements: 0 1 2 3 4 5 6 7),
                interleave!($elements: 0 4 16 17, 1 5 18 19, 2 6 20 21, 3 7 22 23),
                interleave!($elements: 16 20 0 1, 17 21 2 3, 18 22 4 5, 19 23 6 7),
                interleave!($elements: 0 4 16 17, 1 5 18 19, 2 6 20 21, 3 7 22 23),
                store!($elements: 16 17 18 19 20 21 22 23));
        };
    }

    square_of_8!(transpose_8_of_2: ".8h");
    // Rows are half a register.
    square_of_8!(transpose_8_of_1: ".8b");

    /// # Safety
    ///
    /// `from` is readable for the 16 bytes at each offset of `shuffles` plus each of `(0..times) *
    /// step`, and `to` is writable for `times` registers of each of `shuffles`. `times` is not 0,
    /// and there are 1 to `MOST_SHUFFLES` entries.
    pub(crate) unsafe fn shuffle_all(
        shuffles: &[Shuffle],
        (to, from): (*mut u8, *const u8),
        [step, times]: [usize; 2],
        _streamed: bool,
    ) {
        // Each entry is its place, then names for its offset and its shuffle.
        macro_rules! each {
            ($count:literal: $($at:literal $offset:ident $shuffle:ident),*) => {
                // SAFETY: `from` and `to` are valid where it reads and writes: contract of
                // `shuffle_all`. The table has an entry for each register.
                unsafe {
                    asm!(
                        $(
                            concat!("ldr {", stringify!($shuffle), ":q}, [{t}, #32 * ", $at, "]"),
                            concat!("ldr {", stringify!($offset), "}, [{t}, #32 * ", $at, " + 16]"),
                        )*
                        "2:",
                        $(
                            concat!("ldr {register:q}, [{from}, {", stringify!($offset), "}]"),
                            concat!(
                                "tbl {register:v}.16b, {{{register:v}.16b}}, {",
                                stringify!($shuffle), ":v}.16b"
                            ),
                            concat!("str {register:q}, [{to}, #16 * ", $at, "]"),
                        )*
                        concat!("add {to}, {to}, #16 * ", $count),
                        "add {from}, {from}, {step}",
                        "subs {times}, {times}, #1",
                        "b.ne 2b",
                        $(
                            $offset = out(reg) _,
                            $shuffle = out(vreg) _,
                        )*
                        register = out(vreg) _,
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
}

#[cfg(not(all(target_arch = "x86_64", target_pointer_width = "64", not(miri))))]
// An aarch64 has its own shuffles and squares.
#[allow(dead_code, unused_imports)]
mod portable {
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
    pub(crate) unsafe fn shuffle_all(
        _: &[Shuffle],
        _: (*mut u8, *const u8),
        _: [usize; 2],
        _: bool,
    ) {
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_any_length_from_and_to_any_alignment() {
        let source: Vec<_> = (0..1024)
            .map(|i| MaybeUninit::new((i * 7 % 251) as u8))
            .collect();
        for to_offset in 0..=64 {
            for from_offset in [0, 1, 3, 8, 31, 63] {
                for bytes in (0..=330).chain([500, 512, 900]) {
                    let mut target = vec![MaybeUninit::new(0xee_u8); 1100];
                    let from = &source[from_offset..from_offset + bytes];
                    // SAFETY: the streamer is dropped before anything else happens.
                    let streamer = unsafe { Streamer::new() };
                    streamer.copy(from, &mut target[to_offset..to_offset + bytes]);
                    drop(streamer);
                    // SAFETY: all elements were initialised, and copies of initialised ones
                    // are, too.
                    let byte = |slot: &MaybeUninit<u8>| unsafe { slot.assume_init() };
                    let (before, rest) = target.split_at(to_offset);
                    let (copied, after) = rest.split_at(bytes);
                    assert!(copied.iter().map(byte).eq(from.iter().map(byte)));
                    assert!(before.iter().chain(after).all(|slot| byte(slot) == 0xee));
                }
            }
        }
    }

    #[test]
    fn shuffled_copies_stay_inside_both_slices() {
        let reverse = Shuffle {
            indices: std::array::from_fn(|i| 15 - i as u8),
            offset: 3,
        };
        let source: Vec<_> = (0..200_u8).map(MaybeUninit::new).collect();
        for from in 0..source.len() {
            for to in [0, 15, 16, 31, 32, 47, 100] {
                let mut target = vec![MaybeUninit::new(0xee_u8); to + 16];
                let (shuffles, out) = ([reverse; 2], &mut target[..to]);
                let done = copy_shuffled(&shuffles, &source[..from], 5, out, None);
                let fits = (0..to / 32)
                    .take_while(|turn| turn * 5 + 3 + 16 <= from)
                    .count();
                assert_eq!(done, if can_shuffle() { fits * 32 } else { 0 });
                for (i, slot) in target.iter().enumerate() {
                    let expected = if i < done {
                        i / 32 * 5 + 3 + 15 - i % 16
                    } else {
                        0xee
                    };
                    // SAFETY: all elements were initialised, and so are those copied.
                    assert_eq!(usize::from(unsafe { slot.assume_init() }), expected);
                }
            }
        }
    }
}
