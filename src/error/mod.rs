//! [`BroadcastError`] and its [`ErrorKind`]. [`draw`] holds what they print.

mod draw;
mod role;

pub use role::{ArrayRole, IntegerRole};

use crate::rule::Rule;
use std::fmt;

/// Why a broadcast was refused, or an owned copy could not be made.
///
/// One pointer wide. [`kind`](Self::kind) has the shapes and the axis as fields, for programs.
/// `Display` draws the shapes as the rule aligns them, for people:
///
/// ```
/// use ndarray::Array3;
/// use ndarray_broadcast::prelude::*;
///
/// let error = Array3::<f32>::zeros((3, 1, 5)).broadcast_numpy((4, 4, 5)).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "\
/// cannot broadcast [3, 1, 5] to [4, 4, 5] (numpy)
///   input    3  1  5
///   target   4  4  5
///            ^ 3 is neither 4 nor 1",
/// );
/// assert!(matches!(error.kind(), ErrorKind::SizeMismatch { input_axis: 0, .. }));
/// ```
///
/// A call that returns an error has written nothing and left nothing allocated.
// One pointer, so that a `Result` stays in registers on its way out of a rule. A `Result` with a
// wide error is returned through memory, which takes five times as long as making a view.
// `Box::new` aborts when memory is refused, and boxing a slice does not: hence the array of one.
// `None`: the box itself was refused.
#[derive(Clone)]
pub struct BroadcastError(Option<Box<[ErrorKind; 1]>>);

static NO_MEMORY_FOR_THE_ERROR: ErrorKind = ErrorKind::AllocationFailed {
    bytes: size_of::<ErrorKind>(),
};

impl BroadcastError {
    /// What is wrong, with its shapes and axes.
    ///
    /// ```
    /// use ndarray::array;
    /// use ndarray_broadcast::prelude::*;
    ///
    /// let error = array![1, 2].broadcast_explicit((2, 3), &[2]).unwrap_err();
    /// match error.kind() {
    ///     ErrorKind::AxisOutOfRange { axes, position, .. } => assert_eq!(axes[*position], 2),
    ///     _ => unreachable!(),
    /// }
    /// ```
    #[must_use]
    pub fn kind(&self) -> &ErrorKind {
        match &self.0 {
            Some(kind) => &kind[0],
            None => &NO_MEMORY_FOR_THE_ERROR,
        }
    }

    #[cold]
    pub(crate) fn new(kind: ErrorKind) -> Self {
        let mut boxed = Vec::new();
        if boxed.try_reserve_exact(1).is_ok() {
            boxed.push(kind);
        }
        BroadcastError(boxed.into_boxed_slice().try_into().ok())
    }
}

impl PartialEq for BroadcastError {
    fn eq(&self, other: &Self) -> bool {
        self.kind() == other.kind()
    }
}

impl Eq for BroadcastError {}

impl fmt::Debug for BroadcastError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.kind(), f)
    }
}

impl fmt::Display for BroadcastError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.kind(), f)
    }
}

impl std::error::Error for BroadcastError {}

