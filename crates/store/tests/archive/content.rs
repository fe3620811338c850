//! What passes through an archive unchanged, what is left out and reported, and what is refused as
//! a whole.

use std::sync::atomic::{AtomicBool, Ordering};

use base::error::Error;
use base::object::{
    AsOf, Envelope, Hash, Nickname, ObjectId, ObjectType, Origin, Payload, Reference,
    StaticReference, canonical_json,
};
use serde_json::{Value, json};
use store::{ArchiveScope, Expected, ExportOptions, ImportOptions, SqliteBackend, Store};

use crate::world::{World, lines, malformed, sealed};

#[test]
fn a_store_comes_back_whole_from_its_archive() {
    for here in World::each() {
        let here = here.with_history();
        for compress in [false, true] {
            let options =
                ExportOptions { scope: ArchiveScope::Everything, redact: false, compress };
            let (archive, exported) = here.export_with(&options);
            assert_eq!(exported.written_bytes, archive.len() as u64);
            assert_eq!(exported.versions, here.versions().len() as u64);
            for there in World::each() {
                let imported = there.import(&archive);
                assert_eq!(imported.left_out, []);
                assert_eq!(imported.versions, exported.versions);
                assert_eq!((imported.objects, imported.nicknames), (exported.objects, 1));
                assert_eq!((imported.put_again, imported.bytes), (0, exported.bytes));
                assert_eq!(there.portable(), here.portable());
                assert_eq!(there.latest(), here.latest());
                assert_eq!(there.beside(), here.beside());
                there.verify();
            }
        }
    }
}

#[test]
fn an_empty_store_makes_an_archive_without_versions() {
    for (here, there) in World::each().into_iter().zip(World::each()) {
        let archive = here.export(ArchiveScope::Everything);
        assert_eq!(lines(&archive).len(), 2);
        assert_eq!(there.import(&archive).versions, 0);
        assert!(there.versions().is_empty());
    }
}

#[test]
fn importing_twice_writes_once() {
    let here = World::in_memory().with_history();
    for there in World::each() {
        let archive = here.export(ArchiveScope::Everything);
        let first = there.import(&archive);
        let (versions, newest) = (there.versions(), there.store.begin().commit().unwrap());
        let second = there.import(&archive);
        assert_eq!((second.versions, second.present), (0, first.versions));
        assert_eq!((second.nicknames, second.put_again, second.left_out), (0, 0, vec![]));
        assert_eq!((there.versions(), there.store.begin().commit().unwrap()), (versions, newest));
        // Nor does a store take in its own.
        assert_eq!(here.import(&there.export(ArchiveScope::Everything)).versions, 0);
    }
}

#[test]
fn damaged_text_is_left_out_and_mended_by_an_import() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    let here = World::on(SqliteBackend::open(&path).unwrap());
    let call = here.toolcall("call_0", &"a long output\n".repeat(100), None);
    here.toolcall("call_1", &"another output\n".repeat(100), None);
    let whole = here.export(ArchiveScope::Everything);
    let other = rusqlite::Connection::open(&path).unwrap();
    let sql = "UPDATE content SET text = 'damaged' WHERE hash =
               (SELECT content FROM version JOIN object USING (object) WHERE id = 'call_0')";
    assert_eq!(other.execute(sql, []).unwrap(), 1);

    let options = ExportOptions { scope: ArchiveScope::Everything, redact: false, compress: false };
    let (rest, exported) = here.export_with(&options);
    let left: Vec<_> = exported.left_out.iter().map(|it| (it.id.as_str(), it.reason)).collect();
    assert_eq!((left, exported.versions), (vec![("call_0", "damaged")], 1));
    assert_eq!(World::in_memory().import(&rest).versions, 1);

    let imported = here.import(&whole);
    assert_eq!((imported.present, imported.restored), (2, 1));
    let version = here.store.get(&call, AsOf::Latest).unwrap().unwrap();
    here.store.verify(&version).unwrap();
    assert_eq!(here.import(&whole).restored, 0);
}

