import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { featuresOf, type KubeObject, parseKubernetesVersion } from "@dray/api";
import type { DaemonSet } from "@dray/api/apps/v1";
import { DeviceClass } from "@dray/api/resource/v1";
import { parse } from "yaml";
import { connect } from "../connection/connect.ts";
import { dray, inFolder, type Output } from "../testing/program.ts";
import { driversOption as readDrivers } from "./drivers.ts";
import { examplesFolder } from "./examples.ts";
import { manifests } from "./install.ts";

const driversOption = (texts: readonly string[], kubernetesVersion?: string) =>
  readDrivers(texts, featuresOf(parseKubernetesVersion(kubernetesVersion)));

const withoutKubectl = spawnSync("kubectl", ["version", "--client"]).status !== 0 && "kubectl is not on PATH";

test("a driver is a name and its settings", () => {
  const [chosen] = driversOption(["example:devices=4"]);
  assert.deepEqual([chosen?.name, chosen?.installation.deviceCount], ["example", 4]);
  assert.equal(driversOption(["example"])[0]?.installation.deviceCount, 9);
  const counts = [
    "example:devices=2,partitions=4",
    "example:profile=net",
    "example:profile=cpu,numa-nodes=3",
  ];
  assert.deepEqual(
    driversOption(counts).map(({ installation: { offers, deviceCount } }) => [offers, deviceCount]),
    [
      ["gpu.example.com", 10],
      ["net.example.com", 9],
      ["cpu.example.com", 3],
    ],
  );
  for (const [texts, message] of [
    [["exmaple"], '--driver exmaple: unknown driver "exmaple": did you mean example?'],
    [[""], '--driver : unknown driver "": must be one of example, device-plugin-example'],
    [
      ["toString"],
      '--driver toString: unknown driver "toString": must be one of example, device-plugin-example',
    ],
    [
      ["example:"],
      '--driver example:: unknown setting "": must be one of profile, devices, partitions, multiple-allocations, device-status, binding-conditions, numa-nodes, cpus-per-numa-node, extended-resource',
    ],
    [
      ["example:device=1"],
      '--driver example:device=1: unknown setting "device": did you mean devices or device-status?',
    ],
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
    [
      ["device-plugin-example:env=9"],
      "--driver device-plugin-example:env=9: env must be the name of a variable, as in device-plugin-example:env=NVIDIA_VISIBLE_DEVICES",
    ],
    [
      ["example:profile=tpu"],
      "--driver example:profile=tpu: profile must be one of gpu, net, cpu, as in example:profile=net",
    ],
    [
      ["example:partitions=81"],
      "--driver example:partitions=81: partitions must be a whole number from 0 to 80, as in example:partitions=4",
    ],
    [
      ["example:partitions=4,profile=net"],
      "--driver example:partitions=4,profile=net: partitions is a setting of profile gpu, not of net",
    ],
    [
      ["example:profile=cpu,devices=4"],
      "--driver example:profile=cpu,devices=4: devices is a setting of profile gpu and net, not of cpu",
    ],
    [
      ["example:extended-resource=gpu"],
      "--driver example:extended-resource=gpu: extended-resource must be the name of an extended resource, as in example:extended-resource=example.com/gpu",
    ],
  ] as const)
    assert.throws(() => driversOption(texts), { name: "UsageError", message });
});

test("a setting that needs a feature gate is refused where the gate is off", () => {
  assert.equal(driversOption(["example:multiple-allocations=true"], "1.36").length, 1);
  assert.equal(driversOption(["example:multiple-allocations=false,partitions=0"], "1.35").length, 1);
  assert.throws(() => driversOption(["example:devices=1,multiple-allocations=true"], "1.35"), {
    name: "UsageError",
    message:
      "--driver example:devices=1,multiple-allocations=true: multiple-allocations=true needs the feature gate DRAConsumableCapacity, which is off: start the cluster with --feature-gates DRAConsumableCapacity=true",
  });
});

test("every profile has its manifests, and an example of a pod", () => {
  const profiles = driversOption(["gpu", "net", "cpu"].map((profile) => `example:profile=${profile}`));
  for (const { installation } of profiles) {
    const [folder] = installation.manifests;
    for (const path of [folder!, installation.example])
      assert.ok(readdirSync(join(examplesFolder(), ...path)).some((name) => name.endsWith(".yaml")));
  }
});

