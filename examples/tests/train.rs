//! The example `train`. Its loss and gradient are compared with sums written index by index. The
//! program is run as a process: for any input it exits with code 0, 1 or 2 and does not panic.

use crate::check;
use crate::example::{Example, Run};
use crate::network::Network;
use crate::random::Random;
use ndarray::{Array1, Array2};
use std::fs;
use std::io::Read;
use std::process::Stdio;

const EXAMPLE: Example = Example("train");
const WINES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/train/wine.csv");

/// A network with random scales and biases, and random input rows for it.
fn network(
    rows: usize,
    features: usize,
    hidden: usize,
    classes: usize,
) -> (Network, Array2<f64>, Array1<usize>) {
    let mut random = Random::new(rows as u64);
    let mut network = Network::new(features, hidden, classes, &mut random);
    for (_, mut parameter) in network.parameters_mut() {
        parameter.mapv_inplace(|value| value + 0.6 * random.unit() - 0.2);
    }
    let x = Array2::from_shape_simple_fn((rows, features), || 4. * random.unit() - 2.);
    let classes = Array1::from_shape_simple_fn(rows, || (random.unit() * classes as f64) as usize);
    (network, x, classes)
}

/// The loss, computed row by row and unit by unit.
fn slow_loss(network: &Network, x: &Array2<f64>, classes: &Array1<usize>) -> f64 {
    let (features, hidden) = network.weights_in.dim();
    let mut total = 0.;
    for row in 0..x.nrows() {
        let unit = |h: usize| {
            let product: f64 = (0..features)
                .map(|d| x[[row, d]] * network.weights_in[[d, h]])
                .sum();
            (network.scale[h] * product + network.shift[h]).tanh()
        };
        let logit = |k: usize| {
            let product: f64 = (0..hidden)
                .map(|h| unit(h) * network.weights_out[[h, k]])
                .sum();
            product + network.bias[k]
        };
        let sum: f64 = (0..network.bias.len()).map(|k| logit(k).exp()).sum();
        total -= (logit(classes[row]).exp() / sum).ln();
    }
    total / x.nrows() as f64
}

#[test]
fn the_gradient_equals_the_finite_differences_of_the_loss() {
    for (rows, features, hidden, classes) in
        [(1, 1, 1, 1), (1, 3, 2, 2), (7, 2, 5, 3), (20, 4, 3, 6)]
    {
        let (network, x, of) = network(rows, features, hidden, classes);
        let (loss, gradient) = network.gradient(&x, &of).unwrap();
        assert!((loss - slow_loss(&network, &x, &of)).abs() < 1e-12 * loss.max(1.));
        assert_eq!(loss, network.loss(&x, &of).unwrap());
        for (which, (name, found)) in gradient.parameters().into_iter().enumerate() {
            assert_eq!(found.shape(), network.parameters()[which].1.shape());
            for (position, &found) in found.iter().enumerate() {
                let at = |offset: f64| {
                    let mut moved = network.clone();
                    *moved.parameters_mut()[which]
                        .1
                        .iter_mut()
                        .nth(position)
                        .unwrap() += offset;
                    slow_loss(&moved, &x, &of)
                };
                let wanted = (at(1e-5) - at(-1e-5)) / 2e-5;
                assert!(
                    (found - wanted).abs() < 1e-8,
                    "{name} {position}: {found}, expected {wanted}"
                );
            }
        }
        let compared = check::compare(&network, &x, &of).unwrap();
        assert_eq!(compared.len(), 5);
        for (compared, (name, parameter)) in compared.iter().zip(network.parameters()) {
            assert_eq!(
                (compared.name, &compared.shape[..]),
                (name, parameter.shape())
            );
            assert!(compared.error < 1e-6, "{compared:?}");
        }
    }
}

/// `exp` of the largest logit would be infinite.
#[test]
fn large_logits_do_not_overflow() {
    let (mut network, x, classes) = network(5, 2, 3, 4);
    network.bias[1] = 1e4;
    let (loss, gradient) = network.gradient(&x, &classes).unwrap();
    let wrong = classes.iter().filter(|&&class| class != 1).count();
    assert!((loss - 1e4 * wrong as f64 / 5.).abs() < 10., "{loss}");
    assert!(
        gradient
            .parameters()
            .iter()
            .all(|(_, d)| d.iter().all(|d| d.is_finite()))
    );
}

