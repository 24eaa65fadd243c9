"""A model file as numpy arrays: a safetensors file, whose checksum is xxh3_64 over all its bytes with the checksum set to 0."""

import json
import struct
from typing import Any

import numpy as np

from okl._okl import xxh3_64

TYPES = {"F32": "<f4", "F64": "<f8", "U64": "<u8", "U32": "<u4", "U8": "u1"}


class ModelFile:
    """The tensors of a model file."""

    def __init__(self, data: bytes):
        (length,) = struct.unpack("<Q", data[:8])
        header = json.loads(data[8 : 8 + length])
        self.about = header.pop("__metadata__")
        self.names: dict[str, list[str]] = json.loads(self.about["okl"])["scalars"]
        self.types = {name: entry["dtype"] for name, entry in header.items()}
        self.tensors: dict[str, np.ndarray] = {}
        for name, entry in header.items():
            first, last = (8 + length + at for at in entry["data_offsets"])
            values = np.frombuffer(data[first:last], TYPES[entry["dtype"]])
            self.tensors[name] = values.reshape(entry["shape"]).copy()

    @property
    def has_weights(self) -> bool:
        """Whether f has one coefficient per feature (or random feature), and no terms."""
        return not self.tensors["births"].size and bool(self.tensors["head.columns"].size)

    def indicators(self) -> list[int]:
        """The columns whose missing values have an indicator, in the order of these features."""
        position = bytes(self.tensors["position"]) or b"{}"
        schema = (json.loads(position) if position[:1] == b"{" else {}).get("schema") or {}
        features = schema.get("features")
        named = features.get("named", []) if isinstance(features, dict) else []
        columns = [feature["column"] for feature in named if feature.get("part") is None]
        return [columns.index(feature["column"]) for feature in named if feature.get("part") == "missing"]

    def get(self, name: str, tensor: str = "head.scalars") -> float:
        return float(self.tensors[tensor][self.names[tensor].index(name)])

    def put(self, tensor: str, name: str, value: Any) -> None:
        self.tensors[tensor][self.names[tensor].index(name)] = value

    def columns(self) -> np.ndarray:
        """The coefficients, (outputs, terms or features)."""
        stored = self.tensors["head.columns"]
        if not stored.size:  # A model without terms has no columns in its file.
            return np.zeros((self.tensors["head.offsets"].shape[1], 0))
        return np.asarray(stored * self.get("scale.f"))

    def set_columns(self, columns: np.ndarray) -> None:
        self.tensors["head.columns"] = columns
        self.put("head.scalars", "scale.f", 1.0)

    def packed(self) -> bytes:
        """The file, in the order of the tensors that was read."""
        header: dict[str, Any] = {"__metadata__": self.about}
        body, at, checksum = b"", 0, 0
        for name, values in self.tensors.items():
            raw = b"\0" * 8 if name == "checksum" else values.astype(TYPES[self.types[name]]).tobytes()
            checksum = at if name == "checksum" else checksum
            header[name] = {
                "dtype": self.types[name],
                "shape": list(values.shape),
                "data_offsets": [at, at + len(raw)],
            }
            body, at = body + raw, at + len(raw)
        text = json.dumps(header, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)
        data = struct.pack("<Q", len(text)) + text + body
        place = 8 + len(text) + checksum
        return data[:place] + struct.pack("<Q", xxh3_64(data)) + data[place + 8 :]
