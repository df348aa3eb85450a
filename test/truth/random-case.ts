/** One random cluster with troubles: its objects as a server would store them. */
import type { KubeObject } from "@dray/api";
import type { Random } from "@dray/testing/random";
import { readObjects } from "../../packages/dray/src/manifests/read.ts";
import { Selectors } from "../../packages/dray/src/manifests/selectors.ts";
import { sourceOf } from "../../packages/dray/src/manifests/source.ts";
import { baseDraft } from "./base.ts";
import { truthFeatures } from "./cluster.ts";
import type { Draft, Facts, Manifest } from "./draft.ts";
import { deviceTroubles } from "./troubles/devices.ts";
import { endTroubles } from "./troubles/ends.ts";
import { groupTroubles, nodeTroubles, podTroubles } from "./troubles/pods.ts";

const selectors = new Selectors(truthFeatures);

export interface RandomCase {
  readonly objects: readonly KubeObject[];
  readonly facts: Facts;
  readonly troubles: readonly string[];
}

export function randomCase(random: Random): RandomCase {
  const draft = baseDraft(random);
  const waiting = { ...deviceTroubles, ...podTroubles };
  add(draft, waiting, random.pick([0, 1, 1, 1, 2, 2, 3]));
  add(draft, nodeTroubles, random.pick([0, 0, 0, 1, 2]));
  add(draft, groupTroubles, random.chance(0.2) ? 1 : 0);
  add(draft, endTroubles, random.chance(0.25) ? 1 : 0);
  draft.objects.push(draft.subject);
  return { objects: decoded(draft.objects), facts: draft.facts, troubles: draft.troubles };
}

function add(
  draft: Draft,
  troubles: Readonly<Record<string, (draft: Draft) => boolean>>,
  count: number,
): void {
  for (const [name, trouble] of draft.random.shuffled(Object.entries(troubles)).slice(0, count))
    if (trouble(draft)) draft.troubles.push(name);
}

function decoded(objects: readonly Manifest[]): KubeObject[] {
  const text = JSON.stringify({ apiVersion: "v1", kind: "List", items: objects });
  const { world, problems } = readObjects(
    { sources: [sourceOf("case.json", text)], problems: [] },
    { features: truthFeatures, namespace: "default", selectors, now: "2026-01-01T00:00:00Z" },
  );
  if (problems.length > 0) throw new Error(`an invalid case: ${JSON.stringify(problems)}`);
  const quotas = objects.filter(({ kind }) => kind === "ResourceQuota");
  return [...world.objects.map(({ object }) => object), ...(quotas as unknown as KubeObject[])];
}
