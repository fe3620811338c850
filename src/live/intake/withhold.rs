//! Finds the messages whose text is not to be stored: shown from a file that is excluded or was forgotten, or given to one.
//! They get a placeholder before anything else sees them, and go out as the host gave them.
//!
//! Best effort where a shell is at work: paths are looked for in the command and in what the output says of itself.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::context::host::{HostCall, HostMessage};
use crate::context::placeholder::{attached_files, command_without_text, lacks_text, without_text};
use crate::error::Result;
use crate::harness::{Call, ToolKind, command_line};
use crate::live::journal::Journal;
use crate::live::workspace::Workspace;
use crate::object::ObjectId;
use crate::session::{MessageKind, WithheldReason, is_own_tool};
use crate::source;

/// Words of a command that are looked up on disk, for links and wildcards; of others only the name is compared.
const MAX_LOOKED_UP: usize = 64;
/// Longest argument that may be a path.
const MAX_PATH_BYTES: usize = 4_096;

/// A call's ID, and why what it is given or shows is not to be stored, if that is so. A call is judged once, by what the model
/// asked for: its results follow it, also when they reach us after what is stored of the call has lost its text.
type JudgedCall = (String, Option<WithheldReason>);

/// What finding such messages looks at.
pub(in crate::live) struct Withholding<'a> {
    /// The chat, and what was forgotten.
    pub(in crate::live) journal: &'a Journal,
    /// What is excluded.
    pub(in crate::live) workspace: &'a Workspace,
}

