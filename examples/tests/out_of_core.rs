//! The example `out_of_core`, run as a process. The output file equals an index-by-index oracle
//! after one run, tile by tile, by several processes, and after some of them were killed. Files
//! that do not belong to the job are rejected.

use crate::example::{Example, Folder, Run};
use crate::npy_bytes::{counting, dict, elements, indices, npy, tuple};
use crate::process::prefixed;
use crate::tensor::with_array;
use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const EXAMPLE: Example = Example("out_of_core");

/// The row-major position of the input element at an output index.
type Source = fn(&[usize]) -> usize;

/// A broadcast and its oracle.
struct Case {
    input: &'static [usize],
    arguments: &'static [&'static str],
    output: &'static [usize],
    source: Source,
}

const CASES: &[Case] = &[
    Case {
        input: &[3],
        arguments: &["--mode", "explicit", "--shape", "2,3,5,7", "--axes", "1"],
        output: &[2, 3, 5, 7],
        source: |o| o[1],
    },
    Case {
        input: &[4, 1, 3],
        arguments: &["--shape", "5,4,6,3"],
        output: &[5, 4, 6, 3],
        source: |o| o[1] * 3 + o[3],
    },
    Case {
        input: &[2, 3],
        arguments: &["--mode", "in_dim_permuting(2, 0)", "--shape", "3,11,2"],
        output: &[3, 11, 2],
        source: |o| o[2] * 3 + o[0],
    },
    Case {
        input: &[2, 1],
        arguments: &["--mode", "prepend", "--shape", "17"],
        output: &[17, 2, 1],
        source: |o| o[1],
    },
    Case {
        input: &[2, 3],
        arguments: &["--mode", "pdpd", "--axis", "0", "--shape", "2,3,4"],
        output: &[2, 3, 4],
        source: |o| o[0] * 3 + o[1],
    },
    Case {
        input: &[],
        arguments: &["--shape", "1000"],
        output: &[1000],
        source: |_| 0,
    },
    Case {
        input: &[],
        arguments: &["--shape", ""],
        output: &[],
        source: |_| 0,
    },
    Case {
        input: &[1],
        arguments: &["--shape", "3,0,2"],
        output: &[3, 0, 2],
        source: |_| 0,
    },
];

impl Case {
    /// The expected output bytes for these input bytes, with elements of `size` bytes.
    fn output_of(&self, input: &[u8], size: usize) -> Vec<u8> {
        let source = |index: &Vec<usize>| (self.source)(index) * size;
        (indices(self.output).iter().map(source))
            .flat_map(|at| input[at..at + size].to_vec())
            .collect()
    }
}

/// A case in its own folder. Its input is 0, 1, 2, ... as `i32`.
struct Job {
    folder: Folder,
    case: &'static Case,
    /// Of a tile, at most, and how many tiles that are.
    bytes: usize,
    tiles: usize,
}

impl Job {
    fn new(test: &str, case: &'static Case, bytes: usize) -> Self {
        let folder = EXAMPLE.folder(test);
        folder.write("in.npy", &counting(case.input));
        // A tile is whole in the inner axes, cut along one, and of size 1 in the outer ones.
        let (mut room, mut tiles) = ((bytes / 4).max(1), 1);
        for &size in case.output.iter().rev() {
            tiles *= size.div_ceil(room.min(size).max(1));
            room = if room < size { 1 } else { room / size.max(1) };
        }
        Job {
            folder,
            case,
            bytes,
            tiles,
        }
    }

    fn command(&self, more: &[&str]) -> Command {
        let (input, out) = (self.folder.path("in.npy"), self.folder.path("out.npy"));
        let mut command = EXAMPLE.command(&[&input, "--out", &out]);
        command.args(self.case.arguments);
        command.args(["--tile-bytes", &self.bytes.to_string()]);
        command.args(more);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, more: &[&str]) -> Run {
        Run::new(self.command(more).output().unwrap())
    }

    fn tile(&self, tile: usize) -> Run {
        self.run(&["--tile", &tile.to_string()])
    }

