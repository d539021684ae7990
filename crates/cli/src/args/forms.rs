//! Which options and names go together: the forms of a command, in `forms.txt`.
//!
//! ```text
//!   what was given ─▸ forms whose needs are met ─▸ that of the type, with most needs, few left
//!                          ╲ none: what the nearest lacks       ╲ what it does not take
//! ```
//!
//! The forms are those of LVM2's manual pages, and so are the answers, so that a script that relies
//! on a refusal gets it. Options that only this program has are in no form, and go with each.

use super::error::Error;
use super::parse::Arguments;

const FORMS: &str = include_str!("forms.txt");
/// Options whose values stock does not repeat where it refuses them.
const WITHOUT_VALUES: &[&str] = &[
    "addtag",
    "cachedevice",
    "cachesettings",
    "deltag",
    "major",
    "minor",
    "rebuild",
    "replace",
    "vdosettings",
    "writemostly",
];
/// Goes with all names that it may stand for.
const SELECT: &str = "select";
/// Options that go with each form, and are all that one needs.
const WITH_ALL: &[&str] = &[SELECT, "profile"];
/// Options that are others with a value.
const SYNONYMS: &[(&str, &str)] = &[("extents", "size"), ("corelog", "mirrorlog")];

/// Commands, and an option that does not go with others.
const RULES: &[(&str, &str, &[&str])] = &[
    ("lvchange", "profile", &["detachprofile"]),
    ("lvchange", "metadataprofile", &["detachprofile"]),
    (
        "lvconvert",
        "poolmetadata",
        &["readahead", "stripesize", "stripes"],
    ),
];

/// An option, perhaps with the values that are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Choice {
    long: &'static str,
    values: Option<&'static str>,
}

/// One way in which a command is called.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Form {
    needed: Vec<Choice>,
    /// One of them is needed, unless there are none.
    one_of: Vec<Choice>,
    names: Vec<&'static str>,
    /// Whether a form is no nearer for its names.
    ignores_names: bool,
    /// How many names may follow those; `None`: any number.
    more_names: Option<usize>,
    optional: Vec<Choice>,
    /// The types that its volume may have, with commas between them, unless it may have any.
    types: Option<&'static str>,
    /// Whether criteria cannot stand beside it.
    refuses_criteria: bool,
}

/// The forms of a command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Forms {
    all: Vec<Form>,
}

/// An option that was given, by the name that forms have for it.
#[derive(Debug, Clone, Copy)]
struct Given<'a> {
    long: &'a str,
    value: Option<&'a str>,
}

/// How well a form fits: whether it needs the type that was given, few options left, and, where
/// none are, needs that are met.
type Fit = (bool, std::cmp::Reverse<usize>, usize);

/// Refuses what is no form of the command.
pub(super) fn check(command: &str, arguments: &Arguments) -> Result<(), Error> {
    let Some(forms) = forms_of(command) else {
        return Ok(());
    };
    let given = forms.given(arguments);
    let count = count(command, arguments);
    let Some(best) = forms.best(&given, count) else {
        let nearest = forms.nearest_lacks(&given, count);
        let syntax = forms
            .only()
            .map_or(String::new(), |form| form.shown(command));
        return Err(Error::no_form(command, &format!("{nearest}{syntax}")));
    };
    let left: Vec<String> = best.left(&given).map(Given::not_accepted).collect();
    if !left.is_empty() {
        return Err(Error::form(left.join("\n")));
    }
    let most = best.more_names.map(|more| best.names.len() + more);
    match most.and_then(|most| arguments.operands().get(most)) {
        None => check_rules(command, arguments),
        Some(word) => Err(Error::form(format!(
            "Command does not accept argument: {word}."
        ))),
    }
}

/// The types of volumes that the form takes which a line is, with commas between them, where they
/// are not all.
pub(crate) fn volume_types(arguments: &Arguments) -> Option<&'static str> {
    let command = arguments.command();
    let forms = forms_of(command)?;
    let given = forms.given(arguments);
    forms.best(&given, count(command, arguments))?.types
}

/// How many names there are.
fn count(command: &str, arguments: &Arguments) -> usize {
    arguments.operands().len() + usize::from(names_its_group(command, arguments))
}

/// Refuses options that a command takes, but not together.
fn check_rules(command: &str, arguments: &Arguments) -> Result<(), Error> {
    let is_given = |long: &str| arguments.all_given().any(|(other, _)| other == long);
    let is_broken = |others: &[&str]| others.iter().any(|other| is_given(other));
    let broken = RULES
        .iter()
        .find(|(of, one, others)| *of == command && is_given(one) && is_broken(others));
    match broken {
        None => Ok(()),
        Some((_, one, others)) => Err(Error::form(format!(
            "Command does not accept option combination: --{one}  with --{} ",
            others.join(" --")
        ))),
    }
}

