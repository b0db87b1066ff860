//! The inner loops of positions: of the largest term, of the smallest.
//!
//! The terms of a leaf are folded to the one that is chosen, without their positions. Only if it is
//! better than those of all leaves before it, the leaf is read again to find where the chosen term
//! is. Of leaves in a run, only the best one is. The order of leaves decides between equal ones, so
//! that the first level of the stack is enough: it holds the best so far.

use super::fold::{Fold, FoldLeaves, Map, without_masks};
use super::kernel::{Facts, Kernel, LANES, LEAF, Leaves, Rows, Runs, Stack, live_lanes, moved};
use super::machine::in_vectors;
use super::reduction::{Reduction, Values};
use super::tuning::LARGE_ELEMENT;
use std::{array, slice};

/// The position of the term that another reduction chooses.
/// Of equal terms it is the first one, or the `LAST`.
///
/// The function of both maps returns what it is given: an array's elements are its terms.
pub(crate) struct Positions<'r, T: Copy, R: Reduction<T>, C: Reduction<T>, F, const LAST: bool> {
    pub(crate) map: Map<'r, Values<'r, T>, T, R, F>,
    /// Folds terms without their positions.
    pub(crate) choice: Map<'r, Values<'r, T>, T, C, F>,
}

/// Whether a value is not equal to itself, as NaN is.
#[cfg_attr(not(debug_assertions), inline(always))]
#[allow(clippy::eq_op)]
pub(crate) fn is_nan<T: PartialEq>(value: &T) -> bool {
    value != value
}

