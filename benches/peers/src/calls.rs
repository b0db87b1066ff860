//! Calls on arrays of any layout and element type: copies, maps of two and three operands, and
//! reductions. Their arrays and the expected results.

use half::f16;
use ndarray::{Array, Axis, Dimension};
use ndarray_broadcast::reduction::Summand;
use num_traits::{AsPrimitive, Num};
use serde::Deserialize;

use crate::bench::{Bench, Check};
use crate::index::{offset, unravel};
use crate::pages::source;

/// `call` of `a`, and of `b` if the call has several operands. All shapes have one rank.
#[derive(Deserialize)]
pub(crate) struct CallCase {
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
    /// The axes that a reduction removes.
    #[serde(default)]
    pub(crate) axes: Vec<usize>,
    #[serde(default)]
    pub(crate) layout: Layout,
}

#[derive(Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Call {
    Copy,
    Add,
    Sub,
    Mul,
    /// `a * b + c`, where `c` has the shape of `b`.
    MulAdd,
    Sum,
    Mean,
    Max,
    ArgMax,
    Var,
    LogSumExp,
    /// Of terms of which every tenth is NaN.
    NanSum,
    /// The same.
    NanMean,
    Count,
    L2,
    /// The sum of the products of two arrays of `a`'s shape.
    Product2,
    /// The same of three.
    Product3,
}

#[derive(Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Element {
    U8,
    I64,
    F16,
    #[default]
    F32,
    F64,
}

/// How all operands, and the existing result of a map, lie in memory.
#[derive(Default, PartialEq, Deserialize)]
#[serde(untagged)]
pub(crate) enum Layout {
    #[default]
    C,
    Named(LayoutName),
    /// The axes in the order of memory, the last one contiguous.
    Order(Vec<usize>),
}

#[derive(PartialEq, Deserialize)]
pub(crate) enum LayoutName {
    F,
    /// Standard layout, but the last axis has a negative stride.
    #[serde(rename = "reversed")]
    Reversed,
    /// The first operand in Fortran order, the others in standard layout.
    #[serde(rename = "mixed")]
    Mixed,
}

impl CallCase {
    /// Whether the call removes `axes`. The other calls are maps and copies.
    pub(crate) fn is_reduction(&self) -> bool {
        use Call::{Add, Copy, Mul, MulAdd, Sub};
        !matches!(self.call, Copy | Add | Sub | Mul | MulAdd)
    }

    pub(crate) fn out(&self) -> Vec<usize> {
        match self.call {
            Call::Copy if !self.out.is_empty() => self.out.clone(),
            Call::Copy => self.order().iter().map(|&axis| self.a[axis]).collect(),
            _ if self.is_reduction() => self.kept().iter().map(|&axis| self.a[axis]).collect(),
            _ => self
                .a
                .iter()
                .zip(&self.b)
                .map(|(&a, &b)| if a == 1 { b } else { a })
                .collect(),
        }
    }

    /// The axes that a reduction keeps.
    pub(crate) fn kept(&self) -> Vec<usize> {
        let all = 0..self.a.len();
        all.filter(|axis| !self.axes.contains(axis)).collect()
    }

    pub(crate) fn order(&self) -> Vec<usize> {
        match self.permute.as_slice() {
            [] => (0..self.a.len()).collect(),
            order => order.to_vec(),
        }
    }

    /// The expected element at an index, and the relative tolerance.
    pub(crate) fn expected(&self, index: &[usize]) -> (f64, f64) {
        let (a, b, c) = (
            |index: &[usize]| self.number(0, offset(&self.a, index)),
            |index: &[usize]| self.number(1, offset(&self.b, index)),
            |index: &[usize]| self.number(2, offset(&self.b, index)),
        );
        match self.call {
            Call::Copy => {
                let mut source = vec![0; self.a.len()];
                for (&axis, &i) in self.order().iter().zip(index) {
                    source[axis] = i;
                }
                (a(&source), 0.0)
            }
            Call::Add => (a(index) + b(index), 0.0),
            Call::Sub => (a(index) - b(index), 0.0),
            Call::Mul => (a(index) * b(index), 0.0),
            Call::MulAdd => (a(index) * b(index) + c(index), 1e-6),
            _ => self.reduced(index),
        }
    }

