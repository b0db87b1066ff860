//! The README and the crate page: every picture is what its call prints, every link leads
//! somewhere, and code fits the screen.

use ndarray::Array3;
use ndarray_broadcast::named::AxisPattern;
use ndarray_broadcast::prelude::*;
use std::fs;
use std::path::Path;

const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(REPOSITORY).join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// The documentation of the crate, without `//! `.
fn crate_page() -> String {
    let lib = read("src/lib.rs");
    let lines = lib.lines().filter_map(|line| line.strip_prefix("//!"));
    let lines = lines.map(|line| line.strip_prefix(' ').unwrap_or(line));
    lines.collect::<Vec<_>>().join("\n")
}

/// The code blocks of a text: the language, the text, and the paragraph before it on one line.
fn blocks(text: &str) -> Vec<(String, String, String)> {
    let (mut blocks, mut open) = (Vec::new(), None::<(String, String)>);
    let (mut before, mut ended) = (String::new(), false);
    for line in text.lines() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(language)) => open = Some((language.to_string(), String::new())),
            (Some(_), Some(_)) => {
                let (language, code) = open.take().unwrap();
                blocks.push((language, code, std::mem::take(&mut before)));
            }
            (Some((_, code)), None) => {
                code.push_str(line);
                code.push('\n');
            }
            (None, None) if line.is_empty() => ended = true,
            (None, None) => {
                if std::mem::take(&mut ended) {
                    before.clear();
                }
                before.push_str(line);
                before.push(' ');
            }
        }
    }
    assert!(open.is_none(), "a code block without end");
    blocks
}

/// A call without its blanks, and what it prints.
fn printed(
    call: &str,
    prints: impl FnOnce() -> Result<String, BroadcastError>,
) -> (String, String) {
    let text = prints().unwrap_or_else(|error| error.to_string());
    (call.split_whitespace().collect(), text)
}

macro_rules! calls {
    ($($call:expr),* $(,)?) => {
        [$(printed(stringify!($call), || $call.map(|result| result.to_string()))),*]
    };
}

#[test]
fn pictures_are_what_their_calls_print() {
    let printed = calls![
        Array3::<f32>::zeros((3, 1, 5)).broadcast_numpy((4, 4, 5)),
        BroadcastPlan::numpy((3, 1), (2, 3, 4)),
        BroadcastPlan::bidirectional((3, 1), (1, 4)),
        BroadcastPlan::explicit(3, (2, 3, 4, 5), &[1]),
        BroadcastPlan::in_dim_permuting((1, 3), (2, 3, 2), &[2, 1]),
        BroadcastPlan::with_broadcast_axes(3, (2, 3, 4), &[0, 2]),
        BroadcastPlan::pdpd((3, 4), (2, 3, 4, 5), 1),
        BroadcastPlan::expand((2, 1), (-1, 4)),
        BroadcastPlan::prepend(4, (2, 3)),
        "h w -> w h c"
            .parse::<AxisPattern>()?
            .plan((2, 3), &[("c", 4)]),
    ];
    let mut shown = Vec::new();
    for text in [read("README.md"), crate_page()] {
        for (language, picture, before) in blocks(&text) {
            if language != "text" {
                continue;
            }
            let before: String = before.split_whitespace().collect();
            let call = printed
                .iter()
                .find(|(call, _)| before.contains(&format!("`{call}`")));
            let (call, printed) = call.unwrap_or_else(|| panic!("no known call: {before}"));
            assert_eq!(picture.trim_end(), printed, "{call}");
            shown.push(call.clone());
        }
    }
    for (call, _) in &printed {
        assert!(shown.contains(call), "no document shows {call}");
    }
}

/// The page shows parts of crates that the tests of this crate do not compile.
#[test]
fn code_of_hosts_is_in_their_crates() {
    let crates = ["pyo3/src/lib.rs", "ort/src/main.rs"];
    let lines = |text: &str| {
        let lines = text.lines().map(str::trim);
        lines
            .filter(|line| !line.is_empty())
            .collect::<Vec<_>>()
            .join("\n")
    };
    let sources = crates.map(|path| lines(&read(&format!("examples/hosts/{path}"))));
    let page = read("src/guide/hosts.rs");
    let page = page.lines().map(|line| line.trim_start_matches("//!"));
    let page: Vec<_> = page
        .map(|line| line.strip_prefix(' ').unwrap_or(line))
        .collect();
    let mut shown = 0;
    for (language, code, _) in blocks(&page.join("\n")) {
        if language == "text" {
            let code = lines(&code);
            assert!(
                sources.iter().any(|source| source.contains(&code)),
                "{code}"
            );
            shown += 1;
        }
    }
    assert_eq!(shown, 5);
}

