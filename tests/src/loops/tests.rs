//! Which loop devices are swept away.

use super::is_left;
use crate::scratch::Scratch;

/// Only what a dead process of this root left is taken: not what a living one uses, what nobody
/// here can see, and what is not ours.
#[test]
fn only_what_dead_runs_left_is_swept() {
    let folder = Scratch::new("swept");
    // No process has this number: the kernel's largest is 2^22.
    let dead = folder
        .path()
        .with_file_name(format!("ashlar-test-{}-0-dead", u32::MAX));
    let image = dead.join("image");
    let image = image.display().to_string();
    assert!(is_left(&format!("{image} (deleted)")));
    assert!(!is_left(&image), "it is in no root that we see");
    let ours = folder.sparse("ours", 512).display().to_string();
    assert!(!is_left(&ours) && !is_left(&format!("{ours} (deleted)")));
    assert!(!is_left("/etc/passwd") && !is_left("/somebody/image (deleted)"));
}
