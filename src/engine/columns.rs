//! Access to memory for sums: columns of terms that are read, and the places of their sums.
//!
//! A sum belongs to one position of the axes that are kept; its terms are the positions of the axes
//! that are summed. [`Sums`] is built from two arrays and checks that they fit. It cuts the work
//! into units: neighbouring columns, all of them or a range of their terms, at one position of the
//! outer loops. Each unit is handed out once, so only its holder writes its sums. What is read is
//! handed out as slices, a block of terms at a time.

use super::memory::uninit_array;
use super::nest::{LoopAxis, LoopNest, offsets_of};
use super::stream::{CAN_STREAM, FenceOnDrop, stream};
use super::threads::{Cost, share};
use super::tuning::{STREAM_SUMS_ROW, sums_are_streamed};
use crate::error::BroadcastError;
use ndarray::{Array, ArrayRef, Dimension};
use num_traits::Zero;
use std::cell::Cell;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// What can be summed.
pub(crate) trait Term: Copy + Zero + Send + Sync {}

impl<A: Copy + Zero + Send + Sync> Term for A {}

/// Where sums go, and how they are written.
pub(crate) enum Target<'a, A, I: Dimension> {
    /// Fresh memory, which sums initialise.
    Fresh(&'a mut Array<MaybeUninit<A>, I>),
    /// Sums replace what is there.
    Put(&'a mut ArrayRef<A, I>),
    /// Sums are added to what is there.
    Add(&'a mut ArrayRef<A, I>),
}

/// How the work is cut into units.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cut {
    /// Columns in a unit, at most.
    pub(crate) width: usize,
    /// Into how many ranges the terms of each column are cut. The units of a column follow each
    /// other.
    pub(crate) term_chunks: usize,
    /// Units that a thread takes at once.
    pub(crate) units_at_once: usize,
}

/// The terms and the places of all sums.
///
/// Every position of `kept` (operand 0: terms, operand 1: places) with every position of `summed`
/// is an element that is borrowed for `'a`. The positions of `kept` are all elements of the target,
/// each of them once.
pub(crate) struct Sums<'a, A> {
    terms: *const A,
    places: *mut A,
    kept: LoopNest<2>,
    summed: LoopNest<1>,
    /// Whether sums are added to elements that `places` holds.
    adds: bool,
    may_stream: bool,
    /// How many sums the last call of [`for_each_unit`](Self::for_each_unit) has written.
    written: AtomicUsize,
    arrays: PhantomData<(&'a [A], &'a mut [A])>,
}

// SAFETY: through a shared reference the public methods give numbers only. `for_each_unit` needs an
// exclusive reference; its threads read terms, which are `Sync`, and write places of distinct
// units, whose values are `Send`.
unsafe impl<A: Send + Sync> Sync for Sums<'_, A> {}

