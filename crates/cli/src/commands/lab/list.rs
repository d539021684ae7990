//! `lab list`: the experiments, and the claims that they decide.

use lab::experiment::library;
use lab::measure::studies;
use serde::Serialize;

use super::command::{JSON, failed};
use crate::args::{Arguments, Error};
use crate::commands::Session;
use crate::output::json::line;

#[derive(Serialize)]
struct OfExperiment<'a> {
    experiment: &'a str,
    title: &'a str,
    runs: u64,
    claims: Vec<&'a str>,
}

#[derive(Serialize)]
struct OfStudy<'a> {
    measured: &'a str,
    title: &'a str,
    rounds: u64,
    claims: Vec<&'a str>,
}

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
            session.print(&line(&OfExperiment {
                experiment: &experiment.name,
                title: &experiment.title,
                runs,
                claims,
            }))?;
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
            session.print(&line(&OfStudy {
                measured: &study.name,
                title: &study.title,
                rounds,
                claims,
            }))?;
        } else {
            session.line(&format!("{:16} {}", study.name, study.title))?;
            let claims = claims.join(" ");
            session.line(&format!("{:16} {rounds} rounds; measures {claims}", ""))?;
        }
    }
    Ok(())
}
