//! [`BroadcastPlan`]: the answer that every rule gives. Its constructors stand in `rules`, one file
//! per rule.

mod algebra;
mod display;
mod partial;
#[cfg(feature = "serde")]
mod serde;
mod tile;

pub(crate) use algebra::without_axes;
pub use partial::PartialPlan;
pub(crate) use tile::check_inside;
pub use tile::{Tile, TileBox, Tiles};

use crate::error::{Mismatch, Result, shape_overflow};
use crate::rule::{Relation, Rule};
use crate::shape::{Sizes, by_axis, elements};
use ndarray::{DimMax, Dimension, IxDyn};

/// In place of an axis: there is none.
const NONE: usize = usize::MAX;

/// Which input axis feeds one axis of the output.
///
/// ```
/// use ndarray_broadcast::{AxisSource, BroadcastPlan};
///
/// let plan = BroadcastPlan::numpy((3, 1), (2, 3, 4))?;
/// let sources =
///     [AxisSource::Added, AxisSource::Kept(0), AxisSource::Stretched(1)];
/// assert!(plan.axis_sources().eq(sources));
/// # Ok::<(), ndarray_broadcast::BroadcastError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AxisSource {
    /// Fed one to one by this input axis.
    Kept(usize),
    /// Fed by this input axis of size 1, replicated to another size (0 included).
    Stretched(usize),
    /// Fed by no input axis: the whole input is replicated along it.
    Added,
}

impl AxisSource {
    /// The input axis that feeds the output axis. `None` for an added axis.
    ///
    /// ```
    /// use ndarray_broadcast::{AxisSource, BroadcastPlan};
    ///
    /// let plan = BroadcastPlan::explicit(3, (2, 3, 4), &[1])?;
    /// let mapping = plan.axis_sources().map(AxisSource::input_axis);
    /// assert!(mapping.eq([None, Some(0), None]));
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    #[must_use]
    pub fn input_axis(self) -> Option<usize> {
        match self {
            AxisSource::Kept(axis) | AxisSource::Stretched(axis) => Some(axis),
            AxisSource::Added => None,
        }
    }
}

/// For each axis of the output: the input axis that feeds it, or that it is replicated.
///
/// Every rule turns shapes and attributes into a plan. Views, copies, gradients and pictures follow
/// from the plan. `I` and `O` are the dimension types of input and output. A plan of static ranks,
/// or of ranks up to 4, allocates nothing.
///
/// | to | use |
/// |---|---|
/// | make a plan, by rule | [`numpy`](Self::numpy), [`bidirectional`](Self::bidirectional), [`explicit`](Self::explicit), [`with_broadcast_axes`](Self::with_broadcast_axes), [`in_dim_permuting`](Self::in_dim_permuting), [`prepend`](Self::prepend), [`expand`](Self::expand), [`pdpd`](Self::pdpd), [`with_mode`](Self::with_mode); for two arrays [`pair`](Self::pair); of a reduction [`over_axes`](Self::over_axes) |
/// | ask it | [`output_shape`](Self::output_shape), [`axis_sources`](Self::axis_sources), [`rule`](Self::rule); or print it |
/// | broadcast an array | [`view`](Self::view) |
/// | sum a gradient | [`gradient`](Self::gradient), [`gradient_into`](Self::gradient_into), [`gradient_accumulate`](Self::gradient_accumulate) |
/// | reduce in another way | [`reduce`](Self::reduce), [`reduce_into`](Self::reduce_into) |
/// | reduce a map in one pass | [`Zip::reduce`](crate::Zip::reduce) takes the plan |
/// | copy a slice to a slice | [`copy_slice`](Self::copy_slice) |
/// | chain and reorder | [`then`](Self::then), [`permuted`](Self::permuted), [`permuted_input`](Self::permuted_input), [`insert_axis`](Self::insert_axis), [`remove_axis`](Self::remove_axis), [`insert_input_axis`](Self::insert_input_axis), [`remove_input_axis`](Self::remove_input_axis) |
/// | cut it into pieces | the module [`distributed`](crate::distributed) takes the plan |
/// | axes by name | [`AxisPattern`](crate::named::AxisPattern) makes the plan |
/// | store it with plans of other ranks | [`into_dyn`](Self::into_dyn) |
///
/// A plan is always sound. Each input axis feeds one output axis, of the same size or stretched
/// from 1. (An input axis of size 1 may feed none: under `pdpd`, trailing 1s of B may overhang A,
/// and axes can be removed.)
/// The output has at most `isize::MAX` elements. With the feature `serde` a plan serialises.
/// Reading one that is not sound is an error.
///
/// ```
/// use ndarray_broadcast::{AxisSource, BroadcastPlan};
///
/// let plan = BroadcastPlan::numpy((3, 1), (2, 3, 4))?;
/// assert_eq!(plan.output_shape(), [2, 3, 4]);
/// let sources =
///     [AxisSource::Added, AxisSource::Kept(0), AxisSource::Stretched(1)];
/// assert!(plan.axis_sources().eq(sources));
/// assert_eq!(
///     plan.to_string(),
///     "\
/// [3, 1] -> [2, 3, 4] (numpy)
///   input       3  1
///   output   2  3  4
///            +     *
///   + added, * stretched from 1",
/// );
/// # Ok::<(), ndarray_broadcast::BroadcastError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
#[must_use = "a plan does nothing until it is applied to an array"]
pub struct BroadcastPlan<I = IxDyn, O = IxDyn> {
    rule: Rule,
    input: I,
    output: O,
    /// For each input axis: the output axis that it feeds, or the output's rank if it feeds none.
    output_axes: I,
}

