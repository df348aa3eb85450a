import { invalid } from "@dray/api";
import type { Service } from "@dray/api/core/v1";
import type { Storage } from "../storage/storage.ts";
import type { Strategy, StrategyContext } from "./strategy.ts";

/** Where cluster addresses come from, 10.0.0.1 to 10.0.0.254 (--service-cluster-ip-range as upstream has it). */
const network = "10.0.0.";
export const apiServiceAddress = `${network}1`;
/** --service-node-port-range */
const nodePorts = { first: 30_000, last: 32_767 };

/** Gives services their cluster addresses and node ports. */
export const services: Strategy = {
  prepareForCreate(object, context) {
    const service = object as Service;
    service.status = { loadBalancer: {} };
    assign(service, undefined, context);
  },

  prepareForUpdate(object, old, context) {
    if (context.subresource === "") assign(object as Service, old as Service, context);
  },
};

function assign(service: Service, old: Service | undefined, context: StrategyContext): void {
  const { spec } = service;
  if (!spec) return;
  if (spec.type === "ExternalName") return;
  const before = old?.spec;
  if (!spec.clusterIP && before?.clusterIP && before.type !== "ExternalName") {
    spec.clusterIP = before.clusterIP;
    if (!spec.clusterIPs?.length && before.clusterIPs) spec.clusterIPs = before.clusterIPs;
  }
  if (!spec.clusterIP) spec.clusterIP = spec.clusterIPs?.[0] || freeAddress(service, context.storage);
  if (!spec.clusterIPs?.length) spec.clusterIPs = [spec.clusterIP];
  if (!spec.ipFamilies?.length && spec.clusterIP !== "None") spec.ipFamilies = before?.ipFamilies ?? ["IPv4"];
  else if (!spec.ipFamilies?.length) spec.ipFamilies = ["IPv4"];
  spec.ipFamilyPolicy ||= before?.ipFamilyPolicy ?? "SingleStack";
  if (spec.type === "NodePort" || spec.type === "LoadBalancer")
    assignNodePorts(service, old, context.storage);
}

function* stored(storage: Storage): Generator<Service> {
  const cache = storage.cache("services");
  for (const { object } of cache.range(cache.prefix)) yield object as Service;
}

function freeAddress(service: Service, storage: Storage): string {
  const taken = new Set<string>([apiServiceAddress]);
  for (const { spec } of stored(storage)) for (const address of spec?.clusterIPs ?? []) taken.add(address);
  for (let last = 2; last < 255; last++) {
    if (!taken.has(`${network}${last}`)) return `${network}${last}`;
  }
  throw invalid({ group: "", kind: "Service" }, service.metadata.name, [
    {
      type: "InternalError",
      path: "spec.clusterIPs",
      detail: `failed to allocate IP: all addresses of ${network}0/24 are taken`,
    },
  ]);
}

function assignNodePorts(service: Service, old: Service | undefined, storage: Storage): void {
  const taken = new Set<number>();
  for (const { spec } of stored(storage))
    for (const { nodePort } of spec?.ports ?? []) if (nodePort) taken.add(nodePort);
  let next = nodePorts.first;
  for (const port of service.spec?.ports ?? []) {
    if (port.nodePort) continue;
    const before = old?.spec?.ports?.find(
      (other) => other.port === port.port && other.protocol === port.protocol,
    );
    if (before?.nodePort) {
      port.nodePort = before.nodePort;
      continue;
    }
    while (taken.has(next) && next < nodePorts.last) next++;
    port.nodePort = next;
    taken.add(next);
  }
}
