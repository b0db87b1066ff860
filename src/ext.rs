//! The extension traits: a rule as one chained method.

use crate::co_broadcast::broadcast_pair;
use crate::error::BroadcastError;
use crate::mode::{BroadcastMode, ElementwiseRule};
use crate::rules;
use ndarray::{ArrayBase, ArrayRef, ArrayView, Data, DimAdd, DimMax, Dimension, IntoDimension};
use std::borrow::Borrow;

/// A view of the dimension that an input of dimension `D` broadcast to the shape `E` has: what the methods of
/// [`BroadcastExt`] give.
///
/// ```
/// use ndarray::{Array1, Ix1};
/// use ndarray_broadcast::Broadcasted;
/// use ndarray_broadcast::prelude::*;
///
/// type Shape = (usize, usize, usize, usize);
///
/// fn per_channel(bias: &Array1<f32>, shape: Shape) -> Broadcasted<'_, f32, Ix1, Shape> {
///     bias.broadcast_explicit(shape, &[1])
/// }
///
/// assert_eq!(per_channel(&Array1::zeros(3), (2, 3, 4, 4))?.shape(), [2, 3, 4, 4]);
/// # Ok::<(), BroadcastError>(())
/// ```
pub type Broadcasted<'a, A, D, E> =
    Result<ArrayView<'a, A, <D as DimMax<<E as IntoDimension>::Dim>>::Output>, BroadcastError>;

/// A view of the dimension `D` with the axes of `E` before its own: what
/// [`broadcast_prepend`](BroadcastExt::broadcast_prepend) gives.
pub type Prepended<'a, A, D, E> =
    Result<ArrayView<'a, A, <<E as IntoDimension>::Dim as DimAdd<D>>::Output>, BroadcastError>;

/// Two views of the common dimension of `D` and `E`: what [`broadcast_with`](BroadcastExt::broadcast_with) and
/// [`broadcast_pair`] give.
pub type PairOfViews<'a, 'b, A, B, D, E> = Result<
    (
        ArrayView<'a, A, <D as DimMax<E>>::Output>,
        ArrayView<'b, B, <D as DimMax<E>>::Output>,
    ),
    BroadcastError,
>;

