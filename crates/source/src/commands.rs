//! Splits a shell command line into its commands, each with the folder in which it runs and the
//! paths that it names.
//!
//! Best effort, and nothing is looked up or run: what a shell would compute (variables,
//! substitutions, patterns) is left as written.

use std::path::{Path, PathBuf};

use super::discovery::cut;
use base::harness::shell::{
    self, Command, PathWord, ShellStep, Word, path_words_of, patterns, program_words,
};
use base::harness::{heads_matches, reads_named_files_only, shows_text_of_files};
use base::path::absolute_path;

/// Number of bytes of a line that are read: each `cd` may lengthen the folder of all later
/// commands.
const MAX_BYTES: usize = 32 << 10;

/// Maximum number of command folders, and of commands whose possible reads are determined.
const MAX_FOLDERS: usize = 8;
/// Maximum number of paths that one command may read.
const MAX_REACHED: usize = 16;

/// A command and where it runs.
#[derive(Debug)]
pub(super) struct PlacedCommand {
    /// The folder; `None` where only a shell could tell.
    pub(super) folder: Option<PathBuf>,
    pub(super) command: Command,
}

/// The commands of a line that starts in `folder`, in the order in which they end.
pub(super) fn commands(line: &str, folder: &Path) -> Vec<PlacedCommand> {
    let mut folder = Some(folder.to_owned());
    let mut outer = Vec::new();
    let mut found = Vec::new();
    for step in shell::script(cut(line, MAX_BYTES)) {
        match step {
            ShellStep::Enter => outer.push(folder.clone()),
            ShellStep::Leave => folder = outer.pop().unwrap_or(folder),
            ShellStep::Run(command) => {
                let mut placed = PlacedCommand { folder: folder.clone(), command };
                match placed.command.program() {
                    "cd" | "pushd" => folder = placed.folder_entered(),
                    "popd" => folder = None,
                    _ => placed.enter_given_folder(),
                }
                found.push(placed);
            }
        }
    }
    found
}

/// The paths that a command line names, and what else it may read.
#[derive(Debug, Default)]
pub struct NamesInCommand {
    /// Its words that may be paths.
    pub words: Vec<PathWord>,
    /// The absolute paths that the words of its commands may name.
    pub paths: Vec<PathBuf>,
    /// Folders in which commands run, the one in which the line starts first.
    pub folders: Vec<PathBuf>,
    /// Files and folders whose text commands may show without naming the file: where they run, and
    /// what they are given.
    pub reach: Vec<PathBuf>,
    /// Whether a search prints the path of a file above its lines instead of before each.
    pub heads_matches: bool,
}

/// The names in a line that starts in `folder`.
pub fn names_in(line: &str, folder: &Path) -> NamesInCommand {
    let commands = commands(line, folder);
    let all = || commands.iter().map(|placed| &placed.command);
    let here = || commands.iter().filter(|placed| !placed.command.is_elsewhere);
    let mut names = NamesInCommand {
        words: path_words_of(line, all()),
        paths: here().flat_map(PlacedCommand::paths).collect(),
        folders: vec![folder.to_owned()],
        reach: Vec::new(),
        heads_matches: all().any(heads_matches),
    };
    for ran in here().filter_map(|placed| placed.folder.as_ref()) {
        if names.folders.len() < MAX_FOLDERS && !names.folders.contains(ran) {
            names.folders.push(ran.clone());
        }
    }
    let reads = |placed: &&PlacedCommand| !reads_named_files_only(&placed.command);
    for placed in here().filter(reads).take(MAX_FOLDERS) {
        names.reach.push(placed.folder.clone().unwrap_or_else(|| folder.to_owned()));
        names.reach.extend(placed.paths().take(MAX_REACHED));
    }
    names
}

/// The absolute paths of the files whose text a line shows as it is, with `cat` and the like. `folder`:
/// where the line starts.
pub fn shown_by(line: &str, folder: &Path) -> Vec<PathBuf> {
    let commands = commands(line, folder);
    let shows = |command: &Command| {
        command.is_shown && !command.is_elsewhere && shows_text_of_files(command)
    };
    commands
        .iter()
        .filter(|placed| shows(&placed.command))
        .flat_map(PlacedCommand::paths)
        .take(MAX_REACHED)
        .collect()
}

