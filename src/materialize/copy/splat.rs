//! Rows of copies of one element.

use super::interleave::interleave;
use super::operands::{Plane, Slot};
use super::{expand, rows};
use crate::engine::machine::{REGISTER, Vectorize, WIDE_REGISTER, has_wide_registers, widest};
use crate::engine::tuning::WIDE_FROM;
use crate::engine::tuning::copies::SHORT_PERIOD;
use std::marker::PhantomData;

/// Fills each row with its one source element.
pub(super) fn splat_rows<T: Copy>(mut plane: Plane) {
    let rows = plane.rows().size;
    let bytes = plane.columns().size * size_of::<T>();
    if bytes <= REGISTER && rows * bytes <= SHORT_PERIOD && interleave::<T>(&mut plane) {
        return;
    }
    let mut done = 0;
    if plane.is_dense() && rows > 1 {
        if rows * bytes >= WIDE_FROM
            && (WIDE_REGISTER..=4 * WIDE_REGISTER).contains(&bytes)
            && has_wide_registers()
        {
            let rows = plane.some_rows(0..rows);
            done = widest(ShortRows::<T, WIDE_REGISTER>(rows, PhantomData));
        }
        done += expand::expand(&mut plane.some_rows(done..rows), None).end;
        if rows - done > 1 {
            done += ShortRows::<T, REGISTER>(plane.some_rows(done..rows), PhantomData).run();
        }
    }
    let rest = plane.some_rows(done..rows);
    if in_register::<T>() && bytes >= WIDE_FROM {
        widest(LongRows::<T>(rest, PhantomData));
    } else {
        rest.for_each_splat::<T>(splat);
    }
}

/// Whether a register holds one element or more without gaps.
const fn in_register<T>() -> bool {
    size_of::<T>().is_power_of_two() && size_of::<T>() <= WIDE_REGISTER
}

/// Fills `row` with copies of `element`.
fn splat<T: Copy>(row: &mut [Slot<T>], element: Slot<T>) {
    if in_register::<T>() || row.len() < 4 {
        splat_one_by_one(row, element);
    } else {
        row[0] = element;
        rows::repeat(row, 1);
    }
}

/// [`splat`], for the compiler to vectorise.
#[inline(always)]
fn splat_one_by_one<T: Copy>(row: &mut [Slot<T>], element: Slot<T>) {
    for slot in row {
        *slot = element;
    }
}

/// Rows of several registers each.
struct LongRows<'a, T>(Plane<'a>, PhantomData<T>);

impl<T: Copy> Vectorize for LongRows<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        self.0.for_each_splat::<T>(|row, element| {
            // Registers that begin at a multiple of their size cross no cache line: 24 us instead
            // of 31 for 4 MiB on two threads.
            let head = row.as_ptr().addr().wrapping_neg() % WIDE_REGISTER / size_of::<T>();
            let (head, row) = row.split_at_mut(head.min(row.len()));
            splat_one_by_one(head, element);
            splat_one_by_one(row, element);
        });
    }
}

/// Rows of at most four registers of `BYTES` bytes that lie side by side. The last register of a
/// row reaches into the next row, which is written after it. Returns how many rows are done: not
/// the last ones, past whose end it would reach, and none if rows are longer.
struct ShortRows<'a, T, const BYTES: usize>(Plane<'a>, PhantomData<T>);

impl<T: Copy, const BYTES: usize> Vectorize for ShortRows<'_, T, BYTES> {
    type Output = usize;

    #[inline(always)]
    fn run(self) -> usize {
        match BYTES.checked_div(size_of::<T>()) {
            Some(elements @ 2..) if elements * size_of::<T>() == BYTES => match elements {
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
        1 => plane.splat_reaching::<T, K, 1>(),
        2 => plane.splat_reaching::<T, K, 2>(),
        3 => plane.splat_reaching::<T, K, 3>(),
        4 => plane.splat_reaching::<T, K, 4>(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check_layouts, check_rows, sparse};
    use crate::engine::machine::{WithoutWideRegisters, has_wide_registers};

    #[test]
    fn without_wide_registers() {
        let _without = WithoutWideRegisters::new();
        assert!(!has_wide_registers());
        check_rows::<u8>(sparse(5));
        check_rows::<u16>(sparse(5));
        check_rows::<f32>(sparse(5));
        check_rows::<f64>(sparse(5));
        check_rows::<u128>(sparse(5));
        check_layouts::<f32>(sparse(3));
    }
}
