//! Gradients are compared with a slow oracle, which adds each output element's cotangent to its
//! input element.

use crate::common::{self, AxisMap, split_mix};
use ndarray::{Array, Array1, Array2, ArrayD, ArrayViewD, Axis, Dimension, IxDyn, Slice, array};
use ndarray_broadcast::error::ArrayRole;
use ndarray_broadcast::prelude::*;
use ndarray_broadcast::reduction::Summand;
use num_complex::Complex;

/// Pseudo-random values.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        split_mix(&mut self.0)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    fn value(&mut self) -> i64 {
        self.below(2001) as i64 - 1000
    }

    fn size(&mut self) -> usize {
        [0, 1, 1, 2, 2, 3, 3, 4, 5, 9][self.below(10)]
    }

    fn shape(&mut self, max_rank: usize) -> Vec<usize> {
        (0..self.below(max_rank + 1)).map(|_| self.size()).collect()
    }

    /// Replaces about a third of the sizes by 1.
    fn shrunk(&mut self, sizes: impl IntoIterator<Item = usize>) -> Vec<usize> {
        let shrink = |size| if self.below(3) == 0 { 1 } else { size };
        sizes.into_iter().map(shrink).collect()
    }

    fn array(&mut self, shape: &[usize]) -> ArrayD<i64> {
        ArrayD::from_shape_simple_fn(shape, || self.value())
    }

    /// A random order of the axes in memory, and a random slice step for each axis.
    fn layout(&mut self, rank: usize) -> Layout {
        let mut order: Vec<usize> = (0..rank).collect();
        for i in (1..rank).rev() {
            order.swap(i, self.below(i + 1));
        }
        let steps = (0..rank).map(|_| [1, 1, 1, -1, 2, -3][self.below(6)]);
        Layout {
            steps: steps.collect(),
            order,
        }
    }
}

/// A memory layout of a view of a larger array.
struct Layout {
    /// Axis `i` of the view is axis `order[i]` of the backing array.
    order: Vec<usize>,
    steps: Vec<isize>,
}

impl Layout {
    fn backing(&self, shape: &[usize], fill: i64) -> ArrayD<i64> {
        let mut memory = vec![0; shape.len()];
        for (axis, &at) in self.order.iter().enumerate() {
            memory[at] = shape[axis] * self.steps[axis].unsigned_abs();
        }
        ArrayD::from_elem(memory, fill)
    }

    /// The view of the backing array, which must have this shape.
    fn cut<'a>(
        &self,
        backing: &'a mut ArrayD<i64>,
        shape: &[usize],
    ) -> ndarray::ArrayViewMutD<'a, i64> {
        let mut view = backing.view_mut().permuted_axes(self.order.clone());
        for (axis, &step) in self.steps.iter().enumerate() {
            view.slice_axis_inplace(Axis(axis), Slice::new(0, None, step));
        }
        assert_eq!(view.shape(), shape);
        view
    }
}

