import { test } from "node:test";
import { readCorpus } from "./corpus.ts";
import { fuzz } from "./fuzz.ts";
import { generators } from "./generators.ts";

/** The first requests of each fuzzer; `npm run fuzz` goes on with them. */
const milliseconds = 1000;

for (const [name, generator] of Object.entries(generators)) {
  test(`the server answers whatever it is sent: ${name}`, async (context) => {
    // Always the same: other seeds are for `npm run fuzz`.
    const seed = 20261121;
    context.diagnostic(`seed ${seed}`);
    await fuzz(generator, readCorpus(), seed, milliseconds);
  });
}
