import assert from "node:assert/strict";
import { test } from "node:test";
import { helpText, readControllerOptions, readOptions } from "./index.ts";

const paths = {
  registrarDirectory: "/var/lib/kubelet/plugins_registry",
  pluginsDirectory: "/var/lib/kubelet/plugins",
  cdiDirectory: "/etc/cdi",
};
const gpu = {
  name: "gpu",
  count: 8,
  partitions: 0,
  allowMultipleAllocations: false,
  bindingConditions: false,
  deviceStatus: false,
} as const;

test("the environment: names and defaults of the public example driver", () => {
  assert.deepEqual(readOptions([], { NODE_NAME: "node-a" }), {
    nodeName: "node-a",
    profile: gpu,
    driverName: "gpu.example.com",
    ...paths,
    ignored: [],
  });
  assert.deepEqual(
    readOptions([], {
      NODE_NAME: "node-a",
      NUM_DEVICES: "9",
      GPU_PARTITIONS: "4",
      GPU_ALLOW_MULTIPLE_ALLOCATIONS: "true",
      GPU_DEVICE_STATUS: "1",
      BINDING_CONDITIONS: "T",
      HEALTHCHECK_PORT: "51515",
      METRICS_PORT: "8080",
      DRAY_POD_IP: "127.1.2.3",
      CDI_ROOT: "/c",
      KUBELET_REGISTRAR_DIRECTORY_PATH: "/r",
      KUBELET_PLUGINS_DIRECTORY_PATH: "/p",
      POD_UID: "pod",
      DRIVER_NAME: "other.example.com",
    }),
    {
      nodeName: "node-a",
      profile: {
        ...gpu,
        count: 9,
        partitions: 4,
        allowMultipleAllocations: true,
        bindingConditions: true,
        deviceStatus: true,
      },
      driverName: "other.example.com",
      registrarDirectory: "/r",
      pluginsDirectory: "/p",
      cdiDirectory: "/c",
      podUID: "pod",
      healthcheck: { host: "127.1.2.3", port: 51515 },
      metrics: { host: "127.1.2.3", port: 8080 },
      ignored: [],
    },
  );
});

test("profiles net and cpu; options of another profile are ignored, and named unless they have the default", () => {
  const net = readOptions([], {
    NODE_NAME: "a",
    DEVICE_PROFILE: "net",
    NUM_DEVICES: "1",
    GPU_PARTITIONS: "0",
    BINDING_CONDITIONS: "false",
  });
  assert.deepEqual(
    [net.profile, net.driverName, net.ignored],
    [{ name: "net", count: 1 }, "net.example.com", []],
  );
  const cpu = readOptions(["--gpu-device-status"], {
    NODE_NAME: "a",
    DEVICE_PROFILE: "cpu",
    CPU_NUMA_NODES: "2",
    CPUS_PER_NUMA_NODE: "16",
    GPU_PARTITIONS: "4",
  });
  assert.deepEqual(cpu.profile, { name: "cpu", numaNodes: 2, cpusPerNumaNode: 16 });
  assert.deepEqual(cpu.ignored, ["GPU_PARTITIONS", "--gpu-device-status"]);
});

test("a flag counts more than its variable", () => {
  const env = { NODE_NAME: "a", NUM_DEVICES: "3", GPU_DEVICE_STATUS: "true" };
  const { nodeName, profile, kubeconfig } = readOptions(
    [
      "--node-name=b",
      "--num-devices",
      "5",
      "--gpu-device-status=false",
      "--kubeconfig=/k",
      "--binding-conditions",
    ],
    env,
  );
  assert.equal(nodeName, "b");
  assert.deepEqual(profile, { ...gpu, count: 5, bindingConditions: true });
  assert.equal(kubeconfig, "/k");
  assert.match(helpText, /--gpu-allow-multiple-allocations +GPU_ALLOW_MULTIPLE_ALLOCATIONS: /);
});

test("mistakes are named: flag or variable, value, and what would be accepted", () => {
  const cases: [args: string[], env: Record<string, string>, message: RegExp][] = [
    [[], { NODE_NAME: "" }, /^NODE_NAME or --node-name must be the name of the node/],
    [[], { NUM_DEVICES: "many" }, /^NUM_DEVICES "many" must be an integer from 0 to 100000$/],
    [["--num-devices=-1"], {}, /^--num-devices "-1" must be an integer from 0 to 100000$/],
    [[], { GPU_PARTITIONS: "81" }, /^GPU_PARTITIONS "81" must be an integer from 0 to 80$/],
    [
      [],
      { DEVICE_PROFILE: "cpu", CPUS_PER_NUMA_NODE: "0" },
      /^CPUS_PER_NUMA_NODE "0" must be an integer from 1/,
    ],
    [[], { BINDING_CONDITIONS: "yes" }, /^BINDING_CONDITIONS "yes" must be true or false$/],
    [
      [],
      { DEVICE_PROFILE: "tpu" },
      /^DEVICE_PROFILE "tpu" is not supported, supported are "gpu", "net", "cpu"$/,
    ],
    [["--num-gpus=3"], {}, /Unknown option '--num-gpus'/],
    [["more"], {}, /Unexpected argument 'more'/],
  ];
  for (const [args, env, message] of cases)
    assert.throws(() => readOptions(args, { NODE_NAME: "a", ...env }), { message });
});

test("--enable-plugin makes it the controller", () => {
  assert.equal(readControllerOptions(["--driver-name=gpu.example.com"]), undefined);
  assert.deepEqual(readControllerOptions(["--enable-plugin=BindingConditions"]), {
    driverName: "gpu.example.com",
    plugins: ["BindingConditions"],
  });
  const twice = ["--enable-plugin", "BindingConditions, BindingConditions", "--driver-name=a.example.com"];
  assert.deepEqual(readControllerOptions(twice), {
    driverName: "a.example.com",
    plugins: ["BindingConditions"],
  });
  assert.throws(() => readControllerOptions(["--enable-plugin=Taints"]), {
    message: '--enable-plugin "Taints" is not supported, supported is BindingConditions',
  });
});
