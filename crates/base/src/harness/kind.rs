//! What kind of thing a call or command does, which decides how its output is shown.
//!
//! Only words decide: never an output, a file or a session. A command line that does several things
//! has the kind whose output should least be shortened.

use super::programs::{self, Output};
use super::shell::{self, Command, Git, Redirect, Word};

/// Programs that show nothing because they change files or run a file's commands.
const CHANGING: [&str; 9] = ["rm", "cp", "mv", "ln", "tee", "touch", "rmdir", "source", "."];

/// What a call does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ToolKind {
    /// Shows a file.
    Read,
    /// Creates a file, or writes all of it.
    Write,
    /// Changes a file.
    Edit,
    /// Lists a folder.
    List,
    /// Finds files by name.
    Find,
    /// Finds lines by a pattern.
    Search,
    /// Runs a command.
    Shell(ShellKind),
    /// Gets pages or looks for them.
    Web,
    /// Lets another agent do a task and gives its report.
    Delegate,
    /// Anything else.
    Other,
}

/// What a command does. Ordered: output that should least be shortened comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ShellKind {
    /// Picks lines or fields: `sed -n`, `head`, `tail`, `awk`, a filter after a pipe.
    Pick,
    /// Shows files whole: `cat`, `nl`.
    Read,
    /// Finds lines by a pattern: `grep`, `rg`.
    Search,
    /// Shows changes: `git diff`, `git show`.
    Diff,
    /// Builds, checks or tests.
    Build,
    /// Lists names: `ls`, `find`, `rg --files`.
    Listing,
    /// Shows a history or a log: `git log`, `docker logs`.
    Log,
    /// Anything else, and polls of a running command.
    Other,
}

/// The kind of a command line.
pub(super) fn shell_kind(line: &str) -> ShellKind {
    shell::commands(line)
        .filter_map(|command| command_kind(&command))
        .min()
        .unwrap_or(ShellKind::Other)
}

/// Whether a command line shows text of a file, not only lines that another command printed.
pub fn shows_file(line: &str) -> bool {
    let mut commands =
        shell::commands(line).filter(|command| command.is_shown && !command.is_filter);
    commands.any(|command| shows_text_of_files(&command))
}

/// Whether a command shows nothing but text of the files it is given.
pub fn shows_text_of_files(command: &Command) -> bool {
    matches!(programs::output(command.program()), Some(Output::Files | Output::Lines))
        && !is_edit_in_place(command)
}

/// Whether a command builds, checks or tests, wherever its output goes.
pub(super) fn is_build(command: &Command) -> bool {
    command_kind(command) == Some(ShellKind::Build)
        || programs::output(command.program()) == Some(Output::Report)
}

/// Whether a command shows nothing that matters.
pub fn shows_nothing(command: &Command) -> bool {
    let program = command.program();
    program.is_empty()
        || programs::output(program) == Some(Output::Nothing)
        || is_edit_in_place(command)
}

/// Whether a command reads only files named in its words. `git` names the file of everything it
/// shows.
pub fn reads_named_files_only(command: &Command) -> bool {
    if command.is_given_arguments() || command.words.iter().any(|word| word.is_computed) {
        return false;
    }
    if command.runs_script() {
        // Its commands are themselves in the line.
        return true;
    }
    if let Some(git) = command.git() {
        return git_kind(&git) != ShellKind::Other;
    }
    let has_option = |letter: char, name: &str| {
        let mut words = command.arguments().map(|word| &*word.text);
        words.any(|text| text == name || (is_short_option(text) && text.contains(letter)))
    };
    let program = command.program();
    match programs::output(program) {
        Some(Output::Nothing) => !matches!(program, "source" | "." | "set" | "export"),
        Some(Output::Files | Output::Lines | Output::Fields | Output::Counts) => true,
        Some(Output::Matches) => {
            let is_grep = program.ends_with("grep");
            is_grep
                && !has_option('r', "--recursive")
                && !has_option('R', "--dereference-recursive")
        }
        Some(Output::Names) => !runs_commands(command),
        Some(Output::Log | Output::Report) | None => program.is_empty(),
    }
}

/// Whether a search prints a file's path above its matches instead of before each.
pub fn heads_matches(command: &Command) -> bool {
    let is_git_grep = command.git().is_some_and(|git| git.subcommand == "grep");
    let heads = |word: &Word| {
        matches!(&*word.text, "--heading" | "--group" | "--pretty")
            || (command.program() == "rg" && is_short_option(&word.text) && word.text.contains('p'))
    };
    (is_git_grep || programs::is_search(command.program())) && command.arguments().any(heads)
}

