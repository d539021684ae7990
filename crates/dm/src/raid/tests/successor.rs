//! Arrays that become others by a start, while requests are held.

use std::sync::Arc;

use block::sim::Random;
use block::{BlockingDevice, Device};

use super::alive::{assert_redundant, become_other, settle, writable, write_some};
use super::made::{Made, REGION};
use super::{LIMIT, assert_reads, losses, schemes};
use crate::home::{Home, Prepared};
use crate::raid::{Array, ArrayConfig, LegContent, LegState, Scheme};

/// The same without this leg, which is known all the same.
fn lacking(config: &ArrayConfig, leg: usize) -> ArrayConfig {
    let mut config = config.clone();
    (config.legs[leg].data, config.legs[leg].meta) = (None, None);
    config
}

fn prepare(
    home: &Home<Array>,
    config: &ArrayConfig,
    devices: &[Arc<dyn Device>],
) -> crate::Result<Prepared<Array>> {
    home.suspend(LIMIT).expect("it rests");
    home.prepare(config.clone(), devices.to_vec(), LIMIT)
}

/// A leg that is back gets what was written meanwhile, and no more; one that is to be filled gets
/// all; regions get another size. Then any leg may be lost.
#[test]
fn arrays_start_anew_while_they_are_used() {
    let mut random = Random::new(5);
    for (scheme, legs) in schemes() {
        let what = format!("{scheme:?} of {legs}");
        let mut made = Made::new(scheme, legs);
        let devices = made.legs();
        let mut config = writable(&made);
        let lacks = lacking(&config, 1);
        let home = Made::start(&lacks, devices.clone()).expect("it starts");
        write_some(&mut made, &home, &mut random, &what);
        let home = become_other(&home, &config, &devices);
        write_some(&mut made, &home, &mut random, &what);
        settle(&home, &what);
        assert_reads(&made, &home, &what);
        config.described.region_size = 2 * REGION;
        let home = become_other(&home, &config, &devices);
        write_some(&mut made, &home, &mut random, &what);
        settle(&home, &what);
        // What it holds counts no more, whatever it is.
        let len = devices[0].info().size as usize;
        let mut leg = BlockingDevice::open(&*devices[0]).expect("it opens");
        config.legs[0].content = LegContent::Rebuild;
        let prepared = prepare(&home, &config, &devices).expect("it may be");
        leg.write_at(&vec![0xee; len], 0).expect("it is written");
        let home = prepared.reload(LIMIT).expect("it becomes that");
        home.resume().expect("it goes on");
        write_some(&mut made, &home, &mut random, &what);
        settle(&home, &what);
        assert_reads(&made, &home, &what);
        drop(home);
        let lost = losses(legs, scheme.redundancy(legs).min(2));
        assert_redundant(&made, &devices, &lost, &what);
    }
}

/// What was so when a change was planned is so no more: it is refused, and the array goes on.
#[test]
fn arrays_that_are_not_whole_do_not_become_others() {
    let made = Made::new(Scheme::Mirror, 3);
    let devices = made.legs();
    let config = writable(&made);
    let home = Made::start(&lacking(&config, 2), devices.clone()).expect("it starts");
    let mut other = lacking(&config, 2);
    other.described.region_size = 2 * REGION;
    let error = prepare(&home, &other, &devices).err().expect("it may not");
    let said = error.to_string();
    assert!(said.contains("not in sync; try again when it is"), "{said}");
    home.resume().expect("it goes on");
    assert_reads(&made, &home, "as before");
    let home = become_other(&home, &config, &devices);
    settle(&home, "the leg is back");
    let status = home.status(LIMIT).expect("it runs");
    let is_whole = |leg: &(LegState, u64)| leg.0 == LegState::Valid { until: u64::MAX };
    assert!(status.legs.iter().all(is_whole), "{status:?}");
    let mut other = config;
    other.described.region_size = 2 * REGION;
    drop(become_other(&home, &other, &devices));
}

/// A leg that is back goes with an array that is only read, too; nothing else changes it then.
#[test]
fn legs_are_back_where_an_array_is_only_read() {
    let made = Made::new(Scheme::Mirror, 3);
    let devices = made.legs();
    let config = made.config();
    let home = Made::start(&lacking(&config, 2), devices.clone()).expect("it starts");
    let mut other = config.clone();
    other.described.region_size = 2 * REGION;
    let error = prepare(&home, &other, &devices).err().expect("it may not");
    assert!(error.to_string().contains("only read"), "{error}");
    home.resume().expect("it goes on");
    let home = become_other(&home, &config, &devices);
    assert_reads(&made, &home, "the leg is back");
}
