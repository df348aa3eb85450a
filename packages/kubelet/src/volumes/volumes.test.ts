import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Node, Pod, Volume } from "@dray/api/core/v1";
import { createClient, systemClock } from "@dray/client";
import { NodePaths } from "../base/paths.ts";
import { type SetUpVolumes, Volumes } from "./volumes.ts";

const client = createClient({
  transport: { request: () => Promise.reject(new Error("nothing is asked")), close: () => {} },
  userAgent: "test",
});

test("a host path where the system makes no folder is an error of its volume", async (t) => {
  if (process.platform !== "linux") return t.skip("no /proc");
  const root = mkdtempSync("/tmp/dk-");
  t.after(() => rmSync(root, { recursive: true }));
  const paths = new NodePaths(root);
  paths.create();
  const node = { metadata: { name: "n1" } } as Node;
  const volumes = new Volumes({
    userOfPod: () => undefined,
    trustBundles: { read: () => Promise.reject(new Error("no bundles")) },
    certificates: {
      track: () => {},
      forget: () => {},
      credentials: () => {
        throw new Error("no certificates");
      },
    },
    client,
    clock: systemClock,
    paths,
    nodeAddress: "127.0.0.1",
    node: () => node,
  });
  const setUp = (type: string, path: string): Promise<SetUpVolumes> => {
    const volume: Volume = { name: "data", hostPath: { path, type } };
    return volumes.setUp({ metadata: { uid: "uid" }, spec: { volumes: [volume] } } as Pod);
  };
  mkdirSync(join(root, "var/lib"), { recursive: true });
  symlinkSync("/proc", join(root, "var/lib/link"));
  for (const type of ["", "DirectoryOrCreate", "FileOrCreate"])
    await assert.rejects(
      setUp(type, "/var/lib/link/dray/below"),
      /^VolumeError: MountVolume\.SetUp failed for volume "data" : ENOENT: /,
      type,
    );
  const { places } = await setUp("DirectoryOrCreate", "/var/lib/made/below");
  assert.ok(statSync(places.get("data") ?? "").isDirectory());
});
