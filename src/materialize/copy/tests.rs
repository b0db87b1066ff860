//! The oracle of the kernels' tests: every strategy against a copy that goes index by index, with
//! streaming forced on and off and chunks as small as a line.

use super::super::strategy::Settings;
use super::operands::Choose;
use super::{fresh, into, into_by};
use crate::engine::tuning::{BLOCK, FEW_ELEMENTS, LONG_ROW};
use ndarray::{ArrayView, ArrayViewMut, Axis, IxDyn, ShapeBuilder};
use std::fmt::Debug;

/// Element types: sizes 1, 2, 4, 8, 16 and others, one with padding.
pub(super) trait Element: Copy + Send + Sync + PartialEq + Debug {
    fn numbered(i: usize) -> Self;
}

macro_rules! element {
    ($($type:ty: |$i:ident| $value:expr;)*) => {$(
        impl Element for $type {
            fn numbered($i: usize) -> Self { $value }
        }
    )*};
}

element! {
    u8: |i| (i * 37 % 251) as u8;
    u16: |i| (i * 1663 % 65521) as u16;
    f32: |i| i as f32;
    f64: |i| i as f64;
    u128: |i| i as u128 * 0x1_0001_0001_0001_0001;
    [f32; 3]: |i| [i as f32, i as f32 + 0.25, i as f32 + 0.5];
    (u8, u16): |i| (i as u8, (i * 77 % 65521) as u16);
    [u64; 3]: |i| [i as u64, i as u64 + (1 << 40), !(i as u64)];
    [u64; 5]: |i| [i as u64; 5];
    Wide: |i| Wide(i);
    (): |_i| ();
}

/// Any number of bytes, all different.
impl<const N: usize> Element for [u8; N] {
    fn numbered(i: usize) -> Self {
        let mut element = [0; N];
        let mut byte = 0;
        while byte < N {
            element[byte] = (i * 31 + byte * 7 + (i >> 6)) as u8;
            byte += 1;
        }
        element
    }
}

/// Aligned beyond a cache line.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(align(128))]
pub(super) struct Wide(usize);

/// The lowest and highest offset that the strides reach.
fn reach(shape: &[usize], strides: &[isize]) -> (isize, isize) {
    let (mut low, mut high) = (0, 0);
    for (&size, &stride) in shape.iter().zip(strides) {
        let far = stride * (size as isize - 1);
        low += far.min(0);
        high += far.max(0);
    }
    (low, high)
}

/// The positions of all elements in index order, if that of the first is `first`.
fn positions(shape: &[usize], strides: &[isize], first: isize) -> Vec<usize> {
    let len: usize = shape.iter().product();
    let mut positions = Vec::with_capacity(len);
    let mut index = vec![0; shape.len()];
    let mut position = first;
    // Tests are compiled without optimisation: a plain loop is faster than iterators.
    while positions.len() < len {
        positions.push(position as usize);
        let mut axis = shape.len();
        while axis > 0 {
            axis -= 1;
            index[axis] += 1;
            position += strides[axis];
            if index[axis] < shape[axis] {
                break;
            }
            position -= strides[axis] * shape[axis] as isize;
            index[axis] = 0;
        }
    }
    positions
}

