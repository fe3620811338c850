//! Files that this machine cannot open and that a session on another machine changed: their
//! versions come through a shared store.

use std::path::Path;

use base::object::ObjectType;
use config::Settings;
use live::Wanted;
use serde_json::json;
use store::{ArchiveScope, ExportOptions, ImportOptions, Store};

use crate::host::Host;

const FILE: &str = "/work/a.txt";

/// A session whose agent is in a sandbox that this machine cannot look into, beside a shared store.
fn in_sandbox() -> Host {
    let settings = Settings {
        sandbox: Some("box".into()),
        xtdb_url: Some("http://127.0.0.1:9".into()),
        ..Settings::default()
    };
    let mut host = Host::with_store(settings, Store::open(":memory:").unwrap());
    host.user("look");
    host.send();
    host
}

/// What sharing does: the versions of a file come from one store into another.
fn share(from: &Host, into: &Host) {
    let mut archive = Vec::new();
    let file = from.store.list(ObjectType::File, None, 1).unwrap().remove(0);
    let scope = ArchiveScope::Object(file.envelope.id);
    let options = ExportOptions { scope, redact: false, compress: false };
    let path = Path::new("archive");
    from.store.export_archive(&mut archive, path, &options, &mut |_| Ok(())).unwrap();
    let limits = ImportOptions::default();
    into.store.import_archive(Box::new(&*archive), path, &limits, &mut |_| Ok(())).unwrap();
}

/// Writes it, later than anything before.
fn write_elsewhere(host: &mut Host, text: &str) {
    for _ in 0..100 {
        host.store.now();
    }
    host.tool("write", &json!({ "path": FILE, "content": text }), "Successfully wrote it");
    host.send();
}

#[test]
fn changes_from_another_machine_are_reported_once() {
    let (mut here, mut there) = (in_sandbox(), in_sandbox());
    here.tool("read", &json!({ "path": FILE }), "one\ntwo\nthree\n");
    here.send();
    write_elsewhere(&mut there, "one\n2\nthree\n");
    share(&there, &here);
    here.user("go on");
    here.send();
    let shown = here.shown();
    assert!(shown.contains("a.txt changed on disk after t1 (+1 -1)"), "{shown}");
    assert!(shown.contains("-two\n+2"), "{shown}");
    here.user("and on");
    here.send();
    assert_eq!(here.shown().matches("changed on disk").count(), 1, "{}", here.shown());
    let wanted = Wanted { name: "f1".into(), ..Wanted::default() };
    assert!(here.activate(&wanted, false).contains("one\n2\nthree"));
    here.restart();
    here.user("after a restart");
    here.send();
    assert_eq!(here.shown().matches("changed on disk").count(), 1, "{}", here.shown());
}

#[test]
fn what_the_model_does_not_see_is_known_without_a_word() {
    let (mut here, mut there) = (in_sandbox(), in_sandbox());
    here.tool("bash", &json!({ "command": format!("ls -l {FILE}") }), &format!("{FILE}\n"));
    here.send();
    write_elsewhere(&mut there, "text that nobody here saw\n");
    share(&there, &here);
    here.user("go on");
    here.send();
    assert!(!here.shown().contains("changed on disk"), "{}", here.shown());
}

#[test]
fn a_version_of_this_machine_is_no_news() {
    let (mut here, there) = (in_sandbox(), in_sandbox());
    write_elsewhere(&mut here, "one\ntwo\n");
    share(&here, &there);
    share(&there, &here);
    here.user("go on");
    here.send();
    assert!(!here.shown().contains("changed on disk"), "{}", here.shown());
}
