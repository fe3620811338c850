//! A scripted host: keeps a list of messages as Pi does, runs tools on real files, and sends its
//! list through a session.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use base::error::Result;
use base::object::Timestamp;
use config::{Layout, PriceSetting, Settings, scaled};
use context::host::HostMessage;
use context::host_compaction::{CompactionAnswer, HostCompaction, Reason};
use context::tokens::Counter;
use context::view::{Inserted, read_edits};
use live::{
    CallInfo, FinishedToolCall, HostList, LiveSession, Notice, OpenSession, RunningShown,
    ToolFiles, Transformed, Wanted, replay_call,
};
use serde_json::{Value, json};
use store::{Store, doctor};
use tempfile::TempDir;

/// Prices of a provider without a cache: rewriting costs nothing, so epochs start early.
pub(crate) fn uncached() -> PriceSetting {
    PriceSetting::Named("none".into())
}

/// Tokens of system prompt and tools that pass for ours.
pub(crate) const OVERHEAD_TOKENS: u64 = 5;

/// A host with one session.
#[expect(clippy::struct_excessive_bools, reason = "each is a way of a host")]
pub(crate) struct Host {
    pub(crate) folder: TempDir,
    pub(crate) store: Store,
    pub(crate) live: LiveSession,
    pub(crate) settings: Settings,
    pub(crate) messages: Vec<Value>,
    pub(crate) sent: Vec<Value>,
    pub(crate) notices: Vec<Notice>,
    /// First lines of the notes of the newest call.
    pub(crate) told: Vec<String>,
    pub(crate) name: String,
    /// Set by tests in which the host changes text on every call.
    pub(crate) rewrites: bool,
    /// Set by tests in which results do not stand right behind their calls.
    pub(crate) is_late: bool,
    /// Whether its tools may answer with images; counts when a session is opened.
    pub(crate) images: bool,
    /// Tokens of the model's window.
    pub(crate) window: u64,
    /// Provider and model.
    pub(crate) model: String,
    /// Its system prompt, and the definitions of its tools.
    pub(crate) prompt: (String, Value),
    /// Index from which the host sends its messages itself, as a host that runs its own turns does.
    pub(crate) kept_from: Option<usize>,
    /// What the next request is to be squeezed to.
    pub(crate) squeeze_to: Option<u64>,
    /// The host's count of the tokens of system prompt and tools.
    pub(crate) prompt_tokens: Option<u64>,
    /// How tokens are counted; counts when a session is opened.
    pub(crate) counter: Counter,
    /// Whether it asks before it compacts; counts when a session is opened.
    pub(crate) asks_to_compact: bool,
    /// What the model thinks before it calls a tool.
    pub(crate) thinking: String,
    /// The previous request, whatever happened to the session since.
    before: Vec<Value>,
    /// All requests of the session, each with its model.
    requests: Vec<(String, Vec<Value>)>,
    /// Number of the newest call, and its list.
    since: Option<u64>,
    known: Vec<Value>,
    time: i64,
    next_call: u64,
}

/// A session on which no host works at the moment.
pub(crate) struct Aside {
    live: LiveSession,
    messages: Vec<Value>,
    before: Vec<Value>,
    requests: Vec<(String, Vec<Value>)>,
}

impl Aside {
    pub(crate) fn new(live: LiveSession) -> Self {
        Self { live, messages: Vec::new(), before: Vec::new(), requests: Vec::new() }
    }
}

/// Checks that everything a session wrote is complete, and that all references resolve.
impl Drop for Host {
    fn drop(&mut self) {
        // A test that failed has said so; one that closed the store has nothing to read.
        if !std::thread::panicking()
            && let Ok(report) = doctor::check(&self.store)
        {
            assert_eq!(report.findings, []);
        }
    }
}

impl Host {
    pub(crate) fn new(settings: Settings) -> Self {
        Self::with_store(settings, Store::open(":memory:").unwrap())
    }

    pub(crate) fn with_store(settings: Settings, store: Store) -> Self {
        Self::within(tempfile::tempdir().unwrap(), settings, store)
    }

    /// A host that works in this folder.
    pub(crate) fn within(folder: TempDir, settings: Settings, store: Store) -> Self {
        let time = AtomicI64::new(1_000);
        Self::clocked(folder, settings, store, move || time.fetch_add(1, Ordering::Relaxed))
    }

