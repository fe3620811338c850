//! The ledger of a session: what its calls cost, and what they would have cost the plain host.
//! Plain data and its fold.
//!
//! `context` computes the cost of a call before it is recorded; the ledger only adds up. The unit
//! of cost is the price of one uncached input token of the call's model. Sums run from the
//! session's first call; a fork continues its parent's sums. Must not decide anything.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::call_bill::{CallBill, Side};
use super::call_note::{PlainCompaction, PriceNote};
use super::dollars::{self, Dollars};
use super::event::Rewrite;
use super::faults::Faults;
use super::host_call::{HostSides, HostSums};
use super::record::CallRecord;
use super::report::{ReportKind, Reported};
use super::usage::{Usage, UsageProblem};
use base::object::Hash;
use config::{Prices, scaled};

/// Sums of one side: ours or the plain host's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Account {
    /// Tokens sent.
    pub sent: u64,
    /// Tokens read from the cache.
    pub cached: u64,
    /// All other input tokens.
    pub written: u64,
    /// Cost.
    pub cost: f64,
}

impl From<Side> for Account {
    fn from(side: Side) -> Self {
        let Side { cached, written, cost, .. } = side;
        Self { sent: side.total(), cached, written, cost }
    }
}

impl Account {
    fn add(&mut self, side: &Side) {
        self.sent += side.total();
        self.cached += side.cached;
        self.written += side.written;
        self.cost += side.cost;
    }

    /// Has one side of a call in the place of what was added for it.
    fn replace(&mut self, gone: &Side, side: &Side) {
        self.sent -= gone.total();
        self.cached -= gone.cached;
        self.written -= gone.written;
        self.cost -= gone.cost;
        self.add(side);
    }
}

/// Sums of what providers reported.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReportedSums {
    /// Calls with a report.
    pub calls: u64,
    /// Tokens neither read from the cache nor written to it.
    pub input: u64,
    /// Tokens read from the cache.
    pub cache_read: u64,
    /// Tokens written to the cache.
    pub cache_write: u64,
    /// Tokens of output.
    pub output: u64,
    /// Cost of the input.
    pub cost: f64,
    /// Our estimate for the same calls.
    pub estimated_cost: f64,
}

/// Requests that kept a cache alive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Warming {
    /// Number of requests.
    pub requests: u64,
    /// Their cost.
    #[serde(rename = "cost")]
    pub ours: f64,
    /// What they would have cost the plain host, whose requests are larger.
    #[serde(rename = "plainCost")]
    pub plain: f64,
}

/// An epoch in the ledger.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EpochBill {
    /// Its number, from 1.
    pub number: u32,
    /// Why it started.
    pub reason: String,
    /// Number of the call that it started with.
    pub call: u64,
    /// Tokens that it freed, in the provider's count.
    pub freed: u64,
    /// Cost of the rewrite that started it.
    pub cost: f64,
    /// What the freed tokens would have cost since then, until the plain host would have compacted
    /// them away or the host rewrote its list, minus `cost`. Negative until the epoch has paid off.
    pub saved: f64,
    /// `saved` in US dollars, as far as prices are known; `None` if none is.
    pub saved_dollars: Option<f64>,
    /// Whether savings are still credited.
    #[serde(skip)]
    stands: bool,
}

impl EpochBill {
    fn save(&mut self, cost: f64, rate: Option<f64>) {
        self.saved += cost;
        if let Some(rate) = rate {
            *self.saved_dollars.get_or_insert(0.0) += cost * rate;
        }
    }
}

/// What the next call needs to know about the newest one.
#[derive(Debug, Clone, PartialEq)]
pub struct LastCall {
    /// Its number.
    pub number: u64,
    /// Its model.
    pub model: Option<String>,
    /// `content_hash` of its system prompt.
    pub prompt: Option<Hash>,
    /// Length of the host's list.
    pub host_messages: u64,
    /// Faults noticed before it.
    pub faults: Faults,
    /// Its bill.
    pub bill: CallBill,
}

