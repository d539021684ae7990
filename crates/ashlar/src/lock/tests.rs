//! Locks exclude each other, end, and say who holds them.

use std::cell::Cell;
use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::thread::yield_now;
use std::time::{Duration, Instant};

use block::file::LockMode::{Exclusive, Shared};
use block::file::{LockOutcome, is_byte_locked, lock_byte, unlock_byte};

use super::holder::{
    HeldLock, are_shared_by, ashlars, byte_holders, has_lock, held, is_open_elsewhere,
};
use super::interrupt::Waiting;
use super::{
    FileId, HeldTarget, ImageUse, Interrupt, LockByte, OwnedGroup, StockName, Turns, claim_record,
    is_same, lock_images, lock_pvs, lock_stock, with_turns,
};
use crate::Kind;
use crate::tests::fixture::Folder;

const SHORT: Duration = Duration::from_millis(60);

fn open(folder: &Folder, name: &str) -> File {
    let options = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .clone();
    options.open(folder.path(name)).expect("opens")
}

/// Locks that wait for no clock: they are counted, and each pause is left to a function.
struct Pauses<F> {
    tries: Cell<u32>,
    pause: F,
}

impl<F: Fn() -> bool> Pauses<F> {
    fn new(pause: F) -> Rc<Self> {
        let tries = Cell::default();
        Rc::new(Self { tries, pause })
    }
}

impl<F: Fn() -> bool> Turns for Pauses<F> {
    fn tries(&self) {
        self.tries.set(self.tries.get() + 1);
    }

    fn waits(&self) -> bool {
        (self.pause)()
    }
}

/// The limit of a wait is over at its first pause; nobody asks again then.
fn no_pause() -> Rc<Pauses<impl Fn() -> bool>> {
    let is_over = Cell::new(false);
    Pauses::new(move || {
        assert!(!is_over.replace(true), "the limit is over");
        false
    })
}

/// A byte is locked per open file, all or none, and given back.
#[test]
fn byte_locks_exclude_and_end() {
    let folder = Folder::new();
    let ours = [("b", open(&folder, "b")), ("a", open(&folder, "a"))];
    let theirs = [("a", open(&folder, "a")), ("b", open(&folder, "b"))];
    let held = lock_pvs(&ours[..1], LockByte::Owner, Exclusive, SHORT).expect("is free");
    let error = lock_pvs(&theirs, LockByte::Owner, Exclusive, SHORT).expect_err("is held");
    assert_eq!(error.kind(), Kind::Locked);
    assert!(
        error
            .to_string()
            .starts_with("b is being served by another ashlar"),
        "{error}"
    );
    let commit = lock_pvs(&theirs, LockByte::Commit, Exclusive, SHORT).expect("another byte");
    let error = lock_pvs(&ours, LockByte::Commit, Exclusive, SHORT).expect_err("is held");
    assert!(error.to_string().contains("is being changed"), "{error}");
    drop((held, commit));
    let first = lock_pvs(&ours, LockByte::Owner, Shared, SHORT).expect("is free again");
    let second = lock_pvs(&theirs, LockByte::Owner, Shared, SHORT).expect("is shared");
    drop((first, second));
}

/// Stock's files are locked, waited for, and removed.
#[test]
fn stock_locks_exclude_and_are_removed() {
    let folder = Folder::new();
    let dir = folder.path("locks");
    let group = StockName::Group("vg0".to_owned());
    let held = lock_stock(&dir, &group, Exclusive, SHORT)
        .expect("is free")
        .expect("can lock");
    assert!(dir.join("V_vg0").exists());
    let error = lock_stock(&dir, &group, Shared, SHORT).expect_err("is held");
    assert_eq!(error.kind(), Kind::Locked);
    assert!(error.to_string().contains("V_vg0 is locked by "), "{error}");
    let global = lock_stock(&dir, &StockName::Global, Exclusive, SHORT).expect("is another");
    drop((held, global));
    assert_eq!(
        std::fs::read_dir(&dir).expect("lists").count(),
        0,
        "nothing is left behind"
    );
    let one = lock_stock(&dir, &group, Shared, SHORT)
        .expect("is free")
        .expect("can lock");
    let two = lock_stock(&dir, &group, Shared, SHORT)
        .expect("is shared")
        .expect("can lock");
    drop((one, two));
}

