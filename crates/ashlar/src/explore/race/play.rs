//! Running two commands under a script, on recorded disks and with real locks.

use std::cell::RefCell;
use std::fs::OpenOptions;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use block::Device;
use block::file::Claim;
use block::sim::{Image, Log, Recorder};

use super::super::blocks::Blocks;
use super::super::command::{World, name, named};
use super::super::view::devices;
use super::pairs::Pair;
use super::stage::{Actor, Script, Stage};
use crate::apply::{Disks, Environment, Opened, Outcome};
use crate::commit::{FlushPolicy, Trust};
use crate::host::{Config, Host, Sysfs};
use crate::lock::{FileId, with_turns};
use crate::scan::{FoundDevice, Scan, look_twice, scan_devices};
use crate::{Error, Kind, Result};

/// From where the UUIDs of each command are counted.
pub(super) const UUIDS: [u64; 2] = [600_000, 700_000];

/// A mistake that is made on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeededFault {
    /// No byte of any disk is locked.
    NoByteLocks,
    /// Disks that are no physical volumes afterwards, or become some, are not locked.
    OwnUnlocked,
    /// Disks are not read again under the locks.
    NotReadAgain,
    /// Besides, versions are not compared with those that are there.
    NotCompared,
    /// The plan is made from what was read before stock's locks were taken, and is not held
    /// against the disks afterwards.
    DecidedBefore,
}

impl SeededFault {
    /// All, with their names.
    pub const ALL: [(&'static str, Self); 5] = [
        ("no-byte-locks", Self::NoByteLocks),
        ("own-unlocked", Self::OwnUnlocked),
        ("not-read-again", Self::NotReadAgain),
        ("not-compared", Self::NotCompared),
        ("decided-before", Self::DecidedBefore),
    ];

    fn flush_policy(self) -> FlushPolicy {
        match self {
            Self::NoByteLocks | Self::OwnUnlocked => FlushPolicy::Strict,
            Self::NotReadAgain | Self::DecidedBefore => FlushPolicy::Trusting(Trust::Plan),
            Self::NotCompared => FlushPolicy::Trusting(Trust::PlanAndVersion),
        }
    }

    /// The locks under which it shows.
    pub(super) fn locks(self) -> Locks {
        match self {
            Self::DecidedBefore => Locks::All,
            _ => Locks::Bytes,
        }
    }
}

/// Which locks are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Locks {
    /// Stock's and the bytes, as root does.
    All,
    /// The bytes: people who may not write stock's directory.
    Bytes,
}

/// Where two commands run.
pub(super) struct Bench<'b> {
    pub(super) pair: &'b Pair,
    pub(super) before: &'b [Image],
    pub(super) locks: Locks,
    pub(super) fault: Option<SeededFault>,
    place: Place,
}

/// What came of two commands.
pub(super) struct Story {
    pub(super) results: [Result<Outcome>; 2],
    /// Those that succeeded, in the order in which they said so: one mark of the log each.
    pub(super) succeeded: Vec<usize>,
    pub(super) log: Log,
    pub(super) steps: u64,
    /// Both waited for a lock of the other.
    pub(super) is_stuck: bool,
}

impl<'b> Bench<'b> {
    pub(super) fn new(
        pair: &'b Pair,
        before: &'b [Image],
        locks: Locks,
        fault: Option<SeededFault>,
    ) -> Result<Self> {
        Ok(Self {
            pair,
            before,
            locks,
            fault,
            place: Place::new(before.len())?,
        })
    }

    /// Runs both commands.
    pub(super) fn play(&self, script: Script) -> Result<Story> {
        let recorder = Recorder::default();
        let record = |device| recorder.record(device).map_err(unusable);
        let recorded = devices(self.before, Blocks::Small).into_iter().map(record);
        let recorded: Vec<Arc<dyn Device>> = recorded.collect::<Result<_>>()?;
        let host = self.place.host()?;
        let succeeded = Mutex::new(Vec::new());
        let stage = Stage::new(script);
        let act = |number: usize| {
            Actor::play(&stage, number, |actor| {
                let result = self.act(actor, &host, &recorded);
                if result.is_ok() {
                    recorder.mark();
                    let mut list = succeeded.lock().unwrap_or_else(PoisonError::into_inner);
                    list.push(number);
                }
                result
            })
        };
        let results = thread::scope(|scope| {
            let other = scope.spawn(|| act(1));
            let first = act(0);
            [first, other.join().expect("commands do not panic")]
        });
        let (steps, is_stuck) = stage.result();
        Ok(Story {
            results,
            succeeded: succeeded
                .into_inner()
                .unwrap_or_else(PoisonError::into_inner),
            log: recorder.log(),
            steps,
            is_stuck,
        })
    }

