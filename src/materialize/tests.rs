//! Every copy against one that goes index by index, with streaming forced on and off and chunks as
//! small as a line.

use super::{fresh, into};
use crate::engine::copies::{self, Choose, Settings};
use crate::engine::machine::{has_wide_registers, tests::WithoutWideRegisters};
use crate::engine::tuning::{BLOCK, FEW_ELEMENTS, LONG_ROW};
use ndarray::{ArrayView, ArrayViewMut, Axis, IxDyn, ShapeBuilder};
use std::fmt::Debug;

/// Element types: sizes 1, 2, 4, 8, 16 and others, one with padding. Most are integers, whose
/// slices are compared fast without optimisation.
trait Element: Copy + Send + Sync + PartialEq + Debug {
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
    u32: |i| i as u32;
    u64: |i| i as u64;
    u128: |i| i as u128 * 0x1_0001_0001_0001_0001;
    [u32; 3]: |i| [i as u32, i as u32 + (1 << 24), !(i as u32)];
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
struct Wide(usize);

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
fn check<A: Element>(shape: &[usize], to: &[isize], from: &[isize], shift: usize) {
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
    let blank = out.clone();
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
    assert!(copied.as_slice().unwrap() == elements, "{}", layouts());
    for (number, choose) in choices.into_iter().enumerate() {
        out.copy_from_slice(&blank);
        let mut to_view = ArrayViewMut::from_shape(layout(to), &mut out[shift..]).unwrap();
        reversed(to).for_each(|axis| to_view.invert_axis(axis));
        match choose {
            Some(choose) => copies::into(&mut to_view, &from_view, choose).unwrap(),
            None => into(&mut to_view, &from_view).unwrap(),
        }
        assert!(
            out == expected,
            "to {to:?} shift {shift} settings {number}, {}",
            layouts()
        );
    }
}

/// The step between cases that are checked: 1 if the variable `ALL_CASES` is set, as in
/// `.ci/long-checks checked`. Only that finds a fault of one length of rows, or of one pair of
/// layouts, that the elements with all cases in every run do not have.
fn sparse(step: usize) -> usize {
    match std::env::var_os("ALL_CASES") {
        Some(_) => 1,
        None => step,
    }
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
fn check_standard<A: Element>(shape: &[usize], from: &[isize]) {
    check::<A>(shape, &standard(shape), from, 1);
}

/// Row-major strides.
fn standard(shape: &[usize]) -> Vec<isize> {
    let mut strides = vec![1; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis] * shape[axis] as isize;
    }
    strides
}

/// Row-major strides of the array whose axes are `order`, seen in the order of `shape`.
fn permuted(shape: &[usize], order: &[usize]) -> Vec<isize> {
    let inner: Vec<usize> = order.iter().map(|&axis| shape[axis]).collect();
    let mut strides = vec![0; shape.len()];
    for (&axis, stride) in order.iter().zip(standard(&inner)) {
        strides[axis] = stride;
    }
    strides
}

/// The strides of a source that has only the axes in `kept`, the others replicated.
fn replicated(shape: &[usize], kept: &[usize]) -> Vec<isize> {
    let inner: Vec<usize> = kept.iter().map(|&axis| shape[axis]).collect();
    let mut strides = vec![0; shape.len()];
    for (&axis, stride) in kept.iter().zip(standard(&inner)) {
        strides[axis] = stride;
    }
    strides
}

/// `[N] -> [N, len]`, `[len] -> [N, len]`, `[N, len] -> [N, len]` with a gap, and transposed, for
/// every short row. Rows of 37 to 125 elements, but for those around 64, every `step`-th length.
fn check_rows<A: Element>(step: usize) {
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
fn check_layouts<A: Element>(step: usize) {
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

#[test]
fn every_layout_of_usual_elements() {
    check_layouts::<u8>(sparse(3));
    check_layouts::<u32>(1);
    check_layouts::<u64>(sparse(3));
}

#[test]
fn every_layout_of_other_elements() {
    check_layouts::<u16>(sparse(7));
    check_layouts::<u128>(sparse(7));
    check_layouts::<[u32; 3]>(sparse(7));
    check_layouts::<(u8, u16)>(sparse(7));
    check_layouts::<[u8; 3]>(sparse(7));
    check_layouts::<[u64; 3]>(sparse(7));
}

#[test]
fn elements_of_odd_sizes_and_of_none() {
    for (shape, kept) in [
        (&[300, 3][..], &[0][..]),
        (&[300, 3], &[1]),
        (&[30, 11, 4], &[0, 2]),
        (&[700], &[]),
    ] {
        let from = replicated(shape, kept);
        check::<[u8; 3]>(shape, &standard(shape), &from, 1);
        check::<[u64; 5]>(shape, &standard(shape), &from, 1);
        check::<[u8; 2000]>(shape, &standard(shape), &from, 1);
        check::<Wide>(shape, &standard(shape), &from, 1);
        check::<()>(shape, &standard(shape), &from, 1);
    }
    check::<Wide>(&[40, 30], &[30, 1], &[1, 40], 0);
    check::<[u8; 3]>(&[40, 30], &[30, 1], &[1, 40], 0);
    check::<[u64; 5]>(&[40, 30], &[30, 1], &[1, 40], 0);
}

/// Planes of every small size, on both sides of every threshold: `[N, 1, n] -> [N, k, n]`, `[N,
/// k] -> [N, k, n]`, `[k, n] -> [N, k, n]` and the planes of a permuted source, within a larger
/// nest whose outermost axis replicates it all and without.
#[test]
fn small_planes_of_every_size() {
    /// Every `step`-th shape.
    fn planes<A: Element>(step: usize, rows: &[usize]) {
        let mut shapes = 0;
        for n in [1, 2, 3, 4, 5, 8, 15, 16, 17, 33] {
            for &k in rows {
                for planes in [3, 4, 5, 1 + 9000 / (n * k * size_of::<A>())] {
                    shapes += 1;
                    if shapes % step != 0 {
                        continue;
                    }
                    let shape = [planes, k, n];
                    let to = standard(&shape);
                    let shift = (n + k) % 5;
                    for kept in [&[0, 2][..], &[0, 1], &[1, 2], &[0], &[1]] {
                        check::<A>(&shape, &to, &replicated(&shape, kept), shift);
                    }
                    check::<A>(&shape, &to, &permuted(&shape, &[2, 0, 1]), shift);
                    check::<A>(&shape, &permuted(&shape, &[1, 0, 2]), &to, shift);
                    let shape = [2, planes, k, n];
                    for kept in [&[1, 3][..], &[1, 2], &[2, 3]] {
                        let from = replicated(&shape, kept);
                        check::<A>(&shape, &standard(&shape), &from, shift);
                    }
                }
            }
        }
    }
    planes::<u8>(sparse(3), &[2, 7, 63, 64, 65, 130]);
    planes::<u32>(1, &[2, 3, 4, 8, 31, 32, 33, 65]);
    planes::<(u8, u16)>(sparse(3), &[2, 5]);
    planes::<u64>(sparse(3), &[2, 5, 32, 33]);
    planes::<[u32; 3]>(sparse(3), &[2, 5]);
    planes::<u128>(sparse(3), &[2, 16, 17]);
}

/// 8 KiB are 2048 elements of 4 bytes.
#[test]
fn planes_around_the_longest_repeated_one() {
    for (shape, from) in [
        (&[4, 3, 5][..], &[0, 5, 1][..]),
        (&[4, 3, 5], &[5, 0, 1]),
        (&[2, 4, 3, 5], &[15, 0, 5, 1]),
        (&[2, 4, 3, 5], &[0, 15, 5, 1]),
        (&[2, 2, 4, 3, 5], &[0, 15, 0, 5, 1]),
        (&[2, 2, 1024], &[0, 1024, 1]),
        (&[2, 3, 683], &[0, 683, 1]),
        (&[2, 2, 3, 683], &[0, 0, 683, 1]),
        (&[2, 3, 2, 2, 256], &[0, 512, 0, 256, 1]),
        (&[3, 3, 1025], &[0, 2050, 1]),
        (&[3, 2, 3, 700], &[0, 2100, 0, 1]),
        (&[3, 5000], &[0, 1]),
        (&[3, 5000], &[0, 2]),
    ] {
        check_standard::<u32>(shape, from);
        // Output with a gap after the outermost axis, then after each row.
        let mut gap = standard(shape);
        gap[0] += 1;
        check::<u32>(shape, &gap, from, 1);
        let mut gap: Vec<isize> = gap.iter().map(|stride| stride * 2).collect();
        gap[shape.len() - 1] = 1;
        check::<u32>(shape, &gap, from, 1);
    }
}

#[test]
fn without_wide_registers() {
    let _without = WithoutWideRegisters::new();
    assert!(!has_wide_registers());
    check_rows::<u8>(sparse(5));
    check_rows::<u16>(sparse(5));
    check_rows::<u32>(sparse(5));
    check_rows::<u64>(sparse(5));
    check_rows::<u128>(sparse(5));
    check_layouts::<u32>(sparse(3));
}

#[test]
fn every_alignment() {
    fn aligned<A: Element>(shift: usize) {
        check::<A>(&[900, 7], &[7, 1], &[0, 1], shift);
        check::<A>(&[900, 7], &[7, 1], &[1, 0], shift);
        check::<A>(&[6000], &[1], &[1], shift);
        check::<A>(&[6000], &[1], &[0], shift);
        check::<A>(&[2, 9000], &[9000, 1], &[0, 1], shift);
        check::<A>(&[20, 300], &[300, 1], &[1, 0], shift);
        check::<A>(&[3, 50, 40], &[2000, 40, 1], &[0, 1, 50], shift);
        check::<A>(&[200, 100], &[100, 1], &[1, 200], shift);
    }
    // Every byte of a cache line that an element may begin at.
    (0..64).for_each(aligned::<u8>);
    for shift in (0..64).step_by(5) {
        aligned::<[u8; 3]>(shift);
        aligned::<(u8, u16)>(shift % 32);
    }
    (0..32).step_by(sparse(3)).for_each(aligned::<u16>);
    (0..16).for_each(aligned::<u32>);
    (0..16).step_by(sparse(3)).for_each(aligned::<[u32; 3]>);
    (0..8).for_each(aligned::<u64>);
    (0..4).for_each(aligned::<u128>);
}

#[test]
fn rows_around_the_longest_built_one() {
    for (shape, from) in [
        (&[64, 1023][..], &[2048, 1][..]),
        (&[64, 1024], &[2048, 1]),
        (&[64, 1024], &[4096, 2]),
        (&[4, 256], &[600, 1]),
        (&[4, 255], &[600, 1]),
        (&[1000, 341], &[1, 0]),
        (&[100, 3], &[1, 0]),
        (&[100_000, 3], &[1, 0]),
    ] {
        check_standard::<u32>(shape, from);
        let gap = [shape[1] as isize + 5, 1];
        check::<u32>(shape, &gap, from, 3);
    }
}

/// `[N] -> [N, n]` for elements of every size that fits a register, `n` until rows are too long
/// for it.
#[test]
fn short_rows_of_elements_of_every_size() {
    fn expand<const SIZE: usize>() {
        for n in 1..=64 / SIZE + 2 {
            for shift in [0, 1, 3] {
                let rows = 3000 / (n * SIZE) + 5;
                check::<[u8; SIZE]>(&[rows, n], &[n as isize, 1], &[1, 0], shift);
                // A source that is cut: its end is not the end of memory.
                let to = standard(&[2, rows, n]);
                check::<[u8; SIZE]>(&[2, rows, n], &to, &[rows as isize + 1, 1, 0], shift);
            }
        }
    }
    macro_rules! of_sizes { ($($size:literal)*) => { $(expand::<$size>();)* } }
    of_sizes!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17);
}

#[test]
fn a_period_around_the_block() {
    for period in [
        // What is repeated at a time with plain stores.
        2047,
        2048,
        2049,
        BLOCK / 2 - 1,
        BLOCK / 2,
        BLOCK / 2 + 1,
        BLOCK,
        BLOCK + 1,
        3 * BLOCK,
    ] {
        // Of bytes in a row, then reversed, which must be made before it is repeated; then
        // transposed.
        check::<u8>(&[5, period], &[period as isize, 1], &[0, 1], 3);
        check::<u8>(&[5, period], &[period as isize, 1], &[0, -1], 3);
        let columns = period / 64;
        let to = standard(&[5, 64, columns]);
        check::<u8>(&[5, 64, columns], &to, &[0, 1, 64], 5);
    }
}

#[test]
fn repeated_values_and_rows_around_each_threshold() {
    for (shape, from) in [
        (&[1023][..], &[0][..]),
        (&[1024], &[0]),
        (&[1 << 20], &[0]),
        (&[64, 1023], &[0, 1]),
        (&[64, 1024], &[0, 1]),
        (&[200, 1023], &[1, 0]),
        (&[200, 1024], &[1, 0]),
        (&[50, 8191], &[1, 0]),
        (&[50, 8192], &[1, 0]),
        (&[64, 2048], &[0, -1]),
        (&[64, 2049], &[0, -1]),
    ] {
        check_standard::<u32>(shape, from);
    }
    for shape in [[3, 1 << 20], [3, (1 << 20) + 1]] {
        check_standard::<u8>(&shape, &[0, -1]);
    }
    check::<u32>(&[100, 2000], &[3000, 1], &[1, 0], 1);
    check::<u32>(&[100, 2000], &[3000, 1], &[6000, 3], 1);
    check::<u32>(&[100, 2000], &[3000, 1], &[6000, 1], 1);
    check::<u32>(&[100, 100], &[200, 1], &[0, 1], 1);
}

#[test]
fn repeated_planes_and_repeats_inside_repeats() {
    for (shape, from) in [
        (&[8, 64, 100][..], &[0, 200, 1][..]),
        (&[8, 4, 1024], &[0, 2000, 1]),
        (&[4, 256, 1024], &[0, 2000, 1]),
        (&[4, 257, 1024], &[0, 2000, 1]),
        (&[64, 2, 4, 256], &[0, 512, 0, -1]),
        (&[64, 2, 16, 64], &[0, 128, 0, -1]),
        (&[4, 32, 4, 511], &[0, 1533, 0, -1]),
        (&[4, 32, 4, 2047], &[0, 6141, 0, -1]),
        (&[4, 32, 4, 2048], &[0, 6144, 0, -1]),
        (&[3, 32, 4, 512], &[0, 1536, 0, -1]),
        (&[40, 8, 8, 512], &[0, 1536, 0, -1]),
    ] {
        check_standard::<u32>(shape, from);
    }
}

#[test]
fn rows_of_every_length() {
    check_rows::<u8>(1);
    check_rows::<u32>(1);
    check_rows::<[u32; 3]>(sparse(5));
}

#[test]
fn rows_of_every_length_of_other_elements() {
    check_rows::<u16>(sparse(5));
    check_rows::<u64>(sparse(5));
    check_rows::<u128>(sparse(5));
    check_rows::<(u8, u16)>(sparse(5));
    check_rows::<[u8; 3]>(sparse(5));
    check_rows::<[u64; 3]>(sparse(5));
}

/// From planes to pixels and from pixels to planes, dense and with gaps, of `n` pixels.
fn channels<A: Element>(n: usize) {
    for channels in 1..=6 {
        let (c, len) = (channels as isize, n as isize);
        for plane in [len, len + 3] {
            check_standard::<A>(&[n, channels], &[1, plane]);
            check::<A>(&[n, channels], &[c + 1, 1], &[1, plane], 1);
            check::<A>(&[channels, n], &[plane, 1], &[1, c], 1);
        }
        check::<A>(&[channels, n], &[len, 1], &[1, c + 1], 1);
        check_standard::<A>(&[2, n, channels], &[c * len, 1, len]);
        check_standard::<A>(&[2, channels, n], &[c * len, 1, c]);
        // Rows of one element each.
        check::<A>(&[n, channels], &[c, 1], &[1, 0], 1);
        check::<A>(&[3, n, channels], &[c * len, c, 1], &[0, 1, 0], 1);
    }
}

#[test]
fn channels_of_elements_of_every_size() {
    for n in [2, 3, 15, 16, 17, 31, 33, 64, 65, 129, 700] {
        channels::<u8>(n);
        channels::<u16>(n);
        channels::<(u8, u16)>(n);
        channels::<u32>(n);
        channels::<u64>(n);
    }
    for n in [3, 33] {
        channels::<[u8; 3]>(n);
        channels::<u128>(n);
        channels::<[u64; 3]>(n);
        channels::<()>(n);
    }
}

#[test]
fn matrices_around_the_smallest_one_cut_into_squares() {
    for (shape, from) in [
        (&[4, 8][..], &[1, 4][..]),
        (&[3, 8], &[1, 3]),
        (&[8, 7], &[1, 8]),
        (&[8, 8], &[1, 8]),
        (&[3, 4096], &[1, 3]),
        (&[4, 5, 8], &[1, 40, 4]),
        (&[5, 4, 8], &[40, -1, 4]),
        (&[70, 90, 50], &[1, 3500, 70]),
        // Rows are repeated, and lie across the outer axis.
        (&[4, 3, 6], &[1, 0, 4]),
        (&[70, 3, 50], &[1, 0, 70]),
        (&[2, 33, 2, 40], &[1320, -1, 0, 33]),
        (&[5, 2, 4500], &[1, 0, 5]),
        // Windows onto a row: neither axis has the shorter stride.
        (&[8, 8], &[3, 3]),
        (&[8, 8], &[2, -2]),
    ] {
        check_standard::<u8>(shape, from);
        check_standard::<u32>(shape, from);
        check_standard::<[u8; 3]>(shape, from);
        check_standard::<u64>(shape, from);
        check_standard::<u128>(shape, from);
        check_standard::<[u64; 3]>(shape, from);
    }
    check::<u32>(&[4, 8], &[10, 1], &[1, 4], 1);
    check::<u32>(&[8, 3, 8], &[72, 24, 3], &[1, 0, 8], 1);
    check::<u32>(&[8, 3, 8], &[73, 24, 1], &[1, 0, 8], 1);
    check::<u32>(&[4, 8], &[16, 2], &[1, 4], 1);
}

#[test]
fn squares_of_elements_of_every_size() {
    for rows in [4, 7, 8, 9, 15, 16, 17, 33, 64, 65] {
        for columns in [8, 9, 15, 16, 17, 31, 40] {
            let (shape, [r, c]) = (&[rows, columns], [rows as isize, columns as isize]);
            for (to, from) in [
                ([c, 1], [1, r]),
                ([c + 3, 1], [1, r + 5]),
                ([-c, 1], [1, r]),
                ([c, 1], [-1, r]),
                ([c, 1], [1, -r]),
                ([c, -1], [1, r]),
            ] {
                check::<u8>(shape, &to, &from, 1);
                check::<u16>(shape, &to, &from, 1);
                check::<(u8, u16)>(shape, &to, &from, 1);
                check::<u32>(shape, &to, &from, 1);
                check::<u64>(shape, &to, &from, 1);
            }
        }
    }
}

#[test]
fn rows_a_number_of_pages_apart() {
    for stride in [4096, 8192] {
        check::<u8>(&[20, 300], &[stride, 1], &[1, 20], 0);
        check::<u32>(&[20, 300], &[stride / 4, 1], &[1, 20], 0);
        check::<u32>(&[20, 300], &[-stride / 4, 1], &[1, 20], 0);
        check::<u64>(&[20, 300], &[stride / 8, 1], &[1, 20], 0);
        check::<u128>(&[20, 200], &[stride / 16, 1], &[1, 20], 0);
    }
}
