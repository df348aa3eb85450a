import type { Inventory } from "../../inventory/inventory.ts";
import type { NodeRefusal } from "../../plan/explain.ts";
import type { Change, Landing, NodeData, PlacementData } from "../data.ts";
import { rankNodes } from "../ranking.ts";
import { refusalsOf } from "../refusals.ts";
import type { Attempt, Trial } from "../trial.ts";
import { Attempts, applied, type Candidate } from "./attempts.ts";
import { claimChanges, extendedChanges, fewerDevices } from "./claim-changes.ts";
import { moreDevices } from "./more-devices.ts";
import { moreNodes } from "./more-nodes.ts";
import { nodeChanges } from "./node-changes.ts";
import { podsEnding } from "./pods-ending.ts";
import { fewerExtended, requestChanges } from "./request-changes.ts";

/** Maximum number of objects in all attempts: each costs about as much as the cluster has objects. */
const maxObjects = 400_000;
const maxAttempts = 150;
/** Maximum number of nodes whose devices suggest changes. */
const maxNodes = 20;

/** A failed attempt, and its nodes. */
export interface Refused {
  readonly attempt: Attempt;
  readonly nodes: readonly NodeData[];
  readonly refusals: readonly NodeRefusal[];
}

/** Tries changes in the order of their effort: of the claim, of the nodes, of other pods, of the hardware. */
export async function changesFor(
  trial: Trial,
  refused: Refused,
  inventory: Inventory,
): Promise<Pick<PlacementData, "changes" | "tried" | "triedKinds">> {
  const size = trial.world.objects.length;
  const attempts = new Attempts(Math.max(10, Math.min(maxAttempts, Math.floor(maxObjects / (size + 1)))));
  const near = refused.nodes.slice(0, maxNodes);
  const candidates = candidatesFor(trial, refused);
  const changes = await helpful(trial, candidates, attempts);
  for (const search of [fewerDevices, moreDevices, podsEnding, moreNodes])
    for (const change of await search(trial, near, attempts)) changes.push(change);
  const found = changes.length > 0 ? changes : await together(trial, candidates, inventory, attempts);
  return { changes: found, tried: attempts.tried, triedKinds: [...attempts.kinds] };
}

/** Returns changes of the pod, of its claims and of nodes that the refusals suggest. */
function candidatesFor(trial: Trial, { attempt, nodes, refusals }: Refused): Candidate[] {
  const near = nodes.slice(0, maxNodes);
  return [
    ...claimChanges(trial, near),
    ...extendedChanges(trial, near),
    ...requestChanges(trial, attempt.blocked, near),
    ...fewerExtended(trial, near),
    ...nodeChanges(trial, attempt.blocked, refusals),
  ];
}

async function helpful(
  trial: Trial,
  candidates: readonly Candidate[],
  attempts: Attempts,
): Promise<Change[]> {
  const changes: Change[] = [];
  const done = new Set<string>();
  for (const candidate of candidates) {
    const { edits: _e, gone: _g, once, ...change } = candidate;
    if (once !== undefined && done.has(once)) continue;
    const { objects, gone } = applied([candidate]);
    const landing = await attempts.ask(change.kind, () => trial.with(objects, gone));
    if (landing === null) continue;
    changes.push({ ...change, ...landing });
    if (once !== undefined) done.add(once);
  }
  return changes;
}

/** Maximum number of reported combinations, of changes in one, and of beginnings that are tried. */
const maxFound = 2;
const maxChanges = 3;
const maxBeginnings = 8;

/**
 * Tries several changes together if no single one helps: each change, then those that the refusals after it
 * suggest. A selector and a taint may both be in the way.
 */
async function together(
  trial: Trial,
  first: readonly Candidate[],
  inventory: Inventory,
  attempts: Attempts,
): Promise<Change[]> {
  const found: Change[] = [];
  const seen = new Set<string>();
  let beginnings = first.map((candidate) => [candidate]);
  for (let size = 2; size <= maxChanges && found.length === 0; size++) {
    const longer: Candidate[][] = [];
    for (const chosen of beginnings.slice(0, maxBeginnings)) {
      if (attempts.areOver) return found;
      for (const candidate of await nextCandidates(trial, chosen, inventory)) {
        const all = [...chosen, candidate];
        const key = all
          .map(({ text }) => text)
          .toSorted()
          .join("\n");
        if (seen.has(key) || found.length >= maxFound) continue;
        seen.add(key);
        const { objects, gone } = applied(all);
        const landing = await attempts.ask("several", () => trial.with(objects, gone));
        if (landing === null) longer.push(all);
        else found.push(severalOf(all, landing));
      }
    }
    beginnings = longer;
  }
  return found;
}

/** Returns the candidates that the refusals after some changes suggest. */
async function nextCandidates(
  trial: Trial,
  chosen: readonly Candidate[],
  inventory: Inventory,
): Promise<Candidate[]> {
  const attempt = await trial.try(applied(chosen));
  const { nodes } = rankNodes(attempt, trial.nodes, trial.world, inventory);
  const refused = { attempt, nodes, refusals: refusalsOf(attempt, trial.nodes).refusals };
  const texts = new Set(chosen.map(({ text }) => text));
  return candidatesFor(trial, refused).filter(({ text }) => !texts.has(text));
}

function severalOf(all: readonly Candidate[], landing: Landing): Change {
  return {
    kind: "several",
    text: all.map(({ text }) => text).join(", and "),
    ...landing,
    about: Object.assign({}, ...all.map(({ about }) => about)) as Change["about"],
    changes: all.map(({ kind, text, about }) => ({ kind, text, about })),
  };
}
