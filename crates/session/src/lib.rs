//! The session as a state machine: chat, session index, metadata pool, active and pinned sets,
//! handles, treatments.
//!
//! Every change is an [`Event`], and the state is the fold of the events and nothing else, so a
//! restart that reads them again has the same state. No I/O, no clock, no randomness, and no
//! knowledge of any host's message format. Read [`Event`] first, then [`Session`].

mod absence;
mod bill;
mod caches;
mod call_bill;
mod call_note;
mod chat;
mod chat_place;
mod dollars;
mod event;
mod excerpt;
mod faults;
mod files;
mod folds;
mod held;
mod host_call;
mod index;
mod line_ranges;
mod links;
mod matching;
mod measured;
mod message;
mod needs;
mod passing;
mod prefixes;
mod prompted;
mod record;
mod report;
mod sets;
mod showings;
mod state;
mod treatment;
mod usage;

pub use absence::Amount;
pub use bill::{Account, Bill, EpochBill, LastCall, ReportedSums, Warming};
pub use caches::{CacheKey, Caches, CallTime, Prefix};
pub use call_bill::{
    BillTerms, CallBill, Front, SUMMARY_TOKENS, Side, compaction_cost, plain_tokens,
};
pub use call_note::{CallNote, PlainCompaction, PriceNote};
pub use chat::{Chat, ChatMessage, VOLATILE_CHANGES};
pub use chat_place::{ChatPlace, Role};
pub use dollars::Dollars;
pub use event::{Cause, Event, FileEvent, NotedText, Opened, Rewrite, ShownResult};
pub use excerpt::{Piece, counted_pieces, join_pieces, uncut_lines};
pub use faults::{FaultKind, FaultSum, Faults};
pub use files::FileVersions;
pub use folds::Folds;
pub use held::{Extent, HeldLines, Why};
pub use host_call::{HostCall, HostCalls, HostSums};
pub use index::{IndexEntry, SessionIndex, Subject};
pub use line_ranges::{
    Columns, LINE_CHARS, LineMap, LineRange, Picked, characters, counted, line_of, merge_ranges,
};
pub use links::Links;
pub use matching::{HostEntry, HostMatch, Listed, answer_of, match_host_list};
pub use measured::{MeasuredSizes, ReportedRatios, Weighed};
pub use message::{
    Activation, Cut, Gap, MessageKey, MessageKind, Numbering, OWN_PREFIX, OWN_TOOLS, OutputClass,
    RequestKey, ResultFact, Shows, Within, is_own_tool,
};
pub use needs::{NEWEST_STEPS, TimesNeeded};
pub use passing::{Passing, PassingMessage, opening, said};
pub use prefixes::{PlainList, SentSlots, extended, number_of};
pub use prompted::{PromptedSession, Prompting};
pub use record::{
    CallRecord, FailedCall, PayloadRecord, SlotEdit, SlotRecord, Withheld, WithheldReason,
};
pub use report::{ReportKind, Reported};
pub use sets::{Active, ActiveView, PoolObject, Sets};
pub use showings::Showing;
pub use state::{Asked, Effect, Ended, LeftSums, MemoryChange, Note, Requests, Sent, Session};
pub use treatment::{Fold, ReadPart, Treatment, Way};
pub use usage::UsageProblem;

/// For serde: leaves out what a reader adds by default.
pub fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
