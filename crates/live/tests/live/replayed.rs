//! A live session and its replay from the host's file: one code path, the same requests.

use std::path::Path;

use config::Settings;
use context::tokens::Counter;
use live::Wanted;
use proptest::prelude::*;
use replay::facts::ToolCalls;
use replay::play::{PlayedChange, PlayedRequest, Playing, play};
use replay::transcript::Transcript;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::host::{Host, OVERHEAD_TOKENS, uncached};

/// A live session whose requests are kept, with a snapshot of the working folder at each request
/// and at the end of each tool call.
struct Recorded {
    host: Host,
    snapshots: TempDir,
    requests: Vec<Vec<Value>>,
}

/// The session file's name without its ending.
const NAME: &str = "recorded";

impl Recorded {
    fn new(settings: Settings) -> Self {
        let mut host = Host::new(settings);
        host.user("go");
        Self { host, snapshots: tempfile::tempdir().unwrap(), requests: Vec::new() }
    }

    /// Takes a snapshot of the disk at the end of the last tool call.
    fn ended(&mut self) {
        let id = self.host.messages.last().unwrap()["toolCallId"].as_str().unwrap().to_owned();
        self.save(&format!("result-{id}"));
    }

    fn send(&mut self) {
        self.save(&format!("call-{}", self.requests.len()));
        let request = self.host.send();
        self.requests.push(request);
    }

    fn save(&self, name: &str) {
        copy(self.host.folder.path(), &self.snapshots.path().join(NAME).join(name));
    }

    fn read(&mut self, name: &str, offset: Option<u32>, limit: Option<u32>) {
        self.send();
        self.host.read(name, offset, limit);
        self.ended();
    }

    fn edit(&mut self, name: &str, old: &str, new: &str) {
        self.send();
        self.host.edit(name, old, new);
        self.ended();
    }

    fn write(&mut self, name: &str, text: &str) {
        self.send();
        self.host.write_file(name, text);
        self.host.tool("write", &json!({ "path": name, "content": text }), "Written.");
        self.ended();
    }

    fn activate(&mut self, name: &str) {
        self.send();
        self.host.activate(&Wanted { name: name.to_owned(), ..Wanted::default() }, false);
        self.ended();
    }

    /// Runs a command, which does `work` in the working folder.
    fn bash(&mut self, command: &str, output: &str, work: impl Fn(&Path)) {
        self.send();
        work(self.host.folder.path());
        self.host.tool("bash", &json!({ "command": command }), output);
        self.ended();
    }

    fn outside(&self, name: &str, text: &str) {
        self.host.write_file(name, text);
    }

    /// The host's file, with an answer to the last request.
    fn transcript(&mut self) -> Transcript {
        self.send();
        self.host.say("Done.");
        let cwd = self.host.folder.path();
        let mut lines = vec![json!({ "session": { "id": "session-1", "cwd": cwd } }).to_string()];
        lines.extend(self.host.messages.iter().map(Value::to_string));
        let path = format!("{NAME}.jsonl");
        Transcript::parse(Path::new(&path), lines.join("\n").as_bytes()).unwrap()
    }

    /// Replays the host's file, and gives its requests and what was counted of its tool calls.
    fn replayed(&mut self, with_snapshots: bool) -> (Vec<Vec<Value>>, ToolCalls) {
        let transcript = self.transcript();
        let bill = &self.host.live.state().bill().last.as_ref().unwrap().bill;
        let playing = Playing {
            settings: self.host.settings.clone(),
            counter: Counter::default(),
            window_tokens: Some(self.host.window),
            fixed_tokens: bill.fixed,
            overhead_tokens: OVERHEAD_TOKENS,
            snapshots: with_snapshots.then(|| self.snapshots.path().to_owned()),
            foresees: false,
        };
        let mut sent: Vec<PlayedRequest> = Vec::new();
        let (mut requests, mut calls) = (Vec::new(), ToolCalls::default());
        let live = play(&transcript, &playing, &mut |played| {
            apply(&mut sent, played.changes);
            requests.push(sent.iter().map(|sent| message(sent, &transcript.messages)).collect());
            calls.add(played.tool_calls);
            Ok(())
        });
        drop(live.unwrap());
        (requests, calls)
    }

    /// Checks that the replay sends what the live session sent.
    fn check(&mut self, with_snapshots: bool) -> ToolCalls {
        let (requests, calls) = self.replayed(with_snapshots);
        assert_eq!(requests.len(), self.requests.len());
        for (number, (replayed, live)) in requests.iter().zip(&self.requests).enumerate() {
            for (at, (replayed, live)) in replayed.iter().zip(live).enumerate() {
                assert_eq!(replayed, live, "request {number}, message {at}");
            }
            assert_eq!(replayed.len(), live.len(), "request {number}");
        }
        calls
    }
}

