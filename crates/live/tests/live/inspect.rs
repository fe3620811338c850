//! Details of a recorded call: the messages as they went out, how each is shown and since when,
//! what changed between calls; after a restart, for forks and branches, and for calls that failed
//! open.

use base::object::{AsOf, Handle, ObjectId, Payload};
use config::{Layout, Settings};
use live::{
    Against, ChangeKind, Inspected, LiveSession, MessageChange, PromptChange, Since, Wanted,
    compare_calls, find_handle, find_session, inspect_beside, inspect_call, inspect_calls,
    newest_call, sessions, timeline,
};
use serde_json::{Value, json};
use session::{Treatment, WithheldReason};
use store::{Expected, ForgetOptions, Store};

use crate::host::Host;

fn inspect(host: &Host, call: u64) -> Inspected {
    inspect_call(&host.store, host.live.id(), call).unwrap()
}

fn values(messages: &[String]) -> Vec<Value> {
    messages.iter().map(|message| serde_json::from_str(message).unwrap()).collect()
}

/// A session that starts an epoch at its last call.
fn collapsed() -> (Host, Vec<Vec<Value>>) {
    let settings = Settings {
        keep_results: 1,
        collapse_tokens: 500,
        preview_tokens: 500,
        ..Settings::default()
    };
    let mut host = Host::new(settings);
    host.write_file("a.txt", &"a line of the file\n".repeat(60));
    host.user("begin");
    let mut sent = Vec::new();
    host.read("a.txt", None, None);
    sent.push(host.send());
    host.tool("bash", &json!({ "command": "make" }), &"made it\n".repeat(900));
    sent.push(host.send());
    while host.live.state().epoch() == 0 {
        host.tool("bash", &json!({ "command": format!("run {}", sent.len()) }), "ran");
        sent.push(host.send());
    }
    (host, sent)
}

#[test]
fn what_a_person_pinned_counts_as_a_note() {
    let (mut host, _) = collapsed();
    host.say("done");
    host.user("go on");
    host.send();
    let person = inspect(&host, newest_call(&host.store, host.live.id()).unwrap()).kinds.person;
    let wanted = Wanted { name: "a.txt".into(), ..Wanted::default() };
    host.live.activate("", &wanted, true).unwrap();
    host.say("done");
    host.user("go on");
    host.send();
    let found = inspect(&host, newest_call(&host.store, host.live.id()).unwrap());
    let last = found.messages.last().unwrap();
    assert!(last.contains("a line of the file"), "{last}");
    assert!(found.kinds.person - person < 20, "{:?}", found.kinds);
    assert!(found.kinds.notes > 300, "{:?}", found.kinds);
    let all = timeline(&host.store, host.live.id()).unwrap();
    assert_eq!(all.calls.last().unwrap().kinds, found.kinds);
}

#[test]
fn in_pools_why_tells_of_the_reference_of_a_result() {
    let mut host =
        Host::new(Settings { layout: Layout::Pools, preview_tokens: 500, ..Settings::default() });
    host.user("begin");
    host.tool("bash", &json!({ "command": "make" }), &"made it\n".repeat(900));
    host.send();
    let found = inspect(&host, 1);
    let result = found.about.iter().find(|about| about.at == Some(2)).unwrap();
    assert_eq!(result.treatment, Some(Treatment::Reference));
}

