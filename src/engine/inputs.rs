//! The inputs of a sweep: tuples of arrays, read a row at a time.
//!
//! A row of the output is walked together with a row of each input. An input's row is contiguous,
//! one repeated element, or strided. Loops are compiled for each combination that the compiler can
//! vectorise, and once for all others. Inputs that are read by value are first packed where that is
//! faster: see `pack`.

use super::machine::{Vectorize, widest};
use super::nest::{LoopAxis, Tile};
use super::pack::Packing;
use super::tuning::{CACHE_LINE, LARGE_ELEMENT, PACKED};
use ndarray::{ArrayRef, ArrayView, Dimension};
use std::marker::PhantomData;
use std::mem::{MaybeUninit, take};
use std::{array, ptr, slice};

/// Where the element at index 0 of every axis lies, the shape and the strides of an array.
pub(crate) struct Layout<'v, A> {
    first: *const A,
    shape: &'v [usize],
    strides: &'v [isize],
}

// Derived, both would ask the same of `A`.
impl<A> Clone for Layout<'_, A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A> Copy for Layout<'_, A> {}

/// An array of which a sweep visits elements.
///
/// # Safety
///
/// `layout` is the layout of an array whose elements may be made items by [`item`](Self::item), as
/// long as the input lives. Items of different threads may exist at the same time.
pub(crate) unsafe trait Input {
    /// What lies in memory.
    type Elem;

    /// What a closure is given.
    type Item;

    /// Whether elements may be copied before they are made items.
    const PACKS: bool;

    fn layout(&self) -> Layout<'_, Self::Elem>;

    /// The item of the element at `place`.
    ///
    /// # Safety
    ///
    /// `place` is an element of the array, or, with [`PACKS`](Self::PACKS), a copy of one. An item
    /// that may be written to is made once.
    unsafe fn item(place: *const Self::Elem) -> Self::Item;
}

/// An input that is read by reference.
pub(crate) struct Source<'v, 'a, A> {
    layout: Layout<'v, A>,
    elements: PhantomData<&'a A>,
}

// SAFETY: a `Source` only gives out `&A`, as the array that it is built from does. `&A` may be sent
// where `A` is `Sync`.
unsafe impl<A: Sync> Sync for Source<'_, '_, A> {}

impl<'a, A> Source<'a, 'a, A> {
    /// Items that live as long as the array is borrowed.
    #[inline]
    pub(crate) fn of<D: Dimension>(array: &'a ArrayRef<A, D>) -> Self {
        let (layout, elements) = (Layout::of(array), PhantomData);
        Source { layout, elements }
    }
}

impl<'v, 'a, A> Source<'v, 'a, A> {
    /// Items that live as long as the elements of the view.
    #[inline]
    pub(crate) fn new<D: Dimension>(view: &'v ArrayView<'a, A, D>) -> Self {
        let (layout, elements) = (Layout::of(view), PhantomData);
        Source { layout, elements }
    }
}

// SAFETY: the layout is that of an array whose elements are borrowed for 'a.
unsafe impl<'a, A: Sync> Input for Source<'_, 'a, A> {
    type Elem = A;
    type Item = &'a A;
    const PACKS: bool = false;

    #[inline(always)]
    fn layout(&self) -> Layout<'_, A> {
        self.layout
    }

    #[inline(always)]
    unsafe fn item(place: *const A) -> &'a A {
        // SAFETY: an element of the array: the contract of this function.
        unsafe { &*place }
    }
}

/// An input that is read by value.
pub(crate) struct Values<'v, A> {
    layout: Layout<'v, A>,
    elements: PhantomData<&'v A>,
}

// SAFETY: threads copy elements out of an array that is borrowed, and use them on their own: `A` is
// `Send` and `Sync`.
unsafe impl<A: Send + Sync> Sync for Values<'_, A> {}

impl<'v, A> Values<'v, A> {
    #[inline]
    pub(crate) fn new<D: Dimension>(array: &'v ArrayRef<A, D>) -> Self {
        let (layout, elements) = (Layout::of(array), PhantomData);
        Values { layout, elements }
    }
}

// SAFETY: the layout is that of an array whose elements are borrowed for 'v. They are `Copy`.
unsafe impl<A: Copy + Send + Sync> Input for Values<'_, A> {
    type Elem = A;
    type Item = A;
    const PACKS: bool = size_of::<A>() < LARGE_ELEMENT;

    #[inline(always)]
    fn layout(&self) -> Layout<'_, A> {
        self.layout
    }

    #[inline(always)]
    unsafe fn item(place: *const A) -> A {
        // SAFETY: an element or a copy of one: the contract of this function.
        unsafe { *place }
    }
}

