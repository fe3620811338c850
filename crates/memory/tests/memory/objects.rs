//! Memory files in a store are objects like any other.

use base::object::{AsOf, ObjectId};
use graph::Graph;
use memory::CitedChange;
use source::{Namespace, canonical_path};
use store::{DEFAULT_DIFF_CONTEXT, Store};

use crate::repository::{Repository, stale, stored};

const MEMORY: &str = ".pi/memory/MEMORY.md";

struct Desk {
    repository: Repository,
    store: Store,
    files: Namespace,
}

impl Desk {
    fn new() -> Self {
        let store = Store::open(":memory:").unwrap();
        Self { repository: Repository::new(), store, files: Namespace::here("fs") }
    }

    fn memory(&self) -> memory::Memory {
        stored(self.repository.memory(), &self.store, &self.files)
    }

    fn id(&self, path: &str) -> ObjectId {
        let path = canonical_path(&self.repository.root().join(path));
        self.files.locate(&path).id().unwrap()
    }
}

#[test]
fn an_index_has_versions_a_history_a_diff_and_backlinks() {
    let desk = Desk::new();
    let mut memory = desk.memory();
    desk.repository.write(MEMORY, "- see [[build]]\n");
    desk.repository.write(".pi/memory/build.md", "# Build\n\nback to [[MEMORY]]\n");
    memory.look();
    memory.look();
    desk.repository.write(MEMORY, "- see [[build]]\n- new\n");
    memory.look();
    let history = desk.store.history(&desk.id(MEMORY)).unwrap();
    assert_eq!(history.len(), 2);
    let [now, before] = &history[..] else { panic!("two versions") };
    let diff = desk.store.diff(before.clone(), now.clone(), DEFAULT_DIFF_CONTEXT).unwrap();
    assert!(diff.unified.contains("+- new") && (diff.added, diff.removed) == (1, 0), "{diff:?}");
    let exists = |_: &str, path: &str| std::path::Path::new(path).exists();
    let graph = Graph::open(&desk.store, AsOf::Latest, &exists).unwrap();
    for (to, from) in [(MEMORY, ".pi/memory/build.md"), (".pi/memory/build.md", MEMORY)] {
        let links = graph.backlinks(&desk.id(to), None).unwrap();
        let from_ids: Vec<&ObjectId> = links.iter().map(|link| &link.from).collect();
        assert_eq!(from_ids, [&desk.id(from)], "to {to}");
    }
}

#[test]
fn a_deleted_memory_file_ends_with_an_empty_version() {
    let desk = Desk::new();
    desk.repository.write(MEMORY, "- a\n");
    desk.repository.write(".pi/memory/t.md", "- t\n");
    let mut memory = desk.memory();
    memory.look();
    std::fs::remove_file(desk.repository.root().join(".pi/memory/t.md")).unwrap();
    memory.look();
    let history = desk.store.history(&desk.id(".pi/memory/t.md")).unwrap();
    assert_eq!(history.len(), 2);
    assert_eq!(history[0].fields["no_content"], "deleted");
    assert_eq!(desk.store.history(&desk.id(".pi/memory/never.md")).unwrap().len(), 0);
}

#[test]
fn verify_shows_the_diff_of_a_cited_file() {
    let desk = Desk::new();
    desk.repository.write("a.rs", "one\r\ntwo\r\n");
    desk.repository.write(".env", "KEY=1\n");
    desk.repository.write(MEMORY, "- A: `a.rs` and `.env`\n");
    desk.memory().look();
    desk.repository.write("a.rs", "one\nthree\n");
    desk.repository.write(".env", "KEY=2\n");
    let mut memory = desk.memory();
    assert_eq!(stale(&memory.look()), ["A"]);
    let report = memory.verify().remove(0);
    let seen: Vec<_> = report
        .cited
        .iter()
        .map(|cited| (&*cited.path, &cited.change, cited.diff.as_deref()))
        .collect();
    assert_eq!(
        seen,
        [
            ("a.rs", &CitedChange::Contradicted, Some("@@ -1,2 +1,2 @@\n one\n-two\n+three\n")),
            (".env", &CitedChange::Contradicted, None),
        ]
    );
    let env = desk.store.get(&desk.id(".env"), AsOf::Latest).unwrap();
    assert!(env.is_none(), "an excluded file is pinned by its hash alone");
    std::fs::remove_file(desk.repository.root().join("a.rs")).unwrap();
    let report = memory.verify().remove(0);
    assert_eq!(report.cited[1].diff.as_deref(), Some("@@ -1,2 +0,0 @@\n-one\n-two\n"));
}

#[test]
fn without_a_store_or_with_a_closed_one_memory_goes_on() {
    let desk = Desk::new();
    desk.repository.write("a.rs", "1\n");
    desk.repository.write(MEMORY, "- A: `a.rs`\n");
    desk.store.close().unwrap();
    let mut memory = desk.memory();
    let look = memory.look();
    assert_eq!(look.all_pages().count(), 1);
    assert_eq!(look.warnings[0].code, "NOT_STORED");
    desk.repository.write("a.rs", "2\n");
    assert_eq!(stale(&memory.look()), ["A"]);
}
