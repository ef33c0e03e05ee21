"""Runs a controller of the exercise `p4runtime`: launch.py CONTROLLER.

The exercise's library wraps a program for BMv2 in the message `P4DeviceConfig`, whose module comes with BMv2 and not with PyPI's
`p4runtime`. Where it is missing it is made here, from the two fields that the library sets.
"""

import runpy
import sys
import types
from os.path import dirname


def device_config():
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    field = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(
        name="p4/tmp/p4config.proto", package="p4.tmp", syntax="proto3"
    )
    message = file.message_type.add(name="P4DeviceConfig")
    for name, number, kind in (("reassign", 1, field.TYPE_BOOL), ("device_data", 3, field.TYPE_BYTES)):
        message.field.add(name=name, number=number, type=kind, label=field.LABEL_OPTIONAL)
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    descriptor = pool.FindMessageTypeByName("p4.tmp.P4DeviceConfig")
    if hasattr(message_factory, "GetMessageClass"):
        return message_factory.GetMessageClass(descriptor)
    # Before protobuf 4.22.
    return message_factory.MessageFactory(pool).GetPrototype(descriptor)


def main():
    controller = sys.argv[1]
    try:
        from p4.tmp import p4config_pb2  # noqa: F401
    except ImportError:
        package, module = types.ModuleType("p4.tmp"), types.ModuleType("p4.tmp.p4config_pb2")
        module.P4DeviceConfig = device_config()
        package.p4config_pb2 = module
        sys.modules.update({package.__name__: package, module.__name__: module})
    sys.argv = [controller]
    sys.path[0] = dirname(controller)
    runpy.run_path(controller, run_name="__main__")


main()
