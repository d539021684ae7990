//! The volumes to be served, and who is to serve them.

use std::sync::Arc;

use ashlar::activate::{Activator, MissingPolicy, compared};
use ashlar::apply::HostDisks;
use ashlar::live::wire::{Export as WireExport, Way};
use ashlar::live::{Client, Use};
use ashlar::scan::{self, FoundVg};
use dm::volume::Access as VolumeAccess;
use lvm2::Uuid;
use lvm2::model::LvId;
use nbd::server::{Access, Export, Exports, Listener, NamedContext, Secrecy};

use super::serving::Serving;
use crate::args::{Arguments, Error, Flag};
use crate::commands::Session;
use crate::commands::open::{Opener, unwritable};
use crate::commands::session::Disks;
use crate::live::{LocalGroup, Owned, add_export, live, own, still};

/// `--since`
pub(super) const SINCE: Flag = Flag::value(
    "since",
    "VG/SNAPSHOT",
    "Tell clients that ask for the metadata context ashlar:changed where volumes may differ from \
     this snapshot: its origin, and other snapshots of that.",
);

/// Opens volumes, here or in the process that owns their group.
pub(super) struct Gathering<'a> {
    disks: &'a Disks,
    access: VolumeAccess,
    missing: MissingPolicy,
    /// The snapshot that others are compared with, and whether one was.
    since: Option<&'a str>,
    is_compared: bool,
    reader: Opener<'a>,
    exports: Exports,
    uses: Vec<Use>,
    owned: Vec<(Uuid, Owned)>,
    /// Names of volumes that the other process serves.
    remote: Vec<String>,
}

/// What is served, in this process or in another one.
pub(super) enum Offer {
    Local {
        exports: Exports,
        uses: Vec<Use>,
        groups: Vec<LocalGroup>,
    },
    Remote {
        client: Client,
        group: String,
        volumes: Vec<String>,
        is_read_only: bool,
        missing: MissingPolicy,
    },
}

impl Offer {
    /// One of volumes of `disks`, of which there are none yet.
    pub(super) fn gather<'a>(
        disks: &'a Disks,
        arguments: &'a Arguments,
        access: VolumeAccess,
    ) -> Result<Gathering<'a>, Error> {
        Ok(Gathering {
            disks,
            access,
            missing: Opener::options(arguments, access)?.missing,
            since: arguments.value(&SINCE),
            is_compared: false,
            reader: Opener::new(disks, arguments, VolumeAccess::ReadOnly)?,
            exports: Exports::new(),
            uses: Vec::new(),
            owned: Vec::new(),
            remote: Vec::new(),
        })
    }

    /// The volumes' names: `vg0/data`.
    pub(super) fn names(&self) -> Vec<String> {
        match self {
            Self::Local { exports, .. } => {
                let list = exports.list();
                list.iter().map(|export| export.name.clone()).collect()
            }
            Self::Remote { group, volumes, .. } => {
                let volumes = volumes.iter();
                volumes.map(|name| format!("{group}/{name}")).collect()
            }
        }
    }

    /// Lets clients in, under TLS if so wanted.
    pub(super) fn serve(
        self,
        listeners: Vec<Listener>,
        secrecy: Option<Secrecy>,
    ) -> Result<Serving, Error> {
        match self {
            Self::Local {
                exports,
                uses,
                groups,
            } => Serving::local(exports, listeners, secrecy, uses, groups),
            Self::Remote { group, .. } if secrecy.is_some() => {
                let what = format!(
                    "Another process serves {group} already, and would serve these volumes \
                     without TLS. End it and serve all of them with --tls"
                );
                Err(Error::failed(what))
            }
            Self::Remote {
                client,
                volumes,
                is_read_only,
                missing,
                ..
            } => {
                let wanted = WireExport {
                    volumes,
                    is_read_only,
                    missing,
                    way: Way::Nbd,
                };
                Serving::remote(client, &wanted, listeners)
            }
        }
    }
}

