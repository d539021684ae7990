//! `lab trace`: what is in recorded runs, and runs that other programs recorded; `lab replay`.

use std::collections::BTreeMap;

use lab::component::Component;
use lab::disk::catalog;
use lab::disk::drive::{Drive, Model};
use lab::disk::rotation::Angle;
use lab::trace::import::{blktrace, iolog};
use lab::trace::label::{Labels, Map};
use lab::trace::{Certainty, Class, Operation, Trace, read_whole_part, replay, write};
use lab::{layout, stack};

use super::command::{OUTPUT, SEED, failed, number, text_of};
use crate::args::{Arguments, Error, Flag};
use crate::commands::Session;

/// `--disk`
pub(super) const DISK: Flag = Flag::value(
    "disk",
    "Name",
    "The disk of the catalogue to replay on; lab disk list shows them.",
);
/// `--layout`
pub(super) const LAYOUT: Flag = Flag::value(
    "layout",
    "File[:Name]",
    "The layout to replay on: a file that describes some, and the name of one of them.",
);
/// `--select`
pub(super) const SELECT: Flag = Flag::value(
    "select",
    "Path",
    "Of a log of fio that asks for several files, the one to take; for trace export, the path \
     that fio shall ask.",
);

const USAGE: &str = "lab trace: show FILE, import FILE ..., export FILE, or label FILE IMAGE \
                     [IMAGE-BEFORE] is expected";

pub(super) fn trace(
    words: &[String],
    arguments: &Arguments,
    session: &mut Session,
) -> Result<(), Error> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["show", file] => show(file, session),
        ["import", files @ ..] if !files.is_empty() => import(files, arguments, session),
        ["export", file] => {
            let path = arguments.value(&SELECT).unwrap_or("/dev/null");
            let text = lab::trace::to_iolog(&open(file, session)?, path);
            match arguments.value(&OUTPUT) {
                Some(output) => save(output, text.as_bytes()),
                None => Ok(session.print(&text)?),
            }
        }
        ["label", file, image, before @ ..] if before.len() < 2 => {
            let mut trace = open(file, session)?;
            let before = before.first().map(|before| layout_of(before, session));
            let labels = Labels::new(before.transpose()?, layout_of(image, session)?);
            labels.apply(&mut trace);
            save(output(arguments)?, &write(&trace).map_err(failed)?)?;
            places(&labels, &trace, session)
        }
        _ => Err(Error::usage(USAGE)),
    }
}

/// `lab replay`
pub(super) fn replayed(
    words: &[String],
    arguments: &Arguments,
    session: &mut Session,
) -> Result<(), Error> {
    let [file] = words else {
        return Err(Error::usage("lab replay: name one trace"));
    };
    let trace = open(file, session)?;
    let seed = number(arguments, &SEED)?.unwrap_or(1);
    let mut model = model(arguments, seed)?;
    let outcome = replay(&trace, &mut *model).map_err(failed)?;
    session.line(&format!(
        "{} requests, recorded in {:.3} s, replayed in {:.3} s",
        trace.records.len(),
        seconds(outcome.recorded_ns),
        seconds(outcome.elapsed_ns)
    ))?;
    if let Some(comparison) = outcome.comparison {
        session.line(&format!(
            "mean response {:.3} ms recorded, {:.3} ms replayed; demerit {:.3} ms",
            comparison.measured_mean_ns / 1e6,
            comparison.modelled_mean_ns / 1e6,
            comparison.demerit_ns / 1e6
        ))?;
    }
    session.line(&format!(
        "{:18} {:>9} {:>12} {:>12} {:>12}",
        "", "requests", "KiB", "busy s", "response s"
    ))?;
    for component in Component::ALL {
        let share = outcome.component(component);
        session.line(&format!(
            "{:5} {:12} {:9} {:12} {:12.3} {:12.3}",
            component.term(),
            component.name(),
            share.count,
            share.blocks / 2,
            seconds(share.busy_ns),
            share.response_ns as f64 / 1e9
        ))?;
    }
    let others = outcome
        .classes
        .iter()
        .filter(|(class, _)| class.component().is_none());
    for (class, share) in others {
        session.line(&format!(
            "{:18} {:9} {:12} {:12.3} {:12.3}",
            class.name(),
            share.count,
            share.blocks / 2,
            seconds(share.busy_ns),
            share.response_ns as f64 / 1e9
        ))?;
    }
    session.line("What this cannot tell:")?;
    for limit in outcome.limits {
        session.line(&format!("- {limit}"))?;
    }
    Ok(())
}

fn model(arguments: &Arguments, seed: u64) -> Result<Box<dyn Model>, Error> {
    match (arguments.value(&DISK), arguments.value(&LAYOUT)) {
        (Some(name), None) => {
            let profile = catalog::find(name).map_err(failed)?;
            // The phase is drawn from the seed.
            let phase = Angle::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            Ok(Box::new(Drive::new(profile, phase).map_err(failed)?))
        }
        (None, Some(place)) => {
            let (file, name) = place.split_once(':').unwrap_or((place, ""));
            let layouts = layout::parse(file, &text_of(file)?).map_err(failed)?;
            let names: Vec<&str> = layouts.iter().map(|layout| layout.name.as_str()).collect();
            let chosen = match layouts.iter().find(|layout| layout.name == name) {
                None if layouts.len() == 1 && name.is_empty() => &layouts[0],
                Some(layout) => layout,
                None => {
                    let names = names.join(", ");
                    let what = format!("{file}: choose one of its layouts: {names}");
                    return Err(Error::usage(what));
                }
            };
            stack::build(chosen, seed).map_err(failed)
        }
        _ => Err(Error::usage(
            "lab replay: say on what, by --disk NAME or --layout FILE:NAME",
        )),
    }
}