    /// As [`Self::within`], with the time by which files are, for tests in which it tells whether one
    /// came since. No two moments are the same.
    pub(crate) fn in_real_time(folder: TempDir, settings: Settings, store: Store) -> Self {
        let last = AtomicI64::new(0);
        Self::clocked(folder, settings, store, move || {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
            let now = i64::try_from(now).unwrap();
            let last = last
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| Some(now.max(last + 1)));
            now.max(last.unwrap() + 1)
        })
    }

    /// `now`: ms since 1970.
    fn clocked(
        folder: TempDir,
        settings: Settings,
        store: Store,
        now: impl Fn() -> i64 + Send + Sync + 'static,
    ) -> Self {
        let store = store.with_clock(Arc::new(move || Timestamp(now())));
        let name = "session-1".to_owned();
        let live = LiveSession::open(store.clone(), options(&folder, &settings, &name)).unwrap();
        Self {
            folder,
            store,
            live,
            settings,
            messages: Vec::new(),
            sent: Vec::new(),
            notices: Vec::new(),
            told: Vec::new(),
            name,
            rewrites: false,
            is_late: false,
            images: false,
            window: 200_000,
            model: "fake/fake-1".to_owned(),
            prompt: ("You are a coding agent.".to_owned(), json!([{ "name": "read" }])),
            kept_from: None,
            squeeze_to: None,
            prompt_tokens: None,
            counter: Counter::default(),
            asks_to_compact: false,
            thinking: "hm".to_owned(),
            before: Vec::new(),
            requests: Vec::new(),
            since: None,
            known: Vec::new(),
            time: 0,
            next_call: 0,
        }
    }

    /// Closes the session and opens it again, as a restart does.
    pub(crate) fn restart(&mut self) {
        self.live.close().unwrap();
        self.crash();
    }

    /// Continues as another session of the same host.
    pub(crate) fn restart_as(&mut self, name: &str) {
        name.clone_into(&mut self.name);
        self.requests.clear();
        self.crash();
    }

    /// The host's list begins anew.
    pub(crate) fn restart_list(&mut self) {
        self.messages.clear();
        self.before.clear();
        self.requests.clear();
        self.since = None;
        self.known.clear();
        self.sent.clear();
    }

    /// Opens the session again without closing it.
    pub(crate) fn crash(&mut self) {
        self.live = LiveSession::open(self.store.clone(), self.options()).unwrap();
        self.since = None;
        self.known.clear();
        self.sent.clear();
    }

    /// Swaps with another session that has another list, as in another process.
    pub(crate) fn change_places(&mut self, other: &mut Aside) {
        std::mem::swap(&mut self.live, &mut other.live);
        std::mem::swap(&mut self.messages, &mut other.messages);
        std::mem::swap(&mut self.before, &mut other.before);
        std::mem::swap(&mut self.requests, &mut other.requests);
        self.live.distrust();
        self.since = None;
        self.known.clear();
        self.sent.clear();
    }

    /// Opens another session as a fork of this one; the host's list stays.
    pub(crate) fn fork(&mut self, name: &str) {
        let parent = std::mem::replace(&mut self.name, name.to_owned());
        let options = OpenSession { parent: Some(parent), ..self.options() };
        self.live = LiveSession::open(self.store.clone(), options).unwrap();
        self.since = None;
        self.known.clear();
        self.sent.clear();
    }

    /// The options with which the session is opened.
    pub(crate) fn options(&self) -> OpenSession {
        let Self { images, counter, asks_to_compact, .. } = *self;
        let options = options(&self.folder, &self.settings, &self.name);
        OpenSession { images, counter, asks_to_compact, ..options }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write_file(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn user(&mut self, text: &str) {
        let content = json!([{ "type": "text", "text": text }]);
        self.push(json!({ "role": "user", "content": content }));
    }

    pub(crate) fn say(&mut self, text: &str) {
        let content = json!([{ "type": "text", "text": text }]);
        self.push(json!({ "role": "assistant", "content": content, "stopReason": "stop" }));
    }

    /// The model calls a tool, which answers with `output`.
    pub(crate) fn tool(&mut self, tool: &str, args: &Value, output: &str) -> String {
        let id = self.call(tool, args);
        self.answer(&id, tool, args, output, false);
        id
    }

    /// The model calls a tool; no result yet.
    pub(crate) fn call(&mut self, tool: &str, args: &Value) -> String {
        let id = self.next_id();
        self.call_as(&id, tool, args);
        id
    }

    pub(crate) fn call_as(&mut self, id: &str, tool: &str, args: &Value) {
        self.call_all(&[(id.to_owned(), tool, args.clone())]);
    }

    /// The model makes several calls in one message: IDs, tools, arguments.
    pub(crate) fn call_all(&mut self, calls: &[(String, &str, Value)]) {
        let thinking =
            json!({ "type": "thinking", "thinking": self.thinking, "thinkingSignature": "sig" });
        let calls = calls.iter().map(|(id, tool, args)| {
            json!({ "type": "toolCall", "id": id, "name": tool, "arguments": args })
        });
        let content: Vec<Value> = std::iter::once(thinking).chain(calls).collect();
        self.push(json!({ "role": "assistant", "content": content, "stopReason": "toolUse" }));
    }

    pub(crate) fn answer(
        &mut self,
        id: &str,
        tool: &str,
        args: &Value,
        output: &str,
        is_error: bool,
    ) {
        self.finished(id, tool, args, output, is_error);
        self.push_result(id, tool, &json!([{ "type": "text", "text": output }]), is_error);
    }

    /// Tells the session about a finished tool call.
    pub(crate) fn finished(
        &mut self,
        id: &str,
        tool: &str,
        args: &Value,
        output: &str,
        is_error: bool,
    ) {
        let finished = FinishedToolCall {
            call: id.to_owned(),
            tool: tool.to_owned(),
            args: args.clone(),
            is_error,
            text: output.to_owned(),
        };
        self.live.record_tool_call(&finished).unwrap();
    }

    pub(crate) fn push_result(&mut self, id: &str, tool: &str, content: &Value, is_error: bool) {
        self.push(json!({
            "role": "toolResult", "toolCallId": id, "toolName": tool, "content": content, "isError": is_error,
        }));
    }

    /// A result that the host shows itself, as the session says.
    pub(crate) fn show_answer(&mut self, id: &str, tool: &str, args: &Value, output: &str) {
        let content = self.shown_content(id, tool, args, output);
        self.push_result(id, tool, &content, false);
    }

    /// The content with which the session has the host show a result.
    pub(crate) fn shown_content(
        &mut self,
        id: &str,
        tool: &str,
        args: &Value,
        output: &str,
    ) -> Value {
        let content = json!([{ "type": "text", "text": output }]);
        let message = json!({
            "role": "toolResult", "toolCallId": id, "toolName": tool, "content": content, "isError": false,
        });
        let same = self.known.iter().zip(&self.messages).take_while(|(a, b)| a == b).count();
        let messages = json_of(&self.messages[same..]);
        let list = HostList { since: self.since, skip: same, messages };
        match self.live.show_result(list, args.clone(), message.to_string()).unwrap() {
            RunningShown::Content(Some(shown)) => serde_json::from_str(&shown).unwrap(),
            RunningShown::Content(None) => content,
            RunningShown::Resend => panic!("the session holds another request"),
        }
    }

    /// Adds a message, with a time stamp that no other has.
    pub(crate) fn push(&mut self, mut message: Value) {
        self.time += 1;
        message["timestamp"] = json!(self.time);
        self.messages.push(message);
    }

    pub(crate) fn next_id(&mut self) -> String {
        self.next_call += 1;
        format!("call_{}", self.next_call)
    }

    /// The model reads a file; the text is what Pi's tool shows.
    pub(crate) fn read(&mut self, name: &str, offset: Option<u32>, limit: Option<u32>) {
        let text = std::fs::read_to_string(self.path(name)).unwrap();
        let shown = live::model_tools::read::read_text(
            &text,
            name,
            offset.map(f64::from),
            limit.map(f64::from),
        )
        .unwrap();
        let mut args = json!({ "path": name });
        for (key, value) in [("offset", offset), ("limit", limit)] {
            if let Some(value) = value {
                args[key] = json!(value);
            }
        }
        self.tool("read", &args, &shown);
    }

    /// The model edits a file: the first occurrence of `old` becomes `new`.
    pub(crate) fn edit(&mut self, name: &str, old: &str, new: &str) {
        let text = std::fs::read_to_string(self.path(name)).unwrap();
        assert!(text.contains(old), "`{old}` is not in {name}");
        self.write_file(name, &text.replacen(old, new, 1));
        let args = json!({ "path": name, "edits": [{ "oldText": old, "newText": new }] });
        self.tool("edit", &args, &format!("Successfully replaced 1 block(s) in {name}."));
    }

    /// The model activates an object; errors come back as a failed call.
    pub(crate) fn activate(&mut self, wanted: &Wanted, pin: bool) -> String {
        let tool = if pin { "pin" } else { "activate" };
        let args = json!({ "name": wanted.name });
        let id = self.call(tool, &args);
        let (text, is_error) = match self.live.activate(&id, wanted, pin) {
            Ok(text) => (text, false),
            Err(error) => (error.to_string(), true),
        };
        self.answer(&id, tool, &args, &text, is_error);
        text
    }

    /// Sends the list through the session; checks the invariants of every request and returns it.
    pub(crate) fn send(&mut self) -> Vec<Value> {
        let epoch = self.live.state().epoch();
        self.notices = self.transform().unwrap();
        self.told.clear();
        self.notices.retain(|notice| match notice {
            Notice::Told { line } => {
                self.told.push(line.clone());
                false
            }
            _ => true,
        });
        let before = std::mem::replace(&mut self.before, self.sent.clone());
        if self.live.state().epoch() == epoch
            && self.settings.layout == Layout::Log
            && !self.rewrites
        {
            assert!(self.sent.starts_with(&before), "within an epoch a request only grows");
        }
        self.check_bill();
        self.requests.push((self.model.clone(), self.sent.clone()));
        self.check_replay();
        if !self.is_late {
            check_pairs(&self.sent);
        }
        if let Some(kept_from) = self.kept_from {
            let kept = &self.messages[kept_from..];
            assert!(self.sent.ends_with(kept), "what the host sends itself is as it is");
        } else if self.settings.layout == Layout::Log {
            crate::excerpts::check(self.live.state(), &self.sent, &self.messages);
        }
        self.sent.clone()
    }

    /// Another process makes a call on the same session. An answer is new in its list: after a
    /// person's message the call would look at files, and this session's pool would show its
    /// findings too.
    pub(crate) fn call_beside(&self) {
        let mut other = LiveSession::open(self.store.clone(), self.options()).unwrap();
        let mut list = self.messages.clone();
        let content = json!([{ "type": "text", "text": "from elsewhere" }]);
        list.push(json!({ "role": "assistant", "content": content, "timestamp": -1 }));
        other.transform(HostList::whole(json_of(&list)), &CallInfo::default()).unwrap();
        let number = other.state().calls();
        let again = replay_call(&self.store, other.id(), number).unwrap();
        assert!(again.messages.iter().any(|message| message.contains("from elsewhere")));
    }

    /// Asks what to do about a compaction that would keep the messages from an index on.
    pub(crate) fn compacts(&mut self, reason: Reason, kept_from: usize) -> CompactionAnswer {
        let asked = HostCompaction {
            reason,
            retries: reason == Reason::Overflow,
            kept_from,
            reserved: None,
        };
        let messages = json_of(&self.messages);
        self.live.answer_compaction(messages, &self.call_info(), &asked).unwrap()
    }

    /// What the host says about its calls.
    fn call_info(&self) -> CallInfo {
        CallInfo {
            system_prompt: Some(self.prompt.0.clone()),
            tools: self.prompt.1.clone(),
            model: Some(self.model.clone()),
            overhead_tokens: Some(OVERHEAD_TOKENS),
            context_window: Some(self.window),
            kept_from: self.kept_from,
            squeeze_to: self.squeeze_to,
            fixed_tokens: self.prompt_tokens,
            ..CallInfo::default()
        }
    }

    /// One call, as the host's side makes it: only new messages cross, and after an error all of
    /// them.
    pub(crate) fn transform(&mut self) -> Result<Vec<Notice>> {
        let info = self.call_info();
        let since = self.since.take();
        let known = std::mem::take(&mut self.known);
        let sent = std::mem::take(&mut self.sent);
        let same = known.iter().zip(&self.messages).take_while(|(a, b)| a == b).count();
        let list = HostList { since, skip: same, messages: json_of(&self.messages[same..]) };
        match self.live.transform(list, &info)? {
            Transformed::Resend if since.is_some() => self.transform(),
            Transformed::Resend => panic!("the whole list was sent"),
            Transformed::Edits { call, edits, notices } => {
                self.since = Some(call);
                self.sent = apply(sent, &edits, &self.messages);
                self.known = self.messages.clone();
                Ok(notices)
            }
        }
    }

    /// The time of the newest message, in ms.
    pub(crate) fn now(&self) -> i64 {
        self.time
    }

    /// Lets this many seconds pass.
    pub(crate) fn wait(&mut self, seconds: i64) {
        self.time += seconds * 1_000;
    }

    /// The text of all messages, for golden tests.
    pub(crate) fn shown(&self) -> String {
        self.sent.iter().map(show).collect::<Vec<_>>().join("\n")
    }

    /// Checks the ledger's figures for the newest request against the request and all earlier ones.
    fn check_bill(&self) {
        let bill = &self.live.state().bill().last.as_ref().unwrap().bill;
        let tokens = |messages: &[Value]| -> u64 {
            let parse = |message: &Value| HostMessage::parse(message.to_string(), self.counter);
            messages.iter().map(|message| parse(message).tokens()).sum()
        };
        assert_eq!(bill.ours.messages, tokens(&self.sent), "tokens sent");
        if !bill.warm || self.settings.prices != Settings::default().prices {
            return;
        }
        // Providers see no time stamps.
        let is_same = |(a, b): &(&Value, &Value)| {
            a == b
                || ["role", "content"]
                    .iter()
                    .all(|key| a.get(key) == b.get(key) && a.get("content").is_some())
        };
        let same = |(_, before): &(String, Vec<Value>)| {
            before.iter().zip(&self.sent).take_while(is_same).count()
        };
        let of_model = self.requests.iter().filter(|(model, _)| *model == self.model);
        let same = of_model.map(same).max().unwrap_or(0);
        let cached = scaled(bill.fixed + tokens(&self.sent[..same]), bill.factor);
        if self.settings.layout == Layout::Log {
            assert_eq!(bill.ours.cached, cached, "tokens cached");
        } else {
            // Another version of an object, or other lines, may give the same text: the ledger
            // counts that as a change.
            assert!(bill.ours.cached <= cached, "tokens cached");
        }
    }

    fn check_replay(&self) {
        let again = replay_call(&self.store, self.live.id(), self.live.state().calls()).unwrap();
        let mut messages: Vec<Value> =
            again.messages.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
        for place in &again.withheld {
            messages[place.message] = self.sent[place.message].clone();
        }
        assert_eq!(messages, self.sent, "a recorded call renders as it went out");
    }
}

fn options(folder: &TempDir, settings: &Settings, name: &str) -> OpenSession {
    OpenSession {
        harness: "test".into(),
        host_session: name.into(),
        cwd: folder.path().to_path_buf(),
        parent: None,
        settings: settings.clone(),
        filesystem_id: "fs".into(),
        counter: Counter::default(),
        files: ToolFiles::default(),
        images: false,
        confined: None,
        asks_to_compact: false,
    }
}

/// Makes the edits of a list, as the host's side does.
/// Messages as they cross.
pub(crate) fn json_of(messages: &[Value]) -> Vec<String> {
    messages.iter().map(Value::to_string).collect()
}

fn apply(mut list: Vec<Value>, edits: &str, host: &[Value]) -> Vec<Value> {
    let build = |inserted: Inserted<'_>| match inserted {
        Inserted::Given(index) => host[index].clone(),
        Inserted::Changed(index, content) => {
            let mut message = host[index].clone();
            let member = if message["role"] == "bashExecution" { "output" } else { "content" };
            message[member] = serde_json::from_str(content).unwrap();
            message
        }
        Inserted::Ours(message) => serde_json::from_str(message).unwrap(),
    };
    for edit in read_edits(edits).unwrap() {
        list.splice(edit.at..edit.at + edit.remove, edit.insert.into_iter().map(build));
    }
    list
}

