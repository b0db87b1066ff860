//! Elementwise operations are correct for every rule and layout, and sound for closures that panic
//! or call the crate again.

use crate::common::{self, Layout, pair, split_mix, variant};
use ndarray::{
    Array, Array1, Array2, Array3, ArrayD, ArrayView2, ArrayViewMutD, Axis, Dimension, Ix2, IxDyn,
    ShapeBuilder, Slice, arr0, array, s,
};
use ndarray_broadcast::prelude::*;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicUsize, Ordering};

/// Pseudo-random values.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        (split_mix(&mut self.0) % n as u64) as usize
    }

    fn shape(&mut self, rank: usize) -> Vec<usize> {
        let sizes = [1, 1, 2, 3, 4, 5, 17, 20, 0];
        let choice = if self.below(8) == 0 { 9 } else { 8 };
        let mut shape: Vec<usize> = (0..rank).map(|_| sizes[self.below(choice)]).collect();
        while shape.iter().filter(|&&size| size > 5).count() > 2 {
            let last = shape.iter().rposition(|&size| size > 5);
            shape[last.expect("three sizes are above 5")] = 2;
        }
        shape
    }

    fn layout(&mut self, rank: usize) -> Layout {
        let mut order: Vec<usize> = (0..rank).collect();
        let mut steps = vec![1; rank];
        if self.below(2) == 0 {
            for i in (1..rank).rev() {
                order.swap(i, self.below(i + 1));
            }
        }
        if self.below(2) == 0 {
            steps.fill_with(|| [1, 1, -1, 2, -2][self.below(5)]);
        }
        Layout { order, steps }
    }

    /// A rule and two shapes, which the rule often accepts.
    fn case(&mut self) -> (ElementwiseRule, Vec<usize>, Vec<usize>) {
        let rank = self.below(7);
        let a = self.shape(rank);
        let shrunk = |random: &mut Random, shape: &[usize]| -> Vec<usize> {
            let mut shrink = |&size: &usize| if random.below(3) == 0 { 1 } else { size };
            shape.iter().map(&mut shrink).collect()
        };
        let begin = self.below(rank + 1);
        let end = begin + self.below(rank - begin + 1);
        match self.below(5) {
            0 => (ElementwiseRule::None, a.clone(), a),
            1 => {
                let b = shrunk(self, &a[begin..]);
                (ElementwiseRule::Numpy, shrunk(self, &a), b)
            }
            2 => {
                let b = shrunk(self, &a[begin..end]);
                let axis = begin as isize;
                (ElementwiseRule::Pdpd { axis }, a, b)
            }
            3 => {
                let axes: Vec<usize> = (0..rank).filter(|_| self.below(2) == 0).collect();
                let b: Vec<usize> = axes.iter().map(|&axis| a[axis]).collect();
                let (a, b) = (shrunk(self, &a), shrunk(self, &b));
                let rule = ElementwiseRule::Xla {
                    broadcast_dimensions: axes,
                };
                if self.below(2) == 0 {
                    (rule, a, b)
                } else {
                    (rule, b, a)
                }
            }
            _ => {
                let other = self.below(4);
                (ElementwiseRule::Numpy, a, self.shape(other))
            }
        }
    }
}

/// The mutable view of a backing array in a layout.
fn lay_out<'a, A>(layout: &Layout, array: &'a mut ArrayD<A>) -> ArrayViewMutD<'a, A> {
    let mut inverse = vec![0; layout.order.len()];
    for (position, &axis) in layout.order.iter().enumerate() {
        inverse[axis] = position;
    }
    let mut view = array.view_mut().permuted_axes(IxDyn(&inverse));
    for (axis, &step) in layout.steps.iter().enumerate() {
        view.slice_axis_inplace(Axis(axis), Slice::new(0, None, step));
    }
    view
}

#[test]
fn every_rule_and_layout_agrees_with_the_oracle() {
    let mut random = Random(1);
    let (mut accepted, mut rejected, mut in_place) = (0, 0, 0);
    let cases = crate::cases(6000);
    for _ in 0..cases {
        let (rule, a_shape, b_shape) = random.case();
        let a_layout = random.layout(a_shape.len());
        let b_layout = random.layout(b_shape.len());
        let (mut a_memory, b_memory) = (a_layout.backing(&a_shape), b_layout.backing(&b_shape));
        let b = b_layout.view(&b_memory);
        let case = format!("{a_shape:?} {b_shape:?} {rule} {a_layout:?} {b_layout:?}");
        let answer = pair(&a_shape, &b_shape, &rule);
        let a = a_layout.view(&a_memory);
        let fresh =
            broadcast_pair(&a, &b, &rule).and_then(|views| zip(views).map_collect(|(a, b)| (a, b)));
        let [a_map, b_map] = match answer {
            Err(name) => {
                assert_eq!(variant(&fresh.unwrap_err()), name, "{case}");
                rejected += 1;
                continue;
            }
            Ok(map) => map,
        };
        accepted += 1;
        let expected = ArrayD::from_shape_fn(IxDyn(&a_map.output), |index| {
            let of =
                |shape: &[usize], map: &common::AxisMap| IxDyn(&map.source(shape, index.slice()));
            (a[of(&a_shape, &a_map)], b[of(&b_shape, &b_map)])
        });
        let fresh = fresh.expect(&case);
        assert!(fresh.as_slice_memory_order().is_some(), "{case}");
        assert_eq!(fresh, expected, "{case}");

        // The output is a view of a larger array. Elements outside the view must not change.
        let out_layout = random.layout(expected.ndim());
        let mut out_memory = out_layout.backing(expected.shape()).mapv(|_| (-1, -1));
        let mut out = lay_out(&out_layout, &mut out_memory);
        zip(broadcast_pair(&a, &b, &rule).unwrap())
            .map_assign_into(&mut out, |(a, b)| (a, b))
            .expect(&case);
        assert_eq!(out, expected, "{case} {out_layout:?}");
        out.fill((-1, -1));
        assert!(out_memory.iter().all(|&x| x == (-1, -1)), "{case}");

        let before = a.to_owned();
        let old_memory = a_memory.clone();
        let mut x = lay_out(&a_layout, &mut a_memory);
        let (_, to_x) = BroadcastPlan::pair(x.raw_dim(), b.raw_dim(), &rule).unwrap();
        let result = zip(to_x.view(&b).unwrap()).update(&mut x, |x, b| *x = *x * 1_000 + b);
        if expected.shape() == &a_shape[..] {
            result.expect(&case);
            assert_eq!(x, expected.mapv(|(a, b)| a * 1_000 + b), "{case}");
            x.assign(&before);
            in_place += 1;
        } else {
            let variant = variant(&result.unwrap_err());
            assert!(
                matches!(variant.as_str(), "SizeMismatch" | "RankMismatch"),
                "{case}"
            );
        }
        assert_eq!(a_memory, old_memory, "{case}");
    }
    assert!(accepted > cases / 2 && rejected > cases / 20 && in_place > cases / 6);
}

