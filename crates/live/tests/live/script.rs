//! Actions of a model, a user and other programs during a session: operations, and the host and
//! files on which they act.
//!
//! Every line of every file is written once in a session and never again, so that a line of a
//! request identifies its origin. Two runs of the same operations do the same things, with and
//! without restarts.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use base::object::ObjectId;
use config::Settings;
use live::Wanted;
use live::model_tools::read::read_text;
use proptest::prelude::*;
use serde_json::{Value, json};
use source::TrackerOptions;
use store::Store;

use crate::failing::FailingBackend;
use crate::host::Host;
use crate::shapes::{WITH_IMAGE, shaped};

/// The places of a session's files. In the first [`FIRST`] there is one when it begins.
pub(crate) const FILES: [&str; 8] =
    ["a.txt", "b.txt", "sub.txt", "c.txt", "far/a.txt", "far/d.txt", "near/a.txt", "near/d.txt"];
pub(crate) const FIRST: usize = 3;
/// After so long without a change of a file its stamp is trusted, where its time of change is long
/// past.
pub(crate) const SETTLED: Duration = Duration::from_millis(25);
/// Two names of a folder that is moved, removed and made again.
pub(crate) const FOLDERS: [&str; 2] = ["far", "near"];

/// A change of a text at a line (taken modulo its lines).
#[derive(Debug, Clone, Copy)]
pub(crate) enum Change {
    Replace,
    Insert,
    Remove,
    Rewrite,
}

/// What another program does to a file.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Outside {
    Change(usize, Change),
    Delete,
    /// Makes it as it was before its last change. `old`: also its time of change.
    Restore {
        old: bool,
    },
    Empty,
    /// Moves it to another place, over what is there.
    Move(usize),
    /// Moves it and changes it there.
    MoveAndChange(usize, usize, Change),
    /// Copies it to another place, over what is there.
    Copy(usize),
    /// What is in the two places changes places.
    Swap(usize),
}

/// What a shell command does to two places.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shell {
    Move,
    Copy,
    Remove,
}

/// A tool call. Numbers are taken modulo what there is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Deed {
    Read {
        file: usize,
        offset: Option<u32>,
        limit: Option<u32>,
    },
    Edit {
        file: usize,
        line: usize,
        change: Change,
    },
    /// An edit of lines that are not in the file, or in it several times.
    EditInVain {
        file: usize,
        line: usize,
    },
    Write {
        file: usize,
        lines: usize,
    },
    Bash {
        lines: usize,
        fails: bool,
    },
    /// A command whose output holds lines that others of its kind hold too.
    Build {
        first: usize,
        lines: usize,
    },
    /// A command that shows lines of a file as they are.
    Show {
        file: usize,
        first: usize,
        lines: usize,
    },
    /// A command whose text names both places.
    Shell {
        command: Shell,
        from: usize,
        to: usize,
    },
    Image,
    Activate {
        target: usize,
        pin: bool,
        part: Option<(u32, u32)>,
        pattern: bool,
    },
    LetGo {
        target: usize,
        unpin: bool,
    },
}

#[derive(Debug, Clone)]
pub(crate) enum Op {
    User,
    Say,
    /// One assistant message with these calls and their results; then a request, if the flag is
    /// set.
    Do(Vec<Deed>, bool),
    /// As [`Op::Do`], the calls having one ID.
    SameIds(Vec<Deed>),
    /// The model repeats its last read.
    Again,
    Outside(usize, Outside),
    /// The folder gets its other name, unless that is taken.
    MoveFolder,
    /// The folder is removed with all that is in it, and is not there until a file is made in it.
    RemoveFolder,
    Retry,
    /// A person pins.
    Pin(usize, Option<(u32, u32)>),
    /// A call fails for want of the store; the host's own messages go out.
    Fail,
    Branch(usize),
    Compact(usize),
    Redact(usize),
    Fork,
    /// Another process opens the session and makes a call, then this one does.
    Beside,
    Restart,
    Crash,
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        3 => Just(Change::Replace),
        3 => Just(Change::Insert),
        2 => Just(Change::Remove),
        1 => Just(Change::Rewrite),
    ]
}