/// What a [`BroadcastError`] says, with the shapes and the axis needed to fix the call.
///
/// Shapes are sizes per axis, outermost axis first. Each variant links to an example.
///
/// ```
/// use ndarray_broadcast::{BroadcastPlan, ErrorKind, Rule};
///
/// let error = BroadcastPlan::numpy((1, 3), 3).unwrap_err();
/// assert!(matches!(error.kind(), ErrorKind::RankTooLarge { rule: Rule::Numpy, .. }));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An input axis and the target axis that it feeds have sizes that do not fit.
    ///
    /// [Example](crate::guide::numpy#errors).
    #[error(fmt = draw::size_mismatch)]
    #[non_exhaustive]
    SizeMismatch {
        /// The rule that was asked for.
        rule: Rule,
        /// Shape of the input.
        input: Box<[usize]>,
        /// The target shape.
        target: Box<[usize]>,
        /// For each input axis, the axis that it is aligned with, counted in the longer shape.
        mapping: Box<[usize]>,
        /// The input axis at fault.
        input_axis: usize,
    },

    /// Two arrays have an axis whose sizes differ, and neither size is 1.
    ///
    /// [Example](crate::guide::elementwise#numpy).
    #[error(fmt = draw::operand_mismatch)]
    #[non_exhaustive]
    OperandMismatch {
        /// The rule that was asked for.
        rule: Rule,
        /// Which of the operands disagree, counted from 0.
        operands: [usize; 2],
        /// Their shapes, in the same order.
        shapes: [Box<[usize]>; 2],
        /// For each axis of the shape with fewer axes (of the first, if the ranks are equal), the
        /// axis of the common shape that it is aligned with.
        mapping: Box<[usize]>,
        /// The axis at fault, counted in the shape with more axes.
        axis: usize,
    },

    /// The rule `none` demands identical shapes, and they differ.
    ///
    /// [Example](crate::guide::elementwise#none).
    #[error(fmt = draw::shapes_differ)]
    #[non_exhaustive]
    ShapesDiffer {
        /// The two shapes.
        shapes: [Box<[usize]>; 2],
    },

    /// The input has more axes than the target.
    ///
    /// [Example](crate::guide::numpy#errors).
    #[error(fmt = draw::rank_too_large)]
    #[non_exhaustive]
    RankTooLarge {
        /// The rule that was asked for.
        rule: Rule,
        /// Shape of the input (of B, for `pdpd`).
        input: Box<[usize]>,
        /// The target shape (of A, for `pdpd`).
        target: Box<[usize]>,
    },

    /// A list of axes does not have one entry for each input axis.
    ///
    /// [Example](crate::guide::explicit#errors).
    #[error(fmt = draw::axes_length)]
    #[non_exhaustive]
    AxesLength {
        /// The rule that was asked for.
        rule: Rule,
        /// Shape of the input; for `xla`, of the operand with fewer axes.
        input: Box<[usize]>,
        /// The target shape; for `xla`, of the operand with more axes.
        target: Box<[usize]>,
        /// The axes that were given.
        axes: Box<[usize]>,
    },

    /// A list of axes names an axis that the target does not have.
    ///
    /// [Example](crate::guide::explicit#errors).
    #[error(fmt = draw::axis_out_of_range)]
    #[non_exhaustive]
    AxisOutOfRange {
        /// The rule that was asked for.
        rule: Rule,
        /// Shape of the input.
        input: Box<[usize]>,
        /// The target shape.
        target: Box<[usize]>,
        /// The axes that were given.
        axes: Box<[usize]>,
        /// Position in `axes` of the entry at fault.
        position: usize,
    },

    /// A list of axes does not increase. The broadcast would transpose the input.
    ///
    /// [Example](crate::guide::explicit#errors).
    #[error(fmt = draw::axes_unsorted)]
    #[non_exhaustive]
    AxesUnsorted {
        /// The rule that was asked for.
        rule: Rule,
        /// Shape of the input.
        input: Box<[usize]>,
        /// The target shape.
        target: Box<[usize]>,
        /// The axes that were given.
        axes: Box<[usize]>,
        /// Position in `axes` of the entry that is smaller than the one before it.
        position: usize,
    },

    /// A list of axes names the same target axis twice.
    ///
    /// [Example](crate::guide::explicit#errors).
    #[error(fmt = draw::axis_repeated)]
    #[non_exhaustive]
    AxisRepeated {
        /// The rule that was asked for.
        rule: Rule,
        /// Shape of the input.
        input: Box<[usize]>,
        /// The target shape.
        target: Box<[usize]>,
        /// The axes that were given.
        axes: Box<[usize]>,
        /// Position in `axes` of the second occurrence.
        position: usize,
    },

    /// nGraph's rule: the target without its broadcast axes has another rank than the input.
    ///
    /// [Example](crate::guide::broadcast_axes#errors).
    #[error(fmt = draw::broadcast_axes_rank)]
    #[non_exhaustive]
    BroadcastAxesRank {
        /// Shape of the input.
        input: Box<[usize]>,
        /// The target shape.
        target: Box<[usize]>,
        /// The broadcast axes that were given.
        axes: Box<[usize]>,
    },

    /// PaddlePaddle's rule: the axis is below -1.
    ///
    /// [Example](crate::guide::elementwise#pdpd).
    #[error(fmt = draw::pdpd_axis)]
    #[non_exhaustive]
    PdpdAxis {
        /// Shape of B, the array that is broadcast.
        input: Box<[usize]>,
        /// Shape of A.
        target: Box<[usize]>,
        /// The axis that was given.
        axis: isize,
    },

    /// PaddlePaddle's rule: B, without its trailing 1s, begins at the axis and reaches past the end
    /// of A.
    ///
    /// [Example](crate::guide::elementwise#pdpd).
    #[error(fmt = draw::pdpd_overhang)]
    #[non_exhaustive]
    PdpdOverhang {
        /// Shape of B, the array that is broadcast.
        input: Box<[usize]>,
        /// Shape of A.
        target: Box<[usize]>,
        /// The axis of A that B's first axis is aligned with.
        axis: usize,
        /// Rank of B without its trailing 1s.
        trimmed_rank: usize,
    },

    /// XLA's rule: the ranks differ, and no broadcast dimensions were given.
    ///
    /// [Example](crate::guide::elementwise#xla).
    #[error(fmt = draw::dimensions_required)]
    #[non_exhaustive]
    DimensionsRequired {
        /// The two shapes.
        shapes: [Box<[usize]>; 2],
    },

    /// XLA's rule: broadcast dimensions were given where none are allowed.
    ///
    /// [Example](crate::guide::elementwise#xla).
    #[error(fmt = draw::dimensions_unexpected)]
    #[non_exhaustive]
    DimensionsUnexpected {
        /// The two shapes.
        shapes: [Box<[usize]>; 2],
        /// The broadcast dimensions that were given.
        dimensions: Box<[usize]>,
    },

    /// torch's rule: the size of an axis that the input does not have cannot be kept.
    ///
    /// [Example](crate::guide::numpy#errors).
    #[error(fmt = draw::keep_on_new_axis)]
    #[non_exhaustive]
    KeepOnNewAxis {
        /// Shape of the input.
        input: Box<[usize]>,
        /// The size that was asked for; [`KEEP`](crate::KEEP) stands for torch's -1.
        target: Box<[usize]>,
        /// The new axis at fault.
        axis: usize,
    },

    /// An integer that stands for a size or an axis is negative, or does not fit `usize`.
    ///
    /// [Example](crate::guide::openvino#errors).
    #[error(fmt = draw::invalid_integer)]
    #[non_exhaustive]
    InvalidInteger {
        /// What the integer stands for.
        role: IntegerRole,
        /// Its position in the list.
        position: usize,
        /// The integer.
        value: i128,
    },

    /// The output would have more than `isize::MAX` elements. No array can, not even a view.
    ///
    /// [Example](crate::guide::copies_and_gradients#errors).
    #[error(fmt = draw::shape_overflow)]
    #[non_exhaustive]
    ShapeOverflow {
        /// The shape that was asked for.
        shape: Box<[usize]>,
    },

    /// An owned array of this shape would take more than `isize::MAX` bytes.
    ///
    /// [Example](crate::guide::copies_and_gradients#errors).
    #[error(fmt = draw::output_too_large)]
    #[non_exhaustive]
    OutputTooLarge {
        /// The shape that was asked for.
        shape: Box<[usize]>,
        /// Size of an element in bytes.
        element_size: usize,
    },

    /// The allocator refused memory.
    ///
    /// [Example](crate::guide::copies_and_gradients#errors).
    #[error("the allocator refused {bytes} bytes")]
    #[non_exhaustive]
    AllocationFailed {
        /// How many bytes were asked for.
        bytes: usize,
    },

    /// An array that is read or written does not have the shape that it must have.
    ///
    /// [Example](crate::guide::copies_and_gradients#errors).
    #[error(fmt = draw::wrong_shape)]
    #[non_exhaustive]
    WrongShape {
        /// Which array it is.
        role: ArrayRole,
        /// The shape it must have.
        expected: Box<[usize]>,
        /// The shape it has.
        found: Box<[usize]>,
    },

    /// OpenVINO's operator: `target_shape` or `axes_mapping` is a tensor of another rank than 1.
    ///
    /// [Example](crate::guide::openvino#errors).
    #[error(fmt = draw::not_one_dimensional)]
    #[non_exhaustive]
    NotOneDimensional {
        /// Sizes for `target_shape`, axes for `axes_mapping`.
        role: IntegerRole,
        /// Shape of the tensor.
        shape: Box<[usize]>,
    },

    /// No mode or rule has this name.
    ///
    /// [Example](crate::guide::openvino#attributes-as-text).
    #[error(fmt = draw::unknown_name)]
    #[non_exhaustive]
    UnknownName {
        /// What the name should name.
        kind: &'static str,
        /// The text that was given.
        name: Box<str>,
        /// The names that are known.
        expected: &'static str,
    },

    /// OpenVINO's operator: this version does not know the mode.
    ///
    /// [Example](crate::guide::openvino#errors).
    #[error("OpenVINO Broadcast-{version} has no mode \"{mode}\": {hint}")]
    #[non_exhaustive]
    ModeNotInVersion {
        /// The operator's version.
        version: u8,
        /// The mode that was asked for.
        mode: Rule,
        /// What to do about it.
        hint: &'static str,
    },

    /// OpenVINO's operator: the mode explicit was given no `axes_mapping`.
    ///
    /// [Example](crate::guide::openvino#errors).
    #[error(
        "OpenVINO Broadcast in mode \"explicit\" needs its third input, axes_mapping: \
         one target axis for each input axis"
    )]
    #[non_exhaustive]
    AxesMappingMissing {},

    /// OpenVINO's operator: an `axes_mapping` was given to a mode that takes none.
    ///
    /// [Example](crate::guide::openvino#errors).
    #[error(
        "OpenVINO Broadcast in mode \"{mode}\" takes no third input, but axes_mapping was \
         given: drop it, or use mode \"explicit\""
    )]
    #[non_exhaustive]
    AxesMappingUnexpected {
        /// The mode that was asked for.
        mode: Rule,
    },
}

