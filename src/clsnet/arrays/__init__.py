"""Arrays of NumPy on a CPU and of torch on a GPU, under one set of names."""
