//! The inner loops: what a closure does along one row of its operands, and along a stack of rows.
//!
//! A row is specialised by how each operand lies along it (element after element, one element for all, or apart), so
//! that the compiler sees slices and can make vector code of the caller's closure.

use ndarray::{ArrayView, Dimension};
use std::cell::Cell;
use std::slice;

/// Rows at least this long are swept one by one; shorter ones across, many rows at a time, as starting a loop costs
/// more than so few elements.
const LONG_ROW: usize = 16;

/// How many short rows are swept across at a time: what they touch stays in the first-level cache.
const ROWS_ACROSS: usize = 256;

/// Rows and columns of `N` operands: where the first element of each lies from its operand's origin, in elements, and
/// the strides from row to row and from column to column. Neither rows nor columns are 0.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tile<const N: usize> {
    pub(super) offsets: [isize; N],
    pub(super) rows: usize,
    pub(super) row_strides: [isize; N],
    pub(super) columns: usize,
    pub(super) column_strides: [isize; N],
}

/// One row of `N` operands, or one column.
#[derive(Debug, Clone, Copy)]
struct Line<const N: usize> {
    offsets: [isize; N],
    len: usize,
    strides: [isize; N],
}

impl<const N: usize> Tile<N> {
    /// The offsets of the elements at this row and column.
    #[inline(always)]
    pub(super) fn at(&self, row: usize, column: usize) -> [isize; N] {
        std::array::from_fn(|operand| {
            let down = self.row_strides[operand].wrapping_mul(row as isize);
            let along = self.column_strides[operand].wrapping_mul(column as isize);
            self.offsets[operand].wrapping_add(down).wrapping_add(along)
        })
    }

    /// Hands out every element once, in lines. Rows too short to be worth a loop each are swept across instead, if any
    /// order will do: down one column after the other, some rows at a time.
    #[inline(always)]
    fn for_each_line(&self, in_order: bool, mut line: impl FnMut(Line<N>)) {
        if in_order || self.columns >= LONG_ROW || self.columns >= self.rows {
            for row in 0..self.rows {
                line(Line {
                    offsets: self.at(row, 0),
                    len: self.columns,
                    strides: self.column_strides,
                });
            }
            return;
        }
        for row in (0..self.rows).step_by(ROWS_ACROSS) {
            for column in 0..self.columns {
                line(Line {
                    offsets: self.at(row, column),
                    len: ROWS_ACROSS.min(self.rows - row),
                    strides: self.row_strides,
                });
            }
        }
    }
}

/// What is told of each element that is done.
pub(super) trait Progress {
    /// Whether elements must be done in row-major order.
    const IN_ORDER: bool;

    fn element_done(&self);
}

/// Nobody needs to know.
pub(super) struct Untracked;

impl Progress for Untracked {
    const IN_ORDER: bool = false;

    #[inline(always)]
    fn element_done(&self) {}
}

/// How many elements are done, in row-major order.
#[derive(Default)]
pub(super) struct Count(Cell<usize>);

impl Count {
    pub(super) fn get(&self) -> usize {
        self.0.get()
    }
}

impl Progress for Count {
    const IN_ORDER: bool = true;

    #[inline(always)]
    fn element_done(&self) {
        self.0.set(self.0.get() + 1);
    }
}

/// What is done at each element of an `X` and of `N - 1` inputs of one shape.
///
/// # Safety
///
/// Each input has the shape and the strides that are said of it.
pub(super) unsafe trait Kernel<X, const N: usize>: Sync {
    /// The shape of the inputs.
    fn shape(&self) -> &[usize];

    /// The strides of an input, in elements.
    fn strides(&self, input: usize) -> &[isize];

    /// The size of an input's elements, in bytes.
    fn element_size(&self, input: usize) -> usize;

    /// Does it at every element of a tile, of which operand 0 is the `X`, operand 1 the first input and so on. `WIDE` is whether
    /// everything is compiled into the caller, for the caller's vectors.
    ///
    /// # Safety
    ///
    /// Each offset in the tile reaches an element of its operand, counted for inputs from their element at index 0 of every
    /// axis, and for operand 0 from `x`. The elements of `x` at different indices are different ones, valid during the call
    /// for reads and writes by nobody else.
    unsafe fn tile<P: Progress, const WIDE: bool>(&self, x: *mut X, tile: Tile<N>, progress: &P);
}

