import type { KubeObject } from "../../objects/object.ts";
import { dnsLabel } from "../../values/names.ts";

export function nameWarnings(object: KubeObject, use: string): string[] {
  const problems = dnsLabel(object.metadata.name);
  if (problems.length === 0) return [];
  return [
    `metadata.name: this is used in ${use}, which can result in surprising behavior; a DNS label is recommended: [${problems.join(" ")}]`,
  ];
}

/** Templates are looked at again when anything but metadata and status has changed. */
export const changed = (object: KubeObject, old: KubeObject | undefined): boolean =>
  old === undefined || object.metadata.generation !== old.metadata.generation;

/** Warnings about a kind that makes pods named after it; `template`: those about the template of its pods. */
export function podMakerWarnings(
  object: KubeObject,
  old: KubeObject | undefined,
  template: () => string[],
): string[] {
  return [
    ...(old === undefined ? nameWarnings(object, "Pod names and hostnames") : []),
    ...(changed(object, old) ? template() : []),
  ];
}

export function annotationWarnings(object: KubeObject, texts: Readonly<Record<string, string>>): string[] {
  return Object.entries(texts)
    .filter(([key]) => Object.hasOwn(object.metadata.annotations ?? {}, key))
    .map(([key, text]) => `metadata.annotations[${key}]: ${text}`);
}
