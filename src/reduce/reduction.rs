//! The reductions that are ready made.

use super::order::{
    chosen, chosen_ordered, is_nan, is_of_integers, is_settled, is_unordered, settled,
};
use crate::engine::fold::Map;
use crate::engine::kernel::Kernel;
use crate::engine::positions::Positions;
use crate::engine::reduction::Elements;
pub use crate::engine::reduction::Reduction;

use super::convert::convert;
use super::summand::{Averaged, Summand};
use num_traits::float::FloatCore;
use num_traits::{AsPrimitive, One, Zero};
use std::convert::identity;
use std::marker::PhantomData;

/// The sum, of the terms' type.
///
/// [`Summand`] names the type in which it is accumulated: `f32` for `f16` and `bf16`, else the
/// terms' own. Integers overflow as with `+`: a panic where overflow checks are on, else they wrap.
/// [`Sum::in_type`](Self::in_type) has room for more.
///
/// ```
/// use ndarray::array;
/// use ndarray_broadcast::prelude::*;
///
/// let bytes = array![[200_u8, 100], [3, 4]];
/// assert_eq!(
///     bytes.reduce_to_shape((2, 1), Sum.in_type::<i64, i64>())?,
///     array![[300], [7]]
/// );
/// assert_eq!(array![1., 2., 3.].reduce_to_shape((), Sum)?.into_scalar(), 6.);
/// # Ok::<(), BroadcastError>(())
/// ```
///
/// Source: NumPy `sum`; ONNX `ReduceSum`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Sum;

/// A sum that is kept in the type `A` and converted to `O` once, at the end. Made by
/// [`Sum::in_type`].
///
/// ```
/// use ndarray::Array1;
/// use ndarray_broadcast::prelude::*;
///
/// let terms = Array1::from_elem(1 << 20, 1_f32 / 3.);
/// let sum = terms.reduce_to_shape((), Sum.in_type::<f64, f32>())?.into_scalar();
/// assert_eq!(sum, ((1 << 20) as f64 * f64::from(1_f32 / 3.)) as f32);
/// # Ok::<(), BroadcastError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SumIn<A, O>(PhantomData<fn() -> (A, O)>);

impl Sum {
    /// The sum, kept in the type `A` and converted to `O` once, at the end.
    ///
    /// Terms are converted to `A`, and the sum to `O`, as by `as`: to the nearest float, integers
    /// to integers modulo 2^bits, floats to integers towards zero and within the range of the type,
    /// NaN to 0. `f32` for `f16` and `bf16`, `f64` for `f32`, `i64` for `u8` are exact.
    ///
    /// `f16` and `bf16` are rounded by the crate `half`. It gives the nearest of an `f32`. Of an
    /// `f64` or an integer it may give a neighbour of the nearest. From `f64` to `f16`, the result
    /// may also depend on the processor and on the features of `half`.
    ///
    /// The types of the crate `half` need its feature `num-traits`, which the feature `half` of
    /// this crate turns on. Without either, a call with them does not compile. Example: [`Sum`].
    #[must_use]
    pub fn in_type<A, O>(self) -> SumIn<A, O> {
        SumIn(PhantomData)
    }

    /// The sum of elements of any type, accumulated in that type. For types that are no
    /// [`Summand`], and for halves whose additions are to be rounded one by one.
    ///
    /// ```
    /// use ndarray::{Array1, array};
    /// use ndarray_broadcast::prelude::*;
    /// use num_traits::Zero;
    ///
    /// fn total<T>(terms: &Array1<T>) -> Result<T, BroadcastError>
    /// where
    ///     T: Copy + Zero + Send + Sync,
    /// {
    ///     let sum = terms.reduce_to_shape((), Sum.in_own_type())?;
    ///     Ok(sum.into_scalar())
    /// }
    /// assert_eq!(total(&array![1, 2, 4])?, 7);
    /// # Ok::<(), BroadcastError>(())
    /// ```
    #[must_use]
    pub fn in_own_type(self) -> SumInOwnType {
        SumInOwnType
    }
}

/// The sum of elements of any type, accumulated in that type. Made by [`Sum::in_own_type`], which
/// has an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SumInOwnType;

