//! Partial reductions as values: nodes of the tree, which merge with their neighbours.

use super::ranges::{Ranges, any_overlap, intersection, len, slice, without};
use super::reduction::{Reduction, Sum};
use super::terms::Numbers;
use crate::engine::fold::BLOCK_TERMS;
use crate::engine::memory::{array_of, filled, output_len};
use crate::error::{BroadcastError, empty_reduction, incomplete, other_reduction, overlap};
use crate::plan::BroadcastPlan;
use ndarray::{Array, ArrayD, ArrayViewD, Dimension, Slice, Zip};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

/// The state of a reduction of which some blocks are reduced.
///
/// It holds the nodes of the [documented tree](crate::GradientExt#the-order-of-summation) that
/// these blocks form.
///
/// A [`Part`](crate::Part) returns it. Two merge if they belong to the same plan and have no term
/// in common. They need not be neighbours: a node without its sibling is kept until the sibling is
/// merged. When all parts are merged, [`finish`](Self::finish) gives the result of
/// [`gradient`](BroadcastPlan::gradient), [`gradient_of`](BroadcastPlan::gradient_of),
/// [`reduce`](BroadcastPlan::reduce) or [`reduce_of`](BroadcastPlan::reduce_of) on the whole
/// arrays, bit for bit, for any parts and any order of merging.
///
/// It is small: for each element of the gradient at most two accumulators for each level of the
/// tree while blocks that follow each other are there, and one when all are. It can be sent: as
/// [bytes](Self::to_bytes), or with the feature `serde` in any format that keeps all bits of the
/// accumulators. By serde it is read back only if the reduction has a `Default`, which a
/// [`Fold`](crate::Fold) does not have, and the type of the accumulators is not compared.
///
/// ```
/// use ndarray::Array2;
/// use ndarray_broadcast::{BroadcastPlan, PartialReduction, Sum};
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
///     let part = plan.part(&plan.tile(&[rows, columns])?)?;
///     sent.push(part.gradient(&part.tile().output().of(&dy)?)?.to_bytes());
/// }
///
/// // Where the results arrive, in any order.
/// let mut sum = PartialReduction::<f32, Sum>::new(&plan, Sum);
/// for bytes in sent.iter().rev() {
///     sum.merge(PartialReduction::from_bytes(bytes, Sum)?)?;
/// }
/// assert!(sum.is_complete());
/// assert_eq!(sum.finish(&plan)?, plan.gradient(&dy)?);
/// # Ok::<(), ndarray_broadcast::BroadcastError>(())
/// ```
#[must_use = "a partial reduction is merged with others, and finished"]
pub struct PartialReduction<T, R: Reduction<T>> {
    pub(super) reduction: R,
    /// Its rule does not matter.
    pub(super) plan: BroadcastPlan,
    /// No two have an element of the gradient in common.
    pub(super) pieces: Vec<Piece<R::Acc>>,
    term: PhantomData<fn(T)>,
}

/// The index of an element of the result, and terms of it.
type Missing = (Vec<usize>, Range<usize>);

/// The state of a [gradient](BroadcastPlan::gradient) of which some blocks are summed.
///
/// Example: [`PartialReduction`].
pub type PartialSum<A> = PartialReduction<A, Sum>;

/// The same nodes for each element in a box of the gradient.
#[derive(Debug, Clone)]
pub(super) struct Piece<A> {
    pub(super) ranges: Ranges,
    /// By their first block. No two have a block in common, no two are the halves of another node,
    /// and none has all blocks of a larger node.
    pub(super) nodes: BTreeMap<usize, (Node, ArrayD<A>)>,
    /// Boxes of terms that are no nodes.
    pub(super) boxes: Vec<(Ranges, ArrayD<A>)>,
}

/// A node of the tree, of `2^level` blocks or of fewer at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) first: usize,
    pub(super) level: u32,
}

impl Node {
    /// The largest node that begins with the block `first` and has no block from `end` on. The tree
    /// has `all` blocks.
    fn largest(first: usize, end: usize, all: usize) -> Self {
        let mut node = Node { first, level: 0 };
        while node.first >> node.level & 1 == 0 && node.blocks(all).end < all {
            let larger = Node {
                level: node.level + 1,
                ..node
            };
            if larger.blocks(all).end > end {
                break;
            }
            node = larger;
        }
        node
    }

