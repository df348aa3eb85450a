import { explainError, explainRefusal, type PodExplanation } from "../plan/explain.ts";
import type { Attempt } from "./trial.ts";

/** Returns the nodes of a failed attempt, by the reason of their refusal. */
export function refusalsOf(attempt: Attempt, nodes: readonly string[]): PodExplanation {
  const { refused } = attempt;
  const explain = (node: string): ReturnType<Attempt["explain"]> => attempt.explain(node);
  if (refused.type === "refused") return explainRefusal(refused, nodes, explain);
  if (refused.type === "error") return explainError(refused.message, nodes, explain);
  return { nodes: nodes.length, refusals: [] };
}
