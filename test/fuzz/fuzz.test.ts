import { test } from "node:test";
import { readCorpus } from "./corpus.ts";
import { fuzz } from "./fuzz.ts";
import { generators } from "./generators.ts";

const milliseconds = 2000;

for (const [name, generator] of Object.entries(generators)) {
  test(`the server answers whatever it is sent: ${name}`, async (context) => {
    const seed = Math.floor(Math.random() * 2 ** 31);
    context.diagnostic(`seed ${seed}`);
    await fuzz(generator, readCorpus(), seed, milliseconds);
  });
}
