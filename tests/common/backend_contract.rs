//! The contract of `store::Backend`: one body per rule, run on every backend that a test program names in its `backends`.

use std::fmt::Debug;

use crate::backends::on_each_backend;
use crate::ops::{content, file, item_list, op, put, splice};
use base::object::{
    AsOf, Envelope, Hash, Nickname, ObjectId, ObjectType, Origin, Redaction, RedactionReason,
    RunningHash, Timestamp, TxId,
};
use base::{Error, Result};
use store::{Backend, Expected, Glance, Item, Op, Outcome, Put, Receipt, SqliteBackend};

const T: Timestamp = Timestamp(1_000);

fn tx_ids(backend: &dyn Backend, id: &ObjectId) -> Vec<TxId> {
    backend.history(id).unwrap().into_iter().map(|version| version.tx_id).collect()
}

fn texts(backend: &dyn Backend, id: &ObjectId, at: AsOf) -> Vec<String> {
    backend.items(id, at, 0..u64::MAX).unwrap().into_iter().map(|item| item.text).collect()
}

fn name(nickname: &str, id: Option<&ObjectId>) -> Op {
    Op::Name { nickname: Nickname::parse(nickname).unwrap(), id: id.cloned() }
}

#[test]
fn an_empty_store_holds_nothing() {
    on_each_backend(|backend| {
        let id = ObjectId::new("a");
        assert_eq!(backend.get(&id, AsOf::Latest).unwrap(), None);
        assert_eq!(backend.history(&id).unwrap(), []);
        assert_eq!(backend.content(&Hash::of("a")).unwrap(), None);
        assert_eq!(backend.content(&Hash::from_stored("no hash")).unwrap(), None);
        assert_eq!(backend.items(&id, AsOf::Latest, 0..9).unwrap(), []);
        let receipt = backend.commit(&[], T).unwrap();
        let nothing = Receipt { tx_id: TxId(0), system_time: Timestamp(0), outcomes: vec![] };
        assert_eq!(receipt, nothing);
    });
}

#[test]
fn a_hash_finds_the_newest_version_that_has_it() {
    on_each_backend(|backend| {
        let id = file("/a").id;
        let hash = |text: &str| put(file("/a"), text, Expected::Any).content_hash;
        assert_eq!(backend.find_version(&id, &hash("x")).unwrap(), None);
        for text in ["x", "y", "x", "z"] {
            backend.commit(&[op(put(file("/a"), text, Expected::Any))], T).unwrap();
        }
        let found = |text: &str| backend.find_version(&id, &hash(text)).unwrap();
        let history = backend.history(&id).unwrap();
        assert_eq!(found("x").as_ref(), Some(&history[1]));
        assert_eq!(found("y").as_ref(), Some(&history[2]));
        assert_eq!(found("none"), None);
        assert_eq!(backend.find_version(&id, &Hash::from_stored("no hash")).unwrap(), None);
    });
}

#[test]
fn a_glance_is_at_the_latest_version() {
    on_each_backend(|backend| {
        let id = file("/a").id;
        assert_eq!(backend.glance(&id).unwrap(), None);
        let redaction = Redaction { reason: RedactionReason::Forgotten, found_hash: Hash::of("") };
        for (text, redacted) in [("x", None), ("y", Some(redaction))] {
            let put = Put { redacted, ..put(file("/a"), text, Expected::Any) };
            backend.commit(&[op(put)], T).unwrap();
            let latest = backend.get(&id, AsOf::Latest).unwrap().unwrap();
            let expected = Glance { tx_id: latest.tx_id, redacted: latest.redacted };
            assert_eq!(backend.glance(&id).unwrap(), Some(expected));
        }
    });
}

