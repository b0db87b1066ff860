//! From a kernel and its output to tiles: what is computed where, in which order, and written past which cache.

use super::row::{self, Count, Kernel, Progress, Tile, Untracked};
use crate::engine::chunks::Chunks;
use crate::engine::threads::{Cost, for_each_range};
use crate::error::{ArrayRole, BroadcastError, wrong_shape_error};
use crate::materialize::layout::{LoopAxis, LoopNest, Odometer};
use crate::materialize::memory::{
    CACHE_LINE, CAN_STREAM, FenceOnDrop, HUGE_PAGE, output_len, stream, uninit_vec,
};
use ndarray::{Array, ArrayRef, Dimension};
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes of output that a thread takes at a time: so many that asking for more costs nothing.
const PART_BYTES: usize = 256 << 10;

/// Fresh outputs from this size on are taken a huge page at a time, so that each page is zeroed by who fills it.
const HUGE_PARTS_FROM: usize = 32 << 20;

/// Bytes of the block that results are computed into before they are streamed out of it. Measured on 256 MiB: with 4 KiB
/// the reads of one block and the writes of the last overlap; 1 KiB takes a quarter longer and so does 16 KiB.
const BLOCK_BYTES: usize = 4 << 10;

/// Existing outputs from this size on are streamed past the cache; a smaller one may well be read from it.
const STREAM_FROM: usize = 32 << 20;

/// Neighbours in the output must be this many bytes to be streamed, as their first and last cache lines are not.
const STREAM_RUN_FROM: usize = 4 << 10;

/// Side of the squares that are walked where an input is contiguous along another axis than the output.
const SQUARE: usize = 32;

/// Into how many parts an output with drop glue is cut at most: so many counts fit on the stack.
const COUNTED_PARTS: usize = 64;

/// Elements of such a part at least.
const COUNTED_PART_FROM: usize = 1024;

/// A new array in standard layout, each element of which the kernel initialises. If the kernel panics, the elements that
/// it has initialised are dropped.
///
/// # Safety
///
/// Whenever the kernel's closure returns, it has initialised its first argument.
pub(super) unsafe fn collect<C, D, K, const N: usize>(
    kernel: &K,
    dim: D,
) -> Result<Array<C, D>, BroadcastError>
where
    C: Send,
    D: Dimension,
    K: Kernel<MaybeUninit<C>, N>,
{
    let vec = uninit_vec::<C>(output_len::<C>(dim.slice())?)?;
    // SAFETY: the vector has as many elements as the shape, and a shape alone asks for standard layout.
    let mut out = unsafe { Array::from_shape_vec_unchecked(dim, vec) };
    let sweep = Sweep::new(kernel, &mut out)?;
    if std::mem::needs_drop::<C>() {
        // SAFETY: by the contract of this function; `out` has standard layout.
        unsafe { sweep.counted() };
    } else if sweep.output_bytes() >= HUGE_PARTS_FROM {
        sweep.in_parts_of(HUGE_PAGE);
    } else {
        sweep.in_parts_of(PART_BYTES);
    }
    // SAFETY: the closure has returned from every element, as all of the output was swept and nothing has panicked.
    Ok(unsafe { out.assume_init() })
}

/// Writes every element of `out`, which has no drop glue, past the cache where that pays.
///
/// # Safety
///
/// Whenever the kernel's closure returns, it has initialised its first argument, and it leaves nothing else there.
pub(super) unsafe fn overwrite<C, D, K, const N: usize>(
    kernel: &K,
    out: &mut ArrayRef<C, D>,
) -> Result<(), BroadcastError>
where
    C: Send,
    D: Dimension,
    K: Kernel<MaybeUninit<C>, N>,
{
    let raw = out.raw_view_mut().cast::<MaybeUninit<C>>();
    // SAFETY: the view is of the elements that `out` borrows mutably, under a type of the same layout. Elements stay
    // initialised, by the contract of this function.
    let mut out = unsafe { raw.deref_into_view_mut() };
    let sweep = Sweep::new(kernel, &mut out)?;
    match sweep.streamable_run() {
        Some(run) => sweep.streamed(run),
        None => sweep.in_parts_of(PART_BYTES),
    }
    Ok(())
}

