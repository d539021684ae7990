//! Who listens, and when.

use std::sync::mpsc::channel;

use super::{KEPT_MAX, hear, tell};

/// What came before somebody listened is told first, the newest lines of it; then all.
#[test]
fn nothing_new_is_lost() {
    for number in 0..KEPT_MAX + 3 {
        tell(&number.to_string());
    }
    let (say, heard) = channel();
    hear(Box::new(move |line| {
        let _ = say.send(line.to_owned());
    }));
    tell("last");
    let heard: Vec<String> = heard.try_iter().collect();
    assert_eq!(heard.len(), KEPT_MAX + 1);
    assert_eq!((&*heard[0], &*heard[KEPT_MAX]), ("3", "last"));
}
