"""Files as pyarrow (parquet-cpp) writes them."""

import json

import pyarrow as pa
import pyarrow.parquet as pq

import texts as t
from registry import case

CODECS = ["none", "snappy", "gzip", "brotli", "zstd", "lz4"]
FEW = {"row_group_size": 30}
SPARK = "org.apache.spark.sql.parquet.row.metadata"


def arrow(name, kinds=None, change=None, text_type=pa.string(), text="text", required=(), expect=None, **options):
    """Columns of `kinds`, changed by `change(table)`, written with `options`."""
    kinds = t.FLAT if kinds is None else kinds

    def make(path, texts):
        made = t.table(texts, kinds, text_type, text, required)
        pq.write_table(change(made) if change else made, path, **{**FEW, **options})

    case(f"pyarrow-{name}", make, text=text, refused=expect)


def spark_metadata(table):
    fields = [
        {"name": f.name, "type": "long" if f.name == "id" else "string", "nullable": True, "metadata": {}}
        for f in table.schema
    ]
    row = json.dumps({"type": "struct", "fields": fields})
    return table.replace_schema_metadata({SPARK: row, "org.apache.spark.version": "3.5.1"})


def with_field_ids(table):
    fields = [f.with_metadata({"PARQUET:field_id": str(i * 3 + 5)}) for i, f in enumerate(table.schema)]
    return table.cast(pa.schema(fields))


def with_metadata(table):
    fields = [f.with_metadata({"comment": f"about {f.name}", "ünï": "✓"}) for f in table.schema]
    return table.cast(pa.schema(fields)).replace_schema_metadata({"owner": "équipe", "empty": "", "k": "v" * 3000})


def renamed(*names):
    return lambda table: table.rename_columns(["id", "text", *names])


def matrix():
    for codec in CODECS:
        for version in ("1.0", "2.0"):
            for dictionary in (True, False):
                word = "dict" if dictionary else "plain"
                arrow(
                    f"{codec}-v{version[0]}-{word}", compression=codec, data_page_version=version,
                    use_dictionary=dictionary, write_page_index=version == "2.0",
                )
    for version in ("1.0", "2.4", "2.6"):
        arrow(f"format-{version}", {**t.FLAT, **t.DAYS, "u32": pa.uint32()}, version=version)


def encodings():
    forms = {
        "delta": {"text": "DELTA_BYTE_ARRAY", "i": "DELTA_BINARY_PACKED", "j": "DELTA_BINARY_PACKED",
                  "f": "PLAIN", "fixed": "DELTA_BYTE_ARRAY", "flag": "RLE"},
        "lengths": {"text": "DELTA_LENGTH_BYTE_ARRAY", "i": "PLAIN", "j": "PLAIN", "f": "PLAIN",
                    "fixed": "PLAIN", "flag": "PLAIN"},
        "split": {"text": "PLAIN", "i": "BYTE_STREAM_SPLIT", "j": "BYTE_STREAM_SPLIT",
                  "f": "BYTE_STREAM_SPLIT", "fixed": "BYTE_STREAM_SPLIT", "flag": "RLE"},
    }
    kinds = {"i": pa.int32(), "j": pa.int64(), "f": pa.float64(), "fixed": pa.binary(7), "flag": pa.bool_()}
    for name, form in forms.items():
        for version in ("1.0", "2.0"):
            for codec in ("none", "zstd"):
                arrow(
                    f"{name}-v{version[0]}-{codec}", kinds, use_dictionary=False, column_encoding=form,
                    data_page_version=version, compression=codec,
                )
    arrow("delta-nested", {**t.LISTS, **t.MAPS}, use_dictionary=False, data_page_version="2.0",
          column_encoding={"l_int.list.element": "DELTA_BINARY_PACKED", "l_str.list.element": "DELTA_BYTE_ARRAY"})


