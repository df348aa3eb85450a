import type { RefusalGroup, RequestExplanation } from "@dray/allocator";
import type { KubeObject } from "@dray/api";
import { createdPodClaims } from "@dray/api/pod";
import type { DeviceToleration, ResourceClaim } from "@dray/api/resource/v1";
import { nameOf } from "../../manifests/place.ts";
import type { Change, NodeData } from "../data.ts";
import type { Trial } from "../trial.ts";
import type { Attempts, Candidate } from "./attempts.ts";
import {
  bodyOf,
  withCapacity,
  withCount,
  withoutConstraint,
  withoutSelector,
  withToleration,
} from "./claim-edits.ts";
/** Returns changes of the claims that may help. */
export function claimChanges(trial: Trial, nodes: readonly NodeData[]): Candidate[] {
  const found = new Map<string, Candidate>();
  for (const { claim, request, group } of groupsOf(trial, nodes)) {
    for (const candidate of changesOfGroup(trial, claim, request, group)) {
      if (!found.has(candidate.text)) found.set(candidate.text, candidate);
    }
  }
  const order = ["toleration", "selector", "constraint", "capacity"];
  return [...found.values()].toSorted((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind));
}

/** Returns the groups of refused devices of the nodes, with their claim. */
function groupsOf(
  trial: Trial,
  nodes: readonly NodeData[],
): { readonly claim: ResourceClaim; readonly request: RequestExplanation; readonly group: RefusalGroup }[] {
  return requestsOf(trial, nodes).flatMap(({ claim, request }) =>
    request.refused.map((group) => ({ claim, request, group })),
  );
}

function requestsOf(
  trial: Trial,
  nodes: readonly NodeData[],
): { readonly node: string; readonly claim: ResourceClaim; readonly request: RequestExplanation }[] {
  return nodes.flatMap(({ node, claims }) =>
    claims.flatMap((explained) => {
      const claim = trial.open.find((each) => nameOf(each) === explained.claim);
      return claim === undefined ? [] : explained.requests.map((request) => ({ node, claim, request }));
    }),
  );
}

function changesOfGroup(
  trial: Trial,
  claim: ResourceClaim,
  { request }: RequestExplanation,
  { check, selector, constraint, capacity, taint }: RefusalGroup,
): Candidate[] {
  const where = `request ${request} of ${claimText(trial, claim)}`;
  const about = { claim: nameOf(claim), request };
  const by = (edit: (claim: ResourceClaim) => ResourceClaim) => ({
    object: claim,
    edit: (object: KubeObject) => edit(object as ResourceClaim),
  });
  if (check === "taint" && taint !== undefined) {
    const { key, value, effect } = taint;
    const toleration = value
      ? { key, operator: "Equal", value, effect }
      : { key, operator: "Exists", effect };
    const text = `${where} tolerating ${key}${value ? `=${value}` : ""}:${effect}`;
    return [
      {
        kind: "toleration",
        text,
        about: { ...about, taint: `${key}${value ? `=${value}` : ""}:${effect}` },
        ...by((each) => withToleration(each, request, toleration as DeviceToleration)),
      },
    ];
  }
  if (check === "request-selector" && selector !== undefined) {
    const { expression } = selector;
    const one: Candidate = {
      ...{ kind: "selector", about: { ...about, selector: expression } },
      text: `${where} without the selector ${expression}`,
      ...by((each) => withoutSelector(each, request, expression)),
    };
    if ((bodyOf(claim, request)?.selectors ?? []).length < 2) return [one];
    const text = `${where} without its selectors`;
    return [one, { kind: "selector", text, about, ...by((each) => withoutSelector(each, request)) }];
  }
  if (check === "constraint" && constraint !== undefined) {
    const { kind, attribute } = constraint;
    const text = `${claimText(trial, claim)} without the constraint ${kind} ${attribute}`;
    return [
      {
        kind: "constraint",
        text,
        about: { claim: nameOf(claim), [kind]: attribute },
        ...by((each) => withoutConstraint(each, kind, attribute)),
      },
    ];
  }
  if (check === "capacity" && capacity?.left !== undefined && !/^0/.test(capacity.left)) {
    const { key, left } = capacity;
    const text = `${where} asking for ${left} of ${key}`;
    return [
      {
        kind: "capacity",
        text,
        about: { ...about, capacity: key, amount: left },
        ...by((each) => withCapacity(each, request, key, left)),
      },
    ];
  }
  return [];
}

/** `claim default/a` and its template, which is the object to change. */
function claimText({ pod }: Trial, claim: ResourceClaim): string {
  const used = createdPodClaims(pod).find(({ name }) => name === claim.metadata.name);
  const template = used?.entry?.resourceClaimTemplateName;
  return `claim ${nameOf(claim)}${template === undefined ? "" : ` (template ${template})`}`;
}

/** Maximum number of smaller counts to try for a request. */
const maxCounts = 3;

/** Returns the largest count of a request, smaller than its own, with which the pod fits. */
export async function fewerDevices(
  trial: Trial,
  nodes: readonly NodeData[],
  attempts: Attempts,
): Promise<Change[]> {
  const changes: Change[] = [];
  const byRequest = Map.groupBy(
    requestsOf(trial, nodes),
    ({ claim, request }) => `${nameOf(claim)} ${request.request}`,
  );
  for (const all of byRequest.values()) {
    const { claim, request } = all[0]!;
    const wanted = Number(bodyOf(claim, request.request)?.count ?? 1);
    const maxCount = Math.min(wanted - 1, Math.max(...all.map((each) => each.request.suitable)));
    for (let count = maxCount; count > Math.max(0, maxCount - maxCounts); count--) {
      const node = await attempts.ask("count", () => trial.with([withCount(claim, request.request, count)]));
      if (node === null) continue;
      const text = `request ${request.request} of ${claimText(trial, claim)} for ${count} instead of ${wanted} devices`;
      changes.push({
        kind: "count",
        text,
        node,
        about: { claim: nameOf(claim), request: request.request, count },
      });
      break;
    }
  }
  return changes;
}
