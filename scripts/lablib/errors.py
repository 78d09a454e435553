# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Exit codes, and the one kind of error that people see."""

OK = 0
FAILED = 1
USAGE = 2
MAY_NOT_INSTALL = 3
NOT_POSSIBLE = 77
INTERRUPTED = 130


class LabError(Exception):
    """What went wrong and what to do next, in a sentence for a student."""

    def __init__(self, message: str, exit_code: int = FAILED):
        super().__init__(message)
        self.exit_code = exit_code
