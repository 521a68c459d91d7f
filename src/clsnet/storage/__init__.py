"""Files: models with a checked header, atomic writes, locks, and readers that run no code."""
