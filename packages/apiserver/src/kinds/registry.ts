/**
 * The two halves of a kind's definition, both found by group and kind:
 *
 *     @dray/api        kinds/<group>/<kind>/kind.ts   defineKind: defaults, validation, warnings, quota
 *     @dray/apiserver  kinds/<group>/<kind>/kind.ts   defineServedKind: facts, normalise, strategy, columns,
 *                                                     convert
 *
 * The first half needs no server, and clients use it offline. Each has a list with one line for each kind
 * (`list.ts`). `models.ts` puts both together: the `ResourceModel` of a kind in one version is all that other
 * parts of the server see.
 */
import type { KubeObject } from "@dray/api";
import type { GroupKind } from "@dray/api/validation";
import type { ServedKind } from "./define.ts";
import * as list from "./list.ts";

const byGroup = new Map<string, Map<string, ServedKind>>();
for (const served of Object.values<ServedKind>(list)) {
  const { group, kind } = served.type;
  const kinds = byGroup.get(group) ?? new Map<string, ServedKind>();
  byGroup.set(group, kinds.set(kind, served));
}

/** Returns the rules of the server for a kind; undefined if it is not built in. */
export function servedKind({ group, kind }: GroupKind): ServedKind<KubeObject> | undefined {
  return byGroup.get(group)?.get(kind);
}
