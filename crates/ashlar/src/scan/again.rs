//! Looking again at a few devices, and judging all of them anew.
//!
//! ```text
//!   a scan ──▶ what was read of each device      the list of devices, made anew
//!                        │                                    │
//!                        ▼                                    ▼
//!                 the same device, not changed: kept     all others: read
//!                        └───────────────▶ assemble ◀─────────┘
//! ```
//!
//! Whoever has changed some devices, and has looked at all of them just before, knows of the others
//! what was read then. Only what was read is kept, and nothing of what it was taken for: groups,
//! duplicates, findings and restrictions are made of all of it again, by the function that made the
//! first scan. So the result is what a look at all devices finds, if nobody else has written
//! meanwhile.
//!
//! Promises: a device that is gone is gone, one that came, or that has another number, name or
//! filter, is read; so is one of which nothing was read. Where what was read again does not fit, as
//! a commit of somebody else may look, there is no result: then all devices are looked at.
//!
//! Does not: notice what others write to a device that is kept, or what was changed by another name
//! of the same storage, as an image below a loop device is. The next look does.
//!
//! Costs: the list of devices, which opens none of them; and the memory of what was read, for as
//! long as the scan is there ([`Scan::forget_looks`]).

use std::collections::HashMap;
use std::sync::Arc;

use super::arrays::with_arrays;
use super::assemble::assemble;
use super::finding::Finding;
use super::found::Scan;
use super::probe::{Probed, ProbedContent};
use super::run::{Options, look_at, may_be_passing};
use super::texts::{Text, Texts};
use crate::host::{Candidate, DeviceSource, Host, Place};
use crate::{Result, log};

/// What was read of a device.
#[derive(Debug, Clone)]
pub(super) struct Looked {
    pub(super) candidate: Candidate,
    /// The device, and the partitions that were looked for in it.
    pub(super) probed: Vec<Probed>,
}

#[cfg(test)]
std::thread_local! {
    /// The devices that this thread has looked at again, by name.
    pub(crate) static READ_AGAIN: std::cell::RefCell<Vec<String>> =
        const { std::cell::RefCell::new(Vec::new()) };
}

/// Looks at what `changed` since the scan `before`, and at what is not in that as it is now.
/// `None`: what was read may be a commit of somebody else that is under way.
pub(crate) fn scan_again(
    host: &Host,
    source: &DeviceSource,
    options: &Options,
    before: &Scan,
    changed: &[&Place],
) -> Result<Option<Scan>> {
    let candidates = host.candidates(source)?;
    let known = before.looked.iter();
    let known: HashMap<&str, &Looked> = known
        .map(|looked| (looked.candidate.name.as_str(), looked))
        .collect();
    let kept = |candidate: &Candidate| {
        let looked = known.get(candidate.name.as_str())?;
        let is_kept =
            looked.candidate == *candidate && !changed.contains(&&candidate.location.place);
        is_kept.then(|| (*looked).clone())
    };
    let mut looked: Vec<Option<Looked>> = candidates.devices.iter().map(kept).collect();
    let devices = candidates.devices.into_iter();
    let to_read = devices.zip(&looked).filter(|(_, looked)| looked.is_none());
    let to_read: Vec<Candidate> = to_read.map(|(candidate, _)| candidate).collect();
    log::debug(|| {
        let (count, all) = (to_read.len(), looked.len());
        format!("Looking again at {count} of {all} devices.")
    });
    #[cfg(test)]
    READ_AGAIN.with_borrow_mut(|read| {
        read.extend(to_read.iter().map(|candidate| candidate.name.clone()));
    });
    // Texts are compared by where they are kept.
    let texts = Texts::with_kept(looked.iter().flatten().flat_map(Looked::texts));
    let mut read = look_at(to_read, texts, options)?.into_iter();
    for place in looked.iter_mut().filter(|place| place.is_none()) {
        *place = read.next();
    }
    assert!(read.next().is_none(), "each has its place");
    let looked: Option<Vec<Looked>> = looked.into_iter().collect();
    let looked = looked.expect("each device was read, then or now");
    let probed = with_arrays(&looked, options.time_limit);
    let scan = assemble((looked, probed), host, candidates.findings);
    let is_new = |finding: &&Finding| {
        let mut known = before.findings.iter();
        known.all(|known| (known.kind, &known.message) != (finding.kind, &finding.message))
    };
    let new: Vec<Finding> = scan.findings.iter().filter(is_new).cloned().collect();
    Ok((!may_be_passing(&new)).then_some(scan))
}

impl Looked {
    /// The texts that were read of it, with their checksums.
    pub(super) fn texts(&self) -> Vec<(u32, Arc<Text>)> {
        let pvs = self
            .probed
            .iter()
            .filter_map(|probed| match &probed.content {
                ProbedContent::Pv(pv) => Some(pv),
                _ => None,
            });
        let areas = pvs.flat_map(|pv| &pv.areas);
        let texts = areas.filter_map(|area| {
            let checksum = area.header?.committed?.checksum;
            let text = area.text.as_ref()?.as_ref().ok()?;
            Some((checksum, Arc::clone(text)))
        });
        texts.collect()
    }
}

impl Scan {
    /// Forgets what was read of the devices: nobody is going to look again at a few of them. Saves
    /// the memory of texts that are kept for that alone.
    pub fn forget_looks(&mut self) {
        self.looked = Arc::default();
    }
}

#[cfg(test)]
mod tests;
