//! ndarray without this crate: its operators and methods, and its parallel `Zip`.

use std::error::Error;

use ndarray::{
    Array, ArrayD, ArrayView, ArrayViewD, Axis, DimMax, Dimension, Ix1, Ix2, Ix3, Ix4, Ix5,
    RemoveAxis, Zip,
};
use num_traits::{AsPrimitive, FromPrimitive};

use crate::Peer;
use crate::bench::{Bench, Check};
use crate::calls::{Call, CallCase, Element, Number, dimension, elements};
use crate::cases::Materialize;

/// `broadcast` and `as_standard_layout`, `assign`, `+`, `sum_axis`, `mean_axis`.
pub(crate) struct Operators;

/// `Zip` on rayon.
pub(crate) struct ParallelZip;

impl Peer for Operators {
    fn materialize(&self, case: &Materialize, bench: &Bench) -> Result<(), Box<dyn Error>> {
        materialize::<false>(case, bench)
    }

    fn call(&self, case: &CallCase, bench: &Bench) -> Result<(), Box<dyn Error>> {
        with_element::<false>(case, bench)
    }
}

impl Peer for ParallelZip {
    fn materialize(&self, case: &Materialize, bench: &Bench) -> Result<(), Box<dyn Error>> {
        materialize::<true>(case, bench)
    }

    fn call(&self, case: &CallCase, bench: &Bench) -> Result<(), Box<dyn Error>> {
        if case.is_reduction() {
            return Ok(());
        }
        with_element::<true>(case, bench)
    }
}

// Static ranks, as callers usually have.

fn materialize<const PARALLEL: bool>(
    case: &Materialize,
    bench: &Bench,
) -> Result<(), Box<dyn Error>> {
    let data = ArrayD::from_shape_vec(case.input.clone(), case.data())?;
    // An axis of size 1 is inserted for each other axis of the output.
    let mut view: ArrayViewD<f32> = data.view();
    if case.transpose {
        view = view.reversed_axes();
    }
    for axis in 0..case.out.len() {
        if !case.axes.contains(&axis) {
            view = view.insert_axis(Axis(axis));
        }
    }
    let out = ArrayD::zeros(case.out.clone());
    match case.out.len() {
        1 => copy::<f32, Ix1, PARALLEL>(
            bench,
            view.into_dimensionality()?,
            out.into_dimensionality()?,
        ),
        2 => copy::<f32, Ix2, PARALLEL>(
            bench,
            view.into_dimensionality()?,
            out.into_dimensionality()?,
        ),
        3 => copy::<f32, Ix3, PARALLEL>(
            bench,
            view.into_dimensionality()?,
            out.into_dimensionality()?,
        ),
        4 => copy::<f32, Ix4, PARALLEL>(
            bench,
            view.into_dimensionality()?,
            out.into_dimensionality()?,
        ),
        rank => return Err(format!("no static rank {rank}").into()),
    }
    Ok(())
}

fn with_element<const PARALLEL: bool>(
    case: &CallCase,
    bench: &Bench,
) -> Result<(), Box<dyn Error>> {
    match case.element {
        Element::I64 if !PARALLEL => with_rank::<i64, false>(case, bench),
        Element::F32 => with_rank::<f32, PARALLEL>(case, bench),
        Element::F64 => with_rank::<f64, PARALLEL>(case, bench),
        // A sum of u8 or f16 would be in the type of the terms, which overflows.
        _ => Ok(()),
    }
}

fn with_rank<T: Number + FromPrimitive, const PARALLEL: bool>(
    case: &CallCase,
    bench: &Bench,
) -> Result<(), Box<dyn Error>> {
    match case.a.len() {
        1 => call::<T, Ix1, PARALLEL>(case, bench),
        2 => call::<T, Ix2, PARALLEL>(case, bench),
        3 => call::<T, Ix3, PARALLEL>(case, bench),
        4 => call::<T, Ix4, PARALLEL>(case, bench),
        5 => call::<T, Ix5, PARALLEL>(case, bench),
        rank => return Err(format!("no static rank {rank}").into()),
    }
    Ok(())
}

