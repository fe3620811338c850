//! Text that the store does not hold because it is excluded, forgotten or redacted: it is nowhere
//! in the store, goes out nevertheless, and is named where a recorded call is rendered again.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use base::object::{AsOf, ObjectId, RedactionReason};
use config::{Layout, Settings};
use live::{CallInfo, CallPlace, HostList, LiveSession, Replayed, Wanted, replay_call};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};
use session::WithheldReason;
use store::{ForgetOptions, Store};
use tempfile::TempDir;

use crate::failing::FailingBackend;
use crate::host::{Host, uncached};

const SECRET: &str = "sk-7f3a9c";

/// A session whose user, model, tool output and file name the secret; and its backend.
fn session(settings: Settings) -> (Host, Arc<FailingBackend>) {
    let backend = Arc::new(FailingBackend::default());
    let mut host = Host::with_store(settings, Store::with_backend(Arc::clone(&backend) as _));
    host.write_file("config.txt", &format!("one\nkey={SECRET}\nthree\n"));
    host.user("look");
    host.send();
    host.read("config.txt", None, None);
    host.tool("bash", &json!({ "command": "make" }), &format!("{SECRET}\nok"));
    host.say(&format!("it is {SECRET}"));
    host.user("well");
    host.send();
    (host, backend)
}

fn replay_without(reason: RedactionReason, settings: Settings) -> (Host, Replayed) {
    let (host, backend) = session(settings);
    *backend.taken_out.lock().unwrap() = Some((SECRET.to_owned(), reason));
    let replayed = replay_call(&host.store, host.live.id(), 2).unwrap();
    assert!(!replayed.messages.concat().contains(SECRET));
    assert_eq!(replayed.messages.len(), host.sent.len());
    (host, replayed)
}

fn reasons(replayed: &Replayed) -> Vec<(usize, WithheldReason)> {
    replayed.withheld.iter().map(|place| (place.message, place.reason)).collect()
}

#[test]
fn a_redacted_call_names_the_places_and_checks_its_hash() {
    use WithheldReason::Redacted;
    let (host, replayed) = replay_without(RedactionReason::Secret, Settings::default());
    assert_eq!(reasons(&replayed), [(2, Redacted), (4, Redacted), (5, Redacted)]);
    assert_eq!(replayed.withheld[1].object, Some(ObjectId::new("call_2")));
    assert!(replayed.withheld.iter().all(|place| place.digest.is_some()));
    assert!(replayed.messages[4].contains("REDACTED\\nok"), "{}", replayed.messages[4]);
    let first = replay_call(&host.store, host.live.id(), 1).unwrap();
    assert_eq!(first.withheld, [], "nothing is withheld of the first call");
}

#[test]
fn a_line_stands_for_forgotten_text() {
    use WithheldReason::{Forgotten, Redacted};
    let (_, replayed) = replay_without(RedactionReason::Forgotten, Settings::default());
    // An item does not say why something was taken out of it.
    assert_eq!(reasons(&replayed), [(2, Forgotten), (4, Forgotten), (5, Redacted)]);
    let line = "[withheld: forgotten, object call_2]";
    assert!(replayed.messages[4].contains(line), "{}", replayed.messages[4]);
}

#[test]
fn redacted_active_content_is_reported_as_a_place() {
    let settings = Settings { layout: Layout::Pools, ..Settings::default() };
    let (host, replayed) = replay_without(RedactionReason::Forgotten, settings);
    let last = host.sent.len() - 1;
    let CallPlace { message, reason, object, digest } = replayed.withheld.last().unwrap();
    assert_eq!((*message, *reason), (last, WithheldReason::Forgotten));
    assert_eq!((object.clone(), digest), (Some(ObjectId::new("call_2")), &None));
    assert!(replayed.messages[last].contains("ACTIVE_CONTENT id=call_2\\n[withheld"));
}