/// Only who holds a lock is named, not who waits for it.
#[test]
fn holders_are_found() {
    let locks = "1: FLOCK  ADVISORY  WRITE 12 08:01:99 0 EOF\n\
                 1: -> FLOCK  ADVISORY  WRITE 13 08:01:99 0 EOF\n\
                 2: OFDLCK ADVISORY  READ -1 08:01:99 5 5\n\
                 3: FLOCK  ADVISORY  READ 14 08:01:98 0 EOF\n";
    let lock = |pid, is_shared| HeldLock { pid, is_shared };
    let first = [lock(Some(12), false), lock(None, true)];
    assert_eq!(held(locks, "08:01:99"), first);
    assert_eq!(held(locks, "08:01:98"), [lock(Some(14), true)]);
    assert_eq!(held(locks, "08:01:97"), []);
}

/// A file is served only where it is locked, by ashlars alone, and by all of them shared.
#[test]
fn only_shared_locks_of_the_meant_processes_serve() {
    let lock = |pid, is_shared| HeldLock { pid, is_shared };
    let serves = |locks: &[HeldLock]| are_shared_by(locks, |pid| pid < 10);
    assert!(serves(&[lock(Some(1), true), lock(Some(2), true)]));
    assert!(!serves(&[]));
    assert!(!serves(&[lock(Some(1), false)]), "a writer");
    assert!(!serves(&[lock(Some(11), true)]), "somebody else");
    assert!(!serves(&[lock(None, true)]), "nobody knows who");
    assert!(!serves(&[lock(Some(1), true), lock(Some(2), false)]));
    assert!(!serves(&[lock(Some(11), true), lock(Some(1), true)]));
}

/// Who wants to change what an ashlar serves has the lock shared with it, and keeps others out; in
/// front of a lock of his own he waits in the queue, and a reader does not.
#[test]
fn writers_share_with_servers_and_queue() {
    let folder = Folder::new();
    let dir = folder.path("locks");
    let group = StockName::Group("vg0".to_owned());
    let long = Duration::from_mins(1);
    let server = lock_stock(&dir, &group, Shared, long).expect("is free");
    let writer = lock_stock(&dir, &group, Exclusive, long).expect("this process serves it");
    let reader = lock_stock(&dir, &group, Shared, long).expect("the writer shares it");
    drop((server, writer, reader));
    let queue = open(&folder, "locks/V_vg0:aux");
    queue.lock().expect("is free");
    let reader = lock_stock(&dir, &group, Shared, long).expect("readers do not queue");
    drop(reader);
    lock_stock(&dir, &group, Exclusive, SHORT)
        .map(drop)
        .expect_err("somebody is first");
}

/// The lock of the devices file is taken without a queue, and its file stays for who waits for it.
#[test]
fn the_lock_of_the_devices_file_stays() {
    let folder = Folder::new();
    let dir = folder.path("locks");
    let name = StockName::DevicesFile("system.devices".to_owned());
    let held = lock_stock(&dir, &name, Exclusive, SHORT).expect("is free");
    let names = || {
        let entries = std::fs::read_dir(&dir).expect("lists");
        let names = entries.map(|entry| entry.expect("an entry").file_name());
        names.collect::<Vec<_>>()
    };
    assert_eq!(names(), ["D_system.devices"]);
    lock_stock(&dir, &name, Exclusive, SHORT)
        .map(drop)
        .expect_err("is held");
    drop(held);
    assert_eq!(names(), ["D_system.devices"]);
    lock_stock(&dir, &name, Exclusive, Duration::from_mins(1))
        .map(drop)
        .expect("is free again");
}

/// A file is locked once, however many physical volumes lie in it: nobody waits for himself.
#[test]
fn a_file_with_two_physical_volumes_is_locked_once() {
    let folder = Folder::new();
    let both = [
        ("p.img:1", open(&folder, "p")),
        ("p.img:2", open(&folder, "p")),
    ];
    let held = lock_pvs(&both, LockByte::Commit, Exclusive, SHORT).expect("is free");
    let other = [("p.img:2", open(&folder, "p"))];
    let error = lock_pvs(&other, LockByte::Commit, Exclusive, SHORT).expect_err("is held");
    assert_eq!(error.kind(), Kind::Locked);
    drop(held);
    lock_pvs(&other, LockByte::Commit, Exclusive, SHORT)
        .map(drop)
        .expect("is free again");
}

