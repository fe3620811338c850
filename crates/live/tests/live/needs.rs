//! What the model's answers needed of earlier outputs, as a session records it.

use base::object::AsOf;
use config::Settings;
use serde_json::{Value, json};

use crate::host::Host;

const LINE: &str = "fn parse(input: &str) -> Result<Vec<Token>> {";
const OTHER: &str = "fn print(tokens: &[Token], out: &mut impl Write) {";

/// The recorded needs of outputs: position of the answer, and of each output with its number of
/// lines.
fn needs(host: &Host) -> Vec<Value> {
    let of_outputs = recorded(host).into_iter().filter(|event| event["outputs"] != json!([]));
    of_outputs.map(|event| json!([event["at"], event["outputs"]])).collect()
}

fn recorded(host: &Host) -> Vec<Value> {
    let items = host.store.items(host.live.id(), AsOf::Latest, 0..u64::MAX).unwrap();
    let events = items.iter().map(|item| serde_json::from_str::<Value>(item).unwrap());
    events.filter(|event| event["event"] == "needed").collect()
}

/// A session whose model saw both lines, each in an output.
fn shown() -> Host {
    let mut host = Host::new(Settings::default());
    host.user("go");
    host.tool("bash", &json!({ "command": "cat parse.rs" }), LINE);
    host.tool("bash", &json!({ "command": "cat print.rs" }), OTHER);
    host.send();
    host
}

#[test]
fn a_line_that_an_answer_takes_from_an_output_is_recorded_once() {
    let mut host = shown();
    host.say(&format!("Here it is:\n{LINE}"));
    host.user("well");
    host.send();
    assert_eq!(needs(&host), [json!([5, [[2, 1]]])]);
    host.say(LINE);
    host.user("and");
    host.restart();
    host.send();
    assert_eq!(needs(&host).len(), 1, "the model has said it itself");
}

#[test]
fn own_words_repeated_after_many_steps_are_recorded() {
    let mut host = shown();
    host.say(&format!("Here it is:\n{LINE}"));
    for step in 0..12 {
        host.user("well");
        host.tool("bash", &json!({ "command": format!("echo {step}") }), "");
        host.send();
        if step == 2 {
            host.say(LINE);
        }
    }
    host.say(LINE);
    host.user("and");
    host.send();
    let said: Vec<Value> = recorded(&host).into_iter().map(|event| event["said"].clone()).collect();
    assert_eq!(said, [Value::Null, json!([15])], "{:?}", recorded(&host));
}

#[test]
fn an_answer_on_another_branch_has_needs_of_its_own() {
    let mut host = shown();
    host.say(&format!("{LINE}\n{OTHER}"));
    host.user("well");
    host.send();
    host.messages.truncate(5);
    host.say(OTHER);
    host.user("well then");
    host.send();
    assert_eq!(needs(&host), [json!([5, [[2, 1], [4, 1]]]), json!([5, [[4, 1]]])]);
}

#[test]
fn volatile_messages_are_needed_by_nothing() {
    for restarts in [false, true] {
        let mut host = shown();
        host.rewrites = true;
        for n in 0..4 {
            host.messages[2]["content"][0]["text"] = json!(format!("{LINE} // {n}"));
            host.send();
        }
        if restarts {
            host.restart();
        }
        host.say(&format!("{LINE} // 3\n{OTHER}"));
        host.user("well");
        host.send();
        assert_eq!(needs(&host), [json!([5, [[4, 1]]])], "restarts: {restarts}");
    }
}
