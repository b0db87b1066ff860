//! Access to memory for sums: the terms that are read, and the places of the sums.
//!
//! A sum belongs to one position of the axes that are kept; its terms are the positions of the axes
//! that are summed. A term is an element of the one array of terms, or computed of the elements of
//! several arrays. [`Sums`] is built from the arrays and checks that they fit. It cuts the work
//! into units: neighbouring columns, all of them or a range of their terms. Each unit is handed out
//! once, so only its holder writes its sums. The columns of a unit are read as slices
//! ([`Unit::columns`]), or their terms are computed into a table ([`Unit::fill`]).

use super::inputs::{Inputs, Source, TileKernel};
use super::machine::{CAN_STREAM, FenceOnDrop, stream, widest};
use super::memory::uninit_array;
use super::nest::{LoopAxis, LoopNest, Tile, for_each_tile, offsets_of};
use super::terms::{Columns, Gather};
use super::threads::{Cost, share};
use super::tuning::{INLINE_AXES, MAP_LONG_ROW, STREAM_SUMS_ROW, sums_are_streamed};
use crate::error::BroadcastError;
use crate::shape::Sizes;
use ndarray::{Array, ArrayRef, Dimension};
use smallvec::SmallVec;
use std::cell::Cell;
use std::cmp::Reverse;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Where sums go, and how they are written.
pub(crate) enum Target<'a, B, J: Dimension> {
    /// Fresh memory, which sums initialise.
    Fresh(&'a mut Array<MaybeUninit<B>, J>),
    /// Sums replace what is there.
    Put(&'a mut ArrayRef<B, J>),
    /// Sums are added to what is there.
    Add(&'a mut ArrayRef<B, J>),
}

/// How the work is cut into units.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cut {
    /// Which of the loops over the sums is cut. A unit has all loops inside it.
    pub(crate) axis: usize,
    /// The most iterations of this loop in a unit.
    pub(crate) turns: usize,
    /// Into how many ranges the terms of each column are cut. The units of a column follow each
    /// other.
    pub(crate) term_chunks: usize,
    /// In how many runs of equal length the ranges are interleaved: the first of each run is taken,
    /// then the second of each, and so on.
    pub(crate) term_runs: usize,
    /// Units that a thread takes at once.
    pub(crate) units_at_once: usize,
}

impl Cut {
    /// How many places the interleaved ranges of a column have, some of them empty.
    #[inline(always)]
    fn term_places(&self) -> usize {
        match self.term_runs {
            1 => self.term_chunks,
            runs => self.term_chunks.div_ceil(runs) * runs,
        }
    }

    /// The range at this place. `None` where a run has one range less than others.
    #[inline(always)]
    fn term_chunk(&self, at: usize) -> Option<usize> {
        if self.term_runs == 1 {
            return Some(at);
        }
        let (chunks, runs) = (self.term_chunks as u128, self.term_runs as u128);
        let first = |run: usize| (run as u128 * chunks / runs) as usize;
        let run = at % self.term_runs;
        let chunk = first(run) + at / self.term_runs;
        (chunk < first(run + 1)).then_some(chunk)
    }
}

/// The most loops over the columns of a unit. With two loops over terms they are no more than fit
/// without an allocation.
pub(crate) const UNIT_AXES: usize = INLINE_AXES - 2;

/// The inputs of the terms and the places of all sums.
///
/// Operands `0..N - 1` of both nests are the inputs, operand `N - 1` is the places. Every position
/// of `kept` with every position of `summed` is an element of each input. The positions of `kept`
/// are all elements of the target, which is borrowed for `'a`, each of them once.
pub(crate) struct Sums<'a, I, B, const N: usize> {
    inputs: I,
    places: *mut B,
    kept: LoopNest<N>,
    summed: LoopNest<N>,
    /// Whether sums are added to elements that `places` holds.
    adds: bool,
    may_stream: bool,
    /// How many sums the last call of [`for_each_unit`](Self::for_each_unit) has written.
    written: AtomicUsize,
    target: PhantomData<&'a mut [B]>,
}

// SAFETY: through a shared reference the public methods only read the nests, which are plain data,
// and the layouts of the inputs. `for_each_unit` needs an exclusive reference; its threads read the
// inputs, which are `Sync`, and write places of distinct units, whose values are `Send`.
unsafe impl<I: Sync, B: Send, const N: usize> Sync for Sums<'_, I, B, N> {}

