//! Both operands of a copy, as types that own the right to write some of its positions.
//!
//! Kernels use these types, and are safe code. A [`Region`] is a range of positions, a [`Plane`]
//! two nested loops; both lend slices of rows and parts of themselves. Pointers are moved with
//! `wrapping_*`, which is never undefined; only reads and writes are unsafe.

use super::super::axes::{Axis, is_dense, positions};
use super::super::strategy::{Settings, Strategy};
use crate::engine::chunks::Chunks;
use crate::engine::machine::{Streamer, square};
use crate::engine::nest::{LoopNest, Tile, for_each_tile, offsets_of, walk};
use crate::engine::threads::{Cost, for_each_range};
use crate::engine::tuning::{BLOCK, CACHE_LINE};
use crate::error::{ArrayRole, BroadcastError, check_shape};
use ndarray::{Array, ArrayRef, ArrayViewMut, Dimension};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::{array, ptr, slice};

/// A byte of an element, which may be padding.
pub(super) type Byte = MaybeUninit<u8>;

/// Pointers to output and source.
pub(super) type Pointers = (*mut Byte, *const Byte);

/// An element as large as a `T`, at any address.
#[derive(Clone, Copy)]
#[repr(C, packed)]
pub(super) struct Slot<T>(pub(super) MaybeUninit<T>);

/// What depends on the elements: their size, and the kernels that move them one by one.
pub(super) struct Kernels {
    /// Bytes of an element.
    pub(super) size: usize,
    /// Copies any plane.
    pub(super) copy: fn(Plane),
    /// Copies a plane whose columns lie side by side in output, by bands of rows.
    pub(super) transpose: fn(Plane),
}

/// The positions `range` of a nest of axes, with the right to write them.
pub(super) struct Region<'a> {
    axes: &'a [Axis],
    pointers: Pointers,
    range: Range<usize>,
    kernels: &'static Kernels,
    /// Whether all axes are dense in output.
    dense: bool,
    borrow: PhantomData<&'a mut [Byte]>,
}

// SAFETY: threads share the source, to be read, and write disjoint parts of output:
// `for_each_chunk` and `for_each_tile` give no position to two threads. The elements are `Send` and
// `Sync`: contract of `new`.
unsafe impl Sync for Region<'_> {}

impl<'a> Region<'a> {
    /// All positions of `nest`. The pointers point at index 0 of every axis.
    ///
    /// # Safety
    ///
    /// For 'a and every position of the nest, the first pointer plus the first offset is valid for
    /// writes of an element by this region alone, and the second plus the second for reads. The
    /// elements written are distinct, and none of them is read. Elements are `Copy`, `Send` and
    /// `Sync`, with the layout in `kernels`.
    #[inline]
    pub(super) unsafe fn new(
        nest: &'a LoopNest<2>,
        pointers: Pointers,
        kernels: &'static Kernels,
    ) -> Self {
        Region {
            axes: nest.axes(),
            pointers: moved(pointers, nest.start(), kernels.size),
            range: 0..nest.len(),
            kernels,
            dense: is_dense(nest.axes()),
            borrow: PhantomData,
        }
    }

