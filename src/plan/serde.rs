//! Plans as serde writes and reads them.

use super::BroadcastPlan;
use crate::rule::Rule;
use crate::shape::dimension;
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
            mapping: self.mapping().collect(),
        }
        .serialize(serializer)
    }
}

/// Reading checks everything: a plan that is not sound is an error.
impl<'de, I: Dimension, O: Dimension> Deserialize<'de> for BroadcastPlan<I, O> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let form = Form::deserialize(deserializer)?;
        let input = checked_dimension::<I, D::Error>("input", &form.input)?;
        checked_dimension::<O, D::Error>("output", &form.output)?;
        let refused = |why: &str| Err(D::Error::custom(why));
        if form.mapping.len() != form.output.len() {
            return refused("the mapping must have one entry for each output axis");
        }
        let mut output_axes: Vec<Option<usize>> = vec![None; form.input.len()];
        for (output_axis, source) in form.mapping.iter().enumerate() {
            let Some(input_axis) = *source else { continue };
            match output_axes.get_mut(input_axis) {
                None => return refused("the mapping names an axis that the input does not have"),
                Some(Some(_)) => return refused("the mapping names an input axis twice"),
                Some(fed) => *fed = Some(output_axis),
            }
        }
        for (output_axis, &size) in output_axes.iter().zip(&form.input) {
            if size != 1 && output_axis.map(|axis| form.output[axis]) != Some(size) {
                return refused(
                    "an input axis of another size than 1 feeds no output axis of its size",
                );
            }
        }
        let output_axis_of = |axis: usize| output_axes[axis].unwrap_or(form.output.len());
        BroadcastPlan::new(form.rule, input, &form.output, output_axis_of).map_err(D::Error::custom)
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
