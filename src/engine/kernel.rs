//! A reduction as its driver sees it: a trait with functions on untyped memory, and what these are
//! given.
//!
//! [`reduction`](crate::reduction#the-order-of-summation) documents the tree. Terms are numbered
//! from 0, and cut into slabs. 256 terms of a slab are a leaf of the tree. A leaf is folded in one
//! of two ways, with the same result: as rows, where the terms of neighbouring columns lie side by
//! side, or as a run, where the terms of one column do. A stack keeps the sum of `2^k` leaves until
//! the sum of the next `2^k` leaves is complete; then the two are combined. The sums of slabs are
//! combined by a stack of their own.

use super::pack::Operand;

/// Lanes of a leaf: term `i` belongs to lane `i % 16`. 16 `f32` are a cache line.
pub(crate) const LANES: usize = 16;

/// Terms of a leaf, 16 for each lane: no term passes through more than 15 additions there.
pub(crate) const LEAF: usize = LANES * LANES;

/// Terms of a block: four leaves of a slab. Parts of reductions are cut between blocks.
pub(crate) const BLOCK_TERMS: usize = 4 * LEAF;

/// The most arrays that terms are computed of.
pub(crate) const OPERANDS: usize = 6;

/// Up to this many terms of a column are folded in registers, if they are contiguous.
pub(crate) const FEW_TERMS: usize = 8;

/// Elements of all operands. Those of operands that do not exist are never read.
pub(crate) type Places = [*const u8; OPERANDS];

/// Distances in bytes, of all operands.
pub(crate) type Steps = [isize; OPERANDS];

/// `places` of so many operands, moved by `times` times the steps. A plain loop: this runs for
/// every few terms, and without optimisation closures are slow and take long to compile.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(crate) fn moved(mut places: Places, operands: usize, steps: &Steps, times: usize) -> Places {
    let mut operand = 0;
    while operand < operands {
        let step = steps[operand].wrapping_mul(times as isize);
        places[operand] = places[operand].wrapping_byte_offset(step);
        operand += 1;
    }
    places
}

/// The terms of neighbouring columns in one leaf.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'r> {
    /// The first row of terms. The elements of a row are contiguous, or [`LANES`] elements that are
    /// read again and again.
    pub(crate) first: Places,
    /// How many rows there are.
    pub(crate) count: usize,
    /// From one row to the next, unless there are `offsets`.
    pub(crate) step: Steps,
    /// Where each row begins, from `first` on.
    pub(crate) offsets: Option<&'r [Steps]>,
    /// From [`LANES`] elements of a row to the next ones: their bytes, or 0.
    pub(crate) chunk: Steps,
    pub(crate) columns: usize,
    /// Whether each row begins where the row before it ends, in all operands.
    pub(crate) adjacent: bool,
    /// The number of the first row's terms.
    pub(crate) number: usize,
}

impl Rows<'_> {
    /// Where a row of so many operands begins.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn places(&self, operands: usize, row: usize) -> Places {
        match self.offsets {
            Some(offsets) => moved(self.first, operands, &offsets[row], 1),
            None => moved(self.first, operands, &self.step, row),
        }
    }

    /// The number of a term. Of adjacent rows, a column further than a row is one of the next row's
    /// terms.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn number_of(&self, row: usize, columns: usize, column: usize) -> usize {
        let more = match columns > self.columns {
            // The compiler removes a division that cannot panic where the number is not used.
            true => column.checked_div(self.columns).unwrap_or(0),
            false => 0,
        };
        self.number.wrapping_add(row + more)
    }
}

/// Contiguous terms of some columns.
pub(crate) struct Runs {
    /// The first terms of the first column.
    pub(crate) first: Places,
    pub(crate) columns: usize,
    /// From one column to the next.
    pub(crate) column: Steps,
    /// From one leaf to the next: its bytes, or 0 for a leaf that is read again and again.
    pub(crate) leaf: Steps,
    /// Of each column.
    pub(crate) terms: usize,
    /// The number of the first term.
    pub(crate) number: usize,
}

/// Terms that are folded.
#[derive(Clone, Copy)]
pub(crate) enum Leaves<'l> {
    /// A leaf of some columns, and scratch memory.
    Rows(&'l Rows<'l>, *mut u8),
    Runs(&'l Runs),
}

/// Where the sums of leaves wait: `stack[level * width + column]` holds the sum of `2^level`
/// leaves.
#[derive(Clone, Copy)]
pub(crate) struct Stack {
    pub(crate) first: *mut u8,
    /// Accumulators from one level to the next.
    pub(crate) width: usize,
}

impl Stack {
    /// The stack from this column on, of accumulators of type `A`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn at<A>(self, column: usize) -> Self {
        let first = self.first.cast::<A>().wrapping_add(column).cast();
        Stack { first, ..self }
    }
}

