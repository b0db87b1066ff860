//! The program, run as a process, alone, as several workers, and with the feature `mpi` under
//! `mpirun`. Its results have the bits of one call, whatever died meanwhile, and bad input changes
//! nothing.
//!
//! With `FULL=1` sums have 10^8 terms, outputs 8 GiB, and processes are killed 50 times. `FOLDER`
//! is where stores are written, if not where the system has temporary files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const PROGRAM: &str = env!("CARGO_BIN_EXE_distributed");

fn full() -> bool {
    std::env::var_os("FULL").is_some()
}

/// A folder for the stores of a test, which is removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let root = std::env::var_os("FOLDER").map_or_else(std::env::temp_dir, PathBuf::from);
        let folder = root.join(format!("distributed-{test}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// The program with these words, for `processes` processes.
    fn command(&self, processes: usize, words: &str) -> Command {
        let mut command = match processes {
            1 => Command::new(PROGRAM),
            _ => {
                let mut command = Command::new("mpirun");
                command.args(["--oversubscribe", "-n", &processes.to_string(), PROGRAM]);
                command.env("OMPI_ALLOW_RUN_AS_ROOT", "1");
                command.env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
                command
            }
        };
        command.args(words.split(' ')).current_dir(&self.0);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, processes: usize, words: &str) -> Run {
        Run(self.command(processes, words).output().unwrap())
    }

    fn done(&self, words: &str) -> String {
        self.run(1, words).done()
    }

    /// That the program ends with this code and says this.
    #[track_caller]
    fn failed(&self, words: &str, code: i32, problem: &str) {
        let Run(output) = self.run(1, words);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{words}\n{error}");
        assert!(error.contains(problem), "{words}\n{error}");
    }

    /// The names and contents of all files under a name.
    fn files(&self, name: &str) -> Vec<(PathBuf, Vec<u8>)> {
        let mut files = Vec::new();
        let mut left = vec![self.path(name)];
        while let Some(path) = left.pop() {
            if path.is_dir() {
                left.extend(
                    fs::read_dir(&path)
                        .unwrap()
                        .map(|entry| entry.unwrap().path()),
                );
            } else if path.exists() {
                files.push((path.clone(), fs::read(&path).unwrap()));
            }
        }
        files.sort();
        files
    }

    fn remove(&self, name: &str) {
        let _ = fs::remove_dir_all(self.path(name));
        let _ = fs::remove_dir_all(self.path(&format!("{name}.job")));
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

struct Run(Output);

impl Run {
    #[track_caller]
    fn done(self) -> String {
        let error = String::from_utf8_lossy(&self.0.stderr).into_owned();
        assert!(self.0.status.success(), "{error}");
        String::from_utf8(self.0.stdout).unwrap()
    }
}

/// How many processes work together.
fn process_counts() -> &'static [usize] {
    match cfg!(feature = "mpi") {
        true => &[1, 2, 3, 4, 7],
        false => &[1],
    }
}

/// A number in a line of a report, after this text.
fn number_after(report: &str, text: &str) -> f64 {
    let rest = &report[report.find(text).unwrap() + text.len()..];
    let end = rest
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(rest.len());
    rest[..end].parse().unwrap()
}

#[test]
fn gradients_of_f32_have_the_bits_of_one_call_for_any_processes_and_sharding() {
    gradients("f32");
}

#[test]
fn gradients_of_f64_have_the_bits_of_one_call_for_any_processes_and_sharding() {
    gradients("f64");
}

fn gradients(kind: &str) {
    let folder = Folder::new(kind);
    // No size is a multiple of a chunk's, and no row of terms begins where a block does.
    let (shape, chunks, mask) = match full() {
        true => ("101,2,997,1000", "3,1,500,1000", "997,1000"),
        false => ("23,2,97,100", "3,1,50,100", "97,100"),
    };
    folder.done(&format!(
        "fill dy --shape {shape} --chunks {chunks} --type {kind}"
    ));
    for (plan, shardings) in [
        (
            "--input 2 --mode explicit --axes 1".to_owned(),
            &["", " --shard 1", " --shard 0", " --shard 1,2"][..],
        ),
        ("--input ()".to_owned(), &["", " --shard 3"]),
        (format!("--input {mask}"), &["", " --shard 2"]),
    ] {
        folder.remove("one");
        folder.done(&format!("gradient dy one {plan} --in-memory"));
        for sharding in shardings {
            for &processes in process_counts() {
                let begun = Instant::now();
                folder.remove("many");
                let report = folder
                    .run(
                        processes,
                        &format!(
                            "gradient dy many {plan}{sharding} --parts 30 --workers {processes}"
                        ),
                    )
                    .done();
                assert!(report.contains("state   complete\n"), "{report}");
                assert_eq!(folder.done("compare one many"), "equal\n");
                println!(
                    "{kind} {plan}{sharding}, {processes} processes: equal, {:.2} s",
                    begun.elapsed().as_secs_f64()
                );
            }
        }
    }
}

#[test]
fn a_gradient_of_a_product_is_that_of_one_call() {
    let folder = Folder::new("product");
    folder.done("fill dy --shape 40,3,50 --type f64 --chunks 7,3,50");
    folder.done("fill x --shape 40,3,50 --type f64 --chunks 40,1,9 --seed 4");
    let plan = "--input 3 --mode explicit --axes 1 --times x";
    folder.done(&format!("gradient dy one {plan} --in-memory"));
    folder.done(&format!("gradient dy many {plan} --parts 5"));
    assert_eq!(folder.done("compare one many"), "equal\n");
    folder.done("map dy x product --op mul");
    folder.done("gradient product of_map --input 3 --mode explicit --axes 1");
    assert_eq!(folder.done("compare one of_map"), "equal\n");
}

#[test]
fn workers_that_are_started_one_by_one_complete_a_job_in_any_order() {
    let folder = Folder::new("workers");
    folder.done("fill dy --shape 30,2,400 --type f32 --chunks 7,1,100");
    let plan = "--input 2 --mode explicit --axes 1 --parts 9";
    folder.done(&format!("gradient dy one {plan} --in-memory"));
    let merge = format!("gradient dy many {plan} --merge");
    folder.failed(&merge, 1, "many: there is no job to merge");
    for worker in [2, 0, 1] {
        if worker == 1 {
            folder.failed(&merge, 1, "parts are missing");
        }
        let report = folder.done(&format!("gradient dy many {plan} --worker {worker}/3"));
        let state = if worker == 1 {
            "complete"
        } else {
            "of other workers are missing"
        };
        assert!(report.contains(state), "{report}");
    }
    assert_eq!(folder.done("compare one many"), "equal\n");
    fs::remove_dir_all(folder.path("many")).unwrap();
    folder.done(&merge);
    assert_eq!(folder.done("compare one many"), "equal\n");

    folder.done("broadcast dy whole --shape 3,30,2,400 --chunks 1,8,2,400");
    let shared = "broadcast dy shared --shape 3,30,2,400 --chunks 1,8,2,400";
    let commands: Vec<_> = (0..4)
        .map(|i| {
            folder
                .command(1, &format!("{shared} --worker {i}/4"))
                .spawn()
                .unwrap()
        })
        .collect();
    for command in commands {
        Run(command.wait_with_output().unwrap()).done();
    }
    assert_eq!(folder.done("compare whole shared"), "equal\n");
    let report = folder.done(shared);
    assert!(
        report.contains("12 of them done") && report.contains(": 0 chunks"),
        "{report}"
    );
}

/// Kills processes at a random moment until one ends before, or it was often enough. Under
/// `mpirun` one rank is killed.
fn kill_at_random(folder: &Folder, random: &mut u64, words: &str, times: usize) -> usize {
    let mut killed = 0;
    let mut longest = Duration::from_millis(if full() { 1500 } else { 200 });
    while killed < times {
        let counts = process_counts();
        *random = random
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        let processes = counts[killed % counts.len()];
        let mut child = folder.command(processes, words).spawn().unwrap();
        let wait = longest.mul_f64((*random >> 40) as f64 / (1 << 24) as f64);
        std::thread::sleep(wait);
        let victim = match processes {
            1 => child.id(),
            _ => rank_of(child.id(), (*random >> 20) as usize).unwrap_or(child.id()),
        };
        // A rank may have ended, and not yet its `mpirun`: then there is nothing to kill.
        if child.try_wait().unwrap().is_some() || !kill(victim) {
            // Too late. What is done is removed, and the next one is killed earlier.
            Run(child.wait_with_output().unwrap()).done();
            let out = words.split(' ').nth(2).unwrap();
            folder.remove(out);
            longest = longest.mul_f64(0.9);
            continue;
        }
        // Where a rank dies while MPI starts, some versions of mpirun wait for ever.
        let begun = Instant::now();
        while child.try_wait().unwrap().is_none() {
            if begun.elapsed() > Duration::from_secs(5) {
                child.kill().unwrap();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        killed += 1;
    }
    killed
}

/// Kills a process. Returns whether it was there.
fn kill(process: u32) -> bool {
    let status = Command::new("kill")
        .args(["-9", &process.to_string()])
        .status();
    status.unwrap().success()
}

/// A process that `mpirun` has started.
fn rank_of(mpirun: u32, random: usize) -> Option<u32> {
    let children = fs::read_to_string(format!("/proc/{mpirun}/task/{mpirun}/children")).ok()?;
    let children: Vec<_> = children.split_whitespace().collect();
    children.get(random % children.len().max(1))?.parse().ok()
}

#[test]
fn jobs_that_are_killed_are_continued_and_whole() {
    let folder = Folder::new("killed");
    let times = if full() { 25 } else { 5 };
    let (dy, x) = match full() {
        true => ("90,3,501,700", "3000,300"),
        false => ("40,3,101,100", "500,30"),
    };
    folder.done(&format!(
        "fill dy --shape {dy} --chunks 4,2,60,100 --type f32"
    ));
    folder.done(&format!("fill x --shape {x} --chunks 100,300 --type f64"));
    folder.done("gradient dy one --input 3 --mode explicit --axes 1 --in-memory");
    let broadcast = format!("--shape 20,{x} --chunks 1,500,300");
    folder.done(&format!("broadcast x whole {broadcast}"));
    let mut random = 7;
    for (words, expected, out) in [
        (
            "gradient dy many --input 3 --mode explicit --axes 1 --parts 300".to_owned(),
            "one",
            "many",
        ),
        (format!("broadcast x shared {broadcast}"), "whole", "shared"),
    ] {
        let killed = kill_at_random(&folder, &mut random, &words, times);
        let report = folder.done(&words);
        assert_eq!(folder.done(&format!("compare {expected} {out}")), "equal\n");
        println!("{out}: killed {killed} times, then\n{report}");
    }
}

#[test]
fn memory_stays_bounded_and_the_speed_is_that_of_a_copy() {
    let folder = Folder::new("memory");
    // 8 GiB; a chunk is 4 MiB.
    let shape = if full() {
        "512,64,256,256"
    } else {
        "16,64,256,256"
    };
    folder.done("fill bias --shape 64 --type f32");
    let words =
        format!("--mode explicit --axes 1 --shape {shape} --chunks 1,16,256,256 --max-bytes 1GiB");
    for codec in ["zstd", "none"] {
        folder.remove("big");
        let report = folder.done(&format!("broadcast bias big {words} --codec {codec}"));
        let peak = number_after(&report, "peak memory ");
        let threads = std::thread::available_parallelism().unwrap().get() as f64;
        // Each thread has a chunk of the output and its part of the input.
        let tiles = threads * f64::from((4 << 20) + 64);
        assert!(peak <= tiles + f64::from(64 << 20), "{report}");
        let speed = number_after(&report, " s: ");
        let begun = Instant::now();
        let bytes = copy(&folder.path("big"), &folder.path("copy"));
        let copied = bytes as f64 / begun.elapsed().as_secs_f64() / 1e9;
        println!(
            "{codec}: {speed} GB/s, peak {peak} bytes; plain copy of {bytes} bytes: {copied:.2} GB/s"
        );
        folder.remove("copy");
        if codec == "none" && full() {
            assert!(speed >= copied / 2., "{report}");
        }
    }
    let begun = Instant::now();
    let report =
        folder.done("gradient big sum --input 64 --mode explicit --axes 1 --max-bytes 1GiB");
    println!(
        "gradient of the same: {:.2} s\n{report}",
        begun.elapsed().as_secs_f64()
    );
    // An item of 16 MiB, and 64 MiB.
    assert!(
        number_after(&report, "peak memory ") <= f64::from(80 << 20),
        "{report}"
    );
}

/// Copies a folder file by file, each of which is on the disk then. Returns how many bytes.
fn copy(from: &Path, to: &Path) -> u64 {
    fs::create_dir_all(to).unwrap();
    let mut bytes = 0;
    for entry in fs::read_dir(from).unwrap() {
        let (from, to) = (
            entry.as_ref().unwrap().path(),
            to.join(entry.unwrap().file_name()),
        );
        if from.is_dir() {
            bytes += copy(&from, &to);
        } else {
            bytes += fs::copy(&from, &to).unwrap();
            fs::File::open(&to).unwrap().sync_all().unwrap();
        }
    }
    bytes
}

#[test]
fn bad_input_is_an_error_that_says_so_and_nothing_is_overwritten() {
    let folder = Folder::new("bad");
    folder.done("fill dy --shape 30,2,400 --type f32 --chunks 7,1,100");
    folder.done("fill other --shape 20,2,400 --type f32 --chunks 7,1,100");
    let job = "gradient dy out --input 2 --mode explicit --axes 1 --parts 9";
    // Half of the work, and then something happens.
    folder.done(&format!("{job} --worker 0/2"));
    let begun = folder.files("out.job");

    let part = folder.path("out.job/item-000000");
    let content = fs::read(&part).unwrap();
    folder.done("gradient other of_other --input 2 --mode explicit --axes 1 --parts 9");
    let of_other = fs::read(folder.path("of_other.job/item-000000")).unwrap();
    let other_part = fs::read(folder.path("out.job/item-000002")).unwrap();
    for (changed, problem) in [
        (
            &of_other[..],
            "these parts do not belong together: sum of [30, 2, 400]",
        ),
        (
            &content[..content.len() - 9],
            "they are cut short, or were changed",
        ),
        (
            &[&content[..40], &[content[40] ^ 1], &content[41..]].concat(),
            "they are cut short, or were changed",
        ),
        (&other_part, "two parts have the terms"),
    ] {
        fs::write(&part, changed).unwrap();
        folder.failed(job, 1, problem);
        assert!(!folder.path("out").exists());
        fs::write(&part, &content).unwrap();
    }
    folder.failed(
        &format!("{job} --workers 4"),
        1,
        "4 workers were asked for (--workers), and there are 1",
    );
    folder.failed(
        "gradient dy out --input 2 --mode explicit --axes 1 --parts 3",
        1,
        "another job",
    );
    folder.failed(
        "gradient other out --input 2 --mode explicit --axes 1 --parts 9",
        1,
        "another job",
    );
    folder.failed(
        "gradient dy new --input 3 --mode explicit --axes 1",
        1,
        "cannot broadcast [3] to [30, 2, 400]",
    );
    folder.failed(
        &format!("{job} --max-bytes 1KiB --restart"),
        1,
        "--max-bytes allows 1024",
    );
    folder.failed(
        "gradient dy new --input 2 --mode explicit --axes 1 --shard 3",
        2,
        "the axes of dy are 0 to 2",
    );
    folder.failed(
        "gradient nowhere new --input 2",
        1,
        "nowhere: this is no Zarr array",
    );

    // The store changes: another time, then a chunk that is cut short.
    let chunk = folder.path("dy/c/3/1/2");
    let bytes = fs::read(&chunk).unwrap();
    fs::write(&chunk, &bytes[..bytes.len() / 2]).unwrap();
    folder.failed(
        job,
        1,
        "the store has changed since the job began: input dy [30, 2, 400] f32",
    );
    folder.failed(
        "gradient dy new --input 2 --mode explicit --axes 1",
        1,
        "cannot be read",
    );
    folder.failed("broadcast dy wide --shape 2,30,2,400", 1, "cannot be read");
    fs::write(&chunk, &bytes).unwrap();
    folder.failed(job, 1, "the store has changed since the job began");
    folder.remove("dy");
    folder.done("fill dy --shape 30,2,400 --type f32 --chunks 10,1,100");
    folder.failed(
        job,
        1,
        "another job: it has \"input dy [30, 2, 400] f32 in chunks of [7, 1, 100]",
    );
    // What was done is as it was. Runs that failed may have added more.
    let parts = folder.files("out.job");
    assert!(begun.iter().all(|file| parts.contains(file)));
    assert!(!folder.path("out").exists());
    folder.done(&format!("{job} --restart"));

    // The output of a broadcast: chunks of another shape, a chunk that is cut short, a store of
    // someone else.
    let wide = "broadcast dy wide --shape 2,30,2,400 --restart";
    folder.done(wide);
    let wide = "broadcast dy wide --shape 2,30,2,400";
    folder.failed(&format!("{wide} --chunks 1,10,2,400"), 1, "another job");
    folder.failed(&format!("{wide} --codec none"), 1, "another job");
    let chunk = folder.path("wide/c/0/0/0/0");
    let bytes = fs::read(&chunk).unwrap();
    fs::write(&chunk, &bytes[..100]).unwrap();
    folder.failed(wide, 1, "the chunk was cut short or changed");
    fs::write(&chunk, &bytes).unwrap();
    folder.done(wide);
    let before = folder.files("wide");
    fs::remove_dir_all(folder.path("wide.job")).unwrap();
    folder.failed(
        wide,
        1,
        "it exists, and no job of this program is beside it",
    );
    assert!(folder.files("wide") == before);
    fs::create_dir(folder.path("mine")).unwrap();
    fs::write(folder.path("mine/notes"), "").unwrap();
    folder.failed(
        "broadcast dy mine --shape 2,30,2,400 --restart",
        1,
        "mine: this is no Zarr store",
    );
    assert!(folder.path("mine/notes").exists());
    folder.failed("map dy other sum --op add", 1, "30");
    folder.failed(&format!("{wide} --chunks 2,2"), 2, "--chunks [2, 2]");
}

#[test]
fn integers_wrap_around_and_are_not_divided() {
    let folder = Folder::new("integers");
    for kind in ["i32", "i64", "u8"] {
        folder.done(&format!("fill {kind} --shape 100 --type {kind}"));
        folder.done(&format!("fill {kind}_b --shape 100 --type {kind} --seed 4"));
        folder.failed(
            &format!("map {kind} {kind}_b quotient --op div"),
            1,
            &format!("{kind} has elements of type {kind}: integers are not divided here"),
        );
        assert_eq!(folder.files("quotient"), []);
        assert_eq!(folder.files("quotient.job"), []);
        // Elements are 0 to 7: u8 passes below 0.
        folder.done(&format!("map {kind} {kind}_b difference --op sub"));
        folder.done(&format!("map difference {kind}_b sum --op add"));
        assert_eq!(folder.done(&format!("compare {kind} sum")), "equal\n");
        // 3 to the power of 64 is too large for each type.
        let mut power = kind.to_owned();
        for i in 0..6 {
            let next = format!("{kind}_{i}");
            folder.done(&format!("map {power} {power} {next} --op mul"));
            power = next;
        }
        let product = format!("gradient {power} product --input 100 --times {power}");
        folder.done(&product);
        folder.done(&format!("map {power} {power} square --op mul"));
        assert_eq!(folder.done("compare product square"), "equal\n");
        for name in ["difference", "sum", "product", "square"] {
            folder.remove(name);
        }
    }
    folder.done("fill f32 --shape 100 --type f32");
    folder.done("map f32 f32 quotient --op div");
}

#[test]
fn sizes_that_no_memory_holds_are_refused_before_any_work() {
    let folder = Folder::new("sizes");
    folder.done("fill dy --shape 30,2 --type f32");
    let before = folder.files("");
    for (words, code, problem) in [
        (
            "fill out --shape 4294967296,4294967296 --chunks 4294967296,4294967296 --type u8",
            1,
            "give smaller --chunks",
        ),
        (
            "fill out --shape 4,4 --chunks 4294967296,4294967296 --type u8",
            1,
            "give smaller --chunks",
        ),
        (
            "fill out --shape 4294967296,4294967296 --chunks 1,1 --type u8",
            1,
            "out: [4294967296, 4294967296] u8 are more than",
        ),
        (
            "fill out --shape 4294967296,4294967296 --type u8",
            1,
            "out: [4294967296, 4294967296] u8 are more than",
        ),
        (
            "broadcast dy out --shape 4,30,2 --chunks 4294967296,4294967296,2",
            1,
            "give smaller --chunks",
        ),
        (
            "gradient dy out --input 2 --chunks 1000000000000",
            1,
            "give smaller --chunks",
        ),
        (
            "gradient dy out --input 2 --chunks 1000000000000 --in-memory",
            1,
            "give smaller --chunks",
        ),
        (
            "gradient dy out --input 2 --chunks 1,2",
            2,
            "--chunks [1, 2]: OUT has the shape [2]",
        ),
        (
            "fill out --shape 4 --type u8 --max-bytes 18446744073709551615",
            2,
            "too many",
        ),
    ] {
        folder.failed(words, code, problem);
        assert!(folder.files("") == before, "{words}");
    }
    folder.done("fill empty --shape 4294967296,4294967296,0 --type u8");
}

/// In each container the first process has the id 1, so one that was killed has left its temporary
/// files to the next.
#[test]
fn temporary_files_of_a_killed_process_with_the_same_id_are_passed_over() {
    let folder = Folder::new("same-id");
    folder.done("fill dy --shape 30,2 --type f32");
    for (words, out) in [
        ("fill filled --shape 30 --type f32", "filled"),
        ("gradient dy sum --input 2", "sum"),
    ] {
        let leave = format!(
            "for i in 0 1; do for name in {out} {out}.job; do \
             mkdir $name.$$.$i.part && touch $name.$$.$i.part/zarr.json; done; done"
        );
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("{leave}; exec {PROGRAM} {words}")]);
        Run(shell.current_dir(&folder.0).output().unwrap()).done();
        // What is left is not touched: its process may live in another container.
        let left = fs::read_dir(&folder.0).unwrap();
        let left = left.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let left = left.filter(|name| name.starts_with(out) && name.ends_with(".part"));
        assert_eq!(left.count(), 4);
    }
}

#[test]
fn the_command_line_is_checked_and_described() {
    let folder = Folder::new("help");
    for words in ["--help", "-h", "broadcast --help"] {
        let text = folder.done(words);
        for option in [
            "--worker I/N",
            "--shard AXES",
            "--max-bytes N",
            "--restart",
            "Exit code",
        ] {
            assert!(text.contains(option), "{option}");
        }
    }
    for (words, problem) in [
        ("walk", "there is no command \"walk\""),
        ("broadcast x", "OUT is missing"),
        ("broadcast x y z --shape 3", "z: one argument too many"),
        ("gradient dy out", "--input is missing"),
        ("fill x --shape 3 --type f16", "expected f32"),
        (
            "fill x --shape 3 --type f32 --worker 3/3",
            "I is from 0 to N - 1",
        ),
        (
            "fill x --shape 3 --type f32 --size 4",
            "there is no option \"size\"",
        ),
        ("fill x --shape 3 --type f32 --max-bytes 3TB", "--max-bytes"),
        (
            "fill x --shape 3 --type f32 --chunks 0",
            "at least one element",
        ),
        (
            "fill x --shape 3 --type f32 --worker 0/2 --restart",
            "--restart with --worker",
        ),
    ] {
        folder.failed(words, 2, problem);
        assert_eq!(folder.files(""), []);
    }
}

#[test]
fn the_table_of_costs_has_the_bytes_of_real_parts() {
    let folder = Folder::new("cost");
    let table =
        folder.done("cost --shape 101,2,97,100 --input 2 --mode explicit --axes 1 --workers 1,3");
    folder.done("fill dy --shape 101,2,97,100 --type f64");
    folder.done("gradient dy out --input 2 --mode explicit --axes 1 --parts 1");
    let whole = fs::read(folder.path("out.job/item-000000")).unwrap().len();
    assert!(
        table.contains(&format!("| 1 | {whole} | {whole} |")),
        "{table}"
    );
}
