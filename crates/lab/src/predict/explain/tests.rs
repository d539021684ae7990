//! The account adds up, and parameters act as they must.

use super::{Uncertainty, explain};
use crate::disk::catalog;
use crate::disk::link::Network;
use crate::disk::profile::{Profile, Scheduler};
use crate::layout::Loop;
use crate::predict::cases;
use crate::predict::parameter::Parameter;
use crate::predict::samples;
use crate::predict::subject::{Above, Disk, Load, Medium, Pattern, Piece, Shape, Volume};

fn whole(profile: &Profile) -> Volume {
    let medium = Medium::Drive(Box::new(profile.clone()));
    let blocks = medium.blocks().unwrap();
    Volume {
        disks: vec![Disk { medium, link: None }],
        pieces: vec![Piece {
            disk: 0,
            start: 0,
            blocks,
        }],
        shape: Shape::Linear,
    }
}

/// 8 blocks anywhere, read.
fn random(volume: &Volume, depth: usize) -> Load {
    Load {
        reads: 1000,
        ..samples::random(volume, depth)
    }
}

/// Whatever the case, the layers add up to the response time, and the value is in its interval.
#[test]
fn accounts_add_up() {
    let library = catalog::library();
    for seed in 1..=30 {
        let case = cases::case(seed, &library).unwrap();
        let uncertainty = Uncertainty {
            deviations: Vec::new(),
        };
        let above = Above::default();
        let told = explain(&case.volume, &above, &case.load, &uncertainty).unwrap();
        let response = told.response_ns;
        assert!(
            (told.account.total() / response.value - 1.0).abs() < 1e-6,
            "{seed}"
        );
        assert!(response.low < response.value && response.value < response.high);
    }
}

/// A single random read of a drive: its parts are known, and elasticities are their shares.
#[test]
fn elasticities_are_shares() {
    let mut profile = catalog::wd800bd_like();
    profile.queue.scheduler = Scheduler::Fcfs;
    let volume = whole(&profile);
    let load = random(&volume, 1);
    let above = Above::default();
    let told = explain(&volume, &above, &load, &Uncertainty::default()).unwrap();
    let time = told.response_ns.value;
    assert!((told.account.rotation / (60e9 / 7200.0 / 2.0) - 1.0).abs() < 0.02);
    assert!((told.account.overhead - 300_000.0).abs() < 1.0);
    let of = |parameter| {
        let mut list = told.elasticities.iter();
        list.find(|(at, _)| *at == parameter).unwrap().1
    };
    assert!((of(Parameter::Seek) - told.account.seek / time).abs() < 0.02);
    assert!((of(Parameter::Overhead) - 300_000.0 / time).abs() < 0.01);
    let all: f64 = told.elasticities.iter().map(|(_, value)| value).sum();
    assert!((all - 1.0).abs() < 0.03, "{all}");
    let text = told.to_string();
    assert!(
        text.contains("rotation") && !text.contains("loop"),
        "{text}"
    );
    let json = serde_json::to_string(&told).unwrap();
    assert!(json.starts_with("{\"per_second\":{\"value\":"), "{json}");
}

/// What lies above costs what it says, and a slow network sets the pace.
#[test]
fn layers_above() {
    let volume = whole(&catalog::wd800bd_like());
    let load = random(&volume, 1);
    let cost = Loop {
        request_ns: 6200,
        kib_ns: 50,
    };
    let above = Above {
        mapping_ns: 20,
        loops: vec![cost; 2],
        link: Some(Network::ethernet(100, 200_000)),
    };
    let uncertainty = Uncertainty::default();
    let bare = explain(&volume, &Above::default(), &load, &uncertainty).unwrap();
    let told = explain(&volume, &above, &load, &uncertainty).unwrap();
    assert!((told.account.map - 20.0).abs() < 1e-6);
    assert!((told.account.loops - 2.0 * (6200.0 + 4.0 * 50.0)).abs() < 1e-6);
    let added = told.response_ns.value - bare.response_ns.value;
    assert!((added - told.account.map - told.account.loops - told.account.link).abs() < 1e3);
    let mut load = random(&volume, 64);
    (load.pattern, load.blocks) = (Pattern::Sequential, 256);
    let told = explain(&volume, &above, &load, &uncertainty).unwrap();
    assert!((told.per_second.value * 256.0 * 512.0 / 11.75e6 - 1.0).abs() < 0.02);
}
