//! Sums of a cotangent over replicated axes, compared with reading the same bytes once and with
//! ndarray.
//!
//! `cargo bench --bench gradient` runs all cases and then prints a table of ratios, for which the
//! candidates alternate. A filter, as in `cargo bench --bench gradient -- big/last`, selects cases.
//! `-- table` prints only the table.

mod memory;

use criterion::{BenchmarkId, Criterion, Throughput};
use ndarray::{ArrayD, ArrayViewD, Axis, IxDyn, s};
use ndarray_broadcast::prelude::*;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// The shape of a cotangent and the axes to sum.
struct Case {
    scale: &'static str,
    name: &'static str,
    shape: &'static [usize],
    summed: &'static [usize],
}

const fn case(
    scale: &'static str,
    name: &'static str,
    shape: &'static [usize],
    summed: &'static [usize],
) -> Case {
    Case {
        scale,
        name,
        shape,
        summed,
    }
}

/// 4 MiB of `f32`, which fit in the cache, and 256 MiB, which do not.
const CASES: [Case; 14] = [
    case("mid", "all", &[1048576], &[0]),
    case("mid", "channel", &[1, 64, 128, 128], &[0, 2, 3]),
    case("mid", "first", &[4096, 256], &[0]),
    case("mid", "last", &[4096, 256], &[1]),
    case("mid", "middle", &[64, 128, 128], &[1]),
    case("mid", "first_of_3", &[349525, 3], &[0]),
    case("mid", "last_of_3", &[349525, 3], &[1]),
    case("big", "all", &[67108864], &[0]),
    case("big", "channel", &[16, 64, 256, 256], &[0, 2, 3]),
    case("big", "first", &[262144, 256], &[0]),
    case("big", "last", &[262144, 256], &[1]),
    case("big", "middle", &[1024, 512, 128], &[1]),
    case("big", "first_of_3", &[22369616, 3], &[0]),
    case("big", "last_of_3", &[22369616, 3], &[1]),
];

impl Case {
    fn cotangent(&self) -> ArrayD<f32> {
        let mut state = 1_u32;
        memory::array(self.shape, || {
            state = state.wrapping_mul(1664525).wrapping_add(1013904223);
            (state >> 8) as f32 / (1 << 24) as f32
        })
    }

    fn plan(&self) -> BroadcastPlan {
        let kept: Vec<usize> = (0..self.shape.len())
            .filter(|axis| !self.summed.contains(axis))
            .collect();
        let input: Vec<usize> = kept.iter().map(|&axis| self.shape[axis]).collect();
        BroadcastPlan::explicit(IxDyn(&input), IxDyn(self.shape), &kept)
            .expect("the kept axes have their own sizes")
    }

    fn ndarray(&self, cotangent: &ArrayD<f32>) -> ArrayD<f32> {
        let mut summed = self.summed.iter().rev();
        let Some(&last) = summed.next() else {
            return cotangent.clone();
        };
        summed.fold(cotangent.sum_axis(Axis(last)), |sums, &axis| {
            sums.sum_axis(Axis(axis))
        })
    }
}

fn read_chunk(chunk: &[f32]) -> u32 {
    let mut lanes = [0_u32; 64];
    for values in chunk.chunks_exact(64) {
        for (lane, value) in lanes.iter_mut().zip(values) {
            *lane ^= value.to_bits();
        }
    }
    lanes.iter().fold(0, |a, b| a ^ b)
}

/// Reads every byte once, on all threads, with negligible other work.
fn read(values: &[f32]) -> u32 {
    #[cfg(feature = "rayon")]
    {
        use rayon::prelude::*;
        values
            .par_chunks(64 << 10)
            .map(read_chunk)
            .reduce(|| 0, |a, b| a ^ b)
    }
    #[cfg(not(feature = "rayon"))]
    values
        .chunks(64 << 10)
        .map(read_chunk)
        .fold(0, |a, b| a ^ b)
}

/// [`read`], and writes a gradient's number of values to fresh memory: the limit of a gradient that
/// allocates its result.
fn read_and_write(values: &[f32], len: usize) -> Vec<f32> {
    /// Elements of a huge page.
    const CHUNK: usize = 512 << 10;
    let mut out = Vec::with_capacity(len);
    memory::advise_huge_pages(out.as_mut_ptr(), len);
    let chunk = values.len().div_ceil(len.div_ceil(CHUNK));
    let write = |(out, values): (&mut [std::mem::MaybeUninit<f32>], &[f32])| {
        for (out, values) in out
            .chunks_mut(16 << 10)
            .zip(values.chunks(chunk.div_ceil(32)))
        {
            let bits = read_chunk(values);
            out.fill(std::mem::MaybeUninit::new(f32::from_bits(bits)));
        }
    };
    let room = &mut out.spare_capacity_mut()[..len];
    #[cfg(feature = "rayon")]
    {
        use rayon::prelude::*;
        room.par_chunks_mut(CHUNK)
            .zip(values.par_chunks(chunk))
            .for_each(write);
    }
    #[cfg(not(feature = "rayon"))]
    room.chunks_mut(CHUNK)
        .zip(values.chunks(chunk))
        .for_each(write);
    out
}

