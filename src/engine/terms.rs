//! Terms of sums. [`Columns`] are read where they lie in memory, as slices: rows of neighbouring
//! columns, tables of them, and runs of neighbouring terms. [`Gather`] copies terms into a table:
//! along rows, element by element, or in squares where the two are contiguous along different axes
//! and the machine can transpose such elements.

use super::machine::{Vectorize, square};
use super::nest::{LoopNest, Tile, offsets_of};
use std::marker::PhantomData;
use std::ops::Range;
use std::ptr::copy_nonoverlapping;

/// `width` neighbouring columns: the terms of as many sums.
///
/// Column `i` begins `i * stride` elements after `first`; each of its terms is at a position of
/// `summed` from there. All of them are elements that are borrowed for `'s`.
#[derive(Clone, Copy)]
pub(crate) struct Columns<'s, A> {
    first: *const A,
    stride: isize,
    width: usize,
    /// Terms are operand 0. The places of the sums, operand 1, do not move.
    summed: &'s LoopNest<2>,
    terms: PhantomData<&'s [A]>,
}

impl<'s, A: Copy> Columns<'s, A> {
    /// # Safety
    ///
    /// `width` columns from `first` on, `stride` apart, with their terms at all positions of
    /// `summed`, are elements that are borrowed for `'s`.
    ///
    /// # Panics
    ///
    /// If `summed` does not start at 0, as every nest of [`LoopNest::in_order`] does.
    #[inline(always)]
    pub(super) unsafe fn new(
        first: *const A,
        stride: isize,
        width: usize,
        summed: &'s LoopNest<2>,
    ) -> Self {
        assert_eq!(summed.start(), [0; 2], "axes of terms are reversed");
        Columns {
            first,
            stride,
            width,
            summed,
            terms: PhantomData,
        }
    }

