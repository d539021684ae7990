//! The parameters of a stack that are not certain, and what else they could be.

use std::fmt;

use super::subject::{Above, Medium, Volume};
use crate::disk::link::Network;
use crate::disk::profile::{AfterEach, Profile};

/// A group of numbers that are wrong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Parameter {
    /// Times of the arm.
    Seek,
    /// The time of a revolution.
    Rotation,
    /// Times of the controller.
    Overhead,
    /// The time of a block on the bus.
    Bus,
    /// What a capped volume or a server allows.
    Limits,
    /// Times of flash.
    Flash,
    /// Bytes per second of networks.
    LinkRate,
    /// Round trips.
    RoundTrip,
    /// Lookups and loop devices.
    Software,
}

impl Parameter {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Seek,
        Self::Rotation,
        Self::Overhead,
        Self::Bus,
        Self::Limits,
        Self::Flash,
        Self::LinkRate,
        Self::RoundTrip,
        Self::Software,
    ];

    /// Whether a stack has such a thing.
    pub(super) fn matters(self, volume: &Volume, above: &Above) -> bool {
        let any = |of: &dyn Fn(&Medium) -> bool| volume.disks.iter().any(|disk| of(&disk.medium));
        match self {
            Self::Seek | Self::Rotation | Self::Overhead | Self::Bus => {
                any(&|medium| matches!(medium, Medium::Drive(_)))
            }
            Self::Limits => any(&|medium| matches!(medium, Medium::Capped(_) | Medium::Server(_))),
            Self::Flash => any(&|medium| matches!(medium, Medium::Flash(_))),
            Self::LinkRate | Self::RoundTrip => {
                above.link.is_some() || volume.disks.iter().any(|disk| disk.link.is_some())
            }
            Self::Software => above.mapping_ns > 0 || !above.loops.is_empty(),
        }
    }
}

impl fmt::Display for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Seek => "seek",
            Self::Rotation => "revolution",
            Self::Overhead => "controller",
            Self::Bus => "bus",
            Self::Limits => "limits",
            Self::Flash => "flash",
            Self::LinkRate => "link rate",
            Self::RoundTrip => "round trip",
            Self::Software => "software",
        })
    }
}

/// The stack with one parameter times `factor`.
pub(super) fn scaled(
    volume: &Volume,
    above: &Above,
    parameter: Parameter,
    factor: f64,
) -> (Volume, Above) {
    let (mut volume, mut above) = (volume.clone(), above.clone());
    for disk in &mut volume.disks {
        match &mut disk.medium {
            Medium::Drive(profile) => drive(profile, parameter, factor),
            Medium::Capped(cap) if parameter == Parameter::Limits => {
                cap.operations = cap.operations.map(|rate| times(rate, factor));
                cap.bytes = cap.bytes.map(|rate| times(rate, factor));
            }
            Medium::Server(server) if parameter == Parameter::Limits => {
                server.mean_ns = times(server.mean_ns, 1.0 / factor);
            }
            Medium::Flash(flash) if parameter == Parameter::Flash => {
                for time in [
                    &mut flash.read_ns,
                    &mut flash.program_ns,
                    &mut flash.erase_ns,
                    &mut flash.block_ns,
                ] {
                    *time = times(*time, factor);
                }
            }
            _ => {}
        }
        if let Some(link) = &mut disk.link {
            network(link, parameter, factor);
        }
    }
    if let Some(link) = &mut above.link {
        network(link, parameter, factor);
    }
    if parameter == Parameter::Software {
        above.mapping_ns = times(above.mapping_ns, factor);
        for cost in &mut above.loops {
            cost.request_ns = times(cost.request_ns, factor);
            cost.kib_ns = times(cost.kib_ns, factor);
        }
    }
    (volume, above)
}

fn times(value: u64, factor: f64) -> u64 {
    (value as f64 * factor).round().max(1.0) as u64
}

fn network(link: &mut Network, parameter: Parameter, factor: f64) {
    match parameter {
        Parameter::LinkRate => link.rate = times(link.rate, factor),
        Parameter::RoundTrip => link.round_trip_ns = times(link.round_trip_ns, factor),
        _ => {}
    }
}

fn drive(profile: &mut Profile, parameter: Parameter, factor: f64) {
    let mechanics = &mut profile.mechanics;
    match parameter {
        Parameter::Seek => {
            mechanics.seek = mechanics.seek.scaled(factor);
            mechanics.settle_ns = times(mechanics.settle_ns, factor);
        }
        Parameter::Rotation => {
            let rpm = f64::from(mechanics.rpm) / factor;
            mechanics.rpm = rpm.round().max(1.0) as u32;
        }
        Parameter::Overhead => {
            let overheads = &mut profile.overheads;
            let both = |of: &mut AfterEach| {
                of.after_read_ns = times(of.after_read_ns, factor);
                of.after_write_ns = times(of.after_write_ns, factor);
            };
            both(&mut overheads.read_hit);
            both(&mut overheads.read_miss);
            both(&mut overheads.write_hit);
            both(&mut overheads.write_miss);
        }
        Parameter::Bus => {
            let bus = &mut profile.bus;
            bus.read_block_ns = times(bus.read_block_ns, factor);
            bus.write_block_ns = times(bus.write_block_ns, factor);
        }
        _ => {}
    }
}
