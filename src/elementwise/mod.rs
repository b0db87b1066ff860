//! [`ElementwiseExt`]: a closure over arrays that are broadcast with each other.
#![forbid(unsafe_code)]

mod zip;

pub use zip::{Zip, zip};

use crate::engine::inputs::Values;
use crate::engine::rows::{collect, overwrite, update};
use crate::error::{ArrayRole, BroadcastError, check_shape};
use crate::ext::BroadcastExt;
use crate::mode::ElementwiseRule;
use ndarray::{Array, ArrayRef, DimMax, Dimension};
use std::borrow::{Borrow, BorrowMut};

/// Elementwise operations of two arrays that are broadcast with each other, by any rule and in
/// parallel.
///
/// Where ndarray's operators and `Zip` panic, they return an error.
///
/// For everything that has [`BroadcastExt`]: every `ArrayBase` (owned arrays, views, `ArcArray`,
/// `CowArray`) and `ArrayRef`, of any layouts and ranks. [`zip`] takes up to six arrays.
///
/// The elements are `Copy`. For others there are [`Zip::map_ref`], [`Zip::map_ref_into`] and
/// [`Zip::update_ref`]. They take views, so any rule can come first:
/// `let (a, b) = broadcast_pair(&a, &b, rule)?; zip((a, b)).map_ref(f)`.
///
/// | | two arrays, NumPy's rule | two arrays, any [`ElementwiseRule`] | up to six arrays, NumPy's rule |
/// |---|---|---|---|
/// | a new array | [`zip_map`](Self::zip_map) | [`zip_map_rule`](Self::zip_map_rule) | [`Zip::map`] |
/// | into an existing one | [`zip_map_into`](Self::zip_map_into) | [`zip_map_rule_into`](Self::zip_map_rule_into) | [`Zip::map_into`] |
/// | in place | [`zip_map_inplace`](Self::zip_map_inplace) | [`zip_map_rule_inplace`](Self::zip_map_rule_inplace) | [`Zip::update`] |
/// | two results, new or existing | | | [`Zip::map_two`], [`Zip::map_two_into`] |
///
/// The closure is called once for each element of the output, in no particular order, and with the
/// feature `rayon` from several threads at a time. If it panics, the panic reaches the caller after
/// the other threads have stopped: of a new array the elements that exist are dropped, once; an
/// existing array keeps valid elements, of which some are new.
///
/// A closure must not wait for all threads of the rayon pool at once, as `rayon::broadcast` does:
/// the calling thread may be parked until the closure returns on another thread.
///
/// The calling thread alone computes an output of up to 16 KiB, or of up to 1024 elements that are
/// dropped, however slow the closure is. If all operands together have less than 512 KiB, it first
/// times a small part, and computes the rest alone if 20 us are enough for all at that speed.
///
/// # The order of new arrays
///
/// A new array keeps the order that the axes of its operands have in memory: the sum of two arrays
/// in Fortran order is in Fortran order, and NHWC memory that is seen as NCHW stays NHWC memory.
/// Two axes are compared by their absolute strides in each operand that does not replicate one of
/// them. Where operands disagree, or none tells, axes are in the order of standard layout. It is the
/// order "K" of NumPy. `*_into` methods write to arrays of any layout.
///
/// # Memory
///
/// Nothing is allocated but the new array, what ndarray needs for `IxDyn` shapes of rank above 4,
/// what [threads](crate::guide::soundness#memory) need, and a list of the axes if more than 8 of
/// them are longer than 1. If there is no memory for the list, a call returns
/// [`AllocationFailed`](crate::ErrorKind::AllocationFailed).
pub trait ElementwiseExt: BroadcastExt {
    /// A new array of `f(a, b)`, for `self` and `other` broadcast with each other by NumPy's rule.
    ///
    /// ```text
    /// self        8  1  6  1
    /// other          7  1  5
    ///            -----------
    /// result      8  7  6  5
    /// ```
    ///
    /// The result has the common shape and [the common order](Self#the-order-of-new-arrays).
    ///
    /// # Errors
    ///
    /// [`OperandMismatch`](crate::ErrorKind::OperandMismatch),
    /// [`ShapeOverflow`](crate::ErrorKind::ShapeOverflow);
    /// [`OutputTooLarge`](crate::ErrorKind::OutputTooLarge),
    /// [`AllocationFailed`](crate::ErrorKind::AllocationFailed) if the result does not fit into
    /// memory.
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::array;
    /// use ndarray_broadcast::prelude::*;
    ///
    /// let (words, wanted) = (array!["a", "bc", "def"], array![[1], [2]]);
    /// let fits = words.zip_map(&wanted, |word, &len| word.len() == len)?;
    /// assert_eq!(fits, array![[true, false, false], [false, true, false]]);
    /// # Ok::<(), BroadcastError>(())
    /// ```
    ///
    /// Source: NumPy's universal functions.
    #[doc(alias = "ufunc")]
    #[doc(alias = "outer")]
    #[doc(alias = "add")]
    #[doc(alias = "mul")]
    fn zip_map<T, C: Send, O: Dimension, F>(
        &self,
        other: &T,
        f: F,
    ) -> Result<Array<C, O>, BroadcastError>
    where
        T: BroadcastExt<Elem: Copy + Send + Sync> + ?Sized,
        Self::Dim: DimMax<T::Dim, Output = O>,
        Self::Elem: Copy + Send + Sync,
        F: Fn(&Self::Elem, &T::Elem) -> C + Sync,
    {
        self.zip_map_rule(other, ElementwiseRule::Numpy, f)
    }

