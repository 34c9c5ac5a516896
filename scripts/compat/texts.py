"""Texts with known duplicates, and values of every Arrow type."""

import decimal
import math
import random
import uuid

import numpy as np
import pyarrow as pa

ROWS = 120
WORDS = [
    a + b + c
    for a in ("ba", "ké", "lo", "mu", "ti", "sø", "ra", "vin")
    for b in ("dor", "lan", "mi", "nex", "pul", "ко")
    for c in ("", "s", "ta", "字", "ing")
]
# Row: the row that it repeats. With row groups of 10 rows the last loses all rows, most others none.
EXACT = {**{90 + i: 20 + i for i in range(10)}, **{110 + i: 50 + i for i in range(10)}, 61: 60}
NEAR = {**{100 + i: 40 + i for i in range(5)}, 70: 12}
NULL, EMPTY = 5, 6


def texts(seed, duplicates):
    """120 texts; row 5 is null and row 6 is empty."""
    rng = random.Random(seed)
    rows = [" ".join(rng.choices(WORDS, k=rng.randint(30, 50))) for _ in range(ROWS)]
    rows[NULL], rows[EMPTY] = None, ""
    if duplicates:
        for row, of in EXACT.items():
            rows[row] = rows[of]
        for row, of in NEAR.items():
            rows[row] = f"{rows[of]} {WORDS[row % len(WORDS)]}"
    return rows


def groups():
    """The clusters that `texts` plants, as sets of rows."""
    return sorted([of, row] for row, of in {**EXACT, **NEAR}.items())


def _whole(kind, i):
    if pa.types.is_integer(kind):
        bits, signed = kind.bit_width, pa.types.is_signed_integer(kind)
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
        return (low, high, 0, min(i, high))[i % 4] if i % 5 else i % 100
    if pa.types.is_date64(kind):
        return (i * 37 - 2000) * 86_400_000
    if pa.types.is_date(kind):
        return i * 37 - 2000
    if pa.types.is_time(kind):
        return i * {"s": 700, "ms": 700_001, "us": 700_000_001, "ns": 700_000_000_001}[kind.unit]
    unit = {"s": 1, "ms": 1000, "us": 1_000_000, "ns": 1_000_000_000}[kind.unit]
    return (i - 40) * 40_000_003 * unit + i % unit


def value(kind, i, nulls=True):
    """The value of row `i`; every seventh is null."""
    is_, seed = pa.types, i * 7919
    if is_.is_null(kind) or (nulls and i % 7 == 3):
        return None
    if is_.is_boolean(kind):
        return i % 3 == 0
    if is_.is_integer(kind) or is_.is_temporal(kind):
        return _whole(kind, i)
    if is_.is_floating(kind):
        number = (math.nan, -0.0, 0.0, math.inf, -math.inf, i / 3, -i * 1.5)[i % 7]
        return np.float16(number) if is_.is_float16(kind) else number
    if is_.is_decimal(kind):
        digits = str(seed**20 + 1)[: kind.precision]
        return decimal.Decimal(digits if i % 2 else "-" + digits).scaleb(-kind.scale, decimal.Context(prec=100))
    if is_.is_fixed_size_binary(kind):
        return bytes((seed + j) % 256 for j in range(kind.byte_width))
    if is_.is_string(kind) or is_.is_large_string(kind) or is_.is_string_view(kind):
        return ("", "naïve 文字 \0 end", f"row {i % 11}", "x" * (i * 3))[i % 4]
    if is_.is_binary(kind) or is_.is_large_binary(kind) or is_.is_binary_view(kind):
        return bytes((0xFF, i, 0)) * (i % 40)
    if is_.is_struct(kind):
        return {f.name: value(f.type, i + 1 + k, f.nullable) for k, f in enumerate(kind)}
    if is_.is_map(kind):
        return [(value(kind.key_type, 100 * i + j, False), value(kind.item_type, i + j)) for j in range(i % 4)]
    if is_.is_fixed_size_list(kind):
        return [value(kind.value_type, i + j) for j in range(kind.list_size)]
    if is_.is_list(kind) or is_.is_large_list(kind):
        return [value(kind.value_type, i + j, kind.value_field.nullable) for j in range(i % 5)]
    raise TypeError(kind)


def array(kind, nulls=True):
    """A column of 120 rows."""
    if isinstance(kind, pa.BaseExtensionType):
        if kind == pa.uuid():
            made = [None if i % 7 == 3 else uuid.UUID(int=i * 7**40 % 2**128).bytes for i in range(ROWS)]
        elif kind.storage_type == pa.string():
            made = [None if i % 7 == 3 else f'{{"a": {i}, "b": [1, "ü"]}}' for i in range(ROWS)]
        else:
            return pa.ExtensionArray.from_storage(kind, array(kind.storage_type, nulls))
        return pa.ExtensionArray.from_storage(kind, pa.array(made, kind.storage_type))
    if pa.types.is_dictionary(kind):
        codes = pa.array([None if nulls and i % 7 == 3 else i % 3 for i in range(ROWS)], kind.index_type)
        entries = pa.array([value(kind.value_type, i, False) for i in (1, 2, 6)], kind.value_type)
        return pa.DictionaryArray.from_arrays(codes, entries, ordered=kind.ordered)
    return pa.array([value(kind, i, nulls) for i in range(ROWS)], kind)


