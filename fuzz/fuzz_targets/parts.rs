//! Reductions of arrays of any layout, cut into parts and merged in any order: the bits of one
//! call. Bytes that are no accumulation are errors.

#![no_main]

mod common;

use arbitrary::{Arbitrary, Result, Unstructured};
use common::{Layout, arbitrary_by, axes, small_shape};
use libfuzzer_sys::fuzz_target;
use ndarray::IxDyn;
use ndarray_broadcast::distributed::{Accumulation, Part, Tile, sum_blocks};
use ndarray_broadcast::prelude::*;
use std::ops::Range;

#[derive(Debug)]
struct Call {
    plan: BroadcastPlan,
    /// Where ranges of elements and of blocks are cut: which of them, and where.
    cuts: Vec<(usize, usize)>,
    /// The order in which parts are merged.
    order: Vec<usize>,
    /// Tiles instead of ranges of blocks. A tile that cuts a block is refused: all is one part then.
    tiles: bool,
    /// A byte to change, and to what.
    damage: (usize, u8),
    layout: Layout,
}

fn call(bytes: &mut Unstructured<'_>) -> Result<Call> {
    let output = small_shape(bytes, 5)?;
    let mut kept = axes(bytes, output.len())?;
    kept.retain(|&axis| axis < output.len());
    kept.sort_unstable();
    kept.dedup();
    let input: Vec<usize> = kept.iter().map(|&axis| output[axis]).collect();
    let plan = BroadcastPlan::explicit(IxDyn(&input), IxDyn(&output), &kept).unwrap();
    let count = bytes.int_in_range(0..=12)?;
    let cuts = (0..count).map(|_| <(usize, usize)>::arbitrary(bytes));
    Ok(Call {
        plan,
        cuts: cuts.collect::<Result<_>>()?,
        order: (0..=count)
            .map(|_| usize::arbitrary(bytes))
            .collect::<Result<_>>()?,
        tiles: bool::arbitrary(bytes)?,
        damage: <(usize, u8)>::arbitrary(bytes)?,
        layout: Layout::nearly_dense(bytes, output.len())?,
    })
}

arbitrary_by!(Call, call);

/// Cuts a box by each of `cuts`: one of its ranges, in one place.
fn cut(whole: Vec<Range<usize>>, cuts: &[(usize, usize)]) -> Vec<Vec<Range<usize>>> {
    let mut boxes = vec![whole];
    for &(which, place) in cuts {
        let at = which % boxes.len();
        let axes = boxes[at].len().max(1);
        let axis = (which / boxes.len()) % axes;
        let Some(Range { start, end }) = boxes[at].get(axis).cloned() else {
            continue;
        };
        if end - start < 2 {
            continue;
        }
        let middle = start + 1 + place % (end - start - 1);
        let mut other = boxes[at].clone();
        boxes[at][axis] = start..middle;
        other[axis] = middle..end;
        boxes.push(other);
    }
    boxes
}

fn parts(call: &Call) -> Vec<Part> {
    let plan = &call.plan;
    if call.tiles {
        let whole: Vec<_> = plan.output_shape().iter().map(|&size| 0..size).collect();
        let part = |ranges: Vec<_>| Part::new(plan, &Tile::new(plan, &ranges).unwrap());
        let parts = cut(whole.clone(), &call.cuts).into_iter().map(part);
        return parts
            .collect::<std::result::Result<_, _>>()
            .unwrap_or_else(|error| {
                assert!(error.to_string().len() < 1 << 16);
                vec![part(whole).unwrap()]
            });
    }
    let mut whole: Vec<_> = plan.input_shape().iter().map(|&size| 0..size).collect();
    whole.push(0..sum_blocks(plan));
    (cut(whole, &call.cuts).into_iter())
        .map(|mut ranges| {
            let blocks = ranges.pop().unwrap();
            Part::of_blocks(plan, &ranges, blocks).unwrap()
        })
        .collect()
}

/// FNV-1a.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, &byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

fuzz_target!(|call: Call| {
    let plan = &call.plan;
    // Of many magnitudes, so that most additions round.
    let term = |i: usize| ((i * 2654435761 % 4096) as f64 - 2048.) / (1 << (i % 23)) as f64;
    let (shape, layout) = (plan.output_shape(), &call.layout);
    let terms = layout.buffer(shape, term);
    let terms = layout.view(&terms, shape);
    let expected = plan.gradient(&terms).unwrap();
    let parts = parts(&call);

    // The whole may be reduced in any order. Parts number their terms.
    let flags = layout.buffer(shape, |i| i % 509 != call.damage.0 % 4096);
    let flags = layout.view(&flags, shape);
    let mut all = Accumulation::new(plan, All);
    for part in &parts {
        let flags = part.tile().output().of(&flags).unwrap();
        all.merge(part.reduce(&flags, All).unwrap()).unwrap();
    }
    assert_eq!(all.finish(plan).unwrap(), plan.reduce(&flags, All).unwrap());

    let mut sums: Vec<Accumulation<f64, Sum>> = parts
        .iter()
        .map(|part| {
            let terms = part.tile().output().of(&terms).unwrap();
            part.reduce(&terms, Sum).unwrap()
        })
        .collect();
    let mut sum = Accumulation::new(plan, Sum);
    for place in call.order.iter().chain(std::iter::repeat(&0)) {
        if sums.is_empty() {
            break;
        }
        let other = sums.swap_remove(place % sums.len());
        let twice = other.clone();
        sum.merge(other).unwrap();
        let bytes = sum.to_bytes();
        sum = Accumulation::from_bytes(&bytes, Sum).unwrap();
        assert_eq!(sum.to_bytes(), bytes);
        if twice.to_bytes().len() < bytes.len() && !expected.is_empty() {
            // Whether it is refused depends on its terms: there may be none.
            let before = sum.to_bytes();
            if sum.merge(twice).is_err() {
                assert_eq!(sum.to_bytes(), before);
            } else {
                sum = Accumulation::from_bytes(&before, Sum).unwrap();
            }
        }
        let mut damaged = bytes;
        let (at, byte) = call.damage;
        let at = at % damaged.len();
        damaged[at] = byte;
        for bytes in [&damaged[..], &damaged[..at]] {
            match Accumulation::<f64, Sum>::from_bytes(bytes, Sum) {
                Ok(mut other) => {
                    let _ = other.merge(Accumulation::new(plan, Sum));
                    let _ = other.finish(plan);
                }
                Err(error) => assert!(error.to_string().len() < 1 << 16),
            }
        }
    }
    // With a checksum that is right, all but the values of accumulators is checked.
    let small = layout.buffer(shape, |i| i as u8);
    let small = layout.view(&small, shape);
    let mut means = parts.iter().map(|part| {
        let terms = part.tile().output().of(&small).unwrap();
        part.reduce(&terms, NanMean).unwrap()
    });
    if let Some(first) = means.next() {
        let mut bytes = first.to_bytes();
        bytes.truncate(bytes.len() - 8);
        let (at, byte) = call.damage;
        let at = at % bytes.len();
        bytes[at] = byte;
        bytes.extend(checksum(&bytes).to_le_bytes());
        match Accumulation::from_bytes(&bytes, NanMean) {
            Ok(mut mean) => {
                let merged = means.try_for_each(|other| mean.merge(other));
                let _ = merged.and_then(|()| mean.finish(plan));
            }
            Err(error) => assert!(error.to_string().len() < 1 << 16),
        }
    }

    assert!(sum.is_complete());
    let found = sum.finish(plan).unwrap();
    assert_eq!(found.shape(), expected.shape());
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!(found.to_bits(), expected.to_bits());
    }
});