/// What the state knows of a call that was recorded.
#[derive(Debug, Clone, Copy)]
pub(super) struct Around {
    /// Length of the host's list.
    pub(super) host_messages: u64,
    /// The plain host's compaction in effect before it.
    pub(super) compaction: Option<PlainCompaction>,
    /// Faults since the call before, quotations with their cost.
    pub(super) faults: Faults,
    /// Whether it was made for faults alone.
    pub(super) is_for_faults: bool,
}

/// The ledger of a session.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Bill {
    /// Number of billed calls, those with the host's own messages included.
    pub calls: u64,
    /// Sums of our requests, without warming and faults.
    pub our_account: Account,
    /// Sums of the plain host's requests, without warming.
    pub plain_account: Account,
    /// The part of [`Self::ours`] caused by our tools and guidance.
    pub overhead: f64,
    /// The part of [`Self::ours`] caused by notes, and by help for failed edits.
    pub added: f64,
    /// Requests that kept the cache alive.
    pub warming: Warming,
    /// Faults.
    pub faults: Faults,
    /// Number of quotations that are charged for.
    charged: u64,
    extra_calls: u64,
    /// The calls that went out with the host's own messages.
    pub hosts: HostSums,
    /// What providers reported.
    pub reported: ReportedSums,
    dollars: Dollars,
    /// The epochs that started, in order.
    pub epochs: Vec<EpochBill>,
    /// Prices of the newest call.
    pub prices: Option<PriceNote>,
    /// The newest call.
    pub last: Option<LastCall>,
    /// The plain host's compaction in effect at the newest call.
    pub compaction: Option<PlainCompaction>,
    /// How often the plain host would have compacted.
    pub compactions: u64,
    known_reports: BTreeSet<String>,
    /// What providers reported, by model.
    usage: BTreeMap<String, Usage>,
}

impl Bill {
    /// Our cost so far: all requests, including our overhead, cache warming and what is charged for
    /// quotations.
    pub fn ours(&self) -> f64 {
        self.our_account.cost + self.warming.ours + self.charged()
    }

    /// What the plain host's requests would have cost so far, cache warming included.
    pub fn plain(&self) -> f64 {
        self.plain_account.cost + self.warming.plain
    }

    /// [`Self::ours`] divided by [`Self::plain`]; `None` before the first call.
    pub fn ratio(&self) -> Option<f64> {
        (self.plain() > 0.0).then(|| self.ours() / self.plain())
    }

    /// The part of [`Self::ours`] that is charged for quotations. What other faults cost is in the
    /// requests.
    pub fn charged(&self) -> f64 {
        self.faults.quoted.cost
    }

    /// Whether the model ever needed absent content: it quoted some, or there was a call that used
    /// only our own tools.
    pub fn has_missed(&self) -> bool {
        self.charged + self.extra_calls > 0
    }

    /// The same sums in US dollars; `None` if no call has a known price.
    pub fn dollars(&self) -> Option<Dollars> {
        Some(self.dollars).filter(|dollars| dollars.calls > 0)
    }

    /// What a request of this many tokens costs in US dollars at the newest prices if no cache holds
    /// any of it; `None` if they are not known.
    pub fn dollars_uncached(&self, tokens: u64) -> Option<f64> {
        let note = self.prices.as_ref()?;
        Some(note.prices.cost(0, tokens) * dollars::rate(note)?)
    }

    /// What all epochs have saved so far, and the same in US dollars as far as prices are known.
    pub fn saved_by_epochs(&self) -> (f64, f64) {
        let saved = self.epochs.iter().map(|epoch| (epoch.saved, epoch.saved_dollars));
        saved.fold((0.0, 0.0), |(sum, dollars), (saved, more)| {
            (sum + saved, dollars + more.unwrap_or_default())
        })
    }

    /// Whether a report with this ID is already counted.
    pub fn knows_report(&self, id: &str) -> bool {
        self.known_reports.contains(id)
    }