fn apply(sent: &mut Vec<PlayedRequest>, changes: Vec<PlayedChange>) {
    for change in changes {
        drop(sent.splice(change.at..change.at + change.remove, change.insert));
    }
}

fn message(sent: &PlayedRequest, given: &[String]) -> Value {
    let json = match sent {
        PlayedRequest::Given(index) => &given[*index],
        PlayedRequest::Changed { json, .. } | PlayedRequest::Ours(json) => json,
    };
    serde_json::from_str(json).unwrap()
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in from.read_dir().unwrap().map(Result::unwrap) {
        let place = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &place);
        } else {
            std::fs::copy(entry.path(), place).unwrap();
        }
    }
}

/// Small limits, so that outputs collapse and fold in a short session.
fn settings() -> Settings {
    Settings {
        keep_results: 2,
        collapse_tokens: 300,
        preview_tokens: 500,
        prices: uncached(),
        ..Settings::default()
    }
}

fn lines(name: &str, count: usize) -> String {
    let lines: Vec<String> =
        (1..=count).map(|n| format!("{name} line {n} of some words")).collect();
    lines.join("\n") + "\n"
}

#[test]
fn a_file_that_is_read_whole_is_shown_as_live() {
    let mut session = Recorded::new(Settings::default());
    for name in ["a.rs", "b.rs", "c.rs"] {
        session.outside(name, &lines(name, 600));
    }
    for name in ["a.rs", "b.rs", "c.rs", "a.rs"] {
        session.read(name, None, None);
    }
    let calls = session.check(false);
    assert_eq!(calls, ToolCalls { all: 4, unknown_files: 0, possible_changes: 0 });
}

#[test]
fn what_a_session_reads_writes_and_edits_needs_no_snapshot() {
    let mut session = Recorded::new(settings());
    session.outside("a.rs", &lines("a", 60));
    session.read("a.rs", None, None);
    session.edit("a.rs", "a line 7 of", "a line seven of");
    session.write("sub/../b.rs", &lines("b", 40));
    session.read("a.rs", Some(5), Some(10));
    session.read("b.rs", Some(30), None);
    session.bash("mv b.rs c.rs", "", |folder| {
        std::fs::rename(folder.join("b.rs"), folder.join("c.rs")).unwrap();
    });
    session.edit("c.rs", "b line 3 of", "b line three of");
    session.read("c.rs", None, None);
    session.read("a.rs", None, None);
    session.outside("d.rs", &lines("d", 30));
    session.read("d.rs", None, Some(200));
    session.read("d.rs", Some(12), Some(3));
    let calls = session.check(false);
    assert_eq!(calls, ToolCalls { all: 11, unknown_files: 0, possible_changes: 1 });
}

#[test]
fn what_a_transcript_does_not_show_is_counted() {
    let mut session = Recorded::new(Settings::default());
    session.outside("a.rs", &lines("a", 60));
    session.outside("b.rs", &lines("b", 60));
    session.read("a.rs", Some(10), Some(10));
    session.read("b.rs", None, None);
    session.bash("cat b.rs | head -3 2>/dev/null", "x", |_| {});
    session.bash("./change", "", |folder| {
        std::fs::write(folder.join("b.rs"), lines("other", 60)).unwrap();
    });
    session.read("b.rs", None, None);
    let (_, calls) = session.replayed(false);
    assert_eq!(calls, ToolCalls { all: 5, unknown_files: 2, possible_changes: 1 });
    assert_ne!(session.requests.last().unwrap().len(), 0);
}

#[test]
fn words_that_are_activated_replay_as_live() {
    let mut session = Recorded::new(settings());
    session.host.thinking = "I wonder what this will print, and why it should. ".repeat(20);
    for n in 0..24 {
        session.bash(&format!("echo {n}"), &lines("out", 30), |_| {});
    }
    assert!(!session.host.live.state().folds().is_empty());
    for name in ["s1", "turn 1", "turns 1-9", "s99"] {
        session.activate(name);
    }
    let answer = session.host.messages.last().unwrap()["content"][0]["text"].as_str().unwrap();
    assert!(answer.starts_with("nothing is named `s99`; near it: `s"), "{answer}");
    assert!(session.host.shown().contains("[s1] turn 1 · lines 1-"), "{}", session.host.shown());
    for n in 24..40 {
        session.bash(&format!("echo {n}"), &lines("out", 30), |_| {});
    }
    session.check(false);
}