/// One or two plans of a rule with random shapes, each with the oracle's axis map. Empty if the
/// oracle rejects the shapes.
fn generated(random: &mut Random, rule: usize) -> Vec<(BroadcastPlan, AxisMap)> {
    let dynamic = |shape: &[usize]| IxDyn(shape);
    let by_mode = |input: &[usize], target: &[usize], mode: BroadcastMode| {
        let plan = BroadcastPlan::with_mode(dynamic(input), dynamic(target), &mode);
        match common::mode(input, target, &mode) {
            Ok(map) => vec![(plan.expect("the oracle accepts it"), map)],
            Err(_) => vec![],
        }
    };
    let by_pair = |a: &[usize], b: &[usize], rule: ElementwiseRule| {
        let plans = BroadcastPlan::pair(dynamic(a), dynamic(b), &rule);
        match common::pair(a, b, &rule) {
            Ok([map_a, map_b]) => {
                let (plan_a, plan_b) = plans.expect("the oracle accepts it");
                vec![(plan_a, map_a), (plan_b, map_b)]
            }
            Err(_) => vec![],
        }
    };
    let target = random.shape(5);
    let rank = target.len();
    let axes: Vec<usize> = (0..rank).filter(|_| random.below(2) == 0).collect();
    let mapped = random.shrunk(axes.iter().map(|&axis| target[axis]));
    let tail = random.below(rank + 1);
    let aligned = random.shrunk(target[tail..].iter().copied());
    match rule {
        0 => by_mode(&aligned, &target, BroadcastMode::Numpy),
        1 => {
            let target = random.shrunk(target);
            by_mode(&aligned, &target, BroadcastMode::Bidirectional)
        }
        2 => by_mode(
            &mapped,
            &target,
            BroadcastMode::Explicit { axes_mapping: axes },
        ),
        3 => {
            let kept = (0..rank).filter(|axis| !axes.contains(axis));
            let input: Vec<usize> = kept.map(|axis| target[axis]).collect();
            let broadcast_axes = axes;
            by_mode(
                &input,
                &target,
                BroadcastMode::BroadcastAxes { broadcast_axes },
            )
        }
        4 => {
            let broadcast_dimensions = axes;
            by_mode(
                &mapped,
                &target,
                BroadcastMode::InDim {
                    broadcast_dimensions,
                },
            )
        }
        5 => {
            let (mut broadcast_dimensions, mut input) = (axes, mapped);
            for i in (1..input.len()).rev() {
                let j = random.below(i + 1);
                broadcast_dimensions.swap(i, j);
                input.swap(i, j);
            }
            let mode = BroadcastMode::InDimPermuting {
                broadcast_dimensions,
            };
            by_mode(&input, &target, mode)
        }
        6 => by_mode(&aligned, &target, BroadcastMode::Expand),
        7 => {
            // B at any position on A, with trailing 1s that may overhang the end of A.
            let end = tail + random.below(rank - tail + 1);
            let mut b = random.shrunk(target[tail..end].iter().copied());
            b.resize((b.len() + random.below(3)).min(rank), 1);
            let axis = tail as isize;
            by_mode(&b, &target, BroadcastMode::Pdpd { axis })
        }
        8 => {
            let (front, input) = target.split_at(tail);
            let plan = BroadcastPlan::prepend(dynamic(input), dynamic(front));
            let map = common::prepend(input, front).expect("these shapes always broadcast");
            vec![(plan.expect("these shapes always broadcast"), map)]
        }
        9 => by_pair(&target, &target, ElementwiseRule::None),
        10 => {
            let a = random.shrunk(target);
            by_pair(&a, &aligned, ElementwiseRule::Numpy)
        }
        11 => {
            let b = random.shrunk(target[tail..].iter().copied());
            by_pair(
                &target,
                &b,
                ElementwiseRule::Pdpd {
                    axis: tail as isize,
                },
            )
        }
        _ => {
            let a = random.shrunk(target);
            let broadcast_dimensions = if mapped.len() < rank { axes } else { vec![] };
            let rule = ElementwiseRule::Xla {
                broadcast_dimensions,
            };
            if random.below(2) == 0 {
                by_pair(&a, &mapped, rule)
            } else {
                by_pair(&mapped, &a, rule)
            }
        }
    }
}

const RULES: usize = 13;

/// The gradient by definition: each cotangent is added to its input element.
fn scattered(map: &AxisMap, input: &[usize], cotangent: &ArrayViewD<'_, i64>) -> ArrayD<i64> {
    let mut gradient = ArrayD::zeros(input);
    for (index, &value) in cotangent.indexed_iter() {
        gradient[IxDyn(&map.source(input, index.slice()))] += value;
    }
    gradient
}

