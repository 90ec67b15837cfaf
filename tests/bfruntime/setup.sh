#!/usr/bin/env bash
# Installs what the BfRuntime tests need, in a virtual environment, and compiles the protocol definition for their client.
set -euo pipefail
cd "$(dirname "$0")"
../venv.sh
proto=../../crates/control/protobuf/proto
if [ ! -e .venv/proto/bfruntime_pb2_grpc.py ] || [ "$proto/bfrt/bfruntime.proto" -nt .venv/proto/bfruntime_pb2_grpc.py ]; then
    mkdir -p .venv/proto
    .venv/bin/python -m grpc_tools.protoc -I "$proto/bfrt" -I "$proto" --python_out=.venv/proto \
        --grpc_python_out=.venv/proto bfruntime.proto
fi
