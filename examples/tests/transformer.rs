//! The example `transformer`. Its loss is compared with loops over all indices, its gradients with
//! finite differences. The program is run as a process, which compares it with torch: for any input
//! it exits with code 0, 1 or 2 and does not panic.

use crate::attention::Attention;
use crate::block::{self, Block};
use crate::example::{Example, Folder, Run};
use crate::layer_norm::LayerNorm;
use crate::mlp::Mlp;
use crate::npy_bytes::{dict, npy, tuple};
use crate::random::Random;
use ndarray::{Array, Array2, Array3, ArrayViewMutD, Dimension, IntoDimension};
use std::fs;
use std::path::Path;
use std::process::Stdio;

const EXAMPLE: Example = Example("transformer");
const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/transformer/data");
const CASES: [&str; 2] = ["grouped_query", "multi_query"];
/// The tensors that are compared, in the order of the report.
const COMPARED: [&str; 14] = [
    "out",
    "loss",
    "d_x",
    "d_scale_1",
    "d_shift_1",
    "d_w_q",
    "d_w_k",
    "d_w_v",
    "d_w_o",
    "d_scale_2",
    "d_shift_2",
    "d_w_gate",
    "d_w_up",
    "d_w_down",
];

/// B, T, M, H, G, D and F.
type Sizes = [usize; 7];

/// The arguments of the loss.
#[derive(Clone)]
struct Input {
    block: Block,
    x: Array3<f64>,
    target: Array3<f64>,
    keep: Array2<bool>,
}

impl Input {
    fn random([b, t, m, h, g, d, f]: Sizes) -> Self {
        let mut random = Random::new((b + 2 * t + 3 * m + 5 * d) as u64);
        let keep = Array2::from_shape_fn((b, t), |(_, t)| t == 0 || random.unit() < 0.7);
        fn uniform<E: IntoDimension>(random: &mut Random, shape: E) -> Array<f64, E::Dim> {
            Array::from_shape_simple_fn(shape.into_dimension(), || 2. * random.unit() - 1.)
        }
        let random = &mut random;
        let block = Block {
            norm_1: LayerNorm {
                scale: uniform(random, m),
                shift: uniform(random, m),
            },
            attention: Attention {
                w_q: uniform(random, (m, h, g, d)),
                w_k: uniform(random, (m, h, d)),
                w_v: uniform(random, (m, h, d)),
                w_o: uniform(random, (h, g, d, m)),
            },
            norm_2: LayerNorm {
                scale: uniform(random, m),
                shift: uniform(random, m),
            },
            mlp: Mlp {
                w_gate: uniform(random, (m, f)),
                w_up: uniform(random, (m, f)),
                w_down: uniform(random, (f, m)),
            },
        };
        let (x, target) = (uniform(random, (b, t, m)), uniform(random, (b, t, m)));
        Input {
            block,
            x,
            target,
            keep,
        }
    }

    fn loss(&self) -> f64 {
        let out = self.block.forward(&self.x, &self.keep).unwrap().out;
        block::loss(&out, &self.target, &self.keep).unwrap().0
    }

    /// The gradients of `x` and of the parameters.
    fn gradient(&self) -> (Array3<f64>, Block) {
        let forward = self.block.forward(&self.x, &self.keep).unwrap();
        let (_, d_out) = block::loss(&forward.out, &self.target, &self.keep).unwrap();
        self.block.backward(&forward, d_out).unwrap()
    }

