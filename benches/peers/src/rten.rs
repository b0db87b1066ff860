//! rten-tensor: copies of broadcast views. It has no arithmetic.

use std::error::Error;

use rten_tensor::Tensor;
use rten_tensor::prelude::*;

use crate::Peer;
use crate::bench::{Bench, Check};
use crate::cases::Materialize;
use crate::index::offset;

pub(crate) struct Rten;

impl Peer for Rten {
    fn materialize(&self, case: &Materialize, bench: &Bench) -> Result<(), Box<dyn Error>> {
        let data = Tensor::from_data(&case.input, case.data());
        let mut view = data.view();
        if case.transpose {
            view = view.transposed();
        }
        for axis in 0..case.out.len() {
            if !case.axes.contains(&axis) {
                view.insert_axis(axis);
            }
        }
        let out = case.out.as_slice();
        bench.fresh(|| view.broadcast(out).to_tensor(), elements);
        let mut to = Tensor::zeros(out);
        bench.into(&mut to, |to| to.copy_from(&view.broadcast(out)), elements);
        Ok(())
    }
}

fn elements(tensor: &Tensor<f32>, check: &Check) {
    if let Some(elements) = tensor.data() {
        let shape = tensor.shape();
        check.elements(shape, |index| elements[offset(shape, index)].into());
    }
}
