//! The layer `Convert`.

use crate::model::Layer;
use crate::tensor::{Element, ElementType, Tensor, with_array};
use half::f16;
use ndarray::ArrayD;

/// A number of any element type, without loss.
#[derive(Clone, Copy)]
enum Number {
    Integer(i128),
    Float(f64),
}

trait Convertible: Element {
    fn number(self) -> Number;
    fn from_number(number: Number) -> Self;
}

macro_rules! integers {
    ($($t:ty)*) => {$(
        impl Convertible for $t {
            fn number(self) -> Number {
                Number::Integer(self.into())
            }
            // Integers wrap. Floats lose their fraction.
            fn from_number(number: Number) -> Self {
                match number {
                    Number::Integer(integer) => integer as $t,
                    Number::Float(float) => float as $t,
                }
            }
        }
    )*};
}

integers!(i8 i16 i32 i64 u8 u16 u32 u64);

macro_rules! floats {
    ($($t:ty, $from_integer:expr, $from_float:expr;)*) => {$(
        impl Convertible for $t {
            fn number(self) -> Number {
                Number::Float(self.into())
            }
            fn from_number(number: Number) -> Self {
                match number {
                    Number::Integer(integer) => $from_integer(integer),
                    Number::Float(float) => $from_float(float),
                }
            }
        }
    )*};
}

floats! {
    f16, |integer| f16::from_f64(integer as f64), f16::from_f64;
    f32, |integer| integer as f32, |float| float as f32;
    f64, |integer| integer as f64, |float| float;
}

impl Convertible for bool {
    fn number(self) -> Number {
        Number::Integer(self.into())
    }
    fn from_number(number: Number) -> Self {
        match number {
            Number::Integer(integer) => integer != 0,
            Number::Float(float) => float != 0.0,
        }
    }
}

pub fn convert(layer: &Layer, data: &Tensor) -> Result<Tensor, String> {
    let name = layer.required("destination_type")?;
    let destination = layer.type_named("destination_type", name)?;
    Ok(with_array!(data, array => converted(array, destination)))
}

fn converted<T: Convertible>(array: &ArrayD<T>, destination: ElementType) -> Tensor {
    macro_rules! dispatch {
        ($($variant:ident)*) => {
            match destination {
                $(ElementType::$variant => Tensor::$variant(
                    array.mapv(|element| Convertible::from_number(element.number())),
                ),)*
            }
        };
    }
    dispatch!(F16 F32 F64 I8 I16 I32 I64 U8 U16 U32 U64 Boolean)
}
