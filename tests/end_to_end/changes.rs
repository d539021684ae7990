//! Disks that we make and change, judged and continued by stock.

use std::path::PathBuf;

use ashlar::apply::{
    Disks, HostDisks, NewLabel, Planned, Quiet, Request, Session, Signatures, area_states,
    find_device, find_pv, free_member, plan_device,
};
use ashlar::host::{Config, DeviceSource, DeviceSpec, Host, Sysfs};
use ashlar::scan::{FoundVg, Options, Scan};
use lvm2::plan::group::{NewGroup, create_group, extend_group, reduce_group, rename_group};
use lvm2::plan::initialise::{AreaCount, NewPv};
use lvm2::plan::logical::{
    Along, NewKind, NewVolume, Resize, Stripes, create_volume, remove_volumes, rename_volume,
    resize_volume,
};
use lvm2::plan::size::{ResizeTo, SizeArgument};
use lvm2::plan::{Author, Change};
use tests::{Access, LoopDevice, Scratch, Stock};

/// Three images that we and stock work on in turn.
struct Table {
    scratch: Scratch,
    images: Vec<PathBuf>,
    host: Host,
}

impl Table {
    fn new() -> Self {
        let scratch = Scratch::new("changes");
        let images: Vec<PathBuf> = (0..3)
            .map(|number| scratch.sparse(&format!("c{number}.img"), 48 << 20))
            .collect();
        let mut config = Config::read(scratch.join("lvm")).expect("an empty configuration");
        let locks = scratch.join("locks");
        let text = format!("global/locking_dir=\"{}\"", locks.display());
        config.add_text(&text).expect("a setting");
        let host = Host {
            config,
            sysfs: Sysfs::of_host(),
        };
        Self {
            scratch,
            images,
            host,
        }
    }

    fn disks(&self) -> HostDisks {
        let spec = |path: &PathBuf| DeviceSpec { path: path.clone() };
        HostDisks {
            source: DeviceSource::Listed(self.images.iter().map(spec).collect()),
            options: Options::default(),
        }
    }

    fn name(&self, disk: usize) -> String {
        self.images[disk].display().to_string()
    }

    fn scan(&self) -> Scan {
        self.disks().scan(&self.host).expect("a scan")
    }

    fn change(
        &self,
        request: &Request,
        mut plan: impl FnMut(&Scan, &mut Author<'_>) -> ashlar::Result<Planned>,
    ) {
        let disks = self.disks();
        let mut prompt = Quiet::yes();
        let mut session = Session::new(&self.host, &disks, &mut prompt);
        let result = session.change(request, &mut plan);
        result.unwrap_or_else(|error| panic!("{}: {error}", request.command));
        assert_eq!(self.scan().findings, [], "after {}", request.command);
    }

    fn in_group(
        &self,
        group: &str,
        command: &str,
        mut plan: impl FnMut(&Scan, &FoundVg, &mut Author<'_>) -> lvm2::Result<Change>,
    ) {
        let request = Request {
            groups: vec![group.to_owned()],
            changes_pvs: true,
            command: command.to_owned(),
            ..Request::default()
        };
        self.change(&request, |scan, author| {
            let found = scan.find_group(group)?;
            Ok(plan(scan, found, author)?.into())
        });
    }

    /// Stock looks at the disks, finds nothing wrong, and sees these volumes.
    fn judged(&self, group: &str, seqno: u32, volumes: &str) {
        let attach = |path: &PathBuf| LoopDevice::attach(path, Access::ReadWrite);
        let loops: Vec<LoopDevice> = self.images.iter().map(attach).collect();
        let stock = Stock::on(&loops);
        stock.without_driver("vgck").arg(group).succeed();
        for device in &loops {
            stock.without_driver("pvck").arg(device.path()).succeed();
        }
        let fields = ["--noheadings", "-o", "vg_name,vg_seqno"];
        let seen = stock.without_driver("vgs").args(fields).succeed();
        let seen = seen.text();
        let words: Vec<&str> = seen.split_whitespace().collect();
        assert_eq!(words, [group, &seqno.to_string()]);
        let fields = ["--noheadings", "--units", "m", "--nosuffix", "-o"];
        let lvs = stock.without_driver("lvs").args(fields);
        let seen = lvs.arg("lv_name,lv_size,seg_type").succeed();
        let seen = seen.text();
        let words: Vec<&str> = seen.split_whitespace().collect();
        assert_eq!(words.join(" "), volumes);
    }

    fn by_stock(&self, command: &str, arguments: &[&str]) {
        let attach = |path: &PathBuf| LoopDevice::attach(path, Access::ReadWrite);
        let loops: Vec<LoopDevice> = self.images.iter().map(attach).collect();
        let stock = Stock::on(&loops);
        stock.without_driver(command).args(arguments).succeed();
    }
}

fn linear(name: &str, extents: u64) -> NewVolume<'_> {
    NewVolume {
        name: Some(name),
        ..NewVolume::linear(SizeArgument::extents(extents))
    }
}

fn larger(volume: &str, extents: u64) -> Resize<'_> {
    Resize::to(volume, SizeArgument::extents(extents), ResizeTo::Larger)
}