/// Changes every element of `x` in place.
pub(super) fn update<X, D, K, const N: usize>(
    kernel: &K,
    x: &mut ArrayRef<X, D>,
) -> Result<(), BroadcastError>
where
    X: Send,
    D: Dimension,
    K: Kernel<X, N>,
{
    Sweep::new(kernel, x)?.in_parts_of(PART_BYTES);
    Ok(())
}

/// The `WrongShape` of an output that has not the kernel's shape.
pub(super) fn check_shape(expected: &[usize], out: &[usize]) -> Result<(), BroadcastError> {
    if expected == out {
        Ok(())
    } else {
        Err(wrong_shape_error(ArrayRole::Out, expected, out))
    }
}

/// A kernel, and an output of its shape that nobody else reaches for `'a`.
struct Sweep<'a, X, K, const N: usize> {
    kernel: &'a K,
    /// Of the output, operand 0, and of the kernel's inputs.
    nest: LoopNest<N>,
    /// Index 0 of every axis of the output.
    origin: *mut X,
    /// Whether to compute in the widest vectors; see `row::tile`.
    wide: bool,
    output: PhantomData<&'a mut X>,
}

// SAFETY: through `origin` elements are reached that threads divide among themselves, so they must be `Send`; of the kernel
// all use a reference, so it must be `Sync`. The rest is plain data.
unsafe impl<X: Send, K: Sync, const N: usize> Sync for Sweep<'_, X, K, N> {}

impl<'a, X: Send, K: Kernel<X, N>, const N: usize> Sweep<'a, X, K, N> {
    #[inline]
    fn new<D: Dimension>(
        kernel: &'a K,
        output: &'a mut ArrayRef<X, D>,
    ) -> Result<Self, BroadcastError> {
        check_shape(kernel.shape(), output.shape())?;
        let strides = std::array::from_fn(|operand| match operand {
            0 => output.strides(),
            _ => kernel.strides(operand - 1),
        });
        let nest = LoopNest::new(output.shape(), strides)?;
        Ok(Sweep {
            kernel,
            wide: true,
            nest,
            origin: output.as_mut_ptr(),
            output: PhantomData,
        })
    }

    #[inline]
    fn output_bytes(&self) -> usize {
        self.nest.len().saturating_mul(size_of::<X>())
    }

    /// What is read and written; of an input that stands still in the innermost loop, nothing.
    #[inline]
    fn bytes(&self) -> usize {
        let strides = self.nest.inner().strides;
        let element: usize = (0..N)
            .map(|operand| match operand {
                0 => size_of::<X>(),
                _ if strides[operand] == 0 => 0,
                _ => self.kernel.element_size(operand - 1),
            })
            .sum();
        self.nest.len().saturating_mul(element)
    }

    #[inline]
    fn cost(&self) -> Cost {
        Cost::Closure {
            bytes: self.bytes(),
        }
    }

    /// The output's positions in parts that begin at multiples of `part_bytes`, if the output is contiguous.
    #[inline]
    fn parts(&self, part_bytes: usize) -> Chunks {
        let first = self.origin.wrapping_offset(self.nest.start()[0]);
        Chunks::new(self.nest.len(), size_of::<X>(), first.addr(), part_bytes)
    }

    /// All elements, in no particular order.
    #[inline]
    fn in_parts_of(mut self, part_bytes: usize) {
        let crossed = cross(&mut self.nest);
        let parts = self.parts(part_bytes);
        for_each_range(parts.count(), self.cost(), |range| {
            for_each_tile(&self.nest, parts.range(range), |tile| {
                if crossed {
                    // SAFETY: parts are disjoint, and squares are parts of the tile; see `tile`.
                    for_each_square(tile, |square| unsafe {
                        self.tile(self.origin, square, &Untracked)
                    });
                } else {
                    // SAFETY: parts are disjoint; see `tile`.
                    unsafe { self.tile(self.origin, tile, &Untracked) };
                }
            });
        });
    }

