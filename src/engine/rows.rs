//! Rows of several operands: one output and its inputs, read and written element by element.
//!
//! [`Source`] and the sweep are built from arrays, and the shapes of all operands are checked where
//! they are built. So every offset of the sweep's loop nest is an element of its operand. Outside
//! this file a sweep is safe: [`collect`], [`overwrite`] and [`update`] call a closure with
//! references.
//!
//! Along a row an input is a slice, one repeated element, or strided. The loops are compiled for
//! each combination that the compiler can vectorise, and once for all others.

use super::chunks::Chunks;
use super::memory::uninit_array;
use super::nest::{LoopNest, Tile, for_each_tile, walk};
use super::simd::{Vectorize, widest};
use super::stream::{CAN_STREAM, FenceOnDrop, stream};
use super::threads::{Cost, for_each_range};
use super::tiles::{cross, in_best_order};
use super::tuning::{
    CACHE_LINE, COUNTED_CHUNK_FROM, COUNTED_CHUNKS, HUGE_PAGE, HUGE_PAGES_FROM, MAP_BLOCK,
    MAP_CHUNK, MAP_STREAM_CHUNK, MAP_STREAM_RUN_FROM, map_stream_from,
};
use crate::error::{ArrayRole, BroadcastError, check_shape};
use ndarray::{Array, ArrayRef, Dimension};
use std::cell::Cell;
use std::marker::PhantomData;
use std::mem::{MaybeUninit, needs_drop};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{ptr, slice};

/// An array that is read: where its element at index 0 of every axis lies, its shape and its
/// strides.
pub(crate) struct Source<'a, A> {
    pub(super) first: *const A,
    shape: &'a [usize],
    strides: &'a [isize],
    elements: PhantomData<&'a A>,
}

// SAFETY: a `Source` only gives out `&A`, as the array that it is built from does. `&A` may be sent
// where `A` is `Sync`.
unsafe impl<A: Sync> Sync for Source<'_, A> {}

impl<'a, A> Source<'a, A> {
    #[inline]
    pub(crate) fn new<D: Dimension>(array: &'a ArrayRef<A, D>) -> Self {
        Source {
            first: array.as_ptr(),
            shape: array.shape(),
            strides: array.strides(),
            elements: PhantomData,
        }
    }
}

/// The elements of an input along a row, by index.
///
/// Indices are not checked: a check keeps the compiler from vectorising the last elements of a row.
/// 64 by 64 `f32` plus a row of 64 take 1.3 us with checks and 0.6 without.
trait Lane<'a, A> {
    /// # Safety
    ///
    /// `i` is below the length of the row.
    unsafe fn at(&self, i: usize) -> &'a A;
}

impl<'a, A> Lane<'a, A> for &'a [A] {
    #[inline(always)]
    unsafe fn at(&self, i: usize) -> &'a A {
        // SAFETY: the contract of this function.
        unsafe { self.get_unchecked(i) }
    }
}

impl<'a, A> Lane<'a, A> for &'a A {
    #[inline(always)]
    unsafe fn at(&self, _: usize) -> &'a A {
        self
    }
}

/// A row whose elements are neighbours.
///
/// # Safety
///
/// `len` elements from `first` on are valid for reads for `'a`.
#[inline(always)]
unsafe fn contiguous<'a, A>(first: *const A, len: usize) -> &'a [A] {
    // SAFETY: the contract of this function.
    unsafe { slice::from_raw_parts(first, len) }
}

/// A row that is one element, repeated.
///
/// # Safety
///
/// `first` is valid for reads for `'a`.
#[inline(always)]
unsafe fn repeated<'a, A>(first: *const A, _: usize) -> &'a A {
    // SAFETY: the contract of this function.
    unsafe { &*first }
}