#[test]
fn a_version_comes_back_as_it_was_put() {
    on_each_backend(|backend| {
        let text = "line\n\0é👍".repeat(100);
        let mut put = put(file("/a"), &text, Expected::Any);
        put.source_hash = Some(Hash::of("raw bytes"));
        let fields = r#"{"z":0.1,"a":{"é\u0000":[null,-0.0,1e300,18446744073709551615]},"m":""}"#;
        put.fields = serde_json::from_str(fields).unwrap();
        let receipt = backend.commit(&[op(put.clone())], T).unwrap();
        let version = backend.get(&put.envelope.id, AsOf::Latest).unwrap().unwrap();
        assert_eq!(version.envelope, put.envelope);
        assert_eq!((version.tx_id, version.system_time), (receipt.tx_id, receipt.system_time));
        assert_eq!(version.origin.store_id, backend.store_id());
        assert_eq!(
            (version.origin.tx_id, version.origin.time),
            (receipt.tx_id, receipt.system_time)
        );
        assert_eq!(version.source_hash, put.source_hash);
        assert_eq!(version.content_hash, put.content_hash);
        let order = |fields| serde_json::to_string(fields).unwrap();
        assert_eq!(order(&version.fields), order(&put.fields));
        assert_eq!(content(backend, &version), Some(text));
        assert_eq!((version.item_count, version.items_hash), (0, None));
    });
}

#[test]
fn null_content_and_empty_content_differ() {
    on_each_backend(|backend| {
        let mut null = put(file("/null"), "", Expected::Any);
        null.content = None;
        let empty = put(file("/empty"), "", Expected::Any);
        backend.commit(&[op(null.clone()), op(empty.clone())], T).unwrap();
        let read = |put: &Put| backend.get(&put.envelope.id, AsOf::Latest).unwrap().unwrap();
        assert_eq!(read(&null).content, None);
        assert_eq!(content(backend, &read(&empty)), Some(String::new()));
    });
}

#[test]
fn a_transaction_applies_as_a_whole() {
    on_each_backend(|backend| {
        let ops = [
            op(put(file("/a"), "a", Expected::Any)),
            op(splice(0, &item_list(&[], &["x"]), Expected::Absent)),
            name("main", Some(&file("/a").id)),
        ];
        let receipt = backend.commit(&ops, T).unwrap();
        assert_eq!(receipt.outcomes, [Outcome::Written; 3]);
        for id in [file("/a").id, ObjectId::chat("s")] {
            let version = backend.get(&id, AsOf::Latest).unwrap().unwrap();
            assert_eq!((version.tx_id, version.system_time), (receipt.tx_id, receipt.system_time));
        }
    });
}

#[test]
fn a_refused_transaction_leaves_no_trace() {
    on_each_backend(|backend| {
        let first = backend.commit(&[op(put(file("/a"), "a", Expected::Any))], T).unwrap();
        let ops = [
            op(put(file("/a"), "b", Expected::Any)),
            op(put(file("/b"), "new", Expected::Any)),
            op(splice(0, &item_list(&[], &["x"]), Expected::Absent)),
            name("main", Some(&file("/b").id)),
            name("lost", Some(&ObjectId::new("unknown"))),
        ];
        assert_eq!(code(backend.commit(&ops, T)), "INVALID_ARGUMENT");
        assert_eq!(tx_ids(backend, &file("/a").id), [first.tx_id]);
        assert_eq!(backend.get(&file("/b").id, AsOf::Latest).unwrap(), None);
        assert_eq!(texts(backend, &ObjectId::chat("s"), AsOf::Latest), [""; 0]);
        assert_eq!(backend.content(&Hash::of("new")).unwrap(), None);
        let main = Nickname::parse("main").unwrap();
        assert_eq!(backend.find_nickname(&main).unwrap(), None);
        assert_eq!(backend.commit(&[], T).unwrap().tx_id, first.tx_id);
    });
}

