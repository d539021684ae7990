//! Which processes descend from one, from what `/proc/PID/status` says.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::Path;

/// A process as its status file describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) pid: i32,
    pub(super) parent: i32,
    /// The kernel's letter: R running, S sleeping, D waiting and not to be killed, Z dead.
    pub(super) state: char,
    pub(super) name: String,
}

impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {} (state {}, child of {})",
            self.pid, self.name, self.state, self.parent
        )
    }
}

/// Every process below `ancestor`, parents before children.
pub(super) fn descendants(ancestor: i32) -> Vec<Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let status = |path: &Path| fs::read_to_string(path.join("status")).ok();
    let all: Vec<Process> = entries
        .filter_map(|entry| parse(&status(&entry.path())?))
        .collect();
    below(&all, ancestor)
}

fn below(all: &[Process], ancestor: i32) -> Vec<Process> {
    let mut found: Vec<Process> = Vec::new();
    let mut parents = BTreeSet::from([ancestor]);
    loop {
        let is_new = |p: &&Process| parents.contains(&p.parent) && !parents.contains(&p.pid);
        let children: Vec<Process> = all.iter().filter(is_new).cloned().collect();
        if children.is_empty() {
            return found;
        }
        parents.extend(children.iter().map(|child| child.pid));
        found.extend(children);
    }
}

fn parse(status: &str) -> Option<Process> {
    let field = |key: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(key))?;
        Some(line.strip_prefix(':')?.trim())
    };
    Some(Process {
        pid: field("Pid")?.parse().ok()?,
        parent: field("PPid")?.parse().ok()?,
        state: field("State")?.chars().next()?,
        name: field("Name")?.to_owned(),
    })
}

#[cfg(test)]
mod tests;
