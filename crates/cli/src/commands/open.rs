//! Opening the logical volume that an operand names, for commands that read, copy or serve it.

use std::sync::Arc;

use ashlar::activate::{Activator, MissingPolicy, Options};
use ashlar::apply::HostDisks;
use ashlar::live::LiveGroup;
use ashlar::scan;
use dm::table::Layout;
use dm::volume::{Access, Volume};
use lvm2::Uuid;

use super::Session;
use super::session::Disks;
use crate::args::{Arguments, Error, Flag, flags};
use crate::output::harmless;

/// `--activationmode`
pub(super) const ACTIVATION_MODE: Flag = Flag::value(
    "activationmode",
    "partial|degraded|complete",
    "What may be missing: nothing (complete), what redundancy makes up for (degraded, the \
     default), or anything (partial: what is missing fails when it is read).",
);

/// The flags of every command that opens volumes.
pub(super) const FLAGS: &[Flag] = &[ACTIVATION_MODE, flags::PARTIAL];

/// A volume that was opened.
pub(super) struct Opened {
    /// The device.
    pub(super) volume: Volume,
    /// What it is made of.
    pub(super) layout: Arc<Layout>,
    /// Its name: `vg0/data`.
    pub(super) name: String,
}

/// Opens volumes of `disks`, as the arguments allow. What is missing of one is told.
pub(super) struct Opener<'a> {
    disks: &'a Disks,
    activator: Activator<'a>,
    options: Options,
}

impl<'a> Opener<'a> {
    /// One for `disks`.
    pub(super) fn new(
        disks: &'a Disks,
        arguments: &Arguments,
        access: Access,
    ) -> Result<Self, Error> {
        Ok(Self {
            disks,
            activator: Activator::new(&disks.scan, &disks.host),
            options: Self::options(arguments, access)?,
        })
    }

    /// Reads go through the page cache: for a volume that is read once, from its first to its last
    /// byte, much of which may be there already.
    pub(super) fn through_page_cache(mut self) -> Self {
        self.activator = self.activator.through_page_cache();
        self
    }

    /// How volumes are opened, as the arguments say.
    pub(super) fn options(arguments: &Arguments, access: Access) -> Result<Options, Error> {
        let missing = match arguments.value(&ACTIVATION_MODE) {
            _ if arguments.has(&flags::PARTIAL) => MissingPolicy::Partial,
            None => MissingPolicy::default(),
            Some(word) => MissingPolicy::from_word(word).ok_or_else(|| {
                Error::usage(format!(
                    "Invalid activation mode {word}: use partial, degraded or complete."
                ))
            })?,
        };
        Ok(Options { access, missing })
    }

    /// Opens the volume called `name` (`vg0/data`, `/dev/vg0/data`, `/dev/mapper/vg0-data`).
    pub(super) fn open(&mut self, name: &str, session: &mut Session) -> Result<Opened, Error> {
        let (group, lv) = self
            .disks
            .scan
            .find_volume(name)
            .map_err(|error| failed(&error))?;
        let name = group.model.lv(lv).name();
        let activated = self.activator.activate(group, lv, self.options);
        let activated = activated.map_err(|error| failed(&error))?;
        for gap in &activated.gaps {
            session.tell(&format!("WARNING: {gap}."));
        }
        Ok(Opened {
            volume: activated.volume,
            layout: activated.layout,
            name: format!("{}/{name}", group.name),
        })
    }
}

/// Takes the group with this UUID, to write what is in it; people are told what happens to it
/// meanwhile.
pub(super) fn take(disks: &Disks, group: Uuid) -> Result<LiveGroup, Error> {
    let all = HostDisks {
        source: disks.source.clone(),
        options: scan::Options::default(),
    };
    let live = LiveGroup::take(&disks.host, &all, &group.to_string());
    let live = live.map_err(|error| failed(&error))?;
    live.warn_with(Box::new(|text| eprintln!("  {}", harmless(text))));
    Ok(live)
}

/// Why something cannot be written, and what can be done all the same.
pub(super) fn unwritable(error: &ashlar::Error) -> Error {
    Error::failed(format!("{error} (--readonly only reads)"))
}

fn failed(error: &ashlar::Error) -> Error {
    Error::failed(error.to_string())
}
