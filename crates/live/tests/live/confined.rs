//! Sessions in which people other than the user take part, and what they may name.

use base::object::{AsOf, Nickname, ObjectId};
use config::Settings;
use live::{LiveSession, OpenSession, Wanted};
use serde_json::json;

use crate::host::Host;

const SECRET: &str = "swordfish";

fn wanted(name: &str) -> Wanted {
    Wanted { name: name.into(), ..Wanted::default() }
}

/// The user's own session, which met objects that others must not see, and a confined one in the
/// same working folder.
fn beside(name: &str) -> (Host, LiveSession, Vec<String>) {
    let mut host = Host::new(Settings::default());
    host.write_file("plan.md", &format!("the key is {SECRET}\n"));
    host.write_file("own.md", "nobody read this\n");
    host.user("go");
    host.read("plan.md", None, None);
    host.tool("bash", &json!({ "command": "pass show" }), SECRET);
    host.send();
    let mut names: Vec<String> =
        host.live.state().index().entries.iter().map(|entry| entry.id.to_string()).collect();
    let file = ObjectId::new(&*names[0]);
    let mut transaction = host.store.begin();
    transaction.name(Nickname::parse("plan").unwrap(), Some(file));
    transaction.commit().unwrap();
    names.extend(names.clone().iter().map(|id| id.chars().take(12).collect()));
    names.extend(
        ["f1", "t1", "plan", "plan.md", "own.md", "/etc/hostname", "turn 1"].map(String::from),
    );
    let options = OpenSession { host_session: name.into(), confined: Some(true), ..host.options() };
    let confined = LiveSession::open(host.store.clone(), options).unwrap();
    (host, confined, names)
}

#[test]
fn a_confined_session_finds_nothing_that_it_did_not_meet() {
    let (host, mut confined, names) = beside("group");
    for name in &names {
        let refused = confined.activate("", &wanted(name), false).unwrap_err();
        assert_eq!(refused.code(), "UNKNOWN_NAME", "{name}: {refused}");
        assert!(!refused.to_string().contains(SECRET), "{refused}");
        for refused in [confined.unpin("", name).err(), confined.met(name).map(drop).err()] {
            assert_eq!(refused.unwrap().code(), "UNKNOWN_NAME", "{name}");
        }
    }
    let (_, list) = (&host, &confined.state().index().entries);
    assert!(list.is_empty());
    let refused = confined.continue_from(host.live.id()).unwrap_err();
    assert_eq!(refused.code(), "INVALID_ARGUMENT");
    let edit = json!({ "path": "plan.md", "oldText": "the key", "newText": "x" });
    assert_eq!(confined.explain_failed_edit(&edit).unwrap(), None);
}

#[test]
fn a_confined_session_only_has_versions_that_it_met() {
    let (mut host, confined, _) = beside("group");
    drop(confined);
    host.write_file("plan.md", "now it is public\n");
    host.restart_list();
    host.name = "group".into();
    host.live = LiveSession::open(
        host.store.clone(),
        OpenSession { confined: Some(true), ..host.options() },
    )
    .unwrap();
    host.user("look");
    host.read("plan.md", None, None);
    host.send();
    assert!(host.activate(&wanted("plan.md"), false).contains("now it is public"));
    for earlier in ["plan.md@-1", "f1@-1"] {
        let refused = host.live.activate("", &wanted(earlier), false).unwrap_err();
        assert_eq!(refused.code(), "UNKNOWN_NAME", "{earlier}");
    }
    let (id, versions) = host.live.met("f1").unwrap();
    let all = host.store.history(&id).unwrap();
    assert_eq!((versions.len(), all.len()), (1, 2));
    assert_eq!(versions[0], all[0].content_hash);
}

#[test]
fn a_printed_notice_brings_no_file_of_the_host() {
    let (mut host, confined, _) = beside("group");
    host.live = confined;
    host.restart_list();
    let lines = |numbers: std::ops::RangeInclusive<u32>| {
        let lines = numbers.map(|n| format!("line {n} of the build log\n"));
        lines.collect::<Vec<_>>().concat()
    };
    host.write_file("whole.log", &lines(1..=1_000));
    let path = host.path("whole.log").display().to_string();
    let notice = format!("[Showing lines 901-1000 of 1000. Full output: {path}]");
    host.user("look");
    let shown = format!("{}\n{notice}", lines(901..=1_000));
    let id = host.tool("bash", &json!({ "command": "make" }), &shown);
    host.send();
    let version = host.store.require(&ObjectId::new(id), AsOf::Latest).unwrap();
    assert!(version.additional.is_empty(), "{version:?}");
}

#[test]
fn a_file_that_was_only_named_is_the_hosts_to_show() {
    let (mut host, confined, _) = beside("group");
    host.live = confined;
    host.restart_list();
    host.user("look");
    host.tool("ls", &json!({}), "own.md\nplan.md\n");
    host.send();
    assert!(!host.live.state().index().entries.is_empty());
    let refused = host.live.activate("", &wanted("own.md"), false).unwrap_err();
    assert_eq!(refused.code(), "UNKNOWN_NAME");
}

#[test]
fn confinement_lasts_until_the_host_lifts_it_in_forks_too() {
    let (mut host, confined, _) = beside("group");
    host.restart_list();
    host.name = "group".into();
    host.live = confined;
    host.user("hello");
    host.send();
    host.restart();
    assert!(host.live.state().is_confined());
    host.fork("child");
    assert!(host.live.state().is_confined());
    let opened = OpenSession { confined: Some(false), ..host.options() };
    host.live.close().unwrap();
    let live = LiveSession::open(host.store.clone(), opened.clone()).unwrap();
    assert!(!live.state().is_confined());
}

#[test]
fn a_confined_fork_of_an_unconfined_session_starts_empty() {
    let (host, _, _) = beside("other");
    let options = |confined| OpenSession {
        host_session: format!("child-{confined:?}"),
        parent: Some("session-1".into()),
        confined,
        asks_to_compact: false,
        ..host.options()
    };
    let child = LiveSession::open(host.store.clone(), options(Some(true))).unwrap();
    assert_eq!(child.state().chat().len(), 0);
    let child = LiveSession::open(host.store.clone(), options(None)).unwrap();
    assert_eq!(child.state().chat().len(), host.live.state().chat().len());
}