/// A fresh array of sums in standard layout, which `sum` computes.
///
/// `O` and `axes` are as in [`Sums::new`]. Panics if `sum` returns `Ok` without having
/// written each sum.
///
/// # Errors
///
/// `OutputTooLarge`, `AllocationFailed`, and those of `sum`.
pub(crate) fn fresh_sums<O, I, B, J, const N: usize>(
    inputs: I,
    axes: impl Iterator<Item = Option<usize>>,
    dim: J,
    sum: impl FnOnce(&mut Sums<'_, I, B, N>) -> Result<(), BroadcastError>,
) -> Result<Array<B, J>, BroadcastError>
where
    I: Inputs<N>,
    B: Copy + Send + Sync,
    O: Dimension,
    J: Dimension,
{
    let mut out = uninit_array(dim)?;
    let mut sums = Sums::new::<O, J>(inputs, axes, Target::Fresh(&mut out))?;
    sum(&mut sums)?;
    let written = sums.written.into_inner();
    assert_eq!(written, out.len(), "sums are missing");
    // SAFETY: `for_each_unit` sets the count to 0 first, and hands out no unit twice. A unit counts
    // its sums when it has written them. So as many sums as there are elements, which was checked
    // here, are all of them.
    Ok(unsafe { out.assume_init() })
}

impl<'a, I: Inputs<N>, B: Copy + Send + Sync, const N: usize> Sums<'a, I, B, N> {
    /// Sums of what is computed of the inputs. For each of their axes, `axes` names the axis of the
    /// target that it becomes; `None` is an axis to sum over. `O` has their rank.
    ///
    /// # Errors
    ///
    /// `AllocationFailed`, for loops over very many axes.
    ///
    /// # Panics
    ///
    /// Unless the inputs have one shape, of the rank of `O`, `axes` has an entry for each of its
    /// axes, and each axis of the target either is named once and has the size of the axis that it
    /// is named for, or has size 1.
    #[inline(always)]
    pub(crate) fn new<O: Dimension, J: Dimension>(
        inputs: I,
        mut axes: impl Iterator<Item = Option<usize>>,
        target: Target<'a, B, J>,
    ) -> Result<Self, BroadcastError> {
        let adds = matches!(target, Target::Add(_));
        let may_stream = CAN_STREAM && matches!(target, Target::Put(_));
        let (places, to_shape, to_strides): (*mut B, &[usize], &[isize]) = match target {
            Target::Fresh(out) => (out.as_mut_ptr().cast(), out.shape(), out.strides()),
            Target::Put(out) | Target::Add(out) => (out.as_mut_ptr(), out.shape(), out.strides()),
        };
        const { assert!(!I::ONCE, "units may read a term twice") };
        const SUMMED: usize = usize::MAX;
        let shape = inputs.layout(0).0;
        for input in 1..N - 1 {
            assert_eq!(shape, inputs.layout(input).0, "inputs differ in shape");
        }
        let strides_of = |axis: usize, place: isize| -> [isize; N] {
            std::array::from_fn(|operand| match operand + 1 < N {
                true => inputs.layout(operand).1[axis],
                false => place,
            })
        };
        // What `axes` says is read once. The list is a dimension: one of static rank needs no heap,
        // and the compiler knows its length. With vectors of any length the row sums of 32 by 32
        // `f32` with gaps take 700 ns instead of 670.
        let mut becomes = O::zeros(shape.len());
        let becomes = becomes.sizes_mut();
        let mut named = J::zeros(to_shape.len());
        let named = named.sizes_mut();
        for axis in &mut *becomes {
            let entry = axes.next().expect("there is an entry for each axis");
            *axis = entry.unwrap_or(SUMMED);
            if let Some(entry) = entry {
                assert!(named[entry] == 0, "an axis is named twice");
                named[entry] = 1;
            }
        }
        let kept = (0..shape.len()).filter(|&axis| becomes[axis] != SUMMED);
        let kept = LoopNest::from_axes(kept.map(|axis| {
            assert_eq!(shape[axis], to_shape[becomes[axis]], "sizes differ");
            LoopAxis {
                size: shape[axis],
                strides: strides_of(axis, to_strides[becomes[axis]]),
            }
        }))?;
        let len: usize = to_shape.iter().product();
        assert_eq!(kept.len(), len, "an axis of the target is not named");
        let summed = (0..shape.len()).filter(|&axis| becomes[axis] == SUMMED);
        let summed = LoopNest::in_order(summed.map(|axis| LoopAxis {
            size: shape[axis],
            strides: strides_of(axis, 0),
        }))?;
        Ok(Sums {
            inputs,
            places,
            kept,
            summed,
            adds,
            may_stream,
            written: AtomicUsize::new(0),
            target: PhantomData,
        })
    }

    /// The loops over the sums.
    pub(crate) fn kept(&self) -> &LoopNest<N> {
        &self.kept
    }

    /// The loops over the terms of one sum, in the order of the axes.
    pub(crate) fn summed(&self) -> &LoopNest<N> {
        &self.summed
    }

    /// Whether sums are added to what the target holds.
    pub(crate) fn adds(&self) -> bool {
        self.adds
    }

    /// The shape of the inputs.
    pub(crate) fn shape(&self) -> &[usize] {
        self.inputs.layout(0).0
    }

    /// How many bytes of the inputs `terms` terms of each sum are computed from. An input whose
    /// strides are all 0 is not counted, but each term is: as one byte at least.
    pub(crate) fn bytes_of(&self, terms: usize) -> usize {
        let moves = |input: usize| {
            let mut axes = self.kept.axes().iter().chain(self.summed.axes());
            axes.any(|axis| axis.strides[input] != 0)
        };
        let inputs = (0..N - 1).filter(|&input| moves(input));
        let term: usize = inputs.map(|input| self.inputs.layout(input).2).sum();
        let terms = self.kept.len().saturating_mul(terms);
        terms.saturating_mul(term.max(1))
    }

    /// The loops over the sums: outside of axis `axis`, that axis, and inside.
    #[inline(always)]
    fn split(&self, axis: usize) -> (&[LoopAxis<N>], LoopAxis<N>, &[LoopAxis<N>]) {
        match self.kept.axes() {
            [] => (&[], LoopAxis::UNIT, &[]),
            axes => (&axes[..axis], axes[axis], &axes[axis + 1..]),
        }
    }

    /// How many units there are, with those of empty places.
    pub(crate) fn units(&self, cut: Cut) -> usize {
        // A nest without positions has no axes, like a nest of one position: below, both would
        // have one unit.
        if self.kept.len() == 0 {
            return 0;
        }
        let (outer, axis, _) = self.split(cut.axis);
        let positions: usize = outer.iter().map(|axis| axis.size).product();
        positions * axis.size.div_ceil(cut.turns) * cut.term_places()
    }

    /// Calls `f` with all units, each of them once, on several threads if `cost` is worth it.
    ///
    /// Each thread takes one element of `scratch` and gives it back at its end. A thread that finds
    /// none leaves the units to the others: the pool may have got more threads since `scratch` was
    /// made.
    ///
    /// `f` is a trait object, so that this is not compiled for each closure.
    ///
    /// # Panics
    ///
    /// If `scratch` is empty and there are units, or more than [`UNIT_AXES`] loops are in a unit.
    pub(crate) fn for_each_unit<S: Send>(
        &mut self,
        cut: Cut,
        cost: Cost,
        scratch: Vec<S>,
        f: &(dyn Fn(&mut S, Units<'_, I, B, N>) + Sync),
    ) {
        let this = &*self;
        let (outer, axis, inside) = this.split(cut.axis);
        assert!(inside.len() < UNIT_AXES, "too many loops in a unit");
        let along = axis.size.div_ceil(cut.turns) * cut.term_places();
        let units = this.units(cut);
        let mut inside_len = 1;
        let mut dense = true;
        for axis in inside.iter().rev().chain([&axis]) {
            dense &= axis.strides[N - 1] == inside_len as isize;
            inside_len *= axis.size;
        }
        inside_len /= axis.size;
        let streams = this.may_stream
            && dense
            && (cut.turns * inside_len).saturating_mul(size_of::<B>()) >= STREAM_SUMS_ROW
            && sums_are_streamed(this.kept.len() * size_of::<B>());
        this.written.store(0, Ordering::Relaxed);
        assert!(
            units == 0 || !scratch.is_empty(),
            "no thread has scratch memory"
        );
        let scratch = Mutex::new(scratch);
        share(units.div_ceil(cut.units_at_once), cost, |ranges| {
            let lock = || scratch.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(mut own) = lock().pop() else {
                return;
            };
            for range in ranges {
                let begin = range.start * cut.units_at_once;
                let range = begin..units.min(range.end.saturating_mul(cut.units_at_once));
                let _fence = streams.then(|| FenceOnDrop);
                let written = Cell::new(0);
                let (position, unit) = (range.start / along, range.start % along);
                let units = Units {
                    sums: this,
                    cut,
                    outer,
                    axis,
                    inside,
                    inside_len,
                    dense,
                    streams,
                    written: &written,
                    position,
                    offsets: offsets_of(outer, this.kept.start(), position),
                    turn: unit / cut.term_places() * cut.turns,
                    term_place: unit % cut.term_places(),
                    left: range.len(),
                };
                f(&mut own, units);
                this.written.fetch_add(written.get(), Ordering::Relaxed);
            }
            lock().push(own);
        });
    }
}

/// Units that follow each other, none of which is handed out elsewhere.
pub(crate) struct Units<'s, I, B, const N: usize> {
    sums: &'s Sums<'s, I, B, N>,
    cut: Cut,
    /// The loops over the sums: `outer`, then `axis`, which is cut, then `inside`, which has
    /// `inside_len` positions.
    outer: &'s [LoopAxis<N>],
    axis: LoopAxis<N>,
    inside: &'s [LoopAxis<N>],
    inside_len: usize,
    /// Whether the places of a unit are side by side.
    dense: bool,
    streams: bool,
    written: &'s Cell<usize>,
    /// The position of the outer loops, and where column 0 is there.
    position: usize,
    offsets: [isize; N],
    /// The next unit.
    turn: usize,
    term_place: usize,
    left: usize,
}

impl<'s, I, B, const N: usize> Iterator for Units<'s, I, B, N> {
    type Item = Unit<'s, I, B, N>;

    #[inline(always)]
    fn next(&mut self) -> Option<Unit<'s, I, B, N>> {
        let term_chunk = loop {
            self.left = self.left.checked_sub(1)?;
            if self.term_place == self.cut.term_places() {
                self.term_place = 0;
                self.turn += self.cut.turns;
            }
            self.term_place += 1;
            if let Some(chunk) = self.cut.term_chunk(self.term_place - 1) {
                break chunk;
            }
        };
        if self.turn >= self.axis.size {
            self.turn = 0;
            self.position += 1;
            self.offsets = offsets_of(self.outer, self.sums.kept.start(), self.position);
        }
        let turns = self.cut.turns.min(self.axis.size - self.turn);
        Some(Unit {
            sums: self.sums,
            axis: self.axis.resized(turns),
            inside: self.inside,
            width: turns * self.inside_len,
            dense: self.dense,
            streams: self.streams,
            offsets: self.axis.moved(self.offsets, self.turn),
            term_chunk,
            first_sum: (self.position * self.axis.size + self.turn) * self.inside_len,
            // Without term chunks the unit is the only one with its columns.
            written: (self.cut.term_chunks == 1).then_some(self.written),
        })
    }
}

/// A unit of work: neighbouring columns, of which one range of terms is to be summed.
pub(crate) struct Unit<'s, I, B, const N: usize> {
    sums: &'s Sums<'s, I, B, N>,
    /// Columns: the positions of `axis` around `inside`. Column 0 is at `offsets`.
    axis: LoopAxis<N>,
    inside: &'s [LoopAxis<N>],
    width: usize,
    offsets: [isize; N],
    dense: bool,
    streams: bool,
    /// Which of the ranges of terms.
    pub(crate) term_chunk: usize,
    /// The number of the first column among all sums.
    pub(crate) first_sum: usize,
    /// Counts sums; there if no other unit has these columns.
    written: Option<&'s Cell<usize>>,
}

