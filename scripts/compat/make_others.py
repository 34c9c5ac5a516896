"""Files as Polars, DuckDB, arrow-rs, pandas and fastparquet write them."""

import arro3.core
import arro3.io
import duckdb
import fastparquet
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

import texts as t
from registry import case


def polars(name, columns=None, text="text", expect=None, **options):
    """`columns(frame)` is a list of expressions that are added."""

    def make(path, texts):
        frame = pl.from_arrow(t.table(texts, t.FLAT))
        frame = frame.rename({"text": text}) if text == "my text" else frame
        frame = frame.with_columns(columns(frame)) if columns else frame
        frame.write_parquet(path, **{"row_group_size": 30, **options})

    case(f"polars-{name}", make, text=text, refused=expect)


def polars_files():
    for codec in ("uncompressed", "snappy", "gzip", "brotli", "zstd", "lz4"):
        polars(codec, compression=codec)
    polars("zstd-19", compression="zstd", compression_level=19)
    for statistics in (False, "full", {"min": True, "max": False, "null_count": True, "distinct_count": True}):
        polars(f"statistics-{statistics if isinstance(statistics, (bool, str)) else 'some'}", statistics=statistics)
    polars("rows-1", row_group_size=1)
    polars("rows-all", row_group_size=1000)
    polars("small-pages", data_page_size=200, row_group_size=1000)
    polars("metadata", metadata={"owner": "équipe", "empty": ""})
    i, s = pl.col("id"), pl.col("s")
    polars("whole", lambda _: [i.cast(k).alias(f"w{k}") for k in (pl.Int16, pl.UInt16, pl.UInt32, pl.UInt64)])
    polars("wide", lambda _: [i.cast(pl.Int128).alias("i128"), i.cast(pl.Float32).alias("f32")],
           expect="annotate: error: the metadata `ARROW:schema`")
    polars("half", lambda _: [i.cast(pl.Float16).alias("f16")])
    polars("category", lambda _: [s.cast(pl.Categorical).alias("cat")])
    polars("enum", lambda _: [(i % 3).cast(pl.String).cast(pl.Enum(["2", "1", "0"])).alias("enum")])
    polars("category-text", lambda _: [pl.col("text").cast(pl.Categorical)])
    polars("binary-text", lambda _: [pl.col("text").cast(pl.Binary)])
    polars("decimal", lambda _: [i.cast(pl.Decimal(p, 2)).alias(f"d{p}") for p in (9, 18, 38)])
    polars("times", lambda _: [
        i.cast(pl.Datetime(u, z)).alias(f"ts_{u}_{z}") for u in ("ms", "us", "ns") for z in (None, "UTC", "Asia/Tokyo")
    ] + [i.cast(pl.Duration(u)).alias(f"dur_{u}") for u in ("ms", "us", "ns")] + [i.cast(pl.Time).alias("time")])
    polars("nested", lambda _: [
        pl.concat_list(i, i + 1).alias("l"), pl.struct("i64", "s").alias("st"),
        pl.concat_list(pl.struct("flag", "s"), pl.struct("flag", "s")).alias("l_st"),
        pl.concat_arr(i, i).alias("arr"), pl.struct(pl.struct("s").alias("in")).alias("deep"),
        pl.when(i % 3 == 0).then(pl.concat_list(s)).alias("l_null"),
    ])
    polars("nested-small-pages", lambda _: [
        pl.concat_list(i, i + 1, i).alias("l"), pl.struct("i64", pl.concat_list(s, s).alias("ls")).alias("st"),
    ], data_page_size=100, row_group_size=1000)
    polars("null", lambda _: [pl.lit(None).alias("nothing"), pl.struct(pl.lit(None).alias("n")).alias("st_null")])
    polars("payload", lambda _: [pl.struct("text", "i64").alias("payload")], text="payload.text")
    polars("names", lambda _: [s.alias(n) for n in ("", "a.b", "S", 'q"', "テキスト")], text="my text")
    polars("through-pyarrow", use_pyarrow=True)


