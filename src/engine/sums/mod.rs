//! The driver of reductions: it walks over the arrays, and knows neither elements nor closures.
//!
//! A result belongs to one position of the axes that are kept, a column. Its terms are the
//! positions of the axes that are summed. The work is cut into units: neighbouring columns, and a
//! node of the tree of their terms. In a unit, leaf after leaf is folded, in one of three ways:
//!
//! | access | when | how |
//! |---|---|---|
//! | rows | columns are nearer in memory than terms | rows of terms are read where they lie |
//! | runs | terms are nearer than columns | leaves of one axis are read in place, others gathered |
//! | tables | rows or runs would be short | terms are gathered into rows first |
//!
//! What is read where it lies must be contiguous, or one element again and again. Other operands
//! are gathered. Results do not depend on the access, nor on how the work is cut.
//!
//! Columns are walked in the order of the inputs' memory. Their results are written in the order of
//! the target's, as far as they are there together.
//!
//! If the terms are several slabs, the sums of slabs are columns of a reduction of their own: so
//! memory is walked in its order, whatever the order of the slabs. If any order of the terms gives
//! the same bits, as of integers, memory decides what a slab is.
//!
//! | file | subject |
//! |---|---|
//! | `operands` | what is read and written, and how the operands lie in memory |
//! | `plan` | the access, how the work is cut, and the sizes of scratch memory |
//! | `unit` | the work of a unit: leaves are read, gathered and folded |
//! | `few` | up to 512 KiB on one thread, without a plan |
//! | `scratch` | memory of threads |

mod few;
mod operands;
mod plan;
mod scratch;
mod unit;

use super::kernel::{Facts, Finish, Kernel, LANES, LEAF};
use super::nest::{Tile, positions};
use super::pack::Operand;
use super::threads::{Cost, PARALLEL_FROM, share};
use super::tuning::{BLOCK, LONG_ROW, SECOND_LEVEL_CACHE};
use crate::error::{Result, reserved};
use crate::shape::replicates;
use few::reduce_few;
use operands::{Axis, Nest, STRIDES, bytes_of, large, strides};
pub(crate) use operands::{SUMMED, Terms, slab_terms};
use plan::{Access, Plan, nearest};
use scratch::Memory;
use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use unit::Unit;

/// Of exact reductions, which may take terms in any order: if a column has at least this many terms
/// that are further apart than columns are, these are combined as rows. A row has the columns and
/// their nearer terms, which are joined at the end, while they are in a second-level cache. The
/// maximum of `f32 [1000, 5, 100]` over axes 0 and 2 takes 55 us, and 113 us if each column has
/// runs of 100 terms. Of `f32 [28, 64, 56]`, it takes 26 and 19 us. (All on one thread of an Intel
/// Xeon.)
const MANY_ROWS: usize = 4 * LANES;

/// With this many nearer terms there are no such rows: the maximum of `f32 [64, 64, 784]` takes 710
/// us by rows, and 581 us by runs of 784 terms.
const LONG_RUN: usize = 2 * LEAF;

/// With fewer nearer terms than this, and no such rows, the order of the terms is kept: the maximum
/// of `f64 [7, 16, 4, 49]` in Fortran order over axes 0 and 3 takes 12 us so, and 17 us in the
/// order of memory.
const SHORT_RUN: usize = 2 * LANES;

const BITS: usize = usize::BITS as usize;

