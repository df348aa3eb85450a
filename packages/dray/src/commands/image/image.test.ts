import assert from "node:assert/strict";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { layoutOf, writeConfig } from "@dray/cluster";
import { dray, inFolder } from "../../testing/program.ts";

/** Makes the folder of a cluster that was started once and does not run. */
function makeCluster(folder: string): string {
  const layout = layoutOf(join(folder, "data"));
  mkdirSync(layout.dataDir);
  writeConfig(layout, {
    name: "dray",
    kubernetesVersion: "1.36",
    featureGates: "",
    runtimeConfig: {},
    nodes: [],
    bindAddress: "127.0.0.1",
    advertiseAddress: "",
    port: 0,
    store: "memory",
    runtime: "host",
    images: ["from-flag:*=/bin/flag"],
  });
  return layout.dataDir;
}

test("image map, list and unmap change the table of a cluster, the latest row first", () =>
  inFolder(async (folder) => {
    const dir = ["--data-dir", makeCluster(folder)];
    const map = async (...args: string[]) => {
      const { code, stderr } = await dray(["image", "map", ...args, ...dir]);
      assert.deepEqual([code, stderr], [0, ""]);
    };
    const list = async (): Promise<{ pattern: string; command?: string[]; source: string }[]> =>
      JSON.parse((await dray(["image", "list", "-o", "json", ...dir])).stdout);
    await map("tool:*", "/bin/tool --flag");
    await map("b", `sh -c 'echo "a b"'`);
    await map("tool:*", "/bin/other");
    const rows = await list();
    assert.deepEqual(rows.slice(0, 3), [
      { pattern: "tool:*", command: ["/bin/other"], source: "image map" },
      { pattern: "b", command: ["sh", "-c", 'echo "a b"'], source: "image map" },
      { pattern: "from-flag:*", command: ["/bin/flag"], source: "--image" },
    ]);
    for (const image of ["busybox", "alpine", "debian", "ubuntu", "pause", "nginx", "python"])
      assert.ok(rows.some(({ pattern, source }) => pattern === `*/${image}:*` && source === "built in"));
    const { stdout } = await dray(["image", "list", ...dir]);
    assert.match(stdout, /^PATTERN +SOURCE +COMMAND\ntool:\* +image map +\/bin\/other\n/);
    await map("app", "/bin/app", "--user", "65532:65533");
    assert.deepEqual((await list())[0], {
      pattern: "app",
      command: ["/bin/app"],
      user: { uid: 65532, gid: 65533 },
      source: "image map",
    });
    const withUsers = await dray(["image", "list", ...dir]);
    assert.match(
      withUsers.stdout,
      /^PATTERN +SOURCE +USER +COMMAND\napp +image map +65532:65533 +\/bin\/app\n/,
    );
    await dray(["image", "unmap", "app", ...dir]);
    const { code } = await dray(["image", "unmap", "tool:*", ...dir]);
    assert.equal(code, 0);
    assert.equal((await list())[0]?.pattern, "b");
  }));

test("errors of image map name the accepted values, and change nothing", () =>
  inFolder(async (folder) => {
    const dir = ["--data-dir", makeCluster(folder)];
    for (const [args, wanted, message] of [
      [["map", "a b", "x"], 2, /"a b": must be an image reference without blanks/],
      [["map", "", "x"], 2, /"": must be an image reference/],
      [["map", "a", ""], 2, /"": must be a command with closed quotes/],
      [["map", "a", "tool 'open"], 2, /must be a command with closed quotes/],
      [["map", "a", "/opt/bin/ --flag"], 2, /a folder of programs must be an absolute path/],
      [["map", "a", "b", "--user", "me"], 2, /--user me: must be UID or UID:GID, numbers from 0 to/],
      [["map", "a", "b", "--user", "4294967295"], 2, /must be UID or UID:GID/],
      [["map", "a"], 2, /missing required argument 'command'|command/],
      [["map", "a", "b", "c"], 2, /too many arguments/],
      [["unmap", "a"], 1, /no row for a: no image is mapped/],
      [["frob"], 2, /unknown command 'frob': must be one of map, unmap, list/],
    ] as const) {
      const { code, stderr, stdout } = await dray(["image", ...args, ...(args[0] === "frob" ? [] : dir)]);
      assert.deepEqual([args, code, stdout], [args, wanted, ""]);
      assert.match(stderr, message);
    }
    assert.equal(existsSync(join(folder, "data/images.json")), false);
    const host = await dray(["image", "rm", "a", ...dir]);
    assert.equal(host.code, 1);
    assert.match(host.stderr, /take no images: .*`dray image unmap` removes a row/);
    const missing = await dray(["image", "rm", "a", "b:1", "--oci-dir", join(folder, "oci")]);
    assert.equal(missing.code, 1);
    assert.match(missing.stderr, /no such image: a, b:1; `dray image list` shows/);
    const none = await dray(["image", "map", "a", "b", "--data-dir", join(folder, "none")]);
    assert.equal(none.code, 1);
    assert.match(none.stderr, /there is no cluster in .*none/);
    writeFileSync(join(folder, "data/images.json"), '[{"pattern": 1}]');
    const damaged = await dray(["image", "list", ...dir]);
    assert.equal(damaged.code, 1);
    assert.match(damaged.stderr, /images\.json is damaged: it must be a list of/);
  }));
