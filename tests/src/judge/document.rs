//! The page that says what is other than in stock: reasons of `known.txt`, options that are in no
//! line, and options that the program takes and does nothing with, as its own help says.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::known::known;
use super::lines::LEFT_OUT;
use crate::tool::ashlar;

/// How help begins about an option without effect.
const WITHOUT_EFFECT: &str = "Accepted for scripts";

/// More commands than these are all that there are.
const MANY: usize = 20;

/// What no line meets, since it is not about what stock does with the same disks.
const BESIDE: &[&str] = &[
    "`devices/pv_min_size` is for what becomes a physical volume. Smaller ones that are there are \
     shown: images are small.",
    "A loop device with a partition table has partitions, whether or not the kernel reads the \
     table: `pvcreate` refuses the whole device, and wipes no table.",
    "`dmsetup` lists nothing, for there is no device-mapper. `lv_kernel_*` are those of loop \
     devices, and names in `/dev/mapper` are links to these; `ashlar nodes` shows them, \
     with the tables and the status that `dmsetup` would show, and `ashlar owners` who holds \
     them.",
    "While a mirror gets another copy there is no layer `_mimagetmp_N`: the copy is filled in its \
     place.",
    "Fields and letters are those of 2.03.16: `vg_attr` has six, as there. `--fs` of later \
     releases is taken, `--majoritypvs` is not.",
    "The signature of a GFS pool is not looked for, as in 2.03.16.",
    "Settings that are not read stand in [configuration.md](configuration.md).",
];

const HEAD: &str = "# What is other than in LVM2

`cargo xtask compare` runs the same command lines in stock LVM2 2.03.16
and here, from the same disks, and compares exit codes, reports, messages and what is on the
disks afterwards. This page is made by `cargo xtask compare document`.

";

/// The page.
///
/// # Panics
/// When the program cannot be run.
pub fn document() -> String {
    let mut page = HEAD.to_owned();
    page.push_str("## Differences that are meant\n\n");
    let mut reasons: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for known in known() {
        reasons
            .entry(known.reason)
            .or_default()
            .extend(known.command.split(' '));
    }
    for (reason, commands) in reasons {
        list(&mut page, reason, &commands);
    }
    page.push_str("\n## Differences beside that\n\n");
    for reason in BESIDE {
        writeln!(page, "- {reason}").expect("a string takes all");
    }
    page.push_str("\n## What is not compared\n\n");
    let mut reasons: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (option, reason) in LEFT_OUT {
        reasons.entry(reason).or_default().insert(option);
    }
    for (reason, options) in reasons {
        let options: Vec<String> = options
            .iter()
            .map(|option| format!("`--{option}`"))
            .collect();
        writeln!(page, "- {}: {reason}.", options.join(", ")).expect("a string takes all");
    }
    page.push_str("\n## Options without effect\n\n");
    for ((option, why), commands) in without_effect() {
        let commands = commands.iter().map(String::as_str).collect();
        list(&mut page, &format!("`{option}`: {why}"), &commands);
    }
    page
}

fn list(page: &mut String, what: &str, commands: &BTreeSet<&str>) {
    let names: Vec<&str> = commands.iter().copied().collect();
    let of = if commands.contains("*") || commands.len() > MANY {
        String::new()
    } else {
        format!(" ({})", names.join(", "))
    };
    writeln!(page, "- {what}{of}").expect("a string takes all");
}

/// Options that are taken and do nothing, with what help says of them, and the commands.
fn without_effect() -> BTreeMap<(String, String), BTreeSet<String>> {
    let mut found: BTreeMap<_, BTreeSet<String>> = BTreeMap::new();
    let help = ashlar().arg("help").succeed().text();
    let names = help
        .lines()
        .filter_map(|line| line.strip_prefix("  ")?.split_once("  "));
    let is_name = |name: &str| name.starts_with(['p', 'v', 'l']) && !name.contains(' ');
    let names: BTreeSet<&str> = names
        .map(|(name, _)| name)
        .filter(|name| is_name(name))
        .collect();
    for name in names {
        let help = ashlar().args([name, "--help"]).run().text();
        let mut option = String::new();
        let mut lines = help.lines().peekable();
        while let Some(line) = lines.next() {
            if line.trim_start().starts_with('-') {
                line.trim().clone_into(&mut option);
                continue;
            }
            let Some(why) = line.trim().strip_prefix(WITHOUT_EFFECT) else {
                continue;
            };
            let mut why = why.trim_start_matches([';', ':', ',', ' ']).to_owned();
            while let Some(more) = lines.next_if(|line| line.starts_with("          ")) {
                why = format!("{why} {}", more.trim());
            }
            let why = if why.len() < 2 {
                "nothing to do here."
            } else {
                &why
            };
            let key = (option.clone(), why.to_owned());
            found.entry(key).or_default().insert(name.to_owned());
        }
    }
    found
}
