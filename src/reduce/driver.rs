//! How the terms are reached and who sums them. Nothing here decides which terms are added to which: that is `tree`'s.

use super::tree::{self, BLOCK, GROUP, LANES, LongRun, OddRun, Reading, Rows, Run, ShortRun, Term};
use crate::engine::nest::{LoopAxis, LoopNest, Odometer};
use crate::engine::stream::{CAN_STREAM, FenceOnDrop, stream};
use crate::engine::threads::{Cost, PARALLEL_FROM, max_threads, share};
use crate::error::{BroadcastError, allocation_failed};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Bytes of a row of columns summed at once: its accumulators, 16 such rows, take 32 KiB.
const ROW_BYTES: usize = 2 << 10;

/// Rows are cut no narrower than this to get more tasks. 4096 rows of 256 `f32` on two threads take 33 us whole and 45 in quarters.
const NARROW_ROW_BYTES: usize = 1 << 10;

/// Columns that fewer than this many lie side by side are copied together before they are summed.
const FEW_COLUMNS: usize = 8;

/// Bytes that a block takes at most (if it is not one column) when it is copied together, half of a first-level cache.
const TABLE_BYTES: usize = 16 << 10;

/// Most columns in a unit of work, where it is not their bytes that limit it.
const MANY_COLUMNS: usize = 1024;

/// Bytes of the cotangent that are worth a task of their own.
const TASK_BYTES: usize = 128 << 10;

/// As many tasks are enough: they grow with the cotangent up to [`LONG_TASK_BYTES`].
const MANY_TASKS: usize = 64;

/// A task of a large cotangent. Reading is fastest in long stretches: two threads read 256 MiB in 6.8 ms by 2 MiB, 8.1 ms by 128 KiB.
const LONG_TASK_BYTES: usize = 2 << 20;

/// Long stretches are read at as many places in turn, as the prefetchers work for each of them: two threads read 256 MiB by 2 MiB in
/// 6.0 ms so and 6.8 ms from end to end.
const STREAMS: usize = 4;

/// Bytes at each of these places at least. With 32 KiB they gain nothing.
const STREAM_BYTES: usize = 128 << 10;

/// Blocks of one column whose sums are kept until they are added up in their order: [`LONG_TASK_BYTES`] of `f32`.
const WINDOW: usize = 512;

/// With fewer units of work than this, the sums themselves are cut into parts.
const FEW_UNITS: usize = 32;

/// Into how many parts of sums, all units together, they are cut then. It bounds the memory for partial sums.
const MANY_PARTS: usize = 64;

/// Sums that take as many bytes go past the cache, if they go to existing memory, in as long stretches. With 256 MiB in rows of 3 `f32`
/// summed into 85 MiB that saves the reading of these: 8 ms instead of 10.
const STREAM_FROM: usize = 24 << 20;

/// Bytes of sums side by side that are worth going past the cache.
const STREAM_ROW_BYTES: usize = 1 << 10;

/// What is done with a sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    /// Put into `out`, fresh memory which need not be initialised.
    Init,
    /// Put into `out`.
    Set,
    /// Added to what is in `out`.
    Add,
}

/// How a block's terms are reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Path {
    /// Columns side by side, in rows anywhere.
    Rows,
    /// Columns side by side, in rows one after the other.
    Table,
    /// Terms of a column one after the other, column by column; across the ends of runs they are copied together.
    Runs,
    /// From 2 to 16 terms for each column, all columns one after the other.
    Few,
    /// Copied together into a table.
    Gather,
}

