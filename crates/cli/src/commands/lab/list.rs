//! `lab list`: the experiments, and the claims that they decide.

use lab::experiment::library;
use lab::measure::studies;

use super::command::{JSON, failed, quoted};
use crate::args::{Arguments, Error};
use crate::commands::Session;

pub(super) fn list(
    words: &[String],
    arguments: &Arguments,
    session: &mut Session,
) -> Result<(), Error> {
    if let Some(word) = words.first() {
        return Err(Error::usage(format!(
            "lab list: '{word}' is one word too many"
        )));
    }
    for experiment in library().map_err(failed)? {
        let mut claims: Vec<&str> = experiment.rules.iter().map(|rule| &*rule.claim).collect();
        claims.dedup();
        let runs = experiment.arms.len() as u64 * experiment.replicates;
        if arguments.has(&JSON) {
            let claims: Vec<String> = claims.iter().map(|claim| quoted(claim)).collect();
            session.print(&format!(
                "{{\"experiment\":{},\"title\":{},\"runs\":{runs},\"claims\":[{}]}}\n",
                quoted(&experiment.name),
                quoted(&experiment.title),
                claims.join(",")
            ))?;
        } else {
            session.line(&format!("{:16} {}", experiment.name, experiment.title))?;
            let claims = claims.join(" ");
            session.line(&format!("{:16} {runs} runs; decides {claims}", ""))?;
        }
    }
    for study in studies().map_err(failed)? {
        let claims = study.claims();
        let rounds = study.rounds * (study.media.len() * study.loads.len()) as u64;
        if arguments.has(&JSON) {
            let claims: Vec<String> = claims.iter().map(|claim| quoted(claim)).collect();
            session.print(&format!(
                "{{\"measured\":{},\"title\":{},\"rounds\":{rounds},\"claims\":[{}]}}\n",
                quoted(&study.name),
                quoted(&study.title),
                claims.join(",")
            ))?;
        } else {
            session.line(&format!("{:16} {}", study.name, study.title))?;
            let claims = claims.join(" ");
            session.line(&format!("{:16} {rounds} rounds; measures {claims}", ""))?;
        }
    }
    Ok(())
}