/// A second output of a sweep. Items are its elements.
pub(crate) struct Places<'v, 'a, A> {
    layout: Layout<'v, A>,
    elements: PhantomData<&'a mut A>,
}

// SAFETY: threads are given different elements, by the contract of `item`, so `A` must be `Send`.
unsafe impl<A: Send> Sync for Places<'_, '_, A> {}

impl<'a, A> Places<'a, 'a, A> {
    #[inline]
    pub(crate) fn new<D: Dimension>(array: &'a mut ArrayRef<A, D>) -> Self {
        let first = array.as_mut_ptr().cast_const();
        let layout = Layout {
            first,
            ..Layout::of(array)
        };
        Places {
            layout,
            elements: PhantomData,
        }
    }
}

// SAFETY: the layout is that of an array that is borrowed mutably for 'a. Its indices are different
// elements, as in every array that can be borrowed so.
unsafe impl<'a, A: Send> Input for Places<'_, 'a, A> {
    type Elem = A;
    type Item = &'a mut A;
    const PACKS: bool = false;

    #[inline(always)]
    fn layout(&self) -> Layout<'_, A> {
        self.layout
    }

    #[inline(always)]
    unsafe fn item(place: *const A) -> &'a mut A {
        // SAFETY: an element of an array that is borrowed mutably, for which this is the only item:
        // the contract of this function.
        unsafe { &mut *place.cast_mut() }
    }
}

impl<'v, A> Layout<'v, A> {
    #[inline]
    fn of<D: Dimension>(array: &'v ArrayRef<A, D>) -> Self {
        Layout {
            first: array.as_ptr(),
            shape: array.shape(),
            strides: array.strides(),
        }
    }
}

/// The inputs of a sweep: a tuple of them. `N` counts the output too, which is operand 0.
///
/// # Safety
///
/// - `layout` is the shape and the strides of the input's array, `firsts` has the address of its
///   element at index 0 of every axis, and `visit_tile` reads this array. All calls say the same.
/// - `visit_tile`, `best_rows` and `rows` call `op` once for each position of the tile, with the
///   element of operand 0 and the items of the inputs at that position. So an `op` that writes the
///   element has initialised all of them when the call returns.
/// - `best_rows` and `rows` do so row by row, and along each row from its first element to its
///   last.
pub(crate) unsafe trait Inputs<const N: usize>: Sync {
    /// An item of each input.
    type Items;

    /// Where the elements at index 0 of every axis lie.
    type Firsts: Copy;

    /// Whether some inputs may be packed. Then [`visit_tile`](Self::visit_tile) finds the order in
    /// which a tile is walked fastest.
    const PACKS: bool;

    /// Whether elements are large. Then one loop reads them, for any strides: in a debug build each
    /// further loop needs stack for its own copies of the elements.
    const LARGE: bool;

    fn firsts(&self) -> Self::Firsts;

    /// Shape and strides of an input, and the bytes of an element.
    fn layout(&self, input: usize) -> (&[usize], &[isize], usize);

    /// Calls `op` once for each element of a tile of the output with the items of the inputs, in
    /// any order.
    ///
    /// # Safety
    ///
    /// From the element at index 0 on, the offsets of operand `k + 1` in the tile are elements of
    /// input `k`. From `x` on, the offsets of operand 0 are different elements that are valid for
    /// reads and writes, and reached by nothing else meanwhile. One call only visits a position.
    unsafe fn visit_tile<X>(&self, x: *mut X, tile: Tile<N>, op: &impl Fn(&mut X, Self::Items));

    /// [`visit_tile`](Self::visit_tile) of the inputs at `firsts`, row by row and each row from its
    /// first element to its last, by the loop that is compiled for the strides along a row.
    ///
    /// # Safety
    ///
    /// As for `visit_tile`, but from `firsts` on. The offsets of an input with [`Input::PACKS`] may
    /// reach copies of its elements instead.
    unsafe fn best_rows<X>(
        x: *mut X,
        firsts: Self::Firsts,
        tile: &Tile<N>,
        op: &impl Fn(&mut X, Self::Items),
    );

