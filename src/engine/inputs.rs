//! The inputs of a map, tuples of arrays, and its inner loops: all that is generic over elements
//! and closures.
//!
//! A row of the output is walked together with a row of each input. An input's row is contiguous,
//! one repeated element, or strided. Loops are compiled for each combination that the compiler can
//! vectorise, and once for all others. Inputs that are read by value are first packed where that is
//! faster: see `maps`.

use super::machine::{Vectorize, in_vectors};
use super::maps::{Kernel, Operand, Places, To, map_of_4, map_of_8};
use super::nest::Tile;
use super::tuning::LARGE_ELEMENT;
use crate::error::BroadcastError;
use ndarray::{ArrayRef, ArrayView, Dimension};
use std::marker::PhantomData;
use std::slice;

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

/// A second output of a map. Items are its elements.
pub(crate) struct Second<'v, 'a, A> {
    layout: Layout<'v, A>,
    elements: PhantomData<&'a mut A>,
}

// SAFETY: threads are given different elements, by the contract of `item`, so `A` must be `Send`.
unsafe impl<A: Send> Sync for Second<'_, '_, A> {}

impl<'a, A> Second<'a, 'a, A> {
    #[inline]
    pub(crate) fn new<D: Dimension>(array: &'a mut ArrayRef<A, D>) -> Self {
        let first = array.as_mut_ptr().cast_const();
        let layout = Layout {
            first,
            ..Layout::of(array)
        };
        Second {
            layout,
            elements: PhantomData,
        }
    }
}

// SAFETY: the layout is that of an array that is borrowed mutably for 'a. Its indices are different
// elements, as in every array that can be borrowed so.
unsafe impl<'a, A: Send> Input for Second<'_, 'a, A> {
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

