//! Refusals lead to other ways, and errors say what was being done, without any kernel.

use super::{Next, Task};
use crate::engine::Action;
use crate::file::device::Shared;
use crate::file::{Access, Caching, FileDevice};
use crate::{Buffer, Durability, Error, Kind, Operation, Range, Request, Unmap};

/// A file whose answers this test makes up.
fn shared() -> std::sync::Arc<Shared> {
    let flags = rustix::fs::MemfdFlags::CLOEXEC;
    let file = rustix::fs::memfd_create("made-up", flags).unwrap();
    rustix::fs::ftruncate(&file, 8 << 20).unwrap();
    let device = FileDevice::from_fd(file, "made-up", Access::ReadWrite, Caching::Probe);
    device.unwrap().shared()
}

/// Plays the kernel: each call must be the expected one, and gets the given answer.
fn play(shared: &Shared, request: Request, script: &[(Action, i32)]) -> Result<(), Error> {
    let mut task = Task::new(request, shared);
    for (index, &(action, answer)) in script.iter().enumerate() {
        assert_eq!(task.action(shared), action, "call {index}");
        match task.advance(shared, answer) {
            Next::Call => assert!(index + 1 < script.len(), "another call is expected"),
            Next::Finished(result) => {
                assert_eq!(index + 1, script.len(), "it ends too early");
                return result;
            }
        }
    }
    unreachable!("a script has a call")
}

fn write(durability: Durability) -> Request {
    Request::write(0, 4096, durability, Buffer::zeroed(8192))
}

fn zeros(unmap: Unmap, durability: Durability) -> Request {
    let range = Range::new(0, 3 << 20);
    let mut request = Request::bare(0, Operation::WriteZeroes(unmap), range);
    request.durability = durability;
    request
}

const PUNCH: Action = Action::Allocate(super::PUNCH);
const ZERO_RANGE: Action = Action::Allocate(super::ZERO_RANGE);
const REFUSED: i32 = -libc::EOPNOTSUPP;
const PIECE: i32 = super::FILL_PIECE as i32;

#[test]
fn transfers_go_on_where_they_stopped() {
    // Interrupted and short transfers are continued; one that does not move ends with an error.
    let shared = shared();
    let script = [
        (Action::Write, 4096),
        (Action::Write, -libc::EINTR),
        (Action::Write, 4096),
    ];
    play(&shared, write(Durability::Volatile), &script).unwrap();
    let stuck = [(Action::Write, 4096), (Action::Write, 0)];
    let error = play(&shared, write(Durability::Volatile), &stuck).unwrap_err();
    assert_eq!(error.kind(), Kind::Io);
    assert!(error.to_string().contains("at byte 8192"), "{error}");
}

/// Past the page cache a transfer goes on at whole blocks only.
#[test]
fn direct_transfers_stop_within_a_block() {
    let mut shared = shared();
    std::sync::Arc::get_mut(&mut shared).unwrap().read = crate::file::probe::Path::Engine;
    assert!(shared.is_direct());
    let whole = [(Action::Write, 4096), (Action::Write, 4096)];
    play(&shared, write(Durability::Volatile), &whole).unwrap();
    let error = play(
        &shared,
        write(Durability::Volatile),
        &[(Action::Write, 100)],
    )
    .unwrap_err();
    assert!(error.to_string().contains("at byte 4196"), "{error}");
}

#[test]
fn durable_writes_without_the_flag_are_flushed() {
    // A file that knows no durable write gets a write and a sync, and is not asked again.
    let shared = shared();
    let (durable, plain) = (Action::WriteDurable, Action::Write);
    play(&shared, write(Durability::Fua), &[(durable, 8192)]).unwrap();
    let first = [(durable, REFUSED), (plain, 8192), (Action::SyncData, 0)];
    play(&shared, write(Durability::Fua), &first).unwrap();
    let later = [(plain, 8192), (Action::SyncData, -libc::EIO)];
    let error = play(&shared, write(Durability::Fua), &later).unwrap_err();
    assert_eq!(error.kind(), Kind::Io);
    assert!(
        error.to_string().contains("cannot flush made-up"),
        "{error}"
    );
}

