// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

"use strict";
LabPage.explorers.roofline = (place) => {
  const {element, svg, field, facts, table} = LabPage;
  // Operations for each byte of global memory that must be moved.
  const KERNELS = [
    ["03.1 vector_add", 1 / 12, "an addition; 8 bytes in, 4 out"],
    ["05.1 dot_product", 2 / 8, "a multiplication and an addition; 8 bytes in"],
    ["08.4 heat_transfer", 7 / 12, "7 operations; 12 bytes"],
    ["06.5 tile_16", 4, "each number is used 16 times"],
    ["06.5 tile_32", 8, "each number is used 32 times"],
    ["06.5 double_buffered", 32, "tiles of 128 × 128"],
  ];
  const [LEAST, MOST] = [0.001, 1e9];  // what there is room for, also in their quotient
  const draw = () => show();
  const peak = field("Peak rate, GFLOP/s", {value: "67000", change: draw, inputmode: "decimal"});
  const bandwidth = field("Bandwidth, GB/s", {value: "4800", change: draw, inputmode: "decimal"});
  const own = field("Your kernel: operations per byte", {value: "1", change: draw, inputmode: "decimal"});
  const problem = element("p", {class: "problem", role: "alert"});
  const numbers = facts();
  const picture = element("div", {class: "chart"});
  const rows = element("div");
  place.append(
    element("div", {class: "controls"}, peak.box, bandwidth.box, own.box), problem, numbers.box, picture, rows);

  function show() {
    const [p, b, x] = [peak, bandwidth, own].map((f) => Number(f.value.trim() === "" ? NaN : f.value));
    if (![p, b, x].every((v) => v >= LEAST && v <= MOST)) {
      problem.textContent = `All three must be numbers from ${LEAST} to ${format(MOST)}.`;
      numbers.show([]);  // results would be those of what was there before
      for (const part of [picture, rows]) part.replaceChildren();
      return;
    }
    problem.textContent = "";
    const ridge = p / b;
    numbers.show([
      ["your kernel reaches at most", `${format(LabModels.roofline(p, b, x))} GFLOP/s`],
      ["it is", x < ridge ? "memory bound" : "compute bound"],
      ["the ridge is at", `${format(ridge)} operations per byte`],
    ]);
    const points = [...KERNELS, ["your kernel", x, ""]];
    const [w, h, left, bottom] = [680, 380, 74, 44];
    const low = Math.min(1 / 32, x / 2);
    const high = Math.max(256, ridge * 4, x * 2);
    const top = p * 2;
    const floor = LabModels.roofline(p, b, low) / 2;
    const px = (v) => left + ((w - left - 16) * Math.log(v / low)) / Math.log(high / low);
    const py = (v) => h - bottom - ((h - bottom - 12) * Math.log(v / floor)) / Math.log(top / floor);
    const chart = svg("svg", {viewBox: `0 0 ${w} ${h}`, role: "img",
      "aria-label": `The roofline: ${format(b)} GB/s up to ${format(ridge)} operations per byte, then ${format(p)} GFLOP/s. The table below has the kernels.`});
    for (let e = Math.ceil(Math.log10(floor)); 10 ** e < top; ++e) {
      chart.append(
        svg("line", {class: "grid", x1: left, x2: w - 16, y1: py(10 ** e), y2: py(10 ** e)}),
        svg("text", {x: left - 8, y: py(10 ** e) + 5, "text-anchor": "end"}, e < -2 || e > 5 ? `1e${e}` : e < 3 ? String(10 ** e) : `${10 ** (e - 3)}k`));
    }
    const step = 2 * Math.ceil(Math.log2(high / low) / 24);  // so that numbers do not touch
    for (let e = Math.ceil(Math.log2(low)); 2 ** e <= high; e += step) {
      chart.append(
        svg("line", {class: "grid", y1: 12, y2: h - bottom, x1: px(2 ** e), x2: px(2 ** e)}),
        svg("text", {x: px(2 ** e), y: h - bottom + 18, "text-anchor": "middle"}, Math.abs(e) > 9 ? `2^${e}` : e < 0 ? `1/${2 ** -e}` : String(2 ** e)));
    }
    chart.append(
      svg("text", {x: (left + w) / 2, y: h - 6, "text-anchor": "middle"}, "operations per byte"),
      svg("text", {x: left + 6, y: 26}, "GFLOP/s"),
      svg("path", {class: "roof", d: `M${px(low)} ${py(b * low)}L${px(ridge)} ${py(p)}L${px(high)} ${py(p)}`}));
    points.forEach(([name, intensity], k) => {
      const y = py(LabModels.roofline(p, b, intensity));
      const mine = name === "your kernel";
      chart.append(
        svg("line", {class: mine ? "drop mine" : "drop", x1: px(intensity), x2: px(intensity), y1: y, y2: h - bottom}),
        svg("circle", {class: mine ? "mine" : "", cx: px(intensity), cy: y, r: mine ? 7 : 5}),
        svg("text", {x: px(intensity) + 8, y: y + 18, class: "name"}, mine ? "your kernel" : String(k + 1)));
    });
    picture.replaceChildren(chart);
    rows.replaceChildren(table(
      "The most that kernels can reach", ["", "kernel", "operations per byte", "at most, GFLOP/s", "because"],
      KERNELS.map(([name, i, why], k) => [k + 1, name, format(i), format(LabModels.roofline(p, b, i)), why])));
  }

  function format(v) {
    return v >= 1000 ? Math.round(v).toLocaleString("en-US") : String(Number(v.toPrecision(3)));
  }
  show();
};
