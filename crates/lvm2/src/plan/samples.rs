//! An author for tests, and questions that many of them ask.

use core::sync::atomic::{AtomicU64, Ordering};

use super::author::Author;
use super::change::{Change, GroupChange, Level};
use super::logical::{Resize, resize_volume};
use super::size::{ResizeTo, SizeArgument};
use crate::model::{
    AllocationMap, Header, LvId, VolumeGroup, check, from_text, has_errors, to_text,
};
use crate::text::{Style, parse};
use crate::{Result, Sectors, Uuid};

/// The host of the author.
pub(crate) const HOST: &str = "tester";
/// The time at which the author works.
pub(crate) const TIME: u64 = 1_795_000_000;

/// Lets an author do something; UUIDs are counted up over all tests.
pub(crate) fn by_author<T>(act: impl FnOnce(&mut Author<'_>) -> T) -> T {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let mut fresh = || uuid(NEXT.fetch_add(1, Ordering::Relaxed));
    act(&mut Author {
        generator: "Ashlar 0.1.0".to_owned(),
        description: "a test".to_owned(),
        host: HOST.to_owned(),
        host_detail: None,
        time: TIME,
        uuids: &mut fresh,
    })
}

/// A volume, or a store with so many sectors in use, gets a size.
pub(crate) fn resize(
    vg: &VolumeGroup,
    volume: &str,
    size: &str,
    used: Option<u64>,
) -> Result<Change> {
    let resize = Resize {
        store_used: used.map(Sectors),
        ..Resize::to(
            volume,
            SizeArgument::from_extents(size).expect("it is a size"),
            ResizeTo::Either,
        )
    };
    by_author(|author| resize_volume(vg, &resize, author))
}

/// Why a change is refused.
pub(crate) fn refusal(change: Result<Change>) -> String {
    change.expect_err("it is refused").context
}

/// The volume of this name.
pub(crate) fn id(vg: &VolumeGroup, name: &str) -> LvId {
    vg.lv_by_name(name).expect("it is there")
}

/// The UUID with this number.
pub(crate) fn uuid(number: u64) -> Uuid {
    format!("{number:0>32}")
        .parse()
        .expect("digits are letters")
}

/// The group that a change leaves, after checking what every change promises.
pub(crate) fn done(change: Result<Change>) -> VolumeGroup {
    let change = change.expect("the change is possible");
    assert_sound(&change);
    change.vg().expect("it leaves a group").clone()
}

/// Every group that is written is without errors and comes back from its text as it was.
pub(crate) fn assert_sound(change: &Change) {
    for group in &change.groups {
        let GroupChange::Commit(vg) = group else {
            continue;
        };
        let findings = check(vg);
        assert!(!has_errors(&findings), "{findings:?}");
        let again = from_text(&parse(&to_text(vg, Style::Raw)).expect("it parses"));
        let mut again = again.expect("it is a group");
        // Comments are not read back.
        let mut headless = vg.clone();
        (again.header, headless.header) = (Header::default(), Header::default());
        assert_eq!(
            String::from_utf8(to_text(&again, Style::Raw)),
            String::from_utf8(to_text(&headless, Style::Raw))
        );
    }
}

/// The sentences of one level.
pub(crate) fn texts(change: &Change, level: Level) -> Vec<String> {
    change.texts(level).map(str::to_owned).collect()
}

/// The volumes and where they lie: `a: 0-3 linear pv0:5`, hidden ones too.
pub(crate) fn layout(vg: &VolumeGroup) -> Vec<String> {
    let mut lines = Vec::new();
    for (_, lv) in vg.lvs() {
        for segment in &lv.segments {
            let areas = segment.areas().iter().map(|area| match area {
                crate::model::Area::Pv { pv, start } => format!("pv{}:{}", pv.index(), start.0),
                crate::model::Area::Lv { lv, .. } => vg.lv(*lv).name().to_owned(),
            });
            let areas: Vec<String> = areas.collect();
            let (start, length) = (segment.start.0, segment.length.0);
            lines.push(
                format!(
                    "{}: {start}+{length} {} {}",
                    lv.name(),
                    segment.type_name(),
                    areas.join(" ")
                )
                .trim_end()
                .to_owned(),
            );
        }
    }
    lines
}

/// Free extents of a group.
pub(crate) fn free(vg: &VolumeGroup) -> u64 {
    AllocationMap::of(vg).free_count_of_group(vg).0
}
