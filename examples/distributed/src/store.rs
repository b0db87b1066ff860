//! Zarr stores: boxes are read, chunks are written.

use crate::arguments::Common;
use crate::command_line::Failure;
use crate::job::display;
use crate::whole_folder::create_whole;
use ndarray::{ArrayD, IxDyn, LinalgScalar};
use ndarray_broadcast::distributed::AccumulatorBytes;
use ndarray_broadcast::reduction::Summand;
use std::fs;
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;
use zarrs::array::codec::{Crc32cCodec, ZstdCodec};
use zarrs::array::{
    Array, ArrayBuilder, ArraySubset, DataType, Element as ZarrElement, ElementOwned, data_type,
};
use zarrs::filesystem::FilesystemStore;

/// The bytes of a chunk, if the command line says nothing else.
const CHUNK: usize = 8 << 20;

/// An element of a store.
pub trait Element:
    ZarrElement + ElementOwned + LinalgScalar + AccumulatorBytes + PartialOrd + Summand<Acc = Self>
{
    /// A pseudo-random element. Sums of floats of many magnitudes round at most additions.
    fn random(seed: u64) -> Self;

    /// `self + other`, where integers wrap around.
    fn wrapping_add(self, other: Self) -> Self {
        self + other
    }

    /// `self - other`, where integers wrap around.
    fn wrapping_sub(self, other: Self) -> Self {
        self - other
    }

    /// `self * other`, where integers wrap around.
    fn wrapping_mul(self, other: Self) -> Self {
        self * other
    }
}

/// The type of a store's elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    F32,
    F64,
    I32,
    I64,
    U8,
}

/// Runs an expression with the type of a kind.
macro_rules! with_kind {
    ($kind:expr, $E:ident => $body:expr) => {{
        macro_rules! with {
            ($T:ty) => {{
                type $E = $T;
                $body
            }};
        }
        match $kind {
            crate::store::Kind::F32 => with!(f32),
            crate::store::Kind::F64 => with!(f64),
            crate::store::Kind::I32 => with!(i32),
            crate::store::Kind::I64 => with!(i64),
            crate::store::Kind::U8 => with!(u8),
        }
    }};
}
pub(crate) use with_kind;

impl Kind {
    pub const ALL: [Kind; 5] = [Kind::F32, Kind::F64, Kind::I32, Kind::I64, Kind::U8];

    pub fn name(self) -> &'static str {
        with_kind!(self, E => std::any::type_name::<E>())
    }

    pub fn size(self) -> usize {
        with_kind!(self, E => size_of::<E>())
    }

    fn data_type(self) -> DataType {
        match self {
            Kind::F32 => data_type::float32(),
            Kind::F64 => data_type::float64(),
            Kind::I32 => data_type::int32(),
            Kind::I64 => data_type::int64(),
            Kind::U8 => data_type::uint8(),
        }
    }

    fn of(data_type: &DataType) -> Option<Self> {
        let is = |kind: &Kind| with_kind!(*kind, E => E::validate_data_type(data_type).is_ok());
        Kind::ALL.into_iter().find(is)
    }
}