    pub(super) fn axes(&self) -> &'a [Axis] {
        self.axes
    }

    pub(super) fn kernels(&self) -> &'static Kernels {
        self.kernels
    }

    pub(super) fn range(&self) -> Range<usize> {
        self.range.clone()
    }

    /// Bytes of all elements that are written.
    pub(super) fn bytes(&self) -> usize {
        self.range.len() * self.kernels.size
    }

    /// Cuts the positions at multiples of `chunk_bytes` in memory, if their order is that of their
    /// addresses, otherwise at multiples of `chunk_bytes` counted from the first position.
    pub(super) fn chunks(&self, chunk_bytes: usize) -> Chunks {
        let address = if self.dense {
            self.pointers.0.addr()
        } else {
            0
        };
        Chunks::new(self.range.len(), self.kernels.size, address, chunk_bytes)
    }

    /// Calls `f` with regions that together are the positions of `chunks`, on several threads. With
    /// `streamed` it also lends a streamer. The region must be whole.
    pub(super) fn for_each_chunk(
        self,
        chunks: Chunks,
        streamed: bool,
        f: impl Fn(Region, Option<&Streamer>) + Sync,
    ) {
        assert!(self.range.start == 0 && chunks.range(0..chunks.count()).end <= self.range.end);
        let this = &self;
        this.on_threads(chunks.count(), streamed, |range, streamer| {
            let range = chunks.range(range);
            // Valid as `Region::new` asks: the positions are inside the region: the assertion.
            // `on_threads` passes each chunk once, and `Chunks` puts each position into one chunk.
            f(Region { range, ..*this }, streamer);
        });
    }

    /// Calls `f` with tiles of at most `height` by `width` that together are the two innermost
    /// axes, at each position of the others, on several threads. With `streamed` it also lends a
    /// streamer. The region must be whole.
    pub(super) fn for_each_tile(
        self,
        [height, width]: [usize; 2],
        streamed: bool,
        f: impl Fn(Plane, Option<&Streamer>) + Sync,
    ) {
        let &[ref outer @ .., rows, columns] = self.axes else {
            panic!("a region in tiles has two axes");
        };
        assert!(self.range == (0..positions(self.axes)));
        let (down, along) = (rows.size.div_ceil(height), columns.size.div_ceil(width));
        let (this, count) = (&self, positions(outer) * down * along);
        this.on_threads(count, streamed, |range, streamer| {
            for at in range {
                let offsets = offsets_of(outer, [0, 0], at / along / down);
                let (row, column) = (at / along % down * height, at % along * width);
                let height = height.min(rows.size - row);
                let width = width.min(columns.size - column);
                let matrix = Tile {
                    offsets,
                    rows,
                    columns,
                };
                let tile = matrix.part([row, column], height, width);
                // SAFETY: the positions are in the region, which is whole. `on_threads` passes each
                // tile once, and tiles are disjoint.
                f(unsafe { this.plane(tile) }, streamer);
            }
        });
    }

    /// Calls `f` with ranges of `0..count`, each number once, on several threads.
    fn on_threads(
        &self,
        count: usize,
        streamed: bool,
        f: impl Fn(Range<usize>, Option<&Streamer>) + Sync,
    ) {
        for_each_range(count, Cost::Bytes(self.bytes()), |range| {
            // SAFETY: it is dropped before this closure returns, and only then `for_each_range`
            // tells others.
            let streamer = streamed.then(|| unsafe { Streamer::new() });
            f(range, streamer.as_ref());
        });
    }

    /// # Safety
    ///
    /// The positions are in the region, and while this plane lives no other region or plane has
    /// one of them.
    #[inline(always)]
    unsafe fn plane(&self, tile: Tile<2>) -> Plane<'_> {
        Plane {
            pointers: self.pointers,
            tile,
            size: self.kernels.size,
            borrow: PhantomData,
        }
    }

    /// The positions `range`, which are among those of the region.
    #[inline]
    pub(super) fn part(&mut self, range: Range<usize>) -> Region<'_> {
        assert!(self.range.start <= range.start);
        assert!(range.start <= range.end && range.end <= self.range.end);
        // Valid as `Region::new` asks: some of the positions of `self`, which is borrowed mutably.
        Region { range, ..*self }
    }

    /// The positions `range`, which are among those of the region, with `block` as output, in which
    /// they lie side by side. The output of the region must be dense.
    #[inline]
    pub(super) fn built_in<'b>(&'b self, range: Range<usize>, block: &'b mut [Byte]) -> Region<'b> {
        assert!(self.dense && self.range.start <= range.start && range.end <= self.range.end);
        let size = self.kernels.size;
        assert!(range.len() * size <= block.len());
        // Valid as `Region::new` asks: as the axes are dense, position `range.start + i` is element
        // `i` of `block`, which is borrowed mutably. The source is that of `self`.
        let to = block.as_mut_ptr().wrapping_sub(range.start * size);
        Region {
            pointers: (to, self.pointers.1),
            range,
            ..*self
        }
    }

    /// The bytes of output, which must be dense.
    #[inline]
    pub(super) fn out(&mut self) -> &mut [Byte] {
        assert!(self.dense);
        let size = self.kernels.size;
        let to = self.pointers.0.wrapping_add(self.range.start * size);
        // SAFETY: as the axes are dense, the positions of the range lie side by side from `to` on.
        // They are valid for writes: contract of `Region::new`. `self` is borrowed mutably.
        unsafe { slice::from_raw_parts_mut(to, self.range.len() * size) }
    }

    /// Calls `f` with regions of the axes from `place` on that together are this region.
    pub(super) fn for_each_inner(self, place: usize, mut f: impl FnMut(Region)) {
        let (outer, axes) = self.axes.split_at(place);
        let dense = self.dense || is_dense(axes);
        let inside = positions(axes);
        walk(
            outer,
            [0, 0],
            inside,
            self.range.clone(),
            |offsets, range| {
                // Valid as `Region::new` asks: `walk` passes each position of `self.range` once.
                f(Region {
                    axes,
                    pointers: moved(self.pointers, offsets, self.kernels.size),
                    range,
                    dense,
                    ..self
                });
            },
        );
    }

    /// Calls `f` with planes of the two innermost axes that together are this region.
    #[inline]
    pub(super) fn for_each_plane(self, mut f: impl FnMut(Plane)) {
        for_each_tile(self.axes, [0, 0], self.range.clone(), |tile| {
            // SAFETY: `for_each_tile` passes each position of the region once.
            f(unsafe { self.plane(tile) });
        });
    }

    /// For each row of the inner axes, calls `f` with that row of all the `planes`, which are
    /// indices of the outermost axis and wholly in the region.
    pub(super) fn for_each_row_across(&mut self, planes: Range<usize>, mut f: impl FnMut(Plane)) {
        let [outer, middle @ .., inner] = self.axes else {
            panic!("a region in planes has two axes");
        };
        let rows = positions(middle);
        let len = rows * inner.size;
        assert!(self.range.start <= planes.start * len && planes.end * len <= self.range.end);
        let start = outer.moved([0, 0], planes.start);
        let (rows_across, columns) = (outer.resized(planes.len()), *inner);
        walk(middle, start, 1, 0..rows, |offsets, _| {
            let tile = Tile {
                offsets,
                rows: rows_across,
                columns,
            };
            // SAFETY: all positions of these planes are in the region: the assertion. `walk` passes
            // each of their rows once.
            f(unsafe { self.plane(tile) });
        });
    }
}

