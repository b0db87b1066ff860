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

use super::block::{Along, Block};
use super::fold::{
    FEW_TERMS, Facts, Kernel, LEAF, Leaves, OPERANDS, Places, Rows, Runs, Stack, Steps, live_lanes,
    moved,
};
use super::gather::{MORE_ROWS, Pack, pack_or_splat};
use super::maps::Operand;
use super::nest::{LoopAxis, LoopNest, for_each_tile, offsets_of};
use super::reduction::LANES;
use super::threads::{Cost, PARALLEL_FROM, max_threads, share};
use super::tuning::{
    BLOCK, CACHE_LINE, CHUNK_BYTES, CHUNKS_OF_A_THREAD, FEW_ELEMENTS, LARGE_ELEMENT, PAGE,
    SECOND_LEVEL_CACHE,
};
use crate::error::{BroadcastError, reserved};
use crate::shape::replicates;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Leaves of one column that are gathered together. Of runs of several axes whole rows are
/// gathered, of about as many terms or more.
const LEAVES_AT_ONCE: usize = 16;

/// Rows of up to this many columns are folded as one row, if they are adjacent.
const NARROW: usize = 8 * LANES;

/// Strides of a loop, in bytes: their sum, of the operands, and of the results.
///
/// The sum comes first, as it decides the order of the loops. It has the sign of the longest
/// stride, so that this operand is walked forwards.
const STRIDES: usize = OPERANDS + 2;

const SECTIONS: usize = 3 + OPERANDS;

type Axis = LoopAxis<STRIDES>;
type Nest = LoopNest<STRIDES>;

const BITS: usize = usize::BITS as usize;

/// Where the results go.
pub(crate) struct Target<'a> {
    pub(crate) first: *mut u8,
    pub(crate) shape: &'a [usize],
    /// In elements.
    pub(crate) strides: &'a [isize],
    /// Bytes of an element.
    pub(crate) size: usize,
    /// Whether the accumulators themselves are the results.
    pub(crate) unfinished: bool,
}

/// Which terms of each sum are reduced.
#[derive(Debug, Clone)]
pub(crate) struct Terms {
    /// Positions in the order of the axes that are summed.
    pub(crate) range: Range<usize>,
    /// The number of position 0 among all terms; wraps.
    pub(crate) number: usize,
}

/// In the list of axes of [`reduce`]: the axis is summed.
pub(crate) const SUMMED: usize = usize::MAX;

/// Reduces all columns, and writes each result once. Returns how many there are.
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
/// kernel's type of results; of accumulators, if they are unfinished. If results are added, they
/// are initialised.
pub(crate) unsafe fn reduce(
    kernel: &dyn Kernel,
    becomes: &[usize],
    target: &Target<'_>,
    terms: Terms,
) -> Result<usize, BroadcastError> {
    let facts = kernel.facts();
    let Facts { inputs, shape, .. } = facts;
    assert!(becomes.len() == shape.len() && !terms.range.is_empty());
    let fits = inputs.iter().all(|input| replicates(input.shape, shape));
    assert!(fits, "an input does not replicate to the terms");
    let axis = |axis: usize, place: isize| Axis {
        size: shape[axis],
        strides: strides(inputs, axis, shape.len(), place),
    };
    let is_kept = |&axis: &usize| becomes[axis] != SUMMED;
    // A bit for each axis of the target.
    let (mut few, mut many);
    let words = target.shape.len().div_ceil(BITS);
    let named = if words <= 1 {
        few = [0_usize];
        &mut few[..]
    } else {
        many = reserved(words)?;
        many.resize(words, 0);
        &mut many[..]
    };
    for at in (0..shape.len()).filter(is_kept) {
        let to = becomes[at];
        assert_eq!(target.shape[to], shape[at], "sizes differ");
        assert!(
            named[to / BITS] >> (to % BITS) & 1 == 0,
            "an axis is named twice"
        );
        named[to / BITS] |= 1 << (to % BITS);
    }
    for (at, &size) in target.shape.iter().enumerate() {
        let is_named = named[at / BITS] >> (at % BITS) & 1 == 1;
        assert!(is_named || size == 1, "an axis is not named");
    }
    // With so few bytes, the calling thread does all, however slow the closure is.
    let elements = (shape.iter()).fold(1_usize, |len, &size| len.saturating_mul(size));
    let term: usize = inputs.iter().map(|input| input.size).sum();
    let alone = facts.is_quick || elements.saturating_mul(term) <= BLOCK;
    if !target.unfinished && alone && (1..=FEW_ELEMENTS).contains(&elements) {
        // SAFETY: the contract of this function.
        if let Some(count) = unsafe { reduce_few(kernel, &facts, becomes, target) } {
            return Ok(count);
        }
    }
    let (mut kept, mut summed) = (Nest::empty(), Nest::empty());
    kept.fill((0..shape.len()).filter(is_kept).map(|at| {
        let stride = target.strides[becomes[at]].wrapping_mul(target.size as isize);
        axis(at, stride)
    }))?;
    kept.sort();
    let of_terms = (0..shape.len()).filter(|at| !is_kept(at));
    summed.fill(of_terms.map(|at| axis(at, 0)))?;
    assert!(terms.range.end <= summed.len());
    let count = kept.len();
    if count == 0 {
        return Ok(0);
    }
    let bytes = bytes_of(inputs, &kept, &summed, terms.range.len());
    let cost = match facts.is_quick {
        true => Cost::Bytes(bytes),
        false => Cost::Closure { bytes },
    };
    let plan = Plan::new(kernel, &facts, &kept, &summed, terms, cost);
    let driver = Driver {
        kernel,
        facts,
        plan,
        target: target.first,
        unfinished: target.unfinished,
        reduced: AtomicUsize::new(0),
    };
    driver.run(cost)
}

