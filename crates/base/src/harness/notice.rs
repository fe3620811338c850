//! What hosts add to an output: which part of it they show, and how its command ended.

use std::ops::Range;
use std::sync::LazyLock;

use regex::{Captures, Regex, RegexSet};
use serde_json::Value;

use crate::object::{line_count, newlines};

/// Lines at each end of an output in which a host says how its command ended.
const END_LINES: usize = 12;
/// Most lines about the shown part that count from each end, as a log may hold many.
const PART_LINES: usize = 8;

/// How a notice at the end of an output begins that says which lines are shown, and one that names
/// the whole alone.
const PART_NOTICE: &str = "\n\n[Showing ";
const WHOLE_NOTICE: &str = "\n\n[Full output: ";

/// A line that says which part is shown: of Pi, OpenClaw, OpenCode, Codex, Claude Code and others.
static PARTS: LazyLock<RegexSet> = LazyLock::new(|| {
    set(&[
        r"^[\[(].*(?-u:\b)showing (lines|last|first) [0-9]",
        r"^[\[(](read )?output (capped|truncated|cut)(?-u:\b)",
        r"^[\[(]?full output( saved)?( to)?: ",
        r"^\[[0-9,]+ more lines in file|^\(end of file - total [0-9]",
        r"^\(no output\)$",
        r"^total output lines: [0-9]|^warning: truncated output|^original token count: [0-9]",
        r"^output too large|^the tool call succeeded but the output was truncated",
        r"^</?persisted-output>$|^preview \(first ",
        r"^[\[(](results (are )?truncated|some lines truncated)",
        r"^[\[(.… ]*[0-9][0-9,.]* ?(middle )?(lines?|char(acter)?s?|bytes?|tokens?|[kmg]b)( of output)? (truncated|omitted|elided|hidden)[\]).… ]*$",
        r"^[\[(.… ]*omitted [0-9,]+ of [0-9,]+ lines",
    ])
});

/// A line whose middle was cut out.
static CUT: LazyLock<Regex> =
    LazyLock::new(|| pattern("(?i)…[0-9]+ (chars|tokens|lines|bytes) truncated…"));

/// A line with an exit code.
static EXIT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)^[<(\[]*(?:(?:command|process) exited with code|exited with exit code|shellid: \S+ completed with exit code|exit code|exit status)[: ]*(-?[0-9]+)[>)\].]*$",
    )
});

/// A line with nothing but the circumstances of a run.
static RUNS: LazyLock<RegexSet> = LazyLock::new(|| {
    set(&[
        r"^wall time:? [0-9]|^chunk id: |^output:$",
        r"^(signal|background pids): (\(none\)|[0-9, ]+)$|^process group pgid: [0-9]+$|^</untrusted_context>$",
    ])
});

/// A line that says that a command did not end by itself, or not yet.
static ENDS: LazyLock<RegexSet> = LazyLock::new(|| {
    set(&[
        r"^[<(\[]*(command|process|script) (timed out|(was )?(aborted|killed|interrupted|terminated)|still running|failed|completed)(?-u:\b)",
    ])
});

static LINES: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?m)^\[Showing lines ([0-9,]+)-([0-9,]+) of ([0-9,]+)"));
static LAST_LINE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?m)^\[Showing last [^\]\n]* of line ([0-9,]+)"));
static TOTAL: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?m)^Total output lines: ([0-9,]+)\n\n"));
/// The mark for the missing middle of an output.
static MIDDLE: LazyLock<Regex> = LazyLock::new(|| {
    let amount = "[0-9,]+ (?:chars|tokens|lines|bytes) truncated";
    pattern(&format!(
        r"…{amount}…|(?m:^[\[(.… ]*(?:{amount}|omitted [0-9,]+ of [0-9,]+ lines)[\]).… ]*$)"
    ))
});

fn set(patterns: &[&str]) -> RegexSet {
    let ignoring_case = patterns.iter().map(|pattern| format!("(?i){pattern}"));
    RegexSet::new(ignoring_case).expect("constants that tests compile")
}

fn pattern(pattern: &str) -> Regex {
    Regex::new(pattern).expect("constants that tests compile")
}

/// Whether a host says by a line which part of an output it shows.
pub fn tells_part(line: &str) -> bool {
    // Patterns that begin at the start of a line leave most lines at their first letter.
    PARTS.is_match(line.trim()) || (line.contains('…') && CUT.is_match(line))
}

/// Whether a host gives an exit code by a line, or the circumstances of a run.
pub fn tells_exit(line: &str) -> bool {
    let line = line.trim();
    EXIT.is_match(line) || RUNS.is_match(line)
}

