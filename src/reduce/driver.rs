//! How terms are read, and how the work is cut into units. Which terms are added to which is
//! decided in `tree`.

use super::nodes;
use super::reduction::Reduction;
use super::runs::{in_streams, sum_runs};
use super::tables::{self, By, blocks_of_chunk, reduce_none, write_all};
use super::terms::Terms;
use super::tree::{self, BLOCK_TERMS, GROUP, LANES, Monoid, Reading};
use crate::engine::inputs::Source;
use crate::engine::machine::{Vectorize, widest};
use crate::engine::memory::filled;
use crate::engine::sums::{Cut, Sums, Units};
use crate::engine::terms::Columns;
use crate::engine::threads::{Cost, PARALLEL_FROM, max_threads};
use crate::engine::tuning::{
    BLOCKS_AT_ONCE, FEW_COLUMNS, MANY_COLUMNS, MANY_SUM_CHUNKS, NARROW_SUM_ROW, SUM_CHUNK, SUM_ROW,
};
use crate::error::{BroadcastError, reserved};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Sums of the elements of one array.
pub(super) type PlainSums<'a, 't, A> = Sums<'a, (Source<'t, 't, A>,), A, 2>;

/// How the terms of a unit are read where they lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    /// Columns are side by side, in rows anywhere in memory.
    Rows,
    /// Columns are side by side, in rows one after the other. A unit has all of a row.
    Table(Reading),
    /// The terms of a column are side by side, forwards or backwards, in long runs. Blocks that
    /// reach over the end of a run are packed.
    Runs,
}

impl Access {
    /// The fastest for the layout. `None`: terms are better copied to a table.
    fn of<A: Copy + Send + Sync>(sums: &PlainSums<'_, '_, A>) -> Option<Self> {
        let (columns, summed) = (sums.kept().inner(), sums.summed());
        let (terms, inner) = (summed.len(), summed.inner());
        let single = summed.axes().len() <= 1;
        let column_stride = columns.strides[0];
        let long = inner.size >= LANES;
        // Short runs with gaps between them are copied first: 10^6 runs of 2 `f32` take 0.56 ms
        // with the copy, and 1.1 ms read in place.
        let one_run = single && column_stride == terms as isize;
        // 10^5 runs of 20 reversed `f32` take 0.6 ms with a copy, and 1.2 ms without.
        let odd = terms < GROUP && terms % LANES > 0;
        match inner.strides[0] {
            1 if one_run || long => return Some(Access::Runs),
            -1 if long && !odd => return Some(Access::Runs),
            _ => {}
        }
        if column_stride == 1 && columns.size > 1 {
            let follows = columns.size as isize == inner.strides[0];
            if single && follows && columns.size * terms.min(LANES) <= MANY_COLUMNS {
                return Some(Access::Table(Reading::of_memory::<A>(columns.size)));
            }
            if columns.size >= FEW_COLUMNS {
                return Some(Access::Rows);
            }
        }
        None
    }
}

/// How the sums of one call are computed. Their bits do not depend on it.
struct Schedule {
    access: Access,
    cut: Cut,
    /// The first of the terms that are summed, and the end of them.
    first: usize,
    end: usize,
    /// Blocks in a range of terms, a power of two: then the sum of a range is a node of the tree.
    chunk_blocks: usize,
    /// The lengths of the sections of [`Scratch`].
    lanes: usize,
    stack: usize,
    table: usize,
    offsets: usize,
}

