import type { ContractPod } from "./pod.ts";
import type { Ability } from "./types.ts";

/** Declares a test of one rule with a pod of its own; omitted if the runtime lacks the ability. */
export type Rule = (title: string, body: (pod: ContractPod) => Promise<void>, ability?: Ability) => void;
