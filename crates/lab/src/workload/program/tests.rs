//! Streams are lawful, and their calls and bytes are those that can be counted by hand.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    AccessKind, Bonnie, BonnieStyle, Call, Copying, Dd, Directory, Ending, File, Folder, IoZone,
    Path, Program, SmallFiles, Warmth,
};
use crate::workload::postmark::{Counts, Settings, Stream as Steps};

/// What a phase asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) name: String,
    pub(crate) calls: u64,
    pub(crate) read: u64,
    pub(crate) written: u64,
    pub(crate) think_ns: u64,
}

/// Follows calls on a file system that is nothing but names and sizes; panics at one that cannot
/// be. What is not measured is called "".
pub(crate) fn follow(stream: impl Iterator<Item = Call>) -> Vec<Asked> {
    let mut phases = vec![Asked::default()];
    let mut sizes: BTreeMap<(Directory, String), u64> = BTreeMap::new();
    let mut open: BTreeMap<File, (Directory, String)> = BTreeMap::new();
    let mut directories = BTreeSet::from([Directory::ROOT]);
    for call in stream {
        let phase = phases.last_mut().unwrap();
        let marks = matches!(call, Call::Phase { .. } | Call::Aside | Call::Think { .. });
        phase.calls += u64::from(!marks);
        match call {
            Call::Phase { name } => phases.push(Asked {
                name,
                ..Asked::default()
            }),
            Call::Aside => phases.push(Asked::default()),
            Call::Think { ns } => phase.think_ns += ns,
            Call::Mkdir {
                parent, directory, ..
            } => {
                assert!(directories.contains(&parent) && directories.insert(directory));
            }
            Call::Rmdir { directory, .. } => assert!(directories.remove(&directory)),
            Call::Create { parent, name, file } => {
                assert!(directories.contains(&parent));
                let key = (parent, name);
                assert_eq!(sizes.insert(key.clone(), 0), None, "{key:?} is new");
                assert_eq!(open.insert(file, key), None);
            }
            Call::Open { parent, name, file } => {
                let key = (parent, name);
                assert!(sizes.contains_key(&key), "{key:?} is there");
                assert_eq!(open.insert(file, key), None);
            }
            Call::Read { file, at, bytes } | Call::ReadDirect { file, at, bytes } => {
                let size = sizes[&open[&file]];
                phase.read += bytes.min(size.saturating_sub(at));
            }
            Call::Write { file, at, bytes } | Call::WriteDirect { file, at, bytes } => {
                let size = sizes.get_mut(&open[&file]).unwrap();
                assert!(at <= *size, "no holes");
                *size = (*size).max(at + bytes);
                phase.written += bytes;
            }
            Call::Together { accesses, .. } => {
                phase.calls += (accesses.len() as u64).saturating_sub(1);
                for access in accesses {
                    assert!(access.at + access.bytes <= sizes[&open[&access.file]]);
                    phase.read += access.bytes;
                    if access.kind == AccessKind::Update {
                        phase.written += access.bytes;
                    }
                }
            }
            Call::Close { file } => drop(open.remove(&file).unwrap()),
            Call::Delete { parent, name } => {
                let key = (parent, name);
                assert!(
                    !open.values().any(|other| *other == key),
                    "{key:?} is closed"
                );
                sizes.remove(&key).unwrap();
            }
            Call::Rename { .. } | Call::Miss { .. } => panic!("dbench is elsewhere"),
            Call::Stat { parent, name } => assert!(sizes.contains_key(&(parent, name))),
            Call::List { directory } => assert!(directories.contains(&directory)),
            Call::Fsync { file } => assert!(open.contains_key(&file)),
            Call::Sync | Call::DropCaches => {}
        }
    }
    assert_eq!(open, BTreeMap::new(), "all is closed");
    phases
}

/// The phases of a program that are measured.
fn measured(program: &Program) -> Vec<Asked> {
    let mut phases = follow(program.stream(7).unwrap());
    phases.retain(|phase| !phase.name.is_empty());
    phases
}

fn asked(phases: &[Asked]) -> Vec<(&str, u64, u64)> {
    let each = |phase: &'_ Asked| (phase.read, phase.written);
    let named = phases
        .iter()
        .map(|phase| (phase.name.as_str(), each(phase)));
    named
        .map(|(name, (read, written))| (name, read, written))
        .collect()
}

