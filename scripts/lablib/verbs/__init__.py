# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""The verbs of scripts/lab: what each one takes from the command line, and what it does with it."""

# scripts/lab imports them in this order until it has found the verb, so what students use at each
# edit comes first.
MODULES = (
    "working",
    "learning",
    "measuring",
    "docs",
    "grading",
    "exporting",
    "authoring",
    "completing",
)