/// What a closure takes: one element, or a tuple of them.
macro_rules! tuple {
    ($a:ident) => {
        $a
    };
    (&$a:ident) => {
        &$a
    };
    ($($a:tt)+) => {
        ($($a)+)
    };
}

/// Checks each operation of a `Zip` of the views against elements computed one by one.
macro_rules! check_zip {
    ($random:ident, $count:literal: $($view:ident)+) => {{
        let shapes = [$($view.shape()),+];
        let shape = common::common_shape(&shapes).expect("each size is 1 or the size of `full`");
        let expected = ArrayD::from_shape_fn(IxDyn(&shape), |index| {
            let at = |x: &ndarray::ArrayViewD<'_, i32>| {
                let index = &index.slice()[shape.len() - x.ndim()..];
                let wrapped = index.iter().zip(x.shape());
                let index: Vec<_> = wrapped.map(|(&i, &n)| if n == 1 { 0 } else { i }).collect();
                x[IxDyn(&index)]
            };
            ($(at(&$view),)+)
        });
        let fold = |all: [i32; $count]| all.iter().fold(0_i32, |sum, &x| sum.wrapping_mul(31) ^ x);
        let first = expected.mapv(|($($view,)+)| fold([$($view),+]));
        let zipped = || zip(tuple!($(&$view),+));
        assert_eq!(zipped().map_collect(|tuple!($($view),+)| ($($view,)+)).unwrap(), expected, "{shapes:?}");
        let by_ref = zipped().map_collect_ref(|tuple!($($view),+)| ($(*$view,)+)).unwrap();
        assert_eq!(by_ref, expected, "{shapes:?}");
        let two = zipped().map_collect_two(|tuple!($($view),+)| (fold([$($view),+]), ($($view,)+)));
        assert_eq!(two.unwrap(), (first.clone(), expected.clone()), "{shapes:?}");

        let layouts = [0; 3].map(|_| $random.layout(shape.len()));
        let mut memory = layouts[0].backing(&shape);
        let mut out = lay_out(&layouts[0], &mut memory);
        zipped().map_assign_into(&mut out, |tuple!($($view),+)| fold([$($view),+])).unwrap();
        assert_eq!(out, first, "{shapes:?} {layouts:?}");
        let start = out.to_owned();
        zipped().update(&mut out, |x, tuple!($($view),+)| *x -= fold([$($view),+])).unwrap();
        assert!(out.iter().all(|&x| x == 0), "{shapes:?} {layouts:?}");
        zipped().map_assign_into_ref(&mut out, |tuple!($(&$view),+)| fold([$($view),+])).unwrap();
        assert_eq!(out, start, "{shapes:?} {layouts:?}");
        zipped().update_ref(&mut out, |x, tuple!($(&$view),+)| *x -= fold([$($view),+])).unwrap();
        assert!(out.iter().all(|&x| x == 0), "{shapes:?} {layouts:?}");
        let mut memory = layouts[1].backing(&shape);
        let mut second_memory = layouts[2].backing(&shape);
        let mut out = lay_out(&layouts[1], &mut memory);
        let mut second = lay_out(&layouts[2], &mut second_memory);
        let result = zipped().map_assign_into_two(&mut out, &mut second, |tuple!($($view),+)| {
            let fold = fold([$($view),+]);
            (fold, !fold)
        });
        result.unwrap();
        assert_eq!(out, first, "{shapes:?} {layouts:?}");
        assert_eq!(second, first.mapv(|x| !x), "{shapes:?} {layouts:?}");
    }};
}

#[test]
fn operations_of_up_to_six_arrays_agree_with_the_oracle() {
    let mut random = Random(2);
    for turn in 0..crate::cases(2400) {
        let rank = random.below(7);
        let full = random.shape(rank);
        let operands: [_; 6] = std::array::from_fn(|_| {
            let begin = random.below(rank + 1);
            let shape: Vec<usize> = (full[begin..].iter())
                .map(|&size| if random.below(3) == 0 { 1 } else { size })
                .collect();
            let layout = random.layout(shape.len());
            (layout.backing(&shape), layout, shape)
        });
        let views = [0, 1, 2, 3, 4, 5].map(|i| operands[i].1.view(&operands[i].0));
        let [a, b, c, d, e, f] = views;
        match turn % 6 {
            0 => check_zip!(random, 1: a),
            1 => check_zip!(random, 2: a b),
            2 => check_zip!(random, 3: a b c),
            3 => check_zip!(random, 4: a b c d),
            4 => check_zip!(random, 5: a b c d e),
            _ => check_zip!(random, 6: a b c d e f),
        }
    }
}

