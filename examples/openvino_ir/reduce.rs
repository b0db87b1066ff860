//! Reductions.

use crate::infer::positions;
use crate::layers::{integers, wrong_types};
use crate::model::Layer;
use crate::tensor::Tensor;
use half::f16;
use ndarray_broadcast::prelude::*;

pub const REDUCTIONS: [&str; 9] = [
    "ReduceSum",
    "ReduceMean",
    "ReduceProd",
    "ReduceMax",
    "ReduceMin",
    "ReduceL1",
    "ReduceL2",
    "ReduceLogicalAnd",
    "ReduceLogicalOr",
];

pub fn reduce(layer: &Layer, data: &Tensor, axes: &Tensor) -> Result<Tensor, String> {
    let axes = integers(layer, "axes", axes)?;
    let mut axes = positions(layer, &axes, data.shape().len())?;
    // OpenVINO takes axes as a set.
    axes.sort_unstable();
    axes.dedup();
    over(layer, data, &axes, layer.flag("keep_dims", false)?)
}

fn over(layer: &Layer, data: &Tensor, axes: &[usize], keep: bool) -> Result<Tensor, String> {
    let kind = &layer.kind[..];
    macro_rules! over_axes {
        ($array:expr, $reduction:expr) => {
            match keep {
                true => $array.reduce_axes_keepdims(axes, $reduction),
                false => $array.reduce_axes(axes, $reduction),
            }
            .map(Tensor::from)
            .map_err(|error| layer.of_error(&error))
        };
    }
    macro_rules! integers {
        ($array:expr, $t:ty) => {
            match kind {
                "ReduceSum" => over_axes!($array, Fold::new(0, <$t>::wrapping_add)),
                "ReduceProd" => over_axes!($array, Fold::new(1, <$t>::wrapping_mul)),
                "ReduceMax" => over_axes!($array, Max),
                "ReduceMin" => over_axes!($array, Min),
                _ => Err(wrong_types(layer, &[data])),
            }
        };
    }
    macro_rules! floats {
        ($array:expr) => {
            match kind {
                "ReduceSum" => over_axes!($array, Sum),
                "ReduceMean" => over_axes!($array, Mean),
                "ReduceProd" => over_axes!($array, Product),
                "ReduceMax" => over_axes!($array, Max),
                "ReduceMin" => over_axes!($array, Min),
                "ReduceL1" => over_axes!($array, L1),
                "ReduceL2" => over_axes!($array, L2),
                _ => Err(wrong_types(layer, &[data])),
            }
        };
    }
    match data {
        Tensor::F16(array) => {
            let reduced = over(layer, &array.mapv(f32::from).into(), axes, keep)?;
            match reduced {
                Tensor::F32(array) => Ok(array.mapv(f16::from_f32).into()),
                other => Ok(other),
            }
        }
        Tensor::F32(array) => floats!(array),
        Tensor::F64(array) => floats!(array),
        Tensor::I8(array) => integers!(array, i8),
        Tensor::I16(array) => integers!(array, i16),
        Tensor::I32(array) => integers!(array, i32),
        Tensor::I64(array) => integers!(array, i64),
        Tensor::U8(array) => integers!(array, u8),
        Tensor::U16(array) => integers!(array, u16),
        Tensor::U32(array) => integers!(array, u32),
        Tensor::U64(array) => integers!(array, u64),
        Tensor::Boolean(array) => match kind {
            "ReduceLogicalAnd" => over_axes!(array, All),
            "ReduceLogicalOr" => over_axes!(array, Any),
            _ => Err(wrong_types(layer, &[data])),
        },
    }
}
