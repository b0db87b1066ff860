//! This crate, on calls of models.

use std::error::Error;

use ndarray::{Array, Dimension, Ix2, Ix3, Ix4, Ix5, RemoveAxis};
use ndarray_broadcast::prelude::*;
use ndarray_broadcast::{Max, Reduction, Sum};
use num_traits::{AsPrimitive, Num};

use crate::bench::{Bench, Check};
use crate::models::{Call, Element, Model, value};

impl Model {
    /// Measures this crate.
    pub(crate) fn ours(&self, bench: &mut Bench) -> Result<(), Box<dyn Error>> {
        match self.element {
            Element::U8 => self.with_element::<u8, _>(bench, Sum.in_type::<i64, i64>()),
            Element::I64 => self.with_element::<i64, _>(bench, Sum),
            Element::F32 => self.with_element::<f32, _>(bench, Sum),
            Element::F64 => self.with_element::<f64, _>(bench, Sum),
        }
    }

    fn with_element<T: Number, S>(&self, bench: &mut Bench, sum: S) -> Result<(), Box<dyn Error>>
    where
        S: Reduction<T, Out: Number> + Copy,
        Max: Reduction<T, Out = T>,
    {
        // Static ranks, as callers usually have.
        match self.a.len() {
            2 => self.with_rank::<T, S, Ix2>(bench, sum),
            3 => self.with_rank::<T, S, Ix3>(bench, sum),
            4 => self.with_rank::<T, S, Ix4>(bench, sum),
            5 => self.with_rank::<T, S, Ix5>(bench, sum),
            rank => Err(format!("no static rank {rank}").into()),
        }
    }

    fn with_rank<T: Number, S, D: RemoveAxis>(
        &self,
        bench: &mut Bench,
        sum: S,
    ) -> Result<(), Box<dyn Error>>
    where
        S: Reduction<T, Out: Number> + Copy,
        Max: Reduction<T, Out = T>,
    {
        let a = array::<T, D>(&self.a)?;
        let shape = dimension::<D>(&self.out());
        let order = dimension::<D>(&self.order());
        let x = a.view().permuted_axes(order);
        match self.call {
            Call::Copy => measure(
                bench,
                || x.broadcast_bidirectional(shape.clone())?.materialize(),
                |to| {
                    x.broadcast_bidirectional(shape.clone())?
                        .materialize_into(to)
                },
            ),
            Call::Add => self.pair(bench, &a, |(x, y)| x + y),
            Call::Sub => self.pair(bench, &a, |(x, y)| x - y),
            Call::Mul => self.pair(bench, &a, |(x, y)| x * y),
            Call::Sum => reduce(bench, &a, shape, sum),
            Call::Max => reduce(bench, &a, shape, Max),
        }
    }

    fn pair<T: Number, D: Dimension>(
        &self,
        bench: &mut Bench,
        a: &Array<T, D>,
        f: impl Fn((T, T)) -> T + Copy + Sync,
    ) -> Result<(), Box<dyn Error>> {
        let b = array::<T, D>(&self.b)?;
        measure(
            bench,
            || zip((a, &b)).map(f),
            |to| zip((a, &b)).map_into(to, f),
        )
    }
}

fn reduce<T: Number, D: Dimension, R: Reduction<T, Out: Number> + Copy>(
    bench: &mut Bench,
    a: &Array<T, D>,
    shape: D,
    reduction: R,
) -> Result<(), Box<dyn Error>> {
    let plan = BroadcastPlan::numpy(shape, a.raw_dim())?;
    measure(
        bench,
        || plan.reduce(a, reduction),
        |to| plan.reduce_into(a, reduction, to),
    )
}

/// What the calls need of an element.
trait Number: Num + Default + Send + Sync + AsPrimitive<f64> {
    fn from_u8(n: u8) -> Self;
}

macro_rules! number {
    ($($t:ty)*) => {$(
        impl Number for $t {
            fn from_u8(n: u8) -> Self {
                n.into()
            }
        }
    )*};
}

number!(u8 i64 f32 f64);

fn measure<T: Number, D: Dimension, E: Error + 'static>(
    bench: &mut Bench,
    fresh: impl Fn() -> Result<Array<T, D>, E>,
    into: impl Fn(&mut Array<T, D>) -> Result<(), E>,
) -> Result<(), Box<dyn Error>> {
    let shown = |array: &Array<T, D>, check: &Check| {
        if let Some(elements) = array.as_slice() {
            check.numbers(array.shape(), elements.len(), |i| elements[i].as_());
        }
    };
    let mut to = Array::default(fresh()?.raw_dim());
    bench.fresh(&fresh, |array, check| {
        if let Ok(array) = array {
            shown(array, check);
        }
    });
    // An error leaves zeros in `to`, and the check fails.
    bench.into(&mut to, |to| drop(into(to)), shown);
    Ok(())
}

fn array<T: Number, D: Dimension>(shape: &[usize]) -> Result<Array<T, D>, Box<dyn Error>> {
    let data = (0..shape.iter().product())
        .map(|i| T::from_u8(value(i)))
        .collect();
    Ok(Array::from_shape_vec(dimension::<D>(shape), data)?)
}

fn dimension<D: Dimension>(sizes: &[usize]) -> D {
    let mut d = D::zeros(sizes.len());
    d.slice_mut().copy_from_slice(sizes);
    d
}
