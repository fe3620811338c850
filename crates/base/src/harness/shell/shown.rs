//! Which lines of which files a command shows: `cat`, `head`, `tail`, `sed -n` and their like.
//!
//! Words alone decide. What a program does besides (numbers, headings) is not known here, so the
//! output must be compared with the lines.

use std::sync::LazyLock;

use regex::Regex;

use super::{Command, Redirect, Word};
use crate::harness::programs;

/// `10,20p`, `10,$p`, `10,+5p`, `10p`, `$p`, and a `q` after them.
static PRINTS: LazyLock<Regex> = LazyLock::new(|| {
    let form = r"^(?:(\d+)|(\$))(?:,(?:(\d+)|(\$)|\+(\d+)))?p(?:; *(?:\d+)?q)?;?$";
    Regex::new(form).expect("a constant that tests compile")
});
/// `20q`.
static QUITS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^(\d+)q;?$").expect("a constant that tests compile"));

/// Options of programs that show files whose next word is their value, but for numbers of lines.
const WITH_VALUE: [&str; 10] = [
    "-c",
    "--bytes",
    "-l",
    "--language",
    "--style",
    "--theme",
    "--paging",
    "--color",
    "-Encoding",
    "-ReadCount",
];

/// Lines picked from a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pick {
    /// All.
    All,
    /// The first ones, at most so many.
    First(u64),
    /// The last ones, at most so many.
    Last(u64),
    /// All but so many at the end.
    AllButLast(u64),
    /// From one on, up to another or to the end.
    From(u64, Option<u64>),
}

impl Pick {
    /// The lines that are picked from lines `first` to `last`; `None` if these are none.
    pub fn of(self, (first, last): (u64, u64)) -> Option<(u64, u64)> {
        let picked = match self {
            Self::All => (first, last),
            Self::First(lines) => (first, last.min(first.saturating_add(lines).saturating_sub(1))),
            Self::Last(lines) => (first.max(last.saturating_add(1).saturating_sub(lines)), last),
            Self::AllButLast(lines) => (first, last.saturating_sub(lines)),
            Self::From(from, to) => {
                let place = |line: u64| first.saturating_add(line).saturating_sub(1);
                (place(from.max(1)), to.map_or(last, |to| last.min(place(to))))
            }
        };
        (picked.0 <= picked.1).then_some(picked)
    }
}

/// What a command shows: lines of the files that these words name, or without any, of what it is
/// given.
#[derive(Debug)]
pub struct ShownFiles<'a> {
    /// The words.
    pub files: Vec<&'a Word>,
    /// The lines.
    pub pick: Pick,
}

/// What a command shows of files; `None` if it shows something else.
pub fn shown_files(command: &Command) -> Option<ShownFiles<'_>> {
    let program = command.program();
    let takes_lines = matches!(program, "head" | "tail" | "Select-Object" | "select");
    let is_one = programs::output(program) == Some(programs::Output::Files)
        || takes_lines
        || program == "sed";
    let is_other = command.is_elsewhere || !command.is_of_system();
    if !is_one || is_other || command.is_given_arguments() {
        return None;
    }
    let mut shown = if program == "sed" { by_sed(command)? } else { by_options(command)? };
    let inputs = command.words.iter().filter(|word| word.redirect == Some(Redirect::Input));
    shown.files.extend(inputs);
    Some(shown)
}

/// `sed -n 10,20p a`.
fn by_sed(command: &Command) -> Option<ShownFiles<'_>> {
    let is_short = |word: &Word| word.text.starts_with('-') && !word.text.starts_with("--");
    let (options, mut rest): (Vec<&Word>, Vec<&Word>) =
        command.arguments().partition(|word| word.text.starts_with('-') && word.text.len() > 1);
    let has =
        |letter: char| options.iter().any(|word| is_short(word) && word.text.contains(letter));
    let is_quiet = has('n') || command.has("--quiet") || command.has("--silent");
    if rest.is_empty() || has('i') || has('f') {
        return None;
    }
    let script = &*rest.remove(0).text;
    let number = |text: regex::Match<'_>| text.as_str().parse::<u64>().ok();
    let pick = if let Some(found) = PRINTS.captures(script).filter(|_| is_quiet) {
        let first = found.get(1).and_then(number);
        let last = found.get(3).and_then(number);
        let more = found.get(5).and_then(number);
        match (
            first,
            found.get(4),
            last.or(more.and_then(|more| Some(first?.saturating_add(more)))),
        ) {
            (None, ..) => Pick::Last(1),
            (Some(0), ..) => return None,
            (Some(first), Some(_), _) => Pick::From(first, None),
            // `sed` prints the first line of a range that ends before it.
            (Some(first), None, last) => Pick::From(first, Some(last.unwrap_or(first).max(first))),
        }
    } else {
        let found = QUITS.captures(script).filter(|_| !is_quiet)?;
        Pick::First(found.get(1).and_then(number).filter(|lines| *lines > 0)?)
    };
    Some(ShownFiles { files: rest, pick })
}

