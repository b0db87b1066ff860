//! ONNX's operators: the cases of its own tests, axes and shapes, and errors.

use ndarray::{ArrayD, IxDyn, arr0, array};
use ndarray_broadcast::KEEP;
use ndarray_broadcast::infer::{PartialShape, PartialSize};
use ndarray_broadcast::onnx::{Arg, Expand, Reduce};
use ndarray_broadcast::prelude::*;
use serde_json::Value;
use std::collections::BTreeMap;

/// A tensor of a case. Floats of all types are `f64`, and integers `i128`.
#[derive(Debug)]
enum Tensor {
    Float(ArrayD<f64>),
    Integer(ArrayD<i128>),
    Bool(ArrayD<bool>),
    Text(ArrayD<String>),
}

use Tensor::{Bool, Float, Integer, Text};

fn sizes(values: &Value) -> Vec<usize> {
    let values = values.as_array().unwrap().iter();
    values
        .map(|value| value.as_u64().unwrap() as usize)
        .collect()
}

fn float(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| value.as_str().unwrap().parse().unwrap())
}

/// As the tensor's type has it.
fn rounded(kind: &str, value: f64) -> f64 {
    match kind {
        "float32" => (value as f32).into(),
        _ => value,
    }
}

/// Modulo 2^bits, as the tensor's type has it.
fn wrapped(kind: &str, value: i128) -> i128 {
    match kind {
        "int8" => (value as i8).into(),
        "int16" => (value as i16).into(),
        "int32" => (value as i32).into(),
        "int64" => (value as i64).into(),
        "uint8" => (value as u8).into(),
        "uint16" => (value as u16).into(),
        "uint32" => (value as u32).into(),
        "uint64" => (value as u64).into(),
        other => panic!("{other}"),
    }
}

fn tensor(value: &Value) -> Tensor {
    let (kind, shape) = (value[0].as_str().unwrap(), sizes(&value[1]));
    fn array<T>(shape: Vec<usize>, values: Vec<T>) -> ArrayD<T> {
        ArrayD::from_shape_vec(shape, values).unwrap()
    }
    if kind == "bool" {
        let digits = value[2].as_str().unwrap().chars();
        return Bool(array(shape, digits.map(|digit| digit == '1').collect()));
    }
    let values = value[2].as_array().unwrap().iter();
    match kind {
        "string" => {
            let texts = values.map(|value| value.as_str().unwrap().to_owned());
            Text(array(shape, texts.collect()))
        }
        "float16" | "float32" | "float64" => {
            let floats = values.map(|value| rounded(kind, float(value)));
            Float(array(shape, floats.collect()))
        }
        _ => {
            let integers = values.map(|value| value.to_string().parse().unwrap());
            Integer(array(shape, integers.collect()))
        }
    }
}

fn floats(tensor: &Tensor) -> ArrayD<f64> {
    match tensor {
        Float(array) => array.clone(),
        Integer(array) => array.mapv(|value| value as f64),
        other => panic!("{other:?}"),
    }
}

fn of_two<A, B: Send>(a: &ArrayD<A>, b: &ArrayD<A>, f: fn(A, A) -> B) -> ArrayD<B>
where
    A: Copy + Send + Sync,
{
    zip((a, b)).map_collect(|(a, b)| f(a, b)).unwrap()
}

/// An operation on floats or integers of one, two or three tensors.
fn variadic<A: Copy + Send + Sync>(arrays: &[&ArrayD<A>], f: fn(A, A) -> A) -> ArrayD<A> {
    match *arrays {
        [a] => zip(a).map_collect(|a| a).unwrap(),
        [a, b] => of_two(a, b, f),
        [a, b, c] => zip((a, b, c))
            .map_collect(|(a, b, c)| f(f(a, b), c))
            .unwrap(),
        _ => panic!("{}", arrays.len()),
    }
}

/// The remainder with the sign of `b`.
fn modulo(a: f64, b: f64) -> f64 {
    let remainder = a % b;
    let signs_differ = remainder != 0. && (remainder < 0.) != (b < 0.);
    if signs_differ {
        remainder + b
    } else {
        remainder
    }
}

/// How far the bits are shifted: out of the number, if not by 0 to 63.
fn shift(by: i128) -> i128 {
    if (0..64).contains(&by) { by } else { 64 }
}