impl Schedule {
    /// For `bytes` bytes of terms on as many threads.
    fn new<A: Copy + Send + Sync>(
        sums: &PlainSums<'_, '_, A>,
        access: Access,
        range: &Range<usize>,
        bytes: usize,
        threads: usize,
    ) -> Self {
        let columns = sums.kept().inner().size;
        let positions = sums.kept().len() / columns;
        let terms = range.len();
        let blocks = terms.div_ceil(BLOCK_TERMS);
        let size = size_of::<A>().max(1);
        let at_once = (bytes / MANY_SUM_CHUNKS).clamp(*SUM_CHUNK.start(), *SUM_CHUNK.end());
        let wanted = match access {
            Access::Rows => {
                let units = |width: usize| positions * blocks * columns.div_ceil(width);
                let mut width = SUM_ROW / size;
                // A quarter of the units that keep all threads busy is few: rows are then halved.
                if width * size > NARROW_SUM_ROW && units(width) < MANY_SUM_CHUNKS / 4 {
                    width /= 2;
                }
                width
            }
            Access::Table(_) => columns,
            Access::Runs => (at_once / size / terms).min(MANY_COLUMNS),
        };
        let width = wanted.clamp(1, columns);
        let units = positions * columns.div_ceil(width);

        let chunk_blocks = blocks_of_chunk(blocks, units, width * size, threads);
        let unit_blocks = chunk_blocks.min(blocks);
        let unit_bytes = (width * size).saturating_mul(terms.min(chunk_blocks * BLOCK_TERMS));

        let block = terms.min(BLOCK_TERMS);
        let lanes = block.min(LANES) * width;
        let waiting = usize::from(blocks > 1) * (unit_blocks.ilog2() as usize + 1) * width;
        let copied = usize::from(sums.summed().axes().len() > 1) * block;
        let (lanes, stack, table) = match access {
            Access::Rows => (lanes, waiting, 0),
            Access::Table(reading) => (lanes, waiting, reading.extra_rows().min(block) * width),
            Access::Runs => (0, unit_blocks.min(BLOCKS_AT_ONCE), copied),
        };
        Schedule {
            access,
            cut: Cut {
                axis: sums.kept().axes().len().saturating_sub(1),
                turns: width,
                term_chunks: blocks.div_ceil(chunk_blocks),
                term_runs: 1,
                units_at_once: (at_once / unit_bytes.max(1)).max(1),
            },
            first: range.start,
            end: range.end,
            chunk_blocks,
            lanes,
            stack,
            table,
            offsets: if access == Access::Rows { block } else { 0 },
        }
    }
}

/// What a thread needs beside the arrays: first, in sections, the sums of a unit, lanes, blocks
/// that wait for their neighbours and a table of copied terms; second, where the rows of a block
/// begin.
type Scratch<A> = (Vec<A>, Vec<isize>);

/// Computes and writes all results.
///
/// # Errors
///
/// `EmptyReduction`, `AllocationFailed`; nothing has been written then.
pub(super) fn reduce<A, R>(
    sums: &mut PlainSums<'_, '_, A>,
    reduction: &R,
) -> Result<(), BroadcastError>
where
    A: Copy + Send + Sync,
    R: Reduction<A, Acc = A, Out = A>,
{
    let all = Terms::all(sums.summed().len());
    reduce_some(sums, reduction, &all)
}

