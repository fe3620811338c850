//! What a file of a repository said before, by its hash, from git. Runs the program `git`, within a
//! deadline and so that nothing that a clone brings is run: only commands that read objects, no
//! hooks, no filters, no transport. Must not look at the work tree or write anything.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::pins::{CitationPin, MAX_BYTES, with_lf};
use base::object::Hash;

/// Most commits in which a file is looked for, the newest first.
const MAX_COMMITS: &str = "--max-count=500";
/// Most bytes that are read for one file.
const MAX_READ: u64 = 4 * MAX_BYTES;
/// How long all looks may take together.
const PATIENCE: Duration = Duration::from_secs(5);

/// A look into the history of a project.
#[derive(Debug)]
pub(super) struct History {
    /// The project's folder; `None` if there is none.
    project: Option<PathBuf>,
    patience: Duration,
}

impl History {
    /// A look into the history of the repository that a project is in.
    pub(super) fn of(project: Option<&Path>) -> Self {
        Self { project: project.map(Path::to_owned), patience: PATIENCE }
    }

    /// The text of a file of the project when it was pinned, if a commit has it.
    pub(super) fn text_of(&mut self, pin: &CitationPin) -> Option<String> {
        let path = Path::new(&pin.path);
        if path.is_absolute() || pin.path.starts_with('~') || pin.path.contains('\n') {
            return None;
        }
        let list = ["rev-list", "--all", "--full-history", MAX_COMMITS, "--", &pin.path];
        let commits = String::from_utf8(self.git(&list, String::new())?).ok()?;
        let wanted = commits.lines().map(|commit| [commit, ":./", &pin.path, "\n"].concat());
        let found = self.git(&["cat-file", "--batch"], wanted.collect())?;
        let mut texts = blobs(&found).filter_map(|blob| std::str::from_utf8(blob).ok());
        texts.find_map(|text| Some(with_lf(text)).filter(|text| Hash::of(text) == pin.hash))
    }

    /// What a command of git prints, as far as the deadline and the limit on what is read allow;
    /// `None` if that is nothing.
    #[expect(clippy::disallowed_methods, reason = "it says how long to wait, and decides nothing")]
    fn git(&mut self, words: &[&str], input: String) -> Option<Vec<u8>> {
        let project = self.project.as_deref()?;
        let began = Instant::now();
        let printed = printed(git(project).args(words), input, self.patience);
        self.patience = self.patience.saturating_sub(began.elapsed());
        printed.filter(|printed| !printed.is_empty())
    }
}

/// The program, as far as it may go in somebody else's repository.
fn git(project: &Path) -> Command {
    let mut git = Command::new("git");
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("GIT_") {
            git.env_remove(name);
        }
    }
    // Objects that a partial clone does not have would be fetched, by programs that its settings
    // name; before git 2.45 only the transport can be forbidden.
    git.env("GIT_NO_LAZY_FETCH", "1").env("GIT_ALLOW_PROTOCOL", "none");
    git.env("GIT_TERMINAL_PROMPT", "0").env("GIT_OPTIONAL_LOCKS", "0");
    git.args(["--no-pager", "--no-replace-objects", "--literal-pathspecs"]);
    git.args(["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"]);
    git.args(["-c", "protocol.allow=never", "-c", "core.sshCommand=false"]);
    git.arg("-C").arg(project);
    git
}

/// What a program prints until it ends, or is ended.
fn printed(command: &mut Command, input: String, patience: Duration) -> Option<Vec<u8>> {
    if patience.is_zero() {
        return None;
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        // It may have ended already; then it prints nothing.
        drop(stdin.map(|mut stdin| stdin.write_all(input.as_bytes())));
    });
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        drop(stdout.map(|stdout| stdout.take(MAX_READ).read_to_end(&mut bytes)));
        drop(sender.send(bytes));
    });
    let found = receiver.recv_timeout(patience).ok();
    end(&mut child);
    found
}

/// Ends a program that has nothing more to say.
fn end(child: &mut Child) {
    drop(child.kill());
    drop(child.wait());
}

/// The contents of the objects that `git cat-file --batch` printed.
fn blobs(printed: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = printed;
    std::iter::from_fn(move || {
        loop {
            let (head, behind) = rest.split_at_checked(memchr::memchr(b'\n', rest)?)?;
            let behind = behind.get(1..)?;
            let mut words = std::str::from_utf8(head).ok()?.rsplit(' ');
            let (size, kind) = (words.next()?, words.next()?);
            let Ok(size) = size.parse::<usize>() else {
                // `… missing`
                rest = behind;
                continue;
            };
            let content = behind.get(..size)?;
            rest = behind.get(size + 1..).unwrap_or_default();
            if kind == "blob" {
                return Some(content);
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_read_from_what_git_prints() {
        let printed =
            b"a1 blob 3\nx\ny\nab:./gone missing\nb2 tree 2\n..\nc3 blob 0\n\nd4 blob 9\ncut";
        let found: Vec<&[u8]> = blobs(printed).collect();
        assert_eq!(found, [&b"x\ny"[..], b""]);
    }

    #[cfg(unix)]
    #[test]
    fn a_program_that_does_not_end_is_ended() {
        let mut forever = Command::new("sleep");
        let found = printed(forever.arg("1d"), String::new(), Duration::from_millis(50));
        assert_eq!(found, None);
        assert_eq!(printed(&mut Command::new("no-such-program"), String::new(), PATIENCE), None);
        let spent = printed(&mut Command::new("echo"), String::new(), Duration::ZERO);
        assert_eq!(spent, None);
    }
}