/// Sums over `summed`, in its order, for every position of `kept`: operand 0 is the cotangent, operand 1 is `out`.
///
/// `kept` and `summed` have at least one position each.
///
/// # Errors
///
/// `AllocationFailed`; nothing has been written then.
///
/// # Safety
///
/// At every position of `kept` together with every position of `summed`, `cotangent` is readable; at every position of `kept`,
/// `out` is writable, initialised if it is added to, and no two positions meet. No one writes to the one or uses the other meanwhile.
pub(super) unsafe fn reduce<A: Term>(
    cotangent: *const A,
    out: *mut A,
    kept: &LoopNest<2>,
    summed: &LoopNest<1>,
    then: Then,
) -> Result<(), BroadcastError> {
    let columns = kept.inner();
    let outer = kept.axes().split_last().map_or(&[][..], |(_, outer)| outer);
    let terms = summed.len();
    let blocks = terms.div_ceil(BLOCK);
    let size = size_of::<A>().max(1);
    let bytes = (kept.len().saturating_mul(terms)).saturating_mul(size);
    let positions = kept.len() / columns.size;

    let path = choose(columns, summed);
    let task_bytes = (bytes / MANY_TASKS).clamp(TASK_BYTES, LONG_TASK_BYTES);
    let wanted = match path {
        Path::Rows => {
            let mut width = ROW_BYTES / size;
            while width * size > NARROW_ROW_BYTES
                && positions * blocks * columns.size.div_ceil(width) < MANY_PARTS / 4
            {
                width /= 2;
            }
            width
        }
        Path::Table => columns.size,
        Path::Runs | Path::Few => (task_bytes / size / terms).min(MANY_COLUMNS),
        Path::Gather => TABLE_BYTES / size / terms.min(BLOCK),
    };
    let width = wanted.clamp(1, columns.size);
    let chunks = columns.size.div_ceil(width);
    let units = positions * chunks;

    let mut part_blocks = blocks;
    if units < FEW_UNITS && bytes >= PARALLEL_FROM {
        let least = (TASK_BYTES / 2 / size / BLOCK / width).max(1);
        part_blocks = blocks.div_ceil(MANY_PARTS.div_ceil(units)).max(least);
    }
    // A part is a subtree only if it is a power of two of blocks; the last part may be less.
    part_blocks = part_blocks.next_power_of_two();
    let parts = blocks.div_ceil(part_blocks);

    let reading = match path {
        Path::Table => Reading::of_memory::<A>(width),
        _ => Reading::Eight,
    };
    let table = match path {
        Path::Gather => terms.min(BLOCK) * width,
        Path::Runs if summed.axes().len() > 1 => terms.min(BLOCK),
        Path::Table => reading.extra_rows().min(terms.min(BLOCK)) * width,
        _ => 0,
    };
    let lanes = match path {
        Path::Rows | Path::Table | Path::Gather => terms.min(LANES) * width,
        Path::Runs | Path::Few => 0,
    };
    let stack = match path {
        Path::Runs => part_blocks.min(blocks).min(WINDOW),
        Path::Rows | Path::Table | Path::Gather if blocks > 1 => {
            (part_blocks.min(blocks).ilog2() as usize + 1) * width
        }
        _ => 0,
    };
    let offsets = match path {
        Path::Rows => terms.min(BLOCK),
        _ => 0,
    };
    let unit_bytes = (width * size).saturating_mul(terms.min(part_blocks * BLOCK));
    let task_units = (task_bytes / unit_bytes.max(1)).max(1);
    let tasks = (units * parts).div_ceil(task_units);
    let workers = if bytes >= PARALLEL_FROM {
        max_threads().min(tasks)
    } else {
        1
    };

    let mut scratch = reserved(workers)?;
    for _ in 0..workers {
        scratch.push(Scratch {
            values: filled(width + lanes + stack + table, A::zero())?,
            lanes,
            stack,
            offsets: filled(offsets, 0)?,
        });
    }
    let mut partial = if parts > 1 {
        filled(parts * kept.len(), A::zero())?
    } else {
        Vec::new()
    };

    let reduction = Reduction {
        cotangent,
        out,
        partial: partial.as_mut_ptr(),
        outer,
        start: kept.start(),
        columns,
        sums: kept.len(),
        summed,
        width,
        chunks,
        part_blocks,
        parts,
        path,
        reading,
        then,
        streams: CAN_STREAM
            && then == Then::Set
            && columns.strides[1] == 1
            && width * size >= STREAM_ROW_BYTES
            && kept.len() * size >= STREAM_FROM,
    };
    let scratch = Mutex::new(scratch);
    share(tasks, Cost::Bytes(bytes), |ranges| {
        // As many as threads may work, so there is one for each.
        let lock = || scratch.lock().unwrap_or_else(PoisonError::into_inner);
        let mut own = loop {
            match lock().pop() {
                Some(own) => break own,
                None => std::thread::yield_now(),
            }
        };
        for tasks in ranges {
            let range = tasks.start * task_units..(tasks.end * task_units).min(units * parts);
            let fence = reduction.streams.then_some(FenceOnDrop);
            // SAFETY: the caller vouches for all positions; units are their numbers, and each is in one task.
            unsafe { reduction.run(range, &mut own) };
            drop(fence);
        }
        lock().push(own);
    });
    if parts > 1 {
        let _fence = reduction.streams.then_some(FenceOnDrop);
        tree::fold_parts(&mut partial, kept.len(), parts);
        for unit in 0..units {
            let (position, chunk) = (unit / chunks, unit % chunks);
            let offsets = Odometer::new(outer, kept.start(), position).offsets();
            let first = chunk * width;
            let len = width.min(columns.size - first);
            let sums = &partial[position * columns.size + first..][..len];
            // SAFETY: these are the sums of the columns `first..` at `position`.
            unsafe { reduction.write(sums, offsets[1], first) };
        }
    }
    Ok(())
}

