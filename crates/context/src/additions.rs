//! How much we may add to messages by ourselves: notes, and help for failed edits. Pure.
//!
//! Two limits hold, one for all of it and a lower one for what quotes texts, so that lines without
//! text can still be told: on the tokens that stand in the window, and on what they cost so far. An
//! epoch takes notes away; see [`Bound`](super::epoch::Bound) for the bill as a whole.

use session::{Bill, Session};

/// Calls for which an addition is assumed to be read from the cache.
const CALLS: f64 = 4.0;

/// A limit: in tokens of the window or of the bill, and as a share of the plain host's.
struct Limit {
    window: f64,
    bill: f64,
    share: f64,
    /// How far our bill may exceed the plain one where the limit on the additions is used up.
    excess: f64,
}

/// On additions that quote texts.
const TEXTS: Limit = Limit { window: 300.0, bill: 600.0, share: 0.025, excess: 0.0 };
/// On all additions.
const ALL: Limit = Limit { window: 400.0, bill: 800.0, share: 0.035, excess: 0.01 };

/// The part of what our additions cost for which the bound on the bill makes room.
pub(super) fn borne(bill: &Bill) -> f64 {
    bill.added.min(ALL.bill + ALL.share * bill.plain())
}

/// What may still be added, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Additions {
    /// Tokens of text that may be quoted.
    pub texts: u64,
    all: u64,
}

impl Additions {
    /// What may be added to the next request.
    pub fn of(session: &Session) -> Self {
        Self { texts: TEXTS.room(session), all: ALL.room(session) }
    }

    /// Whether there is room for an addition of so many tokens.
    pub fn holds(&self, tokens: u64) -> bool {
        tokens <= self.all
    }

    /// Something was added.
    pub fn take(&mut self, tokens: u64) {
        self.texts = self.texts.saturating_sub(tokens);
        self.all = self.all.saturating_sub(tokens);
    }
}

impl Limit {
    /// Tokens for which there is room.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "token counts are far below 2^53, and the result is not negative"
    )]
    fn room(&self, session: &Session) -> u64 {
        let bill = session.bill();
        let fixed =
            bill.last.as_ref().map_or(0, |last| last.bill.fixed.saturating_sub(last.bill.overhead));
        let plain = fixed + session.chat().window_tokens.saturating_sub(session.own_tokens());
        let window = self.window + self.share * plain as f64 - session.added_tokens() as f64;
        let left = self.bill + self.share * bill.plain() - bill.added;
        let saved = (1.0 + self.excess) * bill.plain() - bill.ours();
        let prices = bill.prices.as_ref().map(|note| &note.prices);
        let price = prices.map_or(1.0, |prices| prices.write + CALLS * prices.read);
        let factor = bill.last.as_ref().map_or(1.0, |last| last.bill.factor);
        window.min(left.max(saved) / (price * factor)).max(0.0) as u64
    }
}
