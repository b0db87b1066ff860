//! [`ErrorKind`]: every reason for an error. [`draw`] has what they print.

use super::draw;
use super::fault::{AxesFault, BoxFault, OperatorFault, PartsFault, PatternFault, SliceFault};
use super::role::{ArrayRole, IntegerRole};
use crate::partial::PartialShape;
use crate::rule::{Relation, Rule};
use std::ops::Range;

/// What a [`BroadcastError`](crate::BroadcastError) says, with the shapes and the axis needed to
/// fix the call.
///
/// Shapes are sizes per axis, outermost axis first. Shapes that a rule does not accept may be known
/// in part: they are [`PartialShape`]s, whose [`value`](PartialShape::value) is the shape if it is
/// known. Each variant links to an example.
///
/// ```
/// use ndarray::IxDyn;
/// use ndarray_broadcast::{BroadcastPlan, ErrorKind, Rule};
///
/// let error = BroadcastPlan::numpy((1, 3), 3).unwrap_err();
/// match error.kind() {
///     ErrorKind::RankMismatch { rule: Rule::Numpy, shapes, .. } => {
///         assert_eq!(shapes[0].value(), Some(IxDyn(&[1, 3])));
///     }
///     _ => unreachable!(),
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The sizes of two aligned axes do not fit.
    ///
    /// [Example](crate::guide::numpy#errors).
    #[error("{}", draw::size_mismatch((*.rule, .operands, .shapes), *.relation, .mapping, *.axis))]
    #[non_exhaustive]
    SizeMismatch {
        /// The rule that was asked for.
        rule: Rule,
        /// Input and target, or two operands. Under `pdpd`, B and A.
        operands: [ArrayRole; 2],
        /// Their shapes.
        shapes: [PartialShape; 2],
        /// How sizes must be related.
        relation: Relation,
        /// For each axis of the shape with fewer axes (of the first, if the ranks are equal), the
        /// axis of the other one that it is aligned with.
        mapping: Box<[usize]>,
        /// The axis at fault, counted in the shape with more axes.
        axis: usize,
    },

    /// The ranks of two shapes do not fit. To a target, the input has more axes; under `pdpd`, B
    /// has more axes than A. A named pattern gives this error as a mode only:
    /// [`plan`](crate::named::AxisPattern::plan) takes patterns whose output has fewer axes.
    ///
    /// [Example](crate::guide::numpy#errors).
    #[error("{}", draw::rank_mismatch((*.rule, .operands, .shapes)))]
    #[non_exhaustive]
    RankMismatch {
        /// The rule that was asked for.
        rule: Rule,
        /// Input and target, or two operands. Under `pdpd`, B and A.
        operands: [ArrayRole; 2],
        /// Their shapes.
        shapes: [PartialShape; 2],
    },

    /// A list of axes, or one axis, does not fit the shapes.
    ///
    /// [Example](crate::guide::explicit#errors).
    #[error("{}", draw::invalid_axes(.operation, (*.rule, .operands, .shapes), .axes, .fault))]
    #[non_exhaustive]
    InvalidAxes {
        /// What was asked for: `broadcast` two shapes; `reorder`, `insert`, `remove` or `reduce`
        /// the axes of one.
        operation: &'static str,
        /// The rule that was asked for. [`Composed`](Rule::Composed) if it is no broadcast.
        rule: Rule,
        /// Input and target, or two operands. Under `pdpd`, B and A.
        operands: [ArrayRole; 2],
        /// Their shapes. Twice the shape of the one array, if it is no broadcast.
        shapes: [PartialShape; 2],
        /// The axes that were given.
        axes: Box<[i128]>,
        /// What is wrong with them.
        fault: AxesFault,
    },

    /// A pattern of names is not valid, or does not fit the shapes.
    ///
    /// [Example](crate::guide::names#errors).
    #[error("{}", draw::pattern(.pattern, *.position, .fault))]
    #[non_exhaustive]
    InvalidPattern {
        /// The pattern. Errors about sizes have `...0`, `...1` and so on for the axes of `...`, and
        /// none if no rank says how many there are.
        pattern: Box<str>,
        /// The byte at fault.
        position: usize,
        /// What is wrong there.
        fault: PatternFault,
    },

    /// A text is not the text form of a mode or rule.
    ///
    /// [Example](crate::guide::openvino#attributes-as-text).
    #[error("invalid {kind} {}: {fault}", draw::quoted(.text))]
    #[non_exhaustive]
    InvalidText {
        /// What the text should describe.
        kind: &'static str,
        /// The text that was given.
        text: Box<str>,
        /// What is wrong with it, or what is expected.
        fault: &'static str,
    },

    /// Integers that stand for sizes or axes: one is negative, or does not fit `usize`; or they are
    /// a tensor of another rank than 1.
    ///
    /// [Example](crate::guide::openvino#errors).
    #[error("{}", draw::integer(*.role, .shape, *.entry))]
    #[non_exhaustive]
    InvalidInteger {
        /// What the integers stand for.
        role: IntegerRole,
        /// The shape of the list or tensor.
        shape: Box<[usize]>,
        /// The position and value of the integer at fault. `None` if it is the rank.
        entry: Option<(usize, i128)>,
    },

    /// OpenVINO's operator: its inputs or its version do not fit the mode.
    ///
    /// [Example](crate::guide::openvino#errors).
    #[error("OpenVINO Broadcast-{version} {}", draw::operator(*.mode, *.fault))]
    #[non_exhaustive]
    InvalidOperator {
        /// The operator's version.
        version: u8,
        /// The mode that was asked for.
        mode: Rule,
        /// What is wrong.
        fault: OperatorFault,
    },

    /// A lower bound of a size is above the upper one.
    ///
    /// [Example](crate::infer::PartialSize::between).
    #[error("no size is at least {min} and at most {max}")]
    #[non_exhaustive]
    InvalidBounds {
        /// The lower bound.
        min: usize,
        /// The upper bound.
        max: usize,
    },

    /// The shape is too large. Its sizes, other than 0, multiply to more than `isize::MAX`: no
    /// array has such a shape, not even a view. Or an owned array of this shape would take more
    /// than `isize::MAX` bytes.
    ///
    /// [Example](crate::guide::copies_and_gradients#errors).
    #[error("{}", draw::shape_overflow(.shape, *.element_size))]
    #[non_exhaustive]
    ShapeOverflow {
        /// The shape that was asked for.
        shape: Box<[usize]>,
        /// The size of an element in bytes, if it is the bytes that are too many.
        element_size: Option<usize>,
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

    /// An array does not have the shape that it must have, or a shape is not one of those that were
    /// announced as possible.
    ///
    /// [Example](crate::guide::copies_and_gradients#errors).
    #[error("{}", draw::wrong_shape(*.role, .expected, .found))]
    #[non_exhaustive]
    WrongShape {
        /// Which array it is.
        role: ArrayRole,
        /// The shape it must have.
        expected: PartialShape,
        /// The shape it has.
        found: Box<[usize]>,
    },

    /// A slice does not hold an array of the shape and strides that it should.
    ///
    /// [Example](crate::BroadcastPlan::copy_slice).
    #[error("{}", draw::slice(*.role, .shape, .strides, *.len, *.fault))]
    #[non_exhaustive]
    InvalidSlice {
        /// Which array it is.
        role: ArrayRole,
        /// The shape of the array.
        shape: Box<[usize]>,
        /// The strides that were given, in elements. Empty if none were.
        strides: Box<[isize]>,
        /// The length of the slice.
        len: usize,
        /// What is wrong.
        fault: SliceFault,
    },

    /// A box is not inside a shape, or it cuts a block of 1024 terms.
    ///
    /// [Example](crate::guide::plans#errors).
    #[error("{}", draw::invalid_box(.shape, .ranges, .fault))]
    #[non_exhaustive]
    InvalidBox {
        /// The shape. Of blocks, their number.
        shape: Box<[usize]>,
        /// The box.
        ranges: Box<[Range<usize>]>,
        /// What is wrong with it.
        fault: BoxFault,
    },

    /// There are fewer terms than the reduction needs. A maximum needs one; an axis of size 0 gives
    /// it none. A variance needs more than its `ddof`.
    ///
    /// [Example](crate::reduction::Var).
    #[error("{}", draw::few_terms(.shape, .reduction, [*.terms, *.least]))]
    #[non_exhaustive]
    TooFewTerms {
        /// The shape of the terms.
        shape: Box<[usize]>,
        /// The [name](crate::reduction::Reduction::NAME) of the reduction. Empty if it has none.
        reduction: &'static str,
        /// How many terms each result has.
        terms: usize,
        /// How many [it needs](crate::reduction::Reduction::least_terms). 1 if it has no result for
        /// no terms.
        least: usize,
    },

    /// Parts of a reduction do not fit together.
    ///
    /// [Example](crate::distributed::Accumulation::merge).
    #[error("{fault}")]
    #[non_exhaustive]
    PartsMismatch {
        /// Why they do not.
        fault: PartsFault,
    },

    /// The bytes are not those of an accumulation.
    ///
    /// [Example](crate::distributed::Accumulation::to_bytes).
    #[error("invalid bytes of an accumulation: {fault}")]
    #[non_exhaustive]
    InvalidBytes {
        /// What is wrong with them.
        fault: &'static str,
    },
}
