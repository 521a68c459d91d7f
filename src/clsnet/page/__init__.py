"""The verbs of `clsnet.photos` in a browser and over HTTP."""