    #[cfg(all(test, panic = "unwind"))]
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// The rows `terms`, one after the other: row `i` holds the `i`-th term of each column.
    ///
    /// # Panics
    ///
    /// If each row does not begin in memory where the one before it ends.
    #[inline(always)]
    pub(crate) fn table(&self, terms: Range<usize>) -> &'s [A] {
        self.assert_terms(&terms);
        self.assert_rows();
        let stride = self.summed.inner().strides[0];
        assert!(self.summed.axes().len() == 1 && stride == self.width as isize);
        let first = self.first.wrapping_add(terms.start * self.width);
        // SAFETY: the rows are among the terms, each is a slice, and one begins where the other
        // ends, as asserted. Position 0 of `summed` is at offset 0, as `new` asserts.
        unsafe { std::slice::from_raw_parts(first, terms.len() * self.width) }
    }

    /// The rows `terms`, anywhere in memory. `to` has room for an offset for each.
    ///
    /// # Panics
    ///
    /// If columns are not side by side.
    #[inline(always)]
    pub(crate) fn rows<'o>(&'o self, terms: Range<usize>, to: &'o mut [isize]) -> Rows<'o, A> {
        self.assert_terms(&terms);
        self.assert_rows();
        let offsets = &mut to[..terms.len()];
        let stride = self.summed.inner().strides[0];
        let mut free = offsets.iter_mut();
        self.summed.for_each_row(terms, |[offset, _], len| {
            for (i, place) in free.by_ref().take(len).enumerate() {
                *place = offset.wrapping_add(stride.wrapping_mul(i as isize));
            }
        });
        assert!(free.next().is_none());
        Rows {
            columns: *self,
            offsets,
        }
    }

    /// The terms `terms` of each column, a run for each.
    ///
    /// # Panics
    ///
    /// If they are not side by side.
    #[inline(always)]
    pub(crate) fn runs(&self, terms: Range<usize>) -> Runs<'s, A> {
        self.assert_terms(&terms);
        let (single, stride) = (
            self.summed.axes().len() == 1,
            self.summed.inner().strides[0],
        );
        assert!(single && stride.abs() == 1, "terms are not side by side");
        let backwards = stride == -1;
        Runs {
            first: match backwards {
                true => self.first.wrapping_sub(terms.end).wrapping_add(1),
                false => self.first.wrapping_add(terms.start),
            },
            stride: self.stride,
            len: terms.len(),
            count: self.width,
            backwards,
            terms: PhantomData,
        }
    }

    /// The terms `terms` of a column in runs of `len`: where they lie if they are contiguous in
    /// memory, else copied to `copy`. What is left at the end is in no run.
    ///
    /// # Panics
    ///
    /// If the innermost axis of terms has not stride 1 or -1, or `copy` has no room.
    #[inline(always)]
    pub(crate) fn run<'o>(
        &self,
        column: usize,
        terms: Range<usize>,
        len: usize,
        copy: &'o mut [A],
    ) -> Runs<'o, A>
    where
        's: 'o,
    {
        self.assert_terms(&terms);
        assert!(column < self.width, "no such column");
        let (axes, inner) = (self.summed.axes(), self.summed.inner());
        let stride = inner.strides[0];
        assert!(stride.abs() == 1, "terms are not side by side");
        let backwards = stride == -1;
        let base = (self.first).wrapping_offset(self.stride.wrapping_mul(column as isize));
        let part = |offset: isize, count: usize| {
            let first = base.wrapping_offset(offset);
            let first = match backwards {
                true => first.wrapping_sub(count).wrapping_add(1),
                false => first,
            };
            // SAFETY: both calls below pass the offset of a term of the column, and how many of the
            // asserted terms from there on lie on the innermost axis, which has stride 1 or -1. For
            // no terms, `first` is aligned and not null.
            unsafe { std::slice::from_raw_parts(first, count) }
        };
        let (row, skip) = (terms.start / inner.size, terms.start % inner.size);
        if skip + terms.len() <= inner.size {
            let outer = &axes[..axes.len() - 1];
            let [offset, _] = inner.moved(offsets_of(outer, self.summed.start(), row), skip);
            return Runs::cut(part(offset, terms.len()), len, backwards);
        }
        let copy = &mut copy[..terms.len()];
        let mut rest = &mut *copy;
        self.summed.for_each_row(terms, |[offset, _], count| {
            let free = std::mem::take(&mut rest);
            // A backward copy begins at its end, so that each part is copied as it lies.
            let (to, free) = match backwards {
                true => {
                    let (free, to) = free.split_at_mut(free.len() - count);
                    (to, free)
                }
                false => free.split_at_mut(count),
            };
            to.copy_from_slice(part(offset, count));
            rest = free;
        });
        Runs::cut(copy, len, backwards)
    }

    #[inline(always)]
    fn assert_terms(&self, terms: &Range<usize>) {
        assert!(terms.start <= terms.end && terms.end <= self.summed.len());
    }

    /// That a row of columns is a slice.
    #[inline(always)]
    fn assert_rows(&self) {
        assert!(self.stride == 1 || self.width == 1, "columns are apart");
    }
}

/// Rows of columns, anywhere in memory.
pub(crate) struct Rows<'o, A> {
    columns: Columns<'o, A>,
    offsets: &'o [isize],
}

impl<'o, A> Rows<'o, A> {
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.offsets.len()
    }

    /// The `i`-th term of each column.
    #[inline(always)]
    pub(crate) fn row(&self, i: usize) -> &'o [A] {
        let Columns { first, width, .. } = self.columns;
        let first = first.wrapping_offset(self.offsets[i]);
        // SAFETY: only `Columns::rows` builds this type. It has set each offset to that of a term,
        // and has asserted that the columns there are side by side; there are `width` of them,
        // borrowed for `'o`.
        unsafe { std::slice::from_raw_parts(first, width) }
    }
}

/// `count` runs of `len` terms each, where run `i` begins `i * stride` elements after `first`. All
/// of them are borrowed for `'s`.
pub(crate) struct Runs<'s, A> {
    first: *const A,
    stride: isize,
    len: usize,
    count: usize,
    /// Whether the last term of a run is the first one in memory.
    backwards: bool,
    terms: PhantomData<&'s [A]>,
}

impl<'s, A> Runs<'s, A> {
    /// Runs of `len` terms that follow each other, all backwards or none. What is left at the end
    /// is in none of them.
    #[inline(always)]
    pub(crate) fn cut(terms: &'s [A], len: usize, backwards: bool) -> Self {
        let (first, stride) = (terms.as_ptr(), len as isize);
        Runs {
            first: match backwards {
                true => first.wrapping_add(terms.len()).wrapping_sub(len),
                false => first,
            },
            stride: if backwards { -stride } else { stride },
            len,
            count: terms.len() / len,
            backwards,
            terms: PhantomData,
        }
    }

