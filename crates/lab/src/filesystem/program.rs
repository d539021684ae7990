//! A program on a file system: its calls, one after the other, and what each phase came to.

use std::collections::BTreeMap;

use super::account::Account;
use super::engine::FileSystem;
use super::files::Node;
use super::together::Flight;
use crate::error::{Error, Kind, Result};
use crate::workload::program::{Access, AccessKind, Call, Directory, File};

/// What was done in some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Measured {
    /// How long it took, in nanoseconds.
    pub elapsed_ns: u64,
    /// Calls made, each access of several processes being one.
    pub calls: u64,
    /// Bytes that calls read.
    pub read_bytes: u64,
    /// Bytes that calls wrote.
    pub written_bytes: u64,
    /// What happened in that time.
    pub account: Account,
}

/// A phase of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phase {
    /// What the program calls it.
    pub name: String,
    /// When it began, in nanoseconds since mounting.
    pub start_ns: u64,
    /// What was done in it.
    pub measured: Measured,
}

/// What a run came to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outcome {
    /// The phases, in their order.
    pub phases: Vec<Phase>,
    /// All of them together, without what was aside.
    pub total: Measured,
}

impl Outcome {
    /// The phase of this name; the first, if there are several.
    pub fn phase(&self, name: &str) -> Option<&Phase> {
        self.phases.iter().find(|phase| phase.name == name)
    }
}

impl Measured {
    /// Adds what was done in another time.
    fn add(&mut self, other: &Self) {
        self.elapsed_ns += other.elapsed_ns;
        self.calls += other.calls;
        self.read_bytes += other.read_bytes;
        self.written_bytes += other.written_bytes;
        self.account.add(&other.account);
    }
}

/// Makes the calls of `stream`. Fails at a call that cannot be: of a file that is not open, of a
/// name that is not there.
pub fn run(system: &mut FileSystem, stream: impl IntoIterator<Item = Call>) -> Result<Outcome> {
    let mut runner = Runner {
        system,
        directories: BTreeMap::from([(Directory::ROOT, Node::ROOT)]),
        files: BTreeMap::new(),
        counted: Measured::default(),
        current: None,
        outcome: Outcome::default(),
    };
    for (number, call) in (1_u64..).zip(stream) {
        let made = runner.make(call);
        made.map_err(|error| {
            let what = format!("call {number} of the program: {error}");
            Error::new(error.kind(), what)
        })?;
    }
    runner.end_phase();
    Ok(runner.outcome)
}

/// A phase that has begun.
struct Begun {
    name: String,
    start_ns: u64,
    account: Account,
}

struct Runner<'a> {
    system: &'a mut FileSystem,
    directories: BTreeMap<Directory, Node>,
    files: BTreeMap<File, Node>,
    counted: Measured,
    current: Option<Begun>,
    outcome: Outcome,
}

fn refused<T>(what: String) -> Result<T> {
    Err(Error::new(Kind::Impossible, what))
}

