"""`p4.tmp.P4DeviceConfig`, as p4lang/PI generates it: Python packages of P4Runtime do not have it."""

from google.protobuf import descriptor_pb2, descriptor_pool
from google.protobuf.message_factory import MessageFactory

_FILE = descriptor_pb2.FileDescriptorProto(name="p4/tmp/p4config.proto", package="p4.tmp", syntax="proto3")
_MESSAGE = _FILE.message_type.add(name="P4DeviceConfig")
_FIELD = descriptor_pb2.FieldDescriptorProto
for number, name, kind in (1, "reassign", _FIELD.TYPE_BOOL), (3, "device_data", _FIELD.TYPE_BYTES):
    _MESSAGE.field.add(name=name, number=number, type=kind, label=_FIELD.LABEL_OPTIONAL)
_POOL = descriptor_pool.Default()
_POOL.Add(_FILE)
P4DeviceConfig = MessageFactory(_POOL).GetPrototype(_POOL.FindMessageTypeByName("p4.tmp.P4DeviceConfig"))
