//! Reports and displays, byte by byte against stock LVM2 on the same disks.
//!
//! Stock runs here without its kernel driver and then prints what it cannot know as `X` or
//! `unknown`. With a driver it shows a volume that is not active with a `-` or nothing, and so
//! does Ashlar: `as_inactive` makes that of stock's output before the two are compared.

use std::path::Path;
use std::sync::Arc;

use tests::{Access, Finished, Golden, LoopDevice, RaidSet, Scratch, Stock, Tool, ashlar};

/// Loop devices over disks, and stock on them.
pub(super) struct Bench {
    loops: Vec<LoopDevice>,
    stock: Stock,
    _golden: Option<Arc<Golden>>,
    _set: Option<Arc<RaidSet>>,
    _scratch: Option<Scratch>,
}

impl Bench {
    /// The golden volume group.
    fn golden() -> Self {
        let golden = Golden::shared();
        let attach = |image: &std::path::PathBuf| LoopDevice::attach(image, Access::ReadOnly);
        let loops: Vec<LoopDevice> = golden.images().iter().map(attach).collect();
        let stock = Stock::on(&loops);
        Self {
            loops,
            stock,
            _golden: Some(golden),
            _set: None,
            _scratch: None,
        }
    }

    /// Groups with everything that the golden one has not: an unused disk, disks with no and with
    /// two metadata areas, tags, an exported group, a missing disk, volumes with settings.
    fn mixed() -> Self {
        let scratch = Scratch::new("reports");
        let mib = |count: u64| count << 20;
        let sizes = [
            mib(60),
            mib(67),
            50_765_312,
            mib(81),
            mib(88),
            mib(95),
            mib(102),
        ];
        let mut loops: Vec<LoopDevice> = sizes
            .iter()
            .enumerate()
            .map(|(index, size)| scratch.sparse(&format!("p{index}.img"), *size))
            .map(|path| LoopDevice::attach(&path, Access::ReadWrite))
            .collect();
        let paths: Vec<String> = loops
            .iter()
            .map(|device| device.path().display().to_string())
            .collect();
        let maker = Stock::on(&loops);
        for line in MIXED {
            let mut words = line
                .split_whitespace()
                .map(|word| match word.strip_prefix('%') {
                    Some(index) => paths[index.parse::<usize>().expect("an index")].clone(),
                    None => word.to_owned(),
                });
            let name = words.next().expect("a command");
            maker.without_driver(&name).args(words).succeed();
        }
        // The last disk goes missing.
        loops.pop();
        let stock = Stock::on(&loops);
        Self {
            loops,
            stock,
            _golden: None,
            _set: None,
            _scratch: Some(scratch),
        }
    }

