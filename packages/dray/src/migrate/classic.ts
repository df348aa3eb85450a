import { isMap, isScalar, type YAMLMap } from "yaml";
import type { Manifest } from "./manifest.ts";
import { fieldOf, itemsOf, keyOf, mapOf, nodeOf, type Plain, put, setText, take, textOf } from "./nodes.ts";
import { fromNamedResources } from "./selectors.ts";
import { suitableNodes, toV1 } from "./structured.ts";

/** Kinds of v1alpha1 and v1alpha2 (Kubernetes 1.26 to 1.30). */
const kinds =
  /^(?:ResourceClass|ResourceClaim|ResourceClaimTemplate|ResourceSlice|ResourceClaimParameters|ResourceClassParameters)$/;

export const isClassic = ({ group, kind, version }: Manifest): boolean =>
  group === "resource.k8s.io" && kinds.test(kind) && /^v1alpha[12]$/.test(version);

/** Objects between scheduler and controllers of classic DRA. Kubernetes 1.32 removed them in all versions. */
export const isNegotiation = ({ group, kind }: Manifest): boolean =>
  group === "resource.k8s.io" && /^(?:PodScheduling|PodSchedulingContext)$/.test(kind);

/** The classic objects of the input, by their references. */
export interface ClassicObjects {
  /** Drivers by the names of classes. */
  readonly drivers: ReadonlyMap<string, string>;
  /** ResourceClaimParameters and ResourceClassParameters, by kind, namespace and name. */
  readonly parameters: ReadonlyMap<string, Manifest>;
}

export function classicObjects(manifests: readonly Manifest[]): ClassicObjects {
  const drivers = new Map<string, string>();
  const parameters = new Map<string, Manifest>();
  for (const manifest of manifests) {
    if (!isClassic(manifest)) continue;
    if (manifest.kind === "ResourceClass") drivers.set(manifest.name, driverOf(manifest.map));
    if (!manifest.kind.endsWith("Parameters")) continue;
    parameters.set(manifest.key(manifest.kind, manifest.name), manifest);
    // A driver's controller made them from objects of the driver's kinds, which claims and classes still
    // reference.
    const from = fieldOf(manifest.map, "generatedFrom");
    const name = textOf(fieldOf(from, "name"));
    if (name !== undefined) parameters.set(manifest.key(textOf(fieldOf(from, "kind")) ?? "", name), manifest);
  }
  return { drivers, parameters };
}

/** Some manifests have it in a spec, which the API never had. */
const driverOf = (map: YAMLMap): string =>
  textOf(fieldOf(map, "driverName")) ?? textOf(fieldOf(map, "spec", "driverName")) ?? "";

export function migrateClassic(manifest: Manifest, objects: ClassicObjects): void {
  const { map, kind } = manifest;
  manifest.changed = true;
  toV1(manifest);
  switch (kind) {
    case "ResourceClass":
      migrateClass(manifest, objects);
      break;
    case "ResourceClaim": {
      const spec = mapOf(fieldOf(map, "spec"));
      if (spec !== undefined) migrateClaim(spec, "spec", manifest, objects);
      if (take(map, "status") !== undefined)
        manifest.note("status", "is left out: an allocation of classic DRA names no devices");
      break;
    }
    case "ResourceClaimTemplate": {
      const spec = mapOf(fieldOf(map, "spec", "spec"));
      if (spec !== undefined) migrateClaim(spec, "spec.spec", manifest, objects);
      break;
    }
    case "ResourceSlice":
      manifest.dropped = true;
      manifest.note(
        "",
        "is left out: drivers publish their ResourceSlices themselves; a newer driver does so in v1",
      );
      break;
    default:
      // Converts classes and claims.
      manifest.dropped = true;
  }
}

function migrateClass(manifest: Manifest, objects: ClassicObjects): void {
  const { map } = manifest;
  const driver = driverOf(map);
  setText(fieldOf(map, "kind"), "DeviceClass");
  take(map, "driverName");
  take(map, "structuredParameters");
  const nodes = take(map, "suitableNodes");
  if (nodes !== undefined) manifest.note("suitableNodes", `is left out: ${suitableNodes}`, nodes.key);
  const spec: { selectors: Plain[]; config: Plain[] } = { selectors: [], config: [] };
  spec.selectors.push(selector(`device.driver == "${driver}"`));
  const odd = mapOf(take(map, "spec")?.value);
  for (const pair of odd?.items ?? []) {
    const [key, value] = [keyOf(pair), pair.value];
    if (key === "driverName") continue;
    const path = `spec.${key}`;
    if (key === "parameters" && isMap(value)) {
      spec.config.push(opaque(driver, value));
      const what = "is spec.config[0].opaque.parameters now, of which only the driver knows what it means";
      manifest.note(path, `${what}: look up which parameters ${driver} takes`, pair.key);
    } else manifest.note(path, "is left out: no version of the API has had it", pair.key);
  }
  const reference = take(map, "parametersRef");
  const parameters = mapOf(reference?.value);
  if (parameters !== undefined) classParameters(found(parameters, manifest, objects), driver, spec, manifest);
  const { selectors, config } = spec;
  put(map, "spec", nodeOf({ selectors, ...(config.length > 0 && { config }) }), "metadata");
}

