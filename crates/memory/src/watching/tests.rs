//! Each memory fault, provoked and avoided, on real folders; and the trace file.

use std::fs;

use serde_json::json;

use super::super::checks::CheckLimits;
use super::super::fidelity::Fidelity;
use super::super::flush::{FlushOptions, flush};
use super::super::journal::{Draft, JOURNAL_FILE, accept, stage};
use super::super::trace::TRACES_FILE;
use super::super::{Folders, Page};
use super::*;
use base::object::Timestamp;

/// A project with memory, in a folder of its own.
struct Desk {
    folder: tempfile::TempDir,
    memory: Memory,
}

const TOPIC: &str = "# Build\n\n## Cache\nsccache breaks -Werror\n\n## Tests\nfour minutes\n";

impl Desk {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().join("p");
        fs::create_dir_all(project.join(".pi/memory")).unwrap();
        fs::write(project.join(".pi/memory/MEMORY.md"), "- [Build](build.md)\n- CI: green\n")
            .unwrap();
        fs::write(project.join(".pi/memory/build.md"), TOPIC).unwrap();
        let folders = Folders::new(Some(&folder.path().join("a")), Some(&project), true);
        let mut desk = Self { folder, memory: Memory::new(folders) };
        desk.memory.look();
        desk
    }

    fn page(&mut self, key: &str) -> Page {
        let look = self.memory.look();
        let page = look.pages().find(|page| page.key.as_deref() == Some(key)).cloned();
        page.unwrap()
    }

    /// A prompt with these pages.
    fn prompted(&mut self, pages: &[(&Page, Fidelity)]) {
        let resident = pages.iter().map(|(page, fidelity)| Resident {
            id: page.id.clone(),
            fidelity: *fidelity,
            why: "value 1.0".to_owned(),
        });
        self.memory.prompted(resident.collect(), &[]);
    }

    fn read(&mut self, args: &Value) {
        self.observe("read", args, true);
    }

    fn observe(&mut self, tool: &str, args: &Value, is_stored: bool) {
        let cwd = self.project();
        let call = ToolCall { tool, args, cwd: &cwd, is_error: false, is_stored };
        self.memory.observe(&call);
    }

    fn project(&self) -> PathBuf {
        self.folder.path().join("p")
    }

    fn file(&self, name: &str) -> PathBuf {
        self.memory.folders().memory_folder(Scope::Project).unwrap().path_of(name)
    }

    /// The memory faults so far, by name, each as often as it happened.
    fn faults(&self) -> Vec<String> {
        let counts = self.memory.faults().into_iter();
        let names = counts.flat_map(|count| {
            assert_eq!(count.in_session, count.in_traces, "{count:?}");
            let name = json!(count.fault).as_str().unwrap().to_owned();
            vec![name; usize::try_from(count.in_session).unwrap()]
        });
        names.collect()
    }
}

#[test]
fn reading_what_was_evicted_is_a_refetch() {
    let mut desk = Desk::new();
    let (cache, tests) = (desk.page("Cache"), desk.page("Tests"));
    let path = ".pi/memory/build.md";
    desk.prompted(&[(&cache, Fidelity::Full), (&tests, Fidelity::Full)]);
    desk.read(&json!({ "path": path }));
    assert_eq!(desk.faults(), [""; 0], "what is resident may be read");
    desk.prompted(&[(&tests, Fidelity::Full)]);
    desk.read(&json!({ "path": path, "offset": 6 }));
    desk.read(&json!({ "path": path, "offset": 6, "limit": 1 }));
    assert_eq!(desk.faults(), [""; 0], "other lines were read");
    desk.read(&json!({ "path": path, "offset": 1, "limit": 5 }));
    assert_eq!(desk.faults(), ["refetch"]);
    desk.read(&json!({ "path": path, "offset": 2, "limit": 5 }));
    assert_eq!(desk.faults(), ["refetch"], "what was fetched is known");
}

