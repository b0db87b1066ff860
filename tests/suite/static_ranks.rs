//! Inputs of static rank give results of static rank, equal to the results of dynamic rank.

use ndarray::{
    Array, ArrayRef, ArrayView, ArrayViewD, Axis, CowArray, Dim, DimMax, Dimension, Ix0, Ix1, Ix2,
    Ix3, Ix5, Ix6, IxDyn, arr0, arr1, arr2,
};
use ndarray_broadcast::prelude::*;

// A separate function, because the bounds of the test below would mislead type inference.
fn dynamic_view<'a>(
    array: &'a ArrayViewD<'_, i32>,
    target: IxDyn,
    mode: &BroadcastMode,
) -> Result<ArrayViewD<'a, i32>, BroadcastError> {
    array.broadcast_to_mode(target, mode)
}

fn dynamic_pair<'a>(
    a: &'a ArrayViewD<'_, i32>,
    b: &'a ArrayViewD<'_, u8>,
    rule: &ElementwiseRule,
) -> Result<(ArrayViewD<'a, i32>, ArrayViewD<'a, u8>), BroadcastError> {
    a.broadcast_with_rule(b, rule)
}

/// Asserts that a static input and target, a dynamic input and target, and mixtures give the same
/// view. Its static rank is max(D, E).
fn assert_static_equals_dynamic<D, E>()
where
    D: Dimension + DimMax<E> + DimMax<IxDyn, Output = IxDyn>,
    E: Dimension,
    IxDyn: DimMax<E, Output = IxDyn> + DimMax<IxDyn, Output = IxDyn>,
{
    let (rank, target_rank) = (D::NDIM.unwrap(), E::NDIM.unwrap());
    let size = |axis: usize| 2 + axis % 2;
    // Sizes match right-aligned. Every second input axis has size 1.
    let mut input = D::zeros(rank);
    for axis in 0..rank {
        input[rank - 1 - axis] = if axis % 2 == 0 { 1 } else { size(axis) };
    }
    let mut target = E::zeros(target_rank);
    for axis in 0..target_rank {
        target[target_rank - 1 - axis] = size(axis);
    }
    let mut count = 0;
    let array = Array::<i32, D>::from_shape_simple_fn(input.clone(), || {
        count += 1;
        count
    });
    let dynamic = array.view().into_dyn();
    let dynamic_target = IxDyn(target.slice());
    let mapping: Vec<usize> = (target_rank.saturating_sub(rank)..target_rank).collect();
    let modes = [
        BroadcastMode::Numpy,
        BroadcastMode::Bidirectional,
        BroadcastMode::Explicit {
            axes_mapping: mapping.clone(),
        },
        BroadcastMode::BroadcastAxes {
            broadcast_axes: vec![0],
        },
        BroadcastMode::InDim {
            broadcast_dimensions: mapping.clone(),
        },
        BroadcastMode::InDimPermuting {
            broadcast_dimensions: mapping.iter().rev().copied().collect(),
        },
        BroadcastMode::Expand,
        BroadcastMode::Pdpd { axis: -1 },
    ];
    for mode in &modes {
        let expected = dynamic_view(&dynamic, dynamic_target.clone(), mode);
        let view: Result<ArrayView<'_, i32, <D as DimMax<E>>::Output>, _> =
            array.broadcast_to_mode(target.clone(), mode);
        assert_eq!(
            view.map(|view| view.into_dyn()),
            expected,
            "{input:?} {target:?} {mode}"
        );
        assert_eq!(
            array.broadcast_to_mode(dynamic_target.clone(), mode),
            expected
        );
        assert_eq!(dynamic.broadcast_to_mode(target.clone(), mode), expected);
    }
    let other = Array::<u8, E>::zeros(target.clone());
    let dynamic_other = other.view().into_dyn();
    let rules = [
        ElementwiseRule::None,
        ElementwiseRule::Numpy,
        ElementwiseRule::Pdpd { axis: -1 },
        ElementwiseRule::Xla {
            broadcast_dimensions: mapping,
        },
    ];
    for rule in &rules {
        let expected = dynamic_pair(&dynamic, &dynamic_other, rule);
        let pair = array
            .broadcast_with_rule(&other, rule)
            .map(|(a, b)| (a.into_dyn(), b.into_dyn()));
        assert_eq!(pair, expected, "{input:?} {target:?} {rule}");
    }
}

