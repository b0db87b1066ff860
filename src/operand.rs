//! The arrays that the extension traits and functions take. The traits are sealed: their methods
//! stand in private supertraits.

use ndarray::{ArrayBase, ArrayRef, ArrayView, Data, Dimension};

pub(crate) use sealed::Operand;
use sealed::ToView;

mod sealed {
    use ndarray::{ArrayRef, ArrayView, Dimension};

    /// An array of any kind: the sealed supertrait of the extension traits.
    #[diagnostic::on_unimplemented(
        message = "`{Self}` is not an array or a view",
        note = "a scalar is captured by the closure; of a pointer to an array, pass `&*a`"
    )]
    pub trait Operand {
        /// Type of the elements.
        type Elem;
        /// Dimension type.
        type Dim: Dimension;

        /// The array, without its kind of storage.
        fn as_array(&self) -> &ArrayRef<Self::Elem, Self::Dim>;
    }

    /// The sealed supertrait of [`IntoView`](super::IntoView).
    #[diagnostic::on_unimplemented(
        message = "`{Self}` is not a reference to an array, or a view",
        note = "pass an owned array as `&a`; a scalar is captured by the closure",
        note = "an array is changed in place by `zip((&a, &b)).update(&mut x, |x, (a, b)| ..)`"
    )]
    pub trait ToView<'a> {
        /// Type of the elements.
        type Elem: 'a;
        /// Dimension type.
        type Dim: Dimension;

        /// The view.
        fn into_view(self) -> ArrayView<'a, Self::Elem, Self::Dim>;
    }
}

impl<A, S: Data<Elem = A>, D: Dimension> Operand for ArrayBase<S, D> {
    type Elem = A;
    type Dim = D;

    #[inline]
    fn as_array(&self) -> &ArrayRef<A, D> {
        self
    }
}

impl<A, D: Dimension> Operand for ArrayRef<A, D> {
    type Elem = A;
    type Dim = D;

    #[inline]
    fn as_array(&self) -> &ArrayRef<A, D> {
        self
    }
}

impl<T: Operand + ?Sized> Operand for &T {
    type Elem = T::Elem;
    type Dim = T::Dim;

    #[inline]
    fn as_array(&self) -> &ArrayRef<T::Elem, T::Dim> {
        (**self).as_array()
    }
}

/// A reference to an array, or a view by value: what
/// [`broadcast_pair`](crate::broadcast_pair), [`zip`](crate::zip) and
/// [`openvino::Broadcast::evaluate`](crate::openvino::Broadcast::evaluate) take.
///
/// The views that these functions return live as long as the array, also if the view that they
/// take does not. The trait is sealed.
///
/// ```
/// use ndarray::{ArrayView1, ArrayView2, Axis, arr1, arr2};
/// use ndarray_broadcast::prelude::*;
///
/// fn as_rows(
///     a: ArrayView1<'_, i32>,
/// ) -> Result<ArrayView2<'_, i32>, BroadcastError> {
///     let column = a.insert_axis(Axis(1));
///     let (rows, _) =
///         broadcast_pair(column, &arr2(&[[0, 0]]), ElementwiseRule::Numpy)?;
///     Ok(rows)
/// }
///
/// assert_eq!(as_rows(arr1(&[1, 2]).view())?, arr2(&[[1, 1], [2, 2]]));
/// # Ok::<(), BroadcastError>(())
/// ```
pub trait IntoView<'a>: ToView<'a> {}

impl<'a, T: ToView<'a>> IntoView<'a> for T {}

impl<'a, A, D: Dimension> ToView<'a> for ArrayView<'a, A, D> {
    type Elem = A;
    type Dim = D;

    #[inline]
    fn into_view(self) -> ArrayView<'a, A, D> {
        self
    }
}

impl<'a, T: Operand + ?Sized> ToView<'a> for &'a T {
    type Elem = T::Elem;
    type Dim = T::Dim;

    #[inline]
    fn into_view(self) -> ArrayView<'a, T::Elem, T::Dim> {
        self.as_array().view()
    }
}
