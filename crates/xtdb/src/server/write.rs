//! Commits: our transactions as XTDB transactions. Must not read versions for anybody else.
//!
//! XTDB checks a transaction only when it indexes it, long after it accepted it. So each of our
//! transactions states what it depends on (`match`) and is looked up afterwards, many at once; if
//! something had changed, it is planned again. Each also advances its writer's document by one step
//! from the previous step: so they are committed in order or not at all, and a transaction whose
//! answer was lost is found again by its nonce.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use uuid::Uuid;

use super::client::{Document, SubmitError, TxOp};
use super::plan::{Planned, Planner, number};
use super::{XtdbBackend, documents};
use base::error::{Error, Result};
use base::lock;
use base::object::{Room, Timestamp, TxId};
use store::{Op, Outcome, Receipt, rules};

/// How often a transaction is replanned because others changed what it depends on.
const MAX_TRIES: u32 = 1_000;

/// Longest pause before replanning; it doubles from one millisecond.
const MAX_PAUSE_MS: u64 = 200;

/// Most transactions sent before the first is looked up: over PostgreSQL each look waits for a poll
/// of 100 ms. If others write to the same objects, all transactions after the first conflict are in
/// vain, so fewer are sent then.
pub(super) const SENT_AT_ONCE: usize = 64;

impl XtdbBackend {
    pub(super) fn commit_in_order(&self, transactions: &[&[Op]]) -> Result<Vec<Receipt>> {
        transactions.iter().try_for_each(|ops| rules::check_shape(ops))?;
        let mut receipts: Vec<Receipt> = Vec::new();
        let mut writer = lock(&self.writer);
        let mut planner = Planner::new(self);
        let mut tries = 0;
        while let Some(rest) = transactions.get(receipts.len()..).filter(|rest| !rest.is_empty()) {
            let at_once = self.at_once.load(Ordering::Relaxed);
            let some = &rest[..rest.len().min(at_once)];
            planner.prepare(some)?;
            let (plans, refusal) = until_error(some.iter().map(|ops| planner.plan(ops)));
            let all = plans.len();
            let sent = self.send(&mut writer, plans)?;
            let done = sent.len();
            let written: Vec<TxId> = sent.iter().map(|receipt| receipt.tx_id).collect();
            receipts.extend(sent);
            match refusal {
                Some(Error::Conflict { id, winner }) if done == all => {
                    let winner = winner.map(|winner| number(winner, &written));
                    return Err(Error::Conflict { id, winner });
                }
                Some(error) if done == all => return Err(error),
                _ if done == all => {
                    self.at_once.store((at_once * 2).min(SENT_AT_ONCE), Ordering::Relaxed);
                    planner.go_on(&written);
                }
                _ => {
                    self.at_once.store((done * 2).clamp(1, SENT_AT_ONCE), Ordering::Relaxed);
                    tries = if done > 0 { 1 } else { tries + 1 };
                    if tries > MAX_TRIES {
                        let problem = "others kept changing what a transaction depends on";
                        return Err(self.failed(problem));
                    }
                    pause(tries);
                    *writer = None;
                    planner = Planner::new(self);
                }
            }
        }
        Ok(receipts)
    }

    /// Sends transactions and looks them up. Returns the receipts of the committed ones: all, or
    /// those before the first conflict.
    fn send(&self, writer: &mut Option<Document>, plans: Vec<Planned>) -> Result<Vec<Receipt>> {
        let (sent, failure) = until_error(plans.into_iter().map(|plan| {
            let is_empty = plan.changes.is_empty();
            let tx = (!is_empty).then(|| self.submit(writer, &plan.changes)).transpose()?;
            Ok((tx, plan))
        }));
        let numbers: Vec<i64> = sent.iter().filter_map(|(tx, _)| *tx).collect();
        let times = self.committed(&numbers)?;
        let mut receipts = Vec::new();
        let mut written: Vec<TxId> = Vec::new();
        for (tx, plan) in sent {
            let (tx_id, system_time) = match tx {
                None => self.newest_tx()?,
                Some(tx) => {
                    let Some(&time) = times.get(&tx) else { return Ok(receipts) };
                    self.client.saw(tx);
                    (TxId(tx), time)
                }
            };
            let mut missed = lock(&self.missed);
            for mark in &plan.marks {
                missed.remove(mark);
            }
            drop(missed);
            written.push(tx_id);
            let outcomes = plan.outcomes.into_iter().map(|outcome| resolved(outcome, &written));
            receipts.push(Receipt { tx_id, system_time, outcomes: outcomes.collect() });
        }
        // Committed transactions stay; the caller starts again with the rest.
        failure.map_or(Ok(receipts), Err)
    }

