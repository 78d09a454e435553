// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

"use strict";
LabPage.explorers.occupancy = (place) => {
  const {element, slider, choice, facts, table} = LabPage;
  const draw = () => show();
  const capability = choice(
    "Compute capability",
    Object.entries(LabModels.LIMITS).map(([key, l]) => [key, `${key}: ${l.name}`]), draw, "9.0");
  const threads = slider("Threads in a block", {min: 1, max: 1024, value: 256, change: draw});
  const registers = slider("Registers of a thread", {min: 16, max: 255, value: 32, change: draw});
  const shared = slider("Shared memory of a block", {min: 0, max: 227 * 1024, step: 256, value: 0, change: draw,
    show: (v) => (v < 1024 ? `${v} bytes` : `${(v / 1024).toFixed(2)} KiB`)});
  const numbers = facts();
  const bars = element("div");
  const sizes = element("div");
  place.append(
    element("div", {class: "controls"}, capability.box, threads.box, registers.box, shared.box),
    numbers.box, bars, sizes);

  function show() {
    const use = {threads: threads.value, registers: registers.value, shared: shared.value};
    const fit = LabModels.occupancy(capability.value, use);
    numbers.show([
      ["blocks on a multiprocessor", fit.blocks, fit.blocks === 0],
      ["warps", `${fit.warps} of ${fit.mostWarps}`],
      ["occupancy", `${Math.round(100 * fit.occupancy)} %`],
      ["limited by", fit.limitedBy.join(" and ")],
    ]);
    bars.replaceChildren(table(
      "How many blocks each limit allows", ["limit", "blocks"],
      Object.entries(fit.limits).map(([name, blocks]) => [name, blocks])));
    sizes.replaceChildren(table(
      "Other block sizes, with the same registers and shared memory", ["threads", "blocks", "occupancy"],
      [32, 64, 128, 192, 256, 384, 512, 768, 1024].map((size) => {
        const other = LabModels.occupancy(capability.value, {...use, threads: size});
        return [size, other.blocks, `${Math.round(100 * other.occupancy)} %`];
      })));
  }
  show();
};
