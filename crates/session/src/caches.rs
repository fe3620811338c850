//! Simulates the providers' prompt caches for one side: ours or the plain host's. Plain data and
//! its fold.
//!
//! A request is a list of prefixes, one number per message: equal numbers mean that all messages up
//! to there are equal. Each combination of model, system prompt and tools has its own cache.
//!
//! A cache keeps the newest request as a list, and separately the prefixes that only earlier
//! requests had. A request that only grew then costs time in proportion to its new part. Must not
//! know tokens.

use std::collections::HashMap;

use base::object::Hash;
use config::Reuse;

/// Identifies the front of a request: all messages up to one of them.
pub type Prefix = u64;

/// Most messages that a request may have beyond an earlier one and still find it by breakpoints.
/// Providers look back about 20 blocks from a breakpoint, and a step of two messages has three or
/// four blocks.
const LOOK_BACK_MESSAGES: usize = 12;

/// Number of caches remembered. Only a host that changes its system prompt at every call would have
/// more of them alive.
const CACHES: usize = 8;
/// Number of prefixes remembered besides those of the newest request.
const OTHER_PREFIXES: usize = 20_000;
/// An unknown time. A cache touched then counts as alive.
const UNKNOWN: i64 = i64::MAX;

/// The caches of one side.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Caches {
    /// Least recently used first.
    known: Vec<Cache>,
}

/// What a cache belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheKey<'a> {
    /// The model.
    pub model: Option<&'a str>,
    /// `content_hash` of the system prompt and tools.
    pub prompt: Option<&'a Hash>,
}

/// When a request is made, in ms since 1970, and how long its cache lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallTime {
    /// `None` if unknown: every cache then counts as alive.
    pub time: Option<i64>,
    /// `None` if a cache never expires.
    pub lifetime_seconds: Option<u64>,
}

#[derive(Debug, Clone, PartialEq)]
struct Cache {
    model: Option<String>,
    prompt: Option<Hash>,
    /// When it was used last.
    touched: i64,
    /// The newest request.
    newest: Vec<Prefix>,
    /// Lengths of the requests that the newest one continues, its own included, in rising order.
    ends: Vec<usize>,
    /// Prefixes that only earlier requests had.
    other: HashMap<Prefix, Other>,
    /// Number of requests.
    requests: u64,
}

/// A prefix that the newest request does not have.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Other {
    touched: i64,
    /// Whether a request ended with it.
    is_end: bool,
    /// Number of the request that replaced it.
    since: u64,
}

impl CallTime {
    fn is_alive(self, touched: i64) -> bool {
        let (Some(now), Some(lifetime)) = (self.time, self.lifetime_seconds) else { return true };
        let lifetime_ms = i64::try_from(lifetime).unwrap_or(i64::MAX).saturating_mul(1_000);
        now.saturating_sub(touched) <= lifetime_ms
    }
}

impl Caches {
    /// Whether a cache is alive; it then holds at least the system prompt and tools.
    pub fn is_alive(&self, key: CacheKey<'_>, now: CallTime) -> bool {
        self.of(key).is_some_and(|cache| now.is_alive(cache.touched))
    }

    /// Whether any cache of a model is alive.
    pub fn is_any_alive(&self, model: Option<&str>, now: CallTime) -> bool {
        let mut caches = self.known.iter().filter(|cache| cache.model.as_deref() == model);
        caches.any(|cache| now.is_alive(cache.touched))
    }

    /// Number of messages at the front of a request that a cache holds; `None` if none is alive.
    ///
    /// If any prefix can be reused, this is the longest common prefix with an earlier request. With
    /// breakpoints, which hosts set at the end of each request, it is the longest earlier request
    /// that this one continues, if its end is near (`LOOK_BACK_MESSAGES`).
    pub fn held(
        &self,
        key: CacheKey<'_>,
        now: CallTime,
        reuse: Reuse,
        request: &[Prefix],
    ) -> Option<usize> {
        let cache = self.of(key).filter(|cache| now.is_alive(cache.touched))?;
        let common = cache.common(request);
        let others = request[common..].iter().map_while(|prefix| {
            cache.other.get(prefix).filter(|other| now.is_alive(other.touched))
        });
        if reuse == Reuse::AnyPrefix {
            return Some(common + others.count());
        }
        let before = cache.ends.partition_point(|end| *end <= common).checked_sub(1);
        let before = before.map_or(0, |place| cache.ends[place]);
        let ends = (common + 1..).zip(others).filter(|(_, other)| other.is_end);
        let end = ends.map(|(end, _)| end).last().unwrap_or(before);
        Some(if end + LOOK_BACK_MESSAGES >= request.len() { end } else { 0 })
    }

