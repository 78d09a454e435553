# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Files are written whole or not at all."""

import os
import tempfile
from pathlib import Path

from lablib.processes import uninterrupted

UNFINISHED = ".new."  # how the names of files begin that are being written


def write_atomically(path: Path, text: str) -> None:
    write_bytes_atomically(path, text.encode("utf-8"))


def write_bytes_atomically(path: Path, data: bytes, *, record: bool = False) -> None:
    """What is there keeps its mode; a new file is as readable as others. A `record` is on the disk
    before it has its name, and new it is for its owner only."""
    with uninterrupted():
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=UNFINISHED)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                if record:
                    file.flush()
                    os.fsync(file.fileno())
            mode = 0o600 if record else 0o666 & ~_umask()
            os.chmod(temporary, path.stat().st_mode & 0o7777 if path.exists() else mode)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
        if record:
            folder = os.open(path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)


def _umask() -> int:
    value = os.umask(0)
    os.umask(value)
    return value


def short_path(path: Path, root: Path) -> str:
    """The path as seen from the root of the repository, where it lies in there."""
    try:
        return str(path.relative_to(root))
    except ValueError:
        return str(path)