/// A fresh array of sums in standard layout, which `sum` computes.
///
/// `axes` is as in [`Sums::new`]. Panics if `sum` returns `Ok` without having written each sum.
///
/// # Errors
///
/// `OutputTooLarge`, `AllocationFailed`, and those of `sum`.
pub(crate) fn fresh_sums<A: Term, O: Dimension, I: Dimension>(
    terms: &ArrayRef<A, O>,
    axes: impl Iterator<Item = Option<usize>>,
    dim: I,
    sum: impl FnOnce(&mut Sums<'_, A>) -> Result<(), BroadcastError>,
) -> Result<Array<A, I>, BroadcastError> {
    let mut out = uninit_array(dim)?;
    let mut sums = Sums::new(terms, axes, Target::Fresh(&mut out))?;
    sum(&mut sums)?;
    let written = sums.written.into_inner();
    assert_eq!(written, out.len(), "sums are missing");
    // SAFETY: a unit counts its sums when it has written them, and `for_each_unit` hands out no
    // unit twice. So as many sums as there are elements, which was checked here, are all of them.
    Ok(unsafe { out.assume_init() })
}

impl<'a, A: Term> Sums<'a, A> {
    /// Sums of `terms`. For each of its axes, `axes` names the axis of the target that it becomes;
    /// `None` is an axis to sum over.
    ///
    /// # Errors
    ///
    /// `AllocationFailed`, for loops over very many axes.
    ///
    /// # Panics
    ///
    /// Unless `axes` has an entry for each axis of `terms`, and each axis of the target either is
    /// named once and has the size of the axis that it is named for, or has size 1.
    #[inline(always)]
    pub(crate) fn new<O: Dimension, I: Dimension>(
        terms: &'a ArrayRef<A, O>,
        mut axes: impl Iterator<Item = Option<usize>>,
        target: Target<'a, A, I>,
    ) -> Result<Self, BroadcastError> {
        let adds = matches!(target, Target::Add(_));
        let may_stream = CAN_STREAM && matches!(target, Target::Put(_));
        let (places, to_shape, to_strides): (*mut A, &[usize], &[isize]) = match target {
            Target::Fresh(out) => (out.as_mut_ptr().cast(), out.shape(), out.strides()),
            Target::Put(out) | Target::Add(out) => (out.as_mut_ptr(), out.shape(), out.strides()),
        };
        const SUMMED: usize = usize::MAX;
        let (shape, strides) = (terms.shape(), terms.strides());
        // A list as long as the shape, where what `axes` says is read once.
        let mut list = terms.raw_dim();
        let mut list = list.as_array_view_mut();
        let becomes = list.as_slice_mut().expect("dimensions are slices");
        for axis in 0..shape.len() {
            let entry = axes.next().expect("there is an entry for each axis");
            becomes[axis] = entry.unwrap_or(SUMMED);
            let again = entry.is_some() && becomes[..axis].contains(&becomes[axis]);
            assert!(!again, "an axis is named twice");
        }
        let kept = (0..shape.len()).filter(|&axis| becomes[axis] != SUMMED);
        let kept = LoopNest::from_axes(kept.map(|axis| {
            assert_eq!(shape[axis], to_shape[becomes[axis]], "sizes differ");
            LoopAxis {
                size: shape[axis],
                strides: [strides[axis], to_strides[becomes[axis]]],
            }
        }))?;
        let len: usize = to_shape.iter().product();
        assert_eq!(kept.len(), len, "an axis of the target is not named");
        let summed = (0..shape.len()).filter(|&axis| becomes[axis] == SUMMED);
        let summed = LoopNest::in_order(summed.map(|axis| LoopAxis {
            size: shape[axis],
            strides: [strides[axis]],
        }))?;
        Ok(Sums {
            terms: terms.as_ptr(),
            places,
            kept,
            summed,
            adds,
            may_stream,
            written: AtomicUsize::new(0),
            arrays: PhantomData,
        })
    }

    /// The loops over the sums. A unit is a range of the innermost one.
    pub(crate) fn kept(&self) -> &LoopNest<2> {
        &self.kept
    }

    /// The loops over the terms of one sum, in the order of the axes.
    pub(crate) fn summed(&self) -> &LoopNest<1> {
        &self.summed
    }

    /// Where column 0 is at a position of the outer loops.
    fn offsets_at(&self, position: usize) -> [isize; 2] {
        let axes = self.kept.axes();
        let outer = &axes[..axes.len().saturating_sub(1)];
        offsets_of(outer, self.kept.start(), position)
    }

    /// Whether sums are added to what the target holds.
    pub(crate) fn adds(&self) -> bool {
        self.adds
    }

    /// How many units there are.
    pub(crate) fn units(&self, cut: Cut) -> usize {
        let columns = self.kept.inner().size;
        self.kept.len() / columns * columns.div_ceil(cut.width) * cut.term_chunks
    }

    /// Calls `f` with all units, each of them once, on several threads if `bytes`, what is read in
    /// all, is worth it.
    ///
    /// Each thread takes one element of `scratch` with its first unit and gives it back at its end.
    /// One for each thread is enough, and so is one for each time that units are taken.
    ///
    /// # Panics
    ///
    /// If no element of `scratch` is left.
    pub(crate) fn for_each_unit<S: Send>(
        &mut self,
        cut: Cut,
        bytes: usize,
        scratch: Vec<S>,
        f: impl Fn(&mut S, Units<'_, A>) + Sync,
    ) {
        let this = &*self;
        let columns = this.kept.inner();
        let inside = columns.size.div_ceil(cut.width) * cut.term_chunks;
        let units = this.units(cut);
        let streams = this.may_stream
            && columns.strides[1] == 1
            && cut.width * size_of::<A>() >= STREAM_SUMS_ROW
            && sums_are_streamed(this.kept.len() * size_of::<A>());
        this.written.store(0, Ordering::Relaxed);
        let scratch = Mutex::new(scratch);
        share(
            units.div_ceil(cut.units_at_once),
            Cost::Bytes(bytes),
            |ranges| {
                let lock = || scratch.lock().unwrap_or_else(PoisonError::into_inner);
                let mut own = None;
                for range in ranges {
                    let own = own.get_or_insert_with(|| lock().pop().expect("scratch is left"));
                    let begin = range.start * cut.units_at_once;
                    let range = begin..units.min(range.end.saturating_mul(cut.units_at_once));
                    let _fence = streams.then_some(FenceOnDrop);
                    let written = Cell::new(0);
                    let (position, unit) = (range.start / inside, range.start % inside);
                    let units = Units {
                        sums: this,
                        cut,
                        streams,
                        written: &written,
                        position,
                        offsets: this.offsets_at(position),
                        column: unit / cut.term_chunks * cut.width,
                        term_chunk: unit % cut.term_chunks,
                        left: range.len(),
                    };
                    f(own, units);
                    this.written.fetch_add(written.get(), Ordering::Relaxed);
                }
                lock().extend(own);
            },
        );
    }
}

/// Units that follow each other, none of which is handed out elsewhere.
pub(crate) struct Units<'s, A> {
    sums: &'s Sums<'s, A>,
    cut: Cut,
    streams: bool,
    written: &'s Cell<usize>,
    /// The position of the outer loops, and where the terms and the place of its column 0 are.
    position: usize,
    offsets: [isize; 2],
    /// The next unit.
    column: usize,
    term_chunk: usize,
    left: usize,
}

impl<'s, A: Term> Iterator for Units<'s, A> {
    type Item = Unit<'s, A>;

    #[inline(always)]
    fn next(&mut self) -> Option<Unit<'s, A>> {
        self.left = self.left.checked_sub(1)?;
        let columns = self.sums.kept.inner();
        if self.column >= columns.size {
            self.column = 0;
            self.position += 1;
            self.offsets = self.sums.offsets_at(self.position);
        }
        let first = self.column as isize;
        let at = |operand: usize| {
            self.offsets[operand].wrapping_add(columns.strides[operand].wrapping_mul(first))
        };
        let width = self.cut.width.min(columns.size - self.column);
        let unit = Unit {
            columns: Columns {
                first: self.sums.terms.wrapping_offset(at(0)),
                stride: columns.strides[0],
                width,
                summed: &self.sums.summed,
                terms: PhantomData,
            },
            term_chunk: self.term_chunk,
            first_sum: self.position * columns.size + self.column,
            places: self.sums.places.wrapping_offset(at(1)),
            sums: self.sums,
            streams: self.streams,
            // Without term chunks the unit is the only one with its columns.
            written: (self.cut.term_chunks == 1).then_some(self.written),
        };
        self.term_chunk += 1;
        if self.term_chunk == self.cut.term_chunks {
            self.term_chunk = 0;
            self.column += self.cut.width;
        }
        Some(unit)
    }
}

