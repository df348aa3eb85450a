import { copiesOf } from "../../plan/copies.ts";
import { kindsOfNodes } from "../../plan/grow.ts";
import { counted } from "../../text/words.ts";
import type { Change, NodeData } from "../data.ts";
import type { Trial } from "../trial.ts";
import type { Attempts } from "./attempts.ts";

/** Maximum number of kinds of nodes to try. */
const maxKinds = 5;
/** Maximum number of nodes to add, for the pods of a group and for those that come before. */
const maxNodes = 16;

/** Returns one node of each kind, the most promising first. */
export function promisingKinds(trial: Trial, nodes: readonly NodeData[]): string[] {
  const kinds = kindsOfNodes(trial.world);
  const rank = new Map(nodes.map(({ node }, i) => [node, i]));
  const rankOf = (kind: string): number => rank.get(kind) ?? kinds.length;
  return kinds.toSorted((a, b) => rankOf(a) - rankOf(b)).slice(0, maxKinds);
}

/**
 * Tries empty copies of an existing node: up to one for each pod of a group, and for each that comes before.
 */
export async function moreNodes(
  trial: Trial,
  nodes: readonly NodeData[],
  attempts: Attempts,
): Promise<Change[]> {
  const others = trial.rivals.flatMap(({ pods }) => pods).length;
  const most = Math.min(maxNodes, trial.members.length + others);
  for (const count of new Set([1, 2, 4, 8, most].filter((each) => each <= most))) {
    for (const like of promisingKinds(trial, nodes)) {
      const copies = copiesOf(trial.world, like, count).map(({ object }) => object);
      const landing = await attempts.ask("node", () => trial.with(copies));
      if (landing === null) continue;
      const text = count === 1 ? `one more node like ${like}` : `${counted(count, "more node")} like ${like}`;
      return [{ kind: "node", text, ...landing, about: { like, ...(count > 1 && { count }) } }];
    }
  }
  return [];
}
