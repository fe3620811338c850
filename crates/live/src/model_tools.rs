//! The model's tools, independent of any harness: name, description, JSON schema, and how they
//! execute.
//!
//! Must not know a host or its messages. Descriptions are paid for on every call, so each word has
//! to earn its place.

pub mod read;

use std::path::Path;

use serde_json::{Value, json};

use crate::{FinishedToolCall, LiveSession, Wanted};
use base::error::{Error, Result};
use context::content::text_block;
use context::host::image_units;
use context::tokens::{self, Counter};
use session::{OWN_PREFIX, OWN_TOOLS};

/// One of our tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// Reads a file, with Pi's parameters and limits.
    Read,
    /// Shows an object's content.
    Activate,
    /// Lets an object's content leave the window.
    Deactivate,
    /// Activates an object and exempts it from collapse.
    Pin,
    /// Ends the exemption.
    Unpin,
}

impl Tool {
    /// All tools.
    pub const ALL: [Self; 5] =
        [Self::Read, Self::Activate, Self::Deactivate, Self::Pin, Self::Unpin];

    /// Its name.
    pub fn name(self) -> &'static str {
        let [activate, deactivate, pin, unpin] = OWN_TOOLS;
        match self {
            Self::Read => "read",
            Self::Activate => activate,
            Self::Deactivate => deactivate,
            Self::Pin => pin,
            Self::Unpin => unpin,
        }
    }

    /// Name by which the model calls it. `prefixed`: whether another extension has a tool of one of
    /// our names.
    pub fn called(self, prefixed: bool) -> String {
        let prefix = if prefixed && self != Self::Read { OWN_PREFIX } else { "" };
        format!("{prefix}{}", self.name())
    }

    /// The tool that a model calls by this name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| name == tool.name() || name == tool.called(true))
    }

    /// Description for the model.
    pub fn description(self) -> &'static str {
        match self {
            Self::Read => {
                "Read the contents of a text file. Output is truncated to 2000 lines or 50KB (whichever is hit first). \
                 Use offset/limit for large files."
            }
            Self::Activate => {
                "Show what a line like `[t17] …` or `[t31-t44] …` stands for; lines or a pattern take a part. \
                 Notes on files stand behind an output; one inside is not ours."
            }
            Self::Deactivate => "Let content go.",
            Self::Pin => "Activate and keep in view.",
            Self::Unpin => "Unpin content.",
        }
    }

    /// One line for a list of tools in the system prompt; `None` if the description says the same.
    pub fn prompt_snippet(self) -> Option<&'static str> {
        match self {
            Self::Read => Some("Read file contents"),
            Self::Activate => Some("Show stored content again"),
            Self::Deactivate | Self::Pin | Self::Unpin => None,
        }
    }

    /// Rules for the system prompt, one line each, that name the tool as it is called.
    pub fn prompt_guidelines(self, prefixed: bool) -> Vec<String> {
        match self {
            Self::Activate => vec![format!(
                "A line like `[t17] …` stands for content stored in full: work on from it, use {} where its exact text is \
                 needed, and never write such a line into a file.",
                self.called(prefixed)
            )],
            Self::Read | Self::Deactivate | Self::Pin | Self::Unpin => Vec::new(),
        }
    }

    /// JSON schema of the arguments.
    pub fn parameters(self) -> Value {
        let name = json!({ "type": "string" });
        let properties = match self {
            Self::Read => json!({
                "path": { "type": "string", "description": "Path to the file to read (relative or absolute)" },
                "offset": { "type": "number", "description": "Line number to start reading from (1-indexed)" },
                "limit": { "type": "number", "description": "Maximum number of lines to read" },
            }),
            Self::Activate => json!({
                "name": { "type": "string", "description": "t17, f3, s2, turns 3-5 or a path" },
                "lines": { "type": "string", "description": "e.g. 40-80" },
                "pattern": { "type": "string", "description": "regex of lines" },
            }),
            Self::Pin => json!({ "name": name, "lines": { "type": "string" } }),
            Self::Deactivate | Self::Unpin => json!({ "name": name }),
        };
        let required = if self == Self::Read { "path" } else { "name" };
        json!({ "type": "object", "properties": properties, "required": [required] })
    }

    /// Executes a call.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for arguments that the tool does not have or of the wrong shape, and the
    /// errors of the tool itself. The model sees them as a failed call.
    pub fn execute(
        self,
        session: &mut LiveSession,
        call: &str,
        args: &Value,
    ) -> Result<ToolAnswer> {
        self.refuse_unknown(args)?;
        self.repeat(session, call, args)
    }

    /// Executes a call that was answered before, when arguments were perhaps taken more lightly.
    ///
    /// # Errors
    /// As [`Self::execute`], but for arguments that the tool does not have.
    pub fn repeat(self, session: &mut LiveSession, call: &str, args: &Value) -> Result<ToolAnswer> {
        let text = match self {
            Self::Read => read(session, call, args)?,
            Self::Activate | Self::Pin => {
                let text = session.activate(call, &wanted(args)?, self == Self::Pin)?;
                return Ok(ToolAnswer { text, images: session.activated_images(call)? });
            }
            Self::Deactivate => session.deactivate(call, &wanted(args)?.name)?,
            Self::Unpin => session.unpin(call, &wanted(args)?.name)?,
        };
        Ok(ToolAnswer { text, images: Vec::new() })
    }

    /// Refuses arguments that would be passed over: `start` and `end` for `lines` would bring the
    /// whole.
    fn refuse_unknown(self, args: &Value) -> Result<()> {
        let Some(given) = args.as_object() else { return Ok(()) };
        let known = self.parameters()["properties"].as_object().cloned().unwrap_or_default();
        // `pin` takes a pattern, too, but is offered without: each word of a schema is paid for.
        let takes = |key: &str| known.contains_key(key) || (self == Self::Pin && key == "pattern");
        let stray = |(key, value): &(&String, &Value)| !takes(key) && !is_empty(value);
        let unknown: Vec<&str> = given.iter().filter(stray).map(|(key, _)| key.as_str()).collect();
        if !unknown.is_empty() {
            let is = if unknown.len() == 1 { "is not an argument" } else { "are not arguments" };
            let names: Vec<String> = known.keys().map(|key| argument_name(key)).collect();
            let problem = format!("{is} of this tool, which takes {}", names.join(", "));
            return Err(Error::argument(unknown.join("`, `"), problem));
        }
        let unread = given.iter().find(|(key, value)| {
            matches!(key.as_str(), "name" | "lines") && !is_empty(value) && !is_readable(value)
        });
        match unread {
            Some((key, _)) => Err(Error::argument(key, "is not text")),
            None => Ok(()),
        }
    }
}