fn comparison<T: PartialOrd>(operator: &str) -> fn(T, T) -> bool {
    match operator {
        "Equal" => |a, b| a == b,
        "Greater" => |a, b| a > b,
        "GreaterOrEqual" => |a, b| a >= b,
        "Less" => |a, b| a < b,
        "LessOrEqual" => |a, b| a <= b,
        other => panic!("no case of {other} is known"),
    }
}

/// The operators of several tensors, whose output has the type `kind`.
fn elementwise(operator: &str, attributes: &Value, inputs: &[Tensor], kind: &str) -> Tensor {
    let is_set = |name: &str, value: Value| attributes.get(name) == Some(&value);
    let float: Option<fn(f64, f64) -> f64> = match operator {
        "Add" | "Sum" | "Mean" => Some(|a, b| a + b),
        "Sub" => Some(|a, b| a - b),
        "Mul" => Some(|a, b| a * b),
        "Div" => Some(|a, b| a / b),
        "Pow" => Some(f64::powf),
        "Mod" if is_set("fmod", 1.into()) => Some(|a, b| a % b),
        "Mod" => Some(modulo),
        "PRelu" => Some(|x, slope| if x < 0. { slope * x } else { x }),
        "Max" => Some(f64::max),
        "Min" => Some(f64::min),
        _ => None,
    };
    let integer: Option<fn(i128, i128) -> i128> = match operator {
        "Add" => Some(|a, b| a + b),
        "Sub" => Some(|a, b| a - b),
        "Mul" => Some(|a, b| a * b),
        "Div" => Some(|a, b| a / b),
        "Pow" => Some(|a, b| a.pow(b as u32)),
        "Mod" if is_set("fmod", 1.into()) => Some(|a, b| a % b),
        "Mod" => Some(|a, b| (a % b + b) % b),
        "BitShift" if is_set("direction", "LEFT".into()) => Some(|a, b| a << shift(b)),
        "BitShift" => Some(|a, b| a >> shift(b)),
        "BitwiseAnd" => Some(|a, b| a & b),
        "BitwiseOr" => Some(|a, b| a | b),
        "BitwiseXor" => Some(|a, b| a ^ b),
        "Max" => Some(|a, b| a.max(b)),
        "Min" => Some(|a, b| a.min(b)),
        _ => None,
    };
    match (inputs, float, integer) {
        ([Bool(a), Bool(b)], ..) => {
            let f: fn(bool, bool) -> bool = match operator {
                "And" => |a, b| a && b,
                "Or" => |a, b| a || b,
                "Xor" => |a, b| a != b,
                other => panic!("no case of {other} is known"),
            };
            Bool(of_two(a, b, f))
        }
        ([Bool(condition), Float(a), Float(b)], ..) => Float(chosen(condition, a, b)),
        ([Bool(condition), Integer(a), Integer(b)], ..) => Integer(chosen(condition, a, b)),
        ([Text(a), Text(b)], ..) => {
            let [a, b] = [a, b].map(|array| array.map(String::as_str));
            Bool(of_two(&a, &b, comparison(operator)))
        }
        ([Integer(a), Integer(b)], _, Some(f)) => {
            Integer(of_two(a, b, f).mapv(|value| wrapped(kind, value)))
        }
        ([Integer(a), Integer(b)], None, None) => Bool(of_two(a, b, comparison(operator))),
        ([Float(a), Float(b)], None, _) => Bool(of_two(a, b, comparison(operator))),
        (inputs, Some(f), _) => {
            let arrays: Vec<_> = inputs.iter().map(floats).collect();
            let mut output = variadic(&arrays.iter().collect::<Vec<_>>(), f);
            if operator == "Mean" {
                output /= arrays.len() as f64;
            }
            match kind {
                "int32" | "int64" => Integer(output.mapv(|value| value as i128)),
                _ => Float(output.mapv(|value| rounded(kind, value))),
            }
        }
        _ => panic!("no case of {operator} with these types is known"),
    }
}

/// The operator `Where`.
fn chosen<A>(condition: &ArrayD<bool>, a: &ArrayD<A>, b: &ArrayD<A>) -> ArrayD<A>
where
    A: Copy + Send + Sync,
{
    zip((condition, a, b))
        .map_collect(|(condition, a, b)| if condition { a } else { b })
        .unwrap()
}

fn longs(array: &ArrayD<i128>) -> ArrayD<i64> {
    array.mapv(|value| value as i64)
}

