"""The `report` section of the configuration."""

from pydantic import BaseModel, ConfigDict, Field


class Report(BaseModel):
    """What the reader sees that no stage computes."""

    model_config = ConfigDict(extra="forbid", strict=True)

    title: str = Field(
        "VoCap: how many subwords does each language deserve?",
        min_length=1,
        description="the page's heading and window title",
    )
