//! candle-core on the CPU. It cannot write into an existing tensor.

use std::error::Error;

use candle_core::{Device, Storage, Tensor};

use crate::Peer;
use crate::bench::{Bench, Check};
use crate::cases::{Elementwise, Gradient, Materialize};

pub(crate) struct Candle;

impl Peer for Candle {
    fn materialize(&self, case: &Materialize, bench: &mut Bench) -> Result<(), Box<dyn Error>> {
        let mut view = Tensor::from_vec(case.data(), case.input.as_slice(), &Device::Cpu)?;
        if case.transpose {
            view = view.t()?;
        }
        for axis in 0..case.out.len() {
            if !case.axes.contains(&axis) {
                view = view.unsqueeze(axis)?;
            }
        }
        let out = case.out.as_slice();
        bench.fresh(|| view.broadcast_as(out)?.contiguous(), elements);
        Ok(())
    }

    fn elementwise_add(&self, case: &Elementwise, bench: &mut Bench) -> Result<(), Box<dyn Error>> {
        let (a, b) = case.data();
        let a = Tensor::from_vec(a, case.a.as_slice(), &Device::Cpu)?;
        let mut b = Tensor::from_vec(b, case.b.as_slice(), &Device::Cpu)?;
        for axis in 0..case.a.len() {
            if !case.b_axes.contains(&axis) {
                b = b.unsqueeze(axis)?;
            }
        }
        bench.fresh(|| a.broadcast_add(&b), elements);
        Ok(())
    }

    fn gradient_sum(&self, case: &Gradient, bench: &mut Bench) -> Result<(), Box<dyn Error>> {
        let x = Tensor::from_vec(case.data(), case.input.as_slice(), &Device::Cpu)?;
        bench.fresh(|| x.sum(case.sum.as_slice()), elements);
        Ok(())
    }
}

fn elements(tensor: &candle_core::Result<Tensor>, check: &Check) {
    let Ok(tensor) = tensor else { return };
    let (storage, layout) = tensor.storage_and_layout();
    if let (Storage::Cpu(storage), Some((0, _))) = (&*storage, layout.contiguous_offsets())
        && let Ok(elements) = storage.as_slice::<f32>()
    {
        check.elements(tensor.dims(), elements);
    }
}
