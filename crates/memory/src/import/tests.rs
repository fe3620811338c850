//! The tests of `import.rs`.

use std::fs;

use super::*;

/// Verdict, scope, file and text of each item.
fn seen(plan: &ImportPlan) -> Vec<(String, Scope, &str, &str)> {
    let verdict = |item: &ImportItem| match &item.verdict {
        Verdict::Take => "take".to_owned(),
        Verdict::Duplicate => "duplicate".to_owned(),
        Verdict::Refused { reason } => reason.clone(),
    };
    let items = plan.items.iter();
    items.map(|item| (verdict(item), item.scope, &*item.draft.file, &*item.draft.text)).collect()
}

fn here(index: &str) -> Here {
    Here { entries: parse(Scope::Project, INDEX_FILE, index), topics: BTreeMap::new() }
}

#[test]
fn a_memory_folder_becomes_entries_and_topic_files() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("MEMORY.md", "# Memory\n\n- [Build](build.md) — quirks\n- CI: green\n- ci — GREEN\n");
    write("build.md", "# Build\n\nlong\n");
    write("user_role.md", "---\nname: Role\ndescription: who the user is\n---\n\nA tester.\n");
    write("deploy.md", "token ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8\n");
    write("blob.md", "");
    fs::write(folder.path().join("blob.md"), [0xff, 0x00]).unwrap();
    let from = ImportFrom::Path(folder.path().to_owned());
    let plan = plan(&from, None, &ImportPlaces::default(), &here("- CI: green\n"));
    let project = Scope::Project;
    let take = || "take".to_owned();
    let secret = "the text looks like it holds a secret (github_token), which memory never keeps";
    let deploy = "token [redacted:github_token]\n";
    let role = "---\nname: Role\ndescription: who the user is\n---\n\nA tester.\n";
    assert_eq!(
        seen(&plan),
        [
            (take(), project, "MEMORY.md", "[Build](build.md) — quirks"),
            ("duplicate".to_owned(), project, "MEMORY.md", "CI: green"),
            ("duplicate".to_owned(), project, "MEMORY.md", "ci — GREEN"),
            (take(), project, "build.md", "# Build\n\nlong\n"),
            (
                "what it leads to, `deploy.md`, is not taken".to_owned(),
                project,
                "MEMORY.md",
                "[deploy](deploy.md)"
            ),
            (secret.to_owned(), project, "deploy.md", deploy),
            (take(), project, "MEMORY.md", "[Role](user_role.md) — who the user is"),
            (take(), project, "user_role.md", role),
        ]
    );
    assert_eq!(plan.findings[0].code, FindingCode::NotText);
    let name = folder.path().file_name().unwrap().to_string_lossy();
    assert_eq!(plan.items[0].draft.origin, Some(format!("{name}, MEMORY.md:3")));
    assert_eq!(plan.items[0].draft.heading, None);
}

#[test]
fn a_folders_notes_are_named_after_files_and_what_is_left_said() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    for sub in ["journal", "books", ".obsidian"] {
        fs::create_dir(folder.path().join(sub)).unwrap();
    }
    write("v1.9.0.md", "Released.\n\n## Shiny new things\n");
    write("Start here.md", "## I am new\n");
    let from = ImportFrom::Path(folder.path().to_owned());
    let plan = plan(&from, None, &ImportPlaces::default(), &here(""));
    let entries = plan.items.iter().filter(|item| is_entry(item));
    let entries: Vec<&str> = entries.map(|item| &*item.draft.text).collect();
    assert_eq!(entries, ["[Start here](<Start here.md>)", "[v1.9.0](v1.9.0.md)"]);
    assert_eq!(markdown::parse(entries[0]).links[0].target, "Start here.md");
    let [left] = &plan.findings[..] else { panic!("{:?}", plan.findings) };
    assert_eq!(left.code, FindingCode::LeftOut);
    assert_eq!(left.words, "the folders in it are not read: 2, such as `books`");
}

