//! [`BroadcastPlan`]: the one answer that every rule gives.

use crate::error::{
    ArrayRole, BroadcastError, Refusal, boxed, refusal, shape_overflow, wrong_shape_error,
};
use crate::mode::{BroadcastMode, ElementwiseRule, Rule};
use crate::picture::{Picture, Place, list};
use crate::{rules, view};
use ndarray::{ArrayRef, ArrayView, DimAdd, DimMax, Dimension, IntoDimension, IxDyn};
use std::borrow::Borrow;
use std::fmt;

/// What one axis of the output is made of.
///
/// ```
/// use ndarray_broadcast::{AxisSource, BroadcastPlan};
///
/// let plan = BroadcastPlan::numpy((3, 1), (2, 3, 4))?;
/// assert!(plan.axes().eq([AxisSource::Added, AxisSource::Kept(0), AxisSource::Stretched(1)]));
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

/// For each axis of the output, which input axis feeds it, or that it is replicated.
///
/// Every rule makes one of these out of shapes and attributes, and everything else is done from it: [`view`](Self::view)
/// applies it to an array for nothing, and its picture says what it does. `I` and `O` are the dimension types of input
/// and output, static where the ranks are known to the compiler; a plan of static ranks, or of ranks up to 4, allocates
/// nothing.
///
/// | to | there is |
/// |---|---|
/// | make one, by rule | [`numpy`](Self::numpy), [`bidirectional`](Self::bidirectional), [`explicit`](Self::explicit), [`broadcast_axes`](Self::broadcast_axes), [`in_dim`](Self::in_dim), [`in_dim_permuting`](Self::in_dim_permuting), [`prepend`](Self::prepend), [`expand`](Self::expand), [`pdpd`](Self::pdpd), [`with_mode`](Self::with_mode); two at once: [`pair`](Self::pair) |
/// | ask it | [`output_shape`](Self::output_shape), [`axes`](Self::axes), [`mapping`](Self::mapping), [`replicated_axes`](Self::replicated_axes), [`is_identity`](Self::is_identity), [`rule`](Self::rule); or print it |
/// | broadcast an array | [`view`](Self::view), [`apply`](Self::apply) |
/// | go back | [`gradient`](Self::gradient), [`gradient_into`](Self::gradient_into), [`gradient_accumulate`](Self::gradient_accumulate) |
/// | keep it with others | [`into_dyn`](Self::into_dyn) |
///
/// A plan is always sound: each input axis feeds one output axis, of the same size or stretched from 1, and the output
/// has at most `isize::MAX` elements. (An input axis of size 1 may feed none: `pdpd` lets trailing 1s of B overhang A.)
/// With the feature `serde` it serialises, and one that is not sound is refused when it is read.
///
/// ```
/// use ndarray_broadcast::{AxisSource, BroadcastPlan};
///
/// let plan = BroadcastPlan::numpy((3, 1), (2, 3, 4))?;
/// assert_eq!(plan.output_shape(), [2, 3, 4]);
/// assert!(plan.axes().eq([AxisSource::Added, AxisSource::Kept(0), AxisSource::Stretched(1)]));
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
    /// For each input axis the output axis that it feeds, or the output's rank if it feeds none.
    feeds: I,
}

/// The plan from an input of dimension `I` to a target of dimension `E`: what [`BroadcastPlan::numpy`] and its like give.
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

/// Two plans from `I` and `J` to their common dimension: what [`pair`](BroadcastPlan::pair) gives.
pub type PlanPair<I, J> = (PlanTo<I, J>, BroadcastPlan<J, <I as DimMax<J>>::Output>);

/// # From one shape to a target
///
/// Input and target are whatever ndarray takes as a shape: tuples, arrays, slices, `Vec`, `IxDyn`. Each of these is
/// documented, with its errors and source, at the method of the same name of [`BroadcastExt`](crate::BroadcastExt).
impl<I: Dimension> BroadcastPlan<I, I> {
    /// [`broadcast_numpy`](crate::BroadcastExt::broadcast_numpy) on shapes alone.
    ///
    /// # Errors
    ///
    /// Those of the rule.
    #[inline]
    pub fn numpy<D, E>(input: D, target: E) -> Result<PlanTo<I, E::Dim>, BroadcastError>
    where
        D: IntoDimension<Dim = I>,
        E: IntoDimension,
        I: DimMax<E::Dim>,
    {
        Ok(rules::numpy::plan(
            input.into_dimension(),
            target.into_dimension(),
        )?)
    }