#[test]
fn reads_see_the_version_of_their_time() {
    on_each_backend(|backend| {
        let id = file("/a").id;
        let write = |path: &str, text: &str, time| {
            // A shared store goes by the clock of its server.
            std::thread::sleep(std::time::Duration::from_millis(3));
            let receipt = backend.commit(&[op(put(file(path), text, Expected::Any))], time);
            let Receipt { tx_id, system_time, .. } = receipt.unwrap();
            (tx_id, system_time.0)
        };
        let (first, at_first) = write("/a", "1", Timestamp(100));
        let (second, at_second) = write("/a", "2", Timestamp(200));
        let (beside, _) = write("/b", "b", Timestamp(300));
        let (third, at_third) = write("/a", "3", Timestamp(300));
        let read = |at| backend.get(&id, at).unwrap().map(|version| version.tx_id);
        for (at, expected) in [
            (AsOf::Latest, Some(third)),
            (AsOf::Tx(third), Some(third)),
            (AsOf::Tx(TxId(i64::MAX)), Some(third)),
            (AsOf::Tx(beside), Some(second)),
            (AsOf::Tx(first), Some(first)),
            (AsOf::Tx(TxId(first.0 - 1)), None),
            (AsOf::Tx(TxId(i64::MIN)), None),
            (AsOf::Time(Timestamp(at_first - 1)), None),
            (AsOf::Time(Timestamp(at_first)), Some(first)),
            (AsOf::Time(Timestamp(at_second - 1)), Some(first)),
            (AsOf::Time(Timestamp(at_third)), Some(third)),
            (AsOf::Time(Timestamp(i64::MAX)), Some(third)),
            (AsOf::Time(Timestamp(i64::MIN)), None),
        ] {
            assert_eq!(read(at), expected, "{at} on {}", backend.name());
        }
        assert_eq!(tx_ids(backend, &id), [third, second, first]);
    });
}

#[test]
fn an_unchanged_put_writes_no_version() {
    on_each_backend(|backend| {
        let first = backend.commit(&[op(put(file("/a"), "a", Expected::Any))], T).unwrap();
        for expected in [Expected::Any, Expected::Latest(first.tx_id)] {
            let receipt = backend.commit(&[op(put(file("/a"), "a", expected))], Timestamp(9_000));
            let outcomes = vec![Outcome::Unchanged(first.tx_id)];
            assert_eq!(receipt.unwrap(), Receipt { outcomes, ..first.clone() });
        }
        assert_eq!(tx_ids(backend, &file("/a").id), [first.tx_id]);
    });
}

#[test]
fn other_source_bytes_with_the_same_text_make_a_version() {
    on_each_backend(|backend| {
        let mut put = put(file("/a"), "a", Expected::Any);
        backend.commit(&[op(put.clone())], T).unwrap();
        put.source_hash = Some(Hash::of("\u{feff}a"));
        assert_eq!(backend.commit(&[op(put)], T).unwrap().outcomes, [Outcome::Written]);
        assert_eq!(tx_ids(backend, &file("/a").id).len(), 2);
    });
}

#[test]
fn a_version_that_was_there_before_the_latest_is_written_again() {
    on_each_backend(|backend| {
        for text in ["a", "b", "a"] {
            backend.commit(&[op(put(file("/a"), text, Expected::Any))], T).unwrap();
        }
        assert_eq!(tx_ids(backend, &file("/a").id).len(), 3);
    });
}

#[test]
fn compare_and_set_names_the_winner() {
    on_each_backend(|backend| {
        let write =
            |text: &str, expected| backend.commit(&[op(put(file("/a"), text, expected))], T);
        let winner = |result: Result<Receipt>| match result.unwrap_err() {
            Error::Conflict { id, winner } if id == file("/a").id => winner,
            other => panic!("{other}"),
        };
        assert_eq!(winner(write("x", Expected::Latest(TxId(1)))), None);
        let first = write("1", Expected::Absent).unwrap().tx_id;
        assert_eq!(winner(write("x", Expected::Absent)), Some(first));
        let second = write("2", Expected::Latest(first)).unwrap().tx_id;
        assert_eq!(winner(write("x", Expected::Latest(first))), Some(second));
        for stale in [Expected::Absent, Expected::Latest(first), Expected::Latest(TxId(77))] {
            assert_eq!(winner(write("2", stale)), Some(second), "an equal text is no excuse");
        }
        assert_eq!(tx_ids(backend, &file("/a").id), [second, first]);
    });
}

