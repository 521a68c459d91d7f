"""The exception of this package."""


class ClsnetError(ValueError):
    """A problem that a person can fix; the message says in one line what, where and how."""
