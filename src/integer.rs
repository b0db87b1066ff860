//! Sizes and axes as graph files hold them: integers of any type, which may be negative.

use crate::error::{BroadcastError, ErrorKind, IntegerRole, reserved};
use crate::shape::KEEP;
use ndarray::{ArrayBase, ArrayRef, Data, Dimension};

/// The integer types that sizes and axes come in: `i8` to `i64`, `u8` to `u64`, `isize`, `usize`.
///
/// An [`IntegerTensor`](crate::openvino::IntegerTensor) holds them, and an
/// [`AxisList`](crate::reduction::AxisList). Axes that are negative count from the end wherever a
/// method takes this type: in permutations, and where axes are inserted and removed. The trait is
/// sealed: a graph file holds no other types.
///
/// ```
/// use ndarray_broadcast::BroadcastPlan;
///
/// let plan = BroadcastPlan::numpy((2, 3), (4, 2, 3))?;
/// assert_eq!(plan.permuted(&[0_usize, 2, 1])?, plan.permuted(&[0_i8, -1, -2])?);
/// # Ok::<(), ndarray_broadcast::BroadcastError>(())
/// ```
pub trait ShapeInteger: Copy + sealed::Widen {}

mod sealed {
    use super::{BroadcastError, IntegerRole, converted};

    pub trait Widen {
        /// The value, exactly.
        fn widen(self) -> i128;
    }

    pub trait Integers {
        /// The integers, exactly.
        ///
        /// # Errors
        ///
        /// `InvalidInteger` for a tensor of another rank than 1, `AllocationFailed`.
        fn integers(&self, role: IntegerRole) -> Result<Vec<i128>, BroadcastError>;

        /// The integers as sizes or axes.
        ///
        /// # Errors
        ///
        /// `InvalidInteger`, `AllocationFailed`.
        fn read(&self, role: IntegerRole) -> Result<Vec<usize>, BroadcastError> {
            converted(&self.integers(role)?, role)
        }
    }
}

macro_rules! shape_integer {
    ($($t:ty)*) => {$(
        impl sealed::Widen for $t {
            #[inline(always)]
            fn widen(self) -> i128 {
                self as i128
            }
        }
        impl ShapeInteger for $t {}
    )*};
}

shape_integer!(i8 i16 i32 i64 isize u8 u16 u32 u64 usize);

/// A target shape from the integers of a graph file: a list or a 1-D tensor.
///
/// # Errors
///
/// [`InvalidInteger`](crate::ErrorKind::InvalidInteger) for a size that is negative or does not fit
/// `usize`, and for a tensor of another rank than 1.
///
/// # Example
///
/// ```
/// use ndarray::{array, ArrayD};
/// use ndarray_broadcast::prelude::*;
/// use ndarray_broadcast::shape_from_integers;
///
/// let shape = shape_from_integers(&[2_i64, 3])?;
/// assert_eq!(array![1, 2, 3].broadcast_numpy(shape)?.shape(), [2, 3]);
/// let tensor: ArrayD<i64> = array![2, 3].into_dyn();
/// assert_eq!(shape_from_integers(&tensor)?, [2, 3]);
///
/// let error = shape_from_integers(&[2_i64, -2]).unwrap_err();
/// assert_eq!(error.to_string(), "entry 1 is -2: a size must not be negative");
/// assert_eq!(
///     shape_from_integers(&array![[2, 3]]).unwrap_err().to_string(),
///     "sizes are of rank 1, but this tensor has the shape [1, 2]",
/// );
/// # Ok::<(), BroadcastError>(())
/// ```
pub fn shape_from_integers<T>(sizes: &T) -> Result<Vec<usize>, BroadcastError>
where
    T: IntegerTensor + ?Sized,
{
    sizes.read(IntegerRole::Size)
}

