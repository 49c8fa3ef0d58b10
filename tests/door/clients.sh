#!/usr/bin/env bash
# Tests a server with every call of Triton's own clients, and with the examples of
# docs/reference/protocol.md. Creates a Python environment for them, or uses the Python that CLIENTS
# names. If SPECIFICATION names the published OpenAPI file of the protocol, also checks the answers
# against it.
#
#   tests/door/clients.sh target/debug/divisi
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
divisi=$(realpath "${1:-$here/../../target/debug/divisi}")
work=$(mktemp -d)
server=
finish() {
    if [ -n "$server" ]; then kill "$server" && wait "$server" || true; fi
    rm -rf "$work"
}
trap finish EXIT

if [ -z "${CLIENTS:-}" ]; then
    python3 -m venv "$work/env"
    "$work/env/bin/pip" install -q 'tritonclient[http,grpc]==2.51.0' numpy pyyaml
    CLIENTS=$work/env/bin/python
fi

mkdir -m 700 "$work/run"
XDG_RUNTIME_DIR=$work/run "$divisi" serve digits --load none --http 127.0.0.1:0 \
    --grpc 127.0.0.1:0 --metrics off 2>"$work/log" &
server=$!
address() { sed -n "s/^divisi: $1 at \(http:\/\/\)\?\([0-9.:]*\).*/\2/p" "$work/log"; }
for _ in $(seq 600); do
    if grep -q 'divisi stop' "$work/log"; then break; fi
    kill -0 "$server" || { cat "$work/log"; exit 1; }
    sleep 0.1
done
"$CLIENTS" "$here/clients.py" "$(address HTTP)" "$(address gRPC)"
"$CLIENTS" "$here/examples.py" "$here/../../docs/reference/protocol.md" "$(address HTTP)"
if [ -n "${SPECIFICATION:-}" ]; then
    "$CLIENTS" "$here/conformance.py" "$SPECIFICATION" "$(address HTTP)" digits
fi
