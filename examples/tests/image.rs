//! The example `image`, run as a process. Its output files are decoded and compared with the same
//! steps computed pixel by pixel. For any input it exits with code 0, 1 or 2 and does not panic.

use crate::example::{Example, Folder, Run};
use std::fs;
use std::io::Read;
use std::process::Stdio;

const EXAMPLE: Example = Example("image");
const WRITTEN: [&str; 4] = ["input.png", "normalised.png", "sheet.png", "vignette.png"];

/// The samples of a picture, row by row.
#[derive(Debug)]
struct Picture {
    width: usize,
    height: usize,
    samples: Vec<u8>,
}

impl Picture {
    /// Reads a PNG. Asserts that it is RGB with 8 bits, as the example writes.
    fn read(path: &str) -> Self {
        let file = std::io::BufReader::new(fs::File::open(path).unwrap());
        let mut reader = png::Decoder::new(file).read_info().unwrap();
        let mut samples = vec![0; reader.output_buffer_size().unwrap()];
        let frame = reader.next_frame(&mut samples).unwrap();
        assert_eq!(
            (frame.color_type, frame.bit_depth),
            (png::ColorType::Rgb, png::BitDepth::Eight)
        );
        Picture {
            width: frame.width as usize,
            height: frame.height as usize,
            samples,
        }
    }

    fn at(&self, y: usize, x: usize, c: usize) -> f64 {
        f64::from(self.samples[(y * self.width + x) * 3 + c])
    }

    /// Asserts that each sample equals `wanted(y, x, channel)`, up to rounding.
    #[track_caller]
    fn assert_samples(
        &self,
        (height, width): (usize, usize),
        wanted: impl Fn(usize, usize, usize) -> f64,
    ) {
        assert_eq!((self.height, self.width), (height, width));
        for y in 0..height {
            for x in 0..width {
                for c in 0..3 {
                    let (found, wanted) = (self.at(y, x, c), wanted(y, x, c));
                    let wanted = wanted.clamp(0., 255.);
                    assert!(
                        (found - wanted).abs() < 0.55,
                        "[{y}, {x}, {c}]: {found}, expected {wanted}"
                    );
                }
            }
        }
    }

    /// The mean and the standard deviation of a channel.
    fn statistics(&self, c: usize) -> (f64, f64) {
        let channel = self
            .samples
            .iter()
            .skip(c)
            .step_by(3)
            .map(|&x| f64::from(x));
        let n = (self.width * self.height) as f64;
        let mean = channel.clone().sum::<f64>() / n;
        (
            mean,
            (channel.map(|x| (x - mean).powi(2)).sum::<f64>() / n).sqrt(),
        )
    }
}

fn encode(
    (width, height): (u32, u32),
    colour: png::ColorType,
    depth: png::BitDepth,
    palette: &[u8],
    samples: &[u8],
) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(colour);
    encoder.set_depth(depth);
    if !palette.is_empty() {
        encoder.set_palette(palette);
    }
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(samples).unwrap();
    writer.finish().unwrap();
    bytes
}

fn rgb(width: u32, height: u32, samples: &[u8]) -> Vec<u8> {
    encode(
        (width, height),
        png::ColorType::Rgb,
        png::BitDepth::Eight,
        &[],
        samples,
    )
}

/// Pseudo-random samples (xorshift32). The channels have different ranges.
fn noise(count: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_u32;
    let next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        // Below 128, so that the shift of a channel does not overflow.
        (state >> 25) as u8
    };
    let mut samples: Vec<u8> = std::iter::repeat_with(next).take(count).collect();
    for pixel in samples.chunks_mut(3) {
        pixel[0] += 90;
        pixel[2] /= 2;
    }
    samples
}

fn written(folder: &Folder) -> [Picture; 4] {
    WRITTEN.map(|name| Picture::read(&folder.path(&format!("out/{name}"))))
}