/// Everything that a model and a person do with a file that is excluded, with failed calls and
/// restarts in between.
fn session_with_secrets(store: &Path, layout: Layout, exclude: Option<Vec<String>>) -> Host {
    let settings = Settings {
        layout,
        exclude,
        keep_results: 1,
        collapse_tokens: 200,
        prices: uncached(),
        ..Settings::default()
    };
    let mut host = Host::with_store(settings, Store::open(store.to_str().unwrap()).unwrap());
    host.rewrites = true;
    host.write_file(".env", &format!("A=1\nKEY={SECRET}\n"));
    host.write_file("main.rs", "fn main() {}\n");
    std::fs::create_dir(host.path("sub")).unwrap();
    host.write_file("sub/server.pem", SECRET);
    let secret = format!("A=1\nKEY={SECRET}\n");
    host.user("look");
    host.read(".env", None, None);
    host.send();
    host.tool("bash", &json!({ "command": "cat .env" }), &secret);
    host.restart();
    host.send();
    host.tool("bash", &json!({ "command": "cat *.e* sub/*.pem" }), SECRET);
    host.tool("bash", &json!({ "command": "grep -rn KEY ." }), &format!("./.env:2:KEY={SECRET}"));
    host.tool("bash", &json!({ "command": "cat $'\\x2eenv'" }), SECRET);
    host.tool("bash", &json!({ "command": "git diff" }), &format!("+++ b/.env\n+KEY={SECRET}"));
    let headed = format!("diff -re a/.env b/.env\n1c\nKEY={SECRET}\n.");
    host.tool("bash", &json!({ "command": "diff -re a b" }), &headed);
    host.tool(
        "grep",
        &json!({ "pattern": "KEY" }),
        &format!("main.rs:1: fn\n.env:2: KEY={SECRET}"),
    );
    host.tool("custom", &json!({ "files": [{ "name": "sub/server.pem" }] }), SECRET);
    host.send();
    let broken = host.live.transform(HostList::whole(vec!["{".to_owned()]), &CallInfo::default());
    host.live.record_failed_call(broken.unwrap_err().code());
    host.crash();
    host.write_file(".env", &format!("B={SECRET}\n"));
    host.tool(
        "write",
        &json!({ "path": ".env", "content": format!("B={SECRET}\n") }),
        "Wrote .env",
    );
    host.edit(".env", SECRET, &format!("{SECRET}{SECRET}"));
    host.tool("bash", &json!({ "command": format!("echo {SECRET} > .env") }), "(no output)");
    host.send();
    host.push(
        json!({ "role": "bashExecution", "command": "head .env", "output": SECRET, "exitCode": 0 }),
    );
    host.user(&format!("<file name=\"/x/.env\">\n{SECRET}\n</file>\nwhat is it?"));
    host.send();
    let last = host.messages.len() - 1;
    for n in 0..6 {
        host.messages[last]["content"][0]["text"] =
            json!(format!("<file name=\"/x/.env\">{SECRET} {n}</file>"));
        host.send();
    }
    host.write_file("main.rs", "fn main() { main() }\n");
    host.read("main.rs", None, None);
    host.tool("bash", &json!({ "command": "make" }), &"some line of output\n".repeat(200));
    host.send();
    host.tool("bash", &json!({ "command": "true" }), "fine");
    host.send();
    host.restart();
    host.fork("fork");
    host.user("end");
    host.send();
    host
}

