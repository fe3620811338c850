//! How full a model's window may get. Pure numbers.

use config::scaled;
use session::{MessageKind, Session};

/// Number of newest steps whose size predicts what the next one may bring.
const STEPS: u32 = 8;

/// Sizes of a request that matter in a window, in our token count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marks {
    /// Above this, the window is under pressure: content leaves even if that does not pay yet.
    pub high: u64,
    /// Above this, the next step may make the host compact, so the bill no longer matters.
    pub full: u64,
    /// Above this, the model has little room to answer.
    pub most: u64,
    /// Tokens left in the window at [`Self::most`].
    pub reserved: u64,
    /// What leaves under pressure leaves this much: half of a small window that the host leaves to
    /// us, else 0.
    pub stays: u64,
}

/// How much of a window a request may fill.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Filling {
    /// Share of the window.
    pub share: f64,
    /// Tokens of the largest of the newest steps, in our count.
    pub step: u64,
    /// Whether the host asks us before it compacts.
    pub asks: bool,
}

impl Marks {
    /// `window`: its tokens. `reserved`: tokens that the host keeps free; it compacts when fewer
    /// are left.
    ///
    /// A host checks its threshold when the results of a step have come in, before it asks for the
    /// next request. So `full` lies below the threshold by the largest step, but by at most half of
    /// the threshold. In a window smaller than twice the reserve, half of the window counts as
    /// reserved: a host's default is not meant for such a model. There a host that asks is told not
    /// to compact as long as the model has room to answer.
    pub fn of(window: u64, reserved: u64, filling: Filling) -> Self {
        let Filling { share, step, asks } = filling;
        let most = most_tokens(window, reserved);
        let threshold = window - reserved.min(window / 2);
        let is_ours = asks && threshold < most;
        let full = if is_ours { most } else { threshold - step.min(threshold / 2) };
        let stays = if is_ours { window / 2 } else { 0 };
        Self { high: scaled(window, share).min(full), full, most, reserved: window - most, stays }
    }

    /// The marks for the messages alone. `fixed`: tokens of system prompt and tools.
    #[must_use]
    pub fn without(self, fixed: u64) -> Self {
        Self {
            high: self.high.saturating_sub(fixed),
            full: self.full.saturating_sub(fixed),
            most: self.most.saturating_sub(fixed),
            stays: self.stays.saturating_sub(fixed),
            ..self
        }
    }
}

/// Most tokens of a request of which the host keeps this much of the window free: above it, the model
/// has little room to answer. In a small window only a part can be kept free.
pub fn most_tokens(window: u64, reserved: u64) -> u64 {
    window - reserved.min(window / 4)
}

/// Tokens of the results in the largest of the newest steps, at the host's own sizes.
pub fn largest_step(session: &Session) -> u64 {
    let newest = session.chat().step();
    let (mut largest, mut tokens, mut step) = (0, 0, newest);
    for (_, message) in session.window().rev() {
        if message.step + STEPS <= newest {
            break;
        }
        if message.step != step {
            (tokens, step) = (0, message.step);
        }
        if let MessageKind::Result(_) = message.kind {
            tokens += message.tokens;
            largest = largest.max(tokens);
        }
    }
    largest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(window: u64, step: u64, asks: bool) -> Marks {
        Marks::of(window, 16_384, Filling { share: 0.7, step, asks })
    }

    #[test]
    fn a_host_keeps_no_more_of_a_small_window_than_a_part() {
        assert_eq!(most_tokens(200_000, 16_384), 183_616);
        assert_eq!(most_tokens(200_000, 60_000), 150_000);
        assert_eq!(most_tokens(16_000, 16_384), 12_000);
    }

    #[test]
    fn the_mark_is_the_share_where_that_is_less() {
        let marks = of(200_000, 10_000, false);
        assert_eq!(
            marks,
            Marks { high: 140_000, full: 173_616, most: 183_616, reserved: 16_384, stays: 0 }
        );
    }

    #[test]
    fn the_mark_leaves_room_for_a_step_before_host_compaction() {
        let marks = of(40_000, 9_000, false);
        assert_eq!(
            marks,
            Marks { high: 14_616, full: 14_616, most: 30_000, reserved: 10_000, stays: 0 }
        );
        assert_eq!(of(40_000, 90_000, false).high, 11_808, "at most half");
    }

    #[test]
    fn a_host_that_asks_leaves_a_small_window_to_us() {
        let marks = of(32_768, 5_000, true);
        assert_eq!(
            marks,
            Marks { high: 22_938, full: 24_576, most: 24_576, reserved: 8_192, stays: 16_384 }
        );
        let [asks, asks_not] = [true, false].map(|asks| of(65_536, 5_000, asks));
        assert_eq!(asks, asks_not, "the host keeps no more free than we do");
    }

    #[test]
    fn half_of_a_window_that_the_reserve_would_fill_can_be_used() {
        let marks = of(16_000, 5_000, false);
        assert_eq!(
            marks,
            Marks { high: 4_000, full: 4_000, most: 12_000, reserved: 4_000, stays: 0 }
        );
        let marks = marks.without(4_500);
        assert_eq!(marks, Marks { high: 0, full: 0, most: 7_500, reserved: 4_000, stays: 0 });
    }
}
