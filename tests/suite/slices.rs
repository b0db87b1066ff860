//! Copies from slices to slices equal the plan's view index by index, for any strides. Slices that
//! do not hold their array are errors. Clones are made and dropped once each.

use ndarray::{Array1, Array2, ArrayD, IxDyn, array};
use ndarray_broadcast::prelude::*;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering};

/// The position of an element in a slice that begins at the lowest address.
fn position(index: &[usize], shape: &[usize], strides: &[isize]) -> usize {
    let mut position = 0;
    for ((&i, &size), &stride) in index.iter().zip(shape).zip(strides) {
        let steps = if stride < 0 { size - 1 - i } else { i };
        position += steps * stride.unsigned_abs();
    }
    position
}

/// Each case: the plan, the strides of input and output.
#[test]
fn every_element_is_at_its_place_and_others_are_unchanged() {
    type Case = (Vec<usize>, Vec<usize>, Vec<isize>, Vec<isize>);
    let cases: Vec<Case> = vec![
        (vec![], vec![], vec![], vec![]),
        (vec![], vec![3], vec![], vec![2]),
        (vec![3], vec![2, 3], vec![1], vec![3, 1]),
        (vec![3], vec![2, 3], vec![-1], vec![1, 2]),
        (vec![3], vec![2, 3], vec![2], vec![-4, -1]),
        (vec![3], vec![2, 3], vec![0], vec![-1, 5]),
        (vec![2, 1], vec![2, 3], vec![1, isize::MIN], vec![3, 1]),
        (vec![2, 3], vec![2, 3], vec![1, 1], vec![7, -2]),
        (vec![2, 3], vec![4, 2, 3], vec![-3, 1], vec![6, -3, 1]),
        (vec![0, 3], vec![0, 3], vec![9, 9], vec![9, 9]),
        (vec![1, 1], vec![1, 0], vec![isize::MAX, 0], vec![0, 0]),
        (vec![50, 1], vec![50, 70], vec![-2, 5], vec![1, 50]),
    ];
    for (input_shape, shape, input_strides, strides) in cases {
        let case = format!("{input_shape:?} {shape:?} {input_strides:?} {strides:?}");
        let plan = BroadcastPlan::numpy(IxDyn(&input_shape), IxDyn(&shape)).unwrap();
        let reach = |shape: &[usize], strides: &[isize]| match shape.contains(&0) {
            true => 0,
            false => {
                let reach = |(&n, &s): (&usize, &isize)| (n - 1) * s.unsigned_abs();
                1 + shape.iter().zip(strides).map(reach).sum::<usize>()
            }
        };
        let (input_reach, out_reach) =
            (reach(&input_shape, &input_strides), reach(&shape, &strides));
        for spare in [0, 3] {
            let input: Vec<u32> = (0..(input_reach + spare) as u32).collect();
            let mut out = vec![MaybeUninit::new(u32::MAX); out_reach + spare];
            plan.copy_slice(&input, Some(&input_strides), &mut out, Some(&strides))
                .unwrap();
            // SAFETY: all elements were initialised when the vector was made.
            let out: Vec<u32> = out.iter().map(|e| unsafe { e.assume_init() }).collect();
            let mut expected = vec![u32::MAX; out.len()];
            for index in ndarray::indices(&shape[..]) {
                let index: Vec<usize> = (0..shape.len()).map(|axis| index[axis]).collect();
                let added = shape.len() - input_shape.len();
                let of_input: Vec<usize> = (input_shape.iter().zip(&index[added..]))
                    .map(|(&size, &i)| if size == 1 { 0 } else { i })
                    .collect();
                expected[position(&index, &shape, &strides)] =
                    input[position(&of_input, &input_shape, &input_strides)];
            }
            assert_eq!(out, expected, "{case}");
        }
        for (input_len, out_len, role) in [
            (input_reach.wrapping_sub(1), out_reach, "input"),
            (input_reach, out_reach.wrapping_sub(1), "out"),
        ] {
            if input_len == usize::MAX || out_len == usize::MAX {
                continue;
            }
            let (input, mut out) = (vec![0_u8; input_len], vec![MaybeUninit::uninit(); out_len]);
            let result = plan.copy_slice(&input, Some(&input_strides), &mut out, Some(&strides));
            let text = result.unwrap_err().to_string();
            assert!(text.starts_with(role), "{case}: {text}");
        }
    }
}