#[test]
fn zips_of_any_element_size_and_row_length_agree_with_the_oracle() {
    /// An element of `N` bytes that tells its number.
    fn make<const N: usize>(number: usize) -> [u8; N] {
        std::array::from_fn(|i| (number >> (8 * (i % 4))) as u8)
    }
    fn check<const N: usize>(rows: usize, columns: usize) {
        let number = |(i, j): (usize, usize)| i * columns + j;
        let row = Array2::from_shape_fn((rows, columns), |at| make::<N>(number(at)));
        let transposed = Array2::from_shape_fn((columns, rows), |(j, i)| make::<N>(number((i, j))));
        let wide =
            Array2::from_shape_fn((rows, 3 * columns), |(i, j)| make::<N>(number((i, j / 3))));
        let across = Array1::from_shape_fn(columns, make::<N>);
        let down = Array2::from_shape_fn((rows, 1), |(i, _)| make::<N>(i));
        let strided = wide.slice(s![.., ..;3]);
        let reversed = row.slice(s![..;-1, ..;-1]);
        let all = zip((&row, transposed.t(), strided, &across, &down, reversed))
            .map_collect(|all| all)
            .unwrap();
        for ((i, j), &(a, b, c, d, e, f)) in all.indexed_iter() {
            let expected = make::<N>(number((i, j)));
            assert!(
                a == expected && b == expected && c == expected,
                "{rows} {columns} {i} {j}"
            );
            assert!(
                d == make::<N>(j) && e == make::<N>(i),
                "{rows} {columns} {i} {j}"
            );
            assert_eq!(f, make::<N>(number((rows - 1 - i, columns - 1 - j))));
        }
        let two = zip((&across, transposed.t()))
            .map_collect(|(a, b)| (b, a))
            .unwrap();
        for ((i, j), &(b, a)) in two.indexed_iter() {
            assert!(a == make::<N>(j) && b == make::<N>(number((i, j))));
        }
    }
    for (rows, columns) in [
        (1, 1),
        (3, 5),
        (700, 1),
        (900, 2),
        (1200, 3),
        (500, 15),
        (300, 16),
        (33, 65),
        (3, 5000),
        (70, 300),
    ] {
        check::<1>(rows, columns);
        check::<3>(rows, columns);
        check::<4>(rows, columns);
        check::<8>(rows, columns);
        check::<24>(rows, columns);
    }
    // Elements too large for a block.
    check::<1000>(40, 3);
    check::<3000>(5, 20);
    check::<0>(50, 3);
}

/// Checks `map_collect`, `map_assign_into` and `update` on a matrix with rows and columns
/// broadcast to it. The expected elements are computed one by one.
fn check_matrix(rows: usize, columns: usize) {
    let value = |i: usize, j: usize| (i * 31 + j * 7) as u32;
    let x = Array2::from_shape_fn((rows, columns), |(i, j)| value(i, j));
    let fortran = x.t().as_standard_layout().into_owned().reversed_axes();
    let row = Array1::from_shape_fn(columns, |j| 1_000_000 + j as u32);
    let column = Array2::from_shape_fn((rows, 1), |(i, _)| 2_000_000 + i as u32);
    let sum = |a: &u32, b: &u32| a.wrapping_add(*b);
    // Slices and plain loops: iterators over arrays take minutes without optimisation.
    let check = |name: &str, found: ArrayView2<'_, u32>, expected: &[u32]| {
        assert_eq!(found.dim(), (rows, columns));
        let ok = found.to_slice().unwrap() == expected;
        assert!(ok, "{name} of {rows} x {columns}");
    };
    // Elements in memory, and the strides.
    let of_x = (x.as_slice().unwrap(), columns, 1);
    let of_row = (row.as_slice().unwrap(), 0, 1);
    let of_column = (column.as_slice().unwrap(), 1, 0);
    let row_view = row.view().insert_axis(Axis(0));
    let mut pairs = vec![
        ("x + x", x.view(), fortran.view(), &of_x, &of_x),
        ("x + column", x.view(), column.view(), &of_x, &of_column),
        ("column + row", column.view(), row_view, &of_column, &of_row),
    ];
    // Smaller matrices take all pairs through the same kernels. Only `ALL_CASES` finds a fault of
    // another pair in large matrices alone.
    if rows * columns < 1 << 18 || crate::all_cases() {
        pairs.extend([
            ("x + row", x.view(), row_view, &of_x, &of_row),
            ("row + x", row_view, x.view(), &of_row, &of_x),
            ("column + x", column.view(), x.view(), &of_column, &of_x),
            ("fortran + row", fortran.view(), row_view, &of_x, &of_row),
        ]);
    }
    // The largest one differs in its fresh output only.
    if rows * columns > 1 << 22 && !crate::all_cases() {
        pairs.truncate(1);
    }
    for (name, a, b, of_a, of_b) in pairs {
        let mut expected = Vec::with_capacity(rows * columns);
        for i in 0..rows {
            let (mut j, mut at_a, mut at_b) = (0, i * of_a.1, i * of_b.1);
            while j < columns {
                expected.push(of_a.0[at_a].wrapping_add(of_b.0[at_b]));
                (j, at_a, at_b) = (j + 1, at_a + of_a.2, at_b + of_b.2);
            }
        }
        let fresh = zip((&a, &b)).map_collect(|(a, b)| sum(&a, &b)).unwrap();
        check(name, fresh.as_standard_layout().view(), &expected);
        // The output starts one element into its buffer, so its rows are not aligned to cache
        // lines.
        let mut memory = Array1::zeros(rows * columns + 1);
        let shifted = memory.slice_mut(s![1..]);
        let mut out = shifted.into_shape_with_order((rows, columns)).unwrap();
        zip((&a, &b))
            .map_assign_into(&mut out, |(a, b)| sum(&a, &b))
            .unwrap();
        check(name, out.view(), &expected);
        assert_eq!(memory[0], 0);
        let mut pitched = Array2::zeros((rows, columns + 3));
        let mut out = pitched.slice_mut(s![.., 1..columns + 1]);
        zip((&a, &b))
            .map_assign_into(&mut out, |(a, b)| sum(&a, &b))
            .unwrap();
        let pitched = pitched.as_slice().unwrap();
        let mut i = 0;
        while i < rows {
            let found = &pitched[i * (columns + 3)..][..columns + 3];
            let wanted = &expected[i * columns..][..columns];
            let around = [found[0], found[columns + 1], found[columns + 2]];
            assert!(
                &found[1..=columns] == wanted && around == [0; 3],
                "{name} of {rows} x {columns}, row {i}"
            );
            i += 1;
        }
        if a.dim() == (rows, columns) {
            let mut x = a.to_owned();
            zip(&b)
                .update(&mut x, |a, b| *a = a.wrapping_add(b))
                .unwrap();
            check(name, x.as_standard_layout().view(), &expected);
        }
    }
}

#[test]
fn matrices_with_rows_of_many_lengths_are_correct() {
    for columns in (1..=40).chain([63, 64, 65, 255, 256, 257, 1023, 1024, 1025]) {
        // Only `ALL_CASES` finds a fault of many long rows alone. Larger matrices are below.
        let long = columns > 300 && !crate::all_cases();
        for &rows in &[1, 2, 3, 15, 31, 33, 257, 600][..if long { 6 } else { 8 }] {
            check_matrix(rows, columns);
        }
    }
}