impl<'a> Operand<'a> {
    #[inline]
    fn of<I: Input>(input: &'a I) -> Self {
        let layout = input.layout();
        Operand {
            first: layout.first.cast_mut().cast(),
            shape: layout.shape,
            strides: layout.strides,
            size: size_of::<I::Elem>(),
            packs: I::PACKS,
        }
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

/// The inputs of a map: a tuple of them. `N` is the number of operands that the driver has room
/// for: the output, which is operand 0, and the inputs.
///
/// # Safety
///
/// - `operands` has the output, and what each input says of its array.
/// - `rows` calls `op` once for each position of the tile, with the element of operand 0 and the
///   items of the inputs at that position, row by row, and along each row from its first element
///   to its last. So an `op` that writes the element has initialised all of them when the call
///   returns.
/// - `map` is the driver for `N` operands.
pub(crate) unsafe trait Inputs<const N: usize>: Sync {
    /// An item of each input.
    type Items;

    /// The output and the inputs: an array.
    type Operands<'a>: AsRef<[Operand<'a>]>
    where
        Self: 'a;

    /// Operand 0 is `output`.
    fn operands<'a>(&'a self, output: Operand<'a>) -> Self::Operands<'a>;

    /// [`map_of_4`] or [`map_of_8`].
    ///
    /// # Errors
    ///
    /// As theirs.
    ///
    /// # Safety
    ///
    /// As for these.
    unsafe fn map(
        operands: &[Operand<'_>],
        kernel: &dyn Kernel<N>,
        to: To,
    ) -> Result<usize, BroadcastError>;

    /// Calls `op` for each position of a tile.
    ///
    /// # Safety
    ///
    /// As for [`Kernel::run`], with an output of elements of `X`.
    unsafe fn rows<X>(first: &Places<N>, tile: &Tile<N>, op: &impl Fn(&mut X, Self::Items));
}

/// A closure over the output and the inputs as the kernel of a map.
pub(crate) struct Each<X, I, F> {
    op: F,
    types: PhantomData<fn(X, I)>,
}

impl<X, I, F> Each<X, I, F> {
    #[inline]
    pub(crate) fn new<const N: usize>(op: F) -> Self
    where
        I: Inputs<N>,
        F: Fn(&mut X, I::Items) + Sync,
    {
        let types = PhantomData;
        Each { op, types }
    }
}

// SAFETY: the contract of `Inputs::rows`. The positions of a tile are its rows times its columns.
unsafe impl<X, I, F, const N: usize> Kernel<N> for Each<X, I, F>
where
    I: Inputs<N>,
    F: Fn(&mut X, I::Items) + Sync,
{
    unsafe fn run(&self, first: &Places<N>, tile: &Tile<N>, wide: bool) -> usize {
        let op = &self.op;
        let rows = OfTile {
            first,
            tile,
            op,
            types: PhantomData::<fn(X, I)>,
        };
        in_vectors(rows, wide);
        tile.rows.size * tile.columns.size
    }
}

/// [`Inputs::rows`], to be compiled for wide vectors. It is only made in `Each::run`.
struct OfTile<'a, X, I, F, const N: usize> {
    first: &'a Places<N>,
    tile: &'a Tile<N>,
    op: &'a F,
    types: PhantomData<fn(X, I)>,
}

impl<X, I: Inputs<N>, F: Fn(&mut X, I::Items), const N: usize> Vectorize
    for OfTile<'_, X, I, F, N>
{
    type Output = ();

    #[inline(always)]
    fn run(self) {
        // SAFETY: the contract of `Each::run`.
        unsafe { I::rows(self.first, self.tile, self.op) };
    }
}

/// Inputs to which the places of a second output can be added.
///
/// # Safety
///
/// `and` adds an input that is these places. `split` returns its item, and the items of the other
/// inputs.
pub(crate) unsafe trait AndSecond<E, const N: usize, const M: usize>:
    Inputs<N>
{
    /// The inputs and the places.
    type With<'p>: Inputs<M>
    where
        E: 'p;

    fn and<'p>(self, places: Second<'p, 'p, E>) -> Self::With<'p>;

    fn split<'p>(items: <Self::With<'p> as Inputs<M>>::Items) -> (Self::Items, &'p mut E)
    where
        E: 'p;
}

/// Implements [`AndSecond`] for a tuple.
macro_rules! and_second {
    ($n:literal $m:literal: $($a:ident $A:ident),+) => {
        // SAFETY: `and` makes the places the last of the tuple, and so are their items.
        unsafe impl<E: Send, $($A: Input + Sync),+> AndSecond<E, $n, $m> for ($($A,)+) {
            type With<'p> = ($($A,)+ Second<'p, 'p, E>) where E: 'p;

            #[inline]
            fn and<'p>(self, places: Second<'p, 'p, E>) -> Self::With<'p> {
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

and_second!(4 4: a A);
and_second!(4 4: a A, b B);
and_second!(4 8: a A, b B, c C);
and_second!(8 8: a A, b B, c C, d D);
and_second!(8 8: a A, b B, c C, d D, e F);
and_second!(8 8: a A, b B, c C, d D, e F, f G);

/// Implements [`Inputs`] for a tuple: the room for operands and how many there are; the driver; the
/// inputs with their places in the tuple and among the operands; and the combinations of strides
/// along a row that have loops of their own.
macro_rules! inputs {
    (
        $n:literal $count:literal $map:ident: $($a:ident $A:ident $input:tt $operand:tt),+;
        $([$($stride:literal)+])+
    ) => {
        // SAFETY: `operands` reads the layout that each input holds. `rows` counts the rows and the
        // columns of the tile up from 0. `map` calls the driver.
        unsafe impl<$($A: Input + Sync),+> Inputs<$n> for ($($A,)+) {
            type Items = ($($A::Item,)+);

            type Operands<'a> = [Operand<'a>; $count] where Self: 'a;

            #[inline]
            fn operands<'a>(&'a self, output: Operand<'a>) -> Self::Operands<'a> {
                [output, $(Operand::of(&self.$input)),+]
            }

            #[inline]
            unsafe fn map(
                operands: &[Operand<'_>],
                kernel: &dyn Kernel<$n>,
                to: To,
            ) -> Result<usize, BroadcastError> {
                // SAFETY: the contract of this function.
                unsafe { $map(operands, kernel, to) }
            }

            #[inline(always)]
            unsafe fn rows<X>(
                first: &Places<$n>,
                tile: &Tile<$n>,
                op: &impl Fn(&mut X, Self::Items),
            ) {
                /// The rows of a tile in which the elements of the output are neighbours. The
                /// strides are those of the columns, in elements; the compiler knows them where the
                /// caller does.
                ///
                /// # Safety
                ///
                /// As for [`Inputs::rows`].
                #[inline(always)]
                unsafe fn contiguous<X, $($A: Input),+>(
                    _: PhantomData<($($A,)+)>,
                    first: &Places<$n>,
                    tile: &Tile<$n>,
                    strides: [isize; $count],
                    op: &impl Fn(&mut X, ($($A::Item,)+)),
                ) {
                    let (at, down) = (&tile.offsets, &tile.rows.strides);
                    let mut x = first[0].wrapping_offset(at[0]);
                    $(let mut $a = first[$operand].wrapping_offset(at[$operand]);)+
                    for _ in 0..tile.rows.size {
                        let (to, len) = (x.cast::<X>(), tile.columns.size);
                        // SAFETY: a row of the tile, which nothing else reaches: the contract.
                        let row = unsafe { slice::from_raw_parts_mut(to, len) };
                        let from = ($($a.cast::<$A::Elem>().cast_const(),)+);
                        // SAFETY: the offsets of the inputs are elements: the contract.
                        unsafe { each::<X, $($A),+>(row, from, strides, op) };
                        x = x.wrapping_offset(down[0]);
                        $($a = $a.wrapping_offset(down[$operand]);)+
                    }
                }

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
                    strides: [isize; $count],
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

                let types = PhantomData::<($($A,)+)>;
                let along = tile.columns.strides;
                let mut strides = [stride_of::<X>(along[0]); $count];
                $(strides[$operand] = stride_of::<$A::Elem>(along[$operand]);)+
                // Large elements are read by one loop: in a debug build each further loop needs
                // stack for its own copies of the elements.
                let large = const { false $(|| size_of::<$A::Elem>() >= LARGE_ELEMENT)+ };
                match strides {
                    $(
                        [1, $($stride),+] if !large => {
                            // SAFETY: the contract of this function; these are the strides.
                            return unsafe {
                                contiguous(types, first, tile, [1, $($stride),+], op)
                            };
                        }
                    )+
                    _ => {}
                }
                for row in 0..tile.rows.size {
                    let mut at = tile.offsets_at(row, 0);
                    for _ in 0..tile.columns.size {
                        let x = first[0].wrapping_offset(at[0]).cast::<X>();
                        $(
                            let $a = first[$operand].wrapping_offset(at[$operand]);
                            let $a = $a.cast::<$A::Elem>().cast_const();
                        )+
                        // SAFETY: an element of the output, which nothing else reaches, and those
                        // of the inputs at this position: the contract.
                        op(unsafe { &mut *x }, ($(unsafe { $A::item($a) },)+));
                        at[0] = at[0].wrapping_add(along[0]);
                        $(at[$operand] = at[$operand].wrapping_add(along[$operand]);)+
                    }
                }
            }
        }
    };
}

/// A stride in elements, if it has a loop of its own: 1 or 0; else another number.
#[inline(always)]
fn stride_of<A>(bytes: isize) -> isize {
    match bytes {
        bytes if bytes == size_of::<A>() as isize => 1,
        0 => 0,
        _ => 2,
    }
}

inputs!(4 2 map_of_4: a A 0 1; [1] [0]);
inputs!(4 3 map_of_4: a A 0 1, b B 1 2; [1 1] [1 0] [0 1]);
inputs!(
    4 4 map_of_4: a A 0 1, b B 1 2, c C 2 3;
    [1 1 1] [1 1 0] [1 0 1] [1 0 0] [0 1 1] [0 1 0] [0 0 1]
);
inputs!(8 5 map_of_8: a A 0 1, b B 1 2, c C 2 3, d D 3 4; [1 1 1 1]);
inputs!(8 6 map_of_8: a A 0 1, b B 1 2, c C 2 3, d D 3 4, e E 4 5; [1 1 1 1 1]);
inputs!(8 7 map_of_8: a A 0 1, b B 1 2, c C 2 3, d D 3 4, e E 4 5, f F 5 6; [1 1 1 1 1 1]);
inputs!(
    8 8 map_of_8: a A 0 1, b B 1 2, c C 2 3, d D 3 4, e E 4 5, f F 5 6, g G 6 7;
    [1 1 1 1 1 1 1]
);
