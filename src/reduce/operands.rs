//! The operands of a map that is reduced: tuples of one to four arrays.

use super::existing;
use super::reduction::Reduction;
use super::tables;
use super::terms::Terms;
use crate::engine::inputs::Source;
use crate::engine::rows::{collect, overwrite, update};
use crate::error::{BroadcastError, named};
use crate::operand::Operand;
use crate::plan::BroadcastPlan;
use crate::rule::Rule;
use ndarray::{Array, ArrayRef, ArrayView, Dimension};

/// A tuple of references to one to four arrays: what
/// [`gradient_of`](BroadcastPlan::gradient_of) and [`reduce_of`](BroadcastPlan::reduce_of) take.
///
/// Each is a shared reference: `&*scores` of a `scores: &mut Array`, `&view` of a view. Element
/// types, ranks and layouts may differ. Each array has the plan's output shape, or broadcasts to it
/// by NumPy's rule. The closure takes a tuple of references to their elements.
///
/// ```
/// use ndarray::{arr0, array};
/// use ndarray_broadcast::BroadcastPlan;
///
/// let plan = BroadcastPlan::numpy(3, (2, 3))?;
/// let (dy, mean, x) =
///     (array![[1., 2., 3.], [4., 5., 6.]], arr0(1.), array![[2], [3]]);
/// let sum = plan.gradient_of((&dy, &mean, &x), |(dy, mean, &x)| {
///     dy * (f64::from(x) - mean)
/// })?;
/// assert_eq!(sum, array![9., 12., 15.]);
/// # Ok::<(), ndarray_broadcast::BroadcastError>(())
/// ```
pub trait Operands<O: Dimension>: sealed::Reduced<O> {}

impl<O: Dimension, T: sealed::Reduced<O>> Operands<O> for T {}

pub(crate) mod sealed {
    use super::*;

    /// The references to elements that a closure takes. The parameter `Bound` says that the
    /// elements live for `'e`.
    pub trait Elements<'e, Bound = &'e Self> {
        /// The tuple of references.
        type Refs;
    }

    /// The sealed supertrait of [`Operands`](super::Operands).
    #[diagnostic::on_unimplemented(
        message = "`{Self}` is not a tuple of one to four references to arrays",
        note = "one array is `(&a,)`; a view is passed by reference, too"
    )]
    pub trait Reduced<O: Dimension>: Copy + for<'e> Elements<'e> {
        /// That each operand broadcasts to the plan's output shape.
        fn check<I: Dimension>(self, plan: &BroadcastPlan<I, O>) -> Result<(), BroadcastError>;

        /// A new array of `f` of the operands, of the plan's output shape.
        fn map<I, T, F>(
            self,
            plan: &BroadcastPlan<I, O>,
            f: F,
        ) -> Result<Array<T, O>, BroadcastError>
        where
            I: Dimension,
            T: Send,
            F: for<'e> Fn(<Self as Elements<'e>>::Refs) -> T + Sync;

        /// A fresh array of what `reduction` makes of `f` of some of the terms.
        fn reduce_terms<I, T, R, F>(
            self,
            plan: &BroadcastPlan<I, O>,
            terms: &Terms,
            reduction: &R,
            f: &F,
        ) -> Result<Array<R::Out, I>, BroadcastError>
        where
            I: Dimension,
            R: Reduction<T>,
            F: for<'e> Fn(<Self as Elements<'e>>::Refs) -> T + Sync;

        /// A fresh array of what `reduction` makes of `f` of the operands.
        fn reduce_fresh<I, T, R, F>(
            self,
            plan: &BroadcastPlan<I, O>,
            reduction: &R,
            f: F,
        ) -> Result<Array<R::Out, I>, BroadcastError>
        where
            I: Dimension,
            R: Reduction<T>,
            F: for<'e> Fn(<Self as Elements<'e>>::Refs) -> T + Sync;

        /// The same into an existing array. With `adds`, `add` combines what it holds with each
        /// result.
        fn reduce_into<I, T, R, F>(
            self,
            plan: &BroadcastPlan<I, O>,
            reduction: &R,
            f: F,
            out: &mut ArrayRef<R::Out, I>,
            adds: bool,
            add: impl Fn(R::Out, R::Out) -> R::Out + Sync,
        ) -> Result<(), BroadcastError>
        where
            I: Dimension,
            R: Reduction<T>,
            F: for<'e> Fn(<Self as Elements<'e>>::Refs) -> T + Sync;
    }
}

use sealed::{Elements, Reduced};

/// The operand as a view of the plan's output shape.
fn replicated<'a, A, D: Dimension, I: Dimension, O: Dimension>(
    plan: &BroadcastPlan<I, O>,
    array: &'a ArrayRef<A, D>,
) -> Result<ArrayView<'a, A, O>, BroadcastError> {
    BroadcastPlan::right_aligned(Rule::Numpy, array.raw_dim(), plan.output_shape())?
        .onto(array.view())
}

