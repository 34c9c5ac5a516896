//! Receipts: what a stage did, and whether that still holds.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufReader};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use records::file::RecordReader;
use records::pods::Record;
use records::{PRODUCT_VERSION, Provenance, Stage};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use crate::{AtomicFile, Error, Outcome, Output, WorkDir, fault, verify};

/// The format version of receipts.
const FORMAT: u32 = 1;

/// The name under which the identity of the input stands among the settings of `sign`.
pub const INPUTS: &str = "inputs";

/// What the receipt of a stage has to say for its outputs to be used again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    /// The stage.
    pub stage: Stage,
    /// Every setting and algorithm version that decides its outputs, its own and those of the
    /// stages before it.
    pub settings: BTreeMap<String, String>,
    /// The identity of the stage before it, none for `sign`.
    pub upstream: Option<String>,
}

/// `settings` without the identity of the input: what a signature shard depends on, which holds
/// whatever other files there are.
fn of_shards(settings: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut settings = settings.clone();
    settings.remove(INPUTS);
    settings
}

impl Expected {
    /// The settings of a signature shard: all but the identity of the input.
    pub fn shard_settings(&self) -> BTreeMap<String, String> {
        of_shards(&self.settings)
    }

    /// The identity of the work that [`crate::Journal`] notes: that of the outputs, but for `sign`
    /// without the identity of the input, since the signatures of a file hold whatever other files
    /// there are.
    pub fn journal_id(&self) -> String {
        match self.stage {
            Stage::Sign => Self {
                settings: self.shard_settings(),
                ..self.clone()
            }
            .id(),
            _ => self.id(),
        }
    }

    /// The identity of the outputs: a hash of stage, settings and upstream identity. Outputs
    /// are a function of these, so equal identities mean equal bytes.
    pub fn id(&self) -> String {
        let parts = (self.stage, &self.settings, &self.upstream);
        // Strings and maps of strings always serialise.
        let json = serde_json::to_vec(&parts).unwrap_or_default();
        format!("{:032x}", xxh3_128(&json))
    }
}

/// What the operating system says a stage has used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Elapsed time in seconds.
    pub wall_s: f64,
    /// Processor time in seconds, all threads, user and system.
    pub cpu_s: f64,
    /// The peak of the resident set in bytes.
    pub peak_rss_bytes: u64,
    /// Bytes read by system calls, cached or not.
    pub bytes_read: u64,
    /// Bytes written by system calls.
    pub bytes_written: u64,
    /// The memory budget.
    pub memory_bytes: u64,
    /// Worker threads.
    pub threads: u32,
}

impl Usage {
    /// What this and a later attempt have used; budget and threads are the later one's.
    #[must_use]
    pub fn with(&self, later: &Self) -> Self {
        Self {
            wall_s: self.wall_s + later.wall_s,
            cpu_s: self.cpu_s + later.cpu_s,
            peak_rss_bytes: self.peak_rss_bytes.max(later.peak_rss_bytes),
            bytes_read: self.bytes_read + later.bytes_read,
            bytes_written: self.bytes_written + later.bytes_written,
            memory_bytes: later.memory_bytes,
            threads: later.threads,
        }
    }
}

/// What a stage did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Receipt {
    /// The format version of the receipt.
    pub format: u32,
    /// The version of neardup that ran the stage.
    pub product: String,
    /// The stage.
    pub stage: Stage,
    /// [`Expected::id`] of the run.
    pub id: String,
    /// The identity of the stage before it.
    pub upstream: Option<String>,
    /// [`Expected::settings`] of the run.
    pub settings: BTreeMap<String, String>,
    /// The files in the work folder.
    pub outputs: Vec<Output>,
    /// Figures for the report.
    pub counters: BTreeMap<String, serde_json::Value>,
    /// Lines for the person at the machine.
    pub warnings: Vec<String>,
    /// Time, memory and bytes.
    pub usage: Usage,
    /// XXH3-64 over the receipt with this field empty.
    pub checksum: String,
}

/// The receipts of the stages before one, each fitting the next: [`Receipt::chain`].
#[derive(Clone, Debug, Default)]
pub struct Chain(BTreeMap<Stage, Receipt>);

impl Chain {
    /// Takes the receipt of a stage out.
    ///
    /// # Errors
    /// [`Error::Damaged`] where the stage is not before the one that the chain was made for.
    pub fn take(&mut self, work: &WorkDir, stage: Stage) -> Result<Receipt, Error> {
        let receipt = self.0.remove(&stage);
        receipt.ok_or_else(|| Error::damaged(&work.receipt(stage), stage, "it is missing"))
    }

    /// The receipts, in the order of the stages.
    pub fn receipts(&self) -> impl Iterator<Item = &Receipt> {
        self.0.values()
    }
}

/// Whether a stage has to run.
#[derive(Clone, Debug, PartialEq)]
pub enum State {
    /// Its outputs are what a run would make.
    Done(Box<Receipt>),
    /// It has to run, because of this.
    Stale(String),
}

