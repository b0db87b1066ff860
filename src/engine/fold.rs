//! The inner loops of reductions: the only code that is compiled for each element type, reduction
//! and closure.
//!
//! `kernel` documents the leaves. `sums` walks over the arrays: it decides which leaf is folded
//! when, where and how.
//!
//! With debug assertions nothing here is inlined by force. Without optimisation that makes code no
//! faster, and every instance larger: the tests of the public API then take 52 s of a processor to
//! compile, and 68 with it. A build that is optimised and has debug assertions may sum more slowly.

use super::inputs::Inputs;
use super::kernel::{
    FEW_TERMS, Facts, Kernel, LANES, LEAF, Leaves, OPERANDS, Places, Rows, Runs, Stack, live_lanes,
    moved,
};
use super::machine::{Vectorize, in_vectors};
use super::reduction::{Elements, Lanes, Reduction};
use super::tuning::LARGE_ELEMENT;
use std::convert::identity;
use std::hint::black_box;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::{ptr, slice};

/// Runs of fewer terms may be gathered into rows, and longer ones of some reductions: see
/// [`Kernel::gathers_runs`]. Of `u8 [20000, 49]`, a term over axis 1 then takes 0.11 ns, and 0.43
/// as a run, on one thread.
const SHORT_RUN: usize = 8 * LANES;

/// Accumulators of up to this many bytes are combined as vectors, [`LANES`] at a time. Larger ones
/// are combined one by one: to load their numbers into vectors takes longer than that saves.
const SMALL_ACCUMULATOR: usize = 16;

/// The indices of the lanes, in memory and of 32 bits: to compare these with a number of lanes
/// takes fewer instructions than to compare a counter of 64 bits.
static LANE_INDICES: [i32; LANES] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

/// An array of what an expression is for each index, by a loop that compilers make vector code of.
/// It is no function, as a closure is only inlined if it is short.
macro_rules! filled {
    ($len:expr, |$index:ident| $element:expr) => {{
        let mut array = [const { MaybeUninit::uninit() }; $len];
        for ($index, place) in array.iter_mut().enumerate() {
            place.write($element);
        }
        // SAFETY: all elements have been written.
        unsafe { assume_init(&array) }
    }};
}

/// # Safety
///
/// All elements have been written.
#[inline(always)]
unsafe fn assume_init<A: Copy, const N: usize>(array: &[MaybeUninit<A>; N]) -> [A; N] {
    // SAFETY: the contract of this function.
    unsafe { array.as_ptr().cast::<[A; N]>().read() }
}

/// Returns its argument, and hides from the compiler that it does. Read from one pointer and write
/// to the other: from `*place = if new < *place { new } else { *place }`, LLVM 20 and later makes
/// stores of only some lanes of a vector. On some processors these are much slower than whole
/// stores.
#[inline(always)]
pub(super) fn without_masks<A>(place: *mut A) -> *mut A {
    black_box(place)
}

/// A reduction of `f` of the items of inputs.
pub(crate) struct Map<'r, I: Inputs + 'r, T, R: Reduction<T>, F> {
    operands: I::Operands<'r>,
    shape: &'r [usize],
    pub(crate) reduction: &'r R,
    f: &'r F,
    /// Whether `f` returns the element that it is given. Then terms may be read twice.
    plain: bool,
    term: PhantomData<fn() -> T>,
}

// SAFETY: elements are only read, as items for `f`, which several threads may call. `Inputs` may be
// shared.
unsafe impl<I: Inputs, T, R: Reduction<T>, F: Sync> Sync for Map<'_, I, T, R, F> {}

impl<'r, I: Inputs, T, R: Reduction<T>, F: Fn(I::Items) -> T> Map<'r, I, T, R, F> {
    /// A reduction over the axes of `shape`, to which the inputs replicate.
    pub(crate) fn new(
        inputs: &'r I,
        shape: &'r [usize],
        reduction: &'r R,
        f: &'r F,
        plain: bool,
    ) -> Self {
        Map {
            operands: inputs.operands::<false>(),
            shape,
            reduction,
            f,
            plain,
            term: PhantomData,
        }
    }
}