    /// A group with every segment type and most optional keys, restored from a text by stock.
    fn every_type() -> Self {
        let scratch = Scratch::new("reports");
        let text = std::path::PathBuf::from(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/fixtures/texts/vgx-backup.txt"
        ));
        let known = std::fs::read_to_string(&text).expect("the text");
        // The first UUID is the group's, the next ones are the disks'.
        let uuids = known
            .lines()
            .filter_map(|line| line.trim().strip_prefix("id = \""));
        let uuids: Vec<&str> = uuids
            .map(|uuid| uuid.trim_end_matches('"'))
            .skip(1)
            .take(3)
            .collect();
        let loops: Vec<LoopDevice> = (0..uuids.len())
            .map(|index| scratch.sparse(&format!("p{index}.img"), 1 << 30))
            .map(|path| LoopDevice::attach(&path, Access::ReadWrite))
            .collect();
        let stock = Stock::on(&loops);
        for (uuid, device) in uuids.iter().zip(&loops) {
            stock
                .without_driver("pvcreate")
                .args(["--uuid", uuid, "--restorefile"])
                .arg(&text)
                .arg(device.path())
                .succeed();
        }
        stock
            .without_driver("vgcfgrestore")
            .arg("-f")
            .arg(&text)
            .args(["--force", "vgx"])
            .succeed();
        Self {
            loops,
            stock,
            _golden: None,
            _set: None,
            _scratch: Some(scratch),
        }
    }

    /// The disks with RAID arrays of this set, but for those with these numbers.
    pub(super) fn raid(set: &Arc<RaidSet>, without: &[usize]) -> Self {
        let disks = set.images().into_iter().enumerate();
        let loops: Vec<LoopDevice> = disks
            .filter(|(number, _)| !without.contains(number))
            .map(|(_, image)| LoopDevice::attach(&image, Access::ReadOnly))
            .collect();
        let stock = Stock::on(&loops);
        Self {
            loops,
            stock,
            _golden: None,
            _set: Some(Arc::clone(set)),
            _scratch: None,
        }
    }

    fn devices(&self) -> String {
        let paths = self
            .loops
            .iter()
            .map(|device| device.path().display().to_string());
        paths.collect::<Vec<_>>().join(",")
    }

    fn ashlar(&self, words: &[&str]) -> Tool {
        ashlar().args(["--devices", &self.devices()]).args(words)
    }

    /// What stock and what Ashlar make of a command.
    pub(super) fn both(&self, line: &str) -> (Finished, Finished) {
        // A blank in a setting would end the word.
        let words: Vec<String> = line
            .split_whitespace()
            .map(|word| match word.split_once('{') {
                Some(_) if word.ends_with('}') && !word.contains("||") => word.replace(';', " "),
                _ => word.to_owned(),
            })
            .collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let stock = self.stock.without_driver(words[0]).args(&words[1..]).run();
        (stock, self.ashlar(&words).run())
    }

    /// Both programs print the same and end with the same status.
    pub(super) fn compare(&self, line: &str) {
        let (stock, ours) = self.both(line);
        let words: Vec<&str> = line.split_whitespace().collect();
        let (expected, found) = (
            as_inactive(&stock.text()),
            without_state(words[0], &ours.text()),
        );
        for (number, (expected, found)) in expected.lines().zip(found.lines()).enumerate() {
            assert_eq!(found, expected, "line {} of {line}", number + 1);
        }
        assert_eq!(found, expected, "{line}");
        assert_eq!(
            ours.code,
            stock.code,
            "the exit status of {line}: {}",
            ours.complaints()
        );
    }
}

const MIXED: &[&str] = &[
    "pvcreate %0",
    "pvcreate --pvmetadatacopies 0 --bootloaderareasize 1m %1",
    "pvcreate --pvmetadatacopies 2 %2",
    "vgcreate --addtag x/y -s 4m va %1 %2 %3",
    "pvchange --addtag ssd --addtag a1 %2",
    "pvchange -xn %3",
    "lvcreate -an -Zn -Wn -y -l3 -n ro -pr va",
    "lvcreate -an -Zn -Wn -y -l2 --alloc contiguous -n cont --addtag t2 --addtag t1 va",
    "lvcreate -an -Zn -Wn -y -l4 -i2 -n str va",
    "lvcreate -an -Zn -Wn -y -l1 -n fm va",
    "lvchange -y -My --major 254 --minor 77 va/fm",
    "lvchange -r 8 va/cont",
    "lvchange -r 0 va/str",
    "lvchange -ky va/ro",
    "lvchange --setautoactivation n va/cont",
    "lvcreate -an --type zero -l2 -n zz va",
    "lvcreate -an --type error -l2 -n ee va",
    "vgcreate -s 64k --maxlogicalvolumes 5 -p 9 vexp %4",
    "lvcreate -an -Zn -Wn -y -l3 -n dash-ed vexp",
    "vgexport vexp",
    "vgcreate vmis %5 %6",
    "lvcreate -an -Zn -Wn -y -l30 -n big vmis",
];