const selector = (expression: string): Plain => ({ cel: { expression } });
const opaque = (driver: string, parameters: Plain): Plain => ({ opaque: { driver, parameters } });

/** Returns the parameters that a reference names, if the input has them. */
function found(reference: YAMLMap, manifest: Manifest, objects: ClassicObjects): YAMLMap | undefined {
  const kind = textOf(fieldOf(reference, "kind")) ?? "";
  const name = textOf(fieldOf(reference, "name")) ?? "";
  // The reference of a class names a namespace.
  const namespace = textOf(fieldOf(reference, "namespace")) ?? manifest.namespace;
  const known = objects.parameters.get(manifest.key(kind, name, namespace))?.map;
  if (known !== undefined) return known;
  const what = `is left out: ${kind} ${name} is not ResourceClaimParameters or ResourceClassParameters of this input`;
  const instead =
    "what it says goes into selectors, or into config[].opaque.parameters in a form that the driver documents";
  manifest.note("parametersRef", `${what}; ${instead}`, reference);
  return undefined;
}

function classParameters(
  parameters: YAMLMap | undefined,
  driver: string,
  spec: { selectors: Plain[]; config: Plain[] },
  manifest: Manifest,
): void {
  for (const vendor of itemsOf(fieldOf(parameters, "vendorParameters"))) {
    const owner = textOf(fieldOf(vendor, "driverName")) ?? driver;
    const value = fieldOf(vendor, "parameters");
    if (isMap(value)) spec.config.push(opaque(owner, value));
  }
  for (const filter of itemsOf(fieldOf(parameters, "filters"))) {
    const owner = textOf(fieldOf(filter, "driverName")) ?? driver;
    const made = namedSelector(filter, owner, manifest);
    if (made !== undefined) spec.selectors.push(made);
  }
}

/** Returns the selector of a request or filter of named resources. */
function namedSelector(node: unknown, driver: string, manifest: Manifest): Plain | undefined {
  const written = fieldOf(node, "namedResources", "selector");
  const expression = textOf(written);
  if (expression === undefined) return undefined;
  const made = fromNamedResources(expression, driver);
  if (made === undefined) {
    const what = `the selector ${expression} is left out: v1 has no lists that a selector reads in this form`;
    manifest.note("parametersRef", what);
    return undefined;
  }
  for (const warning of made.warnings) manifest.note("parametersRef", `selector ${expression}: ${warning}`);
  return selector(made.expression);
}

function migrateClaim(spec: YAMLMap, path: string, manifest: Manifest, objects: ClassicObjects): void {
  const written = take(spec, "resourceClassName")?.value;
  const deviceClassName = textOf(written) ?? "";
  const mode = take(spec, "allocationMode");
  if (textOf(mode?.value) === "Immediate") {
    const why = "a claim gets its devices when the first pod that uses it is scheduled";
    manifest.note(`${path}.allocationMode`, `Immediate is left out: ${why}`, mode?.key);
  }
  const reference = mapOf(take(spec, "parametersRef")?.value);
  const parameters = reference === undefined ? undefined : found(reference, manifest, objects);
  const requests: { exactly: Record<string, Plain> }[] = [];
  const config: Plain[] = [];
  for (const part of itemsOf(fieldOf(parameters, "driverRequests"))) {
    const driver = textOf(fieldOf(part, "driverName")) ?? objects.drivers.get(deviceClassName) ?? "";
    const vendor = fieldOf(part, "vendorParameters");
    if (isMap(vendor)) config.push(opaque(driver, vendor));
    for (const request of itemsOf(fieldOf(part, "requests"))) {
      const made = namedSelector(request, driver, manifest);
      requests.push({ exactly: { deviceClassName, ...(made !== undefined && { selectors: [made] }) } });
      const own = fieldOf(request, "vendorParameters");
      if (isMap(own)) {
        const names = [requestName(requests.length - 1, Number.POSITIVE_INFINITY)];
        config.push({ requests: names, opaque: { driver, parameters: own } });
      }
    }
  }
  if (requests.length === 0) requests.push({ exactly: { deviceClassName } });
  // The first one keeps the comment.
  if (isScalar(written)) requests[0]!.exactly["deviceClassName"] = written;
  // With several requests, configurations name theirs.
  const many = requests.length > 1 || config.some((one) => typeof one === "object" && "requests" in one);
  const named = requests.map((one, i) => ({
    name: requestName(i, many ? Number.POSITIVE_INFINITY : 1),
    ...one,
  }));
  put(spec, "devices", nodeOf({ requests: named, ...(config.length > 0 && { config }) }));
}

const requestName = (index: number, count: number): string => (count === 1 ? "device" : `device-${index}`);
