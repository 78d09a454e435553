# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash

# bare_system SUITE MIRROR [DEBOOTSTRAP ARGUMENT...]: a system with nothing installed, and in it what
# the README says first: a clone, and two commands that install, build, draw and test.
bare_system() {
  local suite=$1 mirror=$2 root
  shift 2
  need debootstrap git chroot
  [ "$(id -u)" -eq 0 ] || { echo "debootstrap and chroot need root." >&2; return 1; }
  root=$PWD/build/bare_$suite
  rm -rf --one-file-system "$root"
  debootstrap --variant=minbase "$@" "$suite" "$root" "$mirror" >"$root.log" 2>&1 || {
    tail -n 20 "$root.log"
    return 1
  }
  if [ "$suite" = noble ]; then  # what Ubuntu enables on every computer
    echo "deb $mirror noble main universe" >"$root/etc/apt/sources.list"
  fi
  cp /etc/resolv.conf "$root/etc/resolv.conf"
  git clone --quiet --no-hardlinks . "$root/root/cuda_labs"
  local command
  for command in "scripts/lab run 04.1 --solution" "scripts/lab test 03.1 --solution"; do
    echo "$suite: $command"
    chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
      sh -c "cd /root/cuda_labs && $command" >>"$root.log" 2>&1 </dev/null || {
      tail -n 40 "$root.log"
      return 1
    }
  done
  [ -s "$root/root/cuda_labs/julia_set.png" ] || { echo "There is no picture."; return 1; }
  rm -rf --one-file-system "$root"
}