/// Each output picture is compared with one computed by index from the input samples.
#[test]
fn pictures_equal_the_result_computed_pixel_by_pixel() {
    for (width, height, tile) in [
        (11, 7, 4),
        (5, 9, 160),
        (40, 30, 7),
        // A picture of a single colour.
        (37, 41, 12),
        (1, 1, 1),
        (1, 13, 2),
        (9, 1, 9),
    ] {
        let folder = EXAMPLE.folder(&format!("pixels-{width}-{height}"));
        let samples = match width {
            37 => [200, 90, 40].repeat(width * height),
            _ => noise(width * height * 3),
        };
        let input = folder.write("in.png", &rgb(width as u32, height as u32, &samples));
        let (out, most) = (folder.path("out"), tile.to_string());
        let run = EXAMPLE
            .run(&[&input[..], "--out", &out, "--tile", &most])
            .done();
        let [input, normalised, sheet, vignette] = written(&folder);
        assert_eq!(input.samples, samples);

        let statistics = [0, 1, 2].map(|c| input.statistics(c));
        let normal = |y: usize, x: usize, c: usize| {
            let (mean, deviation) = statistics[c];
            match deviation == 0. {
                true => 127.5,
                false => 127.5 + 51. * (input.at(y, x, c) - mean) / deviation,
            }
        };
        normalised.assert_samples((height, width), normal);

        let dark = |y: usize, x: usize, c: usize| {
            let from_centre = |i: usize, n: usize| (2. * i as f64 + 1. - n as f64) / n as f64;
            let (dy, dx) = (from_centre(y, height), from_centre(x, width));
            normal(y, x, c) * (1. - 0.75 * ((dy * dy + dx * dx) / 2.).powi(2))
        };
        vignette.assert_samples((height, width), dark);

        let step = height.max(width).div_ceil(tile);
        let (step_h, step_w) = (step.min(height), step.min(width));
        let (h, w) = (height / step_h, width / step_w);
        let tints = [
            [1., 1., 1.],
            [1.15, 1., 0.75],
            [0.8, 1., 1.2],
            [1., 0.85, 1.1],
        ];
        sheet.assert_samples((3 * (h + 6), 4 * (w + 6)), |y, x, c| {
            let (row, column) = (y / (h + 6), x / (w + 6));
            let (y, x) = (y % (h + 6), x % (w + 6));
            if !(3..3 + h).contains(&y) || !(3..3 + w).contains(&x) {
                return 40.;
            }
            let block = (0..step_h * step_w).map(|i| {
                dark(
                    (y - 3) * step_h + i / step_w,
                    (x - 3) * step_w + i % step_w,
                    c,
                )
            });
            let mean = block.sum::<f64>() / (step_h * step_w) as f64;
            mean * [0.65, 1., 1.35][row] * tints[column][c]
        });

        // The printed shapes, means and deviations are those of the files.
        let lines: Vec<_> = (run.out().lines())
            .filter(|line| line.starts_with("wrote"))
            .collect();
        assert_eq!(lines.len(), 4);
        for (name, picture) in WRITTEN.iter().zip([&input, &normalised, &sheet, &vignette]) {
            let line = lines.iter().find(|line| line.contains(name)).unwrap();
            let (shape, rest) = line
                .split_once("png: ")
                .unwrap()
                .1
                .split_once(", mean ")
                .unwrap();
            assert_eq!(shape, format!("[{}, {}, 3]", picture.height, picture.width));
            let (means, deviations) = rest.split_once(", deviation ").unwrap();
            let numbers = |text: &str| -> Vec<f64> {
                let text = text.trim_matches(['[', ']']);
                text.split(", ")
                    .map(|number| number.parse().unwrap())
                    .collect()
            };
            for c in 0..3 {
                let (mean, deviation) = picture.statistics(c);
                assert!((numbers(means)[c] - mean).abs() < 0.06, "{line}: {mean}");
                assert!(
                    (numbers(deviations)[c] - deviation).abs() < 0.06,
                    "{line}: {deviation}"
                );
            }
        }
    }
}