/// The error of this kind, with copies of the given lists.
///
/// Never aborts: if memory for the copies is refused, that is the error.
#[cold]
#[inline(never)]
pub(crate) fn with_copies<const N: usize>(
    lists: [&[usize]; N],
    kind: impl FnOnce([Box<[usize]>; N]) -> ErrorKind,
) -> BroadcastError {
    let mut copies = std::array::from_fn(|_| Box::default());
    for (copy, list) in copies.iter_mut().zip(lists) {
        match copied(list) {
            Ok(list) => *copy = list,
            Err(error) => return error,
        }
    }
    BroadcastError::new(kind(copies))
}

/// A copy of a list.
///
/// # Errors
///
/// `AllocationFailed`.
pub(crate) fn copied(values: &[usize]) -> Result<Box<[usize]>, BroadcastError> {
    let mut vec = Vec::new();
    vec.try_reserve_exact(values.len())
        .map_err(|_| allocation_failed(size_of_val(values)))?;
    vec.extend_from_slice(values);
    Ok(vec.into_boxed_slice())
}

#[cold]
pub(crate) fn allocation_failed(bytes: usize) -> BroadcastError {
    BroadcastError::new(ErrorKind::AllocationFailed { bytes })
}

/// The array in this role has the shape `found`.
#[cold]
pub(crate) fn wrong_shape(role: ArrayRole, expected: &[usize], found: &[usize]) -> BroadcastError {
    with_copies([expected, found], |[expected, found]| {
        ErrorKind::WrongShape {
            role,
            expected,
            found,
        }
    })
}

