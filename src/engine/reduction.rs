//! What a reduction does with its terms: the trait.

use super::inputs::{Input, Value};
use super::kernel::{Kernel, LANES};

/// How the terms of one element of a result are combined: to a sum, a maximum, a position.
///
/// Each term is [lifted](Self::lift) into an accumulator. Accumulators are
/// [combined](Self::combine) by a fixed tree, which does not depend on threads, layout or machine.
/// It begins with the terms themselves, so that no identity is needed. The last accumulator is
/// [finished](Self::finish) into an element of the result.
///
/// | reduction | result | of no terms |
/// |---|---|---|
/// | [`Sum`](crate::reduction::Sum), [`Product`](crate::reduction::Product) | of the terms' type | 0, 1 |
/// | [`Sum::in_type`](crate::reduction::Sum::in_type) | accumulated in one type, given in another | 0 |
/// | [`Mean`](crate::reduction::Mean); [`Mean::in_type`](crate::reduction::Mean::in_type) | the sum, divided by the number of terms | NaN; an error for integers, 0 if it becomes one |
/// | [`Var`](crate::reduction::Var), [`Std`](crate::reduction::Std) | `Var::new()`: the mean of the squared distances to the mean, and its root | an error |
/// | [`NanSum`](crate::reduction::NanSum), [`NanMean`](crate::reduction::NanMean) | without the terms that are NaN | 0, NaN |
/// | [`Max`](crate::reduction::Max), [`Min`](crate::reduction::Min) | NaN if a term is NaN | an error, or a [value](crate::reduction::Max::or) |
/// | [`NanMax`](crate::reduction::NanMax), [`NanMin`](crate::reduction::NanMin) | without the terms that are NaN; NaN if all are | the same |
/// | [`ArgMax`](crate::reduction::ArgMax), [`ArgMin`](crate::reduction::ArgMin) | the position of the first such term, or of the first NaN | the same |
/// | [`LastArgMax`](crate::reduction::LastArgMax), [`LastArgMin`](crate::reduction::LastArgMin) | the position of the last such term, or of the last NaN | the same |
/// | [`LogSumExp`](crate::reduction::LogSumExp) | the logarithm of the sum of the exponentials | -infinity |
/// | [`L1`](crate::reduction::L1), [`L2`](crate::reduction::L2), [`SumSquare`](crate::reduction::SumSquare) | the sum of the magnitudes; of the squares, and its root | 0 |
/// | [`LogSum`](crate::reduction::LogSum) | the logarithm of the sum | -infinity |
/// | [`Count`](crate::reduction::Count) | how many terms are not zero | 0 |
/// | [`All`](crate::reduction::All), [`Any`](crate::reduction::Any) | of `bool` | `true`, `false` |
/// | [`Then`](crate::reduction::Then) | a function of the result of another reduction | of that |
/// | [`Fold`](crate::reduction::Fold) | any associative operation | its identity |
///
/// # Example
///
/// ```
/// use ndarray::{Array2, array};
/// use ndarray_broadcast::prelude::*;
/// use ndarray_broadcast::reduction::Reduction;
///
/// /// The difference of the largest and the smallest term.
/// struct Range;
///
/// impl Reduction<i32> for Range {
///     const COMMUTATIVE: bool = true;
///
///     type Acc = (i32, i32);
///     type Out = i32;
///
///     fn lift(&self, value: i32) -> (i32, i32) {
///         (value, value)
///     }
///     fn combine(&self, a: (i32, i32), b: (i32, i32)) -> (i32, i32) {
///         (a.0.min(b.0), a.1.max(b.1))
///     }
///     fn finish(&self, (min, max): (i32, i32), _: usize) -> i32 {
///         max - min
///     }
///     fn of_none(&self) -> Option<i32> {
///         None
///     }
///     fn is_exact(&self) -> bool {
///         true
///     }
/// }
///
/// let a = array![[1, 7], [2, -5]];
/// assert_eq!(a.reduce_to_shape((2, 1), Range)?, array![[6], [7]]);
/// assert!(Array2::<i32>::zeros((2, 0)).reduce_to_shape((2, 1), Range).is_err());
/// # Ok::<(), BroadcastError>(())
/// ```
///
/// # Speed
///
/// A reduction of your own is as fast as one that is ready made, if its methods are
/// `#[inline(always)]` and these items say what is true of it: [`COMMUTATIVE`](Self::COMMUTATIVE)
/// above all; [`is_exact`](Self::is_exact); [`QUICK`](Self::QUICK) or [`SLOW`](Self::SLOW);
/// [`MAY_BE_DECIDED`](Self::MAY_BE_DECIDED); [`HAS_UNORDERED`](Self::HAS_UNORDERED). An accumulator
/// of several numbers is fastest if all are of one type; [`Var`](crate::reduction::Var) and
/// [`NanMean`](crate::reduction::NanMean) have a loop of their own. A reduction that is another one
/// with a different result is a [`Then`](crate::reduction::Then): it keeps such loops, and the way
/// in which positions are found.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not reduce terms of type `{T}`",
    note = "of integers: `Std::new().in_type::<f64>()`",
    note = "of other terms: `zip(&x).reduce(&plan, L2, |x| x as f64)`, `Any` of `|x| x != 0.`",
    note = "in a generic function, write the bound `Std: Reduction<A, Out = A>`",
    note = "`f16` and `bf16` need the feature `half`"
)]
pub trait Reduction<T>: Sync {
    /// Whether [`combine`](Self::combine) is commutative too, up to rounding.
    ///
    /// If so, terms are combined by 16 lanes, as [the
    /// tree](crate::reduction#the-order-of-summation) says, which is fast. Otherwise those of
    /// each leaf of 256 are combined one after the other, and leaves by the same tree.
    const COMMUTATIVE: bool = false;

