//! This crate.

use std::error::Error;

use half::f16;
use ndarray::{Array, ArrayD, DimMax, Dimension, Ix0, Ix1, Ix2, Ix3, Ix4, Ix5};
use ndarray_broadcast::prelude::*;
use ndarray_broadcast::reduction::Reduction;
use num_traits::AsPrimitive;

use crate::Peer;
use crate::bench::Bench;
use crate::calls::{Call, CallCase, Element, Number, dimension, serve};
use crate::cases::Materialize;

pub(crate) struct Ours;

impl Peer for Ours {
    fn materialize(&self, case: &Materialize, bench: &Bench) -> Result<(), Box<dyn Error>> {
        // Static ranks, as callers usually have.
        macro_rules! measure {
            ($rank:ty, $out:expr) => {{
                let data = ArrayD::from_shape_vec(case.input.clone(), case.data())?
                    .into_dimensionality::<$rank>()?;
                let source = if case.transpose {
                    data.t()
                } else {
                    data.view()
                };
                let (shape, axes) = ($out, case.axes.as_slice());
                serve(
                    bench,
                    Array::zeros(shape),
                    || source.broadcast_explicit(shape, axes)?.materialize(),
                    |to| source.broadcast_explicit(shape, axes)?.materialize_into(to),
                );
            }};
        }
        match (case.input.len(), case.out.as_slice()) {
            (0, &[a]) => measure!(Ix0, [a]),
            (1, &[a, b]) => measure!(Ix1, [a, b]),
            (1, &[a, b, c, d]) => measure!(Ix1, [a, b, c, d]),
            (2, &[a, b, c]) => measure!(Ix2, [a, b, c]),
            (2, &[a, b, c, d]) => measure!(Ix2, [a, b, c, d]),
            (3, &[a, b, c]) => measure!(Ix3, [a, b, c]),
            (3, &[a, b, c, d]) => measure!(Ix3, [a, b, c, d]),
            (input, out) => return Err(format!("no static ranks {input} to {}", out.len()).into()),
        }
        Ok(())
    }

    // Only what the cases need of each element type is compiled.
    fn call(&self, case: &CallCase, bench: &Bench) -> Result<(), Box<dyn Error>> {
        match (case.element, case.is_reduction()) {
            (Element::F32, false) => map_floats::<f32>(case, bench),
            (Element::F64, false) => map_floats::<f64>(case, bench),
            (Element::U8, false) => map::<u8>(case, bench),
            (Element::I64, false) => map::<i64>(case, bench),
            (Element::F16, false) => Err("no maps of f16".into()),
            (Element::F32, true) => reduce_singles(case, bench),
            (Element::F64, true) => reduce_floats::<f64>(case, bench),
            (Element::U8, true) => reduce::<u8>(case, bench),
            (Element::I64, true) => reduce::<i64>(case, bench),
            (Element::F16, true) => reduce::<f16>(case, bench),
        }
    }
}

/// The reductions that are named by `Sum` and `Mean` for an element type.
trait Summed: Number {
    type Sum: Reduction<Self, Out: AsPrimitive<f64> + Default> + Copy + Default;
    type Mean: Reduction<Self, Out: AsPrimitive<f64> + Default> + Copy + Default;
}

macro_rules! summed {
    ($($t:ty: $sum:ty, $mean:ty;)*) => {$(
        impl Summed for $t {
            type Sum = $sum;
            type Mean = $mean;
        }
    )*};
}

summed! {
    u8: SumIn<i64, i64>, MeanIn<f64, f64>;
    i64: Sum, MeanIn<f64, f64>;
    f16: SumIn<f32, f16>, MeanIn<f32, f16>;
    f32: Sum, Mean;
    f64: Sum, Mean;
}