/// Reduces all columns, and writes each place of the target once: a result, or an accumulator if
/// nothing is made of them.
///
/// `becomes` names the axis of the target that each axis of the inputs becomes, or [`SUMMED`].
/// Finished results are of all terms.
///
/// # Errors
///
/// `AllocationFailed`; nothing has been written then.
///
/// # Panics
///
/// Unless the inputs replicate to the kernel's shape, and each axis of the target either is named
/// once and has the size of the axis that it is named for, or has size 1; and if there are no
/// terms.
///
/// # Safety
///
/// The places of the target are writable, are as many elements as its shape says, and have the
/// type of results that it is finished to, or else the kernel's type of accumulators. No two of
/// them share memory, and nothing else reads or writes them meanwhile. If results are added, they
/// are initialised.
pub(crate) unsafe fn reduce(
    kernel: &dyn Kernel,
    becomes: &[usize],
    target: &Operand<'_>,
    finish: Option<&dyn Finish>,
    mut terms: Terms,
) -> Result<()> {
    let facts = kernel.facts();
    let Facts { inputs, shape, .. } = facts;
    assert!(becomes.len() == shape.len() && !terms.range.is_empty());
    let fits = inputs.iter().all(|input| replicates(input.shape, shape));
    assert!(fits, "an input does not replicate to the terms");
    let columns = columns_of(becomes, shape, target.shape)?;
    if columns == 0 {
        return Ok(());
    }
    let count = terms.range.len();
    let in_one = terms.slab >= count;
    // Slabs of 2^k leaves are nodes of the tree of all leaves. For an exact result no tree matters.
    let is_node = terms.slab % LEAF == 0 && (terms.slab / LEAF).is_power_of_two();
    let as_one = is_node || facts.is_exact;
    // With so few terms, the calling thread does all, however slow the closure is.
    let few = if facts.is_quick { PARALLEL_FROM } else { BLOCK };
    let size = facts.element;
    let bytes = (shape.iter()).fold(size, |len, &size| len.saturating_mul(size));
    if let Some(finish) = finish.filter(|_| (1..=few).contains(&bytes)) {
        let slab = if in_one || as_one { count } else { terms.slab };
        // SAFETY: the contract of this function.
        let done = unsafe { reduce_few(kernel, &facts, becomes, target, finish, count, slab) };
        if let Some(written) = done {
            assert_eq!(written, columns, "results are missing");
            return Ok(());
        }
    }
    let (mut kept, mut summed) = (Nest::empty(), Nest::empty());
    let mut axes = Axes {
        facts,
        becomes,
        together: large(inputs),
        slab: Slab::From(0),
    };
    axes.fill(&mut kept, Kind::Kept, Place::Of(target))?;
    axes.fill(&mut summed, Kind::OfSlab, Place::None)?;
    assert!(terms.range.end <= summed.len());
    if in_one || as_one && summed.axes().len() == 1 {
        terms.slab = count;
    }
    // If any order of the terms will do, memory is walked in its order.
    let may_move = facts.may_move && terms.may_move;
    let mut in_rows = false;
    if may_move {
        axes.slab = Slab::Beyond(nearest(kept.axes()));
        let far = axes.terms_of_slab();
        let near = summed.len() / far;
        let room = SECOND_LEVEL_CACHE / facts.size.max(1) / columns;
        in_rows = (2..LONG_RUN).contains(&near)
            && far >= MANY_ROWS
            && near <= room
            && count == summed.len();
        let sorts = match near {
            1 => terms.slab == count,
            2..SHORT_RUN => far == 1 || count < summed.len(),
            _ => far == 1 || summed.crossing(0).is_some(),
        };
        if in_rows {
            terms.slab = far;
        } else if sorts {
            summed.sort();
            kept.begin_with(&mut summed);
            terms.slab = count;
        }
    }
    let at_once = terms.slab == count || facts.is_numbered || count < summed.len();
    if at_once {
        kept.sort();
    }
    let results = Results {
        kept: &kept,
        first: target.first,
        finish,
    };
    if at_once {
        // SAFETY: the contract of this function.
        return unsafe { reduce_columns(kernel, facts, &summed, terms, &results) };
    }
    // The sums of slabs: of each slab, those of all columns.
    let slabs = count / terms.slab;
    let sums = (facts.size).saturating_mul(slabs.saturating_mul(columns));
    let sums = Memory::new(sums, facts.align)?;
    if !in_rows {
        let (mut first, mut slab) = (shape.len(), 1);
        while slab < terms.slab {
            first -= 1;
            if becomes[first] == SUMMED {
                slab *= shape[first];
            }
        }
        axes.slab = Slab::From(first);
    }
    let slab = axes.terms_of_slab();
    assert_eq!(slab, terms.slab, "a slab is whole axes");
    let (mut kept_and_slabs, mut of_slab) = (Nest::empty(), Nest::empty());
    // The sums of all columns lie side by side.
    let bytes = facts.size * columns;
    axes.fill(&mut kept_and_slabs, Kind::Kept, Place::Within(bytes))?;
    let place = Place::Within(bytes * slabs);
    axes.fill(&mut kept_and_slabs, Kind::Summed, place)?;
    kept_and_slabs.sort();
    axes.fill(&mut of_slab, Kind::OfSlab, Place::None)?;
    if may_move {
        of_slab.sort();
        kept_and_slabs.begin_with(&mut of_slab);
    }
    let of_slabs = Results {
        kept: &kept_and_slabs,
        first: sums.at(0),
        finish: None,
    };
    let terms = Terms {
        range: 0..slab,
        ..terms
    };
    // SAFETY: each column of each slab has a place of its own, for an accumulator.
    unsafe { reduce_columns(kernel, facts, &of_slab, terms, &of_slabs)? };
    // SAFETY: all sums of slabs have been written, and nothing of the target.
    unsafe { results.join(kernel, sums.at(0), slabs, slab) };
    Ok(())
}

