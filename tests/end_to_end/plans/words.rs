//! Command lines for both: stock gets the words, we get the arguments that they mean.

use lvm2::model::{AllocationPolicy, PvId, VolumeGroup};
use lvm2::ondisk::{AreaUse, Label};
use lvm2::plan::group::{
    AreaState, GroupAttribute, Member, Resizing, change_group, extend_group, reduce_group,
};
use lvm2::plan::logical::{
    Along, AttributeChange, Autoactivation, NewKind, NewVolume, Permission, Resize, Skip, Start,
    Stripes, Zeroing, change_volume, create_volume, remove_volumes, rename_volume, resize_volume,
};
use lvm2::plan::physical::{Allocatable, PvAttribute, PvSize, change_pv, resize_pv};
use lvm2::plan::places::Places;
use lvm2::plan::size::{ResizeTo, SizeArgument, parse_size};
use lvm2::plan::{Author, Change, Level};
use lvm2::{Result, Sectors, Uuid};
use std::fs::File;
use std::os::unix::fs::FileExt;
use tests::LoopDevice;

/// What we say to a change.
pub(super) fn notes(change: &Change) -> Vec<Said> {
    let levels = [Level::Note, Level::Warning];
    let said = levels
        .into_iter()
        .flat_map(|level| change.texts(level).map(|text| Said(text.to_owned())));
    said.collect()
}

/// A sentence of ours.
#[derive(Debug)]
pub(super) struct Said(pub(super) String);

impl Said {
    /// Whether stock's line says it. Ours may explain more in brackets, or behind a colon.
    pub(super) fn is_in<'a>(&'a self, line: &'a str) -> bool {
        let bare = |text: &'a str| text.strip_prefix("WARNING: ").unwrap_or(text);
        let (line, ours) = (bare(line), bare(&self.0));
        ours == line
            || ours.starts_with(line)
            || line.contains(ours)
            || ours.split(" (").next().is_some_and(|start| start == line)
    }
}

/// The disks.
pub(super) struct Machine {
    paths: Vec<String>,
}

impl Machine {
    pub(super) fn new(devices: &[LoopDevice]) -> Self {
        let path = |device: &LoopDevice| device.path().display().to_string();
        Self {
            paths: devices.iter().map(path).collect(),
        }
    }

    /// The words of a line; `disk2:0-9` becomes the name of the disk.
    pub(super) fn words(&self, line: &str) -> Vec<String> {
        let word = |word: &str| {
            let mut word = word.to_owned();
            for (number, path) in self.paths.iter().enumerate() {
                word = word.replace(&format!("disk{number}"), path);
            }
            word
        };
        line.split_whitespace().map(word).collect()
    }
}