    fn act(&self, actor: &Actor, host: &Host, recorded: &[Arc<dyn Device>]) -> Result<Outcome> {
        let devices: Vec<_> = recorded.iter().map(|device| actor.paced(device)).collect();
        let disks = RaceDisks {
            devices: named(&devices),
            files: &self.place.files,
            fault: self.fault,
            seen: RefCell::default(),
        };
        let number = actor.number();
        with_turns(Rc::new(actor.clone()), || {
            if self.fault == Some(SeededFault::DecidedBefore) {
                disks.seen.replace(Some(disks.scan(host)?));
            }
            self.pair.commands[number].run_in(&World {
                host,
                devices: &devices,
                disks: &disks,
                flush_policy: self
                    .fault
                    .map_or(FlushPolicy::Strict, SeededFault::flush_policy),
                environment: match self.locks {
                    Locks::All => Environment::Locks,
                    Locks::Bytes => Environment::Nothing,
                },
                first: UUIDS[number],
            })
        })
    }
}

/// The disks as one of the commands opens them.
struct RaceDisks<'d> {
    devices: Vec<(String, Arc<dyn Device>)>,
    files: &'d [PathBuf],
    fault: Option<SeededFault>,
    /// What was read before it was asked for.
    seen: RefCell<Option<Scan>>,
}

impl Disks for RaceDisks<'_> {
    fn scan(&self, host: &Host) -> Result<Scan> {
        let seen = self.seen.take();
        seen.map_or_else(|| look_twice(|| Ok(scan_devices(host, &self.devices))), Ok)
    }

    fn open(&self, found: &FoundDevice, claim: Claim) -> Result<Opened> {
        let mut disks = self.devices.iter();
        let number = disks.position(|(name, _)| *name == found.name);
        let number = number.expect("it was found");
        let is_locked = match self.fault {
            Some(SeededFault::NoByteLocks) => false,
            Some(SeededFault::OwnUnlocked) => claim == Claim::Shared,
            _ => true,
        };
        let files = is_locked.then(|| open_file(&self.files[number]));
        Ok(Opened {
            device: Arc::clone(&self.devices[number].1),
            files: files.into_iter().collect::<Result<_>>()?,
        })
    }
}

/// A directory with the files on which locks are taken. It goes when this is dropped.
struct Place {
    path: PathBuf,
    /// For each disk, in the order in which they are locked.
    files: Vec<PathBuf>,
}

impl Place {
    fn new(disks: usize) -> Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let directory = format!("ashlar-races-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(directory);
        std::fs::create_dir_all(&path).map_err(unusable)?;
        let mut place = Self {
            files: (0..disks).map(|disk| path.join(name(disk))).collect(),
            path,
        };
        for file in &place.files {
            open_file(file)?;
        }
        // Otherwise the order, and with it the history of a script, would be the file system's.
        place.files.sort_by_key(|file| FileId::at(file).ok());
        Ok(place)
    }

    /// A machine that has nothing but a directory for locks.
    fn host(&self) -> Result<Host> {
        let mut config = Config::empty();
        let path = self.path.join("locks");
        config.add_text(&format!(
            "global/locking_dir={:?}",
            path.display().to_string()
        ))?;
        Ok(Host {
            config,
            sysfs: Sysfs::at("/nonexistent"),
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

fn open_file(path: &PathBuf) -> Result<OwnedFd> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options.open(path).map(OwnedFd::from).map_err(unusable)
}

pub(super) fn unusable(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::new(Kind::Device, "two commands cannot be simulated").because(error)
}
