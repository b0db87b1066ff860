//! Arrays whose element type is known only at run time.

use half::f16;
use ndarray::{ArrayD, IxDyn, ShapeBuilder};
use std::fmt;

/// An element type that files can contain.
pub trait Element: Copy + Send + Sync + fmt::Debug + 'static {
    const SIZE: usize;
    /// Decodes an element. `None` if no element has these bytes.
    fn from_bytes(bytes: &[u8], big_endian: bool) -> Option<Self>;
}

macro_rules! numbers {
    ($($t:ty)*) => {$(
        impl Element for $t {
            const SIZE: usize = size_of::<$t>();
            fn from_bytes(bytes: &[u8], big_endian: bool) -> Option<Self> {
                let bytes = bytes.try_into().ok()?;
                Some(match big_endian {
                    true => <$t>::from_be_bytes(bytes),
                    false => <$t>::from_le_bytes(bytes),
                })
            }
        }
    )*};
}

numbers!(f16 f32 f64 i8 i16 i32 i64 u8 u16 u32 u64);

impl Element for bool {
    const SIZE: usize = 1;
    fn from_bytes(bytes: &[u8], _: bool) -> Option<Self> {
        match bytes {
            [0] => Some(false),
            [1] => Some(true),
            _ => None,
        }
    }
}

macro_rules! tensors {
    ($($variant:ident $t:ty, $npy:literal;)*) => {
        /// The element type of a tensor.
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
            /// The type named by the `descr` of a `.npy` file, without its byte order.
            pub fn from_npy(name: &str) -> Option<Self> {
                match name {
                    $($npy => Some(ElementType::$variant),)*
                    _ => None,
                }
            }

            /// The size of an element in bytes.
            pub fn size(self) -> usize {
                match self {
                    $(ElementType::$variant => <$t as Element>::SIZE,)*
                }
            }

            /// Decodes a tensor. The shape must need exactly these bytes.
            pub fn tensor(
                self,
                shape: &[usize],
                order: Order,
                bytes: &[u8],
            ) -> Result<Tensor, String> {
                match self {
                    $(ElementType::$variant => {
                        array::<$t>(self, shape, order, bytes).map(Tensor::$variant)
                    })*
                }
            }
        }

        impl fmt::Display for ElementType {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self {
                    $(ElementType::$variant => stringify!($t),)*
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
        }

        $(impl From<ArrayD<$t>> for Tensor {
            fn from(array: ArrayD<$t>) -> Self {
                Tensor::$variant(array)
            }
        })*
    };
}

tensors! {
    F16 f16, "f2";
    F32 f32, "f4";
    F64 f64, "f8";
    I8 i8, "i1";
    I16 i16, "i2";
    I32 i32, "i4";
    I64 i64, "i8";
    U8 u8, "u1";
    U16 u16, "u2";
    U32 u32, "u4";
    U64 u64, "u8";
    Boolean bool, "b1";
}

/// Evaluates an expression with the array of a tensor of any element type.
macro_rules! with_array {
    ($tensor:expr, $array:ident => $value:expr) => {
        match $tensor {
            $crate::tensor::Tensor::F16($array) => $value,
            $crate::tensor::Tensor::F32($array) => $value,
            $crate::tensor::Tensor::F64($array) => $value,
            $crate::tensor::Tensor::I8($array) => $value,
            $crate::tensor::Tensor::I16($array) => $value,
            $crate::tensor::Tensor::I32($array) => $value,
            $crate::tensor::Tensor::I64($array) => $value,
            $crate::tensor::Tensor::U8($array) => $value,
            $crate::tensor::Tensor::U16($array) => $value,
            $crate::tensor::Tensor::U32($array) => $value,
            $crate::tensor::Tensor::U64($array) => $value,
            $crate::tensor::Tensor::Boolean($array) => $value,
        }
    };
}
pub(crate) use with_array;

/// The memory order of a tensor's elements, and their byte order.
#[derive(Debug, Clone, Copy, Default)]
pub struct Order {
    /// The first axis varies fastest.
    pub fortran: bool,
    pub big_endian: bool,
}

fn array<T: Element>(
    element_type: ElementType,
    shape: &[usize],
    order: Order,
    bytes: &[u8],
) -> Result<ArrayD<T>, String> {
    let mut elements = Vec::new();
    (elements.try_reserve_exact(bytes.len() / T::SIZE)).map_err(|error| error.to_string())?;
    for (position, bytes) in bytes.chunks_exact(T::SIZE).enumerate() {
        let element = T::from_bytes(bytes, order.big_endian).ok_or_else(|| {
            format!("element {position} is no {element_type}: its bytes are {bytes:?}")
        })?;
        elements.push(element);
    }
    ArrayD::from_shape_vec(IxDyn(shape).set_f(order.fortran), elements)
        .map_err(|error| format!("shape {shape:?}: {error}"))
}

/// The number of bytes of a tensor; more than `maximum` are an error.
pub fn byte_count(shape: &[usize], element_size: usize, maximum: usize) -> Result<usize, String> {
    (shape.iter())
        .try_fold(element_size, |bytes, &size| bytes.checked_mul(size))
        .filter(|&bytes| bytes <= maximum)
        .ok_or_else(|| {
            format!("a tensor of shape {shape:?} passes this example's limit of {maximum} bytes")
        })
}
