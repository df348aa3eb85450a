import { dnsSubdomain, type Features, fieldErrorText, type KubeObject, StatusError } from "@dray/api";
import { decodeBody, kindOf } from "@dray/api/codec";
import { setDefaults } from "@dray/api/defaults";
import type { CounterSet, Device, ResourceSlice, ResourceSliceSpec } from "@dray/api/resource/v1";
import { validateCreate } from "@dray/api/validation";
import { FleetError, shown, type Value } from "../source/value.ts";

/** The least that a spec needs beside what is looked at. */
const complete = { driver: "driver.example.com", pool: { name: "pool", resourceSliceCount: 1 } };

/** Returns a device as the API server would store it. Throws a FleetError, as `checkSpec`. */
export function checkDeviceSpec(
  spec: { readonly devices: readonly [unknown] } & Readonly<Record<string, unknown>>,
  features: Features,
  value: Value,
): Device {
  // The server keeps each device.
  return checkSpec(spec, features, value, "spec.devices[0]").devices![0]!;
}

/** Returns a counter set as the API server would store it. Throws a FleetError, as `checkSpec`. */
export function checkCounterSet(set: unknown, features: Features, value: Value): CounterSet {
  const spec = { nodeName: "node", sharedCounters: [set] };
  // The server keeps each counter set.
  return checkSpec(spec, features, value, "spec.sharedCounters[0]").sharedCounters![0]!;
}

/**
 * A part of a ResourceSlice's spec, as the API server would store it. Throws a FleetError for what it would
 * refuse: of `value` if the server names `below`, else at the path that it names.
 */
export function checkSpec(
  spec: Readonly<Record<string, unknown>>,
  features: Features,
  value: Value,
  below: string,
): ResourceSliceSpec {
  // The schema has the kinds of all releases.
  const row = kindOf("resource.k8s.io", "v1", "ResourceSlice")!;
  const tree = {
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceSlice",
    metadata: { name: "slice" },
    spec: { ...complete, ...spec },
  };
  const at = (path: string): string => {
    if (!path.startsWith(below)) return value.path;
    const rest = path.slice(below.length).replace(/^\./, "");
    if (rest === "") return value.path;
    return rest.startsWith("[") ? `${value.path}${rest}` : `${value.path}.${rest}`;
  };
  const { object, problems }: { object: object; problems: readonly string[] } = decoded(() =>
    decodeBody({ tree, duplicates: [], typed: false, notes: value.origin.notes }, row, features.version),
  );
  if (problems.length > 0)
    throw new FleetError(
      problems.map((problem) => {
        const path = JSON.parse(/"(?:[^"\\]|\\.)*"$/.exec(problem)?.[0] ?? '""') as string;
        return value.problem(problem, at(path));
      }),
    );
  const { spec: stored } = object as ResourceSlice;
  // The server sets defaults when it is published, such as the time of a taint.
  const slice = structuredClone(object) as ResourceSlice;
  setDefaults(row, slice, { now: "2000-01-01T00:00:00Z", release: features.version });
  const context = { features, compileSelector: () => ({ ok: true, maxCost: 0 }) as const };
  const errors = validateCreate(row, slice as KubeObject, context);
  if (errors.length > 0)
    throw new FleetError(
      errors.map((error) => {
        const text = fieldErrorText(error);
        return value.problem(text.slice(error.path.length + 2), at(error.path));
      }),
    );
  return stored;

  function decoded<T>(decode: () => T): T {
    try {
      return decode();
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      return value.fail(error.message.replace(/^.*?json: /s, ""));
    }
  }
}

/**
 * The name of a driver, which is a folder of the kubelet as well. Throws a FleetError for what no driver may
 * have.
 */
export function driverName(value: Value): string {
  const name = value.text("the name of a driver, such as gpu.example.com");
  const [problem] = dnsSubdomain(name);
  if (problem !== undefined) value.fail(`${shown(name)} cannot name a driver: ${problem}`);
  if (name.length > maxDriverName)
    value.fail(`${shown(name)} has ${name.length} characters, and may have ${maxDriverName}`);
  return name;
}

/** In characters. */
const maxDriverName = 63;
