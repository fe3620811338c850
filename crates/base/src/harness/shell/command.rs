//! One command of a line: its program, its words, and what precedes it.

use super::Word;
use crate::harness::programs;

/// Words of the grammar that may stand before a command's name.
const KEYWORDS: [&str; 9] = ["if", "then", "elif", "else", "while", "until", "do", "!", "{"];
/// Programs that run the command after them, with their options that take a word.
const PREFIXES: [(&str, &[&str]); 14] = [
    (
        "sudo",
        &["-u", "-g", "-h", "-p", "-C", "-D", "-R", "-T", "-r", "-t", "-U", "--user", "--group"],
    ),
    ("doas", &["-u", "-C"]),
    ("env", &["-u", "-C", "--unset", "--chdir"]),
    ("nice", &["-n", "--adjustment"]),
    ("ionice", &["-c", "-n", "--class", "--classdata"]),
    ("timeout", &["-k", "-s", "--kill-after", "--signal"]),
    ("time", &["-f", "-o"]),
    ("stdbuf", &["-i", "-o", "-e"]),
    ("xargs", &["-n", "-P", "-I", "-L", "-d", "-s", "-E", "-a", "--max-args", "--max-procs"]),
    ("exec", &["-a"]),
    ("nohup", &[]),
    ("setsid", &[]),
    ("command", &[]),
    ("builtin", &[]),
];
/// Folders with the system's own programs.
const SYSTEM_FOLDERS: [&str; 2] = ["/bin", "/usr/bin"];
/// Programs that run a command elsewhere if their words include `exec` or `run`.
const CONTAINERS: [&str; 4] = ["docker", "podman", "nerdctl", "kubectl"];

/// A command of a line.
#[derive(Debug, Clone, Default)]
pub struct Command {
    /// All its words in order, including redirections and what precedes the program.
    pub words: Vec<Word>,
    /// Whether it reads the output of a preceding command through a pipe.
    pub is_filter: bool,
    /// Whether its output is shown, that is, goes neither to a file nor into another command.
    pub is_shown: bool,
    /// Whether it runs on another machine or in a container, where paths mean other files.
    pub is_elsewhere: bool,
    /// The place of the program among the words.
    program: usize,
}

impl Command {
    pub(super) fn new(words: Vec<Word>) -> Self {
        let mut command = Self { words, is_shown: true, ..Self::default() };
        command.program = command.place_of_program();
        let program = command.program();
        let runs = |word: &Word| matches!(&*word.text, "exec" | "run");
        command.is_elsewhere =
            program == "ssh" || (CONTAINERS.contains(&program) && command.arguments().any(runs));
        command
    }

    /// The program's name without its folder; empty if there is none.
    pub fn program(&self) -> &str {
        self.words.get(self.program).map_or("", |word| base_name(&word.text))
    }

    /// Whether its program, and those that run it, are the system's own of their names as far as the
    /// words tell: anybody can write a `./head` that shows something else.
    pub fn is_of_system(&self) -> bool {
        let runs = self.words.iter().take(self.program + 1).enumerate().filter(|(place, word)| {
            let name = base_name(&word.text);
            *place == self.program || PREFIXES.iter().any(|(prefix, _)| *prefix == name)
        });
        let mut folders = runs.filter_map(|(_, word)| Some(word.text.rsplit_once('/')?.0));
        folders.all(|folder| SYSTEM_FOLDERS.contains(&folder)) && !self.sets_path()
    }

    /// Whether it may set where programs are found, for itself or for all that follow.
    pub fn sets_path(&self) -> bool {
        self.words.iter().any(|word| {
            let value = word.text.strip_prefix("PATH");
            value.is_some_and(|value| value.starts_with('=') || value.starts_with("+="))
        })
    }

    /// The program and everything after it, including redirections.
    pub fn from_program(&self) -> &[Word] {
        self.words.get(self.program..).unwrap_or_default()
    }

    /// The words after the program, without redirections.
    pub fn arguments(&self) -> impl Iterator<Item = &Word> {
        self.from_program().iter().skip(1).filter(|word| word.redirect.is_none())
    }

    /// Whether one of its arguments is this word.
    pub fn has(&self, argument: &str) -> bool {
        self.arguments().any(|word| word.text == argument)
    }