/// Copies with the given strides, `shift` elements into the out buffer and others into the source,
/// in every way, and compares all of the out buffer. The same to a fresh array.
pub(super) fn check<A: Element>(shape: &[usize], to: &[isize], from: &[isize], shift: usize) {
    let len: usize = shape.iter().product();
    let (to_low, to_high) = reach(shape, to);
    let (from_low, from_high) = reach(shape, from);
    let sentinel = A::numbered(123_456);
    let mut out = vec![sentinel; (to_high - to_low) as usize + 1 + 2 * shift];
    let from_shift = shift * 5 % 16;
    let source: Vec<A> = (0..=(from_high - from_low) as usize + from_shift)
        .map(A::numbered)
        .collect();
    let to_first = shift as isize - to_low;
    let from_first = from_shift as isize - from_low;
    let (to_at, from_at) = (
        positions(shape, to, to_first),
        positions(shape, from, from_first),
    );
    let mut expected = out.clone();
    let mut elements = Vec::with_capacity(len);
    let mut i = 0;
    while i < len {
        let element = source[from_at[i]];
        expected[to_at[i]] = element;
        elements.push(element);
        i += 1;
    }
    // Views begin at the lowest offset, with positive strides; axes are then turned round.
    let layout = |strides: &[isize]| {
        let strides: Vec<usize> = strides.iter().map(|stride| stride.unsigned_abs()).collect();
        IxDyn(shape).strides(IxDyn(&strides))
    };
    let mut from_view = ArrayView::from_shape(layout(from), &source[from_shift..]).unwrap();
    reversed(from).for_each(|axis| from_view.invert_axis(axis));
    let choices: [Option<Choose>; 5] = [
        None,
        Some(|_| settings(false, 64)),
        Some(|_| settings(true, 64)),
        Some(|_| settings(false, 4096)),
        Some(|_| settings(true, 1 << 20)),
    ];
    let copied = fresh(&from_view).unwrap();
    let layouts = || format!("{shape:?} from {from:?} {}", std::any::type_name::<A>());
    assert!(same(copied.as_slice().unwrap(), &elements), "{}", layouts());
    for (number, choose) in choices.into_iter().enumerate() {
        out.fill(sentinel);
        let mut to_view = ArrayViewMut::from_shape(layout(to), &mut out[shift..]).unwrap();
        reversed(to).for_each(|axis| to_view.invert_axis(axis));
        match choose {
            Some(choose) => into_by(&mut to_view, &from_view, choose).unwrap(),
            None => into(&mut to_view, &from_view).unwrap(),
        }
        assert!(
            same(&out, &expected),
            "to {to:?} shift {shift} settings {number}, {}",
            layouts()
        );
    }
}

/// The step between cases that are checked: 1 if the variable `ALL_CASES` is set, as in
/// `.ci/long-checks checked`. Only that finds a fault of one length of rows, or of one pair of
/// layouts, that the elements with all cases in every run do not have.
pub(super) fn sparse(step: usize) -> usize {
    match std::env::var_os("ALL_CASES") {
        Some(_) => 1,
        None => step,
    }
}

fn same<A: PartialEq>(a: &[A], b: &[A]) -> bool {
    let mut i = 0;
    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len() && i == b.len()
}

/// The axes with negative strides.
fn reversed(strides: &[isize]) -> impl Iterator<Item = Axis> {
    let negative = strides
        .iter()
        .enumerate()
        .filter(|(_, stride)| **stride < 0);
    negative.map(|(axis, _)| Axis(axis))
}

fn settings(streamed: bool, chunk_bytes: usize) -> Option<Settings> {
    Some(Settings {
        streamed,
        chunk_bytes,
    })
}

/// Copies to standard layout.
pub(super) fn check_standard<A: Element>(shape: &[usize], from: &[isize]) {
    check::<A>(shape, &standard(shape), from, 1);
}

/// Row-major strides.
pub(super) fn standard(shape: &[usize]) -> Vec<isize> {
    let mut strides = vec![1; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis] * shape[axis] as isize;
    }
    strides
}

/// Row-major strides of the array whose axes are `order`, seen in the order of `shape`.
pub(super) fn permuted(shape: &[usize], order: &[usize]) -> Vec<isize> {
    let inner: Vec<usize> = order.iter().map(|&axis| shape[axis]).collect();
    let mut strides = vec![0; shape.len()];
    for (&axis, stride) in order.iter().zip(standard(&inner)) {
        strides[axis] = stride;
    }
    strides
}

/// The strides of a source that has only the axes in `kept`, the others replicated.
pub(super) fn replicated(shape: &[usize], kept: &[usize]) -> Vec<isize> {
    let inner: Vec<usize> = kept.iter().map(|&axis| shape[axis]).collect();
    let mut strides = vec![0; shape.len()];
    for (&axis, stride) in kept.iter().zip(standard(&inner)) {
        strides[axis] = stride;
    }
    strides
}

