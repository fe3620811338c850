//! Files whose text the store does not hold, or that the model knows by name alone: what becomes of
//! them is told, or known, all the same.

use std::path::Path;

use config::{Layout, Settings};
use live::Notice;
use serde_json::{Value, json};

use crate::host::Host;

/// Some lines, of which one says this.
fn text(said: &str) -> String {
    let line = |at: u32| format!("line {at}: {}\n", if at == 20 { said } else { "as ever" });
    (1..60).map(line).collect::<Vec<_>>().concat()
}

fn write(host: &Host, name: &str, bytes: impl AsRef<[u8]>) {
    std::fs::write(host.path(name), bytes).unwrap();
}

/// A host whose model has read a file of these bytes, which no version has as text.
fn reader(name: &str, bytes: &[u8]) -> Host {
    let mut host = Host::new(Settings { max_text_bytes: 4_096, ..Settings::default() });
    host.user("look");
    write(&host, name, bytes);
    host.tool("read", &json!({ "path": name }), &String::from_utf8_lossy(bytes));
    host.send();
    host
}

/// The next call; returns the lines that it says of files.
fn told(host: &mut Host) -> Vec<String> {
    host.tool("bash", &json!({ "command": "true" }), "ok");
    let sent = host.send();
    let last = sent.last().unwrap()["content"].as_array().unwrap().clone();
    let lines = last.iter().filter_map(|block| block["text"].as_str()).flat_map(str::lines);
    lines.filter(|line| line.starts_with("[f")).map(str::to_owned).collect()
}

fn changed(name: &str, size: usize) -> String {
    let size = context::forms::count(size as u64, "byte");
    format!("[f1] {name} changed on disk after t1 ({size})")
}

fn edit(name: &str) -> Value {
    json!({ "path": name, "edits": [{ "oldText": "line 20: one", "newText": "x" }] })
}

fn latin1(said: &str) -> Vec<u8> {
    [b"caf\xe9\n", text(said).as_bytes()].concat()
}

fn utf16(said: &str) -> Vec<u8> {
    let units = text(said).encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    [vec![0xff, 0xfe], units].concat()
}

fn large(said: &str) -> Vec<u8> {
    [text(said).as_bytes(), &b"x".repeat(9_000)].concat()
}

#[test]
fn a_change_of_a_file_without_stored_text_is_told_in_one_line() {
    type Make = fn(&str) -> Vec<u8>;
    let kinds: [(&str, Make); 5] = [
        ("latin1.c", latin1),
        ("utf16.txt", utf16),
        ("dump.sql", large),
        (".env.local", |said| text(said).into_bytes()),
        ("shot.png", |said| [b"\x89PNG\r\n\xff", text(said).as_bytes()].concat()),
    ];
    for (name, make) in kinds {
        let mut host = reader(name, &make("one"));
        assert_eq!(told(&mut host), [""; 0], "{name}");
        let bytes = make("two");
        write(&host, name, &bytes);
        let line = changed(name, bytes.len());
        assert_eq!(told(&mut host), [line], "{name}");
        assert_eq!(told(&mut host), [""; 0], "{name}: once");
        write(&host, name, make("three"));
        let help = host.live.explain_failed_edit(&edit(name)).unwrap().unwrap();
        assert!(help.starts_with(&format!("[f1] {name} changed on disk after t1 (")), "{help}");
        assert!(!help.contains("line 20"), "no text of it: {help}");
        assert_eq!(told(&mut host), [""; 0], "{name}: the help told it");
        let again = host.live.explain_failed_edit(&edit(name)).unwrap();
        assert!(again.is_some_and(|help| help.contains("changed on disk")), "{name}");
        std::fs::remove_file(host.path(name)).unwrap();
        assert_eq!(told(&mut host), [format!("[f1] {name} is no longer on disk.")], "{name}");
    }
}

#[test]
fn a_change_of_a_file_that_a_command_showed_is_told() {
    let (name, bytes) = ("latin1.c", latin1("one"));
    for command in
        [format!("cat {name}"), format!("head -40 {name}"), format!("sed -n 1,30p ./{name}")]
    {
        let mut host = Host::new(Settings::default());
        host.user("look");
        write(&host, name, &bytes);
        host.tool("bash", &json!({ "command": command }), &String::from_utf8_lossy(&bytes));
        host.send();
        assert_eq!(told(&mut host), [""; 0], "{command}");
        write(&host, name, text("two, and more"));
        let line = changed(name, text("two, and more").len());
        assert_eq!(told(&mut host), [line], "{command}");
        assert_eq!(told(&mut host), [""; 0], "{command}: once");
        let entry = &host.live.state().index().entries[0];
        let version = host.store.require(&entry.id, base::object::AsOf::Latest).unwrap();
        assert_eq!(version.fields["no_content"], "not_read", "it was not opened");
        std::fs::remove_file(host.path(name)).unwrap();
        assert_eq!(told(&mut host), [format!("[f1] {name} is no longer on disk.")], "{command}");
    }
}

#[test]
fn a_change_of_each_file_that_a_command_showed_is_told() {
    for (command, shown) in [
        ("cat a.rs b.rs", &["a.rs", "b.rs"][..]),
        ("head -5 a.rs; sed -n 1,9p b.rs", &["a.rs", "b.rs"]),
        ("cat -n a.rs > b.rs", &[]),
        ("sed -i s/one/one/ a.rs b.rs", &[]),
    ] {
        let mut host = Host::new(Settings::default());
        host.user("look");
        let write_both = |host: &Host, said: &str| {
            write(host, "a.rs", text(said));
            write(host, "b.rs", text(said));
        };
        write_both(&host, "one");
        host.tool("bash", &json!({ "command": command }), &text("one").repeat(2));
        host.send();
        assert_eq!(told(&mut host), [""; 0], "{command}");
        write_both(&host, "two, and more");
        let told = told(&mut host);
        let names = told.iter().filter_map(|line| line.split(' ').nth(1));
        assert_eq!(names.collect::<Vec<_>>(), shown, "{command}");
        assert!(told.iter().all(|line| line.contains(" changed on disk after t1 (")), "{told:?}");
    }
}

