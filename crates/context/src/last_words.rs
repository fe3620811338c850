//! The last meaningful line of an output, quoted in its reference line. Pure.

/// What hosts write below an output about how the command ended, up to the number.
const ENDINGS: [&str; 5] = [
    "command exited with code",
    "process exited with code",
    "exited with exit code",
    "exit code",
    "exit status",
];
/// What hosts write about which part of an output they show.
const NOTICES: [&str; 6] = [
    "[showing lines ",
    "[output truncated",
    "[full output",
    "[read output capped ",
    "(no output)",
    "wall time",
];

/// The last meaningful line. Skips the host's notes on how the command ended and what it shows, and
/// shell prompts. A line without letters or digits counts only if there is no other. Empty if there
/// is none.
pub fn last_words(text: &str) -> &str {
    let lines = || text.lines().rev().map(str::trim).filter(|line| says_something(line));
    let with_words = lines().find(|line| line.chars().any(char::is_alphanumeric));
    with_words.or_else(|| lines().next()).unwrap_or_default()
}

fn says_something(line: &str) -> bool {
    !line.is_empty() && !is_ending(line) && !is_notice(line) && !is_prompt(line)
}

fn is_ending(line: &str) -> bool {
    let words = line.trim_matches(|c| "<>()[].".contains(c));
    ENDINGS.iter().any(|ending| {
        let rest =
            strip_ignoring_case(words, ending).map(|rest| rest.trim_start_matches(':').trim());
        rest.is_some_and(|rest| rest.parse::<i64>().is_ok())
    })
}

/// `[Showing lines …]`, `[12 more lines in file. …]`, `(no output)`.
fn is_notice(line: &str) -> bool {
    let is_count =
        line.starts_with('[') && line.ends_with(']') && line.contains(" more lines in file");
    is_count || NOTICES.iter().any(|notice| strip_ignoring_case(line, notice).is_some())
}

/// `$`, `>>>`, `user@host:~/p$`.
fn is_prompt(line: &str) -> bool {
    let Some(head) = line.strip_suffix(['$', '#', '%', '>']) else { return false };
    let is_place = head.contains('@') && head.contains(':') && !head.contains(char::is_whitespace);
    is_place || head.chars().all(|c| "$#%>".contains(c))
}

fn strip_ignoring_case<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let (head, rest) = text.split_at_checked(prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::last_words;

    #[test]
    fn what_the_host_adds_is_passed_over() {
        for after in [
            "Command exited with code 101",
            "Process exited with code 1",
            "<exited with exit code 0>",
            "Exit code: 2",
            "[Showing lines 1-2000 of 5000. Full output: /tmp/x]",
            "[3012 more lines in file. Use offset=2001 to continue.]",
            "[Read output capped at 50KB for this call. Use offset=6001 to continue.]",
            "(Command exited with code 7)",
            "Wall time: 0.2 seconds",
            "$",
            ">>>",
            "root@box:/p#",
            "-----",
            "}",
        ] {
            let text = format!("test a ... FAILED\n\n{after}\n\n");
            assert_eq!(last_words(&text), "test a ... FAILED", "{after}");
        }
    }

    #[test]
    fn what_the_program_says_stays() {
        for line in ["Exit code 7 means full disk", "exited with code", "50%", "a > b", "[done]"] {
            assert_eq!(last_words(&format!("first\n{line}\n")), line);
        }
        assert_eq!(last_words("(no output)"), "");
        assert_eq!(last_words("--\n}\n"), "}");
        assert_eq!(last_words("\n \n"), "");
    }
}
