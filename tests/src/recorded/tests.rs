//! The record is read as strace writes it.

use std::path::Path;

use super::{calls, durable_at};

#[test]
fn calls_that_were_cut_in_two_are_joined() {
    // A write that a flush of another thread overtakes is not covered by that flush.
    let disk = Path::new("/tmp/d 0.img");
    let text = "10 pwrite64(5</tmp/d 0.img>, \"\"..., 4096, 8192 <unfinished ...>\n\
                11 fdatasync(5</tmp/d 0.img> <unfinished ...>\n\
                10 <... pwrite64 resumed>) = 4096\n\
                11 <... fdatasync resumed>) = 0\n";
    let early = calls(text);
    assert_eq!(early.len(), 2);
    assert!(early[0].changes(disk, 8192) && early[0].changes(disk, 12287));
    assert!(!early[0].changes(disk, 12288) && !early[0].changes(Path::new("/tmp/d"), 8192));
    assert!(durable_at(&early, disk, 8192).is_err());
    let later = format!("{text}10 fdatasync(5</tmp/d 0.img>) = 0\n");
    assert_eq!(durable_at(&calls(&later), disk, 8192), Ok((2, 4)));
}

#[test]
fn durable_writes_and_answers_are_told_apart() {
    // RWF_DSYNC needs no flush; a failed call did nothing; an answer goes to FUSE or a socket.
    let disk = Path::new("/d");
    let text = "1 pwritev2(5</d>, [{iov_base=\"\"..., iov_len=512}], 1, 512, RWF_DSYNC) = 512\n\
                1 writev(4</dev/fuse>, [{iov_base=\"\"..., iov_len=16}], 2) = 24\n\
                1 fallocate(5</d>, FALLOC_FL_PUNCH_HOLE, 4096, 4096) = -1 EOPNOTSUPP (no)\n\
                1 fallocate(5</d>, FALLOC_FL_PUNCH_HOLE, 8192, 4096) = 0\n\
                1 sendmsg(9<socket:[77]>, {msg_name=NULL}, MSG_NOSIGNAL) = 16\n";
    let calls = calls(text);
    assert_eq!(durable_at(&calls, disk, 512), Ok((0, 0)));
    assert!(durable_at(&calls, disk, 4096).is_err());
    assert!(calls[3].changes(disk, 8192));
    let answers: Vec<bool> = calls.iter().map(super::Call::answers).collect();
    assert_eq!(answers, [false, true, false, false, true]);
}
