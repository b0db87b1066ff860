//! Rows of copies of one element.

#![forbid(unsafe_code)]

use super::operands::Plane;
use super::{expand, rows};
use crate::engine::simd::{Vectorize, WIDE_REGISTER, has_wide_registers, widest};
use crate::engine::tuning::copies::FILL_WIDE_FROM;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// Fills each row with its one source element.
#[inline]
pub(super) fn splat_rows<T: Copy>(mut plane: Plane) {
    let rows = plane.rows().size;
    let bytes = plane.columns().size * size_of::<T>();
    let mut done = 0;
    if plane.is_dense() && rows > 1 {
        if rows * bytes >= FILL_WIDE_FROM
            && (WIDE_REGISTER..=4 * WIDE_REGISTER).contains(&bytes)
            && has_wide_registers()
        {
            done = widest(ShortRows::<T, WIDE_REGISTER>(
                plane.some_rows(0..rows),
                PhantomData,
            ));
        }
        done += expand::expand(&mut plane.some_rows(done..rows), None).end;
        if rows - done > 1 {
            done += ShortRows::<T, 16>(plane.some_rows(done..rows), PhantomData).run();
        }
    }
    plane.some_rows(done..rows).for_each_splat::<T>(splat);
}

/// Fills `row` with copies of `element`.
#[inline]
pub(super) fn splat<T: Copy>(row: &mut [MaybeUninit<T>], element: MaybeUninit<T>) {
    let in_register = size_of::<T>().is_power_of_two() && size_of::<T>() <= WIDE_REGISTER;
    if !in_register && row.len() >= 4 {
        row[0] = element;
        rows::repeat(row, 1);
    } else if size_of_val(row) >= FILL_WIDE_FROM {
        widest(LongRow(row, element));
    } else {
        splat_one_by_one(row, element);
    }
}

/// [`splat`], for the compiler to vectorise.
#[inline(always)]
fn splat_one_by_one<T: Copy>(row: &mut [MaybeUninit<T>], element: MaybeUninit<T>) {
    for slot in row {
        *slot = element;
    }
}

/// [`splat`] for a row of several registers.
struct LongRow<'a, T>(&'a mut [MaybeUninit<T>], MaybeUninit<T>);

impl<T: Copy> Vectorize for LongRow<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let LongRow(row, element) = self;
        // Registers that begin at a multiple of their size cross no cache line: 24 us instead of 31
        // for 4 MiB on two threads.
        let head = row.as_ptr().align_offset(WIDE_REGISTER);
        let (head, row) = row.split_at_mut(if head < row.len() { head } else { 0 });
        splat_one_by_one(head, element);
        splat_one_by_one(row, element);
    }
}

/// Rows of at most four registers of `REGISTER` bytes that lie side by side. The last register of a
/// row reaches into the next row, which is written after it. Returns how many rows are done: not
/// the last ones, past whose end it would reach, and none if rows are longer.
struct ShortRows<'a, T, const REGISTER: usize>(Plane<'a>, PhantomData<T>);

impl<T: Copy, const REGISTER: usize> Vectorize for ShortRows<'_, T, REGISTER> {
    type Output = usize;

    #[inline(always)]
    fn run(self) -> usize {
        match REGISTER.checked_div(size_of::<T>()) {
            Some(elements @ 2..) if elements * size_of::<T>() == REGISTER => match elements {
                2 => splat_short_rows::<T, 2>(self.0),
                4 => splat_short_rows::<T, 4>(self.0),
                8 => splat_short_rows::<T, 8>(self.0),
                16 => splat_short_rows::<T, 16>(self.0),
                32 => splat_short_rows::<T, 32>(self.0),
                _ => 0,
            },
            _ => 0,
        }
    }
}

/// [`ShortRows`] by registers of `K` elements.
#[inline(always)]
fn splat_short_rows<T: Copy, const K: usize>(plane: Plane) -> usize {
    match plane.columns().size.div_ceil(K) {
        1 => plane.for_each_reaching_splat::<T, K, 1>(|row, element| *row = [[element; K]; 1]),
        2 => plane.for_each_reaching_splat::<T, K, 2>(|row, element| *row = [[element; K]; 2]),
        3 => plane.for_each_reaching_splat::<T, K, 3>(|row, element| *row = [[element; K]; 3]),
        4 => plane.for_each_reaching_splat::<T, K, 4>(|row, element| *row = [[element; K]; 4]),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check_layouts, check_rows};
    use crate::engine::simd::{WITHOUT_WIDE_REGISTERS, has_wide_registers};
    use std::sync::atomic::Ordering;

    /// Tests that run at the same time also do without wide registers, with the same results.
    #[test]
    fn without_wide_registers() {
        WITHOUT_WIDE_REGISTERS.store(true, Ordering::Relaxed);
        assert!(!has_wide_registers());
        check_rows::<u8>();
        check_rows::<u16>();
        check_rows::<f32>();
        check_rows::<f64>();
        check_rows::<u128>();
        check_layouts::<f32>();
        WITHOUT_WIDE_REGISTERS.store(false, Ordering::Relaxed);
        #[cfg(target_arch = "x86_64")]
        assert_eq!(has_wide_registers(), is_x86_feature_detected!("avx2"));
    }
}