    /// # Safety
    ///
    /// The tile is one of `nest`, and no other thread has positions of it at hand. `x` reaches as many elements from the
    /// offsets of operand 0 in the tile as `origin` does.
    #[inline]
    unsafe fn tile<P: Progress>(&self, x: *mut X, tile: Tile<N>, progress: &P) {
        // SAFETY: the nest walks the shape that the output and the kernel's inputs have with the strides that they have,
        // from index 0 of every axis, so each offset reaches an element of theirs. The output is borrowed mutably: its
        // elements are different ones, none of the inputs, and nobody else's by this contract.
        unsafe { row::tile(self.kernel, self.wide, x, tile, progress) };
    }
}

impl<C: Send, K: Kernel<MaybeUninit<C>, N>, const N: usize> Sweep<'_, MaybeUninit<C>, K, N> {
    /// All elements, counting what is initialised and dropping that if the kernel panics.
    ///
    /// # Safety
    ///
    /// The closure initialises its first argument, and the output has standard layout.
    unsafe fn counted(self) {
        let len = self.nest.len();
        let initialised = Initialised {
            first: self.origin.cast::<C>(),
            part_len: len.div_ceil(COUNTED_PARTS).max(COUNTED_PART_FROM),
            counts: [const { AtomicUsize::new(0) }; COUNTED_PARTS],
        };
        let (counts, part_len) = (&initialised.counts, initialised.part_len);
        for_each_range(len.div_ceil(part_len), self.cost(), |range| {
            for part in range {
                let begin = part * part_len;
                let count = Counted {
                    done: Count::default(),
                    total: &counts[part],
                };
                for_each_tile(&self.nest, begin..len.min(begin + part_len), |tile| {
                    // SAFETY: parts are disjoint; see `tile`.
                    unsafe { self.tile(self.origin, tile, &count.done) };
                });
            }
        });
        // From here on the elements belong to the output.
        let _ = ManuallyDrop::new(initialised);
    }

    /// How many neighbours in the output follow each other from position to position, if they are many enough to be
    /// streamed.
    fn streamable_run(&self) -> Option<usize> {
        let fits = size_of::<C>() > 0 && size_of::<C>() <= 1024 && align_of::<C>() <= CACHE_LINE;
        if !CAN_STREAM || !fits || self.output_bytes() < STREAM_FROM {
            return None;
        }
        let mut run = 1;
        for axis in self.nest.axes().iter().rev() {
            if axis.strides[0] != run as isize {
                break;
            }
            run *= axis.size;
        }
        let crossed = cross(&mut self.nest.clone());
        (!crossed && run * size_of::<C>() >= STREAM_RUN_FROM).then_some(run)
    }

    /// All elements, by way of a block that is streamed into the output whenever it is full.
    fn streamed(mut self, run: usize) {
        #[repr(align(64))]
        struct Block([MaybeUninit<u8>; BLOCK_BYTES]);

        // Inputs as large as the output come from memory, at addresses that wide vectors straddle cache lines at: 256 MiB of sums of
        // a matrix and a row take 14.5 ms with them and 12.2 without.
        let axes = self.nest.axes();
        self.wide = (1..N).all(|input| axes.iter().any(|axis| axis.strides[input] == 0));
        let parts = self.parts(PART_BYTES);
        for_each_range(parts.count(), self.cost(), |range| {
            let _fence = FenceOnDrop;
            let mut block = Block([MaybeUninit::uninit(); BLOCK_BYTES]);
            let block = block.0.as_mut_ptr().cast::<MaybeUninit<C>>();
            let mut positions = parts.range(range);
            while !positions.is_empty() {
                // One run: positions and offsets in the output go on together.
                let first = positions.start;
                let end = positions.end.min(first + (run - first % run));
                positions.start = end;
                let start = Odometer::new(self.nest.axes(), self.nest.start(), first).offsets()[0];
                let mut at = first;
                while at < end {
                    let offset = start + (at - first) as isize;
                    let to = self.origin.wrapping_offset(offset);
                    // The block ends where a cache line of the output does, so that only whole ones are streamed.
                    let room = (BLOCK_BYTES - to.addr() % CACHE_LINE) / size_of::<C>();
                    let block_end = end.min(at + room);
                    debug_assert!((block_end - at) * size_of::<C>() <= BLOCK_BYTES);
                    let x = block.wrapping_offset(-offset);
                    for_each_tile(&self.nest, at..block_end, |tile| {
                        // SAFETY: parts are disjoint. In a run, offsets of operand 0 count from `offset` on, so from `x`
                        // they reach the first elements of the block, which has room for them; it is aligned for them,
                        // as `streamable_run` has checked.
                        unsafe { self.tile(x, tile, &Untracked) };
                    });
                    let bytes = (block_end - at) * size_of::<C>();
                    // SAFETY: so many elements of the block are there to read, and of the output, one run, to write.
                    // The block is none of the output.
                    unsafe { stream(block.cast::<u8>(), to.cast::<u8>(), bytes) };
                    at = block_end;
                }
            }
        });
    }
}

