import type { Rejection } from "./framework.ts";

/** Why no node took the pod: rejections by node, or of all nodes at once. */
export interface Diagnosis {
  readonly nodes: number;
  readonly rejections: ReadonlyMap<string, Rejection>;
  /** A rejection before any node was filtered. */
  readonly upfront?: Rejection;
}

/**
 * `0/2 nodes are available: 2 cannot allocate all claims.` and what was tried afterwards, as kube-scheduler
 * words it.
 */
export function diagnosisText(
  { nodes, rejections, upfront }: Diagnosis,
  afterwards: readonly string[],
): string {
  if (nodes === 0) return "no nodes available to schedule pods";
  const reasons =
    upfront !== undefined
      ? upfront.reasons.join(", ")
      : counted([...rejections.values()].flatMap((rejection) => rejection.reasons));
  const text = `0/${nodes} nodes are available: ${reasons}.`;
  return [text, afterwards.join(", ")].filter((part) => part !== "").join(" ");
}

/** `2 Insufficient cpu, 1 Too many pods`: equal reasons counted, in the order of the texts. */
export function counted(reasons: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const reason of reasons) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  return [...counts]
    .map(([reason, count]) => `${count} ${reason}`)
    .sort()
    .join(", ");
}