/// A unit of work: neighbouring columns, of which one range of terms is to be summed.
pub(crate) struct Unit<'s, A> {
    /// The columns, with all their terms.
    pub(crate) columns: Columns<'s, A>,
    /// Which of the ranges of terms.
    pub(crate) term_chunk: usize,
    /// The number of the first column among all sums.
    pub(crate) first_sum: usize,
    places: *mut A,
    sums: &'s Sums<'s, A>,
    streams: bool,
    /// Counts sums; there if no other unit has these columns.
    written: Option<&'s Cell<usize>>,
}

impl<A: Term> Unit<'_, A> {
    /// Writes the columns' sums.
    ///
    /// # Panics
    ///
    /// If there is not one for each column, or the terms are cut into several ranges.
    #[inline(always)]
    pub(crate) fn write(self, sums: &[A]) {
        let written = self.written.expect("no other unit has these columns");
        assert_eq!(sums.len(), self.columns.width, "not a sum for each column");
        let ([_, stride], adds) = (self.sums.kept.inner().strides, self.sums.adds);
        if self.streams {
            let (from, to) = (sums.as_ptr().cast(), self.places.cast());
            // SAFETY: sums are streamed only where places have stride 1, and there are `width` of
            // them, as asserted; no other unit has them. They are borrowed exclusively, so `sums`
            // is elsewhere.
            unsafe { stream(from, to, size_of_val(sums)) };
        } else if stride == 1 && !adds {
            // SAFETY: places have stride 1, and there are `width` of them, as asserted; no other
            // unit has them. They are borrowed exclusively, so `sums` is elsewhere.
            unsafe { std::ptr::copy_nonoverlapping(sums.as_ptr(), self.places, sums.len()) };
        } else {
            for (column, &(mut sum)) in sums.iter().enumerate() {
                let step = stride.wrapping_mul(column as isize);
                let place = self.places.wrapping_offset(step);
                if adds {
                    // SAFETY: the place of one of `width` columns, which no other unit has. It
                    // holds an element, as only `Target::Add` sets `adds`.
                    sum = unsafe { place.read() } + sum;
                }
                // SAFETY: the place of one of `width` columns, which no other unit has.
                unsafe { place.write(sum) };
            }
        }
        written.set(written.get() + sums.len());
    }
}

