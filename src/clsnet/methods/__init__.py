"""The compared methods, one small file each. Listing them imports none of them."""

from clsnet.methods.learner import ExtractorLearner, Learner, OrderFree, SelfChecking
from clsnet.methods.options import check_options, known_options
from clsnet.methods.registry import Method, get_method, methods

__all__ = [
    "ExtractorLearner",
    "Learner",
    "Method",
    "OrderFree",
    "SelfChecking",
    "check_options",
    "get_method",
    "known_options",
    "methods",
]
