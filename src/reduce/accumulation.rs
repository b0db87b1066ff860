//! Accumulations as values: nodes of the tree, which merge with their neighbours.

use super::reduction::Reduction;
use crate::engine::fold::BLOCK_TERMS;
use crate::engine::memory::array_of;
use crate::error::{BroadcastError, PartsFault, parts_mismatch, reserved};
use crate::plan::BroadcastPlan;
use ndarray::{Array, Dimension};
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::mem::swap;
use std::ops::Range;

/// The state of a reduction of which some blocks are reduced.
///
/// It holds the nodes of the [documented tree](crate::reduction#the-order-of-summation) that
/// these blocks form.
///
/// A [`Part`](crate::distributed::Part) returns it. Two merge if they belong to the same plan and
/// have no term in common. They need not be neighbours: a node without its sibling is kept until
/// the sibling is merged. When all parts are merged, [`finish`](Self::finish) gives the result of
/// [`reduce`](BroadcastPlan::reduce) or [`Zip::reduce`](crate::Zip::reduce) on the whole arrays,
/// bit for bit, for any parts and any order of merging.
///
/// It is small: for each element of the gradient at most two accumulators for each level of the
/// tree while blocks that follow each other are there, and one when all are. It can be sent: as
/// [bytes](Self::to_bytes). With the feature `serde`, it serialises as these bytes. It deserialises
/// if the reduction has a `Default`, which a [`Fold`](crate::reduction::Fold) does not have.
///
/// ```
/// use ndarray::Array2;
/// use ndarray_broadcast::BroadcastPlan;
/// use ndarray_broadcast::distributed::{Accumulation, Part, Tile};
/// use ndarray_broadcast::reduction::Sum;
///
/// let dy = Array2::from_shape_fn((4096, 3), |(i, j)| {
///     (i as f32 + 0.1) / (j as f32 + 0.3)
/// });
/// let plan = BroadcastPlan::numpy(3, (4096, 3))?;
///
/// // On each worker, whatever it takes: rows, columns, or both.
/// let mut sent = Vec::new();
/// for (rows, columns) in [(0..1024, 0..3), (1024..4096, 2..3), (1024..4096, 0..2)]
/// {
///     let part = Part::new(&plan, &Tile::new(&plan, &[rows, columns])?)?;
///     sent.push(part.reduce(&part.tile().output().of(&dy)?, Sum)?.to_bytes());
/// }
///
/// // Where the results arrive, in any order.
/// let mut sum = Accumulation::<f32, Sum>::new(&plan, Sum);
/// for bytes in sent.iter().rev() {
///     sum.merge(Accumulation::from_bytes(bytes, Sum)?)?;
/// }
/// assert!(sum.is_complete());
/// assert_eq!(sum.finish(&plan)?, plan.gradient(&dy)?);
/// # Ok::<(), ndarray_broadcast::BroadcastError>(())
/// ```
#[must_use = "an accumulation is merged with others, and finished"]
pub struct Accumulation<T, R: Reduction<T>> {
    pub(super) reduction: R,
    /// Its rule does not matter.
    pub(super) plan: BroadcastPlan,
    pub(super) pieces: Pieces<R::Acc>,
    term: PhantomData<fn(T)>,
}

/// How many blocks the terms of each element of the gradient have, in the
/// [documented tree](crate::reduction#the-order-of-summation): one for each 1024 terms begun.
///
/// ```
/// use ndarray_broadcast::BroadcastPlan;
/// use ndarray_broadcast::distributed::sum_blocks;
///
/// // [N, C, H, W] is summed to [C].
/// let plan = BroadcastPlan::explicit(3, (10, 3, 16, 16), &[1])?;
/// assert_eq!(sum_blocks(&plan), (10_usize * 16 * 16).div_ceil(1024));
/// # Ok::<(), ndarray_broadcast::BroadcastError>(())
/// ```
#[must_use]
pub fn sum_blocks<I: Dimension, O: Dimension>(plan: &BroadcastPlan<I, O>) -> usize {
    plan.sum_terms().div_ceil(BLOCK_TERMS)
}

/// Pieces by their first element. No two have an element in common.
pub(super) type Pieces<A> = BTreeMap<usize, Piece<A>>;

/// The same nodes, one at least, for each of some elements of the gradient that follow each other
/// in row-major order. A node of the tree is given by its blocks: `2^n` of them, or fewer at the
/// end.
#[derive(Debug, Clone)]
pub(super) struct Piece<A> {
    /// By their first block and their end. No two have a block in common, and no two are the halves
    /// of another node.
    pub(super) nodes: BTreeMap<(usize, usize), Vec<A>>,
}