#[test]
fn a_whole_slice_is_filled() {
    let plan = BroadcastPlan::explicit(&[300][..], &[200, 300, 2][..], &[1]).unwrap();
    let input: Vec<u16> = (0..300).collect();
    let mut out = vec![MaybeUninit::uninit(); 200 * 300 * 2];
    plan.copy_slice(&input, None, &mut out, None).unwrap();
    // SAFETY: the call has written every element.
    let filled: Vec<u16> = out
        .iter()
        .map(|element| unsafe { element.assume_init() })
        .collect();
    let expected = plan
        .view(&Array1::from(input.clone()).into_dyn())
        .unwrap()
        .to_owned();
    assert_eq!(filled, expected.as_slice().unwrap());

    let empty = BroadcastPlan::numpy(&[0, 1][..], &[0, 3][..]).unwrap();
    empty.copy_slice::<u8>(&[], None, &mut [], None).unwrap();
    for (input_len, out_len) in [(299, 120_000), (301, 120_000), (300, 119_999), (300, 0)] {
        let (input, mut out) = (vec![0_u8; input_len], vec![MaybeUninit::uninit(); out_len]);
        assert!(plan.copy_slice(&input, None, &mut out, None).is_err());
    }
}

#[test]
fn strides_may_be_given_for_one_slice_only() {
    let plan = BroadcastPlan::numpy(3, (2, 3)).unwrap();
    type Strides = Option<&'static [isize]>;
    let cases: [(Strides, Strides, [u8; 6]); 4] = [
        (Some(&[1]), None, [1, 2, 3, 1, 2, 3]),
        (Some(&[-1]), None, [3, 2, 1, 3, 2, 1]),
        (None, Some(&[1, 2]), [1, 1, 2, 2, 3, 3]),
        (None, Some(&[1, -2]), [3, 3, 2, 2, 1, 1]),
    ];
    for (input, out, expected) in cases {
        let mut copy = [7; 6].map(MaybeUninit::new);
        plan.copy_slice(&[1, 2, 3], input, &mut copy, out).unwrap();
        // SAFETY: all elements were initialised above.
        let copy = copy.map(|element| unsafe { element.assume_init() });
        assert_eq!(copy, expected, "{input:?} {out:?}");
    }
}

/// Each case: the call's arguments and the text of the error.
#[test]
fn slices_that_do_not_hold_their_array_are_errors() {
    let plan = BroadcastPlan::numpy(2, (3, 2)).unwrap();
    type Case = (
        usize,
        &'static [isize],
        usize,
        &'static [isize],
        &'static str,
    );
    let cases: [Case; 6] = [
        (
            2,
            &[1, 1],
            6,
            &[2, 1],
            "input has 1 axis, the shape [2] with the strides [1, 1]",
        ),
        (
            2,
            &[1],
            6,
            &[2],
            "out has 2 axes, the shape [3, 2] with the strides [2]",
        ),
        (
            1,
            &[1],
            6,
            &[2, 1],
            "input is a slice of length 1, the shape [2] with the strides [1] needs 2",
        ),
        (
            2,
            &[1],
            5,
            &[2, 1],
            "out is a slice of length 5, the shape [3, 2] with the strides [2, 1] needs 6",
        ),
        (
            2,
            &[1],
            6,
            &[1, -1],
            "out cannot be written: elements of the shape [3, 2] with the strides [1, -1] may overlap",
        ),
        (
            2,
            &[1],
            6,
            &[2, 0],
            "out cannot be written: elements of the shape [3, 2] with the strides [2, 0] may overlap",
        ),
    ];
    for (input_len, input_strides, out_len, strides, text) in cases {
        let (input, mut out) = (vec![0_u8; input_len], vec![MaybeUninit::new(9); out_len]);
        let error = plan
            .copy_slice(&input, Some(input_strides), &mut out, Some(strides))
            .unwrap_err();
        assert_eq!(error.to_string(), text);
        // SAFETY: all elements were initialised when the vector was made.
        let is_old = |element: &MaybeUninit<u8>| unsafe { element.assume_init() } == 9;
        assert!(out.iter().all(is_old));
    }
    let mut out = [MaybeUninit::uninit(); 6];
    let error = plan
        .copy_slice(&[1_u8, 2], Some(&[isize::MIN]), &mut out, Some(&[2, 1]))
        .unwrap_err();
    let refused = format!("strides [{}]: an offset is above isize::MAX", isize::MIN);
    assert!(error.to_string().ends_with(&refused), "{error}");
    let many = [isize::MIN, isize::MAX, 2];
    let plan = BroadcastPlan::numpy((9, 9, 9), (9, 9, 9)).unwrap();
    let mut out = vec![MaybeUninit::uninit(); 729];
    assert!(
        plan.copy_slice(&[0_u8; 729], Some(&many), &mut out, Some(&[81, 9, 1]))
            .is_err()
    );
    assert!(
        plan.copy_slice(&[0_u8; 729], Some(&[81, 9, 1]), &mut out, Some(&many))
            .is_err()
    );
}

