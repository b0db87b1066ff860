//! The cases, as in `cases.json`, and the expected results of copies.

use std::error::Error;

use serde::Deserialize;
use serde_json::Value;

use crate::calls::CallCase;
use crate::index::offset;
use crate::pages::source;

/// A copy of `in`, whose axes map to `axes` of `out`. With `transpose`, the source is the transpose
/// of a standard-layout `in`.
#[derive(Deserialize)]
pub(crate) struct Materialize {
    #[serde(rename = "in")]
    pub(crate) input: Vec<usize>,
    pub(crate) axes: Vec<usize>,
    pub(crate) out: Vec<usize>,
    #[serde(default)]
    pub(crate) transpose: bool,
}

/// A case: those of the operation `materialize` have a form of their own.
pub(crate) enum Case {
    Materialize(Materialize),
    Call(CallCase),
}

impl Case {
    /// The case of a request.
    pub(crate) fn of(request: &Value) -> Result<Self, Box<dyn Error>> {
        let case = &request["case"];
        Ok(match request["op"].as_str() {
            Some("materialize") => Case::Materialize(Materialize::deserialize(case)?),
            _ => Case::Call(CallCase::deserialize(case)?),
        })
    }

    /// The shape of the result.
    pub(crate) fn out(&self) -> Vec<usize> {
        match self {
            Case::Materialize(case) => case.out.clone(),
            Case::Call(case) => case.out(),
        }
    }

    /// The expected element at an index, and the relative tolerance.
    pub(crate) fn expected(&self, index: &[usize]) -> (f64, f64) {
        match self {
            Case::Materialize(case) => (case.element(index).into(), 0.0),
            Case::Call(case) => case.expected(index),
        }
    }
}

impl Materialize {
    pub(crate) fn data(&self) -> Vec<f32> {
        let mut data = source(self.input.iter().product(), 0.0);
        (data.iter_mut().enumerate()).for_each(|(i, to)| *to = value(i));
        data
    }

    fn element(&self, index: &[usize]) -> f32 {
        let mut source: Vec<usize> = self.axes.iter().map(|&axis| index[axis]).collect();
        let mut shape = self.input.clone();
        if self.transpose {
            source.reverse();
            shape.reverse();
        }
        value(offset(&shape, &source))
    }
}

/// Element `i` of every source: never 0, and adjacent elements differ.
fn value(i: usize) -> f32 {
    (i % 1021 + 1) as f32 / 1024.0
}
