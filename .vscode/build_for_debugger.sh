#!/bin/sh
# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0
#
# build_for_debugger.sh FOLDER: builds the program of the exercise in labs/CC_chapter/E_name (or in
# solutions/: the solved one) without optimisation, as build/cpu-debug/bin/current.

set -eu
cd "$(dirname -- "$0")/.."

folder=$(cd -- "$1" && pwd -P)
exercise=$(basename -- "$folder")
chapter=$(basename -- "$(dirname -- "$folder")")
tree=$(basename -- "$(dirname -- "$(dirname -- "$folder")")")
case $tree in
  labs) kind=lab ;;
  solutions) kind=solution ;;
  *)
    echo "Open a file of an exercise first, in labs/ or solutions/: $folder is none." >&2
    exit 2
    ;;
esac
id=${chapter%%_*}.${exercise%%_*}

[ -f build/cpu-debug/build.ninja ] || cmake --preset cpu-debug
cmake --build build/cpu-debug --target "$kind.$id"
ln -sfn "$tree/${id}_${exercise#*_}" build/cpu-debug/bin/current