impl<'s, A: Copy + Sync, B> Unit<'s, (Source<'_, '_, A>,), B, 2> {
    /// [`fill`](Self::fill) with the terms themselves.
    pub(crate) fn gather(&self, terms: Range<usize>, order: Order, table: &mut [A]) {
        let from = self.sums.inputs.firsts().0;
        self.for_each_tile(terms, order, table, false, |to, tile| {
            // SAFETY: what `for_each_tile` says of its tiles. The terms are borrowed, so they are
            // no elements of the table.
            widest(unsafe { Gather::new(to, from, tile) });
        });
    }

    /// The columns of the one array of terms, with all their terms.
    ///
    /// # Panics
    ///
    /// If the innermost loop is not the one that is cut.
    #[inline(always)]
    pub(crate) fn columns(&self) -> Columns<'s, A> {
        assert!(self.inside.is_empty(), "columns are on several axes");
        let first = self.sums.inputs.firsts().0.wrapping_offset(self.offsets[0]);
        // SAFETY: `Sums` says that each position of `kept` with each of `summed` is an element of
        // the input, which is borrowed for longer than `'s`. The columns are `width` positions of
        // `kept`.
        unsafe { Columns::new(first, self.axis.strides[0], self.width, &self.sums.summed) }
    }
}

/// How the terms of a unit lie in a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// A row for each term, with a place for each column.
    Rows,
    /// A run for each column, with a place for each term.
    Runs,
}

