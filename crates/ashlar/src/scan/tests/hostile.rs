//! Random damage, with and without checksums that fit, to one disk of five.

use lvm2::ondisk::checksum;

use crate::activate::{Activator, Options};
use crate::history::history;
use crate::host::Host;
use crate::scan::{FindingKind, Severity};
use crate::tests::fixture::{Folder, heads, texts};

/// A small generator (xorshift64*), so that a failing seed can be run again.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    /// A number of the kind that breaks arithmetic.
    fn nasty(&mut self) -> u64 {
        const NUMBERS: [u64; 8] = [0, 1, 511, 512, 1 << 20, 1 << 32, u64::MAX - 511, u64::MAX];
        NUMBERS[self.below(NUMBERS.len())].wrapping_add(self.next() % 3)
    }
}

const LABEL: usize = 512;
const AREA: usize = 4096;

/// Damages a disk's head in one of several ways.
fn damage(head: &mut [u8], random: &mut Random) {
    match random.below(6) {
        0 => {
            for _ in 0..=random.below(64) {
                let at = random.below(head.len());
                head[at] = random.next() as u8;
            }
        }
        1 => {
            let start = random.below(head.len());
            let len = random.below(16384).min(head.len() - start);
            head[start..start + len].fill([0, 0xff, b'{', b'"'][random.below(4)]);
        }
        2 => {
            // A header whose lists and sizes lie, with a checksum that fits.
            let at = LABEL + 32 + 8 * random.below(25);
            head[at..at + 8].copy_from_slice(&random.nasty().to_le_bytes());
            let sum = checksum(&head[LABEL + 20..LABEL + 512]);
            head[LABEL + 16..LABEL + 20].copy_from_slice(&sum.to_le_bytes());
        }
        3 => {
            // An area header that points anywhere, with a checksum that fits.
            let at = AREA + 24 + 8 * random.below(8);
            head[at..at + 8].copy_from_slice(&random.nasty().to_le_bytes());
            fix_area(head);
        }
        _ => change_text(head, random),
    }
}

fn fix_area(head: &mut [u8]) {
    let sum = checksum(&head[AREA + 4..AREA + 512]);
    head[AREA..AREA + 4].copy_from_slice(&sum.to_le_bytes());
}

/// Changes bytes or numbers of the live text and makes its checksums fit again.
fn change_text(head: &mut [u8], random: &mut Random) {
    let field = |at: usize| u64::from_le_bytes(head[at..at + 8].try_into().expect("8 bytes"));
    let (offset, size) = (field(AREA + 40) as usize, field(AREA + 48) as usize);
    let start = AREA + offset;
    for _ in 0..=random.below(8) {
        let at = start + random.below(size - 1);
        let digit = (at..start + size).find(|at| head[*at].is_ascii_digit());
        match (random.below(3), digit) {
            (0, _) => head[at] = b"{}[]=\"#,\n0-\\ "[random.below(13)],
            (1, _) => head[at] = random.next() as u8,
            (_, Some(digit)) => head[digit] = b'0' + random.below(10) as u8,
            _ => {}
        }
    }
    let sum = checksum(&head[start..start + size]);
    head[AREA + 56..AREA + 60].copy_from_slice(&sum.to_le_bytes());
    fix_area(head);
}

/// Whatever one disk holds, the other four and their group are listed, and nothing panics.
#[test]
fn damage_to_one_disk_never_hides_the_others() {
    const ROUNDS: u64 = 400;
    let folder = Folder::golden();
    let healthy = folder.scan();
    let host = Host::without_config();
    for seed in 1..=ROUNDS {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let disk = random.below(5);
        let mut head = heads()[disk].clone();
        damage(&mut head, &mut random);
        let name = format!("a{disk}.img");
        folder.disk(&name, &head);
        let scan = folder.scan();
        let all: Vec<_> = scan.findings.iter().map(ToString::to_string).collect();
        assert!(
            !all.iter().any(|text| text.contains("which is a bug")),
            "seed {seed}: {all:#?}"
        );
        for (index, pv) in healthy.physical_volumes.iter().enumerate() {
            let found = scan
                .physical_volumes
                .iter()
                .any(|found| found.uuid == pv.uuid);
            assert!(
                index == disk || found,
                "seed {seed}: {} is not listed",
                pv.uuid
            );
        }
        let Some(group) = scan.group(healthy.groups[0].uuid) else {
            panic!("seed {seed}: the group is not listed: {all:#?}")
        };
        let silent = scan
            .findings
            .iter()
            .all(|finding| finding.severity == Severity::Note);
        let differs = scan.groups.len() != 1 || group.seqno != healthy.groups[0].seqno;
        assert!(
            !(silent && differs),
            "seed {seed}: something changed and nobody said so"
        );
        if seed % 8 != 0 {
            folder.disk(&name, &heads()[disk]);
            continue;
        }
        let mut activator = Activator::new(&scan, &host);
        for (lv, _) in group.model.lvs() {
            // Refused or not, it ends.
            let _ = activator.activate(group, lv, Options::default());
        }
        let _ = history(&scan, group);
        folder.disk(&name, &heads()[disk]);
    }
}

#[test]
fn a_time_that_cannot_be_is_told_and_costs_nothing() {
    // Proves: a creation_time beyond 63 bits, which old builds of LVM2 wrote, leaves the group
    // readable, with a warning in stock's words.
    let folder = Folder::golden();
    for number in 0..5 {
        folder.rewrite(&format!("a{number}.img"), |text| {
            let at = text.find("creation_time = ").expect("volumes have times") + 16;
            let end = at + text[at..].find('\n').expect("a line ends");
            format!("{}18446744073709551615{}", &text[..at], &text[end..])
        });
    }
    let scan = folder.scan();
    assert_eq!(scan.groups.len(), 1);
    let said = texts(&scan, FindingKind::UnsoundVg);
    let words = "Invalid creation_time found in metadata (repaired with next metadata update)";
    assert!(said.iter().any(|text| text.contains(words)), "{said:?}");
    assert!(scan.groups[0].restrictions.is_empty());
}

#[test]
fn thousands_of_missing_disks_fill_no_log() {
    // Proves: of a thousand missing physical volumes the first few are named, and all are counted.
    let folder = Folder::golden();
    folder.rewrite("a0.img", |text| {
        let gone = |number| {
            format!(
                "gone{number} {{ id = \"aaaaaa-aaaa-aaaa-aaaa-aaaa-aaaa-{number:06}\" device = \
                 \"/dev/none\" status = [\"ALLOCATABLE\"] flags = [] dev_size = 8192 pe_start = \
                 2048 pe_count = 0 }}\n"
            )
        };
        let gone: Vec<String> = (0..1000).map(gone).collect();
        let (head, rest) = text.split_once("physical_volumes {").expect("a list");
        format!("{head}physical_volumes {{\n{}{rest}", gone.concat())
    });
    for number in 1..5 {
        folder.remove(&format!("a{number}.img"));
    }
    let scan = folder.scan();
    let said = texts(&scan, FindingKind::MissingPv);
    assert!(said.len() < 200, "{} warnings", said.len());
    let last = said.last().expect("there are some");
    assert!(last.contains("1004 in all"), "{last}");
}
