//! bidirectional: right-aligned, 1s replicate on either side, so the output may be larger than the target.
//!
//! Source: OpenVINO Broadcast-3, mode `bidirectional`; ONNX Expand-13.

use super::numpy::{common, padded, to_target};
use crate::error::Refusal;
use crate::mode::Rule;
use crate::plan::{PlanTo, size_mismatch};
use ndarray::{DimMax, Dimension};

#[inline(always)]
pub(crate) fn plan<I: Dimension + DimMax<E>, E: Dimension>(
    input: I,
    target: E,
) -> Result<PlanTo<I, E>, Refusal> {
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
                let (input, target) = (input.clone(), target.clone());
                return Err(size_mismatch(
                    Rule::Bidirectional,
                    input.slice(),
                    target.slice(),
                    axis - offset,
                    move |axis| offset + axis,
                ));
            }
        }
    }
    to_target(Rule::Bidirectional, input, output.slice())
}
