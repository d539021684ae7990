//! Options of `lvmconfig`, and which settings they mean.

use std::fs::File;
use std::io::Write;

use ashlar::host::{Config, Key, KeyKind, ProfileKind, Reach};
use lvm2::text::{Section, Value};

use super::print::{Said, Spaces, text, value_text};
use super::tree::{Purpose, Shown, at, defaults, merge, set};
use crate::args::{Arguments, Command, Error, Example, Flag, flags};
use crate::commands::Session;

const FILE: Flag = Flag::value("file", "File", "Write to this file instead.").short('f');
const LIST: Flag = Flag::switch("list", "The names of all settings.").short('l');
const TYPE: Flag = Flag::value(
    "typeconfig",
    "current|default|diff|full|list|missing|new|profilable|profilable-command|profilable-metadata",
    "What is shown: current what is set; default LVM2's defaults; diff what is set and differs \
     from them; full what is set, and defaults of the rest; list names; missing defaults of what \
     is not set; new defaults of what is new; profilable what may stand in profiles. May be cut \
     short to --type.",
);
const AT: Flag = Flag::value(
    "atversion",
    "Version",
    "Only what this release of LVM2 had.",
);
const SINCE: Flag = Flag::value(
    "sinceversion",
    "Version",
    "With --type new: what LVM2 has since this release.",
);
const IGNORE_ADVANCED: Flag = Flag::switch("ignoreadvanced", "Leave out what is advanced.");
const IGNORE_UNSUPPORTED: Flag =
    Flag::switch("ignoreunsupported", "Leave out what LVM2 does not support.");
const IGNORE_LOCAL: Flag = Flag::switch("ignorelocal", "Leave out the section local.");
const SHOW_DEPRECATED: Flag = Flag::switch("showdeprecated", "Show what LVM2 gave up, too.");
const SHOW_UNSUPPORTED: Flag =
    Flag::switch("showunsupported", "Show what LVM2 does not support, too.");
const MERGED: Flag = Flag::switch(
    "mergedconfig",
    "With --config: show everything that is set, not only what --config sets.",
);
const VALIDATE: Flag = Flag::switch(
    "validate",
    "Show nothing; tell whether all that is set is known and of the right type.",
);
const COMMENTS: Flag = Flag::switch("withcomments", "Say of each setting what is known of it.");
const SUMMARY: Flag = Flag::switch("withsummary", "The same as --withcomments.");
const SPACES: Flag = Flag::switch("withspaces", "Blanks around = and inside of brackets.");
const VERSIONS: Flag = Flag::switch("withversions", "Say since which release LVM2 has each.");
const LOCAL_PREAMBLE: Flag = Flag::switch(
    "withlocalpreamble",
    "First say what a file of settings of this host is.",
);
const GENERAL_PREAMBLE: Flag = Flag::switch(
    "withgeneralpreamble",
    "First say what a file of settings is.",
);
const METADATA_PROFILE: Flag = Flag::value(
    "metadataprofile",
    "String",
    "Show what is set with this metadata profile.",
);

/// The command, by all of its names.
pub(in crate::commands) const COMMANDS: &[&Command] = &[
    &COMMAND,
    &Command {
        name: "dumpconfig",
        summary: "The same as lvmconfig",
        ..COMMAND
    },
    &Command {
        name: "config",
        summary: "The same as lvmconfig",
        ..COMMAND
    },
];

const COMMAND: Command = Command {
    name: "lvmconfig",
    summary: "Show the configuration, or what it could be",
    operands: "[SECTION|SECTION/SETTING ...]",
    description: "Shows what lvm.conf, lvmlocal.conf and the files of tags set, in their own form; \
        with --config what that sets. Operands choose sections and settings.",
    flags: &[
        &[
            FILE,
            LIST,
            TYPE,
            AT,
            SINCE,
            IGNORE_ADVANCED,
            IGNORE_UNSUPPORTED,
            IGNORE_LOCAL,
            SHOW_DEPRECATED,
            SHOW_UNSUPPORTED,
            MERGED,
            VALIDATE,
            COMMENTS,
            SUMMARY,
            SPACES,
            VERSIONS,
            LOCAL_PREAMBLE,
            GENERAL_PREAMBLE,
            METADATA_PROFILE,
            Flag::switch("unconfigured", "Accepted for scripts."),
        ],
        flags::COMMON,
    ],
    examples: &[
        Example {
            line: "lvmconfig --type diff",
            does: "shows what this machine's configuration changes",
        },
        Example {
            line: "lvmconfig --type default devices/filter",
            does: "shows the default of a setting",
        },
    ],
    run,
};

