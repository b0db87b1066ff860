//! ONNX's operators [`Expand`], `Reduce*` ([`Reduce`]), `ArgMax` and `ArgMin` ([`Arg`]), with their
//! attributes by name and their inputs as integer tensors.
//!
//! The other operators that broadcast are [`zip`](crate::zip) or
//! [`broadcast_arrays`](crate::broadcast_arrays): their rule is NumPy's.
//!
//! | operator | here |
//! |---|---|
//! | `Expand` | [`Expand`] |
//! | `ReduceSum` | [`Reduce`] with [`Sum`](crate::reduction::Sum) |
//! | `ReduceMean` | [`Reduce`] with [`Mean`](crate::reduction::Mean) |
//! | `ReduceProd` | [`Reduce`] with [`Product`](crate::reduction::Product) |
//! | `ReduceMax`, of floats | [`Reduce`] with [`Max.or(f32::NEG_INFINITY)`](crate::reduction::Max) |
//! | `ReduceMax`, of integers | [`Reduce`] with [`Max.or(i32::MIN)`](crate::reduction::Max) |
//! | `ReduceMax`, of `bool` | [`Reduce`] with [`Any`](crate::reduction::Any) |
//! | `ReduceMin`, of floats | [`Reduce`] with [`Min.or(f32::INFINITY)`](crate::reduction::Min) |
//! | `ReduceMin`, of integers | [`Reduce`] with [`Min.or(i32::MAX)`](crate::reduction::Min) |
//! | `ReduceMin`, of `bool` | [`Reduce`] with [`All`](crate::reduction::All) |
//! | `ReduceL1` | [`Reduce`] with [`L1`](crate::reduction::L1) |
//! | `ReduceL2`, of floats | [`Reduce`] with [`L2`](crate::reduction::L2) |
//! | `ReduceLogSum`, of floats | [`Reduce`] with [`LogSum`](crate::reduction::LogSum) |
//! | `ReduceLogSumExp`, of floats | [`Reduce`] with [`LogSumExp`](crate::reduction::LogSumExp) |
//! | `ReduceSumSquare` | [`Reduce`] with [`SumSquare`](crate::reduction::SumSquare) |
//! | `ArgMax` | [`Arg::max`] |
//! | `ArgMin` | [`Arg::min`] |
//!
//! # Example
//!
//! A node of a graph file: attributes are set by their names, and the axes are an input.
//!
//! ```
//! use ndarray::array;
//! use ndarray_broadcast::onnx::{Expand, Reduce};
//! use ndarray_broadcast::reduction::Max;
//!
//! let attributes = [("keepdims", 0)];
//! let mut node = Reduce::new();
//! for (name, value) in attributes {
//!     node = node.with_attribute(name, value)?;
//! }
//! let data = array![[1_f32, 5., 2.], [4., 3., 4.]];
//! let max = Max.or(f32::NEG_INFINITY);
//! let largest = node.evaluate(&data, Some(&array![-1_i64]), max)?;
//! assert_eq!(largest, array![5., 4.].into_dyn());
//!
//! let output = Expand::new().evaluate(&data, &[2_i64, 1, 1])?;
//! assert_eq!(output.shape(), [2, 2, 3]);
//! # Ok::<(), ndarray_broadcast::BroadcastError>(())
//! ```
//!
//! Source: ONNX operators [Expand-13](https://onnx.ai/onnx/operators/onnx__Expand.html),
//! [ReduceSum-13](https://onnx.ai/onnx/operators/onnx__ReduceSum.html) and the other `Reduce*` of
//! version 18 and 20, [ArgMax-13](https://onnx.ai/onnx/operators/onnx__ArgMax.html),
//! [ArgMin-13](https://onnx.ai/onnx/operators/onnx__ArgMin.html).

