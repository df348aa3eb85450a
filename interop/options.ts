import { parseArgs } from "node:util";
import type { Side } from "./server.ts";

export interface Options {
  /** In this order. */
  readonly sides: readonly Side[];
  readonly minutes: number;
  /** Names of the scenarios to play; all, and the Go clients, if undefined. */
  readonly only: RegExp | undefined;
  readonly jobs: number;
  readonly nodes: number;
  readonly keep: boolean;
  readonly write: boolean;
}

const sides: Readonly<Record<string, readonly Side[]>> = {
  both: ["peer", "dray"],
  peer: ["peer"],
  dray: ["dray"],
};

/** Reads the command line. Throws an error that names the option and what it takes. */
export function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      against: { type: "string", default: "both" },
      minutes: { type: "string", default: "0" },
      only: { type: "string" },
      jobs: { type: "string", default: "4" },
      nodes: { type: "string", default: "3" },
      keep: { type: "boolean", default: false },
      write: { type: "boolean", default: false },
    },
  });
  const chosen = sides[values.against];
  if (chosen === undefined) throw new Error(`--against ${values.against}: must be both, dray or peer`);
  const number = (name: "minutes" | "jobs" | "nodes", least: number): number => {
    const value = Number(values[name]);
    if (!(value >= least)) throw new Error(`--${name} ${values[name]}: must be a number from ${least} on`);
    return value;
  };
  return {
    sides: chosen,
    minutes: number("minutes", 0),
    only: values.only === undefined ? undefined : new RegExp(values.only),
    jobs: number("jobs", 1),
    nodes: number("nodes", 2),
    keep: values.keep,
    write: values.write,
  };
}
