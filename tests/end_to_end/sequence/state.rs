//! What is on the disks, as reports say it.

use std::collections::{BTreeMap, BTreeSet};

/// One line of a report, by the names of its fields.
pub(super) type Row = BTreeMap<&'static str, String>;

/// Fields of physical volumes that are compared.
pub(super) const PV_FIELDS: &str = "\
    pv_name,pv_fmt,pv_uuid,dev_size,pv_mda_free,pv_mda_size,pv_ext_vsn,pe_start,pv_size,\
    pv_free,pv_used,pv_attr,pv_allocatable,pv_exported,pv_missing,pv_pe_count,\
    pv_pe_alloc_count,pv_tags,pv_mda_count,pv_mda_used_count,pv_ba_start,pv_ba_size,pv_in_use,\
    pv_duplicate,vg_name";
/// Fields of groups.
pub(super) const VG_FIELDS: &str = "\
    vg_name,vg_fmt,vg_uuid,vg_attr,vg_permissions,vg_extendable,vg_exported,vg_autoactivation,\
    vg_partial,vg_allocation_policy,vg_clustered,vg_shared,vg_size,vg_free,vg_systemid,\
    vg_extent_size,vg_extent_count,vg_free_count,max_lv,max_pv,pv_count,vg_missing_pv_count,\
    lv_count,snap_count,vg_seqno,vg_tags,vg_mda_count,vg_mda_used_count,vg_mda_free,\
    vg_mda_size,vg_mda_copies";
/// Fields of volumes that do not depend on a kernel driver.
pub(super) const LV_FIELDS: &str = "\
    vg_name,lv_name,lv_uuid,lv_full_name,lv_parent,lv_layout,lv_role,lv_initial_image_sync,\
    lv_allocation_policy,lv_allocation_locked,lv_fixed_minor,lv_autoactivation,lv_read_ahead,\
    lv_size,seg_count,mirror_log,lv_tags,lv_time,lv_host,lv_modules";
/// Fields of segments.
pub(super) const SEGMENT_FIELDS: &str = "\
    lv_full_name,lv_name,segtype,stripes,data_stripes,data_copies,stripe_size,region_size,\
    chunk_size,seg_start,seg_start_pe,seg_size,seg_size_pe,seg_tags,seg_pe_ranges,\
    seg_le_ranges,seg_metadata_le_ranges,devices,metadata_devices";

/// The four reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct State {
    /// Devices that are physical volumes or could become some.
    pub(super) devices: Vec<String>,
    pub(super) pvs: Vec<Row>,
    pub(super) vgs: Vec<Row>,
    pub(super) lvs: Vec<Row>,
    pub(super) segments: Vec<Row>,
}

/// A number in a report.
pub(super) fn number(row: &Row, field: &str) -> u64 {
    row[field]
        .parse()
        .unwrap_or_else(|_| panic!("{field} is a number, and not {:?}", row[field]))
}

impl State {
    /// Devices that are no physical volumes.
    pub(super) fn blank(&self) -> Vec<&str> {
        let is_pv = |device: &&String| self.pvs.iter().any(|pv| pv["pv_name"] == **device);
        let blank = self.devices.iter().filter(|device| !is_pv(device));
        blank.map(String::as_str).collect()
    }

    /// Names of physical volumes in this group; the empty name means in none.
    pub(super) fn members(&self, group: &str) -> Vec<&str> {
        let members = self.pvs.iter().filter(|pv| pv["vg_name"] == group);
        members.map(|pv| pv["pv_name"].as_str()).collect()
    }

    /// Names of members that hold nothing.
    pub(super) fn unused(&self, group: &str) -> Vec<&str> {
        let of_group = self.pvs.iter().filter(|pv| pv["vg_name"] == group);
        let unused = of_group.filter(|pv| number(pv, "pv_pe_alloc_count") == 0);
        unused.map(|pv| pv["pv_name"].as_str()).collect()
    }

    /// Groups, exported ones or the others.
    pub(super) fn groups(&self, exported: bool) -> Vec<&Row> {
        let groups = self.vgs.iter();
        groups
            .filter(|vg| (vg["vg_exported"] == "exported") == exported)
            .collect()
    }

    /// Whether any group is exported.
    pub(super) fn has_exported(&self) -> bool {
        !self.groups(true).is_empty()
    }

    /// Volumes of groups that are not exported, and not parts of others.
    pub(super) fn volumes(&self) -> Vec<&Row> {
        let open: Vec<&str> = self
            .groups(false)
            .iter()
            .map(|vg| vg["vg_name"].as_str())
            .collect();
        let volumes = self.lvs.iter().filter(|lv| !lv["lv_name"].starts_with('['));
        volumes
            .filter(|lv| open.contains(&lv["vg_name"].as_str()))
            .collect()
    }

    /// Whether there are any.
    pub(super) fn has_volumes(&self) -> bool {
        !self.volumes().is_empty()
    }

    /// The type of a volume's first segment.
    pub(super) fn segment_type(&self, volume: &Row) -> &str {
        let name = &volume["lv_full_name"];
        let mut segments = self.segments.iter();
        let segment = segments.find(|segment| segment["lv_full_name"] == *name);
        segment.map_or("", |segment| segment["segtype"].as_str())
    }

    /// The extents of every volume, parts included, by its UUID.
    pub(super) fn extents(&self) -> BTreeMap<&str, Held> {
        let mut all: BTreeMap<&str, Held> = BTreeMap::new();
        for volume in &self.lvs {
            let full_name = volume["lv_full_name"].clone();
            let mut extents = BTreeSet::new();
            let of_volume = |segment: &&Row| segment["lv_full_name"] == full_name;
            for segment in self.segments.iter().filter(of_volume) {
                for range in segment["seg_pe_ranges"].split_whitespace() {
                    extents.extend(extents_of(range));
                }
            }
            let held = Held { full_name, extents };
            all.insert(&volume["lv_uuid"], held);
        }
        all
    }
}

/// What a volume lies on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) full_name: String,
    /// Devices and extents.
    pub(super) extents: BTreeSet<Extent>,
}

/// A device, and the number of an extent.
pub(super) type Extent = (String, u64);

/// The extents of `/dev/loop3:4-7`; none of a range of another volume.
pub(super) fn extents_of(range: &str) -> Vec<Extent> {
    let numbers = |range: &str| -> Option<(u64, u64)> {
        let (first, last) = range.split_once('-')?;
        Some((first.parse().ok()?, last.parse().ok()?))
    };
    match range.split_once(':') {
        Some((device, range)) if device.starts_with('/') => {
            let (first, last) = numbers(range).unwrap_or_else(|| panic!("a range: {range}"));
            (first..=last)
                .map(|extent| (device.to_owned(), extent))
                .collect()
        }
        _ => Vec::new(),
    }
}