    /// The provider's token count for a model divided by ours, as far as its reports can be
    /// believed; 1 before the first.
    pub fn factor(&self, model: Option<&str>) -> f64 {
        self.usage.get(model.unwrap_or_default()).map_or(1.0, Usage::factor)
    }

    /// What is wrong with the reports on the newest call's model, if anything is.
    pub fn usage_problem(&self) -> Option<UsageProblem> {
        let model = self.last.as_ref()?.model.as_deref();
        let problem = self.usage.get(model.unwrap_or_default())?.problem()?;
        let Prices { read, write, .. } = self.prices.as_ref()?.prices;
        // Where a cache makes nothing cheaper, or costs nothing, none need be reported.
        let matters = problem != UsageProblem::Uncached || (read > 0.0 && read < write);
        matters.then_some(problem)
    }

    pub(super) fn epoch_started(&mut self, number: u32, reason: &str, call: u64) {
        let reason = reason.to_owned();
        let epoch = EpochBill { number, reason, call, stands: true, ..EpochBill::default() };
        self.epochs.push(epoch);
    }

    /// The host rewrote its list.
    pub(super) fn rewritten(&mut self, how: Rewrite) {
        if !matches!(how, Rewrite::Edited | Rewrite::Passing) {
            self.end_savings(u64::MAX);
        }
    }

    /// The plain host would send no more what epochs before a call freed.
    fn end_savings(&mut self, call: u64) {
        for epoch in self.epochs.iter_mut().filter(|epoch| epoch.call < call) {
            epoch.stands = false;
        }
    }

    /// Enters a call that went out with the host's own messages.
    pub(super) fn host_called(&mut self, sides: &HostSides) {
        let HostSides { ours, plain, failed } = sides;
        let rate = self.prices.as_ref().and_then(dollars::rate);
        self.calls += 1;
        self.our_account.add(ours);
        self.plain_account.add(plain);
        self.dollars.add(ours, plain, rate);
        self.hosts.calls += 1;
        self.hosts.failed += u64::from(*failed);
        self.hosts.sent += ours.total();
        self.hosts.cost += ours.cost;
        self.hosts.plain_cost += plain.cost;
        self.hosts.dollars += ours.cost * rate.unwrap_or_default();
    }

    pub(super) fn called(&mut self, record: &CallRecord, around: Around) {
        let Around { host_messages, compaction, mut faults, is_for_faults } = around;
        self.compaction = compaction;
        let note = &record.bill;
        if let Some(before) = &self.prices {
            self.dollars.charged(note.fault_cost, before);
        }
        if let Some(prices) = &note.prices {
            self.prices = Some(prices.clone());
        }
        // The first note of a session has prices.
        let Some(prices) = &self.prices else { return };
        let before = self.last.as_ref().map(|last| &last.bill);
        let bill = CallBill::new(note, record, before, prices, self.compaction);
        self.calls += 1;
        self.our_account.add(&bill.ours);
        if !bill.extra {
            self.plain_account.add(&bill.plain);
        }
        self.overhead += bill.overhead_cost;
        self.added += bill.added_cost;
        self.dollars.called(&bill, prices);
        self.charged += note.faults;
        bill.price_faults(&mut faults, is_for_faults, &prices.prices);
        self.faults.add(&faults);
        self.dollars.missed(faults.cost(), prices);
        self.extra_calls += u64::from(note.extra);
        let rate = dollars::rate(prices);
        if note.compacted.is_some() {
            self.compaction = note.compacted;
            self.compactions += 1;
            self.end_savings(record.number);
        }
        self.credit_epochs(record.number, &bill, rate);
        self.last = Some(LastCall {
            number: record.number,
            model: record.model.clone(),
            prompt: record.system_prompt.clone(),
            host_messages,
            faults,
            bill,
        });
    }

    #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^53")]
    fn credit_epochs(&mut self, call: u64, bill: &CallBill, rate: Option<f64>) {
        if let Some(epoch) = self.epochs.last_mut().filter(|epoch| epoch.call == call) {
            epoch.freed = bill.freed;
            epoch.cost = bill.rewrite_cost;
            epoch.save(-bill.rewrite_cost, rate);
        }
        for epoch in self.epochs.iter_mut().filter(|epoch| epoch.stands) {
            epoch.save(epoch.freed as f64 * bill.carry, rate);
        }
    }

