//! A broadcast of one array to a shape.

use super::answer::Answer;
use super::element::Element;
use super::fields::{Fields, Integers};
use super::ranks::{flat, positions, with_rank};
use ndarray::{Array, ArrayD, ArrayView, ArrayViewD, Axis, DimAdd, DimMax, Dimension, IxDyn, arr0};
use ndarray_broadcast::infer::ExpandShape;
use ndarray_broadcast::openvino::{Broadcast, IntegerTensor, Mode};
use ndarray_broadcast::prelude::*;
use serde_json::Value;

/// A call whose integers may be invalid sizes or axes.
pub enum Call {
    /// OpenVINO's operator.
    Operator {
        version: u8,
        mode: String,
        axis: Option<isize>,
        target_shape: Integers,
        axes_mapping: Option<Integers>,
    },
    Numpy(Integers),
    Bidirectional(Integers),
    BroadcastAxes(Integers, Integers),
    InDim(Integers, Integers),
    InDimPermuting(Integers, Integers),
    Prepend(Integers),
    Expand(Integers),
}

/// A call with valid sizes and axes.
pub enum Ready<'a> {
    Operator(Broadcast, &'a Integers, Option<&'a Integers>),
    Mode(Vec<usize>, BroadcastMode),
    Prepend(Vec<usize>),
}

impl Call {
    /// Parses the arguments of a rule. `None` if it is no rule for one array.
    pub fn parse(rule: &str, args: &mut Fields, shape: &[usize]) -> Result<Option<Self>, String> {
        let call = match rule {
            "openvino_broadcast_v1" => Call::operator(1, args, shape)?,
            "openvino_broadcast_v3" => Call::operator(3, args, shape)?,
            "ngraph_broadcast_axes" => {
                Call::BroadcastAxes(args.integers("shape")?, args.integers("broadcast_axes")?)
            }
            "onnx_expand" => Call::Bidirectional(args.integers("shape")?),
            "torch_expand" => Call::Expand(args.integers("size")?),
            "numpy_broadcast" => Call::Numpy(args.integers("shape")?),
            "xla_broadcast_in_dim" => {
                let dialect = args.text("dialect")?;
                match (&args.text("op")?[..], &dialect[..]) {
                    ("broadcast_in_dim", "xla_builder") => Call::InDim(
                        args.integers("shape")?,
                        args.integers("broadcast_dimensions")?,
                    ),
                    ("broadcast_in_dim", "stablehlo") => Call::InDimPermuting(
                        args.integers("shape")?,
                        args.integers("broadcast_dimensions")?,
                    ),
                    ("broadcast", "xla_builder") => Call::Prepend(args.integers("sizes")?),
                    (op, dialect) => return Err(format!("unknown op {op:?} in {dialect:?}")),
                }
            }
            _ => return Ok(None),
        };
        Ok(Some(call))
    }

    fn operator(version: u8, args: &mut Fields, shape: &[usize]) -> Result<Self, String> {
        let own_shape =
            || Integers::Unsigned(shape.iter().map(|&size| size as u64).collect::<Vec<_>>());
        let axes_mapping = args.take("axes_mapping");
        // Two of OpenVINO's own tests state only whether the third input is present. The other
        // inputs are then arbitrary.
        let (axes_mapping, open) = match axes_mapping {
            None => (None, false),
            Some(Value::String(text)) if text == "absent" => (None, true),
            Some(Value::String(text)) if text == "present" => {
                let identity = (0..shape.len() as u64).collect();
                (Some(Integers::Unsigned(identity)), true)
            }
            Some(value) => (Some(Integers::parse("axes_mapping", &value)?), false),
        };
        let target_shape = match args.take("target_shape") {
            Some(value) => Integers::parse("target_shape", &value)?,
            None if open => own_shape(),
            None => return Err("args has no \"target_shape\"".into()),
        };
        let mode = args.text("mode")?;
        // Only this mode has the attribute. With any other mode it is reported as an unknown key.
        let axis = match &mode[..] {
            "pdpd" => args.take("axis").map(|value| axis(&value)).transpose()?,
            _ => None,
        };
        Ok(Call::Operator {
            version,
            mode,
            axis,
            target_shape,
            axes_mapping,
        })
    }

