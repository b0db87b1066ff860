//! Accumulations as values: nodes of the tree, which merge with their neighbours.

use super::ranges::{Ranges, first_outside, intersection, len, slice, without};
use super::reduction::Reduction;
use crate::engine::fold::BLOCK_TERMS;
use crate::engine::memory::array_of;
use crate::error::{BroadcastError, PartsFault, parts_mismatch};
use crate::plan::BroadcastPlan;
use ndarray::{Array, ArrayD, Dimension, Slice, Zip};
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
    /// No two have an element of the gradient in common.
    pub(super) pieces: Vec<Piece<R::Acc>>,
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

/// The same nodes for each element in a box of the gradient. A node of the tree is given by its
/// blocks: `2^n` of them, or fewer at the end.
#[derive(Debug, Clone)]
pub(super) struct Piece<A> {
    pub(super) ranges: Ranges,
    /// By their first block and their end. No two have a block in common, and no two are the halves
    /// of another node.
    pub(super) nodes: BTreeMap<(usize, usize), ArrayD<A>>,
}

/// The parent of a node that is not the root. The tree has `all` blocks.
fn parent(node: &Range<usize>, all: usize) -> Range<usize> {
    // At the end, some nodes have no right sibling, and the same blocks as their parent. The
    // largest of them has a left sibling.
    let size = match node.end == all {
        true => 1 << node.start.trailing_zeros(),
        false => node.len(),
    };
    let start = node.start & !size;
    start..all.min(start + 2 * size)
}

/// The other half of the node's parent; `None` for the root.
pub(super) fn sibling(node: &Range<usize>, all: usize) -> Option<Range<usize>> {
    if *node == (0..all) {
        return None;
    }
    let parent = parent(node, all);
    Some(match node.start == parent.start {
        true => node.end..parent.end,
        false => parent.start..node.start,
    })
}

