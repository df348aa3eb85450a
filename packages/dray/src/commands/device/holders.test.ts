import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { service, unixServer } from "@dray/rpc";
import { PodResourcesListerDefinition } from "@dray/rpc/podresources/v1";
import { devicesHeld } from "./holders.ts";

test("devices of claims and of device plugins, sorted by their containers", async () => {
  const folder = mkdtempSync("/tmp/dk-");
  const path = join(folder, "kubelet.sock");
  const empty = { devices: [], dynamicResources: [], cpuIds: [], memory: [] };
  const plugged = { resourceName: "example.com/gpu", deviceIds: ["gpu-0", "gpu-1"], topology: undefined };
  const part = {
    driverName: "gpu.example.com",
    poolName: "n1",
    deviceName: "gpu-2",
    shareId: "s",
    cdiDevices: [{ name: "k8s.gpu.example.com/gpu=x" }],
  };
  const claim = { claimName: "part", claimNamespace: "a", claimResources: [part] };
  const podResources = [
    {
      namespace: "b",
      name: "plugin",
      containers: [{ ...empty, name: "main", devices: [plugged] }],
      cpuIds: [],
      memory: [],
    },
    {
      namespace: "a",
      name: "claim",
      containers: [
        { ...empty, name: "main", dynamicResources: [claim] },
        { ...empty, name: "none" },
      ],
      cpuIds: [],
      memory: [],
    },
  ];
  const refuse = () => Promise.reject(new Error("not asked"));
  const server = await unixServer(path, [
    service(PodResourcesListerDefinition, {
      list: async () => ({ podResources }),
      getAllocatableResources: refuse,
      get: refuse,
    }),
  ]);
  try {
    const plugin = {
      node: "n1",
      namespace: "b",
      pod: "plugin",
      container: "main",
      resource: "example.com/gpu",
    };
    assert.deepEqual(await devicesHeld({ node: "n1", path }), [
      {
        node: "n1",
        namespace: "a",
        pod: "claim",
        container: "main",
        claim: "part",
        driver: "gpu.example.com",
        pool: "n1",
        device: "gpu-2",
        shareID: "s",
        cdiDevices: ["k8s.gpu.example.com/gpu=x"],
      },
      { ...plugin, device: "gpu-0" },
      { ...plugin, device: "gpu-1" },
    ]);
  } finally {
    await server.close(0);
    rmSync(folder, { recursive: true });
  }
});
