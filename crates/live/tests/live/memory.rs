//! Memory in a session: the section of the system prompt stays while a cache holds it, the newest
//! message tells what changed, and once the section is made anew the notes are gone.

use base::object::Timestamp;
use config::{Layout, PriceSetting, Settings};
use live::CallInfo;
use live::model_tools::Tool;
use memory::{Folders, Memory};
use serde_json::{Value, json};

use crate::host::Host;

/// A session with a memory of its project.
struct Desk {
    host: Host,
    memory: Memory,
}

const INDEX: &str = ".pi/memory/MEMORY.md";

impl Desk {
    fn new(layout: Layout, index: &str) -> Self {
        let prices = PriceSetting::Named("anthropic".to_owned());
        let host = Host::new(Settings { layout, prices, ..Settings::default() });
        host.write_file(INDEX, index);
        let agent = host.folder.path().join(".agent");
        let folders = Folders::new(Some(&agent), Some(host.folder.path()), true);
        Self { memory: Memory::new(folders), host }
    }

    /// The section for the next prompt, which comes so many seconds after the newest message.
    fn section(&mut self, seconds: i64) -> String {
        self.host.wait(seconds);
        let call = CallInfo { model: Some(self.host.model.clone()), ..CallInfo::default() };
        let now = Timestamp(self.host.now());
        let section = self.memory.prompt(Some(&mut self.host.live.at_call(&call, now))).unwrap();
        section.unwrap().text.clone()
    }

    /// Memory may have changed, by this tool call or by somebody else.
    fn changed(&mut self, call: Option<&str>) {
        let (coming, now) = (CallInfo::default(), Timestamp(self.host.now()));
        self.memory.changed(&mut self.host.live.at_call(&coming, now), call).unwrap();
    }

    /// A prompt, its request and the answer.
    fn turn(&mut self, text: &str) -> Vec<Value> {
        self.host.user(text);
        let sent = self.host.send();
        self.host.say("fine");
        sent
    }

    fn append(&self, text: &str) {
        let before = std::fs::read_to_string(self.host.path(INDEX)).unwrap();
        self.host.write_file(INDEX, &format!("{before}{text}\n"));
    }
}

/// Which messages hold a text.
fn holding(sent: &[Value], text: &str) -> Vec<usize> {
    (0..sent.len()).filter(|at| sent[*at].to_string().contains(text)).collect()
}

#[test]
fn a_change_stays_in_its_message_until_the_section_is_rebuilt() {
    let mut desk = Desk::new(Layout::Log, "- a: 1\n");
    let first = desk.section(0);
    desk.turn("one");
    desk.append("- b: 2");
    assert_eq!(desk.section(10), first, "a cache holds it");
    let sent = desk.turn("two");
    assert_eq!(holding(&sent, "+ - b: 2"), [2]);
    assert!(sent[2].to_string().contains("Memory change 1: .pi/memory/MEMORY.md (+1 -0):"));
    assert_eq!(desk.host.told, ["Memory change 1: .pi/memory/MEMORY.md (+1 -0)"]);
    assert_eq!(desk.section(10), first);
    assert_eq!(holding(&desk.turn("three"), "+ - b: 2"), [2], "once");

    let anew = desk.section(301);
    assert!(anew.contains("- a: 1\n- b: 2"), "{anew}");
    let sent = desk.turn("four");
    assert_eq!(holding(&sent, "Memory change"), [0_usize; 0]);
    assert_eq!(desk.section(10), anew);
    assert_eq!(holding(&desk.turn("five"), "Memory change"), [0_usize; 0]);
}

#[test]
fn switching_models_rebuilds_the_memory_section() {
    let mut desk = Desk::new(Layout::Log, "- a: 1\n");
    let first = desk.section(0);
    desk.turn("one");
    desk.append("- b: 2");
    assert_eq!(desk.section(1), first);
    desk.turn("two");
    "fake/fake-2".clone_into(&mut desk.host.model);
    let anew = desk.section(1);
    assert!(anew.contains("- b: 2"));
    assert_eq!(holding(&desk.turn("three"), "Memory change"), [0_usize; 0]);
    // The first model's cache lives, and holds another system prompt: that has gone for good.
    "fake/fake-1".clone_into(&mut desk.host.model);
    assert_eq!(desk.section(1), anew);
}