/// `<Bx, y> = <x, B'y>` holds exactly, and `B'y` equals the oracle, for any layout of `y` and of
/// the output.
#[test]
fn gradients_of_random_plans_are_the_adjoint_and_agree_with_the_oracle() {
    let mut random = Random(1);
    let mut plans = [0; RULES];
    let cases = crate::cases(100_000);
    while plans.iter().sum::<usize>() < cases {
        let rule = random.below(RULES);
        for (plan, map) in generated(&mut random, rule) {
            plans[rule] += 1;
            let (input, output) = (plan.input_shape(), plan.output_shape());
            let x = random.array(input);
            let layout = random.layout(output.len());
            let mut backing = layout.backing(output, 0);
            let mut y = layout.cut(&mut backing, output);
            y.map_inplace(|y| *y = random.value());
            let gradient = plan.gradient(&y).unwrap();
            assert_eq!(gradient.shape(), input);
            assert!(gradient.is_standard_layout());

            let forward = plan.view(&x).unwrap();
            let left: i64 = forward.iter().zip(&y).map(|(a, b)| a * b).sum();
            let right: i64 = x.iter().zip(&gradient).map(|(a, b)| a * b).sum();
            assert_eq!(left, right, "{plan}");
            assert_eq!(gradient, scattered(&map, input, &y.view()), "{plan}");

            let layout = random.layout(input.len());
            let mut backing = layout.backing(input, 7);
            let mut out = layout.cut(&mut backing, input);
            plan.gradient_into(&y, &mut out).unwrap();
            assert_eq!(out, gradient, "{plan}");
            plan.gradient_accumulate(&y, &mut out).unwrap();
            assert_eq!(out, &gradient * 2, "{plan}");
            // Elements outside the view are unchanged.
            let (total, inside) = (backing.sum(), 2 * gradient.sum());
            assert_eq!(total - inside, 7 * (backing.len() - gradient.len()) as i64);
        }
    }
    assert!(plans.iter().all(|&plans| plans > cases / 50), "{plans:?}");
}

#[test]
fn any_element_type_with_zero_and_addition_is_summed() {
    let plan = BroadcastPlan::numpy((2, 1), (2, 3)).unwrap();
    assert_eq!(
        plan.gradient(&array![[1_u8, 2, 3], [100, 100, 55]])
            .unwrap(),
        array![[6], [255]]
    );
    assert_eq!(
        plan.gradient(&array![[1_i128, 2, 3], [4, 5, i128::MAX - 9]])
            .unwrap(),
        array![[6], [i128::MAX]]
    );
    let c = |re, im| Complex::<f64>::new(re, im);
    assert_eq!(
        plan.gradient(&array![
            [c(1., 2.), c(3., 4.), c(5., 6.)],
            [c(0., 1.), c(0., -1.), c(1., 0.)]
        ])
        .unwrap(),
        array![[c(9., 12.)], [c(1., 0.)]]
    );

    #[derive(Debug, Clone, Copy, PartialEq)]
    struct Pair(u16, [u8; 5]);
    impl std::ops::Add for Pair {
        type Output = Self;
        fn add(self, other: Self) -> Self {
            Pair(
                self.0 + other.0,
                std::array::from_fn(|i| self.1[i].wrapping_add(other.1[i])),
            )
        }
    }
    impl Summand for Pair {
        type Acc = Self;

        fn to_acc(self) -> Self {
            self
        }

        fn from_acc(acc: Self) -> Self {
            acc
        }
    }

    impl num_traits::Zero for Pair {
        fn zero() -> Self {
            Pair(0, [0; 5])
        }
        fn is_zero(&self) -> bool {
            *self == Self::zero()
        }
    }
    for rows in [0, 1, 3, 17, 130, 3000] {
        let cotangent =
            Array2::from_shape_fn((rows, 4), |(i, j)| Pair(1, [i as u8, j as u8, 1, 2, 3]));
        let expected = Array1::from_shape_fn(4, |j| {
            (0..rows).fold(num_traits::Zero::zero(), |sum: Pair, i| {
                sum + cotangent[[i, j]]
            })
        });
        assert_eq!(cotangent.reduce_to_shape(4, Sum).unwrap(), expected);
        assert_eq!(
            cotangent.t().reduce_to_shape((4, 1), Sum).unwrap(),
            expected.insert_axis(Axis(1))
        );
    }
}

#[test]
fn an_empty_sum_is_zero_and_adds_nothing() {
    for shape in [&[0, 3][..], &[2, 0, 3], &[0, 0, 3]] {
        let cotangent = ArrayD::<f32>::zeros(shape);
        assert_eq!(
            cotangent.reduce_to_shape(3, Sum).unwrap(),
            array![0., 0., 0.]
        );
        let plan = BroadcastPlan::numpy(IxDyn(&[3]), IxDyn(shape)).unwrap();
        let mut out = array![1., 2., 3.].into_dyn();
        plan.gradient_accumulate(&cotangent, &mut out).unwrap();
        assert_eq!(out, array![1., 2., 3.].into_dyn());
        plan.gradient_into(&cotangent, &mut out).unwrap();
        assert_eq!(out, array![0., 0., 0.].into_dyn());
    }
    let kept = Array2::<i32>::zeros((4, 0))
        .reduce_to_shape((1, 0), Sum)
        .unwrap();
    assert_eq!(kept.shape(), [1, 0]);
    // A broadcast of an axis from size 1 to size 0.
    let plan = BroadcastPlan::numpy((2, 1), (2, 0)).unwrap();
    assert_eq!(
        plan.gradient(&Array2::<i32>::zeros((2, 0))).unwrap(),
        array![[0], [0]]
    );
}