#[test]
fn notes_keep_their_headings_and_code() {
    let home = tempfile::tempdir().unwrap();
    let project = home.path().join("p");
    fs::create_dir_all(home.path().join(".claude")).unwrap();
    fs::create_dir_all(&project).unwrap();
    fs::write(home.path().join(".claude/CLAUDE.md"), "Be brief.\n").unwrap();
    let notes = "# P\n\n## Build\n\nRun this:\n\n```sh\nmake\n```\n\n- then wait\n";
    fs::write(project.join("CLAUDE.md"), notes).unwrap();
    fs::write(project.join("CLAUDE.local.md"), "- my port: 1\n").unwrap();
    let places = ImportPlaces {
        home: Some(home.path().to_owned()),
        project: Some(project),
        ..ImportPlaces::default()
    };
    let found = plan(&ImportFrom::Notes, None, &places, &here(""));
    let take = || "take".to_owned();
    assert_eq!(
        seen(&found),
        [
            (take(), Scope::Project, "MEMORY.md", "Run this:\n\n```sh\nmake\n```"),
            (take(), Scope::Project, "MEMORY.md", "then wait"),
            (take(), Scope::Local, "MEMORY.local.md", "my port: 1"),
            (take(), Scope::Global, "MEMORY.md", "Be brief."),
        ]
    );
    assert_eq!(found.items[1].draft.heading.as_deref(), Some("Build"));
    assert_eq!(found.items[1].draft.origin.as_deref(), Some("CLAUDE.md:11"));
    let untrusted = ImportPlaces { project: None, ..places };
    assert_eq!(seen(&plan(&ImportFrom::Notes, None, &untrusted, &here(""))).len(), 1);
}

#[test]
fn a_secret_is_refused_with_its_heading_and_not_shown() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("notes.md");
    let notes = "## Staging password\n\n- kW3nq8LtYx7\n\n## Key ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8\n\n- x: y\n";
    fs::write(&file, notes).unwrap();
    let plan = plan(&ImportFrom::Path(file), None, &ImportPlaces::default(), &here(""));
    assert_eq!(
        texts(&plan),
        [
            (Some("Staging password"), "[redacted:password_in_words]"),
            (Some("Key [redacted:github_token]"), "x: y")
        ]
    );
    assert!(plan.items.iter().all(|item| matches!(item.verdict, Verdict::Refused { .. })));
}

#[test]
fn what_another_scope_has_is_taken_where_it_is_wanted() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("notes.md");
    fs::write(&file, "- CI: green\n").unwrap();
    let with = |scope: Scope| {
        let from = ImportFrom::Path(file.clone());
        let plan = plan(&from, Some(scope), &ImportPlaces::default(), &here("- CI: green\n"));
        seen(&plan)[0].0.clone()
    };
    assert_eq!([with(Scope::Project), with(Scope::Global)], ["duplicate", "take"]);
}

#[test]
fn what_waits_or_has_another_text_here_is_not_taken() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.md"), "one\n").unwrap();
    let from = ImportFrom::Path(folder.path().to_owned());
    let with = |text: &str, scope: Scope| {
        let topics = BTreeMap::from([((Scope::Project, "a.md".to_owned()), text.to_owned())]);
        let here = Here { entries: Vec::new(), topics };
        let plan = plan(&from, Some(scope), &ImportPlaces::default(), &here);
        seen(&plan)[1].0.clone()
    };
    assert_eq!(with("one", Scope::Project), "duplicate");
    assert_eq!(with("two", Scope::Project), "another file of this name is there already");
    assert_eq!(with("two", Scope::Global), "take");
    assert!(with("", Scope::Local).starts_with("a topic file would be shared"));
}

fn texts(plan: &ImportPlan) -> Vec<(Option<&str>, &str)> {
    let items = plan.items.iter();
    items.map(|item| (item.draft.heading.as_deref(), &*item.draft.text)).collect()
}

#[test]
fn steps_stay_one_entry_with_the_words_before_them() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("notes.md");
    let notes = "# N\n\n## Release\n\n1. Run the tests\n2. Tag\n   and sign\n3. Push\n\n## Deploy\n\nIn this order:\n\n1) stop\n2) start\n\n- then wait\n\n## More\n\n@docs/more.md\n\n```sh\nmake\n```\n";
    fs::write(&file, notes).unwrap();
    let plan = plan(&ImportFrom::Path(file), None, &ImportPlaces::default(), &here(""));
    assert_eq!(
        texts(&plan),
        [
            (Some("Release"), "Release:\n1. Run the tests\n2. Tag\n   and sign\n3. Push"),
            (Some("Deploy"), "In this order:\n1) stop\n2) start"),
            (Some("Deploy"), "then wait"),
            (Some("More"), "@docs/more.md"),
            (Some("More"), "```sh\nmake\n```"),
        ]
    );
}

