//! A slow oracle. It states each rule as the specification does and computes each output element
//! by its index. It shares only the names of rules and errors with the crate.
#![allow(dead_code)]

use ndarray::{ArrayD, ArrayViewD, Axis, Dimension, IxDyn, Slice};
use ndarray_broadcast::{BroadcastError, BroadcastMode, ElementwiseRule, ErrorKind, KEEP};

/// The result of a rule, or the name of the error variant.
pub type Answer = Result<AxisMap, &'static str>;

/// The output shape of a broadcast and the output axis of each input axis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AxisMap {
    pub output: Vec<usize>,
    /// `None`: the input axis has size 1 and no output axis (a trailing 1 under PDPD).
    pub output_axes: Vec<Option<usize>>,
}

impl AxisMap {
    /// The input index of the element at an output index.
    pub fn source(&self, input: &[usize], index: &[usize]) -> Vec<usize> {
        let position = |(&size, axis): (&usize, &Option<usize>)| match (size, axis) {
            (1, _) | (_, None) => 0,
            (_, Some(axis)) => index[*axis],
        };
        input.iter().zip(&self.output_axes).map(position).collect()
    }

    /// The broadcast array, element by element.
    pub fn array<A: Clone>(&self, input: &ArrayViewD<'_, A>) -> ArrayD<A> {
        ArrayD::from_shape_fn(IxDyn(&self.output), |index| {
            input[IxDyn(&self.source(input.shape(), index.slice()))].clone()
        })
    }
}

fn right_aligned(rank: usize, total: usize) -> Vec<Option<usize>> {
    (0..rank).map(|axis| Some(axis + total - rank)).collect()
}

/// Checks that the product of the non-zero sizes is at most `isize::MAX`, as every view requires.
fn representable(map: AxisMap) -> Answer {
    let product = map
        .output
        .iter()
        .filter(|&&size| size > 0)
        .try_fold(1_u128, |product, &size| {
            product
                .checked_mul(size as u128)
                .filter(|&product| product <= isize::MAX as u128)
        });
    product.map(|_| map).ok_or("ShapeOverflow")
}

/// Checks that each input size is 1 or equals the size of its output axis.
fn one_way(input: &[usize], output: &[usize], output_axes: Vec<Option<usize>>) -> Answer {
    let fits = |(&size, axis): (&usize, &Option<usize>)| {
        axis.is_none_or(|axis| size == 1 || size == output[axis])
    };
    if !input.iter().zip(&output_axes).all(fits) {
        return Err("SizeMismatch");
    }
    representable(AxisMap {
        output: output.to_vec(),
        output_axes,
    })
}

fn numpy(input: &[usize], target: &[usize]) -> Answer {
    if input.len() > target.len() {
        return Err("RankMismatch");
    }
    one_way(input, target, right_aligned(input.len(), target.len()))
}

/// NumPy's rule for several shapes: pad them with leading 1s; then each axis has at most one size
/// other than 1.
pub fn common_shape(shapes: &[&[usize]]) -> Option<Vec<usize>> {
    let rank = shapes.iter().map(|shape| shape.len()).max().unwrap_or(0);
    let padded: Vec<Vec<usize>> = shapes
        .iter()
        .map(|s| [vec![1; rank - s.len()], s.to_vec()].concat())
        .collect();
    (0..rank)
        .map(|axis| {
            let mut others: Vec<usize> = padded
                .iter()
                .map(|shape| shape[axis])
                .filter(|&size| size != 1)
                .collect();
            others.sort_unstable();
            others.dedup();
            match others[..] {
                [] => Some(1),
                [size] => Some(size),
                _ => None,
            }
        })
        .collect()
}

fn bidirectional(input: &[usize], target: &[usize]) -> Answer {
    let output = common_shape(&[input, target]).ok_or("SizeMismatch")?;
    one_way(input, &output, right_aligned(input.len(), output.len()))
}

