//! What is damaged, and what is run on it.

use std::fmt;

/// Disks of the largest group.
pub(super) const DISKS_MAX: usize = 6;

/// What happened to the disks of a subset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Damage {
    /// They are not there.
    Missing,
    /// They missed the last commit.
    Stale,
    /// Each is there twice.
    Doubled,
    /// Each has a clone, of a group renamed and with identities of its own: `vgimportclone`. Where
    /// they are not all disks of the group, the clone lacks some.
    Cloned,
    /// The whole group is there once more, renamed and with physical volumes of other identities,
    /// but still the identity of the group.
    Renamed,
}

/// A command on a damaged group.
#[derive(Debug, Clone)]
pub(super) struct Case {
    pub(super) disks: usize,
    pub(super) damage: Damage,
    pub(super) subset: Vec<usize>,
    /// The command; `@N` stands for a disk, `@backup` for the file of the group.
    pub(super) command: String,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            disks,
            damage,
            subset,
            command,
        } = self;
        write!(f, "{disks} disks, {damage:?} {subset:?}: {command}")
    }
}

/// All cases, in one order.
pub(super) fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    for disks in 1..=DISKS_MAX {
        for (damage, subset) in damages(disks) {
            for command in commands(disks, damage, &subset) {
                let subset = subset.clone();
                cases.push(Case {
                    disks,
                    damage,
                    subset,
                    command,
                });
            }
        }
    }
    cases
}

fn damages(disks: usize) -> Vec<(Damage, Vec<usize>)> {
    let mut subsets: Vec<Vec<usize>> = (0..disks).map(|disk| vec![disk]).collect();
    for first in 0..disks {
        subsets.extend((first + 1..disks).map(|second| vec![first, second]));
    }
    let mut all = vec![(Damage::Missing, Vec::new())];
    for damage in [
        Damage::Missing,
        Damage::Stale,
        Damage::Doubled,
        Damage::Cloned,
    ] {
        let some = subsets.iter().filter(|subset| match damage {
            // One disk has the newest text.
            Damage::Missing | Damage::Stale => subset.len() < disks,
            _ => true,
        });
        all.extend(some.map(|subset| (damage, subset.clone())));
    }
    let whole: Vec<usize> = (0..disks).collect();
    if !subsets.contains(&whole) {
        all.push((Damage::Cloned, whole.clone()));
    }
    all.push((Damage::Renamed, whole));
    all
}

fn commands(disks: usize, damage: Damage, subset: &[usize]) -> Vec<String> {
    let mut all: Vec<String> = [
        "vgreduce --removemissing vg",
        "vgreduce --removemissing --force vg",
        "vgreduce --removemissing --mirrorsonly --force vg",
        "vgck --updatemetadata vg",
        "vgcfgrestore --force -y -f @backup vg",
        "vgremove -y -f vg",
        "lvremove -y vg/lin0",
        "lvremove -y vg/ori",
        "lvremove -y vg/pool",
    ]
    .map(str::to_owned)
    .to_vec();
    if let Some(disk) = subset.first() {
        all.push(format!("vgextend --restoremissing vg @{disk}"));
    }
    if damage == Damage::Cloned {
        let clone = [
            "vgreduce --removemissing vgc",
            "vgreduce --removemissing --force vgc",
            "vgck --updatemetadata vgc",
            "vgremove -y -f vgc",
        ];
        all.extend(clone.map(str::to_owned));
    }
    if disks >= 2 {
        let more = [
            "lvconvert -y --repair vg/mi",
            "lvconvert -y --repair vg/ml",
            "lvconvert -y --repair vg/r1",
            "lvremove -y vg/str",
            "lvremove -y vg/ml",
            "lvremove -y vg/r1",
        ];
        all.extend(more.map(str::to_owned));
    }
    all
}
