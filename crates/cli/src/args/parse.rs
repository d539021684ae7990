//! Words in, flags and operands out.
//!
//! The rules are those of `getopt_long` with LVM2's habit of ignoring hyphens inside a long
//! option (`--no-headings` is `--noheadings`). A wrong word is answered with the word, the
//! command, and the option that was probably meant.

use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use super::default_group;
use super::error::Error;
use super::flags::{COMMON, CONFIG, DEVICES, HELP, LONG_HELP, VERSION};
use super::forms;
use super::suggest::{meant, nearest};
use super::table::{Command, Flag, Takes};
use super::values;

/// Options that may be given more than once. Stock takes one `--config`; a command that goes to the
/// owner of its group gets a second one on the way.
const REPEATED: &[&str] = &[
    "addtag",
    "cachesettings",
    "config",
    "configreport",
    "debug",
    "deltag",
    "devices",
    "disk",
    "force",
    "major",
    "minor",
    "nbd",
    "options",
    "quiet",
    "rebuild",
    "replace",
    "select",
    "settings",
    "sort",
    "useoutdated",
    "vdosettings",
    "verbose",
    "writemostly",
];

/// Kinds of values that are one of a few words, and nothing else.
const WORDS: &[&str] = &[
    "basic|json|json_std",
    "log|vg|lv|pv|pvseg|seg",
    "0|1|2",
    "headers|metadata|metadata_all|metadata_search|metadata_area",
    "2|lvm2",
    "sanlock|dlm|idm|none",
    "pv_header|metadata|label_header",
    "current|default|diff|full|list|missing|new|profilable|profilable-command|profilable-metadata",
];

/// A command line that has been understood.
#[derive(Debug, Default)]
pub(crate) struct Arguments {
    line: String,
    words: Vec<String>,
    given: Vec<(&'static str, Option<String>)>,
    operands: Vec<String>,
    devices_from: Option<usize>,
    /// Whether the words are as somebody typed them: a command that goes on in another process
    /// gets a second `--config` on the way there.
    is_typed: bool,
}

impl Arguments {
    /// The command as it was typed: its name, and the words behind it.
    pub(crate) fn line(&self) -> &str {
        &self.line
    }

    /// The command's name.
    pub(crate) fn command(&self) -> &str {
        self.line.split(' ').next().unwrap_or_default()
    }

    /// The words behind the command's name, as they were typed.
    pub(crate) fn words(&self) -> &[String] {
        &self.words
    }

    /// Whether the flag was given.
    pub(crate) fn has(&self, flag: &Flag) -> bool {
        self.count(flag) > 0
    }

    /// Whether an option of this name was given, which may be one of this command or not.
    pub(crate) fn has_long(&self, long: &str) -> bool {
        self.given.iter().any(|(other, _)| *other == long)
    }

    /// How often the flag was given.
    pub(crate) fn count(&self, flag: &Flag) -> usize {
        self.given
            .iter()
            .filter(|(long, _)| *long == flag.long)
            .count()
    }

    /// The flag's value; of several, the last.
    pub(crate) fn value(&self, flag: &Flag) -> Option<&str> {
        self.values(flag).last()
    }

