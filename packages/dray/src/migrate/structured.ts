import { isMap, isScalar, YAMLMap } from "yaml";
import { fieldOf, itemsOf, keyOf, mapOf, put, setText, take, textOf } from "./nodes.ts";
import { migrateExpressions } from "./selectors.ts";
import type { Site } from "./site.ts";

/** Kinds of resource.k8s.io/v1, and the lists of them. */
const kinds = /^(?:DeviceClass|DeviceTaintRule|ResourceClaim|ResourceClaimTemplate|ResourceSlice)(?:List)?$/;

export const isStructured = ({ group, kind, version }: Site): boolean =>
  group === "resource.k8s.io" && kinds.test(kind) && /^(?:v1|v1beta\d+|v1alpha3)$/.test(version);

/** From v1alpha3, v1beta1 or v1beta2 to v1; flat requests of an object that says v1 are mended too. */
export function migrateStructured(site: Site): void {
  const { map, kind } = site;
  toV1(site);
  const spec = mapOf(fieldOf(map, "spec"));
  if (spec !== undefined) {
    if (kind === "ResourceClaim") migrateClaimSpec(spec, "spec", site);
    if (kind === "DeviceClass") migrateClass(spec, site);
    if (kind === "DeviceTaintRule") migrateRule(spec, site);
    if (kind === "ResourceSlice") migrateSlice(spec, site);
    const inner = mapOf(fieldOf(spec, "spec"));
    if (kind === "ResourceClaimTemplate" && inner !== undefined) migrateClaimSpec(inner, "spec.spec", site);
  }
  const status = mapOf(fieldOf(map, "status"));
  if (kind === "ResourceClaim" && status !== undefined) migrateClaimStatus(status, site);
  migrateExpressions(map, "", site);
}

/** Says v1. */
export function toV1(site: Site): void {
  if (site.version === "v1") return;
  setText(fieldOf(site.map, "apiVersion"), "resource.k8s.io/v1");
  site.changed = true;
}

/** Takes a field that v1 does not have, and says why. */
function lose(map: YAMLMap, key: string, path: string, why: string, site: Site): void {
  const pair = take(map, key);
  if (pair === undefined) return;
  site.changed = true;
  site.note(`${path}.${key}`, `is left out: ${why}`, pair.key);
}

const noController =
  "there are no control plane controllers of drivers any more (Kubernetes 1.32 removed classic DRA); a driver that publishes ResourceSlices serves the claim";

function migrateClaimSpec(spec: YAMLMap, path: string, site: Site): void {
  lose(spec, "controller", path, noController, site);
  for (const request of itemsOf(fieldOf(spec, "devices", "requests"))) {
    if (!isMap(request)) continue;
    const flat = request.items.filter((pair) => !["name", "exactly", "firstAvailable"].includes(keyOf(pair)));
    if (flat.length === 0) continue;
    request.items = request.items.filter((pair) => !flat.includes(pair));
    const exactly = mapOf(fieldOf(request, "exactly")) ?? new YAMLMap();
    exactly.items = [...exactly.items, ...flat];
    put(request, "exactly", exactly);
    site.changed = true;
  }
}

function migrateClaimStatus(status: YAMLMap, site: Site): void {
  lose(status, "deallocationRequested", "status", noController, site);
  const allocation = mapOf(fieldOf(status, "allocation"));
  if (allocation !== undefined) lose(allocation, "controller", "status.allocation", noController, site);
}

function migrateClass(spec: YAMLMap, site: Site): void {
  lose(spec, "suitableNodes", "spec", suitableNodes, site);
}

export const suitableNodes =
  "a class does not choose nodes any more: the driver's ResourceSlices say where devices are, and a pod's nodeSelector where it may run";

/** Without its class name a selector would match more devices than before, so that it goes as a whole. */
function migrateRule(spec: YAMLMap, site: Site): void {
  if (site.version !== "v1") site.note("apiVersion", "v1 of this kind needs Kubernetes 1.37");
  const selector = mapOf(fieldOf(spec, "deviceSelector"));
  const gone = ["deviceClassName", "selectors"].filter((key) => fieldOf(selector, key) !== undefined);
  if (gone.length === 0) return;
  const pair = take(spec, "deviceSelector");
  site.changed = true;
  const why = `${gone.join(" and ")} of rules are gone; without deviceSelector the rule taints nothing: name the driver, pool or device`;
  site.note("spec.deviceSelector", `is left out: ${why}`, pair?.key);
}

/** Devices hold themselves what `basic` held; the values of v1alpha3's capacities became objects. */
function migrateSlice(spec: YAMLMap, site: Site): void {
  for (const device of itemsOf(fieldOf(spec, "devices"))) {
    if (!isMap(device)) continue;
    const basic = mapOf(fieldOf(device, "basic"));
    if (basic !== undefined) {
      const at = device.items.findIndex((pair) => keyOf(pair) === "basic");
      device.items.splice(at, 1, ...basic.items);
      site.changed = true;
    }
    for (const pair of mapOf(fieldOf(device, "capacity"))?.items ?? []) {
      if (!isScalar(pair.value) || textOf(pair.value) === undefined) continue;
      const made = new YAMLMap();
      put(made, "value", pair.value);
      pair.value = made;
      site.changed = true;
    }
  }
}
