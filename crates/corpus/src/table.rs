//! The columns of a corpus, gathered row by row into record batches.

use std::sync::Arc;

use anyhow::Result;
use arrow_array::builder::{
    Float64Builder, Int32Builder, ListBuilder, StringBuilder, TimestampMicrosecondBuilder,
};
use arrow_array::{ArrayRef, RecordBatch, StructArray};
use arrow_buffer::NullBufferBuilder;
use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef, TimeUnit};

use crate::maker::Maker;
use crate::measure::tokens;
use crate::random::SplitMix64;
use crate::words::{Language, Lexicon};

/// A batch is written once it has this many rows or bytes of text, whichever comes first.
const BATCH_ROWS: usize = 1024;
const BATCH_BYTES: usize = 4 << 20;

const SOURCES: [&str; 5] = ["web", "news", "forum", "manual", "wiki"];
/// 2020-01-01T00:00:00Z in seconds, and five years.
const EPOCH_S: i64 = 1_577_836_800;
const SPAN_S: u64 = 5 * 365 * 86_400;
/// The one NaN that is written, so that files are equal on every machine.
const NAN: u64 = 0x7FF8_0000_0000_0000;

fn meta_fields() -> Fields {
    Fields::from(vec![
        Field::new("lang", DataType::Utf8, true),
        Field::new("words", DataType::Int32, true),
    ])
}

fn schema() -> SchemaRef {
    let item = Arc::new(Field::new_list_field(DataType::Utf8, true));
    Arc::new(Schema::new(vec![
        Field::new("id", DataType::Utf8, false),
        Field::new("text", DataType::Utf8, true),
        Field::new("url", DataType::Utf8, true),
        Field::new("source", DataType::Utf8, true),
        Field::new(
            "date",
            DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            true,
        ),
        Field::new("quality", DataType::Float64, true),
        Field::new("token_count", DataType::Int32, true),
        Field::new("headings", DataType::List(item), true),
        Field::new("meta", DataType::Struct(meta_fields()), true),
    ]))
}

/// The tokens of a text, and its words by blanks alone, which are the same where no script lacks blanks.
fn counts(text: &str) -> (i32, i32) {
    let tokens = tokens(text).count() as i32;
    let words = if text.is_ascii() {
        tokens
    } else {
        text.split_whitespace().count() as i32
    };
    (tokens, words)
}

/// The rows of one record batch.
pub(crate) struct Batch {
    schema: SchemaRef,
    id: StringBuilder,
    text: StringBuilder,
    url: StringBuilder,
    source: StringBuilder,
    date: TimestampMicrosecondBuilder,
    quality: Float64Builder,
    token_count: Int32Builder,
    headings: ListBuilder<StringBuilder>,
    lang: StringBuilder,
    words: Int32Builder,
    meta: NullBufferBuilder,
    rows: usize,
    text_bytes: usize,
}

impl Batch {
    pub(crate) fn new() -> Self {
        Self {
            schema: schema(),
            id: StringBuilder::new(),
            text: StringBuilder::new(),
            url: StringBuilder::new(),
            source: StringBuilder::new(),
            date: TimestampMicrosecondBuilder::new().with_timezone("UTC"),
            quality: Float64Builder::new(),
            token_count: Int32Builder::new(),
            headings: ListBuilder::new(StringBuilder::new()),
            lang: StringBuilder::new(),
            words: Int32Builder::new(),
            meta: NullBufferBuilder::new(BATCH_ROWS),
            rows: 0,
            text_bytes: 0,
        }
    }

    pub(crate) fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    pub(crate) fn is_full(&self) -> bool {
        self.rows >= BATCH_ROWS || self.text_bytes >= BATCH_BYTES
    }

    /// Bytes of text in the batch, which are nearly all of its memory.
    pub(crate) fn text_bytes(&self) -> usize {
        self.text_bytes
    }

    /// Adds document `number`; its other columns are drawn from its own stream of random numbers.
    pub(crate) fn push(
        &mut self,
        maker: &Maker,
        number: u64,
        text: Option<&str>,
        language: Language,
    ) {
        let mut random = maker.columns(number);
        let source = random.pick(&SOURCES);
        let lang = language.name();
        self.id.append_value(format!("doc-{number:09}"));
        self.text.append_option(text);
        self.url.append_value(format!(
            "https://{source}.example/{lang}/{:06x}/{number}",
            random.below(1 << 24)
        ));
        self.source.append_value(source);
        let seconds = EPOCH_S + random.below(SPAN_S) as i64;
        let micros = seconds * 1_000_000 + random.below(1_000_000) as i64;
        self.date
            .append_option((!random.one_in(64)).then_some(micros));
        let quality = if random.one_in(64) {
            f64::from_bits(NAN)
        } else {
            random.below(10_001) as f64 / 10_000.0
        };
        self.quality
            .append_option((!random.one_in(16)).then_some(quality));
        let counts = text.map(counts);
        self.token_count
            .append_option(counts.map(|(tokens, _)| tokens));
        self.push_headings(maker.lexicon(language), &mut random);
        // A null struct, beside a struct whose fields are null (a null text has no words).
        let present = !random.one_in(64);
        self.lang.append_option(present.then_some(lang));
        self.words
            .append_option(counts.filter(|_| present).map(|(_, words)| words));
        self.meta.append(present);
        self.rows += 1;
        self.text_bytes += text.map_or(0, str::len);
    }

    fn push_headings(&mut self, lexicon: &Lexicon, random: &mut SplitMix64) {
        let present = !random.one_in(32);
        for _ in 0..if present { random.below(4) } else { 0 } {
            if random.one_in(64) {
                self.headings.values().append_null();
                continue;
            }
            let words = 1 + random.below(3);
            let mut heading = String::new();
            for word in 0..words {
                heading.push_str(if word == 0 { "" } else { " " });
                heading.push_str(lexicon.word(lexicon.choose(random.next() as u16), true));
            }
            self.headings.values().append_value(heading);
        }
        self.headings.append(present);
    }

    /// The batch, which is empty afterwards.
    pub(crate) fn finish(&mut self) -> Result<RecordBatch> {
        let children: Vec<ArrayRef> =
            vec![Arc::new(self.lang.finish()), Arc::new(self.words.finish())];
        let meta = StructArray::try_new(meta_fields(), children, self.meta.finish())?;
        let columns: Vec<ArrayRef> = vec![
            Arc::new(self.id.finish()),
            Arc::new(self.text.finish()),
            Arc::new(self.url.finish()),
            Arc::new(self.source.finish()),
            Arc::new(self.date.finish()),
            Arc::new(self.quality.finish()),
            Arc::new(self.token_count.finish()),
            Arc::new(self.headings.finish()),
            Arc::new(meta),
        ];
        self.rows = 0;
        self.text_bytes = 0;
        Ok(RecordBatch::try_new(self.schema(), columns)?)
    }
}
