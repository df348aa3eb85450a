import type { Event, Pod } from "@dray/api/core/v1";
import { idOf, resultsOf } from "../inventory/devices.ts";
import { nameOf } from "../manifests/place.ts";
import { names } from "../text/words.ts";
import type { Wait } from "./data.ts";
import { claimsOfPod, eventOf, type Scene, wait } from "./scene.ts";
import { sinceOf } from "./surroundings.ts";

/** Events of the kubelet about a pod whose sandbox is there. */
const laterReasons = ["Pulling", "Pulled", "Created", "Started", "BackOff", "Failed"];

/**
 * Milliseconds after which a failure that goes on is reported again: kubelets retry within three minutes, and
 * repeated events pass every five. Upstream: client-go/tools/record/events_cache.go, defaultSpamQPS.
 */
const maxAge = 6 * 60_000;

/**
 * Returns the reasons why a pod has no sandbox on its node: its claims, its volumes, or the sandbox itself.
 */
export function startWaits(pod: Pod, scene: Scene): Wait[] {
  const { phase, startTime } = pod.status ?? {};
  if (phase !== undefined && phase !== "Pending") return [];
  const { events, isLive } = scene.surroundings;
  const later = eventOf(events, ...laterReasons);
  const isPast = (event: Event): boolean =>
    (later !== undefined && sinceOf(later) > sinceOf(event)) ||
    scene.now - Date.parse(sinceOf(event)) > maxAge;
  const failures = [
    prepareFailure(pod, eventOf(events, "FailedPrepareDynamicResources")),
    failureOf("volume", eventOf(events, "FailedMount", "FailedAttachVolume", "FailedMapVolume")),
    failureOf("node", eventOf(events, "FailedCreatePodSandBox", "NetworkNotReady")),
  ]
    .flatMap((each) => each ?? [])
    .filter(({ event }) => !isPast(event))
    // The newest failure is the present one: each step comes after those before it.
    .toSorted((a, b) => (sinceOf(a.event) < sinceOf(b.event) ? 1 : -1));
  const [present] = failures;
  if (present !== undefined) return [present.wait];
  if (!isLive || later !== undefined) return [];
  if (startTime === undefined)
    return [
      wait("node", `the kubelet of node ${pod.spec.nodeName} has not begun with it`, {
        object: `Node ${pod.spec.nodeName}`,
      }),
    ];
  return unprepared(pod, scene);
}

interface Failure {
  readonly event: Event;
  readonly wait: Wait;
}

function failureOf(what: "volume" | "node", event: Event | undefined): Failure | undefined {
  return event && { event, wait: wait(what, event.message ?? "", { since: sinceOf(event) }) };
}

/** Returns the message of a kubelet whose driver cannot prepare claims. */
function prepareFailure({ spec }: Pod, event: Event | undefined): Failure | undefined {
  if (event === undefined) return undefined;
  const message = event.message ?? "";
  const driver = /DRA driver (\S+) is not registered/.exec(message)?.[1];
  const since = sinceOf(event);
  if (driver === undefined) return { event, wait: wait("prepare-failing", message, { since }) };
  const node = spec.nodeName;
  const text = `driver ${driver} is not registered with the kubelet of node ${node}: its plugin does not run there`;
  return { event, wait: wait("driver-not-registered", text, { object: `Node ${node}`, since }) };
}

/**
 * A kubelet reports nothing while a driver takes its time: the claims and their drivers are known all the
 * same.
 */
function unprepared(pod: Pod, { world }: Scene): Wait[] {
  const started = String(pod.status?.startTime);
  return claimsOfPod(pod, world).flatMap(({ claim }): Wait[] => {
    if (claim === undefined) return [];
    const results = resultsOf(claim);
    const drivers = [...new Set(results.map(({ driver }) => driver))];
    if (drivers.length === 0) return [];
    const text = `claim ${nameOf(claim)} is not prepared on node ${pod.spec.nodeName}, as far as its kubelet reports: it waits for driver ${drivers.join(", ")} (NodePrepareResources) and device ${names(results.map(idOf))}`;
    return [wait("prepare", text, { object: `ResourceClaim ${nameOf(claim)}`, since: started })];
  });
}