    /// All values of the flag, in their order.
    pub(crate) fn values<'a>(&'a self, flag: &Flag) -> impl Iterator<Item = &'a str> {
        let long = flag.long;
        self.given
            .iter()
            .filter(move |(given, _)| *given == long)
            .filter_map(|(_, value)| value.as_deref())
    }

    /// The options with values, in their order.
    pub(crate) fn given(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let given = self.given.iter();
        given.filter_map(|(long, value)| Some((*long, value.as_deref()?)))
    }

    /// All options, in their order.
    pub(super) fn all_given(&self) -> impl Iterator<Item = (&'static str, Option<&str>)> {
        let given = self.given.iter();
        given.map(|(long, value)| (*long, value.as_deref()))
    }

    /// The files and nodes that the operands name as devices, as paths from `folder`; of
    /// `disk.img:2` and `disk.img:0-9`, `disk.img`. None where `--devices` says what there is.
    pub(crate) fn named_devices(&self, folder: &Path) -> Vec<PathBuf> {
        if self.has(&DEVICES) {
            return Vec::new();
        }
        let from = self.devices_from.unwrap_or(usize::MAX);
        let words = self.operands.iter().skip(from);
        let existing = |word: &String| {
            let mut name = word.as_str();
            loop {
                let path = folder.join(name);
                let kind = std::fs::metadata(&path).map(|found| found.file_type());
                if kind.is_ok_and(|kind| kind.is_file() || kind.is_block_device()) {
                    return Some(path);
                }
                name = name.rsplit_once(':')?.0;
            }
        };
        words.filter_map(existing).collect()
    }

    /// Takes a flag that was given, unless its value is none or it was given before.
    fn add(&mut self, flag: &Flag, value: Option<String>) -> Result<(), Error> {
        let long = flag.long;
        let may_be_repeated = REPEATED.contains(&long) && !(self.is_typed && long == CONFIG.long);
        if self.has(flag) && !may_be_repeated {
            let short = flag
                .short
                .map_or_else(String::new, |short| format!("-{short}/"));
            let message = format!("Option {short}--{long} may not be repeated.");
            return Err(Error::syntax(message));
        }
        if let (Takes::Value(kind), Some(value)) = (flag.takes, &value) {
            values::check(self.command(), flag, value)?;
            let fits = match kind {
                _ if WORDS.contains(&kind) => kind.split('|').any(|word| word == value),
                "y|n" => value == "y" || value == "n",
                "Number" => values::is_number(value),
                _ => true,
            };
            if !fits {
                let (hint, list) = match kind {
                    "Number" => (String::new(), "a number".to_owned()),
                    _ => (meant(value, kind.split('|')), kind.replace('|', ", ")),
                };
                return Err(Error::syntax(format!(
                    "Invalid argument for --{long}: {value}{hint} ({list})"
                )));
            }
        }
        self.given.push((long, value));
        Ok(())
    }

    /// The options that were given, but for some, as words that mean the same.
    pub(crate) fn options(&self, without: &[&Flag]) -> Vec<String> {
        self.words_where(|long| without.iter().all(|flag| flag.long != long))
    }

    fn words_where(&self, is_wanted: impl Fn(&str) -> bool) -> Vec<String> {
        let given = self.given.iter().filter(|(long, _)| is_wanted(long));
        given
            .map(|(long, value)| word(long, value.as_deref()))
            .collect()
    }

    /// Those of `flags` that were given, as words that mean the same.
    pub(crate) fn words_of(&self, flags: &[&Flag]) -> Vec<String> {
        let is_wanted = |long: &str| flags.iter().any(|flag| flag.long == long);
        self.words_where(is_wanted)
    }

    /// Adds an option that was not typed, also to the words.
    pub(super) fn add_unsaid(&mut self, flag: &Flag, value: Option<String>) {
        debug_assert_eq!(
            value.is_some(),
            flag.takes != Takes::Nothing,
            "--{}",
            flag.long
        );
        self.words.insert(0, word(flag.long, value.as_deref()));
        self.given.push((flag.long, value));
    }

    /// Gives the first `count` operands the names that `rename` has for them, also among the words
    /// as they were typed.
    pub(super) fn rename_operands(
        &mut self,
        count: usize,
        rename: impl Fn(&str) -> Option<String>,
    ) {
        for operand in self.operands.iter_mut().take(count) {
            let Some(name) = rename(operand) else {
                continue;
            };
            // Behind the options, whose values may be the same.
            if let Some(word) = self.words.iter_mut().rfind(|word| *word == operand) {
                word.clone_from(&name);
            }
            *operand = name;
        }
    }

    /// Refuses words that are not options.
    fn no_operands(&self) -> Result<(), Error> {
        self.operands.first().map_or(Ok(()), |word| {
            let what = format!("Command does not accept argument: {word}.");
            Err(Error::form(what))
        })
    }

    /// The words that are not options, to be completed.
    pub(super) fn operands_mut(&mut self) -> &mut Vec<String> {
        &mut self.operands
    }

    /// The words that are not options.
    pub(crate) fn operands(&self) -> &[String] {
        &self.operands
    }
}

/// An option as a word.
fn word(long: &str, value: Option<&str>) -> String {
    match value {
        Some(value) => format!("--{long}={value}"),
        None => format!("--{long}"),
    }
}

/// Parses the words behind a command's name.
pub(crate) fn parse(command: &Command, words: &[String]) -> Result<Arguments, Error> {
    let mut arguments = read(command, words, Arguments::default())?;
    require_form(command, &mut arguments)?;
    Ok(arguments)
}

/// Reads the words behind a command's name as they were typed, each option by itself.
pub(crate) fn read_typed(command: &Command, words: &[String]) -> Result<Arguments, Error> {
    let arguments = Arguments {
        is_typed: true,
        ..Arguments::default()
    };
    read(command, words, arguments)
}

fn read(command: &Command, words: &[String], begun: Arguments) -> Result<Arguments, Error> {
    let typed = std::iter::once(command.name).chain(words.iter().map(String::as_str));
    let mut arguments = Arguments {
        line: typed.collect::<Vec<_>>().join(" "),
        words: words.to_vec(),
        devices_from: command.devices_from(),
        ..begun
    };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if word == "--" {
            arguments.operands.extend(words.cloned());
            break;
        }
        if let Some(option) = word.strip_prefix("--") {
            long_option(command, option, &mut words, &mut arguments)?;
        } else if word.len() > 1 && word.starts_with('-') {
            short_options(command, &word[1..], &mut words, &mut arguments)?;
        } else {
            arguments.operands.push(word.clone());
            if command.names_a_command() {
                arguments.operands.extend(words.cloned());
                break;
            }
        }
    }
    Ok(arguments)
}

