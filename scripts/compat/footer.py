"""Parquet's footers, indexes and page headers as plain dicts of Thrift field numbers.

No reader's own view of the metadata is trusted here: what a library leaves out of its API would be left out of the
comparison as well. The numbers are those of parquet.thrift.
"""

import struct

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)


class Compact:
    """Thrift's compact protocol."""

    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def varint(self):
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def zigzag(self):
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def take(self, length):
        self.at += length
        return bytes(self.data[self.at - length : self.at])

    def value(self, kind):
        if kind in (I16, I32, I64):
            return self.zigzag()
        if kind == BYTE:
            return self.take(1)[0]
        if kind == DOUBLE:
            return struct.unpack("<d", self.take(8))[0]
        if kind == BINARY:
            return self.take(self.varint())
        if kind in (LIST, SET):
            head = self.take(1)[0]
            count = head >> 4 if head >> 4 < 15 else self.varint()
            kind = head & 15
            if kind in (TRUE, FALSE):
                return [self.take(1)[0] == TRUE for _ in range(count)]
            return [self.value(kind) for _ in range(count)]
        if kind == STRUCT:
            return self.struct()
        raise ValueError(f"a Thrift field of type {kind}")

    def struct(self):
        fields, number = {}, 0
        while head := self.take(1)[0]:
            number = number + (head >> 4) if head >> 4 else self.zigzag()
            kind = head & 15
            fields[number] = kind == TRUE if kind in (TRUE, FALSE) else self.value(kind)
        return fields


class Footer:
    """A file's bytes, its footer, and what the footer points to."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        length = int.from_bytes(self.data[-8:-4], "little")
        self.meta = Compact(self.data, len(self.data) - 8 - length).struct()
        self.schema = self.meta[2]
        self.groups = self.meta[4]
        self.pairs = [(pair[1], pair.get(2)) for pair in self.meta.get(5, [])]

    def bytes_of(self, chunk):
        """The pages of a column chunk."""
        meta = chunk[3]
        start = meta[9]
        if 0 < meta.get(11, 0) < start:
            start = meta[11]
        return self.data[start : start + meta[7]]

    def pages(self, chunk):
        """The headers of its pages."""
        data, at, headers = self.bytes_of(chunk), 0, []
        while at < len(data):
            reader = Compact(data, at)
            headers.append(reader.struct())
            at = reader.at + headers[-1][3]
        return headers

    def column_index(self, chunk):
        return self._index(chunk, 6, 7)

    def offset_index(self, chunk):
        """With positions from the start of the column chunk."""
        index = self._index(chunk, 4, 5)
        if index is None:
            return None
        first = chunk[3][9]
        moved = [{**page, 1: page[1] - first} for page in index[1]]
        return {**index, 1: moved}

    def bloom(self, chunk):
        """The bytes of its Bloom filter."""
        offset = chunk[3].get(14)
        if not offset:
            return None
        reader = Compact(self.data, offset)
        header = reader.struct()
        return self.data[offset : reader.at + header[1]]

    def _index(self, chunk, offset, length):
        if not chunk.get(length):
            return None
        return Compact(self.data, chunk[offset]).struct()