    /// A new array of `f(a, b)`, for `self` and `other` broadcast with each other under `rule`.
    ///
    /// The result has the common shape and [the common order](Self#the-order-of-new-arrays). What
    /// each rule asks for: [`broadcast_pair`](crate::broadcast_pair).
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
    /// let images = Array4::<f32>::ones((2, 3, 4, 4)); // [N, C, H, W]
    /// let bias = array![10., 20., 30.]; // [C]
    /// let biased =
    ///     images.zip_map_rule(&bias, ElementwiseRule::channel(1), |x, b| x + b)?;
    /// assert_eq!(biased.shape(), [2, 3, 4, 4]);
    /// assert_eq!(biased[[1, 2, 0, 3]], 31.);
    /// # Ok::<(), BroadcastError>(())
    /// ```
    ///
    /// Source: OpenVINO's, PaddlePaddle's and XLA's elementwise operations.
    #[doc(alias = "bias_add")]
    fn zip_map_rule<T, C: Send, O: Dimension, F>(
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
        let (a, b) = self.broadcast_with_rule(other, rule)?;
        let inputs = (Values::new(&a), Values::new(&b));
        collect(a.raw_dim(), inputs, |(a, b)| f(&a, &b))
    }

    /// [`zip_map`](Self::zip_map) into the existing array `out`.
    ///
    /// `out` has the common shape and any layout: a slice or a transposed view will do. Its old
    /// values are dropped. To write memory that is not initialised yet, let the elements of `out`
    /// be [`MaybeUninit`](std::mem::MaybeUninit), and the closure return them.
    ///
    /// # Errors
    ///
    /// [`OperandMismatch`](crate::ErrorKind::OperandMismatch),
    /// [`ShapeOverflow`](crate::ErrorKind::ShapeOverflow),
    /// [`WrongShape`](crate::ErrorKind::WrongShape) if `out` does not have the common shape,
    /// [`AllocationFailed`](crate::ErrorKind::AllocationFailed). No element has changed then.
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::{Array2, array, s};
    /// use ndarray_broadcast::prelude::*;
    /// use std::mem::MaybeUninit;
    ///
    /// let (column, row) = (array![[1.], [2.]], array![10., 20., 30.]);
    /// let mut table = Array2::<f64>::zeros((2, 4));
    /// column.zip_map_into(&row, &mut table.slice_mut(s![.., 1..]), |a, b| a * b)?;
    /// assert_eq!(table, array![[0., 10., 20., 30.], [0., 20., 40., 60.]]);
    ///
    /// let mut arena = Array2::<f64>::uninit((2, 3));
    /// column.zip_map_into(&row, &mut arena, |a, b| MaybeUninit::new(a * b))?;
    /// // SAFETY: the call has written every element.
    /// let product = unsafe { arena.assume_init() };
    /// assert_eq!(product, array![[10., 20., 30.], [20., 40., 60.]]);
    /// # Ok::<(), BroadcastError>(())
    /// ```
    ///
    /// Source: NumPy's universal functions with `out`.
    fn zip_map_into<T, C: Send, O: Dimension, F>(
        &self,
        other: &T,
        out: &mut ArrayRef<C, O>,
        f: F,
    ) -> Result<(), BroadcastError>
    where
        T: BroadcastExt<Elem: Copy + Send + Sync> + ?Sized,
        Self::Dim: DimMax<T::Dim, Output = O>,
        Self::Elem: Copy + Send + Sync,
        F: Fn(&Self::Elem, &T::Elem) -> C + Sync,
    {
        self.zip_map_rule_into(other, ElementwiseRule::Numpy, out, f)
    }