impl<I: Inputs<N>, B, const N: usize> Unit<'_, I, B, N> {
    /// How many columns the unit has.
    #[inline(always)]
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Computes the terms `terms` of each column: `op` is called for each place of `table`, once,
    /// with the elements of the inputs.
    ///
    /// # Panics
    ///
    /// If there are no such terms, or `table` has not a place for each of each column.
    pub(crate) fn fill<A>(
        &self,
        terms: Range<usize>,
        order: Order,
        table: &mut [A],
        op: &impl Fn(&mut A, I::Items),
    ) {
        self.for_each_tile(terms, order, table, true, |x, tile| {
            // SAFETY: `for_each_tile` promises that the offsets are elements of the inputs, and
            // different places of the table, which nothing else reaches meanwhile.
            widest(unsafe { TileKernel::new(&self.sums.inputs, x, tile, op) });
        });
    }

    /// Calls `f` with tiles that together are the places of a table of these terms. Operand 0 of a
    /// tile is the table, from the pointer on, and the others are the inputs. If `turned`, runs of
    /// terms that all inputs hold backwards are given forwards, and then reversed in the table: the
    /// sum of 4 * 10^6 squares of reversed `f32` takes 0.73 ms so, and 1.5 ms without (an Intel
    /// Xeon).
    ///
    /// The positions of the inputs are those of columns of this unit, which are positions of
    /// `kept`, and of terms, which are positions of `summed`, as is asserted here. So `Sums` says
    /// that they are elements. Operand 0 numbers the places of the table: a column and a term are
    /// at `column * column_step + term * term_step`, which differs for each of them and is below
    /// the length of the table, as is asserted here. The table is borrowed exclusively, and used
    /// only by the pointer while `f` runs.
    ///
    /// # Panics
    ///
    /// If there are no such terms, or `table` has not a place for each of each column.
    fn for_each_tile<A>(
        &self,
        terms: Range<usize>,
        order: Order,
        table: &mut [A],
        turned: bool,
        f: impl Fn(*mut A, Tile<N>),
    ) {
        let summed = &self.sums.summed;
        assert!(terms.start <= terms.end && terms.end <= summed.len());
        assert_eq!(Some(table.len()), self.width.checked_mul(terms.len()));
        let len = terms.len();
        let (term_step, column_step) = match order {
            Order::Rows => (self.width, 1),
            Order::Runs => (1, len),
        };
        // The table as operand 0, and the inputs after it.
        let with_table = |step: usize, strides: [isize; N]| -> [isize; N] {
            std::array::from_fn(|operand| match operand {
                0 => step as isize,
                _ => strides[operand - 1],
            })
        };
        let mut at = 0;
        let most = INLINE_AXES - 1 - self.inside.len();
        for_each_box(summed.axes(), terms, most, |mut offsets, boxed| {
            let inner = boxed.last_mut().expect("a box has a loop");
            let backwards = turned && order == Order::Runs && runs_backwards(inner);
            if backwards {
                inner.reverse(&mut offsets);
            }
            let row = inner.size;
            let mut axes: SmallVec<[LoopAxis<N>; INLINE_AXES]> = SmallVec::new();
            let mut add = |axis: &LoopAxis<N>, step: &mut usize| {
                axes.push(LoopAxis {
                    size: axis.size,
                    strides: with_table(*step, axis.strides),
                });
                *step *= axis.size;
            };
            let mut step = column_step;
            let columns = self.inside.iter().rev().chain([&self.axis]);
            columns.for_each(|axis| add(axis, &mut step));
            let mut step = term_step;
            boxed.iter().rev().for_each(|axis| add(axis, &mut step));
            let loops = loops_of(&mut axes);
            let start = std::array::from_fn(|operand| match operand {
                0 => (at * term_step) as isize,
                _ => self.offsets[operand - 1].wrapping_add(offsets[operand - 1]),
            });
            let x = table.as_mut_ptr();
            for_each_tile(loops.axes(), start, 0..loops.len(), |tile| f(x, tile));
            let count = step / term_step;
            if backwards {
                for column in 0..self.width {
                    let run = &mut table[column * len + at..][..count];
                    run.chunks_exact_mut(row).for_each(<[A]>::reverse);
                }
            }
            at += count;
        });
    }

    /// Writes the columns' sums; `add` adds one to what a target of added sums holds.
    ///
    /// # Panics
    ///
    /// If there is not one for each column, or the terms are cut into several ranges.
    #[inline(always)]
    pub(crate) fn write(self, sums: &[B], add: impl Fn(B, B) -> B)
    where
        B: Copy,
    {
        let written = self.written.expect("no other unit has these columns");
        assert_eq!(sums.len(), self.width, "not a sum for each column");
        let adds = self.sums.adds;
        let first = self.sums.places.wrapping_offset(self.offsets[N - 1]);
        if self.streams {
            // SAFETY: `for_each_unit` sets `streams` only with `dense`: the places of the unit are
            // side by side. There are `width` of them, as asserted; no other unit has them. They
            // are borrowed exclusively, so `sums` is elsewhere. The fence of `for_each_unit` is
            // dropped before the thread claims other units or leaves the call.
            unsafe { stream(sums.as_ptr().cast(), first.cast(), size_of_val(sums)) };
        } else if self.dense && !adds {
            // SAFETY: the places are side by side, and there are `width` of them, as asserted; no
            // other unit has them. They are borrowed exclusively, so `sums` is elsewhere.
            unsafe { std::ptr::copy_nonoverlapping(sums.as_ptr(), first, sums.len()) };
        } else {
            let mut axes: SmallVec<[LoopAxis<N>; INLINE_AXES]> = SmallVec::new();
            axes.push(self.axis);
            axes.extend(self.inside.iter().copied());
            let mut left = sums.iter();
            for_each_tile(&axes, self.offsets, 0..self.width, |tile| {
                let stride = tile.columns.strides[N - 1];
                for row in 0..tile.rows.size {
                    let first = tile.offsets_at(row, 0)[N - 1];
                    let first = self.sums.places.wrapping_offset(first);
                    for (column, &(mut sum)) in left.by_ref().take(tile.columns.size).enumerate() {
                        let place = first.wrapping_offset(stride.wrapping_mul(column as isize));
                        if adds {
                            // SAFETY: the place of one of `width` columns, which no other unit has.
                            // It holds an element, as only `Target::Add` sets `adds`.
                            sum = add(unsafe { place.read() }, sum);
                        }
                        // SAFETY: the place of one of `width` columns, which no other unit has.
                        unsafe { place.write(sum) };
                    }
                }
            });
        }
        written.set(written.get() + sums.len());
    }
}

