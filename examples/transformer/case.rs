//! Reads a recorded case: a folder of `.npy` files. The content is not trusted.

use crate::attention::Attention;
use crate::block::Block;
use crate::command_line::Failure;
use crate::layer_norm::LayerNorm;
use crate::mlp::Mlp;
use crate::npy;
use crate::tensor::Tensor;
use ndarray::{Array, Array0, Array2, Array3, ArrayD, Dimension, IntoDimension, Ix2, Ix3, Ix4};
use std::fmt;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

/// The longest file to read.
const MAXIMUM_BYTES: usize = 1 << 24;
/// The limit on the elements of each array of the block.
const MAXIMUM_ELEMENTS: usize = 1 << 24;

/// The input of a block, and what torch computes of it.
#[derive(Debug)]
pub struct Case {
    pub sizes: Sizes,
    pub x: Array3<f64>,
    pub keep: Array2<bool>,
    pub target: Array3<f64>,
    pub block: Block,
    pub out: Array3<f64>,
    pub loss: Array0<f64>,
    pub dx: Array3<f64>,
    pub gradient: Block,
}

/// The sizes that all shapes follow from; `block.rs` says what they are.
#[derive(Debug)]
pub struct Sizes {
    batch: usize,
    tokens: usize,
    model: usize,
    heads: usize,
    group: usize,
    features: usize,
    hidden: usize,
}

impl Case {
    pub fn read(folder: &Path) -> Result<Case, Failure> {
        let x = read::<Ix3>(folder, "x")?;
        let (batch, tokens, model) = x.dim();
        let (_, heads, group, features) = read::<Ix4>(folder, "w_q")?.dim();
        let (_, hidden) = read::<Ix2>(folder, "w_gate")?.dim();
        let sizes = Sizes {
            batch,
            tokens,
            model,
            heads,
            group,
            features,
            hidden,
        };
        (sizes.check())
            .map_err(|problem| Failure::Data(format!("{}: {problem}", folder.display())))?;
        let keep = match tensor(folder, "keep")? {
            Tensor::Boolean(keep) => shaped(folder, "keep", keep, (batch, tokens))?,
            other => return Err(wrong_type(folder, "keep", "bool", &other)),
        };
        if !keep.column(0).iter().all(|keep| *keep) {
            let problem = "it leaves out a first token, whose query then sees no key";
            return Err(in_file(folder, "keep", problem.into()));
        }
        Ok(Case {
            target: read_shaped(folder, "target", x.raw_dim())?,
            block: sizes.block(folder, "")?,
            out: read_shaped(folder, "out", x.raw_dim())?,
            loss: read_shaped(folder, "loss", ())?,
            dx: read_shaped(folder, "d_x", x.raw_dim())?,
            gradient: sizes.block(folder, "d_")?,
            sizes,
            x,
            keep,
        })
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Sizes {
            batch,
            tokens,
            model,
            heads,
            group,
            features,
            hidden,
        } = self;
        let queries = heads * group;
        write!(
            f,
            "batch {batch}, tokens {tokens}, model {model}, query heads {queries}, key heads \
             {heads}, head {features}, hidden {hidden}"
        )
    }
}

impl Sizes {
    /// Checks that rotary embedding has pairs, and that all arrays of the block stay within the
    /// limit.
    fn check(&self) -> Result<(), String> {
        if self.features % 2 == 1 {
            let features = self.features;
            return Err(format!("{features} features of a head make no pairs"));
        }
        let queries = [self.batch, self.tokens, self.heads, self.group];
        for (array, sizes) in [
            ("queries", [&queries[..], &[self.features]].concat()),
            ("scores", [&queries[..], &[self.tokens]].concat()),
            (
                "hidden features",
                vec![self.batch, self.tokens, self.hidden],
            ),
        ] {
            (sizes.iter())
                .try_fold(1_usize, |product, &size| product.checked_mul(size))
                .filter(|&elements| elements <= MAXIMUM_ELEMENTS)
                .ok_or_else(|| {
                    format!(
                        "the {array} have more than {MAXIMUM_ELEMENTS} elements, which is this \
                         example's limit"
                    )
                })?;
        }
        Ok(())
    }

