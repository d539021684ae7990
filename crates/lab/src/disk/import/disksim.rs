//! What `DiskSim`'s parameters mean to the model.

use std::fs;
use std::path::Path;

use super::super::profile::{
    AfterEach, Bus, Cache, ExtraDisconnect, Habit, Overheads, Profile, Queue, ReadAhead, Release,
    Scheduler, WritePolicy, ZeroLatency,
};
use super::model::{layout, mechanics};
use super::params::{Block, Content, parse};
use crate::error::{Error, Kind, Result};

/// A parameter file may not be longer, in bytes.
const FILE_MAX: u64 = 16 << 20;

/// The texts of the files of one drive.
#[derive(Debug, Clone, Default)]
pub struct Files {
    /// What the drive is called.
    pub name: String,
    /// `NAME.parv`; may be empty, then the bus costs nothing but the drive's own time.
    pub parv: String,
    /// `NAME.diskspecs`.
    pub diskspecs: String,
    /// `NAME.model`.
    pub model: String,
    /// `NAME.seek`; needed only if the model has an extracted curve.
    pub seek: String,
}

impl Files {
    /// Reads the files of drive `name`; `text` gives the text of a file of a name. The drive's own
    /// files say what the model and the seek curve are called.
    pub fn read(name: &str, mut text: impl FnMut(&str) -> Result<String>) -> Result<Self> {
        let specs_file = format!("{name}.diskspecs");
        let diskspecs = text(&specs_file)?;
        let specs = parse(&specs_file, &diskspecs)?;
        let model_file = match &first(&specs, "disksim_disk", name)?.need("Model")?.content {
            Content::Source(file) => file.clone(),
            _ => format!("{name}.model"),
        };
        let model = text(&model_file)?;
        let blocks = parse(&model_file, &model)?;
        let mechanics = first(&blocks, "dm_disk", &model_file)?.need("Mechanical Model")?;
        let seek = match mechanics.block("Mechanical Model")?.get("Full seek curve") {
            Some(file) => text(file.word("Full seek curve")?)?,
            None => String::new(),
        };
        let parv = text(&format!("{name}.parv"))?;
        Ok(Self {
            name: name.to_owned(),
            parv,
            diskspecs,
            model,
            seek,
        })
    }

    /// Reads the files of drive `name` in a directory.
    pub fn in_directory(path: &Path, name: &str) -> Result<Self> {
        Self::read(name, |file| read(&path.join(file)))
    }
}

/// The profile that the files describe.
pub fn profile(files: &Files) -> Result<Profile> {
    let specs = parse(&format!("{}.diskspecs", files.name), &files.diskspecs)?;
    let model = parse(&format!("{}.model", files.name), &files.model)?;
    let parv = parse(&format!("{}.parv", files.name), &files.parv)?;
    let disk = first(&specs, "disksim_disk", &files.name)?;
    let model = first(&model, "dm_disk", &files.name)?;
    refuse_unknown(disk)?;
    let layout = layout(model)?;
    let profile = Profile {
        name: files.name.clone(),
        source: "DiskSim parameter files, measured".to_owned(),
        mechanics: mechanics(
            model.need("Mechanical Model")?.block("Mechanical Model")?,
            layout.cylinders,
            disk,
            files,
        )?,
        layout,
        overheads: overheads(disk)?,
        cache: cache(disk)?,
        bus: bus(disk, &parv)?,
        queue: queue(disk)?,
    };
    profile.validate()?;
    Ok(profile)
}

fn read(path: &Path) -> Result<String> {
    let failed = |error| Error::io(format!("cannot read {}", path.display()), error);
    if fs::metadata(path).map_err(failed)?.len() > FILE_MAX {
        return Err(Error::new(
            Kind::Syntax,
            format!("{} is longer than a parameter file", path.display()),
        ));
    }
    fs::read_to_string(path).map_err(failed)
}

