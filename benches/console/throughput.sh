#!/usr/bin/env bash
# Serving throughput with the console open and without, alternated, in a terminal
# of 160×50. Needs tmux. About three minutes.
set -euo pipefail
cd "$(dirname "$0")/../.."
result=$(mktemp)
socket=divisi-bench-$$
trap 'tmux -L "$socket" kill-server 2>/dev/null || true; rm -f "$result"' EXIT
cargo bench -p divisi --bench console --no-run
tmux -L "$socket" new -d -x 160 -y 50 \
    "cargo bench -p divisi --bench console -- throughput 2>'$result'; tmux -L '$socket' wait-for -S done"
tmux -L "$socket" wait-for done
grep -E '^(console|Error)' "$result"
