import { test } from "node:test";
import { components, fuzzComponent } from "./components.ts";
import { readCorpus } from "./corpus.ts";
import { fuzz } from "./fuzz.ts";
import { generators } from "./generators.ts";

/** The first requests of each fuzzer; `npm run fuzz` goes on with them. */
const milliseconds = 1000;

// Always the same: other seeds are for `npm run fuzz`.
const seed = 20261121;

for (const [name, generator] of Object.entries(generators)) {
  test(`the server answers random requests: ${name}`, async (context) => {
    context.diagnostic(`seed ${seed}`);
    await fuzz(generator, readCorpus(), seed, milliseconds);
  });
}

for (const [name, round] of Object.entries(components)) {
  test(`random input is accepted or rejected: ${name}`, async (context) => {
    context.diagnostic(`seed ${seed}`);
    await fuzzComponent(round, seed, milliseconds);
  });
}
