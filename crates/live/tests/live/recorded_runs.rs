//! Previews of recorded runs never leave out a line that reports a failure.

use std::collections::HashMap;
use std::path::Path;

use base::harness::Call;
use context::preview::{self, PreviewedOutput};
use serde_json::Value;
use session::Piece;

use crate::excerpts::{is_failure, is_pass};
use crate::shapes::text_of;

/// Limits in tokens above which outputs are previewed, the default among them.
const LIMITS: [u64; 3] = [500, 1_500, 4_000];

/// What the previews of recorded runs left out.
#[derive(Debug, Default)]
struct Found {
    previews: u64,
    failures: u64,
    hidden: Vec<String>,
    /// Tests that passed and are shown beside failures.
    passes: u64,
}

#[test]
fn previews_of_recorded_runs_show_every_failure_line() {
    let Some(files) = crate::recorded::files(&["transcripts", "transcripts-2"], None) else {
        return;
    };
    let mut found = Found::default();
    for file in &files {
        look_at(file, &mut found);
    }
    assert!(found.passes * 10 < found.failures, "{} tests that passed are shown", found.passes);
    assert!(found.previews > 50 && found.failures > 100, "{} {}", found.previews, found.failures);
    assert!(
        found.hidden.is_empty(),
        "{} hidden: {:#?}",
        found.hidden.len(),
        &found.hidden[..found.hidden.len().min(20)]
    );
}

fn look_at(file: &Path, found: &mut Found) {
    let text = crate::recorded::read(file);
    let mut calls: HashMap<String, (String, Value)> = HashMap::new();
    for line in text.lines().skip(1) {
        let message: Value = serde_json::from_str(line).unwrap();
        if message["role"] == "toolResult" {
            let call = message["toolCallId"].as_str().and_then(|id| calls.get(id));
            if let Some((tool, args)) = call {
                for limit in LIMITS {
                    preview(tool, args, &text_of(&message), limit, found);
                }
            }
            continue;
        }
        for block in message["content"].as_array().into_iter().flatten() {
            if let (Some(id), Some(name)) = (block["id"].as_str(), block["name"].as_str()) {
                calls.insert(id.to_owned(), (name.to_owned(), block["arguments"].clone()));
            }
        }
    }
}

fn preview(tool: &str, args: &Value, text: &str, limit: u64, found: &mut Found) {
    let call = Call::new(tool, args);
    let tokens = text.chars().count() as u64 / 4;
    let output =
        PreviewedOutput { text, tokens, kind: call.kind(), said: "", lines: 0, standing: &[] };
    if !call.reports_run() || call.picks_lines() {
        return;
    }
    let Some(pieces) = preview::plan(&output, limit) else { return };
    found.previews += 1;
    let is_shown = |number: u64| {
        pieces.iter().any(|piece| {
            let lines = piece.lines();
            matches!(piece, Piece::Shown { .. } | Piece::Ends { .. })
                && lines.first <= number
                && number <= lines.last
        })
    };
    for (number, line) in (1..).zip(text.split('\n')) {
        if is_failure(line) {
            found.failures += 1;
            if !is_shown(number) {
                found.hidden.push(format!("{tool} {args}: {line}").chars().take(300).collect());
            }
        }
        found.passes += u64::from(is_pass(line) && is_shown(number));
    }
}
