//! The documents against the code: the table of settings and the lines that the model sees.

use base::object::{Handle, ObjectId, TxId};
use config::{MEMORY_SETTINGS, MemorySettings, SETTINGS, SettingDoc, Settings};
use context::forms;
use serde_json::{Value, json};
use session::{LineRange, OutputClass, RequestKey, ResultFact, Shows};

const SETTINGS_PAGE: &str = include_str!("../../docs/settings.md");
const LINES_PAGE: &str = include_str!("../../docs/what-the-model-sees.md");

fn row(doc: &SettingDoc, defaults: &Value) -> String {
    let SettingDoc { key, kind, description, project } = doc;
    let default = &defaults[*key];
    let place = if *project { "" } else { ". Not in project files" };
    format!("| `{key}` | `{default}` | {} | {description}{place} |", kind.expectation())
}

/// A row without the spaces that align its columns.
fn plain(row: &str) -> String {
    row.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The rows of the table of settings behind a heading of the page.
fn rows_behind(heading: &str) -> Vec<String> {
    let titles = "| setting | default | must be | what it does |";
    let section = SETTINGS_PAGE.lines().skip_while(|line| *line != heading);
    let table = section.skip_while(|line| plain(line) != titles).skip(2);
    table.take_while(|line| line.starts_with('|')).map(plain).collect()
}

#[test]
fn the_settings_tables_are_those_of_the_code() {
    let (settings, memory) = (json!(Settings::default()), json!(MemorySettings::default()));
    for (heading, table, defaults) in
        [("# Settings", SETTINGS, settings), ("## Memory", MEMORY_SETTINGS, memory)]
    {
        let expected: Vec<String> = table.iter().map(|doc| row(doc, &defaults)).collect();
        let found = rows_behind(heading);
        assert!(
            found == expected,
            "below `{heading}` the rows should be:\n{}",
            expected.join("\n")
        );
    }
}

#[test]
fn the_lines_shown_to_the_model_are_those_of_the_code() {
    let handle = |text| Handle::parse(text).unwrap();
    let range = |first, last| LineRange { first, last };
    let (f3, t12, t17) = (handle("f3"), handle("t12"), handle("t17"));
    let tests = ResultFact {
        object: Some(ObjectId::new("call")),
        tool: "bash".into(),
        request: RequestKey::of("request"),
        ok: true,
        exit: Some(0),
        lines: 412,
        ends_line: false,
        last: "test result: ok. 96 passed".into(),
        cut: None,
        is_output: true,
        kept_tokens: None,
        images: 0,
        argument_tokens: 0,
        class: OutputClass::Other,
        foreign: false,
        within: None,
        shows: Shows::Own,
        hides_failure: false,
    };
    let pasted = ResultFact { exit: None, last: "</file>".into(), ..tests.clone() };
    let deeds = ["read f3 src/main.rs f9 src/lib.rs", "edit f3:40-62 (+12 -4)", "cargo test ok"];
    let deeds = deeds.map(str::to_owned);
    for line in [
        forms::output_line(t17, &tests),
        forms::named_output_line(handle("t1"), &pasted, Some("@a.md @b.md")),
        forms::showing_line(Some(t12), f3, "src/main.rs", &[range(1, 210)]),
        forms::standing_line(f3, range(1, 210), "read", Some(t12)),
        forms::between_line(t17, range(81, 1_320), None),
        forms::between_line(t17, range(81, 1_320), Some(1_400)),
        forms::as_in_line(t12, range(40, 70), None, Some("running 31 tests")),
        forms::as_in_line(f3, range(40, 70), Some(t12), Some("fn main() {")),
        forms::run_line(handle("t31"), handle("t44"), 6),
        format!(
            "[f3] src/b.rs{} · lines 1-40 of 412",
            forms::overwritten(handle("f5"), f3, Some(TxId(12)))
        ),
        forms::changed_line(f3, "src/main.rs", Some(t12), false, (4, 1)) + ":",
        forms::changed_line(f3, "src/main.rs", Some(t12), true, (4, 1)) + ":",
        forms::changed_line(f3, "server.log", Some(t12), false, (30, 0)) + forms::KEEPS_CHANGING,
        forms::all_changed_line(
            &[(f3, "src/main.rs".into()), (handle("f9"), "src/lib.rs".into())],
            12,
        ),
        forms::bytes_changed_line(f3, "shot.png", Some(t12), 18_240),
        forms::bytes_gone_line(f3, "shot.png"),
        forms::bytes_back_line(f3, "shot.png", 18_240),
        forms::again_line((handle("f9"), "src/a.rs"), (f3, "src/b.rs")),
        forms::links_line((f3, "notes.md"), &[(handle("f4"), "a.md"), (handle("f5"), "b.md")]),
        forms::nearest_line(f3, "src/main.rs", range(35, 49), "oldText"),
        forms::places_line(f3, "src/main.rs", "edits[1].oldText", &[range(9, 9), range(40, 40)], 2),
        forms::activated_line(t17, "bash", &[range(1, 40)], 412),
        forms::activated_line(
            handle("f7"),
            &format!("/x/notes.md{}", forms::from_elsewhere("01a21236-a140")),
            &[range(1, 3)],
            3,
        ),
        forms::fold_line((handle("t31"), handle("t44")), handle("s2"), 6, &deeds),
        forms::compacted_line(handle("s3"), (1, 4), 212),
        forms::activated_line(handle("s4"), &forms::turns_phrase((3, 3)), &[range(1, 8)], 8),
        forms::speaker_line("user", Some(3)),
        forms::call_line(Some(handle("t31")), "bash"),
        forms::outline_line(handle("s3"), (1, 4), 9_412),
        forms::outline_part(range(1, 312), "turn 1", "Please rename the config."),
        forms::segment_line(handle("s3"), (1, 4), &[range(1, 312)]),
    ] {
        let is_there = LINES_PAGE.lines().any(|found| found.trim() == line);
        assert!(is_there, "docs/what-the-model-sees.md lacks `{line}`");
    }
}