/// The exit code that a host gives in the last or the first lines of an output, and whether by a
/// line that programs do not print, as Copilot CLI and OpenClaw do.
pub fn told_exit(text: &str) -> Option<(i64, bool)> {
    let code = |line: &str| {
        let is_marked = line.starts_with('<') || line.starts_with("(Command exited");
        EXIT.captures(line)?[1].parse().ok().map(|code| (code, is_marked))
    };
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let at_end = lines().rev().take_while(|line| tells_exit(line)).find_map(code);
    at_end.or_else(|| lines().take_while(|line| tells_exit(line)).find_map(code))
}

/// The indexes of the lines of an output that a host wrote about it, and of the blank lines between
/// them and the output.
pub fn host_lines(lines: &[&str]) -> Vec<usize> {
    let parts: Vec<usize> = (0..lines.len()).filter(|at| tells_part(lines[*at])).collect();
    let late = parts.len().saturating_sub(PART_LINES).max(PART_LINES);
    let parts = parts.iter().take(PART_LINES).chain(parts.get(late..).unwrap_or_default());
    let is_near_end = |at: &usize| *at < END_LINES || at + END_LINES >= lines.len();
    let says_end = |at: &usize| tells_exit(lines[*at]) || ENDS.is_match(lines[*at].trim());
    let ends = (0..lines.len()).filter(is_near_end).filter(says_end);
    let mut found: Vec<usize> = parts.copied().chain(ends).collect();
    let blank = |at: Option<usize>| at.filter(|at| lines.get(*at).is_some_and(|l| l.is_empty()));
    let around = |at: &usize| {
        let is_above = *at < END_LINES && at + END_LINES < lines.len();
        blank(if is_above { Some(at + 1) } else { at.checked_sub(1) })
    };
    let blanks: Vec<usize> = found.iter().filter_map(around).collect();
    found.extend(blanks);
    found.sort_unstable();
    found.dedup();
    found
}

/// The lines of an output that a host says it shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToldPart {
    /// These lines of so many.
    Lines {
        /// First line.
        first: u64,
        /// Last line.
        last: u64,
        /// All lines.
        of: u64,
    },
    /// The end of the last line of so many.
    EndOfLast {
        /// All lines.
        of: u64,
    },
    /// All but the middle of so many lines.
    Ends {
        /// All lines.
        of: u64,
        /// Lines of the host's own above the first one.
        above: u64,
        /// The line in which the middle is missing, as shown.
        line: u64,
        /// Lines after that one.
        behind: u64,
    },
}

/// Which lines of an output a host says that it shows. `None` if it says nothing, or if the text
/// has other lines: then it is the output that says so.
pub fn told_part(text: &str) -> Option<ToldPart> {
    let told = |found: &Captures<'_>, group: usize| found[group].replace(',', "").parse().ok();
    let body = |found: &Captures<'_>| {
        let (body, notice) = text.split_at(found.get_match().start());
        let is_last = notice.lines().count() <= END_LINES / 2;
        body.strip_suffix("\n\n").filter(|_| is_last)
    };
    // Hosts join the lines that they show: a line break at the end stands before a blank line.
    let lines_of = |body: &str| newlines(body) + 1;
    if let Some(found) = LINES.captures_iter(text).last() {
        let (first, last, of) = (told(&found, 1)?, told(&found, 2)?, told(&found, 3)?);
        let shown = lines_of(body(&found)?);
        let is_so = 0 < first && first <= last && last <= of && last - first + 1 == shown;
        return (is_so && shown < of).then_some(ToldPart::Lines { first, last, of });
    }
    if let Some(found) = LAST_LINE.captures_iter(text).last() {
        let of: u64 = told(&found, 1)?;
        return (of > 0 && lines_of(body(&found)?) == 1).then_some(ToldPart::EndOfLast { of });
    }
    let of: u64 = told(&TOTAL.captures(text)?, 1)?;
    let (start, end) = within_ends(text)?;
    let missing = missing_middles(&text[start..end]).next()?;
    let above = newlines(&text[..start]);
    let line = above + newlines(&text[start..start + missing.start]) + 1;
    let behind = line_count(&text[start + missing.end..end]) - 1;
    let is_so = above <= END_LINES as u64 && line - above + behind <= of;
    is_so.then_some(ToldPart::Ends { of, above, line, behind })
}

/// Where an output of which a host left out the middle begins and ends in what it shows: behind
/// what the host says above it, and before its notice. `None` if it gives no number of lines.
pub fn within_ends(text: &str) -> Option<(usize, usize)> {
    let start = TOTAL.find(text)?.end();
    let end = text.rfind(WHOLE_NOTICE).filter(|end| *end > start);
    Some((start, end.unwrap_or(text.len())))
}