def duck(name, select="*", text="text", expect=None, **options):
    """`select` over the columns of FLAT."""

    def make(path, texts):
        connection = duckdb.connect()
        # DuckDB's deltas of an INT32's extremes are wider than the format lets them be: nothing else reads them.
        kinds = t.FLAT if expect else {**t.FLAT, "i32": pa.int16(), "i64": pa.int16()}
        connection.register("t", t.table(texts, kinds, text=text))
        words = "".join(f", {key} {value}" for key, value in {"ROW_GROUP_SIZE": 2048, **options}.items())
        connection.sql(f"COPY (SELECT {select} FROM t) TO '{path}' (FORMAT parquet{words})")

    case(f"duckdb-{name}", make, text=text, refused=expect)


def duck_files():
    for version in ("v1", "v2"):
        for codec in ("uncompressed", "snappy", "gzip", "brotli", "zstd", "lz4_raw", "lz4"):
            duck(f"{codec}-{version}", CODEC=f"'{codec}'", PARQUET_VERSION=version)
        duck(f"no-dictionary-{version}", PARQUET_VERSION=version, DICTIONARY_SIZE_LIMIT=0)
        duck(f"small-dictionary-{version}", PARQUET_VERSION=version, STRING_DICTIONARY_PAGE_SIZE_LIMIT=300)
        duck(f"no-bloom-{version}", PARQUET_VERSION=version, WRITE_BLOOM_FILTER="false")
        duck(f"bloom-{version}", PARQUET_VERSION=version, BLOOM_FILTER_FALSE_POSITIVE_RATIO="0.001")
        duck(f"index-{version}", PARQUET_VERSION=version, WRITE_PAGE_INDEX="true", DATA_PAGE_SIZE_LIMIT=300)
        nested = ", ".join((
            "[id, NULL, i32] AS l", "{'a': id, 'b': [s, text]} AS st", "MAP {coalesce(s, '-') || id: i64, 'k': 2} AS m",
            "[{'x': s, 'y': flag}] AS l_st", "[[id], []] AS ll", "CASE WHEN id % 4 = 1 THEN [] ELSE NULL END::INT[] AS e",
            "array_value(id, id) AS arr", "MAP {'a': [{'b': id}]} AS m_l", "NULL AS nothing",
        ))
        duck(f"nested-{version}", f"id, text, {nested}", PARQUET_VERSION=version)
        duck(f"nested-index-{version}", f"id, text, {nested}", PARQUET_VERSION=version, WRITE_PAGE_INDEX="true",
             DATA_PAGE_SIZE_LIMIT=200)
        rich = ", ".join((
            "id::HUGEINT AS huge", "md5(s || id)::UUID AS uuid", "to_days(id::INT) + to_seconds(id) AS span",
            "TIMETZ '10:00:00+02' AS timetz", "id::BIT AS bit", "(id / 3)::DECIMAL(4,1) AS d4", "id::DECIMAL(18,5) AS d18",
            "id::DECIMAL(38,10) AS d38", "encode(s) AS blob", "json_object('a', id) AS json",
            "(id % 3)::VARCHAR::ENUM('0', '1', '2') AS enum", "make_timestamp(id * 1000) AS ts",
            "make_timestamp(id * 1000)::TIMESTAMP_NS AS ts_ns", "make_timestamp(id)::TIMESTAMPTZ AS tz",
            "make_timestamp(id)::TIMESTAMP_S AS ts_s", "TIME '10:00:01.5' AS time", "id::UTINYINT % 200 AS u8",
            "id::UBIGINT AS u64", "id::FLOAT AS f32", "id::TINYINT AS i8",
        )).replace("id::TINYINT", "(id % 100)::TINYINT").replace("id::UTINYINT % 200", "(id % 200)::UTINYINT")
        duck(f"rich-{version}", f"id, text, {rich}", PARQUET_VERSION=version)
    duck("variant", "id, text, {'a': id, 'b': s}::VARIANT AS v")
    duck("variant-mixed", "id, text, CASE WHEN id % 2 = 0 THEN id::VARIANT ELSE s::VARIANT END AS v")
    for version in ("V1", "V2", "BOTH", "NONE"):
        duck(f"geometry-{version}", "id, text, ('POINT(' || id || ' 2)')::GEOMETRY AS g", GEOPARQUET_VERSION=f"'{version}'")
    duck("int96", "id, text, make_timestamp(id * 1000000000) AS ts", WRITE_TIMESTAMP_AS_INT96="true")
    duck("wide-deltas-v2", PARQUET_VERSION="v2", expect="'min_delta' too large")
    duck("field-ids", FIELD_IDS="'auto'")
    duck("key-values", KV_METADATA="{a: 'b', 'ünï': '✓'}")
    duck("level", CODEC="'zstd'", COMPRESSION_LEVEL=15)
    duck("names", '*, s AS "a.b", s AS "S_", s AS "q""q", s AS "テキスト", s AS " "', text="my text")
    duck("blob-text", "id, encode(text) AS text, i32")
    duck("json-text", "id, to_json(text) AS text, i32")


