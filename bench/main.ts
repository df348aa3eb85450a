/**
 * `npm run bench`: everything there is to measure. `npm run bench -- cluster [ROUNDS]`, `-- cel`,
 * `-- allocator [CASE...]`, `-- bodies [CASE...]`, `-- apiserver [PODS [ROUNDS]]`, `-- node [PODS [RUNTIME...]]`, `-- scheduling [ROUNDS] [NAME...]`, or `-- watchers [WATCHERS [EVENTS [BYTES [KIND]]]]`: one of
 * them. Prints tables in Markdown.
 */
import { allocatorBench } from "./allocator.ts";
import { apiserverBench } from "./apiserver.ts";
import { bodiesBench } from "./bodies.ts";
import { celBench } from "./cel.ts";
import { clusterBench } from "./cluster.ts";
import { nodeBench } from "./node.ts";
import { schedulingBench } from "./scheduling.ts";
import { watchersBench } from "./watchers.ts";

type Bench = (args: readonly string[]) => string | Promise<string>;

const benches: Readonly<Record<string, Bench>> = {
  cluster: ([rounds]) => clusterBench(rounds === undefined ? undefined : Number(rounds)),
  cel: () => celBench(),
  allocator: allocatorBench,
  apiserver: apiserverBench,
  bodies: bodiesBench,
  node: nodeBench,
  scheduling: schedulingBench,
  watchers: watchersBench,
};

const [name, ...args] = process.argv.slice(2);
const known = Object.keys(benches);
if (name !== undefined && !known.includes(name)) {
  process.stderr.write(`bench: ${name} is not known; there are ${known.join(", ")}\n`);
  process.exit(2);
}
for (const one of name === undefined ? known : [name]) {
  process.stdout.write(`## ${one}\n\n${(await benches[one]!(args)).trimEnd()}\n\n`);
}
process.exit(0);
