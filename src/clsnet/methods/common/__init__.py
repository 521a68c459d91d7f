"""The compared methods, one small file each; a module with a `METHOD` is found by itself."""