/// [`reduce`] of few elements, without nests and a plan: these take longer than the elements do.
/// `None`: nothing has been done, as there is no room or the elements do not lie side by side.
///
/// # Safety
///
/// As for [`reduce`], whose checks have been made. There is an element.
#[inline(never)]
unsafe fn reduce_few(
    kernel: &dyn Kernel,
    facts: &Facts<'_>,
    becomes: &[usize],
    target: &Target<'_>,
) -> Option<usize> {
    let (inputs, shape, acc) = (facts.inputs, facts.shape, facts.size);
    if alignment(facts) > CACHE_LINE {
        return None;
    }
    // The strides of the operands and of the target.
    let (mut kept, mut summed) = (LoopAxis::UNIT, LoopAxis::UNIT);
    for (axis, (&size, &to)) in shape.iter().zip(becomes).enumerate() {
        if size == 1 {
            continue;
        }
        let mut strides = [0; OPERANDS + 1];
        for (stride, input) in strides.iter_mut().zip(inputs) {
            *stride = (input.stride(axis, shape.len())).wrapping_mul(input.size as isize);
        }
        let outer = match to {
            SUMMED => &mut summed,
            to => {
                strides[OPERANDS] = target.strides[to].wrapping_mul(target.size as isize);
                &mut kept
            }
        };
        let inner = LoopAxis { size, strides };
        if outer.size > 1 && !outer.continues(&inner) {
            return None;
        }
        *outer = inner.resized(outer.size * size);
    }
    let ([down @ .., place], [along @ .., _]) = (kept.strides, summed.strides);
    let (columns, terms) = (kept.size, summed.size);
    let mut first = [ptr::null(); OPERANDS];
    let mut chunk = [0; OPERANDS];
    let (mut side_by_side, mut in_runs, mut adjacent) = (true, true, true);
    for (operand, input) in inputs.iter().enumerate() {
        let size = input.size as isize;
        (first[operand], chunk[operand]) = (input.first.cast_const(), size * LANES as isize);
        side_by_side &= columns == 1 || down[operand] == size;
        in_runs &= terms == 1 || along[operand] == size;
        adjacent &= along[operand] == size * columns as isize;
    }
    let size = inputs.iter().map(|input| input.size).max()?;
    let mut memory = Few::uninit();
    let stack = Stack {
        first: memory.as_mut_ptr().cast(),
        width: columns,
    };
    let room = size_of::<Few>();
    // In so small a call, to fold few terms takes less time than to gather them, whatever their
    // size.
    let few = terms <= FEW_TERMS && columns > 1;
    let mut sums = stack.first.cast_const();
    if in_runs
        && (few && !side_by_side || !kernel.is_short(terms, false))
        && acc < LARGE_ELEMENT
        && size < LARGE_ELEMENT
    {
        let leaves = terms.div_ceil(LEAF);
        if columns * acc * (leaves.ilog2() as usize + 1) > room {
            return None;
        }
        let (column, leaf) = (down, chunk.map(|bytes| bytes * (LEAF / LANES) as isize));
        let runs = Runs {
            first,
            columns,
            column,
            leaf,
            terms,
            number: 0,
        };
        // SAFETY: runs of the inputs; there is room for the sums of all levels.
        unsafe { fold_runs(kernel, &runs, stack, 0) };
        // SAFETY: they have been pushed.
        sums = unsafe { kernel.close(columns, stack, leaves) };
    } else {
        let bytes = columns * acc;
        let scratch = (1 + live_lanes(terms)) * bytes;
        let pack = inputs[0].packs.filter(|_| in_runs && inputs.len() == 1);
        let table = match (side_by_side, pack) {
            (true, _) => 0,
            (false, None) => return None,
            (false, Some(_)) => (terms + MORE_ROWS) * columns * size,
        };
        let begin = (bytes + scratch).next_multiple_of(CACHE_LINE);
        if begin + table > room || terms > LEAF {
            return None;
        }
        let mut steps = along;
        if let (false, Some(pack)) = (side_by_side, pack) {
            let (to, pitch) = (stack.first.wrapping_add(begin), columns * size);
            let block = Block {
                to,
                pitch,
                from: first[0],
                rows: Along {
                    len: terms,
                    step: along[0],
                },
                columns: Along {
                    len: columns,
                    step: down[0],
                },
            };
            // SAFETY: all elements of the input; there is room for them and for `MORE_ROWS`.
            unsafe { pack(block) };
            (first[0], steps[0], adjacent) = (to, pitch as isize, true);
        }
        let rows = Rows {
            first,
            count: terms,
            step: steps,
            offsets: None,
            chunk,
            columns,
            adjacent,
            number: 0,
        };
        // SAFETY: rows of the inputs, or of the table; there is room for the sums, and behind them
        // for what a leaf needs.
        unsafe {
            kernel.fold(
                Leaves::Rows(&rows, stack.first.wrapping_add(bytes)),
                stack,
                0,
            )
        };
    }
    // SAFETY: the sums have been written; the places of the target: the contract of this function.
    unsafe { kernel.finish(sums, columns, terms, target.first, place) };
    Some(columns)
}

/// Folds runs of any length, and pushes the sums of their leaves.
///
/// # Safety
///
/// As for [`Kernel::fold`].
unsafe fn fold_runs(kernel: &dyn Kernel, runs: &Runs, stack: Stack, index: usize) {
    let (whole, rest) = (runs.terms / LEAF, runs.terms % LEAF);
    if whole == 0 || rest == 0 {
        // SAFETY: the contract of this function.
        return unsafe { kernel.fold(Leaves::Runs(runs), stack, index) };
    }
    // The last leaves of some columns are folded after the others, if they are short. Otherwise
    // memory would be read in pieces with gaps: 30000 runs of 500 `f32` would take 6.9 ms, not 2.7.
    let at_once = if rest <= 4 * LANES { 4 } else { 1 };
    let acc = kernel.facts().size;
    for column in (0..runs.columns).step_by(at_once) {
        let first = moved(runs.first, OPERANDS, &runs.column, column);
        let stack = Stack {
            first: stack.first.wrapping_add(column * acc),
            ..stack
        };
        let leaves = Runs {
            first,
            columns: at_once.min(runs.columns - column),
            terms: whole * LEAF,
            ..*runs
        };
        // SAFETY: a part of the runs.
        unsafe { kernel.fold(Leaves::Runs(&leaves), stack, index) };
        let last = Runs {
            first: moved(first, OPERANDS, &runs.leaf, whole),
            terms: rest,
            number: runs.number.wrapping_add(whole * LEAF),
            ..leaves
        };
        // SAFETY: a part of the runs.
        unsafe { kernel.fold(Leaves::Runs(&last), stack, index + whole) };
    }
}

