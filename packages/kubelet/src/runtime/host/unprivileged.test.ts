import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { temporaryFolder } from "@dray/testing/folder";
import { withoutExchange } from "../../testing/exchange.ts";

/** The user `nobody`, who cannot make cgroups. */
const nobody = 65534;
const files = [
  "host",
  "exec",
  "attach",
  "adoption",
  "../../pods/pods.agent",
  "../../pods/containers.agent",
].map((name) => fileURLToPath(new URL(`./${name}.test.ts`, import.meta.url)));

function asNobody(argv: readonly string[], env: Readonly<Record<string, string>>) {
  const user = [`--reuid=${nobody}`, `--regid=${nobody}`, "--clear-groups"];
  return spawnSync("setpriv", [...user, "--", ...argv], {
    env: { PATH: process.env["PATH"] ?? "", ...env },
    encoding: "utf8",
    timeout: 280_000,
  });
}

/** Why tests cannot run as another user here; undefined if they can. */
function withoutUser(): string | undefined {
  if (process.getuid?.() !== 0) return "other users are for root to be";
  if (asNobody(["test", "-r", files[0] ?? ""], {}).status !== 0)
    return "other users cannot read the repository, or there is no setpriv";
  const nameSpaces = ["--user", "--map-root-user", "--mount", "--pid", "--fork", "--mount-proc"];
  if (asNobody(["unshare", ...nameSpaces, "true"], {}).status !== 0)
    return "other users cannot make name spaces here";
  return undefined;
}

/** Runs test files as that user, with these flags of node. */
function testAsNobody(home: string, words: readonly string[]) {
  // Flags with which sources run.
  const flags = process.execArgv.filter((flag) => /^--(conditions|disable-warning)=/.test(flag));
  const argv = [
    process.execPath,
    ...flags,
    "--test",
    "--test-timeout=120000",
    "--test-reporter=tap",
    ...words,
  ];
  const { status, stdout, stderr } = asNobody(argv, { HOME: home, DRAY_TEST_ISOLATIONS: "auto" });
  const failed = stdout.split("\n").filter((line) => /^\s*not ok/.test(line));
  assert.equal(status, 0, `${failed.join("\n")}\n${stderr}`);
  return stdout;
}

test("a subPath leads nowhere outside of its volume if the agent cannot mount", (t) => {
  const lack = withoutUser() ?? withoutExchange;
  if (lack !== undefined) return t.skip(lack);
  const contract = fileURLToPath(new URL("./contract.test.ts", import.meta.url));
  const rule = "a subPath that is exchanged";
  const output = testAsNobody(temporaryFolder(t), [`--test-name-pattern=${rule}`, contract]);
  assert.match(output, /^\s*ok \d+ - a subPath that is exchanged[^#]*$/m);
});

test("containers of a user without privileges hold all their processes in a pid name space", (t) => {
  const lack = withoutUser();
  if (lack !== undefined) return t.skip(lack);
  const stdout = testAsNobody(temporaryFolder(t), ["--test-concurrency=5", ...files]);
  assert.match(stdout, /ok \d+ - a process that leaves its session, its parent and its environment ends/);
  assert.doesNotMatch(stdout, /# SKIP no cgroups and no pid name spaces/);
});
