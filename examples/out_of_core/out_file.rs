//! The output file. Its disk space is reserved, and its tiles are mapped one at a time.

use crate::command_line::Failure;
use crate::npy_header::WriteElement;
use crate::progress::{cannot_continue, sync_folder};
use memmap2::MmapOptions;
use ndarray::{ArrayViewD, ArrayViewMut};
use ndarray_broadcast::prelude::*;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::mem::MaybeUninit;
use std::path::{Path, PathBuf};

/// How many bytes are written at once if the file is not mapped.
const CHUNK: usize = 64 << 10;

#[derive(Debug)]
pub struct OutFile {
    file: File,
    path: PathBuf,
    header: Vec<u8>,
    /// Whether all of its disk space is reserved, so that it may be mapped.
    pub mapped: bool,
}

impl OutFile {
    /// Opens or creates the file of a job. `begun`: a tile is done, so the file must exist. The
    /// caller reads `begun` from the progress before this call.
    pub fn open(
        path: &Path,
        header: Vec<u8>,
        data_bytes: usize,
        (begun, map): (bool, bool),
    ) -> Result<Self, Failure> {
        let failed = |error| Failure::io(&path.display().to_string(), &error);
        let bytes = (header.len() as u64)
            .checked_add(data_bytes as u64)
            .filter(|&bytes| i64::try_from(bytes).is_ok())
            .ok_or_else(|| failed(ErrorKind::FileTooLarge.into()))?;
        if begun && !path.exists() {
            return Err(cannot_continue(
                path,
                "tiles of it are done, and it is not there",
            ));
        }
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let file = options.open(path).map_err(failed)?;
        let mut out = OutFile {
            file,
            path: path.to_owned(),
            header,
            mapped: false,
        };
        let found = out.file.metadata().map_err(failed)?.len();
        if found != bytes && (begun || found != 0) {
            let problem = format!("{found} bytes, and the job's file has {bytes}");
            return Err(cannot_continue(path, &problem));
        }
        let prepared = match found {
            0 => out.file.set_len(bytes),
            _ => Ok(()),
        }
        .and_then(|()| reserve(&out.file, bytes));
        match prepared {
            Ok(reserved) => out.mapped = reserved && map && cfg!(target_endian = "little"),
            Err(error) => {
                // Release the disk space reserved so far.
                if !begun {
                    let _ = fs::remove_file(path);
                }
                return Err(failed(error));
            }
        }
        sync_folder(path);
        let start = out.start()?;
        if start != out.header && start.iter().any(|&byte| byte != 0) {
            return Err(cannot_continue(path, "this is another job's file"));
        }
        Ok(out)
    }

    /// Writes the elements of a tile, which begin at the position `start` in C order, and waits until
    /// they are on the disk.
    pub fn write<T: WriteElement>(
        &mut self,
        view: &ArrayViewD<'_, T>,
        start: usize,
    ) -> Result<(), Failure> {
        match self.mapped {
            true => self.write_mapped(view, start),
            false => self.write_buffered(view, start),
        }
    }

    fn write_mapped<T: WriteElement>(
        &mut self,
        view: &ArrayViewD<'_, T>,
        start: usize,
    ) -> Result<(), Failure> {
        let map = MmapOptions::new()
            .offset(self.offset::<T>(start))
            .len(view.len() * T::SIZE)
            .map_raw(&self.file)
            .map_err(|error| self.failed(&error))?;
        let memory = map.as_mut_ptr().cast::<MaybeUninit<T>>();
        // SAFETY: the map is writable and lives to the end of this function. It has
        // `view.len() * T::SIZE` bytes, and `T::SIZE` is `size_of::<T>()`. It is aligned: its
        // offset from a page boundary is that of `offset`, the header's length is a multiple of 64,
        // and an element's alignment is its size. All bytes, also those that another process
        // writes, are a valid `MaybeUninit<T>`. Nothing else in this process refers to the map.
        // `open` has reserved disk space for all bytes of the file. If another process truncates
        // the file, which the help forbids, the system kills this process, and no other memory is
        // accessed. If another process writes the same tile, which the help forbids too, it writes
        // the same bytes.
        let memory = unsafe { std::slice::from_raw_parts_mut(memory, view.len()) };
        let mut out = ArrayViewMut::from_shape(view.raw_dim(), memory)?;
        view.materialize_into_uninit(&mut out)?;
        map.flush().map_err(|error| self.failed(&error))
    }

