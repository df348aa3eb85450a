import type { DaemonSet } from "@dray/api/apps/v1";
import type { Pod } from "@dray/api/core/v1";
import type { PolicyRule } from "@dray/api/rbac/v1";
import { controllerOf } from "@dray/controllers/objects";
import { nameOf } from "../manifests/place.ts";
import type { World } from "../manifests/world.ts";
import { counted, names } from "../text/words.ts";
import { isDriverPod, isReady, mountedDrivers } from "./driver-pods.ts";
import { type Account, grantCommands, lackingByRoles, rightTexts, userOf } from "./driver-rights.ts";
import { type Finding, finding, type Snapshot } from "./finding.ts";
import { isLongReady } from "./times.ts";

/** A driver's DaemonSet with the pods that are ready for long. */
export interface DriverSet {
  readonly daemonSet: DaemonSet;
  readonly pods: readonly Pod[];
  /** Slices on its nodes may be its own: none of the sets there has their driver's name. */
  readonly mayPublish: boolean;
}

/**
 * Returns the DaemonSets of drivers that are ready and publish nothing, as far as slices tell. A slice does
 * not say who has written it: it is of the sets that have the driver's name in their template (a folder, an
 * argument, a variable); without any, it may be of each set on its node.
 */
export function silentDriverSets(world: World, now: number): DriverSet[] {
  const pods = Map.groupBy(
    world.all("Pod").map(({ object }) => object),
    (pod) => controllerOf(pod)?.uid,
  );
  const sets = world.all("DaemonSet").flatMap(({ object: daemonSet }) => {
    if (!isDriverPod(daemonSet.spec.template)) return [];
    const own = (pods.get(daemonSet.metadata.uid) ?? []).filter(isReady);
    return [{ daemonSet, pods: own, text: JSON.stringify(daemonSet.spec.template) }];
  });
  const slices = world.all("ResourceSlice").map(({ object }) => object.spec);
  const isNamed = new Map(
    slices.map(({ driver }) => [driver, sets.some(({ text }) => text.includes(driver))] as const),
  );
  return sets.flatMap(({ daemonSet, pods: own, text }) => {
    if (!own.some((pod) => isLongReady(pod, "True", now))) return [];
    if (slices.some(({ driver }) => text.includes(driver))) return [];
    const nodes = new Set(own.map(({ spec }) => spec.nodeName));
    const mayPublish = slices.some(
      ({ driver, nodeName }) =>
        isNamed.get(driver) !== true && (nodeName === undefined || nodes.has(nodeName)),
    );
    return [{ daemonSet, pods: own, mayPublish }];
  });
}

export const accountOf = ({ metadata, spec }: DaemonSet): Account => ({
  namespace: metadata.namespace,
  name: spec.template.spec.serviceAccountName || "default",
});

/** Finds DaemonSets of drivers that are ready and publish nothing, with the rights that they lack. */
export function checkDriverSets({ world, now, lackingRights }: Snapshot): Finding[] {
  return silentDriverSets(world, now).flatMap(({ daemonSet, pods, mayPublish }) => {
    const account = accountOf(daemonSet);
    const lacking = lackingRights?.get(userOf(account)) ?? lackingByRoles(world, account);
    // Slices beside it are of others, if it may not create any.
    if (mayPublish && !lacking?.some(isToPublish)) return [];
    const who = `service account ${account.namespace}/${account.name}`;
    const nodes = [...new Set(pods.map(({ spec }) => spec.nodeName ?? ""))];
    const evidence = [
      `${counted(pods.length, "pod")} of it ${pods.length === 1 ? "is" : "are"} ready, on ${names(nodes)}: ${names(pods.map(nameOf))}`,
      mayPublish
        ? `the ResourceSlices of ${names(nodes)} are of other drivers: it may not create any`
        : `no ResourceSlice is of ${names(nodes)}${drivers(daemonSet)}`,
      ...(lacking === undefined
        ? [`which rights ${who} has is not known: roles and bindings may not be listed`]
        : lacking.length === 0
          ? [`${who} has the rights that a driver needs: its log says more`]
          : rightTexts(lacking).map((right) => `${who} lacks the right to ${right}`)),
      ...warningsOf(world, pods),
    ];
    const { name, namespace } = daemonSet.metadata;
    const log = `kubectl logs daemonset/${name} -n ${namespace} --all-containers --tail=50`;
    const fix =
      lacking === undefined || lacking.length === 0
        ? [log]
        : [
            ...grantCommands(lacking, account, freeName(world, `${name}-dra`)),
            // A driver may give up, or wait for long, after it was refused.
            `kubectl rollout restart daemonset/${name} -n ${namespace}`,
          ];
    const message = "is a driver whose pods are ready, and publishes no devices";
    return [finding("driver-without-devices", daemonSet, message, { evidence, fix })];
  });
}

const isToPublish = ({ resources = [], verbs }: PolicyRule): boolean =>
  resources.includes("resourceslices") && verbs.includes("create");

const drivers = ({ spec }: DaemonSet): string => {
  const own = mountedDrivers(spec.template.spec);
  return own.length === 0 ? "" : `, and none of driver ${names(own)}`;
};

/** Returns the last reports of kubelets and controllers about the pods. */
function warningsOf(world: World, pods: readonly Pod[]): string[] {
  const uids = new Set(pods.map(({ metadata }) => metadata.uid));
  const found = world
    .all("Event")
    .flatMap(({ object: { involvedObject, reason = "", message = "" } }) =>
      uids.has(involvedObject.uid ?? "") ? `${reason}: ${message}` : [],
    );
  return [...new Set(found)].slice(-3);
}

/** Returns a name for cluster roles that begins so and is not in use. */
function freeName(world: World, name: string): string {
  const taken = world.all("ClusterRole", "ClusterRoleBinding").map(({ object }) => object.metadata.name);
  for (let i = 1; ; i++) {
    const tried = i === 1 ? name : `${name}-${i}`;
    if (!taken.some((each) => each.startsWith(`${tried}-`))) return tried;
  }
}
