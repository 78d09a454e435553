# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""The verbs of scripts/lab: what each one takes from the command line, and what it does with it."""
