//! candle-core on the CPU. It cannot write into an existing tensor.

use std::error::Error;

use candle_core::{Device, Storage, Tensor};
use ndarray::IxDyn;

use crate::Peer;
use crate::bench::{Bench, Check};
use crate::calls::{Call, CallCase, Element, Layout};
use crate::cases::Materialize;
use crate::index::offset;

pub(crate) struct Candle;

impl Peer for Candle {
    fn materialize(&self, case: &Materialize, bench: &Bench) -> Result<(), Box<dyn Error>> {
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

    fn call(&self, case: &CallCase, bench: &Bench) -> Result<(), Box<dyn Error>> {
        if case.element != Element::F32 || case.layout != Layout::C {
            return Ok(());
        }
        let tensor = |operand| {
            let array = case.array::<f32, IxDyn>(operand);
            let shape = array.shape().to_vec();
            Tensor::from_vec(array.into_raw_vec_and_offset().0, shape, &Device::Cpu)
        };
        match case.call {
            Call::Add => {
                let (a, b) = (tensor(0)?, tensor(1)?);
                bench.fresh(|| a.broadcast_add(&b), elements);
            }
            Call::Sum => {
                let x = tensor(0)?;
                bench.fresh(|| x.sum(case.axes.as_slice()), elements);
            }
            _ => {}
        }
        Ok(())
    }
}

fn elements(tensor: &candle_core::Result<Tensor>, check: &Check) {
    let Ok(tensor) = tensor else { return };
    let (storage, layout) = tensor.storage_and_layout();
    if let (Storage::Cpu(storage), Some((0, _))) = (&*storage, layout.contiguous_offsets())
        && let Ok(elements) = storage.as_slice::<f32>()
    {
        let shape = tensor.dims();
        check.elements(shape, |index| elements[offset(shape, index)].into());
    }
}