/// Broadcasts an array to a shape by any rule, as a view that costs nothing.
///
/// For every `ArrayBase` (owned arrays, views, `ArcArray`, `CowArray`) and for `ArrayRef`, whatever the element type, the
/// layout and the rank. `shape` is whatever ndarray takes as a shape: a tuple, an array, a slice, a `Vec`, an `IxDyn`. The
/// result has a static rank where input and shape have one. No element is copied: a replicated axis has stride 0. With
/// static ranks nothing is allocated.
///
/// | method | lines up | replicates | output |
/// |---|---|---|---|
/// | [`broadcast_numpy`](Self::broadcast_numpy) | right-aligned | input's 1s | `shape` |
/// | [`broadcast_bidirectional`](Self::broadcast_bidirectional) | right-aligned | 1s of either | may exceed `shape` |
/// | [`broadcast_explicit`](Self::broadcast_explicit) | by mapping, increasing | input's 1s | `shape` |
/// | [`broadcast_axes`](Self::broadcast_axes) | by the set of new axes | nothing else | `shape` |
/// | [`broadcast_in_dim`](Self::broadcast_in_dim) | by mapping, increasing | input's 1s | `shape` |
/// | [`broadcast_in_dim_permuting`](Self::broadcast_in_dim_permuting) | by mapping, any order | input's 1s | `shape` |
/// | [`broadcast_pdpd`](Self::broadcast_pdpd) | from `axis` on | input's 1s | `shape` |
/// | [`broadcast_prepend`](Self::broadcast_prepend) | new axes in front | nothing else | `sizes` + input |
/// | [`broadcast_expand`](Self::broadcast_expand) | right-aligned, -1 keeps | input's 1s | `size` |
/// | [`broadcast_to_mode`](Self::broadcast_to_mode) | as the mode says | | |
/// | [`broadcast_with`](Self::broadcast_with) | two arrays, as the rule says | | common shape |
///
/// Which to use when, with the examples of the specifications: [the guide](crate::guide).
///
/// Modes and rules are taken by value or by reference. In all of them "1 replicates" means to any size, 0 included, and a
/// size of 0 matches only 0 or 1. The views borrow from `self`; to keep the lifetime of a view that is at hand by value
/// there is [`IntoBroadcastExt`].
///
/// # What the compiler refuses
///
/// A view that outlives its array:
///
/// ```compile_fail,E0597
/// # use ndarray_broadcast::prelude::*;
/// let view = {
///     let row = ndarray::array![1, 2, 3];
///     row.broadcast_numpy((2, 3))?
/// };
/// assert_eq!(view[[1, 2]], 3);
/// # Ok::<(), BroadcastError>(())
/// ```
///
/// An array that changes while it is viewed, and a view that is written to, whose elements alias:
///
/// ```compile_fail,E0502
/// # use ndarray_broadcast::prelude::*;
/// let mut row = ndarray::array![1, 2, 3];
/// let view = row.broadcast_numpy((2, 3))?;
/// row[0] = 4;
/// assert_eq!(view[[1, 0]], 1);
/// # Ok::<(), BroadcastError>(())
/// ```
///
/// ```compile_fail,E0594
/// # use ndarray_broadcast::prelude::*;
/// let row = ndarray::array![1, 2, 3];
/// let mut view = row.broadcast_numpy((2, 3))?;
/// view[[0, 0]] = 4;
/// # Ok::<(), BroadcastError>(())
/// ```
///
/// A result of another static rank than input and shape have:
///
/// ```compile_fail,E0308
/// # use ndarray_broadcast::prelude::*;
/// let row = ndarray::array![1, 2, 3];
/// let view: ndarray::ArrayView3<i32> = row.broadcast_numpy((2, 3))?;
/// # Ok::<(), BroadcastError>(())
/// ```
pub trait BroadcastExt {
    /// Type of the elements.
    type Elem;
    /// Dimension type.
    type Dim: Dimension;

    /// The array as a view of its own shape, which all other methods start from.
    #[doc(hidden)]
    fn borrowed(&self) -> ArrayView<'_, Self::Elem, Self::Dim>;

    /// Broadcasts to `shape` by the rule that `mode` names, with the mode's attributes.
    ///
    /// The output's shape is `shape`, except for `bidirectional`, which may give more.
    ///
    /// # Errors
    ///
    /// Those of the mode's own method.
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::array;
    /// use ndarray_broadcast::prelude::*;
    ///
    /// let bias = array![10, 20];
    /// let mode: BroadcastMode = "explicit(0)".parse()?;
    /// let view = bias.broadcast_to_mode((2, 3), &mode)?;
    /// assert_eq!(view, array![[10, 10, 10], [20, 20, 20]]);
    /// # Ok::<(), BroadcastError>(())
    /// ```
    #[inline]
    fn broadcast_to_mode<E>(
        &self,
        shape: E,
        mode: impl Borrow<BroadcastMode>,
    ) -> Broadcasted<'_, Self::Elem, Self::Dim, E>
    where
        E: IntoDimension,
        Self::Dim: DimMax<E::Dim>,
    {
        self.borrowed().into_broadcast_to_mode(shape, mode)
    }

