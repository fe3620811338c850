//! A session's ledger for display: sums, epochs, and each call; and the figures of it that a list of
//! sessions shows. Pure; a fold of the session's events.

use serde::{Deserialize, Serialize};

use session::{
    Account, Bill, CallBill, CallRecord, Dollars, EpochBill, Event, Faults, HostSums, LastCall,
    LeftSums, PriceNote, ReportKind, Reported, ReportedSums, Session, Warming,
};

/// The ledger of a session. Costs are in uncached input tokens; tokens are in the provider's count.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Statement {
    /// Number of calls in the bill.
    pub calls: u64,
    /// Number of calls that failed open: they went out with the host's own messages.
    pub failed_calls: u64,
    /// Calls in the bill that went out with the host's own messages: they failed open, or were made
    /// while Palimpsest was off.
    pub host_calls: HostSums,
    /// Calls in the bill that were made on branches which the person left since.
    pub left: LeftSums,
    /// Number of the epoch, from 0.
    pub epoch: u32,
    /// Prices of the newest call.
    pub prices: Option<PriceNote>,
    /// Our bill: requests, warming and what is charged for quotations.
    pub bill: f64,
    /// What the plain host's bill would have been.
    pub plain_bill: f64,
    /// The part of our bill caused by our tools and guidance.
    pub overhead: f64,
    /// Our requests.
    pub ours: Account,
    /// The plain host's requests.
    pub plain: Account,
    /// How often the plain host would have compacted.
    pub plain_compactions: u64,
    /// Requests that kept the cache alive.
    pub warming: Warming,
    /// Faults.
    pub faults: StatementFaults,
    /// What the provider reported for calls. `estimatedCost` is our estimate for the same calls.
    pub reported: ReportedSums,
    /// Sums in US dollars, each call at its own model's prices.
    pub dollars: Option<Dollars>,
    /// The epochs that started.
    pub epochs: Vec<EpochBill>,
    /// What was saved besides what the epochs saved: by outputs shown in part from the start, and
    /// lines for text that stood already; plus the plain host's compactions, minus our overhead,
    /// warming and faults.
    pub saved_otherwise: f64,
    /// The same in US dollars, as far as prices are known.
    pub saved_otherwise_dollars: Option<f64>,
    /// Every call, in order.
    pub per_call: Vec<CallLine>,
}

/// Faults.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct StatementFaults {
    /// Number of faults.
    pub count: u64,
    /// What they cost, as part of the bill.
    pub cost: f64,
    /// The part of `cost` that is charged for quotations and is in no request.
    pub charged: f64,
    /// By kind.
    pub kinds: Faults,
}

impl StatementFaults {
    /// All faults of a session.
    pub fn so_far(session: &Session) -> Self {
        Self::of(session.all_faults(), session.bill().charged())
    }

    fn of(kinds: Faults, charged: f64) -> Self {
        Self { count: kinds.count(), cost: kinds.cost(), charged, kinds }
    }
}

/// A call.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CallLine {
    /// Its number.
    pub number: u64,
    /// Its model.
    pub model: Option<String>,
    /// US dollars per million uncached input tokens of the model, if known.
    pub usd_per_million: Option<f64>,
    /// Its epoch.
    pub epoch: u32,
    /// Whether a cache was alive for this model, system prompt and tools.
    pub warm: bool,
    /// Our request: as estimated before it went out, and of the size that was reported if that can
    /// be believed.
    pub ours: Account,
    /// The part of it caused by our tools and guidance.
    pub overhead: f64,
    /// The plain host's request. Where it would not have made the call, `sent` is how large its
    /// request would be, nothing of it is in any sum, and the others are 0.
    pub plain: Account,
    /// Whether the plain host would not have made the call: the model had used only our own tools.
    pub extra: bool,
    /// What the provider reported.
    pub reported: Option<ReportedSums>,
    /// Requests that kept its cache alive afterwards.
    pub warming: Warming,
    /// Faults noticed before it.
    pub faults: StatementFaults,
    /// Calls before it that went out with the host's own messages.
    pub host_calls: HostSums,
}

/// The figures of a session that a list shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BillInShort {
    /// As in [`Statement`].
    pub bill: f64,
    /// As in [`Statement`].
    pub plain_bill: f64,
    /// As in [`Statement`].
    pub dollars: Option<Dollars>,
    /// Number of faults.
    pub faults: u64,
    /// Tokens of the newest request in the bill; `None` before the first.
    pub window: Option<Windows>,
}

