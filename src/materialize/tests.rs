//! Every way of a copy against an oracle that goes index by index, with streaming forced on and off and parts as small as a line.

use super::kernel::BLOCK;
use super::memory::WITHOUT_WIDE_REGISTERS;
use super::*;
use std::fmt::Debug;
use std::sync::atomic::Ordering;

/// Element types: sizes 1, 2, 4, 8, 16 and odd ones, one with padding.
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
    f32: |i| i as f32;
    f64: |i| i as f64;
    u128: |i| i as u128 * 0x1_0001_0001_0001_0001;
    [f32; 3]: |i| [i as f32, i as f32 + 0.25, i as f32 + 0.5];
    (u8, u16): |i| (i as u8, (i * 77 % 65521) as u16);
    [u64; 5]: |i| [i as u64; 5];
    Wide: |i| Wide(i);
    (): |_i| ();
}

/// Any number of bytes, all different.
impl<const N: usize> Element for [u8; N] {
    fn numbered(i: usize) -> Self {
        std::array::from_fn(|byte| (i * 31 + byte * 7 + (i >> 6)) as u8)
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

fn offset(shape: &[usize], strides: &[isize], mut linear: usize) -> isize {
    let mut offset = 0;
    for (&size, &stride) in shape.iter().zip(strides).rev() {
        offset += (linear % size) as isize * stride;
        linear /= size;
    }
    offset
}

/// Copies with the given strides, `shift` elements into the out buffer and others into the source, in every way, and compares all of
/// the out buffer.
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
    let mut expected = out.clone();
    for linear in 0..len {
        expected[(to_first + offset(shape, to, linear)) as usize] =
            source[(from_first + offset(shape, from, linear)) as usize];
    }
    let nest = LoopNest::new(shape, [to, from]).unwrap();
    for settings in [
        None,
        Some((false, 64)),
        Some((true, 64)),
        Some((false, 4096)),
        Some((true, 1 << 20)),
    ] {
        out.fill(sentinel);
        let to_pointer = out.as_mut_ptr().wrapping_offset(to_first);
        let from_pointer = source.as_ptr().wrapping_offset(from_first);
        match settings {
            // SAFETY: the buffers reach from the lowest to the highest offset, and are two.
            None => unsafe { copy(&nest, to_pointer, from_pointer, false) },
            Some((streamed, part_bytes)) => {
                if len == 0 || size_of::<A>() == 0 {
                    continue;
                }
                let to_pointer = to_pointer.wrapping_offset(nest.start()[0]);
                let from_pointer = from_pointer.wrapping_offset(nest.start()[1]);
                let settings = Settings {
                    streamed,
                    part_bytes,
                };
                // SAFETY: as above, and the nest's start is added.
                unsafe { copy_large(nest.clone(), to_pointer, from_pointer, settings) }
            }
        }
        assert!(
            out == expected,
            "{shape:?} to {to:?} from {from:?} shift {shift} {settings:?} {}",
            std::any::type_name::<A>()
        );
    }
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

/// A few shapes of each kind, big enough for several blocks, with every kind of out.
fn layouts<A: Element>() {
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
        &[5, 1100],
        &[2, 3, 4],
        &[17, 6, 33],
        &[3, 70, 9],
        &[2, 5, 3, 40],
        &[2, 3, 2, 3, 2, 3, 2, 3, 2, 3],
    ];
    for &shape in shapes {
        let rank = shape.len();
        let axes: Vec<usize> = (0..rank).collect();
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
                check::<A>(shape, out, source, 1);
            }
        }
    }
}

#[test]
fn every_layout_of_usual_elements() {
    layouts::<u8>();
    layouts::<f32>();
    layouts::<f64>();
}

#[test]
fn every_layout_of_other_elements() {
    layouts::<u16>();
    layouts::<u128>();
    layouts::<[f32; 3]>();
    layouts::<(u8, u16)>();
}

#[test]
fn odd_elements() {
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

/// `[N] -> [N, len]`, `[len] -> [N, len]`, `[N, len] -> [N, len]` with a gap, and transposed, for every short row.
fn rows<A: Element>() {
    for len in 0..=130 {
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

#[test]
fn rows_of_every_length() {
    rows::<u8>();
    rows::<f32>();
    rows::<[f32; 3]>();
}

#[test]
fn rows_of_every_length_of_other_elements() {
    rows::<u16>();
    rows::<f64>();
    rows::<u128>();
    rows::<(u8, u16)>();
}

/// Whoever else tests at the same time does without them too, which must make no difference.
#[test]
fn without_wide_registers() {
    WITHOUT_WIDE_REGISTERS.store(true, Ordering::Relaxed);
    rows::<u8>();
    rows::<u16>();
    rows::<f32>();
    rows::<f64>();
    rows::<u128>();
    layouts::<f32>();
    WITHOUT_WIDE_REGISTERS.store(false, Ordering::Relaxed);
}

/// `[N] -> [N, n]` for elements of every size that fits a register, `n` until rows are too long for it.
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
    expand::<1>();
    expand::<2>();
    expand::<3>();
    expand::<4>();
    expand::<5>();
    expand::<6>();
    expand::<7>();
    expand::<8>();
    expand::<9>();
    expand::<10>();
    expand::<11>();
    expand::<12>();
    expand::<13>();
    expand::<14>();
    expand::<15>();
    expand::<16>();
    expand::<17>();
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
    for shift in 0..64 {
        aligned::<u8>(shift);
        aligned::<[u8; 3]>(shift);
        aligned::<(u8, u16)>(shift % 32);
    }
    for shift in 0..32 {
        aligned::<u16>(shift);
    }
    for shift in 0..16 {
        aligned::<f32>(shift);
        aligned::<[f32; 3]>(shift);
        aligned::<f64>(shift % 8);
        aligned::<u128>(shift % 4);
    }
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
        // Of bytes in a row, then reversed, which must be made before it is repeated; then transposed.
        check::<u8>(&[5, period], &[period as isize, 1], &[0, 1], 3);
        check::<u8>(&[5, period], &[period as isize, 1], &[0, -1], 3);
        let columns = period / 64;
        let to = standard(&[5, 64, columns]);
        check::<u8>(&[5, 64, columns], &to, &[0, 1, 64], 5);
    }
}