#[test]
fn a_session_with_damaged_messages_comes_as_it_was_before_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    let here = World::on(SqliteBackend::open(&path).unwrap());
    let items = |count: i32| (0..count).map(|number| json!({ "n": number }).to_string()).collect();
    here.session("s", &["\"began\"".to_owned()], Some((0, items(2))));
    here.session("s", &["\"went on\"".to_owned()], Some((2, items(2))));
    here.session("s", &["\"ended\"".to_owned()], None);
    here.session("other", &items(1), Some((0, items(3))));
    let other = rusqlite::Connection::open(&path).unwrap();
    let sql = "UPDATE item SET text = 'damaged' WHERE position = 2 AND object =
               (SELECT object FROM object WHERE id = 'chat:s')";
    assert_eq!(other.execute(sql, []).unwrap(), 1);

    let options = ExportOptions { scope: ArchiveScope::Everything, redact: false, compress: false };
    let (rest, exported) = here.export_with(&options);
    let left: Vec<_> =
        exported.left_out.iter().map(|it| (it.id.as_str(), it.reason, it.versions)).collect();
    assert_eq!(left, [("chat:s", "damaged", 1), ("session:s", "damaged", 2)]);
    let there = World::in_memory();
    there.import(&rest);
    there.verify();
    let count = |id: &ObjectId| there.store.get(id, AsOf::Latest).unwrap().unwrap().item_count;
    assert_eq!((count(&ObjectId::session("s")), count(&ObjectId::chat("s"))), (1, 2));
    assert_eq!((count(&ObjectId::session("other")), count(&ObjectId::chat("other"))), (1, 3));
}

#[test]
fn a_reference_resolves_elsewhere_and_detects_another_hash() {
    let here = World::in_sqlite().with_history();
    for there in World::each() {
        there.file("/a.rs", "of this store\n");
        there.import(&here.export(ArchiveScope::Everything));
        for version in here.versions() {
            let pinned = Store::static_reference(&version);
            let found = there.store.resolve(&Reference::Static(pinned.clone())).unwrap();
            assert_eq!((found.envelope, found.origin), (version.envelope, version.origin));
            let wrong = StaticReference { content_hash: Hash::of("other"), ..pinned };
            let error = there.store.resolve(&Reference::Static(wrong)).unwrap_err();
            assert_eq!(error.code(), "HASH_MISMATCH");
            assert!(error.to_string().contains(Hash::of("other").as_str()), "{error}");
        }
    }
}

#[test]
fn diverged_copies_of_a_store_are_told_apart_by_hashes() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    World::on(SqliteBackend::open(&path("a")).unwrap()).file("/a", "common\n");
    std::fs::copy(path("a"), path("b")).unwrap();
    let [a, b] = ["a", "b"].map(|name| World::on(SqliteBackend::open(&path(name)).unwrap()));
    let file = a.file("/a", "one way\n");
    b.file("/a", "another way\n");
    assert_eq!(a.store.id(), b.store.id());
    a.import(&b.export(ArchiveScope::Everything));
    b.import(&a.export(ArchiveScope::Everything));
    assert_eq!(a.portable(), b.portable());
    assert_eq!(a.latest(), b.latest());
    assert_eq!(a.portable().len(), 3);
    let texts = |world: &World| -> Vec<String> {
        let history = world.store.history(&file).unwrap();
        history.iter().map(|version| world.store.content(version).unwrap().unwrap()).collect()
    };
    assert!(texts(&a).contains(&"another way\n".to_owned()));
    a.verify();
}

#[test]
fn a_document_of_many_megabytes_goes_through() {
    let (here, there) = (World::in_sqlite(), World::in_sqlite());
    let line =
        |n: usize| format!("fn f{n}() {{ println!(\"é {}\"); }}\t// a line of text\n", n * n);
    let megabytes = if testing::cases::is_long() { 100 } else { 6 };
    let mut text: String = (0..megabytes * 20_000).map(line).collect();
    assert!(text.len() > megabytes << 20, "{}", text.len());
    text.truncate(megabytes << 20);
    let file = here.file("/large", &text);
    let options = ExportOptions { scope: ArchiveScope::Everything, redact: false, compress: true };
    let (archive, _) = here.export_with(&options);
    there.import(&archive);
    let version = there.store.get(&file, AsOf::Latest).unwrap().unwrap();
    assert!(there.store.content(&version).unwrap().unwrap() == text);
    let options = ImportOptions { max_line_bytes: 1 << 20, ..ImportOptions::default() };
    let path = std::path::Path::new("-");
    let refused =
        World::in_memory()
            .store
            .import_archive(Box::new(&*archive), path, &options, &mut |_| Ok(()));
    let (line, problem) = malformed(refused);
    assert_eq!((line, problem.as_str()), (2, "is longer than 1048576 bytes"));
}

