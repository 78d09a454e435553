# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0
"""What scripts/lab does: small modules, the standard library only."""