/// Two nested loops, `rows` around `columns`, with the right to write each of their positions: as
/// [`Region::new`] asks of a region.
pub(super) struct Plane<'a> {
    pointers: Pointers,
    tile: Tile<2>,
    /// Bytes of an element.
    size: usize,
    borrow: PhantomData<&'a mut [Byte]>,
}

impl Plane<'_> {
    #[inline(always)]
    pub(super) fn rows(&self) -> Axis {
        self.tile.rows
    }

    #[inline(always)]
    pub(super) fn columns(&self) -> Axis {
        self.tile.columns
    }

    /// Bytes of an element.
    #[inline(always)]
    pub(super) fn size(&self) -> usize {
        self.size
    }

    #[inline(always)]
    fn at(&self, row: usize, column: usize) -> Pointers {
        moved(self.pointers, self.tile.offsets_at(row, column), self.size)
    }

    /// [`at`](Self::at) for elements as large as a `T`.
    #[inline(always)]
    fn slots_at<T>(&self, row: usize, column: usize) -> (*mut Slot<T>, *const Slot<T>) {
        let (to, from) = self.at(row, column);
        (to.cast(), from.cast())
    }

    /// Checks that elements have the size of a `T`.
    #[inline(always)]
    fn assert_elements<T>(&self) {
        assert!(self.size == size_of::<T>());
    }

    /// The part of `height` by `width` positions that begins at this row and column.
    #[inline(always)]
    pub(super) fn part(&mut self, at: [usize; 2], height: usize, width: usize) -> Plane<'_> {
        let Tile { rows, columns, .. } = self.tile;
        assert!(at[0] <= rows.size && height <= rows.size - at[0]);
        assert!(at[1] <= columns.size && width <= columns.size - at[1]);
        // Valid as `Region::new` asks: some of the positions of `self`, which is borrowed mutably.
        Plane {
            tile: self.tile.part(at, height, width),
            ..*self
        }
    }

    /// The rows `rows`.
    #[inline(always)]
    pub(super) fn some_rows(&mut self, rows: Range<usize>) -> Plane<'_> {
        let width = self.columns().size;
        self.part([rows.start, 0], rows.len(), width)
    }

    /// The same positions with rows and columns exchanged.
    pub(super) fn swapped(mut self) -> Self {
        self.tile = self.tile.swapped();
        self
    }

    /// The same positions with `block` as output, row after row.
    pub(super) fn built_in<'b>(&'b self, block: &'b mut [Byte]) -> Plane<'b> {
        let mut tile = self.tile;
        assert!(tile.rows.size * tile.columns.size * self.size <= block.len());
        tile.offsets[0] = 0;
        tile.rows.strides[0] = tile.columns.size as isize;
        tile.columns.strides[0] = 1;
        // Valid as `Region::new` asks: positions are distinct elements of `block`, which is
        // borrowed mutably. The source is that of `self`.
        Plane {
            pointers: (block.as_mut_ptr(), self.pointers.1),
            tile,
            ..*self
        }
    }

    /// Whether the rows lie side by side in output, in order.
    #[inline(always)]
    pub(super) fn is_dense(&self) -> bool {
        self.tile.columns.strides[0] == 1
            && self.tile.rows.strides[0] == self.tile.columns.size as isize
    }

    /// The bytes of output, which must be dense.
    #[inline(always)]
    pub(super) fn out(&mut self) -> &mut [Byte] {
        assert!(self.is_dense());
        let len = self.tile.rows.size * self.tile.columns.size * self.size;
        // SAFETY: the elements lie side by side: `is_dense`. They are valid for writes: contract of
        // `Region::new`. `self` is borrowed mutably.
        unsafe { slice::from_raw_parts_mut(self.at(0, 0).0, len) }
    }

    /// The bytes of a row of output, whose elements must lie side by side.
    #[inline(always)]
    pub(super) fn out_row(&mut self, row: usize) -> &mut [Byte] {
        assert!(row < self.tile.rows.size && self.tile.columns.strides[0] == 1);
        let len = self.tile.columns.size * self.size;
        // SAFETY: the elements of the row lie side by side: the stride. They are valid for writes:
        // contract of `Region::new`. `self` is borrowed mutably.
        unsafe { slice::from_raw_parts_mut(self.at(row, 0).0, len) }
    }

    /// The bytes of output, which must be dense, and those of its first column, whose elements must
    /// lie side by side.
    pub(super) fn expansion(&mut self) -> (&mut [Byte], &[Byte]) {
        assert!(self.tile.rows.strides[1] == 1 && self.tile.columns.size > 0);
        let len = self.tile.rows.size * self.size;
        // SAFETY: the first elements of all rows lie side by side in the source: the stride. They
        // are valid for reads, and nothing writes to them: contract of `Region::new`.
        let source = unsafe { slice::from_raw_parts(self.at(0, 0).1, len) };
        (self.out(), source)
    }

    /// Calls `f` with the bytes of each row of output and of the source, which must lie side by
    /// side in both.
    #[inline(always)]
    pub(super) fn for_each_row(self, mut f: impl FnMut(&mut [Byte], &[Byte])) {
        assert!(self.tile.columns.strides == [1, 1]);
        let len = self.tile.columns.size * self.size;
        for row in 0..self.tile.rows.size {
            let (to, from) = self.at(row, 0);
            // SAFETY: the row lies side by side in output: the stride. It is valid for writes by
            // this plane, which is used up: contract of `Region::new`.
            let to = unsafe { slice::from_raw_parts_mut(to, len) };
            // SAFETY: the row lies side by side in the source: the stride. It is valid for reads,
            // and nothing writes to it: contract of `Region::new`.
            let from = unsafe { slice::from_raw_parts(from, len) };
            f(to, from);
        }
    }

    /// Calls `f` with each row of output and the one element of the source that the row replicates.
    #[inline(always)]
    pub(super) fn for_each_splat<T: Copy>(self, mut f: impl FnMut(&mut [Slot<T>], Slot<T>)) {
        self.assert_elements::<T>();
        assert!(self.tile.columns.strides == [1, 0]);
        let len = self.tile.columns.size;
        if len == 0 {
            return;
        }
        for row in 0..self.tile.rows.size {
            let (to, from) = self.slots_at::<T>(row, 0);
            // SAFETY: the first element of the row is valid for reads: contract of `Region::new`.
            let element = unsafe { from.read() };
            // SAFETY: the row lies side by side in output: the stride. It is valid for writes by
            // this plane, which is used up: contract of `Region::new`.
            let to = unsafe { slice::from_raw_parts_mut(to, len) };
            f(to, element);
        }
    }

    /// Fills each row with its one source element, in stores of `R` times `K` elements, which are
    /// at least a row and reach into the rows after it. Leaves out the last rows, which have not as
    /// much after them, and returns how many it has not left out. The output must be dense.
    #[inline(always)]
    pub(super) fn splat_reaching<T: Copy, const K: usize, const R: usize>(self) -> usize {
        self.assert_elements::<T>();
        let len = self.tile.columns.size;
        assert!(self.is_dense() && self.tile.columns.strides[1] == 0 && 0 < len && len <= K * R);
        let done = self.tile.rows.size.saturating_sub((K * R).div_ceil(len));
        for row in 0..done {
            let (to, from) = self.slots_at::<T>(row, 0);
            // SAFETY: the first element of the row is valid for reads: contract of `Region::new`.
            let element = unsafe { from.read() };
            // SAFETY: the rows lie side by side: `is_dense`. `K * R` elements are at most this row
            // and the `(K * R).div_ceil(len)` after it, which are in the plane as `row < done`.
            // They are valid for writes by this plane, which is used up: contract of `Region::new`.
            unsafe { to.cast::<[[Slot<T>; K]; R]>().write([[element; K]; R]) };
        }
        done
    }

    /// Copies element by element. `TO` and `FROM` are the strides of the columns, or 0 where the
    /// compiler does not know them: known strides let it shuffle registers.
    pub(super) fn copy_elements<T: Copy, const TO: isize, const FROM: isize>(self) {
        self.assert_elements::<T>();
        let stride = |known: isize, operand: usize| match known {
            0 => self.tile.columns.strides[operand],
            _ => known,
        };
        let (to_stride, from_stride) = (stride(TO, 0), stride(FROM, 1));
        assert!(self.tile.columns.strides == [to_stride, from_stride]);
        for row in 0..self.tile.rows.size {
            let (to, from) = self.slots_at::<T>(row, 0);
            for column in 0..self.tile.columns.size as isize {
                let to = to.wrapping_offset(column.wrapping_mul(to_stride));
                let from = from.wrapping_offset(column.wrapping_mul(from_stride));
                // SAFETY: a position of the plane, valid for a read and a write that do not
                // overlap: contract of `Region::new`.
                unsafe { ptr::copy_nonoverlapping(from, to, 1) };
            }
        }
    }

    /// The rows of `K` elements of output, which must be dense, and the columns of the source. In
    /// each column the elements must lie side by side.
    #[inline(always)]
    pub(super) fn rows_and_source_columns<T: Copy, const K: usize>(
        &mut self,
    ) -> (&mut [[Slot<T>; K]], Columns<'_, T, K>) {
        self.assert_elements::<T>();
        assert!(self.is_dense() && self.tile.columns.size == K && self.tile.rows.strides[1] == 1);
        let len = self.tile.rows.size;
        let from = array::from_fn(|column| {
            let (_, from) = self.slots_at::<T>(0, column);
            // SAFETY: the column lies side by side in the source: the stride. It is valid for
            // reads, and nothing writes to it: contract of `Region::new`.
            unsafe { slice::from_raw_parts(from, len) }
        });
        let (to, _) = self.slots_at::<T>(0, 0);
        // SAFETY: the elements of the rows lie side by side: `is_dense`. They are valid for writes:
        // contract of `Region::new`. `self` is borrowed mutably.
        let to = unsafe { slice::from_raw_parts_mut(to.cast(), len) };
        (to, from)
    }

    /// The `K` rows of output, in each of which elements must lie side by side, and the source, in
    /// which the columns must.
    #[inline(always)]
    pub(super) fn rows_and_source<T: Copy, const K: usize>(
        &mut self,
    ) -> (Rows<'_, T, K>, &[[Slot<T>; K]]) {
        self.assert_elements::<T>();
        assert!(self.tile.rows.size == K && self.tile.rows.strides[1] == 1);
        assert!(self.tile.columns.strides == [1, K as isize]);
        let len = self.tile.columns.size;
        let (_, from) = self.slots_at::<T>(0, 0);
        // SAFETY: the elements lie side by side in the source: the strides. They are valid for
        // reads, and nothing writes to them: contract of `Region::new`.
        let from = unsafe { slice::from_raw_parts(from.cast(), len) };
        let to = array::from_fn(|row| {
            let (to, _) = self.slots_at::<T>(row, 0);
            // SAFETY: the row lies side by side in output: the stride. It is valid for writes, and
            // no two rows share an element: contract of `Region::new`. `self` is borrowed mutably.
            unsafe { slice::from_raw_parts_mut(to, len) }
        });
        (to, from)
    }

    /// Copies squares, each transposed in registers, as far as whole ones go. Returns how many rows
    /// and columns they cover: none if there is no code for such elements, or if output or the
    /// columns of the source have gaps.
    pub(super) fn transpose_squares<T: Copy>(&mut self) -> [usize; 2] {
        self.assert_elements::<T>();
        let (Some((side, transpose)), 1, 1) = (
            const { square(size_of::<T>()) },
            self.tile.rows.strides[1],
            self.tile.columns.strides[0],
        ) else {
            return [0, 0];
        };
        let steps = [self.tile.rows.strides[0], self.tile.columns.strides[1]];
        let steps = steps.map(|step| step.wrapping_mul(size_of::<T>() as isize));
        let (down, along) = (self.tile.rows.size / side, self.tile.columns.size / side);
        for column in (0..along).map(|square| square * side) {
            for row in (0..down).map(|square| square * side) {
                let at = self.at(row, column);
                let (to, from) = (at.0.cast(), at.1.cast());
                // SAFETY: `side` columns of `side` rows of the plane. In output the elements of a
                // row lie side by side, in the source those of a column: the strides. They are
                // valid for writes and reads that do not overlap: contract of `Region::new`.
                unsafe { transpose((to, from), steps) };
            }
        }
        [down * side, along * side]
    }
}

