//! The same calls on the model and on a real file system: how many blocks each writes and reads.
//!
//! `ext3` prints what the model does, phase by phase; `ext3 DIRECTORY PHASE` makes the calls of one
//! phase there. Counting is the caller's: a fresh `mkfs.ext3 -b 4096` of 20 GiB, for each phase
//! mounted (`strictatime,inode_readahead_blks=1`, data ordered, no delayed allocation), the phase,
//! `sync`, unmounted, and the difference of `/sys/block/DEVICE/stat`.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;

use lab::component::Component;
use lab::disk::capped::{Cap, Capped};
use lab::filesystem::{BLOCK, FileSystem, LogPlace, Node, Options};

const PHASES: [&str; 5] = ["create", "append", "delete", "again", "read"];

/// One call, or rather a few.
#[derive(Debug, Clone, Copy)]
enum Step {
    Create(u32, u64),
    Append(u32, u64, u64),
    Delete(u32),
    Read(u32, u64),
}

/// A generator of the simplest kind: the same everywhere.
struct Draw(u64);

impl Draw {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % limit
    }
}

/// What is done in each phase.
fn plan() -> Vec<Vec<Step>> {
    let mut draw = Draw(42);
    let mut sizes: Vec<Option<u64>> = (0..3000).map(|_| Some(1 + draw.below(100_000))).collect();
    let create = |sizes: &[Option<u64>], from: usize| -> Vec<Step> {
        let numbered = sizes.iter().enumerate().skip(from);
        let steps = numbered.map(|(number, size)| Step::Create(number as u32, size.unwrap_or(0)));
        steps.collect()
    };
    let mut phases = vec![create(&sizes, 0)];
    let mut appended = Vec::new();
    for _ in 0..1500 {
        let (number, bytes) = (draw.below(3000) as usize, 1 + draw.below(20_000));
        let size = sizes[number].as_mut().expect("all exist");
        appended.push(Step::Append(number as u32, *size, bytes));
        *size += bytes;
    }
    phases.push(appended);
    let mut deleted = Vec::new();
    while deleted.len() < 1500 {
        let number = draw.below(3000);
        if sizes[number as usize].take().is_some() {
            deleted.push(Step::Delete(number as u32));
        }
    }
    phases.push(deleted);
    sizes.extend((0..1000).map(|_| Some(1 + draw.below(100_000))));
    phases.push(create(&sizes, 3000));
    let read = sizes.iter().enumerate();
    let read = read.filter_map(|(number, size)| Some(Step::Read(number as u32, (*size)?)));
    phases.push(read.collect());
    phases
}

fn name(number: u32) -> String {
    format!("file{number:06}")
}

fn on_model(system: &mut FileSystem, step: Step) {
    let root = Node::ROOT;
    match step {
        Step::Create(number, bytes) => {
            let file = system.create(root, &name(number)).expect("a new name");
            system.write(file, 0, bytes).expect("room");
            system.close(file);
        }
        Step::Append(number, at, bytes) => {
            let file = system.open(root, &name(number)).expect("a file");
            system.write(file, at, bytes).expect("room");
            system.close(file);
        }
        Step::Delete(number) => system.delete(root, &name(number)).expect("a file"),
        Step::Read(number, bytes) => {
            let file = system.open(root, &name(number)).expect("a file");
            system.read(file, 0, bytes);
            system.close(file);
        }
    }
}

fn on_directory(directory: &Path, step: Step) -> std::io::Result<()> {
    let path = |number: u32| directory.join(name(number));
    let bytes_of = |bytes: u64| vec![7; bytes as usize];
    match step {
        Step::Create(number, bytes) => File::create(path(number))?.write_all(&bytes_of(bytes)),
        Step::Append(number, _, bytes) => {
            let mut file = OpenOptions::new().append(true).open(path(number))?;
            file.write_all(&bytes_of(bytes))
        }
        Step::Delete(number) => fs::remove_file(path(number)),
        Step::Read(number, _) => File::open(path(number))?
            .read_to_end(&mut Vec::new())
            .map(drop),
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let plan = plan();
    if let [directory, phase] = words.as_slice() {
        let index = PHASES
            .iter()
            .position(|name| name == phase)
            .expect("a phase");
        for &step in &plan[index] {
            on_directory(Path::new(directory), step).expect("a call");
        }
        return;
    }
    let device = Capped::new(Cap {
        blocks: 20 << 21,
        operations: None,
        bytes: Some(2 << 30),
        burst_ns: 0,
        latency_ns: 20_000,
    });
    let options = Options {
        log_place: LogPlace::Start,
        memory_bytes: 4 << 30,
        ..Options::default()
    };
    let device = Box::new(device.expect("a possible volume"));
    let mut system = FileSystem::new(device, options).expect("it fits");
    println!(
        "{:8} {:>9} {:>9}   blocks of each class",
        "phase", "read", "written"
    );
    for (phase, steps) in PHASES.iter().zip(plan) {
        system.drop_caches();
        let before = system.account();
        for step in steps {
            on_model(&mut system, step);
        }
        system.sync();
        let account = system.account().since(&before);
        let sum =
            |of: &dyn Fn(Component) -> u64| Component::ALL.into_iter().map(of).sum::<u64>() / BLOCK;
        let read = |class: Component| account.class(class).read_bytes;
        let written = |class: Component| account.class(class).written_bytes;
        print!("{phase:8} {:9} {:9}  ", sum(&read), sum(&written));
        for class in Component::ALL {
            print!(
                " {} {}+{}",
                class.name(),
                read(class) / BLOCK,
                written(class) / BLOCK
            );
        }
        println!();
    }
}
