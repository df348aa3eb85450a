import type { Kind } from "@dray/api";
import { type KindRow, kindRows } from "@dray/api/schema";
import { UsageError } from "../terminal/failure.ts";

/** Returns the kind of a name such as `po`, `pod`, `pods`, `Pod` or `pods.v1.`, in its newest version. */
export function kindByName(name: string): Kind {
  const lower = name.toLowerCase();
  const row = kindRows.find((kind) => names(kind).includes(lower));
  if (row === undefined) throw new UsageError(`the server doesn't have a resource type "${name}"`);
  return row;
}

export function kindByApiVersion(apiVersion: string, kind: string): Kind {
  const [group, version] = apiVersion.includes("/") ? apiVersion.split("/") : ["", apiVersion];
  const row = kindRows.find((row) => row.group === group && row.version === version && row.kind === kind);
  if (row === undefined) throw new UsageError(`no matches for kind "${kind}" in version "${apiVersion}"`);
  return row;
}

function names(kind: KindRow): string[] {
  const singular = kind.kind.toLowerCase();
  const short = kind.shortNames ?? [];
  return [kind.resource, singular, ...short, `${kind.resource}.${kind.group}`];
}
