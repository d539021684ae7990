//! Trees and what is done with them, against sums that can be written down.

use super::{Building, Ending, Tree, Work};
use crate::workload::program::Call;

fn calls(files: u32, work: Work, seed: u64) -> Vec<Call> {
    let stream = Building { files, work }.stream(seed).unwrap();
    stream.collect()
}

/// Bytes read and written after the first phase begins.
fn moved(calls: &[Call]) -> [u64; 2] {
    let begin = calls
        .iter()
        .position(|call| matches!(call, Call::Phase { .. }));
    calls[begin.unwrap()..]
        .iter()
        .fold([0, 0], |mut sum, call| {
            match call {
                Call::Read { bytes, .. } => sum[0] += bytes,
                Call::Write { bytes, .. } => sum[1] += bytes,
                _ => {}
            }
            sum
        })
}

/// What the archive of a tree has to be long, by tar's own rules.
fn archive(tree: &Tree) -> u64 {
    let file = |bytes: u64| 512 + bytes.div_ceil(512) * 512;
    let files: u64 = tree.files.iter().map(|source| file(source.bytes)).sum();
    let all = files + tree.parents.len() as u64 * 512 + 1024;
    all.div_ceil(10_240) * 10_240
}

#[test]
fn sizes_are_log_normal_and_trees_repeat() {
    // Median 4 KB, three times that on average; directories are made after those they are in.
    let tree = Tree::new(20_000, 1);
    let mut sizes: Vec<u64> = tree.files.iter().map(|source| source.bytes).collect();
    sizes.sort_unstable();
    let median = sizes[sizes.len() / 2];
    assert!((3900..4300).contains(&median), "{median}");
    let mean = tree.bytes() / 20_000;
    assert!((11_500..13_500).contains(&mean), "{mean}");
    // One standard deviation above: a sixth of the files is larger than 4096 e^1.5.
    let large = sizes.iter().filter(|&&bytes| bytes > 18_357).count();
    assert!((3000..3350).contains(&large), "{large}");
    let mut parents = tree.parents.iter().enumerate().skip(1);
    assert!(parents.all(|(place, &parent)| parent < place));
    assert_eq!(tree, Tree::new(20_000, 1));
    assert_ne!(tree.files, Tree::new(20_000, 2).files);
}

#[test]
fn an_archive_is_as_long_as_tar_makes_it() {
    // Making one reads every file once and writes the archive; taking it apart, the reverse.
    for (files, seed) in [(1, 1), (16, 2), (500, 3)] {
        let tree = Tree::new(files, seed);
        let made = calls(files, Work::Create(Ending::Cached), seed);
        assert_eq!(moved(&made), [tree.bytes(), archive(&tree)]);
        let taken = calls(files, Work::Extract(Ending::Synced), seed);
        assert_eq!(moved(&taken), [archive(&tree), tree.bytes()]);
        assert_eq!(taken.last(), Some(&Call::Sync));
        let directories = |calls: &[Call]| {
            let made = calls.iter();
            made.filter(|call| matches!(call, Call::Mkdir { .. }))
                .count()
        };
        assert_eq!(directories(&taken), tree.parents.len());
        assert_eq!(directories(&made), tree.parents.len());
    }
}

#[test]
fn a_compiler_computes_once_for_each_source() {
    // Nine of ten files are sources; objects are twice as long; headers are read, too.
    let (files, source_ns) = (200, 7_000_000);
    let tree = Tree::new(files, 4);
    let calls = calls(files, Work::Compile { source_ns }, 4);
    let thinks = calls
        .iter()
        .filter(|call| **call == Call::Think { ns: source_ns })
        .count();
    assert_eq!(thinks, 180);
    let sources = tree.files.iter().enumerate();
    let sources = sources.filter(|(index, _)| index % 10 != 0);
    let bytes: u64 = sources.map(|(_, source)| source.bytes).sum();
    let [read, written] = moved(&calls);
    assert_eq!(written, 2 * bytes);
    assert!(read > bytes);
}

#[test]
fn impossible_trees_are_refused() {
    let work = Work::Create(Ending::Cached);
    let refused = Building { files: 0, work }.stream(1).err().unwrap();
    assert_eq!(refused.field(), "files");
}