    /// [`broadcast_bidirectional`](crate::BroadcastExt::broadcast_bidirectional) on shapes alone.
    ///
    /// # Errors
    ///
    /// Those of the rule.
    #[inline]
    pub fn bidirectional<D, E>(input: D, target: E) -> Result<PlanTo<I, E::Dim>, BroadcastError>
    where
        D: IntoDimension<Dim = I>,
        E: IntoDimension,
        I: DimMax<E::Dim>,
    {
        Ok(rules::bidirectional::plan(
            input.into_dimension(),
            target.into_dimension(),
        )?)
    }

    /// [`broadcast_explicit`](crate::BroadcastExt::broadcast_explicit) on shapes alone.
    ///
    /// # Errors
    ///
    /// Those of the rule.
    #[inline]
    pub fn explicit<D, E>(
        input: D,
        target: E,
        axes_mapping: &[usize],
    ) -> Result<PlanTo<I, E::Dim>, BroadcastError>
    where
        D: IntoDimension<Dim = I>,
        E: IntoDimension,
        I: DimMax<E::Dim>,
    {
        Ok(rules::explicit::plan(
            input.into_dimension(),
            target.into_dimension(),
            axes_mapping,
        )?)
    }

    /// [`broadcast_axes`](crate::BroadcastExt::broadcast_axes) on shapes alone.
    ///
    /// # Errors
    ///
    /// Those of the rule.
    #[inline]
    pub fn broadcast_axes<D, E>(
        input: D,
        target: E,
        broadcast_axes: &[usize],
    ) -> Result<PlanTo<I, E::Dim>, BroadcastError>
    where
        D: IntoDimension<Dim = I>,
        E: IntoDimension,
        I: DimMax<E::Dim>,
    {
        Ok(rules::broadcast_axes::plan(
            input.into_dimension(),
            target.into_dimension(),
            broadcast_axes,
        )?)
    }

    /// [`broadcast_in_dim`](crate::BroadcastExt::broadcast_in_dim) on shapes alone.
    ///
    /// # Errors
    ///
    /// Those of the rule.
    #[inline]
    pub fn in_dim<D, E>(
        input: D,
        target: E,
        broadcast_dimensions: &[usize],
    ) -> Result<PlanTo<I, E::Dim>, BroadcastError>
    where
        D: IntoDimension<Dim = I>,
        E: IntoDimension,
        I: DimMax<E::Dim>,
    {
        Ok(rules::in_dim::strict(
            input.into_dimension(),
            target.into_dimension(),
            broadcast_dimensions,
        )?)
    }

    /// [`broadcast_in_dim_permuting`](crate::BroadcastExt::broadcast_in_dim_permuting) on shapes alone.
    ///
    /// # Errors
    ///
    /// Those of the rule.
    #[inline]
    pub fn in_dim_permuting<D, E>(
        input: D,
        target: E,
        broadcast_dimensions: &[usize],
    ) -> Result<PlanTo<I, E::Dim>, BroadcastError>
    where
        D: IntoDimension<Dim = I>,
        E: IntoDimension,
        I: DimMax<E::Dim>,
    {
        Ok(rules::in_dim::permuting(
            input.into_dimension(),
            target.into_dimension(),
            broadcast_dimensions,
        )?)
    }

    /// [`broadcast_prepend`](crate::BroadcastExt::broadcast_prepend) on shapes alone.
    ///
    /// # Errors
    ///
    /// Those of the rule.
    #[inline]
    pub fn prepend<D, E>(
        input: D,
        sizes: E,
    ) -> Result<BroadcastPlan<I, <E::Dim as DimAdd<I>>::Output>, BroadcastError>
    where
        D: IntoDimension<Dim = I>,
        E: IntoDimension,
        E::Dim: DimAdd<I>,
    {
        Ok(rules::prepend::plan(
            input.into_dimension(),
            sizes.into_dimension(),
        )?)
    }

    /// [`broadcast_expand`](crate::BroadcastExt::broadcast_expand) on shapes alone.
    ///
    /// # Errors
    ///
    /// Those of the rule.
    #[inline]
    pub fn expand<D, E>(input: D, size: E) -> Result<PlanTo<I, E::Dim>, BroadcastError>
    where
        D: IntoDimension<Dim = I>,
        E: IntoDimension,
        I: DimMax<E::Dim>,
    {
        Ok(rules::expand::plan(
            input.into_dimension(),
            size.into_dimension(),
        )?)
    }