/// A slice of `()` may be longer than `isize::MAX`.
#[test]
fn slices_of_every_length_are_accepted_or_errors() {
    let (input, plan) = (
        vec![(); usize::MAX],
        BroadcastPlan::numpy(2, (3, 2)).unwrap(),
    );
    let mut out = [MaybeUninit::uninit(); 6];
    for stride in [isize::MIN, isize::MIN + 1, isize::MAX, -1] {
        let result = plan.copy_slice(&input, Some(&[stride]), &mut out, Some(&[2, 1]));
        assert_eq!(result.is_ok(), stride != isize::MIN, "{stride}");
    }
    assert!(plan.copy_slice(&input, None, &mut out, None).is_err());
}

static ALIVE: AtomicIsize = AtomicIsize::new(0);
static CLONES_LEFT: AtomicUsize = AtomicUsize::new(usize::MAX);

/// Counts the values that are alive; `clone` panics when `CLONES_LEFT` is used up.
#[derive(Debug, PartialEq)]
struct Counted(Box<usize>);

impl Counted {
    fn new(value: usize) -> Self {
        ALIVE.fetch_add(1, Ordering::SeqCst);
        Counted(Box::new(value))
    }
}

impl Clone for Counted {
    fn clone(&self) -> Self {
        let left = CLONES_LEFT.fetch_sub(1, Ordering::SeqCst);
        assert!(left > 0 && left < usize::MAX / 2 || left > usize::MAX / 2 + 1_000_000);
        Counted::new(*self.0)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        ALIVE.fetch_sub(1, Ordering::SeqCst);
    }
}

#[test]
fn clones_are_made_and_dropped_once() {
    let alive = || ALIVE.load(Ordering::SeqCst);
    for columns in [3, 4000] {
        let source = Array1::from_shape_fn(columns, Counted::new);
        let before = alive();
        let view = source.broadcast_numpy((5, columns)).unwrap();
        CLONES_LEFT.store(5 * columns, Ordering::SeqCst);
        let copy = view.materialize_cloned().unwrap();
        assert_eq!(CLONES_LEFT.load(Ordering::SeqCst), 0);
        assert_eq!(copy, view);
        assert!(copy.is_standard_layout());
        assert_eq!(alive(), before + 5 * columns as isize);

        let mut existing = copy;
        existing.invert_axis(ndarray::Axis(1));
        CLONES_LEFT.store(5 * columns, Ordering::SeqCst);
        view.materialize_cloned_into(&mut existing).unwrap();
        assert_eq!(existing, view);
        assert_eq!(alive(), before + 5 * columns as isize);

        // A clone that panics leaves the values of `existing` valid, and no other.
        for left in [0, 1, 2 * columns] {
            CLONES_LEFT.store(left, Ordering::SeqCst);
            let caught = catch_unwind(AssertUnwindSafe(|| view.materialize_cloned()));
            assert!(caught.is_err());
            assert_eq!(alive(), before + 5 * columns as isize);
            CLONES_LEFT.store(left, Ordering::SeqCst);
            let into = || view.materialize_cloned_into(&mut existing);
            assert!(catch_unwind(AssertUnwindSafe(into)).is_err());
            assert_eq!(existing, view);
            assert_eq!(alive(), before + 5 * columns as isize);
        }
        drop(existing);
        assert_eq!(alive(), before);
    }
    assert_eq!(alive(), 0);
}

#[test]
fn clones_have_every_shape_and_layout() {
    let words = array![["a", "b"], ["c", "d"], ["e", "f"]].mapv(String::from);
    let turned = words.t();
    assert_eq!(turned.materialize_cloned().unwrap(), turned);
    let nothing = Array2::<String>::default((0, 1));
    assert_eq!(
        nothing
            .broadcast_numpy((0, 3))
            .unwrap()
            .materialize_cloned()
            .unwrap()
            .shape(),
        [0, 3]
    );
    let scalar = ArrayD::from_elem(IxDyn(&[]), String::from("x"));
    let wide = scalar
        .broadcast_numpy(&[2, 2][..])
        .unwrap()
        .materialize_cloned()
        .unwrap();
    assert!(wide.iter().all(|word| word == "x"));
    let mut wrong = Array2::<String>::default((2, 2));
    assert!(words.materialize_cloned_into(&mut wrong).is_err());
}