/// The mean: the sum, divided by the number of terms.
///
/// The result has the terms' type. [`Averaged`] says in which type they are summed, and what the
/// mean of none is.
///
/// | terms | reduction | of no terms |
/// |---|---|---|
/// | floats, complex numbers; halves in `f32` | `Mean` | NaN |
/// | integers, as an integer: exact, towards zero | `Mean` | an error |
/// | integers, as a float | `Mean.in_type::<f64, f64>()` | NaN |
///
/// ```
/// use ndarray::array;
/// use ndarray_broadcast::prelude::*;
///
/// let pixels = array![[10_u8, 20], [30, 45]];
/// let means = pixels.reduce_to_shape(2, Mean.in_type::<f32, f32>())?;
/// assert_eq!(means, array![20., 32.5]);
/// assert_eq!(array![1., 2., 6.].reduce_to_shape((), Mean)?.into_scalar(), 3.);
///
/// let large = array![u64::MAX, u64::MAX - 3];
/// let mean = large.reduce_to_shape((), Mean)?.into_scalar();
/// assert_eq!(mean, u64::MAX - 2);
/// # Ok::<(), BroadcastError>(())
/// ```
///
/// Source: NumPy `mean`; ONNX `ReduceMean`, whose result for integers is an integer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Mean;

/// A mean that is kept in the type `A`, divided, and then converted to `O`. Made by
/// [`Mean::in_type`].
///
/// Example: [`Mean`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct MeanIn<A, O>(PhantomData<fn() -> (A, O)>);

impl Mean {
    /// The mean, kept and divided in the type `A` and then converted to `O`.
    ///
    /// Conversions are those of [`Sum::in_type`]. Example: [`Mean`].
    #[must_use]
    pub fn in_type<A, O>(self) -> MeanIn<A, O> {
        MeanIn(PhantomData)
    }
}

/// The product, of the terms' type.
///
/// It is accumulated as a [`Sum`] is: halves in `f32`. As the terms of several lanes are multiplied
/// before the lanes are, the product of finite terms can overflow where another order does not. A
/// 0, 1e200 at the positions 1 and 9, and ones give 0 * infinity, NaN. In the order of the terms
/// they give 0: `Fold::new(1., |a, b| a * b)` takes up to 256 of them in that order.
///
/// ```
/// use ndarray::array;
/// use ndarray_broadcast::prelude::*;
///
/// assert_eq!(array![[1, 2], [3, 4]].reduce_to_shape(2, Product)?, array![3, 8]);
/// # Ok::<(), BroadcastError>(())
/// ```
///
/// Source: NumPy `prod`; ONNX `ReduceProd`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Product;

/// The largest term; NaN if a term is NaN.
///
/// Terms are of any type that is `Copy + PartialOrd + Send + Sync + 'static`. So are those of
/// [`Min`], [`NanMax`], [`NanMin`] and of the positions, as [`ArgMax`].
///
/// ```
/// use ndarray::array;
/// use ndarray_broadcast::prelude::*;
///
/// let a = array![[1., f64::NAN], [3., 4.]];
/// let max = a.reduce_to_shape((2, 1), Max)?;
/// assert!(max[[0, 0]].is_nan() && max[[1, 0]] == 4.);
/// assert_eq!(a.reduce_to_shape((2, 1), NanMax)?, array![[1.], [4.]]);
///
/// let none = ndarray::Array2::<f64>::zeros((0, 3));
/// let error = none.reduce_to_shape(3, Max).unwrap_err();
/// assert!(matches!(error.kind(), ErrorKind::TooFewTerms { .. }));
/// let least = none.reduce_to_shape(3, Max.or(f64::NEG_INFINITY))?;
/// assert_eq!(least, ndarray::arr1(&[f64::NEG_INFINITY; 3]));
/// # Ok::<(), BroadcastError>(())
/// ```
///
/// Of several `f32` or `f64`, a result that is zero is 0.0, not -0.0. Of several NaN, any may be
/// the result. Of terms of another type that are equal and differ in their bits, any may be the
/// result, but always the same one. Source: NumPy `max`; ONNX `ReduceMax`, which says nothing of
/// NaN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Max;

/// The smallest term; NaN if a term is NaN.
///
/// Otherwise as [`Max`], which has an example. Source: NumPy `min`; ONNX `ReduceMin`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Min;

/// The largest term that is not NaN; NaN if all terms are NaN.
///
/// Example: [`Max`]. Source: NumPy `nanmax`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct NanMax;

/// The smallest term that is not NaN; NaN if all terms are NaN.
///
/// Example: [`Max`]. Source: NumPy `nanmin`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct NanMin;

