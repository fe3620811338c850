//! The tracker of an open session: changes on disk become versions between calls, and moves are
//! followed wherever they lead.

use std::fs;
use std::time::Duration;

use base::object::{AsOf, Envelope, ObjectType, Source};
use config::Settings;
use source::{TrackerOptions, Watching};
use store::MOVED_FROM;

use crate::host::Host;

/// More than any machine needs.
const LONG: Duration = Duration::from_secs(60);

/// A session that tracks its files, whose model read `a.txt`.
fn tracking(watching: Watching) -> Host {
    let mut host = Host::new(Settings::default());
    host.live.track(TrackerOptions { watching, ..TrackerOptions::default() }).unwrap();
    host.write_file("a.txt", "one\ntwo\nthree\n");
    host.user("go");
    host.send();
    host.read("a.txt", None, None);
    host.send();
    assert!(host.live.settle(LONG));
    host
}

fn envelope(host: &Host, name: &str) -> Envelope {
    let path = fs::canonicalize(host.folder.path()).unwrap().join(name);
    let path = path.to_string_lossy().into_owned();
    Envelope::sourced(ObjectType::File, Source::Filesystem { filesystem_id: "fs".into(), path })
        .unwrap()
}

/// The text that the store has of a file as its latest.
fn stored(host: &Host, name: &str) -> Option<String> {
    let version = host.store.get(&envelope(host, name).id, AsOf::Latest).unwrap()?;
    host.store.content(&version).unwrap()
}

/// The texts of the newest message of one more call.
fn told(host: &mut Host) -> String {
    host.user("and?");
    host.send().last().unwrap()["content"].to_string()
}

#[test]
fn a_change_between_calls_is_stored_and_reported_once() {
    for watching in [Watching::default(), Watching::Polling] {
        let mut host = tracking(watching);
        host.write_file("a.txt", "one\ntwo\nfour\n");
        assert!(host.live.settle(LONG));
        assert_eq!(stored(&host, "a.txt").as_deref(), Some("one\ntwo\nfour\n"));
        let note = told(&mut host);
        assert!(note.contains("changed on disk") && note.contains("+four"), "{note}");
        assert!(!told(&mut host).contains("changed on disk"));
    }
}

#[test]
fn a_tracker_follows_a_move_that_a_file_check_would_miss() {
    let mut host = tracking(Watching::default());
    // A folder is watched that holds a file which the model saw.
    fs::create_dir_all(host.path("far/away")).unwrap();
    host.write_file("far/away/other.txt", "x\n");
    host.read("far/away/other.txt", None, None);
    host.send();
    assert!(host.live.settle(LONG));
    fs::rename(host.path("a.txt"), host.path("far/away/b.txt")).unwrap();
    assert!(host.live.settle(LONG));
    let version = host.store.get(&envelope(&host, "far/away/b.txt").id, AsOf::Latest).unwrap();
    let from = version.and_then(|version| version.fields.get(MOVED_FROM).cloned());
    assert_eq!(from, Some(envelope(&host, "a.txt").id.to_string().into()));
    let note = told(&mut host);
    assert!(note.contains("[f1]") && note.contains("far/away/b.txt"), "{note}");
    host.write_file("far/away/b.txt", "one\n");
    assert!(told(&mut host).contains("far/away/b.txt changed on disk"));
}

#[test]
fn a_closed_session_tracks_nothing() {
    let mut host = tracking(Watching::default());
    host.live.close().unwrap();
    host.write_file("a.txt", "changed\n");
    assert!(host.live.settle(LONG));
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(stored(&host, "a.txt").as_deref(), Some("one\ntwo\nthree\n"));
}

#[test]
fn a_file_moved_into_an_unwatched_folder_stays_tracked() {
    let mut host = tracking(Watching::default());
    fs::create_dir_all(host.path("far/away")).unwrap();
    fs::rename(host.path("a.txt"), host.path("far/away/b.txt")).unwrap();
    let command = serde_json::json!({ "command": "mv a.txt far/away/b.txt" });
    host.tool("bash", &command, "(no output)");
    host.send();
    assert!(host.live.settle(LONG));
    host.write_file("far/away/b.txt", "four\n");
    assert!(host.live.settle(LONG));
    assert_eq!(stored(&host, "far/away/b.txt").as_deref(), Some("four\n"));
}
