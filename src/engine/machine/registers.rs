//! Transposes in vector registers, from a few instructions of each processor.

use super::TransposeSquare;
#[cfg(target_arch = "aarch64")]
use super::aarch64::{Register, interleave, load, load_half};
#[cfg(target_arch = "x86_64")]
use super::x86::{Register, interleave, load, load_half};
use std::array;
use std::mem::{MaybeUninit, transmute};

/// See [`super::square`].
///
/// Compilers make no vector code of such a loop. A matrix of 136 by 136 takes, by squares and
/// element by element: `u8` 0.8 and 5.0 us, `u16` 1.0 and 5.1, `f32` 1.8 and 4.9. The sum of all of
/// a 250 by 250 `f64` in Fortran order takes 36 us by squares of four, and 50 by squares of two (an
/// Intel Xeon).
pub(crate) const fn square(size: usize) -> Option<(usize, TransposeSquare)> {
    match size {
        1 => Some((8, transpose_bytes)),
        2 => Some((8, transpose::<2, 8>)),
        4 => Some((4, transpose::<4, 4>)),
        8 => Some((4, transpose_words)),
        _ => None,
    }
}

/// A square of `K` rows, each a register of elements of `SIZE` bytes.
///
/// # Safety
///
/// As [`TransposeSquare`].
#[inline(always)]
unsafe fn transpose<const SIZE: usize, const K: usize>(
    (mut to, mut from): (*mut u8, *const u8),
    [to_step, from_step]: [isize; 2],
) {
    let rows = array::from_fn::<_, K, _>(|_| {
        // SAFETY: a row of the source: the contract of this function.
        let row = unsafe { load(from) };
        from = from.wrapping_offset(from_step);
        row
    });
    for row in interleaved::<SIZE, K>(rows, K.ilog2()) {
        // SAFETY: a row of the output: the contract of this function.
        unsafe { to.cast::<Register>().write_unaligned(row) };
        to = to.wrapping_offset(to_step);
    }
}

/// A square of four rows of four words of eight bytes, as four squares of two.
///
/// # Safety
///
/// As [`TransposeSquare`].
#[inline(always)]
unsafe fn transpose_words((to, from): (*mut u8, *const u8), steps: [isize; 2]) {
    let [to_step, from_step] = steps;
    for (row, column) in [(0, 0), (2, 0), (0, 2), (2, 2)] {
        let to = to.wrapping_offset(row * to_step + column * 8);
        let from = from.wrapping_offset(column * from_step + row * 8);
        // SAFETY: a part of the square.
        unsafe { transpose::<8, 2>((to, from), steps) };
    }
}

/// A square of eight rows of eight bytes, each half a register.
///
/// # Safety
///
/// As [`TransposeSquare`].
#[inline(always)]
unsafe fn transpose_bytes(
    (mut to, mut from): (*mut u8, *const u8),
    [to_step, from_step]: [isize; 2],
) {
    let halves = array::from_fn::<_, 8, _>(|_| {
        // SAFETY: a row of the source: the contract of this function.
        let half = unsafe { load_half(from) };
        from = from.wrapping_offset(from_step);
        half
    });
    let pairs = array::from_fn(|row| interleave::<1>(halves[row], halves[row + 4])[0]);
    for register in interleaved::<1, 4>(pairs, 2) {
        // SAFETY: any bytes are two such halves.
        let halves = unsafe { transmute::<Register, [MaybeUninit<[u8; 8]>; 2]>(register) };
        for half in halves {
            // SAFETY: a row of the output: the contract of this function.
            unsafe { to.cast::<MaybeUninit<[u8; 8]>>().write_unaligned(half) };
            to = to.wrapping_offset(to_step);
        }
    }
}

/// Interleaves row `i` with row `i + K / 2`, and the rows that result again, so many times.
#[inline(always)]
fn interleaved<const SIZE: usize, const K: usize>(
    mut rows: [Register; K],
    times: u32,
) -> [Register; K] {
    for _ in 0..times {
        rows =
            array::from_fn(|row| interleave::<SIZE>(rows[row / 2], rows[row / 2 + K / 2])[row % 2]);
    }
    rows
}
