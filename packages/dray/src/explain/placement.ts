import type { Explanation } from "@dray/allocator";
import type { Inventory } from "../inventory/inventory.ts";
import { nameOf } from "../manifests/place.ts";
import { copiesOf } from "../plan/copies.ts";
import { promisingKinds } from "./changes/more-nodes.ts";
import { changesFor } from "./changes/search.ts";
import type { NodeData, PlacementData } from "./data.ts";
import { rankNodes } from "./ranking.ts";
import { refusalsOf } from "./refusals.ts";
import type { Attempt, Trial } from "./trial.ts";

/** Maximum number of nodes that are reported with their devices. */
const maxPromising = 3;

/** Returns where the pod could be placed, the refusals of nodes, and changes that help. */
export async function placementOf(trial: Trial, inventory: Inventory): Promise<PlacementData> {
  const first = await trial.try();
  const { placement, blocked } = first;
  const nodes = trial.nodes.length;
  const untried = {
    ...{ refusals: [], promising: [], changes: [], tried: 0, triedKinds: [] },
    ...{ blockedBy: null, emptyNode: null },
  };
  if (placement.type === "placed") return { fits: placement.node, message: null, nodes, ...untried };
  const { message } = placement;
  if (placement.type === "gated") return { fits: null, message, nodes, ...untried };
  const attempt = remembered(first);
  const ranked = rankNodes(attempt, trial.nodes, trial.world, inventory);
  const { refusals } = refusalsOf(attempt, trial.nodes);
  const tries = await changesFor(trial, { attempt, nodes: ranked.nodes, refusals }, inventory);
  const shown = ranked.withClasses > 0 ? Math.min(maxPromising, ranked.withClasses) : maxPromising;
  return {
    fits: null,
    message: messageOf(first),
    nodes,
    refusals,
    blockedBy: blocked.metadata.uid === trial.pod.metadata.uid ? null : nameOf(blocked),
    promising: ranked.nodes.slice(0, shown),
    ...tries,
    emptyNode: tries.changes.length > 0 ? null : await emptyNode(trial, ranked.nodes, inventory),
  };
}

/** A pod that its group holds back says what holds the group back, too. */
function messageOf({ placement, refused }: Attempt): string {
  const own = placement.type === "placed" ? "" : placement.message;
  if (refused === placement || refused.type === "placed" || own.includes(refused.message)) return own;
  return `${own}: ${refused.message}`;
}

/** Each node is explained once. */
function remembered(attempt: Attempt): Attempt {
  const known = new Map<string, Explanation | undefined>();
  return {
    ...attempt,
    explain(node) {
      if (!known.has(node)) known.set(node, attempt.explain(node));
      return known.get(node);
    },
  };
}

/** Returns why an empty copy of the most promising node refuses the pod: what comes after the first cause. */
async function emptyNode(
  trial: Trial,
  nodes: readonly NodeData[],
  inventory: Inventory,
): Promise<NodeData | null> {
  const [like] = promisingKinds(trial, nodes);
  if (like === undefined) return null;
  const objects = copiesOf(trial.world, like, 1).map(({ object }) => object);
  const copy = objects.find(({ kind }) => kind === "Node")?.metadata.name ?? "";
  const attempt = await trial.try({ objects });
  // The changes were too many to try this one.
  if (attempt.placement.type === "placed") return null;
  const [found] = rankNodes(attempt, [copy], trial.world, inventory).nodes;
  return found === undefined ? null : { ...found, node: like };
}