/// Whether `--name VG/LV` stands for the group of `lvcreate`, or a pool that is named so and gets a
/// size, or a volume of one.
fn names_its_group(command: &str, arguments: &Arguments) -> bool {
    let names = |options: &[&str]| {
        let mut given = arguments.given();
        given.any(|(long, value)| options.contains(&long) && value.contains('/'))
    };
    let sizes = ["size", "extents", "virtualsize"];
    let is_sized = arguments.given().any(|(long, _)| sizes.contains(&long));
    command == "lvcreate"
        && arguments.operands().is_empty()
        && (names(&["name"]) || is_sized && names(&["thinpool", "cachepool", "vdopool"]))
}

impl Choice {
    fn is_in(&self, given: &[Given<'_>]) -> bool {
        given.iter().any(|one| self.takes(one))
    }

    /// Whether it is this option, with a value that is meant.
    fn takes(&self, given: &Given<'_>) -> bool {
        let fits = |one: &str, value: &str| {
            let number = |text: &str| text.parse::<u64>().ok();
            let is_same_number = number(one).is_some() && number(one) == number(value);
            one == value || is_same_number || one == "raid" && value.starts_with("raid")
        };
        let is_meant = match (self.values, given.value) {
            (Some(values), Some(value)) => values.split(',').any(|one| fits(one, value)),
            (Some(_), None) => false,
            (None, _) => true,
        };
        self.long == given.long && is_meant
    }

    fn shown(&self) -> String {
        match (self.long, self.values) {
            ("size", _) => "--size or --extents".to_owned(),
            (long, None) => format!("--{long}"),
            (long, Some(values)) => format!("--{long} {}", values.replace(',', "|")),
        }
    }
}

impl Given<'_> {
    fn not_accepted(&self) -> String {
        let value = self.value.filter(|_| !WITHOUT_VALUES.contains(&self.long));
        let value = value.map_or(String::new(), |value| format!(" {value}"));
        format!("Command does not accept option: --{}{value}.", self.long)
    }
}

impl Form {
    fn choices(&self) -> impl Iterator<Item = &Choice> {
        self.needed.iter().chain(&self.one_of).chain(&self.optional)
    }

    /// Whether its volumes can be of the type that was given, if one was.
    fn takes_type(&self, given: &[Given<'_>]) -> bool {
        let mut types = given.iter().filter(|one| one.long == "type");
        types.all(|one| self.choices().any(|choice| choice.takes(one)))
    }

    /// The line that the only form of a command is, in stock's words.
    fn shown(&self, command: &str) -> String {
        let more = if self.more_names.is_none() {
            " ..."
        } else {
            ""
        };
        let needed = self.needed.iter().map(|choice| match choice.long {
            "size" => "-L|--size [-]Size[m|UNIT]",
            long => long,
        });
        let words: Vec<&str> = needed.chain(self.names.iter().copied()).collect();
        let words = words.join(" ");
        format!("\nCorrect command syntax is:\n{command} {words}{more}")
    }

    /// What it needs and was not given.
    fn missing(&self, given: &[Given<'_>], names: usize) -> Vec<String> {
        let options = self.needed.iter().filter(|choice| !choice.is_in(given));
        let mut missing: Vec<String> = options.map(Choice::shown).collect();
        if !self.one_of.is_empty() && !self.one_of.iter().any(|choice| choice.is_in(given)) {
            missing.push("an option that says what to change".to_owned());
        }
        let is_selected = given.iter().any(|one| one.long == SELECT);
        for (at, name) in self.names.iter().enumerate() {
            if at >= names && !(is_selected && name.contains("Select")) {
                missing.push((*name).to_owned());
            }
        }
        missing
    }

    /// How many of its needs are met; each of several options of which one is needed counts.
    fn met(&self, given: &[Given<'_>], names: usize) -> usize {
        let needed = self.needed.iter().filter(|choice| choice.is_in(given));
        let is_one = |one: &&Given<'_>| self.one_of.iter().any(|choice| choice.long == one.long);
        needed.count() + given.iter().filter(is_one).count() + names.min(self.names.len())
    }

    fn fit(&self, given: &[Given<'_>]) -> Fit {
        let is_of_type = self.needed.iter().any(|choice| choice.long == "type");
        let left = self.left(given).count();
        let names = if self.ignores_names {
            0
        } else {
            self.names.len()
        };
        let met = if left > 0 { 0 } else { self.met(given, names) };
        (is_of_type, std::cmp::Reverse(left), met)
    }

    /// What was given and it does not take. Of several options of which one is needed each goes
    /// with the others, whatever its value.
    fn left<'a>(&'a self, given: &'a [Given<'a>]) -> impl Iterator<Item = &'a Given<'a>> {
        given.iter().filter(|one| {
            let is_one = self.one_of.iter().any(|choice| choice.long == one.long);
            let is_refused = self.refuses_criteria && one.long == SELECT;
            let is_taken = is_one || WITH_ALL.contains(&one.long) && !is_refused;
            !is_taken && !self.choices().any(|choice| choice.takes(one))
        })
    }
}

impl Forms {
    /// What was given, each option once and by the name that forms have for it.
    fn given<'a>(&self, arguments: &'a Arguments) -> Vec<Given<'a>> {
        let mut given: Vec<Given<'_>> = Vec::new();
        for (long, value) in arguments.all_given() {
            let synonym = SYNONYMS.iter().find(|(other, _)| *other == long);
            let long = synonym.map_or(long, |(_, name)| *name);
            if given.iter().all(|one| one.long != long) {
                given.push(Given { long, value });
            }
        }
        given.retain(|one| self.knows(one.long));
        given
    }