/// How many columns there are: as many as places of the target.
///
/// # Errors
///
/// `AllocationFailed`.
///
/// # Panics
///
/// As [`reduce`], where the axes of the target are not those that are kept.
fn columns_of(becomes: &[usize], shape: &[usize], target: &[usize]) -> Result<usize> {
    // A bit for each axis of the target.
    let (mut few, mut many);
    let words = target.len().div_ceil(BITS);
    let named = if words <= 1 {
        few = [0_usize];
        &mut few[..]
    } else {
        many = reserved(words)?;
        many.resize(words, 0);
        &mut many[..]
    };
    let mut columns = 1;
    for (&to, &size) in becomes.iter().zip(shape) {
        if to == SUMMED {
            continue;
        }
        assert_eq!(target[to], size, "sizes differ");
        let (word, bit) = (&mut named[to / BITS], 1 << (to % BITS));
        assert!(*word & bit == 0, "an axis is named twice");
        *word |= bit;
        columns *= size;
    }
    // Of the axes that are not named, all have size 1 then.
    let places = target.iter().product();
    assert_eq!(columns, places, "an axis is not named");
    Ok(columns)
}

/// The axes of a reduction.
struct Axes<'a> {
    facts: Facts<'a>,
    becomes: &'a [usize],
    /// The inputs that decide the order of columns: see [`strides`].
    together: usize,
    slab: Slab,
}

/// Which of the axes that are summed make a slab.
enum Slab {
    /// Those from this number on.
    From(usize),
    /// Those whose positions are further apart in memory.
    Beyond(usize),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Kept,
    /// Summed, and not of a slab.
    Summed,
    OfSlab,
}

/// Where the results of an axis go.
enum Place<'p> {
    None,
    /// To this array.
    Of(&'p Operand<'p>),
    /// Side by side, within so many bytes.
    Within(usize),
}

impl Axes<'_> {
    /// [`strides`] of an axis.
    fn strides(&self, axis: usize, together: usize, place: isize) -> [isize; STRIDES] {
        let rank = self.becomes.len();
        strides(self.facts.inputs, together, axis, rank, place)
    }

    fn kind(&self, axis: usize) -> Kind {
        let is_of_slab = || match self.slab {
            Slab::From(first) => axis >= first,
            Slab::Beyond(distance) => self.strides(axis, 0, 0)[0].unsigned_abs() > distance,
        };
        match self.becomes[axis] {
            SUMMED if is_of_slab() => Kind::OfSlab,
            SUMMED => Kind::Summed,
            _ => Kind::Kept,
        }
    }

    fn terms_of_slab(&self) -> usize {
        let axes = (0..self.becomes.len()).filter(|&axis| self.kind(axis) == Kind::OfSlab);
        axes.map(|axis| self.facts.shape[axis]).product()
    }

    /// [`Nest::fill`] with the axes of a kind.
    fn fill(&self, nest: &mut Nest, kind: Kind, mut place: Place<'_>) -> Result<()> {
        let axes = (0..self.becomes.len()).filter(|&axis| self.kind(axis) == kind);
        // Terms are in an order of their own.
        let together = match kind {
            Kind::OfSlab => 0,
            _ => self.together,
        };
        nest.fill(axes.map(|axis| {
            let (to, size) = (self.becomes[axis], self.facts.shape[axis]);
            let place = match &mut place {
                Place::None => 0,
                Place::Of(target) => target.strides[to].wrapping_mul(target.size as isize),
                Place::Within(bytes) => {
                    *bytes /= size;
                    *bytes as isize
                }
            };
            let strides = self.strides(axis, together, place);
            Axis { size, strides }
        }))
    }
}

