//! Operands of maps and reductions; which of them are packed before a tile is walked, and in which
//! parts.
//!
//! The compiler vectorises a loop over rows that are contiguous or one repeated element, and a loop
//! costs some nanoseconds to begin. So where a row of an input has gaps, or rows are short, a part
//! of the input is packed: copied to a block in the first-level cache, in the order of the output.
//! HWC `u8` pixels to CHW `f32`, 1080 by 1920, take more than 5 times as long element by element.

use super::gather::{Gather, MORE_ROWS};
use super::nest::{LoopAxis, Tile};
use super::tuning::{BLOCK, CACHE_LINE, LONG_ROW, SQUARE};
use ndarray::{ArrayRef, Dimension};

/// An array of a map or a reduction, without the type of its elements.
#[derive(Clone, Copy)]
pub(crate) struct Operand<'a> {
    /// The element at index 0 of every axis. Only an output is written through it.
    pub(crate) first: *mut u8,
    pub(crate) shape: &'a [usize],
    /// In elements.
    pub(crate) strides: &'a [isize],
    /// Bytes of an element.
    pub(crate) size: usize,
    /// Alignment of an element.
    pub(crate) align: usize,
    /// Copies elements before they are read, if they may be copied.
    pub(crate) packs: Option<&'static Gather>,
}

impl<'a> Operand<'a> {
    /// An array that is not packed. `first` is its element at index 0 of every axis.
    #[inline]
    pub(crate) fn of<A, D: Dimension>(first: *mut A, array: &'a ArrayRef<A, D>) -> Self {
        Operand {
            first: first.cast(),
            shape: array.shape(),
            strides: array.strides(),
            size: size_of::<A>(),
            align: align_of::<A>(),
            packs: None,
        }
    }

    /// The stride along an axis of an output of `rank` axes, to which this operand replicates.
    #[inline]
    pub(crate) fn stride(&self, axis: usize, rank: usize) -> isize {
        match axis.checked_sub(rank - self.shape.len()) {
            Some(axis) if self.shape[axis] != 1 => self.strides[axis],
            _ => 0,
        }
    }
}

/// How a tile is cut into parts, and which inputs are packed in each.
pub(crate) struct Packing {
    /// A bit for each operand.
    packed: u32,
    /// Rows and columns of a part, at most, and at least one of each.
    height: usize,
    width: usize,
    /// Whether the rows of a part are walked as one row.
    pub(super) merges: bool,
    /// Whether all that is packed of a part is one row, which serves all rows of the output.
    one_row: bool,
}

