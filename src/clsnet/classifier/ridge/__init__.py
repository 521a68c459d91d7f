"""Ridge regression from sums alone, and the ridge that suits them."""
