//! What the model asks memory by itself, and what it may change by that.

use memory::{Doubt, Memory};

use crate::repository::{
    Repository, id, look_after_write, memory_in, next_day, page, run, stale, write,
};

const MEMORY: &str = ".pi/memory/MEMORY.md";
const SECRET: &str = "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8";

/// Memory whose section a session has.
fn prompted(mut memory: Memory) -> Memory {
    memory.prompt(None).unwrap();
    memory
}

#[test]
fn the_model_finds_what_its_prompt_lacks() {
    let repository = Repository::new();
    let many = (0..400).map(|at| format!("- It is of no use to anybody{}\n", "!".repeat(at % 3)));
    let many = many.collect::<Vec<_>>().concat();
    repository.write(MEMORY, format!("{many}- Deploying: `make ship` on \u{1b}[31mFridays\n"));
    repository.write(".pi/memory/archive/old.md", "# Old\n\nDeploying took two days in 2019.\n");
    repository.write(".pi/memory/secret.md", format!("# Key\n\nDeploying needs {SECRET}\n"));
    let mut memory = prompted(repository.memory());
    let look = memory.look();
    let answer = memory.asked("deploying").unwrap();
    let id = id(&look, "Deploying");
    let entry = format!(".pi/memory/MEMORY.md:401 {id}\n- Deploying: `make ship` on ");
    assert!(answer.starts_with(&entry), "{answer}");
    assert!(answer.contains("archive/old.md:3 ") && answer.contains(" (archived)\n"), "{answer}");
    assert!(!answer.contains('\u{1b}') && !answer.contains("ghp_"), "{answer}");
    assert_eq!(memory.asked("kubernetes").unwrap(), "Memory holds nothing of that.");
    assert_eq!(memory.asked("").unwrap(), "Memory needs words to look for.");
    let weak = memory.asked("who is of use for the rockets of Neptune").unwrap();
    assert!(weak.starts_with("Memory hardly answers that; the nearest:\n"), "{weak}");
    assert_eq!(weak.matches("\n- ").count(), 1, "what says the same stands once: {weak}");
}

#[test]
fn an_item_is_told_with_what_announces_its_list() {
    let repository = Repository::new();
    let text = "## Git\n\nNever, whatever the reason:\n\n- push to main\n- force-push\n";
    repository.write(MEMORY, text);
    let mut memory = prompted(repository.memory());
    let answer = memory.asked("may I push to main").unwrap();
    assert!(answer.contains("\nNever, whatever the reason:\n- push to main"), "{answer}");
    let found = memory.recall("push to main", &memory::RecallOptions::default(), None);
    let lines: Vec<_> = found.hits[0].lines.iter().map(|line| (line.line, &*line.text)).collect();
    assert_eq!(lines, [(3, "Never, whatever the reason:"), (5, "- push to main")]);
}

#[test]
fn an_answer_says_why_it_shows_nothing() {
    let repository = Repository::new();
    let secret = format!("- Grafana: open with {SECRET}\n- Kibana: on port 5601\n");
    repository.write(MEMORY, &secret);
    let answer = |question: &str| prompted(repository.memory()).asked(question).unwrap();
    let withheld = "Withheld, since they look like they hold a secret: 1";
    assert_eq!(answer("open"), format!("Memory may not show what it holds of that.\n{withheld}"));
    let port = answer("open port");
    assert!(port.contains("5601") && port.ends_with(withheld), "{port}");
    repository.write(".pi/memory/ops.md", b"# Ops\n\nDeploy: caf\xe9\n");
    let unread = answer("caf");
    assert!(
        unread.starts_with("Memory could not be searched for that.\nNot searched: ")
            && unread.contains("ops.md"),
        "{unread}"
    );
}

#[test]
fn memory_that_a_session_does_not_show_is_not_asked() {
    let repository = Repository::new();
    repository.write(MEMORY, "- Deploying: `make ship`\n");
    let refused = repository.memory().asked("deploying").unwrap_err();
    assert_eq!(refused.code(), "INVALID_ARGUMENT");
}

#[test]
fn a_check_by_the_model_takes_the_mark_and_nothing_else() {
    let repository = Repository::new();
    repository.write("a.rs", "const LIMIT: u32 = 10;\n");
    repository.write(MEMORY, "- Limit: ten calls at most, see `a.rs::LIMIT`\n- Other: x\n");
    look_after_write(&mut repository.memory());
    repository.write("a.rs", "const LIMIT: u32 = 20;\n");
    repository.commit();
    // Whoever clones it did not write the entry.
    let clone = repository.cloned("clone");
    let memory = || prompted(memory_in(&clone, &repository.agent()).with_clock(next_day));
    let mut session = memory();
    let look = session.look();
    assert_eq!(stale(&look), ["Limit"]);
    let limit = id(&look, "Limit");
    let before = session.fact(&limit).unwrap().clone();
    let answer = session.asked(&format!("confirm {limit}")).unwrap();
    let expected =
        "MEMORY.md:1 is taken to hold with a.rs:1 as now; the user sees that you checked it.";
    assert_eq!(answer, expected);
    for mut memory in [session, memory()] {
        assert_eq!(stale(&memory.look()), [""; 0]);
        let fact = memory.fact(&limit).unwrap();
        assert_eq!((&fact.confirmed, fact.seen), (&before.confirmed, before.seen));
        let found = memory.stale();
        assert_eq!(found[0].doubts, [Doubt::CheckedByModel { day: "2030-01-11".to_owned() }]);
    }
    assert_eq!(run(&clone, &["status", "--porcelain"]), "", "git has nothing of it");
    // It holds as far as it was checked.
    write(&clone.join("a.rs"), "const LIMIT: u32 = 30;\n");
    assert_eq!(stale(&memory().look()), ["Limit"]);
    let mut person = memory();
    person.confirm(limit.as_str()).unwrap();
    assert_eq!(person.stale(), []);
    assert_eq!(stale(&memory().look()), [""; 0]);
}

#[test]
fn a_check_of_what_has_no_mark_or_is_not_there_changes_nothing() {
    let repository = Repository::new();
    repository.write("a.rs", "1\n");
    repository.write(MEMORY, "- Limit: see `a.rs`\n");
    let mut memory = prompted(repository.memory());
    let look = look_after_write(&mut memory);
    let facts = repository.text(".pi/memory/page-facts.jsonl");
    let limit = page(&look, "Limit").id.clone();
    assert_eq!(memory.asked(&format!("confirm {limit}")).unwrap(), "MEMORY.md:1 has no mark.");
    assert_eq!(memory.asked("confirm 00000000").unwrap_err().code(), "NO_PAGE");
    assert_eq!(repository.text(".pi/memory/page-facts.jsonl"), facts);
}