/// The numbers in one column of the report's table of epochs.
fn column(report: &str, index: usize) -> Vec<f64> {
    let rows = (report
        .split("test accuracy\n")
        .nth(1)
        .unwrap()
        .split("\n\n")
        .next())
    .unwrap();
    let cells = rows
        .lines()
        .map(|line| line.split_whitespace().nth(index).unwrap());
    cells.map(|cell| cell.parse().unwrap()).collect()
}

#[test]
fn training_on_the_wine_data_classifies_at_least_32_of_36_rows() {
    let folder = EXAMPLE.folder("wines");
    folder.write("Cargo.toml", b"");
    let mut command = EXAMPLE.command::<&str>(&[]);
    let run = Run::new(command.current_dir(folder.path("")).output().unwrap()).done();
    let report = run.out();
    assert!(report.starts_with(
        "wine.csv: 13 features, 8 hidden units, 3 classes; 142 rows to train, 36 to test\n"
    ));

    let checked = report.lines().filter(|line| line.contains("e-"));
    let errors: Vec<f64> = checked
        .map(|line| line.split_whitespace().last().unwrap().parse().unwrap())
        .collect();
    assert_eq!(errors.len(), 5);
    assert!(errors.iter().all(|&error| error < 1e-7), "{report}");

    assert_eq!(
        column(report, 0),
        (0..=200).step_by(20).map(f64::from).collect::<Vec<_>>()
    );
    let loss = column(report, 1);
    assert!(loss.windows(2).all(|pair| pair[1] < pair[0]), "{report}");
    assert!(loss[0] > 0.8 && loss[10] < 0.05, "{report}");

    // The confusion matrix agrees with the accuracy: 36 rows, `right` on the diagonal.
    let right = column(report, 3)[10];
    assert!(right >= 32., "{report}");
    let (_, table) = report.split_once("true \\ predicted").unwrap();
    let rows: Vec<Vec<f64>> = (table.lines().skip(1).take(3))
        .map(|line| {
            line.split_whitespace()
                .map(|cell| cell.parse().unwrap())
                .collect()
        })
        .collect();
    let counts: f64 = rows.iter().flat_map(|row| &row[1..]).sum();
    assert_eq!((counts, rows[0][1] + rows[1][2] + rows[2][3]), (36., right));
    assert!(report.contains(&format!("test accuracy {right} of 36 (")));

    let plot = fs::read_to_string(folder.path("target/train/loss.svg")).unwrap();
    let plot = roxmltree::Document::parse(&plot).unwrap();
    assert_eq!(lines(&plot).len(), 2);
}

/// The points of the loss curves.
fn lines(plot: &roxmltree::Document) -> Vec<Vec<(f64, f64)>> {
    let lines = plot.descendants().filter(|node| {
        node.has_tag_name("polyline") && node.attribute("stroke-width") == Some("2")
    });
    let point = |point: &str| {
        let (x, y) = point.split_once(',').unwrap();
        (x.parse().unwrap(), y.parse().unwrap())
    };
    lines
        .map(|line| {
            line.attribute("points")
                .unwrap()
                .split_whitespace()
                .map(point)
                .collect()
        })
        // A line of two points belongs to the legend.
        .filter(|line: &Vec<_>| line.len() > 2)
        .collect()
}

/// Two clusters of points, which feature `b` separates.
fn clusters(scale: f64, shift: f64) -> String {
    let mut csv = String::from("a,b,heap\n");
    let mut random = Random::new(3);
    for row in 0..40 {
        let (sign, heap) = if row % 2 == 0 {
            (1., "left")
        } else {
            (-1., "right")
        };
        // Few bits, so that scaling by a power of two and adding `shift` are exact.
        let a = (random.unit() * 64.).floor() / 64.;
        let b = sign * (1. + (random.unit() * 64.).floor() / 64.);
        csv += &format!("{},{},{heap}\n", a * scale + shift, b * scale + shift);
    }
    csv
}

#[test]
fn a_dash_is_standard_input_for_data_and_standard_output_for_the_plot() {
    let arguments = [
        "--data", "-", "--out", "-", "--epochs", "25", "--hidden", "3", "--seed", "9",
    ];
    let run = EXAMPLE.run_with_input(&arguments, clusters(1., 0.).as_bytes());
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(
        run.err.contains("test accuracy 8 of 8 (100.0 %)"),
        "{}",
        run.err
    );
    assert!(run.err.contains("left"), "{}", run.err);
    let plot = roxmltree::Document::parse(run.out()).unwrap();
    let lines = lines(&plot);
    assert_eq!(lines.len(), 2);
    for line in lines {
        assert_eq!(line.len(), 26);
        // In SVG, y grows downwards.
        assert!(
            line.windows(2)
                .all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1)
        );
        assert!(line[25].1 > line[0].1 + 100.);
    }
}

