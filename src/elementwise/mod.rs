//! [`ElementwiseExt`]: a closure over arrays that are broadcast with each other.
#![forbid(unsafe_code)]

mod zip;

pub use zip::{Zip, zip};

use crate::co_broadcast::broadcast_pair;
use crate::engine::inputs::Values;
use crate::engine::rows::{collect, overwrite, update};
use crate::error::{ArrayRole, BroadcastError, check_shape};
use crate::ext::BroadcastExt;
use crate::mode::ElementwiseRule;
use ndarray::{Array, ArrayRef, DimMax, Dimension};
use std::borrow::{Borrow, BorrowMut};

/// Elementwise operations of two arrays that are broadcast with each other: what ndarray's
/// operators and `Zip` do, under any rule, in parallel, with an error where those panic.
///
/// For everything that has [`BroadcastExt`]: every `ArrayBase` (owned arrays, views, `ArcArray`,
/// `CowArray`) and `ArrayRef`, of any layouts and ranks. [`zip`] takes up to six arrays, and
/// elements that are not `Copy`.
///
/// | | two arrays, any [`ElementwiseRule`] | up to six arrays, NumPy's rule |
/// |---|---|---|
/// | a new array | [`zip_map`](Self::zip_map) | [`Zip::map`] |
/// | into an existing one | [`zip_map_into`](Self::zip_map_into) | [`Zip::map_into`] |
/// | in place | [`zip_map_inplace`](Self::zip_map_inplace) | [`Zip::update`] |
/// | two arrays | | [`Zip::map_two`], [`Zip::map_two_into`] |
///
/// The closure is called once for each element of the output, in no particular order, and with the
/// feature `rayon` from several threads at a time. If it panics, the panic reaches the caller after
/// the other threads have stopped: of a new array the elements that exist are dropped, once; an
/// existing array keeps valid elements, of which some are new.
///
/// A closure must not wait for all threads of the rayon pool at once, as `rayon::broadcast` does:
/// the calling thread may be parked until the closure returns on another thread.
///
/// Nothing is allocated but the new array (and, for ranks above 4, what ndarray needs for `IxDyn`
/// shapes).
pub trait ElementwiseExt: BroadcastExt {
    /// A new array of `f(a, b)`, for `self` and `other` broadcast with each other under `rule`.
    ///
    /// ```text
    /// self        8  1  6  1
    /// other          7  1  5
    ///            -----------
    /// result      8  7  6  5   (numpy)
    /// ```
    ///
    /// The result has the common shape, in standard layout. What each rule asks for:
    /// [`broadcast_pair`](crate::broadcast_pair).
    ///
    /// # Errors
    ///
    /// Those of the rule; [`OutputTooLarge`](crate::ErrorKind::OutputTooLarge),
    /// [`AllocationFailed`](crate::ErrorKind::AllocationFailed) if the result does not fit into
    /// memory.
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::{Array4, array};
    /// use ndarray_broadcast::prelude::*;
    ///
    /// let activations = Array4::<f32>::ones((2, 3, 4, 4));
    /// let bias = array![10., 20., 30.];
    /// let biased = activations.zip_map(&bias, ElementwiseRule::Pdpd { axis: 1 }, |&a, &b| a + b)?;
    /// assert_eq!(biased.shape(), [2, 3, 4, 4]);
    /// assert_eq!(biased[[1, 2, 0, 3]], 31.);
    ///
    /// let (words, wanted) = (array!["a", "bc", "def"], array![[1], [2]]);
    /// let fits = words.zip_map(&wanted, ElementwiseRule::Numpy, |word, &len| word.len() == len)?;
    /// assert_eq!(fits, array![[true, false, false], [false, true, false]]);
    /// # Ok::<(), BroadcastError>(())
    /// ```
    ///
    /// Source: NumPy's universal functions; OpenVINO's, PaddlePaddle's and XLA's elementwise
    /// operations.
    fn zip_map<T, C: Send, O: Dimension, F>(
        &self,
        other: &T,
        rule: impl Borrow<ElementwiseRule>,
        f: F,
    ) -> Result<Array<C, O>, BroadcastError>
    where
        T: BroadcastExt<Elem: Copy + Send + Sync> + ?Sized,
        Self::Dim: DimMax<T::Dim, Output = O>,
        Self::Elem: Copy + Send + Sync,
        F: Fn(&Self::Elem, &T::Elem) -> C + Sync,
    {
        let (a, b) = broadcast_pair(self.as_array(), other.as_array(), rule)?;
        let inputs = (Values::new(&a), Values::new(&b));
        collect(a.raw_dim(), inputs, |(a, b)| f(&a, &b))
    }

