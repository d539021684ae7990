//! The next step: one that both sides take.

use block::sim::Random;

use super::model::{LINEAR, Layout, MIB, Model, Snapshot, State};
use super::step::{Cache, Head, Merge, Piece, Step};

/// Bytes of the noise that volumes are written with.
pub(super) const NOISE: u64 = 8 * MIB;
/// The volume that is always there, and has no snapshots.
pub(super) const ANCHOR: &str = "anchor";

const VOLUMES_MAX: usize = 5;
const SNAPSHOTS_MAX: usize = 7;
const MIB_MAX: u64 = 6;
/// New stores are mostly too small for all that may come.
const STORE_MIB_MAX: u64 = 4;

const LAYOUTS: [Layout; 6] = [
    LINEAR,
    LINEAR,
    layout("-i 2 -I 8k", 2),
    layout("-i 3 -I 64k", 3),
    layout("--type mirror -m 1 --mirrorlog disk -R 512k", 1),
    layout("--type mirror -m 1 --mirrorlog core -R 512k", 1),
];

const fn layout(options: &'static str, stripes: u64) -> Layout {
    Layout { options, stripes }
}

/// Chooses steps, each of which follows from the seed and the model.
pub(super) struct Chooser {
    pub(super) random: Random,
}

impl Chooser {
    /// The next step, and those that belong to it.
    pub(super) fn next(&mut self, model: &mut Model) -> Vec<Step> {
        loop {
            // Without volumes there is little to choose from.
            let kinds = if model.volumes.len() < 3 { 10 } else { 46 };
            let chosen = match 45 - self.random.below(kinds) {
                0..=5 => self.moves(model),
                6..=9 => self.merge(model),
                10..=11 => self.remove(model),
                12..=15 => self.resize(model),
                16..=17 => self.split(model),
                18 => self.join(model),
                19..=20 => self.rename(model),
                21..=22 => self.flush(model),
                23..=35 => self.write(model),
                36..=41 => self.snapshot(model),
                _ => self.create(model),
            };
            if let Some(steps) = chosen {
                return steps;
            }
        }
    }

    /// A merge that is under way when the disks are handed over.
    pub(super) fn cut(&mut self, model: &Model) -> Option<Step> {
        let snapshot = self.idle_snapshot(model)?;
        Some(Step::Merge {
            origin: model.snapshot(&snapshot).origin.clone(),
            snapshot,
            how: Merge::Cut,
        })
    }

    /// The first volume.
    pub(super) fn anchor(&mut self) -> Step {
        Step::Create {
            name: ANCHOR.to_owned(),
            layout: LINEAR,
            mib: 2,
            fill: self.fill(0, 2 * MIB),
        }
    }

    pub(super) fn one<T: Clone>(&mut self, of: &[T]) -> Option<T> {
        (!of.is_empty()).then(|| of[self.random.index(of.len())].clone())
    }

    /// Volumes that are no snapshots, and into which nothing is merged.
    pub(super) fn plain(&mut self, model: &Model) -> Option<String> {
        let names = model.volumes.iter().filter(|(name, volume)| {
            volume.snapshot.is_none() && *name != ANCHOR && !model.is_merged_into(name)
        });
        let names: Vec<String> = names.map(|(name, _)| name.clone()).collect();
        self.one(&names)
    }

    /// A snapshot that shows something, of an origin into which nothing is merged.
    fn idle_snapshot(&mut self, model: &Model) -> Option<String> {
        let mut names = model.readable();
        names.retain(|name| {
            let snapshot = model.volume(name).snapshot.as_ref();
            snapshot.is_some_and(|snapshot| !model.is_merged_into(&snapshot.origin))
        });
        self.one(&names)
    }

    fn piece(&mut self, size: u64, cache: Cache) -> Piece {
        let unit = match cache {
            Cache::Direct => 4096,
            Cache::Buffered => 1,
        };
        let longest = [64 << 10, 64 << 10, 256 << 10, size / 2][self.random.index(4)];
        let len = (1 + self.random.below(longest / unit)) * unit;
        let at = self.random.below((size - len) / unit) * unit;
        let from = self.random.below((NOISE - len) / 4096) * 4096;
        let noise = (!self.random.chance(1, 8)).then_some(from);
        Piece { at, len, noise }
    }

    fn fill(&mut self, at: u64, end: u64) -> Piece {
        let len = end - at;
        let from = self.random.below((NOISE - len) / (64 << 10) + 1) * (64 << 10);
        let noise = Some(from);
        Piece { at, len, noise }
    }

    pub(super) fn write(&mut self, model: &Model) -> Option<Vec<Step>> {
        let mut volumes = model.readable();
        if self.random.chance(1, 2) {
            // Most happens where snapshots must be kept.
            volumes.retain(|name| !model.snapshots_of(name).is_empty());
        }
        let volume = self.one(&volumes)?;
        let size = model.volume(&volume).bytes.len() as u64;
        let cache = [Cache::Direct, Cache::Buffered][self.random.index(2)];
        let count = 1 + self.random.below(6);
        let pieces: Vec<Piece> = (0..count).map(|_| self.piece(size, cache)).collect();
        // What is to be merged must not overflow meanwhile, nor fail a write of its own.
        let most: u64 = pieces.iter().map(|piece| piece.len / 4096 + 2).sum();
        let is_narrow = |snapshot: &Snapshot| {
            let used = snapshot.copied.len() as u64;
            snapshot.room(snapshot.store) < used + most
        };
        let itself = model.volume(&volume).snapshot.as_ref();
        let told = model.snapshots_of(&volume).into_iter();
        let mut told = told.map(|name| model.snapshot(&name));
        let is_narrow = itself.is_some_and(is_narrow)
            || told.any(|snapshot| snapshot.state == State::Told && is_narrow(snapshot));
        (!is_narrow).then(|| {
            vec![Step::Write {
                volume,
                pieces,
                cache,
            }]
        })
    }

