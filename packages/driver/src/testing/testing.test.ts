import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import type { AllocatedDevice, Driver, Pool } from "@dray/driver";
import { checkCrashes, crashSteps, type DriverNode, startDriverNode } from "@dray/driver/testing";
import { lamps } from "./internal/smallest.ts";

// As the author of a driver uses the kit.

const nodes: DriverNode[] = [];
after(() => Promise.all(nodes.map((node) => node.close())));

async function started<P>(make: () => Driver<P>, options = {}): Promise<DriverNode> {
  const node = await startDriverNode(make, options);
  nodes.push(node);
  return node;
}

test("a container gets what prepare returned, and nothing is left after unprepare", async () => {
  const node = await started(() => lamps);
  const [slice] = await node.slices();
  assert.deepEqual(
    slice?.spec.devices?.map(({ name }) => name),
    ["lamp-0", "lamp-1"],
  );
  const claim = await node.claim({
    devices: [{ device: "lamp-0" }, { device: "lamp-1", request: "second" }],
  });
  const prepared = await claim.prepare();
  assert.deepEqual((await prepared.container("devices")).env, { LAMP: "lamp-0" });
  assert.deepEqual((await prepared.container("second")).env, { LAMP: "lamp-1" });
  assert.equal((await prepared.container()).cdiDevices.length, 2);
  assert.equal((await node.claimFiles()).length, 2);
  await claim.unprepare();
  assert.deepEqual(await node.claimFiles(), []);
});

test("edits of every kind, parameters of class and claim, and errors of the driver", async () => {
  const node = await started(() => ({
    ...lamps,
    async prepare({ devices, name }) {
      if (name === "broken") throw new Error("the fuse has blown");
      return devices.map((device: AllocatedDevice) => ({
        device,
        edits: {
          env: [`CONFIG=${JSON.stringify(device.configs.map(({ parameters }) => parameters))}`],
          deviceNodes: [{ path: "/dev/lamp", hostPath: "/dev/null" }],
          mounts: [{ hostPath: "/etc/lamps", containerPath: "/etc/lamps", options: ["ro"] }],
          additionalGids: [44],
        },
      }));
    },
  }));
  const claim = await node.claim({
    devices: [{ device: "lamp-0" }],
    config: [{ parameters: { watts: 60 } }, { parameters: { watts: 40 }, source: "FromClass" }],
  });
  const container = await (await claim.prepare()).container();
  assert.equal(container.env["CONFIG"], '[{"watts":40},{"watts":60}]');
  assert.deepEqual(container.deviceNodes, [{ path: "/dev/lamp", hostPath: "/dev/null" }]);
  assert.equal(container.mounts[0]?.containerPath, "/etc/lamps");
  assert.deepEqual(container.additionalGids, [44]);
  const broken = await node.claim({ name: "broken", devices: [{ device: "lamp-1" }] });
  await assert.rejects(broken.prepare(), /the fuse has blown$/);
  await broken.unprepare();
  await assert.rejects(
    node.claim({ devices: [{ device: "lamp-7" }] }),
    /^Error: device node-1\/lamp-7 is not published; published are node-1\/lamp-0, node-1\/lamp-1$/,
  );
});

test("publishes pools that a driver yields later; prepare rejects a deleted claim", async () => {
  let change = (_: readonly Pool[]): void => {};
  const node = await started(() => ({
    ...lamps,
    async *discover(signal) {
      yield [{ devices: [{ name: "lamp-0" }] }];
      while (!signal.aborted) {
        yield await new Promise<readonly Pool[]>((resolve) => {
          change = resolve;
        });
      }
    },
  }));
  const claim = await node.claim({ devices: [{ device: "lamp-0" }] });
  const after = await node.published(() => change([{ devices: [{ name: "lamp-9" }] }]));
  assert.equal(after[0]?.spec.devices?.[0]?.name, "lamp-9");
  await claim.delete();
  await assert.rejects(claim.prepare(), /not found$/);
});

test("a driver that cannot start and one that ends reject with the reason", async () => {
  await assert.rejects(
    startDriverNode(() => ({ ...lamps, name: "Lamp" })),
    /driver name "Lamp" must be/,
  );
  await assert.rejects(
    startDriverNode(() => ({
      ...lamps,
      // biome-ignore lint/correctness/useYield: it fails before
      async *discover() {
        throw new Error("no bus");
      },
    })),
    /the driver ended: no bus$/,
  );
});

