//! A group for each condition: the text of its volumes, of which `lv` shows it.

use super::super::condition::Condition;

pub(super) const PLAIN: &str = "\"READ\", \"WRITE\", \"VISIBLE\"";
pub(super) const HIDDEN: &str = "\"READ\", \"WRITE\"";

/// A logical volume of the sample group: two extents unless the body says more.
pub(super) fn lv(name: &str, status: &str, flags: &str, body: &str) -> String {
    let number = name.bytes().fold(0_u32, |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(byte.into())
    });
    format!(
        "{name} {{\nid = \"aaaaaa-aaaa-aaaa-aaaa-aaaa-{:04x}-{:06x}\"\nstatus = [{status}]\n\
         flags = [{flags}]\nsegment_count = 1\nsegment1 {{\nstart_extent = 0\n{body}\n}}\n}}\n",
        number >> 16,
        number & 0xff_ffff
    )
}

pub(super) fn linear_at(start: u32) -> String {
    format!("extent_count = 2\ntype = \"striped\"\nstripe_count = 1\nstripes = [\"pv0\", {start}]")
}

fn plain(name: &str, status: &str, start: u32) -> String {
    lv(name, status, "", &linear_at(start))
}

pub(super) fn with_status(status: &str) -> String {
    plain("lv", status, 0)
}

pub(super) fn with_flag(flag: &str) -> String {
    lv("lv", PLAIN, flag, &linear_at(0))
}

fn of_type(body: &str, others: &str) -> String {
    format!("{}{others}", lv("lv", PLAIN, "", body))
}

/// `lv`, a plain volume that another one uses.
fn used(user: &str, others: &str) -> String {
    format!("{}{user}{others}", plain("lv", HIDDEN, 0))
}

pub(super) const MIRROR: &str =
    "extent_count = 2\ntype = \"mirror\"\nmirror_count = 2\nregion_size = 1024";
/// What stands in a segment with checksums, of two extents.
const CHECKSUMS: &str = "data_sectors = 4096\nmode = \"J\"\ntag_size = 4\nblock_size = 512\n\
    internal_hash = \"crc32c\"\nmeta_dev = \"c\"";
const THIN: &str = "extent_count = 2\ntype = \"thin\"\nthin_pool = \"pool\"\n\
    transaction_id = 0\ndevice_id = ";

fn snapshot(cow: &str) -> String {
    let body = format!(
        "extent_count = 2\ntype = \"snapshot\"\nchunk_size = 8\norigin = \"origin\"\n{cow}"
    );
    lv("snapshot0", PLAIN, "", &body)
}

fn snapshot_of(origin: &str, cow: &str) -> String {
    snapshot(cow).replace("\"origin\"", &format!("\"{origin}\""))
}

fn pool() -> String {
    let body = "extent_count = 2\ntype = \"thin-pool\"\nmetadata = \"pool_tmeta\"\n\
        pool = \"pool_tdata\"\ntransaction_id = 0\nchunk_size = 128";
    let parts = [("pool_tmeta", 20), ("pool_tdata", 22)];
    let parts = parts.map(|(name, start)| plain(name, HIDDEN, start));
    format!("{}{}", lv("pool", PLAIN, "", body), parts.concat())
}

const RAID0: &str = "extent_count = 2\ntype = \"raid0\"\nstripe_count = 2\nstripe_size = 8\n\
     raid0_lvs = [\"i0\", \"i1\"]";

fn raid() -> String {
    "extent_count = 2\ntype = \"raid1\"\ndevice_count = 2\nregion_size = 1024\n\
     raids = [\"m0\", \"i0\", \"m1\", \"i1\"]"
        .to_owned()
}

fn raid_parts(names: &[&str]) -> String {
    let places = names.iter().zip(0..);
    places
        .map(|(name, at)| plain(name, HIDDEN, 30 + 2 * at))
        .collect()
}

/// Volumes of which `lv` shows the condition.
pub(super) fn sample(condition: Condition) -> String {
    let found = of_simple_type(condition)
        .or_else(|| of_other_type(condition))
        .or_else(|| of_use(condition))
        .or_else(|| of_flag(condition));
    found.unwrap_or_else(|| panic!("{condition:?} has no sample"))
}

