//! `cargo xtask raid-sets`: makes the disks with unfinished RAID arrays anew.
//!
//! ```text
//!   cargo xtask raid-sets [NAME…]
//! ```
//!
//! Each set takes two or three boots of a stock kernel, of a minute or some; see
//! `tests/fixtures/raid/README.md`. UUIDs and times are others each time, and so are the places
//! where the power is cut; the contents are the same. Nobody needs to run it who does not change
//! what a set holds.

use tests::{RAID_SETS, make_raid_set};

use crate::Outcome;

pub(crate) fn run(arguments: &[String]) -> Outcome {
    let unknown = arguments
        .iter()
        .find(|name| !RAID_SETS.contains(&name.as_str()));
    if let Some(name) = unknown {
        let all = RAID_SETS.join(" ");
        return Outcome::Unusable(format!("no set is called '{name}'; there are {all}"));
    }
    let is_wanted = |name: &str| arguments.is_empty() || arguments.iter().any(|one| one == name);
    for name in RAID_SETS.iter().filter(|name| is_wanted(name)) {
        println!("{name}");
        print!("{}", make_raid_set(name));
    }
    Outcome::Passed
}
