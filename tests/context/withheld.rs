//! Text that the store does not hold: what a recorded call shows in its place.

use std::sync::Arc;

use palimpsest::context::live::{Place, Replayed, replay_call};
use palimpsest::object::{ObjectId, RedactionReason};
use palimpsest::session::WithheldReason;
use palimpsest::settings::{Layout, Settings};
use palimpsest::store::Store;
use serde_json::json;

use crate::failing::FailingBackend;
use crate::host::Host;

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
fn a_call_with_redacted_text_names_the_places_and_still_checks_its_hash() {
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
fn active_content_that_was_taken_out_is_a_place_too() {
    let settings = Settings { layout: Layout::Pools, ..Settings::default() };
    let (host, replayed) = replay_without(RedactionReason::Forgotten, settings);
    let last = host.sent.len() - 1;
    let Place { message, reason, object, digest } = replayed.withheld.last().unwrap();
    assert_eq!((*message, *reason), (last, WithheldReason::Forgotten));
    assert_eq!((object.clone(), digest), (Some(ObjectId::new("call_2")), &None));
    assert!(replayed.messages[last].contains("ACTIVE_CONTENT id=call_2\\n[withheld"));
}
