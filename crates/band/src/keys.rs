//! Band keys, scattered to one scratch file a band.

use std::io::BufWriter;
use std::path::{Path, PathBuf};

use records::file::RecordWriter;
use records::pods::Posting;
use records::{DocSet, Pipeline, Settings};
use tables::Signed;
use tables::signatures::Columns;
use workdir::{Context, ScratchFile};

use crate::Error;

/// Files that are open at once; more bands take more scans of the signatures.
pub(crate) const OPEN_MAX: u32 = 64;
/// What an open file of keys holds: a block of records and a write buffer.
pub(crate) const WRITER_BYTES: u64 = 72 << 10;

/// A band's unsorted postings.
pub(crate) struct Part {
    pub(crate) band: u32,
    pub(crate) path: PathBuf,
}

type Writer = RecordWriter<BufWriter<ScratchFile>, Posting>;

/// Writes the postings of every document that is no exact copy, one file for each of `bands`.
pub(crate) fn scatter(
    pipeline: &Pipeline,
    context: &Context<'_>,
    signed: &Signed,
    (copies, bands): (&DocSet, &[u32]),
    scratch: &Path,
) -> Result<Vec<Part>, Error> {
    let rows = pipeline.band.rows as usize;
    let mut parts = Vec::new();
    let open_max = context.sort_files(1).min(OPEN_MAX as usize);
    for (round, bands) in bands.chunks(open_max).enumerate() {
        let mut writers = bands
            .iter()
            .map(|&band| open(scratch, band))
            .collect::<Result<Vec<(Part, Writer)>, Error>>()?;
        let columns = Columns {
            slots: true,
            ..Columns::default()
        };
        let mut scan = signed.scan(columns);
        while let Some((first_doc, batch)) = scan.next_batch()? {
            for i in 0..batch.rows() {
                let doc = first_doc + i as u64;
                let Some(slots) = batch.slots(i)? else {
                    continue;
                };
                if copies.contains(doc) {
                    continue;
                }
                for (part, writer) in &mut writers {
                    let begin = part.band as usize * rows;
                    let slots = slots.get(begin..begin + rows).unwrap_or_default();
                    let key = lsh::band_key(part.band, slots);
                    let posting = Posting { key, doc };
                    writer.push(&posting).map_err(fail(&part.path))?;
                }
            }
            if round == 0 {
                context.progress.add(batch.rows() as u64);
            }
        }
        for (part, writer) in writers {
            writer.finish().map_err(fail(&part.path))?;
            parts.push(part);
        }
    }
    Ok(parts)
}

fn open(scratch: &Path, band: u32) -> Result<(Part, Writer), Error> {
    let path = scratch.join(format!("keys-{band:04}.records"));
    let file = ScratchFile::create(&path)?;
    let writer = RecordWriter::new(BufWriter::new(file), Settings::new()).map_err(fail(&path))?;
    Ok((Part { band, path }, writer))
}

pub(crate) fn fail(path: &Path) -> impl Fn(records::file::FileError) -> Error + '_ {
    |source| Error::Records {
        path: path.to_owned(),
        source,
    }
}
