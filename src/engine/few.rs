//! Sweeps over so few elements that finding the fastest order of loops takes longer than it saves:
//! see [`FEW_MAPPED`] and [`FEW_MAPPED_ROWS`].

use super::inputs::Inputs;
use super::machine::{Vectorize, widest};
use super::nest::{LoopAxis, Tile};
use super::threads::{Cost, for_each_range};
use super::tuning::{
    FEW_MAPPED, FEW_MAPPED_ROWS, MAP_CHUNK, MAP_LONG_ROW, WIDE_MAPPED_FROM, map_chunk,
};
use crate::error::{ArrayRole, BroadcastError, check_shape};
use ndarray::{ArrayRef, Dimension};
use std::array;
use std::ops::Range;

/// That all inputs have the shape of the output.
#[inline]
pub(super) fn check_shapes<X, D: Dimension, I: Inputs<N>, const N: usize>(
    output: &ArrayRef<X, D>,
    inputs: &I,
) -> Result<(), BroadcastError> {
    (0..N - 1)
        .try_for_each(|input| check_shape(ArrayRole::Out, inputs.layout(input).0, output.shape()))
}

/// The strides of the output and of its inputs.
#[inline]
pub(super) fn strides_of<'s, X, D: Dimension, I: Inputs<N>, const N: usize>(
    output: &'s ArrayRef<X, D>,
    inputs: &'s I,
) -> [&'s [isize]; N] {
    array::from_fn(|operand| match operand {
        0 => output.strides(),
        _ => inputs.layout(operand - 1).1,
    })
}

/// A pointer to the element of an output at index 0 of every axis.
pub(super) struct Origin<X>(pub(super) *mut X);

// SAFETY: threads reach different elements through it: the contracts of `RowsKernel::new`,
// `TileKernel::new` and `Inputs::best_rows`. So `X` must be `Send`.
unsafe impl<X: Send> Sync for Origin<X> {}

impl<X> Origin<X> {
    /// A method, so that a closure captures the wrapper, which is `Sync`, and not the pointer.
    pub(super) fn get(&self) -> *mut X {
        self.0
    }
}

/// An axis of some operands.
#[inline]
fn axis_of<const N: usize>(shape: &[usize], strides: [&[isize]; N], axis: usize) -> LoopAxis<N> {
    LoopAxis {
        size: shape[axis],
        strides: strides.map(|strides| strides[axis]),
    }
}

/// Merges as many of the innermost axes as make one loop. Returns this loop, and how many axes
/// remain outside it.
#[inline]
fn merged<const N: usize>(shape: &[usize], strides: [&[isize]; N]) -> (LoopAxis<N>, usize) {
    let (mut merged, mut outer) = (LoopAxis::UNIT, shape.len());
    while let Some(next) = outer.checked_sub(1) {
        let axis = axis_of(shape, strides, next);
        if merged.size == 1 {
            merged = axis;
        } else if axis.size > 1 {
            if !axis.continues(&merged) {
                break;
            }
            merged.size *= axis.size;
        }
        outer = next;
    }
    (merged, outer)
}

/// Rows of all operands, which are counted in the order of the axes.
struct Rows<'s, const N: usize> {
    /// Where the first row begins.
    start: [isize; N],
    /// The outer axes.
    shape: &'s [usize],
    strides: [&'s [isize]; N],
    /// The rows at one position of the outer axes, at least one.
    rows: LoopAxis<N>,
    columns: LoopAxis<N>,
}

impl<const N: usize> Rows<'_, N> {
    /// The first rows of a range, as many as are at one position of the outer axes. If the range is
    /// not empty, that is at least one row.
    #[inline(always)]
    fn tile(&self, range: Range<usize>) -> Tile<N> {
        let (row, mut position) = (range.start % self.rows.size, range.start / self.rows.size);
        let mut offsets = self.rows.moved(self.start, row);
        for axis in (0..self.shape.len()).rev() {
            let axis = axis_of(self.shape, self.strides, axis);
            offsets = axis.moved(offsets, position % axis.size);
            position /= axis.size;
        }
        Tile {
            offsets,
            rows: self.rows.resized(range.len().min(self.rows.size - row)),
            columns: self.columns,
        }
    }
}

/// [`best_rows`](Inputs::best_rows) of a range of rows as a kernel.
struct RowsKernel<'s, X, I, F, const N: usize> {
    inputs: &'s I,
    x: *mut X,
    rows: &'s Rows<'s, N>,
    range: Range<usize>,
    op: &'s F,
}

impl<'s, X, I: Inputs<N>, F: Fn(&mut X, I::Items), const N: usize> RowsKernel<'s, X, I, F, N> {
    /// # Safety
    ///
    /// As for [`Inputs::best_rows`], for each tile of these rows.
    #[inline(always)]
    unsafe fn new(
        inputs: &'s I,
        x: *mut X,
        rows: &'s Rows<'s, N>,
        range: Range<usize>,
        op: &'s F,
    ) -> Self {
        RowsKernel {
            inputs,
            x,
            rows,
            range,
            op,
        }
    }

    /// Runs the kernel in the widest vectors. Not inlined, so that it is compiled once for each
    /// closure: [`widest`] is compiled for each of its callers.
    #[inline(never)]
    fn run_widest(self) {
        widest(self);
    }
}

