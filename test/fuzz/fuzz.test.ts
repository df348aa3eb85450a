import { test } from "node:test";
import { readCorpus } from "./corpus.ts";
import { fuzz } from "./fuzz.ts";
import { generators } from "./generators.ts";

const milliseconds = 2000;

for (const [name, generator] of Object.entries(generators)) {
  test(`the server answers whatever it is sent: ${name}`, async (context) => {
    // Always the same: what random seeds find is for `npm run fuzz` to say.
    const seed = 20261121;
    context.diagnostic(`seed ${seed}`);
    await fuzz(generator, readCorpus(), seed, milliseconds);
  });
}
