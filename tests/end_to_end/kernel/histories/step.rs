//! The steps of a history, as either side takes them.

use std::fmt;

use super::model::{Layout, MIB, Model, State, Volume};
use super::moves::{Ending, Move};

/// The group.
pub(super) const VG: &str = "hand";

/// One step.
#[derive(Debug, Clone)]
pub(super) enum Step {
    Write {
        volume: String,
        pieces: Vec<Piece>,
        cache: Cache,
    },
    Flush {
        volume: String,
    },
    /// A new volume is filled at once: what it holds is somebody else's.
    Create {
        name: String,
        layout: Layout,
        mib: u64,
        fill: Piece,
    },
    Snapshot {
        origin: String,
        name: String,
        mib: u64,
        chunk_kib: u64,
    },
    Merge {
        snapshot: String,
        origin: String,
        how: Merge,
    },
    Remove {
        name: String,
    },
    /// What is new of a volume is filled.
    Resize {
        name: String,
        from_mib: u64,
        to_mib: u64,
        fill: Option<Piece>,
    },
    /// The store becomes a volume.
    Split {
        snapshot: String,
    },
    /// A volume becomes a store: emptied, or as it was before it was split off.
    Join {
        origin: String,
        store: String,
        chunk_kib: u64,
        head: Head,
    },
    Rename {
        from: String,
        to: String,
    },
    /// Extents of volumes get another place.
    Move(Move),
    /// What moves is moved, or goes no further.
    Settle(Ending),
}

/// Bytes of the noise, or zeros.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece {
    pub(super) at: u64,
    pub(super) len: u64,
    /// Where they begin in the noise.
    pub(super) noise: Option<u64>,
}

/// How a kernel is asked to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cache {
    /// Past its cache.
    Direct,
    Buffered,
}

/// How a merge begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Merge {
    /// Nobody has the origin open.
    Closed,
    /// Somebody has.
    Open,
    /// And the disks are handed over before it can be done.
    Cut,
}

/// What becomes of what a store holds.
#[derive(Debug, Clone)]
pub(super) enum Head {
    Zeroed,
    /// It is this snapshot again.
    Kept(Volume),
}

impl Piece {
    pub(super) fn bytes(&self, noise: &[u8]) -> Vec<u8> {
        match self.noise {
            Some(from) => noise[from as usize..(from + self.len) as usize].to_vec(),
            None => vec![0; self.len as usize],
        }
    }
}

impl Step {
    /// The command of LVM that it is, but for writes.
    pub(super) fn command(&self) -> Option<String> {
        Some(match self {
            Self::Write { .. } | Self::Flush { .. } | Self::Move(_) | Self::Settle(_) => {
                return None;
            }
            Self::Create {
                name, layout, mib, ..
            } => {
                let options = layout.options;
                format!("lvcreate -y -W n {options} -L {mib}m -n {name} {VG}")
            }
            Self::Snapshot {
                origin,
                name,
                mib,
                chunk_kib,
            } => format!("lvcreate -y -s -c {chunk_kib}k -L {mib}m -n {name} {VG}/{origin}"),
            Self::Merge { snapshot, .. } => format!("lvconvert -y --merge {VG}/{snapshot}"),
            Self::Remove { name } => format!("lvremove -y -f {VG}/{name}"),
            Self::Resize {
                name,
                from_mib,
                to_mib,
                ..
            } => {
                let extends = to_mib > from_mib;
                let command = if extends { "lvextend" } else { "lvreduce -f" };
                format!("{command} -y -L {to_mib}m {VG}/{name}")
            }
            Self::Split { snapshot } => format!("lvconvert -y --splitsnapshot {VG}/{snapshot}"),
            Self::Join {
                origin,
                store,
                chunk_kib,
                head,
            } => {
                let zero = match head {
                    Head::Zeroed => "y",
                    Head::Kept(_) => "n",
                };
                format!("lvconvert -y -s -Z {zero} -c {chunk_kib}k {VG}/{origin} {VG}/{store}")
            }
            Self::Rename { from, to } => format!("lvrename {VG} {from} {to}"),
        })
    }

