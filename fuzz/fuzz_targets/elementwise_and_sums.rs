//! Elementwise operations and gradients of any plan and layout, compared with loops over indices
//! and, for recorded cases, with the recorded answers.

#![no_main]

mod common;
#[path = "../../tests/common/mod.rs"]
mod oracle;
mod recorded;

use arbitrary::{Arbitrary, Error, Result, Unstructured};
use common::{Layout, arbitrary_by, feeding, small, small_shape};
use libfuzzer_sys::fuzz_target;
use ndarray::{ArrayD, Dimension, IxDyn};
use ndarray_broadcast::prelude::*;
use recorded::{Answered, CASES, change, change_rule};

/// An elementwise operation on x and y.
#[derive(Debug)]
struct Zip {
    x: Vec<usize>,
    y: Vec<usize>,
    rule: ElementwiseRule,
    layouts: [Layout; 3],
    /// The recorded case, if nothing in it was changed.
    recorded: Option<&'static dyn Answered>,
}

/// The gradient of a broadcast of an array of shape `input`.
#[derive(Debug)]
struct Sums {
    input: Vec<usize>,
    mapping: Vec<usize>,
    output: Vec<usize>,
    layout: Layout,
    recorded: Option<&'static dyn Answered>,
}

#[derive(Debug)]
struct Call {
    zip: Zip,
    sums: Sums,
}

fn call(bytes: &mut Unstructured<'_>) -> Result<Call> {
    let output = small_shape(bytes, 6)?;
    Ok(Call {
        zip: match bytes.int_in_range(0..=2_u8)? {
            0 => recorded_zip(bytes)?,
            _ => generated_zip(bytes, &output)?,
        },
        sums: match bytes.int_in_range(0..=2_u8)? {
            0 => recorded_sums(bytes)?,
            _ => generated_sums(bytes, output)?,
        },
    })
}

arbitrary_by!(Call, call);

/// Layouts of x, y and the output, if these may be allocated.
fn layouts(
    bytes: &mut Unstructured<'_>,
    x: &[usize],
    y: &[usize],
    rule: &ElementwiseRule,
) -> Result<[Layout; 3]> {
    let output = oracle::pair(x, y, rule).map_or(Vec::new(), |[fed, _]| fed.output);
    if ![x, y, &output].into_iter().all(small) {
        return Err(Error::IncorrectFormat);
    }
    Ok([
        Layout::arbitrary(bytes, x.len())?,
        Layout::arbitrary(bytes, y.len())?,
        Layout::arbitrary(bytes, output.len())?,
    ])
}

fn recorded_zip(bytes: &mut Unstructured<'_>) -> Result<Zip> {
    let case = bytes.choose(&CASES.two)?;
    let (mut x, mut y) = (case.call.a.clone(), case.call.b.clone());
    let mut rule = case.call.rule.clone();
    let changes = bytes.int_in_range(0..=3_u8)?;
    for _ in 0..changes {
        match bytes.int_in_range(0..=2_u8)? {
            0 => change(&mut x, bytes)?,
            1 => change(&mut y, bytes)?,
            _ => change_rule(&mut rule, bytes)?,
        }
    }
    Ok(Zip {
        layouts: layouts(bytes, &x, &y, &rule)?,
        x,
        y,
        rule,
        recorded: (changes == 0).then_some(case),
    })
}

/// NumPy's rule, with x of the output's shape.
fn generated_zip(bytes: &mut Unstructured<'_>, output: &[usize]) -> Result<Zip> {
    let first = bytes.int_in_range(0..=output.len())?;
    let y = feeding(bytes, output, first..output.len())?;
    let rule = ElementwiseRule::Numpy;
    Ok(Zip {
        layouts: layouts(bytes, output, &y, &rule)?,
        x: output.to_vec(),
        y,
        rule,
        recorded: None,
    })
}

fn recorded_sums(bytes: &mut Unstructured<'_>) -> Result<Sums> {
    let case = bytes.choose(&CASES.sum)?;
    let plan = &case.call.plan;
    let mut input = plan.input_shape().to_vec();
    let mut output = plan.output_shape().to_vec();
    // A trailing axis beyond the output (pdpd) feeds no axis: such a mapping is an error.
    let mut mapping: Vec<usize> = (0..input.len())
        .filter_map(|axis| {
            plan.axis_sources()
                .map(AxisSource::input_axis)
                .position(|source| source == Some(axis))
        })
        .collect();
    let changes = bytes.int_in_range(0..=3_u8)?;
    for _ in 0..changes {
        match bytes.int_in_range(0..=2_u8)? {
            0 => change(&mut input, bytes)?,
            1 => change(&mut output, bytes)?,
            _ => change(&mut mapping, bytes)?,
        }
    }
    if !small(&input) || !small(&output) {
        return Err(Error::IncorrectFormat);
    }
    Ok(Sums {
        layout: Layout::arbitrary(bytes, output.len())?,
        input,
        mapping,
        output,
        recorded: (changes == 0).then_some(case),
    })
}

