//! Stock LVM2 on the stock kernel, in a machine that listens.

mod moves;

use std::fmt::Write;
use std::time::{Duration, Instant};

use tests::{Dialogue, Kernel, Outcome, sha256};

use super::model::Model;
use super::moves::Ending;
use super::rows::{FIELDS, OPTIONS, RESTING, Rows, assert_as_modelled, resting, rows};
use super::step::{Cache, Merge, Piece, Step, VG};

/// Modules that must be there, and merges that are looked at each second.
const PREPARE: &str = "
    modprobe -a dm_snapshot dm_mirror
    sed -i 's/^activation {/&\\n    polling_interval = 1/' /etc/lvm/lvm.conf
";

/// Nothing of an image is remembered that somebody else wrote since.
const FORGET: &str = "echo 3 >/proc/sys/vm/drop_caches\n";

/// Of what is being moved nothing is, before it was looked at.
const TAKE: &str = "
    poll=y
    lvs -a --noheadings -o name hand | grep -q pvmove && poll=n
    vgck hand && vgchange -ay --poll $poll hand || exit
";

/// Waits until nothing is merged any more.
const MERGED: &str = "
    is_merging() { lvs -a --noheadings -o attr hand | grep -q '^ *[SO]'; }
    count=0
    while is_merging && [ $count -lt 120 ]; do sleep 0.5; count=$((count + 1)); done
    ! is_merging
";

