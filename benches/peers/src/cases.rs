//! The cases of `cases.json`, their data and the expected results.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::index::{offset, unravel};
use crate::models::Model;

pub(crate) const OPS: [&str; 4] = ["materialize", "elementwise_add", "gradient_sum", "models"];

/// A copy of `in`, whose axes map to `axes` of `out`. With `transpose`, the source is the transpose
/// of a standard-layout `in`.
#[derive(Clone, Deserialize)]
pub(crate) struct Materialize {
    pub(crate) name: String,
    #[serde(rename = "in")]
    pub(crate) input: Vec<usize>,
    pub(crate) axes: Vec<usize>,
    pub(crate) out: Vec<usize>,
    #[serde(default)]
    pub(crate) transpose: bool,
}

/// `a + b`, where the axes of `b` map to `b_axes` of `a`.
#[derive(Clone, Deserialize)]
pub(crate) struct Elementwise {
    pub(crate) name: String,
    pub(crate) a: Vec<usize>,
    pub(crate) b: Vec<usize>,
    pub(crate) b_axes: Vec<usize>,
}

/// `in` summed over the axes `sum`, which are dropped.
#[derive(Clone, Deserialize)]
pub(crate) struct Gradient {
    pub(crate) name: String,
    #[serde(rename = "in")]
    pub(crate) input: Vec<usize>,
    pub(crate) sum: Vec<usize>,
}

#[derive(Deserialize)]
pub(crate) struct Cases {
    materialize: BTreeMap<String, Vec<Materialize>>,
    elementwise_add: BTreeMap<String, Vec<Elementwise>>,
    gradient_sum: BTreeMap<String, Vec<Gradient>>,
    models: BTreeMap<String, Vec<Model>>,
}

impl Cases {
    /// The cases of an operation at a scale, in the file's order.
    pub(crate) fn of(&self, op: &str, scale: &str) -> Vec<Case> {
        fn all<T: Clone>(
            of: &BTreeMap<String, Vec<T>>,
            scale: &str,
            case: fn(T) -> Case,
        ) -> Vec<Case> {
            of.get(scale)
                .into_iter()
                .flatten()
                .cloned()
                .map(case)
                .collect()
        }
        match op {
            "materialize" => all(&self.materialize, scale, Case::Materialize),
            "elementwise_add" => all(&self.elementwise_add, scale, Case::Elementwise),
            "gradient_sum" => all(&self.gradient_sum, scale, Case::Gradient),
            "models" => all(&self.models, scale, Case::Model),
            _ => vec![],
        }
    }
}

pub(crate) enum Case {
    Materialize(Materialize),
    Elementwise(Elementwise),
    Gradient(Gradient),
    Model(Model),
}

impl Case {
    pub(crate) fn op(&self) -> &'static str {
        match self {
            Case::Materialize(_) => OPS[0],
            Case::Elementwise(_) => OPS[1],
            Case::Gradient(_) => OPS[2],
            Case::Model(_) => OPS[3],
        }
    }

    pub(crate) fn name(&self) -> &str {
        match self {
            Case::Materialize(case) => &case.name,
            Case::Elementwise(case) => &case.name,
            Case::Gradient(case) => &case.name,
            Case::Model(case) => &case.name,
        }
    }

    /// The shape of the result.
    pub(crate) fn out(&self) -> Vec<usize> {
        match self {
            Case::Materialize(case) => case.out.clone(),
            Case::Elementwise(case) => case.out(),
            Case::Gradient(case) => case.out(),
            Case::Model(case) => case.out(),
        }
    }

    /// The expected element at an index, and the relative tolerance.
    pub(crate) fn expected(&self, index: &[usize]) -> (f64, f64) {
        match self {
            Case::Materialize(case) => (case.element(index).into(), 0.0),
            Case::Elementwise(case) => {
                let a = value(offset(&case.a, index));
                let b: Vec<usize> = case.b_axes.iter().map(|&axis| index[axis]).collect();
                ((a + value(offset(&case.b, &b))).into(), 0.0)
            }
            // The error of a plain f32 sum is about 1e-3 here. That of a wrong axis is much larger.
            Case::Gradient(case) => (case.sum_at(index), 1e-2),
            Case::Model(case) => case.expected(index),
        }
    }
}

impl Materialize {
    pub(crate) fn data(&self) -> Vec<f32> {
        data(self.input.iter().product())
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

impl Elementwise {
    pub(crate) fn out(&self) -> Vec<usize> {
        let b = aligned(&self.b, &self.b_axes, self.a.len());
        self.a
            .iter()
            .zip(b)
            .map(|(&a, b)| if a == 1 { b } else { a })
            .collect()
    }

    pub(crate) fn data(&self) -> (Vec<f32>, Vec<f32>) {
        (data(self.a.iter().product()), data(self.b.iter().product()))
    }
}

impl Gradient {
    pub(crate) fn out(&self) -> Vec<usize> {
        self.axes_of(|axis, sum| !sum.contains(&axis))
    }

    pub(crate) fn data(&self) -> Vec<f32> {
        data(self.input.iter().product())
    }

    /// The sizes of the axes for which `holds` is true.
    fn axes_of(&self, holds: impl Fn(usize, &[usize]) -> bool) -> Vec<usize> {
        let sizes = self.input.iter().enumerate();
        sizes
            .filter(|&(axis, _)| holds(axis, &self.sum))
            .map(|(_, &n)| n)
            .collect()
    }

    fn sum_at(&self, index: &[usize]) -> f64 {
        let summed = self.axes_of(|axis, sum| sum.contains(&axis));
        let (mut kept, mut full) = (index.iter(), vec![0; self.input.len()]);
        for (axis, at) in full.iter_mut().enumerate() {
            if !self.sum.contains(&axis) {
                *at = *kept.next().expect("one index for each axis that is kept");
            }
        }
        let (last, outer) = self.sum.split_last().expect("a sum over one axis or more");
        let step: usize = self.input[last + 1..].iter().product();
        let outer_sizes = &summed[..outer.len()];
        (0..outer_sizes.iter().product())
            .map(|flat| {
                for (&axis, at) in outer.iter().zip(unravel(outer_sizes, flat)) {
                    full[axis] = at;
                }
                full[*last] = 0;
                let start = offset(&self.input, &full);
                (0..self.input[*last])
                    .map(|i| f64::from(value(start + i * step)))
                    .sum::<f64>()
            })
            .sum()
    }
}

/// Element `i` of every input: never 0, and adjacent elements differ.
fn value(i: usize) -> f32 {
    (i % 1021 + 1) as f32 / 1024.0
}

fn data(n: usize) -> Vec<f32> {
    (0..n).map(value).collect()
}

fn aligned(shape: &[usize], axes: &[usize], rank: usize) -> Vec<usize> {
    let mut full = vec![1; rank];
    for (&n, &axis) in shape.iter().zip(axes) {
        full[axis] = n;
    }
    full
}
