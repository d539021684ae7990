//! How many flushes a command makes, beside how many were promised for it.

use std::sync::Arc;

use block::Device;
use block::sim::{Image, Recorder};

use super::campaign::{host, prepare};
use super::cases::{Case, Mishap};
use crate::Result;
use crate::commit::FlushPolicy;

/// What was promised and what was seen, of a case without mishaps.
#[derive(Debug)]
pub(super) struct Flushes {
    pub(super) promised: usize,
    pub(super) seen: usize,
}

/// Plans the command of a case, and runs it; `None` where something has to be repaired on the way.
pub(super) fn flushes(case: &Case) -> Result<Option<Flushes>> {
    let is_whole = matches!(case.mishap, Mishap::None | Mishap::InTheMiddle);
    if !is_whole || case.killed.is_some() {
        return Ok(None);
    }
    let host = host()?;
    let images = prepare(&host, case)?;
    let recorder = Recorder::default();
    let record = |image: &Image| {
        recorder
            .record(case.blocks.disk(image))
            .expect("it is read")
    };
    let devices: Vec<Arc<dyn Device>> = images.iter().map(record).collect();
    let promised = case.command.foreseen(&host, &devices, 600_000)?;
    case.command
        .run(&host, &devices, FlushPolicy::Strict, 600_000)?;
    let seen = recorder.log().flushes();
    Ok(Some(Flushes { promised, seen }))
}
