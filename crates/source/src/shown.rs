//! The lines of a file that a command line shows, if it shows nothing else.
//!
//! Whether an output is these lines is for the caller to find out. Looks nothing up.

use std::path::{Path, PathBuf};

use super::commands::commands;
use base::harness::shell::{Command, Pick, shown_files};
use base::harness::shows_nothing;
use base::object::{Slice, line_count, slice_of_lines};

/// Longest line that is read, in bytes: nobody writes a longer one to see a file.
const MAX_BYTES: usize = 4_096;

/// Lines of a file that a command line shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownFile {
    /// The absolute path.
    pub path: PathBuf,
    /// What picks the lines, one after the other.
    picks: Vec<Pick>,
}

/// The file of which a command line that starts in `folder` shows lines. `None` if it shows lines
/// of several, or anything else.
pub fn shown_file(line: &str, folder: &Path) -> Option<ShownFile> {
    if line.len() > MAX_BYTES {
        return None;
    }
    let commands = commands(line, folder);
    let may_be_other =
        |command: &Command| command.sets_path() || (command.is_shown && !command.is_of_system());
    if commands.iter().any(|placed| may_be_other(&placed.command)) {
        return None;
    }
    let mut shown: Option<ShownFile> = None;
    for placed in &commands {
        let command = &placed.command;
        if !command.is_shown
            || command.runs_script()
            || (!command.is_filter && shows_nothing(command))
        {
            continue;
        }
        let found = shown_files(command)?;
        match (&mut shown, found.files.as_slice()) {
            (None, [file]) if !command.is_filter => {
                placed.folder.as_ref()?;
                shown = Some(ShownFile { path: placed.path_of(file)?, picks: vec![found.pick] });
            }
            (Some(shown), []) if command.is_filter => shown.picks.push(found.pick),
            _ => return None,
        }
    }
    shown
}

impl ShownFile {
    /// The lines of the file that an output consists of. `None` if it is not exactly the lines that
    /// the command shows.
    pub fn slice(&self, text: &str, output: &str) -> Option<Slice> {
        let all = (1, line_count(text));
        let lines = self.picks.iter().try_fold(all, |lines, pick| pick.of(lines))?;
        slice_of_lines(text, lines, output)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(line: &str) -> Option<String> {
        Some(shown_file(line, Path::new("/p"))?.path.to_string_lossy().into_owned())
    }

    #[test]
    fn a_line_that_shows_one_file_names_it() {
        for (line, expected) in [
            ("cat a", "/p/a"),
            ("cd x && cat a", "/p/x/a"),
            ("cd /y; set -e; cat 'b c'", "/y/b c"),
            ("(cd x; cat a)", "/p/x/a"),
            ("cat /q/a | head -n 5 | tail -n 2", "/q/a"),
            ("cat < a", "/p/a"),
            ("bash -lc 'cd x && sed -n 1,5p a'", "/p/x/a"),
            ("make > log 2>&1; cat log", "/p/log"),
            ("./make.sh > log 2>&1; /bin/cat log", "/p/log"),
            ("x=$(cat b); cat a", "/p/a"),
            ("RUST_LOG=x timeout 5 cat a", "/p/a"),
        ] {
            assert_eq!(path(line).as_deref(), Some(expected), "{line}");
        }
    }

    #[test]
    fn a_line_that_shows_more_or_other_things_names_none() {
        for line in [
            "cat a b",
            "cat a; cat b",
            "cat a; ls",
            "ls; cat a",
            "ls | head",
            "cat a | grep x",
            "cat a | sort",
            "cat a > b",
            "cat $a",
            "cd $x; cat a",
            "cat",
            "x | cat a",
            "ssh host cat a",
            "docker exec c cat a",
            "find . | xargs cat",
            "git show HEAD:a",
            "for f in a b; do cat a; done",
            "./cat a",
            "bin/sed -n 1p a",
            "cat a | ./head -n 1",
            "./true; cat a",
            "./bash -c 'cat a'",
            "PATH=bin cat a",
            "PATH=bin; cat a",
            "export PATH=bin:$PATH && cat a",
            "",
        ] {
            assert_eq!(path(line), None, "{line}");
        }
    }

    #[test]
    fn an_output_is_lines_of_the_file_only_if_every_byte_is() {
        let text = "one\ntwo\n\nfour\nfive\n";
        let lines = |line: &str, output: &str| {
            let found = shown_file(line, Path::new("/p")).unwrap().slice(text, output)?;
            Some((found.first_line, found.last_line, found.suffix))
        };
        let is = |first, last, suffix: &str| Some((first, last, suffix.to_owned()));
        assert_eq!(lines("cat a", text), is(1, 6, ""));
        assert_eq!(lines("cat a", text.trim_end()), is(1, 5, ""));
        assert_eq!(lines("sed -n 2,3p a", "two\n\n"), is(2, 3, "\n"));
        assert_eq!(lines("sed -n 2,3p a", "two\n"), is(2, 3, ""));
        assert_eq!(lines("head -n 2 a", "one\ntwo\n"), is(1, 2, "\n"));
        assert_eq!(lines("tail -n 2 a", "four\nfive\n"), is(4, 6, ""));
        assert_eq!(lines("cat a | head -n 4 | tail -n 1", "four"), is(4, 4, ""));
        let notice = "\n\n[Showing lines 1-2 of 5. Full output: /tmp/x]";
        for (line, output) in [
            ("cat a", "one\ntwo"),
            ("cat a", "x\none\ntwo\n\nfour\nfive\n"),
            ("cat a", "one\r\ntwo\r\n\r\nfour\r\nfive\r\n"),
            ("cat -n a", "     1\tone\n     2\ttwo\n"),
            ("cat a; echo done", "one\ntwo\n\nfour\nfive\ndone\n"),
            ("sed -n 2,3p a", "one\ntwo\n"),
            ("tail -n 2 a", &format!("one\ntwo{notice}")),
            ("cat a", ""),
            ("sed -n 9p a", ""),
        ] {
            assert_eq!(lines(line, output), None, "{line}");
        }
    }
}
