//! `xtask watch` on real processes: hanging, detached, orphaned.

use std::process::{Command, Output, Stdio};
use std::time::Instant;

fn watch(arguments: &[&str], script: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_xtask"))
        .arg("watch")
        .args(arguments)
        .args(["--", "sh", "-c", script])
        .stdin(Stdio::null())
        .output()
        .expect("xtask starts")
}

fn is_running(pid: &str) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{}/status", pid.trim()));
    status.is_ok_and(|text| !text.contains("State:\tZ"))
}

#[test]
fn a_command_that_ends_keeps_its_code() {
    assert_eq!(watch(&["--limit", "60"], "exit 3").status.code(), Some(3));
    assert_eq!(watch(&["--limit", "60"], "true").status.code(), Some(0));
}

#[test]
fn a_command_that_hangs_is_ended_with_its_children() {
    let start = Instant::now();
    let output = watch(&["--limit", "1"], "setsid sleep 61 & echo $!; sleep 62");
    assert_eq!(output.status.code(), Some(124));
    assert!(start.elapsed().as_secs() < 30);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        told.contains("still running") && told.contains("sleep"),
        "{told}"
    );
    assert!(!is_running(&String::from_utf8_lossy(&output.stdout)));
}

#[test]
fn a_command_that_leaves_a_process_has_failed() {
    let output = watch(
        &["--limit", "60"],
        "setsid sleep 63 >/dev/null 2>&1 & echo $!",
    );
    assert_eq!(output.status.code(), Some(125));
    assert!(!is_running(&String::from_utf8_lossy(&output.stdout)));
}

#[test]
fn a_watch_whose_owner_is_gone_ends_everything() {
    let output = watch(
        &["--limit", "60", "--until-stdin-closes"],
        "echo $$; sleep 64",
    );
    assert_eq!(output.status.code(), Some(124));
    assert!(!is_running(&String::from_utf8_lossy(&output.stdout)));
}