impl Runner<'_> {
    fn end_phase(&mut self) {
        let counted = std::mem::take(&mut self.counted);
        let Some(begun) = self.current.take() else {
            return;
        };
        let measured = Measured {
            elapsed_ns: self.system.now_ns() - begun.start_ns,
            account: self.system.account().since(&begun.account),
            ..counted
        };
        self.outcome.total.add(&measured);
        self.outcome.phases.push(Phase {
            name: begun.name,
            start_ns: begun.start_ns,
            measured,
        });
    }

    fn directory(&self, directory: Directory) -> Result<Node> {
        match self.directories.get(&directory) {
            Some(node) => Ok(*node),
            None => refused(format!("there is no directory number {}", directory.0)),
        }
    }

    fn file(&self, file: File) -> Result<Node> {
        match self.files.get(&file) {
            Some(node) => Ok(*node),
            None => refused(format!("file number {} is not open", file.0)),
        }
    }

    fn opened(&mut self, file: File, node: Node) -> Result<()> {
        match self.files.insert(file, node) {
            Some(_) => refused(format!("file number {} is open already", file.0)),
            None => Ok(()),
        }
    }

    fn make(&mut self, call: Call) -> Result<()> {
        let marks = matches!(call, Call::Phase { .. } | Call::Aside | Call::Think { .. });
        self.counted.calls += u64::from(!marks);
        match call {
            Call::Phase { name } => {
                self.end_phase();
                self.current = Some(Begun {
                    name,
                    start_ns: self.system.now_ns(),
                    account: self.system.account(),
                });
            }
            Call::Aside => self.end_phase(),
            Call::Think { ns } => self.system.sleep(ns),
            Call::Read { .. }
            | Call::Write { .. }
            | Call::ReadDirect { .. }
            | Call::WriteDirect { .. }
            | Call::Together { .. } => self.transfer(call)?,
            Call::Close { file } => {
                let node = self.file(file)?;
                self.files.remove(&file);
                self.system.close(node);
            }
            Call::Fsync { file } => {
                let node = self.file(file)?;
                self.system.fsync(node);
            }
            Call::Sync => self.system.sync(),
            Call::DropCaches => self.system.drop_caches(),
            named => self.names(named)?,
        }
        Ok(())
    }

    /// Calls that name something in a directory.
    fn names(&mut self, call: Call) -> Result<()> {
        match call {
            Call::Mkdir {
                parent,
                name,
                directory,
            } => {
                let parent = self.directory(parent)?;
                if self.directories.contains_key(&directory) {
                    return refused(format!("directory number {} is there", directory.0));
                }
                let node = self.system.mkdir(parent, &name)?;
                self.directories.insert(directory, node);
            }
            Call::Rmdir {
                parent,
                name,
                directory,
            } => {
                let parent = self.directory(parent)?;
                self.directory(directory)?;
                self.system.delete(parent, &name)?;
                self.directories.remove(&directory);
            }
            Call::Create { parent, name, file } => {
                let parent = self.directory(parent)?;
                let node = self.system.create(parent, &name)?;
                self.opened(file, node)?;
            }
            Call::Open { parent, name, file } => {
                let parent = self.directory(parent)?;
                let node = self.system.open(parent, &name)?;
                self.opened(file, node)?;
            }
            Call::Delete { parent, name } => {
                let parent = self.directory(parent)?;
                self.system.delete(parent, &name)?;
            }
            Call::Rename {
                parent,
                name,
                new_parent,
                new_name,
            } => {
                let parent = self.directory(parent)?;
                let new_parent = self.directory(new_parent)?;
                self.system.rename(parent, &name, new_parent, &new_name)?;
            }
            Call::Miss { parent, name } => {
                let parent = self.directory(parent)?;
                if self.system.exists(parent, &name)? {
                    return refused(format!("'{name}' is there"));
                }
            }
            Call::Stat { parent, name } => {
                let parent = self.directory(parent)?;
                self.system.stat(parent, &name)?;
            }
            Call::List { directory } => {
                let node = self.directory(directory)?;
                self.system.readdir(node)?;
            }
            _ => unreachable!("the other calls are made elsewhere"),
        }
        Ok(())
    }

    /// Calls that move bytes of files.
    fn transfer(&mut self, call: Call) -> Result<()> {
        match call {
            Call::Read { file, at, bytes } => {
                let node = self.file(file)?;
                self.counted.read_bytes += self.system.read(node, at, bytes);
            }
            Call::Write { file, at, bytes } => {
                let node = self.file(file)?;
                self.system.write(node, at, bytes)?;
                self.counted.written_bytes += bytes;
            }
            Call::ReadDirect { file, at, bytes } => {
                let node = self.file(file)?;
                self.counted.read_bytes += self.system.read_direct(node, at, bytes)?;
            }
            Call::WriteDirect { file, at, bytes } => {
                let node = self.file(file)?;
                self.system.write_direct(node, at, bytes)?;
                self.counted.written_bytes += bytes;
            }
            Call::Together { callers, accesses } => self.together(callers, &accesses)?,
            _ => unreachable!("the other calls are made elsewhere"),
        }
        Ok(())
    }

    fn together(&mut self, callers: u32, accesses: &[Access]) -> Result<()> {
        let mut flights = Vec::with_capacity(accesses.len());
        for access in accesses {
            let node = self.file(access.file)?;
            flights.push(Flight::new(node, access.at, access.bytes, access.kind));
        }
        let read = self.system.together(callers.max(1) as usize, flights)?;
        let updates = accesses
            .iter()
            .filter(|access| access.kind == AccessKind::Update);
        // It counts as one already.
        self.counted.calls += (accesses.len() as u64).saturating_sub(1);
        self.counted.read_bytes += read;
        self.counted.written_bytes += updates.map(|access| access.bytes).sum::<u64>();
        Ok(())
    }
}
