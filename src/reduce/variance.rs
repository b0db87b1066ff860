//! Variance and standard deviation.

use super::bytes::AccumulatorBytes;
use super::convert::convert;
use super::reduction::{Reduction, items};
use super::summand::Summand;
use crate::engine::kernel::{LANES, LEAF};
use crate::engine::reduction::Lanes;
use num_traits::AsPrimitive;
use num_traits::float::FloatCore;
use std::array;

/// The variance: the mean of the squared distances to the mean.
///
/// With [`ddof`](Self::ddof), the sum of the squares is divided by the number of terms less `ddof`.
/// Terms are accumulated in `f64`, in one pass. The variance of terms that are all equal is exactly
/// 0. Terms that are NaN or infinite give NaN. So does a sum of distances that overflows. If only
/// the sum of their squares does, the variance is infinite. Neither does for terms between -1e149
/// and 1e149.
///
/// ```
/// use ndarray::array;
/// use ndarray_broadcast::prelude::*;
///
/// let x = array![[1., 3.], [1e9, 1e9 + 4.]];
/// assert_eq!(x.reduce_axes(1, Var::new())?, array![1., 4.]);
/// assert_eq!(x.reduce_axes(1, Var::new().ddof(1))?, array![2., 8.]);
/// assert_eq!(x.reduce_axes(1, Std::new())?, array![1., 2.]);
///
/// let bytes = array![3_u8, 4, 5, 4];
/// let var = bytes.reduce_to_shape((), Var::new().in_type::<f64>())?;
/// assert_eq!(var.into_scalar(), 0.5);
///
/// let error = x.reduce_axes(1, Var::new().ddof(2)).unwrap_err();
/// assert!(matches!(error.kind(), ErrorKind::TooFewTerms { .. }));
/// assert_eq!(
///     error.to_string(),
///     "cannot reduce [2, 2] by var: it needs 3 terms, and there are 2",
/// );
/// # Ok::<(), BroadcastError>(())
/// ```
///
/// # Accuracy
///
/// The accumulator is the number of terms, a pivot near their mean, and the sums of the distances
/// to the pivot and of their squares. The pivot of a leaf is its first term. Accumulators of more
/// than a leaf are combined around the mean of both. So the error does not grow with the mean:
/// results of `f32`, `f16` and `bf16` are within one unit in the last place, results of `f64`
/// within some units for means of up to 10^8 times the deviation, and within some thousand if the
/// first term of a leaf is far from all others. The order of operations is [the
/// tree's](crate::reduction#the-order-of-summation): the bits are the same for any layout, number
/// of threads and partition.
///
/// Source: NumPy `var`, whose default for `ddof` is 0 too; torch `var` with `correction`, whose
/// default is 1. Both return NaN or infinity where the result here is an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[doc(alias = "variance")]
pub struct Var {
    ddof: usize,
}

/// The standard deviation: the square root of the [variance](Var), which has an example.
///
/// Source: NumPy `std`; torch `std` with `correction`, whose default is 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[doc(alias = "standard deviation")]
pub struct Std {
    ddof: usize,
}

/// A [`Var`] or [`Std`] that is given in the type `O`. Made by [`Var::in_type`], and
/// [`Std::in_type`].
///
/// Example: [`Var`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct VarIn<V, O> {
    reduction: V,
    out: std::marker::PhantomData<fn() -> O>,
}

/// Terms by their number, a pivot near their mean, the sum of the distances to it, and of the
/// squares of these. All are `f64`, so that vectors of them are loaded and stored at once.
///
/// The accumulator of [`Var`] and [`Std`].
#[derive(Debug, Clone, Copy)]
pub struct Moments {
    count: f64,
    pivot: f64,
    sum: f64,
    squares: f64,
}

impl Moments {
    /// -0 is the number whose sum with another is that one, with its sign, so that a compiler
    /// leaves the sum out.
    #[inline(always)]
    fn of(term: f64) -> Self {
        Moments {
            count: 1.,
            pivot: term,
            sum: -0.,
            squares: -0.,
        }
    }

    #[inline(always)]
    fn and(self, other: Self) -> Self {
        let count = self.count + other.count;
        // Around the pivot of the first.
        let distance = other.pivot - self.pivot;
        let moved = other.count * distance;
        let sum = self.sum + (other.sum + moved);
        let more = other.squares + distance * (2. * other.sum + moved);
        let squares = self.squares + more;
        // A single term and the lanes of a leaf leave the pivot where it is: there is no division
        // for each. The number of a single term is known when this is compiled.
        if other.count == 1. || count <= LEAF as f64 {
            return Moments {
                count,
                sum,
                squares,
                ..self
            };
        }
        let pivot = self.pivot + sum / count;
        let step = pivot - self.pivot;
        let moved = count * step;
        Moments {
            count,
            pivot,
            sum: sum - moved,
            squares: squares - step * (2. * sum - moved),
        }
    }