#[test]
fn a_list_is_imported_with_its_lead_in() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("notes.md");
    let long = format!("edit {}", "old ".repeat(120));
    let notes = format!(
        "## Git\n\nNever do any of these:\n\n- push to main\n\n## Database\n\nNever do any of these:\n\n- drop tables\n- rename\n  them\n- {long}\n\nSo it is.\n\n- Editor: vim\n"
    );
    fs::write(&file, notes).unwrap();
    let plan = plan(&ImportFrom::Path(file), None, &ImportPlaces::default(), &here(""));
    let long = format!("Never do any of these:\n- {}", long.trim());
    assert_eq!(
        texts(&plan),
        [
            (Some("Git"), "Never do any of these:\n- push to main"),
            (Some("Database"), "Never do any of these:\n- drop tables\n- rename\n  them"),
            (Some("Database"), &*long),
            (Some("Database"), "So it is."),
            (Some("Database"), "Editor: vim"),
        ]
    );
    assert!(plan.items.iter().all(|item| item.verdict == Verdict::Take));
}

#[test]
fn an_import_keeps_the_headings_above_an_entry() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("notes.md");
    let part = |name: &str| format!("## {name}\n\n### Build\n\n- Needs VPN: yes\n1. make\n\n");
    fs::write(&file, format!("# P\n\n{}{}", part("Front"), part("Back"))).unwrap();
    let from = ImportFrom::Path(file);
    let has = here("## Back\n### Build\n- needs VPN: yes\n\n## Build\n- Needs VPN: yes\n");
    let plan = plan(&from, None, &ImportPlaces::default(), &has);
    assert_eq!(
        texts(&plan),
        [
            (Some("Front › Build"), "Needs VPN: yes"),
            (Some("Front › Build"), "Build:\n1. make"),
            (Some("Back › Build"), "Needs VPN: yes"),
            (Some("Back › Build"), "Build:\n1. make"),
        ]
    );
    let taken = plan.items.iter().map(|item| item.verdict == Verdict::Take);
    assert_eq!(taken.collect::<Vec<_>>(), [true, true, false, true]);
}

#[test]
fn rules_of_cursor_and_of_agents_are_imported_as_rules() {
    let folder = tempfile::tempdir().unwrap();
    let rules = folder.path().join(".cursor/rules");
    fs::create_dir_all(&rules).unwrap();
    let api = "---\ndescription: The API\nglobs: src/api/**/*.ts\nalwaysApply: false\n---\n\n- Validate input\n- Return 404\n";
    fs::write(rules.join("api.mdc"), api).unwrap();
    fs::write(rules.join("style.mdc"), "Use tabs.\n").unwrap();
    let agents = folder.path().join("AGENTS.md");
    fs::write(&agents, "# Agents\n\nAsk first.\n\n## Tests\n\n- Run all\n").unwrap();
    let of = |path: &Path| {
        let from = ImportFrom::Path(path.to_owned());
        plan(&from, None, &ImportPlaces::default(), &here(""))
    };
    assert_eq!(
        texts(&of(&rules)),
        [
            (Some("Rules: The API (src/api/**/*.ts)"), "Validate input"),
            (Some("Rules: The API (src/api/**/*.ts)"), "Return 404"),
            (Some("Rules: style"), "Use tabs."),
        ]
    );
    assert_eq!(texts(&of(&agents)), [(Some("Rules"), "Ask first."), (Some("Tests"), "Run all")]);
    fs::create_dir(rules.join("web")).unwrap();
    fs::create_dir(rules.join(".git")).unwrap();
    let [left] = &of(&rules).findings[..] else { panic!("a folder is left out unsaid") };
    assert_eq!(left.words, "the folders in it are not read: 1, such as `web`");
}