#[test]
fn gradients_of_pdpd_overhang_and_of_permuted_axes_are_correct() {
    let plan = BroadcastPlan::pdpd((3, 1, 1), (2, 2, 3), 2).unwrap();
    let y = Array::from_shape_fn((2, 2, 3), |(i, j, k)| (i + 2 * j + 10 * k) as i32);
    assert_eq!(plan.gradient(&y).unwrap(), array![[[6]], [[46]], [[86]]]);

    let plan = BroadcastPlan::in_dim_permuting((3, 2), (2, 4, 3), &[2, 0]).unwrap();
    assert_eq!(plan.rule(), Rule::InDimPermuting);
    let y = Array::from_shape_fn((2, 4, 3), |(i, j, k)| (100 * i + 10 * j + k) as i32);
    assert_eq!(
        plan.gradient(&y).unwrap(),
        Array::from_shape_fn((3, 2), |(k, i)| (400 * i + 60 + 4 * k) as i32)
    );
}

#[test]
fn a_replicated_cotangent_is_summed_once_for_each_repetition() {
    let ones = ndarray::arr0(1_u64);
    let view = ones.broadcast_numpy((3, 50, 70)).unwrap();
    assert_eq!(
        view.reduce_to_shape((50, 1), Sum).unwrap(),
        Array2::from_elem((50, 1), 210)
    );
    let row = array![1_u64, 2, 3];
    let view = row.broadcast_numpy((5000, 3)).unwrap();
    assert_eq!(
        view.reduce_to_shape(3, Sum).unwrap(),
        array![5000, 10000, 15000]
    );
    assert_eq!(
        view.reduce_to_shape((5000, 1), Sum).unwrap(),
        Array2::from_elem((5000, 1), 6)
    );
}

#[test]
fn wrong_shapes_are_rejected_without_writing() {
    let plan = BroadcastPlan::numpy(IxDyn(&[3, 1]), IxDyn(&[2, 3, 4])).unwrap();
    let (right, wrong) = (
        ArrayD::<f32>::ones(vec![2, 3, 4]),
        ArrayD::<f32>::ones(vec![2, 3, 1]),
    );
    let mut out = ArrayD::from_elem(vec![3, 1], 5.);
    let role = |error: BroadcastError| match error.kind() {
        ErrorKind::WrongShape { role, .. } => *role,
        _ => panic!("{error}"),
    };
    assert_eq!(
        role(plan.gradient(&wrong).unwrap_err()),
        ArrayRole::Cotangent
    );
    assert_eq!(
        role(plan.gradient_into(&wrong, &mut out).unwrap_err()),
        ArrayRole::Cotangent
    );
    assert_eq!(
        role(plan.gradient_accumulate(&wrong, &mut out).unwrap_err()),
        ArrayRole::Cotangent
    );
    assert_eq!(out, ArrayD::from_elem(vec![3, 1], 5.));
    for shape in [vec![3], vec![1, 3], vec![3, 4], vec![2, 3, 4]] {
        let mut out = ArrayD::from_elem(shape, 5.);
        assert_eq!(
            role(plan.gradient_into(&right, &mut out).unwrap_err()),
            ArrayRole::Out
        );
        assert_eq!(
            role(plan.gradient_accumulate(&right, &mut out).unwrap_err()),
            ArrayRole::Out
        );
        assert!(out.iter().all(|&value| value == 5.));
    }
    assert_eq!(
        common::variant(&right.reduce_to_shape((2, 1, 3, 4), Sum).unwrap_err()),
        "RankMismatch"
    );
    assert_eq!(
        common::variant(&right.reduce_to_shape((2, 4), Sum).unwrap_err()),
        "SizeMismatch"
    );
}

