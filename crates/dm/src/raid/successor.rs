//! An array that becomes another one by a start, while requests are held.
//!
//! ```text
//!   suspended ─▸ the commit is durable ─▸ another one starts, from what legs say ─▸ it goes on
//!                                      ╲─▸ a kill or a cut: so does whoever uses it next
//! ```
//!
//! Before that commit nothing is written that would have to be taken back, and behind it there is
//! one way only. What was found out of the array when the change was planned must still be so when
//! it is suspended, or it is refused: a leg may have failed, or be doubted, in between.

use block::Info;

use super::array::Array;
use super::assembly::LegState;
use super::config::{ArrayConfig, LegContent};
use super::geometry::{Geometry, Scheme};
use super::update::only;
use crate::{Error, Kind, Result};

/// Why an array does not become another one by [`Array::reload`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reason {
    /// Legs hold the same otherwise, or elsewhere, or what is believed is to be made anew.
    Other,
    /// A leg is back, which superblocks know.
    Back,
}

impl Array {
    /// Whether it becomes what `config` says, on `devices`, by a start only.
    pub(super) fn needs_start(&self, config: &ArrayConfig, devices: &[Info]) -> bool {
        self.reason(config, devices).is_some()
    }

    fn reason(&self, config: &ArrayConfig, devices: &[Info]) -> Option<Reason> {
        let config = &self.without_left(config);
        let (old, new) = (self.config.geometry(), config.geometry());
        let is_mirror = new.scheme() == Scheme::Mirror;
        let shape = |geometry: &Geometry| {
            let chunk = if is_mirror { 0 } else { geometry.chunk() };
            (geometry.scheme(), chunk)
        };
        if shape(old) != shape(new)
            || (old.legs() != new.legs() && !is_mirror)
            || self.config.described.region_size != config.described.region_size
        {
            return Some(Reason::Other);
        }
        if !self.is_alike(config) {
            return None;
        }
        let whole = self.whole_legs();
        let is_to_be_filled =
            |leg: usize| config.legs[leg].content == LegContent::Rebuild && whole & only(leg) != 0;
        let is_back =
            |leg: usize| self.config.legs[leg].data.is_none() && config.legs[leg].data.is_some();
        let mut legs = 0..config.legs.len();
        if self.room != config.room(devices) || legs.clone().any(is_to_be_filled) {
            return Some(Reason::Other);
        }
        legs.any(is_back).then_some(Reason::Back)
    }

    /// Whether this describes the same array, of the same legs.
    fn is_alike(&self, config: &ArrayConfig) -> bool {
        let ids = |config: &ArrayConfig| -> Vec<u64> {
            let legs = config.legs.iter();
            legs.map(|leg| leg.id).collect()
        };
        let what = |config: &ArrayConfig| (config.described, config.size);
        what(&self.config) == what(config) && ids(&self.config) == ids(config)
    }

    /// Whether it may become what `config` says, on `devices`, by a start.
    pub(super) fn may_restart(&self, config: &ArrayConfig, devices: &[Info]) -> Result<()> {
        config.validate(devices)?;
        let refuse = |what: &str| {
            let what = format!("{}: {what}", config.name);
            Err(Error::new(Kind::Busy, what))
        };
        let metas = config.legs.iter().filter_map(|leg| leg.meta);
        let room = metas.map(|device| devices[device].size).min();
        if self.record.is_some() && room.is_none_or(|room| room < config.record_len()) {
            return refuse("its bitmap does not fit beside its superblock; stop it first");
        }
        if self.reason(config, devices) == Some(Reason::Back) {
            // Whatever it is doing: it is opened like this, too.
            return Ok(());
        }
        if self.record.is_none() {
            return refuse("it is only read; stop it first");
        }
        if self.reshape().is_some() {
            return refuse("it is being reshaped, and cannot change before that is over");
        }
        let view = self.view.as_ref().expect("it has started");
        let is_whole = |leg: &LegState| *leg == LegState::Valid { until: u64::MAX };
        let is_settled = view.assembly().legs.iter().all(is_whole) && !view.is_doubtful();
        if !is_settled {
            return refuse("it is not in sync; try again when it is");
        }
        Ok(())
    }
}