#[test]
fn bonnie_writes_reads_and_rewrites_its_file() {
    // Six phases in the program's order, each of the file's bytes; a tenth of the seeks write.
    let size = 1 << 20;
    let mut bonnie = Bonnie::new(BonnieStyle::Bonnie, size);
    (bonnie.seeks, bonnie.seek_bytes) = (40, 4096);
    let phases = measured(&Program::Bonnie(bonnie.clone()));
    assert_eq!(
        asked(&phases),
        [
            ("putc", 0, size),
            ("rewrite", size, size),
            ("block_out", 0, size),
            ("getc", size, 0),
            ("block_in", size, 0),
            ("seeks", 40 * 4096, 4 * 4096),
        ]
    );
    // Making or opening, its calls, closing: 256 buffers, 64 chunks, 40 places.
    let calls: Vec<u64> = phases.iter().map(|phase| phase.calls).collect();
    assert_eq!(calls, [258, 130, 66, 258, 66, 42]);
    assert_eq!(phases[0].think_ns, 256 * (4096 * 1136 / 10));
    // One phase alone has its file written before, aside.
    bonnie.phases = vec!["getc".to_owned()];
    let phases = follow(Program::Bonnie(bonnie.clone()).stream(7).unwrap());
    assert_eq!(asked(&phases), [("", 0, size), ("getc", size, 0)]);
    bonnie.phases = vec!["gets".to_owned()];
    let error = Program::Bonnie(bonnie).stream(7).err().unwrap().to_string();
    assert!(error.contains("there is no phase 'gets'"), "{error}");
}

#[test]
fn bonnie_plus_plus_makes_looks_at_and_deletes_empty_files() {
    let mut bonnie = Bonnie::new(BonnieStyle::PlusPlus, 1 << 20);
    (bonnie.files, bonnie.seeks) = (50, 16);
    let phases = measured(&Program::Bonnie(bonnie));
    let names: Vec<&str> = phases.iter().map(|phase| phase.name.as_str()).collect();
    assert_eq!(&names[..3], ["putc", "block_out", "rewrite"]);
    let files: Vec<(&str, u64)> = phases[6..]
        .iter()
        .map(|phase| (phase.name.as_str(), phase.calls))
        .collect();
    assert_eq!(
        files,
        [
            ("seq_create", 100),
            ("seq_stat", 50),
            ("seq_delete", 50),
            ("ran_create", 100),
            ("ran_stat", 50),
            ("ran_delete", 50),
        ]
    );
}

#[test]
fn dd_moves_its_bytes_once() {
    // The last block may be shorter.
    let dd = |path, copying| {
        Program::Dd(Dd {
            bytes: 10 * 4096,
            block: 3 * 4096,
            path,
            copying,
            ending: Ending::Synced,
        })
    };
    let both = measured(&dd(Path::Buffered, Copying::Both));
    assert_eq!(asked(&both), [("write", 0, 40_960), ("read", 40_960, 0)]);
    assert_eq!(both[0].calls, 1 + 4 + 2);
    let read = follow(dd(Path::Direct, Copying::Read).stream(1).unwrap());
    assert_eq!(
        asked(&read),
        [("", 0, 40_960), ("", 0, 0), ("read", 40_960, 0)]
    );
    let write = measured(&dd(Path::Direct, Copying::Write));
    assert_eq!(asked(&write), [("write", 0, 40_960)]);
}

#[test]
fn iozone_takes_every_record_of_every_cell_once() {
    let iozone = IoZone {
        files: vec![64 << 10, 256 << 10],
        records: vec![4 << 10, 128 << 10],
        path: Path::Buffered,
        warmth: Warmth::Cold,
        ending: Ending::Closed,
    };
    // 128 KiB do not fit in 64.
    assert_eq!(
        iozone.cells(),
        [(65_536, 4096), (262_144, 4096), (262_144, 131_072)]
    );
    let program = Program::IoZone(iozone);
    let phases = measured(&program);
    assert_eq!(phases.len(), 18);
    for phase in &phases {
        let size = if phase.name.contains("-64K-") {
            65_536
        } else {
            262_144
        };
        assert_eq!(phase.read + phase.written, size, "{}", phase.name);
    }
    assert_eq!(phases[4].name, "random_read-64K-4K");
    // Each record once, in another order.
    let places = |name: &str| -> Vec<u64> {
        let calls = program.stream(7).unwrap();
        let own = calls.skip_while(|call| *call != Call::phase(name)).skip(2);
        own.map_while(|call| match call {
            Call::Read { at, .. } => Some(at),
            _ => None,
        })
        .collect()
    };
    let (ordered, mut random) = (places("read-64K-4K"), places("random_read-64K-4K"));
    assert_ne!(ordered, random);
    random.sort_unstable();
    assert_eq!(ordered, random);
}

