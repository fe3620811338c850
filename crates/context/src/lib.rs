//! Turns host messages into what the model sees: events, treatments, layouts, epochs, tokens,
//! prices, ledger, call records.
//!
//! Decisions are pure functions of (state, event, settings). Must not do I/O, look at a clock or
//! make an ID; the crate `live` does, and passes in what a decision needs. Start with
//! [`log_layout`] (how the state becomes messages), then read [`epoch`] (when the request may
//! change).

pub mod additions;
pub mod breakpoints;
pub mod content;
pub mod deeds;
pub mod edit_help;
pub mod epoch;
pub mod evidence;
pub mod excerpt;
pub mod first_sight;
pub mod fit;
pub mod fold;
pub mod forms;
pub mod hazard;
pub mod held;
pub mod host;
pub mod host_compaction;
pub mod inner_calls;
pub mod last_words;
pub mod ledger;
pub mod lines_index;
pub mod log_layout;
pub mod long_line;
pub mod model_rules;
pub mod output_class;
pub mod pasted;
pub mod patch;
pub mod payload;
pub mod placeholder;
pub mod plain;
pub mod pools_layout;
pub mod pools_window;
pub mod preview;
pub mod prices;
pub mod segment;
pub mod stand_ins;
pub mod standing;
pub mod statement;
pub mod tokens;
pub mod view;
pub mod window;
pub mod words;

/// The result of a `bash` call with an object named `object`.
#[cfg(test)]
fn bash_result(object: &str) -> session::ResultFact {
    session::ResultFact {
        object: Some(base::object::ObjectId::new(object)),
        tool: "bash".into(),
        request: session::RequestKey::of(object),
        ok: true,
        exit: Some(0),
        lines: 1,
        is_output: true,
        ..session::ResultFact::default()
    }
}