/// Two who want the same files by other names and in another order never wait for each other: here
/// each has them as a group would that has its disks in the other group's reverse order.
#[test]
fn locks_are_taken_in_the_order_of_the_files() {
    let folder = Folder::new();
    drop((open(&folder, "x"), open(&folder, "y")));
    let rounds = |names: [&'static str; 2]| {
        let files = names.map(|name| (name, open(&folder, name)));
        move || {
            for round in 0..50 {
                let limit = Duration::from_secs(20);
                let held = lock_pvs(&files, LockByte::Commit, Exclusive, limit);
                drop(held.unwrap_or_else(|error| panic!("round {round}: {error}")));
            }
        }
    };
    let (one, other) = (rounds(["x", "y"]), rounds(["y", "x"]));
    std::thread::scope(|scope| {
        scope.spawn(one);
        scope.spawn(other);
    });
}

/// Who holds a byte is read from what the kernel says of an open file, ranges and all.
#[test]
fn holders_of_bytes_are_found() {
    let text = "pos:\t0\nlock:\t1: OFDLCK ADVISORY  READ -1 fe:00:722 100 101\n\
                lock:\t2: OFDLCK ADVISORY  WRITE -1 fe:00:722 4707762784463716352 EOF\n\
                lock:\t3: FLOCK  ADVISORY  WRITE 12 fe:00:722 0 EOF\nlock:\tnonsense\n";
    for (byte, wanted) in [
        (99, false),
        (100, true),
        (101, true),
        (102, false),
        (u64::MAX, true),
    ] {
        assert_eq!(has_lock(text, 722, byte), wanted, "{byte}");
    }
    assert!(!has_lock(text, 22, 100), "another file");
    let folder = Folder::new();
    let mine = [("i", open(&folder, "i"))];
    let held = lock_images(&mine, ImageUse::Writing).expect("is free");
    let theirs = [("i", open(&folder, "i"))];
    let error = lock_images(&theirs, ImageUse::Writing).expect_err("is held");
    assert_eq!(error.kind(), Kind::Locked);
    lock_images(&theirs, ImageUse::Reading)
        .map(drop)
        .expect("readers are in nobody's way");
    drop(held);
    lock_images(&theirs, ImageUse::Reading)
        .expect("is free")
        .keep_while_open();
    lock_images(&mine, ImageUse::Writing)
        .map(drop)
        .expect("nor when they stay");
}

/// The bytes are those that qemu locks and tests, by their numbers: what writes says 100, 101, 201
/// and 203, is stopped by 101, 103, 200 and 201, and gives all back; what reads says 100, and is
/// stopped by 200; what rewrites says everything of these, and is stopped by each.
#[test]
fn images_are_locked_as_qemu_does() {
    let folder = Folder::new();
    let of_qemu = open(&folder, "i");
    let ours = [("i", open(&folder, "i"))];
    let locked = || -> Vec<u64> {
        let bytes = (100..104).chain(200..204);
        bytes
            .filter(|byte| is_byte_locked(&of_qemu, *byte).expect("is tested"))
            .collect()
    };
    let uses = [
        (
            ImageUse::Writing,
            &[100, 101, 201, 203][..],
            [101, 103, 200, 201].as_slice(),
        ),
        (ImageUse::Reading, &[100], &[200]),
        (
            ImageUse::Rewriting,
            &[100, 101, 103, 200, 201, 203],
            &[100, 101, 103, 200, 201, 203],
        ),
    ];
    for (usage, says, stops) in uses {
        let held = lock_images(&ours, usage).expect("is free");
        assert_eq!(locked(), says, "{usage:?}");
        drop(held);
        assert_eq!(locked(), Vec::<u64>::new(), "{usage:?}");
        for byte in (100..104).chain(200..204) {
            let held = lock_byte(&of_qemu, byte, Shared).expect("is tried");
            assert_eq!(held, LockOutcome::Held);
            let outcome = lock_images(&ours, usage).map(drop);
            assert_eq!(outcome.is_err(), stops.contains(&byte), "{usage:?} {byte}");
            unlock_byte(&of_qemu, byte).expect("is given back");
        }
    }
}

