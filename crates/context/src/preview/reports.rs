//! What each line of a run's output reports: a failure, details of one, how the run ended, or
//! success.
//!
//! Uses the marks of test runners, compilers and stack traces from `marks`, and knows no runner as
//! a whole, because one output may mix several. Pure text. Must not decide what is shown.

use std::borrow::Cow;
use std::collections::HashSet;

use super::marks::{self, Mark, Marks};
use crate::plain;

/// Most lines without a mark that belong to the failure before them.
const BLOCK_LINES: usize = 40;
/// Lines after a failure that belong to it whatever they look like, because compilers put the
/// location there.
const NEXT_LINES: usize = 3;
/// Most consecutive blank lines inside a block.
const BLANK_LINES: usize = 2;
/// Bytes of a line examined at each end.
const LOOKED_AT_BYTES: usize = 400;
/// How behave begins the line behind a step that failed.
const FAILED_STEP: [&str; 2] = ["Assertion Failed: ", "ASSERT FAILED: "];

/// What a line of a run's output reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestReport {
    /// Something failed.
    Failure,
    /// Details of an adjacent failure.
    Detail,
    /// How the run ended.
    Summary,
    /// Something began or succeeded.
    Routine,
    /// Anything else.
    Other,
}

impl TestReport {
    /// Whether the line is about a failure.
    pub fn is_of_failure(self) -> bool {
        matches!(self, Self::Failure | Self::Detail)
    }
}

/// What each line reports, in order.
pub fn reports(lines: &[&str]) -> Vec<TestReport> {
    let plain: Vec<Cow<'_, str>> = lines.iter().map(|line| both_ends(plain::plain(line))).collect();
    let (lines, marks): (Vec<&str>, Vec<Marks>) =
        plain.iter().map(|line| marks::read(line)).unzip();
    let mut reading = Reading { lines: &lines, marks: &marks, reports: Vec::new(), open: Open::No };
    for at in 0..lines.len() {
        let report = reading.report(at);
        reading.reports.push(report);
    }
    let Reading { mut reports, .. } = reading;
    enter_lines_before_verdicts(&lines, &mut reports);
    enter_headings(&lines, &mut reports);
    leave_out_known_calls(&lines, &marks, &mut reports);
    reports
}

/// A stack frame that an earlier stack of the output already has says nothing new: a program that
/// logs one failure repeatedly prints the same stack each time.
fn leave_out_known_calls(lines: &[&str], marks: &[Marks], reports: &mut [TestReport]) {
    let mut known = HashSet::new();
    for (at, report) in reports.iter_mut().enumerate() {
        if *report == TestReport::Detail
            && marks[at].has(Mark::Frame)
            && !known.insert(lines[at].trim())
        {
            *report = TestReport::Other;
        }
    }
}

/// What has begun and may continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Open {
    No,
    /// A failure. `lines`: number of non-blank lines after it. `message`: whether these are its
    /// message so far.
    Block {
        lines: usize,
        message: bool,
    },
    /// A section that reports only failures. `lines`: as in a block, since the last failure.
    Section {
        lines: usize,
    },
}

struct Reading<'a> {
    lines: &'a [&'a str],
    marks: &'a [Marks],
    reports: Vec<TestReport>,
    open: Open,
}

impl Reading<'_> {
    /// What the next line reports.
    fn report(&mut self, at: usize) -> TestReport {
        let marks = self.marks[at];
        if marks.has(Mark::BeginsSection) {
            self.open = Open::Section { lines: 0 };
            return TestReport::Failure;
        }
        if let Open::Section { lines } = self.open {
            if !marks.has(Mark::EndsSection) {
                return self.in_section(at, lines);
            }
            self.open = Open::No;
        }
        if marks.is_routine() {
            self.open = Open::No;
            return TestReport::Routine;
        }
        if marks.has(Mark::Failure) {
            self.open = Open::Block { lines: 0, message: marks.has(Mark::Announces) };
            return TestReport::Failure;
        }
        if marks.has(Mark::CountsFailures) {
            self.open = Open::No;
            return TestReport::Failure;
        }
        let is_detail = self.goes_on(at);
        if !is_detail {
            self.open = Open::No;
        }
        match (marks.has(Mark::Summary), is_detail) {
            (true, _) => TestReport::Summary,
            (_, true) => TestReport::Detail,
            _ => TestReport::Other,
        }
    }

    /// In a section of failures, a numbered line or a lone name is a failure, and a success is part
    /// of what a test printed.
    fn in_section(&mut self, at: usize, lines: usize) -> TestReport {
        let marks = self.marks[at];
        if marks.has(Mark::Failure)
            || marks.has(Mark::CountsFailures)
            || marks.has(Mark::NamesFailure)
        {
            self.open = Open::Section { lines: 0 };
            return TestReport::Failure;
        }
        self.open = Open::Section { lines: lines + usize::from(!self.is_blank(at)) };
        if lines < BLOCK_LINES { TestReport::Detail } else { TestReport::Other }
    }

    /// Whether a line without a mark belongs to the failure before it.
    fn goes_on(&mut self, at: usize) -> bool {
        let Open::Block { lines, message } = self.open else { return false };
        if self.is_blank(at) {
            self.open = Open::Block { lines, message: false };
            let mut next = at..self.lines.len().min(at + BLANK_LINES + 1);
            return next
                .find(|next| !self.is_blank(*next))
                .is_some_and(|next| !self.marks[next].is_routine() && self.is_inside(next));
        }
        self.open = Open::Block { lines: lines + 1, message };
        let beside_inside = || {
            let before = at.checked_sub(1).is_some_and(|before| self.is_inside(before));
            before || (at + 1 < self.lines.len() && self.is_inside(at + 1))
        };
        let is_part = || message || self.is_inside(at) || beside_inside();
        lines < NEXT_LINES || (lines < BLOCK_LINES && is_part())
    }

    /// Whether a line looks like the inside of a block: indented, or marked as part of a stack or
    /// diff.
    fn is_inside(&self, at: usize) -> bool {
        !self.is_blank(at)
            && (self.lines[at].starts_with([' ', '\t']) || self.marks[at].has(Mark::Inside))
    }

    fn is_blank(&self, at: usize) -> bool {
        self.lines[at].trim().is_empty()
    }
}

