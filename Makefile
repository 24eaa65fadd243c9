# Everything this project does, one target each. `make` lists them.

.DEFAULT_GOAL := help
.PHONY: help test demo bench doc fmt

help: ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

test: ## all that CI runs
	cargo test --workspace

doc: ## the rendered documentation
	cargo doc --no-deps --workspace
