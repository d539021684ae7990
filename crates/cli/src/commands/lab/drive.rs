//! `lab drive`: a real program in a folder, its output checked and kept.

use std::io::Write;
use std::path::Path;

use lab::measure;

use super::command::{OUTPUT, RESULTS, failed};
use super::record::MOUNT;
use super::run::open;
use crate::args::{Arguments, Error};
use crate::commands::Session;

pub(super) fn driven(
    words: &[String],
    arguments: &Arguments,
    session: &mut Session,
) -> Result<(), Error> {
    let [program, rest @ ..] = words else {
        return Err(Error::usage("lab drive: say -- COMMAND ..."));
    };
    let output = arguments.value(&OUTPUT).unwrap_or(RESULTS);
    let (mut file, _) = open(output, session)?;
    let folder = Path::new(arguments.value(&MOUNT).unwrap_or("."));
    let found = measure::drive(folder, (program, rest)).map_err(failed)?;
    let written = file.write_all(found.to_line().as_bytes());
    written.map_err(|error| Error::failed(format!("{output} cannot be written: {error}")))?;
    session.print(&found.output)?;
    session.line(&format!(
        "{:.3} s by the clock, {:.3} s of the processor; kept in {output}",
        found.elapsed_s, found.cpu_s
    ))?;
    for name in ["formats", "checks", "findings"] {
        if let Some(text) = found.about.get(name).filter(|text| !text.is_empty()) {
            session.line(&format!("{name}: {text}"))?;
        }
    }
    Ok(())
}
