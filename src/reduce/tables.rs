//! Reductions of terms that are computed into a table in cache first, a piece of a block at a time:
//! terms that are a function of several arrays, terms that are accumulated in another type, and
//! terms that lie badly for the kernels that read memory.
//!
//! A value may be large. So steps that hold values are functions with `inline(never)`: each frees
//! its stack before the next step begins.

use super::nodes::{self, is_large, out_of_line};
use super::reduction::Reduction;
use super::runs::sum_runs;
use super::terms::Terms;
use super::tree::{self, BLOCK_TERMS, GROUP, LANES, Monoid, Reading};
use crate::engine::inputs::Inputs;
use crate::engine::machine::{Vectorize, widest};
use crate::engine::memory::filled;
use crate::engine::nest::LoopAxis;
use crate::engine::sums::{Cut, Order, Sums, UNIT_AXES, Unit, Units, distance};
use crate::engine::terms::Runs;
use crate::engine::threads::{Cost, PARALLEL_FROM, max_threads};
use crate::engine::tuning::{
    CACHE_LINE, CROSSED_CHUNK, CROSSED_LINES, CROSSED_PAGES, FAR_TABLES, FEW_SUM_UNITS,
    MANY_COLUMNS, MANY_SUM_CHUNKS, MAP_CHUNK, NARROW_SUM_ROW, PAGE, SMALL_SUM, SMALL_SUM_ROW,
    SUM_CHUNK, SUM_TABLE,
};
use crate::error::{BroadcastError, empty_reduction, reserved};
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// The operation of a reduction.
pub(super) struct By<'r, R, T>(&'r R, PhantomData<fn(T)>);

impl<'r, R, T> By<'r, R, T> {
    pub(super) fn of(reduction: &'r R) -> Self {
        By(reduction, PhantomData)
    }
}

impl<R, T> Clone for By<'_, R, T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<R, T> Copy for By<'_, R, T> {}

impl<T, R: Reduction<T>> Monoid<R::Acc> for By<'_, R, T> {
    #[inline(always)]
    fn identity(self) -> R::Acc {
        self.0.identity()
    }

    #[inline(always)]
    fn combine(self, a: R::Acc, b: R::Acc) -> R::Acc {
        self.0.combine(a, b)
    }

    #[inline(always)]
    fn combine_ordered(self, a: R::Acc, b: R::Acc) -> R::Acc {
        self.0.combine_ordered(a, b)
    }

    #[inline(always)]
    fn is_unordered(self, value: R::Acc) -> bool {
        self.0.is_unordered(value)
    }
}

/// How the work is cut, and how a table lies. The bits of results do not depend on it.
struct Schedule {
    cut: Cut,
    order: Order,
    /// Columns of a unit, at most.
    width: usize,
    /// The first of the terms that are reduced, and how many there are.
    first: usize,
    terms: usize,
    /// Terms in a table: whole blocks of one column, or a block, or whole groups of one.
    piece: usize,
    /// Blocks in a range of terms, a power of two.
    chunk_blocks: usize,
    threads: usize,
}

