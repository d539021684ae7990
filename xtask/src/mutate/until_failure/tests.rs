//! A test program ends with its first failure, or with its time.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::{Ended, watch};

fn ended(script: &str, limit: Duration) -> Ended {
    let mut command = Command::new("sh");
    let command = command.args(["-c", script]).stdout(Stdio::piped());
    let mut child = command.spawn().expect("there is a shell");
    let ended = watch(&mut child, Instant::now() + limit);
    let _ = child.kill();
    let _ = child.wait();
    ended
}

/// What waits for ever after a failure, or holds the pipe, is not waited for.
#[test]
fn the_first_failure_ends_it() {
    let long = Duration::from_mins(10);
    assert_eq!(ended("echo 'test a ... ok'", long), Ended::Passed);
    assert_eq!(ended("exit 1", long), Ended::Failed);
    let waits = "echo 'test a ... FAILED'; exec sleep 1000";
    assert_eq!(ended(waits, long), Ended::Failed);
    assert_eq!(ended("exec sleep 1000", Duration::ZERO), Ended::TimeUp);
}