/// `-rn`.
fn is_short_option(word: &str) -> bool {
    word.starts_with('-') && !word.starts_with("--")
}

/// `find -exec`.
fn runs_commands(command: &Command) -> bool {
    ["-exec", "-execdir", "-ok", "-x", "-X", "--exec", "--exec-batch"]
        .iter()
        .any(|word| command.has(word))
}

/// Whether a command line may change files: it has a program not known to only show something, or
/// its output goes to a file.
pub(super) fn may_change_files(line: &str) -> bool {
    shell::commands(line).any(|command| may_change(&command))
}

fn may_change(command: &Command) -> bool {
    let writes = |word: &Word| {
        matches!(word.redirect, Some(Redirect::Output | Redirect::Error))
            && word.text != "/dev/null"
    };
    if command.words.iter().any(writes) || is_edit_in_place(command) {
        return true;
    }
    // The commands that a shell runs are themselves in the line.
    let program = command.program();
    if program.is_empty() || command.runs_script() {
        return false;
    }
    if let Some(git) = command.git() {
        return matches!(git_kind(&git), ShellKind::Other);
    }
    match programs::output(program) {
        Some(Output::Nothing) => CHANGING.contains(&program),
        Some(Output::Names) => command.has("-delete") || runs_commands(command),
        Some(Output::Report) | None => true,
        Some(_) => false,
    }
}

/// The kind of one command; `None` if none of its output is shown.
fn command_kind(command: &Command) -> Option<ShellKind> {
    if !command.is_shown || command.runs_script() {
        return None;
    }
    let program = command.program();
    let output = programs::output(program);
    if command.is_filter {
        let picks = matches!(
            output,
            Some(Output::Lines | Output::Fields | Output::Counts | Output::Matches)
        );
        return picks.then_some(ShellKind::Pick);
    }
    if let Some(git) = command.git() {
        return Some(git_kind(&git));
    }
    let of_output = match output {
        Some(Output::Nothing) => return None,
        Some(Output::Lines) if is_edit_in_place(command) => return None,
        Some(Output::Lines | Output::Fields | Output::Counts) => Some(ShellKind::Pick),
        Some(Output::Matches) if command.has("--files") => Some(ShellKind::Listing),
        Some(Output::Files) => Some(ShellKind::Read),
        Some(Output::Matches) => Some(ShellKind::Search),
        Some(Output::Names) => Some(ShellKind::Listing),
        Some(Output::Log) => Some(ShellKind::Log),
        Some(Output::Report) => Some(ShellKind::Build),
        None => None,
    };
    match (of_output, program) {
        (Some(kind), _) => Some(kind),
        (None, "") => None,
        (None, program) => Some(kind_by_arguments(program, command)),
    }
}

/// `sed -i`.
fn is_edit_in_place(command: &Command) -> bool {
    command.program() == "sed" && command.arguments().any(|word| word.text.starts_with("-i"))
}

/// The kind of a program whose arguments decide.
fn kind_by_arguments(program: &str, command: &Command) -> ShellKind {
    let first = command.arguments().find(|word| !word.text.starts_with('-'));
    let runs_tests = |names: &[&str]| names.iter().any(|name| command.has(name));
    match program {
        "docker" | "kubectl" | "podman" | "heroku" | "fly" if command.has("logs") => ShellKind::Log,
        "docker" | "podman" if command.has("build") => ShellKind::Build,
        "python" | "python3" if runs_tests(&["pytest", "unittest", "mypy", "build"]) => {
            ShellKind::Build
        }
        "node" if command.has("--test") => ShellKind::Build,
        _ if is_test_script(program) || first.is_some_and(|word| is_test_script(&word.text)) => {
            ShellKind::Build
        }
        _ => ShellKind::Other,
    }
}

fn git_kind(git: &Git<'_>) -> ShellKind {
    let shows_names = git.has_option("--stat") || git.has_option("--name");
    match git.subcommand {
        "diff" | "show" if shows_names => ShellKind::Listing,
        "diff" | "show" => ShellKind::Diff,
        "log" | "stash" if git.has_option("-p") || git.has_option("--patch") => ShellKind::Diff,
        "log" | "reflog" => ShellKind::Log,
        "ls-files" | "ls-tree" | "status" | "branch" | "tag" => ShellKind::Listing,
        "grep" => ShellKind::Search,
        "blame" => ShellKind::Read,
        _ => ShellKind::Other,
    }
}

