//! What depends on the machine: vector registers, copies past the cache.
//!
//! Kernels are portable code that the compiler vectorises. On x86-64, [`widest`] compiles a kernel
//! for AVX2, and [plain](Vectorize::run_plain), and chooses at run time. Results do not depend on
//! the choice: both do the same operations, and the compiler never contracts or reorders those on
//! floats.
//!
//! Sums are such kernels on every processor. On an aarch64, a term of a sum of `f32` takes 0.44
//! instructions along rows and 0.68 along columns; with the vectorisation of the compiler turned
//! off, it takes 2.2 and 3.3. qemu counted them, for 10^6 terms. For WebAssembly, the two sums are
//! compiled to 653 `f32x4.add` and 388 `f32.add` with `-C target-feature=+simd128`, and to 1268
//! `f32.add` without.
//!
//! Registers of copies are loaded in assembly, because Rust has no load of bytes that may be
//! uninitialised, as padding is. Whether an element that is a pointer keeps its provenance in such
//! a register is open in Rust's rules; to the machine it is an address. x86-64 can stream and
//! transpose, aarch64 transpose, by `registers`; elsewhere the copies are plain: `portable`.

use super::tuning::{WIDE_FROM, WIDE_REGISTER};
use std::mem::MaybeUninit;
use std::ptr;

/// Whether the processor has registers of [`WIDE_REGISTER`] bytes.
#[inline]
pub(crate) fn has_wide_registers() -> bool {
    #[cfg(test)]
    if !tests::WIDE_REGISTERS.get() {
        return false;
    }
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    return std::arch::is_x86_feature_detected!("avx2");
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    return false;
}

/// A kernel that is compiled for several instruction sets.
pub(crate) trait Vectorize: Sized {
    /// Runs the kernel. Implementations are `#[inline(always)]`, and so is what they call in their
    /// loops: only code that is inlined into [`widest`] is compiled for wide vectors.
    fn run(self);

    /// Runs the kernel by short code: on an x86-64 without wide registers, and where these gain
    /// nothing. Every program has this code, and few processors run it.
    fn run_plain(self) {
        self.run();
    }
}

/// Runs `kernel` in the widest vectors of the processor.
#[inline]
pub(crate) fn widest<K: Vectorize>(kernel: K) {
    in_vectors(kernel, true);
}

/// Runs `kernel` in the widest vectors of the processor, or [plain](Vectorize::run_plain): unless
/// `wide`, and on an x86-64 without wide registers.
#[inline]
pub(crate) fn in_vectors<K: Vectorize>(kernel: K, wide: bool) {
    if wide && has_wide_registers() {
        // SAFETY: the processor has AVX2, as `has_wide_registers` has just found.
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        return unsafe { run_avx2(kernel) };
    }
    match wide && cfg!(not(target_arch = "x86_64")) {
        true => kernel.run(),
        false => kernel.run_plain(),
    }
}

/// # Safety
///
/// The processor has AVX2.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[target_feature(enable = "avx2")]
unsafe fn run_avx2<K: Vectorize>(kernel: K) {
    kernel.run();
}

/// What the target has. The names of an aarch64 shadow those of the glob.
mod target {
    #[cfg(not(all(target_arch = "x86_64", target_pointer_width = "64", not(miri))))]
    pub(crate) use super::portable::*;

    #[cfg(all(target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
    pub(crate) use super::{registers::*, x86::*};

    #[cfg(all(
        target_arch = "aarch64",
        target_pointer_width = "64",
        target_endian = "little",
        not(miri)
    ))]
    pub(crate) use super::registers::square;
}

/// Whether streamed copies go past the cache on this target.
pub(crate) use target::CAN_STREAM;

/// Copies `bytes` bytes with non-temporal stores: whole cache lines of `to` go to memory without
/// being read first and without pushing anything out of the cache. Bytes before the first and after
/// the last whole line are copied with plain stores. The bytes need not be initialised.
///
/// # Safety
///
/// `from` is readable and `to` is writable for `bytes` bytes, and the two do not overlap. No other
/// thread is told of the bytes before this thread calls [`fence`].
pub(crate) use target::stream;

/// Orders what was streamed before whatever this thread stores next.
pub(crate) use target::fence;

/// Copies `bytes` bytes that stay in the cache: many of them by wide registers, as `memcpy` of
/// glibc takes up to 7 times as long where source and output are neighbours.
///
/// # Safety
///
/// `from` is readable and `to` is writable for `bytes` bytes, and the two do not overlap.
#[inline]
pub(crate) unsafe fn copy_in_cache(from: *const u8, to: *mut u8, bytes: usize) {
    match bytes < WIDE_FROM {
        // SAFETY: the contract of this function.
        true => unsafe { ptr::copy_nonoverlapping(from, to, bytes) },
        false => copy_wide(WideCopy { from, to, bytes }),
    }
}

/// Not inlined: it is called in many places.
#[inline(never)]
fn copy_wide(copy: WideCopy) {
    widest(copy);
}

