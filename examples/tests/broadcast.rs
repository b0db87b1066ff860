//! The example `broadcast`, run as a process with arguments, files, standard streams and an exit
//! code. For any input it exits with code 0, 1 or 2, does not panic and leaves no incomplete file.

use crate::example::{Example, Run};
use crate::npy_bytes::{counting, dict, elements, indices, npy};
use crate::process::prefixed;
use std::ffi::OsStr;
use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

const EXAMPLE: Example = Example("broadcast");
const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
const MODELS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/ir");

type Shape = &'static [usize];
type Arguments = &'static [&'static str];
/// The input index of the element at an output index.
type Source = fn(&[usize]) -> Vec<usize>;

/// Each case: input shape, arguments, output shape, source index.
#[test]
fn every_mode_writes_the_elements_of_its_rule() {
    let cases: &[(Shape, Arguments, Shape, Source)] = &[
        (&[3, 1], &["--shape", "2,3,4"], &[2, 3, 4], |o| {
            vec![o[1], 0]
        }),
        (
            &[3, 1],
            &["--mode", "numpy", "--shape", "(2, 3, 4)"],
            &[2, 3, 4],
            |o| vec![o[1], 0],
        ),
        (
            &[3, 1],
            &["--mode", "NumPy", "--shape=[2,3,0]"],
            &[2, 3, 0],
            |o| vec![o[1], 0],
        ),
        (&[], &["--shape", ""], &[], |_| vec![]),
        (&[], &["--shape="], &[], |_| vec![]),
        (&[], &["--shape", "()"], &[], |_| vec![]),
        (&[], &["--shape", "(2,)"], &[2], |_| vec![]),
        (
            &[],
            &["--mode", "explicit", "--shape", "2"],
            &[2],
            |_| vec![],
        ),
        (
            &[2, 3],
            &["--mode", "bidirectional", "--shape", "4,1,1"],
            &[4, 2, 3],
            |o| vec![o[1], o[2]],
        ),
        (
            &[2, 3],
            &["--mode", "bidirectional", "--shape", "()"],
            &[2, 3],
            |o| o.to_vec(),
        ),
        (
            &[3],
            &["--mode", "explicit", "--shape", "2,3,4", "--axes", "1"],
            &[2, 3, 4],
            |o| vec![o[1]],
        ),
        (
            &[3],
            &["--mode", "explicit(1)", "--shape", "2,3,4"],
            &[2, 3, 4],
            |o| vec![o[1]],
        ),
        (
            &[3, 1],
            &["--mode", "in_dim", "--shape", "3,2,4", "--axes", "0,2"],
            &[3, 2, 4],
            |o| vec![o[0], 0],
        ),
        (
            &[2, 3],
            &[
                "--mode",
                "in_dim_permuting",
                "--shape",
                "3,4,2",
                "--axes",
                "(2, 0)",
            ],
            &[3, 4, 2],
            |o| vec![o[2], o[0]],
        ),
        (
            &[3],
            &[
                "--mode",
                "broadcast_axes",
                "--shape",
                "2,3,4",
                "--axes",
                "2,0",
            ],
            &[2, 3, 4],
            |o| vec![o[1]],
        ),
        (
            &[2, 3],
            &["--mode", "broadcast_axes", "--shape", "2,3", "--axes", ""],
            &[2, 3],
            |o| o.to_vec(),
        ),
        (
            &[3, 4],
            &["--mode", "pdpd", "--shape", "2,3,4,5", "--axis", "1"],
            &[2, 3, 4, 5],
            |o| vec![o[1], o[2]],
        ),
        (
            &[4, 5],
            &["--mode", "pdpd", "--shape", "2,3,4,5", "--axis", "-1"],
            &[2, 3, 4, 5],
            |o| vec![o[2], o[3]],
        ),
        (
            &[4, 5],
            &["--mode", "pdpd", "--shape", "2,3,4,5"],
            &[2, 3, 4, 5],
            |o| vec![o[2], o[3]],
        ),
        (
            &[3],
            &["--mode", "pdpd(0)", "--shape", "3,2"],
            &[3, 2],
            |o| vec![o[0]],
        ),
        (
            &[2, 1],
            &["--mode", "expand", "--shape", "-1,4"],
            &[2, 4],
            |o| vec![o[0], 0],
        ),
        (
            &[2, 3],
            &["--mode", "prepend", "--shape", "5,4"],
            &[5, 4, 2, 3],
            |o| vec![o[2], o[3]],
        ),
        (&[0, 1], &["--shape", "2,0,3"], &[2, 0, 3], |o| {
            vec![o[1], 0]
        }),
    ];
    let folder = EXAMPLE.folder("modes");
    for (shape, arguments, output, source) in cases {
        let (input, out) = (
            folder.write("in.npy", &counting(shape)),
            folder.path("out.npy"),
        );
        let arguments = [&[&input[..]], *arguments, &["--out", &out]].concat();
        let run = EXAMPLE.run(&arguments).done();
        let found = fs::read(&out).unwrap();
        let flat = |index: Vec<usize>| {
            index
                .iter()
                .zip(*shape)
                .fold(0, |at, (i, size)| at * size + i) as i32
        };
        let wanted: Vec<u8> = indices(output)
            .iter()
            .flat_map(|index| flat(source(index)).to_le_bytes())
            .collect();
        assert!(elements(&found, "<i4", output) == wanted, "{arguments:?}");
        let bytes = format!("bytes   {} not copied: ", wanted.len());
        for part in [
            "input   in.npy: i32 ",
            "\nview    i32 ",
            ", strides [",
            &bytes,
            "\nvalues  ",
        ] {
            assert!(run.out().contains(part), "{part:?} is not in {}", run.out());
        }
    }
    folder.holds(&["in.npy", "out.npy"]);
}