fn is_test_script(word: &str) -> bool {
    let name = shell::base_name(word);
    let name = name.split('.').next().unwrap_or(name);
    matches!(name, "test" | "tests" | "build" | "lint" | "check")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_has_the_kind_of_what_it_shows() {
        use ShellKind::{Build, Diff, Listing, Log, Other, Pick, Read, Search};
        for (line, expected) in [
            ("RUST_LOG=debug timeout -k 5 60 cargo test 2>&1", Build),
            ("cargo test 2>&1 | tail -n 400", Pick),
            ("cargo test |& grep FAILED", Pick),
            ("(cd x && cargo test) | tail -n 4", Pick),
            ("sed -n '1,900p' a.rs", Pick),
            ("sed -i s/a/b/ a.rs && make", Build),
            ("cd x && grep -n \"a | b; c\" a", Search),
            ("rg --files src", Listing),
            ("git -C x diff --stat", Listing),
            ("git -C x diff HEAD~1", Diff),
            ("git log --oneline -n 20", Log),
            ("git log -p", Diff),
            ("git grep foo", Search),
            ("cat big.log", Read),
            ("cat > a.rs <<'EOF'\nfn main() { head }\ncargo test\nEOF", Other),
            ("cat > a.rs <<'EOF'\nx\nEOF\ncargo test", Build),
            ("cat a.rs; ls", Read),
            ("ls -la && npm run build", Build),
            ("find . -name '*.rs' -exec ls {} \\;", Listing),
            ("find . -name '*.rs' | xargs grep -n foo", Search),
            ("headless --run", Other),
            ("./scripts/test.sh --all", Build),
            ("docker compose logs web", Log),
            ("python -m pytest -q", Build),
            ("# how many\nmake", Build),
            ("make > log; ls", Listing),
            ("cat a | sort > b; ls", Listing),
            ("git commit -m \"$(cat msg)\" && cargo test", Build),
            ("bash -lc 'cargo test'", Build),
            ("sudo -u me cargo test", Build),
            ("command -v cargo", Other),
            ("", Other),
        ] {
            assert_eq!(shell_kind(line), expected, "{line}");
        }
    }

    #[test]
    fn commands_that_only_show_something_change_no_file() {
        for line in [
            "cat a | head",
            "cd x && grep -rn foo . 2>/dev/null",
            "git log -p; git diff",
            "ls > /dev/null",
            "echo x",
            "find . -name a",
            "bash -lc 'sed -n 1,5p a'",
            "",
        ] {
            assert!(!may_change_files(line), "{line}");
        }
        for line in [
            "cat a > b",
            "sed -i s/a/b/ a",
            "git checkout .",
            "cargo fmt",
            "rm a",
            "find . -delete",
            "./run.sh",
            "echo x | tee a",
            "cat a; bash -lc 'make'",
        ] {
            assert!(may_change_files(line), "{line}");
        }
    }

    #[test]
    fn commands_that_read_what_they_do_not_name_are_known() {
        let named_only =
            |line: &str| shell::commands(line).all(|command| reads_named_files_only(&command));
        for line in [
            "cat a | head -n 3",
            "grep -n x a; wc -l b",
            "git show HEAD:a; git diff",
            "find . -name a",
            "bash -lc 'cat a'",
            "cd x && ls",
            "",
        ] {
            assert!(named_only(line), "{line}");
        }
        for line in [
            "npm start",
            "printenv",
            "cat $a",
            "grep -rn x",
            "rg x",
            "find . -name a -exec cat {} +",
            "ls | xargs cat",
            "git config -l",
            ". ./a",
            "bash run.sh",
            "cat a; python3 -c 'x'",
        ] {
            assert!(!named_only(line), "{line}");
        }
    }

    #[test]
    fn searches_that_head_their_matches_are_known() {
        let heads = |line: &str| shell::commands(line).any(|command| heads_matches(&command));
        for line in ["rg --heading x", "rg -np x", "git grep --heading x", "ag --group x"] {
            assert!(heads(line), "{line}");
        }
        for line in ["rg x", "grep -P x a", "git log -p", "git grep x", "cp -p a b"] {
            assert!(!heads(line), "{line}");
        }
    }

    #[test]
    fn lines_of_a_file_are_told_from_lines_of_an_output() {
        for line in ["cat a", "sed -n 1,5p a", "nl -ba a | sed -n 1,5p", "cd x; head a"] {
            assert!(shows_file(line), "{line}");
        }
        for line in ["make | tail", "ls | head", "x=$(cat a)", "cat a > b", "wc -l a", "jq . a"] {
            assert!(!shows_file(line), "{line}");
        }
    }
}