/// Every value of every table, blobs also decompressed, and the bytes of the files.
pub(crate) fn everything_in(store: &Path) -> Vec<Vec<u8>> {
    let mut found: Vec<Vec<u8>> = Vec::new();
    for suffix in ["", "-wal", "-shm"] {
        let name = format!("{}{suffix}", store.to_str().unwrap());
        found.extend(std::fs::read(name));
    }
    let connection = Connection::open_with_flags(store, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let names = "SELECT name FROM sqlite_master WHERE type = 'table'";
    let mut statement = connection.prepare(names).unwrap();
    let tables: Vec<String> =
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    for table in tables {
        let mut statement = connection.prepare(&format!("SELECT * FROM \"{table}\"")).unwrap();
        let columns = statement.column_count();
        let mut rows = statement.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            for column in 0..columns {
                let (ValueRef::Text(bytes) | ValueRef::Blob(bytes)) = row.get_ref(column).unwrap()
                else {
                    continue;
                };
                found.push(bytes.to_vec());
                found.extend(zstd::decode_all(bytes));
            }
        }
    }
    found
}

fn holds_secret(store: &Path) -> bool {
    let secret = SECRET.as_bytes();
    everything_in(store).iter().any(|bytes| bytes.windows(secret.len()).any(|part| part == secret))
}

#[test]
fn text_of_an_excluded_file_is_nowhere_in_the_store() {
    for layout in [Layout::Log, Layout::Pools] {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("store.sqlite");
        let host = session_with_secrets(&store, layout, None);
        let shown = Value::from(host.sent.clone()).to_string();
        assert_eq!(
            shown.matches(SECRET).count(),
            Value::from(host.messages.clone()).to_string().matches(SECRET).count()
        );
        assert!(!holds_secret(&store), "{layout:?}");
        let call = replay_call(&host.store, host.live.id(), host.live.state().calls()).unwrap();
        assert!(call.withheld.len() >= 14, "{:?}", reasons(&call));
        assert!(call.withheld.iter().all(|place| place.digest.is_some()));
        let control = folder.path().join("control.sqlite");
        session_with_secrets(&control, layout, Some(Vec::new()));
        assert!(holds_secret(&control), "the search finds what is there");
    }
}

#[test]
fn a_late_result_is_withheld_like_its_call() {
    for command in
        ["cat .e\"n\"v", "cd sub && cat server.pem", "cat .env | tr a b", "x=.env; cat $x"]
    {
        for restarts in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let store = folder.path().join("store.sqlite");
            let mut host = Host::with_store(
                Settings::default(),
                Store::open(store.to_str().unwrap()).unwrap(),
            );
            std::fs::create_dir(host.path("sub")).unwrap();
            host.write_file(".env", SECRET);
            host.write_file("sub/server.pem", SECRET);
            host.user("look");
            let call = host.call("bash", &json!({ "command": command }));
            host.send();
            if restarts {
                host.restart();
            }
            let content = json!([{ "type": "text", "text": SECRET }]);
            host.push_result(&call, "bash", &content, false);
            host.send();
            assert!(!holds_secret(&store), "{command}");
            assert!(Value::from(host.sent.clone()).to_string().contains(SECRET));
        }
    }
}

#[test]
fn a_failed_call_stores_no_excluded_text() {
    let backend = Arc::new(FailingBackend::default());
    let store = Store::with_backend(Arc::clone(&backend) as _);
    let mut host = Host::with_store(Settings::default(), store);
    host.write_file(".env", SECRET);
    host.user("look");
    host.read(".env", None, None);
    backend.fails.store(true, Ordering::Relaxed);
    let error = host.transform().unwrap_err();
    host.live.record_failed_call(error.code());
    backend.fails.store(false, Ordering::Relaxed);
    let failed = host.messages.clone();
    host.send();
    let items = host.store.items(host.live.id(), AsOf::Latest, 0..u64::MAX).unwrap();
    assert!(!items.concat().contains(SECRET), "{items:?}");
    let first = replay_call(&host.store, host.live.id(), 1).unwrap();
    assert_eq!(reasons(&first), [(2, WithheldReason::Excluded)]);
    assert_eq!(first.messages.len(), failed.len());
}