    /// The valid call, or the error for its integers or mode.
    pub fn ready(&self) -> Result<Ready<'_>, BroadcastError> {
        Ok(match self {
            Call::Operator {
                version,
                mode,
                axis,
                target_shape,
                axes_mapping,
            } => {
                let mode = operator_mode(mode, *axis)?;
                let operator = match version {
                    1 => Broadcast::v1(),
                    _ => Broadcast::v3(),
                };
                Ready::Operator(
                    operator.with_mode(mode)?,
                    target_shape,
                    axes_mapping.as_ref(),
                )
            }
            Call::Numpy(shape) => Ready::Mode(shape.shape()?, BroadcastMode::Numpy),
            Call::Bidirectional(shape) => Ready::Mode(shape.shape()?, BroadcastMode::Bidirectional),
            Call::Expand(size) => Ready::Mode(size.expand_shape()?, BroadcastMode::Expand),
            Call::Prepend(sizes) => Ready::Prepend(sizes.shape()?),
            Call::BroadcastAxes(shape, axes) => {
                let broadcast_axes = axes.axes()?;
                Ready::Mode(
                    shape.shape()?,
                    BroadcastMode::BroadcastAxes { broadcast_axes },
                )
            }
            Call::InDim(shape, axes) => {
                let broadcast_dimensions = axes.axes()?;
                Ready::Mode(
                    shape.shape()?,
                    BroadcastMode::InDim {
                        broadcast_dimensions,
                    },
                )
            }
            Call::InDimPermuting(shape, axes) => {
                let broadcast_dimensions = axes.axes()?;
                Ready::Mode(
                    shape.shape()?,
                    BroadcastMode::InDimPermuting {
                        broadcast_dimensions,
                    },
                )
            }
        })
    }

    /// The plan for an input of this shape.
    pub fn plan(&self, shape: &[usize]) -> Result<BroadcastPlan, BroadcastError> {
        match self.ready()? {
            Ready::Operator(operator, target_shape, axes_mapping) => {
                let target_shape: &dyn IntegerTensor = match target_shape {
                    Integers::Signed(list) => list,
                    Integers::Unsigned(list) => list,
                };
                let axes_mapping = axes_mapping.map(|mapping| match mapping {
                    Integers::Signed(list) => list as &dyn IntegerTensor,
                    Integers::Unsigned(list) => list,
                });
                operator.plan(shape, target_shape, axes_mapping)
            }
            Ready::Mode(target, mode) => BroadcastPlan::with_mode(shape, target, &mode),
            Ready::Prepend(sizes) => BroadcastPlan::prepend(shape, sizes),
        }
    }

    /// The answer for this input. An `Err` if the crate's methods disagree.
    pub fn answer<T: Element>(
        &self,
        shape: &[usize],
        data: Option<Vec<T>>,
        reverse: Option<usize>,
    ) -> Result<Result<Answer<T>, BroadcastError>, String> {
        let plan = self.plan(shape);
        let placeholder = arr0(T::default());
        let array = match data {
            Some(data) => Some(
                ArrayD::from_shape_vec(IxDyn(shape), data).map_err(|error| error.to_string())?,
            ),
            None => None,
        };
        // Without data, the input is a view of one element, which takes no memory.
        let view = match &array {
            Some(array) => Some(array.view()),
            None => placeholder.broadcast(IxDyn(shape)),
        };
        let Some(view) = view else {
            return Ok(plan.map(|plan| Answer {
                shape: plan.output_shape().to_vec(),
                outputs: None,
            }));
        };

        let output = self.ready().and_then(|ready| dynamic(&ready, &view));
        match (&plan, &output) {
            (Ok(plan), Ok(output)) if plan.output_shape() == output.shape() => {}
            (Err(a), Err(b)) if a == b => {}
            _ => {
                let shape = output.as_ref().map(|output| output.shape());
                return Err(format!("the plan is {plan:?}, the view {shape:?}"));
            }
        }
        if let Ok(ready) = self.ready() {
            self.integer_types(&ready, shape, &plan)?;
            static_ranks(&ready, shape, array.as_ref(), &output)?;
        }
        let mut output = match output {
            Ok(output) => output,
            Err(error) => return Ok(Err(error)),
        };
        if let Some(axis) = reverse {
            if axis >= output.ndim() {
                return Err(format!("no axis {axis} to reverse"));
            }
            output.invert_axis(Axis(axis));
        }
        Ok(Ok(Answer {
            shape: output.shape().to_vec(),
            outputs: array.as_ref().map(|_| vec![flat(&output).1]),
        }))
    }

    /// Checks that OpenVINO's operator gives the same answer for each integer type of its inputs.
    fn integer_types(
        &self,
        ready: &Ready<'_>,
        shape: &[usize],
        plan: &Result<BroadcastPlan, BroadcastError>,
    ) -> Result<(), String> {
        let Ready::Operator(operator, target_shape, axes_mapping) = ready else {
            return Ok(());
        };
        let targets = tensors(target_shape);
        let mappings = match axes_mapping {
            Some(mapping) => tensors(mapping).into_iter().map(Some).collect(),
            None => vec![None],
        };
        for (target, target_shape) in &targets {
            for mapping in &mappings {
                let (name, axes_mapping) = match mapping {
                    Some((name, tensor)) => (*name, Some(&**tensor)),
                    None => ("absent", None),
                };
                let answer = operator.plan(shape, &**target_shape, axes_mapping);
                if answer != *plan {
                    return Err(format!(
                        "target_shape as {target}, axes_mapping as {name}: {answer:?}, not {plan:?}"
                    ));
                }
            }
        }
        Ok(())
    }
}

