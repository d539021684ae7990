//! Opening the logical volume that an operand names, for commands that read, copy or serve it.

use manager::activate::{Activator, MissingPolicy, Options};
use manager::apply::HostDisks;
use manager::live::Owner;
use manager::scan::{self, FoundVg};
use target::volume::{Access, Volume};

use super::Session;
use super::session::Disks;
use crate::args::{Arguments, Error, Flag, flags};

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
    /// Its name: `vg0/data`.
    pub(super) name: String,
    /// Its name as one word without a `/`, unique among all groups: `vg0-data`.
    pub(super) key: String,
}

/// Opens volumes of `disks`, as the arguments allow. What is missing of one is told.
///
/// For writing, it becomes the owner of each group of which it opens a volume.
pub(super) struct Opener<'a> {
    disks: &'a Disks,
    reader: Activator<'a>,
    owners: Vec<Owner>,
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
            reader: Activator::new(&disks.scan, &disks.host),
            owners: Vec::new(),
            options: Self::options(arguments, access)?,
        })
    }

    /// How volumes are opened, as the arguments say.
    pub(super) fn options(arguments: &Arguments, access: Access) -> Result<Options, Error> {
        let missing = match arguments.value(&ACTIVATION_MODE) {
            _ if arguments.has(&flags::PARTIAL) => MissingPolicy::Partial,
            None | Some("degraded") => MissingPolicy::Degraded,
            Some("complete") => MissingPolicy::Complete,
            Some("partial") => MissingPolicy::Partial,
            Some(other) => {
                return Err(Error::usage(format!(
                    "Invalid activation mode {other}: use partial, degraded or complete."
                )));
            }
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
        let activated = match self.options.access {
            Access::ReadOnly => self.reader.activate(group, lv, self.options),
            Access::ReadWrite => {
                let options = self.options;
                self.owner(group)
                    .and_then(|owner| owner.activate(name, options))
            }
        };
        let activated = activated.map_err(|error| match self.options.access {
            Access::ReadOnly => failed(&error),
            Access::ReadWrite => unwritable(&error),
        })?;
        for gap in &activated.gaps {
            session.tell(&format!("WARNING: {gap}."));
        }
        Ok(Opened {
            volume: activated.volume,
            name: format!("{}/{name}", group.name),
            key: lvm::model::dm_name(&group.name, name, None),
        })
    }

    /// Becomes the owner of the group called `name`, if volumes are to be written.
    pub(super) fn own(&mut self, name: &str) -> Result<(), Error> {
        if self.options.access == Access::ReadOnly {
            return Ok(());
        }
        let group = self
            .disks
            .scan
            .find_group(name)
            .map_err(|error| failed(&error))?;
        self.owner(group)
            .map(|_| ())
            .map_err(|error| unwritable(&error))
    }

    /// The groups that it took. What it opened for writing may be written as long as these are
    /// kept.
    pub(super) fn into_owners(self) -> Vec<Owner> {
        self.owners
    }

    fn owner(&mut self, group: &FoundVg) -> manager::Result<&mut Owner> {
        let is_it = |owner: &Owner| owner.group() == group.uuid;
        let index = if let Some(index) = self.owners.iter().position(is_it) {
            index
        } else {
            let uuid = group.uuid.to_string();
            let disks = HostDisks {
                source: self.disks.source.clone(),
                options: scan::Options::default(),
            };
            let owner = Owner::take(&self.disks.host, &disks, &uuid)?;
            self.owners.push(owner);
            self.owners.len() - 1
        };
        Ok(&mut self.owners[index])
    }
}

/// Gives groups back, and tells what cannot be promised.
pub(super) fn close(owners: Vec<Owner>, session: &mut Session) {
    for owner in owners {
        if let Err(error) = owner.close() {
            session.fail_later(&error.to_string());
        }
    }
}

fn unwritable(error: &manager::Error) -> Error {
    Error::failed(format!("{error} (--readonly only reads)"))
}

fn failed(error: &manager::Error) -> Error {
    Error::failed(error.to_string())
}
