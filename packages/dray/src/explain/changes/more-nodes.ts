import { copiesOf } from "../../plan/copies.ts";
import { kindsOfNodes } from "../../plan/grow.ts";
import type { Change, NodeData } from "../data.ts";
import type { Trial } from "../trial.ts";
import type { Attempts } from "./attempts.ts";

/** Maximum number of kinds of nodes to try. */
const maxKinds = 5;

/** Tries an empty copy of an existing node. */
export async function moreNodes(
  trial: Trial,
  nodes: readonly NodeData[],
  attempts: Attempts,
): Promise<Change[]> {
  const kinds = kindsOfNodes(trial.world);
  // The most promising nodes are likely of a kind that helps.
  const rank = new Map(nodes.map(({ node }, i) => [node, i]));
  const ranked = kinds.toSorted((a, b) => (rank.get(a) ?? kinds.length) - (rank.get(b) ?? kinds.length));
  for (const like of ranked.slice(0, maxKinds)) {
    const copies = copiesOf(trial.world, like, 1).map(({ object }) => object);
    const node = await attempts.ask("node", () => trial.with(copies));
    if (node !== null) return [{ kind: "node", text: `one more node like ${like}`, node, about: { like } }];
  }
  return [];
}