#[test]
fn two_arrays_are_broadcast_with_each_other() {
    let cases: &[(Shape, Shape, Arguments, Shape)] = &[
        (&[2, 3], &[2, 3], &["--mode", "none"], &[2, 3]),
        (&[2, 1], &[3], &[], &[2, 3]),
        (&[2, 1], &[3], &["--mode", "numpy"], &[2, 3]),
        (
            &[2, 3, 4],
            &[3],
            &["--mode", "pdpd", "--axis", "1"],
            &[2, 3, 4],
        ),
        (&[4], &[1, 2], &["--mode", "xla", "--axes", "0"], &[4, 2]),
        (&[4], &[1, 2], &["--mode", "xla(0)"], &[4, 2]),
    ];
    let folder = EXAMPLE.folder("two");
    let (out_a, out_b) = (folder.path("out_a.npy"), folder.path("out_b.npy"));
    for (a, b, arguments, output) in cases {
        let (a, b) = (
            folder.write("a.npy", &counting(a)),
            folder.write("b.npy", &counting(b)),
        );
        let files = [&a[..], "--with", &b, "--out", &out_a, "--out-with", &out_b];
        EXAMPLE.run(&[&files[..], arguments].concat()).done();
        for out in [&out_a, &out_b] {
            let found = fs::read(out).unwrap();
            let wanted = 4 * output.iter().product::<usize>();
            assert_eq!(elements(&found, "<i4", output).len(), wanted);
        }
    }
    // In the last case `a` varies along axis 0 and `b` along axis 1.
    let element =
        |file: &[u8]| -> Vec<u8> { file[file.len() - 32..].iter().step_by(4).copied().collect() };
    assert_eq!(element(&fs::read(out_a).unwrap()), [0, 0, 1, 1, 2, 2, 3, 3]);
    assert_eq!(element(&fs::read(out_b).unwrap()), [0, 1, 0, 1, 0, 1, 0, 1]);
}

/// The expected outputs were computed by OpenVINO from the same files.
#[test]
fn real_models_give_the_output_of_openvino() {
    for (model, arguments) in [
        ("v1_numpy", "--shape 2,3,4"),
        ("v1_numpy_i32shape", "--shape 2,3"),
        ("v1_explicit", "--mode explicit --shape 1,16,5,5 --axes 1"),
        ("v1_explicit_hw", "--mode in_dim --shape 2,4,5,3 --axes 1,2"),
        ("v3_bidirectional", "--mode bidirectional --shape 1,1,50,50"),
        ("v3_bidirectional_short", "--mode expand --shape -1,-1,-1,6"),
        (
            "v3_bidirectional_scalar_target",
            "--mode bidirectional --shape ()",
        ),
        (
            "v3_explicit",
            "--mode explicit --shape 1,50,50,16 --axes 1,2",
        ),
        (
            "v3_explicit_one",
            "--mode explicit --shape 2,3,4 --axes 1,2",
        ),
        ("v3_numpy", "--shape 1,16,50,50"),
        ("v3_numpy_scalar", "--shape 2,3"),
    ] {
        let input = format!("{MODELS}/{model}.in0.npy");
        let mut words = vec![&input[..], "--out", "-"];
        words.extend(arguments.split(' '));
        let run = EXAMPLE.run(&words);
        assert_eq!(run.code, 0, "{model}: {}", run.err);
        let data =
            |file: &[u8]| file[10 + usize::from(u16::from_le_bytes([file[8], file[9]]))..].to_vec();
        let wanted = fs::read(format!("{MODELS}/{model}.out.npy")).unwrap();
        assert!(data(&run.out) == data(&wanted), "{model}");
    }
}

