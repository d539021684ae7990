//! Lines of a control socket: what is said is understood, and nothing else is.

use proptest::prelude::{Just, Strategy, any, prop_assert_eq, prop_oneof, proptest};

use dm::mirror::ImageHealth;
use lvm2::Uuid;

use crate::activate::MissingPolicy;
use crate::live::{ImageStatus, Merging, MirrorStatus, SnapshotInUse, VolumeStatus};

use super::{Export, Exported, LINE_MAX, Reply, Request, Way, decode_reply, decode_request};

fn requests() -> impl Strategy<Value = Request> {
    let words = proptest::collection::vec(any::<String>(), 0..5);
    let missing = prop_oneof![
        Just(MissingPolicy::Complete),
        Just(MissingPolicy::Degraded),
        Just(MissingPolicy::Partial),
    ];
    let export = (words.clone(), any::<bool>(), any::<bool>(), missing);
    prop_oneof![
        (words, any::<String>()).prop_map(|(words, folder)| Request::Run {
            words,
            folder: format!("/{folder}"),
        }),
        export.prop_map(
            |(volumes, is_read_only, nbd, missing)| Request::Export(Export {
                volumes,
                is_read_only,
                missing,
                way: if nbd { Way::Nbd } else { Way::Fuse },
            })
        ),
        any::<bool>().prop_map(Request::Answer),
        any::<String>().prop_map(|volume| Request::Alone { volume }),
        any::<String>().prop_map(|volume| Request::Inactive { volume }),
        Just(Request::Status),
        Just(Request::Stop),
        Just(Request::Seen),
        Just(Request::End),
    ]
}

fn exported() -> impl Strategy<Value = Exported> {
    let parts = (any::<String>(), any::<u64>(), any::<u32>(), any::<bool>());
    parts.prop_map(|(name, size, block, is_read_only)| Exported {
        name,
        size,
        block,
        is_read_only,
    })
}

fn volumes() -> impl Strategy<Value = VolumeStatus> {
    let state = (0..ImageHealth::ALL.len()).prop_map(|at| ImageHealth::ALL[at]);
    let image = (any::<u8>(), any::<String>(), state, any::<Option<u64>>());
    let image = image.prop_map(|(lv, name, state, mismatches)| ImageStatus {
        lv: uuid(lv),
        name,
        state,
        mismatches,
    });
    let images = proptest::collection::vec(image, 0..4);
    let mirror = (any::<u8>(), any::<u64>(), any::<u64>(), images);
    let mirror = mirror.prop_map(|(lv, one, other, images)| MirrorStatus {
        lv: uuid(lv),
        in_sync: one.min(other),
        regions: one.max(other),
        images,
    });
    let mirrors = proptest::collection::vec(mirror, 0..3);
    let merge = proptest::sample::select(vec![Merging::No, Merging::Runs, Merging::Failed]);
    let said = (any::<[bool; 2]>(), merge, any::<Option<u64>>());
    let snapshot = (any::<u8>(), any::<[u64; 3]>(), said);
    let snapshot = snapshot.prop_map(|(lv, mut bytes, (flags, merge, fill_rate))| {
        bytes.sort_unstable();
        let [metadata, used, size] = bytes;
        SnapshotInUse {
            lv: uuid(lv),
            used,
            metadata,
            size,
            is_invalid: flags[0],
            merge,
            fill_rate,
            is_full_soon: flags[1],
        }
    });
    let snapshots = proptest::collection::vec(snapshot, 0..3);
    let names = (any::<String>(), any::<Option<u8>>(), any::<u64>());
    let parts = (names, mirrors, snapshots);
    parts.prop_map(|((name, lv, users), mirrors, snapshots)| VolumeStatus {
        name,
        uuid: lv.map(uuid),
        users,
        mirrors,
        snapshots,
    })
}

fn uuid(number: u8) -> Uuid {
    format!("{number:0>32}").parse().expect("a UUID")
}

fn replies() -> impl Strategy<Value = Reply> {
    prop_oneof![
        (any::<u32>(), any::<String>(), any::<String>())
            .prop_map(|(pid, group, uuid)| Reply::Hello { pid, group, uuid }),
        any::<String>().prop_map(Reply::Ask),
        Just(Reply::Alone),
        any::<String>().prop_map(Reply::Error),
        any::<u8>().prop_map(Reply::End),
        proptest::collection::vec(exported(), 0..4).prop_map(Reply::Exported),
        exported().prop_map(|volume| Reply::Changed { volume }),
        (proptest::collection::vec(volumes(), 0..4), any::<bool>())
            .prop_map(|(volumes, more)| Reply::Status { volumes, more }),
    ]
}

