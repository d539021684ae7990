//! The settings that are shown, as a tree.

use ashlar::host::{Config, Key};
use lvm2::text::{Node, Section, Value};

use super::print::value_text;

/// A section or a setting that is shown.
#[derive(Debug)]
pub(super) enum Shown {
    /// A section, with what is in it.
    Section {
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
    },
}

/// Sections that stock shows as comments where only defaults stand in them.
const COMMENTED: [&str; 3] = ["metadata", "report", "tags"];

impl Shown {
    /// The last part of its path.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Section { name, .. } | Self::Setting { name, .. } => name,
        }
    }
}

/// The part of a tree at `path`.
pub(super) fn at<'a>(nodes: &'a [Shown], path: &str) -> Option<&'a Shown> {
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

/// The defaults of these settings, as comments or not.
pub(super) fn defaults(
    keys: impl Iterator<Item = &'static Key>,
    is_commented: bool,
    values: impl Fn(&'static Key) -> Option<String>,
) -> Vec<Shown> {
    let mut all = Vec::new();
    for key in keys {
        let mut parts: Vec<&str> = key.path.split('/').collect();
        let name = parts.pop().expect("a path has an end");
        let mut nodes = &mut all;
        let mut path = String::new();
        for part in parts {
            path += part;
            path.push('/');
            let is_named = part.starts_with('<');
            let name = part.trim_matches(['<', '>']);
            let is_comment = is_commented && (is_named || COMMENTED.contains(&name));
            nodes = section(nodes, name, since(&path), is_comment);
        }
        nodes.push(Shown::Setting {
            key,
            name: name.to_owned(),
            value: values(key),
            is_commented,
        });
    }
    all
}

/// The release that has the first of the settings below `path`, which ends with a slash.
fn since(path: &str) -> &'static str {
    let below = Config::keys()
        .iter()
        .filter(|key| key.path.starts_with(path));
    let release = |key: &&Key| {
        let numbers = key.since.split('.').map(str::parse::<u32>);
        numbers.collect::<Result<Vec<u32>, _>>().unwrap_or_default()
    };
    below.min_by_key(release).map_or("-", |key| key.since)
}

fn section<'a>(
    nodes: &'a mut Vec<Shown>,
    wanted: &str,
    since: &'static str,
    is_commented: bool,
) -> &'a mut Vec<Shown> {
    let at = nodes.iter().position(|node| node.name() == wanted);
    let at = at.unwrap_or_else(|| {
        nodes.push(Shown::Section {
            name: wanted.to_owned(),
            since,
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
        name: section.name.clone().into_owned(),
        since: since(&format!("{}/", section.name)),
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
            let nodes = set_in(inner, &format!("{path}/{}", inner.name), wanted);
            let name = inner.name.clone().into_owned();
            (!nodes.is_empty()).then_some(Shown::Section {
                name,
                since: since(&format!("{path}/{}/", inner.name)),
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
            })
        }
    };
    section.nodes.iter().filter_map(shown).collect()
}