use crate::axes::positions;
use crate::error::{IntegerRole, Result, invalid_text};
use crate::integer::converted;
pub use crate::integer::{IntegerTensor, ShapeInteger};
use crate::mode::BroadcastMode;
use crate::operand::IntoView;
use crate::partial::{PartialShape, PartialSize};
use crate::plan::{BroadcastPlan, without_axes};
use crate::reduce::{ArgMax, ArgMin, LastArgMax, LastArgMin, Reduction};
use crate::rules::unknown;
use crate::shape::{KEEP, Sizes};
use ndarray::{ArrayD, ArrayViewD, Dimension, IntoDimension, IxDyn};

/// The operator `Expand`.
///
/// # Inputs
///
/// - `input`: an array of any element type and rank. [`plan`](Self::plan) and
///   [`infer_shape`](Self::infer_shape) take its shape alone.
/// - `shape`: an [`IntegerTensor`] of rank 1, by reference. It is broadcast too, so the output may
///   be larger.
///
/// ```text
/// input         3  1
/// shape      2  1  6
/// ------------------
/// output     2  3  6
/// ```
///
/// # Errors
///
/// Of [`plan`](Self::plan), [`infer_shape`](Self::infer_shape) and [`evaluate`](Self::evaluate):
///
/// - [`InvalidInteger`](crate::ErrorKind::InvalidInteger): `shape` does not have rank 1.
/// - [`InvalidInteger`](crate::ErrorKind::InvalidInteger): an entry of `shape` is negative or does
///   not fit `usize`. See [`with_minus_one_as_keep`](Self::with_minus_one_as_keep).
/// - those of [`BroadcastPlan::bidirectional`].
///
/// # Example
///
/// ```
/// use ndarray::array;
/// use ndarray_broadcast::onnx::Expand;
///
/// let data = array![[1.], [2.], [3.]];
/// let changed = Expand::new().evaluate(&data, &[2_i64, 1, 6])?;
/// assert_eq!(changed.shape(), [2, 3, 6]);
/// let unchanged = Expand::new().evaluate(&data, &array![3_i64, 4])?;
/// assert_eq!(unchanged.shape(), [3, 4]);
/// # Ok::<(), ndarray_broadcast::BroadcastError>(())
/// ```
///
/// Source: ONNX [Expand-13](https://onnx.ai/onnx/operators/onnx__Expand.html).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Expand {
    minus_one_as_keep: bool,
}

impl Expand {
    /// The operator as it is specified. Example: [`Expand`].
    #[must_use]
    pub const fn new() -> Self {
        Expand {
            minus_one_as_keep: false,
        }
    }

    /// The operator in which -1 in `shape` keeps the input's size, as in torch's `expand`.
    ///
    /// ONNX has no -1. Some exporters write it. It counts as 1: an axis of the input keeps its
    /// size, a new axis has size 1.
    ///
    /// ```
    /// use ndarray_broadcast::onnx::Expand;
    ///
    /// let lenient = Expand::new().with_minus_one_as_keep();
    /// assert_eq!(lenient.infer_shape((4, 3), &[-1_i64, 1])?, [4, 3]);
    /// assert_eq!(
    ///     Expand::new().infer_shape((4, 3), &[-1_i64, 1]).unwrap_err().to_string(),
    ///     "entry 0 is -1: a size must not be negative; -1 keeps the input's size \
    ///      in broadcast_expand and onnx::Expand::with_minus_one_as_keep",
    /// );
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    ///
    /// Source: torch's ONNX exporter, which replaces -1 by 1.
    #[must_use]
    pub const fn with_minus_one_as_keep(self) -> Self {
        Expand {
            minus_one_as_keep: true,
        }
    }

    /// The plan of the operator for an input of this shape.
    ///
    /// # Errors
    ///
    /// Those [of the operator](Self#errors).
    ///
    /// ```
    /// use ndarray_broadcast::onnx::Expand;
    ///
    /// let plan = Expand::new().plan((3, 1), &[2_i64, 1, 6])?;
    /// assert_eq!(plan.output_shape(), [2, 3, 6]);
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    pub fn plan(
        &self,
        input_shape: impl IntoDimension,
        shape: &dyn IntegerTensor,
    ) -> Result<BroadcastPlan> {
        let mut sizes = shape.integers(IntegerRole::Size)?;
        if self.minus_one_as_keep {
            let kept = sizes.iter_mut().filter(|size| **size == -1);
            kept.for_each(|size| *size = 1);
        }
        let shape = converted(&sizes, IntegerRole::Size)?;
        let input_shape = input_shape.into_dimension().into_dyn();
        BroadcastPlan::bidirectional(input_shape, IxDyn(&shape))
    }

