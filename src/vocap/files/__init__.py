"""Files: written whole or not at all, tables, JSON, YAML, paths and locks."""
