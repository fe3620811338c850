//! The commands of a shell's command line: their words, and the folder in which each runs.
//!
//! Best effort, and nothing is looked up or run: what a shell would compute (variables, substitutions, patterns) is left as
//! it stands.

use std::path::{Path, PathBuf};

use super::words::{Part, Word, parts};
use crate::source::absolute_path;

/// How deep command lines in command lines (`bash -c "…"`) are read.
const MAX_DEPTH: u32 = 3;
/// Words before a command's name.
const KEYWORDS: [&str; 10] =
    ["if", "then", "elif", "else", "while", "until", "do", "!", "{", "time"];
/// Programs whose output is text of the files that they are given.
const READERS: [&str; 10] =
    ["cat", "nl", "head", "tail", "less", "more", "bat", "batcat", "sed", "awk"];
/// Commands that show no paths.
const SILENT: [&str; 8] = ["cd", "pushd", "popd", "export", "set", "source", ".", "true"];
const SHELLS: [&str; 5] = ["bash", "sh", "zsh", "dash", "ksh"];
/// Programs that run a command in another place when one of the words behind them stands among theirs.
const CONTAINERS: [&str; 4] = ["docker", "podman", "nerdctl", "kubectl"];

/// A command.
#[derive(Debug)]
pub(super) struct Command {
    /// Where it runs; `None` where only a shell could tell.
    pub(super) folder: Option<PathBuf>,
    words: Vec<Word>,
}

/// The commands of a line that starts in `folder`, in order.
pub(super) fn commands(line: &str, folder: &Path) -> Vec<Command> {
    let mut found = Vec::new();
    gather(line, Some(folder.to_owned()), MAX_DEPTH, &mut found);
    found
}

impl Command {
    /// The absolute paths that its words may name, as the command would take them: `..` is left in.
    pub(super) fn paths(&self) -> impl Iterator<Item = PathBuf> {
        let goes = matches!(self.program(), "cd" | "pushd");
        let named = self.words.iter().enumerate().filter(move |(place, word)| {
            // A program's name without a slash is looked for in `PATH`.
            !goes && !word.is_computed && (*place > 0 || word.text.contains('/'))
        });
        named.flat_map(|(_, word)| {
            let value = word.text.split_once('=').map(|(_, value)| value);
            let texts = [Some(&*word.text).filter(|text| !text.starts_with('-')), value];
            texts.into_iter().flatten().filter_map(|text| self.resolve(text, word.is_plain))
        })
    }

    /// The folders that it lists by bare names: those that `ls` is given.
    pub(super) fn listed(&self) -> Vec<PathBuf> {
        if self.lists() { self.paths().collect() } else { Vec::new() }
    }

    /// Whether it is `ls`.
    pub(super) fn lists(&self) -> bool {
        self.program() == "ls"
    }

    /// Whether all that it shows is text of files.
    pub(super) fn shows_text(&self) -> bool {
        READERS.contains(&self.program())
    }

    /// Whether it shows nothing.
    pub(super) fn is_silent(&self) -> bool {
        self.words.is_empty() || SILENT.contains(&self.program())
    }

    /// Whether it runs a command on another machine or in a container, where paths mean other files.
    pub(super) fn is_elsewhere(&self) -> bool {
        let runs = |word: &Word| matches!(&*word.text, "exec" | "run");
        let program = self.program();
        program == "ssh" || (CONTAINERS.contains(&program) && self.words.iter().any(runs))
    }

    fn program(&self) -> &str {
        self.words.first().map_or("", |word| base_name(&word.text))
    }

    fn resolve(&self, text: &str, is_plain: bool) -> Option<PathBuf> {
        resolve(text, is_plain, self.folder.as_deref())
    }
}

/// `None` for a path that is relative to nobody knows what.
fn resolve(text: &str, is_plain: bool, folder: Option<&Path>) -> Option<PathBuf> {
    let folder = folder.unwrap_or(Path::new(""));
    let path = if is_plain && text.starts_with('~') {
        absolute_path(text, folder)
    } else {
        folder.join(text)
    };
    Some(path).filter(|path| !text.is_empty() && path.is_absolute())
}

fn gather(line: &str, folder: Option<PathBuf>, depth: u32, found: &mut Vec<Command>) {
    let mut folder = folder;
    let mut words = Vec::new();
    let mut outer = Vec::new();
    for part in parts(line) {
        match part {
            Part::Word(word) => words.push(word),
            Part::End => finish(std::mem::take(&mut words), &mut folder, depth, found),
            Part::Open => outer.push((folder.clone(), std::mem::take(&mut words))),
            Part::Close => {
                finish(std::mem::take(&mut words), &mut folder, depth, found);
                if let Some(before) = outer.pop() {
                    (folder, words) = before;
                }
            }
        }
    }
    for words in outer.into_iter().map(|(_, words)| words).chain([words]) {
        finish(words, &mut folder, depth, found);
    }
}

