import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { features, worldOf } from "../inventory/testing.ts";
import { labelOfObject } from "../manifests/place.ts";
import { World } from "../manifests/world.ts";
import type { Manifest } from "../plan/testing.ts";
import { confirmed, diagnose } from "./doctor.ts";
import { doctorText } from "./print.ts";
import { type RuleId, ruleIds } from "./rules.ts";
import { brief, cluster, finds, healthy, held, now, rule } from "./testing.ts";

test("a healthy cluster has no findings", () => {
  finds(healthy, []);
});

test("every rule has a case", () => {
  const names = readdirSync(import.meta.dirname).filter((name) => name.endsWith(".test.ts"));
  const tests = names.map((name) => readFileSync(join(import.meta.dirname, name), "utf8")).join("\n");
  const tried = [...tests.matchAll(/^(?:rule|test)\("([\w-]+)[":]/gm)].map(([, id]) => id);
  assert.deepEqual(
    ruleIds.filter((id) => !tried.includes(id)),
    [],
  );
});

test("a rule whose objects cannot be read is reported as not judged, without findings", () => {
  const { objects } = worldOf(cluster([], ["Pod p"]));
  const world = new World(objects, new Set(["Pod", "Event"]));
  const snapshot = { world, features, now, server: undefined };
  const wanted = new Set<RuleId>([
    "leaked-reservation",
    "driver-not-registered",
    "versions-out-of-step",
    "stale-slice",
  ]);
  const { findings, notJudged } = diagnose(snapshot, wanted);
  assert.deepEqual(findings, []);
  assert.deepEqual(notJudged, [
    { rule: "leaked-reservation", why: "not all objects of kind Pod can be read" },
    {
      rule: "driver-not-registered",
      why: "not all objects of kind Event, Pod can be read",
    },
    { rule: "versions-out-of-step", why: "there is no server to ask" },
  ]);
});

rule("unreadable-object", () => {
  // A field of another type, as a server of another release may send it.
  const odd = (object: object): Manifest => object as Manifest;
  const { objects } = worldOf(cluster([], ["Pod p"]));
  const { place } = objects[0]!;
  const metadata = {
    namespace: "default",
    name: "odd",
    uid: "odd",
    creationTimestamp: "2026-01-01T00:00:00Z",
  };
  const oddities = [
    odd({ apiVersion: "v1", kind: "Pod", metadata, spec: { resourceClaims: 5, nodeName: "a" } }),
    odd({
      apiVersion: "resource.k8s.io/v1",
      kind: "DeviceClass",
      metadata: { name: "odd" },
      spec: { selectors: 5 },
    }),
    odd({ apiVersion: "resource.k8s.io/v1", kind: "ResourceSlice", metadata: { name: "odd" } }),
    odd({ apiVersion: "v1", kind: "Event", metadata }),
    odd({ apiVersion: "v1", kind: "Service", metadata }),
  ];
  for (const object of oddities) {
    const world = new World([...objects, { object: object as never, place }]);
    const { findings } = diagnose({ world, features, now, server: undefined }, new Set(ruleIds));
    const named = findings.filter(({ rule }) => rule === "unreadable-object");
    assert.deepEqual(brief(named), [
      `unreadable-object: ${labelOfObject(object as never)} has values that cannot be read`,
    ]);
    // The rest is judged.
    assert.ok(findings.some(({ rule }) => rule === "leaked-reservation"));
  }
});

test("a finding counts only if the second look confirms it", () => {
  const look = (objects: readonly Manifest[]) =>
    diagnose({ world: worldOf(objects), features, now, server: undefined }, new Set(ruleIds));
  const leaked = look(cluster([], ["Pod p"]));
  assert.equal(leaked.findings.length, 1);
  assert.deepEqual(brief(confirmed(leaked, look(healthy)).findings), []);
  assert.deepEqual(brief(confirmed(look(healthy), leaked).findings), []);
  assert.equal(confirmed(leaked, leaked).findings.length, 1);
});

test("a person is shown 20 findings of a rule, and how many more there are", () => {
  const leaked = Array.from({ length: 25 }, (_, i) =>
    held(`leaked-${i}`, { devices: { results: [] } }, ["gone"]),
  );
  const world = worldOf(cluster(leaked));
  const snapshot = { world, features, now, server: undefined };
  const diagnosis = diagnose(snapshot, new Set<RuleId>(["leaked-reservation"]));
  const rights = { sufficient: [], missing: [] };
  const text = doctorText({ ...diagnosis, source: "test", kubernetesVersion: "1.37", rights });
  assert.equal(text.match(/^error: /gm)?.length, 20);
  assert.match(text, /^and 5 more of \[leaked-reservation\] \(-o json has all\)$/m);
  assert.match(text, /^25 errors in /m);
});
