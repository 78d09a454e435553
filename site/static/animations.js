// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Ripple (04.2) and heat (08.4), computed in the page: the reader can stop them, as nobody can stop
// a recorded animation. Those who have asked for less motion see the still until they press Play.
"use strict";
const LabAnimations = (() => {
  const SIZE = 192;  // cells and pixels a side

  /// The grey of a pixel, as in labs/04_images/2_ripple/reference.hpp.
  function rippleAt(width, height, tick, x, y) {
    const d = Math.hypot(x - width / 2, y - height / 2);
    return 128 + 127 * Math.cos(d / 10 - tick / 7) / (d / 10 + 1);
  }

  /// The book's plate, as in labs/08_textures/4_heat_transfer/scene.hpp.
  function plate(width, height) {
    const heaters = new Float32Array(width * height);
    const fill = (cells, left, top, right, bottom, temperature) => {
      const x0 = Math.floor(left * width / 1024), y0 = Math.floor(top * height / 1024);
      const x1 = Math.max(Math.floor(right * width / 1024), x0 + 1);
      const y1 = Math.max(Math.floor(bottom * height / 1024), y0 + 1);
      for (let y = y0; y < y1; ++y) cells.fill(temperature, y * width + x0, y * width + x1);
    };
    const cold = 0.0001;
    fill(heaters, 301, 311, 600, 601, 1);
    fill(heaters, 100, 100, 101, 101, (1 + cold) / 2);
    for (const [x, y] of [[100, 700], [300, 300], [700, 200]])
      fill(heaters, x, y, x + 1, y + 1, cold);
    fill(heaters, 400, 800, 500, 900, cold);
    const cells = heaters.slice();
    fill(cells, 0, 800, 200, 1024, 1);
    return {width, height, heaters, cells};
  }

  /// One time step, as in labs/08_textures/4_heat_transfer/reference.hpp.
  function heatStep({width, height, heaters, cells}) {
    for (let i = 0; i < cells.length; ++i) if (heaters[i] !== 0) cells[i] = heaters[i];
    const next = new Float32Array(cells.length);
    for (let y = 0; y < height; ++y) {
      const up = Math.max(y - 1, 0) * width, down = Math.min(y + 1, height - 1) * width;
      for (let x = 0; x < width; ++x) {
        const own = cells[y * width + x];
        const around = cells[up + x] + cells[down + x] + cells[y * width + Math.max(x - 1, 0)]
            + cells[y * width + Math.min(x + 1, width - 1)];
        next[y * width + x] = own + 0.25 * (around - 4 * own);
      }
    }
    return {width, height, heaters, cells: next};
  }

  const STOPS = [
    [0, 8, 10, 28], [0.12, 24, 34, 104], [0.32, 108, 28, 140], [0.52, 206, 46, 92],
    [0.72, 250, 122, 38], [0.88, 255, 204, 72], [1, 255, 252, 226],
  ];

  function colourOf(temperature) {
    const t = temperature > 0 ? Math.sqrt(Math.min(temperature, 1)) : 0;
    let i = 1;
    while (i + 1 < STOPS.length && t > STOPS[i][0]) ++i;
    const [from, to] = [STOPS[i - 1], STOPS[i]];
    const part = (t - from[0]) / (to[0] - from[0]);
    return [1, 2, 3].map((k) => Math.round(from[k] + part * (to[k] - from[k])));
  }

  // Each returns a function that gives the colour of pixel i in the next frame.
  const SCENES = {
    ripple() {
      let tick = -1;
      return () => {
        ++tick;
        return (i) => {
          const grey = Math.floor(rippleAt(SIZE, SIZE, tick, i % SIZE, Math.floor(i / SIZE)));
          return [grey, grey, grey];
        };
      };
    },
    heat() {
      let state = plate(SIZE, SIZE), frame = -1;
      return () => {
        if (++frame % 240 === 0) state = plate(SIZE, SIZE);  // it is hardly changing any more
        else for (let i = 0; i < 12; ++i) state = heatStep(state);
        return (i) => colourOf(state.cells[i]);
      };
    },
  };

  function animate(image, scene) {
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = SIZE;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", image.alt);
    const button = document.createElement("button");
    const box = document.createElement("div");
    box.className = "animation";
    image.replaceWith(box);
    box.append(image, button);

    const context = canvas.getContext("2d");
    const pixels = context.createImageData(SIZE, SIZE);
    const next = scene();
    const draw = () => {
      const colour = next();
      for (let i = 0; i < SIZE * SIZE; ++i) pixels.data.set([...colour(i), 255], 4 * i);
      context.putImageData(pixels, 0, 0);
      box.dataset.frames = Number(box.dataset.frames || 0) + 1;
    };
    let timer = null;
    const play = (on) => {
      if (on && image.isConnected) {
        draw();
        image.replaceWith(canvas);
      }
      clearInterval(timer);
      timer = on ? setInterval(() => document.hidden || draw(), 50) : null;
      button.textContent = on ? "Pause" : "Play";
    };
    button.addEventListener("click", () => play(timer === null));
    play(!matchMedia("(prefers-reduced-motion: reduce)").matches);
  }

  document.addEventListener("DOMContentLoaded", () => {
    for (const image of document.querySelectorAll("article img")) {
      const name = /\/(\w+)\.png$/.exec(image.src);
      if (name && SCENES[name[1]]) animate(image, SCENES[name[1]]);
    }
  });
  return {rippleAt, plate, heatStep, colourOf};
})();