#[test]
fn inspecting_a_call_lists_each_messages_form_and_age() {
    let (mut host, sent) = collapsed();
    host.restart();
    for (call, sent) in (1..).zip(&sent) {
        let inspected = inspect(&host, call);
        assert_eq!(&values(&inspected.messages), sent);
        assert!(inspected.verified);
        assert_eq!(inspected.about.len(), sent.len());
    }
    let second = inspect(&host, 2);
    let shown = second.about.last().unwrap();
    let Some(Treatment::Excerpt { pieces }) = &shown.treatment else { panic!("{shown:?}") };
    assert_eq!(pieces.last().unwrap().lines().last, 900, "as people count lines");
    assert_eq!(shown.since, Since { since_call: Some(2), ..Since::default() });
    assert_eq!(second.epoch_reason, None);
    let last = inspect(&host, sent.len() as u64);
    let (since_call, since_epoch, reason) = (Some(last.call), Some(1), last.epoch_reason.clone());
    let file = &last.about[2];
    assert_eq!(file.treatment, Some(Treatment::Reference));
    assert_eq!(file.since, Since { since_call, since_epoch, reason });
    assert_eq!(file.path.as_deref(), Some("a.txt"));
    let prompt = last.prompt.unwrap();
    assert_eq!(prompt.text.as_deref(), Some("You are a coding agent."));
    assert_eq!(prompt.tools, json!([{ "name": "read" }]));
}

#[test]
fn two_calls_are_compared_message_by_message() {
    let (host, sent) = collapsed();
    let (first, last) = (inspect(&host, 1), inspect(&host, sent.len() as u64));
    let changes = compare_calls(&first.messages, &last.messages);
    let diff = changes[1].diff.as_deref().unwrap_or_default();
    let change = |change, old, new| MessageChange { change, old, new, count: 1, diff: None };
    let expected = change(ChangeKind::Changed, Some(2), Some(2));
    assert_eq!(changes[1], MessageChange { diff: Some(diff.to_owned()), ..expected });
    assert!(diff.contains("-a line of the file") && diff.contains("\n+[t1] f1 a.txt"), "{diff}");
    let kept = |count| MessageChange { count, ..change(ChangeKind::Kept, Some(0), Some(0)) };
    assert_eq!(changes[0], kept(2));
    let inserted = |new| change(ChangeKind::Inserted, None, Some(new));
    let inserted: Vec<_> = (3..last.messages.len()).map(inserted).collect();
    assert_eq!(changes[2..], inserted);
    let back = compare_calls(&last.messages, &first.messages);
    let removed = back.iter().filter(|change| change.change == ChangeKind::Removed).count();
    assert_eq!(removed, inserted.len());
    let same = compare_calls(&first.messages, &first.messages);
    assert_eq!(same, [kept(first.messages.len())]);
}

#[test]
fn inspecting_a_call_lists_notes_with_their_messages() {
    let mut host = Host::new(Settings::default());
    host.write_file("a.txt", "one\ntwo\n");
    host.user("begin");
    host.read("a.txt", None, None);
    host.send();
    host.write_file("a.txt", "one\n2\n");
    host.tool("bash", &json!({ "command": "sed" }), "");
    host.send();
    let mut call = inspect(&host, 2);
    let tokens: u64 = call.about.iter().map(|about| about.tokens).sum();
    assert_eq!(tokens, call.record.as_ref().unwrap().sent_tokens);
    let about = call.about.pop().unwrap();
    assert!(about.notes[0].contains("a.txt changed on disk"), "{about:?}");
}

#[test]
fn a_call_that_a_forgotten_session_made_is_forgotten() {
    let mut host = Host::new(Settings::default());
    host.user("begin");
    host.send();
    let parent = host.live.id().clone();
    host.live.close().unwrap();
    host.fork("fork");
    host.user("on");
    host.send();
    host.store.forget(&parent, ForgetOptions { dry_run: false, everywhere: false }).unwrap();
    let refused = inspect_call(&host.store, host.live.id(), 1).unwrap_err();
    assert_eq!(refused.code(), "FORGOTTEN", "{refused}");
    assert_eq!(inspect(&host, 2).session, *host.live.id());
}

