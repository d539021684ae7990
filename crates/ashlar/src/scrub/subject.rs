//! What is scrubbed: the arrays of a volume, with their legs open, while nobody writes them.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use block::file::{FileOptions, LockMode};
use block::{BlockingDevice, Device, Info, Range};
use dm::raid::scrub::{Course, believed, metadata_len};
use dm::raid::{ArrayConfig, ArrayLeg, Assembly};
use lvm2::Bytes;
use lvm2::model::LvId;
use lvm2::plan::pieces;

use super::finding::OnDisk;
use crate::activate::{Activator, Legs};
use crate::device::{ArrayLegs, open_legs, open_whole};
use crate::host::{ArrayPlace, Host, Location, Place};
use crate::lock::{PvLocks, lock_owner};
use crate::scan::{FoundVg, Scan};
use crate::{Error, Kind, Result};

/// How long an owner that is about to end is waited for.
const OWNER_MAX: Duration = Duration::from_secs(1);
/// The same for one that was killed, and whose last requests are on their way.
const DYING_MAX: Duration = Duration::from_secs(5);

/// What is scrubbed.
pub struct Subject<'a> {
    /// What people know it by: `vg0/data`.
    pub name: String,
    /// What is missing of it, one sentence each; what superblocks say that people should know.
    pub gaps: Vec<String>,
    pub(super) parts: Vec<Part>,
    /// The group that it is of, as it was found.
    group: Option<(&'a Scan, &'a FoundVg)>,
    /// The array of md's that it is.
    array: Option<&'a ArrayPlace>,
    /// Keep owners out. Open files, because the locks are theirs.
    _locks: Vec<(Vec<OwnedFd>, PvLocks)>,
}

/// One array.
pub(super) struct Part {
    pub(super) config: ArrayConfig,
    /// The way through it.
    pub(super) course: Course,
    /// The byte of the volume where it begins.
    pub(super) start: u64,
    /// What people should know of how it was found, a clause each.
    remarks: Vec<String>,
    devices: Vec<Arc<dyn Device>>,
    /// Where each leg lies.
    grounds: Vec<Ground>,
    /// What was read of each leg's metadata.
    metadata: Metadata,
}

/// Where a leg lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ground {
    /// It is a volume of the group.
    Image(LvId),
    /// It is a part of a disk, from this byte on.
    Disk(String, u64),
    /// It is missing.
    Nowhere,
}

/// Of each leg the bytes, or why there are none; `None`: it has no metadata.
type Metadata = Vec<Option<std::result::Result<Vec<u8>, String>>>;

impl std::fmt::Debug for Subject<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Subject({}, {} arrays)", self.name, self.parts.len())
    }
}

impl<'a> Subject<'a> {
    /// The arrays of the volume called `name`.
    ///
    /// # Errors
    ///
    /// There is no such volume; it is no array; a process serves its group, or the kernel has it
    /// active; too many of its legs are missing; its superblocks contradict each other.
    pub fn volume(scan: &'a Scan, host: &Host, name: &str) -> Result<Self> {
        let (group, lv) = scan.find_volume(name)?;
        let locks = keep_owners_out(scan, group)?;
        let mut activator = Activator::new(scan, host);
        let (legs, mut gaps) = activator.legs(group, lv)?;
        let parts = legs.into_iter().map(Part::of_volume);
        let parts: Vec<Part> = parts.collect::<Result<_>>()?;
        for part in &parts {
            let (name, remarks) = (&part.config.name, part.remarks.iter());
            gaps.extend(remarks.map(|remark| format!("{name}: {remark}")));
        }
        assert!(!parts.is_empty(), "a volume without arrays was refused");
        Ok(Self {
            name: format!("{}/{}", group.name, group.model.lv(lv).name()),
            gaps,
            parts,
            group: Some((scan, group)),
            array: None,
            _locks: locks,
        })
    }

