//! Loop nests: shapes and strides of several operands as few nested loops, and the walk over them.
//!
//! Axes of size 1 are dropped, axes are reversed, sorted by stride and merged where neighbours form
//! one loop. The walk calls a closure with offsets into each operand. This file reads and writes no
//! element.
//!
//! Offsets are computed with wrapping operations, and the pointers that they are added to by
//! `wrapping_offset`. No result of them wraps: an offset that is passed on is that of an element,
//! and all elements of an array lie within `isize::MAX` bytes. Only what is computed on the way may
//! wrap, and offsets in elements of size 0, which reach no memory.

use super::tuning::INLINE_AXES;
use crate::error::{Result, allocation_failed};
use smallvec::SmallVec;
use std::ops::Range;

/// One loop: how often it turns, and how far it moves each of the `N` operands, in elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LoopAxis<const N: usize> {
    pub(crate) size: usize,
    pub(crate) strides: [isize; N],
}

impl<const N: usize> LoopAxis<N> {
    /// A loop of one turn.
    pub(crate) const UNIT: Self = LoopAxis {
        size: 1,
        strides: [0; N],
    };

    /// A loop with the same strides that turns `size` times.
    #[inline(always)]
    pub(crate) fn resized(self, size: usize) -> Self {
        LoopAxis { size, ..self }
    }

    /// The offsets after so many turns of the loop.
    #[inline(always)]
    pub(crate) fn moved(&self, mut offsets: [isize; N], turns: usize) -> [isize; N] {
        for (offset, stride) in offsets.iter_mut().zip(self.strides) {
            *offset = offset.wrapping_add(stride.wrapping_mul(turns as isize));
        }
        offsets
    }

    /// Whether this axis belongs outside `other`: its stride in operand 0 is larger, or equal and
    /// its stride in operand 1 is larger, and so on.
    #[inline]
    fn is_outside(&self, other: &Self) -> bool {
        self.strides.map(isize::unsigned_abs) > other.strides.map(isize::unsigned_abs)
    }

    /// Whether `self` around `inner` is one loop: in every operand, a step of `self` is as long as
    /// all steps of `inner`.
    #[inline]
    pub(super) fn continues(&self, inner: &Self) -> bool {
        let size = inner.size as isize;
        (self.strides.iter().zip(&inner.strides))
            .all(|(outer, inner)| inner.wrapping_mul(size) == *outer)
    }
}

/// Nested loops over the same index space in `N` operands, outermost first.
///
/// A nest is built from one shape and the strides of each operand:
///
/// - Axes of size 1 are dropped. An index space with an axis of size 0 has `len() == 0`, no axes.
/// - [`sort`](Self::sort) reverses and sorts axes.
/// - Neighbours that form one loop in all operands are merged, also replicated ones.
///
/// So there is an innermost axis unless `len()` is 0 or 1. A position is a number in `0..len()`
/// that counts the innermost axis fastest. The shape is that of an array, or of a plan's output,
/// so that `len()` is at most `isize::MAX`: ndarray and `BroadcastPlan::new` demand it of the
/// product of all sizes but 0.
#[derive(Debug)]
pub(crate) struct LoopNest<const N: usize> {
    axes: SmallVec<[LoopAxis<N>; INLINE_AXES]>,
    start: [isize; N],
    len: usize,
}

impl<const N: usize> LoopNest<N> {
    /// The loops over `shape`, in which operand `k` moves by `strides[k]`, sorted.
    #[cfg(test)]
    pub(crate) fn of(shape: &[usize], strides: [&[isize]; N]) -> Self {
        let mut nest = Self::empty();
        let axes = shape.iter().enumerate().map(|(axis, &size)| LoopAxis {
            size,
            strides: strides.map(|strides| strides[axis]),
        });
        nest.fill(axes).unwrap();
        nest.sort();
        nest
    }

