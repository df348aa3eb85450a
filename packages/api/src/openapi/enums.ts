import { isInRelease } from "../features/features.ts";
import data from "./enums.json" with { type: "json" };

/** A value, with its first and last release where not all have it. */
type EnumValue = string | { readonly value: string; readonly since?: string; readonly until?: string };

const enums: ReadonlyMap<string, readonly EnumValue[]> = new Map<string, readonly EnumValue[]>(
  Object.entries(data),
);

/**
 * Returns the values that a release lists for a type (`core/v1.PullPolicy`), sorted; undefined if it lists
 * none. The documents list them for readers: clients do not validate by them, since a newer server may know
 * more.
 *
 * Upstream: the marker +enum; k8s.io/kube-openapi/pkg/generators/enum.go
 */
export function enumOf(type: string | undefined, release: string): readonly string[] | undefined {
  const values = (type === undefined ? undefined : enums.get(type))?.flatMap((each) => {
    if (typeof each === "string") return [each];
    return isInRelease(release, each) ? [each.value] : [];
  });
  return values === undefined || values.length === 0 ? undefined : values;
}
