//! The settings, table by table, and the rules between keys.

use records::Pipeline;
use records::settings::{Band, Cluster, Filter, Input, Join, Keep, Run, Sign};

use crate::keys::{self, Fallback, Key, MAX_K};
use crate::kinds::{Context, Kind};
use crate::place::{Place, Problems, Reported};
use crate::tree::{Item, Tree};

/// Makes the settings, or records every problem on the way.
pub(crate) fn pipeline(
    tree: &Tree,
    context: &Context<'_>,
    problems: &mut Problems<'_>,
) -> Result<Pipeline, Reported> {
    let mut reader = Reader {
        tree,
        context,
        problems,
    };
    // All tables are read before the first failure ends it, so that all problems are told at once.
    let input = input(&mut reader);
    let run = run(&mut reader);
    let sign = sign(&mut reader);
    let band = band(&mut reader);
    let join = join(&mut reader);
    let cluster = cluster(&mut reader);
    let filter = filter(&mut reader);
    if let (Ok(sign), Ok(band)) = (&sign, &band) {
        enough_slots(&mut reader, sign.k, band);
    }
    Ok(Pipeline {
        input: input?,
        run: run?,
        sign: sign?,
        band: band?,
        join: join?,
        cluster: cluster?,
        filter: filter?,
    })
}

/// Takes typed values out of the tree.
struct Reader<'r, 'p> {
    tree: &'r Tree,
    context: &'r Context<'r>,
    problems: &'r mut Problems<'p>,
}

impl Reader<'_, '_> {
    /// The value of the key, given or default; none if it has neither.
    fn optional<K: Kind>(&mut self, key: &Key<K>) -> Result<Option<K::Out>, Reported> {
        let default;
        let item = match (self.tree.get(key.table, key.key), &key.fallback) {
            (Some(item), _) => item,
            (None, Fallback::Toml(text)) => {
                default = Item::of_default(text);
                &default
            }
            (None, Fallback::Required(_) | Fallback::Nothing) => return Ok(None),
        };
        let name = format!("{}.{}", key.table, key.key);
        match key.kind.read(&name, item, self.context) {
            Ok(value) => Ok(Some(value)),
            Err((place, message)) => Err(self.problems.push(place, message)),
        }
    }

    /// The value of the key, given or default.
    fn get<K: Kind>(&mut self, key: &Key<K>) -> Result<K::Out, Reported> {
        if let Some(value) = self.optional(key)? {
            return Ok(value);
        }
        // A name that nobody knows may be this one misspelt: one mistake, one message.
        if self.tree.has_unknown_names
            && let Some(reported) = self.problems.reported()
        {
            return Err(reported);
        }
        let remedy = match key.fallback {
            Fallback::Required(remedy) => remedy,
            Fallback::Nothing | Fallback::Toml(_) => "set it",
        };
        let message = format!("{}.{} is missing; {remedy}", key.table, key.key);
        Err(self
            .problems
            .push(self.tree.table_place(key.table), message))
    }

    /// Where the value of the key was given.
    fn place<K>(&self, key: &Key<K>) -> Place {
        let item = self.tree.get(key.table, key.key);
        item.map_or(Place::Default, |item| item.place)
    }
}

fn input(reader: &mut Reader<'_, '_>) -> Result<Input, Reported> {
    let paths = reader.get(&keys::PATHS);
    let text = reader.get(&keys::TEXT);
    let id = reader.optional(&keys::ID);
    let on_bad_file = reader.get(&keys::ON_BAD_FILE);
    let on_bad_text = reader.get(&keys::ON_BAD_TEXT);
    on_bad_file?;
    Ok(Input {
        paths: paths?,
        text: text?,
        id: id?,
        on_bad_text: on_bad_text?,
    })
}

