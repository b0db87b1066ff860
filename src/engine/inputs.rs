//! The inputs of a map, tuples of arrays, and its inner loops: all that is generic over elements
//! and closures.
//!
//! A row of the output is walked together with a row of each input. An input's row is contiguous,
//! one repeated element, or strided. Loops are compiled for each combination that the compiler can
//! vectorise, and once for all others. Inputs that are read by value are first packed where that is
//! faster: see `maps`.

// A macro makes `(a)` of one input, which is no tuple.
#![allow(unused_parens)]

use super::gather::Gather;
use super::machine::{Vectorize, in_vectors};
use super::maps::{Kernel, Places, To, map_of_4, map_of_8};
use super::nest::Tile;
use super::pack::Operand;
use super::tuning::LARGE_ELEMENT;
use crate::error::Result;
use ndarray::{ArrayRef, ArrayView, Dimension};
use smallvec::SmallVec;
use std::marker::PhantomData;
use std::{array, slice};

/// What an input gives a closure of each element.
///
/// # Safety
///
/// If there is a [`gather`](Self::gather), it is for elements of this size, and elements may be
/// copied. Copies that lie one after the other are aligned if the first begins at a cache line.
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
/// The elements of its operand may be made items as long as the array is borrowed, for `'v`. Items
/// of different threads may exist at the same time.
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
        Input {
            operand: Operand::of(first, array),
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
    /// array that can be borrowed mutably.
    ///
    /// # Safety
    ///
    /// It is an input of one map, whose output has the same shape: if it replicated to another one,
    /// or were visited twice, a place would be an item twice.
    #[inline]
    pub(super) unsafe fn places<D: Dimension>(array: &'v mut ArrayRef<A, D>) -> Self {
        let first = array.as_mut_ptr();
        Self::new(first, array)
    }
}

pub(crate) use sealed::Inputs;

/// The most inputs of a map: six arrays, and the places of a second output.
const MOST: usize = 7;

mod sealed {
    // Public in name only: methods of sealed traits return such inputs, and Rust 1.96 and later
    // refuse there what is less public than the trait.
    #![allow(private_bounds, private_interfaces)]

    use super::*;

    /// The inputs of a map or a reduction: a tuple of them.
    ///
    /// # Safety
    ///
    /// `operands` has the operand of each of `COUNT` inputs, at most `MOST`, whose elements have
    /// these sizes. `items` has the item of each of them.
    pub unsafe trait Inputs: Sync {
        /// How many there are.
        const COUNT: usize;

        /// The bytes of an element of each of them.
        const SIZES: [usize; MOST];

        /// The item of one input, or a tuple of an item of each.
        type Items;

        /// The operands of the inputs: an array.
        type Operands<'a>: AsRef<[Operand<'a>]>
        where
            Self: 'a;

        /// With all kernels that pack elements, or with few: see [`Gather::of`].
        fn operands<const ALL: bool>(&self) -> Self::Operands<'_>;

        /// The items of an element of each input. `at` is given the number of the input, and
        /// returns where a row of it begins, and the number of the element in the row.
        ///
        /// # Safety
        ///
        /// They are elements of the inputs, or copies, as for [`Access::item`].
        unsafe fn items(at: impl Fn(usize) -> (*const u8, usize)) -> Self::Items;
    }
}

/// Inputs, and the places of a second output, whose item comes after those of the inputs.
pub(super) struct AndPlaces<'p, I, E>(pub(super) I, pub(super) Input<'p, &'p mut E>);

// SAFETY: the places are one more input, after those of `I`. These are fewer than `MOST`, or
// `SIZES` is not compiled.
unsafe impl<'p, I: Inputs, E: Send> Inputs for AndPlaces<'p, I, E> {
    const COUNT: usize = I::COUNT + 1;

    const SIZES: [usize; MOST] = {
        let mut sizes = I::SIZES;
        sizes[I::COUNT] = size_of::<E>();
        sizes
    };