/// `width` neighbouring columns: the terms of as many sums.
///
/// Column `i` begins `i * stride` elements after `first`; each of its terms is at a position of
/// `summed` from there. All of them are elements that are borrowed for `'s`.
#[derive(Clone, Copy)]
pub(crate) struct Columns<'s, A> {
    first: *const A,
    stride: isize,
    width: usize,
    summed: &'s LoopNest<1>,
    terms: PhantomData<&'s [A]>,
}

impl<'s, A: Copy> Columns<'s, A> {
    #[inline(always)]
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// The rows `terms`, one after the other: row `i` holds the `i`-th term of each column.
    ///
    /// # Panics
    ///
    /// If the rows do not lie so in memory.
    #[inline(always)]
    pub(crate) fn table(&self, terms: Range<usize>) -> &'s [A] {
        self.assert_terms(&terms);
        self.assert_rows();
        let stride = self.summed.inner().strides[0];
        assert!(self.summed.axes().len() == 1 && stride == self.width as isize);
        let first = self.first.wrapping_add(terms.start * self.width);
        // SAFETY: the rows are among the terms, each is a slice, and one begins where the other
        // ends, as asserted.
        unsafe { std::slice::from_raw_parts(first, terms.len() * self.width) }
    }

    /// The rows `terms`, anywhere in memory. `to` has room for an offset
    /// for each.
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
        self.summed.for_each_row(terms, |[offset], len| {
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
        let (single, stride) = (self.summed.axes().len() == 1, self.summed.inner().strides);
        assert!(single && stride == [1], "terms are not side by side");
        Runs {
            first: self.first.wrapping_add(terms.start),
            stride: self.stride,
            len: terms.len(),
            count: self.width,
            terms: PhantomData,
        }
    }

    /// The terms `terms` of a column as a slice: where they are, if they lie so, or copied to
    /// `copy`.
    ///
    /// # Panics
    ///
    /// If the innermost axis of terms has not stride 1.
    #[inline(always)]
    pub(crate) fn run<'o>(&self, column: usize, terms: Range<usize>, copy: &'o mut [A]) -> &'o [A]
    where
        's: 'o,
    {
        self.assert_terms(&terms);
        let inner = self.summed.inner();
        assert_eq!(inner.strides, [1], "terms are not side by side");
        assert!(column < self.width, "no such column");
        let base = (self.first).wrapping_offset(self.stride.wrapping_mul(column as isize));
        let (row, skip) = (terms.start / inner.size, terms.start % inner.size);
        if skip + terms.len() <= inner.size {
            let outer = &self.summed.axes()[..self.summed.axes().len() - 1];
            let [offset] = offsets_of(outer, self.summed.start(), row);
            let first = base.wrapping_offset(offset).wrapping_add(skip);
            // SAFETY: these terms of a column lie on the innermost axis, which they do not leave
            // and which has stride 1.
            return unsafe { std::slice::from_raw_parts(first, terms.len()) };
        }
        let copy = &mut copy[..terms.len()];
        let mut rest = &mut *copy;
        self.summed.for_each_row(terms, |[offset], len| {
            let (to, after) = std::mem::take(&mut rest).split_at_mut(len);
            // SAFETY: `for_each_row` gives `len` of the asserted terms on the innermost axis, which
            // has stride 1.
            let from = unsafe { std::slice::from_raw_parts(base.wrapping_offset(offset), len) };
            to.copy_from_slice(from);
            rest = after;
        });
        copy
    }

    /// Copies the rows `terms` to `table`, one after the other.
    #[inline(always)]
    pub(crate) fn gather(&self, terms: Range<usize>, mut table: &mut [A]) {
        self.assert_terms(&terms);
        let stride = self.summed.inner().strides[0];
        let (across, width) = (self.stride, self.width);
        self.summed.for_each_row(terms, |[offset], len| {
            let (rows, after) = std::mem::take(&mut table).split_at_mut(len * width);
            table = after;
            let first = self.first.wrapping_offset(offset);
            let term = |i: usize, column: usize| {
                let step = stride.wrapping_mul(i as isize);
                let step = step.wrapping_add(across.wrapping_mul(column as isize));
                // SAFETY: `column < width` in both loops below, and `i < len`, so that this is a
                // position of `summed`: `assert_terms` has found all of `terms` to be. The type
                // says that these are elements.
                unsafe { first.wrapping_offset(step).read() }
            };
            // In the order of memory, as far as the two strides tell.
            if across.unsigned_abs() <= stride.unsigned_abs() {
                for (i, row) in rows.chunks_exact_mut(width).enumerate() {
                    for (column, place) in row.iter_mut().enumerate() {
                        *place = term(i, column);
                    }
                }
            } else {
                for column in 0..width {
                    for (i, row) in rows.chunks_exact_mut(width).enumerate() {
                        row[column] = term(i, column);
                    }
                }
            }
        });
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
    terms: PhantomData<&'s [A]>,
}

