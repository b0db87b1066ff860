//! How the work is cut into units, and what a thread needs for one.

use super::super::gather::MORE_ROWS;
use super::super::kernel::{Facts, Kernel, LANES, LEAF, OPERANDS, Steps, live_lanes, stack_levels};
use super::super::nest::positions;
use super::super::threads::{Cost, PARALLEL_FROM, max_threads};
use super::super::tuning::{
    BLOCK, CACHE_LINE, CHUNK_BYTES, CHUNKS_OF_A_THREAD, LARGE_ELEMENT, PAGE, SECOND_LEVEL_CACHE,
};
use super::operands::{Axis, Form, Nest, STRIDES, Terms, form, form_of_all, steps};
use std::ops::Range;

/// Leaves of one column that are gathered together. Of runs of several axes whole rows are
/// gathered, of about as many terms or more.
const LEAVES_AT_ONCE: usize = 16;

/// More blocks of a piece would have so few elements that it is gathered in the order of its terms:
/// all of `f32 [300, 224, 2]`, whose first axis is the second nearest, take 49 us in order and 124
/// us by pieces, on one thread (an Intel Xeon).
const BLOCKS_OF_PIECE: usize = 64;

/// Sections of a thread's scratch memory: lanes, stack, offsets of rows, and the table of each
/// operand.
pub(super) const SECTIONS: usize = 3 + OPERANDS;

/// How the terms of columns are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Rows,
    Runs,
    Tables,
}

/// How terms of the columns of a unit are read: leaves of one run, then leaves that are gathered.
/// The last leaf may be shorter.
pub(super) struct Stretch {
    /// Terms in the run.
    pub(super) in_run: usize,
    /// Terms behind them that are gathered: one leaf, or a piece. Only complete leaves are folded.
    /// Other terms begin the next stretch, and are gathered again.
    pub(super) gathered: usize,
    /// Columns that are read together, at most.
    pub(super) columns: usize,
}

/// How the work is cut, and what a thread needs for it.
pub(super) struct Plan<'n> {
    pub(super) kernel: &'n dyn Kernel,
    pub(super) facts: Facts<'n>,
    pub(super) kept: &'n Nest,
    pub(super) summed: &'n Nest,
    pub(super) terms: Terms,
    pub(super) access: Access,
    /// Columns of a unit, at most.
    pub(super) columns: usize,
    /// Terms of a chunk: a slab, or a power of two of leaves of one.
    pub(super) chunk: usize,
    pub(super) chunks: usize,
    /// Units that a thread takes at once.
    pub(super) at_once: usize,
    /// Whether runs of several columns are gathered together, a leaf of each. An operand then has
    /// its shortest stride along the columns.
    together: bool,
    /// Whether a run is of one axis, and its terms are contiguous in all operands.
    contiguous: bool,
    /// Bytes of a leaf of each operand.
    pub(super) leaf: Steps,
    /// Terms of a column that are nearer than those of the next column: all inside the axes that
    /// are kept, or all that there are if there is a crossing.
    run: usize,
    /// See [`crossing`].
    pub(super) crossing: Option<usize>,
    /// Terms of one column that are gathered together, if they are many: leaves, or rows.
    piece: usize,
    pub(super) threads: usize,
    /// Bytes of the sections of scratch memory.
    pub(super) sections: [usize; SECTIONS],
}