    /// What `name` means: an array of md's (`md:host:0`), or a volume.
    ///
    /// # Errors
    ///
    /// As with [`Subject::volume`].
    pub fn named(scan: &'a Scan, host: &Host, name: &str) -> Result<Self> {
        let mut devices = scan.devices.iter().filter(|device| device.name == name);
        let array = devices.find_map(|device| match &device.location.place {
            Place::Array(place) if device.location.window.is_none() => Some(place),
            _ => None,
        });
        let Some(place) = array else {
            return Self::volume(scan, host, name);
        };
        let failed = |error: block::Error| {
            Error::new(Kind::Device, format!("cannot open {name}")).because(error)
        };
        let ArrayLegs {
            config,
            devices,
            assembly,
            starts,
            files,
        } = open_legs(place, to_read()).map_err(failed)?;
        let locks = lock_shared(name, files)?;
        let mut part = Part::new(config, assembly, devices)?;
        for (ground, start) in part.grounds.iter_mut().zip(starts) {
            if let (Ground::Disk(_, at), Some(start)) = (ground, start) {
                *at = start;
            }
        }
        let subject = Self::of_part(name, part);
        Ok(Self {
            array: Some(place),
            _locks: locks.into_iter().collect(),
            ..subject
        })
    }

    /// An array that is of no group.
    pub(super) fn of_part(name: &str, part: Part) -> Self {
        let remarks = part.remarks.iter();
        Self {
            name: name.to_owned(),
            gaps: remarks.map(|remark| format!("{name}: {remark}")).collect(),
            parts: vec![part],
            group: None,
            array: None,
            _locks: Vec::new(),
        }
    }

    /// Bytes of all its arrays.
    pub fn size(&self) -> u64 {
        self.parts.iter().map(|part| part.course.size()).sum()
    }

    /// Fails where superblocks or bitmaps say something else than at the beginning: whoever writes
    /// to an array says so there first.
    pub(super) fn require_unchanged(&self) -> Result<()> {
        for part in &self.parts {
            let has_any = part.metadata.iter().any(Option::is_some);
            if has_any && metadata(&part.config, &part.devices) != part.metadata {
                return Err(written(&part.config.name));
            }
        }
        // Legs that say something else are refused.
        let again = self.array.map(|place| open_legs(place, to_read()));
        match again {
            Some(Err(error)) => Err(written(&self.name).because(error)),
            Some(Ok(_)) | None => Ok(()),
        }
    }

    /// The extent of the volume that a byte of it is in.
    pub(super) fn extent(&self, at: u64) -> Option<u64> {
        let (_, group) = self.group?;
        at.checked_div(group.model.extent_size.to_bytes()?.0)
    }

    /// Where `len` bytes from `start` of a leg are.
    pub(super) fn disks(
        &self,
        part: &Part,
        leg: usize,
        (start, len): (u64, u64),
    ) -> Result<Vec<OnDisk>> {
        let ground = &part.grounds[leg];
        let (image, (scan, group)) = match (ground, self.group) {
            (Ground::Image(image), Some(group)) => (*image, group),
            (Ground::Disk(name, base), _) => {
                let (device, byte) = (name.clone(), base + start);
                let extent = None;
                return Ok(vec![OnDisk {
                    device,
                    byte,
                    extent,
                }]);
            }
            (Ground::Image(_), None) | (Ground::Nowhere, _) => {
                unreachable!("what is read lies somewhere")
            }
        };
        let found = pieces(&group.model, image, Bytes(start), Bytes(len))?;
        let place = |piece: lvm2::plan::Piece| {
            let mut members = group.members.iter();
            let member = members.find(|member| member.uuid == piece.pv);
            let found = member.and_then(|member| member.presence.found());
            let device = found.map_or_else(
                || format!("PV {}", piece.pv),
                |pv| scan.device(scan.pv(pv).device).name.clone(),
            );
            let extent = member.and_then(|member| {
                let size = group.model.extent_size;
                let first = group.model.pv(member.id);
                let first = first.extent_start(lvm2::Extents(0), size)?.to_bytes()?;
                piece
                    .start
                    .0
                    .checked_sub(first.0)?
                    .checked_div(size.to_bytes()?.0)
            });
            OnDisk {
                device,
                byte: piece.start.0,
                extent,
            }
        };
        Ok(found.into_iter().map(place).collect())
    }
}

