"""How long tests wait for what must happen: longer than any busy machine takes, so that only a fault reaches it."""

PATIENCE = 240.0
