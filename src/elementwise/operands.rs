//! The operands of [`zip`](super::zip): one array, or a tuple of two to six.

// The traits are public in name only: nobody outside of the crate can call them.
#![allow(private_bounds, private_interfaces)]
// A macro makes `(a)` of one operand, which is no tuple.
#![allow(unused_parens)]

use crate::co_broadcast::{check_replicate, common_shape, replicated};
use crate::engine::inputs::{Input, Inputs};
use crate::error::Result;
use crate::operand::{IntoView, Operand};
use ndarray::{ArrayView, DimMax, Dimension};

pub(crate) use sealed::{ZipOperands, ZipRefs, ZipValues, ZipViews};

mod sealed {
    use super::*;

    /// An array, or a tuple of two to six.
    #[diagnostic::on_unimplemented(
        message = "`{Self}` is not an array, or a tuple of two to six arrays",
        note = "pass an owned array as `&a`; one array needs no tuple: `zip(&a)`",
        note = "a `Result` needs a `?`: `zip(broadcast_pair(&a, &b, rule)?)`",
        note = "an array is changed in place by `zip((&a, &b)).update(&mut x, |x, (a, b)| ..)`"
    )]
    pub trait ZipOperands<'a> {
        type Views;

        fn views(self) -> Self::Views;
    }

    /// A tuple of views.
    pub trait ZipViews {
        /// Of the common shape.
        type Dim: Dimension;

        /// The views in the common shape.
        type Broadcast;

        fn common_shape(&self) -> Result<Self::Dim>;

        fn broadcast(&self) -> Result<Self::Broadcast>;

        /// That each view replicates to a shape.
        fn check(&self, shape: &[usize]) -> Result<()>;
    }

    /// Views whose elements are read by reference.
    pub trait ZipRefs {
        type Refs;

        fn refs(&self) -> impl Inputs<Items = Self::Refs>;
    }

    /// Views whose elements are read by value.
    #[diagnostic::on_unimplemented(
        message = "the elements of these arrays are not all `Copy + Send + Sync`",
        note = "methods whose names end in `_ref` give the closure references: `map_collect_ref`"
    )]
    pub trait ZipValues {
        type Values;

        fn values(&self) -> impl Inputs<Items = Self::Values>;
    }
}

impl<'a, A, D: Dimension> ZipOperands<'a> for ArrayView<'a, A, D> {
    type Views = (ArrayView<'a, A, D>,);

    #[inline]
    fn views(self) -> Self::Views {
        (self,)
    }
}

impl<'a, T: Operand + ?Sized> ZipOperands<'a> for &'a T {
    type Views = (ArrayView<'a, T::Elem, T::Dim>,);

    #[inline]
    fn views(self) -> Self::Views {
        (self.as_array().view(),)
    }
}

macro_rules! zip_operands {
    ($($a:ident $T:ident),+) => {
        impl<'a, $($T: IntoView<'a>),+> ZipOperands<'a> for ($($T,)+) {
            type Views = ($(ArrayView<'a, $T::Elem, $T::Dim>,)+);

            #[inline]
            fn views(self) -> Self::Views {
                let ($($a,)+) = self;
                ($($a.into_view(),)+)
            }
        }
    };
}

zip_operands!(a T0, b T1);
zip_operands!(a T0, b T1, c T2);
zip_operands!(a T0, b T1, c T2, d T3);
zip_operands!(a T0, b T1, c T2, d T3, e T4);
zip_operands!(a T0, b T1, c T2, d T3, e T4, f T5);

/// Implements the traits for tuples: the elements and dimensions, then the rank of the common
/// shape and how it follows.
macro_rules! zip_tuples {
    (
        $($a:ident $A:ident $D:ident),+; $Dim:ident;
        $($O:ident: $L:ident $R:ident),*
    ) => {
        impl<'a, $($A, $D: Dimension,)+ $($O: Dimension),*> ZipViews
            for ($(ArrayView<'a, $A, $D>,)+)
        where
            $($L: DimMax<$R, Output = $O>,)*
        {
            type Dim = $Dim;
            type Broadcast = ($(ArrayView<'a, $A, $Dim>,)+);

            #[inline(always)]
            fn common_shape(&self) -> Result<$Dim> {
                let ($($a,)+) = self;
                common_shape(&[$($a.shape()),+])
            }

            fn broadcast(&self) -> Result<Self::Broadcast> {
                let ($($a,)+) = self;
                let shape = self.common_shape()?;
                Ok(($(replicated($a.clone(), &shape)?,)+))
            }

            #[inline]
            fn check(&self, shape: &[usize]) -> Result<()> {
                let ($($a,)+) = self;
                check_replicate(&[$($a.shape()),+], shape)
            }
        }

        impl<'a, $($A: Sync, $D: Dimension),+> ZipRefs for ($(ArrayView<'a, $A, $D>,)+) {
            type Refs = ($(&'a $A),+);

            #[inline]
            fn refs(&self) -> impl Inputs<Items = Self::Refs> {
                let ($($a,)+) = self;
                ($(Input::refs($a),)+)
            }
        }

        #[diagnostic::do_not_recommend]
        impl<'a, $($A: Copy + Send + Sync, $D: Dimension),+> ZipValues
            for ($(ArrayView<'a, $A, $D>,)+)
        {
            type Values = ($($A),+);

            #[inline]
            fn values(&self) -> impl Inputs<Items = Self::Values> {
                let ($($a,)+) = self;
                ($(Input::values($a),)+)
            }
        }
    };
}

zip_tuples!(a A0 D0; D0;);
zip_tuples!(a A0 D0, b A1 D1; O1; O1: D0 D1);
zip_tuples!(a A0 D0, b A1 D1, c A2 D2; O2; O1: D0 D1, O2: O1 D2);
zip_tuples!(a A0 D0, b A1 D1, c A2 D2, d A3 D3; O3; O1: D0 D1, O2: O1 D2, O3: O2 D3);
zip_tuples!(
    a A0 D0, b A1 D1, c A2 D2, d A3 D3, e A4 D4; O4;
    O1: D0 D1, O2: O1 D2, O3: O2 D3, O4: O3 D4
);
zip_tuples!(
    a A0 D0, b A1 D1, c A2 D2, d A3 D3, e A4 D4, f A5 D5; O5;
    O1: D0 D1, O2: O1 D2, O3: O2 D3, O4: O3 D4, O5: O4 D5
);
