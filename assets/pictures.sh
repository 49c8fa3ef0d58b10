#!/bin/sh
# Makes the pictures of the README and of docs/ again: real screens of real serving, without a terminal.
# Usage: assets/pictures.sh [DIVISI]   (default: cargo's release build)
set -eu
cd "$(dirname "$0")/.."
divisi=${1:-target/release/divisi}
if [ ! -x "$divisi" ]; then
    cargo build --release
fi
# Nothing of the user's own configuration is to be seen.
DIVISI_CONFIG_DIR=$(mktemp -d)
export DIVISI_CONFIG_DIR
trap 'rmdir "$DIVISI_CONFIG_DIR"' EXIT

"$divisi" picture --force digits --load poisson:800 --size 160x50 --after 6s --out assets/console.svg
"$divisi" picture --force digits --load poisson:800 --size 160x50 --after 4s \
    --theme light --out assets/light.svg
"$divisi" picture --force imn4 --devices 'sim:v100*4' --load closed:64x4 --size 160x50 --after 5s \
    --keys 'p down down down down down enter wait:1s y wait:4s 3' --out assets/simulated.svg
"$divisi" picture --force digits --load poisson:800 --size 120x40 --after 2s \
    --keys 's enter wait:8s 2 z' --out assets/search.svg