    /// The name in the bytes of an [`Accumulation`](crate::distributed::Accumulation). Those of a
    /// reduction with another name are refused. None: `""`.
    const NAME: &'static str = "";

    /// Whether its methods take a few instructions. Then only the bytes of the terms tell whether
    /// several threads pay. Otherwise the time that the first terms take tells it. Example:
    /// [`Reduction`].
    const QUICK: bool = false;

    /// Whether [`combine`](Self::combine) takes some dozens of instructions, as an exponential
    /// does. Then terms that lie side by side may be copied, some KiB at a time, so that those of
    /// many results are combined at once. Example: [`LogSumExp`](crate::reduction::LogSumExp).
    const SLOW: bool = false;

    /// What terms are accumulated in.
    type Acc: Copy + Send + Sync;
    /// Elements of the result.
    type Out: Copy + Send + Sync;

    /// The accumulator of one term. Example: [`Reduction`].
    fn lift(&self, value: T) -> Self::Acc;

    /// Whether the reduction depends on the numbers of its terms. If not,
    /// [`at_index`](Self::at_index) is not called, and memory is read in its order in more layouts.
    const NUMBERED: bool = false;

    /// [`lift`](Self::lift)'s result for the term with this number, if the reduction is
    /// [`NUMBERED`](Self::NUMBERED).
    ///
    /// Terms are numbered in row-major order over the axes that are reduced. Example:
    /// [`ArgMax`](crate::reduction::ArgMax).
    #[inline(always)]
    fn at_index(&self, acc: Self::Acc, index: usize) -> Self::Acc {
        let _ = index;
        acc
    }

    /// The accumulator of the terms of `a`, followed by those of `b`. Associative, up to rounding.
    /// Example: [`Reduction`].
    fn combine(&self, a: Self::Acc, b: Self::Acc) -> Self::Acc;

    /// The result of `count` terms. Example: [`Reduction`].
    fn finish(&self, acc: Self::Acc, count: usize) -> Self::Out;

    /// The result of no terms. `None` makes such a reduction the error
    /// [`TooFewTerms`](crate::ErrorKind::TooFewTerms). Example: [`Reduction`].
    fn of_none(&self) -> Option<Self::Out>;