/// The inputs of a sweep: a tuple of sources. `N` counts the output too, which is operand 0.
///
/// # Safety
///
/// `layout` returns the shape and the strides of the array that `sweep` reads for this input.
pub(crate) unsafe trait Inputs<const N: usize>: Sync {
    /// A reference to an element of each input.
    type Refs;

    /// Shape and strides of an input, and the bytes of an element.
    fn layout(&self, input: usize) -> (&[usize], &[isize], usize);

    /// Calls `op` for each element of a tile of the output with the elements of the inputs.
    ///
    /// # Safety
    ///
    /// The offsets of operand `k + 1` in the tile are elements of input `k`. From `x` on, the
    /// offsets of operand 0 are different elements that are valid for reads and writes, and reached
    /// by nothing else meanwhile.
    unsafe fn sweep<X>(&self, x: *mut X, tile: Tile<N>, op: &impl Fn(&mut X, Self::Refs));
}

/// Implements [`Inputs`] for a tuple: its inputs with their places in the tuple and in the sweep,
/// then the combinations of rows that have loops of their own, with their strides. All other
/// combinations are walked by strides.
macro_rules! inputs {
    (
        $n:literal: $($a:ident $A:ident $input:tt $operand:tt),+;
        $([$($row:ident $from:tt $place:tt $kind:ident $stride:literal),+])+
    ) => {
        // SAFETY: both functions use the same source for an input, and a source holds the layout of
        // its array.
        unsafe impl<'a, $($A: Sync),+> Inputs<$n> for ($(Source<'a, $A>,)+) {
            type Refs = ($(&'a $A,)+);

            #[inline]
            fn layout(&self, input: usize) -> (&[usize], &[isize], usize) {
                match input {
                    $($input => (self.$input.shape, self.$input.strides, size_of::<$A>()),)+
                    _ => (&[], &[], 0),
                }
            }

            #[inline(always)]
            unsafe fn sweep<X>(
                &self,
                x: *mut X,
                tile: Tile<$n>,
                op: &impl Fn(&mut X, Self::Refs),
            ) {
                /// Calls `op` for each element of a row. As parameters, the rows tell the compiler
                /// that nothing else reaches the elements of `x`, so that it vectorises the loop
                /// without a check.
                ///
                /// # Safety
                ///
                /// The rows are as long as `x`.
                #[inline(always)]
                unsafe fn each<'a, X, $($A: 'a),+>(
                    x: &mut [X],
                    $($a: impl Lane<'a, $A>,)+
                    op: &impl Fn(&mut X, ($(&'a $A,)+)),
                ) {
                    for (i, x) in x.iter_mut().enumerate() {
                        // SAFETY: `i` is below the length of `x`, thus of the rows: the contract.
                        op(x, ($(unsafe { $a.at(i) },)+));
                    }
                }

                let len = tile.columns.size;
                match tile.columns.strides {
                    $(
                        [1, $($stride),+] => for row in 0..tile.rows.size {
                            let at = tile.offsets_at(row, 0);
                            let x = x.wrapping_offset(at[0]);
                            // SAFETY: a row of the tile. Its elements are neighbours, as the stride
                            // of operand 0 is 1, and nothing else reaches them: the contract.
                            let x = unsafe { slice::from_raw_parts_mut(x, len) };
                            $(
                                let first = self.$from.first.wrapping_offset(at[$place]);
                                // SAFETY: by the contract the row's elements are elements of the
                                // source, borrowed for 'a. The stride is the one of this kind.
                                let $row = unsafe { $kind(first, len) };
                            )+
                            // SAFETY: all rows have `len` elements.
                            unsafe { each(x, $($row,)+ op) };
                        },
                    )+
                    _ => for row in 0..tile.rows.size {
                        for column in 0..len {
                            let at = tile.offsets_at(row, column);
                            let x = x.wrapping_offset(at[0]);
                            // SAFETY: an element of the tile, which nothing else reaches: the
                            // contract.
                            let x = unsafe { &mut *x };
                            $(
                                let element = self.$input.first.wrapping_offset(at[$operand]);
                                // SAFETY: by the contract an element of the source, borrowed for
                                // 'a.
                                let $a = unsafe { &*element };
                            )+
                            op(x, ($($a,)+));
                        }
                    },
                }
            }
        }
    };
}

inputs!(2: a A 0 1; [a 0 1 contiguous 1] [a 0 1 repeated 0]);
inputs!(
    3: a A 0 1, b B 1 2;
    [a 0 1 contiguous 1, b 1 2 contiguous 1]
    [a 0 1 contiguous 1, b 1 2 repeated 0]
    [a 0 1 repeated 0, b 1 2 contiguous 1]
);
inputs!(
    4: a A 0 1, b B 1 2, c C 2 3;
    [a 0 1 contiguous 1, b 1 2 contiguous 1, c 2 3 contiguous 1]
    [a 0 1 contiguous 1, b 1 2 contiguous 1, c 2 3 repeated 0]
    [a 0 1 contiguous 1, b 1 2 repeated 0, c 2 3 contiguous 1]
    [a 0 1 contiguous 1, b 1 2 repeated 0, c 2 3 repeated 0]
    [a 0 1 repeated 0, b 1 2 contiguous 1, c 2 3 contiguous 1]
    [a 0 1 repeated 0, b 1 2 contiguous 1, c 2 3 repeated 0]
    [a 0 1 repeated 0, b 1 2 repeated 0, c 2 3 contiguous 1]
);
inputs!(
    5: a A 0 1, b B 1 2, c C 2 3, d D 3 4;
    [a 0 1 contiguous 1, b 1 2 contiguous 1, c 2 3 contiguous 1, d 3 4 contiguous 1]
);

/// One output and its inputs, all of one shape, and the loop nest over them.
struct Sweep<'a, X, I, const N: usize> {
    nest: LoopNest<N>,
    inputs: I,
    /// The element of the output at index 0 of every axis.
    origin: *mut X,
    output: PhantomData<&'a mut X>,
}

// SAFETY: threads reach different elements through `origin`, which the contract of `tile` says, so
// `X` must be `Send`. They share the inputs, which are `Sync`. The nest is plain data.
unsafe impl<X: Send, I: Sync, const N: usize> Sync for Sweep<'_, X, I, N> {}

impl<'a, X, I: Inputs<N>, const N: usize> Sweep<'a, X, I, N> {
    /// # Errors
    ///
    /// `WrongShape` if the output has another shape than the inputs; `AllocationFailed`.
    #[inline]
    fn new<D: Dimension>(
        output: &'a mut ArrayRef<X, D>,
        inputs: I,
    ) -> Result<Self, BroadcastError> {
        let origin = output.as_mut_ptr();
        for input in 0..N - 1 {
            check_shape(ArrayRole::Out, inputs.layout(input).0, output.shape())?;
        }
        let strides = std::array::from_fn(|operand| match operand {
            0 => output.strides(),
            _ => inputs.layout(operand - 1).1,
        });
        let nest = LoopNest::new(output.shape(), strides)?;
        Ok(Sweep {
            nest,
            inputs,
            origin,
            output: PhantomData,
        })
    }

    /// The bytes that are read and written. An input that does not move in the innermost loop
    /// counts nothing.
    fn bytes(&self) -> usize {
        let strides = self.nest.inner().strides;
        let input = |operand: usize| match strides[operand] {
            0 => 0,
            _ => self.inputs.layout(operand - 1).2,
        };
        let element = size_of::<X>() + (1..N).map(input).sum::<usize>();
        self.nest.len().saturating_mul(element)
    }
}

impl<X: Send, I: Inputs<N>, const N: usize> Sweep<'_, X, I, N> {
    /// Calls `op` once for each element of the output, in no particular order, in chunks that begin
    /// at multiples of `chunk_bytes` in memory if the output is contiguous.
    fn run(&mut self, chunk_bytes: usize, op: &(impl Fn(&mut X, I::Refs) + Sync)) {
        let squares = cross(&mut self.nest);
        let chunks = self.chunks(chunk_bytes);
        drive(&self.nest, squares, &chunks, self.bytes(), &|tile| {
            // SAFETY: `drive` gives each tile of the nest to one thread. From `origin`, operand 0
            // of the tile is the output.
            unsafe { self.tile(self.origin, tile, true, op) };
        });
    }

    /// The positions of the output in chunks that begin at multiples of `chunk_bytes` in memory, if
    /// it is contiguous.
    fn chunks(&self, chunk_bytes: usize) -> Chunks {
        let first = self.origin.wrapping_offset(self.nest.start()[0]);
        Chunks::new(self.nest.len(), size_of::<X>(), first.addr(), chunk_bytes)
    }

    /// Calls `op` for each element of a tile, in the widest vectors if `wide`.
    ///
    /// # Safety
    ///
    /// `tile` is a tile of the nest, or a part of one, and no other thread has any of its
    /// positions. From `x` on, the offsets of operand 0 in the tile reach different elements that
    /// are valid for reads and writes, and reached by nothing else meanwhile.
    #[inline(never)]
    unsafe fn tile(&self, x: *mut X, tile: Tile<N>, wide: bool, op: &impl Fn(&mut X, I::Refs)) {
        let kernel = TileKernel {
            inputs: &self.inputs,
            x,
            tile,
            op,
        };
        if wide { widest(kernel) } else { kernel.run() }
    }
}

/// Walks the nest on several threads and gives each tile to `tile`. Compiled once for each number
/// of operands, not for each closure.
fn drive<const N: usize>(
    nest: &LoopNest<N>,
    squares: bool,
    chunks: &Chunks,
    bytes: usize,
    tile: &(dyn Fn(Tile<N>) + Sync),
) {
    let walk = |range| nest.for_each_tile(range, |whole| in_best_order(whole, squares, tile));
    if chunks.is_one() {
        return walk(0..nest.len());
    }
    for_each_range(chunks.count(), Cost::Closure { bytes }, |range| {
        walk(chunks.range(range));
    });
}

/// The elements of a tile. It is built by [`Sweep::tile`] only, under the contract of that
/// function.
struct TileKernel<'k, X, I, F, const N: usize> {
    inputs: &'k I,
    x: *mut X,
    tile: Tile<N>,
    op: &'k F,
}