    /// [`Reduction::fold_lanes`]. The pivot of a lane is its first term. Three terms of each lane
    /// at a time: the loop over lanes is then long enough to stay a loop, of which compilers make
    /// vector code.
    #[inline(always)]
    fn of_lanes(term: impl Fn(usize, usize) -> Self) -> [Self; LANES] {
        let pivots: [f64; LANES] = array::from_fn(|j| term(0, j).pivot);
        let (mut sums, mut squares) = ([-0.; LANES], [-0.; LANES]);
        for first in (1..LANES).step_by(3) {
            let lanes = sums.iter_mut().zip(&mut squares).zip(&pivots);
            for (j, ((sum, squares), pivot)) in lanes.enumerate() {
                for k in first..first + 3 {
                    let distance = term(k, j).pivot - pivot;
                    *sum += distance;
                    *squares += distance * distance;
                }
            }
        }
        array::from_fn(|j| Moments {
            count: LANES as f64,
            pivot: pivots[j],
            sum: sums[j],
            squares: squares[j],
        })
    }

    fn variance(self, ddof: usize) -> f64 {
        let squares = self.squares - self.sum * (self.sum / self.count);
        let squares = match squares {
            // The squares of finite distances may not be finite.
            _ if self.sum.is_finite() && !squares.is_finite() => f64::INFINITY,
            ..0. => 0.,
            _ => squares,
        };
        // NaN if the pivot is infinite. Not -0.
        squares / (self.count - ddof as f64) + self.pivot * 0. + 0.
    }
}

macro_rules! variance {
    ($($name:ident: $text:literal, $of_variance:path;)*) => {$(
        impl $name {
            /// Of all terms: divided by their number. Example: [`Var`].
            #[must_use]
            #[expect(clippy::new_without_default, reason = "serde would lose `ddof`")]
            pub fn new() -> Self {
                $name { ddof: 0 }
            }

            /// Divided by the number of terms less `ddof`; 1 for a sample of a population.
            ///
            /// Reducing `ddof` terms or fewer is the error
            /// [`TooFewTerms`](crate::ErrorKind::TooFewTerms). Example: [`Var`].
            #[must_use]
            pub fn ddof(self, ddof: usize) -> Self {
                $name { ddof }
            }

            /// In the type `O`, of terms of any number type, integers included. Conversions are
            /// those of [`Sum::in_type`](crate::reduction::Sum::in_type). Example: [`Var`].
            #[must_use]
            pub fn in_type<O>(self) -> VarIn<Self, O> {
                VarIn { reduction: self, out: std::marker::PhantomData }
            }

            #[inline(always)]
            fn result(self, acc: Moments) -> f64 {
                $of_variance(acc.variance(self.ddof))
            }
        }

        #[diagnostic::do_not_recommend]
        impl<T> Reduction<T> for $name
        where
            T: Summand<Acc: FloatCore + AsPrimitive<f64>>,
            f64: AsPrimitive<T::Acc>,
        {
            items! {
                $text: T as Moments => T,
                lift: |value| Moments::of(value.to_acc().as_()),
                combine: |a, b| a.and(b),
                finish: |self, acc, _| T::from_acc(self.result(acc).as_()),
                none: None,
            }

            const FOLDS_LANES: bool = true;

            #[inline(always)]
            fn fold_lanes(
                &self,
                _: Lanes,
                term: impl Fn(usize, usize) -> Moments,
            ) -> [Moments; LANES] {
                Moments::of_lanes(term)
            }

            fn least_terms(&self) -> usize {
                self.ddof.saturating_add(1)
            }
        }

        impl<T: AsPrimitive<f64>, O: Copy + Send + Sync + 'static> Reduction<T> for VarIn<$name, O>
        where
            f64: AsPrimitive<O>,
        {
            items! {
                $text: T as Moments => O,
                lift: |value| Moments::of(convert(value)),
                combine: |a, b| a.and(b),
                finish: |self, acc, _| self.reduction.result(acc).as_(),
                none: None,
            }

            const FOLDS_LANES: bool = true;

            #[inline(always)]
            fn fold_lanes(
                &self,
                _: Lanes,
                term: impl Fn(usize, usize) -> Moments,
            ) -> [Moments; LANES] {
                Moments::of_lanes(term)
            }

            fn least_terms(&self) -> usize {
                self.reduction.ddof.saturating_add(1)
            }
        }
    )*};
}

variance! {
    Var: "var", std::convert::identity;
    Std: "std", f64::sqrt;
}

impl AccumulatorBytes for Moments {
    const SIZE: usize = 4 * 8;

    fn name() -> String {
        "moments in f64".into()
    }

    fn write(self, to: &mut Vec<u8>) {
        for value in [self.count, self.pivot, self.sum, self.squares] {
            value.write(to);
        }
    }

    fn read(from: &mut &[u8]) -> Option<Self> {
        Some(Moments {
            count: f64::read(from)?,
            pivot: f64::read(from)?,
            sum: f64::read(from)?,
            squares: f64::read(from)?,
        })
    }
}
