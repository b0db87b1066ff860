//! Plans whose shapes are known in part.

use crate::error::{BroadcastError, ErrorKind, Result};
use crate::mode::BroadcastMode;
use crate::partial::{PartialShape, PartialSize};

impl PartialSize {
    /// A size from `min` to `max`, both included.
    ///
    /// # Errors
    ///
    /// [`InvalidBounds`](ErrorKind::InvalidBounds) if `min` is above `max`.
    ///
    /// ```
    /// use ndarray_broadcast::infer::PartialSize;
    ///
    /// assert!(PartialSize::between(2, 5)?.contains(5));
    /// assert_eq!(
    ///     PartialSize::between(5, 2).unwrap_err().to_string(),
    ///     "no size is at least 5 and at most 2",
    /// );
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    pub fn between(min: usize, max: usize) -> Result<Self> {
        PartialSize::bounded(min, max)
            .ok_or_else(|| BroadcastError::new(ErrorKind::InvalidBounds { min, max }))
    }
}

/// A broadcast of which not all sizes are known yet.
///
/// [`resolve`](Self::resolve) gives the [`BroadcastPlan`](crate::BroadcastPlan) once they are
/// known. With the feature `serde` it serialises.
///
/// ```
/// use ndarray_broadcast::BroadcastMode;
/// use ndarray_broadcast::infer::{PartialPlan, PartialShape, PartialSize};
///
/// // The batch is not known yet.
/// let input = PartialShape::new([PartialSize::ANY, PartialSize::known(1)]);
/// let target = PartialShape::new([PartialSize::ANY, PartialSize::known(3)]);
/// let plan = PartialPlan::with_mode(input, target, BroadcastMode::Numpy)?;
/// assert_eq!(plan.output_shape().to_string(), "[?, 3]");
/// assert_eq!(plan.resolve((8, 1), (8, 3))?.output_shape(), [8, 3]);
/// assert_eq!(
///     plan.resolve((8, 1), (8, 4)).unwrap_err().to_string(),
///     "\
/// target has shape [8, 4], expected [?, 3]
///   found      8  4
///   expected   ?  3
///                 ^ 4 is not 3",
/// );
/// # Ok::<(), ndarray_broadcast::BroadcastError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[must_use = "a plan does nothing until it is resolved"]
pub struct PartialPlan {
    /// `None` for the rule `prepend`, which is no mode.
    pub(crate) mode: Option<BroadcastMode>,
    pub(crate) input: PartialShape,
    pub(crate) target: PartialShape,
    #[cfg_attr(feature = "serde", serde(skip))]
    pub(crate) output: PartialShape,
}

impl PartialPlan {
    /// What is known of the input's shape.
    ///
    /// ```
    /// use ndarray_broadcast::BroadcastMode;
    /// use ndarray_broadcast::infer::{PartialPlan, PartialShape};
    ///
    /// let (input, target) = (PartialShape::UNKNOWN, PartialShape::known((2, 3)));
    /// let plan = PartialPlan::with_mode(
    ///     input.clone(),
    ///     target.clone(),
    ///     BroadcastMode::Numpy,
    /// )?;
    /// assert_eq!((plan.input_shape(), plan.target_shape()), (&input, &target));
    /// assert_eq!(plan.output_shape(), &target);
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    #[must_use]
    pub fn input_shape(&self) -> &PartialShape {
        &self.input
    }

    /// What is known of the target shape; of [`prepend`](Self::prepend), of the new sizes. Example:
    /// [`input_shape`](Self::input_shape).
    #[must_use]
    pub fn target_shape(&self) -> &PartialShape {
        &self.target
    }

    /// What is known of the output's shape: the smallest box that holds every possible one.
    /// Example: [`input_shape`](Self::input_shape).
    #[must_use]
    pub fn output_shape(&self) -> &PartialShape {
        &self.output
    }
}