    /// The largest nodes that together are these blocks. The tree has `all` blocks.
    pub(super) fn of(blocks: Range<usize>, all: usize) -> impl Iterator<Item = Self> {
        let mut block = blocks.start;
        std::iter::from_fn(move || {
            let node = (block < blocks.end).then(|| Node::largest(block, blocks.end, all))?;
            block = node.blocks(all).end;
            Some(node)
        })
    }

    /// Its blocks, in a tree of `all` blocks.
    pub(super) fn blocks(self, all: usize) -> Range<usize> {
        self.first..all.min(self.first + (1 << self.level))
    }
}

/// The terms of these blocks. There are `total` terms in all.
fn terms_of(blocks: Range<usize>, total: usize) -> Range<usize> {
    blocks.start * BLOCK_TERMS..total.min(blocks.end * BLOCK_TERMS)
}

/// The first of `total` numbers that is absent, by bisection. `below` says how many are present
/// below a number. At least one is absent.
fn first_absent(total: usize, below: impl Fn(usize) -> usize) -> usize {
    let (mut low, mut high) = (0, total);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if below(middle) == middle {
            low = middle
        } else {
            high = middle
        }
    }
    low
}

impl<A: Copy> Piece<A> {
    pub(super) fn of_nothing(ranges: Ranges) -> Self {
        Piece {
            ranges,
            nodes: BTreeMap::new(),
            boxes: Vec::new(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        (self.nodes.is_empty() && self.boxes.is_empty()) || len(&self.ranges) == 0
    }

    /// Adds a node that has no block in common with the others, and combines it with its neighbour
    /// as long as there is one. There are `all` blocks.
    pub(super) fn insert(
        &mut self,
        mut node: Node,
        mut values: ArrayD<A>,
        all: usize,
        combine: &impl Fn(A, A) -> A,
    ) {
        while let Some(sibling) = self.other_half(&mut node, all) {
            let Some((_, other)) = self.nodes.remove(&sibling) else {
                break;
            };
            let (left, right) = match node.first < sibling {
                true => (values, other),
                false => (other, values),
            };
            values = left;
            Zip::from(&mut values)
                .and(&right)
                .for_each(|a, &b| *a = combine(*a, b));
            node = Node {
                first: node.first.min(sibling),
                level: node.level + 1,
            };
        }
        self.nodes.insert(node.first, (node, values));
    }

    pub(super) fn insert_box(&mut self, ranges: Vec<Range<usize>>, values: ArrayD<A>) {
        self.boxes.push((ranges.into(), values));
    }

    /// The terms of a box that is inside this piece's.
    ///
    /// # Errors
    ///
    /// `AllocationFailed`.
    fn cut(&self, to: &[Range<usize>]) -> Result<Self, BroadcastError> {
        let part = |values: &ArrayD<A>| copied(slice(values, &self.ranges, to));
        let nodes = self.nodes.iter();
        let boxes = self.boxes.iter();
        Ok(Piece {
            ranges: to.into(),
            nodes: nodes
                .map(|(&first, (node, values))| Ok((first, (*node, part(values)?))))
                .collect::<Result<_, BroadcastError>>()?,
            boxes: boxes
                .map(|(ranges, values)| Ok((ranges.clone(), part(values)?)))
                .collect::<Result<_, BroadcastError>>()?,
        })
    }

    /// The box that this piece has in common with each of the others, then the boxes of the rest.
    fn split(&self, others: &[Self]) -> Vec<Ranges> {
        let (mut parts, mut rest) = (Vec::new(), vec![self.ranges.clone()]);
        for other in others {
            if let Some(both) = intersection(&self.ranges, &other.ranges) {
                let around = |ranges: Ranges| match intersection(&ranges, &both) {
                    Some(inner) => without(&ranges, &inner),
                    None => vec![ranges],
                };
                rest = rest.into_iter().flat_map(around).collect();
                parts.push(both);
            }
        }
        parts.append(&mut rest);
        parts
    }

    /// Adds the terms of a piece with the same box. The two have no term in common.
    fn join(&mut self, other: Self, all: usize, combine: &impl Fn(A, A) -> A) {
        for (_, (node, values)) in other.nodes {
            self.insert(node, values, all, combine);
        }
        self.boxes.extend(other.boxes);
    }

    /// Blocks that a node has in common with those that are there.
    fn common_blocks(&self, node: Node, all: usize) -> Option<Range<usize>> {
        let blocks = node.blocks(all);
        let (_, (before, _)) = self.nodes.range(..blocks.end).next_back()?;
        let before = before.blocks(all);
        let both = before.start.max(blocks.start)..before.end.min(blocks.end);
        (!both.is_empty()).then_some(both)
    }

    /// Terms that a box has in common with the nodes. `shape` is that of all terms.
    fn common_with_box(&self, ranges: &[Range<usize>], shape: &[usize]) -> Option<Range<usize>> {
        let total: usize = shape.iter().product();
        let all = total.div_ceil(BLOCK_TERMS);
        let (numbers, len) = (Numbers::of_box(ranges, shape), len(ranges));
        let [first, last] = [0, len - 1].map(|at| numbers.of(at) / BLOCK_TERMS);
        let before = self.nodes.range(..first).next_back();
        let nodes = before.into_iter().chain(self.nodes.range(first..=last));
        nodes.map(|(_, (node, _))| node).find_map(|node| {
            let terms = terms_of(node.blocks(all), total);
            let [below, before] = [terms.end, terms.start].map(|at| numbers.count_below(at, len));
            (below > before).then(|| numbers.of(before)..numbers.of(below - 1) + 1)
        })
    }

    /// Adds a node that was read. It must not have a block of a node that is there, nor be the
    /// other half of one: the two would have been written as the larger node.
    ///
    /// # Errors
    ///
    /// What is wrong.
    pub(super) fn insert_written(
        &mut self,
        mut node: Node,
        values: ArrayD<A>,
        all: usize,
    ) -> Result<(), &'static str> {
        if self.common_blocks(node, all).is_some() {
            return Err("two nodes have the same block");
        }
        if self.other_half(&mut node, all).is_some() {
            return Err("two nodes are halves of another one");
        }
        self.nodes.insert(node.first, (node, values));
        Ok(())
    }

    /// The first block of the node that makes a larger one with this one, if it is there. The level
    /// of this one becomes the largest with the same blocks.
    fn other_half(&self, node: &mut Node, all: usize) -> Option<usize> {
        while node.first > 0 || node.blocks(all).end < all {
            let is_left = node.first >> node.level & 1 == 0;
            let sibling = node.first ^ 1 << node.level;
            if !is_left || sibling < all {
                let (other, _) = self.nodes.get(&sibling)?;
                return (other.level == node.level).then_some(sibling);
            }
            // There are no blocks to the right of it in the larger node.
            node.level += 1;
        }
        None
    }

    /// Whether a box has a term of a node or of another box. `shape` is that of the terms.
    pub(super) fn boxes_overlap(&self, shape: &[usize]) -> bool {
        let boxes = self.boxes.iter().map(|(ranges, _)| &ranges[..]);
        let mut with_nodes = boxes.clone();
        with_nodes.any(|ranges| self.common_with_box(ranges, shape).is_some())
            || any_overlap(boxes.collect())
    }

    /// Terms that both have, if there are any. `shape` is that of the terms.
    fn common_terms(&self, other: &Self, shape: &[usize]) -> Option<Range<usize>> {
        let total: usize = shape.iter().product();
        let all = total.div_ceil(BLOCK_TERMS);
        let mut nodes = other.nodes.values();
        if let Some(blocks) = nodes.find_map(|(node, _)| self.common_blocks(*node, all)) {
            return Some(terms_of(blocks, total));
        }
        for (nodes, boxes) in [(self, other), (other, self)] {
            let mut boxes = boxes.boxes.iter();
            let found = boxes.find_map(|(ranges, _)| nodes.common_with_box(ranges, shape));
            if found.is_some() {
                return found;
            }
        }
        for (ours, _) in &self.boxes {
            let found = other
                .boxes
                .iter()
                .find_map(|(theirs, _)| intersection(ours, theirs));
            if let Some(found) = found {
                let (numbers, len) = (Numbers::of_box(&found, shape), len(&found));
                return Some(numbers.of(0)..numbers.of(len - 1) + 1);
            }
        }
        None
    }

    /// The first of the terms that are missing. `shape` is that of the terms.
    fn missing(&self, shape: &[usize]) -> Option<Range<usize>> {
        let total: usize = shape.iter().product();
        let all = total.div_ceil(BLOCK_TERMS);
        let boxes = self.boxes.iter();
        let boxes: Vec<_> = boxes
            .map(|(ranges, _)| (Numbers::of_box(ranges, shape), len(ranges)))
            .collect();
        let of_boxes: usize = boxes.iter().map(|(_, len)| len).sum();
        let mut at = 0;
        if boxes.is_empty() {
            for (node, _) in self.nodes.values() {
                let blocks = node.blocks(all);
                if blocks.start > at {
                    return Some(at * BLOCK_TERMS..blocks.start * BLOCK_TERMS);
                }
                at = blocks.end;
            }
            return (at < all).then(|| at * BLOCK_TERMS..total);
        }
        let nodes = self.nodes.values().map(|(node, _)| node.blocks(all));
        let nodes: Vec<_> = nodes.map(|blocks| terms_of(blocks, total)).collect();
        let of_nodes: usize = nodes.iter().map(|terms| terms.len()).sum();
        if of_nodes + of_boxes == total {
            return None;
        }
        let below = |end: usize| -> usize {
            let nodes = nodes
                .iter()
                .map(|terms| end.clamp(terms.start, terms.end) - terms.start);
            let boxes = boxes
                .iter()
                .map(|(numbers, len)| numbers.count_below(end, *len));
            nodes.sum::<usize>() + boxes.sum::<usize>()
        };
        let first = first_absent(total, below);
        Some(first..first + 1)
    }

    /// The accumulators of all terms. No term may be missing. `None` if there are no terms.
    ///
    /// # Errors
    ///
    /// `AllocationFailed`.
    fn total(
        &self,
        shape: &[usize],
        combine: &impl Fn(A, A) -> A,
    ) -> Result<Option<ArrayD<A>>, BroadcastError> {
        let nodes = self.nodes.iter();
        let nodes = nodes.map(|(block, (_, values))| (block * BLOCK_TERMS, values));
        let boxes = self.boxes.iter();
        let boxes = boxes.map(|(ranges, values)| (Numbers::of_box(ranges, shape).of(0), values));
        let mut parts: Vec<_> = nodes.chain(boxes).collect();
        parts.sort_by_key(|&(first, _)| first);
        let mut parts = parts.into_iter().map(|(_, values)| values);
        let Some(first) = parts.next() else {
            return Ok(None);
        };
        let mut sum = copied(first.view())?;
        for values in parts {
            Zip::from(&mut sum)
                .and(values)
                .for_each(|a, &b| *a = combine(*a, b));
        }
        Ok(Some(sum))
    }
}

/// An array of what a view holds, in standard layout.
///
/// # Errors
///
/// `AllocationFailed`.
fn copied<A: Copy>(values: ArrayViewD<'_, A>) -> Result<ArrayD<A>, BroadcastError> {
    array_of(values.raw_dim(), |copy| copy.extend(values))
}

/// A piece of a list, by its number, and the pieces that take its place.
type Cut<A> = (usize, Vec<Piece<A>>);

/// Cuts each piece along those of the others that overlap it. Pieces that need no cut are left out.
/// Within each of the two lists, no pieces overlap.
fn cut_by<A: Copy>(
    pieces: &[Piece<A>],
    others: &[Piece<A>],
) -> Result<Vec<Cut<A>>, BroadcastError> {
    let mut cuts = Vec::new();
    for (at, piece) in pieces.iter().enumerate() {
        let boxes = piece.split(others);
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

impl<T, R: Reduction<T>> PartialReduction<T, R> {
    /// The reduction of no terms yet. Example: [`PartialReduction`].
    pub fn new<I: Dimension, O: Dimension>(plan: &BroadcastPlan<I, O>, reduction: R) -> Self {
        PartialReduction {
            reduction,
            plan: plan.clone().into_dyn(),
            pieces: Vec::new(),
            term: PhantomData,
        }
    }

    pub(super) fn of_piece<I: Dimension, O: Dimension>(
        plan: &BroadcastPlan<I, O>,
        reduction: R,
        piece: Piece<R::Acc>,
    ) -> Self {
        let mut partial = PartialReduction::new(plan, reduction);
        if !piece.is_empty() {
            partial.pieces.push(piece);
        }
        partial
    }

    /// Adds the terms of another part. Parts of different elements of the result are kept
    /// separately. Each part in `other` is compared with each part in `self`. There are more
    /// comparisons if parts overlap.
    ///
    /// # Errors
    ///
    /// [`OtherReduction`](crate::ErrorKind::OtherReduction) if the other belongs to a plan of other
    /// shapes or axes; [`Overlap`](crate::ErrorKind::Overlap) if both have the same term;
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
    ///
    /// let dy = Array1::from_elem(3000, 1.);
    /// let plan = BroadcastPlan::numpy(1, 3000)?;
    /// let sum_of = |blocks| {
    ///     let part = plan.part_of_blocks(&[0..1], blocks)?;
    ///     part.gradient(&part.tile().output().of(&dy)?)
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
        let shape = self.plan.summed_shape()?;
        for piece in &other.pieces {
            self.check_new(piece, &shape)?;
        }
        // All that may fail is done before anything is changed.
        let ours = cut_by(&self.pieces, &other.pieces)?;
        let theirs = cut_by(&other.pieces, &self.pieces)?;
        let all = self.plan.sum_blocks();
        let combine = |a, b| self.reduction.combine(a, b);
        replace(&mut self.pieces, ours);
        let mut pieces = other.pieces;
        replace(&mut pieces, theirs);
        // Pieces of one list have no element in common. The other list is mostly the shorter one,
        // so its boxes are copied.
        let boxes = pieces.iter().enumerate();
        let places: HashMap<_, _> = boxes
            .map(|(at, piece)| (piece.ranges.clone(), at))
            .collect();
        let mut theirs: Vec<_> = pieces.into_iter().map(Some).collect();
        for ours in &mut self.pieces {
            let at = places.get(&ours.ranges);
            if let Some(piece) = at.and_then(|&at| theirs[at].take()) {
                ours.join(piece, all, &combine);
            }
        }
        self.pieces.extend(theirs.into_iter().flatten());
        Ok(())
    }

    /// That a piece has no term in common with those that are there.
    fn check_new(&self, piece: &Piece<R::Acc>, shape: &[usize]) -> Result<(), BroadcastError> {
        for ours in &self.pieces {
            let Some(ranges) = intersection(&ours.ranges, &piece.ranges) else {
                continue;
            };
            if let Some(terms) = ours.common_terms(piece, shape) {
                return Err(overlap(&ranges, terms));
            }
        }
        Ok(())
    }

    /// Whether all terms of all elements are there: then [`finish`](Self::finish) does not return
    /// [`Incomplete`](crate::ErrorKind::Incomplete). Example: [`PartialReduction`].
    #[must_use]
    pub fn is_complete(&self) -> bool {
        matches!(self.first_missing(), Ok(None))
    }

    /// Whether the result is bit-identical to one call on the whole array: no
    /// [`inexact_part`](BroadcastPlan::inexact_part) is in it, where the example is.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.pieces.iter().all(|piece| piece.boxes.is_empty())
    }

    /// The result of the whole, of the input's shape and rank, in standard layout.
    ///
    /// # Errors
    ///
    /// [`Incomplete`](crate::ErrorKind::Incomplete), with the first terms that are missing;
    /// [`OtherReduction`](crate::ErrorKind::OtherReduction) if the plan has other shapes or axes;
    /// [`EmptyReduction`](crate::ErrorKind::EmptyReduction) if there are no terms and the reduction
    /// has no result for that; [`OutputTooLarge`](crate::ErrorKind::OutputTooLarge),
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
        if let Some((index, terms)) = self.first_missing()? {
            return Err(incomplete(&index, terms));
        }
        let (shape, terms) = (self.plan.summed_shape()?, self.plan.sum_terms());
        let combine = |a, b| self.reduction.combine(a, b);
        let count = output_len::<R::Out>(plan.input_shape())?;
        let mut results: Option<Array<R::Out, I>> = None;
        let new = |value| -> Result<Array<R::Out, I>, BroadcastError> {
            let values = filled(count, || value)?;
            Ok(Array::from_shape_vec(plan.input_dim(), values).expect("there is one for each"))
        };
        if count == 0 {
            let none = Array::from_shape_vec(plan.input_dim(), Vec::new());
            return Ok(none.expect("the shape has no elements"));
        }
        if terms == 0 {
            let value = self.reduction.of_none();
            return new(value.ok_or_else(|| empty_reduction(plan.output_shape(), R::NAME))?);
        }
        for piece in &self.pieces {
            let Some(total) = piece.total(&shape, &combine)? else {
                continue;
            };
            let Some(&first) = total.first() else {
                continue;
            };
            let finished = |acc| self.reduction.finish(acc, terms);
            let out = match &mut results {
                Some(out) => out,
                none => none.insert(new(finished(first))?),
            };
            let mut place = out.view_mut();
            place.slice_each_axis_inplace(|axis| {
                let range = &piece.ranges[axis.axis.index()];
                Slice::from(range.clone())
            });
            Zip::from(place.into_dyn())
                .and(&total)
                .for_each(|place, &acc| *place = finished(acc));
        }
        Ok(results.expect("a complete reduction has pieces"))
    }

