//! What stock says of its own command lines: `lvm COMMAND --longhelp`, read.
//!
//! ```text
//!     lvcreate --type error -L|--size Size[m|UNIT] VG      a form begins: its head
//!   <tab>[ -l|--extents Number[PERCENT] ]                  may be given with it
//!   <tab>( -x|--allocatable y|n,                           one of these has to be given
//!   <tab>  -u|--uuid )
//!   <tab>[ PV ... ]                                        names that may follow
//!     Common options for command:                          of all forms
//! ```
//!
//! In a head nothing says whether the word behind an option is its value; [`SWITCHES`] does.

/// Options of heads behind which a name stands that is not theirs.
const SWITCHES: &[&str] = &[
    "all",
    "list",
    "listlvs",
    "listvg",
    "merge",
    "mergemirrors",
    "mergesnapshot",
    "mergethin",
    "refresh",
    "removemissing",
    "repair",
    "resync",
    "snapshot",
    "splitcache",
    "splitsnapshot",
    "startpoll",
    "thin",
    "trackchanges",
    "uncache",
    "updatemetadata",
    "usepolicies",
];

/// An option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Choice {
    pub(super) short: Option<char>,
    pub(super) long: String,
    /// The kind of its value, as in `Size[m|UNIT]`.
    pub(super) takes: Option<String>,
}

/// A name that follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Operand {
    /// What it may be, as in `VG|LV|Tag`.
    pub(super) what: String,
    pub(super) repeats: bool,
    pub(super) is_needed: bool,
}

/// One way in which a command is called.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Form {
    pub(super) needed: Vec<Choice>,
    /// At least one of them is needed, unless there are none.
    pub(super) one_of: Vec<Choice>,
    pub(super) optional: Vec<Choice>,
    pub(super) operands: Vec<Operand>,
}

/// All ways in which a command is called.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Usage {
    pub(super) forms: Vec<Form>,
    /// Options that go with each form.
    pub(super) common: Vec<Choice>,
}

/// Reads what `lvm COMMAND --longhelp` prints.
pub(super) fn parse(command: &str, text: &str) -> Usage {
    let mut usage = Usage::default();
    let (mut is_common, mut is_choice) = (false, false);
    for line in text.lines() {
        if line.starts_with("  Common variables") {
            break;
        }
        if line.starts_with("  Common options") {
            is_common = true;
        } else if let Some(line) = line.strip_prefix('\t') {
            is_choice |= line.starts_with('(');
            let ends = line.ends_with(')') && !line.ends_with("(implied)");
            add(&mut usage, line, is_common, is_choice);
            is_choice &= !ends;
        } else if let Some(head) = head(command, line) {
            // The options common to all stand once more behind those of the command.
            is_common = false;
            usage.forms.push(form(head));
        }
    }
    usage
}

/// What stands behind a command's name where a form begins.
fn head<'a>(command: &str, line: &'a str) -> Option<&'a str> {
    let rest = line.strip_prefix("  ")?.strip_prefix(command)?;
    let begins = rest.is_empty() || rest.starts_with(' ') && !rest.starts_with(" - ");
    begins.then_some(rest)
}

/// Reads a head.
fn form(head: &str) -> Form {
    let mut form = Form::default();
    let mut words = head.split_whitespace().peekable();
    while let Some(word) = words.next() {
        if !word.starts_with('-') {
            form.operands.push(Operand {
                what: word.to_owned(),
                repeats: words.next_if_eq(&"...").is_some(),
                is_needed: true,
            });
            continue;
        }
        let mut choice = choice(word);
        if !SWITCHES.contains(&choice.long.as_str()) {
            choice.takes = words
                .next_if(|next| !next.starts_with('-'))
                .map(str::to_owned);
        }
        form.needed.push(choice);
    }
    form
}

/// Reads a line below a head.
fn add(usage: &mut Usage, line: &str, is_common: bool, is_choice: bool) {
    let line = line.trim_end_matches("(implied)").trim();
    let line = line.trim_matches(|c| "[]( ),".contains(c) && c != ']');
    let line = line.strip_suffix(" ]").unwrap_or(line).trim();
    let mut words = line.split_whitespace();
    let Some(first) = words.next().filter(|word| *word != "COMMON_OPTIONS") else {
        return;
    };
    let last = words.next();
    if first.starts_with('-') {
        let mut choice = choice(first);
        choice.takes = last.map(str::to_owned);
        match usage.forms.last_mut() {
            _ if is_common => usage.common.push(choice),
            Some(form) if is_choice => form.one_of.push(choice),
            Some(form) => form.optional.push(choice),
            None => {}
        }
    } else if let Some(form) = usage.forms.last_mut() {
        form.operands.push(Operand {
            what: first.to_owned(),
            repeats: last == Some("..."),
            is_needed: false,
        });
    }
}

/// Reads `-L|--size` or `--type`.
fn choice(word: &str) -> Choice {
    let (short, long) = word.split_once('|').unwrap_or(("", word));
    Choice {
        short: short.chars().nth(1),
        long: long.trim_start_matches('-').to_owned(),
        takes: None,
    }
}

#[cfg(test)]
mod tests;