    /// Broadcasts to `shape` as NumPy's `broadcast_to`: right-aligned, size-1 axes replicate.
    ///
    /// ```text
    /// input         3  1
    /// shape      2  3  4
    ///            ----------
    /// output     2  3  4
    /// ```
    ///
    /// The rank of the input is at most that of `shape`, and each of its sizes equals the one it is lined up with or is 1. It goes
    /// one way only: a 1 in `shape` does not replicate (that is [`broadcast_bidirectional`](Self::broadcast_bidirectional)).
    ///
    /// # Errors
    ///
    /// [`RankTooLarge`](BroadcastError::RankTooLarge), [`SizeMismatch`](BroadcastError::SizeMismatch),
    /// [`ShapeOverflow`](BroadcastError::ShapeOverflow).
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::array;
    /// use ndarray_broadcast::prelude::*;
    ///
    /// let column = array![[1], [2]];
    /// assert_eq!(column.broadcast_numpy((2, 3))?, array![[1, 1, 1], [2, 2, 2]]);
    /// assert!(column.broadcast_numpy((1, 3)).is_err());
    /// # Ok::<(), BroadcastError>(())
    /// ```
    ///
    /// Source: NumPy `broadcast_to`; OpenVINO Broadcast-1 and -3, mode `numpy`.
    #[inline]
    fn broadcast_numpy<E>(&self, shape: E) -> Broadcasted<'_, Self::Elem, Self::Dim, E>
    where
        E: IntoDimension,
        Self::Dim: DimMax<E::Dim>,
    {
        self.borrowed().into_broadcast_numpy(shape)
    }

    /// Broadcasts together with `shape`: right-aligned, size-1 axes replicate on either side.
    ///
    /// ```text
    /// input     16  1  1
    /// shape   1  1 50 50
    ///         -------------
    /// output  1 16 50 50
    /// ```
    ///
    /// The output may be larger than `shape`, in size and in rank: `[5]` to `[1]` is `[5]`, `[3, 4]` to `[]` is `[3, 4]`.
    ///
    /// # Errors
    ///
    /// [`SizeMismatch`](BroadcastError::SizeMismatch), [`ShapeOverflow`](BroadcastError::ShapeOverflow).
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::Array3;
    /// use ndarray_broadcast::prelude::*;
    ///
    /// let scale = Array3::<f32>::ones((16, 1, 1));
    /// assert_eq!(scale.broadcast_bidirectional((1, 1, 50, 50))?.shape(), [1, 16, 50, 50]);
    /// # Ok::<(), BroadcastError>(())
    /// ```
    ///
    /// Source: OpenVINO Broadcast-3, mode `bidirectional`; ONNX Expand-13.
    #[inline]
    fn broadcast_bidirectional<E>(&self, shape: E) -> Broadcasted<'_, Self::Elem, Self::Dim, E>
    where
        E: IntoDimension,
        Self::Dim: DimMax<E::Dim>,
    {
        self.borrowed().into_broadcast_bidirectional(shape)
    }

    /// Broadcasts to `shape`, input axis `i` feeding axis `axes_mapping[i]` of it.
    ///
    /// ```text
    /// input             3
    /// axes_mapping     [1]
    /// shape         2   3   4   5
    /// ```
    ///
    /// `axes_mapping` has one entry for each input axis, strictly increasing. Each input size equals the one it feeds or is 1.
    ///
    /// # Errors
    ///
    /// [`AxesLength`](BroadcastError::AxesLength), [`AxisOutOfRange`](BroadcastError::AxisOutOfRange),
    /// [`AxesUnsorted`](BroadcastError::AxesUnsorted), [`AxisRepeated`](BroadcastError::AxisRepeated),
    /// [`SizeMismatch`](BroadcastError::SizeMismatch), [`ShapeOverflow`](BroadcastError::ShapeOverflow).
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::array;
    /// use ndarray_broadcast::prelude::*;
    ///
    /// let bias = array![1., 2., 3.];
    /// let view = bias.broadcast_explicit((2, 3, 4, 5), &[1])?;
    /// assert_eq!(view.strides(), [0, 1, 0, 0]);
    /// assert_eq!(view[[1, 2, 3, 4]], 3.);
    /// # Ok::<(), BroadcastError>(())
    /// ```
    ///
    /// Source: OpenVINO Broadcast-1 and -3, mode `explicit`.
    #[inline]
    fn broadcast_explicit<E>(
        &self,
        shape: E,
        axes_mapping: &[usize],
    ) -> Broadcasted<'_, Self::Elem, Self::Dim, E>
    where
        E: IntoDimension,
        Self::Dim: DimMax<E::Dim>,
    {
        self.borrowed().into_broadcast_explicit(shape, axes_mapping)
    }