/// Rows with gaps between them, in outputs around a chunk of work.
#[test]
fn long_rows_of_several_axes_agree_with_the_oracle() {
    for columns in [15, 16, 17, 64] {
        for rows in [1, 2, 16_384 / 4 / 2 / columns, 16_384 / 4 / 2 / columns + 1] {
            let value = |(i, j, k): (usize, usize, usize)| (i * 10_000 + j * 100 + k) as u32;
            let memory = Array3::from_shape_fn((2, rows, columns + 1), value);
            let x = memory.slice(s![.., .., 1..]);
            let column = Array2::from_shape_fn((rows, 1), |(j, _)| j as u32);
            let expected = Array3::from_shape_fn((2, rows, columns), |(i, j, k)| {
                value((i, j, k + 1)) + j as u32
            });
            let sum = |a: &u32, b: &u32| a + b;
            assert_eq!(
                zip((&x, &column))
                    .map_collect(|(a, b)| sum(&a, &b))
                    .unwrap(),
                expected
            );
            let mut wide = Array3::from_elem((2, rows, columns + 2), 7);
            let mut out = wide.slice_mut(s![.., .., 1..columns + 1]);
            zip((&x, &column))
                .map_assign_into(&mut out, |(a, b)| sum(&a, &b))
                .unwrap();
            assert_eq!(out, expected);
            zip(&column).update(&mut out, |a, b| *a -= b).unwrap();
            assert_eq!(out, x);
            for gap in [0, columns + 1] {
                assert!(wide.index_axis(Axis(2), gap).iter().all(|&x| x == 7));
            }
        }
    }
}

/// Short innermost axes, so that rows of other axes are walked together.
#[test]
fn every_order_of_axes_in_memory_gives_the_same_elements() {
    let orders: Vec<[usize; 4]> = (0..256)
        .map(|number| [64, 16, 4, 1].map(|digit| number / digit % 4))
        .filter(|order| (0..4).all(|axis| order.contains(&axis)))
        .collect();
    assert_eq!(orders.len(), 24);
    fn check<T: Copy + PartialEq + Default + Send + Sync + std::fmt::Debug>(
        shape: [usize; 4],
        orders: &[[usize; 4]],
        number: fn(usize) -> T,
        add: fn((T, T)) -> T,
    ) {
        let len = shape.iter().product();
        let a = ArrayD::from_shape_vec(&shape[..], (0..len).map(number).collect()).unwrap();
        let b = ArrayD::from_shape_vec(&shape[1..], (0..len / shape[0]).map(number).collect());
        let b = b.unwrap();
        let index = |i: usize| (number(i), number(i % (len / shape[0])));
        let expected =
            ArrayD::from_shape_vec(&shape[..], (0..len).map(|i| add(index(i))).collect());
        let expected = expected.unwrap();
        for order in orders {
            let mut inverse = [0; 4];
            (order.iter().enumerate()).for_each(|(at, &axis)| inverse[axis] = at);
            let ordered = a.view().permuted_axes(&order[..]);
            let ordered = ordered.as_standard_layout().into_owned();
            let ordered = ordered.permuted_axes(&inverse[..]);
            let what = format!("{shape:?} {order:?}");
            let new = zip((&ordered, &b)).map_collect(add).unwrap();
            assert_eq!(new, expected, "new, {what}");
            let mut out = ArrayD::default(&shape[..]);
            zip((&ordered, &b)).map_assign_into(&mut out, add).unwrap();
            assert_eq!(out, expected, "C, {what}");
            let mut out = ordered;
            zip((&a, &b)).map_assign_into(&mut out, add).unwrap();
            assert_eq!(out, expected, "into this order, {what}");
        }
    }
    for shape in [
        [40, 2, 3, 5],
        [3, 50, 2, 7],
        [7, 100, 5, 2],
        [300, 2, 2, 20],
        [5, 3, 90, 4],
        [2, 60, 3, 33],
    ] {
        check(shape, &orders, |i| i as u8, |(a, b)| a.wrapping_add(b));
        check(shape, &orders, |i| i as f32, |(a, b)| a + b);
        check(shape, &orders, |i| i as u64, |(a, b)| a + b);
    }
}

#[test]
fn empty_arrays_of_very_many_empty_rows_take_no_time() {
    let many = 1 << (usize::BITS - 24);
    for shape in [(many, 0, 5), (many, 5, 0), (0, many, 5)] {
        let mut x = Array3::<f32>::zeros(shape);
        let one = arr0(1.);
        assert!(
            zip((&x, &one))
                .map_collect(|(a, b)| a + b)
                .unwrap()
                .is_empty()
        );
        zip(&one).update(&mut x, |a, b| *a += b).unwrap();
        let y = x.clone();
        zip((&y, &one))
            .map_assign_into(&mut x, |(a, b)| a + b)
            .unwrap();
        let plan = BroadcastPlan::numpy(x.raw_dim(), x.raw_dim()).unwrap();
        plan.gradient_accumulate(&y, &mut x).unwrap();
    }
}

/// Around the size from which work runs in parallel, and the chunk size.
#[test]
fn matrices_around_the_sizes_of_shared_work_are_correct() {
    for (rows, columns) in [
        (1, 131_071),
        (129, 1023),
        (512, 256),
        (65_537, 3),
        (65_536 * 3 + 1, 1),
        (7, 65_536),
    ] {
        check_matrix(rows, columns);
    }
}

/// Outputs of some MiB, and one of more than 32 MiB, which is on huge pages if it is new.
#[test]
fn large_matrices_are_correct() {
    for (rows, columns) in [
        (1_000_001, 1),
        (400_003, 3),
        (4001, 257),
        (111, 9999),
        (1, 8_388_609),
    ] {
        check_matrix(rows, columns);
    }
}

#[test]
fn large_outputs_of_any_element_size_are_correct() {
    fn check<C: Copy + Default + PartialEq + Send>(len: usize, make: impl Fn(u32) -> C + Sync) {
        let row = Array1::from_shape_fn(1000, |i| i as u32);
        let column = Array2::from_shape_fn((len / 1000, 1), |(i, _)| i as u32);
        let mut out = Array2::from_elem((len / 1000, 1000), C::default());
        zip((&column, &row))
            .map_assign_into(&mut out, |(a, b)| make(a ^ b))
            .unwrap();
        // A plain loop: iterators over arrays take seconds without optimisation.
        let out = out.as_slice().unwrap();
        let mut at = 0;
        while at < out.len() && out[at] == make((at / 1000) as u32 ^ (at % 1000) as u32) {
            at += 1;
        }
        assert_eq!(at, out.len(), "{}", size_of::<C>());
    }
    check(4_000_000, |x| x as u8);
    check(3_000_000, |x| [x as u8, (x >> 8) as u8, 7]);
    check(3_000_000, |x| (x as u8, u64::from(x)));
    check(400_000, |x| [x; 25]);
    check(100_000, |x| (x, [u64::from(x); 20], [x; 19]));
}

