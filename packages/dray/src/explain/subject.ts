import type { Inventory } from "../inventory/inventory.ts";
import type { JudgedDevice } from "../inventory/units.ts";
import type { World } from "../manifests/world.ts";
import { resourceOf } from "../observe/rights.ts";
import { UsageError } from "../terminal/failure.ts";
import { didYouMean } from "../text/similar.ts";
import { names } from "../text/words.ts";
import type { SubjectKind } from "./data.ts";
import { kindWords } from "./kinds.ts";

/** Accepted names of the kinds, including kubectl's. */
const kinds: ReadonlyMap<string, SubjectKind> = new Map(
  (
    [
      ["Pod", ["pod", "pods", "po"]],
      ["ResourceClaim", ["claim", "claims", "resourceclaim", "resourceclaims"]],
      ["Node", ["node", "nodes", "no"]],
      ["Device", ["device", "devices"]],
      ["DeviceClass", ["class", "classes", "deviceclass", "deviceclasses"]],
      ["ResourceSlice", ["slice", "slices", "resourceslice", "resourceslices"]],
      ["DeviceTaintRule", ["devicetaintrule", "devicetaintrules", "taintrule", "rule"]],
      ["Deployment", ["deployment", "deployments", "deploy"]],
      ["StatefulSet", ["statefulset", "statefulsets", "sts"]],
      ["DaemonSet", ["daemonset", "daemonsets", "ds"]],
      ["ReplicaSet", ["replicaset", "replicasets", "rs"]],
      ["Job", ["job", "jobs"]],
      ["PodGroup", ["podgroup", "podgroups", "group"]],
    ] as const
  ).flatMap(([kind, words]) => words.map((word) => [word, kind] as const)),
);

/** Parses `pod NAME` or `pod/NAME`. Throws UsageError. */
export function parseSubject(
  first: string,
  second: string | undefined,
): { readonly kind: SubjectKind; readonly name: string } {
  const slash = first.indexOf("/");
  const [word, name] =
    second === undefined && slash > 0 ? [first.slice(0, slash), first.slice(slash + 1)] : [first, second];
  const kind = kinds.get(word.toLowerCase().split(".")[0]!);
  if (kind === undefined) {
    const meant = didYouMean(word, kindWords);
    throw new UsageError(
      `${word}: must be one of ${kindWords.join(", ")}${meant === undefined ? "" : `: ${meant}`}`,
    );
  }
  if (name === undefined || name === "")
    throw new UsageError(`which ${word}? Give its name: dray explain ${word} NAME`);
  return { kind, name };
}

/** A named object does not exist, or may not be read. */
export class NoSuchObjectError extends Error {
  override readonly name = "NoSuchObjectError";
}

type WorldKind = Exclude<SubjectKind, "Device">;

/** Kinds whose objects have no namespace. */
const clusterKinds: ReadonlySet<SubjectKind> = new Set([
  "Node",
  "Device",
  "DeviceClass",
  "ResourceSlice",
  "DeviceTaintRule",
]);

export const isNamespacedKind = (kind: SubjectKind): boolean => !clusterKinds.has(kind);

/** Finds an object by name. Throws an Error with the existing names. */
export function findObject<K extends WorldKind>(
  world: World,
  kind: K,
  { namespace, name, source }: { readonly namespace: string; readonly name: string; readonly source: string },
): NonNullable<ReturnType<typeof world.find<K>>> {
  const isNamespaced = isNamespacedKind(kind);
  const found = world.find(kind, isNamespaced ? `${namespace}/${name}` : name);
  if (found !== undefined) return found;
  const all = world.all(kind).map(({ object }) => object.metadata);
  const elsewhere = all.flatMap((other) =>
    isNamespaced && other.name === name && other.namespace !== undefined ? [other.namespace] : [],
  );
  const where = isNamespaced ? ` in namespace ${namespace}` : "";
  const there = all
    .filter((other) => !isNamespaced || other.namespace === namespace)
    .map((other) => other.name);
  const hint =
    elsewhere.length > 0
      ? `; there is one in namespace ${names(elsewhere)} (-n)`
      : (didYouMean(name, there.slice(0, 1000))?.replace(/^/, "; ") ?? "");
  const known = there.length === 0 ? "there is none" : `there are ${names(there)}`;
  if (!world.isReadable(kind))
    throw new NoSuchObjectError(
      `${source}: no right to list ${resourceOf(kind)}: "${name}"${where} may be there`,
    );
  throw new NoSuchObjectError(`${source}: no ${kind} "${name}"${where}: ${known}${hint}`);
}

/** Finds a device by `driver/pool/device`, `pool/device` or its name, if that is unambiguous. */
export function findDevice({ devices }: Inventory, name: string, source: string): JudgedDevice {
  const found = devices.filter(({ id, node, device }) =>
    [id, id.slice(id.indexOf("/") + 1), device.name, `${node}/${device.name}`].includes(name),
  );
  const [one, other] = found;
  if (one !== undefined && other === undefined) return one;
  const ids = (found.length > 0 ? found : devices).map(({ id }) => id);
  if (other !== undefined)
    throw new UsageError(`device ${name}: there are ${names(ids)}: name it as DRIVER/POOL/DEVICE`);
  const meant = didYouMean(
    name,
    devices.slice(0, 1000).flatMap(({ id, device }) => [id, device.name]),
  );
  const known = ids.length === 0 ? "no driver publishes any" : `there are ${names(ids)}`;
  throw new NoSuchObjectError(
    `${source}: no device "${name}": ${known}${meant === undefined ? "" : `; ${meant}`}`,
  );
}