#[test]
fn postmark_as_calls_moves_the_bytes_of_its_report() {
    let mut settings = Settings::pm1();
    (settings.number, settings.transactions) = (40, 200);
    settings.subdirectories = 3;
    let counts = Counts::of(Steps::new(&settings).unwrap());
    let phases = follow(Program::PostMark(Box::new(settings)).stream(0).unwrap());
    let names: Vec<&str> = phases.iter().map(|phase| phase.name.as_str()).collect();
    assert_eq!(names, ["", "creation", "transactions", "deletion"]);
    let read: u64 = phases.iter().map(|phase| phase.read).sum();
    let written: u64 = phases.iter().map(|phase| phase.written).sum();
    assert_eq!((read, written), (counts.bytes_read, counts.bytes_written));
}

#[test]
fn the_real_programs_are_told_the_same() {
    // As their manuals have it; what they cannot be told is left out.
    let told = |program: Program| program.command().expect("a command");
    let mut settings = Settings::pm2();
    settings.seed = 42;
    let text = told(Program::PostMark(Box::new(settings)));
    assert!(
        text.contains("set size 1 1000\nset seed 42\nrun\n"),
        "{text}"
    );
    let plus = Bonnie::new(BonnieStyle::PlusPlus, 256 << 20);
    assert_eq!(
        told(Program::Bonnie(plus)),
        "bonnie++ -d . -s 256M:8192 -n 16\n"
    );
    let dd = Dd {
        bytes: 1 << 20,
        block: 4096,
        path: Path::Direct,
        copying: Copying::Write,
        ending: Ending::Synced,
    };
    let text = "dd if=/dev/zero of=dd bs=4096 count=256 oflag=direct conv=fsync\n";
    assert_eq!(told(Program::Dd(dd)), text);
    let iozone = IoZone {
        files: vec![64 << 10],
        records: vec![4 << 10],
        path: Path::Direct,
        warmth: Warmth::Warm,
        ending: Ending::Closed,
    };
    let text = "iozone -i 0 -i 1 -i 2 -s 64 -r 4 -I\n";
    assert_eq!(told(Program::IoZone(iozone)), text);
}

#[test]
fn small_files_are_on_a_folder_what_they_are_in_numbers() {
    // The calls are lawful, count as settings say, and leave in a real folder the files that are
    // read in the last phase.
    let program = SmallFiles {
        files: 90,
        bytes_max: 9000,
        append_max: 3000,
        directories: 4,
    };
    let asked = follow(program.stream(7).into_iter());
    let asked: Vec<&Asked> = asked
        .iter()
        .filter(|phase| !phase.name.is_empty())
        .collect();
    let calls: Vec<u64> = asked.iter().map(|phase| phase.calls).collect();
    assert_eq!(
        calls,
        [4 + 90 * 3 + 1, 45 * 3 + 1, 45 + 1, 30 * 3 + 1, 75 * 3 + 1]
    );

    let root = std::env::temp_dir().join(format!("ashlar-lab-small-{}", std::process::id()));
    std::fs::create_dir(&root).unwrap();
    let phases = program.phases(7);
    Folder::new(&root).make(&phases[0]).unwrap();
    let mut folder = Folder::new(&root);
    folder.remember(&phases[0]).unwrap();
    for calls in &phases[1..] {
        folder.make(calls).unwrap();
    }
    let (mut files, mut bytes, mut folders) = (0, 0, vec![root.clone()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let metadata = entry.metadata().unwrap();
            if metadata.is_dir() {
                folders.push(entry.path());
            } else {
                (files, bytes) = (files + 1, bytes + metadata.len());
            }
        }
    }
    let refused = folder.make(&[Call::DropCaches]).unwrap_err();
    let gone = folder.make(&phases[2]).unwrap_err();
    std::fs::remove_dir_all(&root).unwrap();
    assert_eq!((files, bytes), (75, asked[4].read));
    assert!(refused.to_string().contains("DropCaches"), "{refused}");
    assert!(gone.to_string().starts_with("call 1, Delete"), "{gone}");
}