/// A size for [`broadcast_expand`](crate::BroadcastExt::broadcast_expand) from integers as torch
/// takes them: -1 becomes [`KEEP`].
///
/// # Errors
///
/// [`InvalidInteger`](crate::ErrorKind::InvalidInteger) for a size below -1, and for one of
/// `usize::MAX` or more: `usize::MAX` is [`KEEP`], which only -1 stands for. Also for a tensor of
/// another rank than 1.
///
/// # Example
///
/// ```
/// use ndarray_broadcast::{KEEP, expand_shape_from_integers};
///
/// assert_eq!(expand_shape_from_integers(&[4, -1])?, [4, KEEP]);
/// assert_eq!(
///     expand_shape_from_integers(&[4, -2]).unwrap_err().to_string(),
///     "entry 1 is -2: a size must not be negative, \
///      except for -1, which keeps the input's size",
/// );
/// # Ok::<(), ndarray_broadcast::BroadcastError>(())
/// ```
pub fn expand_shape_from_integers<T>(sizes: &T) -> Result<Vec<usize>, BroadcastError>
where
    T: IntegerTensor + ?Sized,
{
    sizes.read(IntegerRole::SizeOrKeep)
}

/// Axes of an array of this rank from the integers of a graph file: a list or a 1-D tensor.
///
/// Negative axes count from the end, as in ONNX and NumPy: -1 is the last one. Reductions and
/// permutations take such integers as they are. `axes_mapping`, `broadcast_axes` and
/// `broadcast_dimensions` are axes from the front; their specifications know no negative ones.
///
/// # Errors
///
/// [`InvalidInteger`](crate::ErrorKind::InvalidInteger) for an axis that is not in `-rank..rank`,
/// and for a tensor of another rank than 1.
///
/// # Example
///
/// ```
/// use ndarray_broadcast::axes_from_integers;
///
/// assert_eq!(axes_from_integers(&[1_u8, 2], 3)?, [1, 2]);
/// assert_eq!(axes_from_integers(&[0_i64, -1], 4)?, [0, 3]);
/// assert_eq!(
///     axes_from_integers(&[0, -5], 4).unwrap_err().to_string(),
///     "entry 1 is -5: axes of an array of rank 4 are -4 to 3",
/// );
/// # Ok::<(), ndarray_broadcast::BroadcastError>(())
/// ```
pub fn axes_from_integers<T>(axes: &T, rank: usize) -> Result<Vec<usize>, BroadcastError>
where
    T: IntegerTensor + ?Sized,
{
    axes.read(IntegerRole::AxisOf(rank))
}

/// An input that holds sizes or axes: a 1-D tensor of any integer type.
///
/// For `[T; N]`, `Vec<T>`, `&[T]`, and every ndarray array or view, where `T` is any
/// [`ShapeInteger`]: `i8` to `i64`, `u8` to `u64`, `isize`, `usize`. An array may have any
/// dimension type. If its rank is not 1, the call returns an error. The trait is sealed and works
/// as `dyn`: a `Box<dyn IntegerTensor>` holds tensors of any integer type. Where a method takes
/// `&dyn IntegerTensor`, a slice `sizes: &[i64]` is passed as `&sizes`.
///
/// [`shape_from_integers`], [`axes_from_integers`] and [`expand_shape_from_integers`] take it, and
/// the operators of [`openvino`](crate::openvino) and [`onnx`](crate::onnx).
///
/// ```
/// use ndarray::array;
/// use ndarray_broadcast::openvino::{Broadcast, IntegerTensor};
///
/// let shapes: [Box<dyn IntegerTensor>; 3] = [
///     Box::new([2_i64, 3]),
///     Box::new(vec![2_u8, 3]),
///     Box::new(array![2, 3].into_dyn()),
/// ];
/// for shape in &shapes {
///     assert_eq!(Broadcast::v3().infer_shape((2, 1), shape, None)?, [2, 3]);
/// }
/// # Ok::<(), ndarray_broadcast::BroadcastError>(())
/// ```
pub trait IntegerTensor: sealed::Integers {}

