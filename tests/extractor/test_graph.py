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
    said = r"a network as a graph needs onnx: pip install 'clsnet\[export\]'"
    with pytest.raises(ClsnetError, match=said):
        doubled().model()


def test_the_bytes_are_those_that_onnx_writes():
    helper, graph = onnx.helper, Graph()
    x = graph.input("x", np.float32, ("n", 3, 300))
    matrix = np.arange(90_000, dtype=np.float32).reshape(300, 300)
    y = graph.node("MatMul", x, graph.constant(matrix))
    options = {"axis": -1, "alpha": 0.5, "mode": "cubic", "axes": [0, -1], "scales": [0.5, 2.0]}
    options |= {"names": ["a", "é"]}
    graph.output("y", graph.node("Any", y, "", **options), shape=("n", 3, 300))
    graph.output("z", y)
    nodes = [
        helper.make_node("MatMul", ["x", "c1"], ["v2"]),
        helper.make_node("Any", ["v2", ""], ["v3"], **options),
        helper.make_node("Identity", ["v3"], ["y"]),
        helper.make_node("Identity", ["v2"], ["z"]),
    ]
    shape, kind = ("n", 3, 300), onnx.TensorProto.FLOAT
    expected = helper.make_model(
        helper.make_graph(
            nodes,
            "clsnet",
            [helper.make_tensor_value_info("x", kind, shape)],
            [
                helper.make_tensor_value_info("y", kind, shape),
                helper.make_tensor_value_info("z", kind, None),
            ],
            [onnx.numpy_helper.from_array(matrix, "c1")],
        ),
        opset_imports=[helper.make_opsetid("", 18)],
        ir_version=9,
    )
    helper.set_model_props(expected, {"size": "8", "é": "1"})
    found = onnx.load_from_string(graph.serialised({"size": "8", "é": "1"}))
    assert found == expected
    assert graph.serialised({"size": "8", "é": "1"}) == found.SerializeToString()


def test_a_tensor_among_the_options_of_an_included_model_is_kept():
    helper, value = onnx.helper, onnx.numpy_helper.from_array(np.full(3, 2, np.float32))
    shape, kind = ("n", 3), onnx.TensorProto.FLOAT
    nodes = [
        helper.make_node("Constant", [], ["two"], value=value),
        helper.make_node("Mul", ["x", "two"], ["y"]),
    ]
    ends = (helper.make_tensor_value_info(name, kind, shape) for name in "xy")
    x, y = ([end] for end in ends)
    graph = Graph()
    images = graph.input("images", np.float32, shape)
    included = graph.include(helper.make_model(helper.make_graph(nodes, "g", x, y)), images)
    graph.output("twice", included, shape=shape)
    [found] = run(graph, images=np.ones((1, 3), np.float32))
    np.testing.assert_array_equal(found, [[2, 2, 2]])


def test_a_graph_is_written_without_onnx():
    code = (
        "import sys; sys.modules['onnx'] = None\n"
        "from clsnet.extractor.graph import Graph\n"
        "graph = Graph(); graph.output('y', graph.node('Neg', graph.input('x', 'float32', (1,))))\n"
        "print(len(graph.serialised()) > 20)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "True", done.stderr