/// `[N] -> [N, len]`, `[len] -> [N, len]`, `[N, len] -> [N, len]` with a gap, and transposed, for
/// every short row. Rows of 37 to 125 elements, but for those around 64, every `step`-th length.
pub(super) fn check_rows<A: Element>(step: usize) {
    let lens = (0..=130)
        .filter(|len| !(37..126).contains(len) || (62..67).contains(len) || len % step == 0);
    for len in lens {
        let n = 20 + 4000 / (len + 1);
        let shape = [n, len];
        let to = standard(&shape);
        let shift = len % 17;
        check::<A>(&shape, &to, &[1, 0], shift);
        check::<A>(&shape, &to, &[0, 1], shift);
        check::<A>(&shape, &to, &[len as isize + 2, 1], shift);
        check::<A>(&shape, &to, &[1, n as isize], shift);
        check::<A>(&shape, &[len as isize + 1, 1], &[1, 0], shift);
    }
}

/// Elements of which a few fill a chunk of a map, and one more.
#[test]
fn long_rows_of_large_elements() {
    const SIZE: usize = BLOCK / 128;
    for len in [LONG_ROW, LONG_ROW + 1] {
        let shape = [8, len];
        check_standard::<[u8; SIZE]>(&shape, &[0, 1]);
        check_standard::<[u8; SIZE]>(&shape, &[1, 0]);
    }
}

/// A few shapes of each kind, big enough for several blocks, with every kind of out: every
/// `step`-th pair of an out and a source.
pub(super) fn check_layouts<A: Element>(step: usize) {
    let mut pairs = 0;
    let shapes: &[&[usize]] = &[
        &[],
        &[1],
        &[0, 5],
        &[3],
        &[4099],
        &[4, 3],
        &[1500, 3],
        &[3, 1500],
        &[40, 65],
        &[4, FEW_ELEMENTS / 4],
        &[4, FEW_ELEMENTS / 4 + 1],
        &[2, 5, LONG_ROW - 1],
        &[2, 5, LONG_ROW],
        &[5, 1100],
        &[2, 3, 4],
        &[17, 6, 33],
        &[3, 70, 9],
        &[2, 5, 3, 40],
        &[2, 3, 2, 3, 2, 3, 2, 3, 2, 3],
        &[3, 5, 4, 6, 5, 6],
        &[300, 2, 3],
        &[2, 90, 2, 3, 2],
    ];
    for &shape in shapes {
        let rank = shape.len();
        let axes: Vec<usize> = (0..rank).collect();
        let (even, odd): (Vec<usize>, Vec<usize>) = axes.iter().partition(|&axis| axis % 2 == 0);
        let reversed: Vec<usize> = axes.iter().rev().copied().collect();
        let mut rotated = axes.clone();
        rotated.rotate_left(rank.min(1));
        let scaled = |strides: Vec<isize>, by: isize| -> Vec<isize> {
            strides.iter().map(|stride| stride * by).collect()
        };
        let first_only: Vec<usize> = axes.iter().take(1).copied().collect();
        let last_only: Vec<usize> = axes.iter().rev().take(1).copied().collect();
        let without_first: Vec<usize> = axes.iter().skip(1).copied().collect();
        let without_last: Vec<usize> = axes.iter().take(rank.max(1) - 1).copied().collect();
        let ends: Vec<usize> = (axes.iter().copied())
            .filter(|&axis| axis == 0 || axis + 1 == rank)
            .collect();
        let mut alternating = standard(shape);
        for stride in alternating.iter_mut().step_by(2) {
            *stride = -*stride;
        }
        let mut padded: Vec<usize> = shape.to_vec();
        if let Some(last) = padded.last_mut() {
            *last += 3;
        }
        let outs = [
            standard(shape),
            permuted(shape, &reversed),
            standard(&padded),
            scaled(standard(shape), 2),
            alternating.clone(),
        ];
        let mut mixed = replicated(shape, &without_first);
        mixed.iter_mut().for_each(|stride| *stride = -*stride);
        let sources = [
            standard(shape),
            vec![0; rank],
            replicated(shape, &first_only),
            replicated(shape, &last_only),
            replicated(shape, &without_first),
            replicated(shape, &without_last),
            replicated(shape, &ends),
            replicated(shape, &even),
            replicated(shape, &odd),
            permuted(shape, &reversed),
            permuted(shape, &rotated),
            scaled(permuted(shape, &reversed), 2),
            scaled(standard(shape), 2),
            scaled(standard(shape), -1),
            scaled(standard(shape), -3),
            mixed,
            alternating,
        ];
        for out in &outs {
            for source in &sources {
                pairs += 1;
                if pairs % step == 0 {
                    check::<A>(shape, out, source, 1);
                }
            }
        }
    }
}
