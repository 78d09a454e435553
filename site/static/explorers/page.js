// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What the explorers' pages are made of: controls with labels, tables, and drawings. Each explorer
// registers a function that fills its <div data-explorer="name">.
"use strict";
const LabPage = (() => {
  const explorers = {};

  function element(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    return fill(made, attributes, children);
  }

  function svg(name, attributes = {}, ...children) {
    return fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
  }

  function fill(made, attributes, children) {
    for (const [key, value] of Object.entries(attributes)) {
      if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
      else if (value === true) made.setAttribute(key, "");
      else if (value !== false && value !== null) made.setAttribute(key, value);
    }
    made.append(...children.flat());
    return made;
  }

  let count = 0;
  function labelled(label, control) {
    control.id = control.id || `control-${++count}`;
    return element("div", {class: "control"}, element("label", {for: control.id}, label), control);
  }

  /// A slider whose value is shown beside it; `change` is called with nothing.
  function slider(label, {min, max, step = 1, value, change, show = (v) => v}) {
    const input = element("input", {type: "range", min, max, step, value});
    const output = element("output", {}, String(show(Number(value))));
    const update = () => {
      output.textContent = String(show(Number(input.value)));
      input.setAttribute("aria-valuetext", output.textContent);
    };
    input.addEventListener("input", () => {
      update();
      change();
    });
    const box = labelled(label, input);
    output.setAttribute("for", input.id);
    box.append(output);
    update();
    return {box, input, get value() { return Number(input.value); }};
  }

  /// A list to choose from: pairs of a value and what is shown.
  function choice(label, options, change, value) {
    const select = element(
      "select", {onchange: change},
      options.map(([key, text]) => element("option", {value: key}, text)));
    if (value !== undefined) select.value = value;
    return {box: labelled(label, select), input: select, get value() { return select.value; }};
  }

  function field(label, {value, change, type = "text", ...more}) {
    const input = element("input", {type, value, oninput: change, autocomplete: "off", ...more});
    return {box: labelled(label, input), input, get value() { return input.value; }};
  }

  function check(label, {checked, change}) {
    const input = element("input", {type: "checkbox", checked, onchange: change});
    return {box: labelled(label, input), input, get value() { return input.checked; }};
  }

  /// Rows of numbers with names; what changes is read aloud.
  function facts() {
    const list = element("dl", {class: "facts", "aria-live": "polite"});
    return {
      box: list,
      show(rows) {
        list.replaceChildren(
          ...rows.map(([name, value, bad]) =>
            element("div", bad ? {class: "bad"} : {}, element("dt", {}, name), element("dd", {}, String(value)))));
      },
    };
  }

  function table(caption, head, rows) {
    return element(
      "div", {class: "table", tabindex: "0", role: "region", "aria-label": caption},
      element(
        "table", {},
        element("caption", {}, caption),
        element("thead", {}, element("tr", {}, head.map((text) => element("th", {scope: "col"}, text)))),
        element("tbody", {}, rows.map((row) => element("tr", {}, row.map((cell) => element("td", {}, String(cell))))))));
  }

  document.addEventListener("DOMContentLoaded", () => {
    for (const place of document.querySelectorAll("[data-explorer]")) {
      const start = explorers[place.dataset.explorer];
      if (!start) continue;
      place.replaceChildren();
      start(place);
      place.dataset.ready = "yes";
    }
  });

  return {explorers, element, svg, slider, choice, field, check, facts, table};
})();