impl Packing {
    /// How to cut `tile`, whose strides are in bytes: into one part if no input is packed.
    pub(crate) fn of<const N: usize>(tile: &Tile<N>, operands: &[Operand<'_>]) -> Self {
        let (rows, columns) = (tile.rows, tile.columns);
        let whole = Packing {
            packed: 0,
            height: rows.size,
            width: columns.size,
            merges: false,
            one_row: false,
        };
        let row = |size: usize| (columns.size * size) as isize;
        let size = operands[0].size;
        if columns.strides[0] != size as isize {
            return whole;
        }
        // For more inputs no loops are compiled in which some of them are repeated.
        let repeats = operands.len() <= 4;
        let merges = columns.size < LONG_ROW && rows.size > 1 && rows.strides[0] == row(size);
        let (mut packed, mut bytes, mut crosses, mut one_row) = (0, 0, false, !merges);
        for (number, &Operand { size, packs, .. }) in operands.iter().enumerate().skip(1) {
            let (down, along) = (rows.strides[number], columns.strides[number]);
            let direct = match (along, merges) {
                (0, false) => repeats,
                (0, true) => repeats && down == 0,
                (along, false) => along == size as isize,
                (along, true) => along == size as isize && down == row(size),
            };
            // Elements of size 0 are read where their array is: it is aligned for them.
            if !direct && size > 0 {
                if packs.is_none() {
                    return whole;
                }
                packed |= 1 << number;
                bytes += size;
                crosses |= down != 0 && down.unsigned_abs() < along.unsigned_abs();
                one_row &= down == 0;
            }
        }
        // Blocks begin at cache lines.
        let room = (BLOCK - N * CACHE_LINE) / bytes.max(1);
        if packed == 0 || room < SQUARE * (1 + MORE_ROWS) {
            return whole;
        }
        let some = room / columns.size;
        // A gather of several rows may write more of them.
        let (height, width) = match () {
            // Merged rows that are equal are packed once, for the first part. In half of the room
            // they are fewer.
            () if merges => (some / 2 - MORE_ROWS, columns.size),
            () if one_row => (rows.size, room),
            () if crosses => {
                // The lines of the input run down the rows. Half a square of them leaves the part
                // long rows.
                let height = rows.size.min(SQUARE / 2);
                (height, room / (height + MORE_ROWS))
            }
            () if columns.size > room / (1 + MORE_ROWS) => (1, room),
            // Several rows: to start a pack takes as long as to copy some hundred bytes.
            () => (some.max(1 + MORE_ROWS) - MORE_ROWS, columns.size),
        };
        Packing {
            packed,
            height,
            width: width.min(columns.size),
            merges,
            one_row,
        }
    }

    /// Whether no operand is packed.
    pub(crate) fn is_none(&self) -> bool {
        self.packed == 0
    }

    /// Whether an operand is packed.
    pub(crate) fn packs(&self, operand: usize) -> bool {
        self.packed >> operand & 1 == 1
    }

    /// Elements of the copy of a part for which there must be room, at most.
    pub(crate) fn elements(&self) -> usize {
        match self.height {
            _ if self.one_row => self.width,
            1 => self.width,
            height => (height + MORE_ROWS) * self.width,
        }
    }

    /// The parts of the tile, row by row. Each position of the tile is in one of them.
    pub(crate) fn parts<const N: usize>(&self, tile: Tile<N>) -> impl Iterator<Item = Tile<N>> {
        let (height, width) = (self.height, self.width);
        let (rows, columns) = (tile.rows.size, tile.columns.size);
        (0..rows).step_by(height).flat_map(move |row| {
            (0..columns).step_by(width).map(move |column| {
                let (height, width) = (height.min(rows - row), width.min(columns - column));
                tile.part([row, column], height, width)
            })
        })
    }

    /// A part after its inputs have been packed, as it is walked: as one row if its rows are short.
    pub(crate) fn merged<const N: usize>(&self, part: Tile<N>) -> Tile<N> {
        if !self.merges {
            return part;
        }
        Tile {
            offsets: part.offsets,
            rows: LoopAxis::UNIT,
            columns: part.columns.resized(part.rows.size * part.columns.size),
        }
    }
}

// Half of the least room has a part of at least one row that is merged with others.
const _: () = assert!(SQUARE * (1 + MORE_ROWS) / (LONG_ROW - 1) / 2 > MORE_ROWS);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_position_of_a_tile_is_in_one_part() {
        for (rows, columns) in [(1, 1), (1, 9), (9, 1), (4, 6), (5, 7), (8, 12), (9, 13)] {
            for (height, width) in [(1, 1), (1, 6), (4, 1), (4, 6), (9, 13), (20, 20)] {
                let packing = Packing {
                    packed: 0,
                    height,
                    width,
                    merges: false,
                    one_row: false,
                };
                let axis = |size, stride| LoopAxis {
                    size,
                    strides: [stride],
                };
                let tile = Tile {
                    offsets: [0],
                    rows: axis(rows, columns as isize),
                    columns: axis(columns, 1),
                };
                let mut seen = vec![0; rows * columns];
                for part in packing.parts(tile) {
                    assert!(part.rows.size <= height && part.columns.size <= width);
                    for row in 0..part.rows.size {
                        for column in 0..part.columns.size {
                            seen[part.offsets_at(row, column)[0] as usize] += 1;
                        }
                    }
                }
                let once = seen.iter().all(|&count| count == 1);
                assert!(once, "{rows} {columns} {height} {width}");
            }
        }
    }
}
