//! What hosts do to their lists: branches, compaction, forks, retries, edits, odd messages. Nothing
//! may be lost, doubled or reordered. Every `send` also checks that the recorded call renders again
//! as it went out.

use crate::host::{Host, json_of};
use base::object::{AsOf, ObjectId};
use config::{Layout, Settings};
use live::{CallInfo, HostList, Notice, Wanted, replay_call};
use serde_json::{Value, json};

fn session(layout: Layout) -> Host {
    let mut host = Host::new(Settings { layout, ..Settings::default() });
    host.write_file("a.txt", "one\ntwo\nthree\n");
    host.user("first");
    host.send();
    host.read("a.txt", None, None);
    host.send();
    host.tool("bash", &json!({ "command": "ls" }), "a.txt");
    host.send();
    host.say("done");
    host
}

fn chat_items(host: &Host) -> Vec<String> {
    host.store.items(&ObjectId::chat(&host.name), AsOf::Latest, 0..u64::MAX).unwrap()
}

#[test]
fn going_back_starts_a_branch_and_keeps_the_old_one() {
    let mut host = session(Layout::Log);
    host.user("second");
    host.send();
    let calls = host.live.state().calls();
    let before = host.store.get(&ObjectId::chat(&host.name), AsOf::Latest).unwrap().unwrap();
    host.messages.truncate(3);
    host.user("another second");
    host.send();
    assert!(
        matches!(host.notices[0], Notice::HostRewrote { how: "branch", at: 3 }),
        "{:?}",
        host.notices
    );
    assert_eq!(host.sent, host.messages);
    assert_eq!(chat_items(&host).len(), 4);
    let old = host.store.items(&before.envelope.id, AsOf::Tx(before.tx_id), 0..u64::MAX).unwrap();
    assert_eq!(old.len(), 7);
    let replayed = replay_call(&host.store, host.live.id(), calls).unwrap();
    assert_eq!(replayed.messages.len(), 7, "calls on the old branch render as they went out");
}

#[test]
fn a_compacted_list_is_followed_and_the_chat_keeps_everything() {
    let mut host = session(Layout::Log);
    host.user("second");
    host.send();
    let kept = host.messages.split_off(5);
    let summary = json!({ "role": "compactionSummary", "summary": "they read a.txt", "tokensBefore": 9, "timestamp": 50 });
    host.messages = std::iter::once(summary).chain(kept).collect();
    host.send();
    assert!(
        matches!(host.notices[0], Notice::HostRewrote { how: "compaction", at: 0 }),
        "{:?}",
        host.notices
    );
    assert_eq!(host.sent, host.messages);
    assert_eq!(chat_items(&host).len(), 8, "seven messages and the summary");
    let answer = host.activate(&Wanted { name: "f1".into(), ..Wanted::default() }, false);
    assert!(answer.contains("two"), "what was compacted away is still reachable: {answer}");
    host.send();
    host.restart();
    host.user("third");
    host.send();
    assert_eq!(host.notices, []);
}

#[test]
fn a_retry_sends_the_same_and_says_so_in_its_record() {
    let mut host = session(Layout::Log);
    host.user("again");
    let first = host.send();
    assert_eq!(host.send(), first);
    let events = host.store.items(host.live.id(), AsOf::Latest, 0..u64::MAX).unwrap();
    let last: Value = serde_json::from_str(events.last().unwrap()).unwrap();
    assert_eq!((&last["event"], &last["retry_of"]), (&json!("called"), &json!(4)));
}

