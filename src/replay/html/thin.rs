//! Thins a report for the page: columns instead of objects, whole numbers, and only as many calls of a long session as a
//! screen can show.
//!
//! Must not count anything except the running bills.

use serde_json::{Map, Value, json};

use crate::error::{Error, Result};

/// Most calls, epochs and faults that the page shows of a file: a chart has about this many pixels.
const MOST_OF_A_FILE: usize = 600;

/// Least number of them, if many files share a page.
const LEAST_OF_A_FILE: usize = 60;

/// Calls of all files together, about 60 bytes each.
const MOST_OF_A_PAGE: usize = 24_000;

/// Kinds of content, in the order in which the chart stacks them, from the bottom.
const KINDS: [&str; 5] = ["fixed", "user", "assistant", "output", "reference"];

/// Figures of a file that the page shows unchanged.
const FIGURES: [&str; 10] = [
    "name",
    "calls",
    "bill",
    "tokens",
    "cachedShare",
    "peakWindow",
    "plainCompactions",
    "notes",
    "faults",
    "plainFaults",
];

/// The report for the page.
pub(super) fn report(report: &Value) -> Result<Value> {
    let files = list(report, "files", "report")?;
    let limit = (MOST_OF_A_PAGE / files.len().max(1)).clamp(LEAST_OF_A_FILE, MOST_OF_A_FILE);
    let thinned = files.iter().map(|report| file(report, limit)).collect::<Result<Vec<_>>>()?;
    let mut page = report.as_object().cloned().unwrap_or_default();
    page.insert("files".into(), thinned.into());
    Ok(Value::Object(page))
}

/// A file: its figures, its epochs and faults, and `points`, a list for each column.
fn file(report: &Value, limit: usize) -> Result<Value> {
    if !report["name"].is_string() {
        return Err(Error::argument("report", "has a file without a `name`"));
    }
    let series = list(report, "series", "report")?;
    let mut page = Map::new();
    for figure in FIGURES {
        page.insert(figure.into(), report[figure].clone());
    }
    let epochs = report["epochs"].as_array().map_or(&[][..], Vec::as_slice);
    page.insert("epochCount".into(), epochs.len().into());
    page.insert("epochs".into(), largest(epochs.to_vec(), "/freedTokens", limit).into());
    let faults = series.iter().filter_map(fault).collect();
    page.insert("faultCalls".into(), largest(faults, "/cost", limit).into());
    page.insert("hostCompactions".into(), series.iter().flat_map(compactions).collect());
    page.insert("points".into(), points(series, limit));
    Ok(Value::Object(page))
}

/// The columns: the call with our largest window from each of at most `limit` groups of calls.
fn points(series: &[Value], limit: usize) -> Value {
    let mut bills = (0.0, 0.0);
    let rows: Vec<Row> = series.iter().map(|call| Row::of(call, &mut bills)).collect();
    let kept: Vec<&Row> =
        if rows.len() <= limit { rows.iter().collect() } else { peaks(&rows, limit) };
    let column = |value: &dyn Fn(&Row) -> f64| -> Value {
        kept.iter().map(|row| whole(value(row))).collect::<Vec<_>>().into()
    };
    let mut points = Map::new();
    points
        .insert("call".into(), kept.iter().map(|row| row.call.clone()).collect::<Vec<_>>().into());
    for (at, kind) in KINDS.into_iter().enumerate() {
        points.insert(kind.into(), column(&|row| row.contents[at]));
    }
    points.insert("plain".into(), column(&|row| row.plain));
    points.insert("oursBill".into(), column(&|row| row.bills.0));
    points.insert("plainBill".into(), column(&|row| row.bills.1));
    Value::Object(points)
}

/// A call.
struct Row {
    call: Value,
    contents: [f64; KINDS.len()],
    plain: f64,
    /// Our bill and the plain host's, up to this call.
    bills: (f64, f64),
}

impl Row {
    fn of(call: &Value, bills: &mut (f64, f64)) -> Self {
        bills.0 += bill(&call["ours"]);
        bills.1 += bill(&call["plain"]);
        let contents = KINDS.map(|kind| number(&call["contents"][kind]));
        Self {
            call: call["call"].clone(),
            contents,
            plain: number(&call["plain"]["tokens"]),
            bills: *bills,
        }
    }

    fn window(&self) -> f64 {
        self.contents.iter().sum()
    }
}

/// The first call, the last, and the peak of each group in between.
fn peaks(rows: &[Row], limit: usize) -> Vec<&Row> {
    let start = |group: usize| group * rows.len() / limit;
    let of = |group: usize| {
        let calls = &rows[start(group)..start(group + 1)];
        if group == 0 {
            calls.first()
        } else if group + 1 == limit {
            calls.last()
        } else {
            calls.iter().max_by(|a, b| a.window().total_cmp(&b.window()))
        }
    };
    (0..limit).filter_map(of).collect()
}

/// What a call costs one side, its fault included.
fn bill(side: &Value) -> f64 {
    number(&side["cost"]) + number(&side["fault"]["cost"])
}

