# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Starts a command in a container of podman, so that it looks like a program of ours: its streams
are those that this process has (3 is a worker's connection), its processes descend from this one,
its exit status is this one's, and with this process it ends. For sandbox.py.

    podman.py LINK=TARGET… -- OPTION… -- WORD…
"""

import ctypes
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Dict, List, Sequence

# The command is not the first process, which has no signals by default, and which is all that the
# container waits for. Nor may that one keep the command's streams open.
_FIRST = '"$@" >&4 2>&5 4>&- 5>&- & exec 3>&- 4>&- 5>&-; wait $!'
_OF_PODMAN = (125, 126, 127)  # exit statuses
_SET_CHILD_SUBREAPER = 36


def main(arguments: Sequence[str]) -> int:
    first = arguments.index("--")
    second = arguments.index("--", first + 1)
    links, options, words = (
        arguments[:first],
        arguments[first + 1 : second],
        arguments[second + 1 :],
    )
    _arrange_streams()
    top = Path(tempfile.mkdtemp(prefix="lab_grade_"))
    top.chmod(0o755)  # the container's user looks for everything in it
    name = top.name
    environment = _environment()
    ended = _clean_up_when_gone(top, environment)
    # What podman leaves to itself, the container's monitor, becomes a child of this process.
    ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    for link in links:
        path, _, target = link.partition("=")
        (top / path.lstrip("/")).symlink_to(target)
    given = [f"--env={variable}={value}" for variable, value in os.environ.items()]
    command = ["podman", "run", "--rm", f"--name={name}", "--log-driver=none", "--http-proxy=false"]
    command += ["--no-hosts", "--passwd=false", "--systemd=false", "--preserve-fds=3", *given]
    command += [*options, "--rootfs", str(top), "/bin/sh", "-c", _FIRST, "sh", *words]
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        pass_fds=(3, 4, 5),
        env=environment,
        cwd=top,  # the monitor writes there what it has to say about memory
        # Whoever kills this process does not kill podman between two steps: that leaves a process
        # behind which nobody knows.
        start_new_session=True,
    )
    for stream in (1, 3, 4, 5):
        os.close(stream)
    said = process.communicate()[1].strip()
    if process.returncode in _OF_PODMAN and said:
        os.write(2, b"podman: " + said + b"\n")
    shutil.rmtree(top, ignore_errors=True)
    os.write(ended, b".")
    return process.returncode if process.returncode >= 0 else 128 - process.returncode


def _arrange_streams() -> None:
    """The command's are 3, 4 and 5, which podman does not touch; the output of podman itself would
    come some time after the command has written it."""
    try:
        os.fstat(3)
    except OSError:
        os.dup2(0, 3)
    os.dup2(1, 4)
    os.dup2(2, 5)


def _environment() -> Dict[str, str]:
    """Podman's own: it keeps what it knows below the home folder of whoever starts it."""
    user = os.getuid()
    found = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": pwd.getpwuid(user).pw_dir}
    if os.path.isdir(f"/run/user/{user}"):
        found["XDG_RUNTIME_DIR"] = f"/run/user/{user}"
    return found


def _clean_up_when_gone(top: Path, environment: Dict[str, str]) -> int:
    """Has somebody remove the container when this process has ended without a byte to the file that
    is returned: SIGKILL leaves it no time to do so."""
    heard, told = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        if os.fork() == 0:  # nobody's child, not even a process of the same session
            os.close(told)
            nothing = os.open("/dev/null", os.O_RDWR)
            for stream in range(6):
                if stream != heard:
                    os.dup2(nothing, stream)
            if not os.read(heard, 1):
                remove: List[str] = ["podman", "rm", "--force", "--ignore", "--time=0", top.name]
                subprocess.run(remove, env=environment)
                shutil.rmtree(top, ignore_errors=True)
        os._exit(0)
    os.waitpid(child, 0)
    os.close(heard)
    return told


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