/// Columns of a source, each of which lies side by side.
type Columns<'p, T, const K: usize> = [&'p [Slot<T>]; K];

/// Rows of output, each of which lies side by side.
type Rows<'p, T, const K: usize> = [&'p mut [Slot<T>]; K];

/// Memory on the stack that begins at a cache line: a line, then a block that begins at the next.
#[repr(C, align(64))]
pub(super) struct Block([MaybeUninit<u8>; CACHE_LINE + BLOCK]);

impl Block {
    pub(super) const NEW: Self = Block([MaybeUninit::uninit(); CACHE_LINE + BLOCK]);

    /// Whether a block holds many elements of `size` bytes.
    pub(super) fn fits(size: usize) -> bool {
        (1..=BLOCK / 16).contains(&size)
    }

    /// The line and the block.
    pub(super) fn line_and_block(&mut self) -> &mut [Byte] {
        &mut self.0
    }

    /// The block.
    pub(super) fn block(&mut self) -> &mut [Byte] {
        &mut self.0[CACHE_LINE..]
    }
}

/// Pointers to output and source moved by offsets in elements of `size` bytes.
#[inline(always)]
fn moved((to, from): Pointers, offsets: [isize; 2], size: usize) -> Pointers {
    let [to_offset, from_offset] = offsets.map(|offset| offset.wrapping_mul(size as isize));
    (
        to.wrapping_offset(to_offset),
        from.wrapping_offset(from_offset),
    )
}

