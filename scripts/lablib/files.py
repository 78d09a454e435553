# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Files are written whole or not at all."""

import os
import tempfile
from pathlib import Path

from lablib.processes import uninterrupted


def write_atomically(path: Path, text: str) -> None:
    write_bytes_atomically(path, text.encode("utf-8"))


def write_bytes_atomically(path: Path, data: bytes) -> None:
    with uninterrupted():
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
            mode = path.stat().st_mode if path.exists() else 0o666 & ~_umask()
            os.chmod(temporary, mode & 0o7777)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise


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
