//! Every way of a copy against an oracle that goes index by index, with streaming forced on and off and parts as small as a line.

use super::copy::BLOCK;
use super::*;
use crate::engine::simd::{WITHOUT_WIDE_REGISTERS, has_wide_registers};
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

/// Planes of every small size, on both sides of every threshold: `[N, 1, n] -> [N, k, n]`, `[N, k] -> [N, k, n]`, `[k, n] -> [N, k, n]` and
/// the planes of a permuted source, within a larger nest whose outermost axis replicates it all and without.
#[test]
fn small_planes_of_every_size() {
    fn planes<A: Element>(rows: impl Clone + Iterator<Item = usize>) {
        for n in [1, 2, 3, 4, 5, 8, 15, 16, 17, 33] {
            for k in rows.clone() {
                for planes in [3, 4, 5, 1 + 9000 / (n * k * size_of::<A>())] {
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
    planes::<u8>([2, 7, 63, 64, 65, 130].into_iter());
    planes::<f32>([2, 3, 4, 8, 31, 32, 33, 65].into_iter());
    planes::<(u8, u16)>([2, 5].into_iter());
    planes::<f64>([2, 5, 32, 33].into_iter());
    planes::<[f32; 3]>([2, 5].into_iter());
    planes::<u128>([2, 16, 17].into_iter());
}

/// Whoever else tests at the same time does without them too, which must make no difference.
#[test]
fn without_wide_registers() {
    WITHOUT_WIDE_REGISTERS.store(true, Ordering::Relaxed);
    assert!(!has_wide_registers());
    rows::<u8>();
    rows::<u16>();
    rows::<f32>();
    rows::<f64>();
    rows::<u128>();
    layouts::<f32>();
    WITHOUT_WIDE_REGISTERS.store(false, Ordering::Relaxed);
    #[cfg(target_arch = "x86_64")]
    assert_eq!(has_wide_registers(), is_x86_feature_detected!("avx2"));
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

#[test]
fn parts_are_a_quarter_of_a_threads_share_within_bounds() {
    let four_each = 4 * max_threads();
    for (share, part_bytes) in [
        (0, 64 << 10),
        (64 << 10, 64 << 10),
        ((64 << 10) + 1, 128 << 10),
        (100_000, 128 << 10),
        (1 << 20, 1 << 20),
        ((1 << 20) + 1, HUGE_PAGE),
        (HUGE_PAGE, HUGE_PAGE),
        (1 << 30, HUGE_PAGE),
    ] {
        let settings = Settings::for_bytes(four_each * share, true);
        assert_eq!(settings.part_bytes, part_bytes, "{share}");
    }
}

#[test]
fn large_existing_memory_is_streamed() {
    for (bytes, fresh, streamed) in [
        (0, false, false),
        ((20 << 20) - 1, false, false),
        (20 << 20, false, CAN_STREAM),
        (1 << 40, false, CAN_STREAM),
        (20 << 20, true, false),
        (1 << 40, true, false),
    ] {
        let settings = Settings::for_bytes(bytes, fresh);
        assert_eq!(settings.streamed, streamed, "{bytes} {fresh}");
    }
}

/// A part that makes its own pieces holds at least four of them, and no more than make them a small part of its work.
#[test]
fn parts_hold_several_periods() {
    let four_each = 4 * max_threads();
    for (share, period, periods) in [
        (0, 1 << 10, 4),
        (3 << 10, 1 << 10, 4),
        (5 << 10, 1 << 10, 5),
        (10_000, 1000, 10),
        (1 << 30, 64 << 10, 64),
        (1 << 30, 1 << 20, 16),
        (1 << 30, 8 << 20, 16),
        (5 << 20, 1 << 20, 5),
    ] {
        let found = periods_in_part(four_each * share, period);
        assert_eq!(found, periods, "{share} {period}");
    }
}

/// Every way is right for every layout; which one is taken makes the speed.
#[test]
fn each_layout_goes_its_way() {
    // Of 4 bytes, to standard layout: plain and streamed.
    let dense: &[(&[usize], &[isize], &str, &str)] = &[
        (&[], &[], "Plain", "Plain"),
        // A value, a row and columns replicated; a value also along an inner axis only.
        (&[1023], &[0], "Plain", "Plain"),
        (&[1024], &[0], "Repeat(0)", "Repeat(0)"),
        (&[1 << 20], &[0], "Repeat(0)", "Repeat(0)"),
        (&[64, 1023], &[0, 1], "Repeat(0)", "Repeat(0)"),
        (&[64, 1024], &[0, 1], "Plain", "StreamRows"),
        (&[100_000, 3], &[1, 0], "Plain", "StreamExpanded(0)"),
        (&[100, 3], &[1, 0], "Plain", "Plain"),
        (&[1000, 1023], &[1, 0], "Plain", "StreamBuilt(0)"),
        (&[1000, 1024], &[1, 0], "Repeat(1)", "StreamBuilt(0)"),
        (&[1000, 8191], &[1, 0], "Repeat(1)", "StreamBuilt(0)"),
        (&[1000, 8192], &[1, 0], "Repeat(1)", "Repeat(1)"),
        // Pieces that must be made before they are repeated: up to half a block, longer ones, and too long ones.
        (&[64, 2048], &[0, -1], "Repeat(0)", "Repeat(0)"),
        (&[64, 2049], &[0, -1], "RepeatPieces(0)", "RepeatPieces(0)"),
        (
            &[64, 1 << 18],
            &[0, -1],
            "RepeatPieces(0)",
            "RepeatPieces(0)",
        ),
        (&[64, (1 << 18) + 1], &[0, -1], "Plain", "StreamBuilt(0)"),
        (
            &[8, 64, 100],
            &[0, 200, 1],
            "RepeatPieces(0)",
            "RepeatPieces(0)",
        ),
        (
            &[8, 4, 1024],
            &[0, 2000, 1],
            "RepeatPieces(0)",
            "RepeatPieces(0)",
        ),
        (
            &[4, 256, 1024],
            &[0, 2000, 1],
            "RepeatPieces(0)",
            "RepeatPieces(0)",
        ),
        (&[4, 257, 1024], &[0, 2000, 1], "Plain", "StreamRows"),
        // Two replicated axes: the inner one if it repeats often, or long stretches when streaming; otherwise the one that
        // repeats more often, the outer one of equals.
        (&[64, 2, 4, 256], &[0, 512, 0, -1], "Repeat(0)", "Repeat(0)"),
        (&[64, 2, 16, 64], &[0, 128, 0, -1], "Repeat(2)", "Repeat(0)"),
        (
            &[4, 32, 4, 2047],
            &[0, 6141, 0, -1],
            "RepeatPieces(0)",
            "RepeatPieces(0)",
        ),
        (
            &[4, 32, 4, 2048],
            &[0, 6144, 0, -1],
            "RepeatPieces(0)",
            "Repeat(2)",
        ),
        (
            &[3, 32, 4, 512],
            &[0, 1536, 0, -1],
            "Repeat(2)",
            "RepeatPieces(0)",
        ),
        (
            &[1 << 20, 32, 4, 512],
            &[0, 1536, 0, -1],
            "RepeatPieces(0)",
            "RepeatPieces(0)",
        ),
        // Matrices transposed, and such as are too small for squares.
        (&[4, 8], &[1, 4], "Transpose", "Transpose"),
        (&[3, 8], &[1, 3], "Plain", "Plain"),
        (&[8, 7], &[1, 8], "Plain", "Plain"),
        (&[3, 4096], &[1, 3], "Plain", "StreamBuilt(0)"),
        (&[4, 5, 8], &[1, 40, 4], "Transpose", "Transpose"),
        (&[5, 4, 8], &[40, -1, 4], "Transpose", "Transpose"),
        // Windows onto a row: neither axis is nearer than the other.
        (&[8, 8], &[3, 3], "Plain", "Plain"),
        (&[8, 8], &[1, 0], "Plain", "Plain"),
        // Rows with gaps, long and short, and strided ones.
        (&[64, 1024], &[2048, 1], "Plain", "StreamRows"),
        (&[64, 1023], &[2048, 1], "Plain", "StreamBuilt(0)"),
        (&[64, 1024], &[4096, 2], "Plain", "StreamBuilt(0)"),
        (&[4, 256], &[600, 1], "Plain", "StreamBuilt(0)"),
        (&[4, 255], &[600, 1], "Plain", "Plain"),
    ];
    for &(shape, from, plain, streamed) in dense {
        way(shape, &standard(shape), from, [plain, streamed]);
    }
    // Ten pieces in a part are more than eight repeats of what they are made of.
    let shape = [40 * max_threads(), 32, 8, 512];
    let ways = ["RepeatPieces(0)"; 2];
    way(&shape, &standard(&shape), &[0, 1536, 0, -1], ways);
    // To an output that is dense in its rows only, or nowhere.
    way(&[100, 2000], &[3000, 1], &[1, 0], ["Repeat(1)"; 2]);
    way(&[100, 100], &[200, 1], &[1, 0], ["Plain"; 2]);
    way(&[100, 100], &[200, 1], &[0, 1], ["Plain"; 2]);
    way(
        &[100, 2000],
        &[3000, 1],
        &[6000, 3],
        ["Plain", "StreamBuilt(1)"],
    );
    way(
        &[100, 2000],
        &[3000, 1],
        &[6000, 1],
        ["Plain", "StreamRows"],
    );
    way(&[4, 8], &[10, 1], &[1, 4], ["Transpose"; 2]);
    way(&[4, 8], &[16, 2], &[1, 4], ["Plain"; 2]);
}

fn way(shape: &[usize], to: &[isize], from: &[isize], expected: [&str; 2]) {
    for (streamed, expected) in [false, true].into_iter().zip(expected) {
        let mut nest = LoopNest::new(shape, [to, from]).unwrap();
        let way = Way::choose::<f32>(&mut nest, streamed);
        assert_eq!(
            format!("{way:?}"),
            expected,
            "{shape:?} to {to:?} from {from:?} {streamed}"
        );
        if let (Way::Transpose, [.., rows, _]) = (way, nest.axes()) {
            assert_eq!(rows.strides[1].unsigned_abs(), 1, "{shape:?} from {from:?}");
        }
    }
}

#[test]
fn sizes_are_in_their_order() {
    use kernel::{LONG_EXPANSION, LONG_ROW, SHORT_PERIOD, SHORT_REPEAT};
    let sizes = [64, SHORT_REPEAT, LONG_ROW, SHORT_PERIOD, BLOCK];
    assert!(sizes.is_sorted_by(|a, b| a < b), "{sizes:?}");
    let sizes = [64, LONG_EXPANSION, LONG_ROW, LONG_STREAMED_REPEAT];
    assert!(sizes.is_sorted_by(|a, b| a < b), "{sizes:?}");
}

/// Axes as they are, with row-major strides in out.
fn axes(shape: &[usize], from: &[isize]) -> Vec<Axis> {
    (shape.iter().zip(standard(shape)).zip(from))
        .map(|((&size, to), &from)| axis(size, [to, from]))
        .collect()
}

/// What two axes or more make is made once, if what makes it is short: 8 KiB are 2048 elements of 4 bytes.
#[test]
fn the_outermost_axis_around_a_short_dense_plane_repeats_it() {
    for (shape, from, place) in [
        (&[][..], &[][..], None),
        (&[4, 3], &[0, 1], None),
        (&[4, 3, 5], &[0, 5, 1], Some(0)),
        (&[4, 3, 5], &[15, 5, 1], None),
        (&[4, 3, 5], &[5, 0, 1], None),
        (&[2, 4, 3, 5], &[15, 0, 5, 1], Some(1)),
        (&[2, 4, 3, 5], &[0, 15, 5, 1], Some(0)),
        (&[2, 2, 4, 3, 5], &[0, 15, 0, 5, 1], Some(0)),
        (&[2, 2, 1024], &[0, 1024, 1], Some(0)),
        (&[2, 3, 683], &[0, 683, 1], None),
        (&[2, 2, 3, 683], &[0, 0, 683, 1], None),
        (&[2, 3, 2, 2, 256], &[0, 512, 0, 256, 1], Some(2)),
    ] {
        let found = kernel::repeated_planes::<f32>(&axes(shape, from));
        assert_eq!(found, place, "{shape:?} from {from:?}");
    }
    // Where out has gaps, nothing is repeated across them.
    let mut gap = axes(&[4, 3, 5], &[0, 5, 1]);
    gap[0].strides[0] = 16;
    assert_eq!(kernel::repeated_planes::<f32>(&gap), None);
    let mut gap = axes(&[2, 4, 3, 5], &[0, 0, 5, 1]);
    gap[0].strides[0] = 61;
    assert_eq!(kernel::repeated_planes::<f32>(&gap), Some(1));
}

/// Small are 256 bytes, 64 elements of 4.
#[test]
fn small_planes_are_made_together_along_the_longest_axis() {
    for (shape, place) in [
        (&[][..], None),
        (&[100, 3], None),
        (&[100, 2, 3], Some(0)),
        (&[4, 2, 3], Some(0)),
        (&[3, 2, 3], None),
        (&[5, 2, 5], None),
        (&[6, 2, 5], Some(0)),
        (&[2, 100, 3], None),
        (&[100, 8, 8], Some(0)),
        (&[100, 8, 9], None),
        (&[100, 5, 13], None),
        (&[2, 100, 2, 3], Some(1)),
        (&[7, 6, 2, 3], Some(0)),
        (&[6, 7, 2, 3], Some(1)),
        (&[100, 20, 2, 3], Some(1)),
    ] {
        let found = kernel::small_planes::<f32>(&axes(shape, &standard(shape)));
        assert_eq!(found, place, "{shape:?}");
    }
}

fn axis(size: usize, strides: [isize; 2]) -> Axis {
    Axis { size, strides }
}

#[test]
fn axes_are_dense_whose_elements_lie_side_by_side() {
    for (axes, len) in [
        (&[][..], Some(1)),
        (&[axis(7, [1, 5])], Some(7)),
        (&[axis(7, [-1, 5])], Some(7)),
        (&[axis(7, [2, 5])], None),
        (&[axis(3, [7, 1]), axis(7, [1, 5])], Some(21)),
        (&[axis(3, [8, 1]), axis(7, [1, 5])], None),
        (
            &[axis(2, [21, 0]), axis(3, [7, 1]), axis(7, [1, 5])],
            Some(42),
        ),
        (&[axis(2, [22, 0]), axis(3, [7, 1]), axis(7, [1, 5])], None),
    ] {
        assert_eq!(kernel::dense_len(axes), len, "{axes:?}");
    }
}

#[test]
fn a_matrix_is_transposed_if_its_rows_are_the_nearer_ones() {
    for (rows, inner, transposed) in [
        (1, 2, true),
        (-1, 2, true),
        (1, -2, true),
        (2, 2, false),
        (2, -2, false),
        (3, 2, false),
        (0, 2, false),
    ] {
        let (rows, inner) = (axis(9, [9, rows]), axis(9, [1, inner]));
        assert_eq!(kernel::is_transposed(rows, inner), transposed);
    }
}

#[test]
fn rows_copied_together_fill_a_line_of_the_source() {
    assert_eq!(kernel::transposed_rows::<()>(), 64);
    assert_eq!(kernel::transposed_rows::<u8>(), 64);
    assert_eq!(kernel::transposed_rows::<f32>(), 16);
    assert_eq!(kernel::transposed_rows::<[f32; 3]>(), 5);
    assert_eq!(kernel::transposed_rows::<u128>(), 4);
    assert_eq!(kernel::transposed_rows::<[u8; 17]>(), 4);
    assert_eq!(kernel::transposed_rows::<[u64; 50]>(), 4);
}

#[test]
fn a_block_is_for_elements_of_which_it_holds_many() {
    #[derive(Clone, Copy)]
    #[repr(align(64))]
    struct Line;

    assert!(!kernel::fits_block::<()>());
    assert!(!kernel::fits_block::<Line>());
    assert!(kernel::fits_block::<u8>());
    assert!(kernel::fits_block::<u128>());
    assert!(kernel::fits_block::<[u8; 1024]>());
    assert!(!kernel::fits_block::<[u8; 1025]>());
    assert!(!kernel::fits_block::<Wide>());
}

/// Where the machine has the instructions.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[test]
fn short_rows_of_one_element_each_are_expanded() {
    let can = std::is_x86_feature_detected!("ssse3");
    let long = |rows: [isize; 2], inner: [isize; 2]| {
        kernel::can_expand::<f32>(&[axis(200, rows), axis(3, inner)])
    };
    assert_eq!(long([3, 1], [1, 0]), can);
    assert!(!long([4, 1], [1, 0]));
    assert!(!long([3, 2], [1, 0]));
    assert!(!long([3, 1], [1, 1]));
    assert!(!long([3, 1], [2, 0]));
    let bytes = |rows| kernel::can_expand::<u8>(&[axis(rows, [2, 1]), axis(2, [1, 0])]);
    assert!(!bytes(1023));
    assert_eq!(bytes(1024), can);
    assert!(!kernel::can_expand::<f32>(&[axis(9000, [1, 0])]));
    fn row<A>(n: usize) -> bool {
        kernel::can_expand::<A>(&[axis(9000, [n as isize, 1]), axis(n, [1, 0])])
    }
    assert_eq!([row::<f32>(16), row::<u8>(64), row::<u128>(4)], [can; 3]);
    assert_eq!(
        [row::<f32>(17), row::<u8>(65), row::<[u8; 17]>(3)],
        [false; 3]
    );
    let planes = [axis(9, [600, 0]), axis(200, [3, 1]), axis(3, [1, 0])];
    assert!(!kernel::can_expand::<f32>(&planes));
}
