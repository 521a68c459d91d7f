"""Tables of finished runs, beside what the paper reports."""
