import type { Device, DeviceConstraint, DeviceRequest, DeviceSubRequest } from "@dray/api/resource/v1";
import fc from "fast-check";
import type { Question } from "../reference.ts";
import { classes, driver, makeClaim, makeSlice, nodes, numa } from "./objects.ts";
import { allFeatures, defaultFeatures, often } from "./theme.ts";
import { tries } from "./tries.ts";

/**
 * Inputs on which a plain search is slow for their size: few kinds of devices, many of each, in requests with
 * many alternatives of which most do not match, and a few devices on which selectors fail. Bounded, for the
 * reference.
 */
export function hardQuestions(maxTries = 2000): fc.Arbitrary<Question> {
  const kind = fc.record({
    model: fc.constantFrom("a", "a", "b", undefined),
    numa: often<number | undefined>(0, fc.constantFrom(1, 2, undefined), 1),
    units: fc.integer({ min: 0, max: 2 }),
    shared: often(false, fc.constant(true)),
    tainted: often(false, fc.constant(true), 9),
  });
  const alternative = fc.record({
    selector: fc.constantFrom(undefined, undefined, "a", "b", "none"),
    count: fc.constantFrom(1, 1, 2, 3, 5),
  });
  const request = fc.oneof(
    { weight: 2, arbitrary: alternative },
    { weight: 1, arbitrary: fc.array(alternative, { minLength: 2, maxLength: 8 }) },
  );
  return fc
    .record({
      features: fc.constantFrom<readonly string[]>(defaultFeatures, allFeatures),
      kinds: fc.array(kind, { minLength: 1, maxLength: 3 }),
      devices: fc.array(fc.nat(2), { minLength: 2, maxLength: 9, size: "max" }),
      claims: fc.array(fc.array(request, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 3 }),
      units: fc.option(fc.integer({ min: 1, max: 6 })),
      constraint: fc.constantFrom<DeviceConstraint | undefined>(
        undefined,
        { matchAttribute: numa },
        { distinctAttribute: numa },
        { requests: ["r0"], matchAttribute: numa },
        { requests: ["r0", "r2"], matchAttribute: numa },
      ),
    })
    .map(({ features, kinds, devices, claims, units, constraint }) => {
      const ofKind = (n: number, i: number): Device => {
        const { model, numa: value, units: asked, shared, tainted } = kinds[n % kinds.length]!;
        return {
          name: `d${i}`,
          attributes: {
            ...(model === undefined ? {} : { model: { string: model } }),
            ...(value === undefined ? {} : { numa: { int: value } }),
          },
          ...(units === null
            ? {}
            : { consumesCounters: [{ counterSet: "s", counters: { u: { value: `${asked}` } } }] }),
          ...(shared ? { allowMultipleAllocations: true, capacity: { memory: { value: "2Gi" } } } : {}),
          ...(tainted ? { taints: [{ key: "a", effect: "NoSchedule" }] } : {}),
        };
      };
      const pool = { name: "p", generation: 1, resourceSliceCount: units === null ? 1 : 2 };
      const slices = [
        makeSlice("devices", { driver, pool, nodeName: "node-1", devices: devices.map(ofKind) }),
        ...(units === null
          ? []
          : [
              makeSlice("counters", {
                driver,
                pool,
                nodeName: "node-1",
                sharedCounters: [{ name: "s", counters: { u: { value: `${units}` } } }],
              }),
            ]),
      ];
      return {
        features,
        node: nodes[0]!,
        classes,
        slices,
        claims: claims.map((requests, i) =>
          makeClaim(`c${i}`, {
            requests: requests.map(requestOf),
            constraints: constraint === undefined ? [] : [constraint],
          }),
        ),
      };
    })
    .filter((question) => tries(question) <= maxTries);
}

interface Shape {
  readonly selector: string | undefined;
  readonly count: number;
}

function requestOf(shape: Shape | readonly Shape[], r: number): DeviceRequest {
  const name = `r${r}`;
  if (!Array.isArray(shape)) return { name, exactly: exactOf(shape as Shape) };
  return { name, firstAvailable: shape.map((one, s) => ({ name: `s${s}`, ...exactOf(one) })) };
}

function exactOf({ selector, count }: Shape): Omit<DeviceSubRequest, "name"> {
  const expression = `device.attributes["${driver}"].model == "${selector}"`;
  return {
    deviceClassName: "gpu",
    allocationMode: "ExactCount",
    count,
    ...(selector === undefined ? {} : { selectors: [{ cel: { expression } }] }),
  };
}