impl Receipt {
    /// The receipt of a finished run.
    pub fn new(expected: &Expected, outcome: Outcome, usage: Usage) -> Self {
        let mut receipt = Self {
            format: FORMAT,
            product: PRODUCT_VERSION.to_owned(),
            stage: expected.stage,
            id: expected.id(),
            upstream: expected.upstream.clone(),
            settings: expected.settings.clone(),
            outputs: outcome.outputs,
            counters: outcome.counters,
            warnings: outcome.warnings,
            usage,
            checksum: String::new(),
        };
        receipt.checksum = receipt.own_checksum();
        receipt
    }

    fn own_checksum(&self) -> String {
        let unsigned = Self {
            checksum: String::new(),
            ..self.clone()
        };
        let json = serde_json::to_vec(&unsigned).unwrap_or_default();
        format!("{:016x}", xxh3_64(&json))
    }

    /// Writes the receipt: the last act of a stage.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn save(&self, work: &WorkDir) -> Result<(), Error> {
        let path = work.receipt(self.stage);
        if let Some(folder) = path.parent() {
            work.prepare(folder)?;
        }
        let json = serde_json::to_vec_pretty(self)
            .map_err(|error| Error::io("write", &path)(error.into()))?;
        AtomicFile::write(&path, &json, work)?;
        Ok(())
    }

    /// The receipt of a stage's last run; none where there is no whole and readable one.
    pub fn load(work: &WorkDir, stage: Stage) -> Option<Self> {
        let bytes = fs::read(work.receipt(stage)).ok()?;
        let receipt: Receipt = serde_json::from_slice(&bytes).ok()?;
        let whole = receipt.checksum == receipt.own_checksum();
        (whole && receipt.format == FORMAT && receipt.stage == stage).then_some(receipt)
    }

    /// Removes the receipt: the first act of a stage, so that outputs in the making are never
    /// taken for finished ones.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn remove(work: &WorkDir, stage: Stage) -> Result<(), Error> {
        let path = work.receipt(stage);
        match fault::point("remove").and_then(|()| fs::remove_file(&path)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(Error::io("remove", &path)(error))
            }
            _ => Ok(()),
        }
    }

    /// The receipts of this run's upstream stages, by stage, each fitting the next. `expected`
    /// is that of the stage that runs.
    ///
    /// # Errors
    /// [`Error::Damaged`] where a receipt is missing or belongs to another run.
    pub fn chain(work: &WorkDir, expected: &Expected) -> Result<Chain, Error> {
        let mut chain = BTreeMap::new();
        let mut wanted = expected.upstream.clone();
        let mut stage = expected.stage.previous();
        while let Some(upstream) = stage {
            let receipt = Self::load(work, upstream)
                .filter(|receipt| Some(&receipt.id) == wanted.as_ref())
                .ok_or_else(|| {
                    let what = "it is missing or not of this run";
                    Error::damaged(&work.receipt(upstream), upstream, what)
                })?;
            wanted.clone_from(&receipt.upstream);
            stage = upstream.previous();
            chain.insert(upstream, receipt);
        }
        Ok(Chain(chain))
    }

    /// Checks the content of the outputs whose names `wanted` picks, byte for byte, with
    /// `threads` readers.
    ///
    /// # Errors
    /// The first that is damaged or cannot be read.
    pub fn verify(
        &self,
        work: &WorkDir,
        threads: usize,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<(), Error> {
        let outputs: Vec<&Output> = self.outputs.iter().filter(|o| wanted(&o.name)).collect();
        let next = AtomicUsize::new(0);
        let failed = Mutex::new(None);
        std::thread::scope(|scope| {
            for _ in 0..threads.min(outputs.len()) {
                scope.spawn(|| {
                    while let Some(output) = outputs.get(next.fetch_add(1, Ordering::Relaxed)) {
                        if let Err(error) = verify(work, self.stage, output) {
                            next.store(outputs.len(), Ordering::Relaxed);
                            *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                        }
                    }
                });
            }
        });
        match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// The provenance of this stage's outputs of that kind.
    pub fn provenance(&self, kind: &str, format: u32) -> Provenance {
        Provenance::new(kind, format, self.settings.clone())
    }

    /// Opens a record file of this stage, which has to say of itself what this receipt says, and
    /// that it is the part of that name where the stage leaves several (see [`part_settings`]).
    ///
    /// # Errors
    /// When it cannot be read, is damaged, or was made with other settings.
    pub fn open_records<R: Record>(
        &self,
        path: &Path,
        part: Option<&str>,
    ) -> Result<RecordReader<BufReader<File>, R>, Error> {
        let fail = Error::record_file(path, self.stage);
        let file = File::open(path).map_err(Error::io("open", path))?;
        let reader = RecordReader::new(BufReader::with_capacity(256 << 10, file)).map_err(&fail)?;
        let settings = match part {
            Some(part) => part_settings(&self.settings, part),
            None => self.settings.clone(),
        };
        Provenance::new(R::KIND, R::FORMAT, settings)
            .check(reader.provenance())
            .map_err(|mismatch| fail(mismatch.into()))?;
        Ok(reader)
    }

    /// The settings of this run's signature shards.
    pub fn shard_settings(&self) -> BTreeMap<String, String> {
        of_shards(&self.settings)
    }

    /// The first output that is gone or has another length, in words.
    pub fn missing_output(&self, work: &WorkDir) -> Option<String> {
        self.outputs.iter().find_map(|output| {
            let path = work.root().join(&output.name);
            match fs::metadata(&path) {
                Err(_) => Some(format!("{} is missing", output.name)),
                Ok(found) if found.len() != output.bytes => Some(format!(
                    "{} has {} bytes, not {}",
                    output.name,
                    found.len(),
                    output.bytes
                )),
                Ok(_) => None,
            }
        })
    }
}

/// The settings in the header of one of several record files of a stage, so that none can stand
/// in another's place.
pub fn part_settings(settings: &BTreeMap<String, String>, part: &str) -> BTreeMap<String, String> {
    let mut settings = settings.clone();
    settings.insert("part".to_owned(), part.to_owned());
    settings
}

impl Expected {
    /// Whether the stage's last run still holds: same settings, same upstream, outputs there.
    pub fn state(&self, work: &WorkDir) -> State {
        let Some(receipt) = Receipt::load(work, self.stage) else {
            let damaged = work.receipt(self.stage).exists();
            let why = if damaged {
                "its receipt is damaged or of another version"
            } else {
                "it has not run yet"
            };
            return State::Stale(why.to_owned());
        };
        let ours = Provenance::new("", FORMAT, self.settings.clone());
        if let Err(records::Mismatch::Setting {
            setting,
            expected,
            found,
        }) = ours.check(&receipt.provenance("", FORMAT))
        {
            return State::Stale(changed(&setting, &expected, &found));
        }
        if receipt.upstream != self.upstream {
            return State::Stale("the stage before it ran again".to_owned());
        }
        match receipt.missing_output(work) {
            Some(why) => State::Stale(why),
            None => State::Done(Box::new(receipt)),
        }
    }
}

fn changed(setting: &str, now: &str, before: &str) -> String {
    if setting == INPUTS {
        "the input files changed".to_owned()
    } else {
        format!("{setting} is {now}, was {before}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected(threshold: &str) -> Expected {
        Expected {
            stage: Stage::Join,
            settings: BTreeMap::from([("join.threshold".to_owned(), threshold.to_owned())]),
            upstream: Some("abc".to_owned()),
        }
    }

    fn stale(state: State) -> String {
        match state {
            State::Stale(why) => why,
            State::Done(_) => panic!("done"),
        }
    }

    #[test]
    fn a_stage_is_done_until_something_it_depends_on_changes() {
        let folder = tempfile::tempdir().unwrap();
        let work = WorkDir::create(folder.path()).unwrap();
        let wanted = expected("0.8");
        assert_eq!(stale(wanted.state(&work)), "it has not run yet");

        let output = AtomicFile::write(&work.clusters(), b"abc", &work).unwrap();
        let outcome = Outcome {
            outputs: vec![output],
            ..Outcome::default()
        };
        let receipt = Receipt::new(&wanted, outcome, Usage::default());
        receipt.save(&work).unwrap();
        assert_eq!(wanted.state(&work), State::Done(Box::new(receipt)));

        let why = stale(expected("0.85").state(&work));
        assert_eq!(why, "join.threshold is 0.85, was 0.8");
        let mut other = wanted.clone();
        other.upstream = Some("def".to_owned());
        assert_eq!(stale(other.state(&work)), "the stage before it ran again");
        fs::write(work.clusters(), b"ab").unwrap();
        assert_eq!(
            stale(wanted.state(&work)),
            "clusters.parquet has 2 bytes, not 3"
        );
        fs::remove_file(work.clusters()).unwrap();
        assert_eq!(stale(wanted.state(&work)), "clusters.parquet is missing");
    }

    #[test]
    fn a_changed_receipt_is_not_believed() {
        let folder = tempfile::tempdir().unwrap();
        let work = WorkDir::create(folder.path()).unwrap();
        let wanted = expected("0.8");
        let receipt = Receipt::new(&wanted, Outcome::default(), Usage::default());
        receipt.save(&work).unwrap();
        let path = work.receipt(Stage::Join);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replace("0.8", "0.9")).unwrap();
        assert_eq!(
            stale(wanted.state(&work)),
            "its receipt is damaged or of another version"
        );
        Receipt::remove(&work, Stage::Join).unwrap();
        assert_eq!(stale(wanted.state(&work)), "it has not run yet");
    }
}
