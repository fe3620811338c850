//! Tests: what a preview shows and what it counts is all of the output, whatever that is and
//! whatever its host wrote around it.

use proptest::prelude::*;

use super::super::*;
use crate::excerpt::{self, NamedLines};
use crate::tokens;
use base::object::Handle;
use session::Numbering;

/// Lines of programs of all kinds; `{}` stands for a number.
const LINES: [&str; 18] = [
    "line {} of the log",
    "error[E0308]: mismatched types in part {}",
    "  --> src/a.rs:{}:9",
    "test case_{} ... ok",
    "test case_{} ... FAILED",
    "src/file{}.rs:12: a hit of the pattern",
    "./src/folder/file{}.rs",
    "-rw-r--r-- 1 me me {} Jan  1 00:00 a.txt",
    "commit 83ab{}",
    "@@ -{},2 +1,3 @@ fn main",
    "{\"time\":\"2026-01-01T00:00:00Z\",\"level\":\"error\",\"n\":{}}",
    "2026-01-01 00:00:00 ERROR request {} failed",
    "\u{1b}[31mred {}\u{1b}[0m",
    "1%\r2%\r{}%",
    "with a carriage return {}\r",
    "",
    "--------",
    "}",
];
/// What hosts write above an output, and below it; `{lines}` stands for its number of lines.
const AROUND: [(&str, &str); 9] = [
    ("", ""),
    ("", "\n\n[Showing lines 5001-{end} of {end}. Full output: /tmp/pi-bash-1.log]"),
    (
        "",
        "\n\n[Showing lines 5001-{end} of {end} (50.0KB limit). Full output: /tmp/x]\n\nCommand exited with code 1",
    ),
    ("", "\n\nCommand timed out after 30 seconds"),
    ("Wall time: 1.2 seconds\nProcess exited with code 0\nOutput:\n", ""),
    ("Warning: truncated output (original token count: 9)\nTotal output lines: 9000\n\n", ""),
    ("Wall time: 1.2 seconds\nOutput:\nhead\n… 3000 lines truncated …\n", ""),
    (
        "<persisted-output>\nOutput too large (48KB). Full output saved to: /x\n\n",
        "\n</persisted-output>",
    ),
    ("", "\n\n(Command exited with code 7)"),
];

fn lines() -> impl Strategy<Value = Vec<String>> {
    let made = |line: &str, number: usize| line.replace("{}", &number.to_string());
    let line = (prop::sample::select(LINES.to_vec()), 0..9_999_usize);
    let line = prop_oneof![
        40 => line.prop_map(move |(line, number)| made(line, number)),
        1 => (500..3_000_usize).prop_map(|length| "long ".repeat(length / 5)),
    ];
    // Mixed lines, and runs of a single kind, in which all or none is important.
    let alike = (prop::sample::select(LINES.to_vec()), 5..300_usize);
    prop_oneof![
        prop::collection::vec(line, 1..300),
        alike.prop_map(move |(line, count)| (0..count).map(|n| made(line, n)).collect()),
    ]
}

fn kinds() -> impl Strategy<Value = ToolKind> {
    use ShellKind::{Build, Diff, Listing, Log, Other, Read, Search};
    let shells = [Build, Diff, Listing, Log, Other, Read, Search].map(ToolKind::Shell);
    let others = [ToolKind::List, ToolKind::Find, ToolKind::Search, ToolKind::Web, ToolKind::Other];
    prop::sample::select([shells.as_slice(), others.as_slice()].concat())
}

/// A count of lines: how many, the first and the last one, and of how many.
type Counted = (u64, u64, u64, Option<u64>);

fn counted(line: &str) -> Option<Counted> {
    let (count, place) = line.strip_prefix("… ")?.split_once(" between (t17:")?;
    let number = |text: &str| text.replace(',', "").parse::<u64>().ok();
    let (place, of) = match place.strip_suffix(") …")?.split_once(" of ") {
        Some((place, of)) => (place, number(of)),
        None => (place.strip_suffix(") …")?, None),
    };
    let (first, last) = place.split_once('-')?;
    Some((number(count.split(' ').next()?)?, number(first)?, number(last)?, of))
}

proptest! {
    #![proptest_config(testing::cases::config(256, 1))]

    #[test]
    fn shown_and_counted_lines_are_all_lines_of_the_whole(
        lines in lines(), (before, after) in prop::sample::select(AROUND.to_vec()), kind in kinds(),
        ends_line: bool, limit in 30_u64..400, said in "(|file7|case_3 a.txt)",
    ) {
        let after = after.replace("{end}", &(5_000 + lines.len()).to_string());
        let end = if ends_line && after.is_empty() { "\n" } else { "" };
        let text = format!("{before}{}{after}{end}", lines.join("\n"));
        let all: Vec<&str> = text.strip_suffix('\n').unwrap_or(&text).split('\n').collect();
        let told = match told_part(&text) {
            Some(ToldPart::Lines { first, of, .. }) => (first - 1, of),
            _ => (0, all.len() as u64),
        };
        let output = PreviewedOutput {
            text: &text, tokens: tokens::count(&text), kind, said: &said, lines: told.1, standing: &[],
        };
        let Some(pieces) = plan(&output, limit) else { return Ok(()) };
        let named = NamedLines { handle: Handle::parse("t17").unwrap(), numbering: Numbering::after(told.0) };
        let shown = excerpt::render(&text, &pieces, named, &|_, _, _| None).unwrap();
        let (mut next, mut seen) = (0_usize, Vec::new());
        let rendered: Vec<&str> = shown.strip_suffix('\n').unwrap_or(&shown).split('\n').collect();
        for line in rendered {
            if let Some((count, first, last, of)) = counted(line) {
                prop_assert_eq!(first, told.0 + next as u64 + 1);
                next += usize::try_from(count).unwrap();
                prop_assert_eq!(last, told.0 + next as u64);
                prop_assert!(of.is_none_or(|of| is_list(kind) && of == told.1));
            } else {
                prop_assert!(line == all[next] || all[next].starts_with(line.split(" … ").next().unwrap()));
                seen.push(next);
                next += 1;
            }
        }
        prop_assert_eq!(next, all.len(), "{}", shown);
        if shown.contains(" between (t17:") && is_list(kind) {
            prop_assert!(shown.contains(" of "), "a listing says how many it has");
        }
        for (at, line) in all.iter().enumerate() {
            let is_own = at < before.lines().count() || at >= before.lines().count() + lines.len();
            prop_assert!(!is_own || line.is_empty() || seen.contains(&at), "`{}` is the host's\n{}", line, shown);
        }
    }
}