def arrow_rs(name, kinds=None, text_type=pa.string(), text="text", **options):
    def make(path, texts):
        made = t.table(texts, t.FLAT if kinds is None else kinds, text_type, text)
        arro3.io.write_parquet(arro3.core.Table.from_arrow(made), path, **{"max_row_group_size": 30, **options})

    case(f"arrow_rs-{name}", make, text=text)


def arrow_rs_files():
    for codec in ("uncompressed", "snappy", "gzip(6)", "brotli(5)", "zstd(3)", "lz4", "lz4_raw"):
        for version in ("parquet_1_0", "parquet_2_0"):
            word = codec.split("(")[0]
            arrow_rs(f"{word}-v{version[8]}", compression=codec, writer_version=version)
    for version in ("parquet_1_0", "parquet_2_0"):
        v = version[8]
        arrow_rs(f"plain-v{v}", dictionary_enabled=False, writer_version=version)
        arrow_rs(f"bloom-v{v}", bloom_filter_enabled=True, bloom_filter_ndv=100, writer_version=version)
        arrow_rs(f"given-up-v{v}", dictionary_page_size_limit=500, data_page_size_limit=500, write_batch_size=4,
                 max_row_group_size=1000, writer_version=version)
        arrow_rs(f"short-statistics-v{v}", max_statistics_size=3, writer_version=version)
        arrow_rs(f"page-rows-v{v}", data_page_row_count_limit=7, write_batch_size=7, max_row_group_size=1000,
                 writer_version=version)
    arrow_rs("bare", skip_arrow_metadata=True)
    arrow_rs("key-values", key_value_metadata={"a": "b", "ünï": ""}, created_by="someone else version 1.0")
    arrow_rs("rows-1", max_row_group_size=1)
    sets = {
        "whole": t.WHOLE, "real": t.REAL, "days": t.DAYS, "stamps": t.STAMPS, "strings": t.STRINGS,
        "lists": t.LISTS, "structs": t.STRUCTS, "maps": t.MAPS, "spans": t.SPANS, "decimals": t.DECIMALS,
        "dictionaries": t.DICTIONARIES, "nulls": {"nothing": pa.null()},
    }
    for name, kinds in sets.items():
        arrow_rs(name, kinds)
    for name, kind in (("view", pa.string_view()), ("large", pa.large_string()), ("binary", pa.binary())):
        arrow_rs(f"text-{name}", {}, kind, writer_version="parquet_2_0")


def frame(texts):
    return pd.DataFrame({
        "id": range(1000, 1000 + t.ROWS), "text": pd.Series(texts, dtype=object),
        "i": np.arange(t.ROWS, dtype="int32"), "f": np.where(np.arange(t.ROWS) % 5 == 0, np.nan, 1.5),
        "flag": np.arange(t.ROWS) % 2 == 0, "ts": pd.date_range("2020-01-01", periods=t.ROWS, freq="h"),
    })


def pandas(name, change=lambda made: made, text="text", **options):
    def make(path, texts):
        change(frame(texts)).to_parquet(path, **{"engine": "pyarrow", "row_group_size": 30, **options})

    case(f"pandas-{name}", make, text=text)