impl<I: Inputs, T, R: Reduction<T>, F: Fn(I::Items) -> T> Map<'_, I, T, R, F> {
    const LANES: usize = if R::COMMUTATIVE { LANES } else { 1 };

    /// Whether [`LANES`] accumulators fit in registers. Larger ones are handled one at a time, by
    /// functions that are not inlined: so few of them are on the stack at once.
    const IN_VECTORS: bool = size_of::<R::Acc>() < LARGE_ELEMENT;

    /// # Safety
    ///
    /// The element number `index` from each place on is a term, or a copy, as for
    /// [`Inputs::items`].
    #[cfg_attr(not(debug_assertions), inline(always))]
    unsafe fn term(&self, places: &Places, index: usize, number: usize) -> R::Acc {
        // SAFETY: the contract of this function.
        let items = unsafe { I::items(|input| (places[input], index)) };
        let acc = self.reduction.lift((self.f)(items));
        match R::NUMBERED {
            true => self.reduction.at_index(acc, number),
            false => acc,
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn combine(&self, a: R::Acc, b: R::Acc) -> R::Acc {
        self.reduction.combine(a, b)
    }

    /// Adds rows to `to`, one after the other: `M` of them, `step` rows apart. The `FIRST` of them
    /// replaces what is there. `columns` may be those of several adjacent rows.
    ///
    /// # Safety
    ///
    /// There are such rows, and `to` has room for as many accumulators.
    #[cfg_attr(not(debug_assertions), inline(always))]
    unsafe fn add_rows<const M: usize, const FIRST: bool>(
        &self,
        rows: &Rows<'_>,
        at: usize,
        step: usize,
        columns: usize,
        to: *mut R::Acc,
    ) {
        let mut places = [rows.first; M];
        for (k, places) in places.iter_mut().enumerate() {
            *places = rows.places(I::COUNT, at + k * step);
        }
        let whole = columns / LANES * LANES;
        let mut along = [0; OPERANDS];
        for column in (0..whole).step_by(LANES) {
            // SAFETY: the contract of this function.
            let term = |k: usize, j: usize| unsafe {
                self.term(
                    &moved(places[k], I::COUNT, &along, 1),
                    j,
                    rows.number_of(at + k * step, columns, column + j),
                )
            };
            let chunk = to.wrapping_add(column).cast::<[R::Acc; LANES]>();
            // All is read before anything is written, so the compiler needs no check for overlaps.
            let old = match FIRST {
                true => None,
                // SAFETY: there is room for as many, and earlier rows have initialised them.
                false => Some(unsafe { chunk.read() }),
            };
            let accs = match M {
                LANES => self.reduction.fold_lanes(Lanes, term),
                _ => filled!(LANES, |j| {
                    let mut sum = term(0, j);
                    if let Some(old) = &old {
                        sum = self.combine(old[j], sum);
                    }
                    // No loop: it would keep the compiler from vector code if `term` is long.
                    if M == 4 {
                        sum = self.combine(sum, term(1, j));
                        sum = self.combine(sum, term(2, j));
                        sum = self.combine(sum, term(3, j));
                    }
                    sum
                }),
            };
            // SAFETY: there is room for as many.
            unsafe { chunk.write(accs) };
            for (along, chunk) in along.iter_mut().zip(&rows.chunk) {
                *along = along.wrapping_add(*chunk);
            }
        }
        if whole < columns {
            for k in 0..M {
                let (row, first) = (at + k * step, FIRST && k == 0);
                // SAFETY: the last columns of a row.
                unsafe { self.add_last(rows, row, whole..columns, first, to) };
            }
        }
    }

    /// Adds the last elements of a row one by one. Their loop is short, and vector code for it
    /// would be long.
    ///
    /// # Safety
    ///
    /// As for [`add_rows`](Self::add_rows).
    #[inline(never)]
    unsafe fn add_last(
        &self,
        rows: &Rows<'_>,
        row: usize,
        columns: Range<usize>,
        first: bool,
        to: *mut R::Acc,
    ) {
        let places = rows.places(I::COUNT, row);
        for column in columns.clone() {
            let places = moved(places, I::COUNT, &rows.chunk, column / LANES);
            let number = rows.number_of(row, columns.end, column);
            // SAFETY: an element of the row: the contract of this function.
            let term = unsafe { self.term(&places, column % LANES, number) };
            let place = to.wrapping_add(column);
            let acc = match first {
                true => term,
                // SAFETY: earlier rows have initialised it: the contract of this function.
                false => self.combine(unsafe { *place }, term),
            };
            // SAFETY: there is room: the contract of this function.
            unsafe { place.write(acc) };
        }
    }

    /// Puts the sums of a leaf into `to`.
    ///
    /// # Safety
    ///
    /// The rows are as for [`Kernel::fold`]. `to` has room for an accumulator of each column, and
    /// `lanes` for [`live_lanes`] of each column.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) unsafe fn fold_rows<const VECTORS: bool>(
        &self,
        rows: &Rows<'_>,
        lanes: *mut R::Acc,
        to: *mut R::Acc,
    ) {
        // A copy on the stack: the compiler then knows that writes to the lanes do not change it.
        let rows = &{ *rows };
        let (count, columns) = (rows.count, rows.columns);
        let live = match Self::LANES {
            1 => 1,
            _ => live_lanes(count),
        };
        let lanes = if live == 1 { to } else { lanes };
        // A power of two.
        let (each, more) = (count >> live.trailing_zeros(), count & (live - 1));
        // Of adjacent rows, those of all lanes are one row, and the last of these may be shorter.
        let (all, last) = match rows.adjacent {
            true => ((1, live * columns), (usize::from(more > 0), more * columns)),
            false => ((live, columns), (more, columns)),
        };
        // Four rows of each lane at a time: memory is read at four places, and at each in order.
        let mut done = 0;
        while done <= each {
            let (passes, width) = if done < each { all } else { last };
            let rows_at_once = match VECTORS {
                true if R::FOLDS_LANES && count == LEAF && done == 0 => LANES,
                true if each - done >= 4 => 4,
                _ => 1,
            };
            for lane in 0..passes {
                let (at, to) = (lane + done * live, lanes.wrapping_add(lane * columns));
                match (rows_at_once, done == 0) {
                    // SAFETY: the rows are those of the contract, of which each lane has as many;
                    // there is room for `live` lanes, and the first call initialises this one. So
                    // in each.
                    (LANES, _) if R::FOLDS_LANES => unsafe {
                        self.add_rows::<LANES, true>(rows, at, live, width, to);
                    },
                    // SAFETY: as above.
                    (4, true) => unsafe {
                        self.add_rows::<4, true>(rows, at, live, width, to);
                    },
                    // SAFETY: as above.
                    (4, false) => unsafe {
                        self.add_rows::<4, false>(rows, at, live, width, to);
                    },
                    // SAFETY: as above.
                    (_, first) if !VECTORS => unsafe {
                        self.add_last(rows, at, 0..width, first, to);
                    },
                    // SAFETY: as above.
                    (_, true) => unsafe {
                        self.add_rows::<1, true>(rows, at, live, width, to);
                    },
                    // SAFETY: as above.
                    (_, false) => unsafe {
                        self.add_rows::<1, false>(rows, at, live, width, to);
                    },
                }
            }
            done += rows_at_once;
        }
        if live == 1 {
            return;
        }
        let mut left = live;
        while left > 1 {
            left /= 2;
            let half = left * columns;
            let whole = match VECTORS && const { size_of::<R::Acc>() <= SMALL_ACCUMULATOR } {
                true => half / LANES * LANES,
                false => 0,
            };
            if whole > 0 {
                // SAFETY: twice as many sums have been written.
                unsafe { self.merge(lanes, whole, half) };
            }
            if whole < half {
                // SAFETY: as above.
                unsafe { self.merge_last(lanes, whole, half) };
            }
        }
        // SAFETY: a lane is left, and there is room for its sums.
        unsafe { ptr::copy_nonoverlapping(lanes, to, columns) };
    }

    /// Adds the first `whole` sums after `half` to those at the beginning. Compilers make vector
    /// code of whole chunks of accumulators of several numbers, and none of single ones.
    ///
    /// # Safety
    ///
    /// There are `2 * half` sums. `whole`, a multiple of [`LANES`], is at most `half`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    unsafe fn merge(&self, sums: *mut R::Acc, whole: usize, half: usize) {
        let out = without_masks(sums);
        for at in (0..whole).step_by(LANES) {
            let [low, high] = [at, at + half].map(|at| {
                // SAFETY: sums of both halves.
                unsafe { sums.wrapping_add(at).cast::<[R::Acc; LANES]>().read() }
            });
            let both = filled!(LANES, |j| self.combine(low[j], high[j]));
            let out = out.wrapping_add(at).cast::<[R::Acc; LANES]>();
            // SAFETY: a place of the first half.
            unsafe { out.write(both) };
        }
    }

    /// Adds the second `half` of these sums to the first, from `done` on.
    ///
    /// # Safety
    ///
    /// There are `2 * half` sums.
    #[inline(never)]
    unsafe fn merge_last(&self, sums: *mut R::Acc, done: usize, half: usize) {
        for at in done..half {
            let (low, high) = (sums.wrapping_add(at), sums.wrapping_add(at + half));
            // SAFETY: a sum of the first half. So in each.
            let first = unsafe { *low };
            // SAFETY: a sum of the second half.
            let sum = self.combine(first, unsafe { *high });
            // SAFETY: as above.
            unsafe { low.write(sum) };
        }
    }

    /// The sum of a leaf of contiguous terms.
    ///
    /// # Safety
    ///
    /// There are as many elements at `places`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    unsafe fn fold_leaf(&self, places: &Places, number: usize) -> R::Acc {
        // SAFETY: the indices are those of a leaf.
        let term = |i: usize| unsafe { self.term(places, i, number.wrapping_add(i)) };
        if !R::QUICK {
            // The compiler makes no vector code of the loops below if `combine` is long.
            // SAFETY: the contract of this function.
            return unsafe { self.fold_short(places, LEAF, number) };
        }
        if Self::LANES == 1 {
            return (1..LEAF).fold(term(0), |acc, i| self.combine(acc, term(i)));
        }
        // Only the loop over lanes is a loop, so that the compiler makes vector code of it. It
        // would unroll an inner loop if its body were short.
        macro_rules! lane {
            ($j:ident, $combine:expr; $($k:literal)+) => {{
                let mut acc = term($j);
                $(acc = $combine(acc, term($k * LANES + $j));)+
                acc
            }};
            ($j:ident, $combine:expr) => {
                lane!($j, $combine; 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)
            };
        }
        if R::HAS_UNORDERED && self.plain {
            let combine = |a, b| self.reduction.combine_ordered(a, b);
            let mut unordered = [false; LANES];
            let lanes: [R::Acc; LANES] = filled!(LANES, |j| {
                let mut any = self.reduction.is_unordered(term(j));
                let mut look_and_combine = |acc, term| {
                    any |= self.reduction.is_unordered(term);
                    combine(acc, term)
                };
                let acc = lane!(j, look_and_combine);
                unordered[j] = any;
                acc
            });
            // The sum is computed before the comparison. Otherwise the compiler moves the folding
            // behind it, and all terms are read twice.
            let sum = self.combine_lanes(&lanes, combine);
            if unordered == [false; LANES] {
                return sum;
            }
        }
        let combine = |a, b| self.combine(a, b);
        let lanes = match R::FOLDS_LANES {
            true => self.reduction.fold_lanes(Lanes, |k, j| term(k * LANES + j)),
            false => filled!(LANES, |j| lane!(j, combine)),
        };
        self.combine_lanes(&lanes, combine)
    }

    /// The sums of runs of `N` terms each, which are the only leaves of their columns: a lane has
    /// one term. A known number lets the compiler keep them in registers. The loop over halves is
    /// not shared with `fold_plain`: with one for both, runs of 8 terms take five times as long.
    ///
    /// # Safety
    ///
    /// As for [`Kernel::fold`], with `N` terms and the index 0.
    #[cfg_attr(not(debug_assertions), inline(always))]
    unsafe fn fold_few<const N: usize>(&self, runs: &Runs, stack: Stack) {
        let mut first = runs.first;
        for column in 0..runs.columns {
            // SAFETY: one of `N` terms: the contract of this function.
            let term = |j| unsafe { self.term(&first, j, runs.number.wrapping_add(j)) };
            let mut lanes: [R::Acc; N] = filled!(N, |j| term(j));
            let mut live = N;
            for half in [4, 2, 1] {
                if R::COMMUTATIVE && live > half {
                    for j in 0..live - half {
                        lanes[j] = self.combine(lanes[j], lanes[j + half]);
                    }
                    live = half;
                }
            }
            for j in 1..live {
                lanes[0] = self.combine(lanes[0], lanes[j]);
            }
            let place = stack.at::<R::Acc>(column).first.cast::<R::Acc>();
            // SAFETY: a column of the stack: the contract of this function.
            unsafe { place.write(lanes[0]) };
            first = moved(first, I::COUNT, &runs.column, 1);
        }
    }

    /// The sum of 16 lanes.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn combine_lanes(
        &self,
        lanes: &[R::Acc; LANES],
        combine: impl Fn(R::Acc, R::Acc) -> R::Acc,
    ) -> R::Acc {
        // Aligned, so that no store straddles two cache lines: then store forwarding works.
        #[repr(align(64))]
        struct Aligned<T>(T);
        let eight: [R::Acc; 8] = filled!(8, |j| combine(lanes[j], lanes[j + 8]));
        // Hidden from the compiler, which would otherwise load pairs of lanes that straddle two
        // stores.
        let Aligned(eight) = black_box(Aligned(eight));
        let four: [R::Acc; 4] = filled!(4, |j| combine(eight[j], eight[j + 4]));
        combine(combine(four[0], four[2]), combine(four[1], four[3]))
    }

    /// The sum of up to a leaf of contiguous terms, by short code: of few terms, and where there
    /// are no wide registers.
    ///
    /// # Safety
    ///
    /// There are as many elements at `places`.
    #[inline(never)]
    unsafe fn fold_plain(&self, places: &Places, count: usize, number: usize) -> R::Acc {
        // SAFETY: one of the elements.
        let term = |i: usize| unsafe { self.term(places, i, number.wrapping_add(i)) };
        if Self::LANES == 1 {
            return (1..count).fold(term(0), |acc, i| self.combine(acc, term(i)));
        }
        let mut live = count.min(LANES);
        let mut lanes = [term(0); LANES];
        for (j, lane) in lanes[..live].iter_mut().enumerate().skip(1) {
            *lane = term(j);
        }
        for at in (LANES..count).step_by(LANES) {
            for (j, lane) in lanes[..LANES.min(count - at)].iter_mut().enumerate() {
                *lane = self.combine(*lane, term(at + j));
            }
        }
        for half in [8, 4, 2, 1] {
            for j in 0..live.saturating_sub(half) {
                lanes[j] = self.combine(lanes[j], lanes[j + half]);
            }
            live = live.min(half);
        }
        lanes[0]
    }

    /// The sum of `count` contiguous terms, fewer than a leaf.
    ///
    /// # Safety
    ///
    /// There are as many elements at `places`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    unsafe fn fold_short(&self, places: &Places, count: usize, number: usize) -> R::Acc {
        // SAFETY: the indices are below `count`.
        let term = |i: usize| unsafe { self.term(places, i, number.wrapping_add(i)) };
        if Self::LANES == 1 {
            return (1..count).fold(term(0), |acc, i| self.combine(acc, term(i)));
        }
        if count < LANES {
            // SAFETY: the contract of this function.
            return unsafe { self.fold_plain(places, count, number) };
        }
        // Vectors are read before anything is written, so that no check for overlaps is needed.
        const ROWS: [usize; 4] = [0, 1, 2, 3];
        macro_rules! sums {
            ($old:expr, $at:expr, $rows:literal) => {
                filled!(LANES, |j| {
                    let old: Option<&[R::Acc; LANES]> = $old;
                    let mut acc = term($at + j);
                    if let Some(old) = old {
                        acc = self.combine(old[j], acc);
                    }
                    for row in &ROWS[1..$rows] {
                        acc = self.combine(acc, term($at + row * LANES + j));
                    }
                    acc
                })
            };
        }
        // `black_box` keeps the lanes in memory, where they are read and written as vectors.
        // Without it, the compiler holds them as 16 scalars.
        let mut memory = MaybeUninit::uninit();
        let memory = black_box(&mut memory);
        let (lanes, mut at) = match count >= 4 * LANES {
            true => (memory.write(sums!(None, 0, 4)), 4 * LANES),
            false => (memory.write(sums!(None, 0, 1)), LANES),
        };
        while at + 4 * LANES <= count {
            *lanes = sums!(Some(&*lanes), at, 4);
            at += 4 * LANES;
        }
        while at + LANES <= count {
            *lanes = sums!(Some(&*lanes), at, 1);
            at += LANES;
        }
        let (rest, mut sums) = (count - at, *lanes);
        if rest > 0 {
            // A lane without another term keeps its value: `combine` must not be called for it, as
            // it may panic. `black_box` hides the length, so the compiler emits masked vector code.
            let all = black_box(LANES);
            let old = lanes[..all].iter().enumerate().zip(&LANE_INDICES);
            for (sum, ((j, &lane), &index)) in sums[..all].iter_mut().zip(old) {
                *sum = match index < rest as i32 {
                    true => self.combine(lane, term(at + j)),
                    false => lane,
                };
            }
        }
        self.combine_lanes(&sums, |a, b| self.combine(a, b))
    }

    /// The sum of `count` contiguous terms, at most a leaf.
    ///
    /// # Safety
    ///
    /// There are as many elements at `places`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) unsafe fn fold_run<const VECTORS: bool>(
        &self,
        places: &Places,
        count: usize,
        number: usize,
    ) -> R::Acc {
        match count {
            // SAFETY: the contract of this function.
            _ if !VECTORS => unsafe { self.fold_plain(places, count, number) },
            // SAFETY: the contract of this function.
            LEAF => unsafe { self.fold_leaf(places, number) },
            // SAFETY: the contract of this function.
            _ => unsafe { self.fold_short(places, count, number) },
        }
    }
}