/// Takes a command with all its words.
fn finish(
    mut words: Vec<Word>,
    folder: &mut Option<PathBuf>,
    depth: u32,
    found: &mut Vec<Command>,
) {
    let is_before = |word: &Word| {
        KEYWORDS.contains(&&*word.text)
            || word.text.split_once('=').is_some_and(|(name, _)| is_variable(name))
    };
    let start = words.iter().position(|word| !is_before(word)).unwrap_or(0);
    words.drain(..start);
    if depth > 0 {
        for place in 0..words.len().saturating_sub(2) {
            let is_shell = SHELLS.contains(&base_name(&words[place].text));
            if is_shell && is_command_flag(&words[place + 1].text) {
                gather(&words[place + 2].text, folder.clone(), depth - 1, found);
            }
        }
    }
    let mut command = Command { folder: folder.clone(), words };
    match command.program() {
        "cd" | "pushd" => *folder = command.folder_entered(),
        "popd" => *folder = None,
        "git" | "make" | "tar" | "ninja" => command.enter_given_folder(),
        _ => {}
    }
    found.push(command);
}

impl Command {
    /// Where `cd` leads.
    fn folder_entered(&self) -> Option<PathBuf> {
        let given =
            self.words[1..].iter().find(|word| !word.text.starts_with('-') || word.text == "-");
        let Some(word) = given else { return std::env::home_dir() };
        if word.is_computed || word.text == "-" {
            return None;
        }
        // A shell takes `..` out by text.
        let path = self.resolve(&word.text, word.is_plain)?;
        Some(absolute_path("", &path))
    }

    /// `git -C folder …`.
    fn enter_given_folder(&mut self) {
        let at = self.words.iter().position(|word| word.text == "-C");
        if let Some(word) = at.and_then(|at| self.words.get(at + 1)) {
            let path = self.resolve(&word.text, word.is_plain);
            self.folder = path.filter(|_| !word.is_computed);
        }
    }
}

fn is_variable(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn is_command_flag(word: &str) -> bool {
    word.starts_with('-') && !word.starts_with("--") && word.ends_with('c')
}

fn base_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The paths that a line names, those of `/w` without it.
    fn paths(line: &str) -> Vec<String> {
        let commands = commands(line, Path::new("/w"));
        let paths = commands.iter().flat_map(Command::paths);
        let shown = |path: PathBuf| path.strip_prefix("/w").unwrap_or(&path).to_owned();
        paths.map(|path| shown(path).to_string_lossy().into_owned()).collect()
    }

    fn check(line: &str, expected: &[&str]) {
        assert_eq!(paths(line), expected, "{line}");
    }

    #[test]
    fn words_are_those_of_a_shell() {
        check("cat a.txt 'b c.txt' \"d \\\"e\" f\\ g", &["a.txt", "b c.txt", "d \"e", "f g"]);
        check("cat a*.rs {b,c}.rs # d", &["a*.rs", "{b,c}.rs"]);
        check("cat \\\n  a \\\n  b", &["a", "b"]);
        check("./run.sh --in=a --out b -v X=c", &["run.sh", "a", "b", "X=c", "c"]);
        check("A=x B=y make all", &["all"]);
        check("cat 'open", &["open"]);
    }

    #[test]
    fn commands_end_at_operators_and_redirections_name_files() {
        check(
            "cat a;cat b&&cat c||cat d|cat e & cat f\ncat g",
            &["a", "b", "c", "d", "e", "f", "g"],
        );
        check("sort <a >b 2>c 2>&1 &>d >>e >|f", &["a", "b", "c", "d", "e", "f"]);
        check("if test -f a; then cat b; fi", &["a", "b"]);
        check("for f in a b; do wc c; done", &["f", "in", "a", "b", "c"]);
        check("(cat a) && { cat b; }", &["a", "b"]);
    }

    #[test]
    fn what_a_shell_computes_is_left_alone() {
        check("cat $A \"$B/c\" ${D}/e $'f' g", &["g"]);
        check("cat $(git ls-files a)/b c `which d`/e f", &["ls-files", "a", "d", "c", "f"]);
        check("diff <(sort a) <(sort b)", &["a", "b"]);
        check("cd $A && cat b /c", &["/c"]);
    }

    #[test]
    fn here_documents_are_left_out_and_what_follows_is_read() {
        check("cat > a <<'EOF'\nb c\n  EOF\nEOF\ncat d", &["a", "d"]);
        check("cat <<-E <<F - a\nb\n\tE\nc\nF\ncat d", &["a", "d"]);
        check("cat <<< 'a b' c", &["c"]);
        check("cat <<EOF\nb", &[]);
    }

    #[test]
    fn paths_count_from_where_the_command_runs() {
        check("cd a && cat b; cd ../c; cat d", &["a/b", "c/d"]);
        check("(cd a && cat b); cat c", &["a/b", "c"]);
        check("cd /x/./y/.. && cat ../b", &["/x/../b"]);
        check("cd - && cat b", &[]);
        check("git -C a diff b", &["a/a", "a/diff", "a/b"]);
        check("bash -lc 'cd a && cat b'; cat c", &["a/b", "cd a && cat b", "c"]);
        let home = std::env::home_dir().unwrap();
        let home = home.join("a").to_string_lossy().into_owned();
        check("cat ~/a '~/a'; cd && cat a", &[&home, "~/a", &home]);
    }

    #[test]
    fn commands_in_other_places_are_told() {
        let is_elsewhere = |line: &str| commands(line, Path::new("/w"))[0].is_elsewhere();
        assert!(is_elsewhere("ssh host cat a") && is_elsewhere("docker exec -it c cat a"));
        assert!(!is_elsewhere("docker build -f a .") && !is_elsewhere("cat ssh"));
    }
}
