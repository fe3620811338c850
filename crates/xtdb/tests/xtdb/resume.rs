//! A session paused on one machine and resumed on another, with chat, pool, pins and handles.

use base::object::{AsOf, ObjectId};
use live::{LiveSession, Wanted};
use serde_json::{Value, json};

use crate::machine::Machine;
use crate::recordings;
use testing::xtdb::Database;

/// Steps of a session, each with a command and its output, from `first` on.
fn steps(first: usize, count: usize) -> Vec<String> {
    let mut messages = Vec::new();
    for step in first..first + count {
        let message = |role: &str, place: usize, content: Value| json!({"role": role, "content": content, "timestamp": 10 * step + place});
        let id = format!("call_{step}");
        let call = json!({"type": "toolCall", "id": id, "name": "bash",
            "arguments": {"command": format!("cat part-{step}.log")}});
        let mut result = message(
            "toolResult",
            3,
            json!([{"type": "text", "text": format!("output of step {step}\n")}]),
        );
        result["toolCallId"] = json!(id);
        result["toolName"] = json!("bash");
        result["isError"] = json!(false);
        messages.push(message("user", 1, json!(format!("step {step}, please"))));
        messages.push(message("assistant", 2, json!([call])));
        messages.push(result);
        messages.push(message("assistant", 4, json!([{"type": "text", "text": "done"}])));
    }
    messages.iter().map(ToString::to_string).collect()
}

/// What a session knows, apart from what only its own store can say.
fn known(live: &LiveSession) -> String {
    let state = live.state();
    let members = state.index().entries.iter().map(|entry| (entry.handle, entry.id.clone()));
    let members: Vec<_> = members.collect();
    let (pool, pinned) = (&state.sets().pool, state.sets().pinned());
    format!("{members:#?} {pool:?} {pinned:?} {} calls", state.calls())
}

#[test]
fn a_session_continues_on_another_machine_and_returns() {
    let Some(database) = Database::new() else { return };
    let [here, there] = [(); 2].map(|()| Machine::with_sessions(&database.url()));
    let messages = steps(0, 5);
    let all: Vec<&str> = messages.iter().map(String::as_str).collect();
    let mut live = recordings::open(&here.store, "s1");
    recordings::continue_with(&mut live, &all, 0);
    live.activate("call_pin", &Wanted { name: "t2".into(), ..Wanted::default() }, true).unwrap();
    let before = known(&live);
    assert!(before.contains("call_1"), "{before}");
    live.close().unwrap();
    here.push();

    there.sharing.pull_session("s1").unwrap();
    let mut live = recordings::open(&there.store, "s1");
    assert_eq!(known(&live), before);
    let more = steps(5, 3);
    let all: Vec<&str> = messages.iter().chain(&more).map(String::as_str).collect();
    recordings::continue_with(&mut live, &all, messages.len());
    let after = known(&live);
    live.close().unwrap();
    there.push();

    let pulled = here.sharing.pull_session("s1").unwrap();
    assert!(pulled.parted.is_empty(), "{pulled:?}");
    let live = recordings::open(&here.store, "s1");
    assert_eq!(known(&live), after);
    let chat = ObjectId::chat("s1");
    let [one, other] = [&here, &there].map(|machine| {
        let version = machine.store.require(&chat, AsOf::Latest).unwrap();
        machine.store.items(&chat, AsOf::Latest, 0..version.item_count).unwrap()
    });
    assert_eq!(one, other);
    assert_eq!(one.len(), all.len());
}

#[test]
fn a_session_that_went_on_in_two_places_is_two_sessions() {
    let Some(database) = Database::new() else { return };
    let [here, there] = [(); 2].map(|()| Machine::with_sessions(&database.url()));
    let messages = steps(0, 2);
    let all: Vec<&str> = messages.iter().map(String::as_str).collect();
    recordings::play(&here.store, "s1", &all);
    here.push();
    there.sharing.pull_session("s1").unwrap();
    for (machine, first) in [(&here, 10), (&there, 20)] {
        let more = steps(first, 1);
        let all: Vec<&str> = messages.iter().chain(&more).map(String::as_str).collect();
        recordings::continue_with(
            &mut recordings::open(&machine.store, "s1"),
            &all,
            messages.len(),
        );
    }
    here.push();
    there.push();
    let pulled = there.sharing.pull_session("s1").unwrap();
    assert_eq!(pulled.parted.len(), 1, "{pulled:?}");
    let ours = there.store.require(&ObjectId::chat("s1"), AsOf::Latest).unwrap();
    let items = there.store.items(&ObjectId::chat("s1"), AsOf::Latest, 0..ours.item_count).unwrap();
    assert!(items.join("").contains("step 20") && !items.join("").contains("step 10"));
}
