//! Image files on which changes are made.

use lvm2::Uuid;
use lvm2::model::VolumeGroup;
use lvm2::plan::group::{NewGroup, create_group};
use lvm2::plan::initialise::NewPv;
use lvm2::plan::logical::{NewVolume, create_volume};
use lvm2::plan::size::SizeArgument;
use lvm2::plan::{Author, Change};

use crate::apply::{
    HostDisks, NewLabel, Outcome, Planned, Quiet, Request, Session, Signatures, find_device,
    find_pv, free_member, plan_device, require_no_member,
};
use crate::commit::{Hooks, Reach};
use crate::host::{Config, Host, Location};
use crate::scan::{Options, Scan};
use crate::tests::fixture::Folder;
use crate::{Error, Kind, Result};

/// A folder with two empty disks and a configuration that keeps everything in it.
pub(super) struct Bench {
    pub(super) folder: Folder,
    pub(super) host: Host,
}

impl Bench {
    pub(super) fn new() -> Self {
        let folder = Folder::new();
        std::fs::create_dir(folder.path("disks")).expect("is made");
        for disk in ["disks/a.img", "disks/b.img"] {
            folder.disk(disk, &[]);
        }
        let text = format!("global/locking_dir=\"{}\"", folder.path("locks").display());
        let mut config = Config::read(folder.path("lvm")).expect("is empty");
        config.add_text(&text).expect("is good");
        let host = Host {
            config,
            ..Host::without_config()
        };
        Self { folder, host }
    }

    pub(super) fn disks(&self) -> HostDisks {
        let spec = crate::host::DeviceSpec {
            path: self.folder.path("disks"),
        };
        HostDisks {
            source: crate::host::DeviceSource::Listed(vec![spec]),
            options: Options::default(),
        }
    }

    pub(super) fn name(&self, disk: &str) -> String {
        self.folder.path(disk).display().to_string()
    }

    pub(super) fn scan(&self) -> Scan {
        use crate::apply::Disks;
        self.disks().scan(&self.host).expect("a scan does not fail")
    }

    pub(super) fn change(
        &self,
        request: &Request,
        prompt: &mut Quiet,
        plan: impl FnMut(&Scan, &mut Author<'_>) -> Result<Planned>,
    ) -> Result<Outcome> {
        self.with_session(prompt, None, |session| {
            let mut plan = plan;
            session.change(request, &mut plan)
        })
    }

    pub(super) fn with_session<R>(
        &self,
        prompt: &mut Quiet,
        served: Option<&mut Served>,
        work: impl FnOnce(&mut Session<'_>) -> R,
    ) -> R {
        let disks = self.disks();
        let mut session = Session::new(&self.host, &disks, prompt);
        session.hooks = served.map(|served| served as &mut dyn Hooks);
        work(&mut session)
    }

    pub(super) fn create_pvs(&self, prompt: &mut Quiet) -> Result<Outcome> {
        self.create_pvs_of(&["disks/a.img", "disks/b.img"], prompt)
    }

    /// Adds a third disk, and makes a physical volume of each; the disks.
    pub(super) fn create_three_pvs(&self) -> [&'static str; 3] {
        self.folder.disk("disks/c.img", &[]);
        let disks = ["disks/a.img", "disks/b.img", "disks/c.img"];
        let made = self.create_pvs_of(&disks, &mut Quiet::yes());
        made.expect("are made");
        disks
    }

    pub(super) fn create_pvs_of(&self, disks: &[&str], prompt: &mut Quiet) -> Result<Outcome> {
        let request = Request {
            changes_pvs: true,
            command: "pvcreate".to_owned(),
            ..Request::default()
        };
        self.change(&request, prompt, |scan, author| {
            let mut planned = Planned::default();
            for disk in disks {
                let device = find_device(scan, &self.name(disk))?;
                require_no_member(scan, device)?;
                let layout = NewPv::new(author.uuid()).lay_out(&plan_device(scan, device))?;
                planned.new.push(NewLabel {
                    device,
                    layout,
                    others: Signatures::Wiped,
                });
            }
            Ok(planned)
        })
    }

    pub(super) fn create_group(&self) {
        self.create_pvs(&mut Quiet::yes()).expect("are made");
        self.create_group_of_pvs();
    }

    pub(super) fn create_group_of_pvs(&self) {
        self.create_group_of("vg0", &["disks/a.img", "disks/b.img"]);
    }

    pub(super) fn create_group_of(&self, name: &str, disks: &[&str]) {
        let request = Request {
            new_group: Some(name.to_owned()),
            changes_pvs: true,
            command: format!("vgcreate {name}"),
            ..Request::default()
        };
        self.change(&request, &mut Quiet::yes(), |scan, author| {
            let mut members = Vec::new();
            for disk in disks {
                members.push(free_member(scan, find_pv(scan, &self.name(disk))?)?);
            }
            Ok(create_group(&NewGroup::new(name, &members), author)?.into())
        })
        .expect("is made");
    }

    pub(super) fn create_volume(&self, request: &Request, prompt: &mut Quiet) -> Result<Outcome> {
        self.change(request, prompt, |scan, author| {
            let group = scan.find_group("vg0")?;
            let new = NewVolume {
                name: Some("data"),
                ..NewVolume::linear(SizeArgument::extents(2))
            };
            Ok(create_volume(&group.model, &new, author)?.into())
        })
    }
}

pub(super) fn in_group(command: &str) -> Request {
    Request {
        groups: vec!["vg0".to_owned()],
        command: command.to_owned(),
        ..Request::default()
    }
}

/// Somebody who serves volumes, and takes down what happens.
#[derive(Default)]
pub(super) struct Served {
    pub(super) in_use: Vec<Uuid>,
    /// Whether no change is permitted at all.
    pub(super) is_firm: bool,
    /// A disk that is not permitted to be written.
    pub(super) kept: Option<String>,
    /// The last parts of the names of disks that are opened.
    pub(super) disks: Vec<String>,
    /// The groups that are committed.
    pub(super) groups: Vec<String>,
}

fn not_permitted() -> Error {
    Error::new(Kind::Refused, "is not permitted")
}

impl Hooks for Served {
    fn in_use(&self) -> Vec<Uuid> {
        self.in_use.clone()
    }

    fn permit(&mut self, _scan: &Scan, _change: &Change) -> Result<()> {
        let permitted = (!self.is_firm).then_some(());
        permitted.ok_or_else(not_permitted)
    }

    fn permit_disk(&mut self, _scan: &Scan, name: &str, location: &Location) -> Result<()> {
        assert!(location.to_string().starts_with('/'), "{location}");
        let last = name.rsplit('/').next().unwrap_or(name);
        self.disks.push(last.to_owned());
        let permitted = (self.kept.as_deref() != Some(last)).then_some(());
        permitted.ok_or_else(not_permitted)
    }

    fn suspend(&mut self, vg: &VolumeGroup) -> Result<()> {
        self.groups.push(vg.name.clone());
        Ok(())
    }

    fn publish(&mut self, _reach: Reach) {}

    fn resume(&mut self) {}
}
