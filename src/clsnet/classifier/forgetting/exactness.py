"""Whether something can be forgotten exactly, as if it had never been learned."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from clsnet.classifier.learned_task import LearnedTask
from clsnet.classifier.rule import TOTAL, Rule
from clsnet.classifier.sums import Label


def only_in(tasks: Collection[int], learned: Sequence[LearnedTask]) -> list[Label]:
    """Return the classes of some tasks that no other task has.

    Examples
    --------
    >>> only_in([0], [LearnedTask({"cat": 3, "dog": 2}), LearnedTask({"dog": 1})])
    ['cat']
    """
    others = {c for t, task in enumerate(learned) if t not in tasks for c in task.classes}
    mine = dict.fromkeys(c for t in tasks for c in learned[t].classes)
    return [label for label in mine if label not in others]


def is_exact(
    rule: Rule, learned: Sequence[LearnedTask], tasks: Collection[int], classes: Collection[Label]
) -> bool:
    """Whether the stored sums separate what is to be forgotten from the rest.

    Parameters
    ----------
    rule
        How the model learned.
    learned
        Its tasks.
    tasks, classes
        What is to go.
    """
    if rule.curvature != "full" or 3 in rule.terms:
        return False
    if rule.retain == "classes":
        return set(only_in(tasks, learned)) == {c for t in tasks for c in learned[t].classes}
    if rule.retain == "tasks":
        touched = [task for task in learned if set(task.classes) & set(classes)]
        return all(set(task.classes) <= set(classes) for task in touched)
    return False


def why_not_exact(rule: Rule, tasks: Collection[int]) -> str:
    """Return why something cannot be forgotten exactly, and the alternatives."""
    if rule.curvature != "full":
        why = f"the {rule.curvature} curvature does not keep everything that a task contributed"
    elif 3 in rule.terms:
        why = "the third term of the objective depends on every earlier solution"
    elif rule.retain == TOTAL:
        why = 'the model keeps only one total over all tasks (retain="total")'
    elif rule.retain == "tasks":
        why = "the model keeps one sum per task, and a task holds other classes too"
    else:
        why = "the model keeps one sum per class, and a class of this task was learned in others"
    wanted = "tasks" if tasks else "classes"
    return (
        f"exact forgetting is not available: {why}. Available: forget(..., exact=False), which "
        "removes the classes from every answer but leaves their mark on the shared weights; "
        f'or a model learned with curvature="full" and retain="{wanted}".'
    )