fn seconds(time_ns: u64) -> f64 {
    time_ns as f64 / 1e9
}

fn output(arguments: &Arguments) -> Result<&str, Error> {
    let output = arguments.value(&OUTPUT);
    output.ok_or_else(|| Error::usage("lab: say where the trace goes: --output FILE"))
}

pub(super) fn save(path: &str, bytes: &[u8]) -> Result<(), Error> {
    let written = std::fs::write(path, bytes);
    written.map_err(|error| Error::failed(format!("{path} cannot be written: {error}")))
}

fn load(path: &str) -> Result<Vec<u8>, Error> {
    let read = std::fs::read(path);
    read.map_err(|error| Error::failed(format!("{path} cannot be read: {error}")))
}

/// A trace as far as it is sound; damage is told, and the command fails in the end.
fn open(path: &str, session: &mut Session) -> Result<Trace, Error> {
    let partial = read_whole_part(path, &load(path)?).map_err(failed)?;
    if let Some(damage) = partial.damage {
        session.fail_later(&damage.to_string());
    }
    Ok(partial.trace)
}

fn layout_of(image: &str, session: &mut Session) -> Result<Map, Error> {
    let opened = std::fs::File::open(image);
    let mut file =
        opened.map_err(|error| Error::failed(format!("{image} cannot be opened: {error}")))?;
    let map = Map::read(image, &mut file).map_err(failed)?;
    for remark in &map.remarks {
        session.tell(&format!("{image}: {remark}."));
    }
    Ok(map)
}

fn import(files: &[&str], arguments: &Arguments, session: &mut Session) -> Result<(), Error> {
    let bytes: Vec<Vec<u8>> = files
        .iter()
        .map(|file| load(file))
        .collect::<Result<_, _>>()?;
    let trace = if bytes[0].starts_with(b"fio version") {
        let [text] = bytes.as_slice() else {
            return Err(Error::usage("lab trace import: one log of fio at a time"));
        };
        let text = str::from_utf8(text);
        let text = text.map_err(|_| Error::failed(format!("{} is not text", files[0])))?;
        iolog(files[0], text, arguments.value(&SELECT)).map_err(failed)?
    } else {
        let named = files.iter().zip(&bytes);
        let named: Vec<(&str, &[u8])> = named.map(|(name, bytes)| (*name, &bytes[..])).collect();
        let imported = blktrace(&named).map_err(failed)?;
        for remark in &imported.remarks {
            session.tell(&format!("{remark}."));
        }
        imported.trace
    };
    save(output(arguments)?, &write(&trace).map_err(failed)?)?;
    summary(&trace, session)
}

fn show(file: &str, session: &mut Session) -> Result<(), Error> {
    let trace = open(file, session)?;
    summary(&trace, session)
}

/// What the requests of a trace read and wrote of places of each class: exact, where a request has
/// one class for all its blocks.
pub(super) fn places(labels: &Labels, trace: &Trace, session: &mut Session) -> Result<(), Error> {
    session.line(&format!(
        "{:18} {:>12} {:>12}",
        "place", "read KiB", "written KiB"
    ))?;
    for (class, touched) in labels.count(trace) {
        session.line(&format!(
            "{:18} {:12} {:12}",
            class.name(),
            touched.read / 2,
            touched.written / 2
        ))?;
    }
    Ok(())
}

/// What is in a trace, by operation and by class.
pub(super) fn summary(trace: &Trace, session: &mut Session) -> Result<(), Error> {
    let (header, records) = (&trace.header, &trace.records);
    let end = records
        .iter()
        .map(|one| one.end_ns().unwrap_or(one.time_ns))
        .max();
    session.line(&format!(
        "{}: {} requests in {:.3} s, on {} KiB",
        header.device,
        records.len(),
        seconds(end.unwrap_or(0)),
        header.blocks / 2
    ))?;
    let mut operations: BTreeMap<Operation, (u64, u64)> = BTreeMap::new();
    let mut classes: BTreeMap<Class, [u64; 4]> = BTreeMap::new();
    for record in records {
        let sums = operations.entry(record.operation).or_default();
        *sums = (sums.0 + 1, sums.1 + record.count);
        let sums = classes.entry(record.label.class).or_default();
        sums[0] += 1;
        sums[1] += record.count;
        sums[2] += record.duration_ns.unwrap_or(0);
        sums[3] += u64::from(record.count > 0 && record.label.certainty != Certainty::Always);
    }
    for (operation, (count, blocks)) in operations {
        let name = operation.name();
        session.line(&format!("{name:18} {count:9} {:12} KiB", blocks / 2))?;
    }
    let flags = |what: &str, count: usize| format!("{count} with {what}");
    let preflush = records.iter().filter(|one| one.preflush).count();
    let fua = records.iter().filter(|one| one.fua).count();
    let bad = records.iter().filter(|one| one.failed).count();
    let flags = [
        flags("preflush", preflush),
        flags("FUA", fua),
        format!("{bad} failed"),
    ];
    session.line(&flags.join(", "))?;
    session.line(&format!(
        "{:18} {:>9} {:>12} {:>12} {:>9}",
        "class", "requests", "KiB", "response s", "unsure"
    ))?;
    for (class, [count, blocks, time_ns, unsure]) in classes {
        session.line(&format!(
            "{:18} {count:9} {:12} {:12.3} {unsure:9}",
            class.name(),
            blocks / 2,
            seconds(time_ns)
        ))?;
    }
    Ok(())
}
