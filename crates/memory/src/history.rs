//! What files of a repository said before, by hash, from git. Runs the program `git`, a few times for
//! all files together, within a deadline and so that nothing that a clone brings is run: only commands
//! that read objects, no hooks, no filters, no transport. Must not look at the work tree or write
//! anything.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::pins::{CitationPin, MAX_BYTES, with_lf};
use base::object::Hash;

/// Files whose history is read at once, so that their names fit on a command line.
const AT_ONCE: usize = 100;
/// Longest name of a file, in bytes.
const MAX_NAME: usize = 1_000;
/// Most versions of one file in which a text is looked for, the newest first.
const MAX_VERSIONS: usize = 500;
/// How long all looks may take together.
const PATIENCE: Duration = Duration::from_secs(5);

/// The texts of files of a project when they were pinned, as far as commits have them, by hash.
pub(super) fn texts_of<'p>(
    project: &Path,
    pins: impl Iterator<Item = &'p CitationPin>,
) -> HashMap<Hash, String> {
    // One name that git does not take would cost all others their texts.
    let is_askable = |pin: &&CitationPin| {
        let is_inside = !Path::new(&pin.path).is_absolute() && !pin.path.starts_with('~');
        is_inside && (1..=MAX_NAME).contains(&pin.path.len()) && !pin.path.contains('\0')
    };
    let wanted: BTreeSet<(&str, &Hash)> =
        pins.filter(is_askable).map(|pin| (&*pin.path, &pin.hash)).collect();
    let wanted: Vec<(&str, &Hash)> = wanted.into_iter().collect();
    let (mut patience, mut found) = (PATIENCE, HashMap::new());
    for some in wanted.chunks(AT_ONCE) {
        found.extend(History { project, patience: &mut patience }.texts(some));
    }
    found
}

/// A look into the history of a project.
struct History<'p> {
    project: &'p Path,
    /// How much longer it may take.
    patience: &'p mut Duration,
}

impl History<'_> {
    fn texts(&mut self, wanted: &[(&str, &Hash)]) -> HashMap<Hash, String> {
        let paths: Vec<&str> = wanted.iter().map(|(path, _)| *path).collect();
        let list = ["rev-list", "--all", "--full-history", "--"];
        let commits = self.git(&list, &paths, String::new(), line, |_| true);
        // What a commit has is told by how it differs from the ones before it.
        let differ = ["diff-tree", "--stdin", "--root", "-r", "-m", "-z", "--raw", "--no-abbrev"];
        let plain = ["--no-renames", "--no-ext-diff", "--relative", "--no-commit-id", "--"];
        let changes =
            self.git(&[&differ[..], &plain].concat(), &paths, commits.concat(), change, |_| true);
        let mut versions: HashMap<&str, HashSet<&str>> = HashMap::new();
        let mut blobs = String::new();
        for (before, after, path) in &changes {
            for blob in [after, before] {
                let known = versions.entry(path).or_default();
                if known.len() < MAX_VERSIONS && known.insert(blob) {
                    blobs.extend([blob, "\n"]);
                }
            }
        }
        let mut open: HashSet<Hash> = wanted.iter().map(|(_, hash)| (*hash).clone()).collect();
        let wanted = open.clone();
        let text = move |printed: &mut BufReader<ChildStdout>| text(printed, &wanted);
        let texts = self.git(&["cat-file", "--batch"], &[], blobs, text, |(hash, _)| {
            open.remove(hash);
            !open.is_empty()
        });
        texts.into_iter().collect()
    }

    /// What a command of git prints, in parts, as far as the deadline allows. `next`: reads one.
    /// `goes_on`: whether more is wanted after one.
    #[expect(clippy::disallowed_methods, reason = "it says how long to wait, and decides nothing")]
    fn git<T: Send + 'static>(
        &mut self,
        words: &[&str],
        paths: &[&str],
        input: String,
        next: impl FnMut(&mut BufReader<ChildStdout>) -> Option<T> + Send + 'static,
        goes_on: impl FnMut(&T) -> bool,
    ) -> Vec<T> {
        let began = Instant::now();
        let mut command = git(self.project);
        let printed =
            printed(command.args(words).args(paths), input, *self.patience, (next, goes_on));
        *self.patience = self.patience.saturating_sub(began.elapsed());
        printed
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

/// What a program prints, in parts, until it ends or nothing more is wanted; what it printed so far if
/// it takes too long.
#[expect(clippy::disallowed_methods, reason = "it says how long to wait, and decides nothing")]
fn printed<T: Send + 'static>(
    command: &mut Command,
    input: String,
    patience: Duration,
    (mut next, mut goes_on): (
        impl FnMut(&mut BufReader<ChildStdout>) -> Option<T> + Send + 'static,
        impl FnMut(&T) -> bool,
    ),
) -> Vec<T> {
    let mut found = Vec::new();
    if patience.is_zero() {
        return found;
    }
    let until = Instant::now() + patience;
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else { return found };
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        // It may have ended already; then it prints nothing.
        drop(stdin.map(|mut stdin| stdin.write_all(input.as_bytes())));
    });
    std::thread::spawn(move || {
        let mut printed = stdout.map(BufReader::new);
        while let Some(part) = printed.as_mut().and_then(&mut next) {
            if sender.send(part).is_err() {
                break;
            }
        }
    });
    while let Ok(part) = receiver.recv_timeout(until.saturating_duration_since(Instant::now())) {
        let is_last = !goes_on(&part);
        found.push(part);
        if is_last {
            break;
        }
    }
    drop((child.kill(), child.wait()));
    found
}