/// Calls a function with the static rank of the operands, as callers usually have.
macro_rules! with_rank {
    ($case:expr, $function:ident, $t:ty, $($argument:expr),+) => {
        match $case.a.len() {
            2 => $function::<$t, Ix2>($case, $($argument),+),
            3 => $function::<$t, Ix3>($case, $($argument),+),
            4 => $function::<$t, Ix4>($case, $($argument),+),
            5 => $function::<$t, Ix5>($case, $($argument),+),
            rank => return Err(format!("no static rank {rank}").into()),
        }
    };
}

/// The same with the rank of the result too.
macro_rules! with_ranks {
    ($case:expr, $function:ident, $t:ty, $($argument:expr),+) => {
        match ($case.a.len(), $case.kept().len()) {
            (1, 0) => $function::<$t, Ix1, Ix0>($case, $($argument),+),
            (2, 0) => $function::<$t, Ix2, Ix0>($case, $($argument),+),
            (2, 1) => $function::<$t, Ix2, Ix1>($case, $($argument),+),
            (3, 0) => $function::<$t, Ix3, Ix0>($case, $($argument),+),
            (3, 1) => $function::<$t, Ix3, Ix1>($case, $($argument),+),
            (3, 2) => $function::<$t, Ix3, Ix2>($case, $($argument),+),
            (4, 0) => $function::<$t, Ix4, Ix0>($case, $($argument),+),
            (4, 1) => $function::<$t, Ix4, Ix1>($case, $($argument),+),
            (4, 2) => $function::<$t, Ix4, Ix2>($case, $($argument),+),
            (4, 3) => $function::<$t, Ix4, Ix3>($case, $($argument),+),
            (5, 3) => $function::<$t, Ix5, Ix3>($case, $($argument),+),
            (a, kept) => Err(format!("no static ranks {a} to {kept}").into()),
        }
    };
}

fn map_floats<T: Number>(case: &CallCase, bench: &Bench) -> Result<(), Box<dyn Error>> {
    match case.call {
        Call::Sub => with_rank!(case, pair, T, bench, |(x, y)| x - y),
        Call::Mul => with_rank!(case, pair, T, bench, |(x, y)| x * y),
        Call::MulAdd => multiply_add::<T, Ix2>(case, bench),
        _ => return map::<T>(case, bench),
    }
    Ok(())
}

fn map<T: Number>(case: &CallCase, bench: &Bench) -> Result<(), Box<dyn Error>> {
    match case.call {
        Call::Copy => with_rank!(case, copy, T, bench),
        Call::Add => with_rank!(case, pair, T, bench, |(x, y)| x + y),
        _ => return Err("not compiled for this type".into()),
    }
    Ok(())
}

fn copy<T: Number, D: Dimension>(case: &CallCase, bench: &Bench) {
    let a = case.array::<T, D>(0);
    let shape = dimension::<D>(&case.out());
    let x = a.view().permuted_axes(dimension::<D>(&case.order()));
    serve(
        bench,
        Array::default(shape.clone()),
        || x.broadcast_bidirectional(shape.clone())?.materialize(),
        |to| {
            x.broadcast_bidirectional(shape.clone())?
                .materialize_into(to)
        },
    );
}

fn pair<T: Number, D: Dimension>(
    case: &CallCase,
    bench: &Bench,
    f: impl Fn((T, T)) -> T + Copy + Sync,
) {
    let (a, b) = (&case.array::<T, D>(0), &case.array::<T, D>(1));
    serve(
        bench,
        case.zeros(&case.out()),
        || zip((a, b)).map_collect(f),
        |to| zip((a, b)).map_assign_into(to, f),
    );
}

fn multiply_add<T: Number, D: Dimension>(case: &CallCase, bench: &Bench) {
    let array = |operand| case.array::<T, D>(operand);
    let (x, a, b) = (&array(0), &array(1), &array(2));
    let f = |(x, a, b): (T, T, T)| x * a + b;
    serve(
        bench,
        case.zeros(&case.out()),
        || zip((x, a, b)).map_collect(f),
        |to| zip((x, a, b)).map_assign_into(to, f),
    );
}