    /// The shape of the output, as far as it follows from what is known of the input's shape and of
    /// the value of `shape`: the smallest box that holds every result that values within the bounds
    /// can give.
    ///
    /// What is not known of the value of `shape` is written as a [`PartialShape`]: its sizes are
    /// the entries, and the rank is its length. An entry of -1 is [`KEEP`].
    ///
    /// # Errors
    ///
    /// Those of [`BroadcastMode::infer`].
    ///
    /// ```
    /// use ndarray_broadcast::infer::{PartialShape, PartialSize};
    /// use ndarray_broadcast::onnx::Expand;
    ///
    /// let input = PartialShape::new([PartialSize::ANY, PartialSize::known(3)]);
    /// let shape = PartialShape::new([PartialSize::known(4), PartialSize::ANY]);
    /// assert_eq!(Expand::new().infer(&input, &shape)?.to_string(), "[4, 3]");
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    pub fn infer(&self, input_shape: &PartialShape, shape: &PartialShape) -> Result<PartialShape> {
        let keep = self.minus_one_as_keep.then_some(PartialSize::known(KEEP));
        let entry = |&size: &PartialSize| match Some(size) == keep {
            true => 1.into(),
            false => size,
        };
        let shape = match shape.sizes() {
            Some(sizes) => PartialShape::new(sizes.iter().map(entry)),
            None => PartialShape::UNKNOWN,
        };
        BroadcastMode::Bidirectional.infer(input_shape, &shape)
    }

    /// The shape of the output, for an input of this shape.
    ///
    /// # Errors
    ///
    /// Those [of the operator](Self#errors).
    ///
    /// ```
    /// use ndarray_broadcast::onnx::Expand;
    ///
    /// assert_eq!(Expand::new().infer_shape((3, 4), &[1_i64])?, [3, 4]);
    /// assert!(Expand::new().infer_shape((3, 4), &[2_i64]).is_err());
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    pub fn infer_shape(
        &self,
        input_shape: impl IntoDimension,
        shape: &dyn IntegerTensor,
    ) -> Result<Vec<usize>> {
        Ok(self.plan(input_shape, shape)?.output_shape().to_vec())
    }

    /// The output, as a view of the input: nothing is copied.
    ///
    /// Takes a reference to an array, or a view by value and returns a view of the same lifetime.
    ///
    /// # Errors
    ///
    /// Those [of the operator](Self#errors).
    ///
    /// ```
    /// use ndarray::array;
    /// use ndarray_broadcast::onnx::Expand;
    ///
    /// let names = array![["a"], ["b"]];
    /// let output = Expand::new().evaluate(&names, &[3_i64])?;
    /// assert_eq!(output, array![["a", "a", "a"], ["b", "b", "b"]].into_dyn());
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    pub fn evaluate<'a, T: IntoView<'a>>(
        &self,
        input: T,
        shape: &dyn IntegerTensor,
    ) -> Result<ArrayViewD<'a, T::Elem>> {
        let input = input.into_view().into_dyn();
        self.plan(input.raw_dim(), shape)?.view(input)
    }
}