/// A copy of at least a [`Wide`]. It is only made in [`copy_in_cache`].
struct WideCopy {
    from: *const u8,
    to: *mut u8,
    bytes: usize,
}

impl Vectorize for WideCopy {
    /// Stores between the first and the last one begin at a multiple of their size, which is a
    /// cache line. The compiler stores the second register of each first: across two lines, 1 MiB
    /// of planes that are repeated takes 62 us, and 27 us if it begins at a line (an Intel Xeon).
    #[inline(always)]
    fn run(self) {
        let copy = |at: usize| {
            let from = self.from.wrapping_add(at).cast::<Wide>();
            // SAFETY: bytes of the source, as `at` is at most `last`.
            let registers = unsafe { from.read() };
            // SAFETY: bytes of the copy, as above.
            unsafe { self.to.wrapping_add(at).cast::<Wide>().write(registers) };
        };
        let last = self.bytes - size_of::<Wide>();
        copy(0);
        let mut at = self.to.align_offset(size_of::<Wide>());
        while at < last {
            copy(at);
            at += size_of::<Wide>();
        }
        copy(last);
    }
}

/// The bytes of two wide registers, which may be padding.
type Wide = [MaybeUninit<u8>; 2 * WIDE_REGISTER];

const _: () = assert!(WIDE_FROM >= size_of::<Wide>());

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
pub(crate) use target::square;

/// Loads of registers by the assembly of a target, with its class of registers.
#[allow(unused_macros)]
macro_rules! load_bytes {
    ($class:ident: $all:literal, $half:literal) => {
        /// # Safety
        ///
        /// `from` is readable for 16 bytes, which need not be initialised.
        #[inline(always)]
        pub(crate) unsafe fn load(from: *const u8) -> Register {
            let register;
            // SAFETY: it reads the bytes, and writes the register.
            unsafe {
                std::arch::asm!(
                    $all, out($class) register, in(reg) from,
                    options(pure, readonly, nostack, preserves_flags),
                );
            }
            register
        }

        /// A register whose second half is 0.
        ///
        /// # Safety
        ///
        /// `from` is readable for 8 bytes, which need not be initialised.
        #[inline(always)]
        pub(crate) unsafe fn load_half(from: *const u8) -> Register {
            let register;
            // SAFETY: as in `load`.
            unsafe {
                std::arch::asm!(
                    $half, out($class) register, in(reg) from,
                    options(pure, readonly, nostack, preserves_flags),
                );
            }
            register
        }
    };
}

#[cfg(all(target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
mod x86;

#[cfg(any(
    all(target_arch = "x86_64", target_pointer_width = "64", not(miri)),
    all(
        target_arch = "aarch64",
        target_pointer_width = "64",
        target_endian = "little",
        not(miri)
    )
))]
mod registers;

// Little-endian: an aarch64 in the other order reverses the bytes of a register that it reads.
#[cfg(all(
    target_arch = "aarch64",
    target_pointer_width = "64",
    target_endian = "little",
    not(miri)
))]
mod aarch64;

#[cfg(not(all(target_arch = "x86_64", target_pointer_width = "64", not(miri))))]
// An aarch64 has its own squares.
#[allow(dead_code, unused_imports)]
mod portable;

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::cell::Cell;

    thread_local! {
        pub(super) static WIDE_REGISTERS: Cell<bool> = const { Cell::new(true) };
    }

    /// While it lives, the processor seems to have no wide registers to this thread.
    pub(crate) struct WithoutWideRegisters {
        before: bool,
    }

    impl WithoutWideRegisters {
        pub(crate) fn new() -> Self {
            let before = WIDE_REGISTERS.replace(false);
            WithoutWideRegisters { before }
        }
    }

    impl Drop for WithoutWideRegisters {
        fn drop(&mut self) {
            WIDE_REGISTERS.set(self.before);
        }
    }

    #[test]
    fn streams_any_length_from_and_to_any_alignment() {
        let source: Vec<_> = (0..1024)
            .map(|i| MaybeUninit::new((i * 7 % 251) as u8))
            .collect();
        for to_offset in 0..=64 {
            for from_offset in [0, 1, 3, 8, 31, 63] {
                // Each pair of offsets has a quarter of the lengths. `ALL_CASES` has all of them.
                let step = match std::env::var_os("ALL_CASES") {
                    Some(_) => 1,
                    None => 4,
                };
                let first = (to_offset + from_offset) % step;
                for bytes in (first..=330).step_by(step).chain([500, 512, 900]) {
                    let mut target = vec![MaybeUninit::new(0xee_u8); 1100];
                    let from = &source[from_offset..from_offset + bytes];
                    let to = target[to_offset..to_offset + bytes].as_mut_ptr();
                    // SAFETY: two slices of `bytes` bytes.
                    unsafe { stream(from.as_ptr().cast(), to.cast(), bytes) };
                    fence();
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
}
