/** Scores of each node by plugin, weighted. */
export type Scores = ReadonlyMap<string, ReadonlyMap<string, number>>;

const line = /"Plugin scored node for pod" pod="([^"]+)" plugin="([^"]+)" node="([^"]+)" score=(-?\d+)/;

/**
 * Reads the scores of one pod from the log of kube-scheduler with -v=10. Upstream:
 * pkg/scheduler/schedule_one.go, prioritizeNodes
 */
export function scoresOf(log: string, pod: string): Scores {
  const scores = new Map<string, Map<string, number>>();
  for (const text of log.split("\n")) {
    const match = line.exec(text);
    if (match === null || match[1] !== pod) continue;
    const [, , plugin = "", node = "", score] = match;
    const ofNode = scores.get(node) ?? new Map<string, number>();
    scores.set(node, ofNode.set(plugin, Number(score)));
  }
  return scores;
}
