//! What a target holds, for people and for programs.

use ashlar::activate::Permanence;
use ashlar::stream::{Held, Note};
use serde::Serialize;

use crate::args::Error;
use crate::commands::Session;

/// How it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Lines,
    Json,
}

/// What a target holds, for programs.
#[derive(Serialize)]
struct Holding<'a> {
    target: &'a str,
    state: &'static str,
    #[serde(flatten)]
    of: Option<Of<'a>>,
}

/// What that is of.
#[derive(Serialize)]
struct Of<'a> {
    name: &'a str,
    moment: String,
    base: Option<String>,
    size: u64,
    position: u64,
    token: Option<String>,
}

/// Prints what `target` holds.
pub(super) fn show(
    session: &mut Session,
    target: &str,
    note: Option<&Note>,
    form: Form,
) -> Result<(), Error> {
    if form == Form::Json {
        let holding = Holding {
            target,
            state: match note.map(|note| note.held) {
                None => "empty",
                Some(Held::All(_)) => "whole",
                Some(Held::UpTo(..)) => "interrupted",
            },
            of: note.map(|note| Of {
                name: &note.header.name,
                moment: note.header.moment.to_string(),
                base: note.header.base.map(|base| base.to_string()),
                size: note.header.size,
                position: position(note),
                token: note.token().map(|token| token.to_string()),
            }),
        };
        let line = serde_json::to_string(&holding).expect("texts and numbers can be written");
        return Ok(session.line(&line)?);
    }
    let Some(note) = note else {
        return Ok(session.line(&format!("{target} has received nothing"))?);
    };
    let (name, moment, size) = (&note.header.name, note.header.moment, note.header.size);
    session.line(&match note.held {
        Held::All(_) => format!("{target} holds {name} ({moment})"),
        Held::UpTo(position, _) => {
            format!("{target} has the first {position} of {size} bytes of {name} ({moment})")
        }
    })?;
    if let Some(base) = note.header.base {
        session.line(&format!("It was made of the moment {base}"))?;
    }
    match (note.token(), note.held) {
        (Some(token), _) => {
            session.line(&format!("Goes on with: ashlar send --resume {token}"))?;
        }
        (None, Held::UpTo(..)) => session.line(again(note.header.permanence))?,
        (None, Held::All(_)) => {}
    }
    Ok(())
}

/// The byte up to which a target has what was sent.
pub(super) fn position(note: &Note) -> u64 {
    match note.held {
        Held::All(_) => note.header.size,
        Held::UpTo(position, _) => position,
    }
}

/// What becomes of a stream that was interrupted and cannot be gone on with.
pub(super) fn again(permanence: Permanence) -> &'static str {
    match permanence {
        Permanence::Lasting => "The same stream is to be sent again from its beginning",
        Permanence::Passing => {
            "What was sent may have changed since: send it again from its beginning"
        }
    }
}