// With 32 bits, memory may hold whatever the sizes allow.
#[cfg(target_pointer_width = "64")]
#[test]
fn a_gradient_too_large_for_memory_is_an_error() {
    let one = ndarray::arr0(1.0_f64);
    let view = one.broadcast_numpy((2, 1 << 59)).unwrap();
    assert_eq!(
        common::variant(&view.reduce_to_shape(1 << 59, Sum).unwrap_err()),
        "AllocationFailed"
    );
    let view = one.broadcast_numpy((2, 1 << 61)).unwrap();
    assert_eq!(
        common::variant(&view.reduce_to_shape(1 << 61, Sum).unwrap_err()),
        "ShapeOverflow"
    );
}

/// Adding a term of the next row to `i32::MAX` would overflow.
#[test]
fn only_terms_of_the_same_row_are_added() {
    for len in [17, 20, 24, 31, 40, 100, 127, 129, 1000] {
        let rows = Array2::from_shape_fn((4, len), |(row, column)| match row % 2 {
            0 if column == len % 16 => i32::MAX,
            1 if column == 0 => 1,
            _ => 0,
        });
        let sums = rows.reduce_to_shape([4, 1], Sum).unwrap();
        assert_eq!(sums, array![[i32::MAX], [1], [i32::MAX], [1]], "{len}");
    }
}

#[cfg(debug_assertions)]
#[test]
fn integer_overflow_panics_in_debug_builds() {
    let big = Array1::from_elem(300, i32::MAX);
    let panic = std::panic::catch_unwind(|| big.reduce_to_shape((), Sum)).unwrap_err();
    let message = panic.downcast_ref::<&str>().copied().unwrap_or_default();
    assert!(message.contains("overflow"), "{message}");
    // Also in parallel. The threads still accept work afterwards.
    let big = Array1::from_elem(3_000_000, i32::MAX);
    std::panic::catch_unwind(|| big.reduce_to_shape((), Sum)).unwrap_err();
    let small = Array1::from_elem(3_000_000, 1_i32);
    assert_eq!(
        small.reduce_to_shape((), Sum).unwrap().into_scalar(),
        3_000_000
    );
}

/// A number whose addition panics if an operand is `MARK`.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Panicking(i64);

const MARK: i64 = i64::MIN;

impl std::ops::Add for Panicking {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        if self.0 == MARK || other.0 == MARK {
            std::panic::resume_unwind(Box::new(MARK));
        }
        Panicking(self.0 + other.0)
    }
}

impl Summand for Panicking {
    type Acc = Self;

    fn to_acc(self) -> Self {
        self
    }

    fn from_acc(acc: Self) -> Self {
        acc
    }
}

impl num_traits::Zero for Panicking {
    fn zero() -> Self {
        Panicking(0)
    }
    fn is_zero(&self) -> bool {
        self.0 == 0
    }
}

#[test]
fn a_panic_in_an_addition_reaches_the_caller_and_leaves_valid_values() {
    for (rows, columns, axis) in [
        (40, 3, 0),
        (3, 40, 1),
        (2000, 300, 0),
        (300, 2000, 1),
        (if crate::all_cases() { 1 << 21 } else { 1 << 18 }, 2, 1),
    ] {
        let mut y = Array2::from_elem((rows, columns), Panicking(1));
        let kept = [columns, rows][axis];
        let plan =
            BroadcastPlan::explicit(IxDyn(&[kept]), IxDyn(&[rows, columns]), &[1 - axis]).unwrap();
        let terms = (rows * columns / kept) as i64;
        let middle = (rows / 2, columns / 2);
        let positions = match rows * columns {
            ..1000 => ndarray::indices((rows, columns)).into_iter().collect(),
            _ => vec![(0, 0), middle, (rows - 1, columns - 1)],
        };
        for at in positions {
            y[at] = Panicking(MARK);
            let view = y.view().into_dyn();
            let same = |term: Panicking| term;
            for call in 0..5 {
                let mut out = Array1::from_elem(kept, Panicking(-1)).into_dyn();
                let caught =
                    std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| match call {
                        0 => plan.gradient(&view).map(|_| ()),
                        1 => plan.gradient_into(&view, &mut out),
                        2 => plan.gradient_accumulate(&view, &mut out),
                        3 => zip(&view).reduce(&plan, Sum, same).map(|_| ()),
                        _ => zip(&view).reduce_accumulate(&plan, Sum, &mut out, same),
                    }));
                assert_eq!(caught.unwrap_err().downcast_ref(), Some(&MARK));
                let complete = match call {
                    1 => terms,
                    _ => terms - 1,
                };
                assert!(out.iter().all(|&sum| [-1, complete].contains(&sum.0)));
            }
            y[at] = Panicking(1);
        }
        // The threads still accept work.
        let sums = plan.gradient(&y.view().into_dyn()).unwrap();
        assert!(sums.iter().all(|&sum| sum == Panicking(terms)));
    }
}

