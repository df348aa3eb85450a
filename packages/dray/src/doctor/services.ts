import { matchLabels } from "@dray/api";
import type { Event, Pod, Service } from "@dray/api/core/v1";
import { isDone } from "@dray/controllers/objects";
import { nameOf } from "../manifests/place.ts";
import { names } from "../text/words.ts";
import { isReady } from "./driver-pods.ts";
import { type Finding, finding, kubectl, type Snapshot, word } from "./finding.ts";
import { troubleOf } from "./pod-troubles.ts";
import { countOf, isLongReady, isRecent, lastTime } from "./times.ts";

/** Pods by the name of their namespace, and events. */
interface Around {
  readonly snapshot: Snapshot;
  readonly pods: ReadonlyMap<string, readonly Pod[]>;
  /** By the `namespace/name` of the object that they are about. */
  readonly events: ReadonlyMap<string, readonly Event[]>;
}

export function checkServices(snapshot: Snapshot): Finding[] {
  const { world } = snapshot;
  const around: Around = {
    snapshot,
    pods: Map.groupBy(
      world.all("Pod").map(({ object }) => object),
      ({ metadata }) => metadata.namespace,
    ),
    events: Map.groupBy(
      world.all("Event").map(({ object }) => object),
      ({ involvedObject: { namespace, name } }) => `${namespace}/${name}`,
    ),
  };
  return world
    .all("Service")
    .flatMap(({ object }) => [
      ...unwritten(object, around),
      ...notReady(object, around),
      ...notServed(object, around),
    ]);
}

/**
 * Events of the controllers that cannot write what a Service leads to. Upstream: pkg/controller/endpoint,
 * pkg/controller/endpointslice and pkg/controller/endpointslicemirroring.
 */
const endpointReasons: ReadonlySet<string> = new Set([
  "FailedToCreateEndpoint",
  "FailedToUpdateEndpoint",
  "FailedToUpdateEndpointSlices",
]);

/** Events are about the Service, or about its Endpoints, which have its name. */
function eventsOf(service: Service, reasons: ReadonlySet<string>, { events }: Around): Event[] {
  return (events.get(nameOf(service)) ?? [])
    .filter(
      ({ reason = "", involvedObject: { kind = "", uid } }) =>
        reasons.has(reason) &&
        // Endpoints that could not be created have no uid.
        (kind === "Endpoints" || (kind === "Service" && (!uid || uid === service.metadata.uid))),
    )
    .toSorted((a, b) => (lastTime(a) < lastTime(b) ? 1 : -1));
}

function unwritten(service: Service, around: Around): Finding[] {
  const events = eventsOf(service, endpointReasons, around).filter((event) =>
    isRecent(lastTime(event), around.snapshot.now),
  );
  if (events.length === 0) return [];
  const byReason = Map.groupBy(events, ({ reason }) => reason);
  const evidence = [...byReason.values()].flatMap(([event]) => (event === undefined ? [] : eventText(event)));
  const { name, namespace } = service.metadata;
  const fix = [
    kubectl("describe", service),
    `kubectl get endpointslices -n ${namespace} -l kubernetes.io/service-name=${name} -o wide`,
  ];
  const message = "its endpoints cannot be written";
  return [finding("endpoints-not-written", service, message, { evidence, fix })];
}

function eventText(event: Event): string {
  const count = countOf(event);
  const times = count > 1 ? `${count} times, the last at ${lastTime(event)}` : `at ${lastTime(event)}`;
  return `event ${event.reason}, ${times}: ${event.message}`;
}

/** Pods that run and are never ready: a probe fails, or a container ends again and again. */
function notReady(service: Service, { snapshot, pods: all }: Around): Finding[] {
  const { selector, type, publishNotReadyAddresses } = service.spec;
  const isEmpty = selector === undefined || Object.keys(selector).length === 0;
  if (isEmpty || type === "ExternalName" || publishNotReadyAddresses === true) return [];
  const pods = (all.get(service.metadata.namespace) ?? []).filter(
    (pod) =>
      matchLabels(selector, pod.metadata.labels) &&
      pod.metadata.deletionTimestamp === undefined &&
      !isDone(pod),
  );
  const failing = pods.filter(
    (pod) => pod.status?.phase === "Running" && isLongReady(pod, "False", snapshot.now),
  );
  if (failing.length === 0 || pods.some(isReady)) return [];
  const troubles = failing.slice(0, 3).map((pod) => ({ pod, ...troubleOf(pod, snapshot) }));
  const evidence = troubles.map(({ pod, text }) => `pod ${nameOf(pod)}: ${text}`);
  const fix = troubles[0]!.fix;
  const message = `none of its pods is ready: ${names(failing.map(({ metadata }) => metadata.name))}`;
  return [finding("endpoints-not-ready", service, message, { evidence, fix })];
}

/**
 * Events of nodes that serve Services by a proxy of their own (`dray up --runtime host`): they try again, and
 * report a failure once.
 */
const portReasons: ReadonlySet<string> = new Set([
  "PortInUse",
  "PortNotServed",
  "AddressNotAvailable",
  "TooManyPorts",
]);

function notServed(service: Service, around: Around): Finding[] {
  const events = eventsOf(service, portReasons, around);
  if (events.length === 0) return [];
  const evidence = [...new Set(events.map(eventText))].slice(0, 3);
  const ports = events.flatMap(({ message = "" }) => /^\S*:(\d+) is not served/.exec(message)?.[1] ?? []);
  const own = [...new Set(ports)];
  const fix = [
    ...own.map((port) => `ss -ltnup ${word(`sport = :${port}`)}`),
    `kubectl get service ${service.metadata.name} -n ${service.metadata.namespace} -o yaml`,
  ];
  const what = own.length === 0 ? "some of its ports are" : `port ${names(own)} is`;
  return [finding("service-port-not-served", service, `${what} not served by a node`, { evidence, fix })];
}