/// An operator `Reduce*` with its attributes. [The table](self) has the reduction for each.
///
/// # Inputs
///
/// - `data`: an array of any rank. [`plan`](Self::plan) and [`infer_shape`](Self::infer_shape) take
///   its shape alone, [`infer`](Self::infer) what is known of it.
/// - `axes`: an [`IntegerTensor`] of rank 1, by reference, or `None`. Negative axes count from the
///   end. In older versions of the operators, `axes` is an attribute: pass its value here.
///
/// ```text
/// data            2  3  4
/// axes [-1, 0]    0     2
/// -----------------------
/// keepdims=1      1  3  1
/// keepdims=0         3
/// ```
///
/// Without axes, and for an empty list of them, all axes are reduced, or none if
/// [`noop_with_empty_axes`](Self::noop_with_empty_axes) is set.
///
/// # Errors
///
/// Of [`plan`](Self::plan), [`infer_shape`](Self::infer_shape) and [`evaluate`](Self::evaluate):
///
/// - [`InvalidInteger`](crate::ErrorKind::InvalidInteger): `axes` does not have rank 1.
/// - [`InvalidAxes`](crate::ErrorKind::InvalidAxes): the data does not have such an axis, or an
///   axis is listed twice.
/// - [`ShapeOverflow`](crate::ErrorKind::ShapeOverflow).
///
/// # Example
///
/// ```
/// use ndarray::array;
/// use ndarray_broadcast::onnx::Reduce;
/// use ndarray_broadcast::reduction::{Sum, SumSquare};
///
/// let data = array![[1., 2.], [3., 4.]];
/// let rows = Some(&[-1_i64] as _);
/// let sums = Reduce::new().evaluate(&data, rows, Sum)?;
/// assert_eq!(sums, array![[3.], [7.]].into_dyn());
/// let sums = Reduce::new().keepdims(false).evaluate(&data, rows, SumSquare)?;
/// assert_eq!(sums, array![5., 25.].into_dyn());
///
/// let error = Reduce::new().infer_shape((2, 3), Some(&[1_i64, -3])).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "\
/// cannot reduce axis -3 of [2, 3]
///   shape   2   3
///   axes    1  -3
///               ^ there is no axis -3: shape has 2 axes",
/// );
/// # Ok::<(), ndarray_broadcast::BroadcastError>(())
/// ```
///
/// Source: ONNX [ReduceSum-13](https://onnx.ai/onnx/operators/onnx__ReduceSum.html),
/// [ReduceMax-20](https://onnx.ai/onnx/operators/onnx__ReduceMax.html) and the other `Reduce*`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[doc(alias = "ReduceProd")]
#[doc(alias = "ReduceMin")]
pub struct Reduce {
    keepdims: bool,
    noop_with_empty_axes: bool,
}

impl Default for Reduce {
    fn default() -> Self {
        Reduce::new()
    }
}

impl Reduce {
    /// The operator with `keepdims=1` and `noop_with_empty_axes=0`, the defaults. Example:
    /// [`Reduce`].
    #[must_use]
    pub const fn new() -> Self {
        Reduce {
            keepdims: true,
            noop_with_empty_axes: false,
        }
    }

    /// Whether axes that are reduced keep size 1, or are gone. Example: [`Reduce`].
    #[must_use]
    pub const fn keepdims(self, keepdims: bool) -> Self {
        Reduce { keepdims, ..self }
    }

    /// Whether no axes mean none, and not all. Each element is the one term of its result then.
    ///
    /// ```
    /// use ndarray::array;
    /// use ndarray_broadcast::onnx::Reduce;
    /// use ndarray_broadcast::reduction::{Sum, SumSquare};
    ///
    /// let data = array![[1., 2.], [3., 4.]];
    /// let sum = Reduce::new().evaluate(&data, None, Sum)?;
    /// assert_eq!(sum, array![[10.]].into_dyn());
    ///
    /// let noop = Reduce::new().noop_with_empty_axes(true);
    /// assert_eq!(noop.evaluate(&data, None, Sum)?, data.clone().into_dyn());
    /// let squares = array![[1., 4.], [9., 16.]];
    /// assert_eq!(noop.evaluate(&data, None, SumSquare)?, squares.into_dyn());
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    #[must_use]
    pub const fn noop_with_empty_axes(self, noop_with_empty_axes: bool) -> Self {
        Reduce {
            noop_with_empty_axes,
            ..self
        }
    }

