/** Clusters up to this size are searched completely; in larger ones a shrinking share of nodes suffices. */
const minFeasibleNodes = 100;
const minFeasiblePercentage = 5;

/**
 * Returns how many feasible nodes are enough; 0 per cent: a share that shrinks with the number of nodes.
 * Upstream: pkg/scheduler/schedule_one.go, numFeasibleNodesToFind.
 */
export function feasibleNodesToFind(percentage: number): (nodes: number) => number {
  return (nodes) => {
    if (nodes < minFeasibleNodes) return nodes;
    const share = percentage || Math.max(50 - Math.floor(nodes / 125), minFeasiblePercentage);
    return Math.max(Math.floor((nodes * share) / 100), minFeasibleNodes);
  };
}