def pandas_files():
    pandas("ordered-categories", lambda f: f.assign(o=pd.Categorical(f["flag"].astype(str), ["True", "False", "no"], ordered=True)))
    pandas("range-index")
    pandas("no-index", index=False)
    pandas("index", lambda f: f.set_index(pd.Index([f"k{i}" for i in range(t.ROWS)], name="key")))
    pandas("unnamed-index", lambda f: f.set_index(pd.Index(np.arange(t.ROWS)[::-1])))
    pandas("multi-index", lambda f: f.set_index(["i", "flag"]))
    pandas("time-index", lambda f: f.set_index(f["ts"].dt.tz_localize("Europe/Berlin").rename("when")))
    pandas("category", lambda f: f.assign(c=pd.Categorical(f["i"] % 4), o=pd.Categorical(f["flag"].astype(str), ordered=True)))
    pandas("nullable", lambda f: f.assign(
        n=pd.array([None if i % 4 == 0 else i for i in range(t.ROWS)], dtype="Int16"),
        b=pd.array([None if i % 5 == 0 else i % 2 == 0 for i in range(t.ROWS)], dtype="boolean"), s=f["text"].astype("string")))
    pandas("arrow-types", lambda f: f.convert_dtypes(dtype_backend="pyarrow"))
    pandas("zones", lambda f: f.assign(z=f["ts"].dt.tz_localize("UTC").dt.tz_convert("America/New_York"), d=f["ts"] - f["ts"][0]))
    pandas("periods", lambda f: f.assign(p=f["ts"].dt.to_period("M"), v=pd.arrays.IntervalArray.from_breaks(range(t.ROWS + 1))))
    pandas("attributes", lambda f: (f.attrs.update({"made": "by hand"}), f)[1])
    pandas("odd-names", lambda f: f.rename(columns={"i": "a.b", "f": 'q"', "flag": "テ"}))
    pandas("category-text", lambda f: f.assign(text=f["text"].astype("category")))


# fastparquet gives each column chunk key-values of its own.
ITS_OWN = "a column chunk has key-value metadata of its own"


def fast(name, change=lambda made: made, text="text", expect=ITS_OWN, **options):
    def make(path, texts):
        fastparquet.write(str(path), change(frame(texts)), **{"row_group_offsets": 30, **options})

    case(f"fastparquet-{name}", make, text=text, refused=expect)


def fast_files():
    for codec in ("UNCOMPRESSED", "SNAPPY", "GZIP", "BROTLI", "ZSTD", "LZ4_RAW"):
        fast(codec.lower(), compression=codec)
    fast("int96", times="int96")
    fast("no-nulls", lambda f: f.drop(columns="f"), has_nulls=["text"])
    fast("bytes", lambda f: f.assign(raw=[b"\xff" * (i % 9) for i in range(t.ROWS)]), object_encoding={"text": "utf8", "raw": "bytes"})
    fast("bytes-text", lambda f: f.assign(text=[None if x is None else x.encode() for x in f["text"]]), object_encoding="bytes")
    fast("json", lambda f: f.assign(j=[{"a": i} for i in range(t.ROWS)]), object_encoding={"text": "utf8", "j": "json"})
    fast("fixed", lambda f: f.assign(x=[f"{i:05}" for i in range(t.ROWS)]), fixed_text={"x": 5},
         expect="UTF8 cannot annotate field 'x'")
    fast("statistics", stats=True)
    fast("no-statistics", stats=False)
    fast("index", lambda f: f.set_index(pd.Index([f"k{i}" for i in range(t.ROWS)], name="key")), write_index=True)
    fast("category", lambda f: f.assign(c=pd.Categorical(f["i"] % 4)))
    fast("metadata", custom_metadata={"owner": "équipe"})
    fast("rows-1", row_group_offsets=1)
    fast("nullable", lambda f: f.assign(n=pd.array([None if i % 4 == 0 else i for i in range(t.ROWS)], dtype="Int16")))


def all_files():
    polars_files()
    duck_files()
    arrow_rs_files()
    pandas_files()
    fast_files()
