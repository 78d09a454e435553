#!/usr/bin/env python3
# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""stale.py NINJA BUILD_FOLDER TARGET…

Removes test programs that are not built from the sources as they are. CTest runs it before the
first test: after an edit, or a build that failed, a program that is still there from before must
not be run as if it were the new one. CTest reports what is removed as "Not Run", a failure.
"""

import fcntl
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import List

# build.ninja itself would first look whether CMake has to run again, and stop there.
MANIFEST = "stale.ninja"


def stale_programs(ninja: str, build: Path, targets: List[str]) -> List[Path]:
    """The test programs that Ninja would link if it were to build these targets now."""
    (build / MANIFEST).write_text("include build.ninja\n", encoding="utf-8")
    done = subprocess.run(
        [ninja, "-C", str(build), "-f", MANIFEST, "-n", "-v", *targets],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        raise OSError(f"Ninja cannot say which programs are up to date:\n{done.stdout.strip()}")
    outputs = re.findall(r" -o (bin/(?:tests|bugs)/\S+)", done.stdout)
    return [build / output for output in outputs]


def main(arguments: List[str]) -> int:
    if len(arguments) < 3:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    build = Path(arguments[1])
    command = f"cmake --build {shlex.quote(str(build))}"
    build_it_again = f"Next: build it again, `{command}`, then the tests."
    removed = 0
    try:
        with open(build / ".lab_lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # scripts/lab may be building here: build.locked()
            for program in stale_programs(arguments[0], build, arguments[2:]):
                if program.is_file():
                    program.unlink()
                    removed += 1
                    print(f"removed, as its sources have changed: {program.relative_to(build)}")
    except OSError as error:
        print(f"stale: {error}\n{build_it_again}", file=sys.stderr)
        return 1
    if removed:
        print(build_it_again)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
