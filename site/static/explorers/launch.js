// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

"use strict";
LabPage.explorers.launch = (place) => {
  const {element, slider, choice, facts} = LabPage;
  const draw = () => (shape.value === "two" ? drawTwo() : drawOne());
  const shape = choice(
    "Kernel",
    [
      ["guard", "one element per thread: if (i < n)"],
      ["stride", "grid-stride loop: i += gridDim.x * blockDim.x"],
      ["two", "two dimensions: if (x < width && y < height)"],
    ],
    () => {
      for (const s of one) s.box.hidden = shape.value === "two";
      for (const s of two) s.box.hidden = shape.value !== "two";
      draw();
    });
  const grid = slider("gridDim.x (blocks)", {min: 1, max: 8, value: 3, change: draw});
  const block = slider("blockDim.x (threads in a block)", {min: 1, max: 64, value: 8, change: draw});
  const n = slider("n (elements)", {min: 0, max: 256, value: 20, change: draw});
  const one = [grid, block, n];
  const gx = slider("gridDim.x", {min: 1, max: 4, value: 3, change: draw});
  const gy = slider("gridDim.y", {min: 1, max: 4, value: 2, change: draw});
  const bx = slider("blockDim.x", {min: 1, max: 8, value: 4, change: draw});
  const by = slider("blockDim.y", {min: 1, max: 8, value: 4, change: draw});
  const width = slider("width", {min: 1, max: 32, value: 10, change: draw});
  const height = slider("height", {min: 1, max: 32, value: 6, change: draw});
  const two = [gx, gy, bx, by, width, height];
  for (const s of two) s.box.hidden = true;
  const about = element("p", {class: "about", "aria-live": "polite"}, "Point at a thread, or walk to it with Tab and the arrow keys.");
  const numbers = facts();
  const picture = element("div", {class: "threads"});
  place.append(
    element("div", {class: "controls"}, shape.box, one.map((s) => s.box), two.map((s) => s.box)),
    numbers.box, about, picture);

  // Of all threads one can be reached with Tab; arrow keys move from there: up and down by a row.
  function keys(cells, row = 1) {
    cells.forEach((cell, k) => {
      cell.tabIndex = k === 0 ? 0 : -1;
      const tell = () => { about.textContent = cell.getAttribute("aria-label"); };
      cell.addEventListener("focus", tell);
      cell.addEventListener("mouseenter", tell);
      cell.addEventListener("keydown", (event) => {
        const step = {ArrowRight: 1, ArrowDown: row, ArrowLeft: -1, ArrowUp: -row}[event.key];
        const next = cells[k + (step ?? 0)];
        if (!step || !next) return;
        event.preventDefault();
        cell.tabIndex = -1;
        next.tabIndex = 0;
        next.focus();
      });
    });
  }

  function drawOne() {
    const stride = shape.value === "stride";
    const launch = LabModels.launch(grid.value, block.value, n.value, stride);
    numbers.show([
      ["threads", launch.threads],
      ["warps", `${launch.warps}, with ${launch.emptyLanes} empty lanes`],
      stride ? ["rounds", launch.rounds] : ["threads that the guard stops", launch.idle],
      ["elements that nobody computes", launch.missed, launch.missed > 0],
    ]);
    const cells = [];
    picture.replaceChildren(
      ...launch.blocks.map((threads, b) =>
        element(
          "div", {class: "block", role: "group", "aria-label": `block ${b}`},
          element("div", {class: "name"}, `block ${b}`),
          element(
            "div", {class: "cells"},
            threads.map((elements, t) => {
              const i = b * block.value + t;
              const does = elements.length === 0 ? "nothing" :
                elements.length === 1 ? `element ${elements[0]}` :
                `elements ${elements.slice(0, 6).join(", ")}${elements.length > 6 ? ", …" : ""}`;
              const cell = element(
                "button",
                {
                  type: "button", class: elements.length ? "thread" : "thread idle",
                  "aria-label": `blockIdx.x = ${b}, threadIdx.x = ${t}: index ${b} * ${block.value} + ${t} = ${i}; computes ${does}`,
                },
                elements.length ? String(elements[0]) : "–");
              cells.push(cell);
              return cell;
            })))));
    keys(cells);
  }

  function drawTwo() {
    const plane = LabModels.plane(
      [gx.value, gy.value], [bx.value, by.value], [width.value, height.value]);
    numbers.show([
      ["threads", plane.threads],
      ["warps", `${plane.warps}, with ${plane.emptyLanes} empty lanes`],
      ["threads that the guard stops", plane.idle],
      ["pixels that nobody computes", plane.missed, plane.missed > 0],
    ]);
    const cells = plane.cells.map(({x, y, block, thread, pixel}) =>
      element("button", {
        type: "button",
        class: `thread ${pixel === null ? "idle" : ""} ${(block[0] + block[1]) % 2 ? "odd" : ""}`,
        "aria-label": `block (${block.join(", ")}), thread (${thread.join(", ")}): x = ${x}, y = ${y}; ` +
          (pixel === null ? "outside, does nothing" : `pixel ${pixel}`),
      }));
    const table = element("div", {class: "plane", style: `--columns: ${plane.columns}`}, cells);
    picture.replaceChildren(table);
    keys(cells, plane.columns);
  }
  draw();
};
