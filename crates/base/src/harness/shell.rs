//! A shell's command line as commands with their words, in the order in which they end.
//!
//! Reads quotes, escapes, redirections, here documents, pipes and lists, subshells, `$( )` and
//! backticks, assignments, and inner command lines (`bash -lc '…'`, `eval`, a shell's here
//! document). Runs nothing and looks nothing up. We wrote our own because crates that parse bash
//! (`brush-parser`, `yash-syntax`) give nothing for a line that is cut or unclosed and recurse with
//! its nesting; `shlex` knows neither operators nor redirections.

mod command;
mod paths;
mod scan;
mod shown;

pub use command::{Command, Git};
pub(super) use command::{base_name, is_command_flag};
pub use paths::{PathWord, path_words, path_words_of, patterns, program_words};
pub use shown::{Pick, ShownFiles, shown_files};

use scan::{Open, Token, Tokens};

/// Depth to which command lines inside command lines are read.
const MAX_DEPTH: u32 = 3;
/// Most bytes of a line that are read.
const MAX_BYTES: usize = 256 << 10;

/// A word of a command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Word {
    /// Its text without quotes and escapes.
    pub text: String,
    /// Whether parts of it are computed, so that only a shell knows its text.
    pub is_computed: bool,
    /// Whether it begins without a quote, so that `~` means a folder.
    pub is_plain: bool,
    /// Set if it is the path of a redirection.
    pub redirect: Option<Redirect>,
}

/// What is redirected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Redirect {
    /// The input: `<`.
    Input,
    /// The output: `>`, `1>`, `&>`.
    Output,
    /// Another descriptor: `2>`.
    Error,
}

/// A part of a script. A `cd` between `Enter` and `Leave` has effect only there.
#[derive(Debug, Clone)]
pub enum ShellStep {
    /// A command runs.
    Run(Command),
    /// A subshell, a substitution or an inner command line begins.
    Enter,
    /// It ends.
    Leave,
}

/// Reads the first 256 KiB of a command line; never fails.
pub fn script(line: &str) -> Vec<ShellStep> {
    let end = (0..=line.len().min(MAX_BYTES)).rev().find(|at| line.is_char_boundary(*at));
    script_within(&line[..end.unwrap_or(0)], MAX_DEPTH)
}

/// The commands of a line, in the order in which they end.
pub fn commands(line: &str) -> impl Iterator<Item = Command> {
    script(line).into_iter().filter_map(|step| match step {
        ShellStep::Run(command) => Some(command),
        ShellStep::Enter | ShellStep::Leave => None,
    })
}

fn script_within(line: &str, depth: u32) -> Vec<ShellStep> {
    let Tokens { list, documents } = scan::tokens(line);
    let mut builder = Builder {
        depth,
        documents,
        steps: Vec::new(),
        hidden: Vec::new(),
        frame: Frame::new(Scope::Line, 0, false),
        outer: Vec::new(),
    };
    for token in list {
        builder.take(token);
    }
    builder.finish()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    Line,
    /// `{ }`, in the same shell.
    Group,
    Subshell,
    Substitution,
}

/// Commands that belong together, as far as read.
struct Frame {
    scope: Scope,
    words: Vec<Word>,
    /// Here documents of the current command.
    documents: Vec<usize>,
    /// Whether the commands read the output of an earlier one.
    is_filter: bool,
    /// Whether the current command follows a pipe.
    is_piped: bool,
    /// The steps at which the frame and the pipeline began.
    first_step: usize,
    pipeline_step: usize,
}

impl Frame {
    fn new(scope: Scope, step: usize, is_filter: bool) -> Self {
        let (first_step, pipeline_step) = (step, step);
        let (words, documents) = (Vec::new(), Vec::new());
        Self { scope, words, documents, is_filter, is_piped: false, first_step, pipeline_step }
    }
}

struct Builder {
    depth: u32,
    documents: Vec<String>,
    steps: Vec<ShellStep>,
    /// Ranges of steps whose output is not shown.
    hidden: Vec<std::ops::Range<usize>>,
    frame: Frame,
    outer: Vec<Frame>,
}