impl<X, I: Inputs<N>, F: Fn(&mut X, I::Refs), const N: usize> Vectorize
    for TileKernel<'_, X, I, F, N>
{
    type Output = ();

    #[inline(always)]
    fn run(self) {
        // SAFETY: the tile is one of the sweep's nest, which walks the shape and the strides of
        // each input: `Sweep::new` has checked the shapes. What is said of `x` is the contract of
        // `Sweep::tile`.
        unsafe { self.inputs.sweep(self.x, self.tile, self.op) };
    }
}

/// Calls `op` with each element of `x` and the elements of the inputs.
///
/// # Errors
///
/// `WrongShape`, `AllocationFailed`; no element has changed then.
pub(crate) fn update<X: Send, D: Dimension, I: Inputs<N>, const N: usize>(
    x: &mut ArrayRef<X, D>,
    inputs: I,
    op: impl Fn(&mut X, I::Refs) + Sync,
) -> Result<(), BroadcastError> {
    Sweep::new(x, inputs)?.run(MAP_CHUNK, &op);
    Ok(())
}

/// Replaces each element of `out` by what `f` returns for the elements of the inputs. The old
/// elements are dropped.
///
/// # Errors
///
/// `WrongShape`, `AllocationFailed`; no element has changed then.
pub(crate) fn overwrite<C: Send, D: Dimension, I: Inputs<N>, const N: usize>(
    out: &mut ArrayRef<C, D>,
    inputs: I,
    f: impl Fn(I::Refs) -> C + Sync,
) -> Result<(), BroadcastError> {
    if needs_drop::<C>() {
        return update(out, inputs, |x, refs| *x = f(refs));
    }
    let raw = out.raw_view_mut().cast::<MaybeUninit<C>>();
    // SAFETY: these are the elements that `out` borrows mutably, as a type of the same layout.
    // Below they are only overwritten with values of `C`.
    let mut out = unsafe { raw.deref_into_view_mut() };
    let mut sweep = Sweep::new(&mut out, inputs)?;
    let op = |x: &mut MaybeUninit<C>, refs: I::Refs| {
        x.write(f(refs));
    };
    match sweep.streamable_from() {
        Some(place) => sweep.stream(place, &op),
        None => sweep.run(MAP_CHUNK, &op),
    }
    Ok(())
}

