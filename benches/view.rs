//! The cost of building a view, for each rule and for ndarray's `broadcast` on the same array and
//! shape; and that of chaining, reordering and cutting plans, beside making a plan of the same
//! ranks.
//!
//! `cargo bench --bench view`, `cargo bench --bench view -- plans`. On every call, for both sides,
//! the array, the shape, the list of axes and the resulting view go through `black_box`. So no call
//! is constant-folded, and all calls return a view of the same type.

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, criterion_group, criterion_main};
use ndarray::{Array, ArrayView, DimMax, Dimension, IntoDimension, Ix1, Ix2, Ix4, Ix6, IxDyn};
use ndarray_broadcast::distributed::Tile;
use ndarray_broadcast::infer::ExpandShape;
use ndarray_broadcast::prelude::*;
use std::hint::black_box;
use std::time::Duration;

/// An input shape and a target to which it broadcasts right-aligned, so that every method accepts
/// it.
struct Case<D, E> {
    name: &'static str,
    input: D,
    target: E,
}

impl<D, E, T, U> Case<D, E>
where
    D: IntoDimension<Dim = T>,
    E: IntoDimension<Dim = U>,
    T: Dimension + DimMax<U, Output = U>,
    U: Dimension + ExpandShape<Dim = U>,
{
    fn run(self, criterion: &mut Criterion) {
        let array = Array::<f32, T>::zeros(self.input.into_dimension());
        let target = self.target.into_dimension();
        let (rank, new) = (array.ndim(), target.ndim() - array.ndim());
        let mapping: Vec<usize> = (new..target.ndim()).collect();
        let mut group = criterion.benchmark_group(self.name);
        group
            .sample_size(50)
            .warm_up_time(Duration::from_millis(200))
            .measurement_time(Duration::from_millis(500));

        time(&mut group, "ndarray", &array, &target, |array, target| {
            array.broadcast(target).unwrap()
        });
        time(&mut group, "numpy", &array, &target, |array, target| {
            array.broadcast_numpy(target).unwrap()
        });
        time(&mut group, "bidirectional", &array, &target, |a, target| {
            a.broadcast_bidirectional(target).unwrap()
        });
        time(&mut group, "explicit", &array, &target, |array, target| {
            array
                .broadcast_explicit(target, black_box(&mapping))
                .unwrap()
        });
        time(&mut group, "in_dim", &array, &target, |array, target| {
            array.broadcast_in_dim(target, black_box(&mapping)).unwrap()
        });
        time(&mut group, "permuting", &array, &target, |array, target| {
            array
                .broadcast_in_dim_permuting(target, black_box(&mapping))
                .unwrap()
        });
        time(&mut group, "pdpd", &array, &target, |array, target| {
            array.broadcast_pdpd(target, black_box(-1)).unwrap()
        });
        time(&mut group, "expand", &array, &target, |array, target| {
            array.broadcast_expand(target).unwrap()
        });
        time(&mut group, "to_mode", &array, &target, |array, target| {
            array
                .broadcast_to_mode(target, black_box(BroadcastMode::Numpy))
                .unwrap()
        });

        // nGraph's rule replicates no axis of size 1: this array has the target's trailing sizes.
        let mut exact = T::zeros(rank);
        exact.slice_mut().copy_from_slice(&target.slice()[new..]);
        let array = Array::<f32, T>::zeros(exact);
        let added: Vec<usize> = (0..new).collect();
        time(
            &mut group,
            "broadcast_axes",
            &array,
            &target,
            |a, target| a.broadcast_axes(target, black_box(&added)).unwrap(),
        );
        group.finish();
    }
}

fn time<T: Dimension, U: Dimension>(
    group: &mut BenchmarkGroup<'_, WallTime>,
    name: &str,
    array: &Array<f32, T>,
    target: &U,
    view: impl for<'a> Fn(&'a Array<f32, T>, U) -> ArrayView<'a, f32, U>,
) {
    assert_eq!(view(array, target.clone()).raw_dim(), *target);
    group.bench_function(name, |bencher| {
        bencher.iter(|| view(black_box(array), black_box(target).clone()));
    });
}

