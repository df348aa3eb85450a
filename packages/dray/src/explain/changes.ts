import type { RefusalGroup, RequestExplanation } from "@dray/allocator";
import type { KubeObject } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import type { DeviceToleration, ResourceClaim } from "@dray/api/resource/v1";
import { nameOf } from "../manifests/place.ts";
import { claimNames } from "../plan/claims.ts";
import type { NodeRefusal } from "../plan/explain.ts";
import {
  bodyOf,
  withCapacity,
  withCount,
  withoutConstraint,
  withoutSelector,
  withToleration,
} from "./claim-edits.ts";
import type { Change, NodeData } from "./data.ts";
import { moreDevices } from "./more-devices.ts";
import { moreNodes } from "./more-nodes.ts";
import { nodeChanges } from "./node-changes.ts";
import { podsEnding } from "./pods-ending.ts";
import type { Trial } from "./trial.ts";

/** A change of one object that may help. */
export interface Candidate extends Omit<Change, "node"> {
  readonly object: KubeObject;
  /** Returns the object as it would be; changes of the same object can follow each other. */
  edit(object: KubeObject): KubeObject;
}

/** Counts what is tried, and ends where it has been enough. */
export class Attempts {
  readonly #most: number;
  tried = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get areOver(): boolean {
    return this.tried >= this.#most;
  }

  /** Asks once more; null where it has been enough, too. */
  async ask(land: () => Promise<string | null>): Promise<string | null> {
    if (this.areOver) return null;
    this.tried++;
    return land();
  }
}

/** A question costs about as much as the cluster has objects: so many objects are looked at in all. */
const maxObjects = 400_000;
const maxAttempts = 80;
/** Nodes whose devices say what to try. */
const maxNodes = 20;

/** What was tried, in the order of how much it takes: of the claim, of the nodes, of other pods, of the hardware. */
export async function changesFor(
  trial: Trial,
  promising: readonly NodeData[],
  refusals: readonly NodeRefusal[],
): Promise<{ readonly changes: readonly Change[]; readonly tried: number }> {
  const size = trial.world.objects.length;
  const attempts = new Attempts(Math.max(10, Math.min(maxAttempts, Math.floor(maxObjects / (size + 1)))));
  const near = promising.slice(0, maxNodes);
  const changes: Change[] = [];
  const candidates = [...claimChanges(trial, near), ...nodeChanges(trial, refusals)];
  for (const { object, edit, ...change } of candidates) {
    const node = await attempts.ask(() => trial.with([edit(object)]));
    if (node !== null) changes.push({ ...change, node });
  }
  for (const search of [fewerDevices, moreDevices, podsEnding, moreNodes])
    for (const change of await search(trial, near, attempts)) changes.push(change);
  const found = changes.length > 0 ? changes : await pairs(trial, candidates, attempts);
  return { changes: found, tried: attempts.tried };
}

/** Maximum number of pairs that are told. */
const maxPairs = 2;

/** Where nothing helps alone, two changes together: a selector and a taint may both stand in the way. */
async function pairs(trial: Trial, candidates: readonly Candidate[], attempts: Attempts): Promise<Change[]> {
  const found: Change[] = [];
  for (const [i, one] of candidates.entries()) {
    for (const other of candidates.slice(i + 1)) {
      if (found.length >= maxPairs || attempts.areOver) return found;
      const isSame = one.object === other.object;
      const changed = isSame
        ? [other.edit(one.edit(one.object))]
        : [one.edit(one.object), other.edit(other.object)];
      const node = await attempts.ask(() => trial.with(changed));
      if (node === null) continue;
      const about = { ...one.about, ...other.about };
      found.push({ kind: "several", text: `${one.text}, and ${other.text}`, node, about });
    }
  }
  return found;
}

/** What another wording of the claims may do. */
function claimChanges(trial: Trial, nodes: readonly NodeData[]): Candidate[] {
  const found = new Map<string, Candidate>();
  for (const { claim, request, group } of groupsOf(trial, nodes)) {
    for (const candidate of changesOfGroup(trial, claim, request, group)) {
      if (!found.has(candidate.text)) found.set(candidate.text, candidate);
    }
  }
  const order = ["toleration", "selector", "constraint", "capacity"];
  return [...found.values()].toSorted((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind));
}

/** Each group of devices that was refused on the nodes, with the claim that asked. */
export function groupsOf(
  trial: Trial,
  nodes: readonly NodeData[],
): { readonly claim: ResourceClaim; readonly request: RequestExplanation; readonly group: RefusalGroup }[] {
  return requestsOf(trial, nodes).flatMap(({ claim, request }) =>
    request.refused.map((group) => ({ claim, request, group })),
  );
}

export function requestsOf(
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

/** `claim default/a`, and the template that it is made from: that is what a person changes. */
function claimText({ pod }: Trial, claim: ResourceClaim): string {
  const entry = claimNames(pod).find((each) => each.claim === claim.metadata.name)?.entry;
  const template = pod.spec.resourceClaims?.find(({ name }) => name === entry)?.resourceClaimTemplateName;
  return `claim ${nameOf(claim)}${template === undefined ? "" : ` (template ${template})`}`;
}

/** Maximum number of smaller counts that are tried for a request. */
const maxCounts = 3;

/** The largest count of a request, below the one that it has, with which the pod fits. */
async function fewerDevices(trial: Trial, nodes: readonly NodeData[], attempts: Attempts): Promise<Change[]> {
  const changes: Change[] = [];
  const byRequest = Map.groupBy(
    requestsOf(trial, nodes),
    ({ claim, request }) => `${nameOf(claim)} ${request.request}`,
  );
  for (const all of byRequest.values()) {
    const { claim, request } = all[0]!;
    const wanted = Number(bodyOf(claim, request.request)?.count ?? 1);
    const most = Math.min(wanted - 1, Math.max(...all.map((each) => each.request.suitable)));
    for (let count = most; count > Math.max(0, most - maxCounts); count--) {
      const node = await attempts.ask(() => trial.with([withCount(claim, request.request, count)]));
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

export type Search = (trial: Trial, nodes: readonly NodeData[], attempts: Attempts) => Promise<Change[]>;

/** The pod with another spec. */
export const withSpec = (pod: Pod, spec: Partial<Pod["spec"]>): Pod => ({
  ...pod,
  spec: { ...pod.spec, ...spec },
});
