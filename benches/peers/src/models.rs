//! Calls of models: masks, grouped queries, rotary embedding, norms, images, pairwise differences.

use std::error::Error;

use ndarray::{Array, Dimension, Ix2, Ix3, Ix4, Ix5, RemoveAxis};
use ndarray_broadcast::prelude::*;
use ndarray_broadcast::{Max, Reduction, Sum};
use num_traits::{AsPrimitive, Num};
use serde::Deserialize;

use crate::bench::{Bench, Check};
use crate::cases::{offset, unravel};

/// `call` of `a`, and of `b` if the call has two operands. All shapes have one rank.
#[derive(Clone, Deserialize)]
pub(crate) struct Model {
    pub(crate) name: String,
    call: Call,
    #[serde(rename = "type", default)]
    element: Element,
    a: Vec<usize>,
    #[serde(default)]
    b: Vec<usize>,
    /// A copy's shape, to which the permuted `a` is broadcast. Absent: no broadcast.
    #[serde(default)]
    out: Vec<usize>,
    /// The order of `a`'s axes in which a copy reads them. Absent: the given order.
    #[serde(default)]
    permute: Vec<usize>,
    /// The axes that a sum or a maximum reduces to size 1.
    #[serde(default)]
    axes: Vec<usize>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Call {
    Copy,
    Add,
    Sub,
    Mul,
    Sum,
    Max,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Element {
    U8,
    I64,
    #[default]
    F32,
    F64,
}

impl Model {
    pub(crate) fn out(&self) -> Vec<usize> {
        match self.call {
            Call::Copy if !self.out.is_empty() => self.out.clone(),
            Call::Copy => self.order().iter().map(|&axis| self.a[axis]).collect(),
            Call::Sum | Call::Max => {
                let size = |(axis, &n)| if self.axes.contains(&axis) { 1 } else { n };
                self.a.iter().enumerate().map(size).collect()
            }
            _ => self
                .a
                .iter()
                .zip(&self.b)
                .map(|(&a, &b)| if a == 1 { b } else { a })
                .collect(),
        }
    }

    fn order(&self) -> Vec<usize> {
        match self.permute.as_slice() {
            [] => (0..self.a.len()).collect(),
            order => order.to_vec(),
        }
    }

    /// The expected element at an index, and the relative tolerance.
    pub(crate) fn expected(&self, index: &[usize]) -> (f64, f64) {
        let at = |shape: &[usize], index: &[usize]| value(offset(shape, index)) as f64;
        match self.call {
            Call::Copy => {
                let mut source = vec![0; self.a.len()];
                for (&axis, &i) in self.order().iter().zip(index) {
                    source[axis] = i;
                }
                (at(&self.a, &source), 0.0)
            }
            Call::Add => (at(&self.a, index) + at(&self.b, index), 0.0),
            Call::Sub => (at(&self.a, index) - at(&self.b, index), 0.0),
            Call::Mul => (at(&self.a, index) * at(&self.b, index), 0.0),
            Call::Sum => (self.terms(index).sum(), 1e-2),
            Call::Max => (self.terms(index).fold(0.0, f64::max), 0.0),
        }
    }

    /// The elements that are reduced to the one at `index`.
    fn terms(&self, index: &[usize]) -> impl Iterator<Item = f64> {
        let sizes: Vec<usize> = self.axes.iter().map(|&axis| self.a[axis]).collect();
        let (shape, axes, mut full) = (self.a.clone(), self.axes.clone(), index.to_vec());
        (0..sizes.iter().product()).map(move |flat| {
            for (&axis, i) in axes.iter().zip(unravel(&sizes, flat)) {
                full[axis] = i;
            }
            value(offset(&shape, &full)) as f64
        })
    }

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
            Call::Sum => {
                let plan = BroadcastPlan::numpy(shape, a.raw_dim())?;
                measure(
                    bench,
                    || plan.reduce(&a, sum),
                    |to| plan.reduce_into(&a, sum, to),
                )
            }
            Call::Max => {
                let plan = BroadcastPlan::numpy(shape, a.raw_dim())?;
                measure(
                    bench,
                    || plan.reduce(&a, Max),
                    |to| plan.reduce_into(&a, Max, to),
                )
            }
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

/// Element `i` of every array: small enough for products of `u8`.
fn value(i: usize) -> u8 {
    (i % 13 + 1) as u8
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
