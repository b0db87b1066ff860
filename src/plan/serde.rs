//! Plans, tiles and partial shapes as serde writes and reads them.

use super::{AxisSource, BroadcastPlan, PartialPlan, Tile, TileBox};
use crate::mode::BroadcastMode;
use crate::partial::{PartialShape, PartialSize};
use crate::rule::Rule;
use crate::shape::{KEEP, Sizes, dimension};
use ndarray::Dimension;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What is written. The mapping has the input axis that feeds each output axis, or null.
#[derive(Serialize, Deserialize)]
#[serde(rename = "BroadcastPlan", deny_unknown_fields)]
struct Form {
    rule: Rule,
    input: Vec<usize>,
    output: Vec<usize>,
    mapping: Vec<Option<usize>>,
}

impl<I: Dimension, O: Dimension> Serialize for BroadcastPlan<I, O> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Form {
            rule: self.rule(),
            input: self.input_shape().to_vec(),
            output: self.output_shape().to_vec(),
            mapping: self.axis_sources().map(AxisSource::input_axis).collect(),
        }
        .serialize(serializer)
    }
}

/// Reading checks everything: a plan that is not sound is an error.
impl<'de, I: Dimension, O: Dimension> Deserialize<'de> for BroadcastPlan<I, O> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let form = Form::deserialize(deserializer)?;
        let input = checked_dimension::<I, D::Error>("input", &form.input)?;
        let output = checked_dimension::<O, D::Error>("output", &form.output)?;
        let refused = |why: &str| Err(D::Error::custom(why));
        if form.mapping.len() != form.output.len() {
            return refused("the mapping must have one entry for each output axis");
        }
        let none = form.output.len();
        let mut output_axes = vec![none; form.input.len()];
        for (output_axis, source) in form.mapping.iter().enumerate() {
            let Some(input_axis) = *source else { continue };
            match output_axes.get_mut(input_axis) {
                None => return refused("the mapping names an axis that the input does not have"),
                Some(fed) if *fed != none => {
                    return refused("the mapping names an input axis twice");
                }
                Some(fed) => *fed = output_axis,
            }
        }
        let mut fed = output_axes.iter().zip(&form.input);
        if fed.any(|(&axis, size)| *size != 1 && form.output.get(axis) != Some(size)) {
            return refused(
                "an input axis of another size than 1 feeds no output axis of its size",
            );
        }
        let plan = BroadcastPlan::new(form.rule, input, output, |axis| output_axes[axis]);
        plan.map_err(D::Error::custom)
    }
}

fn checked_dimension<T: Dimension, E: Error>(what: &str, shape: &[usize]) -> Result<T, E> {
    match T::NDIM {
        Some(rank) if rank != shape.len() => Err(E::custom(format_args!(
            "the {what} has rank {}, expected {rank}",
            shape.len()
        ))),
        _ => Ok(dimension(shape)),
    }
}

/// What is written of a tile: where its boxes begin, and the plan, which has their sizes.
#[derive(Serialize, Deserialize)]
#[serde(rename = "Tile", deny_unknown_fields, bound = "")]
struct TileForm<I: Dimension, O: Dimension> {
    input_start: Vec<usize>,
    output_start: Vec<usize>,
    plan: BroadcastPlan<I, O>,
}

impl<I: Dimension, O: Dimension> Serialize for Tile<I, O> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        TileForm {
            input_start: self.input.start.sizes().to_vec(),
            output_start: self.output.start.sizes().to_vec(),
            plan: self.plan.clone(),
        }
        .serialize(serializer)
    }
}

/// Reading checks that no end of a box overflows.
impl<'de, I: Dimension, O: Dimension> Deserialize<'de> for Tile<I, O> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let form = TileForm::<I, O>::deserialize(deserializer)?;
        Ok(Tile {
            input: checked_box(&form.input_start, form.plan.input_dim())?,
            output: checked_box(&form.output_start, form.plan.output_dim())?,
            plan: form.plan,
        })
    }
}

fn checked_box<D: Dimension, E: Error>(start: &[usize], size: D) -> Result<TileBox<D>, E> {
    let mut axes = start.iter().zip(size.sizes());
    let end = |(start, size): (&usize, &usize)| isize::try_from(start.checked_add(*size)?).ok();
    let fits = axes.all(|at| end(at).is_some());
    if start.len() != size.ndim() || !fits {
        return Err(E::custom("a box must begin where its plan's shape fits"));
    }
    let start = dimension(start);
    Ok(TileBox { start, size })
}

impl Serialize for PartialSize {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (min, max) = (written(self.min()), self.max().map(written));
        (min, max, self.symbol()).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for PartialSize {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (min, max, symbol) = <(u64, Option<u64>, Option<u32>)>::deserialize(deserializer)?;
        let (min, max) = (read(min)?, max.map_or(Ok(KEEP), read)?);
        let size = PartialSize::between(min, max).map_err(D::Error::custom)?;
        Ok(symbol.map_or(size, |symbol| size.with_symbol(symbol)))
    }
}

/// A size as it is written on targets of any width: [`KEEP`] is `u64::MAX`.
fn written(size: usize) -> u64 {
    // `usize` has no more than 64 bits.
    if size == KEEP { u64::MAX } else { size as u64 }
}

/// A size that was [`written`].
fn read<E: Error>(size: u64) -> Result<usize, E> {
    match usize::try_from(size) {
        _ if size == u64::MAX => Ok(KEEP),
        Ok(size) if size != KEEP => Ok(size),
        _ => Err(E::custom(format_args!(
            "the size {size} needs a larger address space"
        ))),
    }
}

impl Serialize for PartialShape {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.sizes().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for PartialShape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let sizes = Option::<Vec<PartialSize>>::deserialize(deserializer)?;
        Ok(sizes.map_or(PartialShape::UNKNOWN, PartialShape::new))
    }
}

/// What is written of a partial plan. The output follows from it.
#[derive(Deserialize)]
#[serde(rename = "PartialPlan", deny_unknown_fields)]
struct PartialForm {
    // Null has a meaning in each field. Without `deserialize_with`, serde reads a missing field
    // as null.
    /// Null for the rule prepend, which is no mode.
    #[serde(deserialize_with = "Deserialize::deserialize")]
    mode: Option<BroadcastMode>,
    #[serde(deserialize_with = "Deserialize::deserialize")]
    input: PartialShape,
    #[serde(deserialize_with = "Deserialize::deserialize")]
    target: PartialShape,
}

impl<'de> Deserialize<'de> for PartialPlan {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let form = PartialForm::deserialize(deserializer)?;
        PartialPlan::new(form.mode, form.input, form.target).map_err(D::Error::custom)
    }
}