    /// Broadcasts to `shape`, of which the axes `broadcast_axes` are new and the others are the input's.
    ///
    /// ```text
    /// shape            2  3  4
    /// broadcast_axes  {0,    2}
    /// input               3
    /// ```
    ///
    /// `broadcast_axes` is a set: order and repetition do not matter, and the empty set is the identity. The input's shape equals
    /// `shape` without these axes, exactly: no size-1 axis replicates.
    ///
    /// # Errors
    ///
    /// [`AxisOutOfRange`](BroadcastError::AxisOutOfRange), [`BroadcastAxesRank`](BroadcastError::BroadcastAxesRank),
    /// [`SizeMismatch`](BroadcastError::SizeMismatch), [`ShapeOverflow`](BroadcastError::ShapeOverflow).
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::array;
    /// use ndarray_broadcast::prelude::*;
    ///
    /// let row = array![1, 2, 3];
    /// assert_eq!(row.broadcast_axes((2, 3), &[0])?, array![[1, 2, 3], [1, 2, 3]]);
    /// # Ok::<(), BroadcastError>(())
    /// ```
    ///
    /// Source: nGraph v0 `op::Broadcast`.
    #[inline]
    fn broadcast_axes<E>(
        &self,
        shape: E,
        broadcast_axes: &[usize],
    ) -> Broadcasted<'_, Self::Elem, Self::Dim, E>
    where
        E: IntoDimension,
        Self::Dim: DimMax<E::Dim>,
    {
        self.borrowed().into_broadcast_axes(shape, broadcast_axes)
    }

    /// Broadcasts to `shape`, input axis `i` feeding axis `broadcast_dimensions[i]` of it.
    ///
    /// `broadcast_dimensions` has one entry for each input axis, strictly increasing; for any order there is
    /// [`broadcast_in_dim_permuting`](Self::broadcast_in_dim_permuting). Each input size equals the one it feeds or is 1.
    ///
    /// # Errors
    ///
    /// [`AxesLength`](BroadcastError::AxesLength), [`AxisOutOfRange`](BroadcastError::AxisOutOfRange),
    /// [`AxesUnsorted`](BroadcastError::AxesUnsorted), [`AxisRepeated`](BroadcastError::AxisRepeated),
    /// [`SizeMismatch`](BroadcastError::SizeMismatch), [`ShapeOverflow`](BroadcastError::ShapeOverflow).
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::array;
    /// use ndarray_broadcast::prelude::*;
    ///
    /// let a = array![1, 2];
    /// assert_eq!(a.broadcast_in_dim((2, 3), &[0])?, array![[1, 1, 1], [2, 2, 2]]);
    /// # Ok::<(), BroadcastError>(())
    /// ```
    ///
    /// Source: XLA `BroadcastInDim`, as XlaBuilder checks it.
    #[inline]
    fn broadcast_in_dim<E>(
        &self,
        shape: E,
        broadcast_dimensions: &[usize],
    ) -> Broadcasted<'_, Self::Elem, Self::Dim, E>
    where
        E: IntoDimension,
        Self::Dim: DimMax<E::Dim>,
    {
        self.borrowed()
            .into_broadcast_in_dim(shape, broadcast_dimensions)
    }

