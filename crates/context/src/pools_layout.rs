//! The layout `pools`: the metadata pool, then the chat, then all active content. Pure; texts come
//! in through [`Texts`].

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::content::{self, Images};
use super::forms;
use super::held::{self, Budgets};
use super::host::HostMessage;
use super::log_layout::{Texts, lines_of};
use super::pools_window::{self, Share};
use super::tokens::{self, Counter};
use super::view::{Slot, user_message};
use super::window::Marks;
use base::error::{Error, Result};
use base::object::{Hash, ObjectId, file_type, quote};
use session::{Active, ActiveView, IndexEntry, LineRange, Session, SlotRecord, Subject};

/// The line of an object in the metadata pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolLine {
    /// What it says.
    pub text: String,
    /// Its tokens, with its line break.
    pub tokens: u64,
}

impl PoolLine {
    /// A line of this text.
    pub fn of(text: String) -> Self {
        Self { tokens: tokens::count(&text) + 1, text }
    }
}

/// Limits of the layout.
#[derive(Debug, Clone, Copy)]
pub struct PoolLimits {
    /// Number of tool calls per turn that stay active.
    pub per_turn: u64,
    /// Number of turns whose tool calls stay active, including the current one.
    pub turns: u64,
    /// Token budget of the metadata pool.
    pub pool_tokens: u64,
    /// How full the window may get; `None` if it is unknown.
    pub marks: Option<Marks>,
    /// Most tokens of instructions that come before other content.
    pub instruction_tokens: u64,
    /// How messages are counted.
    pub counter: Counter,
}

/// The slot of the message at an index of the window. `at`: its position in the chat.
pub fn chat_slot(session: &Session, index: usize, at: u64, message: &HostMessage) -> Slot {
    match session.chat().get(at) {
        Some(known) if known.is_volatile() => Slot::of_volatile(index, message),
        _ => Slot::of_host(index, at, message, chat_reference(session, at, message)),
    }
}

/// Renders the whole request except the system prompt, which belongs to the host.
///
/// `chat`: the slots of the window, in order, see [`chat_slot`]. `before`: the previous call's
/// request; tokens of content in it are not counted again. `metadata`: gives the metadata line of
/// an object's latest version, if any.
pub fn render(
    session: &Session,
    chat: Vec<Slot>,
    before: &[Slot],
    limits: &PoolLimits,
    texts: &dyn Texts,
    metadata: &dyn Fn(&ObjectId) -> Option<PoolLine>,
) -> Result<Vec<Slot>> {
    let newest = session.window().next_back();
    let time = newest.and_then(|(_, message)| message.key.timestamp).unwrap_or(0);
    let active = session.active_by_window(limits.per_turn, limits.turns);
    let mut slots = Vec::with_capacity(chat.len() + active.len() + 1);
    let lines = pool_lines(session, limits.pool_tokens, metadata);
    if !lines.is_empty() {
        let message = user_message(&lines.join("\n"), time);
        let record = SlotRecord::Pool { pool_keep: 0, pool_add: lines, time };
        slots.push(Slot::of_ours(record, message, limits.counter));
    }
    slots.extend(chat);
    let maker = BlockMaker::new(before, time, limits.counter);
    let mut blocks: Vec<(Block<'_>, Slot)> = Vec::with_capacity(active.len());
    for object in active {
        let Some(block) = Block::of(session, object, texts)? else {
            if let Some(message) = gone(session, object, texts, time) {
                let record = SlotRecord::Message { message: message.clone(), withheld: None };
                slots.push(Slot::of_ours(record, message, limits.counter));
            }
            continue;
        };
        let slot = maker.slot(&block, block.ranges());
        blocks.push((block, slot));
    }
    let shares = shares(session, &blocks, &slots, limits);
    for ((block, slot), share) in blocks.into_iter().zip(shares) {
        slots.extend(match share {
            Share::All => Some(slot),
            Share::Tokens(most) => maker.within(&block, most),
            Share::None => None,
        });
    }
    Ok(slots)
}

/// An active object and its text.
struct Block<'a> {
    active: &'a Active,
    version: Hash,
    text: Arc<str>,
}