/// The lines of `encoded`, without their ends.
fn lines(encoded: &[u8]) -> Vec<&[u8]> {
    let body = encoded.strip_suffix(b"\n").expect("a line ends");
    body.split(|byte| *byte == b'\n').collect()
}

proptest! {
    /// What a client says is what an owner understands.
    #[test]
    fn requests_come_back(request in requests()) {
        let encoded = request.to_line();
        let [line] = lines(&encoded)[..] else { panic!("one line") };
        prop_assert_eq!(decode_request(line).expect("is understood"), request);
    }

    /// What an owner says is what a client understands.
    #[test]
    fn replies_come_back(reply in replies()) {
        let encoded = reply.to_line();
        let [line] = lines(&encoded)[..] else { panic!("one line") };
        prop_assert_eq!(decode_reply(line).expect("is understood"), reply);
    }

    /// Long output comes in pieces, none of which is too long, and nothing of it is lost.
    #[test]
    fn long_output_comes_in_pieces(text in "[\u{1}a-z\u{e9}\n\"]{0,4000}", times in 1_usize..12) {
        let text = text.repeat(times);
        let encoded = Reply::Out(text.clone()).to_line();
        let mut together = String::new();
        if !text.is_empty() {
            for line in lines(&encoded) {
                assert!(line.len() <= LINE_MAX);
                let Reply::Out(piece) = decode_reply(line).expect("is understood") else {
                    panic!("output");
                };
                together.push_str(&piece);
            }
        }
        prop_assert_eq!(together, text);
    }

    /// Many volumes come on several lines, none of which is too long, and none is lost.
    #[test]
    fn many_volumes_come_in_pieces(volume in volumes(), count in 1_usize..1500) {
        let volumes = vec![volume; count];
        let encoded = Reply::Status { volumes: volumes.clone(), more: false }.to_line();
        let mut together = Vec::new();
        let all = lines(&encoded);
        for (at, line) in all.iter().enumerate() {
            assert!(line.len() <= LINE_MAX);
            let Reply::Status { volumes, more } = decode_reply(line).expect("is understood") else {
                panic!("a status");
            };
            assert_eq!(more, at + 1 < all.len());
            together.extend(volumes);
        }
        prop_assert_eq!(together, volumes);
    }

    /// Whatever comes, there is an answer.
    #[test]
    fn noise_is_refused(line in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = decode_request(&line);
        let _ = decode_reply(&line);
    }

    /// Nearly right lines do no harm either.
    #[test]
    fn damaged_lines_are_refused(
        request in requests(), at in any::<usize>(), byte in any::<u8>()
    ) {
        let mut line = request.to_line();
        line.pop();
        let at = at % line.len();
        line[at] = byte;
        let _ = decode_request(&line);
        let _ = decode_request(&line[..at]);
    }
}