/// Outputs of 9 MiB with gaps between the rows.
#[test]
fn gaps_between_the_rows_of_large_outputs_are_not_written() {
    for columns in [1023, 1024, 1500, 70_000] {
        let rows = (9 << 18) / columns;
        let mut out = Array2::from_elem((rows, columns + 7), u32::MAX);
        let column = Array2::from_shape_fn((rows, 1), |(i, _)| (i as u32) << 17);
        let row = Array1::from_shape_fn(columns, |j| j as u32);
        let mut inner = out.slice_mut(s![.., ..columns]);
        zip((&column, &row))
            .map_assign_into(&mut inner, |(a, b)| a ^ b)
            .unwrap();
        for (i, found) in out.as_slice().unwrap().chunks(columns + 7).enumerate() {
            let mut j = 0;
            while j < columns + 7 {
                let expected = (i as u32) << 17 ^ j as u32;
                assert_eq!(found[j], if j < columns { expected } else { u32::MAX });
                j += 1;
            }
        }
    }
}

#[test]
fn the_closure_is_called_once_for_each_element() {
    let a = Array2::<u8>::zeros((1300, 1));
    let calls = AtomicUsize::new(0);
    let out = zip((&a, &Array1::<u16>::zeros(1100)))
        .map_collect(|(_, _)| calls.fetch_add(1, Ordering::Relaxed));
    let mut seen = out.unwrap().into_raw_vec_and_offset().0;
    seen.sort_unstable();
    assert!(seen.into_iter().eq(0..1300 * 1100));
}

#[test]
fn operands_and_output_may_have_different_element_types() {
    let (x, limit) = (array![[0.5_f32], [2.5]], array![1_u8, 2, 3]);
    let below: Array2<bool> = zip((&x, &limit))
        .map_collect(|(x, l)| x < f32::from(l))
        .unwrap();
    assert_eq!(below, array![[true, true, true], [false, false, true]]);
    let (words, times) = (array!["ab".to_string(), "c".to_string()], arr0(2));
    let repeated: Array1<String> = zip((&words, &times))
        .map_collect_ref(|(word, &n)| word.repeat(n))
        .unwrap();
    assert_eq!(repeated, array!["abab", "cc"]);
    let mut longer = repeated.clone();
    zip(&words)
        .update_ref(&mut longer, |x, word| x.push_str(word))
        .unwrap();
    assert_eq!(longer, array!["ababab", "ccc"]);
    zip((&words, &times))
        .map_assign_into_ref(&mut longer, |(w, n)| format!("{w}{n}"))
        .unwrap();
    assert_eq!(longer, array!["ab2", "c2"]);
    // Zero-sized elements, as operands and as output.
    let nothing = zip((&words, &times)).map_collect_ref(|_| ());
    assert_eq!(nothing.unwrap(), array![(), ()]);
    let unit = Array3::<()>::default((2, 3, 4));
    let ones = zip((&unit, &arr0(()))).map_collect(|((), ())| 1);
    assert_eq!(ones.unwrap().sum(), 24);
}

#[test]
fn operands_of_static_rank_give_an_output_of_static_rank() {
    let (column, row) = (Array2::<f32>::ones((3, 1)), Array1::<f32>::ones(4));
    let sum: Array2<f32> = zip((&row, &column)).map_collect(|(a, b)| a + b).unwrap();
    assert_eq!(sum, Array2::from_elem((3, 4), 2.));
    let fma: Array<f32, Ix2> = zip((&row, &column, &arr0(5.)))
        .map_collect(|(a, b, c)| a * b + c)
        .unwrap();
    assert_eq!(fma, Array2::from_elem((3, 4), 6.));
    // Other kinds of arrays. A shared array is copied when it is borrowed mutably.
    let shared = column.to_shared();
    let mut mine = shared.clone();
    let wide = zip(&row).update(&mut mine, |a, b| *a += b);
    assert_eq!(variant(&wide.unwrap_err()), "SizeMismatch");
    zip(&arr0(1.)).update(&mut mine, |a, b| *a += b).unwrap();
    assert_eq!((shared[[0, 0]], mine[[0, 0]]), (1., 2.));
    let reference: &ndarray::ArrayRef2<f32> = &column;
    let sum = zip((&reference, &row.view())).map_collect(|(a, b)| a + b);
    assert_eq!(sum.unwrap().dim(), (3, 4));
}

#[test]
fn rejected_calls_leave_the_output_unchanged() {
    let (a, b) = (Array2::<i32>::zeros((3, 1)), Array1::<i32>::zeros(4));
    for shape in [(3, 5), (4, 3), (1, 4), (3, 1), (0, 4)] {
        let mut out = Array2::from_elem(shape, 7);
        let error = zip((&a, &b))
            .map_assign_into(&mut out, |(a, b)| a + b)
            .unwrap_err();
        assert!(
            error.to_string().contains("[3, 4]") && variant(&error) == "WrongShape",
            "{error}"
        );
        let error = zip((&a, &b, &arr0(1))).map_assign_into(&mut out, |(a, b, c)| a + b + c);
        assert_eq!(variant(&error.unwrap_err()), "WrongShape");
        assert!(out.iter().all(|&x| x == 7));
    }
    let mut out = Array2::from_elem((3, 4), 7);
    let error = zip(&a.view().insert_axis(Axis(0))).update(&mut out, |x, a| *x += a);
    assert_eq!(variant(&error.unwrap_err()), "RankMismatch");
    let error = zip((&b, &array![0, 0, 0, 0, 0])).update(&mut out, |x, (a, b)| *x += a + b);
    assert_eq!(variant(&error.unwrap_err()), "SizeMismatch");
    assert!(out.iter().all(|&x| x == 7));
}

