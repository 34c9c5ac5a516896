//! `report.json`: the whole of a run for programs and colleagues.

use records::{PRODUCT_VERSION, Pipeline, Stage};
use serde_json::{Map, Value, json};
use workdir::{AtomicFile, Receipt, WorkDir};

use crate::Problem;
use crate::lines::counter;

/// Writes the report from the receipts that stand. `ran` are the stages that ran this time.
///
/// # Errors
/// When it cannot be written.
pub fn write(
    receipts: &[Receipt],
    ran: &[Stage],
    pipeline: &Pipeline,
    work: &WorkDir,
) -> Result<(), Problem> {
    let report = build(receipts, ran, pipeline);
    let path = work.report();
    let json = serde_json::to_vec_pretty(&report)
        .map_err(|error| workdir::Error::io("write", &path)(error.into()))?;
    AtomicFile::write(&path, &json, work)?;
    Ok(())
}

/// Whether the report is that of these receipts: a run may have been stopped behind its last one.
#[must_use]
pub fn is_of(receipts: &[Receipt], work: &WorkDir) -> bool {
    let found: Option<Value> = std::fs::read(work.report())
        .ok()
        .and_then(|bytes| serde_json::from_slice(&bytes).ok());
    found.is_some_and(|report| {
        receipts
            .iter()
            .all(|receipt| report["stages"][receipt.stage.name()]["id"] == *receipt.id)
    })
}

fn build(receipts: &[Receipt], ran: &[Stage], pipeline: &Pipeline) -> Value {
    let of = |stage| receipts.iter().find(|receipt| receipt.stage == stage);
    let number = |stage, name| of(stage).map(|receipt| counter(receipt, name));
    let list = |stage, name: &str| {
        of(stage)
            .and_then(|receipt: &Receipt| receipt.counters.get(name).cloned())
            .unwrap_or(Value::Null)
    };
    let rows_in = number(Stage::Sign, "documents");
    let dropped = number(Stage::Cluster, "dropped");
    let kept = rows_in
        .zip(dropped)
        .map(|(rows, dropped)| rows.saturating_sub(dropped));
    let mut stages = Map::new();
    for receipt in receipts {
        let usage = serde_json::to_value(&receipt.usage).unwrap_or(Value::Null);
        let mut stage = match usage {
            Value::Object(map) => map,
            _ => Map::new(),
        };
        stage.insert("ran".to_owned(), ran.contains(&receipt.stage).into());
        stage.insert("version".to_owned(), receipt.product.clone().into());
        stage.insert("id".to_owned(), receipt.id.clone().into());
        stage.insert("counters".to_owned(), json!(receipt.counters));
        stages.insert(receipt.stage.name().to_owned(), stage.into());
    }
    let warnings: Vec<&String> = receipts
        .iter()
        .flat_map(|receipt| &receipt.warnings)
        .collect();
    let versions: Value = receipts
        .last()
        .map(|receipt| json!(receipt.settings))
        .unwrap_or(Value::Null);
    json!({
        "product": "neardup",
        "version": PRODUCT_VERSION,
        "rows": {
            "in": rows_in,
            "kept": kept,
            "dropped": dropped,
            "exact": number(Stage::Cluster, "dropped_exact"),
            "near": number(Stage::Cluster, "dropped_near"),
            "null": number(Stage::Sign, "null"),
            "empty": number(Stage::Sign, "empty"),
        },
        "largest_clusters": list(Stage::Cluster, "largest_clusters"),
        "largest_buckets": list(Stage::Band, "largest_buckets"),
        "largest_cut_buckets": list(Stage::Join, "largest_cut_buckets"),
        "warnings": warnings,
        "stages": stages,
        "settings": pipeline,
        "identity": versions,
    })
}
