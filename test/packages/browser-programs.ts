/** Programs for browsers, and what they answer. */

/** Expected answers of the programs where code may be generated from strings, and where it may not. */
export const expected = {
  cel: { matches: true, cost: 20, mistake: "undeclared reference to 'nosuch'", generates: true },
  allocator: { type: "allocated", devices: ["d1"], generates: true },
};

const generates = `const generates = (() => {
  try { return new Function("return true")(); } catch { return false; }
})();`;

export const programs = {
  cel: `
    import { deviceEnvironment } from "@dray/cel";
    const environment = deviceEnvironment({ stored: true });
    const selector = environment.compile(
      'device.attributes["gpu.example.com"].model.matches("^a1[0-9]+$") && ' +
        'device.capacity["gpu.example.com"].memory.compareTo(quantity("40Gi")) >= 0 && ' +
        'device.attributes["gpu.example.com"].driverVersion.isGreaterThan(semver("1.2.0"))',
    );
    const device = {
      driver: "gpu.example.com",
      attributes: { model: { string: "a100" }, driverVersion: { version: "1.10.0" } },
      capacity: { memory: { value: "80Gi" } },
    };
    const { matches, cost } = selector.evaluate(device);
    const mistake = /undeclared reference to '\\w+'/.exec(environment.compile("nosuch").error)[0];
    ${generates}
    globalThis.answer = { matches, cost, mistake, generates };`,
  allocator: `
    import { createAllocator } from "@dray/allocator";
    const features = { adminAccess: true, prioritizedList: true, partitionableDevices: true, deviceTaints: true };
    const allocator = createAllocator({ features, newId: () => "00000000-0000-4000-8000-000000000000" });
    const pool = { name: "p", generation: 1, resourceSliceCount: 1 };
    const device = (name, model) => ({ name, attributes: { model: { string: model } } });
    const slice = {
      metadata: { name: "s" },
      spec: { driver: "d.example.com", pool, nodeName: "n", devices: [device("d0", "a"), device("d1", "b")] },
    };
    const selectors = [{ cel: { expression: 'device.attributes["d.example.com"].model == "b"' } }];
    const exactly = { deviceClassName: "c", selectors, allocationMode: "ExactCount", count: 1 };
    const claim = {
      metadata: { name: "claim", namespace: "default", uid: "u" },
      spec: { devices: { requests: [{ name: "r", exactly }] } },
    };
    allocator.update({ kind: "class", object: { metadata: { name: "c" }, spec: {} }, deleted: false });
    allocator.update({ kind: "slice", object: slice, deleted: false });
    const result = allocator.allocate({ metadata: { name: "n", labels: {} } }, [claim]);
    const devices = result.allocations.flatMap(({ devices }) => devices.results.map(({ device }) => device));
    ${generates}
    globalThis.answer = { type: result.type, devices, generates };`,
};