test("namespaces come first and workloads last, whatever their files are named", () => {
  for (const { name, installation } of driversOption(["example:profile=net", "device-plugin-example"])) {
    const kinds = manifests(installation).map(({ object }) => object.kind);
    assert.equal(kinds[0], "Namespace", name);
    assert.equal(kinds.indexOf("DaemonSet"), kinds.length - 1, `${name}: ${kinds.join(", ")}`);
  }
});

test("settings become variables, names, and the image that knows them", () => {
  const adapted = (setting: string) => {
    const [chosen] = driversOption([`example:${setting}`]);
    const read = (file: string) =>
      chosen!.installation.adapt(
        parse(readFileSync(join(examplesFolder(), "dra", "driver-install", file), "utf8")) as KubeObject,
      );
    const set = read("daemonset.yaml") as DaemonSet;
    const [container] = set.spec!.template.spec!.containers;
    return {
      set,
      image: container!.image!.split(":")[1],
      env: Object.fromEntries(container!.env!.map(({ name, value }) => [name, value])),
      deviceClass: read("deviceclass.yaml") as DeviceClass,
    };
  };
  const plain = adapted("devices=3,extended-resource=example.com/gpu");
  assert.equal(plain.image, "v0.2.0");
  assert.equal(plain.env["NUM_DEVICES"], "3");
  assert.equal(plain.env["DEVICE_PROFILE"], undefined);
  assert.equal(plain.set.metadata.name, "dra-example-driver-kubeletplugin");
  assert.equal(plain.deviceClass.spec.extendedResourceName, "example.com/gpu");

  const net = adapted("profile=net,devices=1");
  assert.equal(net.image, "v0.4.0");
  assert.deepEqual([net.env["DEVICE_PROFILE"], net.env["NUM_DEVICES"]], ["net", "1"]);
  assert.equal(net.set.metadata.name, "dra-example-driver-net-kubeletplugin");
  const labels = { "app.kubernetes.io/name": "dra-example-driver-net" };
  assert.deepEqual(net.set.spec!.selector!.matchLabels, labels);
  assert.deepEqual(net.set.spec!.template.metadata!.labels, labels);
  assert.equal(net.deviceClass.metadata.name, "net.example.com");
  assert.deepEqual(net.deviceClass.spec.selectors, [
    { cel: { expression: "device.driver == 'net.example.com'" } },
  ]);

  const cpu = adapted("profile=cpu,numa-nodes=2,cpus-per-numa-node=16");
  assert.deepEqual(
    [cpu.env["CPU_NUMA_NODES"], cpu.env["CPUS_PER_NUMA_NODE"], cpu.env["DEVICE_PROFILE"]],
    ["2", "16", "cpu"],
  );
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
      /** Returns the number of devices of each node. */
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
        // A node that is added later has the driver, too; and settings can change.
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

test(
  "up --driver device-plugin-example: nodes have the resource, and the commands that are printed show a pod with it",
  { skip: withoutKubectl, timeout: 120_000 },
  () =>
    inFolder(async (folder) => {
      const data = ["--data-dir", join(folder, "data"), "--store", "memory"];
      const env = { KUBECONFIG: join(folder, "config"), HOME: folder };
      try {
        const driver = "device-plugin-example:resource=nvidia.com/gpu,devices=3,env=NVIDIA_VISIBLE_DEVICES";
        const { code, stdout, stderr } = await dray(
          ["up", "--detach", "--nodes", "1", "--driver", driver, ...data],
          env,
        );
        assert.equal(code, 0, stderr);
        const [, ...commands] =
          /: 3 devices of nvidia\.com\/gpu on each node\. .*:\n {2}(.*)\n {2}(.*)\n/.exec(stdout) ??
          assert.fail(stdout);
        const shown = commands.map((command) => {
          const options = { encoding: "utf8", env: { ...process.env, ...env } } as const;
          const { status, stdout, stderr } = spawnSync("sh", ["-ec", command ?? ""], options);
          assert.equal(status, 0, stderr);
          return stdout;
        });
        assert.match(shown[1]!, /^NVIDIA_VISIBLE_DEVICES=gpu-0,gpu-1$/m);
      } finally {
        await dray(["down", "--delete-data", "--data-dir", join(folder, "data")], env);
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
      const install = join(examplesFolder(), "dra", "driver-install");
      const applied = spawnSync("kubectl", ["apply", "-f", install], {
        encoding: "utf8",
        env: { ...process.env, ...env },
      });
      assert.equal(applied.status, 0, applied.stderr);
      assert.match(applied.stdout, /^namespace\/dra-tutorial created\n/);
      assert.match(applied.stdout, /^validatingadmissionpolicybinding.* created$/m);
      // `up` then applies the same objects and waits for the devices.
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
