//! Identical normalised texts.

use std::path::Path;

use extsort::{Config, Sorter};
use records::DocSet;
use records::file::RecordWriter;
use records::pods::{ExactCopy, TextIdentity};
use tables::Signed;
use tables::signatures::Columns;
use workdir::{AtomicFile, Context, Outcome};

use crate::Error;
use crate::budget::Budget;

/// Finds the documents whose normalised text equals that of an earlier one: equal 128-bit hash
/// and length. Writes them with the smallest document of their group, and returns their set.
pub(crate) fn group(
    context: &Context<'_>,
    signed: &Signed,
    scratch: &Path,
    budget: &Budget,
    outcome: &mut Outcome,
) -> Result<DocSet, Error> {
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
    let fail = |source| Error::Records {
        path: path.clone(),
        source,
    };
    let file = AtomicFile::create(&path)?;
    let mut writer = RecordWriter::new(file, context.expected.settings.clone()).map_err(fail)?;
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
        if !copies.insert(identity.doc) {
            return Err(Error::Document {
                doc: identity.doc,
                documents: signed.documents,
            });
        }
        let copy = ExactCopy {
            doc: identity.doc,
            representative: first.doc,
        };
        writer.push(&copy).map_err(fail)?;
    }
    let (file, count) = writer.finish().map_err(fail)?;
    outcome.outputs.push(file.commit(context.work)?);
    outcome.count("documents_compared", compared);
    outcome.count("exact_groups", groups);
    outcome.count("exact_copies", count);
    Ok(copies)
}