impl Part {
    fn of_volume(legs: Legs) -> Result<Self> {
        let Legs {
            config,
            devices,
            images,
            start,
        } = legs;
        let mut metadata = metadata(&config, &devices);
        let assembly = believed(&config, &metadata).map_err(|error| unusable(&config, error))?;
        let part = Self::new(config, assembly, devices)?;
        let legs = part.config.legs.len();
        metadata.truncate(legs);
        Ok(Self {
            start,
            grounds: images.into_iter().take(legs).map(Ground::Image).collect(),
            metadata,
            ..part
        })
    }

    /// An array of which this is believed, whose legs are disks of their own.
    pub(super) fn new(
        config: ArrayConfig,
        assembly: Assembly,
        devices: Vec<Arc<dyn Device>>,
    ) -> Result<Self> {
        let config = config.as_believed(&assembly);
        let remarks = assembly.remarks.clone();
        let infos: Vec<Info> = devices.iter().map(|device| device.info()).collect();
        let course = Course::new(&config, assembly, &infos);
        let ground = |leg: &ArrayLeg| {
            leg.data.map_or(Ground::Nowhere, |device| {
                Ground::Disk(infos[device].name.clone(), 0)
            })
        };
        Ok(Self {
            course: course.map_err(|error| unusable(&config, error))?,
            start: 0,
            remarks,
            grounds: config.legs.iter().map(ground).collect(),
            metadata: config.legs.iter().map(|_| None).collect(),
            config,
            devices,
        })
    }

    /// The devices of its legs' data.
    pub(super) fn data(&self) -> Vec<Option<Arc<dyn Device>>> {
        let data = |leg: &ArrayLeg| Some(Arc::clone(&self.devices[leg.data?]));
        self.config.legs.iter().map(data).collect()
    }
}

/// What stands on the legs of an array about it.
fn metadata(config: &ArrayConfig, devices: &[Arc<dyn Device>]) -> Metadata {
    let wanted = metadata_len(config);
    let read = |device: &dyn Device| {
        let mut device = BlockingDevice::open(device)?;
        let len = wanted.min(device.info().size);
        device.read(Range::new(0, len))
    };
    let of = |leg: &ArrayLeg| {
        let bytes = read(&*devices[leg.meta?]);
        Some(bytes.map_err(|error| error.to_string()))
    };
    config.legs.iter().map(of).collect()
}

fn to_read() -> FileOptions {
    FileOptions::new(block::file::Access::ReadOnly)
}

fn written(name: &str) -> Error {
    let what = format!(
        "{name} was written while it was compared, so what was found may be wrong; see that nobody \
         uses it, and try again"
    );
    Error::new(Kind::Refused, what)
}

fn unusable(config: &ArrayConfig, error: dm::Error) -> Error {
    let what = format!("{} cannot be compared", config.name);
    Error::new(Kind::Device, what).because(error)
}

/// Locks that owners of the group cannot have at the same time, and others who compare can. Where
/// files cannot be locked nothing is: it is only read.
fn keep_owners_out(scan: &Scan, group: &FoundVg) -> Result<Vec<(Vec<OwnedFd>, PvLocks)>> {
    let mut locks = Vec::new();
    let mut places = Vec::new();
    for member in &group.members {
        let Some(pv) = member.presence.found() else {
            continue;
        };
        let device = scan.device(scan.pv(pv).device);
        if places.contains(&&device.location.place) {
            continue;
        }
        places.push(&device.location.place);
        let whole = Location {
            place: device.location.place.clone(),
            window: None,
        };
        let (_, files) = open_whole(&whole, to_read()).map_err(|error| {
            let what = format!("cannot open {}", device.name);
            Error::new(Kind::Device, what).because(error)
        })?;
        locks.extend(lock_shared(&device.name, files)?);
    }
    Ok(locks)
}

/// The same of the files of one device.
fn lock_shared(name: &str, files: Vec<OwnedFd>) -> Result<Option<(Vec<OwnedFd>, PvLocks)>> {
    let named: Vec<_> = files.iter().map(|file| (name, file)).collect();
    match lock_owner(&named, LockMode::Shared, (OWNER_MAX, DYING_MAX)) {
        Ok(lock) => Ok(Some((files, lock))),
        Err(error) if error.cause().is_some() => Ok(None),
        Err(error) => Err(error),
    }
}
