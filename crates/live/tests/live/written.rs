//! Files whose whole text the model wrote: it knows them from its own call, as long as that stands.

use config::{Layout, Settings};
use serde_json::{Value, json};

use crate::host::Host;

const TEXT: &str = "fn one() {}\nfn two() {}\nfn three() {}\nfn four() {}\nfn five() {}\n";
const HEAD: &str = "[f1] a.rs changed on disk after t1 (+1 -1):";

fn write_of(text: &str) -> Value {
    json!({ "path": "a.rs", "content": text })
}

/// A host whose model wrote a file. `text`: what is on disk before anybody looks.
fn writer(settings: Settings, text: &str) -> Host {
    let mut host = Host::new(settings);
    host.rewrites = true;
    host.user("make it");
    host.write_file("a.rs", text);
    host.tool("write", &write_of(TEXT), "Written.");
    host.send();
    host
}

fn work(host: &mut Host) {
    host.tool("bash", &json!({ "command": "true" }), "");
    host.send();
}

fn notes(host: &Host) -> usize {
    host.shown().matches("changed on disk").count()
}

/// The request has one note on a change, of `fn two`, and the next one has no more.
fn is_told_once(host: &mut Host) {
    let shown = host.shown();
    let (_, note) = shown.split_once(HEAD).unwrap_or_else(|| panic!("{shown}"));
    assert!(note.contains("-fn two() {}\n+fn zwei() {}"), "{note}");
    work(host);
    assert_eq!(notes(host), 1, "{}", host.shown());
}

#[test]
fn a_change_of_a_text_that_the_model_wrote_is_told() {
    let mut host = writer(Settings::default(), TEXT);
    work(&mut host);
    assert_eq!(notes(&host), 0, "{}", host.shown());
    host.write_file("a.rs", &TEXT.replace("fn two", "fn zwei"));
    host.user("and now?");
    host.send();
    is_told_once(&mut host);
    host.restart();
    host.write_file("a.rs", "one\n");
    host.tool("write", &write_of("one\n"), "Written.");
    host.write_file("a.rs", "two\n");
    work(&mut host);
    assert!(host.shown().contains("-one\n+two"), "{}", host.shown());
    std::fs::remove_file(host.path("a.rs")).unwrap();
    work(&mut host);
    let gone = "[f1] a.rs is no longer on disk; its text of t4 is kept as f1.";
    assert!(host.shown().contains(gone), "{}", host.shown());
}

#[test]
fn what_a_formatter_made_of_it_at_once_is_told() {
    let mut host = writer(Settings::default(), &TEXT.replace("fn two", "fn zwei"));
    is_told_once(&mut host);
    for ends in [TEXT.replace('\n', "\r\n"), TEXT.trim_end().into(), format!("\u{feff}{TEXT}")] {
        let host = writer(Settings::default(), &ends);
        assert_eq!(notes(&host), 0, "{}", host.shown());
    }
}

#[test]
fn a_text_that_was_written_elsewhere_is_not_told() {
    let mut host = Host::new(Settings::default());
    host.user("make it");
    host.write_file("a.rs", "of the host\n");
    host.tool("read", &json!({ "path": "a.rs" }), "of a sandbox\n");
    host.send();
    host.tool("write", &write_of(TEXT), "Written in the sandbox.");
    host.send();
    work(&mut host);
    assert_eq!(notes(&host), 0, "{}", host.shown());
}

#[test]
fn what_the_model_changes_itself_is_not_told() {
    let mut host = writer(Settings::default(), TEXT);
    host.edit("a.rs", "fn two", "fn zwei");
    work(&mut host);
    host.write_file("a.rs", "fn six() {}\n");
    host.tool("write", &write_of("fn six() {}\n"), "Written.");
    work(&mut host);
    assert_eq!(notes(&host), 0, "{}", host.shown());
}

#[test]
fn a_branch_where_the_text_stands_is_told_what_happened_since() {
    let mut host = writer(Settings::default(), TEXT);
    host.say("done");
    let kept = host.messages.len();
    host.user("one");
    host.edit("a.rs", "fn two", "fn zwei");
    host.send();
    host.messages.truncate(kept);
    host.user("another");
    host.send();
    is_told_once(&mut host);
}

#[test]
fn a_change_is_not_told_where_the_text_no_longer_stands() {
    let mut host = writer(Settings::default(), TEXT);
    host.messages.clear();
    host.user("A summary of what was done.");
    host.send();
    host.write_file("a.rs", &TEXT.replace("fn two", "fn zwei"));
    work(&mut host);
    assert_eq!(notes(&host), 0, "{}", host.shown());
    let pools = Settings { layout: Layout::Pools, ..Settings::default() };
    let mut host = writer(pools, TEXT);
    host.write_file("a.rs", &TEXT.replace("fn two", "fn zwei"));
    work(&mut host);
    assert_eq!(notes(&host), 0, "{}", host.shown());
}