/// The position of the first NaN, or else of the first largest term.
///
/// Terms are counted from 0, in row-major order over the axes that are reduced: over axes of sizes
/// `[m, n]`, the indices of position `p` are `p / n` and `p % n`. If some terms cannot be compared
/// and are not NaN, there may be no largest term. Then the position may differ between an array, a
/// map and the merged parts of an array.
///
/// ```
/// use ndarray::array;
/// use ndarray_broadcast::prelude::*;
///
/// let a = array![[3., 1., 3.], [f64::NAN, 7., f64::NAN]];
/// assert_eq!(a.reduce_to_shape((2, 1), ArgMax)?, array![[0], [0]]);
/// assert_eq!(a.reduce_to_shape((2, 1), ArgMin)?, array![[1], [0]]);
/// assert_eq!(
///     array![[1, 2], [4, 3]].reduce_to_shape((), ArgMax)?.into_scalar(),
///     2
/// );
/// let positions = a.reduce_to_shape((2, 1), ArgMax.in_type::<i64>())?;
/// assert_eq!(positions, array![[0_i64], [0]]);
/// # Ok::<(), BroadcastError>(())
/// ```
///
/// [`LastArgMax`] takes the last of equal terms. Source: NumPy `argmax`; ONNX `ArgMax`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ArgMax;

/// The position of the first NaN, or else of the first smallest term.
///
/// Otherwise as [`ArgMax`], which has an example. Source: NumPy `argmin`; ONNX `ArgMin`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ArgMin;

/// The position of the last NaN, or else of the last largest term.
///
/// Otherwise as [`ArgMax`].
///
/// ```
/// use ndarray::array;
/// use ndarray_broadcast::prelude::*;
///
/// let a = array![[1, 5], [2, 10], [3, 3]];
/// assert_eq!(a.reduce_to_shape((3, 1), LastArgMax)?, array![[1], [1], [1]]);
/// assert_eq!(a.reduce_to_shape((3, 1), ArgMax)?, array![[1], [1], [0]]);
/// # Ok::<(), BroadcastError>(())
/// ```
///
/// Source: ONNX `ArgMax` with `select_last_index`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[doc(alias = "select_last_index")]
pub struct LastArgMax;

/// The position of the last NaN, or else of the last smallest term.
///
/// Otherwise as [`LastArgMax`], which has an example. Source: ONNX `ArgMin` with
/// `select_last_index`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct LastArgMin;

/// Whether all terms are `true`; `true` if there are none.
///
/// ```
/// use ndarray::array;
/// use ndarray_broadcast::prelude::*;
///
/// let plan = BroadcastPlan::numpy((2, 1), (2, 3))?;
/// let (a, limits) = (array![[1, 2, 3], [4, 5, 6]], array![2, 9, 9]);
/// let below = zip((&a, &limits)).reduce(&plan, All, |(a, limit)| a < limit)?;
/// assert_eq!(below, array![[true], [false]]);
/// assert_eq!(
///     zip(&a).reduce(&plan, Any, |a| a == 9)?,
///     array![[false], [false]]
/// );
/// # Ok::<(), BroadcastError>(())
/// ```
///
/// The other terms may not be read once all results are decided: of many terms, the first 65536 of
/// each result are looked at, then ever more. Source: NumPy `all`; `Iterator::all`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct All;

/// Whether a term is `true`; `false` if there are none.
///
/// Reads as few terms as [`All`], which has an example. Source: NumPy `any`; `Iterator::any`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Any;

/// An associative operation on values of one type, and its identity.
///
/// The operation need not be commutative: the terms stay in order. The identity is the result of no
/// terms, and nothing else. A fold has no name: the bytes of a
/// [`Accumulation`](crate::distributed::Accumulation) of one fold are not refused by another.
///
/// ```
/// use ndarray::array;
/// use ndarray_broadcast::prelude::*;
///
/// let flags = array![[0b001_u8, 0b100], [0b011, 0b000]];
/// let or = Fold::new(0, |a, b| a | b);
/// assert_eq!(flags.reduce_to_shape(2, or)?, array![0b011, 0b100]);
/// # Ok::<(), BroadcastError>(())
/// ```
///
/// Source: NumPy `ufunc.reduce`; `reduce` of rayon's `ParallelIterator`.
#[derive(Debug, Clone, Copy)]
pub struct Fold<A, F> {
    identity: A,
    combine: F,
}

