//! [`zip`]: a closure over arrays that are broadcast with each other.
#![forbid(unsafe_code)]

mod operands;

pub(crate) use operands::{ZipOperands, ZipRefs, ZipValues, ZipViews};

use crate::engine::rows::{collect, collect_two, overwrite, overwrite_two, try_collect, update};
use crate::error::{ArrayRole, BroadcastError, Result, check_shape};
use crate::shape::Sizes;
use ndarray::{Array, ArrayRef, Dimension};

/// Arrays that are computed with together, element by element: [`zip`] makes one.
///
/// | | elements by value | by reference |
/// |---|---|---|
/// | a new array | [`map_collect`](Self::map_collect) | [`map_collect_ref`](Self::map_collect_ref) |
/// | into an existing one | [`map_assign_into`](Self::map_assign_into) | [`map_assign_into_ref`](Self::map_assign_into_ref) |
/// | in place | [`update`](Self::update) | [`update_ref`](Self::update_ref) |
/// | two results | [`map_collect_two`](Self::map_collect_two), [`map_assign_into_two`](Self::map_assign_into_two) | |
/// | a reduction | [`reduce`](Self::reduce), [`reduce_into`](Self::reduce_into), [`reduce_accumulate`](Self::reduce_accumulate), [`reduce_part`](Self::reduce_part) | |
///
/// A closure takes the elements as a tuple, or as one value if there is one array: values, which
/// must be `Copy`, or references in the methods with `ref` in their names.
///
/// The closure is called once for each element of the output, in no particular order, and with the
/// feature `rayon` from several threads at a time. If it panics, the panic reaches the caller after
/// the other threads have stopped: of a new array the elements that exist are dropped, once; an
/// existing array keeps valid elements, of which some are new.
///
/// A closure must not wait for all threads of the rayon pool at once, as `rayon::broadcast` does:
/// the calling thread may be parked until the closure returns on another thread.
///
/// The calling thread alone computes an output of up to 16 KiB or, if it is new and its elements
/// are dropped, of up to 1024 elements, however slow the closure is. If all operands together, each
/// at the size of the output, have less than 512 KiB, it first times a small part, and computes the
/// rest alone if 20 us are enough for all at that speed.
///
/// # The order of new arrays
///
/// A new array keeps the order that the axes of its operands have in memory: the sum of two arrays
/// in Fortran order is in Fortran order, and NHWC memory that is seen as NCHW stays NHWC memory.
/// Two axes are compared by their absolute strides in each operand that does not replicate one of
/// them. Where operands disagree, or none tells, axes are in the order of standard layout. It is
/// the order "K" of NumPy. Existing arrays may have any layout.
///
/// # Memory
///
/// Nothing is allocated but the new array, what ndarray needs for `IxDyn` shapes of rank above 4,
/// what [threads](crate::guide::soundness#memory) need, and a list of the axes if more than 8 of
/// them are longer than 1. If there is no memory for the list, a call returns
/// [`AllocationFailed`](crate::ErrorKind::AllocationFailed).
#[derive(Debug, Clone)]
#[must_use = "a zip does nothing until it is mapped or reduced"]
pub struct Zip<V> {
    pub(crate) views: V,
}