impl<'n> Plan<'n> {
    pub(super) fn new(
        kernel: &'n dyn Kernel,
        facts: Facts<'n>,
        kept: &'n Nest,
        summed: &'n Nest,
        terms: Terms,
        cost: Cost,
    ) -> Self {
        let (inputs, acc) = (facts.inputs, facts.size);
        let count = terms.range.len();
        let (inner, term) = (kept.inner(), summed.inner());
        let size = facts.element;
        let large = acc.max(size) >= LARGE_ELEMENT;
        let (across, along) = (form_of_all(inputs, inner), form_of_all(inputs, term));
        let side_by_side = across == Form::Contiguous;
        let crossing = crossing(kept, summed, size);
        let (run, row) = match crossing {
            Some(at) => (summed.len(), positions(&summed.axes()[at + 1..])),
            None => (run(kept, summed), term.size),
        };
        let contiguous = run == term.size && along == Form::Contiguous;
        let in_place = contiguous && summed.axes().len() <= 1;
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
        let at_once = match threads {
            1 => *CHUNK_BYTES.end(),
            _ => (bytes / (CHUNKS_OF_A_THREAD * threads)).clamp(least, *CHUNK_BYTES.end()),
        };

        // Rows are folded where they lie only if a unit has many terms. To start a unit of few
        // terms takes longer than to gather them. Columns that do not fill all lanes are folded
        // one by one: of few columns they are most.
        let many_terms = inner.size.saturating_mul(count.min(LEAF)) >= LEAF;
        let adjacent = side_by_side
            && (kept.axes().len() == 1 || many_terms)
            && summed.axes().len() <= 1
            && (inputs.iter().zip(steps(term.strides)))
                .all(|(input, step)| step == (inner.size * input.size) as isize);
        let columns_near = nearest(kept.axes()) < nearest(summed.axes());
        let access = match columns_near {
            _ if large => Access::Rows,
            true if adjacent || inner.size >= 2 * LANES && many_terms => Access::Rows,
            false if kept.len() == 1 || !kernel.gathers_runs(count, kept.len(), in_place) => {
                Access::Runs
            }
            _ => Access::Tables,
        };

        let near = Near::of(inputs.len(), kept, summed);

        let leaf = count.min(LEAF);
        let wanted = match access {
            // One by one, as what lies between columns is not known.
            Access::Rows if large && !side_by_side => 1,
            // A line of memory has terms of many leaves, and stays in the second-level cache.
            Access::Rows | Access::Tables
                if across == Form::Strided && near.outer_terms && count > LEAF =>
            {
                2 * LANES
            }
            Access::Rows if across == Form::Strided => {
                (SECOND_LEVEL_CACHE / 8 / (leaf * size)).max(2 * LANES)
            }
            Access::Rows => 2 * PAGE / size.max(acc),
            Access::Tables => (BLOCK / (leaf * size.max(acc))).max(2 * LANES),
            // So many leaves of tables stay in the second-level cache.
            Access::Runs if !in_place => SECOND_LEVEL_CACHE / 4 / (LEAF * size),
            // As many as a thread takes at once, and whose accumulators stay in the second-level
            // cache.
            Access::Runs => {
                let stacks = SECOND_LEVEL_CACHE / 4 / acc.max(1);
                (at_once / count.saturating_mul(size)).min(stacks)
            }
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
            columns = match inner.size.div_ceil(columns) {
                1 => inner.size,
                pieces => (inner.size.div_ceil(pieces).next_multiple_of(LANES)).min(columns),
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
        let (chunk, chunks) = match terms.slab < count {
            true => (terms.slab, count / terms.slab),
            false => (chunk * LEAF, leaves.div_ceil(chunk)),
        };
        let at_once = match threads {
            1 => usize::MAX,
            _ => (at_once / (bytes / units / chunks).max(1)).max(1),
        };
        // Longer rows are written to much of a line of the table.
        let turns = match crossing {
            Some(at) if term.size >= LANES / 2 => summed.axes()[at].size,
            _ => 0,
        };
        let (piece, spare) = piece(run, row, turns, size);
        let mut leaf = [0; OPERANDS];
        for (leaf, input) in leaf.iter_mut().zip(inputs) {
            *leaf = (LEAF * input.size) as isize;
        }
        let mut plan = Plan {
            kernel,
            facts,
            kept,
            summed,
            terms,
            access,
            columns,
            chunk,
            chunks,
            at_once,
            together: near.columns && !near.outer_columns && !near.outer_terms,
            contiguous,
            leaf,
            run,
            crossing,
            piece,
            threads: threads.min((units * chunks).div_ceil(at_once)).max(1),
            sections: [0; SECTIONS],
        };
        plan.sections = plan.sections(chunk.min(count).div_ceil(LEAF), spare);
        plan
    }

    /// The bytes of the sections of scratch memory, for units of so many leaves. After a piece
    /// there is room for `spare` terms. Accumulators are of any size: a product of theirs that
    /// overflows is `usize::MAX`, which is refused where the memory is allocated. Columns that are
    /// gathered, and the terms of a piece, are limited in bytes: their products do not overflow.
    #[inline(never)]
    fn sections(&self, leaves: usize, spare: usize) -> [usize; SECTIONS] {
        let (columns, acc, inputs) = (self.columns, self.facts.size, self.facts.inputs);
        let leaf = self.terms.range.len().min(LEAF);
        let align = self.facts.align.max(CACHE_LINE);
        let mut sections = [0; SECTIONS];
        // The scratch memory of `Kernel::fold`.
        if self.access != Access::Runs {
            sections[0] = acc.saturating_mul((1 + live_lanes(leaf)).saturating_mul(columns));
        }
        sections[1] = acc.saturating_mul(stack_levels(leaves).saturating_mul(columns));
        // `Unit::offsets_of`: one for each row of a leaf.
        if self.access == Access::Rows && self.summed.axes().len() > 1 {
            sections[2] = leaf * size_of::<Steps>();
        }
        // `gather_rows`: the rows of a leaf, or as many of `LANES` copies; then `MORE_ROWS`.
        // `read_leaves`: a leaf of each column, or a piece of one; then `MORE_ROWS`.
        // Large elements have no table: all are side by side, or each is a column of its own.
        let row = self.kept.inner().resized(columns);
        for (operand, input) in inputs.iter().enumerate() {
            let elements = match self.access {
                // All are read in place.
                Access::Runs if self.contiguous && self.summed.axes().len() <= 1 => 0,
                Access::Runs => {
                    (columns * LEAF).max((self.piece + LEAF).min(leaves * LEAF)) + spare
                }
                Access::Rows if form(inputs, &row, operand) == Form::Contiguous => 0,
                _ => (leaf + MORE_ROWS) * columns.max(LANES),
            };
            sections[3 + operand] = elements * input.size;
        }
        // Rounded up to a multiple of the alignment, which is a power of two. What overflows stays
        // too large.
        sections.map(|bytes| bytes.saturating_add(align - 1) & align.wrapping_neg())
    }

    /// How the first of these terms are read.
    pub(super) fn stretch(&self, terms: Range<usize>) -> Stretch {
        let (all, one_axis) = (terms.len(), self.run == self.summed.inner().size);
        let run_end = (terms.start / self.run + 1).saturating_mul(self.run);
        let left = all.min(run_end - terms.start);
        let in_run = match one_axis {
            true if left == all => all,
            true => left / LEAF * LEAF,
            false => 0,
        };
        let (in_run, gathered, columns) = match in_run {
            0 if self.together => (0, LEAF, 2 * LANES),
            _ if self.together => (in_run.min(LEAF), 0, 2 * LANES),
            0 if !one_axis && self.run >= LEAF => {
                // The piece ends where a row does. Terms behind its last whole leaf are gathered
                // again: the next piece begins with them.
                let end = (terms.start + LEAF - 1) / self.piece * self.piece + self.piece;
                (0, end - terms.start, 1)
            }
            LEAF.. if !self.contiguous => (in_run.min(self.piece), 0, 1),
            _ => (in_run, LEAF, usize::MAX),
        };
        Stretch {
            in_run,
            gathered: gathered.min(all - in_run),
            columns,
        }
    }

    /// The columns of a unit and its chunk of terms.
    pub(super) fn unit(&self, unit: usize) -> (Range<usize>, usize) {
        let units = self.kept.len().div_ceil(self.columns);
        let first = unit % units * self.columns;
        let columns = first..self.kept.len().min(first + self.columns);
        (columns, unit / units)
    }
}

/// Whether some operand has its shortest stride along an axis of each kind. Shorter axes than half
/// a line of memory do not count.
#[derive(Default)]
struct Near {
    /// The innermost axis that is kept.
    columns: bool,
    /// Another axis that is kept.
    outer_columns: bool,
    /// An axis that is summed, but for the innermost.
    outer_terms: bool,
}

impl Near {
    #[inline(never)]
    fn of(inputs: usize, kept: &Nest, summed: &Nest) -> Self {
        let mut near = Near::default();
        for operand in 1..=inputs {
            // Those that do not move are furthest.
            let stride = |axis: &Axis| axis.strides[operand].unsigned_abs().wrapping_sub(1);
            let nearest = |nest: &Nest| {
                let nearest = nest.axes().iter().min_by_key(|axis| stride(axis));
                nearest.map_or((usize::MAX, true, false), |axis| {
                    let is_inner = stride(axis) == stride(nest.inner());
                    (stride(axis), is_inner, axis.size >= LANES / 2)
                })
            };
            let (columns, terms) = (nearest(kept), nearest(summed));
            near.outer_terms |= terms.0 < columns.0 && !terms.1 && terms.2;
            near.outer_columns |= columns.0 < terms.0 && !columns.1 && columns.2;
            // What is read again and again along the terms is not gathered for each.
            let moves = terms.0 < usize::MAX;
            near.columns |= moves && columns.0 < terms.0 && columns.1 && columns.2;
        }
        near
    }
}

/// How far apart the positions of an axis are in memory.
#[inline(never)]
fn distance(axis: &Axis) -> usize {
    let operands = &axis.strides[1..STRIDES - 1];
    operands.iter().fold(0, |sum: usize, stride| {
        sum.wrapping_add(stride.unsigned_abs())
    })
}

/// The distance of the nearest axis.
#[inline(never)]
pub(super) fn nearest(axes: &[Axis]) -> usize {
    axes.iter().map(distance).min().unwrap_or(usize::MAX)
}

/// The outer axis along which the terms of a column are to be gathered: it is nearer than the
/// columns, and an axis inside it is further. Not if the innermost axis is nearer still, and has
/// whole leaves, which may be read in place, or is so short that blocks would be small; nor if a
/// piece would not have a line of it. Elements have up to `size` bytes.
#[inline(never)]
fn crossing(kept: &Nest, summed: &Nest, size: usize) -> Option<usize> {
    let (columns, axes) = (nearest(kept.axes()), summed.axes());
    let (inner, outer) = axes.split_last()?;
    let crosses = |&at: &usize| {
        let (own, inside) = (distance(&axes[at]), &axes[at + 1..]);
        let further = inside.iter().any(|axis| distance(axis) > own);
        let row = positions(inside);
        let small = row / inner.size > BLOCKS_OF_PIECE;
        let in_order = own > distance(inner) && (inner.size >= LEAF || small);
        let fits = row <= CHUNK_BYTES.end() / size / LANES;
        (1..columns).contains(&own) && further && !in_order && fits
    };
    // The nearest one that has a line, or else the longest one that has some part of a line.
    let crossings = || (0..outer.len()).filter(crosses);
    let long = crossings().filter(|&at| axes[at].size >= LANES);
    let nearest = long.min_by_key(|&at| distance(&axes[at]));
    let longest = || crossings().max_by_key(|&at| axes[at].size);
    nearest.or_else(|| longest().filter(|&at| axes[at].size >= LANES / 4))
}

/// How many terms a run has: those of the innermost axes that are all nearer than the columns.
#[inline(never)]
fn run(kept: &Nest, summed: &Nest) -> usize {
    let columns = nearest(kept.axes());
    let (inner, outer) = match summed.axes() {
        [outer @ .., inner] => (inner.size, outer),
        [] => return 1,
    };
    let nearer = (outer.iter().rev()).take_while(|axis| distance(axis) < columns);
    nearer.fold(inner, |run, axis| run * axis.size)
}

/// How many terms of one column are gathered together, if they are many, and for how many more
/// there must be room. The elements have up to `size` bytes, and a run has `run` terms, in rows of
/// `row` terms.
///
/// They are leaves of a row, or rows of a run, whose lines are then read once: a line has `LANES`
/// elements of 4 bytes. All `turns` of an axis are read together, in the order of memory, if they
/// stay in the second-level cache.
fn piece(run: usize, row: usize, turns: usize, size: usize) -> (usize, usize) {
    let many = LEAVES_AT_ONCE * LEAF;
    if run == row {
        return (many, MORE_ROWS * LEAF);
    }
    let most = CHUNK_BYTES.end() / size;
    let mut rows = (many / row).max(1).next_multiple_of(LANES);
    if turns <= SECOND_LEVEL_CACHE / 4 / size / row {
        rows = rows.max(turns);
    }
    // After several rows the gather may write more of them. A part of a row is one row.
    match rows.min(most / row) {
        0 => (most, MORE_ROWS * LEAF),
        rows => (rows * row, MORE_ROWS * row.max(LEAF)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_is_no_longer_than_the_longest_chunk() {
        for (size, row) in [(1, 1 << 22), (4, 1 << 20), (8, 1 << 20), (8, 1 << 12)] {
            for run in [row, 2 * row] {
                let (terms, _) = piece(run, row, 0, size);
                let bytes = terms * size;
                assert!(bytes <= *CHUNK_BYTES.end(), "{size} {row} {run}: {bytes}");
            }
        }
    }
}