/// What stock would have printed with its driver, none of the volumes being active.
pub(super) fn as_inactive(text: &str) -> String {
    // A remark about a device number of a volume's own choice, on standard output of all places.
    let remark = |line: &&str| !line.starts_with("  Ignoring supplied major");
    text.lines()
        .filter(remark)
        .map(|line| inactive_line(line) + "\n")
        .collect()
}

fn inactive_line(line: &str) -> String {
    let mut line = line.to_owned();
    for field in ["", "_locally", "_remotely", "_exclusively"] {
        let name = format!("\"lv_active{field}\":");
        line = line.replace(&format!("{name}\"unknown\""), &format!("{name}\"\""));
    }
    line = line.replace(
        "\"lv_health_status\":\"unknown\"",
        "\"lv_health_status\":\"\"",
    );
    let permissions = "\"lv_permissions\":\"writeable\"";
    line = line.replace(permissions, "\"lv_permissions\":\"unknown\"");
    // The ten letters of lv_attr: state and open at 4 and 5, health at 8.
    let mut bytes = line.into_bytes();
    let is_attr = |word: &[u8]| {
        let fits = word.iter().all(|b| b.is_ascii_alphabetic() || *b == b'-');
        fits && &word[4..6] == b"XX" && matches!(word[1], b'w' | b'r' | b'-')
    };
    for start in 0..bytes.len().saturating_sub(9) {
        let free = |at: Option<&u8>| at.is_none_or(|b| !b.is_ascii_alphanumeric() && *b != b'-');
        let before = start.checked_sub(1).and_then(|at| bytes.get(at));
        if free(before) && free(bytes.get(start + 10)) && is_attr(&bytes[start..start + 10]) {
            bytes[start + 4] = b'-';
            bytes[start + 5] = b'-';
            if bytes[start + 8] == b'X' {
                bytes[start + 8] = b'-';
            }
        }
    }
    String::from_utf8(bytes).expect("the text of before")
}

/// Without its driver stock leaves the line about the state out of displays.
fn without_state(command: &str, text: &str) -> String {
    let state = "  LV Status              NOT available";
    let shows_state = matches!(command, "lvdisplay" | "vgdisplay");
    let keep = |line: &&str| !(shows_state && *line == state);
    text.lines()
        .filter(keep)
        .map(|line| line.to_owned() + "\n")
        .collect()
}

/// Commands that both understand, whatever the groups.
pub(super) const EVERYWHERE: &[&str] = &[
    "pvs",
    "pvs -v",
    "pvs --segments",
    "pvs --segments -v",
    "pvs -o pv_all",
    "pvs -o pv_all,vg_all --reportformat json",
    "pvs --units k -o+pv_used,pe_start,pv_ba_size,pv_mda_free",
    "pvs --binary -o+pv_allocatable,pv_missing,pv_in_use,pv_exported",
    "pvs -o name,lv_name -O -lv_name,pv_name",
    "vgs",
    "vgs -v",
    "vgs -o vg_all",
    "vgs -o+lv_name,lv_size",
    "vgs -o+pv_name",
    "vgs -o+devices",
    "vgs --units b",
    "vgs --units R",
    "vgs --units 3M",
    "vgs --units s --nosuffix",
    "vgs nosuch",
    "lvs",
    "lvs -a",
    "lvs -v",
    "lvs --segments",
    "lvs -a --segments -v",
    "lvs -a -o+segtype,stripes,stripesize,devices,lv_uuid,seg_pe_ranges",
    "lvs -a -o lv_all --reportformat json",
    "lvs -a -o all --reportformat json",
    "lvs --segments -o all --reportformat json",
    "vgs -o all,lv_name --reportformat json",
    "vgs -O -vg_name --unbuffered",
    "pvs --configreport pvseg -o pv_name",
    "lvs --segments --configreport lv -o lv_name",
    "lvs -a -o lv_name,seg_all",
    "lvs -o lv_name,lv_size,lv_tags,lv_major --unbuffered",
    "lvs -o lv_name,lv_size,lv_tags --nameprefixes",
    "lvs -o lv_name,lv_size,lv_tags --nameprefixes --unquoted --noheadings",
    "lvs -o lv_name,lv_size,lv_tags --rows",
    "lvs -o lv_name,lv_size,lv_tags --separator :",
    "lvs -o lv_name,lv_size,lv_tags --separator : --aligned",
    "lvs -o #lv_tags,pool_lv,origin",
    "lvs -O -lv_size,lv_name",
    "lvs -S lv_size>8m&&lv_name=~^r|^s",
    "lvs -a -S lv_role={private||origin} -o+lv_role",
    "lvs -o+selected -S lv_size>8m",
    "lvs -o lv_name -S lv_size=1k --reportformat json",
    "lvs nosuch",
    "lvs --units z",
    "lvs --nosuch",
    "lvs -o nosuch",
    "lvs -o+pv_name",
    "lvdisplay",
    "lvdisplay -a -m",
    "lvdisplay -c",
    "lvdisplay -C",
    "lvdisplay --units k",
    "vgdisplay",
    "vgdisplay -v",
    "vgdisplay -c",
    "vgdisplay -s",
    "pvdisplay",
    "pvdisplay -m",
    "pvdisplay -c",
    "pvdisplay -s",
    "pvscan",
    "pvscan -u",
    "pvscan -s",
    "pvscan -n",
    "pvscan -e",
    "vgscan",
    "lvscan",
];

