import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { featuresOf } from "@dray/api";
import { Random } from "@dray/testing/random";
import { readDrafts } from "../manifests/documents.ts";
import { InputError } from "../manifests/problem.ts";
import { readObjects } from "../manifests/read.ts";
import { Selectors } from "../manifests/selectors.ts";
import { sourceOf } from "../manifests/source.ts";
import { makePlan } from "../plan/plan.ts";
import { planText } from "../plan/print.ts";
import { summarize } from "../plan/summary.ts";
import { podWarnings } from "../plan/warnings.ts";
import { plainFormat } from "../text/table.ts";
import { lintText } from "./testing/lint-text.ts";

const examples = join(import.meta.dirname, "../../../../examples");
const manifests = (readdirSync(examples, { recursive: true }) as string[])
  .filter((file) => file.endsWith(".yaml"))
  .flatMap((file) => readDrafts(sourceOf(file, readFileSync(join(examples, file), "utf8"))).drafts)
  .map(({ tree, apiVersion, kind }) => ({ ...tree, apiVersion, kind }));

const junk = [null, "", "x", 0, -1, 1e30, true, [], {}, [null], [{}], { a: null }, "gpu", ["x"], 1.5];

/** Removes or replaces a random value in an object. */
function mutate(object: object, random: Random): void {
  const places: [Record<string, unknown>, string][] = [];
  const walk = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    for (const key of Object.keys(value)) {
      places.push([value as Record<string, unknown>, key]);
      walk((value as Record<string, unknown>)[key]);
    }
  };
  walk(object);
  if (places.length === 0) return;
  const [owner, key] = random.pick(places);
  const kind = random.next();
  if (kind < 0.4) delete owner[key];
  else if (kind < 0.8) owner[key] = structuredClone(random.pick(junk));
  else {
    const [other, from] = random.pick(places);
    owner[key] = structuredClone(other[from]);
  }
}

test("lint and plan do not throw on mutated manifests", async () => {
  assert.ok(manifests.length > 30);
  const features = featuresOf();
  for (let seed = 1; seed <= 40; seed++) {
    const random = new Random(seed);
    const some = structuredClone(manifests.filter(() => random.chance(0.6)));
    for (let i = 0; i < 8; i++) mutate(some[random.below(some.length)] ?? {}, random);
    const text = some.map((object) => JSON.stringify(object)).join("\n---\n");
    try {
      await lintText(text);
      const options = {
        features,
        namespace: "default",
        selectors: new Selectors(features),
        now: "2026-01-01T00:00:00Z",
      };
      const { world, problems, leftOut } = readObjects(
        { sources: [sourceOf("in", text)], problems: [] },
        options,
      );
      const plan = await makePlan(world, { features, now: () => 0 });
      const { scheduler } = plan.cluster;
      const find = (namespace: string, name: string) => scheduler.claim(namespace, name);
      const warnings = podWarnings(world, plan.pods, find, { features });
      const counts = { kubernetesVersion: "1.37", warnings, errors: problems, leftOut: leftOut.length };
      assert.ok(
        planText(plan.pods, summarize(plan, counts), { format: { ...plainFormat, wide: true }, leftOut })
          .length > 0,
      );
    } catch (error) {
      if (!(error instanceof InputError)) assert.fail(`seed ${seed}: ${(error as Error).stack}\n${text}`);
    }
  }
});