/// What an owner holds is known by physical volume and by file, and no longer than it is held.
#[test]
fn owners_know_what_they_hold() {
    let folder = Folder::new();
    let file = |name| FileId::of(&open(&folder, name)).expect("is there");
    let uuid = |seed: u8| lvm2::Uuid::from_random(&[seed; 32]);
    let (one, other) = (file("one"), file("other"));
    assert_eq!(FileId::at(&folder.path("one")).expect("is there"), one);
    let owned = OwnedGroup::new(uuid(9));
    owned.hold(uuid(1), one);
    assert!(owned.holds_file(one) && !owned.holds_file(other));
    assert!(owned.holds_pv(uuid(1)) && !owned.holds_pv(uuid(2)));
    assert!(!owned.is_on_disks());
    owned.hold(uuid(2), FileId::Disk(1));
    assert!(owned.is_on_disks());
    owned.release(uuid(2));
    assert!(owned.holds_pv(uuid(1)) && !owned.holds_pv(uuid(2)) && !owned.is_on_disks());
    assert!(!owned.holds_stock("vg0"));
    owned.set_stock(Some("vg0"));
    assert!(owned.holds_stock("vg0") && !owned.holds_stock("vg1"));
    owned.set_stock(None);
    assert!(!owned.holds_stock("vg0"));
}

/// A record that was removed and made anew is another one, though it has the same name.
#[test]
fn records_are_told_from_their_successors() {
    let parent = Folder::new();
    let (folder, path) = (parent.path("one"), parent.path("one/record"));
    let first = claim_record(&folder)
        .expect("can be made")
        .expect("is free");
    assert!(
        claim_record(&folder).expect("is there").is_none(),
        "it is held"
    );
    assert!(is_same(&first, &path));
    std::fs::remove_file(&path).expect("is removed");
    assert!(!is_same(&first, &path), "it is gone");
    let second = claim_record(&folder)
        .expect("can be made")
        .expect("is free");
    assert!(is_same(&second, &path) && !is_same(&first, &path));
}

/// What stands in the way of a record is told at once; a folder that comes and goes, so that each
/// look at it finds something else, is no error.
#[test]
fn a_record_is_claimed_while_its_folder_comes_and_goes() {
    let parent = Folder::new();
    let folder = parent.path("one");
    std::fs::write(&folder, "").expect("is written");
    let refused = claim_record(&folder).expect_err("a file is in the way");
    assert_eq!(refused.kind(), std::io::ErrorKind::AlreadyExists);
    std::fs::remove_file(&folder).expect("is removed");
    let over = std::sync::atomic::AtomicBool::new(false);
    let order = std::sync::atomic::Ordering::SeqCst;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(order) {
                let _ = std::fs::create_dir(&folder);
                let _ = std::fs::remove_dir(&folder);
            }
        });
        let claims: Vec<_> = (0..2000)
            .map(|_| {
                let claimed = claim_record(&folder);
                let _ = std::fs::remove_file(folder.join("record"));
                claimed
            })
            .collect();
        over.store(true, order);
        let failed = claims.into_iter().find_map(Result::err);
        assert!(failed.is_none(), "{failed:?}");
    });
}

/// What is kept stays locked as long as the file is open, and no longer.
#[test]
fn kept_locks_end_with_the_file() {
    let folder = Folder::new();
    let of_qemu = open(&folder, "i");
    let ours = [("i", open(&folder, "i"))];
    let is_read = || is_byte_locked(&of_qemu, 100).expect("is tested");
    lock_images(&ours, ImageUse::Reading)
        .expect("is free")
        .keep_while_open();
    assert!(is_read());
    drop(ours);
    assert!(!is_read());
}

