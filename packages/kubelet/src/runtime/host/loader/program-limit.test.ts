import assert from "node:assert/strict";
import { test } from "node:test";
import { rewriter } from "../rewrite.ts";
import type { ProgramKind } from "./program-file.ts";
import { programLimit } from "./program-limit.ts";

const account = "/var/run/secrets/kubernetes.io/serviceaccount";

function limit(kind: ProgramKind, paths: readonly string[], values: readonly string[] = []) {
  const mounts = paths.map((path) => ({ containerPath: path, hostPath: `/n${path}`, readOnly: false }));
  const program = { path: "/bin/driver", kind };
  const exists = (path: string): boolean => path === "/etc/there";
  return programLimit({ program, mounts, values, exists, rewrite: rewriter(mounts) });
}

test("a program that takes the library, or needs no volume, has no limit", () => {
  assert.equal(limit("dynamic", [account, "/data"]), undefined);
  assert.equal(limit("go", ["/etc/hosts", "/dev/termination-log"]), undefined);
});

test("a volume that arguments and variables name is found", () => {
  assert.equal(
    limit("go", ["/data", "/cdi", "/etc/there"], ["/data/x", "--cdi=/cdi", "/etc/there"]),
    undefined,
  );
  assert.match(limit("go", ["/data", "/cdi"], ["/data/x"])?.text ?? "", /the volumes at \/cdi:/);
});

test("a volume that the program cannot find is named; it is not started if the machine lacks the path", () => {
  const [text, fatal] = [limit("go", [account]), limit("static", [account, "/data"])];
  assert.equal(text?.isFatal, false);
  assert.match(text?.text ?? "", /is a program in Go, .* read \$KUBECONFIG .* What helps: /);
  assert.equal(limit("go", ["/etc/there"])?.isFatal, false);
  assert.equal(fatal?.isFatal, true);
  assert.match(
    fatal?.text ?? "",
    /is linked statically, .*serviceaccount, \/data: this machine allows no mount/,
  );
});