#[test]
fn with_snapshots_a_replay_sends_what_the_live_session_sent() {
    let mut session = Recorded::new(settings());
    session.outside("a.rs", &lines("a", 80));
    session.outside("src/b.rs", "");
    session.outside("src/c.rs", &lines("c", 50));
    session.read("a.rs", Some(20), Some(30));
    session.outside("a.rs", &lines("a", 80).replace("line 25 of", "LINE 25 of"));
    session.read("src/c.rs", None, None);
    session.bash("make", &lines("log", 200), |folder| {
        std::fs::write(folder.join("src/c.rs"), lines("made", 50)).unwrap();
        std::fs::write(folder.join("new.rs"), lines("new", 20)).unwrap();
    });
    session.edit("a.rs", "LINE 25 of", "line twenty-five of");
    session.outside("src/c.rs", &lines("c", 45));
    session.bash("git mv a.rs src/d.rs", "", |folder| {
        std::fs::rename(folder.join("a.rs"), folder.join("src/d.rs")).unwrap();
    });
    session.read("src/d.rs", Some(20), Some(30));
    let folder = session.host.folder.path().to_owned();
    std::fs::rename(folder.join("src/c.rs"), folder.join("src/moved.rs")).unwrap();
    session.read("new.rs", None, None);
    session.bash("ls src", "b.rs\nd.rs\nmoved.rs", |_| {});
    session.read("src/moved.rs", None, None);
    std::fs::remove_file(folder.join("new.rs")).unwrap();
    session.write("src/deep/e.rs", &lines("e", 30));
    session.read("src/d.rs", None, None);
    session.activate("t3");
    session.bash("true", "", |_| {});
    let calls = session.check(true);
    assert_eq!(calls, ToolCalls { all: 13, unknown_files: 0, possible_changes: 0 });
    assert!(session.host.live.state().epoch() > 0, "outputs collapsed");
}

/// A step of a session.
#[derive(Debug, Clone)]
enum Step {
    Read(usize),
    ReadPart(usize, u32, u32),
    Edit(usize),
    Write(usize, usize),
    Outside(usize, usize),
    Move(usize, usize),
    MoveOutside(usize, usize),
    Remove(usize),
    Activate(usize),
    Command,
}

const FILES: [&str; 4] = ["a.rs", "b.rs", "src/c.rs", "src/d.rs"];

fn step() -> impl Strategy<Value = Step> {
    let file = 0..FILES.len();
    prop_oneof![
        3 => file.clone().prop_map(Step::Read),
        3 => (file.clone(), 1..20u32, 1..30u32).prop_map(|(file, at, limit)| Step::ReadPart(file, at, limit)),
        2 => file.clone().prop_map(Step::Edit),
        1 => (file.clone(), 1..60usize).prop_map(|(file, count)| Step::Write(file, count)),
        2 => (file.clone(), 1..60usize).prop_map(|(file, count)| Step::Outside(file, count)),
        1 => (file.clone(), file.clone()).prop_map(|(from, to)| Step::Move(from, to)),
        1 => (file.clone(), file.clone()).prop_map(|(from, to)| Step::MoveOutside(from, to)),
        1 => file.prop_map(Step::Remove),
        1 => (1..12usize).prop_map(Step::Activate),
        1 => Just(Step::Command),
    ]
}

impl Recorded {
    fn take(&mut self, step: &Step, number: usize) {
        let folder = self.host.folder.path().to_owned();
        let place = |file: &usize| folder.join(FILES[*file]);
        let text = |file: &usize| std::fs::read_to_string(place(file)).ok();
        match step {
            Step::Read(file) if text(file).is_some() => self.read(FILES[*file], None, None),
            Step::ReadPart(file, at, limit)
                if text(file).is_some_and(|text| text.lines().count() > *at as usize) =>
            {
                self.read(FILES[*file], Some(*at), Some(*limit));
            }
            Step::Edit(file) => {
                if let Some(line) =
                    text(file).and_then(|text| text.lines().next().map(str::to_owned))
                {
                    self.edit(FILES[*file], &line, &format!("edited in step {number} with words"));
                }
            }
            Step::Write(file, count) => {
                self.write(FILES[*file], &lines(&number.to_string(), *count));
            }
            Step::Outside(file, count) => {
                self.outside(FILES[*file], &lines(&number.to_string(), *count));
            }
            Step::Move(from, to) if from != to && text(from).is_some() => {
                let command = format!("mv {} {}", FILES[*from], FILES[*to]);
                self.bash(&command, "", |_| std::fs::rename(place(from), place(to)).unwrap());
            }
            Step::MoveOutside(from, to) if from != to && text(from).is_some() => {
                std::fs::rename(place(from), place(to)).unwrap();
            }
            Step::Remove(file) => drop(std::fs::remove_file(place(file))),
            Step::Activate(result) => self.activate(&format!("t{result}")),
            Step::Command => self.bash("make", &lines(&number.to_string(), 60), |_| {}),
            _ => {}
        }
    }
}

proptest! {
    #![proptest_config(testing::cases::config(4, 1))]

    #[test]
    fn any_session_with_snapshots_is_replayed_as_it_was(steps in prop::collection::vec(step(), 1..25)) {
        let mut session = Recorded::new(settings());
        for file in FILES {
            session.outside(file, &lines(file, 40));
        }
        for (number, step) in steps.iter().enumerate() {
            session.take(step, number);
        }
        session.check(true);
    }
}
