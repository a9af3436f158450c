"""The files of the configuration, checked one by one: Snakemake takes the last of two equal keys without a word."""

import sys
from pathlib import Path

from vocap.config import read_files
from vocap.errors import UsageError


def stop(message):
    """End with this message alone, and the status of a wrong call or configuration."""
    print(f"vocap: error: {message}", file=sys.stderr)
    sys.exit(2)


# With --configfile, which every job gets too, the default configuration is not read:
# nothing is merged over it.
SOURCES_FILE, DEFAULT_FILE = (
    Path(workflow.basedir, "config", name) for name in ("sources.yaml", "config.yaml")
)

# Those of the Snakefile, which Snakemake has not read yet, or those of --configfile,
# which it has.
CONFIGFILES = workflow.overwrite_configfiles or [DEFAULT_FILE]

try:
    for path in [SOURCES_FILE, *CONFIGFILES]:
        read_files([path])
except UsageError as error:
    stop(error)
