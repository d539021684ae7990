//! Tests: stores that grow by a policy.

use super::{ExtendPolicy, holds_all, size_by_policy};
use crate::model::samples::{hidden_linear, linear, lv, read, text};
use crate::model::{LvId, VolumeGroup};
use crate::plan::samples::id;
use crate::plan::size::{Amount, Base};
use crate::{Bytes, Result};

const MIB: u64 = 1 << 20;

/// A group of extents of 1 MiB with an origin of 20, and the store of its snapshot.
fn group(store: u64, role: &str) -> (VolumeGroup, LvId) {
    let fields = format!("chunk_size = 8 origin = \"data\" {role} = \"cow\"");
    let vg = read(&text(&[
        linear("data", 0, 0, 20),
        hidden_linear("cow", 1, 0, store),
        lv("snapshot0", 20, "snapshot", &fields),
    ]));
    let cow = id(&vg, "cow");
    (vg, cow)
}

fn grows(vg: &VolumeGroup, lv: LvId, used: u64, policy: (i64, i64)) -> Result<Option<u32>> {
    let policy = ExtendPolicy::new(policy.0, policy.1);
    let size = size_by_policy(vg, lv, Some(Bytes(used)), policy)?;
    Ok(size.map(|size| match size.amount {
        Amount::Percent(percent, Base::Lv) => percent,
        other => panic!("{other:?}"),
    }))
}

#[test]
fn stores_grow_above_the_threshold() {
    // Proves: nothing happens up to the threshold; above it a store grows by the percentage, or by
    // as much as takes it below the threshold; 100 is never and less than 50 is 50.
    let (vg, cow) = group(10, "cow_store");
    let percent = |used: u64, policy| grows(&vg, cow, used, policy).expect("a snapshot");
    assert_eq!(percent(7 * MIB, (70, 20)), None);
    assert_eq!(percent(7 * MIB + 1, (70, 20)), Some(20));
    // 9.5 MiB are 70 % of 13.58 MiB.
    assert_eq!(percent(19 * MIB / 2, (70, 20)), Some(36));
    assert_eq!(percent(19 * MIB / 2, (70, 90)), Some(90));
    assert_eq!(percent(10 * MIB, (100, 20)), None);
    assert_eq!(percent(5 * MIB, (10, 20)), None);
    assert_eq!(percent(5 * MIB + 1, (10, 20)), Some(20));
    assert_eq!(percent(10 * MIB, (-3, i64::MAX)), Some(u32::MAX));
    let none = size_by_policy(&vg, cow, None, ExtendPolicy::new(50, 20));
    assert_eq!(none, Ok(None), "how full it is is not known");
}

#[test]
fn only_what_may_overflow_grows() {
    // Proves: a store with room for all of its origin stays, as does one that is being merged; a
    // volume that is no snapshot and a growth of nothing are refused in stock's words.
    let (vg, cow) = group(21, "cow_store");
    assert!(holds_all(&vg, cow));
    assert_eq!(grows(&vg, cow, 21 * MIB, (50, 20)), Ok(None));
    let (vg, cow) = group(20, "cow_store");
    assert!(!holds_all(&vg, cow));
    assert_eq!(grows(&vg, cow, 20 * MIB, (50, 20)), Ok(Some(100)));
    let (merging, store) = group(20, "merging_store");
    assert_eq!(grows(&merging, store, 20 * MIB, (50, 20)), Ok(None));
    let refused = |lv, policy| {
        let policy = ExtendPolicy::new(50, policy);
        let size = size_by_policy(&vg, lv, Some(Bytes(20 * MIB)), policy);
        size.expect_err("refused").context
    };
    assert_eq!(
        refused(cow, 0),
        "Can't extend vg/cow with snapshot autoextend percent set to 0%."
    );
    let plain = refused(id(&vg, "data"), 20);
    assert!(plain.starts_with("Policy-based resize is supported only"));
}

#[test]
fn it_is_told_where_a_store_grows() {
    // Proves: what is waited for is what makes it grow, not a byte less.
    let policy = ExtendPolicy::new(70, 20);
    let at = policy.grows_at(Bytes(10 * MIB)).expect("it grows");
    assert_eq!(at, Bytes(7 * MIB + 1));
    let (vg, cow) = group(10, "cow_store");
    assert_eq!(grows(&vg, cow, at.0, (70, 20)), Ok(Some(20)));
    assert_eq!(ExtendPolicy::default().grows_at(Bytes(MIB)), None);
    assert_eq!(ExtendPolicy::new(70, 0).grows_at(Bytes(MIB)), None);
    assert_eq!(
        ExtendPolicy::new(50, 1).grows_at(Bytes(u64::MAX)),
        Some(Bytes(u64::MAX / 2 + 1))
    );
}