    /// Sends a transaction with the writer's next step; returns its number.
    pub(super) fn submit(&self, writer: &mut Option<Document>, changes: &[TxOp]) -> Result<i64> {
        let id = documents::writer_id(&self.writer_id);
        if writer.is_none() {
            *writer = self.client.latest(&id)?;
        }
        let step = match writer {
            Some(before) => documents::next_step(before)?,
            None => 1,
        };
        let nonce = Uuid::now_v7().to_string();
        let next = documents::writer(&self.writer_id, step, &nonce);
        let advance = [TxOp::Match(id, writer.clone()), TxOp::Put(next.clone())];
        let tx = match self.client.submit(advance.iter().chain(changes)) {
            Ok(tx) => tx,
            Err(SubmitError::Unknown(error)) => self.find(&nonce).ok_or(error)?,
            Err(error) => return Err(error.into_error()),
        };
        *writer = Some(next);
        Ok(tx)
    }

    /// The transaction that carried a nonce, if it is in the log; `None` also if that cannot be
    /// found out now.
    fn find(&self, nonce: &str) -> Option<i64> {
        let newest = self.client.latest_submitted().ok()??;
        self.client.await_tx(newest).ok()?;
        self.client.saw(newest);
        let writer = documents::writer_id(&self.writer_id);
        let from = Some(self.newest_known().id);
        let rows = self.client.history(&writer, from, &Room::for_answers()).ok()?;
        let carries = |document: &Document| document.get("nonce").is_some_and(|n| n == nonce);
        let found = rows.into_iter().rev().find(|row| row.document.as_deref().is_some_and(carries));
        found.map(|row| row.tx.id)
    }

    /// Which of our transactions were committed, with their times. They are in order. Waits until
    /// all are indexed.
    pub(super) fn committed(&self, sent: &[i64]) -> Result<HashMap<i64, Timestamp>> {
        let Some(last) = sent.last() else { return Ok(HashMap::new()) };
        let written = self.written_since_known(*last)?;
        let times: HashMap<i64, Timestamp> =
            written.into_iter().map(|tx| (tx.id, tx.time)).collect();
        match sent.iter().find(|tx| !times.contains_key(tx)) {
            Some(refused) if self.client.committed(*refused)? => {
                Err(self.failed("its log lacks a transaction that it committed"))
            }
            _ => Ok(times),
        }
    }
}

/// The results up to the first error, and that.
fn until_error<T>(results: impl Iterator<Item = Result<T>>) -> (Vec<T>, Option<Error>) {
    let mut error = None;
    let done = results.map_while(|result| result.map_err(|found| error = Some(found)).ok());
    (done.collect(), error)
}

/// Replaces a transaction's position in the commit by its number.
fn resolved(outcome: Outcome, written: &[TxId]) -> Outcome {
    match outcome {
        Outcome::Unchanged(tx_id) => Outcome::Unchanged(number(tx_id, written)),
        Outcome::Written => Outcome::Written,
    }
}

fn pause(tries: u32) {
    let most = 1_u64.checked_shl(tries).unwrap_or(u64::MAX).min(MAX_PAUSE_MS);
    thread::sleep(Duration::from_millis(fastrand::u64(0..=most)));
}
