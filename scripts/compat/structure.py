"""An output's footer, indexes, filters and pages against its input's, as they stand in the files."""

import base64
import json

import pyarrow as pa

MARK = b"neardup.annotation"
ARROW, PANDAS, SPARK = b"ARROW:schema", b"pandas", b"org.apache.spark.sql.parquet.row.metadata"
BYTE_ARRAY = 6
DICTIONARY = {2: 8}  # PLAIN_DICTIONARY is RLE_DICTIONARY by its older name.


class Differences(list):
    def equal(self, what, before, after):
        if before != after:
            self.append(f"{what}: {str(before)[:160]} became {str(after)[:160]}")


def compare(before, after, keep, added):
    """What differs between two `Footer`s, where `keep` says which rows stay and `added` which columns are new."""
    found = Differences()
    schema = [dict(element) for element in before.schema]
    schema[0][5] = schema[0].get(5, 0) + len(added)
    # The format gives the root no repetition; some writers do, and no reader looks.
    schema[0].pop(3, None)
    found.equal("schema elements", len(schema) + len(added), len(after.schema))
    for was, now in zip(schema, after.schema):
        found.equal("schema", was, now)
    names = [element[4].decode() for element in after.schema[len(schema) :]]
    found.equal("added columns", list(added), names)
    for number, what in ((1, "version"), (6, "created_by")):
        found.equal(what, before.meta.get(number), after.meta.get(number))
    found.equal("other footer fields", set(before.meta) - {32767} | ({5} if added else set()), set(after.meta))
    orders = before.meta.get(7)
    if orders is not None:
        found.equal("column orders", orders, after.meta.get(7, [])[: len(orders)])
    compare_pairs(found, before.pairs, after.pairs, added)
    compare_groups(found, before, after, keep, added)
    return found


def compare_pairs(found, before, after, added):
    marks = [MARK] if added else []
    found.equal("keys", [key for key, _ in before if key != MARK] + marks, [key for key, _ in after])
    for (key, old), (_, new) in zip(before, after):
        if not added or key not in (ARROW, PANDAS, SPARK):
            found.equal(f"value of {key}", old, new)
        elif key == ARROW:
            old, new = (pa.ipc.read_schema(pa.py_buffer(base64.b64decode(v))) for v in (old, new))
            found.equal("ARROW:schema metadata", old.metadata, new.metadata)
            for i, field in enumerate(old):
                if not field.equals(new.field(i), check_metadata=True):
                    found.append(f"ARROW:schema: {field} became {new.field(i)}")
            found.equal("ARROW:schema, added", list(added), new.names[len(old) :])
        else:
            list_of = "columns" if key == PANDAS else "fields"
            old, new = json.loads(old), json.loads(new)
            fields = new.pop(list_of)
            found.equal(f"{list_of} of {key}", old.pop(list_of), [f for f in fields if f["name"] not in added])
            found.equal(f"{key}, added", list(added), [f["name"] for f in fields if f["name"] in added])
            found.equal(f"the rest of {key}", old, new)


def compare_groups(found, before, after, keep, added):
    written, first = iter(after.groups), 0
    for number, group in enumerate(before.groups):
        kept = sum(keep[first : first + group[3]])
        whole = kept == group[3]
        first += group[3]
        if not kept and not whole:
            continue
        out = next(written, None)
        if out is None:
            found.append(f"row group {number} is missing")
            return
        where = f"row group {number}"
        found.equal(f"{where}: rows", kept, out[3])
        found.equal(f"{where}: sorting columns", group.get(4), out.get(4))
        found.equal(f"{where}: columns", len(group[1]) + len(added), len(out[1]))
        for old, new in zip(group[1], out[1]):
            place = f"{where}, {b'.'.join(old[3][3]).decode()}"
            check = copied if whole else encoded
            check(found, place, before, after, old, new)
        sizes = [sum(chunk[3][7] for chunk in out[1])]
        found.equal(f"{where}: compressed size", sizes, [out.get(6, *sizes)])
    if next(written, None) is not None:
        found.append("more row groups than in the input")