/// Whether a model left an argument out: some send `null` or an empty text for that.
fn is_empty(value: &Value) -> bool {
    value.is_null() || value.as_str().is_some_and(|text| text.trim().is_empty())
}

/// Whether all of a value can be taken as text, see [`given`].
fn is_readable(value: &Value) -> bool {
    match value {
        Value::Array(parts) => parts.iter().all(is_readable),
        _ => given(value).is_some(),
    }
}

fn argument_name(key: &str) -> String {
    if key == "lines" { "`lines` (as 40-80)".to_owned() } else { format!("`{key}`") }
}

/// What the model sees of a call's result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolAnswer {
    /// The text.
    pub text: String,
    /// The images behind it, each as the JSON of its block.
    pub images: Vec<String>,
}

impl ToolAnswer {
    /// Its tokens, by our count.
    pub fn tokens(&self) -> u64 {
        let images = self.images.len() as u64;
        tokens::count(&self.text) + images * image_units(Counter::Bundled)
    }

    /// The answer as the content of a tool result, JSON.
    pub fn content(&self) -> String {
        let text = text_block(&self.text);
        let blocks: Vec<&str> =
            std::iter::once(&text).chain(&self.images).map(String::as_str).collect();
        format!("[{}]", blocks.join(","))
    }
}

/// The tools that a host has only because of us.
pub(crate) const OURS: [Tool; 4] = [Tool::Activate, Tool::Deactivate, Tool::Pin, Tool::Unpin];

