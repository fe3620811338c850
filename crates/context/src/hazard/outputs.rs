//! What the hazard of an output depends on. Pure.

use session::{OutputClass, Session, Shows};

use super::{Feature, OUTPUT_COUNT, flag, log_count, values};

/// An output as the features see it.
#[derive(Debug, Clone, Copy)]
pub struct SeenOutput {
    class: OutputClass,
    /// Whether it shows a file from its first line on.
    is_from_start: bool,
    /// Its tokens, as the host gave it.
    tokens: u64,
    steps_since: u32,
    turns_since: u32,
    times_needed: u32,
    /// See [`Session::late_needs`].
    late_needs: f64,
}

/// The features of an output, each a weight of the file.
pub const OUTPUT_FEATURES: [Feature<SeenOutput>; 9] = [
    Feature { name: "base", of: |_| 1.0 },
    // It shows lines of a file, or lists names of files.
    Feature { name: "read", of: |seen| flag(seen.class == OutputClass::Read) },
    Feature { name: "listing", of: |seen| flag(seen.class == OutputClass::Listing) },
    Feature { name: "fromStart", of: |seen| flag(seen.is_from_start) },
    Feature { name: "tokens", of: |seen| log_count(seen.tokens) },
    Feature { name: "stepsSince", of: |seen| log_count(seen.steps_since) },
    Feature { name: "turnsSince", of: |seen| log_count(seen.turns_since) },
    // The session's experience: with this output, and with outputs at all.
    Feature { name: "timesNeeded", of: |seen| log_count(seen.times_needed) },
    Feature { name: "lateNeeds", of: |seen| libm::log(seen.late_needs) },
];

impl SeenOutput {
    /// The output at a position; `None` if no tool result is there.
    pub fn at(session: &Session, at: u64) -> Option<Self> {
        let fact = session.result(at)?;
        let (chat, message) = (session.chat(), session.chat().get(at)?);
        Some(Self {
            class: fact.class,
            is_from_start: matches!(&fact.shows, Shows::File { range, .. } if range.first == 1),
            tokens: message.tokens,
            steps_since: chat.step().saturating_sub(message.step),
            turns_since: chat.turn().saturating_sub(message.turn),
            times_needed: session.times_needed(at).times,
            late_needs: session.late_needs(),
        })
    }

    /// Its features, in the order of [`OUTPUT_FEATURES`].
    pub fn features(&self) -> [f64; OUTPUT_COUNT] {
        values(&OUTPUT_FEATURES, self)
    }
}