def types():
    sets = {
        "whole": t.WHOLE, "real": t.REAL, "days": t.DAYS, "stamps": t.STAMPS, "spans": t.SPANS,
        "decimals": t.DECIMALS, "strings": t.STRINGS, "dictionaries": t.DICTIONARIES, "lists": t.LISTS,
        "structs": t.STRUCTS, "maps": t.MAPS, "extensions": t.EXTENSIONS, "nulls": t.NULLS,
    }
    for name, kinds in sets.items():
        arrow(name, kinds)
        arrow(f"{name}-v2-plain", kinds, data_page_version="2.0", use_dictionary=False, compression="zstd",
              write_page_index=True, write_page_checksum=True)
        arrow(f"{name}-bare", kinds, store_schema=False, write_statistics=False, row_group_size=17)
    arrow("required", t.WHOLE | t.DAYS, required=tuple(t.WHOLE | t.DAYS))
    arrow("everything", {k: v for kinds in sets.values() for k, v in kinds.items()}, row_group_size=10)
    arrow("decimal-integers", t.DECIMALS, store_decimal_as_integer=True)
    arrow("int96", {k: v for k, v in t.STAMPS.items() if "Berlin" not in k}, use_deprecated_int96_timestamps=True)
    arrow("int96-plain-index", {"a": pa.timestamp("us"), "b": pa.timestamp("ns", "UTC")}, use_dictionary=False,
          use_deprecated_int96_timestamps=True, write_page_index=True)
    arrow("coerced", {k: v for k, v in t.STAMPS.items() if "_s_" in k or "_ms_" in k}, coerce_timestamps="ms")
    arrow("time-utc", t.DAYS, write_time_adjusted_to_utc=True)
    arrow("old-lists", t.LISTS | t.STRUCTS, use_compliant_nested_type=False)
    arrow("list-pages", t.LISTS | t.MAPS, data_page_size=100, write_batch_size=5, data_page_version="2.0")


def layout():
    arrow("rows-1", row_group_size=1)
    arrow("rows-7", row_group_size=7, write_page_index=True)
    arrow("rows-10", row_group_size=10)
    arrow("rows-all", row_group_size=1000)
    arrow("small-pages", data_page_size=200, write_batch_size=4, write_page_index=True, row_group_size=1000)
    arrow("rows-a-page", max_rows_per_page=9, write_page_index=True, row_group_size=1000)
    arrow("checksums", write_page_checksum=True, data_page_size=300, write_batch_size=4)
    arrow("checksums-v2", write_page_checksum=True, data_page_version="2.0")
    arrow("no-statistics", write_statistics=False)
    arrow("some-statistics", write_statistics=["id", "f64"])
    arrow("index-some-statistics", write_statistics=["id"], write_page_index=True)
    arrow("some-dictionaries", use_dictionary=["s", "i32"])
    arrow("dictionary-given-up", dictionary_pagesize_limit=600, data_page_size=300, write_batch_size=4)
    arrow("dictionary-given-up-v2", dictionary_pagesize_limit=600, data_page_size=300, write_batch_size=4,
          data_page_version="2.0", write_page_index=True, row_group_size=1000)
    arrow("chunked-by-content", use_content_defined_chunking={"min_chunk_size": 256, "max_chunk_size": 1024})
    arrow("bloom", bloom_filter_options={"text": {"ndv": 200, "fpp": 0.01}, "id": {"ndv": 200, "fpp": 0.1}})
    arrow("bloom-index-v2", bloom_filter_options={"s": {"ndv": 50, "fpp": 0.05}}, write_page_index=True,
          data_page_version="2.0", compression="zstd")
    arrow("sorted", sorting_columns=[pq.SortingColumn(0)])
    arrow("sorted-two", sorting_columns=[pq.SortingColumn(0, descending=False, nulls_first=True), pq.SortingColumn(3, True)])
    arrow("high-level", compression="zstd", compression_level=19)
    arrow("mixed-codecs", compression={"text": "gzip", "id": "zstd", "s": "snappy", "i64": "none"})
    arrow("flavor-spark", {"i": pa.int32(), "ts": pa.timestamp("us", "UTC")}, flavor="spark")

    def no_rows(path, texts):
        pq.write_table(t.table(texts, t.FLAT | t.LISTS).slice(0, 0), path)

    case("pyarrow-no-rows", no_rows, planted=False)

    def no_groups(path, texts):
        pq.ParquetWriter(path, t.table(texts, t.FLAT | t.LISTS).schema).close()

    case("pyarrow-no-row-groups", no_groups, planted=False)


def names():
    arrow("dots", {"a.b": pa.int32(), "a": pa.struct([("b", pa.string())]), ".": pa.int8(), "c..d": pa.int8()})
    arrow("blanks", {"": pa.int32(), " ": pa.int8(), " lead": pa.string(), "new\nline": pa.int64(), "tab\t": pa.bool_()})
    arrow("quotes", {'"': pa.int32(), "'": pa.int8(), "`": pa.string(), "a\"b'c`d\\": pa.int64(), "{}[]()": pa.bool_()})
    arrow("letters", {"テキスト": pa.string(), "é": pa.int8(), "e\u0301": pa.int16(), "😀": pa.int64(), "ß": pa.bool_()})
    arrow("case-twins", {"Text": pa.string(), "TEXT": pa.int64(), "tExt": pa.list_(pa.string()), "ID": pa.int8()})
    arrow("duplicates", {"a": pa.int32(), "b": pa.string(), "c": pa.list_(pa.int8()), "d": pa.float64()},
          renamed("x", "x", "x", "y"))
    arrow("duplicates-plain", {"a": pa.int32(), "b": pa.int32()}, renamed("x", "x"), use_dictionary=False,
          write_page_index=True, data_page_version="2.0")
    arrow("duplicate-text", {"a": pa.string()}, renamed("text"), expect="2 columns named `text`")
    arrow("many-columns", {f"c{i}": pa.int16() for i in range(300)})
    arrow("kept-as-kept", {"dedup_other": pa.int32(), "dedup": pa.string()})