impl Schedule {
    /// For accumulators of type `A`.
    fn new<A, I, B, const N: usize>(
        sums: &Sums<'_, I, B, N>,
        range: &Range<usize>,
        cost: Cost,
    ) -> Self
    where
        I: Inputs<N>,
        B: Copy + Send + Sync,
    {
        let size = size_of::<A>().max(1);
        let (kept, summed) = (sums.kept(), sums.summed());
        let (terms, blocks) = (range.len(), range.len().div_ceil(BLOCK_TERMS));
        let room = (SUM_TABLE / size).max(1);
        let nearest = |axes: &[LoopAxis<N>]| axes.iter().map(distance).min().unwrap_or(usize::MAX);
        let near = kept.len() == 1 || nearest(summed.axes()) < nearest(kept.axes());
        let order = match near || is_large::<A>() {
            true => Order::Runs,
            false => Order::Rows,
        };
        let (Cost::Bytes(bytes) | Cost::Closure { bytes }) = cost;
        let row = match bytes <= SMALL_SUM {
            true => SMALL_SUM_ROW,
            false => NARROW_SUM_ROW,
        };
        let wanted = match order {
            Order::Runs => room / terms.min(BLOCK_TERMS),
            Order::Rows => (room / terms.min(GROUP)).max(row / size),
        };
        let (axis, turns, width) = columns_of_unit(sums, order, wanted.max(1));
        let units = kept.len().div_ceil(width);
        let crossed = match order == Order::Runs && width == 1 && units < FEW_SUM_UNITS {
            true => Crossed::of(summed.axes(), size, terms),
            false => None,
        };
        let piece = match order {
            // Blocks of one column follow each other in the table: more of them where neighbours in
            // memory are far apart among the terms.
            Order::Runs if width == 1 => {
                let far = nearest(summed.axes()) < distance(&summed.inner());
                let room = match &crossed {
                    Some(crossed) => crossed.chunk_blocks * BLOCK_TERMS,
                    None => room * if far { FAR_TABLES } else { 1 },
                };
                (room / BLOCK_TERMS).max(1) * BLOCK_TERMS
            }
            Order::Runs => BLOCK_TERMS,
            Order::Rows => (room / width / GROUP * GROUP).clamp(GROUP, BLOCK_TERMS),
        };

        let least = match cost {
            Cost::Bytes(_) => *SUM_CHUNK.start(),
            Cost::Closure { .. } => MAP_CHUNK,
        };
        let threads = match cost {
            Cost::Bytes(bytes) if bytes < PARALLEL_FROM => 1,
            _ if bytes <= least => 1,
            _ => max_threads(),
        };
        let chunk_blocks = match &crossed {
            Some(crossed) => crossed.chunk_blocks,
            None => blocks_of_chunk(blocks, units, width * size, threads),
        };
        let at_once = (bytes / MANY_SUM_CHUNKS).clamp(least, *SUM_CHUNK.end());
        let unit_bytes = bytes / units / blocks.div_ceil(chunk_blocks);
        let cut = Cut {
            axis,
            turns,
            term_chunks: blocks.div_ceil(chunk_blocks),
            term_runs: crossed.map_or(1, |crossed| crossed.runs),
            units_at_once: match threads {
                1 => usize::MAX,
                _ => (at_once / unit_bytes.max(1)).max(1),
            },
        };
        Schedule {
            threads: threads.min(sums.units(cut).div_ceil(cut.units_at_once)),
            cut,
            order,
            width,
            first: range.start,
            terms,
            piece: piece.min(terms),
            chunk_blocks,
        }
    }

    /// How many accumulators a thread needs: the sums of a unit, its lanes, blocks that wait for
    /// their neighbours, and a table.
    fn sections(&self) -> [usize; 4] {
        let blocks = self.terms.div_ceil(BLOCK_TERMS);
        let waiting = match blocks {
            1 => 0,
            _ => self.chunk_blocks.min(blocks).ilog2() as usize + 1,
        };
        let lanes = match self.order {
            Order::Runs => 0,
            Order::Rows => self.terms.min(LANES),
        };
        [1, lanes, waiting, self.piece].map(|rows| rows * self.width)
    }
}

/// How the terms of a sum are cut into runs, if terms that are neighbours in memory are far apart
/// in the order of the sum. The terms at one place of all runs share cache lines or pages. So a
/// chunk of the first run is read, then the same chunk of each other run, and then the next chunks.
struct Crossed {
    runs: usize,
    chunk_blocks: usize,
}