/// A new array in standard layout of what `f` returns for the elements of the inputs. If `f`
/// panics, the elements that exist are dropped.
///
/// # Errors
///
/// `WrongShape` if the inputs have another shape than `dim`; `OutputTooLarge`, `AllocationFailed`.
pub(crate) fn collect<C: Send, D: Dimension, I: Inputs<N>, const N: usize>(
    dim: D,
    inputs: I,
    f: impl Fn(I::Refs) -> C + Sync,
) -> Result<Array<C, D>, BroadcastError> {
    let mut out = uninit_array::<C, D>(dim)?;
    let mut sweep = Sweep::new(&mut out, inputs)?;
    if needs_drop::<C>() {
        sweep.initialise(&f);
    } else {
        let bytes = sweep.nest.len().saturating_mul(size_of::<C>());
        let chunk_bytes = match bytes >= HUGE_PAGES_FROM {
            // Each huge page is zeroed by the thread that fills it.
            true => HUGE_PAGE,
            false => MAP_CHUNK,
        };
        let op = |x: &mut MaybeUninit<C>, refs: I::Refs| {
            x.write(f(refs));
        };
        sweep.run(chunk_bytes, &op);
    }
    // SAFETY: the sweep has called the closure for every element, which wrote it; a panic does not
    // get here.
    Ok(unsafe { out.assume_init() })
}