    /// [`best_rows`](Self::best_rows) with the strides along a row, which the compiler knows where
    /// the caller does.
    ///
    /// # Safety
    ///
    /// As for `best_rows`. `strides` are those of `tile.columns`.
    unsafe fn rows<X>(
        x: *mut X,
        firsts: Self::Firsts,
        tile: &Tile<N>,
        strides: [isize; N],
        op: &impl Fn(&mut X, Self::Items),
    );
}

/// [`visit_tile`](Inputs::visit_tile) as a kernel.
pub(super) struct TileKernel<'s, X, I, F, const N: usize> {
    inputs: &'s I,
    x: *mut X,
    tile: Tile<N>,
    op: &'s F,
}

impl<'s, X, I: Inputs<N>, F: Fn(&mut X, I::Items), const N: usize> TileKernel<'s, X, I, F, N> {
    /// # Safety
    ///
    /// As for [`Inputs::visit_tile`].
    #[inline(always)]
    pub(super) unsafe fn new(inputs: &'s I, x: *mut X, tile: Tile<N>, op: &'s F) -> Self {
        TileKernel {
            inputs,
            x,
            tile,
            op,
        }
    }
}

impl<X, I: Inputs<N>, F: Fn(&mut X, I::Items), const N: usize> Vectorize
    for TileKernel<'_, X, I, F, N>
{
    type Output = ();

    #[inline(always)]
    fn run(self) {
        // SAFETY: the contract of `new`.
        unsafe { self.inputs.visit_tile(self.x, self.tile, self.op) };
    }
}

/// Inputs to which the places of a second output can be added.
///
/// # Safety
///
/// `and` adds an input that is these places. `split` returns its item, and the items of the other
/// inputs.
pub(crate) unsafe trait AndPlaces<E, const N: usize, const M: usize>:
    Inputs<N>
{
    /// The inputs and the places.
    type With<'p>: Inputs<M>
    where
        E: 'p;

    fn and<'p>(self, places: Places<'p, 'p, E>) -> Self::With<'p>;

    fn split<'p>(items: <Self::With<'p> as Inputs<M>>::Items) -> (Self::Items, &'p mut E)
    where
        E: 'p;
}

/// Implements [`AndPlaces`] for a tuple.
macro_rules! and_places {
    ($n:literal $m:literal: $($a:ident $A:ident),+) => {
        // SAFETY: `and` makes the places the last of the tuple, and so are their items.
        unsafe impl<E: Send, $($A: Input + Sync),+> AndPlaces<E, $n, $m> for ($($A,)+) {
            type With<'p> = ($($A,)+ Places<'p, 'p, E>) where E: 'p;

            #[inline]
            fn and<'p>(self, places: Places<'p, 'p, E>) -> Self::With<'p> {
                let ($($a,)+) = self;
                ($($a,)+ places)
            }

            #[inline(always)]
            fn split<'p>(
                items: <Self::With<'p> as Inputs<$m>>::Items,
            ) -> (Self::Items, &'p mut E)
            where
                E: 'p,
            {
                let ($($a,)+ place) = items;
                (($($a,)+), place)
            }
        }
    };
}

and_places!(2 3: a A);
and_places!(3 4: a A, b B);
and_places!(4 5: a A, b B, c C);
and_places!(5 6: a A, b B, c C, d D);
and_places!(6 7: a A, b B, c C, d D, e F);
and_places!(7 8: a A, b B, c C, d D, e F, f G);

