//! The inputs of a map, tuples of arrays, and its inner loops: all that is generic over elements
//! and closures.
//!
//! A row of the output is walked together with a row of each input. An input's row is contiguous,
//! one repeated element, or strided. Loops are compiled for each combination that the compiler can
//! vectorise, and once for all others. Inputs that are read by value are first packed where that is
//! faster: see `maps`.

// Macros make `(a)` of one input, which is no tuple.
#![allow(unused_parens)]

use super::gather::Gather;
use super::machine::{Vectorize, in_vectors};
use super::maps::{Kernel, Operand, Places, To, map_of_4, map_of_8};
use super::nest::Tile;
use super::tuning::LARGE_ELEMENT;
use crate::error::Result;
use ndarray::{ArrayRef, ArrayView, Dimension};
use std::marker::PhantomData;
use std::slice;

/// What an input gives a closure of each element.
///
/// # Safety
///
/// With a [`gather`](Self::gather), elements may be copied, and copies of them lie at cache lines.
pub(crate) unsafe trait Access {
    /// What lies in memory.
    type Elem;

    /// What a closure is given.
    type Item;

    /// What copies elements before they are made items, if they may be copied. `ALL`: see
    /// [`Gather::of`].
    #[inline]
    fn gather<const ALL: bool>() -> Option<&'static Gather> {
        None
    }

    /// The item of the element at `place`.
    ///
    /// # Safety
    ///
    /// `place` is an element of the input's array, or, with a [`gather`](Self::gather), a copy of
    /// one. An item that may be written to is made once.
    unsafe fn item(place: *const Self::Elem) -> Self::Item;
}

// SAFETY: elements are not copied.
unsafe impl<'a, A> Access for &'a A {
    type Elem = A;
    type Item = &'a A;

    #[inline(always)]
    unsafe fn item(place: *const A) -> &'a A {
        // SAFETY: an element of an array that is borrowed for 'a: the contract of this function.
        unsafe { &*place }
    }
}

// SAFETY: elements are not copied.
unsafe impl<'a, A> Access for &'a mut A {
    type Elem = A;
    type Item = &'a mut A;

    #[inline(always)]
    unsafe fn item(place: *const A) -> &'a mut A {
        // SAFETY: an element of an array that is borrowed mutably for 'a, for which this is the
        // only item: the contract of this function.
        unsafe { &mut *place.cast_mut() }
    }
}

/// Access by value. Copies lie at cache lines, one after the other: elements of fewer bytes than a
/// line are aligned there. Those of size 0, which may be aligned to any number, are never copied:
/// see `pack`.
pub(crate) struct Value<A>(PhantomData<A>);

// SAFETY: the elements are `Copy`.
unsafe impl<A: Copy> Access for Value<A> {
    type Elem = A;
    type Item = A;

    #[inline]
    fn gather<const ALL: bool>() -> Option<&'static Gather> {
        (size_of::<A>() < LARGE_ELEMENT).then(Gather::of::<A, ALL>)
    }

    #[inline(always)]
    unsafe fn item(place: *const A) -> A {
        // SAFETY: an element or a copy of one: the contract of this function.
        unsafe { *place }
    }
}

/// An array of which a map visits elements, as `A` says: an input, or a second output.
///
/// The elements of its operand may be made items as long as it lives. Items of different threads
/// may exist at the same time.
pub(crate) struct Input<'v, A> {
    operand: Operand<'v>,
    access: PhantomData<A>,
}

// SAFETY: threads only get items, each of which is used by one of them. Their types are `Send`, or
// threads may copy them: the bounds of the constructors.
unsafe impl<A> Sync for Input<'_, A> {}

impl<'v, A: Access> Input<'v, A> {
    #[inline]
    fn new<D: Dimension>(first: *mut A::Elem, array: &'v ArrayRef<A::Elem, D>) -> Self {
        let operand = Operand {
            first: first.cast(),
            shape: array.shape(),
            strides: array.strides(),
            size: size_of::<A::Elem>(),
            align: align_of::<A::Elem>(),
            packs: None,
        };
        Input {
            operand,
            access: PhantomData,
        }
    }

    #[inline]
    fn operand<const ALL: bool>(&self) -> Operand<'_> {
        Operand {
            packs: A::gather::<ALL>(),
            ..self.operand
        }
    }
}

impl<'v, 'a, A: Sync> Input<'v, &'a A> {
    /// Items are references that live as long as the elements of the view.
    #[inline]
    pub(crate) fn refs<D: Dimension>(view: &'v ArrayView<'a, A, D>) -> Self {
        Self::new(view.as_ptr().cast_mut(), view)
    }
}

