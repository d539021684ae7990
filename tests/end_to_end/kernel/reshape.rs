//! Arrays that become others, here and on a stock kernel.
//!
//! ```text
//!   here     arrays are made and filled; a reshape begins, is left in the middle, or ends
//!   kernel   goes on from there to the end, finds parity right, and what we wrote; writes
//!   here     what it wrote is read without any disk
//! ```

use tests::{Kernel, Scratch, sha256};

use super::group::{Group, file, images, pattern};

const LIB: &str = include_str!("../../fixtures/raid/make/lib.sh");
const DISKS: usize = 6;
const MIB: u64 = 1 << 20;
/// Of each volume, before.
const SIZE: u64 = 24 * MIB;
/// Of one that shrinks, from then on.
const LEFT: u64 = 16 * MIB;

/// What is made, and what it becomes.
const CHANGES: [(&str, &str, &str); 4] = [
    ("more", "--type raid5 -i 2", "--stripes 3"),
    ("fewer", "--type raid5 -i 3", "--force --stripes 2"),
    ("chunks", "--type raid6 -i 3", "--stripesize 32k"),
    ("layout", "--type raid5 -i 3", "--type raid5_rs"),
];
/// How far it is when the kernel gets it.
const STATES: [&str; 3] = ["begun", "halfway", "ended"];

const BOOT: &str = r"
must vgchange -ay ours
say dmsetup status --target raid
for name in $volumes; do
    in_sync ours/$name
done
say dmsetup status --target raid
say dmsetup table --target raid
for name in $volumes; do
    case $name in
        fewer*) hand_over read_$name /dev/ours/$name $left ;;
        *) hand_over read_$name /dev/ours/$name $sectors ;;
    esac
    lvchange --syncaction check ours/$name
done
sleep 2
for name in $volumes; do
    in_sync ours/$name
    echo mismatches $name $(lvs --noheadings -o raid_mismatch_count,lv_health_status ours/$name)
    put /job/second ours/$name 0
done
lvs -a -o lv_name,lv_attr,lv_size,segtype,stripes,reshape_len_le,data_offset,new_data_offset ours
must vgchange -an ours
";

/// What a volume holds of the first bytes that it held before; what it gained holds what nobody
/// wrote.
fn read(group: &Group, name: &str, len: usize) -> Vec<u8> {
    let mut held = group.read(name);
    held.truncate(len);
    held
}

#[test]
fn the_kernel_ends_what_was_begun_here() {
    // Proves, in one boot: an array whose reshape we began, or left in the middle, the kernel moves
    // to the end, as it does one that we ended; it reads what we wrote and finds no parity wrong;
    // what it writes then we read, without any disk.
    let scratch = Scratch::new("kernel-reshape");
    let first = pattern("first", SIZE);
    let path = file(&scratch, "first", &first);
    let disks = images(&scratch, "ours", DISKS, 384);
    let ours = Group::create("ours", disks.clone());
    let mut volumes = Vec::new();
    for (change, made, reshape) in CHANGES {
        for state in STATES {
            let name = format!("{change}_{state}");
            ours.volume(&name, &format!("{made} -l 24"));
            ours.fill(&name, &path);
            ours.bring_in_sync(&name);
            ours.change(&format!("lvconvert {reshape}"), &name);
            match state {
                "begun" => {}
                "halfway" => ours.move_some(&name),
                _ => ours.bring_in_sync(&name),
            }
            let mut held = first.clone();
            held.truncate(if change == "fewer" { LEFT } else { SIZE } as usize);
            volumes.push((name, held));
        }
    }
    let names: Vec<&str> = volumes.iter().map(|(name, _)| &**name).collect();
    let second = pattern("second", SIZE / 2);
    let outcome = Kernel::new("reshape")
        .disks(disks.iter())
        .file("second", &second)
        .succeed(&format!(
            "{LIB}volumes='{}'\nsectors={}\nleft={}\n{BOOT}",
            names.join(" "),
            SIZE / 512,
            LEFT / 512,
        ));
    for (name, held) in &mut volumes {
        let found = &outcome.collected[&format!("read_{name}")];
        assert_eq!(found.sha256, sha256(held), "{name}: {outcome}");
        let line = format!("mismatches {name} 0");
        let mut said = outcome.text().lines();
        assert!(said.any(|said| said.trim() == line), "{line}: {outcome}");
        held[..second.len()].copy_from_slice(&second);
    }
    for (name, held) in &volumes {
        let found = read(&ours, name, held.len());
        assert!(found == *held, "{name}, written by the kernel");
        ours.bring_in_sync(name);
    }
    for away in 0..DISKS {
        let mut rest = disks.clone();
        rest.remove(away);
        let rest = Group::on("ours", rest);
        for (name, held) in &volumes {
            let found = read(&rest, name, held.len());
            assert!(found == *held, "{name}, without disk {away}");
        }
    }
}
