//! ndarray without this crate: its operators and methods, and its parallel `Zip`.

use std::error::Error;

use ndarray::{
    Array, ArrayD, ArrayView, ArrayViewD, Axis, DimMax, Dimension, Ix1, Ix2, Ix3, Ix4, RemoveAxis,
    Zip,
};

use crate::Peer;
use crate::bench::{Bench, Check};
use crate::cases::{Elementwise, Gradient, Materialize};

/// `broadcast` and `to_owned`, `assign`, `+` and `sum_axis`.
pub(crate) struct Operators;

/// `Zip` on rayon.
pub(crate) struct ParallelZip;

/// Calls a function with the arrays converted to a static rank, which callers usually have.
macro_rules! with_rank {
    ($rank:expr, $call:ident, $bench:ident, $($array:ident),+) => {
        match $rank {
            1 => $call($bench, $($array.into_dimensionality::<Ix1>()?),+),
            2 => $call($bench, $($array.into_dimensionality::<Ix2>()?),+),
            3 => $call($bench, $($array.into_dimensionality::<Ix3>()?),+),
            4 => $call($bench, $($array.into_dimensionality::<Ix4>()?),+),
            _ => $call($bench, $($array),+),
        }
    };
}

impl Peer for Operators {
    fn materialize(&self, case: &Materialize, bench: &mut Bench) -> Result<(), Box<dyn Error>> {
        fn measure<D: Dimension>(
            bench: &mut Bench,
            view: ArrayView<f32, D>,
            mut out: Array<f32, D>,
        ) {
            let shape = out.raw_dim();
            bench.fresh(
                || view.broadcast(shape.clone()).map(|v| v.to_owned()),
                shown,
            );
            bench.into(&mut out, |out| out.assign(&view), elements);
        }
        let data = ArrayD::from_shape_vec(case.input.clone(), case.data())?;
        let (view, out) = (aligned(&data, case), ArrayD::zeros(case.out.clone()));
        with_rank!(case.out.len(), measure, bench, view, out);
        Ok(())
    }

    fn elementwise_add(&self, case: &Elementwise, bench: &mut Bench) -> Result<(), Box<dyn Error>> {
        fn measure<D: Dimension + DimMax<D, Output = D>>(
            bench: &mut Bench,
            a: Array<f32, D>,
            b: Array<f32, D>,
            mut out: Array<f32, D>,
        ) {
            bench.fresh(|| Some(&a + &b), shown);
            bench.into(
                &mut out,
                |out| {
                    let zip = Zip::from(out).and_broadcast(&a).and_broadcast(&b);
                    zip.for_each(|to, a, b| *to = a + b);
                },
                elements,
            );
        }
        let (a, b) = operands(case)?;
        let out = ArrayD::zeros(case.out());
        with_rank!(case.a.len(), measure, bench, a, b, out);
        Ok(())
    }

    fn gradient_sum(&self, case: &Gradient, bench: &mut Bench) -> Result<(), Box<dyn Error>> {
        fn one<D: RemoveAxis>(bench: &mut Bench, x: Array<f32, D>, axis: Axis) {
            bench.fresh(|| Some(x.sum_axis(axis)), shown);
        }
        let x = ArrayD::from_shape_vec(case.input.clone(), case.data())?;
        match (case.input.len(), case.sum.as_slice()) {
            (1, &[axis]) => one(bench, x.into_dimensionality::<Ix1>()?, Axis(axis)),
            (2, &[axis]) => one(bench, x.into_dimensionality::<Ix2>()?, Axis(axis)),
            (3, &[axis]) => one(bench, x.into_dimensionality::<Ix3>()?, Axis(axis)),
            (4, &[a, b, c]) => {
                let x = x.into_dimensionality::<Ix4>()?;
                let sum = || x.sum_axis(Axis(c)).sum_axis(Axis(b)).sum_axis(Axis(a));
                bench.fresh(|| Some(sum()), shown);
            }
            (rank, axes) => return Err(format!("no sum over {axes:?} of rank {rank}").into()),
        }
        Ok(())
    }
}

impl Peer for ParallelZip {
    fn materialize(&self, case: &Materialize, bench: &mut Bench) -> Result<(), Box<dyn Error>> {
        fn measure<D: Dimension>(
            bench: &mut Bench,
            view: ArrayView<f32, D>,
            mut out: Array<f32, D>,
        ) {
            let shape = out.raw_dim();
            bench.fresh(
                || {
                    view.broadcast(shape.clone())
                        .map(|v| Zip::from(v).par_map_collect(|&x| x))
                },
                shown,
            );
            bench.into(
                &mut out,
                |out| {
                    Zip::from(out)
                        .and_broadcast(&view)
                        .par_for_each(|to, &x| *to = x)
                },
                elements,
            );
        }
        let data = ArrayD::from_shape_vec(case.input.clone(), case.data())?;
        let (view, out) = (aligned(&data, case), ArrayD::zeros(case.out.clone()));
        with_rank!(case.out.len(), measure, bench, view, out);
        Ok(())
    }

    fn elementwise_add(&self, case: &Elementwise, bench: &mut Bench) -> Result<(), Box<dyn Error>> {
        fn measure<D: Dimension>(
            bench: &mut Bench,
            a: Array<f32, D>,
            b: Array<f32, D>,
            mut out: Array<f32, D>,
        ) {
            let shape = out.raw_dim();
            bench.fresh(
                || {
                    let a = a.broadcast(shape.clone())?;
                    Some(Zip::from(a).and_broadcast(&b).par_map_collect(|a, b| a + b))
                },
                shown,
            );
            bench.into(
                &mut out,
                |out| {
                    let zip = Zip::from(out).and_broadcast(&a).and_broadcast(&b);
                    zip.par_for_each(|to, a, b| *to = a + b);
                },
                elements,
            );
        }
        let (a, b) = operands(case)?;
        let out = ArrayD::zeros(case.out());
        with_rank!(case.a.len(), measure, bench, a, b, out);
        Ok(())
    }
}

/// The source with an axis of size 1 inserted for each other axis of the output.
fn aligned<'a>(data: &'a ArrayD<f32>, case: &Materialize) -> ArrayViewD<'a, f32> {
    let mut view = data.view();
    if case.transpose {
        view = view.reversed_axes();
    }
    for axis in 0..case.out.len() {
        if !case.axes.contains(&axis) {
            view = view.insert_axis(Axis(axis));
        }
    }
    view
}

fn operands(case: &Elementwise) -> Result<(ArrayD<f32>, ArrayD<f32>), Box<dyn Error>> {
    let (a, b) = case.data();
    let a = ArrayD::from_shape_vec(case.a.clone(), a)?;
    let mut b = ArrayD::from_shape_vec(case.b.clone(), b)?;
    for axis in 0..case.a.len() {
        if !case.b_axes.contains(&axis) {
            b = b.insert_axis(Axis(axis));
        }
    }
    Ok((a, b))
}

fn elements<D: Dimension>(array: &Array<f32, D>, check: &Check) {
    // `Zip` may collect into an array of another layout.
    let standard = array.as_standard_layout();
    if let Some(elements) = standard.as_slice() {
        check.elements(array.shape(), elements);
    }
}

fn shown<D: Dimension>(array: &Option<Array<f32, D>>, check: &Check) {
    if let Some(array) = array {
        elements(array, check);
    }
}
