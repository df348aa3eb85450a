// `npm run check`: format, lint, floors, rules, types, generated files. Runs on Node >= 20.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { node24, repository, sourceFlags } from "./node24.js";
import { setup } from "./setup.js";

setup();

const bin = (name) => join(repository, "node_modules", ".bin", name);
const checks = [
  ["format and lint", bin("biome"), ["check", "--error-on-warnings", "--colors=off", "."]],
  ["floors", node24(), [join(repository, "scripts", "floors.js")]],
  ["rooms", node24(), [join(repository, "scripts", "rooms.js")]],
  ["rules", node24(), [...sourceFlags, join(repository, "scripts", "rules", "main.ts")]],
  ["spread arguments", node24(), [join(repository, "scripts", "spread.js")]],
  ["types", bin("tsc"), ["-p", "tsconfig.json"]],
  [
    "generated types",
    node24(),
    [...sourceFlags, join(repository, "packages/api/scripts/generate.ts"), "--check"],
  ],
  ["loader library", node24(), [join(repository, "packages/kubelet/loader/build.js"), "--check"]],
  ["generated messages", node24(), [join(repository, "packages/rpc/scripts/check-generated.js")]],
];
let failed = false;
for (const [title, command, args] of checks) {
  const result = spawnSync(command, args, { cwd: repository, stdio: "inherit" });
  const passed = result.status === 0;
  console.log(`${passed ? "passed" : "FAILED"}: ${title}`);
  failed ||= !passed;
}
process.exit(failed ? 1 : 0);