fn outside() -> impl Strategy<Value = Outside> {
    prop_oneof![
        4 => (0..60usize, change()).prop_map(|(line, change)| Outside::Change(line, change)),
        1 => Just(Outside::Delete),
        1 => any::<bool>().prop_map(|old| Outside::Restore { old }),
        1 => Just(Outside::Empty),
        3 => (0..FILES.len()).prop_map(Outside::Move),
        1 => (0..FILES.len(), 0..60usize, change())
            .prop_map(|(to, line, change)| Outside::MoveAndChange(to, line, change)),
        1 => (0..FILES.len()).prop_map(Outside::Copy),
        1 => (0..FILES.len()).prop_map(Outside::Swap),
    ]
}

fn shell() -> impl Strategy<Value = Shell> {
    prop_oneof![4 => Just(Shell::Move), 1 => Just(Shell::Copy), 1 => Just(Shell::Remove)]
}

/// A place: mostly one in which there is a file when the session begins.
fn place() -> impl Strategy<Value = usize> {
    prop_oneof![4 => 0..FIRST, 1 => FIRST..FILES.len()]
}

fn deed() -> impl Strategy<Value = Deed> {
    let some = |range: std::ops::Range<u32>| prop::option::weighted(0.7, range);
    prop_oneof![
        8 => (place(), some(1..45), some(1..30))
            .prop_map(|(file, offset, limit)| Deed::Read { file, offset, limit }),
        3 => (place(), 0..60usize, change())
            .prop_map(|(file, line, change)| Deed::Edit { file, line, change }),
        2 => (place(), 0..60usize).prop_map(|(file, line)| Deed::EditInVain { file, line }),
        1 => (place(), 1..40usize).prop_map(|(file, lines)| Deed::Write { file, lines }),
        4 => (prop_oneof![4 => 0..4usize, 2 => 4..40usize, 1 => 40..160usize], any::<bool>())
            .prop_map(|(lines, fails)| Deed::Bash { lines, fails }),
        4 => (0..60usize, 1..60usize).prop_map(|(first, lines)| Deed::Build { first, lines }),
        2 => (place(), 0..20usize, 3..40usize)
            .prop_map(|(file, first, lines)| Deed::Show { file, first, lines }),
        2 => (shell(), place(), 0..FILES.len())
            .prop_map(|(command, from, to)| Deed::Shell { command, from, to }),
        1 => Just(Deed::Image),
        4 => (any::<usize>(), any::<bool>(), prop::option::of((1..40u32, 0..20u32)), prop::bool::weighted(0.2))
            .prop_map(|(target, pin, part, pattern)| Deed::Activate { target, pin, part, pattern }),
        2 => (any::<usize>(), any::<bool>()).prop_map(|(target, unpin)| Deed::LetGo { target, unpin }),
    ]
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => Just(Op::User),
        2 => Just(Op::Say),
        24 => (deed(), prop::bool::weighted(0.8)).prop_map(|(deed, send)| Op::Do(vec![deed], send)),
        3 => prop::collection::vec(deed(), 2..4).prop_map(|deeds| Op::Do(deeds, true)),
        1 => prop::collection::vec(deed(), 1..4).prop_map(Op::SameIds),
        3 => Just(Op::Again),
        6 => (place(), outside()).prop_map(|(file, outside)| Op::Outside(file, outside)),
        1 => Just(Op::MoveFolder),
        1 => Just(Op::RemoveFolder),
        1 => Just(Op::Retry),
        1 => (any::<usize>(), prop::option::of((1..30_u32, 0..20_u32))).prop_map(|(target, part)| Op::Pin(target, part)),
        1 => Just(Op::Fail),
        2 => any::<usize>().prop_map(Op::Branch),
        1 => any::<usize>().prop_map(Op::Compact),
        1 => any::<usize>().prop_map(Op::Redact),
        1 => Just(Op::Fork),
        1 => Just(Op::Beside),
        2 => Just(Op::Restart),
        2 => Just(Op::Crash),
    ]
}

