//! An array that becomes another one while it is suspended: larger or smaller, with other legs, or
//! with the same legs in other places.
//!
//! Legs are known by their identities. What is known of one that stays goes with it; one that comes
//! is filled, one that goes is forgotten. What comes at the end was never in sync. Superblocks say
//! so with the next round, before anything else is written (`record.rs`); that it became smaller
//! they say at once, and before it rests again: what comes if it grows once more must not be
//! covered by what they say.
//!
//! Level, layout, chunks and regions stay. Where they do not, where a leg is back, or one that is
//! believed is to be filled, another array takes the place of this one and starts from what legs
//! say, as if nobody had used it meanwhile (`successor.rs`).
//!
//! Superblocks say how many legs there are, so a mirror of another number of legs has metadata of
//! zeros on all of them: it counts its events anew, as an array that nobody has used does. What it
//! knows of its regions it keeps.

use block::Info;

use super::array::{Action, Array};
use super::assembly::{Assembly, Away, LegState};
use super::bitmap::{Bitmap, Dirty};
use super::config::{ArrayConfig, ArrayLeg, FirstSync, LegContent};
use super::doubt::Doubt;
use super::geometry::Scheme;
use super::journal::Journal;
use super::regions::Regions;
use super::update::{all_legs, members, only};
use super::view::{LegSet, View};
use crate::{Error, Kind, Result};

/// The regions of an array before, and those that it has from now on, all clean.
struct Shapes {
    before: Dirty,
    after: Dirty,
}

impl Array {
    /// Whether it may become what `config` says, on `devices`, while it is used.
    pub(super) fn may_become(&self, config: &ArrayConfig, devices: &[Info]) -> Result<()> {
        config.validate(devices)?;
        let config = &self.without_left(config);
        let refuse = |what: &str| {
            let what = format!("{}: {what}; stop it first", config.name);
            Err(Error::new(Kind::Busy, what))
        };
        let (old, new) = (self.config.geometry(), config.geometry());
        let is_apart = matches!(new.scheme(), Scheme::Copies(copies) if copies.far > 1);
        if is_apart && old.leg_size() != new.leg_size() {
            return refuse("its size cannot change: far copies would be elsewhere");
        }
        if let Some(what) = self.lacks_room(config, devices) {
            return refuse(what);
        }
        let is_alike = ids(&self.config) == ids(config) && self.config.size == config.size;
        if self.record.is_none() && !is_alike {
            return refuse("it is only read");
        }
        let stays = config.legs.iter().enumerate().filter(|(_, leg)| {
            let before = self.place_of(leg.id);
            leg.data.is_some() && before.is_some_and(|before| self.whole_legs() & only(before) != 0)
        });
        let stays = stays.fold(0, |set, (leg, _)| set | only(leg));
        let lost = all_legs(new.legs()) & !stays;
        let needed = new.scheme().redundancy(new.legs());
        if self.record.is_some() && lost.count_ones() as usize > needed {
            return refuse("too many of its legs would go or be new");
        }
        let is_new = |leg: &ArrayLeg| leg.data.is_some() && self.place_of(leg.id).is_none();
        let is_parity = matches!(new.scheme(), Scheme::Parity(..));
        let is_in_doubt = self.view.as_ref().is_some_and(|view| {
            let assembly = view.assembly();
            assembly.dirty != Doubt::Nowhere || *view.raw() != Doubt::Nowhere
        });
        let goes = |leg: usize| {
            !config
                .legs
                .iter()
                .any(|new| new.id == self.config.legs[leg].id)
        };
        let is_whole_leg_gone = members(self.whole_legs()).any(goes);
        // What waits for a leg that is away is made up from the others anyway.
        let is_made_up = self.synced().1 == Action::Waiting && !is_whole_leg_gone;
        if is_parity && is_in_doubt && !is_made_up && config.legs.iter().any(is_new) {
            return refuse("a new leg would be made up from parity that is not in sync yet");
        }
        if !is_parity && is_in_doubt && is_whole_leg_gone {
            return refuse("a leg would go that others may not agree with yet");
        }
        let lacks = self
            .view
            .as_ref()
            .is_some_and(|view| lacks(view.assembly()));
        if self.record.is_some() && lacks && ids(&self.config) != ids(config) {
            return refuse("a leg lacks what others have, and has not got it yet");
        }
        Ok(())
    }