/// Pushes a sum as number `index` of those on the stack.
///
/// # Safety
///
/// The stack has room for as many levels as `index + 1` has binary digits, and holds the sums with
/// smaller numbers.
#[cfg_attr(not(debug_assertions), inline(always))]
unsafe fn push_one<T, R: Reduction<T>>(reduction: &R, mut sum: R::Acc, stack: Stack, index: usize) {
    let mut place = stack.first.cast::<R::Acc>();
    let mut rest = index;
    while rest & 1 == 1 {
        // SAFETY: the levels of the binary ones of `index` hold sums: the contract.
        sum = reduction.combine(unsafe { *place }, sum);
        place = place.wrapping_add(stack.width);
        rest >>= 1;
    }
    // SAFETY: the stack has room for this level.
    unsafe { place.write(sum) };
}

/// Pushes sums of all columns with these numbers. As the next, one function for all closures.
///
/// # Safety
///
/// There are as many sums, and the stack is as for [`push_one`]. From number 0 on, it may begin at
/// the sums themselves: a sum is written to a level of at most its number, and the sum that was
/// there has been read by then.
#[inline(never)]
unsafe fn push<T, R: Reduction<T>>(
    reduction: &R,
    sums: *const u8,
    columns: usize,
    stack: Stack,
    numbers: Range<usize>,
) {
    let mut sums = sums.cast::<R::Acc>();
    for number in numbers {
        for column in 0..columns {
            // SAFETY: the sum of a column.
            let sum = unsafe { *sums };
            // SAFETY: the contract of this function, for one column.
            unsafe { push_one(reduction, sum, stack.at::<R::Acc>(column), number) };
            sums = sums.wrapping_add(1);
        }
    }
}