/// The names in a program written in a language other than shell, which runs in `folder`.
pub fn names_in_program(text: &str, folder: &Path) -> NamesInCommand {
    NamesInCommand {
        words: program_words(text),
        folders: vec![folder.to_owned()],
        reach: vec![folder.to_owned()],
        ..NamesInCommand::default()
    }
}

impl PlacedCommand {
    /// The absolute paths that its words may name, as the command would take them: `..` stays.
    pub(super) fn paths(&self) -> impl Iterator<Item = PathBuf> {
        let goes = matches!(self.command.program(), "cd" | "pushd");
        let before = self.command.words.len() - self.command.from_program().len();
        let patterns = patterns(&self.command);
        let named = self.command.words.iter().enumerate().filter(move |(place, word)| {
            let is_pattern = patterns.iter().any(|pattern| std::ptr::eq(*pattern, *word));
            // A program name without a slash is looked for in `PATH`.
            let is_path = *place > before || word.redirect.is_some();
            let is_program = *place == before && word.text.contains('/');
            // A quoted `*` is not a pattern, and no name either.
            let is_mark = !word.is_plain && !word.text.contains(char::is_alphanumeric);
            !goes && !is_pattern && !is_mark && !word.is_computed && (is_path || is_program)
        });
        named.flat_map(|(_, word)| {
            let value = word.text.split_once('=').map(|(_, value)| value);
            let texts = [Some(&*word.text).filter(|text| !text.starts_with('-')), value];
            texts.into_iter().flatten().filter_map(|text| self.resolve(text, word.is_plain))
        })
    }

    /// The absolute path of a word; `None` if it is relative to an unknown folder.
    pub(super) fn path_of(&self, word: &Word) -> Option<PathBuf> {
        if word.is_computed { None } else { self.resolve(&word.text, word.is_plain) }
    }

    fn resolve(&self, text: &str, is_plain: bool) -> Option<PathBuf> {
        let folder = self.folder.as_deref().unwrap_or(Path::new(""));
        let path = if is_plain && text.starts_with('~') {
            absolute_path(text, folder)
        } else {
            folder.join(text)
        };
        Some(path).filter(|path| !text.is_empty() && path.is_absolute())
    }

    /// The folder that `cd` enters.
    fn folder_entered(&self) -> Option<PathBuf> {
        let given = |word: &&Word| !word.text.starts_with('-') || word.text == "-";
        let Some(word) = self.command.arguments().find(given) else { return std::env::home_dir() };
        if word.text == "-" {
            return None;
        }
        // A shell removes `..` textually.
        Some(absolute_path("", &self.path_of(word)?))
    }

    /// `git -C folder …`.
    fn enter_given_folder(&mut self) {
        if !matches!(self.command.program(), "git" | "make" | "tar" | "ninja") {
            return;
        }
        let mut words = self.command.arguments().skip_while(|word| word.text != "-C");
        if let Some(word) = words.nth(1) {
            self.folder = self.path_of(word);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The paths that a line names, those of `/w` without it.
    fn paths(line: &str) -> Vec<String> {
        let commands = commands(line, Path::new("/w"));
        let paths = commands.iter().flat_map(PlacedCommand::paths);
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
        check(">a cat b", &["a", "b"]);
        check("sudo -u me cat a", &["a"]);
    }

    #[test]
    fn what_a_shell_computes_is_left_alone() {
        check("cat $A \"$B/c\" ${D}/e $'f' g", &["f", "g"]);
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
    fn commands_in_other_places_are_known() {
        let is_elsewhere = |line: &str| {
            commands(line, Path::new("/w")).iter().all(|placed| placed.command.is_elsewhere)
        };
        assert!(is_elsewhere("ssh host cat a") && is_elsewhere("docker exec -it c cat a"));
        assert!(!is_elsewhere("docker build -f a .") && !is_elsewhere("cat ssh"));
    }
}