/// `go test -v` prints a test's output before its verdict, behave the step that failed.
fn enter_lines_before_verdicts(lines: &[&str], reports: &mut [TestReport]) {
    for at in 0..lines.len() {
        let Some(first) = first_before_verdict(lines, at) else { continue };
        for report in &mut reports[first..at] {
            if *report == TestReport::Other {
                *report = TestReport::Detail;
            }
        }
    }
}

/// A linter names a file once above the places in it, Ansible a task above its hosts: without that
/// line nobody knows where something failed.
fn enter_headings(lines: &[&str], reports: &mut [TestReport]) {
    let is_digit = |c: char| c.is_ascii_digit();
    let (mut file, mut task) = (None, None);
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let is_indented = line.starts_with([' ', '\t']);
        let column = line.trim_start().trim_start_matches(is_digit).strip_prefix(':');
        let is_place = is_indented && column.is_some_and(|column| column.starts_with(is_digit));
        let is_host = line.starts_with("fatal: [") || line.starts_with("failed: [");
        let heading = match reports[at] {
            TestReport::Failure if is_place => file,
            TestReport::Failure if is_host => task,
            _ => None,
        };
        if let Some(heading) = heading.filter(|heading| reports[*heading] == TestReport::Other) {
            reports[heading] = TestReport::Detail;
        }
        if line.starts_with("TASK [") || line.starts_with("RUNNING HANDLER [") {
            task = Some(at);
        }
        file = if is_indented { file } else { Some(at) };
    }
}

/// The first of the lines before a line that belong to its verdict, if that is one of these.
fn first_before_verdict(lines: &[&str], at: usize) -> Option<usize> {
    let line = lines[at].trim_start();
    if FAILED_STEP.iter().any(|says| line.starts_with(says)) {
        return at.checked_sub(1);
    }
    let rest = line.strip_prefix("--- FAIL: ")?;
    let name = rest.split(' ').next().unwrap_or(rest);
    let from = at.saturating_sub(BLOCK_LINES);
    let begins =
        |line: &str| line.strip_prefix("=== RUN").is_some_and(|begun| begun.trim() == name);
    let begun = (from..at).rev().find(|line| begins(lines[*line]))?;
    Some(begun + 1)
}