/// [`Kernel::close`].
///
/// # Safety
///
/// As there.
#[inline(never)]
unsafe fn close<T, R: Reduction<T>>(
    reduction: &R,
    columns: usize,
    stack: Stack,
    count: usize,
) -> *mut u8 {
    let lowest = count.trailing_zeros() as usize;
    let row = |level: usize| {
        let row = stack.at::<R::Acc>(level * stack.width).first;
        // SAFETY: the levels of the binary ones of `count` hold sums of all columns. No level is
        // borrowed twice, and none reaches into the next: a level has `width` places, of which the
        // first `columns` are borrowed, at most `width`.
        unsafe { slice::from_raw_parts_mut(row.cast::<R::Acc>(), columns) }
    };
    let sums = row(lowest);
    for level in lowest + 1..=count.ilog2() as usize {
        if count >> level & 1 == 1 {
            for (sum, &waiting) in sums.iter_mut().zip(&*row(level)) {
                *sum = reduction.combine(waiting, *sum);
            }
        }
    }
    sums.as_mut_ptr().cast()
}

/// [`Kernel::fold`] of a kernel, to be compiled for wide vectors too. It is only made in
/// implementations of that function, here and in `positions`.
pub(super) struct Fold<'f, K>(
    pub(super) &'f K,
    pub(super) Leaves<'f>,
    pub(super) Stack,
    pub(super) usize,
);