    /// `expected` of a reduction.
    fn reduced(&self, index: &[usize]) -> (f64, f64) {
        let sizes: Vec<usize> = self.axes.iter().map(|&axis| self.a[axis]).collect();
        let mut full = vec![0; self.a.len()];
        for (&axis, &i) in self.kept().iter().zip(index) {
            full[axis] = i;
        }
        // The last axis is a loop without indices: there may be many millions of terms.
        let (last, outer) = self.axes.split_last().expect("an axis or more is reduced");
        let step: usize = self.a[last + 1..].iter().product();
        let outer_sizes = &sizes[..outer.len()];
        let starts = (0..outer_sizes.iter().product()).map(|flat| {
            let mut full = full.clone();
            for (&axis, i) in outer.iter().zip(unravel(outer_sizes, flat)) {
                full[axis] = i;
            }
            offset(&self.a, &full)
        });
        let terms = starts.flat_map(|start| (0..self.a[*last]).map(move |i| start + i * step));
        let n: usize = sizes.iter().product();
        let a = |i| self.number(0, i);
        match self.call {
            Call::Max => (terms.map(a).fold(0.0, f64::max), 0.0),
            Call::ArgMax => {
                let first = |best: (f64, usize), (at, x)| if x > best.0 { (x, at) } else { best };
                (terms.map(a).enumerate().fold((0.0, 0), first).1 as f64, 0.0)
            }
            Call::Mean => (terms.map(a).sum::<f64>() / n as f64, self.error(n)),
            Call::NanSum => {
                let terms = terms.filter(|&i| !self.is_nan(i));
                (terms.map(a).sum(), self.error(n))
            }
            Call::NanMean => {
                let (count, terms) = (terms.clone(), terms.filter(|&i| !self.is_nan(i)));
                let count = count.filter(|&i| !self.is_nan(i)).count();
                (terms.map(a).sum::<f64>() / count as f64, self.error(n))
            }
            Call::Var => {
                let mean = terms.clone().map(a).sum::<f64>() / n as f64;
                let squares = terms.map(|i| (a(i) - mean).powi(2)).sum::<f64>();
                (squares / n as f64, self.error(n))
            }
            Call::LogSumExp => {
                let max = terms.clone().map(a).fold(0.0, f64::max);
                let sum: f64 = terms.map(|i| (a(i) - max).exp()).sum();
                (max + sum.ln(), self.error(n))
            }
            Call::Count => (terms.filter(|&i| a(i) != 0.0).count() as f64, 0.0),
            Call::L2 => (
                terms.map(|i| a(i).powi(2)).sum::<f64>().sqrt(),
                self.error(n),
            ),
            Call::Sum => (terms.map(a).sum(), self.error(n)),
            Call::Product2 => (terms.map(|i| a(i) * self.number(1, i)).sum(), self.error(n)),
            _ => {
                let product = |i| a(i) * self.number(1, i) * self.number(2, i);
                (terms.map(product).sum(), self.error(n))
            }
        }
    }

    /// The relative error of a sum of `n` positive terms in which some peer adds one by one.
    fn error(&self, n: usize) -> f64 {
        match self.element {
            Element::U8 | Element::I64 => 1e-15,
            Element::F64 => 1e-12,
            Element::F32 => (1e-6 + n as f64 * 6e-8).min(1e-2),
            Element::F16 => 1e-3,
        }
    }

    /// Whether element `i` of the operand is NaN.
    fn is_nan(&self, i: usize) -> bool {
        matches!(self.call, Call::NanSum | Call::NanMean) && i % 10 == 3
    }