/// The settings of a copy of this many bytes: see [`Settings::of`].
pub(super) type Choose = fn(usize) -> Option<Settings>;

/// Copies all positions of a region, by a strategy if it is large.
///
/// Memory that was not initialised is taken to be so when this returns. That no kernel leaves out a
/// position is trusted, not checked by a type: tests beside the kernels compare each of them with a
/// loop over indices.
pub(super) type Run = fn(Region, Option<(Strategy, Settings)>);

/// `out` with the elements of `from`.
#[inline]
pub(super) fn initialised<A: Copy + Send + Sync, D: Dimension>(
    mut out: Array<MaybeUninit<A>, D>,
    from: &ArrayRef<A, D>,
    how: (Choose, Run),
) -> Result<Array<A, D>, BroadcastError> {
    copy_into_uninit(out.view_mut(), from, how)?;
    // SAFETY: `copy_into_uninit` has returned `Ok`, thus initialised each element.
    Ok(unsafe { out.assume_init() })
}

/// Copies `from` into `out` and returns a view of the elements, now initialised.
#[inline]
pub(super) fn copy_into_uninit<'o, A: Copy + Send + Sync, D: Dimension>(
    mut out: ArrayViewMut<'o, MaybeUninit<A>, D>,
    from: &ArrayRef<A, D>,
    how: (Choose, Run),
) -> Result<ArrayViewMut<'o, A, D>, BroadcastError> {
    check_shape(ArrayRole::Out, from.shape(), out.shape())?;
    // SAFETY: `out` is a valid array of the shape of `from`: `check_shape`. It is borrowed mutably.
    unsafe { copy_to(out.as_mut_ptr().cast(), out.strides(), from, how) }?;
    // SAFETY: `copy_to` has returned `Ok`, and its `Run` copies all positions: trusted, see there.
    Ok(unsafe { out.assume_init() })
}

