"""Tables, figures and the page."""

REVISION = 24
