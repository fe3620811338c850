//! Results that do not stand right behind their calls: each belongs to the newest call of its ID
//! before it that has none yet.

use config::Settings;
use live::Wanted;
use serde_json::{Value, json};
use session::Subject;

use crate::host::{Host, uncached};
use crate::shapes::text_of;

fn host() -> Host {
    let prices = uncached();
    let settings = Settings { prices, keep_results: 1, collapse_tokens: 50, ..Settings::default() };
    let mut host = Host::new(Settings { preview_tokens: 0, ..settings });
    host.is_late = true;
    host.rewrites = true;
    host.user("go");
    host
}

fn output(name: &str) -> String {
    (0..60).map(|line| format!("line {line} of {name}")).collect::<Vec<_>>().join("\n")
}

fn args(name: &str) -> Value {
    json!({ "command": format!("run {name}") })
}

fn answer(host: &mut Host, id: &str, name: &str) {
    host.answer(id, "bash", &args(name), &output(name), false);
}

fn activated(host: &mut Host, name: &str) -> String {
    let id = host.next_id();
    let wanted = Wanted { name: name.into(), ..Wanted::default() };
    host.live.activate(&id, &wanted, false).unwrap_or_else(|error| error.to_string())
}

/// Goes on until what stands may leave.
fn go_on(host: &mut Host) -> Vec<Value> {
    for step in 0..12 {
        let name = format!("later {step}");
        host.tool("bash", &args(&name), &output(&name));
        host.send();
    }
    host.sent.clone()
}

fn stands(sent: &[Value], name: &str) -> bool {
    sent.iter().any(|message| text_of(message).contains(&format!("line 30 of {name}")))
}

#[test]
fn a_result_behind_other_messages_is_its_calls_and_leaves() {
    let mut host = host();
    let call = host.call("bash", &args("one"));
    host.user("Steer.");
    answer(&mut host, &call, "one");
    host.send();
    let call = host.call("bash", &args("two"));
    host.send();
    host.say("It runs in the background.");
    host.user("Go on.");
    host.send();
    host.restart();
    answer(&mut host, &call, "two");
    host.send();
    let call = host.call("bash", &args("three"));
    host.push(json!({ "role": "custom", "customType": "other", "content": "noise" }));
    host.tool("bash", &args("four"), &output("four"));
    answer(&mut host, &call, "three");
    host.send();
    for (handle, name) in [("t1", "one"), ("t2", "two"), ("t3", "three"), ("t4", "four")] {
        let shown = activated(&mut host, handle);
        assert!(shown.contains(&format!("line 30 of {name}")), "{handle}: {shown}");
    }
    let sent = go_on(&mut host);
    for name in ["one", "two", "three", "four"] {
        assert!(!stands(&sent, name), "{name} stands");
    }
    let entries = host.live.state().index().entries.iter();
    let calls = entries.filter(|entry| matches!(entry.subject, Subject::Toolcall { .. }));
    assert_eq!(calls.count(), 16, "no call has two objects");
}

#[test]
fn repeated_ids_mean_the_newest_call_without_a_result() {
    let mut host = host();
    host.call_as("call_0", "bash", &args("one"));
    host.user("Steer.");
    host.call_as("call_0", "bash", &args("two"));
    answer(&mut host, "call_0", "two");
    answer(&mut host, "call_0", "one");
    host.call_all(&[
        ("call_0".into(), "bash", args("three")),
        ("call_0".into(), "bash", args("four")),
    ]);
    answer(&mut host, "call_0", "three");
    answer(&mut host, "call_0", "four");
    host.send();
    // One more result than calls belongs to none.
    host.push_result("call_0", "bash", &json!([{ "type": "text", "text": "extra" }]), false);
    host.send();
    let state = host.live.state();
    let facts = state.window().filter_map(|(at, _)| state.result(at)?.object.as_ref());
    let briefs: Vec<&str> = facts.map(|object| state.brief(object)).collect();
    let asked = |name: &str| format!("run {name}");
    let expected = ["two", "one", "three", "four"].map(asked);
    assert!(briefs.iter().zip(&expected).all(|(brief, run)| brief.ends_with(run)), "{briefs:?}");
    assert_eq!(briefs.len(), 4);
    let ids = |list: &[Value]| list.iter().map(|it| it["toolCallId"].clone()).collect::<Vec<_>>();
    assert_eq!(ids(&host.sent), ids(&host.messages));
}

#[test]
fn what_a_late_result_shows_of_an_excluded_file_is_withheld() {
    let mut host = host();
    host.write_file(".env", "KEY=sesame-open-please\n");
    let read = json!({ "command": "cat .env" });
    host.call_as("call_0", "bash", &read);
    host.user("Steer.");
    host.call_as("call_0", "bash", &json!({ "command": "ls" }));
    host.answer("call_0", "bash", &json!({ "command": "ls" }), "a.txt", false);
    host.answer("call_0", "bash", &read, "KEY=sesame-open-please", false);
    host.send();
    let items = host.store.items(
        &base::object::ObjectId::chat(&host.name),
        base::object::AsOf::Latest,
        0..u64::MAX,
    );
    assert!(!items.unwrap().iter().any(|item| item.contains("sesame")));
}
