"""Ridge regression from sums alone, and the choice of the ridge."""
