//! Axes as people count them: negative ones from the end, in every method that takes axes of an
//! array.

use ndarray::{Array0, Array1, Array3, Array4, ArrayD, Axis, IxDyn};
use ndarray_broadcast::error::AxesFault;
use ndarray_broadcast::prelude::*;
use ndarray_broadcast::reduction::AxisList;
use ndarray_broadcast::{axes_from_integers, expand_shape_from_integers, shape_from_integers};

fn numbers(shape: (usize, usize, usize)) -> Array3<i64> {
    let mut next = 0;
    Array3::from_shape_simple_fn(shape, || {
        next += 1;
        next * next
    })
}

/// The fault of the axes, and what was given, as the error has it.
fn fault<T>(result: Result<T, BroadcastError>) -> (AxesFault, Vec<i128>) {
    let error = result.map(drop).unwrap_err();
    match error.kind() {
        ErrorKind::InvalidAxes { fault, axes, .. } => (fault.clone(), axes.to_vec()),
        _ => panic!("{error}"),
    }
}

#[test]
fn every_subset_of_axes_is_reduced_however_it_is_written() {
    let x = numbers((2, 3, 4));
    for set in 0..8_u8 {
        let axes: Vec<usize> = (0..3).filter(|axis| set >> axis & 1 == 1).collect();
        let mut expected = x.clone().into_dyn();
        for &axis in axes.iter().rev() {
            expected = expected.sum_axis(Axis(axis));
        }
        let negative: Vec<i64> = axes.iter().rev().map(|&axis| axis as i64 - 3).collect();
        let narrow: Vec<i8> = negative.iter().map(|&axis| axis as i8).collect();
        let unsigned: Vec<u64> = axes.iter().map(|&axis| axis as u64).collect();
        assert_eq!(x.reduce_axes(&axes, Sum).unwrap(), expected);
        assert_eq!(x.reduce_axes(&negative[..], Sum).unwrap(), expected);
        assert_eq!(
            x.view().into_dyn().reduce_axes(narrow, Sum).unwrap(),
            expected
        );
        assert_eq!(x.reduce_axes(unsigned, Sum).unwrap(), expected);

        let kept = x.reduce_axes_keepdims(&negative, Sum).unwrap();
        let mut shape = [2, 3, 4];
        axes.iter().for_each(|&axis| shape[axis] = 1);
        assert_eq!(kept.shape(), shape);
        assert!(kept.iter().eq(&expected));
        let plan = BroadcastPlan::over_axes(x.raw_dim(), &negative).unwrap();
        assert_eq!(plan, BroadcastPlan::over_axes((2, 3, 4), axes).unwrap());
        assert_eq!(plan.gradient(&x).unwrap(), kept);
    }
}

#[test]
fn ranks_of_results_are_static_for_one_axis_and_for_arrays() {
    let x = numbers((2, 3, 4));
    let one: Array1<i64> = x.reduce_axes([0, -1], Sum).unwrap();
    let none: Array0<i64> = x.reduce_axes(&[2_u8, 1, 0], Sum).unwrap();
    assert_eq!(none.into_scalar(), one.sum());
    let same: Array3<i64> = x.reduce_axes([0_usize; 0], Sum).unwrap();
    assert_eq!(same, x);
    assert_eq!(
        x.reduce_axes(Axis(1), Max).unwrap(),
        x.reduce_axes(-2, Max).unwrap()
    );
    let positions = x.reduce_axes(-1, ArgMax).unwrap();
    assert_eq!(positions.dim(), (2, 3));
    let six = ArrayD::<f32>::ones(IxDyn(&[1, 2, 1, 2, 1, 2, 3]));
    let three: ArrayD<f32> = six.reduce_axes([0, 1, 2, 3, -3, -2], Sum).unwrap();
    assert_eq!(three.into_raw_vec_and_offset().0, [8.; 3]);
    let four = Array4::<f32>::zeros((2, 0, 3, 1));
    assert_eq!(
        four.reduce_axes([1, 3], Sum).unwrap(),
        ndarray::Array2::<f32>::zeros((2, 3))
    );
    assert!(four.reduce_axes(1, Max).is_err());
    assert_eq!(four.reduce_axes(0, Max).unwrap().dim(), (0, 3, 1));
}

