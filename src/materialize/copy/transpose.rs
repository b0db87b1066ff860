//! A source whose lines run along the rows of output's columns.

use super::super::strategy::Settings;
use super::interleave::separate;
use super::operands::{Block, Kernels, Plane, Region};
use crate::engine::machine::{Streamer, copy_in_cache};
use crate::engine::tuning::{BLOCK, CACHE_LINE, PAGE};

/// How many rows of elements of `size` bytes are copied together: as many as elements of a cache
/// line of the source, which is then fetched once.
const fn band(size: usize) -> usize {
    match size {
        1..=16 => CACHE_LINE / size,
        _ => 4,
    }
}

/// Copies a plane whose columns lie side by side in output.
pub(super) fn transpose<T: Copy>(mut plane: Plane) {
    if separate::<T>(&mut plane) {
        return;
    }
    let (rows, width) = (plane.rows().size, plane.columns().size);
    let step = band(size_of::<T>());
    for row in (0..rows).step_by(step) {
        let height = step.min(rows - row);
        let mut band = plane.some_rows(row..row + height);
        let [down, along] = band.transpose_squares::<T>();
        // What is below the squares and right of them.
        let below = band.part([down, 0], height - down, along);
        below.swapped().copy_elements::<T, 0, 0>();
        let right = band.part([0, along], height, width - along);
        right.swapped().copy_elements::<T, 0, 0>();
    }
}

/// Transposes into a block, from which each row is copied, by a streamer if there is one.
fn transpose_in_block(mut plane: Plane, transpose: fn(Plane), streamer: Option<&Streamer>) {
    let (rows, columns, size) = (plane.rows().size, plane.columns().size, plane.size());
    let mut block = Block::NEW;
    let step = band(size);
    for row in (0..rows).step_by(step) {
        let height = step.min(rows - row);
        let mut column = 0;
        while column < columns {
            let mut width = (BLOCK / size / step).min(columns - column);
            if column + width < columns {
                // Ends where a line of the first row ends, and so of the others if they are a
                // number of lines apart.
                let end = plane.out_row(row)[(column + width) * size..].as_ptr();
                width -= (end.addr() % CACHE_LINE / size).min(width - 1);
            }
            assert!(
                height * width * size <= BLOCK,
                "a part is as large as the block"
            );
            let mut part = plane.part([row, column], height, width);
            transpose(part.built_in(block.block()));
            for (row, built) in (0..height).zip(block.block().chunks_exact(width * size)) {
                match streamer {
                    Some(streamer) => streamer.copy(built, part.out_row(row)),
                    None => copy_in_cache(built, part.out_row(row)),
                }
            }
            column += width;
        }
    }
}

/// Whether rows of output are a whole number of pages apart. Then they share few sets of a
/// first-level cache, which does not hold a line of each row of a band. 1024 x 1024 `f32` take 552
/// us in place, and 302 through a block.
fn share_sets(plane: &Plane) -> bool {
    Block::fits(plane.size())
        && plane.columns().strides[0] == 1
        && plane.columns().size * plane.size() >= 4 * CACHE_LINE
        && plane.rows().strides[0].unsigned_abs() * plane.size() % PAGE == 0
}

/// Copies transposed matrices, cut into tiles of whole bands, on several threads.
pub(super) fn copy_transposed(region: Region, settings: Settings) {
    let columns = region.axes().last().map_or(1, |axis| axis.size);
    let Kernels {
        size, transpose, ..
    } = *region.kernels();
    // Pieces of a band, then bands of a matrix, up to the size of a chunk.
    let elements = settings.chunk_bytes / size;
    let width = (elements / band(size)).clamp(1, columns);
    let height = (elements / (band(size) * width)).max(1) * band(size);
    region.for_each_tile(
        [height, width],
        settings.streamed,
        |plane, streamer| match streamer.is_some() || share_sets(&plane) {
            true => transpose_in_block(plane, transpose, streamer),
            false => transpose(plane),
        },
    );
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check, check_standard};
    use super::*;

    #[test]
    fn matrices_around_the_smallest_one_cut_into_squares() {
        for (shape, from) in [
            (&[4, 8][..], &[1, 4][..]),
            (&[3, 8], &[1, 3]),
            (&[8, 7], &[1, 8]),
            (&[8, 8], &[1, 8]),
            (&[3, 4096], &[1, 3]),
            (&[4, 5, 8], &[1, 40, 4]),
            (&[5, 4, 8], &[40, -1, 4]),
            (&[70, 90, 50], &[1, 3500, 70]),
            // Windows onto a row: neither axis has the shorter stride.
            (&[8, 8], &[3, 3]),
            (&[8, 8], &[2, -2]),
        ] {
            check_standard::<u8>(shape, from);
            check_standard::<f32>(shape, from);
            check_standard::<[u8; 3]>(shape, from);
            check_standard::<f64>(shape, from);
            check_standard::<u128>(shape, from);
            check_standard::<[u64; 3]>(shape, from);
        }
        check::<f32>(&[4, 8], &[10, 1], &[1, 4], 1);
        check::<f32>(&[4, 8], &[16, 2], &[1, 4], 1);
    }

    #[test]
    fn a_band_is_a_line_of_the_source() {
        for (size, rows) in [(1, 64), (4, 16), (12, 5), (16, 4), (17, 4), (400, 4)] {
            assert_eq!(band(size), rows);
        }
    }

    #[test]
    fn squares_of_elements_of_every_size() {
        for rows in [4, 7, 8, 9, 15, 16, 17, 33, 64, 65] {
            for columns in [8, 9, 15, 16, 17, 31, 40] {
                let (shape, [r, c]) = (&[rows, columns], [rows as isize, columns as isize]);
                for (to, from) in [
                    ([c, 1], [1, r]),
                    ([c + 3, 1], [1, r + 5]),
                    ([-c, 1], [1, r]),
                    ([c, 1], [-1, r]),
                    ([c, 1], [1, -r]),
                    ([c, -1], [1, r]),
                ] {
                    check::<u8>(shape, &to, &from, 1);
                    check::<u16>(shape, &to, &from, 1);
                    check::<(u8, u16)>(shape, &to, &from, 1);
                    check::<f32>(shape, &to, &from, 1);
                    check::<f64>(shape, &to, &from, 1);
                }
            }
        }
    }

    #[test]
    fn rows_a_number_of_pages_apart() {
        for stride in [4096, 8192] {
            check::<u8>(&[20, 300], &[stride, 1], &[1, 20], 0);
            check::<f32>(&[20, 300], &[stride / 4, 1], &[1, 20], 0);
            check::<f32>(&[20, 300], &[-stride / 4, 1], &[1, 20], 0);
            check::<f64>(&[20, 300], &[stride / 8, 1], &[1, 20], 0);
            check::<u128>(&[20, 200], &[stride / 16, 1], &[1, 20], 0);
        }
    }
}