    /// Fills a nest of no axes with the given axes in the given order: positions count the index
    /// space as its axes stand. Axes are dropped and merged, but neither reversed nor sorted, so
    /// that `start()` is 0. A nest is large: to return one takes longer than to fill one.
    ///
    /// # Errors
    ///
    /// `AllocationFailed`, only if more than `INLINE_AXES` axes have a size above 1.
    #[inline]
    pub(crate) fn fill(&mut self, axes: impl Iterator<Item = LoopAxis<N>>) -> Result<()> {
        for axis in axes {
            if axis.size == 0 {
                *self = Self::empty();
                self.len = 0;
            } else if axis.size > 1 && self.len > 0 {
                self.len *= axis.size;
                self.reserve(1)?;
                self.axes.push(axis);
            }
        }
        self.merge();
        Ok(())
    }

    /// Reserves room for so many more axes.
    ///
    /// # Errors
    ///
    /// `AllocationFailed`.
    fn reserve(&mut self, more: usize) -> Result<()> {
        self.axes.try_reserve(more).map_err(|_| {
            let axes = (self.axes.len() + more).saturating_mul(2);
            allocation_failed(axes.saturating_mul(size_of::<LoopAxis<N>>()))
        })
    }

    /// Reverses and sorts the axes, and merges them again.
    ///
    /// No stride of operand 0 is negative then. Where it is 0, the first operand with another
    /// stride decides. An axis with a negative stride is walked from its other end; `start()` is
    /// where each operand's first element then lies, relative to index 0 of every axis. The axis
    /// with the largest stride of operand 0 is outermost; ties are decided by operand 1, and so on.
    /// The sort is stable.
    pub(crate) fn sort(&mut self) {
        for axis in &mut self.axes {
            let moving = axis.strides.iter().find(|&&stride| stride != 0);
            if moving.is_some_and(|&stride| stride < 0) {
                self.start = axis.moved(self.start, axis.size - 1);
                axis.strides = axis.strides.map(isize::wrapping_neg);
            }
        }
        let axes = &mut self.axes;
        for sorted in 1..axes.len() {
            let mut at = sorted;
            while at > 0 && axes[at].is_outside(&axes[at - 1]) {
                axes.swap(at, at - 1);
                at -= 1;
            }
        }
        self.merge();
    }

    /// Takes over the start of `inner`, a nest that is walked inside this one: `inner` starts at 0
    /// then.
    pub(crate) fn begin_with(&mut self, inner: &mut Self) {
        for (start, inner) in self.start.iter_mut().zip(&mut inner.start) {
            *start = start.wrapping_add(std::mem::take(inner));
        }
    }

    /// The same positions in fewer loops, which do not move this operand.
    ///
    /// # Errors
    ///
    /// As [`fill`](Self::fill).
    pub(crate) fn without(&self, operand: usize) -> Result<Self> {
        let mut nest = LoopNest {
            axes: SmallVec::new(),
            ..*self
        };
        nest.reserve(self.axes.len())?;
        nest.axes.extend_from_slice(&self.axes);
        for axis in &mut nest.axes {
            axis.strides[operand] = 0;
        }
        nest.merge();
        Ok(nest)
    }

    /// No axes, thus one position.
    #[inline]
    pub(crate) fn empty() -> Self {
        LoopNest {
            axes: SmallVec::new(),
            start: [0; N],
            len: 1,
        }
    }

    #[inline]
    fn merge(&mut self) {
        let axes = &mut self.axes;
        let mut kept = 0;
        for next in 1..axes.len() {
            if axes[kept].continues(&axes[next]) {
                axes[next].size *= axes[kept].size;
            } else {
                kept += 1;
            }
            axes[kept] = axes[next];
        }
        axes.truncate(kept + 1);
    }

    /// The loops, outermost first.
    #[inline]
    pub(crate) fn axes(&self) -> &[LoopAxis<N>] {
        &self.axes
    }

    /// Where position 0 lies in each operand, as an offset from index 0 of every axis.
    #[inline]
    pub(crate) fn start(&self) -> [isize; N] {
        self.start
    }

    /// How many positions there are: the product of all sizes.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Moves axis `from` to place `to`; the axes between move by one place. The set of elements
    /// stays the same, and positions are counted in the new order.
    pub(crate) fn move_axis(&mut self, from: usize, to: usize) {
        let axes = &mut self.axes;
        if from < to {
            axes[from..=to].rotate_left(1);
        } else {
            axes[to..=from].rotate_right(1);
        }
    }