fn faults_of(axes: impl AxisList + Copy, expected: AxesFault, given: &[i128]) {
    let x = numbers((2, 3, 4));
    let expected = (expected, given.to_vec());
    assert_eq!(fault(x.reduce_axes(axes, Sum)), expected);
    assert_eq!(fault(x.reduce_axes_keepdims(axes, Sum)), expected);
    assert_eq!(fault(BroadcastPlan::over_axes(x.shape(), axes)), expected);
}

#[test]
fn axes_that_do_not_exist_or_repeat_are_errors() {
    use AxesFault::{Length, NotOne, OutOfRange, Repeated};
    faults_of([0, -3], Repeated(1), &[0, -3]);
    faults_of([1, 1], Repeated(1), &[1, 1]);
    faults_of([2, -4], OutOfRange(1), &[2, -4]);
    faults_of(3_u8, OutOfRange(0), &[3]);
    faults_of(i64::MIN, OutOfRange(0), &[i64::MIN.into()]);
    faults_of(i64::MAX, OutOfRange(0), &[i64::MAX.into()]);
    faults_of(u64::MAX, OutOfRange(0), &[u64::MAX.into()]);
    faults_of(&[0_i8, 1, 2, -1][..], Repeated(3), &[0, 1, 2, -1]);
    let scalar = ndarray::arr0(1);
    assert_eq!(
        fault(scalar.reduce_axes(-1, Sum)),
        (OutOfRange(0), vec![-1])
    );

    let plan = BroadcastPlan::numpy((2, 3), (4, 2, 3)).unwrap();
    assert_eq!(fault(plan.permuted(&[0, 1, -3])).0, Repeated(2));
    assert_eq!(
        fault(plan.permuted_input(&[0_i64, i64::MIN])).0,
        OutOfRange(1)
    );
    assert_eq!(fault(plan.permuted_input(&[-1])).0, Length);
    assert_eq!(fault(plan.insert_axis(-5)), (OutOfRange(0), vec![-5]));
    assert_eq!(fault(plan.insert_input_axis(i64::MIN)).0, OutOfRange(0));
    assert_eq!(fault(plan.remove_axis(-1)), (NotOne(0), vec![-1]));
    assert_eq!(fault(plan.remove_input_axis(-3)).0, OutOfRange(0));
}

#[test]
fn plans_count_axes_from_the_end() {
    let plan = BroadcastPlan::numpy((2, 3), (4, 2, 3)).unwrap();
    for from_front in 0..4 {
        let from_end = from_front as i64 - 4;
        let wider = plan.insert_axis(from_end).unwrap();
        assert_eq!(wider, plan.insert_axis(from_front).unwrap());
        assert_eq!(
            wider.remove_axis(from_end).unwrap().output_shape(),
            [4, 2, 3]
        );
    }
    let wider = plan.insert_input_axis(-1).unwrap();
    assert_eq!(wider.input_shape(), [2, 3, 1]);
    assert_eq!(
        wider.remove_input_axis(-1_i8).unwrap().input_shape(),
        [2, 3]
    );
    let permuted = plan.permuted(&[-1_i32, 0, -2]).unwrap();
    assert_eq!(permuted, plan.permuted(&[2_usize, 0, 1]).unwrap());
    let permuted = plan.permuted_input(&[-1, -2]).unwrap();
    assert_eq!(permuted, plan.permuted_input(&[1_u8, 0]).unwrap());
}

#[test]
fn integers_are_lists_or_tensors_of_rank_1() {
    let tensor = ndarray::array![2_i32, 3].into_dyn();
    assert_eq!(shape_from_integers(&tensor).unwrap(), [2, 3]);
    assert_eq!(shape_from_integers(&tensor.view()).unwrap(), [2, 3]);
    assert_eq!(shape_from_integers(&vec![2_u8, 3]).unwrap(), [2, 3]);
    let axes: &[i64] = &[0, -1];
    assert_eq!(axes_from_integers(axes, 3).unwrap(), [0, 2]);
    assert_eq!(expand_shape_from_integers(&[1, -1]).unwrap(), [1, KEEP]);
    let matrix = ndarray::array![[2, 3]];
    let errors = [
        shape_from_integers(&matrix),
        axes_from_integers(&matrix, 4),
        expand_shape_from_integers(&ndarray::arr0(3)),
        axes_from_integers(&[i64::MIN], 3),
        axes_from_integers(&[0], 0),
        axes_from_integers(&[u64::MAX], usize::MAX),
    ];
    for error in errors.map(Result::unwrap_err) {
        assert!(
            matches!(error.kind(), ErrorKind::InvalidInteger { .. }),
            "{error}"
        );
    }
}