impl<T, R, C, F, const LAST: bool> Positions<'_, T, R, C, F, LAST>
where
    T: Copy + PartialOrd,
    R: Reduction<T, Acc = (T, usize)>,
    C: Reduction<T, Acc = T>,
    F: Fn(T) -> T,
{
    /// Whether a term is the chosen one of its leaf, or NaN. If a term is NaN, so is the chosen
    /// one.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn is_chosen(term: &T, chosen: &T) -> bool {
        (term == chosen) | is_nan(term)
    }

    /// Whether `new` is chosen instead of `best`, which comes before it.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn is_chosen_later(&self, best: &T, new: &T) -> bool {
        match const { size_of::<T>() < LARGE_ELEMENT } {
            true => self.map.reduction.combine((*best, 0), (*new, 1)).1 == 1,
            false => self.is_large_chosen_later(best, new),
        }
    }

    /// Not inlined: its copies are on the stack of no other function.
    #[inline(never)]
    fn is_large_chosen_later(&self, best: &T, new: &T) -> bool {
        self.map.reduction.combine((*best, 0), (*new, 1)).1 == 1
    }

    /// Sets the number of each term that is the chosen value of its column. Not inlined, as it is
    /// for the few last columns of a row.
    #[inline(never)]
    fn number_last<N: Copy>(terms: &[T], values: &[T], numbers: &mut [N], number: N) {
        for ((term, value), place) in terms.iter().zip(values).zip(numbers) {
            if Self::is_chosen(term, value) {
                *place = number;
            }
        }
    }

    /// `N` is the type of the numbers of rows, which are below [`LEAF`]. If it has the size of `T`,
    /// a vector has as many numbers as terms, and the compiler need not convert between the two.
    ///
    /// # Safety
    ///
    /// As for [`Kernel::fold`]. `N` is an unsigned integer of at most 4 bytes, or as large as `T`,
    /// and no more aligned than an accumulator.
    #[cfg_attr(not(debug_assertions), inline(always))]
    unsafe fn rows<N: Copy + Into<u64> + From<u8>, const VECTORS: bool>(
        &self,
        rows: &Rows<'_>,
        scratch: *mut u8,
        stack: Stack,
        index: usize,
    ) {
        let columns = rows.columns;
        let (values, best) = (scratch.cast::<T>(), stack.first.cast::<(T, usize)>());
        let lanes = values.wrapping_add(columns);
        // `scratch` has room for two accumulators of each column at least, and `values` and `lanes`
        // use a term of each. An accumulator has a position of 4 bytes or more besides. So 8 bytes
        // of each column are left: for a number of 8 bytes, or for one of up to 4 and a gap before
        // all numbers of up to 3.
        let terms = columns * (1 + live_lanes(rows.count));
        let numbers = (terms * size_of::<T>()).next_multiple_of(align_of::<N>());
        let found = scratch.wrapping_add(numbers).cast::<N>();
        // SAFETY: the contract of this function.
        unsafe { self.choice.fold_rows::<VECTORS>(rows, lanes, values) };
        // SAFETY: `fold_rows` has written a value for each column.
        let values = unsafe { slice::from_raw_parts(values, columns) };
        if index > 0 {
            // SAFETY: earlier leaves have written the best term of each column.
            let best = unsafe { slice::from_raw_parts(best, columns) };
            let mut better = best.iter().zip(values);
            if !better.any(|(best, value)| self.is_chosen_later(&best.0, value)) {
                return;
            }
        }
        // SAFETY: there is room for a number of each column; see above.
        unsafe { found.write_bytes(0, columns) };
        let out = without_masks(found);
        let whole = if VECTORS { columns / LANES * LANES } else { 0 };
        for i in 0..rows.count {
            // A position replaces those before it.
            let number = if LAST { i } else { rows.count - 1 - i };
            let mut row = rows.places(1, number)[0];
            // A number of a row is below `LEAF`, so that the lowest byte is all of it.
            let number = N::from(number as u8);
            for at in (0..whole).step_by(LANES) {
                // SAFETY: elements of the row.
                let terms = unsafe { &*row.cast::<[T; LANES]>() };
                // SAFETY: the numbers of their columns, which have been written.
                let old = unsafe { found.wrapping_add(at).cast::<[N; LANES]>().read() };
                let values = &values[at..][..LANES];
                let new: [N; LANES] =
                    array::from_fn(|j| match Self::is_chosen(&terms[j], &values[j]) {
                        true => number,
                        false => old[j],
                    });
                // SAFETY: the places of these numbers.
                unsafe { out.wrapping_add(at).cast::<[N; LANES]>().write(new) };
                row = row.wrapping_byte_offset(rows.chunk[0]);
            }
            for at in (whole..columns).step_by(LANES) {
                let len = LANES.min(columns - at);
                // SAFETY: elements of the row, of which `LANES` lie side by side.
                let terms = unsafe { slice::from_raw_parts(row.cast(), len) };
                // SAFETY: the numbers of their columns, which have been written.
                let numbers = unsafe { slice::from_raw_parts_mut(out.wrapping_add(at), len) };
                Self::number_last(terms, &values[at..at + len], numbers, number);
                row = row.wrapping_byte_offset(rows.chunk[0]);
            }
        }
        // SAFETY: they have been written.
        let found = unsafe { slice::from_raw_parts(out, columns) };
        for (column, (value, &found)) in values.iter().zip(found).enumerate() {
            let best = best.wrapping_add(column);
            // SAFETY: a column of the stack, which holds a term if this is not the first leaf.
            let before = (index > 0).then(|| unsafe { &(*best).0 });
            if before.is_none_or(|before| self.is_chosen_later(before, value)) {
                let number = rows.number.wrapping_add(found.into() as usize);
                // SAFETY: a column of the stack.
                unsafe { best.write((*value, number)) };
            }
        }
    }

    /// # Safety
    ///
    /// As for [`Kernel::fold`].
    #[cfg_attr(not(debug_assertions), inline(always))]
    unsafe fn runs<const VECTORS: bool>(&self, runs: &Runs, stack: Stack, index: usize) {
        let mut first = runs.first;
        for column in 0..runs.columns {
            let (mut places, mut done) = (first, 0);
            let place = stack.first.cast::<(T, usize)>().wrapping_add(column);
            // SAFETY: earlier leaves have written the best term.
            let mut best = (index > 0).then(|| unsafe { (*place).0 });
            // The leaf with the best term, which is searched at the end of the run.
            let mut leaf = None;
            while done < runs.terms {
                let count = (runs.terms - done).min(LEAF);
                // SAFETY: terms of a run.
                let value = unsafe { self.choice.fold_run::<VECTORS>(&places, count, 0) };
                if (best.as_ref()).is_none_or(|best| self.is_chosen_later(best, &value)) {
                    (best, leaf) = (Some(value), Some((places, done, count)));
                }
                places = moved(places, 1, &runs.leaf, 1);
                done += count;
            }
            if let (Some(value), Some((places, done, count))) = (best, leaf) {
                // SAFETY: terms of the run.
                let terms = unsafe { slice::from_raw_parts(places[0].cast::<T>(), count) };
                let position = runs.number.wrapping_add(done + self.find(terms, &value));
                // SAFETY: a column of the stack.
                unsafe { place.write((value, position)) };
            }
            first = moved(first, 1, &runs.column, 1);
        }
    }

    /// The position of the first term that is chosen, or of the last one.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn find(&self, terms: &[T], chosen: &T) -> usize {
        let is_chosen = |term: &T| Self::is_chosen(term, chosen);
        // Whole lines are looked at, as that is a loop in vector code.
        let has = |line: &[T]| line.iter().fold(false, |any, term| any | is_chosen(term));
        if LAST {
            let lines = terms.rchunks(LANES).position(has).unwrap_or(0);
            let terms = &terms[..terms.len() - lines * LANES];
            return terms.iter().rposition(is_chosen).unwrap_or(0);
        }
        let first = terms.chunks(LANES).position(has).unwrap_or(0) * LANES;
        first + terms[first..].iter().position(is_chosen).unwrap_or(0)
    }
}

