# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""The entry of scripts/lab."""

import signal
import sys
from pathlib import Path

# Until main() listens for it, Ctrl-C ends this without a word.
signal.signal(signal.SIGINT, signal.SIG_DFL)

if sys.version_info < (3, 9):
    sys.exit(
        f"lab: this needs Python 3.9 or later, and {sys.executable} is {sys.version.split()[0]}."
    )

sys.path[0] = str(Path(__file__).resolve().parents[1])

from lablib import streams  # noqa: E402  (the path must be set first)
from lablib.cli import main  # noqa: E402

if __name__ == "__main__":
    streams.install()
    sys.exit(main(sys.argv[1:]))