    /// The operator with an attribute of a graph file.
    ///
    /// # Errors
    ///
    /// [`InvalidText`](crate::ErrorKind::InvalidText) for an unknown name, and for a value other
    /// than 0 and 1.
    ///
    /// ```
    /// use ndarray_broadcast::onnx::Reduce;
    ///
    /// let reduce = Reduce::new().with_attribute("keepdims", 0)?;
    /// assert_eq!(reduce, Reduce::new().keepdims(false));
    /// assert_eq!(
    ///     reduce.with_attribute("keepdims", 2).unwrap_err().to_string(),
    ///     "invalid attribute of ONNX Reduce* \"keepdims=2\": \
    ///      expected keepdims or noop_with_empty_axes, each 0 or 1",
    /// );
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    pub fn with_attribute(self, name: &str, value: i64) -> Result<Self> {
        let expected = "expected keepdims or noop_with_empty_axes, each 0 or 1";
        match (name, value) {
            ("keepdims", 0 | 1) => Ok(self.keepdims(value == 1)),
            ("noop_with_empty_axes", 0 | 1) => Ok(self.noop_with_empty_axes(value == 1)),
            _ => {
                let kind = "attribute of ONNX Reduce*";
                Err(invalid_text(kind, &format!("{name}={value}"), expected))
            }
        }
    }

    /// The axes that are reduced. `None`: all.
    fn axes(&self, axes: Option<&dyn IntegerTensor>) -> Result<Option<Vec<i64>>> {
        let given = axes.map(|axes| axes.integers(IntegerRole::Axis));
        let given = given.transpose()?.unwrap_or_default();
        // A number that is not an `i64`, as ONNX's axes are, is no axis either way.
        let to_i64 = |axis: i128| axis.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
        let axes: Vec<i64> = given.into_iter().map(to_i64).collect();
        Ok((!axes.is_empty() || self.noop_with_empty_axes).then_some(axes))
    }

    /// The plan of the operator for data of this shape. Its input is the operator's output: the
    /// plan also replicates results, and is the gradient of a sum.
    ///
    /// # Errors
    ///
    /// Those [of the operator](Self#errors).
    ///
    /// ```
    /// use ndarray::array;
    /// use ndarray_broadcast::onnx::Reduce;
    ///
    /// let plan = Reduce::new().keepdims(false).plan((2, 3), Some(&[1_i64]))?;
    /// assert_eq!((plan.input_shape(), plan.output_shape()), (&[2][..], &[2, 3][..]));
    /// let means = array![1., 2.].into_dyn();
    /// let replicated = array![[1., 1., 1.], [2., 2., 2.]].into_dyn();
    /// assert_eq!(plan.view(&means)?, replicated);
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    pub fn plan(
        &self,
        data_shape: impl IntoDimension,
        axes: Option<&dyn IntegerTensor>,
    ) -> Result<BroadcastPlan> {
        let shape = data_shape.into_dimension().into_dyn();
        let axes = self.axes(axes)?;
        let axes = axes.unwrap_or_else(|| (0..shape.ndim() as i64).collect());
        match self.keepdims {
            true => BroadcastPlan::over_axes(shape, axes),
            false => without_axes(shape, &axes),
        }
    }

