//! OpenVINO's operator: its mode attribute, its inputs of any integer type, and its errors.

use ndarray::{Array1, ArrayD, ArrayView1, ArrayViewD, Axis, IxDyn, Slice, arr0, array, s};
use ndarray_broadcast::error::{AxesFault, IntegerRole, OperatorFault};
use ndarray_broadcast::infer::PartialShape;
use ndarray_broadcast::openvino::{Broadcast, IntegerTensor, Mode};
use ndarray_broadcast::{AxisSource, BroadcastError, ErrorKind, Rule};

const VERSIONS: [Broadcast; 2] = [Broadcast::v1(), Broadcast::v3()];

fn explicit() -> Broadcast {
    Broadcast::v3().with_mode(Mode::Explicit).unwrap()
}

fn bidirectional() -> Broadcast {
    Broadcast::v3().with_mode(Mode::Bidirectional).unwrap()
}

#[test]
fn the_mode_is_parsed_and_defaults_to_numpy() {
    for operator in VERSIONS {
        assert_eq!(operator.mode(), Mode::Numpy);
        for (text, mode) in [
            ("numpy", Mode::Numpy),
            ("NumPy", Mode::Numpy),
            ("explicit", Mode::Explicit),
            ("EXPLICIT", Mode::Explicit),
            ("none", Mode::Explicit),
            ("NONE", Mode::Explicit),
            ("pdpd(0)", Mode::Pdpd { axis: 0 }),
            ("pdpd(-1)", Mode::Pdpd { axis: -1 }),
        ] {
            let parsed: Mode = text.parse().unwrap();
            assert_eq!(parsed, mode, "{text}");
            let operator = operator.with_mode(parsed).unwrap();
            assert_eq!(operator.mode(), mode);
            assert_eq!(mode.to_string().parse(), Ok(mode));
        }
    }
    assert_eq!("bidirectional".parse(), Ok(Mode::Bidirectional));
    assert!(Broadcast::v3().with_mode(Mode::Bidirectional).is_ok());
}

#[test]
fn the_name_of_pdpd_has_its_axis() {
    for (axis, name) in [(-1, "pdpd(-1)"), (0, "pdpd(0)"), (1, "pdpd(1)")] {
        assert_eq!(Mode::Pdpd { axis }.to_string(), name);
    }
}

#[test]
fn an_operator_keeps_its_version() {
    assert_eq!(VERSIONS.map(|operator| operator.version()), [1, 3]);
    for mode in [Mode::Explicit, Mode::Pdpd { axis: 1 }] {
        let operators = VERSIONS.map(|operator| operator.with_mode(mode).unwrap());
        assert_eq!(operators.map(|operator| operator.version()), [1, 3]);
    }
}

#[test]
fn known_shapes_infer_the_shape_or_the_error_of_the_plan() {
    for (data, target, mapping) in [
        (&[3][..], &[2, 3][..], 1),
        (&[], &[1], 0),
        (&[], &[2], 0),
        (&[3], &[2, 3], 2),
    ] {
        let plan = explicit().plan(data, &Array1::from(target.to_vec()), Some(&[mapping]));
        let [data, target, mapping] = [data, target, &[mapping]].map(PartialShape::known);
        let shape = explicit().infer(&data, &target, Some(&mapping));
        let planned = plan.map(|plan| PartialShape::known(plan.output_dim()));
        assert_eq!(shape, planned);
    }
}

fn operator_fault(error: &BroadcastError) -> OperatorFault {
    match error.kind() {
        ErrorKind::InvalidOperator { fault, .. } => *fault,
        kind => panic!("{kind:?}"),
    }
}

#[test]
fn a_missing_axes_mapping_is_reported_before_an_invalid_target_shape() {
    let error = explicit().infer_shape(1, &[2, -1], None).unwrap_err();
    assert_eq!(operator_fault(&error), OperatorFault::AxesMappingMissing);
}

