//! Archives from somebody else: what they cannot hide, replace or bring in.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use base::Result;
use base::object::{AsOf, Envelope, Nickname, ObjectId, ObjectType, Payload, Source};
use serde_json::{Value, json};
use store::{ArchiveScope, ExportOptions, ForgetOptions, ImportOptions, Imported};

use crate::world::{World, lines, malformed, sealed};

fn items(what: &str, count: usize) -> Vec<String> {
    (0..count).map(|number| json!({ what: number }).to_string()).collect()
}

fn import_with(world: &World, archive: &[u8], options: &ImportOptions) -> Result<Imported> {
    world.store.import_archive(Box::new(archive), Path::new("-"), options, &mut |_| Ok(()))
}

fn count(world: &World, id: &ObjectId) -> u64 {
    world.store.get(id, AsOf::Latest).unwrap().unwrap().item_count
}

#[test]
fn a_version_from_the_future_is_left_out() {
    for here in World::each() {
        let there = World::in_memory();
        there.file("/a", "now\n");
        there.clock.fetch_add(2 * 60 * 60 * 1_000, Ordering::Relaxed);
        let id = there.file("/a", "later\n");
        let imported = here.import(&there.export(ArchiveScope::Everything));
        assert_eq!((imported.versions, imported.left_out[0].reason), (1, "ahead"));
        let version = here.store.get(&id, AsOf::Latest).unwrap().unwrap();
        assert_eq!(here.store.content(&version).unwrap().as_deref(), Some("now\n"));
    }
}

#[test]
fn a_clock_that_was_wrong_once_is_not_carried_on() {
    const DAYS: i64 = 30 * 24 * 60 * 60 * 1_000;
    for there in World::each() {
        there.clock.fetch_add(DAYS, Ordering::Relaxed);
        let wrong = there.file("/a", "written while it was wrong\n");
        there.clock.fetch_sub(DAYS, Ordering::Relaxed);
        there.file("/a", "written since\n");
        let right = there.file("/b", "another\n");
        let latest = |id: &ObjectId| there.store.get(id, AsOf::Latest).unwrap().unwrap();
        let time = |id: &ObjectId| latest(id).origin.time;
        assert!(latest(&right).system_time >= latest(&wrong).system_time, "it never goes back");
        assert!(time(&right) <= there.store.now(), "{}", time(&right));
        // Elsewhere the first version would else become the latest when its time comes.
        assert!(time(&wrong) > there.store.now(), "{}", time(&wrong));
        let newest = store::doctor::check(&there.store).unwrap().findings;
        assert_eq!(newest.iter().map(|it| it.kind.as_str()).collect::<Vec<_>>(), ["time"]);

        let imported = World::in_memory().import(&there.export(ArchiveScope::Everything));
        assert_eq!((imported.versions, imported.left_out[0].versions), (1, 2));
    }
}

#[test]
fn a_diverged_session_becomes_a_session_of_its_own() {
    for here in World::each() {
        let there = World::in_memory();
        here.session("s", &items("call", 31), Some((0, items("message", 40))));
        there.clock.fetch_add(1_000, Ordering::Relaxed);
        there.session("s", &items("other", 13), Some((0, items("text", 14))));
        let archive = there.export(ArchiveScope::Everything);
        let imported = here.import(&archive);
        let session = ObjectId::session("s");
        assert_eq!((count(&here, &session), count(&here, &ObjectId::chat("s"))), (31, 40));
        let [parted] = imported.parted.as_slice() else { panic!("{imported:?}") };
        assert_eq!(parted.id, session);
        assert_eq!(imported.changed, []);
        assert_eq!(
            imported.left_out.iter().map(|left| left.reason).collect::<Vec<_>>(),
            ["parted"; 2]
        );

        let copy = here.store.get(&parted.stored_as, AsOf::Latest).unwrap().unwrap();
        let chat = ObjectId::new(copy.fields["chat_ref"].as_str().unwrap());
        assert_ne!(chat, ObjectId::chat("s"));
        assert_eq!((copy.item_count, count(&here, &chat)), (13, 14));
        let chat = here.store.get(&chat, AsOf::Latest).unwrap().unwrap();
        assert_eq!(chat.fields["session_ref"], parted.stored_as.as_str());
        here.verify();

        let again = here.import(&archive);
        assert_eq!((again.versions, again.put_again), (0, 0), "{again:?}");
        there.session("s", &items("more", 2), Some((14, items("more", 1))));
        let continued = here.import(&there.export(ArchiveScope::Everything));
        assert_eq!(continued.parted, imported.parted, "a later archive continues the copy");
        assert_eq!(count(&here, &parted.stored_as), 15);
        assert_eq!(count(&here, &session), 31);
        here.verify();
    }
}