impl Withholding<'_> {
    /// Puts placeholders in the place of messages whose text is not to be stored. `skip`: number of messages of the window
    /// that stand before these.
    pub(in crate::live) fn withhold(
        &self,
        skip: usize,
        messages: &mut [HostMessage],
    ) -> Result<()> {
        let mut calls: Option<Vec<JudgedCall>> = None;
        for (index, message) in (skip..).zip(messages.iter_mut()) {
            let found = match message.key.role.as_str() {
                "assistant" => {
                    let judged = calls.insert(self.judge(message)?);
                    self.calls_without_text(message, judged)
                }
                "toolResult" => {
                    let calls = match &mut calls {
                        Some(calls) => calls,
                        none => none.insert(self.calls_before(skip)?),
                    };
                    let reason = match self.known_reason(index, message)? {
                        None => self.result_reason(message, calls)?,
                        reason => reason,
                    };
                    reason.map(|reason| (reason, Vec::new()))
                }
                _ => self.text_reason(message).map(|reason| (reason, Vec::new())),
            };
            if let Some((reason, calls)) = found {
                *message = message.withhold(reason, calls);
            }
        }
        Ok(())
    }

    fn judge(&self, message: &HostMessage) -> Result<Vec<JudgedCall>> {
        let calls = message.calls.iter();
        calls.map(|call| Ok((call.id.clone(), self.call_reason(call)?))).collect()
    }

    /// The calls of a message without text that they give to a file which is not stored, and why; nothing if they give none.
    fn calls_without_text(
        &self,
        message: &HostMessage,
        judged: &[JudgedCall],
    ) -> Option<(WithheldReason, Vec<HostCall>)> {
        let mut found = None;
        let mut calls = message.calls.clone();
        for (call, (_, reason)) in calls.iter_mut().zip(judged) {
            let Some(reason) = reason else { continue };
            let args = self.args_without_text(call);
            if args != call.args {
                found = found.or(Some(*reason));
                call.args = args;
            }
        }
        found.map(|reason| (reason, calls))
    }

    fn args_without_text(&self, call: &HostCall) -> Value {
        let asked = Call::new(&call.tool, &call.args);
        let touched = asked.touches().into_iter().map(|touch| touch.path);
        let paths: Vec<&str> = touched.chain(asked.path()).collect();
        let stays =
            |text: &str| paths.contains(&text) || self.workspace.disk().is_excluded_given(text);
        match asked.command_argument() {
            Some((name, command)) => {
                let mut args = without_text(&call.args, &|text| text == command);
                args[name] = Value::from(command_without_text(command, &stays));
                args
            }
            None => without_text(&call.args, &stays),
        }
    }

    /// The calls that results at the head of a list answer: those of the newest answer among the first `skip` messages.
    fn calls_before(&self, skip: usize) -> Result<Vec<JudgedCall>> {
        let chat = self.journal.state().chat();
        let before = &chat.window()[..skip.min(chat.window().len())];
        let is_answer = |at: &&u64| {
            matches!(chat.get(**at).map(|known| &known.kind), Some(MessageKind::Assistant))
        };
        let Some(at) = before.iter().rev().find(is_answer) else { return Ok(Vec::new()) };
        let message = self.journal.message(*at)?;
        let mut judged = self.judge(&message)?;
        // What was taken out of a call may have been the name of the file.
        let reason = message.withheld.as_ref().map(|withheld| withheld.reason);
        for (call, (_, known)) in message.calls.iter().zip(&mut judged) {
            *known = known.or_else(|| reason.filter(|_| lacks_text(&call.args)));
        }
        Ok(judged)
    }

    /// Why the text of a result that is known, at an index of the list, is not to be stored again.
    fn known_reason(&self, index: usize, message: &HostMessage) -> Result<Option<WithheldReason>> {
        let Some(at) = self.journal.state().chat().window().get(index).copied() else {
            return Ok(None);
        };
        let is_known =
            self.journal.state().chat().get(at).is_some_and(|known| known.key == message.key);
        let fact = self.journal.state().result(at).filter(|_| is_known);
        match fact.and_then(|fact| fact.object.as_ref()) {
            Some(object) if self.journal.is_forgotten(object)? => {
                Ok(Some(WithheldReason::Forgotten))
            }
            _ => Ok(None),
        }
    }

    fn result_reason(
        &self,
        message: &HostMessage,
        calls: &[JudgedCall],
    ) -> Result<Option<WithheldReason>> {
        let Some(id) = message.key.calls.first() else { return Ok(self.text_reason(message)) };
        let object = ObjectId::new(&**id);
        // Another session's call may have the ID.
        let is_ours = self.journal.was_refused(&object)
            || self.journal.state().index().get(&object).is_some();
        if is_ours && self.journal.is_forgotten(&object)? {
            return Ok(Some(WithheldReason::Forgotten));
        }
        // Local servers repeat IDs: any call of this one may be meant.
        let reason = calls.iter().filter(|call| call.0 == *id).find_map(|call| call.1);
        Ok(reason.or_else(|| self.text_reason(message)))
    }

    /// Why what a call is given or shows is not to be stored. Lists of paths show no text of files.
    fn call_reason(&self, call: &HostCall) -> Result<Option<WithheldReason>> {
        let (asked, disk) = (Call::new(&call.tool, &call.args), self.workspace.disk());
        let kind = asked.kind();
        if matches!(kind, ToolKind::List | ToolKind::Find) || is_own_tool(&call.tool) {
            return Ok(None);
        }
        let touches = asked.touches();
        for (_, path) in touches.iter().filter_map(|touch| disk.touched_file(*touch).ok()) {
            if self.journal.is_forgotten(&disk.file_id(&path)?)? {
                return Ok(Some(WithheldReason::Forgotten));
            }
        }
        let is_excluded = |path: &str| path.len() <= MAX_PATH_BYTES && disk.is_excluded_given(path);
        let runs_on_excluded =
            |command: String| self.names_excluded(&command, &disk.folder_of(asked));
        let is_named = match kind {
            ToolKind::Read | ToolKind::Edit | ToolKind::Write if !touches.is_empty() => {
                touches.iter().any(|touch| is_excluded(touch.path))
            }
            ToolKind::Search => {
                let mut named =
                    asked.path().into_iter().chain(asked.paths()).chain(asked.name_globs());
                named.any(is_excluded)
            }
            // Tools that are not known may run commands too.
            _ => {
                command_line(&call.args).is_some_and(runs_on_excluded)
                    || self.holds_excluded(&call.args)
            }
        };
        Ok(is_named.then_some(WithheldReason::Excluded))
    }

    /// Whether a text says of itself that it is from a file that is excluded, or a person's command names one.
    pub(in crate::live) fn text_reason(&self, message: &HostMessage) -> Option<WithheldReason> {
        if !self.workspace.disk().excludes_any() {
            return None;
        }
        let is_excluded = |path: &str| {
            path.len() <= MAX_PATH_BYTES && self.workspace.disk().excludes_name(Path::new(path))
        };
        let is_from = |text: &str| -> bool {
            let named: HashSet<&str> = source::named_in_output(text).collect();
            named.into_iter().any(is_excluded)
        };
        let is_so = match message.key.role.as_str() {
            "toolResult" => message.texts.iter().any(|text| is_from(text)),
            "user" => message.texts.iter().any(|text| attached_files(text).any(is_excluded)),
            "bashExecution" => {
                let fields: Value = serde_json::from_str(&message.raw).unwrap_or_default();
                let text =
                    |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
                let folder = self.workspace.disk().agent_cwd();
                self.names_excluded(text("command"), folder) || is_from(text("output"))
            }
            _ => false,
        };
        is_so.then_some(WithheldReason::Excluded)
    }

    /// Whether a command that starts in `folder` names a file that is excluded: by any of its words, or by a path from the
    /// folder that it enters.
    fn names_excluded(&self, command: &str, folder: &Path) -> bool {
        let disk = self.workspace.disk();
        if !disk.excludes_any() {
            return false;
        }
        let (words, paths) = source::names_in(command, folder);
        let known: HashSet<PathBuf> = words.iter().map(|word| folder.join(word)).collect();
        let placed =
            paths.iter().filter(|path| folder != disk.agent_cwd() || !known.contains(*path));
        let mut placed = placed.filter_map(|path| path.to_str()).enumerate();
        let is_excluded = |index: usize, path: &str| {
            if index < MAX_LOOKED_UP {
                disk.is_excluded_given(path)
            } else {
                disk.excludes_name(Path::new(path))
            }
        };
        words.iter().enumerate().any(|(index, word)| is_excluded(index, word))
            || placed.any(|(index, path)| is_excluded(index, path))
    }

    /// Whether arguments hold the path of a file that is excluded.
    fn holds_excluded(&self, args: &Value) -> bool {
        match args {
            Value::String(text) => {
                // A sentence may end like a path.
                let is_path =
                    || !text.contains(char::is_whitespace) || self.workspace.disk().exists(text);
                text.len() <= MAX_PATH_BYTES
                    && self.workspace.disk().is_excluded_given(text)
                    && is_path()
            }
            Value::Array(values) => values.iter().any(|value| self.holds_excluded(value)),
            Value::Object(fields) => fields.values().any(|value| self.holds_excluded(value)),
            _ => false,
        }
    }
}