/// The other half of the node's parent; `None` for the root. The tree has `all` blocks.
pub(super) fn sibling(node: &Range<usize>, all: usize) -> Option<Range<usize>> {
    let before = |size| Some(node.start - size..node.start);
    match node.len() {
        _ if *node == (0..all) => None,
        // At the end, some nodes have no right sibling, and the same blocks as their parent. The
        // largest of them has a left sibling.
        _ if node.end == all => before(1 << node.start.trailing_zeros()),
        size if node.start & size != 0 => before(size),
        size => Some(node.end..all.min(node.end + size)),
    }
}

/// The largest nodes that together are these blocks. The tree has `all` blocks.
pub(super) fn nodes_of(blocks: Range<usize>, all: usize) -> impl Iterator<Item = Range<usize>> {
    let Range { mut start, end } = blocks;
    std::iter::from_fn(move || {
        if start >= end {
            return None;
        }
        let mut node = start..start + 1;
        let fits = |half: &Range<usize>| half.start > start && half.end <= end;
        while let Some(half) = sibling(&node, all).filter(fits) {
            node.end = half.end;
        }
        start = node.end;
        Some(node)
    })
}

/// The terms of these blocks. There are `total` terms in all.
pub(super) fn terms_of(blocks: Range<usize>, total: usize) -> Range<usize> {
    blocks.start * BLOCK_TERMS..total.min(blocks.end * BLOCK_TERMS)
}

impl<A: Copy> Piece<A> {
    pub(super) fn of_no_nodes() -> Self {
        let nodes = BTreeMap::new();
        Piece { nodes }
    }

    /// How many elements it has.
    pub(super) fn len(&self) -> usize {
        self.nodes.values().next().map_or(0, Vec::len)
    }

    /// Adds a node that has no block in common with the others. Combines it with its sibling as
    /// long as the sibling is there. There are `all` blocks.
    pub(super) fn insert(
        &mut self,
        mut node: Range<usize>,
        mut values: Vec<A>,
        all: usize,
        combine: &impl Fn(A, A) -> A,
    ) {
        while let Some(sibling) = sibling(&node, all) {
            let Some(mut right) = self.nodes.remove(&(sibling.start, sibling.end)) else {
                break;
            };
            match sibling.start < node.start {
                true => {
                    swap(&mut values, &mut right);
                    node.start = sibling.start;
                }
                false => node.end = sibling.end,
            }
            for (a, &b) in values.iter_mut().zip(&right) {
                *a = combine(*a, b);
            }
        }
        self.nodes.insert((node.start, node.end), values);
    }

    /// Blocks that a node has in common with those that are there.
    pub(super) fn common_blocks(&self, node: &Range<usize>) -> Option<Range<usize>> {
        let (&(start, end), _) = self.nodes.range(..(node.end, 0)).next_back()?;
        let both = start.max(node.start)..end.min(node.end);
        (!both.is_empty()).then_some(both)
    }

    /// The first of `all` blocks that are missing.
    fn missing(&self, all: usize) -> Option<Range<usize>> {
        let mut end = 0;
        for &(start, next) in self.nodes.keys() {
            if start > end {
                return Some(end..start);
            }
            end = next;
        }
        (end < all).then_some(end..all)
    }

    /// The same nodes for some of the elements.
    ///
    /// # Errors
    ///
    /// `AllocationFailed`.
    pub(super) fn of_elements(&self, elements: Range<usize>) -> Result<Self, BroadcastError> {
        let copies = self.nodes.iter().map(|(&node, values)| {
            let mut copy = reserved(elements.len())?;
            copy.extend_from_slice(&values[elements.clone()]);
            Ok((node, copy))
        });
        let nodes = copies.collect::<Result<_, _>>()?;
        Ok(Piece { nodes })
    }
}

/// Cuts the pieces that have elements on both sides of one of these places, which are in order.
///
/// # Errors
///
/// `AllocationFailed`. The pieces have the same nodes then, too.
fn cut<A: Copy>(pieces: &mut Pieces<A>, places: &[usize]) -> Result<(), BroadcastError> {
    // From the last one on, as all elements after the cut are copied.
    for &place in places.iter().rev() {
        let Some((&start, piece)) = pieces.range_mut(..place).next_back() else {
            continue;
        };
        let (count, len) = (place - start, piece.len());
        if count < len {
            let rest = piece.of_elements(count..len)?;
            for values in piece.nodes.values_mut() {
                values.truncate(count);
            }
            pieces.insert(place, rest);
        }
    }
    Ok(())
}

