//! The edges of finished bands, so that a stopped run goes on with the others.
//!
//! A thread writes the edges of the bands that it joins to one file after the other, which it ends
//! after [`PART_POSTINGS`]: a small corpus does not pay for syncing a file a band. Which bands a
//! file holds is in its journal entry; they differ with the number of threads, what is in them
//! does not.

use std::io::BufReader;
use std::path::PathBuf;

use records::Stage;
use records::file::RecordWriter;
use records::pods::Edge;
use serde::{Deserialize, Serialize};
use workdir::{AtomicFile, Error as WorkError, Output, part_settings};

use crate::{Before, Error, Joined};

/// A file of edges ends with the band that brings it to so many postings: a few seconds of work.
const PART_POSTINGS: u64 = 8 << 20;
/// What a file of edges takes while it is written: its buffer and a block of records.
pub(crate) const PART_BYTES: u64 = 320 << 10;

/// What is noted of a finished file of edges.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Part {
    bands: Vec<u32>,
    joined: Joined,
}

/// A finished file of edges.
#[derive(Debug)]
pub(crate) struct Finished {
    output: Output,
    pub(crate) part: Part,
}

/// The files that earlier attempts finished, and the bands that are left.
pub(crate) fn finished(before: &Before<'_>) -> Result<(Vec<Finished>, Vec<u32>), Error> {
    let work = before.context.work;
    let finished: Vec<Finished> = before
        .context
        .journal
        .proven_units::<Part>()
        .into_iter()
        .filter_map(|unit| {
            Some(Finished {
                output: unit.outputs.into_iter().next()?,
                part: unit.data,
            })
        })
        .collect();
    let folder = work.parts(Stage::Join);
    work.prepare(&folder)?;
    let kept: Vec<PathBuf> = finished
        .iter()
        .map(|done| work.root().join(&done.output.name))
        .collect();
    work.retain(&folder, &kept)?;
    let left = (0..before.pipeline.band.bands)
        .filter(|band| !finished.iter().any(|done| done.part.bands.contains(band)))
        .collect();
    Ok((finished, left))
}

type Writer = RecordWriter<AtomicFile, Edge>;

/// The files of edges that one thread writes.
pub(crate) struct Parts<'a> {
    before: &'a Before<'a>,
    /// The file in the making and its path.
    open: Option<(PathBuf, Writer)>,
    part: Part,
    postings: u64,
    finished: Vec<Finished>,
}

impl<'a> Parts<'a> {
    pub(crate) fn new(before: &'a Before<'a>) -> Self {
        Self {
            before,
            open: None,
            part: Part::default(),
            postings: 0,
            finished: Vec::new(),
        }
    }

    /// Begins a band.
    pub(crate) fn begin(&mut self, band: u32) -> Result<(), Error> {
        self.part.bands.push(band);
        if self.open.is_some() {
            return Ok(());
        }
        let work = self.before.context.work;
        let path = work
            .parts(Stage::Join)
            .join(format!("edges-{band:04}.records"));
        let settings = &self.before.context.expected.settings;
        let settings = part_settings(settings, &work.name_of(&path));
        let writer = RecordWriter::new(AtomicFile::create(&path)?, settings);
        let writer = writer.map_err(WorkError::record_file(&path, Stage::Join))?;
        self.open = Some((path, writer));
        Ok(())
    }

    /// Adds an edge of the open band.
    pub(crate) fn push(&mut self, edge: &Edge) -> Result<(), Error> {
        match &mut self.open {
            Some((path, writer)) => Ok(writer
                .push(edge)
                .map_err(WorkError::record_file(path, Stage::Join))?),
            None => Ok(()),
        }
    }

    /// Ends a band of so many postings.
    pub(crate) fn end(&mut self, joined: Joined, postings: u64) -> Result<(), Error> {
        self.part.joined.merge(joined);
        self.postings += postings;
        match self.postings >= PART_POSTINGS {
            true => self.close(),
            false => Ok(()),
        }
    }

    fn close(&mut self) -> Result<(), Error> {
        let Some((path, writer)) = self.open.take() else {
            return Ok(());
        };
        let context = self.before.context;
        let written = writer.finish();
        let (file, _) = written.map_err(WorkError::record_file(&path, Stage::Join))?;
        let output = file.commit(context.work)?;
        let part = std::mem::take(&mut self.part);
        self.postings = 0;
        context
            .journal
            .add(&output.name, std::slice::from_ref(&output), &part)?;
        self.finished.push(Finished { output, part });
        Ok(())
    }

    /// The files, after the last band.
    pub(crate) fn finish(mut self) -> Result<Vec<Finished>, Error> {
        self.close()?;
        Ok(self.finished)
    }
}

/// Visits all edges of finished files, and sums what was counted.
pub(crate) fn gather(
    before: &Before<'_>,
    finished: Vec<Finished>,
    mut each: impl FnMut(&Edge) -> Result<(), Error>,
) -> Result<Joined, Error> {
    let work = before.context.work;
    let mut joined = Joined::default();
    for done in finished {
        let path = work.root().join(&done.output.name);
        let fail = WorkError::record_file(&path, Stage::Join);
        let file = std::fs::File::open(&path).map_err(WorkError::io("open", &path))?;
        let file = BufReader::with_capacity(256 << 10, file);
        let mut edges = records::file::RecordReader::<_, Edge>::new(file).map_err(&fail)?;
        while let Some(edge) = edges.next().map_err(&fail)? {
            each(&edge)?;
        }
        joined.merge(done.part.joined);
    }
    Ok(joined)
}