// With 32 bits, memory may hold whatever the sizes allow.
#[cfg(target_pointer_width = "64")]
#[test]
fn outputs_that_exceed_memory_are_errors() {
    let zero = arr0(0_u8);
    let tall = zero.broadcast_numpy((1 << 30, 1)).unwrap();
    for (columns, byte, word) in [
        (1_usize << 29, "AllocationFailed", "AllocationFailed"),
        (1 << 31, "AllocationFailed", "ShapeOverflow"),
        (1 << 34, "ShapeOverflow", "ShapeOverflow"),
    ] {
        let wide = zero.broadcast_numpy((1, columns)).unwrap();
        let bytes = zip((&tall, &wide)).map_collect(|(a, b)| a + b);
        assert_eq!(variant(&bytes.unwrap_err()), byte);
        let words = zip((tall, wide, &zero)).map_collect(|_| 0_u64);
        assert_eq!(variant(&words.unwrap_err()), word);
    }
}

/// Counts its live instances. Dropping one instance twice makes the count permanently wrong.
struct Alive<'a>(&'a AtomicIsize, usize, AtomicBool);

impl<'a> Alive<'a> {
    fn new(count: &'a AtomicIsize, value: usize) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Alive(count, value, AtomicBool::new(false))
    }
}

impl Drop for Alive<'_> {
    fn drop(&mut self) {
        // After a drop in place the flag is still readable.
        let again = self.2.swap(true, Ordering::SeqCst);
        self.0
            .fetch_sub(if again { 1 << 30 } else { 1 }, Ordering::SeqCst);
    }
}

/// Panics without printing a message.
fn panic_with(value: usize) -> ! {
    resume_unwind(Box::new(value))
}

fn panic_of<R>(work: impl FnOnce() -> R) -> usize {
    let payload = catch_unwind(AssertUnwindSafe(work))
        .err()
        .expect("the call must panic");
    *payload
        .downcast::<usize>()
        .expect("the payload must be the closure's")
}

fn a_panic_leaks_nothing(rows: usize, columns: usize, at: usize) {
    let count = AtomicIsize::new(0);
    let column = Array2::from_shape_fn((rows, 1), |(i, _)| i * columns);
    let row = Array1::from_iter(0..columns);
    let numpy = ElementwiseRule::Numpy;
    let f = |&a: &usize, &b: &usize| match a + b {
        position if position == at => panic_with(position),
        position => Alive::new(&count, position),
    };
    assert_eq!(
        panic_of(|| zip((&column, &row)).map_collect(|(a, b)| f(&a, &b))),
        at
    );
    assert_eq!(
        count.load(Ordering::SeqCst),
        0,
        "fresh, {at} of {rows} x {columns}"
    );

    // Into an existing array: each element always holds one value.
    let len = (rows * columns) as isize;
    let mut out = Array2::from_shape_fn((columns, rows), |_| Alive::new(&count, usize::MAX));
    let mut transposed = out.view_mut().reversed_axes();
    assert_eq!(
        panic_of(|| zip((&column, &row)).map_assign_into(&mut transposed, |(a, b)| f(&a, &b))),
        at
    );
    assert_eq!(count.load(Ordering::SeqCst), len);
    for ((i, j), value) in transposed.indexed_iter() {
        assert!(value.1 == i * columns + j || value.1 == usize::MAX);
    }
    let in_place = panic_of(|| zip(&row).update(&mut transposed, |x, _| *x = f(&at, &0)));
    assert_eq!(in_place, at);
    assert_eq!(count.load(Ordering::SeqCst), len);
    drop(out);
    assert_eq!(count.load(Ordering::SeqCst), 0);

    // Values without drop glue: each element holds its old value or its new one.
    let mut plain = Array2::from_elem((rows, columns), usize::MAX);
    let caught = panic_of(|| {
        zip((&column, &row)).map_assign_into(&mut plain, |(a, b)| match a + b {
            position if position == at => panic_with(position),
            position => position,
        })
    });
    assert_eq!(caught, at);
    for ((i, j), &value) in plain.indexed_iter() {
        assert!(value == i * columns + j || value == usize::MAX);
    }
    // The threads still accept work.
    let sum = zip(broadcast_pair(&column, &row, &numpy).unwrap())
        .map_collect(|(a, b)| a + b)
        .unwrap();
    assert!(sum.iter().copied().eq(0..rows * columns));
}

#[test]
fn a_panic_at_any_element_leaks_nothing() {
    for at in 0..35 {
        a_panic_leaks_nothing(5, 7, at);
    }
    for at in (0..3000)
        .step_by(211)
        .chain([1023, 1024, 1025, 2047, 2048, 2999])
    {
        a_panic_leaks_nothing(30, 100, at);
    }
}

/// Elements with a destructor are written to a new array in order, and no input is packed. Where
/// they replace the elements of an array, inputs whose elements lie in another order are packed.
#[test]
fn a_panic_leaks_nothing_whatever_the_layouts_of_the_inputs() {
    for (rows, columns) in [(4, 256), (3, 40), (70, 5), (300, 4), (64, 64), (40, 1000)] {
        let len = rows * columns;
        let a = Array2::from_shape_fn((rows, columns), |(i, j)| i * columns + j);
        let transposed = a.t().as_standard_layout().into_owned();
        let zeros = Array2::<usize>::zeros((columns, rows));
        for at in (0..len).step_by(len / 9).chain([255.min(len - 1), len - 1]) {
            let count = AtomicIsize::new(0);
            let f = |a: usize, b: usize| match a + b {
                position if position == at => panic_with(position),
                position => Alive::new(&count, position),
            };
            let what = format!("{at} of {rows} x {columns}");
            let works: [&dyn Fn(); 5] = [
                &|| drop(zip((&a, zeros.t())).map_collect(|(a, b)| f(a, b))),
                &|| drop(zip((transposed.t(), zeros.t())).map_collect(|(a, b)| f(a, b))),
                &|| drop(zip((&a, &zeros.t())).map_collect(|(a, b)| f(a, b))),
                &|| drop(zip((&a, zeros.t(), &a)).map_collect(|(a, b, _)| f(a, b))),
                &|| {
                    let mut out = a.map(|_| Alive::new(&count, len));
                    let replaced = zip((&a, zeros.t())).map_assign_into(&mut out, |(a, b)| f(a, b));
                    replaced.unwrap();
                },
            ];
            for work in works {
                assert_eq!(panic_of(work), at, "{what}");
                assert_eq!(count.load(Ordering::SeqCst), 0, "{what}");
            }
        }
    }
}