/// Our plan for a command.
pub(super) fn plan(vg: &VolumeGroup, words: &[String]) -> Result<Change> {
    let mut number = 0_u64;
    let mut fresh = || {
        number += 1;
        format!("{number:z>32}")
            .parse::<Uuid>()
            .expect("letters and digits")
    };
    let mut author = Author {
        generator: "Ashlar".to_owned(),
        description: words.join(" "),
        host: "test".to_owned(),
        host_detail: None,
        time: 0,
        uuids: &mut fresh,
    };
    let options = Options::of(&words[1..]);
    match words[0].as_str() {
        "lvcreate" => create(vg, &options, &mut author),
        "lvextend" => resize(vg, &options, ResizeTo::Larger, &mut author),
        "lvreduce" => resize(vg, &options, ResizeTo::Smaller, &mut author),
        "lvresize" => resize(vg, &options, ResizeTo::Either, &mut author),
        "lvremove" => {
            let name = volume(&options.rest[0]);
            remove_volumes(vg, &[name], Along::Nothing, &mut author)
        }
        "lvrename" => rename_volume(vg, &options.rest[1], &options.rest[2], &mut author),
        "lvchange" => lvchange(vg, &options, &mut author),
        "vgchange" => vgchange(vg, &options, &mut author),
        "vgextend" => {
            let members: Vec<Member> = options.rest[1..].iter().map(|path| member(path)).collect();
            extend_group(vg, &members, &areas(vg), &mut author)
        }
        "vgreduce" => {
            let pvs: Vec<PvId> = options.rest[1..]
                .iter()
                .filter_map(|path| find(vg, path))
                .collect();
            reduce_group(vg, &pvs, &areas(vg), &mut author)
        }
        "pvchange" => {
            let pv = find(vg, &options.rest[0]).expect("it is in the group");
            let allocatable = options.value("-x").map(|value| match value.as_str() {
                "y" => PvAttribute::Allocatable(Allocatable::Yes),
                _ => PvAttribute::Allocatable(Allocatable::No),
            });
            let tag = options.value("--addtag");
            let tag = tag.as_deref().map(PvAttribute::AddTag);
            let changes: Vec<PvAttribute<'_>> = allocatable.into_iter().chain(tag).collect();
            change_pv(vg, pv, &changes, &areas(vg), &mut author)
        }
        "pvresize" => {
            let path = &options.rest[0];
            let pv = find(vg, path).expect("it is in the group");
            let asked = options.value("--setphysicalvolumesize");
            let asked = asked.map(|size| sectors(&size));
            let size = PvSize {
                device: member(path).size,
                asked,
                least: Sectors::ZERO,
            };
            resize_pv(vg, pv, &member(path).header, size, &mut author)
        }
        other => panic!("{other} is no command of the table"),
    }
}

