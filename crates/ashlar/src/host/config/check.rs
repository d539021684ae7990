//! Whether settings are those that there are, and values what they have to be, in stock's words.
//!
//! Nothing is refused: a value of a wrong type is not used, as if it were not there.

use lvm2::text::{Node, Section, Value};

use super::keys::{self, Key, KeyKind};

/// What is wrong in a tree of settings, one sentence each.
pub(super) fn complaints(tree: &Section<'_>) -> Vec<String> {
    let mut all = Vec::new();
    for node in &tree.nodes {
        match node {
            Node::Value { name, .. } => all.push(format!(
                "Configuration setting \"{name}\" invalid. It's not part of any section."
            )),
            Node::Section(section) => look_into(section, &section.name, &mut all),
        }
    }
    all
}

/// The setting that stands at `path`, where parts of its name are a name of choice.
pub(super) fn known(path: &str) -> Option<&'static Key> {
    debug_assert!(!path.contains("//"), "{path} is in one form");
    let is_it = |key: &&Key| {
        let parts = key.path.split('/').zip(path.split('/'));
        let same = |(own, part): (&str, &str)| own == part || own.starts_with('<');
        key.path.split('/').count() == path.split('/').count() && parts.into_iter().all(same)
    };
    keys::all().iter().find(is_it)
}

/// Whether settings stand below `path`.
fn is_section(path: &str) -> bool {
    let depth = path.split('/').count();
    keys::all().iter().any(|key| {
        let mut parts = key.path.split('/').zip(path.split('/'));
        key.path.split('/').count() > depth
            && parts.all(|(own, part)| own == part || own.starts_with('<'))
    })
}

fn look_into(section: &Section<'_>, path: &str, all: &mut Vec<String>) {
    if let Some(key) = known(path) {
        all.push(wrong_type(key.path, "section", key.kind));
        return;
    }
    if !is_section(path) {
        all.push(format!("Configuration section \"{path}\" unknown."));
        return;
    }
    for node in &section.nodes {
        match node {
            Node::Section(inner) => look_into(inner, &format!("{path}/{}", inner.name), all),
            Node::Value { name, value } => {
                let path = format!("{path}/{name}");
                match known(&path) {
                    Some(key) => all.extend(complaint(key, &path, value)),
                    None => all.push(format!("Configuration setting \"{path}\" unknown.")),
                }
            }
        }
    }
}

/// What is wrong with the value of a setting.
fn complaint(key: &Key, path: &str, value: &Value<'_>) -> Option<String> {
    let values = match value {
        Value::Array(values) => values.as_slice(),
        single => std::slice::from_ref(single),
    };
    match (key.kind, values) {
        (KeyKind::Any, _) => None,
        (KeyKind::Boolean, [Value::String(word), ..]) if !key.kind.admits(&values[0]) => {
            Some(format!(
                "Configuration setting \"{path}\" invalid. Found string value \"{word}\", expected \
                 boolean value: 0/1, \"y/n\", \"yes/no\", \"on/off\", \"true/false\"."
            ))
        }
        (KeyKind::String, [Value::String(text), ..]) if text.is_empty() && !key.may_be_empty() => {
            Some(format!(
                "Configuration setting \"{path}\" invalid. It cannot be set to an empty value."
            ))
        }
        (kind, values) => {
            let fits = |value: &&Value<'_>| match (kind, value) {
                (KeyKind::Strings, Value::String(_))
                | (KeyKind::Array, Value::String(_) | Value::Integer(_)) => true,
                (KeyKind::Strings | KeyKind::Array, _) => false,
                (kind, value) => kind.admits(value),
            };
            let wrong = values.iter().find(|value| !fits(value))?;
            Some(wrong_type(path, type_name(wrong), kind))
        }
    }
}

fn wrong_type(path: &str, found: &str, expected: KeyKind) -> String {
    let expected = match expected {
        KeyKind::Strings => "array with values of type: string",
        KeyKind::Array => "array with values of type: integer string",
        kind => kind.name(),
    };
    // What sizes are shown in is read by every command.
    let ignored = if path == "global/units" {
        "\nWARNING: Ignoring unsupported value for global/units."
    } else {
        ""
    };
    format!(
        "WARNING: Configuration setting \"{path}\" has invalid type. Found {found} but expected \
         {expected}.{ignored}"
    )
}

fn type_name(value: &Value<'_>) -> &'static str {
    match value {
        Value::Integer(_) => "integer",
        Value::Float(_) => "float",
        Value::String(_) => "string",
        Value::Array(_) => "array",
    }
}

#[cfg(test)]
mod tests;
