import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { DeviceClass } from "@dray/api/resource/v1";
import { connect } from "../connect.ts";
import { dray, inFolder, type Output } from "../testing.ts";
import { drivers, driversOption, manifestsOf } from "./drivers.ts";

const withoutKubectl = spawnSync("kubectl", ["version", "--client"]).status !== 0 && "kubectl is not on PATH";

test("a driver is a name and its settings", () => {
  const [chosen] = driversOption(["example:devices=4"]);
  assert.deepEqual([chosen?.name, chosen?.settings], ["example", { devices: "4" }]);
  assert.deepEqual(driversOption(["example"])[0]?.settings, {});
  for (const [texts, message] of [
    [["exmaple"], '--driver exmaple: unknown driver "exmaple": did you mean example?'],
    [[""], '--driver : unknown driver "": must be one of example'],
    [["toString"], '--driver toString: unknown driver "toString": must be one of example'],
    [["example:"], '--driver example:: unknown setting "": must be one of devices'],
    [["example:device=1"], '--driver example:device=1: unknown setting "device": did you mean devices?'],
    [
      ["example:devices"],
      "--driver example:devices: devices must be a whole number from 0 to 10000, as in example:devices=9",
    ],
    [
      ["example:devices=-1"],
      "--driver example:devices=-1: devices must be a whole number from 0 to 10000, as in example:devices=9",
    ],
    [["example:devices=1,devices=2"], "--driver example:devices=1,devices=2: devices is given twice"],
    [["example", "example:devices=1"], "--driver example:devices=1: example is given twice"],
  ] as const)
    assert.throws(() => driversOption(texts), { name: "UsageError", message });
});

test("every driver has its manifests, and an example of a pod", () => {
  for (const known of Object.values(drivers))
    assert.ok(readdirSync(join(manifestsOf(known), "example")).length > 0);
});

test(
  "up --driver: the driver is installed, and the commands that are printed show a pod with a device",
  {
    skip: withoutKubectl,
    timeout: 180_000,
  },
  () =>
    inFolder(async (folder) => {
      const data = ["--data-dir", join(folder, "it's data")];
      const env = { KUBECONFIG: join(folder, "config"), HOME: folder };
      const shell = (line: string): string => {
        const { status, stdout, stderr } = spawnSync("sh", ["-ec", line], {
          encoding: "utf8",
          env: { ...process.env, ...env },
        });
        assert.equal(status, 0, `${line}: ${stdout}${stderr}`);
        return stdout;
      };
      const run = async (...args: string[]): Promise<string> => {
        const { code, stdout, stderr } = await dray([...args, ...data], env);
        assert.equal(code, 0, stderr);
        return stdout;
      };
      /** How many devices each node has. */
      const devices = (): number[] => {
        const { items } = JSON.parse(shell("kubectl get resourceslices -o json")) as {
          items: { spec: { devices?: unknown[] } }[];
        };
        return items.map(({ spec }) => spec.devices?.length ?? 0);
      };
      try {
        const banner = await run("up", "--detach", "--nodes", "1");
        assert.match(
          banner,
          /\n`dray up --driver example --data-dir .+` adds simulated GPUs, to a cluster that runs, too\.\n/,
        );
        const running = await run("up", "--driver", "example:devices=3");
        assert.match(running, /^Driver example is installed: 3 devices of gpu\.example\.com on each node\./);
        assert.deepEqual(devices(), [3]);
        // A node that comes later has the driver, too; and settings change.
        await run("up", "--nodes", "2", "--driver", "example:devices=2");
        assert.deepEqual(devices(), [2, 2]);
        assert.equal(
          shell("kubectl get deviceclass gpu.example.com -o name"),
          "deviceclass.resource.k8s.io/gpu.example.com\n",
        );
        await run("down");

        const again = await run("up", "--detach", "--driver", "example");
        assert.deepEqual(devices(), [9, 9]);
        const [, ...commands] =
          /\. A pod with one of them:\n {2}(.*)\n {2}(.*)\n/.exec(again) ?? assert.fail(again);
        assert.deepEqual(commands.length, 2);
        const shown = commands.map((command) => shell(command ?? ""));
        assert.match(shown[1]!, /^declare -x GPU_DEVICE_\d="gpu-\d"$/m);
      } finally {
        await dray(["down", "--delete-data", ...data], env);
      }
    }),
);

test("the manifests apply in one go", { skip: withoutKubectl, timeout: 120_000 }, () =>
  inFolder(async (folder) => {
    const data = ["--data-dir", join(folder, "data"), "--store", "memory"];
    const env = { KUBECONFIG: join(folder, "config"), HOME: folder };
    try {
      const { code, stderr } = await dray(["up", "--detach", "--nodes", "1", ...data], env);
      assert.equal(code, 0, stderr);
      const install = manifestsOf(drivers["example"]!);
      const applied = spawnSync("kubectl", ["apply", "-f", install], {
        encoding: "utf8",
        env: { ...process.env, ...env },
      });
      assert.equal(applied.status, 0, applied.stderr);
      assert.match(applied.stdout, /^namespace\/dra-tutorial created\n/);
      assert.match(applied.stdout, /^validatingadmissionpolicybinding.* created$/m);
      // What `up` then applies is the same; it waits for the devices.
      const up = await dray(["up", "--driver", "example", "--data-dir", join(folder, "data")], env);
      assert.equal(up.code, 0, up.stderr);
    } finally {
      await dray(["down", "--delete-data", "--data-dir", join(folder, "data")], env);
    }
  }),
);

test("a cluster that has a class of devices is not offered the driver again", { timeout: 120_000 }, () =>
  inFolder(async (folder) => {
    const data = ["--data-dir", join(folder, "data")];
    const up = (): Promise<Output> => dray(["up", "--detach", "--nodes", "0", ...data]);
    try {
      assert.match((await up()).stdout, /adds simulated GPUs/);
      const { client } = await connect({ kubeconfig: join(folder, "data/kubeconfig") }, "test");
      await client.resource(DeviceClass).create({ metadata: { name: "gpu" }, spec: {} });
      client.close();
      await dray(["down", ...data]);
      const again = await up();
      assert.equal(again.code, 0, again.stderr);
      assert.doesNotMatch(again.stdout, /adds simulated GPUs/);
      assert.match(again.stdout, /\n {2}kubectl get nodes\n\n`dray down/);
    } finally {
      await dray(["down", "--delete-data", ...data]);
    }
  }),
);

test("a driver that cannot be installed is named, and the cluster runs on", () =>
  inFolder(async (folder) => {
    const data = ["--data-dir", join(folder, "data")];
    try {
      const { code, stderr } = await dray([
        ...["up", "--detach", "--nodes", "0", "--store", "memory", ...data],
        ...["--runtime-config", "admissionregistration.k8s.io/v1=false", "--driver", "example"],
      ]);
      assert.equal(code, 1);
      assert.match(
        stderr,
        /^error: the cluster runs at https:\S+, but driver example: validatingadmissionpolicy.yaml: the cluster does not serve admissionregistration.k8s.io\/v1 \(see/,
      );
      assert.equal((await dray(["status", ...data])).code, 0);
    } finally {
      await dray(["down", "--delete-data", ...data]);
    }
  }));
