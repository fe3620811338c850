//! Files linked from active Markdown files: their metadata joins the pool, within `linkedTokens`.

use std::sync::Arc;

use config::{Layout, Settings};
use context::tokens;
use live::Wanted;
use serde_json::Value;
use source::{FileReading, FileState, Location};
use store::{Expected, Store};

use crate::failing::FailingBackend;
use crate::host::Host;

const INDEX: &str =
    "# Index\n[[b]] then [a](a.md), ![[b]] again, [[nowhere]], [[gone]], [e](.env)\n";

fn settings(layout: Layout, linked_tokens: u64) -> Settings {
    Settings { layout, linked_tokens, ..Settings::default() }
}

/// A host whose store holds some files that its session has not met.
fn host(settings: Settings) -> Host {
    with_vault(Host::new(settings))
}

fn with_vault(host: Host) -> Host {
    host.write_file("index.md", INDEX);
    for name in ["a.md", "b.md", "c.md", "gone.md"] {
        host.write_file(name, &format!("# {name}\n[[c]]\n"));
        store_file(&host, name);
    }
    std::fs::remove_file(host.path("gone.md")).unwrap();
    store_file(&host, "gone.md");
    put(&host, ".env", FileState::Excluded { size: 9 });
    host
}

fn store_file(host: &Host, name: &str) {
    let path = source::canonical_path(&host.path(name));
    put(host, name, source::read_file(&path, 1 << 20).state);
}

fn put(host: &Host, name: &str, state: FileState) {
    let location = Location::here("fs", source::canonical_path(&host.path(name)));
    let reading = FileReading { state, stamp: None };
    let found = source::index(&location, reading, None).unwrap().unwrap();
    let mut change = host.store.begin();
    change.put(found.envelope, found.payload, Expected::Any).unwrap();
    change.commit().unwrap();
}

/// The lines of the metadata pool as last sent, as they are.
fn pool(host: &Host) -> Vec<String> {
    let shown = host.shown();
    let lines = shown.lines().skip(1).take_while(|line| line.starts_with("id="));
    lines.map(str::to_owned).collect()
}

/// The pool with the folder, and the object IDs of files that depend on it, by name.
fn named_pool(host: &Host) -> String {
    let folder = host.folder.path().canonicalize().unwrap();
    let mut shown = pool(host).join("\n").replace(folder.to_str().unwrap(), "/project");
    for entry in &host.live.state().index().entries {
        shown = shown.replace(entry.id.as_str(), &format!("<{}>", entry.handle));
    }
    shown
}

fn read_index(host: &mut Host) {
    host.user("look");
    host.read("index.md", None, None);
    host.send();
}

fn activate(host: &mut Host, name: &str) -> String {
    host.activate(&Wanted { name: name.into(), ..Wanted::default() }, false)
}

