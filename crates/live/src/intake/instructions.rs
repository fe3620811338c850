//! Messages that show instructions: from then on these are in force.

use std::path::Path;

use serde_json::Value;

use crate::LiveSession;
use base::error::Result;
use base::harness::{Call, ToolKind, shell, shows_text_of_files};
use base::object::{Hash, ObjectId};
use config::Instructions;
use context::host::HostMessage;
use session::{Cause, Event, LineRange, ResultFact, Shows, Subject};

impl LiveSession {
    /// Records that a new result shows instructions, if it does.
    ///
    /// `args`: arguments of its call. `version`: that of the call's own object. `tokens`: those of the result's text.
    pub(super) fn take_instructions(
        &mut self,
        at: u64,
        args: &Value,
        version: Option<&Hash>,
        tokens: u64,
    ) {
        let Some(fact) = self.state().result(at) else { return };
        if self.options.settings.instruction_tokens == 0 || !self.shows_instructions(fact, args) {
            return;
        }
        let (object, version, ranges) = match (&fact.shows, &fact.object, version) {
            (Shows::File { object, version, range }, ..) => (object, version, vec![*range]),
            (Shows::Activated { object, version, ranges, .. }, ..) => {
                (object, version, ranges.clone())
            }
            (Shows::Own, Some(object), Some(version)) => {
                (object, version, vec![LineRange { first: 1, last: fact.lines }])
            }
            _ => return,
        };
        let whole = self.is_whole_file(object, &ranges);
        let (object, version) = (object.clone(), version.clone());
        self.journal.record(Event::InForce { object, version, ranges, whole, at, tokens });
    }

    /// Records that a person called a skill, whose file the host put before their words.
    pub(super) fn take_called_skill(&mut self, at: u64, message: &HostMessage) -> Result<()> {
        if self.options.settings.instruction_tokens == 0 {
            return Ok(());
        }
        let Some((path, tokens)) = called_skill(message) else { return Ok(()) };
        let path = self.disk.resolve(&path)?;
        let Some((object, version)) = self.index_file(&path, Cause::Read)? else {
            return Ok(());
        };
        let subject = self.state().subject(&object);
        if let Some(Subject::File { lines: Some(lines), .. }) = subject {
            let ranges = vec![LineRange { first: 1, last: *lines }];
            self.journal.record(Event::InForce {
                object,
                version,
                ranges,
                whole: true,
                at,
                tokens,
            });
        }
        Ok(())
    }

    /// Whether a result shows instructions: lines of such a file, by whichever tool, or the answer
    /// of a tool that shows skills.
    pub(super) fn shows_instructions(&self, fact: &ResultFact, args: &Value) -> bool {
        if !fact.is_output || !fact.ok {
            return false;
        }
        let instructions = &self.disk.instructions;
        let are_in = |path: &str| instructions.are_in(Path::new(path));
        let asked = Call::new(&fact.tool, args);
        match &fact.shows {
            Shows::File { object, .. } | Shows::Activated { object, .. } => {
                let entry = self.state().index().get(object);
                entry.is_some_and(|entry| match &entry.subject {
                    file @ Subject::File { path, .. } => {
                        are_in(path)
                            || are_in(file.agent_path())
                            || asked.path().is_some_and(are_in)
                    }
                    Subject::Toolcall { .. } | Subject::Segment { .. } => false,
                })
            }
            Shows::Own => {
                let shows_file = |line: String| {
                    let mut commands = shell::commands(&line)
                        .filter(|command| command.is_shown && shows_text_of_files(command));
                    commands.any(|command| command.arguments().any(|word| are_in(&word.text)))
                };
                let reads = asked.kind() == ToolKind::Read;
                Instructions::are_from(&fact.tool)
                    || (reads && asked.touches().iter().any(|touch| are_in(touch.path)))
                    || asked.command().is_some_and(shows_file)
            }
            Shows::Change { .. } => false,
        }
    }

    /// Whether these lines are all of a file. Hosts do not show the empty line after the last line
    /// end.
    fn is_whole_file(&self, object: &ObjectId, ranges: &[LineRange]) -> bool {
        match (self.state().subject(object), ranges) {
            (Some(Subject::File { lines: Some(lines), .. }), [range]) => {
                range.first <= 1 && range.last + 1 >= *lines
            }
            _ => false,
        }
    }
}

/// The path of the skill's file that a message begins with, as Pi writes a skill that a person
/// called, and the message's tokens.
pub(super) fn called_skill(message: &HostMessage) -> Option<(String, u64)> {
    let text = message.text();
    let (head, rest) = text.strip_prefix("<skill name=\"")?.split_once("\">\n")?;
    let (_, path) = head.split_once("\" location=\"")?;
    let is_whole = rest.contains("\n</skill>") && !head.contains('\n');
    is_whole.then(|| (path.to_owned(), message.tokens()))
}