/// Each colour type and bit depth is converted to RGB. Transparent pixels are blended with white.
#[test]
fn every_kind_of_png_is_read() {
    use png::{BitDepth::*, ColorType::*};
    type Wanted = [[u8; 3]; 2];
    let cases: [(&str, Vec<u8>, Wanted); 9] = [
        (
            "grey",
            encode((2, 1), Grayscale, Eight, &[], &[7, 200]),
            [[7; 3], [200; 3]],
        ),
        (
            "grey with alpha",
            encode((2, 1), GrayscaleAlpha, Eight, &[], &[7, 255, 0, 51]),
            [[7; 3], [204; 3]],
        ),
        (
            "rgb",
            rgb(2, 1, &[1, 2, 3, 4, 5, 6]),
            [[1, 2, 3], [4, 5, 6]],
        ),
        (
            "rgba",
            encode((2, 1), Rgba, Eight, &[], &[1, 2, 3, 255, 9, 9, 9, 0]),
            [[1, 2, 3], [255; 3]],
        ),
        (
            "one bit",
            encode((2, 1), Grayscale, One, &[], &[0b0100_0000]),
            [[0; 3], [255; 3]],
        ),
        (
            "four bits",
            encode((2, 1), Grayscale, Four, &[], &[0x1f]),
            [[17; 3], [255; 3]],
        ),
        (
            "sixteen bits",
            encode((2, 1), Grayscale, Sixteen, &[], &[9, 255, 200, 0]),
            [[9; 3], [200; 3]],
        ),
        (
            "palette",
            encode((2, 1), Indexed, Eight, &[1, 2, 3, 4, 5, 6], &[1, 0]),
            [[4, 5, 6], [1, 2, 3]],
        ),
        (
            "palette of two bits",
            encode((2, 1), Indexed, Two, &[1, 2, 3, 4, 5, 6], &[0b0001_0000]),
            [[1, 2, 3], [4, 5, 6]],
        ),
    ];
    let folder = EXAMPLE.folder("kinds");
    for (kind, bytes, wanted) in cases {
        EXAMPLE
            .run_with_input(&["-", "--out", &folder.path("out")], &bytes)
            .done();
        assert_eq!(written(&folder)[0].samples, wanted.concat(), "{kind}");
    }
}

#[test]
fn without_arguments_the_example_draws_its_own_picture() {
    let folder = EXAMPLE.folder("draws");
    let run = |name: &str| {
        let mut command = EXAMPLE.command::<&str>(&[]);
        let folder = folder.path(name);
        fs::create_dir(&folder).unwrap();
        fs::write(format!("{folder}/Cargo.toml"), "").unwrap();
        let run = Run::new(command.current_dir(&folder).output().unwrap()).done();
        let files = WRITTEN.map(|name| fs::read(format!("{folder}/target/image/{name}")).unwrap());
        (run.out, files)
    };
    let (report, files) = run("first");
    let report = String::from_utf8(report).unwrap();
    let plan = "[3] -> [240, 360, 3] (explicit)\n  input              3\n  output   240  360  3\n";
    assert!(report.contains(plan), "{report}");
    assert_eq!(run("second"), (report.into_bytes(), files));

    let picture = |name| Picture::read(&folder.path(&format!("first/target/image/{name}")));
    let (input, normalised) = (picture("input.png"), picture("normalised.png"));
    // The drawing is orange. Its normalised version is grey on average.
    assert!(input.statistics(0).0 > input.statistics(2).0 + 50.);
    for c in 0..3 {
        let (mean, deviation) = normalised.statistics(c);
        assert!(
            (mean - 127.5).abs() < 2. && (deviation - 51.).abs() < 3.,
            "{mean} {deviation}"
        );
    }
}

/// The folder `target` of a cargo project is the only one that is created without being asked for.
#[test]
fn outside_of_a_cargo_project_out_is_required() {
    EXAMPLE.requires_out_elsewhere();
}

#[test]
fn help_prints_the_usage() {
    for arguments in [&["--help"][..], &["-h"], &["x.png", "--help"]] {
        let run = EXAMPLE.run(arguments).done();
        assert!(run.out().contains("usage: image [INPUT.png]"));
    }
}

