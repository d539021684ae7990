//! LVM2's commands that are not there, and what to do instead.
//!
//! A script that calls one of them must fail, and whoever reads the message must be able to go on:
//! so each has a sentence of its own. The name of another command is never guessed for one of
//! these, also where the program was called by such a name through a link. `dispatch` asks here
//! before it looks for what was probably meant.

use crate::args::Error;

/// A command of LVM2's that does not exist here.
struct Absent {
    /// All names that it has.
    names: &'static [&'static str],
    /// What to do instead, as whole sentences.
    instead: &'static str,
}

const ABSENT: &[Absent] = &[
    Absent {
        names: &["vgimportclone"],
        instead: "Let only the copies be seen, and give them new identities: \
            'ashlar pvchange --uuid --all --devices COPIES', \
            'ashlar vgchange --uuid --devices COPIES VG', \
            'ashlar vgrename --devices COPIES VG NEW-NAME'.",
    },
    Absent {
        names: &["lvmdevices", "vgimportdevices"],
        instead: "pvcreate, vgcreate and vgextend add what they name to the devices file, pvremove \
            and pvchange -u keep it up to date; other entries are edited as text, and the other \
            commands refuse what it lacks. '--devices DEVICE' names devices for one command, and \
            '--devicesfile \"\"' does without the file.",
    },
    Absent {
        names: &["lvmconfig", "dumpconfig", "config"],
        instead: "The settings are in lvm.conf in /etc/lvm, or in the directory that \
            LVM_SYSTEM_DIR names; --config overrides them for one command.",
    },
    Absent {
        names: &["fullreport"],
        instead: "'ashlar pvs', 'ashlar vgs' and 'ashlar lvs', each with --reportformat json, \
            report the same, one kind of object at a time.",
    },
    Absent {
        names: &["lastlog"],
        instead: "No log of the last command is kept; -v shows what a command decides.",
    },
    Absent {
        names: &["lvmdiskscan"],
        instead: "'ashlar pvs -a' lists all devices, with and without a label.",
    },
    Absent {
        names: &["vgmknodes"],
        instead: "'ashlar attach VG/LV' gives a volume a device node, and 'ashlar owners' lists \
            those there are.",
    },
    Absent {
        names: &["segtypes"],
        instead: "'ashlar lvcreate --help' names the types that can be made; 'ashlar lvs -o \
            +segtype' shows those that a group uses.",
    },
    Absent {
        names: &["formats"],
        instead: "There is one format, lvm2; see 'ashlar vgs -o +vg_fmt'.",
    },
    Absent {
        names: &["devtypes"],
        instead: "devices/types in lvm.conf adds types of devices.",
    },
    Absent {
        names: &["tags"],
        instead: "Tags of hosts are not used here; 'ashlar vgs -o +vg_tags', 'ashlar lvs -o \
            +lv_tags' and 'ashlar pvs -o +pv_tags' show those of objects.",
    },
    Absent {
        names: &["systemid"],
        instead: "global/system_id_source in lvm.conf says where this host's system ID comes from; \
            'ashlar vgs --foreign -o +vg_systemid' shows those of groups.",
    },
    Absent {
        names: &["lvpoll", "lvmpolld", "dmeventd"],
        instead: "Nothing is polled or monitored: the process that serves a volume also brings its \
            copies in sync.",
    },
    Absent {
        names: &["pvdata"],
        instead: "'ashlar pvck --dump headers DEVICE' shows what is on a device.",
    },
    Absent {
        names: &["vgconvert"],
        instead: "The old format lvm1 is neither read nor converted.",
    },
    Absent {
        names: &["fsadm"],
        instead: "Use the file system's own tools (e2fsck, resize2fs, xfs_growfs, btrfs) on an \
            attached volume.",
    },
    Absent {
        names: &["lvmdump"],
        instead: "'ashlar pvs -a -v', 'ashlar vgs -v', 'ashlar lvs -a -v' and 'ashlar pvck --dump \
            headers DEVICE' show what a report of an error needs.",
    },
    Absent {
        names: &["lvmlockctl", "lvmlockd", "lvm_import_vdo", "blkdeactivate"],
        instead: "Use LVM2 for this.",
    },
    Absent {
        names: &["lvmchange", "lvmsadc", "lvmsar"],
        instead: "LVM2 gave it up, too.",
    },
];

/// What to say of `name`, if it is a command of LVM2's that is not there.
pub(super) fn refusal(name: &str) -> Option<Error> {
    let absent = ABSENT.iter().find(|absent| absent.names.contains(&name))?;
    Some(Error::no_such_command(format!(
        "{name} of LVM2 is not there yet, and nothing was done.  {}",
        absent.instead
    )))
}

#[cfg(test)]
mod tests;