    fn write_buffered<T: WriteElement>(
        &mut self,
        view: &ArrayViewD<'_, T>,
        start: usize,
    ) -> Result<(), Failure> {
        let offset = self.offset::<T>(start);
        let failed = |error| Failure::io(&self.path.display().to_string(), &error);
        let mut file = &self.file;
        file.seek(SeekFrom::Start(offset)).map_err(failed)?;
        let mut bytes = Vec::with_capacity(CHUNK);
        let tile = view.materialize()?;
        for chunk in tile.as_slice().unwrap_or_default().chunks(CHUNK / T::SIZE) {
            bytes.clear();
            chunk.iter().for_each(|element| element.push(&mut bytes));
            file.write_all(&bytes).map_err(failed)?;
        }
        file.sync_data().map_err(failed)
    }

    /// Reads the bytes of the element at a position in C order.
    pub fn element<T: WriteElement>(&mut self, number: usize) -> Result<Vec<u8>, Failure> {
        let mut bytes = vec![0; T::SIZE];
        let offset = self.offset::<T>(number);
        (self.file.seek(SeekFrom::Start(offset)))
            .and_then(|_| self.file.read_exact(&mut bytes))
            .map_err(|error| self.failed(&error))?;
        Ok(bytes)
    }

    /// Writes the header, which completes the `.npy` file. All tiles must be done.
    pub fn finish(&mut self) -> Result<(), Failure> {
        if self.start()? == self.header {
            return Ok(());
        }
        (self.file.seek(SeekFrom::Start(0)))
            .and_then(|_| self.file.write_all(&self.header))
            .and_then(|()| self.file.sync_all())
            .map_err(|error| self.failed(&error))
    }

    /// Reads the bytes at the place of the header.
    fn start(&mut self) -> Result<Vec<u8>, Failure> {
        let mut bytes = vec![0; self.header.len()];
        (self.file.seek(SeekFrom::Start(0)))
            .and_then(|_| self.file.read_exact(&mut bytes))
            .map_err(|error| self.failed(&error))?;
        Ok(bytes)
    }

    fn offset<T: WriteElement>(&self, number: usize) -> u64 {
        self.header.len() as u64 + number as u64 * T::SIZE as u64
    }

    fn failed(&self, error: &io::Error) -> Failure {
        Failure::io(&self.path.display().to_string(), error)
    }
}

/// Reserves disk space for the first `bytes` of a file; false if the system does not support it.
///
/// A write to a mapped page without disk space kills the process (SIGBUS).
#[cfg(any(target_os = "linux", target_os = "android"))]
fn reserve(file: &File, bytes: u64) -> io::Result<bool> {
    use rustix::fs::{FallocateFlags, fallocate, fstatvfs};
    use rustix::io::Errno;
    use std::os::unix::fs::MetadataExt;
    // Check the free space first: some file systems fill the disk before `fallocate` fails.
    let (system, held) = (
        fstatvfs(file)?,
        file.metadata()?.blocks().saturating_mul(512),
    );
    let free = system.f_bavail.saturating_mul(system.f_frsize);
    if system.f_blocks > 0 && bytes > free.saturating_add(held) {
        return Err(io::Error::new(
            ErrorKind::StorageFull,
            format!("{bytes} bytes do not fit: {free} are free on its file system"),
        ));
    }
    loop {
        match fallocate(file, FallocateFlags::empty(), 0, bytes) {
            Ok(()) => return Ok(true),
            Err(Errno::INTR) => {}
            Err(error @ (Errno::NOSPC | Errno::DQUOT | Errno::FBIG)) => return Err(error.into()),
            Err(_) => return Ok(false),
        }
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn reserve(_: &File, _: u64) -> io::Result<bool> {
    Ok(false)
}