/// What is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Type {
    Current,
    Default,
    Diff,
    Full,
    List,
    Missing,
    New,
    Profilable(Option<ProfileKind>),
}

const TYPES: [(&str, Type); 10] = [
    ("current", Type::Current),
    ("default", Type::Default),
    ("diff", Type::Diff),
    ("full", Type::Full),
    ("list", Type::List),
    ("missing", Type::Missing),
    ("new", Type::New),
    ("profilable", Type::Profilable(None)),
    (
        "profilable-command",
        Type::Profilable(Some(ProfileKind::Command)),
    ),
    (
        "profilable-metadata",
        Type::Profilable(Some(ProfileKind::Metadata)),
    ),
];

/// The release whose settings the table holds.
const RELEASE: Version = Version([2, 3, 16]);

/// A release of LVM2, without the zeros in front of its numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Version([u32; 3]);

impl Version {
    fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split('.').map(|number| number.parse().ok());
        let all = [numbers.next()??, numbers.next()??, numbers.next()??];
        numbers.next().is_none().then_some(Self(all))
    }

    fn asked(arguments: &Arguments, flag: &Flag) -> Result<Option<Self>, Error> {
        let parse =
            |text| Self::parse(text).ok_or_else(|| Error::usage("Incorrect version format."));
        arguments.value(flag).map(parse).transpose()
    }
}

fn run(arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    let mut config = Config::clone(&*session.config(arguments)?);
    let profile = arguments.value(&flags::PROFILE);
    if let Some(name) = arguments.value(&METADATA_PROFILE) {
        // As in stock, it is the first to be missed.
        if let Some(name) = profile {
            load(&mut config.clone(), name)?;
        }
        config.add_profile(ProfileKind::Metadata, name)?;
    }
    let wanted = wanted(arguments)?;
    if let Some(name) = profile {
        load(&mut config, name)?;
    }
    if arguments.has(&VALIDATE) {
        if config.complaints().is_empty() {
            return Ok(session.line("LVM configuration valid.")?);
        }
        return Err(Error::failed("LVM configuration invalid."));
    }
    let shown = shown(wanted, &config, arguments)?;
    let of_texts = [&COMMENTS, &LOCAL_PREAMBLE, &GENERAL_PREAMBLE];
    if let Some(flag) = of_texts.iter().find(|flag| arguments.has(flag))
        && wanted == Type::List
    {
        let what = format!("--{} has no effect with --type list", flag.long);
        return Err(Error::usage(what));
    }
    let mut file = arguments.value(&FILE).map(open).transpose()?;
    let said = Said {
        comments: arguments.has(&COMMENTS) || arguments.has(&SUMMARY),
        versions: arguments.has(&VERSIONS),
        spaces: if arguments.has(&SPACES) && wanted != Type::Current {
            Spaces::In
        } else {
            Spaces::Out
        },
    };
    let mut out = preamble(arguments);
    let mut print = |shown: &Shown| {
        if wanted == Type::List {
            list(shown, said, &mut out);
        } else {
            out += &text(shown, said);
        }
    };
    let raw = config.tree(reach(arguments));
    for path in arguments.operands() {
        match at(&shown, path) {
            Some(node) => print(node),
            // What is set and is no setting is there, and is not shown.
            None if wanted == Type::Current && is_in(&raw, path) => {}
            None => session.fail_later(&format!("Configuration node {path} not found")),
        }
    }
    if arguments.operands().is_empty() {
        shown.iter().for_each(print);
    }
    match &mut file {
        Some(file) => Ok(file.write_all(out.as_bytes())?),
        None => Ok(session.print(&out)?),
    }
}