/// The name of the error for the first condition that a list of axes violates.
fn axes_fault(
    rank: usize,
    target_rank: usize,
    axes: &[usize],
    increasing: bool,
) -> Option<&'static str> {
    if axes.len() != rank {
        return Some("Length");
    }
    if axes.iter().any(|&axis| axis >= target_rank) {
        return Some("OutOfRange");
    }
    for at in 1..axes.len() {
        if axes[..at].contains(&axes[at]) {
            return Some("Repeated");
        }
        if increasing && axes[at - 1] > axes[at] {
            return Some("Unsorted");
        }
    }
    None
}

fn mapped(input: &[usize], target: &[usize], axes: &[usize], increasing: bool) -> Answer {
    match axes_fault(input.len(), target.len(), axes, increasing) {
        Some(fault) => Err(fault),
        None => one_way(input, target, axes.iter().copied().map(Some).collect()),
    }
}

fn broadcast_axes(input: &[usize], target: &[usize], axes: &[usize]) -> Answer {
    if axes.iter().any(|&axis| axis >= target.len()) {
        return Err("OutOfRange");
    }
    let kept: Vec<usize> = (0..target.len())
        .filter(|axis| !axes.contains(axis))
        .collect();
    if kept.len() != input.len() {
        return Err("Length");
    }
    if kept
        .iter()
        .map(|&axis| target[axis])
        .ne(input.iter().copied())
    {
        return Err("SizeMismatch");
    }
    representable(AxisMap {
        output: target.to_vec(),
        output_axes: kept.into_iter().map(Some).collect(),
    })
}

fn expand(input: &[usize], size: &[usize]) -> Answer {
    if input.len() > size.len() {
        return Err("RankMismatch");
    }
    let offset = size.len() - input.len();
    if size[..offset].contains(&KEEP) {
        return Err("SizeMismatch");
    }
    let target: Vec<usize> = size
        .iter()
        .enumerate()
        .map(|(axis, &size)| {
            if size == KEEP {
                input[axis - offset]
            } else {
                size
            }
        })
        .collect();
    numpy(input, &target)
}

/// PDPD, in the order of the specification's conditions.
fn pdpd(b: &[usize], a: &[usize], axis: isize) -> Answer {
    if axis < -1 {
        return Err("OutOfRange");
    }
    if b.len() > a.len() {
        return Err("RankMismatch");
    }
    let axis = if axis == -1 {
        a.len() - b.len()
    } else {
        axis as usize
    };
    let mut trimmed = b.to_vec();
    while trimmed.last() == Some(&1) {
        trimmed.pop();
    }
    if axis as u128 + trimmed.len() as u128 > a.len() as u128 {
        return Err("Overhang");
    }
    let output_axes = (0..b.len())
        .map(|i| (i < trimmed.len()).then_some(axis + i))
        .collect();
    one_way(b, a, output_axes)
}

/// The oracle for a mode of one array.
pub fn mode(input: &[usize], target: &[usize], mode: &BroadcastMode) -> Answer {
    match mode {
        BroadcastMode::Numpy => numpy(input, target),
        BroadcastMode::Bidirectional => bidirectional(input, target),
        BroadcastMode::Explicit { axes_mapping } => mapped(input, target, axes_mapping, true),
        BroadcastMode::BroadcastAxes {
            broadcast_axes: axes,
        } => broadcast_axes(input, target, axes),
        BroadcastMode::InDim {
            broadcast_dimensions,
        } => mapped(input, target, broadcast_dimensions, true),
        BroadcastMode::InDimPermuting {
            broadcast_dimensions,
        } => mapped(input, target, broadcast_dimensions, false),
        BroadcastMode::Expand => expand(input, target),
        BroadcastMode::Pdpd { axis } => pdpd(input, target, *axis),
        BroadcastMode::Named { pattern } => named(input, target, &pattern.to_string()),
        other => panic!("the oracle does not know {other}"),
    }
}