/// The operators `Reduce*`. All but the logarithms of sums are in `f32` only.
fn reduced(operator: &str, attributes: &Value, inputs: &[Tensor], kind: &str) -> Tensor {
    let mut node = Reduce::new();
    for (name, value) in attributes.as_object().unwrap() {
        node = node.with_attribute(name, value.as_i64().unwrap()).unwrap();
    }
    let axes = match inputs.get(1) {
        Some(Integer(axes)) => Some(longs(axes)),
        None => None,
        Some(other) => panic!("{other:?}"),
    };
    let axes = axes.as_ref().map(|axes| axes as _);
    let data = match &inputs[0] {
        Bool(data) => {
            return Bool(match operator {
                "ReduceMax" => node.evaluate(data, axes, Any).unwrap(),
                "ReduceMin" => node.evaluate(data, axes, All).unwrap(),
                other => panic!("no case of {other} with these types is known"),
            });
        }
        Float(data) if kind == "float64" => {
            assert_eq!(operator, "ReduceLogSumExp");
            return Float(node.evaluate(data, axes, LogSumExp).unwrap());
        }
        Float(data) => data.mapv(|value| value as f32),
        other => panic!("{other:?}"),
    };
    let output = match operator {
        "ReduceSum" => node.evaluate(&data, axes, Sum),
        "ReduceMean" => node.evaluate(&data, axes, Mean),
        "ReduceProd" => node.evaluate(&data, axes, Product),
        "ReduceMax" => node.evaluate(&data, axes, Max.or(f32::NEG_INFINITY)),
        "ReduceMin" => node.evaluate(&data, axes, Min.or(f32::INFINITY)),
        "ReduceL1" => node.evaluate(&data, axes, L1),
        "ReduceL2" => node.evaluate(&data, axes, L2),
        "ReduceLogSum" => node.evaluate(&data, axes, LogSum),
        "ReduceLogSumExp" => node.evaluate(&data, axes, LogSumExp),
        "ReduceSumSquare" => node.evaluate(&data, axes, SumSquare),
        other => panic!("no case of {other} is known"),
    };
    let output = output.unwrap();
    assert_eq!(
        node.infer_shape(data.raw_dim(), axes).unwrap(),
        output.shape()
    );
    Float(output.mapv(f64::from))
}

/// The operators `ArgMax` and `ArgMin`.
fn positions(mut node: Arg, attributes: &Value, data: &ArrayD<f64>) -> Tensor {
    for (name, value) in attributes.as_object().unwrap() {
        node = node.with_attribute(name, value.as_i64().unwrap()).unwrap();
    }
    let output = node.evaluate(data).unwrap();
    assert_eq!(node.infer_shape(data.raw_dim()).unwrap(), output.shape());
    Integer(output.mapv(i128::from))
}

fn expanded(data: &ArrayD<f64>, shape: &ArrayD<i64>) -> Tensor {
    let output = Expand::new().evaluate(data, shape).unwrap();
    let inferred = Expand::new().infer_shape(data.raw_dim(), shape).unwrap();
    assert_eq!(inferred, output.shape());
    Float(output.to_owned())
}

/// Whether floats are equal up to the rounding of the type, and everything else exactly.
fn agree(found: &Tensor, expected: &Tensor, kind: &str) -> bool {
    match (found, expected) {
        (Float(found), Float(expected)) => {
            let error = match kind {
                "float16" => 1e-3,
                "float32" => 1e-6,
                _ => 1e-14,
            };
            let agree = |(&a, &b): (&f64, &f64)| {
                a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= error * b.abs()
            };
            found.shape() == expected.shape() && found.iter().zip(expected).all(agree)
        }
        (Integer(found), Integer(expected)) => found == expected,
        (Bool(found), Bool(expected)) => found == expected,
        _ => false,
    }
}

/// ONNX's own tests of the operators that broadcast or reduce. `tests/data/onnx/record.py` says
/// which of them are left out, and why.
#[test]
fn operators_agree_with_the_tests_of_onnx() {
    let file: Value = serde_json::from_str(include_str!("../data/onnx/nodes.json")).unwrap();
    let mut counts = BTreeMap::new();
    for case in file["cases"].as_array().unwrap() {
        let (operator, attributes) = (case[1].as_str().unwrap(), &case[2]);
        let inputs: Vec<_> = case[3].as_array().unwrap().iter().map(tensor).collect();
        let (kind, expected) = (case[4][0].as_str().unwrap(), tensor(&case[4]));
        let found = match (operator, &inputs[..]) {
            ("Expand", [Float(data), Integer(shape)]) => expanded(data, &longs(shape)),
            ("ArgMax", [Float(data)]) => positions(Arg::max(), attributes, data),
            ("ArgMin", [Float(data)]) => positions(Arg::min(), attributes, data),
            _ if operator.starts_with("Reduce") => reduced(operator, attributes, &inputs, kind),
            _ => elementwise(operator, attributes, &inputs, kind),
        };
        assert!(agree(&found, &expected, kind), "{case}\nfound {found:?}");
        *counts.entry(operator).or_insert(0) += 1;
    }
    let total: usize = counts.values().sum();
    println!("{total} cases of {}: {counts:?}", file["from"]);
    assert_eq!((total, counts.len()), (336, 37));
    for (reason, names) in file["left_out"].as_object().unwrap() {
        println!(
            "{} cases left out: {reason}",
            names.as_array().unwrap().len()
        );
        assert!(!reason.is_empty());
    }
}