    pub(super) fn flush(&mut self, model: &Model) -> Option<Vec<Step>> {
        let volume = self.one(&model.readable())?;
        Some(vec![Step::Flush { volume }])
    }

    fn create(&mut self, model: &mut Model) -> Option<Vec<Step>> {
        let volumes = model.volumes.values();
        let count = volumes.filter(|volume| volume.snapshot.is_none()).count();
        if count > VOLUMES_MAX {
            return None;
        }
        let layout = LAYOUTS[self.random.index(LAYOUTS.len())];
        let mib = (1 + self.random.below(MIB_MAX / layout.stripes)) * layout.stripes;
        Some(vec![Step::Create {
            name: model.name("v"),
            layout,
            mib,
            fill: self.fill(0, mib * MIB),
        }])
    }

    fn snapshot(&mut self, model: &mut Model) -> Option<Vec<Step>> {
        let origin = self.plain(model)?;
        let volumes = model.volumes.values();
        if volumes.filter(|volume| volume.snapshot.is_some()).count() >= SNAPSHOTS_MAX {
            return None;
        }
        Some(vec![Step::Snapshot {
            name: model.name("s"),
            origin,
            mib: 1 + self.random.below(STORE_MIB_MAX),
            chunk_kib: 4 << self.random.below(5),
        }])
    }

    fn merge(&mut self, model: &Model) -> Option<Vec<Step>> {
        let snapshot = self.idle_snapshot(model)?;
        let how = [Merge::Closed, Merge::Closed, Merge::Open][self.random.index(3)];
        let origin = model.snapshot(&snapshot).origin.clone();
        Some(vec![Step::Merge {
            snapshot,
            origin,
            how,
        }])
    }

    fn remove(&mut self, model: &Model) -> Option<Vec<Step>> {
        let mut names: Vec<String> = model.volumes.keys().cloned().collect();
        // Most of what is removed overflowed, or shows something; an origin goes with all it has.
        names.retain(|name| match &model.volume(name).snapshot {
            Some(snapshot) => !model.is_merged_into(&snapshot.origin),
            None => name != ANCHOR && !model.is_merged_into(name),
        });
        let name = self.one(&names)?;
        let is_origin = !model.snapshots_of(&name).is_empty();
        (!is_origin || self.random.chance(1, 4)).then(|| vec![Step::Remove { name }])
    }

    fn resize(&mut self, model: &Model) -> Option<Vec<Step>> {
        let names: Vec<String> = model.volumes.keys().cloned().collect();
        let name = self.one(&names)?;
        let volume = model.volume(&name);
        let (from, least) = match &volume.snapshot {
            Some(snapshot) if model.is_merged_into(&snapshot.origin) => return None,
            Some(snapshot) if snapshot.state == State::Full => return None,
            Some(snapshot) => (snapshot.store, snapshot.fill().0 + snapshot.chunk),
            None if model.is_merged_into(&name) => return None,
            None => {
                let size = volume.bytes.len() as u64;
                let is_origin = !model.snapshots_of(&name).is_empty();
                (size, if is_origin { size } else { MIB })
            }
        };
        let unit = volume.layout.stripes;
        let from_mib = from / MIB;
        let to_mib = (1 + self.random.below((MIB_MAX + 2) / unit)) * unit;
        if to_mib == from_mib || to_mib * MIB < least {
            return None;
        }
        let grows = to_mib > from_mib && volume.snapshot.is_none();
        let fill = grows.then(|| self.fill(from, to_mib * MIB));
        Some(vec![Step::Resize {
            name,
            from_mib,
            to_mib,
            fill,
        }])
    }

    fn split(&mut self, model: &Model) -> Option<Vec<Step>> {
        let name = self.idle_snapshot(model)?;
        let snapshot = model.snapshot(&name);
        let then = if self.random.chance(1, 2) {
            Step::Join {
                origin: snapshot.origin.clone(),
                store: name.clone(),
                chunk_kib: snapshot.chunk >> 10,
                head: Head::Kept(model.volume(&name).clone()),
            }
        } else {
            Step::Write {
                volume: name.clone(),
                pieces: vec![self.fill(0, snapshot.store)],
                cache: Cache::Direct,
            }
        };
        Some(vec![Step::Split { snapshot: name }, then])
    }

    fn join(&mut self, model: &Model) -> Option<Vec<Step>> {
        let (origin, store) = (self.plain(model)?, self.plain(model)?);
        // Neither side keeps a store in a mirror.
        let is_mirror = model.volume(&store).layout.options.contains("mirror");
        if origin == store || is_mirror || !model.snapshots_of(&store).is_empty() {
            return None;
        }
        Some(vec![Step::Join {
            origin,
            store,
            chunk_kib: 4 << self.random.below(5),
            head: Head::Zeroed,
        }])
    }

    fn rename(&mut self, model: &mut Model) -> Option<Vec<Step>> {
        let names = if self.random.chance(1, 2) {
            self.plain(model)
        } else {
            self.idle_snapshot(model)
        };
        let from = names?;
        let to = model.name("r");
        Some(vec![Step::Rename { from, to }])
    }
}
