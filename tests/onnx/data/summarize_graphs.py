"""Writes graphs.json: what the onnx package finds in each file of tests/data/graphs.

    python3 tests/onnx/data/summarize_graphs.py        (in an environment with the onnx package)

tests/onnx/graphs_test.cc makes the same summary with Narthex's reader. `content` is the sha256 of a text that holds
every name, attribute and tensor of the main graph in file order, with floats as the hexadecimal digits of their bits.
"""

import collections
import hashlib
import json
import pathlib
import struct

import numpy as np
import onnx
from onnx import AttributeProto, numpy_helper

HERE = pathlib.Path(__file__).resolve().parent
GRAPHS = HERE.parents[1] / "data" / "graphs"


def float_bits(value):
    return struct.pack(">f", value).hex()


def tensor_text(tensor):
    payload = np.ascontiguousarray(numpy_helper.to_array(tensor)).tobytes()
    dims = ",".join(str(d) for d in tensor.dims)
    return f"tensor {tensor.name} {tensor.data_type} [{dims}] {hashlib.sha256(payload).hexdigest()}"


def attribute_text(attribute):
    kind = AttributeProto.AttributeType.Name(attribute.type)
    value = {
        "FLOAT": lambda: float_bits(attribute.f),
        "INT": lambda: str(attribute.i),
        "STRING": lambda: attribute.s.hex(),
        "TENSOR": lambda: tensor_text(attribute.t),
        "GRAPH": lambda: "{\n" + graph_text(attribute.g) + "}",
        "FLOATS": lambda: ",".join(float_bits(v) for v in attribute.floats),
        "INTS": lambda: ",".join(str(v) for v in attribute.ints),
        "STRINGS": lambda: ",".join(v.hex() for v in attribute.strings),
    }[kind]()
    return f"  {attribute.name} {kind} {value}"


def dim_text(dim):
    which = dim.WhichOneof("value")
    return "?" if which is None else str(getattr(dim, which))


def value_text(kind, value):
    tensor = value.type.tensor_type
    shape = ",".join(dim_text(d) for d in tensor.shape.dim) if tensor.HasField("shape") else "any"
    return f"{kind} {value.name} {tensor.elem_type} [{shape}]"


def graph_text(graph):
    lines = [f"graph {graph.name}"]
    for node in graph.node:
        lines.append(f"node {node.name} {node.domain}:{node.op_type} ({','.join(node.input)}) -> ({','.join(node.output)})")
        lines += [attribute_text(a) for a in node.attribute]
    lines += [tensor_text(t) for t in graph.initializer]
    lines += [value_text("input", v) for v in graph.input]
    lines += [value_text("output", v) for v in graph.output]
    lines += [value_text("value", v) for v in graph.value_info]
    return "\n".join(lines) + "\n"


def summary(path):
    model = onnx.load(path)
    ops = collections.Counter(node.op_type for node in model.graph.node)
    return {
        "ir_version": model.ir_version,
        "opsets": {o.domain: o.version for o in model.opset_import},
        "producer": f"{model.producer_name} {model.producer_version}",
        "functions": len(model.functions),
        "metadata": len(model.metadata_props),
        "nodes": dict(sorted(ops.items())),
        "initializers": len(model.graph.initializer),
        "inputs": [v.name for v in model.graph.input],
        "outputs": [v.name for v in model.graph.output],
        "content": hashlib.sha256(graph_text(model.graph).encode()).hexdigest(),
    }


if __name__ == "__main__":
    result = {path.name: summary(path) for path in sorted(GRAPHS.glob("*.onnx"))}
    (HERE / "graphs.json").write_text(json.dumps(result, indent=1) + "\n")
    print(f"{len(result)} graphs summarised")