/// [`Kernel::tile`], in the widest vectors that the machine has if `wide`: 4 MiB of `f32` sums of a matrix and a column take 51 us
/// instead of 59 so, those of a column and a row 50 instead of 76, and 4 MiB changed in place 26 instead of 44.
///
/// What is computed is the same, as operations of floats are never contracted or reordered.
///
/// # Safety
///
/// As [`Kernel::tile`].
#[inline]
pub(super) unsafe fn tile<X, K: Kernel<X, N>, P: Progress, const N: usize>(
    kernel: &K,
    wide: bool,
    x: *mut X,
    tile: Tile<N>,
    progress: &P,
) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if wide && std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the machine has AVX2; the rest is passed on.
        return unsafe { tile_avx2(kernel, x, tile, progress) };
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = wide;
    // SAFETY: passed on.
    unsafe { kernel.tile::<P, false>(x, tile, progress) };
}

/// # Safety
///
/// As [`Kernel::tile`], and the machine has AVX2.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[target_feature(enable = "avx2")]
unsafe fn tile_avx2<X, K: Kernel<X, N>, P: Progress, const N: usize>(
    kernel: &K,
    x: *mut X,
    tile: Tile<N>,
    progress: &P,
) {
    // SAFETY: passed on.
    unsafe { kernel.tile::<P, true>(x, tile, progress) };
}

/// A closure of an `X` and one input.
pub(super) struct Zip1<'a, A, D, F> {
    pub(super) a: ArrayView<'a, A, D>,
    pub(super) op: F,
}

/// A closure of an `X` and two inputs, which must have the same shape.
pub(super) struct Zip2<'a, A, B, D, F> {
    pub(super) a: ArrayView<'a, A, D>,
    pub(super) b: ArrayView<'a, B, D>,
    pub(super) op: F,
}

/// A closure of an `X` and three inputs, which must have the same shape.
pub(super) struct Zip3<'a, A, B, C, D, F> {
    pub(super) a: ArrayView<'a, A, D>,
    pub(super) b: ArrayView<'a, B, D>,
    pub(super) c: ArrayView<'a, C, D>,
    pub(super) op: F,
}

// SAFETY: what is said of the input is what its view says.
unsafe impl<X, A: Sync, D: Dimension, F> Kernel<X, 2> for Zip1<'_, A, D, F>
where
    F: Fn(&mut X, &A) + Sync,
{
    #[inline]
    fn shape(&self) -> &[usize] {
        self.a.shape()
    }

    #[inline]
    fn strides(&self, _: usize) -> &[isize] {
        self.a.strides()
    }

    #[inline]
    fn element_size(&self, _: usize) -> usize {
        size_of::<A>()
    }

    #[inline(always)]
    unsafe fn tile<P: Progress, const WIDE: bool>(&self, x: *mut X, tile: Tile<2>, progress: &P) {
        use LineMut::Each as Mut;
        use LineRef::{Each, Same};
        tile.for_each_line(P::IN_ORDER, |line| {
            let [x_at, a_at] = line.offsets;
            let [x_stride, a_stride] = line.strides;
            // SAFETY: a line of the tile is not empty, and its elements are as the contract of `tile` says.
            let x = unsafe { LineMut::new(x.wrapping_offset(x_at), x_stride, line.len) };
            // SAFETY: as above.
            let a =
                unsafe { LineRef::new(self.a.as_ptr().wrapping_offset(a_at), a_stride, line.len) };
            macro_rules! sweep {
                ($x:expr, $a:expr) => {
                    // SAFETY: all operands are lines of this length.
                    unsafe { sweep1::<WIDE, _, _, _, _, _>(line.len, $x, $a, &self.op, progress) }
                };
            }
            match (x, a) {
                (Mut(x), Each(a)) => sweep!(x, a),
                (Mut(x), Same(a)) => sweep!(x, a),
                (x, a) => sweep!(x.apart(), a.apart()),
            }
        });
    }
}

