/** Kubernetes' own library, asked through the oracle (`conformance/oracle`): one JSON question per line. */
import { spawnSync } from "node:child_process";
import { oracleProgram } from "../../conformance/oracle.ts";
import type { Input } from "./objects.ts";

const oracle = oracleProgram();

export const hasGo = (): boolean => oracle !== undefined;

function ask(question: object): Record<string, unknown> | undefined {
  if (oracle === undefined) return undefined;
  const { stdout, stderr, error } = spawnSync(oracle, {
    input: `${JSON.stringify(question)}\n`,
    maxBuffer: 2 ** 30,
  });
  if (error !== undefined) throw error;
  if (stdout.length === 0) throw new Error(`${oracle} gave no answer: ${stderr}`);
  const { answer, fault } = JSON.parse(stdout.toString()) as {
    answer?: Record<string, unknown>;
    fault?: string;
  };
  if (answer === undefined) throw new Error(`${oracle}: ${fault}`);
  return answer;
}

const common = ({ features, claims, classes, slices, held }: Input): object => ({
  features,
  claims,
  classes,
  slices,
  allocated: { devices: held },
});

/**
 * Microseconds of one allocation on the first node, and its steps (calls of allocateOne); it is given up
 * after two seconds.
 */
export function goAllocates(
  input: Input,
  rounds: number,
): { us: number[]; steps: number; timedOut: boolean } | undefined {
  const us: number[] = [];
  let steps = 0;
  for (let round = 0; round < rounds; round++) {
    const answer = ask({ op: "allocate", timeoutMs: 2000, node: input.nodes[0], ...common(input) });
    if (answer === undefined) return undefined;
    us.push(Number(answer["us"]));
    steps = Number(answer["steps"]);
    if (answer["timeout"] === true) return { us, steps, timedOut: true };
  }
  return { us, steps, timedOut: false };
}

/**
 * Microseconds per round: a new allocator, then one Allocate for each of the nodes, without stopping at one
 * that fits.
 */
export function goVisits(input: Input, repeat: number): number[] | undefined {
  return ask({ op: "bench", repeat, nodes: input.nodes, ...common(input) })?.["us"] as number[] | undefined;
}
