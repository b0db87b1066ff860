//! The example `openvino_ir` on mutated real models: a result or an error, never a panic.

#![no_main]

#[path = "../../examples/openvino_ir/attributes.rs"]
mod attributes;
#[allow(dead_code)]
#[path = "../../examples/openvino_ir/compare.rs"]
mod compare;
#[path = "../../examples/openvino_ir/convert.rs"]
mod convert;
#[path = "../../examples/openvino_ir/elementwise.rs"]
mod elementwise;
#[path = "../../examples/openvino_ir/graph.rs"]
mod graph;
#[path = "../../examples/openvino_ir/infer.rs"]
mod infer;
#[path = "../../examples/openvino_ir/layers.rs"]
mod layers;
#[path = "../../examples/openvino_ir/model.rs"]
mod model;
#[path = "../../examples/shared/npy.rs"]
mod npy;
#[path = "../../examples/openvino_ir/parse.rs"]
mod parse;
#[path = "../../examples/openvino_ir/reduce.rs"]
mod reduce;
#[path = "../../examples/openvino_ir/reshape.rs"]
mod reshape;
#[path = "../../examples/openvino_ir/run.rs"]
mod run;
#[path = "../../examples/openvino_ir/select.rs"]
mod select;
#[allow(dead_code)]
#[path = "../../examples/openvino_ir/shapes.rs"]
mod shapes;
#[path = "../../examples/shared/tensor.rs"]
mod tensor;
#[path = "../../examples/openvino_ir/values.rs"]
mod values;
#[path = "../../examples/openvino_ir/weights.rs"]
mod weights;

use arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

const EXTENSIONS: [&str; 6] = ["xml", "bin", "in0.npy", "in1.npy", "in2.npy", "out.npy"];

/// The files of every model, and a folder for mutated ones.
struct Models {
    files: Vec<Vec<Option<Vec<u8>>>>,
    folder: PathBuf,
}

static MODELS: LazyLock<Models> = LazyLock::new(|| {
    let real = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/ir"));
    let mut names: Vec<PathBuf> = (fs::read_dir(real).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "xml"))
        .collect();
    names.sort();
    let read = |name: &PathBuf| {
        let file = |extension: &&str| fs::read(name.with_extension(extension)).ok();
        EXTENSIONS.iter().map(file).collect()
    };
    let folder = std::env::temp_dir().join(format!("ir_reader-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    Models {
        files: names.iter().map(read).collect(),
        folder,
    }
});

/// Text that has a meaning in a model.
const WORDS: [&str; 20] = [
    "-1",
    "0",
    "1",
    "99999999999999999999",
    "18446744073709551615",
    "\"",
    "<",
    ">",
    "/>",
    "<port>",
    "Broadcast",
    "Const",
    "f32",
    "i64",
    "numpy",
    "explicit",
    "?",
    "2..7",
    "Select",
    "ReduceSum",
];

/// Mutates a file.
fn change(file: &mut Vec<u8>, bytes: &mut Unstructured<'_>) -> Result<()> {
    let at = bytes.int_in_range(0..=file.len())?;
    let end = (at + bytes.int_in_range(0..=12)?).min(file.len());
    match bytes.int_in_range(0..=5_u8)? {
        0 => file.truncate(at),
        1 => drop(file.drain(at..end)),
        2 if at < file.len() => file[at] = bytes.arbitrary()?,
        3 => {
            let word = WORDS[bytes.int_in_range(0..=WORDS.len() - 1)?];
            drop(file.splice(at..end, word.bytes()));
        }
        4 => {
            // Duplicate a range elsewhere.
            let copy = file[at..end].to_vec();
            let to = bytes.int_in_range(0..=file.len())?;
            drop(file.splice(to..to, copy));
        }
        _ => {
            // Replace a digit.
            if let Some(digit) = (file[at..].iter()).position(u8::is_ascii_digit) {
                file[at + digit] = b'0' + bytes.int_in_range(0..=9_u8)?;
            }
        }
    }
    Ok(())
}

fn run(bytes: &[u8]) -> Result<()> {
    let bytes = &mut Unstructured::new(bytes);
    let models = &*MODELS;
    let mut files = models.files[bytes.int_in_range(0..=models.files.len() - 1)?].clone();
    let changes = bytes.int_in_range(0..=6_u8)?;
    for _ in 0..changes {
        let which = match bytes.int_in_range(0..=8_u8)? {
            npy @ 5..=8 => usize::from(npy) - 3,
            4 => 1,
            _ => 0,
        };
        if let Some(file) = &mut files[which] {
            change(file, bytes)?;
        }
    }
    let xml = models.folder.join("model.xml");
    for (extension, file) in EXTENSIONS.iter().zip(&files) {
        let path = xml.with_extension(extension);
        match file {
            Some(file) => fs::write(path, file).unwrap(),
            None => drop(fs::remove_file(path)),
        }
    }
    let results = [
        compare::compare(&xml).map(drop),
        shapes::check(&xml).map(drop),
    ];
    for problem in results.into_iter().filter_map(std::result::Result::err) {
        assert!(changes > 0, "{problem}");
        assert!(!problem.is_empty());
    }
    Ok(())
}

fuzz_target!(|bytes: &[u8]| {
    let _ = run(bytes);
});