// SAFETY: what is said of the inputs is what their views say, which have one shape.
unsafe impl<X, A: Sync, B: Sync, D: Dimension, F> Kernel<X, 3> for Zip2<'_, A, B, D, F>
where
    F: Fn(&mut X, &A, &B) + Sync,
{
    #[inline]
    fn shape(&self) -> &[usize] {
        self.a.shape()
    }

    #[inline]
    fn strides(&self, input: usize) -> &[isize] {
        match input {
            0 => self.a.strides(),
            _ => self.b.strides(),
        }
    }

    #[inline]
    fn element_size(&self, input: usize) -> usize {
        match input {
            0 => size_of::<A>(),
            _ => size_of::<B>(),
        }
    }

    #[inline(always)]
    unsafe fn tile<P: Progress, const WIDE: bool>(&self, x: *mut X, tile: Tile<3>, progress: &P) {
        use LineMut::Each as Mut;
        use LineRef::{Each, Same};
        tile.for_each_line(P::IN_ORDER, |line| {
            let [x_at, a_at, b_at] = line.offsets;
            let [x_stride, a_stride, b_stride] = line.strides;
            // SAFETY: a line of the tile is not empty, and its elements are as the contract of `tile` says.
            let x = unsafe { LineMut::new(x.wrapping_offset(x_at), x_stride, line.len) };
            // SAFETY: as above.
            let a =
                unsafe { LineRef::new(self.a.as_ptr().wrapping_offset(a_at), a_stride, line.len) };
            // SAFETY: as above.
            let b =
                unsafe { LineRef::new(self.b.as_ptr().wrapping_offset(b_at), b_stride, line.len) };
            macro_rules! sweep {
                ($x:expr, $a:expr, $b:expr) => {
                    // SAFETY: all operands are lines of this length.
                    unsafe {
                        sweep2::<WIDE, _, _, _, _, _, _, _>(
                            line.len, $x, $a, $b, &self.op, progress,
                        )
                    }
                };
            }
            match (x, a, b) {
                (Mut(x), Each(a), Each(b)) => sweep!(x, a, b),
                (Mut(x), Each(a), Same(b)) => sweep!(x, a, b),
                (Mut(x), Same(a), Each(b)) => sweep!(x, a, b),
                (x, a, b) => sweep!(x.apart(), a.apart(), b.apart()),
            }
        });
    }
}

// SAFETY: what is said of the inputs is what their views say, which have one shape.
unsafe impl<X, A: Sync, B: Sync, C: Sync, D: Dimension, F> Kernel<X, 4> for Zip3<'_, A, B, C, D, F>
where
    F: Fn(&mut X, &A, &B, &C) + Sync,
{
    #[inline]
    fn shape(&self) -> &[usize] {
        self.a.shape()
    }

    #[inline]
    fn strides(&self, input: usize) -> &[isize] {
        match input {
            0 => self.a.strides(),
            1 => self.b.strides(),
            _ => self.c.strides(),
        }
    }

    #[inline]
    fn element_size(&self, input: usize) -> usize {
        match input {
            0 => size_of::<A>(),
            1 => size_of::<B>(),
            _ => size_of::<C>(),
        }
    }

    #[inline(always)]
    unsafe fn tile<P: Progress, const WIDE: bool>(&self, x: *mut X, tile: Tile<4>, progress: &P) {
        use LineMut::Each as Mut;
        use LineRef::{Each, Same};
        tile.for_each_line(P::IN_ORDER, |line| {
            let [x_at, a_at, b_at, c_at] = line.offsets;
            let [x_stride, a_stride, b_stride, c_stride] = line.strides;
            // SAFETY: a line of the tile is not empty, and its elements are as the contract of `tile` says.
            let x = unsafe { LineMut::new(x.wrapping_offset(x_at), x_stride, line.len) };
            // SAFETY: as above.
            let a =
                unsafe { LineRef::new(self.a.as_ptr().wrapping_offset(a_at), a_stride, line.len) };
            // SAFETY: as above.
            let b =
                unsafe { LineRef::new(self.b.as_ptr().wrapping_offset(b_at), b_stride, line.len) };
            // SAFETY: as above.
            let c =
                unsafe { LineRef::new(self.c.as_ptr().wrapping_offset(c_at), c_stride, line.len) };
            macro_rules! sweep {
                ($x:expr, $a:expr, $b:expr, $c:expr) => {
                    // SAFETY: all operands are lines of this length.
                    unsafe {
                        sweep3::<WIDE, _, _, _, _, _, _, _, _, _>(
                            line.len, $x, $a, $b, $c, &self.op, progress,
                        )
                    }
                };
            }
            match (x, a, b, c) {
                (Mut(x), Each(a), Each(b), Each(c)) => sweep!(x, a, b, c),
                (Mut(x), Each(a), Each(b), Same(c)) => sweep!(x, a, b, c),
                (Mut(x), Each(a), Same(b), Each(c)) => sweep!(x, a, b, c),
                (Mut(x), Each(a), Same(b), Same(c)) => sweep!(x, a, b, c),
                (Mut(x), Same(a), Each(b), Each(c)) => sweep!(x, a, b, c),
                (Mut(x), Same(a), Each(b), Same(c)) => sweep!(x, a, b, c),
                (Mut(x), Same(a), Same(b), Each(c)) => sweep!(x, a, b, c),
                (x, a, b, c) => sweep!(x.apart(), a.apart(), b.apart(), c.apart()),
            }
        });
    }
}

