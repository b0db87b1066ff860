//! In which type the terms of a sum are accumulated.

use num_complex::Complex;
use num_traits::{AsPrimitive, Num, Zero};
use std::num::Wrapping;

/// An element type that is summed, and the type in which that is done.
///
/// [`Sum`](crate::reduction::Sum), [`Product`](crate::reduction::Product) and the gradients convert
/// each term to `Acc`, and the result back once, at the end.
///
/// | element | accumulated in |
/// |---|---|
/// | integers, `f32`, `f64`, `Wrapping` | its own type |
/// | `f16`, `bf16` of the crate `half` (feature `half`) | `f32` |
/// | `Complex<T>` of the crate `num-complex` | `Complex` of the type for `T` |
///
/// Implement it for elements of your own. A type of another crate that is `Copy + Zero` needs no
/// implementation with [`Sum::in_own_type`](crate::reduction::Sum::in_own_type).
///
/// ```
/// use ndarray::array;
/// use ndarray_broadcast::prelude::*;
/// use ndarray_broadcast::reduction::Summand;
///
/// #[derive(Clone, Copy, Debug, PartialEq)]
/// struct Cents(i32);
///
/// impl Summand for Cents {
///     type Acc = i64;
///
///     fn to_acc(self) -> i64 {
///         self.0.into()
///     }
///     fn from_acc(acc: i64) -> Self {
///         Cents(acc.clamp(i32::MIN.into(), i32::MAX.into()) as i32)
///     }
/// }
///
/// let prices = array![Cents(199), Cents(350), Cents(-49)];
/// assert_eq!(prices.reduce_to_shape((), Sum)?.into_scalar(), Cents(500));
/// # Ok::<(), BroadcastError>(())
/// ```
///
/// Source: NumPy's `mean` of `float16`, torch's `sum` of halves: both accumulate in `f32`.
#[diagnostic::on_unimplemented(
    message = "it is not known in which type `{Self}` is summed",
    note = "of `bool`, `Count` is the number of `true`",
    note = "implement `Summand` for a type of your own; `Sum.in_own_type()` sums any `T: Zero`",
    note = "`f16` and `bf16` need the feature `half`"
)]
pub trait Summand: Copy + Send + Sync {
    /// The type of the accumulator.
    type Acc: Copy + Zero + Send + Sync;

    /// Whether sums and products in `Acc` have the same bits in any order, as those of integers.
    /// Then memory is read in its order: see [`is_exact`](crate::reduction::Reduction::is_exact).
    const IS_EXACT: bool = false;

    /// The term as an accumulator. Example: [`Summand`].
    fn to_acc(self) -> Self::Acc;

    /// The result of an accumulator. Example: [`Summand`].
    fn from_acc(acc: Self::Acc) -> Self;
}

impl<T: Copy + Send + Sync> Summand for Wrapping<T>
where
    Self: Zero,
{
    type Acc = Self;

    const IS_EXACT: bool = true;

    #[inline(always)]
    fn to_acc(self) -> Self {
        self
    }

    #[inline(always)]
    fn from_acc(acc: Self) -> Self {
        acc
    }
}

impl<T: Summand<Acc: Num>> Summand for Complex<T> {
    type Acc = Complex<T::Acc>;

    #[inline(always)]
    fn to_acc(self) -> Self::Acc {
        Complex::new(self.re.to_acc(), self.im.to_acc())
    }

    #[inline(always)]
    fn from_acc(acc: Self::Acc) -> Self {
        Complex::new(T::from_acc(acc.re), T::from_acc(acc.im))
    }
}

