// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What the theme leaves to be done for screen readers and keyboards.
"use strict";

// Translated pages: what scripts write into them. The rest is in site/words.py.
const siteWords = {
  pl: {
    "Contents": "Spis treści",
    "On this page": "Na tej stronie",
    "Code": "Kod",
    "Table": "Tabela",
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
  // The arrow's title, "Expand", would become a part of the names of the links to the pages around.
  document.querySelector("#svg-arrow-right title")?.remove();
  // Two landmarks of one kind need names to be told apart.
  document.querySelector(".sidebar-drawer")?.setAttribute("aria-label", siteWords?.["Contents"] ?? "Contents");
  document.querySelector(".toc-drawer")?.setAttribute("aria-label", siteWords?.["On this page"] ?? "On this page");
  // On narrow screens, what opens the contents is a label, which a keyboard cannot reach: a button can.
  for (const [id, drawer] of [["__navigation", ".sidebar-drawer"], ["__toc", ".toc-drawer"]]) {
    const state = document.getElementById(id), contents = document.querySelector(drawer);
    if (!state || !contents) continue;
    const buttons = [...document.querySelectorAll(`label[for="${id}"]:not(.overlay)`)].map((label) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = label.className;
      button.setAttribute("aria-label", state.getAttribute("aria-label"));
      button.append(...label.childNodes);
      label.replaceWith(button);
      return button;
    });
    const show = (open) => {
      state.checked = open;
      for (const button of buttons) button.setAttribute("aria-expanded", open);
    };
    show(state.checked);
    state.addEventListener("change", () => show(state.checked));
    for (const button of buttons) {
      button.addEventListener("click", () => {
        show(!state.checked);
        if (!state.checked) return;
        [...contents.querySelectorAll("a, input")].find((each) => each.getClientRects().length)?.focus();
      });
    }
    contents.addEventListener("keydown", (event) => {
      if (event.key != "Escape" || !state.checked) return;
      show(false);
      buttons.find((button) => button.getClientRects().length)?.focus();
    });
  }
  // What scrolls sideways shows at which edge there is more, can be reached by keyboard, and has a name.
  const areas = [["Code", "div.highlight pre"], ["Table", ".table-wrapper"]].flatMap(([kind, selector]) =>
    [...document.querySelectorAll(selector)].map((area, i) => {
      const heading = area.closest("section")?.querySelector("h1, h2, h3, h4, h5, h6")?.firstChild?.textContent;
      const name = [`${siteWords?.[kind] ?? kind} ${i + 1}`, heading].filter(Boolean).join(": ");
      return {area, name};
    }));
  const showEdges = ({area, name}) => {
    const hidden = area.scrollWidth - area.clientWidth;
    area.classList.toggle("more-left", area.scrollLeft > 1);
    area.classList.toggle("more-right", area.scrollLeft < hidden - 1);
    if (hidden > 1) {
      area.tabIndex = 0;
      area.setAttribute("role", "region");
      area.setAttribute("aria-label", name);
    } else {
      for (const attribute of ["tabindex", "role", "aria-label"]) area.removeAttribute(attribute);
    }
  };
  for (const each of areas) {
    showEdges(each);
    each.area.addEventListener("scroll", () => showEdges(each), {passive: true});
  }
  window.addEventListener("resize", () => areas.forEach(showEdges));
  // On paper nothing can be opened.
  window.addEventListener("beforeprint", () => {
    for (const answer of document.querySelectorAll("details.answer")) answer.open = true;
  });
});