    /// `f(a, b)` into the existing array `out`, for `self` and `other` broadcast with each other
    /// under `rule`.
    ///
    /// `out` has the common shape and any layout: a slice or a transposed view will do. Its old
    /// values are dropped. Big outputs are written past the cache.
    ///
    /// # Errors
    ///
    /// Those of the rule; [`WrongShape`](crate::ErrorKind::WrongShape) if `out` has not the common
    /// shape. Then nothing is written.
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::{Array2, array, s};
    /// use ndarray_broadcast::prelude::*;
    ///
    /// let (column, row) = (array![[1.], [2.]], array![10., 20., 30.]);
    /// let mut table = Array2::<f64>::zeros((2, 4));
    /// let mut out = table.slice_mut(s![.., 1..]);
    /// column.zip_map_into(&row, ElementwiseRule::Numpy, &mut out, |a, b| a * b)?;
    /// assert_eq!(table, array![[0., 10., 20., 30.], [0., 20., 40., 60.]]);
    /// # Ok::<(), BroadcastError>(())
    /// ```
    ///
    /// Source: NumPy's universal functions with `out`.
    fn zip_map_into<T, C: Send, O: Dimension, F>(
        &self,
        other: &T,
        rule: impl Borrow<ElementwiseRule>,
        out: &mut ArrayRef<C, O>,
        f: F,
    ) -> Result<(), BroadcastError>
    where
        T: BroadcastExt<Elem: Copy + Send + Sync> + ?Sized,
        Self::Dim: DimMax<T::Dim, Output = O>,
        Self::Elem: Copy + Send + Sync,
        F: Fn(&Self::Elem, &T::Elem) -> C + Sync,
    {
        let (a, b) = broadcast_pair(self.as_array(), other.as_array(), rule)?;
        let inputs = (Values::new(&a), Values::new(&b));
        overwrite(out, inputs, |(a, b)| f(&a, &b))
    }

    /// Calls `f(&mut a, &b)` for each element of `self`, with `other` broadcast to it under `rule`.
    ///
    /// `self` keeps its shape: what the rule makes of the two must be just that.
    ///
    /// # Errors
    ///
    /// Those of the rule; [`WrongShape`](crate::ErrorKind::WrongShape) if `self` would have to be
    /// broadcast too. Then nothing is changed.
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::{Array4, array};
    /// use ndarray_broadcast::prelude::*;
    ///
    /// let mut activations = Array4::<f32>::ones((2, 3, 4, 4));
    /// let bias = array![10., 20., 30.];
    /// activations.zip_map_inplace(&bias, ElementwiseRule::Pdpd { axis: 1 }, |a, b| *a += b)?;
    /// assert_eq!(activations[[1, 2, 0, 3]], 31.);
    ///
    /// let mut row = array![1., 2., 3.];
    /// let column = array![[1.], [2.]];
    /// assert!(row.zip_map_inplace(&column, ElementwiseRule::Numpy, |a, b| *a += b).is_err());
    /// # Ok::<(), BroadcastError>(())
    /// ```
    ///
    /// Source: NumPy's augmented assignment, `a += b`.
    fn zip_map_inplace<T, F>(
        &mut self,
        other: &T,
        rule: impl Borrow<ElementwiseRule>,
        f: F,
    ) -> Result<(), BroadcastError>
    where
        Self: BorrowMut<ArrayRef<Self::Elem, Self::Dim>>,
        T: BroadcastExt<Elem: Copy + Send + Sync> + ?Sized,
        Self::Dim: DimMax<T::Dim>,
        Self::Elem: Send,
        F: Fn(&mut Self::Elem, &T::Elem) + Sync,
    {
        let (_, b) = broadcast_pair(self.as_array(), other.as_array(), rule)?;
        // Before the mutable borrow, which copies an array that is shared.
        check_shape(ArrayRole::Out, b.shape(), self.as_array().shape())?;
        update(self.borrow_mut(), (Values::new(&b),), |a, (b,)| f(a, &b))
    }
}

impl<T: BroadcastExt + ?Sized> ElementwiseExt for T {}