#[test]
fn touching_and_looking_at_a_file_without_text_is_no_change() {
    let mut host = reader("latin1.c", &latin1("one"));
    let file = std::fs::File::options().write(true).open(host.path("latin1.c")).unwrap();
    file.set_modified(std::time::UNIX_EPOCH).unwrap();
    assert_eq!(told(&mut host), [""; 0], "its bytes are the same");
    write(&host, "latin1.c", latin1("two"));
    host.tool("read", &json!({ "path": "latin1.c" }), &String::from_utf8_lossy(&latin1("two")));
    host.send();
    assert_eq!(told(&mut host), [""; 0], "the model saw it");
}

#[test]
fn a_textless_file_that_keeps_changing_is_told_a_few_times() {
    let mut host = reader("latin1.c", &latin1("one"));
    let mut lines = Vec::new();
    for at in 0..8 {
        write(&host, "latin1.c", latin1(&format!("change {at}")));
        lines.extend(told(&mut host));
    }
    assert_eq!(lines.len(), 4, "{lines:#?}");
    assert!(lines[3].ends_with(" and keeps changing"), "{lines:#?}");
}

#[test]
fn a_note_on_a_file_without_text_stays_while_its_text_stands() {
    let mut host = reader("latin1.c", &latin1("one"));
    write(&host, "latin1.c", latin1("two"));
    assert_eq!(told(&mut host).len(), 1);
    host.restart();
    host.user("on");
    host.send();
    assert_eq!(host.shown().matches("latin1.c changed on disk").count(), 1, "{}", host.shown());
}

#[test]
fn a_deleted_file_that_comes_back_is_told_of() {
    let mut host = Host::new(Settings::default());
    host.user("look");
    host.write_file("a.rs", &text("one"));
    host.read("a.rs", None, None);
    host.send();
    std::fs::remove_file(host.path("a.rs")).unwrap();
    assert_eq!(told(&mut host), ["[f1] a.rs is no longer on disk; its text of t1 is kept as f1."]);
    host.write_file("a.rs", &text("one"));
    assert_eq!(told(&mut host), ["[f1] a.rs is on disk again, as it was in t1."]);
    std::fs::remove_file(host.path("a.rs")).unwrap();
    told(&mut host);
    host.write_file("a.rs", &text("two"));
    let said = told(&mut host);
    assert!(said[0].starts_with("[f1] a.rs changed on disk after t1 (+1 -1)"), "{said:#?}");
}

/// The names of files that the store holds for deleted.
fn deleted(host: &Host) -> Vec<String> {
    let fields = |id: &base::object::ObjectId| {
        host.store.require(id, base::object::AsOf::Latest).unwrap().fields
    };
    let entries = host.live.state().index().entries.iter();
    let files = entries.filter(|entry| !entry.subject.agent_path().is_empty());
    let gone = files.filter(|file| fields(&file.id).get("no_content") == Some(&json!("deleted")));
    let name = |path: &str| Path::new(path).file_name().unwrap().to_string_lossy().into_owned();
    gone.map(|file| name(file.subject.agent_path())).collect()
}

#[test]
fn a_file_known_by_a_listing_is_deleted_only_while_it_is() {
    let mut host = Host::new(Settings::default());
    host.user("list");
    host.write_file("a.rs", &text("one"));
    host.write_file("b.rs", &text("one"));
    host.tool("bash", &json!({ "command": "ls" }), "a.rs\nb.rs");
    host.send();
    std::fs::remove_file(host.path("a.rs")).unwrap();
    assert_eq!(told(&mut host), [""; 0], "the model saw nothing of it");
    assert_eq!(deleted(&host), ["a.rs"]);
    host.write_file("a.rs", &text("one"));
    told(&mut host);
    assert_eq!(deleted(&host), [""; 0]);
    let entry = &host.live.state().index().entries[0];
    let version = host.store.require(&entry.id, base::object::AsOf::Latest).unwrap();
    assert_eq!(version.fields["no_content"], "not_read", "it was not opened");
}

#[test]
fn in_pools_a_deleted_active_file_says_so() {
    let mut host = Host::new(Settings { layout: Layout::Pools, ..Settings::default() });
    host.user("look");
    host.write_file("a.rs", &text("one"));
    host.read("a.rs", None, None);
    host.send();
    assert!(host.shown().contains("line 20: one"));
    std::fs::remove_file(host.path("a.rs")).unwrap();
    host.user("on");
    host.send();
    let shown = host.shown();
    assert!(
        !shown.contains("line 20: one") && shown.contains("[f1] a.rs is no longer on disk."),
        "{shown}"
    );
    assert!(host.told.iter().any(|line| line.contains("no longer on disk")), "{:?}", host.told);
    let changed = host.notices.iter().any(|notice| matches!(notice, Notice::FileChanged { .. }));
    assert!(!changed, "{:?}", host.notices);
}

#[test]
fn a_result_that_others_replaced_shows_no_file() {
    let mut host = reader("latin1.c", &latin1("one"));
    host.rewrites = true;
    let last = host.messages.len() - 1;
    host.messages[last]["content"] = json!([{ "type": "text", "text": "[removed by a filter]" }]);
    assert_eq!(told(&mut host), [""; 0]);
    write(&host, "latin1.c", latin1("two"));
    assert_eq!(told(&mut host), [""; 0], "nothing of it stands");
}