    /// Takes in a report; whether it is one on the newest call that can be believed.
    pub(super) fn reported_usage(&mut self, reported: &Reported) -> bool {
        self.known_reports.extend(reported.id.clone());
        let cost = self.cost_reported(reported);
        if reported.kind == ReportKind::CacheWarm {
            // It sends the newest request again, so it costs no more than that.
            let cost = cost.min(self.cost_of_newest());
            let plain = cost * self.plain_by_ours();
            self.warming.requests += 1;
            self.warming.ours += cost;
            self.warming.plain += plain;
            if let Some(prices) = &self.prices {
                self.dollars.warmed(cost, plain, prices);
            }
            return false;
        }
        self.reported.calls += 1;
        self.reported.input += reported.input;
        self.reported.cache_read += reported.cache_read;
        self.reported.cache_write += reported.cache_write;
        self.reported.output += reported.output;
        self.reported.cost += cost;
        self.add_reported_dollars(reported, cost);
        let Some(last) = self.last.as_ref().filter(|last| reported.call == Some(last.number))
        else {
            return false;
        };
        self.reported.estimated_cost += last.bill.ours.cost;
        let (counted, cached) = (last.bill.counted(), last.bill.ours.cached);
        let model = last.model.clone().unwrap_or_default();
        let usage = self.usage.entry(model).or_default();
        usage.report(counted, reported.total(), cached, reported.cache_read);
        usage.is_believed()
    }

    /// The newest call's request had so many tokens, and that of the plain host so many more than
    /// billed.
    pub(super) fn measured(&mut self, ours: u64, more: f64) {
        let (Some(last), Some(note)) = (&mut self.last, &self.prices) else { return };
        let (prices, rate) = (&note.prices, dollars::rate(note).unwrap_or_default());
        let gone = last.bill.ours.resized(ours, prices);
        self.our_account.replace(&gone, &last.bill.ours);
        self.dollars.bill += (last.bill.ours.cost - gone.cost) * rate;
        if last.bill.extra {
            return;
        }
        let size = last.bill.plain.total() + scaled(1, more.max(0.0));
        let gone =
            last.bill.plain.resized(size.saturating_sub(scaled(1, (-more).max(0.0))), prices);
        self.plain_account.replace(&gone, &last.bill.plain);
        self.dollars.plain_bill += (last.bill.plain.cost - gone.cost) * rate;
    }

    fn add_reported_dollars(&mut self, reported: &Reported, cost: f64) {
        let Some(prices) = &self.prices else { return };
        let last = self.last.as_ref().filter(|last| reported.call == Some(last.number));
        self.dollars.reported(cost, last.map_or(0.0, |last| last.bill.ours.cost), prices);
    }

    /// Cost of a reported input at the prices of the newest call; 0 before the first call.
    fn cost_reported(&self, reported: &Reported) -> f64 {
        let Reported { input, cache_read, cache_write, .. } = *reported;
        let prices = self.prices.as_ref().map(|note| &note.prices);
        prices.map_or(0.0, |prices| prices.cost_reported(input, cache_read, cache_write))
    }

    /// Cost of the newest request if no cache held any of it.
    fn cost_of_newest(&self) -> f64 {
        let known = self.last.as_ref().zip(self.prices.as_ref());
        known.map_or(0.0, |(last, note)| note.prices.cost(0, last.bill.ours.total()))
    }

    /// Size of the plain host's newest request divided by ours. Scales the cost of cache warming,
    /// because the plain host would have had to keep its own, larger cache alive.
    #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^53")]
    fn plain_by_ours(&self) -> f64 {
        self.last.as_ref().map_or(1.0, |last| {
            last.bill.plain.total() as f64 / last.bill.ours.total().max(1) as f64
        })
    }
}