fn first<'a>(blocks: &'a [Block], kind: &str, file: &str) -> Result<&'a Block> {
    blocks
        .iter()
        .find(|block| block.kind == kind)
        .ok_or_else(|| {
            Error::new(
                Kind::Syntax,
                format!("{file}: there is no block of type {kind}"),
            )
        })
}

/// The block asks for something that the model does not have.
pub(super) fn unsupported<T>(block: &Block, what: &str) -> Result<T> {
    Err(Error::new(
        Kind::Unsupported,
        format!("block of line {}: {what}", block.line),
    ))
}

/// Values that would change what the drive does in ways that the model lacks.
fn refuse_unknown(disk: &Block) -> Result<()> {
    if disk.whole("Never disconnect", 0)? != 0 {
        return unsupported(disk, "'Never disconnect' is not modelled");
    }
    if disk.nanoseconds("Constant access time")? > 0 {
        return unsupported(disk, "a constant access time is not a disk");
    }
    Ok(())
}

fn overheads(disk: &Block) -> Result<Overheads> {
    let pair = |what: &str, joint: &str| -> Result<AfterEach> {
        Ok(AfterEach {
            after_read_ns: disk.duration_ns(&format!("{what} {joint}read"))?,
            after_write_ns: disk.duration_ns(&format!("{what} {joint}write"))?,
        })
    };
    let extra = ExtraDisconnect {
        command_ns: disk.duration_ns("Extradisc command overhead")?,
        disconnect_ns: disk.duration_ns("Extradisc disconnect overhead")?,
        away_ns: disk.duration_ns("Extradisc inter-disconnect delay")?,
        second_disconnect_ns: disk.duration_ns("Extradisc 2nd disconnect overhead")?,
        seek_delta_ns: disk.duration_ns("Extradisc seek delta")?,
        least_blocks: 10,
        least_blocks_large: 15,
        large_blocks: 45,
    };
    let own = disk.duration_ns("Per-request overhead time")?;
    if disk.get("Time scale for overheads").is_some()
        && disk.thousandths("Time scale for overheads")? != 1000
    {
        return unsupported(disk, "a time scale for overheads other than 1");
    }
    let mut overheads = Overheads {
        read_hit: pair("Read hit over.", "after ")?,
        read_miss: pair("Read miss over.", "after ")?,
        write_hit: pair("Write hit over.", "after ")?,
        write_miss: pair("Write miss over.", "after ")?,
        complete_read_ns: disk.duration_ns("Read completion overhead")?,
        complete_write_ns: disk.duration_ns("Write completion overhead")?,
        data_preparation_ns: disk.duration_ns("Data preparation overhead")?,
        reselect_first_ns: disk.duration_ns("First reselect overhead")?,
        reselect_other_ns: disk.duration_ns("Other reselect overhead")?,
        disconnect_read: pair("Read disconnect", "after")?,
        disconnect_write_ns: disk.duration_ns("Write disconnect overhead")?,
        extra_disconnect: (disk.whole("Extra write disconnect", 0)? != 0).then_some(extra),
    };
    let classes = [
        &mut overheads.read_hit,
        &mut overheads.read_miss,
        &mut overheads.write_hit,
        &mut overheads.write_miss,
    ];
    for class in classes {
        class.after_read_ns += own;
        class.after_write_ns += own;
    }
    Ok(overheads)
}

