//! [`ErrorKind`]: every reason for an error. [`draw`](super::draw) has what they print.

use super::fault::{AxesFault, PartialFault, PatternFault, SliceFault};
use super::role::{ArrayRole, IntegerRole};
use crate::partial::PartialShape;
use crate::rule::Rule;
use std::ops::Range;

/// What a [`BroadcastError`](crate::BroadcastError) says, with the shapes and the axis needed to
/// fix the call.
///
/// Shapes are sizes per axis, outermost axis first. Each variant links to an example.
///
/// ```
/// use ndarray_broadcast::{BroadcastPlan, ErrorKind, Rule};
///
/// let error = BroadcastPlan::numpy((1, 3), 3).unwrap_err();
/// assert!(matches!(
///     error.kind(),
///     ErrorKind::RankTooLarge { rule: Rule::Numpy, .. }
/// ));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An input axis and the target axis that it feeds have sizes that do not fit.
    ///
    /// [Example](crate::guide::numpy#errors).
    #[non_exhaustive]
    SizeMismatch {
        /// The rule that was asked for.
        rule: Rule,
        /// Which array it is.
        array: ArrayRole,
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
    #[non_exhaustive]
    OperandMismatch {
        /// The rule that was asked for.
        rule: Rule,
        /// Which of the operands disagree.
        operands: [ArrayRole; 2],
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
    #[non_exhaustive]
    ShapesDiffer {
        /// Which operands they are.
        operands: [ArrayRole; 2],
        /// The two shapes.
        shapes: [Box<[usize]>; 2],
    },

    /// The input has more axes than the target. Under `pdpd`: B has more axes than A. A named
    /// pattern gives this error as a mode only: [`plan`](crate::named::AxisPattern::plan) takes
    /// patterns that drop axes.
    ///
    /// [Example](crate::guide::numpy#errors).
    #[non_exhaustive]
    RankTooLarge {
        /// The rule that was asked for.
        rule: Rule,
        /// Which array it is.
        array: ArrayRole,
        /// Shape of the input (of B, for `pdpd`).
        input: Box<[usize]>,
        /// The target shape (of A, for `pdpd`).
        target: Box<[usize]>,
    },

    /// A list of axes does not fit the input and the target.
    ///
    /// [Example](crate::guide::explicit#errors).
    #[non_exhaustive]
    InvalidAxes {
        /// The rule that was asked for.
        rule: Rule,
        /// Which array it is; for `xla`, the operand with fewer axes.
        array: ArrayRole,
        /// Shape of the input; for `xla`, of the operand with fewer axes.
        input: Box<[usize]>,
        /// The target shape; for `xla`, of the operand with more axes.
        target: Box<[usize]>,
        /// The axes that were given.
        axes: Box<[usize]>,
        /// What is wrong with them.
        fault: AxesFault,
    },

    /// nGraph's rule: the target without its broadcast axes has another rank than the input.
    ///
    /// [Example](crate::guide::broadcast_axes#errors).
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
    #[non_exhaustive]
    PdpdAxis {
        /// Which array B is.
        array: ArrayRole,
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
    #[non_exhaustive]
    PdpdOverhang {
        /// Which array B is.
        array: ArrayRole,
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
    #[non_exhaustive]
    DimensionsRequired {
        /// Which operands they are.
        operands: [ArrayRole; 2],
        /// The two shapes.
        shapes: [Box<[usize]>; 2],
    },

    /// XLA's rule: broadcast dimensions were given where none are allowed.
    ///
    /// [Example](crate::guide::elementwise#xla).
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
    #[non_exhaustive]
    InvalidInteger {
        /// What the integer stands for.
        role: IntegerRole,
        /// Its position in the list.
        position: usize,
        /// The integer.
        value: i128,
    },

    /// The sizes of the output, other than 0, multiply to more than `isize::MAX`. No array has such
    /// a shape, not even a view.
    ///
    /// [Example](crate::guide::copies_and_gradients#errors).
    #[non_exhaustive]
    ShapeOverflow {
        /// The shape that was asked for.
        shape: Box<[usize]>,
    },

    /// An owned array of this shape would take more than `isize::MAX` bytes.
    ///
    /// [Example](crate::guide::copies_and_gradients#errors).
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
    #[non_exhaustive]
    AllocationFailed {
        /// How many bytes were asked for.
        bytes: usize,
    },

    /// An array that is read or written does not have the shape that it must have.
    ///
    /// [Example](crate::guide::copies_and_gradients#errors).
    #[non_exhaustive]
    WrongShape {
        /// Which array it is.
        role: ArrayRole,
        /// The shape it must have.
        expected: Box<[usize]>,
        /// The shape it has.
        found: Box<[usize]>,
    },

    /// An array cannot be summed, or reduced in another way, to a shape: the shape does not
    /// broadcast to that of the array.
    ///
    /// [Example](crate::ReduceExt::reduce_to_shape).
    #[non_exhaustive]
    ReduceMismatch {
        /// What was asked for: `"sum"` or `"reduce"`.
        operation: &'static str,
        /// Shape of the array.
        input: Box<[usize]>,
        /// The shape that was asked for.
        target: Box<[usize]>,
        /// The axis at fault, counted in `target`. `None` if `target` has more axes than the array.
        axis: Option<usize>,
    },

    /// There are no terms, because an axis that is reduced has size 0. A reduction such as a
    /// maximum has no result then.
    ///
    /// [Example](crate::reduction::Max).
    #[non_exhaustive]
    EmptyReduction {
        /// The shape of the terms.
        shape: Box<[usize]>,
        /// The [name](crate::reduction::Reduction::NAME) of the reduction. Empty if it has none.
        reduction: &'static str,
    },

    /// There are fewer terms than the reduction needs, such as a variance whose `ddof` is at least
    /// their number.
    ///
    /// [Example](crate::reduction::Var).
    #[non_exhaustive]
    TooFewTerms {
        /// The shape of the terms.
        shape: Box<[usize]>,
        /// The [name](crate::reduction::Reduction::NAME) of the reduction. Empty if it has none.
        reduction: &'static str,
        /// How many terms each result has.
        terms: usize,
        /// How many [it needs](crate::reduction::Reduction::least_terms).
        least: usize,
    },

    /// A slice does not hold an array of the shape and strides that it should.
    ///
    /// [Example](crate::BroadcastPlan::copy_slice).
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

    /// OpenVINO's operator: `target_shape` or `axes_mapping` is a tensor of another rank than 1.
    ///
    /// [Example](crate::guide::openvino#errors).
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
    #[non_exhaustive]
    UnknownName {
        /// What the name should name.
        kind: &'static str,
        /// The text that was given.
        name: Box<str>,
        /// The names that are known.
        expected: &'static str,
    },

    /// A text is not the text form of a mode or rule, although it may begin with a known name: its
    /// list is not what the name takes, or a parenthesis is missing.
    ///
    /// [Example](crate::guide::openvino#attributes-as-text).
    #[non_exhaustive]
    InvalidText {
        /// What the text should describe.
        kind: &'static str,
        /// The text that was given.
        text: Box<str>,
        /// What is wrong with it.
        fault: &'static str,
    },

    /// OpenVINO's operator: this version does not know the mode.
    ///
    /// [Example](crate::guide::openvino#errors).
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
    #[non_exhaustive]
    AxesMappingMissing {},

    /// OpenVINO's operator: an `axes_mapping` was given to a mode that takes none.
    ///
    /// [Example](crate::guide::openvino#errors).
    #[non_exhaustive]
    AxesMappingUnexpected {
        /// The mode that was asked for.
        mode: Rule,
    },

    /// Two plans in a row: the output of the first is not the input of the second.
    ///
    /// [Example](crate::guide::plans#errors).
    #[non_exhaustive]
    PlansDoNotMeet {
        /// The output shape of the first.
        output: Box<[usize]>,
        /// The input shape of the second.
        input: Box<[usize]>,
    },

    /// A list does not name every axis of a shape once.
    ///
    /// [Example](crate::guide::plans#errors).
    #[non_exhaustive]
    NotAPermutation {
        /// The shape whose axes it should reorder.
        shape: Box<[usize]>,
        /// The list.
        axes: Box<[usize]>,
        /// What is wrong with it.
        fault: AxesFault,
    },

    /// There is no such axis to remove or to reduce, the axis to remove does not have size 1, or no
    /// axis can be inserted there.
    ///
    /// [Example](crate::guide::plans#errors).
    #[non_exhaustive]
    InvalidAxis {
        /// The shape.
        shape: Box<[usize]>,
        /// The axis.
        axis: usize,
        /// `insert`, `remove` or `reduce`.
        operation: &'static str,
    },

    /// A box is not inside a shape.
    ///
    /// [Example](crate::guide::plans#errors).
    #[non_exhaustive]
    InvalidBox {
        /// The shape.
        shape: Box<[usize]>,
        /// The box.
        ranges: Box<[Range<usize>]>,
    },

    /// There are no such blocks of terms.
    ///
    /// [Example](crate::distributed::Part::of_blocks).
    #[non_exhaustive]
    InvalidBlocks {
        /// How many there are.
        count: usize,
        /// Those that were asked for.
        blocks: Range<usize>,
    },

    /// A lower bound of a size is above the upper one.
    ///
    /// [Example](crate::infer::PartialSize::between).
    #[non_exhaustive]
    BoundsReversed {
        /// The lower bound.
        min: usize,
        /// The upper bound.
        max: usize,
    },

    /// Shapes that are known in part: nothing within their bounds fits.
    ///
    /// [Example](crate::guide::plans#errors).
    #[non_exhaustive]
    Impossible {
        /// The rule that was asked for.
        rule: Rule,
        /// What is known of the shapes: of input and target (of B and A, for `pdpd`), or of two
        /// operands.
        shapes: [PartialShape; 2],
        /// Whether they are two operands.
        operands: bool,
        /// Why nothing fits.
        fault: PartialFault,
    },

    /// A shape is not one of those that were announced as possible.
    ///
    /// [Example](crate::infer::PartialPlan).
    #[non_exhaustive]
    NotPossible {
        /// What was known.
        known: PartialShape,
        /// The shape.
        found: Box<[usize]>,
    },

    /// A pattern of names is not valid, or does not fit the shapes.
    ///
    /// [Example](crate::guide::names#errors).
    #[non_exhaustive]
    InvalidPattern {
        /// The pattern.
        pattern: Box<str>,
        /// The byte at fault.
        position: usize,
        /// What is wrong there.
        fault: PatternFault,
    },

    /// A part of a sum: its box has a part of a block of 1024 terms.
    ///
    /// [Example](crate::distributed::Part::new).
    #[non_exhaustive]
    CutsBlock {
        /// The output shape.
        shape: Box<[usize]>,
        /// The box.
        ranges: Box<[Range<usize>]>,
        /// The axis to cut elsewhere.
        axis: usize,
        /// Where the box cuts it.
        boundary: usize,
        /// Where else it could, below and above, if there is such a place.
        nearest: [Option<usize>; 2],
    },

    /// An accumulation is of another plan, another reduction or another element type.
    ///
    /// [Example](crate::distributed::Accumulation::to_bytes).
    #[non_exhaustive]
    OtherReduction {
        /// What one of the two belongs to.
        first: Box<str>,
        /// What the other one belongs to.
        second: Box<str>,
    },

    /// Two parts of a reduction have the same term.
    ///
    /// [Example](crate::distributed::Accumulation::merge).
    #[non_exhaustive]
    Overlap {
        /// The box of elements of the result for which both have the term.
        ranges: Box<[Range<usize>]>,
        /// A range whose first and last term both have. In between there may be terms that only
        /// one part has, if the terms of a part are not consecutive.
        terms: Range<usize>,
    },

    /// Parts of a reduction are missing.
    ///
    /// [Example](crate::distributed::Accumulation::merge).
    #[non_exhaustive]
    Incomplete {
        /// The first element of the result that is not complete.
        index: Box<[usize]>,
        /// The first of its terms that are missing.
        terms: Range<usize>,
    },

    /// The bytes are not those of an accumulation.
    ///
    /// [Example](crate::distributed::Accumulation::to_bytes).
    #[non_exhaustive]
    InvalidBytes {
        /// What is wrong with them.
        fault: &'static str,
    },
}