#[test]
fn version_1_has_no_bidirectional_mode() {
    let error = Broadcast::v1().with_mode(Mode::Bidirectional).unwrap_err();
    assert!(matches!(
        error.kind(),
        ErrorKind::InvalidOperator {
            version: 1,
            mode: Rule::Bidirectional,
            fault: OperatorFault::ModeNotInVersion,
            ..
        }
    ));
}

#[test]
fn the_error_for_an_unknown_mode_holds_its_name() {
    for text in ["foo", "", "bidirectional-with-a-very-long-tail"] {
        let error = text.parse::<Mode>().unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::InvalidText { text: found, .. } if **found == *text),
            "{text}"
        );
    }
}

#[test]
fn the_error_for_a_mode_with_a_wrong_list_holds_the_text() {
    for given in [
        "explicit(1)",
        "numpy()1",
        "pdpd",
        "pdpd(1, 2)",
        "pdpd(x)",
        "pdpd(",
    ] {
        let error = given.parse::<Mode>().unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::InvalidText { text, .. } if **text == *given),
            "{given}"
        );
    }
}

/// The examples of the specifications of Broadcast-1 and Broadcast-3.
#[test]
fn the_examples_of_the_specifications_give_the_specified_shapes() {
    for operator in VERSIONS {
        let explicit = operator.with_mode(Mode::Explicit).unwrap();
        let shape = operator.infer_shape((16, 1, 1), &[1_i64, 16, 50, 50], None);
        assert_eq!(shape.unwrap(), [1, 16, 50, 50]);
        let shape = explicit.infer_shape(16, &[1_i64, 16, 50, 50], Some(&[1_i64]));
        assert_eq!(shape.unwrap(), [1, 16, 50, 50]);
        let shape = explicit.infer_shape((50, 50), &[1_i64, 50, 50, 16], Some(&[1_i64, 2]));
        assert_eq!(shape.unwrap(), [1, 50, 50, 16]);
    }
    let shape = bidirectional().infer_shape((16, 1, 1), &[1_i64, 1, 50, 50], None);
    assert_eq!(shape.unwrap(), [1, 16, 50, 50]);
}

#[test]
fn target_shape_and_axes_mapping_may_have_different_integer_types() {
    let data = array![7, 8, 9];
    macro_rules! both {
        ($($target:ty)*) => {$(both!(@ $target; i8 i16 i32 i64 isize u8 u16 u32 u64 usize);)*};
        (@ $target:ty; $($axes:ty)*) => {$(
            let target: [$target; 3] = [2, 3, 4];
            let axes: [$axes; 1] = [1];
            let output = explicit().evaluate(&data, &target, Some(&axes)).unwrap();
            assert_eq!(output.shape(), [2, 3, 4]);
            assert!(output.axis_iter(Axis(1)).zip(&data).all(|(row, &x)| row.iter().all(|&y| y == x)));
        )*};
    }
    both!(i8 i16 i32 i64 isize u8 u16 u32 u64 usize);
}

#[test]
fn integer_inputs_may_be_any_array_slice_or_vec() {
    let list = vec![2_i64, 3];
    let slice: &[i64] = &list;
    let array = Array1::from(list.clone());
    let dynamic = array.clone().into_dyn();
    let strided = array![2_i64, 0, 3, 0];
    let reversed = array![3_i64, 2];
    let boxed: Box<dyn IntegerTensor> = Box::new(array.clone());
    let tensors: [&dyn IntegerTensor; 9] = [
        &[2_i64, 3],
        &list,
        &slice,
        &array,
        &dynamic,
        &dynamic.view(),
        &strided.slice(s![..;2]),
        &reversed.slice(s![..;-1]),
        &boxed,
    ];
    for tensor in tensors {
        assert_eq!(
            Broadcast::v3().infer_shape(3, tensor, None).unwrap(),
            [2, 3]
        );
        let shape = explicit()
            .infer_shape((1, 1), &[5, 6, 7, 8], Some(tensor))
            .unwrap();
        assert_eq!(shape, [5, 6, 7, 8]);
    }
}