/// A full report with columns of one's own.
const FULL: &str = "fullreport --configreport vg -o vg_name --configreport lv -S lv_size>8m \
    -o lv_name -O -lv_name --configreport seg -o seg_start,lv_name";

/// Commands whose output the configuration shapes.
const SHAPED: &[&str] = &[
    "vgs --config log/prefix=\"\"",
    "vgs -o+lv_name --config log/prefix=\"=\"",
    "vgs --reportformat json --config log/prefix=\"\"",
    "vgdisplay --config log/prefix=\"\"",
    "pvdisplay -m --config log/prefix=\"\"",
    "vgs --config report/headings=0",
    "vgs --config report/aligned=0",
    "vgs --config report/separator=\":\"",
    "vgs --config report/separator=\":\" --separator ;",
    "lvs -o+lv_tags --config report/prefixes=1",
    "lvs -o+lv_tags --config report{prefixes=1;quoted=0}",
    "lvs --rows --nameprefixes --config report/quoted=0",
    "vgs --config report/columns_as_rows=1",
    "lvs -a --config report/buffered=0",
    "lvs --config report/compact_output=1",
    "lvs -a -o+lv_tags --config report/compact_output_cols=\"origin,lv_tags,data_percent\"",
    "lvs -o+lv_tags -o#origin --config report/compact_output_cols=\"lv_tags\"",
    "lvs --reportformat json --config report/compact_output=1",
    "vgs --config global/units=\"b\"",
    "vgdisplay --config global{units=\"k\";suffix=0}",
    "lvscan --config global{units=\"m\";suffix=0}",
    "pvs --config global{units=\"m\";suffix=0}",
    "pvs --config global/suffix=0",
    "pvs --nosuffix",
    "pvdisplay --nosuffix --units s",
    "pvs --units k --config global/units=\"m\"",
    "vgs --config report/output_format=\"json\"",
    "vgs --reportformat basic --config report/output_format=\"json\"",
    "pvs --config report/pvs_cols=\"pv_name,pv_tags\"",
    "pvs -o+pv_size --config report/pvs_cols=\"pv_name,pv_tags\"",
    "pvs -v --config report/pvs_cols=\"pv_name\"",
    "pvs -v --config report/pvs_cols_verbose=\"pv_name,vg_name\"",
    "lvs --segments --config report/segs_cols=\"lv_name,seg_size\"",
    "lvs --config report/lvs_sort=\"-lv_size,lv_name\"",
    "lvs -O lv_name --config report/lvs_sort=\"-lv_size\"",
    "pvs --segments --config report/pvsegs_sort=\"-pvseg_size,pv_name\"",
    "pvs -o+pv_missing --config report/binary_values_as_numeric=1",
    "lvs -a -o lv_name,lv_tags --config report/list_item_separator=\";\"",
    "lvs -a -o lv_name,devices --config report/mark_hidden_devices=0",
    "lvs -o lv_name,lv_time --config report/time_format=\"%A|%e|%B|%G-W%V|%I:%M:%S%P|%s|%z|%Z\"",
    "lvs -o lv_time -O lv_time -S lv_time>=2020 --config report/time_format=\"%d.%m.%y\"",
    "lvdisplay --config report/time_format=\"%s\"",
    "pvs -a --config report/two_word_unknown_device=1",
    "lvs -a -o lv_name,devices --config report/two_word_unknown_device=1",
    "devtypes --config report/devtypes_cols=\"devtype_name\"",
    "vgs --configreport vg -o vg_name --configreport pv -o nosuch",
    "vgs --configreport pv -o nosuch",
    "pvs -o pv_name,vg_name --configreport lv -S lv_name=x",
    "lvmdiskscan",
    "lvmdiskscan -l --units b",
    "lvmdiskscan x",
    "fullreport --reportformat json",
    "fullreport -a --reportformat json",
    "fullreport -o nosuch --reportformat json",
    FULL,
    "fullreport --config report{vgs_cols_full=\"vg_name\";lvs_cols_full=\"lv_name\"} --units b",
    "fullreport nosuch",
];

