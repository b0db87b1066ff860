//! Reductions of one to three arrays, each in a layout of its own, compared with loops over
//! indices.

#![no_main]

mod common;

use arbitrary::{Result, Unstructured};
use common::{Layout, arbitrary_by, feeding, small_shape};
use libfuzzer_sys::fuzz_target;
use ndarray::{ArrayD, IxDyn};
use ndarray_broadcast::prelude::*;
use ndarray_broadcast::reduction::Reduction;
use std::fmt::Debug;

#[derive(Debug)]
struct Call {
    shape: Vec<usize>,
    /// The shape of the result.
    kept: Vec<usize>,
    /// The shape and the layout of each operand. The first one has the whole shape.
    operands: [(Vec<usize>, Layout); 3],
    size: u8,
}

fn call(bytes: &mut Unstructured<'_>) -> Result<Call> {
    let shape = small_shape(bytes, 5)?;
    let rank = shape.len();
    let mut operand = |shape: Vec<usize>| Ok((shape, Layout::arbitrary(bytes, rank)?));
    let mut operands = [
        operand(shape.clone())?,
        operand(shape.clone())?,
        operand(shape.clone())?,
    ];
    for (size, _) in &mut operands[1..] {
        *size = feeding(bytes, &shape, 0..rank)?;
    }
    Ok(Call {
        kept: feeding(bytes, &shape, 0..rank)?,
        size: bytes.int_in_range(0..=7)?,
        shape,
        operands,
    })
}

arbitrary_by!(Call, call);

/// Elements of any size.
trait Element: Copy + Default + Debug + PartialOrd + Send + Sync + 'static {
    fn number(number: usize) -> Self;
    fn add(self, other: Self) -> Self;
}

macro_rules! elements {
    ($($T:ty)*) => {$(
        impl Element for $T {
            fn number(number: usize) -> Self {
                (number % 97) as $T
            }

            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
        }
    )*};
}

elements!(u8 u16 u32 u64 u128);

/// More bytes than a register, or a number of them that is no power of two.
impl<T: Element, const N: usize> Element for [T; N]
where
    [T; N]: Default,
{
    fn number(number: usize) -> Self {
        std::array::from_fn(|i| T::number(number + i))
    }

    fn add(self, other: Self) -> Self {
        std::array::from_fn(|i| self[i].add(other[i]))
    }
}

/// The sum modulo the type's size, by lanes.
struct Added;

impl<T: Element> Reduction<T> for Added {
    const COMMUTATIVE: bool = true;
    type Acc = T;
    type Out = T;

    fn lift(&self, value: T) -> T {
        value
    }
    fn combine(&self, a: T, b: T) -> T {
        a.add(b)
    }
    fn finish(&self, sum: T, _: usize) -> T {
        sum
    }
    fn of_none(&self) -> Option<T> {
        Some(T::default())
    }
}

/// Compares the results of a plan with folds of terms. `terms_of` has the places of each result's
/// terms. `lift` gets a term and its number among them.
#[track_caller]
fn check<T: Element, A: Copy, R: Debug + PartialEq>(
    terms_of: &ArrayD<Vec<usize>>,
    terms: &[T],
    found: std::result::Result<ArrayD<R>, BroadcastError>,
    lift: impl Fn(T, usize) -> A,
    combine: impl Fn(A, A) -> A,
    finish: impl Fn(A) -> R,
) {
    // Without terms there is an error, or a result that needs none of them.
    if terms.is_empty() {
        return;
    }
    let results = terms_of.map(|places| {
        let places = places.iter().enumerate();
        let accs = places.map(|(number, &place)| lift(terms[place], number));
        accs.reduce(&combine).map(&finish).unwrap()
    });
    assert_eq!(found.unwrap(), results);
}

fn reduce<T: Element>(call: &Call) {
    let shape = IxDyn(&call.shape);
    let plan = &BroadcastPlan::numpy(IxDyn(&call.kept), shape.clone()).unwrap();
    let mut next = 0;
    let buffers = call.operands.each_ref().map(|(shape, layout)| {
        layout.buffer(shape, |_| {
            next += 31;
            T::number(next)
        })
    });
    let views: [_; 3] = std::array::from_fn(|i| {
        let (shape, layout) = &call.operands[i];
        layout.view(&buffers[i], shape)
    });
    let [a, b, c] = &views;
    // In the order of indices. A walk over indices is slow, so there is one for each operand.
    let [one, b_terms, c_terms] = views.each_ref().map(|view| {
        let wide = view.broadcast(shape.clone()).unwrap();
        wide.iter().copied().collect::<Vec<T>>()
    });
    let add = |a: &[T], b: &[T]| a.iter().zip(b).map(|(a, &b)| a.add(b)).collect::<Vec<T>>();
    let two = add(&one, &b_terms);
    let three = add(&two, &c_terms);
    let count = call.kept.iter().product();
    let numbers = ArrayD::from_shape_vec(IxDyn(&call.kept), (0..count).collect()).unwrap();
    let mut terms_of = vec![Vec::new(); count];
    for (place, &number) in numbers.broadcast(shape).unwrap().iter().enumerate() {
        terms_of[number].push(place);
    }
    let terms_of = &ArrayD::from_shape_vec(IxDyn(&call.kept), terms_of).unwrap();

    let sum = |terms: &[T], found| check(terms_of, terms, found, |term, _| term, T::add, |sum| sum);
    sum(&one, plan.reduce(a, Added));
    sum(&two, zip((a, b)).reduce(plan, Added, |(a, b)| a.add(b)));
    let add = |(a, b, c): (T, T, T)| a.add(b).add(c);
    sum(&three, zip((a, b, c)).reduce(plan, Added, add));

    let ends = |(first, _): (T, T), (_, last): (T, T)| (first, last);
    let fold = Fold::new((T::default(), T::default()), ends);
    let in_order = |terms: &[T], found| {
        let pair = |term, _| (term, term);
        check(terms_of, terms, found, pair, ends, |ends| ends);
    };
    in_order(&one, zip(a).reduce(plan, fold, |a| (a, a)));
    in_order(
        &three,
        zip((a, b, c)).reduce(plan, fold, |terms| (add(terms), add(terms))),
    );

    let first = |a: (T, usize), b: (T, usize)| if b.0 > a.0 { b } else { a };
    let last = |a: (T, usize), b: (T, usize)| if b.0 >= a.0 { b } else { a };
    let numbered = |term, number| (term, number);
    let max = plan.reduce(a, Max);
    check(terms_of, &one, max, numbered, first, |max| max.0);
    let position = plan.reduce(a, ArgMax);
    check(terms_of, &one, position, numbered, first, |max| max.1);
    let position = plan.reduce(a, LastArgMax);
    check(terms_of, &one, position, numbered, last, |max| max.1);
    let position = zip((a, b)).reduce(plan, ArgMax, |(a, b)| a.add(b));
    check(terms_of, &two, position, numbered, first, |max| max.1);
}

fuzz_target!(|call: Call| match call.size {
    0 => reduce::<u8>(&call),
    1 => reduce::<u16>(&call),
    2 => reduce::<u32>(&call),
    3 => reduce::<u64>(&call),
    4 => reduce::<u128>(&call),
    5 => reduce::<[u8; 3]>(&call),
    6 => reduce::<[u32; 3]>(&call),
    _ => reduce::<[u64; 9]>(&call),
});
