//! [`BroadcastError`], and a constructor for each [`ErrorKind`] that more than one file returns.

mod draw;
mod fault;
mod kind;
mod role;

pub use fault::{AxesFault, BoxFault, OperatorFault, PartsFault, PatternFault, SliceFault};
pub use kind::ErrorKind;
pub use role::{ArrayRole, IntegerRole};

use crate::partial::PartialShape;
pub use crate::rule::Relation;
use crate::rule::Rule;
use std::fmt;
use std::ops::Range;

/// Why a broadcast was refused, or an owned copy could not be made.
///
/// One pointer wide. [`kind`](Self::kind) has the shapes and the axis as fields, for programs.
/// `Display` draws the shapes as the rule aligns them, for people. `Debug` does too, as `unwrap`
/// prints it:
///
/// ```
/// use ndarray::Array3;
/// use ndarray_broadcast::prelude::*;
///
/// let error =
///     Array3::<f32>::zeros((3, 1, 5)).broadcast_numpy((4, 4, 5)).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "\
/// cannot broadcast [3, 1, 5] to [4, 4, 5] (numpy)
///   input    3  1  5
///   target   4  4  5
///            ^ 3 is neither 4 nor 1",
/// );
/// assert_eq!(format!("{error:?}"), error.to_string());
/// assert!(matches!(error.kind(), ErrorKind::SizeMismatch { axis: 0, .. }));
/// ```
///
/// A call that returns an error has written nothing and left nothing allocated.
// One pointer, so that a `Result` stays in registers on its way out of a rule. A `Result` with a
// wide error is returned through memory, which takes five times as long as making a view.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BroadcastError(Box<ErrorKind>);

impl BroadcastError {
    /// What is wrong, with its shapes and axes.
    ///
    /// ```
    /// use ndarray::array;
    /// use ndarray_broadcast::error::AxesFault;
    /// use ndarray_broadcast::prelude::*;
    ///
    /// let error = array![1, 2].broadcast_explicit((2, 3), &[2]).unwrap_err();
    /// match error.kind() {
    ///     ErrorKind::InvalidAxes { axes, fault, .. } => {
    ///         assert_eq!((&axes[..], fault), (&[2][..], &AxesFault::OutOfRange(0)));
    ///     }
    ///     _ => unreachable!(),
    /// }
    /// ```
    #[must_use]
    pub fn kind(&self) -> &ErrorKind {
        &self.0
    }

    #[cold]
    pub(crate) fn new(kind: ErrorKind) -> Self {
        BroadcastError(Box::new(kind))
    }

    /// The same error with other names for its two arrays.
    #[cold]
    pub(crate) fn renamed(mut self, name: impl Fn(ArrayRole) -> ArrayRole) -> Self {
        if let ErrorKind::SizeMismatch { operands, .. }
        | ErrorKind::RankMismatch { operands, .. }
        | ErrorKind::InvalidAxes { operands, .. } = &mut *self.0
        {
            *operands = operands.map(name);
        }
        self
    }

    /// The same error with other names for the operands, which are numbered so far.
    #[cold]
    pub(crate) fn with_operands(self, name: impl Fn(usize) -> ArrayRole) -> Self {
        self.renamed(|role| match role {
            ArrayRole::Operand(position) => name(position),
            role => role,
        })
    }

    /// The error of a broadcast from the result of a reduction to the array, in its words.
    #[cold]
    pub(crate) fn of_reduction(self) -> Self {
        self.renamed(|role| match role {
            ArrayRole::Input => ArrayRole::Result,
            _ => ArrayRole::Receiver,
        })
    }
}

/// The picture, as `unwrap` prints `Debug`.
impl fmt::Debug for BroadcastError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The result of a call that may refuse its arguments.
pub(crate) type Result<T, E = BroadcastError> = std::result::Result<T, E>;

/// Two shapes that a rule does not accept.
pub(crate) struct Refused {
    pub(crate) rule: Rule,
    pub(crate) operands: [ArrayRole; 2],
    pub(crate) shapes: [PartialShape; 2],
}

impl Refused {
    /// Of shapes that are known.
    #[cold]
    #[inline(never)]
    pub(crate) fn known(rule: Rule, operands: [ArrayRole; 2], shapes: [&[usize]; 2]) -> Self {
        Refused {
            rule,
            operands,
            shapes: shapes.map(PartialShape::known),
        }
    }

    /// The ranks do not fit.
    #[cold]
    pub(crate) fn ranks(self) -> BroadcastError {
        BroadcastError::new(ErrorKind::RankMismatch {
            rule: self.rule,
            operands: self.operands,
            shapes: self.shapes,
        })
    }