impl<'s, A> Runs<'s, A> {
    /// Runs of `len` terms that follow each other. What is left at the end is in none of them.
    #[inline(always)]
    pub(crate) fn cut(terms: &'s [A], len: usize) -> Self {
        Runs {
            first: terms.as_ptr(),
            stride: len as isize,
            len,
            count: terms.len() / len,
            terms: PhantomData,
        }
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

    /// The terms of run `i` and, where runs follow each other in memory, of all that come after.
    #[inline(always)]
    pub(crate) fn at(&self, i: usize) -> &'s [A] {
        assert!(i < self.count);
        let step = self.stride.wrapping_mul(i as isize);
        let readable = match self.stride == self.len as isize {
            true => self.len * (self.count - i),
            false => self.len,
        };
        // SAFETY: run `i` exists, as asserted; where the stride is the length, the next one begins
        // at its end. `Columns::runs` builds only what it has asserted to be terms, and `cut` is
        // built of a slice.
        unsafe { std::slice::from_raw_parts(self.first.wrapping_offset(step), readable) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array2, Ix1, array};
    use std::panic::{AssertUnwindSafe, catch_unwind};

    fn panics<T>(f: impl FnOnce() -> T) -> bool {
        catch_unwind(AssertUnwindSafe(f)).is_err()
    }

    #[test]
    fn axes_that_do_not_fit_are_refused() {
        let terms = Array2::<i32>::ones((3, 3));
        let fits = |axes: &[Option<usize>], shape: (usize, usize)| {
            let mut out = Array2::zeros(shape);
            !panics(|| {
                drop(Sums::new(
                    &terms,
                    axes.iter().copied(),
                    Target::Put(&mut out),
                ))
            })
        };
        assert!(fits(&[Some(1), Some(0)], (3, 3)));
        assert!(fits(&[None, Some(0)], (3, 1)));
        assert!(fits(&[None, None], (1, 1)));
        assert!(!fits(&[Some(0), Some(0)], (3, 1)));
        assert!(!fits(&[Some(0), Some(0)], (3, 3)));
        assert!(!fits(&[Some(0), Some(2)], (3, 3)));
        assert!(!fits(&[Some(0), Some(1)], (3, 4)));
        assert!(!fits(&[Some(0), None], (3, 3)));
        assert!(!fits(&[Some(0)], (3, 1)));
    }

    const ONE_BY_ONE: Cut = Cut {
        width: 1,
        term_chunks: 1,
        units_at_once: 1,
    };

    #[test]
    fn a_fresh_array_is_given_only_if_all_sums_are_written() {
        let terms = array![[1, 2, 3], [4, 5, 6]];
        for missing in 0..4 {
            let sum = |sums: &mut Sums<'_, i32>| {
                sums.for_each_unit(ONE_BY_ONE, 0, vec![()], |(), units| {
                    for unit in units.filter(|unit| unit.first_sum != missing) {
                        let column = unit.columns.runs(0..2).at(0)[..2].iter().sum();
                        unit.write(&[column]);
                    }
                });
                Ok(())
            };
            let mut sums = None;
            let all = !panics(|| {
                let turned = terms.t().as_standard_layout().into_owned();
                sums = fresh_sums(&turned, [Some(0), None].into_iter(), Ix1(3), sum).ok();
            });
            assert_eq!(all, missing == 3);
            assert_eq!(sums, all.then(|| array![5, 7, 9]));
        }
    }