#[test]
fn integer_inputs_that_are_not_1_d_are_rejected() {
    let data = array![1, 2, 3];
    for shape in [&[][..], &[1, 2], &[2, 1], &[0, 3], &[1, 1, 1]] {
        let tensor = ArrayD::<i32>::ones(IxDyn(shape));
        let error = Broadcast::v1().evaluate(&data, &tensor, None).unwrap_err();
        assert!(matches!(
            error.kind(),
            ErrorKind::InvalidInteger { role: IntegerRole::Size, shape: found, entry: None, .. } if **found == *shape
        ));
        let error = explicit()
            .evaluate(&data, &[2, 3], Some(&tensor))
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("axes are of rank 1, but this tensor has the shape {shape:?}")
        );
    }
}

#[test]
fn negative_entries_are_rejected() {
    for value in [-1_i64, -2, i64::MIN] {
        let assert_rejected = |result: Result<Vec<usize>, BroadcastError>, wanted: IntegerRole| {
            assert!(matches!(
                result.unwrap_err().kind(),
                ErrorKind::InvalidInteger { role, entry: Some((1, found)), .. }
                    if *role == wanted && *found == i128::from(value)
            ));
        };
        assert_rejected(
            Broadcast::v1().infer_shape(1, &[2, value], None),
            IntegerRole::Size,
        );
        assert_rejected(
            bidirectional().infer_shape(1, &[2, value], None),
            IntegerRole::Size,
        );
        assert_rejected(
            explicit().infer_shape((1, 1), &[2, 2], Some(&[0, value])),
            IntegerRole::Axis,
        );
    }
}

#[test]
fn only_mode_explicit_takes_the_third_input() {
    let axes: &dyn IntegerTensor = &[0_i64];
    for operator in VERSIONS {
        let operator_explicit = operator.with_mode(Mode::Explicit).unwrap();
        assert_eq!(
            operator_explicit.infer_shape(3, &[3, 2], None),
            Err(operator_explicit
                .evaluate(&array![1, 2, 3], &[3, 2], None)
                .unwrap_err())
        );
        let error = operator_explicit.infer_shape(3, &[3, 2], None).unwrap_err();
        assert_eq!(operator_fault(&error), OperatorFault::AxesMappingMissing);
        for mode in [Mode::Numpy, Mode::Bidirectional, Mode::Pdpd { axis: 0 }] {
            let Ok(operator) = operator.with_mode(mode) else {
                continue;
            };
            let error = operator.infer_shape(3, &[3, 2], Some(axes)).unwrap_err();
            assert_eq!(operator_fault(&error), OperatorFault::AxesMappingUnexpected);
        }
    }
    // An empty third input is rejected too.
    let empty: [i64; 0] = [];
    assert!(Broadcast::v3().infer_shape((), &[2], Some(&empty)).is_err());
}

#[test]
fn explicit_rejects_invalid_mappings() {
    let mapping = |axes: &[i64]| {
        explicit()
            .infer_shape((3, 1), &[2, 3, 4], Some(&axes))
            .unwrap_err()
    };
    for (axes, expected) in [
        (&[1][..], AxesFault::Length),
        (&[0, 1, 2], AxesFault::Length),
        (&[1, 3], AxesFault::OutOfRange(1)),
        (&[2, 1], AxesFault::Unsorted(1)),
        (&[1, 1], AxesFault::Repeated(1)),
        (&[1, i32::MAX.into()], AxesFault::OutOfRange(1)),
        #[cfg(target_pointer_width = "64")]
        (&[1, i64::MAX], AxesFault::OutOfRange(1)),
    ] {
        match mapping(axes).kind() {
            ErrorKind::InvalidAxes { fault, .. } => assert_eq!(fault, &expected),
            kind => panic!("{axes:?}: {kind:?}"),
        }
    }
    assert!(matches!(
        mapping(&[0, 1]).kind(),
        ErrorKind::SizeMismatch { axis: 0, .. }
    ));
}