fn places(vg: &VolumeGroup, names: &[String]) -> Result<Option<Places>> {
    if names.is_empty() {
        return Ok(None);
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    Places::parse(vg, &names, |name| find(vg, name)).map(Some)
}

fn create(vg: &VolumeGroup, options: &Options, author: &mut Author<'_>) -> Result<Change> {
    let stripes = Stripes {
        count: options
            .value("-i")
            .map_or(1, |count| count.parse().expect("a number")),
        size: options.value("-I").map(|size| kib(&size)),
    };
    let kind = match options.value("--type").as_deref() {
        Some("zero") => NewKind::Zero,
        Some("error") => NewKind::Error,
        _ => NewKind::Striped(stripes),
    };
    let name = options.value("-n");
    let tags: Vec<String> = options.value("--addtag").into_iter().collect();
    let mut new = NewVolume {
        name: name.as_deref(),
        kind,
        policy: options.policy(),
        tags: &tags,
        zeroing: Zeroing::Nothing,
        start: Start::Inactive,
        ..NewVolume::linear(options.size()?)
    };
    if options.value("-p").as_deref() == Some("r") {
        new.permission = Permission::ReadOnly;
    }
    if options.value("-k").as_deref() == Some("y") {
        new.skip = Skip::Yes;
    }
    if options.value("--setautoactivation").as_deref() == Some("n") {
        new.autoactivation = Autoactivation::No;
    }
    let named = places(vg, &options.rest[1..])?;
    new.places = named.as_ref();
    create_volume(vg, &new, author)
}

fn resize(
    vg: &VolumeGroup,
    options: &Options,
    direction: ResizeTo,
    author: &mut Author<'_>,
) -> Result<Change> {
    let size = options.size()?;
    let stripes = options
        .value("-i")
        .map(|count| count.parse().expect("a number"));
    let stripe_size = options.value("-I").map(|size| kib(&size));
    let policy = options.policy();
    let named = places(vg, &options.rest[1..])?;
    let resize = Resize {
        stripes,
        stripe_size,
        places: named.as_ref(),
        policy,
        ..Resize::to(volume(&options.rest[0]), size, direction)
    };
    resize_volume(vg, &resize, author)
}

fn vgchange(vg: &VolumeGroup, options: &Options, author: &mut Author<'_>) -> Result<Change> {
    let tag = options.value("--addtag");
    let mut changes: Vec<GroupAttribute<'_>> = Vec::new();
    changes.extend(tag.as_deref().map(GroupAttribute::AddTag));
    let number = |value: String| value.parse().expect("a number");
    changes.extend(options.value("-l").map(number).map(GroupAttribute::MaxLv));
    changes.extend(options.value("-p").map(number).map(GroupAttribute::MaxPv));
    changes.extend(
        options
            .value("-s")
            .map(|size| GroupAttribute::ExtentSize(sectors(&size))),
    );
    changes.extend(options.value("-x").map(|value| {
        GroupAttribute::Resizing(if value == "y" {
            Resizing::Allowed
        } else {
            Resizing::Forbidden
        })
    }));
    changes.extend(
        options
            .value("--alloc")
            .map(|name| GroupAttribute::Allocation(AllocationPolicy::from_name(&name))),
    );
    change_group(vg, &changes, &areas(vg), author)
}

fn lvchange(vg: &VolumeGroup, options: &Options, author: &mut Author<'_>) -> Result<Change> {
    let mut changes = Vec::new();
    let tag = options.value("--addtag");
    changes.extend(tag.as_deref().map(AttributeChange::AddTag));
    changes.extend(options.value("-p").map(|value| {
        AttributeChange::Permission(if value == "r" {
            Permission::ReadOnly
        } else {
            Permission::ReadWrite
        })
    }));
    changes.extend(
        options
            .value("-k")
            .map(|value| AttributeChange::Skip(if value == "y" { Skip::Yes } else { Skip::No })),
    );
    changes.extend(
        options
            .value("--alloc")
            .map(|name| AttributeChange::Allocation(AllocationPolicy::from_name(&name))),
    );
    change_volume(vg, volume(&options.rest[0]), &changes, author)
}

/// Options with values, and the words that are none.
struct Options {
    values: Vec<(String, String)>,
    rest: Vec<String>,
}

impl Options {
    fn of(words: &[String]) -> Self {
        let mut options = Self {
            values: Vec::new(),
            rest: Vec::new(),
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            if word.starts_with('-') {
                let value = words.next().expect("every option of the table has a value");
                options.values.push((word.clone(), value.clone()));
            } else {
                options.rest.push(word.clone());
            }
        }
        options
    }

    fn value(&self, name: &str) -> Option<String> {
        let found = self.values.iter().find(|(option, _)| option == name);
        found.map(|(_, value)| value.clone())
    }

    fn policy(&self) -> Option<AllocationPolicy> {
        let name = self.value("--alloc")?;
        AllocationPolicy::from_name(&name)
    }

    fn size(&self) -> Result<SizeArgument> {
        match self.value("-L") {
            Some(size) => SizeArgument::from_size(&size),
            None => SizeArgument::from_extents(&self.value("-l").expect("a size")),
        }
    }
}

fn volume(name: &str) -> &str {
    name.strip_prefix("vg/").unwrap_or(name)
}

fn sectors(size: &str) -> Sectors {
    parse_size(size, 'm').expect("a size").whole_sectors()
}

fn kib(size: &str) -> Sectors {
    parse_size(size, 'k').expect("a size").whole_sectors()
}

fn find(vg: &VolumeGroup, path: &str) -> Option<PvId> {
    let found = vg.pvs().find(|(_, pv)| pv.device.as_deref() == Some(path));
    found.map(|(id, _)| id)
}

fn member(path: &str) -> Member {
    let file = File::open(path).expect("a disk");
    let mut head = vec![0; 2048];
    file.read_exact_at(&mut head, 0).expect("its start");
    let header = Label::scan(&head).label.expect("a label").pv;
    let size = Sectors((256 << 20) / 512);
    Member {
        areas: vec![AreaUse::Used; header.metadata_areas.len()],
        header,
        device: path.to_owned(),
        device_id_type: None,
        device_id: None,
        size,
    }
}

fn areas(vg: &VolumeGroup) -> Vec<AreaState> {
    let state = |pv: &lvm2::model::PhysicalVolume| AreaState {
        pv: pv.uuid,
        area: 0,
        usage: AreaUse::Used,
    };
    vg.pvs().map(|(_, pv)| state(pv)).collect()
}
