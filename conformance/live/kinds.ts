import type { Random } from "@dray/testing/random";
import { type Fields, json } from "../format.ts";
import { randomCluster } from "./clusters.ts";
import { randomDevice } from "./devices.ts";
import { randomExpression } from "./expressions.ts";

/** A kind of random questions to the oracle. */
export interface Kind {
  readonly name: string;
  /** The operation of the oracle. */
  readonly op: string;
  /** A question in the format of recorded cases, without the answer. */
  make(random: Random, id: string): Fields;
  /** Returns the answer in that format; undefined if upstream gave no answer. */
  expected(answer: Fields): Fields | undefined;
  /** Returns the fields that, added to a question, have it asked many times. */
  repeat(question: Fields): Fields;
  /** Whether the answer to a question with `repeat` shows that upstream answers at random. */
  unstable(answer: Fields): boolean;
}

const driver = "dra.example.com";

const selectors: Kind = {
  name: "CEL",
  op: "cel",
  make: (random, id) => ({
    group: "live",
    id,
    expression: randomExpression(random, random.int(1, 5)),
    driver,
    features: random.some(["ConsumableCapacity", "ListTypeAttributes"], 0.5),
    stored: random.chance(0.6),
    ...(random.chance(0.05) && { costLimit: random.int(0, 40) }),
    devices: random.list(1, 3, () => randomDevice(random)),
  }),
  expected: ({ compileError, type, maxCost, devices }) =>
    compileError === undefined ? { maxCost, devices } : { compileError, type },
  // The order of a map shows in costs and errors: the same devices again, many times.
  repeat: (question) => ({
    ...question,
    devices: Array.from({ length: 24 }, () => question["devices"] as readonly unknown[]).flat(),
  }),
  unstable(answer) {
    const devices = (answer["devices"] ?? []) as readonly unknown[];
    const round = devices.length / 24;
    return devices.some((device, i) => json(device) !== json(devices[i % round]));
  },
};

const clusters: Kind = {
  name: "allocator",
  op: "allocate",
  make: (random, id) => ({ group: "live", name: id, ...randomCluster(random), timeoutMs: 2000 }),
  expected({ allocations, error, nodeError, timeout, newAllocatorError }) {
    if (timeout === true || newAllocatorError !== undefined) return undefined;
    if (error !== undefined) return { error };
    return nodeError === undefined ? { allocations } : { nodeError };
  },
  repeat: (question) => ({ ...question, runs: 60 }),
  unstable: (answer) => answer["unstable"] !== undefined,
};

export const kinds: readonly Kind[] = [selectors, clusters];
