import type { Explanation, RefusalGroup, RequestExplanation } from "@dray/allocator";
import type { Placement } from "@dray/scheduler";
import { jsonText } from "../manifests/json-text.ts";

/** Maximum number of names of a group. */
export const maxNames = 5;

/** Why no node accepts a pod: plain data, a part of the output of `-o json`. */
export interface PodExplanation {
  /** Number of nodes. */
  readonly nodes: number;
  /** The nodes, grouped by the scheduler plugin that refused them and its reasons. */
  readonly refusals: readonly NodeRefusal[];
}

export interface NodeRefusal {
  /** kube-scheduler's name: `NodeResourcesFit`, `DynamicResources`. */
  readonly plugin: string;
  readonly reasons: readonly string[];
  readonly count: number;
  /** At most five of them. */
  readonly nodes: readonly string[];
  /** Only of DynamicResources: the devices of these nodes, for each claim without devices. */
  readonly claims?: readonly ClaimRefusal[];
}

export interface ClaimRefusal {
  /** `namespace/name` */
  readonly claim: string;
  readonly requests: readonly RequestRefusal[];
}

/** A request on all nodes of a group. */
export interface RequestRefusal {
  readonly request: string;
  readonly deviceClass: string;
  /** Number of requested devices; in mode All, the maximum over the nodes. */
  readonly wanted: number;
  /** The same in digits, where it is more than a number holds exactly. */
  readonly exactWanted?: string;
  /** Total number of devices of the nodes: one that two nodes can reach counts twice, here and below. */
  readonly seen: number;
  /** Total number of devices that pass every check of this request alone. */
  readonly suitable: number;
  /** Maximum number of them on one node. */
  readonly mostOnOneNode: number;
  /** The refused devices, by the first failed check and its cause. */
  readonly refused: readonly DeviceRefusal[];
}

export interface DeviceRefusal extends RefusalGroup {
  /** The DeviceTaintRules that set the taint, where they are known. */
  readonly rules?: readonly string[];
  /** Number of nodes. */
  readonly nodes: number;
}

/** Explains an error of the whole attempt, on the first node that has it. */
export function explainError(
  message: string,
  nodes: readonly string[],
  explain: (node: string) => Explanation | undefined,
): PodExplanation {
  for (const node of nodes) {
    const found = explain(node);
    if (found?.outcome !== "error") continue;
    const claims = mergeClaims([found]);
    const refusal = { plugin: "DynamicResources", reasons: [message], count: 1, nodes: [node], claims };
    return { nodes: nodes.length, refusals: [refusal] };
  }
  return { nodes: nodes.length, refusals: [] };
}

/** `explain` returns the allocator's explanation for one node. */
export function explainRefusal(
  placement: Placement & { readonly type: "refused" },
  nodes: readonly string[],
  explain: (node: string) => Explanation | undefined,
): PodExplanation {
  if (placement.upfront !== undefined) {
    const { plugin, reasons } = placement.upfront;
    const all = { plugin, reasons, count: nodes.length, nodes: nodes.slice(0, maxNames) };
    return { nodes: nodes.length, refusals: [all] };
  }
  const groups = Map.groupBy(placement.rejections, ([, { plugin, reasons }]) =>
    [plugin, ...reasons].join("\n"),
  );
  const refusals = [...groups.values()].map((members): NodeRefusal => {
    const { plugin, reasons } = members[0]![1];
    const names = members.map(([node]) => node).toSorted();
    const found = plugin === "DynamicResources" ? names.flatMap((node) => explain(node) ?? []) : [];
    return {
      plugin,
      reasons,
      count: names.length,
      nodes: names.slice(0, maxNames),
      ...(found.length > 0 && { claims: mergeClaims(found) }),
    };
  });
  return { nodes: nodes.length, refusals };
}

/** Merges the explanations of the same claims on several nodes. */
export function mergeClaims(explanations: readonly Explanation[]): ClaimRefusal[] {
  return (explanations[0]?.claims ?? []).map(({ claim, requests }, c) => ({
    claim,
    requests: requests.map((_, r) =>
      mergeRequests(explanations.flatMap((each) => each.claims[c]?.requests[r] ?? [])),
    ),
  }));
}

function mergeRequests(requests: readonly RequestExplanation[]): RequestRefusal {
  const { request, deviceClass } = requests[0]!;
  const sum = (of: (each: RequestExplanation) => number): number =>
    requests.reduce((total, each) => total + of(each), 0);
  const most = (of: (each: RequestExplanation) => number): number => Math.max(...requests.map(of));
  const groups = Map.groupBy(
    requests.flatMap(({ refused }, node) => refused.map((group) => ({ group, node }))),
    ({ group }) => causeOf(group),
  );
  return {
    request,
    deviceClass,
    wanted: most(({ wanted }) => wanted),
    ...(requests[0]!.exactWanted !== undefined && { exactWanted: requests[0]!.exactWanted }),
    seen: sum(({ seen }) => seen),
    suitable: sum(({ suitable }) => suitable),
    mostOnOneNode: most(({ suitable }) => suitable),
    refused: [...groups.values()].map(mergeGroups).toSorted((a, b) => b.count - a.count),
  };
}

/**
 * Returns the common properties of the devices of a group. Devices in use are one group for all holders: in a
 * full cluster each has another holder. A selector and its values identify a group; the words of an error
 * name each device.
 */
function causeOf({ count: _c, devices: _d, cause, ...facts }: RefusalGroup): string {
  if (facts.check === "in-use") return facts.check;
  return jsonText(facts.selector === undefined ? { cause, ...facts } : facts);
}

function mergeGroups(members: readonly { group: RefusalGroup; node: number }[]): DeviceRefusal {
  const { holder, cause, ...first } = members[0]!.group;
  const holders = [...new Set(members.flatMap(({ group }) => group.holder ?? []))];
  const shown = holders.slice(0, maxNames).join(", ");
  const rest = holders.length > maxNames ? ` and ${holders.length - maxNames} more` : "";
  return {
    ...first,
    ...(holders.length > 1 ? { cause: `allocated to claims ${shown}${rest}` } : { cause }),
    ...(holders.length === 1 && holder !== undefined && { holder }),
    count: members.reduce((total, { group }) => total + group.count, 0),
    // Several nodes may reach the same device.
    devices: [...new Set(members.flatMap(({ group }) => group.devices))].slice(0, maxNames),
    nodes: new Set(members.map(({ node }) => node)).size,
  };
}

/** Matches the names of claims in texts. */
const claimText = /[a-z0-9][a-z0-9.-]*\/[a-z0-9][a-z0-9.-]*/g;

/** Returns the same explanation for other claims. */
export function renameClaims<T>(value: T, names: ReadonlyMap<string, string>): T {
  if (typeof value === "string") {
    return value.replaceAll(claimText, (name) => names.get(name) ?? name) as T;
  }
  if (Array.isArray(value)) return value.map((each: unknown) => renameClaims(each, names)) as T;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]: [string, unknown]) => [key, renameClaims(each, names)]),
  ) as T;
}