/// The fastest way to the terms that goes with the layout.
fn choose(columns: LoopAxis<2>, summed: &LoopNest<1>) -> Path {
    let terms = summed.len();
    let inner = summed.inner();
    let single = summed.axes().len() <= 1;
    let column_stride = columns.strides[0];
    if single
        && inner.strides == [1]
        && (2..=LANES).contains(&terms)
        && column_stride == terms as isize
    {
        return Path::Few;
    }
    if inner.strides == [1] && inner.size >= LANES {
        return Path::Runs;
    }
    if column_stride == 1 && columns.size > 1 {
        let follows = columns.size as isize == inner.strides[0];
        if single && follows && columns.size * terms.min(LANES) <= MANY_COLUMNS {
            return Path::Table;
        }
        if columns.size >= FEW_COLUMNS {
            return Path::Rows;
        }
    }
    Path::Gather
}

/// The numbers below `count`: in order, or those of [`STREAMS`] equal ranges in turn if that is worth it for `bytes` read for each.
#[inline(always)]
fn in_streams(count: usize, bytes: usize) -> impl Iterator<Item = usize> {
    let each = match count / STREAMS {
        each if each.saturating_mul(bytes) >= STREAM_BYTES => each,
        _ => 0,
    };
    (0..count).map(move |i| match i < STREAMS * each {
        true => i % STREAMS * each + i / STREAMS,
        false => i,
    })
}

fn reserved<T>(len: usize) -> Result<Vec<T>, BroadcastError> {
    let mut vec = Vec::new();
    vec.try_reserve_exact(len)
        .map_err(|_| allocation_failed(len.saturating_mul(size_of::<T>())))?;
    Ok(vec)
}

fn filled<T: Clone>(len: usize, value: T) -> Result<Vec<T>, BroadcastError> {
    let mut vec = reserved(len)?;
    vec.resize(len, value);
    Ok(vec)
}

/// What a thread needs beside the arrays: `width` sums, then lanes, the stack of blocks or (on the path `Runs`) the window of them, and
/// the table.
#[derive(Debug)]
struct Scratch<A> {
    values: Vec<A>,
    lanes: usize,
    stack: usize,
    /// Where the rows of a block begin.
    offsets: Vec<isize>,
}

/// All that the threads share. A unit of work is a part of the sums of a chunk of at most `width` neighbouring columns at one
/// position of the outer axes; units are counted in this order, parts fastest.
#[derive(Debug)]
struct Reduction<'a, A> {
    cotangent: *const A,
    out: *mut A,
    /// `sums` partial sums for each part, if there is more than one.
    partial: *mut A,
    outer: &'a [LoopAxis<2>],
    start: [isize; 2],
    columns: LoopAxis<2>,
    sums: usize,
    summed: &'a LoopNest<1>,
    width: usize,
    chunks: usize,
    part_blocks: usize,
    parts: usize,
    path: Path,
    reading: Reading,
    then: Then,
    /// Whether sums go past the cache.
    streams: bool,
}

// SAFETY: it is shared by the threads of one call of `reduce`, whose caller vouches for what the pointers reach; they read from
// `cotangent`, and write to places of `out` and `partial` that no two units have in common. `A` may be sent and shared.
unsafe impl<A: Send + Sync> Sync for Reduction<'_, A> {}

/// Rows by the offsets of their first elements.
struct RowsAt<'a, A> {
    base: *const A,
    offsets: &'a [isize],
    width: usize,
}