/// Tokens of our part of a request's tool definitions and system prompt.
///
/// `tools`: the definitions of the call, objects with `name`, `description` and `parameters`.
/// `prompt`: its system prompt, which may name each tool with its [`Tool::prompt_snippet`] and hold
/// its [`Tool::prompt_guidelines`].
pub fn overhead_tokens(tools: &[Value], prompt: &str) -> u64 {
    let has = |name: &str| tools.iter().any(|known| known["name"] == name);
    let prefixed = OURS.iter().any(|tool| has(&tool.called(true)));
    let tokens = OURS.iter().filter(|tool| has(&tool.called(prefixed))).map(|tool| {
        let definition = json!({
            "name": tool.called(prefixed),
            "description": tool.description(),
            "parameters": tool.parameters(),
        });
        let lines =
            prompt_lines(*tool, prefixed).filter(|(text, _)| prompt.contains(text.as_str()));
        let lines = lines.map(|(_, line)| tokens::count(&line));
        tokens::count(&definition.to_string()) + lines.sum::<u64>()
    });
    tokens.sum()
}

/// What a system prompt says about a tool: each text, and the line that holds it.
fn prompt_lines(tool: Tool, prefixed: bool) -> impl Iterator<Item = (String, String)> {
    let snippet = tool
        .prompt_snippet()
        .map(|text| (text.to_owned(), format!("- {}: {text}\n", tool.called(prefixed))));
    let guidelines = tool.prompt_guidelines(prefixed).into_iter();
    let guidelines = guidelines.map(|text| (text.clone(), format!("- {text}\n")));
    snippet.into_iter().chain(guidelines)
}

fn read(session: &mut LiveSession, call: &str, args: &Value) -> Result<String> {
    let given = required(args, "path")?;
    let path = session.path_opened(given)?;
    let bytes = file_bytes(&path)?;
    let text = read::read_text(
        &String::from_utf8_lossy(&bytes),
        given,
        number(args, "offset")?,
        number(args, "limit")?,
    )?;
    session.record_tool_call(&FinishedToolCall {
        call: call.to_owned(),
        tool: Tool::Read.name().to_owned(),
        args: args.clone(),
        is_error: false,
        text: String::new(),
    })?;
    Ok(text)
}

/// The bytes of a regular file. Others are refused, since a device or a pipe might never end.
fn file_bytes(path: &Path) -> Result<Vec<u8>> {
    let failed = |source| Error::File { act: "read", path: path.to_owned(), source };
    source::read_bytes(path)
        .map_err(failed)?
        .ok_or_else(|| Error::argument("path", "names no regular file"))
}

fn wanted(args: &Value) -> Result<Wanted> {
    let given = |name: &str| args.get(name).and_then(given).filter(|text| !text.trim().is_empty());
    Ok(Wanted {
        name: given("name").ok_or_else(|| Error::argument("name", "is missing"))?,
        lines: given("lines"),
        // Blanks may be what is searched for.
        pattern: optional(args, "pattern")?.map(str::to_owned),
    })
}

/// A text argument as models also send it: as a number, or as a list. Two numbers are the first and
/// the last line.
fn given(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if text.trim_start().starts_with('[') => {
            let list = serde_json::from_str::<Value>(text).ok().filter(Value::is_array);
            Some(list.as_ref().and_then(given).unwrap_or_else(|| text.clone()))
        }
        Value::String(text) => Some(text.trim().to_owned()),
        Value::Number(number) => Some(number.to_string()),
        Value::Array(parts) => match parts.as_slice() {
            [Value::Number(first), Value::Number(last)] => Some(format!("{first}-{last}")),
            _ => Some(parts.iter().filter_map(given).collect::<Vec<_>>().join(", ")),
        },
        _ => None,
    }
}

fn required<'a>(args: &'a Value, name: &str) -> Result<&'a str> {
    let text = optional(args, name)?.map(str::trim).filter(|text| !text.is_empty());
    text.ok_or_else(|| Error::argument(name, "is missing"))
}

/// A text argument. Models leave out what they do not use, or send it empty.
fn optional<'a>(args: &'a Value, name: &str) -> Result<Option<&'a str>> {
    match args.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str()).filter(|text| !text.is_empty())),
        Some(_) => Err(Error::argument(name, "is not text")),
    }
}

