//! Integers of small tensors, as far as they follow from the file: target shapes and axes are often
//! computed from the shapes of other tensors.

use crate::infer::Input;
use crate::model::{Layer, Model};
use crate::tensor::Tensor;
use ndarray_broadcast::infer::{PartialShape, PartialSize};

/// The most entries of a value.
const MAXIMUM_ENTRIES: usize = 1000;

/// A small tensor of integers, in row-major order. `None` is one that is not known beforehand.
#[derive(Debug, Clone)]
pub struct Value {
    pub rank: usize,
    pub entries: Vec<Option<i64>>,
    /// Whether the integers are stored as floats, so that a quotient is not rounded.
    pub float: bool,
}

impl Value {
    /// All entries, if all are known.
    pub fn known(&self) -> Option<Vec<i64>> {
        self.entries.iter().copied().collect()
    }

    /// The entries as the sizes of a shape. `Err` is an entry that is no size.
    pub fn shape(&self) -> Result<PartialShape, i64> {
        (self.entries.iter())
            .map(|entry| match *entry {
                None => Ok(PartialSize::ANY),
                Some(size) => usize::try_from(size)
                    .map(PartialSize::known)
                    .map_err(|_| size),
            })
            .collect::<Result<Vec<_>, _>>()
            .map(PartialShape::new)
    }

    fn scalar(&self) -> Option<i64> {
        match self.entries[..] {
            [entry] => entry,
            _ => None,
        }
    }
}