#[test]
fn zero_sized_elements_are_summed() {
    #[derive(Debug, Clone, Copy, PartialEq)]
    struct Unit;
    impl std::ops::Add for Unit {
        type Output = Self;
        fn add(self, _: Self) -> Self {
            Unit
        }
    }
    impl Summand for Unit {
        type Acc = Self;

        fn to_acc(self) -> Self {
            self
        }

        fn from_acc(acc: Self) -> Self {
            acc
        }
    }

    impl num_traits::Zero for Unit {
        fn zero() -> Self {
            Unit
        }
        fn is_zero(&self) -> bool {
            true
        }
    }
    for shape in [(3, 5), (2000, 7), (7, 2000), (300, 300)] {
        let y = Array2::from_elem(shape, Unit);
        assert_eq!(y.reduce_to_shape(shape.1, Sum).unwrap().len(), shape.1);
        assert_eq!(y.t().reduce_to_shape(shape.0, Sum).unwrap().len(), shape.0);
        assert_eq!(y.reduce_to_shape((), Sum).unwrap().len(), 1);
    }
}

#[test]
fn sums_over_every_second_of_many_axes_are_correct() {
    let shape: Vec<usize> = (0..40).map(|i| if i % 3 == 0 { 2 } else { 1 }).collect();
    let y = ArrayD::from_shape_fn(shape.clone(), |index| index.slice().iter().sum::<usize>());
    // 7 of the 14 axes of size 2 are kept, so each sum has 128 terms.
    let input: Vec<usize> = (0..40).map(|i| if i % 6 == 0 { 2 } else { 1 }).collect();
    let gradient = y.reduce_to_shape(IxDyn(&input), Sum).unwrap();
    for (index, &sum) in gradient.indexed_iter() {
        let kept: usize = index.slice().iter().sum();
        assert_eq!(sum, 128 * kept + 64 * 7);
    }
}

/// Calls take time linear in the number of axes. With quadratic time, this test would take minutes.
#[test]
fn views_copies_and_gradients_of_40_000_axes_are_correct() {
    let ones = vec![1; 40_000];
    let mut stretched = ones.clone();
    stretched[1234] = 2;
    let mut more = vec![1; 100];
    more.extend(&ones);
    for target in [&ones, &stretched, &more] {
        let plan = BroadcastPlan::numpy(IxDyn(&ones), IxDyn(target)).unwrap();
        let cotangent = ArrayD::from_elem(IxDyn(target), 3.);
        let input = ArrayD::from_elem(IxDyn(&ones), 3.);
        assert_eq!(plan.view(&input).unwrap(), cotangent);
        let copy = plan.view(&input).unwrap().materialize().unwrap();
        assert_eq!(copy, cotangent);
        let expected = 3. * cotangent.len() as f64;
        let gradient = plan.gradient(&cotangent).unwrap();
        assert_eq!((gradient.shape(), gradient.sum()), (&ones[..], expected));
        let mapped = zip(&cotangent).reduce(&plan, Sum, |a| 2. * a).unwrap();
        assert_eq!((mapped.shape(), mapped.sum()), (&ones[..], 2. * expected));
        let sum = cotangent.reduce_to_shape((), Sum).unwrap().into_scalar();
        let mapped = BroadcastPlan::numpy((), IxDyn(target)).unwrap();
        let mapped = zip(&cotangent).reduce(&mapped, Sum, |a| a).unwrap();
        assert_eq!([sum, mapped.into_scalar()], [expected; 2]);
    }
}
