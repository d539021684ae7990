//! What LVM2 says of what is not as it should be: the lines that its users know and that scripts
//! look for, as 2.03.16 prints them.

use lvm2::Uuid;

/// Where a metadata area is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Area<'a> {
    /// Its device's name.
    pub(super) device: &'a str,
    /// The physical volume that it belongs to.
    pub(super) pv: Uuid,
    /// Which of that one's areas it is, from 0.
    pub(super) index: usize,
}

impl Area<'_> {
    /// Of a header at this byte of the device, and what is wrong in it.
    pub(super) fn bad_header(self, at: u64, wrong: &[String]) -> Vec<String> {
        let device = self.device;
        let wrong = wrong.iter();
        let mut lines: Vec<String> = wrong
            .map(|what| format!("WARNING: wrong {what} in mda header on {device} at {at}"))
            .collect();
        lines.push(format!("WARNING: bad metadata header on {device} at {at}."));
        lines.extend(self.not_read());
        lines
    }

    /// Of a text at this byte of the device that is not what its checksum says.
    pub(super) fn bad_text(self, at: u64) -> Vec<String> {
        let device = self.device;
        let mut lines = vec![
            format!("WARNING: Checksum error on {device} at offset {at}."),
            format!("WARNING: invalid metadata text from {device} at {at}."),
            format!("WARNING: metadata on {device} at {at} has invalid summary for VG."),
            format!(
                "WARNING: bad metadata text on {device} in mda{}",
                self.index + 1
            ),
        ];
        lines.extend(self.not_read());
        lines
    }

    /// Of a text with the same number as one that was seen before; each with its checksum and size
    /// in bytes.
    pub(super) fn other_text(
        self,
        group: &str,
        this: (u32, u64),
        first: (u32, u64),
    ) -> Vec<String> {
        let (device, number) = (self.device, self.index + 1);
        vec![
            format!(
                "WARNING: scan of VG {group} from {device} mda{number} found mda_checksum {:x} \
                 mda_size {} vs {:x} {}",
                this.0, this.1, first.0, first.1
            ),
            format!("WARNING: Scanning {device} mda{number} found mismatch with other metadata."),
            self.no_summary(),
        ]
    }

    fn not_read(self) -> [String; 3] {
        let (device, number) = (self.device, self.index + 1);
        [
            format!("WARNING: scanning {device} mda{number} failed to read metadata summary."),
            format!("WARNING: repair VG metadata on {device} with vgck --updatemetadata."),
            self.no_summary(),
        ]
    }

    fn no_summary(self) -> String {
        let (device, pv) = (self.device, self.pv.as_str());
        format!("WARNING: scan failed to get metadata summary from {device} PVID {pv}")
    }
}

/// Of the areas of a group in their order, each with its device and the number of its text: which
/// are left aside. Nothing where all have one number.
pub(super) fn old_texts(group: &str, areas: &[(&str, u32)]) -> Vec<String> {
    let mut areas = areas.iter();
    let Some(mut newest) = areas.next() else {
        return Vec::new();
    };
    let mut lines = Vec::new();
    for area in areas {
        if area.1 == newest.1 {
            continue;
        }
        let (old, new) = if area.1 < newest.1 {
            (area, newest)
        } else {
            (newest, area)
        };
        lines.push(format!(
            "WARNING: ignoring metadata seqno {} on {} for seqno {} on {} for VG {group}.",
            old.1, old.0, new.1, new.0
        ));
        assert!(new.1 > old.1, "the newer one counts");
        newest = new;
    }
    if !lines.is_empty() {
        lines.push(format!(
            "WARNING: Inconsistent metadata found for VG {group}."
        ));
        lines.push("See vgck --updatemetadata to correct inconsistency.".to_owned());
    }
    lines
}

/// Of a physical volume that was missing when the metadata was written, and is there.
pub(super) fn returned(group: &str, device: &str, pv: Uuid) -> Vec<String> {
    vec![
        format!("WARNING: VG {group} was missing PV {device} {pv}."),
        format!("WARNING: VG {group} was previously updated while PV {device} was missing."),
    ]
}

/// Of groups with one name, in the order in which they were found.
pub(super) fn one_name(name: &str, groups: &[Uuid]) -> Vec<String> {
    let Some((first, others)) = groups.split_first() else {
        return Vec::new();
    };
    assert!(!others.contains(first), "groups of one name are told apart");
    let others = others.iter();
    let mut lines: Vec<String> = others
        .map(|other| format!("WARNING: VG name {name} is used by VGs {other} and {first}."))
        .collect();
    let remedy = "Fix duplicate VG names with vgrename uuid, a device filter, or system IDs.";
    lines.push(remedy.to_owned());
    lines
}

/// Of a physical volume that is on several devices: those that are not used, the one that is, and
/// why.
pub(super) fn duplicates(pv: Uuid, unused: &[String], used: &str, why: &str) -> Vec<String> {
    assert!(!unused.is_empty(), "what is on one device is no duplicate");
    let unused = unused.iter();
    let mut lines: Vec<String> = unused
        .map(|device| format!("WARNING: Not using device {device} for PV {pv}."))
        .collect();
    lines.push(format!(
        "WARNING: PV {pv} prefers device {used} because {why}."
    ));
    lines
}

#[cfg(test)]
mod tests;
