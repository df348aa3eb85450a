import type { NodeRefusal } from "../../plan/explain.ts";
import type { Change, NodeData, PlacementData } from "../data.ts";
import type { Trial } from "../trial.ts";
import { Attempts, type Candidate } from "./attempts.ts";
import { claimChanges, fewerDevices } from "./claim-changes.ts";
import { moreDevices } from "./more-devices.ts";
import { moreNodes } from "./more-nodes.ts";
import { nodeChanges } from "./node-changes.ts";
import { podsEnding } from "./pods-ending.ts";

/** Maximum number of objects in all attempts: each costs about as much as the cluster has objects. */
const maxObjects = 400_000;
const maxAttempts = 80;
/** Maximum number of nodes whose devices suggest changes. */
const maxNodes = 20;

/** Tries changes in the order of their effort: of the claim, of the nodes, of other pods, of the hardware. */
export async function changesFor(
  trial: Trial,
  promising: readonly NodeData[],
  refusals: readonly NodeRefusal[],
): Promise<Pick<PlacementData, "changes" | "tried" | "triedKinds">> {
  const size = trial.world.objects.length;
  const attempts = new Attempts(Math.max(10, Math.min(maxAttempts, Math.floor(maxObjects / (size + 1)))));
  const near = promising.slice(0, maxNodes);
  const changes: Change[] = [];
  const candidates = [...claimChanges(trial, near), ...nodeChanges(trial, refusals)];
  for (const { object, edit, ...change } of candidates) {
    const node = await attempts.ask(change.kind, () => trial.with([edit(object)]));
    if (node !== null) changes.push({ ...change, node });
  }
  for (const search of [fewerDevices, moreDevices, podsEnding, moreNodes])
    for (const change of await search(trial, near, attempts)) changes.push(change);
  const found = changes.length > 0 ? changes : await pairs(trial, candidates, attempts);
  return { changes: found, tried: attempts.tried, triedKinds: [...attempts.kinds] };
}

/** Maximum number of reported pairs. */
const maxPairs = 2;

/** Tries pairs of changes if no single one helps: a selector and a taint may both be in the way. */
async function pairs(trial: Trial, candidates: readonly Candidate[], attempts: Attempts): Promise<Change[]> {
  const found: Change[] = [];
  for (const [i, one] of candidates.entries()) {
    for (const other of candidates.slice(i + 1)) {
      if (found.length >= maxPairs || attempts.areOver) return found;
      const isSame = one.object === other.object;
      const changed = isSame
        ? [other.edit(one.edit(one.object))]
        : [one.edit(one.object), other.edit(other.object)];
      const node = await attempts.ask("several", () => trial.with(changed));
      if (node === null) continue;
      const about = { ...one.about, ...other.about };
      found.push({ kind: "several", text: `${one.text}, and ${other.text}`, node, about });
    }
  }
  return found;
}
