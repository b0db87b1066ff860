//! The element types of the cases and the operations on them.

use serde_json::Value;
use std::fmt::Debug;

/// An operation of two elements.
#[derive(Debug, Clone, Copy)]
pub enum Operation {
    Add,
    Subtract,
    Multiply,
    Maximum,
}

impl Operation {
    pub fn parse(name: &str) -> Result<Self, String> {
        match name {
            "add" => Ok(Operation::Add),
            "sub" => Ok(Operation::Subtract),
            "mul" => Ok(Operation::Multiply),
            "max" => Ok(Operation::Maximum),
            _ => Err(format!("unknown op {name:?}")),
        }
    }
}

pub trait Element: Copy + PartialEq + Debug + Default + Send + Sync {
    fn parse(value: &Value) -> Option<Self>;
    /// The element at this position of `"iota"`.
    fn iota(position: usize) -> Self;
    fn apply(operation: Operation, a: Self, b: Self) -> Self;
    /// The value as the digests store it, if it fits.
    fn as_i32(self) -> Option<i32>;
}

macro_rules! integers {
    ($($t:ty)*) => {$(
        impl Element for $t {
            fn parse(value: &Value) -> Option<Self> {
                value.as_i64()?.try_into().ok()
            }
            fn iota(position: usize) -> Self {
                position as $t
            }
            fn apply(operation: Operation, a: Self, b: Self) -> Self {
                // Integers wrap in the peers.
                match operation {
                    Operation::Add => a.wrapping_add(b),
                    Operation::Subtract => a.wrapping_sub(b),
                    Operation::Multiply => a.wrapping_mul(b),
                    Operation::Maximum => a.max(b),
                }
            }
            fn as_i32(self) -> Option<i32> {
                self.try_into().ok()
            }
        }
    )*};
}

macro_rules! floats {
    ($($t:ty)*) => {$(
        impl Element for $t {
            fn parse(value: &Value) -> Option<Self> {
                Some(value.as_f64()? as $t)
            }
            fn iota(position: usize) -> Self {
                position as $t
            }
            fn apply(operation: Operation, a: Self, b: Self) -> Self {
                match operation {
                    Operation::Add => a + b,
                    Operation::Subtract => a - b,
                    Operation::Multiply => a * b,
                    Operation::Maximum => a.max(b),
                }
            }
            fn as_i32(self) -> Option<i32> {
                (self as i32 as $t == self).then_some(self as i32)
            }
        }
    )*};
}

integers!(i8 i32 i64 u8);
floats!(f32 f64);

/// Parses `len` elements: a flat list, or `"iota"` for 0, 1, 2, ...
pub fn elements<T: Element>(key: &str, value: &Value, len: usize) -> Result<Vec<T>, String> {
    let elements: Vec<T> = match value {
        Value::String(text) if text == "iota" => (0..len).map(T::iota).collect(),
        Value::Array(list) => list
            .iter()
            .map(|value| T::parse(value).ok_or_else(|| format!("{key} holds {value}")))
            .collect::<Result<_, _>>()?,
        other => return Err(format!("{key} is {other}, not a list")),
    };
    match elements.len() == len {
        true => Ok(elements),
        false => Err(format!(
            "{key} has {} elements, its shape {len}",
            elements.len()
        )),
    }
}

/// The number of elements of a shape, or an error if they are too many for a case.
pub fn element_count(shape: &[usize]) -> Result<usize, String> {
    /// More elements than this are a mistake in the file.
    const MAXIMUM: usize = 1 << 24;
    (shape.iter())
        .try_fold(1_usize, |count, &size| count.checked_mul(size))
        .filter(|&count| count <= MAXIMUM)
        .ok_or_else(|| format!("an input of shape {shape:?} is too large for a case"))
}