/// Calls `f` with boxes that together are the positions `range` of the nest `axes`, in order: where
/// a box begins, and its loops, of which there are one to `most`. All but the first turn as often
/// as the nest's.
fn for_each_box<const N: usize>(
    axes: &[LoopAxis<N>],
    range: Range<usize>,
    most: usize,
    mut f: impl FnMut([isize; N], &mut [LoopAxis<N>]),
) {
    let mut at = range.start;
    while at < range.end {
        let (left, mut inside) = (range.end - at, 1);
        let mut boxed: SmallVec<[LoopAxis<N>; INLINE_AXES]> = SmallVec::new();
        for axis in axes.iter().rev().take(most) {
            let turns = (axis.size - at / inside % axis.size).min(left / inside);
            boxed.insert(0, axis.resized(turns));
            inside *= turns;
            if turns < axis.size {
                break;
            }
        }
        if boxed.is_empty() {
            boxed.push(LoopAxis::UNIT);
        }
        f(offsets_of(axes, [0; N], at), &mut boxed);
        at += inside;
    }
}

/// Whether an input is walked backwards, and none forwards.
fn runs_backwards<const N: usize>(axis: &LoopAxis<N>) -> bool {
    let inputs = &axis.strides[..N - 1];
    axis.size > 1 && inputs.iter().all(|&s| s <= 0) && inputs.iter().any(|&s| s < 0)
}

