// Compares src/generated with what the .proto files give. Runs on Node >= 20.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const rpc = fileURLToPath(new URL("..", import.meta.url));
const buf = fileURLToPath(new URL("../../../node_modules/.bin/buf", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "dray-generated-"));

/** Text of each file below a folder, by its path in the folder. */
function textsOf(root) {
  const files = readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return new Map(
    files.map(({ parentPath, path, name }) => {
      const file = join(parentPath ?? path, name);
      return [file.slice(root.length + 1), readFileSync(file, "utf8")];
    }),
  );
}

try {
  for (const template of ["buf.gen.yaml", "buf.gen.long.yaml"]) {
    const { status } = spawnSync(buf, ["generate", "--template", template, "--output", folder], {
      cwd: rpc,
      stdio: "inherit",
    });
    if (status !== 0) process.exitCode = 1;
  }
  const generated = textsOf(join(folder, "src", "generated"));
  const committed = textsOf(join(rpc, "src", "generated"));
  for (const path of new Set([...generated.keys(), ...committed.keys()])) {
    if (generated.get(path) === committed.get(path)) continue;
    console.error(
      `packages/rpc/src/generated/${path} is not what proto/ gives: run \`npm run generate -w @dray/rpc\``,
    );
    process.exitCode = 1;
  }
} finally {
  rmSync(folder, { recursive: true });
}