/// A lock whose file is gone from its path leaves the file there that somebody else has made.
#[test]
fn files_of_other_locks_stay() {
    let folder = Folder::new();
    let (dir, path) = (folder.path("locks"), folder.path("locks/V_vg0"));
    let name = StockName::Group("vg0".to_owned());
    let lock = || lock_stock(&dir, &name, Exclusive, SHORT).expect("is free");
    let held = lock();
    std::fs::remove_file(&path).expect("is there");
    let other = lock();
    drop(held);
    assert!(path.exists());
    drop(other);
    assert!(!path.exists());
}

/// A shell that waits with the file open, until this is dropped; its name is that of `program`.
fn opener(folder: &Folder, program: &str, file: &File) -> Child {
    let path = folder.path(program);
    std::os::unix::fs::symlink("/bin/sh", &path).expect("is made");
    let file = file.try_clone().expect("is open");
    Command::new(path)
        .args(["-c", "read line"])
        .stdin(Stdio::piped())
        .stdout(file)
        .spawn()
        .expect("runs")
}

/// Of processes that have a file open, ashlars are named; of those that hold a byte of it, all.
#[test]
fn processes_are_named() {
    for (program, is_ashlar) in [("ashlar", true), ("reader", false)] {
        let folder = Folder::new();
        let file = open(&folder, "i");
        let mut child = opener(&folder, program, &file);
        let name = format!("process {}", child.id());
        let names = |byte| {
            let words = ashlars(&file, byte);
            words.split(['(', ',', ')']).any(|word| word.trim() == name)
        };
        // A process that is just being made has every file open.
        let mut tries = 0..1000;
        assert!(tries.any(|_| is_open_elsewhere(&file) == is_ashlar));
        assert_eq!(names(7), is_ashlar);
        let take = |byte| lock_byte(&file, byte, Shared).expect("is tried");
        assert_eq!([take(7), take(201)], [LockOutcome::Held; 2]);
        assert!(byte_holders(&file, &[6, 7]).contains(&child.id()));
        assert!(!byte_holders(&file, &[6, 8]).contains(&child.id()));
        assert!(names(7));
        let theirs = [("i", open(&folder, "i"))];
        let error = lock_images(&theirs, ImageUse::Writing).expect_err("is in use");
        let holder = format!("i is in use by {program} ({name})");
        assert!(error.to_string().starts_with(&holder), "{error}");
        drop(child.stdin.take());
        child.wait().expect("ends");
        assert!(!names(7));
    }
}

/// A file that is written from its beginning is made, or as it was, and nobody else's meanwhile.
#[test]
fn targets_are_held() {
    let folder = Folder::new();
    std::fs::write(folder.path("old"), "as it was").expect("is written");
    for (name, content) in [("old", "as it was"), ("new", "")] {
        let path = folder.path(name);
        let held = HeldTarget::open(&path).expect("is free");
        assert!(!held.is_disk());
        assert_eq!(std::fs::read_to_string(&path).expect("is there"), content);
        let error = HeldTarget::open(&path).expect_err("is held");
        assert_eq!(error.kind(), Kind::Locked, "{error}");
        drop(held);
        HeldTarget::open(&path).map(drop).expect("is free again");
    }
    let error = HeldTarget::open(&folder.path("")).expect_err("is a folder");
    let text = error.to_string();
    assert!(text.starts_with("Could not open "), "{text}");
}

/// A block device is a disk, held alone like the file that lies below it.
#[test]
fn targets_may_be_disks() {
    let folder = Folder::new();
    let image = folder.path("disk");
    open(&folder, "disk").set_len(1 << 20).expect("has a size");
    let losetup = |options: &[&str], path| {
        let made = Command::new("losetup").args(options).arg(path).output();
        let made = made.expect("losetup runs");
        assert!(
            made.status.success(),
            "a loop device: run the tests as root"
        );
        String::from_utf8(made.stdout).expect("a path")
    };
    let node = losetup(&["--find", "--show"], &image);
    let node = Path::new(node.trim());
    let held = HeldTarget::open(node);
    // As long as it is held it stays.
    losetup(&["--detach"], &node.to_owned());
    let held = held.expect("is free");
    assert!(held.is_disk());
    let open = |path| with_turns(no_pause(), || HeldTarget::open(path));
    let error = open(node).expect_err("is held");
    assert_eq!(error.kind(), Kind::Device, "{error}");
    let error = open(&image).expect_err("is held, too");
    assert_eq!(error.kind(), Kind::Locked, "{error}");
    drop(held);
    open(&image).map(drop).expect("is free again");
}

