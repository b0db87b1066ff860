//! Broadcasts, maps and gradients of Zarr stores that are larger than memory, by one process or
//! many, on one machine or many.
//!
//! ```text
//! cd examples/distributed
//! cargo build --release                    # or: cargo build --release --features mpi
//! distributed fill bias --shape 64 --chunks 64 --type f32
//! distributed broadcast bias big --mode explicit --axes 1 --shape 512,64,256,256 --max-bytes 1GiB
//! mpirun -n 4 distributed gradient big d_bias --input 64 --mode explicit --axes 1
//! distributed --help
//! ```
//!
//! After an interruption of any kind the same command continues, with any number of processes. The
//! result has the same bits, whatever their number and whatever died.
//!
//! | file | subject |
//! |---|---|
//! | `store` | Zarr stores: boxes are read, chunks are written |
//! | `job` | the description of a job, and which of its items are done |
//! | `whole_folder` | folders that are complete or do not exist |
//! | `team` | the processes that share a job: alone, started one by one, by MPI |
//! | `chunks` | jobs whose items are the chunks of their output |
//! | `gradient` | jobs whose items are parts of sums |
//! | `cost` | how many bytes the parts of sums have, by plan and number of workers |
//!
//! Exit code 0 on success, 1 if a store or a shape is wrong (stderr says why), 2 if the arguments
//! are wrong.

mod arguments;
mod chunks;
#[path = "../../shared/command_line.rs"]
mod command_line;
mod compare;
mod cost;
mod gradient;
mod job;
// Its option --max-bytes is not used here.
#[allow(dead_code)]
#[path = "../../shared/rule.rs"]
mod rule;
mod store;
mod team;
#[path = "../../shared/whole_file.rs"]
mod whole_file;
mod whole_folder;

use arguments::{Command, parse};
use command_line::{Failure, Report, exit};
use std::process::ExitCode;
use team::Team;

fn main() -> ExitCode {
    let (command, common) = match parse(lexopt::Parser::from_env()) {
        Ok(parsed) => parsed,
        Err(failure) => return exit(Err(failure), arguments::USAGE),
    };
    let team = match Team::new(&common) {
        Ok(team) => team,
        Err(failure) => return exit(Err(failure), arguments::USAGE),
    };
    let done = run(&command, &common, &team);
    let failed = done.is_err();
    let code = exit(done, arguments::USAGE);
    if failed {
        team.abort();
    }
    code
}

fn run(command: &Command, common: &arguments::Common, team: &Team) -> Result<(), Failure> {
    store::configure(common);
    match command {
        Command::Help => Report::default().print(arguments::HELP),
        Command::Fill(request) => chunks::fill(request, common, team),
        Command::Broadcast(request) => chunks::broadcast(request, common, team),
        Command::Map(request) => chunks::map(request, common, team),
        Command::Gradient(request) => gradient::run(request, common, team),
        Command::Compare(a, b) => compare::run(a, b, common),
        Command::Cost(request) => cost::run(request),
    }
}