def metadata():
    arrow("field-ids", t.FLAT | t.STRUCTS, with_field_ids)
    arrow("field-ids-v2", t.LISTS | t.MAPS, with_field_ids, data_page_version="2.0", store_schema=False)
    arrow("metadata", t.FLAT | t.STRUCTS, with_metadata)
    arrow("metadata-bare", t.FLAT, with_metadata, store_schema=False)
    arrow("spark-metadata", {}, spark_metadata)
    arrow("spark-metadata-bare", {"s": pa.string()}, spark_metadata, store_schema=False)


def text_kinds():
    kinds = {
        "large": pa.large_string(), "view": pa.string_view(), "binary": pa.binary(), "large-binary": pa.large_binary(),
        "binary-view": pa.binary_view(), "dict8": pa.dictionary(pa.int8(), pa.string()),
        "dict32": pa.dictionary(pa.int32(), pa.large_string()),
        "dict-ordered": pa.dictionary(pa.int16(), pa.string(), ordered=True),
    }
    for name, kind in kinds.items():
        arrow(f"text-{name}", {"i": pa.int32()}, text_type=kind)
        arrow(f"text-{name}-bare", {"i": pa.int32()}, text_type=kind, store_schema=False, use_dictionary=False)
    arrow("text-delta-v2", {"i": pa.int32()}, use_dictionary=False, column_encoding={"text": "DELTA_BYTE_ARRAY"},
          data_page_version="2.0", data_page_size=500, write_batch_size=8)
    for i, name in enumerate(("page.text", "my text", "テキスト", 'the "text"', "it's", "back`tick")):
        arrow(f"text-named-{i}", {"text_": pa.string(), "page": pa.struct([("text", pa.int32())])}, text=name)
    arrow("text-list", {}, lambda made: made.set_column(1, "text", t.array(pa.list_(pa.string()))),
          expect="list<string>")
    arrow("text-int", {}, lambda made: made.set_column(1, "text", t.array(pa.int64())), expect="int64")


def nested_text():
    def inside(path_, leaf_kind, null_parents):
        names = path_.split(".")

        def make(path, texts):
            leaf = t.text_array(texts, leaf_kind)
            column = pa.StructArray.from_arrays([leaf, t.array(pa.int32())], [names[-1], "other"])
            for name in reversed(names[1:-1]):
                column = pa.StructArray.from_arrays([t.array(pa.list_(pa.string())), column], ["before", name])
            if null_parents:
                mask = pa.array([texts[i] is None for i in range(t.ROWS)])
                column = pa.StructArray.from_arrays(
                    [column.field(i) for i in range(column.type.num_fields)], fields=list(column.type), mask=mask)
            table = pa.table({"id": pa.array(range(t.ROWS)), names[0]: column, "inner": t.array(pa.int8())})
            # pyarrow cannot slice views inside of structs.
            rows = 1000 if pa.types.is_string_view(leaf_kind) else 30
            pq.write_table(table, path, row_group_size=rows)

        return make

    for path in ("payload.text", "a.b.c.text"):
        for name, kind in (("string", pa.string()), ("view", pa.string_view()), ("binary", pa.binary())):
            for parents in (False, True):
                word = "null-parents" if parents else "whole"
                case(f"pyarrow-{path}-{name}-{word}", inside(path, kind, parents), text=path)


def odd_ids():
    """The id column is made of other types, and read back as text."""
    kinds = {
        "string": pa.string(), "u64": pa.uint64(), "binary": pa.binary(), "uuid": pa.uuid(), "decimal": pa.decimal128(12, 3),
        "stamp": pa.timestamp("us", "UTC"), "date": pa.date32(), "dict": pa.dictionary(pa.int8(), pa.string()),
        "double": pa.float64(), "bool": pa.bool_(),
    }
    for name, kind in kinds.items():
        def change(made, kind=kind):
            return made.set_column(0, pa.field("id", kind), t.array(kind))

        arrow(f"id-{name}", {"i": pa.int32()}, change)


def all_files():
    matrix()
    encodings()
    types()
    layout()
    names()
    metadata()
    text_kinds()
    nested_text()
    odd_ids()
