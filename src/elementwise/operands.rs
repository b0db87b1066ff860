//! The operands of [`zip`](super::zip): one array, or a tuple of two to six.

use crate::co_broadcast::{common_shape, replicated};
use crate::engine::inputs::{Second, Source, Values};
use crate::engine::rows::{collect, collect_two, overwrite, try_collect, update};
use crate::error::{ArrayRole, BroadcastError, check_shape, named};
use crate::operand::{IntoView, Operand};
use ndarray::{Array, ArrayRef, ArrayView, DimMax, Dimension};

pub(crate) use sealed::{ZipOperands, ZipRefs, ZipValues, ZipViews};

mod sealed {
    use super::*;

    /// An array, or a tuple of two to six.
    #[diagnostic::on_unimplemented(
        message = "`{Self}` is not an array, or a tuple of two to six arrays",
        note = "pass an owned array as `&a`; one array needs no tuple: `zip(&a)`",
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

        fn broadcast(&self) -> Result<Self::Broadcast, BroadcastError>;
    }

    /// Views whose elements are read by reference.
    pub trait ZipRefs: ZipViews {
        type Refs;

        fn map_collect_ref<C: Send>(
            &self,
            f: impl Fn(Self::Refs) -> C + Sync,
        ) -> Result<Array<C, Self::Dim>, BroadcastError>;

        fn map_assign_into_ref<C: Send>(
            &self,
            out: &mut ArrayRef<C, Self::Dim>,
            f: impl Fn(Self::Refs) -> C + Sync,
        ) -> Result<(), BroadcastError>;

        fn update_ref<X: Send, D: Dimension>(
            &self,
            x: &mut ArrayRef<X, D>,
            f: impl Fn(&mut X, Self::Refs) + Sync,
        ) -> Result<(), BroadcastError>;
    }

    /// Views whose elements are read by value.
    #[diagnostic::on_unimplemented(
        message = "the elements of these arrays are not all `Copy + Send + Sync`",
        note = "methods whose names end in `_ref` give the closure references: `map_collect_ref`"
    )]
    pub trait ZipValues: ZipViews {
        type Values;

        fn map_collect<C: Send>(
            &self,
            f: impl Fn(Self::Values) -> C + Sync,
        ) -> Result<Array<C, Self::Dim>, BroadcastError>;

        fn try_map_collect<C: Copy + Send, E: Send>(
            &self,
            f: impl Fn(Self::Values) -> Result<C, E> + Sync,
        ) -> Result<Result<Array<C, Self::Dim>, E>, BroadcastError>;

        fn map_assign_into<C: Send>(
            &self,
            out: &mut ArrayRef<C, Self::Dim>,
            f: impl Fn(Self::Values) -> C + Sync,
        ) -> Result<(), BroadcastError>;

        #[allow(clippy::type_complexity)]
        fn map_collect_two<C: Copy + Send, E: Copy + Send>(
            &self,
            f: impl Fn(Self::Values) -> (C, E) + Sync,
        ) -> Result<(Array<C, Self::Dim>, Array<E, Self::Dim>), BroadcastError>;

        fn map_assign_into_two<C: Send, E: Send>(
            &self,
            first: &mut ArrayRef<C, Self::Dim>,
            second: &mut ArrayRef<E, Self::Dim>,
            f: impl Fn(Self::Values) -> (C, E) + Sync,
        ) -> Result<(), BroadcastError>;

        fn update<X: Send, D: Dimension>(
            &self,
            x: &mut ArrayRef<X, D>,
            f: impl Fn(&mut X, Self::Values) + Sync,
        ) -> Result<(), BroadcastError>;
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

/// One array's element, or a tuple of several.
macro_rules! tuple {
    ($a:ident) => {
        $a
    };
    ($($a:ident),+) => {
        ($($a),+)
    };
}

/// The type of [`tuple!`].
macro_rules! tuple_type {
    ($a:ty) => {
        $a
    };
    ($($a:ty),+) => {
        ($($a),+)
    };
}

pub(crate) use tuple;

macro_rules! first {
    ($first:ident $(, $rest:ident)*) => {
        $first
    };
}

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

            #[inline]
            fn broadcast(&self) -> Result<Self::Broadcast, BroadcastError> {
                let ($($a,)+) = self;
                let shape: $Dim = common_shape(&[$($a.shape()),+])?;
                Ok(($(replicated($a.clone(), &shape)?,)+))
            }
        }

        impl<'a, $($A: Sync, $D: Dimension,)+ $($O: Dimension),*> ZipRefs
            for ($(ArrayView<'a, $A, $D>,)+)
        where
            $($L: DimMax<$R, Output = $O>,)*
        {
            type Refs = tuple_type!($(&'a $A),+);

            fn map_collect_ref<C: Send>(
                &self,
                f: impl Fn(Self::Refs) -> C + Sync,
            ) -> Result<Array<C, Self::Dim>, BroadcastError> {
                let ($($a,)+) = self.broadcast()?;
                let dim = first!($($a),+).raw_dim();
                collect(dim, ($(Source::new(&$a),)+), |($($a,)+)| f(tuple!($($a),+)))
            }

            fn map_assign_into_ref<C: Send>(
                &self,
                out: &mut ArrayRef<C, Self::Dim>,
                f: impl Fn(Self::Refs) -> C + Sync,
            ) -> Result<(), BroadcastError> {
                let ($($a,)+) = self.broadcast()?;
                overwrite(out, ($(Source::new(&$a),)+), |($($a,)+)| f(tuple!($($a),+)))
            }

            fn update_ref<X: Send, Y: Dimension>(
                &self,
                x: &mut ArrayRef<X, Y>,
                f: impl Fn(&mut X, Self::Refs) + Sync,
            ) -> Result<(), BroadcastError> {
                let ($($a,)+) = self;
                let shape = x.raw_dim();
                $(let $a = replicated($a.clone(), &shape).map_err(named(stringify!($a)))?;)+
                update(x, ($(Source::new(&$a),)+), |x, ($($a,)+)| f(x, tuple!($($a),+)))
            }
        }

        #[diagnostic::do_not_recommend]
        impl<'a, $($A: Copy + Send + Sync, $D: Dimension,)+ $($O: Dimension),*> ZipValues
            for ($(ArrayView<'a, $A, $D>,)+)
        where
            $($L: DimMax<$R, Output = $O>,)*
        {
            type Values = tuple_type!($($A),+);

            fn map_collect<C: Send>(
                &self,
                f: impl Fn(Self::Values) -> C + Sync,
            ) -> Result<Array<C, Self::Dim>, BroadcastError> {
                let ($($a,)+) = self.broadcast()?;
                let dim = first!($($a),+).raw_dim();
                collect(dim, ($(Values::new(&$a),)+), |($($a,)+)| f(tuple!($($a),+)))
            }

            fn try_map_collect<C: Copy + Send, E: Send>(
                &self,
                f: impl Fn(Self::Values) -> Result<C, E> + Sync,
            ) -> Result<Result<Array<C, Self::Dim>, E>, BroadcastError> {
                let ($($a,)+) = self.broadcast()?;
                let dim = first!($($a),+).raw_dim();
                try_collect(dim, ($(Values::new(&$a),)+), |($($a,)+)| f(tuple!($($a),+)))
            }

            fn map_assign_into<C: Send>(
                &self,
                out: &mut ArrayRef<C, Self::Dim>,
                f: impl Fn(Self::Values) -> C + Sync,
            ) -> Result<(), BroadcastError> {
                let ($($a,)+) = self.broadcast()?;
                overwrite(out, ($(Values::new(&$a),)+), |($($a,)+)| f(tuple!($($a),+)))
            }

            fn map_collect_two<C: Copy + Send, E: Copy + Send>(
                &self,
                f: impl Fn(Self::Values) -> (C, E) + Sync,
            ) -> Result<(Array<C, Self::Dim>, Array<E, Self::Dim>), BroadcastError> {
                let ($($a,)+) = self.broadcast()?;
                let dim = first!($($a),+).raw_dim();
                collect_two(dim, ($(Values::new(&$a),)+), |($($a,)+)| f(tuple!($($a),+)))
            }

            fn map_assign_into_two<C: Send, E: Send>(
                &self,
                first: &mut ArrayRef<C, Self::Dim>,
                second: &mut ArrayRef<E, Self::Dim>,
                f: impl Fn(Self::Values) -> (C, E) + Sync,
            ) -> Result<(), BroadcastError> {
                let ($($a,)+) = self.broadcast()?;
                check_shape(ArrayRole::SecondOut, first!($($a),+).shape(), second.shape())?;
                let inputs = ($(Values::new(&$a),)+ Second::new(second));
                overwrite(first, inputs, |($($a,)+ second)| {
                    let (c, e) = f(tuple!($($a),+));
                    *second = e;
                    c
                })
            }

            fn update<X: Send, Y: Dimension>(
                &self,
                x: &mut ArrayRef<X, Y>,
                f: impl Fn(&mut X, Self::Values) + Sync,
            ) -> Result<(), BroadcastError> {
                let ($($a,)+) = self;
                let shape = x.raw_dim();
                $(let $a = replicated($a.clone(), &shape).map_err(named(stringify!($a)))?;)+
                update(x, ($(Values::new(&$a),)+), |x, ($($a,)+)| f(x, tuple!($($a),+)))
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