    /// Whether `xargs` runs it.
    pub fn is_given_arguments(&self) -> bool {
        self.words[..self.program.min(self.words.len())].iter().any(|word| word.text == "xargs")
    }

    /// The subcommand of `git` and what follows it, without the options before it; `None` for other
    /// programs.
    pub fn git(&self) -> Option<Git<'_>> {
        if self.program() != "git" {
            return None;
        }
        let mut words = self.arguments();
        let subcommand = loop {
            let word = words.next()?;
            match &*word.text {
                "-C" | "-c" | "--git-dir" | "--work-tree" => {
                    words.next();
                }
                option if option.starts_with('-') => {}
                subcommand => break subcommand,
            }
        };
        Some(Git { subcommand, arguments: words.collect() })
    }

    /// Whether it is a shell or `eval`, whose commands precede it in the script.
    pub fn runs_script(&self) -> bool {
        self.script().is_some() || self.reads_script()
    }

    /// The command line given to a shell or `eval`, wherever the shell is among the words.
    pub(super) fn script(&self) -> Option<String> {
        let words = self.from_program();
        if self.program() == "eval" {
            let words: Vec<&str> = self.arguments().map(|word| &*word.text).collect();
            return Some(words.join(" ")).filter(|script| !script.is_empty());
        }
        let is_script = |three: &&[Word]| {
            programs::is_shell(base_name(&three[0].text)) && is_command_flag(&three[1].text)
        };
        words.windows(3).find(is_script).map(|three| three[2].text.clone())
    }

    /// The argument that holds a program for `sed` or `awk`; `None` for other programs.
    pub(super) fn program_text(&self) -> Option<&Word> {
        let is_given = programs::is_given_program(self.program());
        self.arguments().find(|word| is_given && !word.text.starts_with('-'))
    }

    /// Whether it is a shell that reads its commands from a here document.
    pub(super) fn reads_script(&self) -> bool {
        programs::is_shell(self.program())
            && self.arguments().all(|word| word.text.starts_with('-'))
    }

    /// The place after keywords, assignments and programs that run another.
    fn place_of_program(&self) -> usize {
        let mut at = 0;
        while let Some(word) = self.words.get(at) {
            let text = &*word.text;
            let prefix = PREFIXES.iter().find(|(name, _)| *name == base_name(text));
            if word.redirect.is_some() || KEYWORDS.contains(&text) || is_assignment(text) {
                at += 1;
            } else if let Some((name, options)) = prefix {
                let behind = self.behind_options(at + 1, options);
                let behind = if *name == "timeout" { behind + 1 } else { behind };
                let only_tells = *name == "command"
                    && self
                        .words
                        .get(at + 1)
                        .is_some_and(|word| matches!(&*word.text, "-v" | "-V"));
                if only_tells || behind >= self.words.len() {
                    return at;
                }
                at = behind;
            } else {
                return at;
            }
        }
        at
    }

    /// The place of the first word from `at` on that is neither an option nor an option's value.
    fn behind_options(&self, mut at: usize, with_value: &[&str]) -> usize {
        while let Some(word) = self.words.get(at) {
            let is_option = word.text.starts_with('-') && word.redirect.is_none();
            if !is_option {
                break;
            }
            at += 1 + usize::from(with_value.contains(&&*word.text));
            if word.text == "--" {
                break;
            }
        }
        at
    }
}

/// A command of `git`.
#[derive(Debug, Clone)]
pub struct Git<'a> {
    /// `diff`, `mv`.
    pub subcommand: &'a str,
    /// The words after the subcommand.
    pub arguments: Vec<&'a Word>,
}

impl Git<'_> {
    /// Whether one of its arguments starts with `start`.
    pub fn has_option(&self, start: &str) -> bool {
        self.arguments.iter().any(|word| word.text.starts_with(start))
    }
}

/// The last part of a path.
pub(in crate::harness) fn base_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

/// `-c`, `-lc`: the next word is a command line.
pub(in crate::harness) fn is_command_flag(word: &str) -> bool {
    word.starts_with('-') && !word.starts_with("--") && word.ends_with('c')
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        let name = name.strip_suffix('+').unwrap_or(name);
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}