/// Implements [`Inputs`] for a tuple: its inputs with their places in the tuple and in the sweep,
/// then the combinations of strides along a row that have loops of their own.
macro_rules! inputs {
    (
        $n:literal: $($a:ident $A:ident $input:tt $operand:tt),+;
        $([$($stride:literal)+])+
    ) => {
        // SAFETY: `firsts`, `layout` and `visit_tile` read the layout that the same input holds,
        // which does not change. `rows` counts the rows and the columns of the tile up from 0.
        // `best_rows` calls `rows` once. `visit_tile` calls `best_rows` once for each part, and
        // `Packing::next_part` puts each position into one part.
        unsafe impl<$($A: Input + Sync),+> Inputs<$n> for ($($A,)+) {
            type Items = ($($A::Item,)+);
            type Firsts = ($(*const $A::Elem,)+);
            const PACKS: bool = false $(|| $A::PACKS)+;
            const LARGE: bool = false $(|| size_of::<$A::Elem>() >= LARGE_ELEMENT)+;

            #[inline(always)]
            fn firsts(&self) -> Self::Firsts {
                ($(self.$input.layout().first,)+)
            }

            #[inline(always)]
            fn layout(&self, input: usize) -> (&[usize], &[isize], usize) {
                match input {
                    $($input => {
                        let Layout { shape, strides, .. } = self.$input.layout();
                        (shape, strides, size_of::<$A::Elem>())
                    })+
                    _ => (&[], &[], 0),
                }
            }

            #[inline(always)]
            unsafe fn visit_tile<X>(
                &self,
                x: *mut X,
                tile: Tile<$n>,
                op: &impl Fn(&mut X, Self::Items),
            ) {
                let tile = if Self::PACKS { tile.along_output() } else { tile };
                let firsts = self.firsts();
                if const { Self::LARGE || !Self::PACKS } {
                    // SAFETY: the contract of this function; the inputs are at their `firsts`.
                    return unsafe { Self::best_rows(x, firsts, &tile, op) };
                }
                let sizes = [size_of::<X>(), $(size_of::<$A::Elem>()),+];
                let may = [false, $($A::PACKS),+];
                // One call of `best_rows` for packed inputs and others: it has a loop for each
                // pattern of strides, and is compiled anew for each closure.
                let packing = Packing::of(&tile, sizes, may);
                let mut blocks = Blocks([MaybeUninit::uninit(); PACKED]);
                let mut at = [0; 2];
                while let Some((mut part, again)) = packing.next_part(&tile, &mut at) {
                    let mut rest = &mut blocks.0[..];
                    $(
                        let mut $a = firsts.$input;
                        if packing.packs($operand) {
                            let block = cut_block(&mut rest, packing.elements());
                            if !(again && part.rows.strides[$operand] == 0) {
                                // SAFETY: elements of the input: the contract of this function.
                                unsafe { pack($a, &part, $operand, block) };
                            }
                            $a = block.as_ptr().cast();
                            part.offsets[$operand] = 0;
                            part.rows.strides[$operand] = part.columns.size as isize;
                            part.columns.strides[$operand] = 1;
                        }
                    )+
                    let part = packing.merged(part);
                    // SAFETY: the part is one of the tile, and where an input was copied, by this
                    // turn or an earlier one with the same columns, its offsets are those of the
                    // copies. Only inputs with `PACKS` are copied; the others are at their
                    // `firsts`.
                    unsafe { Self::best_rows(x, ($($a,)+), &part, op) };
                }
            }

            #[inline(always)]
            unsafe fn best_rows<X>(
                x: *mut X,
                firsts: Self::Firsts,
                tile: &Tile<$n>,
                op: &impl Fn(&mut X, Self::Items),
            ) {
                if const { Self::LARGE } {
                    // SAFETY: the contract of this function; the strides are those of the columns.
                    return unsafe { Self::rows(x, firsts, tile, tile.columns.strides, op) };
                }
                match tile.columns.strides {
                    $(
                        // SAFETY: the contract of this function; the pattern is the strides.
                        [1, $($stride),+] => unsafe {
                            Self::rows(x, firsts, tile, [1, $($stride),+], op);
                        },
                    )+
                    // SAFETY: the contract of this function; the strides are those of the columns.
                    strides => unsafe { Self::rows(x, firsts, tile, strides, op) },
                }
            }

            #[inline(always)]
            unsafe fn rows<X>(
                x: *mut X,
                ($($a,)+): Self::Firsts,
                tile: &Tile<$n>,
                strides: [isize; $n],
                op: &impl Fn(&mut X, Self::Items),
            ) {
                /// Calls `op` for each element of a row. As a parameter, `x` tells the compiler
                /// that nothing else reaches its elements, so that it vectorises the loop without a
                /// check.
                ///
                /// # Safety
                ///
                /// From each pointer on, the strides reach as many elements of the input as `x`
                /// has.
                #[inline(always)]
                unsafe fn each<X, $($A: Input),+>(
                    x: &mut [X],
                    ($($a,)+): ($(*const $A::Elem,)+),
                    strides: [isize; $n],
                    op: &impl Fn(&mut X, ($($A::Item,)+)),
                ) {
                    for (i, x) in x.iter_mut().enumerate() {
                        $(
                            let step = (i as isize).wrapping_mul(strides[$operand]);
                            let $a = $a.wrapping_offset(step);
                        )+
                        // SAFETY: elements of the inputs, as `i` is below the length of `x`: the
                        // contract.
                        op(x, ($(unsafe { $A::item($a) },)+));
                    }
                }

                let len = tile.columns.size;
                for row in 0..tile.rows.size {
                    let at = tile.offsets_at(row, 0);
                    let x = x.wrapping_offset(at[0]);
                    $(
                        let $a = $a.wrapping_offset(at[$operand]);
                    )+
                    if !Self::LARGE && strides[0] == 1 {
                        // SAFETY: a row of the tile. Its elements are neighbours, as the stride of
                        // operand 0 is 1, and nothing else reaches them: the contract.
                        let x = unsafe { slice::from_raw_parts_mut(x, len) };
                        // SAFETY: the offsets of operand `k + 1` are elements of input `k`: the
                        // contract.
                        unsafe { each::<X, $($A),+>(x, ($($a,)+), strides, op) };
                    } else {
                        for i in 0..len as isize {
                            let x = x.wrapping_offset(i.wrapping_mul(strides[0]));
                            $(let $a = $a.wrapping_offset(i.wrapping_mul(strides[$operand]));)+
                            // SAFETY: an offset of operand 0, which nothing else reaches, and the
                            // offsets of the inputs at this position: the contract.
                            op(unsafe { &mut *x }, ($(unsafe { $A::item($a) },)+));
                        }
                    }
                }
            }
        }
    };
}