impl<C: Send, I: Inputs<N>, const N: usize> Sweep<'_, MaybeUninit<C>, I, N> {
    /// Writes every element in order within chunks, and counts them. If `f` panics, the counted
    /// elements are dropped.
    fn initialise(&self, f: &(impl Fn(I::Refs) -> C + Sync)) {
        let len = self.nest.len();
        let chunk = len.div_ceil(COUNTED_CHUNKS).max(COUNTED_CHUNK_FROM);
        let initialised = Initialised {
            first: self.origin.cast::<C>(),
            chunk,
            counts: [const { AtomicUsize::new(0) }; COUNTED_CHUNKS],
        };
        let counts = &initialised.counts;
        let bytes = self.bytes();
        for_each_range(len.div_ceil(chunk), Cost::Closure { bytes }, |chunks| {
            for index in chunks {
                let begin = index * chunk;
                // Its drop stores the count after a panic too.
                let count = Count {
                    done: Cell::new(0),
                    total: &counts[index],
                };
                let op = |x: &mut MaybeUninit<C>, refs: I::Refs| {
                    x.write(f(refs));
                    count.done.set(count.done.get() + 1);
                };
                self.nest
                    .for_each_tile(begin..len.min(begin + chunk), |tile| {
                        // SAFETY: each chunk is one thread's. From `origin`, operand 0 of the tile
                        // is the output.
                        unsafe { self.tile(self.origin, tile, true, &op) };
                    });
            }
        });
        // From here on the elements belong to the output.
        std::mem::forget(initialised);
    }

    /// The first axis from which on the output's elements lie one after the other, if the output is
    /// worth streaming: it does not fit the cache, the neighbours are many, and no input is walked
    /// in squares.
    fn streamable_from(&self) -> Option<usize> {
        let size = size_of::<C>();
        let fits = (1..=MAP_BLOCK / 4).contains(&size) && align_of::<C>() <= CACHE_LINE;
        let bytes = self.nest.len().saturating_mul(size);
        if !CAN_STREAM || !fits || bytes < map_stream_from() {
            return None;
        }
        let axes = self.nest.axes();
        let (mut run, mut place) = (1, axes.len());
        while place > 0 && axes[place - 1].strides[0] == run as isize {
            place -= 1;
            run *= axes[place].size;
        }
        let squares = cross(&mut self.nest.clone());
        (!squares && run * size >= MAP_STREAM_RUN_FROM).then_some(place)
    }

    /// Writes every element by way of a block in the cache, which is streamed into the output
    /// whenever it is full. The output's elements lie one after the other from axis `place` on.
    fn stream(&self, place: usize, op: &(impl Fn(&mut MaybeUninit<C>, I::Refs) + Sync)) {
        #[repr(align(64))]
        struct Block([MaybeUninit<u8>; MAP_BLOCK]);

        let axes = self.nest.axes();
        // Inputs as large as the output come from memory, and their wide loads cross cache lines:
        // 256 MiB of sums of a matrix and a row take 14.5 ms with wide vectors and 12.2 without.
        let wide = (1..N).all(|input| axes.iter().any(|axis| axis.strides[input] == 0));
        let (outer, inside) = axes.split_at(place);
        let run = inside.iter().map(|axis| axis.size).product();
        let chunks = self.chunks(MAP_STREAM_CHUNK);
        let bytes = self.bytes();
        for_each_range(chunks.count(), Cost::Closure { bytes }, |range| {
            let _fence = FenceOnDrop;
            let mut block = Block([MaybeUninit::uninit(); MAP_BLOCK]);
            let block = block.0.as_mut_ptr().cast::<MaybeUninit<C>>();
            let range = chunks.range(range);
            walk(outer, self.nest.start(), run, range, |origin, positions| {
                let mut at = positions.start;
                while at < positions.end {
                    let offset = origin[0] + at as isize;
                    let to = self.origin.wrapping_offset(offset);
                    // The block ends where a cache line of the output does, so that only whole
                    // lines are streamed.
                    let room = (MAP_BLOCK - to.addr() % CACHE_LINE) / size_of::<C>();
                    let end = positions.end.min(at + room);
                    let x = block.wrapping_offset(-offset);
                    let compute = |tile: Tile<N>| {
                        // SAFETY: each chunk is one thread's. Within a run the offsets of operand 0
                        // count from `offset` on, so from `x` they reach the first `end - at`
                        // elements of the block. It has room for them by the choice of `room`, and
                        // their alignment by `streamable_from`.
                        unsafe { self.tile(x, tile, wide, op) };
                    };
                    for_each_tile(inside, origin, at..end, |tile| {
                        in_best_order(tile, false, &compute);
                    });
                    let bytes = (end - at) * size_of::<C>();
                    // SAFETY: the block holds `bytes` bytes, as above, and is no part of the
                    // output. They are as many bytes of the output from `to` on, since positions
                    // `at..end` are neighbours in it.
                    unsafe { stream(block.cast::<u8>(), to.cast::<u8>(), bytes) };
                    at = end;
                }
            });
        });
    }
}

