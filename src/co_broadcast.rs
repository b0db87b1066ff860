//! Arrays broadcast with each other: two by any elementwise rule, more by NumPy's.

use crate::error::{ArrayRole, BroadcastError, Mismatch, Result, reserved, shape_overflow};
use crate::mode::ElementwiseRule;
use crate::operand::IntoView;
use crate::partial::PartialShape;
use crate::plan::BroadcastPlan;
use crate::rule::{Relation, Rule};
use crate::shape::{Sizes, by_axis, elements, replicates};
use crate::view::Broadcasted;
use ndarray::{ArrayView, DimMax, Dimension};
use std::borrow::Borrow;
use std::ops::IndexMut;

/// Two arrays as views of their common shape, under any [`ElementwiseRule`].
///
/// Takes references to arrays, or views by value. The element types may differ. The rank of the
/// views is the larger of the two.
///
/// | rule | conditions | common shape |
/// |---|---|---|
/// | `None` | identical shapes, rank included | that shape |
/// | `Numpy` | right-aligned, sizes equal or either is 1 | the sizes that are not 1 |
/// | `Pdpd` | `b` aligned with `a` from the axis on, [as with a target shape](crate::BroadcastExt::broadcast_pdpd) | `a`'s, always |
/// | `Paddle` | the operand of smaller rank aligned with the other from the axis on; sizes equal or either is 1 | the sizes that are not 1 |
/// | `Xla` | equal ranks, or broadcast dimensions for the smaller; sizes equal or either is 1 | the sizes that are not 1 |
///
/// # Errors
///
/// [`SizeMismatch`](crate::ErrorKind::SizeMismatch),
/// [`ShapeOverflow`](crate::ErrorKind::ShapeOverflow). `None` and `Pdpd`:
/// [`RankMismatch`](crate::ErrorKind::RankMismatch). `Pdpd`, `Paddle` and `Xla`:
/// [`InvalidAxes`](crate::ErrorKind::InvalidAxes).
///
/// # Example
///
/// ```
/// use ndarray::array;
/// use ndarray_broadcast::prelude::*;
///
/// let a = array![1, 2, 3, 4];
/// let b = array![[10, 20]];
/// let dimensions = ElementwiseRule::Xla { broadcast_dimensions: vec![0] };
/// let (a, b) = broadcast_pair(&a, &b, dimensions)?;
/// assert_eq!(&a + &b, array![[11, 21], [12, 22], [13, 23], [14, 24]]);
/// # Ok::<(), BroadcastError>(())
/// ```
///
/// Source: OpenVINO's and PaddlePaddle's elementwise operations, NumPy's general broadcasting
/// rules, XLA's broadcasting semantics.
#[doc(alias = "multidirectional")]
#[inline]
pub fn broadcast_pair<'a, 'b, T: IntoView<'a>, U: IntoView<'b>>(
    a: T,
    b: U,
    rule: impl Borrow<ElementwiseRule>,
) -> Result<(
    Broadcasted<'a, T::Elem, T::Dim, U::Dim>,
    Broadcasted<'b, U::Elem, T::Dim, U::Dim>,
)>
where
    T::Dim: DimMax<U::Dim>,
{
    let (a, b) = (a.into_view(), b.into_view());
    let (plan_a, plan_b) = BroadcastPlan::pair(a.raw_dim(), b.raw_dim(), rule)?;
    Ok((plan_a.view(a)?, plan_b.view(b)?))
}

/// Any number of arrays as views of their common shape, under NumPy's rule.
///
/// All have one element type and one dimension type, which is `IxDyn` for arrays of different
/// ranks.
///
/// # Errors
///
/// [`SizeMismatch`](crate::ErrorKind::SizeMismatch), which names the two that disagree;
/// [`ShapeOverflow`](crate::ErrorKind::ShapeOverflow);
/// [`AllocationFailed`](crate::ErrorKind::AllocationFailed).
///
/// # Example
///
/// ```
/// use ndarray::array;
/// use ndarray_broadcast::prelude::*;
///
/// let (a, b) = (array![[1], [2]].into_dyn(), array![3, 4].into_dyn());
/// let views = broadcast_arrays(&[a.view(), b.view()])?;
/// assert_eq!(views[0], array![[1, 1], [2, 2]].into_dyn());
/// assert_eq!(views[1], array![[3, 4], [3, 4]].into_dyn());
/// # Ok::<(), BroadcastError>(())
/// ```
///
/// Source: NumPy `broadcast_arrays`.
#[doc(alias = "broadcast_tensors")]
#[doc(alias = "meshgrid")]
pub fn broadcast_arrays<'a, A, D: Dimension>(
    arrays: &[ArrayView<'a, A, D>],
) -> Result<Vec<ArrayView<'a, A, D>>> {
    let mut views = reserved(arrays.len())?;
    if arrays.is_empty() {
        return Ok(views);
    }
    let mut shapes = reserved(arrays.len())?;
    shapes.extend(arrays.iter().map(|array| array.shape()));
    let shape: D = common_shape(&shapes).map_err(|e| e.renamed(ArrayRole::Listed))?;
    for array in arrays {
        views.push(replicated(array.clone(), &shape)?);
    }
    Ok(views)
}