/// [`reduce`] of some of the terms.
///
/// # Errors
///
/// `EmptyReduction`, `AllocationFailed`; nothing has been written then.
pub(super) fn reduce_some<A, R>(
    sums: &mut PlainSums<'_, '_, A>,
    reduction: &R,
    terms: &Terms,
) -> Result<(), BroadcastError>
where
    A: Copy + Send + Sync,
    R: Reduction<A, Acc = A, Out = A>,
{
    let (count, range) = (sums.kept().len(), &terms.range);
    let bytes = (count.saturating_mul(range.len())).saturating_mul(size_of::<A>().max(1));
    const { assert!(R::COMMUTATIVE, "only these are read in place") };
    // In a constant, so that the other kernels are not compiled for these.
    if const { nodes::is_large::<A>() } {
        return reduce_in_tables(sums, reduction, terms, bytes);
    }
    if count == 0 {
        return Ok(());
    }
    if range.is_empty() {
        return reduce_none(sums, reduction);
    }
    let Some(access) = Access::of(sums) else {
        return reduce_in_tables(sums, reduction, terms, bytes);
    };
    let threads = match bytes >= PARALLEL_FROM {
        true => max_threads(),
        false => 1,
    };
    let schedule = Schedule::new(sums, access, range, bytes, threads);
    let cut = schedule.cut;
    let threads = threads.min(sums.units(cut).div_ceil(cut.units_at_once));
    let mut scratch = reserved(threads)?;
    let identity = || reduction.identity();
    for _ in 0..threads {
        let values = cut.turns + schedule.lanes + schedule.stack + schedule.table;
        scratch.push((filled(values, identity)?, filled(schedule.offsets, || 0)?));
    }
    // A row of sums for each range of terms, if there are several.
    let ranges = usize::from(cut.term_chunks > 1) * cut.term_chunks;
    let partial = Mutex::new(filled(ranges * count, identity)?);
    let by = By::of(reduction);
    sums.for_each_unit(cut, Cost::Bytes(bytes), scratch, &|scratch, units| {
        widest(SumUnits {
            schedule: &schedule,
            units,
            scratch,
            by,
            finish: |sum| reduction.finish(sum, range.len()),
            count,
            partial: &partial,
        });
    });
    if cut.term_chunks > 1 {
        let mut partial = partial.into_inner().unwrap_or_else(PoisonError::into_inner);
        nodes::fold_neighbours(by, &mut partial, count);
        let add = |old, new| by.combine(old, new);
        write_all(sums, add, |sum| reduction.finish(partial[sum], range.len()))?;
    }
    Ok(())
}

/// [`reduce_some`] of terms that are copied to a table first. `bytes` are those of all terms.
fn reduce_in_tables<A, R>(
    sums: &mut PlainSums<'_, '_, A>,
    reduction: &R,
    terms: &Terms,
    bytes: usize,
) -> Result<(), BroadcastError>
where
    A: Copy + Send + Sync,
    R: Reduction<A, Acc = A, Out = A>,
{
    let cost = Cost::Bytes(bytes);
    let add = |old, new| reduction.combine(old, new);
    tables::reduce(
        sums,
        terms,
        reduction,
        add,
        cost,
        |unit, terms, order, table| match const { nodes::is_large::<A>() } {
            true => unit.fill(terms, order, table, &|place, (term,)| *place = *term),
            false => unit.gather(terms, order, table),
        },
    )
}

/// Sums units of work.
struct SumUnits<'s, 't, A, M, F> {
    schedule: &'s Schedule,
    units: Units<'s, (Source<'t, 't, A>,), A, 2>,
    scratch: &'s mut Scratch<A>,
    by: M,
    finish: F,
    /// Of all sums.
    count: usize,
    partial: &'s Mutex<Vec<A>>,
}