/// Says of an active file that is deleted what the model would otherwise not learn.
fn gone(session: &Session, active: &Active, texts: &dyn Texts, time: i64) -> Option<String> {
    let entry = session.index().get(&active.id)?;
    let file = entry.subject.agent_path();
    let is_gone = !file.is_empty() && texts.is_deleted(&active.id, entry.subject.version());
    let line = forms::bytes_gone_line(entry.handle, session.shown_path(file));
    is_gone.then(|| user_message(&active_block(&active.id, &line, &[]), time))
}

impl<'a> Block<'a> {
    /// `None` for an object without text, such as a deleted or forgotten file.
    fn of(session: &Session, active: &'a Active, texts: &dyn Texts) -> Result<Option<Self>> {
        let Some(version) = session.version(&active.id).cloned() else { return Ok(None) };
        match texts.text(&active.id, &version) {
            Ok(text) => Ok(Some(Self { active, version, text })),
            Err(Error::NotFound { .. } | Error::Forgotten { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The active lines; empty if all are active.
    fn ranges(&self) -> Vec<LineRange> {
        match &self.active.view {
            ActiveView::Whole => Vec::new(),
            ActiveView::Lines(ranges) => ranges.clone(),
        }
    }
}

/// Makes the slots of active content.
struct BlockMaker<'a> {
    /// Those of the previous request, by object, version and lines.
    before: HashMap<(&'a ObjectId, &'a Hash, &'a [LineRange]), &'a Slot>,
    time: i64,
    counter: Counter,
}

impl<'a> BlockMaker<'a> {
    fn new(before: &'a [Slot], time: i64, counter: Counter) -> Self {
        let known = before.iter().filter_map(|slot| match &slot.record {
            SlotRecord::Active { active, version, ranges, .. } => {
                Some(((active, version, ranges.as_slice()), slot))
            }
            _ => None,
        });
        Self { before: known.collect(), time, counter }
    }

    fn slot(&self, block: &Block<'_>, ranges: Vec<LineRange>) -> Slot {
        let (id, version, time) = (&block.active.id, &block.version, self.time);
        let known = self.before.get(&(id, version, ranges.as_slice())).copied();
        let message = user_message(&active_block(id, &block.text, &ranges), time);
        let (active, version) = (id.clone(), version.clone());
        let record = SlotRecord::Active { active, version, ranges, time };
        match known {
            Some(known) => known.at_another_time(record, message),
            None => Slot::of_ours(record, message, self.counter),
        }
    }

    /// As many of the first active lines as fit; `None` if not even one fits.
    fn within(&self, block: &Block<'_>, most: u64) -> Option<Slot> {
        let mut ranges = block.ranges();
        if ranges.is_empty() {
            ranges.push(LineRange { first: 1, last: block.text.split('\n').count() as u64 });
        }
        let (mut fits, mut too_many) = (0, ranges.iter().map(|range| range.len()).sum::<u64>());
        let mut slot = None;
        while too_many - fits > 1 {
            let lines = fits + (too_many - fits) / 2;
            let tried = self.slot(block, first_lines(&ranges, lines));
            if tried.tokens <= most {
                (fits, slot) = (lines, Some(tried));
            } else {
                too_many = lines;
            }
        }
        slot
    }
}

fn shares(
    session: &Session,
    blocks: &[(Block<'_>, Slot)],
    before: &[Slot],
    limits: &PoolLimits,
) -> Vec<Share> {
    let Some(marks) = limits.marks else { return vec![Share::All; blocks.len()] };
    let active: Vec<(&Active, u64)> =
        blocks.iter().map(|(block, slot)| (block.active, slot.tokens)).collect();
    let spent = before.iter().map(|slot| slot.tokens).sum();
    let budgets = Budgets::of(Some(&marks), limits.instruction_tokens);
    let (within, _) = held::within(session, budgets);
    let in_force = within.into_iter().map(|held| &held.object).collect();
    pools_window::shares(session, &active, spent, marks, &in_force)
}

/// The first `lines` lines of some ranges.
fn first_lines(ranges: &[LineRange], mut lines: u64) -> Vec<LineRange> {
    let mut first = Vec::new();
    for range in ranges {
        let taken = range.len().min(lines);
        if taken > 0 {
            first.push(LineRange { first: range.first, last: range.first + taken - 1 });
        }
        lines -= taken;
    }
    first
}

/// `ACTIVE_CONTENT id={id}` and the content. If only some lines are active, they are named
/// (`lines=1-40,60-70`).
pub fn active_block(id: &ObjectId, text: &str, ranges: &[LineRange]) -> String {
    let id = quote::name(id.as_str());
    if ranges.is_empty() {
        return format!("ACTIVE_CONTENT id={id}\n{text}");
    }
    let names: Vec<String> = ranges.iter().map(ToString::to_string).collect();
    let shown: Vec<String> = ranges.iter().map(|range| lines_of(text, *range)).collect();
    format!("ACTIVE_CONTENT id={id} lines={}\n{}", names.join(","), shown.join("\n"))
}

/// The content of a message with its output replaced by
/// `toolcall_ref id={id} tool={tool} status={status}`. Images next to the text stay; a result of
/// images alone stays as the host gave it, and so do words around an output.
fn chat_reference(session: &Session, at: u64, message: &HostMessage) -> Option<String> {
    let fact = session.result(at).filter(|fact| fact.is_output)?;
    let id = fact.object.as_ref()?;
    let (id, tool) = (quote::name(id.as_str()), quote::name(&fact.tool));
    let line = format!("toolcall_ref id={id} tool={tool} status={}", status(fact.ok));
    Some(match &fact.within {
        Some(within) => message.content_with_part(within, &line),
        None => content::with_text(message.content(), &line, Images::Stay),
    })
}

/// One line per object of the metadata pool, in order of entry, within the budget. Objects neither
/// pinned nor active are dropped first: those never activated before others, then those not met for
/// longest.
fn pool_lines(
    session: &Session,
    budget: u64,
    metadata: &dyn Fn(&ObjectId) -> Option<PoolLine>,
) -> Vec<String> {
    let lines: Vec<(usize, PoolLine)> = all_lines(session, metadata).collect();
    let mut spare = lines.iter().map(|(_, line)| line.tokens).sum::<u64>().saturating_sub(budget);
    let pool = &session.sets().pool;
    let mut order: Vec<&(usize, PoolLine)> = lines.iter().collect();
    order.sort_by_key(|(place, _)| (pool[*place].activated, pool[*place].seen));
    let mut evicted = HashSet::new();
    for (place, line) in order {
        let id = &pool[*place].id;
        if spare == 0 {
            break;
        }
        if !session.sets().is_pinned(id) && !session.sets().is_active(id) {
            evicted.insert(*place);
            spare = spare.saturating_sub(line.tokens);
        }
    }
    lines
        .into_iter()
        .filter(|(place, _)| !evicted.contains(place))
        .map(|(_, line)| line.text)
        .collect()
}

/// The lines of all known objects, each with its index in the pool.
fn all_lines<'a>(
    session: &'a Session,
    metadata: &'a dyn Fn(&ObjectId) -> Option<PoolLine>,
) -> impl Iterator<Item = (usize, PoolLine)> + 'a {
    session.sets().pool.iter().enumerate().filter_map(|(place, known)| {
        let entry = session.index().get(&known.id)?;
        let line = metadata(&known.id).unwrap_or_else(|| PoolLine::of(pool_line(entry)));
        Some((place, line))
    })
}

/// Tokens that the pool can take before anything must leave it.
pub fn room(
    session: &Session,
    budget: u64,
    metadata: &dyn Fn(&ObjectId) -> Option<PoolLine>,
) -> u64 {
    let held: u64 = all_lines(session, metadata).map(|(_, line)| line.tokens).sum();
    budget.saturating_sub(held)
}

/// The objects whose metadata lines fit, in order. `room`: tokens left, reduced by what is taken.
pub fn fitting<T>(lines: Vec<(T, PoolLine)>, room: &mut u64) -> Vec<T> {
    let mut fit = Vec::new();
    for (object, line) in lines {
        if let Some(left) = room.checked_sub(line.tokens) {
            *room = left;
            fit.push(object);
        }
    }
    fit
}

/// The line of an object without a readable version.
fn pool_line(entry: &IndexEntry) -> String {
    let id = quote::name(entry.id.as_str());
    match &entry.subject {
        file @ Subject::File { path, .. } => {
            let (shown, kind) = (quote::name(file.agent_path()), file_type(path));
            format!("id={id} type=file path={shown} file_type={}", quote::name(kind))
        }
        Subject::Toolcall { tool, ok, .. } => {
            format!("id={id} type=toolcall tool={} status={}", quote::name(tool), status(*ok))
        }
        Subject::Segment { .. } => format!("id={id} type=chat_segment"),
    }
}

fn status(ok: bool) -> &'static str {
    if ok { "ok" } else { "fail" }
}