#[test]
fn what_changed_back_and_forth_is_told_each_time() {
    let mut desk = Desk::new(Layout::Log, "- a: 1\n");
    desk.section(0);
    desk.turn("one");
    for (text, note) in
        [("- a: 1\n- b\n", "+ - b"), ("- a: 1\n", "- - b"), ("- a: 1\n- b\n", "+ - b")]
    {
        desk.host.write_file(INDEX, text);
        desk.section(1);
        let sent = desk.turn("more");
        assert_eq!(holding(&sent, note).last(), Some(&(sent.len() - 1)), "{note}");
    }
}

#[test]
fn what_an_epoch_takes_away_is_told_again() {
    let mut desk = Desk::new(Layout::Log, "- a: 1\n");
    desk.section(0);
    desk.host.window = 12_000;
    desk.turn("one");
    desk.append("- b: 2");
    desk.section(1);
    assert_eq!(holding(&desk.turn("two"), "+ - b: 2").len(), 1);
    desk.host.user("look around");
    let epoch = desk.host.live.state().epoch();
    for round in 0..40 {
        let lines: Vec<String> = (0..90).map(|line| format!("{round} has line {line}")).collect();
        desk.host.tool("bash", &json!({ "command": format!("show {round}") }), &lines.join("\n"));
        let sent = desk.host.send();
        if desk.host.live.state().epoch() > epoch {
            assert_eq!(holding(&sent, "+ - b: 2"), [sent.len() - 1], "in the newest message");
            return;
        }
        assert_eq!(holding(&sent, "+ - b: 2"), [2]);
    }
    panic!("no epoch");
}

#[test]
fn what_the_host_takes_away_is_told_again() {
    let mut desk = Desk::new(Layout::Log, "- a: 1\n");
    desk.section(0);
    desk.turn("one");
    desk.append("- b: 2");
    desk.section(1);
    assert_eq!(holding(&desk.turn("two"), "+ - b: 2").len(), 1);
    // The host compacts: a summary, and the newest turn.
    desk.host.rewrites = true;
    let kept = desk.host.messages.split_off(4);
    desk.host.messages.clear();
    desk.host
        .push(json!({ "role": "compactionSummary", "summary": "what was", "tokensBefore": 9 }));
    desk.host.messages.extend(kept);
    let sent = desk.turn("three");
    assert_eq!(holding(&sent, "+ - b: 2"), [sent.len() - 1]);
}

#[test]
fn the_models_own_write_is_told_by_its_call_while_that_stands() {
    let mut desk = Desk::new(Layout::Log, "- a: 1\n");
    desk.section(0);
    desk.turn("one");
    desk.host.user("remember b");
    desk.append("- by another program");
    desk.changed(None);
    desk.append("- b: 2");
    let args = json!({ "path": INDEX, "edits": [{ "oldText": "- a: 1\n", "newText": "- a: 1\n- b: 2\n" }] });
    let call = desk.host.tool("edit", &args, "Successfully replaced 1 block(s).");
    desk.changed(Some(&call));
    let sent = desk.host.send();
    desk.host.say("done");
    assert_eq!(holding(&sent, "+ - b: 2"), [0_usize; 0]);
    assert_eq!(holding(&sent, "+ - by another program").len(), 1);
    // The host takes the call away.
    desk.host.rewrites = true;
    desk.host.messages.drain(2..);
    desk.section(1);
    let sent = desk.turn("three");
    assert_eq!(holding(&sent, "+ - b: 2"), [sent.len() - 1]);
}

#[test]
fn a_file_that_stands_is_told_of_by_the_note_on_files_alone() {
    let mut desk = Desk::new(Layout::Log, "- a: 1\n");
    desk.section(0);
    desk.host.user("one");
    desk.host.read(INDEX, None, None);
    desk.host.send();
    desk.host.say("read");
    desk.append("- b: 2");
    desk.section(1);
    let sent = desk.turn("two");
    assert_eq!(holding(&sent, "Memory change"), [0_usize; 0]);
    assert_eq!(holding(&sent, "changed on disk").len(), 1);
}

#[test]
fn pools_has_no_notes_and_shows_memory_as_it_is() {
    let mut desk = Desk::new(Layout::Pools, "- a: 1\n");
    desk.section(0);
    desk.turn("one");
    desk.append("- b: 2");
    assert!(desk.section(1).contains("- b: 2"));
    assert_eq!(holding(&desk.turn("two"), "Memory change"), [0_usize; 0]);
}

