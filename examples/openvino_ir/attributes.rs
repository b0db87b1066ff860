//! The attributes of layers.

use crate::model::Layer;
use crate::tensor::ElementType;
use ndarray::Dimension;
use ndarray_broadcast::infer::{PartialShape, PartialSize};
use ndarray_broadcast::openvino::{Broadcast, Mode};
use ndarray_broadcast::{BroadcastError, ElementwiseRule};

/// The newest operation set of OpenVINO.
const LAST_OPERATION_SET: u32 = 16;

impl Layer {
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.get(name).map(String::as_str)
    }

    pub fn required(&self, name: &str) -> Result<&str, String> {
        self.attribute(name)
            .ok_or_else(|| format!("{self} has no attribute {name:?}"))
    }

    pub fn number(&self, name: &str) -> Result<u64, String> {
        let text = self.required(name)?;
        text.parse()
            .map_err(|_| format!("{self}: {name} is {text:?}, not a size"))
    }

    /// An attribute that is true or false.
    pub fn flag(&self, name: &str, default: bool) -> Result<bool, String> {
        match self.attribute(name) {
            None => Ok(default),
            Some(text) => match &text.to_ascii_lowercase()[..] {
                "true" | "1" => Ok(true),
                "false" | "0" => Ok(false),
                _ => Err(format!("{self}: {name} is {text:?}, not true or false")),
            },
        }
    }

    /// The attribute `element_type` of a `Parameter` or `Const`.
    pub fn element_type(&self) -> Result<ElementType, String> {
        self.type_named("element_type", self.required("element_type")?)
    }

    /// The attribute `element_type`; `None` if this example does not compute with the type.
    pub fn optional_element_type(&self) -> Result<Option<ElementType>, String> {
        self.required("element_type").map(element_type)
    }

    /// An attribute that names an element type.
    pub fn type_named(&self, attribute: &str, name: &str) -> Result<ElementType, String> {
        element_type(name).ok_or_else(|| {
            let what = attribute.replace('_', " ");
            format!("{self}: {what} {name:?} is unknown here")
        })
    }

    /// The attribute `shape` of a `Parameter`: sizes, `?`, or ranges such as `2..7`, `2..` and
    /// `..7`; all of it is `...` if the rank is not known.
    pub fn parameter_shape(&self) -> Result<PartialShape, String> {
        let text = self.required("shape")?;
        match text.trim() {
            "..." => Ok(PartialShape::UNKNOWN),
            "" => Ok(PartialShape::known(())),
            list => (list.split(','))
                .map(|size| {
                    parameter_size(size.trim()).ok_or_else(|| {
                        format!("{self}: shape is {text:?}, not a list of sizes and ranges")
                    })
                })
                .collect::<Result<Vec<_>, _>>()
                .map(PartialShape::new),
        }
    }

    /// The attribute `shape` of a `Const`.
    pub fn constant_shape(&self) -> Result<Vec<usize>, String> {
        let shape = self.parameter_shape()?;
        let known = shape.value().ok_or_else(|| {
            format!("{self}: shape is {shape}, and a constant's sizes are all known")
        })?;
        Ok(known.slice().to_vec())
    }

    /// The operator of a `Broadcast` layer.
    pub fn broadcast_operator(&self) -> Result<Broadcast, String> {
        let operator = match self.operation_set()? {
            1 | 2 => Broadcast::v1(),
            _ => Broadcast::v3(),
        };
        let in_layer = |error: BroadcastError| self.of_error(&error);
        let mode = self.attribute("mode").unwrap_or("numpy");
        // A bare pdpd of a graph file has its axis in another attribute.
        let mode = match mode.eq_ignore_ascii_case("pdpd") {
            true => Mode::Pdpd {
                axis: self.axis(&["mode.auto_broadcast_axis", "mode.axis"])?,
            },
            false => mode.parse().map_err(in_layer)?,
        };
        operator.with_mode(mode).map_err(in_layer)
    }

    /// Whether a `Broadcast` layer uses its third input. OpenVINO writes a scalar without meaning
    /// for Broadcast-1 in each mode but explicit.
    pub fn takes_axes_mapping(&self, operator: Broadcast, rank: Option<usize>) -> bool {
        operator.version() != 1 || operator.mode() == Mode::Explicit || rank != Some(0)
    }

    /// The attribute `auto_broadcast`.
    pub fn rule(&self) -> Result<ElementwiseRule, String> {
        let name = self.attribute("auto_broadcast").unwrap_or("numpy");
        match &name.to_ascii_lowercase()[..] {
            "none" | "explicit" => Ok(ElementwiseRule::None),
            "numpy" => Ok(ElementwiseRule::Numpy),
            "pdpd" => Ok(ElementwiseRule::Pdpd {
                axis: self.axis(&["auto_broadcast.auto_broadcast_axis"])?,
            }),
            _ => Err(format!(
                "{self}: auto_broadcast is {name:?}; known are none, numpy and pdpd"
            )),
        }
    }

    /// The number of the operation set, as in `opset3`.
    fn operation_set(&self) -> Result<u32, String> {
        (self.version.strip_prefix("opset"))
            .and_then(|number| number.parse().ok())
            .filter(|number| (1..=LAST_OPERATION_SET).contains(number))
            .ok_or_else(|| format!("{self}: operation set {:?} is unknown here", self.version))
    }

    /// The axis of pdpd, an attribute with any of these names. The default is 0.
    fn axis(&self, names: &[&str]) -> Result<isize, String> {
        match names.iter().find_map(|name| self.attribute(name)) {
            None => Ok(0),
            Some(text) => {
                (text.parse()).map_err(|_| format!("{self}: axis is {text:?}, not an integer"))
            }
        }
    }

    /// An error of the crate without its picture: the first line, and the remark under the axis at
    /// fault.
    pub fn of_error(&self, error: &BroadcastError) -> String {
        let text = error.to_string();
        let mut lines = text.lines();
        let first = lines.next().unwrap_or_default();
        match lines.next_back() {
            Some(last) => format!("{self}: {first}: {}", last.trim().trim_start_matches("^ ")),
            None => format!("{self}: {first}"),
        }
    }
}

fn parameter_size(text: &str) -> Option<PartialSize> {
    if text == "?" || text == "-1" {
        return Some(PartialSize::ANY);
    }
    match text.split_once("..") {
        None => text.parse().ok().map(PartialSize::known),
        Some((min, "")) => min.parse::<usize>().ok().map(|min| (min..).into()),
        Some((min, max)) => {
            let min = if min.is_empty() { 0 } else { min.parse().ok()? };
            PartialSize::between(min, max.parse().ok()?).ok()
        }
    }
}

fn element_type(name: &str) -> Option<ElementType> {
    Some(match name {
        "f16" => ElementType::F16,
        "f32" => ElementType::F32,
        "f64" => ElementType::F64,
        "i8" => ElementType::I8,
        "i16" => ElementType::I16,
        "i32" => ElementType::I32,
        "i64" => ElementType::I64,
        "u8" => ElementType::U8,
        "u16" => ElementType::U16,
        "u32" => ElementType::U32,
        "u64" => ElementType::U64,
        "boolean" => ElementType::Boolean,
        _ => return None,
    })
}
