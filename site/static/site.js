// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What scrolls sideways can be reached by keyboard.
"use strict";
document.addEventListener("DOMContentLoaded", () => {
  for (const area of document.querySelectorAll("div.highlight pre, table.scrolls")) {
    if (area.scrollWidth > area.clientWidth) area.tabIndex = 0;
  }
});