const TYPES: [(&str, usize); 12] = [
    ("f2", 2),
    ("f4", 4),
    ("f8", 8),
    ("i1", 1),
    ("i2", 2),
    ("i4", 4),
    ("i8", 8),
    ("u1", 1),
    ("u2", 2),
    ("u4", 4),
    ("u8", 8),
    ("b1", 1),
];

#[test]
fn every_element_type_byte_order_and_npy_version_is_read() {
    let folder = EXAMPLE.folder("types");
    let out = folder.path("out.npy");
    for (name, size) in TYPES {
        // Element `at` of a [2, 3] array, little-endian. A b1 is 0 or 1; other types take any bits.
        let element = |at: usize| -> Vec<u8> {
            (0..size)
                .map(|byte| {
                    if name == "b1" {
                        at as u8 % 2
                    } else {
                        (16 * at + byte + 1) as u8
                    }
                })
                .collect()
        };
        let wanted: Vec<u8> = (0..12).flat_map(|at| element(at % 6)).collect();
        let written = format!("{}{name}", if size == 1 { '|' } else { '<' });
        for order in if size == 1 { "<>|" } else { "<>" }.chars() {
            for fortran in [false, true] {
                for version in 1..=3 {
                    let in_file = if fortran {
                        [0, 3, 1, 4, 2, 5]
                    } else {
                        [0, 1, 2, 3, 4, 5]
                    };
                    let data: Vec<u8> = in_file
                        .into_iter()
                        .flat_map(|at| {
                            let mut bytes = element(at);
                            if order == '>' {
                                bytes.reverse();
                            }
                            bytes
                        })
                        .collect();
                    let header = dict(&format!("{order}{name}"), fortran, "(2, 3)") + "   \n";
                    let input = folder.write("in.npy", &npy(version, &header, &data));
                    EXAMPLE
                        .run(&[&input, "--shape", "2,2,3", "--out", &out])
                        .done();
                    let found = fs::read(&out).unwrap();
                    assert_eq!(
                        elements(&found, &written, &[2, 2, 3]),
                        wanted,
                        "{order}{name} {fortran} {version}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_dash_is_standard_input_or_output() {
    let folder = EXAMPLE.folder("streams");
    let (input, out) = (counting(&[3]), folder.path("out.npy"));
    let through = EXAMPLE.run_with_input(&["-", "--shape", "2,3", "--out", "-"], &input);
    assert_eq!(through.code, 0);
    assert!(
        through.err.contains("input   -: i32 [3]"),
        "{}",
        through.err
    );
    EXAMPLE
        .run_with_input(&["-", "--shape", "2,3", "--out", &out], &input)
        .done();
    assert_eq!(fs::read(&out).unwrap(), through.out);
    let other = folder.write("b.npy", &counting(&[2, 1]));
    EXAMPLE
        .run_with_input(&[&other, "--with", "-", "--out-with", &out], &input)
        .done();
    assert_eq!(fs::read(&out).unwrap(), through.out);
    // The output replaces the input file.
    EXAMPLE.run(&[&out, "--shape", "2,3", "--out", &out]).done();
    assert_eq!(fs::read(&out).unwrap(), through.out);
}

#[test]
fn the_tour_shows_every_rule() {
    let tour = EXAMPLE.run::<&str>(&[]).done();
    let out = tour.out();
    for rule in [
        "numpy",
        "bidirectional",
        "explicit",
        "broadcast_axes",
        "in_dim",
        "in_dim_permuting",
        "expand",
        "prepend",
        "pdpd",
        "xla",
    ] {
        assert!(out.contains(&format!("--mode {rule} ")), "{rule}");
        assert!(out.contains(&format!(" ({rule})\n")), "{rule}");
    }
    assert!(out.ends_with("^ 3 is neither 4 nor 1\n"), "{out}");
    // Each command of the tour, as it is shown, prints the text below it.
    let mut steps = out.split("\n\n");
    assert!(steps.next().unwrap().starts_with("The inputs: row.npy"));
    let mut shown_steps = 0;
    for step in steps {
        let (what, rest) = step.split_once('\n').unwrap();
        let (command, rest) = rest.split_once(" \\\n").unwrap();
        let (words, shown) = rest.split_once('\n').unwrap();
        assert_eq!(
            command, "    cargo run --release --example broadcast --",
            "{what}"
        );
        let words: Vec<_> = words.trim_start().split(' ').collect();
        let mut command = EXAMPLE.command(&words);
        let run = Run::new(command.current_dir(REPOSITORY).output().unwrap());
        assert_eq!(
            format!("{}{}", run.out(), run.err).trim_end(),
            shown.trim_end()
        );
        // The files exist in a clone, and a shell changes none of the words.
        for word in words {
            assert!(!word.ends_with(".npy") || Path::new(REPOSITORY).join(word).is_file());
            let plain = |c: char| c.is_ascii_alphanumeric() || "-_,./".contains(c);
            assert!(word.chars().all(plain), "{word}");
        }
        shown_steps += 1;
    }
    assert_eq!(shown_steps, 13);
}

/// `sh` runs the commands of the tour as they are shown. Only `cargo` is replaced, by a function
/// that runs the example.
#[cfg(unix)]
#[test]
fn the_commands_of_the_tour_can_be_pasted_into_a_shell() {
    let tour = EXAMPLE.run::<&str>(&[]).done();
    let mut pasted = String::from(
        "cargo() {\n    \
             test \"$1 $2 $3 $4 $5\" = 'run --release --example broadcast --' || exit 3\n    \
             shift 5\n    $example \"$@\"\n}\n",
    );
    let mut lines = tour.out().lines();
    let mut wanted = Vec::new();
    while let Some(line) = lines.next() {
        if line.starts_with("    cargo ") {
            let rest = lines.next().unwrap();
            pasted += &format!("{line}\n{rest}\n");
            wanted.extend(lines.by_ref().take_while(|line| !line.is_empty()));
        }
    }
    let example = prefixed(&EXAMPLE.path()).join(OsStr::new(" "));
    let mut shell = Command::new("sh");
    shell.args(["-c", &pasted]).env("example", example);
    let run = Run::new(shell.current_dir(REPOSITORY).output().unwrap());
    let found: Vec<_> = run.out().lines().chain(run.err.lines()).collect();
    assert_eq!(found, wanted);
    assert!(wanted.len() > 100);
}

/// The values of the inputs are different from each other and not zero, so that the values of the
/// outputs show the rules.
#[test]
fn the_tour_prints_values_that_show_the_rules() {
    let tour = EXAMPLE.run::<&str>(&[]).done();
    let rows: Vec<Vec<&str>> = (tour.out().split("\nvalues "))
        .skip(1)
        .map(|rows| {
            let rows = rows.lines().enumerate();
            let rows = rows.take_while(|(i, line)| *i == 0 || line.starts_with("        "));
            rows.map(|(_, row)| row.trim()).collect()
        })
        .collect();
    for wanted in [
        // numpy
        &[
            "1 1 1 1", "2 2 2 2", "3 3 3 3", "1 1 1 1", "2 2 2 2", "3 3 3 3",
        ][..],
        // bidirectional
        &["1 2 3", "1 2 3", "1 2 3"],
        // explicit
        &[
            "1 1 1 1", "1 1 1 1", "2 2 2 2", "2 2 2 2", "3 3 3 3", "3 3 3 3",
        ],
        // in_dim, pdpd
        &[
            "1 1 1 1", "2 2 2 2", "3 3 3 3", "4 4 4 4", "5 5 5 5", "6 6 6 6", "..",
        ],
        // in_dim_permuting
        &["1 4", "1 4", "2 5", "2 5", "3 6", "3 6"],
        // expand
        &["1 1 1 1", "2 2 2 2", "3 3 3 3"],
        // prepend
        &["1 2 3", "4 5 6", "1 2 3", "4 5 6"],
        // column with row
        &["1 1 1", "2 2 2", "3 3 3"],
        // xla
        &["10 10 10", "20 20 20"],
    ] {
        assert!(
            rows.iter().any(|rows| rows == wanted),
            "{wanted:?}: {rows:?}"
        );
    }
    for rows in &rows {
        let mut values = rows.iter().flat_map(|row| row.split(' '));
        assert!(
            values.all(|value| value != "0" && value != "0.0"),
            "{rows:?}"
        );
    }
}

#[test]
fn help_lists_every_option() {
    for arguments in [
        &["--help"][..],
        &["-h"],
        &["in.npy", "--shape", "2", "--help"],
    ] {
        let help = EXAMPLE.run(arguments).done();
        for option in [
            "--shape",
            "--mode",
            "--axes",
            "--axis",
            "--out",
            "--with",
            "--out-with",
            "--max-bytes",
        ] {
            assert!(help.out().contains(option), "{option}");
        }
    }
}

#[test]
fn wrong_arguments_exit_with_code_2() {
    for (arguments, problem) in [
        ("--frobnicate", "invalid option '--frobnicate'"),
        ("-x", "invalid option '-x'"),
        ("in.npy", "--shape or --with is missing"),
        ("--shape 2", "INPUT.npy is missing"),
        ("in.npy in.npy --shape 2", "INPUT is given twice"),
        ("in.npy --shape 2 --shape 2", "--shape is given twice"),
        ("in.npy --shape", "missing argument for option '--shape'"),
        ("in.npy --shape 2,,3", "\"\" is no integer of 64 bits"),
        ("in.npy --shape ,", "\"\" is no integer of 64 bits"),
        ("in.npy --shape (2,3", "\"(2\" is no integer of 64 bits"),
        ("in.npy --shape 2x3", "\"2x3\" is no integer of 64 bits"),
        ("in.npy --shape 1.5", "\"1.5\" is no integer of 64 bits"),
        (
            "in.npy --shape 99999999999999999999",
            "\"99999999999999999999\" is no integer of 64 bits",
        ),
        (
            "in.npy --shape 2 --mode foo",
            "invalid broadcast mode \"foo\": expected numpy, ",
        ),
        (
            "in.npy --shape 2 --mode none",
            "invalid broadcast mode \"none\"",
        ),
        (
            "in.npy --shape 2 --mode xla",
            "invalid broadcast mode \"xla\"",
        ),
        (
            "in.npy --shape 2 --mode explicit(a)",
            "invalid broadcast mode \"explicit(a)\"",
        ),
        (
            "in.npy --shape 2 --axes 0",
            "mode \"numpy\" takes no --axes",
        ),
        (
            "in.npy --shape 2 --axis 0",
            "mode \"numpy\" takes no --axis",
        ),
        (
            "in.npy --shape 2 --mode prepend --axis 0",
            "mode \"prepend\" takes no --axis",
        ),
        (
            "in.npy --shape 2 --mode pdpd --axes 0",
            "mode \"pdpd\" takes no --axes",
        ),
        (
            "in.npy --shape 2 --mode pdpd(0) --axis 0",
            "mode \"pdpd(0)\" says already what --axis would",
        ),
        (
            "in.npy --shape 2 --mode pdpd --axis one",
            "--axis: \"one\" is no integer",
        ),
        (
            "in.npy --shape 2 --mode pdpd --axis 99999999999999999999",
            "--axis: \"99999999999999999999\" is no integer",
        ),
        (
            "in.npy --shape 2 --mode in_dim --axis 0",
            "mode \"in_dim\" takes no --axis",
        ),
        (
            "in.npy --shape 2 --mode in_dim(0) --axes 0",
            "mode \"in_dim(0)\" says already what --axes would",
        ),
        (
            "in.npy --shape 2 --max-bytes -1",
            "--max-bytes: \"-1\" is no integer",
        ),
        (
            "in.npy --shape 2 --out-with o.npy",
            "--out-with is for the array of --with",
        ),
        ("in.npy --shape 2 --with in.npy", "--with takes no --shape"),
        (
            "in.npy --with in.npy --mode expand",
            "invalid elementwise rule \"expand\"",
        ),
        (
            "in.npy --with in.npy --mode none --axes 0",
            "mode \"none\" takes no --axes",
        ),
        (
            "- --with -",
            "INPUT and --with cannot both be standard input",
        ),
        (
            "in.npy --with in.npy --out o.npy --out-with o.npy",
            "--out and --out-with are the same",
        ),
        ("in.npy --shape 2 --out=", "--out has an empty name"),
    ] {
        let run = EXAMPLE.run(&arguments.split(' ').collect::<Vec<_>>());
        run.failed(2, problem);
        assert!(
            run.out.is_empty() && run.err.contains("\nusage: broadcast "),
            "{arguments}"
        );
    }
}

/// The example's limit without `--max-bytes`.
fn default_limit() -> usize {
    usize::try_from(1_u64 << 32).unwrap_or(usize::MAX)
}

#[test]
fn rules_that_refuse_are_code_1() {
    let folder = EXAMPLE.folder("refused");
    let input = folder.write("in.npy", &counting(&[2, 3]));
    let out = folder.path("out.npy");
    let rank_100 = vec!["1"; 100].join(",");
    let largest = isize::MAX;
    let huge = format!("{},2,3", largest / 6);
    let limit = default_limit();
    let refused = |arguments: &str, problem: &str| {
        let words = [
            &[&input[..], "--out", &out][..],
            &arguments.split(' ').collect::<Vec<_>>(),
        ]
        .concat();
        EXAMPLE.run(&words).failed(1, problem);
        folder.holds(&["in.npy"]);
    };
    for (arguments, problem) in [
        ("--shape 4,4", "\n           ^ 2 is neither 4 nor 1\n"),
        ("--shape 3", "cannot broadcast [2, 3] to [3] (numpy)"),
        (
            "--shape 2,-3",
            "--shape: entry 1 is -3: a size must not be negative",
        ),
        (
            "--mode expand --shape -2,3",
            "--shape: entry 0 is -2: a size must not be negative, except for -1, which keeps",
        ),
        (
            "--mode explicit --shape 2,3,4",
            "the length is 0, but input has 2 axes",
        ),
        (
            "--mode explicit --shape 2,3,4 --axes 1,0",
            "0 after 1: axes must increase",
        ),
        (
            "--mode explicit --shape 2,3,4 --axes 0,-1",
            "--axes: entry 1 is -1: an axis must not be negative",
        ),
        (
            "--mode in_dim --shape 2,3 --axes 0,9223372036854775807",
            "9223372036854775807",
        ),
        ("--mode pdpd --shape 2,3,4 --axis -2", "-2"),
        (
            &format!("--mode pdpd --shape 2,3,4 --axis {largest}"),
            &largest.to_string(),
        ),
        (
            &format!("--shape {largest},2,3"),
            "more than isize::MAX elements",
        ),
        (
            &format!("--mode prepend --shape {largest}"),
            "more than isize::MAX elements",
        ),
        (
            "--shape 200000000,2,3",
            &format!("passes this example's limit of {limit} bytes; --max-bytes sets another"),
        ),
        (
            &format!("--shape {huge}"),
            &format!("passes this example's limit of {limit} bytes; --max-bytes sets another"),
        ),
        (
            &format!("--shape {huge} --max-bytes {}", usize::MAX),
            &format!("passes this example's limit of {} bytes", usize::MAX),
        ),
        (
            "--shape 2,3 --max-bytes 23",
            "in.npy: a tensor of shape [2, 3] passes this example's limit of 23 bytes",
        ),
        (
            "--shape 2,2,3 --max-bytes 24",
            "a tensor of shape [2, 2, 3] passes this example's limit of 24 bytes",
        ),
        (
            &format!("--shape {rank_100},2,3"),
            "102 axes are more than NumPy's 64",
        ),
    ] {
        refused(arguments, problem);
    }
    // The largest array of 32-bit sizes may fit into memory.
    if usize::BITS == 64 {
        refused(
            "--shape 1000000000,10000000,2,3 --max-bytes 18446744073709551615",
            "the allocator refused 240000000000000000 bytes",
        );
    }
    // Without --out nothing is copied, and no limit applies to the view.
    EXAMPLE.run(&[&input, "--shape", &huge]).done();
    EXAMPLE
        .run(&[&input, "--shape", &format!("{rank_100},2,3")])
        .done();
}

#[test]
fn invalid_files_exit_with_code_1() {
    let shaped = |shape: &str| npy(1, &dict("<f4", false, shape), &[0; 24]);
    let typed = |descr: &str| npy(1, &dict(descr, false, "(2, 3)"), &[0; 24]);
    let header = |text: &str| npy(1, text, &[0; 24]);
    let no_npy = "this is no .npy file, or it ends in its header";
    let no_dict = "the header is not a dict of descr, fortran_order and shape";
    let too_big = format!("passes this example's limit of {} bytes", default_limit());
    // The product of two such sizes overflows to 0.
    let half = 1_usize << (usize::BITS / 2);
    let maximum = usize::MAX;
    let empty = format!("shape [0, {maximum}]: ");
    let cases: Vec<(Vec<u8>, &str)> = vec![
        (vec![], no_npy),
        (b"1,2,3".to_vec(), no_npy),
        (b"\x93NUMPY".to_vec(), no_npy),
        (b"\x93NUMPY\x01\x00\x10".to_vec(), no_npy),
        (npy(9, "{}", &[]), "version 9.0 of .npy is unknown"),
        (npy(0, "{}", &[]), "version 0.0 of .npy is unknown"),
        (b"\x93NUMPY\x02\x00\xff\xff\xff\xff{".to_vec(), no_npy),
        (
            [
                b"\x93NUMPY\x02\x00\xff\xff\xff\xff".to_vec(),
                vec![b' '; 1 << 17],
            ]
            .concat(),
            "a header of 4294967295 bytes",
        ),
        (
            [b"\x93NUMPY\x01\x00\x01\x00\xff".to_vec(), vec![0; 9]].concat(),
            "the header is not UTF-8",
        ),
        (header(""), no_dict),
        (header("{}"), no_dict),
        (header(&"(".repeat(60_000)), no_dict),
        (header("{'descr': '<f4', 'fortran_order': False}"), no_dict),
        (
            header("{'descr': '<f4', 'fortran_order': 0, 'shape': (2, 3)}"),
            no_dict,
        ),
        (
            header("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2, 3)}"),
            no_dict,
        ),
        (
            header("{'descr': '<f4', 'fortran_order': False, 'shape': 6}"),
            no_dict,
        ),
        (shaped("(2, -3)"), no_dict),
        (shaped("(99999999999999999999,)"), no_dict),
        (typed("|O"), "element type \"|O\" is unknown here"),
        (typed("<U3"), "element type \"<U3\" is unknown here"),
        (typed("<c8"), "element type \"<c8\" is unknown here"),
        (typed("|f4"), "element type \"|f4\" is unknown here"),
        (typed("f4"), "element type \"f4\" is unknown here"),
        (typed(""), "element type \"\" is unknown here"),
        (typed("\u{1f980}f4"), "is unknown here"),
        (
            shaped("(2, 2)"),
            "shape [2, 2] of f32 needs 16 bytes of data, and there are more",
        ),
        (
            shaped("(2, 4)"),
            "shape [2, 4] of f32 needs 32 bytes of data, and there are 24",
        ),
        (shaped(&format!("({half}, {half})")), &too_big),
        (shaped(&format!("({maximum}, {maximum})")), &too_big),
        (
            npy(1, &dict("<f4", false, &format!("(0, {maximum})")), &[]),
            &empty,
        ),
        (
            shaped(&format!("({})", "1, ".repeat(65))),
            "65 axes are more than NumPy's 64",
        ),
        (
            npy(1, &dict("|b1", false, "(3,)"), &[0, 1, 2]),
            "element 2 is no bool: its bytes are [2]",
        ),
    ];
    let folder = EXAMPLE.folder("broken");
    let out = folder.path("out.npy");
    for (bytes, problem) in cases {
        let input = folder.write("in.npy", &bytes);
        EXAMPLE
            .run(&[&input, "--shape", "2,3", "--out", &out])
            .failed(1, problem);
        EXAMPLE
            .run_with_input(&["-", "--shape", "2,3", "--out", &out], &bytes)
            .failed(1, problem);
        let good = folder.write("good.npy", &counting(&[2, 3]));
        EXAMPLE
            .run(&[&good, "--with", &input, "--out", &out])
            .failed(1, problem);
        fs::remove_file(good).unwrap();
        folder.holds(&["in.npy"]);
    }
    for path in [
        folder.path("missing.npy"),
        folder.path(""),
        folder.path("in.npy/x.npy"),
        folder.path("a\0b").replace('\0', "?"),
    ] {
        EXAMPLE.run(&[&path, "--shape", "2"]).failed(1, "");
    }
}

/// The reader allocates for the bytes that arrive, not for the size in the header.
#[test]
fn a_huge_size_in_a_header_is_compared_with_the_data_that_arrives() {
    let count = isize::MAX as usize / 8;
    let header = dict("<f8", false, &format!("({count},)"));
    let bytes = npy(1, &header, &[0; 8]);
    let maximum = usize::MAX.to_string();
    let run = EXAMPLE.run_with_input(&["-", "--shape", "2", "--max-bytes", &maximum], &bytes);
    let needed = count * 8;
    run.failed(1, &format!("needs {needed} bytes of data, and there are 8"));
}

#[test]
fn endless_input_exits_with_code_1() {
    for beginning in [
        npy(1, &dict("<f4", false, "(4,)"), &[]),
        b"\x93NUMPY\x02\x00\xff\xff\xff\xff".to_vec(),
        vec![],
    ] {
        let mut command = EXAMPLE.command(&["-", "--shape", "4"]);
        let command = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let mut written = stdin.write_all(&beginning);
        while written.is_ok() {
            written = stdin.write_all(&[b' '; 4096]);
        }
        Run::new(child.wait_with_output().unwrap()).failed(1, "-: ");
    }
}

#[test]
fn a_closed_standard_output_is_not_reported_as_an_error() {
    let folder = EXAMPLE.folder("stops");
    let (input, out) = (
        folder.write("in.npy", &counting(&[3])),
        folder.path("out.npy"),
    );
    let spawn = |arguments: &[&str]| {
        let mut command = EXAMPLE.command(arguments);
        command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    // Nobody reads the report: the file is written, and the exit code is 0.
    let mut child = spawn(&[&input, "--shape", "2,3", "--out", &out]);
    drop(child.stdout.take());
    Run::new(child.wait_with_output().unwrap()).done();
    folder.holds(&["in.npy", "out.npy"]);
    drop(spawn(&[]).stdout.take());
    // The data itself is cut off: the exit code is 1, without an error message.
    let mut child = spawn(&[&input, "--shape", "1000000,3", "--out", "-"]);
    child
        .stdout
        .take()
        .unwrap()
        .read_exact(&mut [0; 6])
        .unwrap();
    let run = Run::new(child.wait_with_output().unwrap());
    assert_eq!(run.code, 1);
    assert!(!run.err.contains("error"), "{}", run.err);
}

#[test]
fn a_failed_run_leaves_the_output_file_unchanged() {
    let folder = EXAMPLE.folder("whole");
    let (input, out) = (
        folder.write("in.npy", &counting(&[3])),
        folder.write("out.npy", b"before"),
    );
    for arguments in [
        &["--shape", "2,2"][..],
        &["--shape", "2,3", "--max-bytes", "12"],
    ] {
        assert_eq!(
            EXAMPLE
                .run(&[&[&input[..], "--out", &out], arguments].concat())
                .code,
            1
        );
        assert_eq!(fs::read(&out).unwrap(), b"before");
        folder.holds(&["in.npy", "out.npy"]);
    }
    for path in [
        folder.path("missing/out.npy"),
        folder.path(""),
        folder.path(".."),
    ] {
        EXAMPLE
            .run(&[&input, "--shape", "2,3", "--out", &path])
            .failed(1, "");
    }
    folder.holds(&["in.npy", "out.npy"]);
    EXAMPLE
        .run(&[&input, "--shape", "2,3", "--out", &out])
        .done();
    elements(&fs::read(&out).unwrap(), "<i4", &[2, 3]);
    folder.holds(&["in.npy", "out.npy"]);
}

/// `ulimit` restricts files to 64 KiB, which simulates a full disk.
#[cfg(unix)]
#[test]
fn a_write_that_fails_midway_leaves_the_old_file() {
    let folder = EXAMPLE.folder("full");
    let (input, out) = (
        folder.write("in.npy", &counting(&[3])),
        folder.write("out.npy", b"before"),
    );
    let mut command = Command::new("sh");
    command
        .args(["-c", "trap '' XFSZ; ulimit -f 64; exec \"$@\"", "sh"])
        .args(prefixed(&EXAMPLE.path()));
    command.args([&input, "--shape", "1000000,3", "--out", &out]);
    Run::new(command.output().unwrap()).failed(1, "out.npy: ");
    assert_eq!(fs::read(&out).unwrap(), b"before");
    folder.holds(&["in.npy", "out.npy"]);
}

/// The example writes to a device and follows a symbolic link. It replaces neither.
#[cfg(unix)]
#[test]
fn devices_and_links_are_not_replaced() {
    let folder = EXAMPLE.folder("special");
    let (input, file) = (
        folder.write("in.npy", &counting(&[3])),
        folder.write("file.npy", b"before"),
    );
    let (null, link) = (folder.path("null"), folder.path("link.npy"));
    std::os::unix::fs::symlink("/dev/null", &null).unwrap();
    std::os::unix::fs::symlink("file.npy", &link).unwrap();
    for out in [&null, &link] {
        EXAMPLE
            .run(&[&input, "--shape", "2,3", "--out", out])
            .done();
        assert!(fs::symlink_metadata(out).unwrap().is_symlink());
    }
    elements(&fs::read(file).unwrap(), "<i4", &[2, 3]);
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
    folder.holds(&["file.npy", "in.npy", "link.npy", "null"]);
}

#[cfg(unix)]
#[test]
fn arguments_that_are_not_utf8_are_accepted_as_paths_only() {
    use std::os::unix::ffi::OsStrExt;
    let broken = OsStr::from_bytes(b"\xff\xfe");
    EXAMPLE
        .run(&[broken, OsStr::new("--shape"), OsStr::new("2")])
        .failed(1, "No such file");
    EXAMPLE
        .run(&[OsStr::new("in.npy"), OsStr::new("--shape"), broken])
        .failed(2, "");
    EXAMPLE
        .run(&[OsStr::new("in.npy"), OsStr::new("--mode"), broken])
        .failed(2, "");
    EXAMPLE
        .run(&[broken, broken])
        .failed(2, "INPUT is given twice");
}

/// Valid files with random bytes changed, removed, inserted or cut off.
#[test]
fn mutated_files_are_read_or_rejected() {
    let folder = EXAMPLE.folder("mutated");
    let (input, out) = (folder.path("in.npy"), folder.path("out.npy"));
    let real = counting(&[2, 3]);
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    // xorshift64, so that every run tests the same files.
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    let (mut read, mut rejected) = (0, 0);
    for _ in 0..400 {
        let mut bytes = real.clone();
        for _ in 0..1 + random(3) {
            let at = random(bytes.len());
            match random(6) {
                0 => bytes[at] = random(256) as u8,
                1 => bytes[at] ^= 1 << random(8),
                2 => drop(bytes.remove(at)),
                3 => bytes.insert(at, b"0123456789,()'<>|{}: -"[random(22)]),
                4 => bytes.insert(at, bytes[at]),
                _ => bytes.truncate(at.max(1)),
            }
        }
        fs::write(&input, &bytes).unwrap();
        let run = EXAMPLE.run(&[
            &input,
            "--mode",
            "bidirectional",
            "--shape",
            "2,1,1",
            "--out",
            &out,
        ]);
        match run.code {
            0 => {
                run.done();
                assert!(fs::read(&out).unwrap().starts_with(b"\x93NUMPY\x01\x00"));
                fs::remove_file(&out).unwrap();
                read += 1;
            }
            _ => {
                run.failed(1, "");
                rejected += 1;
            }
        }
        folder.holds(&["in.npy"]);
    }
    assert!(read > 10 && rejected > 100, "{read} {rejected}");
}
