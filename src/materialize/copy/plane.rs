//! Planes, with plain stores: which kernel copies one.

use super::super::axes::Axis;
use super::interleave::interleave;
use super::operands::Plane;
use super::rows::{copy_rows, repeat};
use super::splat::splat_rows;
use super::transpose::transpose;
use crate::engine::tuning::copies::SHORT_ROW;
use crate::engine::tuning::{LARGE_ELEMENT, SQUARE};

/// Copies any plane.
pub(super) fn copy_plane<T: Copy>(mut plane: Plane) {
    let (rows, columns) = (plane.rows(), plane.columns());
    let repeats = rows.size > 1 && rows.strides == [columns.size as isize, 0];
    let few = rows.size <= SQUARE && SHORT_ROW.contains(&(columns.size * size_of::<T>()));
    match columns.strides {
        [1, 1] if repeats && few => copy_rows(plane),
        [1, _] if repeats => {
            copy_plane::<T>(plane.some_rows(0..1));
            repeat(plane.out(), columns.size * size_of::<T>());
        }
        [1, 1] => copy_rows(plane),
        // `splat_rows` has copies of the element on the stack, in debug builds more than 60.
        [1, 0] if size_of::<T>() >= LARGE_ELEMENT => plane.copy_elements::<T, 1, 0>(),
        [1, 0] => splat_rows::<T>(plane),
        [1, _] if interleave::<T>(&mut plane) => {}
        [1, _] if rows.size >= 4 && columns.size >= 4 && is_transposed(rows, columns) => {
            transpose::<T>(plane)
        }
        [1, -1] => plane.copy_elements::<T, 1, -1>(),
        [1, 2] => plane.copy_elements::<T, 1, 2>(),
        [1, _] => plane.copy_elements::<T, 1, 0>(),
        _ => plane.copy_elements::<T, 0, 0>(),
    }
}

/// Whether the rows step through the source in shorter strides than the columns.
fn is_transposed(rows: Axis, columns: Axis) -> bool {
    rows.strides[1] != 0 && rows.strides[1].unsigned_abs() < columns.strides[1].unsigned_abs()
}