/// What the configuration says of reports shapes them as it does stock's.
#[test]
fn reports_are_shaped_by_the_configuration() {
    for bench in [Bench::golden(), Bench::mixed()] {
        for line in SHAPED {
            bench.compare(line);
        }
    }
}

/// Units that are none, and a form that there is not, are refused in stock's words.
#[test]
fn wrong_settings_of_reports_are_refused() {
    let bench = Bench::golden();
    for (line, words) in [
        (
            "vgs --config global/units=\"<\"",
            "Unrecognised configuration setting for global/units: <",
        ),
        (
            "vgs --config report/output_format=\"x\"",
            "x: unknown report format.",
        ),
        (
            "vgs --config report/time_format=\"%Q\"",
            "Invalid time format \"%Q\" supplied.\n  Updated config file invalid. Aborting.",
        ),
        ("fullreport --configreport x", "--configreport: x"),
        ("vgs --config report/vgs_cols=\"nosuch\"", "nosuch"),
    ] {
        let (stock, ours) = bench.both(line);
        assert_eq!(ours.code, stock.code, "{ours}\n{stock}");
        assert_ne!(ours.code, Some(0), "{ours}");
        for ended in [stock, ours] {
            assert!(ended.complaints().contains(words), "{ended}");
        }
    }
}

/// Every report and display of the golden group is stock's, byte by byte.
#[test]
fn the_golden_group_is_reported_as_stock_reports_it() {
    let bench = Bench::golden();
    let own = [
        "lvs vg0/ext4 vg0/nope",
        "lvs @golden",
        "lvs @set.a",
        "vgs @set.a",
        "lvs /dev/vg0/ext4 vg0/raid1_rimage_0",
    ];
    for line in EVERYWHERE.iter().chain(&own) {
        bench.compare(line);
    }
}

/// So is everything that the golden group has not.
#[test]
fn unusual_groups_are_reported_as_stock_reports_them() {
    let bench = Bench::mixed();
    let own = [
        "pvs @ssd",
        "lvs @t1",
        "lvs va/str -o+devices",
        "lvs vexp",
        "vgs vexp",
        "lvdisplay vexp",
        "lvdisplay va/fm",
        "pvs nosuch",
    ];
    for line in EVERYWHERE.iter().chain(&own) {
        bench.compare(line);
    }
}

