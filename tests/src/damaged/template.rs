//! The group that is damaged: its text, with a volume of every kind that its disks have room for.
//!
//! Each volume takes one or two extents of 1 MiB on each of its disks. Stock restores the text onto
//! new physical volumes, so that it judges it first.

use std::fmt::Write;

/// Extents on a disk of [`DISK`] bytes behind the first MiB.
pub(super) const EXTENTS: u64 = 47;
/// The size of a disk.
pub(super) const DISK: u64 = 48 << 20;
/// Where the extents begin: all metadata is in front of it.
pub(super) const HEAD: usize = 1 << 20;
/// The name of the group, and of its renamed clone.
pub(super) const GROUP: &str = "vg";
pub(super) const CLONE: &str = "vgc";

/// A text in the making.
struct Writer {
    lvs: String,
    /// The next free extent of each disk.
    next: Vec<u64>,
    count: u64,
    /// Where the logs of mirrors are: disk and extent.
    logs: Vec<(usize, u64)>,
}

/// The text of the group on so many disks.
pub(crate) fn template_of(disks: usize) -> String {
    text(disks).0
}

/// The identity of a disk's physical volume.
pub(crate) fn pv_uuid(disk: usize) -> String {
    uuid(disk as u64 + 100)
}

fn uuid(number: u64) -> String {
    let digits = format!("{number:0>32}");
    let cuts = [0, 6, 10, 14, 18, 22, 26, 32];
    let parts = cuts.windows(2).map(|cut| &digits[cut[0]..cut[1]]);
    parts.collect::<Vec<_>>().join("-")
}

/// The backup file of the group on so many disks, and where the logs of its mirrors are: disk and
/// extent.
pub(super) fn text(disks: usize) -> (String, Vec<(usize, u64)>) {
    let mut writer = Writer {
        lvs: String::new(),
        next: vec![0; disks],
        count: 1000,
        logs: Vec::new(),
    };
    writer.fill(disks);
    let mut text = format!(
        "contents = \"Text Format Volume Group\"\nversion = 1\ndescription = \"\"\n\
         creation_host = \"h\"\ncreation_time = 1700000000\n\n{GROUP} {{\nid = \"{}\"\nseqno = 5\n\
         format = \"lvm2\"\nstatus = [\"RESIZEABLE\", \"READ\", \"WRITE\"]\nflags = []\n\
         extent_size = 2048\nmax_lv = 0\nmax_pv = 0\nmetadata_copies = 0\n\nphysical_volumes {{\n",
        uuid(1)
    );
    for disk in 0..disks {
        let sectors = DISK / 512;
        write!(
            text,
            "pv{disk} {{\nid = \"{}\"\nstatus = [\"ALLOCATABLE\"]\nflags = []\n\
             dev_size = {sectors}\npe_start = 2048\npe_count = {EXTENTS}\n}}\n",
            pv_uuid(disk)
        )
        .expect("a string takes all");
    }
    write!(text, "}}\n\nlogical_volumes {{\n{}}}\n}}\n", writer.lvs).expect("a string takes all");
    (text, writer.logs)
}

impl Writer {
    fn fill(&mut self, disks: usize) {
        let last = disks - 1;
        for disk in 0..disks {
            self.linear(&format!("lin{disk}"), disk, true);
        }
        self.linear("ori", 0, true);
        self.linear("cow", last, false);
        let fields = "chunk_size = 8\norigin = \"ori\"\ncow_store = \"cow\"";
        self.volume("snapshot0", 1, "snapshot", fields, true);
        self.pool(last);
        if disks < 2 {
            return;
        }
        self.striped("str", disks);
        self.raid("r0", "raid0", 2, 2, disks);
        self.raid("r1", "raid1", 1, 2, disks);
        self.mirror("mi", None, disks);
        self.mirror("ml", Some(last), disks);
        if disks >= 3 {
            self.raid("r1x3", "raid1", 1, 3, disks);
            self.raid("r4", "raid4", 2, 3, disks);
            self.raid("r5", "raid5", 2, 3, disks);
        }
        if disks >= 4 {
            self.raid("r10", "raid10", 2, 4, disks);
        }
        if disks >= 5 {
            self.raid("r6", "raid6", 3, 5, disks);
        }
    }

