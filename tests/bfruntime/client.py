"""A BfRuntime client: tables by the names of bf-rt.json. It has the calls of Intel's client (`bfrt_grpc.client`) that the tests use, so
that the tests run with both."""

import json
import pathlib
import queue
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / ".venv/proto"))

import grpc  # noqa: E402
import bfruntime_pb2 as pb  # noqa: E402
import bfruntime_pb2_grpc as rpc  # noqa: E402

END = object()


class BfruntimeReadWriteRpcException(Exception):
    """A failed write, with the errors of its updates, or a failed read."""

    def __init__(self, error):
        super().__init__(error.details())
        self.grpc_error = error
        self.errors = []
        for key, value in error.trailing_metadata() or ():
            if key == "grpc-status-details-bin":
                self.errors = list(failures(value))

    def sub_errors_get(self):
        return self.errors


def failures(details):
    from google.rpc import status_pb2
    status = status_pb2.Status.FromString(details)
    for at, packed in enumerate(status.details):
        error = pb.Error()
        assert packed.Unpack(error), packed.type_url
        if error.canonical_code:
            yield at, error


class KeyTuple:
    def __init__(self, name, value=None, mask=None, prefix_len=None, low=None, high=None, is_valid=None):
        self.name, self.value, self.mask, self.prefix_len = name, value, mask, prefix_len
        self.low, self.high, self.is_valid = low, high, is_valid


class DataTuple:
    def __init__(self, name, val=None, float_val=None, str_val=None, int_arr_val=None, bool_arr_val=None, bool_val=None,
                 container_arr_val=None):
        self.name, self.val, self.str_val, self.bool_val, self.float_val = name, val, str_val, bool_val, float_val
        self.int_arr_val, self.bool_arr_val, self.container_arr_val = int_arr_val, bool_arr_val, container_arr_val


class Target:
    def __init__(self, device_id=0, pipe_id=0xffff):
        self.device_id, self.pipe_id = device_id, pipe_id


class Values:
    """A key or data, as a dictionary."""

    def __init__(self, message, values):
        self.message, self.values = message, values

    def to_dict(self):
        return self.values


def size(kind):
    """Bytes of a number."""
    if kind["type"] == "bytes":
        return (kind["width"] + 7) // 8
    return int(kind["type"].removeprefix("uint")) // 8


def contained(field):
    """The fields of a container by their names."""
    return {f["singleton"]["name"]: f["singleton"] for f in field["container"]}


def is_number(kind):
    return kind["type"] == "bytes" or kind["type"].startswith("uint")