/// Types that stand on extents, and mirrors.
fn of_simple_type(condition: Condition) -> Option<String> {
    use Condition as C;
    Some(match condition {
        C::Linear | C::NoWrite | C::NoRead | C::WriteLocked | C::Hidden => match condition {
            C::NoWrite => with_status("\"READ\", \"VISIBLE\""),
            C::NoRead => with_status("\"WRITE\", \"VISIBLE\""),
            C::WriteLocked => lv(
                "lv",
                "\"READ\", \"VISIBLE\"",
                "\"WRITE_LOCKED\"",
                &linear_at(0),
            ),
            C::Hidden => with_status(HIDDEN),
            _ => with_status(PLAIN),
        },
        C::Striped => of_type(
            "extent_count = 2\ntype = \"striped\"\nstripe_count = 2\nstripe_size = 128\n\
             stripes = [\"pv0\", 0, \"pv0\", 5]",
            "",
        ),
        C::Zero | C::ErrorSegment => {
            let name = if condition == C::Zero {
                "zero"
            } else {
                "error"
            };
            of_type(&format!("extent_count = 2\ntype = \"{name}\""), "")
        }
        C::Mirror => of_type(
            &format!("{MIRROR}\nmirrors = [\"i0\", 0, \"i1\", 0]"),
            &raid_parts(&["i0", "i1"]),
        ),
        C::Move | C::MirrorOnPvs => {
            let body = format!("{MIRROR}\nextents_moved = 0\nmirrors = [\"pv0\", 0, \"pv0\", 9]");
            let status = "\"READ\", \"WRITE\", \"PVMOVE\", \"LOCKED\"";
            match condition {
                C::Move => lv("lv", status, "", &body),
                _ => lv("lv", PLAIN, "", &body),
            }
        }
        C::Raid0 => of_type(RAID0, &raid_parts(&["i0", "i1"])),
        C::Raid => of_type(&raid(), &raid_parts(&["m0", "i0", "m1", "i1"])),
        C::SnapshotSegment => {
            let parts = raid_parts(&["origin", "cow"]);
            snapshot("cow_store = \"cow\"").replace("snapshot0", "lv") + &parts
        }
        _ => return None,
    })
}

/// The other types.
fn of_other_type(condition: Condition) -> Option<String> {
    use Condition as C;
    Some(match condition {
        C::ThinPool => pool().replace("pool {", "lv {"),
        C::Thin => of_type(&format!("{THIN}1"), &pool()),
        C::ThinMerging => {
            let other = lv("other", PLAIN, "", &format!("{THIN}2"));
            let body = format!("{THIN}1\norigin = \"other\"\nmerge = \"other\"");
            of_type(&body, &(other + &pool()))
        }
        C::ThinMergeTarget => {
            let body = format!("{THIN}2\norigin = \"lv\"\nmerge = \"lv\"");
            of_type(
                &format!("{THIN}1"),
                &(lv("other", PLAIN, "", &body) + &pool()),
            )
        }
        C::CachePool => of_type(
            "extent_count = 2\ntype = \"cache-pool\"\ndata = \"d\"\nmetadata = \"m\"",
            &raid_parts(&["d", "m"]),
        ),
        C::Cache => of_type(
            "extent_count = 2\ntype = \"cache+CACHE_USES_CACHEVOL\"\ncache_pool = \"c\"\n\
             origin = \"o\"",
            &raid_parts(&["c", "o"]),
        ),
        C::Writecache => of_type(
            "extent_count = 2\ntype = \"writecache\"\nwritecache = \"c\"\norigin = \"o\"",
            &raid_parts(&["c", "o"]),
        ),
        C::Integrity => of_type(
            &format!("extent_count = 2\ntype = \"integrity\"\norigin = \"o\"\n{CHECKSUMS}"),
            &raid_parts(&["o", "c"]),
        ),
        C::VdoPool => of_type(
            "extent_count = 2\ntype = \"vdo-pool\"\ndata = \"d\"",
            &raid_parts(&["d"]),
        ),
        C::Vdo => of_type(
            "extent_count = 2\ntype = \"vdo\"\nvdo_pool = \"p\"\nvdo_offset = 0",
            &(lv(
                "p",
                PLAIN,
                "",
                "extent_count = 2\ntype = \"vdo-pool\"\ndata = \"d\"",
            ) + &raid_parts(&["d"])),
        ),
        C::UnknownType => of_type("extent_count = 2\ntype = \"compressed\"", ""),
        C::TypeSuffix => with_status(PLAIN).replace("\"striped\"", "\"striped+RESHAPE\""),
        C::Reshape => with_status(PLAIN).replace("type =", "reshape_count = 1\ntype ="),
        _ => return None,
    })
}

