//! Elementwise layers of two operands.

use crate::layers::{map, wrong_types};
use crate::model::Layer;
use crate::tensor::Tensor;

pub const ARITHMETIC: [&str; 7] = [
    "Add",
    "Subtract",
    "Multiply",
    "Divide",
    "Maximum",
    "Minimum",
    "SquaredDifference",
];

pub const COMPARISONS: [&str; 6] = [
    "Equal",
    "NotEqual",
    "Greater",
    "GreaterEqual",
    "Less",
    "LessEqual",
];

pub const LOGICAL: [&str; 3] = ["LogicalAnd", "LogicalOr", "LogicalXor"];

pub fn arithmetic(layer: &Layer, a: &Tensor, b: &Tensor) -> Result<Tensor, String> {
    let rule = layer.rule()?;
    macro_rules! dispatch {
        (integers: $($integer:ident $t:ty)*; floats: $($float:ident $f:ty)*) => {
            match (a, b) {
                $((Tensor::$integer(a), Tensor::$integer(b)) => {
                    let f: fn($t, $t) -> $t = match &layer.kind[..] {
                        "Add" => |a, b| a.wrapping_add(b),
                        "Subtract" => |a, b| a.wrapping_sub(b),
                        "Multiply" => |a, b| a.wrapping_mul(b),
                        "Maximum" => |a, b| a.max(b),
                        "Minimum" => |a, b| a.min(b),
                        "SquaredDifference" => |a, b| {
                            let difference = a.wrapping_sub(b);
                            difference.wrapping_mul(difference)
                        },
                        _ => return Err(format!("{layer}: integers are not divided here")),
                    };
                    map(layer, &rule, a, b, f).map(Tensor::$integer)
                })*
                $((Tensor::$float(a), Tensor::$float(b)) => {
                    let f: fn($f, $f) -> $f = match &layer.kind[..] {
                        "Add" => |a, b| a + b,
                        "Subtract" => |a, b| a - b,
                        "Multiply" => |a, b| a * b,
                        "Divide" => |a, b| a / b,
                        "Maximum" => |a, b| if a < b { b } else { a },
                        "Minimum" => |a, b| if b < a { b } else { a },
                        _ => |a, b| (a - b) * (a - b),
                    };
                    map(layer, &rule, a, b, f).map(Tensor::$float)
                })*
                _ => Err(wrong_types(layer, &[a, b])),
            }
        };
    }
    dispatch!(
        integers: I8 i8 I16 i16 I32 i32 I64 i64 U8 u8 U16 u16 U32 u32 U64 u64;
        floats: F16 half::f16 F32 f32 F64 f64
    )
}

pub fn comparison(layer: &Layer, a: &Tensor, b: &Tensor) -> Result<Tensor, String> {
    let rule = layer.rule()?;
    macro_rules! dispatch {
        ($($variant:ident $t:ty)*) => {
            match (a, b) {
                $((Tensor::$variant(a), Tensor::$variant(b)) => {
                    let f: fn($t, $t) -> bool = match &layer.kind[..] {
                        "Equal" => |a, b| a == b,
                        "NotEqual" => |a, b| a != b,
                        "Greater" => |a, b| a > b,
                        "GreaterEqual" => |a, b| a >= b,
                        "Less" => |a, b| a < b,
                        _ => |a, b| a <= b,
                    };
                    map(layer, &rule, a, b, f).map(Tensor::Boolean)
                })*
                _ => Err(wrong_types(layer, &[a, b])),
            }
        };
    }
    dispatch!(
        I8 i8 I16 i16 I32 i32 I64 i64 U8 u8 U16 u16 U32 u32 U64 u64
        F16 half::f16 F32 f32 F64 f64 Boolean bool
    )
}

pub fn logical(layer: &Layer, a: &Tensor, b: &Tensor) -> Result<Tensor, String> {
    let (Tensor::Boolean(x), Tensor::Boolean(y)) = (a, b) else {
        return Err(wrong_types(layer, &[a, b]));
    };
    let f: fn(bool, bool) -> bool = match &layer.kind[..] {
        "LogicalAnd" => |a, b| a & b,
        "LogicalOr" => |a, b| a | b,
        _ => |a, b| a ^ b,
    };
    map(layer, &layer.rule()?, x, y, f).map(Tensor::Boolean)
}