fn criterion_benches(criterion: &mut Criterion) {
    for case in &CASES {
        let mut group = criterion.benchmark_group(format!("gradient/{}", case.scale));
        let big = case.scale == "big";
        group
            .sample_size(10)
            .warm_up_time(Duration::from_millis(if big { 200 } else { 100 }))
            .measurement_time(Duration::from_millis(if big { 1000 } else { 300 }))
            .throughput(Throughput::Bytes(
                4 * case.shape.iter().product::<usize>() as u64,
            ));
        // Built on first use, so that cases outside the filter cost nothing.
        let cotangent = std::cell::OnceCell::new();
        let cotangent = || cotangent.get_or_init(|| case.cotangent());
        let plan = case.plan();
        let id = |who| BenchmarkId::new(case.name, who);
        group.bench_function(id("gradient"), |b| {
            let cotangent = cotangent();
            b.iter(|| plan.gradient(black_box(cotangent)));
        });
        group.bench_function(id("gradient_into"), |b| {
            let cotangent = cotangent();
            let mut out = memory::array(plan.input_shape(), || 0.0);
            b.iter(|| plan.gradient_into(black_box(cotangent), &mut out));
        });
        group.bench_function(id("read"), |b| {
            let values = cotangent().as_slice().expect("standard layout");
            b.iter(|| read(black_box(values)));
        });
        group.bench_function(id("ndarray"), |b| {
            let cotangent = cotangent();
            b.iter(|| case.ndarray(black_box(cotangent)));
        });
        group.finish();
    }
}

/// The time of `f`, without dropping its result.
fn milliseconds<T>(f: impl FnOnce() -> T) -> f64 {
    let start = Instant::now();
    let result = black_box(f());
    let took = start.elapsed().as_secs_f64() * 1e3;
    drop(result);
    took
}

/// The median, or 0 if there are no times.
fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// Gradients of this many elements, 32 MiB, have their own mapping, whose page faults take time.
const LARGE: usize = 8 << 20;

/// Prints medians. In each round, every candidate runs some consecutive calls, as in a training
/// loop.
fn table() {
    println!(
        "\nmedians in ms; /read: time over that of reading the cotangent once in parallel;\n\
         /write: the same, and writing a gradient of 32 MiB or more to fresh memory"
    );
    println!(
        "case                 read  gradient  /read  /write      into  /read   ndarray  ahead"
    );
    // The first argument that is not an option is criterion's filter; `table` selects all cases.
    let filter = std::env::args()
        .skip(1)
        .find(|argument| !argument.starts_with('-') && argument != "table");
    for case in &CASES {
        let name = format!("{}/{}", case.scale, case.name);
        if filter.as_ref().is_some_and(|filter| !name.contains(filter)) {
            continue;
        }
        let cotangent = case.cotangent();
        let values = cotangent.as_slice().expect("standard layout");
        let plan = case.plan();
        let mut out = memory::array(plan.input_shape(), || 0.0);
        let (rounds, calls) = if case.scale == "big" {
            (5, 4)
        } else {
            (20, 20)
        };
        let mut times: [Vec<f64>; 5] = Default::default();
        for round in 0..rounds {
            for _ in 0..calls {
                times[0].push(milliseconds(|| read(black_box(values))));
            }
            for _ in 0..calls {
                times[1].push(milliseconds(|| plan.gradient(black_box(&cotangent))));
            }
            for _ in 0..calls {
                times[2].push(milliseconds(|| {
                    plan.gradient_into(black_box(&cotangent), &mut out)
                }));
            }
            if out.len() >= LARGE {
                for _ in 0..calls {
                    times[4].push(milliseconds(|| read_and_write(values, out.len())));
                }
            }
            if round < 5 {
                times[3].push(milliseconds(|| case.ndarray(black_box(&cotangent))));
            }
        }
        let [read, fresh, into, ndarray, write] = times.map(median);
        let of_write = match out.len() >= LARGE {
            true => format!("{:6.2}", fresh / write),
            false => "     -".to_owned(),
        };
        println!(
            "{name:16} {read:8.3}  {fresh:8.3}  {:5.2}  {of_write}  \
             {into:8.3}  {:5.2}  {ndarray:8.3}  {:5.1}",
            fresh / read,
            into / read,
            ndarray / fresh,
        );
    }
}

