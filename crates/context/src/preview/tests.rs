//! Tests of previews; what they sum up to is in `sums`, and outputs to show in `runs`.

mod runs;
mod sums;

use proptest::prelude::*;

use self::runs::{About, RUNNERS, Test};
use super::plan::BETWEEN_CHARS;
use super::*;
use crate::excerpt::{self, NamedLines};
use crate::tokens;
use base::object::Handle;
use session::Numbering;

fn shown(kind: ToolKind, text: &str, said: &str, limit: u64) -> String {
    let tokens = tokens::count(text);
    let output = PreviewedOutput {
        text,
        tokens,
        kind,
        said,
        lines: text.split('\n').count() as u64,
        standing: &[],
    };
    let pieces = plan(&output, limit).expect("a preview is due");
    let named =
        NamedLines { handle: Handle::parse("t17").unwrap(), numbering: Numbering::default() };
    excerpt::render(text, &pieces, named, &|_, _, _| None).unwrap()
}

#[test]
fn a_line_for_which_there_is_no_room_shows_its_ends() {
    let line = format!(r#"{{"status":"error",{}"end":true}}"#, r#""item":1234,"#.repeat(900));
    for text in [line.clone(), format!("{line}\n"), format!("\n{line}\n{line}")] {
        let shown = shown(ToolKind::Shell(ShellKind::Other), &text, "", 100);
        assert!(shown.trim_start().starts_with(r#"{"status":"error","item":"#), "{shown}");
        assert!(shown.contains(r#","end":true}"#), "{shown}");
        assert!(shown.contains(" characters between (t17:"), "{shown}");
        assert!(tokens::count(&shown) < 200, "{shown}");
    }
}

fn is_shown(pieces: &[Piece], at: usize) -> bool {
    let shown = |piece: &&Piece| matches!(piece, Piece::Shown { .. });
    pieces.iter().filter(shown).any(|piece| indexes(piece.lines()).contains(&at))
}

/// Passing tests that a preview shows although a line counting them would be shorter.
fn shown_without_need(pieces: &[Piece], run: &runs::Output) -> Option<String> {
    let is_one = |at: usize| run.lines[at].0 == About::Pass && is_shown(pieces, at);
    let places: Vec<usize> = (0..run.lines.len()).filter(|at| is_one(*at)).collect();
    let next_to_each_other = places.chunk_by(|one, other| one + 1 == *other);
    let mut texts = next_to_each_other.map(|places| {
        places.iter().map(|at| run.lines[*at].1.as_str()).collect::<Vec<_>>().join("\n")
    });
    texts.find(|text| text.len() > BETWEEN_CHARS)
}

fn tests() -> impl Strategy<Value = Vec<Test>> {
    let message = prop::collection::vec("[a-z]{3,9} [a-z]{3,9}[0-9]{1,3}", 1..12);
    let failed = prop_oneof![6 => Just(None), 1 => message.prop_map(Some)];
    let test = ("[a-z]{4,9}_[a-z]{4,30}", failed);
    let tests = prop::collection::vec(test, 5..120);
    tests.prop_map(|tests| {
        let number = |(at, (name, failed)): (usize, (String, _))| Test {
            name: format!("{name}_{at}"),
            failed,
        };
        tests.into_iter().enumerate().map(number).collect()
    })
}

fn log(lines: usize) -> Vec<String> {
    (1..=lines).map(|n| format!("line {n} of the log")).collect()
}

fn build() -> ToolKind {
    ToolKind::Shell(ShellKind::Build)
}

#[test]
fn a_build_shows_its_failures_and_its_end() {
    let mut log = log(1_400);
    log[500] = "error[E0382]: borrow of moved value".into();
    log[501] = "  --> src/a.rs:7:9".into();
    log.push("test result: FAILED. 3 passed; 1 failed".into());
    let shown = shown(build(), &log.join("\n"), "", 400);
    let errors =
        "(t17:11-500) …\nerror[E0382]: borrow of moved value\n  --> src/a.rs:7:9\nline 503";
    assert!(shown.starts_with("line 1 of") && shown.contains("error[E0382]"), "{shown}");
    assert!(shown.contains(&errors["(t17:11-500) …".len()..]), "{shown}");
    assert!(shown.ends_with("line 1400 of the log\ntest result: FAILED. 3 passed; 1 failed"));
}

#[test]
fn a_listing_shows_its_head_and_a_page_both_ends() {
    let text = log(1_400).join("\n");
    let listing = shown(ToolKind::Shell(ShellKind::Listing), &text, "", 400);
    assert!(listing.starts_with("line 1 of") && listing.contains(" of 1,400) …"), "{listing}");
    assert!(listing.ends_with("line 1400 of the log"), "{listing}");
    let page = shown(ToolKind::Web, &text, "", 400);
    assert!(page.starts_with("line 1 of") && page.ends_with("line 1400 of the log"), "{page}");
}

#[test]
fn a_difference_shows_where_every_change_is() {
    let mut text = log(900);
    for at in [0, 300, 600] {
        text[at] = format!("diff --git a/{at}.rs b/{at}.rs");
        text[at + 1] = "@@ -1,2 +1,3 @@ fn main".into();
    }
    let shown = shown(ToolKind::Shell(ShellKind::Diff), &text.join("\n"), "", 400);
    for at in [0, 300, 600] {
        let heads = format!("diff --git a/{at}.rs b/{at}.rs\n@@ -1,2 +1,3 @@ fn main");
        assert!(shown.contains(&heads), "{shown}");
    }
}

#[test]
fn a_search_result_is_whole_or_shows_every_file() {
    for around in [false, true] {
        search_shows_every_file(around);
    }
    // A time in a hit is no part of the file's name.
    let line = |n: usize| format!("app-{}.log:{n}:2024-01-01T12:30:45 boom", n / 30);
    let text = (0..600).map(line).collect::<Vec<_>>().join("\n");
    let shown = shown(ToolKind::Search, &text, "", tokens::count(&text) / 5);
    assert!(
        (0..20).all(|file| shown.contains(&format!("app-{file}.log:{}:", file * 30))),
        "{shown}"
    );
}

/// `around`: whether lines around the hits are shown, too.
fn search_shows_every_file(around: bool) {
    let line = |n: usize| {
        let mark = if around && !n.is_multiple_of(3) { '-' } else { ':' };
        format!("src/file-{}.rs{mark}{n}{mark} a hit of the pattern: {n}", n / 30)
    };
    let text = (0..600).map(line).collect::<Vec<_>>().join("\n");
    let tokens = tokens::count(&text);
    let output = PreviewedOutput {
        text: &text,
        tokens,
        kind: ToolKind::Search,
        said: "",
        lines: 600,
        standing: &[],
    };
    assert_eq!(plan(&output, tokens / 3), None);
    let shown = shown(ToolKind::Search, &text, "", tokens / 5);
    for file in 0..20 {
        assert!(shown.contains(&format!("src/file-{file}.rs:{}:", file * 30)), "{shown}");
    }
}

#[test]
fn data_without_line_breaks_is_cut_by_characters() {
    let shown = shown(ToolKind::Web, &"x1 ".repeat(50_000), "", 4_000);
    assert!(shown.contains("… 142,000 characters between (t17:1:4001-146000) …"), "{shown}");
}

#[test]
fn lines_with_the_models_words_are_shown() {
    let mut log = log(1_400);
    log[700] = "settle_rereads is called".into();
    let shown = shown(ToolKind::Other, &log.join("\n"), "Where is `settle_rereads`?", 400);
    let around = "line 700 of the log\nsettle_rereads is called\nline 702 of the log";
    assert!(shown.contains(around), "{shown}");
}

#[test]
fn outputs_within_the_limit_are_shown_whole() {
    let text = log(900).join("\n");
    let tokens = tokens::count(&text);
    let mut output =
        PreviewedOutput { text: &text, tokens, kind: build(), said: "", lines: 1, standing: &[] };
    assert_eq!(plan(&output, tokens), None);
    assert_eq!(plan(&output, 0), None);
    let lines = LineRange { first: 1, last: 800 };
    let block = [LineBlock { lines, at: 3, first: 1, tokens: tokens / 2 }];
    output.standing = &block;
    assert_eq!(plan(&output, tokens / 2 + 1), None);
}

proptest! {
    #![proptest_config(testing::cases::config(64, 1))]

    #[test]
    fn a_preview_of_a_run_shows_failures_and_not_passing_tests(
        tests in tests(), runner in 0..RUNNERS.len(), kind in prop::sample::select(vec![build(), ToolKind::Other]),
    ) {
        let (name, run) = RUNNERS[runner];
        let run = run(&tests);
        let text = run.text();
        let output = PreviewedOutput { text: &text, tokens: tokens::count(&text), kind, said: "", lines: 1, standing: &[] };
        let Some(pieces) = plan(&output, 60) else { return Ok(()) };
        for (at, (about, line)) in run.lines.iter().enumerate() {
            // Among equal stack frames, the first is shown.
            let is_call = line.trim_start().starts_with("at ") || line.contains("File \"");
            let first = run.lines.iter().position(|(_, other)| other == line).unwrap();
            let at = if is_call { first } else { at };
            prop_assert!(*about != About::Failure || is_shown(&pieces, at), "{}: `{}`", name, line);
        }
        prop_assert_eq!(shown_without_need(&pieces, &run), None, "{}", name);
    }

    #[test]
    fn where_not_every_failure_fits_no_passing_test_is_shown(
        tests in tests(), runner in 0..RUNNERS.len(), tokens in 20u64..400,
    ) {
        let (name, run) = RUNNERS[runner];
        let run = run(&tests);
        let text = run.text();
        let output = PreviewedOutput { text: &text, tokens: tokens::count(&text), kind: build(), said: "", lines: 1, standing: &[] };
        let pieces = plans_within(&output, [tokens]).next().unwrap();
        prop_assert_eq!(shown_without_need(&pieces, &run), None, "{}", name);
    }

    #[test]
    fn a_preview_covers_every_line_once_within_its_size(
        lines in prop::collection::vec("(error |src/a.rs:1:|@@ |)[a-z ]{0,60}", 1..200),
        kind in prop::sample::select(vec![
            build(), ToolKind::Web, ToolKind::Search, ToolKind::Shell(ShellKind::Diff), ToolKind::List,
        ]),
    ) {
        let text = lines.join("\n");
        let tokens = tokens::count(&text);
        let output = PreviewedOutput { text: &text, tokens, kind, said: "error_kind", lines: 1, standing: &[] };
        let Some(pieces) = plan(&output, 200) else { return Ok(()) };
        let mut next = 1;
        for piece in &pieces {
            prop_assert_eq!(piece.lines().first, next);
            next = piece.lines().last + 1;
        }
        prop_assert_eq!(next, lines.len() as u64 + 1);
        let shown: usize = pieces.iter().filter(|piece| matches!(piece, Piece::Shown { .. }))
            .map(|piece| lines[indexes(piece.lines())].iter().map(|line| line.len() + 1).sum::<usize>())
            .sum();
        // A gap between shown lines is shown too if counting it costs as much.
        let limit = if is_asked_for(kind) { 800 } else { 200 };
        prop_assert!(shown <= limit * 2 * 3, "{shown}");
    }
}
