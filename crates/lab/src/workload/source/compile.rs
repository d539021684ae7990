//! A compiler on a tree: for each source it reads the source and headers, thinks, writes an object.
//!
//! Headers are some of the files that every source asks for again, so most of them are in memory.
//! What the compiler computes is a time for each source; with a fifth of a second that is nineteen
//! twentieths of the time on a drive of 1999.

use super::tree::{Tree, chunks};
use crate::workload::program::{Call, File, Stream};
use block::sim::Random;

/// The source, a header or an object that is open.
const FILE: File = File(0);
/// Bytes of a call that reads or writes.
const CALL: u64 = 4096;
/// Every so many-th file is a header.
const HEADERS: usize = 10;
/// Headers that a source includes.
const INCLUDED: usize = 20;
/// Bytes of an object for one of its source.
const OBJECT: u64 = 2;

/// Compiles all sources, computing so long for each; phases `compile` and `sync`.
pub fn compile(tree: Tree, source_ns: u64, seed: u64) -> Stream {
    let mut begin = tree.prepare();
    begin.push(Call::phase("compile"));
    let mut random = Random::new(seed);
    let headers: Vec<_> = tree.files.iter().copied().step_by(HEADERS).collect();
    let all = tree.files.clone().into_iter().enumerate();
    let sources = all.filter(|(index, _)| index % HEADERS != 0);
    let work = sources.flat_map(move |(_, source)| {
        let mut calls = Vec::new();
        let mut read = |what: &super::tree::Source| {
            let (parent, name, file) = (tree.directory(what.directory), what.name(), FILE);
            calls.push(Call::Open { parent, name, file });
            let whole = chunks(what.bytes, CALL);
            calls.extend(whole.map(|(at, bytes)| Call::Read { file, at, bytes }));
            calls.push(Call::Close { file });
        };
        read(&source);
        for _ in 0..INCLUDED {
            read(&headers[random.index(headers.len())]);
        }
        calls.push(Call::Think { ns: source_ns });
        let parent = tree.directory(source.directory);
        let (name, file) = (format!("object{}.o", source.number), FILE);
        calls.push(Call::Create { parent, name, file });
        let whole = chunks(source.bytes * OBJECT, CALL);
        calls.extend(whole.map(|(at, bytes)| Call::Write { file, at, bytes }));
        calls.push(Call::Close { file });
        calls
    });
    let end = [Call::phase("sync"), Call::Sync];
    Box::new(begin.into_iter().chain(work).chain(end))
}
