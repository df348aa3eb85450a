import type { Explanation } from "@dray/allocator";
import type { Inventory } from "../inventory/inventory.ts";
import type { World } from "../manifests/world.ts";
import type { NodeData } from "./data.ts";
import type { Attempt } from "./trial.ts";

export interface RankedNodes {
  /** The most promising first. */
  readonly nodes: readonly NodeData[];
  /** How many of them have devices of all requested classes. */
  readonly withClasses: number;
}

/** Words of DynamicResources for a claim whose devices other nodes have. */
const claimElsewhere = "resourceclaim not available on the node";

/**
 * Returns the most promising nodes first: those that lack only devices before others, fewer devices before
 * more; nodes without any device of a requested class come last.
 */
export function rankNodes(
  attempt: Attempt,
  names: readonly string[],
  world: World,
  inventory: Inventory,
): RankedNodes {
  const { refused } = attempt;
  const rejections = refused.type === "refused" ? refused.rejections : new Map<string, never>();
  const message = refused.type === "placed" ? "" : refused.message;
  const ranked = names.map((node) => {
    const {
      plugin = refused.type === "refused" && refused.upfront ? refused.upfront.plugin : "DynamicResources",
      reasons = [message],
      resolvable = true,
    } = rejections.get(node) ?? {};
    const explanation = attempt.explain(node);
    return {
      lacksClass: explanation !== undefined && lacksClass(explanation),
      lacking: missingFraction(explanation),
      isElsewhere: reasons.includes(claimElsewhere),
      isOther: plugin !== "DynamicResources",
      isHopeless: !resolvable && plugin !== "DynamicResources",
      node: {
        node,
        plugin,
        reasons,
        shortages: attempt.shortages(node),
        claims: withHolders(explanation, world, inventory),
      },
    };
  });
  const order = ranked.toSorted(
    (a, b) =>
      Number(a.lacksClass) - Number(b.lacksClass) ||
      Number(a.isElsewhere) - Number(b.isElsewhere) ||
      Number(a.isHopeless) - Number(b.isHopeless) ||
      a.lacking - b.lacking ||
      Number(a.isOther) - Number(b.isOther),
  );
  return {
    nodes: order.map(({ node }) => node),
    withClasses: order.filter((each) => !each.lacksClass).length,
  };
}

/** Reports whether the node has no device for some request, whatever its alternative. */
function lacksClass({ claims }: Explanation): boolean {
  return claims.some(({ requests }) =>
    [...Map.groupBy(requests, ({ request }) => request.split("/")[0]).values()].some((alternatives) =>
      alternatives.every(({ seen, wanted, refused }) => {
        const others = refused.reduce(
          (sum, { check, count }) => sum + (check === "class-selector" ? count : 0),
          0,
        );
        const isWhole = refused.some(
          ({ check, count }) => count === 0 && (check === "error" || check === "limit"),
        );
        return seen - others <= 0 && wanted > 0 && !isWhole;
      }),
    ),
  );
}

/** Adds the pods of the claims that have a device, and the rules that taint one. */
function withHolders(
  explanation: Explanation | undefined,
  world: World,
  { known }: Inventory,
): NodeData["claims"] {
  const podsOf = (name: string): string[] => {
    const claim = world.find("ResourceClaim", name);
    return (claim?.status?.reservedFor ?? []).map((pod) => `${claim?.metadata.namespace}/${pod.name}`);
  };
  const rulesOf = ({
    devices,
    taint,
  }: NodeData["claims"][number]["requests"][number]["refused"][number]): string[] => {
    const rules = devices.flatMap((id) =>
      (known.get(id)?.taints ?? []).flatMap(({ key, value, effect, rule }) =>
        rule !== undefined &&
        key === taint?.key &&
        effect === taint.effect &&
        (value || "") === (taint.value || "")
          ? [rule]
          : [],
      ),
    );
    return [...new Set(rules)];
  };
  return (explanation?.claims ?? []).map(({ claim, requests }) => ({
    claim,
    requests: requests.map((request) => ({
      ...request,
      refused: request.refused.map((group) => {
        if (group.holder !== undefined) return { ...group, pods: podsOf(group.holder) };
        const rules = group.taint === undefined ? [] : rulesOf(group);
        return rules.length === 0 ? group : { ...group, rules };
      }),
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