macro_rules! pairs_of_ranks {
    ($($d:ident)*) => { $(pairs_of_ranks!(@ $d: Ix0 Ix1 Ix3 Ix6);)* };
    (@ $d:ident: $($e:ident)*) => { $(assert_static_equals_dynamic::<$d, $e>();)* };
}

/// ndarray and this crate have the same code for all ranks between 0 and 6. The test is compiled
/// once for each pair.
#[test]
fn pairs_of_static_ranks_give_the_same_as_dynamic_ranks() {
    pairs_of_ranks!(Ix0 Ix1 Ix3 Ix6);
}

#[test]
fn the_rank_of_broadcast_prepend_is_the_sum_of_both_ranks() {
    let a = arr2(&[[1, 2]]);
    let view: ArrayView<'_, i32, Ix5> = a.broadcast_prepend((3, 1, 2)).unwrap();
    assert_eq!(view.shape(), [3, 1, 2, 1, 2]);
    let b = Array::<u8, _>::zeros((1, 1, 1, 1));
    // ndarray has no static ranks above 6.
    let c: ArrayView<'_, u8, IxDyn> = b.broadcast_prepend((2, 2, 2)).unwrap();
    assert_eq!(c.shape(), [2, 2, 2, 1, 1, 1, 1]);
}

#[test]
fn every_kind_of_array_broadcasts() {
    let owned = arr1(&[1, 2]);
    let expected = arr2(&[[1, 2], [1, 2]]);
    assert_eq!(owned.broadcast_numpy((2, 2)).unwrap(), expected);
    assert_eq!(owned.view().broadcast_numpy((2, 2)).unwrap(), expected);
    assert_eq!(owned.to_shared().broadcast_numpy((2, 2)).unwrap(), expected);
    assert_eq!(
        CowArray::from(owned.view())
            .broadcast_numpy((2, 2))
            .unwrap(),
        expected
    );
    assert_eq!(
        owned.clone().view_mut().broadcast_numpy((2, 2)).unwrap(),
        expected
    );
    let reference: &ArrayRef<i32, Ix1> = &owned;
    assert_eq!(reference.broadcast_numpy((2, 2)).unwrap(), expected);
    // In a generic function, for sized and unsized arrays.
    fn rows<T: BroadcastExt<Elem = i32, Dim = Ix1> + ?Sized>(array: &T) -> ArrayView<'_, i32, Ix2> {
        array.broadcast_numpy((2, 2)).unwrap()
    }
    assert_eq!(rows(&owned), expected);
    assert_eq!(rows(reference), expected);
}