    #[inline(always)]
    pub(crate) fn backwards(&self) -> bool {
        self.backwards
    }

    #[inline(always)]
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// The terms in each.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Whether each run begins where the one before it ends.
    #[inline(always)]
    pub(crate) fn follow_each_other(&self) -> bool {
        self.stride == self.len as isize
    }

    /// The terms of run `i` and, where runs follow each other in memory, of all that come after.
    #[inline(always)]
    pub(crate) fn at(&self, i: usize) -> &'s [A] {
        assert!(i < self.count);
        let step = self.stride.wrapping_mul(i as isize);
        let readable = match self.follow_each_other() {
            true => self.len * (self.count - i),
            false => self.len,
        };
        // SAFETY: run `i` exists, as asserted; where the stride is the length, the next one begins
        // at its end. `Columns::runs` builds only what it has asserted to be terms, and `cut` is
        // built of a slice.
        unsafe { std::slice::from_raw_parts(self.first.wrapping_offset(step), readable) }
    }
}

/// Rows whose squares are copied one after the other: the lines of the terms stay in the
/// first-level cache.
const BAND: usize = 64;

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
            let copy = |to_step: isize, from_step: isize| {
                for i in 0..columns as isize {
                    let from = from.wrapping_offset(from_step.wrapping_mul(i));
                    let to = to.wrapping_offset(to_step.wrapping_mul(i));
                    // SAFETY: an element of the tile in both: the contract of `new`.
                    unsafe { copy_nonoverlapping(from, to, 1) };
                }
            };
            // Rows that the compiler knows to be reversed are copied in vectors: the sums of 10^4
            // rows of 100 reversed `f32` take 150 us so, and 230 us without (an Intel Xeon).
            match (to_step, from_step) {
                // SAFETY: `columns` neighbours of a row of the tile: the contract of `new`.
                (1, 1) => unsafe { copy_nonoverlapping(from, to, columns) },
                (1, -1) => copy(1, -1),
                _ => copy(to_step, from_step),
            }
        }
    }

    /// Copies squares, each transposed in registers, if the table is contiguous along rows and the
    /// terms are along columns. Returns how many rows and columns are in squares. The columns of
    /// the tile are in the order of the terms then.
    #[inline(always)]
    fn squares(&mut self) -> [usize; 2] {
        let crossed = [
            self.tile.rows.strides[0],
            self.tile.columns.strides[1].abs(),
        ] == [1, 1];
        let (Some((side, transpose)), true) = (const { square(size_of::<A>()) }, crossed) else {
            return [0, 0];
        };
        assert_eq!(BAND % side, 0, "a square is in two bands");
        if self.tile.columns.strides[1] == -1 {
            self.tile.columns.reverse(&mut self.tile.offsets);
        }
        let Tile { rows, columns, .. } = self.tile;
        let steps = [columns.strides[0], rows.strides[1]];
        let steps = steps.map(|step| step.wrapping_mul(size_of::<A>() as isize));
        let [down, along] = [rows.size, columns.size].map(|size| size / side * side);
        for band in (0..down).step_by(BAND) {
            for column in (0..along).step_by(side) {
                for row in (band..down.min(band + BAND)).step_by(side) {
                    let (to, from) = self.at(row, column);
                    // SAFETY: `side` columns of `side` rows of the tile, as `down`, `along` and, as
                    // asserted, a band are multiples of `side`. Among the terms the elements of a
                    // row are neighbours, in the table those of a column, as found above. They are
                    // valid for reads and writes, and the terms are not in the table: the contract
                    // of `new`.
                    unsafe { transpose((to.cast(), from.cast()), steps) };
                }
            }
        }
        [down, along]
    }
}

impl<A: Copy> Vectorize for Gather<A> {
    type Output = ();

    #[inline(always)]
    fn run(mut self) {
        let (rows, columns) = (self.tile.rows.size, self.tile.columns.size);
        let [down, along] = self.squares();
        if along == 0 {
            return self.rows([0, 0], rows, columns);
        }
        self.rows([0, along], down, columns - along);
        self.rows([down, 0], rows - down, columns);
    }
}