    /// Records a sent request: its cache holds all of it, and its lifetime starts anew.
    pub fn sent(&mut self, key: CacheKey<'_>, now: CallTime, request: &[Prefix]) {
        let cache = self.take(key);
        let mut cache = cache
            .filter(|cache| now.is_alive(cache.touched))
            .unwrap_or_else(|| Cache::new(key.model.map(str::to_owned), key.prompt.cloned()));
        cache.requests += 1;
        let common = cache.common(request);
        cache.leave(common);
        for (end, prefix) in (common + 1..).zip(&request[common..]) {
            let other = cache.other.remove(prefix);
            if other.is_some_and(|other| other.is_end && now.is_alive(other.touched)) {
                cache.ends.push(end);
            }
            cache.newest.push(*prefix);
        }
        if cache.ends.last() != Some(&request.len()) {
            cache.ends.push(request.len());
        }
        cache.touched = now.time.unwrap_or(UNKNOWN);
        self.known.push(cache);
        if self.known.len() > CACHES {
            self.known.remove(0);
        }
    }

    /// Extends the life of the newest request's cache: it was answered or kept warm at this time.
    pub fn touched(&mut self, time: Option<i64>) {
        if let Some(cache) = self.known.last_mut() {
            cache.touched = cache.touched.max(time.unwrap_or(UNKNOWN));
        }
    }

    fn of(&self, key: CacheKey<'_>) -> Option<&Cache> {
        self.known.iter().rev().find(|cache| cache.is_of(key))
    }

    fn take(&mut self, key: CacheKey<'_>) -> Option<Cache> {
        let place = self.known.iter().rposition(|cache| cache.is_of(key))?;
        Some(self.known.remove(place))
    }
}

impl Cache {
    fn new(model: Option<String>, prompt: Option<Hash>) -> Self {
        let (newest, ends, other) = (Vec::new(), Vec::new(), HashMap::new());
        Self { model, prompt, touched: UNKNOWN, newest, ends, other, requests: 0 }
    }

    fn is_of(&self, key: CacheKey<'_>) -> bool {
        self.model.as_deref() == key.model && self.prompt.as_ref() == key.prompt
    }

    /// Number of messages at the front that a request shares with the newest one. A binary search
    /// works because a shared prefix implies that all shorter ones are shared.
    fn common(&self, request: &[Prefix]) -> usize {
        let (mut same, mut other) = (0, self.newest.len().min(request.len()));
        while same < other {
            let middle = usize::midpoint(same, other);
            if self.newest[middle] == request[middle] {
                same = middle + 1;
            } else {
                other = middle;
            }
        }
        same
    }