    /// `x` and the parameters, in the order of `Block::parameters`.
    fn tensors_mut(&mut self) -> [ArrayViewMutD<'_, f64>; 12] {
        fn all<D: Dimension>(array: &mut Array<f64, D>) -> ArrayViewMutD<'_, f64> {
            array.view_mut().into_dyn()
        }
        let Block {
            norm_1,
            attention,
            norm_2,
            mlp,
        } = &mut self.block;
        [
            all(&mut self.x),
            all(&mut norm_1.scale),
            all(&mut norm_1.shift),
            all(&mut attention.w_q),
            all(&mut attention.w_k),
            all(&mut attention.w_v),
            all(&mut attention.w_o),
            all(&mut norm_2.scale),
            all(&mut norm_2.shift),
            all(&mut mlp.w_gate),
            all(&mut mlp.w_up),
            all(&mut mlp.w_down),
        ]
    }

    /// The loss, computed token by token and entry by entry.
    fn slow_loss(&self) -> f64 {
        let Attention { w_q, w_k, w_v, w_o } = &self.block.attention;
        let Mlp {
            w_gate,
            w_up,
            w_down,
        } = &self.block.mlp;
        let (batch, tokens, model) = self.x.dim();
        let (_, heads, group, features) = w_q.dim();
        let (mut sum, mut terms) = (0., 0.);
        for b in 0..batch {
            let row = |t: usize| (0..model).map(|m| self.x[[b, t, m]]).collect::<Vec<_>>();
            let rows: Vec<_> = (0..tokens)
                .map(|t| slow_norm(&self.block.norm_1, &row(t)))
                .collect();
            let head = |t: usize, w: &dyn Fn(usize, usize) -> f64| {
                let entry = |d| dot(&rows[t], |m| w(m, d));
                (0..features).map(entry).collect::<Vec<f64>>()
            };
            for t in (0..tokens).filter(|&t| self.keep[[b, t]]) {
                let mut x = row(t);
                for (h, g) in (0..heads).flat_map(|h| (0..group).map(move |g| (h, g))) {
                    let query = slow_rotary(t, &head(t, &|m, d| w_q[[m, h, g, d]]));
                    let keys = (0..=t).filter(|&key| self.keep[[b, key]]);
                    let weighted: Vec<(usize, f64)> = keys
                        .map(|key| {
                            let k = slow_rotary(key, &head(key, &|m, d| w_k[[m, h, d]]));
                            (
                                key,
                                (dot(&query, |d| k[d]) / (features as f64).sqrt()).exp(),
                            )
                        })
                        .collect();
                    let total: f64 = weighted.iter().map(|(_, weight)| weight).sum();
                    for (key, weight) in weighted {
                        let value = head(key, &|m, d| w_v[[m, h, d]]);
                        for (m, x) in x.iter_mut().enumerate() {
                            *x += weight / total * dot(&value, |d| w_o[[h, g, d, m]]);
                        }
                    }
                }
                let n = slow_norm(&self.block.norm_2, &x);
                for f in 0..w_gate.ncols() {
                    let gate = dot(&n, |m| w_gate[[m, f]]);
                    let hidden = gate / (1. + (-gate).exp()) * dot(&n, |m| w_up[[m, f]]);
                    for (m, x) in x.iter_mut().enumerate() {
                        *x += hidden * w_down[[f, m]];
                    }
                }
                for (m, x) in x.iter().enumerate() {
                    sum += (x - self.target[[b, t, m]]).powi(2);
                    terms += 1.;
                }
            }
        }
        sum / terms
    }
}

fn dot(a: &[f64], b: impl Fn(usize) -> f64) -> f64 {
    a.iter().enumerate().map(|(i, a)| a * b(i)).sum()
}

fn slow_norm(norm: &LayerNorm, x: &[f64]) -> Vec<f64> {
    let mean = x.iter().sum::<f64>() / x.len() as f64;
    let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / x.len() as f64;
    let z = x.iter().map(|x| (x - mean) / (variance + 1e-5).sqrt());
    z.enumerate()
        .map(|(m, z)| z * norm.scale[m] + norm.shift[m])
        .collect()
}

fn slow_rotary(token: usize, x: &[f64]) -> Vec<f64> {
    let half = x.len() / 2;
    let rotated = (0..x.len()).map(|d| {
        let angle = token as f64 * 1e4_f64.powf(-2. * (d % half) as f64 / x.len() as f64);
        match d < half {
            true => x[d] * angle.cos() - x[d + half] * angle.sin(),
            false => x[d] * angle.cos() + x[d - half] * angle.sin(),
        }
    });
    rotated.collect()
}