    /// The shape of the output, as far as it follows from what is known of the data's shape.
    ///
    /// # Errors
    ///
    /// Those [of the operator](Self#errors). Axes of data of unknown rank are not checked.
    ///
    /// ```
    /// use ndarray_broadcast::infer::{PartialShape, PartialSize};
    /// use ndarray_broadcast::onnx::Reduce;
    ///
    /// let (batch, reduce) = (PartialSize::ANY.with_symbol(0), Reduce::new());
    /// let data = PartialShape::new([batch, PartialSize::known(8), PartialSize::ANY]);
    /// let output = reduce.infer(&data, Some(&[-1_i64]))?;
    /// assert_eq!(output.to_string(), "[s0, 8, 1]");
    /// let output = reduce.keepdims(false).infer(&data, Some(&[-1_i64]))?;
    /// assert_eq!(output.to_string(), "[s0, 8]");
    ///
    /// let unknown = PartialShape::UNKNOWN;
    /// assert_eq!(reduce.infer(&unknown, Some(&[0_i64]))?, unknown);
    /// let scalar = reduce.keepdims(false).infer(&unknown, None)?;
    /// assert_eq!(scalar, PartialShape::known(()));
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    pub fn infer(
        &self,
        data_shape: &PartialShape,
        axes: Option<&dyn IntegerTensor>,
    ) -> Result<PartialShape> {
        let axes = self.axes(axes)?;
        let unknown = unknown([data_shape])?;
        if axes.is_none() && !self.keepdims {
            return Ok(PartialShape::known(()));
        }
        let Some(sizes) = data_shape.sizes() else {
            return Ok(unknown);
        };
        let axes = axes.unwrap_or_else(|| (0..sizes.len() as i64).collect());
        let listed: IxDyn = positions("reduce", sizes, &axes)?;
        let left = |(&size, &position): (&PartialSize, &usize)| match position {
            0 => Some(size),
            _ => self.keepdims.then_some(1.into()),
        };
        let output = sizes.iter().zip(listed.sizes()).filter_map(left);
        Ok(PartialShape::new(output))
    }

    /// The shape of the output, for data of this shape.
    ///
    /// # Errors
    ///
    /// Those [of the operator](Self#errors).
    ///
    /// ```
    /// use ndarray_broadcast::onnx::Reduce;
    ///
    /// let reduce = Reduce::new();
    /// assert_eq!(reduce.infer_shape((2, 3, 4), Some(&[-2_i64]))?, [2, 1, 4]);
    /// assert_eq!(
    ///     reduce.keepdims(false).infer_shape((2, 3, 4), Some(&[-2_i64]))?,
    ///     [2, 4]
    /// );
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    pub fn infer_shape(
        &self,
        data_shape: impl IntoDimension,
        axes: Option<&dyn IntegerTensor>,
    ) -> Result<Vec<usize>> {
        Ok(self.plan(data_shape, axes)?.input_shape().to_vec())
    }

    /// The output.
    ///
    /// # Errors
    ///
    /// Those [of the operator](Self#errors) and of [`BroadcastPlan::reduce`].
    ///
    /// # Panics
    ///
    /// Only if the reduction's own operation does, as sums of integers where overflow checks are
    /// on.
    ///
    /// ```
    /// use ndarray::{Array2, array};
    /// use ndarray_broadcast::onnx::Reduce;
    /// use ndarray_broadcast::reduction::{Any, Max};
    ///
    /// // ReduceMax of an empty set, and of bool.
    /// let (empty, max) = (Array2::zeros((2, 0)), Max.or(f32::NEG_INFINITY));
    /// let largest = Reduce::new().evaluate(&empty, Some(&[1_i64]), max)?;
    /// assert_eq!(largest, array![[-f32::INFINITY], [-f32::INFINITY]].into_dyn());
    /// let flags = array![[true, false], [false, false]];
    /// let largest = Reduce::new().evaluate(&flags, Some(&[1_i64]), Any)?;
    /// assert_eq!(largest, array![[true], [false]].into_dyn());
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    pub fn evaluate<'a, T, R>(
        &self,
        data: T,
        axes: Option<&dyn IntegerTensor>,
        reduction: R,
    ) -> Result<ArrayD<R::Out>>
    where
        T: IntoView<'a, Elem: Copy + Sync>,
        R: Reduction<T::Elem>,
    {
        let data = data.into_view().into_dyn();
        self.plan(data.raw_dim(), axes)?.reduce(&data, reduction)
    }
}