/// What the driver knows of a reduction.
#[derive(Clone, Copy)]
pub(crate) struct Facts<'f> {
    /// The arrays that terms are computed of: one to [`OPERANDS`].
    pub(crate) inputs: &'f [Operand<'f>],
    /// The shape of the terms, to which the inputs replicate.
    pub(crate) shape: &'f [usize],
    /// Bytes of an accumulator.
    pub(crate) size: usize,
    /// Bytes of the largest element of the inputs, and at least one.
    pub(crate) element: usize,
    /// The largest alignment of an accumulator or an element.
    pub(crate) align: usize,
    /// Whether only the bytes of the terms tell how long they take.
    pub(crate) is_quick: bool,
    /// Whether terms are folded with their numbers.
    pub(crate) is_numbered: bool,
    /// Whether another tree of the same terms gives the same result.
    pub(crate) is_exact: bool,
    /// Whether their order does not matter either.
    pub(crate) may_move: bool,
}

pub(crate) use sealed::Kernel;

mod sealed {
    // As in `inputs::sealed`: public in name only.
    #![allow(private_interfaces)]

    use super::*;

    /// A reduction as the driver sees it: functions on untyped memory.
    ///
    /// # Safety
    ///
    /// `facts` returns operands whose elements can be read as long as it is borrowed, and the size
    /// and alignment of `Acc`. The other methods read and write no more than their contracts say:
    /// accumulators of type `Acc`. All memory that they are given is aligned for these, tables of
    /// copies also for the elements.
    pub unsafe trait Kernel: Sync {
        /// The type of accumulators.
        type Acc
        where
            Self: Sized;

        /// What the driver knows of it.
        fn facts(&self) -> Facts<'_>;

        /// Whether runs of this many terms of so many columns are gathered into rows, where the
        /// lanes of many columns are combined at once, because that is faster than to fold each
        /// run. `in_place` says whether runs can be read where they lie.
        fn gathers_runs(&self, terms: usize, _columns: usize, _in_place: bool) -> bool {
            terms < LANES
        }

        /// Folds leaves, and pushes their sums as numbers `index`, `index + 1`, ... of those on the
        /// stack: one leaf of rows, or all leaves of runs.
        ///
        /// # Safety
        ///
        /// The terms, one at least, are elements of the inputs or copies of them. The stack begins
        /// at the first of the columns, of which there are at most its width. It has room for as
        /// many levels as the number of sums then has binary digits, and holds the sums with
        /// smaller numbers. Rows are at most [`LEAF`], and their scratch memory has room for an
        /// accumulator and for [`live_lanes`] of each column.
        unsafe fn fold(&self, terms: Leaves<'_>, stack: Stack, index: usize);

        /// Combines all that waits on the stack after `count` sums of each column. The results are
        /// at the returned pointer, on the stack.
        ///
        /// # Safety
        ///
        /// `count` sums of each column are on the stack, one at least. `columns` is at most the
        /// width of the stack.
        unsafe fn close(&self, columns: usize, stack: Stack, count: usize) -> *mut u8;

        /// Combines `count` sums of each of `columns` columns, in place: first those of all columns
        /// with number 0. If the terms of each sum have been numbered from 0 on, it has `slab`
        /// terms. Otherwise `slab` is 0. The results are at the returned pointer, among the sums.
        ///
        /// # Safety
        ///
        /// There are as many sums, one of each column at least.
        unsafe fn join(&self, sums: *mut u8, columns: usize, count: usize, slab: usize) -> *mut u8;
    }
}

/// What makes results of accumulators.
///
/// # Safety
///
/// `finish` reads and writes no more than its contract says.
pub(crate) unsafe trait Finish: Sync {
    /// Writes the results of accumulators, of which each is `step` accumulators behind the one
    /// before it, to places that are `stride` bytes apart.
    ///
    /// # Safety
    ///
    /// There are `count` accumulators of all terms and as many places, of the types that this is
    /// made for. If results are added to what the places hold, these are initialised.
    unsafe fn finish(&self, accs: *const u8, step: usize, count: usize, to: *mut u8, stride: isize);
}

/// How many levels a stack has for so many sums, at least one: a level for each binary digit.
#[inline]
pub(crate) fn stack_levels(sums: usize) -> usize {
    sums.ilog2() as usize + 1
}

/// How many lanes of a leaf of `rows` rows need memory: of few rows, the first halving reads the
/// terms themselves.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(crate) fn live_lanes(rows: usize) -> usize {
    match rows <= LANES {
        true => (rows.next_power_of_two() / 2).max(1),
        false => LANES,
    }
}
