//! OpenVINO's operator [`Broadcast`], versions 1 and 3, with its attribute as text and its inputs
//! as integer tensors.
//!
//! The operator has the attribute `mode` and two or three inputs: `data`, `target_shape` and, in
//! mode `explicit` only, `axes_mapping`. The last two are 1-D tensors of any integer type.
//!
//! | mode | in Broadcast- | rule |
//! |---|---|---|
//! | `numpy` (default) | 1, 3 | [`broadcast_numpy`](crate::BroadcastExt::broadcast_numpy) |
//! | `explicit`, also spelled `none` | 1, 3 | [`broadcast_explicit`](crate::BroadcastExt::broadcast_explicit) |
//! | `bidirectional` | 3 | [`broadcast_bidirectional`](crate::BroadcastExt::broadcast_bidirectional) |
//! | `pdpd`, in OpenVINO's code and not in its specification | 1, 3 | [`broadcast_pdpd`](crate::BroadcastExt::broadcast_pdpd) |
//!
//! If the axes are known when the program is written, the methods of
//! [`BroadcastExt`](crate::BroadcastExt) are shorter and give the result a static rank.
//!
//! # Example
//!
//! The examples of the specification:
//!
//! ```
//! use ndarray_broadcast::openvino::{Broadcast, Mode};
//!
//! let numpy = Broadcast::v3();
//! assert_eq!(
//!     numpy.infer_shape((16, 1, 1), &[1_i64, 16, 50, 50], None)?,
//!     [1, 16, 50, 50]
//! );
//!
//! let explicit = Broadcast::v3().with_mode(Mode::Explicit)?;
//! let shape = explicit.infer_shape(16, &[1_i64, 16, 50, 50], Some(&[1_i64]))?;
//! assert_eq!(shape, [1, 16, 50, 50]);
//! let shape =
//!     explicit.infer_shape((50, 50), &[1_i64, 50, 50, 16], Some(&[1_i64, 2]))?;
//! assert_eq!(shape, [1, 50, 50, 16]);
//!
//! let bidirectional = Broadcast::v3().with_mode("bidirectional".parse()?)?;
//! let shape = bidirectional.infer_shape((16, 1, 1), &[1_i64, 1, 50, 50], None)?;
//! assert_eq!(shape, [1, 16, 50, 50]);
//! # Ok::<(), ndarray_broadcast::BroadcastError>(())
//! ```
//!
//! Source: OpenVINO operation sets, Broadcast-1 and Broadcast-3. Where they leave something open,
//! OpenVINO's implementation. Negative sizes, an axis mapped twice and inputs that it ignores are
//! errors here.

use crate::error::{BroadcastError, ErrorKind, IntegerRole, OperatorFault, Result};
pub use crate::integer::{IntegerTensor, ShapeInteger};
use crate::mode::BroadcastMode;
use crate::operand::IntoView;
use crate::partial::PartialShape;
use crate::plan::BroadcastPlan;
use crate::rule::Rule;
use crate::rules::infer_explicit;
use crate::shape::Sizes;
use crate::text::{self, axis, bare};
use ndarray::{ArrayViewD, Dimension, IntoDimension, IxDyn};
use std::fmt;
use std::str::FromStr;