impl<A> Rows<A> for RowsAt<'_, A> {
    #[inline(always)]
    fn row(&self, i: usize) -> &[A] {
        let first = self.base.wrapping_offset(self.offsets[i]);
        // SAFETY: made by `Reduction::blocks` only, for a block of a unit: each offset is that of a term of the first of `width`
        // neighbouring columns of stride 1, all of them readable.
        unsafe { std::slice::from_raw_parts(first, self.width) }
    }
}

/// The sums of runs of `len` terms each, `stride` elements apart from `first` on.
///
/// # Safety
///
/// As many runs as there are `sums` are readable; `len` is from 1 to [`BLOCK`].
#[inline]
unsafe fn runs<A: Term>(first: *const A, stride: isize, len: usize, sums: &mut [A]) {
    if len < LANES {
        // SAFETY: passed on.
        unsafe { runs_by::<A, ShortRun>(first, stride, len, sums) }
    } else if len < GROUP && len % LANES > 0 {
        // SAFETY: passed on.
        unsafe { runs_by::<A, OddRun>(first, stride, len, sums) }
    } else {
        // SAFETY: passed on.
        unsafe { runs_by::<A, LongRun>(first, stride, len, sums) }
    }
}

/// [`runs`] of one kind, with the widest vectors that the machine has.
///
/// # Safety
///
/// As [`runs`].
#[inline]
unsafe fn runs_by<A: Term, R: Run>(first: *const A, stride: isize, len: usize, sums: &mut [A]) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the machine has AVX2; the rest is passed on.
        return unsafe { runs_by_avx2::<A, R>(first, stride, len, sums) };
    }
    // SAFETY: passed on.
    unsafe { runs_by_anywhere::<A, R>(first, stride, len, sums) };
}

/// The same in vectors of twice the width. Never inlined, as whether the compiler keeps the lanes in registers depends on what is around.
///
/// # Safety
///
/// As [`runs`], and the machine has AVX2.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[target_feature(enable = "avx2")]
#[inline(never)]
unsafe fn runs_by_avx2<A: Term, R: Run>(
    first: *const A,
    stride: isize,
    len: usize,
    sums: &mut [A],
) {
    // SAFETY: passed on.
    unsafe { runs_by_anywhere::<A, R>(first, stride, len, sums) };
}

/// # Safety
///
/// As [`runs`].
#[inline(always)]
unsafe fn runs_by_anywhere<A: Term, R: Run>(
    first: *const A,
    stride: isize,
    len: usize,
    sums: &mut [A],
) {
    let count = sums.len();
    for i in in_streams(count, len * size_of::<A>()) {
        let first = first.wrapping_offset(stride.wrapping_mul(i as isize));
        // Runs that follow each other are handed over with all that comes after them.
        let readable = match stride == len as isize {
            true => len * (count - i),
            false => len,
        };
        // SAFETY: one of the caller's runs, or some one after the other.
        let terms = unsafe { std::slice::from_raw_parts(first, readable) };
        sums[i] = R::sum(terms, len);
    }
}