/// The alignment of scratch memory, in which accumulators and copies of elements lie.
fn alignment(facts: &Facts<'_>) -> usize {
    let elements = facts.inputs.iter().map(|input| input.align);
    elements.fold(facts.align, usize::max)
}

/// The strides of one axis of `rank`.
fn strides(inputs: &[Operand<'_>], axis: usize, rank: usize, place: isize) -> [isize; STRIDES] {
    let mut strides = [0; STRIDES];
    let (mut sum, mut longest) = (0_isize, 0_isize);
    for (operand, input) in inputs.iter().enumerate() {
        let stride = (input.stride(axis, rank)).wrapping_mul(input.size as isize);
        strides[1 + operand] = stride;
        sum = sum.wrapping_add(stride.wrapping_abs());
        if stride.unsigned_abs() > longest.unsigned_abs() {
            longest = stride;
        }
    }
    strides[0] = if longest < 0 { sum.wrapping_neg() } else { sum };
    strides[STRIDES - 1] = place;
    strides
}

/// How many bytes of the inputs `terms` terms of each column are computed of. An input whose
/// strides are all 0 is not counted, but each term is: as one byte at least.
fn bytes_of(inputs: &[Operand<'_>], kept: &Nest, summed: &Nest, terms: usize) -> usize {
    let moves = |operand: usize| {
        let mut axes = kept.axes().iter().chain(summed.axes());
        axes.any(|axis| axis.strides[1 + operand] != 0)
    };
    let sizes = inputs.iter().enumerate();
    let term: usize = sizes
        .filter(|&(i, _)| moves(i))
        .map(|(_, input)| input.size)
        .sum();
    kept.len().saturating_mul(terms).saturating_mul(term.max(1))
}

/// The steps of the operands.
fn steps(strides: [isize; STRIDES]) -> Steps {
    std::array::from_fn(|operand| strides[1 + operand])
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    Rows,
    Runs,
    Tables,
}

/// How the work is cut, and what a thread needs for it.
struct Plan<'n> {
    kept: &'n Nest,
    summed: &'n Nest,
    terms: Terms,
    access: Access,
    /// Columns of a unit, at most.
    columns: usize,
    /// Terms of a chunk: whole leaves, a power of two of them.
    chunk: usize,
    chunks: usize,
    /// Units that a thread takes at once.
    at_once: usize,
    /// Whether the terms of each column are one run, in all operands.
    in_place: bool,
    /// Terms of a column that are read before those of the next column are: all inside the axes
    /// that are kept.
    run: usize,
    /// Terms of one column that are gathered together, if they are many: leaves of a row, or rows.
    piece: usize,
    threads: usize,
    /// Bytes of the sections of scratch memory: lanes, stack, offsets of rows, and the table of
    /// each operand.
    sections: [usize; SECTIONS],
}

impl<'n> Plan<'n> {
    fn new(
        kernel: &dyn Kernel,
        facts: &Facts<'_>,
        kept: &'n Nest,
        summed: &'n Nest,
        terms: Terms,
        cost: Cost,
    ) -> Self {
        let (inputs, acc) = (facts.inputs, facts.size);
        let count = terms.range.len();
        let (inner, term) = (kept.inner(), summed.inner());
        let key = |axis: &Axis| axis.strides[0].unsigned_abs();
        let nearest = |axes: &[Axis]| axes.iter().map(key).min().unwrap_or(usize::MAX);
        let (Cost::Bytes(bytes) | Cost::Closure { bytes }) = cost;
        let least = match cost {
            Cost::Bytes(_) => *CHUNK_BYTES.start(),
            Cost::Closure { .. } => BLOCK,
        };
        let threads = match cost {
            Cost::Bytes(bytes) if bytes < PARALLEL_FROM => 1,
            _ if bytes <= least => 1,
            _ => max_threads(),
        };

        let size = inputs
            .iter()
            .map(|input| input.size)
            .max()
            .unwrap_or(1)
            .max(1);
        let large = acc >= LARGE_ELEMENT || size >= LARGE_ELEMENT;
        let columns_near = nearest(kept.axes()) < nearest(summed.axes());
        let side_by_side =
            (0..inputs.len()).all(|i| inner.strides[1 + i] == inputs[i].size as isize);
        let all_rows_adjacent = side_by_side
            && kept.axes().len() == 1
            && summed.axes().len() <= 1
            && (0..inputs.len())
                .all(|i| term.strides[1 + i] == (inner.size * inputs[i].size) as isize);
        // Whether no operand is gathered into rows.
        let lies_well = (0..inputs.len()).all(|i| {
            let stride = inner.strides[1 + i];
            stride == 0 || stride == inputs[i].size as isize
        });
        let in_place = summed.axes().len() <= 1
            && (0..inputs.len()).all(|i| form(inputs, &term, i) == Form::Contiguous);
        // Rows are folded where they lie only if a unit has many terms. To start a unit of few
        // terms takes longer than to gather them.
        let many_terms = inner.size.saturating_mul(count.min(LEAF)) >= LEAF;
        let long_rows = inner.size >= LANES && many_terms;
        let access = match (columns_near, large) {
            (_, true) => Access::Rows,
            (true, _) if all_rows_adjacent || long_rows => Access::Rows,
            (true, _) => Access::Tables,
            (false, _) if kernel.is_short(count, in_place) && kept.len() > 1 => Access::Tables,
            (false, _) => Access::Runs,
        };
        let run = run(kept, summed);
        // So many leaves of tables stay in the second-level cache.
        let leaves_in_cache = SECOND_LEVEL_CACHE / 4 / (LEAF * size);
        // Many terms are gathered as one block: leaves of a row, or rows of a run, whose lines are
        // then read once. A line has `LANES` elements of 4 bytes. Of lines that are pages apart,
        // those that follow each other are read together: nothing else fetches them in advance.
        // All terms of `f32 [2000, 3000]` in Fortran order take 3.1 ms, and 7.4 by 21 rows.
        let many = LEAVES_AT_ONCE * LEAF;
        let (piece, spare) = if run == term.size {
            (many, 0)
        } else {
            let lines = if key(&term) < PAGE { 1 } else { 4 };
            let in_cache = SECOND_LEVEL_CACHE / size / term.size / LANES * LANES;
            let rows = (many / term.size).max(lines * LANES).min(in_cache);
            let most = CHUNK_BYTES.end() / size;
            match rows.max(LANES).min(most / term.size) {
                0 => (most, 0),
                1 => (term.size, 0),
                // After several rows the gather may write more of them.
                rows => (rows * term.size, MORE_ROWS * term.size),
            }
        };
        let at_once = match threads {
            1 => *CHUNK_BYTES.end(),
            _ => (bytes / (CHUNKS_OF_A_THREAD * threads)).clamp(least, *CHUNK_BYTES.end()),
        };
        let leaf = count.min(LEAF);
        let table = BLOCK / (leaf * size.max(acc));
        let wanted = match access {
            // One by one, as what lies between columns is not known.
            Access::Rows if large && !side_by_side => 1,
            Access::Rows if !lies_well => (SECOND_LEVEL_CACHE / 8 / (leaf * size)).max(2 * LANES),
            Access::Rows => 2 * PAGE / size.max(acc),
            Access::Tables => table.max(2 * LANES),
            Access::Runs if !in_place => leaves_in_cache,
            // As many as a thread takes at once.
            Access::Runs => at_once / count.saturating_mul(size),
        };
        let leaves = count.div_ceil(LEAF);
        let mut columns = wanted.clamp(1, kept.len());
        // So many units keep all threads busy to the end.
        let many = 8 * threads;
        if threads > 1 && access == Access::Runs {
            columns = columns.min(kept.len().div_ceil(many));
        } else if threads > 1 && leaves < 2 * threads {
            // Few terms: columns are all that can be shared.
            let narrow = kept.len().div_ceil(2 * threads).next_multiple_of(LANES);
            columns = columns.min(narrow.max(4 * LANES));
        }
        if access == Access::Rows {
            // Pieces of a row of equal length.
            let pieces = inner.size.div_ceil(columns);
            columns = match pieces {
                1 => inner.size,
                _ => inner
                    .size
                    .div_ceil(pieces)
                    .next_multiple_of(LANES)
                    .min(columns),
            };
        }
        let units = kept.len().div_ceil(columns);
        let mut chunk = leaves;
        if threads > 1 && units < many {
            // A chunk may be half as long as one that a thread takes alone, not shorter.
            let row = columns * size;
            let shortest = (CHUNK_BYTES.start() / 2 / LEAF / row).max(1);
            chunk = leaves.div_ceil((many / 2).div_ceil(units)).max(shortest);
        }
        let chunk = chunk.next_power_of_two();
        let chunks = leaves.div_ceil(chunk);
        let leaves = chunk.min(leaves);
        let units_at_once = match threads {
            1 => usize::MAX,
            _ => (at_once / (bytes / units / chunks).max(1)).max(1),
        };

        let align = alignment(facts).max(CACHE_LINE);
        let lines = |bytes: usize| bytes.next_multiple_of(align);
        let mut sections = [0; SECTIONS];
        // `Unit::offsets_of`: one for each row of a leaf.
        if access == Access::Rows && summed.axes().len() > 1 {
            sections[2] = lines(leaf * size_of::<Steps>());
        }
        // The scratch memory of `Kernel::fold`.
        if access != Access::Runs {
            sections[0] = lines(columns * (1 + live_lanes(leaf)) * acc);
        }
        // The stack has a level for each binary digit of the number of leaves.
        let levels = leaves.ilog2() as usize + 1;
        sections[1] = lines(levels * columns * acc);
        // `gather_rows`: the rows of a leaf, or as many of `LANES` copies; then `MORE_ROWS`.
        // `read_run`: a leaf of each column, and `MORE_ROWS`; a leaf of one column, which waits,
        // a piece of it, and its spare rows.
        // Large elements have no table: all are side by side, or each is a column of its own. So no
        // product overflows.
        for (operand, input) in inputs.iter().enumerate() {
            let lies_well = columns == 1 || inner.strides[1 + operand] == input.size as isize;
            let elements = match access {
                Access::Runs if in_place => 0,
                Access::Runs => (columns + 1 + MORE_ROWS) * LEAF + piece.min(leaves * LEAF) + spare,
                Access::Rows if lies_well => 0,
                _ => (leaf + MORE_ROWS) * columns.max(LANES),
            };
            sections[3 + operand] = lines(elements * input.size);
        }
        Plan {
            threads: threads.min((units * chunks).div_ceil(units_at_once)).max(1),
            kept,
            summed,
            terms,
            access,
            columns,
            chunk: chunk * LEAF,
            chunks,
            at_once: units_at_once,
            in_place,
            run,
            piece,
            sections,
        }
    }

    /// The columns of a unit and its chunk of terms.
    fn unit(&self, unit: usize) -> (Range<usize>, usize) {
        let units = self.kept.len().div_ceil(self.columns);
        let first = unit % units * self.columns;
        let columns = first..self.kept.len().min(first + self.columns);
        (columns, unit / units)
    }
}

/// How many terms a run has: those of the innermost axes that are all nearer than the columns.
fn run(kept: &Nest, summed: &Nest) -> usize {
    let key = |axis: &Axis| axis.strides[0].unsigned_abs();
    let columns = kept.axes().iter().map(key).min().unwrap_or(usize::MAX);
    let (inner, outer) = match summed.axes() {
        [outer @ .., inner] => (inner.size, outer),
        [] => return 1,
    };
    let nearer = outer.iter().rev().take_while(|axis| key(axis) < columns);
    nearer.fold(inner, |run, axis| run * axis.size)
}

struct Driver<'k> {
    kernel: &'k dyn Kernel,
    facts: Facts<'k>,
    plan: Plan<'k>,
    target: *mut u8,
    unfinished: bool,
    /// Columns of the units that are done.
    reduced: AtomicUsize,
}