class Table:
    def __init__(self, interface, described):
        self.interface, self.described, self.id = interface, described, described["id"]
        self.keys = {key["name"]: key for key in described["key"]}
        self.actions = {action["name"]: action for action in described.get("action_specs", ())}
        self.data = {}
        for field in described["data"]:
            for one in field.get("oneof") or [field["singleton"]]:
                self.data[one["name"]] = one

    def action(self, name):
        (found,) = [a for full, a in self.actions.items() if full == name or full.endswith("." + name)]
        return found

    def make_key(self, fields):
        key = pb.TableKey()
        for given in fields:
            described = self.keys[given.name]
            field = key.fields.add(field_id=described["id"])
            def number(value):
                return value.encode() if isinstance(value, str) else value.to_bytes(size(described["type"]), "big")
            if given.mask is not None:
                field.ternary.value, field.ternary.mask = number(given.value), number(given.mask)
            elif given.prefix_len is not None:
                field.lpm.value, field.lpm.prefix_len = number(given.value), given.prefix_len
            elif given.low is not None:
                field.range.low, field.range.high = number(given.low), number(given.high)
            else:
                field.exact.value = number(given.value)
        return Values(key, {})

    def fields(self, action):
        return {**self.data, **{f["name"]: f for f in (self.action(action)["data"] if action else ())}}

    def make_data(self, fields=(), action_name=None, get=False):
        data, known = pb.TableData(), self.fields(action_name)
        if action_name:
            data.action_id = self.action(action_name)["id"]
        for given in fields:
            (described,) = [f for full, f in known.items() if full == given.name or full.endswith("." + given.name)]
            field = data.fields.add(field_id=described["id"])
            if given.val is not None:
                is_int = isinstance(given.val, int)
                field.stream = given.val.to_bytes(size(described["type"]), "big") if is_int else bytes(given.val)
            elif given.float_val is not None:
                field.float_val = given.float_val
            elif given.str_val is not None:
                field.str_val = given.str_val
            elif given.bool_val is not None:
                field.bool_val = given.bool_val
            elif given.int_arr_val is not None:
                field.int_arr_val.val.extend(given.int_arr_val)
            elif given.bool_arr_val is not None:
                field.bool_arr_val.val.extend(given.bool_arr_val)
            for parts in given.container_arr_val or ():
                container, inner = field.container_arr_val.container.add(), contained(described)
                for name, part in parts.items():
                    number = part.val.to_bytes(size(inner[name]["type"]), "big")
                    container.val.add(field_id=inner[name]["id"], stream=number)
        return Values(data, {})

    def write(self, kind, target, keys, data, atomicity=pb.WriteRequest.CONTINUE_ON_ERROR, default=False, removes=False):
        request = pb.WriteRequest(client_id=self.interface.client_id, atomicity=atomicity)
        request.target.device_id, request.target.pipe_id = target.device_id, target.pipe_id
        # Without lists there is one update, of the whole table; with empty ones there is none.
        count = 1 if keys is None and data is None else max(len(keys or ()), len(data or ()))
        for at in range(count):
            entry = request.updates.add(type=kind).entity.table_entry
            entry.table_id, entry.is_default_entry = self.id, default
            if keys:
                entry.key.CopyFrom(keys[at].message)
            if data:
                entry.data.CopyFrom(data[at].message)
            entry.table_flags.mod_del = removes
        try:
            self.interface.stub.Write(request)
        except grpc.RpcError as error:
            raise BfruntimeReadWriteRpcException(error) from None

    def entry_add(self, target, keys, data=None, atomicity=pb.WriteRequest.CONTINUE_ON_ERROR):
        self.write(pb.Update.INSERT, target, keys, data, atomicity)

    def entry_mod(self, target, keys, data):
        self.write(pb.Update.MODIFY, target, keys, data)

    def entry_mod_inc(self, target, keys, data, kind=pb.TableModIncFlag.MOD_INC_ADD):
        self.write(pb.Update.MODIFY_INC, target, keys, data, removes=kind == pb.TableModIncFlag.MOD_INC_DELETE)

    def entry_add_or_mod(self, target, keys, data):
        self.write(pb.Update.INSERT_OR_MODIFY, target, keys, data)

    def entry_del(self, target, keys=None):
        self.write(pb.Update.DELETE, target, keys, None)

    def default_entry_set(self, target, data):
        self.write(pb.Update.MODIFY, target, None, [data], default=True)

    def default_entry_reset(self, target):
        self.write(pb.Update.DELETE, target, None, None, default=True)

    def read(self, target, **entity):
        request = pb.ReadRequest(client_id=self.interface.client_id)
        request.target.device_id, request.target.pipe_id = target.device_id, target.pipe_id
        return request

    def receive(self, request):
        try:
            for answer in self.interface.stub.Read(request):
                yield from answer.entities
        except grpc.RpcError as error:
            raise BfruntimeReadWriteRpcException(error) from None

    def entry_get(self, target, keys=None, flags=None, required_data=None, handle=None):
        request = self.read(target)
        for key in keys or [None]:
            entry = request.entities.add().table_entry
            entry.table_id = self.id
            if handle is not None:
                entry.handle_id = handle
            if required_data is not None:
                entry.data.CopyFrom(required_data.message)
            if key is not None:
                entry.key.CopyFrom(key.message)
        for entity in self.receive(request):
            entry = entity.table_entry
            yield self.shown_data(entry.data, False), self.shown_key(entry.key)

    def default_entry_get(self, target, flags=None):
        request = self.read(target)
        entry = request.entities.add().table_entry
        entry.table_id, entry.is_default_entry = self.id, True
        for entity in self.receive(request):
            yield self.shown_data(entity.table_entry.data, True), None

    def usage_get(self, target, flags=None):
        request = self.read(target)
        request.entities.add().table_usage.table_id = self.id
        for entity in self.receive(request):
            yield entity.table_usage.usage

    def operations_execute(self, target, operation):
        request = pb.WriteRequest(client_id=self.interface.client_id)
        request.target.device_id = target.device_id
        said = request.updates.add(type=pb.Update.INSERT).entity.table_operation
        said.table_id, said.table_operations_type = self.id, operation
        self.interface.stub.Write(request)

    def handle_get(self, target, keys):
        request = self.read(target)
        asked = request.entities.add().handle
        asked.table_id = self.id
        asked.key.CopyFrom(keys[0].message)
        return next(self.receive(request)).handle.handle_id

    def attribute_set(self, target, fill):
        request = pb.WriteRequest(client_id=self.interface.client_id)
        request.target.device_id, request.target.pipe_id = target.device_id, target.pipe_id
        attribute = request.updates.add(type=pb.Update.INSERT).entity.table_attribute
        attribute.table_id = self.id
        fill(attribute)
        try:
            self.interface.stub.Write(request)
        except grpc.RpcError as error:
            raise BfruntimeReadWriteRpcException(error) from None

    def attribute_entry_scope_set(self, target, predefined_pipe_scope_val=pb.Mode.ALL):
        def fill(attribute):
            attribute.entry_scope.pipe_scope.predef = predefined_pipe_scope_val
            attribute.entry_scope.pipe_scope.args = 0xff
        self.attribute_set(target, fill)

    def attribute_idle_time_set(self, target, enable=False, idle_table_mode=pb.IdleTable.IDLE_TABLE_NOTIFY_MODE, ttl_query_interval=5000,
                                max_ttl=3600000, min_ttl=1000):
        def fill(attribute):
            idle = attribute.idle_table
            idle.enable, idle.idle_table_mode, idle.ttl_query_interval = enable, idle_table_mode, ttl_query_interval
            idle.max_ttl, idle.min_ttl = max_ttl, min_ttl
        self.attribute_set(target, fill)

    def attribute_meter_bytecount_adjust_set(self, target, byte_count=0):
        def fill(attribute):
            attribute.byte_count_adj.byte_count_adjust = byte_count
        self.attribute_set(target, fill)

    def attribute_get(self, target, name):
        request = self.read(target)
        attribute = request.entities.add().table_attribute
        attribute.table_id = self.id
        field = {"EntryScope": "entry_scope", "IdleTimeout": "idle_table", "MeterByteCountAdjust": "byte_count_adj"}[name]
        getattr(attribute, field).SetInParent()
        for entity in self.receive(request):
            found = getattr(entity.table_attribute, field)
            yield {field.name: getattr(found, field.name) for field in found.DESCRIPTOR.fields}

    def shown_key(self, key):
        keys, shown = {k["id"]: k for k in self.keys.values()}, {}
        for field in key.fields:
            match, key_of = getattr(field, field.WhichOneof("match_type")), keys[field.field_id]

            def value_of(value):
                if not isinstance(value, bytes):
                    return value
                return value.decode() if key_of["type"]["type"] == "string" else int.from_bytes(value, "big")
            shown[key_of["name"]] = {name.name: value_of(value) for name, value in match.ListFields()}
        return Values(key, shown)

    def shown_data(self, data, default):
        action = next((name for name, a in self.actions.items() if a["id"] == data.action_id), None)
        known = {f["id"]: f for f in self.fields(action).values()}
        shown = {"action_name": action, "is_default_entry": default}
        for field in data.fields:
            described = known[field.field_id]
            kind = field.WhichOneof("value")
            value = getattr(field, kind)
            if kind == "stream":
                value = int.from_bytes(value, "big")
                if {"name": "$bfrt_field_class", "value": "register_data"} in described["annotations"]:
                    value = [value]
            elif kind == "container_arr_val":
                inner = {f["id"]: name for name, f in contained(described).items()}
                value = [{inner[f.field_id]: int.from_bytes(f.stream, "big") for f in one.val} for one in value.container]
            elif kind.endswith("_arr_val"):
                value = list(value.val)
            shown[described["name"]] = value
        return Values(data, shown)