/// The integers as 1-D tensors of each type that can hold them.
fn tensors(integers: &Integers) -> Vec<(&'static str, Box<dyn IntegerTensor>)> {
    let mut tensors: Vec<(&'static str, Box<dyn IntegerTensor>)> = Vec::new();
    macro_rules! push {
        ($($t:ident)*) => {$(
            if let Some(list) = integers.tensor::<$t>() {
                tensors.push((stringify!($t), Box::new(Array::from(list).into_dyn())));
            }
        )*};
    }
    push!(i8 i16 i32 i64 u8 u16 u32 u64);
    tensors
}

fn dynamic<'a, T: Element>(
    ready: &Ready<'_>,
    view: &ArrayViewD<'a, T>,
) -> Result<ArrayViewD<'a, T>, BroadcastError> {
    match ready {
        Ready::Operator(operator, target_shape, axes_mapping) => {
            evaluate(operator, view.clone(), target_shape, *axes_mapping)
        }
        Ready::Mode(target, mode) => by_name(view, IxDyn(target), mode)
            .map(|_| ())
            .and_then(|()| BroadcastPlan::with_mode(view.raw_dim(), IxDyn(target), mode))
            .and_then(|plan| plan.view(view.clone())),
        Ready::Prepend(sizes) => {
            BroadcastPlan::prepend(view.raw_dim(), IxDyn(sizes))?.view(view.clone())
        }
    }
}

fn evaluate<'a, A, D: Dimension>(
    operator: &Broadcast,
    data: ArrayView<'a, A, D>,
    target_shape: &Integers,
    axes_mapping: Option<&Integers>,
) -> Result<ArrayViewD<'a, A>, BroadcastError> {
    let target_shape: &dyn IntegerTensor = match target_shape {
        Integers::Signed(list) => list,
        Integers::Unsigned(list) => list,
    };
    let axes_mapping = axes_mapping.map(|mapping| match mapping {
        Integers::Signed(list) => list as &dyn IntegerTensor,
        Integers::Unsigned(list) => list,
    });
    operator.evaluate(data, target_shape, axes_mapping)
}