#[test]
fn code_fits_the_screen() {
    for (path, widest) in [
        ("README.md", 80),
        (".ci/CONTRIBUTING.md", 80),
        ("benches/README.md", 80),
    ] {
        for (language, code, _) in blocks(&read(path)) {
            let widest = if language == "rust" { 60 } else { widest };
            for line in code.lines() {
                assert!(line.chars().count() <= widest, "{path}: {line}");
            }
        }
    }
}

/// At 1280 pixels, rustdoc shows this many columns of code.
const COLUMNS_OF_RUSTDOC: usize = 92;

/// Columns of code; texts of errors are as wide as they are.
const COLUMNS_OF_CODE: usize = 80;

#[test]
fn code_of_the_documentation_fits_a_page() {
    let mut wide = Vec::new();
    for (path, source) in sources() {
        let (mut code, mut in_text) = (false, false);
        for (number, line) in source.lines().enumerate() {
            let line = line.trim_start();
            let line = line.strip_prefix("//!").or(line.strip_prefix("///"));
            let Some(line) = line.map(|line| line.strip_prefix(' ').unwrap_or(line)) else {
                code = false;
                continue;
            };
            if line.starts_with("```") {
                let picture = line == "```text";
                (code, in_text) = (!code, picture);
            } else if code {
                let text = in_text || line.trim_start().starts_with('"');
                let widest = if text {
                    COLUMNS_OF_RUSTDOC
                } else {
                    COLUMNS_OF_CODE
                };
                if !line.starts_with("# ") && line.chars().count() > widest {
                    wide.push(format!("{path}:{}", number + 1));
                }
                let quotes = line.matches('"').count() - line.matches("\\\"").count();
                in_text ^= quotes % 2 == 1;
            }
        }
    }
    assert!(wide.is_empty(), "{wide:#?}");
}

#[test]
fn the_page_on_soundness_names_every_file_with_unsafe_code() {
    let page = read("src/guide/soundness.rs");
    let mut files = 0;
    for (path, source) in sources() {
        let code = |line: &&str| !line.trim_start().starts_with("//");
        let block = |line: &str| line.contains("unsafe {") || line.contains("unsafe impl");
        if source.lines().filter(code).any(block) {
            let path = Path::new(&path).strip_prefix(Path::new(REPOSITORY).join("src"));
            let path = path.unwrap().to_str().unwrap().replace('\\', "/");
            let name = match path.strip_prefix("engine/") {
                Some(file) => file.split(['/', '.']).next().unwrap(),
                None => &path,
            };
            assert!(page.contains(&format!("`{name}`")), "{path}");
            files += 1;
        }
    }
    assert!(files >= 3);
}

/// The addresses in `[..](address)` and `[..]: address`.
fn addresses(text: &str) -> Vec<&str> {
    let inline = text
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next());
    let definitions = text.lines().filter(|line| line.starts_with('['));
    let definitions = definitions.filter_map(|line| line.split_once("]: ").map(|(_, to)| to));
    inline.chain(definitions).collect()
}

#[test]
fn links_lead_to_files_and_pages_that_exist() {
    const DOCS: &str = "https://docs.rs/ndarray-broadcast/latest/ndarray_broadcast/";
    let documents = [
        "README.md",
        "CHANGELOG.md",
        ".ci/CONTRIBUTING.md",
        "benches/README.md",
        "fuzz/README.md",
    ];
    let mut pages = 0;
    for document in documents {
        let text = read(document);
        for address in addresses(&text) {
            if let Some(page) = address.strip_prefix(DOCS) {
                pages += 1;
                let module = page.trim_end_matches("index.html").trim_end_matches('/');
                let file = format!("src/{module}");
                let exists = ["", ".rs", "/mod.rs", "/lib.rs"]
                    .map(|end| Path::new(REPOSITORY).join(format!("{file}{end}")).exists());
                assert!(exists.contains(&true), "{document}: {address}");
            } else if !address.starts_with("https://") {
                let file = address.split('#').next().unwrap_or_default();
                let folder = Path::new(REPOSITORY).join(document);
                let exists = folder.parent().unwrap().join(file).exists();
                assert!(exists, "{document}: {address}");
            }
        }
    }
    assert!(pages >= 5, "{pages}");
}

