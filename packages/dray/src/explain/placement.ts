import type { Explanation } from "@dray/allocator";
import type { Placement } from "@dray/scheduler";
import type { World } from "../manifests/world.ts";
import { explainError, explainRefusal } from "../plan/explain.ts";
import { changesFor } from "./changes/search.ts";
import type { NodeData, PlacementData } from "./data.ts";
import type { Trial } from "./trial.ts";

/** Maximum number of nodes that are reported with their devices. */
const maxPromising = 3;

/** Returns where the pod could be placed, the refusals of nodes, and changes that help. */
export async function placementOf(trial: Trial): Promise<PlacementData> {
  const placement = await trial.now();
  const nodes = trial.nodes.length;
  const untried = { refusals: [], promising: [], changes: [], tried: 0, triedKinds: [] };
  if (placement.type === "placed") return { fits: placement.node, message: null, nodes, ...untried };
  const known = new Map<string, Explanation | undefined>();
  const explain = (node: string): Explanation | undefined => {
    if (!known.has(node)) known.set(node, trial.scheduler.explain(trial.pod, node));
    return known.get(node);
  };
  const { message } = placement;
  if (placement.type === "gated") return { fits: null, message, nodes, ...untried };
  const { refusals } =
    placement.type === "refused"
      ? explainRefusal(placement, trial.nodes, explain)
      : explainError(message, trial.nodes, explain);
  const promising = mostPromising(trial, placement, explain);
  const tries = await changesFor(trial, promising, refusals);
  return {
    fits: null,
    message,
    nodes,
    refusals,
    promising: promising.slice(0, maxPromising),
    ...tries,
  };
}

/**
 * Returns the most promising nodes first: those that lack only devices before others, fewer devices before
 * more.
 */
function mostPromising(
  trial: Trial,
  placement: Exclude<Placement, { type: "placed" }>,
  explain: (node: string) => Explanation | undefined,
): NodeData[] {
  const rejections = placement.type === "refused" ? placement.rejections : new Map<string, never>();
  return trial.nodes
    .map((node) => {
      const {
        plugin = "DynamicResources",
        reasons = [placement.message],
        resolvable = true,
      } = rejections.get(node) ?? {};
      const explanation = explain(node);
      return {
        lacking: missingFraction(explanation),
        isOther: plugin !== "DynamicResources",
        isHopeless: !resolvable && plugin !== "DynamicResources",
        node: { node, plugin, reasons, claims: withPods(explanation, trial.world) },
      };
    })
    .toSorted(
      (a, b) =>
        Number(a.isHopeless) - Number(b.isHopeless) ||
        a.lacking - b.lacking ||
        Number(a.isOther) - Number(b.isOther),
    )
    .map(({ node }) => node);
}

/** Adds the pods of the claims that have a device. */
function withPods(explanation: Explanation | undefined, world: World): NodeData["claims"] {
  const podsOf = (name: string): string[] => {
    const claim = world.find("ResourceClaim", name);
    return (claim?.status?.reservedFor ?? []).map((pod) => `${claim?.metadata.namespace}/${pod.name}`);
  };
  return (explanation?.claims ?? []).map(({ claim, requests }) => ({
    claim,
    requests: requests.map((request) => ({
      ...request,
      refused: request.refused.map((group) =>
        group.holder === undefined ? group : { ...group, pods: podsOf(group.holder) },
      ),
    })),
  }));
}

/**
 * Returns the fraction of the requested devices that the node lacks, by the best alternative; then the
 * fraction that is not nearly suitable.
 */
function missingFraction(explanation: Explanation | undefined): number {
  if (explanation === undefined || explanation.outcome === "allocated") return 0;
  return explanation.claims.reduce((sum, { requests }) => {
    const byRequest = Map.groupBy(requests, ({ request }) => request.split("/")[0]);
    return [...byRequest.values()].reduce((total, alternatives) => {
      const least = alternatives.map(({ wanted, chosen, suitable, seen, refused }) => {
        if (wanted === 0) return 1;
        const given = Math.min(wanted, Math.max(chosen.length, Math.min(suitable, wanted)));
        // Allocated devices of the right kind are closer to a solution than free ones of another kind.
        const near = refused
          .filter(
            ({ check }) => check !== "class-selector" && check !== "request-selector" && check !== "node",
          )
          .reduce((all, { count }) => all + count, 0);
        return (wanted - given) / wanted + (1 - near / (seen + 1)) / 100;
      });
      return total + Math.min(...least);
    }, sum);
  }, 0);
}
