import { parseArgs } from "node:util";
import type { Side } from "./server.ts";
import { type ClusterSuite, conformanceSuites, draSuites, nodeConformanceSuites } from "./suites/kinds.ts";

export interface Options {
  /** Parts to run. */
  readonly scenarios: boolean;
  /** Runs of upstream's suites, in this order. */
  readonly suites: readonly ClusterSuite[];
  readonly drivers: boolean;
  /** Upstream's specs of one node. */
  readonly node: boolean;
  /** Random pods, whose scores are compared with kube-scheduler's. */
  readonly scheduling: boolean;
  /** Two schedulers fight for devices. */
  readonly twoSchedulers: boolean;
  /** Seed of the first cluster of random pods; random if undefined. */
  readonly seed: number | undefined;
  /** In this order. */
  readonly sides: readonly Side[];
  readonly minutes: number;
  /**
   * Names of the scenarios to play, of the specs of the DRA suite, or of the drivers; all, and the Go
   * clients, if undefined.
   */
  readonly only: RegExp | undefined;
  /** Scenarios at a time. */
  readonly jobs: number;
  /** Specs at a time; undefined: as many as suit the suite. */
  readonly specJobs: number | undefined;
  readonly nodes: number;
  readonly keep: boolean;
  readonly write: boolean;
}

const sides: Readonly<Record<string, readonly Side[]>> = {
  both: ["peer", "dray"],
  peer: ["peer"],
  dray: ["dray"],
};

const parts: readonly string[] = [
  "scenarios",
  ...draSuites,
  "dra-node",
  ...conformanceSuites,
  ...nodeConformanceSuites,
  "drivers",
  "scheduling",
  "two-schedulers",
];

/** Reads the command line. Throws an error that names the option and what it takes. */
export function readOptions(args: readonly string[]): Options {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      against: { type: "string", default: "both" },
      minutes: { type: "string", default: "0" },
      seed: { type: "string" },
      only: { type: "string" },
      jobs: { type: "string" },
      nodes: { type: "string", default: "3" },
      keep: { type: "boolean", default: false },
      write: { type: "boolean", default: false },
    },
  });
  const chosen = sides[values.against];
  if (chosen === undefined) throw new Error(`--against ${values.against}: must be both, dray or peer`);
  const number = (name: "minutes" | "jobs" | "nodes" | "seed", least: number, otherwise?: number): number => {
    const value = Number(values[name] ?? otherwise);
    if (!(value >= least)) throw new Error(`--${name} ${values[name]}: must be a number from ${least} on`);
    return value;
  };
  for (const part of positionals)
    if (!parts.includes(part))
      throw new Error(`${part}: must be ${parts.join(", ").replace(/, ([^ ]+)$/, " or $1")}`);
  const all = positionals.length === 0;
  return {
    scenarios: all || positionals.includes("scenarios"),
    suites: [
      // Real nodes are not started only to find that no spec has the name of a scenario.
      ...draSuites.filter(
        (kind) => positionals.includes(kind) || (all && values.only === undefined && chosen.includes("dray")),
      ),
      // They take longer than all the rest.
      ...[...conformanceSuites, ...nodeConformanceSuites].filter((kind) => positionals.includes(kind)),
    ],
    node: positionals.includes("dra-node") || (all && values.only === undefined && chosen.includes("dray")),
    drivers: positionals.includes("drivers") || (all && values.only === undefined && chosen.includes("dray")),
    scheduling: positionals.includes("scheduling") || (all && values.only === undefined),
    twoSchedulers:
      positionals.includes("two-schedulers") || (all && values.only === undefined && chosen.includes("dray")),
    seed: values.seed === undefined ? undefined : number("seed", 0),
    sides: chosen,
    minutes: number("minutes", 0),
    only: values.only === undefined ? undefined : new RegExp(values.only),
    jobs: number("jobs", 1, 4),
    specJobs: values.jobs === undefined ? undefined : number("jobs", 1),
    nodes: number("nodes", 2),
    keep: values.keep,
    write: values.write,
  };
}
