//! Which inputs of a tile are packed before they are walked, and in which parts.
//!
//! The compiler vectorises a loop over rows that are contiguous or one repeated element, and a loop
//! costs some nanoseconds to begin. So where a row of an input has gaps, or rows are short, a part
//! of the input is packed: copied to a block in the first-level cache, in the order of the output.
//! HWC `u8` pixels to CHW `f32`, 1080 by 1920, take 5 times as long element by element.

use super::nest::{LoopAxis, Tile};
use super::tuning::{CACHE_LINE, MAP_LONG_ROW, PACKED, SQUARE};

/// How a tile is cut into parts, and which inputs are packed in each.
pub(crate) struct Packing {
    /// A bit for each operand.
    packed: u32,
    /// Rows and columns of a part, at most.
    height: usize,
    width: usize,
    /// Whether the rows of a part are walked as one row.
    merges: bool,
    /// Whether parts that follow each other have the same columns.
    down_first: bool,
}

impl Packing {
    /// How to cut `tile`, or `None` if no input is packed. An element of operand `k` has `sizes[k]`
    /// bytes. Operand `k` may be packed if `may[k]`.
    #[inline]
    pub(crate) fn of<const N: usize>(
        tile: &Tile<N>,
        sizes: [usize; N],
        may: [bool; N],
    ) -> Option<Self> {
        let (rows, columns) = (tile.rows, tile.columns);
        if columns.strides[0] != 1 {
            return None;
        }
        // For more inputs no loops are compiled in which some of them are repeated.
        let repeats = N <= 4;
        let row = columns.size as isize;
        let merges = columns.size < MAP_LONG_ROW && rows.size > 1 && rows.strides[0] == row;
        let (mut packed, mut bytes, mut crosses, mut again) = (0, 0, false, false);
        for operand in 1..N {
            let (down, along) = (rows.strides[operand], columns.strides[operand]);
            let direct = match (along, merges) {
                (1, false) => true,
                (1, true) => down == row,
                (0, false) => repeats,
                (0, true) => repeats && down == 0,
                _ => false,
            };
            // Elements of size 0 are anywhere.
            if !direct && sizes[operand] > 0 {
                if !may[operand] {
                    return None;
                }
                packed |= 1 << operand;
                bytes += sizes[operand];
                crosses |= down != 0 && down.unsigned_abs() < along.unsigned_abs();
                again |= down == 0;
            }
        }
        // Blocks begin at cache lines.
        let room = (PACKED - N * CACHE_LINE) / bytes.max(1);
        if packed == 0 || room < SQUARE {
            return None;
        }
        let (height, width) = match () {
            () if merges => (room / columns.size, columns.size),
            () if crosses => {
                // The lines of the input run down the rows. Half a square of them leaves the part
                // long rows.
                let height = rows.size.min(SQUARE / 2);
                (height, room / height)
            }
            () => (1, room),
        };
        Some(Packing {
            packed,
            height,
            width: width.min(columns.size),
            merges,
            down_first: again,
        })
    }

    /// Whether an operand is packed.
    #[inline(always)]
    pub(crate) fn packs(&self, operand: usize) -> bool {
        self.packed >> operand & 1 == 1
    }

    /// Elements of a part, at most.
    #[inline(always)]
    pub(crate) fn elements(&self) -> usize {
        self.height * self.width
    }

    /// Calls `f` with parts that together are the tile, and whether the part has the columns of the
    /// one before it.
    #[inline(always)]
    pub(crate) fn for_each_part<const N: usize>(
        &self,
        tile: &Tile<N>,
        mut f: impl FnMut(Tile<N>, bool),
    ) {
        let (rows, columns) = (tile.rows.size, tile.columns.size);
        let (down, along) = (rows.div_ceil(self.height), columns.div_ceil(self.width));
        for index in 0..down * along {
            let (row, column) = match self.down_first {
                true => (index % down, index / down),
                false => (index / along, index % along),
            };
            let at = [row * self.height, column * self.width];
            let height = self.height.min(rows - at[0]);
            let width = self.width.min(columns - at[1]);
            f(tile.part(at, height, width), self.down_first && row > 0);
        }
    }

    /// A part after its inputs have been packed, as it is walked: as one row if its rows are short.
    #[inline(always)]
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
