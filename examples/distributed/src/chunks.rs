//! Jobs whose items are the chunks of their output: broadcasts, maps, pseudo-random elements.

use crate::arguments::{Broadcast, Common, Fill, Map, Op};
use crate::command_line::{Failure, Report};
use crate::job::{Description, Job, display};
use crate::store::{Element, Kind, Store, default_chunks, elements, with_kind, zeros};
use crate::team::Team;
use indicatif::{ProgressBar, ProgressStyle};
use ndarray::{ArrayD, IxDyn, Slice};
use ndarray_broadcast::distributed::Tile;
use ndarray_broadcast::prelude::*;
use std::io::IsTerminal;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

pub fn fill(request: &Fill, common: &Common, team: &Team) -> Result<(), Failure> {
    let (kind, shape) = (request.kind, &request.shape);
    let seed = request.seed;
    let lines = vec![format!("command fill, seed {seed}")];
    let output = Output::new(&request.out, kind, shape, lines, common)?;
    with_kind!(kind, E => output.run(team, 0, |_: &mut Option<()>, ranges| {
        let sizes: Vec<_> = ranges.iter().map(|range| range.len()).collect();
        Ok(ArrayD::from_shape_fn(IxDyn(&sizes), |at| {
            let number = ranges.iter().enumerate().zip(shape);
            let number = number.fold(0, |number, ((axis, range), &size)| {
                number * size + range.start + at[axis]
            });
            E::random(seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(number as u64))
        }))
    }))
}

pub fn broadcast(request: &Broadcast, common: &Common, team: &Team) -> Result<(), Failure> {
    let input = Store::open(&request.input)?;
    let plan = request.rule.rule_to()?.plan(&input.shape)?;
    let lines = vec![
        "command broadcast".into(),
        input.description()?,
        format!(
            "mapping {:?}",
            plan.axis_sources()
                .map(AxisSource::input_axis)
                .collect::<Vec<_>>()
        ),
    ];
    let output = Output::new(&request.out, input.kind, plan.output_shape(), lines, common)?;
    let largest = |ranges: &[Range<usize>]| -> Result<usize, Failure> {
        Ok(elements(Tile::new(&plan, ranges)?.input().shape()).saturating_mul(input.kind.size()))
    };
    let most = output.largest(&largest)?;
    with_kind!(input.kind, E => {
        output.run(team, most, |last: &mut Option<Read<E>>, ranges| {
            let tile = Tile::new(&plan, ranges)?;
            let of_input = read(last, &input, &tile)?;
            Ok(tile.plan().view(of_input)?.materialize()?)
        })
    })
}

pub fn map(request: &Map, common: &Common, team: &Team) -> Result<(), Failure> {
    let [a, b] = [
        Store::open(&request.inputs[0])?,
        Store::open(&request.inputs[1])?,
    ];
    if a.kind != b.kind {
        return Err(Failure::Data(format!(
            "{} has elements of type {}, and {} of type {}",
            display(&a.path),
            a.kind.name(),
            display(&b.path),
            b.kind.name()
        )));
    }
    if request.op == Op::Div && !matches!(a.kind, Kind::F32 | Kind::F64) {
        return Err(Failure::Data(format!(
            "{} has elements of type {}: integers are not divided here",
            display(&a.path),
            a.kind.name()
        )));
    }
    let (plan_a, plan_b) = BroadcastPlan::pair(IxDyn(&a.shape), IxDyn(&b.shape), &request.rule)?;
    let lines = vec![
        format!("command map {:?} by {}", request.op, request.rule),
        a.description()?,
        b.description()?,
    ];
    let output = Output::new(&request.out, a.kind, plan_a.output_shape(), lines, common)?;
    let largest = |ranges: &[Range<usize>]| -> Result<usize, Failure> {
        let of_a = elements(Tile::new(&plan_a, ranges)?.input().shape());
        let of_b = elements(Tile::new(&plan_b, ranges)?.input().shape());
        Ok(of_a.saturating_add(of_b).saturating_mul(a.kind.size()))
    };
    let most = output.largest(&largest)?;
    let op = request.op;
    with_kind!(a.kind, E => {
        let lasts = |lasts: &mut Option<[Option<Read<E>>; 2]>, ranges: &[Range<usize>]| {
            let [last_a, last_b] = lasts.get_or_insert_default();
            let (tile_a, tile_b) = (Tile::new(&plan_a, ranges)?, Tile::new(&plan_b, ranges)?);
            let (of_a, of_b) = (read(last_a, &a, &tile_a)?, read(last_b, &b, &tile_b)?);
            let (of_a, of_b) = (tile_a.plan().view(of_a)?, tile_b.plan().view(of_b)?);
            Ok(zip((of_a, of_b)).map_collect(|(a, b)| op.of(a, b))?)
        };
        output.run(team, most, lasts)
    })
}

