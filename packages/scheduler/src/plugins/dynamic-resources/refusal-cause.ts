import type { Allocator, RefusalGroup, RequestExplanation } from "@dray/allocator";
import type { Node } from "@dray/api/core/v1";
import type { ResourceClaim } from "@dray/api/resource/v1";

/** A node that cannot give the claims devices. */
export interface RefusedNode {
  readonly node: Node;
  readonly claims: readonly ResourceClaim[];
}

/** Maximum number of nodes that are explained: the event is a summary, and scheduling continues meanwhile. */
export const maxNodes = 3;
/** Maximum number of steps of the search on one of them. */
const maxSteps = 1_000;
/** Maximum number of reasons. */
const maxGroups = 4;

/**
 * Returns which request fails on the node that lacks least, and what became of its devices, in words that
 * stay the same while that does: without the names of devices and of those who have them.
 */
export function causeOf(allocator: Allocator, refused: readonly RefusedNode[]): string | undefined {
  let best: { readonly lacking: number; readonly text: string } | undefined;
  for (const { node, claims } of refused) {
    let steps = 0;
    const { outcome, claims: found } = allocator.explain(node, claims, {
      shouldStop: () => ++steps > maxSteps,
    });
    // Something has changed since.
    if (outcome !== "refused") continue;
    for (const { claim, requests } of found) {
      for (const request of requests) {
        const lacking =
          request.wanted - Math.max(request.chosen.length, Math.min(request.suitable, request.wanted));
        if (lacking <= 0) continue;
        if (best !== undefined && best.lacking <= lacking) continue;
        best = { lacking, text: textOf(node.metadata.name, claim, request) };
      }
    }
  }
  return best?.text;
}

function textOf(
  node: string,
  claim: string,
  { request, deviceClass, wanted, seen, suitable, refused }: RequestExplanation,
): string {
  // Devices of other classes were never meant.
  const ofClass = refused.filter(({ check }) => check !== "class-selector");
  const counts = new Map<string, number>();
  for (const group of ofClass.length > 0 ? ofClass : refused) {
    const what = reasonOf(group);
    counts.set(what, (counts.get(what) ?? 0) + group.count);
  }
  const reasons = [...counts]
    .toSorted(([, a], [, b]) => b - a)
    .map(([what, count]) => (count === 0 ? what : `${count} ${what}`));
  const rest = reasons.length - maxGroups;
  const shown = rest > 0 ? [...reasons.slice(0, maxGroups), `${rest} more reasons`] : reasons;
  const found = seen === 0 ? "it reaches no device" : `${suitable} of ${seen} devices suitable`;
  const why = shown.length === 0 ? "" : `: ${shown.join(", ")}`;
  return `Node ${node}: claim ${claim}, request ${request}: wants ${wanted} of class ${deviceClass}, ${found}${why}.`;
}

function reasonOf({ check, cause }: RefusalGroup): string {
  switch (check) {
    case "in-use":
      return "in use";
    case "class-selector":
      return "not of the class";
    case "request-selector":
      return `ruled out by selector ${cause}`;
    default:
      return cause;
  }
}
