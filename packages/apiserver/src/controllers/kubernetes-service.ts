import type { KubeObject } from "@dray/api";
import type { ServiceCIDR } from "@dray/api/networking/v1";
import type { Clock, Log } from "@dray/client";
import { fieldsIn } from "../json/values.ts";
import type { IPAddressWriter, ServiceAllocator } from "../kinds/core/service/allocator.ts";
import { type AddressRange, addressText, familyOf } from "../kinds/core/service/ranges.ts";
import type { ServedResource } from "../kinds/resources.ts";
import { deepEqual } from "../storage/json.ts";
import type { Storage } from "../storage/storage.ts";
import type { OwnObjects } from "../write/own-objects.ts";
import { ipAddressWriter, repairAddresses } from "./ip-addresses.ts";
import { moveServiceCIDR, renumberServices } from "./renumber-services.ts";

/** The address at which clients reach the server. */
export interface Endpoint {
  /** The service `kubernetes` has its address in the first range (--service-cluster-ip-range). */
  readonly ranges: readonly [AddressRange, ...AddressRange[]];
  readonly port: number;
  /** Absent: the service `kubernetes` gets no endpoints. */
  readonly address?: string;
  /** Services get addresses of `ranges` if they have others; see `ServerOptions`. */
  readonly renumbersServices?: boolean;
}

/** Returns the address of the service `kubernetes`: the first one of the first range. */
const apiServiceAddress = ([range]: Endpoint["ranges"]): string => addressText(range.first, range.family);

/** Milliseconds between two reconciliations of the service, as upstream. */
const reconcileInterval = 10_000;

export interface KubernetesServiceParts {
  readonly own: OwnObjects;
  readonly storage: Storage;
  readonly allocator: ServiceAllocator;
  readonly endpoint: Endpoint;
}

/**
 * Allocates the addresses of services, and keeps the service `kubernetes` (kube-apiserver's kubernetesservice
 * controller).
 */
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

  /** Services can be written once this resolves. */
  async prepare(): Promise<void> {
    const { ranges, renumbersServices = false } = this.#endpoint;
    this.#allocator.writer = this.#writer;
    if (renumbersServices) await moveServiceCIDR(this.#own, ranges);
    await keepServiceCIDR(this.#own, this.#endpoint);
    if (renumbersServices) await renumberServices(this.#own, this.#allocator, ranges);
  }

  /** Repairs IPAddress objects after a crash, and creates the service. Its namespace must exist. */
  async start(): Promise<void> {
    const objects = (resource: string): KubeObject[] => {
      const cache = this.#storage.cache(resource);
      return [...cache.range(cache.prefix)].map(({ object }) => object);
    };
    await repairAddresses(this.#writer, objects("services"), objects("ipaddresses"));
    await keepKubernetesService(this.#own, this.#endpoint);
  }

  /** Restores deleted or changed objects, until the signal aborts. */
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

/** Keeps the ServiceCIDR `kubernetes` ready; the second family of the flag may be added to it later. */
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

/** Keeps the service `kubernetes` in `default`, and its endpoints. */
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
  // A server on a single machine has a loopback address, which is not allowed in endpoints of users.
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
 * Ensures that an object exists with these contents; other fields stay. It is created with the fields of
 * `first` if only the server itself may write the contents.
 */
async function keep(own: OwnObjects, served: ServedResource, draft: object, first: object): Promise<void> {
  const { apiVersion: _, kind: __, metadata, ...contents } = draft as KubeObject & Record<string, unknown>;
  await own.ensure(served, { ...draft, ...first });
  const present = own.find(served, metadata.namespace ?? "", metadata.name);
  if (present === undefined) return;
  const fields = fieldsIn(present);
  const same = Object.entries(contents).every(([name, value]) => deepEqual(fields[name], value));
  if (!same) await own.change(served, present, (object) => void Object.assign(object, contents));
}
