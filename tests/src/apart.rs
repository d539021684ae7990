//! A shell script in a mount namespace of its own: what it hides or mounts, nobody else sees.
//!
//! A new namespace begins with a copy of every mount. What another test unmounts meanwhile would
//! stay mounted in there, and its device busy, for as long as the script or a server that it
//! started lives. So the script first lets go of all mounts of other tests.

use std::fs;
use std::path::Path;

use crate::tool::Tool;

/// Unmounts whatever lies in a test's folder, but for the test's own, `$0`.
const LET_GO: &str = r#"
    while read -r _ _ _ _ place rest; do
        case "$place $rest" in
            *shared:* | "$0"[/\ ]*) ;;
            */ashlar-test-*) umount -lci "$place" 2>/dev/null || : ;;
        esac
    done </proc/self/mountinfo
"#;

/// Runs `script`, which ends at its first failure; its `$0` is the test's folder, where its mounts
/// stay. Arguments that are added are the script's own.
pub fn apart(folder: &Path, script: &str) -> Tool {
    let script = format!("{LET_GO}\n{script}");
    let propagation = format!("--propagation={}", propagation());
    let unshared = Tool::new("unshare").args(["--mount", &propagation]);
    unshared.args(["--", "sh", "-ec", &script]).arg(folder)
}

/// In a chroot `/` is no mount, whose propagation could be changed; nobody shares it either.
fn propagation() -> &'static str {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let is_mount = |line: &str| line.split(' ').nth(4) == Some("/");
    if mounts.lines().any(is_mount) {
        "private"
    } else {
        "unchanged"
    }
}
