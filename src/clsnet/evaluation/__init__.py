"""The protocol, the metrics and the store of finished runs."""
