"""Tables, figures and the page; the `report` section of the configuration."""

from pydantic import BaseModel, ConfigDict, Field

REVISION = 30


class Report(BaseModel):
    """Texts of the page that no stage computes."""

    model_config = ConfigDict(extra="forbid", strict=True)

    title: str | None = Field(
        None,
        min_length=1,
        description="the page's heading and window title; without it made of the run's languages "
        "and T",
    )
