//! The bound on the bill, at every call, by the replay's own measure. A fault on one object counts once per epoch.

use std::collections::BTreeSet;

use config::{Layout, Prices, Settings};
use context::tokens::Counter;
use replay::measure::faults::FaultyCall;
use replay::measure::{FIXED_TOKENS, OVERHEAD_TOKENS};
use replay::options::{Replaying, Sender};
use replay::report::FileReport;

/// A replay with the default settings.
pub(crate) fn replaying(prices: &str, window_tokens: Option<u64>) -> Replaying {
    Replaying {
        sender: Sender::Ours(Layout::Log),
        prices: Prices::preset(prices).unwrap(),
        window_tokens,
        counter: Counter::Characters,
        host_tokens: FIXED_TOKENS,
        overhead_tokens: OVERHEAD_TOKENS,
        settings: Settings::default(),
        dump: None,
        snapshots: None,
    }
}

/// What a side's fault costs in the bound: nothing if all its sources were missed before in this epoch.
fn fault_cost(fault: Option<&FaultyCall>, missed: &mut BTreeSet<u64>) -> f64 {
    let Some(fault) = fault else { return 0.0 };
    let is_new = fault.sources.iter().filter(|source| missed.insert(**source)).count() > 0;
    if is_new { fault.cost } else { 0.0 }
}

/// By how much the bound is kept, at the call where it is kept by least: that call, and the cost.
pub(crate) fn least_margin(report: &FileReport, prices: &Prices) -> (u64, f64) {
    let settings = Settings::default();
    let (mut ours, mut plain, mut overhead) = (0.0, 0.0, 0.0);
    let mut missed = BTreeSet::new();
    let mut plain_missed = BTreeSet::new();
    let mut least = (0, f64::INFINITY);
    for call in &report.series {
        if report.epochs.iter().any(|epoch| epoch.call == call.call) {
            missed.clear();
        }
        ours += call.ours.cost + fault_cost(call.ours.fault.as_ref(), &mut missed);
        plain += call.plain.cost + fault_cost(call.plain.fault.as_ref(), &mut plain_missed);
        let carry = if call.ours.cached > 0.0 { prices.read } else { prices.write };
        overhead += f64::from(u32::try_from(OVERHEAD_TOKENS).unwrap()) * carry;
        let free = f64::from(u32::try_from(settings.extra_tokens).unwrap());
        let bound = (1.0 + settings.extra_share) * plain + free + overhead;
        if bound - ours < least.1 {
            least = (call.call, bound - ours);
        }
    }
    least
}

/// By how much a session passes the bound at a call, if that is more than its largest request costs to write. That is weaker than the
/// promise, see `tests/bill/recorded.rs`.
pub(crate) fn broken(report: &FileReport, prices: &Prices) -> Option<String> {
    let (call, margin) = least_margin(report, prices);
    let most = report.peak_window.ours * prices.write;
    (margin < -most).then(|| format!("{}: {margin:.0} at call {call}", report.name))
}