const SIZES: [Sizes; 6] = [
    [1, 1, 1, 1, 1, 2, 1],
    [1, 4, 3, 1, 1, 2, 2],
    [2, 3, 4, 3, 1, 2, 1],
    [2, 4, 3, 1, 3, 4, 5],
    [3, 5, 5, 2, 2, 2, 3],
    [1, 2, 1, 2, 3, 6, 1],
];

#[test]
fn the_gradient_equals_the_finite_differences_of_the_loss() {
    for sizes in SIZES {
        let mut input = Input::random(sizes);
        let loss = input.slow_loss();
        assert!(
            (input.loss() - loss).abs() < 1e-12 * loss.max(1.),
            "{sizes:?}"
        );
        let (dx, gradient) = input.gradient();
        let dx = dx.into_dyn();
        let parameters = gradient.parameters();
        let all = [("x", dx.view())].into_iter().chain(parameters);
        for (which, (name, found)) in all.enumerate() {
            assert_eq!(found.shape(), input.tensors_mut()[which].shape());
            for (position, &found) in found.iter().enumerate() {
                let at = |offset: f64| {
                    let mut moved = input.clone();
                    *(moved.tensors_mut()[which].iter_mut().nth(position).unwrap()) += offset;
                    moved.slow_loss()
                };
                let wanted = (at(1e-5) - at(-1e-5)) / 2e-5;
                assert!(
                    (found - wanted).abs() < 1e-6 * found.abs().max(1.),
                    "{sizes:?}, {name} {position}: {found}, expected {wanted}"
                );
            }
        }
    }
}

/// A token that is padding has no influence on the loss.
#[test]
fn the_gradient_of_padding_is_zero() {
    let mut padding = 0;
    for sizes in SIZES {
        let input = Input::random(sizes);
        let (dx, _) = input.gradient();
        for ((b, t, m), &d) in dx.indexed_iter() {
            if !input.keep[[b, t]] {
                assert_eq!(d, 0., "{sizes:?} [{b}, {t}, {m}]");
                padding += 1;
            }
        }
    }
    assert!(padding > 10);
}

/// `exp` of the largest score would be infinite.
#[test]
fn large_scores_do_not_overflow() {
    let mut input = Input::random([2, 4, 3, 1, 3, 4, 5]);
    input.block.attention.w_q *= 1e6;
    let (dx, gradient) = input.gradient();
    assert!(input.loss().is_finite());
    assert!(dx.iter().all(|d| d.is_finite()));
    let parameters = gradient.parameters();
    assert!(
        parameters
            .iter()
            .all(|(_, d)| d.iter().all(|d| d.is_finite()))
    );
}

/// A copy of a recorded case.
fn copy(case: &str, test: &str) -> Folder {
    let folder = EXAMPLE.folder(test);
    for name in names(case) {
        folder.write(&name, &recorded(case, &name));
    }
    folder
}

fn names(case: &str) -> Vec<String> {
    let entries = fs::read_dir(Path::new(DATA).join(case)).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.collect()
}

fn recorded(case: &str, name: &str) -> Vec<u8> {
    fs::read(Path::new(DATA).join(case).join(name)).unwrap()
}

/// A file of ones.
fn ones(shape: &[usize]) -> Vec<u8> {
    let data = 1_f64.to_le_bytes().repeat(shape.iter().product());
    npy(1, &dict("<f8", false, &tuple(shape)), &data)
}

#[test]
fn the_recorded_results_of_torch_are_reproduced() {
    let run = EXAMPLE.run::<&str>(&[]).done();
    for (case, report) in CASES.iter().zip(run.out().split("\n\n")) {
        assert!(report.starts_with(&format!("{case}: batch ")), "{report}");
        let rows: Vec<Vec<&str>> = (report.lines().skip(2))
            .map(|line| line.split_whitespace().collect())
            .collect();
        let found: Vec<_> = rows.iter().map(|row| row[0]).collect();
        assert_eq!(found, COMPARED);
        for row in rows {
            let [difference, tolerance] =
                [2, 1].map(|from_end| row[row.len() - from_end].parse::<f64>().unwrap());
            assert!(difference <= tolerance && tolerance < 1e-10, "{row:?}");
        }
    }
    for case in CASES {
        let one = EXAMPLE.run(&["--data", &format!("{DATA}/{case}")]).done();
        assert!(run.out().contains(one.out()));
    }
}

