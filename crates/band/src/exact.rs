//! Identical normalised texts.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use extsort::{Config, Sorter};
use records::DocSet;
use records::file::{RecordReader, RecordWriter};
use records::pods::{ExactCopy, TextIdentity};
use serde::{Deserialize, Serialize};
use tables::Signed;
use tables::signatures::Columns;
use workdir::{AtomicFile, Context, Outcome, Output, Unit};

use crate::Error;
use crate::budget::Budget;
use crate::keys::fail;

/// What the exact copies counted.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Counts {
    compared: u64,
    groups: u64,
    copies: u64,
}

/// Finds the documents whose normalised text equals that of an earlier one: equal 128-bit hash
/// and length. Writes them with the smallest document of their group, and returns their set. What
/// an earlier attempt wrote is read instead.
pub(crate) fn group(
    context: &Context<'_>,
    signed: &Signed,
    scratch: &Path,
    budget: &Budget,
    outcome: &mut Outcome,
) -> Result<DocSet, Error> {
    let name = context.work.name_of(&context.work.exact_copies());
    let unit: Option<Unit<Counts>> = context.journal.proven_unit(&name);
    let finished = unit.and_then(|unit| Some((unit.outputs.into_iter().next()?, unit.data)));
    let (copies, output, counts) = match finished {
        Some((output, counts)) => {
            context.progress.add(signed.documents);
            (read(context, signed)?, output, counts)
        }
        None => {
            let (copies, output, counts) = find(context, signed, scratch, budget)?;
            let outputs = [output.clone()];
            context.journal.add(&name, &outputs, &counts)?;
            (copies, output, counts)
        }
    };
    outcome.outputs.push(output);
    outcome.count("documents_compared", counts.compared);
    outcome.count("exact_groups", counts.groups);
    outcome.count("exact_copies", counts.copies);
    Ok(copies)
}

fn insert(copies: &mut DocSet, doc: u64, signed: &Signed) -> Result<(), Error> {
    match copies.insert(doc) {
        true => Ok(()),
        false => Err(Error::Document {
            doc,
            documents: signed.documents,
        }),
    }
}

/// The exact copies that an earlier attempt found.
fn read(context: &Context<'_>, signed: &Signed) -> Result<DocSet, Error> {
    let path = context.work.exact_copies();
    let file = File::open(&path).map_err(workdir::Error::io("open", &path))?;
    let mut reader =
        RecordReader::<_, ExactCopy>::new(BufReader::new(file)).map_err(fail(&path))?;
    let mut copies = DocSet::new(signed.documents);
    while let Some(copy) = reader.next().map_err(fail(&path))? {
        insert(&mut copies, copy.doc, signed)?;
    }
    Ok(copies)
}

fn find(
    context: &Context<'_>,
    signed: &Signed,
    scratch: &Path,
    budget: &Budget,
) -> Result<(DocSet, Output, Counts), Error> {
    let mut sorter = Sorter::new(Config {
        folder: scratch.to_owned(),
        memory_bytes: budget.exact_bytes,
        open_files: context.sort_files(1),
        threads: context.threads,
        record_words: 4,
        key_words: 4,
    })?;
    let columns = Columns {
        identity: true,
        ..Columns::default()
    };
    let mut scan = signed.scan(columns);
    while let Some((first, batch)) = scan.next_batch()? {
        for i in 0..batch.rows() {
            if let Some(identity) = batch.identity(i, first + i as u64)? {
                sorter.push_pod(&identity)?;
            }
        }
        context.progress.add(batch.rows() as u64);
    }
    let compared = sorter.len();

    let path = context.work.exact_copies();
    let file = AtomicFile::create(&path)?;
    let mut writer =
        RecordWriter::new(file, context.expected.settings.clone()).map_err(fail(&path))?;
    let mut copies = DocSet::new(signed.documents);
    let (mut groups, mut first, mut size) = (0u64, TextIdentity::default(), 0u64);
    let mut sorted = sorter.finish()?;
    while let Some(identity) = sorted.next_pod::<TextIdentity>()? {
        if size == 0 || !identity.same_text(&first) {
            (first, size) = (identity, 1);
            continue;
        }
        size += 1;
        groups += u64::from(size == 2);
        insert(&mut copies, identity.doc, signed)?;
        let copy = ExactCopy {
            doc: identity.doc,
            representative: first.doc,
        };
        writer.push(&copy).map_err(fail(&path))?;
    }
    let (file, count) = writer.finish().map_err(fail(&path))?;
    let counts = Counts {
        compared,
        groups,
        copies: count,
    };
    Ok((copies, file.commit(context.work)?, counts))
}