/// The operator `ArgMax` or `ArgMin` with its attributes.
///
/// The input `data` is an array of any rank but 0.
///
/// ```text
/// data                  2  3  4
/// axis=-2, keepdims=1   2  1  4
/// axis=-2, keepdims=0   2     4
/// ```
///
/// A NaN counts as the largest and as the smallest term, as in NumPy.
///
/// # Errors
///
/// Of [`plan`](Self::plan), [`infer_shape`](Self::infer_shape) and [`evaluate`](Self::evaluate):
/// [`InvalidAxes`](crate::ErrorKind::InvalidAxes) if the data does not have the axis;
/// [`ShapeOverflow`](crate::ErrorKind::ShapeOverflow).
///
/// # Example
///
/// ```
/// use ndarray::array;
/// use ndarray_broadcast::onnx::Arg;
///
/// let data = array![[2, 2], [3, 10]];
/// let rows = Arg::max().axis(-1).keepdims(false);
/// assert_eq!(rows.evaluate(&data)?, array![0_i64, 1].into_dyn());
/// let last = rows.select_last_index(true);
/// assert_eq!(last.evaluate(&data)?, array![1_i64, 1].into_dyn());
/// assert_eq!(Arg::min().evaluate(&data)?, array![[0_i64, 0]].into_dyn());
/// # Ok::<(), ndarray_broadcast::BroadcastError>(())
/// ```
///
/// Source: ONNX [ArgMax-13](https://onnx.ai/onnx/operators/onnx__ArgMax.html),
/// [ArgMin-13](https://onnx.ai/onnx/operators/onnx__ArgMin.html).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Arg {
    max: bool,
    axis: i64,
    keepdims: bool,
    select_last_index: bool,
}

impl Arg {
    /// The operator `ArgMax` with `axis=0`, `keepdims=1` and `select_last_index=0`, the defaults.
    /// Example: [`Arg`].
    #[must_use]
    #[doc(alias = "ArgMax")]
    pub const fn max() -> Self {
        Arg {
            max: true,
            axis: 0,
            keepdims: true,
            select_last_index: false,
        }
    }

    /// The operator `ArgMin` with `axis=0`, `keepdims=1` and `select_last_index=0`, the defaults.
    /// Example: [`Arg`].
    #[must_use]
    #[doc(alias = "ArgMin")]
    pub const fn min() -> Self {
        Arg {
            max: false,
            ..Arg::max()
        }
    }

    /// The axis to search. A negative one counts from the end. Example: [`Arg`].
    #[must_use]
    pub const fn axis(self, axis: i64) -> Self {
        Arg { axis, ..self }
    }

    /// Whether the axis keeps size 1, or is gone. Example: [`Arg`].
    #[must_use]
    pub const fn keepdims(self, keepdims: bool) -> Self {
        Arg { keepdims, ..self }
    }

    /// Whether of equal terms the last is meant, and not the first. Example: [`Arg`].
    #[must_use]
    pub const fn select_last_index(self, select_last_index: bool) -> Self {
        Arg {
            select_last_index,
            ..self
        }
    }

    /// The operator with an attribute of a graph file.
    ///
    /// # Errors
    ///
    /// [`InvalidText`](crate::ErrorKind::InvalidText) for an unknown name, and for a value other
    /// than 0 and 1 where the attribute has no other.
    ///
    /// ```
    /// use ndarray_broadcast::onnx::Arg;
    ///
    /// let arg = Arg::max().with_attribute("axis", -2)?;
    /// assert_eq!(arg, Arg::max().axis(-2));
    /// assert_eq!(
    ///     arg.with_attribute("axes", 1).unwrap_err().to_string(),
    ///     "invalid attribute of ONNX ArgMax or ArgMin \"axes=1\": \
    ///      expected axis, or keepdims or select_last_index, each 0 or 1",
    /// );
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    pub fn with_attribute(self, name: &str, value: i64) -> Result<Self> {
        let expected = "expected axis, or keepdims or select_last_index, each 0 or 1";
        match (name, value) {
            ("axis", axis) => Ok(self.axis(axis)),
            ("keepdims", 0 | 1) => Ok(self.keepdims(value == 1)),
            ("select_last_index", 0 | 1) => Ok(self.select_last_index(value == 1)),
            _ => {
                let kind = "attribute of ONNX ArgMax or ArgMin";
                Err(invalid_text(kind, &format!("{name}={value}"), expected))
            }
        }
    }