/// A view of a layout, by name, with the axes to sum.
type Layout<'a> = (&'static str, ArrayViewD<'a, f32>, &'static [usize]);

/// Prints the fastest of some calls: sums of awkward layouts beside that of a contiguous copy and
/// ndarray's, and sums of a product beside reading both factors.
fn layouts() {
    fn fastest<T>(mut f: impl FnMut() -> T) -> f64 {
        let times = (0..30).map(|_| milliseconds(&mut f));
        times.fold(f64::MAX, f64::min)
    }
    fn case_of<'a>(shape: &[usize], summed: &'a [usize]) -> (BroadcastPlan, &'a [usize]) {
        let kept = (0..shape.len()).filter(|axis| !summed.contains(axis));
        let kept: Vec<usize> = kept.collect();
        let input: Vec<usize> = kept.iter().map(|&axis| shape[axis]).collect();
        let plan = BroadcastPlan::explicit(IxDyn(&input), IxDyn(shape), &kept);
        (plan.expect("the kept axes have their own sizes"), summed)
    }
    let ones = |shape: &[usize]| memory::array(shape, || 1.0);
    let (triples, four) = (ones(&[500_000, 2, 3]), ones(&[4, 250_000, 3]));
    let (line, matrix) = (ones(&[4_000_000]), ones(&[1000, 3000]));
    let pairs = ones(&[100, 2, 5000, 2]);
    let cases: [Layout<'_>; 8] = [
        (
            "two_of_three, nothing",
            triples.slice(s![.., .., ..2]).into_dyn(),
            &[],
        ),
        (
            "last_reversed, nothing",
            triples.slice(s![.., .., ..;-1]).into_dyn(),
            &[],
        ),
        (
            "two_of_three, first",
            four.slice(s![.., .., ..2]).into_dyn(),
            &[0],
        ),
        ("reversed, all", line.slice(s![..;-1]).into_dyn(), &[0]),
        ("transposed, all", matrix.t().into_dyn(), &[0, 1]),
        ("transposed, last", matrix.t().into_dyn(), &[1]),
        ("pairs, 0 and 2", pairs.view(), &[0, 2]),
        ("pairs, 1 and 3", pairs.view(), &[1, 3]),
    ];
    println!("\nfastest of 30 calls in ms\nlayout                        sum  of a copy   ndarray");
    for (name, view, summed) in cases {
        let (plan, summed) = case_of(view.shape(), summed);
        let copy = view.materialize().expect("there is memory");
        let sum = fastest(|| plan.gradient(black_box(&view)));
        let of_copy = fastest(|| plan.gradient(black_box(&copy)));
        let ndarray = fastest(|| match summed {
            [] => view.to_owned(),
            all if all.len() == view.ndim() => ndarray::arr0(view.sum()).into_dyn(),
            [rest @ .., last] => (rest.iter().rev())
                .fold(view.sum_axis(Axis(*last)), |sums, &axis| {
                    sums.sum_axis(Axis(axis))
                }),
        });
        println!("{name:24} {sum:9.3}  {of_copy:9.3}  {ndarray:8.3}");
    }
    println!("\nsum of a product              sum  read both  product first");
    for (shape, summed) in [
        (&[4096, 1024][..], &[0][..]),
        (&[4096, 1024], &[1]),
        (&[131_072, 256], &[0]),
        (&[131_072, 256], &[1]),
        (&[16, 64, 256, 128], &[0, 2, 3]),
    ] {
        let (plan, _) = case_of(shape, summed);
        let (a, b) = (ones(shape), ones(shape));
        let slices = [&a, &b].map(|array| array.as_slice().expect("standard layout"));
        let sum = fastest(|| zip((&a, &b)).reduce(&plan, Sum, |(a, b)| a * b));
        let both = fastest(|| slices.map(|values| read(black_box(values))));
        let first = fastest(|| {
            let product = zip((&a, &b)).map_collect(|(a, b)| a * b);
            plan.gradient(&product.expect("there is memory"))
        });
        println!(
            "{:24} {sum:9.3}  {both:9.3}  {first:8.3}",
            format!("{shape:?} {summed:?}")
        );
    }
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    criterion_benches(&mut criterion);
    criterion.final_summary();
    // `cargo test --benches` only checks that the benchmark runs.
    if !std::env::args().any(|argument| argument == "--test") {
        table();
        layouts();
    }
}