/// The shape has more than `isize::MAX` elements.
#[cold]
pub(crate) fn shape_overflow(shape: &[usize]) -> BroadcastError {
    with_copies([shape], |[shape]| ErrorKind::ShapeOverflow { shape })
}

/// An owned array of this shape has more than `isize::MAX` bytes.
#[cold]
pub(crate) fn output_too_large(shape: &[usize], element_size: usize) -> BroadcastError {
    with_copies([shape], |[shape]| ErrorKind::OutputTooLarge {
        shape,
        element_size,
    })
}

/// The input has more axes than the target.
#[cold]
pub(crate) fn rank_too_large(rule: Rule, input: &[usize], target: &[usize]) -> BroadcastError {
    with_copies([input, target], |[input, target]| ErrorKind::RankTooLarge {
        rule,
        input,
        target,
    })
}

/// The size of an input axis does not fit. `output_axis_of` gives the output axis of each input
/// axis.
#[cold]
pub(crate) fn size_mismatch(
    rule: Rule,
    input: &[usize],
    target: &[usize],
    input_axis: usize,
    output_axis_of: impl Fn(usize) -> usize,
) -> BroadcastError {
    with_copies([input, target, input], |[input, target, mut mapping]| {
        fill_mapping(&mut mapping, output_axis_of);
        ErrorKind::SizeMismatch {
            rule,
            input,
            target,
            mapping,
            input_axis,
        }
    })
}

/// Two shapes do not fit on `axis`, counted in the longer one. `output_axis_of` gives the axis of
/// the longer shape for each axis of the shorter one.
#[cold]
pub(crate) fn operand_mismatch(
    rule: Rule,
    operands: [usize; 2],
    [a, b]: [&[usize]; 2],
    axis: usize,
    output_axis_of: impl Fn(usize) -> usize,
) -> BroadcastError {
    let short = if a.len() <= b.len() { a } else { b };
    with_copies([a, b, short], |[a, b, mut mapping]| {
        fill_mapping(&mut mapping, output_axis_of);
        ErrorKind::OperandMismatch {
            rule,
            operands,
            shapes: [a, b],
            mapping,
            axis,
        }
    })
}

fn fill_mapping(mapping: &mut [usize], output_axis_of: impl Fn(usize) -> usize) {
    for (axis, entry) in mapping.iter_mut().enumerate() {
        *entry = output_axis_of(axis);
    }
}

/// A name that nothing has.
#[cold]
pub(crate) fn unknown_name(
    kind: &'static str,
    name: &str,
    expected: &'static str,
) -> BroadcastError {
    let mut copy = String::new();
    if copy.try_reserve_exact(name.len()).is_err() {
        return allocation_failed(name.len());
    }
    copy.push_str(name);
    BroadcastError::new(ErrorKind::UnknownName {
        kind,
        name: copy.into_boxed_str(),
        expected,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_is_one_pointer_wide() {
        assert_eq!(size_of::<BroadcastError>(), size_of::<*const ErrorKind>());
    }

    #[test]
    fn error_without_memory_is_a_failed_allocation() {
        let error = BroadcastError(None);
        assert_eq!(error, allocation_failed(size_of::<ErrorKind>()));
        let text = format!("the allocator refused {} bytes", size_of::<ErrorKind>());
        assert_eq!(error.to_string(), text);
    }
}
