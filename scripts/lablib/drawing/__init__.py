# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""Pictures by code, in one style and two colour schemes: drawings of the book, and charts."""
