"""Weights of columns from the gradient of f: an experiment. protocol.py says what is measured, record.jsonl has every run."""
