import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";

const repository = join(import.meta.dirname, "../../../..");
const folder = join(repository, "packages/api/scripts/origin");

/** Why the comparison cannot run here; false if it can. */
function missing(): string | false {
  const { status, stdout } = spawnSync("go", ["env", "GOMODCACHE"], { encoding: "utf8" });
  if (status !== 0) return "Go is not installed";
  const releases = ["34.10", "35.4", "36.3"].flatMap((each) => [`api@v0.${each}`, `kubernetes@v1.${each}`]);
  const modules = [...releases, "api@v0.37.2", "apiserver@v0.37.1", "kubernetes@v1.37.1"];
  const absent = modules.filter((name) => !existsSync(join(stdout.trim(), "k8s.io", name)));
  return absent.length > 0 && `Go's module cache lacks k8s.io/${absent.join(", k8s.io/")}`;
}

test("every data file of the sources has an origin", () => {
  const page = readFileSync(join(folder, "README.md"), "utf8");
  const files = globSync("{packages,drivers}/*/src/**/*.json", { cwd: repository })
    .filter((path) => !/\/test(data|ing)\//.test(path))
    .map((path) => path.replace("packages/", ""));
  assert.ok(files.length > 0);
  const named = (path: string) => page.includes(path) || page.includes(join(dirname(path), "*.json"));
  assert.deepEqual(
    files.filter((path) => !named(path)),
    [],
  );
});

test("the tables are what upstream's sources give", { skip: missing() }, () => {
  const { status, stderr } = spawnSync("go", ["run", ".", "-check"], { cwd: folder, encoding: "utf8" });
  assert.equal(status, 0, stderr);
});