/// How far apart in memory the inputs' elements are along a loop: the sum of the strides.
pub(crate) fn distance<const N: usize>(axis: &LoopAxis<N>) -> usize {
    distance_of(&axis.strides[..N - 1])
}

fn distance_of(strides: &[isize]) -> usize {
    let add = |sum: usize, stride: &isize| sum.saturating_add(stride.unsigned_abs());
    strides.iter().fold(0, add)
}

/// The loops over a table and the inputs: merged, the innermost one along neighbours in memory, and
/// not short where another is long. Operand 0 is the table.
#[inline]
fn loops_of<const N: usize>(axes: &mut [LoopAxis<N>]) -> LoopNest<N> {
    axes.sort_unstable_by_key(|axis| {
        let distance = distance_of(&axis.strides[1..]);
        Reverse((distance, axis.strides[0].unsigned_abs()))
    });
    let loops = LoopNest::in_order(axes.iter().copied());
    let mut loops = loops.expect("so few loops need no allocation");
    // Where the table is contiguous along another loop, the two are the innermost.
    let axes = loops.axes();
    if let Some(place) = axes.iter().position(|axis| axis.strides[0] == 1) {
        if place + 2 < axes.len() {
            loops.move_axis(place, axes.len() - 2);
        }
    }
    let longest = (loops.axes().iter().enumerate()).max_by_key(|(_, axis)| axis.size);
    if let Some((place, axis)) = longest {
        let inner = loops.inner().size;
        if inner < MAP_LONG_ROW && inner < axis.size {
            loops.move_axis(place, loops.axes().len() - 1);
        }
    }
    loops
}

