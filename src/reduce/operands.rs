//! The operands of a map that is reduced: tuples of one to four arrays.

// The sealed trait `Reduced` is public in name only: nobody outside of the crate can call it.
#![allow(private_bounds, private_interfaces)]

use super::Destination;
use super::reduction::Reduction;
use crate::engine::fold::{Add, Arrays, Map};
use crate::error::{BroadcastError, named};
use crate::operand::Operand;
use crate::plan::BroadcastPlan;
use crate::rule::Rule;
use crate::shape::Sizes;
use ndarray::{ArrayRef, ArrayView, Dimension};
use std::marker::PhantomData;

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

        /// Reduces `f` of the operands, which broadcast to the plan's output shape.
        fn reduce<I, T, R, F, To>(
            self,
            plan: &BroadcastPlan<I, O>,
            reduction: &R,
            f: &F,
            add: Option<Add<R::Out>>,
            to: To,
        ) -> Result<To::Result, BroadcastError>
        where
            I: Dimension,
            R: Reduction<T>,
            F: for<'e> Fn(<Self as Elements<'e>>::Refs) -> T + Sync,
            To: Destination<R::Acc, R::Out>;
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

            fn reduce<I, T, R, F, To>(
                self,
                plan: &BroadcastPlan<I, O>,
                reduction: &R,
                f: &F,
                add: Option<Add<R::Out>>,
                to: To,
            ) -> Result<To::Result, BroadcastError>
            where
                I: Dimension,
                R: Reduction<T>,
                F: for<'e> Fn(<Self as Elements<'e>>::Refs) -> T + Sync,
                To: Destination<R::Acc, R::Out>,
            {
                let ($($x,)+) = self;
                plan.check_terms::<To, _, _, _, _>(reduction)?;
                $(let $x = replicated(plan, $x.as_array()).map_err(named(stringify!($x)))?;)+
                let arrays = ($(&*$x,)+).typed();
                let (plain, term) = (false, PhantomData);
                let mut becomes = O::zeros(plan.output_shape().len());
                plan.becomes(becomes.sizes_mut());
                let map = Map { arrays, reduction, f, add, plain, term };
                to.put_decided(&map, reduction, becomes.sizes())
            }
        }
    };
}

operands!(a A);
operands!(a A, b B);
operands!(a A, b B, c C);
operands!(a A, b B, c C, d D);