test("a restart of the driver keeps what is prepared; after a reboot it is prepared anew", async () => {
  let made = 0;
  const calls: string[] = [];
  const node = await started(() => {
    const instance = ++made;
    return {
      ...lamps,
      async prepare(claim, signal) {
        calls.push(`${instance}`);
        return lamps.prepare(claim, signal);
      },
    };
  });
  const claim = await node.claim({ devices: [{ device: "lamp-0" }] });
  const { devices } = await claim.prepare();
  await node.stop();
  await assert.rejects(claim.prepare(), /the driver does not run: call start\(\)/);
  await node.start();
  assert.deepEqual((await claim.prepare()).devices, devices);
  assert.deepEqual(calls, ["1"], "by the first driver");
  await node.reboot();
  assert.equal(existsSync(join(node.folder, "cdi")), false);
  await node.start();
  const again = await claim.prepare();
  assert.deepEqual(again.devices, devices);
  assert.deepEqual((await again.container()).env, { LAMP: "lamp-0" });
  assert.equal(calls.length, 2);
  await claim.unprepare();
});

test("both versions of the gRPC API, metadata files", async () => {
  const node = await started(
    () => ({
      ...lamps,
      metadata: { versions: ["v1alpha1"] as const },
      prepare: async ({ devices }: { devices: readonly AllocatedDevice[] }) =>
        devices.map((device) => ({
          device,
          edits: {},
          metadata: { attributes: { colour: { string: "red" } } },
        })),
    }),
    { nodeAPIs: ["v1beta1"] },
  );
  const claim = await node.claim({ name: "one", devices: [{ device: "lamp-0" }] });
  const { mounts } = await (await claim.prepare()).container();
  const content = JSON.parse(await readFile(mounts[0]!.hostPath, "utf8"));
  assert.deepEqual(content.requests[0].devices[0].attributes, { colour: { string: "red" } });
  await claim.unprepare();
  assert.deepEqual(await node.claimFiles(), []);
});

/** A driver that does something outside of its process: a lamp that is lit has a file. */
function lightingDriver(folder: string, options: { forgets?: true; doubles?: true } = {}): Driver {
  return {
    ...lamps,
    metadata: { versions: ["v1alpha1"] },
    async prepare({ devices }) {
      return devices.map((device) => {
        const file = join(folder, device.result.device);
        if (options.doubles && existsSync(file)) throw new Error(`${device.result.device} is lit already`);
        writeFileSync(file, "");
        return { device, edits: { env: [`LAMP=${file}`] } };
      });
    },
    async unprepare({ devices }) {
      if (options.forgets) return;
      for (const { result } of devices) rmSync(join(folder, result.device), { force: true });
    },
  };
}

test("checkCrashes passes a driver that survives a crash at every step", async () => {
  const folder = mkdtempSync("/tmp/dray-lit-");
  const seen: string[] = [];
  try {
    await checkCrashes(
      () => lightingDriver(folder),
      { devices: [{ device: "lamp-0" }, { device: "lamp-1" }] },
      {
        afterCrash(step) {
          assert.deepEqual(readdirSync(folder), [], "lamps are lit");
          seen.push(step);
        },
      },
    );
    assert.deepEqual(seen, [...crashSteps]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("checkCrashes rejects drivers that do not survive, with the step", async () => {
  const folder = mkdtempSync("/tmp/dray-lit-");
  const claim = { devices: [{ device: "lamp-0" }] };
  try {
    await assert.rejects(
      checkCrashes(() => lightingDriver(folder, { doubles: true }), claim),
      /^AssertionError.*: crash at prepare-called: .*lamp-0 is lit already/,
    );
    rmSync(join(folder, "lamp-0"), { force: true });
    await assert.rejects(
      checkCrashes(() => lightingDriver(folder, { forgets: true }), claim, {
        afterCrash: () => assert.deepEqual(readdirSync(folder), []),
      }),
      /crash at prepare-begun: /,
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("checkCrashes rejects a driver whose result changes after a restart", async () => {
  let made = 0;
  const make = (): Driver => {
    const instance = ++made;
    return {
      ...lamps,
      prepare: async ({ devices }) =>
        devices.map((device) => ({ device, edits: { env: [`INSTANCE=${instance}`] } })),
    };
  };
  await assert.rejects(
    checkCrashes(make, { devices: [{ device: "lamp-0" }] }),
    /crash at prepare-begun: it is prepared otherwise/,
  );
});
