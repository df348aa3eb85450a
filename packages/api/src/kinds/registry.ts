/**
 * Where the rules of a kind live, and who reads them:
 *
 *     kinds/<group>/<kind>/kind.ts      defineKind(Type, { defaults, validation, warnings, quota })
 *     kinds/<group>/                    what the kinds of a group share
 *     kinds/list.ts                     one line for each kind
 *     kinds/registry.ts                 the lookup by group and kind
 *
 * Every reader is a door of this package: `setDefaults` (defaults/), `validateCreate` and its like,
 * `warningsFor` (validation/), `quotaEvaluators` (quota/). None of them needs a server: `dray plan`, `dray
 * lint` and the kubelet's static pods use them, too. What only the API server does with a kind (facts,
 * strategy, columns, conversion) is in its own `kinds/`, under the same key.
 */
import type { KubeObject } from "../objects/object.ts";
import type { KindDefinition } from "./define.ts";
import * as list from "./list.ts";

/** The key of a kind in every table: its version does not matter. */
export interface GroupKind {
  /** "" for the core group. */
  readonly group: string;
  readonly kind: string;
}

/** All kinds with rules. */
export const kindDefinitions: readonly KindDefinition[] = Object.values<KindDefinition>(list);

const byGroup = new Map<string, Map<string, KindDefinition>>();
for (const definition of kindDefinitions) {
  const { group, kind } = definition.type;
  const kinds = byGroup.get(group) ?? new Map<string, KindDefinition>();
  byGroup.set(group, kinds.set(kind, definition));
}

/** The rules of a kind; undefined for one that has none beyond its schema. */
export function kindDefinition({ group, kind }: GroupKind): KindDefinition<KubeObject> | undefined {
  return byGroup.get(group)?.get(kind);
}