    /// [`zip_map_rule`](Self::zip_map_rule) into the existing array `out`, as
    /// [`zip_map_into`](Self::zip_map_into).
    ///
    /// # Errors
    ///
    /// Those of the rule; [`WrongShape`](crate::ErrorKind::WrongShape) if `out` does not have the
    /// common shape; [`AllocationFailed`](crate::ErrorKind::AllocationFailed). No element has
    /// changed then.
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::{Array2, array};
    /// use ndarray_broadcast::prelude::*;
    ///
    /// let (x, scale) = (array![[1, 2, 3], [4, 5, 6]], array![10, 100]);
    /// let mut out = Array2::zeros((2, 3));
    /// x.zip_map_rule_into(&scale, ElementwiseRule::channel(0), &mut out, |x, s| {
    ///     x * s
    /// })?;
    /// assert_eq!(out, array![[10, 20, 30], [400, 500, 600]]);
    /// # Ok::<(), BroadcastError>(())
    /// ```
    ///
    /// Source: that of the rule, as in [`broadcast_pair`](crate::broadcast_pair).
    fn zip_map_rule_into<T, C: Send, O: Dimension, F>(
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
        let (a, b) = self.broadcast_with_rule(other, rule)?;
        let inputs = (Values::new(&a), Values::new(&b));
        overwrite(out, inputs, |(a, b)| f(&a, &b))
    }

    /// Calls `f(&mut a, &b)` for each element of `self`, with `other` broadcast to it by NumPy's
    /// rule.
    ///
    /// `self` keeps its shape.
    ///
    /// # Errors
    ///
    /// [`OperandMismatch`](crate::ErrorKind::OperandMismatch),
    /// [`ShapeOverflow`](crate::ErrorKind::ShapeOverflow),
    /// [`WrongShape`](crate::ErrorKind::WrongShape) if `self` would have to be broadcast too,
    /// [`AllocationFailed`](crate::ErrorKind::AllocationFailed). No element has changed then.
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::array;
    /// use ndarray_broadcast::prelude::*;
    ///
    /// let mut x = array![[1., 2., 3.], [4., 5., 6.]];
    /// x.zip_map_inplace(&array![10., 20., 30.], |x, shift| *x += shift)?;
    /// assert_eq!(x, array![[11., 22., 33.], [14., 25., 36.]]);
    ///
    /// let mut row = array![1., 2., 3.];
    /// let column = array![[1.], [2.]];
    /// assert_eq!(
    ///     row.zip_map_inplace(&column, |a, b| *a += b).unwrap_err().to_string(),
    ///     "\
    /// self has shape [3], expected [2, 3]
    ///   found      3
    ///   expected   2  3
    ///   ranks 1 and 2 differ; an operation in place does not broadcast self",
    /// );
    /// # Ok::<(), BroadcastError>(())
    /// ```
    ///
    /// Source: NumPy's augmented assignment, `a += b`.
    #[doc(alias = "iadd")]
    fn zip_map_inplace<T, F>(&mut self, other: &T, f: F) -> Result<(), BroadcastError>
    where
        Self: BorrowMut<ArrayRef<Self::Elem, Self::Dim>>,
        T: BroadcastExt<Elem: Copy + Send + Sync> + ?Sized,
        Self::Dim: DimMax<T::Dim>,
        Self::Elem: Send,
        F: Fn(&mut Self::Elem, &T::Elem) + Sync,
    {
        self.zip_map_rule_inplace(other, ElementwiseRule::Numpy, f)
    }

    /// Calls `f(&mut a, &b)` for each element of `self`, with `other` broadcast to it under `rule`.
    ///
    /// `self` keeps its shape. The common shape under the rule must be the shape of `self`.
    ///
    /// # Errors
    ///
    /// Those of the rule; [`WrongShape`](crate::ErrorKind::WrongShape) if `self` would have to be
    /// broadcast too; [`AllocationFailed`](crate::ErrorKind::AllocationFailed). No element has
    /// changed then.
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::{Array4, array};
    /// use ndarray_broadcast::prelude::*;
    ///
    /// let mut images = Array4::<f32>::ones((2, 3, 4, 4));
    /// let bias = array![10., 20., 30.];
    /// images
    ///     .zip_map_rule_inplace(&bias, ElementwiseRule::channel(1), |x, b| *x += b)?;
    /// assert_eq!(images[[1, 2, 0, 3]], 31.);
    /// # Ok::<(), BroadcastError>(())
    /// ```
    ///
    /// Source: that of the rule, as in [`broadcast_pair`](crate::broadcast_pair).
    fn zip_map_rule_inplace<T, F>(
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
        let (_, b) = self.broadcast_with_rule(other, rule)?;
        // Before the mutable borrow, which copies an array that is shared.
        check_shape(ArrayRole::Receiver, b.shape(), self.as_array().shape())?;
        update(self.borrow_mut(), (Values::new(&b),), |a, (b,)| f(a, &b))
    }
}

impl<T: BroadcastExt + ?Sized> ElementwiseExt for T {}
