//! Elementwise operations and gradients of any plan and layout, against loops over indices.

#![no_main]

mod common;
#[allow(dead_code)]
#[path = "../../tests/common/mod.rs"]
mod oracle;

use arbitrary::{Arbitrary, Result, Unstructured};
use common::{Layout, arbitrary_by, feeding, small_shape};
use libfuzzer_sys::fuzz_target;
use ndarray::{ArrayD, Dimension, IxDyn};
use ndarray_broadcast::prelude::*;

#[derive(Debug)]
struct Call {
    a: Vec<usize>,
    b: Vec<usize>,
    mapping: Vec<usize>,
    layouts: [Layout; 2],
    out: Layout,
    output: Vec<usize>,
}

fn call(bytes: &mut Unstructured<'_>) -> Result<Call> {
    let output = small_shape(bytes, 6)?;
    let rank = output.len();
    let set = u8::arbitrary(bytes)?;
    let mut mapping: Vec<usize> = (0..rank).filter(|axis| set >> axis & 1 == 1).collect();
    for i in (1..mapping.len()).rev() {
        if u8::arbitrary(bytes)? < 64 {
            mapping.swap(i, bytes.int_in_range(0..=i)?);
        }
    }
    let a = feeding(bytes, &output, mapping.iter().copied())?;
    let first = bytes.int_in_range(0..=rank)?;
    let b = feeding(bytes, &output, first..rank)?;
    let layouts = [
        Layout::arbitrary(bytes, rank)?,
        Layout::arbitrary(bytes, b.len())?,
    ];
    let out = Layout::arbitrary(bytes, rank)?;
    Ok(Call {
        a,
        b,
        mapping,
        layouts,
        out,
        output,
    })
}

arbitrary_by!(Call, call);

fuzz_target!(|call: Call| {
    let Call {
        a,
        b,
        mapping,
        layouts,
        out,
        output,
    } = call;

    // Elementwise: the output's shape with b, by NumPy's rule.
    let (whole_x, whole_y) = (
        layouts[0].whole(&output, |i| i as u32),
        layouts[1].whole(&b, |i| (i as u32).wrapping_mul(2_654_435_761)),
    );
    let (x, y) = (
        layouts[0].seen(&whole_x, &output),
        layouts[1].seen(&whole_y, &b),
    );
    let f = |&x: &u32, &y: &u32| x.rotate_left(7) ^ y;
    let [fed_x, fed_y] = oracle::pair(&output, &b, &ElementwiseRule::Numpy).unwrap();
    let (wide_x, wide_y) = (fed_x.array(&x), fed_y.array(&y));
    let expected = ndarray::Zip::from(&wide_x).and(&wide_y).map_collect(f);
    assert_eq!(x.zip_map(&y, ElementwiseRule::Numpy, f).unwrap(), expected);
    assert_eq!(
        y.zip_map(&x, ElementwiseRule::Numpy, |y, x| f(x, y))
            .unwrap(),
        expected
    );

    let mut guarded = out.whole(&output, |_| u32::MAX);
    let mut wanted = guarded.clone();
    out.seen_mut(&mut wanted, &output).assign(&expected);
    x.zip_map_into(
        &y,
        ElementwiseRule::Numpy,
        &mut out.seen_mut(&mut guarded, &output),
        f,
    )
    .unwrap();
    assert_eq!(guarded, wanted);

    out.seen_mut(&mut guarded, &output).assign(&x);
    out.seen_mut(&mut guarded, &output)
        .zip_map_inplace(&y, ElementwiseRule::Numpy, |x, y| *x = f(x, y))
        .unwrap();
    assert_eq!(guarded, wanted);

    // Gradients: x is the cotangent of a broadcast of an array of shape a.
    let plan = BroadcastPlan::in_dim_permuting(IxDyn(&a), IxDyn(&output), &mapping).unwrap();
    let mut sums = ArrayD::<u64>::zeros(IxDyn(&a));
    let cotangent = x.map(|&x| u64::from(x));
    for (index, &term) in cotangent.indexed_iter() {
        let place: Vec<usize> = (mapping.iter().zip(&a))
            .map(|(&axis, &size)| if size == 1 { 0 } else { index.slice()[axis] })
            .collect();
        sums[IxDyn(&place)] += term;
    }
    let strided = layouts[0].whole(&output, |i| i as u64);
    let strided = layouts[0].seen(&strided, &output);
    assert_eq!(strided, cotangent);
    assert_eq!(plan.gradient(&strided).unwrap(), sums);
    let mut into = ArrayD::from_elem(IxDyn(&a), 7_u64);
    plan.gradient_into(&strided, &mut into).unwrap();
    assert_eq!(into, sums);
    plan.gradient_accumulate(&strided, &mut into).unwrap();
    assert_eq!(into, &sums + &sums);

    // Sums of floats are the same bits for any layout.
    let floats = strided.map(|&x| (x as f32).sin());
    let turned = ArrayD::from_shape_fn(floats.t().raw_dim(), |i| {
        let mut index = i.slice().to_vec();
        index.reverse();
        floats[IxDyn(&index)]
    });
    let (one, two) = (
        plan.gradient(&floats).unwrap(),
        plan.gradient(&turned.t()).unwrap(),
    );
    let bits = |sums: &ArrayD<f32>| sums.iter().map(|sum| sum.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&one), bits(&two));
});