// SAFETY: threads write to the target in distinct units only, whose results are `Send`; kernels are
// `Sync`; the plan is data.
unsafe impl Sync for Driver<'_> {}

impl Driver<'_> {
    /// Reduces all units.
    fn run(&self, cost: Cost) -> Result<usize, BroadcastError> {
        let plan = &self.plan;
        let (acc, align) = (self.facts.size, alignment(&self.facts));
        let count = plan.kept.len();
        let bytes: usize = plan.sections.iter().sum();
        // A row of accumulators for each chunk, if there are several. There are few columns then.
        let rows = usize::from(plan.chunks > 1) * plan.chunks;
        let parts = Memory::new(rows * count * acc, align)?;
        let units = count.div_ceil(plan.columns) * plan.chunks;
        if plan.threads == 1 {
            let mut few = Few::uninit();
            let memory;
            let scratch = if bytes <= size_of::<Few>() && align <= CACHE_LINE {
                few.as_mut_ptr().cast()
            } else {
                memory = Memory::new(bytes, align)?;
                memory.first
            };
            (0..units).for_each(|unit| self.unit(unit, scratch, &parts));
            return self.join(&parts);
        }
        let mut scratch = reserved(plan.threads)?;
        for _ in 0..plan.threads {
            scratch.push(Memory::new(bytes, align)?);
        }
        let scratch = Mutex::new(scratch);
        share(units.div_ceil(plan.at_once), cost, |ranges| {
            let lock = || scratch.lock().unwrap_or_else(PoisonError::into_inner);
            // The pool may have got more threads since: they leave the units to the others.
            let Some(own) = lock().pop() else { return };
            for range in ranges {
                let end = units.min(range.end.saturating_mul(plan.at_once));
                for unit in range.start * plan.at_once..end {
                    self.unit(unit, own.first, &parts);
                }
            }
            lock().push(own);
        });
        self.join(&parts)
    }

    /// Reduces one unit, and writes its results, or its part of them.
    fn unit(&self, unit: usize, scratch: *mut u8, parts: &Memory) {
        let plan = &self.plan;
        let (columns, chunk) = plan.unit(unit);
        let first = plan.terms.range.start + chunk * plan.chunk;
        let terms = first..plan.terms.range.end.min(first + plan.chunk);
        let mut at = scratch;
        let mut sections = [scratch; SECTIONS];
        for (section, &bytes) in sections.iter_mut().zip(&plan.sections) {
            *section = at;
            at = at.wrapping_add(bytes);
        }
        let [lanes, stack, offsets, tables @ ..] = sections;
        let offsets = offsets.cast();
        let unit = Unit {
            driver: self,
            terms,
            lanes,
            stack,
            offsets,
            tables,
        };
        let acc = self.facts.size;
        let first_column = columns.start;
        let mut done = first_column;
        let mut put = |sums: *const u8, count: usize| {
            if plan.chunks == 1 {
                self.write(sums, done..done + count);
            } else {
                let at = (chunk * plan.kept.len() + done) * acc;
                // SAFETY: the accumulators of these columns, and their places among the parts,
                // which belong to this unit.
                unsafe {
                    ptr::copy_nonoverlapping(sums, parts.first.wrapping_add(at), count * acc)
                };
            }
            done += count;
        };
        match plan.access {
            Access::Rows => {
                let mut from = columns.start;
                plan.kept.for_each_row(columns, &mut |_, count| {
                    put(unit.rows(from..from + count), count);
                    from += count;
                });
            }
            Access::Tables => put(unit.rows(columns.clone()), columns.len()),
            Access::Runs => put(unit.runs(columns.clone()), columns.len()),
        }
        // Relaxed: who reads it waits for this thread first.
        self.reduced
            .fetch_add(done - first_column, Ordering::Relaxed);
    }

    /// Combines the chunks' parts, and writes the results.
    fn join(&self, parts: &Memory) -> Result<usize, BroadcastError> {
        let (plan, count) = (&self.plan, self.plan.kept.len());
        let reduced = self.reduced.load(Ordering::Relaxed);
        assert_eq!(reduced, count * plan.chunks, "units were left out");
        if plan.chunks > 1 {
            let Facts {
                size: acc, align, ..
            } = self.facts;
            let levels = plan.chunks.ilog2() as usize + 1;
            let memory = Memory::new(levels * count * acc, align)?;
            let stack = Stack {
                first: memory.first,
                width: count,
            };
            for chunk in 0..plan.chunks {
                let part = parts.first.wrapping_add(chunk * count * acc);
                // SAFETY: each unit has written its part, and there is room for all levels.
                unsafe { self.kernel.push(part, count, stack, chunk) };
            }
            // SAFETY: all parts have been pushed.
            let sums = unsafe { self.kernel.close(count, stack, plan.chunks) };
            self.write(sums, 0..count);
        }
        Ok(count)
    }

    /// Writes the results of these columns.
    fn write(&self, sums: *const u8, columns: Range<usize>) {
        let (plan, acc) = (&self.plan, self.facts.size);
        let stride = plan.kept.inner().strides[STRIDES - 1];
        let mut sums = sums;
        plan.kept.for_each_row(columns, &mut |offsets, count| {
            let to = self.target.wrapping_byte_offset(offsets[STRIDES - 1]);
            if self.unfinished {
                for i in 0..count {
                    let to = to.wrapping_byte_offset(stride.wrapping_mul(i as isize));
                    // SAFETY: an accumulator, and the place of its column.
                    unsafe { ptr::copy_nonoverlapping(sums.wrapping_add(i * acc), to, acc) };
                }
            } else {
                // SAFETY: accumulators, and the places of their columns.
                unsafe {
                    self.kernel
                        .finish(sums, count, plan.terms.range.len(), to, stride)
                };
            }
            sums = sums.wrapping_add(count * acc);
        });
    }
}

