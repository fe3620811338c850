//! Decides which active content the layout `pools` shows in a model's window. Pure.
//!
//! The sets stay unchanged: what is hidden for lack of room appears again once there is room. Must
//! not touch the chat.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::fit::common_cap;
use super::window::Marks;
use base::object::ObjectId;
use session::{Active, Session};

/// How much of an active object is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Share {
    /// All its active content.
    All,
    /// Its first lines, of this many tokens at most.
    Tokens(u64),
    /// Nothing.
    None,
}

/// How much of each active object is shown, in order.
///
/// `active`: the objects, each with the tokens it would take. `spent`: tokens of the messages
/// before them.
///
/// Unanswered results may fill the request up to `marks.most`; the longest of them are cut to one
/// size. Then come pinned objects, then instructions in force, then those met last, while the
/// request stays below `marks.high`. `in_force`: instructions that have room.
pub fn shares(
    session: &Session,
    active: &[(&Active, u64)],
    spent: u64,
    marks: Marks,
    in_force: &BTreeSet<&ObjectId>,
) -> Vec<Share> {
    let unanswered: HashSet<&ObjectId> =
        session.unanswered().filter_map(|(at, _)| session.result(at)?.text_of()).collect();
    let is_new = |place: &usize| unanswered.contains(&active[*place].0.id);
    let (new, mut standing): (Vec<usize>, Vec<usize>) = (0..active.len()).partition(is_new);
    let sizes: Vec<u64> = new.iter().map(|place| active[*place].1).collect();
    let excess = (spent + sizes.iter().sum::<u64>()).saturating_sub(marks.most);
    let cap = if excess == 0 { u64::MAX } else { common_cap(sizes, excess) };

    let mut shares = vec![Share::None; active.len()];
    let mut used = spent;
    for place in new {
        let tokens = active[place].1;
        shares[place] = if tokens <= cap { Share::All } else { Share::Tokens(cap) };
        used += tokens.min(cap);
    }
    let seen: HashMap<&ObjectId, u64> =
        session.sets().pool.iter().map(|known| (&known.id, known.seen)).collect();
    standing.sort_by_key(|place| {
        let id = &active[*place].0.id;
        let last_met = seen.get(id).copied().unwrap_or_default();
        let rank = (session.sets().is_pinned(id), in_force.contains(id));
        std::cmp::Reverse((rank, active[*place].0.turn, last_met))
    });
    for place in standing {
        let tokens = active[place].1;
        if used + tokens <= marks.high {
            shares[place] = Share::All;
            used += tokens;
        }
    }
    shares
}
