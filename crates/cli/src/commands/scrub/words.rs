//! What was found, for people.

use ashlar::scrub::{Finding, FindingKind, Holds, LegPlace, Summary, Unchecked, Unknown};
use lvm2::SECTOR_SIZE;

/// A finding: a line, and one for each leg where nobody knows which is wrong.
pub(in crate::commands) fn finding(volume: &str, finding: &Finding) -> Vec<String> {
    let place = match finding.row {
        Some(row) => format!("{volume}: row {row}: "),
        None => format!("{volume}: "),
    };
    let sectors = sectors(finding.sectors());
    if let Some(why) = finding.unknown() {
        let do_not = match finding.sectors() {
            1 => "does not",
            _ => "do not",
        };
        let why = unknown(why);
        let mut lines = vec![format!("{place}{sectors} {do_not} go together; {why}:")];
        lines.extend(finding.legs.iter().map(|leg| format!("  {}", at(leg))));
        return lines;
    }
    let is = match finding.kind {
        FindingKind::Mismatch(_) => "wrong",
        FindingKind::Unreadable => "unreadable",
    };
    let wrong = finding.wrong();
    wrong
        .map(|leg| format!("{place}{sectors} {is} on {}", at(leg)))
        .collect()
}

/// What came of it.
pub(in crate::commands) fn summary(volume: &str, summary: &Summary) -> Vec<String> {
    let mut lines = vec![match summary.places {
        0 if summary.checked == 0 => format!("{volume}: nothing of it could be compared"),
        0 => format!("{volume}: no mismatches in {} bytes", summary.checked),
        places => format!(
            "{volume}: {} mismatched in {} bytes, in {}; the wrong leg is known of {}",
            sectors(summary.mismatches),
            summary.checked,
            counted(places, "place"),
            summary.known
        ),
    }];
    if summary.unreadable > 0 {
        let bytes = summary.unreadable;
        lines.push(format!("{volume}: {bytes} bytes of legs cannot be read"));
    }
    for (why, bytes) in &summary.unchecked {
        let why = unchecked(*why);
        lines.push(format!("{volume}: {bytes} bytes not compared: {why}"));
    }
    for left in &summary.left_out {
        lines.push(format!(
            "{volume}: {} bytes left out: {}",
            left.bytes, left.why
        ));
    }
    lines
}

/// A leg, and where on it: `rimage_1: sector 8 of the volume (LE 0), a1.img byte 4096 (PE 2)`.
fn at(leg: &LegPlace) -> String {
    let extent = |name: &str, number: Option<u64>| {
        number.map_or_else(String::new, |number| format!(" ({name} {number})"))
    };
    let holds = match leg.holds {
        Holds::Data(byte) => {
            let sector = byte / SECTOR_SIZE;
            format!("sector {sector} of the volume{}", extent("LE", leg.extent))
        }
        Holds::P => "parity".to_owned(),
        Holds::Q => "the second parity".to_owned(),
    };
    let on = leg.on.iter().map(|on| {
        let (device, byte) = (&on.device, on.byte);
        format!(", {device} byte {byte}{}", extent("PE", on.extent))
    });
    format!("{}: {holds}{}", leg.name, on.collect::<String>())
}

fn unknown(why: Unknown) -> &'static str {
    match why {
        Unknown::OneSum => "with one parity nobody can know which leg is wrong",
        Unknown::TwoCopies => "of two copies nobody can know which is wrong",
        Unknown::NoMajority => "no copy is there more often than all others, so nobody can know",
        Unknown::SeveralLegs => "more than one leg is wrong, and nobody can know which",
    }
}

fn unchecked(why: Unchecked) -> &'static str {
    match why {
        Unchecked::Reshape => "the array is being reshaped",
        Unchecked::NeverSynced => "they were never brought in sync",
        Unchecked::Dirty => "they were being written (dirty in the bitmap), and may differ",
        Unchecked::TooFewLegs => "too few legs are there and believed to compare them",
        Unchecked::Unreadable => "too few legs can be read there to compare them",
    }
}

fn sectors(count: u64) -> String {
    counted(count, "sector")
}

fn counted(count: u64, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    }
}