/// Reduces these terms of all columns, and writes each result once.
///
/// # Errors
///
/// `AllocationFailed`; nothing has been written then.
///
/// # Safety
///
/// As for [`reduce`]. No two columns have the same place among the results.
unsafe fn reduce_columns(
    kernel: &dyn Kernel,
    facts: Facts<'_>,
    summed: &Nest,
    terms: Terms,
    results: &Results<'_>,
) -> Result<()> {
    // Columns that lie side by side are read together, wherever their results go.
    let kept = &results.kept.without(STRIDES - 1)?;
    let bytes = bytes_of(facts.inputs, kept, summed, terms.range.len());
    let cost = match facts.is_quick {
        true => Cost::Bytes(bytes),
        false => Cost::Closure { bytes },
    };
    let plan = Plan::new(kernel, facts, kept, summed, terms, cost);
    let driver = Driver {
        plan,
        results,
        reduced: AtomicUsize::new(0),
    };
    driver.run(cost)
}

/// Where the results of columns go.
struct Results<'k> {
    kept: &'k Nest,
    first: *mut u8,
    /// What makes results of accumulators; `None` if these are the results.
    finish: Option<&'k dyn Finish>,
}

impl Results<'_> {
    /// Joins `count` sums of each column, as [`Kernel::join`], and writes the results.
    ///
    /// # Safety
    ///
    /// There are as many accumulators at `sums`, one of each column at least. Nothing else writes
    /// the results.
    unsafe fn join(&self, kernel: &dyn Kernel, sums: *mut u8, count: usize, slab: usize) {
        let columns = self.kept.len();
        // SAFETY: the contract of this function.
        let sums = unsafe { kernel.join(sums, columns, count, slab) };
        // SAFETY: accumulators of all columns; the contract of this function.
        unsafe { self.write(kernel.facts().size, sums, 0..columns) };
    }

    /// Writes the results of these columns.
    ///
    /// # Safety
    ///
    /// `sums` has an accumulator of `acc` bytes of each of them. Nothing else writes their results.
    unsafe fn write(&self, acc: usize, sums: *const u8, columns: Range<usize>) {
        let (first, axes) = (columns.start, self.kept.axes());
        // Many neighbours in the target are written together.
        let rows = self.kept.crossing(STRIDES - 1).filter(|&at| {
            let all = columns.len().min(positions(&axes[at..]));
            all / LONG_ROW >= positions(&axes[at + 1..])
        });
        (self.kept).for_each_block(columns, rows, &mut |block, at, width| {
            let sums = sums.wrapping_add((at - first) * acc);
            // SAFETY: accumulators of the columns of a block: the contract of this function.
            unsafe { self.write_block(acc, sums, block, width) };
        });
    }

    /// Writes the results of a block of columns, in the order of the target.
    ///
    /// # Safety
    ///
    /// As for [`write`](Self::write). The accumulators of a row are `width` of them behind those of
    /// the row before it.
    #[inline(never)]
    unsafe fn write_block(&self, acc: usize, sums: *const u8, block: &Tile<STRIDES>, width: usize) {
        let place = |axis: &Axis| axis.strides[STRIDES - 1];
        let (mut outer, mut inner) = ((block.rows, width), (block.columns, 1));
        let [down, along] = [&block.rows, &block.columns].map(|axis| place(axis).unsigned_abs());
        if block.rows.size >= LONG_ROW / 2 && down < along {
            (outer, inner) = (inner, outer);
        }
        let (count, stride, step) = (inner.0.size, place(&inner.0), inner.1);
        for turn in 0..outer.0.size {
            let offsets = outer.0.moved(block.offsets, turn);
            let to = self.first.wrapping_byte_offset(offsets[STRIDES - 1]);
            let sums = sums.wrapping_add(turn * outer.1 * acc);
            match self.finish {
                // SAFETY: accumulators, and the places of their columns.
                Some(finish) => unsafe { finish.finish(sums, step, count, to, stride) },
                None => {
                    for i in 0..count {
                        let to = to.wrapping_byte_offset(stride.wrapping_mul(i as isize));
                        let sum = sums.wrapping_add(i * step * acc);
                        // SAFETY: an accumulator, and the place of its column.
                        unsafe { ptr::copy_nonoverlapping(sum, to, acc) };
                    }
                }
            }
        }
    }
}