impl<A, M, F> Vectorize for SumUnits<'_, '_, A, M, F>
where
    A: Copy + Send + Sync,
    M: Monoid<A>,
    F: Fn(A) -> A,
{
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let (schedule, by) = (self.schedule, self.by);
        let (first, end) = (schedule.first, schedule.end);
        let all_blocks = (end - first).div_ceil(BLOCK_TERMS);
        let terms_of = |blocks: Range<usize>| {
            first + blocks.start * BLOCK_TERMS..end.min(first + blocks.end * BLOCK_TERMS)
        };
        let (values, offsets) = self.scratch;
        let (sum, rest) = values.split_at_mut(schedule.cut.turns);
        let (lanes, rest) = rest.split_at_mut(schedule.lanes);
        let (stack, table) = rest.split_at_mut(schedule.stack);
        for unit in self.units {
            let columns = unit.columns();
            let width = unit.width();
            let sum = &mut sum[..width];
            let begin = unit.term_chunk * schedule.chunk_blocks;
            let blocks = begin..(begin + schedule.chunk_blocks).min(all_blocks);
            match schedule.access {
                Access::Runs => {
                    sum_columns(by, columns, terms_of(blocks), stack, table, sum);
                }
                Access::Rows | Access::Table(_) => {
                    let count = blocks.len();
                    for (index, block) in blocks.enumerate() {
                        let terms = terms_of(block..block + 1);
                        if let Access::Table(reading) = schedule.access {
                            let rows = columns.table(terms);
                            tree::block_of_table(by, rows, reading, lanes, table, sum);
                        } else {
                            tree::block_of_rows(by, columns.rows(terms, offsets), lanes, sum);
                        }
                        if count > 1 {
                            nodes::push_block(by, stack, width, index, sum);
                        }
                    }
                    if count > 1 {
                        nodes::fold_blocks(by, stack, width, count, sum);
                    }
                }
            }
            if schedule.cut.term_chunks == 1 {
                sum.iter_mut().for_each(|sum| *sum = (self.finish)(*sum));
                unit.write(sum, |old, new| by.combine(old, new));
            } else {
                let at = unit.term_chunk * self.count + unit.first_sum;
                let mut partial = self.partial.lock().unwrap_or_else(PoisonError::into_inner);
                partial[at..at + width].copy_from_slice(sum);
            }
        }
    }
}

/// The sums of columns over these terms, which lie in runs.
#[inline(always)]
fn sum_columns<A: Copy, M: Monoid<A>>(
    by: M,
    columns: Columns<'_, A>,
    terms: Range<usize>,
    block_sums: &mut [A],
    copy: &mut [A],
    sum: &mut [A],
) {
    // No copies are made of terms on one axis.
    if copy.is_empty() && terms.len() <= BLOCK_TERMS {
        return sum_runs(by, columns.runs(terms), sum);
    }
    for column in in_streams(sum.len(), terms.len() * size_of::<A>()) {
        sum[column] = sum_column(by, columns, column, terms.clone(), block_sums, copy);
    }
}

/// The sum of these terms of a column, which begin with a block.
#[inline(always)]
fn sum_column<A: Copy, M: Monoid<A>>(
    by: M,
    columns: Columns<'_, A>,
    column: usize,
    terms: Range<usize>,
    block_sums: &mut [A],
    copy: &mut [A],
) -> A {
    let mut stack = [by.identity(); usize::BITS as usize];
    let mut sum = [by.identity()];
    // The sum of `BLOCKS_AT_ONCE` blocks is a node of the tree.
    let at_once = BLOCKS_AT_ONCE * BLOCK_TERMS;
    let count = terms.len().div_ceil(at_once);
    for (index, mut start) in terms.clone().step_by(at_once).enumerate() {
        let end = terms.end.min(start + at_once);
        let block_sums = &mut block_sums[..(end - start).div_ceil(BLOCK_TERMS)];
        let mut rest = &mut *block_sums;
        if copy.is_empty() {
            let (whole, last) = rest.split_at_mut((end - start) / BLOCK_TERMS);
            let begin = start;
            start += whole.len() * BLOCK_TERMS;
            let runs = columns.run(column, begin..start, BLOCK_TERMS, &mut []);
            sum_runs(by, runs, whole);
            rest = last;
        }
        for i in in_streams(rest.len(), BLOCK_TERMS * size_of::<A>()) {
            let begin = start + i * BLOCK_TERMS;
            let block = begin..end.min(begin + BLOCK_TERMS);
            let runs = columns.run(column, block.clone(), block.len(), copy);
            sum_runs(by, runs, &mut rest[i..=i]);
        }
        nodes::fold_neighbours(by, block_sums, 1);
        sum = [block_sums[0]];
        if count > 1 {
            nodes::push_block(by, &mut stack, 1, index, &mut sum);
        }
    }
    if count > 1 {
        nodes::fold_blocks(by, &stack, 1, count, &mut sum);
    }
    sum[0]
}