/// A line without its middle if it is long.
fn both_ends(line: Cow<'_, str>) -> Cow<'_, str> {
    if line.len() <= 2 * LOOKED_AT_BYTES {
        return line;
    }
    let boundary = |mut near: std::ops::Range<usize>| near.find(|at| line.is_char_boundary(*at));
    let head = boundary(LOOKED_AT_BYTES..LOOKED_AT_BYTES + 4).unwrap_or_default();
    let from = line.len() - LOOKED_AT_BYTES;
    let tail = boundary(from..from + 4).unwrap_or(line.len());
    Cow::Owned(format!("{} {}", &line[..head], &line[tail..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A letter for each line: what it reports.
    fn letters(text: &str) -> String {
        let lines: Vec<&str> = text.split('\n').collect();
        let letter = |report| match report {
            TestReport::Failure => 'F',
            TestReport::Detail => 'd',
            TestReport::Summary => 's',
            TestReport::Routine => 'r',
            TestReport::Other => '.',
        };
        reports(&lines).into_iter().map(letter).collect()
    }

    #[test]
    fn a_block_runs_to_its_end_and_a_count_starts_none() {
        for (text, expected) in [
            (
                "error[E0308]: no\n --> a.rs:5:9\n  |\n5 | x\n  | ^ no\n\nwarning: unused\n --> b.rs",
                "Fdddd...",
            ),
            ("thread 'a' panicked at a.rs:5:9:\none\ntwo\nthree\nfour\n\nplain", "Fdddd.."),
            (
                "a\nTraceback (most recent call last):\n  File \"a\", line 5, in f\n    x()\nsome.Fault\n\nplain",
                ".Fddd..",
            ),
            ("- Console: 15 errors, 0 warnings\n  - one\n  - two\n  - three\n  - four", "F...."),
            ("test a ... ok\ntest b ... FAILED\ntest c ... ok", "rFr"),
            ("\u{1b}[31mFAIL\u{1b}[0m a.test.js\n  \u{1b}[32m✓\u{1b}[39m adds", "Fr"),
            ("10%\r50%\rerror: no such thing", "F"),
            ("  FAILED  \r\n  detail\r\n", "Fd."),
        ] {
            assert_eq!(letters(text), expected, "{text}");
        }
    }

    #[test]
    fn repeated_stack_frames_appear_once_but_every_failure_does() {
        let stack = "Error: no\n    at f (/p/a.js:5:9)\n    at g (/p/a.js:9:9)\n\n";
        let other = "Error: no\n    at f (/p/a.js:5:9)\n    at h (/p/b.js:1:1)";
        assert_eq!(letters(&format!("{stack}{stack}{other}")), "Fdd.F...F.d");
    }

    #[test]
    fn what_a_log_passed_on_reports_what_it_reports_alone() {
        let text = "test a ... ok\ntest b ... FAILED\n\nTraceback (most recent call last):\n  File \"a.py\", line 5, in f\n    x()\nValueError: no\n\nnpm error code 1\nFAIL a.test.js\n  x\nError: no\n    at f (/p/a.js:5:9)\nfine";
        assert_eq!(letters(text), "rF.FddF.FFdFdd");
        for before in [
            "api-1  | ",
            "worker_12     | ",
            "[pod/web-1/app] ",
            "build\tRun tests\t2026-01-05T12:07:31.1234567Z ",
            "build\tRun tests\t\u{feff}2026-01-05T12:07:31.1234567Z ",
            "2026-01-05T12:07:31Z ",
            "[2026-01-05T12:07:31.120Z] ",
            "2026-01-05T12:07:31.123456Z 01O ",
            "#10 12.34 ",
            "web:build: ",
            "@acme/web-ui:test:unit: ",
            "api-1  | 2026-01-05T12:07:31.123456789Z ",
        ] {
            let passed: Vec<String> =
                text.split('\n').map(|line| format!("{before}{line}")).collect();
            assert_eq!(letters(&passed.join("\n")), letters(text), "{before}");
        }
    }

    #[test]
    fn what_failed_is_told_with_the_file_or_the_task_above_it() {
        for (text, expected) in [
            (
                "/p/a.ts\n  1:5  warning  Unused  no-x\n\n/p/b.ts\n  2:5  warning  Unused  no-x\n  7:5  error  Unsafe  no-y\n\n/p/c.ts\n  1:5  warning  Unused  no-x",
                "...d.F...",
            ),
            (
                "TASK [a] ***\nok: [x]\n\nTASK [b] ***\nok: [y]\nfatal: [x]: FAILED! => {}\n\nTASK [c] ***\nok: [y]",
                "...d.F...",
            ),
            ("Open points\n  1. error: no such file\n  2: error: gone", ".FF"),
        ] {
            assert_eq!(letters(text), expected, "{text}");
        }
    }

    #[test]
    fn what_a_test_of_go_said_before_its_verdict_belongs_to_it() {
        let text = "=== RUN   TestA\n    a_test.go:5: fine\n--- PASS: TestA (0.00s)\n=== RUN   TestB\n    a_test.go:9: bad\n--- FAIL: TestB (0.00s)";
        assert_eq!(letters(text), "r.rrdF");
    }

    #[test]
    fn a_failure_in_the_midst_of_a_run_has_all_that_is_said_of_it() {
        for (text, expected) in [
            (
                "00:01 +4: b\n00:01 +4 -1: b [E]\n  Expected: <1>\n    Actual: <2>\n\n  package:matcher expect\n  test/b_test.dart 9:5  main.<fn>\n\n00:02 +5 -1: c",
                ".Fddddd..",
            ),
            (
                "  * test b (1.2ms) [L#9]\n\n  1) test b (MathTest)\n     test/b_test.exs:9\n     code:  assert b()\n     left:  2\n     right: 1\n\nMore",
                "..Fdddd..",
            ),
            (
                "    Given a # steps.py:3 0.000s\n    Then b # steps.py:9 0.001s\n      Assertion Failed: 1 != 2\n\n  Scenario: c",
                ".dF",
            ),
        ] {
            let letters = letters(text);
            assert!(letters.starts_with(expected), "{letters}: {text}");
        }
    }

    #[test]
    fn long_lines_and_lines_of_many_bytes_are_read_at_both_ends() {
        for filling in ["x".repeat(5_000), "é".repeat(5_000), "日".repeat(3_001)] {
            assert_eq!(letters(&format!("test {filling} ... FAILED")), "F");
            assert_eq!(letters(&format!("error: {filling}")), "F");
        }
    }
}
