import type { Device, DeviceClass, ResourceSlice } from "@dray/api/resource/v1";
import { type DeviceEnvironment, deviceEnvironment, type Selector } from "@dray/cel";
import { currentSlices, deviceId } from "../inventory/devices.ts";
import { counted, names } from "../text/words.ts";
import { type Finding, finding, jsonPatch, kubectl, type Snapshot } from "./finding.ts";

/** A device as selectors read it. */
interface DriverDevice extends Device {
  readonly driver: string;
  readonly id: string;
}

/** Finds classes whose selectors do not compile, or fail at devices. */
export function checkClassSelectors({ world }: Snapshot): Finding[] {
  const environment = deviceEnvironment({ stored: true });
  const devices = currentSlices(world).flatMap(devicesOfSlice);
  return world.all("DeviceClass").flatMap(({ object }) => {
    // A selector sees the devices that those before it have let through.
    let seen = devices;
    for (const [index, { cel }] of (object.spec.selectors ?? []).entries()) {
      if (cel === undefined) continue;
      const at = { index, expression: cel.expression };
      const selector = environment.compile(cel.expression);
      if (!selector.ok) return [uncompilable(object, at, selector.error)];
      const failures = seen.flatMap((device) => {
        const { error } = selector.evaluate(device);
        return error === undefined ? [] : [{ device, error }];
      });
      if (failures.length > 0) return [failing(object, at, { selector, failures, seen, environment })];
      seen = seen.filter((device) => selector.evaluate(device).matches === true);
    }
    return [];
  });
}

const devicesOfSlice = ({ spec: { driver, pool, devices = [] } }: ResourceSlice): DriverDevice[] =>
  devices.map((device) => ({ ...device, driver, id: deviceId(driver, pool.name, device.name) }));

interface Place {
  readonly index: number;
  readonly expression: string;
}

function uncompilable(object: DeviceClass, { index, expression }: Place, error: string): Finding {
  const evidence = [`spec.selectors[${index}]: ${expression}`, ...error.split("\n")];
  const fix = [kubectl("edit", object)];
  return finding("class-selector-failing", object, "has a selector that does not compile", { evidence, fix });
}

interface Failing {
  readonly selector: Selector;
  readonly failures: readonly { readonly device: DriverDevice; readonly error: string }[];
  readonly seen: readonly DriverDevice[];
  readonly environment: DeviceEnvironment;
}

function failing(object: DeviceClass, { index, expression }: Place, found: Failing): Finding {
  const { failures, seen } = found;
  const { device, error } = failures[0]!;
  const evidence = [
    `spec.selectors[${index}]: ${expression}`,
    `device ${device.id}: ${error}`,
    `attributes of the device: ${Object.keys(device.attributes ?? {}).join(", ") || "none"}`,
    `capacity of the device: ${Object.keys(device.capacity ?? {}).join(", ") || "none"}`,
  ];
  const guarded = guardedExpression(expression, found);
  const path = `/spec/selectors/${index}/cel/expression`;
  const patch = [
    { op: "test", path, value: expression },
    { op: "replace", path, value: guarded },
  ];
  const fix = [guarded === undefined ? kubectl("edit", object) : jsonPatch(object, patch)];
  const at = `${counted(failures.length, "device")} of ${seen.length} (${names(failures.map((each) => each.device.id))})`;
  const message = `has a selector that fails at ${at}`;
  return finding("class-selector-failing", object, message, { evidence, fix });
}

type Names = "all" | readonly (readonly [domain: string, id: string])[];

/**
 * Returns the expression behind tests for the names that devices lack; undefined if it fails all the same, or
 * selects nothing then.
 */
function guardedExpression(
  expression: string,
  { selector, failures, seen, environment }: Failing,
): string | undefined {
  const tests = (["attributes", "capacity"] as const).flatMap((field) => {
    const read: Names = selector.reads[field];
    if (read === "all") return [];
    return read
      .filter(([domain, id]) => failures.some(({ device }) => !has(device, field, domain, id)))
      .map(([domain, id]) => `${JSON.stringify(id)} in device.${field}[${JSON.stringify(domain)}]`);
  });
  if (tests.length === 0) return undefined;
  const guarded = `${tests.join(" && ")} && (${expression})`;
  const compiled = environment.compile(guarded);
  if (!compiled.ok) return undefined;
  const results = seen.map((device) => compiled.evaluate(device));
  const isGood = results.every(({ error }) => error === undefined) && results.some(({ matches }) => matches);
  return isGood ? guarded : undefined;
}

/** A name without a domain is the driver's. */
function has(device: DriverDevice, field: "attributes" | "capacity", domain: string, id: string): boolean {
  const all: Readonly<Record<string, unknown>> = device[field] ?? {};
  return Object.hasOwn(all, `${domain}/${id}`) || (domain === device.driver && Object.hasOwn(all, id));
}
