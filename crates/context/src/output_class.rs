//! Classifies the output of a call by how likely it is needed again.
//!
//! `harness` interprets the names of tools and commands; the classes are those of the weights in
//! `hazards.json`.

use serde_json::Value;

use base::harness::{Call, ShellKind, ToolKind, shows_file};
use session::OutputClass;

/// The class of the output of a call.
pub fn output_class(tool: &str, args: &Value) -> OutputClass {
    let call = Call::new(tool, args);
    match call.kind() {
        ToolKind::Read | ToolKind::Shell(ShellKind::Read) => OutputClass::Read,
        ToolKind::List | ToolKind::Find | ToolKind::Shell(ShellKind::Listing) => {
            OutputClass::Listing
        }
        // Lines picked from a file count as read; lines picked from another command's output do
        // not.
        ToolKind::Shell(ShellKind::Pick)
            if call.command().is_some_and(|line| shows_file(&line)) =>
        {
            OutputClass::Read
        }
        _ => OutputClass::Other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn outputs_are_classed_by_what_they_show() {
        for (command, expected) in [
            ("cat a", OutputClass::Read),
            ("sed -n 1,5p a", OutputClass::Read),
            ("cat a | head", OutputClass::Read),
            ("make | tail", OutputClass::Other),
            ("ls", OutputClass::Listing),
            ("grep x a", OutputClass::Other),
        ] {
            assert_eq!(output_class("bash", &json!({ "command": command })), expected, "{command}");
        }
        assert_eq!(output_class("Glob", &json!({})), OutputClass::Listing);
    }
}
