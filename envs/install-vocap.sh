#!/usr/bin/env bash
# Each environment's post-deploy script is a link to this one: Snakemake runs it inside the new environment, from the
# workflow's root, so that the rules find the `vocap` command there.
set -euo pipefail
python -m pip install --no-deps --editable .