#[test]
fn a_restart_makes_the_section_anew_and_the_notes_are_gone() {
    let mut desk = Desk::new(Layout::Log, "- a: 1\n");
    desk.section(0);
    desk.turn("one");
    desk.append("- b: 2");
    desk.section(1);
    assert_eq!(holding(&desk.turn("two"), "+ - b: 2").len(), 1);
    desk.host.restart();
    desk.memory = Memory::new(desk.memory.folders().clone());
    assert!(desk.section(1).contains("- b: 2"));
    assert_eq!(holding(&desk.turn("three"), "+ - b: 2"), [0_usize; 0]);
}

/// A desk whose memory cites a file.
fn citing(layout: Layout) -> Desk {
    let desk = Desk::new(layout, "- Limit: at most ten calls, see `src/a.rs`\n- b: 2\n");
    desk.host.write_file("src/a.rs", "const LIMIT: u32 = 10;\n");
    desk
}

/// The desk, whose session looks at memory before each call.
fn watching(mut desk: Desk) -> (Desk, std::sync::Arc<std::sync::Mutex<Memory>>) {
    #[derive(Debug)]
    struct Watch(std::sync::Arc<std::sync::Mutex<Memory>>);

    impl session::Prompting for Watch {
        fn before_call(
            &self,
            session: &mut dyn session::PromptedSession,
            prompt: Option<&str>,
        ) -> base::error::Result<()> {
            self.0.lock().unwrap().before_call(session, prompt)
        }

        fn asked(&self, question: &str) -> base::error::Result<String> {
            self.0.lock().unwrap().asked(question)
        }
    }

    let agent = desk.host.folder.path().join(".agent");
    let folders = Folders::new(Some(&agent), Some(desk.host.folder.path()), true);
    let memory = std::mem::replace(&mut desk.memory, Memory::new(folders));
    let shared = std::sync::Arc::new(std::sync::Mutex::new(memory));
    desk.host.live.prompted_by(Box::new(Watch(std::sync::Arc::clone(&shared))));
    (desk, shared)
}

const STALE: &str = r#"Memory change 1: \"Limit: at most ten calls, see `src/a.rs`\" cites src/a.rs, which changed"#;

const AS_WRITTEN: &str = "cites files that are as when it was written or confirmed";

#[test]
fn an_entry_whose_cited_file_changes_is_told_of() {
    let mut desk = citing(Layout::Log);
    let first = desk.section(0);
    desk.host.prompt.0 = first.clone();
    let (mut desk, memory) = watching(desk);
    desk.turn("one");
    assert_eq!(holding(&desk.turn("two"), "Memory change"), [0_usize; 0]);
    desk.host.write_file("src/a.rs", "const LIMIT: u32 = 20;\n");
    let sent = desk.turn("three");
    assert_eq!(holding(&sent, STALE), [4], "{}", desk.host.shown());
    assert_eq!(holding(&desk.turn("four"), "Memory change"), [4], "once");
    desk.host.write_file("src/a.rs", "const LIMIT: u32 = 10;\n");
    let sent = desk.turn("five");
    assert_eq!(holding(&sent, AS_WRITTEN), [8]);
    let text = memory.lock().unwrap().prompt(None).unwrap().unwrap().text.clone();
    assert!(!text.contains("cited file changed"), "{text}");
}

#[test]
fn a_confirmed_entry_is_not_told_to_cite_what_came_back() {
    let mut desk = citing(Layout::Log);
    desk.host.prompt.0 = desk.section(0);
    let (mut desk, memory) = watching(desk);
    desk.turn("one");
    desk.host.write_file("src/a.rs", "const LIMIT: u32 = 20;\n");
    assert_eq!(holding(&desk.turn("two"), STALE), [2]);
    let id = memory.lock().unwrap().look().pages().next().unwrap().id.clone();
    memory.lock().unwrap().confirm(id.as_str()).unwrap();
    let sent = desk.turn("three");
    assert_eq!(holding(&sent, AS_WRITTEN), [4], "{}", desk.host.shown());
    assert_eq!(holding(&sent, "again"), [0_usize; 0]);
}