/// Declares a sweep, which does `op` along a line of operand 0 and of some inputs.
///
/// Sweeps are functions of their own, with `x` a slice where it can be, because a parameter tells the compiler that nothing else
/// reaches what it refers to.
macro_rules! sweep {
    ($sweep:ident, $inlined:ident: $($a:ident: $A:ident: $S:ident),+) => {
        /// Does `op` along a line, compiled into its caller if `WIDE`.
        ///
        /// # Safety
        ///
        /// The strands are lines of at least `len` elements.
        #[inline(always)]
        unsafe fn $sweep<const WIDE: bool, X, Y: StrandMut<X>, P: Progress, $($A, $S: Strand<$A>),+>(
            len: usize,
            x: Y,
            $($a: $S,)+
            op: &impl Fn(&mut X, $(&$A),+),
            progress: &P,
        ) {
            /// # Safety
            ///
            /// As of the sweep.
            #[inline]
            unsafe fn apart<X, Y: StrandMut<X>, P: Progress, $($A, $S: Strand<$A>),+>(
                len: usize,
                x: Y,
                $($a: $S,)+
                op: &impl Fn(&mut X, $(&$A),+),
                progress: &P,
            ) {
                // SAFETY: passed on.
                unsafe { $inlined(len, x, $($a,)+ op, progress) };
            }
            if WIDE {
                // SAFETY: passed on.
                unsafe { $inlined(len, x, $($a,)+ op, progress) };
            } else {
                // SAFETY: passed on.
                unsafe { apart(len, x, $($a,)+ op, progress) };
            }
        }

        /// Does `op` along a line.
        ///
        /// # Safety
        ///
        /// The strands are lines of at least `len` elements.
        #[inline(always)]
        unsafe fn $inlined<X, Y: StrandMut<X>, P: Progress, $($A, $S: Strand<$A>),+>(
            len: usize,
            mut x: Y,
            $($a: $S,)+
            op: &impl Fn(&mut X, $(&$A),+),
            progress: &P,
        ) {
            for i in 0..len {
                // SAFETY: `i` is less than the length of the lines.
                let x = unsafe { x.at_mut(i) };
                $(
                    // SAFETY: as above.
                    let $a = unsafe { $a.at(i) };
                )+
                op(x, $($a),+);
                progress.element_done();
            }
        }
    };
}

sweep!(sweep1, sweep1_inlined: a: A: R);
sweep!(sweep2, sweep2_inlined: a: A: R, b: B: S);
sweep!(sweep3, sweep3_inlined: a: A: R, b: B: S, c: C: T);