/// Each file matters: a small change in any of them is found.
#[test]
fn a_changed_value_exits_with_code_1() {
    for case in CASES {
        let folder = copy(case, &format!("changed-{case}"));
        let names = names(case);
        assert_eq!(names.len(), 2 * 12 + 4);
        for name in names {
            let recorded = recorded(case, &name);
            let mut bytes = recorded.clone();
            let start = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
            if name == "keep.npy" {
                // The second token becomes padding.
                bytes[start + 1] = 0;
            } else {
                let element = &mut bytes[start..start + 8];
                let value = f64::from_le_bytes((&*element).try_into().unwrap());
                element.copy_from_slice(&(value + 1e-6).to_le_bytes());
            }
            folder.write(&name, &bytes);
            let run = EXAMPLE.run(&["--data", &folder.path("")]);
            run.failed(1, " differs from torch by ");
            let stem = name.strip_suffix(".npy").unwrap();
            if COMPARED.contains(&stem) {
                run.failed(1, &format!(": {stem} differs from torch by 1.0e-6"));
            }
            folder.write(&name, &recorded);
        }
        EXAMPLE.run(&["--data", &folder.path("")]).done();
    }
}

#[test]
fn invalid_files_exit_with_code_1() {
    let case = "grouped_query";
    let folder = copy(case, "invalid");
    let check = |problem: &str| {
        EXAMPLE
            .run(&["--data", &folder.path("")])
            .failed(1, problem)
    };
    for name in names(case) {
        let recorded = recorded(case, &name);
        fs::remove_file(folder.path(&name)).unwrap();
        check(&format!("{name}: "));
        for end in [0, 5, 40, recorded.len() - 1] {
            folder.write(&name, &recorded[..end]);
            check(&format!("{name}: "));
        }
        folder.write(&name, &[&recorded[..], b"0"].concat());
        check(&format!("{name}: "));
        folder.write(&name, &npy(1, &dict("<f4", false, "(1,)"), &[0; 4]));
        check(&format!("{name}: elements are f32, expected "));
        folder.write(&name, &recorded);
    }
    for (name, bytes, problem) in [
        (
            "x",
            ones(&[14, 16]),
            "x.npy: shape [14, 16]; 3 sizes above 0 are needed",
        ),
        (
            "x",
            ones(&[2, 0, 16]),
            "x.npy: shape [2, 0, 16]; 3 sizes above 0 are needed",
        ),
        (
            "x",
            ones(&[2, 6, 16]),
            "keep.npy: shape [2, 7], expected [2, 6]",
        ),
        (
            "x",
            ones(&[2, 7, 15]),
            "target.npy: shape [2, 7, 16], expected [2, 7, 15]",
        ),
        (
            "w_q",
            ones(&[16, 2, 2, 3]),
            "3 features of a head make no pairs",
        ),
        (
            "w_q",
            ones(&[16, 4, 1, 4]),
            "w_k.npy: shape [16, 2, 4], expected [16, 4, 4]",
        ),
        (
            "w_gate",
            ones(&[16, 25]),
            "w_up.npy: shape [16, 24], expected [16, 25]",
        ),
        (
            "w_gate",
            ones(&[15, 24]),
            "w_gate.npy: shape [15, 24], expected [16, 24]",
        ),
        (
            "d_w_o",
            ones(&[16, 16]),
            "d_w_o.npy: shape [16, 16], expected [2, 2, 4, 16]",
        ),
        ("loss", ones(&[1]), "loss.npy: shape [1], expected []"),
        (
            "x",
            ones(&[1, 100_000, 1]),
            "the scores have more than 16777216 elements",
        ),
        (
            "w_q",
            ones(&[1, 1000, 1000, 2]),
            "the queries have more than 16777216 elements",
        ),
        (
            "w_gate",
            ones(&[1, 2_000_000]),
            "the hidden features have more than 16777216",
        ),
        (
            "x",
            ones(&[1, 1, 2_097_153]),
            "x.npy: a tensor of shape [1, 1, 2097153] passes",
        ),
        (
            "keep",
            npy(1, &dict("|b1", false, "(2, 7)"), &[0; 14]),
            "keep.npy: it leaves out a first token",
        ),
        (
            "keep",
            npy(1, &dict("|b1", false, "(2, 7)"), &[2; 14]),
            "element 0 is no bool",
        ),
    ] {
        let name = format!("{name}.npy");
        folder.write(&name, &bytes);
        check(problem);
        folder.write(&name, &recorded(case, &name));
    }
    for name in ["w_down.npy", "out.npy", "loss.npy", "d_w_q.npy"] {
        for value in [f64::NAN, f64::INFINITY] {
            let mut bytes = recorded(case, name);
            let last = bytes.len() - 8;
            bytes[last..].copy_from_slice(&value.to_le_bytes());
            folder.write(name, &bytes);
            check("differs from torch by inf");
        }
        folder.write(name, &recorded(case, name));
    }
    EXAMPLE
        .run(&["--data", &folder.path("missing")])
        .failed(1, "x.npy: ");
    EXAMPLE.run(&["--data", &folder.path("")]).done();
}