/// The lines are those of `docs/control-socket.md`, byte by byte: owners and commands of different
/// versions speak with each other.
#[test]
fn lines_are_as_documented() {
    let run = Request::Run {
        words: vec![
            "lvreduce".into(),
            "-L-1g".into(),
            "vg0/\"\n\u{1}\u{e9}".into(),
        ],
        folder: "/root".into(),
    };
    let export = Request::Export(Export {
        volumes: vec!["data".into()],
        is_read_only: false,
        missing: MissingPolicy::Degraded,
        way: Way::Nbd,
    });
    let volume = || Exported {
        name: "vg0/data".into(),
        size: u64::MAX,
        block: 512,
        is_read_only: true,
    };
    let status = VolumeStatus {
        name: "vg0/data".into(),
        uuid: None,
        users: 1,
        mirrors: Vec::new(),
        snapshots: Vec::new(),
    };
    let requests = [
        (
            run,
            concat!(
                r#"{"ashlar":1,"request":"run","words":["lvreduce","#,
                r#""-L-1g","vg0/\"\n\u0001é"],"folder":"/root"}"#
            ),
        ),
        (
            export,
            concat!(
                r#"{"ashlar":1,"request":"export","volumes":["data"],"#,
                r#""read_only":false,"missing":"degraded","way":"nbd"}"#
            ),
        ),
        (
            Request::Answer(true),
            r#"{"ashlar":1,"request":"answer","yes":true}"#,
        ),
        (Request::End, r#"{"ashlar":1,"request":"end"}"#),
    ];
    for (request, line) in requests {
        assert_eq!(request.to_line(), format!("{line}\n").into_bytes());
    }
    let replies = [
        (
            Reply::Out("a".into()),
            r#"{"ashlar":1,"reply":"out","text":"a"}"#,
        ),
        (Reply::End(5), r#"{"ashlar":1,"reply":"end","status":5}"#),
        (
            Reply::Exported(vec![volume()]),
            concat!(
                r#"{"ashlar":1,"reply":"exported","volumes":[{"name":"vg0/data","#,
                r#""size":18446744073709551615,"block":512,"read_only":true}]}"#
            ),
        ),
        (
            Reply::Changed { volume: volume() },
            concat!(
                r#"{"ashlar":1,"reply":"changed","volume":{"name":"vg0/data","#,
                r#""size":18446744073709551615,"block":512,"read_only":true}}"#
            ),
        ),
        (
            Reply::Status {
                volumes: vec![status],
                more: false,
            },
            r#"{"ashlar":1,"reply":"status","volumes":[{"name":"vg0/data","users":1}]}"#,
        ),
    ];
    for (reply, line) in replies {
        assert_eq!(reply.to_line(), format!("{line}\n").into_bytes());
    }
}

/// Members that are not known are passed over, and a request that does not say what may be missing
/// means degraded.
#[test]
fn unknown_members_are_passed_over() {
    let line = concat!(
        r#"{"new":[{"a":1.5}],"ashlar":1,"way":"fuse","#,
        r#""read_only":true,"volumes":[],"request":"export"}"#
    );
    let Request::Export(export) = decode_request(line.as_bytes()).expect("is understood") else {
        panic!("an export");
    };
    assert_eq!(export.missing, MissingPolicy::Degraded);
}

/// Each thing that can be wrong is said.
#[test]
fn what_is_wrong_is_said() {
    let cases = [
        ("", "EOF"),
        ("{\"ashlar\":1}", "`request`"),
        ("{\"request\":\"status\"}", "`ashlar`"),
        ("{\"ashlar\":2,\"request\":\"status\"}", "version 2"),
        ("{\"ashlar\":1,\"request\":\"dance\"}", "`dance`"),
        (
            "{\"ashlar\":1,\"request\":\"run\",\"words\":[1],\"folder\":\"/\"}",
            "expected a string",
        ),
        (
            "{\"ashlar\":1,\"request\":\"run\",\"words\":[],\"folder\":\"x\"}",
            "absolute path",
        ),
        ("{\"ashlar\":1,\"request\":\"status\"} 1", "trailing"),
        ("{\"ashlar\":1,\"request\":\"\\ud800\"}", "escape"),
        ("{\"ashlar\":01}", "invalid number"),
        ("{\"ashlar\":1.5}", "1.5"),
        (
            "{\"ashlar\":1,\"request\":\"stop\",\"request\":\"status\"}",
            "duplicate",
        ),
    ];
    for (line, why) in cases {
        let error = decode_request(line.as_bytes()).expect_err("is wrong");
        assert!(error.to_string().contains(why), "{line}: {error}");
    }
    let mirror =
        r#"{"uuid":"00000000000000000000000000000000","in_sync":2,"regions":1,"images":[]}"#;
    let volume = format!(r#"{{"name":"a","users":1,"mirrors":[{mirror}]}}"#);
    let line = format!(r#"{{"ashlar":1,"reply":"status","volumes":[{volume}]}}"#);
    let error = decode_reply(line.as_bytes()).expect_err("cannot be");
    assert!(error.to_string().contains("in sync"), "{error}");
}

/// A line of nothing but beginnings is refused before it fills the stack.
#[test]
fn deep_lines_are_refused() {
    let deep = format!("{{\"ashlar\":1,\"x\":{}", "[".repeat(60_000));
    decode_request(deep.as_bytes()).expect_err("does not end");
    let deep = format!(
        "{{\"ashlar\":1,\"x\":{}{},\"request\":\"end\"}}",
        "[".repeat(30_000),
        "]".repeat(30_000)
    );
    let error = decode_request(deep.as_bytes()).expect_err("is deep");
    assert!(error.to_string().contains("recursion"), "{error}");
}