/// How many elements of each part of an array in standard layout are initialised. Drops them when it is dropped.
struct Initialised<C> {
    first: *mut C,
    part_len: usize,
    counts: [AtomicUsize; COUNTED_PARTS],
}

impl<C> Drop for Initialised<C> {
    fn drop(&mut self) {
        for (part, count) in self.counts.iter_mut().enumerate() {
            let first = self.first.wrapping_add(part * self.part_len);
            let elements = ptr::slice_from_raw_parts_mut(first, *count.get_mut());
            // SAFETY: of each part the first `count` elements have been initialised, as a kernel that counts goes in order
            // of positions, which are offsets in standard layout, and nobody else drops them: the output that they are
            // in is of `MaybeUninit`. All threads have stopped.
            unsafe { ptr::drop_in_place(elements) };
        }
    }
}

/// The count of one part at hand, noted when the part ends, by a panic too.
struct Counted<'a> {
    done: Count,
    total: &'a AtomicUsize,
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        // Relaxed, as whoever reads it waits for this thread first.
        self.total.store(self.done.get(), Ordering::Relaxed);
    }
}

/// If an input is contiguous along another axis than the innermost, puts that axis next to it and says so: the two are
/// then walked in squares, so that whole cache lines of the input are used while they are there.
fn cross<const N: usize>(nest: &mut LoopNest<N>) -> bool {
    let Some((inner, outer)) = nest.axes().split_last() else {
        return false;
    };
    if inner.size < SQUARE {
        return false;
    }
    for operand in 1..N {
        let along = inner.strides[operand].unsigned_abs();
        let nearest = (outer.iter().enumerate())
            .map(|(axis, outer)| (outer.strides[operand].unsigned_abs(), axis))
            .filter(|&(stride, _)| stride != 0 && stride < along)
            .min();
        if let Some((_, axis)) = nearest {
            let next = outer.len() - 1;
            nest.move_axis(axis, next);
            return true;
        }
    }
    false
}

/// Walks the positions `range` as tiles of the two innermost axes: whole planes, and up to three tiles of those that the
/// range begins or ends in.
#[inline]
fn for_each_tile<const N: usize>(
    nest: &LoopNest<N>,
    range: Range<usize>,
    mut f: impl FnMut(Tile<N>),
) {
    if range.is_empty() {
        return;
    }
    let column = nest.inner();
    let (outer, row) = match nest.axes() {
        [outer @ .., row, _] => (outer, *row),
        _ => {
            let unit = LoopAxis {
                size: 1,
                strides: [0; N],
            };
            (&[][..], unit)
        }
    };
    let plane = row.size * column.size;
    let mut odometer = Odometer::new(outer, nest.start(), range.start / plane);
    let mut at = range.start % plane;
    let mut left = range.len();
    loop {
        let end = plane.min(at + left);
        left -= end - at;
        let origin = odometer.offsets();
        while at < end {
            let (first_row, first_column) = (at / column.size, at % column.size);
            let (rows, columns) = if first_column == 0 && end - at >= column.size {
                ((end - at) / column.size, column.size)
            } else {
                (1, (column.size - first_column).min(end - at))
            };
            let offsets = std::array::from_fn(|operand| {
                origin[operand]
                    .wrapping_add(row.strides[operand].wrapping_mul(first_row as isize))
                    .wrapping_add(column.strides[operand].wrapping_mul(first_column as isize))
            });
            f(Tile {
                offsets,
                rows,
                row_strides: row.strides,
                columns,
                column_strides: column.strides,
            });
            at += rows * columns;
        }
        if left == 0 {
            return;
        }
        at = 0;
        odometer.advance();
    }
}