    /// The outer axis along which an operand has its shortest stride, if that is shorter than the
    /// one along the innermost axis.
    pub(crate) fn crossing(&self, operand: usize) -> Option<usize> {
        let stride = |axis: &LoopAxis<N>| axis.strides[operand].unsigned_abs();
        let (inner, outer) = self.axes.split_last()?;
        let outer = outer.iter().map(stride).zip(0..);
        let shorter = outer.filter(|&(stride_of, _)| stride_of != 0 && stride_of < stride(inner));
        shorter.min().map(|(_, place)| place)
    }

    /// The innermost axis. A nest of one element has none: it is given an axis of size 1.
    #[inline]
    pub(crate) fn inner(&self) -> &LoopAxis<N> {
        self.axes().last().unwrap_or(&LoopAxis::UNIT)
    }

    /// Calls `f` with blocks that together are the positions `range`. See [`for_each_block`].
    #[inline]
    pub(crate) fn for_each_block(
        &self,
        range: Range<usize>,
        rows: Option<usize>,
        f: &mut dyn FnMut(&Tile<N>, usize, usize),
    ) {
        for_each_block(self.axes(), self.start, range, rows, f);
    }

    /// Calls `f(offsets, len)` for each run of `len` positions of `range` along the innermost axis:
    /// whole rows, except for the first and the last. `offsets` is where each operand's first
    /// element of the run lies, `start()` included.
    pub(crate) fn for_each_row(&self, range: Range<usize>, f: &mut dyn FnMut([isize; N], usize)) {
        self.for_each_block(range, None, &mut |tile, _, _| {
            for row in 0..tile.rows.size {
                f(tile.offsets_at(row, 0), tile.columns.size);
            }
        });
    }
}

/// The two innermost loops of a nest, or a part of them: rows of columns. Neither count is 0.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tile<const N: usize> {
    /// Where the first element lies in each operand.
    pub(crate) offsets: [isize; N],
    pub(crate) rows: LoopAxis<N>,
    pub(crate) columns: LoopAxis<N>,
}

impl<const N: usize> Tile<N> {
    /// All positions of the given axes, if there are any, and one or two loops walk them in their
    /// order, or in the order of operand 0. Axes are not reversed.
    #[inline]
    pub(crate) fn of(axes: impl DoubleEndedIterator<Item = LoopAxis<N>>) -> Option<Self> {
        let (mut rows, mut columns) = (LoopAxis::UNIT, LoopAxis::UNIT);
        for axis in axes.rev() {
            if axis.size == 1 {
                continue;
            }
            if axis.size == 0 {
                return None;
            }
            if columns.size == 1 {
                columns = axis;
            } else if rows.size == 1 && axis.continues(&columns) {
                columns.size *= axis.size;
            } else if rows.size == 1 {
                rows = axis;
            } else if axis.continues(&rows) {
                rows.size *= axis.size;
            } else {
                return None;
            }
        }
        if columns.strides[0].unsigned_abs() > rows.strides[0].unsigned_abs() && rows.size > 1 {
            (rows, columns) = (columns, rows);
        }
        Some(Tile {
            offsets: [0; N],
            rows,
            columns,
        })
    }

    /// Where the element at this row and column lies in each operand.
    #[inline(always)]
    pub(crate) fn offsets_at(&self, row: usize, column: usize) -> [isize; N] {
        self.columns
            .moved(self.rows.moved(self.offsets, row), column)
    }

    /// The same tile with rows and columns exchanged, if the rows of operand 0 are contiguous then
    /// and not now.
    #[inline(always)]
    pub(crate) fn along_output(self, size: usize) -> Self {
        let size = size as isize;
        match self.columns.strides[0] != size && self.rows.strides[0] == size {
            true => Tile {
                offsets: self.offsets,
                rows: self.columns,
                columns: self.rows,
            },
            false => self,
        }
    }

