//! The last meaningful line of an output, quoted in its reference line. Pure.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use super::plain::{plain, trimmed};
use base::harness::{tells_exit, tells_part};

/// A bar between brackets, or a long one of pip and cargo.
static BAR: LazyLock<Regex> = LazyLock::new(|| {
    let bar = r"[\[|(][-#=>█▓▒░━╸╺●○▏▎▍▌▋▊▉.* ]*[-#=>█▓▒░━╸╺●○▏▎▍▌▋▊▉.*]{2}[-#=>█▓▒░━╸╺●○▏▎▍▌▋▊▉.* ]*[\]|)]|[█━╸]{4}";
    Regex::new(bar).expect("a constant that a test compiles")
});
/// What a progress bar counts.
static COUNT: LazyLock<Regex> = LazyLock::new(|| {
    let count = r"[0-9]%|[0-9] ?(?:/|of) ?[0-9]|[0-9] ?[kMG]i?B";
    Regex::new(count).expect("a constant that a test compiles")
});
/// `$`, `>>>`, `user@host:~/p$`, `[user@host p]#`, `bash-5.1$`, `PS C:\p>`, `mysql>`.
static PROMPT: LazyLock<Regex> = LazyLock::new(|| {
    let prompt = r"^(?:\([\w.-]+\) ?)?(?:[$#%>]+|\S+@\S+:\S*[$#%>]|\[\S+@\S+ [^\]]*\][$#]|(?:ba|z|k|da)?sh-[0-9.]+[$#]|PS .*>|[a-z0-9_-]{3,16}(?:>|=[#>]))$";
    Regex::new(prompt).expect("a constant that a test compiles")
});

/// The last meaningful line, as a terminal would show it. Skips the host's notes on how the command
/// ended and what it shows, and shell prompts. A progress bar counts only if no other line has
/// words, and a line without letters or digits if there is no other. Empty if there is none.
pub fn last_words(text: &str) -> Cow<'_, str> {
    let lines = || text.lines().rev().map(said).filter(|line| says_something(line));
    let with_words = || lines().filter(|line| line.chars().any(char::is_alphanumeric));
    let found = with_words().find(|line| !is_progress(line)).or_else(|| with_words().next());
    found.or_else(|| lines().next()).unwrap_or_default()
}

fn said(line: &str) -> Cow<'_, str> {
    trimmed(plain(line))
}

fn says_something(line: &str) -> bool {
    !line.is_empty() && !tells_exit(line) && !tells_part(line) && !PROMPT.is_match(line)
}

fn is_progress(line: &str) -> bool {
    BAR.is_match(line) && COUNT.is_match(line)
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
            "(venv) root@box:/p#",
            "bash-5.1$",
            "PS C:\\p>",
            "100%|██████████| 1000/1000 [00:01<00:00, 900.12it/s]",
            "   ━━━━━━━━━━━━━━━━━━━━ 1.2/1.2 MB 5.6 MB/s",
            "    Building [=====>     ] 120/130: serde",
            "10% [#    ]\r100% [#####]",
            "\u{1b}[0m",
            "-----",
            "}",
        ] {
            let text = format!("test a ... FAILED\n\n{after}\n\n");
            assert_eq!(last_words(&text), "test a ... FAILED", "{after}");
        }
    }

    #[test]
    fn what_the_program_says_stays() {
        for line in [
            "Exit code 7 means full disk",
            "exited with code",
            "50%",
            "a > b",
            "[done]",
            "<div>",
            "=== 5 passed in 0.1s ===",
            "tests/test_a.py ....      [100%]",
            "Command timed out after 30 seconds",
        ] {
            assert_eq!(last_words(&format!("first\n{line}\n")), line);
        }
        assert_eq!(last_words("\u{1b}[31mfailed\u{1b}[0m\r\n"), "failed");
        assert_eq!(last_words("5% [#   ]\r50% [##  ]\n"), "50% [##  ]");
        assert_eq!(last_words("(no output)"), "");
        assert_eq!(last_words("--\n}\n"), "}");
        assert_eq!(last_words("\n \n"), "");
    }
}