    /// What it writes, and where.
    pub(super) fn writes(&self) -> Option<(&str, &[Piece], Cache)> {
        match self {
            Self::Write {
                volume,
                pieces,
                cache,
            } => Some((volume, pieces, *cache)),
            Self::Create { name, fill, .. }
            | Self::Resize {
                name,
                fill: Some(fill),
                ..
            } => Some((name, std::slice::from_ref(fill), Cache::Direct)),
            _ => None,
        }
    }

    /// The volume whose size the step decides, and only its side knows.
    pub(super) fn sized(&self, model: &Model) -> Option<String> {
        match self {
            Self::Snapshot { name, .. } => Some(name.clone()),
            Self::Resize { name, .. } if model.volume(name).snapshot.is_some() => {
                Some(name.clone())
            }
            _ => None,
        }
    }

    /// Applies it to the model. `size` is that of a store, as its side has it.
    pub(super) fn apply(&self, model: &mut Model, noise: &[u8], size: Option<u64>) {
        match self {
            Self::Write { .. } | Self::Flush { .. } | Self::Move(_) | Self::Settle(_) => {}
            Self::Create {
                name, mib, layout, ..
            } => {
                let volume = Volume {
                    bytes: vec![0; (mib * MIB) as usize],
                    layout: *layout,
                    snapshot: None,
                };
                model.volumes.insert(name.clone(), volume);
            }
            Self::Snapshot {
                origin,
                name,
                chunk_kib,
                ..
            } => {
                let store = size.expect("its store has a size");
                model.take(origin, name, chunk_kib << 10, store);
            }
            Self::Merge { snapshot, .. } => model.snapshot_mut(snapshot).state = State::Told,
            Self::Remove { name } => model.remove(name),
            Self::Resize { name, to_mib, .. } => {
                let volume = model.volumes.get_mut(name).expect("it is there");
                match &mut volume.snapshot {
                    Some(snapshot) => snapshot.store = size.expect("its store has a size"),
                    None => volume.bytes.resize((to_mib * MIB) as usize, 0),
                }
            }
            Self::Split { snapshot } => {
                let store = model.snapshot(snapshot).store;
                let volume = model.volumes.get_mut(snapshot).expect("it is there");
                volume.snapshot = None;
                // Nobody asks what a store looks like: it is joined again, or written.
                volume.bytes = vec![0; store as usize];
            }
            Self::Join {
                origin,
                store,
                chunk_kib,
                head,
            } => match head {
                Head::Zeroed => {
                    let size = model.volume(store).bytes.len() as u64;
                    model.take(origin, store, chunk_kib << 10, size);
                }
                Head::Kept(snapshot) => {
                    let mut snapshot = snapshot.clone();
                    // The origin may have grown before: the snapshot now shows the rest as well.
                    let rest = &model.volume(origin).bytes[snapshot.bytes.len()..];
                    snapshot.bytes.extend(rest);
                    model.volumes.insert(store.clone(), snapshot);
                }
            },
            Self::Rename { from, to } => model.rename(from, to),
        }
        if let Some((volume, pieces, _)) = self.writes() {
            for piece in pieces {
                model.write(volume, piece.at, &piece.bytes(noise));
            }
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(command) = self.command() {
            write!(f, "{command}")?;
        }
        match self {
            Self::Write { volume, cache, .. } => write!(f, "write {volume} {cache:?}")?,
            Self::Flush { volume } => write!(f, "flush {volume}")?,
            Self::Merge { how, .. } => write!(f, " {how:?}")?,
            Self::Move(step) => write!(f, "{step}")?,
            Self::Settle(ending) => write!(f, "settle: {ending:?}")?,
            _ => {}
        }
        let pieces = self.writes().map_or(&[][..], |(_, pieces, _)| pieces);
        for Piece { at, len, noise } in pieces {
            let from = noise.map_or("zeros".to_owned(), |from| from.to_string());
            write!(f, " {at}+{len}={from}")?;
        }
        Ok(())
    }
}
