//! The whole of an output that the host cut: it stands in a temporary file, which the host names in the result's details.
//! Read when the result comes in, before the file can vanish.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::Ingest;
use crate::context::host::HostMessage;
use crate::source::FileState;

/// What begins the notice that the host puts behind what is left of an output.
const NOTICE: &str = "\n\n[Showing ";

/// Name of the additional content of a toolcall that holds the whole output.
const FULL_OUTPUT: &str = "full_output";

impl Ingest<'_> {
    /// The whole output of a call, to be stored beside what was shown. The field `full_output` says where it was and how long
    /// it is; where it is not stored, `no_content` says why: `too_large`, `binary`, `deleted`, or `differs`, if what was shown
    /// does not stand in it, since another extension may have taken something out.
    pub(super) fn full_output(
        &self,
        message: &HostMessage,
        fields: &mut Map<String, Value>,
    ) -> Option<(String, String)> {
        let path = Path::new(message.details.get("fullOutputPath").and_then(Value::as_str)?);
        let limit = self.options.settings.max_output_bytes;
        let (text, size, missing) = match self.workspace.disk().read_host_file(path, limit)? {
            FileState::Text { text, .. } if holds(&text, &message.text()) => {
                let size = text.len() as u64;
                (Some(text), Some(size), None)
            }
            FileState::Text { text, .. } => (None, Some(text.len() as u64), Some("differs")),
            FileState::Binary { size, .. } => (None, Some(size), Some("binary")),
            FileState::TooLarge { size } => (None, Some(size), Some("too_large")),
            FileState::Missing => (None, None, Some("deleted")),
            FileState::NotAFile
            | FileState::Unreadable { .. }
            | FileState::Excluded { .. }
            | FileState::NotRead => return None,
        };
        let mut told = Map::from_iter([("path".to_owned(), json!(path))]);
        told.extend(size.map(|size| ("size_bytes".to_owned(), json!(size))));
        told.extend(missing.map(|reason| ("no_content".to_owned(), json!(reason))));
        fields.insert(FULL_OUTPUT.into(), Value::Object(told));
        text.map(|text| (FULL_OUTPUT.to_owned(), text))
    }
}

/// Whether what was shown is a part of the whole, but for the notice behind it.
fn holds(whole: &str, shown: &str) -> bool {
    let shown = shown.rfind(NOTICE).map_or(shown, |at| &shown[..at]);
    whole.contains(shown.trim_end())
}