impl<T, R, C, F, const LAST: bool> FoldLeaves for Positions<'_, T, R, C, F, LAST>
where
    T: Copy + PartialOrd,
    R: Reduction<T, Acc = (T, usize)>,
    C: Reduction<T, Acc = T>,
    F: Fn(T) -> T,
{
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn fold_leaves<const VECTORS: bool>(fold: Fold<'_, Self>) {
        let Fold(positions, terms, stack, index) = fold;
        match terms {
            Leaves::Rows(rows, scratch) => match const { size_of::<T>() } {
                // SAFETY: the contract of `Kernel::fold`, whose arguments these are. So in each.
                1 => unsafe { positions.rows::<u8, VECTORS>(rows, scratch, stack, index) },
                // SAFETY: as above.
                2 => unsafe { positions.rows::<u16, VECTORS>(rows, scratch, stack, index) },
                // SAFETY: as above. With 32 bits, `scratch` may be aligned to 4 bytes only.
                8 if align_of::<T>() >= align_of::<u64>() => unsafe {
                    positions.rows::<u64, VECTORS>(rows, scratch, stack, index);
                },
                // SAFETY: as above.
                _ => unsafe { positions.rows::<u32, VECTORS>(rows, scratch, stack, index) },
            },
            // SAFETY: the contract of `Kernel::fold`, whose arguments these are.
            Leaves::Runs(runs) => unsafe { positions.runs::<VECTORS>(runs, stack, index) },
        }
    }
}

// SAFETY: the methods read elements of the inputs, or copies, and accumulators as the type whose
// size and alignment `facts` returns.
unsafe impl<T, R, C, F, const LAST: bool> Kernel for Positions<'_, T, R, C, F, LAST>
where
    T: Copy + PartialOrd + Sync,
    R: Reduction<T, Acc = (T, usize)>,
    C: Reduction<T, Acc = T>,
    F: Fn(T) -> T + Sync,
{
    type Acc = R::Acc;

    fn facts(&self) -> Facts<'_> {
        // The numbers of the terms of slabs become those of all terms where slabs are joined.
        Facts {
            is_numbered: false,
            is_exact: true,
            ..self.map.facts()
        }
    }

    unsafe fn fold(&self, terms: Leaves<'_>, stack: Stack, index: usize) {
        let wide = size_of::<T>() < LARGE_ELEMENT;
        in_vectors(Fold(self, terms, stack, index), wide);
    }

    unsafe fn close(&self, _: usize, stack: Stack, _: usize) -> *mut u8 {
        stack.first
    }

    unsafe fn join(&self, sums: *mut u8, columns: usize, count: usize, slab: usize) -> *mut u8 {
        let best = sums.cast::<(T, usize)>();
        for column in 0..columns {
            let of_all = (0..count).map(|number| {
                // SAFETY: a sum of the column: the contract.
                let (value, at) = unsafe { *best.wrapping_add(number * columns + column) };
                (value, at.wrapping_add(number * slab))
            });
            if let Some(chosen) = of_all.reduce(|a, b| self.map.reduction.combine(a, b)) {
                // SAFETY: the first sum of the column.
                unsafe { best.wrapping_add(column).write(chosen) };
            }
        }
        sums
    }
}