fn generated_sums(bytes: &mut Unstructured<'_>, output: Vec<usize>) -> Result<Sums> {
    let set = u8::arbitrary(bytes)?;
    let mut mapping: Vec<usize> = (0..output.len())
        .filter(|axis| set >> axis & 1 == 1)
        .collect();
    for i in (1..mapping.len()).rev() {
        if u8::arbitrary(bytes)? < 64 {
            mapping.swap(i, bytes.int_in_range(0..=i)?);
        }
    }
    Ok(Sums {
        input: feeding(bytes, &output, mapping.iter().copied())?,
        layout: Layout::arbitrary(bytes, output.len())?,
        mapping,
        output,
        recorded: None,
    })
}

fn zipped(call: Zip) {
    let Zip {
        x,
        y,
        rule,
        layouts: [layout_x, layout_y, layout_out],
        recorded,
    } = call;
    if let Some(case) = recorded {
        case.assert_answered();
    }
    let fed = oracle::pair(&x, &y, &rule);
    let shape = x;
    let (buffer_x, buffer_y) = (
        layout_x.buffer(&shape, |i| i as u32),
        layout_y.buffer(&y, |i| (i as u32).wrapping_mul(2_654_435_761)),
    );
    let (x, y) = (
        layout_x.view(&buffer_x, &shape),
        layout_y.view(&buffer_y, &y),
    );
    let f = |&x: &u32, &y: &u32| x.rotate_left(7) ^ y;
    let [fed_x, fed_y] = match fed {
        Ok(fed) => fed,
        Err(expected) => {
            let error = broadcast_pair(&x, &y, &rule).unwrap_err();
            assert_eq!(oracle::variant(&error), expected, "{error}");
            return;
        }
    };
    let output = &fed_x.output;
    let (wide_x, wide_y) = (fed_x.array(&x), fed_y.array(&y));
    let expected = ndarray::Zip::from(&wide_x).and(&wide_y).map_collect(f);
    assert_eq!(
        zip(broadcast_pair(&x, &y, &rule).unwrap())
            .map_collect(|(a, b)| f(&a, &b))
            .unwrap(),
        expected
    );
    // All rules but pdpd are symmetric.
    if !matches!(rule, ElementwiseRule::Pdpd { .. }) {
        assert_eq!(
            zip(broadcast_pair(&y, &x, &rule).unwrap())
                .map_collect(|(y, x)| f(&x, &y))
                .unwrap(),
            expected
        );
    }

    let mut guarded = layout_out.buffer(output, |_| u32::MAX);
    let mut wanted = guarded.clone();
    layout_out.view_mut(&mut wanted, output).assign(&expected);
    let mut out = layout_out.view_mut(&mut guarded, output);
    zip(broadcast_pair(&x, &y, &rule).unwrap())
        .map_assign_into(&mut out, |(a, b)| f(&a, &b))
        .unwrap();
    assert_eq!(guarded, wanted);

    let mut out = layout_out.view_mut(&mut guarded, output);
    out.assign(&wide_x);
    zip(&wide_y).update(&mut out, |x, y| *x = f(x, &y)).unwrap();
    assert_eq!(guarded, wanted);
    let mut inplace = buffer_x.clone();
    let (_, to_x) = BroadcastPlan::pair(x.raw_dim(), y.raw_dim(), &rule).unwrap();
    let result = zip(to_x.view(&y).unwrap())
        .update(&mut layout_x.view_mut(&mut inplace, &shape), |x, y| {
            *x = f(x, &y)
        });
    match shape == *output {
        true => {
            result.unwrap();
            assert_eq!(layout_x.view(&inplace, &shape), expected);
        }
        false => {
            let variant = oracle::variant(&result.unwrap_err());
            assert!(matches!(variant.as_str(), "SizeMismatch" | "RankMismatch"));
            assert_eq!(inplace, buffer_x);
        }
    }
}

fn sums(sums: Sums) {
    let Sums {
        input,
        mapping,
        output,
        layout,
        recorded,
    } = sums;
    if let Some(case) = recorded {
        case.assert_answered();
    }
    let mode = BroadcastMode::InDimPermuting {
        broadcast_dimensions: mapping,
    };
    let plan = BroadcastPlan::with_mode(IxDyn(&input), IxDyn(&output), &mode);
    let (plan, fed) = match (plan, oracle::mode(&input, &output, &mode)) {
        (Ok(plan), Ok(fed)) => (plan, fed),
        (Err(error), Err(expected)) => {
            return assert_eq!(oracle::variant(&error), expected, "{error}");
        }
        (plan, expected) => panic!("{plan:?}, the oracle says {expected:?}"),
    };
    let strided = layout.buffer(&output, |i| i as u64);
    let strided = layout.view(&strided, &output);
    let mut sums = ArrayD::<u64>::zeros(IxDyn(&input));
    for (index, &term) in strided.indexed_iter() {
        sums[IxDyn(&fed.source(&input, index.slice()))] += term;
    }
    assert_eq!(plan.gradient(&strided).unwrap(), sums);
    let mut into = ArrayD::from_elem(IxDyn(&input), 7_u64);
    plan.gradient_into(&strided, &mut into).unwrap();
    assert_eq!(into, sums);
    plan.gradient_accumulate(&strided, &mut into).unwrap();
    assert_eq!(into, &sums + &sums);

    // Sums of floats have the same bits for any layout.
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
}

fuzz_target!(|call: Call| {
    zipped(call.zip);
    sums(call.sums);
});
