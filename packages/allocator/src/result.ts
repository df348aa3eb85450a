import type { Node, NodeSelector, NodeSelectorRequirement } from "@dray/api/core/v1";
import type {
  AllocationResult,
  DeviceAllocationConfiguration,
  DeviceRequestAllocationResult,
} from "@dray/api/resource/v1";
import type { Features } from "./allocator.ts";
import type { Policies } from "./policies.ts";
import type { PreparedClaim } from "./requests.ts";
import type { Pick } from "./search.ts";

/** What `status.allocation` of a claim says. */
export function allocationResult(
  claim: PreparedClaim,
  picks: readonly Pick[],
  node: Node,
  features: Features,
  policies: Policies,
): AllocationResult {
  const results = picks.map((pick) => deviceResult(pick, features));
  const config = configuration(claim, picks);
  const nodeSelector = selectorOf(picks, node, policies);
  return {
    devices: {
      ...(results.length === 0 ? {} : { results }),
      ...(config.length === 0 ? {} : { config }),
    },
    ...(nodeSelector === undefined ? {} : { nodeSelector }),
  };
}

/** `request`, or `request/subrequest` for an alternative. */
function requestName({ alternative }: Pick): string {
  return alternative.subrequest === undefined
    ? alternative.request
    : `${alternative.request}/${alternative.subrequest}`;
}

function deviceResult(pick: Pick, features: Features): DeviceRequestAllocationResult {
  const { alternative, candidate } = pick;
  const { bindingConditions, bindingFailureConditions } = candidate.device;
  const binds = features.deviceBindingAndStatus && (bindingConditions ?? []).length > 0;
  return {
    request: requestName(pick),
    driver: candidate.driver,
    pool: candidate.pool,
    device: candidate.device.name,
    ...(alternative.adminAccess ? { adminAccess: true } : {}),
    ...(alternative.tolerations.length === 0 ? {} : { tolerations: [...alternative.tolerations] }),
    ...(binds ? { bindingConditions: bindingConditions! } : {}),
    ...(binds && bindingFailureConditions !== undefined ? { bindingFailureConditions } : {}),
  };
}

/** Parameters of the classes, each once in the order of use, then those of the claim. */
function configuration(claim: PreparedClaim, picks: readonly Pick[]): DeviceAllocationConfiguration[] {
  const chosen = new Map(picks.map((pick) => [pick.alternative.request, pick]));
  const names = new Set([...chosen.values()].map(requestName));
  const everyRequest = claim.requests.length;
  const reduced = (requests: readonly string[]): { requests?: string[] } => {
    const covered = [...chosen.values()].filter(
      (pick) => requests.includes(pick.alternative.request) || requests.includes(requestName(pick)),
    ).length;
    return requests.length === 0 || covered === everyRequest ? {} : { requests: [...requests] };
  };
  const users = new Map<Pick["alternative"]["deviceClass"], string[]>();
  for (const pick of chosen.values()) {
    const { deviceClass } = pick.alternative;
    users.set(deviceClass, [...(users.get(deviceClass) ?? []), requestName(pick)]);
  }
  const config: DeviceAllocationConfiguration[] = [];
  for (const [deviceClass, requests] of users) {
    for (const entry of deviceClass.spec.config ?? []) {
      config.push({ source: "FromClass", ...reduced(requests), ...entry });
    }
  }
  for (const entry of claim.claim.spec.devices?.config ?? []) {
    const requests = entry.requests ?? [];
    const applies = requests.length === 0 || requests.some((name) => names.has(name) || chosen.has(name));
    if (!applies) continue;
    const { requests: _, ...rest } = entry;
    config.push({ source: "FromClaim", ...reduced(requests), ...rest });
  }
  return config;
}

/** Where the devices can be used: on this node alone, on nodes of the joined selectors, or anywhere (undefined). */
function selectorOf(picks: readonly Pick[], node: Node, policies: Policies): NodeSelector | undefined {
  const expressions: NodeSelectorRequirement[] = [];
  const fields: NodeSelectorRequirement[] = [];
  for (const { candidate } of picks) {
    const { slice, device } = candidate;
    const source = slice.spec.perDeviceNodeSelection === true ? device : slice.spec;
    const tied = (source.nodeName ?? "") !== "" || (policies.bindsToNode && device.bindsToNode === true);
    if (tied) {
      const requirement = { key: "metadata.name", operator: "In", values: [node.metadata.name] };
      return { nodeSelectorTerms: [{ matchFields: [requirement] }] };
    }
    // The API allows one term only where a slice or device selects nodes.
    const term = source.nodeSelector?.nodeSelectorTerms[0];
    for (const requirement of term?.matchExpressions ?? []) addOnce(expressions, requirement);
    for (const requirement of term?.matchFields ?? []) addOnce(fields, requirement);
  }
  if (expressions.length === 0 && fields.length === 0) return undefined;
  return {
    nodeSelectorTerms: [
      {
        ...(expressions.length === 0 ? {} : { matchExpressions: expressions }),
        ...(fields.length === 0 ? {} : { matchFields: fields }),
      },
    ],
  };
}

function addOnce(list: NodeSelectorRequirement[], requirement: NodeSelectorRequirement): void {
  const values = new Set(requirement.values);
  const known = list.some(
    (other) =>
      other.key === requirement.key &&
      other.operator === requirement.operator &&
      new Set(other.values).symmetricDifference(values).size === 0,
  );
  if (!known) list.push(requirement);
}