/// Copies `from` into `out`.
pub(super) fn replaced<A: Copy + Send + Sync, D: Dimension>(
    out: &mut ArrayRef<A, D>,
    from: &ArrayRef<A, D>,
    how: (Choose, Run),
) -> Result<(), BroadcastError> {
    check_shape(ArrayRole::Out, from.shape(), out.shape())?;
    // SAFETY: `out` is a valid array of the shape of `from`: `check_shape`. It is borrowed mutably.
    // The copy writes nothing but elements of `from`, so all elements stay initialised.
    unsafe { copy_to(out.as_mut_ptr(), out.strides(), from, how) }
}

/// Copies every element of `from` to the array at `to`.
///
/// # Safety
///
/// With `strides`, `to` is a valid array of the shape of `from` that this call alone may access. No
/// two of its indices share an element.
unsafe fn copy_to<A: Copy + Send + Sync, D: Dimension>(
    to: *mut A,
    strides: &[isize],
    from: &ArrayRef<A, D>,
    how: (Choose, Run),
) -> Result<(), BroadcastError> {
    let (pointers, strides) = ((to.cast(), from.as_ptr().cast()), [strides, from.strides()]);
    // SAFETY: contract of `copy_to`; `from` is borrowed, and its elements are `Copy`, `Send` and
    // `Sync`, of the size in their kernels. What `to` alone may access does not overlap it.
    unsafe { copy(from.shape(), strides, pointers, Kernels::of::<A>(), how) }
}

