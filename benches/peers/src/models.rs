//! Calls of models: masks, grouped queries, rotary embedding, norms, images, pairwise differences.

use serde::Deserialize;

use crate::index::{offset, unravel};

/// `call` of `a`, and of `b` if the call has two operands. All shapes have one rank.
#[derive(Clone, Deserialize)]
pub(crate) struct Model {
    pub(crate) name: String,
    pub(crate) call: Call,
    #[serde(rename = "type", default)]
    pub(crate) element: Element,
    pub(crate) a: Vec<usize>,
    #[serde(default)]
    pub(crate) b: Vec<usize>,
    /// A copy's shape, to which the permuted `a` is broadcast. Absent: no broadcast.
    #[serde(default)]
    out: Vec<usize>,
    /// The order of `a`'s axes in which a copy reads them. Absent: the given order.
    #[serde(default)]
    permute: Vec<usize>,
    /// The axes that a sum or a maximum reduces to size 1.
    #[serde(default)]
    axes: Vec<usize>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Call {
    Copy,
    Add,
    Sub,
    Mul,
    Sum,
    Max,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Element {
    U8,
    I64,
    #[default]
    F32,
    F64,
}

impl Model {
    pub(crate) fn out(&self) -> Vec<usize> {
        match self.call {
            Call::Copy if !self.out.is_empty() => self.out.clone(),
            Call::Copy => self.order().iter().map(|&axis| self.a[axis]).collect(),
            Call::Sum | Call::Max => {
                let size = |(axis, &n)| if self.axes.contains(&axis) { 1 } else { n };
                self.a.iter().enumerate().map(size).collect()
            }
            _ => self
                .a
                .iter()
                .zip(&self.b)
                .map(|(&a, &b)| if a == 1 { b } else { a })
                .collect(),
        }
    }

    pub(crate) fn order(&self) -> Vec<usize> {
        match self.permute.as_slice() {
            [] => (0..self.a.len()).collect(),
            order => order.to_vec(),
        }
    }

    /// The expected element at an index, and the relative tolerance.
    pub(crate) fn expected(&self, index: &[usize]) -> (f64, f64) {
        let at = |shape: &[usize], index: &[usize]| value(offset(shape, index)) as f64;
        match self.call {
            Call::Copy => {
                let mut source = vec![0; self.a.len()];
                for (&axis, &i) in self.order().iter().zip(index) {
                    source[axis] = i;
                }
                (at(&self.a, &source), 0.0)
            }
            Call::Add => (at(&self.a, index) + at(&self.b, index), 0.0),
            Call::Sub => (at(&self.a, index) - at(&self.b, index), 0.0),
            Call::Mul => (at(&self.a, index) * at(&self.b, index), 0.0),
            Call::Sum => (self.terms(index).sum(), 1e-2),
            Call::Max => (self.terms(index).fold(0.0, f64::max), 0.0),
        }
    }

    /// The elements that are reduced to the one at `index`.
    fn terms(&self, index: &[usize]) -> impl Iterator<Item = f64> {
        let sizes: Vec<usize> = self.axes.iter().map(|&axis| self.a[axis]).collect();
        let (shape, axes, mut full) = (self.a.clone(), self.axes.clone(), index.to_vec());
        (0..sizes.iter().product()).map(move |flat| {
            for (&axis, i) in axes.iter().zip(unravel(&sizes, flat)) {
                full[axis] = i;
            }
            value(offset(&shape, &full)) as f64
        })
    }
}

/// Element `i` of every array: small enough for products of `u8`.
pub(crate) fn value(i: usize) -> u8 {
    (i % 13 + 1) as u8
}
