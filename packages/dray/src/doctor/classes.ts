import { Quantity } from "@dray/api";
import type { DeviceClass, ResourceSlice } from "@dray/api/resource/v1";
import { deviceEnvironment } from "@dray/cel";
import { currentSlices } from "../inventory/devices.ts";
import { requestsOf } from "../lint/requests.ts";
import { resourcesOfClass } from "../migrate/extended-resources.ts";
import { didYouMean } from "../text/similar.ts";
import { counted, names } from "../text/words.ts";
import { checkClassSelectors } from "./class-selectors.ts";
import { type Finding, finding, kubectl, type Snapshot } from "./finding.ts";

/** A device, and its node if only one can reach it. */
interface DeviceOnNode {
  readonly id: string;
  readonly driver: string;
  readonly node: string | undefined;
}

/**
 * Returns the devices of a class with the scheduler's rules: selectors are evaluated in order, and one that
 * fails matches no device.
 */
function devicesOf({ spec }: DeviceClass, slices: readonly ResourceSlice[]): DeviceOnNode[] {
  const environment = deviceEnvironment({ stored: true });
  const compiled = (spec.selectors ?? []).flatMap(({ cel }) =>
    cel === undefined ? [] : environment.compile(cel.expression),
  );
  return slices.flatMap(({ spec: { driver, pool, nodeName, devices = [] } }) =>
    devices
      .filter((device) =>
        compiled.every((selector) => selector.ok && selector.evaluate({ ...device, driver }).matches),
      )
      .map(({ name, nodeName: own }) => ({
        id: `${driver}/${pool.name}/${name}`,
        driver,
        node: nodeName ?? own,
      })),
  );
}

/** Finds classes without devices. */
export function checkClasses(snapshot: Snapshot): Finding[] {
  const { world } = snapshot;
  const failing = new Set(checkClassSelectors(snapshot).map(({ object }) => object.name));
  const slices = currentSlices(world);
  const drivers = Map.groupBy(slices, ({ spec }) => spec.driver);
  const named = new Set(
    [
      ...world.all("ResourceClaim").map(({ object }) => object.spec),
      ...world.all("ResourceClaimTemplate").map(({ object }) => object.spec.spec),
    ].flatMap((spec) => requestsOf(spec, "").map(({ body }) => body.deviceClassName)),
  );
  return world.all("DeviceClass").flatMap(({ object }) => {
    // A selector that fails is a finding of its own.
    if (devicesOf(object, slices).length > 0 || failing.has(object.metadata.name)) return [];
    const published = [...drivers].map(([driver, own]) => {
      const count = own.reduce((sum, { spec }) => sum + (spec.devices ?? []).length, 0);
      return `${driver} (${counted(count, "device")})`;
    });
    const evidence = [
      ...(object.spec.selectors ?? []).map(({ cel }, i) => `spec.selectors[${i}]: ${cel?.expression}`),
      published.length === 0
        ? "no driver publishes devices"
        : `drivers that publish devices: ${names(published)}`,
    ];
    // Without the class, what names it would be the next finding.
    const isNamed = named.has(object.metadata.name) || object.spec.extendedResourceName !== undefined;
    const fix = ["kubectl get resourceslices", ...(isNamed ? [] : [kubectl("delete", object)])];
    return [finding("class-without-devices", object, "has no devices", { evidence, fix })];
  });
}

/** Finds requests for missing classes. */
export function checkMissingClasses({ world }: Snapshot): Finding[] {
  const known = world.all("DeviceClass").map(({ object }) => object.metadata.name);
  const claims = world.all("ResourceClaim").filter(({ object }) => object.status?.allocation === undefined);
  const templates = world.all("ResourceClaimTemplate");
  return [
    ...claims.map(({ object }) => ({ object, requests: requestsOf(object.spec, "spec") })),
    ...templates.map(({ object }) => ({ object, requests: requestsOf(object.spec.spec, "spec.spec") })),
  ].flatMap(({ object, requests }) => {
    const lacking = requests.filter(({ body }) => !known.includes(body.deviceClassName));
    const missing = [...new Set(lacking.map(({ body }) => body.deviceClassName))];
    return missing.map((name) => {
      const meant = didYouMean(name, known);
      const evidence = [
        ...lacking.flatMap(({ body, path }) =>
          body.deviceClassName === name ? `${path}.deviceClassName is ${name}` : [],
        ),
        known.length === 0 ? "there is no DeviceClass" : `there are ${names(known)}`,
        ...(meant === undefined ? [] : [meant]),
      ];
      const fix = ["kubectl get deviceclasses"];
      return finding("missing-class", object, `names DeviceClass ${name}, which does not exist`, {
        evidence,
        fix,
      });
    });
  });
}

/**
 * Finds nodes whose device plugins also offer the devices of a class (KEP-5004: a device plugin has
 * precedence there).
 */
export function checkDevicePlugins({ world }: Snapshot): Finding[] {
  const slices = currentSlices(world);
  return world.all("DeviceClass").flatMap(({ object: deviceClass }) => {
    const own = deviceClass.spec.extendedResourceName;
    const { name } = deviceClass.metadata;
    const resources = [...new Set([...(own === undefined ? [] : [own]), ...resourcesOfClass(name)])];
    const byNode = Map.groupBy(devicesOf(deviceClass, slices), ({ node }) => node);
    return world.all("Node").flatMap(({ object: node }) => {
      const devices = byNode.get(node.metadata.name) ?? [];
      if (devices.length === 0) return [];
      return resources.flatMap((resource) => {
        const allocatable = node.status?.allocatable ?? {};
        // `__proto__` is a legal name.
        const count = Object.hasOwn(allocatable, resource) ? allocatable[resource] : undefined;
        if (count === undefined || Quantity.parse(count).sign <= 0) return [];
        const evidence = [
          `status.allocatable[${resource}] is ${count}: a device plugin offers them`,
          `DeviceClass ${name} has ${counted(devices.length, "device")} here: ${names(devices.map(({ id }) => id))}`,
          resource === own
            ? `spec.extendedResourceName of DeviceClass ${name} is ${resource}`
            : `${resource} is the name that device plugins give to such devices`,
        ];
        const fix = [`kubectl get pods -A --field-selector=spec.nodeName=${node.metadata.name} -o wide`];
        const message = `offers ${resource} by a device plugin, and the same devices by driver ${devices[0]!.driver}`;
        return [finding("device-plugin-beside-dra", node, message, { evidence, fix })];
      });
    });
  });
}
