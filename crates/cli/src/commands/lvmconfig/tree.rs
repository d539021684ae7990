//! The settings that are shown, as a tree.

use ashlar::host::{Config, Key};
use lvm2::text::{Node, Section, Value};

use super::print::value_text;

/// A section or a setting that is shown.
#[derive(Debug)]
pub(super) enum Shown {
    /// A section, with what is in it.
    Section {
        /// As the table has it.
        path: String,
        name: String,
        /// The release that has the first of its settings.
        since: &'static str,
        is_commented: bool,
        nodes: Vec<Shown>,
    },
    /// A setting.
    Setting {
        key: &'static Key,
        /// Its last part.
        name: String,
        /// Its value; `None` where there is none.
        value: Option<String>,
        is_commented: bool,
        /// Whether somebody set it, so that it is no default.
        is_set: bool,
    },
}

/// Sections that stock shows as comments where only defaults stand in them.
const COMMENTED: [&str; 4] = ["metadata", "disk_areas", "report", "tags"];

/// Settings whose defaults stock does not show as comments. They are shown, and not read: in one
/// word they would be taken for settings that are.
const PLAIN: [&str; 4] = [
    concat!("devices/", "cache"),
    concat!("devices/", "cache_dir"),
    concat!("devices/", "cache_file_prefix"),
    concat!("devices/", "write_cache_state"),
];

/// A section whose settings have names of choice, and the setting that it stands behind.
const OF_CHOICE: (&str, &str) = (
    "allocation/cache_settings",
    concat!("allocation/", "cache_policy"),
);

impl Shown {
    /// The last part of its path.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Section { name, .. } | Self::Setting { name, .. } => name,
        }
    }
}

/// The part of a tree at `path`, in front of whose parts there may be several slashes.
pub(super) fn at<'a>(nodes: &'a [Shown], path: &str) -> Option<&'a Shown> {
    let path = path.trim_start_matches('/');
    let (first, rest) = match path.split_once('/') {
        Some((first, rest)) => (first, Some(rest)),
        None => (path, None),
    };
    let node = nodes.iter().find(|node| node.name() == first)?;
    match (node, rest) {
        (node, None) => Some(node),
        (Shown::Section { nodes, .. }, Some(rest)) => at(nodes, rest),
        (Shown::Setting { .. }, Some(_)) => None,
    }
}

/// What defaults are shown for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To be read: as comments, with sections whose names are of choice.
    Shown,
    /// The same of what is not set.
    Missing,
    /// To be in force.
    Used,
}

/// The defaults of these settings.
pub(super) fn defaults(
    keys: impl Iterator<Item = &'static Key>,
    purpose: Purpose,
    values: impl Fn(&'static Key) -> Option<String>,
) -> Vec<Shown> {
    let is_commented = purpose != Purpose::Used;
    let mut all = Vec::new();
    for key in keys {
        let mut parts: Vec<&str> = key.path.split('/').collect();
        let name = parts.pop().expect("a path has an end");
        let mut nodes = &mut all;
        let mut path = String::new();
        for part in parts {
            path += part;
            let is_named = part.starts_with('<');
            let name = part.trim_matches(['<', '>']);
            let is_comment = is_commented && (is_named || COMMENTED.contains(&name));
            nodes = section(nodes, &path, is_comment);
            path.push('/');
        }
        nodes.push(Shown::Setting {
            key,
            name: name.to_owned(),
            value: values(key),
            is_commented: is_commented && !PLAIN.contains(&key.path),
            is_set: false,
        });
        if purpose == Purpose::Shown && key.path == OF_CHOICE.1 {
            section(nodes, OF_CHOICE.0, true);
        }
    }
    all
}

/// Puts what is set over defaults, as stock does: each setting that is not there yet comes behind
/// the first one of its section.
pub(super) fn merge(all: &mut Vec<Shown>, set: Vec<Shown>) {
    for new in set {
        let old = all.iter_mut().find(|old| old.name() == new.name());
        match (old, new) {
            (Some(Shown::Section { nodes, .. }), Shown::Section { nodes: new, .. }) => {
                merge(nodes, new);
            }
            (Some(old), new) => *old = new,
            (None, new) => all.insert(1.min(all.len()), new),
        }
    }
}

/// The settings in the section `path`.
fn below(path: &str) -> impl Iterator<Item = &'static Key> {
    // What is of choice has no settings in the table, and came with its neighbour.
    let (prefix, end) = if path == OF_CHOICE.0 {
        (OF_CHOICE.1, "")
    } else {
        (path, "/")
    };
    Config::keys().iter().filter(move |key| {
        let rest = key.path.strip_prefix(prefix);
        rest.is_some_and(|rest| rest.starts_with(end))
    })
}