fn run(reader: &mut Reader<'_, '_>) -> Result<Run, Reported> {
    let work = reader.get(&keys::WORK);
    let memory_bytes = reader.optional(&keys::MEMORY);
    let threads = reader.get(&keys::THREADS);
    Ok(Run {
        work: work?,
        memory_bytes: memory_bytes?,
        threads: threads?,
    })
}

fn sign(reader: &mut Reader<'_, '_>) -> Result<Sign, Reported> {
    let scheme = reader.get(&keys::SCHEME);
    let k = reader.get(&keys::K);
    let seed = reader.get(&keys::SEED);
    let unit = reader.get(&keys::UNIT);
    let n = reader.get(&keys::N);
    let char_n = reader.get(&keys::CHAR_N);
    let strip_punctuation = reader.get(&keys::STRIP_PUNCTUATION);
    Ok(Sign {
        scheme: scheme?,
        k: k?,
        seed: seed?,
        unit: unit?,
        n: n?,
        char_n: char_n?,
        strip_punctuation: strip_punctuation?,
    })
}

fn band(reader: &mut Reader<'_, '_>) -> Result<Band, Reported> {
    let bands = reader.get(&keys::BANDS);
    let rows = reader.get(&keys::ROWS);
    Ok(Band {
        bands: bands?,
        rows: rows?,
    })
}

fn join(reader: &mut Reader<'_, '_>) -> Result<Join, Reported> {
    let verify = reader.get(&keys::VERIFY);
    let threshold = reader.get(&keys::THRESHOLD);
    let bits = reader.get(&keys::BITS);
    let anchors = reader.get(&keys::ANCHORS);
    Ok(Join {
        verify: verify?,
        threshold: threshold?,
        bits: bits?,
        anchors: anchors?,
    })
}

fn cluster(reader: &mut Reader<'_, '_>) -> Result<Cluster, Reported> {
    let method = reader.get(&keys::METHOD);
    let keep = reader.get(&keys::KEEP);
    let column = reader.optional(&keys::COLUMN);
    let (method, keep, column) = (method?, keep?, column?);
    let place = reader.place(&keys::KEEP).max(reader.place(&keys::COLUMN));
    let wrong = match (keep, &column) {
        (Keep::Best, None) => {
            "cluster.keep = \"best\" needs a column; set cluster.column to the quality column"
        }
        (Keep::Longest, Some(_)) => {
            "cluster.column has no effect with cluster.keep = \"longest\"; remove it, or set cluster.keep to \"earliest\" or \"best\""
        }
        _ => {
            return Ok(Cluster {
                method,
                keep,
                column,
            });
        }
    };
    Err(reader.problems.push(place, wrong.to_owned()))
}

fn filter(reader: &mut Reader<'_, '_>) -> Result<Filter, Reported> {
    let output = reader.get(&keys::OUTPUT);
    let mode = reader.get(&keys::MODE);
    let prefix = reader.get(&keys::PREFIX);
    let existing = reader.get(&keys::EXISTING);
    let compression_level = reader.optional(&keys::COMPRESSION_LEVEL);
    Ok(Filter {
        output: output?,
        mode: mode?,
        prefix: prefix?,
        existing: existing?,
        compression_level: compression_level?,
    })
}

/// Records bands that need more slots than there are, at the one of the three keys given last.
fn enough_slots(reader: &mut Reader<'_, '_>, k: u32, band: &Band) {
    let Band { bands, rows } = *band;
    let slots = u64::from(bands) * u64::from(rows);
    if slots <= u64::from(k) {
        return;
    }
    let raise = if slots <= MAX_K.unsigned_abs() {
        format!(", or raise sign.k to {slots} or more")
    } else {
        String::new()
    };
    let place = reader
        .place(&keys::K)
        .max(reader.place(&keys::BANDS))
        .max(reader.place(&keys::ROWS));
    let message = format!(
        "band.bands * band.rows = {bands} * {rows} = {slots} slots are more than sign.k = {k}; lower band.bands or band.rows{raise}"
    );
    reader.problems.push(place, message);
}
