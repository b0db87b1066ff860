//! Maps of one to six arrays of one common shape.

use crate::co_broadcast::{common_shape, replicated};
use crate::engine::inputs::{Second, Source, Values};
use crate::engine::rows::{collect, collect_two, overwrite, update};
use crate::error::{ArrayRole, BroadcastError, check_shape, named};
use crate::operand::IntoView;
use ndarray::{Array, ArrayRef, ArrayView, DimMax, Dimension};

/// Arrays that are mapped together, element by element: [`zip`] makes one.
#[derive(Debug, Clone)]
#[must_use = "a zip does nothing until it is mapped"]
pub struct Zip<V> {
    views: V,
}

/// Takes one to six arrays, in a tuple, to map them together under NumPy's rule.
///
/// The arrays are references to arrays or views by value. Their shapes are aligned at the last
/// axes; axes of size 1 replicate. Ranks and element types may differ. An array that is broadcast
/// by another rule is passed as a view: `zip((&a, b.broadcast_pdpd(shape, 1)?))`. Errors call the
/// arrays `a`, `b`, `c` and so on, in the order of the tuple.
///
/// A closure takes a tuple of elements. It runs on several threads where that pays, in no
/// particular order.
///
/// # Example
///
/// ```
/// use ndarray::array;
/// use ndarray_broadcast::{BroadcastError, zip};
///
/// # fn main() -> Result<(), BroadcastError> {
/// let x = array![[1.0, 2.0], [3.0, 5.0]];
/// let (mean, scale, shift) = (array![2.0, 3.5], array![[2.0], [10.0]], 0.5);
/// let y = zip((&x, &mean, &scale))
///     .map(|(x, mean, scale)| (x - mean) * scale + shift)?;
/// assert_eq!(y, array![[-1.5, -2.5], [10.5, 15.5]]);
/// # Ok(())
/// # }
/// ```
///
/// The rule is that of [NumPy](https://numpy.org/doc/stable/user/basics.broadcasting.html).
#[doc(alias = "where")]
#[doc(alias = "select")]
#[doc(alias = "vectorize")]
#[inline]
pub fn zip<'a, T: ZipOperands<'a>>(operands: T) -> Zip<T::Views> {
    Zip {
        views: operands.views(),
    }
}

