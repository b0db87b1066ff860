//! This crate.

use std::error::Error;

use ndarray::{Array, ArrayD, Dimension, Ix0, Ix1, Ix2, Ix3};
use ndarray_broadcast::prelude::*;

use crate::Peer;
use crate::bench::{Bench, Check};
use crate::cases::Materialize;

pub(crate) struct Ours;

impl Peer for Ours {
    fn materialize(&self, case: &Materialize, bench: &mut Bench) -> Result<(), Box<dyn Error>> {
        // The ranks of the cases are static, as a caller's usually are.
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
                        let done = source
                            .broadcast_explicit(shape, axes)
                            .and_then(|view| view.materialize_into(to));
                        // A failure leaves zeros in `to`, which the check refuses.
                        drop(done);
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