impl Crossed {
    /// `None` if the terms are read in order: they are in this order in memory, the lines and pages
    /// of a run are still in the cache when the next one is read, a run has less than two chunks,
    /// or only a part of the terms is summed.
    fn of<const N: usize>(summed: &[LoopAxis<N>], size: usize, terms: usize) -> Option<Self> {
        let bytes = |axis: &LoopAxis<N>| distance(axis).saturating_mul(size);
        let elements = |axes: &[LoopAxis<N>]| axes.iter().map(|axis| axis.size).product::<usize>();
        let nearest = (0..summed.len())
            .rev()
            .min_by_key(|&axis| distance(&summed[axis]))?;
        let inside = &summed[nearest + 1..];
        let (apart, step, run) = (
            bytes(&summed[nearest]),
            bytes(inside.last()?),
            elements(inside),
        );
        let lines = run.saturating_mul(step.min(CACHE_LINE));
        let far = apart < CACHE_LINE && lines >= CROSSED_LINES
            || apart < PAGE && run.saturating_mul(step) >= CROSSED_PAGES;
        let chunk_blocks = 1 << (CROSSED_CHUNK / step / BLOCK_TERMS).max(1).ilog2();
        let long = run >= 2 * chunk_blocks * BLOCK_TERMS;
        (far && long && terms == elements(summed)).then(|| Crossed {
            runs: terms / run,
            chunk_blocks,
        })
    }
}

/// How many blocks of terms are in a chunk: a power of two, so that the sum of a chunk is a node of
/// the tree. With few `units` of work of `row` bytes for each term, there are several chunks.
pub(super) fn blocks_of_chunk(blocks: usize, units: usize, row: usize, threads: usize) -> usize {
    let mut of_chunk = blocks;
    if threads > 1 && units < FEW_SUM_UNITS {
        // A chunk may be half as long as one that a thread takes alone, not shorter.
        let least = (SUM_CHUNK.start() / 2 / BLOCK_TERMS / row).max(1);
        of_chunk = blocks.div_ceil(MANY_SUM_CHUNKS.div_ceil(units)).max(least);
    }
    of_chunk.next_power_of_two()
}

/// The loop over sums that is cut, its turns in a unit, and the columns of a unit: some `wanted`
/// columns that are near to each other.
fn columns_of_unit<I, B, const N: usize>(
    sums: &Sums<'_, I, B, N>,
    order: Order,
    wanted: usize,
) -> (usize, usize, usize)
where
    I: Inputs<N>,
    B: Copy + Send + Sync,
{
    let axes = sums.kept().axes();
    let Some(inner) = axes.last() else {
        return (0, 1, 1);
    };
    // Terms that continue the columns are one loop with them.
    let term = sums.summed().inner();
    let continues = |operand: usize| {
        term.strides[operand] == inner.strides[operand].wrapping_mul(inner.size as isize)
    };
    let alone = order == Order::Rows && (0..N - 1).all(continues);
    let (mut axis, mut inside) = (axes.len() - 1, 1);
    let fits = |inside: usize| 2 * inside <= wanted;
    while axis > 0 && !alone && fits(inside * axes[axis].size) && axes.len() - axis < UNIT_AXES {
        inside *= axes[axis].size;
        axis -= 1;
    }
    let turns = (wanted / inside).clamp(1, axes[axis].size);
    (axis, turns, turns * inside)
}

/// What a thread needs beside the arrays: accumulators, and results that are to be written.
type Scratch<A, B> = (Vec<A>, Vec<B>);

/// Computes and writes all results of `reduction` over the terms that `f` makes of the elements of
/// the inputs. `add` adds a result to an element of a target of added sums.
///
/// # Errors
///
/// `EmptyReduction`, `AllocationFailed`; nothing has been written then.
pub(super) fn reduce_map<T, I, R, F, const N: usize>(
    sums: &mut Sums<'_, I, R::Out, N>,
    terms: &Terms,
    reduction: &R,
    f: &F,
    add: impl Fn(R::Out, R::Out) -> R::Out + Sync,
) -> Result<(), BroadcastError>
where
    I: Inputs<N>,
    R: Reduction<T>,
    F: Fn(I::Items) -> T + Sync,
{
    let cost = Cost::Closure {
        bytes: sums.bytes_of(terms.range.len()),
    };
    let put = |place: &mut R::Acc, refs: I::Items| *place = reduction.lift(f(refs));
    let fill = |unit: &Unit<'_, I, R::Out, N>, range, order, table: &mut [_]| {
        unit.fill(range, order, table, &put);
    };
    reduce(sums, terms, reduction, add, cost, fill)
}