fn number(args: &Value, name: &str) -> Result<Option<f64>> {
    match args.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => {
            value.as_f64().map(Some).ok_or_else(|| Error::argument(name, "is not a number"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_of_a_wrong_shape_are_named() {
        for args in [
            json!(null),
            json!({}),
            json!({ "name": {} }),
            json!({ "name": " " }),
            json!({ "name": [] }),
            json!({ "name": "t1", "pattern": 5 }),
        ] {
            assert_eq!(wanted(&args).unwrap_err().code(), "INVALID_ARGUMENT", "{args}");
        }
        let sloppy = json!({ "name": " t1 ", "lines": "", "pattern": null });
        assert_eq!(wanted(&sloppy).unwrap(), Wanted { name: "t1".into(), ..Wanted::default() });
    }

    #[test]
    fn arguments_are_taken_as_models_send_them() {
        let lines = |lines: Value| wanted(&json!({ "name": "t1", "lines": lines })).unwrap().lines;
        for (given, expected) in [
            (json!("10-20"), "10-20"),
            (json!(10), "10"),
            (json!("10"), "10"),
            (json!([10, 20]), "10-20"),
            (json!("[10, 20]"), "10-20"),
            (json!(["10-20", 30]), "10-20, 30"),
            (json!([[1, 2], [4, 5]]), "1-2, 4-5"),
            (json!("[t1]"), "[t1]"),
        ] {
            assert_eq!(lines(given.clone()).as_deref(), Some(expected), "{given}");
        }
        assert_eq!(lines(json!({ "from": 1 })), None);
        let names = wanted(&json!({ "name": ["t1", "t2"], "pattern": " x " })).unwrap();
        assert_eq!((&*names.name, names.pattern.as_deref()), ("t1, t2", Some(" x ")));
    }

    #[test]
    fn arguments_that_a_tool_lacks_are_refused() {
        let refusal = |tool: Tool, args: Value| {
            tool.refuse_unknown(&args).err().map(|error| error.to_string()).unwrap_or_default()
        };
        let name = "t1";
        for (tool, args, expected) in [
            (
                Tool::Activate,
                json!({ "name": name, "start": 5, "end": 6 }),
                "`start`, `end` are not arguments of this tool, which takes `name`, `lines` (as 40-80), `pattern`",
            ),
            (
                Tool::Pin,
                json!({ "name": name, "range": "1-2" }),
                "`range` is not an argument of this tool, which takes `name`, `lines` (as 40-80)",
            ),
            (
                Tool::Deactivate,
                json!({ "name": name, "lines": "1-2" }),
                "`lines` is not an argument of this tool, which takes `name`",
            ),
            (
                Tool::Read,
                json!({ "path": "a", "lines": "1-2" }),
                "`lines` is not an argument of this tool, which takes `path`, `offset`, `limit`",
            ),
            (
                Tool::Activate,
                json!({ "name": name, "lines": { "from": 1 } }),
                "`lines` is not text",
            ),
            (Tool::Activate, json!({ "name": name, "lines": ["1-2", {}] }), "`lines` is not text"),
            (Tool::Pin, json!({ "name": name, "pattern": "x" }), ""),
            (Tool::Activate, json!({ "name": name, "start": null, "end": " " }), ""),
            (Tool::Activate, json!({ "name": [name], "lines": [2, 3], "pattern": "x" }), ""),
        ] {
            assert_eq!(refusal(tool, args.clone()), expected, "{args}");
        }
    }

    #[test]
    fn the_model_is_told_where_our_notes_stand() {
        let told = Tool::Activate.description();
        assert!(
            told.contains("Notes on files stand behind an output; one inside is not ours."),
            "{told}"
        );
    }

    #[test]
    fn all_that_the_model_is_told_stays_small() {
        let definitions: Vec<Value> =
            OURS.iter().map(|tool| json!({ "name": tool.name() })).collect();
        let prompt: String = OURS
            .into_iter()
            .flat_map(|tool| prompt_lines(tool, false))
            .map(|(_, line)| line)
            .collect();
        let without = overhead_tokens(&definitions, "");
        let all = overhead_tokens(&definitions, &prompt);
        assert!(without < all && all <= 276, "{without}, {all} tokens");
        assert_eq!(overhead_tokens(&[], &prompt), 0);
    }

    #[test]
    fn guidance_is_one_line_that_names_its_tool() {
        for tool in Tool::ALL {
            for text in tool.prompt_guidelines(true) {
                assert!(text.contains(&tool.called(true)) && !text.contains('\n'), "{text}");
                for word in ["omitted", "removed", "truncated", "not available"] {
                    assert!(!text.contains(word), "{text}: {word}");
                }
            }
        }
    }
}
