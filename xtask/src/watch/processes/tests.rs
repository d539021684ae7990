//! The family tree, from made-up and real processes.

use super::{Process, below, descendants, parse};

fn process(pid: i32, parent: i32) -> Process {
    Process {
        pid,
        parent,
        state: 'S',
        name: "a".to_owned(),
    }
}

#[test]
fn grandchildren_count_and_strangers_do_not() {
    let all = [
        process(5, 4),
        process(2, 1),
        process(4, 2),
        process(9, 8),
        process(1, 1),
    ];
    let pids: Vec<i32> = below(&all, 2).iter().map(|p| p.pid).collect();
    assert_eq!(pids, [4, 5]);
    assert!(below(&all, 5).is_empty());
}

#[test]
fn a_status_file_is_understood() {
    let text = "Name:\tmy name\nState:\tD (disk sleep)\nPid:\t12\nPPid:\t3\n";
    let expected = Process {
        pid: 12,
        parent: 3,
        state: 'D',
        name: "my name".to_owned(),
    };
    assert_eq!(parse(text), Some(expected));
    assert_eq!(parse("Name:\ta\n"), None);
}

#[test]
fn a_real_child_is_seen() {
    let mut child = std::process::Command::new("sleep")
        .arg("60")
        .spawn()
        .expect("sleep starts");
    let seen = descendants(std::process::id().cast_signed());
    assert!(seen.iter().any(|p| p.pid == child.id().cast_signed()));
    child
        .kill()
        .and_then(|()| child.wait())
        .expect("sleep ends");
}