/// [`reduce_map`] with accumulators of terms that `fill` puts into tables.
///
/// # Errors
///
/// `EmptyReduction`, `AllocationFailed`; nothing has been written then.
pub(super) fn reduce<T, I, R, F, const N: usize>(
    sums: &mut Sums<'_, I, R::Out, N>,
    terms: &Terms,
    reduction: &R,
    add: impl Fn(R::Out, R::Out) -> R::Out + Sync,
    cost: Cost,
    fill: F,
) -> Result<(), BroadcastError>
where
    I: Inputs<N>,
    R: Reduction<T>,
    F: Fn(&Unit<'_, I, R::Out, N>, Range<usize>, Order, &mut [R::Acc]) + Sync,
{
    let count = sums.kept().len();
    if count == 0 {
        return Ok(());
    }
    if terms.range.is_empty() {
        return reduce_none(sums, reduction);
    }
    let schedule = Schedule::new::<R::Acc, _, _, N>(sums, &terms.range, cost);
    let cut = schedule.cut;
    let identity = || reduction.identity();
    let mut scratch = reserved(schedule.threads)?;
    for _ in 0..schedule.threads {
        let values = schedule.sections().iter().sum();
        scratch.push((filled(values, identity)?, reserved(schedule.width)?));
    }
    // A row of accumulators for each range of terms, if there are several.
    let ranges = usize::from(cut.term_chunks > 1) * cut.term_chunks;
    let partial = Mutex::new(filled(ranges * count, identity)?);
    sums.for_each_unit(cut, cost, scratch, &|scratch, units| {
        let units = ReduceUnits {
            schedule: &schedule,
            units,
            scratch,
            reduction,
            fill: &fill,
            add: &add,
            number: terms.number,
            count,
            partial: &partial,
            terms: PhantomData,
        };
        units.run();
    });
    if cut.term_chunks > 1 {
        let mut partial = partial.into_inner().unwrap_or_else(PoisonError::into_inner);
        out_of_line::fold_neighbours(By::of(reduction), &mut partial, count);
        write_all(sums, add, |sum| {
            reduction.finish(partial[sum], terms.range.len())
        })?;
    }
    Ok(())
}

/// Writes the result of no terms.
///
/// # Errors
///
/// `EmptyReduction`, `AllocationFailed`; nothing has been written then.
#[inline(never)]
pub(super) fn reduce_none<T, I, R, const N: usize>(
    sums: &mut Sums<'_, I, R::Out, N>,
    reduction: &R,
) -> Result<(), BroadcastError>
where
    I: Inputs<N>,
    R: Reduction<T>,
{
    let value = reduction.of_none();
    let value = value.ok_or_else(|| empty_reduction(sums.shape(), R::NAME))?;
    match sums.adds() {
        true => Ok(()),
        false => write_all(sums, |_, new| new, |_| value),
    }
}

/// Reduces units of work.
struct ReduceUnits<'s, T, I, R: Reduction<T>, F, G, const N: usize> {
    schedule: &'s Schedule,
    units: Units<'s, I, R::Out, N>,
    scratch: &'s mut Scratch<R::Acc, R::Out>,
    reduction: &'s R,
    fill: &'s F,
    add: &'s G,
    /// Of the term at position 0.
    number: usize,
    /// Of all results.
    count: usize,
    partial: &'s Mutex<Vec<R::Acc>>,
    terms: PhantomData<fn(T)>,
}

