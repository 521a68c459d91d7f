"""The compared methods, one small file each. Listing them imports none of them."""

from clsnet.methods.learner import ExtractorLearner, Learner, OrderFree
from clsnet.methods.registry import Method, check_options, get_method, methods

__all__ = [
    "ExtractorLearner",
    "Learner",
    "Method",
    "OrderFree",
    "check_options",
    "get_method",
    "methods",
]