#[test]
fn splices_append_and_old_lists_stay_readable() {
    on_each_backend(|backend| {
        let id = ObjectId::chat("s");
        let mut list = item_list(&[], &["a", "b", "c"]);
        let write = |keep, list: &[Item], expected| {
            backend.commit(&[op(splice(keep, list, expected))], T).unwrap().tx_id
        };
        let first = write(0, &list, Expected::Absent);
        list = item_list(&list, &["d"]);
        let second = write(3, &list, Expected::Latest(first));
        list = item_list(&list[..1], &["B"]);
        let third = write(1, &list, Expected::Latest(second));
        list = item_list(&list, &["C", "D", "E"]);
        let fourth = write(2, &list, Expected::Latest(third));
        let fifth = write(0, &[], Expected::Latest(fourth));
        for (tx_id, expected) in [
            (first, "a b c"),
            (second, "a b c d"),
            (third, "a B"),
            (fourth, "a B C D E"),
            (fifth, ""),
        ] {
            assert_eq!(texts(backend, &id, AsOf::Tx(tx_id)).join(" "), expected);
            let version = backend.get(&id, AsOf::Tx(tx_id)).unwrap().unwrap();
            assert_eq!(version.item_count, expected.split_whitespace().count() as u64);
            let end = backend.items(&id, AsOf::Tx(tx_id), 0..9).unwrap().pop();
            let hash = end.map_or(RunningHash::default().hash().clone(), |item| item.running_hash);
            assert_eq!(version.items_hash, Some(hash));
        }
        assert_eq!(texts(backend, &id, AsOf::Tx(TxId(0))), [""; 0]);
        let time = backend.newest().unwrap().1;
        assert_eq!(texts(backend, &id, AsOf::Time(time)), texts(backend, &id, AsOf::Latest));
    });
}

#[test]
fn ranges_of_items_are_clipped() {
    on_each_backend(|backend| {
        let id = ObjectId::chat("s");
        let list = item_list(&[], &["a", "b", "c"]);
        backend.commit(&[op(splice(0, &list, Expected::Absent))], T).unwrap();
        let read = |range| backend.items(&id, AsOf::Latest, range).unwrap();
        assert_eq!(read(1..2), list[1..2]);
        assert_eq!(read(2..u64::MAX), list[2..]);
        assert_eq!(read(3..9), []);
        assert_eq!(read(u64::MAX..u64::MAX), []);
        #[expect(clippy::reversed_empty_ranges, reason = "callers may compute such a range")]
        let reversed = read(2..1);
        assert_eq!(reversed, []);
    });
}

#[test]
fn a_put_without_a_splice_leaves_the_items() {
    on_each_backend(|backend| {
        let list = item_list(&[], &["a", "b"]);
        let first = backend.commit(&[op(splice(0, &list, Expected::Absent))], T).unwrap().tx_id;
        let mut put = splice(0, &list, Expected::Latest(first));
        put.items = None;
        put.content_hash = Hash::of("other fields");
        backend.commit(&[op(put)], T).unwrap();
        let version = backend.get(&ObjectId::chat("s"), AsOf::Latest).unwrap().unwrap();
        assert_eq!(version.item_count, 2);
        assert_eq!(version.items_hash.as_ref(), list.last().map(|item| &item.running_hash));
        assert_eq!(texts(backend, &ObjectId::chat("s"), AsOf::Latest), ["a", "b"]);
    });
}