    /// Cuts the newest request after `len` messages. The cache still holds the rest, so it moves to
    /// the other prefixes.
    fn leave(&mut self, len: usize) {
        let Self { touched, requests, .. } = *self;
        let ends = self.ends.split_off(self.ends.partition_point(|end| *end <= len));
        for (end, prefix) in (len + 1..).zip(self.newest.drain(len..)) {
            let is_end = ends.binary_search(&end).is_ok();
            self.other.insert(prefix, Other { touched, is_end, since: requests });
        }
        if self.other.len() > OTHER_PREFIXES {
            let mut ages: Vec<u64> = self.other.values().map(|other| other.since).collect();
            // Drop the oldest half at once: finding the oldest takes time linear in all of them.
            let (_, middle, _) = ages.select_nth_unstable(OTHER_PREFIXES / 2);
            let middle = *middle;
            self.other.retain(|_, other| other.since > middle);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::prefixes::extended;

    const LIFETIME: u64 = 3;

    fn key(model: &str) -> CacheKey<'_> {
        CacheKey { model: Some(model), prompt: None }
    }

    fn at(seconds: i64) -> CallTime {
        CallTime { time: Some(seconds * 1_000), lifetime_seconds: Some(LIFETIME) }
    }

    fn prefixes(messages: &str) -> Vec<Prefix> {
        let mut prefix = 0;
        let of = |letter: char| {
            prefix = extended(prefix, letter.into());
            prefix
        };
        messages.chars().map(of).collect()
    }

    /// The rules without bookkeeping: every request, with the times at which it was sent or
    /// continued.
    #[derive(Default)]
    struct Model {
        requests: Vec<(String, i64)>,
        ends: BTreeMap<String, i64>,
    }

    impl Model {
        fn is_alive(touched: i64, now: i64) -> bool {
            now - touched <= LIFETIME.cast_signed()
        }

        fn held(&self, now: i64, reuse: Reuse, request: &str) -> Option<usize> {
            let alive = self.requests.iter().filter(|(_, time)| Self::is_alive(*time, now));
            let alive: Vec<&str> = alive.map(|(sent, _)| sent.as_str()).collect();
            let common =
                |sent: &&str| sent.chars().zip(request.chars()).take_while(|(a, b)| a == b).count();
            let any = alive.iter().map(common).max()?;
            if reuse == Reuse::AnyPrefix {
                return Some(any);
            }
            let ends = self.ends.iter().filter(|(end, touched)| {
                request.starts_with(end.as_str()) && Self::is_alive(**touched, now)
            });
            let end = ends.map(|(end, _)| end.len()).max().unwrap_or(0);
            Some(if end + LOOK_BACK_MESSAGES >= request.len() { end } else { 0 })
        }

        fn sent(&mut self, now: i64, request: &str) {
            for (end, touched) in &mut self.ends {
                if request.starts_with(end.as_str()) && Self::is_alive(*touched, now) {
                    *touched = now;
                }
            }
            self.ends.insert(request.to_owned(), now);
            self.requests.push((request.to_owned(), now));
        }
    }

    #[test]
    fn the_newest_of_many_prefixes_are_remembered() {
        let mut caches = Caches::default();
        let request = |number: u64| -> Vec<Prefix> {
            (0..1_000).map(|message| number * 1_000 + message + 1).collect()
        };
        for number in 0..100 {
            caches.sent(key("a"), at(0), &request(number));
        }
        assert!(caches.known[0].other.len() <= OTHER_PREFIXES, "{}", caches.known[0].other.len());
        let held = |number| caches.held(key("a"), at(0), Reuse::AnyPrefix, &request(number));
        assert_eq!((held(98), held(95), held(0)), (Some(1_000), Some(1_000), Some(0)));
    }

    #[test]
    fn the_caches_that_were_used_last_are_remembered() {
        let mut caches = Caches::default();
        let models: Vec<String> = (0..20).map(|number| format!("m{number}")).collect();
        for model in &models {
            caches.sent(key(model), at(0), &prefixes("abc"));
            caches.sent(key("often"), at(0), &prefixes("abc"));
        }
        assert_eq!(caches.known.len(), CACHES);
        for (model, is_known) in [("often", true), ("m19", true), ("m0", false)] {
            assert_eq!(caches.is_alive(key(model), at(0)), is_known, "{model}");
        }
    }

    #[test]
    fn what_is_not_dated_does_not_expire() {
        let mut caches = Caches::default();
        let undated = CallTime { time: None, lifetime_seconds: Some(LIFETIME) };
        caches.sent(key("a"), undated, &prefixes("ab"));
        assert!(caches.is_alive(key("a"), at(1_000_000)));
        caches.sent(key("a"), at(0), &prefixes("ab"));
        assert!(!caches.is_alive(key("a"), at(100)) && caches.is_alive(key("a"), undated));
        caches.touched(Some(99_000));
        assert!(caches.is_alive(key("a"), at(100)), "it was kept alive");
    }

    proptest! {
        #![proptest_config(testing::cases::config(64, 1))]

        #[test]
        fn a_cache_holds_what_any_request_left_in_it(
            requests in prop::collection::vec(
                (0..2usize, 0..3i64, prop_oneof!["[ab]{0,6}", "a{0,30}", "a{3}b{0,20}"]),
                1..24,
            ),
        ) {
            let models = ["one", "two"];
            let mut caches = Caches::default();
            let mut expected = [Model::default(), Model::default()];
            let mut now = 0;
            for (model, pause, request) in requests {
                now += pause;
                let list = prefixes(&request);
                for reuse in [Reuse::AnyPrefix, Reuse::Breakpoints] {
                    let held = caches.held(key(models[model]), at(now), reuse, &list);
                    prop_assert_eq!(held, expected[model].held(now, reuse, &request), "{}", request);
                }
                caches.sent(key(models[model]), at(now), &list);
                expected[model].sent(now, &request);
            }
        }
    }
}
