//! What LVM's own displays say of a layout (rule R.4): extents and sizes, volumes and names.
//!
//! Read are lines of `pvcreate`, `pvs`, `vgdisplay`, `lvcreate` and `lvdisplay -m`, wherever they
//! stand in a text.

use super::finding::{Audit, Finding, Rule};
use super::printed::{Printed, Range, equal};

/// Physical volumes and names that are kept; a text with more is no excerpt of a session.
const NAMES_MAX: usize = 100_000;

#[derive(Default)]
struct Seen<'a> {
    created: Vec<(usize, &'a str)>,
    listed: Vec<&'a str>,
    group: Option<(usize, &'a str)>,
    volume_group: Option<(usize, &'a str)>,
    current: Option<Printed>,
    areas: Option<Printed>,
    extent: Option<Printed>,
    extents: Option<Printed>,
    free: Option<Printed>,
    allocated: Option<Printed>,
    volume_extents: Option<Printed>,
    stripes: Option<Printed>,
    /// Where extents and their size are printed together: field, extents, bytes.
    pairs: Vec<(&'static str, Printed, Printed)>,
    /// The last extent of a segment that begins with the first.
    last: Option<Printed>,
    segments: Option<Printed>,
    /// `-I` of commands.
    commands: Vec<Printed>,
    stripe_size: Option<Printed>,
    in_volume: bool,
    group_size: Option<Printed>,
    volume_size: Option<Printed>,
}

/// Checks all displays in `text`; says whether there were any.
pub(super) fn check(text: &str, audit: &mut Audit) -> bool {
    let mut seen = Seen::default();
    for (index, line) in text.lines().enumerate() {
        seen.line(index + 1, line.trim());
    }
    if let (Some(size), Some(extents)) = (seen.group_size, seen.extents) {
        seen.pairs.push(("VG Size", extents, size));
    }
    if let (Some(size), Some(extents)) = (seen.volume_size, seen.volume_extents) {
        seen.pairs.push(("LV Size", extents, size));
    }
    let found = !seen.pairs.is_empty();
    sizes(&seen, audit);
    counts(&seen, audit);
    names(&seen, audit);
    found
}

impl<'a> Seen<'a> {
    fn line(&mut self, number: usize, line: &'a str) {
        let made = line.strip_prefix("Physical volume \"");
        let made = made.and_then(|rest| rest.split_once("\" successfully created"));
        if let Some((name, _)) = made.filter(|_| self.created.len() < NAMES_MAX) {
            self.created.push((number, name));
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        if let [name, "lvm2", ..] = words[..]
            && name.starts_with("/dev/")
            && self.listed.len() < NAMES_MAX
        {
            self.listed.push(name);
        }
        if line.starts_with("--- ") {
            self.in_volume = line.contains("Logical volume");
        }
        let after = |label: &str| line.strip_prefix(label).map(str::trim);
        let counted = |text: &str| Some(Printed::read(number, text)?.0.counted());
        if let Some(name) = after("VG Name") {
            let slot = if self.in_volume {
                &mut self.volume_group
            } else {
                &mut self.group
            };
            *slot = slot.or(Some((number, name)));
        }
        for (label, slot) in [
            ("Cur PV", &mut self.current),
            ("Metadata Areas", &mut self.areas),
            ("Total PE", &mut self.extents),
            ("Current LE", &mut self.volume_extents),
            ("Stripes", &mut self.stripes),
            ("Segments", &mut self.segments),
        ] {
            *slot = slot.or(after(label).and_then(counted));
        }
        for (label, slot) in [
            ("PE Size", &mut self.extent),
            ("VG Size", &mut self.group_size),
            ("LV Size", &mut self.volume_size),
            ("Stripe size", &mut self.stripe_size),
        ] {
            *slot = slot.or(after(label).and_then(|text| size(number, text)));
        }
        self.pairs_of(number, line);
        if let Some(rest) = after("Logical extents 0 to") {
            self.last = self.last.or(counted(rest));
        }
        if let Some((_, rest)) = line.split_once("lvcreate ") {
            let option = rest.split_once("-I ").and_then(|(_, value)| {
                let word = value.split([' ', ',']).next()?.trim_end_matches('.');
                size(number, word)
            });
            self.commands.extend(option);
        }
    }

    /// `Free  PE / Size  12259804 / 11.46 TiB`, `Rounding size 11.40 TiB (12259804 extents) up …`.
    fn pairs_of(&mut self, line: usize, text: &str) {
        for (label, field) in [("Alloc", "Alloc PE / Size"), ("Free", "Free PE / Size")] {
            let rest = text.strip_prefix(label).map(str::trim_start);
            let Some(rest) = rest.and_then(|rest| rest.strip_prefix("PE / Size")) else {
                continue;
            };
            let Some((extents, bytes)) = rest.split_once('/') else {
                continue;
            };
            let extents = Printed::whole(line, extents).map(Printed::counted);
            let slot = if label == "Free" {
                &mut self.free
            } else {
                &mut self.allocated
            };
            *slot = extents;
            if let Some((extents, bytes)) = extents.zip(size(line, bytes.trim())) {
                self.pairs.push((field, extents, bytes));
            }
        }
        let mut rest = text;
        while let Some((before, behind)) = rest.split_once(" extents)") {
            if let Some((head, extents)) = before.rsplit_once('(') {
                let words: Vec<&str> = head.split_whitespace().collect();
                let bytes = match words[..] {
                    [.., number, unit] => size(line, &format!("{number} {unit}")),
                    _ => None,
                };
                let extents = Printed::whole(line, extents).map(Printed::counted);
                if let Some((extents, bytes)) = extents.zip(bytes) {
                    self.pairs.push(("Rounding size", extents, bytes));
                }
            }
            rest = behind;
        }
    }
}

fn sizes(seen: &Seen, audit: &mut Audit) {
    let Some(extent) = seen.extent else { return };
    for (field, extents, bytes) in &seen.pairs {
        // An extent is a whole number of units unless it is printed with a fraction.
        let whole = equal(extent.value % 1024.0, 0.0);
        let extent = if whole { extent.counted() } else { extent };
        let product = extents.range().times(extent.range());
        // LVM2 rounds to two digits behind the point; a thousandth more for older ones.
        let printed = bytes.range().widened(0.001);
        audit.check(printed.meets(product), || {
            let tebibytes = product.low / 1099511627776.0;
            let fitting = bytes.value / extent.value;
            Finding::impossible(extents.line.max(bytes.line), *field, Rule::Extents)
                .says(format!(
                    "{} extents are {tebibytes:.3} TiB, {:.2} TiB is printed",
                    extents.value,
                    bytes.value / 1099511627776.0
                ))
                .fits(format!("{fitting:.0} extents"))
        });
    }
}

fn counts(seen: &Seen, audit: &mut Audit) {
    if let (Some(free), Some(allocated), Some(all)) = (seen.free, seen.allocated, seen.extents) {
        audit.check(equal(free.value + allocated.value, all.value), || {
            Finding::impossible(all.line, "Total PE", Rule::Extents)
                .says("allocated and free extents are not all")
                .fits(format!("{}", free.value + allocated.value))
        });
    }
    let single = seen
        .segments
        .is_none_or(|segments| equal(segments.value, 1.0));
    if let (Some(last), Some(extents), true) = (seen.last, seen.volume_extents, single) {
        audit.check(equal(last.value + 1.0, extents.value), || {
            Finding::impossible(last.line, "Logical extents", Rule::Extents)
                .says(format!(
                    "0 to {} are {} extents, Current LE is {}",
                    last.value,
                    last.value + 1.0,
                    extents.value
                ))
                .fits(format!("0 to {}", extents.value - 1.0))
        });
    }
    let Some(current) = seen.current else { return };
    let created = seen.created.len() as f64;
    audit.check(created == 0.0 || current.value >= created, || {
        Finding::impossible(current.line, "Cur PV", Rule::Extents)
            .says(format!(
                "{} volumes, {created} were made for the group",
                current.value
            ))
            .fits(format!("{created}"))
    });
    audit.check(
        seen.stripes
            .is_none_or(|stripes| stripes.value <= current.value),
        || {
            Finding::impossible(current.line, "Cur PV", Rule::Extents)
                .says("more stripes than physical volumes")
                .fits(
                    seen.stripes
                        .map_or(String::new(), |stripes| stripes.value.to_string()),
                )
        },
    );
    if let Some(areas) = seen.areas {
        audit.check(created == 0.0 || areas.value >= created, || {
            Finding::impossible(areas.line, "Metadata Areas", Rule::Extents)
                .says(format!(
                    "{} areas on {created} volumes made with one each",
                    areas.value
                ))
                .fits(format!("{created}"))
        });
    }
}

fn names(seen: &Seen, audit: &mut Audit) {
    if let (Some((_, group)), Some((line, other))) = (seen.group, seen.volume_group) {
        audit.check(group == other, || {
            Finding::impossible(line, "VG Name", Rule::Extents)
                .says(format!(
                    "the volume is in '{other}', the group is '{group}'"
                ))
                .fits(format!("'{group}'"))
        });
    }
    if let (Some((line, name)), false) = (seen.created.first(), seen.listed.is_empty()) {
        audit.check(seen.listed.contains(name), || {
            Finding::impossible(*line, "PV", Rule::Extents)
                .says(format!("{name} was made, but is not among those listed"))
                .fits(seen.listed.join(" "))
        });
    }
    let sizes = seen.commands.iter().copied().chain(seen.stripe_size);
    let sizes: Vec<Printed> = sizes.collect();
    if let [first, .., last] = sizes[..] {
        let one = |number: &Printed| Range::exact(number.value).meets(Range::exact(last.value));
        audit.check(sizes.iter().all(one), || {
            Finding::impossible(first.line, "-I", Rule::Extents)
                .says(format!(
                    "stripes of {} and of {} KiB",
                    first.value / 1024.0,
                    last.value / 1024.0
                ))
                .fits(format!("{} KiB everywhere", last.value / 1024.0))
        });
    }
}

/// Bytes of LVM2's units, powers of 1,024.
fn size(line: usize, text: &str) -> Option<Printed> {
    let (number, unit) = Printed::read(line, text)?;
    let power = match unit.trim().chars().next().map(|c| c.to_ascii_lowercase()) {
        Some('b') => 0,
        Some('k') => 1,
        None | Some('m') => 2,
        Some('g') => 3,
        Some('t') => 4,
        Some('p') => 5,
        _ => return None,
    };
    Some(number.times((0..power).fold(1.0, |bytes, _| bytes * 1024.0)))
}