/// Axes by name, to a target: sizes of one name are equal, and no axis is stretched.
fn named(input: &[usize], target: &[usize], pattern: &str) -> Answer {
    let (left, right) = pattern.split_once("->").expect("the pattern is valid");
    let words = |side: &str| -> Vec<String> { side.split_whitespace().map(Into::into).collect() };
    let (left, right) = (words(left), words(right));
    if input.len() != left.len() || target.len() != right.len() {
        return Err("InvalidPattern");
    }
    if input.len() > target.len() {
        return Err("RankMismatch");
    }
    let is_number = |word: &String| word.parse::<usize>().is_ok();
    let axis_of = |word: &String| {
        let found = right.iter().position(|other| other == word);
        found.filter(|_| !is_number(word))
    };
    let output_axes: Vec<Option<usize>> = left.iter().map(axis_of).collect();
    let wanted = |axis: &Option<usize>| axis.map_or(1, |axis| target[axis]);
    let numbers_fit = (right.iter().zip(target))
        .all(|(word, &size)| word.parse().is_ok_and(|n: usize| n == size) || !is_number(word));
    if !numbers_fit || !output_axes.iter().map(wanted).eq(input.iter().copied()) {
        return Err("InvalidPattern");
    }
    one_way(input, target, output_axes)
}

/// The oracle for prepended axes.
pub fn prepend(input: &[usize], sizes: &[usize]) -> Answer {
    let output = [sizes, input].concat();
    representable(AxisMap {
        output_axes: right_aligned(input.len(), output.len()),
        output,
    })
}

fn both(
    a: &[usize],
    b: &[usize],
    output: &[usize],
    output_axes: [Vec<Option<usize>>; 2],
) -> Result<[AxisMap; 2], &'static str> {
    let [axes_a, axes_b] = output_axes;
    Ok([one_way(a, output, axes_a)?, one_way(b, output, axes_b)?])
}

/// The oracle for an elementwise rule of two arrays.
pub fn pair(
    a: &[usize],
    b: &[usize],
    rule: &ElementwiseRule,
) -> Result<[AxisMap; 2], &'static str> {
    match rule {
        ElementwiseRule::None if a.len() != b.len() => Err("RankMismatch"),
        ElementwiseRule::None if a != b => Err("SizeMismatch"),
        ElementwiseRule::None | ElementwiseRule::Numpy => {
            let output = common_shape(&[a, b]).ok_or("SizeMismatch")?;
            let rank = output.len();
            both(
                a,
                b,
                &output,
                [right_aligned(a.len(), rank), right_aligned(b.len(), rank)],
            )
        }
        ElementwiseRule::Pdpd { axis } => {
            let b = pdpd(b, a, *axis)?;
            Ok([one_way(a, a, right_aligned(a.len(), a.len()))?, b])
        }
        ElementwiseRule::Paddle { axis } => paddle(a, b, *axis),
        ElementwiseRule::Xla {
            broadcast_dimensions,
        } => xla(a, b, broadcast_dimensions),
        other => panic!("the oracle does not know {other}"),
    }
}

/// Paddle's elementwise operations, in the order of its own checks. Identical shapes pass them.
fn paddle(a: &[usize], b: &[usize], axis: isize) -> Result<[AxisMap; 2], &'static str> {
    let (rank, small) = (a.len().max(b.len()), a.len().min(b.len()));
    let identical = a == b;
    if !identical && a.len() == b.len() && axis > 0 {
        return Err(if axis as usize >= rank {
            "OutOfRange"
        } else {
            "Overhang"
        });
    }
    if !identical && (axis < -1 || axis >= rank as isize) {
        return Err("OutOfRange");
    }
    let start = match axis {
        _ if identical => 0,
        -1 => rank - small,
        axis => axis as usize,
    };
    if start + small > rank {
        return Err("Overhang");
    }
    let wide = |shape: &[usize]| match shape.len() == rank {
        true => shape.to_vec(),
        false => [&vec![1; start][..], shape, &vec![1; rank - start - small]].concat(),
    };
    let output = common_shape(&[&wide(a), &wide(b)]).ok_or("SizeMismatch")?;
    let axes = |shape: &[usize]| {
        let first = if shape.len() == rank { 0 } else { start };
        (first..first + shape.len()).map(Some).collect()
    };
    both(a, b, &output, [axes(a), axes(b)])
}