/// A kernel that folds leaves by vector code, or by short code.
pub(super) trait FoldLeaves: Sized {
    fn fold_leaves<const VECTORS: bool>(fold: Fold<'_, Self>);
}

impl<K: FoldLeaves> Vectorize for Fold<'_, K> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn run(self) {
        K::fold_leaves::<true>(self);
    }

    fn run_plain(self) {
        K::fold_leaves::<false>(self);
    }
}

impl<I, T, R, F> FoldLeaves for Map<'_, I, T, R, F>
where
    I: Inputs,
    R: Reduction<T>,
    F: Fn(I::Items) -> T,
{
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn fold_leaves<const VECTORS: bool>(fold: Fold<'_, Self>) {
        let Fold(map, terms, stack, index) = fold;
        let push_sum = |sum, column: usize, index| {
            // SAFETY: a column of the stack: the contract of `Kernel::fold`.
            unsafe { push_one(map.reduction, sum, stack.at::<R::Acc>(column), index) };
        };
        match terms {
            Leaves::Rows(rows, scratch) => {
                let sums = scratch.cast::<R::Acc>();
                let lanes = sums.wrapping_add(rows.columns);
                // Nothing waits for sums with an even number.
                let to = if index % 2 == 0 {
                    stack.first.cast()
                } else {
                    sums
                };
                // SAFETY: the contract of `Kernel::fold`, whose arguments these are.
                unsafe { map.fold_rows::<VECTORS>(rows, lanes, to) };
                if index % 2 == 1 {
                    // SAFETY: as above; `fold_rows` has written the sums.
                    unsafe {
                        push(
                            map.reduction,
                            scratch,
                            rows.columns,
                            stack,
                            index..index + 1,
                        )
                    };
                }
            }
            Leaves::Runs(_) if !Self::IN_VECTORS => {
                panic!("large accumulators are folded as rows")
            }
            Leaves::Runs(runs) => {
                // Whole leaves and shorter ones have loops of their own, of which the compiler
                // makes faster code. Runs that have both are read one after the other.
                let at_once = match runs.terms > LEAF && runs.terms % LEAF > 0 {
                    true => 1,
                    false => runs.columns,
                };
                let mut begin = 0;
                while begin < runs.columns {
                    // Hidden, so that the compiler does not copy the loops for each case.
                    let terms = black_box(runs.terms);
                    let (whole, rest) = (terms / LEAF, terms % LEAF);
                    let columns = begin..begin + at_once;
                    if whole > 0 {
                        let mut first = moved(runs.first, I::COUNT, &runs.column, begin);
                        for column in columns.clone() {
                            let mut places = first;
                            for leaf in 0..whole {
                                let number = runs.number.wrapping_add(leaf * LEAF);
                                // SAFETY: terms of a run: the contract of `Kernel::fold`.
                                let sum = unsafe { map.fold_run::<VECTORS>(&places, LEAF, number) };
                                push_sum(sum, column, index + leaf);
                                places = moved(places, I::COUNT, &runs.leaf, 1);
                            }
                            first = moved(first, I::COUNT, &runs.column, 1);
                        }
                    }
                    if rest > 0 {
                        let number = runs.number.wrapping_add(whole * LEAF);
                        let first = moved(runs.first, I::COUNT, &runs.leaf, whole);
                        let mut places = moved(first, I::COUNT, &runs.column, begin);
                        for column in columns {
                            // SAFETY: as above.
                            let sum = unsafe { map.fold_run::<VECTORS>(&places, rest, number) };
                            push_sum(sum, column, index + whole);
                            places = moved(places, I::COUNT, &runs.column, 1);
                        }
                    }
                    begin += at_once;
                }
            }
        }
    }
}

