//! What is wrong with a list of axes, a shape that is known in part, and a pattern of names.

use crate::partial::{PartialShape, PartialSize};

/// What is wrong with a list of axes, in
/// [`ErrorKind::InvalidAxes`](crate::ErrorKind::InvalidAxes) and
/// [`ErrorKind::NotAPermutation`](crate::ErrorKind::NotAPermutation).
///
/// ```
/// use ndarray::array;
/// use ndarray_broadcast::{BroadcastExt, ErrorKind};
/// use ndarray_broadcast::error::AxesFault;
///
/// let fault =
///     |axes: &[usize]| match array![[1, 2]].broadcast_explicit((2, 2, 2), axes) {
///         Err(error) => match error.kind() {
///             ErrorKind::InvalidAxes { fault, .. } => Some(*fault),
///             _ => None,
///         },
///         Ok(_) => None,
///     };
/// assert_eq!(fault(&[1]), Some(AxesFault::Length));
/// assert_eq!(fault(&[1, 3]), Some(AxesFault::OutOfRange(1)));
/// assert_eq!(fault(&[1, 0]), Some(AxesFault::Unsorted(1)));
/// assert_eq!(fault(&[1, 1]), Some(AxesFault::Repeated(1)));
/// assert_eq!(fault(&[0, 2]), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AxesFault {
    /// There is not one entry for each input axis.
    Length,
    /// The entry at this position is not an axis of the target.
    OutOfRange(usize),
    /// The entry at this position is smaller than the one before it. The broadcast would transpose
    /// the input.
    Unsorted(usize),
    /// The entry at this position names an axis for the second time.
    Repeated(usize),
}

/// Why no shapes within the bounds fit, in
/// [`ErrorKind::Impossible`](crate::ErrorKind::Impossible).
///
/// ```
/// use ndarray_broadcast::{BroadcastMode, ErrorKind};
/// use ndarray_broadcast::error::PartialFault;
/// use ndarray_broadcast::infer::{PartialShape, PartialSize};
///
/// let input = PartialShape::new([PartialSize::ANY, PartialSize::ANY]);
/// let error =
///     BroadcastMode::Numpy.infer(&input, &PartialShape::known(3)).unwrap_err();
/// assert!(matches!(
///     error.kind(),
///     ErrorKind::Impossible { fault: PartialFault::Ranks, .. }
/// ));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PartialFault {
    /// The ranks do not fit. [Example](crate::guide::plans#errors).
    Ranks,
    /// No sizes of an axis fit. [Example](crate::guide::plans#errors).
    #[non_exhaustive]
    Sizes {
        /// For each axis of the shape with fewer axes (of the first, if the ranks are equal), the
        /// axis that it is aligned with.
        mapping: Box<[usize]>,
        /// The axis at fault, counted in the shape with more axes.
        axis: usize,
    },
    /// A list of axes does not fit. [Example](crate::guide::plans#errors).
    #[non_exhaustive]
    Axes {
        /// The list.
        axes: Box<[usize]>,
        /// What is wrong with it.
        fault: AxesFault,
    },
    /// XLA's broadcast dimensions are missing, or given where none are allowed.
    /// [Example](crate::guide::plans#errors).
    Dimensions(Box<[usize]>),
    /// A new axis has no size that it could keep. [Example](crate::guide::plans#errors).
    KeepOnNewAxis(usize),
    /// PaddlePaddle's axis is below -1, or past the end of A.
    /// [Example](crate::guide::plans#errors).
    PdpdAxis(isize),
    /// Two sizes of one name never are equal. [Example](crate::named::AxisPattern::infer).
    #[non_exhaustive]
    Name {
        /// The name.
        name: Box<str>,
        /// What is known of its size in the two operands.
        sizes: [PartialSize; 2],
    },
    /// An axis that is 1 in the pattern never has size 1. [Example](crate::guide::plans#errors).
    #[non_exhaustive]
    One {
        /// The operand that has the axis: 0 or 1.
        operand: usize,
        /// What is known of its size there.
        size: PartialSize,
    },
    /// No axes mapping within these bounds fits. [Example](crate::guide::plans#errors).
    Mapping(PartialShape),
}

/// What is wrong with a pattern of names, or with shapes and sizes given for it, in
/// [`ErrorKind::InvalidPattern`](crate::ErrorKind::InvalidPattern).
///
/// ```
/// use ndarray_broadcast::{BroadcastError, ErrorKind};
/// use ndarray_broadcast::error::PatternFault;
/// use ndarray_broadcast::named::AxisPattern;
///
/// let error: BroadcastError = "c -> n c c".parse::<AxisPattern>().unwrap_err();
/// let fault = PatternFault::AxisTwice;
/// assert!(matches!(
///     error.kind(),
///     ErrorKind::InvalidPattern { position: 9, fault: f, .. } if *f == fault
/// ));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PatternFault {
    /// Something else is expected here. [Example](crate::guide::names#errors).
    Syntax(&'static str),
    /// The axis stands in this list already. [Example](crate::guide::names#errors).
    AxisTwice,
    /// The output has no such axis. [Example](crate::guide::names#errors).
    AxisUnknown,
    /// A size was given for an axis that the pattern does not have.
    /// [Example](crate::guide::names#errors).
    SizeUnknown(Box<str>),
    /// No array has this axis, and no size was given. [Example](crate::guide::names#errors).
    SizeMissing,
    /// The axis has two sizes. [Example](crate::guide::names#errors).
    SizesDiffer([usize; 2]),
    /// The list that begins here names another number of axes than the shape has.
    /// [Example](crate::guide::names#errors).
    #[non_exhaustive]
    Rank {
        /// The number of axes in the pattern.
        names: usize,
        /// The rank of the shape.
        rank: usize,
    },
}

/// What is wrong with a slice and its strides, in
/// [`ErrorKind::InvalidSlice`](crate::ErrorKind::InvalidSlice).
///
/// ```
/// use ndarray_broadcast::{BroadcastPlan, ErrorKind};
/// use ndarray_broadcast::error::SliceFault;
/// use std::mem::MaybeUninit;
///
/// let plan = BroadcastPlan::numpy(2, (3, 2))?;
/// let fault = |len: usize, strides: &[isize]| {
///     let mut out = vec![MaybeUninit::uninit(); len];
///     match plan
///         .copy_slice(&[1, 2], Some(&[1]), &mut out, Some(strides))
///         .unwrap_err()
///         .kind()
///     {
///         ErrorKind::InvalidSlice { fault, .. } => *fault,
///         _ => unreachable!(),
///     }
/// };
/// assert_eq!(fault(6, &[2, 1, 1]), SliceFault::Rank);
/// assert_eq!(fault(5, &[2, 1]), SliceFault::Length(6));
/// assert_eq!(fault(6, &[1, 1]), SliceFault::Overlap);
/// # Ok::<(), ndarray_broadcast::BroadcastError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SliceFault {
    /// There is not one stride for each axis.
    Rank,
    /// The array needs a slice of this length.
    Length(usize),
    /// Two elements of an array that is written are at one place.
    Overlap,
}