    /// Element `i` of an operand, in the order of its indices.
    fn number(&self, operand: u32, i: usize) -> f64 {
        match self.element {
            Element::U8 => value::<u8>(operand, i).into(),
            _ => value::<f32>(operand, i).into(),
        }
    }

    /// An operand.
    pub(crate) fn array<T: Number, D: Dimension>(&self, operand: u32) -> Array<T, D> {
        let shape = if operand == 0 || self.is_reduction() {
            &self.a
        } else {
            &self.b
        };
        let mut array = self.placed(operand, shape);
        for (i, to) in array.iter_mut().enumerate() {
            *to = match self.is_nan(i) {
                true => T::zero() / T::zero(),
                false => value(operand, i),
            };
        }
        array
    }

    /// A target.
    pub(crate) fn zeros<T: Number, D: Dimension>(&self, shape: &[usize]) -> Array<T, D> {
        self.placed(1, shape)
    }

    /// An array of the case's layout for an operand.
    fn placed<T: Number, D: Dimension>(&self, operand: u32, shape: &[usize]) -> Array<T, D> {
        let axes = 0..shape.len();
        let order: Vec<usize> = match &self.layout {
            Layout::Order(order) => order.clone(),
            Layout::Named(LayoutName::F) => axes.rev().collect(),
            Layout::Named(LayoutName::Mixed) if operand == 0 => axes.rev().collect(),
            _ => axes.collect(),
        };
        let (mut memory, mut places) = (dimension::<D>(shape), dimension::<D>(shape));
        for (place, &axis) in order.iter().enumerate() {
            memory[place] = shape[axis];
            places[axis] = place;
        }
        let elements = source(memory.size(), T::default());
        let array = Array::from_shape_vec(memory, elements).expect("as many elements");
        let mut array = array.permuted_axes(places);
        if self.layout == Layout::Named(LayoutName::Reversed) {
            array.invert_axis(Axis(shape.len() - 1));
        }
        array
    }
}

/// What the calls need of an element.
pub(crate) trait Number: Num + Default + PartialOrd + Summand + AsPrimitive<f64> {
    /// The values are 1 to this number: it is exact, and the sum of two fits.
    const LARGEST: u32;

    fn from_u16(n: u16) -> Self;
}

macro_rules! number {
    ($($t:ty: $largest:literal)*) => {$(
        impl Number for $t {
            const LARGEST: u32 = $largest;

            fn from_u16(n: u16) -> Self {
                n.as_()
            }
        }
    )*};
}

number!(u8: 127 f16: 2048 i64: 2048 f32: 2048 f64: 2048);

/// Element `i` of an operand: a hash, so that the place of a maximum has no pattern.
fn value<T: Number>(operand: u32, i: usize) -> T {
    let mut x = (i as u32 ^ (operand << 30)).wrapping_mul(0x9E37_79B1);
    x = (x ^ (x >> 15)).wrapping_mul(0x85EB_CA77);
    T::from_u16(((x >> 16) % T::LARGEST) as u16 + 1)
}

pub(crate) fn dimension<D: Dimension>(sizes: &[usize]) -> D {
    let mut d = D::zeros(sizes.len());
    d.slice_mut().copy_from_slice(sizes);
    d
}

/// Serves a call that allocates its result, and the same call into `to`. An error leaves zeros in
/// `to`, and the check fails.
pub(crate) fn serve<T: AsPrimitive<f64>, D: Dimension, E>(
    bench: &Bench,
    mut to: Array<T, D>,
    fresh: impl Fn() -> Result<Array<T, D>, E>,
    into: impl Fn(&mut Array<T, D>) -> Result<(), E>,
) {
    bench.fresh(fresh, |array, check| {
        if let Ok(array) = array {
            elements(array, check);
        }
    });
    bench.into(&mut to, |to| drop(into(to)), elements);
}

pub(crate) fn elements<T: AsPrimitive<f64>, D: Dimension>(array: &Array<T, D>, check: &Check) {
    let array = array.view().into_dyn();
    check.elements(array.shape(), |index| array[index].as_());
}
