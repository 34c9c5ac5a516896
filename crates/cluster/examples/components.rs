//! The external components method against union-find in memory, over generated edges.
//!
//! ```text
//! components DOCUMENTS EDGES MEMORY_MIB FOLDER
//! ```
//!
//! The edges lie on four kinds of ground: random pairs so few that components stay small, random pairs that join
//! nearly all of their documents, chains of up to a million links, and stars of up to a hundred thousand leaves; ids
//! are scattered, so that neighbours in an edge are none by number. The method gets of MEMORY_MIB what `cluster`
//! would give it (`src/budget.rs`). Its labels go to a file in FOLDER (4 bytes a document) and are compared, one by
//! one, with those of the union-find, which takes 4 bytes a document of memory after the peak was read.
//!
//! Prints one line, and exits 1 where a label differs.

use std::error::Error;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

/// In a file of labels: no edge.
const NONE: u32 = u32::MAX;

/// SplitMix64's finaliser (Steele, Lea, Flood, OOPSLA 2014).
fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// Number `i` of a stream, in `0..n`.
fn draw(stream: u64, i: u64, n: u64) -> u64 {
    ((u128::from(mix(mix(stream) ^ i)) * u128::from(n)) >> 64) as u64
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The edges, the same at every visit.
struct Edges {
    documents: u64,
    edges: u64,
    /// Without a common factor with `documents`: scatters ids.
    multiplier: u64,
}

impl Edges {
    fn new(documents: u64, edges: u64) -> Self {
        let near = (documents as f64 * 0.618) as u64;
        let multiplier = (near.max(1)..).find(|&m| gcd(m, documents) == 1);
        Self {
            documents,
            edges,
            multiplier: multiplier.unwrap_or(1),
        }
    }

    fn id(&self, i: u64) -> u64 {
        (u128::from(i) * u128::from(self.multiplier) % u128::from(self.documents)) as u64
    }

    /// Visits every edge, the smaller id first; none joins a document with itself.
    fn visit<E>(&self, each: &mut dyn FnMut(u64, u64) -> Result<(), E>) -> Result<(), E> {
        let quarter = self.documents / 4;
        let mut visit = |a: u64, b: u64| {
            let (a, b) = (self.id(a), self.id(b));
            if a == b {
                Ok(())
            } else {
                each(a.min(b), a.max(b))
            }
        };
        // 0.3 edges a document: components of a handful.
        let few = (quarter * 3 / 10).min(self.edges);
        for i in 0..few {
            visit(draw(1, 2 * i, quarter), draw(1, 2 * i + 1, quarter))?;
        }
        let (chains, stars) = (2 * quarter, 3 * quarter);
        let linked = quarter.min((self.edges - few) / 3);
        for i in 1..linked {
            // Chains of 10, of 1,000 and of a million links, a third of the ground each.
            let length = [10, 1_000, 1_000_000][(3 * i / quarter.max(1)).min(2) as usize];
            if i % length != 0 {
                visit(chains + i - 1, chains + i)?;
            }
            let leaves = [10, 1_000, 100_000][(3 * i / quarter.max(1)).min(2) as usize];
            if i % leaves != 0 {
                visit(stars + i / leaves * leaves, stars + i)?;
            }
        }
        // All others: far more than one a document.
        for i in 0..self.edges - few - 2 * linked {
            visit(
                quarter + draw(2, 2 * i, quarter),
                quarter + draw(2, 2 * i + 1, quarter),
            )?;
        }
        Ok(())
    }

    /// The labels by union-find in memory: the smallest document of each component, NONE without an edge.
    fn labels(&self) -> Result<Vec<u32>, Box<dyn Error>> {
        let mut parents = vec![NONE; usize::try_from(self.documents)?];
        self.visit::<std::convert::Infallible>(&mut |a, b| {
            let (a, b) = (root(&mut parents, a as u32), root(&mut parents, b as u32));
            parents[a.max(b) as usize] = a.min(b);
            Ok(())
        })?;
        for doc in 0..parents.len() {
            if parents[doc] != NONE {
                parents[doc] = root(&mut parents, doc as u32);
            }
        }
        Ok(parents)
    }
}

/// The root of a document, which becomes its own when it is first seen; halves the path.
fn root(parents: &mut [u32], mut doc: u32) -> u32 {
    if parents[doc as usize] == NONE {
        parents[doc as usize] = doc;
    }
    while parents[doc as usize] != doc {
        let grandparent = parents[parents[doc as usize] as usize];
        parents[doc as usize] = grandparent;
        doc = grandparent;
    }
    doc
}

/// Writes the labels of the external method to `path`, a u32 for each document.
fn external(
    edges: &Edges,
    folder: &Path,
    memory_bytes: u64,
    path: &Path,
) -> Result<(), Box<dyn Error>> {
    let mut out = BufWriter::with_capacity(1 << 18, File::create_new(path)?);
    let (mut next, mut failed) = (0, None);
    let mut fill = |doc: u64, label: u32| {
        let write = (next..doc).try_for_each(|_| out.write_all(&NONE.to_le_bytes()));
        if let Err(error) = write.and_then(|()| out.write_all(&label.to_le_bytes())) {
            failed.get_or_insert(error);
        }
        next = doc + 1;
    };
    cluster::proof::components(
        folder,
        edges.documents,
        memory_bytes,
        &|each| edges.visit(each),
        &mut |doc, label| {
            fill(doc, label as u32);
            Ok(())
        },
    )?;
    if let Some(error) = failed {
        return Err(error.into());
    }
    (next..edges.documents).try_for_each(|_| out.write_all(&NONE.to_le_bytes()))?;
    out.flush()?;
    Ok(())
}

/// The documents with an edge, the components, and the labels that differ.
fn compare(expected: &[u32], path: &Path) -> Result<(u64, u64, u64), Box<dyn Error>> {
    let mut found = BufReader::with_capacity(1 << 18, File::open(path)?);
    let (mut linked, mut components, mut differing) = (0, 0, 0);
    for (doc, expected) in (0u32..).zip(expected) {
        let mut label = [0; 4];
        found.read_exact(&mut label)?;
        linked += u64::from(*expected != NONE);
        components += u64::from(*expected == doc);
        differing += u64::from(u32::from_le_bytes(label) != *expected);
    }
    Ok((linked, components, differing))
}

fn peak_rss_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

fn run() -> Result<bool, Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [documents, edges, memory_mib, folder] = arguments.as_slice() else {
        return Err("usage: components DOCUMENTS EDGES MEMORY_MIB FOLDER".into());
    };
    let (documents, edges): (u64, u64) = (documents.parse()?, edges.parse()?);
    let memory_bytes = memory_mib.parse::<u64>()? << 20;
    if documents < 4 || documents >= u64::from(NONE) {
        return Err("DOCUMENTS must be from 4 to 4294967294, for labels of 32 bits".into());
    }
    let folder = Path::new(folder);
    std::fs::create_dir_all(folder)?;
    let path = folder.join("labels.u32");

    let generated = Edges::new(documents, edges);
    let start = Instant::now();
    external(&generated, folder, memory_bytes, &path)?;
    let (wall_s, peak) = (start.elapsed().as_secs_f64(), peak_rss_bytes());
    let start = Instant::now();
    let expected = generated.labels()?;
    let resident_s = start.elapsed().as_secs_f64();
    let (linked, components, differing) = compare(&expected, &path)?;
    std::fs::remove_file(&path)?;
    let within = if peak <= memory_bytes {
        "within"
    } else {
        "OVER"
    };
    let equal = if differing == 0 { "equal" } else { "NOT equal" };
    println!(
        "{documents} documents, {edges} edges, {linked} linked, {components} components: external {wall_s:.1} s, \
         peak {:.1} MiB {within} {memory_mib} MiB; union-find in memory {resident_s:.1} s; {equal} \
         ({differing} labels differ)",
        peak as f64 / f64::from(1 << 20)
    );
    Ok(differing == 0 && peak <= memory_bytes)
}

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}