/// The attribute `mode`.
///
/// The text form is the one of graph files, case-insensitive: `numpy`, `explicit` or `none` (two
/// spellings of one mode), `bidirectional`, `pdpd(1)`. With the feature `serde` it
/// serialises by the same names: `{"pdpd":{"axis":1}}` in JSON.
///
/// ```
/// use ndarray_broadcast::openvino::Mode;
///
/// assert_eq!(Mode::default(), Mode::Numpy);
/// assert_eq!("EXPLICIT".parse(), Ok(Mode::Explicit));
/// assert_eq!("none".parse(), Ok(Mode::Explicit));
/// assert_eq!(Mode::Pdpd { axis: 1 }.to_string(), "pdpd(1)");
/// assert_eq!(
///     "foo".parse::<Mode>().unwrap_err().to_string(),
///     "invalid OpenVINO broadcast mode \"foo\": \
///      expected numpy, explicit (or none), bidirectional or pdpd(..)",
/// );
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case", deny_unknown_fields)
)]
#[non_exhaustive]
pub enum Mode {
    /// Right-aligned. 1s of the data replicate. Takes no `axes_mapping`.
    #[default]
    Numpy,
    /// `axes_mapping` gives for each axis of the data the axis of the target that it feeds.
    Explicit,
    /// Right-aligned. 1s of the data and of the target replicate. Takes no `axes_mapping`.
    /// Broadcast-3 only: see [`with_mode`](Broadcast::with_mode).
    Bidirectional,
    /// OpenVINO's rule for imported PaddlePaddle models. Takes no `axes_mapping`. OpenVINO's code
    /// knows it, its specification does not.
    Pdpd {
        /// The target axis that the data's first axis is aligned with. -1 right-aligns. The text
        /// has the axis, `pdpd(0)`: a bare `pdpd` of a graph file means axis 0, but axis -1 in the
        /// other text forms of this crate.
        axis: isize,
    },
}

impl Mode {
    /// The name of the rule, without attributes.
    ///
    /// ```
    /// use ndarray_broadcast::{Rule, openvino::Mode};
    ///
    /// assert_eq!(Mode::Pdpd { axis: 1 }.rule(), Rule::Pdpd);
    /// ```
    #[must_use]
    pub const fn rule(self) -> Rule {
        match self {
            Mode::Numpy => Rule::Numpy,
            Mode::Explicit => Rule::Explicit,
            Mode::Bidirectional => Rule::Bidirectional,
            Mode::Pdpd { .. } => Rule::Pdpd,
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rule = self.rule();
        match self {
            Mode::Pdpd { axis } => f.pad(&format!("{rule}({axis})")),
            _ => rule.fmt(f),
        }
    }
}

impl FromStr for Mode {
    type Err = BroadcastError;

    fn from_str(text: &str) -> Result<Self> {
        let no_axes = "only pdpd takes an axis; axes_mapping is an input of the operator";
        let no_axis = "expected the axis: a bare pdpd of a graph file is pdpd(0)";
        text::parse("OpenVINO broadcast mode", text, |name, list| match name {
            "numpy" => bare(list, Mode::Numpy, no_axes),
            "explicit" | "none" => bare(list, Mode::Explicit, no_axes),
            "bidirectional" => bare(list, Mode::Bidirectional, no_axes),
            "pdpd" => axis(list, Err(no_axis)).map(|axis| Mode::Pdpd { axis }),
            _ => Err("expected numpy, explicit (or none), bidirectional or pdpd(..)"),
        })
    }
}

/// The operator Broadcast with its attribute. Each call takes the inputs.
///
/// # Inputs
///
/// - `data`: an array of any element type and rank. [`infer_shape`](Self::infer_shape) and
///   [`plan`](Self::plan) take its shape alone.
/// - `target_shape`: the sizes of the output. In mode `bidirectional` they are broadcast too.
/// - `axes_mapping`: in mode `explicit` one axis of the target for each axis of the data, strictly
///   increasing. `None` in every other mode.
///
/// The last two are any [`IntegerTensor`], by reference, each of its own integer type.
///
/// # Errors
///
/// Of [`plan`](Self::plan), [`infer_shape`](Self::infer_shape) and [`evaluate`](Self::evaluate):
///
/// - [`InvalidOperator`](ErrorKind::InvalidOperator): mode `explicit` without `axes_mapping`, or
///   any other mode with one.
/// - [`InvalidInteger`](ErrorKind::InvalidInteger): `target_shape` or `axes_mapping` does not
///   have rank 1, or an entry of either is negative or does not fit `usize`.
/// - those of the mode's rule.
///
/// Data of rank 0 takes a mapping of one entry too, if that axis of the target has size 1.
/// OpenVINO's current source treats such data as of shape `[1]`; release 2026.4.1 refuses it. This
/// holds only here:
/// [`broadcast_explicit`](crate::BroadcastExt::broadcast_explicit) wants an empty mapping.
///
/// # Example
///
/// ```
/// use ndarray::{arr0, array};
/// use ndarray_broadcast::openvino::{Broadcast, Mode};
///
/// let explicit = Broadcast::v1().with_mode(Mode::Explicit)?;
/// let bias = array![10, 20, 30];
/// let output =
///     explicit.evaluate(&bias, &array![2_i64, 3, 4], Some(&array![1_u8]))?;
/// assert_eq!(output.shape(), [2, 3, 4]);
/// assert_eq!(output.strides(), [0, 1, 0]);
///
/// assert_eq!(
///     explicit.evaluate(&bias, &[2_i64, 3, 4], None).unwrap_err().to_string(),
///     "OpenVINO Broadcast-1 in mode \"explicit\" needs axes_mapping: \
///      one target axis for each input axis",
/// );
/// assert_eq!(
///     explicit.evaluate(&bias, &arr0(3_i64), Some(&[0_i64]))
///         .unwrap_err()
///         .to_string(),
///     "sizes are of rank 1, but this tensor has the shape []",
/// );
/// # Ok::<(), ndarray_broadcast::BroadcastError>(())
/// ```
///
/// Source: OpenVINO Broadcast-1 and Broadcast-3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Broadcast {
    version: u8,
    mode: Mode,
}