    /// [`broadcast_pdpd`](crate::BroadcastExt::broadcast_pdpd) on shapes alone: B, then the shape of A.
    ///
    /// # Errors
    ///
    /// Those of the rule.
    #[inline]
    pub fn pdpd<D, E>(input: D, target: E, axis: isize) -> Result<PlanTo<I, E::Dim>, BroadcastError>
    where
        D: IntoDimension<Dim = I>,
        E: IntoDimension,
        I: DimMax<E::Dim>,
    {
        Ok(rules::pdpd::plan(
            input.into_dimension(),
            target.into_dimension(),
            axis,
        )?)
    }

    /// [`broadcast_to_mode`](crate::BroadcastExt::broadcast_to_mode) on shapes alone.
    ///
    /// # Errors
    ///
    /// Those of the mode's rule.
    #[inline]
    pub fn with_mode<D, E>(
        input: D,
        target: E,
        mode: impl Borrow<BroadcastMode>,
    ) -> Result<PlanTo<I, E::Dim>, BroadcastError>
    where
        D: IntoDimension<Dim = I>,
        E: IntoDimension,
        I: DimMax<E::Dim>,
    {
        Ok(rules::by_mode(
            input.into_dimension(),
            target.into_dimension(),
            mode.borrow(),
        )?)
    }

    /// The plans that take two shapes to their common shape under an elementwise rule.
    ///
    /// # Errors
    ///
    /// Those of the rule; see [`broadcast_pair`](crate::broadcast_pair).
    ///
    /// ```
    /// use ndarray_broadcast::{BroadcastPlan, ElementwiseRule};
    ///
    /// let xla = ElementwiseRule::Xla { broadcast_dimensions: vec![0] };
    /// let (a, b) = BroadcastPlan::pair(4, (1, 2), xla)?;
    /// assert_eq!(a.output_shape(), [4, 2]);
    /// assert_eq!(b.output_shape(), [4, 2]);
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    #[inline]
    pub fn pair<D, E>(
        a: D,
        b: E,
        rule: impl Borrow<ElementwiseRule>,
    ) -> Result<PlanPair<I, E::Dim>, BroadcastError>
    where
        D: IntoDimension<Dim = I>,
        E: IntoDimension,
        I: DimMax<E::Dim>,
    {
        Ok(rules::pair(
            a.into_dimension(),
            b.into_dimension(),
            rule.borrow(),
        )?)
    }
}