fn cache(disk: &Block) -> Result<Cache> {
    let habit = |key: &str| -> Result<Habit> {
        Ok(if disk.whole(key, 0)? == 0 {
            Habit::No
        } else {
            Habit::Yes
        })
    };
    let zero_latency = |key: &str| -> Result<ZeroLatency> {
        Ok(if disk.whole(key, 0)? == 0 {
            ZeroLatency::No
        } else {
            ZeroLatency::Yes
        })
    };
    let number = |key: &str| -> Result<u32> { Ok(u32::try_from(amount(disk, key)?).unwrap_or(0)) };
    let prebuffer = habit("Allow write prebuffering")?;
    Ok(Cache {
        segments: if disk.whole("Enable caching in buffer", 1)? == 0 {
            0
        } else {
            number("Number of buffer segments")? as usize
        },
        segment_blocks: number("Segment size (in blks)")?,
        write_segments: number("Maximum number of write segments")? as usize,
        separate_write_segment: habit("Use separate write segment")?,
        read_ahead: match disk.whole("Buffer continuous read", 0)? {
            0 => ReadAhead::None,
            1 => ReadAhead::TrackEnd,
            2 => ReadAhead::CylinderEnd,
            3 => ReadAhead::Segment,
            4 => ReadAhead::WholeTracks,
            _ => return unsupported(disk, "'Buffer continuous read' is not one of 0 to 4"),
        },
        read_ahead_max: number("Maximum read-ahead (blks)")?,
        read_ahead_min: number("Minimum read-ahead (blks)")?,
        resume_on_hit: habit("Read-ahead on idle hit")?,
        keep_free_blocks: habit("Read any free blocks")?,
        zero_latency_read: zero_latency("Immediate buffer read")?,
        zero_latency_write: zero_latency("Immediate buffer write")?,
        discard_delivered: habit("Read-ahead over requested")?,
        read_hits_on_written: habit("Allow read hits on write data")?,
        almost_hits: habit("Allow almost read hits")?,
        write_policy: match (disk.whole("Fast write level", 0)?, prebuffer) {
            (0, _) => WritePolicy::Through,
            (1 | 2, Habit::No) => WritePolicy::BehindWhenIdle,
            (1 | 2, Habit::Yes) => WritePolicy::Behind,
            _ => return unsupported(disk, "'Fast write level' is not one of 0 to 2"),
        },
        combine_writes: habit("Combine seq writes")?,
        stop_in_sector: habit("Stop prefetch in sector")?,
        read_watermark_thousandths: u32::try_from(disk.thousandths("High (read) water mark")?)
            .unwrap_or(u32::MAX),
    })
}

/// The slowest part of the way sets the time of a block.
fn bus(disk: &Block, parv: &[Block]) -> Result<Bus> {
    let own = disk.duration_ns("Bulk sector transfer time")?;
    let mut bus = Bus {
        read_block_ns: own,
        write_block_ns: own,
        hold_for_read: if disk.whole("Hold bus entire read xfer", 0)? == 0 {
            Habit::No
        } else {
            Habit::Yes
        },
    };
    for block in parv {
        let (read, write) = match block.kind.as_str() {
            "disksim_bus" => (
                block.duration_ns("Read block transfer time")?,
                block.duration_ns("Write block transfer time")?,
            ),
            "disksim_ctlr" => {
                let time = block.duration_ns("Bulk sector transfer time")?;
                (time, time)
            }
            _ => continue,
        };
        bus.read_block_ns = bus.read_block_ns.max(read);
        bus.write_block_ns = bus.write_block_ns.max(write);
    }
    Ok(bus)
}

fn queue(disk: &Block) -> Result<Queue> {
    Ok(Queue {
        scheduler: Scheduler::Fcfs,
        depth: usize::try_from(disk.whole("Max queue length", 1)?)
            .unwrap_or(0)
            .max(1),
        age_limit_ns: None,
        release: if disk.whole("Preseeking level", 0)? == 0 {
            Release::AtCompletion
        } else {
            Release::AtMediumDone
        },
    })
}

/// A count that is needed.
pub(super) fn count(block: &Block, key: &str) -> Result<u32> {
    let value = block.need(key)?;
    u32::try_from(value.whole(key)?).map_err(|_| {
        Error::new(
            Kind::Impossible,
            format!("line {}: '{key}' is out of range", value.line),
        )
    })
}

/// An amount; 0 where the key is missing.
pub(super) fn amount(block: &Block, key: &str) -> Result<u64> {
    u64::try_from(block.whole(key, 0)?).map_err(|_| {
        Error::new(
            Kind::Impossible,
            format!("block of line {}: '{key}' is negative", block.line),
        )
    })
}
