//! From the tree of one segment to a [`Segment`].

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::fields::{Fields, missing, wrong};
use crate::model::extras::{Extras, known_in, name_of};
use crate::model::flags::{Flag, TypeFlag};
use crate::model::ids::{LvId, PvId};
use crate::model::raid_level::RaidLevel;
use crate::model::segment::{
    Area, Cache, CachePool, Discards, Integrity, Mirror, Raid, RaidImage, Segment, SegmentType,
    Snapshot, SnapshotState, Striped, Thin, ThinMessage, ThinPool, Unknown, Vdo, VdoPool,
    Writecache, ZeroNewBlocks,
};
use crate::model::vg::VolumeGroup;
use crate::text::{Node, Section, Value};
use crate::{Error, Extents, Kind, Result, Sectors};

const START_KEYS: &[&str] = &[
    "start_extent",
    "extent_count",
    "reshape_count",
    "type",
    "tags",
];
const STRIPED_KEYS: &[&str] = &["stripe_count", "stripe_size", "stripes"];
const MIRROR_KEYS: &[&str] = &[
    "mirror_count",
    "extents_moved",
    "mirror_log",
    "region_size",
    "mirrors",
];
const RAID_KEYS: &[&str] = &[
    "stripe_count",
    "device_count",
    "data_copies",
    "region_size",
    "stripe_size",
    "writebehind",
    "min_recovery_rate",
    "max_recovery_rate",
    "data_offset",
    "raid0_lvs",
    "raids",
];
const SNAPSHOT_KEYS: &[&str] = &["chunk_size", "origin", "cow_store", "merging_store"];
const THIN_POOL_KEYS: &[&str] = &[
    "metadata",
    "pool",
    "transaction_id",
    "chunk_size",
    "discards",
    "zero_new_blocks",
];
const THIN_KEYS: &[&str] = &[
    "thin_pool",
    "transaction_id",
    "device_id",
    "external_origin",
    "origin",
    "merge",
];
const CACHE_POOL_KEYS: &[&str] = &["data", "metadata"];
const CACHE_KEYS: &[&str] = &["cache_pool", "origin"];
const WRITECACHE_KEYS: &[&str] = &["writecache", "origin"];
const INTEGRITY_KEYS: &[&str] = &["origin", "meta_dev"];
const VDO_POOL_KEYS: &[&str] = &["data"];
const VDO_KEYS: &[&str] = &["vdo_pool", "vdo_offset"];

/// What names in a segment stand for.
pub(super) struct Names<'a> {
    pub(super) pvs: &'a BTreeMap<&'a str, PvId>,
    pub(super) vg: &'a VolumeGroup,
}

/// The fields of a segment together with the names that they may use.
#[derive(Clone, Copy)]
struct Reader<'a> {
    section: &'a Section<'a>,
    fields: Fields<'a>,
    names: &'a Names<'a>,
}

pub(super) fn segment(section: &Section, names: &Names<'_>) -> Result<Segment> {
    let fields = Fields::new(section);
    let type_name = fields.str("type")?;
    let reader = Reader {
        section,
        fields,
        names,
    };
    let known = split_type(type_name).map(|(name, flags)| (reader.kind(name), flags));
    let (kind, keys, type_flags) = match known {
        Some((Some(known), flags)) => {
            let (kind, keys) = known?;
            (kind, keys, flags)
        }
        _ => (reader.unknown(type_name), &[][..], Vec::new()),
    };
    let is_pool = matches!(kind, SegmentType::ThinPool(_));
    let extra = if matches!(kind, SegmentType::Unknown(_)) {
        Extras::default()
    } else {
        Extras::collect(&section.nodes, |node| {
            if is_pool && is_message(node) {
                return Some("message");
            }
            known_in(START_KEYS, node).or_else(|| known_in(keys, node))
        })
    };
    Ok(Segment {
        start: Extents(u64::from(fields.u32("start_extent")?)),
        length: Extents(u64::from(fields.u32("extent_count")?)),
        reshape: Extents(u64::from(
            fields.optional_u32("reshape_count")?.unwrap_or(0),
        )),
        tags: fields.strings("tags")?,
        kind,
        type_flags,
        extra,
    })
}

