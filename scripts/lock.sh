#!/usr/bin/env bash
# Writes package-lock.json anew, in a folder without node_modules: npm leaves out other platforms' packages otherwise.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
find . -name package.json -not -path '*/node_modules/*' -exec cp --parents {} "$work" \;
(cd "$work" && npm install --package-lock-only --no-audit --no-fund --loglevel=error)
cp "$work/package-lock.json" package-lock.json