#[test]
fn a_scalar_may_be_mapped_onto_an_axis_of_size_1() {
    let scalar = arr0(5);
    for (target, axes, fits) in [
        (&[1, 2][..], &[0_i64][..], true),
        (&[2, 1], &[1], true),
        (&[2, 1, 2], &[1], true),
        (&[2, 1], &[0], false),
        (&[0], &[0], false),
        (&[], &[0], false),
        (&[1], &[1], false),
        (&[1, 1], &[0, 1], false),
        (&[2, 3], &[], true),
    ] {
        let target: &[i64] = target;
        let output = explicit().evaluate(&scalar, &target, Some(&axes));
        assert_eq!(output.is_ok(), fits, "{target:?} {axes:?}");
        if let Ok(output) = output {
            assert!(output.iter().all(|&x| x == 5));
            assert!(
                output
                    .shape()
                    .iter()
                    .map(|&size| size as i64)
                    .eq(target.iter().copied())
            );
        }
    }
}

#[test]
fn pdpd_aligns_the_input_at_its_axis() {
    for operator in VERSIONS {
        let pdpd = |axis| operator.with_mode(Mode::Pdpd { axis }).unwrap();
        let plan = pdpd(1).plan((3, 1), &[2_i64, 3, 6], None).unwrap();
        assert!(plan.axis_sources().eq([
            AxisSource::Added,
            AxisSource::Kept(0),
            AxisSource::Stretched(1)
        ]));
        assert_eq!(
            pdpd(-1).infer_shape(6, &[2_i64, 3, 6], None).unwrap(),
            [2, 3, 6]
        );
        assert!(pdpd(0).infer_shape(6, &[2_i64, 3, 6], None).is_err());
    }
}

#[test]
fn evaluation_does_not_copy() {
    let data = ArrayD::from_shape_fn(IxDyn(&[2, 3]), |index| (index[0], index[1]));
    for layout in [
        data.view(),
        data.t(),
        data.slice_axis(Axis(1), Slice::new(0, None, -1)),
    ] {
        let rank = layout.ndim();
        let size = |axis: usize| layout.shape()[axis] as u64;
        let target = [4, size(0), size(1)];
        let output = Broadcast::v3().evaluate(&layout, &target, None).unwrap();
        assert_eq!(output.ndim(), rank + 1);
        assert!(std::ptr::eq(&output[[0, 0, 0]], &layout[[0, 0]]));
        assert_eq!(output.strides()[0], 0);
        assert_eq!(&output.strides()[1..], layout.strides());
    }
}

#[test]
fn the_output_of_a_view_taken_by_value_has_the_lifetime_of_the_data() {
    fn rows(data: ArrayView1<'_, String>) -> ArrayViewD<'_, String> {
        let column = data.insert_axis(Axis(1));
        Broadcast::v3().evaluate(column, &[2_u8, 3], None).unwrap()
    }
    let data = array!["a".to_owned(), "b".to_owned()];
    assert_eq!(rows(data.view())[[1, 2]], "b");
}

/// The shapes may exceed memory, because no data is allocated.
#[test]
fn shape_inference_needs_no_data() {
    let size = 1_usize << (usize::BITS / 2);
    let shape = Broadcast::v1()
        .infer_shape((size, 1), &[size as u64, 1 << 14], None)
        .unwrap();
    assert_eq!(shape, [size, 1 << 14]);
    let error = Broadcast::v1()
        .infer_shape((size, 1), &[size as u64, size as u64], None)
        .unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::ShapeOverflow { .. }));
    assert_eq!(
        Broadcast::v1().infer_shape(1, &[1_u64; 100], None).unwrap(),
        [1; 100]
    );
    assert!(Broadcast::v1().infer_shape(1, &[u64::MAX], None).is_err());
}
