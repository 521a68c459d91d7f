import subprocess
import sys

import numpy as np
import pytest

from clsnet.errors import ClsnetError
from clsnet.extractor.graph import Graph

onnx = pytest.importorskip("onnx")
onnx_reference = pytest.importorskip("onnx.reference")


def run(graph, **inputs):
    onnx.checker.check_model(graph.model(), full_check=True)
    return onnx_reference.ReferenceEvaluator(onnx.load_from_string(graph.serialised())).run(
        None, inputs
    )


def doubled(dtype=np.float32):
    graph = Graph()
    x = graph.input("x", dtype, ("n", 3))
    graph.output("y", graph.node("Mul", x, graph.constant(np.array(2, dtype))), dtype, ("n", 3))
    return graph


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int64, np.uint8])
def test_constants_of_any_type_are_written(dtype):
    x = np.arange(6).reshape(2, 3).astype(dtype)
    [y] = run(doubled(dtype), x=x)
    np.testing.assert_array_equal(y, 2 * x)
    assert y.dtype == dtype


def test_constants_may_lie_in_any_layout():
    graph = Graph()
    matrix = np.arange(6, dtype=np.float32).reshape(2, 3).T
    x = graph.input("x", np.float32, ("n", 3))
    graph.output("y", graph.node("MatMul", x, graph.constant(matrix)), np.float32, ("n", 2))
    np.testing.assert_array_equal(run(graph, x=np.eye(3, dtype=np.float32))[0], matrix)


def test_metadata_is_written():
    model = onnx.load_from_string(doubled().serialised({"classes": '["a"]', "size": "8"}))
    assert {each.key: each.value for each in model.metadata_props} == {
        "classes": '["a"]',
        "size": "8",
    }


def test_shapes_follow_from_the_inputs():
    graph = Graph()
    x = graph.input("x", np.uint8, ("n", 4, 5, 3))
    turned = graph.node("Transpose", x, perm=[0, 3, 1, 2])
    assert graph.shape(x) == ("n", 4, 5, 3)
    assert graph.shape(turned) == ("n", 3, 4, 5)
    with pytest.raises(ClsnetError, match="shape of other does not follow"):
        graph.shape("other")


def test_another_model_is_included_under_other_names():
    graph = Graph()
    x = graph.input("x", np.float32, ("n", 3))
    y = graph.node("Neg", x)
    z = graph.include(doubled().model(), graph.include(doubled().model(), y))
    graph.output("z", z, shape=("n", 3))
    [z] = run(graph, x=np.ones((1, 3), dtype=np.float32))
    np.testing.assert_array_equal(z, [[-4, -4, -4]])


def test_operators_of_other_makers_are_not_included():
    model = doubled().model()
    model.graph.node[0].domain = "other"
    graph = Graph()
    with pytest.raises(ClsnetError, match="cannot include the operator Mul"):
        graph.include(model, graph.input("x", np.float32, ("n", 3)))


def test_no_onnx_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    said = r"a network as a graph needs onnx: pip install 'clsnet\[vision\]'"
    with pytest.raises(ClsnetError, match=said):
        doubled().serialised()


def test_a_graph_is_built_without_onnx():
    code = (
        "import sys; sys.modules['onnx'] = None\n"
        "from clsnet.extractor.graph import Graph\n"
        "graph = Graph(); graph.output('y', graph.node('Neg', graph.input('x', 'float32', (1,))))\n"
        "print([node.operator for node in graph.nodes])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "['Neg', 'Identity']", done.stderr