/// `head -n 5 a`, `tail +5 a`, `Get-Content a -Tail 5`.
fn by_options(command: &Command) -> Option<ShownFiles<'_>> {
    let program = command.program();
    let default = match program {
        "head" => Pick::First(10),
        "tail" => Pick::Last(10),
        _ => Pick::All,
    };
    let (mut files, mut pick, mut skipped) = (Vec::new(), default, None);
    let mut words = command.arguments().peekable();
    let mut has_options = true;
    while let Some(word) = words.next() {
        let text = &*word.text;
        let is_option = text.starts_with('-') && text.len() > 1;
        let from = text.strip_prefix('+').filter(|_| program == "tail");
        if let Some(line) = from.and_then(|line| line.parse().ok()) {
            pick = Pick::From(line, None);
        } else if !has_options || !is_option {
            files.push(word);
        } else if text == "--" {
            has_options = false;
        } else if let Some((option, value)) = lines_option(program, text) {
            let value = match value {
                Some(value) => value,
                None => &words.next()?.text,
            };
            match option {
                Count::First => pick = first(value)?,
                Count::Last => pick = last(value)?,
                Count::Skip => skipped = Some(value.parse::<u64>().ok()?),
                Count::Range => pick = range(value)?,
            }
        } else if WITH_VALUE.contains(&text) {
            words.next();
            if matches!(text, "-c" | "--bytes") {
                // All of a file that is no longer.
                pick = Pick::All;
            }
        }
    }
    if let Some(skipped) = skipped {
        pick = match pick {
            Pick::First(lines) => {
                Pick::From(skipped.saturating_add(1), Some(skipped.saturating_add(lines)))
            }
            _ => Pick::From(skipped.saturating_add(1), None),
        };
    }
    Some(ShownFiles { files, pick })
}

/// What an option counts.
enum Count {
    First,
    Last,
    Skip,
    Range,
}

/// What an option of a program counts, and its value if it is in the same word.
fn lines_option<'a>(program: &str, text: &'a str) -> Option<(Count, Option<&'a str>)> {
    let named = |name: &str| {
        let rest = text.strip_prefix(name)?;
        if rest.is_empty() { Some(None) } else { rest.strip_prefix('=').map(Some) }
    };
    let count = || if program == "tail" { Count::Last } else { Count::First };
    match program {
        "head" | "tail" => {
            if let Some(value) = named("--lines") {
                return Some((count(), value));
            }
            let number = text.trim_start_matches('-');
            let is_number =
                |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            if is_number(number) {
                return Some((count(), Some(number)));
            }
            let value = text.strip_prefix("-n").filter(|_| !text.starts_with("--"))?;
            Some((count(), Some(value).filter(|value| !value.is_empty())))
        }
        "bat" | "batcat" => {
            let value = named("--line-range").or_else(|| named("-r"))?;
            Some((Count::Range, value))
        }
        _ => match text.to_ascii_lowercase().as_str() {
            "-totalcount" | "-head" | "-first" => Some((Count::First, None)),
            "-tail" | "-last" => Some((Count::Last, None)),
            "-skip" => Some((Count::Skip, None)),
            _ => None,
        },
    }
}

fn first(value: &str) -> Option<Pick> {
    Some(match value.strip_prefix('-') {
        Some(lines) => Pick::AllButLast(lines.parse().ok()?),
        None => Pick::First(value.trim_start_matches('+').parse().ok()?),
    })
}

fn last(value: &str) -> Option<Pick> {
    Some(match value.strip_prefix('+') {
        Some(line) => Pick::From(line.parse().ok()?, None),
        None => Pick::Last(value.trim_start_matches('-').parse().ok()?),
    })
}