#[test]
fn a_lower_fidelity_is_an_eviction_and_recalls_are_reads() {
    let mut desk = Desk::new();
    let cache = desk.page("Cache");
    for fetch in [0, 1] {
        desk.prompted(&[(&cache, Fidelity::Full)]);
        desk.prompted(&[(&cache, Fidelity::Pointer)]);
        if fetch == 0 {
            desk.observe("bash", &json!({ "command": "cat .pi/memory/build.md | head" }), true);
        } else {
            desk.memory.recalled(Recalled {
                query: "sccache",
                code: "ok",
                pages: vec![cache.id.clone()],
                unsearched: Vec::new(),
            });
        }
        assert_eq!(desk.faults().len(), fetch + 1);
    }
    desk.prompted(&[(&cache, Fidelity::Full)]);
    desk.observe("bash", &json!({ "command": "ls .pi/memory" }), true);
    assert_eq!(desk.faults(), ["refetch", "refetch"]);
}

#[test]
fn the_same_read_of_an_unchanged_file_is_a_duplicate_tool() {
    let mut desk = Desk::new();
    let source = desk.project().join("a.rs");
    fs::write(&source, "one").unwrap();
    let args = json!({ "path": "a.rs" });
    desk.observe("read", &args, false);
    desk.observe("read", &args, true);
    assert_eq!(desk.faults(), [""; 0], "the first result is not stored");
    fs::write(&source, "other").unwrap();
    desk.observe("read", &args, true);
    desk.observe("read", &json!({ "path": "a.rs", "limit": 3 }), true);
    desk.observe("edit", &json!({ "path": "a.rs", "edits": [] }), true);
    assert_eq!(desk.faults(), [""; 0], "the file changed, or something else was asked");
    desk.observe("read", &args, true);
    assert_eq!(desk.faults(), ["duplicate_tool"]);
}

#[test]
fn the_same_command_that_reads_unchanged_files_is_a_duplicate() {
    let mut desk = Desk::new();
    fs::write(desk.project().join("a.rs"), "one").unwrap();
    for command in ["cat a.rs", "sed -n 1,3p a.rs | head -2", "grep -n one a.rs", "cat a.rs; make"]
    {
        desk.observe("bash", &json!({ "command": command }), true);
    }
    assert_eq!(desk.faults(), [""; 0]);
    let repeated = |desk: &mut Desk, command: &str| {
        let before = desk.faults().len();
        desk.observe("bash", &json!({ "command": command }), true);
        desk.faults().len() - before
    };
    assert_eq!(repeated(&mut desk, "cat a.rs"), 1);
    assert_eq!(repeated(&mut desk, "sed -n 1,3p a.rs | head -2"), 1);
    assert_eq!(repeated(&mut desk, "grep -n one a.rs"), 1);
    assert_eq!(repeated(&mut desk, "cat a.rs; make"), 0, "it does something else, too");
    fs::write(desk.project().join("a.rs"), "other").unwrap();
    assert_eq!(repeated(&mut desk, "cat a.rs"), 0, "the file changed");
}

#[test]
fn resident_pages_must_survive_a_compaction() {
    let mut desk = Desk::new();
    let (cache, tests) = (desk.page("Cache"), desk.page("Tests"));
    let all = [(&cache, Fidelity::Full), (&tests, Fidelity::Full)];
    desk.prompted(&all);
    desk.memory.compacted();
    desk.prompted(&all);
    assert_eq!(desk.faults(), [""; 0]);
    desk.memory.compacted();
    desk.prompted(&all[..1]);
    assert_eq!(desk.faults(), ["post_compaction_bootstrap"]);
    desk.prompted(&all[..1]);
    assert_eq!(desk.faults().len(), 1, "only the first request counts");
}

#[test]
fn a_deleted_page_is_not_missed_after_a_compaction() {
    let mut desk = Desk::new();
    let (cache, tests) = (desk.page("Cache"), desk.page("Tests"));
    desk.prompted(&[(&cache, Fidelity::Full), (&tests, Fidelity::Full)]);
    desk.memory.compacted();
    fs::write(desk.file("build.md"), "## Tests\nfour minutes\n").unwrap();
    desk.memory.look();
    desk.prompted(&[(&tests, Fidelity::Full)]);
    assert_eq!(desk.faults(), [""; 0]);
}