    fn out(&self) -> Vec<u8> {
        fs::read(self.folder.path("out.npy")).unwrap()
    }

    fn progress(&self) -> Vec<u8> {
        fs::read(self.folder.path("out.npy.progress")).unwrap()
    }

    fn marks(&self) -> String {
        let progress = self.progress();
        String::from_utf8(progress[progress.len() - self.tiles..].to_vec()).unwrap()
    }

    /// Asserts that the output equals the oracle and that all tiles are marked as done.
    #[track_caller]
    fn assert_complete(&self) {
        self.folder
            .holds(&["in.npy", "out.npy", "out.npy.progress"]);
        let file = self.out();
        let input: Vec<u8> = (0..1000_i32).flat_map(i32::to_le_bytes).collect();
        let wanted = self.case.output_of(&input, 4);
        assert!(elements(&file, "<i4", self.case.output) == wanted);
        assert_eq!(self.marks(), "x".repeat(self.tiles));
    }
}

/// 0 to `count - 1` in pseudo-random order.
fn shuffled(count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_key(|&i| (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    order
}

#[test]
fn one_run_and_tiles_in_any_order_write_the_same_file() {
    for (i, case) in CASES.iter().enumerate() {
        for bytes in [1, 30, 100, 1 << 20] {
            for map in [&[][..], &["--no-map"]] {
                let job = Job::new(&format!("whole-{i}-{bytes}-{}", map.len()), case, bytes);
                let run = job.run(map).done();
                // The file is little-endian. Big-endian processors write it through a buffer.
                let mapped = map.is_empty() && cfg!(target_endian = "little");
                let how = if mapped { "mapped" } else { "buffer" };
                assert!(run.out().contains(how) || case.output.contains(&0));
                assert!(run.out().ends_with("state   complete\n"), "{}", run.out());
                job.assert_complete();
                let again = job.run(map).done();
                assert!(again.out().contains("wrote   nothing\nstate   complete\n"));
                job.assert_complete();
            }
        }
        let job = Job::new(&format!("tiles-{i}"), case, 150);
        if job.tiles == 0 {
            continue;
        }
        for (done, tile) in shuffled(job.tiles).into_iter().enumerate() {
            let header = job.folder.path("out.npy");
            assert!(done == 0 || fs::read(header).unwrap()[..64] == [0; 64]);
            let run = job.tile(tile).done();
            let state = match job.tiles - 1 - done {
                0 => "complete".into(),
                1 => "1 tile missing".into(),
                missing => format!("{missing} tiles missing"),
            };
            assert!(
                run.out().ends_with(&format!("\nstate   {state}\n")),
                "{}",
                run.out()
            );
            // A tile that is already done is not written again.
            assert!(job.tile(tile).done().out().contains("wrote   nothing"));
        }
        job.assert_complete();
    }
}

#[test]
fn without_a_size_of_tiles_240_mb_are_4_tiles() {
    let case = Case {
        input: &[2],
        arguments: &["--mode", "explicit(1)", "--shape", "30000000,2"],
        output: &[30_000_000, 2],
        source: |o| o[1],
    };
    let folder = EXAMPLE.folder("default");
    let input = folder.write("in.npy", &counting(case.input));
    let out = folder.path("out.npy");
    let arguments = [&[&input[..], "--out", &out], case.arguments].concat();
    let run = EXAMPLE.run(&arguments).done();
    assert!(
        run.out().contains("header, 4 tiles, 0 of them done"),
        "{}",
        run.out()
    );
    let file = fs::read(&out).unwrap();
    let pair = [0_i32.to_le_bytes(), 1_i32.to_le_bytes()].concat();
    let data = elements(&file, "<i4", case.output);
    assert_eq!(data.len(), 240_000_000);
    assert!(data.chunks_exact(8).all(|found| found == pair));
    fs::remove_file(out).unwrap();
}

#[test]
fn every_element_type_and_byte_order_is_written() {
    let bytes: Vec<u8> = (0..48).collect();
    let case = &CASES[2];
    for (descr, written, size) in [
        ("<f2", "<f2", 2),
        ("<f4", "<f4", 4),
        ("<f8", "<f8", 8),
        (">f8", "<f8", 8),
        (">u2", "<u2", 2),
        ("|i1", "|i1", 1),
        ("<i2", "<i2", 2),
        ("<i8", "<i8", 8),
        ("|u1", "|u1", 1),
        ("<u4", "<u4", 4),
        ("<u8", "<u8", 8),
        ("|b1", "|b1", 1),
    ] {
        for map in [&[][..], &["--no-map"]] {
            let mut data = bytes[..6 * size].to_vec();
            if descr == "|b1" {
                data.iter_mut().for_each(|byte| *byte %= 2);
            }
            let folder = EXAMPLE.folder("types");
            let input = npy(1, &dict(descr, false, &tuple(case.input)), &data);
            let (input, out) = (folder.write("in.npy", &input), folder.path("out.npy"));
            let start = [&input[..], "--out", &out, "--tile-bytes", "30"];
            EXAMPLE.run(&[&start, case.arguments, map].concat()).done();
            if descr.starts_with('>') {
                data.chunks_exact_mut(size).for_each(<[u8]>::reverse);
            }
            let (from, file) = (fs::read(&input).unwrap(), fs::read(&out).unwrap());
            assert_eq!(
                elements(&file, written, case.output),
                case.output_of(&data, size)
            );
            // The examples' own reader gives the same values.
            let (from, shape) = values(&from);
            assert_eq!(shape, case.input);
            let wanted: Vec<_> = (indices(case.output).iter())
                .map(|index| from[(case.source)(index)].clone())
                .collect();
            assert_eq!(values(&file), (wanted, case.output.to_vec()));
        }
    }
}

/// The elements of a `.npy` file, each with its type, and the shape.
fn values(file: &[u8]) -> (Vec<String>, Vec<usize>) {
    let tensor = crate::npy::read(file, usize::MAX).unwrap();
    let element_type = tensor.element_type();
    let values = with_array!(&tensor, array => {
        array.iter().map(|value| format!("{element_type} {value:?}")).collect()
    });
    (values, tensor.shape().to_vec())
}

#[test]
fn a_dash_is_standard_input() {
    let job = Job::new("dash", &CASES[0], 300);
    let out = job.folder.path("out.npy");
    let arguments = [
        &["-", "--out", &out, "--tile-bytes", "300"],
        job.case.arguments,
    ]
    .concat();
    EXAMPLE
        .run_with_input(&arguments, &counting(job.case.input))
        .done();
    job.assert_complete();
}

const MANY: Case = Case {
    input: &[2],
    arguments: &["--mode", "explicit(1)", "--shape", "300,2"],
    output: &[300, 2],
    source: |o| o[1],
};

#[test]
fn a_run_that_is_killed_is_continued() {
    const TILES: usize = 300;
    let mut killed_midway = 0;
    for round in 0..20 {
        let job = Job::new("killed", &MANY, 8);
        assert_eq!(job.tiles, TILES);
        let path = job.folder.path("out.npy.progress");
        let done = || {
            let marks = fs::read(&path).unwrap_or_default();
            marks
                .iter()
                .rev()
                .take(TILES)
                .filter(|&&mark| mark == b'x')
                .count()
        };
        let mut child = job.command(&[]).stdout(Stdio::null()).spawn().unwrap();
        let begun = Instant::now();
        while done() <= round && begun.elapsed() < Duration::from_secs(60) {}
        child.kill().unwrap();
        child.wait().unwrap();
        let done = done();
        assert!(done > round, "no progress within 60 seconds");
        if done == TILES {
            continue;
        }
        killed_midway += 1;
        assert!(
            crate::npy::read(&job.out()[..], usize::MAX).is_err(),
            "an incomplete file must not be a valid .npy file"
        );
        let run = job.run(&[]).done();
        let found = format!("{TILES} tiles, {done} of them done\n");
        assert!(run.out().contains(&found), "{}", run.out());
        let rest = format!("wrote   {} tile", TILES - done);
        assert!(run.out().contains(&rest), "{}", run.out());
        job.assert_complete();
        if killed_midway == 3 {
            return;
        }
    }
    panic!("only {killed_midway} of 20 runs were killed before their end");
}

#[test]
fn a_tile_without_mark_is_written_again() {
    let job = Job::new("unmarked", &CASES[1], 288);
    job.run(&[]).done();
    // Simulate a power failure within tile 2: the tile is incomplete, and its mark and the header
    // are missing.
    let (mut file, mut progress) = (job.out(), job.progress());
    let (data, marks) = (file.len() - 360 * 4, progress.len() - 5);
    file[..data].fill(0);
    file[data + 2 * 288 + 100..data + 3 * 288].fill(0xee);
    progress[marks + 2] = b'.';
    job.folder.write("out.npy", &file);
    job.folder.write("out.npy.progress", &progress);
    let run = job.run(&[]).done();
    assert!(
        run.out().contains("5 tiles, 4 of them done"),
        "{}",
        run.out()
    );
    assert!(
        run.out().contains("wrote   1 tile, 288 bytes"),
        "{}",
        run.out()
    );
    job.assert_complete();
}

#[test]
fn a_run_that_was_killed_while_it_created_its_files_is_continued() {
    let job = Job::new("early", &CASES[1], 288);
    job.run(&[]).done();
    let mut progress = job.progress();
    let marks = progress.len() - job.tiles;
    progress[marks..].fill(b'.');
    job.folder.write("out.npy.progress", &progress);
    // First an output file without content, then no output file.
    job.folder.write("out.npy", b"");
    job.run(&[]).done();
    job.assert_complete();
    job.folder.write("out.npy.progress", &progress);
    fs::remove_file(job.folder.path("out.npy")).unwrap();
    job.run(&[]).done();
    job.assert_complete();
}

#[test]
fn processes_that_start_together_complete_the_file() {
    for round in 0..10 {
        let job = Job::new(&format!("share-{round}"), &CASES[1], 216);
        // No file exists yet: all processes create it at the same time.
        let children: Vec<_> = (0..job.tiles)
            .map(|tile| job.command(&["--tile", &tile.to_string()]).spawn().unwrap())
            .collect();
        let mut complete = 0;
        for child in children {
            let run = Run::new(child.wait_with_output().unwrap()).done();
            complete += usize::from(run.out().ends_with("state   complete\n"));
        }
        assert!(complete >= 1, "the last process reports the complete state");
        job.assert_complete();
    }
}

#[test]
fn two_concurrent_series_of_processes_complete_the_file() {
    let job = Job::new("halves", &MANY, 60);
    std::thread::scope(|scope| {
        for half in 0..2 {
            let job = &job;
            scope.spawn(move || {
                for tile in shuffled(job.tiles)
                    .into_iter()
                    .filter(|tile| tile % 2 == half)
                {
                    job.tile(tile).done();
                }
            });
        }
    });
    job.assert_complete();
}

/// Files of another job, or files changed by hand.
#[test]
fn files_of_another_job_are_rejected_and_unchanged() {
    type Change = fn(&mut Vec<u8>, &mut Vec<u8>);
    let changes: &[(&str, Change)] = &[
        ("this is not the progress of any job", |_, p| {
            *p = b"hello".to_vec()
        }),
        ("this is not the progress of any job", |_, p| p.clear()),
        ("this is not the progress of any job", |_, p| {
            p.insert(0, b'x')
        }),
        ("tiles 6 of 288 bytes\", and this one", |_, p| {
            let text = String::from_utf8_lossy(p).replace("tiles 5", "tiles 6");
            *p = text.into_bytes();
        }),
        ("mode pdpd", |_, p| {
            let text = String::from_utf8_lossy(p).replace("mode numpy", "mode pdpd(-1)");
            *p = text.into_bytes();
        }),
        ("another job: \"\", and this one has \"tiles 5", |_, p| {
            p.truncate(p.len() - b"tiles 5 of 288 bytes\n\n.....".len());
        }),
        ("name is cut short", |_, p| {
            p.truncate(p.len() - b"\n.....".len());
        }),
        ("not one byte for each tile", |_, p| p.push(b'x')),
        ("not one byte for each tile", |_, p| p.truncate(p.len() - 1)),
        ("a mark is neither", |_, p| *p.last_mut().unwrap() = b'y'),
        ("a mark is neither", |_, p| *p.last_mut().unwrap() = 0),
        (
            "tile 4 is marked as done, and element 359 is not",
            |out, _| {
                *out.last_mut().unwrap() ^= 1;
            },
        ),
        (
            "tile 0 is marked as done, and element 36 is not",
            |out, _| {
                let data = out.len() - 360 * 4;
                out[data..].fill(0);
            },
        ),
        ("the job's file has 1568", |out, _| out.push(0)),
        ("the job's file has 1568", |out, _| {
            out.truncate(out.len() - 1)
        }),
        ("the job's file has 1568", |out, _| out.clear()),
        ("another job's file", |out, _| out[60] = b'y'),
        ("another job's file", |out, _| out[0] = b'P'),
    ];
    for (i, (problem, change)) in changes.iter().enumerate() {
        let job = Job::new(&format!("foreign-{i}"), &CASES[1], 288);
        job.run(&[]).done();
        let (mut out, mut progress) = (job.out(), job.progress());
        change(&mut out, &mut progress);
        job.folder.write("out.npy", &out);
        job.folder.write("out.npy.progress", &progress);
        let run = job.run(&[]);
        run.failed(1, problem);
        run.failed(1, "--restart begins again");
        assert_eq!((job.out(), job.progress()), (out, progress));
        job.run(&["--restart"]).done();
        job.assert_complete();
    }
}

#[test]
fn the_error_for_another_job_names_the_difference() {
    let job = Job::new("names", &CASES[1], 288);
    job.run(&[]).done();
    let (input, out) = (job.folder.path("in.npy"), job.folder.path("out.npy"));
    let other: Vec<u8> = (1..13_i32).flat_map(i32::to_le_bytes).collect();
    let other = npy(1, &dict("<i4", false, "(4, 1, 3)"), &other);
    let other = EXAMPLE.folder("names-other").write("in.npy", &other);
    for (arguments, problem) in [
        (
            vec![&input[..], "--shape", "5,4,6,3"],
            "and this one has \"tiles 1 of 67108864 bytes\"",
        ),
        (
            vec![&input, "--shape", "5,4,6,3", "--tile-bytes", "289"],
            "\"tiles 5 of 289 bytes\"",
        ),
        (
            vec![&input, "--shape", "5,4,7,3", "--tile-bytes", "288"],
            "[5, 4, 7, 3]",
        ),
        (
            vec![
                &input,
                "--shape",
                "5,4,6,3",
                "--tile-bytes",
                "288",
                "--mode",
                "expand",
            ],
            "\"mode expand\"",
        ),
        (
            vec![&other, "--shape", "5,4,6,3", "--tile-bytes", "288"],
            "FNV-1a",
        ),
    ] {
        let arguments = [arguments, vec!["--out", &out]].concat();
        EXAMPLE.run(&arguments).failed(1, problem);
        job.assert_complete();
    }
}

#[test]
fn an_output_file_without_progress_is_kept() {
    let job = Job::new("kept", &CASES[0], 2);
    job.folder.write("out.npy", b"precious");
    job.run(&[]).failed(
        1,
        "it exists, and there is no progress of this job beside it",
    );
    job.tile(0).failed(1, "it exists");
    assert_eq!(job.out(), b"precious");
    job.folder.holds(&["in.npy", "out.npy"]);
    job.run(&["--restart"]).done();
    job.assert_complete();
    fs::remove_file(job.folder.path("out.npy")).unwrap();
    job.run(&[])
        .failed(1, "tiles of it are done, and it is not there");
}

#[test]
fn the_input_is_never_overwritten() {
    let job = Job::new("input", &CASES[0], 2);
    let input = job.folder.path("in.npy");
    let before = fs::read(&input).unwrap();
    for more in [&[][..], &["--restart"]] {
        let start = [&input[..], "--out", &input];
        let run = EXAMPLE.run(&[&start, job.case.arguments, more].concat());
        run.failed(2, "INPUT would be overwritten");
        let beside = job.folder.write("big.npy.progress", &before);
        let start = [
            &beside[..],
            "--out",
            beside.strip_suffix(".progress").unwrap(),
        ];
        let run = EXAMPLE.run(&[&start, job.case.arguments, more].concat());
        run.failed(2, "INPUT would be overwritten");
        assert_eq!(fs::read(&beside).unwrap(), before);
    }
    assert_eq!(fs::read(&input).unwrap(), before);
}

#[test]
fn wrong_arguments_exit_with_code_2() {
    let job = Job::new("usage", &CASES[0], 2);
    let (input, out) = (job.folder.path("in.npy"), job.folder.path("out.npy"));
    let cases: &[(&[&str], &str)] = &[
        (&["--tile-bytes", "0"], "--tile-bytes 0"),
        (&["--tile-bytes", "-1"], "--tile-bytes"),
        (
            &["--tile-bytes", "99999999999999999999"],
            "no integer in its range",
        ),
        (&["--tile", "1"], "the last of 1 tiles is 0"),
        (
            &["--tile-bytes", "8", "--tile", "4"],
            "the last of 4 tiles is 3",
        ),
        (
            &["--tile", &usize::MAX.to_string()],
            "the last of 1 tiles is 0",
        ),
        (&["--tile", "0", "--tile", "0"], "given twice"),
        (&["--restart", "--restart"], "given twice"),
        (&["--restart=yes"], "unexpected argument"),
        (&["--out", ""], "empty name"),
        (&["--out", "b.npy"], "given twice"),
        (&["--with", "b.npy"], "invalid option '--with'"),
        (&["--max-bytes", "many"], "--max-bytes"),
        (&["--mode", "none"], "invalid broadcast mode"),
        (&["--axis", "1"], "takes no --axis"),
        (&["more.npy"], "INPUT is given twice"),
    ];
    for (more, problem) in cases {
        let start = [&input[..], "--shape", "2,3", "--out", &out];
        EXAMPLE.run(&[&start, *more].concat()).failed(2, problem);
        job.folder.holds(&["in.npy"]);
    }
    EXAMPLE
        .run(&[
            &input[..],
            "--shape",
            "1048577,3",
            "--out",
            &out,
            "--tile-bytes",
            "1",
        ])
        .failed(2, "3145731 tiles, and there are 1048576 at most");
    EXAMPLE
        .run(&[&input[..], "--shape", "2,3"])
        .failed(2, "--out is missing");
    EXAMPLE
        .run(&[&input[..], "--out", &out])
        .failed(2, "--shape is missing");
    EXAMPLE
        .run(&["--shape", "3", "--out", &out])
        .failed(2, "INPUT.npy is missing");
    EXAMPLE
        .run(&[&input[..], "--shape", "3", "--out", "-"])
        .failed(2, "--out -");
    job.folder.holds(&["in.npy"]);
}

/// Runs that the rule, the disk or the folder does not allow leave no file behind.
#[test]
fn impossible_jobs_exit_with_code_1() {
    let job = Job::new("refused", &CASES[0], 2);
    let (input, out) = (job.folder.path("in.npy"), job.folder.path("out.npy"));
    let deep = job.folder.path("no/such/folder.npy");
    let lies = npy(1, &dict("<f4", false, "(999999999, 3)"), &[0; 24]);
    let largest = isize::MAX;
    let cases: &[(&[&str], &str)] = &[
        (
            &[&input, "--shape", "4", "--out", &out],
            "3 is neither 4 nor 1",
        ),
        (&[&input, "--shape", "-4", "--out", &out], "-4"),
        (
            &[&input, "--shape", &format!("{largest},3"), "--out", &out],
            &format!("[{largest}, 3]"),
        ),
        (&[&input, "--shape", "2,3", "--out", &deep], "folder.npy"),
        (
            &[&input, "--shape", "2,3", "--out", &out, "--max-bytes", "11"],
            "limit of 11 bytes",
        ),
        (&["no.npy", "--shape", "2,3", "--out", &out], "no.npy: "),
    ];
    let refused = |arguments: &[&str], problem: &str| {
        EXAMPLE.run(arguments).failed(1, problem);
        job.folder.holds(&["in.npy"]);
    };
    for (arguments, problem) in cases {
        refused(arguments, problem);
    }
    // Files larger than any disk, which only sizes of 64 bits can describe.
    let beyond_any_disk: &[(&[&str], &str)] = &[
        (&["3000000000000000000,3"], "passes this example's limit"),
        (&["700000000000000000,3"], "out.npy: "),
        (&["100000000000000,3"], "out.npy: "),
        (&["100000000000000,3", "--no-map"], "out.npy: "),
        (&["100000000000000,3", "--tile", "7"], "out.npy: "),
    ];
    if usize::BITS == 64 {
        for (shape, problem) in beyond_any_disk {
            refused(
                &[&[&input[..], "--out", &out, "--shape"], *shape].concat(),
                problem,
            );
        }
    }
    let axes = format!("{}3", "1,".repeat(64));
    EXAMPLE
        .run(&[&input, "--shape", &axes, "--out", &out])
        .failed(1, "65 axes are more");
    for (broken, problem) in [
        (&b""[..], "no .npy file"),
        (b"\x93NUMPY\x01\x00", "no .npy file"),
        (&lies, "passes this example's limit"),
        (
            &npy(1, &dict("<f4", false, "(3,)"), &[0; 11]),
            "needs 12 bytes of data, and there are 11",
        ),
        (
            &npy(1, &dict("<f4", false, "(3,)"), &[0; 13]),
            "and there are more",
        ),
        (
            &npy(1, &dict("|O", false, "(3,)"), &[0; 24]),
            "element type",
        ),
    ] {
        let broken = job.folder.write("in.npy", broken);
        EXAMPLE
            .run(&[&broken, "--shape", "2,3", "--out", &out])
            .failed(1, problem);
        job.folder.holds(&["in.npy"]);
    }
}

#[cfg(unix)]
#[test]
fn a_file_size_limit_exits_with_code_1() {
    let job = Job::new("limit", &CASES[0], 2);
    let (input, out) = (job.folder.path("in.npy"), job.folder.path("out.npy"));
    for map in ["--tile=0", "--no-map"] {
        let mut command = Command::new("sh");
        command
            .args(["-c", "trap '' XFSZ; ulimit -f 64; exec \"$@\"", "sh"])
            .args(prefixed(&EXAMPLE.path()));
        command.args([&input, "--shape", "1000000,3", "--out", &out, map]);
        Run::new(command.output().unwrap()).failed(1, "out.npy: ");
        job.folder.holds(&["in.npy"]);
    }
}

/// In each container the first process has the id 1, so one that was killed has left its temporary
/// file to the next.
#[cfg(unix)]
#[test]
fn temporary_files_of_a_killed_process_with_the_same_id_are_passed_over() {
    let job = Job::new("same-id", &CASES[0], 2);
    let (input, out) = (job.folder.path("in.npy"), job.folder.path("out.npy"));
    let script = "for i in 0 1; do : > .out.npy.progress.$$.$i.part; done; exec \"$@\"";
    let mut command = Command::new("sh");
    command
        .args(["-c", script, "sh"])
        .args(prefixed(&EXAMPLE.path()))
        .args([&input, "--out", &out, "--tile-bytes", "2"])
        .args(job.case.arguments)
        .current_dir(job.folder.path(""))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    let id = child.id();
    Run::new(child.wait_with_output().unwrap()).done();
    for i in 0..2 {
        // They are not touched: their process may live in another container.
        let left = job.folder.path(&format!(".out.npy.progress.{id}.{i}.part"));
        fs::remove_file(left).unwrap();
    }
    job.assert_complete();
}

/// The example does not map, read or replace a folder or a pipe.
#[cfg(unix)]
#[test]
fn folders_and_pipes_are_rejected() {
    let job = Job::new("special", &CASES[0], 2);
    let (folder, pipe) = (job.folder.path("folder"), job.folder.path("pipe.progress"));
    fs::create_dir(&folder).unwrap();
    let status = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(status.success());
    let input = job.folder.path("in.npy");
    for (out, found) in [
        (&folder[..], "folder: this is no plain file"),
        (&pipe, "pipe.progress: this is no plain file"),
        (
            pipe.strip_suffix(".progress").unwrap(),
            "pipe.progress: this is no plain file",
        ),
    ] {
        for more in [&[][..], &["--restart"], &["--no-map"]] {
            let start = [&input[..], "--out", out];
            EXAMPLE
                .run(&[&start, job.case.arguments, more].concat())
                .failed(1, found);
            job.folder.holds(&["folder", "in.npy", "pipe.progress"]);
        }
    }
}

#[test]
fn help_describes_every_option() {
    for option in ["--help", "-h"] {
        let run = EXAMPLE.run(&[option]).done();
        for word in [
            "--tile K",
            "--tile-bytes N",
            "--restart",
            "--no-map",
            "several processes",
            ".progress",
            "pdpd",
            "SIGBUS",
        ] {
            assert!(
                run.out().to_lowercase().contains(&word.to_lowercase()),
                "{word}"
            );
        }
    }
}

/// Its commands are those that it shows: pasted into a shell, they find what it has left.
#[test]
fn the_demonstration_verifies_its_file_and_can_be_repeated() {
    let folder = EXAMPLE.folder("demonstration");
    folder.write("Cargo.toml", b"");
    let in_folder = |words: &[&str]| {
        let mut command = EXAMPLE.command(words);
        Run::new(command.current_dir(folder.path("")).output().unwrap()).done()
    };
    for _ in 0..2 {
        let run = in_folder(&[]);
        for line in [
            "16 tiles, 0 of them done",
            "16 tiles, 1 of them done",
            "16 tiles, 16 of them done",
            "state   15 tiles missing",
            "state   complete",
            "4096 elements read back from target/out_of_core/demo_big.npy: each is its channel's.",
        ] {
            assert!(run.out().contains(line), "{line:?} is not in {}", run.out());
        }
        let commands: Vec<_> = (run.out().split(" -- \\\n"))
            .skip(1)
            .map(|rest| rest.split_once("\ninput ").unwrap().0.replace('\\', ""))
            .collect();
        assert_eq!(commands.len(), 3);
        let words: Vec<_> = commands[2].split_whitespace().collect();
        assert!(
            in_folder(&words)
                .out()
                .contains("wrote   nothing\nstate   complete\n")
        );
    }
    folder.holds(&["Cargo.toml", "target"]);
    fs::remove_dir_all(folder.path("target")).unwrap();
}

#[test]
fn the_demonstration_has_a_default_folder_only_in_a_cargo_project() {
    let folder = EXAMPLE.folder("demonstration-elsewhere");
    let run = |words: &[&str]| {
        let mut command = EXAMPLE.command(words);
        Run::new(command.current_dir(folder.path("")).output().unwrap())
    };
    run(&[]).failed(2, "--out is missing");
    folder.holds(&[]);
    let shown = run(&["--out", "it's here"]).done();
    let out = "'it'\\''s here/demo_big.npy'";
    assert!(shown.out().contains(out), "{}", shown.out());
    folder.holds(&["it's here"]);
    fs::remove_dir_all(folder.path("it's here")).unwrap();
}
