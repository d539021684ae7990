//! What is gathered, as data.

/// Stands for the folder of the configuration.
pub(super) const SYSTEM_DIR: &str = "SYSTEM_DIR";
/// Stands for the log of processes in the background.
pub(super) const OWN_LOG: &str = "OWN_LOG";

/// What fills a file, or a part of one.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    /// A command of ours: the file, and the command's words.
    Own(&'static str, &'static [&'static str]),
    /// The same with what it warns of in the file, too.
    Both(&'static str, &'static [&'static str]),
    /// Another program: the file, and the program with its words.
    Other(&'static str, &'static [&'static str]),
    /// The last lines of a file that is there: the file, and that one.
    Tail(&'static str, &'static str),
    /// A copy of a folder or a file.
    Copy(&'static str, &'static str),
}

/// What is told in one line, and gathered then.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    /// What is told.
    pub(super) told: &'static str,
    /// What is gathered.
    pub(super) steps: &'static [Step],
}

/// `-a`: what looks at all disks.
pub(super) const ADVANCED: &[Part] = &[
    Part {
        told: "Gathering LVM volume info...",
        steps: &[],
    },
    Part {
        told: "  vgscan...",
        steps: &[Step::Both("vgscan", &["vgscan", "-vv"])],
    },
    Part {
        told: "  pvscan...",
        steps: &[Step::Own("pvscan", &["pvscan", "-v"])],
    },
    Part {
        told: "  lvs...",
        steps: &[Step::Own(
            "lvs",
            &[
                "lvs",
                "-a",
                "-H",
                "-o",
                "+devices,kernel_major,kernel_minor",
            ],
        )],
    },
    Part {
        told: "  pvs...",
        steps: &[Step::Own("pvs", &["pvs", "-a", "-o", "+major,minor", "-v"])],
    },
    Part {
        told: "  vgs...",
        steps: &[Step::Own("vgs", &["vgs", "-v"])],
    },
    Part {
        told: "  vgck...",
        steps: &[Step::Both("vgck", &["vgck"])],
    },
];

/// What is always gathered.
pub(super) const ALWAYS: &[Part] = &[
    Part {
        told: "Gathering version info...",
        steps: &[
            Step::Own("versions", &["version"]),
            Step::Other("versions", &["uname", "-a"]),
        ],
    },
    Part {
        told: "Gathering info of active volumes...",
        steps: &[
            Step::Own("owners", &["owners"]),
            Step::Own("nodes_info", &["nodes", "-a"]),
            Step::Own("nodes_table", &["nodes", "-a", "--table"]),
            Step::Own("nodes_status", &["nodes", "-a", "--status"]),
            Step::Own("nodes_tree", &["nodes", "--tree"]),
        ],
    },
    Part {
        told: "Gathering process info...",
        steps: &[Step::Other("ps_info", &["ps", "alx"])],
    },
    Part {
        told: "Gathering console messages...",
        steps: &[
            Step::Tail("messages", "/var/log/messages"),
            Step::Tail("messages", "/var/log/syslog"),
            Step::Tail("ashlar_log", OWN_LOG),
        ],
    },
    Part {
        told: "Gathering configuration...",
        steps: &[
            Step::Other("etc_lvm_listing", &["ls", "-laR", SYSTEM_DIR]),
            Step::Copy("lvm", SYSTEM_DIR),
            Step::Own("config_diff", &["lvmconfig", "--type", "diff"]),
            Step::Own("config_missing", &["lvmconfig", "--type", "missing"]),
        ],
    },
    Part {
        told: "Gathering /dev listing...",
        steps: &[Step::Other("dev_listing", &["ls", "-laR", "/dev"])],
    },
    Part {
        told: "Gathering /sys/block listing...",
        steps: &[
            Step::Other("sysblock_listing", &["ls", "-laR", "/sys/block"]),
            Step::Other(
                "sysblock_listing",
                &["ls", "-laR", "/sys/devices/virtual/block"],
            ),
        ],
    },
];

/// `-s`: the machine.
pub(super) const SYSTEM: &[Part] = &[Part {
    told: "Gathering system info...",
    steps: &[
        Step::Other("sysreport/lsblk_O", &["lsblk", "-O"]),
        Step::Other("sysreport/lsblk_s", &["lsblk", "-s"]),
        Step::Other("sysreport/mounts", &["cat", "/proc/self/mountinfo"]),
        Step::Other(
            "sysreport/journal_content",
            &["journalctl", "-b", "--no-pager", "-o", "short-precise"],
        ),
        Step::Other(
            "sysreport/systemd_ashlar_services_status",
            &[
                "systemctl",
                "status",
                "-l",
                "--no-pager",
                "-n",
                "10000",
                "-o",
                "short-precise",
                "ashlar-activation.service",
                "ashlar@*",
            ],
        ),
        Step::Other(
            "sysreport/systemd_unit_list",
            &[
                "systemctl",
                "list-units",
                "-l",
                "-a",
                "--no-legend",
                "--no-pager",
            ],
        ),
    ],
}];

/// `-u`: udev.
pub(super) const UDEV: &[Part] = &[Part {
    told: "Gathering udev info...",
    steps: &[
        Step::Other("udev/version", &["udevadm", "info", "--version"]),
        Step::Other("udev/db", &["udevadm", "info", "--export-db"]),
        Step::Copy("udev/conf", "/etc/udev/udev.conf"),
        Step::Other("udev/lib_dir", &["ls", "-la", "/lib/udev"]),
        Step::Copy("udev/rules_etc", "/etc/udev/rules.d"),
        Step::Copy("udev/rules_lib", "/lib/udev/rules.d"),
    ],
}];
