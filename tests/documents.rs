//! The README and the crate page: every picture is what its call prints, every link leads
//! somewhere, and code fits the screen.

use ndarray::Array3;
use ndarray_broadcast::prelude::*;
use std::fs;
use std::path::Path;

const REPOSITORY: &str = env!("CARGO_MANIFEST_DIR");

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
        BroadcastPlan::bidirectional((16, 1, 1), (1, 1, 50, 50)),
        BroadcastPlan::explicit(3, (2, 3, 4, 5), &[1]),
        BroadcastPlan::in_dim_permuting((1, 3), (2, 3, 2), &[2, 1]),
        BroadcastPlan::with_broadcast_axes(3, (2, 3, 4), &[0, 2]),
        BroadcastPlan::pdpd((3, 4), (2, 3, 4, 5), 1),
        BroadcastPlan::expand((2, 1), (KEEP, 4)),
        BroadcastPlan::prepend(4, (2, 3)),
        BroadcastPlan::named((2, 3), &"h w -> w h c".parse()?, &[("c", 4)]),
    ];
    let mut shown = Vec::new();
    for text in [read("README.md"), crate_page()] {
        for (language, picture, before) in blocks(&text) {
            if language != "text" || picture.starts_with("cargo ") {
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
