//! The provider's request: its hash in the call's record, what went out if another extension
//! changed it, replays.

use base::object::{AsOf, Hash, canonical_json};
use config::Settings;
use context::patch;
use serde_json::{Value, json};

use crate::host::Host;

/// A host in the middle of a turn whose person wrote much.
fn host() -> Host {
    let mut host = Host::new(Settings::default());
    host.user(&"words ".repeat(1_000));
    host.tool("bash", &json!({ "command": "make" }), "made\n");
    host
}

/// The request that an adapter for Anthropic makes of a list.
fn request(messages: &[Value]) -> Value {
    let result = |message: &Value| json!({ "type": "tool_result", "tool_use_id": message["toolCallId"], "content": message["content"] });
    let converted = messages.iter().map(|message| match message["role"].as_str().unwrap() {
        "toolResult" => json!({ "role": "user", "content": [result(message)] }),
        role => json!({ "role": role, "content": message["content"] }),
    });
    let mut messages: Vec<Value> = converted.collect();
    let mark = json!({ "type": "ephemeral" });
    messages.last_mut().unwrap()["content"][0]["cache_control"] = mark.clone();
    json!({
        "system": [{ "type": "text", "text": "system", "cache_control": mark }],
        "max_tokens": 8_000, "messages": messages,
    })
}

fn prepare(host: &mut Host, request: &Value) -> Value {
    let mut request = request.clone();
    let patches = host.live.prepare_payload(&request.to_string()).unwrap();
    patch::apply(&mut request, &patches);
    request
}

/// The records of requests, after the session was closed and opened again.
fn records(host: &mut Host) -> Vec<Value> {
    host.restart();
    let events = host.store.items(host.live.id(), AsOf::Latest, 0..u64::MAX).unwrap();
    let events = events.iter().map(|event| serde_json::from_str::<Value>(event).unwrap());
    events.filter(|event| event["event"] == "payload").collect()
}

#[test]
fn the_hash_of_what_goes_out_stands_beside_the_calls_record() {
    let mut host = host();
    let sent = host.send();
    let prepared = prepare(&mut host, &request(&sent));
    assert!(prepared["messages"][0]["content"][0]["cache_control"].is_object());
    let hash = Hash::of(canonical_json(&prepared).unwrap());
    assert_eq!(records(&mut host), [json!({ "event": "payload", "call": 1, "hash": hash })]);
}

#[test]
fn replaying_a_request_changes_nothing_even_during_a_call() {
    let mut host = host();
    let first = host.send();
    let prepared = prepare(&mut host, &request(&first));
    let mut replay = request(&first);
    replay["max_tokens"] = json!(1);
    let warmed = prepare(&mut host, &replay);
    assert_eq!(warmed["messages"], prepared["messages"]);
    host.tool("bash", &json!({ "command": "test" }), "tested");
    let second = host.send();
    prepare(&mut host, &replay);
    prepare(&mut host, &request(&second));
    let calls: Vec<Value> = records(&mut host).iter().map(|it| it["call"].clone()).collect();
    assert_eq!(calls, [1, 2]);
}

#[test]
fn a_retry_has_a_request_of_its_own() {
    let mut host = host();
    for _ in 0..2 {
        let sent = host.send();
        prepare(&mut host, &request(&sent));
    }
    let calls: Vec<Value> = records(&mut host).iter().map(|it| it["call"].clone()).collect();
    assert_eq!(calls, [1, 2]);
}

#[test]
fn a_request_before_the_first_call_is_not_recorded() {
    let mut host = host();
    let list = host.messages.clone();
    prepare(&mut host, &request(&list));
    host.send();
    assert_eq!(records(&mut host), Vec::<Value>::new());
}

#[test]
fn messages_changed_by_another_extension_are_stored_once() {
    let mut host = host();
    let changed = |host: &mut Host| {
        let mut list = host.send();
        list[2]["content"][0]["text"] = json!("redacted");
        let prepared = prepare(host, &request(&list));
        prepared["messages"].clone()
    };
    changed(&mut host);
    for n in 0..8 {
        host.tool("bash", &json!({ "command": format!("make {n}") }), "made");
        changed(&mut host);
    }
    // A restart in between, and a call that went out as we gave it.
    host.restart();
    let sent = host.send();
    prepare(&mut host, &request(&sent));
    host.user("on");
    let last = changed(&mut host);
    let records = records(&mut host);
    let inserted = |record: &Value| -> Vec<Value> {
        let edits = record["edits"].as_array().unwrap().iter();
        edits.flat_map(|edit| edit["insert"].as_array().unwrap().clone()).collect()
    };
    assert_eq!(inserted(&records[0]).len(), 3);
    // What carried the host's own breakpoint before, and what is new.
    assert!(records[1..9].iter().all(|record| inserted(record).len() <= 4), "{records:?}");
    assert_eq!(records[9].get("edits"), None);
    let mut held: Vec<Value> = Vec::new();
    for record in records.iter().filter(|record| record.get("edits").is_some()) {
        for edit in record["edits"].as_array().unwrap() {
            let number = |name: &str| usize::try_from(edit[name].as_u64().unwrap()).unwrap();
            let at = number("at");
            let insert = edit["insert"].as_array().unwrap().clone();
            held.splice(at..at + number("remove"), insert);
        }
    }
    let held: Vec<Value> = held
        .iter()
        .map(|slot| serde_json::from_str(slot["message"].as_str().unwrap()).unwrap())
        .collect();
    assert_eq!(Value::from(held), last);
}

#[test]
fn excluded_text_is_not_stored_with_a_recorded_request() {
    let mut host = Host::new(Settings::default());
    host.write_file(".env", "TOKEN=hush-hush-hush\n");
    host.user(&"words ".repeat(1_000));
    host.read(".env", None, None);
    host.tool("bash", &json!({ "command": "make" }), "made");
    let mut list = host.send();
    list[4]["content"][0]["text"] = json!("redacted, but hush-hush-hush was seen");
    prepare(&mut host, &request(&list));
    let record = records(&mut host).remove(0);
    let text = record.to_string();
    assert!(!text.contains("hush-hush"), "{text}");
    assert!(text.contains("words words"), "what the store holds anyway is held: {text}");
}

#[test]
fn a_payload_that_is_no_request_is_refused_without_effect() {
    let mut host = host();
    host.send();
    assert_eq!(host.live.prepare_payload("{").unwrap_err().code(), "INVALID_ARGUMENT");
    for odd in ["null", "[]", "{\"messages\":[null,3,{\"role\":\"user\",\"content\":[7]}]}"] {
        assert_eq!(host.live.prepare_payload(odd).unwrap(), [], "{odd}");
    }
    host.user("on");
    host.send();
}
