//! The stack that calls need, by the size of an element.
//!
//! Each call runs in a process of its own, on a thread with a given stack. A stack that is too
//! small ends the process.

#![cfg(unix)]

#[path = "common/process.rs"]
mod process;

use ndarray::{Array, Array2, Array3, Axis, s};
use ndarray_broadcast::prelude::*;
use ndarray_broadcast::reduction::{Reduction, Summand};
use num_traits::Zero;
use std::ops::Add;
use std::process::Stdio;

/// An element of `N` words of 4 bytes.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
struct Words<const N: usize>([u32; N]);

impl<const N: usize> Add for Words<N> {
    type Output = Self;

    fn add(mut self, other: Self) -> Self {
        for i in 0..N {
            self.0[i] = self.0[i].wrapping_add(other.0[i]);
        }
        self
    }
}

impl<const N: usize> Zero for Words<N> {
    fn zero() -> Self {
        Words([0; N])
    }

    fn is_zero(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }
}

impl<const N: usize> Summand for Words<N> {
    type Acc = Self;

    #[inline(always)]
    fn to_acc(self) -> Self {
        self
    }

    #[inline(always)]
    fn from_acc(acc: Self) -> Self {
        acc
    }
}

/// A sum that is not known to be one, so that its terms are numbered.
struct OwnSum;

impl<const N: usize> Reduction<Words<N>> for OwnSum {
    const COMMUTATIVE: bool = true;

    type Acc = Words<N>;
    type Out = Words<N>;

    fn lift(&self, value: Words<N>) -> Words<N> {
        value
    }

    fn combine(&self, a: Words<N>, b: Words<N>) -> Words<N> {
        a + b
    }

    fn finish(&self, acc: Words<N>, _: usize) -> Words<N> {
        acc
    }

    fn of_none(&self) -> Option<Words<N>> {
        Some(Words::zero())
    }
}

/// The calls that are tried.
const CALLS: [&str; 21] = [
    "nothing",
    "materialize",
    "materialize_into",
    "map_by_reference",
    "map_by_value",
    "sum_last_axis",
    "sum_first_axis",
    "sum_all",
    "sum_strided",
    "sum_reversed",
    "accumulate",
    "zip_reduce",
    "materialize_few",
    "materialize_few_columns",
    "materialize_few_into",
    "sum_few",
    "sum_few_transposed",
    "reduce",
    "reduce_few",
    "fold",
    "position",
];

/// Arrays, which are made on another thread.
struct Arrays<const N: usize> {
    row: Array2<Words<N>>,
    full: Array3<Words<N>>,
    few: Array2<Words<N>>,
    out: Array3<Words<N>>,
}

impl<const N: usize> Arrays<N> {
    fn new() -> Self {
        // 2,100 terms and more for small elements, several blocks of a sum; 40 for large ones.
        let len = (2 << 20) / size_of::<Words<N>>() / 12;
        let len = len.clamp(40, 4_500);
        let element = |i: usize| Words([i as u32; N]);
        Arrays {
            row: Array::from_iter((0..4).map(element))
                .into_shape_with_order((1, 4))
                .unwrap(),
            full: Array::from_iter((0..len * 12).map(element))
                .into_shape_with_order((len, 3, 4))
                .unwrap(),
            few: Array::from_iter((0..6).map(element))
                .into_shape_with_order((3, 2))
                .unwrap(),
            out: Array::from_elem((len, 3, 4), element(0)),
        }
    }