#[test]
fn a_panic_on_any_thread_leaks_nothing() {
    for at in [0, 1, 99_999, 100_000, 123_456, 199_999] {
        a_panic_leaks_nothing(400, 500, at);
    }
    // 40 MiB, on huge pages.
    a_panic_leaks_nothing(5, 1 << 20, (5 << 20) - 1);
}

#[test]
fn values_are_dropped_once() {
    let count = AtomicIsize::new(0);
    let a = Array1::from_iter(0..700);
    let b = Array2::from_shape_fn((300, 1), |(i, _)| i);
    let make = |&a: &usize, &b: &usize| Alive::new(&count, a + b);
    let mut fresh = zip((&a, &b)).map_collect(|(a, b)| make(&a, &b)).unwrap();
    assert_eq!(count.load(Ordering::SeqCst), 210_000);
    zip((&a, &b))
        .map_assign_into(&mut fresh, |(a, b)| make(&a, &b))
        .unwrap();
    assert_eq!(count.load(Ordering::SeqCst), 210_000);
    zip((&a, &b, &arr0(1)))
        .map_assign_into_ref(&mut fresh, |(a, b, _)| make(a, b))
        .unwrap();
    assert_eq!(count.load(Ordering::SeqCst), 210_000);
    drop(fresh);
    assert_eq!(count.load(Ordering::SeqCst), 0);
}

#[test]
fn zero_sized_values_are_dropped_once() {
    static ALIVE: AtomicIsize = AtomicIsize::new(0);
    struct Mark;
    impl Mark {
        fn new() -> Self {
            ALIVE.fetch_add(1, Ordering::SeqCst);
            Mark
        }
    }
    impl Drop for Mark {
        fn drop(&mut self) {
            ALIVE.fetch_sub(1, Ordering::SeqCst);
        }
    }
    for (rows, columns) in [(5, 7), (3, 1), (1, 1500), (700, 900)] {
        let column = Array2::from_shape_fn((rows, 1), |(i, _)| i * columns);
        let row = Array1::from_iter(0..columns);
        let len = rows * columns;
        let at = |end: usize| {
            move |&a: &usize, &b: &usize| match a + b {
                position if position == end => panic_with(position),
                _ => Mark::new(),
            }
        };
        let mut whole = zip((&column, &row))
            .map_collect(|(a, b)| at(len)(&a, &b))
            .unwrap();
        assert_eq!(ALIVE.load(Ordering::SeqCst), len as isize);
        for end in (0..len).step_by(1 + len / 40).chain([len - 1]) {
            let fresh = panic_of(|| zip((&column, &row)).map_collect(|(a, b)| at(end)(&a, &b)));
            assert_eq!(fresh, end);
            assert_eq!(ALIVE.load(Ordering::SeqCst), len as isize);
            let into = panic_of(|| {
                zip((&column, &row)).map_assign_into(&mut whole, |(a, b)| at(end)(&a, &b))
            });
            assert_eq!(into, end);
            assert_eq!(ALIVE.load(Ordering::SeqCst), len as isize);
        }
        drop(whole);
        assert_eq!(ALIVE.load(Ordering::SeqCst), 0);
    }
}

#[test]
fn zero_sized_operands_are_read_where_they_are_aligned() {
    #[derive(Clone, Copy)]
    #[repr(align(4096))]
    struct Page;
    // The numbers are packed, as there are four inputs with gaps, of 100 elements: they are copied
    // to a block that is aligned to less than 4096 bytes.
    let pages = Array1::from_elem(400, Page);
    let pages = pages.slice(s![..;4]);
    let numbers = Array1::from_iter(0..400);
    let numbers = numbers.slice(s![..;4]);
    let sums = zip((pages, numbers, pages, numbers)).map_collect(|(_, a, _, b)| a + b);
    assert_eq!(sums.unwrap(), &numbers * 2);
}

#[test]
fn results_need_not_be_sync_or_copy() {
    // `Send`, but neither `Sync` nor `Copy`.
    let (a, b) = (Array1::from_iter(0..1000), Array2::from_elem((900, 1), 7));
    let cells = zip((&a, &b)).map_collect(|(a, b)| Cell::new(a + b));
    let mut cells: Array2<Cell<i32>> = cells.unwrap();
    assert!(
        cells
            .indexed_iter()
            .all(|((_, j), cell)| cell.get() == j as i32 + 7)
    );
    zip(&a)
        .update(&mut cells, |cell, a| cell.set(cell.get() - a))
        .unwrap();
    assert!(cells.iter().all(|cell| cell.get() == 7));
    let boxes = zip((&a, &b, &arr0(1))).map_collect(|(a, b, c)| Box::new(Cell::new(a * b + c)));
    assert_eq!(boxes.unwrap()[[3, 10]].get(), 71);
}

#[test]
fn closures_may_call_the_crate_again() {
    let small = Array1::from_iter(0..300_i64);
    let big = Array2::from_shape_fn((400, 1), |(i, _)| i as i64);
    let sum: i64 = small.sum();
    let check = |a: i64, b: i64| {
        // Each call is large enough to run in parallel.
        let view = small.broadcast_numpy((400, 300)).unwrap();
        let copy = view.materialize().unwrap();
        let shifted = zip((&copy, &big)).map_collect(|(x, y)| x + y).unwrap();
        let back = shifted.reduce_to_shape(300, Sum).unwrap();
        let expected = (small.iter()).all(|&x| back[x as usize] == 400 * x + 399 * 200);
        (expected && copy.sum() == 400 * sum, a + b)
    };
    let rows = Array2::from_shape_fn((70_000, 1), |(i, _)| i as i64);
    let out = zip((&rows, &array![0_i64, 1])).map_collect(|(a, b)| match a % 1000 {
        0 => check(a, b),
        _ => (true, a + b),
    });
    for ((i, j), &found) in out.unwrap().indexed_iter() {
        assert_eq!(found, (true, (i + j) as i64));
    }
}