/// The file that is written instead, empty.
fn open(path: &str) -> Result<File, Error> {
    File::create(path).map_err(|error| {
        let why = error.to_string();
        let why = why.split(" (os error").next().unwrap_or_default();
        Error::failed(format!("{path}: open failed: {why}"))
    })
}

fn preamble(arguments: &Arguments) -> String {
    let mut out = String::new();
    if arguments.has(&GENERAL_PREAMBLE) {
        out += "# Settings of LVM2, as they stand in lvm.conf.\n\n";
    }
    if arguments.has(&LOCAL_PREAMBLE) {
        out += "# Settings of this host alone, as they stand in lvmlocal.conf.\n\n";
    }
    out
}

/// Puts a profile over the files, of whichever kind it is.
fn load(config: &mut Config, name: &str) -> Result<(), Error> {
    let Err(error) = config.add_profile(ProfileKind::Command, name) else {
        return Ok(());
    };
    if config.add_profile(ProfileKind::Metadata, name).is_ok() {
        return Ok(());
    }
    let text = error.to_string();
    let why = text.lines().next().unwrap_or_default();
    Err(Error::failed(format!(
        "{why}\nFailed to load profile {name}."
    )))
}

/// The type that is wanted; what does not go together is refused in stock's order.
fn wanted(arguments: &Arguments) -> Result<Type, Error> {
    let given = arguments.value(&TYPE);
    let of_name = |name| TYPES.iter().find(|(known, _)| *known == name);
    let wanted = match given.and_then(of_name) {
        Some((_, wanted)) => *wanted,
        None if arguments.has(&LIST) => Type::List,
        None => Type::Current,
    };
    let both = |one: &Flag, other: &Flag| arguments.has(one) && arguments.has(other);
    let is_current = wanted == Type::Current;
    let of_keys = [IGNORE_ADVANCED, IGNORE_UNSUPPORTED];
    let refusals = [
        (
            both(&TYPE, &VALIDATE),
            "Only one of --type and --validate permitted.",
        ),
        (
            both(&AT, &SINCE),
            "Only one of --atversion and --sinceversion permitted.",
        ),
        (
            both(&TYPE, &LIST),
            "Only one of --type and --list permitted.",
        ),
        (
            both(&IGNORE_UNSUPPORTED, &SHOW_UNSUPPORTED),
            "Only one of --ignoreunsupported and --showunsupported permitted.",
        ),
        (
            arguments.has(&SINCE) && wanted != Type::New,
            "--sinceversion requires --type new",
        ),
        (
            is_current && given.is_none() && arguments.has(&AT),
            "--atversion requires --type or --list",
        ),
        (
            is_current && arguments.has(&AT),
            "--atversion has no effect with --type current",
        ),
        (
            is_current && of_keys.iter().any(|flag| arguments.has(flag)),
            "--ignoreadvanced and --ignoreunsupported has no effect with --type current",
        ),
        (
            arguments.has(&MERGED) && !matches!(wanted, Type::Current | Type::Full),
            "--mergedconfig has no effect without --type current or --type full",
        ),
    ];
    match refusals.iter().find(|(is_so, _)| *is_so) {
        Some((_, what)) => Err(Error::usage(*what)),
        None => Ok(wanted),
    }
}

fn reach(arguments: &Arguments) -> Reach {
    if arguments.has(&MERGED) {
        Reach::Everything
    } else {
        Reach::Texts
    }
}