impl<'v, A: Copy + Sync> Input<'v, Value<A>> {
    /// Items are the elements themselves, which every thread may copy.
    #[inline]
    pub(crate) fn values<D: Dimension>(array: &'v ArrayRef<A, D>) -> Self {
        Self::new(array.as_ptr().cast_mut(), array)
    }
}

impl<'v, A: Send> Input<'v, &'v mut A> {
    /// A second output of a map: items are places of its elements, which differ as those of every
    /// array that can be borrowed mutably. It must have the shape of the first output: if it
    /// replicated to it, a place would be an item twice.
    #[inline]
    pub(super) fn places<D: Dimension>(array: &'v mut ArrayRef<A, D>) -> Self {
        let first = array.as_mut_ptr();
        Self::new(first, array)
    }
}

pub(crate) use sealed::{AndSecond, Inputs};

mod sealed {
    // Public in name only: methods of sealed traits return such inputs, and Rust 1.96 and later
    // refuse there what is less public than the trait.
    #![allow(private_bounds, private_interfaces)]

    use super::*;

    /// The inputs of a map or a reduction: a tuple of them.
    ///
    /// # Safety
    ///
    /// `operands` has the operand of each input. `map` calls `op` once for each position of the
    /// output, with its element and the items of the inputs at that position. It returns how often.
    /// So an `op` that writes the element has initialised all of them when the call returns.
    pub unsafe trait Inputs: Sync {
        /// How many there are.
        const COUNT: usize;

        /// The item of one input, or a tuple of an item of each.
        type Items;

        /// The operands of the inputs: an array.
        type Operands<'a>: AsRef<[Operand<'a>]>
        where
            Self: 'a;

        /// With all kernels that pack elements, or with few: see [`Gather::of`].
        fn operands<const ALL: bool>(&self) -> Self::Operands<'_>;

        /// The items number `index` of rows of the inputs that begin at `places`.
        ///
        /// # Safety
        ///
        /// There are as many places as inputs, at least. Of each input, the row has such an
        /// element, or a copy, as for [`Access::item`].
        unsafe fn items(places: &[*const u8], index: usize) -> Self::Items;

        /// # Errors
        ///
        /// As for [`map_of_4`].
        ///
        /// # Safety
        ///
        /// The output is an array of `X`, which may be sent to other threads. Nothing else reaches
        /// its elements.
        unsafe fn map<X>(
            &self,
            output: Operand<'_>,
            op: impl Fn(&mut X, Self::Items) + Sync,
            to: To,
        ) -> Result<usize>;
    }

    /// Inputs to which the places of a second output can be added.
    ///
    /// # Safety
    ///
    /// `and` adds an input that is these places. `split` returns its item, and the items of the
    /// other inputs.
    pub unsafe trait AndSecond: Inputs {
        /// The inputs and the places.
        type With<'p, E: Send + 'p>: Inputs;

        fn and<'p, E: Send + 'p>(self, places: Input<'p, &'p mut E>) -> Self::With<'p, E>;

        fn split<'p, E: Send + 'p>(
            items: <Self::With<'p, E> as Inputs>::Items,
        ) -> (Self::Items, &'p mut E);
    }
}

/// The inner loops over inputs. `N` is the number of operands that the driver has room for: the
/// output, which is operand 0, and the inputs.
///
/// # Safety
///
/// `rows` calls `op` once for each position of the tile, with the element of operand 0 and the
/// items of the inputs at that position, row by row, and along each row from its first element to
/// its last.
unsafe trait Rows<const N: usize>: Inputs {
    /// Calls `op` for each position of a tile.
    ///
    /// # Safety
    ///
    /// As for [`Kernel::run`], with an output of elements of `X`.
    unsafe fn rows<X>(first: &Places<N>, tile: &Tile<N>, op: &impl Fn(&mut X, Self::Items));
}

/// A closure over the output and the inputs as the kernel of a map.
struct Each<X, I, F> {
    op: F,
    types: PhantomData<fn(X, I)>,
}

// SAFETY: the contract of `Rows::rows`. The positions of a tile are its rows times its columns.
unsafe impl<X, I, F, const N: usize> Kernel<N> for Each<X, I, F>
where
    I: Rows<N>,
    F: Fn(&mut X, I::Items) + Sync,
{
    unsafe fn run(&self, first: &Places<N>, tile: &Tile<N>, wide: bool) -> usize {
        in_vectors((first, tile, self), wide);
        tile.rows.size * tile.columns.size
    }
}

