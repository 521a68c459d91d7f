"""Sums taken by many workers, on the engine that you have; none of them is a dependency.

Each module has a `summarise` that hands parts of the data to workers and returns the sums of all:
`processes`, `ray`, `dask`, `spark` and `torchrun`. A worker that dies costs the part that it had:
another one takes that over. ``model.learn_sums(...)`` then learns the sums as one task.
"""
