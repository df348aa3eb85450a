import type { DaemonSet } from "@dray/api/apps/v1";
import type { Pod } from "@dray/api/core/v1";
import { controllerOf } from "@dray/controllers/objects";
import { nameOf } from "../manifests/place.ts";
import type { World } from "../manifests/world.ts";
import { counted, names } from "../text/words.ts";
import { isDriverPod, isReady, mountedDrivers } from "./driver-pods.ts";
import { type Account, grantCommands, lackingByRoles, rightText, userOf } from "./driver-rights.ts";
import { type Finding, finding, type Snapshot } from "./finding.ts";
import { isLongReady } from "./times.ts";

/** A driver's DaemonSet with the pods that are ready for long. */
export interface DriverSet {
  readonly daemonSet: DaemonSet;
  readonly pods: readonly Pod[];
}

/**
 * Returns the DaemonSets of drivers that are ready and publish nothing. A slice does not say who has written
 * it: it counts for a set whose pods mount the driver's folder, else for each set on the slice's node.
 */
export function silentDriverSets(world: World, now: number): DriverSet[] {
  const pods = Map.groupBy(
    world.all("Pod").map(({ object }) => object),
    (pod) => controllerOf(pod)?.uid,
  );
  const sets = world.all("DaemonSet").flatMap(({ object: daemonSet }) => {
    if (!isDriverPod(daemonSet.spec.template)) return [];
    const own = (pods.get(daemonSet.metadata.uid) ?? []).filter(isReady);
    return [{ daemonSet, pods: own, drivers: mountedDrivers(daemonSet.spec.template.spec) }];
  });
  const slices = world.all("ResourceSlice").map(({ object }) => object.spec);
  const named = new Set(sets.flatMap(({ drivers }) => drivers));
  return sets.filter(({ pods: own, drivers }) => {
    if (!own.some((pod) => isLongReady(pod, "True", now))) return false;
    const nodes = new Set(own.map(({ spec }) => spec.nodeName));
    return !slices.some(
      ({ driver, nodeName }) =>
        drivers.includes(driver) || (!named.has(driver) && (nodeName === undefined || nodes.has(nodeName))),
    );
  });
}

export const accountOf = ({ metadata, spec }: DaemonSet): Account => ({
  namespace: metadata.namespace,
  name: spec.template.spec.serviceAccountName || "default",
});

/** Finds DaemonSets of drivers that are ready and publish nothing, with the rights that they lack. */
export function checkDriverSets({ world, now, lackingRights }: Snapshot): Finding[] {
  return silentDriverSets(world, now).map(({ daemonSet, pods }) => {
    const account = accountOf(daemonSet);
    const lacking = lackingRights?.get(userOf(account)) ?? lackingByRoles(world, account);
    const who = `service account ${account.namespace}/${account.name}`;
    const nodes = [...new Set(pods.map(({ spec }) => spec.nodeName ?? ""))];
    const evidence = [
      `${counted(pods.length, "pod")} of it ${pods.length === 1 ? "is" : "are"} ready, on ${names(nodes)}: ${names(pods.map(nameOf))}`,
      `no ResourceSlice is of ${names(nodes)}${drivers(daemonSet)}`,
      ...(lacking === undefined
        ? [`which rights ${who} has is not known: roles and bindings may not be listed`]
        : lacking.length === 0
          ? [`${who} has the rights that a driver needs: its log says more`]
          : lacking.map((right) => `${who} lacks the right to ${rightText(right)}`)),
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
    return finding("driver-without-devices", daemonSet, message, { evidence, fix });
  });
}

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
