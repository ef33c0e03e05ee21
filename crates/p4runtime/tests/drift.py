"""Prints the schema of the PyPI package `p4runtime`, one line per field, enum value and method.

tests/drift.rs prints the same lines from our descriptors and compares. Exit status 77 means that
the package is not installed.
"""

import os
import sys

# The package's generated code is of the old style, which only the pure-Python runtime loads.
os.environ["PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"] = "python"

try:
    from google.rpc import status_pb2
    from importlib.metadata import version
    from p4.config.v1 import p4info_pb2, p4types_pb2
    from p4.v1 import p4data_pb2, p4runtime_pb2
except ImportError as missing:
    print(missing, file=sys.stderr)
    sys.exit(77)

# FieldDescriptor.type as proto spells it.
TYPES = {
    1: "double", 2: "float", 3: "int64", 4: "uint64", 5: "int32", 6: "fixed64", 7: "fixed32",
    8: "bool", 9: "string", 12: "bytes", 13: "uint32", 15: "sfixed32", 16: "sfixed64",
    17: "sint32", 18: "sint64",
}


def is_repeated(field):
    try:
        return field.is_repeated
    except AttributeError:
        return field.label == field.LABEL_REPEATED


def enum(descriptor):
    for value in descriptor.values:
        print("value", descriptor.full_name, value.name, value.number)


def message(descriptor):
    print("message", descriptor.full_name)
    for field in descriptor.fields:
        of = field.message_type or field.enum_type
        print(
            "field",
            field.full_name,
            field.number,
            "repeated" if is_repeated(field) else "single",
            of.full_name if of else TYPES[field.type],
            field.containing_oneof.name if field.containing_oneof else "-",
        )
    for nested in descriptor.enum_types:
        enum(nested)
    for nested in descriptor.nested_types:
        message(nested)


print("version", version("p4runtime"))
for module in (p4runtime_pb2, p4data_pb2, p4info_pb2, p4types_pb2, status_pb2):
    file = module.DESCRIPTOR
    for item in file.message_types_by_name.values():
        message(item)
    for item in file.enum_types_by_name.values():
        enum(item)
    for service in file.services_by_name.values():
        for method in service.methods:
            print("method", method.full_name, method.input_type.full_name, method.output_type.full_name)