impl Gathering<'_> {
    /// Adds the volume called `name`.
    pub(super) fn add(&mut self, name: &str, session: &mut Session) -> Result<(), Error> {
        let (group, lv) = self
            .disks
            .scan
            .find_volume(name)
            .map_err(|error| failed(&error))?;
        let short = group.model.lv(lv).name().to_owned();
        let place = self.place(group)?;
        let Some(place) = place else {
            let opened = self.reader.open(name, session)?;
            let export = Export {
                name: opened.name,
                description: String::new(),
                access: Access::ReadOnly,
                device: Arc::new(opened.volume),
            };
            let context = self.still(group, lv, session)?;
            return Ok(self
                .exports
                .add_with(export, context.into_iter().collect())?);
        };
        let local = match &self.owned[place].1 {
            Owned::Remote(_) if self.since.is_some() => {
                return Err(Error::failed(format!(
                    "Another process serves {} already, and compares its snapshots with their \
                     origins only; end it and serve all of them with --since",
                    group.name
                )));
            }
            Owned::Remote(_) => {
                self.remote.push(short);
                return Ok(());
            }
            Owned::Local(local) => local,
        };
        let used = local.group.open(&short, self.missing);
        let mut used = used.map_err(|error| unwritable(&error))?;
        for gap in &used.gaps {
            session.tell(&format!("WARNING: {gap}."));
        }
        let since = self.since_in(group)?;
        let context = live(&used, since.map(|lv| group.model.lv(lv).uuid));
        self.is_compared |= since.is_some_and(|since| {
            let pair = compared(&group.model, lv, Some(since));
            pair.is_some_and(|(one, _)| one == since)
        });
        add_export(&self.exports, &mut used, Access::ReadWrite, context)?;
        self.uses.push(used);
        Ok(())
    }

    /// The snapshot that others are compared with, if it is one of this group.
    fn since_in(&self, group: &FoundVg) -> Result<Option<LvId>, Error> {
        let Some(name) = self.since else {
            return Ok(None);
        };
        let found = self.disks.scan.find_volume(name);
        let (other, lv) = found.map_err(|error| failed(&error))?;
        Ok((other.uuid == group.uuid).then_some(lv))
    }

    /// What clients may ask of a volume that is only read. What it is compared with is held, too.
    fn still(
        &mut self,
        group: &FoundVg,
        lv: LvId,
        session: &mut Session,
    ) -> Result<Option<NamedContext>, Error> {
        let wanted = self.since_in(group)?;
        let Some((since, of)) = compared(&group.model, lv, wanted) else {
            return Ok(None);
        };
        self.is_compared |= wanted == Some(since);
        let name = format!("{}/{}", group.name, group.model.lv(since).name());
        let held = self.reader.open(&name, session)?.volume;
        let mut activator = Activator::new(&self.disks.scan, &self.disks.host);
        let changed = activator.changed(group, since, of);
        let changed = changed.map_err(|error| failed(&error))?;
        Ok(Some(still(changed.to_read(), vec![held])))
    }

    /// Takes the group called `name`, if volumes are to be written, or finds the process that has
    /// it.
    pub(super) fn own(&mut self, name: &str) -> Result<(), Error> {
        let group = self
            .disks
            .scan
            .find_group(name)
            .map_err(|error| failed(&error))?;
        self.place(group).map(|_| ())
    }

    /// Where in `owned` the group is; `None`: it is only read.
    fn place(&mut self, group: &FoundVg) -> Result<Option<usize>, Error> {
        let found = self.owned.iter().position(|(uuid, _)| *uuid == group.uuid);
        if found.is_some() {
            return Ok(found);
        }
        let owned = match self.access {
            // Who only reads owns nothing; but what an owner has, it alone knows as it is now.
            VolumeAccess::ReadOnly => match Client::find(group.uuid) {
                Ok(Some(client)) => Owned::Remote(client),
                Ok(None) => return Ok(None),
                Err(error) => return Err(failed(&error)),
            },
            VolumeAccess::ReadWrite => {
                let source = HostDisks {
                    source: self.disks.source.clone(),
                    options: scan::Options::default(),
                };
                own(&self.disks.host, &source, group).map_err(|error| unwritable(&error))?
            }
        };
        self.owned.push((group.uuid, owned));
        Ok(Some(self.owned.len() - 1))
    }

    /// All of them.
    pub(super) fn finish(self) -> Result<Offer, Error> {
        if self.exports.list().is_empty() && self.remote.is_empty() {
            return Err(Error::failed("There is no volume that can be served"));
        }
        if let Some(since) = self.since.filter(|_| !self.is_compared) {
            return Err(Error::failed(format!(
                "Nothing that is served is the origin of {since}, or another snapshot of it"
            )));
        }
        let mut groups = Vec::new();
        let mut others = Vec::new();
        for (_, owned) in self.owned {
            match owned {
                Owned::Local(local) => groups.push(local),
                Owned::Remote(client) => others.push(client),
            }
        }
        if others.is_empty() {
            return Ok(Offer::Local {
                exports: self.exports,
                uses: self.uses,
                groups,
            });
        }
        match <[Client; 1]>::try_from(others) {
            Ok([client]) if self.exports.list().is_empty() => Ok(Offer::Remote {
                group: client.group().to_owned(),
                client,
                volumes: self.remote,
                is_read_only: self.access == VolumeAccess::ReadOnly,
                missing: self.missing,
            }),
            _ => Err(Error::failed(
                "These groups have different owners: other processes serve some of them already; \
                 serve each group with a command of its own",
            )),
        }
    }
}

fn failed(error: &ashlar::Error) -> Error {
    Error::failed(error.to_string())
}