/// A unit of work on a thread, with the thread's memory.
struct Unit<'u, 'k> {
    driver: &'u Driver<'k>,
    terms: Range<usize>,
    lanes: *mut u8,
    stack: *mut u8,
    offsets: *mut Steps,
    tables: [*mut u8; OPERANDS],
}

/// What a loop over the terms or columns of an operand is for the inner loops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Read where it lies.
    Contiguous,
    /// One element, which is written out [`LANES`] or [`LEAF`] times.
    Repeated,
    /// Gathered.
    Strided,
}

/// What a loop is for an operand.
fn form(inputs: &[Operand<'_>], axis: &Axis, operand: usize) -> Form {
    // Elements of size 0 are contiguous, whatever their strides.
    match axis.strides[1 + operand] {
        _ if axis.size == 1 => Form::Contiguous,
        0 if inputs[operand].size > 0 => Form::Repeated,
        stride if stride == inputs[operand].size as isize => Form::Contiguous,
        _ => Form::Strided,
    }
}

impl Unit<'_, '_> {
    fn inputs(&self) -> &[Operand<'_>] {
        self.driver.facts.inputs
    }

    fn first(&self) -> Places {
        let mut first = [ptr::null(); OPERANDS];
        for (first, input) in first.iter_mut().zip(self.inputs()) {
            *first = input.first.cast_const();
        }
        first
    }

    /// The gather of an operand. Large elements are read where they lie: see `Plan::new`.
    fn pack(&self, operand: usize) -> &'static Pack {
        let pack = self.inputs()[operand].packs;
        pack.expect("small elements may be packed")
    }

    /// Calls `f` for each leaf with its number in the unit, and its terms.
    fn for_each_leaf(&self, mut f: impl FnMut(usize, Range<usize>)) {
        for (index, at) in self.terms.clone().step_by(LEAF).enumerate() {
            f(index, at..self.terms.end.min(at + LEAF));
        }
    }

    fn number(&self, term: usize) -> usize {
        self.driver.plan.terms.number.wrapping_add(term)
    }

    /// The sums of what is on the stack after all leaves.
    fn close(&self, stack: Stack) -> *const u8 {
        let leaves = self.terms.len().div_ceil(LEAF);
        // SAFETY: a sum of each column has been pushed for each leaf.
        unsafe { self.driver.kernel.close(stack.width, stack, leaves) }
    }

    /// The offsets of a leaf's rows, from the first of them on. `table` has the bytes of a row of
    /// each operand that has been gathered.
    fn offsets_of(&self, terms: Range<usize>, forms: &[Form; OPERANDS], table: &Steps) -> &[Steps] {
        let summed = &self.driver.plan.summed;
        let (term, count) = (summed.inner(), terms.len());
        assert!(count <= LEAF.min(self.terms.len()));
        let begin = steps(offsets_of(summed.axes(), [0; STRIDES], terms.start));
        let mut row = 0;
        summed.for_each_row(terms, &mut |from, len| {
            for i in 0..len {
                let mut offset = steps(term.moved(from, i));
                for (operand, offset) in offset.iter_mut().enumerate() {
                    *offset = match forms[operand] {
                        Form::Contiguous => offset.wrapping_sub(begin[operand]),
                        _ => table[operand] * row as isize,
                    };
                }
                // SAFETY: the section of scratch memory has room for the rows of a leaf.
                unsafe { self.offsets.wrapping_add(row).write(offset) };
                row += 1;
            }
        });
        assert_eq!(row, count);
        // SAFETY: as many have just been written.
        unsafe { std::slice::from_raw_parts(self.offsets, count) }
    }

    /// The sums of columns whose terms are read as rows. Unless the access is to tables, the
    /// columns are neighbours along the innermost axis that is kept.
    fn rows(&self, columns: Range<usize>) -> *const u8 {
        let plan = &self.driver.plan;
        let (inner, term) = (plan.kept.inner(), plan.summed.inner());
        let at = offsets_of(plan.kept.axes(), plan.kept.start(), columns.start);
        let count = columns.len();
        let mut forms = [Form::Contiguous; OPERANDS];
        let (mut step, mut chunk) = (steps(term.strides), [0; OPERANDS]);
        let mut in_tables = true;
        for (operand, input) in self.inputs().iter().enumerate() {
            let form = match plan.access {
                Access::Tables => Form::Strided,
                _ => form(self.inputs(), &inner.resized(count), operand),
            };
            let row = |elements: usize| (elements * input.size) as isize;
            (step[operand], chunk[operand]) = match form {
                Form::Contiguous => (step[operand], row(LANES)),
                Form::Repeated => (row(LANES), 0),
                Form::Strided => (row(count), row(LANES)),
            };
            in_tables &= form != Form::Contiguous;
            forms[operand] = form;
        }
        // Rows of all operands follow each other in the same way.
        let regular = in_tables || plan.summed.axes().len() <= 1;
        let adjacent = regular
            && (plan.access == Access::Tables || count <= NARROW)
            && (self.inputs().iter().zip(step).zip(chunk))
                .all(|((input, step), chunk)| chunk != 0 && step == (count * input.size) as isize);
        let stack = self.column_stack(0, count);
        self.for_each_leaf(|index, terms| {
            let begin = offsets_of(plan.summed.axes(), at, terms.start);
            let mut first = moved(self.first(), OPERANDS, &steps(begin), 1);
            for (operand, &form) in forms[..self.inputs().len()].iter().enumerate() {
                if form != Form::Contiguous {
                    self.gather_rows(operand, columns.clone(), terms.clone(), form);
                    first[operand] = self.tables[operand];
                }
            }
            let rows = Rows {
                first,
                count: terms.len(),
                step,
                offsets: (!regular).then(|| self.offsets_of(terms.clone(), &forms, &step)),
                chunk,
                columns: count,
                adjacent,
                number: self.number(terms.start),
            };
            // SAFETY: rows of the inputs, or of tables that have been gathered; the sections of
            // scratch memory have room for the lanes and the stack of a unit.
            unsafe {
                self.driver
                    .kernel
                    .fold(Leaves::Rows(&rows, self.lanes), stack, index)
            };
        });
        self.close(stack)
    }

    /// Gathers the terms of a leaf into the rows of a table, or [`LANES`] times those of one column
    /// if all columns have the same.
    fn gather_rows(&self, operand: usize, columns: Range<usize>, terms: Range<usize>, form: Form) {
        let (plan, size, i) = (&self.driver.plan, self.inputs()[operand].size, 1 + operand);
        let (columns, step) = match form {
            Form::Repeated => (columns.start..columns.start + 1, 0),
            _ => (columns, plan.kept.inner().strides[i]),
        };
        let width = |len: usize| if form == Form::Repeated { LANES } else { len };
        let (mut to, pitch) = (self.tables[operand], width(columns.len()) * size);
        plan.kept.for_each_row(columns, &mut |at, len| {
            let (len, mut row) = (width(len), to);
            plan.summed.for_each_row(terms.clone(), &mut |from, count| {
                let block = Block {
                    to: row,
                    pitch,
                    from: self.at(operand, at).wrapping_byte_offset(from[i]),
                    rows: Along {
                        len: count,
                        step: plan.summed.inner().strides[i],
                    },
                    columns: Along { len, step },
                };
                // SAFETY: terms of an input, and their places in a table for a leaf.
                unsafe { pack_or_splat(self.pack(operand), block, size) };
                row = row.wrapping_add(count * pitch);
            });
            to = to.wrapping_add(len * size);
        });
    }

    /// The sums of columns whose terms are read in runs.
    ///
    /// Memory is read in order as far as it goes: run after run, each of all columns. A leaf that
    /// lies in one run of one axis is read where it lies, if its terms are contiguous. The terms of
    /// other leaves are gathered in tables, one leaf of each column, until the leaf is complete.
    fn runs(&self, columns: Range<usize>) -> *const u8 {
        let Driver { kernel, plan, .. } = self.driver;
        let (inner, term, count) = (plan.kept.inner(), plan.summed.inner(), columns.len());
        if plan.in_place {
            let start = steps(term.moved([0; STRIDES], self.terms.start));
            let first = moved(self.first(), OPERANDS, &start, 1);
            let mut leaf = [0; OPERANDS];
            for (leaf, input) in leaf.iter_mut().zip(self.inputs()) {
                *leaf = (LEAF * input.size) as isize;
            }
            let mut column = 0;
            plan.kept.for_each_row(columns, &mut |at, width| {
                let runs = Runs {
                    first: moved(first, OPERANDS, &steps(at), 1),
                    columns: width,
                    column: steps(inner.strides),
                    leaf,
                    terms: self.terms.len(),
                    number: self.number(self.terms.start),
                };
                // SAFETY: runs of the inputs; the stack has room for all columns of the unit.
                unsafe { fold_runs(*kernel, &runs, self.column_stack(column, count), 0) };
                column += width;
            });
            return self.close(self.column_stack(0, count));
        }
        let mut at = self.terms.start;
        while at < self.terms.end {
            let end = (at / plan.run + 1).saturating_mul(plan.run);
            let mut run = at..end.min(self.terms.end);
            let is_short = run.len() < LEAF;
            if is_short {
                // The gather of some columns may overwrite the same terms of the columns after
                // them, which are gathered next. If it went on to the next leaf, it would overwrite
                // terms of this leaf that these columns still need.
                run.end = run.end.min(at + LEAF - (at - self.terms.start) % LEAF);
            }
            let begin = offsets_of(plan.summed.axes(), [0; STRIDES], at);
            let mut column = 0;
            plan.kept
                .for_each_row(columns.clone(), &mut |first, width| {
                    // Of long runs, those of each column are read to their ends.
                    let step = if is_short { width } else { 1 };
                    for i in (0..width).step_by(step) {
                        let first = inner.moved(first, i);
                        self.read_run(run.clone(), first, &begin, column..column + step, count);
                        column += step;
                    }
                });
            at = run.end;
        }
        self.close(self.column_stack(0, count))
    }

    fn column_stack(&self, column: usize, width: usize) -> Stack {
        let acc = self.driver.facts.size;
        let first = self.stack.wrapping_add(column * acc);
        Stack { first, width }
    }

    /// Gathers these terms, which are in one run, of some columns along the innermost axis that is
    /// kept: a row for each column. `first` is where term 0 of the first of them lies.
    fn gather_run(
        &self,
        mut to: *mut u8,
        first: [isize; STRIDES],
        operand: usize,
        terms: Range<usize>,
        columns: usize,
    ) {
        let plan = &self.driver.plan;
        let (size, i) = (self.inputs()[operand].size, 1 + operand);
        let down = plan.kept.inner().strides[i];
        for_each_tile(plan.summed.axes(), first, terms, |tile| {
            let (rows, width) = (tile.rows.size, tile.columns.size);
            // Of one column, rows of the tile are rows of a block; of several, each row is a block.
            let (blocks, pitch, len, step) = match columns {
                1 => (1, width * size, rows, tile.rows.strides[i]),
                _ => (rows, LEAF * size, columns, down),
            };
            for row in 0..blocks {
                let block = Block {
                    to,
                    pitch,
                    from: self.at(operand, tile.offsets_at(row, 0)),
                    rows: Along { len, step },
                    columns: Along {
                        len: width,
                        step: tile.columns.strides[i],
                    },
                };
                // SAFETY: terms of an input, and their places in a table. The rows after them,
                // which the pack may write, are spare, or of terms that are gathered next: of
                // columns, see `runs`, or of the next tile.
                unsafe { pack_or_splat(self.pack(operand), block, size) };
                to = to.wrapping_add(rows / blocks * width * size);
            }
        });
    }

    /// Where an operand has the element at these offsets.
    fn at(&self, operand: usize, offsets: [isize; STRIDES]) -> *const u8 {
        let first = self.inputs()[operand].first.cast_const();
        first.wrapping_byte_offset(offsets[1 + operand])
    }

    /// Reads these terms, which are one run, of some columns along the innermost axis that is kept.
    /// `first` is where term 0 of the first of them lies, and `begin` how far the first of these
    /// terms is from it. The unit has `width` columns.
    fn read_run(
        &self,
        terms: Range<usize>,
        first: [isize; STRIDES],
        begin: &[isize; STRIDES],
        columns: Range<usize>,
        width: usize,
    ) {
        let Driver { kernel, plan, .. } = self.driver;
        let term = plan.summed.inner();
        let stack = self.column_stack(columns.start, width);
        let mut at = terms.start;
        while at < terms.end {
            let done = at - self.terms.start;
            let (index, filled) = (done / LEAF, done % LEAF);
            let left = terms.end - at;
            // Many terms are gathered into the rows of the table behind those of incomplete leaves:
            // whole leaves of this run, or whole rows of it, after the terms of the last leaf.
            let in_rows = columns.len() == 1 && plan.run > term.size;
            let leaves = left.min(plan.piece) / LEAF;
            let whole = leaves > 0 && filled == 0 && columns.len() == 1;
            let (row, count) = match () {
                () if in_rows => (width, left.min(plan.piece - at % plan.piece)),
                () if whole => (width, leaves * LEAF),
                () => (columns.start, left.min(LEAF - filled)),
            };
            at += count;
            let (all, is_last) = (filled + count, at == self.terms.end);
            // Whether all terms of the leaf are here. Then contiguous ones are read where they lie.
            let alone = filled == 0 && (count >= LEAF || is_last);
            // The last leaf waits for its other terms.
            let folded = if is_last { all } else { all / LEAF * LEAF };
            let mut runs = Runs {
                first: [ptr::null(); OPERANDS],
                columns: columns.len(),
                column: [0; OPERANDS],
                leaf: [0; OPERANDS],
                terms: folded,
                number: self.number(at).wrapping_sub(all),
            };
            for (operand, input) in self.inputs().iter().enumerate() {
                let size = input.size;
                let table = |row: usize| self.tables[operand].wrapping_add(row * LEAF * size);
                let (waiting, to) = (table(columns.start), table(row));
                runs.first[operand] = to;
                runs.column[operand] = (LEAF * size) as isize;
                runs.leaf[operand] = (LEAF * size) as isize;
                if in_rows {
                    // SAFETY: terms of the last leaf, and room for them before those of the run.
                    unsafe { ptr::copy_nonoverlapping(waiting, to, filled * size) };
                }
                let behind = to.wrapping_add(filled * size);
                if plan.run > term.size {
                    self.gather_run(behind, first, operand, at - count..at, columns.len());
                } else {
                    let (down, along) = (
                        plan.kept.inner().strides[1 + operand],
                        term.strides[1 + operand],
                    );
                    let moved = along.wrapping_mul((at - count - terms.start) as isize);
                    let from = (self.at(operand, first))
                        .wrapping_byte_offset(begin[1 + operand].wrapping_add(moved));
                    let mut len = count;
                    match form(self.inputs(), &term, operand) {
                        Form::Contiguous if alone => {
                            (runs.first[operand], runs.column[operand]) = (from, down);
                            continue;
                        }
                        Form::Repeated if whole => (len, runs.leaf[operand]) = (LEAF, 0),
                        _ => {}
                    }
                    let block = Block {
                        to: behind,
                        pitch: LEAF * size,
                        from,
                        rows: Along {
                            len: columns.len(),
                            step: down,
                        },
                        columns: Along { len, step: along },
                    };
                    // SAFETY: terms of an input, and their places in the table. The rows after
                    // them, which the pack may write, are spare, or of columns that are gathered
                    // next: see `runs`.
                    unsafe { pack_or_splat(self.pack(operand), block, size) };
                }
                if in_rows {
                    let rest = to.wrapping_add(folded * size);
                    // SAFETY: terms of a leaf that is not complete, and its row.
                    unsafe { ptr::copy_nonoverlapping(rest, waiting, (all - folded) * size) };
                }
            }
            if folded > 0 {
                // SAFETY: runs of the inputs or of the tables; columns of the stack.
                unsafe { fold_runs(*kernel, &runs, stack, index) };
            }
        }
    }
}