def table(texts, kinds, text_type=pa.string(), text="text", required=()):
    """Columns `id`, `text` and one of each of `kinds`, a dict of types by name."""
    fields = [pa.field("id", pa.int64(), nullable=False), pa.field(text, text_type)]
    columns = [pa.array(range(1000, 1000 + ROWS), pa.int64()), text_array(texts, text_type)]
    for name, kind in kinds.items():
        columns.append(array(kind, name not in required))
        fields.append(pa.field(name, kind, nullable=name not in required))
    return pa.table(columns, schema=pa.schema(fields))


def text_array(texts, kind):
    if pa.types.is_dictionary(kind):
        return pa.array(texts).dictionary_encode().cast(kind)
    if "binary" in str(kind):
        return pa.array([None if t is None else t.encode() for t in texts], kind)
    return pa.array(texts, kind)


WHOLE = {
    "bool": pa.bool_(), "i8": pa.int8(), "i16": pa.int16(), "i32": pa.int32(), "i64": pa.int64(),
    "u8": pa.uint8(), "u16": pa.uint16(), "u32": pa.uint32(), "u64": pa.uint64(),
}
REAL = {"f16": pa.float16(), "f32": pa.float32(), "f64": pa.float64()}
DAYS = {
    "d32": pa.date32(), "d64": pa.date64(), "t_s": pa.time32("s"), "t_ms": pa.time32("ms"), "t_us": pa.time64("us"),
    "t_ns": pa.time64("ns"),
}
STAMPS = {
    f"ts_{unit}_{zone}": pa.timestamp(unit, zone)
    for unit in ("s", "ms", "us", "ns")
    for zone in (None, "UTC", "Europe/Berlin", "+05:30")
}
SPANS = {f"dur_{unit}": pa.duration(unit) for unit in ("s", "ms", "us", "ns")}
DECIMALS = {
    "dec_5": pa.decimal128(5, 2), "dec_9": pa.decimal128(9, 0), "dec_18": pa.decimal128(18, 4),
    "dec_38": pa.decimal128(38, 10), "dec_50": pa.decimal256(50, 3), "dec_76": pa.decimal256(76, 20),
    "dec32": pa.decimal32(7, 2), "dec64": pa.decimal64(15, 5),
}
STRINGS = {
    "s": pa.string(), "ls": pa.large_string(), "sv": pa.string_view(), "b": pa.binary(), "lb": pa.large_binary(),
    "bv": pa.binary_view(), "fixed": pa.binary(7), "one": pa.binary(1),
}
DICTIONARIES = {
    "di8": pa.dictionary(pa.int8(), pa.string()), "di32": pa.dictionary(pa.int32(), pa.large_string()),
    "ordered": pa.dictionary(pa.int16(), pa.string(), ordered=True), "dint": pa.dictionary(pa.int32(), pa.int64()),
}
LISTS = {
    "l_int": pa.list_(pa.int32()), "l_str": pa.list_(pa.string()), "ll": pa.list_(pa.list_(pa.int16())),
    "large": pa.large_list(pa.float64()), "fsl": pa.list_(pa.float32(), 3),
    "l_required": pa.list_(pa.field("element", pa.int64(), nullable=False)),
    "l_dec": pa.list_(pa.decimal128(20, 2)), "l_ts": pa.list_(pa.timestamp("us", "UTC")),
}
PAIR = pa.struct([pa.field("a", pa.int32(), nullable=False), pa.field("text", pa.string())])
STRUCTS = {
    "st": PAIR, "deep": pa.struct([("x", pa.struct([("y", pa.struct([("z", pa.list_(pa.string()))]))]))]),
    "l_st": pa.list_(PAIR), "st_l": pa.struct([("v", pa.list_(PAIR)), ("w", pa.bool_())]),
}
MAPS = {
    "m": pa.map_(pa.string(), pa.int32()), "m_int": pa.map_(pa.int64(), pa.string()),
    "m_st": pa.map_(pa.string(), PAIR), "m_l": pa.map_(pa.string(), pa.list_(pa.int32())),
    "mm": pa.map_(pa.string(), pa.map_(pa.string(), pa.float64())),
}
EXTENSIONS = {"uuid": pa.uuid(), "json": pa.json_(), "bool8": pa.bool8()}
NULLS = {"nothing": pa.null(), "l_null": pa.list_(pa.null())}
FLAT = {"flag": pa.bool_(), "i32": pa.int32(), "i64": pa.int64(), "f64": pa.float64(), "s": pa.string(), "d": pa.date32()}
