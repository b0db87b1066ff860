//! Calls of every kind on few elements, for tools that are slow, as Miri.

use ndarray::{Array2, Array4, Axis, ShapeBuilder, s};
use ndarray_broadcast::prelude::*;
use ndarray_broadcast::reduction::ArgMax;
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// With padding.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C)]
struct Padded(u8, u32);

#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(align(128))]
struct Wide(u8);

#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(align(4096))]
struct Empty;

/// The array in standard layout, in Fortran order, with gaps, and backwards in memory.
fn layouts<A: Copy>(shape: [usize; 2], f: impl Fn(usize, usize) -> A) -> [Array2<A>; 4] {
    let [rows, columns] = shape;
    let gaps = Array2::from_shape_fn((2 * rows, 3 * columns), |(i, j)| f(i / 2, j / 3));
    let mut backwards = Array2::from_shape_fn(shape, |(i, j)| f(rows - 1 - i, columns - 1 - j));
    backwards.invert_axis(Axis(0));
    backwards.invert_axis(Axis(1));
    [
        Array2::from_shape_fn(shape, |(i, j)| f(i, j)),
        Array2::from_shape_fn(shape.f(), |(i, j)| f(i, j)),
        gaps.slice_move(s![..;2, ..;3]),
        backwards,
    ]
}

fn check_copies<A: Copy + Send + Sync + PartialEq + Debug>(f: impl Fn(usize, usize) -> A + Copy) {
    for shape in [[3, 2], [2, 9], [17, 4]] {
        for a in layouts(shape, f) {
            assert_eq!(a.materialize().unwrap(), a);
            let inside = a.view().insert_axis(Axis(2));
            let repeated = inside.broadcast_numpy((shape[0], shape[1], 5)).unwrap();
            assert_eq!(repeated.materialize().unwrap(), repeated);
            for mut out in layouts(shape, |_, _| f(9, 9)) {
                a.materialize_into(&mut out).unwrap();
                assert_eq!(out, a);
            }
        }
    }
}

#[test]
fn copies() {
    check_copies(|i, j| (i * 31 + j * 7) as u8);
    check_copies(|i, j| (i * 31 + j * 7) as u16);
    check_copies(|i, j| [(i * 31 + j * 7) as u8; 3]);
    check_copies(|i, j| (i * 31 + j * 7) as f32);
    check_copies(|i, j| Padded(i as u8, j as u32));
    check_copies(|i, j| (i * 31 + j * 7) as u128);
    check_copies(|i, j| [i, j, 7]);
    check_copies(|i, _| Wide(i as u8));
    check_copies(|_, _| Empty);
}

#[test]
fn maps() {
    let f = |i: usize, j: usize| (i * 31 + j * 7) as u32;
    for shape in [[3, 2], [2, 9], [20, 5], [9, 33]] {
        let all = layouts(shape, f);
        for (a, b) in all.iter().zip(all.iter().rev()) {
            let row = b.row(0).to_owned();
            let sums = zip((a, b, &row))
                .map_collect(|(a, b, r)| 2 * a + b + r)
                .unwrap();
            assert_eq!(sums, &(3 * a) + &row);
            let texts = zip((a, b))
                .map_collect(|(a, b)| (a + b).to_string())
                .unwrap();
            let lengths = zip((&texts, a))
                .map_collect_ref(|(text, _)| text.len() as u32)
                .unwrap();
            assert!(lengths.iter().all(|&len| len > 0));
            let (same, double) = zip((a, &row)).map_collect_two(|(a, _)| (a, 2 * a)).unwrap();
            assert_eq!((&same, double), (a, 2 * a));
            let (mut first, mut second) = (a.clone(), b.clone());
            zip((a, b))
                .map_assign_into_two(&mut first, &mut second, |(a, b)| (a + b, a))
                .unwrap();
            assert_eq!((first, &second), (2 * a, a));
            let empty = zip(a).map_collect(|_| Empty).unwrap();
            let wide = zip((&empty, a))
                .map_collect(|(_, a)| Wide(a as u8))
                .unwrap();
            let bytes = zip((&wide, b)).map_collect(|(wide, _)| wide.0).unwrap();
            assert_eq!(bytes, a.mapv(|a| a as u8));
        }
    }
}

#[test]
fn maps_that_panic() {
    for shape in [[3, 2], [9, 140]] {
        for a in layouts(shape, |i, j| i * shape[1] + j) {
            let last = a.len() - 1;
            let map = || {
                zip(&a).map_collect(|x| match x == last {
                    true => resume_unwind(Box::new(x)),
                    false => vec![x],
                })
            };
            assert!(catch_unwind(AssertUnwindSafe(map)).is_err());
        }
    }
}

#[test]
fn reductions() {
    // Those of more than a leaf, and of short runs that cross its end, take Miri over ten minutes.
    let more = [[2, 3, 2, 100], [1, 300, 3, 1]];
    let more = if cfg!(miri) { &[][..] } else { &more };
    for &shape in [[2, 3, 3, 4], [1, 1, 17, 20]].iter().chain(more) {
        let [n, c, h, w] = shape;
        let a = Array4::from_shape_fn(shape, |(n, c, h, w)| {
            ((7 * n + 5 * c + 3 * h + w) % 11) as u32
        });
        let crossed = a
            .view()
            .permuted_axes([0, 1, 3, 2])
            .as_standard_layout()
            .into_owned();
        let crossed = crossed.permuted_axes([0, 1, 3, 2]);
        let mut backwards = a.clone();
        backwards.invert_axis(Axis(3));
        for (kept, [first, last]) in [
            ([n, 1, h, 1], [1, 3]),
            ([n, c, 1, 1], [2, 3]),
            ([1, 1, h, w], [0, 1]),
        ] {
            let plan = BroadcastPlan::numpy(kept, shape).unwrap();
            let sums = |x: &Array4<u32>| {
                let inner = x.sum_axis(Axis(last)).insert_axis(Axis(last));
                inner.sum_axis(Axis(first)).insert_axis(Axis(first))
            };
            for x in [&a, &crossed, &backwards] {
                assert_eq!(plan.gradient(x).unwrap(), sums(x));
                let products = zip((x, &crossed)).reduce(&plan, Sum, |(a, b)| a * b);
                assert_eq!(products.unwrap(), sums(&(x * &crossed)));
                let positions = plan.reduce(x, ArgMax).unwrap();
                assert_eq!(plan.reduce(&x.mapv(|x| [x; 2]), ArgMax).unwrap(), positions);
                let wide = x.mapv(|x| Wide(x as u8));
                let empty = x.mapv(|_| Empty);
                let of_wide =
                    zip((&wide, &empty)).reduce(&plan, Sum, |(wide, _)| u32::from(wide.0));
                assert_eq!(of_wide.unwrap(), sums(x));
            }
        }
    }
}
