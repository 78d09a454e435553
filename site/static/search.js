// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What a result of the search shows of its page: a few sentences of prose around the words that were
// looked for, in bold. Sphinx would take whatever is before and after the first of them: files that an
// exercise links to, words of pictures, source code, answers of hints.
"use strict";

(() => {
  const NO_PROSE = ".headerlink, script, style, svg, button, .alone, .exercise-files, .listing, details.answer";
  const BLOCKS = "p, li, td, th, dt, dd";
  const LENGTH = 240;

  const words = (element) => element.textContent.replace(/\s+/g, " ").trim();

  // Terms are stems ("memori"), so a word is found by its beginning; or else wherever it is.
  const patterns = (terms) => {
    const forms = [...terms].map((term) => term.replace(/[^\p{L}\d_]/gu, ".").replace(/i$/, "[iy]"));
    return [
      forms.map((form) => new RegExp(`(?<![\\p{L}\\d])${form}[\\p{L}\\d_]*`, "iu")),
      forms.map((form) => new RegExp(form, "iu")),
    ];
  };

  // From the beginning of the sentence in which the word is, if that is not too long.
  const cut = (text, at) => {
    const sentence = Math.max(...[". ", "? ", "! "].map((end) => text.lastIndexOf(end, at) + 2), 0);
    let start = text.lastIndexOf(" ", Math.max(at - 100, 0)) + 1;
    if (sentence > 1 && at - sentence < 160) start = sentence;
    if (at < 160) start = 0;
    let end = Math.min(start + LENGTH, text.length);
    if (end < text.length) end = Math.max(text.lastIndexOf(" ", end), at);
    return [start ? "… " : "", text.slice(start, end), end < text.length ? " …" : ""];
  };

  const marked = (parts, wanted) => {
    const summary = document.createElement("p");
    summary.className = "context";
    const [before, text, after] = parts;
    summary.append(before);
    let from = 0;
    for (const match of text.matchAll(wanted)) {
      const bold = document.createElement("strong");
      bold.textContent = match[0];
      summary.append(text.slice(from, match.index), bold);
      from = match.index + match[0].length;
    }
    summary.append(text.slice(from), after);
    return summary;
  };

  Search.makeSearchSummary = (html, terms, anchor) => {
    const page = new DOMParser().parseFromString(html, "text/html");
    const main = page.querySelector("[role=main]");
    if (!main) return null;
    for (const element of main.querySelectorAll(NO_PROSE)) element.remove();
    const place = anchor && page.getElementById(decodeURIComponent(anchor.slice(1)));
    const part = place ? (words(place) ? place : place.closest("section")) : main;
    const leaves = [part, ...part.querySelectorAll(BLOCKS)].filter(
      (block) => block.matches(BLOCKS) && !block.querySelector(BLOCKS));
    const prose = leaves.filter((block) => words(block).length >= 40);
    const first = prose.find((block) => block.matches("p"));
    const code = [...part.querySelectorAll("pre")].flatMap((pre) => pre.textContent.split("\n"));
    for (const found of patterns(terms)) {
      const any = new RegExp(found.map((one) => one.source).join("|"), "giu");
      let best = null, most = 0;
      for (const block of [...prose, ...leaves]) {
        const text = words(block);
        for (const {index} of text.matchAll(any)) {
          const parts = cut(text, index);
          const count = found.filter((one) => one.test(parts[1])).length;
          if (count > most) [best, most] = [parts, count];
        }
      }
      if (best) return marked(best, any);
      const line = code.find((each) => found.some((one) => one.test(each)));
      if (line) return marked(["", line.trim().slice(0, LENGTH), ""], any);
    }
    return first ? marked(cut(words(first), 0), /$^/g) : null;
  };
})();
