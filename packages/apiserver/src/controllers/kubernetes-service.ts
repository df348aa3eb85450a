import type { KubeObject } from "@dray/api";
import type { ServiceCIDR } from "@dray/api/networking/v1";
import type { Clock, Log } from "@dray/client";
import type { IPAddressWriter, ServiceAllocator } from "../kinds/core/service/allocator.ts";
import { type AddressRange, addressText, familyOf } from "../kinds/core/service/ranges.ts";
import type { ServedResource } from "../kinds/resources.ts";
import { deepEqual } from "../storage/json.ts";
import type { Storage } from "../storage/storage.ts";
import type { OwnObjects } from "../write/own-objects.ts";
import { ipAddressWriter, repairAddresses } from "./ip-addresses.ts";

/** Where clients find the server. */
export interface Endpoint {
  /** The first one has the address of the service `kubernetes` (--service-cluster-ip-range). */
  readonly ranges: readonly AddressRange[];
  readonly port: number;
  /** Absent: the service `kubernetes` gets no endpoints. */
  readonly address?: string;
}

/** Address of the service `kubernetes`: the first one of the first range. */
export const apiServiceAddress = ([range]: readonly AddressRange[]): string =>
  addressText(range!.first, range!.family);

/** Milliseconds after which what belongs to the service is looked after again, as upstream does. */
const reconcileInterval = 10_000;

export interface KubernetesServiceParts {
  readonly own: OwnObjects;
  readonly storage: Storage;
  readonly allocator: ServiceAllocator;
  readonly endpoint: Endpoint;
}

/** Gives services their addresses, and keeps the service `kubernetes` (kube-apiserver's kubernetesservice controller). */
export class KubernetesService {
  readonly #own: OwnObjects;
  readonly #storage: Storage;
  readonly #allocator: ServiceAllocator;
  readonly #endpoint: Endpoint;
  readonly #writer: IPAddressWriter;

  constructor({ own, storage, allocator, endpoint }: KubernetesServiceParts) {
    this.#own = own;
    this.#storage = storage;
    this.#allocator = allocator;
    this.#endpoint = endpoint;
    this.#writer = ipAddressWriter(own);
  }

  /** From here on services can be written. */
  async prepare(): Promise<void> {
    this.#allocator.writer = this.#writer;
    await keepServiceCIDR(this.#own, this.#endpoint);
  }

  /** Mends what a server before this one has left undone, and makes the service. Needs its namespace. */
  async start(): Promise<void> {
    const objects = (resource: string): KubeObject[] => {
      const cache = this.#storage.cache(resource);
      return [...cache.range(cache.prefix)].map(({ object }) => object);
    };
    await repairAddresses(this.#writer, objects("services"), objects("ipaddresses"));
    await keepKubernetesService(this.#own, this.#endpoint);
  }

  /** Makes again what somebody has taken away, until the signal. */
  keep(clock: Clock, log: Log, signal: AbortSignal): void {
    if (signal.aborted) return;
    const cancel = clock.after(reconcileInterval, async () => {
      signal.removeEventListener("abort", cancel);
      try {
        await keepServiceCIDR(this.#own, this.#endpoint);
        await keepKubernetesService(this.#own, this.#endpoint);
      } catch (error) {
        if (!signal.aborted) log.warn({ error }, "the service kubernetes could not be kept");
      }
      this.keep(clock, log, signal);
    });
    signal.addEventListener("abort", cancel, { once: true });
  }
}

/** The ServiceCIDR `kubernetes`, ready; one family of the flag's may be added to it later. */
async function keepServiceCIDR(own: OwnObjects, { ranges }: Endpoint): Promise<void> {
  const served = own.served("networking.k8s.io", "servicecidrs");
  const cidrs = ranges.map(({ text }) => text);
  await own.ensure(served, {
    apiVersion: "networking.k8s.io/v1",
    kind: "ServiceCIDR",
    metadata: { name: "kubernetes" },
    spec: { cidrs },
  });
  const present = own.find(served, "", "kubernetes") as ServiceCIDR | undefined;
  if (present === undefined || present.metadata.deletionTimestamp !== undefined) return;
  const before = present.spec?.cidrs ?? [];
  if (before.length === 1 && cidrs.length === 2 && before[0] === cidrs[0]) {
    await own.change(served, present, (draft) => {
      (draft as ServiceCIDR).spec = { cidrs };
    });
  } else if (!deepEqual(before, cidrs)) return;
  const known = present.status?.conditions?.find(({ type }) => type === "Ready");
  if (known && known.status !== "Unknown") return;
  const ready = {
    type: "Ready",
    status: "True",
    reason: "",
    message: "Kubernetes default Service CIDR is ready",
    lastTransitionTime: own.now(),
  };
  await own.change(
    served,
    present,
    (draft) => {
      const others = (present.status?.conditions ?? []).filter(({ type }) => type !== "Ready");
      (draft as ServiceCIDR).status = { conditions: [...others, ready] };
    },
    { fieldManager: "kubernetes-service-cidr-controller", subresource: "status" },
  );
}

/** The service `kubernetes` in `default`, and where it leads to. */
async function keepKubernetesService(own: OwnObjects, endpoint: Endpoint): Promise<void> {
  const metadata = { name: "kubernetes", namespace: "default" };
  const port = { name: "https", protocol: "TCP", port: endpoint.port };
  const clusterIP = apiServiceAddress(endpoint.ranges);
  await own.ensure(own.served("", "services"), {
    apiVersion: "v1",
    kind: "Service",
    metadata: { ...metadata, labels: { component: "apiserver", provider: "kubernetes" } },
    spec: {
      type: "ClusterIP",
      clusterIP,
      clusterIPs: [clusterIP],
      ipFamilies: [familyOf(clusterIP)],
      ipFamilyPolicy: "SingleStack",
      internalTrafficPolicy: "Cluster",
      sessionAffinity: "None",
      ports: [{ name: "https", protocol: "TCP", port: 443, targetPort: endpoint.port }],
    },
  });
  const { address } = endpoint;
  if (address === undefined) return;
  // A server on one machine alone is at a loopback address, which endpoints of others may not have.
  const isLocal = address === "::1" || address.startsWith("127.");
  await keep(
    own,
    own.served("", "endpoints"),
    {
      apiVersion: "v1",
      kind: "Endpoints",
      metadata: { ...metadata, labels: { "endpointslice.kubernetes.io/skip-mirror": "true" } },
      subsets: [{ addresses: [{ ip: address }], ports: [port] }],
    },
    isLocal ? { subsets: [] } : {},
  );
  await keep(
    own,
    own.served("discovery.k8s.io", "endpointslices"),
    {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: { ...metadata, labels: { "kubernetes.io/service-name": "kubernetes" } },
      addressType: familyOf(address),
      endpoints: [{ addresses: [address], conditions: { ready: true } }],
      ports: [port],
    },
    isLocal ? { endpoints: [] } : {},
  );
}

/**
 * There with these contents, whatever else it holds. Created with the fields of `first`, where validation refuses the
 * contents to everybody but the server.
 */
async function keep(own: OwnObjects, served: ServedResource, draft: object, first: object): Promise<void> {
  const { apiVersion: _, kind: __, metadata, ...contents } = draft as KubeObject & Record<string, unknown>;
  await own.ensure(served, { ...draft, ...first });
  const present = own.find(served, metadata.namespace ?? "", metadata.name);
  if (present === undefined) return;
  const same = Object.entries(contents).every(([name, value]) =>
    deepEqual((present as unknown as Record<string, unknown>)[name], value),
  );
  if (!same) await own.change(served, present, (object) => void Object.assign(object, contents));
}
