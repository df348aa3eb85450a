import type { RefusalGroup, RequestExplanation } from "@dray/allocator";
import { Quantity } from "@dray/api";
import type { DeviceToleration, ResourceClaim } from "@dray/api/resource/v1";
import { nameOf } from "../../manifests/place.ts";
import type { Change, HeldRefusal, NodeData } from "../data.ts";
import type { Trial } from "../trial.ts";
import { type Attempts, applied, type Candidate } from "./attempts.ts";
import { bodyOf, withCapacity, withCount, withoutConstraint, withToleration } from "./claim-edits.ts";
import { claimEdits, claimText } from "./owners.ts";
import { classSelectorChanges, selectorChanges } from "./selector-changes.ts";

type NodeRequest = NodeData["claims"][number]["requests"][number];

const order = ["toleration", "taint-rule", "selector", "class-selector", "constraint", "capacity"];

/** Returns changes of the claims that may help. */
export function claimChanges(trial: Trial, nodes: readonly NodeData[]): Candidate[] {
  const found = new Map<string, Candidate>();
  for (const { claim, request } of requestsOf(trial, nodes))
    for (const group of request.refused)
      for (const candidate of changesOfGroup(trial, claim, request, group))
        if (!found.has(candidate.text)) found.set(candidate.text, candidate);
  return [...found.values()].toSorted(
    (a, b) => order.indexOf(a.kind) - order.indexOf(b.kind) || bySize(b) - bySize(a),
  );
}

/**
 * Returns changes for extended resources that devices serve: only the scheduler makes their claim (KEP-5004).
 */
export function extendedChanges(trial: Trial, nodes: readonly NodeData[]): Candidate[] {
  const found = new Map<string, Candidate>();
  for (const { claims } of nodes)
    for (const { claim, requests } of claims) {
      if (trial.open.some((each) => nameOf(each) === claim)) continue;
      for (const { deviceClass, refused } of requests)
        for (const group of refused)
          for (const candidate of [...ruleChanges(group), ...classSelectorChanges(trial, deviceClass, group)])
            if (!found.has(candidate.text)) found.set(candidate.text, candidate);
    }
  return [...found.values()];
}

/** Larger amounts of capacity are tried first. */
const bySize = ({ kind, about }: Candidate): number =>
  kind === "capacity" ? Number(Quantity.parse(String(about["amount"])).nanoValue()) : 0;

function requestsOf(
  trial: Trial,
  nodes: readonly NodeData[],
): { readonly node: string; readonly claim: ResourceClaim; readonly request: NodeRequest }[] {
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
  { request, deviceClass }: RequestExplanation,
  group: HeldRefusal,
): Candidate[] {
  const { check, constraint, capacity } = group;
  const where = `request ${request} of ${claimText(trial, claim)}`;
  const about = { claim: nameOf(claim), request };
  if (check === "taint") return taintChanges(trial, claim, request, group);
  if (check === "request-selector" || check === "error")
    return selectorChanges(trial, { claim, request, deviceClass }, group);
  if (check === "constraint" && constraint !== undefined) {
    const { kind, attribute } = constraint;
    return [
      {
        kind: "constraint",
        text: `${claimText(trial, claim)} without the constraint ${kind} ${attribute}`,
        about: { claim: nameOf(claim), [kind]: attribute },
        edits: claimEdits(trial, claim, (each) => withoutConstraint(each, kind, attribute)),
      },
    ];
  }
  if (check !== "capacity" || capacity?.fitting === undefined) return [];
  const amounts = Object.entries(capacity.fitting);
  const [key, amount] = amounts[0]!;
  const rest = amounts.slice(1).map(([other, less]) => `${less} of ${other}`);
  return [
    {
      kind: "capacity",
      text: `${where} asking for ${[`${amount} of ${key}`, ...rest].join(" and ")}`,
      about: {
        ...about,
        ...{ capacity: key, amount },
        ...(rest.length > 0 && { amounts: amounts.map(([other, less]) => `${other}=${less}`) }),
      },
      edits: claimEdits(trial, claim, (each) =>
        amounts.reduce((changed, [other, less]) => withCapacity(changed, request, other, less), each),
      ),
      once: `capacity ${nameOf(claim)} ${request}`,
    },
  ];
}

function taintChanges(
  trial: Trial,
  claim: ResourceClaim,
  request: string,
  group: HeldRefusal & Pick<RefusalGroup, "taint">,
): Candidate[] {
  const { taint } = group;
  if (taint === undefined) return [];
  const { key, value, effect } = taint;
  const toleration = value ? { key, operator: "Equal", value, effect } : { key, operator: "Exists", effect };
  const text = `${key}${value ? `=${value}` : ""}:${effect}`;
  return [
    {
      kind: "toleration",
      text: `request ${request} of ${claimText(trial, claim)} tolerating ${text}`,
      about: { claim: nameOf(claim), request, taint: text },
      edits: claimEdits(trial, claim, (each) =>
        withToleration(each, request, toleration as DeviceToleration),
      ),
    },
    ...ruleChanges(group),
  ];
}

const ruleChanges = ({ rules = [] }: HeldRefusal): Candidate[] =>
  rules.map((rule) => ({
    ...{ kind: "taint-rule", text: `DeviceTaintRule ${rule} deleted`, about: { rule } },
    ...{ edits: [], gone: [`DeviceTaintRule ${rule}`] },
  }));

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
    const body = bodyOf(claim, request.request);
    // All devices of a node have no count (resource/v1 DeviceAllocationMode).
    if (body?.allocationMode === "All") continue;
    const wanted = Number(body?.count ?? 1);
    const maxCount = Math.min(wanted - 1, Math.max(...all.map((each) => each.request.suitable)));
    for (const count of countsBelow(maxCount)) {
      const edits = claimEdits(trial, claim, (each) => withCount(each, request.request, count));
      const change: Candidate = {
        kind: "count",
        text: `request ${request.request} of ${claimText(trial, claim)} for ${count} instead of ${body?.count ?? 1} devices`,
        about: { claim: nameOf(claim), request: request.request, count },
        edits,
      };
      const landing = await attempts.ask("count", () => trial.with(applied([change]).objects));
      if (landing === null) continue;
      const { edits: _, ...found } = change;
      changes.push({ ...found, ...landing });
      break;
    }
  }
  return changes;
}

/** Returns the largest count and those just below it, then 1. */
function countsBelow(max: number): number[] {
  const counts = Array.from({ length: maxCounts }, (_, i) => max - i).filter((count) => count > 0);
  return [...new Set([...counts, ...(max > 0 ? [1] : [])])];
}