class Learn:
    def __init__(self, described):
        self.described = described
        self.names = {field["id"]: field["name"] for field in described["fields"]}

    def make_data_list(self, digest):
        for data in digest.data:
            yield Values(data, {self.names[f.field_id]: int.from_bytes(f.stream, "big") for f in data.fields})


class Info:
    def __init__(self, interface, config, fixed):
        self.p4_name = config.p4_name
        described, more = json.loads(config.bfruntime_info), json.loads(fixed.bfruntime_info)
        self.tables = {t["name"]: Table(interface, t) for t in described["tables"] + more["tables"]}
        self.learns = {d["name"]: Learn(d) for d in described["learn_filters"]}

    def table_get(self, name):
        return found(self.tables, name)

    def learn_get(self, name):
        return found(self.learns, name)

    def p4_name_get(self):
        return self.p4_name


def found(names, name):
    """The object of this name or of the only name that ends in it."""
    if name in names:
        return names[name]
    (one,) = [value for full, value in names.items() if full.endswith("." + name)]
    return one


class ClientInterface:
    def __init__(self, grpc_addr, client_id, device_id):
        self.client_id, self.device_id = client_id, device_id
        self.channel = grpc.insecure_channel(grpc_addr)
        self.stub = rpc.BfRuntimeStub(self.channel)
        self.outgoing, self.digests, self.idle, self.links, self.others = (queue.Queue() for _ in range(5))
        subscribe = pb.StreamMessageRequest(client_id=client_id)
        subscribe.subscribe.device_id = device_id
        subscribe.subscribe.notifications.enable_learn_notifications = True
        subscribe.subscribe.notifications.enable_idletimeout_notifications = True
        subscribe.subscribe.notifications.enable_port_status_change_notifications = True
        self.outgoing.put(subscribe)
        self.stream = self.stub.StreamChannel(iter(self.outgoing.get, END))
        threading.Thread(target=self.receive, daemon=True).start()
        answer = self.others.get(timeout=60)
        if isinstance(answer, grpc.RpcError):
            raise answer
        assert answer.subscribe.status.code == 0, answer

    def receive(self):
        try:
            for message in self.stream:
                kinds = {"digest": self.digests, "idle_timeout_notification": self.idle,
                         "port_status_change_notification": self.links}
                kinds.get(message.WhichOneof("update"), self.others).put(message)
        except grpc.RpcError as error:
            self.others.put(error)

    def digest_get(self, timeout=1):
        return self.digests.get(timeout=timeout).digest

    def idletime_notification_get(self, timeout=1):
        return self.idle.get(timeout=timeout).idle_timeout_notification

    def portstatus_notification_get(self, timeout=1):
        return self.links.get(timeout=timeout).port_status_change_notification

    def bind_pipeline_config(self, p4_name):
        request = pb.SetForwardingPipelineConfigRequest(client_id=self.client_id, device_id=self.device_id)
        request.config.add(p4_name=p4_name)
        self.stub.SetForwardingPipelineConfig(request)

    def bfrt_info_get(self, p4_name=None):
        request = pb.GetForwardingPipelineConfigRequest(device_id=self.device_id, client_id=self.client_id)
        answer = self.stub.GetForwardingPipelineConfig(request)
        config = next(config for config in answer.config if p4_name in (None, config.p4_name))
        return Info(self, config, answer.non_p4_config)

    def clear_all_tables(self):
        request = pb.GetForwardingPipelineConfigRequest(device_id=self.device_id, client_id=self.client_id)
        answer = self.stub.GetForwardingPipelineConfig(request)
        action = pb.SetForwardingPipelineConfigRequest.VERIFY_AND_WARM_INIT_BEGIN_AND_END
        self.stub.SetForwardingPipelineConfig(pb.SetForwardingPipelineConfigRequest(
            client_id=self.client_id, device_id=self.device_id, action=action, config=answer.config))
        finished = self.others.get(timeout=60)
        assert finished.HasField("set_forwarding_pipeline_config_response"), finished

    def tear_down_stream(self):
        self.outgoing.put(END)
        self.channel.close()
