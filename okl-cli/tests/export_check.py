"""Runs exported models in onnxruntime and LIBSVM and compares them with the learner's own scores.

Usage: export_check.py FOLDER, written by tests/export.rs. Needs onnxruntime and numpy; with the package `libsvm-official` LIBSVM is asked too, with
`onnx` the graphs are checked against the standard, with `svm-predict` on the path LIBSVM's program is asked too.
"""

import json
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import onnxruntime

try:
    from libsvm import svmutil
except ImportError:
    svmutil = None

try:
    import onnx
except ImportError:
    onnx = None

TOLERANCE = 1e-5


def check(condition, name, what):
    if not condition:
        sys.exit(f"{name}: {what}")


def off(found, expected):
    """The largest difference, in units of what is allowed."""
    return float(np.max(np.abs(found - expected) / (TOLERANCE * np.maximum(1, np.abs(expected)))))


def clear(case, scores):
    """The rows whose decision does not hang on the last digits."""
    if case["reads"] == "Class":
        ordered = np.sort(scores, axis=1)
        gap = ordered[:, -1] - ordered[:, -2]
        return (gap > 3 * TOLERANCE) | (gap == 0)
    gap = np.abs(scores[:, 0] - (case["threshold"] or 0))
    return (gap > 3 * TOLERANCE) | (gap == 0)


def check_graph(path, case):
    if onnx is None:
        return
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    check({o.domain for o in model.opset_import} == {""}, case["name"], "operators outside the standard")
    check(model.producer_name == "okl", case["name"], "another producer")


def run_onnx(folder, case, x, scores):
    """Scores and decisions of onnxruntime; returns how far off the scores are."""
    path, name = folder / f"{case['name']}.onnx", case["name"]
    check_graph(path, case)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    check_metadata(session.get_modelmeta().custom_metadata_map, case)
    outputs = {o.name: v for o, v in zip(session.get_outputs(), session.run(None, {"x": x}))}
    found = outputs["scores"]
    check(found.dtype == np.float64 and found.shape == scores.shape, name, f"scores are {found.dtype} {found.shape}")
    decisions = outputs.get("label", outputs.get("novel"))
    check((decisions is None) == (case["decisions"] is None), name, "a decision is missing or too many")
    if decisions is not None:
        sure = clear(case, scores)
        expected = answered(case, case["decisions"])
        check(decisions.dtype == expected.dtype, name, f"decisions are {decisions.dtype}, not {expected.dtype}")
        check(np.array_equal(decisions[sure], expected[sure]), name, "decisions differ")
        if case["reads"] == "Class":
            check(np.array_equal(decisions, answered(case, found.argmax(axis=1))), name, "ties do not go to the earlier class")
    alone = session.run(["scores"], {"x": x[:1]})[0]
    check(off(alone, scores[:1]) <= 1, name, "one row alone has another score")
    return off(found, scores)


def answered(case, decisions):
    """The labels behind indices: numbers if all labels are, else text; for novelty truth values."""
    if case["answers"] is None:
        return np.array(decisions) == 1
    whole = all(isinstance(label, int) for label in case["answers"])
    labels = np.array(case["answers"], dtype=np.int64) if whole else np.array([str(label) for label in case["answers"]], dtype=object)
    return labels[np.array(decisions, dtype=int)]


def check_metadata(found, case):
    check(json.loads(found["okl.config"]) == case["config"], case["name"], "another configuration")
    check(json.loads(found.get("okl.classes", "[]")) == case["classes"], case["name"], "other classes")
    check(float(found.get("okl.threshold", "nan")) == case["threshold"] or case["threshold"] is None, case["name"], "another threshold")


def svm_answers(case, decisions):
    if case["reads"] == "Sign":
        above, below = case["labels"]
        return np.where(np.array(decisions) == 1, above, below)
    return np.where(np.array(decisions) == 1, -1, 1)


def run_libsvm(folder, case, x, scores):
    """Decisions of LIBSVM's library and program; returns how far off the scores are."""
    name, path = case["name"], folder / f"{case['name']}.libsvm"
    model = svmutil.svm_load_model(str(path))
    check(model is not None, name, "LIBSVM cannot load the text")
    rows = [{j + 1: float(v) for j, v in enumerate(row)} for row in x]
    labels, _, values = svmutil.svm_predict([], rows, model, "-q")
    found = np.array(values, dtype=float).reshape(-1, 1) + (case["threshold"] or 0)
    check_svm_labels(case, labels, scores, "LIBSVM")
    check_svm_labels(case, svm_predict_program(folder, path, rows, name), scores, "svm-predict")
    return off(found, scores)


def check_svm_labels(case, labels, scores, who):
    if labels is None:
        return
    labels = np.array(labels, dtype=float)
    if case["decisions"] is None:
        check(off(labels, scores[:, 0]) <= 1, case["name"], f"{who} predicts other numbers")
        return
    # Of two ways to treat a score that equals the threshold LIBSVM has the other one, for novelty only.
    sure = clear(case, scores)
    expected = svm_answers(case, case["decisions"])
    check(np.array_equal(labels[sure], expected[sure]), case["name"], f"{who} predicts other labels")


def svm_predict_program(folder, model, rows, name):
    if shutil.which("svm-predict") is None:
        return None
    data, out = folder / f"{name}.data", folder / f"{name}.out"
    data.write_text("".join("0 " + " ".join(f"{j}:{v!r}" for j, v in row.items()) + "\n" for row in rows))
    subprocess.run(["svm-predict", "-q", data, model, out], check=True, stdout=subprocess.DEVNULL)
    return [float(line) for line in out.read_text().split()]


def main():
    folder = pathlib.Path(sys.argv[1])
    worst, counts = {"onnxruntime": (0.0, ""), "LIBSVM": (0.0, "")}, {"onnxruntime": 0, "LIBSVM": 0}
    for case in json.loads((folder / "cases.json").read_text()):
        x = np.fromfile(folder / f"{case['name']}.x", dtype="<f8").reshape(-1, case["features"])
        scores = np.fromfile(folder / f"{case['name']}.scores", dtype="<f8").reshape(-1, case["outputs"])
        runs = [("onnxruntime", run_onnx)] + ([("LIBSVM", run_libsvm)] if case["libsvm"] and svmutil else [])
        for program, run in runs:
            error = run(folder, case, x, scores)
            check(error <= 1, case["name"], f"{program} is {error:.2f} times the allowed difference off")
            worst[program] = max(worst[program], (error, case["name"]))
            counts[program] += 1
    missing = {"libsvm-official": svmutil, "onnx": onnx, "svm-predict": shutil.which("svm-predict")}
    for program in (program for program, found in missing.items() if not found):
        print(f"skipped: {program} is not installed: exported models are not checked with it", file=sys.stderr)
    extras = [f"onnx {onnx.__version__}" if onnx else "without onnx.checker", "svm-predict" if shutil.which("svm-predict") else "without svm-predict"]
    for program, (error, name) in worst.items():
        print(f"{program}: {counts[program]} models, at most {error:.3f} of the allowed difference off ({name})")
    print(f"onnxruntime {onnxruntime.__version__}, {', '.join(extras)}")


main()