#[test]
fn a_session_that_was_continued_elsewhere_is_continued_here() {
    for here in World::each() {
        let there = World::in_memory();
        here.session("s", &items("call", 5), Some((0, items("message", 6))));
        there.import(&here.export(ArchiveScope::Everything));
        // Its clock is behind: a session only grows, so that the longer one is the later one.
        there.clock.store(10, Ordering::Relaxed);
        there.session("s", &items("more", 2), Some((4, items("more", 3))));
        let imported = here.import(&there.export(ArchiveScope::Everything));
        assert_eq!(
            (count(&here, &ObjectId::session("s")), count(&here, &ObjectId::chat("s"))),
            (7, 7)
        );
        assert_eq!(imported.parted, []);
        let changed: Vec<&str> = imported.changed.iter().map(|one| one.kind.as_str()).collect();
        assert_eq!(changed, ["chat", "session"]);
        here.verify();
    }
}

#[test]
fn what_is_the_latest_version_now_is_reported() {
    for here in World::each() {
        let there = World::in_memory();
        let file = here.file("/a", "mine\n");
        here.file("/same", "same\n");
        there.import(&here.export(ArchiveScope::Everything));
        there.clock.fetch_add(1_000, Ordering::Relaxed);
        there.file("/a", "theirs\n");
        there.file("/new", "new\n");
        let imported = here.import(&there.export(ArchiveScope::Everything));
        let [changed] = imported.changed.as_slice() else { panic!("{imported:?}") };
        assert_eq!((&changed.id, changed.path.as_deref()), (&file, Some("/a")));
        assert_eq!(changed.store_id, there.store.id());
        assert!(changed.after > changed.before);
    }
}

#[test]
fn a_file_that_this_store_saw_stays_the_latest_on_request() {
    for here in World::each() {
        let there = World::in_memory();
        let file = here.file("/a", "mine\n");
        there.import(&here.export(ArchiveScope::Everything));
        there.clock.fetch_add(1_000, Ordering::Relaxed);
        there.file("/a", "theirs\n");
        let new = there.file("/new", "new\n");
        let archive = there.export(ArchiveScope::Everything);
        let options = ImportOptions { keeps_files: true, ..ImportOptions::default() };
        for round in 0..2 {
            let imported = import_with(&here, &archive, &options).unwrap();
            assert_eq!(imported.changed, [], "round {round}");
            let latest = here.store.get(&file, AsOf::Latest).unwrap().unwrap();
            assert_eq!(latest.origin.store_id, here.store.id());
            assert_eq!(here.store.payload(&latest).unwrap().content.as_deref(), Some("mine\n"));
        }
        let origins: Vec<_> =
            here.store.history(&file).unwrap().into_iter().map(|v| v.origin.store_id).collect();
        assert!(
            origins.iter().any(|origin| origin == there.store.id()),
            "it is stored all the same"
        );
        assert!(here.store.get(&new, AsOf::Latest).unwrap().is_some());
        here.verify();
    }
}

#[test]
fn a_nickname_like_a_file_or_a_handle_is_left_out() {
    for here in World::each() {
        let there = World::in_memory();
        let file = there.file("/a", "theirs\n");
        for name in ["a.txt", "README", "F1", "--all", "plan"] {
            let mut transaction = there.store.begin();
            transaction.name(Nickname::parse(name).unwrap(), Some(file.clone()));
            transaction.commit().unwrap();
        }
        let archive = there.export(ArchiveScope::Everything);
        let imported = here.import(&archive);
        let reasons: Vec<_> = imported.left_out.iter().map(|left| left.reason).collect();
        assert_eq!((imported.nicknames, reasons), (1, vec!["nickname_mistakable"; 4]));
        let options = ImportOptions { is_own: true, ..ImportOptions::default() };
        assert_eq!(import_with(&here, &archive, &options).unwrap().nicknames, 4);
    }
}

#[test]
fn a_nickname_of_a_foreign_object_yields_to_a_local_path() {
    for here in World::each() {
        let there = World::in_memory();
        let theirs = there.file("/theirs", "theirs\n");
        let mut transaction = there.store.begin();
        transaction.name(Nickname::parse("a.txt").unwrap(), Some(theirs.clone()));
        transaction.commit().unwrap();
        let options = ImportOptions { is_own: true, ..ImportOptions::default() };
        import_with(&here, &there.export(ArchiveScope::Everything), &options).unwrap();
        let mine = here.file("/work/a.txt", "mine\n");
        let find =
            |path: Option<&ObjectId>| here.store.find("a.txt", |_| Ok(path.cloned())).unwrap().id;
        assert_eq!(find(Some(&mine)), mine);
        assert_eq!(find(None), theirs, "nothing else has the name");
        assert_eq!(here.store.elsewhere(&theirs).unwrap().as_deref(), Some(there.store.id()));
        assert_eq!(here.store.elsewhere(&mine).unwrap(), None);
        let own = here.file("/own", "own\n");
        let mut transaction = here.store.begin();
        transaction.name(Nickname::parse("b.txt").unwrap(), Some(own.clone()));
        transaction.commit().unwrap();
        let found = here.store.find("b.txt", |_| Ok(Some(mine.clone()))).unwrap();
        assert_eq!(found.id, own, "one's own nickname goes before a path");
    }
}

