//! Calls on arrays of 1 to 4096 `f32`, compared with ndarray. Here the call itself is the cost, not
//! the memory.
//!
//! `cargo bench --bench small` prints a table of nanoseconds: the mean time of a call in the
//! fastest of 200 batches. The batches of this crate and of ndarray alternate. A filter, as in
//! `cargo bench --bench small -- sum`, selects calls.

mod common;

use common::timed_together;
use ndarray::{Array1, Array2, ArrayView1, Axis, Ix2, Zip, arr0};
use ndarray_broadcast::prelude::*;
use std::hint::black_box;
use std::time::Duration;

/// Sides of the square arrays.
const SIDES: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];

const BATCHES: usize = 200;

/// The table that is printed: the rows whose names contain `filter`, or all.
struct Table {
    filter: Option<String>,
}

impl Table {
    /// Prints the times of `ours` and of `ndarray` at each size.
    fn row<A, B>(
        &self,
        name: &str,
        mut ours: impl FnMut(&Arrays) -> A,
        mut ndarray: impl FnMut(&Arrays) -> B,
    ) {
        if self
            .filter
            .as_ref()
            .is_some_and(|part| !name.contains(part))
        {
            return;
        }
        print!("| {name} |");
        for side in SIDES {
            let arrays = &Arrays::new(side);
            let (mut our_time, mut their_time) = (Duration::MAX, Duration::MAX);
            // A batch takes some 10 to 100 microseconds.
            let calls = 100_000 / (100 + side * side) as u32;
            for _ in 0..BATCHES {
                our_time = our_time.min(timed_together(calls, || ours(black_box(arrays))));
                their_time = their_time.min(timed_together(calls, || ndarray(black_box(arrays))));
            }
            print!(" {} / {} |", our_time.as_nanos(), their_time.as_nanos());
        }
        println!();
    }
}

/// A square array, a row and a column of it.
struct Arrays {
    square: Array2<f32>,
    row: Array1<f32>,
    column: Array2<f32>,
}

impl Arrays {
    fn new(side: usize) -> Self {
        let square = Array2::from_shape_fn((side, side), |(i, j)| (i * 7 + j) as f32);
        Arrays {
            row: square.row(0).to_owned(),
            column: square.column(0).insert_axis(Axis(1)).to_owned(),
            square,
        }
    }

    fn shape(&self) -> Ix2 {
        self.square.raw_dim()
    }
}

fn main() {
    // Cargo adds `--bench`.
    let filter = std::env::args().skip(1).find(|arg| !arg.starts_with("--"));
    let table = Table { filter };
    println!("Nanoseconds, this crate / ndarray\n");
    let columns: String = SIDES.map(|side| format!(" {side} x {side} |")).concat();
    println!("| call |{columns}\n|---|{}", "---:|".repeat(SIDES.len()));

    table.row(
        "copy of a row",
        |a| {
            let view = a.row.broadcast_numpy(a.shape()).unwrap();
            view.materialize().unwrap()
        },
        |a| a.row.broadcast(a.shape()).unwrap().to_owned(),
    );
    table.row(
        "copy of a column",
        |a| {
            let view = a.column.broadcast_numpy(a.shape()).unwrap();
            view.materialize().unwrap()
        },
        |a| a.column.broadcast(a.shape()).unwrap().to_owned(),
    );
    let [mut out, mut theirs] = [const { None }; 2];
    table.row(
        "copy of a row, into",
        |a| {
            let out = sized(&mut out, a);
            let view = a.row.broadcast_numpy(a.shape()).unwrap();
            view.materialize_into(out).unwrap();
        },
        |a| sized(&mut theirs, a).assign(&a.row.broadcast(a.shape()).unwrap()),
    );
    let [mut out, mut theirs] = [const { None }; 2];
    table.row(
        "copy of a column, into",
        |a| {
            let out = sized(&mut out, a);
            let view = a.column.broadcast_numpy(a.shape()).unwrap();
            view.materialize_into(out).unwrap();
        },
        |a| sized(&mut theirs, a).assign(&a.column.broadcast(a.shape()).unwrap()),
    );
    table.row(
        "square + row",
        |a| {
            zip((&a.square, &a.row))
                .map_collect(|(x, y)| x + y)
                .unwrap()
        },
        |a| &a.square + &a.row,
    );
    table.row(
        "square + column",
        |a| {
            zip((&a.square, &a.column))
                .map_collect(|(x, y)| x + y)
                .unwrap()
        },
        |a| &a.square + &a.column,
    );
    let [mut out, mut theirs] = [const { None }; 2];
    table.row(
        "square + row, into",
        |a| {
            let out = sized(&mut out, a);
            zip((&a.square, &a.row))
                .map_assign_into(out, |(x, y)| x + y)
                .unwrap();
        },
        |a| {
            let row = a.row.broadcast(a.shape()).unwrap();
            let zip = Zip::from(sized(&mut theirs, a)).and(&a.square).and(&row);
            zip.for_each(|out, x, y| *out = x + y);
        },
    );
    table.row(
        "sum of rows",
        |a| a.square.reduce_to_shape(a.row.raw_dim(), Sum).unwrap(),
        |a| a.square.sum_axis(Axis(0)),
    );
    table.row(
        "sum of columns",
        |a| a.square.reduce_to_shape(a.column.raw_dim(), Sum).unwrap(),
        |a| a.square.sum_axis(Axis(1)).insert_axis(Axis(1)),
    );
    table.row(
        "sum of rows of products",
        |a| {
            let plan = BroadcastPlan::numpy(a.row.raw_dim(), a.shape()).unwrap();
            let squares = (&a.square, &a.square);
            zip(squares).reduce(&plan, Sum, |(x, y)| x * y).unwrap()
        },
        |a| (&a.square * &a.square).sum_axis(Axis(0)),
    );
    table.row(
        "sum of columns in f64",
        |a| {
            let sum = Sum.in_type::<f64, f32>();
            a.square.reduce_to_shape(a.column.raw_dim(), sum).unwrap()
        },
        |a| {
            let sum = |row: ArrayView1<'_, f32>| row.iter().map(|&x| f64::from(x)).sum::<f64>();
            a.square.map_axis(Axis(1), |row| sum(row) as f32)
        },
    );
    table.row(
        "positions of maxima of columns",
        |a| {
            a.square
                .reduce_to_shape(a.column.raw_dim(), ArgMax)
                .unwrap()
        },
        |a| {
            let later =
                |row: &ArrayView1<'_, f32>, best, i| if row[i] > row[best] { i } else { best };
            a.square.map_axis(Axis(1), |row| {
                (0..row.len()).fold(0, |best, i| later(&row, best, i))
            })
        },
    );
    table.row(
        "sum of all",
        |a| a.square.reduce_to_shape((), Sum).unwrap(),
        |a| arr0(a.square.sum()),
    );
    table.row(
        "sum of rows, transposed",
        |a| a.square.t().reduce_to_shape(a.row.raw_dim(), Sum).unwrap(),
        |a| a.square.t().sum_axis(Axis(0)),
    );
}

/// The array in `out`, or a new one if it does not have the size of `arrays`.
fn sized<'o>(out: &'o mut Option<Array2<f32>>, arrays: &Arrays) -> &'o mut Array2<f32> {
    if out
        .as_ref()
        .is_none_or(|out| out.raw_dim() != arrays.shape())
    {
        *out = Some(Array2::zeros(arrays.shape()));
    }
    out.as_mut().expect("made above")
}