    /// The fewest terms that have a result. Fewer are the error
    /// [`TooFewTerms`](crate::ErrorKind::TooFewTerms). Example: [`Var`](crate::reduction::Var).
    fn least_terms(&self) -> usize {
        0
    }

    /// Whether results have the same bits however the terms are grouped. If the reduction is
    /// [`COMMUTATIVE`](Self::COMMUTATIVE) too and not [`NUMBERED`](Self::NUMBERED), terms may be
    /// combined in the order of memory, which is faster for arrays that are not in standard layout.
    /// Example: [`Reduction`].
    fn is_exact(&self) -> bool {
        Self::MAY_BE_DECIDED
    }

    /// Whether accumulators may be [decided](Self::is_decided). Then the terms are not combined by
    /// the tree, so the reduction must be [exact](Self::is_exact): a sum of floats has other bits
    /// in another layout.
    const MAY_BE_DECIDED: bool = false;

    /// Whether no further term changes the result of this accumulator, as the first `false`
    /// of `All`. If all results of a call are decided, the other terms may not be read.
    /// Example: [`All`](crate::reduction::All).
    fn is_decided(&self, acc: Self::Acc) -> bool {
        let _ = acc;
        false
    }

    /// Whether accumulators may be [unordered](Self::is_unordered).
    const HAS_UNORDERED: bool = false;

    /// [`combine`](Self::combine) of accumulators that are not [unordered](Self::is_unordered), in
    /// fewer instructions: `a < b` is enough for the largest of numbers that are not NaN. It is
    /// used for leaves of 256 terms that lie side by side. If a term of a leaf is unordered, the
    /// leaf is combined again, by [`combine`](Self::combine). Example:
    /// [`Max`](crate::reduction::Max).
    #[inline(always)]
    fn combine_ordered(&self, a: Self::Acc, b: Self::Acc) -> Self::Acc {
        self.combine(a, b)
    }

    /// Whether `combine_ordered` of this accumulator may differ from `combine`. It does for NaN.
    /// Example: [`Max`](crate::reduction::Max).
    #[inline(always)]
    fn is_unordered(&self, acc: Self::Acc) -> bool {
        let _ = acc;
        false
    }

    /// Whether [`fold_lanes`](Self::fold_lanes) is faster than [`combine`](Self::combine) of each
    /// term. Compilers make no vector code of the latter if accumulators are several numbers.
    #[doc(hidden)]
    const FOLDS_LANES: bool = false;

    /// The accumulators of 16 lanes of a whole leaf, of 16 terms each, with the bits that
    /// [`combine`](Self::combine) of one term after the other gives. `term(k, lane)` is the
    /// accumulator of a term. It is called once for each, and with no other numbers: memory is
    /// read without a check. So only this crate can name [`Lanes`], and no other can implement or
    /// call the method.
    #[doc(hidden)]
    #[inline(always)]
    fn fold_lanes(&self, _: Lanes, term: impl Fn(usize, usize) -> Self::Acc) -> [Self::Acc; LANES] {
        let lane = |j| (1..LANES).fold(term(0, j), |acc, k| self.combine(acc, term(k, j)));
        std::array::from_fn(lane)
    }

    /// The kernel of `elements`, whose reduction is this one or has it inside.
    #[doc(hidden)]
    #[inline(always)]
    fn kernel<R>(elements: Elements<'_, T, R>) -> impl Kernel<Acc = R::Acc>
    where
        T: Copy + Sync,
        R: Reduction<T, Acc = Self::Acc>,
    {
        elements.kernel()
    }
}

pub(crate) use sealed::{Elements, Lanes};

mod sealed {
    #![allow(missing_debug_implementations)]

    use super::{Reduction, Values};

    /// An argument of the method that only this crate may implement and call.
    pub struct Lanes;

    /// A reduction of the elements of an array.
    pub struct Elements<'r, T, R: Reduction<T>> {
        pub(crate) inputs: &'r Values<'r, T>,
        pub(crate) shape: &'r [usize],
        pub(crate) reduction: &'r R,
    }
}

/// The elements of an array, as the inputs of a map.
pub(crate) type Values<'r, T> = (Input<'r, Value<T>>,);