    type Items = (I::Items, &'p mut E);

    type Operands<'a>
        = SmallVec<[Operand<'a>; MOST]>
    where
        Self: 'a;

    #[inline]
    fn operands<const ALL: bool>(&self) -> Self::Operands<'_> {
        let mut operands = SmallVec::from_slice(self.0.operands::<ALL>().as_ref());
        operands.push(self.1.operand::<ALL>());
        operands
    }

    #[inline(always)]
    unsafe fn items(at: impl Fn(usize) -> (*const u8, usize)) -> Self::Items {
        // SAFETY: the contract of this function.
        let items = unsafe { I::items(&at) };
        // SAFETY: as above.
        (items, unsafe { <&mut E>::item(element(at(I::COUNT))) })
    }
}

/// An element of a row.
#[inline(always)]
fn element<A>((row, index): (*const u8, usize)) -> *const A {
    row.cast::<A>().wrapping_add(index)
}

/// Calls `op` with each element of `x` and the items of the inputs at its position. Returns how
/// often.
///
/// # Errors
///
/// As for [`map_of_4`]; `op` has not been called then.
#[inline]
pub(super) fn map<X: Send, D: Dimension, I: Inputs>(
    x: &mut ArrayRef<X, D>,
    inputs: &I,
    op: impl Fn(&mut X, I::Items) + Sync,
    to: To,
) -> Result<usize> {
    let output = Operand::of(x.as_mut_ptr(), x);
    let operands = inputs.operands::<true>();
    let types = PhantomData::<fn(X, I)>;
    let kernel = Each { op, types };
    if const { I::COUNT < 4 } {
        // SAFETY: the output is borrowed mutably, and its elements may be sent to other threads.
        // The kernel is of the types of these operands.
        return unsafe { map_of_4(output, operands.as_ref(), &kernel, to) };
    }
    // SAFETY: as above.
    unsafe { map_of_8(output, operands.as_ref(), &kernel, to) }
}

/// A closure over the output and the inputs as the kernel of a map.
struct Each<X, I, F> {
    op: F,
    types: PhantomData<fn(X, I)>,
}

// SAFETY: the loops of `Rows` call the closure once for each position of the tile, row by row. The
// positions of a tile are its rows times its columns.
unsafe impl<X, I: Inputs, F: Fn(&mut X, I::Items) + Sync, const N: usize> Kernel<N>
    for Each<X, I, F>
{
    unsafe fn run(&self, &first: &Places<N>, &tile: &Tile<N>, wide: bool) -> usize {
        in_vectors(
            Rows {
                first,
                tile,
                each: self,
            },
            wide,
        );
        tile.rows.size * tile.columns.size
    }
}

/// The rows of a tile, for whose positions the closure is called. It is only made in `Each::run`,
/// whose contract holds.
struct Rows<'a, X, I, F, const N: usize> {
    first: Places<N>,
    tile: Tile<N>,
    each: &'a Each<X, I, F>,
}

impl<X, I: Inputs, F: Fn(&mut X, I::Items), const N: usize> Vectorize for Rows<'_, X, I, F, N> {
    #[inline(always)]
    fn run(self) {
        let along = self.tile.columns.strides;
        let mut plain = along[0] == size_of::<X>() as isize;
        let mut moving = 0;
        for (input, size) in I::SIZES[..I::COUNT].iter().enumerate() {
            let moves = along[1 + input] == *size as isize;
            plain &= moves || along[1 + input] == 0;
            moving |= usize::from(moves) << input;
        }
        // Large elements are read by one loop: in a debug build each further loop needs stack for
        // its own copies of the elements.
        if const { has_large(&I::SIZES) } || !plain {
            return self.strided();
        }
        match moving {
            0 if const { I::COUNT == 1 } => self.contiguous::<0>(),
            1 if const { I::COUNT <= 3 } => self.contiguous::<1>(),
            2 if const { I::COUNT == 2 || I::COUNT == 3 } => self.contiguous::<2>(),
            3 if const { I::COUNT == 2 || I::COUNT == 3 } => self.contiguous::<3>(),
            4 if const { I::COUNT == 3 } => self.contiguous::<4>(),
            5 if const { I::COUNT == 3 } => self.contiguous::<5>(),
            6 if const { I::COUNT == 3 } => self.contiguous::<6>(),
            all if all == (1 << I::COUNT) - 1 => self.contiguous::<{ usize::MAX }>(),
            _ => self.strided(),
        }
    }
}

