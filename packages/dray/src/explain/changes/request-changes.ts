import { Quantity } from "@dray/api";
import type { Container, Pod } from "@dray/api/core/v1";
import type { Shortage } from "@dray/scheduler";
import type { NodeData } from "../data.ts";
import type { Trial } from "../trial.ts";
import type { Candidate } from "./attempts.ts";
import { podEdits, podsText } from "./owners.ts";

/** Maximum number of nodes whose rest is tried as a request. */
const maxNodes = 5;

/**
 * Returns requests for what nodes have left of cpu, memory and other resources, and a pod without host ports.
 */
export function requestChanges(trial: Trial, blocked: Pod, nodes: readonly NodeData[]): Candidate[] {
  const short = nodes.filter(({ shortages }) => shortages.length > 0).slice(0, maxNodes);
  const found = new Map<string, Candidate>();
  const add = (candidates: readonly Candidate[]): void => {
    for (const candidate of candidates) if (!found.has(candidate.text)) found.set(candidate.text, candidate);
  };
  for (const { shortages } of short) {
    const ports = shortages.filter(({ resource }) => resource.startsWith("port "));
    const amounts = shortages.filter((each) => !ports.includes(each));
    add(lowerRequests(trial, blocked, amounts));
    if (trial.members.length > 1)
      for (const part of groupParts) add(lowerRequests(trial, blocked, amounts.map(partOf(part))));
    add(withoutPorts(trial, ports));
  }
  return [...found.values()].toSorted(
    (a, b) => Number(a.kind === "host-port") - Number(b.kind === "host-port"),
  );
}

/** For the pods of a group: what one node has left says little of what all of them can have. */
const groupParts = [2n, 3n, 4n, 6n, 8n, 16n, 32n];

/** Returns a shortage that a part of the request mends. */
const partOf =
  (part: bigint) =>
  (shortage: Shortage): Shortage => {
    const milli = Quantity.parse(shortage.asked).milliValue() / part;
    return {
      ...shortage,
      left: Quantity.ofMilli(shortage.resource === "cpu" ? milli : milli - (milli % 1000n)).toString(),
    };
  };

interface LowerRequest {
  readonly container: string | null;
  readonly resource: string;
  readonly from: string;
  readonly to: string;
}

/** All that one node lacks is lowered together. */
function lowerRequests(trial: Trial, blocked: Pod, shortages: readonly Shortage[]): Candidate[] {
  if (shortages.length === 0) return [];
  const lower = shortages.map((shortage) => lowerRequest(blocked, shortage));
  if (!lower.every((each) => each !== undefined)) return [];
  const texts = lower.map(
    ({ container, resource, from, to }) =>
      `${container === null ? podsText(trial) : `container ${container} of ${podsText(trial)}`} asking for ${to} of ${resource} instead of ${from}`,
  );
  return [
    {
      kind: "requests",
      text: texts.join(", and "),
      about: {
        requests: lower.map(({ container, resource, to }) => `${container ?? ""}/${resource}=${to}`),
      },
      edits: podEdits(trial, (pod) => lower.reduce(withRequest, pod)),
      once: `requests ${lower.map(({ resource }) => resource).join()}`,
    },
  ];
}

/**
 * Returns the request to lower: that of the whole pod, or the largest of a container; undefined if no lower
 * one suffices.
 */
function lowerRequest({ spec }: Pod, { resource, asked, left }: Shortage): LowerRequest | undefined {
  const excess = Quantity.parse(asked).nanoValue() - Quantity.parse(left).nanoValue();
  const whole = spec.resources?.requests?.[resource];
  const containers = [...(spec.containers ?? []), ...(spec.initContainers ?? [])];
  const own =
    whole !== undefined
      ? [{ container: null, from: whole }]
      : containers.flatMap(({ name, resources }) => {
          const from = resources?.requests?.[resource];
          return from === undefined ? [] : [{ container: name, from }];
        });
  const [largest] = own.toSorted((a, b) => Quantity.parse(b.from).compare(Quantity.parse(a.from)));
  if (largest === undefined) return undefined;
  const from = Quantity.parse(largest.from);
  const rest = from.nanoValue() - excess;
  if (rest <= 0n) return undefined;
  const milli = rest / 1_000_000n;
  const to =
    milli % 1000n === 0n ? Quantity.of(milli / 1000n, from.format) : Quantity.ofMilli(milli, from.format);
  return { ...largest, resource, to: to.toString() };
}

/** Extended resources have equal requests and limits. */
function withRequest(pod: Pod, { container, resource, to }: LowerRequest): Pod {
  const lowered = (resources: Container["resources"]): NonNullable<Container["resources"]> => {
    const isExtended = resource.includes("/") && resources?.limits?.[resource] !== undefined;
    return {
      ...resources,
      requests: { ...resources?.requests, [resource]: to },
      ...(isExtended && { limits: { ...resources.limits, [resource]: to } }),
    };
  };
  const { spec } = pod;
  if (container === null) return { ...pod, spec: { ...spec, resources: lowered(spec.resources) } };
  const changed = (list: readonly Container[]): Container[] =>
    list.map((each) => (each.name === container ? { ...each, resources: lowered(each.resources) } : each));
  return {
    ...pod,
    spec: {
      ...spec,
      containers: changed(spec.containers),
      ...(spec.initContainers && { initContainers: changed(spec.initContainers) }),
    },
  };
}

function withoutPorts(trial: Trial, ports: readonly Shortage[]): Candidate[] {
  if (ports.length === 0) return [];
  const names = ports.map(({ resource }) => resource.slice("port ".length));
  const isTaken = (hostPort: number | undefined, protocol = "TCP"): boolean =>
    names.includes(`${hostPort}/${protocol}`);
  return [
    {
      kind: "host-port",
      text: `${podsText(trial)} without the host port ${names.join(", ")}`,
      about: { ports: names },
      edits: podEdits(trial, (pod) => ({
        ...pod,
        spec: {
          ...pod.spec,
          containers: pod.spec.containers.map((container) => ({
            ...container,
            ports: (container.ports ?? []).map(({ hostPort, ...port }) =>
              isTaken(hostPort, port.protocol) || hostPort === undefined ? port : { ...port, hostPort },
            ),
          })),
        },
      })),
    },
  ];
}

/** Maximum number of smaller amounts of an extended resource to try. */
const maxAmounts = 3;

/** Returns smaller amounts of extended resources that devices serve (KEP-5004). */
export function fewerExtended(trial: Trial, nodes: readonly NodeData[]): Candidate[] {
  const named = new Set(trial.open.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`));
  const suitable = nodes.flatMap(({ claims }) =>
    claims
      .filter(({ claim }) => !named.has(claim))
      .flatMap(({ requests }) => requests.map((each) => each.suitable)),
  );
  if (suitable.length === 0) return [];
  const most = Math.max(...suitable);
  return trial.pod.spec.containers.flatMap(({ name: container, resources }) =>
    Object.entries(resources?.requests ?? {}).flatMap(([resource, from]) => {
      if (!resource.includes("/")) return [];
      const max = Math.min(Number(from) - 1, most);
      return Array.from({ length: maxAmounts }, (_, i) => max - i)
        .filter((to) => to > 0)
        .map((to): Candidate => {
          const lower = { container, resource, from, to: String(to) };
          return {
            kind: "requests",
            text: `container ${container} of ${podsText(trial)} asking for ${to} of ${resource} instead of ${from}`,
            about: { requests: [`${container}/${resource}=${to}`] },
            edits: podEdits(trial, (pod) => withRequest(pod, lower)),
            once: `requests ${container} ${resource}`,
          };
        });
    }),
  );
}
