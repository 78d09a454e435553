// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

"use strict";
LabPage.explorers.reduction = (place) => {
  const {element, choice, check, facts} = LabPage;
  const NUMBERS = [3, 1, 7, 0, 4, 1, 6, 3];
  const ORDERS = {
    up: [0, 1, 2, 3, 4, 5, 6, 7],
    down: [7, 6, 5, 4, 3, 2, 1, 0],
    mixed: [1, 4, 5, 3, 0, 7, 2, 6],
  };
  let at = 0;
  let run;
  const restart = () => {
    run = LabModels.reduction(NUMBERS, barrier.value, ORDERS[order.value]);
    at = 0;
    show();
  };
  const barrier = check("__syncthreads() after each level", {checked: true, change: restart});
  const order = choice(
    "Order in which the threads run",
    [["up", "0, 1, 2, … 7"], ["down", "7, 6, 5, … 0"], ["mixed", "1, 4, 5, 3, 0, …"]], restart);
  const move = (by) => {
    at = Math.min(Math.max(at + by, 0), run.steps.length);
    show();
  };
  const back = element("button", {type: "button", onclick: () => move(-1)}, "Back");
  const next = element("button", {type: "button", onclick: () => move(1)}, "Next step");
  const last = element("button", {type: "button", onclick: () => move(run.steps.length)}, "To the end");
  const first = element("button", {type: "button", onclick: () => move(-run.steps.length)}, "Start again");
  const about = element("p", {class: "about", "aria-live": "polite"});
  const cache = element("div", {class: "cache", role: "group", "aria-label": "cache, in shared memory"});
  const numbers = facts();
  place.append(
    element("div", {class: "controls"}, barrier.box, order.box),
    element("div", {class: "buttons"}, first, back, next, last),
    about, cache, numbers.box);

  function show() {
    const step = at > 0 ? run.steps[at - 1] : null;
    const values = step ? step.cache : NUMBERS;
    cache.replaceChildren(
      ...values.map((value, i) => {
        const kind = !step || step.barrier ? "" : i === step.thread ? "written" : i === step.from ? "read" : "";
        return element(
          "div", {class: `cell ${kind}`},
          element("span", {class: "name"}, `[${i}]`), element("span", {class: "value"}, String(value)));
      }));
    if (!step) about.textContent = "Each thread has written its number to shared memory, and all have passed a barrier.";
    else if (step.barrier) about.textContent = `Barrier: all threads have done the level half = ${step.half}.`;
    else about.textContent =
      `Thread ${step.thread}, half = ${step.half}: cache[${step.thread}] += cache[${step.from}], ${step.a} + ${step.b} = ${step.a + step.b}.`;
    const done = at === run.steps.length;
    numbers.show([
      ["step", `${at} of ${run.steps.length}`],
      ["sum", done ? `${run.result}: ${run.ok ? "right" : "wrong"}` : "…", done && !run.ok],
      ["it should be", run.right],
    ]);
    // Not `disabled`: a button that was just pressed by keyboard would lose the focus.
    for (const button of [back, first]) button.setAttribute("aria-disabled", at === 0);
    for (const button of [next, last]) button.setAttribute("aria-disabled", done);
  }
  restart();
};
