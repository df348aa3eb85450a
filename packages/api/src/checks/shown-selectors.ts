import { newestKubernetesVersion } from "../features/features.ts";
import type { LabelSelector } from "../generated/meta/v1.ts";
import { labelSelectorOf, SelectorError } from "../selectors/index.ts";
import { internalForm } from "./internal.ts";

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
  return internalForm("meta/v1.LabelSelector", selector, { release: newestKubernetesVersion });
}