/// Each feature is scaled to mean 0 and deviation 1, so its unit and offset do not matter. Equal
/// runs give equal output.
#[test]
fn features_are_standardised() {
    let folder = EXAMPLE.folder("standardised");
    let arguments = ["--data", "-", "--out", &folder.path("loss.svg")];
    let run = |csv: String| {
        let run = EXAMPLE.run_with_input(&arguments, csv.as_bytes()).done();
        (
            run.out().to_owned(),
            fs::read(folder.path("loss.svg")).unwrap(),
        )
    };
    let plain = run(clusters(1., 0.));
    assert_eq!(run(clusters(1., 0.)), plain);
    assert_eq!(run(clusters(1024., 0.)), plain);
    assert_eq!(column(&run(clusters(1., 8.)).0, 1), column(&plain.0, 1));
    // A constant feature has deviation 0. It does not change the result.
    let csv: String = (clusters(1., 0.).lines().enumerate())
        .map(|(i, line)| format!("{},{line}\n", if i == 0 { "always" } else { "7.5" }))
        .collect();
    let (report, _) = run(csv);
    assert!(
        report.contains("3 features") && report.contains("test accuracy 8 of 8"),
        "{report}"
    );
}

#[test]
fn help_prints_the_usage() {
    for arguments in [&["--help"][..], &["-h"], &["--epochs", "2", "--help"]] {
        let run = EXAMPLE.run(arguments).done();
        assert!(run.out().contains("usage: train [--data FILE.csv]"));
    }
}

/// The folder `target` of a cargo project is the only one that is created without being asked for.
#[test]
fn outside_of_a_cargo_project_out_is_required() {
    EXAMPLE.requires_out_elsewhere();
}

#[test]
fn wrong_arguments_exit_with_code_2() {
    for (arguments, problem) in [
        (&["--frobnicate"][..], "--frobnicate"),
        (&["data.csv"], "data.csv"),
        (&["--data"], "--data"),
        (&["--data", ""], "--data has an empty name"),
        (&["--out", "a", "--out", "b"], "--out is given twice"),
        (&["--hidden", "0"], "--hidden is 0, not 1 to 1024"),
        (&["--hidden", "1025"], "--hidden is 1025, not 1 to 1024"),
        (&["--epochs", "0"], "--epochs is 0, not 1 to 100000"),
        (&["--epochs", "-1"], "--epochs: \"-1\" is no integer"),
        (&["--epochs", "18446744073709551616"], "is no integer"),
        (&["--rate", "0"], "--rate: \"0\" is no number above 0"),
        (&["--rate", "-1"], "is no number above 0"),
        (&["--rate", "nan"], "is no number above 0"),
        (&["--rate", "inf"], "is no number above 0"),
        (&["--seed", "-1"], "--seed: \"-1\" is no integer"),
    ] {
        EXAMPLE.run(arguments).failed(2, problem);
    }
}

