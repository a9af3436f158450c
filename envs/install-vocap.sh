#!/usr/bin/env bash
# Each environment's post-deploy script is a link to this one: Snakemake runs it inside the new environment, so that
# the rules find the `vocap` command there. VOCAP_SOURCE: the workflow's root (rules/internals.smk).
set -euo pipefail
python -m pip install --no-deps --editable "${VOCAP_SOURCE:-.}"
