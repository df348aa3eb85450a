import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { blocksOf } from "./docs/markdown.ts";
import { runPage } from "./docs/run-page.ts";
import { getJSON, repository, startCluster, withoutKubectl } from "./harness.ts";

const page = (name: string): string => join(repository, "examples", "claims", name);

test("both pages of the claims have the same commands and output", () => {
  const blocks = (name: string) => blocksOf(page(name)).map(({ language, text }) => ({ language, text }));
  assert.deepEqual(blocks("README.zh-CN.md"), blocks("README.md"));
});

test("the page of the claims", { skip: withoutKubectl, timeout: 300_000 }, async () => {
  const betas = "resource.k8s.io/v1beta1=true,resource.k8s.io/v1beta2=true";
  assert.ok(readFileSync(page("README.md"), "utf8").includes(`--runtime-config ${betas}`));
  const cluster = await startCluster("--fleet", page("fleet.yaml"), "--runtime-config", betas);
  try {
    // The page's output says which devices reach the containers, and what is refused.
    await runPage(page("README.md"), repository, cluster.env);
    assert.deepEqual((await getJSON(cluster, "pods,resourceclaims")).items, []);
  } finally {
    await cluster.down();
  }
});