/// Our fault at a call, with its strongest kind.
fn fault(call: &Value) -> Option<Value> {
    let fault = call["ours"]["fault"].as_object()?;
    let is = |kind: &str| fault.get(kind) == Some(&Value::Bool(true));
    let kind = if is("strict") {
        "strict"
    } else if is("ownWords") {
        "ownWords"
    } else {
        "raw"
    };
    let cost = whole(number(fault.get("cost").unwrap_or(&Value::Null)));
    Some(json!({ "call": call["call"], "kind": kind, "lines": fault.get("lines"), "cost": cost }))
}

/// The host's compactions before a call, on either side.
fn compactions(call: &Value) -> impl Iterator<Item = Value> {
    let sides =
        ["ours", "plain"].into_iter().filter(|side| number(&call[*side]["compaction"]) > 0.0);
    sides.map(|side| json!({ "call": call["call"], "side": side }))
}

/// At most `limit` of the items, those with the largest number at `place`, in their order.
fn largest(items: Vec<Value>, place: &str, limit: usize) -> Vec<Value> {
    if items.len() <= limit {
        return items;
    }
    let size = |item: &Value| item.pointer(place).map_or(0.0, number);
    let mut order: Vec<usize> = (0..items.len()).collect();
    order.sort_by(|a, b| size(&items[*b]).total_cmp(&size(&items[*a])));
    order.truncate(limit);
    order.sort_unstable();
    order.into_iter().map(|at| items[at].clone()).collect()
}

fn list<'a>(value: &'a Value, key: &str, argument: &str) -> Result<&'a [Value]> {
    let found = value[key].as_array().map(Vec::as_slice);
    found.ok_or_else(|| Error::argument(argument, format!("has no list `{key}`")))
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_default()
}

/// A number without its fraction.
fn whole(number: f64) -> Value {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "saturates, and tokens are far from the ends"
    )]
    Value::from(number.round() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(call: usize, output: f64) -> Value {
        json!({ "call": call, "contents": { "fixed": 4_000.4, "output": output },
            "ours": { "tokens": output, "cost": 1.5, "fault": { "strict": true, "cost": 2.5, "lines": 3 } },
            "plain": { "tokens": output * 2.0, "cost": 10.0, "compaction": if call == 7 { 9.0 } else { 0.0 } } })
    }

    fn session(calls: usize) -> Value {
        // A saw with the same tooth every 97 calls.
        let height = |at: usize| f64::from(u32::try_from(at % 97).unwrap()) * 1_000.0;
        let series: Vec<Value> = (0..calls).map(|at| call(at, height(at))).collect();
        let epochs: Vec<Value> =
            (0..calls).step_by(2).map(|at| json!({ "call": at, "freedTokens": at })).collect();
        json!({ "files": [{ "name": "s", "calls": calls, "series": series, "epochs": epochs }], "sum": { "a": 1 } })
    }

    #[test]
    fn a_short_session_keeps_every_call() {
        let page = report(&session(9)).unwrap();
        let file = &page["files"][0];
        assert_eq!(page["sum"], json!({ "a": 1 }));
        assert_eq!(file["points"]["call"], json!([0, 1, 2, 3, 4, 5, 6, 7, 8]));
        assert_eq!(file["points"]["fixed"][3], 4_000);
        assert_eq!(file["points"]["plain"][3], 6_000);
        assert_eq!(file["points"]["oursBill"][1], 8);
        assert_eq!(file["points"]["plainBill"][8], 90);
        assert_eq!(file["hostCompactions"], json!([{ "call": 7, "side": "plain" }]));
        assert_eq!(
            file["faultCalls"][2],
            json!({ "call": 2, "kind": "strict", "lines": 3, "cost": 3 })
        );
    }

    #[test]
    fn a_long_session_is_thinned_and_keeps_its_ends_its_peaks_and_its_bill() {
        let page = report(&session(5_000)).unwrap();
        let file = &page["files"][0];
        let calls: Vec<u64> =
            file["points"]["call"].as_array().unwrap().iter().filter_map(Value::as_u64).collect();
        assert_eq!(calls.len(), MOST_OF_A_FILE);
        assert!(calls.is_sorted());
        assert_eq!((calls[0], calls[MOST_OF_A_FILE - 1]), (0, 4_999));
        let outputs = file["points"]["output"].as_array().unwrap();
        let peaks = outputs.iter().filter(|output| **output == json!(96_000)).count();
        assert_eq!(peaks, 5_000 / 97, "every tooth is there");
        assert_eq!(file["points"]["plainBill"][MOST_OF_A_FILE - 1], 50_000);
        assert_eq!(file["epochCount"], 2_500);
        assert_eq!(file["epochs"].as_array().unwrap().len(), MOST_OF_A_FILE);
        assert_eq!(file["epochs"][0]["call"], 3_800, "the largest are kept, in their order");
        assert!(page.to_string().len() < 200_000);
    }

    #[test]
    fn many_files_share_a_page() {
        let one = session(100)["files"][0].clone();
        let page = report(&json!({ "files": vec![one; 300] })).unwrap();
        let calls = page["files"][299]["points"]["call"].as_array().unwrap().len();
        assert_eq!(calls, 80);
    }
}
