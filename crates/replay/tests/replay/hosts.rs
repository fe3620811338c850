//! Hosts that make their requests smaller by a rule of their own: what goes out at each call.

use config::Settings;
use replay::hosts::{HostRule, play_host};
use replay::options::{Replaying, Sender};
use replay::play::{Played, PlayedRequest};
use replay::transcript::Transcript;
use serde_json::{Value, json};

use crate::bound::replaying;

/// Builds a session message by message.
#[derive(Default)]
struct Messages(Vec<Value>);

impl Messages {
    fn user(mut self, text: &str) -> Self {
        self.0.push(json!({ "role": "user", "content": text }));
        self
    }

    fn call(mut self, tool: &str, args: &Value, output: &str, failed: bool) -> Self {
        let id = format!("c{}", self.0.len());
        let asked = json!({ "type": "toolCall", "id": id, "name": tool, "arguments": args });
        self.0.push(json!({ "role": "assistant", "content": [asked] }));
        let shown = json!([{ "type": "text", "text": output }]);
        self.0.push(json!({ "role": "toolResult", "toolCallId": id, "toolName": tool, "content": shown, "isError": failed }));
        self
    }

    fn ran(self, command: &str, tokens: usize) -> Self {
        self.call("bash", &json!({ "command": command }), &"x".repeat(tokens * 4), false)
    }

    /// The request before a last answer.
    fn last_request(mut self, rule: HostRule, keep_results: u64) -> Vec<Value> {
        self.0.push(json!({ "role": "assistant", "content": "done" }));
        let given: Vec<String> = self.0.iter().map(Value::to_string).collect();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("made.jsonl");
        std::fs::write(
            &path,
            format!("{{\"session\":{{\"id\":\"made\"}}}}\n{}\n", given.join("\n")),
        )
        .unwrap();
        let replaying = Replaying { sender: Sender::Host(rule), ..replaying("openai", None) };
        let mut playing = replaying.playing();
        playing.settings = Settings { keep_results, ..playing.settings };
        let mut sent: Vec<PlayedRequest> = Vec::new();
        let mut each = |played: Played| {
            for change in played.changes {
                drop(sent.splice(change.at..change.at + change.remove, change.insert));
            }
            Ok(())
        };
        play_host(rule, &Transcript::read(&path).unwrap(), &playing, &[], &mut each).unwrap();
        let json = |sent: &PlayedRequest| match sent {
            PlayedRequest::Given(index) => given[*index].clone(),
            PlayedRequest::Changed { json, .. } | PlayedRequest::Ours(json) => json.clone(),
        };
        sent.iter().map(|sent| serde_json::from_str(&json(sent)).unwrap()).collect()
    }
}

/// Indexes of the messages that do not hold all their content.
fn cut(request: &[Value]) -> Vec<usize> {
    let is_cut = |message: &Value| message.to_string().contains("content cleared");
    (0..request.len()).filter(|at| is_cut(&request[*at])).collect()
}

#[test]
fn masking_keeps_the_newest_outputs() {
    let session =
        || Messages::default().user("Go.").ran("a", 9).ran("b", 9).user("And?").ran("c", 9);
    assert_eq!(cut(&session().last_request(HostRule::Masking, 2)), [2]);
    assert_eq!(cut(&session().last_request(HostRule::Masking, 9)), [0; 0]);
    assert_eq!(cut(&session().last_request(HostRule::Plain, 1)), [0; 0]);
}

#[test]
fn clearing_takes_old_turns_once_that_frees_enough() {
    let turns = |old: usize| {
        let session = Messages::default().user("1").ran("a", old).ran("b", 30_000).ran("c", 30_000);
        session.user("2").ran("d", 9).user("3").ran("e", 9).user("4")
    };
    assert_eq!(cut(&turns(1_000).last_request(HostRule::Clearing, 1)), [2, 4]);
    let few = Messages::default().user("1").ran("a", 10_000).ran("b", 39_000);
    let few = few.user("2").user("3").user("4");
    assert_eq!(cut(&few.last_request(HostRule::Clearing, 1)), [0; 0], "10,000 tokens are too few");
    let running =
        Messages::default().user("1").user("2").user("3").ran("a", 90_000).ran("b", 90_000);
    assert_eq!(cut(&running.last_request(HostRule::Clearing, 1)), [0; 0], "the turn is not over");
}

#[test]
fn pruning_takes_repeats_written_files_and_failures() {
    let read = json!({ "path": "a.rs" });
    let written = json!({ "path": "a.rs", "content": "fn main() {}\n".repeat(9) });
    let session = || Messages::default().user("Go.").call("write", &written, "ok", false);
    assert_eq!(cut(&session().last_request(HostRule::Pruning, 1)), [0; 0], "nobody read it");
    let twice = session().call("read", &read, "text", false).call("read", &read, "text", false);
    let request = twice.last_request(HostRule::Pruning, 1);
    assert_eq!(cut(&request), [1, 4]);
    assert_eq!(request[1]["content"][0]["arguments"]["path"], "a.rs", "what is short stays");

    let failing = || {
        Messages::default().user("Go.").call(
            "bash",
            &json!({ "command": "make all the targets of this project" }),
            "no",
            true,
        )
    };
    let later = ["a", "b", "c"].iter().fold(failing(), |session, name| session.ran(name, 9));
    assert_eq!(cut(&later.last_request(HostRule::Pruning, 1)), [0; 0], "it is among the last four");
    let later = ["a", "b", "c", "d"].iter().fold(failing(), |session, name| session.ran(name, 9));
    assert_eq!(cut(&later.last_request(HostRule::Pruning, 1)), [1]);
}
