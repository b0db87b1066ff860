//! Reductions that are another one with a different result, at its speed.

use super::count::Count;
use super::reduction::{
    ArgMax, ArgMin, LastArgMax, LastArgMin, Max, Min, NanMax, NanMin, Reduction,
};
use crate::engine::kernel::{Kernel, LANES};
use crate::engine::reduction::{Elements, Lanes};
use num_traits::AsPrimitive;
use std::marker::PhantomData;

/// A reduction whose result a closure changes.
///
/// It takes the time of the reduction: it walks and combines as that one does. Its parts are those
/// of the reduction too.
///
/// ```
/// use ndarray::array;
/// use ndarray_broadcast::prelude::*;
///
/// let x = array![[3., 4.], [0., 1.]];
/// let root = Then::new(Sum, f64::sqrt);
/// let rows = BroadcastPlan::over_axes((2, 2), 1)?;
/// let norms = zip(&x).reduce(&rows, root, |x| x * x)?;
/// assert_eq!(norms, array![[5.], [1.]]);
/// let names = ["first", "second"];
/// let largest = Then::new(ArgMax, |index: usize| names[index]);
/// assert_eq!(rows.reduce(&x, largest)?, array![["second"], ["second"]]);
/// # Ok::<(), BroadcastError>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Then<R, F> {
    reduction: R,
    f: F,
}

impl<R, F> Then<R, F> {
    /// `f` of the results of `reduction`. Example: [`Then`].
    #[must_use]
    pub fn new(reduction: R, f: F) -> Self {
        Then { reduction, f }
    }
}

/// A reduction with a value for no terms. Made by [`Max::or`].
///
/// Example: [`Max`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Or<R, O> {
    reduction: R,
    of_none: O,
}

/// A reduction whose result is converted to the type `O`, as by `as`. Made by [`ArgMax::in_type`].
///
/// Example: [`ArgMax`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct InType<R, O> {
    reduction: R,
    out: PhantomData<fn() -> O>,
}

/// All of the reduction inside but what makes its result.
macro_rules! forward {
    () => {
        const COMMUTATIVE: bool = R::COMMUTATIVE;
        const QUICK: bool = R::QUICK;
        const SLOW: bool = R::SLOW;
        const NAME: &'static str = R::NAME;
        const FOLDS_LANES: bool = R::FOLDS_LANES;
        const HAS_UNORDERED: bool = R::HAS_UNORDERED;
        const MAY_BE_DECIDED: bool = R::MAY_BE_DECIDED;
        const NUMBERED: bool = R::NUMBERED;

        type Acc = R::Acc;

        #[inline(always)]
        fn lift(&self, value: T) -> R::Acc {
            self.reduction.lift(value)
        }

        #[inline(always)]
        fn at_index(&self, acc: R::Acc, index: usize) -> R::Acc {
            self.reduction.at_index(acc, index)
        }

        #[inline(always)]
        fn combine(&self, a: R::Acc, b: R::Acc) -> R::Acc {
            self.reduction.combine(a, b)
        }

        #[inline(always)]
        fn combine_ordered(&self, a: R::Acc, b: R::Acc) -> R::Acc {
            self.reduction.combine_ordered(a, b)
        }

        #[inline(always)]
        fn is_unordered(&self, acc: R::Acc) -> bool {
            self.reduction.is_unordered(acc)
        }

        #[inline(always)]
        fn fold_lanes(
            &self,
            lanes: Lanes,
            term: impl Fn(usize, usize) -> R::Acc,
        ) -> [R::Acc; LANES] {
            self.reduction.fold_lanes(lanes, term)
        }

        fn is_exact(&self) -> bool {
            self.reduction.is_exact()
        }

        fn is_decided(&self, acc: R::Acc) -> bool {
            self.reduction.is_decided(acc)
        }

        fn least_terms(&self) -> usize {
            self.reduction.least_terms()
        }

        #[inline(always)]
        fn kernel<S>(elements: Elements<'_, T, S>) -> impl Kernel<Acc = S::Acc>
        where
            T: Copy + Sync,
            S: Reduction<T, Acc = R::Acc>,
        {
            R::kernel(elements)
        }
    };
}

impl<T, R, F, O> Reduction<T> for Then<R, F>
where
    R: Reduction<T>,
    F: Fn(R::Out) -> O + Sync,
    O: Copy + Send + Sync,
{
    type Out = O;

    forward!();

    #[inline(always)]
    fn finish(&self, acc: R::Acc, count: usize) -> O {
        (self.f)(self.reduction.finish(acc, count))
    }

    fn of_none(&self) -> Option<O> {
        self.reduction.of_none().map(&self.f)
    }
}

impl<T, R: Reduction<T>> Reduction<T> for Or<R, R::Out> {
    type Out = R::Out;

    forward!();

    #[inline(always)]
    fn finish(&self, acc: R::Acc, count: usize) -> R::Out {
        self.reduction.finish(acc, count)
    }

    fn of_none(&self) -> Option<R::Out> {
        Some(self.of_none)
    }
}

impl<T, R, O> Reduction<T> for InType<R, O>
where
    R: Reduction<T, Out: AsPrimitive<O>>,
    O: Copy + Send + Sync + 'static,
{
    type Out = O;

    forward!();

    #[inline(always)]
    fn finish(&self, acc: R::Acc, count: usize) -> O {
        self.reduction.finish(acc, count).as_()
    }

    fn of_none(&self) -> Option<O> {
        self.reduction.of_none().map(AsPrimitive::as_)
    }
}

macro_rules! with_value_of_none {
    ($($name:ident)*) => {$(
        impl $name {
            /// With `value` as the result of no terms, instead of an error. Example: [`Max`].
            ///
            /// ONNX gives the least or the largest value of the type. Source: the argument
            /// `initial` of NumPy `max`; ONNX `ReduceMax` of an empty set.
            #[must_use]
            pub fn or<O>(self, value: O) -> Or<Self, O> {
                Or { reduction: self, of_none: value }
            }
        }
    )*};
}

with_value_of_none!(Max Min NanMax NanMin ArgMax ArgMin LastArgMax LastArgMin);

macro_rules! in_another_type {
    ($($name:ident)*) => {$(
        impl $name {
            /// In the type `O`, as by `as`. ONNX's positions are `i64`. Example: [`ArgMax`].
            #[must_use]
            pub fn in_type<O>(self) -> InType<Self, O> {
                InType { reduction: self, out: PhantomData }
            }
        }
    )*};
}

in_another_type!(ArgMax ArgMin LastArgMax LastArgMin Count);
