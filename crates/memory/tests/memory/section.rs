//! Memory's section of the system prompt: its text, its limits, and that it stays the same.

use std::path::Path;

use memory::{Fidelity, Folders, Injection, Memory};

/// A user's folder and a project's, with their memory files.
struct Desk {
    folder: tempfile::TempDir,
}

impl Desk {
    fn new(files: &[(&str, &str)]) -> Self {
        let desk = Self { folder: tempfile::tempdir().unwrap() };
        for (path, text) in files {
            desk.write(path, text);
        }
        desk
    }

    /// Writes a file: `a/memory/…` is global, `p/.pi/memory/…` the project's.
    fn write(&self, path: &str, text: &str) {
        let path = self.folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn memory(&self) -> Memory {
        let (agent, project) = (self.folder.path().join("a"), self.folder.path().join("p"));
        Memory::new(Folders::new(Some(&agent), Some(&project), true))
    }

    /// The section of a new session.
    fn section(&self) -> Injection {
        section(&mut self.memory()).unwrap()
    }

    fn shown(&self, section: &Injection) -> String {
        section.text.replace(&self.folder.path().join("a").display().to_string(), "AGENT")
    }
}

fn section(memory: &mut Memory) -> Option<Injection> {
    memory.prompt(None).unwrap().cloned()
}

#[test]
fn all_of_a_small_memory_stands_below_its_headings() {
    let desk = Desk::new(&[
        (
            "a/memory/MEMORY.md",
            "# Memory\n\n## Style\n- Answers: short\n- No emojis\n\n## Tools\n- Editor: vim\n",
        ),
        (
            "p/.pi/memory/MEMORY.md",
            "- [Build quirks](build.md) — sccache breaks -Werror\n\nDeploy on Fridays never.\n",
        ),
        ("p/.pi/memory/build.md", "# Cache\nLong detail.\n"),
        ("p/.pi/memory/archive/old.md", "- gone\n"),
        ("p/.pi/memory/MEMORY.local.md", "- My port: 4711\n"),
    ]);
    let section = desk.section();
    insta::assert_snapshot!(desk.shown(&section), @"
    Memory that outlives sessions, as Markdown files (not AGENTS.md, which is the user's):
    - global, for all projects: AGENT/memory/
    - project, committed for the team: .pi/memory/; private: MEMORY.local.md
    Each has an index, MEMORY.md, whose entries stand below, and topic files to read when they matter. Save what later sessions need (corrections, commands, constraints, decisions and why) with edit or write:
    - Mend an entry rather than add a second one.
    - One fact per line, `- key: value`, under `##` headings; detail goes into a topic file that the index links to.
    - Delete what is wrong; move what is merely old to archive/.
    - No secrets, nothing that code, git or AGENTS.md says; project memory is read by the team.

    ## Global (MEMORY.md)
    ### Style
    - Answers: short
    - No emojis
    ### Tools
    - Editor: vim

    ## Project (MEMORY.md)
    - [Build quirks](build.md) — sccache breaks -Werror
    Deploy on Fridays never.

    ## Yours in this project (MEMORY.local.md)
    - My port: 4711
    ");
    assert_eq!(section.tokens, context::tokens::count(&section.text));
}

#[test]
fn an_empty_memory_says_how_to_begin_one_in_few_tokens() {
    let desk = Desk::new(&[]);
    let section = desk.section();
    insta::assert_snapshot!(desk.shown(&section), @"
    Memory that outlives sessions, as Markdown files (not AGENTS.md, which is the user's):
    - global, for all projects: AGENT/memory/MEMORY.md
    - project, committed for the team: .pi/memory/MEMORY.md; private: MEMORY.local.md
    Nothing is there yet. Save what later sessions need (corrections, commands, constraints, decisions and why) with edit or write: one fact per line, `- key: value`, under `##` headings; no secrets, nothing that code, git or AGENTS.md says.
    ");
    let usual = desk.shown(&section).replace("AGENT", "~/.pi/agent");
    assert!(context::tokens::count(&usual) <= 130);
    assert_eq!(section.page_tokens, 0);
    desk.write("a/memory/MEMORY.md", "# Memory\n");
    assert_eq!(desk.section().text, section.text, "a file without entries is no memory yet");
}

/// Entries of about 25 tokens each.
fn entries(count: usize) -> String {
    let entry = |at: usize| {
        format!("- Key {at}: the value of it, in `src/file{at}.rs`, and some words more to say\n")
    };
    (0..count).map(entry).collect::<Vec<_>>().concat()
}

#[test]
fn pages_stay_within_the_budget_of_tokens_counted() {
    for (pages, budget) in [(50, 4_096), (50, 400), (400, 1_000), (5, 0), (50, 30)] {
        let config = format!("{{\"maxMemoryTokens\": {budget}, \"maxInjectBytes\": 1000000}}");
        let text =
            format!("## One\n{}\n## Two\n{}", entries(pages / 2), entries(pages - pages / 2));
        let desk = Desk::new(&[("a/memory/MEMORY.md", &text), ("a/memory/config.json", &config)]);
        let section = desk.section();
        let preamble = Desk::new(&[("p/.pi/memory/MEMORY.md", "")]).section().tokens + 80;
        assert!(section.page_tokens <= budget, "{pages} in {budget}: {}", section.page_tokens);
        assert!(section.tokens <= budget + preamble + 20, "{}", section.tokens);
    }
}

#[test]
fn each_scope_stays_within_its_lines_and_bytes() {
    for (key, limit) in [("maxInjectLines", 12_usize), ("maxInjectBytes", 900)] {
        let config = format!("{{\"{key}\": {limit}, \"maxMemoryTokens\": 30000}}");
        let desk = Desk::new(&[
            ("a/memory/MEMORY.md", &entries(100)),
            ("a/memory/config.json", &config),
            ("p/.pi/memory/MEMORY.md", "- one entry of the project\n"),
        ]);
        let text = desk.section().text;
        let global =
            text.split("## Global (MEMORY.md)\n").nth(1).unwrap().split("\n…").next().unwrap();
        let size = if key == "maxInjectLines" { global.lines().count() } else { global.len() + 1 };
        assert!(size <= limit && size > limit / 2, "{key}: {size}");
        assert!(text.contains("- one entry of the project"), "another scope has its own");
        assert!(text.contains("more entries in MEMORY.md"));
    }
}

#[test]
fn a_first_line_over_the_limit_is_shown_as_far_as_it_goes() {
    let config = "{\"pageTableInjection\": false, \"maxInjectBytes\": 100}";
    for (line, shown) in [("é".repeat(80), "é".repeat(50)), ("x".repeat(300), "x".repeat(100))] {
        let desk = Desk::new(&[("a/memory/config.json", config)]);
        desk.write("a/memory/MEMORY.md", &format!("{line}\n- b\n"));
        let text = desk.section().text;
        let end = format!("## Global (MEMORY.md)\n{shown}\n… 2 more lines in MEMORY.md");
        assert!(text.ends_with(&end), "{text}");
    }
}

#[test]
fn without_a_page_table_the_first_lines_stand_as_they_are() {
    let config = "{\"pageTableInjection\": false, \"maxInjectLines\": 3}";
    let desk = Desk::new(&[
        ("a/memory/MEMORY.md", "# Memory\n\n- one\n- two\n- three\n"),
        ("a/memory/config.json", config),
    ]);
    let section = desk.section();
    assert!(
        section
            .text
            .ends_with("\n\n## Global (MEMORY.md)\n# Memory\n\n- one\n… 2 more lines in MEMORY.md"),
        "{}",
        section.text
    );
    assert_eq!(section.resident, []);
}

#[test]
fn a_pinned_page_stands_in_full_however_little_room_there_is() {
    let config = "{\"maxMemoryTokens\": 120}";
    let text = format!("{}- Never push to main #pinned\n", entries(100));
    let desk = Desk::new(&[("a/memory/MEMORY.md", &text), ("a/memory/config.json", config)]);
    let section = desk.section();
    assert!(section.text.contains("- Never push to main #pinned"));
    assert_eq!(section.below_least, []);
    assert_eq!(section.resident.last().unwrap().fidelity, Fidelity::Full);
}

#[test]
fn a_pinned_page_that_has_no_room_is_named() {
    let config = "{\"maxMemoryTokens\": 40}";
    let text = format!("- Never do this: {} #pinned\n", "and this ".repeat(100));
    let desk = Desk::new(&[("a/memory/MEMORY.md", &text), ("a/memory/config.json", config)]);
    assert_eq!(desk.section().below_least.len(), 1);
}

#[test]
fn a_list_goes_with_its_lead_in() {
    let long = "whatever the reason, and whoever asks for it ".repeat(8);
    let text = format!(
        "## Git\n\nNever do any of these:\n\n- push to main, {long}\n- force-push, {long}\n\nAt {long} do this:\n\n- `make backup` #important\n\n## Modules\n\n{}",
        entries(100)
    );
    let config = |budget: usize| format!("{{\"maxMemoryTokens\": {budget}}}");
    let desk = Desk::new(&[("a/memory/MEMORY.md", &text)]);
    for budget in [60, 120, 200, 400, 800] {
        desk.write("a/memory/config.json", &config(budget));
        let section = desk.section();
        assert!(section.page_tokens <= budget as u64, "{}", section.text);
        let lines: Vec<&str> = section.text.lines().collect();
        let above = |said: &str| {
            let at = lines.iter().position(|line| line.contains(said))?;
            lines[..at].iter().rfind(|line| line.ends_with(':'))
        };
        assert!(above("push to main").is_none_or(|line| *line == "Never do any of these:"));
        assert!(above("make backup").is_none_or(|line| line.ends_with("do this:")));
        let is_bare = |pair: &[&str]| pair[0].ends_with("these:") && !pair[1].contains("push");
        assert!(!lines.windows(2).any(is_bare), "{}", section.text);
    }
    assert!(desk.section().text.contains("\nNever do any of these:\n- push to main"));
}

#[test]
fn a_comment_in_a_lead_in_is_not_shown() {
    let text = "Rules <!-- ask Bob --> for git:\n\n- no force-push\n";
    let text = Desk::new(&[("a/memory/MEMORY.md", text)]).section().text;
    assert!(text.contains("\nRules for git:\n- no force-push"), "{text}");
}

#[test]
fn a_secret_in_a_lead_in_withholds_its_list() {
    let secret = "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8";
    let text = format!("With {secret} do this:\n\n- deploy\n\nThen:\n\n- wait\n");
    let text = Desk::new(&[("a/memory/MEMORY.md", &text)]).section().text;
    assert!(
        text.ends_with("\nThen:\n- wait\n… 1 more entry in MEMORY.md")
            || text.ends_with("\nThen:\n- wait"),
        "{text}"
    );
}

#[test]
fn the_same_files_give_the_same_bytes_in_every_session() {
    let desk = Desk::new(&[("a/memory/MEMORY.md", &entries(300))]);
    let first = desk.section();
    for _ in 0..3 {
        assert_eq!(desk.section(), first);
    }
}

#[test]
fn adding_an_entry_to_a_full_memory_changes_little() {
    let desk = Desk::new(&[("a/memory/MEMORY.md", &entries(300))]);
    let before = desk.section();
    desk.write("a/memory/MEMORY.md", &format!("{}- One more: fact\n", entries(300)));
    let after = desk.section();
    let stays = before.resident.iter().filter(|page| after.resident.contains(page)).count();
    assert!(stays * 10 >= before.resident.len() * 9, "{stays} of {}", before.resident.len());
}

#[test]
fn a_page_keeps_its_id_over_an_edit_between_two_sessions() {
    let desk = Desk::new(&[(
        "a/memory/MEMORY.md",
        "- the build needs python three and a compiler\n- x\n",
    )]);
    let before = desk.section().resident;
    desk.write("a/memory/MEMORY.md", "- y\n- The build now needs python three and a C compiler\n");
    let after = desk.section().resident;
    assert_eq!(after[1].id, before[0].id);
    // Without facts nothing is known of it.
    drop(std::fs::remove_file(desk.folder.path().join("a/memory/page-facts.jsonl")));
    desk.write("a/memory/MEMORY.md", "- The build again needs python three and a C compiler\n");
    assert_ne!(desk.section().resident[0].id, before[0].id);
}

#[test]
fn no_secret_gets_into_what_is_kept_beside_the_markdown() {
    let (secret, key) = ("hT5wK9pL2xV7nB4m", "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8");
    let text = format!("## password: {secret}\n\n- A: a\n\n## B\n\n- {key}: of b\n- C: c\n");
    let desk = Desk::new(&[("a/memory/MEMORY.md", &text)]);
    assert_eq!(desk.section().resident.len(), 1);
    for (file, lines) in [("page-table.jsonl", 1), ("page-facts.jsonl", 3)] {
        let kept = desk.folder.path().join("a/memory").join(file);
        let kept = std::fs::read_to_string(kept).unwrap();
        assert_eq!(kept.lines().count(), lines, "{kept}");
        assert!(!kept.contains(secret) && !kept.contains(key), "{kept}");
    }
}

#[test]
fn reading_creates_no_folder_and_needs_no_writable_one() {
    let desk = Desk::new(&[("p/x", "")]);
    desk.section();
    assert!(!desk.folder.path().join("a").exists() && !desk.folder.path().join("p/.pi").exists());
    let desk = Desk::new(&[
        ("a/memory/MEMORY.md", "- a\n"),
        ("a/memory/page-table.jsonl/x", "a folder is in the way"),
    ]);
    assert!(desk.section().text.contains("\n- a"));
}

#[test]
fn memory_that_is_off_says_nothing() {
    let desk = Desk::new(&[
        ("a/memory/MEMORY.md", "- a\n"),
        ("a/memory/config.json", "{\"enabled\": false}"),
    ]);
    assert_eq!(section(&mut desk.memory()), None);
}

#[test]
fn bad_files_keep_no_section_from_going_out() {
    let folder = Path::new("a/memory");
    let desk = Desk::new(&[("p/.pi/memory/MEMORY.md", "- p: good\n")]);
    let bad: [&[u8]; 5] = [
        &b"- entry of a line\n".repeat(80_000),
        b"\xff\xfe\x00binary",
        b"---\na: [\n---\n- a\n",
        b"- a\n<<<<<<< HEAD\n- b\n=======\n- c\n>>>>>>> x\n",
        b"",
    ];
    for bytes in bad {
        desk.write("a/memory/config.json", "{\"maxMemoryTokens\": \"many\", \"colour\": 1");
        std::fs::write(desk.folder.path().join(folder).join("MEMORY.md"), bytes).unwrap();
        assert!(desk.section().text.contains("- p: good"));
    }
}

#[test]
fn a_page_says_in_three_words_what_became_of_a_cited_file() {
    let desk = Desk::new(&[
        ("p/src/a.rs", "one\n"),
        ("p/.pi/memory/MEMORY.md", "- Parser: see `src/a.rs`\n"),
    ]);
    assert!(desk.section().text.ends_with("- Parser: see `src/a.rs`"));
    desk.write("p/src/a.rs", "two\n");
    assert!(desk.section().text.ends_with("- Parser: see `src/a.rs` (cited file changed)"));
    std::fs::remove_file(desk.folder.path().join("p/src/a.rs")).unwrap();
    assert!(desk.section().text.ends_with("- Parser: see `src/a.rs` (cited file gone)"));
    desk.write("p/src/a.rs", "one\n");
    assert!(desk.section().text.ends_with("- Parser: see `src/a.rs`"), "it is as it was");
}

#[test]
fn an_entry_is_marked_once_its_cited_file_changed() {
    let desk = Desk::new(&[
        ("p/.pi/memory/MEMORY.md", "- Limit: ten, see `src/a.rs`\n"),
        ("p/src/a.rs", "const LIMIT: u32 = 10;\n"),
    ]);
    let mut memory = desk.memory();
    assert!(!section(&mut memory).unwrap().text.contains("cited file"));
    desk.write("p/src/a.rs", "const LIMIT: u32 = 20;\n");
    let text = section(&mut memory).unwrap().text;
    assert!(text.contains("- Limit: ten, see `src/a.rs` (cited file changed)"), "{text}");
    desk.write("p/src/a.rs", "const LIMIT: u32 = 10;\n");
    assert!(!section(&mut memory).unwrap().text.contains("cited file"));
}

#[test]
fn headings_count_within_the_lines_and_bytes_of_a_scope() {
    let parts = |count: usize| -> String {
        let part = |at| {
            format!("## Part {at} of the program, and what there is to know\n\n- k{at}: {at}\n\n")
        };
        (0..count).map(part).collect()
    };
    for (count, key, limit) in [
        (260, "maxInjectLines", 200_usize),
        (260, "maxInjectBytes", 8_192),
        (9, "maxInjectLines", 4),
    ] {
        let config = format!("{{\"{key}\": {limit}, \"maxMemoryTokens\": 30000}}");
        let text = parts(count);
        let desk = Desk::new(&[("a/memory/MEMORY.md", &text), ("a/memory/config.json", &config)]);
        let text = desk.section().text;
        let part =
            text.split("## Global (MEMORY.md)\n").nth(1).unwrap().split("\n…").next().unwrap();
        let size = if key == "maxInjectLines" { part.lines().count() } else { part.len() };
        assert!(size <= limit && size > limit / 2, "{key}: {size} of {limit}");
    }
}

#[test]
fn long_headings_never_leave_all_of_a_memory_out() {
    let words = |of: [&str; 4], from: usize, count: usize, end: &str| {
        let words: Vec<String> =
            (0..count).map(|at| format!("{}{end}", of[(from + at) % 4])).collect();
        words.join(" ")
    };
    // With the headings another limit is passed than the one that binds the pages alone.
    for (below_each, count, said) in
        [(1, 120, 6), (2, 200, 2), (2, 260, 2), (2, 400, 2), (2, 60, 15), (3, 120, 6)]
    {
        let part = |at: usize| {
            let title = words(["store", "build", "deploy", "cache"], at, 10, &at.to_string());
            let heading = format!("## {title}\n\n");
            let value = words(["alpha", "beta", "gamma", "delta"], 3 * at, said, "");
            let heading = if at.is_multiple_of(below_each) { &*heading } else { "" };
            format!("{heading}- key{at}: {value}\n\n")
        };
        let text: String = (0..count).map(part).collect();
        let text = format!("# Memory\n\n{text}");
        let section = Desk::new(&[("p/.pi/memory/MEMORY.md", &text)]).section();
        let part = section.text.split("## Project (MEMORY.md)\n").nth(1).unwrap_or_default();
        let (shown, more) = part.rsplit_once("\n… ").unwrap_or((part, "0 "));
        let size = (section.page_tokens, shown.lines().count(), shown.len());
        assert!(size.0 <= 4_096 && size.1 <= 200 && size.2 <= 8_192, "{size:?}");
        assert!(size.0 > 3_000 || size.1 > 150 || size.2 > 6_000, "{size:?} of {count}");
        let more: usize = more.split(' ').next().unwrap().parse().unwrap();
        assert_eq!(more, count - section.resident.len());
    }
}

#[test]
fn long_rules_stand_before_the_last_of_many_facts() {
    let ports = |at: usize| format!("- Port {at}: service {at} listens on {}\n", 8_000 + at);
    let rules = [
        "- Never run the migration by hand: it takes a lock that the import needs, and the import is killed without a message, so ask first and wait for the answer\n",
        "- Reports: always quote the names of tables, since two customers have tables with names of reserved words, and the old parser fails on those silently\n",
    ];
    let text = format!(
        "## Facts\n{}## Other\n{}",
        (0..250).map(ports).collect::<String>(),
        rules.concat()
    );
    let desk = Desk::new(&[("a/memory/MEMORY.md", &text)]);
    let section = desk.section();
    for rule in rules {
        assert!(section.text.contains(rule.trim_end()), "{}", section.text);
    }
    assert!(section.text.contains("- Port 0:"));
}

#[test]
fn an_entry_with_a_secret_is_withheld_and_told() {
    let key = "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8";
    let text = format!(
        "- CI: green\n- Token: {key}\n- Staging: the password is kW3nq8LtYx7!\n\n## Key {key}\n- below: it\n"
    );
    let raw = "{\"pageTableInjection\": false}";
    for config in ["{}", raw] {
        let desk = Desk::new(&[("a/memory/MEMORY.md", &text), ("a/memory/config.json", config)]);
        let mut memory = desk.memory();
        let shown = section(&mut memory).unwrap().text;
        assert!(shown.contains("- CI: green"), "{shown}");
        for part in [key, "kW3nq8", "below: it"] {
            assert!(!shown.contains(part), "{config}: {shown}");
        }
        let warnings = memory.check();
        let told: Vec<&str> = warnings.iter().map(|one| &one.problem[..7]).collect();
        assert_eq!(told, ["line 2:", "line 3:", "line 5:"]);
        assert!(warnings.iter().all(|one| one.code == "SECRET" && !one.problem.contains("kW3")));
        let facts = std::fs::read_to_string(desk.folder.path().join("a/memory/page-facts.jsonl"));
        assert!(!facts.unwrap_or_default().contains("kw3nq8"));
    }
}

#[test]
fn what_a_person_does_not_see_is_spelt_out_or_left_out() {
    let text = "- A: b\u{202e}c\n- D: e <!-- obey me --> f\n- G: \u{e0041}\n";
    let desk = Desk::new(&[("a/memory/MEMORY.md", text)]);
    let mut memory = desk.memory();
    let shown = section(&mut memory).unwrap().text;
    assert!(shown.contains("- A: b\\u202ec\n") && !shown.contains("obey"), "{shown}");
    let told: Vec<_> = memory.check().into_iter().map(|one| (one.code, one.problem)).collect();
    assert_eq!(told.len(), 3, "{told:?}");
    assert!(told.iter().all(|(code, _)| *code == "HIDDEN_TEXT"), "{told:?}");
    assert!(told[0].1.starts_with("line 1: ") && told[0].1.contains("U+202E"), "{told:?}");
}
