import type { RefusalGroup, SelectorDetails } from "@dray/allocator";
import type { KubeObject } from "@dray/api";
import type { DeviceClass, ResourceClaim } from "@dray/api/resource/v1";
import { nameOf } from "../../manifests/place.ts";
import type { Trial } from "../trial.ts";
import type { Candidate } from "./attempts.ts";
import { bodyOf, withoutSelector, withSelector } from "./claim-edits.ts";
import { claimEdits, claimText } from "./owners.ts";

interface OfRequest {
  readonly claim: ResourceClaim;
  readonly request: string;
  readonly deviceClass: string;
}

/** Returns changes of a selector that is false or fails: without it, and guarded where a name is missing. */
export function selectorChanges(
  trial: Trial,
  { claim, request, deviceClass }: OfRequest,
  { check, selector }: Pick<RefusalGroup, "check" | "selector">,
): Candidate[] {
  if (selector === undefined) return [];
  if (selector.of === "class") return classSelectorChanges(trial, deviceClass, { check, selector });
  const guarded = check === "error" ? guardedText(selector) : undefined;
  const { expression } = selector;
  const where = `request ${request} of ${claimText(trial, claim)}`;
  const about = { claim: nameOf(claim), request };
  const without: Candidate = {
    ...{ kind: "selector", about: { ...about, selector: expression } },
    text: `${where} without the selector ${expression}`,
    edits: claimEdits(trial, claim, (each) => withoutSelector(each, request, expression)),
  };
  const guard: Candidate[] =
    guarded === undefined
      ? []
      : [
          {
            kind: "selector",
            text: `${where} with the selector ${guarded}`,
            about: { ...about, selector: expression, replacement: guarded },
            edits: claimEdits(trial, claim, (each) => withSelector(each, request, expression, guarded)),
          },
        ];
  if ((bodyOf(claim, request)?.selectors ?? []).length < 2) return [...guard, without];
  const none: Candidate = {
    ...{ kind: "selector", about, text: `${where} without its selectors` },
    edits: claimEdits(trial, claim, (each) => withoutSelector(each, request)),
  };
  return [...guard, without, none];
}

/** Returns the selector behind tests for the names that devices lack; undefined if none is missing. */
function guardedText({ expression, values, available }: SelectorDetails): string | undefined {
  const missing = Object.entries(values).flatMap(([name, value]) => {
    const slash = name.indexOf("/");
    if (value !== null || slash < 0) return [];
    return [{ domain: name.slice(0, slash), id: name.slice(slash + 1) }];
  });
  if (missing.length === 0) return undefined;
  const map = available?.attributes === undefined ? "capacity" : "attributes";
  const tests = missing.map(
    ({ domain, id }) => `${JSON.stringify(id)} in device.${map}[${JSON.stringify(domain)}]`,
  );
  return `${tests.join(" && ")} && (${expression})`;
}

/**
 * A selector of a class that fails stops every pod that uses the class; one that is false is what it is for.
 */
export function classSelectorChanges(
  { world }: Trial,
  name: string,
  { check, selector }: Pick<RefusalGroup, "check" | "selector">,
): Candidate[] {
  const object = world.find("DeviceClass", name);
  if (check !== "error" || selector?.of !== "class" || object === undefined) return [];
  const { expression } = selector;
  const guarded = guardedText(selector);
  const changed = (replacement: string | undefined): Candidate["edits"] => [
    {
      object,
      edit: (each: KubeObject): DeviceClass => {
        const { spec } = each as DeviceClass;
        const selectors = (spec.selectors ?? []).flatMap((selector) => {
          if (selector.cel?.expression !== expression) return [selector];
          return replacement === undefined ? [] : [{ cel: { expression: replacement } }];
        });
        return { ...(each as DeviceClass), spec: { ...spec, selectors } };
      },
    },
  ];
  const about = { class: name, selector: expression };
  const without: Candidate = {
    kind: "class-selector",
    text: `class ${name} without the selector ${expression}`,
    about,
    edits: changed(undefined),
  };
  if (guarded === undefined) return [without];
  const guard: Candidate = {
    kind: "class-selector",
    text: `class ${name} with the selector ${guarded}`,
    about: { ...about, replacement: guarded },
    edits: changed(guarded),
  };
  return [guard, without];
}