/// Words of other libraries, and the items that the search for them finds.
const ALIASES: &[(&str, &str)] = &[
    ("broadcast_to", "broadcast_numpy"),
    ("unidirectional", "broadcast_numpy"),
    ("Expand", "broadcast_bidirectional"),
    ("ReduceProd", "Reduce"),
    ("ReduceMin", "Reduce"),
    ("ArgMax", "max"),
    ("ArgMin", "min"),
    ("expand_dims", "broadcast_explicit"),
    ("unsqueeze", "broadcast_explicit"),
    ("newaxis", "broadcast_explicit"),
    ("repeat_interleave", "broadcast_explicit"),
    ("BroadcastInDim", "broadcast_in_dim"),
    ("stablehlo", "broadcast_in_dim_permuting"),
    ("AxisSet", "broadcast_axes"),
    ("elementwise_add", "broadcast_pdpd"),
    ("expand", "broadcast_expand"),
    ("tile", "broadcast_prepend"),
    ("broadcast", "broadcast_prepend"),
    ("broadcast_like", "broadcast_with"),
    ("expand_as", "broadcast_with"),
    ("broadcast_dimensions", "broadcast_with_rule"),
    ("multidirectional", "broadcast_pair"),
    ("broadcast_tensors", "broadcast_arrays"),
    ("meshgrid", "broadcast_arrays"),
    ("broadcast_dynamic_shape", "broadcast_shapes"),
    ("broadcast_static_shape", "broadcast_shapes"),
    ("-1", "KEEP"),
    ("ufunc", "zip"),
    ("outer", "zip"),
    ("add", "zip"),
    ("mul", "zip"),
    ("bias_add", "zip"),
    ("iadd", "update"),
    ("where", "zip"),
    ("select", "zip"),
    ("vectorize", "zip"),
    ("masked_fill", "map_collect"),
    ("addcmul", "map_collect"),
    ("auto_broadcast", "ElementwiseRule"),
    ("AutoBroadcastSpec", "ElementwiseRule"),
    ("bias", "channel"),
    ("contiguous", "materialize"),
    ("ascontiguousarray", "materialize"),
    ("to_owned", "materialize"),
    ("copyto", "materialize_into"),
    ("copy_", "materialize_into"),
    ("assign", "materialize_into"),
    ("clone", "materialize_cloned"),
    ("backward", "gradient"),
    ("vjp", "gradient"),
    ("transpose", "gradient"),
    ("adjoint", "gradient"),
    ("sum_to_size", "reduce_to_shape"),
    ("unbroadcast", "reduce_to_shape"),
    ("reduce_sum", "reduce_to_shape"),
    ("sum_axis", "reduce_to_shape"),
    ("ReduceSum", "reduce_to_shape"),
    ("amax", "reduce_to_shape"),
    ("keepdims", "reduce_axes_keepdims"),
    ("ReduceMax", "reduce_to_shape"),
    ("ReduceMean", "reduce_to_shape"),
    ("einsum", "reduce"),
    ("repeat", "plan"),
    ("einops", "plan"),
    ("xarray", "plans"),
    ("rearrange", "permuted"),
    ("permute", "permuted"),
    ("broadcast_gradient_args", "axis_sources"),
    ("softmax", "cookbook"),
    ("layer_norm", "cookbook"),
    ("batch_norm", "cookbook"),
    ("one_hot", "cookbook"),
    ("upsample", "cookbook"),
    ("interpolate", "cookbook"),
    ("cdist", "cookbook"),
    ("variance", "cookbook"),
    ("variance", "Var"),
    ("standard deviation", "Std"),
    ("logsumexp", "LogSumExp"),
    ("ReduceLogSumExp", "LogSumExp"),
    ("nansum", "NanSum"),
    ("nanmean", "NanMean"),
    ("count_nonzero", "Count"),
    ("ReduceL1", "L1"),
    ("ReduceL2", "L2"),
    ("norm", "L2"),
    ("ReduceSumSquare", "SumSquare"),
    ("ReduceLogSum", "LogSum"),
    ("select_last_index", "LastArgMax"),
    ("attention", "cookbook"),
    ("meshgrid", "cookbook"),
];

/// The alias of each `#[doc(alias = "..")]` in a source file, and the name of its item.
fn aliases(source: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut words = Vec::new();
    for line in source.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix("#[doc(alias = \"") {
            words.push(rest.trim_end_matches("\")]").to_string());
        } else if !line.starts_with('#') && !words.is_empty() {
            let keywords = ["fn ", "const ", "enum ", "struct ", "mod "];
            let name = keywords
                .into_iter()
                .find_map(|keyword| line.split_once(keyword));
            let name = name.unwrap_or_else(|| panic!("no item: {line}")).1;
            let end = name
                .find(|c: char| !c.is_alphanumeric() && c != '_')
                .unwrap();
            found.extend(words.drain(..).map(|word| (word, name[..end].to_string())));
        }
    }
    found
}

/// Each file in `src`, with its text.
fn sources() -> Vec<(String, String)> {
    fn collect(folder: &Path, sources: &mut Vec<(String, String)>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => collect(&path, sources),
                false => sources.push((
                    path.display().to_string(),
                    fs::read_to_string(&path).unwrap(),
                )),
            }
        }
    }
    let mut sources = Vec::new();
    collect(&Path::new(REPOSITORY).join("src"), &mut sources);
    sources
}

#[test]
fn words_of_other_libraries_find_their_item() {
    let mut found: Vec<_> = sources()
        .iter()
        .flat_map(|(_, source)| aliases(source))
        .collect();
    let expected = ALIASES.iter();
    let mut expected: Vec<_> = expected
        .map(|(word, item)| (word.to_string(), item.to_string()))
        .collect();
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
}
