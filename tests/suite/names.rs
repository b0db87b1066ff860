//! Axes by name: every answer of einops' `repeat` that is recorded, as a view where einops gives
//! one, else as the copy that the error names.

use ndarray::{ArrayD, ArrayView2, ArrayViewD, Axis, Dimension, IxDyn, ShapeBuilder, Slice};
use ndarray_broadcast::error::PatternFault;
use ndarray_broadcast::named::AxisPattern;
use ndarray_broadcast::prelude::*;
use serde_json::Value;

fn numbers(list: &Value) -> Vec<usize> {
    let list = list.as_array().unwrap().iter();
    list.map(|number| number.as_u64().unwrap() as usize)
        .collect()
}

fn every_other<T>(mut array: ArrayViewD<'_, T>) -> ArrayViewD<'_, T> {
    for axis in 0..array.ndim() {
        array.slice_axis_inplace(Axis(axis), Slice::from(..).step_by(2));
    }
    array
}

fn reversed<T>(mut array: ArrayViewD<'_, T>) -> ArrayViewD<'_, T> {
    (0..array.ndim()).for_each(|axis| array.invert_axis(Axis(axis)));
    array
}

/// What the view is, or what the calls of the error give; and whether it is a view.
fn answer<T: Copy + Send + Sync>(
    text: &str,
    array: &ArrayViewD<'_, T>,
    sizes: &[(&str, usize)],
) -> Result<(ArrayD<T>, bool), BroadcastError> {
    let pattern: AxisPattern = text.parse()?;
    let error = match pattern.view(array, sizes) {
        Ok(view) => {
            assert_eq!(view.as_ptr(), array.as_ptr());
            return Ok((view.to_owned(), true));
        }
        Err(error) => error,
    };
    let ErrorKind::InvalidPattern {
        fault: PatternFault::NeedsCopy(shape),
        ..
    } = error.kind()
    else {
        return Err(error);
    };
    assert!(
        error
            .to_string()
            .contains("leave out the parentheses on the right, materialize")
    );
    let (left, right) = text.split_once("->").unwrap();
    let ungrouped = format!("{left}->{}", right.replace(['(', ')'], " "));
    let copy = array.broadcast_named(&ungrouped, sizes)?.materialize()?;
    Ok((copy.into_shape_with_order(IxDyn(shape)).unwrap(), false))
}

#[test]
fn answers_of_einops_are_views_or_the_copies_that_the_error_names() {
    let file: Value = serde_json::from_str(include_str!("../data/names/einops.json")).unwrap();
    let (mut accepted, mut refused) = (0, 0);
    for case in file["cases"].as_array().unwrap() {
        let (text, shape) = (case["pattern"].as_str().unwrap(), numbers(&case["shape"]));
        let sizes = case["sizes"].as_object().unwrap().iter();
        let sizes = sizes.map(|(name, size)| (&name[..], size.as_u64().unwrap() as usize));
        let sizes: Vec<_> = sizes.collect();

        let mut next = 0..;
        let c = ArrayD::from_shape_simple_fn(IxDyn(&shape), || next.next().unwrap());
        let f = c.t().as_standard_layout().reversed_axes().into_owned();
        let doubled: Vec<usize> = shape.iter().map(|size| 2 * size).collect();
        let mut gaps = ArrayD::zeros(IxDyn(&doubled));
        for (index, &number) in c.indexed_iter() {
            let index: Vec<usize> = index.slice().iter().map(|i| 2 * i).collect();
            gaps[&index[..]] = number;
        }
        let backward = reversed(c.view()).as_standard_layout().into_owned();
        let layouts = [
            ("c", c.view()),
            ("f", f.view()),
            ("gaps", every_other(gaps.view())),
            ("c", reversed(backward.view())),
        ];
        for (layout, array) in layouts {
            let answer = answer(text, &array, &sizes);
            let expect = &case["expect"];
            if expect["ok"] == false {
                assert!(answer.is_err(), "{case}");
                refused += 1;
                continue;
            }
            let (output, is_view) = answer.unwrap_or_else(|error| panic!("{case}: {error}"));
            assert_eq!(output.shape(), numbers(&expect["shape"]), "{case}");
            assert!(
                output.iter().copied().eq(numbers(&expect["data"])),
                "{case}"
            );
            assert_eq!(is_view, expect["views"][layout] == true, "{layout} {case}");
            accepted += 1;
        }
    }
    assert_eq!((accepted, refused), (1084, 116));
}

/// Elements of any type, without size, and not `Copy`.
#[test]
fn views_of_groups_need_no_bound_on_the_elements() {
    let names = ["a", "b", "c", "d", "e", "f"].map(String::from).to_vec();
    let names = ArrayD::from_shape_vec(IxDyn(&[6]), names).unwrap();
    let columns = names
        .broadcast_named("(h w) -> w (h 1)", &[("h", 2)])
        .unwrap();
    assert_eq!(columns.shape(), [3, 2]);
    assert_eq!(columns[[2, 0]], "c");
    let units = ArrayD::from_elem(IxDyn(&[usize::MAX / 8 * 2]), ());
    let halves = units.broadcast_named("(h w) -> w h", &[("h", 2)]).unwrap();
    assert_eq!(halves.shape(), [usize::MAX / 8, 2]);
}

/// Elements of size 0 lie at one address, so that their strides may be any numbers.
#[test]
fn axes_with_strides_that_overflow_are_merged_in_a_copy_only() {
    let units = vec![(); usize::MAX];
    let far = isize::MAX as usize;
    for (sizes, strides, is_view) in [
        ([2, 2], [1, far - 1], false),
        ([3, 2], [0, far], false),
        ([1, 2], [0, far], true),
        ([2, 1], [far, 0], true),
        ([2, 2], [2, 1], true),
    ] {
        let array = ArrayView2::from_shape(sizes.strides(strides), &units).unwrap();
        let (merged, was_view) = answer("a b -> (a b)", &array.into_dyn(), &[]).unwrap();
        assert_eq!(merged.len(), sizes[0] * sizes[1]);
        assert_eq!(was_view, is_view, "{sizes:?} {strides:?}");
    }
}

#[test]
fn sizes_of_groups_that_overflow_are_errors() {
    let refused = |text: &str, size: usize, sizes: &[(&str, usize)]| {
        let array = ArrayD::<u8>::zeros(IxDyn(&[size]));
        let error = array.broadcast_named(text, sizes).unwrap_err();
        match error.kind() {
            ErrorKind::InvalidPattern { fault, .. } => format!("{fault:?}"),
            kind => format!("{kind:?}").split(' ').next().unwrap().into(),
        }
    };
    let (most, sizes) = (usize::MAX, |a, b| [("a", a), ("b", b)]);
    assert_eq!(
        refused("(a b c) -> a b c", 6, &sizes(most, 3)),
        "ShapeOverflow"
    );
    assert_eq!(
        refused("(a b) -> a b", 6, &sizes(most, most)),
        "ShapeOverflow"
    );
    assert_eq!(refused("(a b) -> a b", 0, &sizes(0, most)), "ShapeOverflow");
    assert_eq!(
        refused("(a b c) -> a b c", 0, &sizes(0, most)),
        "ShapeOverflow"
    );
    assert_eq!(
        refused("(a b c) -> a b c", 0, &sizes(most, most)),
        "ShapeOverflow"
    );
    assert_eq!(
        refused("a -> (a x y)", 2, &[("x", most), ("y", 2)]),
        "ShapeOverflow"
    );
}