/// # What a plan says
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
    pub fn input_shape(&self) -> &[usize] {
        self.input.slice()
    }

    /// Shape of the output. Beside that of the input: [`input_shape`](Self::input_shape).
    #[must_use]
    pub fn output_shape(&self) -> &[usize] {
        self.output.slice()
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
    pub fn input_dim(&self) -> I {
        self.input.clone()
    }

    /// Shape of the output, as a dimension. Beside that of the input: [`input_dim`](Self::input_dim).
    #[must_use]
    pub fn output_dim(&self) -> O {
        self.output.clone()
    }

    /// What each output axis is made of, outermost first. All that there is: [`AxisSource`].
    pub fn axes(
        &self,
    ) -> impl ExactSizeIterator<Item = AxisSource> + DoubleEndedIterator + Clone + '_ {
        let output = self.output.slice();
        self.mapping()
            .zip(output)
            .map(|(source, &size)| match source {
                None => AxisSource::Added,
                Some(axis) if self.input.slice()[axis] == size => AxisSource::Kept(axis),
                Some(axis) => AxisSource::Stretched(axis),
            })
    }

    /// For each output axis, the input axis that feeds it; `None` for an added axis.
    ///
    /// ```
    /// use ndarray_broadcast::BroadcastPlan;
    ///
    /// let plan = BroadcastPlan::explicit(3, (2, 3, 4), &[1])?;
    /// assert!(plan.mapping().eq([None, Some(0), None]));
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    pub fn mapping(
        &self,
    ) -> impl ExactSizeIterator<Item = Option<usize>> + DoubleEndedIterator + Clone + '_ {
        let fed_by = |axis| self.feeds.slice().iter().position(|&fed| fed == axis);
        (0..self.output.ndim()).map(fed_by)
    }

    /// The output axes that no input axis feeds. Beside the others: [`replicated_axes`](Self::replicated_axes).
    pub fn added_axes(&self) -> impl Iterator<Item = usize> + Clone + '_ {
        self.axes()
            .enumerate()
            .filter(|(_, source)| *source == AxisSource::Added)
            .map(|(axis, _)| axis)
    }

    /// The output axes that are stretched from an input axis of size 1. Beside the others:
    /// [`replicated_axes`](Self::replicated_axes).
    pub fn stretched_axes(&self) -> impl Iterator<Item = usize> + Clone + '_ {
        self.axes()
            .enumerate()
            .filter(|(_, source)| matches!(source, AxisSource::Stretched(_)))
            .map(|(axis, _)| axis)
    }

    /// The output axes along which elements are replicated: the added and the stretched ones. These are the axes that
    /// the gradient sums over.
    ///
    /// ```
    /// use ndarray_broadcast::BroadcastPlan;
    ///
    /// let plan = BroadcastPlan::numpy((3, 1), (2, 3, 4))?;
    /// assert!(plan.replicated_axes().eq([0, 2]));
    /// assert!(plan.added_axes().eq([0]));
    /// assert!(plan.stretched_axes().eq([2]));
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    pub fn replicated_axes(&self) -> impl Iterator<Item = usize> + Clone + '_ {
        self.axes()
            .enumerate()
            .filter(|(_, source)| !matches!(source, AxisSource::Kept(_)))
            .map(|(axis, _)| axis)
    }

    /// Whether input and output are the same, axis by axis.
    ///
    /// ```
    /// use ndarray_broadcast::BroadcastPlan;
    ///
    /// assert!(BroadcastPlan::numpy((2, 3), (2, 3))?.is_identity());
    /// assert!(!BroadcastPlan::numpy((2, 3), (1, 2, 3))?.is_identity());
    /// assert!(!BroadcastPlan::in_dim_permuting((2, 2), (2, 2), &[1, 0])?.is_identity());
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    #[must_use]
    pub fn is_identity(&self) -> bool {
        self.input.ndim() == self.output.ndim()
            && self
                .axes()
                .enumerate()
                .all(|(axis, source)| source == AxisSource::Kept(axis))
    }

    /// Applies the plan to an array: a view of the output shape, with stride 0 on every replicated axis. O(rank).
    ///
    /// # Errors
    ///
    /// [`WrongShape`](BroadcastError::WrongShape) if the array has not the plan's input shape.
    ///
    /// ```
    /// use ndarray::{Array, array};
    /// use ndarray_broadcast::BroadcastPlan;
    ///
    /// let plan = BroadcastPlan::explicit(2, (2, 3), &[0])?;
    /// assert_eq!(plan.view(&array![1, 2])?, array![[1, 1, 1], [2, 2, 2]]);
    /// assert!(plan.view(&array![1, 2, 3]).is_err());
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    pub fn view<'a, A>(
        &self,
        array: &'a ArrayRef<A, I>,
    ) -> Result<ArrayView<'a, A, O>, BroadcastError> {
        self.apply(array.view())
    }

    /// [`view`](Self::view) of a view taken by value, which gives its lifetime back.
    ///
    /// # Errors
    ///
    /// [`WrongShape`](BroadcastError::WrongShape) if the view has not the plan's input shape.
    #[inline]
    pub fn apply<'a, A>(
        &self,
        array: ArrayView<'a, A, I>,
    ) -> Result<ArrayView<'a, A, O>, BroadcastError> {
        self.check_input(array.shape())?;
        Ok(view::replicate(array, self.output.clone(), &self.feeds))
    }

    /// The same plan with dynamic ranks, for keeping plans of different ranks together.
    ///
    /// ```
    /// use ndarray_broadcast::BroadcastPlan;
    ///
    /// let plans: Vec<BroadcastPlan> =
    ///     vec![BroadcastPlan::numpy(3, (2, 3))?.into_dyn(), BroadcastPlan::numpy((), 5)?.into_dyn()];
    /// assert_eq!(plans[1].output_shape(), [5]);
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    pub fn into_dyn(self) -> BroadcastPlan {
        let dynamic = |dims: &[usize]| IxDyn(dims);
        BroadcastPlan {
            rule: self.rule,
            input: dynamic(self.input.slice()),
            output: dynamic(self.output.slice()),
            feeds: dynamic(self.feeds.slice()),
        }
    }
}

