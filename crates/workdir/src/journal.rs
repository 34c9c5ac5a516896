//! The journal of a stage: which units of its work are finished, so that a run that was stopped
//! goes on from there.
//!
//! A text file beside the receipts, one line an entry: XXH3-64 of the JSON as 16 hexadecimal
//! digits, a blank, the JSON. The first line names the work, each further line a unit with its
//! files, the last line that the stage was finished. An entry is appended after the unit's files
//! are synced and in place, so it is never ahead of them; what a crash tears off costs a unit, and
//! everything behind a line that does not prove itself is not believed.
//!
//! The journal stays when the stage is finished: where one file of many is lost or damaged later,
//! only its unit is made again.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use records::Stage;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::{AtomicFile, Error, Output, Receipt, Usage, WorkDir, fault, verify};

/// The format version of journals.
const FORMAT: u32 = 1;

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Work {
        format: u32,
        stage: Stage,
        /// What the units are a function of.
        id: String,
        /// The units of all the work, once known.
        units: u64,
        /// What earlier attempts at the same work have used.
        before: Usage,
    },
    Unit {
        name: String,
        outputs: Vec<Output>,
        data: serde_json::Value,
        /// What this attempt had used by then.
        usage: Usage,
    },
    Finished,
}

/// A finished unit.
#[derive(Clone, Debug)]
struct Entry {
    outputs: Vec<Output>,
    data: serde_json::Value,
}

/// A finished unit whose files are there.
#[derive(Clone, Debug, PartialEq)]
pub struct Unit<T> {
    /// Its files.
    pub outputs: Vec<Output>,
    /// What the stage noted of it.
    pub data: T,
}

/// How far a stage came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Units whose files are there.
    pub done: u64,
    /// All units, 0 where a run did not come to count them.
    pub of: u64,
}

/// What a process has used since it began.
pub type UsageMeter<'a> = &'a (dyn Fn() -> Usage + Sync);

/// The journal of the stage that runs. Threads share it.
pub struct Journal<'a> {
    work: WorkDir,
    stage: Stage,
    id: String,
    meter: UsageMeter<'a>,
    /// What earlier attempts at the same work have used.
    before: Usage,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Of earlier attempts and this one.
    units: BTreeMap<String, Entry>,
    /// Units that this run asked for or made: the others belong to nothing any more.
    current: BTreeMap<String, Entry>,
    /// Open once the stage began.
    file: Option<File>,
    of: u64,
    reused: u64,
}

/// What a journal file says.
struct Loaded {
    id: String,
    of: u64,
    units: BTreeMap<String, Entry>,
    /// Of all attempts, where the stage was not finished.
    used: Usage,
}

fn path_of(work: &WorkDir, stage: Stage) -> PathBuf {
    work.receipt(stage).with_extension("journal")
}

fn encode(line: &Line) -> Vec<u8> {
    // Strings, numbers and maps of strings always serialise.
    let json = serde_json::to_vec(line).unwrap_or_default();
    let mut bytes = format!("{:016x} ", xxh3_64(&json)).into_bytes();
    bytes.extend_from_slice(&json);
    bytes.push(b'\n');
    bytes
}

fn decode(line: &[u8]) -> Option<Line> {
    let (sum, json) = line.split_at_checked(17)?;
    let proven = format!("{:016x} ", xxh3_64(json)).into_bytes() == sum;
    proven.then(|| serde_json::from_slice(json).ok()).flatten()
}