/// Who has just a look at an image is waited for.
#[test]
fn images_are_waited_for() {
    let folder = Folder::new();
    let ours = [("i", open(&folder, "i"))];
    let of_qemu = open(&folder, "i");
    let held = lock_byte(&of_qemu, 101, Shared).expect("is tried");
    assert_eq!(held, LockOutcome::Held);
    let end = Pauses::new(move || unlock_byte(&of_qemu, 101).is_ok());
    let locks = with_turns(end, || lock_images(&ours, ImageUse::Writing));
    locks.map(drop).expect("is given back meanwhile");
}

/// Where somebody has a byte alone that is to be shared, the image is not had, nor any byte of it,
/// though nobody says what would be in the way.
#[test]
fn bytes_of_images_have_to_be_shared() {
    let folder = Folder::new();
    let ours = [("i", open(&folder, "i"))];
    let theirs = open(&folder, "i");
    for (usage, alone) in [
        (ImageUse::Reading, 100),
        (ImageUse::Writing, 100),
        (ImageUse::Writing, 203),
    ] {
        let held = lock_byte(&theirs, alone, Exclusive).expect("is tried");
        assert_eq!(held, LockOutcome::Held);
        let locks = with_turns(no_pause(), || lock_images(&ours, usage));
        let error = locks.map(drop).expect_err("is not to be had");
        assert_eq!(error.kind(), Kind::Locked, "{error}");
        let is_locked = |byte| is_byte_locked(&theirs, byte).expect("is tested");
        let mut bytes = (100..104).chain(200..204);
        assert_eq!(bytes.find(|byte| is_locked(*byte)), None, "{usage:?}");
        unlock_byte(&theirs, alone).expect("is given back");
    }
}

/// Whoever decides which thread goes on is asked at each lock, the one of the queue included.
#[test]
fn each_lock_is_a_turn() {
    let folder = Folder::new();
    let files = ["a", "b"].map(|name| (name, open(&folder, name)));
    let group = StockName::Group("vg0".to_owned());
    let turns = no_pause();
    with_turns(turns.clone(), || {
        let stock = |mode| lock_stock(&folder.path("locks"), &group, mode, SHORT).map(drop);
        stock(Exclusive).expect("is free");
        assert_eq!(turns.tries.take(), 2);
        stock(Shared).expect("is free");
        assert_eq!(turns.tries.take(), 1);
        let owner = lock_pvs(&files, LockByte::Owner, Exclusive, SHORT);
        owner.map(drop).expect("is free");
        assert_eq!(turns.tries.take(), 2);
        let images = lock_images(&files, ImageUse::Writing);
        images.map(drop).expect("is free");
        assert_eq!(turns.tries.take(), 2);
    });
}

/// Who locks a file that was removed before he had it takes the one that is there now: two who do
/// nothing else never have it both.
#[test]
fn removed_files_are_not_locked() {
    let folder = Folder::new();
    let (dir, path) = (folder.path("locks"), folder.path("locks/V_vg0"));
    let name = StockName::Group("vg0".to_owned());
    let rounds = || {
        let pauses = Pauses::new(|| {
            yield_now();
            true
        });
        with_turns(pauses, || {
            for round in 0..500 {
                let held = lock_stock(&dir, &name, Exclusive, SHORT).expect("is waited for");
                assert!(path.exists(), "round {round}");
                drop(held);
            }
        });
    };
    std::thread::scope(|scope| {
        scope.spawn(rounds);
        scope.spawn(rounds);
    });
}

/// While somebody waits for a lock no signal ends the process by itself, and then it may again.
#[test]
fn signals_end_who_does_not_wait() {
    let may_die = || Interrupt::of_process().may_die().load(Ordering::SeqCst);
    let is_kept = || {
        let _waiting = Waiting::begin();
        !may_die()
    };
    // Other tests wait at the same time, and stop.
    assert!((0..1000).any(|_| is_kept()));
    let start = Instant::now();
    while !may_die() {
        assert!(start.elapsed() < Duration::from_mins(1), "somebody waits");
        yield_now();
    }
}