/// Copies every element of an array. Errors come before the first write. Not generic, so that it is
/// compiled once.
///
/// # Safety
///
/// Elements are `Copy`, `Send` and `Sync`, of the size in `kernels`. With `strides[0]`, the first
/// pointer is a valid array of `shape` that this call may write. With `strides[1]`, the second is a
/// valid array of `shape` that this call may read. The two do not overlap. No two indices of the
/// first share an element: constructors of mutable views refuse such strides or demand their
/// absence.
#[inline(never)]
unsafe fn copy(
    shape: &[usize],
    strides: [&[isize]; 2],
    pointers: Pointers,
    kernels: &'static Kernels,
    (choose, run): (Choose, Run),
) -> Result<(), BroadcastError> {
    let mut nest = LoopNest::new(shape, strides)?;
    let bytes = nest.len() * kernels.size;
    if bytes == 0 {
        return Ok(());
    }
    let large = choose(bytes).map(|mut settings| {
        settings.streamed &= Block::fits(kernels.size);
        let strategy = Strategy::choose(&mut nest, kernels.size, settings.streamed);
        (strategy, settings)
    });
    // SAFETY: the nest walks each index of two valid arrays once, and `kernels` has the layout of
    // their elements: contract of `copy`.
    let region = unsafe { Region::new(&nest, pointers, kernels) };
    run(region, large);
    Ok(())
}

