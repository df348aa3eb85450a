import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "@dray/testing/folder";
import { NodePaths } from "../base/paths.ts";
import { cdiPathsOnMachine } from "./cdi-edits.ts";

test("each path of CDI edits is looked up in the node's root, if it lies there", (context) => {
  const paths = new NodePaths(temporaryFolder(context));
  const plugin = "/var/lib/kubelet/plugins/gpu.example.com";
  mkdirSync(join(paths.root, plugin), { recursive: true });
  mkdirSync(join(paths.root, "dev"));
  for (const file of [`${plugin}/hook`, `${plugin}/gpu0`, "dev/of-node"])
    writeFileSync(join(paths.root, file), "");
  const hook = (path: string) => ({ hookName: "createContainer", path, args: [path, "chmod"] }) as const;
  const mount = (hostPath: string, type?: string) => ({
    hostPath,
    containerPath: "/x",
    ...(type !== undefined && { type }),
  });
  const edits = {
    env: [`A=${plugin}`],
    hooks: [hook(`${plugin}/hook`), hook("/bin/sh"), hook("/no/such/hook")],
    mounts: [mount(plugin), mount("/etc"), mount(`${plugin}/later`), mount("tmpfs", "tmpfs")],
    deviceNodes: [
      { path: "/dev/gpu0", hostPath: `${plugin}/gpu0` },
      { path: "/dev/null" },
      { path: "/dev/of-node" },
      { path: "/dev/nowhere" },
    ],
    netDevices: [{ hostInterfaceName: "eth7", name: "net7" }],
  };
  const mapped = cdiPathsOnMachine(edits, (path) => paths.onMachine(path));
  const own = (path: string): string => join(paths.root, path);
  assert.deepEqual(
    mapped.hooks.map(({ path, args }) => [path, args[0]]),
    [
      [own(`${plugin}/hook`), `${plugin}/hook`],
      ["/bin/sh", "/bin/sh"],
      ["/no/such/hook", "/no/such/hook"],
    ],
  );
  assert.deepEqual(
    mapped.mounts.map(({ hostPath }) => hostPath),
    [own(plugin), "/etc", own(`${plugin}/later`), "tmpfs"],
  );
  assert.deepEqual(
    mapped.deviceNodes.map(({ hostPath }) => hostPath),
    [own(`${plugin}/gpu0`), "/dev/null", own("/dev/of-node"), "/dev/nowhere"],
  );
  assert.deepEqual([mapped.env, mapped.netDevices], [edits.env, edits.netDevices]);
});