/// Tokens of a request and of the plain host's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Windows {
    /// Ours.
    pub ours: u64,
    /// The plain host's.
    pub plain: u64,
}

impl BillInShort {
    /// The figures of a session as it stands.
    pub fn of(session: &Session) -> Self {
        let bill = session.bill();
        let windows = |last: &LastCall| {
            let (ours, plain) = (last.bill.ours.total(), last.bill.plain.total());
            Windows { ours, plain }
        };
        Self {
            bill: bill.ours(),
            plain_bill: bill.plain(),
            dollars: bill.dollars(),
            faults: session.all_faults().count(),
            window: bill.last.as_ref().map(windows),
        }
    }
}

/// Makes the statement of a session's events.
pub fn statement<'a>(events: impl IntoIterator<Item = &'a Event>) -> Statement {
    let mut session = Session::default();
    let mut calls: Vec<CallLine> = Vec::new();
    let mut failed_calls = 0;
    let mut hosts = HostSums::default();
    for event in events {
        let before = session.bill().reported.cost;
        let warming = session.bill().warming;
        session.apply(event);
        let bill = session.bill();
        match event {
            Event::Called(record) => {
                if let Some(mut line) = line(record, bill) {
                    line.host_calls = bill.hosts.since(&hosts);
                    hosts = bill.hosts;
                    calls.push(line);
                }
            }
            Event::FailedOpen { calls } => failed_calls += calls.len() as u64,
            Event::Reported(reported) if reported.kind == ReportKind::CacheWarm => {
                let Some(line) = calls.last_mut() else { continue };
                line.warming.requests += 1;
                line.warming.ours += bill.warming.ours - warming.ours;
                line.warming.plain += bill.warming.plain - warming.plain;
            }
            Event::Reported(reported) => {
                let of = |line: &&mut CallLine| Some(line.number) == reported.call;
                if let Some(line) = calls.iter_mut().rev().find(of) {
                    let cost = bill.reported.cost - before;
                    line.reported = Some(usage(reported, cost, line.ours.cost));
                    // It is billed by its size from now on.
                    if let Some(last) = bill.last.as_ref().filter(|last| last.number == line.number)
                    {
                        let CallBill { ours, plain, .. } = &last.bill;
                        (line.ours, line.plain) = ((*ours).into(), (*plain).into());
                    }
                }
            }
            _ => {}
        }
    }
    let bill = session.bill();
    let (epochs, epochs_dollars) = bill.saved_by_epochs();
    let dollars = bill.dollars();
    Statement {
        calls: bill.calls,
        failed_calls,
        host_calls: bill.hosts,
        left: session.left_sums(),
        epoch: session.epoch(),
        prices: bill.prices.clone(),
        bill: bill.ours(),
        plain_bill: bill.plain(),
        overhead: bill.overhead,
        ours: bill.our_account,
        plain: bill.plain_account,
        plain_compactions: bill.compactions,
        warming: bill.warming,
        faults: StatementFaults::so_far(&session),
        reported: bill.reported,
        saved_otherwise: bill.plain() - bill.ours() - epochs,
        saved_otherwise_dollars: dollars
            .map(|dollars| dollars.plain_bill - dollars.bill - epochs_dollars),
        dollars,
        epochs: bill.epochs.clone(),
        per_call: calls,
    }
}

/// The line of the call just applied, if the ledger took it.
fn line(record: &CallRecord, bill: &Bill) -> Option<CallLine> {
    let last = bill.last.as_ref()?;
    let CallBill { warm, ours, plain, extra, overhead_cost, .. } = &last.bill;
    Some(CallLine {
        number: record.number,
        model: record.model.clone(),
        usd_per_million: bill.prices.as_ref().and_then(|prices| prices.usd_per_million),
        epoch: record.epoch,
        warm: *warm,
        ours: (*ours).into(),
        overhead: *overhead_cost,
        plain: (*plain).into(),
        extra: *extra,
        reported: None,
        warming: Warming::default(),
        faults: StatementFaults::of(last.faults, record.bill.fault_cost),
        host_calls: HostSums::default(),
    })
}

fn usage(reported: &Reported, cost: f64, estimated_cost: f64) -> ReportedSums {
    let Reported { input, cache_read, cache_write, output, .. } = *reported;
    ReportedSums { calls: 1, input, cache_read, cache_write, output, cost, estimated_cost }
}
