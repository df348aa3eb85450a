import { sameValue } from "@dray/api/validation";
import type { Definition, Version } from "./types.ts";

/** Fields that versions have either individually or in common. */
export type Shared = Pick<
  Version,
  "schema" | "subresources" | "additionalPrinterColumns" | "selectableFields"
>;

/**
 * A definition as it is validated: fields that all versions share occur once, and errors have that path
 * (upstream's internal version, which is that of v1beta1).
 */
export interface InternalSpec {
  readonly shared: Shared;
  readonly versions: readonly Version[];
}

const fields = ["schema", "subresources", "additionalPrinterColumns", "selectableFields"] as const;

export function internalSpec({ versions }: Pick<Definition["spec"], "versions">): InternalSpec {
  const shared: Shared = {};
  const own = (versions ?? []).map((version) => ({ ...version }));
  const first = own[0];
  if (first === undefined) return { shared, versions: own };
  for (const field of fields) {
    const value = first[field];
    if (!own.every((version) => sameValue(version[field], value))) continue;
    if (value !== undefined) Object.assign(shared, { [field]: value });
    for (const version of own) delete version[field];
  }
  return { shared, versions: own };
}