#[cfg(all(test, panic = "unwind"))]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    const LEN: usize = 64;

    /// Whether `f` panics, with a region of four rows of five bytes. `strides` are those of output
    /// and source.
    fn refuses(strides: [[isize; 2]; 2], f: impl Fn(Region)) -> bool {
        let (mut out, source) = ([Byte::new(0); LEN], [Byte::new(1); LEN]);
        let nest = LoopNest::new(&[4, 5], strides.each_ref().map(|strides| &strides[..])).unwrap();
        let pointers = (out.as_mut_ptr(), source.as_ptr());
        // SAFETY: the strides of the tests reach less than `LEN` bytes, and do not overlap.
        let region = unsafe { Region::new(&nest, pointers, Kernels::of::<u8>()) };
        catch_unwind(AssertUnwindSafe(|| f(region))).is_err()
    }

    /// Kernels are safe code. So what they ask for is checked, and not only that they are right.
    #[test]
    fn what_is_not_in_a_region_is_refused() {
        const DENSE: [[isize; 2]; 2] = [[5, 1], [1, 4]];
        const GAPS: [[isize; 2]; 2] = [[8, 1], [8, 1]];
        let none = |_: Region, _: Option<&Streamer>| ();
        let nothing = |_: Plane, _: Option<&Streamer>| ();
        let chunks = |len| Chunks::new(len, 1, 0, LEN);
        assert!(!refuses(DENSE, |mut region| _ = region.part(3..20)));
        assert!(refuses(DENSE, |mut region| _ = region.part(3..21)));
        assert!(refuses(DENSE, |mut region| _ = region.part(4..9).part(3..5)));
        let block = || [Byte::new(0); LEN];
        assert!(!refuses(DENSE, |region| _ =
            region.built_in(0..20, &mut block()[..20])));
        assert!(refuses(DENSE, |region| _ =
            region.built_in(0..20, &mut block()[..19])));
        assert!(refuses(DENSE, |region| _ = region.built_in(9..21, &mut block())));
        assert!(refuses(GAPS, |region| _ = region.built_in(0..9, &mut block())));
        assert!(!refuses(DENSE, |mut region| _ = region.out()));
        assert!(refuses(GAPS, |mut region| _ = region.out()));
        assert!(!refuses(DENSE, |region| region.for_each_chunk(
            chunks(20),
            false,
            none
        )));
        assert!(refuses(DENSE, |region| region.for_each_chunk(
            chunks(21),
            false,
            none
        )));
        assert!(refuses(DENSE, |mut region| region
            .part(1..20)
            .for_each_chunk(chunks(19), false, none)));
        assert!(!refuses(DENSE, |region| region.for_each_tile(
            [2, 2],
            false,
            nothing
        )));
        assert!(refuses(DENSE, |mut region| region
            .part(0..19)
            .for_each_tile([2, 2], false, nothing)));
        assert!(!refuses(DENSE, |mut region| region.for_each_row_across(1..4, |_| ())));
        assert!(refuses(DENSE, |mut region| region.for_each_row_across(1..5, |_| ())));
    }

    #[test]
    fn what_is_not_in_a_plane_is_refused() {
        let refuses = |strides, f: &dyn Fn(Plane)| refuses(strides, |all| all.for_each_plane(f));
        const DENSE: [[isize; 2]; 2] = [[5, 1], [1, 4]];
        const GAPS: [[isize; 2]; 2] = [[8, 1], [8, 1]];
        const APART: [[isize; 2]; 2] = [[10, 2], [8, 1]];
        let block = || [Byte::new(0); LEN];
        assert!(!refuses(DENSE, &|mut plane| _ = plane.part([1, 2], 3, 3)));
        assert!(refuses(DENSE, &|mut plane| _ = plane.part([1, 2], 4, 3)));
        assert!(refuses(DENSE, &|mut plane| _ = plane.part([1, 2], 3, 4)));
        assert!(refuses(DENSE, &|mut plane| _ = plane.part([5, 0], 0, 1)));
        assert!(!refuses(GAPS, &|plane| _ = plane.built_in(&mut block()[..20])));
        assert!(refuses(GAPS, &|plane| _ = plane.built_in(&mut block()[..19])));
        assert!(refuses(GAPS, &|mut plane| _ = plane.out()));
        assert!(!refuses(GAPS, &|mut plane| _ = plane.out_row(3)));
        assert!(refuses(GAPS, &|mut plane| _ = plane.out_row(4)));
        assert!(refuses(APART, &|mut plane| _ = plane.out_row(3)));
        assert!(!refuses(DENSE, &|mut plane| _ = plane.expansion()));
        assert!(refuses([[5, 1], [8, 0]], &|mut plane| _ = plane.expansion()));
        assert!(!refuses(GAPS, &|plane| plane.for_each_row(|_, _| ())));
        assert!(refuses(DENSE, &|plane| plane.for_each_row(|_, _| ())));
        assert!(refuses(DENSE, &|plane| plane.for_each_splat::<u8>(|_, _| ())));
        assert!(refuses(GAPS, &|plane| plane.for_each_splat::<u16>(|_, _| ())));
        assert!(refuses([[5, 1], [1, 0]], &|plane| _ =
            plane.splat_reaching::<u8, 4, 1>()));
        assert!(refuses(DENSE, &|plane| _ = plane.splat_reaching::<u8, 8, 1>()));
        assert!(!refuses(DENSE, &|plane| plane.copy_elements::<u8, 1, 4>()));
        assert!(refuses(DENSE, &|plane| plane.copy_elements::<u8, 1, 2>()));
        assert!(refuses(DENSE, &|plane| plane.copy_elements::<u16, 0, 0>()));
        assert!(!refuses(DENSE, &|mut plane| _ =
            plane.rows_and_source_columns::<u8, 5>()));
        assert!(refuses(DENSE, &|mut plane| _ =
            plane.rows_and_source_columns::<u8, 4>()));
        assert!(refuses(GAPS, &|mut plane| _ =
            plane.rows_and_source_columns::<u8, 5>()));
        assert!(!refuses(DENSE, &|mut plane| _ = plane.rows_and_source::<u8, 4>()));
        assert!(refuses(DENSE, &|mut plane| _ = plane.rows_and_source::<u8, 3>()));
        assert!(refuses(APART, &|mut plane| _ = plane.rows_and_source::<u8, 4>()));
        assert!(refuses(DENSE, &|mut plane| _ = plane.transpose_squares::<u16>()));
    }
}
