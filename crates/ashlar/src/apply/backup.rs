//! Backup and archive files: a group's text in files, as stock keeps them.
//!
//! ```text
//!   backup/vg0                          the text as it is now
//!   archive/vg0_00007-1234567890.vg     the text as it was before a change
//! ```
//!
//! The format is stock's, so either program restores from the other's files. The settings of the
//! section `backup` count: `backup`, `backup_dir`, `archive`, `archive_dir`, `retain_min`,
//! `retain_days`. A folder that cannot be written costs a warning, not the change: the older texts
//! are in the rings as well, where `history` and `undo` find them.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use lvm2::model::{VolumeGroup, to_text};
use lvm2::plan::Message;
use lvm2::text::Style;

use crate::host::Config;
use crate::{Readers, log, replace_file};

/// `backup/retain_min`.
const RETAIN_MIN: i64 = 10;
/// `backup/retain_days`.
const RETAIN_DAYS: i64 = 30;

/// Keeps the text of `vg` as it was before a change; `description` says of which.
pub(super) fn archive(config: &Config, vg: &VolumeGroup, description: String) -> Option<Message> {
    if !config.keeps_archives() {
        return None;
    }
    let dir = config.archive_dir();
    let names = archives(&dir, &vg.name);
    let number = names.last().map_or(0, |(number, _)| number + 1);
    let salt = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |time| time.subsec_nanos());
    let path = dir.join(format!("{}_{number:05}-{salt}.vg", vg.name));
    let failure = write(&path, vg, description).err();
    expire(config, &names);
    failure.map(|error| warning(&path, &error))
}

/// Keeps the text of `vg` as it is now, or says that it is not kept.
pub(super) fn backup(config: &Config, vg: &VolumeGroup, description: String) -> Option<Message> {
    if let Some(message) = not_backed_up(config) {
        return Some(message);
    }
    let path = config.backup_dir().join(&vg.name);
    let failure = write(&path, vg, description).err();
    failure.map(|error| warning(&path, &error))
}

/// Forgets the backup of a group that is gone. That its volumes are is said as [`backup`] says it.
pub(super) fn forget(config: &Config, vg: &VolumeGroup) -> Option<Message> {
    if config.keeps_backups() {
        let _ = fs::remove_file(config.backup_dir().join(&vg.name));
        return None;
    }
    (vg.lv_count() > 0).then(not_kept)
}

/// What is said of a change where no backups are kept.
pub(super) fn not_backed_up(config: &Config) -> Option<Message> {
    (!config.keeps_backups()).then(not_kept)
}

fn not_kept() -> Message {
    Message::warning("This metadata update is NOT backed up.")
}

fn warning(path: &Path, error: &std::io::Error) -> Message {
    Message::warning(format!(
        "This metadata is not kept in {}: {error}",
        path.display()
    ))
}

fn write(path: &Path, vg: &VolumeGroup, description: String) -> std::io::Result<()> {
    let mut vg = vg.clone();
    vg.header.description = Some(description);
    fs::create_dir_all(path.parent().expect("the file is in a directory"))?;
    let name = path.file_name().expect("the file has a name");
    // Neither program takes a hidden file for a group's.
    let hidden = format!(".{}.{}", name.to_string_lossy(), std::process::id());
    replace_file(
        path,
        &path.with_file_name(hidden),
        Readers::Everybody,
        |out| out.write_all(&to_text(&vg, Style::Backup)),
    )?;
    let (name, seqno) = (&vg.name, vg.seqno);
    log::verbose(|| format!("VG {name}: version {seqno} is kept in {}.", path.display()));
    Ok(())
}

/// The archives of a group with their numbers, the oldest first.
fn archives(dir: &Path, group: &str) -> Vec<(u64, PathBuf)> {
    let number = |path: &Path| {
        let name = path.file_name()?.to_str()?.strip_suffix(".vg")?;
        let (name, rest) = name.rsplit_once('_')?;
        let (number, _) = rest.split_once('-')?;
        (name == group).then(|| number.parse().ok()).flatten()
    };
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut found: Vec<(u64, PathBuf)> = entries
        .filter_map(|entry| Some((number(&entry.path())?, entry.path())))
        .collect();
    found.sort();
    found
}

/// Removes archives that are older than `retain_days` and more than `retain_min`.
fn expire(config: &Config, names: &[(u64, PathBuf)]) {
    let setting = |path, default| config.integer(path).unwrap_or(default).max(0) as u64;
    let keep = setting("backup/retain_min", RETAIN_MIN) as usize;
    let days = setting("backup/retain_days", RETAIN_DAYS);
    assert!(names.is_sorted(), "the oldest come first");
    let age = Duration::from_secs(days.saturating_mul(86400));
    let Some(surplus) = (names.len() + 1).checked_sub(keep) else {
        return;
    };
    for (_, path) in names.iter().take(surplus) {
        let modified = fs::metadata(path).and_then(|metadata| metadata.modified());
        let is_old = modified.is_ok_and(|time| time.elapsed().is_ok_and(|past| past > age));
        if is_old {
            let _ = fs::remove_file(path);
        }
    }
}