/// Every tool call has exactly one result, and every result its call.
fn check_pairs(messages: &[Value]) {
    let mut open: Vec<String> = Vec::new();
    for message in messages {
        if message["role"] == "toolResult" {
            let id = message["toolCallId"].as_str().unwrap();
            let place = open.iter().position(|call| call == id);
            assert!(place.is_some(), "a result for `{id}` without a call");
            open.remove(place.unwrap());
        } else {
            assert!(
                open.is_empty() || message["role"] == "custom",
                "calls without a result: {open:?}"
            );
        }
        for block in message["content"].as_array().into_iter().flatten() {
            if block["type"] == "toolCall" {
                open.push(block["id"].as_str().unwrap().to_owned());
            }
        }
    }
}

fn show(message: &Value) -> String {
    let blocks =
        message["content"].as_array().into_iter().flatten().map(|block| {
            match block["type"].as_str() {
                Some("text") => block["text"].as_str().unwrap().to_owned(),
                Some("toolCall") => {
                    format!("<{} {}>", block["name"].as_str().unwrap(), block["arguments"])
                }
                other => format!("<{}>", other.unwrap_or("?")),
            }
        });
    format!(
        "--- {}\n{}",
        message["role"].as_str().unwrap_or("?"),
        blocks.collect::<Vec<_>>().join("\n")
    )
}
