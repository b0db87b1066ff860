//! This crate.

use std::error::Error;

use ndarray::{Array, ArrayD, Dimension, Ix0, Ix1, Ix2, Ix3, Ix4};
use ndarray_broadcast::prelude::*;

use crate::Peer;
use crate::bench::{Bench, Check};
use crate::cases::{Elementwise, Gradient, Materialize};
use crate::models::Model;

pub(crate) struct Ours;

impl Peer for Ours {
    fn materialize(&self, case: &Materialize, bench: &mut Bench) -> Result<(), Box<dyn Error>> {
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
                bench.fresh(
                    || source.broadcast_explicit(shape, axes)?.materialize(),
                    shown,
                );
                let mut to = Array::zeros(shape);
                bench.into(
                    &mut to,
                    |to| {
                        // An error leaves zeros in `to`, and the check fails.
                        let _ = source
                            .broadcast_explicit(shape, axes)
                            .and_then(|view| view.materialize_into(to));
                    },
                    elements,
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

    fn elementwise_add(&self, case: &Elementwise, bench: &mut Bench) -> Result<(), Box<dyn Error>> {
        let (a, b) = case.data();
        let a = ArrayD::from_shape_vec(case.a.clone(), a)?;
        let b = ArrayD::from_shape_vec(case.b.clone(), b)?;
        // `b`'s axes are adjacent axes of `a`: NumPy's rule if they are the last, else pdpd with
        // the first.
        let rule = match case.b_axes.as_slice() {
            axes if axes
                .iter()
                .copied()
                .eq(case.a.len() - axes.len()..case.a.len()) =>
            {
                ElementwiseRule::Numpy
            }
            &[first, ..] => ElementwiseRule::Pdpd {
                axis: first.try_into()?,
            },
            [] => ElementwiseRule::Numpy,
        };
        macro_rules! measure {
            ($a:ty, $b:ty) => {{
                let a = a.into_dimensionality::<$a>()?;
                let b = b.into_dimensionality::<$b>()?;
                bench.fresh(|| a.zip_map_rule(&b, &rule, |a, b| a + b), shown);
                let mut to = ArrayD::zeros(case.out()).into_dimensionality::<$a>()?;
                bench.into(
                    &mut to,
                    |to| {
                        // An error leaves zeros in `to`, and the check fails.
                        let _ = a.zip_map_rule_into(&b, &rule, to, |a, b| a + b);
                    },
                    elements,
                );
            }};
        }
        match (case.a.len(), case.b.len()) {
            (2, 1) => measure!(Ix2, Ix1),
            (2, 2) => measure!(Ix2, Ix2),
            (4, 1) => measure!(Ix4, Ix1),
            (a, b) => return Err(format!("no static ranks {a} and {b}").into()),
        }
        Ok(())
    }

    fn gradient_sum(&self, case: &Gradient, bench: &mut Bench) -> Result<(), Box<dyn Error>> {
        let x = ArrayD::from_shape_vec(case.input.clone(), case.data())?;
        let kept: Vec<usize> = (0..case.input.len())
            .filter(|axis| !case.sum.contains(axis))
            .collect();
        macro_rules! measure {
            ($x:ty, $out:ty) => {{
                let x = x.into_dimensionality::<$x>()?;
                let mut to = ArrayD::zeros(case.out()).into_dimensionality::<$out>()?;
                let plan = BroadcastPlan::explicit(to.raw_dim(), x.raw_dim(), &kept)?;
                bench.fresh(|| plan.gradient(&x), shown);
                bench.into(
                    &mut to,
                    |to| {
                        // An error leaves zeros in `to`, and the check fails.
                        let _ = plan.gradient_into(&x, to);
                    },
                    elements,
                );
            }};
        }
        match (case.input.len(), kept.len()) {
            (1, 0) => measure!(Ix1, Ix0),
            (2, 1) => measure!(Ix2, Ix1),
            (3, 2) => measure!(Ix3, Ix2),
            (4, 1) => measure!(Ix4, Ix1),
            (x, out) => return Err(format!("no static ranks {x} to {out}").into()),
        }
        Ok(())
    }

    fn models(&self, case: &Model, bench: &mut Bench) -> Result<(), Box<dyn Error>> {
        case.ours(bench)
    }
}

fn elements<D: Dimension>(array: &Array<f32, D>, check: &Check) {
    if let Some(elements) = array.as_slice() {
        check.elements(array.shape(), elements);
    }
}

fn shown<D: Dimension, E>(array: &Result<Array<f32, D>, E>, check: &Check) {
    if let Ok(array) = array {
        elements(array, check);
    }
}
