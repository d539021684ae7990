//! The next command: one that makes sense, though it may be refused.

use block::sim::Random;

use super::bench::Author;
use super::state::{Row, State, number};

/// What a kind of command makes of the state; nothing where it has nothing to work on.
type Make<'a> = fn(&mut Choice<'a>) -> Option<String>;

/// How often, by whom, and what.
fn kinds<'a>() -> Vec<(u64, Who, Make<'a>)> {
    vec![
        (10, Who::Both, Choice::pvcreate),
        (2, Who::Both, Choice::pvremove),
        (2, Who::Ours, Choice::pvresize),
        (4, Who::Both, Choice::pvchange),
        (8, Who::Both, Choice::vgcreate),
        (8, Who::Both, Choice::vgextend),
        (4, Who::Both, Choice::vgreduce),
        (1, Who::Ours, Choice::vgremove),
        (3, Who::Both, Choice::vgrename),
        (6, Who::Both, Choice::vgchange),
        (4, Who::Ours, Choice::vgsplit),
        (4, Who::Ours, Choice::vgmerge),
        (1, Who::Both, Choice::vgexport),
        (12, Who::Both, Choice::vgimport),
        (28, Who::Both, Choice::lvcreate),
        (8, Who::Ours, Choice::lvcreate_mirror),
        (14, Who::Both, Choice::lvextend),
        (8, Who::Both, Choice::lvreduce),
        (5, Who::Both, Choice::lvrename),
        (9, Who::Both, Choice::lvremove),
        (8, Who::Both, Choice::lvchange),
        (8, Who::Ours, Choice::lvconvert),
        (5, Who::Ours, Choice::undo),
    ]
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Who {
    /// What stock does only with its driver, or not at all.
    Ours,
    Both,
}

struct Choice<'a> {
    state: &'a State,
    random: &'a mut Random,
}

/// The words of the next command.
pub(super) fn choose(state: &State, author: Author, random: &mut Random) -> Vec<String> {
    let mut kinds = kinds();
    kinds.retain(|(_, who, _)| author == Author::Ashlar || *who == Who::Both);
    let whole: u64 = kinds.iter().map(|(weight, ..)| weight).sum();
    let mut choice = Choice { state, random };
    loop {
        let mut at = choice.random.below(whole);
        let make = kinds.iter().find_map(|(weight, _, make)| {
            let here = at < *weight;
            at = at.saturating_sub(*weight);
            here.then_some(make)
        });
        if let Some(line) = make.and_then(|make| make(&mut choice)) {
            return line.split_whitespace().map(str::to_owned).collect();
        }
    }
}

impl<'a> Choice<'a> {
    fn one<T: Copy>(&mut self, of: &[T]) -> Option<T> {
        match of.len() {
            0 => None,
            len => Some(of[self.random.index(len)]),
        }
    }

    fn some(&mut self, of: &[&'a str], most: usize) -> Option<String> {
        let mut left = of.to_vec();
        let count = 1 + self.random.index(most.max(1));
        let mut chosen = Vec::new();
        while chosen.len() < count && !left.is_empty() {
            chosen.push(left.swap_remove(self.random.index(left.len())));
        }
        (!chosen.is_empty()).then(|| chosen.join(" "))
    }

    fn group(&mut self) -> Option<&'a Row> {
        let groups = self.state.groups(false);
        self.one(&groups)
    }