impl Builder {
    fn take(&mut self, token: Token) {
        match token {
            Token::Word(word) => self.word(word),
            Token::Document(document) => self.frame.documents.push(document),
            Token::Pipe => {
                self.end_command();
                self.frame.is_piped = true;
            }
            Token::End => self.end_pipeline(),
            Token::Open(Open::Subshell) => self.enter(Scope::Subshell),
            Token::Open(Open::Substitution) => self.enter(Scope::Substitution),
            Token::Close => {
                while self.frame.scope == Scope::Group {
                    self.leave();
                }
                self.leave();
            }
        }
    }

    fn word(&mut self, word: Word) {
        let is_mark = self.frame.words.is_empty() && word.is_plain && word.redirect.is_none();
        if is_mark && word.text == "{" {
            self.enter(Scope::Group);
        } else if is_mark && word.text == "}" && self.frame.scope == Scope::Group {
            self.leave();
        } else {
            self.frame.words.push(word);
        }
    }

    fn enter(&mut self, scope: Scope) {
        let is_filter =
            scope != Scope::Substitution && (self.frame.is_filter || self.frame.is_piped);
        if scope != Scope::Group {
            self.steps.push(ShellStep::Enter);
        }
        let frame = Frame::new(scope, self.steps.len(), is_filter);
        self.outer.push(std::mem::replace(&mut self.frame, frame));
    }

    fn leave(&mut self) {
        self.end_pipeline();
        let Some(outer) = self.outer.pop() else { return };
        let inner = std::mem::replace(&mut self.frame, outer);
        if inner.scope == Scope::Substitution {
            self.hidden.push(inner.first_step..self.steps.len());
        }
        if inner.scope != Scope::Group {
            self.steps.push(ShellStep::Leave);
        }
        if inner.scope == Scope::Subshell && inner.first_step + 1 == self.steps.len() {
            // `name()` begins a function, and names no command.
            self.frame.words.clear();
        }
    }

    fn end_pipeline(&mut self) {
        let is_to_file = |word: &Word| word.redirect == Some(Redirect::Output);
        let is_hidden = self.frame.words.iter().any(is_to_file);
        self.end_command();
        if is_hidden {
            self.hidden.push(self.frame.pipeline_step..self.steps.len());
        }
        self.frame.is_piped = false;
        self.frame.pipeline_step = self.steps.len();
    }

    fn end_command(&mut self) {
        let words = std::mem::take(&mut self.frame.words);
        let given = std::mem::take(&mut self.frame.documents);
        if words.is_empty() {
            return;
        }
        let mut command = Command::new(words);
        let is_piped = self.frame.is_filter || self.frame.is_piped;
        command.is_filter = is_piped && !command.is_given_arguments();
        let given = given.last().filter(|_| command.reads_script());
        let script = command.script().or_else(|| given.map(|given| self.documents[*given].clone()));
        if let Some(script) = script.filter(|_| self.depth > 0) {
            self.within(&script, &command);
        }
        self.steps.push(ShellStep::Run(command));
    }

    /// Takes the commands of an inner command line.
    fn within(&mut self, line: &str, by: &Command) {
        self.steps.push(ShellStep::Enter);
        for mut step in script_within(line, self.depth - 1) {
            if let ShellStep::Run(command) = &mut step {
                command.is_filter |= by.is_filter;
                command.is_elsewhere |= by.is_elsewhere;
            }
            self.steps.push(step);
        }
        self.steps.push(ShellStep::Leave);
    }

    fn finish(mut self) -> Vec<ShellStep> {
        while !self.outer.is_empty() {
            self.leave();
        }
        self.end_pipeline();
        let mut changes = vec![0_i64; self.steps.len() + 1];
        for range in &self.hidden {
            changes[range.start] += 1;
            changes[range.end] -= 1;
        }
        let mut depth = 0;
        for (step, change) in self.steps.iter_mut().zip(changes) {
            depth += change;
            if let ShellStep::Run(command) = step {
                command.is_shown &= depth == 0;
            }
        }
        self.steps
    }
}

#[cfg(test)]
mod tests;