struct Driver<'k> {
    plan: Plan<'k>,
    results: &'k Results<'k>,
    /// Columns of the units that are done.
    reduced: AtomicUsize,
}

// SAFETY: threads write to the target in distinct units only, whose places share no memory: the
// contract of `reduce`. Results and accumulators are `Send`, kernels are `Sync`, the plan is data.
unsafe impl Sync for Driver<'_> {}

impl Driver<'_> {
    /// Reduces all units.
    fn run(&self, cost: Cost) -> Result<()> {
        let plan = &self.plan;
        let (acc, align) = (plan.facts.size, plan.facts.align);
        let count = plan.kept.len();
        let bytes = (plan.sections.iter()).fold(0, |all: usize, &bytes| all.saturating_add(bytes));
        // A row of accumulators for each chunk, if there are several.
        let rows = usize::from(plan.chunks > 1) * plan.chunks;
        let parts = Memory::new(acc.saturating_mul(rows * count), align)?;
        let units = count.div_ceil(plan.columns) * plan.chunks;
        let scratch = Memory::new(bytes.saturating_mul(plan.threads), align)?;
        let (at_once, threads) = (plan.at_once, AtomicUsize::new(0));
        share(units.div_ceil(at_once), cost, |ranges| {
            // The pool may have got more threads since: they leave the units to the others.
            let number = threads.fetch_add(1, Ordering::Relaxed);
            if number >= self.plan.threads {
                return;
            }
            let own = scratch.at(number * bytes);
            for range in ranges {
                let end = units.min(range.end.saturating_mul(at_once));
                for unit in range.start * at_once..end {
                    // SAFETY: each unit is in one range. This thread alone has the memory, of the
                    // bytes of all sections: `share` calls this once for each thread.
                    unsafe { self.unit(unit, own, &parts) };
                }
            }
        });
        // Relaxed: the threads have ended.
        let reduced = self.reduced.load(Ordering::Relaxed);
        assert_eq!(reduced, count * plan.chunks, "units were left out");
        if plan.chunks > 1 {
            // SAFETY: each unit has written its part, and none has written results.
            unsafe { (self.results).join(plan.kernel, parts.at(0), plan.chunks, 0) };
        }
        Ok(())
    }

    /// Reduces one unit, and writes its results, or its part of them.
    ///
    /// # Safety
    ///
    /// Each unit is reduced once. `scratch` has the bytes of the plan's sections, which nothing
    /// else uses meanwhile, and `parts` has an accumulator of each column for each chunk, if there
    /// are several.
    unsafe fn unit(&self, unit: usize, scratch: *mut u8, parts: &Memory) {
        let plan = &self.plan;
        let (columns, chunk) = plan.unit(unit);
        let first = plan.terms.range.start + chunk * plan.chunk;
        let terms = first..plan.terms.range.end.min(first + plan.chunk);
        // SAFETY: terms of a chunk, and the scratch memory: the contract.
        let unit = unsafe { Unit::new(plan, terms, scratch) };
        let acc = plan.facts.size;
        let first_column = columns.start;
        let mut done = first_column;
        let mut put = |sums: *const u8, count: usize| {
            if plan.chunks == 1 {
                // SAFETY: accumulators of these columns, which belong to this unit.
                unsafe { self.results.write(acc, sums, done..done + count) };
            } else {
                let at = (chunk * plan.kept.len() + done) * acc;
                // SAFETY: the accumulators of these columns, and their places among the parts,
                // which belong to this unit.
                unsafe { ptr::copy_nonoverlapping(sums, parts.at(at), count * acc) };
            }
            done += count;
        };
        match plan.access {
            // Units that may end in another row than they begin in.
            Access::Rows if plan.kept.inner().size % plan.columns > 0 => {
                let mut from = columns.start;
                plan.kept.for_each_row(columns, &mut |_, count| {
                    put(unit.rows(from..from + count), count);
                    from += count;
                });
            }
            Access::Rows | Access::Tables => put(unit.rows(columns.clone()), columns.len()),
            Access::Runs => put(unit.runs(columns.clone()), columns.len()),
        }
        // Relaxed: who reads it waits for this thread first.
        self.reduced
            .fetch_add(done - first_column, Ordering::Relaxed);
    }
}