/// `5:10`, `:10`, `5:`, `5`.
fn range(value: &str) -> Option<Pick> {
    let number = |text: &str| text.parse::<u64>().ok().filter(|line| *line > 0);
    match value.split_once(':') {
        Some(("", last)) => Some(Pick::First(number(last)?)),
        Some((first, "")) => Some(Pick::From(number(first)?, None)),
        Some((first, last)) => Some(Pick::From(number(first)?, Some(number(last)?))),
        None => Some(Pick::From(number(value)?, number(value))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::commands;
    use super::*;

    /// The lines of 100 that the last command of a line picks.
    fn picked(line: &str) -> Option<(u64, u64)> {
        shown_files(&commands(line).last()?)?.pick.of((1, 100))
    }

    #[test]
    fn the_lines_that_a_command_shows_are_known_by_its_words() {
        for (line, lines) in [
            ("cat a", (1, 100)),
            ("cat -- a", (1, 100)),
            ("cat < a", (1, 100)),
            ("cat 'a' 2>/dev/null", (1, 100)),
            ("sudo /bin/cat a", (1, 100)),
            ("bat -p --style plain --line-range 5:9 a", (5, 9)),
            ("bat --line-range=:9 a", (1, 9)),
            ("less a", (1, 100)),
            ("more a", (1, 100)),
            ("type a", (1, 100)),
            ("head a", (1, 10)),
            ("head -20 a", (1, 20)),
            ("head -n 20 a", (1, 20)),
            ("head -n20 a", (1, 20)),
            ("head --lines=20 a", (1, 20)),
            ("head -n -20 a", (1, 80)),
            ("head -n 200 a", (1, 100)),
            ("head -n 18446744073709551615 a", (1, 100)),
            ("head -c 9000 a", (1, 100)),
            ("tail a", (91, 100)),
            ("tail -20 a", (81, 100)),
            ("tail -n 20 a", (81, 100)),
            ("tail -n +20 a", (20, 100)),
            ("tail +20 a", (20, 100)),
            ("tail -n 500 a", (1, 100)),
            ("sed -n 5,9p a", (5, 9)),
            ("sed -n '5,$p' a", (5, 100)),
            ("sed -n '5,+4p' a", (5, 9)),
            ("sed -n -e 5p a", (5, 5)),
            ("sed -n '$p' a", (100, 100)),
            ("sed -n '5,+18446744073709551615p' a", (5, 100)),
            ("sed -n '5,9p;10q' a", (5, 9)),
            ("sed -n '9,5p' a", (9, 9)),
            ("sed --quiet 5,900p a", (5, 100)),
            ("sed 9q a", (1, 9)),
            ("Get-Content a", (1, 100)),
            ("Get-Content -Path a -Tail 5", (96, 100)),
            ("gc a -TotalCount 5", (1, 5)),
            ("bash -lc 'sed -n 5,9p a'", (5, 9)),
        ] {
            let last = commands(line).find(|command| shown_files(command).is_some()).unwrap();
            let found = shown_files(&last).unwrap();
            let files: Vec<&str> = found.files.iter().map(|word| &*word.text).collect();
            assert_eq!((files, found.pick.of((1, 100))), (vec!["a"], Some(lines)), "{line}");
        }
        let several = commands("cat a b").last().unwrap();
        assert_eq!(shown_files(&several).unwrap().files.len(), 2);
        assert_eq!(picked("x | Select-Object -Skip 5 -First 3"), Some((6, 8)));
        for line in ["sed -n 200,300p a", "tail -n +101 a", "head -n 0 a"] {
            assert_eq!(picked(line), None, "{line}");
        }
    }

    #[test]
    fn other_commands_show_no_lines_of_files() {
        for line in [
            "ls a",
            "grep x a",
            "sed s/a/b/ a",
            "sed -n '1,5p;10,15p' a",
            "sed -n '/x/p' a",
            "sed -i 5q a",
            "sed 5,9p a",
            "git show HEAD:a",
            "ssh host cat a",
            "docker exec x cat a",
            "ls | xargs cat",
            "head -n x a",
            "./head a",
            "bin/sed -n 1p a",
            "/w/bin/cat a",
            "./sudo cat a",
            "PATH=bin:$PATH cat a",
            "env PATH+=:bin cat a",
            "wc -l a",
            "",
        ] {
            let mut all = commands(line).filter(|command| command.program() != "ssh");
            assert!(all.all(|command| shown_files(&command).is_none()), "{line}");
        }
    }
}