#[cfg(feature = "rayon")]
#[test]
fn pools_of_any_size_and_nested_calls_give_equal_results() {
    let a = Array2::from_shape_fn((700, 1), |(i, _)| i as f32 * 0.37);
    let b = Array1::from_shape_fn(900, |j| 1.0 / (j as f32 + 0.5));
    let product = || zip((&a, &b)).map_collect(|(a, b)| a * b).unwrap();
    let expected = product();
    for threads in [1, 2, 3, 16] {
        let pool = crate::pool::pool(threads);
        assert_eq!(pool.install(product), expected);
        pool.install(|| {
            let (x, y) = rayon::join(product, product);
            assert!(x == expected && y == expected);
        });
        let nested = pool.install(|| {
            let twelve = Array1::from_iter(0..12);
            zip((&twelve, &arr0(0))).map_collect(|(_, _)| product() == expected)
        });
        assert!(nested.unwrap().iter().all(|&same| same));
        let caught = pool.install(|| {
            panic_of(|| zip((&a, &b)).map_collect(|(_, _)| -> f32 { panic_with(threads) }))
        });
        assert_eq!(caught, threads);
        assert_eq!(pool.install(product), expected);
    }
}

/// This takes minutes if time is quadratic in the number of axes.
#[test]
fn axes_of_size_1_cost_little_however_many_there_are() {
    let mut sizes = vec![1; 100_000];
    sizes[..2].copy_from_slice(&[2, 3]);
    let turned = Array2::from_shape_fn((2, 3).f(), |(i, j)| 3 * i + j);
    let deep = turned.broadcast_explicit(IxDyn(&sizes), &[0, 1]).unwrap();
    let mapped = zip(&deep).map_collect(|x| x).unwrap();
    assert_eq!(
        (mapped.stride_of(Axis(0)), mapped.stride_of(Axis(1))),
        (1, 2)
    );
    assert_eq!(mapped, deep);
}

/// The lines of `order_k.txt` are sums that NumPy has computed; see `order_k.py`.
#[test]
fn new_arrays_keep_the_order_that_numpy_keeps() {
    fn numbers<T: std::str::FromStr<Err: std::fmt::Debug>>(text: &str) -> Vec<T> {
        let numbers = text.split(',').filter(|&number| number != "-");
        numbers.map(|number| number.parse().unwrap()).collect()
    }
    fn laid_out(shape: &[usize], order: &[usize], replicated: &[usize]) -> ArrayD<u32> {
        let size = |&axis: &usize| match replicated.contains(&axis) {
            true => 1,
            false => shape[axis],
        };
        let sizes: Vec<usize> = order.iter().map(size).collect();
        let memory = (0..sizes.iter().product::<usize>() as u32).collect();
        let place = |axis| order.iter().position(|&of| of == axis).unwrap();
        let places: Vec<usize> = (0..shape.len()).map(place).collect();
        (ArrayD::from_shape_vec(sizes, memory).unwrap()).permuted_axes(places)
    }
    for line in include_str!("../data/order_k.txt").lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        let shape: Vec<usize> = numbers(fields[0]);
        let a = laid_out(&shape, &numbers::<usize>(fields[1]), &[]);
        let b = laid_out(
            &shape,
            &numbers::<usize>(fields[2]),
            &numbers::<usize>(fields[3]),
        );
        let strides: Vec<isize> = numbers(fields[4]);
        let check = |found: &[isize]| {
            let mut axes = (0..shape.len()).filter(|&axis| shape[axis] > 1);
            assert!(
                axes.all(|axis| found[axis] == strides[axis]),
                "{line}: {found:?}"
            );
        };
        let pairs = zip((&a, &b)).map_collect(|(a, b)| (a, b)).unwrap();
        check(pairs.strides());
        let (first, second) = zip((&a, &b)).map_collect_two(|(a, b)| (a, b)).unwrap();
        check(first.strides());
        check(second.strides());
        assert_eq!(first, a, "{line}");
        assert_eq!(second, b.broadcast(&shape[..]).unwrap(), "{line}");
        assert!(
            pairs
                .iter()
                .zip(&first)
                .all(|(pair, first)| pair.0 == *first),
            "{line}"
        );
        // Elements that are dropped are written in another way.
        let texts = zip((&a, &b))
            .map_collect_ref(|(a, b)| format!("{a} {b}"))
            .unwrap();
        check(texts.strides());
        for ((at, text), a) in texts.indexed_iter().zip(&a) {
            assert_eq!(*text, format!("{a} {}", second[at]), "{line}");
        }
    }
}

/// NumPy gives the sum of such arrays of `uint32` the strides 12 and 4, in bytes.
#[test]
fn windows_that_overlap_keep_standard_layout() {
    let numbers = [0_u32, 1, 2, 3, 4, 5, 6];
    let windows = ArrayView2::from_shape((5, 3).strides((1, 1)), &numbers).unwrap();
    let crossed = Array2::from_elem((5, 3).f(), 1_u32);
    let sums = zip((&windows, &crossed))
        .map_collect(|(a, b)| a + b)
        .unwrap();
    assert_eq!(sums, &windows + 1);
    assert_eq!(sums.strides(), [3, 1]);
}

#[test]
fn a_map_that_fails_returns_the_error_of_the_first_element_in_memory() {
    #[derive(Debug, PartialEq)]
    struct Failed(usize);
    impl From<BroadcastError> for Failed {
        fn from(error: BroadcastError) -> Self {
            panic!("{error}");
        }
    }
    for shape in [[0, 3], [1, 1], [3, 5], [70, 40], [600, 1000]] {
        let c = Array2::from_shape_fn(shape, |(i, j)| i * shape[1] + j);
        let f = c.t().as_standard_layout().into_owned().reversed_axes();
        let row = Array1::from_iter(0..shape[1]);
        for a in [&c, &f] {
            let sum = zip((a, &row)).map_collect(|(a, b)| a + b).unwrap();
            // Nothing fails; some elements do; all do.
            for from in [a.len(), a.len() / 2, a.len() / 3, 0] {
                let found = zip((a, &row)).try_map_collect(|(a, b)| match a < from {
                    true => Ok(a + b),
                    false => Err(Failed(a)),
                });
                let first = a.as_slice_memory_order().unwrap();
                let expected = match first.iter().find(|&&a| a >= from) {
                    Some(&a) => Err(Failed(a)),
                    None => Ok(sum.clone()),
                };
                assert_eq!(found, expected, "{shape:?} {from}");
            }
        }
    }
    let (a, b) = (array![1, 2], array![1, 2, 3]);
    let error = zip((&a, &b)).try_map_collect(|(a, _)| Ok::<_, BroadcastError>(a));
    let error = error.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::SizeMismatch { .. }));
}