    /// The sizes of an axis do not fit. The axis is counted in the longer shape, whose axes
    /// `output_axis_of` gives for each axis of the shorter one. It is called by reference, so that
    /// this function is compiled once and not for each rule and pair of ranks.
    #[cold]
    pub(crate) fn sizes(
        self,
        relation: Relation,
        axis: usize,
        output_axis_of: &dyn Fn(usize) -> usize,
    ) -> BroadcastError {
        let rank = self.shapes.iter().filter_map(PartialShape::rank).min();
        BroadcastError::new(ErrorKind::SizeMismatch {
            rule: self.rule,
            operands: self.operands,
            relation,
            mapping: (0..rank.unwrap_or(0)).map(output_axis_of).collect(),
            shapes: self.shapes,
            axis,
        })
    }

    /// The axes do not fit a broadcast.
    #[cold]
    pub(crate) fn axes(self, axes: &[usize], fault: AxesFault) -> BroadcastError {
        BroadcastError::new(ErrorKind::InvalidAxes {
            operation: "broadcast",
            rule: self.rule,
            operands: self.operands,
            shapes: self.shapes,
            // An axis that does not fit `isize` is shown as a negative one.
            axes: axes.iter().map(|&axis| axis as isize).collect(),
            fault,
        })
    }
}

/// An empty vector with room for `len` elements.
///
/// # Errors
///
/// `AllocationFailed`, with the number of bytes.
#[inline]
pub(crate) fn reserved<T>(len: usize) -> Result<Vec<T>> {
    let mut vec = Vec::new();
    vec.try_reserve_exact(len)
        .map_err(|_| allocation_failed(len.saturating_mul(size_of::<T>())))?;
    Ok(vec)
}

#[cold]
pub(crate) fn allocation_failed(bytes: usize) -> BroadcastError {
    BroadcastError::new(ErrorKind::AllocationFailed { bytes })
}

/// A reduction of terms of this shape, of which there are fewer than it needs.
#[cold]
pub(crate) fn too_few_terms(
    shape: &[usize],
    reduction: &'static str,
    [terms, least]: [usize; 2],
) -> BroadcastError {
    BroadcastError::new(ErrorKind::TooFewTerms {
        shape: shape.into(),
        reduction,
        terms,
        least,
    })
}

/// The array in this role has the shape `found`.
#[cold]
pub(crate) fn wrong_shape(
    role: ArrayRole,
    expected: PartialShape,
    found: &[usize],
) -> BroadcastError {
    let found = found.into();
    BroadcastError::new(ErrorKind::WrongShape {
        role,
        expected,
        found,
    })
}

/// That an array has the expected shape.
#[inline]
pub(crate) fn check_shape(role: ArrayRole, expected: &[usize], found: &[usize]) -> Result<()> {
    match expected == found {
        true => Ok(()),
        false => Err(wrong_shape(role, PartialShape::known(expected), found)),
    }
}

/// That an array may have the shape, by what is known of it.
pub(crate) fn check_possible(
    role: ArrayRole,
    expected: &PartialShape,
    found: &[usize],
) -> Result<()> {
    match expected.contains(found) {
        true => Ok(()),
        false => Err(wrong_shape(role, expected.clone(), found)),
    }
}

/// The shape has too many elements, or too many bytes if elements of this size are owned.
#[cold]
pub(crate) fn shape_overflow(shape: &[usize], element_size: Option<usize>) -> BroadcastError {
    let shape = shape.into();
    BroadcastError::new(ErrorKind::ShapeOverflow {
        shape,
        element_size,
    })
}

/// A box does not fit a shape.
#[cold]
pub(crate) fn invalid_box(
    shape: &[usize],
    ranges: &[Range<usize>],
    fault: BoxFault,
) -> BroadcastError {
    let (shape, ranges) = (shape.into(), ranges.into());
    BroadcastError::new(ErrorKind::InvalidBox {
        shape,
        ranges,
        fault,
    })
}

/// Parts of a reduction do not fit together.
#[cold]
pub(crate) fn parts_mismatch(fault: PartsFault) -> BroadcastError {
    BroadcastError::new(ErrorKind::PartsMismatch { fault })
}

/// Bytes are no accumulation.
#[cold]
pub(crate) fn invalid_bytes(fault: &'static str) -> BroadcastError {
    BroadcastError::new(ErrorKind::InvalidBytes { fault })
}

/// The pattern is not valid at this byte, or does not fit the shapes.
#[cold]
pub(crate) fn invalid_pattern(
    pattern: &str,
    position: usize,
    fault: PatternFault,
) -> BroadcastError {
    BroadcastError::new(ErrorKind::InvalidPattern {
        pattern: pattern.into(),
        position,
        fault,
    })
}

/// A text is not the text form of a mode or rule.
#[cold]
pub(crate) fn invalid_text(kind: &'static str, text: &str, fault: &'static str) -> BroadcastError {
    let text = text.into();
    BroadcastError::new(ErrorKind::InvalidText { kind, text, fault })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_is_one_pointer_wide() {
        assert_eq!(size_of::<BroadcastError>(), size_of::<*const ErrorKind>());
    }
}