#[test]
fn activating_an_excluded_file_says_why_there_is_no_text() {
    let mut host = Host::new(Settings::default());
    host.write_file(".env", SECRET);
    host.user("look");
    host.read(".env", None, None);
    host.send();
    let answer = host.activate(&Wanted { name: ".env".into(), ..Wanted::default() }, false);
    let why = "the file is excluded: the setting `exclude` names it";
    assert_eq!(answer, format!("[f1] .env · no text: {why}"));
    host.send();
    let file = host.live.state().index().entries[0].id.clone();
    let version = host.store.get(&file, AsOf::Latest).unwrap().unwrap();
    assert_eq!((&version.fields["no_content"], version.source_hash), (&json!("excluded"), None));
}

#[test]
fn activating_an_unstored_output_says_the_true_reason() {
    let mut host = Host::new(Settings::default());
    host.write_file(".env", SECRET);
    host.user("look");
    host.tool("bash", &json!({ "command": "cat .env" }), SECRET);
    let key = "API_KEY=sk-proj-0123456789abcdefghijABCDEFGHIJ0123456789abcdefghij";
    host.tool("bash", &json!({ "command": "grep -rh KEY ." }), key);
    host.send();
    for (name, expected) in [
        ("t1", "its output is not stored: it is from a file that the setting `exclude` names"),
        ("t2", "its output is not stored: it holds what looks like a secret, and may be from a"),
    ] {
        let wanted = Wanted { name: name.into(), ..Wanted::default() };
        let answer = host.activate(&wanted, false);
        assert!(answer.starts_with(&format!("[{name}] bash · {expected}")), "{answer}");
    }
    host.send();
    let replayed = replay_call(&host.store, host.live.id(), 1).unwrap();
    let of = |reason| reasons(&replayed).iter().filter(|(_, of)| *of == reason).count();
    assert_eq!((of(WithheldReason::Excluded), of(WithheldReason::Secret)), (1, 1));
}

/// Has the store forget an object.
fn forget(backend: &FailingBackend, id: &str) {
    backend.forgotten.lock().unwrap().insert(ObjectId::new(id));
}

fn chat_of(host: &Host) -> String {
    let chat = ObjectId::new(host.live.id().as_str().replace("session:", "chat:"));
    host.store.items(&chat, AsOf::Latest, 0..u64::MAX).unwrap().concat()
}

#[test]
fn forgotten_text_is_not_stored_when_the_host_shows_it_again() {
    for layout in [Layout::Log, Layout::Pools] {
        let (mut host, backend) = session(Settings { layout, ..Settings::default() });
        let file = host.live.state().index().entries[0].id.clone();
        forget(&backend, "call_2");
        forget(&backend, file.as_str());
        // Back, and then on with the same messages: they come as new ones.
        let messages = host.messages.clone();
        host.messages.truncate(1);
        host.user("another way");
        host.send();
        host.messages = messages[..5].to_vec();
        host.user("and now");
        host.send();
        assert!(!chat_of(&host).contains(SECRET), "{}", chat_of(&host));
        let call = replay_call(&host.store, host.live.id(), host.live.state().calls()).unwrap();
        let pool = usize::from(layout == Layout::Pools);
        let expected =
            [(2 + pool, WithheldReason::Forgotten), (4 + pool, WithheldReason::Forgotten)];
        assert_eq!(reasons(&call)[..2], expected);
        let answer = host.activate(&Wanted { name: "t2".into(), ..Wanted::default() }, false);
        assert_eq!(answer, "object `call_2` was forgotten");
        host.restart();
        host.send();
    }
}

