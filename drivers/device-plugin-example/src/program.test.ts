import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Pod } from "@dray/api/core/v1";
import { silentLog, systemClock } from "@dray/client";
import { eventually } from "@dray/testing/eventually";
import { NodePaths } from "../../../packages/kubelet/src/base/paths.ts";
import { DevicePluginManager } from "../../../packages/kubelet/src/device-plugins/manager.ts";

const program = join(import.meta.dirname, "main.ts");

interface Program {
  readonly process: ChildProcess;
  log(): string;
  /** Sends a signal and resolves to the exit code or the signal. */
  end(signal: NodeJS.Signals): Promise<number | string | null>;
}

function run(t: TestContext, ...args: readonly string[]): Program {
  const child = spawn(process.execPath, ["--conditions=dray-source", program, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  t.after(() => child.kill("SIGKILL"));
  let text = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
    });
  return {
    process: child,
    log: () => text,
    async end(signal) {
      child.kill(signal);
      if (child.exitCode === null && child.signalCode === null) await once(child, "close");
      return child.exitCode ?? child.signalCode;
    },
  };
}

/** The kubelet's manager of device plugins, and its folders. */
async function testKubelet(t: TestContext) {
  const paths = new NodePaths(mkdtempSync("/tmp/dpe-"));
  const make = (): DevicePluginManager =>
    new DevicePluginManager({
      paths,
      clock: systemClock,
      log: silentLog,
      bootId: "boot",
      isActive: () => true,
      changed() {},
      retry() {},
    });
  const node = {
    paths,
    manager: make(),
    async restart() {
      await node.manager.close();
      node.manager = make();
      await node.manager.start();
    },
    says: (resource: string, capacity: string, allocatable: string, log: () => string) =>
      eventually(
        () =>
          `${allocatable} of ${capacity} ${resource}: ${JSON.stringify(node.manager.resources())} ${log()}`,
        () => {
          const now = node.manager.resources();
          return now.capacity[resource] === capacity && now.allocatable[resource] === allocatable;
        },
      ),
  };
  t.after(async () => {
    await node.manager.close();
    rmSync(paths.root, { recursive: true });
  });
  await node.manager.start();
  return node;
}

const podOf = (uid: string, resource: string, count: number): Pod =>
  ({
    metadata: { name: uid, namespace: "default", uid },
    spec: { containers: [{ name: "main", resources: { limits: { [resource]: String(count) } } }] },
  }) as unknown as Pod;

test("the pod of the older tutorials gets its simulated GPU, over a restart of the kubelet; SIGTERM", async (t) => {
  const node = await testKubelet(t);
  const gpu = "nvidia.com/gpu";
  const plugin = run(
    t,
    ...["--resource", gpu, "--count", "8", "--numa-nodes", "2"],
    ...["--env", "NVIDIA_VISIBLE_DEVICES", "--kubelet-dir", node.paths.kubelet, "--device-nodes"],
  );
  await node.says(gpu, "8", "8", plugin.log);
  assert.deepEqual(
    node.manager.allocatable().map(({ id, numaNode }) => `${numaNode}: ${id}`),
    [0, 1, 2, 3, 4, 5, 6, 7].map((index) => `${index < 4 ? 0 : 1}: gpu-${index}`),
  );
  const pod = podOf("pod1", gpu, 1);
  assert.equal(await node.manager.admit(pod), undefined);
  const [container] = pod.spec.containers;
  assert.ok(container);
  const gets = {
    env: [["NVIDIA_VISIBLE_DEVICES", "gpu-0"]],
    mounts: [],
    devices: [{ hostPath: "/dev/null", containerPath: "/dev/gpu-0", permissions: "rw" }],
    annotations: {},
    cdiDevices: [],
  };
  assert.deepEqual(await node.manager.container(pod, container), gets);
  await node.restart();
  await node.says(gpu, "8", "8", plugin.log);
  assert.deepEqual(await node.manager.container(pod, container), gets);
  assert.match(
    (await node.manager.admit(podOf("pod2", gpu, 8)))?.message ?? "",
    /Requested: 8, Available: 7/,
  );

  assert.equal(await plugin.end("SIGTERM"), 0, plugin.log());
  assert.ok(!existsSync(join(node.paths.kubelet, "device-plugins", "nvidia.com_gpu.sock")));
  await node.says(gpu, "8", "0", plugin.log);
});

test("devices named in a file are unhealthy while they stand there", async (t) => {
  const node = await testKubelet(t);
  const file = join(node.paths.root, "unhealthy");
  const plugin = run(t, "--kubelet-dir", node.paths.kubelet, "--unhealthy", file);
  const resource = "example.com/device";
  await node.says(resource, "4", "4", plugin.log);
  writeFileSync(file, "device-1\n device-3 \nother\n");
  await node.says(resource, "4", "2", plugin.log);
  rmSync(file);
  await node.says(resource, "4", "4", plugin.log);
  assert.equal(await plugin.end("SIGINT"), 0, plugin.log());
});

test("invalid flags end the program with the reason", async (t) => {
  for (const [args, problem] of [
    [["--count", "-1"], /--count/],
    [["--count", "1e9"], /--count \\"1e9\\" must be an integer from 0 to 10000/],
    [["--numa-nodes", "two"], /--numa-nodes \\"two\\" must be an integer from 0 to 1024/],
    [["--device-plugins-dir", "sockets"], /--device-plugins-dir \\"sockets\\" must be an absolute path/],
    [["--kubelet-dir", "kubelet"], /--kubelet-dir \\"kubelet\\" must be an absolute path/],
    [["--resource", "gpu"], /name of the device plugin: \\"gpu\\" must be the name of an extended resource/],
    [["--env", "A-B"], /--env \\"A-B\\" must be the name of a variable/],
    [
      ["--resource", "1.com/x"],
      /--resource \\"1\.com\/x\\" makes no name of a variable: name one with --env/,
    ],
    [["--colour"], /Unknown option '--colour'/],
    [["more"], /Unexpected argument 'more'/],
  ] as const) {
    const wrong = run(t, ...args);
    await once(wrong.process, "close");
    assert.equal(wrong.process.exitCode, 1);
    assert.match(wrong.log(), problem);
  }
  const help = run(t, "--help");
  await once(help.process, "close");
  assert.equal(help.process.exitCode, 0);
  assert.match(help.log(), /--kubelet-dir DIR/);
});
