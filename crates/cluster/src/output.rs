//! Writing what was decided: `clusters.parquet` for people, `decisions.records` for `filter`.

use dataset::{LabelReader, Source};
use extsort::Sorted;
use records::file::RecordWriter;
use records::pods::Decision;
use records::{Pipeline, Provenance};
use tables::clusters::{ClusterRow, ClusterWriter, FORMAT, KIND};
use tables::inputs::InputFile;
use workdir::{AtomicFile, Context, Outcome};

use crate::Error;
use crate::keeper::Verdict;

/// The id column of one file, moved forward to wanted rows.
struct Labels<'a> {
    column: Option<&'a str>,
    file: usize,
    reader: Option<LabelReader>,
    batch: Vec<Option<String>>,
    /// The row of the first of the batch.
    first: u64,
}

impl Labels<'_> {
    /// The id of a row; rows of a file are asked for in order.
    fn get(&mut self, sources: &[Source], file: usize, row: u64) -> Result<Option<&str>, Error> {
        let (Some(column), Some(source)) = (self.column, sources.get(file)) else {
            return Ok(None);
        };
        if self.reader.is_none() || self.file != file {
            self.reader = Some(LabelReader::open(source, column)?);
            (self.file, self.first) = (file, 0);
            self.batch.clear();
        }
        while row >= self.first + self.batch.len() as u64 {
            let next = match &mut self.reader {
                Some(reader) => reader.next_batch()?,
                None => None,
            };
            self.first += self.batch.len() as u64;
            self.batch = next.ok_or_else(|| dataset::Error::SinceSigned {
                path: source.listed.path.clone(),
            })?;
        }
        let label = self.batch.get((row - self.first) as usize);
        Ok(label.and_then(Option::as_deref))
    }
}

/// Writes both tables from the verdicts, sorted by document.
pub(crate) fn write(
    pipeline: &Pipeline,
    context: &Context<'_>,
    inputs: &[InputFile],
    sources: &[Source],
    mut verdicts: Sorted,
    outcome: &mut Outcome,
) -> Result<(), Error> {
    let work = context.work;
    let settings = context.expected.settings.clone();
    let provenance = Provenance::new(KIND, FORMAT, settings.clone());
    let mut table = ClusterWriter::create(work, &provenance, pipeline.input.id.is_some())?;
    let path = work.decisions();
    let fail = Error::records(&path);
    let mut decisions = RecordWriter::new(AtomicFile::create(&path)?, settings).map_err(&fail)?;
    let mut labels = Labels {
        column: pipeline.input.id.as_deref(),
        file: 0,
        reader: None,
        batch: Vec::new(),
        first: 0,
    };
    let mut file = 0;
    while let Some(words) = verdicts.next()? {
        let verdict = Verdict::from_words(words);
        let doc = verdict.doc;
        while inputs
            .get(file)
            .is_some_and(|input| doc >= input.first_doc + input.rows)
        {
            file += 1;
        }
        let input = inputs.get(file).ok_or(Error::NoSignature { doc })?;
        let row = doc - input.first_doc;
        table.push(&ClusterRow {
            doc,
            file: &input.relative,
            row,
            id: labels.get(sources, file, row)?,
            cluster: verdict.cluster,
            keeper: verdict.keeper,
            kind: verdict.kind,
            similarity: verdict.matches as f32 / pipeline.sign.k as f32,
        })?;
        let decision = Decision {
            doc,
            cluster: verdict.cluster,
            keeper: verdict.keeper,
        };
        decisions.push(&decision).map_err(&fail)?;
    }
    outcome.outputs.push(table.finish(work)?);
    let (file, _) = decisions.finish().map_err(&fail)?;
    outcome.outputs.push(file.commit(work)?);
    Ok(())
}