#[test]
fn long_items_and_contents_come_back_exactly() {
    on_each_backend(|backend| {
        let long = "fn main() { println!(\"é\"); }\n".repeat(5_000);
        let random: String = (0..5_000).map(|_| uuid::Uuid::now_v7().to_string()).collect();
        let list = item_list(&[], &[&long, &random, ""]);
        let ops = [
            op(splice(0, &list, Expected::Absent)),
            op(put(file("/long"), &long, Expected::Any)),
            op(put(file("/random"), &random, Expected::Any)),
        ];
        backend.commit(&ops, T).unwrap();
        assert_eq!(backend.items(&ObjectId::chat("s"), AsOf::Latest, 0..3).unwrap(), list);
        for text in [long, random] {
            assert_eq!(backend.content(&Hash::of(&text)).unwrap(), Some(text));
        }
    });
}

#[test]
fn malformed_transactions_are_refused() {
    on_each_backend(|backend| {
        let list = item_list(&[], &["a"]);
        let first = backend.commit(&[op(splice(0, &list, Expected::Absent))], T).unwrap().tx_id;
        let mut other_type = put(file("/a"), "a", Expected::Any);
        other_type.envelope =
            Envelope::unsourced(ObjectId::chat("s"), ObjectType::Session).unwrap();
        let mut no_hash = put(file("/a"), "a", Expected::Any);
        no_hash.content_hash = Hash::from_stored("beef");
        let twice = op(put(file("/a"), "a", Expected::Any));
        for ops in [
            vec![twice.clone(), twice],
            vec![op(other_type)],
            vec![op(no_hash)],
            vec![op(splice(2, &item_list(&list, &["b", "c"]), Expected::Any))],
            vec![name("main", Some(&ObjectId::new("unknown")))],
        ] {
            assert_eq!(code(backend.commit(&ops, T)), "INVALID_ARGUMENT", "{ops:?}");
        }
        assert_eq!(backend.commit(&[], T).unwrap().tx_id, first);
    });
}

#[test]
fn nicknames_are_unique_and_can_be_given_away() {
    on_each_backend(|backend| {
        let (a, b) = (file("/a").id, file("/b").id);
        // The object may come later in the same transaction.
        let first = [name("main", Some(&a)), op(put(file("/a"), "a", Expected::Any))];
        let first = backend.commit(&first, T).unwrap();
        backend.commit(&[op(put(file("/b"), "b", Expected::Any))], T).unwrap();
        let owner = || backend.find_nickname(&Nickname::parse("main").unwrap()).unwrap();
        assert_eq!(owner().as_ref(), Some(&a));
        assert_eq!(code(backend.commit(&[name("main", Some(&b))], T)), "INVALID_NICKNAME");
        let again = backend.commit(&[name("main", Some(&a))], T).unwrap();
        assert_eq!(again.outcomes, [Outcome::Unchanged(first.tx_id)]);
        let moved = backend.commit(&[name("main", None), name("main", Some(&b))], T).unwrap();
        assert_eq!(moved.outcomes, [Outcome::Written; 2]);
        assert_eq!(owner().as_ref(), Some(&b));
        let gone = backend.commit(&[name("main", None), name("main", None)], T).unwrap();
        assert_eq!(gone.outcomes, [Outcome::Written, Outcome::Unchanged(moved.tx_id)]);
        assert_eq!(owner(), None);
        assert_eq!(backend.commit(&[], T).unwrap().tx_id, gone.tx_id);
    });
}

