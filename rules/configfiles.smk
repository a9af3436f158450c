"""The files of the configuration, checked one by one: Snakemake takes the last of two equal keys without a word."""

import sys
from pathlib import Path

from vocap.config import read_files
from vocap.errors import UsageError


def stop(message):
    """End with this message alone, and the status of a wrong call or configuration."""
    print(f"vocap: error: {message}", file=sys.stderr)
    sys.exit(2)


# Those of the Snakefile, which Snakemake has not read yet, and those of --configfile, which it has.
try:
    for path in ["config/sources.yaml", "config/config.yaml", *workflow.overwrite_configfiles]:
        if Path(path).exists():  # Snakemake says it best
            read_files([path])
except UsageError as error:
    stop(error)