// They catch panics.
#[cfg(all(test, panic = "unwind"))]
mod tests {
    use super::*;
    use crate::engine::terms::Runs;
    use ndarray::{Array2, Ix1, Ix2, Ix4, array};
    use std::panic::{AssertUnwindSafe, catch_unwind};

    fn panics<T>(f: impl FnOnce() -> T) -> bool {
        catch_unwind(AssertUnwindSafe(f)).is_err()
    }

    #[test]
    fn axes_that_do_not_fit_are_refused() {
        let terms = Array2::<i32>::ones((3, 3));
        let fits = |axes: &[Option<usize>], shape: (usize, usize)| {
            let mut out = Array2::<i32>::zeros(shape);
            !panics(|| {
                let (inputs, axes) = ((Source::of(&terms),), axes.iter().copied());
                drop(Sums::new::<Ix2, _>(inputs, axes, Target::Put(&mut out)))
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

    #[test]
    fn boxes_are_all_positions_of_a_range_in_order() {
        let shape = [2, 3, 1, 4, 5];
        let array = ndarray::Array5::<u8>::zeros((2, 4, 2, 5, 5));
        let part = array.slice(ndarray::s![.., ..3, ..1, ..4, ..]);
        let nest =
            LoopNest::in_order((shape.iter().zip(part.strides())).map(|(&size, &stride)| {
                LoopAxis {
                    size,
                    strides: [stride],
                }
            }));
        let nest = nest.unwrap();
        assert!(nest.axes().len() > 2);
        for begin in 0..nest.len() {
            for end in begin..=nest.len() {
                for most in 1..4 {
                    let mut found = vec![];
                    for_each_box(nest.axes(), begin..end, most, |start, axes| {
                        assert!(axes.len() <= most);
                        let len = axes.iter().map(|axis| axis.size).product();
                        for_each_tile(axes, start, 0..len, |tile| {
                            for row in 0..tile.rows.size {
                                let columns = 0..tile.columns.size;
                                found.extend(columns.map(|column| tile.offsets_at(row, column)));
                            }
                        });
                    });
                    let expected = begin..end;
                    let expected = expected.map(|at| offsets_of(nest.axes(), [0], at));
                    assert!(found.into_iter().eq(expected), "{begin} {end} {most}");
                }
            }
        }
    }

    const ONE_BY_ONE: Cut = Cut {
        axis: 0,
        turns: 1,
        term_chunks: 1,
        term_runs: 1,
        units_at_once: 1,
    };

    #[test]
    fn each_range_of_terms_is_taken_once() {
        for term_chunks in 1..40 {
            for term_runs in 1..45 {
                let cut = Cut {
                    term_chunks,
                    term_runs,
                    ..ONE_BY_ONE
                };
                let taken = (0..cut.term_places()).filter_map(|at| cut.term_chunk(at));
                let mut taken: Vec<_> = taken.collect();
                taken.sort_unstable();
                assert!(taken.into_iter().eq(0..term_chunks), "{cut:?}");
            }
        }
    }

    #[test]
    fn each_unit_is_handed_out_once_whatever_the_cut() {
        // Gaps, so that no loops are merged.
        let memory = ndarray::Array4::<u8>::ones((3, 6, 3, 40));
        let terms = memory.slice(ndarray::s![.., ..5, ..2, ..]);
        let mut out = ndarray::Array3::<u8>::zeros((3, 5, 2));
        let axes = [Some(0), Some(1), Some(2), None];
        let inputs = (Source::of(&terms),);
        let target = Target::Put(&mut out);
        let mut sums = Sums::new::<Ix4, _>(inputs, axes.into_iter(), target).unwrap();
        assert_eq!(sums.kept().axes().len(), 3);
        for (term_chunks, term_runs) in [(1, 1), (7, 1), (7, 3), (6, 3), (2, 5)] {
            for (axis, turns) in [(0, 2), (1, 2), (1, 5), (2, 1), (2, 9)] {
                for units_at_once in 1..8 {
                    let cut = Cut {
                        axis,
                        turns,
                        term_chunks,
                        term_runs,
                        units_at_once,
                    };
                    let found = std::sync::Mutex::new(vec![]);
                    sums.for_each_unit(cut, Cost::Bytes(0), vec![()], &|(), units| {
                        for unit in units {
                            let columns = unit.first_sum..unit.first_sum + unit.width();
                            let units = columns.map(|column| (column, unit.term_chunk));
                            found.lock().unwrap().extend(units);
                        }
                    });
                    let mut found = found.into_inner().unwrap();
                    found.sort_unstable();
                    let chunks = |column| (0..term_chunks).map(move |chunk| (column, chunk));
                    assert!(found.into_iter().eq((0..30).flat_map(chunks)), "{cut:?}");
                }
            }
        }
    }

    /// Here each thread but one finds no scratch memory.
    #[test]
    fn units_are_handed_out_once_if_there_is_scratch_memory_for_one_thread_only() {
        let terms = Array2::<u8>::ones((1000, 3));
        let mut out = ndarray::Array1::<u8>::zeros(1000);
        let axes = [Some(0), None].into_iter();
        let inputs = (Source::of(&terms),);
        let mut sums = Sums::new::<Ix2, _>(inputs, axes, Target::Put(&mut out)).unwrap();
        for _ in 0..100 {
            let scratch = vec![vec![]];
            let found = std::sync::Mutex::new(vec![]);
            sums.for_each_unit(
                ONE_BY_ONE,
                Cost::Bytes(usize::MAX),
                scratch,
                &|own, units| {
                    own.extend(units.map(|unit| unit.first_sum));
                    found.lock().unwrap().append(own);
                },
            );
            let mut found = found.into_inner().unwrap();
            found.sort_unstable();
            assert!(found.into_iter().eq(0..1000));
        }
    }

    #[test]
    fn a_fresh_array_is_given_only_if_all_sums_are_written() {
        let terms = array![[1, 2, 3], [4, 5, 6]];
        for missing in 0..4 {
            let sum = |sums: &mut Sums<'_, (Source<'_, '_, i32>,), i32, 2>| {
                sums.for_each_unit(ONE_BY_ONE, Cost::Bytes(0), vec![()], &|(), units| {
                    for unit in units.filter(|unit| unit.first_sum != missing) {
                        let column = unit.columns().runs(0..2).at(0)[..2].iter().sum();
                        unit.write(&[column], |old, new| old + new);
                    }
                });
                Ok(())
            };
            let mut sums = None;
            let all = !panics(|| {
                let turned = terms.t().as_standard_layout().into_owned();
                let axes = [Some(0), None].into_iter();
                let inputs = (Source::of(&turned),);
                sums = fresh_sums::<Ix2, _, _, _, 2>(inputs, axes, Ix1(3), sum).ok();
            });
            assert_eq!(all, missing == 3);
            assert_eq!(sums, all.then(|| array![5, 7, 9]));
        }
    }

    #[test]
    fn a_target_of_no_elements_has_no_units() {
        let terms = Array2::<i32>::ones((0, 3));
        let mut out = ndarray::Array1::<i32>::zeros(0);
        let axes = [Some(0), None].into_iter();
        let inputs = (Source::of(&terms),);
        let mut sums = Sums::new::<Ix2, _>(inputs, axes, Target::Put(&mut out)).unwrap();
        assert_eq!(sums.units(ONE_BY_ONE), 0);
        sums.for_each_unit(ONE_BY_ONE, Cost::Bytes(0), vec![()], &|(), units| {
            assert_eq!(units.count(), 0);
        });
    }

    #[test]
    fn what_a_layout_does_not_offer_is_refused() {
        let terms = Array2::<i32>::ones((4, 6));
        let mut out = Array2::zeros((1, 6));
        let axes = [None, Some(1)].into_iter();
        let inputs = (Source::of(&terms),);
        let mut sums = Sums::new::<Ix2, _>(inputs, axes, Target::Put(&mut out)).unwrap();
        let cut = Cut {
            axis: 0,
            turns: 5,
            term_chunks: 2,
            term_runs: 1,
            units_at_once: 1,
        };
        sums.for_each_unit(cut, Cost::Bytes(0), vec![()], &|(), units| {
            for unit in units {
                let columns = unit.columns();
                let width = columns.width();
                assert_eq!(columns.rows(1..4, &mut [0; 3]).row(2), &[1; 5][..width]);
                assert!(panics(|| columns.rows(1..4, &mut [0; 2]).len()));
                assert!(panics(|| columns.rows(1..5, &mut [0; 9]).len()));
                assert!(panics(|| columns.table(0..4)));
                assert!(panics(|| columns.runs(0..4)));
                assert!(panics(|| Runs::cut(&[1; 5], 2, false).at(2)));
                assert!(panics(|| columns.run(0, 0..4, 4, &mut [0; 4]).len()));
                let put = |place: &mut i32, (term,): (&i32,)| *place = *term;
                assert!(panics(|| unit.fill(0..4, Order::Rows, &mut [0; 3], &put)));
                assert!(panics(|| unit.fill(0..5, Order::Runs, &mut [0; 25], &put)));
                // The columns belong to another unit too.
                assert!(panics(|| unit.write(&[1; 5][..width], |_, new| new)));
            }
        });
    }
}
