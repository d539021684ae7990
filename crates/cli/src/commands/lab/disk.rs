//! `lab disk`: known disks, and those in parameter files.

use std::path::Path;

use lab::disk::catalog;
use lab::disk::file;
use lab::disk::import::{Files, profile};
use lab::disk::profile::Profile;
use serde::Serialize;

use super::command::{JSON, OUTPUT, failed};
use crate::args::{Arguments, Error};
use crate::commands::Session;
use crate::output::json::line;

pub(super) fn disk(
    words: &[String],
    arguments: &Arguments,
    session: &mut Session,
) -> Result<(), Error> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["list"] => {
            for profile in catalog::all() {
                short(&profile, arguments, session)?;
            }
            Ok(())
        }
        ["show", name] => {
            let profile = catalog::find(name).map_err(failed)?;
            show(&profile, arguments, session)?;
            keep(&profile, arguments, session)
        }
        ["import", folder, name] => {
            let files = Files::in_directory(Path::new(folder), name).map_err(failed)?;
            let profile = profile(&files).map_err(failed)?;
            show(&profile, arguments, session)?;
            keep(&profile, arguments, session)
        }
        _ => Err(Error::usage(
            "lab disk: list, show NAME or import DIR NAME is expected",
        )),
    }
}

/// Writes the profile where `--output` says, if it says.
pub(super) fn keep(
    profile: &Profile,
    arguments: &Arguments,
    session: &mut Session,
) -> Result<(), Error> {
    let Some(path) = arguments.value(&OUTPUT) else {
        return Ok(());
    };
    std::fs::write(path, file::write(profile))
        .map_err(|error| Error::failed(format!("{path} cannot be written: {error}")))?;
    session.tell(&format!("{path} holds the profile."));
    Ok(())
}

fn bytes(profile: &Profile) -> Result<u64, Error> {
    Ok(profile.layout.clone().build().map_err(failed)?.blocks() * 512)
}

#[derive(Serialize)]
struct Known<'a> {
    disk: &'a str,
    bytes: u64,
    rpm: u32,
    source: &'a str,
}

fn short(profile: &Profile, arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    let size = bytes(profile)?;
    if arguments.has(&JSON) {
        let known = Known {
            disk: &profile.name,
            bytes: size,
            rpm: profile.mechanics.rpm,
            source: &profile.source,
        };
        session.print(&line(&known))?;
        return Ok(());
    }
    session.line(&format!(
        "{:28} {:6.1} GB {:6} rpm  {}",
        profile.name,
        size as f64 / 1e9,
        profile.mechanics.rpm,
        profile.source
    ))?;
    Ok(())
}

fn show(profile: &Profile, arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    short(profile, arguments, session)?;
    if arguments.has(&JSON) {
        return Ok(());
    }
    let (layout, mechanics) = (&profile.layout, &profile.mechanics);
    session.line(&format!(
        "  {} cylinders, {} heads, {} zones",
        layout.cylinders,
        layout.heads,
        layout.zones.len()
    ))?;
    for (index, zone) in layout.zones.iter().enumerate() {
        let rate = f64::from(zone.per_track) * 512.0 * f64::from(mechanics.rpm) / 60e6;
        session.line(&format!(
            "  zone {index:2}: cylinders {} to {}, {} sectors in a track, {rate:.1} MB/s",
            zone.first_cylinder, zone.last_cylinder, zone.per_track
        ))?;
    }
    let cylinders = layout.cylinders;
    for distance in [1, 10, 100, 1000, 10_000, cylinders / 3, cylinders - 1] {
        if distance < cylinders {
            let time = mechanics.seek.time_ns(distance, cylinders) as f64 / 1e6;
            session.line(&format!("  seek over {distance} cylinders: {time:.2} ms"))?;
        }
    }
    let (cache, queue) = (&profile.cache, &profile.queue);
    session.line(&format!(
        "  cache: {} segments of {} KiB, writes {:?}; queue: {:?}, {} deep",
        cache.segments,
        cache.segment_blocks / 2,
        cache.write_policy,
        queue.scheduler,
        queue.depth
    ))?;
    Ok(())
}
