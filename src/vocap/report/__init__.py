"""Tables, figures and the page."""

REVISION = 25