impl<A, F: Fn(A, A) -> A> Fold<A, F> {
    /// A fold by `combine`. Example: [`Fold`].
    #[must_use]
    pub fn new(identity: A, combine: F) -> Self {
        Fold { identity, combine }
    }
}

/// The items of a [`Reduction`] that is commutative, and quick unless it is slow.
macro_rules! items {
    (
        $name:literal: $T:ty as $Acc:ty => $Out:ty,
        lift: |$value:pat_param| $lift:expr,
        combine: |$a:pat_param, $b:pat_param| $combine:expr,
        finish: |$self:ident, $acc:pat_param, $count:pat_param| $finish:expr,
        none: $none:expr $(,)?
    ) => {
        const COMMUTATIVE: bool = true;
        const QUICK: bool = !<Self as Reduction<$T>>::SLOW;
        const NAME: &'static str = $name;

        type Acc = $Acc;
        type Out = $Out;

        #[inline(always)]
        fn lift(&self, $value: $T) -> $Acc {
            $lift
        }

        #[inline(always)]
        fn combine(&self, $a: $Acc, $b: $Acc) -> $Acc {
            $combine
        }

        #[inline(always)]
        fn finish(&$self, $acc: $Acc, $count: usize) -> $Out {
            $finish
        }

        fn of_none(&self) -> Option<$Out> {
            $none
        }
    };
}

pub(super) use items;

impl<T: Summand> Reduction<T> for Sum {
    items! {
        "sum": T as T::Acc => T,
        lift: |value| value.to_acc(),
        combine: |a, b| a + b,
        finish: |self, sum, _| T::from_acc(sum),
        none: Some(T::from_acc(T::Acc::zero())),
    }

    fn is_exact(&self) -> bool {
        T::IS_EXACT
    }
}

impl<T: Copy + Zero + Send + Sync> Reduction<T> for SumInOwnType {
    items! {
        "sum": T as T => T,
        lift: |value| value,
        combine: |a, b| a + b,
        finish: |self, sum, _| sum,
        none: Some(T::zero()),
    }
}

impl<T, A, O> Reduction<T> for SumIn<A, O>
where
    T: AsPrimitive<A>,
    A: AsPrimitive<O> + Zero + Send + Sync,
    O: Copy + Send + Sync + 'static,
{
    items! {
        "sum": T as A => O,
        lift: |value| convert(value),
        combine: |a, b| a + b,
        finish: |self, sum, _| sum.as_(),
        none: Some(A::zero().as_()),
    }

    fn is_exact(&self) -> bool {
        is_of_integers::<A>()
    }
}

impl<T: Averaged> Reduction<T> for Mean {
    items! {
        "mean": T as T::Acc => T,
        lift: |value| value.to_acc(),
        combine: |a, b| a + b,
        finish: |self, sum, count| T::mean(sum, count),
        none: T::of_none(),
    }

    fn is_exact(&self) -> bool {
        T::IS_EXACT
    }
}

impl<T, A, O> Reduction<T> for MeanIn<A, O>
where
    T: AsPrimitive<A>,
    A: AsPrimitive<O> + FloatCore + Send + Sync,
    O: Copy + Send + Sync + 'static,
    usize: AsPrimitive<A>,
{
    items! {
        "mean": T as A => O,
        lift: |value| convert(value),
        combine: |a, b| a + b,
        finish: |self, sum, count| mean(sum, count).as_(),
        none: Some(A::nan().as_()),
    }
}

/// A sum divided by the number of its terms. If their number is no finite `A`, as from 65520 on in
/// `f16`, both are halved first.
#[inline(always)]
fn mean<A: FloatCore + 'static>(mut sum: A, mut count: usize) -> A
where
    usize: AsPrimitive<A>,
{
    while count.as_().is_infinite() {
        (sum, count) = (sum / (A::one() + A::one()), count / 2);
    }
    sum / count.as_()
}

impl<T: Summand<Acc: One>> Reduction<T> for Product {
    items! {
        "product": T as T::Acc => T,
        lift: |value| value.to_acc(),
        combine: |a, b| a * b,
        finish: |self, product, _| T::from_acc(product),
        none: Some(T::from_acc(T::Acc::one())),
    }

    fn is_exact(&self) -> bool {
        T::IS_EXACT
    }
}