#[test]
fn invalid_files_exit_with_code_1() {
    let folder = EXAMPLE.folder("broken");
    let plot = folder.path("loss.svg");
    let rows = |header: &str, row: &str| format!("{header}\n{}", format!("{row}\n").repeat(9));
    let wide = format!("{}c\n{}", "a,".repeat(5000), "1,".repeat(5000));
    let cases: Vec<(Vec<u8>, &str)> = vec![
        (vec![], "it needs columns of numbers, and one of classes"),
        (b"\n\n".to_vec(), "it needs columns of numbers"),
        (rows("class", "x").into(), "it needs columns of numbers"),
        (
            rows("1,2,3", "1,2,3").into(),
            "its first line holds numbers, not names",
        ),
        (b"a,c\n".to_vec(), "0 rows of 0 classes are too few"),
        (
            b"a,c\n1,x\n2,y\n3,x\n4,y\n".to_vec(),
            "4 rows of 2 classes are too few",
        ),
        (rows("a,c", "1,x").into(), "9 rows of 1 classes are too few"),
        (rows("a,c", "1,x,2").into(), "found record with 3 fields"),
        (rows("a,c", "1").into(), "found record with 1 fields"),
        (
            b"a,b,c\n1,2,x\n1,two,y\n".to_vec(),
            "line 3: \"two\" in column \"b\" is no finite number",
        ),
        (
            rows("a,b,c", "1,,x").into(),
            "line 2: \"\" in column \"b\" is no finite number",
        ),
        (
            rows("a,c", "nan,x").into(),
            "line 2: \"nan\" in column \"a\"",
        ),
        (
            rows("a,c", "1e999,x").into(),
            "line 2: \"1e999\" in column \"a\"",
        ),
        (b"a,c\n1,\xff\n".to_vec(), "invalid UTF-8"),
        (
            b"a,c\n1e300,x\n-1e300,y\n1e300,x\n2e300,y\n-2e300,x\n3e300,y\n".to_vec(),
            "the numbers of column \"a\" are too large",
        ),
        (
            format!(
                "{wide}x\n{}",
                wide.lines().last().unwrap().to_owned() + "y\n"
            )
            .into(),
            "too few",
        ),
    ];
    for (bytes, problem) in cases {
        let data = folder.write("data.csv", &bytes);
        EXAMPLE
            .run(&["--data", &data, "--out", &plot])
            .failed(1, problem);
        EXAMPLE
            .run_with_input(&["--data", "-", "--out", &plot], &bytes)
            .failed(1, problem);
        folder.holds(&["data.csv"]);
    }
    let many = (0..4100)
        .map(|row| format!("{row},{row}\n"))
        .collect::<String>();
    let data = folder.write("data.csv", format!("a,c\n{many}").as_bytes());
    EXAMPLE
        .run(&["--data", &data, "--out", &plot])
        .failed(1, "4100 rows, 1 features, 8 hidden units and 4100 classes");
    EXAMPLE
        .run(&["--data", &folder.path("missing.csv")])
        .failed(1, "missing.csv: ");
    EXAMPLE.run(&["--data", &folder.path("")]).failed(1, "");
    EXAMPLE
        .run(&["--out", &folder.path("missing/loss.svg")])
        .failed(1, "missing/loss.svg: ");
    folder.holds(&["data.csv"]);
}

/// A learning rate that is too large is reported, however large it is.
#[test]
fn a_diverging_loss_exits_with_code_1() {
    for rate in ["1e12", "1e100", "1e300", "1.7e308"] {
        let run = EXAMPLE.run(&["--rate", rate]);
        run.failed(1, "a smaller --rate may help");
    }
}

/// A valid file with random bytes changed, removed, inserted or repeated.
#[test]
fn mutated_files_are_learnt_or_rejected() {
    let folder = EXAMPLE.folder("mutated");
    let plot = folder.path("loss.svg");
    let wines = fs::read(WINES).unwrap();
    let mut random = Random::new(11);
    let mut below = |count: usize| (random.unit() * count as f64) as usize;
    let (mut learnt, mut rejected) = (0, 0);
    for _ in 0..100 {
        let mut bytes = wines.clone();
        for _ in 0..1 + below(3) {
            let at = below(bytes.len());
            match below(5) {
                0 => bytes[at] = below(256) as u8,
                1 => drop(bytes.remove(at)),
                2 => bytes.insert(at, b",\n\"-e9."[below(7)]),
                3 => bytes.truncate(at),
                _ => bytes.extend_from_within(at..),
            }
        }
        let arguments = ["--data", "-", "--out", &plot, "--epochs", "3"];
        let run = EXAMPLE.run_with_input(&arguments, &bytes);
        match run.code {
            0 => learnt += 1,
            _ => {
                run.failed(1, "");
                rejected += 1;
            }
        }
    }
    assert!(learnt > 10 && rejected > 10, "{learnt} {rejected}");
}

#[test]
fn a_closed_standard_output_is_not_reported_as_an_error() {
    let folder = EXAMPLE.folder("stops");
    let spawn = |plot: &str| {
        let mut command = EXAMPLE.command(&["--out", plot]);
        command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let mut child = spawn(&folder.path("loss.svg"));
    drop(child.stdout.take());
    Run::new(child.wait_with_output().unwrap()).done();
    folder.holds(&["loss.svg"]);
    // The plot itself is cut off: the exit code is 1, without an error message.
    let mut child = spawn("-");
    drop(child.stdout.take());
    let mut err = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut err)
        .unwrap();
    assert!(!err.contains("error: "), "{err}");
    assert_eq!(child.wait().unwrap().code(), Some(1));
}