#[test]
fn calls_of_forks_and_old_branches_are_inspected_as_sent() {
    let mut host = Host::new(Settings::default());
    host.user("begin");
    host.tool("bash", &json!({ "command": "make" }), "made");
    let first = host.send();
    host.messages.truncate(1);
    host.tool("bash", &json!({ "command": "test" }), "tested");
    let second = host.send();
    let parent = host.live.id().clone();
    host.fork("fork");
    host.user("on");
    let third = host.send();
    for (call, sent, session) in
        [(1, &first, &parent), (2, &second, &parent), (3, &third, host.live.id())]
    {
        let inspected = inspect(&host, call);
        assert_eq!((&values(&inspected.messages), &inspected.session), (sent, session));
        assert!(inspected.prompt.is_some());
    }
    let changes = compare_calls(&inspect(&host, 1).messages, &inspect(&host, 2).messages);
    assert!(
        changes.iter().any(|it| (it.change, it.old) == (ChangeKind::Removed, Some(2))),
        "{changes:?}"
    );
    let read = inspect_calls(&host.store, host.live.id(), 1..4).unwrap();
    let messages = read.into_iter().map(|both| values(&both.unwrap().call.messages));
    assert_eq!(messages.collect::<Vec<_>>(), [first, second, third]);
}

#[test]
fn calls_read_one_after_another_are_what_each_is_alone() {
    let (mut host, sent) = collapsed();
    host.live.record_failed_call("DISK_FULL");
    host.say("well");
    host.user("on");
    host.send();
    let calls = sent.len() as u64 + 2;
    for (from, to) in [(1, calls + 9), (4, 6), (calls, calls + 1)] {
        let read = inspect_calls(&host.store, host.live.id(), from..to).unwrap();
        assert_eq!(read.len() as u64, to.min(calls + 1) - from);
        for (number, both) in (from..).zip(read) {
            let both = both.unwrap();
            let beside =
                |against| inspect_beside(&host.store, host.live.id(), number, against).unwrap();
            let (before, plain) = (beside(Against::Before), beside(Against::Plain));
            assert_eq!(format!("{:?}", both.call), format!("{:?}", before.call));
            assert_eq!(both.prompt, before.prompt);
            assert_eq!(plain.prompt, None);
            assert_eq!(both.since_before, before.other.map(|_| before.changes));
            assert_eq!(format!("{:?}", Some(both.plain)), format!("{:?}", plain.other));
            assert_eq!(both.against_plain, plain.changes);
        }
    }
}

#[test]
fn a_call_shows_how_prompt_and_tools_changed_since_the_last() {
    let mut host = Host::new(Settings::default());
    host.user("begin");
    host.send();
    host.say("well");
    host.user("on");
    host.send();
    host.prompt.0.push_str("\nYou remember: tests first.");
    host.prompt.1 = json!([
        { "name": "read", "description": "Read a file." },
        { "type": "function", "function": { "name": "bash" } },
    ]);
    host.tool("bash", &json!({ "command": "make" }), "made it");
    host.send();
    host.prompt.1 = json!([{ "name": "read", "description": "Read a file." }]);
    host.tool("bash", &json!({ "command": "make" }), "made it");
    host.send();
    host.restart();
    let change =
        |call| inspect_beside(&host.store, host.live.id(), call, Against::Before).unwrap().prompt;
    assert_eq!((change(1), change(2)), (None, None));
    let PromptChange { text, added, removed, changed } = change(3).unwrap();
    let text = text.unwrap();
    assert!(text.contains("\n+You remember: tests first."), "{text}");
    assert_eq!((added, removed, changed), (vec!["bash".into()], vec![], vec!["read".into()]));
    let gone = PromptChange { removed: vec!["bash".into()], ..PromptChange::default() };
    assert_eq!(change(4), Some(gone));
}

#[test]
fn a_call_that_cannot_be_read_is_an_error_among_the_others() {
    let (host, sent) = collapsed();
    break_records(&host, 2);
    let read = inspect_calls(&host.store, host.live.id(), 2..sent.len() as u64 + 1).unwrap();
    assert_eq!(read[0].as_ref().unwrap_err().code(), "HASH_MISMATCH");
    assert_eq!(read[1].as_ref().unwrap().since_before, None);
    assert!(read[2].as_ref().unwrap().since_before.is_some());
    let beside = |number| inspect_beside(&host.store, host.live.id(), number, Against::Before);
    assert_eq!(beside(2).unwrap_err().code(), "HASH_MISMATCH");
    assert!(beside(3).unwrap().other.is_none());
    assert!(beside(4).unwrap().other.is_some());
}