impl<X, I: Inputs, F: Fn(&mut X, I::Items), const N: usize> Rows<'_, X, I, F, N> {
    /// Rows in which the elements of the output are neighbours, and those of each input: see
    /// [`row`].
    #[inline(always)]
    fn contiguous<const MOVING: usize>(self) {
        let mut places = moved(self.first, self.tile.offsets);
        for _ in 0..self.tile.rows.size {
            let (to, len) = (places[0].cast::<X>(), self.tile.columns.size);
            // SAFETY: a row of the tile, which nothing else reaches: the contract of `Each::run`.
            let x = unsafe { slice::from_raw_parts_mut(to, len) };
            // SAFETY: the offsets of the inputs are elements: as above.
            unsafe { row::<X, I, N, MOVING>(x, places, &self.each.op) };
            places = moved(places, self.tile.rows.strides);
        }
    }

    /// Any rows.
    #[inline(always)]
    fn strided(self) {
        for row in 0..self.tile.rows.size {
            let mut places = moved(self.first, self.tile.offsets_at(row, 0));
            for _ in 0..self.tile.columns.size {
                // SAFETY: an element of the output, which nothing else reaches: the contract of
                // `Each::run`.
                let x = unsafe { &mut *places[0].cast::<X>() };
                // SAFETY: the elements of the inputs at this position: as above.
                (self.each.op)(x, unsafe {
                    I::items(|input| (places[1 + input].cast_const(), 0))
                });
                places = moved(places, self.tile.columns.strides);
            }
        }
    }
}

/// Calls `op` for each element of a row. As a parameter, `x` tells the compiler that nothing else
/// reaches its elements, so that it vectorises the loop without a check.
///
/// # Safety
///
/// Each input has as many neighbours as `x` from its place on; if its bit of `MOVING` is 0, it has
/// one element there, which is repeated. Those of a second output are in no other row.
#[inline(always)]
unsafe fn row<X, I: Inputs, const N: usize, const MOVING: usize>(
    x: &mut [X],
    places: Places<N>,
    op: &impl Fn(&mut X, I::Items),
) {
    for (i, x) in x.iter_mut().enumerate() {
        let at = |input: usize| (places[1 + input].cast_const(), i * (MOVING >> input & 1));
        // SAFETY: elements of the inputs, as `i` is below the length of `x`: the contract.
        op(x, unsafe { I::items(at) });
    }
}

#[inline(always)]
fn moved<const N: usize>(places: Places<N>, offsets: [isize; N]) -> Places<N> {
    array::from_fn(|operand| places[operand].wrapping_offset(offsets[operand]))
}

/// Whether some elements are large.
const fn has_large(sizes: &[usize]) -> bool {
    match sizes {
        [size, others @ ..] => *size >= LARGE_ELEMENT || has_large(others),
        [] => false,
    }
}

/// Implements [`Inputs`] for a tuple: the inputs with their numbers.
macro_rules! inputs {
    ($count:literal: $($A:ident $input:tt),+) => {
        // SAFETY: each input has the operand of an array of its elements.
        unsafe impl<$($A: Access),+> Inputs for ($(Input<'_, $A>,)+) {
            const COUNT: usize = $count;

            const SIZES: [usize; MOST] = {
                let mut sizes = [0; MOST];
                $(sizes[$input] = size_of::<$A::Elem>();)+
                sizes
            };

            type Items = ($($A::Item),+);

            type Operands<'a> = [Operand<'a>; $count] where Self: 'a;

            #[inline]
            fn operands<const ALL: bool>(&self) -> Self::Operands<'_> {
                [$(self.$input.operand::<ALL>()),+]
            }

            #[cfg_attr(not(debug_assertions), inline(always))]
            unsafe fn items(at: impl Fn(usize) -> (*const u8, usize)) -> Self::Items {
                // SAFETY: elements of the inputs: the contract of this function.
                ($(unsafe { $A::item(element(at($input))) }),+)
            }
        }
    };
}

inputs!(1: A 0);
inputs!(2: A 0, B 1);
inputs!(3: A 0, B 1, C 2);
inputs!(4: A 0, B 1, C 2, D 3);
inputs!(5: A 0, B 1, C 2, D 3, E 4);
inputs!(6: A 0, B 1, C 2, D 3, E 4, F 5);
