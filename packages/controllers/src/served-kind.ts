import type { Kind, KubeObject } from "@dray/api";
import type { ServedResources } from "./deletion/resources.ts";

/** Returns the kind in the version that the server prefers; undefined if the server does not serve it. */
export function servedKind<T extends KubeObject>(
  { list }: Pick<ServedResources, "list">,
  group: string,
  resource: string,
): Kind<T> | undefined {
  const found = list.find(({ kind }) => kind.group === group && kind.resource === resource);
  return found?.kind as Kind<T> | undefined;
}
