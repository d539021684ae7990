//! What a client was promised survives a power cut at any moment, over the whole path in one
//! process: NBD client, server, volume, simulated disks; and the kernel, FUSE, volume, disks.
//!
//! The disks keep what was not flushed in a cache, and lose any part of it in a cut; requests
//! overtake each other. While clients work, somebody cuts the power of copies of the disks again
//! and again, and an owner exchanges the volume's table. A flush that is answered and not made, a
//! forgotten FUA, a flush that is believed to cover what came later: each is found here (the table
//! in `docs/crash.md` says which was tried).
//!
//! A binary of its own: it opens files that it serves itself, which no child may inherit.

mod client;
mod world;

use std::fs::{File, OpenOptions};
use std::io::IoSlice;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::ScopedJoinHandle;
use std::time::Duration;

use ashlar_export::fuse::{FuseFile, Options};
use block::sim::Random;
use nbd::client::{Address, NbdDevice, ReconnectingDevice};
use nbd::server::{Access, Export, Exports, Listener, Server};
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::{ReadWriteFlags, pwritev2};

use client::Client;
use world::{Model, SLOT, SLOTS, World, content, lock, path};

/// Clients at the same time.
const CLIENTS: u64 = 3;
/// What each of them does, again and again until there were enough cuts.
const STEPS: u64 = 1500;
/// The least cuts: a loaded machine makes few of them while clients do what they have to.
const CUTS_MIN: u64 = 60;

/// Serves the volume of `world` at `path`.
fn serve(world: &World, path: &Path) -> Server {
    let exports = Exports::new();
    exports
        .add(Export {
            name: "v".to_owned(),
            description: String::new(),
            access: Access::ReadWrite,
            device: Arc::new(world.volume.clone()),
        })
        .unwrap();
    let server = Server::new(exports).unwrap();
    server.listen(Listener::unix(path).unwrap()).unwrap();
    server
}

/// Ends the exchanges when it goes, also when a judgement fails.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs `work` for each client on a thread, while power is cut and tables are exchanged.
fn run(world: &World, model: &Mutex<Model>, seed: u64, work: impl Fn(u64) + Sync) {
    let over = AtomicBool::new(false);
    let cuts = AtomicU64::new(0);
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|number| {
                let (work, cuts) = (&work, &cuts);
                scope.spawn(move || {
                    work(number);
                    while cuts.load(Ordering::Relaxed) < CUTS_MIN {
                        work(number);
                    }
                })
            })
            .collect();
        let over = Over(&over);
        let exchanging = over.0;
        scope.spawn(move || {
            while !exchanging.load(Ordering::Relaxed) {
                world.exchange();
                std::thread::sleep(Duration::from_micros(300));
            }
        });
        let mut random = Random::new(seed);
        while !clients.iter().all(ScopedJoinHandle::is_finished) {
            // What the model says was promised before the cut; what happens after it is not seen.
            let (known, images) = {
                let model = lock(model);
                (model.clone(), world.cut(&mut random))
            };
            known.judge(images);
            cuts.fetch_add(1, Ordering::Relaxed);
        }
    });
    // Everything was flushed at the end.
    let left = world.cut(&mut Random::new(seed));
    lock(model).judge(left);
}

/// NBD clients on connections of their own: FUA and FLUSH, also of what other clients wrote.
#[test]
fn nbd_clients_lose_nothing_that_was_promised() {
    for seed in [1, 2] {
        let (world, model, path) = (World::blank(seed), Model::new(), path());
        let server = serve(&world, &path);
        let uri = Address::unix(&path, "v").to_string();
        run(&world, &model, seed, |number| {
            let device = NbdDevice::open(&uri).unwrap();
            let seed = seed * 100 + number;
            let mut client = Client::new(&device, &model, number, CLIENTS, seed).unwrap();
            (0..STEPS).for_each(|_| client.step());
            client.finish();
        });
        server.stop(Duration::ZERO);
    }
}

/// A client that outlasts its server: the machine with server and disks loses power, again and
/// again, and what the client wrote and had not flushed is there after its next flush.
#[test]
fn a_client_repeats_what_its_server_lost() {
    let (model, path) = (Model::new(), path());
    let mut random = Random::new(5);
    let mut world = World::blank(0);
    let mut server = serve(&world, &path);
    let device =
        ReconnectingDevice::open(Address::unix(&path, "v"), Duration::from_mins(1)).unwrap();
    let mut client = Client::new(&device, &model, 0, 1, 5).unwrap();
    let mut losses = 0;
    for step in 0..4 * STEPS {
        client.step();
        if random.chance(1, 8) {
            lock(&model).judge(world.cut(&mut random));
        }
        if random.chance(1, 100) {
            // No more answers leave from here on.
            server.stop(Duration::ZERO);
            drop(server);
            world = World::new(world.cut(&mut random), step);
            server = serve(&world, &path);
            losses += 1;
        }
    }
    client.finish();
    assert!(losses > 20, "only {losses} losses");
    lock(&model).judge(world.cut(&mut random));
    drop(client);
    drop(device);
    server.stop(Duration::ZERO);
}

/// What one program does to its slots of a served file, by system calls.
fn use_file(path: &Path, model: &Mutex<Model>, number: u64, seed: u64) {
    let open = |flags| -> File {
        let mut options = OpenOptions::new();
        options.read(true).write(true).custom_flags(flags);
        options.open(path).unwrap()
    };
    let (plain, dsync, sync) = (open(0), open(libc::O_DSYNC), open(libc::O_SYNC));
    let mut random = Random::new(seed);
    for _ in 0..STEPS / 2 {
        let slot = random.below(SLOTS / CLIENTS) * CLIENTS + number;
        let start = slot * SLOT;
        let kind = random.below(10);
        if kind < 2 {
            let covered = lock(model).covered();
            if kind == 0 {
                plain.sync_all().unwrap();
            } else {
                plain.sync_data().unwrap();
            }
            lock(model).flushed(&covered);
            continue;
        }
        let is_zeros = kind == 2;
        let version = lock(model).begin(slot, is_zeros);
        let data = content(slot, version);
        match kind {
            2 => fallocate(&plain, FallocateFlags::ZERO_RANGE, start, SLOT).unwrap(),
            3 => dsync.write_all_at(&data, start).unwrap(),
            4 => sync.write_all_at(&data, start).unwrap(),
            5 => {
                let flags = ReadWriteFlags::DSYNC;
                pwritev2(&plain, &[IoSlice::new(&data)], start, flags).unwrap();
            }
            _ => plain.write_all_at(&data, start).unwrap(),
        }
        lock(model).answer(slot, version, (3..=5).contains(&kind));
    }
    let covered = lock(model).covered();
    plain.sync_all().unwrap();
    lock(model).flushed(&covered);
}

/// Programs that write a file through FUSE: every way to ask for durability.
#[test]
fn programs_lose_nothing_that_was_promised() {
    let (world, model, path) = (World::blank(7), Model::new(), path());
    File::create(&path).unwrap();
    let options = Options {
        access: ashlar_export::fuse::Access::ReadWrite,
        threads: 2,
    };
    let file = FuseFile::serve(Arc::new(world.volume.clone()), &path, &options).unwrap();
    run(&world, &model, 7, |number| {
        use_file(&path, &model, number, 70 + number);
    });
    file.stop().unwrap();
    std::fs::remove_file(&path).unwrap();
}