/// An element type of which [`Mean`](crate::reduction::Mean) takes the mean, and how.
///
/// | element | sum | result |
/// |---|---|---|
/// | `f32`, `f64` | in its own type | rounded |
/// | `f16`, `bf16` of the crate `half` (feature `half`) | in `f32` | rounded once |
/// | integers of up to 32 bits | in 64 bits: exact for up to 2^32 terms | towards zero |
/// | integers of 64 and 128 bits | in 128 bits: exact for 64 bits | towards zero |
/// | `Complex<T>` of the crate `num-complex` | of each part, as of `T` | of each part |
///
/// The mean of no terms is NaN for floats, and the error
/// [`TooFewTerms`](crate::ErrorKind::TooFewTerms) for integers.
///
/// ```
/// use ndarray::array;
/// use ndarray_broadcast::prelude::*;
/// use ndarray_broadcast::reduction::Averaged;
///
/// #[derive(Clone, Copy, Debug, PartialEq)]
/// struct Celsius(f64);
///
/// impl Averaged for Celsius {
///     type Acc = f64;
///
///     fn to_acc(self) -> f64 {
///         self.0
///     }
///     fn mean(sum: f64, count: usize) -> Self {
///         Celsius(sum / count as f64)
///     }
///     fn of_none() -> Option<Self> {
///         None
///     }
/// }
///
/// let days = array![Celsius(18.5), Celsius(21.)];
/// assert_eq!(days.reduce_to_shape((), Mean)?.into_scalar(), Celsius(19.75));
/// # Ok::<(), BroadcastError>(())
/// ```
///
/// A type that `Mean` does not take:
///
/// ```compile_fail,E0277
/// # use ndarray_broadcast::prelude::*;
/// let flags = ndarray::array![true, false];
/// let mean = flags.reduce_axes(0, Mean)?; // of numbers: `flags.mapv(u8::from)`
/// # Ok::<(), BroadcastError>(())
/// ```
///
/// Source: NumPy `mean` of floats; ONNX `ReduceMean` of integers, whose result is an integer.
#[diagnostic::on_unimplemented(
    message = "it is not known how the mean of `{Self}` is taken",
    note = "`Mean.in_type::<f64, f64>()` takes any number: here in `f64`, with a result in `f64`",
    note = "implement `Averaged` for a type of your own; `f16` and `bf16` need the feature `half`"
)]
pub trait Averaged: Copy + Send + Sync {
    /// The type of the sum.
    type Acc: Copy + Zero + Send + Sync;

    /// [`Summand::IS_EXACT`], of this type of the sum.
    const IS_EXACT: bool = false;

    /// The term as a sum. Example: [`Averaged`].
    fn to_acc(self) -> Self::Acc;

    /// The mean of `count` terms, of which this is the sum. Example: [`Averaged`].
    ///
    /// There is one at least, unless [`of_none`](Self::of_none) is `None` and all terms of a
    /// [`NanMean`](crate::reduction::NanMean) are NaN, or were by the bytes that it is read from:
    /// `sum / 0.` is NaN then.
    fn mean(sum: Self::Acc, count: usize) -> Self;

    /// The mean of no terms. `None` makes it an error. Example: [`Averaged`].
    fn of_none() -> Option<Self>;
}

/// Implements [`Summand`] and [`Averaged`] for numbers: how terms are converted, the types in which
/// sums and means are accumulated, and the mean of no terms.
macro_rules! numbers {
    ($convert:path; $($T:ty: $Sum:ty, $Mean:ty, $of_none:expr;)*) => {$(
        impl Summand for $T {
            type Acc = $Sum;

            const IS_EXACT: bool = <Self as Averaged>::IS_EXACT;

            #[inline(always)]
            fn to_acc(self) -> $Sum {
                $convert(self)
            }

            #[inline(always)]
            fn from_acc(acc: $Sum) -> Self {
                acc.as_()
            }
        }

        impl Averaged for $T {
            type Acc = $Mean;

            // Integers alone have no mean of no terms.
            const IS_EXACT: bool = Option::<Self>::is_none(&$of_none);

            #[inline(always)]
            fn to_acc(self) -> $Mean {
                $convert(self)
            }

            #[inline(always)]
            fn mean(sum: $Mean, count: usize) -> Self {
                // Of integers, it is 0 only if a `NanMean` is read from bytes that say so.
                let least = usize::from(<$T as Averaged>::of_none().is_none());
                let count = count.max(least);
                (sum / count as $Mean).as_()
            }

            fn of_none() -> Option<Self> {
                $of_none
            }
        }
    )*};
}

numbers! {
    AsPrimitive::as_;
    u8: u8, u64, None;
    u16: u16, u64, None;
    u32: u32, u64, None;
    u64: u64, u128, None;
    u128: u128, u128, None;
    usize: usize, u128, None;
    i8: i8, i64, None;
    i16: i16, i64, None;
    i32: i32, i64, None;
    i64: i64, i128, None;
    i128: i128, i128, None;
    isize: isize, i128, None;
    f32: f32, f32, Some(f32::NAN);
    f64: f64, f64, Some(f64::NAN);
}

#[cfg(feature = "half")]
numbers! {
    super::convert::convert;
    half::f16: f32, f32, Some(half::f16::NAN);
    half::bf16: f32, f32, Some(half::bf16::NAN);
}

impl<T: Averaged<Acc: Num>> Averaged for Complex<T> {
    type Acc = Complex<T::Acc>;

    #[inline(always)]
    fn to_acc(self) -> Self::Acc {
        Complex::new(self.re.to_acc(), self.im.to_acc())
    }

    #[inline(always)]
    fn mean(sum: Self::Acc, count: usize) -> Self {
        Complex::new(T::mean(sum.re, count), T::mean(sum.im, count))
    }

    fn of_none() -> Option<Self> {
        Some(Complex::new(T::of_none()?, T::of_none()?))
    }
}
