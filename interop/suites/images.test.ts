import assert from "node:assert/strict";
import { test } from "node:test";
import { imageNames } from "./images.ts";

test("an image stands for all versions of its repository that the suite asks for", () => {
  const names = imageNames([
    "registry.k8s.io/e2e-test-images/busybox:1.37.0-1",
    "registry.k8s.io/e2e-test-images/agnhost:2.55",
    "registry.k8s.io/e2e-test-images/agnhost:2.63.0",
    "registry.k8s.io/pause:3.10.2",
    "registry.k8s.io/e2e-test-images/nginx:1.28.0-2",
    "",
  ]);
  assert.deepEqual(names.get("agnhost"), [
    "registry.k8s.io/e2e-test-images/agnhost:2.55",
    "registry.k8s.io/e2e-test-images/agnhost:2.63.0",
  ]);
  assert.deepEqual(names.get("pause"), ["registry.k8s.io/pause:3.10.2"]);
  assert.deepEqual(names.get("hostpathplugin"), []);
  assert.equal(names.get("sample-device-plugin")?.length, 1);
});