/// Memory for parts of inputs.
#[repr(C, align(64))]
struct Blocks([MaybeUninit<u8>; PACKED]);

/// Cuts room for `len` elements off `rest`, at the next cache line.
#[inline]
fn cut_block<'b, A>(rest: &mut &'b mut [MaybeUninit<u8>], len: usize) -> &'b mut [MaybeUninit<A>] {
    let bytes = (len * size_of::<A>()).next_multiple_of(CACHE_LINE);
    let (block, after) = take(rest).split_at_mut(bytes);
    *rest = after;
    // SAFETY: any bytes are `MaybeUninit`.
    let (before, block, _) = unsafe { block.align_to_mut::<MaybeUninit<A>>() };
    assert!(before.is_empty() && block.len() >= len);
    &mut block[..len]
}

/// Copies an operand's elements of a part to `block`, row after row.
///
/// # Safety
///
/// The offsets of the operand from `from` on are elements that are valid for reads.
#[inline]
unsafe fn pack<A, const N: usize>(
    from: *const A,
    part: &Tile<N>,
    operand: usize,
    block: &mut [MaybeUninit<A>],
) {
    let from = from.wrapping_offset(part.offsets[operand]).cast();
    let axis = |axis: LoopAxis<N>| (axis.size, axis.strides[operand]);
    // SAFETY: the contract of this function.
    unsafe { pack_rows(from, axis(part.rows), axis(part.columns), block) };
}

/// Copies the elements at `from + i * down + j * along` to `block`, where `i` is below `rows` and
/// `j` below `columns`, row after row.
///
/// # Safety
///
/// They are valid for reads.
#[inline(never)]
unsafe fn pack_rows<A>(
    from: *const MaybeUninit<A>,
    rows: (usize, isize),
    columns: (usize, isize),
    block: &mut [MaybeUninit<A>],
) {
    // SAFETY: the contract of this function.
    widest(unsafe { PackRows::new(from, rows, columns, block) });
}

/// What [`pack_rows`] does.
struct PackRows<'b, A> {
    from: *const MaybeUninit<A>,
    rows: (usize, isize),
    columns: (usize, isize),
    block: &'b mut [MaybeUninit<A>],
}

impl<'b, A> PackRows<'b, A> {
    /// # Safety
    ///
    /// As for [`pack_rows`].
    #[inline(always)]
    unsafe fn new(
        from: *const MaybeUninit<A>,
        rows: (usize, isize),
        columns: (usize, isize),
        block: &'b mut [MaybeUninit<A>],
    ) -> Self {
        PackRows {
            from,
            rows,
            columns,
            block,
        }
    }

    /// # Safety
    ///
    /// There are such a row and such a column.
    #[inline(always)]
    unsafe fn at(&self, row: usize, column: usize) -> MaybeUninit<A> {
        debug_assert!(row < self.rows.0 && column < self.columns.0);
        let down = self.rows.1.wrapping_mul(row as isize);
        let along = self.columns.1.wrapping_mul(column as isize);
        // SAFETY: one of the elements that the contract of `new` names.
        unsafe { ptr::read(self.from.wrapping_offset(down.wrapping_add(along))) }
    }

