"""The package's one exception."""


class ClsnetError(ValueError):
    """Something a person can put right; the message says what, where and how, in one line."""
