import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { parse } from "yaml";
import { repository } from "./harness.ts";

interface Action {
  readonly inputs: Readonly<Record<string, { readonly description: string; readonly default: string }>>;
  readonly outputs: Readonly<Record<string, { readonly value: string }>>;
  readonly runs: {
    readonly using: string;
    readonly steps: readonly {
      readonly id: string;
      readonly run: string;
      readonly env: Readonly<Record<string, string>>;
    }[];
  };
}

test("the GitHub Action starts a cluster and hands on its kubeconfig", () => {
  const folder = mkdtempSync(join(tmpdir(), "dray-action-"));
  const action = parse(readFileSync(join(repository, "action.yml"), "utf8")) as Action;
  assert.equal(action.runs.using, "composite");
  const [step] = action.runs.steps;
  assert.ok(step);
  const given: Record<string, string> = { nodes: "0", "kubernetes-version": "1.36", name: "of-the-action" };
  const input = (name: string): string => given[name] ?? action.inputs[name]!.default;
  const inputs = Object.entries(step.env).map(([name, value]) => [
    name,
    value
      .replace(/^\$\{\{ github\.action_path \}\}$/, repository)
      .replace(/^\$\{\{ inputs\.([\w-]+) \}\}$/, (_, of: string) => input(of)),
  ]);
  const [variables, outputs, path] = ["env", "output", "path"].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  const env = {
    PATH: process.env["PATH"],
    HOME: folder,
    GITHUB_ENV: variables,
    GITHUB_OUTPUT: outputs,
    GITHUB_PATH: path,
    ...(Object.fromEntries(inputs) as Record<string, string>),
  };
  // As a later step runs it.
  const dray = (...args: string[]) =>
    spawnSync(join(readFileSync(path, "utf8").trim(), "dray"), args, { env, encoding: "utf8" });
  try {
    const ran = spawnSync("bash", ["--noprofile", "--norc", "-eo", "pipefail", "-c", step.run], {
      env,
      encoding: "utf8",
    });
    assert.equal(ran.status, 0, ran.stderr + ran.stdout);
    const kubeconfig = readFileSync(outputs, "utf8")
      .replace(/^kubeconfig=/, "")
      .trim();
    assert.equal(readFileSync(variables, "utf8").trim(), `KUBECONFIG=${kubeconfig}`);
    assert.match(readFileSync(kubeconfig, "utf8"), /server: https:\/\/127\.0\.0\.1:/);
    const status = JSON.parse(dray("status", "--name", "of-the-action", "-o", "json").stdout) as object;
    assert.match(JSON.stringify(status), /1\.36/);
  } finally {
    dray("down", "--name", "of-the-action", "--delete-data");
    rmSync(folder, { recursive: true, force: true });
  }
});

test("the page about CI names every input of the action", () => {
  const action = parse(readFileSync(join(repository, "action.yml"), "utf8")) as Action;
  const page = readFileSync(join(repository, "docs/ci.md"), "utf8");
  for (const name of Object.keys(action.inputs)) assert.match(page, new RegExp(`\`${name}\``));
});