/// The same numbers in column-major order.
#[test]
fn files_in_fortran_order_are_read() {
    let case = "grouped_query";
    let folder = copy(case, "fortran");
    let name = "w_up.npy";
    let bytes = recorded(case, name);
    let elements: Vec<_> = bytes[bytes.len() - 16 * 24 * 8..].chunks(8).collect();
    let columns = (0..24).flat_map(|f| (0..16).map(move |m| m * 24 + f));
    let data: Vec<u8> = columns
        .flat_map(|position| elements[position])
        .copied()
        .collect();
    folder.write(name, &npy(1, &dict("<f8", true, "(16, 24)"), &data));
    EXAMPLE.run(&["--data", &folder.path("")]).done();
}

/// Valid files with random bytes changed, removed, inserted or repeated.
#[test]
fn mutated_files_are_compared_or_rejected() {
    let case = "multi_query";
    let folder = copy(case, "mutated");
    let names = names(case);
    let mut random = Random::new(17);
    let mut below = |count: usize| (random.unit() * count as f64) as usize;
    for _ in 0..100 {
        let name = &names[below(names.len())];
        let mut bytes = recorded(case, name);
        for _ in 0..1 + below(3) {
            // Half of the changes are in the header.
            let end = if below(2) == 0 {
                bytes.len()
            } else {
                bytes.len().min(128)
            };
            let at = below(end);
            match below(5) {
                0 | 1 => bytes[at] = below(256) as u8,
                2 => drop(bytes.remove(at)),
                3 => bytes.insert(at, b"0123456789,(' "[below(14)]),
                _ => bytes.extend_from_within(at..),
            }
        }
        folder.write(name, &bytes);
        let run = EXAMPLE.run(&["--data", &folder.path("")]);
        if run.code != 0 {
            run.failed(1, "");
        }
        folder.write(name, &recorded(case, name));
    }
}

#[test]
fn help_prints_the_usage() {
    for arguments in [&["--help"][..], &["-h"], &["--data", "x", "--help"]] {
        let run = EXAMPLE.run(arguments).done();
        assert!(run.out().contains("usage: transformer [--data FOLDER]"));
    }
}

#[test]
fn wrong_arguments_exit_with_code_2() {
    for (arguments, problem) in [
        (&["--frobnicate"][..], "--frobnicate"),
        (&["folder"], "folder"),
        (&["--data"], "--data"),
        (&["--data", ""], "--data has an empty name"),
        (&["--data", "a", "--data", "b"], "--data is given twice"),
    ] {
        EXAMPLE.run(arguments).failed(2, problem);
    }
}

#[test]
fn a_closed_standard_output_is_not_reported_as_an_error() {
    let mut command = EXAMPLE.command::<&str>(&[]);
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    Run::new(child.wait_with_output().unwrap()).done();
}
