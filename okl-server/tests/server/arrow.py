"""Writes the Arrow streams of fuzz/corpus/server_arrow, with pyarrow: python3 arrow.py FOLDER."""

import sys
from pathlib import Path

import pyarrow as pa

folder = Path(sys.argv[1])


def write(name, table, rows=None, **options):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as stream:
        stream.write_table(table, max_chunksize=rows)
    (folder / name).write_bytes(sink.getvalue().to_pybytes())


numbers = [-1, 2, 3]
types = {f"i{bits}": pa.array(numbers, getattr(pa, f"int{bits}")()) for bits in (8, 16, 32, 64)}
types |= {f"u{bits}": pa.array([250, 0, 7], getattr(pa, f"uint{bits}")()) for bits in (8, 16, 32, 64)}
types |= {"f32": pa.array([0.5, -2.25, 1e10], pa.float32()), "f64": pa.array([0.1, -1e300, 3.0])}
types |= {"flag": pa.array([True, False, True]), "day": pa.array([1, 2, 3], pa.date32())}
write("types", pa.table(types))
text = {"x": [1.5, None, 3.5, 4.5, 5.5], "y": ["cat", "dög", None, "", "cat"], "w": [1, 2, 3, 4, 5], "k": [9, 8, 7, 6, 5]}
write("batches", pa.table(text), rows=2)
write("large", pa.table({"x": [1.0], "y": pa.array(["a"], pa.large_string()), "b": [False]}))
write("dictionary", pa.table({"x": [1.0], "y": pa.array(["a"]).dictionary_encode()}))
write("compressed", pa.table({"x": [1.0] * 100}), compression="zstd")
write("nested", pa.table({"x": [[1.0]]}))
write("empty", pa.table({"x": pa.array([], pa.float64())}))
