//! What is known of the RAID volumes of a group that nobody keeps for us: their superblocks.
//!
//! They are read when a column first asks, an array at a time, and once: most reports show few of
//! the arrays, and some columns need none.
//!
//! Of an array that is not active a report says what deviates: what is not in sync, not believed,
//! in the middle of something. Where nothing does it says as little as stock, which asks a running
//! array or nobody. Of one that is only read here it says all, as stock does of active ones.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use ashlar::arrays::{ArrayReader, FoundArray, ImageState, Task};
use ashlar::scan::Scan;
use lvm2::model::{LvId, Part, RaidFamily, SegmentType};

use super::live::{Active, State};
use super::view::Group;

/// The arrays of one group.
#[derive(Debug)]
pub(crate) struct Arrays {
    scan: Arc<Scan>,
    /// Which group of the scan.
    group: usize,
    reader: RefCell<ArrayReader>,
    known: RefCell<HashMap<LvId, Rc<Known>>>,
}

/// What the superblocks of an array say.
#[derive(Debug)]
pub(crate) enum Known {
    /// It keeps none, or is new.
    Nothing,
    /// Nothing that makes an array.
    Nonsense,
    /// This.
    Found(FoundArray),
}

/// What a volume is to an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// It is one.
    Whole,
    /// The image with this number, or its metadata.
    Image(usize),
}

/// What is wrong with an array, or a part of it, that is all there; what counts most first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// Nobody knows: its superblocks make no array.
    Unknown,
    /// An image is not believed.
    Distrusted,
    /// It becomes another one.
    Reshaping,
}

impl Arrays {
    /// Those of the group with this place in the scan.
    pub(super) fn of(scan: &Arc<Scan>, group: usize) -> Self {
        assert!(group < scan.groups.len(), "the scan found the group");
        Self {
            scan: Arc::clone(scan),
            group,
            reader: RefCell::default(),
            known: RefCell::default(),
        }
    }

    /// What an array's superblocks say.
    fn known(&self, lv: LvId) -> Rc<Known> {
        if let Some(known) = self.known.borrow().get(&lv) {
            return Rc::clone(known);
        }
        let group = &self.scan.groups[self.group];
        let read = self.reader.borrow_mut().read(&self.scan, group, lv);
        let known = Rc::new(match read {
            Ok(Some(found)) => Known::Found(found),
            Ok(None) => Known::Nothing,
            Err(_) => Known::Nonsense,
        });
        self.known.borrow_mut().insert(lv, Rc::clone(&known));
        known
    }
}

impl Group {
    /// The array that a volume is, or is a part of, and what it is to it.
    pub(crate) fn array_of(&self, lv: LvId) -> Option<(LvId, Role)> {
        if matches!(self.vg.lv(lv).first(), Some(SegmentType::Raid(_))) {
            return Some((lv, Role::Whole));
        }
        let used = self.relations.component_use(lv)?;
        match used.part {
            Part::RaidImage(image) | Part::RaidMeta(image) => Some((used.by, Role::Image(image))),
            _ => None,
        }
    }

    /// What the superblocks of the array say that a volume is, or is a part of.
    pub(crate) fn superblocks_of(&self, lv: LvId) -> Option<(Rc<Known>, Role)> {
        let (array, role) = self.array_of(lv)?;
        Some((self.arrays.known(array), role))
    }

    /// What is wrong with an array, or a part of it; nothing where it is no array.
    pub(crate) fn trouble(&self, lv: LvId) -> Option<Trouble> {
        if self.state(lv).active().is_some_and(Active::is_told_of) {
            // Who serves it knows better.
            return None;
        }
        let (known, role) = self.superblocks_of(lv)?;
        match (&*known, role) {
            (Known::Nothing, _) | (Known::Nonsense, Role::Image(_)) => None,
            (Known::Nonsense, Role::Whole) => Some(Trouble::Unknown),
            (Known::Found(found), Role::Whole) if found.distrusts() => Some(Trouble::Distrusted),
            (Known::Found(found), Role::Whole) => {
                matches!(found.task, Task::Reshape(_)).then_some(Trouble::Reshaping)
            }
            (Known::Found(found), Role::Image(image)) => {
                let state = found.images.get(image);
                let is_distrusted = matches!(state, Some(ImageState::Distrusted(_)));
                is_distrusted.then_some(Trouble::Distrusted)
            }
        }
    }

    /// Whether a volume is a part of RAID 0.
    fn is_striped(&self, lv: LvId) -> bool {
        let array = self.array_of(lv).map(|(array, _)| self.vg.lv(array));
        let kind = array.and_then(|array| array.first());
        matches!(kind, Some(SegmentType::Raid(raid)) if raid.level.family() == RaidFamily::Raid0)
    }

    /// Whether a volume is an image of an array that is active, and holds what that holds.
    pub(crate) fn is_synced_image(&self, lv: LvId) -> bool {
        let State::Active(active) = self.state(lv) else {
            return false;
        };
        if active.is_told_of() {
            return active.is_synced_image();
        }
        let used = self.relations.component_use(lv).map(|used| used.part);
        let (Some(Part::RaidImage(image)), Some((known, _))) = (used, self.superblocks_of(lv))
        else {
            return false;
        };
        match &*known {
            Known::Found(found) => found.images.get(image) == Some(&ImageState::InSync),
            // RAID 0 has nothing to be in sync with.
            Known::Nothing => self.is_striped(lv),
            Known::Nonsense => false,
        }
    }
}