/// The rank of a view is that of the shape, static or not.
#[test]
fn every_kind_of_expand_shape_is_accepted() {
    let row = arr2(&[[1, 2, 3]]);
    let three = arr1(&[1, 2, 3]);
    let (rows, minus) = (2_usize, -1_i64);
    let wide = |view: ArrayView<i32, Ix2>| assert_eq!(view, arr2(&[[1, 2, 3], [1, 2, 3]]));
    wide(row.broadcast_expand((2, -1)).unwrap());
    wide(row.broadcast_expand((rows, -1)).unwrap());
    wide(row.broadcast_expand((2_u8, minus)).unwrap());
    wide(row.broadcast_expand((rows, KEEP)).unwrap());
    wide(row.broadcast_expand([rows, KEEP]).unwrap());
    wide(row.broadcast_expand([2, minus]).unwrap());
    wide(row.broadcast_expand(&[2, minus]).unwrap());
    wide(row.broadcast_expand(Ix2(2, KEEP)).unwrap());
    wide(three.broadcast_expand((2, 3)).unwrap());
    let dynamic = |view: ArrayViewD<i32>| assert_eq!(view, arr2(&[[1, 2, 3]; 2]).into_dyn());
    dynamic(row.broadcast_expand(vec![2_i16, -1]).unwrap());
    dynamic(row.broadcast_expand(&vec![2_u16, 3]).unwrap());
    dynamic(row.broadcast_expand(&[2, minus][..]).unwrap());
    dynamic(row.broadcast_expand(&arr1(&[2, minus])).unwrap());
    dynamic(
        row.broadcast_expand(&arr1(&[2_isize, -1]).into_dyn().view())
            .unwrap(),
    );
    dynamic(row.broadcast_expand(IxDyn(&[2, KEEP])).unwrap());

    let same = |view: ArrayView<i32, Ix1>| assert_eq!(view, three);
    same(three.broadcast_expand(-1).unwrap());
    same(three.broadcast_expand(3_u64).unwrap());
    same(three.broadcast_expand((-1,)).unwrap());
    let one = arr0(7);
    let scalar: ArrayView<i32, Ix0> = one.broadcast_expand(()).unwrap();
    assert_eq!(scalar, one);
    assert_eq!(one.broadcast_expand((1, 2, 3)).unwrap().dim(), (1, 2, 3));
    assert_eq!(
        one.broadcast_expand((1, 2, 3, 4)).unwrap().dim(),
        (1, 2, 3, 4)
    );
    assert_eq!(
        one.broadcast_expand((1, 2, 3, 4, 5)).unwrap().dim(),
        (1, 2, 3, 4, 5)
    );
    let six = [1, 2, 3, 4, 5, 6];
    assert_eq!(
        one.broadcast_expand((1, 2, 3, 4, 5, 6)).unwrap().shape(),
        six
    );
    assert_eq!(one.broadcast_expand(six).unwrap().dim(), (1, 2, 3, 4, 5, 6));
    let plan: BroadcastPlan<Ix2, Ix3> = BroadcastPlan::expand((2, 1), (4, -1, 3)).unwrap();
    assert_eq!(plan.output_shape(), [4, 2, 3]);
}

#[test]
fn every_kind_of_shape_is_accepted() {
    let scalar = arr0(7);
    assert_eq!(scalar.broadcast_numpy(()).unwrap().shape(), [0; 0]);
    assert_eq!(scalar.broadcast_numpy(2).unwrap().shape(), [2]);
    assert_eq!(scalar.broadcast_numpy([2, 3]).unwrap().shape(), [2, 3]);
    assert_eq!(scalar.broadcast_numpy(Dim([2, 3])).unwrap().shape(), [2, 3]);
    assert_eq!(scalar.broadcast_numpy(&[2, 3][..]).unwrap().shape(), [2, 3]);
    assert_eq!(scalar.broadcast_numpy(vec![2, 3]).unwrap().shape(), [2, 3]);
    assert_eq!(
        scalar.broadcast_numpy(IxDyn(&[2, 3])).unwrap().shape(),
        [2, 3]
    );
}

/// A view taken by value returns a view with the lifetime of the data, in every mode.
#[test]
fn views_by_value_outlive_the_function_that_broadcasts_them() {
    fn column<'a>(a: ArrayView<'a, i32, Ix1>, mode: &BroadcastMode) -> ArrayView<'a, i32, Ix3> {
        let view = a.insert_axis(Axis(1));
        let plan = BroadcastPlan::with_mode(view.raw_dim(), (4, 2, 3), mode).unwrap();
        plan.view(view).unwrap()
    }
    let array = arr1(&[1, 2]);
    let mapping = || vec![1, 2];
    for mode in [
        BroadcastMode::Numpy,
        BroadcastMode::Bidirectional,
        BroadcastMode::Explicit {
            axes_mapping: mapping(),
        },
        BroadcastMode::InDim {
            broadcast_dimensions: mapping(),
        },
        BroadcastMode::InDimPermuting {
            broadcast_dimensions: mapping(),
        },
        BroadcastMode::Expand,
        BroadcastMode::Pdpd { axis: 1 },
    ] {
        assert_eq!(column(array.view(), &mode).strides(), [0, 1, 0], "{mode}");
    }
    let pair = |a, b| broadcast_pair(a, b, &ElementwiseRule::Numpy).unwrap();
    let (a, b): (ArrayView<'_, i32, Ix1>, ArrayView<'_, i32, Ix1>) =
        pair(array.view(), array.view());
    assert_eq!(a, b);
}
