//! What one side left, beside the other.
//!
//! Volumes are compared by name, by the text of their segments, in which physical volumes are
//! named by their identities, and by what their extents hold. Everything that is not the same needs
//! a [`Reason`], or is worse. What is written to an extent that stock does not write is worse
//! whatever the reason.

use std::collections::BTreeMap;

use super::marks::Written;

/// What is left: the text of each volume by its name; `None` where there is no group.
pub(super) type Left = Option<BTreeMap<String, String>>;

/// All that one side left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) group: Left,
    /// The volumes of the clone.
    pub(super) clone: Left,
    pub(super) written: Written,
}

/// Why more is left here than in stock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reason {
    /// The command was refused, and nothing at all was changed.
    Refused,
    /// An origin is whole though the store of its snapshot is lost; stock gives up both.
    WholeOrigin,
    /// `--mirrorsonly` removes no volume; stock removes mirrors that lost all of their images.
    LostMirror,
    /// Stock makes a new image of extents elsewhere, which starts empty; here people do it.
    NoNewImage,
    /// Stock leaves a lost spare for repairs, which holds nothing.
    LostSpare,
}

/// How two results compare.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Verdict {
    Same,
    Better(Reason),
    Worse(String),
}

/// Reads what is left from a backup file.
pub(super) fn left(text: &str) -> Left {
    let mut pvs: BTreeMap<String, String> = BTreeMap::new();
    let mut volumes = BTreeMap::new();
    let (mut path, mut volume): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if let Some(name) = line.strip_suffix('{') {
            path.push(name.trim().to_owned());
        } else if line == "}" {
            let ended = path.pop();
            if path.len() == 2 && path[1] == "logical_volumes" {
                let text = std::mem::take(&mut volume).join("\n");
                volumes.insert(ended.unwrap_or_default(), text);
            }
        } else if path.len() == 3 && path[1] == "physical_volumes" {
            if let Some(id) = line.strip_prefix("id = ") {
                pvs.insert(format!("\"{}\"", path[2]), id.to_owned());
            }
        } else if path.len() >= 4 && path[1] == "logical_volumes" && !line.is_empty() {
            let named = line
                .split_once(',')
                .filter(|(name, _)| pvs.contains_key(*name));
            volume.push(match named {
                Some((name, rest)) => format!("{},{rest}", pvs[name]),
                None => line.to_owned(),
            });
        }
    }
    text.contains("logical_volumes {")
        .then_some(volumes)
        .or_else(|| text.contains("physical_volumes {").then(BTreeMap::new))
}

/// Puts what they hold behind the text of volumes: `holds` says it of an extent of a physical
/// volume.
pub(super) fn filled(left: &Left, holds: impl Fn(&str, u64) -> String) -> Left {
    let fill = |text: &String| {
        let (mut count, mut stripes, mut more) = (1, 1, Vec::new());
        for line in text.lines() {
            let number = |key: &str| line.strip_prefix(key)?.parse::<u64>().ok();
            count = number("extent_count = ").unwrap_or(count);
            stripes = number("stripe_count = ").unwrap_or(stripes);
            let Some((id, from)) = line.split_once("\", ") else {
                continue;
            };
            let (id, from) = (id.trim_start_matches('"'), from.trim_end_matches(','));
            if let Ok(from) = from.trim().parse::<u64>() {
                let extents = from..from + (count / stripes.max(1)).max(1);
                more.extend(extents.map(|extent| format!("holds {}", holds(id, extent))));
            }
        }
        format!("{text}\n{}", more.join("\n"))
    };
    let volumes = left.as_ref()?.iter();
    Some(
        volumes
            .map(|(name, text)| (name.clone(), fill(text)))
            .collect(),
    )
}

/// Compares what was there before with what both left.
pub(super) fn compare(before: &Found, stock: &Found, ours: &Found, command: &str) -> Verdict {
    let written = |place: &&(usize, u64)| !stock.written.contains_key(*place);
    if let Some((disk, extent)) = ours.written.keys().find(written) {
        let what = &ours.written[&(*disk, *extent)];
        return Verdict::Worse(format!("extent {extent} of disk {disk} is written: {what}"));
    }
    if stock.group == ours.group && stock.clone == ours.clone {
        return Verdict::Same;
    }
    if ours == before {
        return Verdict::Better(Reason::Refused);
    }
    match volumes(&stock.group, &ours.group, command) {
        Verdict::Worse(what) => Verdict::Worse(what),
        group => match volumes(&stock.clone, &ours.clone, command) {
            Verdict::Worse(what) => Verdict::Worse(format!("the clone: {what}")),
            Verdict::Same => group,
            better @ Verdict::Better(_) => better,
        },
    }
}

/// Compares what both left of one group.
fn volumes(stock: &Left, ours: &Left, command: &str) -> Verdict {
    if stock == ours {
        return Verdict::Same;
    }
    let (Some(theirs), Some(here)) = (stock, ours) else {
        return Verdict::Worse("the group is on one side only".to_owned());
    };
    let mut reason = None;
    for name in theirs.keys().chain(here.keys()) {
        let (there, here) = (theirs.get(name), here.get(name));
        if there == here {
            continue;
        }
        let base = name.split('_').next().unwrap_or_default();
        let found = match (there, here) {
            (None, Some(_)) if base == "ori" => Reason::WholeOrigin,
            (Some(_), None) if name.ends_with("_pmspare") => Reason::LostSpare,
            _ if command.contains("--repair") && base.starts_with('m') => Reason::NoNewImage,
            (None, Some(_)) if command.contains("--mirrorsonly") && base.starts_with('m') => {
                Reason::LostMirror
            }
            _ => return Verdict::Worse(format!("{name}: {there:?} in stock, {here:?} here")),
        };
        reason = Some(found);
    }
    reason.map_or(Verdict::Same, Verdict::Better)
}

#[cfg(test)]
mod tests;