/// So is every segment type that there is, those that are not served included.
#[test]
fn every_segment_type_is_reported_as_stock_reports_it() {
    let bench = Bench::every_type();
    // Without its driver stock does not say which image of a RAID is write-mostly.
    let says_attr = |line: &&&str| line.starts_with("lvs -a") && !line.contains("seg_all");
    for line in EVERYWHERE.iter().filter(|line| !says_attr(line)) {
        bench.compare(line);
    }
    bench.compare("lvs -a -o lv_name,segtype,stripes,stripesize,devices,lv_uuid,seg_pe_ranges");
    bench.compare(
        "lvs -a -o lv_name,lv_parent,lv_layout,lv_role,lv_path,lv_modules,origin,origin_size,\
         origin_uuid,lv_ancestors,lv_descendants,lv_full_ancestors,lv_full_descendants,data_lv,\
         metadata_lv,lv_metadata_size,pool_lv,mirror_log,move_pv,lv_read_ahead,lv_merging,\
         lv_initial_image_sync,lv_when_full,raid_write_behind,raid_min_recovery_rate,\
         raid_max_recovery_rate,raidintegritymode,raidintegrityblocksize,writecache_block_size,\
         lv_tags,lv_profile,lv_host,lv_time,lv_major,lv_minor",
    );
}

/// A folder of images is as good as devices; they are named by their paths.
#[test]
fn a_folder_of_images_is_enough() {
    let golden = Golden::shared();
    let folder: &Path = golden.folder();
    let report = ashlar()
        .arg("--devices")
        .arg(folder)
        .args(["pvs", "--noheadings", "-o", "pv_name,pv_free"])
        .succeed();
    let mut lines = report
        .text()
        .lines()
        .map(str::trim)
        .map(str::to_owned)
        .collect::<Vec<_>>();
    lines.sort();
    let expected: Vec<String> = ["4.00m", "45.00m", "65.00m", "80.00m", "87.00m"]
        .iter()
        .zip(golden.images())
        .map(|(free, image)| format!("{} {free}", image.display()))
        .collect();
    let squeezed: Vec<String> = lines
        .iter()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(squeezed, expected);
}

/// Strict JSON has numbers where the text is one, and arrays.
#[test]
fn strict_json() {
    let report = Bench::golden()
        .ashlar(&[
            "lvs",
            "--reportformat",
            "json_std",
            "--units",
            "b",
            "--nosuffix",
        ])
        .args([
            "-o",
            "lv_name,lv_size,lv_tags,lv_major,origin_size",
            "vg0/linear1",
        ])
        .succeed();
    let row = "{\"lv_name\":\"linear1\", \"lv_size\":8388608, \"lv_tags\":[\"golden\"], \
               \"lv_major\":-1, \"origin_size\":null}";
    assert!(report.text().contains(row), "{}", report.text());
}

/// The binary answers under the name of a command, behind `lvm`, and to options in front.
#[test]
fn a_command_has_many_names() {
    let golden = Golden::shared();
    let folder = golden.folder().display().to_string();
    let scratch = Scratch::new("names");
    let link = scratch.join("vgs");
    let binary = ashlar().shown();
    let binary = binary.split_whitespace().next().expect("the program");
    std::os::unix::fs::symlink(binary, &link).expect("a link");
    let words = ["--noheadings", "-o", "vg_name"];
    let linked = Tool::new(&link)
        .args(["--devices", &folder])
        .args(words)
        .succeed();
    let behind = ashlar()
        .args(["lvm", "vgs", "--devices", &folder])
        .args(words)
        .succeed();
    let by_variable = ashlar()
        .env("ASHLAR_DEVICES", &folder)
        .args(["--verbose", "vgs"])
        .args(words)
        .succeed();
    for report in [linked, behind, by_variable] {
        assert_eq!(report.text(), "  vg0\n");
    }
    let complaints = ashlar().arg("vgz").exit(2).complaints();
    assert!(complaints.contains("did you mean"), "{complaints}");
}
