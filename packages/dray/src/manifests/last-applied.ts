import type { KubeObject } from "@dray/api";

export const lastApplied = "kubectl.kubernetes.io/last-applied-configuration";

/**
 * Returns kubectl's last applied configuration; undefined if it is missing, cannot be read, or is of another
 * version than the object.
 */
export function appliedObject(object: KubeObject): KubeObject | undefined {
  const text = object.metadata.annotations?.[lastApplied];
  if (text === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
    const { apiVersion, kind } = value as Partial<KubeObject>;
    // Any user can write the annotation, but only fields are looked for in it.
    return apiVersion === object.apiVersion && kind === object.kind ? (value as KubeObject) : undefined;
  } catch {
    return undefined;
  }
}