    fn call(&mut self, call: &str) -> Result<(), BroadcastError> {
        let dim = self.full.raw_dim();
        let (len, _, _) = self.full.dim();
        match call {
            "nothing" => {}
            "materialize" => drop(self.row.broadcast_numpy(dim)?.materialize()?),
            "materialize_into" => self
                .row
                .broadcast_numpy(dim)?
                .materialize_into(&mut self.out)?,
            "map_by_reference" => {
                let zipped = zip((&self.full, &self.row));
                drop(zipped.map_collect_ref(|(a, b)| a.0[0].wrapping_add(b.0[0]))?);
            }
            "map_by_value" => {
                let sum =
                    zip((&self.full, &self.row)).map_collect(|(a, b)| a.0[0].wrapping_add(b.0[0]));
                drop(sum?);
            }
            "sum_last_axis" => drop(self.full.reduce_to_shape((len, 3, 1), Sum)?),
            "sum_first_axis" => drop(self.full.reduce_to_shape((3, 4), Sum)?),
            "sum_all" => drop(self.full.reduce_to_shape((), Sum)?),
            "sum_strided" => drop(
                self.full
                    .slice(s![.., .., ..;2])
                    .reduce_to_shape((len, 1, 1), Sum)?,
            ),
            "sum_reversed" => {
                let mut reversed = self.full.view();
                reversed.invert_axis(Axis(0));
                reversed.swap_axes(0, 2);
                drop(reversed.reduce_to_shape((4, 1, 1), Sum)?);
            }
            "accumulate" => {
                let plan = BroadcastPlan::numpy(self.row.raw_dim(), dim)?;
                plan.gradient_accumulate(&self.full, &mut self.row)?;
            }
            "zip_reduce" => {
                let plan = BroadcastPlan::numpy(self.row.raw_dim(), dim)?;
                let full = &self.full;
                drop(zip((full, full)).reduce(&plan, Sum, |(a, b)| a + b)?);
            }
            "materialize_few" => drop(self.few.t().materialize()?),
            "materialize_few_columns" => {
                let column = self.row.t();
                drop(column.broadcast_numpy((4, 4))?.materialize()?);
            }
            "materialize_few_into" => {
                let mut out = self.out.slice_mut(s![0, ..2, ..3]);
                self.few.t().materialize_into(&mut out)?;
            }
            "sum_few" => drop(self.few.reduce_to_shape((3, 1), Sum)?),
            // Up to 504 elements without gaps.
            "sum_few_transposed" => {
                let few = self.full.slice(s![..42.min(len), .., ..]);
                drop(few.t().reduce_to_shape((4, 1, 1), Sum)?);
            }
            "reduce" => drop(self.full.reduce_to_shape((3, 4), OwnSum)?),
            "reduce_few" => {
                let few = self.full.slice(s![..42.min(len), .., ..]);
                drop(few.t().reduce_to_shape((4, 1, 1), OwnSum)?);
            }
            "fold" => self.fold()?,
            "position" => drop(self.full.reduce_to_shape((3, 4), ArgMax)?),
            TOO_MUCH => use_much_stack(),
            other => panic!("no call {other}"),
        }
        Ok(())
    }

    /// A function of its own: its element is on the stack of no other call.
    #[inline(never)]
    fn fold(&self) -> Result<(), BroadcastError> {
        let fold = Fold::new(Words([0; N]), |a, b| a + b);
        self.full.reduce_to_shape((3, 4), fold).map(drop)
    }
}

fn run<const N: usize>(call: &str, stack: usize) {
    let mut arrays = Box::new(Arrays::<N>::new());
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(stack);
        let run = || arrays.call(call).unwrap();
        thread.spawn_scoped(scope, run).unwrap();
    });
}

/// Not a call of this crate: 1 MiB of stack.
const TOO_MUCH: &str = "too_much";

#[inline(never)]
fn use_much_stack() {
    std::hint::black_box([0_u8; 1 << 20]);
}

const SIZES: [usize; 8] = [4, 8, 16, 128, 1 << 10, 8 << 10, 32 << 10, 64 << 10];

fn run_size(size: usize, call: &str, stack: usize) {
    match size {
        4 => run::<1>(call, stack),
        8 => run::<2>(call, stack),
        16 => run::<4>(call, stack),
        128 => run::<32>(call, stack),
        1024 => run::<256>(call, stack),
        8192 => run::<2048>(call, stack),
        32_768 => run::<8192>(call, stack),
        _ => run::<16_384>(call, stack),
    }
}

const CHILD: &str = "STACK_TEST_CALL";

/// The program of a child; without its variable it does nothing.
#[test]
fn child() {
    let Ok(call) = std::env::var(CHILD) else {
        return;
    };
    let words: Vec<&str> = call.split(' ').collect();
    let number = |at: usize| words[at].parse().unwrap();
    run_size(number(1), words[0], number(2));
}

/// Whether a call on a thread with a stack of this many bytes ends well.
fn fits(call: &str, size: usize, stack: usize) -> bool {
    let status = process::command(&std::env::current_exe().unwrap())
        .args(["child", "--exact", "--test-threads=1"])
        .env(CHILD, format!("{call} {size} {stack}"))
        .env("RAYON_NUM_THREADS", "1")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.unwrap().success()
}

/// Additions and closures take elements by value, so some very large ones are on the stack.
#[test]
fn a_call_needs_little_stack_whatever_the_size_of_an_element() {
    let (least, elements) = match cfg!(debug_assertions) {
        true => (256 << 10, 32),
        false => (64 << 10, 8),
    };
    for call in CALLS {
        for size in SIZES {
            let stack = least.max(elements * size);
            assert!(
                fits(call, size, stack),
                "{call}, elements of {size} bytes: {stack} bytes"
            );
        }
    }
    assert!(!fits(TOO_MUCH, 8, 64 << 10), "the child notices nothing");
}

/// `STACK_TABLE=1 cargo test --test stack table -- --nocapture` prints what each call needs.
#[test]
fn table() {
    if std::env::var_os("STACK_TABLE").is_none() {
        return;
    }
    print!("{:18}", "KiB of stack");
    SIZES.iter().for_each(|size| print!("{size:8}"));
    println!();
    for call in CALLS {
        print!("{call:18}");
        for size in SIZES {
            let (mut low, mut high) = (0, 1 << 13);
            while high - low > 4 {
                let middle = (low + high) / 2;
                match fits(call, size, middle << 10) {
                    true => high = middle,
                    false => low = middle,
                }
            }
            print!("{high:8}");
        }
        println!();
    }
}