/// Takes an array, or two to six in a tuple, to compute with them under NumPy's rule.
///
/// ```text
/// a      8  1  6  1
/// b         7  1  5
///        ----------
/// zip    8  7  6  5
/// ```
///
/// The arrays are references to arrays of any kind, or views by value. Ranks, layouts and element
/// types may differ. [`Zip`] lists what can be done with them. Where ndarray's operators and `Zip`
/// panic, its methods return an error. Errors call the arrays `a`, `b`, `c` and so on, in the order
/// of the tuple.
///
/// A new array [keeps the order of its operands in memory](Zip#the-order-of-new-arrays).
///
/// An array that is broadcast by another rule comes as a view. For two arrays,
/// [`broadcast_pair`](crate::broadcast_pair) gives both; it returns a `Result`, so the call ends
/// with `?`:
///
/// ```
/// use ndarray::{Array4, array};
/// use ndarray_broadcast::prelude::*;
///
/// let mut images = Array4::<f32>::ones((2, 3, 4, 4)); // [N, C, H, W]
/// let bias = array![10., 20., 30.]; // [C]
///
/// let views = broadcast_pair(&images, &bias, ElementwiseRule::channel(1))?;
/// let biased = zip(views).map_collect(|(x, b)| x + b)?;
/// assert_eq!(biased[[1, 2, 0, 3]], 31.);
///
/// // In place.
/// zip(bias.broadcast_pdpd(images.raw_dim(), 1)?)
///     .update(&mut images, |x, b| *x += b)?;
/// assert_eq!(images, biased);
/// # Ok::<(), BroadcastError>(())
/// ```
///
/// # Example
///
/// ```
/// use ndarray::array;
/// use ndarray_broadcast::prelude::*;
///
/// let x = array![[1.0, 2.0], [3.0, 5.0]];
/// let (mean, scale, shift) = (array![2.0, 3.5], array![[2.0], [10.0]], 0.5);
/// let y = zip((&x, &mean, &scale))
///     .map_collect(|(x, mean, scale)| (x - mean) * scale + shift)?;
/// assert_eq!(y, array![[-1.5, -2.5], [10.5, 15.5]]);
/// # Ok::<(), BroadcastError>(())
/// ```
///
/// Source: [NumPy's](https://numpy.org/doc/stable/user/basics.broadcasting.html) universal
/// functions.
#[doc(alias = "where")]
#[doc(alias = "select")]
#[doc(alias = "vectorize")]
#[doc(alias = "ufunc")]
#[doc(alias = "outer")]
#[doc(alias = "add")]
#[doc(alias = "mul")]
#[doc(alias = "bias_add")]
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
    /// [`SizeMismatch`](crate::ErrorKind::SizeMismatch),
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
    pub fn views(&self) -> Result<V::Broadcast> {
        self.views.broadcast()
    }

    /// That an output has the common shape of the arrays.
    ///
    /// # Errors
    ///
    /// `SizeMismatch`, `ShapeOverflow`, `WrongShape`.
    #[inline]
    fn check_out(&self, out: &[usize]) -> Result<()> {
        let shape = self.views.common_shape()?;
        check_shape(ArrayRole::Out, shape.sizes(), out)
    }

    /// A new array of what `f` returns for each tuple of elements.
    ///
    /// [`map_collect_ref`](Self::map_collect_ref) is for elements that are not `Copy`.
    ///
    /// # Errors
    ///
    /// [`SizeMismatch`](crate::ErrorKind::SizeMismatch),
    /// [`ShapeOverflow`](crate::ErrorKind::ShapeOverflow),
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
    ///     .map_collect(|(pixel, keep)| keep.then_some(f32::from(pixel)))?;
    /// assert_eq!(kept, array![[Some(10.0), None], [Some(30.0), None]]);
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "masked_fill")]
    #[doc(alias = "addcmul")]
    #[inline]
    pub fn map_collect<C: Send, F>(&self, f: F) -> Result<Array<C, V::Dim>>
    where
        V: ZipValues,
        F: Fn(V::Values) -> C + Sync,
    {
        collect(self.views.common_shape()?, self.views.values(), f)
    }

    /// [`map_collect`](Self::map_collect) with a closure that may fail.
    ///
    /// The closure is called for every position, also after it has failed. So the result does not
    /// depend on threads.
    ///
    /// # Errors
    ///
    /// Of the elements for which the closure fails, the error of the one that comes first in the
    /// memory of the result; of any of them if results have no bytes. Those of
    /// [`map_collect`](Self::map_collect), converted.
    ///
    /// ```
    /// use ndarray::array;
    /// use ndarray_broadcast::prelude::*;
    ///
    /// let (a, b) = (array![[6, 7], [8, 9]], array![2, 3]);
    /// let divided = |(a, b): (i32, i32)| a.checked_div(b).ok_or("no quotient".into());
    /// let quotients: Result<_, Box<dyn std::error::Error + Send + Sync>> =
    ///     zip((&a, &b)).try_map_collect(divided);
    /// assert_eq!(quotients?, array![[3, 2], [4, 3]]);
    /// assert!(zip((&a, &array![2, 0])).try_map_collect(divided).is_err());
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// ```
    pub fn try_map_collect<C, E, F>(&self, f: F) -> Result<Array<C, V::Dim>, E>
    where
        V: ZipValues,
        C: Copy + Send,
        E: From<BroadcastError> + Send,
        F: Fn(V::Values) -> Result<C, E> + Sync,
    {
        try_collect(self.views.common_shape()?, self.views.values(), f)?
    }

    /// [`map_collect`](Self::map_collect) into an existing array of the common shape, whose
    /// elements are replaced.
    ///
    /// # Errors
    ///
    /// [`SizeMismatch`](crate::ErrorKind::SizeMismatch),
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
    /// zip((&array![1, 2], &array![[10], [20]]))
    ///     .map_assign_into(&mut out, |(a, b)| a + b)?;
    /// assert_eq!(out, array![[11, 12], [21, 22]]);
    /// # Ok(())
    /// # }
    /// ```
    #[inline]
    pub fn map_assign_into<C: Send, F>(&self, out: &mut ArrayRef<C, V::Dim>, f: F) -> Result<()>
    where
        V: ZipValues,
        F: Fn(V::Values) -> C + Sync,
    {
        self.check_out(out.shape())?;
        overwrite(out, self.views.values(), f)
    }

    /// Two new arrays, of the two values that `f` returns for each tuple of elements.
    ///
    /// The elements of the results must be `Copy`. Those of [`map_collect`](Self::map_collect) and
    /// [`map_assign_into_two`](Self::map_assign_into_two) need not.
    ///
    /// # Errors
    ///
    /// As [`map_collect`](Self::map_collect).
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::array;
    /// use ndarray_broadcast::{BroadcastError, zip};
    ///
    /// # fn main() -> Result<(), BroadcastError> {
    /// let (a, b) = (array![7, 9], array![[2], [4]]);
    /// let (quotient, rest) = zip((&a, &b)).map_collect_two(|(a, b)| (a / b, a % b))?;
    /// assert_eq!(quotient, array![[3, 4], [1, 2]]);
    /// assert_eq!(rest, array![[1, 1], [3, 1]]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn map_collect_two<C, E, F>(&self, f: F) -> Result<(Array<C, V::Dim>, Array<E, V::Dim>)>
    where
        V: ZipValues,
        C: Copy + Send,
        E: Copy + Send,
        F: Fn(V::Values) -> (C, E) + Sync,
    {
        collect_two(self.views.common_shape()?, self.views.values(), f)
    }

    /// [`map_collect_two`](Self::map_collect_two) into two existing arrays of the common shape.
    ///
    /// # Errors
    ///
    /// As [`map_assign_into`](Self::map_assign_into).
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
    /// zip((x1, x2, &cos, &sin)).map_assign_into_two(
    ///     &mut y1,
    ///     &mut y2,
    ///     |(x1, x2, cos, sin)| (x1 * cos - x2 * sin, x1 * sin + x2 * cos),
    /// )?;
    /// assert_eq!(y, array![[-3.0, 2.0, 1.0, 4.0], [-7.0, 6.0, 5.0, 8.0]]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn map_assign_into_two<C: Send, E: Send, F>(
        &self,
        first: &mut ArrayRef<C, V::Dim>,
        second: &mut ArrayRef<E, V::Dim>,
        f: F,
    ) -> Result<()>
    where
        V: ZipValues,
        F: Fn(V::Values) -> (C, E) + Sync,
    {
        self.check_out(first.shape())?;
        overwrite_two(first, second, self.views.values(), f)
    }

    /// Calls `f` with each element of `x` and the elements that broadcast to it.
    ///
    /// The arrays are broadcast to the shape of `x`; it is not broadcast.
    ///
    /// # Errors
    ///
    /// [`SizeMismatch`](crate::ErrorKind::SizeMismatch),
    /// [`RankMismatch`](crate::ErrorKind::RankMismatch),
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
    #[doc(alias = "iadd")]
    #[inline]
    pub fn update<X: Send, D: Dimension, F>(&self, x: &mut ArrayRef<X, D>, f: F) -> Result<()>
    where
        V: ZipValues,
        F: Fn(&mut X, V::Values) + Sync,
    {
        self.views.check(x.shape())?;
        update(x, self.views.values(), f)
    }

    /// [`map_collect`](Self::map_collect) with references to elements, which need not be `Copy`.
    ///
    /// # Errors
    ///
    /// As [`map_collect`](Self::map_collect).
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
    ///     .map_collect_ref(|(name, i)| format!("{name}{i}"))?;
    /// assert_eq!(text, array![["a1", "b1"], ["a2", "b2"]]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn map_collect_ref<C: Send, F>(&self, f: F) -> Result<Array<C, V::Dim>>
    where
        V: ZipRefs,
        F: Fn(V::Refs) -> C + Sync,
    {
        collect(self.views.common_shape()?, self.views.refs(), f)
    }

    /// [`map_assign_into`](Self::map_assign_into) with references to elements, which need not be
    /// `Copy`.
    ///
    /// # Errors
    ///
    /// As [`map_assign_into`](Self::map_assign_into).
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
    /// zip(&names).map_assign_into_ref(&mut lengths, |name| name.len())?;
    /// assert_eq!(lengths, array![2, 1]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn map_assign_into_ref<C: Send, F>(&self, out: &mut ArrayRef<C, V::Dim>, f: F) -> Result<()>
    where
        V: ZipRefs,
        F: Fn(V::Refs) -> C + Sync,
    {
        self.check_out(out.shape())?;
        overwrite(out, self.views.refs(), f)
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
    /// zip(&end).update_ref(&mut words, |word, end| word.push_str(end))?;
    /// assert_eq!(words, array!["abx", "cx"]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn update_ref<X: Send, D: Dimension, F>(&self, x: &mut ArrayRef<X, D>, f: F) -> Result<()>
    where
        V: ZipRefs,
        F: Fn(&mut X, V::Refs) + Sync,
    {
        self.views.check(x.shape())?;
        update(x, self.views.refs(), f)
    }
}
