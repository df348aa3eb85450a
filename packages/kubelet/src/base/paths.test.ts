import assert from "node:assert/strict";
import { test } from "node:test";
import { NodePaths } from "./paths.ts";

test("the files of a node whose root is / are at the places that drivers expect", () => {
  for (const rootDir of ["/", "//"]) {
    const paths = new NodePaths(rootDir);
    assert.equal(paths.root, "/");
    assert.equal(paths.pluginsRegistry, "/var/lib/kubelet/plugins_registry");
    assert.deepEqual(paths.cdi, ["/etc/cdi", "/var/run/cdi"]);
    assert.equal(paths.onMachine("/var/lib/kubelet/x"), "/var/lib/kubelet/x");
    assert.equal(paths.contains("/etc"), true);
  }
});

test("paths of the kubelet lie below the node's root, others on the machine", () => {
  const paths = new NodePaths("/run/n1/");
  assert.equal(paths.onMachine("/var/lib/kubelet"), "/run/n1/var/lib/kubelet");
  assert.equal(paths.onMachine("/run/n1/var/lib/kubelet"), "/run/n1/var/lib/kubelet");
  assert.equal(paths.onMachine("/usr"), "/usr");
  assert.deepEqual(
    ["/run/n1", "/run/n1/x", "/run/n10"].map((path) => paths.contains(path)),
    [true, true, false],
  );
});
