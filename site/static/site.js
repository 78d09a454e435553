// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What the theme leaves to be done for screen readers and keyboards.
"use strict";
document.addEventListener("DOMContentLoaded", () => {
  // Two landmarks of one kind need names to be told apart.
  document.querySelector(".sidebar-drawer")?.setAttribute("aria-label", "Contents");
  document.querySelector(".toc-drawer")?.setAttribute("aria-label", "On this page");
  // What scrolls sideways can be reached by keyboard.
  for (const area of document.querySelectorAll("div.highlight pre, table.scrolls")) {
    if (area.scrollWidth > area.clientWidth) area.tabIndex = 0;
  }
});