impl Op {
    fn of<T: Element>(self, a: T, b: T) -> T {
        match self {
            Op::Add => a.wrapping_add(b),
            Op::Sub => a.wrapping_sub(b),
            Op::Mul => a.wrapping_mul(b),
            // `map` has refused integers.
            Op::Div => a / b,
            Op::Max if b > a => b,
            Op::Min if b < a => b,
            Op::Max | Op::Min => a,
        }
    }
}

/// A box that was read last, and where.
type Read<T> = (Vec<Range<usize>>, ArrayD<T>);

/// Reads the box of the input that a tile needs, unless it is the one that was read last.
fn read<'l, T: Element>(
    last: &'l mut Option<Read<T>>,
    store: &Store,
    tile: &Tile,
) -> Result<&'l ArrayD<T>, Failure> {
    let ranges: Vec<_> = tile.input().ranges().collect();
    if last.as_ref().is_none_or(|(found, _)| *found != ranges) {
        *last = None;
        let array = store.read(ranges.iter().cloned())?;
        *last = Some((ranges, array));
    }
    match last {
        Some((_, array)) => Ok(array),
        None => Err(Failure::data("nothing was read")),
    }
}

/// The shape of the chunks of an output of this shape.
pub fn chunks_of(shape: &[usize], kind: Kind, common: &Common) -> Result<Vec<usize>, Failure> {
    match &common.chunks {
        Some(chunks) if chunks.len() != shape.len() => Err(Failure::usage(format!(
            "--chunks {chunks:?}: OUT has the shape {shape:?}"
        ))),
        Some(chunks) => memory_for(chunks, kind, 0, common).map(|_| chunks.clone()),
        None => Ok(default_chunks(shape, kind.size())),
    }
}

/// The bytes of a chunk and of the input that it needs; an error if they are more than
/// `--max-bytes`.
fn memory_for(
    chunks: &[usize],
    kind: Kind,
    input_bytes: usize,
    common: &Common,
) -> Result<usize, Failure> {
    let chunk_bytes = elements(chunks).saturating_mul(kind.size());
    let needed = chunk_bytes.saturating_add(input_bytes);
    match needed <= common.max_bytes {
        true => Ok(needed),
        false => Err(Failure::Data(format!(
            "a chunk of {chunks:?} and its input take {needed} bytes, and --max-bytes allows {}: \
             give smaller --chunks",
            common.max_bytes
        ))),
    }
}

/// The output of a job before it begins.
struct Output<'c> {
    path: &'c Path,
    kind: Kind,
    shape: Vec<usize>,
    chunks: Vec<usize>,
    lines: Vec<String>,
    common: &'c Common,
}

/// The bytes of a box, in memory.
type BytesOf<'a> = dyn Fn(&[Range<usize>]) -> Result<usize, Failure> + 'a;

impl<'c> Output<'c> {
    fn new(
        path: &'c Path,
        kind: Kind,
        shape: &[usize],
        mut lines: Vec<String>,
        common: &'c Common,
    ) -> Result<Self, Failure> {
        let chunks = chunks_of(shape, kind, common)?;
        if elements(shape).saturating_mul(kind.size()) > isize::MAX as usize {
            return Err(Failure::Data(format!(
                "{}: {shape:?} {} are more than {} bytes",
                display(path),
                kind.name(),
                isize::MAX
            )));
        }
        lines.push(format!(
            "output {shape:?} {} in chunks of {chunks:?}, {:?}",
            kind.name(),
            common.codec
        ));
        Ok(Output {
            path,
            kind,
            shape: shape.to_vec(),
            chunks,
            lines,
            common,
        })
    }

    /// The most bytes of input that a chunk needs: the first chunk is the largest.
    fn largest(&self, bytes: &BytesOf<'_>) -> Result<usize, Failure> {
        let first = self.chunks.iter().zip(&self.shape);
        let first: Vec<_> = first.map(|(&chunk, &size)| 0..chunk.min(size)).collect();
        bytes(&first)
    }