impl<V: ZipViews> Zip<V> {
    /// The views of the arrays in their common shape.
    ///
    /// # Errors
    ///
    /// [`OperandMismatch`](crate::ErrorKind::OperandMismatch),
    /// [`ShapeOverflow`](crate::ErrorKind::ShapeOverflow).
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::array;
    /// use ndarray_broadcast::{BroadcastError, zip};
    ///
    /// # fn main() -> Result<(), BroadcastError> {
    /// let (row, column, letter) = (array![1, 2], array![[3.0], [4.0]], array!['x']);
    /// let (a, b, c) = zip((&row, &column, &letter)).views()?;
    /// assert_eq!(a, array![[1, 2], [1, 2]]);
    /// assert_eq!(b, array![[3.0, 3.0], [4.0, 4.0]]);
    /// assert_eq!(c, array![['x', 'x'], ['x', 'x']]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn views(&self) -> Result<V::Broadcast, BroadcastError> {
        self.views.broadcast()
    }

    /// A new array of what `f` returns for each tuple of elements.
    ///
    /// [`map_ref`](Self::map_ref) is for elements that are not `Copy`.
    ///
    /// # Errors
    ///
    /// [`OperandMismatch`](crate::ErrorKind::OperandMismatch),
    /// [`ShapeOverflow`](crate::ErrorKind::ShapeOverflow),
    /// [`OutputTooLarge`](crate::ErrorKind::OutputTooLarge),
    /// [`AllocationFailed`](crate::ErrorKind::AllocationFailed).
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::array;
    /// use ndarray_broadcast::{BroadcastError, zip};
    ///
    /// # fn main() -> Result<(), BroadcastError> {
    /// let (image, mask) = (array![[10_u8, 20], [30, 40]], array![true, false]);
    /// let kept = zip((&image, &mask))
    ///     .map(|(pixel, keep)| keep.then_some(f32::from(pixel)))?;
    /// assert_eq!(kept, array![[Some(10.0), None], [Some(30.0), None]]);
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "masked_fill")]
    #[doc(alias = "addcmul")]
    pub fn map<C: Send, F>(&self, f: F) -> Result<Array<C, V::Dim>, BroadcastError>
    where
        V: ZipValues,
        F: Fn(V::Values) -> C + Sync,
    {
        self.views.map(f)
    }

    /// [`map`](Self::map) into an existing array of the common shape, whose elements are replaced.
    ///
    /// # Errors
    ///
    /// [`OperandMismatch`](crate::ErrorKind::OperandMismatch),
    /// [`ShapeOverflow`](crate::ErrorKind::ShapeOverflow),
    /// [`WrongShape`](crate::ErrorKind::WrongShape),
    /// [`AllocationFailed`](crate::ErrorKind::AllocationFailed). No element has changed then.
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::{Array2, array};
    /// use ndarray_broadcast::{BroadcastError, zip};
    ///
    /// # fn main() -> Result<(), BroadcastError> {
    /// let mut out = Array2::zeros((2, 2));
    /// zip((&array![1, 2], &array![[10], [20]])).map_into(&mut out, |(a, b)| a + b)?;
    /// assert_eq!(out, array![[11, 12], [21, 22]]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn map_into<C: Send, F>(
        &self,
        out: &mut ArrayRef<C, V::Dim>,
        f: F,
    ) -> Result<(), BroadcastError>
    where
        V: ZipValues,
        F: Fn(V::Values) -> C + Sync,
    {
        self.views.map_into(out, f)
    }

    /// Two new arrays, of the two values that `f` returns for each tuple of elements.
    ///
    /// The elements of the results must be `Copy`. Those of [`map`](Self::map) and
    /// [`map_two_into`](Self::map_two_into) need not.
    ///
    /// # Errors
    ///
    /// As [`map`](Self::map).
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::array;
    /// use ndarray_broadcast::{BroadcastError, zip};
    ///
    /// # fn main() -> Result<(), BroadcastError> {
    /// let (a, b) = (array![7, 9], array![[2], [4]]);
    /// let (quotient, rest) = zip((&a, &b)).map_two(|(a, b)| (a / b, a % b))?;
    /// assert_eq!(quotient, array![[3, 4], [1, 2]]);
    /// assert_eq!(rest, array![[1, 1], [3, 1]]);
    /// # Ok(())
    /// # }
    /// ```
    #[allow(clippy::type_complexity)]
    pub fn map_two<C, E, F>(
        &self,
        f: F,
    ) -> Result<(Array<C, V::Dim>, Array<E, V::Dim>), BroadcastError>
    where
        V: ZipValues,
        C: Copy + Send,
        E: Copy + Send,
        F: Fn(V::Values) -> (C, E) + Sync,
    {
        self.views.map_two(f)
    }

    /// [`map_two`](Self::map_two) into two existing arrays of the common shape.
    ///
    /// # Errors
    ///
    /// As [`map_into`](Self::map_into).
    ///
    /// # Example
    ///
    /// Rotary embedding: pairs of coordinates are rotated.
    ///
    /// ```
    /// use ndarray::{Array2, Axis, array};
    /// use ndarray_broadcast::{BroadcastError, zip};
    ///
    /// # fn main() -> Result<(), BroadcastError> {
    /// let x = array![[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]];
    /// let (cos, sin) = (array![0.0, 1.0], array![1.0, 0.0]);
    /// let (x1, x2) = x.view().split_at(Axis(1), 2);
    /// let mut y = Array2::zeros((2, 4));
    /// let (mut y1, mut y2) = y.view_mut().split_at(Axis(1), 2);
    /// zip((x1, x2, &cos, &sin)).map_two_into(&mut y1, &mut y2, |(x1, x2, cos, sin)| {
    ///     (x1 * cos - x2 * sin, x1 * sin + x2 * cos)
    /// })?;
    /// assert_eq!(y, array![[-3.0, 2.0, 1.0, 4.0], [-7.0, 6.0, 5.0, 8.0]]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn map_two_into<C: Send, E: Send, F>(
        &self,
        first: &mut ArrayRef<C, V::Dim>,
        second: &mut ArrayRef<E, V::Dim>,
        f: F,
    ) -> Result<(), BroadcastError>
    where
        V: ZipValues,
        F: Fn(V::Values) -> (C, E) + Sync,
    {
        self.views.map_two_into(first, second, f)
    }

    /// Calls `f` with each element of `x` and the elements that broadcast to it.
    ///
    /// The arrays are broadcast to the shape of `x`; it is not broadcast.
    ///
    /// # Errors
    ///
    /// [`SizeMismatch`](crate::ErrorKind::SizeMismatch),
    /// [`RankTooLarge`](crate::ErrorKind::RankTooLarge),
    /// [`AllocationFailed`](crate::ErrorKind::AllocationFailed). No element has changed then.
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::array;
    /// use ndarray_broadcast::{BroadcastError, zip};
    ///
    /// # fn main() -> Result<(), BroadcastError> {
    /// let mut x = array![[1, 2], [3, 4]];
    /// zip((&array![10, 20], &array![[1], [2]]))
    ///     .update(&mut x, |x, (a, b)| *x += a * b)?;
    /// assert_eq!(x, array![[11, 22], [23, 44]]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn update<X: Send, D: Dimension, F>(
        &self,
        x: &mut ArrayRef<X, D>,
        f: F,
    ) -> Result<(), BroadcastError>
    where
        V: ZipValues,
        F: Fn(&mut X, V::Values) + Sync,
    {
        self.views.update(x, f)
    }

    /// [`map`](Self::map) with references to elements, which need not be `Copy`.
    ///
    /// # Errors
    ///
    /// As [`map`](Self::map).
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::{arr0, array};
    /// use ndarray_broadcast::{BroadcastError, zip};
    ///
    /// # fn main() -> Result<(), BroadcastError> {
    /// let names = array!["a".to_string(), "b".to_string()];
    /// let text = zip((&names, &array![[1], [2]]))
    ///     .map_ref(|(name, i)| format!("{name}{i}"))?;
    /// assert_eq!(text, array![["a1", "b1"], ["a2", "b2"]]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn map_ref<C: Send, F>(&self, f: F) -> Result<Array<C, V::Dim>, BroadcastError>
    where
        V: ZipRefs,
        F: Fn(V::Refs) -> C + Sync,
    {
        self.views.map_ref(f)
    }

    /// [`map_into`](Self::map_into) with references to elements, which need not be `Copy`.
    ///
    /// # Errors
    ///
    /// As [`map_into`](Self::map_into).
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::array;
    /// use ndarray_broadcast::{BroadcastError, zip};
    ///
    /// # fn main() -> Result<(), BroadcastError> {
    /// let names = array![String::from("ab"), String::from("c")];
    /// let mut lengths = array![0, 0];
    /// zip((&names,)).map_ref_into(&mut lengths, |(name,)| name.len())?;
    /// assert_eq!(lengths, array![2, 1]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn map_ref_into<C: Send, F>(
        &self,
        out: &mut ArrayRef<C, V::Dim>,
        f: F,
    ) -> Result<(), BroadcastError>
    where
        V: ZipRefs,
        F: Fn(V::Refs) -> C + Sync,
    {
        self.views.map_ref_into(out, f)
    }

    /// [`update`](Self::update) with references to elements, which need not be `Copy`.
    ///
    /// # Errors
    ///
    /// As [`update`](Self::update).
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::array;
    /// use ndarray_broadcast::{BroadcastError, zip};
    ///
    /// # fn main() -> Result<(), BroadcastError> {
    /// let mut words = array![String::from("ab"), String::from("c")];
    /// let end = array![String::from("x")];
    /// zip((&end,)).update_ref(&mut words, |word, (end,)| word.push_str(end))?;
    /// assert_eq!(words, array!["abx", "cx"]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn update_ref<X: Send, D: Dimension, F>(
        &self,
        x: &mut ArrayRef<X, D>,
        f: F,
    ) -> Result<(), BroadcastError>
    where
        V: ZipRefs,
        F: Fn(&mut X, V::Refs) + Sync,
    {
        self.views.update_ref(x, f)
    }
}