/// How many elements of each chunk of an array in standard layout are initialised. Drops them when
/// it is dropped.
struct Initialised<C> {
    first: *mut C,
    chunk: usize,
    counts: [AtomicUsize; COUNTED_CHUNKS],
}

impl<C> Drop for Initialised<C> {
    fn drop(&mut self) {
        for (index, count) in self.counts.iter_mut().enumerate() {
            let first = self.first.wrapping_add(index * self.chunk);
            let elements = ptr::slice_from_raw_parts_mut(first, *count.get_mut());
            // SAFETY: the first `count` elements of the chunk are initialised: `initialise` walks
            // positions in order, which are offsets in standard layout. Nothing else drops them, as
            // the output holds `MaybeUninit`. All threads have stopped.
            unsafe { ptr::drop_in_place(elements) };
        }
    }
}

/// Counts the elements of a chunk, and stores the count when it is dropped, by a panic too.
struct Count<'a> {
    done: Cell<usize>,
    total: &'a AtomicUsize,
}

impl Drop for Count<'_> {
    fn drop(&mut self) {
        // Relaxed: whoever reads the count waits for this thread first.
        self.total.store(self.done.get(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array1, Array2, Array3, ArrayD, IxDyn, Slice};

    /// An array of the shape whose strides are reversed, doubled or permuted, as the number says.
    fn laid_out(shape: &[usize], number: usize) -> ArrayD<u32> {
        let mut axes: Vec<usize> = (0..shape.len()).collect();
        axes.rotate_left(number % shape.len().max(1));
        let larger: Vec<usize> = axes.iter().map(|&axis| 2 * shape[axis]).collect();
        let count = larger.iter().product::<usize>() as u32;
        let values = Array1::from_iter((0..count).map(|i| i * 7 + number as u32));
        let values = values.into_shape_with_order(IxDyn(&larger)).unwrap();
        let mut back = vec![0; axes.len()];
        for (place, &axis) in axes.iter().enumerate() {
            back[axis] = place;
        }
        let step = if number % 2 == 0 { 2 } else { -2 };
        let mut array = values.permuted_axes(back);
        array.slice_each_axis_inplace(|_| Slice::new(0, None, step));
        array
    }

    #[test]
    fn maps_of_every_layout_are_as_index_by_index() {
        for shape in [
            &[][..],
            &[0],
            &[1],
            &[33],
            &[5, 300],
            &[300, 5],
            &[40, 40],
            &[3, 35, 36],
        ] {
            for number in 0..6 {
                let (a, b) = (laid_out(shape, number), laid_out(shape, number / 2));
                let expected = ArrayD::from_shape_fn(IxDyn(shape), |i| a[&i].wrapping_sub(b[&i]));
                let inputs = || (Source::new(&a), Source::new(&b));
                let f = |(a, b): (&u32, &u32)| a.wrapping_sub(*b);
                assert_eq!(collect(IxDyn(shape), inputs(), f).unwrap(), expected);
                let boxed = collect(IxDyn(shape), inputs(), |refs| Box::new(f(refs))).unwrap();
                assert_eq!(boxed.map(|value| **value), expected);
                let mut out = laid_out(shape, number + 1);
                overwrite(&mut out, inputs(), f).unwrap();
                assert_eq!(out, expected);
                let mut out = laid_out(shape, number + 2);
                let sum = &out + &a;
                update(&mut out, (Source::new(&a),), |x, (a,)| *x += a).unwrap();
                assert_eq!(out, sum);
            }
        }
    }

    #[test]
    fn inputs_of_another_shape_are_refused() {
        let (a, b) = (Array2::<u8>::zeros((3, 4)), Array2::<u8>::zeros((4, 3)));
        let mut out = Array2::<u8>::zeros((3, 4));
        let inputs = || (Source::new(&a), Source::new(&b));
        assert!(collect(a.raw_dim(), inputs(), |(a, b)| a + b).is_err());
        assert!(overwrite(&mut out, inputs(), |(a, b)| a + b).is_err());
        assert!(update(&mut out, inputs(), |x, (a, b)| *x = a + b).is_err());
        let c = Array3::<u8>::zeros((3, 4, 1));
        assert!(update(&mut out, (Source::new(&c),), |x, (c,)| *x = *c).is_err());
    }
}
