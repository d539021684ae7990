//! What is said of volumes that are served: lines of JSON, several of them for many volumes.

use dm::mirror::ImageHealth;
use lvm2::Uuid;

use super::json::Value;
use super::message::{LINE_MAX, line, number, object, text, wrong};
use crate::Result;
use crate::live::{ImageStatus, Merging, MirrorStatus, SnapshotInUse, VolumeStatus};

/// Volumes go on one line up to so many bytes. One volume alone is much shorter than the rest of
/// the longest line: names have 128 characters, and a mirror has few images.
const VOLUMES_MAX: usize = LINE_MAX / 2;

/// The lines that say this; `more` is said by the last one.
pub(super) fn to_lines(volumes: &[VolumeStatus], more: bool) -> Vec<u8> {
    let mut lines = Vec::new();
    let mut pending = Vec::new();
    let mut len = 0;
    for volume in volumes {
        let value = volume_value(volume);
        let mut written = String::new();
        value.write(&mut written);
        if len + written.len() > VOLUMES_MAX && !pending.is_empty() {
            lines.extend(one_line(std::mem::take(&mut pending), true));
            len = 0;
        }
        len += written.len();
        pending.push(value);
    }
    lines.extend(one_line(pending, more));
    lines
}

fn one_line(volumes: Vec<Value>, more: bool) -> Vec<u8> {
    let mut members = vec![("reply", text("status")), ("volumes", Value::List(volumes))];
    if more {
        members.push(("more", Value::Bool(true)));
    }
    line(members)
}

/// What a line says, and whether more lines follow.
pub(super) fn from_line(value: &Value) -> Result<(Vec<VolumeStatus>, bool)> {
    let more = value.get("more").and_then(Value::bool).unwrap_or(false);
    let volumes = list(value, "volumes")?.iter().map(volume);
    Ok((volumes.collect::<Result<_>>()?, more))
}

fn volume_value(volume: &VolumeStatus) -> Value {
    let mut members = vec![("name", text(&volume.name))];
    if let Some(uuid) = volume.uuid {
        members.push(("uuid", text(&uuid.to_string())));
    }
    members.push(("users", Value::Number(volume.users)));
    let mirrors = volume.mirrors.iter().map(|mirror| {
        let images = mirror.images.iter().map(|image| {
            object(vec![
                ("uuid", text(&image.lv.to_string())),
                ("name", text(&image.name)),
                ("state", text(image.state.word())),
            ])
        });
        object(vec![
            ("uuid", text(&mirror.lv.to_string())),
            ("in_sync", Value::Number(mirror.in_sync)),
            ("regions", Value::Number(mirror.regions)),
            ("images", Value::List(images.collect())),
        ])
    });
    let mirrors: Vec<Value> = mirrors.collect();
    if !mirrors.is_empty() {
        members.push(("mirrors", Value::List(mirrors)));
    }
    let snapshots = volume.snapshots.iter().map(|snapshot| {
        let mut members = vec![
            ("uuid", text(&snapshot.lv.to_string())),
            ("used", Value::Number(snapshot.used)),
            ("metadata", Value::Number(snapshot.metadata)),
            ("size", Value::Number(snapshot.size)),
            ("invalid", Value::Bool(snapshot.is_invalid)),
        ];
        if snapshot.merge != Merging::No {
            members.push(("merge", text(snapshot.merge.word())));
        }
        if let Some(rate) = snapshot.fill_rate {
            members.push(("fill_rate", Value::Number(rate)));
        }
        if snapshot.is_full_soon {
            members.push(("full_soon", Value::Bool(true)));
        }
        object(members)
    });
    let snapshots: Vec<Value> = snapshots.collect();
    if !snapshots.is_empty() {
        members.push(("snapshots", Value::List(snapshots)));
    }
    object(members)
}

fn volume(value: &Value) -> Result<VolumeStatus> {
    let name = value.get("name").and_then(Value::text);
    let name = name.ok_or_else(|| wrong("a volume has no name"))?;
    // Owners of an older version say neither.
    let uuid = value.get("uuid").map(|_| uuid(value)).transpose()?;
    let mirrors = match value.get("mirrors") {
        Some(_) => list(value, "mirrors")?.iter().map(mirror).collect(),
        None => Ok(Vec::new()),
    };
    let snapshots = match value.get("snapshots") {
        Some(_) => list(value, "snapshots")?.iter().map(snapshot).collect(),
        None => Ok(Vec::new()),
    };
    Ok(VolumeStatus {
        name: name.to_owned(),
        uuid,
        users: number(value, "users")?,
        mirrors: mirrors?,
        snapshots: snapshots?,
    })
}

fn snapshot(value: &Value) -> Result<SnapshotInUse> {
    let is_invalid = value.get("invalid").and_then(Value::bool);
    let snapshot = SnapshotInUse {
        lv: uuid(value)?,
        used: number(value, "used")?,
        metadata: number(value, "metadata")?,
        size: number(value, "size")?,
        is_invalid: is_invalid.ok_or_else(|| wrong("\"invalid\" is not true or false"))?,
        // Owners of an older version say neither.
        merge: match value.get("merge").and_then(Value::text) {
            Some(word) => merging(word)?,
            None => Merging::No,
        },
        fill_rate: match value.get("fill_rate") {
            Some(_) => Some(number(value, "fill_rate")?),
            None => None,
        },
        is_full_soon: value.get("full_soon").and_then(Value::bool) == Some(true),
    };
    if snapshot.used > snapshot.size || snapshot.metadata > snapshot.used {
        return Err(wrong("more of a store is used than there is"));
    }
    Ok(snapshot)
}

fn merging(word: &str) -> Result<Merging> {
    let found = Merging::ALL.into_iter().find(|one| one.word() == word);
    found.ok_or_else(|| wrong("\"merge\" is no word for a merge"))
}

fn mirror(value: &Value) -> Result<MirrorStatus> {
    let (in_sync, regions) = (number(value, "in_sync")?, number(value, "regions")?);
    if in_sync > regions {
        return Err(wrong("more regions are in sync than there are"));
    }
    let images = list(value, "images")?.iter().map(|image| {
        let word = image.get("state").and_then(Value::text);
        let state = ImageHealth::ALL
            .into_iter()
            .find(|state| Some(state.word()) == word);
        let name = image.get("name").and_then(Value::text);
        let both = state.zip(name);
        let (state, name) = both.ok_or_else(|| wrong("an image has no state or no name"))?;
        Ok(ImageStatus {
            lv: uuid(image)?,
            name: name.to_owned(),
            state,
        })
    });
    Ok(MirrorStatus {
        lv: uuid(value)?,
        in_sync,
        regions,
        images: images.collect::<Result<_>>()?,
    })
}

fn uuid(value: &Value) -> Result<Uuid> {
    let text = value.get("uuid").and_then(Value::text);
    let uuid = text.and_then(|text| text.parse().ok());
    uuid.ok_or_else(|| wrong("\"uuid\" is no UUID"))
}

fn list<'a>(value: &'a Value, name: &str) -> Result<&'a [Value]> {
    let list = value.get(name).and_then(Value::list);
    list.ok_or_else(|| wrong(&format!("\"{name}\" is no list")))
}