/// Whoever polls a merge may be about to write.
const GIVE: &str = "
    for try in $(seq 40); do vgchange -an hand && break; sleep 0.5; done
    count=0
    while pidof lvm lvconvert vgchange lvchange >/dev/null && [ $count -lt 120 ]; do
        sleep 0.5
        count=$((count + 1))
    done
    if [ -n \"$(dmsetup ls | grep -v 'No devices')\" ] || [ $count = 120 ]; then
        ps; dmsetup table; exit 1
    fi
";

/// A script that ends where something fails.
const START: &str = "set -e\n";

/// The machine.
pub(super) struct Stock {
    kernel: Box<dyn Fn() -> Kernel>,
    /// None: its power was cut.
    machine: Option<Dialogue>,
    /// How long it took to boot, and to do all that it was told.
    pub(super) boot: Duration,
    pub(super) time: Duration,
}

impl Stock {
    /// A machine that is booted when it is needed first.
    pub(super) fn new(kernel: impl Fn() -> Kernel + 'static) -> Self {
        Self {
            kernel: Box::new(kernel),
            machine: None,
            boot: Duration::ZERO,
            time: Duration::ZERO,
        }
    }

    fn machine(&mut self) -> &mut Dialogue {
        if self.machine.is_none() {
            let start = Instant::now();
            let mut machine = (self.kernel)().listen();
            machine.succeed(PREPARE);
            self.boot += start.elapsed();
            self.machine = Some(machine);
        }
        self.machine.as_mut().expect("it is booted")
    }

    fn run(&mut self, script: &str) -> Outcome {
        let outcome = self.machine().succeed(script);
        self.time += outcome.time;
        outcome
    }

    /// What `lvs` says while nothing is active.
    pub(super) fn rest(&mut self) -> Rows {
        let outcome = self.run(&format!("{FORGET}lvs -a {OPTIONS} -o {RESTING} {VG}\n"));
        resting(&outcome.output)
    }

    /// Takes the disks, looks at what is being moved, and ends that and what is being merged.
    pub(super) fn take(&mut self, model: &mut Model, ending: Ending) {
        let is_merging = !model.merging().is_empty();
        self.run(&format!("{FORGET}{TAKE}{MERGED}"));
        model.end_merges();
        if !is_merging {
            self.read(model);
        }
        self.settle(ending);
    }

    /// All volumes hold what they should.
    fn read(&mut self, model: &Model) {
        let mut script = String::from(START);
        for name in model.readable() {
            writeln!(script, "collect {name} /dev/{VG}/{name}").expect("a string takes all");
        }
        for name in model.full() {
            writeln!(
                script,
                "! dd if=/dev/{VG}/{name} of=/dev/null bs=4k count=1 2>/dev/null"
            )
            .expect("a string takes all");
        }
        let outcome = self.run(&script);
        for name in model.readable() {
            let expected = sha256(&model.volume(&name).bytes);
            let found = &outcome.collected[&name];
            assert_eq!(found.sha256, expected, "stock reads {name}");
        }
    }

    /// All volumes hold what they should; what `lvs` says.
    pub(super) fn judge(&mut self, model: &Model) -> Rows {
        self.read(model);
        let outcome = self.run(&format!("lvs {OPTIONS} -o {FIELDS} {VG}\n"));
        let rows = rows(&outcome.output);
        assert_as_modelled(&rows, model, "stock");
        rows
    }

    /// Takes a step; the size of a store that it decides.
    pub(super) fn step(&mut self, step: &Step, model: &Model) -> Option<u64> {
        match step {
            Step::Move(step) => self.move_extents(step),
            Step::Settle(ending) => self.settle(*ending),
            _ => {}
        }
        let mut script = String::from(START);
        if let Some(command) = step.command() {
            script += &Self::around(step, &command, model);
        }
        if let Some((volume, pieces, cache)) = step.writes() {
            for piece in pieces {
                script += &write(volume, piece, cache);
            }
        }
        if let Step::Flush { volume } = step {
            writeln!(
                script,
                "dd if=/dev/null of=/dev/{VG}/{volume} conv=notrunc,fsync status=none"
            )
            .expect("a string takes all");
        }
        let sized = step.sized(model);
        if let Some(name) = &sized {
            writeln!(script, "lvs {OPTIONS} -o lv_size {VG}/{name} | tail -n 1")
                .expect("a string takes all");
        }
        if script == START {
            return None;
        }
        let outcome = self.run(&script);
        sized.map(|_| size(&outcome))
    }

    /// What a command needs before and behind it.
    fn around(step: &Step, command: &str, model: &Model) -> String {
        match step {
            Step::Merge {
                snapshot,
                how: Merge::Closed,
                ..
            } => format!("{command}\n! lvs {VG}/{snapshot} >/dev/null 2>&1\n"),
            Step::Merge {
                origin,
                how: Merge::Open,
                ..
            } => format!("exec 3</dev/{VG}/{origin}\n{command} -b\nexec 3<&-\n"),
            Step::Merge {
                how: Merge::Cut, ..
            } => format!("{command} -b\n"),
            Step::Resize { name, .. } if !model.snapshots_of(name).is_empty() => {
                let volume = format!("{VG}/{name}");
                format!("lvchange -an {volume}\n{command}\nlvchange -ay {volume}\n")
            }
            _ => format!("{command}\n"),
        }
    }

    /// Lets go of the disks.
    pub(super) fn give(&mut self) -> Option<Rows> {
        self.machine.as_ref()?;
        self.run(GIVE);
        Some(self.rest())
    }
}

fn size(outcome: &Outcome) -> u64 {
    let last = outcome.text().lines().last().unwrap_or_default();
    let number = last.trim().parse();
    number.unwrap_or_else(|_| panic!("a size: {outcome}"))
}

fn write(volume: &str, piece: &Piece, cache: Cache) -> String {
    let Piece { at, len, noise } = *piece;
    let from = noise.map_or("/dev/zero", |_| "/job/noise");
    let skip = noise.unwrap_or(0);
    let to = format!("/dev/{VG}/{volume}");
    match cache {
        Cache::Direct => {
            let unit = 1 << (at | len | skip | 1 << 20).trailing_zeros();
            let (at, len, skip) = (at / unit, len / unit, skip / unit);
            format!(
                "dd if={from} of={to} bs={unit} seek={at} skip={skip} count={len} oflag=direct \
                 conv=notrunc status=none\n"
            )
        }
        Cache::Buffered => format!(
            "dd if={from} of={to} bs=64k iflag=skip_bytes,count_bytes oflag=seek_bytes \
             seek={at} skip={skip} count={len} conv=notrunc,fsync status=none\n"
        ),
    }
}