    /// The first element of the result that is not complete, and the first of its terms that are
    /// missing.
    fn first_missing(&self) -> Result<Option<Missing>, BroadcastError> {
        let shape = self.plan.summed_shape()?;
        let total = self.plan.sum_terms();
        if total == 0 {
            return Ok(None);
        }
        let sizes = self.plan.input_shape();
        let complete = self.pieces.iter();
        let complete = complete.filter(|piece| piece.missing(&shape).is_none());
        let complete: Vec<_> = complete
            .map(|piece| {
                let numbers = Numbers::of_box(&piece.ranges, sizes);
                (numbers, len(&piece.ranges))
            })
            .collect();
        let all = sizes.iter().product();
        if complete.iter().map(|(_, len)| len).sum::<usize>() == all {
            return Ok(None);
        }
        let mut number = first_absent(all, |end| {
            let complete = complete.iter();
            complete
                .map(|(numbers, len)| numbers.count_below(end, *len))
                .sum()
        });
        let mut index = sizes.to_vec();
        for place in index.iter_mut().rev() {
            let size = *place;
            *place = number % size;
            number /= size;
        }
        let contains = |piece: &&Piece<R::Acc>| {
            let mut axes = piece.ranges.iter().zip(&index);
            axes.all(|(range, at)| range.contains(at))
        };
        let piece = self.pieces.iter().find(contains);
        let terms = piece.and_then(|piece| piece.missing(&shape));
        Ok(Some((index, terms.unwrap_or(0..total))))
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
            false => Err(other_reduction(
                &name::<T, R>(ours),
                &name::<T, R>(&plan.clone().into_dyn()),
            )),
        }
    }
}