    #[test]
    fn what_a_layout_does_not_offer_is_refused() {
        let terms = Array2::<i32>::ones((4, 6));
        let mut out = Array2::zeros((1, 6));
        let mut sums =
            Sums::new(&terms, [None, Some(1)].into_iter(), Target::Put(&mut out)).unwrap();
        let cut = Cut {
            width: 5,
            term_chunks: 2,
            units_at_once: 1,
        };
        sums.for_each_unit(cut, 0, vec![()], |(), units| {
            for unit in units {
                let columns = unit.columns;
                let width = columns.width();
                assert_eq!(columns.rows(1..4, &mut [0; 3]).row(2), &[1; 5][..width]);
                assert!(panics(|| columns.rows(1..4, &mut [0; 2]).len()));
                assert!(panics(|| columns.rows(1..5, &mut [0; 9]).len()));
                assert!(panics(|| columns.table(0..4)));
                assert!(panics(|| columns.runs(0..4)));
                assert!(panics(|| Runs::cut(&[1; 5], 2).at(2)));
                assert!(panics(|| columns.run(0, 0..4, &mut [0; 4]).len()));
                assert!(panics(|| columns.gather(0..4, &mut [0; 3])));
                // The columns belong to another unit too.
                assert!(panics(|| unit.write(&[1; 5][..width])));
            }
        });
    }
}
