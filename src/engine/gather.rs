//! Copies of terms into a table: along rows, element by element, or in squares where the two are
//! contiguous along different axes.

use super::nest::Tile;
use super::simd::Vectorize;
use std::mem::MaybeUninit;
use std::ptr::copy_nonoverlapping;

/// Side of the squares. Four registers of four `f32` turn into one another in eight shuffles.
const SQUARE: usize = 4;

/// Rows whose squares are copied together: the lines of the terms stay in the first-level cache.
const BAND: usize = 64;

/// Elements of a row that are turned round together: a wide register of `f32`.
const BACKWARDS: usize = 8;

/// A tile of a table, operand 0, and of the terms, operand 1.
pub(super) struct Gather<A> {
    to: *mut A,
    from: *const A,
    tile: Tile<2>,
}

impl<A: Copy> Gather<A> {
    /// # Safety
    ///
    /// From `to` on, the offsets of operand 0 in the tile are different elements that are valid for
    /// writes. From `from` on, those of operand 1 are elements that are valid for reads, and no
    /// elements of the table.
    pub(super) unsafe fn new(to: *mut A, from: *const A, tile: Tile<2>) -> Self {
        Gather { to, from, tile }
    }

    /// Where the element at this row and column is in the table and among the terms.
    #[inline(always)]
    fn at(&self, row: usize, column: usize) -> (*mut A, *const A) {
        let [to, from] = self.tile.offsets_at(row, column);
        (self.to.wrapping_offset(to), self.from.wrapping_offset(from))
    }

    /// Copies this part of the tile row by row.
    #[inline(always)]
    fn rows(&self, at: [usize; 2], rows: usize, columns: usize) {
        let [to_step, from_step] = self.tile.columns.strides;
        for row in at[0]..at[0] + rows {
            let (to, from) = self.at(row, at[1]);
            if [to_step, from_step] == [1, 1] {
                // SAFETY: `columns` neighbours of a row of the tile: the contract of `new`.
                unsafe { copy_nonoverlapping(from, to, columns) };
                continue;
            }
            let mut done = 0;
            if [to_step, from_step] == [1, -1] {
                while done + BACKWARDS <= columns {
                    let first = from.wrapping_sub(done + BACKWARDS - 1);
                    // SAFETY: the next `BACKWARDS` elements of a row of the tile, which are
                    // neighbours: the contract of `new`.
                    let mut terms =
                        unsafe { first.cast::<[MaybeUninit<A>; BACKWARDS]>().read_unaligned() };
                    terms.reverse();
                    let to = to.wrapping_add(done).cast::<[MaybeUninit<A>; BACKWARDS]>();
                    // SAFETY: as many neighbours in the table: the contract of `new`.
                    unsafe { to.write_unaligned(terms) };
                    done += BACKWARDS;
                }
            }
            for i in done as isize..columns as isize {
                let from = from.wrapping_offset(from_step.wrapping_mul(i));
                // SAFETY: an element of the tile: the contract of `new`.
                let term = unsafe { from.read() };
                let to = to.wrapping_offset(to_step.wrapping_mul(i));
                // SAFETY: an element of the tile: the contract of `new`.
                unsafe { to.write(term) };
            }
        }
    }

    /// Copies the squares of the tile, if the table is contiguous along rows and the terms are
    /// along columns. Returns how many rows and columns are in squares.
    #[inline(always)]
    fn squares(&self) -> [usize; 2] {
        let Tile { rows, columns, .. } = self.tile;
        let crossed = rows.strides[0] == 1 && columns.strides[1] == 1;
        if !crossed || !(1..=8).contains(&size_of::<A>()) {
            return [0, 0];
        }
        let [down, along] = [rows.size, columns.size].map(|size| size / SQUARE * SQUARE);
        let bands = (0..down).step_by(BAND);
        let in_band = |band| (band..down.min(band + BAND)).step_by(SQUARE);
        for (band, column) in
            bands.flat_map(|band| (0..along).step_by(SQUARE).map(move |column| (band, column)))
        {
            for row in in_band(band) {
                let square: [[MaybeUninit<A>; SQUARE]; SQUARE] = std::array::from_fn(|i| {
                    let (_, from) = self.at(row + i, column);
                    // SAFETY: as many columns of row `row + i`, which are neighbours among the
                    // terms, as found above: the contract of `new`.
                    unsafe { from.cast::<[MaybeUninit<A>; SQUARE]>().read_unaligned() }
                });
                #[allow(clippy::needless_range_loop)] // A column of the square.
                for j in 0..SQUARE {
                    let (to, _) = self.at(row, column + j);
                    let terms: [MaybeUninit<A>; SQUARE] = std::array::from_fn(|i| square[i][j]);
                    // SAFETY: as many rows of column `column + j`, which are neighbours in the
                    // table, as found above: the contract of `new`.
                    unsafe { to.cast::<[MaybeUninit<A>; SQUARE]>().write_unaligned(terms) };
                }
            }
        }
        [down, along]
    }
}

impl<A: Copy> Vectorize for Gather<A> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let (rows, columns) = (self.tile.rows.size, self.tile.columns.size);
        let [down, along] = self.squares();
        if along == 0 {
            return self.rows([0, 0], rows, columns);
        }
        self.rows([0, along], down, columns - along);
        self.rows([down, 0], rows - down, columns);
    }
}
