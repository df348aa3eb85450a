import type { Node, NodeSelector, NodeSelectorRequirement } from "@dray/api/core/v1";
import type {
  AllocationResult,
  DeviceAllocationConfiguration,
  DeviceRequestAllocationResult,
} from "@dray/api/resource/v1";
import {
  type Alternative,
  AttemptError,
  fullName,
  isOn,
  type Partial,
  type Pick,
  type PreparedClaim,
  type Question,
  variantOf,
} from "./model.ts";

/** Returns `status.allocation` of each claim. The ids of shares are share-0, share-1, ... over all claims. */
export function allocationsOf(
  question: Question,
  claims: readonly PreparedClaim[],
  { picks, chosen }: Partial,
): AllocationResult[] {
  const shares = picks.filter((pick) => pick.share !== undefined);
  return claims.map((claim, c) => {
    const own = picks.filter((pick) => pick.alternative.claim === c);
    const alternatives = chosen.filter((alternative) => alternative.claim === c);
    const nodeSelector = selectorOf(question, claim, own);
    return {
      devices: {
        results: own.map((pick) => deviceResult(question, pick, `share-${shares.indexOf(pick)}`)),
        config: configuration(claim, alternatives),
      },
      ...(nodeSelector === undefined ? {} : { nodeSelector }),
    };
  });
}

function deviceResult(question: Question, pick: Pick, shareID: string): DeviceRequestAllocationResult {
  const { alternative, candidate, share } = pick;
  const { bindingConditions, bindingFailureConditions, name } = candidate.device;
  const { tolerations } = alternative.spec;
  const { skipNodeOperations } = candidate.slice.spec;
  return {
    request: fullName(alternative),
    driver: candidate.pool.driver,
    pool: candidate.pool.name,
    device: name,
    ...(alternative.adminAccess ? { adminAccess: true } : {}),
    ...(tolerations === undefined ? {} : { tolerations }),
    ...(isOn(question, "DeviceBindingAndStatus") && bindingConditions !== undefined
      ? { bindingConditions }
      : {}),
    ...(isOn(question, "DeviceBindingAndStatus") && bindingFailureConditions !== undefined
      ? { bindingFailureConditions }
      : {}),
    ...(share === undefined ? {} : { shareID, consumedCapacity: Object.fromEntries(share) }),
    ...(variantOf(question.features) === "experimental" && skipNodeOperations !== undefined
      ? { skipNodeOperations }
      : {}),
  };
}

/** Returns the configuration of the classes, each once in the order of use, then that of the claim. */
function configuration(
  { claim, requests }: PreparedClaim,
  chosen: readonly Alternative[],
): DeviceAllocationConfiguration[] {
  const named = (list: readonly string[], alternative: Alternative): boolean =>
    list.includes(alternative.request) || list.includes(fullName(alternative));
  const users = Map.groupBy(chosen, (alternative) => alternative.deviceClass);
  const fromClasses = [...users].flatMap(([deviceClass, alternatives]) =>
    (deviceClass.spec.config ?? []).map((config) => ({
      source: "FromClass",
      requests: alternatives.map(fullName),
      ...config,
    })),
  );
  const fromClaim = (claim.spec.devices?.config ?? [])
    .filter(({ requests: list = [] }) => list.length === 0 || chosen.some((one) => named(list, one)))
    .map((config) => ({ source: "FromClaim", ...config }));
  return [...fromClasses, ...fromClaim].map(({ requests: list = [], ...config }) => {
    const coversAll = requests.length > 0 && chosen.every((alternative) => named(list, alternative));
    return list.length === 0 || coversAll ? config : { ...config, requests: list };
  });
}

/**
 * Returns which nodes can use the devices: this one, those that all node selectors match, or any (undefined).
 */
function selectorOf(
  { features, node }: Question,
  claim: PreparedClaim,
  picks: readonly Pick[],
): NodeSelector | undefined {
  let matchFields: NodeSelectorRequirement[] = [];
  let matchExpressions: NodeSelectorRequirement[] = [];
  for (const { candidate } of picks) {
    const { slice, device } = candidate;
    const source = slice.spec.perDeviceNodeSelection === true ? device : slice.spec;
    const binds = variantOf(features) !== "stable" && device.bindsToNode === true;
    if (source.nodeName !== undefined || binds) return onlyOn(node);
    const terms = source.nodeSelector?.nodeSelectorTerms ?? [];
    if (terms.length > 1) {
      throw new AttemptError(
        `create NodeSelector for claim ${claim.claim.metadata.name}: unsupported ResourceSlice.NodeSelector with ${terms.length} terms`,
      );
    }
    matchFields = (terms[0]?.matchFields ?? []).reduce(joined, matchFields);
    matchExpressions = (terms[0]?.matchExpressions ?? []).reduce(joined, matchExpressions);
  }
  if (matchFields.length === 0 && matchExpressions.length === 0) return undefined;
  return { nodeSelectorTerms: [{ matchFields, matchExpressions }] };
}

function onlyOn(node: Node): NodeSelector {
  const requirement = { key: "metadata.name", operator: "In", values: [node.metadata.name] };
  return { nodeSelectorTerms: [{ matchFields: [requirement] }] };
}

function joined(list: NodeSelectorRequirement[], added: NodeSelectorRequirement): NodeSelectorRequirement[] {
  const values = new Set(added.values);
  const known = list.some(
    (other) =>
      other.key === added.key &&
      other.operator === added.operator &&
      new Set(other.values).symmetricDifference(values).size === 0,
  );
  return known ? list : [...list, added];
}