#[test]
fn prefixes_find_ids_in_order() {
    on_each_backend(|backend| {
        let ids = ["call_1", "call_10", "call_2", "Call_1", "call%", "call\u{10FFFF}x", "é"];
        let ops: Vec<Op> = ids.iter().map(|id| op(put(toolcall(id), id, Expected::Any))).collect();
        backend.commit(&ops, T).unwrap();
        let find = |prefix: &str, limit| -> Vec<String> {
            let found = backend.find_prefix(prefix, limit).unwrap();
            found.iter().map(|id| id.as_str().to_owned()).collect()
        };
        assert_eq!(find("call_1", 9), ["call_1", "call_10"]);
        assert_eq!(find("call_", 2), ["call_1", "call_10"]);
        assert_eq!(find("call%", 9), ["call%"]);
        assert_eq!(find("call\u{10FFFF}", 9), ["call\u{10FFFF}x"]);
        assert_eq!(find("", 99).len(), ids.len());
        assert_eq!(find("", 0), [""; 0]);
        assert_eq!(find("x", usize::MAX), [""; 0]);
    });
}

#[test]
fn lists_page_through_one_type() {
    on_each_backend(|backend| {
        let ids = ["0", "a", "b", "c", "d"];
        let mut ops: Vec<Op> =
            ids.iter().map(|id| op(put(toolcall(id), id, Expected::Any))).collect();
        ops.push(op(put(file("/a"), "file", Expected::Any)));
        backend.commit(&ops, T).unwrap();
        let newer = backend.commit(&[op(put(toolcall("b"), "newer", Expected::Any))], T).unwrap();
        let mut pages = Vec::new();
        let mut after = None;
        loop {
            let page = backend.list(ObjectType::Toolcall, after.as_ref(), 2).unwrap();
            let Some(last) = page.last() else { break };
            after = Some(last.envelope.id.clone());
            pages.push(page);
        }
        assert_eq!(pages.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2, 1]);
        let listed: Vec<_> = pages.concat();
        assert_eq!(listed.iter().map(|v| v.envelope.id.as_str()).collect::<Vec<_>>(), ids);
        assert_eq!(listed[2].tx_id, newer.tx_id);
        assert_eq!(backend.list(ObjectType::Chat, None, 9).unwrap(), []);
        assert_eq!(backend.list(ObjectType::File, None, usize::MAX).unwrap().len(), 1);
    });
}

#[test]
fn concurrent_writers_lose_nothing() {
    on_each_backend(|backend| {
        let id = ObjectId::chat("s");
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let id = &id;
                scope.spawn(move || {
                    for step in 0..10 {
                        append_until_it_fits(backend, id, &format!("{writer}.{step}"));
                    }
                });
            }
        });
        let mut all = texts(backend, &id, AsOf::Latest);
        assert_eq!(all.len(), 40);
        for writer in 0..4 {
            let own = all.iter().filter(|text| text.starts_with(&format!("{writer}.")));
            assert!(own.is_sorted());
        }
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 40);
    });
}

fn append_until_it_fits(backend: &dyn Backend, id: &ObjectId, text: &str) {
    loop {
        let latest = backend.get(id, AsOf::Latest).unwrap();
        let (count, expected) = latest.map_or((0, Expected::Absent), |version| {
            (version.item_count, Expected::Latest(version.tx_id))
        });
        let list = backend.items(id, AsOf::Latest, 0..count).unwrap();
        let list = item_list(&list, &[text]);
        match backend.commit(&[op(splice(count, &list, expected))], T) {
            Ok(_) => return,
            Err(error) => assert_eq!(error.code(), "CONFLICT"),
        }
    }
}

#[test]
fn a_closed_store_says_so() {
    on_each_backend(|backend| {
        backend.close().unwrap();
        backend.close().unwrap();
        let id = ObjectId::new("a");
        let nickname = Nickname::parse("main").unwrap();
        assert_eq!(code(backend.commit(&[], T)), "CLOSED");
        assert_eq!(code(backend.get(&id, AsOf::Latest)), "CLOSED");
        assert_eq!(code(backend.history(&id)), "CLOSED");
        assert_eq!(code(backend.content(&Hash::of(""))), "CLOSED");
        assert_eq!(code(backend.items(&id, AsOf::Latest, 0..1)), "CLOSED");
        assert_eq!(code(backend.list(ObjectType::File, None, 1)), "CLOSED");
        assert_eq!(code(backend.find_prefix("a", 1)), "CLOSED");
        assert_eq!(code(backend.find_nickname(&nickname)), "CLOSED");
    });
}

