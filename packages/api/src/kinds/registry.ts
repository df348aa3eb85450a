/**
 * Registry of the rules of each kind. Layout:
 *
 *     kinds/<group>/<kind>/kind.ts      defineKind(Type, { defaults, validation, warnings, quota })
 *     kinds/<group>/                    code that the kinds of a group share
 *     kinds/list.ts                     one line for each kind
 *     kinds/registry.ts                 the lookup by group and kind
 *
 * The rules are used through the exports of this package: `setDefaults` (defaults/), `validateCreate` and
 * similar functions, `warningsFor` (validation/), `quotaEvaluators` (quota/). They need no server: `dray
 * plan`, `dray lint` and the kubelet's static pods use them, too. Rules that only the API server applies
 * (facts, strategy, columns, conversion) are in its own `kinds/`, under the same key.
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