/// A line of the cache, as scratch memory.
#[repr(align(64))]
struct Line {
    _bytes: [MaybeUninit<u8>; CACHE_LINE],
}

/// Scratch memory of small calls: enough for the lanes of 64 columns of `f32`. With 4 KiB, the sum
/// over the first axis of 64 by 64 allocates, and takes 500 ns instead of 400.
type Few = MaybeUninit<[Line; 128]>;

/// Memory that is not initialised, aligned as asked for.
struct Memory {
    first: *mut u8,
    _lines: Vec<Line>,
}

// SAFETY: it is a plain allocation.
unsafe impl Send for Memory {}

// SAFETY: shared references only tell where it is.
unsafe impl Sync for Memory {}

impl Memory {
    fn new(bytes: usize, align: usize) -> Result<Self, BroadcastError> {
        // More than the bytes, if a line is not aligned enough.
        let more = if bytes > 0 && align > CACHE_LINE {
            align
        } else {
            0
        };
        let lines = bytes.saturating_add(more).div_ceil(CACHE_LINE);
        let mut lines: Vec<Line> = reserved(lines)?;
        let first = lines.as_mut_ptr().cast::<u8>();
        let first = first.wrapping_add(first.align_offset(align));
        let _lines = lines;
        Ok(Memory { first, _lines })
    }
}