/// Every set of axes, from the start and from the end, against the shape by the definition.
#[test]
fn axes_that_are_not_kept_are_gone() {
    let shape = [2, 3, 1, 4];
    let data = ArrayD::from_shape_fn(IxDyn(&shape), |index| {
        index[0] * 100 + index[1] * 10 + index[3]
    });
    for set in 1..16 {
        let axes: Vec<i64> = (0..4).filter(|axis| set >> axis & 1 == 1).collect();
        let of_end: Vec<i64> = axes.iter().rev().map(|axis| axis - 4).collect();
        let gone = |axis: &usize| axes.contains(&(*axis as i64));
        let kept_shape: Vec<_> = (0..4)
            .map(|axis| if gone(&axis) { 1 } else { shape[axis] })
            .collect();
        let rest: Vec<_> = (0..4)
            .filter(|axis| !gone(axis))
            .map(|axis| shape[axis])
            .collect();
        let kept = Reduce::new().evaluate(&data, Some(&axes), Sum).unwrap();
        assert_eq!(kept.shape(), kept_shape);
        assert_eq!(kept, data.reduce_to_shape(IxDyn(&kept_shape), Sum).unwrap());
        let dropped = Reduce::new().keepdims(false);
        let dropped = dropped.evaluate(&data, Some(&of_end), Sum).unwrap();
        assert_eq!(dropped, kept.into_shape_with_order(rest).unwrap());
    }
}

#[test]
fn no_axes_are_all_or_none() {
    let data = array![[1, 2], [3, 4]].into_dyn();
    let empty: [i64; 0] = [];
    for axes in [None, Some(&empty as _)] {
        for keepdims in [true, false] {
            let node = Reduce::new().keepdims(keepdims);
            let sum = node.evaluate(&data, axes, Sum).unwrap();
            assert_eq!((sum.ndim(), sum.sum()), (if keepdims { 2 } else { 0 }, 10));
            let node = node.noop_with_empty_axes(true);
            assert_eq!(node.evaluate(&data, axes, Sum).unwrap(), data);
        }
    }
    let scalar = Reduce::new().evaluate(&arr0(7), None, Max).unwrap();
    assert_eq!(scalar, arr0(7).into_dyn());
}

#[test]
fn axes_out_of_range_are_errors_that_show_them() {
    for axis in [2, -3, isize::MAX as i64, isize::MIN as i64] {
        let errors = [
            Reduce::new().infer_shape((2, 3), Some(&[0, axis])),
            Arg::max().axis(axis).infer_shape((2, 3)),
        ];
        for error in errors.map(Result::unwrap_err) {
            let text = error.to_string();
            assert!(text.contains(&format!("axis {axis}")), "{text}");
            assert!(matches!(error.kind(), ErrorKind::InvalidAxes { .. }));
        }
    }
    for axes in [[i64::MIN, 0], [0, i64::MAX]] {
        assert!(Reduce::new().infer_shape((2, 3), Some(&axes)).is_err());
    }
    assert!(Arg::max().evaluate(&arr0(1.)).is_err());
    assert!(
        Reduce::new()
            .infer_shape((2, 3), Some(&[u64::MAX]))
            .is_err()
    );
}