    fn take(&mut self, disk: usize) -> u64 {
        self.next[disk] += 1;
        self.next[disk] - 1
    }

    fn volume(&mut self, name: &str, extents: u64, kind: &str, fields: &str, visible: bool) {
        self.count += 1;
        let status = if visible { ", \"VISIBLE\"" } else { "" };
        write!(
            self.lvs,
            "{name} {{\nid = \"{}\"\nstatus = [\"READ\", \"WRITE\"{status}]\nflags = []\n\
             segment_count = 1\nsegment1 {{\nstart_extent = 0\nextent_count = {extents}\n\
             type = \"{kind}\"\n{fields}\n}}\n}}\n",
            uuid(self.count)
        )
        .expect("a string takes all");
    }

    fn linear(&mut self, name: &str, disk: usize, visible: bool) {
        let at = self.take(disk);
        let fields = format!("stripe_count = 1\nstripes = [\"pv{disk}\", {at}]");
        self.volume(name, 1, "striped", &fields, visible);
    }

    fn striped(&mut self, name: &str, disks: usize) {
        let areas: Vec<String> = (0..disks)
            .map(|disk| format!("\"pv{disk}\", {}", self.take(disk)))
            .collect();
        let fields = format!(
            "stripe_count = {disks}\nstripe_size = 8\nstripes = [{}]",
            areas.join(", ")
        );
        self.volume(name, disks as u64, "striped", &fields, true);
    }

    fn pool(&mut self, last: usize) {
        let fields = "metadata = \"pool_tmeta\"\npool = \"pool_tdata\"\ntransaction_id = 1\n\
                      chunk_size = 128\ndiscards = \"passdown\"\nzero_new_blocks = 1";
        self.volume("pool", 1, "thin-pool", fields, true);
        let fields = "thin_pool = \"pool\"\ntransaction_id = 0\ndevice_id = 1";
        self.volume("thin", 4, "thin", fields, true);
        self.linear("lvol0_pmspare", 0, false);
        self.linear("pool_tmeta", last, false);
        self.linear("pool_tdata", 0, false);
    }

    fn mirror(&mut self, name: &str, log: Option<usize>, disks: usize) {
        let second = 1.min(disks - 1);
        let log_field = log.map_or(String::new(), |_| format!("mirror_log = \"{name}_mlog\"\n"));
        let fields = format!(
            "mirror_count = 2\n{log_field}region_size = 1024\n\
             mirrors = [\"{name}_mimage_0\", 0, \"{name}_mimage_1\", 0]"
        );
        self.volume(name, 1, "mirror", &fields, true);
        self.linear(&format!("{name}_mimage_0"), 0, false);
        self.linear(&format!("{name}_mimage_1"), second, false);
        if let Some(disk) = log {
            self.logs.push((disk, self.next[disk]));
            self.linear(&format!("{name}_mlog"), disk, false);
        }
    }

    /// On the first `images` disks, one extent of data on each.
    fn raid(&mut self, name: &str, kind: &str, data: u64, images: usize, disks: usize) {
        assert!(images <= disks, "each image is on a disk of its own");
        let pairs: Vec<String> = (0..images)
            .map(|image| match kind {
                "raid0" => format!("\"{name}_rimage_{image}\", 0"),
                _ => format!("\"{name}_rmeta_{image}\", \"{name}_rimage_{image}\""),
            })
            .collect();
        let list = pairs.join(", ");
        let stripe = if kind == "raid1" {
            ""
        } else {
            "stripe_size = 16\n"
        };
        let fields = match kind {
            "raid0" => {
                let list = list.replace(", 0", "");
                format!("stripe_count = {images}\n{stripe}raid0_lvs = [{list}]")
            }
            "raid10" => format!(
                "device_count = {images}\ndata_copies = 2\nregion_size = 1024\n{stripe}\
                 raids = [{list}]"
            ),
            _ => format!("device_count = {images}\nregion_size = 1024\n{stripe}raids = [{list}]"),
        };
        self.volume(name, data, kind, &fields, true);
        for image in 0..images {
            self.linear(&format!("{name}_rimage_{image}"), image, false);
            if kind != "raid0" {
                self.linear(&format!("{name}_rmeta_{image}"), image, false);
            }
        }
    }
}