fn make_pvs(table: &Table) {
    let request = Request {
        changes_pvs: true,
        command: "pvcreate".to_owned(),
        ..Request::default()
    };
    table.change(&request, |scan, author| {
        let mut planned = Planned::default();
        for (disk, areas) in [AreaCount::One, AreaCount::Two, AreaCount::One]
            .into_iter()
            .enumerate()
        {
            let device = find_device(scan, &table.name(disk))?;
            let new = NewPv {
                areas,
                ..NewPv::new(author.uuid())
            };
            let layout = new.lay_out(&plan_device(scan, device))?;
            planned.new.push(NewLabel {
                device,
                layout,
                others: Signatures::Wiped,
            });
        }
        Ok(planned)
    });
}

#[test]
fn stock_accepts_every_step_and_goes_on() {
    // Proves: after each of our changes stock finds the group whole and as we see it; what stock
    // changes then is changed further by us.
    let table = Table::new();
    make_pvs(&table);
    let request = Request {
        new_group: Some("vg0".to_owned()),
        changes_pvs: true,
        command: "vgcreate vg0 c0 c1".to_owned(),
        ..Request::default()
    };
    table.change(&request, |scan, author| {
        let mut members = Vec::new();
        for disk in 0..2 {
            members.push(free_member(scan, find_pv(scan, &table.name(disk))?)?);
        }
        Ok(create_group(&NewGroup::new("vg0", &members), author)?.into())
    });
    table.judged("vg0", 1, "");
    table.in_group("vg0", "lvcreate", |_, group, author| {
        create_volume(&group.model, &linear("a", 3), author)
    });
    table.judged("vg0", 2, "a 12.00 linear");
    table.in_group("vg0", "vgextend", |scan, group, author| {
        let pv = find_pv(scan, &table.name(2)).expect("a free one");
        let member = free_member(scan, pv).expect("a free one");
        extend_group(&group.model, &[member], &area_states(scan, group), author)
    });
    table.in_group("vg0", "lvcreate", |_, group, author| {
        let stripes = Stripes {
            count: 3,
            size: None,
        };
        let new = NewVolume {
            kind: NewKind::Striped(stripes),
            ..linear("s", 6)
        };
        create_volume(&group.model, &new, author)
    });
    table.judged("vg0", 4, "a 12.00 linear s 24.00 striped");
    table.by_stock(
        "lvcreate",
        &["-an", "-Zn", "-Wn", "-n", "b", "-l", "2", "vg0"],
    );
    table.by_stock("lvrename", &["vg0", "s", "t"]);
    table.in_group("vg0", "lvextend", |_, group, author| {
        resize_volume(&group.model, &larger("b", 4), author)
    });
    table.judged("vg0", 7, "a 12.00 linear b 16.00 linear t 24.00 striped");
    table.in_group("vg0", "lvremove", |_, group, author| {
        remove_volumes(&group.model, &["t"], Along::Nothing, author)
    });
    table.in_group("vg0", "lvrename", |_, group, author| {
        rename_volume(&group.model, "b", "c", author)
    });
    table.in_group("vg0", "vgreduce", |scan, group, author| {
        let uuid = scan
            .pv(find_pv(scan, &table.name(2)).expect("a member"))
            .uuid;
        let pv = group.model.pv_by_uuid(&uuid).expect("a member");
        reduce_group(&group.model, &[pv], &area_states(scan, group), author)
    });
    table.in_group("vg0", "vgrename", |_, group, author| {
        rename_group(&group.model, "vg1", author)
    });
    table.judged("vg1", 11, "a 12.00 linear c 16.00 linear");
    assert!(table.scratch.join("lvm/backup/vg1").exists());
}