#[test]
fn many_entries_with_changed_files_are_told_in_few_notes() {
    let entry = |at: usize| format!("- Limit {at}: ten calls, see `src/{at}.rs`\n");
    let mut desk = Desk::new(Layout::Log, &(0..60).map(entry).collect::<String>());
    let write = |desk: &Desk, limit: u32| {
        for at in 0..60 {
            desk.host
                .write_file(&format!("src/{at}.rs"), &format!("const LIMIT: u32 = {limit};\n"));
        }
    };
    write(&desk, 10);
    desk.host.prompt.0 = desk.section(0);
    let (mut desk, _memory) = watching(desk);
    desk.turn("one");
    for (limit, words) in [
        (20, "57 more entries cite files that changed or are gone: .pi/memory/MEMORY.md:4, 5,"),
        (10, "57 more entries cite files that are as when these were written or confirmed: "),
    ] {
        write(&desk, limit);
        let sent = desk.turn("two");
        assert_eq!(holding(&sent, words), [sent.len() - 1], "{}", desk.host.shown());
    }
    let sent = desk.turn("three");
    assert_eq!(holding(&sent[sent.len() - 1..], "Memory change"), [0_usize; 0], "nothing is late");
}

#[test]
fn the_models_own_edit_of_a_cited_file_is_told() {
    let mut desk = citing(Layout::Log);
    desk.host.prompt.0 = desk.section(0);
    let (mut desk, _memory) = watching(desk);
    desk.turn("one");
    desk.host.user("raise it");
    desk.host.read("src/a.rs", None, None);
    desk.host.send();
    desk.host.edit("src/a.rs", "10", "20");
    let sent = desk.host.send();
    assert_eq!(holding(&sent, STALE), [sent.len() - 1], "{}", desk.host.shown());
    std::fs::remove_file(desk.host.path("src/a.rs")).unwrap();
    desk.host.tool("bash", &json!({ "command": "rm src/a.rs" }), "");
    let sent = desk.host.send();
    assert_eq!(holding(&sent, "cites src/a.rs, which is gone"), [sent.len() - 1]);
}

#[test]
fn nothing_is_told_of_memory_that_the_prompt_does_not_show() {
    let mut desk = citing(Layout::Log);
    desk.section(0);
    desk.host.prompt.0 = "You are a coding agent.".to_owned();
    let (mut desk, _memory) = watching(desk);
    desk.turn("one");
    desk.host.write_file("src/a.rs", "const LIMIT: u32 = 20;\n");
    assert_eq!(holding(&desk.turn("two"), "Memory change"), [0_usize; 0]);
}

#[test]
fn memory_that_changes_at_every_call_is_told_of_within_limits() {
    let mut desk = Desk::new(Layout::Log, "- a: 1\n");
    desk.section(0);
    desk.turn("one");
    for at in 0..30 {
        let entries: Vec<String> = (0..30).map(|n| format!("- {n}: {at}-{n}\n")).collect();
        desk.host.write_file(INDEX, &entries.concat());
        desk.section(1);
        desk.turn("more of it, please, and then what comes next");
    }
    let state = desk.host.live.state();
    let most = 500 + state.chat().window_tokens / 20;
    assert!(state.added_tokens() <= most, "{} of {most}", state.added_tokens());
    let newest = desk.host.shown();
    assert!(newest.contains("Memory change 1: .pi/memory/MEMORY.md"), "{newest}");
}