fn mixed(seed: u64) -> u64 {
    let seed = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let seed = (seed ^ (seed >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    seed ^ (seed >> 32)
}

impl Element for f32 {
    fn random(seed: u64) -> Self {
        f64::random(seed) as f32
    }
}

impl Element for f64 {
    fn random(seed: u64) -> Self {
        let bits = mixed(seed);
        ((bits >> 11) as f64 / (1_u64 << 52) as f64 - 1.) / (1 << (bits & 7)) as f64
    }
}

macro_rules! integers {
    ($($T:ty)*) => {$(
        impl Element for $T {
            fn random(seed: u64) -> Self {
                // Small, so that sums of many do not overflow.
                (mixed(seed) >> 61) as $T
            }

            fn wrapping_add(self, other: Self) -> Self {
                <$T>::wrapping_add(self, other)
            }

            fn wrapping_sub(self, other: Self) -> Self {
                <$T>::wrapping_sub(self, other)
            }

            fn wrapping_mul(self, other: Self) -> Self {
                <$T>::wrapping_mul(self, other)
            }
        }
    )*};
}

integers!(i32 i64 u8);

/// Sets what zarrs does in all calls.
pub fn configure(common: &Common) {
    let mut config = zarrs::config::global_config_mut();
    // A chunk whose file is missing would be taken for one of zeros.
    config.set_store_empty_chunks(true);
    // Each chunk that is decoded at the same time takes memory.
    config.set_codec_concurrent_target(common.threads());
    config.set_chunk_concurrent_minimum(common.threads());
}

/// How chunks are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codec {
    None,
    Zstd,
}

pub struct Store {
    pub path: PathBuf,
    pub kind: Kind,
    pub shape: Vec<usize>,
    /// The shape of the first chunk.
    pub chunks: Vec<usize>,
    files: Arc<FilesystemStore>,
    array: Array<FilesystemStore>,
}

fn usizes(sizes: &[u64]) -> Vec<usize> {
    sizes.iter().map(|&size| size as usize).collect()
}

impl Store {
    /// That another store has the same shape and the same type.
    pub fn check_like(&self, other: &Self) -> Result<(), Failure> {
        if (self.kind, &self.shape) == (other.kind, &other.shape) {
            return Ok(());
        }
        Err(Failure::Data(format!(
            "{} has {:?} {}, and {} {:?} {}",
            display(&self.path),
            self.shape,
            self.kind.name(),
            display(&other.path),
            other.shape,
            other.kind.name()
        )))
    }

    pub fn open(path: &Path) -> Result<Self, Failure> {
        let problem = |problem: &dyn std::fmt::Display| {
            Failure::Data(format!("{}: {problem}", display(path)))
        };
        if !path.join("zarr.json").is_file() {
            return Err(problem(
                &"this is no Zarr array of version 3: there is no zarr.json in it",
            ));
        }
        let files = Arc::new(FilesystemStore::new(path).map_err(|error| problem(&error))?);
        let array = Array::open(files.clone(), "/").map_err(|error| problem(&error))?;
        let kind = Kind::of(array.data_type())
            .ok_or_else(|| problem(&"its element type is none of f32, f64, i32, i64 and u8"))?;
        let shape = usizes(array.shape());
        let chunks =
            (array.chunk_shape_usize(&vec![0; shape.len()])).map_err(|error| problem(&error))?;
        Ok(Store {
            path: path.to_owned(),
            kind,
            shape,
            chunks,
            files,
            array,
        })
    }

    /// Creates a store without chunks, or opens the one that another process has created. What is
    /// there must be the same.
    pub fn create(
        path: &Path,
        kind: Kind,
        shape: &[usize],
        chunks: &[usize],
        codec: Codec,
    ) -> Result<Self, Failure> {
        if !path.join("zarr.json").exists() {
            create_whole(path, "zarr.json", |folder| {
                build(folder, kind, shape, chunks, codec)
            })?;
        }
        let store = Store::open(path)?;
        if (store.kind, &store.shape[..], &store.chunks[..]) != (kind, shape, chunks) {
            return Err(Failure::Data(format!(
                "{}: it has {:?} {} in chunks of {:?}, and the job's {shape:?} {} in chunks of \
                 {chunks:?}; --restart begins again",
                display(path),
                store.shape,
                store.kind.name(),
                store.chunks,
                kind.name(),
            )));
        }
        Ok(store)
    }

    /// One line that changes if the store does: what it is, then a hash of the names, lengths and
    /// times of its files.
    pub fn description(&self) -> Result<String, Failure> {
        let mut files = Vec::new();
        list(&self.path, &self.path, &mut files)
            .map_err(|error| Failure::io(&display(&self.path), &error))?;
        files.sort();
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for byte in files.join("\n").bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        Ok(format!(
            "input {} {:?} {} in chunks of {:?} content {hash:016x}",
            display(&self.path),
            self.shape,
            self.kind.name(),
            self.chunks,
        ))
    }

    /// The elements of a box.
    pub fn read<T: Element>(
        &self,
        ranges: impl Iterator<Item = Range<usize>>,
    ) -> Result<ArrayD<T>, Failure> {
        let ranges: Vec<_> = ranges
            .map(|range| range.start as u64..range.end as u64)
            .collect();
        self.array
            .retrieve_array_subset(&ArraySubset::new_with_ranges(&ranges))
            .map_err(|error| {
                Failure::Data(format!(
                    "{}: the box {ranges:?} cannot be read: {error}",
                    display(&self.path)
                ))
            })
    }

    /// How many chunks there are on each axis.
    fn grid(&self) -> impl Iterator<Item = usize> + '_ {
        self.shape
            .iter()
            .zip(&self.chunks)
            .map(|(&size, &chunk)| size.div_ceil(chunk))
    }

    pub fn chunk_count(&self) -> usize {
        elements(&self.grid().collect::<Vec<_>>())
    }

    /// The indices of a chunk in the grid of chunks, in C order.
    fn index(&self, mut number: usize) -> Vec<u64> {
        let grid: Vec<usize> = self.grid().collect();
        let mut index = vec![0; grid.len()];
        for (at, size) in index.iter_mut().zip(grid).rev() {
            *at = (number % size) as u64;
            number /= size;
        }
        index
    }

    /// The box of a chunk, as far as it is inside the array.
    pub fn chunk_box(&self, number: usize) -> Vec<Range<usize>> {
        let axes = self
            .index(number)
            .into_iter()
            .zip(&self.chunks)
            .zip(&self.shape);
        axes.map(|((at, &chunk), &size)| {
            let start = at as usize * chunk;
            start..size.min(start + chunk)
        })
        .collect()
    }

    /// Writes a chunk, which must be whole, and waits until it is on the disk.
    pub fn write<T: Element>(&self, number: usize, chunk: ArrayD<T>) -> Result<(), Failure> {
        self.array
            .store_chunk(&self.index(number), chunk)
            .map_err(|error| {
                Failure::Data(format!("{}: {error}", display(&self.chunk_path(number))))
            })
    }

    pub fn chunk_path(&self, number: usize) -> PathBuf {
        self.files
            .key_to_fspath(&self.array.chunk_key(&self.index(number)))
    }

    /// How many bytes the file of a chunk has.
    pub fn chunk_len(&self, number: usize) -> Result<u64, Failure> {
        let path = self.chunk_path(number);
        match fs::metadata(&path) {
            Ok(found) => Ok(found.len()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(0),
            Err(error) => Err(Failure::io(&display(&path), &error)),
        }
    }
}

/// Makes a folder a store without chunks.
pub fn build(
    path: &Path,
    kind: Kind,
    shape: &[usize],
    chunks: &[usize],
    codec: Codec,
) -> Result<(), Failure> {
    let problem =
        |problem: &dyn std::fmt::Display| Failure::Data(format!("{}: {problem}", display(path)));
    let files = Arc::new(FilesystemStore::new(path).map_err(|error| problem(&error))?);
    let wide = |sizes: &[usize]| -> Vec<u64> { sizes.iter().map(|&size| size as u64).collect() };
    let (shape, chunks) = (wide(shape), wide(chunks));
    let mut codecs: Vec<Arc<dyn zarrs::array::BytesToBytesCodecTraits>> = Vec::new();
    if codec == Codec::Zstd {
        codecs.push(Arc::new(ZstdCodec::new(1, false)));
    }
    codecs.push(Arc::new(Crc32cCodec::new()));
    macro_rules! builder {
        ($zero:expr) => {
            ArrayBuilder::new(shape, chunks, kind.data_type(), $zero)
        };
    }
    let mut builder = with_kind!(kind, E => builder!(E::from(0_u8)));
    let array = builder.bytes_to_bytes_codecs(codecs).build(files, "/");
    array
        .map_err(|error| problem(&error))?
        .store_metadata()
        .map_err(|error| problem(&error))
}

fn list(root: &Path, folder: &Path, files: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let found = entry.metadata()?;
        if found.is_dir() {
            list(root, &entry.path(), files)?;
            continue;
        }
        let name = entry.path();
        let name = name
            .strip_prefix(root)
            .unwrap_or(&name)
            .display()
            .to_string();
        let time = found
            .modified()?
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        files.push(format!("{name} {} {}", found.len(), time.as_nanos()));
    }
    Ok(())
}

/// How many elements a shape has; `usize::MAX` if there are more.
pub fn elements(shape: &[usize]) -> usize {
    (shape.iter()).fold(1, |count, &size| count.saturating_mul(size))
}

/// Chunks of at most 8 MiB: whole in the inner axes, cut along one.
pub fn default_chunks(shape: &[usize], size: usize) -> Vec<usize> {
    let mut room = CHUNK / size;
    let mut chunks = vec![1; shape.len()];
    for (chunk, &full) in chunks.iter_mut().zip(shape).rev() {
        *chunk = full.clamp(1, room.max(1));
        room = if *chunk < full { 1 } else { room / full.max(1) };
    }
    chunks
}

/// An array of zeros of a whole chunk.
pub fn zeros<T: Element>(shape: &[usize]) -> ArrayD<T> {
    ArrayD::zeros(IxDyn(shape))
}
