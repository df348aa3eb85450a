import type { NodeSelector, NodeSelectorRequirement } from "@dray/api/core/v1";
import type {
  AllocationResult,
  DeviceAllocationConfiguration,
  DeviceClass,
  DeviceRequestAllocationResult,
} from "@dray/api/resource/v1";
import { AllocationError } from "../devices/allocation-error.ts";
import type { DeviceRecord } from "../devices/device-record.ts";
import { areEqual } from "../rules/sets.ts";
import type { Option, OptionClaim, Problem } from "./problem.ts";
import type { Solution } from "./search.ts";

/** A device allocated to a request. */
interface Pick {
  readonly option: Option;
  readonly record: DeviceRecord;
  readonly position: number;
}

/** Throws AllocationError if the solution cannot be expressed as an AllocationResult. */
export function checkSolution(problem: Problem, solution: Solution): void {
  problem.claims.forEach((claim, i) => {
    const picks = solution[i]!.picks.map((pick) => ({ ...pick, record: problem.devices[pick.position]! }));
    // Before 1.38 the API server does not validate the node selectors of devices; a manifest may have any.
    const mayFail = picks.some(({ record: { slice } }) => {
      const { perDeviceNodeSelection, nodeSelector } = slice.spec;
      return perDeviceNodeSelection === true || (nodeSelector?.nodeSelectorTerms?.length ?? 0) > 1;
    });
    if (mayFail) selectorOf(claim, picks, problem);
  });
}

/** Returns `status.allocation` of a claim. `newId` makes the ids of shares. */
export function allocationResult(
  problem: Problem,
  claim: OptionClaim,
  solution: Solution[number],
  newId: () => string,
): AllocationResult {
  const picks = solution.picks.map((pick) => ({ ...pick, record: problem.devices[pick.position]! }));
  const results = picks.map((pick) => deviceResult(problem, pick, newId));
  const config = configuration(claim, solution.options);
  const nodeSelector = selectorOf(claim, picks, problem);
  return {
    devices: {
      ...(results.length === 0 ? {} : { results }),
      ...(config.length === 0 ? {} : { config }),
    },
    ...(nodeSelector === undefined ? {} : { nodeSelector }),
  };
}

/** `request`, or `request/subrequest` for an alternative. */
function requestName({ alternative }: Option): string {
  return alternative.subrequest === undefined
    ? alternative.request
    : `${alternative.request}/${alternative.subrequest}`;
}

function deviceResult(problem: Problem, pick: Pick, newId: () => string): DeviceRequestAllocationResult {
  const { option, record, position } = pick;
  const { features, policies } = problem;
  const { alternative } = option;
  const { bindingConditions, bindingFailureConditions, allowMultipleAllocations, name } = record.device;
  const binds = features.deviceBindingAndStatus;
  const skipped = policies.skipsNodeOperations ? record.slice.spec.skipNodeOperations : undefined;
  const shares = features.consumableCapacity && allowMultipleAllocations === true;
  const demand = problem.demand(option, position);
  const consumed =
    shares && demand.type === "consumes"
      ? demand.parts.map(({ key, consumed }) => [key, consumed.toString()] as const)
      : [];
  return {
    request: requestName(option),
    driver: record.driver,
    pool: record.pool,
    device: name,
    ...(alternative.adminAccess && { adminAccess: true }),
    ...(alternative.tolerations.length > 0 && { tolerations: [...alternative.tolerations] }),
    ...(binds && bindingConditions !== undefined && { bindingConditions }),
    ...(binds && bindingFailureConditions !== undefined && { bindingFailureConditions }),
    ...(shares && { shareID: newId() }),
    ...(consumed.length > 0 && { consumedCapacity: Object.fromEntries(consumed) }),
    ...(skipped !== undefined && { skipNodeOperations: skipped }),
  };
}

/** Returns the configuration of the classes, each once in the order of use, then that of the claim. */
function configuration(claim: OptionClaim, options: readonly Option[]): DeviceAllocationConfiguration[] {
  const names = new Set(options.flatMap((option) => [option.alternative.request, requestName(option)]));
  /** Omits a list of all requests, which has the same meaning. */
  const reduced = (requests: readonly string[]): { requests?: string[] } => {
    const all = options.every(
      (option) => requests.includes(option.alternative.request) || requests.includes(requestName(option)),
    );
    return requests.length === 0 || all ? {} : { requests: [...requests] };
  };
  const users = new Map<DeviceClass, string[]>();
  for (const option of options) {
    const { deviceClass } = option.alternative;
    users.set(deviceClass, [...(users.get(deviceClass) ?? []), requestName(option)]);
  }
  const config: DeviceAllocationConfiguration[] = [];
  for (const [deviceClass, requests] of users) {
    for (const entry of deviceClass.spec.config ?? []) {
      config.push({ source: "FromClass", ...reduced(requests), ...entry });
    }
  }
  for (const entry of claim.prepared.claim.spec.devices?.config ?? []) {
    const requests = entry.requests ?? [];
    const applies = requests.length === 0 || requests.some((name) => names.has(name));
    if (!applies) continue;
    const { requests: _, ...rest } = entry;
    config.push({ source: "FromClaim", ...reduced(requests), ...rest });
  }
  return config;
}

/**
 * Returns the nodes that can use the devices: this one, those that all node selectors match, or any
 * (undefined).
 */
function selectorOf(
  claim: OptionClaim,
  picks: readonly Pick[],
  { node, policies }: Problem,
): NodeSelector | undefined {
  const expressions: NodeSelectorRequirement[] = [];
  const fields: NodeSelectorRequirement[] = [];
  for (const { record } of picks) {
    const { slice, device } = record;
    const source = slice.spec.perDeviceNodeSelection === true ? device : slice.spec;
    const isForThisNode =
      (source.nodeName ?? "") !== "" || (policies.bindsToNode && device.bindsToNode === true);
    if (isForThisNode) {
      const requirement = { key: "metadata.name", operator: "In", values: [node.metadata.name] };
      return { nodeSelectorTerms: [{ matchFields: [requirement] }] };
    }
    const terms = source.nodeSelector?.nodeSelectorTerms ?? [];
    if (terms.length > 1) {
      throw new AllocationError(
        `create NodeSelector for claim ${claim.prepared.claim.metadata.name}: unsupported ResourceSlice.NodeSelector with ${terms.length} terms`,
      );
    }
    const [term] = terms;
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
  const isListed = list.some(
    (other) =>
      other.key === requirement.key &&
      other.operator === requirement.operator &&
      areEqual(new Set(other.values), values),
  );
  if (!isListed) list.push(requirement);
}
