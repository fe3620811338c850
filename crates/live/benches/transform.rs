//! The Rust part of `transformContext`: one call with one new step, at several lengths of the
//! session.
//!
//! The steady state of a working agent: each call brings an assistant message with a tool call, and
//! its result. The time must not grow with the session. `memory` is the work alone; `sqlite`
//! includes the awaited commit.

use std::cell::{OnceCell, RefCell};
use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use config::Settings;
use context::tokens::{self, Counter};
use criterion::{BatchSize, BenchmarkId, Criterion, criterion_group, criterion_main};
use live::{CallInfo, HostList, LiveSession, OpenSession, ToolFiles, Transformed};
use serde_json::{Value, json};
use store::Store;
use tempfile::TempDir;

/// Lengths of the session, in messages.
const LENGTHS: [usize; 3] = [100, 1_000, 5_000];
/// The model's window, wide enough that no session here fills it.
const CONTEXT_WINDOW: u64 = 100_000_000;

/// One step: a call of `bash` and its result, about 2 KiB of text that differs in every step.
fn step(number: usize) -> [Value; 2] {
    let id = format!("call_{number}");
    let lines =
        (0..40).map(|line| format!("test module_{number}::case_{line} ... ok, {line} ms\n"));
    let output: String = lines.collect();
    let call = json!({
        "type": "toolCall", "id": id, "name": "bash",
        "arguments": { "command": format!("cargo test module_{number}") },
    });
    let said = json!({ "type": "text", "text": format!("Now the tests of module {number}.") });
    [
        json!({ "role": "assistant", "content": [said, call], "timestamp": 2 * number }),
        json!({
            "role": "toolResult", "toolCallId": id, "toolName": "bash", "isError": false,
            "content": [{ "type": "text", "text": output }], "timestamp": 2 * number + 1,
        }),
    ]
}

/// A session that grows by one step per call.
struct Host {
    live: LiveSession,
    call: CallInfo,
    messages: usize,
    steps: usize,
    /// Where the store is, if it is a file.
    _folder: TempDir,
}

impl Host {
    /// Opens a session in a new store and lets it grow to `length` messages, one step per call, as
    /// an agent would.
    fn new(open: fn(&Path) -> Store, length: usize) -> Self {
        let folder = tempfile::tempdir().expect("the system has a temporary folder");
        let options = OpenSession {
            harness: "bench".into(),
            host_session: "session".into(),
            cwd: folder.path().to_owned(),
            parent: None,
            settings: Settings::default(),
            filesystem_id: "0123456789abcdef".into(),
            counter: Counter::default(),
            files: ToolFiles::default(),
            images: false,
            confined: None,
            asks_to_compact: false,
        };
        let live = LiveSession::open(open(folder.path()), options).expect("the store is new");
        let call = CallInfo { context_window: Some(CONTEXT_WINDOW), ..CallInfo::default() };
        let mut host = Self { live, call, messages: 0, steps: 0, _folder: folder };
        let first = json!({ "role": "user", "content": "Run all tests.", "timestamp": 0 });
        host.take(vec![first.to_string()]);
        while host.messages < length {
            let next = host.next_step();
            host.take(next);
        }
        host
    }

    /// JSON of the messages that the next call brings.
    fn next_step(&mut self) -> Vec<String> {
        self.steps += 1;
        step(self.steps).iter().map(Value::to_string).collect()
    }

    fn take(&mut self, messages: Vec<String>) -> Transformed {
        let count = messages.len();
        let since = Some(self.live.state().calls()).filter(|calls| *calls > 0);
        let list = HostList { since, skip: self.messages, messages };
        let done = self.live.transform(list, &self.call);
        self.messages += count;
        done.expect("the store is writable")
    }
}

fn measure(criterion: &mut Criterion, name: &str, open: fn(&Path) -> Store) {
    let mut group = criterion.benchmark_group("transform");
    for length in LENGTHS {
        // Created when the bench runs, so that benches which are filtered out cost nothing.
        let host = OnceCell::new();
        group.bench_function(BenchmarkId::new(name, length), |bencher| {
            let host = host.get_or_init(|| RefCell::new(Host::new(open, length)));
            bencher.iter_batched(
                || {
                    let mut host = host.borrow_mut();
                    // Every call makes the session longer. Beyond a fifth more, another length
                    // would be measured.
                    if host.messages > length + length / 5 {
                        *host = Host::new(open, length);
                    }
                    host.next_step()
                },
                |next| host.borrow_mut().take(black_box(next)),
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

fn in_memory(_: &Path) -> Store {
    Store::open(":memory:").expect("memory is there")
}

fn on_disk(folder: &Path) -> Store {
    let path = folder.join("store.sqlite");
    Store::open(&path.to_string_lossy()).expect("the folder is writable")
}

fn transform(criterion: &mut Criterion) {
    tokens::preload();
    measure(criterion, "memory", in_memory);
    measure(criterion, "sqlite", on_disk);
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(500));
    targets = transform
}
criterion_main!(benches);
