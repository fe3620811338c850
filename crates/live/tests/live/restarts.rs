//! A session that is restarted sends what it would have sent without: how the two are compared.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use crate::script::{Op, World};
use config::Layout;
use context::tokens;

/// A version by its transaction, as in `f2@48`.
static VERSION: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\b([fst]\d+)@\d+").unwrap());

/// Plays a script, by `play`, with its restarts and without them: the requests are the same.
pub(crate) fn restarts_change_nothing(layout: Layout, script: &[Op], play: impl Fn(bool) -> World) {
    let played = |restarts| Played::of(play(restarts));
    let restarted = played(true);
    if !script.iter().any(|op| matches!(op, Op::Restart | Op::Crash | Op::Beside)) {
        return;
    }
    let plain = played(false);
    let has_split = script.iter().any(|op| matches!(op, Op::Beside));
    let has_same_objects = match layout {
        // If another call already has an ID, the new one is made from the call and the session, and
        // its tokens count in the pool's budget.
        Layout::Pools => restarted.id_tokens().eq(plain.id_tokens()),
        // A session that split off has segments of its own, where the other changed a message.
        Layout::Log => !has_split || restarted.handles().eq(plain.handles()),
    };
    // A new process tells a move from a copy by their times alone, which are seconds to it; and what
    // may be added to a request depends on what was paid so far.
    let knows_the_same = restarted.files == plain.files && !restarted.lost_failure;
    if has_same_objects && knows_the_same {
        assert_same(&comparable(&restarted), &comparable(&plain), "a restart");
    }
}

/// The requests without what opening a session anew changes: what a session did before it split off
/// is another's, and opening one is a transaction of its own, so that later ones have other numbers.
fn comparable(played: &Played) -> Vec<Vec<Value>> {
    let json = serde_json::to_string(&played.requests).unwrap();
    let json = json.replace(", by another session", "");
    serde_json::from_str(&VERSION.replace_all(&json, "$1@")).unwrap()
}

/// What a session sent and knew in the end, once it has ended: two of them write into one store.
struct Played {
    /// Handle and ID.
    objects: Vec<(String, String)>,
    /// Handle and path.
    files: Vec<(String, String)>,
    lost_failure: bool,
    requests: Vec<Vec<Value>>,
}

impl Played {
    fn of(world: World) -> Self {
        let (objects, files) = (world.objects(), world.files());
        Self { objects, files, lost_failure: world.lost_failure, requests: world.requests }
    }

    fn handles(&self) -> impl Iterator<Item = &String> {
        self.objects.iter().map(|(handle, _)| handle)
    }

    fn id_tokens(&self) -> impl Iterator<Item = (&String, u64)> {
        self.objects.iter().map(|(handle, id)| (handle, tokens::count(id)))
    }
}

/// `what` changes no request.
pub(crate) fn assert_same(one: &[Vec<Value>], other: &[Vec<Value>], what: &str) {
    for (number, (one, other)) in one.iter().zip(other).enumerate() {
        for (one, other) in one.iter().zip(other) {
            assert_eq!(one, other, "{what} changes request {number}");
        }
        assert_eq!(one.len(), other.len(), "{what} changes request {number}");
    }
    assert_eq!(one.len(), other.len(), "{what} changes how many requests there are");
}
