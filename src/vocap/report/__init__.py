"""Tables, figures and the page; the `report` section of the configuration."""

from pydantic import Field

from vocap.section import ConfigSection

REVISION = 36


class Report(ConfigSection):
    """Texts of the page that no stage computes."""

    title: str | None = Field(
        None,
        min_length=1,
        description="the page's heading and window title; without it made of the run's languages "
        "and T",
    )