fn call<T, D, const PARALLEL: bool>(case: &CallCase, bench: &Bench)
where
    T: Number + FromPrimitive,
    D: RemoveAxis + DimMax<D, Output = D>,
{
    match case.call {
        _ if case.is_reduction() => reduction(case, bench, &case.array::<T, D>(0)),
        Call::Copy => {
            let a = case.array::<T, D>(0);
            let view = a.view().permuted_axes(dimension::<D>(&case.order()));
            let out = Array::default(dimension::<D>(&case.out()));
            copy::<T, D, PARALLEL>(bench, view, out);
        }
        Call::Add => pair::<T, D, PARALLEL>(case, bench, |a, b| a + b, |&a, &b| a + b),
        Call::Sub => pair::<T, D, PARALLEL>(case, bench, |a, b| a - b, |&a, &b| a - b),
        Call::Mul => pair::<T, D, PARALLEL>(case, bench, |a, b| a * b, |&a, &b| a * b),
        _ => {
            let (x, a, b) = (
                &case.array::<T, D>(0),
                &case.array::<T, D>(1),
                &case.array::<T, D>(2),
            );
            if !PARALLEL {
                bench.fresh(|| Some(x * a + b), shown);
            }
            let into = |to: &mut Array<T, D>| {
                let zip = Zip::from(to).and(x).and_broadcast(a).and_broadcast(b);
                let f = |to: &mut T, &x: &T, &a: &T, &b: &T| *to = x * a + b;
                if PARALLEL {
                    zip.par_for_each(f);
                } else {
                    zip.for_each(f);
                }
            };
            bench.into(&mut case.zeros(&case.out()), into, elements);
        }
    }
}

fn copy<T: Number, D: Dimension, const PARALLEL: bool>(
    bench: &Bench,
    view: ArrayView<T, D>,
    mut out: Array<T, D>,
) {
    let shape = out.raw_dim();
    let fresh = || {
        let view = view.broadcast(shape.clone())?;
        Some(if PARALLEL {
            Zip::from(view).par_map_collect(|&x| x)
        } else {
            // `to_owned` keeps the order in memory: a transposed array would not be transposed.
            view.as_standard_layout().into_owned()
        })
    };
    bench.fresh(fresh, shown);
    let into = |out: &mut Array<T, D>| {
        if PARALLEL {
            let zip = Zip::from(out).and_broadcast(&view);
            zip.par_for_each(|to, &x| *to = x);
        } else {
            out.assign(&view);
        }
    };
    bench.into(&mut out, into, elements);
}

/// `operator` is that of arrays, `f` that of elements.
fn pair<T: Number, D: Dimension + DimMax<D, Output = D>, const PARALLEL: bool>(
    case: &CallCase,
    bench: &Bench,
    operator: impl Fn(&Array<T, D>, &Array<T, D>) -> Array<T, D>,
    f: impl Fn(&T, &T) -> T + Copy + Send + Sync,
) {
    let (a, b) = (&case.array::<T, D>(0), &case.array::<T, D>(1));
    let shape = dimension::<D>(&case.out());
    let fresh = || {
        if !PARALLEL {
            return Some(operator(a, b));
        }
        let a = a.broadcast(shape.clone())?;
        Some(Zip::from(a).and_broadcast(b).par_map_collect(f))
    };
    bench.fresh(fresh, shown);
    let into = |to: &mut Array<T, D>| {
        let zip = Zip::from(to).and_broadcast(a).and_broadcast(b);
        if PARALLEL {
            zip.par_for_each(|to, a, b| *to = f(a, b));
        } else {
            zip.for_each(|to, a, b| *to = f(a, b));
        }
    };
    bench.into(&mut case.zeros(&case.out()), into, elements);
}

/// Sums and means. ndarray has no maximum, position or product along an axis.
fn reduction<T: Number + FromPrimitive, D: RemoveAxis>(
    case: &CallCase,
    bench: &Bench,
    x: &Array<T, D>,
) {
    let Some((&last, others)) = case.axes.split_last() else {
        return;
    };
    let last = Axis(last);
    let scalar = |x: &Option<T>, check: &Check| {
        if let Some(x) = x {
            check.elements(&[], |_| x.as_());
        }
    };
    let all = case.kept().is_empty();
    match (case.call, others) {
        (Call::Sum, _) if all => bench.fresh(|| Some(x.sum()), scalar),
        (Call::Mean, _) if all => bench.fresh(|| x.mean(), scalar),
        (Call::Sum, []) => bench.fresh(|| Some(x.sum_axis(last)), shown),
        (Call::Mean, []) => bench.fresh(|| x.mean_axis(last), shown),
        (Call::Sum, _) => {
            let add = |sum: ArrayD<T>, &axis: &usize| sum.sum_axis(Axis(axis));
            let sum = || others.iter().rev().fold(x.sum_axis(last).into_dyn(), add);
            bench.fresh(|| Some(sum()), shown);
        }
        (Call::Mean, _) => {
            let add = |mean: ArrayD<T>, &axis: &usize| mean.mean_axis(Axis(axis));
            let first = || Some(x.mean_axis(last)?.into_dyn());
            bench.fresh(|| others.iter().rev().try_fold(first()?, add), shown);
        }
        _ => {}
    }
}

fn shown<T: AsPrimitive<f64>, D: Dimension>(array: &Option<Array<T, D>>, check: &Check) {
    if let Some(array) = array {
        elements(array, check);
    }
}
