"""What each reader sees in an output, against what it sees in the input."""

import struct
import warnings

import arro3.io
import datafusion
import duckdb
import fastparquet
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

warnings.simplefilter("ignore")


def canonical(value):
    """Values that compare by their bits, so that NaN equals itself and -0.0 does not equal 0.0."""
    if isinstance(value, float):
        return struct.pack("<d", value)
    if isinstance(value, dict):
        return [(key, canonical(item)) for key, item in value.items()]
    if isinstance(value, (list, tuple)):
        return [canonical(item) for item in value]
    if isinstance(value, np.ndarray):
        return [canonical(item) for item in value]
    if isinstance(value, np.generic):
        return (value.dtype.str, value.tobytes())
    if isinstance(value, (pd.Timestamp, pd.Timedelta)):
        return (value.value, value.unit, str(getattr(value, "tz", None)))
    return value


def arrow_values(column):
    try:
        return [canonical(value) for value in column.to_pylist()]
    except (ValueError, OverflowError, pa.ArrowException):
        # Beyond Python's years.
        return [canonical(value) for value in column.cast(pa.int64()).to_pylist()]


def day_times(column):
    width, values = column.type.bit_width // 8, []
    for chunk in column.chunks:
        data = chunk.buffers()[1].to_pybytes()[chunk.offset * width :]
        valid = chunk.is_valid().to_pylist()
        values += [data[i * width : (i + 1) * width] if there else None for i, there in enumerate(valid)]
    return values


def has_floats(kind):
    if pa.types.is_nested(kind):
        return any(has_floats(kind.field(i).type) for i in range(kind.num_fields))
    return pa.types.is_floating(kind) or isinstance(kind, pa.BaseExtensionType)


class Arrow:
    """A reader that gives Arrow tables."""

    def __init__(self, name, read, with_metadata):
        self.name, self.read, self.with_metadata = name, read, with_metadata

    def difference(self, before, after, keep, marks):
        """`marks` are the added columns as lists by name, or None where rows were dropped."""
        columns = before.num_columns
        if after.num_columns != columns + len(marks or ()):
            return f"{columns} columns became {after.num_columns}"
        for i, field in enumerate(before.schema):
            if not field.equals(after.schema.field(i), check_metadata=self.with_metadata):
                return f"field {field} {field.metadata} became {after.schema.field(i)} {after.schema.field(i).metadata}"
        for i, (name, values) in enumerate((marks or {}).items()):
            field = after.schema.field(columns + i)
            if field.name != name or after.column(columns + i).to_pylist() != values:
                return f"added column {field} does not hold what clusters.parquet says"
        if self.with_metadata:
            told = set() if marks is None else {b"pandas", b"org.apache.spark.sql.parquet.row.metadata"}
            told |= set() if marks is None else {b"neardup.annotation"}
            was, now = (
                {k: v for k, v in (s.metadata or {}).items() if k not in told} for s in (before.schema, after.schema))
            if was != now:
                return f"schema metadata {was} became {now}"
        rows = pa.array([i for i, kept in enumerate(keep) if kept], pa.int64())
        if after.num_rows != len(rows):
            return f"{after.num_rows} rows, and {len(rows)} expected"
        for i in range(columns):
            if problem := self.column_difference(before.column(i), after.column(i), rows, len(keep)):
                return f"column {before.schema.field(i)}: {problem}"
        return None

    @staticmethod
    def column_difference(before, after, rows, count):
        whole = len(rows) == count
        if whole and not has_floats(before.type) and before.equals(after):
            return None
        if pa.types.is_interval(before.type):
            # pyarrow has no values of some of these, and only their bytes can be compared.
            was, now = (day_times(column) for column in (before, after))
        else:
            was, now = arrow_values(before), arrow_values(after)
        was = [was[row] for row in rows.to_pylist()]
        if was == now:
            return None
        at = next(i for i, (a, b) in enumerate(zip(was, now)) if a != b)
        return f"row {at} of the output: {was[at]!r:.100} became {now[at]!r:.100}"


def read_pyarrow(path):
    return pq.ParquetFile(path, page_checksum_verification=True).read()


def read_arrow_rs(path):
    return pa.table(arro3.io.read_parquet(path))


def read_datafusion(path):
    config = datafusion.SessionConfig().with_target_partitions(1)
    frame = datafusion.SessionContext(config).read_parquet(path)
    batches = frame.collect()
    return pa.Table.from_batches(batches, schema=None if batches else frame.schema())


def read_duckdb(path):
    connection = duckdb.connect()
    connection.sql("SET threads = 1")
    return connection.execute("SELECT * FROM read_parquet(?)", [path]).to_arrow_table()