impl<T, R: Reduction<T>> Accumulation<T, R> {
    /// The reduction of no terms yet. Example: [`Accumulation`].
    pub fn new<I: Dimension, O: Dimension>(plan: &BroadcastPlan<I, O>, reduction: R) -> Self {
        Self::of(plan, reduction, Pieces::new())
    }

    /// The reduction of the terms that these pieces have.
    pub(super) fn of<I: Dimension, O: Dimension>(
        plan: &BroadcastPlan<I, O>,
        reduction: R,
        pieces: Pieces<R::Acc>,
    ) -> Self {
        Accumulation {
            reduction,
            plan: plan.clone().into_dyn(),
            pieces,
            term: PhantomData,
        }
    }

    /// Adds the terms of another part. Elements of the result that follow each other in row-major
    /// order and have the same parts are kept together.
    ///
    /// # Errors
    ///
    /// [`PartsMismatch`](crate::ErrorKind::PartsMismatch) if the other belongs to a plan of other
    /// shapes or axes, or if both have the same term;
    /// [`AllocationFailed`](crate::ErrorKind::AllocationFailed). On an error, `self` has the terms
    /// that it had.
    ///
    /// # Panics
    ///
    /// Only if the reduction's own operation does, as sums of integers where overflow checks are
    /// on. Some terms may be lost then.
    ///
    /// ```
    /// use ndarray::{Array1, arr1};
    /// use ndarray_broadcast::BroadcastPlan;
    /// use ndarray_broadcast::distributed::Part;
    /// use ndarray_broadcast::reduction::Sum;
    ///
    /// let dy = Array1::from_elem(3000, 1.);
    /// let plan = BroadcastPlan::numpy(1, 3000)?;
    /// let sum_of = |blocks| {
    ///     let part = Part::of_blocks(&plan, &[0..1], blocks)?;
    ///     part.reduce(&part.tile().output().of(&dy)?, Sum)
    /// };
    /// let mut sum = sum_of(1..3)?;
    /// assert_eq!(
    ///     sum.merge(sum_of(0..2)?).unwrap_err().to_string(),
    ///     "two parts have the terms 1024..2048 of the element [0] of the result",
    /// );
    /// assert_eq!(
    ///     sum.finish(&plan).unwrap_err().to_string(),
    ///     "the terms 0..1024 of the element [0] of the result are missing",
    /// );
    /// sum.merge(sum_of(0..1)?)?;
    /// assert_eq!(sum.finish(&plan)?, arr1(&[3000.]));
    /// # Ok::<(), ndarray_broadcast::BroadcastError>(())
    /// ```
    pub fn merge(&mut self, other: Self) -> Result<(), BroadcastError> {
        self.check_plan(&other.plan)?;
        let (all, total) = (sum_blocks(&self.plan), self.plan.sum_terms());
        // Where pieces of either begin and end inside those of the other.
        let (mut ours_at, mut theirs_at) = (Vec::new(), Vec::new());
        for (&first, theirs) in &other.pieces {
            let end = first + theirs.len();
            theirs_at.extend([first, end]);
            // From the last one on: before the first that ends too early, all do.
            let before_end = self.pieces.range(..end).rev();
            for (&at, ours) in before_end.take_while(|(at, ours)| *at + ours.len() > first) {
                ours_at.extend([at, at + ours.len()]);
                let mut nodes = theirs.nodes.keys();
                if let Some(blocks) = nodes.find_map(|&(at, end)| ours.common_blocks(&(at..end))) {
                    let (index, terms) = (self.index(at.max(first)), terms_of(blocks, total));
                    return Err(parts_mismatch(PartsFault::Overlap { index, terms }));
                }
            }
        }
        ours_at.sort_unstable();
        let mut pieces = other.pieces;
        cut(&mut self.pieces, &theirs_at)?;
        cut(&mut pieces, &ours_at)?;
        let combine = |a, b| self.reduction.combine(a, b);
        for (first, piece) in pieces {
            let ours = self.pieces.entry(first).or_insert_with(Piece::of_no_nodes);
            for ((start, end), values) in piece.nodes {
                ours.insert(start..end, values, all, &combine);
            }
        }
        Ok(())
    }