/// The plan from an input of dimension `I` to a target of dimension `E`. [`BroadcastPlan::numpy`]
/// and most other constructors return it.
///
/// ```
/// use ndarray::{Ix1, Ix4};
/// use ndarray_broadcast::{BroadcastError, BroadcastPlan, PlanTo};
///
/// struct Bias {
///     plan: PlanTo<Ix1, Ix4>,
/// }
///
/// let bias = Bias { plan: BroadcastPlan::explicit(3, (2, 3, 4, 4), &[1])? };
/// assert_eq!(bias.plan.output_shape(), [2, 3, 4, 4]);
/// # Ok::<(), BroadcastError>(())
/// ```
pub type PlanTo<I, E> = BroadcastPlan<I, <I as DimMax<E>>::Output>;

/// The plans from `I` and `J` to their common dimension, as [`pair`](BroadcastPlan::pair) returns.
pub type PlanPair<I, J> = (PlanTo<I, J>, BroadcastPlan<J, <I as DimMax<J>>::Output>);

/// # Ask the plan
impl<I: Dimension, O: Dimension> BroadcastPlan<I, O> {
    /// The rule that made the plan.
    ///
    /// ```
    /// use ndarray_broadcast::{BroadcastPlan, Rule};
    ///
    /// assert_eq!(BroadcastPlan::explicit(3, (2, 3), &[1])?.rule(), Rule::Explicit);
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    #[must_use]
    pub fn rule(&self) -> Rule {
        self.rule
    }

    /// Shape of the input.
    ///
    /// ```
    /// use ndarray_broadcast::BroadcastPlan;
    ///
    /// let plan = BroadcastPlan::numpy((3, 1), (2, 3, 4))?;
    /// assert_eq!(plan.input_shape(), [3, 1]);
    /// assert_eq!(plan.output_shape(), [2, 3, 4]);
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    #[must_use]
    #[inline]
    pub fn input_shape(&self) -> &[usize] {
        self.input.sizes()
    }

    /// Shape of the output. Example: [`input_shape`](Self::input_shape).
    #[must_use]
    #[inline]
    pub fn output_shape(&self) -> &[usize] {
        self.output.sizes()
    }

    /// Shape of the input, as a dimension.
    ///
    /// ```
    /// use ndarray::{Array2, Array3};
    /// use ndarray_broadcast::BroadcastPlan;
    ///
    /// let plan = BroadcastPlan::numpy((3, 1), (2, 3, 4))?;
    /// let input = Array2::<f32>::zeros(plan.input_dim());
    /// let output = Array3::<f32>::zeros(plan.output_dim());
    /// assert_eq!((input.shape(), output.shape()), (&[3, 1][..], &[2, 3, 4][..]));
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    #[must_use]
    #[inline]
    pub fn input_dim(&self) -> I {
        self.input.clone()
    }

    /// Shape of the output, as a dimension. Example: [`input_dim`](Self::input_dim).
    #[must_use]
    #[inline]
    pub fn output_dim(&self) -> O {
        self.output.clone()
    }

