import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { temporaryFolder } from "@dray/testing/folder";

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

test("containers of a user without privileges hold all their processes in a pid name space", (t) => {
  if (process.getuid?.() !== 0) return t.skip("other users are for root to be");
  if (asNobody(["test", "-r", files[0] ?? ""], {}).status !== 0)
    return t.skip("other users cannot read the repository, or there is no setpriv");
  const nameSpaces = ["--user", "--map-root-user", "--mount", "--pid", "--fork", "--mount-proc"];
  if (asNobody(["unshare", ...nameSpaces, "true"], {}).status !== 0)
    return t.skip("other users cannot make name spaces here");
  const home = temporaryFolder(t);
  // Flags with which sources run.
  const flags = process.execArgv.filter((flag) => /^--(conditions|disable-warning)=/.test(flag));
  const { status, stdout, stderr } = asNobody(
    [
      process.execPath,
      ...flags,
      "--test",
      "--test-concurrency=5",
      "--test-timeout=120000",
      "--test-reporter=tap",
      ...files,
    ],
    { HOME: home, DRAY_TEST_ISOLATIONS: "auto" },
  );
  const failed = stdout.split("\n").filter((line) => /^\s*not ok/.test(line));
  assert.equal(status, 0, `${failed.join("\n")}\n${stderr}`);
  assert.match(stdout, /ok \d+ - a process that leaves its session, its parent and its environment ends/);
  assert.doesNotMatch(stdout, /# SKIP no cgroups and no pid name spaces/);
});