/// Refuses options and names that do not go together.
pub(crate) fn require_form(command: &Command, arguments: &mut Arguments) -> Result<(), Error> {
    default_group::apply(command.name, arguments)?;
    if ![HELP, LONG_HELP, VERSION]
        .iter()
        .any(|flag| arguments.has(flag))
    {
        forms::check(command.name, arguments)?;
        if command.operands.is_empty() {
            arguments.no_operands()?;
        }
    }
    Ok(())
}

/// Takes options in front of a command's name: `ashlar --devices DIR lvs`. Gives them, and what
/// follows. Only the options of every command can stand there.
pub(crate) fn split_leading(words: &[String]) -> (&[String], &[String]) {
    let mut at = 0;
    while let Some(word) = words
        .get(at)
        .filter(|word| word.len() > 1 && word.starts_with('-'))
    {
        at += 1;
        let takes_next = match word.strip_prefix("--") {
            Some(long) => COMMON
                .iter()
                .any(|flag| flag.long == long && flag.takes != Takes::Nothing),
            None => false,
        };
        at += usize::from(takes_next);
    }
    words.split_at(at.min(words.len()))
}

fn long_option(
    command: &Command,
    option: &str,
    words: &mut std::slice::Iter<'_, String>,
    arguments: &mut Arguments,
) -> Result<(), Error> {
    let (typed, attached) = match option.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (option, None),
    };
    let flag = find_long(command, typed)?;
    let value = match (flag.takes, attached) {
        (Takes::Nothing, None) => None,
        (Takes::Nothing, Some(_)) => {
            let message = format!(
                "{}: option '--{}' doesn't allow an argument",
                command.name, flag.long
            );
            return Err(Error::syntax(message));
        }
        (Takes::Value(_), Some(value)) => Some(value),
        (Takes::Value(what), None) => Some(words.next().cloned().ok_or_else(|| {
            let name = command.name;
            let message = format!(
                "{name}: option '--{}' requires an argument: {what}",
                flag.long
            );
            Error::syntax(message)
        })?),
    };
    arguments.add(flag, value)
}

fn find_long(command: &Command, typed: &str) -> Result<&'static Flag, Error> {
    let plain = |word: &str| word.replace('-', "");
    let wanted = plain(typed);
    if let Some(flag) = command.all_flags().find(|flag| plain(flag.long) == wanted) {
        return Ok(flag);
    }
    let mut candidates: Vec<&Flag> = command
        .all_flags()
        .filter(|flag| !wanted.is_empty() && plain(flag.long).starts_with(&wanted))
        .collect();
    candidates.sort_by_key(|flag| flag.long);
    candidates.dedup_by_key(|flag| flag.long);
    match candidates[..] {
        [flag] => Ok(flag),
        [] => {
            let hint = nearest(&wanted, command.all_flags().map(|flag| flag.long))
                .map_or_else(String::new, |near| format!("; did you mean '--{near}'?"));
            let name = command.name;
            Err(Error::syntax(format!(
                "{name}: unrecognized option '--{typed}'{hint}"
            )))
        }
        _ => {
            let names: Vec<String> = candidates
                .iter()
                .map(|flag| format!("'--{}'", flag.long))
                .collect();
            Err(Error::syntax(format!(
                "{}: option '--{typed}' is ambiguous; possibilities: {}",
                command.name,
                names.join(" ")
            )))
        }
    }
}

fn short_options(
    command: &Command,
    letters: &str,
    words: &mut std::slice::Iter<'_, String>,
    arguments: &mut Arguments,
) -> Result<(), Error> {
    for (at, letter) in letters.char_indices() {
        let flag = command
            .all_flags()
            .find(|flag| flag.short == Some(letter))
            .ok_or_else(|| {
                let name = command.name;
                Error::syntax(format!(
                    "{name}: invalid option -- '{letter}'; `{name} --help' lists the options"
                ))
            })?;
        match flag.takes {
            Takes::Nothing => arguments.add(flag, None)?,
            Takes::Value(what) => {
                let rest = &letters[at + letter.len_utf8()..];
                let value = if rest.is_empty() {
                    words.next().cloned().ok_or_else(|| {
                        Error::syntax(format!(
                            "{}: option requires an argument -- '{letter}': {what}",
                            command.name
                        ))
                    })?
                } else {
                    rest.to_owned()
                };
                return arguments.add(flag, Some(value));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
