//! Text in which what is other each time is the same: new identities, times, and what stock says
//! because it runs without its driver.

use std::collections::BTreeSet;

/// Lengths of the parts of an identity.
const PARTS: [usize; 7] = [6, 4, 4, 4, 4, 4, 6];
const IDENTITY: usize = 38;
/// Letters of a volume's attributes from the fifth on.
const ATTR: usize = 6;
const TIME: &str = "dd:dd:dd";
/// What stock says of every line that it runs without its driver. A trailing `*` stands for
/// anything.
const NOISE: &[&str] = &[
    "WARNING: Activation disabled. No device-mapper interaction will be attempted.",
    "WARNING: Skipping zeroing and wipping, compiled without activation support.",
    "/dev/mapper/control: open failed: No such device",
    "Failure to communicate with kernel device-mapper driver.",
    "Check that device-mapper is available in the kernel.",
    "Incompatible libdevmapper *",
];

/// Where a question ends.
const ASKED: &str = "[y/n]: ";

/// What stock leaves out where it has no driver to ask; and what it says in a report, when it reads
/// damaged metadata again.
const LEFT_OUT: [&str; 2] = [
    "LV Status              NOT available",
    "Retrying metadata scan.",
];

/// Whether a text is an identity as LVM2 prints it.
pub(super) fn is_identity(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let fits = |(part, length): (&&str, &usize)| {
        part.len() == *length && part.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    parts.len() == PARTS.len() && parts.iter().zip(&PARTS).all(fits)
}

/// A text with new identities and times made equal, and what a driver would know left out.
pub(super) fn text(text: &str, known: &BTreeSet<String>) -> String {
    let is_kept = |line: &&str| !LEFT_OUT.contains(&line.trim());
    let text: String = text.split_inclusive('\n').filter(is_kept).collect();
    let text = text.as_str();
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut last = ' ';
    while let Some(first) = rest.chars().next() {
        let (put, length) = match rest.get(..IDENTITY) {
            Some(id) if !last.is_alphanumeric() && is_identity(id) && !known.contains(id) => {
                ("ID", IDENTITY)
            }
            _ if is_time(rest) => ("TIME", TIME.len()),
            _ if process(rest) > 0 => ("pvscan[PROCESS]", process(rest)),
            _ if is_attr(rest) => {
                out.push_str("--");
                out.push_str(&rest[2..ATTR].replace('X', "-"));
                ("", ATTR)
            }
            _ => (&rest[..first.len_utf8()], first.len_utf8()),
        };
        out.push_str(put);
        last = first;
        rest = &rest[length..];
    }
    out
}

fn is_time(text: &str) -> bool {
    let fits = |(byte, wanted): (u8, u8)| match wanted {
        b'd' => byte.is_ascii_digit(),
        _ => byte == wanted,
    };
    text.len() >= TIME.len() && text.bytes().zip(TIME.bytes()).all(fits)
}

/// How long `pvscan[NUMBER]` is, with the number of a process, if the text begins so.
fn process(text: &str) -> usize {
    let inner = text
        .strip_prefix("pvscan[")
        .and_then(|rest| rest.split_once(']'));
    let is_number = |inner: &str| inner.bytes().all(|byte| byte.is_ascii_digit());
    let number = inner
        .map(|(number, _)| number)
        .filter(|number| is_number(number));
    number.map_or(0, |number| number.len() + "pvscan[]".len())
}

/// Whether the fifth letter of a volume's attributes and those behind it say that stock cannot ask
/// its driver.
fn is_attr(text: &str) -> bool {
    let letters = |byte: u8| byte.is_ascii_alphabetic() || byte == b'-';
    text.starts_with("XX") && text.len() >= ATTR && text.bytes().take(ATTR).all(letters)
}

/// The lines that say something, without blanks around them. A question ends one: whether what is
/// said next stands behind it is a matter of the terminal.
pub(super) fn lines(text: &str) -> BTreeSet<String> {
    let parts = text.lines().flat_map(|line| line.split_inclusive(ASKED));
    let lines = parts.map(str::trim);
    let said =
        lines.filter(|line| !line.is_empty() && !NOISE.iter().any(|noise| fits(line, noise)));
    said.filter(|line| !line.ends_with(" not zeroed."))
        .map(str::to_owned)
        .collect()
}

/// Whether a text fits a pattern, in which `*` stands for anything.
pub(super) fn fits(text: &str, pattern: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
    }
    true
}

/// What kind of message a line is: names, paths and numbers left out.
pub(super) fn kind(line: &str, names: &BTreeSet<&str>) -> String {
    let mut quoted = false;
    let words = line.split(' ').map(|word| {
        let bare = word.trim_matches(|c: char| "\"'.,:()[]".contains(c));
        let quotes = word.matches(['"', '\'']).count();
        let is_name = quoted
            || quotes > 0
            || names.contains(bare)
            || word.contains('/')
            || bare.chars().any(|c| c.is_ascii_digit());
        quoted ^= quotes % 2 == 1;
        if is_name { "…" } else { word }
    });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