/// The release that has the first of the settings in the section `path`.
fn since(path: &str) -> &'static str {
    let release = |key: &&Key| {
        let numbers = key.since.split('.').map(str::parse::<u32>);
        numbers.collect::<Result<Vec<u32>, _>>().unwrap_or_default()
    };
    below(path).min_by_key(release).map_or("-", |key| key.since)
}

/// The release that gave up the section `path`, with all that is in it.
pub(super) fn given_up_in(path: &str) -> Option<&'static str> {
    let mut below = below(path).map(Key::given_up_in);
    let first = below.next()?;
    first.filter(|_| below.all(|release| release == first))
}

fn section<'a>(nodes: &'a mut Vec<Shown>, path: &str, is_commented: bool) -> &'a mut Vec<Shown> {
    let last = path.rsplit('/').next().unwrap_or(path);
    let wanted = last.trim_matches(['<', '>']);
    let at = nodes.iter().position(|node| node.name() == wanted);
    let at = at.unwrap_or_else(|| {
        nodes.push(Shown::Section {
            path: path.to_owned(),
            name: wanted.to_owned(),
            since: since(path),
            is_commented,
            nodes: Vec::new(),
        });
        nodes.len() - 1
    });
    match &mut nodes[at] {
        Shown::Section { nodes, .. } => nodes,
        Shown::Setting { .. } => unreachable!("no setting has the name of a section"),
    }
}

/// What is set, without what is no setting, and without tags of hosts, which are used up when files
/// are read.
pub(super) fn set(
    tree: &Section<'static>,
    wanted: &dyn Fn(&Key, &Value<'_>) -> bool,
) -> Vec<Shown> {
    let sections = tree.sections().filter(|section| section.name != "tags");
    let shown = sections.map(|section| Shown::Section {
        path: section.name.clone().into_owned(),
        name: section.name.clone().into_owned(),
        since: since(&section.name),
        is_commented: false,
        nodes: set_in(section, &section.name, wanted),
    });
    shown.filter(|shown| !is_empty(shown)).collect()
}

fn is_empty(shown: &Shown) -> bool {
    matches!(shown, Shown::Section { nodes, .. } if nodes.is_empty())
}

fn set_in(
    section: &Section<'static>,
    path: &str,
    wanted: &dyn Fn(&Key, &Value<'_>) -> bool,
) -> Vec<Shown> {
    let shown = |node: &Node<'static>| match node {
        Node::Section(inner) => {
            let path = format!("{path}/{}", inner.name);
            let nodes = set_in(inner, &path, wanted);
            let name = inner.name.clone().into_owned();
            (!nodes.is_empty()).then_some(Shown::Section {
                since: since(&path),
                path,
                name,
                is_commented: false,
                nodes,
            })
        }
        Node::Value { name, value } => {
            let key = Config::key(&format!("{path}/{name}"))?;
            wanted(key, value).then(|| Shown::Setting {
                key,
                name: name.clone().into_owned(),
                value: Some(value_text(value)),
                is_commented: false,
                is_set: true,
            })
        }
    };
    section.nodes.iter().filter_map(shown).collect()
}
