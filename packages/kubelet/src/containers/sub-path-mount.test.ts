import assert from "node:assert/strict";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { canMount, isMountPoint, mountEntry, removeTree } from "../base/mounts.ts";
import { Exchange, withoutExchange } from "../testing/exchange.ts";
import { openSubPath } from "./sub-path.ts";
import { mountSubPath } from "./sub-path-mount.ts";

const skip = canMount() ? false : "no rights to mount";

/** A volume with the folder `inside`, and a link `evil` that leads out of it. */
function hostile(context: TestContext) {
  const root = mkdtempSync("/tmp/dray-sub-path-");
  context.after(() => removeTree(root));
  const [volume, outside, pod] = ["volume", "outside", "pod"].map((name) => join(root, name)) as [
    string,
    string,
    string,
  ];
  for (const folder of [join(volume, "inside"), outside, pod]) mkdirSync(folder, { recursive: true });
  writeFileSync(join(outside, "secret"), "hidden");
  writeFileSync(join(volume, "inside/mine"), "ours");
  symlinkSync(outside, join(volume, "evil"));
  const mount = (subPath: string, target = join(pod, "subpaths/0")) =>
    mountSubPath({ volume, subPath, create: true, target, checksMounts: false });
  return { volume, outside, pod, mount };
}

describe("the mount of a subPath", { skip }, () => {
  test("has what was opened, whatever stands in its place", (context) => {
    const { volume, pod } = hostile(context);
    const entry = openSubPath(volume, "inside", false);
    const target = join(pod, "target");
    mkdirSync(target);
    renameSync(join(volume, "inside"), join(volume, "away"));
    renameSync(join(volume, "evil"), join(volume, "inside"));
    mountEntry(entry, target);
    entry.close();
    assert.deepEqual(readdirSync(target), ["mine"]);
  });

  test("stays for the next container, unless the subPath names something else", async (context) => {
    const { volume, pod, mount } = hostile(context);
    const { hostPath, volumePath } = mount("inside");
    assert.equal(volumePath, volume);
    mount("inside");
    const mounts = readFileSync("/proc/self/mountinfo", "utf8").split(` ${hostPath} `).length - 1;
    assert.equal(mounts, 1);
    renameSync(join(volume, "inside"), join(volume, "before"));
    mkdirSync(join(volume, "inside"));
    assert.deepEqual(readdirSync(mount("inside").hostPath), []);
    writeFileSync(join(volume, "file"), "text");
    assert.equal(readFileSync(mount("file").hostPath, "utf8"), "text");
    await removeTree(pod);
    assert.ok(!isMountPoint(hostPath));
    assert.deepEqual(readdirSync(volume).sort(), ["before", "evil", "file", "inside"]);
  });

  test("leads nowhere else while its parts are exchanged", {
    skip: withoutExchange ?? false,
  }, async (context) => {
    const { volume, outside, mount } = hostile(context);
    const exchange = new Exchange(join(volume, "inside"), join(volume, "evil"));
    let mounted = 0;
    try {
      for (let tries = 0; tries < 300; tries++)
        try {
          const { hostPath } = mount("inside/made");
          assert.deepEqual(readdirSync(hostPath), []);
          mounted++;
        } catch (error) {
          assert.match((error as Error).message, /leads out of the volume$/);
          await new Promise(setImmediate);
        }
    } finally {
      assert.ok((await exchange.stop()) > 0);
    }
    assert.ok(mounted > 0);
    assert.deepEqual(readdirSync(outside), ["secret"]);
  });
});