/// The value of a layer's only output. `None` if it is not known to be few integers.
pub fn evaluate(model: &Model, layer: &Layer, inputs: &[Input<'_>]) -> Option<Value> {
    let [output] = &layer.outputs[..] else {
        return None;
    };
    let rank = output.dims.len();
    let values: Vec<&Value> = inputs.iter().map_while(|input| input.value).collect();
    let keeps_order = ["Convert", "Reshape", "Squeeze", "Unsqueeze"].contains(&&layer.kind[..]);
    if !keeps_order && (rank > 1 || values.iter().any(|value| value.rank > 1)) {
        return None;
    }
    let all = values.len() == inputs.len();
    let mut float = values.iter().any(|value| value.float);
    let entries = match (&layer.kind[..], &values[..]) {
        ("Const", []) => {
            float = layer
                .attribute("element_type")
                .is_some_and(|name| name.starts_with('f'));
            constant(model, layer)?
        }
        ("Divide", _) if float => return None,
        ("ShapeOf", _) => (inputs.first()?.shape.sizes()?.iter())
            .map(|size| size.value().and_then(|size| i64::try_from(size).ok()))
            .collect(),
        ("Convert", [value]) => {
            let destination = layer.attribute("destination_type")?;
            float = matches!(destination, "f32" | "f64");
            // The bounds of the type are no concern: sizes and axes are small.
            let is_wide = float || matches!(destination, "i32" | "i64" | "u32" | "u64");
            is_wide.then(|| value.entries.clone())?
        }
        ("Squeeze" | "Unsqueeze" | "Reshape", [value, ..]) => value.entries.clone(),
        ("Concat", values) if all => values.iter().flat_map(|v| v.entries.clone()).collect(),
        ("Gather", [data, indices, axis]) if data.rank == 1 && axis.scalar() == Some(0) => {
            let entry = |index: &Option<i64>| {
                let index = index_of((*index)?, data.entries.len())?;
                data.entries[index]
            };
            indices.entries.iter().map(entry).collect()
        }
        ("Broadcast", [value, _]) if value.entries.len() == 1 => {
            let count = output.dims.first().copied().flatten().unwrap_or(1);
            vec![value.entries[0]; count.min(MAXIMUM_ENTRIES + 1)]
        }
        ("Slice", [data, bounds @ ..]) if all => slice(data, bounds)?,
        ("StridedSlice", [data, bounds @ ..]) if all => strided_slice(layer, data, bounds)?,
        ("ReduceProd", [value, _]) if rank == 0 || output.dims == [Some(1)] => {
            vec![value.known().and_then(|known| {
                (known.iter()).try_fold(1_i64, |product, &size| product.checked_mul(size))
            })]
        }
        ("Abs", [value]) => {
            let abs = |entry: &Option<i64>| entry.and_then(i64::checked_abs);
            value.entries.iter().map(abs).collect()
        }
        ("Select", [condition, then, other]) => zip(&[condition, then, other], |entries| {
            let [condition, then, other] = entries[..] else {
                return None;
            };
            match condition {
                Some(condition) => {
                    if condition != 0 {
                        then
                    } else {
                        other
                    }
                }
                None => then.filter(|_| then == other),
            }
        })?,
        (kind, [a, b]) => {
            let operation = operation(kind)?;
            zip(&[a, b], |entries| operation(entries[0]?, entries[1]?))?
        }
        _ => return None,
    };
    (entries.len() <= MAXIMUM_ENTRIES).then_some(Value {
        rank,
        entries,
        float,
    })
}

fn constant(model: &Model, layer: &Layer) -> Option<Vec<Option<i64>>> {
    let shape = layer.constant_shape().ok()?;
    let count = match shape[..] {
        [] => 1,
        [count] if count <= MAXIMUM_ENTRIES => count,
        _ => return None,
    };
    if !model.has_weights() {
        return Some(vec![None; count]);
    }
    macro_rules! entries {
        ($($variant:ident)*; $($float:ident)*) => {
            match model.constant(layer).ok()? {
                $(Tensor::$variant(array) => {
                    array.iter().map(|&entry| Some(i64::try_from(entry).ok())).collect()
                })*
                $(Tensor::$float(array) => {
                    array.iter().map(|&entry| whole(entry.into()).map(Some)).collect()
                })*
                Tensor::Boolean(array) => {
                    array.iter().map(|&entry| Some(Some(entry.into()))).collect()
                }
            }
        };
    }
    entries!(I8 I16 I32 I64 U8 U16 U32 U64; F16 F32 F64)
}

/// A float as an integer, if it is a small one.
fn whole(float: f64) -> Option<i64> {
    (float.fract() == 0.0 && float.abs() < f64::from(i32::MAX)).then_some(float as i64)
}

/// An index that counts from the end if it is negative.
fn index_of(index: i64, count: usize) -> Option<usize> {
    let from_end = || count.checked_sub(usize::try_from(index.unsigned_abs()).ok()?);
    let index = if index < 0 {
        from_end()
    } else {
        usize::try_from(index).ok()
    };
    index.filter(|&index| index < count)
}

/// Applies `f` to values that broadcast to a list.
fn zip(values: &[&Value], f: impl Fn(&[Option<i64>]) -> Option<i64>) -> Option<Vec<Option<i64>>> {
    let count = (values.iter().map(|value| value.entries.len())).find(|&count| count != 1);
    let count = count.unwrap_or(1);
    (0..count)
        .map(|at| {
            let entries: Option<Vec<_>> = (values.iter())
                .map(|value| match value.entries[..] {
                    [entry] => Some(entry),
                    ref entries if entries.len() == count => Some(entries[at]),
                    _ => None,
                })
                .collect();
            entries.map(|entries| f(&entries))
        })
        .collect()
}

fn operation(kind: &str) -> Option<fn(i64, i64) -> Option<i64>> {
    Some(match kind {
        "Add" => i64::checked_add,
        "Subtract" => i64::checked_sub,
        "Multiply" => i64::checked_mul,
        // Of integers, Divide rounds down.
        "Divide" => |a, b| {
            let remainder = a.checked_rem_euclid(b)?;
            let quotient = a.checked_sub(remainder)?.checked_div(b)?;
            Some(quotient - i64::from(b < 0 && remainder != 0))
        },
        "FloorMod" => |a, b| {
            a.checked_rem(b).map(|r| {
                if r != 0 && (r < 0) != (b < 0) {
                    r + b
                } else {
                    r
                }
            })
        },
        "Mod" => i64::checked_rem,
        "Maximum" => |a, b| Some(a.max(b)),
        "Minimum" => |a, b| Some(a.min(b)),
        "Equal" => |a, b| Some((a == b).into()),
        "NotEqual" => |a, b| Some((a != b).into()),
        "Greater" => |a, b| Some((a > b).into()),
        "GreaterEqual" => |a, b| Some((a >= b).into()),
        "Less" => |a, b| Some((a < b).into()),
        "LessEqual" => |a, b| Some((a <= b).into()),
        "LogicalAnd" => |a, b| Some((a != 0 && b != 0).into()),
        "LogicalOr" => |a, b| Some((a != 0 || b != 0).into()),
        _ => return None,
    })
}

/// The layer `Slice` of a list.
fn slice(data: &Value, bounds: &[&Value]) -> Option<Vec<Option<i64>>> {
    let [start, stop, step, ..] = bounds else {
        return None;
    };
    steps(
        &data.entries,
        start.scalar()?,
        stop.scalar()?,
        step.scalar()?,
    )
}

/// The layer `StridedSlice` of a list.
fn strided_slice(layer: &Layer, data: &Value, bounds: &[&Value]) -> Option<Vec<Option<i64>>> {
    let mask = |name| {
        let list = layer.attribute(name).unwrap_or_default();
        list.split(',').any(|entry| entry.trim() == "1")
    };
    if data.rank != 1 || mask("new_axis_mask") || mask("ellipsis_mask") {
        return None;
    }
    let [begin, end, strides @ ..] = bounds else {
        return None;
    };
    let step = strides.first().map_or(Some(1), |step| step.scalar())?;
    if mask("shrink_axis_mask") {
        let index = index_of(begin.scalar()?, data.entries.len())?;
        return Some(vec![data.entries[index]]);
    }
    let last = if step < 0 { i64::MIN } else { i64::MAX };
    let first = if step < 0 { i64::MAX } else { 0 };
    let begin = if mask("begin_mask") {
        first
    } else {
        begin.scalar()?
    };
    let end = if mask("end_mask") {
        last
    } else {
        end.scalar()?
    };
    steps(&data.entries, begin, end, step)
}

/// The entries from `start` to before `stop`, both clamped to the list.
fn steps(entries: &[Option<i64>], start: i64, stop: i64, step: i64) -> Option<Vec<Option<i64>>> {
    let count = i64::try_from(entries.len()).ok()?;
    let from_end = |index: i64| {
        if index < 0 {
            index.saturating_add(count)
        } else {
            index
        }
    };
    let (start, stop) = (from_end(start), from_end(stop));
    let within = |index: usize| entries[index];
    let stride = usize::try_from(step.unsigned_abs()).ok()?;
    match step {
        0 => None,
        1.. => {
            let range = start.clamp(0, count)..stop.clamp(0, count);
            let range = usize::try_from(range.start).ok()?..usize::try_from(range.end).ok()?;
            Some(range.step_by(stride).map(within).collect())
        }
        _ => {
            let first = usize::try_from(stop.clamp(-1, count - 1) + 1).ok()?;
            let end = usize::try_from(start.clamp(-1, count - 1) + 1).ok()?;
            Some((first..end).rev().step_by(stride).map(within).collect())
        }
    }
}
