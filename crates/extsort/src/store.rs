//! The runs of a sort, and when they are merged.

use std::path::PathBuf;

use crate::config::Tuning;
use crate::error::Error;
use crate::merge::Merge;
use crate::order::Index;
use crate::run::{Run, RunWriter, Shape};

/// What the sort did to the disk.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DiskUse {
    /// Bytes of all runs ever completed.
    pub(crate) written_bytes: u64,
    /// Bytes of the runs that exist.
    live_bytes: u64,
    /// The most that ever existed.
    pub(crate) peak_bytes: u64,
    /// How often the record that was copied most was written.
    pub(crate) generations: u32,
}

/// The runs of a sort.
pub(crate) struct Store {
    folder: PathBuf,
    shape: Shape,
    fan_in: usize,
    run_limit: usize,
    /// Runs of a generation stand together, the latest generation first.
    runs: Vec<Run>,
    next_number: u64,
    /// The writer's block, used again for each run.
    block: Vec<u64>,
    disk: DiskUse,
}

impl Store {
    pub(crate) fn new(folder: PathBuf, shape: Shape, tuning: Tuning) -> Self {
        Self {
            folder,
            shape,
            fan_in: tuning.fan_in,
            run_limit: tuning.run_limit,
            runs: Vec::new(),
            next_number: 0,
            block: Vec::new(),
            disk: DiskUse::default(),
        }
    }

    pub(crate) fn disk(&self) -> DiskUse {
        self.disk
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Writes a sorted buffer as a run. Holds one block.
    pub(crate) fn spill(&mut self, words: &[u64], index: &Index) -> Result<(), Error> {
        let mut writer = self.create(1)?;
        if let Index::InPlace = index {
            writer.append(words)?;
        } else {
            let mut rank = 0;
            let width = self.shape.record_words;
            while let Some(record) = index
                .position(rank)
                .and_then(|position| words.get(position * width..(position + 1) * width))
            {
                writer.append(record)?;
                rank += 1;
            }
        }
        let run = self.complete(writer)?;
        self.runs.push(run);
        Ok(())
    }

    /// Where the `fan_in` first runs of the earliest generation stand that has so many.
    fn full_group(&self) -> Option<usize> {
        let mut end = self.runs.len();
        for group in self
            .runs
            .chunk_by(|a, b| a.generation == b.generation)
            .rev()
        {
            let start = end - group.len();
            if group.len() >= self.fan_in {
                return Some(start);
            }
            end = start;
        }
        None
    }

    /// Whether there are so many runs that some have to be merged before more records come.
    pub(crate) fn has_too_many_runs(&self) -> bool {
        self.runs.len() >= self.run_limit && self.full_group().is_some()
    }

    /// Merges groups until there are not too many runs. Works in `memory`, and gives it back.
    pub(crate) fn merge_surplus(&mut self, mut memory: Vec<u64>) -> Result<Vec<u64>, Error> {
        while self.has_too_many_runs()
            && let Some(start) = self.full_group()
        {
            memory = self.merge_at(start, self.fan_in, memory)?;
        }
        Ok(memory)
    }

    /// Leaves no more runs than one merge takes, and opens that merge. The smallest are merged
    /// first, and only as many as must be. Works in `memory`, of which it keeps a block a run.
    pub(crate) fn into_final_merge(
        mut self,
        mut memory: Vec<u64>,
    ) -> Result<(Merge, Vec<Run>, DiskUse), Error> {
        while self.runs.len() > self.fan_in {
            self.runs.sort_by_key(|run| (run.records, run.number));
            let surplus = self.runs.len() - self.fan_in;
            memory = self.merge_at(0, self.fan_in.min(surplus + 1), memory)?;
        }
        let mut merge = Merge::open(&self.runs, &self.folder, self.shape, memory)?;
        merge.shrink_memory();
        Ok((merge, self.runs, self.disk))
    }

    /// Puts one run in the place of `count` runs. After an error before the new run is complete all
    /// is as it was.
    fn merge_at(
        &mut self,
        start: usize,
        count: usize,
        memory: Vec<u64>,
    ) -> Result<Vec<u64>, Error> {
        let sources = self.runs.get(start..start + count).unwrap_or(&[]);
        let generation = 1 + sources.iter().map(|run| run.generation).max().unwrap_or(0);
        let mut merge = Merge::open(sources, &self.folder, self.shape, memory)?;
        let mut writer = self.create(generation)?;
        while let Some(record) = merge.next()? {
            writer.append(record)?;
        }
        let memory = merge.into_memory();
        let run = self.complete(writer)?;
        let sources: Vec<Run> = self.runs.splice(start..start + count, [run]).collect();
        for source in sources {
            let path = source.path.to_path_buf();
            source
                .path
                .close()
                .map_err(|error| Error::io("remove", &path, &self.folder, error))?;
            self.disk.live_bytes -= source.bytes;
        }
        Ok(memory)
    }

    fn create(&mut self, generation: u32) -> Result<RunWriter, Error> {
        let number = self.next_number;
        self.next_number += 1;
        let block = std::mem::take(&mut self.block);
        RunWriter::create(&self.folder, self.shape, number, generation, block)
    }

    fn complete(&mut self, writer: RunWriter) -> Result<Run, Error> {
        let (run, block) = writer.finish()?;
        self.block = block;
        let disk = &mut self.disk;
        disk.written_bytes += run.bytes;
        disk.live_bytes += run.bytes;
        disk.peak_bytes = disk.peak_bytes.max(disk.live_bytes);
        disk.generations = disk.generations.max(run.generation);
        Ok(run)
    }
}