pub(crate) fn script(most: usize) -> impl Strategy<Value = Vec<Op>> {
    prop::collection::vec(op(), 5..most)
}

/// What is known of a tool result apart from the session.
#[derive(Debug, Clone)]
pub(crate) struct Fact {
    pub(crate) tool: String,
    pub(crate) args: Value,
    /// Name and text of the file that a read showed, as it was then.
    pub(crate) read: Option<(String, String)>,
    /// Whether an identical request came right before.
    pub(crate) insisted: bool,
}

/// What the model sees of a call: tool, content, whether it failed, and what a read showed.
type Outcome = (&'static str, Value, bool, Option<(String, String)>);

/// A session and what it works on.
#[expect(clippy::struct_excessive_bools, reason = "each is a way of a session")]
pub(crate) struct World {
    pub(crate) host: Host,
    /// Facts on tool results, by the time stamp of their message.
    pub(crate) facts: HashMap<i64, Fact>,
    /// Session, number and messages of all calls.
    pub(crate) calls: Vec<(ObjectId, u64, Vec<Value>)>,
    /// The requests, comparable with those of another run.
    pub(crate) requests: Vec<Vec<Value>>,
    pub(crate) epochs: usize,
    /// Requests in which steps are folded.
    pub(crate) folded: usize,
    /// The handles of the session index.
    pub(crate) index: Vec<String>,
    /// Time stamp of the newest message that was sent.
    pub(crate) newest: Option<i64>,
    /// Calls that went out with the host's own messages and are not in a record yet.
    pub(crate) failed: Vec<Vec<Value>>,
    restarts: bool,
    /// Answers of the model since the last request, and whether the session was opened anew since,
    /// or would have been.
    answers: usize,
    is_anew: bool,
    /// Whether a crash took what was known of a failed call, which is in no bill then.
    pub(crate) lost_failure: bool,
    /// Whether the files that the model saw are tracked.
    pub(crate) tracks: bool,
    /// Number of shapes in which results come, one after another; with 1, in one text block.
    pub(crate) shapes: usize,
    /// Whether so much time passes after every change of a file that a look at it is trusted.
    pub(crate) waits: bool,
    backend: Arc<FailingBackend>,
    /// What was in each place, one after another.
    pub(crate) texts: HashMap<usize, Vec<Option<String>>>,
    /// When texts were written last, as their files say.
    pub(crate) times: HashMap<String, SystemTime>,
    last_read: Option<Deed>,
    pub(crate) lines: u64,
    pub(crate) writes: u64,
    forks: u64,
}

impl World {
    /// `folder`: where to make the folder to work in, of the same name for every run. `restarts`:
    /// whether [`Op::Restart`] and [`Op::Crash`] are done or left out.
    pub(crate) fn new(folder: &Path, settings: Settings, window: u64, restarts: bool) -> Self {
        let backend = Arc::new(FailingBackend::default());
        let store = Store::with_backend(Arc::clone(&backend) as _);
        let folder =
            tempfile::Builder::new().prefix("project").rand_bytes(0).tempdir_in(folder).unwrap();
        // On a busy machine a look at a file would be given up, which changes a request.
        let settings = Settings { deadline_seconds: 600, ..settings };
        let mut host = Host::in_real_time(folder, settings, store);
        host.window = window;
        let mut world = Self {
            host,
            facts: HashMap::new(),
            calls: Vec::new(),
            requests: Vec::new(),
            epochs: 0,
            folded: 0,
            index: Vec::new(),
            newest: None,
            failed: Vec::new(),
            restarts,
            answers: 0,
            is_anew: false,
            lost_failure: false,
            tracks: false,
            shapes: 1,
            waits: false,
            backend,
            texts: HashMap::new(),
            times: HashMap::new(),
            last_read: None,
            lines: 0,
            writes: 0,
            forks: 0,
        };
        for file in 0..FIRST {
            let text = world.fresh_lines(file, 30).join("\n") + "\n";
            world.put(file, Some(text));
        }
        world.host.user("begin");
        world
    }

    /// Has the files that the model sees tracked.
    pub(crate) fn track(&mut self) {
        let short = Duration::from_millis(2);
        let options =
            TrackerOptions { settle: short, absence: short * 3, ..TrackerOptions::default() };
        self.tracks = true;
        self.host.live.track(options).unwrap();
    }

    fn track_anew(&mut self) {
        if self.tracks {
            self.track();
        }
    }

    /// Lets time pass after every change of a file.
    pub(crate) fn slow_down(&mut self) {
        self.waits = true;
    }

    pub(crate) fn run(&mut self, script: &[Op]) {
        for op in script {
            self.perform(op);
        }
        self.host.user("end");
        self.send();
        self.check_at_the_end();
    }

    fn perform(&mut self, op: &Op) {
        if self.tracks && self.lines.is_multiple_of(3) {
            assert!(self.host.live.settle(Duration::from_secs(60)), "the tracker comes to rest");
        }
        if matches!(op, Op::Restart | Op::Crash | Op::Beside) {
            self.expect_opening();
        }
        self.is_anew |= matches!(op, Op::Restart | Op::Crash);
        match op {
            Op::User => {
                self.host.user("go on");
                self.send();
            }
            Op::Say => {
                self.expect_answer();
                self.host.say("done");
            }
            Op::Do(deeds, send) => {
                let ids: Vec<String> = deeds.iter().map(|_| self.host.next_id()).collect();
                self.act(deeds, &ids);
                if *send {
                    self.send();
                }
            }
            Op::SameIds(deeds) => {
                self.act(deeds, &vec!["call_0".to_owned(); deeds.len()]);
                self.send();
            }
            Op::Again => {
                if let Some(read) = self.last_read {
                    let id = self.host.next_id();
                    self.act(&[read], &[id]);
                    self.send();
                }
            }
            Op::Outside(file, outside) => self.change_outside(*file, *outside),
            Op::MoveFolder => self.move_folder(),
            Op::RemoveFolder => self.remove_folder(),
            Op::Retry => self.send(),
            Op::Fail => self.fail(),
            Op::Branch(at) => {
                let users = self.places(|role| role == "user");
                let at = if users.is_empty() { 0 } else { users[at % users.len()] };
                self.host.messages.truncate(at);
                self.host.user("another way");
                self.send();
            }
            Op::Pin(target, part) => {
                let lines = part.map(|(first, more)| format!("{first}-{}", first + more));
                let wanted = Wanted { name: self.target(*target), lines, pattern: None };
                // What has no room, no text or no such name is refused.
                let _ = self.host.live.activate("", &wanted, true);
            }
            Op::Compact(at) => self.compact(*at),
            Op::Redact(at) => self.redact(*at),
            Op::Fork => {
                self.failed.clear();
                self.forks += 1;
                self.host.fork(&format!("fork-{}", self.forks));
                self.track_anew();
            }
            Op::Beside => {
                if self.restarts {
                    self.host.call_beside();
                }
                self.check_files_anew();
                self.send();
            }
            Op::Restart if self.restarts => {
                self.settle_failed();
                self.host.restart();
                self.track_anew();
                self.check_files_anew();
            }
            Op::Crash if self.restarts => {
                self.lost_failure |= !self.failed.is_empty();
                self.failed.clear();
                self.host.crash();
                self.track_anew();
                self.check_files_anew();
            }
            Op::Restart | Op::Crash => self.check_files_anew(),
        }
    }

    /// What a session does before its first call, now and in both runs: a restart may tell of other
    /// programs' doings.
    fn check_files_anew(&mut self) {
        self.host.live.reconcile(&|_| {}).unwrap();
    }

    fn places(&self, wanted: impl Fn(&str) -> bool) -> Vec<usize> {
        let messages = self.host.messages.iter().enumerate();
        messages
            .filter(|(_, message)| wanted(message["role"].as_str().unwrap()))
            .map(|(at, _)| at)
            .collect()
    }

    /// The session is about to be opened anew, which takes an answer that no call of its own brought
    /// for that of a call with the host's own messages: there is none, in either run.
    fn expect_opening(&mut self) {
        if self.answers > 1 {
            self.send();
        }
    }

    /// An answer is about to come. See [`Self::expect_opening`].
    fn expect_answer(&mut self) {
        if self.is_anew && self.answers > 0 {
            self.send();
        }
        self.answers += 1;
    }

    /// A request went out.
    pub(crate) fn asked(&mut self) {
        (self.answers, self.is_anew) = (0, false);
    }

    fn act(&mut self, deeds: &[Deed], ids: &[String]) {
        self.expect_answer();
        let calls: Vec<(String, &str, Value)> = deeds
            .iter()
            .zip(ids)
            .map(|(deed, id)| {
                let (tool, args) = self.request(deed);
                (id.clone(), tool, args)
            })
            .collect();
        self.host.call_all(&calls);
        let outcomes: Vec<Outcome> = deeds
            .iter()
            .zip(&calls)
            .map(|(deed, (id, tool, args))| self.execute(deed, id, tool, args))
            .collect();
        for ((id, _, args), (tool, content, is_error, read)) in calls.into_iter().zip(outcomes) {
            let content = self.in_a_shape(tool, content);
            let insisted = self.came_right_before(tool, &args);
            self.host.push_result(&id, tool, &content, is_error);
            let time = self.host.messages.last().unwrap()["timestamp"].as_i64().unwrap();
            self.facts.insert(time, Fact { tool: tool.to_owned(), args, read, insisted });
        }
    }

    /// The content of an answer with the images that it shows.
    fn with_images(&self, id: &str, text: &str) -> Value {
        let images = self.host.live.activated_images(id).unwrap();
        let images = images.iter().map(|image| serde_json::from_str(image).unwrap());
        std::iter::once(json!({ "type": "text", "text": text })).chain(images).collect()
    }

    /// The content of a result, of which there is one text block or an image, in the shape that is
    /// next.
    fn in_a_shape(&self, tool: &str, content: Value) -> Value {
        let is_own = matches!(tool, "activate" | "deactivate" | "pin" | "unpin");
        // Only a command shows an image beside its text.
        let most = if tool == "bash" { self.shapes } else { self.shapes.min(WITH_IMAGE) };
        match content[0]["text"].as_str().filter(|_| !is_own) {
            Some(text) => shaped(text, self.facts.len() % most),
            None => content,
        }
    }

    /// Whether a result of this step or the one before answers the same request.
    fn came_right_before(&self, tool: &str, args: &Value) -> bool {
        let answers = self.places(|role| role == "assistant");
        let from = answers.iter().rev().nth(1).copied().unwrap_or(0);
        self.host.messages[from..].iter().any(|message| {
            let fact = message["timestamp"].as_i64().and_then(|time| self.facts.get(&time));
            message["role"] == "toolResult"
                && fact.is_some_and(|fact| fact.tool == tool && fact.args == *args)
        })
    }

    fn request(&self, deed: &Deed) -> (&'static str, Value) {
        match *deed {
            Deed::Read { file, offset, limit } => {
                let mut args = json!({ "path": FILES[file] });
                for (key, value) in [("offset", offset), ("limit", limit)] {
                    if let Some(value) = value {
                        args[key] = json!(value);
                    }
                }
                ("read", args)
            }
            Deed::Edit { file, line, .. } => ("edit", json!({ "path": FILES[file], "line": line })),
            Deed::EditInVain { file, line } => {
                let old = match line % 3 {
                    0 => "line ".to_owned(),
                    _ => format!("{} line {line} of another kind\n", FILES[file]),
                };
                let edits = json!([{ "oldText": old, "newText": "x" }]);
                ("edit", json!({ "path": FILES[file], "edits": edits }))
            }
            Deed::Write { file, lines } => {
                ("write", json!({ "path": FILES[file], "content": lines.to_string() }))
            }
            Deed::Bash { lines, .. } => ("bash", json!({ "command": format!("make {lines}") })),
            Deed::Build { first, lines } => {
                ("bash", json!({ "command": format!("cargo build {first} {lines}") }))
            }
            Deed::Show { file, first, lines } => {
                ("bash", json!({ "command": format!("show {} {first} {lines}", FILES[file]) }))
            }
            Deed::Shell { command, from, to } => {
                let (from, to) = (FILES[from], FILES[to]);
                let command = match command {
                    Shell::Move => format!("mv {from} {to}"),
                    Shell::Copy => format!("cp {from} {to}"),
                    Shell::Remove => format!("rm {from}"),
                };
                ("bash", json!({ "command": command }))
            }
            Deed::Image => ("bash", json!({ "command": "screenshot" })),
            Deed::Activate { target, pin, part, pattern } => {
                let mut args = json!({ "name": self.target(target) });
                if let Some((first, more)) = part {
                    args["lines"] = json!(format!("{first}-{}", first + more));
                }
                if pattern {
                    args["pattern"] = json!("[37] ");
                }
                (if pin { "pin" } else { "activate" }, args)
            }
            Deed::LetGo { target, unpin } => {
                (if unpin { "unpin" } else { "deactivate" }, json!({ "name": self.target(target) }))
            }
        }
    }

    fn target(&self, target: usize) -> String {
        let entries = &self.host.live.state().index().entries;
        let mut names: Vec<String> = entries.iter().map(|entry| entry.handle.to_string()).collect();
        names.extend(FILES.map(str::to_owned));
        names.extend(["turn 1", "turns 1-2", "turns 2-9", "s99"].map(str::to_owned));
        names.extend(["f99", "t99", "nothing", "call_0"].map(str::to_owned));
        names[target % names.len()].clone()
    }

    fn execute(&mut self, deed: &Deed, id: &str, tool: &'static str, args: &Value) -> Outcome {
        let name = |file: usize| FILES[file].to_owned();
        let (text, is_error, read) = match *deed {
            Deed::Read { file, offset, limit } => {
                self.last_read = Some(*deed);
                match self.read(file, offset, limit) {
                    Ok((shown, text)) => (shown, false, Some((name(file), text))),
                    Err(error) => (error, true, None),
                }
            }
            Deed::Edit { file, line, change } => match self.text(file) {
                Some(text) => {
                    let text = self.changed(file, &text, line, change);
                    self.put(file, Some(text));
                    (format!("Successfully replaced 1 block(s) in {}.", FILES[file]), false, None)
                }
                None => ("no such file".to_owned(), true, None),
            },
            Deed::EditInVain { .. } => {
                let help = self.host.live.explain_failed_edit(args).unwrap();
                (format!("no such text\n\n{}", help.unwrap_or_default()), true, None)
            }
            Deed::Write { file, lines } => {
                let text = self.fresh_lines(file, lines).join("\n") + "\n";
                self.put(file, Some(text));
                (format!("Successfully wrote {}", FILES[file]), false, None)
            }
            Deed::Bash { lines, fails } => (self.output(lines, fails), fails, None),
            Deed::Build { first, lines } => {
                let line = |n| format!("step {n} of a build that says the same each time");
                let lines: Vec<String> = (first..first + lines).map(line).collect();
                (lines.join("\n"), false, None)
            }
            Deed::Show { file, first, lines } => {
                let text = self.text(file).unwrap_or_default();
                let shown: Vec<&str> = text.lines().skip(first).take(lines).collect();
                (shown.join("\n"), false, None)
            }
            Deed::Shell { from, .. } if self.text(from).is_none() => {
                ("no such file".to_owned(), true, None)
            }
            Deed::Shell { command, from, to } => {
                match command {
                    Shell::Move => self.move_file(from, to),
                    Shell::Copy => self.copy(from, to),
                    Shell::Remove => self.put(from, None),
                }
                ("(no output)".to_owned(), false, None)
            }
            Deed::Image => {
                let image = json!([{ "type": "image", "data": "AAAA", "mimeType": "image/png" }]);
                return (tool, image, false, None);
            }
            Deed::Activate { pin, .. } => {
                let text = |name: &str| args[name].as_str().map(str::to_owned);
                let wanted = Wanted {
                    name: text("name").unwrap(),
                    lines: text("lines"),
                    pattern: text("pattern"),
                };
                let answer = answer(self.host.live.activate(id, &wanted, pin));
                if !answer.1 {
                    self.host.finished(id, tool, args, &answer.0, false);
                    return (tool, self.with_images(id, &answer.0), false, None);
                }
                answer
            }
            Deed::LetGo { unpin, .. } => {
                let name = args["name"].as_str().unwrap();
                let live = &mut self.host.live;
                answer(if unpin { live.unpin(id, name) } else { live.deactivate(id, name) })
            }
        };
        self.host.finished(id, tool, args, &text, is_error);
        (tool, json!([{ "type": "text", "text": text }]), is_error, read)
    }

    fn read(
        &self,
        file: usize,
        offset: Option<u32>,
        limit: Option<u32>,
    ) -> Result<(String, String), String> {
        let text = self.text(file).ok_or("no such file")?;
        let shown = read_text(&text, FILES[file], offset.map(f64::from), limit.map(f64::from));
        shown.map(|shown| (shown, text)).map_err(|error| error.to_string())
    }

    fn output(&mut self, lines: usize, fails: bool) -> String {
        self.lines += 1;
        let run = self.lines;
        let mut output: Vec<String> =
            (1..=lines).map(|n| format!("out {run}.{n} and some words to make it long")).collect();
        if fails {
            output.push("Command exited with code 1".to_owned());
        }
        output.join("\n")
    }

    fn fail(&mut self) {
        self.backend.fails.store(true, Ordering::Relaxed);
        let error = self.host.transform().unwrap_err();
        self.host.live.record_failed_call(error.code());
        self.backend.fails.store(false, Ordering::Relaxed);
        self.failed.push(self.host.messages.clone());
    }

    fn compact(&mut self, at: usize) {
        let cuts = self.places(|role| role == "user" || role == "assistant");
        let kept = self.host.messages.split_off(cuts[at % cuts.len()]);
        self.host.messages.clear();
        self.host
            .push(json!({ "role": "compactionSummary", "summary": "so far", "tokensBefore": 9 }));
        self.host.messages.extend(kept);
        self.send();
    }

    fn redact(&mut self, at: usize) {
        self.writes += 1;
        let text = json!(format!("redacted {}", self.writes));
        let at = at % self.host.messages.len();
        let message = &mut self.host.messages[at];
        let time = message["timestamp"].as_i64().unwrap();
        match message["role"].as_str().unwrap() {
            "compactionSummary" => message["summary"] = text,
            "assistant" if message["content"][0]["type"] == "thinking" => {
                message["content"][0]["thinking"] = text;
            }
            _ => message["content"] = json!([{ "type": "text", "text": text }]),
        }
        if let Some(fact) = self.facts.get_mut(&time) {
            fact.read = None;
        }
        self.send();
    }
}

fn answer(result: base::Result<String>) -> (String, bool, Option<(String, String)>) {
    match result {
        Ok(text) => (text, false, None),
        Err(error) => (error.to_string(), true, None),
    }
}
