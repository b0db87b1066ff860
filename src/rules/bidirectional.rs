//! bidirectional: right-aligned, 1s replicate on either side, so the output may be larger than the target.
//!
//! Source: OpenVINO Broadcast-3, mode `bidirectional`; ONNX Expand-13.

use super::numpy::{common, padded, to_target};
use crate::error::BroadcastError;
use crate::mode::Rule;
use crate::plan::{PlanTo, size_mismatch};
use ndarray::{DimMax, Dimension};

#[inline]
pub(crate) fn plan<I: Dimension + DimMax<E>, E: Dimension>(
    input: I,
    target: E,
) -> Result<PlanTo<I, E>, BroadcastError> {
    let rank = input.ndim().max(target.ndim());
    let offset = rank - input.ndim();
    let mut output = <I as DimMax<E>>::Output::zeros(rank);
    for axis in 0..rank {
        match common(
            padded(input.slice(), rank, axis),
            padded(target.slice(), rank, axis),
        ) {
            Some(size) => output.slice_mut()[axis] = size,
            None => {
                let (input, target) = (input.slice(), target.slice());
                return Err(size_mismatch(
                    Rule::Bidirectional,
                    input,
                    target,
                    axis - offset,
                    |axis| offset + axis,
                ));
            }
        }
    }
    to_target(Rule::Bidirectional, input, output.slice())
}