impl<X, I: Inputs<N>, F: Fn(&mut X, I::Items), const N: usize> Vectorize
    for RowsKernel<'_, X, I, F, N>
{
    type Output = ();

    /// All tiles, as each call of a function that is compiled for wide vectors takes 20 ns.
    #[inline(always)]
    fn run(mut self) {
        while !self.range.is_empty() {
            let tile = self.rows.tile(self.range.clone());
            // SAFETY: the contract of `new`.
            unsafe { I::best_rows(self.x, self.inputs.firsts(), &tile, self.op) };
            self.range.start += tile.rows.size;
        }
    }
}

/// Calls `op` once for each element of the output, in the order of the axes, if that is fastest:
/// for few elements in any layout, and for a few chunks of elements that are all in standard
/// layout, or side by side or one repeated element in long rows. Returns whether it has called
/// `op`.
///
/// # Errors
///
/// `WrongShape` if the output has another shape than the inputs.
#[inline]
pub(super) fn sweep_few<X: Send, D: Dimension, I: Inputs<N>, const N: usize>(
    output: &mut ArrayRef<X, D>,
    inputs: &I,
    op: &(impl Fn(&mut X, I::Items) + Sync),
) -> Result<bool, BroadcastError> {
    let bytes = output.len().saturating_mul(size_of::<X>().max(1));
    if bytes > FEW_MAPPED_ROWS {
        return Ok(false);
    }
    let few = output.len() <= FEW_MAPPED;
    check_shapes(output, inputs)?;
    if output.is_empty() {
        return Ok(true);
    }
    let origin = Origin(output.as_mut_ptr());
    let (shape, strides) = (output.shape(), strides_of(output, inputs));
    if let Some(columns) = LoopAxis::of_standard(shape, strides) {
        // One row: all elements, or those of a chunk.
        let row = |range: Range<usize>| Rows {
            start: columns.moved([0; N], range.start),
            shape: &[],
            strides: [&[]; N],
            rows: LoopAxis::UNIT,
            columns: columns.resized(range.len()),
        };
        if few || bytes < WIDE_MAPPED_FROM {
            let tile = row(0..columns.size).tile(0..1);
            // SAFETY: `check_shapes` has found one shape, and `of_standard` strides with which the
            // offsets of `columns` are the elements of every operand, from index 0 on. The output
            // is borrowed mutably. The strides are those of `columns`.
            unsafe { I::rows(origin.get(), inputs.firsts(), &tile, columns.strides, op) };
        } else {
            for_each_chunk(columns.size, bytes, |elements| {
                let row = row(elements);
                // SAFETY: as above; each element is in one chunk, which is one thread's.
                unsafe { RowsKernel::new(inputs, origin.get(), &row, 0..1, op) }.run_widest();
            });
        }
        return Ok(true);
    }
    let (columns, above) = match shape.split_last() {
        None => (LoopAxis::UNIT, shape),
        Some((_, above)) => (axis_of(shape, strides, above.len()), above),
    };
    let (rows, outer) = merged(above, strides);
    let positions: usize = shape[..outer].iter().product();
    let count = positions * rows.size;
    let plain = columns.strides.iter().all(|stride| [0, 1].contains(stride));
    let long = plain && columns.size >= MAP_LONG_ROW;
    let narrow = few || bytes / positions < WIDE_MAPPED_FROM;
    let chunks = bytes.div_ceil(MAP_CHUNK);
    if !few && (!long || count < chunks || chunks > 1 && narrow) {
        return Ok(false);
    }
    // The elements of the output and of the inputs, as `check_shapes` has found one shape, and
    // `axis_of` reads the strides of each operand.
    let all = Rows {
        start: [0; N],
        shape: &shape[..outer],
        strides,
        rows,
        columns,
    };
    if narrow {
        // Not by `RowsKernel::run`: 16 by 16 `f32` plus a row then take 137 ns instead of 66.
        for position in 0..positions {
            let tile = all.tile(position * rows.size..(position + 1) * rows.size);
            // SAFETY: the offsets of the tile are elements of every operand: see the comment on
            // `all`. Each position is visited once. The output is borrowed mutably.
            unsafe { I::best_rows(origin.get(), inputs.firsts(), &tile, op) };
        }
    } else {
        for_each_chunk(count, bytes, |range| {
            // SAFETY: as above; each row is in one chunk, which is one thread's.
            unsafe { RowsKernel::new(inputs, origin.get(), &all, range, op) }.run_widest();
        });
    }
    Ok(true)
}

/// Calls `f` with ranges that together are `0..count`, on several threads if it is slow. Together
/// they have `bytes` bytes of output, and each has at most about [`map_chunk`] of them.
///
/// The ranges are equally long. [`Chunks`] are cut at addresses: with few long rows, some of them
/// would have no row, and fewer would be shared.
///
/// [`Chunks`]: super::chunks::Chunks
fn for_each_chunk(count: usize, bytes: usize, f: impl Fn(Range<usize>) + Sync) {
    let in_chunk = count.div_ceil(bytes.div_ceil(map_chunk(bytes)));
    // The inputs are not counted, as the time is measured.
    let cost = Cost::Closure { bytes };
    for_each_range(count.div_ceil(in_chunk), cost, |chunks| {
        f(chunks.start * in_chunk..count.min(chunks.end * in_chunk));
    });
}
