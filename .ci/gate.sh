#!/bin/sh
# A gate for a pipeline: fails where a framework became slower than it was in an earlier archive.
#
#   sh .ci/gate.sh BASELINE NEW ADAPTER... [flags of `shootout duel`]
#
# Runs the duel into the folder NEW and compares it with BASELINE, verdict by verdict: only ratios between sides that
# ran together, so the two archives may come from machines of different speed. Without a BASELINE, NEW becomes it. Keep
# both folders as artifacts. SHOOTOUT names the program, KIT the checkout whose adapters take part.
#
# Exit codes: 0 nothing turned slower; 6 something did; else those of shootout, as `shootout --help` lists them.
set -eu

if [ $# -lt 4 ]; then
    echo "usage: sh $0 BASELINE NEW ADAPTER ADAPTER... [flags of \`shootout duel\`]" >&2
    exit 2
fi
baseline=$1 new=$2
shift 2

here=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
kit=${KIT:-$here}
shootout=${SHOOTOUT:-}
if [ -z "$shootout" ]; then
    cargo build --release --locked --manifest-path "$here/Cargo.toml"
    shootout=$here/target/release/shootout
fi

sh "$here/docker/engine.sh"
"$shootout" --kit "$kit" duel "$@" --out "$new"
"$shootout" verify --allow-smoke "$new"
if [ ! -e "$baseline" ]; then
    cp -R "$new" "$baseline"
    echo "gate: $new is the first of its kind, and the baseline from now on" >&2
    exit 0
fi
"$shootout" compare "$baseline" "$new" --fail-on slower
