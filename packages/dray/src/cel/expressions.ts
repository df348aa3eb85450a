import { groupOf, isStored, labelOf } from "../manifests/decode.ts";
import type { Draft } from "../manifests/documents.ts";
import type { ExpressionKind } from "./judge.ts";

/** A CEL expression about devices in a manifest. */
export interface FoundExpression {
  readonly draft: Draft;
  /** `DeviceClass gpu` */
  readonly object: string;
  /** Where it stands in the object as it was written. */
  readonly path: string;
  readonly kind: ExpressionKind;
  readonly expression: string;
  /** By the rules for new objects; what a server has stored may use everything. */
  readonly fresh: boolean;
}

/** Kinds that live in a namespace, of those that have such expressions. */
const namespaced: ReadonlySet<string> = new Set(["ResourceClaim", "ResourceClaimTemplate"]);

/** The device selectors and derived attributes of an object of resource.k8s.io, whatever its version. */
export function expressionsOf(draft: Draft, namespace: string): FoundExpression[] {
  if (groupOf(draft.apiVersion) !== "resource.k8s.io") return [];
  const object = labelOf(draft, namespaced.has(draft.kind) ? namespace : undefined);
  const found: FoundExpression[] = [];
  const add = (path: string, kind: ExpressionKind, expression: unknown): void => {
    if (typeof expression === "string")
      found.push({ draft, object, path, kind, expression, fresh: !isStored(draft) });
  };
  const walk = (value: unknown, path: string): void => {
    if (typeof value !== "object" || value === null) return;
    if (Array.isArray(value)) {
      value.forEach((item, index) => {
        walk(item, `${path}[${index}]`);
      });
      return;
    }
    for (const [key, below] of Object.entries(value)) {
      const at = path === "" ? key : `${path}.${key}`;
      const owner = value as { readonly expression?: unknown };
      if (key === "cel") add(`${at}.expression`, "selector", (below as typeof owner | null)?.expression);
      else if (key === "derivedAttributes" && Array.isArray(below))
        below.forEach((each: typeof owner | null, index) => {
          add(`${at}[${index}].expression`, "attribute", each?.expression);
        });
      else walk(below, at);
    }
  };
  walk(draft.tree["spec"], "spec");
  return found;
}
