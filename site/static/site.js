// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What the theme leaves to be done for screen readers and keyboards.
"use strict";

// Translated pages: what scripts write into them. The rest is in site/words.py.
const siteWords = {
  pl: {
    "Contents": "Spis treści",
    "On this page": "Na tej stronie",
    "copy": "Kopiuj",
    "copy_to_clipboard": "Kopiuj do schowka",
    "copy_success": "Skopiowano!",
    "copy_failure": "Nie udało się skopiować",
  },
}[document.documentElement.lang];
if (siteWords && typeof messages !== "undefined") {  // those of sphinx_copybutton
  locale = document.documentElement.lang;
  messages[locale] = siteWords;
}

document.addEventListener("DOMContentLoaded", () => {
  // Two landmarks of one kind need names to be told apart.
  document.querySelector(".sidebar-drawer")?.setAttribute("aria-label", siteWords?.["Contents"] ?? "Contents");
  document.querySelector(".toc-drawer")?.setAttribute("aria-label", siteWords?.["On this page"] ?? "On this page");
  // What scrolls sideways can be reached by keyboard.
  for (const area of document.querySelectorAll("div.highlight pre, table.scrolls")) {
    if (area.scrollWidth > area.clientWidth) area.tabIndex = 0;
  }
});