impl Broadcast {
    /// Broadcast-1, of `opset1` and `opset2`, in mode `numpy`.
    ///
    /// ```
    /// use ndarray_broadcast::openvino::Broadcast;
    ///
    /// assert_eq!(
    ///     Broadcast::v1().infer_shape((3, 1), &[2_i32, 3, 4], None)?,
    ///     [2, 3, 4]
    /// );
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    #[must_use]
    pub const fn v1() -> Self {
        Broadcast {
            version: 1,
            mode: Mode::Numpy,
        }
    }

    /// Broadcast-3, of `opset3` and later, in mode `numpy`.
    ///
    /// ```
    /// use ndarray_broadcast::openvino::{Broadcast, Mode};
    ///
    /// assert_eq!(Broadcast::v3().mode(), Mode::Numpy);
    /// ```
    #[must_use]
    pub const fn v3() -> Self {
        Broadcast {
            version: 3,
            mode: Mode::Numpy,
        }
    }

    /// The operator with this mode.
    ///
    /// # Errors
    ///
    /// [`InvalidOperator`](ErrorKind::InvalidOperator) for `bidirectional` in Broadcast-1.
    ///
    /// ```
    /// use ndarray_broadcast::openvino::{Broadcast, Mode};
    ///
    /// assert!(Broadcast::v3().with_mode(Mode::Bidirectional).is_ok());
    /// assert_eq!(
    ///     Broadcast::v1().with_mode(Mode::Bidirectional).unwrap_err().to_string(),
    ///     "OpenVINO Broadcast-1 has no mode \"bidirectional\": Broadcast-3 has it",
    /// );
    /// ```
    pub fn with_mode(self, mode: Mode) -> Result<Self> {
        let broadcast = Broadcast { mode, ..self };
        match (self.version, mode) {
            (1, Mode::Bidirectional) => Err(broadcast.invalid(OperatorFault::ModeNotInVersion)),
            _ => Ok(broadcast),
        }
    }

    /// The attribute `mode`.
    ///
    /// ```
    /// use ndarray_broadcast::openvino::{Broadcast, Mode};
    ///
    /// assert_eq!(Broadcast::v1().with_mode(Mode::Explicit)?.mode(), Mode::Explicit);
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    #[must_use]
    pub const fn mode(&self) -> Mode {
        self.mode
    }