/// What the file of a stage says, none where there is no whole first line.
fn load(work: &WorkDir, stage: Stage) -> Option<Loaded> {
    let bytes = fs::read(path_of(work, stage)).ok()?;
    let mut lines = bytes.split(|&byte| byte == b'\n').map_while(decode);
    let Some(Line::Work {
        format: FORMAT,
        stage: found,
        id,
        units: of,
        before,
    }) = lines.next()
    else {
        return None;
    };
    if found != stage {
        return None;
    }
    let mut loaded = Loaded {
        id,
        of,
        units: BTreeMap::new(),
        used: before.clone(),
    };
    for line in lines {
        match line {
            Line::Unit {
                name,
                outputs,
                data,
                usage,
            } => {
                loaded.units.insert(name, Entry { outputs, data });
                loaded.used = before.with(&usage);
            }
            // What was used has gone to the receipt.
            Line::Finished => loaded.used = Usage::default(),
            // A later count of the units.
            Line::Work { units, .. } => loaded.of = units,
        }
    }
    Some(loaded)
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a> Journal<'a> {
    /// The journal of a stage whose units are a function of `id`: those of another are not taken.
    /// Changes nothing yet.
    pub fn open(work: &WorkDir, stage: Stage, id: String, meter: UsageMeter<'a>) -> Self {
        let loaded = load(work, stage).filter(|loaded| loaded.id == id);
        let (units, before) =
            loaded.map_or_else(Default::default, |loaded| (loaded.units, loaded.used));
        Self {
            work: work.clone(),
            stage,
            id,
            meter,
            before,
            state: Mutex::new(State {
                units,
                ..State::default()
            }),
        }
    }

    /// Begins the stage's work of `of` units: the first thing that changes the work folder, after
    /// all that may refuse. The receipt goes, so that outputs in the making are never taken for
    /// finished ones.
    ///
    /// # Errors
    /// When the receipt cannot be removed or the journal not written.
    pub fn begin(&self, of: u64) -> Result<(), Error> {
        Receipt::remove(&self.work, self.stage)?;
        let path = path_of(&self.work, self.stage);
        let mut state = lock(&self.state);
        state.of = of;
        let content = self.content(&state.units, of);
        if let Some(folder) = path.parent() {
            self.work.prepare(folder)?;
        }
        AtomicFile::write(&path, &content, &self.work)?;
        let file = fault::point("open").and_then(|()| OpenOptions::new().append(true).open(&path));
        state.file = Some(file.map_err(Error::io("open", &path))?);
        Ok(())
    }

    fn content(&self, units: &BTreeMap<String, Entry>, of: u64) -> Vec<u8> {
        let mut content = encode(&Line::Work {
            format: FORMAT,
            stage: self.stage,
            id: self.id.clone(),
            units: of,
            before: self.before.clone(),
        });
        for (name, entry) in units {
            content.extend(encode(&Line::Unit {
                name: name.clone(),
                outputs: entry.outputs.clone(),
                data: entry.data.clone(),
                usage: Usage::default(),
            }));
        }
        content
    }

    /// A unit that an earlier attempt finished, if its files are there with their lengths. Their
    /// content is proven where it is read.
    pub fn unit<T: DeserializeOwned>(&self, name: &str) -> Option<Unit<T>> {
        let mut state = lock(&self.state);
        let entry = state.units.get(name)?.clone();
        let data = serde_json::from_value(entry.data.clone()).ok()?;
        let whole = entry.outputs.iter().all(|output| {
            let found = fs::metadata(self.work.root().join(&output.name));
            found.is_ok_and(|found| found.len() == output.bytes)
        });
        if !whole {
            return None;
        }
        state.reused += 1;
        state.current.insert(name.to_owned(), entry.clone());
        Some(Unit {
            outputs: entry.outputs,
            data,
        })
    }

    /// As [`Journal::unit`], with the content of its files read and proven: for files that nothing
    /// reads after this.
    pub fn proven_unit<T: DeserializeOwned>(&self, name: &str) -> Option<Unit<T>> {
        let unit = self.unit(name)?;
        let proven = unit
            .outputs
            .iter()
            .all(|output| verify(&self.work, self.stage, output).is_ok());
        if proven {
            return Some(unit);
        }
        let mut state = lock(&self.state);
        state.reused -= 1;
        state.current.remove(name);
        state.units.remove(name);
        None
    }

    /// All units of earlier attempts whose files are there and proven, by name.
    pub fn proven_units<T: DeserializeOwned>(&self) -> Vec<Unit<T>> {
        let names: Vec<String> = lock(&self.state).units.keys().cloned().collect();
        names
            .iter()
            .filter_map(|name| self.proven_unit(name))
            .collect()
    }

    /// Notes a unit whose files are synced and in place.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub fn add<T: Serialize>(&self, name: &str, outputs: &[Output], data: &T) -> Result<(), Error> {
        let path = path_of(&self.work, self.stage);
        let data =
            serde_json::to_value(data).map_err(|error| Error::io("write", &path)(error.into()))?;
        let entry = Entry {
            outputs: outputs.to_vec(),
            data,
        };
        let line = encode(&Line::Unit {
            name: name.to_owned(),
            outputs: entry.outputs.clone(),
            data: entry.data.clone(),
            usage: (self.meter)(),
        });
        let mut state = lock(&self.state);
        if let Some(file) = &mut state.file {
            fault::point("write")
                .and_then(|()| file.write_all(&line))
                .map_err(Error::io("write", &path))?;
        }
        state.current.insert(name.to_owned(), entry);
        Ok(())
    }

    /// How many units of earlier attempts were used again.
    pub fn reused(&self) -> u64 {
        lock(&self.state).reused
    }

    /// What this attempt and those before it have used.
    pub fn usage(&self) -> Usage {
        self.before.with(&(self.meter)())
    }

    /// Ends the stage, after its receipt is in place: keeps the units that it consists of.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub fn finish(self) -> Result<(), Error> {
        let path = path_of(&self.work, self.stage);
        let state = lock(&self.state);
        let mut content = self.content(&state.current, state.of);
        content.extend(encode(&Line::Finished));
        AtomicFile::write(&path, &content, &self.work)?;
        Ok(())
    }

    /// How far an unfinished run of the stage came; none where there is no journal for `id`.
    pub fn extent(work: &WorkDir, stage: Stage, id: &str) -> Option<Extent> {
        let loaded = load(work, stage).filter(|loaded| loaded.id == id)?;
        let there = |output: &Output| {
            let found = fs::metadata(work.root().join(&output.name));
            found.is_ok_and(|found| found.len() == output.bytes)
        };
        let done = loaded
            .units
            .values()
            .filter(|entry| entry.outputs.iter().all(there))
            .count();
        Some(Extent {
            done: done as u64,
            of: loaded.of,
        })
    }

    /// Takes no unit of an earlier attempt, so that all are made again.
    pub fn forget(&mut self) {
        self.before = Usage::default();
        *lock(&self.state) = State::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meter() -> Usage {
        Usage {
            wall_s: 1.5,
            peak_rss_bytes: 7,
            ..Usage::default()
        }
    }

    fn open<'a>(work: &WorkDir, id: &str) -> Journal<'a> {
        Journal::open(work, Stage::Join, id.to_owned(), &meter)
    }

    fn make(journal: &Journal<'_>, work: &WorkDir, name: &str) {
        let path = work.root().join(name);
        let output = AtomicFile::write(&path, name.as_bytes(), work).unwrap();
        journal.add(name, &[output], &name.len()).unwrap();
    }

    fn work() -> (tempfile::TempDir, WorkDir) {
        let folder = tempfile::tempdir().unwrap();
        let work = WorkDir::create(folder.path()).unwrap();
        (folder, work)
    }

    #[test]
    fn a_stopped_run_finds_its_units_and_what_it_used() {
        let (_folder, work) = work();
        let journal = open(&work, "a");
        journal.begin(3).unwrap();
        make(&journal, &work, "one");
        make(&journal, &work, "two");
        drop(journal);
        let extent = Journal::extent(&work, Stage::Join, "a");
        assert_eq!(extent, Some(Extent { done: 2, of: 3 }));
        assert_eq!(Journal::extent(&work, Stage::Join, "b"), None);

        let journal = open(&work, "a");
        journal.begin(3).unwrap();
        assert_eq!(journal.unit::<usize>("one").unwrap().data, 3);
        assert_eq!(journal.proven_unit::<usize>("two").unwrap().data, 3);
        assert_eq!(journal.unit::<usize>("three"), None);
        assert_eq!(journal.reused(), 2);
        // Both attempts.
        assert_eq!(journal.usage().wall_s, 3.0);
        assert_eq!(journal.usage().peak_rss_bytes, 7);
        journal.finish().unwrap();
        // A finished run's time is in its receipt.
        assert_eq!(open(&work, "a").usage().wall_s, 1.5);
        // Another work begins anew.
        assert_eq!(open(&work, "b").unit::<usize>("one"), None);
    }

    #[test]
    fn units_without_their_files_are_none() {
        let (_folder, work) = work();
        let journal = open(&work, "a");
        journal.begin(3).unwrap();
        for name in ["gone", "short", "flipped"] {
            make(&journal, &work, name);
        }
        fs::remove_file(work.root().join("gone")).unwrap();
        fs::write(work.root().join("short"), "shor").unwrap();
        fs::write(work.root().join("flipped"), "flopped").unwrap();
        let journal = open(&work, "a");
        assert_eq!(journal.unit::<usize>("gone"), None);
        assert_eq!(journal.unit::<usize>("short"), None);
        assert!(journal.unit::<usize>("flipped").is_some());
        assert_eq!(journal.proven_unit::<usize>("flipped"), None);
        assert_eq!(journal.unit::<usize>("flipped"), None);
    }

    #[test]
    fn a_torn_or_altered_journal_gives_the_units_before_that() {
        let (_folder, work) = work();
        let journal = open(&work, "a");
        journal.begin(2).unwrap();
        make(&journal, &work, "one");
        make(&journal, &work, "two");
        drop(journal);
        let path = path_of(&work, Stage::Join);
        let whole = fs::read(&path).unwrap();
        for cut in 0..whole.len() {
            fs::write(&path, &whole[..cut]).unwrap();
            let journal = open(&work, "a");
            let units = ["one", "two"].map(|name| journal.unit::<usize>(name).is_some());
            assert_ne!(units, [false, true], "{cut}");
        }
        for at in 0..whole.len() {
            let mut altered = whole.clone();
            altered[at] ^= 1;
            fs::write(&path, &altered).unwrap();
            let journal = open(&work, "a");
            if let Some(unit) = journal.unit::<usize>("two") {
                assert_eq!((unit.data, unit.outputs.len()), (3, 1), "{at}");
            }
        }
    }

    #[test]
    fn units_that_a_finished_run_did_not_ask_for_are_forgotten() {
        let (_folder, work) = work();
        let journal = open(&work, "a");
        journal.begin(1).unwrap();
        make(&journal, &work, "old");
        journal.finish().unwrap();
        let journal = open(&work, "a");
        journal.begin(1).unwrap();
        make(&journal, &work, "new");
        journal.finish().unwrap();
        let journal = open(&work, "a");
        assert_eq!(journal.unit::<usize>("old"), None);
        assert!(journal.unit::<usize>("new").is_some());
    }
}
