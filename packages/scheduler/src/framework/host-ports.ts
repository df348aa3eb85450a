import type { Pod } from "@dray/api/core/v1";
import { sidecarsOf } from "@dray/api/pod";

export interface HostPort {
  /** Port and protocol, such as `80/TCP`. */
  readonly port: string;
  readonly ip: string;
}

/** The address that stands for all of a node's. */
const anyAddress = "0.0.0.0";

const none: readonly HostPort[] = [];
const known = new WeakMap<Pod, readonly HostPort[]>();

/**
 * The ports of the node that containers and sidecars of a pod take. Upstream: scheduler/util/utils.go,
 * GetHostPorts
 */
export function hostPortsOf(pod: Pod): readonly HostPort[] {
  let ports = known.get(pod);
  if (ports === undefined) {
    const all = [...sidecarsOf(pod.spec), ...(pod.spec.containers ?? [])].flatMap((container) =>
      (container.ports ?? []).flatMap(({ hostPort, protocol, hostIP }) =>
        hostPort ? [{ port: `${hostPort}/${protocol || "TCP"}`, ip: hostIP || anyAddress }] : [],
      ),
    );
    ports = all.length === 0 ? none : all;
    known.set(pod, ports);
  }
  return ports;
}

/** The ports of a node that its pods have taken. Upstream: kube-scheduler/framework/types.go, HostPortInfo */
export class HostPorts {
  /** By port: how many pods take it on each address. */
  readonly #taken = new Map<string, Map<string, number>>();

  count({ port, ip }: HostPort, sign: 1 | -1): void {
    const addresses = this.#taken.get(port) ?? new Map<string, number>();
    const count = (addresses.get(ip) ?? 0) + sign;
    if (count > 0) addresses.set(ip, count);
    else addresses.delete(ip);
    if (addresses.size > 0) this.#taken.set(port, addresses);
    else this.#taken.delete(port);
  }

  /** Reports whether the port is free on that address. */
  isFree({ port, ip }: HostPort): boolean {
    const addresses = this.#taken.get(port);
    if (addresses === undefined) return true;
    return ip !== anyAddress && !addresses.has(ip) && !addresses.has(anyAddress);
  }
}
