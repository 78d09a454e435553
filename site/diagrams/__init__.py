# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""The course's drawings, as code. draw.py writes them to docs/images/diagrams."""