fn shown(wanted: Type, config: &Config, arguments: &Arguments) -> Result<Vec<Shown>, Error> {
    let at = Version::asked(arguments, &AT)?.unwrap_or(RELEASE);
    let since = Version::asked(arguments, &SINCE)?;
    let tree = config.tree(match wanted {
        Type::Full | Type::Diff => Reach::Everything,
        _ => reach(arguments),
    });
    let default = |key: &'static Key| default_of(key, config);
    let mark_of = |kind| match kind {
        ProfileKind::Command => "command-profile",
        ProfileKind::Metadata => "metadata-profile",
    };
    let is_wanted = |key: &&'static Key| {
        let Some(since_of_key) = Version::parse(key.since) else {
            return false;
        };
        let is_there = is_there(key, at, arguments, wanted) && since_of_key <= at;
        let is_about = match wanted {
            Type::Missing | Type::Full => {
                !key.has_mark("named") && value_at(&tree, key.path).is_none()
            }
            Type::New => match since {
                Some(since) => since_of_key >= since,
                None => since_of_key == at,
            },
            Type::Profilable(None) => {
                key.has_mark("command-profile") || key.has_mark("metadata-profile")
            }
            Type::Profilable(Some(kind)) => key.has_mark(mark_of(kind)),
            _ => true,
        };
        is_there && is_about
    };
    let keys = Config::keys().iter().filter(is_wanted);
    Ok(match wanted {
        Type::Current => set(&tree, &|_, _| true),
        Type::Diff => set(&tree, &|key, value| differs(key, value, config)),
        Type::Full => {
            let mut all = defaults(keys, Purpose::Used, default);
            merge(&mut all, set(&tree, &|_, _| true));
            all
        }
        Type::Missing => defaults(keys, Purpose::Missing, default),
        Type::Default | Type::List | Type::New | Type::Profilable(_) => {
            defaults(keys, Purpose::Shown, default)
        }
    })
}

/// Whether a release has a setting that is not to be left out.
fn is_there(key: &Key, at: Version, arguments: &Arguments, wanted: Type) -> bool {
    let shows_all = wanted == Type::Full;
    let given_up = key.given_up_in().and_then(Version::parse);
    let is_given_up = given_up.map_or(key.has_mark("deprecated"), |release| release <= at);
    let is_unsupported = key.has_mark("unsupported");
    (!is_given_up || shows_all || arguments.has(&SHOW_DEPRECATED))
        && (!is_unsupported || arguments.has(&SHOW_UNSUPPORTED))
        && !(key.has_mark("advanced") && arguments.has(&IGNORE_ADVANCED))
        && !(is_unsupported && arguments.has(&IGNORE_UNSUPPORTED))
        && !(key.path.starts_with("local/") && arguments.has(&IGNORE_LOCAL))
}

/// A default, with the folder that is this host's.
fn default_of(key: &Key, config: &Config) -> Option<String> {
    let folder = format!("\"{}", config.system_dir().display());
    let default = (key.default != "undefined").then_some(key.default)?;
    Some(default.replace("\"/etc/lvm", &folder))
}

/// Whether a value is of the right type and not what it would be by itself.
fn differs(key: &Key, value: &Value<'_>, config: &Config) -> bool {
    if !key.kind.admits(value) || key.default == "\"\"" {
        return false;
    }
    let Some(default) = default_of(key, config) else {
        return true;
    };
    let (default, value) = (default.as_str(), value_text(value));
    let plain = default.trim_start_matches('[').trim_end_matches(']');
    let is_same = match (key.kind, value.parse::<i64>()) {
        // Stock's default of a mask is octal.
        (KeyKind::Integer, Ok(number)) => {
            let octal = default.strip_prefix('0').filter(|rest| !rest.is_empty());
            let default = match octal {
                Some(octal) => i64::from_str_radix(octal, 8),
                None => default.parse(),
            };
            default == Ok(number)
        }
        _ => value == default || value == plain,
    };
    !is_same
}

fn value_at<'a>(tree: &'a Section<'static>, path: &str) -> Option<&'a Value<'static>> {
    let (folder, name) = path.rsplit_once('/')?;
    let mut parts = folder.split('/');
    let section = parts.try_fold(tree, |tree, part| tree.section(part))?;
    section.value(name)
}

fn is_in(tree: &Section<'static>, path: &str) -> bool {
    let mut parts = path.split('/').filter(|part| !part.is_empty());
    if path.is_empty() || path.ends_with('/') {
        return false;
    }
    let is_section = parts
        .try_fold(tree, |tree, part| tree.section(part))
        .is_some();
    is_section || value_at(tree, path).is_some() || tree.value(path).is_some()
}

/// The names of settings, one on a line.
fn list(shown: &Shown, said: Said, out: &mut String) {
    match shown {
        Shown::Section { nodes, .. } => nodes.iter().for_each(|node| list(node, said, out)),
        Shown::Setting { key, .. } => {
            *out += key.path;
            if said.versions {
                out.extend([" - [", key.since, "]"]);
            }
            out.push('\n');
        }
    }
}
