//! `PostMark` on a file system: the program's stream, and the report it would print.

use super::account::Account;
use super::engine::FileSystem;
use super::files::Node;
use crate::disk::error::{Error, Kind, Result};
use crate::workload::postmark::{
    Counts, Operation, Phase, Report, Seconds, Settings, Step, Stream,
};

/// What a run came to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outcome {
    /// What the program prints.
    pub report: Report,
    /// From the first creation to the last deletion, exactly.
    pub elapsed_ns: u64,
    /// What happened in that time.
    pub account: Account,
}

/// Runs `PostMark` in the root directory, or in directories made there before the clock starts.
pub fn run(system: &mut FileSystem, settings: &Settings) -> Result<Outcome> {
    let stream = Stream::new(settings);
    let stream = stream.map_err(|error| Error::new(Kind::Impossible, error.to_string()))?;
    let directories = directories(system, settings)?;
    let before = system.account();
    let start_ns = system.now_ns();
    let mut counts = Counts::default();
    let mut ends = [start_ns; 2];
    for step in stream {
        let location = &directories[step.file.location as usize];
        let parent = location[step.file.subdirectory.unwrap_or(0) as usize];
        perform(system, settings, parent, &step)?;
        counts.add(&step);
        match step.phase {
            Phase::Creation => ends = [system.now_ns(); 2],
            Phase::Transactions => ends[1] = system.now_ns(),
            Phase::Deletion => {}
        }
    }
    let end_ns = system.now_ns();
    Ok(Outcome {
        report: Report {
            transactions: u64::from(settings.transactions),
            counts,
            seconds: Seconds::of_instants(start_ns, ends[0], ends[1], end_ns),
        },
        elapsed_ns: end_ns - start_ns,
        account: system.account().since(&before),
    })
}

/// The directories of each location, by their number.
fn directories(system: &mut FileSystem, settings: &Settings) -> Result<Vec<Vec<Node>>> {
    let mut locations = Vec::new();
    for index in 0..settings.locations.len().max(1) {
        let top = if settings.locations.is_empty() {
            Node::ROOT
        } else {
            system.mkdir(Node::ROOT, &format!("l{index}"))?
        };
        let mut nodes = vec![top];
        if settings.subdirectories > 1 {
            nodes.clear();
            for number in 0..settings.subdirectories {
                nodes.push(system.mkdir(top, &format!("s{number}"))?);
            }
        }
        locations.push(nodes);
    }
    Ok(locations)
}

/// Does one operation, call by call.
fn perform(system: &mut FileSystem, settings: &Settings, parent: Node, step: &Step) -> Result<()> {
    let name = step.file.number.to_string();
    let write = |system: &mut FileSystem, node: Node, at: u64, bytes: u64| -> Result<()> {
        let mut at = at;
        for call in settings.writes(bytes) {
            system.write(node, at, call)?;
            at += call;
        }
        system.close(node);
        Ok(())
    };
    match step.operation {
        Operation::Create { bytes } => {
            let node = system.create(parent, &name)?;
            write(system, node, 0, bytes)
        }
        Operation::Append { at, bytes } => {
            let node = system.open(parent, &name)?;
            write(system, node, at, bytes)
        }
        Operation::Read { bytes } => {
            let node = system.open(parent, &name)?;
            let mut at = 0;
            for call in settings.reads(bytes) {
                at += system.read(node, at, call);
            }
            system.close(node);
            Ok(())
        }
        Operation::Delete { .. } => system.delete(parent, &name),
    }
}