/// Compared with the shape of a plan, which is made of known sizes.
#[test]
fn reductions_of_shapes_that_are_known_in_part_keep_what_is_known() {
    let unknown = PartialShape::UNKNOWN;
    for axes in [
        vec![],
        vec![0_i64],
        vec![1],
        vec![-1],
        vec![2, 0],
        vec![1, 0, -1],
    ] {
        for [keepdims, noop] in [[true, true], [true, false], [false, true], [false, false]] {
            let node = Reduce::new().keepdims(keepdims).noop_with_empty_axes(noop);
            let expected = node.infer_shape((2, 3, 4), Some(&axes)).unwrap();
            let infer = |data: &PartialShape| node.infer(data, Some(&axes)).unwrap();
            let known = PartialShape::known((2, 3, 4));
            let what = format!("{node:?} {axes:?}");
            assert_eq!(infer(&known), PartialShape::known(&*expected), "{what}");
            // Any size instead of 3.
            let [any, two, four] = [PartialSize::ANY, 2.into(), 4.into()];
            let found = infer(&PartialShape::new([two, any, four]));
            let sizes = expected.iter().map(|&size| match size {
                3 => any,
                size => size.into(),
            });
            assert_eq!(found, PartialShape::new(sizes), "{what}");
            let is_scalar = axes.is_empty() && !noop && !keepdims;
            let scalar = PartialShape::known(());
            let expected = if is_scalar { &scalar } else { &unknown };
            assert_eq!(infer(&unknown), *expected, "{what}");
        }
    }
}

#[test]
fn tensors_of_other_ranks_are_errors() {
    let (two, zero) = (array![[1_i64]], arr0(1_i64));
    let errors = [
        Expand::new().infer_shape(3, &two),
        Expand::new().infer_shape(3, &zero),
        Reduce::new().infer_shape(3, Some(&two)),
        Reduce::new().infer_shape(3, Some(&zero)),
    ];
    for error in errors.map(Result::unwrap_err) {
        assert!(matches!(error.kind(), ErrorKind::InvalidInteger { .. }));
    }
}

#[test]
fn minus_one_is_a_size_only_if_allowed() {
    let (data, lenient) = (array![[1, 2, 3]], Expand::new().with_minus_one_as_keep());
    for (shape, expected) in [([-1, 1], [1, 3]), ([4, -1], [4, 3]), ([-1, -1], [1, 3])] {
        assert_eq!(lenient.evaluate(&data, &shape).unwrap().shape(), expected);
        let error = Expand::new().evaluate(&data, &shape).unwrap_err();
        assert!(
            error.to_string().contains("with_minus_one_as_keep"),
            "{error}"
        );
    }
    assert_eq!(lenient.infer_shape(3, &[-1_i64, -1]).unwrap(), [1, 3]);
    let [known, entries] = [(4, 3), (KEEP, 1)].map(PartialShape::known);
    assert_eq!(lenient.infer(&known, &entries).unwrap(), known);
    assert!(Expand::new().infer(&known, &entries).is_err());
    for shape in [[-2, 1], [i64::MIN, 1], [1, 4]] {
        assert!(lenient.evaluate(&data, &shape).is_err());
    }
}

#[test]
fn unknown_attributes_and_values_are_errors() {
    let reduce = Reduce::new();
    for (name, value) in [
        ("keepdims", 2),
        ("keepdims", -1),
        ("noop_with_empty_axes", 5),
        ("axes", 1),
        ("", 0),
    ] {
        let error = reduce.with_attribute(name, value).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::InvalidText { text, .. }
                if **text == format!("{name}={value}")));
    }
    for (name, value) in [("select_last_index", 2), ("keepdims", 3), ("axes", 0)] {
        assert!(Arg::max().with_attribute(name, value).is_err());
    }
}

#[test]
fn positions_among_no_terms_are_errors() {
    let empty = ArrayD::<f32>::zeros(vec![2, 0]);
    for node in [Arg::max(), Arg::min(), Arg::max().select_last_index(true)] {
        let error = node.axis(1).evaluate(&empty).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::TooFewTerms { .. }));
        assert_eq!(node.evaluate(&empty).unwrap().shape(), [1, 0]);
    }
}

#[test]
fn shapes_of_too_many_elements_are_errors() {
    let shape = (usize::MAX, 2);
    for keepdims in [true, false] {
        let reduce = Reduce::new().keepdims(keepdims).plan(shape, Some(&[1]));
        let arg = Arg::max().keepdims(keepdims).plan(shape);
        let known = PartialShape::known(shape);
        let all = Reduce::new().keepdims(keepdims).infer(&known, None);
        let first = Arg::max().keepdims(keepdims).infer(&known);
        let plans = [reduce, arg].map(Result::unwrap_err);
        for error in plans
            .into_iter()
            .chain([all, first].map(Result::unwrap_err))
        {
            assert!(
                matches!(error.kind(), ErrorKind::ShapeOverflow { .. }),
                "{error}"
            );
        }
    }
}
