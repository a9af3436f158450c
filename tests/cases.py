"""Tables of cases, each in a YAML file beside the tests that read them."""

from pathlib import Path
from typing import Any

import yaml


def read_cases(test_file: str) -> Any:
    """The content of the file of cases that has the name of this test module."""
    return yaml.safe_load(Path(test_file).with_suffix(".yaml").read_text("utf-8"))