/// What the rules build a plan with.
impl<I: Dimension, O: Dimension> BroadcastPlan<I, O> {
    /// The plan in which input axis `i` feeds output axis `column(i)`, if its size is equal or 1. Output axes that nothing
    /// feeds are added; an input axis of size 1 whose column lies past the output's end feeds none.
    ///
    /// Whatever `column` says, the plan is sound. That no two input axes have the same column is for the rule to see to,
    /// and that the output's rank fits `O`.
    #[inline(always)]
    pub(crate) fn new(
        rule: Rule,
        input: I,
        output: &[usize],
        column: impl Fn(usize) -> usize,
    ) -> Result<Self, Refusal> {
        // Errors get copies of the shapes: the shapes themselves then stay in registers, where ranks are static, as
        // nobody takes their address, and so does the plan.
        for (axis, &size) in input.slice().iter().enumerate() {
            if size != 1 && output.get(column(axis)) != Some(&size) {
                let (input, output) = (input.clone(), dimension::<O>(output));
                return Err(size_mismatch(
                    rule,
                    input.slice(),
                    output.slice(),
                    axis,
                    column,
                ));
            }
        }
        if elements(output).is_none() {
            return Err(shape_overflow(dimension::<O>(output).slice()).into());
        }
        let mut feeds = I::zeros(input.ndim());
        for (axis, fed) in feeds.slice_mut().iter_mut().enumerate() {
            *fed = column(axis).min(output.len());
        }
        Ok(BroadcastPlan {
            rule,
            input,
            output: dimension(output),
            feeds,
        })
    }

    /// [`apply`](Self::apply) for a plan that is not needed again.
    #[inline(always)]
    pub(crate) fn onto<'a, A>(
        self,
        array: ArrayView<'a, A, I>,
    ) -> Result<ArrayView<'a, A, O>, Refusal> {
        self.check_input(array.shape())?;
        Ok(view::replicate(array, self.output, &self.feeds))
    }

    #[inline(always)]
    fn check_input(&self, shape: &[usize]) -> Result<(), Refusal> {
        let input = self.input.slice();
        if !shape.iter().eq(input) {
            return Err(wrong_shape_error(ArrayRole::Input, input, shape).into());
        }
        Ok(())
    }
}

/// A dimension of these sizes, whose rank must fit `D`.
#[inline]
fn dimension<D: Dimension>(sizes: &[usize]) -> D {
    let mut dimension = D::zeros(sizes.len());
    dimension.slice_mut().copy_from_slice(sizes);
    dimension
}

/// The error for an input axis whose size does not fit; `column` says where each input axis stands.
#[cold]
pub(crate) fn size_mismatch(
    rule: Rule,
    input: &[usize],
    target: &[usize],
    input_axis: usize,
    column: impl Fn(usize) -> usize,
) -> Refusal {
    refusal(|| {
        let mut mapping = boxed(input)?;
        mapping
            .iter_mut()
            .enumerate()
            .for_each(|(axis, entry)| *entry = column(axis));
        Ok(BroadcastError::SizeMismatch {
            rule,
            input: boxed(input)?,
            target: boxed(target)?,
            mapping,
            input_axis,
        })
    })
}

/// The error for an input with more axes than the target.
#[cold]
pub(crate) fn rank_too_large(rule: Rule, input: &[usize], target: &[usize]) -> Refusal {
    refusal(|| {
        Ok(BroadcastError::RankTooLarge {
            rule,
            input: boxed(input)?,
            target: boxed(target)?,
        })
    })
}

/// How many elements a shape has; `None` if its sizes, zeros left out, multiply to more than `isize::MAX`.
///
/// Zeros are left out because ndarray wants it so of every shape: offsets are computed axis by axis.
#[inline]
pub(crate) fn elements(shape: &[usize]) -> Option<usize> {
    let mut product = 1_usize;
    let mut empty = false;
    for &size in shape {
        if size == 0 {
            empty = true;
        } else {
            product = product.checked_mul(size)?;
        }
    }
    match isize::try_from(product) {
        Ok(_) => Some(if empty { 0 } else { product }),
        Err(_) => None,
    }
}