/// The marks in an output that may stand for its missing middle: hosts show text on both sides.
pub fn missing_middles(text: &str) -> impl Iterator<Item = Range<usize>> {
    let is_between = move |missing: &Range<usize>| {
        !text[..missing.start].trim().is_empty() && !text[missing.end..].trim().is_empty()
    };
    MIDDLE.find_iter(text).map(|found| found.range()).filter(is_between)
}

/// An output before the notice by which a host says at its end which part it shows.
pub fn before_notice(text: &str) -> &str {
    let starts = [PART_NOTICE, WHOLE_NOTICE].into_iter().filter_map(|start| text.rfind(start));
    starts.max().map_or(text, |start| &text[..start])
}

/// The file in which a host has the whole of an output, as such a notice names it.
pub fn told_file(text: &str) -> Option<&str> {
    let notice = text[before_notice(text).len()..].trim_start().lines().next()?;
    let (_, named) = notice.strip_suffix(']')?.split_once("Full output: ")?;
    let hint = named.strip_suffix(')').and_then(|named| named.rsplit_once(" ("));
    Some(hint.map_or(named, |(file, _)| file))
}

/// The lines that a read tool showed, without the notice that the file has more, and whether it has
/// more. Hosts put the notice in brackets after an empty line.
///
/// `details`: what the host says about the result besides its text.
pub fn without_notice<'a>(text: &'a str, details: &Value) -> (&'a str, bool) {
    let is_cut = details.get("truncation").is_some_and(|found| !found.is_null());
    let says_more = |notice: &str| notice.contains(" line") || notice.contains(" Use offset=");
    let notice = text
        .rsplit_once("\n\n[")
        .filter(|(_, notice)| notice.ends_with(']') && !notice.contains('\n') && says_more(notice));
    match notice {
        Some((shown, _)) => (shown, true),
        // `[Line 1 is 80KB, exceeds the limit …]` shows nothing of the file.
        None if is_cut => (if text.starts_with('[') { "" } else { text }, true),
        None => (text, false),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_notice_that_a_file_has_more_is_no_line_of_it() {
        let none = Value::Null;
        let cut = json!({ "truncation": { "truncated": true } });
        for (text, details, expected) in [
            ("a\nb", &none, ("a\nb", false)),
            ("a\n\n[8 more lines in file. Use offset=2 to continue.]", &none, ("a", true)),
            // OpenClaw's wording.
            (
                "a\n\n[Read output capped at 50KB for this call. Use offset=2 to continue.]",
                &cut,
                ("a", true),
            ),
            (
                "a\n\n[Read output capped at 50KB for this call. Use offset=1, cursor=9 to continue.]",
                &cut,
                ("a", true),
            ),
            ("a\n\n[x]", &none, ("a\n\n[x]", false)),
            ("[Line 1 is 80KB, exceeds the limit]", &cut, ("", true)),
        ] {
            assert_eq!(without_notice(text, details), expected, "{text:?}");
        }
    }

    #[test]
    fn lines_of_a_host_are_told_from_those_of_a_program() {
        for line in [
            "[Showing lines 18001-20000 of 20000. Full output: /tmp/x]",
            "[Showing last 50.0KB of line 1 (line is 3.2MB). Full output: /tmp/x]",
            "(Output capped at 50 KB. Showing lines 1-7. Use offset=8 to continue.)",
            "[Showing lines 1-9 and 91-99 of 99; 81 middle lines (4.0KB) elided. Read artifact:x]",
            "[3012 more lines in file. Use offset=2001 to continue.]",
            "[Read output capped at 50KB for this call. Use offset=6001 to continue.]",
            "Total output lines: 5000",
            "Warning: truncated output (original token count: 61000)",
            "... 3000 lines truncated ...",
            "[... 120 lines omitted ...]",
            "[... omitted 4744 of 5000 lines ...]",
            "… 3000 lines truncated …",
            "...51200 bytes truncated...",
            "ab…700 chars truncated…cd",
            "Output too large (48.3KB). Full output saved to: /home/me/x.txt",
            "<persisted-output>",
            "(no output)",
            "  [Full output: /tmp/x]",
        ] {
            assert!(tells_part(line), "{line}");
        }
        for line in [
            "Command exited with code 101",
            "<exited with exit code 0>",
            "<shellId: 51 completed with exit code 128>",
            "Process Group PGID: 13600",
            "Signal: 0",
            "Exit code: 2",
            "Wall time: 0.2 seconds",
        ] {
            assert!(tells_exit(line) && !tells_part(line), "{line}");
        }
        for line in [
            "showing lines of the poem",
            "Exit code 7 means full disk",
            "exited with code",
            "output of the run",
            "5 lines truncated the poem",
            "[done]",
            "a full output: x",
        ] {
            assert!(!tells_part(line) && !tells_exit(line), "{line}");
        }
    }

    #[test]
    fn what_a_host_wrote_around_an_output_is_found_at_both_ends() {
        let log: Vec<String> = (0..100).map(|n| format!("line {n}")).collect();
        let with = |before: &str, after: &str| {
            let text = format!("{before}{}{after}", log.join("\n"));
            let lines: Vec<&str> = text.split('\n').collect();
            host_lines(&lines).into_iter().map(|at| lines[at].to_owned()).collect::<Vec<_>>()
        };
        let notice = "[Showing lines 8-107 of 107. Full output: /tmp/x]";
        let end = "Command timed out after 30 seconds";
        assert_eq!(with("", &format!("\n\n{notice}\n\n{end}")), ["", notice, "", end]);
        let head = "Wall time: 1.0 seconds\nProcess exited with code 0\nTotal output lines: 900";
        let mut found: Vec<&str> = head.lines().collect();
        found.push("");
        assert_eq!(with(&format!("{head}\n\n"), ""), found);
    }

    #[test]
    fn a_told_part_counts_if_the_text_has_its_lines() {
        let lines =
            |last: u64| (1..=last).map(|n| format!("line {n}")).collect::<Vec<_>>().join("\n");
        let notice = |shown: &str| format!("\n\n[Showing lines {shown}. Full output: /tmp/x]");
        let of =
            |shown: &str, more: &str| told_part(&format!("{}{}{more}", lines(20), notice(shown)));
        let part = Some(ToldPart::Lines { first: 81, last: 100, of: 100 });
        assert_eq!(of("81-100 of 100", ""), part);
        assert_eq!(of("81-100 of 100 (50.0KB limit)", "\n\nCommand exited with code 1"), part);
        let blank = format!("{}\n{}", lines(19), notice("81-100 of 100"));
        assert_eq!(told_part(&blank), part, "its last line is blank");
        for other in ["80-100 of 100", "1-20 of 20", "101-120 of 100", "0-19 of 100"] {
            assert_eq!(of(other, ""), None, "{other}");
        }
        assert_eq!(of("81-100 of 100", &lines(30)), None, "it is not at the end");
        let end =
            "tail of it\n\n[Showing last 50.0KB of line 7 (line is 3.2MB). Full output: /tmp/x]";
        assert_eq!(told_part(end), Some(ToldPart::EndOfLast { of: 7 }));
        let head = "Wall time: 1.0 seconds\nTotal output lines: 500\n\n";
        let ends = format!("{head}a\nb…9 tokens truncated…c\nd\ne\n");
        assert_eq!(
            told_part(&ends),
            Some(ToldPart::Ends { of: 500, above: 3, line: 5, behind: 2 })
        );
        for middle in ["… 3000 lines truncated …", "[... omitted 496 of 500 lines ...]"] {
            let ends = format!("{head}a\nb\n{middle}\nd\ne");
            let part = ToldPart::Ends { of: 500, above: 3, line: 6, behind: 2 };
            assert_eq!(told_part(&ends), Some(part), "{middle}");
        }
        for nothing in
            ["a\nb", "…9 tokens truncated…", "a…9 tokens truncated…\n", "\n…9 chars truncated…b"]
        {
            assert_eq!(told_part(&format!("{head}{nothing}")), None, "{nothing}");
        }
        for (notice, file) in [
            ("[Showing lines 1-2 of 9. Full output: /tmp/a b.log]", Some("/tmp/a b.log")),
            (
                "[Showing last 5B of line 2 (line is 9B). Full output: /tmp/x]\n\nCommand exited with code 1",
                Some("/tmp/x"),
            ),
            ("[Full output: /tmp/x (1).txt (read it with offset/limit)]", Some("/tmp/x (1).txt")),
            ("[Full output: /tmp/x.txt]\nmore", Some("/tmp/x.txt")),
            ("[Showing lines 1-2 of 9]", None),
            ("[Full input: /tmp/x]", None),
        ] {
            let text = format!("a\nb\n\n{notice}");
            assert_eq!(told_file(&text), file, "{notice}");
            assert_eq!(
                before_notice(&text) == "a\nb",
                file.is_some() || notice.contains("Showing")
            );
        }
        assert_eq!(told_part(&lines(9)), None);
    }
}