    fn volume(&mut self) -> Option<&'a Row> {
        let volumes = self.state.volumes();
        self.one(&volumes)
    }

    fn named(&mut self, start: &str) -> String {
        format!("{start}{}", self.random.below(1000))
    }

    fn option(&mut self, of: &[&'static str]) -> &'static str {
        of[self.random.index(of.len())]
    }

    fn pvcreate(&mut self) -> Option<String> {
        let blank = self.state.blank();
        let device = self.one(&blank)?;
        let layout = self.option(&[
            "",
            "",
            "--pvmetadatacopies 2",
            "--dataalignment 256k",
            "--metadatasize 2m",
            "--bootloaderareasize 1m",
            "--pvmetadatacopies 2 --metadatasize 512k",
        ]);
        Some(format!("pvcreate -y {layout} {device}"))
    }

    fn pvremove(&mut self) -> Option<String> {
        let free = self.state.members("");
        Some(format!("pvremove -y {}", self.one(&free)?))
    }

    fn pvresize(&mut self) -> Option<String> {
        let pvs: Vec<&Row> = self.state.pvs.iter().collect();
        let pv = self.one(&pvs)?;
        let size = self.option(&[
            "",
            "--setphysicalvolumesize 39m",
            "--setphysicalvolumesize 30m",
        ]);
        Some(format!("pvresize -y {size} {}", pv["pv_name"]))
    }

    fn pvchange(&mut self) -> Option<String> {
        let group = self.group()?;
        let members = self.state.members(&group["vg_name"]);
        let pv = self.one(&members)?;
        let edit = self.option(&[
            "-x n",
            "-x y",
            "-x y",
            "--addtag fast",
            "--deltag fast",
            "--metadataignore y",
            "--metadataignore n",
            "--uuid",
        ]);
        Some(format!("pvchange -y {edit} {pv}"))
    }

    fn vgcreate(&mut self) -> Option<String> {
        if self.state.vgs.len() >= 3 {
            return None;
        }
        let free = self.state.members("");
        let pvs = self.some(&free, 3)?;
        let extent = self.option(&["512k", "1m", "1m", "2m"]);
        let name = self.named("vg");
        Some(format!("vgcreate -s {extent} {name} {pvs}"))
    }

    fn vgextend(&mut self) -> Option<String> {
        let free = self.state.members("");
        let pvs = self.some(&free, 2)?;
        Some(format!("vgextend {} {pvs}", self.group()?["vg_name"]))
    }

    fn vgreduce(&mut self) -> Option<String> {
        let group = self.group()?;
        let unused = self.state.unused(&group["vg_name"]);
        let pv = self.one(&unused)?;
        Some(format!("vgreduce {} {pv}", group["vg_name"]))
    }

    fn vgremove(&mut self) -> Option<String> {
        Some(format!("vgremove -f {}", self.group()?["vg_name"]))
    }

    fn vgrename(&mut self) -> Option<String> {
        let name = self.named("vg");
        Some(format!("vgrename {} {name}", self.group()?["vg_name"]))
    }

    fn vgchange(&mut self) -> Option<String> {
        let edit = self.option(&[
            "--addtag t1",
            "--addtag t2",
            "--deltag t1",
            "-l 40",
            "-p 10",
            "--alloc anywhere",
            "--alloc normal",
            "--alloc cling",
            "--alloc contiguous",
            "--alloc normal",
            "--vgmetadatacopies 2",
            "--vgmetadatacopies unmanaged",
            "-u",
        ]);
        Some(format!("vgchange {edit} {}", self.group()?["vg_name"]))
    }

    fn vgsplit(&mut self) -> Option<String> {
        let group = self.group()?;
        let members = self.state.members(&group["vg_name"]);
        let pvs = self.some(&members, 2)?;
        let name = self.named("vg");
        Some(format!("vgsplit {} {name} {pvs}", group["vg_name"]))
    }

    fn vgmerge(&mut self) -> Option<String> {
        let (to, from) = (self.group()?, self.group()?);
        let is_other = to["vg_name"] != from["vg_name"];
        is_other.then(|| format!("vgmerge {} {}", to["vg_name"], from["vg_name"]))
    }

    fn vgexport(&mut self) -> Option<String> {
        // One open group is left to go on with.
        if self.state.groups(false).len() < 2 {
            return None;
        }
        Some(format!("vgexport {}", self.group()?["vg_name"]))
    }

    fn vgimport(&mut self) -> Option<String> {
        let exported = self.state.groups(true);
        Some(format!("vgimport {}", self.one(&exported)?["vg_name"]))
    }

    fn lvcreate(&mut self) -> Option<String> {
        if self.state.volumes().len() >= 16 {
            return None;
        }
        let group = self.group()?;
        let vg = &group["vg_name"];
        let extents = 1 + self.random.below(8);
        let name = self.named("lv");
        let layout = self.option(&[
            "",
            "",
            "-C y",
            "--alloc anywhere",
            "--addtag new",
            "-i 2 -I 64k",
            "-i 2 -I 4k",
            "-i 3 -I 16k",
            "--type zero",
        ]);
        let size = match self.random.below(8) {
            0 => "-l 10%FREE".to_owned(),
            1 => "-l 5%VG".to_owned(),
            2 => format!("-L {}k", 300 * extents),
            _ => format!("-l {extents}"),
        };
        let members = self.state.members(vg);
        let places = if self.random.chance(1, 5) && !layout.starts_with("-i") {
            let pv = self.one(&members)?;
            let first = self.random.below(10);
            if first < 5 {
                pv.to_owned()
            } else {
                format!("{pv}:{first}-30")
            }
        } else {
            String::new()
        };
        Some(format!(
            "lvcreate -y {layout} {size} -n {name} {vg} {places}"
        ))
    }

    fn lvcreate_mirror(&mut self) -> Option<String> {
        let group = self.group()?;
        let extents = 1 + self.random.below(6);
        let name = self.named("mi");
        let log = self.option(&["core", "core", "disk"]);
        let region = self.option(&["", "-R 64k", "-R 512k"]);
        let vg = &group["vg_name"];
        Some(format!(
            "lvcreate -y --type mirror -m 1 --mirrorlog {log} {region} -l {extents} -n {name} {vg}"
        ))
    }

    fn lvextend(&mut self) -> Option<String> {
        let volume = self.volume()?;
        let extents = 1 + self.random.below(6);
        let how = self.option(&["", "", "", "--alloc anywhere", "--alloc contiguous", "-i 2"]);
        let name = &volume["lv_full_name"];
        Some(format!("lvextend {how} -l +{extents} {name}"))
    }

    fn lvreduce(&mut self) -> Option<String> {
        let volume = self.volume()?;
        let extents = 1 + self.random.below(4);
        let name = &volume["lv_full_name"];
        Some(format!("lvreduce -f -l -{extents} {name}"))
    }

    fn lvrename(&mut self) -> Option<String> {
        let volume = self.volume()?;
        let name = self.named("re");
        Some(format!(
            "lvrename {} {} {name}",
            volume["vg_name"], volume["lv_name"]
        ))
    }

    fn lvremove(&mut self) -> Option<String> {
        Some(format!("lvremove -f {}", self.volume()?["lv_full_name"]))
    }

    fn lvchange(&mut self) -> Option<String> {
        let edit = self.option(&[
            "--addtag a",
            "--deltag a",
            "--alloc contiguous",
            "--alloc inherit",
            "--alloc cling",
            "-C n",
            "-r 256",
            "-r auto",
            "--setautoactivation n",
            "--setautoactivation y",
        ]);
        Some(format!(
            "lvchange {edit} {}",
            self.volume()?["lv_full_name"]
        ))
    }

    fn lvconvert(&mut self) -> Option<String> {
        let volume = self.volume()?;
        let name = &volume["lv_full_name"];
        let size = number(volume, "lv_size");
        match self.state.segment_type(volume) {
            "mirror" => Some(format!("lvconvert -y -m 0 {name}")),
            "linear" if size > 0 => {
                let log = self.option(&["core", "disk"]);
                Some(format!(
                    "lvconvert -y --type mirror -m 1 --mirrorlog {log} {name}"
                ))
            }
            _ => None,
        }
    }

    fn undo(&mut self) -> Option<String> {
        Some(format!("undo -y {}", self.group()?["vg_name"]))
    }
}