    /// The tile of `rows` by `columns` elements that begins at this row and column.
    #[inline(always)]
    pub(crate) fn part(&self, at: [usize; 2], rows: usize, columns: usize) -> Self {
        Tile {
            offsets: self.offsets_at(at[0], at[1]),
            rows: self.rows.resized(rows),
            columns: self.columns.resized(columns),
        }
    }
}

/// How many positions these axes have.
#[inline(never)]
pub(crate) fn positions<const N: usize>(axes: &[LoopAxis<N>]) -> usize {
    axes.iter().map(|axis| axis.size).product()
}

/// Where position `position` of the nest `axes` lies in each operand, if position 0 lies at
/// `start`.
#[inline]
pub(crate) fn offsets_of<const N: usize>(
    axes: &[LoopAxis<N>],
    start: [isize; N],
    position: usize,
) -> [isize; N] {
    let (mut offsets, mut rest) = (start, position);
    for axis in axes.iter().rev() {
        // Most often it is position 0, and a division takes as long as some copies of elements.
        if rest == 0 {
            break;
        }
        offsets = axis.moved(offsets, rest % axis.size);
        rest /= axis.size;
    }
    offsets
}

/// The walk over a loop nest: calls `f` for each run of positions of `range` in which the `outer`
/// axes do not move.
///
/// A position counts the outer axes, around `inside` positions that the caller walks itself. `f` is
/// given where the operands stand (position 0 lies at `start`) and which of the `inside` positions
/// are in the range. All of the range are positions; so `inside` is not 0 if it has any.
///
/// It calls itself for each axis. There are at most 63, as each has a size of at least 2.
pub(crate) fn walk<const N: usize>(
    outer: &[LoopAxis<N>],
    start: [isize; N],
    inside: usize,
    range: Range<usize>,
    f: &mut impl FnMut([isize; N], Range<usize>),
) {
    if range.is_empty() {
        return;
    }
    let Some((axis, axes)) = outer.split_first() else {
        return f(start, range);
    };
    let turn = positions(axes) * inside;
    let (mut turns, mut from) = match range.start {
        0 => (0, 0),
        at => (at / turn, at % turn),
    };
    let mut left = range.len();
    while left > 0 {
        let count = left.min(turn - from);
        let (offsets, range) = (axis.moved(start, turns), from..from + count);
        walk(axes, offsets, inside, range, f);
        (turns, from) = (turns + 1, 0);
        left -= count;
    }
}

/// Calls `f` with tiles of the two innermost axes that together are the positions `range` of the
/// nest `axes`, in order: whole planes, and up to three tiles of a plane that the range begins or
/// ends in.
#[inline]
pub(crate) fn for_each_tile<const N: usize>(
    axes: &[LoopAxis<N>],
    start: [isize; N],
    range: Range<usize>,
    mut f: impl FnMut(Tile<N>),
) {
    let (outer, rows, columns) = match axes {
        [outer @ .., rows, columns] => (outer, *rows, *columns),
        [columns] => (&[][..], LoopAxis::UNIT, *columns),
        [] => (&[][..], LoopAxis::UNIT, LoopAxis::UNIT),
    };
    let plane = rows.size * columns.size;
    walk(outer, start, plane, range, &mut |offsets, range| {
        let whole = Tile {
            offsets,
            rows,
            columns,
        };
        if range.len() == plane {
            return f(whole);
        }
        let mut at = range.start;
        while at < range.end {
            let (row, column) = (at / columns.size, at % columns.size);
            let left = range.end - at;
            let (height, width) = if column == 0 && left >= columns.size {
                (left / columns.size, columns.size)
            } else {
                (1, left.min(columns.size - column))
            };
            f(whole.part([row, column], height, width));
            at += height * width;
        }
    });
}