#[test]
fn a_fork_inherits_and_then_goes_its_own_way() {
    let mut host = session(Layout::Log);
    host.user("second");
    host.send();
    let parent = host.live.id().clone();
    let parent_events = host.store.items(&parent, AsOf::Latest, 0..u64::MAX).unwrap().len();
    host.fork("session-2");
    host.messages.truncate(5);
    host.tool("bash", &json!({ "command": "pwd" }), "/");
    host.send();
    assert_eq!(host.live.state().index().entries.len(), 4, "f1, t1, t2 are inherited, t3 is new");
    let answer = host.activate(&Wanted { name: "t2".into(), ..Wanted::default() }, false);
    assert!(answer.ends_with("a.txt"), "{answer}");
    host.send();
    let now = host.store.items(&parent, AsOf::Latest, 0..u64::MAX).unwrap().len();
    assert_eq!(now, parent_events, "the parent is as it was");
}

#[test]
fn changed_messages_are_stored_and_volatile_ones_pass_through() {
    let mut host = session(Layout::Log);
    host.rewrites = true;
    for n in 0..7 {
        host.messages[4]["content"][0]["text"] = json!(format!("redacted {n}"));
        host.user(&format!("go on {n}"));
        host.send();
        assert_eq!(host.sent, host.messages);
    }
    let volatile =
        host.live.state().chat().messages.iter().filter(|message| message.changes > 3).count();
    assert_eq!(volatile, 1);
    assert!(
        !chat_items(&host).iter().any(|item| item.contains("redacted 6")),
        "it is not stored anew for ever"
    );
}

#[test]
fn messages_of_every_kind_pass_through_in_place_and_unchanged() {
    for layout in [Layout::Log, Layout::Pools] {
        let mut host = Host::new(Settings { layout, ..Settings::default() });
        host.messages = vec![
            json!({ "role": "custom", "customType": "x", "content": "hello", "display": true, "details": { "a": 1 } }),
            json!({ "role": "user", "content": [{ "type": "text", "text": "look" }, { "type": "image", "data": "AAAA", "mimeType": "image/png" }] }),
            json!({ "role": "assistant", "content": [
                { "type": "thinking", "thinking": "hm", "thinkingSignature": "s" },
                { "type": "toolCall", "id": "call_0", "name": "bash", "arguments": { "command": "a" } },
                { "type": "toolCall", "id": "call_0", "name": "bash", "arguments": { "command": "b" } },
            ] }),
            json!({ "role": "toolResult", "toolCallId": "call_0", "toolName": "bash", "content": [{ "type": "text", "text": "A\u{0}" }], "isError": false }),
            json!({ "role": "toolResult", "toolCallId": "call_0", "toolName": "bash", "content": [{ "type": "image", "data": "BB", "mimeType": "image/png" }], "isError": true }),
            json!({ "role": "toolResult", "toolCallId": "nobody", "toolName": "bash", "content": [] }),
            json!({ "role": "bashExecution", "command": "ls", "output": "x", "exitCode": 0 }),
            json!({ "role": "bashExecution", "command": "secret", "output": "hidden", "excludeFromContext": true }),
            json!({ "role": "branchSummary", "summary": "s", "fromId": "1" }),
            json!({ "role": "assistant", "content": [], "stopReason": "error", "errorMessage": "overloaded" }),
            json!({ "no": "role" }),
            json!(null),
            json!({ "role": "user", "content": "plain text" }),
        ];
        let sent = transform(&mut host);
        if layout == Layout::Log {
            assert_eq!(sent, host.messages);
        }
        let items = chat_items(&host).join("\n");
        assert!(!items.contains("hidden"), "output excluded from context is stored nowhere");
        let toolcalls = host.live.state().index().entries.len();
        assert_eq!(toolcalls, 3, "a repeated call ID makes two objects, a person's command one");
    }
}

/// Sends without the checks of a well-formed list.
fn transform(host: &mut Host) -> Vec<Value> {
    let list = json_of(&host.messages);
    host.live.transform(HostList::whole(list), &CallInfo::default()).unwrap();
    let again = replay_call(&host.store, host.live.id(), 1).unwrap().messages;
    let mut sent: Vec<Value> =
        again.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
    for (sent, given) in sent.iter_mut().zip(&host.messages) {
        if given["excludeFromContext"] == true {
            *sent = given.clone();
        }
    }
    sent
}