#[test]
fn entries_still_staged_at_the_end_are_flush_misses() {
    let mut desk = Desk::new();
    let folder = desk.memory.folders().memory_folder(Scope::Project).unwrap();
    let entry = |text: &str| vec![Draft::entry(Scope::Project, text)];
    let mut remember = |text: &str| {
        let staging = desk.memory.prepare_remember(Scope::Project, text, None).unwrap();
        staging.run(Timestamp(0)).unwrap().id
    };
    let id = remember("Editor: vim");
    stage(&folder, entry("a proposal"), true, Timestamp(0)).unwrap();
    desk.memory.ended();
    assert_eq!(desk.faults(), ["flush_miss"]);
    let text = format!("{:?}", desk.memory.traces()[0].what);
    assert!(text.contains(&format!("`{id}` still waits")), "{text}");
}

#[test]
fn what_another_process_staged_is_no_flush_miss() {
    let mut desk = Desk::new();
    let folder = desk.memory.folders().memory_folder(Scope::Project).unwrap();
    let entry = vec![Draft::entry(Scope::Project, "Editor: vim")];
    stage(&folder, entry, false, Timestamp(0)).unwrap();
    desk.memory.ended();
    assert_eq!(desk.faults(), [""; 0]);
}

#[test]
fn what_was_written_or_refused_is_no_flush_miss() {
    let mut desk = Desk::new();
    let folder = desk.memory.folders().memory_folder(Scope::Project).unwrap();
    for text in ["Editor: vim", "CI: green"] {
        stage(&folder, vec![Draft::entry(Scope::Project, text)], false, Timestamp(0)).unwrap();
    }
    let limits = CheckLimits { lines: 200, bytes: 8_192 };
    let options = FlushOptions { strict: true, limits, beside: Vec::new() };
    let report = flush(&folder, &options).unwrap();
    let scope = Scope::Project;
    desk.memory.flushed(&[FolderFlush { scope, report, failed: None }]);
    desk.memory.ended();
    assert_eq!(desk.faults(), [""; 0]);
    let Traced::Flush { operations, .. } = &desk.memory.traces()[0].what else {
        panic!("no flush")
    };
    assert_eq!(operations.len(), 2, "{operations:?}");
}

#[test]
fn what_a_journal_lost_is_a_flush_miss_once() {
    let mut desk = Desk::new();
    let folder = desk.memory.folders().memory_folder(Scope::Project).unwrap();
    let draft = vec![Draft::entry(Scope::Project, "Editor: vim")];
    let id = stage(&folder, draft, true, Timestamp(0)).unwrap()[0];
    accept(&folder, id).unwrap();
    let journal = desk.file(JOURNAL_FILE);
    let text = fs::read_to_string(&journal).unwrap();
    fs::write(&journal, text.lines().skip(1).collect::<Vec<_>>().join("\n") + "\n").unwrap();
    desk.memory.ended();
    desk.memory.ended();
    assert_eq!(desk.faults(), ["flush_miss"]);
}

#[test]
fn a_failed_recall_that_says_no_match_is_silent() {
    let mut desk = Desk::new();
    let mut recall = |code: &str, unsearched: &[&str]| {
        desk.memory.recalled(Recalled {
            query: "x",
            code,
            pages: Vec::new(),
            unsearched: unsearched.iter().map(|text| (*text).to_owned()).collect(),
        });
        desk.faults()
    };
    assert_eq!(recall("no_match", &[]), [""; 0]);
    assert_eq!(recall("backend_error", &["the store cannot be read"]), [""; 0]);
    assert_eq!(recall("no_match", &["the store cannot be read"]), ["silent_recall"]);
}