/// Cuts a tile into squares.
fn for_each_square<const N: usize>(tile: Tile<N>, mut f: impl FnMut(Tile<N>)) {
    for row in (0..tile.rows).step_by(SQUARE) {
        for column in (0..tile.columns).step_by(SQUARE) {
            f(Tile {
                offsets: tile.at(row, column),
                rows: SQUARE.min(tile.rows - row),
                columns: SQUARE.min(tile.columns - column),
                ..tile
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::row::{Zip1, Zip2, Zip3};
    use super::*;
    use ndarray::{Array1, Array2, ArrayView, ArrayViewMut2, Ix1, arr0, s};

    fn uninit<C>(rows: usize, columns: usize) -> Array2<MaybeUninit<C>> {
        Array2::uninit((rows, columns))
    }

    #[test]
    fn sizes_are_in_their_order() {
        let sizes = [64, BLOCK_BYTES, PART_BYTES, HUGE_PAGE, HUGE_PARTS_FROM];
        assert!(sizes.is_sorted_by(|a, b| a < b), "{sizes:?}");
        // What is streamed is a block at least, and fresh parts are no less often taken by pages than streamed.
        assert_eq!(
            [BLOCK_BYTES, STREAM_FROM],
            [STREAM_RUN_FROM, HUGE_PARTS_FROM]
        );
    }

    #[test]
    fn bytes_are_those_that_move() {
        let shape = (3, 4);
        let bytes = Array2::<u8>::zeros(shape);
        let column = Array2::<u16>::zeros((3, 1));
        let row = Array1::<u32>::zeros(4);
        let (column, row) = (
            column.broadcast(shape).unwrap(),
            row.broadcast(shape).unwrap(),
        );
        let mut out = Array2::<f64>::zeros(shape);

        let op = |_: &mut f64, _: &u8, _: &u16, _: &u32| {};
        let kernel = Zip3 {
            a: bytes.view(),
            b: column,
            c: row,
            op,
        };
        assert_eq!(
            Sweep::new(&kernel, &mut out).unwrap().bytes(),
            12 * (8 + 1 + 4)
        );
        let op = |_: &mut f64, _: &u32, _: &u8, _: &u16| {};
        let kernel = Zip3 {
            a: row,
            b: bytes.view(),
            c: column,
            op,
        };
        assert_eq!(
            Sweep::new(&kernel, &mut out).unwrap().bytes(),
            12 * (8 + 4 + 1)
        );
        let op = |_: &mut f64, _: &u16, _: &u32| {};
        let kernel = Zip2 {
            a: column,
            b: row,
            op,
        };
        assert_eq!(Sweep::new(&kernel, &mut out).unwrap().bytes(), 12 * (8 + 4));
        let op = |_: &mut f64, _: &u32, _: &u16| {};
        let kernel = Zip2 {
            a: row,
            b: column,
            op,
        };
        assert_eq!(Sweep::new(&kernel, &mut out).unwrap().bytes(), 12 * (8 + 4));
        let op = |_: &mut f64, _: &u32| {};
        let kernel = Zip1 { a: row, op };
        assert_eq!(Sweep::new(&kernel, &mut out).unwrap().bytes(), 12 * (8 + 4));
        let op = |_: &mut f64, _: &u16| {};
        let kernel = Zip1 { a: column, op };
        assert_eq!(Sweep::new(&kernel, &mut out).unwrap().bytes(), 12 * 8);
    }

    fn run_of<C: Send>(out: &mut ArrayViewMut2<'_, MaybeUninit<C>>) -> Option<usize> {
        // A row, so that rows are an axis of their own.
        let row = Array1::<u8>::zeros(out.ncols());
        let a = row.broadcast(out.raw_dim()).unwrap();
        let op = |_: &mut MaybeUninit<C>, _: &u8| {};
        Sweep::new(&Zip1 { a, op }, out).unwrap().streamable_run()
    }

    /// Only shapes and strides count: none of this memory is touched.
    #[test]
    fn large_outputs_with_long_runs_are_streamed() {
        #[repr(align(128))]
        struct Wide;

        let expected = |run| CAN_STREAM.then_some(run);
        assert_eq!(
            run_of(&mut uninit::<f32>(2048, 4096).view_mut()),
            expected(2048 * 4096)
        );
        assert_eq!(run_of(&mut uninit::<f32>(2047, 4096).view_mut()), None);
        assert_eq!(
            run_of(&mut uninit::<u8>(8192, 4096).view_mut()),
            expected(8192 * 4096)
        );
        assert_eq!(
            run_of(&mut uninit::<[u8; 1024]>(256, 128).view_mut()),
            expected(256 * 128)
        );
        assert_eq!(run_of(&mut uninit::<[u8; 1025]>(256, 128).view_mut()), None);
        assert_eq!(run_of(&mut uninit::<Wide>(2048, 4096).view_mut()), None);
        assert_eq!(run_of(&mut uninit::<()>(8192, 8192).view_mut()), None);
        let mut gaps = uninit::<f32>(8300, 2046);
        assert_eq!(run_of(&mut gaps.slice_mut(s![.., ..1024])), expected(1024));
        assert_eq!(run_of(&mut gaps.slice_mut(s![.., ..1023])), None);
        assert_eq!(run_of(&mut gaps.slice_mut(s![.., ..2046; 2])), None);
    }

    #[test]
    fn outputs_that_are_walked_in_squares_are_not_streamed() {
        let a = Array2::<f32>::zeros((4096, 2048));
        let op = |_: &mut MaybeUninit<f32>, _: &f32| {};
        let kernel = Zip1 { a: a.t(), op };
        let mut out = uninit::<f32>(2048, 4096);
        assert_eq!(
            Sweep::new(&kernel, &mut out).unwrap().streamable_run(),
            None
        );
    }

    /// Sizes of the axes after [`cross`], if it is for squares.
    fn crossed<const N: usize>(shape: &[usize], inputs: [&[isize]; N]) -> Option<Vec<usize>> {
        let mut nest = LoopNest::new(shape, inputs).unwrap();
        cross(&mut nest).then(|| nest.axes().iter().map(|axis| axis.size).collect())
    }

    #[test]
    fn inputs_across_the_output_are_walked_in_squares() {
        for (shape, out, input, expected) in [
            (
                &[64, 32][..],
                &[32, 1][..],
                &[1, 64][..],
                Some(&[64, 32][..]),
            ),
            (&[64, 31], &[31, 1], &[1, 64], None),
            (&[64, 33], &[33, 1], &[-1, 64], Some(&[64, 33])),
            (&[64, 33], &[33, 1], &[40, 1], None),
            (&[64, 33], &[33, 1], &[0, 5], None),
            (&[64, 33], &[33, 1], &[7, 7], None),
            (&[64, 33], &[33, 1], &[1, 0], None),
            // The axis that the input is nearest along comes next to the innermost.
            (
                &[40, 50, 64],
                &[3200, 64, 1],
                &[1, 9000, 40],
                Some(&[50, 40, 64]),
            ),
            (
                &[40, 50, 64],
                &[3200, 64, 1],
                &[1, 3, 200],
                Some(&[50, 40, 64]),
            ),
            (
                &[40, 50, 64],
                &[3200, 64, 1],
                &[3, 1, 200],
                Some(&[40, 50, 64]),
            ),
            (&[], &[], &[], None),
        ] {
            assert_eq!(
                crossed(shape, [out, input]).as_deref(),
                expected,
                "{shape:?} {input:?}"
            );
            // Beside an input like the output.
            assert_eq!(crossed(shape, [out, out, input]).as_deref(), expected);
        }
    }

    #[test]
    fn a_kernel_of_another_shape_is_refused() {
        let a: ArrayView<'_, u8, Ix1> = ArrayView::from(&[1, 2, 3]);
        let kernel = Zip1 {
            a,
            op: |_: &mut u8, _: &u8| {},
        };
        let mut out = arr0(0).broadcast(4).unwrap().to_owned();
        assert!(update(&kernel, &mut out).is_err());
    }
}