#[test]
fn text_of_an_excluded_file_is_left_out() {
    for here in World::each() {
        let there = World::in_memory();
        let secret = there.file("/project/.env", "KEY=1\n");
        let file = there.file("/project/a", "text\n");
        let is_excluded = Arc::new(|path: &str| path == "/project/.env");
        let options = ImportOptions { is_excluded, ..ImportOptions::default() };
        let imported =
            import_with(&here, &there.export(ArchiveScope::Everything), &options).unwrap();
        assert_eq!(imported.left_out[0].reason, "excluded");
        assert_eq!(imported.left_out[0].id, secret);
        assert_eq!(here.store.get(&secret, AsOf::Latest).unwrap(), None);
        assert!(here.store.get(&file, AsOf::Latest).unwrap().is_some());
    }
}

fn redacted(world: &World) -> Vec<u8> {
    world
        .export_with(&ExportOptions {
            scope: ArchiveScope::Everything,
            redact: true,
            compress: false,
        })
        .0
}

#[test]
fn a_whole_version_replaces_a_redacted_one() {
    for here in World::each() {
        let there = World::in_memory();
        let text = "token = \"ghp_0123456789abcdefghijABCDEFGHIJ012345\"\n";
        let file = there.file("/a", text);
        here.import(&redacted(&there));
        let content = || {
            let version = here.store.get(&file, AsOf::Latest).unwrap().unwrap();
            (here.store.content(&version).unwrap().unwrap(), version.redacted.is_some())
        };
        assert!(content().1 && content().0.contains("[redacted:"), "{:?}", content());
        let imported = here.import(&there.export(ArchiveScope::Everything));
        assert_eq!((imported.restored, imported.left_out.len()), (1, 0));
        assert_eq!(content(), (text.to_owned(), false));
        here.verify();
        let again = here.import(&there.export(ArchiveScope::Everything));
        assert_eq!((again.restored, again.versions), (0, 0));
    }
}

#[test]
fn what_was_forgotten_here_is_not_made_whole() {
    for here in World::each() {
        let there = World::in_memory();
        let text = "token = \"ghp_0123456789abcdefghijABCDEFGHIJ012345\"\n";
        there.toolcall("call_1", text, None);
        here.import(&redacted(&there));
        let other = here.toolcall("call_2", text, None);
        let options = ForgetOptions { dry_run: false, everywhere: true };
        here.store.forget(&other, options).unwrap();
        let imported = here.import(&there.export(ArchiveScope::Everything));
        assert_eq!(imported.restored, 0, "{imported:?}");
        let version = here.store.get(&ObjectId::new("call_1"), AsOf::Latest).unwrap().unwrap();
        let content = here.store.content(&version).unwrap().unwrap();
        assert!(!content.contains("ghp_"), "{content}");
    }
}

#[test]
fn a_file_forgotten_elsewhere_comes_without_its_path() {
    for here in World::each() {
        let there = World::in_memory();
        let gone = there.file("/notes/secret.md", "what nobody should read\n");
        there.file("/kept.md", "another text\n");
        let options = ForgetOptions { dry_run: false, everywhere: false };
        there.store.forget(&gone, options).unwrap();
        let archive = there.export(ArchiveScope::Everything);
        assert!(!lines(&archive).concat().contains("secret"));
        let imported = here.import(&archive);
        assert_eq!((imported.versions, imported.left_out), (2, vec![]));
        here.verify();
        let latest = || here.store.get(&gone, AsOf::Latest).unwrap().unwrap();
        assert!(latest().envelope.is_nameless() && latest().redacted.is_some(), "{:?}", latest());
        assert_eq!(latest().content, None);
        // It goes on from here, and stays as it is.
        let next = World::in_memory();
        assert_eq!(next.import(&here.export(ArchiveScope::Everything)).versions, 2);
        // Who reads the file here knows its path.
        here.file("/notes/secret.md", "what stands there now\n");
        let source = latest().envelope.source;
        assert_eq!(source.as_ref().and_then(Source::path), Some("/notes/secret.md"));
        here.verify();
    }
}

