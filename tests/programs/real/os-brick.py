"""A life of a group as Cinder's LVM driver leads it, and what is refused."""

import os
import subprocess
import sys

from os_brick import exception, executor
from os_brick.local_dev import lvm
from oslo_concurrency import processutils

DISKS = [os.environ[f"DISK{number}"] for number in range(2)]


def execute(*command, run_as_root=False, root_helper=None, **options):
    """Without the daemon that gives rights: the caller is root already."""
    del run_as_root, root_helper
    return processutils.execute(*command, **options)


lvm.priv_rootwrap.execute = execute


def open_group(**options):
    return lvm.LVM("cinder-volumes", "", executor=execute, **options)


def refused(error, call, *arguments):
    try:
        call(*arguments)
    except error as what:
        return what
    raise AssertionError(f"{call} was not refused")


refused((exception.VolumeGroupNotFound, processutils.ProcessExecutionError), open_group)
# A comma between disks, as os-brick writes them, is one name to LVM2: groups of several it cannot make.
group = open_group(create_vg=True, physical_volumes=DISKS[:1])
subprocess.run(["vgextend", "-q", "cinder-volumes", DISKS[1]], check=True)
assert lvm.LVM.get_lvm_version("") >= (2, 3, 0)
group.update_volume_group_info()
assert abs(group.vg_size - 1.99) < 0.02, group.vg_size
assert len(group.get_physical_volumes()) == 2

group.create_volume("volume-1", "320m")
group.create_volume("volume-2", "128m")
# As with LVM2, unless lvm.conf has mirror_segtype_default = "mirror".
said = refused(processutils.ProcessExecutionError, group.create_volume, "mirrored", "128m", "default", 1)
assert "--mirrorlog is supported only with mirrors" in said.stderr, said
assert {lv["name"] for lv in group.get_volumes()} == {"volume-1", "volume-2"}
assert group.get_volume("volume-1") == {"vg": "cinder-volumes", "name": "volume-1", "size": "0.31"}
assert group.get_volume("nosuch") is None

subprocess.run(["mkfs.xfs", "-q", "/dev/cinder-volumes/volume-1"], check=True)
os.makedirs("mnt", exist_ok=True)
subprocess.run(["mount", "/dev/mapper/cinder--volumes-volume--1", "mnt"], check=True)
with open("mnt/file", "w", encoding="ascii") as file:
    file.write("kept")
group.create_lv_snapshot("_snapshot-1", "volume-1")
assert group.lv_has_snapshot("volume-1") and not group.lv_has_snapshot("volume-2")
with open("mnt/file", "w", encoding="ascii") as file:
    file.write("changed")
subprocess.run(["umount", "mnt"], check=True)
group.activate_lv("snapshot-1", is_snapshot=True)
subprocess.run(["mount", "-o", "ro,nouuid", "/dev/cinder-volumes/_snapshot-1", "mnt"], check=True)
with open("mnt/file", encoding="ascii") as file:
    assert file.read() == "kept"
subprocess.run(["umount", "mnt"], check=True)
group.revert("cinder-volumes/_snapshot-1")
group.deactivate_lv("volume-1")
group.activate_lv("volume-1")
assert not group.lv_has_snapshot("volume-1")
subprocess.run(["mount", "/dev/cinder-volumes/volume-1", "mnt"], check=True)
with open("mnt/file", encoding="ascii") as file:
    assert file.read() == "kept"
group.extend_volume("volume-1", "512m")
subprocess.run(["xfs_growfs", "mnt"], check=True, capture_output=True)
assert os.statvfs("mnt").f_blocks * os.statvfs("mnt").f_frsize > 400 << 20

said = refused(processutils.ProcessExecutionError, group.create_volume, "huge", "100g")
assert "insufficient free space" in said.stderr and said.exit_code == 5, said
said = refused(processutils.ProcessExecutionError, group.extend_volume, "nosuch", "100g")
assert "Failed to find logical volume" in said.stderr, said
subprocess.run(["umount", "mnt"], check=True)

group.create_lv_snapshot("_snapshot-2", "volume-1")
group.extend_volume("volume-1", "520m")
group.activate_lv("volume-1")
group.delete("_snapshot-2")
group.rename_volume("volume-2", "volume-3")
for name in ("volume-1", "volume-3"):
    group.delete(name)
assert group.get_volumes() == []
subprocess.run(["vgremove", "-q", "cinder-volumes"], check=True)
sys.exit(0)
