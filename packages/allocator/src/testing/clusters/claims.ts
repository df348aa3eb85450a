import type { DeviceConstraint, DeviceRequest, DeviceSubRequest, ResourceClaim } from "@dray/api/resource/v1";
import fc from "fast-check";
import { driver, makeClaim, numa } from "./objects.ts";
import { often, seldom, type Theme } from "./theme.ts";

const selector = fc.constantFrom(
  `device.attributes["${driver}"].model == "a"`,
  `device.attributes["${driver}"].?model.orValue("") != "b"`,
  `"numa" in device.attributes["${driver}"]`,
  `device.attributes["${driver}"].numa == 0`,
  "device.allowMultipleAllocations",
);

const exact = fc.record({
  class: fc.constantFrom("any", "gpu", "gpu", "gpu", "strict"),
  selector: seldom(selector, 3),
  all: often(false, fc.constant(true), 12),
  count: fc.constantFrom(1, 1, 1, 1, 2, 2, 3),
  admin: often(false, fc.constant(true), 10),
  tolerate: seldom(fc.constantFrom({ operator: "Exists" }, { key: "a", operator: "Exists" }), 2),
  memory: seldom(fc.constantFrom("1Gi", "1500Mi", "2Gi", "1"), 1),
  derived: seldom(
    fc.constantFrom(
      `device.attributes["${driver}"].?numa.orValue(0)`,
      `device.attributes["${driver}"].numa`,
      "7",
    ),
    6,
  ),
});
type ExactShape = typeof exact extends fc.Arbitrary<infer T> ? T : never;

function requestOf(shape: ExactShape, theme: Theme): Omit<DeviceSubRequest, "name"> {
  // The class whose selector can fail is for clusters with errors only.
  return {
    deviceClassName: theme.errors ? shape.class : shape.class.replace("strict", "gpu"),
    ...(shape.selector === undefined ? {} : { selectors: [{ cel: { expression: shape.selector } }] }),
    ...(shape.all ? { allocationMode: "All" } : { allocationMode: "ExactCount", count: shape.count }),
    ...(shape.tolerate === undefined ? {} : { tolerations: [shape.tolerate] }),
    ...(shape.memory === undefined || !theme.capacity
      ? {}
      : { capacity: { requests: { memory: shape.memory } } }),
    ...(shape.derived === undefined || !theme.derived
      ? {}
      : { derivedAttributes: [{ name: numa, expression: shape.derived }] }),
  };
}

export const claimShape = fc.record({
  requests: fc.array(
    fc.record({ exact, alternatives: seldom(fc.array(exact, { minLength: 1, maxLength: 3 }), 2) }),
    {
      minLength: 1,
      maxLength: 3,
    },
  ),
  constraints: often<{ match: boolean; requests: number[]; sub: boolean }[]>(
    [],
    fc.array(
      fc.record({
        match: fc.boolean(),
        requests: fc.uniqueArray(fc.nat(2), { maxLength: 3 }),
        sub: often(false, fc.constant(true)),
      }),
      { minLength: 1, maxLength: 2 },
    ),
    1,
  ),
  config: seldom(fc.subarray(["r0", "r1", "r0/s0"]), 3),
});
export type ClaimShape = typeof claimShape extends fc.Arbitrary<infer T> ? T : never;

export function claimOf(shape: ClaimShape, theme: Theme, index: number): ResourceClaim {
  const requests = shape.requests.map((request, r): DeviceRequest => {
    const name = `r${r}`;
    if (request.alternatives === undefined || !theme.alternatives) {
      const exactly = requestOf(request.exact, theme);
      return {
        name,
        exactly: { ...exactly, ...(request.exact.admin && theme.admin ? { adminAccess: true } : {}) },
      };
    }
    return {
      name,
      firstAvailable: request.alternatives.map((one, s) => ({ name: `s${s}`, ...requestOf(one, theme) })),
    };
  });
  const constraints = shape.constraints.map(({ match, requests: numbers, sub }): DeviceConstraint => {
    const names = numbers.flatMap((n) => {
      const request = requests[n];
      if (request === undefined) return [];
      return [sub && request.firstAvailable !== undefined ? `${request.name}/s0` : request.name];
    });
    return {
      requests: names,
      ...(match || !theme.distinct ? { matchAttribute: numa } : { distinctAttribute: numa }),
    };
  });
  const config =
    shape.config === undefined ? [] : [{ requests: shape.config, opaque: { driver, parameters: { n: 1 } } }];
  return makeClaim(`c${index}`, { requests, constraints, config });
}