impl<T, I, R, F, G, const N: usize> ReduceUnits<'_, T, I, R, F, G, N>
where
    I: Inputs<N>,
    R: Reduction<T>,
    F: Fn(&Unit<'_, I, R::Out, N>, Range<usize>, Order, &mut [R::Acc]),
    G: Fn(R::Out, R::Out) -> R::Out,
{
    fn run(self) {
        let (schedule, reduction) = (self.schedule, self.reduction);
        let by = By::of(reduction);
        let all_terms = schedule.terms;
        let (values, finished) = self.scratch;
        let [columns, lanes, stack, _] = schedule.sections();
        let (sum, rest) = values.split_at_mut(columns);
        let (lanes, rest) = rest.split_at_mut(lanes);
        let (stack, table) = rest.split_at_mut(stack);
        for unit in self.units {
            let width = unit.width();
            let sum = &mut sum[..width];
            let chunk = schedule.chunk_blocks.saturating_mul(BLOCK_TERMS);
            let begin = unit.term_chunk * chunk;
            let end = all_terms.min(begin.saturating_add(chunk));
            let count = (end - begin).div_ceil(BLOCK_TERMS);
            let mut from = begin;
            while from < end {
                // A table ends where a block does.
                let left_of_block = BLOCK_TERMS - from % BLOCK_TERMS;
                let most = match schedule.piece < BLOCK_TERMS {
                    true => schedule.piece.min(left_of_block),
                    false => schedule.piece,
                };
                let to = end.min(from + most);
                let table = &mut table[..(to - from) * width];
                let range = schedule.first + from..schedule.first + to;
                (self.fill)(&unit, range.clone(), schedule.order, table);
                number(reduction, table, range, self.number, schedule.order);
                let tables = table.chunks_mut(BLOCK_TERMS * width);
                for (table, from) in tables.zip((from..to).step_by(BLOCK_TERMS)) {
                    let to = from + table.len() / width;
                    let table = BlockTable {
                        by,
                        commutative: R::COMMUTATIVE,
                        order: schedule.order,
                        table,
                        first: from % BLOCK_TERMS == 0,
                        last: to % BLOCK_TERMS == 0 || to == end,
                        lanes,
                        sum,
                    };
                    if table.combine() && count > 1 {
                        out_of_line::push_block(by, stack, (from - begin) / BLOCK_TERMS, sum);
                    }
                }
                from = to;
            }
            if count > 1 {
                out_of_line::fold_blocks(by, stack, count, sum);
            }
            if schedule.cut.term_chunks == 1 {
                finish(reduction, sum, all_terms, finished);
                write(unit, finished, self.add);
            } else {
                let at = unit.term_chunk * self.count + unit.first_sum;
                let mut partial = self.partial.lock().unwrap_or_else(PoisonError::into_inner);
                partial[at..at + width].copy_from_slice(sum);
            }
        }
    }
}

/// Puts the results of the accumulators `from`, each of `terms` terms, into `to`.
#[inline(never)]
fn finish<T, R: Reduction<T>>(reduction: &R, from: &[R::Acc], terms: usize, to: &mut Vec<R::Out>) {
    to.clear();
    to.extend(from.iter().map(|&acc| reduction.finish(acc, terms)));
}

/// [`Unit::write`].
#[inline(never)]
fn write<I: Inputs<N>, B: Copy, const N: usize>(
    unit: Unit<'_, I, B, N>,
    results: &[B],
    add: &impl Fn(B, B) -> B,
) {
    unit.write(results, add);
}

/// Tells the accumulators of a table the numbers of their terms. `terms` are their positions.
/// Position 0 has the number `first`.
#[inline(never)]
fn number<T, R: Reduction<T>>(
    reduction: &R,
    table: &mut [R::Acc],
    terms: Range<usize>,
    first: usize,
    order: Order,
) {
    widest(Numbering {
        reduction,
        table,
        terms,
        order,
        first,
        of: PhantomData,
    });
}

/// Gives the accumulators of a table the numbers of their terms.
struct Numbering<'n, R, A, T> {
    reduction: &'n R,
    table: &'n mut [A],
    /// The positions of the terms.
    terms: Range<usize>,
    order: Order,
    /// The number of position 0.
    first: usize,
    of: PhantomData<fn(T)>,
}