def copied(found, place, before, after, old, new):
    """Every byte is there, and every word about it."""
    found.equal(f"{place}: pages", before.bytes_of(old) == after.bytes_of(new), True)
    a, b = old[3], new[3]
    for number in (1, 3, 4, 5, 6, 7, 13, 16, 17):
        found.equal(f"{place}: field {number} of its metadata", a.get(number), b.get(number))
    found.equal(f"{place}: encodings", set(a[2]), set(b[2]))
    was, now = statistics(a), statistics(b)
    if was is not None and now is not None:
        # Whether bounds are exact may be said where it goes without saying: of types that are never cut short.
        for number in {7, 8} - set(was):
            if not now.get(number) or a[1] != BYTE_ARRAY:
                now.pop(number, None)
    found.equal(f"{place}: statistics", was, now)
    found.equal(f"{place}: Bloom filter", before.bloom(old), after.bloom(new))
    found.equal(f"{place}: column index", before.column_index(old), after.column_index(new))
    found.equal(f"{place}: offset index", before.offset_index(old), after.offset_index(new))


def statistics(meta):
    """Without the obsolete `max` and `min` that have successors."""
    found = meta.get(12)
    if found is None:
        return None
    return {k: v for k, v in found.items() if k > 2 or k + 4 not in found}


def encoded(found, place, before, after, old, new):
    """The same kind of pages, with the same kinds of words about them."""
    a, b = old[3], new[3]
    for number, what in ((1, "type"), (3, "path"), (4, "codec")):
        found.equal(f"{place}: {what}", a.get(number), b.get(number))
    forms = [shape(footer, chunk) for footer, chunk in ((before, old), (after, new))]
    for what, was, now in zip(("page version", "dictionary", "first encoding", "page statistics"), *forms):
        found.equal(f"{place}: {what}", was, now)
    for what, of in (("Bloom filter", lambda f, c: f.bloom(c)), ("column index", lambda f, c: f.column_index(c)),
                     ("offset index", lambda f, c: f.offset_index(c))):
        found.equal(f"{place}: has {what}", of(before, old) is not None, of(after, new) is not None)
    was, now = a.get(12), b.get(12)
    found.equal(f"{place}: has statistics", was is not None, now is not None)
    if was is not None and now is not None:
        wanted = {3, 5, 6} & set(statistics(a)) - ({5, 6} if now.get(3) == b[5] else set())
        if {5, 6} & wanted:
            # One bound never comes without the other from the library that encodes.
            wanted |= {5, 6}
        found.equal(f"{place}: kinds of statistics", sorted(wanted), sorted({3, 5, 6} & set(now)))
    for number, what in ((13, "page encoding statistics"), (16, "size statistics")):
        if number in a and number not in b:
            found.append(f"{place}: {what} are lost")


def shape(footer, chunk):
    data, dictionary = [], False
    for header in footer.pages(chunk):
        if header[1] == 2:
            dictionary = True
        elif header[1] in (0, 3):
            data.append(header)
    if not data:
        return (None, False, None, False)
    versions = {2 if header[1] == 3 else 1 for header in data}
    first = data[0].get(5, data[0].get(8))
    encoding = first[2] if data[0][1] == 0 else first[4]
    kept = any((8 if header[1] == 3 else 5) in header.get(5, header.get(8)) for header in data)
    return (versions, dictionary, DICTIONARY.get(encoding, encoding), kept)


def bounds(path):
    """Where the bounds in the footer are not those of the values."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    found, file = [], pq.ParquetFile(path)
    flat = {i: file.schema.column(i).path for i in range(len(file.schema))}
    tops = file.schema_arrow.names
    if len(set(tops)) != len(tops) or list(flat.values()) != tops:
        return found
    for group in range(file.num_row_groups):
        table = file.read_row_group(group)
        for leaf, name in flat.items():
            column = table.column(leaf)
            kind = column.type
            simple = pa.types.is_integer(kind) or pa.types.is_date32(kind) or pa.types.is_floating(kind)
            noted = file.metadata.row_group(group).column(leaf).statistics
            if not simple or noted is None:
                continue
            if noted.has_null_count and noted.null_count != column.null_count:
                found.append(f"row group {group}, {name}: null count {noted.null_count}")
            if not noted.has_min_max:
                continue
            if pa.types.is_float16(kind):
                column = column.cast(pa.float32())
            values = column.drop_null()
            if pa.types.is_floating(column.type):
                values = values.filter(pc.invert(pc.is_nan(values)))
            real = [pc.min(values).as_py(), pc.max(values).as_py()]
            stored = [noted.min, noted.max]
            if pa.types.is_float16(kind) and isinstance(noted.min, bytes):
                import numpy as np

                stored = [float(np.frombuffer(b, "<f2")[0]) for b in stored]
            if real != stored:
                found.append(f"row group {group}, {name}: bounds {stored}, values {real}")
    return found
