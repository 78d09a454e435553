// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// How results of a search are ordered. The numbers are those of Sphinx; a term of the glossary gets
// 100 from it. Pages that explain come before those that only use a word.
"use strict";

const LISTINGS = /^(api|files|tests|solutions|benchmarks)\//;
const ANSWERS = /^(hints|answers)\//;
const CHAPTERS = /^(\d\d_|[a-z]{2}\/\d\d_)/;

var Scorer = {
  score: ([page, , , , score]) =>
    score + (CHAPTERS.test(page) ? 2 : ANSWERS.test(page) ? -9 : LISTINGS.test(page) ? -4 : 0),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: {0: 15, 1: 5, 2: -5},
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
