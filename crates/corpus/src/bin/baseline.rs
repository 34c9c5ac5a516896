//! What reading and writing the same Parquet costs without any deduplication: the yardstick of
//! `scripts/bench.sh`. Not part of the product.
//!
//! * `copy`: decodes all columns of every row group and writes them again, same codec.
//! * `text`: decodes the column `text` and nothing else.
//!
//! Row groups are read, and files written, by as many threads as asked for. Prints one line:
//! wall seconds, CPU seconds, peak resident bytes.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::{Parser, ValueEnum};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::arrow::{ArrowWriter, ProjectionMask};
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

#[derive(Clone, Copy, ValueEnum)]
enum Mode {
    /// Decode all columns and encode them again
    Copy,
    /// Decode the column `text`
    Text,
}

/// Times reading and writing Parquet without deduplication
#[derive(Parser)]
struct Cli {
    mode: Mode,
    /// A folder of Parquet files (not searched below)
    input: PathBuf,
    /// Where `copy` writes
    output: PathBuf,
    #[arg(long, default_value_t = 2)]
    threads: usize,
}

fn main() -> Result<()> {
    let cli = Cli::parse();
    let start = Instant::now();
    let mut files = Vec::new();
    for entry in std::fs::read_dir(&cli.input).context("cannot list the input folder")? {
        let path = entry?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "parquet")
        {
            files.push(path);
        }
    }
    files.sort();
    if files.is_empty() {
        bail!("no Parquet files in {}", cli.input.display());
    }
    std::fs::create_dir_all(&cli.output)?;
    let tasks = tasks(&files, cli.mode)?;
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..cli.threads {
            scope.spawn(|| {
                while let Some((file, group)) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let result = match cli.mode {
                        Mode::Copy => copy(file, &cli.output),
                        Mode::Text => text(file, *group),
                    };
                    if let Err(error) = result {
                        *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                    }
                }
            });
        }
    });
    if let Some(error) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    let wall_s = start.elapsed().as_secs_f64();
    println!("{wall_s:.4} {:.4} {}", cpu_s(), peak_rss_bytes());
    Ok(())
}

/// Files to copy, or row groups whose text is decoded.
fn tasks(files: &[PathBuf], mode: Mode) -> Result<Vec<(&Path, usize)>> {
    let mut tasks = Vec::new();
    for path in files {
        let groups = match mode {
            Mode::Copy => 1,
            Mode::Text => ParquetRecordBatchReaderBuilder::try_new(File::open(path)?)?
                .metadata()
                .num_row_groups(),
        };
        tasks.extend((0..groups).map(|group| (path.as_path(), group)));
    }
    Ok(tasks)
}

fn copy(input: &Path, output: &Path) -> Result<()> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(input)?)?;
    let row_group = builder.metadata().row_groups().first();
    let codec = row_group.map(|group| group.column(0).compression());
    let schema = builder.schema().clone();
    let properties = WriterProperties::builder()
        .set_compression(codec.unwrap_or(Compression::UNCOMPRESSED))
        .build();
    let name = input.file_name().context("a file has no name")?;
    let file = File::create(output.join(name))?;
    let mut writer = ArrowWriter::try_new(file, schema, Some(properties))?;
    for batch in builder.with_batch_size(1024).build()? {
        writer.write(&batch?)?;
    }
    writer.into_inner()?.sync_all()?;
    Ok(())
}

fn text(input: &Path, group: usize) -> Result<()> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(input)?)?;
    let mask = ProjectionMask::columns(builder.parquet_schema(), ["text"]);
    let reader = builder
        .with_row_groups(vec![group])
        .with_projection(mask)
        .with_batch_size(1024)
        .build()?;
    for batch in reader {
        std::hint::black_box(batch?);
    }
    Ok(())
}

/// Processor time of this process from `/proc`, in hundredths of a second; 0 where there is none.
fn cpu_s() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let fields: Vec<&str> = after_name.split_whitespace().collect();
    let ticks = |i: usize| fields.get(i).and_then(|field| field.parse::<f64>().ok());
    (ticks(11).unwrap_or(0.0) + ticks(12).unwrap_or(0.0)) / 100.0
}

fn peak_rss_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}