    /// The version: 1 or 3.
    ///
    /// ```
    /// use ndarray_broadcast::openvino::Broadcast;
    ///
    /// assert_eq!(Broadcast::v3().version(), 3);
    /// ```
    #[must_use]
    pub const fn version(&self) -> u8 {
        self.version
    }

    /// The plan of the operator for data of this shape.
    ///
    /// # Errors
    ///
    /// Those [of the operator](Self#errors).
    ///
    /// ```
    /// use ndarray_broadcast::AxisSource;
    /// use ndarray_broadcast::openvino::{Broadcast, Mode};
    ///
    /// let explicit = Broadcast::v3().with_mode(Mode::Explicit)?;
    /// let plan = explicit.plan((50, 50), &[1_i64, 50, 50, 16], Some(&[1_i64, 2]))?;
    /// let mapping = plan.axis_sources().map(AxisSource::input_axis);
    /// assert!(mapping.eq([None, Some(0), Some(1), None]));
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    pub fn plan(
        &self,
        data_shape: impl IntoDimension,
        target_shape: &dyn IntegerTensor,
        axes_mapping: Option<&dyn IntegerTensor>,
    ) -> Result<BroadcastPlan> {
        let mut mode = self.broadcast_mode(axes_mapping.is_some())?;
        let data_shape = data_shape.into_dimension().into_dyn();
        let target = IxDyn(&target_shape.read(IntegerRole::Size)?);
        if let (BroadcastMode::Explicit { axes_mapping }, Some(given)) = (&mut mode, axes_mapping) {
            *axes_mapping = given.read(IntegerRole::Axis)?;
            // Scalar data counts as of shape [1]. Its axis feeds one of size 1: to add that axis
            // gives the same.
            let is_one = |axis| target.sizes().get(axis) == Some(&1);
            if data_shape.ndim() == 0 && matches!(axes_mapping[..], [axis] if is_one(axis)) {
                axes_mapping.clear();
            }
        }
        BroadcastPlan::with_mode(data_shape, target, mode)
    }

    /// The shape of the output, as far as it follows from what is known of the data's shape, of the
    /// value of `target_shape` and of that of `axes_mapping`: the smallest box that holds every
    /// result that values within the bounds can give.
    ///
    /// What is not known of a value is written as a [`PartialShape`]: its entries are sizes or
    /// axes, and the rank is its length.
    ///
    /// # Errors
    ///
    /// [`InvalidOperator`](ErrorKind::InvalidOperator). If no values within the bounds fit: the
    /// error of the mode's rule, or [`ShapeOverflow`](ErrorKind::ShapeOverflow) if even the
    /// smallest shape has too many elements.
    ///
    /// ```
    /// use ndarray_broadcast::openvino::{Broadcast, Mode};
    /// use ndarray_broadcast::infer::{PartialShape, PartialSize};
    ///
    /// let (any, three) = (PartialSize::ANY, PartialSize::known(3));
    /// let (data, target) =
    ///     (PartialShape::new([any, three]), PartialShape::new([any, any, any]));
    /// assert_eq!(
    ///     Broadcast::v3().infer(&data, &target, None)?.to_string(),
    ///     "[?, ?, 3]"
    /// );
    ///
    /// // The mapping is not known: the 3 may feed axis 1 or 2.
    /// let explicit = Broadcast::v3().with_mode(Mode::Explicit)?;
    /// let target = PartialShape::new([any, (2..).into(), any]);
    /// let output = explicit.infer(&data, &target, Some(&PartialShape::UNKNOWN))?;
    /// assert_eq!(output.to_string(), "[?, 2.., ?]");
    /// let output =
    ///     explicit.infer(&data, &target, Some(&PartialShape::known((0, 1))))?;
    /// assert_eq!(output.to_string(), "[?, 3, ?]");
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    pub fn infer(
        &self,
        data_shape: &PartialShape,
        target_shape: &PartialShape,
        axes_mapping: Option<&PartialShape>,
    ) -> Result<PartialShape> {
        let mode = self.broadcast_mode(axes_mapping.is_some())?;
        let Some(mapping) = axes_mapping else {
            return mode.infer(data_shape, target_shape);
        };
        match [data_shape, target_shape, mapping].map(PartialShape::value) {
            [Some(data), Some(target), Some(mapping)] => {
                let mapping = mapping.as_array_view();
                let plan = self.plan(data, &target.as_array_view(), Some(&mapping))?;
                Ok(PartialShape::known(plan.output_dim()))
            }
            _ => infer_explicit(data_shape, target_shape, mapping),
        }
    }