impl<'r, T: Copy + Sync, R: Reduction<T>> Elements<'r, T, R> {
    /// The kernel of all reductions but positions.
    #[inline(always)]
    pub(super) fn kernel(self) -> impl Kernel<Acc = R::Acc> {
        Map::new(
            self.inputs,
            self.shape,
            self.reduction,
            &identity::<T>,
            true,
        )
    }
}

// SAFETY: the methods read elements of the inputs, or copies, as the types that the inputs were
// made of, and accumulators as the type whose size and alignment `facts` returns.
unsafe impl<I, T, R, F> Kernel for Map<'_, I, T, R, F>
where
    I: Inputs,
    R: Reduction<T>,
    F: Fn(I::Items) -> T + Sync,
{
    type Acc = R::Acc;

    fn facts(&self) -> Facts<'_> {
        let inputs = self.operands.as_ref();
        let (mut element, mut align) = (1, align_of::<R::Acc>());
        for input in inputs {
            (element, align) = (element.max(input.size), align.max(input.align));
        }
        Facts {
            inputs,
            shape: self.shape,
            size: size_of::<R::Acc>(),
            element,
            align,
            is_quick: self.plain && R::QUICK,
            is_numbered: R::NUMBERED,
            is_exact: self.reduction.is_exact(),
            may_move: self.reduction.is_exact() && R::COMMUTATIVE && !R::NUMBERED,
        }
    }

    fn gathers_runs(&self, terms: usize, columns: usize, in_place: bool) -> bool {
        // If the last terms do not fill all lanes, terms of 1 or 2 bytes are read one by one: there
        // are no masked loads of these.
        let one_by_one = terms % LANES > 0 && size_of::<T>() <= 2;
        // The compiler makes no vector code of 7 or 8 terms if `combine` looks for NaN.
        let few = if R::HAS_UNORDERED { 6 } else { FEW_TERMS };
        // To combine 16 lanes is a chain of steps, each of few vectors, that wait for each other.
        // In rows of many columns a step has many vectors: of `LogSumExp` over axis 1 of
        // `f32 [4096, 1024]`, a term takes 1.24 ns, and 1.67 as a run, on one thread. Accumulators
        // of 16 bytes fill more vectors: of `f64`, rows take up to 1.1 times as long. Runs that are
        // not in place are gathered faster one column at a time.
        let chain_is_long = R::SLOW && size_of::<R::Acc>() < SMALL_ACCUMULATOR;
        let in_rows = chain_is_long && in_place && columns >= LANES;
        match R::SLOW || one_by_one {
            true => in_rows || terms < SHORT_RUN,
            false => terms < LANES && !(in_place && terms <= few),
        }
    }

    unsafe fn fold(&self, terms: Leaves<'_>, stack: Stack, index: usize) {
        macro_rules! few {
            ($runs:ident: $($terms:literal)+) => {
                match $runs.terms {
                    // SAFETY: the contract of this function.
                    $($terms => return unsafe { self.fold_few::<$terms>($runs, stack) },)+
                    _ => {}
                }
            };
        }
        match terms {
            Leaves::Runs(runs) if Self::IN_VECTORS && index == 0 && runs.columns > 1 => {
                few!(runs: 1 2 3 4 5 6);
                if !R::HAS_UNORDERED {
                    few!(runs: 7 8);
                }
            }
            _ => {}
        }
        in_vectors(Fold(self, terms, stack, index), Self::IN_VECTORS);
    }

    unsafe fn close(&self, columns: usize, stack: Stack, count: usize) -> *mut u8 {
        // SAFETY: the contract of this function.
        unsafe { close(self.reduction, columns, stack, count) }
    }

    unsafe fn join(&self, sums: *mut u8, columns: usize, count: usize, _: usize) -> *mut u8 {
        let stack = Stack {
            first: sums,
            width: columns,
        };
        // SAFETY: the sums, and a stack of no more levels than there are sums of a column.
        unsafe { push(self.reduction, sums, columns, stack, 0..count) };
        // SAFETY: all sums have been pushed.
        unsafe { self.close(columns, stack, count) }
    }
}