    /// For each output axis, outermost first, which input axis feeds it. Example: [`AxisSource`].
    ///
    /// The gradient sums over the axes that are not [`Kept`](AxisSource::Kept). The plan is the
    /// identity if its shapes are equal and axis `i` of the output is `Kept(i)`.
    #[doc(alias = "broadcast_gradient_args")]
    pub fn axis_sources(
        &self,
    ) -> impl ExactSizeIterator<Item = AxisSource> + DoubleEndedIterator + Clone + '_ {
        let (input, output) = (self.input_shape(), self.output_shape());
        let fed_by = self.fed_by();
        (0..output.len()).map(move |axis| match fed_by[axis] {
            NONE => AxisSource::Added,
            from if input[from] == output[axis] => AxisSource::Kept(from),
            from => AxisSource::Stretched(from),
        })
    }

    /// For each output axis, the input axis that feeds it, or [`NONE`].
    #[inline(always)]
    fn fed_by(&self) -> O {
        let mut fed_by: O = by_axis(self.output.ndim(), |_| NONE);
        for (axis, &fed) in self.output_axes().iter().enumerate() {
            // An axis that feeds nothing is beyond the output.
            if let Some(place) = fed_by.sizes_mut().get_mut(fed) {
                *place = axis;
            }
        }
        fed_by
    }

    /// The same plan with dynamic ranks, for keeping plans of different ranks together.
    ///
    /// ```
    /// use ndarray_broadcast::BroadcastPlan;
    ///
    /// let plans: Vec<BroadcastPlan> = vec![
    ///     BroadcastPlan::numpy(3, (2, 3))?.into_dyn(),
    ///     BroadcastPlan::numpy((), 5)?.into_dyn(),
    /// ];
    /// assert_eq!(plans[1].output_shape(), [5]);
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    pub fn into_dyn(self) -> BroadcastPlan {
        BroadcastPlan {
            rule: self.rule,
            input: self.input.into_dyn(),
            output: self.output.into_dyn(),
            output_axes: self.output_axes.into_dyn(),
        }
    }
}

/// # For the rules and for views
impl<I: Dimension, O: Dimension> BroadcastPlan<I, O> {
    /// The plan in which input axis `i` feeds output axis `output_axis_of(i)`.
    ///
    /// Output axes that nothing feeds are added. An input axis of size 1 feeds nothing if its
    /// output axis does not exist. The caller ensures that no two input axes have the same output
    /// axis. The checks here make the plan safe to apply even if two have.
    ///
    /// # Errors
    ///
    /// `SizeMismatch` for an input axis that has neither size 1 nor the size of its output axis.
    /// `ShapeOverflow` for an output of more than `isize::MAX` elements.
    #[inline(always)]
    pub(crate) fn new(
        rule: Rule,
        input: I,
        output: O,
        output_axis_of: impl Fn(usize) -> usize,
    ) -> Result<Self> {
        let sizes = output.sizes();
        let output_axes: I = by_axis(input.ndim(), |axis| output_axis_of(axis).min(sizes.len()));
        // Errors take copies of the shapes and of the function. The shapes themselves, and with
        // them the plan, then stay in registers where ranks are static.
        let fed = input.sizes().iter().zip(output_axes.sizes());
        for (axis, (&size, &output_axis)) in fed.enumerate() {
            if size != 1 && sizes.get(output_axis) != Some(&size) {
                let (input, output) = (input.clone(), output.clone());
                let rank = input.ndim().min(output.ndim());
                let (axis, axis_of) = (output_axis_of(axis), output_axis_of);
                let why = Mismatch::sizes(Relation::Stretch, axis, rank, &axis_of);
                return Err(why.of_known(rule, input.sizes(), output.sizes()));
            }
        }
        if elements(sizes).is_none() {
            return Err(shape_overflow(output.clone().sizes(), None));
        }
        Ok(BroadcastPlan {
            rule,
            input,
            output,
            output_axes,
        })
    }

    /// For each input axis: the output axis that it feeds, or the output's rank if it feeds none.
    #[inline(always)]
    pub(crate) fn output_axes(&self) -> &[usize] {
        self.output_axes.sizes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Ix2;

    /// Views rely on it.
    #[test]
    fn plans_of_other_plans_are_checked() {
        let is_plan = |[rows, columns]: [usize; 2], output_axes: [usize; 2]| {
            let (input, output) = (Ix2(3, 1), Ix2(rows, columns));
            BroadcastPlan::new(Rule::Composed, input, output, |axis| output_axes[axis]).is_ok()
        };
        assert!(is_plan([3, 5], [0, 1]));
        assert!(is_plan([5, 3], [1, 2]));
        assert!(!is_plan([2, 5], [0, 1]), "another size");
        assert!(!is_plan([3, 5], [2, 1]), "an axis that feeds nothing");
        assert!(!is_plan([3, usize::MAX / 2], [0, 1]), "too many elements");
    }
}