#[test]
fn inspecting_a_failed_call_gives_its_reason_and_what_was_sent() {
    let mut host = Host::new(Settings::default());
    host.user("begin");
    host.send();
    host.live.record_failed_call("DISK_FULL");
    host.say("well");
    host.user("on");
    host.send();
    let failed = inspect(&host, 2);
    assert_eq!(failed.failure.as_deref(), Some("DISK_FULL"));
    assert!(!failed.verified && failed.record.is_none());
    assert_eq!(failed.messages.len(), 3);
    assert_eq!(inspect(&host, 3).failure, None);
    // The newest has none after it.
    host.live.record_failed_call("DISK_SILENT");
    host.restart();
    let newest = newest_call(&host.store, host.live.id()).unwrap();
    let failed = inspect(&host, newest);
    assert_eq!((newest, failed.failure.as_deref()), (4, Some("DISK_SILENT")));
    assert_eq!(failed.messages.len(), 3);
}

#[test]
fn inspecting_a_retry_says_that_it_is_one_even_across_an_epoch() {
    let mut host = Host::new(Settings::default());
    host.user("begin");
    host.send();
    host.send();
    host.restart();
    host.send();
    host.user("on");
    host.send();
    let retries: Vec<_> =
        (1..=4).map(|call| inspect(&host, call).record.unwrap().retry_of).collect();
    assert_eq!(retries, [None, Some(1), Some(2), None]);
}