    /// Computes the chunks that are not done. `input_bytes` are needed for each beside its own.
    fn run<T: Element, S>(
        self,
        team: &Team,
        input_bytes: usize,
        compute: impl Fn(&mut Option<S>, &[Range<usize>]) -> Result<ArrayD<T>, Failure> + Sync,
    ) -> Result<(), Failure> {
        let needed = memory_for(&self.chunks, self.kind, input_bytes, self.common)?;
        let grid = self.shape.iter().zip(&self.chunks);
        let grid: Vec<_> = grid.map(|(&size, &chunk)| size.div_ceil(chunk)).collect();
        let items = elements(&grid);
        let description = Description {
            lines: self.lines,
            items,
            restart: self.common.restart,
        };
        let job = Job::open(self.path, &description, team)?;
        let store = Store::create(
            self.path,
            self.kind,
            &self.shape,
            &self.chunks,
            self.common.codec,
        )?;
        let mut to_do = Vec::new();
        for item in team.mine(items) {
            match job.done(item)? {
                None => to_do.push(item),
                Some(found) => check_chunk(&store, item, &found)?,
            }
        }
        let mut report = Report::default();
        if team.is_first() {
            let done = items - job.missing();
            report.print(&format!(
                "output  {}: {:?} {} in {items} chunks of {:?}, {done} of them done\n",
                display(self.path),
                self.shape,
                self.kind.name(),
                self.chunks
            ))?;
        }
        let bar = progress_bar(to_do.len());
        // As many chunks at the same time as there are threads and memory for them.
        let threads = (self.common.max_bytes / needed.max(1)).clamp(1, self.common.threads());
        let (start, bytes) = (Instant::now(), AtomicUsize::new(0));
        let next = AtomicUsize::new(0);
        let work = || -> Result<(), Failure> {
            let mut scratch = None;
            while let Some(&item) = to_do.get(next.fetch_add(1, Ordering::Relaxed)) {
                let computed = compute(&mut scratch, &store.chunk_box(item))?;
                bytes.fetch_add(computed.len() * self.kind.size(), Ordering::Relaxed);
                store.write(item, whole(computed, &self.chunks))?;
                job.mark(item, store.chunk_len(item)?.to_string().as_bytes())?;
                bar.inc(1);
            }
            Ok(())
        };
        std::thread::scope(|scope| {
            let workers: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
            let joined = workers.into_iter().map(|worker| match worker.join() {
                Ok(done) => done,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            let done = work();
            joined.fold(done, Result::and)
        })?;
        bar.finish_and_clear();
        let work = format!("{} chunks", to_do.len());
        report.print(&summary(team, &work, bytes.into_inner(), start, ""))?;
        team.wait();
        state(&mut report, team, job.missing(), "chunks")
    }
}

/// That the file of a chunk that is done is as long as it was.
fn check_chunk(store: &Store, item: usize, found: &[u8]) -> Result<(), Failure> {
    let len = store.chunk_len(item)?;
    match String::from_utf8_lossy(found).parse::<u64>() {
        Ok(written) if len == written => Ok(()),
        Ok(written) => Err(Failure::Data(format!(
            "{}: {len} bytes, and {written} were written: the chunk was cut short or changed; \
             --restart begins again",
            display(&store.chunk_path(item)),
        ))),
        Err(_) => Err(Failure::Data(format!(
            "{}: what is said of chunk {item} is no number; --restart begins again",
            display(&store.path)
        ))),
    }
}

/// A whole chunk that begins with the elements of a box, which may be smaller at the end of an
/// axis.
fn whole<T: Element>(computed: ArrayD<T>, chunk: &[usize]) -> ArrayD<T> {
    if computed.shape() == chunk {
        return computed;
    }
    let mut whole = zeros::<T>(chunk);
    let mut part = whole.view_mut();
    part.slice_each_axis_inplace(|axis| Slice::from(0..computed.shape()[axis.axis.index()]));
    part.assign(&computed);
    whole
}

/// A progress bar on standard error, if that is a terminal.
pub fn progress_bar(items: usize) -> ProgressBar {
    match ProgressStyle::with_template("{wide_bar} {pos}/{len} {eta}") {
        Ok(style) if std::io::stderr().is_terminal() => {
            ProgressBar::new(items as u64).with_style(style)
        }
        _ => ProgressBar::hidden(),
    }
}

/// What a process has done.
pub fn summary(team: &Team, work: &str, bytes: usize, start: Instant, more: &str) -> String {
    let took = start.elapsed().as_secs_f64();
    let rate = bytes as f64 / took / 1e9;
    let (index, count) = (team.index(), team.count());
    let peak = match peak_memory() {
        Some(bytes) => format!(", peak memory {bytes} bytes"),
        None => String::new(),
    };
    format!(
        "worker  {index}/{count}: {work}, {bytes} bytes in {took:.3} s: {rate:.2} GB/s{more}{peak}\n"
    )
}

/// The most memory that this process has held, where the system tells.
fn peak_memory() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<usize>().ok()? << 10)
}

/// Reports what is missing. It is an error unless other workers may still do it.
pub fn state(report: &mut Report, team: &Team, missing: usize, what: &str) -> Result<(), Failure> {
    match missing {
        0 if team.is_first() => report.print("state   complete\n"),
        0 => Ok(()),
        _ if team.is_one_of_several() => report.print(&format!(
            "state   {missing} {what} of other workers are missing\n"
        )),
        _ => Err(Failure::Data(format!("{missing} {what} are missing"))),
    }
}
