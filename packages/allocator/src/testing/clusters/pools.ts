import type { NodeSelector } from "@dray/api/core/v1";
import type {
  CapacityRequestPolicy,
  Device,
  DeviceAttribute,
  DeviceTaint,
  ResourceSlice,
} from "@dray/api/resource/v1";
import fc from "fast-check";
import { driver, makeSlice, numa } from "./objects.ts";
import { often, seldom, type Theme } from "./theme.ts";

const otherDriver = "nic.test";

const numaValue: fc.Arbitrary<DeviceAttribute | undefined> = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: 0, max: 2 }).map((int) => ({ int })) },
  {
    weight: 2,
    arbitrary: fc
      .uniqueArray(fc.integer({ min: 0, max: 2 }), { minLength: 1, maxLength: 2 })
      .map((ints) => ({ ints })),
  },
  { weight: 1, arbitrary: fc.constantFrom({ string: "1" }, { bool: true }, { version: "1.0.0" }) },
  { weight: 1, arbitrary: fc.constant(undefined) },
);

const taint: fc.Arbitrary<DeviceTaint> = fc.record({
  key: fc.constantFrom("a", "b"),
  effect: fc.constantFrom("NoSchedule", "NoExecute", "None"),
});

/** The nodes that a slice or a device is for. */
interface Place {
  nodeName?: string;
  allNodes?: boolean;
  nodeSelector?: NodeSelector;
}

const zone = (values: string[]): NodeSelector => ({
  nodeSelectorTerms: [{ matchExpressions: [{ key: "zone", operator: "In", values }] }],
});
const place: fc.Arbitrary<Place> = fc.oneof(
  { weight: 6, arbitrary: fc.constant<Place>({ nodeName: "node-1" }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Place>(
      { nodeName: "node-2" },
      { allNodes: true },
      { nodeSelector: zone(["a"]) },
      { nodeSelector: zone(["a", "b"]) },
      { nodeSelector: zone(["b"]) },
    ),
  },
);

const deviceShape = fc.record({
  clash: often(false, fc.constant(true), 60),
  model: often<string | undefined>("a", fc.constantFrom("b", undefined), 2),
  numa: numaValue,
  qualified: fc.boolean(),
  memory: fc.constantFrom("2Gi", "3Gi", "4Gi"),
  policy: seldom(
    fc.constantFrom<CapacityRequestPolicy>(
      { default: "1Gi", validRange: { min: "1Gi", step: "1Gi" } },
      { default: "1Gi", validRange: { min: "1Gi", max: "2Gi" } },
      { default: "1Gi", validValues: ["1Gi", "2Gi"] },
      { default: "500m", validRange: { min: "500m", step: "500m" } },
    ),
    1,
  ),
  shared: fc.boolean(),
  taints: often<DeviceTaint[]>([], fc.array(taint, { minLength: 1, maxLength: 2 }), 2),
  counters: fc.record({
    set: fc.constantFrom("s0", "s1"),
    a: fc.integer({ min: 0, max: 2 }),
    b: fc.integer({ min: 0, max: 1 }),
  }),
  counted: often(true, fc.constant(false), 2),
  groups: fc.subarray(["x", "y", "z"]),
  binding: often(false, fc.constant(true)),
  bindsToNode: often(false, fc.constant(true)),
  place,
});
type DeviceShape = typeof deviceShape extends fc.Arbitrary<infer T> ? T : never;

export const poolShape = fc.record({
  driver: often(driver, fc.constant(otherDriver), 3),
  name: fc.constantFrom("p0", "p1"),
  slices: fc.array(
    fc.record({
      place: fc.option(place, { freq: 6 }),
      devices: fc.array(deviceShape, { minLength: 1, maxLength: 5, size: "max" }),
      skip: often(false, fc.constant(true), 20),
      older: often(false, fc.constant(true), 20),
    }),
    { minLength: 1, maxLength: 2 },
  ),
  counterPlace: place,
  counters: fc.record({ a: fc.integer({ min: 2, max: 6 }), b: fc.integer({ min: 2, max: 4 }) }),
  missing: often(0, fc.constantFrom(-1, 1), 20),
});
export type PoolShape = typeof poolShape extends fc.Arbitrary<infer T> ? T : never;

function deviceOf(shape: DeviceShape, theme: Theme, index: number, own: boolean): Device {
  const attributes: Record<string, DeviceAttribute> = {};
  if (shape.model !== undefined || !theme.errors) attributes["model"] = { string: shape.model ?? "a" };
  const list = shape.numa?.ints;
  const value = list !== undefined && !theme.lists ? { int: list[0]! } : shape.numa;
  if (value !== undefined) attributes[shape.qualified ? numa : "numa"] = value;
  const { set, a, b } = shape.counters;
  return {
    name: shape.clash ? "d0" : `d${index}`,
    attributes,
    ...(theme.capacity
      ? {
          capacity: {
            memory: {
              value: shape.memory,
              ...(shape.policy !== undefined && shape.shared ? { requestPolicy: shape.policy } : {}),
            },
          },
          ...(shape.shared ? { allowMultipleAllocations: true } : {}),
        }
      : {}),
    ...(theme.taints ? { taints: shape.taints } : {}),
    ...(theme.counters && shape.counted
      ? {
          consumesCounters: [
            {
              counterSet: set,
              counters: { a: { value: String(a) }, b: { value: String(b) } },
              ...(theme.groups ? { compatibilityGroups: shape.groups } : {}),
            },
          ],
        }
      : {}),
    ...(theme.binding && shape.binding
      ? { bindingConditions: ["ready"], bindingFailureConditions: ["failed"] }
      : {}),
    ...(theme.binding && shape.bindsToNode ? { bindsToNode: true } : {}),
    ...(own ? shape.place : {}),
  };
}

export function slicesOf(shape: PoolShape, theme: Theme, id: string): ResourceSlice[] {
  const count = shape.slices.filter(({ older }) => !older).length + (theme.counters ? 1 : 0) + shape.missing;
  const pool = { name: shape.name, generation: 2, resourceSliceCount: Math.max(1, count) };
  const specs: ResourceSlice["spec"][] = shape.slices.map((slice, i) => ({
    driver: shape.driver,
    pool: { ...pool, generation: slice.older ? 1 : 2 },
    ...(slice.place ?? { perDeviceNodeSelection: true }),
    devices: slice.devices.map((device, k) => deviceOf(device, theme, i * 10 + k, slice.place === null)),
    ...(slice.skip ? { skipNodeOperations: ["*"] } : {}),
  }));
  if (theme.counters) {
    const { a, b } = shape.counters;
    const sets = ["s0", "s1"].map((name) => ({
      name,
      counters: { a: { value: String(a) }, b: { value: String(b) } },
    }));
    specs.push({ driver: shape.driver, pool, ...shape.counterPlace, sharedCounters: sets });
  }
  return specs.map((spec, i) => makeSlice(`${id}-${i}`, spec));
}
