//! A command on its way to the process that owns its group.

use std::time::{Duration, Instant};

use ashlar::Kind;
use ashlar::host::DEVICES_VARIABLE;
use ashlar::live::{Client, Console};

use crate::args::{Arguments, Error, flags, nodes_dir, source_date};
use crate::commands::{Terminal, is_called_as_lvm2};

/// What became of a command that was to run in another process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Forwarded {
    /// It ran, and succeeded.
    Done,
    /// The process ended first.
    NotBegun,
}

/// How long an owner that has nothing more to do may take to give its disks back.
const END_MAX: Duration = Duration::from_secs(5);
const END_RETRY: Duration = Duration::from_millis(10);

/// Runs a command there; `words` are put in front of those behind its name.
pub(crate) fn forward(
    client: Client,
    name: &str,
    words: Vec<String>,
    arguments: &Arguments,
) -> Result<Forwarded, Error> {
    let mut all = vec![name.to_owned()];
    all.extend(of_caller(arguments)?);
    all.extend(words);
    all.extend_from_slice(arguments.words());
    match run(client, &all, &mut Terminal)? {
        Some(0) => Ok(Forwarded::Done),
        Some(status) => Err(Error::ended(status)),
        None => Ok(Forwarded::NotBegun),
    }
}

/// What the environment of this process says, as words for another one.
pub(crate) fn of_caller(arguments: &Arguments) -> Result<Vec<String>, Error> {
    let mut words = Vec::new();
    let variable = std::env::var(DEVICES_VARIABLE).unwrap_or_default();
    if !arguments.has(&flags::DEVICES) && !variable.is_empty() {
        for path in variable.split(':').filter(|path| !path.is_empty()) {
            words.extend(["--devices".to_owned(), path.to_owned()]);
        }
    }
    let mut set = |setting: String| words.extend([format!("--{}", flags::CONFIG.long), setting]);
    if let Some(seconds) = source_date()? {
        set(format!("ashlar/source_date_epoch={seconds}"));
    }
    if is_called_as_lvm2() {
        set("ashlar/lvm2_words=1".to_owned());
    }
    nodes_dir::of_environment().into_iter().for_each(set);
    Ok(words)
}

/// The exit status of a command that was run there; `None`: it was not begun.
pub(crate) fn run(
    client: Client,
    words: &[String],
    console: &mut dyn Console,
) -> Result<Option<u8>, Error> {
    let folder = std::env::current_dir()?;
    match end_with(client, |client| client.run(words, &folder, console)) {
        Ok(status) => Ok(Some(status)),
        Err(error) if error.kind() == Kind::Ended => Ok(None),
        Err(error) => Err(Error::failed(error.to_string())),
    }
}

/// What an owner is asked last. One that is left with nothing to do ends, and that is waited for:
/// whoever comes next finds the disks free.
pub(crate) fn end_with<T>(
    mut client: Client,
    ask: impl FnOnce(&mut Client) -> ashlar::Result<T>,
) -> ashlar::Result<T> {
    let answer = ask(&mut client)?;
    let left = client.status();
    if matches!(&left, Ok(Some(volumes)) if volumes.is_empty()) {
        let end = Instant::now() + END_MAX;
        let owner = client.leave();
        while owner.is_there() && Instant::now() < end {
            std::thread::sleep(END_RETRY);
        }
    }
    Ok(answer)
}