#[test]
fn linked_files_join_the_pool_once_in_the_order_of_the_links() {
    let mut host = host(settings(Layout::Pools, 1_000));
    read_index(&mut host);
    insta::assert_snapshot!(named_pool(&host), @r"
    id=<f1> type=file path=/project/index.md file_type=md char_count=77
    id=<t1> type=toolcall tool=read status=ok
    id=<f2> type=file path=/project/b.md file_type=md char_count=13
    id=<f3> type=file path=/project/a.md file_type=md char_count=13
    id=<f4> type=file path=/project/.env file_type= char_count=0
    ");
    assert!(!host.shown().contains("# a.md"), "metadata only: {}", host.shown());
    host.user("again");
    activate(&mut host, "a.md");
    host.send();
    assert_eq!(pool(&host).len(), 6, "a.md links to c.md: {}", named_pool(&host));
    assert!(pool(&host)[5].contains("/c.md"), "{}", named_pool(&host));
    activate(&mut host, "b.md");
    host.send();
    assert_eq!(pool(&host).len(), 6, "what is known comes no second time");
}

#[test]
fn a_changed_file_brings_in_what_it_links_to_now() {
    let mut host = host(settings(Layout::Pools, 1_000));
    read_index(&mut host);
    host.edit("index.md", "[[nowhere]]", "[[c]]");
    host.send();
    assert!(pool(&host).iter().any(|line| line.contains("/c.md")), "{}", named_pool(&host));
}

#[test]
fn a_restart_changes_nothing() {
    for layout in [Layout::Pools, Layout::Log] {
        let folder = tempfile::tempdir().unwrap();
        let run = |restarts: bool| {
            let inside =
                tempfile::Builder::new().prefix("vault").rand_bytes(0).tempdir_in(&folder).unwrap();
            let store = Store::open(":memory:").unwrap();
            let mut host = with_vault(Host::within(inside, settings(layout, 150), store));
            let mut requests: Vec<Vec<Value>> = Vec::new();
            host.user("go");
            for step in 0..4 {
                match step {
                    0 => host.read("index.md", None, None),
                    1 => drop(activate(&mut host, "a.md")),
                    2 => host.edit("index.md", "[[nowhere]]", "[[c]]"),
                    _ => host.write_file("index.md", "[[b]] and [[c]]\n"),
                }
                if restarts {
                    host.restart();
                }
                requests.push(host.send());
            }
            (requests, host.live.state().links().tokens)
        };
        let (plain, tokens) = run(false);
        assert!(tokens > 0, "the session must have followed links to prove anything");
        assert_eq!((plain, tokens), run(true));
    }
}

#[test]
fn linked_files_stay_within_session_and_pool_budgets() {
    let cost = |line: &String| tokens::count(line) + 1;
    let mut unlimited = host(settings(Layout::Pools, 1_000));
    read_index(&mut unlimited);
    activate(&mut unlimited, "a.md");
    unlimited.send();
    let every: u64 = pool(&unlimited).iter().map(cost).sum();
    let half = unlimited.live.state().links().tokens / 2;
    for (linked_tokens, pool_tokens) in [(half, 8_000), (8_000, every - half)] {
        let mut host = host(Settings { pool_tokens, ..settings(Layout::Pools, linked_tokens) });
        read_index(&mut host);
        activate(&mut host, "a.md");
        host.send();
        let all: u64 = pool(&host).iter().map(cost).sum();
        let linked = host.live.state().links().tokens;
        assert!(linked > 0 && linked <= linked_tokens, "{linked} of {linked_tokens}");
        assert!(all <= pool_tokens, "{all} of {pool_tokens}: {}", named_pool(&host));
        let known = |host: &Host| host.live.state().index().entries.len();
        assert!(known(&host) < known(&unlimited), "what has no room stays unknown");
    }
}

#[test]
fn nothing_is_brought_in_by_default() {
    assert_eq!(Settings::default().linked_tokens, 0);
    let mut host = host(settings(Layout::Pools, 0));
    read_index(&mut host);
    assert_eq!(host.live.state().index().entries.len(), 2, "the read and its file");
    assert_eq!(pool(&host).len(), 2, "{}", named_pool(&host));
}

#[test]
fn the_log_layout_names_linked_files_without_their_text() {
    let sent = [0, 1_000].map(|linked_tokens| {
        let mut host = host(settings(Layout::Log, linked_tokens));
        read_index(&mut host);
        let sent = host.sent.clone();
        let known = host.live.state().index().entries.len();
        (sent, known, activate(&mut host, "f2").contains("# b.md"))
    });
    let [(plain, 2, false), (linked, 5, true)] = sent else { panic!("{sent:?}") };
    let note = "[f1] index.md links to f2 b.md, f3 a.md, f4 .env";
    let texts = [plain, linked].map(|sent| Value::from(sent).to_string());
    assert!(!texts[0].contains(note) && texts[1].contains(note), "{}", texts[1]);
    assert!(!texts[1].contains("# b.md"), "metadata only");
}

#[test]
fn a_graph_that_fails_costs_no_call() {
    let backend = Arc::new(FailingBackend::default());
    let store = Store::with_backend(backend);
    assert!(store.relations().is_err(), "the control: this backend has no index of relations");
    let mut host = with_vault(Host::with_store(settings(Layout::Pools, 1_000), store));
    read_index(&mut host);
    assert_eq!(pool(&host).len(), 2, "{}", named_pool(&host));
}
