import type { DeviceAttribute, DeviceConstraint, DeviceRequest } from "@dray/api/resource/v1";
import fc from "fast-check";
import type { Question } from "../reference.ts";
import { classes, driver, makeClaim, makeSlice, nodes, numa } from "./objects.ts";
import { allFeatures, defaultFeatures, often } from "./theme.ts";

const max = { devices: 8, requests: 6 };
const selects = (request: number) => [
  { cel: { expression: `device.attributes["${driver}"].fits${request}` } },
];

/**
 * Each request matches some devices at random: the first solution often comes after many dead ends. A few
 * devices lack an attribute that a selector reads, which is an error if the search reaches them.
 */
export function matchingQuestions(): fc.Arbitrary<Question> {
  const fits = fc.nat(99);
  const device = fc.record({
    fits: fc.array(fits, { minLength: max.requests, maxLength: max.requests }),
    silent: often<number | undefined>(undefined, fc.nat(max.requests - 1), 12),
    numa: fc.nat(1),
    units: fc.nat(2),
    shared: often(false, fc.constant(true), 3),
  });
  return fc
    .record({
      features: fc.constantFrom<readonly string[]>(defaultFeatures, allFeatures),
      /** Percentage. */
      density: fc.constantFrom(25, 35, 50, 70),
      devices: fc.array(device, { minLength: 5, maxLength: max.devices }),
      requests: fc.integer({ min: 3, max: max.requests }),
      claims: fc.integer({ min: 1, max: 2 }),
      two: fc.option(fc.nat(max.requests), { freq: 2 }),
      lists: fc.array(fc.tuple(fc.nat(max.requests - 1), fc.nat(max.requests - 1)), { maxLength: 2 }),
      units: fc.option(fc.integer({ min: 3, max: 8 })),
      constraint: fc.constantFrom<DeviceConstraint | undefined>(
        undefined,
        { requests: ["r0", "r2"], matchAttribute: numa },
        { requests: ["r0", "r3"], matchAttribute: numa },
        { requests: ["r1", "r3"], distinctAttribute: numa },
      ),
    })
    .map(({ features, density, devices, requests: count, claims, two, lists, units, constraint }) => {
      const pool = { name: "p", generation: 1, resourceSliceCount: units === null ? 1 : 2 };
      const use = { nodeName: "node-1", driver, pool };
      const published = devices.map((shape, i) => {
        const attributes: Record<string, DeviceAttribute> = { numa: { int: shape.numa } };
        shape.fits.forEach((n, r) => {
          if (r !== shape.silent) attributes[`fits${r}`] = { bool: n < density };
        });
        return {
          name: `d${i}`,
          attributes,
          ...(shape.shared ? { allowMultipleAllocations: true, capacity: { memory: { value: "1Gi" } } } : {}),
          ...(units === null
            ? {}
            : { consumesCounters: [{ counterSet: "s", counters: { u: { value: `${shape.units}` } } }] }),
        };
      });
      const ask = (r: number, n = 1) => ({
        deviceClassName: "gpu",
        selectors: selects(r),
        allocationMode: "ExactCount",
        count: n,
      });
      const requests = Array.from({ length: count }, (_, r): DeviceRequest => {
        const others = lists.filter(([at]) => at === r).map(([, other]) => other);
        if (others.length === 0) return { name: `r${r}`, exactly: ask(r, r === two ? 2 : 1) };
        const all = [r, ...others].map((one, s) => ({ name: `s${s}`, ...ask(one) }));
        return { name: `r${r}`, firstAvailable: all };
      });
      const half = claims === 1 ? requests.length : Math.ceil(requests.length / 2);
      const parts = [requests.slice(0, half), requests.slice(half)].filter(({ length }) => length > 0);
      return {
        features,
        node: nodes[0]!,
        classes,
        slices: [
          makeSlice("devices", { ...use, devices: published }),
          ...(units === null
            ? []
            : [
                makeSlice("counters", {
                  ...use,
                  sharedCounters: [{ name: "s", counters: { u: { value: `${units}` } } }],
                }),
              ]),
        ],
        claims: parts.map((list, i) =>
          makeClaim(`c${i}`, { requests: list, constraints: constraint === undefined ? [] : [constraint] }),
        ),
      };
    });
}