/// The common shape of any number of shapes, under NumPy's rule; of none it is `[]`.
///
/// # Errors
///
/// [`SizeMismatch`](crate::ErrorKind::SizeMismatch), which names the two that disagree;
/// [`ShapeOverflow`](crate::ErrorKind::ShapeOverflow);
/// [`AllocationFailed`](crate::ErrorKind::AllocationFailed).
///
/// # Example
///
/// ```
/// use ndarray_broadcast::broadcast_shapes;
///
/// assert_eq!(broadcast_shapes(&[&[4, 1][..], &[5], &[1, 1, 5]])?, [1, 4, 5]);
/// assert_eq!(broadcast_shapes(&[[1, 0], [0, 1]])?, [0, 0]);
/// assert_eq!(
///     broadcast_shapes(&[[4], [1], [5]]).unwrap_err().to_string(),
///     "\
/// cannot broadcast [4] with [5] (numpy)
///   input 0   4
///   input 2   5
///             ^ 4 and 5 differ and neither is 1",
/// );
/// # Ok::<(), ndarray_broadcast::BroadcastError>(())
/// ```
///
/// Source: NumPy `broadcast_shapes`.
#[doc(alias = "broadcast_dynamic_shape")]
#[doc(alias = "broadcast_static_shape")]
pub fn broadcast_shapes<S: AsRef<[usize]>>(shapes: &[S]) -> Result<Vec<usize>> {
    let rank = rank_of(shapes);
    let mut common = reserved(rank)?;
    common.resize(rank, 1);
    merge_all(&mut common, rank, shapes).map_err(|e| e.renamed(ArrayRole::Listed))?;
    match elements(&common) {
        Some(_) => Ok(common),
        None => Err(shape_overflow(&common, None)),
    }
}

#[inline(always)]
fn rank_of<S: AsRef<[usize]>>(shapes: &[S]) -> usize {
    let ranks = shapes.iter().map(|shape| shape.as_ref().len());
    ranks.max().unwrap_or(0)
}

/// The common shape as a dimension, whose rank is the largest of the shapes' ranks.
// Always inlined, with what it calls, as are the rules: a small map of static ranks then takes
// 13 ns less.
#[inline(always)]
pub(crate) fn common_shape<D: Dimension>(shapes: &[&[usize]]) -> Result<D> {
    let rank = rank_of(shapes);
    let mut common: D = by_axis(rank, |_| 1);
    merge_all(&mut common, rank, shapes)?;
    Ok(common)
}

/// Merges every shape into `common`, which has the largest `rank` and starts as 1s.
#[inline(always)]
fn merge_all<S: AsRef<[usize]>>(
    common: &mut impl IndexMut<usize, Output = usize>,
    rank: usize,
    shapes: &[S],
) -> Result<()> {
    for (operand, shape) in shapes.iter().enumerate() {
        let shape = shape.as_ref();
        let first = rank - shape.len();
        (Relation::Common.relate(shape, common, rank, |axis| first + axis))
            .map_err(|axis| mismatch(shapes, operand, axis))?;
    }
    Ok(())
}

/// The error for `operand` and the first shape that it does not fit on this axis of the common
/// shape.
#[cold]
fn mismatch<S: AsRef<[usize]>>(shapes: &[S], operand: usize, axis: usize) -> BroadcastError {
    let from_end = rank_of(shapes) - 1 - axis;
    // All sizes before that of the operand are 1 or equal.
    let is_not_1 = |shape: &S| {
        let size = shape.as_ref().iter().rev().nth(from_end);
        size.is_some_and(|&size| size != 1)
    };
    let first = shapes.iter().position(is_not_1).unwrap_or(0);
    let pair = [shapes[first].as_ref(), shapes[operand].as_ref()];
    let operands = [first, operand].map(ArrayRole::Operand);
    let [a, b] = pair.map(<[usize]>::len);
    let axis_of = |axis| a.abs_diff(b) + axis;
    let axis = a.max(b) - 1 - from_end;
    let why = Mismatch::sizes(Relation::Common, axis, a.min(b), &axis_of);
    why.of(Rule::Numpy, operands, pair.map(PartialShape::known))
}

/// That each of these shapes replicates to the shape `to`.
///
/// # Errors
///
/// `RankMismatch`, `SizeMismatch`, of the first that does not.
#[inline]
pub(crate) fn check_replicate(shapes: &[&[usize]], to: &[usize]) -> Result<()> {
    let misfit = shapes.iter().position(|from| !replicates(from, to));
    misfit.map_or(Ok(()), |operand| {
        Err(does_not_replicate(operand, shapes[operand], to))
    })
}

/// The error of the rule numpy. A plan would give the same error, by more code.
#[cold]
fn does_not_replicate(operand: usize, from: &[usize], to: &[usize]) -> BroadcastError {
    let operands = [ArrayRole::Operand(operand), ArrayRole::Target];
    let why = match to.len().checked_sub(from.len()) {
        None => Mismatch::Ranks.into(),
        Some(offset) => {
            let mut sizes = from.iter().zip(&to[offset..]);
            let misfit = sizes.position(|(from, to)| from != to && *from != 1);
            let axis_of = |axis| offset + axis;
            let axis = axis_of(misfit.unwrap_or(0));
            Mismatch::sizes(Relation::Stretch, axis, from.len(), &axis_of)
        }
    };
    why.of(Rule::Numpy, operands, [from, to].map(PartialShape::known))
}

#[inline]
pub(crate) fn replicated<'a, A, D: Dimension, O: Dimension>(
    array: ArrayView<'a, A, D>,
    shape: &O,
) -> Result<ArrayView<'a, A, O>> {
    // Building a plan of dynamic ranks takes longer than a small map.
    if O::NDIM.is_none() && array.shape() == shape.sizes() {
        if let Ok(same) = array.clone().into_dimensionality() {
            return Ok(same);
        }
    }
    BroadcastPlan::numpy_to(array.raw_dim(), shape.clone())?.view(array)
}
