import type { ContainerStateTerminated, Pod, PodCondition } from "@dray/api/core/v1";
import { isPodTerminal } from "@dray/api/pod";
import type { ResourceClaim } from "@dray/api/resource/v1";
import { isReservedForPod } from "@dray/controllers/objects";
import { hasSandbox } from "../inventory/sandbox.ts";
import { nameOf } from "../manifests/place.ts";
import type { World } from "../manifests/world.ts";
import { counted, names } from "../text/words.ts";
import type { Wait } from "./data.ts";
import { claimsOfPod, eventOf, otherSchedulerOf, type Scene, schedulerOf, wait } from "./scene.ts";
import { startWaits } from "./start-waits.ts";
import { sinceOf } from "./surroundings.ts";

/** Returns the reasons why a pod with a node does not run there. */
export function waitsOnNode(pod: Pod, scene: Scene): Wait[] {
  const { world } = scene;
  // `stateOf` has seen it.
  const node = pod.spec.nodeName!;
  return [
    ...nodeWaits(node, world),
    ...claimsOfPod(pod, world).flatMap(({ claim }): Wait[] =>
      claim === undefined ? [] : claimOnNode(pod, claim, scene),
    ),
    ...(hasSandbox(pod) ? [] : startWaits(pod, scene)),
    ...containerWaits(pod),
  ];
}

function nodeWaits(name: string, world: World): Wait[] {
  const object = `Node ${name}`;
  if (!world.isReadable("Node")) return [];
  const node = world.find("Node", name);
  if (node === undefined) return [wait("node", `node ${name} does not exist`, { object })];
  const ready = node.status?.conditions?.find(({ type }) => type === "Ready");
  if (ready === undefined || ready.status === "True") return [];
  const { reason, message, lastTransitionTime } = ready;
  return [
    wait("node", `node ${name} is not ready: ${joined(reason, message)}`, {
      object,
      since: lastTransitionTime === undefined ? null : String(lastTransitionTime),
    }),
  ];
}

/** A pod that was bound without a scheduler waits for the claim controller. */
function claimOnNode(pod: Pod, claim: ResourceClaim, scene: Scene): Wait[] {
  const object = `ResourceClaim ${nameOf(claim)}`;
  if (claim.status?.allocation === undefined) {
    return [
      wait("claim-unusable", `claim ${nameOf(claim)} has no devices: ${boundBy(pod, scene)}`, { object }),
    ];
  }
  if (isReservedForPod(pod, claim, true)) return [];
  return [wait("claim-unusable", `claim ${nameOf(claim)} is not reserved for the pod`, { object })];
}

function boundBy(pod: Pod, scene: Scene): string {
  const scheduler = schedulerOf(pod, scene);
  if (scheduler !== undefined) return `scheduler ${scheduler} has bound the pod without them`;
  const other = otherSchedulerOf(pod);
  if (other !== undefined)
    return `scheduler ${other}, or whoever has put the pod on its node, has not allocated them`;
  return "the pod was put on its node without a scheduler: create it again without nodeName";
}

const notWaiting: ReadonlySet<string> = new Set(["PodInitializing", "ContainerCreating"]);

function containerWaits({ status }: Pod): Wait[] {
  return [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])].flatMap(
    ({ name, state, lastState }): Wait[] => {
      const { reason = "", message = "" } = state?.waiting ?? {};
      if (reason === "" || notWaiting.has(reason)) return [];
      const last = lastState?.terminated === undefined ? "" : `; it ${endText(lastState.terminated)}`;
      return [wait("containers", `container ${name}: ${joined(reason, message)}${last}`)];
    },
  );
}

export const joined = (...parts: readonly (string | undefined)[]): string =>
  parts.filter((part) => part).join(": ");

function endText({ exitCode, reason, message }: ContainerStateTerminated): string {
  const why = joined(reason, message);
  return `ended with exit code ${exitCode}${why === "" ? "" : ` (${why})`}`;
}

/** Returns the reasons why a pod that is being deleted still exists. */
export function waitsToEnd(pod: Pod, scene: Scene): Wait[] {
  const { metadata, spec, status } = pod;
  const { world, surroundings, now } = scene;
  const since = metadata.deletionTimestamp === undefined ? null : String(metadata.deletionTimestamp);
  const left = since === null ? 0 : Date.parse(since) - now;
  // Devices are released after the containers have ended, and before the status of the pod says that it has.
  // Upstream: kubelet.go, SyncTerminatingPod.
  const unprepare = isPodTerminal(pod)
    ? undefined
    : eventOf(surroundings.events, "FailedUnprepareDynamicResources");
  const running =
    unprepare === undefined
      ? (status?.containerStatuses ?? []).filter(({ state }) => state?.running !== undefined)
      : [];
  const finalizers = metadata.finalizers ?? [];
  return [
    ...(spec.nodeName ? nodeWaits(spec.nodeName, world) : []),
    ...(unprepare === undefined
      ? []
      : [wait("unprepare-failing", unprepare.message ?? "", { since: sinceOf(unprepare) })]),
    ...(running.length === 0
      ? []
      : [
          wait(
            "termination",
            `${counted(running.length, "container")} still running (${names(running.map(({ name }) => name))})${left > 0 ? `: they have ${Math.ceil(left / 1000)} s left to end` : ": their time to end is over"}`,
            { since },
          ),
        ]),
    ...(finalizers.length === 0
      ? []
      : [
          wait("finalizers", `finalizer ${finalizers.join(", ")}: whoever set it has to remove it`, {
            since,
          }),
        ]),
  ];
}

/** Returns the condition that says who ends the pod: preemption, eviction, a taint, a kubelet (KEP-3329). */
export const disruptionOf = (status: Pod["status"]): PodCondition | undefined =>
  status?.conditions?.find(({ type, status }) => type === "DisruptionTarget" && status === "True");

/** Returns the reasons why a pod has failed: what ended it, and its containers. */
export function failureWaits({ status }: Pod): Wait[] {
  if (status?.phase !== "Failed") return [];
  const disruption = disruptionOf(status);
  const texts = [
    // The kubelet says the same twice of a pod that it evicts.
    ...(disruption === undefined || (status.message && disruption.message === status.message)
      ? []
      : [joined(disruption.reason, disruption.message)]),
    ...(status.reason || status.message ? [joined(status.reason, status.message)] : []),
  ];
  const containers = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])].flatMap(
    ({ name, state }) => {
      const { terminated } = state ?? {};
      return terminated === undefined || !terminated.exitCode
        ? []
        : [`container ${name} ${endText(terminated)}`];
    },
  );
  return [...new Set([...texts, ...containers])].map((text) => wait("failure", text));
}