#[test]
fn text_forgotten_while_the_session_runs_is_not_stored_again() {
    let backend = Arc::new(FailingBackend::default());
    let store = Store::with_backend(Arc::clone(&backend) as _);
    let mut host = Host::with_store(Settings::default(), store);
    host.write_file("a.txt", SECRET);
    host.user("go");
    host.send();
    // The store knows no version of them yet: only the write is refused.
    forget(&backend, "call_1");
    host.tool("bash", &json!({ "command": "make" }), SECRET);
    host.send();
    assert_eq!(host.sent, host.messages);
    assert!(!chat_of(&host).contains(SECRET));
    host.read("a.txt", None, None);
    host.send();
    let file = host.live.state().index().entries.last().unwrap().id.clone();
    let standing = host.live.state().all_showings().next().unwrap().object.clone();
    forget(&backend, standing.as_str());
    host.write_file("a.txt", "changed");
    host.user("on");
    host.send();
    assert_eq!(host.live.state().chat().messages.len(), host.messages.len(), "{file}");
    host.restart();
    host.user("end");
    host.send();
}

#[test]
fn a_forgotten_session_cannot_reopen_and_its_fork_starts_anew() {
    let (mut host, backend) = session(Settings::default());
    host.live.close().unwrap();
    for id in ["session:session-1", "chat:session-1", "system_prompt:session-1"] {
        forget(&backend, id);
    }
    let error = LiveSession::open(host.store.clone(), host.options()).unwrap_err();
    assert_eq!(error.code(), "FORGOTTEN");
    host.fork("fork");
    assert_eq!(host.live.state().chat().len(), 0);
    host.send();
}

#[test]
fn a_fork_keeps_what_is_known_of_redacted_messages() {
    let (mut host, backend) = session(Settings::default());
    *backend.taken_out.lock().unwrap() = Some((SECRET.to_owned(), RedactionReason::Secret));
    host.fork("fork");
    *backend.taken_out.lock().unwrap() = None;
    host.user("on");
    host.send();
    let call = replay_call(&host.store, host.live.id(), host.live.state().calls()).unwrap();
    assert_eq!(reasons(&call), [(5, WithheldReason::Redacted)]);
}

#[test]
fn a_session_survives_forgetting_its_toolcall_and_file() {
    for layout in [Layout::Log, Layout::Pools] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.sqlite");
        let store = Store::open(path.to_str().unwrap()).unwrap();
        let mut host = Host::with_store(Settings { layout, ..Settings::default() }, store);
        host.rewrites = true;
        host.write_file("config.txt", &format!("the key of the file is {SECRET}\n"));
        host.user("look");
        host.read("config.txt", None, None);
        host.tool(
            "bash",
            &json!({ "command": "make" }),
            &format!("the key of make is {SECRET}\nok"),
        );
        host.send();
        let calls = host.live.state().calls();
        host.live.close().unwrap();
        let options = ForgetOptions { dry_run: false, everywhere: true };
        let file = host.live.state().index().entries[0].id.clone();
        for id in [file, ObjectId::new("call_2")] {
            host.store.forget(&id, options).unwrap();
        }
        assert!(!holds_secret(&path), "{layout:?}");
        let call = replay_call(&host.store, host.live.id(), calls).unwrap();
        assert!(!call.withheld.is_empty() && !call.messages.concat().contains(SECRET));
        host.crash();
        host.user("on");
        host.send();
        host.read("config.txt", None, None);
        host.tool("bash", &json!({ "command": "true" }), "fine");
        host.send();
        host.restart();
        host.messages.truncate(5);
        host.user("another way");
        host.send();
        host.fork("fork");
        host.user("end");
        host.send();
        host.live.close().unwrap();
        assert!(!holds_secret(&path), "{layout:?}: it is not stored again");
    }
}

#[test]
fn a_session_forgotten_in_the_store_cannot_be_reopened() {
    let mut host = Host::new(Settings::default());
    host.user("look");
    host.send();
    host.live.close().unwrap();
    host.store.forget(host.live.id(), ForgetOptions { dry_run: false, everywhere: false }).unwrap();
    let error = LiveSession::open(host.store.clone(), host.options()).unwrap_err();
    assert_eq!(error.code(), "FORGOTTEN");
}

