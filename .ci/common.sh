# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash

# What the lanes share. Sourced by each; goes to the root of the repository.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export CLICOLOR=0
# Where ccache is, a lane compiles only what has changed since it ran last.
if command -v ccache >/dev/null; then
  export CMAKE_CXX_COMPILER_LAUNCHER=ccache CMAKE_C_COMPILER_LAUNCHER=ccache
fi
mkdir -p build
jobs=${CI_JOBS:-$(nproc)}
# shellcheck disable=SC2034  # the lanes use it
tools=.lab/tools/bin

# need COMMAND...: a lane whose tools are not there fails; it is not left out.
need() {
  local tool set=--author
  case $0 in */nights/*) set=--all ;; esac
  for tool; do
    command -v "$tool" >/dev/null || {
      echo "$tool is not here: \`scripts/setup $set\` installs it." >&2
      exit 1
    }
  done
}

# configure FOLDER PRESET [OPTION...]: in a folder of the lane's own, warnings are errors.
configure() {
  local folder=$1 preset=$2
  shift 2
  cmake --preset "$preset" -B "$folder" "$@" >"$folder.log" 2>&1 || {
    cat "$folder.log"
    return 1
  }
}

# targets FOLDER PATTERN: the targets whose whole name matches.
targets() {
  ninja -C "$1" -t targets all | sed -n -E "s/^($2): phony\$/\\1/p" | sort -u
}

# one_of N <NAMES: of the names, a line each, one of every N, chosen by the commit.
one_of() {
  local name seed
  seed=$(git rev-parse --short HEAD 2>/dev/null || date +%F)
  while read -r name; do
    [ $(($(cksum <<<"$seed $name" | cut -d' ' -f1) % $1)) -ne 0 ] || echo "$name"
  done
}

# build_and_test FOLDER LABEL PATTERN: builds the targets, and runs the tests that have the label.
# EXERCISES, such as `05.1 13.3`, narrows it down; LEFT_OUT is a pattern of tests that do not run.
build_and_test() {
  local folder=$1 label=$2 pattern=$3 only=() chosen
  mapfile -t chosen < <(targets "$folder" "$pattern")
  if [ -n "${EXERCISES:-}" ]; then
    local exercises="(${EXERCISES//[ ]/|})"
    mapfile -t chosen < <(printf '%s\n' "${chosen[@]}" | grep -E "\\.${exercises//./[.]}\$")
    only=(-L "^${exercises//./[.]}\$")
  fi
  [ "${#chosen[@]}" -gt 0 ] || { echo "There is nothing to build in $folder." >&2; return 1; }
  echo "building ${#chosen[@]} targets in $folder"
  ninja -C "$folder" -j "$jobs" -k 0 "${chosen[@]}" >"$folder.build.log" 2>&1 || {
    grep -E -A5 'error:|FAILED' "$folder.build.log" | head -n 60
    return 1
  }
  ctest --test-dir "$folder" -L "$label" "${only[@]}" ${LEFT_OUT:+-E "$LEFT_OUT"} \
    --no-tests=error --output-on-failure -j "$jobs" >"$folder.test.log" 2>&1 || {
    tail -n 60 "$folder.test.log"
    return 1
  }
  tail -n 5 "$folder.test.log"
}