class Polars:
    name = "Polars"

    @staticmethod
    def read(path):
        return pl.read_parquet(path)

    @staticmethod
    def difference(before, after, keep, marks):
        names = before.columns
        expected = before.filter(pl.Series(keep, dtype=pl.Boolean))
        for name, values in (marks or {}).items():
            kind = pl.Boolean if isinstance(next(iter(values), True), bool) and name.endswith("keep") else pl.Int64
            expected = expected.with_columns(pl.Series(name, values, dtype=kind))
        if list(expected.schema.items()) != list(after.schema.items()):
            return f"schema {expected.schema} became {after.schema}"[:400]
        for name in names + list(marks or ()):
            if not expected[name].equals(after[name], check_dtypes=True, null_equal=True):
                return f"column {name!r} differs"
        return None


class Frames:
    """A reader that gives frames of pandas."""

    def __init__(self, name, read):
        self.name, self.read = name, read

    @staticmethod
    def difference(before, after, keep, marks):
        for name, values in (marks or {}).items():
            seen = [None if pd.isna(v) else v for v in after[name]]
            if seen != values:
                return f"added column {name} does not hold what clusters.parquet says"
        if marks:
            after = after.drop(columns=list(marks))
        kept = np.array(keep, dtype=bool)
        expected = before[kept]
        if before.attrs != after.attrs:
            return f"attributes {before.attrs} became {after.attrs}"
        if list(before.columns) != list(after.columns):
            return f"columns {list(before.columns)} became {list(after.columns)}"
        pairs = [(name, expected.iloc[:, i], after.iloc[:, i]) for i, name in enumerate(before.columns)]
        if not isinstance(before.index, pd.RangeIndex):
            # pandas takes the place of rows where its metadata speak of a range.
            pairs.append(("the index", expected.index.to_frame().iloc[:, 0], after.index.to_frame().iloc[:, 0]))
        for name, was, now in pairs:
            if problem := Frames.column_difference(was, now):
                return f"{name}: {problem}"
        return None

    @staticmethod
    def column_difference(was, now):
        if isinstance(was.dtype, pd.CategoricalDtype) and isinstance(now.dtype, pd.CategoricalDtype):
            # A dictionary has no entries of rows that went.
            was, now = was.cat.remove_unused_categories(), now.cat.remove_unused_categories()
            if was.cat.ordered and was.cat.categories.tolist() != now.cat.categories.tolist():
                return f"order {was.cat.categories.tolist()} became {now.cat.categories.tolist()}"[:300]
            if was.cat.ordered != now.cat.ordered or was.cat.categories.dtype != now.cat.categories.dtype:
                return f"{was.dtype} became {now.dtype}"
        elif was.dtype != now.dtype:
            return f"{was.dtype} became {now.dtype}"
        was, now = canonical(was.tolist()), canonical(now.tolist())
        if was == now:
            return None
        if len(was) != len(now):
            return f"{len(was)} rows became {len(now)}"
        at = next(i for i, (a, b) in enumerate(zip(was, now)) if a != b)
        return f"row {at} of the output: {was[at]!r:.100} became {now[at]!r:.100}"


def read_pandas(path):
    return pd.read_parquet(path, engine="pyarrow")


def read_fastparquet(path):
    """Refuses what fastparquet is known to read as something else."""
    file = fastparquet.ParquetFile(path)
    if any("." in name for name in file.dtypes):
        # It gives them the types of other columns where more come after the struct.
        raise NotImplementedError("fields of structs, or names with dots")
    frame = file.to_pandas()
    for name, column in zip(file.dtypes, (frame.get(name) for name in file.dtypes)):
        if name in ("text", "s") and column is not None and column.dtype == object:
            texts = pq.ParquetFile(path).read(columns=[name]).column(0).to_pylist()
            if column.tolist() != texts:
                raise ValueError(f"it reads other values of {name} than pyarrow")
    return frame


def lookups(path, name, count):
    """How many rows have each of some values of `id`, by the engines that skip what bounds and filters rule out."""
    ids = pq.ParquetFile(path).read(columns=["id"]).column(0)
    if not pa.types.is_integer(ids.type):
        return {}
    counts = {}
    for value in range(1003, 1120, 31)[:count]:
        if name == "DuckDB":
            rows = duckdb.connect().execute(f"SELECT count(*) FROM read_parquet(?) WHERE id = {value}", [path]).fetchone()
            counts[value] = rows[0]
        elif name == "DataFusion":
            context = datafusion.SessionContext()
            context.register_parquet("t", path)
            counts[value] = context.sql(f"SELECT id FROM t WHERE id = {value}").count()
        elif name == "Polars":
            counts[value] = pl.scan_parquet(path).filter(pl.col("id") == value).select("id").collect().height
    return counts


READERS = [
    Arrow("pyarrow", read_pyarrow, True), Arrow("arrow-rs", read_arrow_rs, True),
    Arrow("DataFusion", read_datafusion, False), Arrow("DuckDB", read_duckdb, False), Polars(),
    Frames("pandas", read_pandas), Frames("fastparquet", read_fastparquet),
]
