//! The processes that share a job.

use crate::arguments::Common;
use crate::command_line::Failure;
use ndarray_broadcast::BroadcastError;

#[cfg(feature = "mpi")]
use mpi::{
    Threading,
    environment::Universe,
    topology::{Process, SimpleCommunicator},
    traits::*,
};

/// The bytes of a message, at most: MPI counts them in 31 bits.
#[cfg(feature = "mpi")]
const MESSAGE: usize = 1 << 30;

pub enum Team {
    /// One process, or one of several that do not know each other: its number and theirs.
    Alone { index: usize, count: usize },
    /// Processes that `mpirun` started.
    #[cfg(feature = "mpi")]
    Mpi {
        world: SimpleCommunicator,
        /// Finalizes MPI when it is dropped.
        _universe: Universe,
    },
}

/// How many processes `mpirun` and the like have started, as far as the environment says.
fn started() -> Option<usize> {
    let variables = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS"];
    variables
        .iter()
        .find_map(|name| std::env::var(name).ok()?.parse().ok())
}

impl Team {
    pub fn new(common: &Common) -> Result<Self, Failure> {
        let team = match (common.worker, started()) {
            (Some((index, count)), _) => Team::Alone { index, count },
            #[cfg(feature = "mpi")]
            (None, Some(_)) => {
                // Other threads compute; this one alone calls MPI.
                let (universe, _) = mpi::initialize_with_threading(Threading::Funneled)
                    .ok_or_else(|| Failure::data("MPI did not start"))?;
                let world = universe.world();
                Team::Mpi {
                    world,
                    _universe: universe,
                }
            }
            #[cfg(not(feature = "mpi"))]
            (None, Some(count)) if count > 1 => {
                return Err(Failure::usage(
                    "this program was built without the feature mpi: give each process --worker I/N",
                ));
            }
            _ => Team::Alone { index: 0, count: 1 },
        };
        match common.workers {
            Some(asked) if asked != team.count() => Err(Failure::Data(format!(
                "{asked} workers were asked for (--workers), and there are {}",
                team.count()
            ))),
            _ => Ok(team),
        }
    }

    pub fn index(&self) -> usize {
        match self {
            Team::Alone { index, .. } => *index,
            #[cfg(feature = "mpi")]
            Team::Mpi { world, .. } => world.rank() as usize,
        }
    }

    pub fn count(&self) -> usize {
        match self {
            Team::Alone { count, .. } => *count,
            #[cfg(feature = "mpi")]
            Team::Mpi { world, .. } => world.size() as usize,
        }
    }

    /// Whether other processes work at the same time that this one cannot talk to.
    pub fn is_one_of_several(&self) -> bool {
        matches!(self, Team::Alone { count: 2.., .. })
    }

    /// Whether this process reports what all do.
    pub fn is_first(&self) -> bool {
        self.index() == 0 || self.is_one_of_several()
    }

    /// The items of this process, of `count`.
    pub fn mine(&self, count: usize) -> impl Iterator<Item = usize> + Clone + use<> {
        (self.index()..count).step_by(self.count())
    }

    /// Waits until all processes are here.
    pub fn wait(&self) {
        match self {
            Team::Alone { .. } => {}
            #[cfg(feature = "mpi")]
            Team::Mpi { world, .. } => world.barrier(),
        }
    }

    /// Ends the other processes too, which would wait for this one.
    pub fn abort(&self) {
        #[cfg(feature = "mpi")]
        if let Team::Mpi { world, .. } = self {
            world.abort(1);
        }
    }

    /// Merges what all processes have, along a tree: the first one has all then. Returns how many
    /// bytes this process has sent.
    pub fn merge<T>(
        &self,
        own: &mut T,
        to_bytes: impl Fn(&T) -> Vec<u8>,
        merge: impl Fn(&mut T, &[u8]) -> Result<(), BroadcastError>,
    ) -> Result<usize, Failure> {
        match self {
            Team::Alone { .. } => {
                let _ = (own, to_bytes, merge);
                Ok(0)
            }
            #[cfg(feature = "mpi")]
            Team::Mpi { world, .. } => {
                let (rank, size) = (world.rank(), world.size());
                let mut step = 1;
                while step < size {
                    if rank & step != 0 {
                        let bytes = to_bytes(own);
                        send(&world.process_at_rank(rank - step), &bytes);
                        return Ok(bytes.len());
                    }
                    if rank + step < size {
                        merge(own, &receive(&world.process_at_rank(rank + step)))?;
                    }
                    step *= 2;
                }
                Ok(0)
            }
        }
    }
}

#[cfg(feature = "mpi")]
fn send(to: &Process<'_>, bytes: &[u8]) {
    to.send(&(bytes.len() as u64));
    bytes.chunks(MESSAGE).for_each(|chunk| to.send(chunk));
}

#[cfg(feature = "mpi")]
fn receive(from: &Process<'_>) -> Vec<u8> {
    let len = from.receive::<u64>().0 as usize;
    let mut bytes = Vec::new();
    while bytes.len() < len {
        bytes.extend(from.receive_vec::<u8>().0);
    }
    bytes
}