#[test]
fn stores_have_ids_of_their_own() {
    on_each_backend(|backend| {
        let other = SqliteBackend::in_memory().unwrap();
        assert_ne!(backend.store_id(), other.store_id());
        assert_eq!(uuid::Uuid::parse_str(backend.store_id()).unwrap().get_version_num(), 7);
    });
}

fn toolcall(id: &str) -> Envelope {
    Envelope::unsourced(ObjectId::new(id), ObjectType::Toolcall).unwrap()
}

fn code<T: Debug>(result: Result<T>) -> &'static str {
    result.unwrap_err().code()
}

#[test]
fn additional_contents_have_hashes_of_their_own() {
    on_each_backend(|backend| {
        let mut put = put(file("/a"), "text", Expected::Any);
        let summary = "short ".repeat(100);
        put.additional.insert("short_summary".into(), (Hash::of(&summary), summary.clone()));
        backend.commit(&[op(put.clone())], T).unwrap();
        let version = backend.get(&put.envelope.id, AsOf::Latest).unwrap().unwrap();
        let hash = &version.additional["short_summary"];
        assert_eq!(backend.content(hash).unwrap(), Some(summary));
    });
}

#[test]
fn an_origin_stays_and_its_version_is_always_written() {
    on_each_backend(|backend| {
        let plain = put(file("/a"), "text", Expected::Any);
        backend.commit(&[op(plain.clone())], T).unwrap();
        let origin =
            Origin { store_id: "other".into(), tx_id: TxId(70), time: Timestamp(9_000_000) };
        let imported = Put { origin: Some(origin.clone()), ..plain.clone() };
        let receipt = backend.commit(&[op(imported)], T).unwrap();
        assert_eq!(receipt.outcomes, [Outcome::Written]);
        let version = backend.get(&plain.envelope.id, AsOf::Latest).unwrap().unwrap();
        assert_eq!((version.origin, version.system_time), (origin, receipt.system_time));
    });
}

#[test]
fn a_redacted_version_says_what_is_there() {
    on_each_backend(|backend| {
        let redaction =
            Redaction { reason: RedactionReason::Secret, found_hash: Hash::of("what is there") };
        let mut list = item_list(&[], &["with a key", "without"]);
        list[0].text = "with [redacted]".to_owned();
        list[0].redacted = Some(Hash::of("with [redacted]"));
        let mut put = splice(0, &list, Expected::Absent);
        put.redacted = Some(redaction.clone());
        backend.commit(&[op(put.clone())], T).unwrap();
        let version = backend.get(&put.envelope.id, AsOf::Latest).unwrap().unwrap();
        assert_eq!(version.redacted, Some(redaction));
        assert_eq!(backend.items(&put.envelope.id, AsOf::Latest, 0..9).unwrap(), list);
    });
}

#[test]
fn a_transaction_sees_items_of_one_committed_with_it() {
    on_each_backend(|backend| {
        let list = item_list(&[], &["one", "two"]);
        let whole = [op(splice(0, &list, Expected::Absent))];
        // Adds nothing, so its hash is that of an item which the transaction before wrote.
        let shorter = [op(splice(1, &list[..1], Expected::Any))];
        let receipts = backend.commit_all(&[&whole, &shorter], T).unwrap();
        let at = AsOf::Tx(receipts[1].tx_id);
        let items = backend.items(&ObjectId::chat("s"), at, 0..9).unwrap();
        assert_eq!(items, list[..1]);
        let version = backend.get(&ObjectId::chat("s"), at).unwrap().unwrap();
        assert_eq!(version.items_hash.as_ref(), Some(&list[0].running_hash));
    });
}