/// Volumes that are used by another one.
fn of_use(condition: Condition) -> Option<String> {
    use Condition as C;
    let cache = |kind: &str, keys: &str, parts: &str| {
        let body = format!("extent_count = 2\ntype = \"{kind}\"\n{keys}");
        (lv("user", PLAIN, "", &body), parts.to_owned())
    };
    Some(match condition {
        C::Origin | C::MergingOrigin => {
            let key = if condition == C::Origin {
                "cow"
            } else {
                "merging"
            };
            let user = snapshot_of("lv", &format!("{key}_store = \"cow\""));
            format!("{}{user}{}", with_status(PLAIN), raid_parts(&["cow"]))
        }
        C::Cow | C::MergingCow => {
            let key = if condition == C::Cow {
                "cow"
            } else {
                "merging"
            };
            let user = snapshot(&format!("{key}_store = \"lv\""));
            used(&user, &plain("origin", PLAIN, 40))
        }
        C::VirtualOrigin => {
            lv(
                "lv_vorigin",
                HIDDEN,
                "",
                "extent_count = 2\ntype = \"zero\"",
            ) + &snapshot_of("lv_vorigin", "cow_store = \"cow\"")
                + &plain("cow", PLAIN, 40)
        }
        C::ExternalOrigin => {
            let body = format!("{THIN}1\nexternal_origin = \"lv\"");
            let user = lv("user", PLAIN, "", &body) + &pool();
            format!("{}{user}", with_status("\"READ\", \"VISIBLE\""))
        }
        C::TypeDecides => {
            let user = lv("user", PLAIN, "", &format!("{THIN}2\norigin = \"lv\""));
            of_type(&format!("{THIN}1"), &(user + &pool()))
        }
        C::AreaOf => {
            let body = linear_at(0).replace("pv0", "lv");
            used(&lv("user", PLAIN, "", &body), "")
        }
        C::MirrorImage | C::MirrorLog => {
            let (log, images) = match condition {
                C::MirrorLog => ("mirror_log = \"lv\"\n", "\"i0\", 0, \"i1\", 0"),
                _ => ("", "\"lv\", 0, \"i1\", 0"),
            };
            let body = format!("{MIRROR}\n{log}mirrors = [{images}]");
            used(&lv("user", PLAIN, "", &body), &raid_parts(&["i0", "i1"]))
        }
        C::RaidImage | C::RaidMeta => {
            let name = if condition == C::RaidImage {
                "i0"
            } else {
                "m0"
            };
            let body = raid().replace(&format!("\"{name}\""), "\"lv\"");
            let parts = ["m0", "i0", "m1", "i1"].map(|part| if part == name { "x" } else { part });
            used(&lv("user", PLAIN, "", &body), &raid_parts(&parts))
        }
        C::PoolPart => pool().replace("pool_tdata", "lv"),
        C::CacheOf => {
            let (user, parts) = cache(
                "writecache",
                "writecache = \"lv\"\norigin = \"o\"",
                &raid_parts(&["o"]),
            );
            used(&user, &parts)
        }
        C::CacheOrigin => {
            let keys = "cache_pool = \"c\"\norigin = \"lv\"";
            let (user, parts) = cache("cache+CACHE_USES_CACHEVOL", keys, &raid_parts(&["c"]));
            used(&user, &parts)
        }
        C::WritecacheOrigin => {
            let keys = "writecache = \"c\"\norigin = \"lv\"";
            let (user, parts) = cache("writecache", keys, &raid_parts(&["c"]));
            used(&user, &parts)
        }
        C::IntegrityOrigin => {
            let keys = format!("origin = \"lv\"\n{CHECKSUMS}");
            let (user, parts) = cache("integrity", &keys, &raid_parts(&["c"]));
            used(&user, &parts)
        }
        _ => return None,
    })
}

/// Flags.
fn of_flag(condition: Condition) -> Option<String> {
    use Condition as C;
    Some(match condition {
        C::Spare => plain("lv_pmspare", HIDDEN, 0),
        C::FixedMinor => with_status(&format!("{PLAIN}, \"FIXED_MINOR\"")),
        C::PvmoveFlag => with_status(&format!("{HIDDEN}, \"PVMOVE\"")),
        C::Locked => with_status(&format!("{PLAIN}, \"LOCKED\"")),
        C::NotSynced => with_status(&format!("{PLAIN}, \"NOTSYNCED\"")),
        C::Rebuild => with_status(&format!("{HIDDEN}, \"REBUILD\"")),
        C::WriteMostly => with_status(&format!("{PLAIN}, \"WRITEMOSTLY\"")),
        C::ActivationSkip => with_flag("\"ACTIVATION_SKIP\""),
        C::NoAutoactivate => with_flag("\"NOAUTOACTIVATE\""),
        C::ErrorWhenFull => with_flag("\"ERROR_WHEN_FULL\""),
        C::Cachevol => with_flag("\"CACHE_VOL\""),
        C::UnknownFlag => with_flag("\"SOMETHING_NEW\""),
        C::UnknownStatus => with_status(&format!("{PLAIN}, \"SOMETHING_NEW\"")),
        _ => return None,
    })
}