/// What an error shows of the name of a reduction.
pub(super) fn shown(name: &str) -> &str {
    match name {
        "" => "a reduction without a name",
        name => name,
    }
}

/// What an error shows of a plan and a reduction.
pub(super) fn name<T, R: Reduction<T>>(plan: &BroadcastPlan) -> String {
    let reduction = shown(R::NAME);
    let mapping = plan.mapping().map(|source| match source {
        Some(axis) => axis.to_string(),
        None => "+".to_owned(),
    });
    let mapping: Vec<_> = mapping.collect();
    let (input, output) = (plan.input_shape(), plan.output_shape());
    format!(
        "{reduction} of {output:?} to {input:?} by ({})",
        mapping.join(" ")
    )
}

impl<T, R: Reduction<T> + Clone> Clone for PartialReduction<T, R> {
    fn clone(&self) -> Self {
        PartialReduction {
            reduction: self.reduction.clone(),
            plan: self.plan.clone(),
            pieces: self.pieces.clone(),
            term: PhantomData,
        }
    }
}

impl<T, R: Reduction<T>> fmt::Debug for PartialReduction<T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let boxes: Vec<_> = self.pieces.iter().map(|piece| &piece.ranges).collect();
        f.debug_struct("PartialReduction")
            .field("of", &name::<T, R>(&self.plan))
            .field("elements", &boxes)
            .field("complete", &self.is_complete())
            .finish_non_exhaustive()
    }
}