#[test]
fn a_call_without_a_result_gets_an_object_that_says_so() {
    let mut host = session(Layout::Log);
    host.call_as("lost", "bash", &json!({ "command": "sleep 9" }));
    host.user("never mind");
    let list = json_of(&host.messages);
    host.live.transform(HostList::whole(list), &CallInfo::default()).unwrap();
    let object = host.store.get(&ObjectId::new("lost"), AsOf::Latest).unwrap().unwrap();
    assert_eq!((&object.fields["status"], object.content), (&json!("fail"), None));
}

#[test]
fn a_call_id_used_by_another_session_makes_another_object() {
    let mut host = session(Layout::Log);
    host.user("x");
    host.send();
    let mut other = Host::with_store(Settings::default(), host.store.clone());
    other.restart_as("session-b");
    other.user("hi");
    other.tool("bash", &json!({ "command": "ls" }), "other output");
    other.send();
    let entry = &other.live.state().index().entries[0];
    assert_ne!(entry.id.as_str(), "call_1");
    let object = other.store.get(&entry.id, AsOf::Latest).unwrap().unwrap();
    assert_eq!(object.fields["provider_call_id"], json!("call_1"));
    let theirs = other.activate(&Wanted { name: "call_2".into(), ..Wanted::default() }, false);
    assert!(theirs.contains("nothing is named"), "never another session's toolcalls: {theirs}");
}

#[test]
fn a_failed_call_stores_nothing_and_the_next_record_says_so() {
    let mut host = session(Layout::Log);
    host.user("x");
    let broken = host
        .live
        .transform(HostList::whole(vec!["{".to_owned()]), &CallInfo::default())
        .unwrap_err();
    assert_eq!(broken.code(), "INVALID_ARGUMENT");
    host.live.record_failed_call("INVALID_ARGUMENT: broken");
    host.send();
    let replayed = replay_call(&host.store, host.live.id(), 4).unwrap();
    assert_eq!(replayed.messages.len(), host.messages.len(), "the host's own messages went out");
    assert_eq!(host.live.state().calls(), 5);
}

#[test]
fn the_whole_of_an_output_that_the_host_cut_is_stored() {
    let mut host = Host::new(Settings { max_output_bytes: 6_000_000, ..Settings::default() });
    let lines: Vec<String> = (0..400_000).map(|n| format!("line {n}")).collect();
    let whole = lines.join("\n") + "\n";
    let shown =
        "line 399998\nline 399999\n\n\n[Showing lines 399999-400000 of 400001. Full output: x]";
    host.write_file("whole.log", &whole);
    host.write_file("longer.log", &"x".repeat(6_000_001));
    host.user("go");
    for (n, (file, text)) in
        [("whole.log", shown), ("longer.log", "x"), ("gone.log", "x"), ("whole.log", "redacted")]
            .into_iter()
            .enumerate()
    {
        let id = host.call("bash", &json!({ "command": n.to_string() }));
        let content = json!([{ "type": "text", "text": text }]);
        let details = json!({ "fullOutputPath": host.path(file) });
        host.push(json!({
            "role": "toolResult", "toolCallId": id, "toolName": "bash", "content": content, "details": details,
            "isError": false,
        }));
    }
    host.send();
    let found = |n: u32| {
        let id = ObjectId::new(format!("call_{n}"));
        let version = host.store.get(&id, AsOf::Latest).unwrap().unwrap();
        let text = host.store.additional(&version, "full_output").unwrap();
        let told = &version.fields["full_output"];
        (text, told["size_bytes"].as_u64(), told["no_content"].as_str().map(str::to_owned))
    };
    let size = whole.len() as u64;
    assert!(found(1) == (Some(whole), Some(size), None));
    assert_eq!(found(2), (None, Some(6_000_001), Some("too_large".to_owned())));
    assert_eq!(found(3), (None, None, Some("deleted".to_owned())));
    assert_eq!(found(4), (None, Some(size), Some("differs".to_owned())));
}