/// Calls the trait's method for the mode.
fn by_name<'a, A, D, E>(
    array: &'a ArrayView<'_, A, D>,
    target: E,
    mode: &BroadcastMode,
) -> Result<ArrayView<'a, A, <D as DimMax<E>>::Output>, BroadcastError>
where
    D: Dimension + DimMax<E>,
    E: Dimension + ExpandShape<Dim = E>,
{
    match mode {
        BroadcastMode::Numpy => array.broadcast_numpy(target),
        BroadcastMode::Bidirectional => array.broadcast_bidirectional(target),
        BroadcastMode::Expand => array.broadcast_expand(target),
        BroadcastMode::BroadcastAxes { broadcast_axes } => {
            array.broadcast_axes(target, broadcast_axes)
        }
        BroadcastMode::InDim {
            broadcast_dimensions,
        } => array.broadcast_in_dim(target, broadcast_dimensions),
        BroadcastMode::InDimPermuting {
            broadcast_dimensions,
        } => array.broadcast_in_dim_permuting(target, broadcast_dimensions),
        other => array.broadcast_to_mode(target, other),
    }
}

/// Checks that the call gives the same answer with static ranks.
fn static_ranks<T: Element>(
    ready: &Ready<'_>,
    shape: &[usize],
    array: Option<&ArrayD<T>>,
    output: &Result<ArrayViewD<'_, T>, BroadcastError>,
) -> Result<(), String> {
    let Some(array) = array else {
        return Ok(());
    };
    type Flat = Result<(Vec<usize>, Vec<usize>), BroadcastError>;
    let answer: Option<Flat> =
        match ready {
            Ready::Operator(operator, target_shape, axes_mapping) => with_rank!(shape, |input| {
                let positions = positions(input);
                evaluate(operator, positions.view(), target_shape, *axes_mapping)
                    .map(|view| flat(&view))
            }),
            Ready::Mode(target, mode) => with_rank!(shape, |input| with_rank!(
                &target[..],
                |target| by_name(&positions(input).view(), target, mode).map(|view| flat(&view))
            ))
            .flatten(),
            Ready::Prepend(sizes) => {
                with_rank!(shape, |input| with_rank!(&sizes[..], |sizes| prepend(
                    input, sizes
                )))
                .flatten()
            }
        };
    match (answer, output) {
        (None, _) => Ok(()),
        (Some(Err(a)), Err(b)) if a == *b => Ok(()),
        (Some(Ok((shape, positions))), Ok(output)) => {
            let data = array.as_slice().ok_or("the input is not contiguous")?;
            let (dynamic_shape, dynamic) = flat(output);
            let fits = positions.iter().zip(&dynamic);
            match shape == dynamic_shape
                && positions.len() == dynamic.len()
                && fits
                    .clone()
                    .all(|(&position, element)| data[position] == *element)
            {
                true => Ok(()),
                false => Err(format!(
                    "static ranks give shape {shape:?}, elements {positions:?}, \
                     dynamic ones {dynamic_shape:?}, {dynamic:?}"
                )),
            }
        }
        (Some(answer), output) => Err(format!(
            "static ranks give {answer:?}, dynamic ones {:?}",
            output.as_ref().map(|output| output.shape())
        )),
    }
}

fn prepend<I, E>(input: I, sizes: E) -> Result<(Vec<usize>, Vec<usize>), BroadcastError>
where
    I: Dimension,
    E: Dimension + DimAdd<I>,
{
    let positions = positions(input);
    positions.broadcast_prepend(sizes).map(|view| flat(&view))
}

/// An axis that may be negative.
pub fn axis(value: &Value) -> Result<isize, String> {
    (value.as_i64().and_then(|axis| isize::try_from(axis).ok()))
        .ok_or_else(|| format!("axis is {value}, not an integer"))
}

/// The mode of OpenVINO's operator by name, with its axis if it has one.
pub fn operator_mode(name: &str, axis: Option<isize>) -> Result<Mode, BroadcastError> {
    Ok(match (with_axis(name).parse()?, axis) {
        (Mode::Pdpd { .. }, Some(axis)) => Mode::Pdpd { axis },
        (mode, _) => mode,
    })
}

/// The mode as this crate spells it: a bare `pdpd` of a graph file is axis 0.
fn with_axis(mode: &str) -> &str {
    match mode {
        "pdpd" => "pdpd(0)",
        _ => mode,
    }
}