    /// Broadcasts to `shape` as [`broadcast_in_dim`](Self::broadcast_in_dim), but `broadcast_dimensions` may come in any order, which
    /// transposes.
    ///
    /// # Errors
    ///
    /// [`AxesLength`](BroadcastError::AxesLength), [`AxisOutOfRange`](BroadcastError::AxisOutOfRange),
    /// [`AxisRepeated`](BroadcastError::AxisRepeated), [`SizeMismatch`](BroadcastError::SizeMismatch),
    /// [`ShapeOverflow`](BroadcastError::ShapeOverflow).
    ///
    /// # Example
    ///
    /// The example of the StableHLO specification:
    ///
    /// ```
    /// use ndarray::array;
    /// use ndarray_broadcast::prelude::*;
    ///
    /// let operand = array![[1, 2, 3]];
    /// let view = operand.broadcast_in_dim_permuting((2, 3, 2), &[2, 1])?;
    /// assert_eq!(view, array![[[1, 1], [2, 2], [3, 3]], [[1, 1], [2, 2], [3, 3]]]);
    /// # Ok::<(), BroadcastError>(())
    /// ```
    ///
    /// Source: StableHLO `broadcast_in_dim`.
    #[inline]
    fn broadcast_in_dim_permuting<E>(
        &self,
        shape: E,
        broadcast_dimensions: &[usize],
    ) -> Broadcasted<'_, Self::Elem, Self::Dim, E>
    where
        E: IntoDimension,
        Self::Dim: DimMax<E::Dim>,
    {
        self.borrowed()
            .into_broadcast_in_dim_permuting(shape, broadcast_dimensions)
    }

    /// Broadcasts to `shape` as PaddlePaddle does with B of an elementwise operation: laid on it from `axis` on.
    ///
    /// ```text
    /// shape  (A)   2  3  4  5
    /// input  (B)      3  4        axis = 1
    /// ```
    ///
    /// `axis` counts in `shape`; -1 right-aligns. Trailing 1s of the input do not count, other 1s replicate. The output's shape is
    /// always `shape`.
    ///
    /// # Errors
    ///
    /// [`PdpdAxis`](BroadcastError::PdpdAxis) below -1, [`RankTooLarge`](BroadcastError::RankTooLarge),
    /// [`PdpdOverhang`](BroadcastError::PdpdOverhang) past the end of `shape`, [`SizeMismatch`](BroadcastError::SizeMismatch),
    /// [`ShapeOverflow`](BroadcastError::ShapeOverflow).
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::Array2;
    /// use ndarray_broadcast::prelude::*;
    ///
    /// let b = Array2::<f32>::ones((3, 4));
    /// assert_eq!(b.broadcast_pdpd((2, 3, 4, 5), 1)?.strides(), [0, 4, 1, 0]);
    /// # Ok::<(), BroadcastError>(())
    /// ```
    ///
    /// Source: PaddlePaddle's elementwise operations; OpenVINO's broadcast rules, PDPD. `BroadcastPlan::pair` takes both shapes.
    #[inline]
    fn broadcast_pdpd<E>(&self, shape: E, axis: isize) -> Broadcasted<'_, Self::Elem, Self::Dim, E>
    where
        E: IntoDimension,
        Self::Dim: DimMax<E::Dim>,
    {
        self.borrowed().into_broadcast_pdpd(shape, axis)
    }

    /// Broadcasts to `size` as [`broadcast_numpy`](Self::broadcast_numpy), where [`KEEP`](crate::KEEP) (torch's -1) keeps the size of an axis
    /// that the input has.
    ///
    /// # Errors
    ///
    /// [`KeepOnNewAxis`](BroadcastError::KeepOnNewAxis), [`RankTooLarge`](BroadcastError::RankTooLarge),
    /// [`SizeMismatch`](BroadcastError::SizeMismatch), [`ShapeOverflow`](BroadcastError::ShapeOverflow).
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::array;
    /// use ndarray_broadcast::prelude::*;
    ///
    /// let column = array![[1], [2]];
    /// assert_eq!(column.broadcast_expand((KEEP, 3))?, array![[1, 1, 1], [2, 2, 2]]);
    /// # Ok::<(), BroadcastError>(())
    /// ```
    ///
    /// Source: torch `Tensor.expand`.
    #[inline]
    fn broadcast_expand<E>(&self, size: E) -> Broadcasted<'_, Self::Elem, Self::Dim, E>
    where
        E: IntoDimension,
        Self::Dim: DimMax<E::Dim>,
    {
        self.borrowed().into_broadcast_expand(size)
    }

