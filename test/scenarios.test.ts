import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { after, before, test } from "node:test";
import { startCluster, type TestCluster, withoutKubectl } from "./harness.ts";
import { checks } from "./scenarios/checks.ts";
import { folder, type Play, playOf } from "./scenarios/play.ts";

interface Scenario {
  /** Below `examples/scenarios`. */
  readonly path: string;
  /** `--driver`, as the page has it. */
  readonly driver: string;
}

/** The scenarios of a page, in its order. */
function scenariosOf(page: string): Scenario[] {
  const rows = readFileSync(join(folder, page), "utf8").matchAll(/^\| `([^`]+)` \| `(example[^`]*)` \|/gm);
  return [...rows].map(([, path, driver]) => ({ path: path!, driver: driver! }));
}

const scenarios: readonly Scenario[] = scenariosOf("README.md");

test("the page names every scenario, and no other", () => {
  const folders = new Set(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.name.endsWith(".yaml"))
      .map((entry) => relative(folder, entry.parentPath)),
  );
  assert.deepEqual(scenarios.map(({ path }) => path).sort(), [...folders].sort());
  assert.deepEqual(
    scenarios.map(({ path }) => basename(path)).filter((name) => !Object.hasOwn(checks, name)),
    [],
    "scenarios without a test",
  );
});

test("both pages name the same scenarios and drivers", () => {
  assert.deepEqual(scenariosOf("README.zh-CN.md"), scenarios);
});

test("the scenarios of the public example driver", { skip: withoutKubectl, timeout: 600_000 }, async (t) => {
  let cluster: TestCluster;
  before(async () => {
    const groups = [
      ...[
        "--feature-gates",
        "GenericWorkload=true,DRAWorkloadResourceClaims=true,DRANodeAllocatableResources=true",
      ],
      ...["--runtime-config", "scheduling.k8s.io/v1beta1=true"],
    ];
    cluster = await startCluster("--nodes", "1", "--driver", "example", ...groups);
  });
  after(async () => {
    await cluster?.down();
  });
  let driver = "example";
  /** Scenarios are alone in the cluster: the next one needs the devices, or other ones. */
  const play = async (path: string, setting: string, check: (play: Play) => Promise<void>) => {
    const scenario = playOf(cluster, path);
    if (setting !== driver) await scenario.driver(setting);
    driver = setting;
    try {
      await check(scenario);
    } finally {
      await cluster.kubectl("delete", "namespace", basename(path), "--ignore-not-found");
    }
  };
  for (const { path, driver } of scenarios) {
    const name = basename(path);
    await t.test(dirname(path) === "." ? name : path, () => play(path, driver, checks[name]!));
  }

  await t.test("the driver writes attributes of GPUs into claims, with no more rights than that needs", () =>
    play("cel-selector", "example:devices=2,device-status=true", async ({ apply, running, claims }) => {
      await apply();
      await running("pod0");
      const [device] = (await claims()).get("pod0")!.status.devices ?? [];
      const { uuid, ...data } = device!.data!;
      assert.ok(uuid);
      assert.deepEqual(data, { model: { string: "LATEST-GPU-MODEL" }, driverVersion: { version: "1.0.0" } });
    }),
  );
});
