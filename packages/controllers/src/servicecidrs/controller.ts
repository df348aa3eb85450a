import { containsAddress, type Network, parseAddress, parseNetwork } from "@dray/api/ip";
import type { Condition } from "@dray/api/meta/v1";
import { IPAddress, ServiceCIDR } from "@dray/api/networking/v1";
import { timeText } from "@dray/client";
import { type Controller, type ControllerContext, controllerQueues, synced } from "../shared/context.ts";
import { withCondition, writeStatus } from "../shared/status.ts";

const finalizer = "networking.k8s.io/service-cidr-finalizer";
/** Milliseconds in which all API servers have heard that they must not take addresses of a range any more. */
const deletionGracePeriod = 10_000;
const managedBy = "ipaddress.kubernetes.io/managed-by";
const allocator = "ipallocator.k8s.io";

/**
 * Declares ServiceCIDRs ready for Services to have addresses of, and keeps them while any Service has one
 * that no other range has (KEP-1880).
 *
 * Upstream: pkg/controller/servicecidrs.
 */
export async function startServiceCIDRController(context: ControllerContext): Promise<Controller> {
  const { client, clock, informers } = context;
  const ranges = informers.of(ServiceCIDR);
  const addresses = informers.of(IPAddress);
  await synced(context, [ranges, addresses]);
  const queues = controllerQueues(context);
  const queue = queues.queue("ipaddresses", reconcile);
  // There are few ranges, and any of them may hold another one back.
  const enqueueTerminating = (): void => {
    for (const { metadata } of ranges.list())
      if (metadata.deletionTimestamp !== undefined) queue.add(metadata.name);
  };
  const changed = ({ metadata }: ServiceCIDR): void => {
    queue.add(metadata.name);
    enqueueTerminating();
  };
  ranges.handle({ add: changed, update: changed, delete: enqueueTerminating });
  addresses.handle({ add: enqueueTerminating, delete: enqueueTerminating });

  async function reconcile(name: string): Promise<void> {
    const range = ranges.get({ name });
    if (range === undefined) return;
    const { deletionTimestamp, finalizers = [] } = range.metadata;
    if (deletionTimestamp === undefined) {
      // The change comes by the watch.
      if (!finalizers.includes(finalizer)) return setFinalizers(range, [...finalizers, finalizer]);
      return setReady(range, "True", "", "Kubernetes Service CIDR is ready");
    }
    if (!finalizers.includes(finalizer)) return;
    if (isNeeded(range)) {
      const message =
        "There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR";
      return setReady(range, "False", "Terminating", message);
    }
    const wait = Date.parse(deletionTimestamp) + deletionGracePeriod - clock.now();
    if (wait > 0) return queue.addAfter(name, wait);
    await setFinalizers(
      range,
      finalizers.filter((other) => other !== finalizer),
    );
  }

  /** Reports whether a Service has an address that would be in no range any more. */
  function isNeeded(range: ServiceCIDR): boolean {
    const others = ranges
      .list()
      .filter(({ metadata }) => metadata.name !== range.metadata.name)
      .flatMap(networksOf);
    const own = networksOf(range);
    return addresses.list().some(({ metadata }) => {
      if (metadata.labels?.[managedBy] !== allocator) return false;
      const address = parseAddress(metadata.name);
      if (typeof address === "string") return false;
      const isIn = (network: Network): boolean => containsAddress(network, address);
      return own.some(isIn) && !others.some(isIn);
    });
  }

  async function setFinalizers({ metadata }: ServiceCIDR, finalizers: readonly string[]): Promise<void> {
    const { name, uid, resourceVersion } = metadata;
    await client
      .resource(ServiceCIDR)
      .patch({ name }, "merge", { metadata: { uid, resourceVersion, finalizers } });
  }

  async function setReady(
    range: ServiceCIDR,
    status: "True" | "False",
    reason: string,
    message: string,
  ): Promise<void> {
    const lastTransitionTime = timeText(clock.now());
    const ready = { type: "Ready", status, reason, message, lastTransitionTime };
    const conditions = withCondition<Condition>(range.status?.conditions, ready, lastTransitionTime);
    await writeStatus(client, ServiceCIDR, range, { ...range.status, conditions });
  }

  return queues.controller;
}

function networksOf({ spec }: ServiceCIDR): Network[] {
  return (spec.cidrs ?? []).flatMap((cidr) => {
    const network = parseNetwork(cidr);
    return typeof network === "string" ? [] : [network];
  });
}
