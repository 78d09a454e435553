// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

"use strict";
LabPage.explorers.access = (place) => {
  const {element, field, choice, slider, facts, table} = LabPage;
  const draw = () => show();
  const index = field("Index of lane i", {value: "i", change: draw, spellcheck: "false", class: "code"});
  const example = choice(
    "Examples",
    [
      ["", "choose one"],
      ["i", "neighbours: i"],
      ["i + 1", "offset: i + 1"],
      ["2 * i", "stride 2"],
      ["32 * i", "a column of tile[32][32]"],
      ["33 * i", "a column of tile[32][33]"],
      ["i / 8", "eight lanes share an element"],
      ["0", "all the same: a broadcast"],
      ["i ^ 1", "pairs swapped"],
      ["(i * 7) % 32", "a permutation"],
    ],
    () => {
      if (example.value !== "") index.input.value = example.value;
      show();
    });
  const bytes = choice(
    "Bytes of an element",
    [["1", "1: char"], ["2", "2: short, half"], ["4", "4: int, float"], ["8", "8: double, float2"], ["16", "16: float4"]],
    draw, "4");
  const start = slider("Address of element 0 (in elements from a multiple of 128 bytes)", {min: 0, max: 31, value: 0, change: draw});
  const lanes = slider("Lanes that take part", {min: 1, max: 32, value: 32, change: draw});
  const problem = element("p", {class: "problem", role: "alert"});
  const numbers = facts();
  const sectors = element("div");
  const banks = element("div");
  place.append(
    element("div", {class: "controls"}, index.box, example.box, bytes.box, start.box, lanes.box),
    problem, numbers.box, sectors, banks);

  function show() {
    const size = Number(bytes.value);
    let indices;
    try {
      const f = LabModels.parse(index.value);
      indices = Array.from({length: 32}, (_, i) => (i < lanes.value ? f({i, blockDim: 32, blockIdx: 0}) : null));
      const wrong = indices.findIndex((x) => x !== null && (x < 0 || x > 1e6));
      if (wrong >= 0) throw new Error(`Lane ${wrong} has the index ${indices[wrong]}: it must be from 0 to 1000000.`);
      problem.textContent = "";
    } catch (error) {
      problem.textContent = error.message;
      numbers.show([]);  // results would be those of what was there before
      for (const part of [sectors, banks]) part.replaceChildren();
      return;
    }
    const cost = LabModels.access(indices, size, start.value * size);
    const used = Math.round((100 * cost.bytesUsed) / (32 * cost.sectors));
    numbers.show([
      ["in global memory: sectors", `${cost.sectors} (best: ${cost.idealSectors})`, cost.sectors > cost.idealSectors],
      ["bytes of them that are used", `${used} %`],
      ["in shared memory: wavefronts", `${cost.wavefronts} (best: ${cost.idealWavefronts})`, cost.wavefronts > cost.idealWavefronts],
    ]);

    const lanesOf = new Map();
    cost.addresses.forEach((address, lane) => {
      if (address === null) return;
      const sector = Math.floor(address / 32);
      if (!lanesOf.has(sector)) lanesOf.set(sector, []);
      lanesOf.get(sector).push(lane);
    });
    sectors.replaceChildren(table(
      "Global memory: the sectors, and the lanes that need them",
      ["sector", "bytes", "lanes"],
      cost.sectorNumbers.map((s) => [s, `${32 * s} to ${32 * s + 31}`, ranges(lanesOf.get(s))])));

    const most = Math.max(...cost.wordsInBank);
    const together = Math.min(32, 128 / size);
    banks.replaceChildren(
      element("h2", {}, "Shared memory: how many different words (bold) in which bank"),
      ...(together < 32 ? [element("p", {}, `Elements of ${size} bytes are served for ${together} lanes at a time: a bank's number is the largest of these.`)] : []),
      element(
        "div", {class: "banks", role: "img",
          "aria-label": `Different words in banks 0 to 31: ${cost.wordsInBank.join(", ")}`},
        cost.wordsInBank.map((words, bank) =>
          element(
            "div", {class: words > 1 ? "bank many" : words ? "bank" : "bank none"},
            element("div", {class: "bar", style: `--share: ${words / Math.max(most, 1)}`}),
            element("div", {class: "words"}, String(words)),
            element("div", {class: "name"}, String(bank))))));
  }

  function ranges(lanes) {
    const parts = [];
    for (let k = 0; k < lanes.length; ++k) {
      const first = lanes[k];
      while (lanes[k + 1] === lanes[k] + 1) ++k;
      parts.push(lanes[k] === first ? `${first}` : `${first}–${lanes[k]}`);
    }
    return parts.join(", ");
  }
  show();
};
