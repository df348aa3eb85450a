import assert from "node:assert/strict";
import { test } from "node:test";
import { nameStatus, nextCondition } from "./conditions.ts";
import type { Definition } from "./types.ts";

const now = "2026-01-01T00:00:00Z";

function definition(plural: string, kind: string, more: object = {}, status: object = {}): Definition {
  const names = { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List`, ...more };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.example.com` },
    spec: {
      group: "example.com",
      names,
      scope: "Namespaced",
      versions: [
        { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } },
      ],
    },
    status: { storedVersions: ["v1"], ...status },
  } as Definition;
}

const accepted = (one: Definition): Definition =>
  ({ ...one, status: { ...one.status, ...nameStatus(one, [one], now)! } }) as Definition;

const reasons = (status: ReturnType<typeof nameStatus>): string[] =>
  (status?.conditions ?? []).map((one) => `${one.type} ${one.status} ${one.reason}`);

test("names are accepted, then the definition is established", () => {
  const one = definition("widgets", "Widget");
  assert.deepEqual(reasons(nameStatus(one, [one], now)), [
    "NamesAccepted True NoConflicts",
    "Established False Installing",
  ]);
  const next = nextCondition(accepted(one), "1.36");
  assert.deepEqual([next?.type, next?.status, next?.reason], ["Established", "True", "InitialNamesAccepted"]);
  assert.equal(nameStatus(accepted(one), [accepted(one)], now), undefined);
});

test("names of another definition are not accepted, the others are", () => {
  const first = accepted(definition("widgets", "Widget", { shortNames: ["w"] }));
  const second = definition("gadgets", "Gadget", { shortNames: ["w"] });
  const status = nameStatus(second, [first, second], now);
  assert.deepEqual(reasons(status), [
    "NamesAccepted False ShortNamesConflict",
    "Established False NotAccepted",
  ]);
  assert.equal(status?.acceptedNames?.plural, "gadgets");
  assert.equal(status?.acceptedNames?.shortNames, undefined);
});