/// Takes `raid5+RESHAPE` apart. `None` where a suffix is not known: then the type is not, either.
fn split_type(type_name: &str) -> Option<(&str, Vec<TypeFlag>)> {
    let mut parts = type_name.split('+');
    let name = parts.next()?;
    let flags = parts
        .map(|part| {
            TypeFlag::ALL
                .iter()
                .find(|flag| flag.name() == part)
                .copied()
        })
        .collect::<Option<Vec<_>>>()?;
    Some((name, flags))
}

fn is_message(node: &Node) -> bool {
    matches!(node, Node::Section(_)) && name_of(node).starts_with("message")
}

type Keys = &'static [&'static str];

impl Reader<'_> {
    /// The type called `name` and the keys that it has; `None` for a name that we do not know.
    fn kind(self, name: &str) -> Option<Result<(SegmentType, Keys)>> {
        let (kind, keys) = match name {
            "linear" | "striped" => (self.striped().map(SegmentType::Striped), STRIPED_KEYS),
            "zero" => (Ok(SegmentType::Zero), &[][..]),
            "error" => (Ok(SegmentType::Error), &[][..]),
            "mirror" => (self.mirror().map(SegmentType::Mirror), MIRROR_KEYS),
            "snapshot" => (self.snapshot().map(SegmentType::Snapshot), SNAPSHOT_KEYS),
            "thin-pool" => (self.thin_pool().map(SegmentType::ThinPool), THIN_POOL_KEYS),
            "thin" => (self.thin().map(SegmentType::Thin), THIN_KEYS),
            "cache-pool" => (
                self.cache_pool().map(SegmentType::CachePool),
                CACHE_POOL_KEYS,
            ),
            "cache" => (self.cache().map(SegmentType::Cache), CACHE_KEYS),
            "writecache" => (
                self.writecache().map(SegmentType::Writecache),
                WRITECACHE_KEYS,
            ),
            "integrity" => (self.integrity().map(SegmentType::Integrity), INTEGRITY_KEYS),
            "vdo-pool" => (self.vdo_pool().map(SegmentType::VdoPool), VDO_POOL_KEYS),
            "vdo" => (self.vdo().map(SegmentType::Vdo), VDO_KEYS),
            other => (
                self.raid(RaidLevel::from_name(other)?)
                    .map(SegmentType::Raid),
                RAID_KEYS,
            ),
        };
        Some(kind.map(|kind| (kind, keys)))
    }

    fn unknown(self, type_name: &str) -> SegmentType {
        let nodes = self
            .section
            .nodes
            .iter()
            .filter(|node| known_in(START_KEYS, node).is_none());
        SegmentType::Unknown(Unknown {
            type_name: type_name.to_owned(),
            nodes: owned(nodes),
        })
    }

    fn sectors(self, name: &str) -> Result<Sectors> {
        Ok(Sectors(u64::from(self.fields.u32(name)?)))
    }

    fn sectors_or_zero(self, name: &str) -> Result<Sectors> {
        Ok(Sectors(u64::from(
            self.fields.optional_u32(name)?.unwrap_or(0),
        )))
    }

    fn lv_named(self, name: &str) -> Result<LvId> {
        self.names.vg.lv_by_name(name).ok_or_else(|| {
            let shown: String = name.chars().take(48).collect();
            Error::new(
                Kind::Model,
                format!("it refers to {shown:?}, which is not there"),
            )
        })
    }

    fn lv(self, key: &str) -> Result<LvId> {
        self.lv_named(self.fields.str(key)?)
    }

    fn optional_lv(self, key: &str) -> Result<Option<LvId>> {
        self.fields
            .optional_str(key)?
            .map(|name| self.lv_named(name))
            .transpose()
    }

    /// Pairs of a name and the first extent there. `count` of them are promised.
    fn areas(self, key: &str, count: u32) -> Result<Vec<Area>> {
        let items = self.fields.list(key).ok_or_else(|| missing(key))?;
        if items.len() as u64 != 2 * u64::from(count) || count == 0 {
            return Err(wrong_count(key, u64::from(count)));
        }
        items
            .chunks_exact(2)
            .map(|pair| self.area(key, pair))
            .collect()
    }

    fn area(self, key: &str, pair: &[Value]) -> Result<Area> {
        let [Value::String(name), Value::Integer(start)] = pair else {
            return Err(wrong(key, "a list of names and extents"));
        };
        let start = u32::try_from(*start)
            .map_err(|_| Error::new(Kind::Model, format!("{key} cannot begin at {start}")))?;
        let start = Extents(u64::from(start));
        match self.names.pvs.get(name.as_ref()) {
            Some(pv) => Ok(Area::Pv { pv: *pv, start }),
            None => Ok(Area::Lv {
                lv: self.lv_named(name)?,
                start,
            }),
        }
    }

    fn striped(self) -> Result<Striped> {
        let count = self.fields.u32("stripe_count")?;
        let stripe_size = if count > 1 {
            self.sectors("stripe_size")?
        } else {
            self.sectors_or_zero("stripe_size")?
        };
        Ok(Striped {
            stripe_size,
            areas: self.areas("stripes", count)?,
        })
    }

    fn mirror(self) -> Result<Mirror> {
        let count = self.fields.u32("mirror_count")?;
        let moved = self.fields.optional_u32("extents_moved")?;
        Ok(Mirror {
            extents_moved: moved.map(|extents| Extents(u64::from(extents))),
            log: self.optional_lv("mirror_log")?,
            region_size: self.sectors_or_zero("region_size")?,
            images: self.areas("mirrors", count)?,
        })
    }

    fn raid(self, level: RaidLevel) -> Result<Raid> {
        let count = match (
            self.fields.has("device_count"),
            self.fields.has("stripe_count"),
        ) {
            (true, false) => self.fields.u32("device_count")?,
            (false, true) => self.fields.u32("stripe_count")?,
            (true, true) => {
                let context = "it has a device_count and a stripe_count; one of them is too many";
                return Err(Error::new(Kind::Model, context));
            }
            (false, false) => return Err(missing("device_count")),
        };
        let key = if level == RaidLevel::Raid0 {
            "raid0_lvs"
        } else {
            "raids"
        };
        Ok(Raid {
            level,
            data_copies: self.fields.optional_u32("data_copies")?,
            region_size: self.sectors_or_zero("region_size")?,
            stripe_size: self.sectors_or_zero("stripe_size")?,
            write_behind: self.fields.optional_u32("writebehind")?,
            min_recovery_rate: self.fields.optional_u32("min_recovery_rate")?,
            max_recovery_rate: self.fields.optional_u32("max_recovery_rate")?,
            data_offset: self.fields.optional_u64("data_offset")?.map(Sectors),
            images: self.raid_images(key, count)?,
        })
    }

    /// `["a_rmeta_0", "a_rimage_0", …]`, or the images alone.
    fn raid_images(self, key: &str, count: u32) -> Result<Vec<RaidImage>> {
        let items = self.fields.list(key).ok_or_else(|| missing(key))?;
        let count = u64::from(count);
        let per_image = match items.len() as u64 {
            0 => return Err(wrong_count(key, count)),
            len if len == count => 1,
            len if len == 2 * count => 2,
            _ => return Err(wrong_count(key, count)),
        };
        let image = |names: &[Value]| {
            let lv = |value: &Value| match value {
                Value::String(name) => self.lv_named(name),
                _ => Err(wrong(key, "a list of names")),
            };
            match names {
                [meta, data] => Ok(RaidImage {
                    meta: Some(lv(meta)?),
                    data: lv(data)?,
                }),
                [data] => Ok(RaidImage {
                    meta: None,
                    data: lv(data)?,
                }),
                _ => Err(wrong_count(key, count)),
            }
        };
        items.chunks(per_image).map(image).collect()
    }

    fn snapshot(self) -> Result<Snapshot> {
        let (cow, state) = match (
            self.optional_lv("cow_store")?,
            self.optional_lv("merging_store")?,
        ) {
            (Some(cow), None) => (cow, SnapshotState::Apart),
            (None, Some(cow)) => (cow, SnapshotState::Merging),
            (None, None) => return Err(missing("cow_store")),
            (Some(_), Some(_)) => {
                let context = "it has a cow_store and a merging_store; one of them is too many";
                return Err(Error::new(Kind::Model, context));
            }
        };
        let chunk_size = self.sectors("chunk_size")?;
        Ok(Snapshot {
            chunk_size,
            origin: self.lv("origin")?,
            cow,
            state,
        })
    }

    fn thin_pool(self) -> Result<ThinPool> {
        let discards = match self.fields.optional_str("discards")? {
            None => None,
            Some("ignore") => Some(Discards::Ignore),
            Some("nopassdown") => Some(Discards::NoPassdown),
            Some("passdown") => Some(Discards::Passdown),
            Some(_) => return Err(wrong("discards", "ignore, nopassdown or passdown")),
        };
        let zero_new_blocks = match self.fields.optional_u32("zero_new_blocks")? {
            None | Some(0) => ZeroNewBlocks::No,
            Some(_) => ZeroNewBlocks::Yes,
        };
        let messages = self.section.nodes.iter().filter(|node| is_message(node));
        Ok(ThinPool {
            metadata: self.lv("metadata")?,
            data: self.lv("pool")?,
            transaction_id: self.fields.u64("transaction_id")?,
            chunk_size: self.sectors("chunk_size")?,
            discards,
            zero_new_blocks,
            messages: messages
                .map(|node| self.message(node))
                .collect::<Result<_>>()?,
        })
    }

    fn message(self, node: &Node) -> Result<ThinMessage> {
        let Node::Section(section) = node else {
            return Err(wrong(name_of(node), "a section"));
        };
        let fields = Fields::new(section);
        if let ([Node::Value { .. }], Some(lv)) = (&section.nodes[..], fields.list("create")) {
            let [Value::String(name)] = lv else {
                return Err(wrong("create", "a name"));
            };
            return Ok(ThinMessage::Create(self.lv_named(name)?));
        }
        if let ([Node::Value { .. }], true) = (&section.nodes[..], fields.has("delete")) {
            return Ok(ThinMessage::Delete(fields.u32("delete")?));
        }
        Ok(ThinMessage::Unknown(owned(&section.nodes)))
    }

    fn thin(self) -> Result<Thin> {
        Ok(Thin {
            pool: self.lv("thin_pool")?,
            transaction_id: self.fields.u64("transaction_id")?,
            device_id: self.fields.u32("device_id")?,
            external_origin: self.optional_lv("external_origin")?,
            origin: self.optional_lv("origin")?,
            merge: self.optional_lv("merge")?,
        })
    }

    fn cache_pool(self) -> Result<CachePool> {
        Ok(CachePool {
            data: self.lv("data")?,
            metadata: self.lv("metadata")?,
        })
    }

    fn cache(self) -> Result<Cache> {
        Ok(Cache {
            pool: self.lv("cache_pool")?,
            origin: self.lv("origin")?,
        })
    }

    fn writecache(self) -> Result<Writecache> {
        Ok(Writecache {
            cache: self.lv("writecache")?,
            origin: self.lv("origin")?,
        })
    }

    fn integrity(self) -> Result<Integrity> {
        Ok(Integrity {
            origin: self.lv("origin")?,
            metadata: self.optional_lv("meta_dev")?,
        })
    }

    fn vdo_pool(self) -> Result<VdoPool> {
        Ok(VdoPool {
            data: self.lv("data")?,
        })
    }

    fn vdo(self) -> Result<Vdo> {
        let offset = Extents(u64::from(self.fields.u32("vdo_offset")?));
        Ok(Vdo {
            pool: self.lv("vdo_pool")?,
            offset,
        })
    }
}

/// Copies that outlive the text.
fn owned<'a>(nodes: impl IntoIterator<Item = &'a Node<'a>>) -> Vec<Node<'static>> {
    let nodes = nodes.into_iter();
    nodes.map(|node| node.clone().into_owned()).collect()
}

fn wrong_count(key: &str, count: u64) -> Error {
    Error::new(Kind::Model, format!("{key} does not name {count} areas"))
}
