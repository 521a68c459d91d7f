"""Computing sums with many workers, on the engine that you have; none is a dependency.

Each module (`processes`, `ray`, `dask`, `spark` and `torchrun`) has a function `summarise` that
hands parts of the data to workers and returns the sums of all. If a worker dies, another one
repeats its part. ``model.learn_sums(...)`` then learns the sums as one task.
"""
