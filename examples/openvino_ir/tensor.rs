//! Arrays whose element type is known at run time only.

use half::f16;
use ndarray::{ArrayD, IxDyn, ShapeBuilder};
use ndarray_broadcast::openvino::IntegerTensor;
use ndarray_broadcast::{BroadcastError, BroadcastPlan};
use std::fmt;

/// No array that the example makes is larger, whatever a model asks for.
pub const MAXIMUM_BYTES: usize = 1 << 30;

/// An element that files hold, in little-endian bytes.
pub trait Element: Copy + PartialEq {
    const SIZE: usize;
    fn from_bytes(bytes: &[u8]) -> Self;
    /// Whether two elements are the same; a NaN is one NaN like any other.
    fn same(self, other: Self) -> bool;
}

macro_rules! elements {
    ($($t:ty)*) => {$(
        impl Element for $t {
            const SIZE: usize = size_of::<$t>();
            fn from_bytes(bytes: &[u8]) -> Self {
                let mut own = [0; size_of::<$t>()];
                own.copy_from_slice(bytes);
                <$t>::from_le_bytes(own)
            }
            #[allow(clippy::eq_op)]
            fn same(self, other: Self) -> bool {
                self == other || (self != self && other != other)
            }
        }
    )*};
}

elements!(f16 f32 f64 i8 i16 i32 i64 u8 u16 u32 u64);

impl Element for bool {
    const SIZE: usize = 1;
    fn from_bytes(bytes: &[u8]) -> Self {
        bytes != [0]
    }
    fn same(self, other: Self) -> bool {
        self == other
    }
}

macro_rules! tensors {
    ($($variant:ident $t:ty, $model:literal, $npy:literal;)*) => {
        /// The type of a tensor's elements.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum ElementType {
            $($variant,)*
        }

        /// An array of any of the element types.
        #[derive(Debug, Clone)]
        pub enum Tensor {
            $($variant(ArrayD<$t>),)*
        }

        impl ElementType {
            /// The type that a model's `element_type` names.
            pub fn from_model(name: &str) -> Option<Self> {
                match name {
                    $($model => Some(ElementType::$variant),)*
                    _ => None,
                }
            }

            /// The type that a `.npy` file's `descr` names.
            pub fn from_npy(descr: &str) -> Option<Self> {
                match descr {
                    $($npy => Some(ElementType::$variant),)*
                    _ => None,
                }
            }

            /// Size of an element in bytes.
            pub fn size(self) -> usize {
                match self {
                    $(ElementType::$variant => <$t as Element>::SIZE,)*
                }
            }

            /// A tensor out of bytes that are exactly as many as its shape needs.
            pub fn tensor(self, shape: &[usize], fortran: bool, bytes: &[u8]) -> Result<Tensor, String> {
                byte_count(shape, self.size())?;
                match self {
                    $(ElementType::$variant => {
                        let elements = bytes.chunks_exact(<$t as Element>::SIZE).map(<$t as Element>::from_bytes);
                        ArrayD::from_shape_vec(IxDyn(shape).set_f(fortran), elements.collect())
                            .map(Tensor::$variant)
                            .map_err(|error| error.to_string())
                    })*
                }
            }
        }

        impl fmt::Display for ElementType {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self {
                    $(ElementType::$variant => $model,)*
                })
            }
        }

        impl Tensor {
            pub fn element_type(&self) -> ElementType {
                match self {
                    $(Tensor::$variant(_) => ElementType::$variant,)*
                }
            }

            pub fn shape(&self) -> &[usize] {
                match self {
                    $(Tensor::$variant(array) => array.shape(),)*
                }
            }

            /// The tensor that a plan makes of this one. The next layer may be of any kind, so it is no view.
            pub fn broadcast(&self, plan: &BroadcastPlan) -> Result<Tensor, BroadcastError> {
                match self {
                    $(Tensor::$variant(array) => Ok(Tensor::$variant(plan.view(array)?.to_owned())),)*
                }
            }

            /// The first index, in row-major order, where two tensors of one type and shape differ.
            pub fn first_difference(&self, other: &Tensor) -> Option<usize> {
                match (self, other) {
                    $((Tensor::$variant(a), Tensor::$variant(b)) => a
                        .iter()
                        .zip(b)
                        .position(|(a, b)| !a.same(*b)),)*
                    _ => Some(0),
                }
            }
        }
    };
}

tensors! {
    F16 f16, "f16", "<f2";
    F32 f32, "f32", "<f4";
    F64 f64, "f64", "<f8";
    I8 i8, "i8", "|i1";
    I16 i16, "i16", "<i2";
    I32 i32, "i32", "<i4";
    I64 i64, "i64", "<i8";
    U8 u8, "u8", "|u1";
    U16 u16, "u16", "<u2";
    U32 u32, "u32", "<u4";
    U64 u64, "u64", "<u8";
    Boolean bool, "boolean", "|b1";
}

impl Tensor {
    /// The tensor as sizes or axes, if its elements are integers.
    pub fn as_integers(&self) -> Option<&dyn IntegerTensor> {
        match self {
            Tensor::I8(array) => Some(array),
            Tensor::I16(array) => Some(array),
            Tensor::I32(array) => Some(array),
            Tensor::I64(array) => Some(array),
            Tensor::U8(array) => Some(array),
            Tensor::U16(array) => Some(array),
            Tensor::U32(array) => Some(array),
            Tensor::U64(array) => Some(array),
            Tensor::F16(_) | Tensor::F32(_) | Tensor::F64(_) | Tensor::Boolean(_) => None,
        }
    }
}

/// How many bytes a tensor takes, if it is one that the example makes.
pub fn byte_count(shape: &[usize], element_size: usize) -> Result<usize, String> {
    (shape.iter())
        .try_fold(element_size, |bytes, &size| bytes.checked_mul(size))
        .filter(|&bytes| bytes <= MAXIMUM_BYTES)
        .ok_or_else(|| {
            format!(
                "a tensor of shape {shape:?} passes this example's limit of {MAXIMUM_BYTES} bytes"
            )
        })
}