    /// The same without the legs that a reshape has taken away.
    pub(super) fn without_left(&self, config: &ArrayConfig) -> ArrayConfig {
        let mut config = config.clone();
        self.drop_left(&mut config);
        config
    }

    fn drop_left(&self, config: &mut ArrayConfig) {
        if self.reshape().is_none() && self.config.geometry().legs() == config.geometry().legs() {
            config.leave();
        }
    }

    /// What it is in the middle of, or has no room on the metadata devices that it would have.
    fn lacks_room(&self, config: &ArrayConfig, devices: &[Info]) -> Option<&'static str> {
        let is = |one: &ArrayConfig| (one.described, one.size, one.legs.clone());
        if self.reshape().is_some() && is(&self.config) != is(config) {
            return Some("it is being reshaped, and cannot change before that is over");
        }
        let metas = config.legs.iter().filter_map(|leg| leg.meta);
        let room = metas.map(|device| devices[device].size).min();
        let journal = self.journal.as_ref().map_or(0, Journal::end);
        if room.is_some_and(|room| room < journal) {
            return Some("the metadata of a new leg are smaller than the others'");
        }
        let is_short = room.is_none_or(|room| room < config.record_len());
        (self.record.is_some() && is_short)
            .then_some("its bitmap does not fit beside its superblock")
    }

    fn place_of(&self, id: u64) -> Option<usize> {
        self.config.legs.iter().position(|leg| leg.id == id)
    }

    /// Becomes what `config` says, which it may.
    pub(super) fn reload(&mut self, mut config: ArrayConfig) {
        self.drop_left(&mut config);
        let view = self.view.as_ref().expect("it has started");
        let (before, raw) = (view.assembly().clone(), view.raw().clone());
        let places: Vec<Option<usize>> = config
            .legs
            .iter()
            .map(|leg| self.place_of(leg.id))
            .collect();
        let old = std::mem::replace(&mut self.config, config);
        let errors = places
            .iter()
            .map(|place| place.map_or(0, |place| self.errors[place]));
        self.errors = errors.collect();
        self.keep_space(&old);
        if self.record.is_none() {
            return self.show(View::new(&self.config, before));
        }
        let geometry = *self.config.geometry();
        let shapes = Shapes {
            before: self.regions.marked().emptied(),
            after: Dirty::clean(self.config.described.region_size, geometry.sync_size())
                .expect("it was foreseen"),
        };
        let mut assembly = self.carried(&before, &places, &shapes);
        if old.geometry().legs() != geometry.legs() {
            // So superblocks are new, which nobody has used.
            (assembly.events, assembly.events_cleared) = (0, 0);
        }
        let mut raw = shapes.carry(&raw);
        self.grow(&old, &mut assembly, &mut raw, &shapes);
        let unsaid = places
            .iter()
            .enumerate()
            .filter(|(_, place)| place.is_some_and(|place| self.unsaid & only(place) != 0));
        self.unsaid = unsaid.fold(0, |set: LegSet, (leg, _)| set | only(leg));
        let size = geometry.sync_size();
        let marked = self
            .regions
            .marked()
            .resized(size)
            .expect("it was foreseen");
        let mut said = marked;
        for doubt in [&assembly.dirty, &raw] {
            let is_alike = said.merge(&doubt.regions(&shapes.after));
            assert!(is_alike, "they are of one shape");
        }
        let superblock = self.superblock(&assembly);
        let bitmap = Bitmap {
            events_cleared: assembly.events_cleared,
            ..Bitmap::new(size, superblock.events, said.clone())
        };
        let record = self.record.as_mut().expect("it is written");
        record.renew(superblock, &bitmap);
        if geometry.sync_size() < old.geometry().sync_size() {
            // If it grows again, what comes then is new.
            record.claim();
        }
        let has_room = |journal: &mut Journal| journal.become_of(&self.config);
        if !self.journal.as_mut().is_none_or(has_room) {
            self.journal = None;
            record.set_mark(0);
        }
        self.regions = Regions::new(said);
        self.mending.forget();
        let mut view = View::new(&self.config, assembly);
        view.come_alive(shapes.after.region(), raw);
        self.show(view);
    }

    /// What is behind the data of a leg, or in front of them, stays as it is.
    fn keep_space(&mut self, old: &ArrayConfig) {
        self.room += self.config.geometry().leg_size();
        self.room -= old.geometry().leg_size();
    }

    /// What is believed of legs that stay, and of new ones.
    fn carried(&self, before: &Assembly, places: &[Option<usize>], shapes: &Shapes) -> Assembly {
        let events = self
            .record
            .as_ref()
            .map_or(0, |record| record.superblock.events);
        let legs = self.config.legs.iter().zip(places);
        let states = legs.clone().map(|(leg, place)| match (leg.data, place) {
            (None, _) => LegState::Missing,
            (Some(_), Some(place)) => match &before.legs[*place] {
                LegState::Missing => {
                    LegState::Untrusted("it came back while others were used".into())
                }
                state => state.clone(),
            },
            (Some(_), None) if leg.content == LegContent::Rebuild => LegState::Filling,
            (Some(_), None) => LegState::Untrusted("nobody knows what it holds".into()),
        });
        let missed = legs.map(|(_, place)| match place {
            Some(place) => shapes.carry(&before.missed[*place]),
            None => Doubt::in_regions(shapes.after.filled()),
        });
        Assembly {
            legs: states.collect(),
            missed: missed.collect(),
            away: vec![Away::No; places.len()],
            dirty: shapes.carry(&before.dirty),
            events,
            ..before.clone()
        }
    }

    /// What comes at the end was never in sync, and no leg that is being filled has it.
    fn grow(&self, old: &ArrayConfig, assembly: &mut Assembly, raw: &mut Doubt, shapes: &Shapes) {
        let (before, after) = (
            old.geometry().sync_size(),
            self.config.geometry().sync_size(),
        );
        if after <= before {
            return;
        }
        let region = shapes.after.region();
        if !before.is_multiple_of(region) && self.config.first == FirstSync::Due {
            assembly.dirty.add(before / region, &shapes.after);
        }
        for number in before.div_ceil(region)..shapes.after.regions() {
            if self.config.first == FirstSync::Due {
                raw.add(number, &shapes.after);
            }
            for (state, missed) in assembly.legs.iter().zip(&mut assembly.missed) {
                if *state == LegState::Filling {
                    missed.add(number, &shapes.after);
                }
            }
        }
    }
}

/// The identities of the legs that are there.
fn ids(config: &ArrayConfig) -> Vec<u64> {
    let legs = config.legs.iter().filter(|leg| leg.data.is_some());
    legs.map(|leg| leg.id).collect()
}

/// Whether a leg that holds what it should lacks something all the same.
fn lacks(assembly: &Assembly) -> bool {
    let legs = assembly.legs.iter().zip(&assembly.missed);
    let mut whole = legs.filter(|(state, _)| matches!(state, LegState::Valid { .. }));
    whole.any(|(_, missed)| *missed != Doubt::Nowhere)
}

impl Shapes {
    /// The same of the regions that are there from now on.
    fn carry(&self, doubt: &Doubt) -> Doubt {
        let size = self.after.region().saturating_mul(self.after.regions());
        let before = doubt.regions(&self.before);
        let after = before.resized(size).expect("it was foreseen");
        Doubt::in_regions(after)
    }
}
