import type { Pod } from "@dray/api/core/v1";
import type { DeviceTaintRule, ResourceClaim } from "@dray/api/resource/v1";
import { evictingClaims, podEviction, selects } from "@dray/controllers/objects";
import { idOf, resultsOf, taintText } from "../inventory/devices.ts";
import { Inventory } from "../inventory/inventory.ts";
import { nameOf } from "../manifests/place.ts";
import type { World } from "../manifests/world.ts";
import { counted } from "../text/words.ts";
import { deviceRow } from "../top/rows.ts";
import type { EvictionData, Explained, Fact } from "./data.ts";
import type { Scene } from "./scene.ts";

type Report = Omit<Explained, "version" | "rights">;

/**
 * Explains which devices a rule taints, and which pods it ends; with an effect that ends none, which pods it
 * would end with NoExecute (KEP-5055). The rule need not exist in the cluster yet.
 */
export function explainTaintRule(rule: DeviceTaintRule, scene: Scene): Report {
  const { world, features, now } = scene;
  const { name } = rule.metadata;
  const { effect = "" } = rule.spec.taint ?? {};
  // The states of the devices are those without the rule.
  const without = world.of(world.objects.filter(({ object }) => object !== rule));
  const { units } = new Inventory(without, features);
  const rows = units.flatMap(({ devices }) =>
    devices
      .filter(({ driver, pool, device }) => selects(rule, driver, pool, device.name))
      .map((device) => deviceRow(device, devices)),
  );
  const evictions = evictionsOf(rule, world, {
    now,
    groupsHaveClaims: features.enabled("DRAWorkloadResourceClaims"),
  });
  const leaving = evictions.filter(({ until }) => until !== null);
  return {
    kind: "DeviceTaintRule",
    namespace: null,
    name,
    state: states.get(effect) ?? "other-effect",
    summary: `DeviceTaintRule ${name} ${summaryOf(effect, rows.length, leaving.length)}`,
    waits: [],
    placement: null,
    claims: [],
    devices: rows,
    counts: null,
    headroom: {},
    facts: factsOf(rule, { evictions, published: new Set(rows.map(({ device }) => device)), world }),
    evictions,
  };
}

const states: ReadonlyMap<string, string> = new Map([
  ["NoExecute", "evicts"],
  ["NoSchedule", "repels"],
  ["None", "no-effect"],
]);

function summaryOf(effect: string, devices: number, leaving: number): string {
  const all = counted(devices, "device");
  const pods = counted(leaving, "pod");
  switch (effect) {
    case "NoExecute":
      return `taints ${all} and ends ${pods}`;
    case "NoSchedule":
      return `keeps new claims from ${all} and ends no pod; with effect NoExecute it would end ${pods}`;
    case "None":
      return `selects ${all} and does nothing; with effect NoExecute it would end ${pods}`;
    default:
      return `selects ${all}; effect "${effect}" is not known`;
  }
}

interface EvictionScene {
  readonly now: number;
  readonly groupsHaveClaims: boolean;
}

/** Returns the pods with devices that the rule selects, those that go first in front. */
function evictionsOf(
  rule: DeviceTaintRule,
  world: World,
  { now, groupsHaveClaims }: EvictionScene,
): EvictionData[] {
  const { taint } = rule.spec;
  if (taint === undefined) return [];
  // The API server sets the time when it stores the taint: a rule that is not stored yet counts from now on.
  const timeAdded = taint.timeAdded ?? new Date(now).toISOString();
  const evicting = { ...rule, spec: { ...rule.spec, taint: { ...taint, timeAdded, effect: "NoExecute" } } };
  const sources = { pools: { evictingTaints: () => [] }, rules: [evicting] };
  return world
    .all("Pod")
    .flatMap(({ object: pod }) => {
      const claimOf = (name: string): ResourceClaim | undefined =>
        world.find("ResourceClaim", `${pod.metadata.namespace}/${name}`);
      const claims = evictingClaims(pod, claimOf, groupsHaveClaims);
      const used = claims.flatMap((claim) =>
        resultsOf(claim)
          .filter(({ driver, pool, device }) => selects(rule, driver, pool, device))
          .map((result) => ({ claim: nameOf(claim), device: idOf(result) })),
      );
      if (used.length === 0) return [];
      const at = podEviction(pod, claimOf, { sources, groupsHaveClaims })?.at;
      return evictionOf(pod, used, at, Date.parse(timeAdded));
    })
    .toSorted((a, b) => order(a) - order(b));
}

/** Pods that stay are last. */
const order = ({ until }: EvictionData): number =>
  until === null ? Number.POSITIVE_INFINITY : Date.parse(until);

function evictionOf(
  pod: Pod,
  used: readonly { readonly claim: string; readonly device: string }[],
  at: number | undefined,
  added: number,
): EvictionData {
  return {
    pod: nameOf(pod),
    node: pod.spec.nodeName ?? "",
    claims: [...new Set(used.map(({ claim }) => claim))],
    devices: [...new Set(used.map(({ device }) => device))],
    until: at === undefined ? null : new Date(at).toISOString(),
    toleratedSeconds: at === undefined ? null : Math.round((at - added) / 1000),
  };
}

interface Found {
  readonly evictions: readonly EvictionData[];
  readonly published: ReadonlySet<string>;
  readonly world: World;
}

function factsOf(rule: DeviceTaintRule, { evictions, published, world }: Found): Fact[] {
  const { taint, deviceSelector } = rule.spec;
  const gone = new Set(
    world.all("ResourceClaim").flatMap(({ object }) =>
      resultsOf(object)
        .filter(({ driver, pool, device }) => selects(rule, driver, pool, device))
        .map(idOf)
        .filter((id) => !published.has(id)),
    ),
  );
  const staying = evictions.filter(({ until }) => until === null);
  return [
    { name: "taint", value: taint === undefined ? "none" : taintText(taint) },
    { name: "selects", value: selectorText(deviceSelector) },
    ...(gone.size === 0
      ? []
      : [{ name: "not published", value: `claims have ${[...gone].join(", ")}, which no slice publishes` }]),
    ...(staying.length === 0
      ? []
      : [{ name: "tolerated for ever", value: staying.map(({ pod }) => pod).join(", ") }]),
  ];
}

/**
 * An empty selector selects all devices, no selector none (resource/v1 DeviceTaintRuleSpec.deviceSelector).
 */
function selectorText(selector: DeviceTaintRule["spec"]["deviceSelector"]): string {
  if (selector === undefined) return "no device: it has no deviceSelector";
  const parts = Object.entries(selector).map(([field, value]) => `${field} ${JSON.stringify(value)}`);
  return parts.length === 0 ? "every device of every driver: its deviceSelector is empty" : parts.join(", ");
}