#[test]
fn a_pinned_page_below_its_minimum_counts_until_restored() {
    let mut desk = Desk::new();
    let cache = desk.page("Cache");
    desk.prompted(&[(&cache, Fidelity::Full)]);
    assert_eq!(desk.faults(), [""; 0]);
    desk.memory.prompted(Vec::new(), std::slice::from_ref(&cache.id));
    desk.memory.prompted(Vec::new(), std::slice::from_ref(&cache.id));
    assert_eq!(desk.faults(), ["pinned_invariant"]);
    desk.prompted(&[(&cache, Fidelity::Full)]);
    desk.memory.prompted(Vec::new(), &[cache.id]);
    assert_eq!(desk.faults().len(), 2);
}

#[test]
fn only_decisions_that_changed_are_traced_and_each_has_an_id() {
    let mut desk = Desk::new();
    let cache = desk.page("Cache");
    desk.prompted(&[(&cache, Fidelity::Full)]);
    desk.prompted(&[(&cache, Fidelity::Full)]);
    desk.prompted(&[(&cache, Fidelity::Pointer)]);
    desk.prompted(&[]);
    let traces = desk.memory.traces();
    let counts = traces.iter().map(|trace| match &trace.what {
        Traced::Residency { count, evicted, .. } => (*count, evicted.len()),
        other => panic!("{other:?}"),
    });
    assert!(counts.eq([(0, 1), (1, 0), (1, 0)]), "resident and evicted: {traces:?}");
    for trace in &traces {
        assert_eq!(&desk.memory.trace_of(&trace.id[..6]).unwrap(), trace);
    }
    assert_eq!(desk.memory.trace_of("zz").unwrap_err().code(), "NO_TRACE");
    assert_eq!(desk.memory.trace_of("").unwrap_err().code(), "NO_TRACE");
}

#[test]
fn the_file_of_traces_is_bounded_and_keeps_the_newest() {
    let mut desk = Desk::new();
    let path = desk.file(TRACES_FILE);
    let id = desk.page("Cache").id;
    for count in 0..500 {
        desk.memory.recalled(Recalled {
            query: &format!("{count} {}", "long ".repeat(100)),
            code: "ok",
            pages: vec![id.clone(); 200],
            unsearched: Vec::new(),
        });
        if count % 50 == 0 {
            assert!(fs::metadata(&path).unwrap().len() <= 256 << 10);
        }
    }
    let traces = desk.memory.traces();
    assert!((60..400).contains(&traces.len()), "{}", traces.len());
    let Traced::Recall { query, .. } = &traces[0].what else { panic!("no recall") };
    assert!(query.starts_with("499 ") && query.ends_with('…'), "{query}");
}

#[test]
fn torn_lines_and_those_of_another_version_are_passed_over() {
    let mut desk = Desk::new();
    desk.memory.compacted();
    let path = desk.file(TRACES_FILE);
    let mut text = fs::read(&path).unwrap();
    text.extend_from_slice(
        b"{\"id\":\"x\",\"at\":\"2026\",\"kind\":\"later\"}\n\xff\n{\"id\":\"ab",
    );
    fs::write(&path, text).unwrap();
    desk.memory.compacted();
    assert_eq!(desk.memory.traces().len(), 2);
}

#[test]
fn without_a_folder_traces_stay_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let (agent, project) = (folder.path().join("a"), folder.path().join("p"));
    let mut memory = Memory::new(Folders::new(Some(&agent), Some(&project), true));
    memory.look();
    memory.compacted();
    assert_eq!(memory.traces().len(), 1);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn without_the_setting_faults_are_counted_but_not_traced() {
    let mut desk = Desk::new();
    fs::write(desk.file("config.json"), r#"{"traceEnabled":false}"#).unwrap();
    let cache = desk.page("Cache");
    desk.memory.prompted(Vec::new(), &[cache.id]);
    assert_eq!(desk.memory.traces(), []);
    let count = desk.memory.faults().pop().unwrap();
    assert_eq!((count.fault, count.in_session), (MemoryFault::PinnedInvariant, 1));
    assert!(!desk.file(TRACES_FILE).exists());
}
