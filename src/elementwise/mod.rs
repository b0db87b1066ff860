//! [`ElementwiseExt`]: a closure over arrays that are broadcast with each other.
#![forbid(unsafe_code)]

use crate::co_broadcast::{broadcast_pair, broadcast_triple};
use crate::engine::rows::{Source, collect, overwrite, update};
use crate::error::{ArrayRole, BroadcastError, check_shape};
use crate::ext::BroadcastExt;
use crate::mode::ElementwiseRule;
use ndarray::{Array, ArrayRef, DimMax, Dimension};
use std::borrow::{Borrow, BorrowMut};

/// Elementwise operations of two or three arrays that are broadcast with each other: what ndarray's
/// operators and `Zip` do, under any rule, in parallel, with an error where those panic.
///
/// For everything that has [`BroadcastExt`]: every `ArrayBase` (owned arrays, views, `ArcArray`,
/// `CowArray`) and `ArrayRef`, of any element types, layouts and ranks. No operand is copied:
/// closures are called with references to the arrays' own elements.
///
/// | | two arrays, any [`ElementwiseRule`] | three arrays, NumPy's rule | closure |
/// |---|---|---|---|
/// | a new array | [`zip_map`](Self::zip_map) | [`zip_map3`](Self::zip_map3) | `\|&a, &b\| a + b` |
/// | into an existing one | [`zip_map_into`](Self::zip_map_into) | [`zip_map3_into`](Self::zip_map3_into) | `\|&a, &b\| a + b` |
/// | in place | [`zip_map_inplace`](Self::zip_map_inplace) | [`zip_map3_inplace`](Self::zip_map3_inplace) | `\|a, &b\| *a += b` |
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
        T: BroadcastExt<Elem: Sync> + ?Sized,
        Self::Dim: DimMax<T::Dim, Output = O>,
        Self::Elem: Sync,
        F: Fn(&Self::Elem, &T::Elem) -> C + Sync,
    {
        let (a, b) = broadcast_pair(self.as_array(), other.as_array(), rule)?;
        let inputs = (Source::new(&a), Source::new(&b));
        collect(a.raw_dim(), inputs, |(a, b)| f(a, b))
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
        T: BroadcastExt<Elem: Sync> + ?Sized,
        Self::Dim: DimMax<T::Dim, Output = O>,
        Self::Elem: Sync,
        F: Fn(&Self::Elem, &T::Elem) -> C + Sync,
    {
        let (a, b) = broadcast_pair(self.as_array(), other.as_array(), rule)?;
        let inputs = (Source::new(&a), Source::new(&b));
        overwrite(out, inputs, |(a, b)| f(a, b))
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
        T: BroadcastExt<Elem: Sync> + ?Sized,
        Self::Dim: DimMax<T::Dim>,
        Self::Elem: Send,
        F: Fn(&mut Self::Elem, &T::Elem) + Sync,
    {
        let (_, b) = broadcast_pair(self.as_array(), other.as_array(), rule)?;
        // Before the mutable borrow, which copies an array that is shared.
        check_shape(ArrayRole::Out, b.shape(), self.as_array().shape())?;
        update(self.borrow_mut(), (Source::new(&b),), |a, (b,)| f(a, b))
    }

    /// A new array of `f(a, b, c)`, for three arrays broadcast with each other under NumPy's rule.
    ///
    /// The result has the common shape, in standard layout.
    ///
    /// # Errors
    ///
    /// Those of [`broadcast_triple`]; [`OutputTooLarge`](crate::ErrorKind::OutputTooLarge),
    /// [`AllocationFailed`](crate::ErrorKind::AllocationFailed) if the result does not fit into
    /// memory.
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::{arr0, array};
    /// use ndarray_broadcast::prelude::*;
    ///
    /// let mask = array![[true], [false]];
    /// let (x, y) = (array![1., 2., 3.], arr0(0.));
    /// let selected = mask.zip_map3(&x, &y, |&m, &x, &y| if m { x } else { y })?;
    /// assert_eq!(selected, array![[1., 2., 3.], [0., 0., 0.]]);
    /// # Ok::<(), BroadcastError>(())
    /// ```
    ///
    /// Source: NumPy `where`; NumPy's universal functions.
    fn zip_map3<T, U, C, O, F>(&self, b: &T, c: &U, f: F) -> Result<Array<C, O>, BroadcastError>
    where
        T: BroadcastExt<Elem: Sync> + ?Sized,
        U: BroadcastExt<Elem: Sync> + ?Sized,
        Self::Dim: DimMax<T::Dim, Output: DimMax<U::Dim, Output = O>>,
        O: Dimension,
        Self::Elem: Sync,
        C: Send,
        F: Fn(&Self::Elem, &T::Elem, &U::Elem) -> C + Sync,
    {
        let (a, b, c) = broadcast_triple(self.as_array(), b.as_array(), c.as_array())?;
        let inputs = (Source::new(&a), Source::new(&b), Source::new(&c));
        collect(a.raw_dim(), inputs, |(a, b, c)| f(a, b, c))
    }

    /// `f(a, b, c)` into the existing array `out`, for three arrays broadcast with each other under
    /// NumPy's rule.
    ///
    /// As [`zip_map_into`](Self::zip_map_into) for two.
    ///
    /// # Errors
    ///
    /// Those of [`broadcast_triple`]; [`WrongShape`](crate::ErrorKind::WrongShape) if `out` has not
    /// the common shape. Then nothing is written.
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::{Array2, array};
    /// use ndarray_broadcast::prelude::*;
    ///
    /// let x = array![[1_f64, 2.], [3., 4.]];
    /// let (scale, shift) = (array![10., 20.], array![[0.5], [0.25]]);
    /// let mut out = Array2::zeros((2, 2));
    /// x.zip_map3_into(&scale, &shift, &mut out, |x, &a, &b| x.mul_add(a, b))?;
    /// assert_eq!(out, array![[10.5, 40.5], [30.25, 80.25]]);
    /// # Ok::<(), BroadcastError>(())
    /// ```
    ///
    /// Source: NumPy's universal functions with `out`.
    fn zip_map3_into<T, U, C: Send, O: Dimension, F>(
        &self,
        b: &T,
        c: &U,
        out: &mut ArrayRef<C, O>,
        f: F,
    ) -> Result<(), BroadcastError>
    where
        T: BroadcastExt<Elem: Sync> + ?Sized,
        U: BroadcastExt<Elem: Sync> + ?Sized,
        Self::Dim: DimMax<T::Dim, Output: DimMax<U::Dim, Output = O>>,
        Self::Elem: Sync,
        F: Fn(&Self::Elem, &T::Elem, &U::Elem) -> C + Sync,
    {
        let (a, b, c) = broadcast_triple(self.as_array(), b.as_array(), c.as_array())?;
        let inputs = (Source::new(&a), Source::new(&b), Source::new(&c));
        overwrite(out, inputs, |(a, b, c)| f(a, b, c))
    }

    /// Calls `f(&mut a, &b, &c)` for each element of `self`, with `b` and `c` broadcast to it under
    /// NumPy's rule.
    ///
    /// As [`zip_map_inplace`](Self::zip_map_inplace) with one other array.
    ///
    /// # Errors
    ///
    /// Those of [`broadcast_triple`]; [`WrongShape`](crate::ErrorKind::WrongShape) if `self` would
    /// have to be broadcast too. Then nothing is changed.
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::array;
    /// use ndarray_broadcast::prelude::*;
    ///
    /// let mut x = array![[1_f32, 2.], [3., 4.]];
    /// let (scale, shift) = (array![10., 20.], array![[0.5], [0.25]]);
    /// x.zip_map3_inplace(&scale, &shift, |x, &a, &b| *x = x.mul_add(a, b))?;
    /// assert_eq!(x, array![[10.5, 40.5], [30.25, 80.25]]);
    /// # Ok::<(), BroadcastError>(())
    /// ```
    ///
    /// Source: NumPy's universal functions with `out`.
    fn zip_map3_inplace<T, U, O, F>(&mut self, b: &T, c: &U, f: F) -> Result<(), BroadcastError>
    where
        Self: BorrowMut<ArrayRef<Self::Elem, Self::Dim>>,
        T: BroadcastExt<Elem: Sync> + ?Sized,
        U: BroadcastExt<Elem: Sync> + ?Sized,
        Self::Dim: DimMax<T::Dim, Output: DimMax<U::Dim, Output = O>>,
        O: Dimension,
        Self::Elem: Send,
        F: Fn(&mut Self::Elem, &T::Elem, &U::Elem) + Sync,
    {
        let (_, b, c) = broadcast_triple(self.as_array(), b.as_array(), c.as_array())?;
        check_shape(ArrayRole::Out, b.shape(), self.as_array().shape())?;
        let inputs = (Source::new(&b), Source::new(&c));
        update(self.borrow_mut(), inputs, |a, (b, c)| f(a, b, c))
    }
}

impl<T: BroadcastExt + ?Sized> ElementwiseExt for T {}