    /// Broadcasts by putting axes of the given `sizes` in front of the input's.
    ///
    /// ```text
    /// sizes   2  3
    /// input         4
    ///         -------
    /// output  2  3  4
    /// ```
    ///
    /// # Errors
    ///
    /// [`ShapeOverflow`](BroadcastError::ShapeOverflow).
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::array;
    /// use ndarray_broadcast::prelude::*;
    ///
    /// let row = array![1, 2];
    /// assert_eq!(row.broadcast_prepend(3)?, array![[1, 2], [1, 2], [1, 2]]);
    /// # Ok::<(), BroadcastError>(())
    /// ```
    ///
    /// Source: `XlaBuilder::Broadcast(operand, broadcast_sizes)`.
    #[inline]
    fn broadcast_prepend<E>(&self, sizes: E) -> Prepended<'_, Self::Elem, Self::Dim, E>
    where
        E: IntoDimension,
        E::Dim: DimAdd<Self::Dim>,
    {
        self.borrowed().into_broadcast_prepend(sizes)
    }

    /// Broadcasts this array and another with each other: two views of their common shape.
    ///
    /// The element types may differ. What each rule asks for: [`broadcast_pair`].
    ///
    /// # Errors
    ///
    /// Those of the rule; see [`broadcast_pair`].
    ///
    /// # Example
    ///
    /// ```
    /// use ndarray::array;
    /// use ndarray_broadcast::prelude::*;
    ///
    /// let (column, row) = (array![[1], [2]], array![0.5, 0.25]);
    /// let (a, b) = column.broadcast_with(&row, ElementwiseRule::Numpy)?;
    /// assert_eq!(a, array![[1, 1], [2, 2]]);
    /// assert_eq!(b, array![[0.5, 0.25], [0.5, 0.25]]);
    /// # Ok::<(), BroadcastError>(())
    /// ```
    #[inline]
    fn broadcast_with<'a, 'b, T>(
        &'a self,
        other: &'b T,
        rule: impl Borrow<ElementwiseRule>,
    ) -> PairOfViews<'a, 'b, Self::Elem, T::Elem, Self::Dim, T::Dim>
    where
        T: BroadcastExt + ?Sized,
        Self::Dim: DimMax<T::Dim>,
    {
        broadcast_pair(self.borrowed(), other.borrowed(), rule)
    }
}

impl<A, S: Data<Elem = A>, D: Dimension> BroadcastExt for ArrayBase<S, D> {
    type Elem = A;
    type Dim = D;

    #[inline]
    fn borrowed(&self) -> ArrayView<'_, A, D> {
        self.view()
    }
}

impl<A, D: Dimension> BroadcastExt for ArrayRef<A, D> {
    type Elem = A;
    type Dim = D;

    #[inline]
    fn borrowed(&self) -> ArrayView<'_, A, D> {
        self.view()
    }
}