/// The result of one term.
#[inline(always)]
fn of_one<T, R: Reduction<T>>(reduction: &R, value: T) -> R::Out {
    reduction.finish(reduction.at_index(reduction.lift(value), 0), 1)
}

macro_rules! operands {
    ($($x:ident $X:ident),+) => {
        impl<'e, $($X: Operand + ?Sized),+> Elements<'e> for ($(&$X,)+) {
            type Refs = ($(&'e $X::Elem,)+);
        }

        impl<O: Dimension, $($X: Operand<Elem: Sync> + ?Sized),+> Reduced<O> for ($(&$X,)+) {
            fn check<I: Dimension>(self, plan: &BroadcastPlan<I, O>) -> Result<(), BroadcastError> {
                let ($($x,)+) = self;
                $(replicated(plan, $x.as_array()).map_err(named(stringify!($x)))?;)+
                Ok(())
            }

            fn map<I, T, F>(
                self,
                plan: &BroadcastPlan<I, O>,
                f: F,
            ) -> Result<Array<T, O>, BroadcastError>
            where
                I: Dimension,
                T: Send,
                F: for<'e> Fn(<Self as Elements<'e>>::Refs) -> T + Sync,
            {
                let ($($x,)+) = self;
                $(let $x = replicated(plan, $x.as_array()).map_err(named(stringify!($x)))?;)+
                collect(plan.output_dim(), ($(Source::of(&$x),)+), f)
            }

            fn reduce_terms<I, T, R, F>(
                self,
                plan: &BroadcastPlan<I, O>,
                terms: &Terms,
                reduction: &R,
                f: &F,
            ) -> Result<Array<R::Out, I>, BroadcastError>
            where
                I: Dimension,
                R: Reduction<T>,
                F: for<'e> Fn(<Self as Elements<'e>>::Refs) -> T + Sync,
            {
                let ($($x,)+) = self;
                $(let $x = replicated(plan, $x.as_array()).map_err(named(stringify!($x)))?;)+
                let inputs = ($(Source::of(&$x),)+);
                plan.fresh_sums(inputs, |sums| {
                    tables::reduce_map(sums, terms, reduction, f, |_, new| new)
                })
            }

            fn reduce_fresh<I, T, R, F>(
                self,
                plan: &BroadcastPlan<I, O>,
                reduction: &R,
                f: F,
            ) -> Result<Array<R::Out, I>, BroadcastError>
            where
                I: Dimension,
                R: Reduction<T>,
                F: for<'e> Fn(<Self as Elements<'e>>::Refs) -> T + Sync,
            {
                let ($($x,)+) = self;
                $(let $x = replicated(plan, $x.as_array()).map_err(named(stringify!($x)))?;)+
                // Without sums the terms are the results: a map.
                if let ($(Some($x),)+) = ($(plan.unreplicated(&$x),)+) {
                    let inputs = ($(Source::of(&$x),)+);
                    return collect(plan.input_dim(), inputs, |refs| of_one(reduction, f(refs)));
                }
                self.reduce_terms(plan, &Terms::all(plan.sum_terms()), reduction, &f)
            }

            fn reduce_into<I, T, R, F>(
                self,
                plan: &BroadcastPlan<I, O>,
                reduction: &R,
                f: F,
                out: &mut ArrayRef<R::Out, I>,
                adds: bool,
                add: impl Fn(R::Out, R::Out) -> R::Out + Sync,
            ) -> Result<(), BroadcastError>
            where
                I: Dimension,
                R: Reduction<T>,
                F: for<'e> Fn(<Self as Elements<'e>>::Refs) -> T + Sync,
            {
                let ($($x,)+) = self;
                $(let $x = replicated(plan, $x.as_array()).map_err(named(stringify!($x)))?;)+
                if let ($(Some($x),)+) = ($(plan.unreplicated(&$x),)+) {
                    let inputs = ($(Source::of(&$x),)+);
                    let result = |refs| of_one(reduction, f(refs));
                    return match adds {
                        false => overwrite(out, inputs, result),
                        true => update(out, inputs, |old, refs| {
                            *old = add(*old, result(refs));
                        }),
                    };
                }
                let inputs = ($(Source::of(&$x),)+);
                let mut sums = plan.sums(inputs, existing(out, adds))?;
                let all = Terms::all(sums.summed().len());
                tables::reduce_map(&mut sums, &all, reduction, &f, add)
            }
        }
    };
}

operands!(a A);
operands!(a A, b B);
operands!(a A, b B, c C);
operands!(a A, b B, c C, d D);
