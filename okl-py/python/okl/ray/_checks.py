"""Checks of a cluster before anything is learned: every node has this version of okl and sees the same folder."""

import uuid
from pathlib import Path
from typing import Any

import numpy as np
import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

import okl


def whole_number(name: str, value: Any, least: int, most: int | None = None) -> int:
    """An argument that must be a whole number; true and false are none."""
    fits = isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_))
    if not fits or value < least or (most is not None and value > most):
        upper = "on" if most is None else f"to {most}"
        raise ValueError(f"{name}: found {value!r}, expected a whole number from {least} {upper}")
    return int(value)


def seconds(name: str, value: Any) -> float:
    """An argument that must be a positive time."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not value > 0:
        raise ValueError(f"{name}: found {value!r}, expected a number of seconds above 0")
    return float(value)


def check_nodes(folder: Path) -> None:
    """Refuses a cluster whose nodes have another okl, or do not see the folder.

    A file with a random text is written into the folder, and every node reads it.
    """
    marker, text = folder / f"marker-{uuid.uuid4().hex}", uuid.uuid4().hex
    write_marker(marker, text)
    try:
        answers = ask_nodes(str(marker))
    finally:
        marker.unlink(missing_ok=True)
    wrong = {node: found for node, (found, _) in answers.items() if found != okl.__version__}
    if wrong:
        found = ", ".join(f"{version or 'none'} on node {node}" for node, version in wrong.items())
        raise RuntimeError(
            f"the driver has okl {okl.__version__}, found {found}: install the same version of okl on every node"
        )
    blind = [node for node, (_, seen) in answers.items() if seen != text]
    if blind:
        raise RuntimeError(
            f"path {str(folder)!r} is not shared: a file that the driver wrote there is not seen by node {', '.join(blind)}. "
            "Use a folder on a file system that every node has mounted at the same place."
        )


def write_marker(marker: Path, text: str) -> None:
    marker.write_text(text)


def ask_nodes(marker: str) -> dict[str, tuple[str | None, str | None]]:
    """What each node says: its version of okl, and the text of the file."""

    # A function inside a function is sent as code, so that it runs where another version of okl is installed, or none.
    def look(marker: str) -> tuple[str | None, str | None]:
        from importlib.util import find_spec

        version = None
        if find_spec("okl") is not None:
            import okl

            version = okl.__version__
        try:
            with open(marker) as file:
                return version, file.read()
        except OSError:
            return version, None

    task = ray.remote(look)
    asked = {}
    for node in ray.nodes():
        if node["Alive"]:
            here = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
            name = f"{node['NodeManagerAddress']} ({node['NodeID'][:8]})"
            asked[name] = task.options(scheduling_strategy=here, num_cpus=0).remote(marker)
    answers: dict[str, Any] = dict(zip(asked, ray.get(list(asked.values()))))
    return answers