/// XLA's two steps. In-dim broadcast gives the smaller operand the larger rank, with 1s on unmapped
/// axes. Then dimensions of size 1 broadcast.
fn xla(a: &[usize], b: &[usize], dimensions: &[usize]) -> Result<[AxisMap; 2], &'static str> {
    let rank = a.len().max(b.len());
    let identity: Vec<usize> = (0..rank).collect();
    let dimensions = if a.len() == b.len() {
        if !dimensions.is_empty() && dimensions != identity {
            return Err("Unexpected");
        }
        &identity[..]
    } else {
        let small = a.len().min(b.len());
        match (small, dimensions.len()) {
            (0, 1..) => return Err("Unexpected"),
            (1.., 0) => return Err("Missing"),
            _ => {}
        }
        if let Some(fault) = axes_fault(small, rank, dimensions, true) {
            return Err(fault);
        }
        dimensions
    };
    let output_axes = |shape: &[usize]| {
        if shape.len() == rank {
            &identity[..]
        } else {
            dimensions
        }
    };
    let in_dim = |shape: &[usize]| {
        let mut wide = vec![1; rank];
        output_axes(shape)
            .iter()
            .zip(shape)
            .for_each(|(&axis, &size)| wide[axis] = size);
        wide
    };
    let output = common_shape(&[&in_dim(a), &in_dim(b)]).ok_or("SizeMismatch")?;
    let some = |shape: &[usize]| output_axes(shape).iter().copied().map(Some).collect();
    both(a, b, &output, [some(a), some(b)])
}

/// The name of an error's variant; for a list of axes, of what is wrong with it.
pub fn variant(error: &BroadcastError) -> String {
    let debug = match error.kind() {
        ErrorKind::InvalidAxes { fault, .. } => format!("{fault:?}"),
        kind => format!("{kind:?}"),
    };
    debug
        .split([' ', '{', '('])
        .next()
        .unwrap_or_default()
        .to_string()
}

/// 0, 1, 2, ... in the given shape.
pub fn iota(shape: &[usize]) -> ArrayD<i32> {
    let len = shape.iter().product::<usize>() as i32;
    ArrayD::from_shape_vec(IxDyn(shape), (0..len).collect()).expect("the length matches the shape")
}

/// The next number of the generator SplitMix64: the same numbers on every machine.
pub fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A memory layout: the axis order of a backing array and the slicing that yields the view.
#[derive(Debug, Clone)]
pub struct Layout {
    /// The axes of the view in memory order, outermost first.
    pub order: Vec<usize>,
    /// The slice step of each axis. A negative step reverses the axis.
    pub steps: Vec<isize>,
}

impl Layout {
    /// An array whose [`Layout::view`] has `shape`, filled with 0, 1, 2, ... in memory order.
    pub fn backing(&self, shape: &[usize]) -> ArrayD<i32> {
        let outer: Vec<usize> = self
            .order
            .iter()
            .map(|&axis| shape[axis] * self.steps[axis].unsigned_abs())
            .collect();
        iota(&outer)
    }

    /// The backing array as a view of `shape`.
    pub fn view<'a>(&self, backing: &'a ArrayD<i32>) -> ArrayViewD<'a, i32> {
        let mut inverse = vec![0; self.order.len()];
        self.order
            .iter()
            .enumerate()
            .for_each(|(position, &axis)| inverse[axis] = position);
        let mut view = backing.view().permuted_axes(IxDyn(&inverse));
        for (axis, &step) in self.steps.iter().enumerate() {
            view.slice_axis_inplace(Axis(axis), Slice::new(0, None, step));
        }
        view
    }
}