impl<I: Dimension, O: Dimension> fmt::Display for BroadcastPlan<I, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (input, output) = (self.input.slice(), self.output.slice());
        write!(f, "{} -> {} ({})", list(input), list(output), self.rule)?;
        if output.is_empty() {
            return Ok(());
        }
        let picture = Picture::new(
            output.len(),
            ("input", input, Place::Mapped(self.feeds.slice())),
            ("output", output, Place::From(0)),
        );
        picture.rows(f, 0)?;
        if self.replicated_axes().next().is_none() {
            return Ok(());
        }
        picture.marks(f, |column| match self.axes().nth(column) {
            Some(AxisSource::Added) => "+",
            Some(AxisSource::Stretched(_)) => "*",
            _ => "",
        })?;
        let (added, stretched) = (
            self.added_axes().next().is_some(),
            self.stretched_axes().next().is_some(),
        );
        f.write_str(match (added, stretched) {
            (true, true) => "\n  + added, * stretched from 1",
            (true, false) => "\n  + added",
            _ => "\n  * stretched from 1",
        })
    }
}

impl<I: Dimension, O: Dimension> fmt::Debug for BroadcastPlan<I, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BroadcastPlan")
            .field("rule", &self.rule)
            .field("input", &self.input.slice())
            .field("output", &self.output.slice())
            .field("axes", &self.axes().collect::<Vec<_>>())
            .finish()
    }
}

#[cfg(feature = "serde")]
mod serde_form {
    use super::*;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// What is written: the output axes as the input axis that feeds them, or null.
    #[derive(Serialize, Deserialize)]
    #[serde(rename = "BroadcastPlan", deny_unknown_fields)]
    struct Form {
        rule: Rule,
        input: Vec<usize>,
        output: Vec<usize>,
        mapping: Vec<Option<usize>>,
    }

    impl<I: Dimension, O: Dimension> Serialize for BroadcastPlan<I, O> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            Form {
                rule: self.rule,
                input: self.input.slice().to_vec(),
                output: self.output.slice().to_vec(),
                mapping: self.mapping().collect(),
            }
            .serialize(serializer)
        }
    }

    /// Whatever is read is checked: a plan that is not sound is refused.
    impl<'de, I: Dimension, O: Dimension> Deserialize<'de> for BroadcastPlan<I, O> {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let form = Form::deserialize(deserializer)?;
            let input = checked_dimension::<I, D::Error>("input", &form.input)?;
            checked_dimension::<O, D::Error>("output", &form.output)?;
            elements(&form.input)
                .ok_or_else(|| D::Error::custom("the input has more than isize::MAX elements"))?;
            if form.mapping.len() != form.output.len() {
                return Err(D::Error::custom(
                    "the mapping must have one entry for each output axis",
                ));
            }
            let mut columns: Vec<Option<usize>> = vec![None; form.input.len()];
            for (output_axis, source) in form.mapping.iter().enumerate() {
                let Some(input_axis) = *source else { continue };
                match columns.get_mut(input_axis) {
                    None => {
                        return Err(D::Error::custom(
                            "the mapping names an axis that the input does not have",
                        ));
                    }
                    Some(Some(_)) => {
                        return Err(D::Error::custom("the mapping names an input axis twice"));
                    }
                    Some(column) => *column = Some(output_axis),
                }
            }
            for (column, &size) in columns.iter().zip(&form.input) {
                match *column {
                    _ if size == 1 => {}
                    None => {
                        return Err(D::Error::custom(
                            "an input axis of another size than 1 feeds no output axis",
                        ));
                    }
                    Some(column) if form.output[column] != size => {
                        return Err(D::Error::custom(
                            "an input axis feeds an output axis of another size",
                        ));
                    }
                    Some(_) => {}
                }
            }
            let none = form.output.len();
            BroadcastPlan::new(form.rule, input, &form.output, |axis| {
                columns[axis].unwrap_or(none)
            })
            .map_err(|refusal| D::Error::custom(BroadcastError::from(refusal)))
        }
    }

    fn checked_dimension<T: Dimension, E: Error>(what: &str, shape: &[usize]) -> Result<T, E> {
        match T::NDIM {
            Some(rank) if rank != shape.len() => Err(E::custom(format_args!(
                "the {what} has rank {}, expected {rank}",
                shape.len()
            ))),
            _ => Ok(dimension(shape)),
        }
    }
}