#[test]
fn changes_come_in_whole_transactions_as_they_were_written() {
    on_each_backend(|backend| {
        let write = |path, text| op(put(file(path), text, Expected::Any));
        let first = backend.commit(&[write("/b", "1"), write("/a", "1")], T).unwrap().tx_id;
        let second = backend.commit(&[write("/a", "2")], T).unwrap().tx_id;
        let read = |after, limit| {
            let versions = backend.changes(after, limit).unwrap();
            versions.into_iter().map(|v| (v.tx_id, v.envelope.id)).collect::<Vec<_>>()
        };
        let (a, b) = (file("/a").id, file("/b").id);
        let all = [(first, b), (first, a.clone()), (second, a)];
        assert_eq!(read(TxId(0), 100), all);
        assert_eq!(read(TxId(0), 1), all[..2]);
        assert_eq!(read(TxId(0), 2), all[..2]);
        assert_eq!(read(TxId(0), 3), all);
        assert_eq!(read(first, 1), all[2..]);
        assert_eq!(read(second, 1), []);
    });
}

#[test]
fn items_that_no_longer_stand_can_be_read_with_their_places() {
    on_each_backend(|backend| {
        let list = item_list(&[], &["a", "b"]);
        let first = backend.commit(&[op(splice(0, &list, Expected::Absent))], T).unwrap().tx_id;
        let other = item_list(&list[..1], &["c"]);
        let second = splice(1, &other, Expected::Latest(first));
        let second = backend.commit(&[op(second)], T).unwrap().tx_id;
        let placed = backend.placed_items(&ObjectId::chat("s"), 0..9).unwrap();
        let seen: Vec<_> =
            placed.iter().map(|p| (p.position, p.from, p.until, p.item.text.as_str())).collect();
        let expected =
            [(0, first, None, "a"), (1, first, Some(second), "b"), (1, second, None, "c")];
        assert_eq!(seen, expected);
        assert_eq!(backend.placed_items(&ObjectId::chat("s"), 0..1).unwrap(), placed[..1]);
        assert_eq!(backend.placed_items(&ObjectId::chat("unknown"), 0..9).unwrap(), []);
    });
}

#[test]
fn nicknames_of_an_object_are_listed_in_order() {
    on_each_backend(|backend| {
        let a = file("/a").id;
        let ops = [
            op(put(file("/a"), "a", Expected::Any)),
            op(put(file("/b"), "b", Expected::Any)),
            name("second", Some(&a)),
            name("first", Some(&a)),
        ];
        backend.commit(&ops, T).unwrap();
        let names = backend.nicknames(&a).unwrap();
        assert_eq!(names, ["first", "second"].map(|name| Nickname::parse(name).unwrap()));
        assert_eq!(backend.nicknames(&file("/b").id).unwrap(), []);
    });
}

#[test]
fn transactions_that_are_committed_together_keep_their_order() {
    on_each_backend(|backend| {
        let write = |text| op(put(file("/a"), text, Expected::Any));
        let (one, two) = ([write("1")], [write("2")]);
        let receipts = backend.commit_all(&[&one, &one, &two], T).unwrap();
        assert_eq!(receipts[0].outcomes, [Outcome::Written]);
        assert_eq!(receipts[1].outcomes, [Outcome::Unchanged(receipts[0].tx_id)]);
        assert!(receipts[2].tx_id > receipts[0].tx_id);
        assert_eq!(tx_ids(backend, &file("/a").id), [receipts[2].tx_id, receipts[0].tx_id]);
        assert_eq!(backend.newest().unwrap(), (receipts[2].tx_id, receipts[2].system_time));
        let refused = [op(put(file("/b"), "b", Expected::Latest(TxId(99))))];
        let (three, four) = ([write("3")], [write("4")]);
        assert_eq!(code(backend.commit_all(&[&three, &refused, &four], T)), "CONFLICT");
        assert_eq!(backend.content(&Hash::of("4")).unwrap(), None);
    });
}