    /// The shape of the output, for data of this shape.
    ///
    /// # Errors
    ///
    /// Those [of the operator](Self#errors).
    ///
    /// ```
    /// use ndarray_broadcast::openvino::{Broadcast, Mode};
    ///
    /// // The target is broadcast, too: its 1s, and the axes it does not have.
    /// let bidirectional = Broadcast::v3().with_mode(Mode::Bidirectional)?;
    /// let shape = bidirectional.infer_shape((5, 2, 3, 1), &[1_i64, 3, 6], None)?;
    /// assert_eq!(shape, [5, 2, 3, 6]);
    /// assert!(
    ///     Broadcast::v3().infer_shape((5, 2, 3, 1), &[1_i64, 3, 6], None).is_err()
    /// );
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    pub fn infer_shape(
        &self,
        data_shape: impl IntoDimension,
        target_shape: &dyn IntegerTensor,
        axes_mapping: Option<&dyn IntegerTensor>,
    ) -> Result<Vec<usize>> {
        let plan = self.plan(data_shape, target_shape, axes_mapping)?;
        Ok(plan.output_shape().to_vec())
    }

    /// The output, as a view of the data: nothing is copied.
    ///
    /// Takes a reference to an array, or a view by value and returns a view of the same lifetime.
    ///
    /// # Errors
    ///
    /// Those [of the operator](Self#errors).
    ///
    /// ```
    /// use ndarray::array;
    /// use ndarray_broadcast::openvino::Broadcast;
    ///
    /// let data = array![["a"], ["b"]];
    /// let output = Broadcast::v3().evaluate(&data, &[2_u64, 3], None)?;
    /// assert_eq!(output, array![["a", "a", "a"], ["b", "b", "b"]].into_dyn());
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    pub fn evaluate<'a, T: IntoView<'a>>(
        &self,
        data: T,
        target_shape: &dyn IntegerTensor,
        axes_mapping: Option<&dyn IntegerTensor>,
    ) -> Result<ArrayViewD<'a, T::Elem>> {
        let data = data.into_view().into_dyn();
        self.plan(data.raw_dim(), target_shape, axes_mapping)?
            .view(data)
    }
}

impl Broadcast {
    /// The mode, as that of a plan. The axes of `explicit` are not known here.
    fn broadcast_mode(self, has_mapping: bool) -> Result<BroadcastMode> {
        match (self.mode, has_mapping) {
            (Mode::Explicit, false) => Err(self.invalid(OperatorFault::AxesMappingMissing)),
            (Mode::Explicit, true) => Ok(BroadcastMode::Explicit {
                axes_mapping: Vec::new(),
            }),
            (_, true) => Err(self.invalid(OperatorFault::AxesMappingUnexpected)),
            (Mode::Numpy, false) => Ok(BroadcastMode::Numpy),
            (Mode::Bidirectional, false) => Ok(BroadcastMode::Bidirectional),
            (Mode::Pdpd { axis }, false) => Ok(BroadcastMode::Pdpd { axis }),
        }
    }

    #[cold]
    fn invalid(self, fault: OperatorFault) -> BroadcastError {
        BroadcastError::new(ErrorKind::InvalidOperator {
            version: self.version,
            mode: self.mode.rule(),
            fault,
        })
    }
}
