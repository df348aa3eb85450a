import { isMap, isScalar, YAMLMap } from "yaml";
import type { Manifest } from "./manifest.ts";
import { fieldOf, itemsOf, keyOf, mapOf, put, setText, take, textOf } from "./nodes.ts";
import { migrateExpressions } from "./selectors.ts";

/** Kinds of resource.k8s.io/v1, and the lists of them. */
const kinds = /^(?:DeviceClass|DeviceTaintRule|ResourceClaim|ResourceClaimTemplate|ResourceSlice)(?:List)?$/;

export const isStructured = ({ group, kind, version }: Manifest): boolean =>
  group === "resource.k8s.io" && kinds.test(kind) && /^(?:v1|v1beta\d+|v1alpha3)$/.test(version);

/** Converts v1alpha3, v1beta1 and v1beta2 to v1. Also converts flat requests in an object of v1. */
export function migrateStructured(manifest: Manifest): void {
  const { map, kind } = manifest;
  toV1(manifest);
  const spec = mapOf(fieldOf(map, "spec"));
  if (spec !== undefined) {
    if (kind === "ResourceClaim") migrateClaimSpec(spec, "spec", manifest);
    if (kind === "DeviceClass") migrateClass(spec, manifest);
    if (kind === "DeviceTaintRule") migrateRule(spec, manifest);
    if (kind === "ResourceSlice") migrateSlice(spec, manifest);
    const inner = mapOf(fieldOf(spec, "spec"));
    if (kind === "ResourceClaimTemplate" && inner !== undefined)
      migrateClaimSpec(inner, "spec.spec", manifest);
  }
  const status = mapOf(fieldOf(map, "status"));
  if (kind === "ResourceClaim" && status !== undefined) migrateClaimStatus(status, manifest);
  migrateExpressions(map, "", manifest);
}

/** Sets the version to v1. */
export function toV1(manifest: Manifest): void {
  if (manifest.version === "v1") return;
  setText(fieldOf(manifest.map, "apiVersion"), "resource.k8s.io/v1");
  manifest.changed = true;
}

/** Removes a field that v1 lacks, with a note. */
function removeField(map: YAMLMap, path: string, why: string, manifest: Manifest): void {
  const pair = take(map, path.slice(path.lastIndexOf(".") + 1));
  if (pair === undefined) return;
  manifest.changed = true;
  manifest.note(path, `is left out: ${why}`, pair.key);
}

const noController =
  "there are no control plane controllers of drivers any more (Kubernetes 1.32 removed classic DRA); a driver that publishes ResourceSlices serves the claim";

function migrateClaimSpec(spec: YAMLMap, path: string, manifest: Manifest): void {
  removeField(spec, `${path}.controller`, noController, manifest);
  for (const request of itemsOf(fieldOf(spec, "devices", "requests"))) {
    if (!isMap(request)) continue;
    const flat = request.items.filter((pair) => !["name", "exactly", "firstAvailable"].includes(keyOf(pair)));
    if (flat.length === 0) continue;
    request.items = request.items.filter((pair) => !flat.includes(pair));
    const exactly = mapOf(fieldOf(request, "exactly")) ?? new YAMLMap();
    exactly.items = [...exactly.items, ...flat];
    const [first] = exactly.items;
    if (isScalar(first?.key)) first.key.spaceBefore = false;
    put(request, "exactly", exactly);
    manifest.changed = true;
  }
}

function migrateClaimStatus(status: YAMLMap, manifest: Manifest): void {
  removeField(status, "status.deallocationRequested", noController, manifest);
  const allocation = mapOf(fieldOf(status, "allocation"));
  if (allocation !== undefined)
    removeField(allocation, "status.allocation.controller", noController, manifest);
}

function migrateClass(spec: YAMLMap, manifest: Manifest): void {
  removeField(spec, "spec.suitableNodes", suitableNodes, manifest);
}

export const suitableNodes =
  "a class does not choose nodes any more: the driver's ResourceSlices say where devices are, and a pod's nodeSelector where it may run";

/** Removes a selector by class as a whole: without the class it would match more devices than before. */
function migrateRule(spec: YAMLMap, manifest: Manifest): void {
  if (manifest.version !== "v1") manifest.note("apiVersion", "v1 of this kind needs Kubernetes 1.37");
  const selector = mapOf(fieldOf(spec, "deviceSelector"));
  const gone = ["deviceClassName", "selectors"].filter((key) => fieldOf(selector, key) !== undefined);
  if (gone.length === 0) return;
  const pair = take(spec, "deviceSelector");
  manifest.changed = true;
  const why = `${gone.join(" and ")} of rules are gone; without deviceSelector the rule taints nothing: name the driver, pool or device`;
  manifest.note("spec.deviceSelector", `is left out: ${why}`, pair?.key);
}

/** Moves the fields of `basic` into the device, and wraps the capacities of v1alpha3 in objects. */
function migrateSlice(spec: YAMLMap, manifest: Manifest): void {
  for (const device of itemsOf(fieldOf(spec, "devices"))) {
    if (!isMap(device)) continue;
    const basic = mapOf(fieldOf(device, "basic"));
    if (basic !== undefined) {
      const at = device.items.findIndex((pair) => keyOf(pair) === "basic");
      device.items.splice(at, 1, ...basic.items);
      manifest.changed = true;
    }
    for (const pair of mapOf(fieldOf(device, "capacity"))?.items ?? []) {
      if (!isScalar(pair.value) || textOf(pair.value) === undefined) continue;
      const made = new YAMLMap();
      put(made, "value", pair.value);
      pair.value = made;
      manifest.changed = true;
    }
  }
}
