/** What the kinds that make pods have in common. */
import type { PodTemplateSpec } from "../../generated/core/v1.ts";
import type { LabelSelector } from "../../generated/meta/v1.ts";
import type { IntOrString, KubeObject } from "../../objects/object.ts";
import { labelSelectorOf, SelectorError } from "../../selectors/index.ts";
import { dnsSubdomain, isPercent, type NameRule } from "../../values/names.ts";
import type { ValidationContext } from "../context.ts";
import { type FieldErrors, printedMap } from "../field.ts";
import { internalForm } from "../internal.ts";
import {
  checkAnnotations,
  checkFinalizerNames,
  checkLabels,
  checkMetadata,
  checkMetadataUpdate,
} from "../metadata.ts";
import { checkPodAnnotations } from "../pod/annotations.ts";
import { checkPodSpec } from "../pod/spec.ts";

export function checkObject(errors: FieldErrors, object: KubeObject, rule: NameRule = dnsSubdomain): void {
  checkMetadata(errors, "metadata", object.metadata, rule, true);
  checkFinalizerNames(errors, "metadata", object.metadata);
}

export function checkObjectUpdate(errors: FieldErrors, object: KubeObject, old: KubeObject): void {
  checkMetadataUpdate(errors, "metadata", object.metadata, old.metadata);
  checkFinalizerNames(errors, "metadata", object.metadata);
}

/** A number, or a share in percent. */
export function checkShare(errors: FieldErrors, path: string, value: IntOrString | undefined): void {
  if (typeof value !== "string") errors.notNegative(path, value);
  else errors.check(isPercent, path, value);
}

const shareOf = (value: IntOrString | undefined): number | undefined =>
  typeof value === "string" && isPercent(value).length === 0 ? Number.parseInt(value, 10) : undefined;

export function checkAtMostAll(errors: FieldErrors, path: string, value: IntOrString | undefined): void {
  if ((shareOf(value) ?? 0) > 100) errors.invalid(path, value, "must not be greater than 100%");
}

/** The number of a number or a share; a text that is neither counts as none. */
export function amountOf(value: IntOrString | undefined): number {
  return typeof value === "number" ? value : (shareOf(value) ?? (Number(value ?? 0) || 0));
}

export function isEmptySelector(selector: LabelSelector | undefined): boolean {
  return (
    Object.keys(selector?.matchLabels ?? {}).length === 0 && (selector?.matchExpressions ?? []).length === 0
  );
}

/** Whether pods with these labels are selected; undefined where the selector cannot be used. */
export function selects(
  selector: LabelSelector | undefined,
  labels: Readonly<Record<string, string>> | undefined,
): boolean | undefined {
  try {
    return labelSelectorOf(selector).matches(labels);
  } catch (error) {
    if (error instanceof SelectorError) return undefined;
    throw error;
  }
}

/** Labels as messages show them: in order of their keys. */
export function shownLabels(labels: Readonly<Record<string, string>> | undefined): unknown {
  if (labels === undefined) return null;
  return Object.fromEntries(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** A selector as messages show it. */
export function shownSelector(selector: LabelSelector | undefined): unknown {
  return internalForm("meta/v1.LabelSelector", selector, "");
}

/** Labels and annotations of a template of pods; upstream's paths leave the metadata out. */
export function checkTemplateMetadata(
  errors: FieldErrors,
  path: string,
  template: PodTemplateSpec | undefined,
): void {
  const { labels, annotations } = template?.metadata ?? {};
  checkLabels(errors, `${path}.labels`, labels);
  checkAnnotations(errors, `${path}.annotations`, annotations);
  checkPodAnnotations(errors, `${path}.annotations`, annotations, template?.spec ?? { containers: [] });
}

/** A template of pods, wherever it stands. */
export function checkTemplate(
  errors: FieldErrors,
  path: string,
  template: PodTemplateSpec | undefined,
  context: ValidationContext,
): void {
  checkTemplateMetadata(errors, path, template);
  checkPodSpec(errors, `${path}.spec`, template?.spec ?? { containers: [] }, "", context);
  if ((template?.spec?.ephemeralContainers ?? []).length > 0) {
    errors.forbidden(`${path}.spec.ephemeralContainers`, "ephemeral containers not allowed in pod template");
  }
}

/** Pods of a controller run until they are deleted. */
export function checkEndless(
  errors: FieldErrors,
  path: string,
  template: PodTemplateSpec | undefined,
  kind: string,
): void {
  const restart = template?.spec?.restartPolicy ?? "";
  if (restart !== "Always") errors.notSupported(`${path}.spec.restartPolicy`, restart, ["Always"]);
  const seconds = template?.spec?.activeDeadlineSeconds;
  if (seconds === undefined || seconds === null) return;
  const detail = `activeDeadlineSeconds in ${kind} is not Supported`;
  errors.forbidden(`${path}.spec.activeDeadlineSeconds`, detail);
}

export function checkMatch(
  errors: FieldErrors,
  path: string,
  selector: LabelSelector | undefined,
  template: PodTemplateSpec | undefined,
): void {
  const labels = template?.metadata?.labels;
  if (selects(selector, labels) !== false) return;
  errors.invalid(
    `${path}.metadata.labels`,
    printedMap(template?.metadata, "labels"),
    "`selector` does not match template `labels`",
  );
}

type Counts = Readonly<Record<string, unknown>>;

/** Numbers of a status: none below 0, and those of a part no greater than the whole. */
export function checkCounts(
  errors: FieldErrors,
  status: object | undefined,
  names: readonly string[],
  parts: readonly string[] = [],
  ready = "readyReplicas",
): void {
  const counts = (status ?? {}) as Counts;
  const count = (name: string): number => Number(counts[name] ?? 0);
  for (const name of names) errors.notNegative(`status.${name}`, counts[name] as number | undefined);
  for (const name of parts) {
    if (count(name) > count("replicas")) {
      errors.invalid(`status.${name}`, count(name), "cannot be greater than status.replicas");
    }
  }
  if (parts.includes("availableReplicas") && count("availableReplicas") > count("readyReplicas")) {
    errors.invalid("status.availableReplicas", count("availableReplicas"), `cannot be greater than ${ready}`);
  }
}

interface Collisions {
  readonly collisionCount?: number;
}

export function checkCollisions(
  errors: FieldErrors,
  status: Collisions | undefined,
  old: Collisions | undefined,
): void {
  const [now, before] = [status?.collisionCount, old?.collisionCount];
  if (before !== undefined && (now === undefined || now < before)) {
    errors.invalid("status.collisionCount", now ?? 0, "cannot be decremented");
  }
}