impl<T, R: Reduction<T>> Vectorize for Numbering<'_, R, R::Acc, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Numbering {
            reduction,
            table,
            terms,
            first,
            ..
        } = self;
        let len = terms.len();
        let number = |position: usize| first.wrapping_add(position);
        match self.order {
            Order::Runs => {
                for run in table.chunks_exact_mut(len) {
                    for (acc, position) in run.iter_mut().zip(terms.clone()) {
                        *acc = reduction.at_index(*acc, number(position));
                    }
                }
            }
            Order::Rows => {
                let width = table.len() / len;
                for (row, position) in table.chunks_exact_mut(width).zip(terms) {
                    let number = number(position);
                    for acc in row {
                        *acc = reduction.at_index(*acc, number);
                    }
                }
            }
        }
    }
}

/// A table of terms of one block. This is compiled once for each reduction, not for each closure
/// that computes terms.
struct BlockTable<'p, A, M> {
    by: M,
    commutative: bool,
    order: Order,
    table: &'p mut [A],
    /// Whether the table has the first and the last terms of the block.
    first: bool,
    last: bool,
    lanes: &'p mut [A],
    sum: &'p mut [A],
}

impl<A: Copy, M: Monoid<A>> BlockTable<'_, A, M> {
    /// Adds the table to the sums of the block. Returns whether they are complete.
    #[inline(never)]
    fn combine(self) -> bool {
        let last = self.last;
        // In a constant, so that the other kernels are not compiled for large elements.
        match const { is_large::<A>() } {
            true => self.combine_large(),
            false => widest(self),
        }
        last
    }

    /// Whole blocks in runs of their own.
    fn combine_large(self) {
        let BlockTable { by, table, sum, .. } = self;
        let len = table.len() / sum.len();
        for (run, sum) in table.chunks_exact_mut(len).zip(sum) {
            match self.commutative {
                true => nodes::block_of_large(by, run),
                false => (1..len).for_each(|i| nodes::add_one(by, run, 0, i)),
            }
            *sum = run[0];
        }
    }
}

impl<A: Copy, M: Monoid<A>> Vectorize for BlockTable<'_, A, M> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let BlockTable {
            by,
            table,
            first,
            lanes,
            sum,
            ..
        } = self;
        let width = sum.len();
        let len = table.len() / width;
        match self.order {
            // The rows are the lanes.
            Order::Rows if self.commutative && first && self.last && len <= LANES => {
                tree::fold_table(by, table, len, sum);
            }
            Order::Rows if self.commutative => {
                tree::add_table(by, table, width, Reading::Eight, lanes, &mut [], first);
                if self.last {
                    // Any table but the first has terms of all lanes before it.
                    let live = if first { LANES.min(len) } else { LANES };
                    tree::fold_table(by, lanes, live, sum);
                }
            }
            Order::Rows => tree::add_in_order(by, table, first, sum),
            Order::Runs if !self.commutative => {
                for (run, sum) in table.chunks_exact(len).zip(sum) {
                    tree::add_in_order(by, run, true, std::slice::from_mut(sum));
                }
            }
            Order::Runs => sum_runs(by, Runs::cut(table, len, false), sum),
        }
    }
}

/// Writes all sums on this thread, by their numbers.
///
/// # Errors
///
/// `AllocationFailed`; nothing has been written then.
pub(super) fn write_all<I, B, const N: usize>(
    sums: &mut Sums<'_, I, B, N>,
    add: impl Fn(B, B) -> B + Sync,
    sum: impl Fn(usize) -> B + Sync,
) -> Result<(), BroadcastError>
where
    I: Inputs<N>,
    B: Copy + Send + Sync,
{
    let cut = Cut {
        axis: sums.kept().axes().len().saturating_sub(1),
        turns: MANY_COLUMNS,
        term_chunks: 1,
        term_runs: 1,
        units_at_once: usize::MAX,
    };
    let room: Vec<B> = reserved(MANY_COLUMNS.min(sums.kept().len()))?;
    sums.for_each_unit(cut, Cost::Bytes(0), vec![room], &|room, units| {
        for unit in units {
            room.clear();
            room.extend((unit.first_sum..unit.first_sum + unit.width()).map(&sum));
            unit.write(room, &add);
        }
    });
    Ok(())
}
