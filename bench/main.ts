/**
 * `npm run bench` measures everything there is to measure, and `npm run bench -- NAME` one of `benches`, with
 * the arguments that the README lists. Prints tables in Markdown.
 */
type Bench = (args: readonly string[]) => string | Promise<string>;

/** Loaded one by one: some build Go programs when they are loaded, which takes minutes. */
const benches: Readonly<Record<string, () => Promise<Bench>>> = {
  cluster: async () => {
    const { clusterBench } = await import("./cluster.ts");
    return ([rounds]) => clusterBench(rounds === undefined ? undefined : Number(rounds));
  },
  cel: async () => (await import("./cel.ts")).celBench,
  allocator: async () => (await import("./allocator.ts")).allocatorBench,
  apiserver: async () => (await import("./apiserver.ts")).apiserverBench,
  churn: async () => (await import("./churn.ts")).churnBench,
  codec: async () => (await import("./codec.ts")).codecBench,
  backlog: async () => (await import("./backlog.ts")).backlogBench,
  bodies: async () => (await import("./bodies.ts")).bodiesBench,
  node: async () => (await import("./node.ts")).nodeBench,
  nodes: async () => (await import("./nodes.ts")).nodesBench,
  scheduling: async () => (await import("./scheduling.ts")).schedulingBench,
  watchers: async () => (await import("./watchers.ts")).watchersBench,
};

const [name, ...args] = process.argv.slice(2);
const known = Object.keys(benches);
if (name !== undefined && !known.includes(name)) {
  process.stderr.write(`bench: ${name} is not known; there are ${known.join(", ")}\n`);
  process.exit(2);
}
for (const one of name === undefined ? known : [name]) {
  const bench = await benches[one]!();
  process.stdout.write(`## ${one}\n\n${(await bench(args)).trimEnd()}\n\n`);
}
process.exit(0);