pub(crate) use sealed::{ZipOperands, ZipRefs, ZipValues, ZipViews};

mod sealed {
    use super::*;

    /// A tuple of one to six arrays.
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

        fn map_ref<C: Send>(
            &self,
            f: impl Fn(Self::Refs) -> C + Sync,
        ) -> Result<Array<C, Self::Dim>, BroadcastError>;

        fn map_ref_into<C: Send>(
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
    pub trait ZipValues: ZipViews {
        type Values;

        fn map<C: Send>(
            &self,
            f: impl Fn(Self::Values) -> C + Sync,
        ) -> Result<Array<C, Self::Dim>, BroadcastError>;

        fn map_into<C: Send>(
            &self,
            out: &mut ArrayRef<C, Self::Dim>,
            f: impl Fn(Self::Values) -> C + Sync,
        ) -> Result<(), BroadcastError>;

        #[allow(clippy::type_complexity)]
        fn map_two<C: Copy + Send, E: Copy + Send>(
            &self,
            f: impl Fn(Self::Values) -> (C, E) + Sync,
        ) -> Result<(Array<C, Self::Dim>, Array<E, Self::Dim>), BroadcastError>;

        fn map_two_into<C: Send, E: Send>(
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

macro_rules! first {
    ($first:ident $(, $rest:ident)*) => {
        $first
    };
}

/// Implements the traits for tuples: the elements and dimensions, then the rank of the common
/// shape and how it follows.
macro_rules! zip_tuples {
    (
        $($a:ident $A:ident $D:ident $T:ident),+; $Dim:ident;
        $($O:ident: $L:ident $R:ident),*
    ) => {
        impl<'a, $($T: IntoView<'a>),+> ZipOperands<'a> for ($($T,)+) {
            type Views = ($(ArrayView<'a, $T::Elem, $T::Dim>,)+);

            #[inline]
            fn views(self) -> Self::Views {
                let ($($a,)+) = self;
                ($($a.into_view(),)+)
            }
        }

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
            type Refs = ($(&'a $A,)+);

            fn map_ref<C: Send>(
                &self,
                f: impl Fn(Self::Refs) -> C + Sync,
            ) -> Result<Array<C, Self::Dim>, BroadcastError> {
                let ($($a,)+) = self.broadcast()?;
                let dim = first!($($a),+).raw_dim();
                collect(dim, ($(Source::new(&$a),)+), f)
            }

            fn map_ref_into<C: Send>(
                &self,
                out: &mut ArrayRef<C, Self::Dim>,
                f: impl Fn(Self::Refs) -> C + Sync,
            ) -> Result<(), BroadcastError> {
                let ($($a,)+) = self.broadcast()?;
                overwrite(out, ($(Source::new(&$a),)+), f)
            }

            fn update_ref<X: Send, Y: Dimension>(
                &self,
                x: &mut ArrayRef<X, Y>,
                f: impl Fn(&mut X, Self::Refs) + Sync,
            ) -> Result<(), BroadcastError> {
                let ($($a,)+) = self;
                let shape = x.raw_dim();
                $(let $a = replicated($a.clone(), &shape).map_err(named(stringify!($a)))?;)+
                update(x, ($(Source::new(&$a),)+), f)
            }
        }

        impl<'a, $($A: Copy + Send + Sync, $D: Dimension,)+ $($O: Dimension),*> ZipValues
            for ($(ArrayView<'a, $A, $D>,)+)
        where
            $($L: DimMax<$R, Output = $O>,)*
        {
            type Values = ($($A,)+);

            fn map<C: Send>(
                &self,
                f: impl Fn(Self::Values) -> C + Sync,
            ) -> Result<Array<C, Self::Dim>, BroadcastError> {
                let ($($a,)+) = self.broadcast()?;
                let dim = first!($($a),+).raw_dim();
                collect(dim, ($(Values::new(&$a),)+), f)
            }

            fn map_into<C: Send>(
                &self,
                out: &mut ArrayRef<C, Self::Dim>,
                f: impl Fn(Self::Values) -> C + Sync,
            ) -> Result<(), BroadcastError> {
                let ($($a,)+) = self.broadcast()?;
                overwrite(out, ($(Values::new(&$a),)+), f)
            }

            fn map_two<C: Copy + Send, E: Copy + Send>(
                &self,
                f: impl Fn(Self::Values) -> (C, E) + Sync,
            ) -> Result<(Array<C, Self::Dim>, Array<E, Self::Dim>), BroadcastError> {
                let ($($a,)+) = self.broadcast()?;
                let dim = first!($($a),+).raw_dim();
                collect_two(dim, ($(Values::new(&$a),)+), f)
            }

            fn map_two_into<C: Send, E: Send>(
                &self,
                first: &mut ArrayRef<C, Self::Dim>,
                second: &mut ArrayRef<E, Self::Dim>,
                f: impl Fn(Self::Values) -> (C, E) + Sync,
            ) -> Result<(), BroadcastError> {
                let ($($a,)+) = self.broadcast()?;
                check_shape(ArrayRole::SecondOut, first!($($a),+).shape(), second.shape())?;
                let inputs = ($(Values::new(&$a),)+ Second::new(second));
                overwrite(first, inputs, |($($a,)+ second)| {
                    let (c, e) = f(($($a,)+));
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
                update(x, ($(Values::new(&$a),)+), f)
            }
        }
    };
}

zip_tuples!(a A0 D0 T0; D0;);
zip_tuples!(a A0 D0 T0, b A1 D1 T1; O1; O1: D0 D1);
zip_tuples!(a A0 D0 T0, b A1 D1 T1, c A2 D2 T2; O2; O1: D0 D1, O2: O1 D2);
zip_tuples!(a A0 D0 T0, b A1 D1 T1, c A2 D2 T2, d A3 D3 T3; O3; O1: D0 D1, O2: O1 D2, O3: O2 D3);
zip_tuples!(
    a A0 D0 T0, b A1 D1 T1, c A2 D2 T2, d A3 D3 T3, e A4 D4 T4; O4;
    O1: D0 D1, O2: O1 D2, O3: O2 D3, O4: O3 D4
);
zip_tuples!(
    a A0 D0 T0, b A1 D1 T1, c A2 D2 T2, d A3 D3 T3, e A4 D4 T4, f A5 D5 T5; O5;
    O1: D0 D1, O2: O1 D2, O3: O2 D3, O4: O3 D4, O5: O4 D5
);
