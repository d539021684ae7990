//! Names of volume groups and volumes as people type them.
//!
//! `vg0`, `vg0/root`, `/dev/vg0`, `/dev/vg0/root` and `/dev/mapper/vg0-root` (where a doubled
//! hyphen stands for one) name the same things; `@tag` names what carries the tag.

/// A volume by the names of its group and its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LvName {
    /// The volume group.
    pub(crate) vg: String,
    /// The volume.
    pub(crate) lv: String,
}

/// What an operand names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// Everything that carries the tag.
    Tag(String),
    /// A volume group.
    Vg(String),
    /// A volume.
    Lv(LvName),
}

/// Splits an operand into what it names. Never fails: a name that does not exist is noticed
/// where it is looked up, with the list of those that do.
pub(crate) fn split_target(word: &str) -> Target {
    if let Some(tag) = word.strip_prefix('@') {
        return Target::Tag(tag.to_owned());
    }
    if let Some(name) = word.strip_prefix("/dev/mapper/")
        && let Some((vg, lv)) = split_mapper(name)
    {
        return Target::Lv(LvName { vg, lv });
    }
    let name = word
        .strip_prefix("/dev/")
        .unwrap_or(word)
        .trim_start_matches('/');
    match name.split_once('/') {
        Some((vg, lv)) if !lv.is_empty() => {
            let lv = lv.trim_start_matches('/').to_owned();
            Target::Lv(LvName {
                vg: vg.to_owned(),
                lv,
            })
        }
        Some((vg, _)) => Target::Vg(vg.to_owned()),
        None => Target::Vg(name.to_owned()),
    }
}

/// `a--b-c` is volume `c` of group `a-b`.
fn split_mapper(name: &str) -> Option<(String, String)> {
    let bytes = name.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == b'-' {
            if bytes.get(at + 1) == Some(&b'-') {
                at += 2;
                continue;
            }
            let plain = |part: &str| part.replace("--", "-");
            return Some((plain(&name[..at]), plain(&name[at + 1..])));
        }
        at += 1;
    }
    None
}

#[cfg(test)]
mod tests;