/// Gives the records of the first `count` calls another hash.
fn break_records(host: &Host, count: usize) {
    let id = host.live.id();
    let version = host.store.get(id, AsOf::Latest).unwrap().unwrap();
    let events = host.store.items(id, AsOf::Latest, 0..u64::MAX).unwrap();
    let record = events.iter().position(|event| event.contains(r#""event":"called""#)).unwrap();
    let mut left = count;
    let changed: Vec<String> = events[record..]
        .iter()
        .map(|event| {
            let broken = event.replace(r#""hash":"#, r#""hash":"0","was":"#);
            let is_wanted = left > 0;
            left -= usize::from(is_wanted && event.contains(r#""event":"called""#));
            if is_wanted { broken } else { event.clone() }
        })
        .collect();
    let mut transaction = host.store.begin();
    let payload = Payload { fields: version.fields.clone(), ..Payload::default() };
    let latest = Expected::Latest(version.tx_id);
    transaction.splice(version.envelope, payload, record as u64, changed, latest).unwrap();
    transaction.commit().unwrap();
}

#[test]
fn a_record_that_does_not_render_what_was_sent_is_an_error() {
    let (host, sent) = collapsed();
    let id = host.live.id();
    break_records(&host, usize::MAX);
    for call in 1..=sent.len() as u64 {
        let error = inspect_call(&host.store, id, call).unwrap_err();
        assert_eq!(error.code(), "HASH_MISMATCH");
        assert!(error.to_string().contains(&format!("call {call}")), "{error}");
    }
}

#[test]
fn inspecting_a_withheld_place_gives_its_reason() {
    let mut host = Host::new(Settings::default());
    host.write_file(".env", "TOKEN=hush\n");
    host.user("begin");
    host.read(".env", None, None);
    let sent = host.send();
    let inspected = inspect(&host, 1);
    assert!(inspected.verified, "the hash holds over what went out");
    let place = &inspected.withheld[0];
    assert_eq!((place.message, place.reason), (2, WithheldReason::Excluded));
    let digest = base::object::Hash::of(sent[2].to_string());
    assert_eq!(place.digest.as_ref(), Some(&digest));
}

#[test]
fn a_read_only_store_shows_later_calls_and_removals() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    let path = path.to_str().unwrap();
    let mut host = Host::with_store(Settings::default(), Store::open(path).unwrap());
    host.user("begin");
    host.tool("bash", &json!({ "command": "make" }), "what is regretted later");
    let sent = host.send();
    let viewer = Store::open_read_only(path).unwrap();
    let id = host.live.id().clone();
    for _ in 0..2 {
        let seen = inspect_call(&viewer, &id, 1).unwrap();
        assert_eq!((values(&seen.messages), seen.withheld.len()), (sent.clone(), 0));
        assert_eq!(timeline(&viewer, &id).unwrap().calls.len(), 1);
    }
    host.user("more");
    let sent = host.send();
    assert_eq!(values(&inspect_call(&viewer, &id, 2).unwrap().messages), sent);
    assert_eq!(timeline(&viewer, &id).unwrap().calls.len(), 2);
    let options = ForgetOptions { dry_run: false, everywhere: false };
    host.store.forget(&ObjectId::new("call_1"), options).unwrap();
    let seen = inspect_call(&viewer, &id, 1).unwrap();
    assert_eq!(seen.withheld[0].reason, WithheldReason::Forgotten);
    assert!(!seen.messages.concat().contains("regretted"), "{:?}", seen.messages);
}

/// A session and a fork of it, `session-22`, each with a call.
fn with_fork() -> (Host, ObjectId, ObjectId) {
    let mut host = Host::new(Settings::default());
    host.user("begin");
    host.send();
    let first = host.live.id().clone();
    host.fork("session-22");
    host.send();
    let second = host.live.id().clone();
    (host, first, second)
}

#[test]
fn a_forgotten_session_is_neither_listed_nor_the_latest() {
    let (host, first, second) = with_fork();
    host.store.forget(&second, ForgetOptions { dry_run: false, everywhere: false }).unwrap();
    let listed: Vec<ObjectId> = sessions(&host.store, usize::MAX)
        .unwrap()
        .into_iter()
        .map(|found| found.version.envelope.id)
        .collect();
    assert_eq!(listed, std::slice::from_ref(&first));
    assert_eq!(find_session(&host.store, "latest").unwrap(), first);
    assert_eq!(find_session(&host.store, "session-22").unwrap_err().code(), "FORGOTTEN");
}

#[test]
fn sessions_are_found_by_id_host_id_prefix_or_as_the_latest() {
    let (host, first, second) = with_fork();
    let find = |name: &str| find_session(&host.store, name);
    for (name, expected) in [
        (first.as_str(), &first),
        ("session-1", &first),
        ("session-2", &second),
        ("session:session-22", &second),
        ("latest", &second),
    ] {
        assert_eq!(&find(name).unwrap(), expected, "{name}");
    }
    for (name, code) in
        [("session", "AMBIGUOUS_NAME"), ("nobody", "UNKNOWN_NAME"), ("", "UNKNOWN_NAME")]
    {
        assert_eq!(find(name).unwrap_err().code(), code, "{name}");
    }
    assert_eq!(newest_call(&host.store, &second).unwrap(), 2);
    let handle = |text: &str| find_handle(&host.store, &second, Handle::parse(text).unwrap());
    assert_eq!(handle("t1").unwrap_err().code(), "UNKNOWN_NAME");
    let none = Store::open(":memory:").unwrap();
    assert_eq!(find_session(&none, "latest").unwrap_err().code(), "UNKNOWN_NAME");
    let never = LiveSession::open(none.clone(), host.options()).unwrap();
    assert_eq!(newest_call(&none, never.id()).unwrap_err().code(), "NOT_FOUND");
    let error = inspect_call(&host.store, &second, 9).unwrap_err();
    assert_eq!(error.code(), "NOT_FOUND");
    assert_eq!(error.to_string(), format!("`{second}` has no call 9: it has made calls 1 to 2"));
    assert_eq!(inspect_call(&none, &ObjectId::session("x"), 1).unwrap_err().code(), "NOT_FOUND");
}
