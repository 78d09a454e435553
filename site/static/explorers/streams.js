// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

"use strict";
LabPage.explorers.streams = (place) => {
  const {element, svg, choice, facts, table} = LabPage;
  const chunk = (stream) => [`${stream} in 2`, `${stream} in 2`, `${stream} kernel 4`, `${stream} out 2`];
  const [a, b] = [chunk(0), chunk(1)];
  const EXAMPLES = {
    depth: [...a, ...b, ...a, ...b],
    breadth: [0, 1, 2, 3].flatMap((k) => [a[k], b[k]]).concat([0, 1, 2, 3].flatMap((k) => [a[k], b[k]])),
    one: [...a, ...a, ...a, ...a],
    four: [0, 1, 2, 3].flatMap(chunk),
  };
  const calls = element("textarea", {rows: 16, spellcheck: "false", class: "code", oninput: () => show()});
  calls.id = "stream-calls";
  const example = choice(
    "Examples",
    [
      ["depth", "two streams, depth-first"],
      ["breadth", "two streams, breadth-first"],
      ["one", "one stream"],
      ["four", "four streams, depth-first"],
    ],
    () => {
      calls.value = EXAMPLES[example.value].join("\n");
      show();
    });
  const engines = choice(
    "Engines for copies",
    [["both", "one, for both directions (2010)"], ["each", "one for each direction (today)"]], () => show());
  const problem = element("p", {class: "problem", role: "alert"});
  const numbers = facts();
  const picture = element("div", {class: "timeline", tabindex: "0", role: "region", "aria-label": "the timeline"});
  const rows = element("div");
  place.append(
    element(
      "div", {class: "controls"}, example.box, engines.box,
      element("div", {class: "control"},
        element("label", {for: calls.id}, "Calls of the host, in this order: stream, then in, kernel or out, then its duration"), calls)),
    problem, numbers.box, picture, rows);

  function show() {
    let plan;
    try {
      plan = LabModels.schedule(LabModels.parseCalls(calls.value), engines.value === "both" ? 1 : 2);
      problem.textContent = "";
    } catch (error) {
      problem.textContent = error.message;
      numbers.show([]);  // results would be those of what was there before
      for (const part of [picture, rows]) part.replaceChildren();
      return;
    }
    numbers.show([
      ["time", plan.end],
      ["without any overlap", plan.work],
      ["gain", plan.end ? `${(plan.work / plan.end).toFixed(2)} times as fast` : "–"],
    ]);
    const names = engines.value === "both" ? ["copies", "kernels"] : ["copies in", "kernels", "copies out"];
    const unit = Math.max(14, Math.min(30, 560 / Math.max(plan.end, 1)));
    const [left, row] = [92, 44];
    const [w, h] = [left + unit * plan.end + 24, row * names.length + 26];
    const drawing = svg("svg", {width: w, height: h, viewBox: `0 0 ${w} ${h}`, role: "img",
      "aria-label": `A timeline of ${plan.placed.length} calls that takes ${plan.end} units; the table below has its numbers`});
    names.forEach((name, k) => {
      drawing.append(
        svg("text", {x: 0, y: row * k + 26}, name),
        svg("line", {x1: left, x2: w, y1: row * (k + 1) - 2, y2: row * (k + 1) - 2}));
    });
    for (const call of plan.placed) {
      const y = row * names.indexOf(call.engine) + 4;
      drawing.append(
        svg("rect", {class: `stream-${call.stream % 4}`, x: left + unit * call.start, y, width: unit * call.duration - 2, height: row - 12, rx: 3}),
        svg("text", {class: "in", x: left + unit * (call.start + call.duration / 2) - 1, y: y + 21, "text-anchor": "middle"}, String(call.stream)));
    }
    for (let t = 0; t <= plan.end; t += plan.end > 40 ? 10 : 2) {
      drawing.append(svg("text", {class: "tick", x: left + unit * t, y: h - 6, "text-anchor": "middle"}, String(t)));
    }
    picture.replaceChildren(drawing);
    rows.replaceChildren(table(
      "When each call is carried out", ["call", "stream", "engine", "from", "to"],
      plan.placed.map((c) => [c.kind, c.stream, c.engine, c.start, c.start + c.duration])));
  }
  calls.value = EXAMPLES.depth.join("\n");
  show();
};