/// Implements [`Reduction`] for the choice of one term.
macro_rules! choice {
    ($($name:ident: $text:literal, larger: $larger:literal, nan wins: $nan_wins:literal;)*) => {$(
        impl<T: Copy + PartialOrd + Send + Sync + 'static> Reduction<T> for $name {
            items! {
                $text: T as T => T,
                lift: |value| value,
                combine: |a, b| chosen(a, b, $larger, $nan_wins),
                finish: |self, term, count| settled(term, count),
                none: None,
            }

            const HAS_UNORDERED: bool = true;

            fn is_exact(&self) -> bool {
                is_settled::<T>()
            }

            #[inline(always)]
            fn combine_ordered(&self, a: T, b: T) -> T {
                chosen_ordered(a, b, $larger, $nan_wins)
            }

            #[inline(always)]
            fn is_unordered(&self, acc: T) -> bool {
                is_unordered(&acc)
            }
        }
    )*};
}

choice! {
    Max: "max", larger: true, nan wins: true;
    Min: "min", larger: false, nan wins: true;
    NanMax: "nanmax", larger: true, nan wins: false;
    NanMin: "nanmin", larger: false, nan wins: false;
}

/// Implements [`Reduction`] for the number of the term that another reduction chooses: of the first
/// of equal terms, or of the last.
macro_rules! position {
    ($($name:ident: $text:literal, $choice:ident, $better:tt, last: $last:literal;)*) => {$(
        impl<T: Copy + PartialOrd + Send + Sync + 'static> Reduction<T> for $name {
            items! {
                $text: T as (T, usize) => usize,
                lift: |value| (value, 0),
                combine: |a, b| {
                    // The tree adds terms of later numbers to earlier lanes: either may be first.
                    let a_is_chosen = (a.1 < b.1) != $last;
                    let better = match (is_nan(&a.0), is_nan(&b.0)) {
                        (false, false) => b.0 $better a.0 || (b.0 == a.0 && !a_is_chosen),
                        (a_is_nan, b_is_nan) => b_is_nan && !(a_is_nan && a_is_chosen),
                    };
                    if better { b } else { a }
                },
                finish: |self, (_, index), _| index,
                none: None,
            }

            const NUMBERED: bool = true;

            #[inline(always)]
            fn at_index(&self, (value, _): (T, usize), index: usize) -> (T, usize) {
                (value, index)
            }

            #[inline(always)]
            fn kernel<R>(elements: Elements<'_, T, R>) -> impl Kernel<Acc = R::Acc>
            where
                R: Reduction<T, Acc = (T, usize)>,
            {
                let Elements { inputs, shape, reduction } = elements;
                Positions::<_, _, _, _, $last> {
                    map: Map::new(inputs, shape, reduction, &identity::<T>, true),
                    choice: Map::new(inputs, shape, &$choice, &identity::<T>, true),
                }
            }
        }
    )*};
}

position! {
    ArgMax: "argmax", Max, >, last: false;
    ArgMin: "argmin", Min, <, last: false;
    LastArgMax: "last argmax", Max, >, last: true;
    LastArgMin: "last argmin", Min, <, last: true;
}

/// Implements [`Reduction`] for an operation on `bool`.
macro_rules! logical {
    ($($name:ident: $text:literal, $of_none:literal, $operator:tt;)*) => {$(
        impl Reduction<bool> for $name {
            items! {
                $text: bool as bool => bool,
                lift: |value| value,
                combine: |a, b| a $operator b,
                finish: |self, result, _| result,
                none: Some($of_none),
            }

            const MAY_BE_DECIDED: bool = true;

            fn is_decided(&self, acc: bool) -> bool {
                acc != $of_none
            }
        }
    )*};
}

logical! {
    All: "all", true, &;
    Any: "any", false, |;
}

impl<A: Copy + Send + Sync, F: Fn(A, A) -> A + Sync> Reduction<A> for Fold<A, F> {
    type Acc = A;
    type Out = A;

    #[inline(always)]
    fn lift(&self, value: A) -> A {
        value
    }

    #[inline(always)]
    fn combine(&self, a: A, b: A) -> A {
        (self.combine)(a, b)
    }

    #[inline(always)]
    fn finish(&self, acc: A, _: usize) -> A {
        acc
    }

    fn of_none(&self) -> Option<A> {
        Some(self.identity)
    }
}