/// A desk whose memory has more than stands in the system prompt.
fn full() -> Desk {
    let facts: Vec<String> =
        (0..60).map(|number| format!("- fact {number} #important\n")).collect();
    let facts = facts.concat();
    let desk = Desk::new(
        Layout::Log,
        &format!(
            "{facts}- the limit of calls in `src/a.rs` is part of a contract\n- b: see `src/b.rs`\n"
        ),
    );
    desk.host.write_file(".pi/memory/config.json", r#"{ "maxMemoryTokens": 300 }"#);
    desk.host.write_file("src/a.rs", "const LIMIT: u32 = 10;\n");
    desk.host.write_file("src/b.rs", "const B: u32 = 1;\n");
    desk
}

#[test]
fn an_entry_comes_once_with_the_file_that_it_cites() {
    let mut desk = full();
    desk.host.prompt.0 = desk.section(0);
    assert!(!desk.host.prompt.0.contains("part of a contract"), "{}", desk.host.prompt.0);
    let (mut desk, _memory) = watching(desk);
    desk.turn("one");
    desk.host.user("look at it");
    desk.host.read("src/a.rs", None, None);
    let sent = desk.host.send();
    let note = "Memory at hand, src/a.rs (.pi/memory/MEMORY.md:61):\\n- the limit of calls in `src/a.rs` is part of a contract";
    assert_eq!(holding(&sent, note), [sent.len() - 1], "{}", desk.host.shown());
    assert_eq!(desk.host.told, ["Memory at hand, src/a.rs (.pi/memory/MEMORY.md:61)"]);
    desk.host.edit("src/a.rs", "u32", "u64");
    assert_eq!(holding(&desk.host.send(), "Memory at hand"), [sent.len() - 1]);
    desk.host.edit("src/b.rs", "u32", "u64");
    assert_eq!(holding(&desk.host.send(), "Memory at hand, src/b.rs").len(), 1);
}

#[test]
fn what_was_at_hand_leaves_with_an_epoch_for_good() {
    let mut desk = full();
    desk.host.prompt.0 = desk.section(0);
    let (mut desk, _memory) = watching(desk);
    desk.host.window = 12_000;
    desk.host.user("look at it");
    desk.host.read("src/a.rs", None, None);
    assert_eq!(holding(&desk.host.send(), "Memory at hand"), [2]);
    let epoch = desk.host.live.state().epoch();
    for round in 0..40 {
        let lines: Vec<String> = (0..90).map(|line| format!("{round} has line {line}")).collect();
        desk.host.tool("bash", &json!({ "command": format!("show {round}") }), &lines.join("\n"));
        let sent = desk.host.send();
        if desk.host.live.state().epoch() > epoch {
            assert_eq!(holding(&sent, "Memory at hand"), [0_usize; 0]);
            return;
        }
        assert_eq!(holding(&sent, "Memory at hand"), [2]);
    }
    panic!("no epoch");
}

#[test]
fn the_model_asks_memory_by_the_tool_that_it_has() {
    let many = (0..300).map(|at| format!("- Fact {at}: of no use to anybody\n"));
    let many = many.collect::<Vec<_>>().concat();
    let mut desk = Desk::new(Layout::Log, &format!("{many}- Deploying: make ship\n"));
    let ask = |desk: &mut Desk, tool: Tool, name: &str| {
        let answer = tool.execute(&mut desk.host.live, "c1", &json!({ "name": name }));
        answer.map(|answer| answer.text).map_err(|error| error.code().to_owned())
    };
    // Without memory it is a name like any other.
    assert_eq!(ask(&mut desk, Tool::Activate, "memory: deploying"), Err("UNKNOWN_NAME".to_owned()));
    let section = desk.section(0);
    assert!(!section.contains("searches all of it"), "the host did not say that it has the tool");
    let tools = json!([{ "name": "read" }, { "name": "activate" }]);
    let call = CallInfo { tools, model: Some("fake/other".to_owned()), ..CallInfo::default() };
    let now = Timestamp(desk.host.now());
    let section = desk.memory.prompt(Some(&mut desk.host.live.at_call(&call, now))).unwrap();
    let section = section.unwrap().text.clone();
    let told = "- activate with name `memory: WORDS` searches all of it; `memory: confirm ID` unmarks an entry that you checked.";
    assert_eq!(section.lines().filter(|line| *line == told).count(), 1, "{section}");
    let (mut desk, _memory) = watching(desk);
    let answer = ask(&mut desk, Tool::Activate, " Memory:deploying").unwrap();
    assert!(
        answer.contains("MEMORY.md:301 ") && answer.ends_with("\n- Deploying: make ship"),
        "{answer}"
    );
    assert!(ask(&mut desk, Tool::Pin, "memory: deploying").is_err(), "it is not pinned");
}

#[test]
fn memory_that_stands_in_full_does_not_say_how_to_search_it() {
    let mut desk = Desk::new(Layout::Log, "- a: 1\n");
    let call = CallInfo { tools: json!([{ "name": "activate" }]), ..CallInfo::default() };
    let now = Timestamp(desk.host.now());
    let section = desk.memory.prompt(Some(&mut desk.host.live.at_call(&call, now))).unwrap();
    assert!(!section.unwrap().text.contains("activate"));
}
