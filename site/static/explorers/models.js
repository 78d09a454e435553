// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What the explorers compute, without a page around it.
"use strict";
const LabModels = (() => {
  const WARP = 32;

  // --- index expressions ------------------------------------------------------------------------

  const NAMES = {
    i: "i", lane: "i", "threadIdx.x": "i", t: "i",
    "blockDim.x": "blockDim", "blockIdx.x": "blockIdx",
  };
  const LEVELS = [["|"], ["^"], ["&"], ["<<", ">>"], ["+", "-"], ["*", "/", "%"]];

  /// An expression of C with whole numbers, as a function of {i, blockDim, blockIdx}. Throws an
  /// Error with a sentence for what is none.
  function parse(text) {
    const tokens = text.match(/\s+|<<|>>|0[xX][0-9a-fA-F]+|\d+|[A-Za-z_][\w.]*|[-+*/%^&|~()]|./g) || [];
    const words = tokens.filter((token) => token.trim() !== "");
    let place = 0;
    const fail = (what) => {
      throw new Error(what);
    };
    const level = (depth) => {
      if (depth === LEVELS.length) return unary();
      let left = level(depth + 1);
      while (LEVELS[depth].includes(words[place])) {
        const operator = words[place++];
        const a = left;
        const b = level(depth + 1);
        left = (v) => apply(operator, a(v), b(v));
      }
      return left;
    };
    const unary = () => {
      if (words[place] === "-" || words[place] === "~" || words[place] === "+") {
        const operator = words[place++];
        const a = unary();
        return operator === "-" ? (v) => -a(v) : operator === "~" ? (v) => ~a(v) : a;
      }
      return primary();
    };
    const primary = () => {
      const word = words[place++];
      if (word === undefined) fail("The expression ends too early.");
      if (word === "(") {
        const inner = level(0);
        if (words[place++] !== ")") fail("A closing parenthesis is missing.");
        return inner;
      }
      if (/^0\d/.test(word)) fail(`“${word}” begins with 0, which means base 8 in C: write it in base 10.`);
      if (/^\d/.test(word)) return () => Number(word);
      if (Object.hasOwn(NAMES, word)) return (v) => v[NAMES[word]] ?? 0;
      return fail(`“${word}” is not understood: use i, whole numbers, + - * / % << >> & | ^ ( ).`);
    };
    const whole = level(0);
    if (place < words.length) fail(`“${words[place]}” is not understood there.`);
    return whole;
  }

  function apply(operator, a, b) {
    if ((operator === "/" || operator === "%") && b === 0) throw new Error("Division by zero.");
    switch (operator) {
      case "+": return a + b;
      case "-": return a - b;
      case "*": return a * b;
      case "/": return Math.trunc(a / b);
      case "%": return a % b;
      case "<<": return a << b;
      case ">>": return a >> b;
      case "&": return a & b;
      case "|": return a | b;
      default: return a ^ b;
    }
  }

  // --- a memory access --------------------------------------------------------------------------

  /// What one request of a warp costs: `indices` has an element per lane, null where a lane does
  /// not take part. Elements have `bytes` bytes (1, 2, 4, 8, 16) and begin at address `start`.
  /// The rules are those of the CPU device's counters (common/cpu_device/src/observers).
  function access(indices, bytes, start = 0) {
    const addresses = indices.map((index) => (index === null ? null : start + index * bytes));
    const sectors = new Map(); // its number -> which of its bytes are used
    for (const address of addresses) {
      if (address === null) continue;
      const sector = Math.floor(address / 32);
      if (!sectors.has(sector)) sectors.set(sector, new Set());
      for (let k = 0; k < bytes; ++k) sectors.get(sector).add(address - 32 * sector + k);
    }
    let used = 0;
    for (const set of sectors.values()) used += set.size;

    // 8 bytes are served for half a warp at a time, 16 for a quarter.
    const together = bytes <= 4 ? WARP : 128 / bytes;
    let wavefronts = 0;
    let idealWavefronts = 0;
    const wordsInBank = new Array(WARP).fill(0); // at most, of what is served together
    for (let begin = 0; begin < WARP; begin += together) {
      const banks = Array.from({length: WARP}, () => new Set());
      let any = false;
      for (let lane = begin; lane < begin + together; ++lane) {
        const address = addresses[lane] ?? null;
        if (address === null) continue;
        any = true;
        const first = Math.floor(address / 4);
        for (let word = first; word < first + Math.ceil(bytes / 4); ++word) {
          const bank = ((word % WARP) + WARP) % WARP;
          banks[bank].add(word);
        }
      }
      if (!any) continue;
      banks.forEach((words, bank) => {
        wordsInBank[bank] = Math.max(wordsInBank[bank], words.size);
      });
      wavefronts += Math.max(...banks.map((bank) => bank.size));
      idealWavefronts += 1;
    }
    return {
      addresses,
      sectors: sectors.size,
      sectorNumbers: [...sectors.keys()].sort((a, b) => a - b),
      bytesUsed: used,
      idealSectors: Math.ceil(used / 32),
      wavefronts,
      idealWavefronts,
      wordsInBank,
    };
  }

  // --- a launch ---------------------------------------------------------------------------------

  /// What each thread of a one-dimensional launch computes, block by block.
  function launch(grid, block, n, stride) {
    const blocks = [];
    for (let b = 0; b < grid; ++b) {
      const threads = [];
      for (let t = 0; t < block; ++t) {
        const first = b * block + t;
        const elements = [];
        for (let e = first; e < n; e += grid * block) {
          elements.push(e);
          if (!stride) break;
        }
        threads.push(elements);
      }
      blocks.push(threads);
    }
    const threads = grid * block;
    return {
      blocks,
      threads,
      idle: Math.max(0, threads - n),
      missed: stride ? 0 : Math.max(0, n - threads),
      ...warpsOf(grid, block),
      rounds: stride ? Math.ceil(n / threads) : Math.min(n, 1),
    };
  }

  function warpsOf(blocks, threads) {
    const inBlock = Math.ceil(threads / WARP);
    return {warps: blocks * inBlock, emptyLanes: blocks * (inBlock * WARP - threads)};
  }

  /// The same of a launch in two dimensions, for an image: its threads row by row, each with its
  /// pixel, or null. `grid`, `block` and `image` are pairs: x and y.
  function plane(grid, block, image) {
    const [columns, rows] = [grid[0] * block[0], grid[1] * block[1]];
    const threads = Array.from({length: columns * rows}, (_, k) => {
      const [x, y] = [k % columns, Math.floor(k / columns)];
      return {
        x, y,
        block: [Math.floor(x / block[0]), Math.floor(y / block[1])],
        thread: [x % block[0], y % block[1]],
        pixel: x < image[0] && y < image[1] ? y * image[0] + x : null,
      };
    });
    const inside = Math.min(columns, image[0]) * Math.min(rows, image[1]);
    return {
      cells: threads,
      columns,
      threads: threads.length,
      idle: threads.length - inside,
      missed: image[0] * image[1] - inside,
      ...warpsOf(grid[0] * grid[1], block[0] * block[1]),
    };
  }

  // --- a reduction ------------------------------------------------------------------------------

  /// The steps of a block that adds up its numbers in a tree. With a barrier all threads do a level
  /// before any does the next; without, each of `order` runs to its end before the next begins.
  function reduction(numbers, barrier, order) {
    const cache = [...numbers];
    const steps = [];
    const add = (thread, half) => {
      const [a, b] = [cache[thread], cache[thread + half]];
      cache[thread] = a + b;
      steps.push({thread, half, from: thread + half, a, b, cache: [...cache]});
    };
    const levels = [];
    for (let half = numbers.length / 2; half >= 1; half /= 2) levels.push(half);
    if (barrier) {
      for (const half of levels) {
        for (const thread of order) if (thread < half) add(thread, half);
        steps.push({barrier: true, half, cache: [...cache]});
      }
    } else {
      for (const thread of order) for (const half of levels) if (thread < half) add(thread, half);
    }
    const right = numbers.reduce((sum, x) => sum + x, 0);
    return {steps, result: cache[0], right, ok: cache[0] === right};
  }

  // --- streams ----------------------------------------------------------------------------------

  /// One call a line: `stream kind duration`, with kind in, kernel or out. Throws an Error that
  /// names the line.
  function parseCalls(text) {
    const calls = [];
    text.split("\n").forEach((line, number) => {
      const words = line.replace(/#.*/, "").trim();
      if (words === "") return;
      const match = words.match(/^(\d+)\s+(in|kernel|out)\s+(\d+)$/);
      if (!match || Number(match[3]) < 1 || Number(match[3]) > 100) {
        throw new Error(`Line ${number + 1}: “${words}” is not a call such as “0 kernel 4”.`);
      }
      calls.push({stream: Number(match[1]), kind: match[2], duration: Number(match[3])});
    });
    if (calls.length > 200) throw new Error("More than 200 calls.");
    return calls;
  }

  /// When each call is carried out: work of one stream is in order, and so is work of one engine.
  function schedule(calls, copyEngines) {
    const engineFree = new Map();
    const streamFree = new Map();
    const placed = calls.map((call) => {
      const engine =
        call.kind === "kernel" ? "kernels" : copyEngines === 1 ? "copies" : `copies ${call.kind}`;
      const start = Math.max(engineFree.get(engine) ?? 0, streamFree.get(call.stream) ?? 0);
      engineFree.set(engine, start + call.duration);
      streamFree.set(call.stream, start + call.duration);
      return {...call, engine, start};
    });
    const end = placed.reduce((last, call) => Math.max(last, call.start + call.duration), 0);
    const work = calls.reduce((sum, call) => sum + call.duration, 0);
    return {placed, end, work};
  }

  // --- occupancy --------------------------------------------------------------------------------

  // Of a multiprocessor: resident warps and blocks, KiB of shared memory in all and for one block,
  // the unit in bytes in which it is given out, and what the system keeps of it for each block.
  const LIMITS = {
    "7.0": {name: "Volta, V100", warps: 64, blocks: 32, shared: 96, sharedBlock: 96, unit: 256, reserved: 0},
    "7.5": {name: "Turing", warps: 32, blocks: 16, shared: 64, sharedBlock: 64, unit: 256, reserved: 0},
    "8.0": {name: "Ampere, A100", warps: 64, blocks: 32, shared: 164, sharedBlock: 163, unit: 128, reserved: 1024},
    "8.6": {name: "Ampere, RTX 30", warps: 48, blocks: 16, shared: 100, sharedBlock: 99, unit: 128, reserved: 1024},
    "8.9": {name: "Ada, RTX 40", warps: 48, blocks: 24, shared: 100, sharedBlock: 99, unit: 128, reserved: 1024},
    "9.0": {name: "Hopper, H100, H200", warps: 64, blocks: 32, shared: 228, sharedBlock: 227, unit: 128, reserved: 1024},
    "10.0": {name: "Blackwell, B200", warps: 64, blocks: 32, shared: 228, sharedBlock: 227, unit: 128, reserved: 1024},
    "12.0": {name: "Blackwell, RTX 50", warps: 48, blocks: 24, shared: 100, sharedBlock: 99, unit: 128, reserved: 1024},
  };
  const REGISTERS = 65536;
  const up = (value, unit) => Math.ceil(value / unit) * unit;

  /// How many blocks fit on a multiprocessor, by each limit. `shared` is in bytes.
  function occupancy(capability, {threads, registers, shared}) {
    const limits = LIMITS[capability];
    const warps = Math.ceil(threads / WARP);
    const byWarps = Math.floor(limits.warps / warps);
    // Each of the four parts of a multiprocessor has a quarter of the registers.
    const warpRegisters = up(Math.max(registers, 1) * WARP, 256);
    const warpsByRegisters = 4 * Math.floor(REGISTERS / 4 / warpRegisters);
    const byRegisters = Math.floor(warpsByRegisters / warps);
    const perBlock = up(shared + limits.reserved, limits.unit);
    const byShared =
      shared > limits.sharedBlock * 1024 ? 0
      : perBlock === 0 ? limits.blocks
      : Math.floor((limits.shared * 1024) / perBlock);
    const all = {blocks: limits.blocks, warps: byWarps, registers: byRegisters, "shared memory": byShared};
    const blocks = Math.min(...Object.values(all));
    const limitedBy = Object.keys(all).filter((name) => all[name] === blocks);
    return {
      limits: all, blocks, limitedBy,
      warps: blocks * warps,
      occupancy: (blocks * warps) / limits.warps,
      mostWarps: limits.warps,
    };
  }

  // --- the roofline -----------------------------------------------------------------------------

  /// The most that a kernel can reach, in GFLOP/s: peak in GFLOP/s, bandwidth in GB/s, intensity in
  /// operations a byte.
  const roofline = (peak, bandwidth, intensity) => Math.min(peak, bandwidth * intensity);

  return {WARP, LIMITS, parse, access, launch, plane, reduction, parseCalls, schedule, occupancy, roofline};
})();