    /// The form that fits best; `None`: a need of each is not met.
    fn best(&self, given: &[Given<'_>], count: usize) -> Option<&Form> {
        let of_type = |form: &&Form| form.takes_type(given) || !self.knows("type");
        let fitting = self.all.iter().filter(of_type);
        let fitting = fitting.filter(|form| form.missing(given, count).is_empty());
        // Of equals, the first.
        fitting.rev().max_by_key(|form| form.fit(given))
    }

    fn knows(&self, long: &str) -> bool {
        let mut choices = self.all.iter().flat_map(Form::choices);
        long == SELECT || choices.any(|choice| choice.long == long)
    }

    /// The form of a command that has one.
    fn only(&self) -> Option<&Form> {
        self.all.first().filter(|_| self.all.len() == 1)
    }

    /// What the nearest form lacks, as a sentence behind another one.
    fn nearest_lacks(&self, given: &[Given<'_>], names: usize) -> String {
        let nearest = self.all.iter().rev().max_by_key(|form| {
            let (met, left) = (form.met(given, names), form.left(given).count());
            let missing = form.missing(given, names).len();
            let few = std::cmp::Reverse((left, missing));
            (form.takes_type(given), met, few)
        });
        let missing = nearest.map(|form| form.missing(given, names));
        let missing = missing.filter(|missing| !missing.is_empty());
        missing.map_or(String::new(), |missing| {
            format!(" What comes nearest needs {}, too.", missing.join(" and "))
        })
    }
}

/// The forms of a command; `None`: they are not written down.
fn forms_of(command: &str) -> Option<Forms> {
    let lines = FORMS.lines().map(str::trim_end);
    let mut lines = lines.skip_while(|line| line.strip_prefix("= ") != Some(command));
    lines.next()?;
    let mut forms = Forms::default();
    for line in lines.take_while(|line| !line.starts_with('=')) {
        if !line.is_empty() && !line.starts_with('#') {
            forms.all.push(form(line));
        }
    }
    Some(forms)
}

fn choice(word: &'static str) -> Choice {
    match word.split_once('=') {
        Some((long, values)) => Choice {
            long,
            values: Some(values),
        },
        None => Choice {
            long: word,
            values: None,
        },
    }
}

fn form(line: &'static str) -> Form {
    let mut parts = line.split(':');
    let mut words = || parts.next().unwrap_or_default().split_whitespace();
    let mut form = Form {
        more_names: Some(0),
        ..Form::default()
    };
    for word in words() {
        if word.contains('|') {
            form.one_of = word.split('|').map(choice).collect();
        } else {
            form.needed.push(choice(word));
        }
    }
    for word in words() {
        form.ignores_names |= word.starts_with('(');
        let word = word.trim_matches(['(', ')']);
        let name = word.trim_end_matches(']').trim_end_matches("...");
        let is_optional = word.starts_with('[');
        let (plain, types) = name
            .split_once('=')
            .map_or((name, None), |(plain, types)| (plain, Some(types)));
        form.types = form.types.or(types);
        if name.len() < word.trim_end_matches(']').len() {
            form.more_names = None;
        } else if is_optional {
            form.more_names = form.more_names.map(|more| more + 1);
        }
        if !is_optional {
            form.names.push(plain);
        }
    }
    for word in words() {
        match word.strip_prefix('-') {
            Some(_) => form.refuses_criteria = true,
            None => form.optional.push(choice(word)),
        }
    }
    form
}

#[cfg(test)]
mod tests;
