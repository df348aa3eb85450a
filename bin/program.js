// What Node runs when somebody runs `dray`. Runs on Node >= 20.
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundled } from "./bundle.js";

const repository = fileURLToPath(new URL("..", import.meta.url));

// With V8's own limits a good part of the API server's memory is garbage; the other is set when it has started.
const serverFlags = ["--max-semi-space-size=8"];

/** The arguments of Node for `dray` with these arguments: flags, and the bundle of the sources. */
export async function program(args) {
  const dray = join(repository, "packages", "dray");
  const main = await bundled(repository, join(dray, "src", "main.ts"), join(dray, "dist"));
  return [...(args[0] === "apiserver" ? serverFlags : []), main, ...args];
}