/// Broadcasts a view taken by value, so that the result lives as long as the array and not only as the view at hand.
///
/// For `ArrayView` and for references to arrays. Each method does what its namesake of [`BroadcastExt`] does.
///
/// ```
/// use ndarray::{ArrayView1, ArrayView3, Axis};
/// use ndarray_broadcast::prelude::*;
///
/// fn over_rows(a: ArrayView1<'_, f32>) -> Result<ArrayView3<'_, f32>, BroadcastError> {
///     a.insert_axis(Axis(1)).into_broadcast_numpy((2, a.len(), 4))
/// }
///
/// let a = ndarray::arr1(&[1., 2., 3.]);
/// assert_eq!(over_rows(a.view())?.strides(), [0, 1, 0]);
/// # Ok::<(), BroadcastError>(())
/// ```
pub trait IntoBroadcastExt<'a>: Sized {
    /// Type of the elements.
    type Elem: 'a;
    /// Dimension type.
    type Dim: Dimension;

    /// The view that all other methods start from.
    #[doc(hidden)]
    fn into_view(self) -> ArrayView<'a, Self::Elem, Self::Dim>;

    /// Broadcasts to `shape` by the rule that `mode` names, with the mode's attributes.
    ///
    /// Rule, errors and example: [`broadcast_to_mode`](BroadcastExt::broadcast_to_mode).
    ///
    /// # Errors
    ///
    /// As there.
    #[inline]
    fn into_broadcast_to_mode<E>(
        self,
        shape: E,
        mode: impl Borrow<BroadcastMode>,
    ) -> Broadcasted<'a, Self::Elem, Self::Dim, E>
    where
        E: IntoDimension,
        Self::Dim: DimMax<E::Dim>,
    {
        let view = self.into_view();
        Ok(rules::by_mode(view.raw_dim(), shape.into_dimension(), mode.borrow())?.onto(view)?)
    }

    /// Broadcasts to `shape` as NumPy's `broadcast_to`: right-aligned, size-1 axes replicate.
    ///
    /// Rule, errors and example: [`broadcast_numpy`](BroadcastExt::broadcast_numpy).
    ///
    /// # Errors
    ///
    /// As there.
    #[inline]
    fn into_broadcast_numpy<E>(self, shape: E) -> Broadcasted<'a, Self::Elem, Self::Dim, E>
    where
        E: IntoDimension,
        Self::Dim: DimMax<E::Dim>,
    {
        let view = self.into_view();
        Ok(rules::numpy::plan(view.raw_dim(), shape.into_dimension())?.onto(view)?)
    }

    /// Broadcasts together with `shape`: right-aligned, size-1 axes replicate on either side.
    ///
    /// Rule, errors and example: [`broadcast_bidirectional`](BroadcastExt::broadcast_bidirectional).
    ///
    /// # Errors
    ///
    /// As there.
    #[inline]
    fn into_broadcast_bidirectional<E>(self, shape: E) -> Broadcasted<'a, Self::Elem, Self::Dim, E>
    where
        E: IntoDimension,
        Self::Dim: DimMax<E::Dim>,
    {
        let view = self.into_view();
        Ok(rules::bidirectional::plan(view.raw_dim(), shape.into_dimension())?.onto(view)?)
    }

    /// Broadcasts to `shape`, input axis `i` feeding axis `axes_mapping[i]` of it.
    ///
    /// Rule, errors and example: [`broadcast_explicit`](BroadcastExt::broadcast_explicit).
    ///
    /// # Errors
    ///
    /// As there.
    #[inline]
    fn into_broadcast_explicit<E>(
        self,
        shape: E,
        axes_mapping: &[usize],
    ) -> Broadcasted<'a, Self::Elem, Self::Dim, E>
    where
        E: IntoDimension,
        Self::Dim: DimMax<E::Dim>,
    {
        let view = self.into_view();
        Ok(
            rules::explicit::plan(view.raw_dim(), shape.into_dimension(), axes_mapping)?
                .onto(view)?,
        )
    }

    /// Broadcasts to `shape`, of which the axes `broadcast_axes` are new and the others are the input's.
    ///
    /// Rule, errors and example: [`broadcast_axes`](BroadcastExt::broadcast_axes).
    ///
    /// # Errors
    ///
    /// As there.
    #[inline]
    fn into_broadcast_axes<E>(
        self,
        shape: E,
        broadcast_axes: &[usize],
    ) -> Broadcasted<'a, Self::Elem, Self::Dim, E>
    where
        E: IntoDimension,
        Self::Dim: DimMax<E::Dim>,
    {
        let view = self.into_view();
        Ok(
            rules::broadcast_axes::plan(view.raw_dim(), shape.into_dimension(), broadcast_axes)?
                .onto(view)?,
        )
    }

    /// Broadcasts to `shape`, input axis `i` feeding axis `broadcast_dimensions[i]` of it.
    ///
    /// Rule, errors and example: [`broadcast_in_dim`](BroadcastExt::broadcast_in_dim).
    ///
    /// # Errors
    ///
    /// As there.
    #[inline]
    fn into_broadcast_in_dim<E>(
        self,
        shape: E,
        broadcast_dimensions: &[usize],
    ) -> Broadcasted<'a, Self::Elem, Self::Dim, E>
    where
        E: IntoDimension,
        Self::Dim: DimMax<E::Dim>,
    {
        let view = self.into_view();
        Ok(
            rules::in_dim::strict(view.raw_dim(), shape.into_dimension(), broadcast_dimensions)?
                .onto(view)?,
        )
    }

    /// Broadcasts to `shape` as [`into_broadcast_in_dim`](Self::into_broadcast_in_dim), but `broadcast_dimensions` may come in any order, which
    /// transposes.
    ///
    /// Rule, errors and example: [`broadcast_in_dim_permuting`](BroadcastExt::broadcast_in_dim_permuting).
    ///
    /// # Errors
    ///
    /// As there.
    #[inline]
    fn into_broadcast_in_dim_permuting<E>(
        self,
        shape: E,
        broadcast_dimensions: &[usize],
    ) -> Broadcasted<'a, Self::Elem, Self::Dim, E>
    where
        E: IntoDimension,
        Self::Dim: DimMax<E::Dim>,
    {
        let view = self.into_view();
        Ok(
            rules::in_dim::permuting(view.raw_dim(), shape.into_dimension(), broadcast_dimensions)?
                .onto(view)?,
        )
    }

    /// Broadcasts to `shape` as PaddlePaddle does with B of an elementwise operation: laid on it from `axis` on.
    ///
    /// Rule, errors and example: [`broadcast_pdpd`](BroadcastExt::broadcast_pdpd).
    ///
    /// # Errors
    ///
    /// As there.
    #[inline]
    fn into_broadcast_pdpd<E>(
        self,
        shape: E,
        axis: isize,
    ) -> Broadcasted<'a, Self::Elem, Self::Dim, E>
    where
        E: IntoDimension,
        Self::Dim: DimMax<E::Dim>,
    {
        let view = self.into_view();
        Ok(rules::pdpd::plan(view.raw_dim(), shape.into_dimension(), axis)?.onto(view)?)
    }

    /// Broadcasts to `size` as [`into_broadcast_numpy`](Self::into_broadcast_numpy), where [`KEEP`](crate::KEEP) (torch's -1) keeps the size of an axis
    /// that the input has.
    ///
    /// Rule, errors and example: [`broadcast_expand`](BroadcastExt::broadcast_expand).
    ///
    /// # Errors
    ///
    /// As there.
    #[inline]
    fn into_broadcast_expand<E>(self, size: E) -> Broadcasted<'a, Self::Elem, Self::Dim, E>
    where
        E: IntoDimension,
        Self::Dim: DimMax<E::Dim>,
    {
        let view = self.into_view();
        Ok(rules::expand::plan(view.raw_dim(), size.into_dimension())?.onto(view)?)
    }

    /// Broadcasts by putting axes of the given `sizes` in front of the input's.
    ///
    /// Rule, errors and example: [`broadcast_prepend`](BroadcastExt::broadcast_prepend).
    ///
    /// # Errors
    ///
    /// As there.
    #[inline]
    fn into_broadcast_prepend<E>(self, sizes: E) -> Prepended<'a, Self::Elem, Self::Dim, E>
    where
        E: IntoDimension,
        E::Dim: DimAdd<Self::Dim>,
    {
        let view = self.into_view();
        Ok(rules::prepend::plan(view.raw_dim(), sizes.into_dimension())?.onto(view)?)
    }
}

impl<'a, A, D: Dimension> IntoBroadcastExt<'a> for ArrayView<'a, A, D> {
    type Elem = A;
    type Dim = D;

    #[inline]
    fn into_view(self) -> ArrayView<'a, A, D> {
        self
    }
}

impl<'a, A, S: Data<Elem = A>, D: Dimension> IntoBroadcastExt<'a> for &'a ArrayBase<S, D> {
    type Elem = A;
    type Dim = D;

    #[inline]
    fn into_view(self) -> ArrayView<'a, A, D> {
        self.view()
    }
}

impl<'a, A, D: Dimension> IntoBroadcastExt<'a> for &'a ArrayRef<A, D> {
    type Elem = A;
    type Dim = D;

    #[inline]
    fn into_view(self) -> ArrayView<'a, A, D> {
        self.view()
    }
}
