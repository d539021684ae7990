//! Who is busy gets more time than who is stuck.

use std::cell::RefCell;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use lvm2::Uuid;
use rustix::process::{Pid, Signal, kill_process};

use super::{Surveyed, patiently, wants_processor};
use crate::{Error, Kind, Result};

const LIMIT: Duration = Duration::from_secs(1000);
/// Far more than a signal takes on a loaded machine.
const PATIENCE: Duration = Duration::from_mins(1);

fn owner(volumes: Result<Vec<super::VolumeStatus>>) -> Surveyed {
    Surveyed {
        group: "000000-0000-0000-0000-0000-0000-000000"
            .parse::<Uuid>()
            .expect("a UUID"),
        name: "vg0".to_owned(),
        pid: Some(1),
        volumes,
    }
}

/// For how long an owner is asked each time that says nothing `silent` times, in limits.
fn asked(silent: usize, is_busy: bool, kind: Kind) -> (Vec<u64>, bool) {
    let times = RefCell::new(Vec::new());
    let told = patiently(
        LIMIT,
        |_| is_busy,
        |end| {
            let mut times = times.borrow_mut();
            let time = end - Instant::now() + Duration::from_secs(500);
            times.push(time.as_secs() / LIMIT.as_secs());
            let is_told = times.len() > silent;
            let said = Err(Error::new(kind, "it does not answer"));
            Some(owner(if is_told { Ok(Vec::new()) } else { said }))
        },
    );
    let is_told = told.expect("there is one").volumes.is_ok();
    (times.into_inner(), is_told)
}

#[test]
fn a_busy_owner_is_asked_again() {
    // One that is stuck, or refuses, is not; and no owner for ever.
    assert_eq!(asked(0, false, Kind::Locked), (vec![1], true));
    assert_eq!(asked(1, false, Kind::Locked), (vec![1], false));
    assert_eq!(asked(1, true, Kind::Refused), (vec![1], false));
    assert_eq!(asked(2, true, Kind::Locked), (vec![1, 2, 4], true));
    assert_eq!(asked(9, true, Kind::Locked), (vec![1, 2, 4, 8], false));
}

#[test]
fn a_process_that_runs_wants_a_processor() {
    // One that was stopped does not, nor one that is not there.
    let mut spinning = Command::new("sh")
        .args(["-c", "while :; do :; done"])
        .stdin(Stdio::null())
        .spawn()
        .expect("a shell");
    let pid = Pid::from_child(&spinning);
    let wait_for = |wanted: bool| {
        let end = Instant::now() + PATIENCE;
        while wants_processor(spinning.id()) != wanted && Instant::now() < end {
            sleep(Duration::from_millis(1));
        }
        wants_processor(spinning.id()) == wanted
    };
    let runs = wait_for(true);
    let stopped = kill_process(pid, Signal::STOP).is_ok() && wait_for(false);
    spinning.kill().expect("it is there");
    spinning.wait().expect("it is ours");
    assert!(runs && stopped, "{runs} {stopped}");
    assert!(!wants_processor(u32::MAX));
}
