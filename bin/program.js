// What Node runs when somebody runs `dray`. Runs on Node >= 20.
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundled } from "./bundle.js";

const repository = fileURLToPath(new URL("..", import.meta.url));

// With V8's own limits a third of the API server's memory is garbage; these cost a few percent of its time.
const serverFlags = ["--max-semi-space-size=8", "--heap-growing-percent=100"];

/** The arguments of Node for `dray` with these arguments: flags, and the bundle of the sources. */
export async function program(args) {
  const dray = join(repository, "packages", "dray");
  const main = await bundled(repository, join(dray, "src", "main.ts"), join(dray, "dist"));
  return [...(args[0] === "apiserver" ? serverFlags : []), main, ...args];
}
