//! What the hazard of a step depends on: the model's own words in it. Pure.

use std::ops::RangeInclusive;

use base::harness::{Call, ToolKind};
use serde_json::Value;
use session::{Session, TimesNeeded};

use super::{Feature, STEP_COUNT, flag, log_count, values};

/// A step as the features see it.
#[derive(Debug, Clone, Copy, Default)]
pub struct SeenStep {
    /// Tokens of its arguments that its fold line would not show.
    argument_tokens: u64,
    /// Number of its calls that edit a file, that write one, and that failed.
    edits: u32,
    writes: u32,
    failures: u32,
    /// Number of steps since it came.
    pub steps_since: u32,
    turns_since: u32,
    needed: TimesNeeded,
    steps_since_needed: u32,
    /// See [`Session::late_own_needs`].
    late_own_needs: f64,
}

/// The features of a step, each a weight of the file.
pub const STEP_FEATURES: [Feature<SeenStep>; 10] = [
    Feature { name: "base", of: |_| 1.0 },
    // What it did: an edit, a file written, a failure.
    Feature { name: "edit", of: |seen| flag(seen.edits > 0) },
    Feature { name: "write", of: |seen| flag(seen.writes > 0) },
    Feature { name: "failed", of: |seen| flag(seen.failures > 0) },
    Feature { name: "argumentTokens", of: |seen| log_count(seen.argument_tokens) },
    Feature { name: "stepsSince", of: |seen| log_count(seen.steps_since) },
    Feature { name: "earlierTurn", of: |seen| flag(seen.turns_since > 0) },
    // The session's experience: with this step, and with the model's own words at all.
    Feature { name: "timesNeeded", of: |seen| log_count(seen.needed.times) },
    Feature { name: "stepsSinceNeeded", of: |seen| log_count(seen.steps_since_needed) },
    Feature { name: "lateOwnNeeds", of: |seen| libm::log(seen.late_own_needs) },
];

impl SeenStep {
    /// The step at these positions; `None` if there is none.
    pub fn at(session: &Session, range: RangeInclusive<u64>) -> Option<Self> {
        let (chat, message) = (session.chat(), session.chat().get(*range.start())?);
        let needed = session.times_needed(*range.start());
        let since = |step: u32| chat.step().saturating_sub(step);
        let mut seen = Self {
            steps_since: since(message.step),
            turns_since: chat.turn().saturating_sub(message.turn),
            needed,
            steps_since_needed: if needed.times > 0 { since(needed.last_step) } else { 0 },
            late_own_needs: session.late_own_needs(),
            ..Self::default()
        };
        for fact in range.filter_map(|at| session.result(at)) {
            let kind = Call::new(&fact.tool, &Value::Null).kind();
            seen.argument_tokens += fact.argument_tokens;
            seen.edits += u32::from(kind == ToolKind::Edit);
            seen.writes += u32::from(kind == ToolKind::Write);
            seen.failures += u32::from(!fact.ok || fact.exit.is_some_and(|code| code != 0));
        }
        Some(seen)
    }

    /// Its features, in the order of [`STEP_FEATURES`].
    pub fn features(&self) -> [f64; STEP_COUNT] {
        values(&STEP_FEATURES, self)
    }
}