/// Plans as values, from this plan on. `plan` is the cost of making it.
fn algebra<I, O>(criterion: &mut Criterion, name: &str, input: I, target: O)
where
    I: Dimension + DimMax<O, Output = O>,
    O: Dimension + DimMax<O, Output = O>,
{
    let mut group = criterion.benchmark_group(format!("plans {name}"));
    group
        .sample_size(50)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(500));
    let plan: BroadcastPlan<I, O> = BroadcastPlan::numpy(input.clone(), target.clone()).unwrap();
    let second = BroadcastPlan::numpy(target.clone(), target.clone()).unwrap();
    let axes: Vec<usize> = (0..target.ndim()).rev().collect();
    let ranges: Vec<_> = target.slice().iter().map(|&size| 0..size - 1).collect();
    group.bench_function("plan", |bencher| {
        bencher
            .iter(|| BroadcastPlan::numpy(black_box(&input).clone(), black_box(&target).clone()));
    });
    group.bench_function("then", |bencher| {
        bencher.iter(|| black_box(&plan).then(black_box(&second)));
    });
    group.bench_function("permuted", |bencher| {
        bencher.iter(|| black_box(&plan).permuted(black_box(&axes)));
    });
    group.bench_function("tile", |bencher| {
        bencher.iter(|| Tile::new(black_box(&plan), black_box(&ranges)));
    });
    group.finish();
}

fn plans(criterion: &mut Criterion) {
    algebra(criterion, "1 to 2", Ix1(5), Ix2(4, 5));
    algebra(criterion, "2 to 4", Ix2(4, 1), Ix4(2, 3, 4, 5));
    algebra(
        criterion,
        "6 to 6",
        Ix6(2, 1, 3, 1, 2, 1),
        Ix6(2, 4, 3, 5, 2, 6),
    );
    algebra(
        criterion,
        "IxDyn 2 to 4",
        IxDyn(&[4, 1]),
        IxDyn(&[2, 3, 4, 5]),
    );
    algebra(
        criterion,
        "IxDyn 6 to 6",
        IxDyn(&[2, 1, 3, 1, 2, 1]),
        IxDyn(&[2, 4, 3, 5, 2, 6]),
    );
    let ones = [1; 100];
    algebra(criterion, "IxDyn 100 to 100", IxDyn(&ones), IxDyn(&ones));
}

fn views(criterion: &mut Criterion) {
    Case {
        name: "0 to 2",
        input: (),
        target: (4, 5),
    }
    .run(criterion);
    Case {
        name: "1 to 4",
        input: 5,
        target: (2, 3, 4, 5),
    }
    .run(criterion);
    Case {
        name: "2 to 4",
        input: (4, 1),
        target: (2, 3, 4, 5),
    }
    .run(criterion);
    Case {
        name: "3 to 3",
        input: (3, 1, 5),
        target: (3, 4, 5),
    }
    .run(criterion);
    Case {
        name: "6 to 6",
        input: (2, 1, 3, 1, 2, 1),
        target: (2, 4, 3, 5, 2, 6),
    }
    .run(criterion);
    Case {
        name: "IxDyn 1 to 2",
        input: IxDyn(&[5]),
        target: IxDyn(&[4, 5]),
    }
    .run(criterion);
    Case {
        name: "IxDyn 2 to 4",
        input: IxDyn(&[4, 1]),
        target: IxDyn(&[2, 3, 4, 5]),
    }
    .run(criterion);
    Case {
        name: "IxDyn 6 to 6",
        input: IxDyn(&[2, 1, 3, 1, 2, 1]),
        target: IxDyn(&[2, 4, 3, 5, 2, 6]),
    }
    .run(criterion);
}

criterion_group!(benches, views, plans);
criterion_main!(benches);