/// How an input lies along a line.
enum LineRef<'a, A> {
    /// Element after element.
    Each(&'a [A]),
    /// One element for all.
    Same(&'a A),
    /// At another stride.
    Apart(Apart<*const A>),
}

/// How operand 0 lies along a line.
enum LineMut<'a, X> {
    /// Element after element.
    Each(&'a mut [X]),
    /// At another stride.
    Apart(Apart<*mut X>),
}

/// Elements at a stride from each other, valid as the lines' constructors ask.
struct Apart<P> {
    first: P,
    stride: isize,
}

impl<'a, A> LineRef<'a, A> {
    /// # Safety
    ///
    /// `len` is not 0, and the elements at `i * stride` from `first`, for each `i` below it, are valid for reads for `'a`.
    #[inline(always)]
    unsafe fn new(first: *const A, stride: isize, len: usize) -> Self {
        match stride {
            // SAFETY: by the contract there are `len` neighbours to read; one allocation, as they are one array's.
            1 => LineRef::Each(unsafe { slice::from_raw_parts(first, len) }),
            // SAFETY: by the contract there is an element to read.
            0 => LineRef::Same(unsafe { &*first }),
            _ => LineRef::Apart(Apart { first, stride }),
        }
    }

    #[inline(always)]
    fn apart(self) -> Apart<*const A> {
        match self {
            LineRef::Each(elements) => Apart {
                first: elements.as_ptr(),
                stride: 1,
            },
            LineRef::Same(element) => Apart {
                first: element,
                stride: 0,
            },
            LineRef::Apart(apart) => apart,
        }
    }
}

impl<'a, X> LineMut<'a, X> {
    /// # Safety
    ///
    /// `len` is not 0, and the elements at `i * stride` from `first`, for each `i` below it, are different ones, valid for
    /// reads and writes for `'a`, and reached by nobody else.
    #[inline(always)]
    unsafe fn new(first: *mut X, stride: isize, len: usize) -> Self {
        match stride {
            // SAFETY: by the contract there are `len` neighbours, nobody else's; one allocation, as they are one array's.
            1 => LineMut::Each(unsafe { slice::from_raw_parts_mut(first, len) }),
            _ => LineMut::Apart(Apart { first, stride }),
        }
    }

    #[inline(always)]
    fn apart(self) -> Apart<*mut X> {
        match self {
            LineMut::Each(elements) => Apart {
                first: elements.as_mut_ptr(),
                stride: 1,
            },
            LineMut::Apart(apart) => apart,
        }
    }
}

/// A line of an input, by index.
trait Strand<A> {
    /// # Safety
    ///
    /// `i` is less than the length of the line.
    unsafe fn at(&self, i: usize) -> &A;
}

/// A line of operand 0, by index.
trait StrandMut<X> {
    /// # Safety
    ///
    /// `i` is less than the length of the line.
    unsafe fn at_mut(&mut self, i: usize) -> &mut X;
}

impl<A> Strand<A> for &[A] {
    #[inline(always)]
    unsafe fn at(&self, i: usize) -> &A {
        // SAFETY: by the contract.
        unsafe { self.get_unchecked(i) }
    }
}

impl<A> Strand<A> for &A {
    #[inline(always)]
    unsafe fn at(&self, _: usize) -> &A {
        self
    }
}

impl<A> Strand<A> for Apart<*const A> {
    #[inline(always)]
    unsafe fn at(&self, i: usize) -> &A {
        let element = self.first.wrapping_offset(i as isize * self.stride);
        // SAFETY: `i` is on the line, by the contract; its elements are valid, by that of `LineRef::new`.
        unsafe { &*element }
    }
}

impl<X> StrandMut<X> for &mut [X] {
    #[inline(always)]
    unsafe fn at_mut(&mut self, i: usize) -> &mut X {
        // SAFETY: by the contract.
        unsafe { self.get_unchecked_mut(i) }
    }
}

impl<X> StrandMut<X> for Apart<*mut X> {
    #[inline(always)]
    unsafe fn at_mut(&mut self, i: usize) -> &mut X {
        let element = self.first.wrapping_offset(i as isize * self.stride);
        // SAFETY: `i` is on the line, by the contract; its elements are valid and nobody else's, by that of `LineMut::new`.
        unsafe { &mut *element }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines as where they begin and how long they are, of a tile whose rows are 1000 elements apart.
    fn lines(rows: usize, columns: usize, in_order: bool) -> Vec<(isize, usize)> {
        let tile = Tile {
            offsets: [0],
            rows,
            row_strides: [1000],
            columns,
            column_strides: [1],
        };
        let mut lines = Vec::new();
        tile.for_each_line(in_order, |line| lines.push((line.offsets[0], line.len)));
        lines
    }

    #[test]
    fn short_rows_are_swept_across_unless_order_matters() {
        assert_eq!(lines(3, 2, true), [(0, 2), (1000, 2), (2000, 2)]);
        assert_eq!(lines(3, 2, false), [(0, 3), (1, 3)]);
        assert_eq!(lines(2, 2, false), [(0, 2), (1000, 2)]);
        assert_eq!(lines(2, 3, false), [(0, 3), (1000, 3)]);
        assert_eq!(lines(300, 1, false), [(0, 256), (256_000, 44)]);
        assert_eq!(lines(LONG_ROW, LONG_ROW - 1, false).len(), LONG_ROW - 1);
        assert_eq!(lines(LONG_ROW + 9, LONG_ROW, false).len(), LONG_ROW + 9);
    }
}
