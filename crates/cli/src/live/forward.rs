//! A command on its way to the process that owns its group.

use std::path::Path;

use ashlar::Kind;
use ashlar::host::DEVICES_VARIABLE;
use ashlar::live::Client;

use crate::args::{Arguments, Error, flags, source_date};
use crate::commands::Terminal;

/// What became of a command that was to run in another process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Forwarded {
    /// It ran, and succeeded.
    Done,
    /// The process ended first.
    NotBegun,
}

/// Runs a command there.
pub(crate) fn forward(
    mut client: Client,
    name: &str,
    arguments: &Arguments,
) -> Result<Forwarded, Error> {
    let mut words = vec![name.to_owned()];
    let variable = std::env::var(DEVICES_VARIABLE).unwrap_or_default();
    if !arguments.has(&flags::DEVICES) && !variable.is_empty() {
        // The owner's environment is not this one.
        for path in variable.split(':').filter(|path| !path.is_empty()) {
            words.extend(["--devices".to_owned(), path.to_owned()]);
        }
    }
    if let Some(seconds) = source_date()? {
        let setting = format!("ashlar/source_date_epoch={seconds}");
        words.extend([format!("--{}", flags::CONFIG.long), setting]);
    }
    words.extend_from_slice(arguments.words());
    let folder = std::env::current_dir()?;
    let status = run(&mut client, &words, &folder)?;
    match status {
        Some(0) => Ok(Forwarded::Done),
        Some(status) => Err(Error::ended(status)),
        None => Ok(Forwarded::NotBegun),
    }
}

/// The exit status; `None`: it was not begun.
fn run(client: &mut Client, words: &[String], folder: &Path) -> Result<Option<u8>, Error> {
    match client.run(words, folder, &mut Terminal) {
        Ok(status) => Ok(Some(status)),
        Err(error) if error.kind() == Kind::Ended => Ok(None),
        Err(error) => Err(Error::failed(error.to_string())),
    }
}