#[test]
fn forgotten_text_is_not_stored_under_another_id() {
    let mut host = Host::new(Settings::default());
    let text = format!("a long text that holds the key {SECRET}");
    host.user("look");
    host.call_as("call_0", "bash", &json!({ "command": "a" }));
    host.answer("call_0", "bash", &json!({}), &text, false);
    host.send();
    let options = ForgetOptions { dry_run: false, everywhere: false };
    host.store.forget(&ObjectId::new("call_0"), options).unwrap();
    host.call_as("call_0", "bash", &json!({ "command": "b" }));
    host.answer("call_0", "bash", &json!({}), &text, false);
    host.write_file("a.txt", &text);
    host.read("a.txt", None, None);
    host.send();
    assert_eq!(host.sent, host.messages);
    assert!(!chat_of(&host).contains(SECRET), "{}", chat_of(&host));
    host.restart();
    host.user("on");
    host.send();
}

/// A session with a forgotten output that the model and the person quote later on.
fn session_with_a_quote_that_was_forgotten(settings: Settings) -> (Host, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    let store = Store::open(path.to_str().unwrap()).unwrap();
    let mut host = Host::with_store(settings, store);
    host.rewrites = true;
    host.thinking = "What is left to do, and what was it that broke here? ".repeat(3);
    let line = format!("the key of make is {SECRET}");
    host.user("begin");
    host.say("gladly");
    host.user("look");
    host.tool("bash", &json!({ "command": "make" }), &format!("{line}\nok"));
    host.say(&format!("I see:\n{line}\nso it works"));
    host.user(&format!("you wrote\n{line}\nand what now?"));
    host.send();
    for n in 0..9 {
        host.tool("bash", &json!({ "command": format!("echo {n}") }), &n.to_string());
        host.send();
    }
    host.live.close().unwrap();
    let options = ForgetOptions { dry_run: false, everywhere: true };
    host.store.forget(&ObjectId::new("call_1"), options).unwrap();
    assert!(!holds_secret(&path));
    host.crash();
    (host, folder)
}

#[test]
fn editing_an_early_message_keeps_later_redactions() {
    for layout in [Layout::Log, Layout::Pools] {
        let settings = Settings { layout, ..Settings::default() };
        let (mut host, _folder) = session_with_a_quote_that_was_forgotten(settings);
        for text in ["start", "go"] {
            host.messages[0]["content"][0]["text"] = json!(text);
            host.user("on");
            host.send();
            let call = replay_call(&host.store, host.live.id(), host.live.state().calls()).unwrap();
            let shows = |at: &usize| host.sent[*at].to_string().contains(SECRET);
            let expected: Vec<usize> = (0..host.sent.len()).filter(shows).collect();
            let places: Vec<usize> = call.withheld.iter().map(|place| place.message).collect();
            assert!(places == expected && places.len() >= 2, "{layout:?} {places:?} {expected:?}");
        }
        let calls = host.live.state().calls();
        host.restart();
        for call in 1..=calls {
            replay_call(&host.store, host.live.id(), call).unwrap();
        }
    }
}

#[test]
fn a_redacted_message_with_folded_steps_is_a_place_of_the_call() {
    let settings = Settings { keep_results: 2, ..Settings::default() };
    let (mut host, _folder) = session_with_a_quote_that_was_forgotten(settings);
    host.messages[0]["content"][0]["text"] = json!("start");
    host.user("on");
    host.send();
    host.window = 100;
    host.tool("bash", &json!({ "command": "echo last" }), "last");
    host.send();
    let texts: Vec<String> = host.sent.iter().map(Value::to_string).collect();
    let carrier = texts.iter().position(|text| text.contains(SECRET) && text.contains("steps: "));
    let carrier = carrier.unwrap_or_else(|| panic!("{}", host.shown()));
    let call = replay_call(&host.store, host.live.id(), host.live.state().calls()).unwrap();
    assert!(reasons(&call).contains(&(carrier, WithheldReason::Redacted)), "{:?}", reasons(&call));
    assert!(!call.verified, "what went out is known nowhere");
}
