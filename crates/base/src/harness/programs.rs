//! The table of programs: what each one's output holds, and which ones take only paths.
//!
//! Only names count here; `kind` handles subcommands and options.

/// What a program's output holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Output {
    /// Nothing that matters.
    Nothing,
    /// The text of its given files.
    Files,
    /// Unchanged lines of its given files.
    Lines,
    /// Fields of its given files, or their lines in another order.
    Fields,
    /// Numbers.
    Counts,
    /// Lines that match a pattern.
    Matches,
    /// Names of files.
    Names,
    /// What happened, line by line.
    Log,
    /// What a build, a check or a test reports.
    Report,
}

/// What a program's output holds; `None` for unknown programs.
#[rustfmt::skip]
pub(super) fn output(program: &str) -> Option<Output> {
    Some(match program {
        "cd" | "pushd" | "popd" | "export" | "set" | "unset" | "source" | "." | "echo" | "printf" | "mkdir" | "rmdir"
        | "touch" | "sleep" | "true" | "false" | ":" | "rm" | "cp" | "mv" | "ln" | "chmod" | "chown" | "pwd" | "wait"
        | "kill" | "tee" | "test" | "[" | "[[" | "exit" => Output::Nothing,
        "cat" | "nl" | "bat" | "batcat" | "less" | "more" | "tac" | "type" | "Get-Content" | "get-content"
        | "gc" => Output::Files,
        "head" | "tail" | "sed" => Output::Lines,
        "awk" | "gawk" | "cut" | "jq" | "yq" | "sort" | "uniq" => Output::Fields,
        "wc" => Output::Counts,
        "grep" | "egrep" | "fgrep" | "zgrep" | "rg" | "ag" | "ack" | "findstr" => Output::Matches,
        "ls" | "tree" | "find" | "fd" | "fdfind" | "dir" | "du" | "locate" | "stat" | "file" => Output::Names,
        "journalctl" | "dmesg" | "logs" => Output::Log,
        "cargo" | "rustc" | "clippy-driver" | "npm" | "pnpm" | "yarn" | "bun" | "bunx" | "npx" | "deno" | "make" | "gmake"
        | "cmake" | "ctest" | "ninja" | "meson" | "bazel" | "buck" | "go" | "pytest" | "tox" | "nox" | "mypy" | "ruff"
        | "pyright" | "flake8" | "pylint" | "pip" | "pip3" | "uv" | "poetry" | "mvn" | "mvnw" | "gradle" | "gradlew" | "ant"
        | "sbt" | "dotnet" | "tsc" | "eslint" | "biome" | "jest" | "vitest" | "mocha" | "playwright" | "rspec" | "rake"
        | "bundle" | "swift" | "xcodebuild" | "mise" => Output::Report,
        _ => return None,
    })
}

/// Whether a program's words are only paths, numbers and options, so that none holds text of a
/// file.
#[rustfmt::skip]
pub fn is_given_paths_only(program: &str) -> bool {
    output(program) == Some(Output::Files)
        || matches!(
            program,
            "." | "source" | "cd" | "pushd" | "ls" | "tree" | "du" | "stat" | "file" | "test" | "base64" | "wc" | "head"
            | "tail" | "sort" | "uniq" | "touch" | "chmod" | "chown" | "cp" | "mv" | "rm" | "ln" | "mkdir" | "rmdir"
        )
}

/// Whether a program finds lines by a pattern, which is its first argument.
pub(super) fn is_search(program: &str) -> bool {
    output(program) == Some(Output::Matches)
}

/// Whether the first argument of a program is a program itself.
pub(super) fn is_given_program(program: &str) -> bool {
    matches!(program, "sed" | "awk" | "gawk" | "jq" | "yq")
}

/// Whether the next word is the value of this option of a search.
pub(super) fn takes_value(program: &str, option: &str) -> bool {
    #[rustfmt::skip]
    let of_one = match program {
        "rg" => matches!(
            option,
            "-g" | "-t" | "-T" | "-j" | "-M" | "-r" | "-d" | "-E" | "--glob" | "--iglob" | "--type" | "--type-not"
            | "--max-depth" | "--sort" | "--color" | "--replace" | "--max-columns" | "--threads"
        ),
        "grep" | "egrep" | "fgrep" | "zgrep" => matches!(option, "--include" | "-D" | "-d"),
        "ag" | "ack" => matches!(option, "-G"),
        _ => false,
    };
    of_one
        || matches!(option, "-A" | "-B" | "-C" | "-m")
        || matches!(option, "--after-context" | "--before-context" | "--context" | "--max-count")
}

/// Whether a program is a shell.
pub(super) fn is_shell(program: &str) -> bool {
    matches!(program, "bash" | "sh" | "zsh" | "dash" | "ksh" | "fish")
}