#[test]
fn zeros_are_written_only_when_nothing_else_is_left() {
    // Hole, then zeroed range, then data; the file is asked once for each.
    let shared = shared();
    let (allowed, forbidden) = (Unmap::Allowed, Unmap::Forbidden);
    let volatile = Durability::Volatile;
    play(&shared, zeros(forbidden, volatile), &[(ZERO_RANGE, 0)]).unwrap();
    let punched = [(PUNCH, 0), (Action::SyncData, 0)];
    play(&shared, zeros(allowed, Durability::Fua), &punched).unwrap();
    let fill = (Action::Write, PIECE);
    let refused = [(PUNCH, REFUSED), (ZERO_RANGE, REFUSED), fill, fill, fill];
    play(&shared, zeros(allowed, volatile), &refused).unwrap();
    play(&shared, zeros(allowed, volatile), &[fill, fill, fill]).unwrap();
    play(&shared, zeros(forbidden, volatile), &[fill, fill, fill]).unwrap();
}

#[test]
fn a_refused_discard_is_done() {
    // Advice that cannot be taken is no failure, and is not given again; a broken disk is one.
    let shared = shared();
    let discard = || Request::bare(0, Operation::Discard, Range::new(0, 4096));
    let error = play(&shared, discard(), &[(PUNCH, -libc::EIO)]).unwrap_err();
    assert!(error.to_string().contains("cannot discard"), "{error}");
    play(&shared, discard(), &[(PUNCH, REFUSED)]).unwrap();
    assert!(Task::new(discard(), &shared).done_at_once(&shared));
}

#[test]
fn a_full_disk_is_named_with_its_remedy() {
    // Running out of space says where, and what to do.
    let shared = shared();
    let script = [(Action::Write, -libc::ENOSPC)];
    let error = play(&shared, write(Durability::Volatile), &script).unwrap_err();
    assert_eq!(error.kind(), Kind::NoSpace);
    let text = error.to_string();
    assert!(
        text.contains("made-up") && text.contains("free some space"),
        "{text}"
    );
}

#[test]
fn a_flush_asks_the_kernel() {
    // It is a call, whatever the file lacks, and the ring makes it an fsync of the data; a durable
    // write carries RWF_DSYNC there.
    let shared = shared();
    let mut task = Task::new(Request::flush(0), &shared);
    assert!(!task.done_at_once(&shared));
    let entry = task.call(&shared).entry().unwrap();
    let shown = format!("{entry:?}");
    // IORING_OP_FSYNC, and IORING_FSYNC_DATASYNC in the flags' place.
    assert!(shown.contains("op_code: 3,"), "{shown}");
    play(&shared, Request::flush(0), &[(Action::SyncData, 0)]).unwrap();
    let failed = play(
        &shared,
        Request::flush(0),
        &[(Action::SyncData, -libc::EIO)],
    );
    assert_eq!(failed.unwrap_err().kind(), Kind::Io);
    let mut durable = Task::new(write(Durability::Fua), &shared);
    assert_eq!(durable.action(&shared), Action::WriteDurable);
    assert!(durable.call(&shared).entry().is_some());
}

#[test]
fn what_is_refused_without_a_flag_is_not_asked_again() {
    // A plain write that is not supported, and a durable one that is wrong, fail at once; the file
    // is still asked for durable writes.
    let shared = shared();
    let refused = [(Action::Write, REFUSED)];
    let error = play(&shared, write(Durability::Volatile), &refused).unwrap_err();
    assert!(
        error.to_string().contains("cannot write 8192 bytes"),
        "{error}"
    );
    let wrong = [(Action::WriteDurable, -libc::EINVAL)];
    let error = play(&shared, write(Durability::Fua), &wrong).unwrap_err();
    assert!(
        error.to_string().contains("cannot write 8192 bytes"),
        "{error}"
    );
    play(
        &shared,
        write(Durability::Fua),
        &[(Action::WriteDurable, 8192)],
    )
    .unwrap();
    let read = Request::read(0, 4096, Buffer::zeroed(512));
    let error = play(&shared, read, &[(Action::Read, -libc::EIO)]).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("cannot read 512 bytes at byte 4096"),
        "{error}"
    );
}
