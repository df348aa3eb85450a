import type { Allocator, RefusalGroup, RequestExplanation } from "@dray/allocator";
import type { Node } from "@dray/api/core/v1";
import type { ResourceClaim } from "@dray/api/resource/v1";

/** A node that cannot give the claims devices. */
export interface RefusedNode {
  readonly node: Node;
  readonly claims: readonly ResourceClaim[];
}

/** Maximum number of nodes that are explained: the event is a summary, and scheduling continues meanwhile. */
const maxNodes = 3;
/** Maximum number of nodes whose devices are counted in order to choose those. */
export const maxCounted = 200;
/** Maximum number of steps of the search on one of them. */
const maxSteps = 1_000;
/** Maximum number of reasons. */
const maxGroups = 4;

/**
 * Returns which request fails on the node that lacks least, and what became of its devices, in words that
 * stay the same while that does: without the names of devices and of those who have them. Undefined: no node
 * has devices of the requested classes.
 */
export function causeOf(allocator: Allocator, refused: readonly RefusedNode[]): string | undefined {
  let best: { readonly lacking: number; readonly text: string } | undefined;
  for (const { node, claims } of mostPromising(allocator, refused)) {
    let steps = 0;
    const { outcome, claims: found } = allocator.explain(node, claims, {
      shouldStop: () => ++steps > maxSteps,
    });
    // Something has changed since.
    if (outcome !== "refused") continue;
    const lacking = found.flatMap(({ claim, requests }) =>
      lackingRequests(requests).map((each) => ({ claim, ...each })),
    );
    const [first] = lacking;
    if (first === undefined || !lacking.every(({ request }) => hasClass(request))) continue;
    const total = lacking.reduce((sum, { count }) => sum + count, 0);
    if (best !== undefined && best.lacking <= total) continue;
    best = { lacking: total, text: textOf(node.metadata.name, first.claim, first.request) };
  }
  return best?.text;
}

/** Returns the nodes with devices of the requested classes before others. */
function mostPromising(allocator: Allocator, refused: readonly RefusedNode[]): readonly RefusedNode[] {
  const counted = refused.map((each) => {
    const classes = new Set(each.claims.flatMap(classesOf));
    const known = [...classes].filter((name) => allocator.totals(each.node, name).devices > 0);
    return { each, missing: classes.size - known.length };
  });
  return counted
    .toSorted((a, b) => a.missing - b.missing)
    .slice(0, maxNodes)
    .map(({ each }) => each);
}

function classesOf({ spec }: ResourceClaim): string[] {
  return (spec.devices?.requests ?? []).flatMap(({ exactly, firstAvailable = [] }) =>
    [...(exactly === undefined ? [] : [exactly]), ...firstAvailable].map((body) => body.deviceClassName),
  );
}

/** Returns the requests without enough devices, each with its best alternative. */
function lackingRequests(
  requests: readonly RequestExplanation[],
): { readonly request: RequestExplanation; readonly count: number }[] {
  const byRequest = Map.groupBy(requests, ({ request }) => request.split("/")[0]);
  return [...byRequest.values()].flatMap((alternatives) => {
    const counts = alternatives.map((request) => {
      const { wanted, chosen, suitable } = request;
      return { request, count: wanted - Math.max(chosen.length, Math.min(suitable, wanted)) };
    });
    const [least] = counts.toSorted(
      (a, b) => Number(hasClass(b.request)) - Number(hasClass(a.request)) || a.count - b.count,
    );
    return least === undefined || least.count <= 0 ? [] : [least];
  });
}

/** Reports whether the node has a device of the class. */
const hasClass = ({ seen, refused }: RequestExplanation): boolean =>
  refused.reduce((sum, { check, count }) => sum + (check === "class-selector" ? count : 0), 0) < seen;

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