#[test]
fn a_file_without_its_path_is_refused_unless_it_is_redacted() {
    let there = World::in_memory();
    there.file("/a", "a\n");
    let mut all = lines(&there.export(ArchiveScope::Everything));
    let place = all.iter().position(|line| line.contains(r#""kind":"version""#)).unwrap();
    let mut line: Value = serde_json::from_str(&all[place]).unwrap();
    line["source"] = Value::Null;
    all[place] = line.to_string();
    let (number, problem) = malformed(World::in_memory().try_import(&sealed(&all)));
    assert_eq!(number, place as u64 + 1);
    assert!(problem.contains("identity"), "{problem}");
}

#[test]
fn a_dry_run_reports_what_an_import_does_and_writes_nothing() {
    for here in World::each() {
        let there = World::in_memory();
        here.session("s", &items("call", 9), None);
        here.session("t", &items("call", 3), Some((0, items("message", 3))));
        here.file("/a", "mine\n");
        here.name("taken", &here.file("/b", "b\n"));
        there.import(&here.export(ArchiveScope::Object(here.file("/a", "mine\n"))));
        there.import(&here.export(ArchiveScope::Session(ObjectId::session("t"))));
        there.clock.fetch_add(1_000, Ordering::Relaxed);
        there.session("s", &items("other", 4), None);
        there.session("t", &items("more", 4), Some((2, items("more", 3))));
        there.file("/a", "theirs\n");
        there.name("taken", &there.file("/c", "c\n"));
        there.name("free", &there.file("/d", "d\n"));
        let archive = there.export(ArchiveScope::Everything);
        let before = here.versions();
        let options = ImportOptions { dry_run: true, ..ImportOptions::default() };
        let would = import_with(&here, &archive, &options).unwrap();
        assert_eq!(here.versions(), before);
        let did = here.import(&archive);
        assert_eq!(would, Imported { dry_run: true, ..did.clone() });
        assert_eq!((did.changed.len(), did.parted.len(), did.nicknames), (3, 1, 1), "{did:?}");
    }
}

#[test]
fn integers_that_a_double_cannot_hold_come_through() {
    let (here, there) = (World::in_sqlite(), World::in_memory());
    let mut payload = Payload::default();
    payload.fields.insert("args".into(), json!({ "id": 12_345_678_901_234_567_890_u64 }));
    let envelope = Envelope::unsourced(ObjectId::new("call_1"), ObjectType::Toolcall).unwrap();
    let id = there.put(envelope, &payload);
    here.import(&there.export(ArchiveScope::Everything));
    let version = here.store.get(&id, AsOf::Latest).unwrap().unwrap();
    assert_eq!(version.fields["args"]["id"], json!(12_345_678_901_234_567_890_u64));
}

#[test]
fn nicknames_are_given_many_in_a_transaction() {
    let (here, there) = (World::in_sqlite(), World::in_memory());
    let file = there.file("/a", "a\n");
    for number in 0..2_500 {
        there.name(&format!("name{number}"), &file);
    }
    let archive = there.export(ArchiveScope::Everything);
    let before = here.clock.load(Ordering::Relaxed);
    let imported = here.import(&archive);
    assert_eq!(imported.nicknames, 2_500);
    let asked = here.clock.load(Ordering::Relaxed) - before;
    assert!(asked < 20, "the clock is asked once for each transaction: {asked}");
    let last = Nickname::parse("name2499").unwrap();
    assert_eq!(here.store.find_nickname(&last).unwrap(), Some(file));
}

#[test]
fn extreme_numbers_are_accepted_or_refused_without_harm() {
    let there = World::in_memory();
    there.file("/a", "one\n");
    there.session("s", &items("call", 3), Some((0, items("message", 4))));
    let whole = String::from_utf8(there.export(ArchiveScope::Everything)).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    let numbers = ["9223372036854775807", "-9223372036854775808", "18446744073709551615", "-1"];
    for key in ["tx", "tx_id", "time", "keep", "add", "version"] {
        let mark = format!("\"{key}\":");
        for number in numbers {
            let changed: Vec<String> = lines
                .iter()
                .map(|line| {
                    let mut parts = line.split(&mark);
                    let mut changed = parts.next().unwrap().to_owned();
                    for part in parts {
                        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
                        changed.extend([&mark, number, rest]);
                    }
                    changed
                })
                .collect();
            let here = World::in_memory();
            // Whatever comes of it, it ends, and the store goes on.
            let _ = here.try_import(&sealed(&changed));
            here.file("/b", "two\n");
            assert!(!here.versions().is_empty(), "{key} {number}");
        }
    }
}