impl<T: sealed::Integers + ?Sized> IntegerTensor for T {}

impl<T: ShapeInteger> sealed::Integers for [T] {
    fn integers(&self, _: IntegerRole) -> Result<Vec<i128>, BroadcastError> {
        widened(self.iter().copied())
    }
}

impl<T: ShapeInteger, const N: usize> sealed::Integers for [T; N] {
    fn integers(&self, role: IntegerRole) -> Result<Vec<i128>, BroadcastError> {
        self.as_slice().integers(role)
    }
}

impl<T: ShapeInteger> sealed::Integers for Vec<T> {
    fn integers(&self, role: IntegerRole) -> Result<Vec<i128>, BroadcastError> {
        self.as_slice().integers(role)
    }
}

impl<T: ShapeInteger, D: Dimension> sealed::Integers for ArrayRef<T, D> {
    fn integers(&self, role: IntegerRole) -> Result<Vec<i128>, BroadcastError> {
        if self.ndim() != 1 {
            return Err(BroadcastError::new(ErrorKind::InvalidInteger {
                role,
                shape: self.shape().into(),
                entry: None,
            }));
        }
        widened(self.iter().copied())
    }
}

impl<T: ShapeInteger, S: Data<Elem = T>, D: Dimension> sealed::Integers for ArrayBase<S, D> {
    fn integers(&self, role: IntegerRole) -> Result<Vec<i128>, BroadcastError> {
        let array: &ArrayRef<T, D> = self;
        array.integers(role)
    }
}

impl<T: sealed::Integers + ?Sized> sealed::Integers for &T {
    fn integers(&self, role: IntegerRole) -> Result<Vec<i128>, BroadcastError> {
        (**self).integers(role)
    }
}

impl<T: sealed::Integers + ?Sized> sealed::Integers for Box<T> {
    fn integers(&self, role: IntegerRole) -> Result<Vec<i128>, BroadcastError> {
        (**self).integers(role)
    }
}

/// The integers, exactly.
fn widened<T: ShapeInteger>(
    values: impl ExactSizeIterator<Item = T>,
) -> Result<Vec<i128>, BroadcastError> {
    let mut widened = reserved(values.len())?;
    widened.extend(values.map(sealed::Widen::widen));
    Ok(widened)
}

/// The integers as sizes or axes.
pub(crate) fn converted(values: &[i128], role: IntegerRole) -> Result<Vec<usize>, BroadcastError> {
    let mut converted = reserved(values.len())?;
    for (position, &value) in values.iter().enumerate() {
        let number = usize::try_from(value).ok();
        let number = match role {
            IntegerRole::Size | IntegerRole::Axis => number,
            IntegerRole::SizeOrKeep if value == -1 => Some(KEEP),
            IntegerRole::SizeOrKeep => number.filter(|&size| size != KEEP),
            IntegerRole::AxisOf(rank) => axis_from_front(value, rank),
        };
        let Some(number) = number else {
            return Err(BroadcastError::new(ErrorKind::InvalidInteger {
                role,
                shape: [values.len()].into(),
                entry: Some((position, value)),
            }));
        };
        converted.push(number);
    }
    Ok(converted)
}

/// The axis of an array of this rank. Negative ones count from the end. `None` if there is none.
#[inline(always)]
pub(crate) fn axis_of<T: ShapeInteger>(axis: T, rank: usize) -> Option<usize> {
    axis_from_front(axis.widen(), rank)
}

#[inline(always)]
fn axis_from_front(axis: i128, rank: usize) -> Option<usize> {
    let from_front = if axis < 0 { axis + rank as i128 } else { axis };
    usize::try_from(from_front).ok().filter(|&axis| axis < rank)
}

/// The nearest number that errors can show.
pub(crate) fn saturated(value: i128) -> isize {
    value.clamp(isize::MIN as i128, isize::MAX as i128) as isize
}