/// The largest nodes that together are these blocks. The tree has `all` blocks.
pub(super) fn nodes_of(blocks: Range<usize>, all: usize) -> impl Iterator<Item = Range<usize>> {
    let Range { mut start, end } = blocks;
    std::iter::from_fn(move || {
        if start >= end {
            return None;
        }
        let mut node = start..start + 1;
        while node != (0..all) {
            let larger = parent(&node, all);
            if larger.start < start || larger.end > end {
                break;
            }
            node = larger;
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
    pub(super) fn of_nothing(ranges: Ranges) -> Self {
        Piece {
            ranges,
            nodes: BTreeMap::new(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.nodes.is_empty() || len(&self.ranges) == 0
    }

    /// Adds a node that has no block in common with the others. Combines it with its sibling as
    /// long as the sibling is there. There are `all` blocks.
    pub(super) fn insert(
        &mut self,
        mut node: Range<usize>,
        mut values: ArrayD<A>,
        all: usize,
        combine: &impl Fn(A, A) -> A,
    ) {
        while let Some(sibling) = sibling(&node, all) {
            let Some(mut right) = self.nodes.remove(&(sibling.start, sibling.end)) else {
                break;
            };
            if sibling.start < node.start {
                swap(&mut values, &mut right);
            }
            Zip::from(&mut values)
                .and(&right)
                .for_each(|a, &b| *a = combine(*a, b));
            node = parent(&node, all);
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

    /// The same nodes for the elements of a box that is inside this piece's.
    ///
    /// # Errors
    ///
    /// `AllocationFailed`.
    fn cut(&self, to: &[Range<usize>]) -> Result<Self, BroadcastError> {
        let mut piece = Piece::of_nothing(to.into());
        for (&node, values) in &self.nodes {
            let part = slice(values, &self.ranges, to);
            let copy = array_of(part.raw_dim(), |copy| copy.extend(part))?;
            piece.nodes.insert(node, copy);
        }
        Ok(piece)
    }
}

/// A piece of a list, by its number, and the pieces that take its place.
type Cut<A> = (usize, Vec<Piece<A>>);

/// Cuts each piece along those of the others that overlap it. Pieces that need no cut are left out.
/// Within each of the two lists, no pieces overlap.
///
/// # Errors
///
/// `AllocationFailed`.
fn cut_by<A: Copy>(
    pieces: &[Piece<A>],
    others: &[Piece<A>],
) -> Result<Vec<Cut<A>>, BroadcastError> {
    let mut cuts = Vec::new();
    for (at, piece) in pieces.iter().enumerate() {
        let (mut boxes, mut rest) = (Vec::new(), vec![piece.ranges.clone()]);
        for other in others {
            if let Some(both) = intersection(&piece.ranges, &other.ranges) {
                let around = |outer: Ranges| without(&outer, &both);
                rest = rest.into_iter().flat_map(around).collect();
                boxes.push(both);
            }
        }
        boxes.append(&mut rest);
        if boxes.len() > 1 {
            let parts = boxes.iter().map(|ranges| piece.cut(ranges));
            cuts.push((at, parts.collect::<Result<_, _>>()?));
        }
    }
    Ok(cuts)
}

/// Puts parts of pieces in the place of these pieces.
fn replace<A>(pieces: &mut Vec<Piece<A>>, cuts: Vec<Cut<A>>) {
    // From the last one on, as a piece that is removed is replaced by a later one.
    for (at, parts) in cuts.into_iter().rev() {
        pieces.swap_remove(at);
        pieces.extend(parts);
    }
}

impl<T, R: Reduction<T>> Accumulation<T, R> {
    /// The reduction of no terms yet. Example: [`Accumulation`].
    pub fn new<I: Dimension, O: Dimension>(plan: &BroadcastPlan<I, O>, reduction: R) -> Self {
        Accumulation {
            reduction,
            plan: plan.clone().into_dyn(),
            pieces: Vec::new(),
            term: PhantomData,
        }
    }

    /// The reduction of the terms that `piece` has.
    pub(super) fn of<I: Dimension, O: Dimension>(
        plan: &BroadcastPlan<I, O>,
        reduction: R,
        piece: Piece<R::Acc>,
    ) -> Self {
        let mut accumulation = Self::new(plan, reduction);
        if !piece.is_empty() {
            accumulation.pieces.push(piece);
        }
        accumulation
    }

    /// Adds the terms of another part. Parts of different elements of the result are kept
    /// separately. Each part in `other` is compared with each part in `self`. There are more
    /// comparisons if parts overlap.
    ///
    /// # Errors
    ///
    /// [`PartsMismatch`](crate::ErrorKind::PartsMismatch) if the other belongs to a plan of other
    /// shapes or axes, or if both have the same term;
    /// [`AllocationFailed`](crate::ErrorKind::AllocationFailed). On an error, `self` is unchanged.
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
    ///     "two parts have the terms 1024..2048 of the elements [0..1] of the result",
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
        for theirs in &other.pieces {
            for ours in &self.pieces {
                let Some(ranges) = intersection(&ours.ranges, &theirs.ranges) else {
                    continue;
                };
                let mut nodes = theirs.nodes.keys();
                if let Some(blocks) = nodes.find_map(|&(at, end)| ours.common_blocks(&(at..end))) {
                    let terms = terms_of(blocks, self.plan.sum_terms());
                    return Err(parts_mismatch(PartsFault::Overlap { ranges, terms }));
                }
            }
        }
        // All that may fail is done before anything is changed.
        let ours = cut_by(&self.pieces, &other.pieces)?;
        let theirs = cut_by(&other.pieces, &self.pieces)?;
        replace(&mut self.pieces, ours);
        let mut pieces = other.pieces;
        replace(&mut pieces, theirs);
        let (all, count) = (sum_blocks(&self.plan), self.pieces.len());
        for piece in pieces {
            // Pieces of one list have no element in common.
            let mut ours = self.pieces[..count].iter_mut();
            match ours.find(|ours| ours.ranges == piece.ranges) {
                Some(ours) => {
                    for ((start, end), values) in piece.nodes {
                        let combine = |a, b| self.reduction.combine(a, b);
                        ours.insert(start..end, values, all, &combine);
                    }
                }
                None => self.pieces.push(piece),
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
        if let Some((index, terms)) = self.first_missing() {
            let index = index.into();
            return Err(parts_mismatch(PartsFault::Incomplete { index, terms }));
        }
        let terms = plan.sum_terms();
        if !plan.has_terms(terms, R::NAME, self.reduction.least_terms())? {
            return plan.results_of_none(R::NAME, &|| self.reduction.of_none());
        }
        let finished = |acc| self.reduction.finish(acc, terms);
        // All terms of a piece are one node.
        let root = (0, sum_blocks(plan));
        let Some(&acc) = self
            .pieces
            .first()
            .and_then(|piece| piece.nodes[&root].first())
        else {
            return array_of(plan.input_dim(), |_| ());
        };
        // Each element is replaced below.
        let value = finished(acc);
        let count = plan.input_shape().iter().product();
        let mut out = array_of(plan.input_dim(), |out| out.resize(count, value))?;
        for piece in &self.pieces {
            let mut place = out.view_mut().into_dyn();
            place.slice_each_axis_inplace(|axis| {
                Slice::from(piece.ranges[axis.axis.index()].clone())
            });
            Zip::from(place)
                .and(&piece.nodes[&root])
                .for_each(|place, &acc| *place = finished(acc));
        }
        Ok(out)
    }

    /// The index of the first element of the result that is not complete, and the first of its
    /// terms that are missing.
    fn first_missing(&self) -> Option<(Vec<usize>, Range<usize>)> {
        let (all, total) = (sum_blocks(&self.plan), self.plan.sum_terms());
        if total == 0 {
            return None;
        }
        let complete = (self.pieces.iter()).filter(|piece| piece.missing(all).is_none());
        let boxes = complete.map(|piece| &piece.ranges[..]).collect();
        let index = first_outside(self.plan.input_shape(), boxes)?;
        let piece = self.pieces.iter().find(|piece| {
            let mut axes = piece.ranges.iter().zip(&index);
            axes.all(|(range, at)| range.contains(at))
        });
        let blocks = piece.map_or(Some(0..all), |piece| piece.missing(all))?;
        Some((index, terms_of(blocks, total)))
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
        let boxes: Vec<_> = self.pieces.iter().map(|piece| &piece.ranges).collect();
        f.debug_struct("Accumulation")
            .field("of", &Self::name(&self.plan))
            .field("elements", &boxes)
            .field("complete", &self.is_complete())
            .finish_non_exhaustive()
    }
}