/// Calls `f` with blocks that together are the positions `range` of the nest `axes`. The columns of
/// a block are along the innermost axis. Its rows are along the axis that `rows` names, an outer
/// one: as far as the range has whole turns of it, there is a block for each turn of the loops
/// between the two axes. Other blocks are those of [`for_each_tile`].
///
/// `f` is also given the position of a block's first element, and how many positions lie from one
/// row to the next.
pub(crate) fn for_each_block<const N: usize>(
    axes: &[LoopAxis<N>],
    start: [isize; N],
    range: Range<usize>,
    rows: Option<usize>,
    f: &mut dyn FnMut(&Tile<N>, usize, usize),
) {
    // A range of one axis is a tile.
    if let ([axis], false) = (axes, range.is_empty()) {
        let tile = Tile {
            offsets: axis.moved(start, range.start),
            rows: LoopAxis::UNIT,
            columns: axis.resized(range.len()),
        };
        return f(&tile, range.start, range.len());
    }
    // Beside the innermost axis, these are the blocks of tiles.
    let rows = rows.filter(|&rows| rows + 2 < axes.len());
    let mut at = range.start;
    while at < range.end {
        let mut end = range.end;
        if let Some((axis, inside)) = rows.and_then(|rows| axes[rows..].split_first()) {
            let row = positions(inside);
            let count = (end - at) / row;
            if at % row == 0 && count > 0 {
                let columns = inside.last().map_or(LoopAxis::UNIT, |&inner| inner);
                let rows = axis.resized(count.min(axis.size - at / row % axis.size));
                for at in (at..at + row).step_by(columns.size) {
                    let block = Tile {
                        offsets: offsets_of(axes, start, at),
                        rows,
                        columns,
                    };
                    f(&block, at, row);
                }
                at += rows.size * row;
                continue;
            }
            end = end.min((at / row + 1) * row);
        }
        for_each_tile(axes, start, at..end, |tile| {
            f(&tile, at, tile.columns.size);
            at += tile.rows.size * tile.columns.size;
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axes<const N: usize>(shape: &[usize], strides: [&[isize]; N]) -> Vec<(usize, [isize; N])> {
        let nest = LoopNest::of(shape, strides);
        nest.axes().iter().map(|a| (a.size, a.strides)).collect()
    }

    #[test]
    fn axes_are_dropped_ordered_merged_and_turned_round() {
        // A bias on [N, C, H, W]: H and W merge, the axis of size 1 is gone.
        assert_eq!(
            axes(&[1, 3, 4, 5], [&[60, 20, 5, 1], &[0, 1, 0, 0]]),
            [(3, [20, 1]), (20, [1, 0])]
        );
        assert_eq!(axes(&[2, 3, 4], [&[12, 4, 1], &[12, 4, 1]]), [(24, [1, 1])]);
        // Fortran order on both sides is one loop too.
        assert_eq!(axes(&[2, 3], [&[1, 2], &[1, 2]]), [(6, [1, 1])]);
        assert_eq!(
            axes(&[2, 3], [&[1, 2], &[3, 1]]),
            [(3, [2, 1]), (2, [1, 3])]
        );
        // Both reversed: turned round, then merged.
        assert_eq!(axes(&[2, 3], [&[-3, -1], &[-3, -1]]), [(6, [1, 1])]);
        assert_eq!(axes(&[5], [&[0], &[-2]]), [(5, [0, 2])]);
        assert_eq!(axes(&[7, 9], [&[0, 0]]), [(63, [0])]);
        assert_eq!(axes(&[], [&[]]), []);
        assert_eq!(axes(&[1, 1], [&[5, 3], &[0, 2]]), []);
        assert_eq!(LoopNest::of(&[3, 0], [&[0, 1]]).len(), 0);
    }

    fn axis(&(size, stride): &(usize, isize)) -> LoopAxis<1> {
        LoopAxis {
            size,
            strides: [stride],
        }
    }

    #[test]
    fn axes_in_order_are_merged_and_nothing_else() {
        let in_order = |axes: &[(usize, isize)]| {
            let mut nest = LoopNest::empty();
            nest.fill(axes.iter().map(axis)).unwrap();
            let merged = nest.axes().iter().map(|a| (a.size, a.strides[0]));
            (nest.start(), nest.len(), merged.collect::<Vec<_>>())
        };
        assert_eq!(
            in_order(&[(2, 12), (1, 7), (3, 4), (4, 1)]),
            ([0], 24, vec![(24, 1)])
        );
        assert_eq!(in_order(&[(2, 1), (3, 2)]), ([0], 6, vec![(2, 1), (3, 2)]));
        assert_eq!(in_order(&[(2, -3), (3, -1)]), ([0], 6, vec![(6, -1)]));
        assert_eq!(in_order(&[(2, 3), (0, 1), (5, 1)]), ([0], 0, vec![]));
        assert_eq!(in_order(&[(1, 3)]), ([0], 1, vec![]));
    }

    #[test]
    fn axes_that_make_up_to_two_loops_are_a_tile_whose_columns_are_nearest_in_memory() {
        let tile = |axes: &[(usize, isize)]| {
            let tile = Tile::of(axes.iter().map(axis));
            tile.map(|tile| [tile.rows, tile.columns].map(|a| (a.size, a.strides[0])))
        };
        for (axes, rows_and_columns) in [
            (&[][..], [(1, 0), (1, 0)]),
            (&[(3, 2), (1, 7)], [(1, 0), (3, 2)]),
            // One row.
            (&[(2, 3), (3, 1)], [(1, 0), (6, 1)]),
            (&[(2, -3), (1, 7), (3, -1)], [(1, 0), (6, -1)]),
            // Two loops, in their order, and in that of memory.
            (&[(2, 4), (3, 1)], [(2, 4), (3, 1)]),
            (&[(2, 1), (3, 2)], [(3, 2), (2, 1)]),
            (&[(2, -1), (3, -2)], [(3, -2), (2, -1)]),
            (&[(4, 8), (2, 4), (3, 1)], [(8, 4), (3, 1)]),
        ] {
            assert_eq!(tile(axes), Some(rows_and_columns), "{axes:?}");
        }
        for axes in [
            &[(0, 1)][..],
            &[(2, 3), (0, 3), (3, 1)],
            &[(4, 20), (2, 4), (3, 1)],
            // The first axis continues the last one, which is not next to it.
            &[(5, 6), (2, 40), (3, 2)],
        ] {
            assert_eq!(tile(axes), None, "{axes:?}");
        }
    }

    #[test]
    fn rows_and_columns_are_exchanged_if_neighbours_in_the_output_are_in_different_rows() {
        let tile = Tile::of([(2, 5), (3, 2)].iter().map(axis)).unwrap();
        let exchanged = |size: usize| tile.along_output(size).columns.size == 2;
        assert_eq!([2, 5, 1].map(exchanged), [false, true, false]);
    }

    #[test]
    fn every_position_is_found_from_anywhere() {
        let cases: &[(&[usize], [&[isize]; 2])] = &[
            (&[], [&[], &[]]),
            (&[4], [&[-2], &[3]]),
            (&[2, 3, 4], [&[12, -4, 1], &[1, 0, 2]]),
            (
                &[2; 11],
                [
                    &[1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576],
                    &[0; 11],
                ],
            ),
        ];
        for (shape, strides) in cases {
            let nest = LoopNest::of(shape, *strides);
            // The oracle: every index, one by one, as an unordered set of offset pairs.
            let mut expected = vec![];
            for linear in 0..shape.iter().product::<usize>() {
                let (mut rest, mut offsets) = (linear, [0; 2]);
                for axis in (0..shape.len()).rev() {
                    let index = (rest % shape[axis]) as isize;
                    rest /= shape[axis];
                    offsets[0] += index * strides[0][axis];
                    offsets[1] += index * strides[1][axis];
                }
                expected.push(offsets);
            }
            expected.sort_unstable();
            let all = |range: Range<usize>| {
                let mut found = vec![];
                nest.for_each_row(range, &mut |offsets, len| {
                    for i in 0..len as isize {
                        let inner = nest.inner().strides;
                        found.push([offsets[0] + i * inner[0], offsets[1] + i * inner[1]]);
                    }
                });
                found
            };
            let whole = all(0..nest.len());
            for cut in (0..=nest.len()).step_by(1 + nest.len() / 50) {
                assert_eq!([all(0..cut), all(cut..nest.len())].concat(), whole);
            }
            let mut whole = whole;
            whole.sort_unstable();
            assert_eq!(whole, expected, "{shape:?} {strides:?}");
        }
    }

    /// All nests of up to four axes of sizes 0 to 3, with strides -3 to 3, in one range and in two.
    /// Each index is walked once. Without `ALL_CASES`, some of those with three or four.
    #[test]
    fn every_small_nest_is_walked_once() {
        let all = std::env::var_os("ALL_CASES").is_some();
        for (rank, step) in [(0, 1), (1, 1), (2, 1), (3, 5), (4, 101)] {
            for number in (0..28_usize.pow(rank)).step_by(if all { 1 } else { step }) {
                let digit = |of: usize, base: usize, axis: u32| of / base.pow(axis) % base;
                // The second operand's strides: others for each case.
                let other = number.wrapping_mul(0x9e37_79b9) >> 7;
                let axes = (0..rank).map(|axis| LoopAxis {
                    size: digit(number, 28, axis) % 4,
                    strides: [digit(number, 28, axis) / 4, digit(other, 7, axis)]
                        .map(|stride| stride as isize - 3),
                });
                let mut expected = vec![[0; 2]];
                for axis in axes.clone() {
                    let moved = |offsets| (0..axis.size).map(move |turn| axis.moved(offsets, turn));
                    expected = expected.into_iter().flat_map(moved).collect();
                }
                expected.sort_unstable();
                let what = axes.clone().collect::<Vec<_>>();
                let elements = |tile: Tile<2>| {
                    let places = move |row| {
                        let columns = 0..tile.columns.size;
                        columns.map(move |column| tile.offsets_at(row, column))
                    };
                    (0..tile.rows.size).flat_map(places)
                };
                if let Some(tile) = Tile::of(axes.clone()) {
                    let mut walked: Vec<_> = elements(tile).collect();
                    walked.sort_unstable();
                    assert!(!walked.is_empty() && walked == expected, "{what:?}");
                }
                let mut in_order = LoopNest::empty();
                in_order.fill(axes.clone()).unwrap();
                let mut sorted = LoopNest::empty();
                sorted.fill(axes).unwrap();
                sorted.sort();
                for nest in [sorted, in_order] {
                    assert_eq!(nest.len(), expected.len(), "{what:?}");
                    let cut = other % (nest.len() + 1);
                    for ranges in [[0..nest.len(), 0..0], [0..cut, cut..nest.len()]] {
                        let mut rows = vec![];
                        for range in ranges.clone() {
                            nest.for_each_row(range, &mut |offsets, len| {
                                rows.extend((0..len).map(|i| nest.inner().moved(offsets, i)));
                            });
                        }
                        // By tiles, and by blocks with rows along each outer axis.
                        let outer = (1..nest.axes().len()).map(|axis| Some(axis - 1));
                        for axis in outer.chain([None]) {
                            let mut blocks = vec![];
                            for range in ranges.clone() {
                                nest.for_each_block(range, axis, &mut |block, at, pitch| {
                                    let width = block.columns.size;
                                    let places = elements(*block).enumerate();
                                    blocks.extend(places.map(|(i, offsets)| {
                                        (at + i / width * pitch + i % width, offsets)
                                    }));
                                });
                            }
                            blocks.sort_unstable();
                            let in_order = rows.iter().copied().enumerate();
                            assert!(in_order.eq(blocks), "{what:?}, {axis:?}");
                        }
                        rows.sort_unstable();
                        assert_eq!(rows, expected, "{what:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_thousand_axes_fit() {
        let shape: Vec<usize> = (0..1000).map(|i| if i % 50 == 0 { 2 } else { 1 }).collect();
        let mut strides = vec![0_isize; 1000];
        for (i, stride) in strides.iter_mut().step_by(50).enumerate() {
            *stride = 3_isize.pow(i as u32);
        }
        let nest = LoopNest::of(&shape, [&strides]);
        assert_eq!((nest.axes().len(), nest.len()), (20, 1 << 20));
        let mut last = -1;
        let mut count = 0;
        nest.for_each_row(0..nest.len(), &mut |[offset], len| {
            assert!(offset > last);
            last = offset;
            count += len;
        });
        assert_eq!(count, 1 << 20);
    }
}