    /// All rows, of the first `K` columns.
    ///
    /// # Panics
    ///
    /// If there are fewer.
    #[inline(always)]
    fn short_rows<const K: usize>(self) {
        assert!(K <= self.columns.0);
        for row in 0..self.rows.0 {
            // SAFETY: below the number of rows, and, as asserted, of columns.
            let elements: [_; K] = array::from_fn(|column| unsafe { self.at(row, column) });
            for (column, element) in elements.into_iter().enumerate() {
                self.block[row * K + column] = element;
            }
        }
    }

    /// `K` rows whose elements alternate in memory.
    ///
    /// # Panics
    ///
    /// If the rows are others.
    #[inline(always)]
    fn alternating<const K: usize>(mut self) {
        assert!((self.rows, self.columns.1) == ((K, 1), K as isize));
        // The compiler then knows them.
        (self.rows, self.columns.1) = ((K, 1), K as isize);
        let columns = self.columns.0;
        for column in 0..columns {
            for row in 0..K {
                // SAFETY: below the number of rows, which are `K`, and of columns.
                self.block[row * columns + column] = unsafe { self.at(row, column) };
            }
        }
    }
}

impl<A> Vectorize for PackRows<'_, A> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let ((rows, down), (columns, along)) = (self.rows, self.columns);
        assert!(self.block.len() >= rows * columns);
        match (rows, columns) {
            (2, _) if down == 1 && along == 2 => self.alternating::<2>(),
            (3, _) if down == 1 && along == 3 => self.alternating::<3>(),
            (4, _) if down == 1 && along == 4 => self.alternating::<4>(),
            _ if down == 0 && rows > 1 => {
                for column in 0..columns {
                    // SAFETY: there is more than one row; below the number of columns.
                    self.block[column] = unsafe { self.at(0, column) };
                }
                // Twice as many rows each time.
                let (mut done, all) = (columns, rows * columns);
                while done < all {
                    let (from, to) = self.block.split_at_mut(done);
                    let len = (all - done).min(done);
                    // SAFETY: two slices, which do not overlap, with at least `len` elements.
                    unsafe { ptr::copy_nonoverlapping(from.as_ptr(), to.as_mut_ptr(), len) };
                    done += len;
                }
            }
            (_, 2) => self.short_rows::<2>(),
            (_, 3) => self.short_rows::<3>(),
            (_, 4) => self.short_rows::<4>(),
            _ if along == 0 && columns > 0 => {
                for row in 0..rows {
                    // SAFETY: below the number of rows; there is a column.
                    let element = unsafe { self.at(row, 0) };
                    for place in &mut self.block[row * columns..][..columns] {
                        // SAFETY: bits of a `MaybeUninit`, which drops nothing. The copies become
                        // items only where `Input::PACKS`, whose elements are `Copy`.
                        *place = unsafe { ptr::read(&element) };
                    }
                }
            }
            _ if along.unsigned_abs() > down.unsigned_abs() => {
                for column in 0..columns {
                    for row in 0..rows {
                        // SAFETY: below the numbers of rows and of columns.
                        self.block[row * columns + column] = unsafe { self.at(row, column) };
                    }
                }
            }
            _ => {
                for row in 0..rows {
                    for column in 0..columns {
                        // SAFETY: below the numbers of rows and of columns.
                        self.block[row * columns + column] = unsafe { self.at(row, column) };
                    }
                }
            }
        }
    }
}

inputs!(2: a A 0 1; [1] [0]);
inputs!(3: a A 0 1, b B 1 2; [1 1] [1 0] [0 1]);
inputs!(
    4: a A 0 1, b B 1 2, c C 2 3;
    [1 1 1] [1 1 0] [1 0 1] [1 0 0] [0 1 1] [0 1 0] [0 0 1]
);
inputs!(5: a A 0 1, b B 1 2, c C 2 3, d D 3 4; [1 1 1 1]);
inputs!(6: a A 0 1, b B 1 2, c C 2 3, d D 3 4, e E 4 5; [1 1 1 1 1]);
inputs!(7: a A 0 1, b B 1 2, c C 2 3, d D 3 4, e E 4 5, f F 5 6; [1 1 1 1 1 1]);
inputs!(
    8: a A 0 1, b B 1 2, c C 2 3, d D 3 4, e E 4 5, f F 5 6, g G 6 7;
    [1 1 1 1 1 1 1]
);