    /// A reduction over the axis, whose output has the shape of this operator's.
    fn reduce(&self) -> Reduce {
        Reduce::new().keepdims(self.keepdims)
    }

    /// The plan of the operator for data of this shape. Its input is the operator's output.
    ///
    /// # Errors
    ///
    /// Those [of the operator](Self#errors).
    ///
    /// ```
    /// use ndarray_broadcast::onnx::Arg;
    ///
    /// let plan = Arg::max().axis(-1).keepdims(false).plan((2, 3))?;
    /// assert_eq!((plan.input_shape(), plan.output_shape()), (&[2][..], &[2, 3][..]));
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    pub fn plan(&self, data_shape: impl IntoDimension) -> Result<BroadcastPlan> {
        self.reduce().plan(data_shape, Some(&[self.axis]))
    }

    /// The shape of the output, as far as it follows from what is known of the data's shape.
    ///
    /// # Errors
    ///
    /// Those [of the operator](Self#errors). Axes of data of unknown rank are not checked.
    ///
    /// ```
    /// use ndarray_broadcast::infer::{PartialShape, PartialSize};
    /// use ndarray_broadcast::onnx::Arg;
    ///
    /// let data = PartialShape::new([PartialSize::ANY, PartialSize::known(3)]);
    /// assert_eq!(Arg::max().axis(-1).infer(&data)?.to_string(), "[?, 1]");
    /// assert_eq!(
    ///     Arg::max().axis(2).infer(&data).unwrap_err().to_string(),
    ///     "\
    /// cannot reduce axis 2 of [?, 3]
    ///   shape   ?  3
    ///   axes    2
    ///           ^ there is no axis 2: shape has 2 axes",
    /// );
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    pub fn infer(&self, data_shape: &PartialShape) -> Result<PartialShape> {
        self.reduce().infer(data_shape, Some(&[self.axis]))
    }

    /// The shape of the output, for data of this shape.
    ///
    /// # Errors
    ///
    /// Those [of the operator](Self#errors).
    ///
    /// ```
    /// use ndarray_broadcast::onnx::Arg;
    ///
    /// assert_eq!(Arg::min().axis(1).infer_shape((2, 3))?, [2, 1]);
    /// assert!(Arg::min().axis(2).infer_shape((2, 3)).is_err());
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    pub fn infer_shape(&self, data_shape: impl IntoDimension) -> Result<Vec<usize>> {
        Ok(self.plan(data_shape)?.input_shape().to_vec())
    }

    /// The output: positions along the axis.
    ///
    /// # Errors
    ///
    /// Those [of the operator](Self#errors) and of [`BroadcastPlan::reduce`], as
    /// [`TooFewTerms`](crate::ErrorKind::TooFewTerms) if the axis has size 0.
    ///
    /// ```
    /// use ndarray::array;
    /// use ndarray_broadcast::onnx::Arg;
    ///
    /// let data = array![[1., 5., 2.], [4., 3., 4.]];
    /// let positions = Arg::max().axis(1).evaluate(&data)?;
    /// assert_eq!(positions, array![[1_i64], [0]].into_dyn());
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    pub fn evaluate<'a, T>(&self, data: T) -> Result<ArrayD<i64>>
    where
        T: IntoView<'a, Elem: Copy + PartialOrd + Send + Sync + 'static>,
    {
        let data = data.into_view().into_dyn();
        let plan = self.plan(data.raw_dim())?;
        match (self.max, self.select_last_index) {
            (true, false) => plan.reduce(&data, ArgMax.in_type()),
            (true, true) => plan.reduce(&data, LastArgMax.in_type()),
            (false, false) => plan.reduce(&data, ArgMin.in_type()),
            (false, true) => plan.reduce(&data, LastArgMin.in_type()),
        }
    }
}