#[test]
fn an_archive_that_is_wrong_in_one_line_leaves_nothing_behind() {
    let here = World::in_memory().with_history();
    let archive = here.export(ArchiveScope::Everything);
    let all = lines(&archive);
    let number = |kind: &str| {
        1 + all.iter().position(|line| line.contains(&format!(r#"{{"kind":"{kind}""#))).unwrap()
    };
    let (content, version, item) = (number("content"), number("version"), number("item"));
    let change = |number: usize, from: &str, to: &str| {
        let mut changed = all.clone();
        assert!(changed[number - 1].contains(from), "{}", changed[number - 1]);
        changed[number - 1] = changed[number - 1].replacen(from, to, 1);
        sealed(&changed)
    };
    let without = |number: usize| {
        let mut changed = all.clone();
        changed.remove(number - 1);
        sealed(&changed)
    };
    let end = all.len();
    let cut = archive[..archive.len() - 10].to_vec();
    let other = Hash::of("other").to_string();
    let hash_of = |number: usize, key: &str| {
        let line: Value = serde_json::from_str(&all[number - 1]).unwrap();
        line[key].as_str().unwrap().to_owned()
    };
    for (line, wrong, problem) in [
        (1, Vec::new(), "is empty"),
        (1, b"{}\n".to_vec(), "is not a header"),
        (1, change(1, "\"version\":1", "\"version\":2"), "format version 2"),
        (content, change(content, "a() {}", "b() {}"), "hashes to"),
        (version, change(version, "\"fs\"", "\"other\""), "identity"),
        (version, change(version, "\"char_count\":", "\"char_count\":1"), "payload that hashes to"),
        (
            version,
            change(version, &hash_of(version, "content_hash"), &other),
            "payload that hashes",
        ),
        (
            version,
            change(
                version,
                &format!("\"content\":\"{}\"", hash_of(version, "content")),
                &format!("\"content\":\"{other}\""),
            ),
            "no line is before",
        ),
        (version - 1, without(content), "no line is before"),
        (item, change(item, "one", "two"), "is not what its hash says"),
        (item, without(item), "is not what its hash says"),
        (item + 1, change(item, "\"kind\":\"item\"", "\"kind\":\"unheard\""), "its hash says"),
        (end, cut, "cut off"),
        (end - 1, lines(&archive)[..end - 1].join("\n").into_bytes(), "cut off"),
        (end + 1, [&*archive, b"{}\n"].concat(), "behind the last one"),
        (2, [all[0].as_bytes(), b"\n{}\n"].concat(), "cannot be read"),
        (2, [all[0].as_bytes(), b"\n\xff\xfe\n"].concat(), "UTF-8"),
    ] {
        for there in World::each() {
            let result = there.try_import(&wrong);
            assert!(result.is_err(), "line {line} is to be refused: {problem}");
            let (found_line, found) = malformed(result);
            assert!(found.contains(problem), "line {found_line} {found}, expected: {problem}");
            assert_eq!(found_line, line as u64, "{found}");
            assert!(there.versions().is_empty());
        }
    }
    let mut flipped = archive.clone();
    let place = flipped.iter().rposition(|byte| *byte == b'}').unwrap() - 80;
    flipped[place] ^= 1;
    malformed(World::in_memory().try_import(&flipped));
    let options = ExportOptions { scope: ArchiveScope::Everything, redact: false, compress: true };
    let (compressed, _) = here.export_with(&options);
    let cut = &compressed[..compressed.len() / 2];
    let (_, problem) = malformed(World::in_memory().try_import(cut));
    assert!(problem.contains("cannot be decompressed") || problem.contains("cut off"), "{problem}");
}

#[test]
fn fields_and_lines_of_a_later_program_are_passed_over() {
    let here = World::in_memory().with_history();
    let mut all = lines(&here.export(ArchiveScope::Everything));
    for line in &mut all {
        *line = line.replacen('{', r#"{"later":[1,{"kind":"x"}],"#, 1);
    }
    all.insert(1, r#"{"kind":"relation","from":"a"}"#.into());
    let archive = sealed(&all);
    for there in World::each() {
        let imported = there.import(&archive);
        assert_eq!(
            imported.unknown_lines.into_iter().collect::<Vec<_>>(),
            [("relation".into(), 1)]
        );
        assert_eq!(there.portable(), here.portable());
    }
}

#[test]
fn an_object_of_a_later_type_is_left_out_and_listed() {
    let here = World::in_memory();
    here.file("/a", "text\n");
    let mut all = lines(&here.export(ArchiveScope::Everything));
    let place = all.iter().position(|line| line.contains(r#""kind":"version""#)).unwrap();
    let mut line: Value = serde_json::from_str(&all[place]).unwrap();
    let identity = canonical_json(&json!({ "id": "p", "type": "page", "source": null })).unwrap();
    line["id"] = "p".into();
    line["type"] = "page".into();
    line["source"] = Value::Null;
    line["identity_hash"] = Hash::of(identity).as_str().into();
    all.insert(place + 1, line.to_string());
    for there in World::each() {
        let imported = there.import(&sealed(&all));
        assert_eq!(imported.versions, 1);
        let left: Vec<_> = imported.left_out.iter().map(|l| (l.id.as_str(), l.reason)).collect();
        assert_eq!(left, [("p", "unknown_type")]);
    }
}

#[test]
fn conflicting_versions_are_left_out_and_listed() {
    for (here, there) in World::each().into_iter().zip(World::each()) {
        let mine = here.file("/mine", "a\n");
        here.name("main", &mine);
        let segment = Envelope::unsourced(ObjectId::new("x"), ObjectType::ChatSegment).unwrap();
        here.put(segment, &Payload::default());
        let theirs = there.file("/theirs", "b\n");
        there.name("main", &theirs);
        there.toolcall("x", "a toolcall", None);
        let imported = there.import(&here.export(ArchiveScope::Everything));
        assert_eq!(imported.versions, 1);
        let left: Vec<_> =
            imported.left_out.iter().map(|l| (l.id.as_str(), l.reason, l.versions)).collect();
        assert_eq!(left, [("x", "other_object", 1), (mine.as_str(), "nickname_taken", 0)]);
        assert!(imported.left_out[1].detail.contains("`main`"), "{:?}", imported.left_out);
        let main = Nickname::parse("main").unwrap();
        assert_eq!(there.store.find_nickname(&main).unwrap(), Some(theirs));
    }
}

#[test]
fn a_call_of_another_session_with_the_same_id_is_another() {
    for here in World::each() {
        let there = World::in_memory();
        let call = |world: &World, chat: &str, position: u64, output: &str| {
            let fields =
                json!({ "tool": "bash", "args": {}, "chat_ref": chat, "position": position });
            let Value::Object(fields) = fields else { unreachable!() };
            let payload =
                Payload { content: Some(output.to_owned()), fields, ..Payload::default() };
            let id = ObjectId::new("call_0");
            world.put(Envelope::unsourced(id, ObjectType::Toolcall).unwrap(), &payload)
        };
        let id = call(&here, "chat:mine", 1, "mine\n");
        there.clock.fetch_add(1_000, Ordering::Relaxed);
        call(&there, "chat:theirs", 1, "theirs\n");
        let imported = here.import(&there.export(ArchiveScope::Everything));
        assert_eq!((imported.versions, imported.left_out.len()), (1, 0));
        let of_chat = Hash::of("chat:theirs");
        let mark = &of_chat.as_str()[..8];
        for (id, output) in
            [(&id, "mine\n"), (&ObjectId::new(format!("call_0~{mark}")), "theirs\n")]
        {
            let version = here.store.get(id, AsOf::Latest).unwrap().unwrap();
            assert_eq!(here.store.content(&version).unwrap().as_deref(), Some(output));
        }
        assert_eq!(here.import(&there.export(ArchiveScope::Everything)).versions, 0);
        // The same call with another output is a version of it.
        let again = World::in_memory();
        call(&again, "chat:mine", 1, "mine, changed by the host\n");
        assert_eq!(here.import(&again.export(ArchiveScope::Everything)).versions, 1);
    }
}

#[test]
fn a_forgotten_object_is_not_stored_again() {
    let here = World::in_memory().with_history();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    let there = World::on(SqliteBackend::open(&path).unwrap());
    there.toolcall("call_0", "of this store", None);
    let file = rusqlite::Connection::open(&path).unwrap();
    file.execute("UPDATE object SET forgotten = 1 WHERE id = 'call_0'", []).unwrap();
    let imported = there.import(&here.export(ArchiveScope::Everything));
    let left: Vec<_> =
        imported.left_out.iter().map(|l| (l.id.as_str(), l.reason, l.versions)).collect();
    assert_eq!(left, [("call_0", "forgotten", 1)]);
    assert_eq!(imported.versions, here.versions().len() as u64 - 1);
    assert_eq!(there.store.history(&ObjectId::new("call_0")).unwrap().len(), 1);
}

#[test]
fn importing_during_other_writes_takes_the_whole_archive() {
    let (here, there) = (World::in_sqlite(), World::in_sqlite());
    for number in 0..300 {
        here.file(&format!("/{}", number % 7), &format!("{number}\n"));
    }
    let archive = here.export(ArchiveScope::Everything);
    let (done, started) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| {
            let mut written = 0;
            while !done.load(Ordering::Relaxed) {
                there.file(&format!("/{}", written % 7), &format!("beside {written}\n"));
                started.store(true, Ordering::Relaxed);
                written += 1;
            }
            written
        });
        while !started.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
        let imported = there.try_import(&archive);
        done.store(true, Ordering::Relaxed);
        assert_eq!(imported.unwrap().versions, 300);
        assert!(writing.join().unwrap() > 0);
    });
    there.verify();
}

#[test]
fn an_import_that_cannot_write_can_be_continued_later() {
    let here = World::in_memory().with_history();
    let there = World::in_memory();
    let mut stops = |_| Err(Error::Closed { what: "test" });
    let path = std::path::Path::new("-");
    let archive = here.export(ArchiveScope::Everything);
    let input = Box::new(&*archive);
    let stopped = there.store.import_archive(input, path, &ImportOptions::default(), &mut stops);
    assert_eq!(stopped.unwrap_err().code(), "CLOSED");
    assert!(there.versions().is_empty());
    there.import(&archive);
    assert_eq!(there.latest(), here.latest());
}

#[test]
fn a_version_without_items_cannot_follow_one_with_items() {
    let (here, there) = (World::in_memory(), World::in_memory());
    let chat = Envelope::unsourced(ObjectId::chat("s"), ObjectType::Chat).unwrap();
    here.put(chat.clone(), &Payload::default());
    let mut transaction = there.store.begin();
    let add = vec!["{}".to_owned()];
    transaction.splice(chat, Payload::default(), 0, add, Expected::Absent).unwrap();
    transaction.commit().unwrap();
    let imported = there.import(&here.export(ArchiveScope::Everything));
    let left: Vec<_> = imported.left_out.iter().map(|left| left.reason).collect();
    assert_eq!((imported.versions, left), (0, vec!["without_items"]));
}

#[test]
fn an_archive_as_a_file_appears_whole_and_for_its_user_only() {
    let here = World::in_memory().with_history();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("all.jsonl.zst");
    std::fs::write(&path, "what was there").unwrap();
    let compress = ExportOptions::compresses(&path);
    let options = ExportOptions { scope: ArchiveScope::Everything, redact: false, compress };
    let mut fails = |_| Err(Error::Closed { what: "test" });
    for number in 0..300 {
        here.file("/a", &format!("{number}\n"));
    }
    here.store.export_archive_file(&path, &options, &mut fails).unwrap_err();
    assert_eq!(std::fs::read(&path).unwrap(), b"what was there");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left behind");
    let exported = here.store.export_archive_file(&path, &options, &mut |_| Ok(())).unwrap();
    assert_eq!(exported.written_bytes, path.metadata().unwrap().len());
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::PermissionsExt::mode(&path.metadata().unwrap().permissions());
        assert_eq!(mode & 0o777, 0o600);
    }
    let there = World::in_memory();
    let limits = ImportOptions::default();
    there.store.import_archive_file(&path, &limits, &mut |_| Ok(())).unwrap();
    assert_eq!(there.portable(), here.portable());
    let missing = folder.path().join("none");
    let error = there.store.import_archive_file(&missing, &limits, &mut |_| Ok(())).unwrap_err();
    assert_eq!(error.code(), "FILE");
}

#[test]
fn the_time_of_an_origin_is_no_part_of_the_identity() {
    let here = World::in_memory().with_history();
    let there = World::in_sqlite();
    there.import(&here.export(ArchiveScope::Everything));
    for version in here.versions() {
        let mut pinned = Store::static_reference(&version);
        pinned.origin = Origin { time: base::object::Timestamp(-1), ..pinned.origin };
        there.store.resolve(&Reference::Static(pinned)).unwrap();
    }
}

#[test]
#[cfg(unix)]
fn an_archive_replaces_a_link_but_not_its_target() {
    let here = World::in_memory().with_history();
    let folder = tempfile::tempdir().unwrap();
    let (path, victim) = (folder.path().join("all.jsonl"), folder.path().join("victim"));
    std::fs::write(&victim, "not ours").unwrap();
    std::os::unix::fs::symlink(&victim, &path).unwrap();
    let options = ExportOptions { scope: ArchiveScope::Everything, redact: false, compress: false };
    here.store.export_archive_file(&path, &options, &mut |_| Ok(())).unwrap();
    assert_eq!(std::fs::read(&victim).unwrap(), b"not ours");
    assert!(path.symlink_metadata().unwrap().is_file());
}