/// A line, with its end.
fn line(printed: &mut impl BufRead) -> Option<String> {
    let mut line = String::new();
    (printed.read_line(&mut line).ok()? > 0).then_some(line)
}

/// How a file changed, as `git diff-tree -z` prints it: what it was, what it is, its path.
fn change(printed: &mut impl BufRead) -> Option<(String, String, String)> {
    let mut field = || {
        let mut field = Vec::new();
        (printed.read_until(0, &mut field).ok()? > 0).then_some(())?;
        field.pop();
        Some(String::from_utf8_lossy(&field).into_owned())
    };
    let (change, path) = (field()?, field()?);
    let mut words = change.split(' ').skip(2).map(str::to_owned);
    Some((words.next()?, words.next()?, path))
}

/// The next text with one of some hashes among the objects that `git cat-file --batch` prints.
fn text(printed: &mut impl BufRead, wanted: &HashSet<Hash>) -> Option<(Hash, String)> {
    loop {
        let head = line(printed)?;
        let mut words = head.trim_end().rsplit(' ');
        let (size, kind) = (words.next()?, words.next()?);
        // `… missing`
        let Ok(size) = size.parse::<u64>() else { continue };
        let mut content = Vec::new();
        printed.by_ref().take(size.min(MAX_BYTES)).read_to_end(&mut content).ok()?;
        let rest = size - content.len() as u64 + 1;
        std::io::copy(&mut printed.by_ref().take(rest), &mut std::io::sink()).ok()?;
        let Some(text) = String::from_utf8(content).ok().filter(|_| kind == "blob") else {
            continue;
        };
        let text = with_lf(&text);
        let hash = Hash::of(&text);
        if wanted.contains(&hash) {
            return Some((hash, text));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_read_from_what_git_prints() {
        let mut printed =
            &b"a1 blob 3\nx\ny\nab:./gone missing\nb2 tree 2\n..\nc3 blob 0\n\nd4 blob 2\nz\r\ncut"
                [..];
        let wanted = ["x\ny", "", "z", ".."].map(Hash::of).into_iter().collect();
        let mut next = || text(&mut printed, &wanted).map(|(_, text)| text);
        assert_eq!([next(), next(), next()], [Some("x\ny".to_owned()), Some(String::new()), None]);
    }

    #[test]
    fn changes_are_read_from_what_git_prints() {
        let mut printed =
            &b":100644 100644 a1 b2 M\0src/a b.rs\0:000000 100644 00 c3 A\0b.rs\0:1"[..];
        let mut next =
            || change(&mut printed).map(|(one, other, path)| [one, other, path].join(" "));
        assert_eq!(next().as_deref(), Some("a1 b2 src/a b.rs"));
        assert_eq!(next().as_deref(), Some("00 c3 b.rs"));
        assert_eq!(next(), None);
    }

    #[cfg(unix)]
    #[test]
    fn a_program_that_does_not_end_is_ended() {
        let lines = |words: &[&str], patience: u64| {
            let mut command = Command::new(words[0]);
            let reading = (line, |_: &String| true);
            let patience = Duration::from_millis(patience);
            printed(command.args(&words[1..]), String::new(), patience, reading)
        };
        assert_eq!(lines(&["sh", "-c", "echo one; exec sleep 86400"], 500), ["one\n"]);
        assert_eq!(lines(&["no-such-program"], 5_000), [""; 0]);
        assert_eq!(lines(&["echo"], 0), [""; 0]);
    }
}
