//! What is wrong with a list of axes, a pattern of names, a slice, a box, and with parts.

use crate::partial::{PartialShape, PartialSize};
use crate::picture::list;
use std::ops::Range;

/// What is wrong with a list of axes, in
/// [`ErrorKind::InvalidAxes`](crate::ErrorKind::InvalidAxes).
///
/// ```
/// use ndarray::array;
/// use ndarray_broadcast::{BroadcastExt, ErrorKind};
/// use ndarray_broadcast::error::AxesFault;
///
/// let fault =
///     |axes: &[usize]| match array![[1, 2]].broadcast_explicit((2, 2, 2), axes) {
///         Err(error) => match error.kind() {
///             ErrorKind::InvalidAxes { fault, .. } => Some(fault.clone()),
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
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AxesFault {
    /// There is not one entry for each input axis. Under `broadcast_axes`: the target without these
    /// axes has another rank than the input.
    Length,
    /// The entry at this position is not an axis.
    OutOfRange(usize),
    /// The entry at this position is smaller than the one before it. The broadcast would transpose
    /// the input.
    Unsorted(usize),
    /// The entry at this position names an axis for the second time.
    Repeated(usize),
    /// The entry at this position names an axis that cannot be removed, as its size is not 1.
    /// [Example](crate::BroadcastPlan::insert_axis).
    NotOne(usize),
    /// `pdpd` and `paddle`: the operand that begins at the axis reaches past the end of the other.
    /// [Example](crate::guide::elementwise#pdpd).
    Overhang,
    /// XLA's rule: the ranks differ, and no axes were given.
    /// [Example](crate::guide::elementwise#xla).
    Missing,
    /// XLA's rule: axes were given where none are needed.
    /// [Example](crate::guide::elementwise#xla).
    Unexpected,
    /// No list of axes within these bounds fits. [Example](crate::guide::plans#errors).
    NoneFits(PartialShape),
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
    SizesDiffer([PartialSize; 2]),
    /// The group in parentheses has the first size, and known sizes in it multiply to the second,
    /// which does not divide the first. [Example](crate::guide::names#errors).
    Indivisible([usize; 2]),
    /// The group in parentheses merges axes that are not adjacent in memory. A copy can have the
    /// shape. [Example](crate::guide::names#errors).
    NeedsCopy(Box<[usize]>),
    /// The list that begins here names another number of axes than the shape has.
    /// [Example](crate::guide::names#errors).
    #[non_exhaustive]
    Rank {
        /// The number of axes in the pattern, of which `...` is one.
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
    /// The array needs a slice of this length. `usize::MAX`: an offset is above `isize::MAX`.
    Length(usize),
    /// Two elements of an array that is written may be at one place: a stride does not step over
    /// all elements of the axes with shorter strides.
    Overlap,
}

/// What is wrong with a box, in [`ErrorKind::InvalidBox`](crate::ErrorKind::InvalidBox).
///
/// ```
/// use ndarray_broadcast::{BroadcastPlan, ErrorKind};
/// use ndarray_broadcast::distributed::Tile;
/// use ndarray_broadcast::error::BoxFault;
///
/// let plan = BroadcastPlan::numpy(3, (2, 3))?;
/// let error = Tile::new(&plan, &[0..2, 0..4]).unwrap_err();
/// assert!(matches!(
///     error.kind(),
///     ErrorKind::InvalidBox { fault: BoxFault::Outside, .. }
/// ));
/// # Ok::<(), ndarray_broadcast::BroadcastError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BoxFault {
    /// It is not inside the shape.
    Outside,
    /// There are no such blocks of terms. [Example](crate::distributed::Part::of_blocks).
    Blocks,
    /// It has a part of a block of 1024 terms. [Example](crate::distributed::Part::new).
    #[non_exhaustive]
    CutsBlock {
        /// The axis to cut elsewhere.
        axis: usize,
        /// Where the box cuts it.
        boundary: usize,
        /// Where else it could, below and above, if there is such a place.
        nearest: [Option<usize>; 2],
    },
}

/// Why inputs do not fit an operator, in
/// [`ErrorKind::InvalidOperator`](crate::ErrorKind::InvalidOperator).
///
/// ```
/// use ndarray_broadcast::openvino::{Broadcast, Mode};
/// use ndarray_broadcast::ErrorKind;
/// use ndarray_broadcast::error::OperatorFault;
///
/// let error = Broadcast::v1().with_mode(Mode::Bidirectional).unwrap_err();
/// assert!(matches!(
///     error.kind(),
///     ErrorKind::InvalidOperator { fault: OperatorFault::ModeNotInVersion, .. }
/// ));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OperatorFault {
    /// This version does not know the mode.
    ModeNotInVersion,
    /// The mode needs an `axes_mapping`. [Example](crate::guide::openvino#errors).
    AxesMappingMissing,
    /// The mode takes no `axes_mapping`. [Example](crate::guide::openvino#errors).
    AxesMappingUnexpected,
}

/// Why parts of a reduction do not fit together, in
/// [`ErrorKind::PartsMismatch`](crate::ErrorKind::PartsMismatch).
/// [Example](crate::distributed::Accumulation::merge).
#[derive(Debug, Clone, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum PartsFault {
    /// They are of different plans, reductions or element types.
    /// [Example](crate::distributed::Accumulation::to_bytes).
    #[error("these parts do not belong together: {first}, and {second}")]
    #[non_exhaustive]
    OtherReduction {
        /// What one of the two belongs to.
        first: Box<str>,
        /// What the other one belongs to.
        second: Box<str>,
    },
    /// Two parts have the same term. [Example](crate::distributed::Accumulation::merge).
    #[error("two parts have the terms {terms:?} of the element {} of the result", list(.index))]
    #[non_exhaustive]
    Overlap {
        /// The first element of the result for which both have a term.
        index: Box<[usize]>,
        /// A range whose first and last term both have. In between there may be terms that only
        /// one part has, if the terms of a part are not consecutive.
        terms: Range<usize>,
    },
    /// Parts are missing. [Example](crate::distributed::Accumulation::merge).
    #[error("the terms {terms:?} of the element {} of the result are missing", list(.index))]
    #[non_exhaustive]
    Incomplete {
        /// The first element of the result that is not complete.
        index: Box<[usize]>,
        /// The first of its terms that are missing.
        terms: Range<usize>,
    },
}