impl<A: Term> Reduction<'_, A> {
    /// Does the units, with the widest vectors that the machine has.
    ///
    /// # Safety
    ///
    /// The units exist, no other thread does any of them, and what `reduce` asks for holds.
    #[inline]
    unsafe fn run(&self, units: Range<usize>, scratch: &mut Scratch<A>) {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the machine has AVX2; the rest is passed on.
            return unsafe { self.run_avx2(units, scratch) };
        }
        // SAFETY: passed on.
        unsafe { self.run_anywhere(units, scratch) };
    }

    /// The same additions in the same order, in vectors of twice the width.
    ///
    /// # Safety
    ///
    /// As [`run`](Self::run), and the machine has AVX2.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    #[target_feature(enable = "avx2")]
    unsafe fn run_avx2(&self, units: Range<usize>, scratch: &mut Scratch<A>) {
        // SAFETY: passed on.
        unsafe { self.run_anywhere(units, scratch) };
    }

    /// # Safety
    ///
    /// As [`run`](Self::run).
    #[inline(always)]
    unsafe fn run_anywhere(&self, units: Range<usize>, scratch: &mut Scratch<A>) {
        let terms = self.summed.len();
        let blocks = terms.div_ceil(BLOCK);
        let (mut part, unit) = (units.start % self.parts, units.start / self.parts);
        let (mut chunk, mut position) = (unit % self.chunks, unit / self.chunks);
        let mut odometer = Odometer::new(self.outer, self.start, position);
        let (sum, scratch_rest) = scratch.values.split_at_mut(self.width);
        for unit in units.clone() {
            let first = chunk * self.width;
            let width = self.width.min(self.columns.size - first);
            let offsets = odometer.offsets();
            let base = self
                .cotangent
                .wrapping_offset(offsets[0])
                .wrapping_offset(self.columns.strides[0].wrapping_mul(first as isize));
            let begin = part * self.part_blocks;
            let range = begin..(begin + self.part_blocks).min(blocks);
            let sum = &mut sum[..width];
            match self.path {
                Path::Runs => {
                    let (window, table) = scratch_rest.split_at_mut(scratch.stack);
                    // SAFETY: `base` is at the first of `width` columns of the unit, and the path is `Runs`.
                    unsafe { self.columns_of_runs(base, range, window, table, sum) };
                }
                Path::Few => {
                    // SAFETY: the path is `Few`: `terms` terms of each of `width` columns lie one after the other.
                    let terms = unsafe { std::slice::from_raw_parts(base, width * terms) };
                    match self.summed.len() {
                        2 => tree::columns_of::<A, 2>(terms, sum),
                        3 => tree::columns_of::<A, 3>(terms, sum),
                        4 => tree::columns_of::<A, 4>(terms, sum),
                        5 => tree::columns_of::<A, 5>(terms, sum),
                        6 => tree::columns_of::<A, 6>(terms, sum),
                        7 => tree::columns_of::<A, 7>(terms, sum),
                        8 => tree::columns_of::<A, 8>(terms, sum),
                        9 => tree::columns_of::<A, 9>(terms, sum),
                        10 => tree::columns_of::<A, 10>(terms, sum),
                        11 => tree::columns_of::<A, 11>(terms, sum),
                        12 => tree::columns_of::<A, 12>(terms, sum),
                        13 => tree::columns_of::<A, 13>(terms, sum),
                        14 => tree::columns_of::<A, 14>(terms, sum),
                        15 => tree::columns_of::<A, 15>(terms, sum),
                        _ => tree::columns_of::<A, 16>(terms, sum),
                    }
                }
                Path::Rows | Path::Table | Path::Gather => {
                    let (lanes, rest) = scratch_rest.split_at_mut(scratch.lanes);
                    let (stack, table) = rest.split_at_mut(scratch.stack);
                    let count = range.len();
                    for (index, block) in range.enumerate() {
                        let terms = block * BLOCK..terms.min((block + 1) * BLOCK);
                        // SAFETY: `base` is at the first of `width` columns of the unit.
                        unsafe { self.block(base, terms, lanes, table, &mut scratch.offsets, sum) };
                        if count > 1 {
                            tree::push_block(stack, width, index, sum);
                        }
                    }
                    if count > 1 {
                        tree::fold_blocks(stack, width, count, sum);
                    }
                }
            }
            if self.parts == 1 {
                // SAFETY: these are the sums of the unit's columns, which no other unit has.
                unsafe { self.write(sum, offsets[1], first) };
            } else {
                let at = part * self.sums + position * self.columns.size + first;
                // SAFETY: `partial` has `sums` places for each part, in which each column of each position has its own.
                unsafe {
                    std::ptr::copy_nonoverlapping(
                        sum.as_ptr(),
                        self.partial.wrapping_add(at),
                        width,
                    )
                };
            }
            part += 1;
            if part == self.parts {
                (part, chunk) = (0, chunk + 1);
            }
            if chunk == self.chunks {
                (chunk, position) = (0, position + 1);
                if unit + 1 < units.end {
                    odometer.advance();
                }
            }
        }
    }

    /// The sums of the blocks of `sum.len()` columns.
    ///
    /// # Safety
    ///
    /// As `reduce` for that many columns from `base` on; the path is `Runs`.
    #[inline(always)]
    unsafe fn columns_of_runs(
        &self,
        base: *const A,
        blocks: Range<usize>,
        window: &mut [A],
        table: &mut [A],
        sum: &mut [A],
    ) {
        let terms = self.summed.len();
        let stride = self.columns.strides[0];
        let single = self.summed.axes().len() == 1;
        if single && blocks.len() == 1 {
            let begin = blocks.start * BLOCK;
            let first = base.wrapping_add(begin);
            // SAFETY: the only axis of `summed` has stride 1 on this path, so a block of each column is a run.
            return unsafe { runs(first, stride, (terms - begin).min(BLOCK), sum) };
        }
        let bytes = terms.min(blocks.len() * BLOCK) * size_of::<A>();
        for column in in_streams(sum.len(), bytes) {
            let base = base.wrapping_offset(stride.wrapping_mul(column as isize));
            // SAFETY: passed on.
            sum[column] = unsafe { self.run_of_blocks(base, blocks.clone(), window, table) };
        }
    }

    /// The sum of a column's blocks.
    ///
    /// # Safety
    ///
    /// As `reduce` for the column at `base`; the path is `Runs`.
    #[inline(always)]
    unsafe fn run_of_blocks(
        &self,
        base: *const A,
        mut blocks: Range<usize>,
        window: &mut [A],
        table: &mut [A],
    ) -> A {
        let terms = self.summed.len();
        let single = self.summed.axes().len() == 1;
        // Of windows, as each of them is a subtree, the last one perhaps a smaller one.
        let mut stack = [A::zero(); usize::BITS as usize];
        let windows = blocks.len().div_ceil(WINDOW);
        for index in 0..windows {
            let window = &mut window[..blocks.len().min(WINDOW)];
            let mut begin = blocks.start * BLOCK;
            let mut rest = &mut *window;
            if single {
                let (whole, after) = rest.split_at_mut(rest.len().min((terms - begin) / BLOCK));
                // SAFETY: the only axis of `summed` has stride 1 on this path, so these blocks are runs one after the other.
                unsafe { runs(base.wrapping_add(begin), BLOCK as isize, BLOCK, whole) };
                begin += whole.len() * BLOCK;
                rest = after;
            }
            for i in in_streams(rest.len(), BLOCK * size_of::<A>()) {
                let begin = begin + i * BLOCK;
                // SAFETY: passed on.
                let run = unsafe { self.run_of(base, begin..terms.min(begin + BLOCK), table) };
                // SAFETY: it is a run.
                unsafe { runs(run.as_ptr(), 0, run.len(), &mut rest[i..=i]) };
            }
            blocks.start += window.len();
            let sum = tree::fold_neighbours(window);
            if windows == 1 {
                return sum;
            }
            tree::push_block(&mut stack, 1, index, &mut [sum]);
        }
        let mut sum = [A::zero()];
        tree::fold_blocks(&stack, 1, windows, &mut sum);
        sum[0]
    }

    /// A column's terms one after the other: where they are, if they lie so, or copied.
    ///
    /// # Safety
    ///
    /// As [`run_of_blocks`](Self::run_of_blocks).
    #[inline(always)]
    unsafe fn run_of<'a>(
        &self,
        base: *const A,
        range: Range<usize>,
        table: &'a mut [A],
    ) -> &'a [A] {
        let inner = self.summed.inner().size;
        let (row, skip) = (range.start / inner, range.start % inner);
        if skip + range.len() <= inner {
            let outer = &self.summed.axes()[..self.summed.axes().len() - 1];
            let [offset] = Odometer::new(outer, self.summed.start(), row).offsets();
            let first = base.wrapping_offset(offset).wrapping_add(skip);
            // SAFETY: the innermost axis of `summed` has stride 1 on this path, and the range does not pass its end.
            return unsafe { std::slice::from_raw_parts(first, range.len()) };
        }
        let table = &mut table[..range.len()];
        let mut at = 0;
        self.summed.for_each_row(range, |[offset], len| {
            let first = base.wrapping_offset(offset);
            // SAFETY: a stretch of the innermost axis, which has stride 1 on this path.
            let terms = unsafe { std::slice::from_raw_parts(first, len) };
            table[at..at + len].copy_from_slice(terms);
            at += len;
        });
        table
    }

    /// The sums of a block of `sum.len()` columns.
    ///
    /// # Safety
    ///
    /// As `reduce` for that many columns from `base` on; the path is `Rows`, `Table` or `Gather`.
    #[inline(always)]
    unsafe fn block(
        &self,
        base: *const A,
        range: Range<usize>,
        lanes: &mut [A],
        table: &mut [A],
        offsets: &mut [isize],
        sum: &mut [A],
    ) {
        let (width, count) = (sum.len(), range.len());
        match self.path {
            Path::Table => {
                let first = base.wrapping_add(range.start * width);
                // SAFETY: on this path the rows of all terms lie one after the other.
                let rows = unsafe { std::slice::from_raw_parts(first, count * width) };
                tree::block_of_table(rows, width, self.reading, lanes, table, sum);
            }
            Path::Rows => {
                let offsets = &mut offsets[..count];
                let stride = self.summed.inner().strides[0];
                let mut free = offsets.iter_mut();
                self.summed.for_each_row(range, |[offset], len| {
                    for (i, place) in free.by_ref().take(len).enumerate() {
                        *place = offset.wrapping_add(stride.wrapping_mul(i as isize));
                    }
                });
                let rows = RowsAt {
                    base,
                    offsets,
                    width,
                };
                tree::block_of_rows(&rows, count, width, lanes, sum);
            }
            _ => {
                let table = &mut table[..count * width];
                let stride = self.summed.inner().strides[0];
                let across = self.columns.strides[0];
                let mut rest = &mut *table;
                self.summed.for_each_row(range, |[offset], len| {
                    let (rows, after) = std::mem::take(&mut rest).split_at_mut(len * width);
                    rest = after;
                    let first = base.wrapping_offset(offset);
                    let term = |i: usize, column: usize| {
                        let along = stride.wrapping_mul(i as isize);
                        let aside = across.wrapping_mul(column as isize);
                        // SAFETY: a term of this stretch, of one of the columns.
                        unsafe { first.wrapping_offset(along).wrapping_offset(aside).read() }
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
                tree::block_of_table(table, width, self.reading, lanes, &mut [], sum);
            }
        }
    }

    /// Puts or adds sums to `out`: those of the columns from `first` on, where the position's offset is `offset`.
    ///
    /// # Safety
    ///
    /// As `reduce` for these columns; no other thread has them.
    #[inline(always)]
    unsafe fn write(&self, sums: &[A], offset: isize, first: usize) {
        let stride = self.columns.strides[1];
        let out = self
            .out
            .wrapping_offset(offset)
            .wrapping_offset(stride.wrapping_mul(first as isize));
        if self.streams {
            let (from, to) = (sums.as_ptr().cast::<u8>(), out.cast::<u8>());
            // SAFETY: as for the copy below. `reduce` fences.
            unsafe { stream(from, to, size_of_val(sums)) };
            return;
        }
        if stride == 1 && self.then != Then::Add {
            // SAFETY: `sums.len()` neighbouring places of `out`, for which the caller vouches; `sums` is not of `out`.
            unsafe { std::ptr::copy_nonoverlapping(sums.as_ptr(), out, sums.len()) };
            return;
        }
        for (column, &sum) in sums.iter().enumerate() {
            let place = out.wrapping_offset(stride.wrapping_mul(column as isize));
            let value = if self.then == Then::Add {
                // SAFETY: a place of `out`, initialised as it is added to.
                let before = unsafe { place.read() };
                before + sum
            } else {
                sum
            };
            // SAFETY: a place of `out`.
            unsafe { place.write(value) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The way for columns of one size and stride, and summed axes with theirs.
    fn path(columns: (usize, isize), summed: &[(usize, isize)]) -> Path {
        let axes = summed.iter().map(|&(size, stride)| LoopAxis {
            size,
            strides: [stride],
        });
        let columns = LoopAxis {
            size: columns.0,
            strides: [columns.1, 1],
        };
        choose(columns, &LoopNest::in_order(axes).unwrap())
    }

    /// Every way is right for every layout; which one is taken makes the speed.
    #[test]
    fn each_layout_goes_its_way() {
        // A few terms of each column, all side by side.
        assert_eq!(path((100, 2), &[(2, 1)]), Path::Few);
        assert_eq!(path((100, 16), &[(16, 1)]), Path::Few);
        assert_eq!(path((100, 17), &[(17, 1)]), Path::Runs);
        assert_eq!(path((100, 3), &[(2, 1)]), Path::Gather);
        assert_eq!(path((100, 4), &[(2, 2)]), Path::Gather);
        // Long runs of terms.
        assert_eq!(path((100, 20), &[(16, 1)]), Path::Runs);
        assert_eq!(path((100, 20), &[(15, 1)]), Path::Gather);
        assert_eq!(path((100, 1000), &[(3, 50), (16, 1)]), Path::Runs);
        assert_eq!(path((100, 1000), &[(3, 50), (15, 1)]), Path::Gather);
        assert_eq!(path((100, 1), &[(16, 1)]), Path::Runs);
        // Rows of columns one after the other, narrow and wide; rows with gaps.
        assert_eq!(path((64, 1), &[(100, 64)]), Path::Table);
        assert_eq!(path((65, 1), &[(100, 65)]), Path::Rows);
        assert_eq!(path((128, 1), &[(8, 128)]), Path::Table);
        assert_eq!(path((129, 1), &[(8, 129)]), Path::Rows);
        assert_eq!(path((2, 1), &[(100, 2)]), Path::Table);
        assert_eq!(path((64, 1), &[(100, 65)]), Path::Rows);
        assert_eq!(path((64, 1), &[(10, 9000), (100, 64)]), Path::Rows);
        assert_eq!(path((8, 1), &[(100, 9)]), Path::Rows);
        assert_eq!(path((7, 1), &[(100, 9)]), Path::Gather);
        assert_eq!(path((1, 1), &[(100, 1000)]), Path::Gather);
        assert_eq!(path((1, 1), &[(15, 1)]), Path::Gather);
        assert_eq!(path((64, 2), &[(100, 64)]), Path::Gather);
    }

    #[test]
    fn sizes_are_in_their_order() {
        let (line, page) = (64, 4096);
        let sizes = [
            line,
            NARROW_ROW_BYTES,
            ROW_BYTES,
            TABLE_BYTES,
            TASK_BYTES,
            LONG_TASK_BYTES,
            STREAM_FROM,
        ];
        assert!(sizes.is_sorted_by(|a, b| a < b), "{sizes:?}");
        let sizes = [line, STREAM_ROW_BYTES, page, STREAM_BYTES, LONG_TASK_BYTES];
        assert!(sizes.is_sorted_by(|a, b| a < b), "{sizes:?}");
    }

    #[test]
    fn long_stretches_are_read_at_four_places_in_turn() {
        assert_eq!(STREAMS, 4);
        let in_turn = [0, 2, 4, 6, 1, 3, 5, 7, 8, 9, 10];
        for (count, bytes, order) in [
            (11, STREAM_BYTES, &in_turn[..]),
            (11, STREAM_BYTES / 2, &in_turn),
            (
                11,
                STREAM_BYTES / 2 - 1,
                &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
            ),
            (
                12,
                STREAM_BYTES / 3,
                &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
            ),
            (
                12,
                STREAM_BYTES / 3 + 1,
                &[0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11],
            ),
            (3, usize::MAX, &[0, 1, 2]),
            (9, usize::MAX, &[0, 2, 4, 6, 1, 3, 5, 7, 8]),
            (0, STREAM_BYTES, &[]),
        ] {
            let found: Vec<usize> = in_streams(count, bytes).collect();
            assert_eq!(found, order, "{count} of {bytes}");
        }
    }

    /// By the bytes of sixteen rows.
    #[test]
    fn tables_are_read_in_streams_that_go_together() {
        for (width, reading) in [
            (1, Reading::Four),
            (4, Reading::Four),
            (5, Reading::Copied),
            (63, Reading::Copied),
            (64, Reading::Eight),
            (1000, Reading::Eight),
        ] {
            assert_eq!(Reading::of_memory::<f32>(width), reading, "{width}");
        }
        assert_eq!(Reading::of_memory::<f64>(2), Reading::Four);
        assert_eq!(Reading::of_memory::<f64>(3), Reading::Copied);
        assert_eq!(Reading::of_memory::<f64>(32), Reading::Eight);
        assert_eq!(Reading::of_memory::<u8>(16), Reading::Four);
        assert_eq!(Reading::of_memory::<u8>(17), Reading::Copied);
        assert_eq!(Reading::of_memory::<u8>(255), Reading::Copied);
        assert_eq!(Reading::of_memory::<u8>(256), Reading::Eight);
    }
}