fn reduce_singles(case: &CallCase, bench: &Bench) -> Result<(), Box<dyn Error>> {
    match case.call {
        Call::Var => with_ranks!(case, reduction, f32, bench, Var::new()),
        Call::LogSumExp => with_ranks!(case, reduction, f32, bench, LogSumExp),
        Call::NanSum => with_ranks!(case, reduction, f32, bench, NanSum),
        Call::NanMean => with_ranks!(case, reduction, f32, bench, NanMean),
        Call::Count => with_ranks!(case, reduction, f32, bench, Count),
        Call::L2 => with_ranks!(case, reduction, f32, bench, L2),
        _ => reduce_floats::<f32>(case, bench),
    }
}

fn reduce_floats<T: Summed>(case: &CallCase, bench: &Bench) -> Result<(), Box<dyn Error>> {
    match case.call {
        Call::Mean => with_ranks!(case, reduction, T, bench, T::Mean::default()),
        Call::Product2 => with_ranks!(case, product2, T, bench),
        Call::Product3 => product3::<T, Ix2, Ix1>(case, bench),
        _ => reduce::<T>(case, bench),
    }
}

fn reduce<T: Summed>(case: &CallCase, bench: &Bench) -> Result<(), Box<dyn Error>> {
    match case.call {
        Call::Sum => with_ranks!(case, reduction, T, bench, T::Sum::default()),
        Call::Mean => reduction::<T, Ix2, Ix1>(case, bench, T::Mean::default()),
        Call::Max => with_ranks!(case, reduction, T, bench, Max),
        Call::ArgMax => with_ranks!(case, reduction, T, bench, ArgMax),
        _ => Err("not compiled for this type".into()),
    }
}

fn reduction<T: Number, D: Dimension, K: Dimension + DimMax<D, Output = D>>(
    case: &CallCase,
    bench: &Bench,
    reduction: impl Reduction<T, Out: AsPrimitive<f64> + Default> + Copy,
) -> Result<(), Box<dyn Error>> {
    let (a, plan) = (&case.array::<T, D>(0), plan::<K, D>(case)?);
    serve(
        bench,
        Array::default(plan.input_dim()),
        || plan.reduce(a, reduction),
        |to| plan.reduce_into(a, reduction, to),
    );
    Ok(())
}

fn product2<T: Number, D: Dimension, K: Dimension + DimMax<D, Output = D>>(
    case: &CallCase,
    bench: &Bench,
) -> Result<(), Box<dyn Error>> {
    let (a, b) = (&case.array::<T, D>(0), &case.array::<T, D>(1));
    let plan = plan::<K, D>(case)?;
    serve(
        bench,
        Array::default(plan.input_dim()),
        || zip((a, b)).reduce(&plan, Sum, |(a, b)| a * b),
        |to| zip((a, b)).reduce_into(&plan, Sum, to, |(a, b)| a * b),
    );
    Ok(())
}

fn product3<T: Number, D: Dimension, K: Dimension + DimMax<D, Output = D>>(
    case: &CallCase,
    bench: &Bench,
) -> Result<(), Box<dyn Error>> {
    let array = |operand| case.array::<T, D>(operand);
    let (a, b, c, plan) = (&array(0), &array(1), &array(2), plan::<K, D>(case)?);
    serve(
        bench,
        Array::default(plan.input_dim()),
        || zip((a, b, c)).reduce(&plan, Sum, |(a, b, c)| a * b * c),
        |to| zip((a, b, c)).reduce_into(&plan, Sum, to, |(a, b, c)| a * b * c),
    );
    Ok(())
}

fn plan<K: Dimension + DimMax<D, Output = D>, D: Dimension>(
    case: &CallCase,
) -> Result<BroadcastPlan<K, D>, BroadcastError> {
    let (kept, all) = (dimension::<K>(&case.out()), dimension::<D>(&case.a));
    BroadcastPlan::explicit(kept, all, &case.kept())
}
