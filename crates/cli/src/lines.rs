//! Lines for the person at the machine, all on stderr.

use std::path::Path;
use std::time::SystemTime;

use records::{Pipeline, Stage};
use serde_json::Value;
use workdir::{Receipt, WorkDir};

/// A count with thousands separated, such as `9,753`.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Bytes in the largest binary unit that they fill, such as `34.6 MiB`.
pub fn bytes(value: u64) -> String {
    let units = ["KiB", "MiB", "GiB", "TiB"];
    let mut scaled = value as f64 / 1024.0;
    let mut unit = 0;
    if value < 1024 {
        return format!("{value} B");
    }
    while scaled >= 1024.0 && unit + 1 < units.len() {
        scaled /= 1024.0;
        unit += 1;
    }
    format!("{scaled:.1} {}", units[unit])
}

/// A duration, such as `0.31 s`, `12.3 s`, `4 min 05 s`.
pub fn seconds(value: f64) -> String {
    if value < 10.0 {
        format!("{value:.2} s")
    } else if value < 120.0 {
        format!("{value:.1} s")
    } else {
        let whole = value as u64;
        match whole / 60 {
            minutes if minutes < 120 => format!("{minutes} min {:02} s", whole % 60),
            minutes => format!("{} h {:02} min", minutes / 60, minutes % 60),
        }
    }
}

/// Prints a line.
pub fn say(line: &str) {
    eprintln!("{line}");
}

/// Prints a line with the time before it, for logs.
pub fn stamped(line: &str) {
    eprintln!("{} {line}", time(SystemTime::now()));
}

/// A time in UTC, such as `2026-12-01T14:55:00Z`.
pub fn time(time: SystemTime) -> String {
    // A clock before the year -9999 does not matter.
    let time = jiff::Timestamp::try_from(time).unwrap_or_default();
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// A number among a stage's counters, 0 where there is none.
pub(crate) fn counter(receipt: &Receipt, name: &str) -> u64 {
    receipt
        .counters
        .get(name)
        .and_then(Value::as_u64)
        .unwrap_or(0)
}

/// What a stage came to, in figures.
pub fn stage_figures(receipt: &Receipt) -> String {
    let get = |name: &str| count(counter(receipt, name));
    match receipt.stage {
        Stage::Sign => {
            let skipped = match counter(receipt, "files_skipped") {
                0 => String::new(),
                skipped => format!("; {} hidden or side files skipped", count(skipped)),
            };
            format!(
                "{} documents in {} files, {} of text{skipped}",
                get("documents"),
                get("files"),
                bytes(counter(receipt, "text_bytes"))
            )
        }
        Stage::Band => format!(
            "{} exact copies, {} buckets of two or more",
            get("exact_copies"),
            get("buckets")
        ),
        Stage::Join => format!("{} edges, {} pairs compared", get("edges"), get("compared")),
        Stage::Cluster => format!("{} clusters, {} to drop", get("clusters"), get("dropped")),
        Stage::Filter => format!(
            "{} of {} rows written, {}",
            get("rows_out"),
            get("rows_in"),
            bytes(counter(receipt, "output_bytes"))
        ),
    }
}

/// What a stage did, in one line.
pub fn stage_done(receipt: &Receipt) -> String {
    let what = stage_figures(receipt);
    let usage = &receipt.usage;
    format!(
        "{:<8}{:>8}, {} CPU, {} peak: {what}",
        receipt.stage,
        seconds(usage.wall_s),
        seconds(usage.cpu_s),
        bytes(usage.peak_rss_bytes)
    )
}

/// The summary of a finished run: at most 15 lines.
pub fn summary(receipts: &[Receipt], pipeline: &Pipeline, work: &WorkDir) -> Vec<String> {
    let of = |stage| receipts.iter().find(|receipt| receipt.stage == stage);
    let mut lines = Vec::new();
    if let (Some(sign), Some(cluster)) = (of(Stage::Sign), of(Stage::Cluster)) {
        let (documents, dropped) = (counter(sign, "documents"), counter(cluster, "dropped"));
        let share = 100.0 * dropped as f64 / (documents.max(1)) as f64;
        lines.push(format!(
            "{} rows in, {} kept, {} dropped ({share:.1} %): {} exact, {} near",
            count(documents),
            count(documents.saturating_sub(dropped)),
            count(dropped),
            count(counter(cluster, "dropped_exact")),
            count(counter(cluster, "dropped_near")),
        ));
        lines.push(format!(
            "nothing to compare (always kept): {} null, {} empty",
            count(counter(sign, "null")),
            count(counter(sign, "empty"))
        ));
        lines.extend(largest(cluster));
    }
    let wall_s: f64 = receipts.iter().map(|receipt| receipt.usage.wall_s).sum();
    let peak = receipts
        .iter()
        .map(|receipt| receipt.usage.peak_rss_bytes)
        .max();
    let by_stage: Vec<String> = receipts
        .iter()
        .map(|receipt| {
            let usage = &receipt.usage;
            format!(
                "{} {} {}",
                receipt.stage,
                seconds(usage.wall_s),
                bytes(usage.peak_rss_bytes)
            )
        })
        .collect();
    lines.push(format!(
        "time {}, peak memory {} ({})",
        seconds(wall_s),
        bytes(peak.unwrap_or(0)),
        by_stage.join(", ")
    ));
    if of(Stage::Filter).is_some() {
        lines.push(format!("output   {}", shown(&pipeline.filter.output)));
    }
    if of(Stage::Cluster).is_some() {
        lines.push(format!("clusters {}", shown(&work.clusters())));
    }
    lines.push(format!("report   {}", shown(&work.report())));
    lines
}

/// A path as it is shown: relative to the current folder if it lies below it.
fn shown(path: &Path) -> String {
    let cwd = std::env::current_dir().unwrap_or_default();
    let short = path.strip_prefix(&cwd).unwrap_or(path);
    short.display().to_string()
}

fn largest(cluster: &Receipt) -> Option<String> {
    let clusters = cluster.counters.get("largest_clusters")?.as_array()?;
    let shown: Vec<String> = clusters
        .iter()
        .take(3)
        .filter_map(|cluster| {
            Some(format!(
                "{} like {} row {}",
                count(cluster.get("documents")?.as_u64()?),
                cluster.get("file")?.as_str()?,
                cluster.get("row")?.as_u64()?
            ))
        })
        .collect();
    (!shown.is_empty()).then(|| format!("largest clusters: {}", shown.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_well() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(9_753), "9,753");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(bytes(1023), "1023 B");
        assert_eq!(bytes(36_280_729), "34.6 MiB");
        assert_eq!(bytes(1 << 50), "1024.0 TiB");
        assert_eq!(seconds(0.314), "0.31 s");
        assert_eq!(seconds(12.34), "12.3 s");
        assert_eq!(seconds(245.9), "4 min 05 s");
        assert_eq!(seconds(7260.0), "2 h 01 min");
    }
}