    /// Reads the parameters or, with the prefix `d_`, their gradient.
    fn block(&self, folder: &Path, prefix: &str) -> Result<Block, Failure> {
        let &Sizes {
            model,
            heads,
            group,
            features,
            hidden,
            ..
        } = self;
        let name = |name| format!("{prefix}{name}");
        Ok(Block {
            norm_1: LayerNorm {
                scale: read_shaped(folder, &name("scale_1"), model)?,
                shift: read_shaped(folder, &name("shift_1"), model)?,
            },
            attention: Attention {
                w_q: read_shaped(folder, &name("w_q"), (model, heads, group, features))?,
                w_k: read_shaped(folder, &name("w_k"), (model, heads, features))?,
                w_v: read_shaped(folder, &name("w_v"), (model, heads, features))?,
                w_o: read_shaped(folder, &name("w_o"), (heads, group, features, model))?,
            },
            norm_2: LayerNorm {
                scale: read_shaped(folder, &name("scale_2"), model)?,
                shift: read_shaped(folder, &name("shift_2"), model)?,
            },
            mlp: Mlp {
                w_gate: read_shaped(folder, &name("w_gate"), (model, hidden))?,
                w_up: read_shaped(folder, &name("w_up"), (model, hidden))?,
                w_down: read_shaped(folder, &name("w_down"), (hidden, model))?,
            },
        })
    }
}

/// Reads an array of this rank. No axis has size 0.
fn read<D: Dimension>(folder: &Path, name: &str) -> Result<Array<f64, D>, Failure> {
    let array = floats(folder, name)?;
    let shape = array.shape().to_vec();
    match array.into_dimensionality() {
        Ok(array) if !shape.contains(&0) => Ok(standard(array)),
        _ => Err(in_file(
            folder,
            name,
            format!(
                "shape {shape:?}; {} sizes above 0 are needed",
                D::NDIM.unwrap_or_default()
            ),
        )),
    }
}

/// Reads an array of this shape.
fn read_shaped<E: IntoDimension>(
    folder: &Path,
    name: &str,
    shape: E,
) -> Result<Array<f64, E::Dim>, Failure> {
    shaped(folder, name, floats(folder, name)?, shape)
}

fn floats(folder: &Path, name: &str) -> Result<ArrayD<f64>, Failure> {
    match tensor(folder, name)? {
        Tensor::F64(array) => Ok(array),
        other => Err(wrong_type(folder, name, "f64", &other)),
    }
}

fn tensor(folder: &Path, name: &str) -> Result<Tensor, Failure> {
    (File::open(folder.join(format!("{name}.npy"))).map_err(|error| error.to_string()))
        .and_then(|file| npy::read(BufReader::new(file), MAXIMUM_BYTES))
        .map_err(|problem| in_file(folder, name, problem))
}

fn shaped<A: Clone, E: IntoDimension>(
    folder: &Path,
    name: &str,
    array: ArrayD<A>,
    shape: E,
) -> Result<Array<A, E::Dim>, Failure> {
    let (shape, found) = (shape.into_dimension(), array.shape().to_vec());
    match array.into_dimensionality() {
        Ok(array) if array.raw_dim() == shape => Ok(standard(array)),
        _ => Err(in_file(
            folder,
            name,
            format!("shape {found:?}, expected {:?}", shape.slice()),
        )),
    }
}

/// The same in row-major order.
fn standard<A: Clone, D: Dimension>(array: Array<A, D>) -> Array<A, D> {
    array.as_standard_layout().into_owned()
}

fn wrong_type(folder: &Path, name: &str, expected: &str, found: &Tensor) -> Failure {
    let found = found.element_type();
    in_file(
        folder,
        name,
        format!("elements are {found}, expected {expected}"),
    )
}

fn in_file(folder: &Path, name: &str, problem: String) -> Failure {
    let path = folder.join(format!("{name}.npy"));
    Failure::Data(format!("{}: {problem}", path.display()))
}