    /// Whether all terms of all elements are there: then [`finish`](Self::finish) does not return
    /// [`PartsMismatch`](crate::ErrorKind::PartsMismatch). Example: [`Accumulation`].
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.first_missing().is_none()
    }

    /// The result of the whole, of the input's shape and rank, in standard layout.
    ///
    /// # Errors
    ///
    /// [`PartsMismatch`](crate::ErrorKind::PartsMismatch), with the first terms that are missing,
    /// or if the plan has other shapes or axes;
    /// [`TooFewTerms`](crate::ErrorKind::TooFewTerms) if the reduction has no result for so few;
    /// [`ShapeOverflow`](crate::ErrorKind::ShapeOverflow),
    /// [`AllocationFailed`](crate::ErrorKind::AllocationFailed). Example: [`merge`](Self::merge).
    ///
    /// # Panics
    ///
    /// Only if the reduction's own operations do.
    pub fn finish<I: Dimension, O: Dimension>(
        &self,
        plan: &BroadcastPlan<I, O>,
    ) -> Result<Array<R::Out, I>, BroadcastError> {
        self.check_plan(plan)?;
        if let Some((element, terms)) = self.first_missing() {
            let index = self.index(element);
            return Err(parts_mismatch(PartsFault::Incomplete { index, terms }));
        }
        let terms = plan.sum_terms();
        if !plan.has_terms(terms, R::NAME, self.reduction.least_terms())? {
            return plan.results_of_none(R::NAME, &|| self.reduction.of_none());
        }
        // All terms of a piece are one node.
        let root = (0, sum_blocks(plan));
        array_of(plan.input_dim(), |out| {
            for piece in self.pieces.values() {
                let accs = piece.nodes[&root].iter();
                out.extend(accs.map(|&acc| self.reduction.finish(acc, terms)));
            }
        })
    }

    /// The first element of the result that is not complete, and the first of its terms that are
    /// missing.
    fn first_missing(&self) -> Option<(usize, Range<usize>)> {
        let (all, total) = (sum_blocks(&self.plan), self.plan.sum_terms());
        if total == 0 {
            return None;
        }
        let count = self.plan.input_shape().iter().product();
        let mut element = 0;
        for (&first, piece) in &self.pieces {
            if first > element {
                break;
            }
            if let Some(blocks) = piece.missing(all) {
                return Some((element, terms_of(blocks, total)));
            }
            element += piece.len();
        }
        (element < count).then_some((element, 0..total))
    }

    /// The index of an element of the result, by its number in row-major order.
    fn index(&self, mut element: usize) -> Box<[usize]> {
        let mut index: Box<[usize]> = self.plan.input_shape().into();
        for at in index.iter_mut().rev() {
            (*at, element) = (element % *at, element / *at);
        }
        index
    }

    fn check_plan<I: Dimension, O: Dimension>(
        &self,
        plan: &BroadcastPlan<I, O>,
    ) -> Result<(), BroadcastError> {
        let ours = &self.plan;
        let same = ours.input_shape() == plan.input_shape()
            && ours.output_shape() == plan.output_shape()
            && ours.output_axes() == plan.output_axes();
        match same {
            true => Ok(()),
            false => Err(parts_mismatch(PartsFault::OtherReduction {
                first: Self::name(ours).into(),
                second: Self::name(plan).into(),
            })),
        }
    }

    /// What an error shows of a plan and the reduction.
    fn name<I: Dimension, O: Dimension>(plan: &BroadcastPlan<I, O>) -> String {
        let axis = |axis: usize| axis.to_string();
        let mapping = plan.mapping();
        let mapping: Vec<_> = mapping
            .map(|source| source.map_or("+".into(), axis))
            .collect();
        let (input, output, by) = (plan.input_shape(), plan.output_shape(), mapping.join(" "));
        format!("{} of {output:?} to {input:?} by ({by})", shown(R::NAME))
    }
}

/// What an error shows of the name of a reduction.
pub(super) fn shown(name: &str) -> &str {
    match name {
        "" => "a reduction without a name",
        name => name,
    }
}

impl<T, R: Reduction<T> + Clone> Clone for Accumulation<T, R> {
    fn clone(&self) -> Self {
        Accumulation {
            reduction: self.reduction.clone(),
            plan: self.plan.clone(),
            pieces: self.pieces.clone(),
            term: PhantomData,
        }
    }
}

impl<T, R: Reduction<T>> fmt::Debug for Accumulation<T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pieces = self.pieces.iter();
        let ranges: Vec<_> = pieces.map(|(at, piece)| *at..at + piece.len()).collect();
        f.debug_struct("Accumulation")
            .field("of", &Self::name(&self.plan))
            .field("elements", &ranges)
            .field("complete", &self.is_complete())
            .finish_non_exhaustive()
    }
}