/// [`Rows::rows`], to be compiled for wide vectors. It is only made in `Each::run`.
impl<X, I, F, const N: usize> Vectorize for (&Places<N>, &Tile<N>, &Each<X, I, F>)
where
    I: Rows<N>,
    F: Fn(&mut X, I::Items),
{
    type Output = ();

    #[inline(always)]
    fn run(self) {
        // SAFETY: the contract of `Each::run`.
        unsafe { I::rows(self.0, self.1, &self.2.op) };
    }
}

/// Implements [`AndSecond`] for a tuple.
macro_rules! and_second {
    ($($a:ident $A:ident),+) => {
        // SAFETY: `and` makes the places the last of the tuple, and so are their items.
        unsafe impl<'v, $($A: Access),+> AndSecond for ($(Input<'v, $A>,)+) {
            type With<'p, E: Send + 'p> = ($(Input<'v, $A>,)+ Input<'p, &'p mut E>);

            #[inline]
            fn and<'p, E: Send + 'p>(self, places: Input<'p, &'p mut E>) -> Self::With<'p, E> {
                let ($($a,)+) = self;
                ($($a,)+ places)
            }

            #[inline(always)]
            fn split<'p, E: Send + 'p>(
                items: <Self::With<'p, E> as Inputs>::Items,
            ) -> (Self::Items, &'p mut E) {
                let ($($a,)+ place) = items;
                (($($a),+), place)
            }
        }
    };
}

and_second!(a A);
and_second!(a A, b B);
and_second!(a A, b B, c C);
and_second!(a A, b B, c C, d D);
and_second!(a A, b B, c C, d D, e F);
and_second!(a A, b B, c C, d D, e F, f G);

/// Implements [`Inputs`] and [`Rows`] for a tuple: the room for operands and how many there are;
/// the driver; the inputs with their places in the tuple and among the operands; and the
/// combinations of strides along a row that have loops of their own.
macro_rules! inputs {
    (
        $n:literal $count:literal $map:ident: $($a:ident $A:ident $input:tt $operand:tt),+;
        $([$($stride:literal)+])+
    ) => {
        // SAFETY: `map` calls the driver with the kernel of `rows`, and each input has the operand
        // of an array.
        unsafe impl<$($A: Access),+> Inputs for ($(Input<'_, $A>,)+) {
            const COUNT: usize = $count - 1;

            type Items = ($($A::Item),+);

            type Operands<'a> = [Operand<'a>; $count - 1] where Self: 'a;

            #[inline]
            fn operands<const ALL: bool>(&self) -> Self::Operands<'_> {
                [$(self.$input.operand::<ALL>()),+]
            }

            #[cfg_attr(not(debug_assertions), inline(always))]
            unsafe fn items(places: &[*const u8], index: usize) -> Self::Items {
                $(let $a = places[$input].cast::<$A::Elem>().wrapping_add(index);)+
                // SAFETY: elements of the inputs: the contract of this function.
                ($(unsafe { $A::item($a) }),+)
            }

            #[inline]
            unsafe fn map<X>(
                &self,
                output: Operand<'_>,
                op: impl Fn(&mut X, Self::Items) + Sync,
                to: To,
            ) -> Result<usize> {
                let types = PhantomData::<fn(X, Self)>;
                // SAFETY: the contract of this function, and of each input.
                unsafe { $map(output, &self.operands::<true>(), &Each { op, types }, to) }
            }
        }

        // SAFETY: `rows` counts the rows and the columns of the tile up from 0.
        unsafe impl<$($A: Access),+> Rows<$n> for ($(Input<'_, $A>,)+) {
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
                /// As for [`Rows::rows`].
                #[inline(always)]
                unsafe fn contiguous<X, $($A: Access),+>(
                    _: PhantomData<($($A,)+)>,
                    first: &Places<$n>,
                    tile: &Tile<$n>,
                    strides: [isize; $count],
                    op: &impl Fn(&mut X, ($($A::Item),+)),
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
                unsafe fn each<X, $($A: Access),+>(
                    x: &mut [X],
                    ($($a,)+): ($(*const $A::Elem,)+),
                    strides: [isize; $count],
                    op: &impl Fn(&mut X, ($($A::Item),+)),
                ) {
                    for (i, x) in x.iter_mut().enumerate() {
                        $(
                            let step = (i as isize).wrapping_mul(strides[$operand]);
                            let $a = $a.wrapping_offset(step);
                        )+
                        // SAFETY: elements of the inputs, as `i` is below the length of `x`: the
                        // contract.
                        op(x, ($(unsafe { $A::item($a) }),+));
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
                        op(unsafe { &mut *x }, ($(unsafe { $A::item($a) }),+));
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
