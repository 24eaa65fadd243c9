"""okl with nothing set beside other stream learners: definition.toml says what is run, record.jsonl has every run."""