#[test]
fn wrong_arguments_exit_with_code_2() {
    for (arguments, problem) in [
        (&["--frobnicate"][..], "--frobnicate"),
        (&["a.png", "b.png"], "INPUT is given twice"),
        (&["--out"], "--out"),
        (&["--out", ""], "--out has an empty name"),
        (&["--out", "a", "--out", "b"], "--out is given twice"),
        (&["--tile", "0"], "--tile is 0, not 1 to 512"),
        (&["--tile", "513"], "--tile is 513, not 1 to 512"),
        (&["--tile", "-1"], "--tile: \"-1\" is no integer"),
        (&["--tile", "two"], "--tile: \"two\" is no integer"),
    ] {
        EXAMPLE.run(arguments).failed(2, problem);
    }
}

/// A PNG that ends after its IHDR chunk. The CRC is computed bit by bit.
fn header(width: u32, height: u32) -> Vec<u8> {
    let mut chunk = b"IHDR".to_vec();
    chunk.extend(width.to_be_bytes());
    chunk.extend(height.to_be_bytes());
    chunk.extend([8, 2, 0, 0, 0]);
    let mut crc = !0_u32;
    for &byte in &chunk {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 };
        }
    }
    [
        &b"\x89PNG\r\n\x1a\n\0\0\0\x0d"[..],
        &chunk,
        &(!crc).to_be_bytes(),
    ]
    .concat()
}

#[test]
fn invalid_files_exit_with_code_1() {
    let folder = EXAMPLE.folder("broken");
    let out = folder.path("out");
    let good = rgb(2, 2, &noise(12));
    let no_png = "this is no PNG, or a broken one: ";
    for (bytes, problem) in [
        (vec![], no_png),
        (b"\x89PNG".to_vec(), no_png),
        (b"GIF89a".to_vec(), no_png),
        (good[..good.len() / 2].to_vec(), no_png),
        (header(2, 2), no_png),
        (header(0, 2), no_png),
        // No memory is allocated for the size in the header.
        (
            header(4097, 4096),
            "4097 x 4096 pixels are more than 16777216",
        ),
        (
            header(i32::MAX as u32, i32::MAX as u32),
            "2147483647 x 2147483647 pixels are more than",
        ),
    ] {
        let input = folder.write("in.png", &bytes);
        EXAMPLE.run(&[&input, "--out", &out]).failed(1, problem);
        EXAMPLE
            .run_with_input(&["-", "--out", &out], &bytes)
            .failed(1, problem);
        folder.holds(&["in.png"]);
    }
    EXAMPLE
        .run(&[&folder.path("missing.png")])
        .failed(1, "missing.png: ");
    EXAMPLE.run(&[&folder.path("")]).failed(1, "");
    // The output path is a file, not a folder.
    let input = folder.write("in.png", &good);
    EXAMPLE
        .run(&[&input, "--out", &input])
        .failed(1, "in.png: ");
    folder.holds(&["in.png"]);
}

/// A valid file with random bytes changed, removed, inserted or cut off. The checksums do not
/// change.
#[test]
fn mutated_files_are_read_or_rejected() {
    let folder = EXAMPLE.folder("mutated");
    let (out, good) = (folder.path("out"), rgb(6, 5, &noise(90)));
    let mut rejected = 0;
    for (i, random) in noise(120).chunks_exact(3).enumerate() {
        let mut bytes = good.clone();
        let at = (usize::from(random[0]) * 251 + usize::from(random[1])) % bytes.len();
        match i % 4 {
            0 => bytes[at] ^= 1 << (random[2] % 8),
            1 => drop(bytes.remove(at)),
            2 => bytes.insert(at, random[2]),
            _ => bytes.truncate(at),
        }
        let run = EXAMPLE.run_with_input(&["-", "--out", &out], &bytes);
        match run.code {
            0 => {}
            _ => {
                run.failed(1, "");
                rejected += 1;
            }
        }
    }
    assert!(rejected > 20, "{rejected}");
}

#[test]
fn a_closed_standard_output_is_not_reported_as_an_error() {
    let folder = EXAMPLE.folder("stops");
    let mut command = EXAMPLE.command(&["--out", &folder.path("out")]);
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    Run::new(child.wait_with_output().unwrap()).done();
    written(&folder);

    let mut child = EXAMPLE.command(&["--help"]);
    let mut child = child
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdout
        .take()
        .unwrap()
        .read_exact(&mut [0; 1])
        .unwrap();
    Run::new(child.wait_with_output().unwrap()).done();
}
