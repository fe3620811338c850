//! Plays recorded sessions through the code that live sessions use, and measures what they would
//! have cost: the bill beside the plain host's, the window, and content that was missing when it
//! was needed.
//!
//! Reads nothing on this machine but the transcript and its snapshots, and writes nothing but dumps
//! and a temporary scratch folder for the transcript's files. Must not decide how a request looks;
//! that is the session's task. docs/policy.md explains the figures. Read `play` first, then
//! `measure`.

pub mod compaction;
pub mod dump;
pub mod facts;
pub mod hosts;
pub mod learn;
pub mod measure;
pub mod options;
mod oracle;
pub mod play;
pub mod recorded;
pub mod report;
pub mod run;
pub mod transcript;
mod tree;
