//! Layers that change the shape alone, and `ShapeOf`.

use crate::infer::positions;
use crate::layers::integers;
use crate::model::Layer;
use crate::tensor::{ElementType, Tensor, with_array};
use ndarray::{Array1, ArrayD, IxDyn};

pub fn shape_of(layer: &Layer, data: &Tensor) -> Result<Tensor, String> {
    let sizes: Option<Array1<i64>> =
        (data.shape().iter().map(|&size| i64::try_from(size).ok())).collect();
    let sizes: ArrayD<i64> =
        (sizes.map(Array1::into_dyn)).ok_or_else(|| format!("{layer}: a size does not fit i64"))?;
    let name = layer.attribute("output_type").unwrap_or("i64");
    match layer.type_named("output_type", name)? {
        ElementType::I64 => Ok(Tensor::I64(sizes)),
        ElementType::I32 => (sizes.iter().map(|&size| i32::try_from(size)))
            .collect::<Result<Array1<i32>, _>>()
            .map(|sizes| Tensor::I32(sizes.into_dyn()))
            .map_err(|_| format!("{layer}: a size does not fit i32")),
        other => Err(format!("{layer}: output_type is {other}, not i32 or i64")),
    }
}

pub fn reshape(layer: &Layer, data: &Tensor, shape: &Tensor) -> Result<Tensor, String> {
    let special_zero = layer.flag("special_zero", false)?;
    let pattern = integers(layer, "the new shape", shape)?;
    let mut sizes = Vec::with_capacity(pattern.len());
    let mut open = None;
    for (axis, &size) in pattern.iter().enumerate() {
        sizes.push(match (size, usize::try_from(size)) {
            (-1, _) if open.is_none() => {
                open = Some(axis);
                1
            }
            (0, _) if special_zero => *(data.shape().get(axis)).ok_or_else(|| {
                format!("{layer}: entry {axis} is 0, and the data has no such axis")
            })?,
            (_, Ok(size)) => size,
            _ => return Err(format!("{layer}: entry {axis} of the new shape is {size}")),
        });
    }
    if let Some(axis) = open {
        let others = sizes
            .iter()
            .try_fold(1_usize, |count, &size| count.checked_mul(size));
        let count: usize = data.shape().iter().product();
        sizes[axis] = (others
            .filter(|&others| others > 0)
            .map(|others| count / others))
        .ok_or_else(|| format!("{layer}: entry {axis} is -1, and no size follows for it"))?;
    }
    with_shape(layer, data, &sizes)
}

pub fn squeeze(layer: &Layer, data: &Tensor, axes: Option<&Tensor>) -> Result<Tensor, String> {
    let shape = data.shape();
    let removed = match axes {
        Some(axes) => positions(layer, &integers(layer, "axes", axes)?, shape.len())?,
        None => (0..shape.len()).filter(|&axis| shape[axis] == 1).collect(),
    };
    if let Some(axis) = removed.iter().find(|&&axis| shape[axis] != 1) {
        return Err(format!(
            "{layer}: axis {axis} of {shape:?} has size {}, and only axes of size 1 are removed",
            shape[*axis]
        ));
    }
    let kept = (0..shape.len()).filter(|axis| !removed.contains(axis));
    with_shape(
        layer,
        data,
        &kept.map(|axis| shape[axis]).collect::<Vec<_>>(),
    )
}

pub fn unsqueeze(layer: &Layer, data: &Tensor, axes: &Tensor) -> Result<Tensor, String> {
    let count = axes.shape().iter().product::<usize>();
    let rank = data.shape().len() + count;
    let mut added = positions(layer, &integers(layer, "axes", axes)?, rank)?;
    added.sort_unstable();
    added.dedup();
    if added.len() != count {
        return Err(format!("{layer}: an axis is added twice"));
    }
    let mut sizes = data.shape().to_vec();
    added.iter().for_each(|&axis| sizes.insert(axis, 1));
    with_shape(layer, data, &sizes)
}

/// The elements in row-major order, in another shape.
fn with_shape(layer: &Layer, data: &Tensor, shape: &[usize]) -> Result<Tensor, String> {
    with_array!(data, array => match array.to_shape(IxDyn(shape)) {
        Ok(array) => Ok(array.into_owned().into()),
        Err(_) => Err(format!("{layer}: {:?} cannot become {shape:?}", data.shape())),
    })
}
