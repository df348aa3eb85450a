import type { Service } from "@dray/api/core/v1";
import type { EndpointSlice } from "@dray/api/discovery/v1";
import { headlessTargets } from "../dns/records.ts";
import { clusterIPv4 } from "./routes.ts";

/** Addresses of a Service; those of the endpoints of a headless one may have a hostname. */
interface NamedService {
  readonly namespace: string;
  readonly name: string;
  readonly addresses: readonly { readonly address: string; readonly hostname?: string }[];
  /** Target of an `ExternalName`. */
  readonly alias?: string;
}

/**
 * Maximum length of the lines for a pod. Resolvers read the whole file for each name: this is about a
 * millisecond, and two thousand Services.
 */
const maxLength = 256 * 1024;

/** Names of Services as lines of /etc/hosts, for pods without a DNS server that knows them. */
export class ServiceNames {
  readonly #domain: string;
  /** By namespace and name. */
  readonly #namespaces = new Map<string, Map<string, NamedService>>();

  /** `domain`: `cluster.local` */
  constructor(domain: string) {
    this.#domain = domain;
  }

  /** Reads the names of a Service anew. Returns true if they have changed. */
  update(namespace: string, name: string, service?: Service, slices: readonly EndpointSlice[] = []): boolean {
    const services = this.#namespaces.get(namespace) ?? new Map<string, NamedService>();
    const before = services.get(name);
    const after = service && namedService(service, slices);
    if (JSON.stringify(before) === JSON.stringify(after)) return false;
    if (after === undefined) services.delete(name);
    else services.set(name, after);
    if (services.size === 0) this.#namespaces.delete(namespace);
    else this.#namespaces.set(namespace, services);
    return true;
  }

  /**
   * Returns the lines for pods of a namespace, those of its own Services first. `omitted` is the number of
   * Services that found no place.
   */
  lines(namespace: string): { readonly text: string; readonly omitted: number } {
    const others = [...this.#namespaces.keys()].filter((each) => each !== namespace).sort();
    const lines: string[] = [];
    let [length, omitted] = [0, 0];
    for (const each of [namespace, ...others])
      for (const service of [...(this.#namespaces.get(each)?.values() ?? [])].sort(byName)) {
        const own = this.#linesOf(service, each === namespace);
        const size = own.reduce((sum, line) => sum + line.length + 1, 0);
        if (length + size > maxLength) omitted++;
        else {
          for (const line of own) lines.push(line);
          length += size;
        }
      }
    return { text: lines.map((line) => `${line}\n`).join(""), omitted };
  }

  #linesOf(service: NamedService, isOwnNamespace: boolean): string[] {
    const names = this.#namesOf(service, isOwnNamespace);
    return this.#addressesOf(service, 0).map(({ address, hostname }) => {
      const own = hostname === undefined ? [] : names.map((name) => `${hostname}.${name}`);
      return `${address}\t${[...own, ...names].join(" ")}`;
    });
  }

  /** Every form that the search path of the cluster's DNS would complete. */
  #namesOf({ namespace, name }: NamedService, isOwnNamespace: boolean): string[] {
    const short = `${name}.${namespace}`;
    return [`${short}.svc.${this.#domain}`, `${short}.svc`, short, ...(isOwnNamespace ? [name] : [])];
  }

  /** An `ExternalName` has the addresses of the Service that it names. */
  #addressesOf(service: NamedService, depth: number): NamedService["addresses"] {
    const { alias } = service;
    const suffix = `.svc.${this.#domain}`;
    if (alias === undefined) return service.addresses;
    if (!alias.endsWith(suffix) || depth > 8) return [];
    const [name = "", namespace = "", ...more] = alias.slice(0, -suffix.length).split(".");
    const target = this.#namespaces.get(namespace)?.get(name);
    if (target === undefined || more.length > 0) return [];
    return this.#addressesOf(target, depth + 1).map(({ address }) => ({ address }));
  }
}

function byName(a: NamedService, b: NamedService): number {
  return a.name < b.name ? -1 : 1;
}

function namedService(service: Service, slices: readonly EndpointSlice[]): NamedService {
  const { metadata, spec } = service;
  const { namespace, name } = metadata;
  if (spec?.type === "ExternalName") {
    const alias = (spec.externalName ?? "").replace(/\.$/, "").toLowerCase();
    return { namespace, name, addresses: [], alias };
  }
  const address = clusterIPv4(service);
  if (address !== undefined) return { namespace, name, addresses: [{ address }] };
  const targets = headlessTargets(slices, "").map(({ address, hostname, isNamed }) =>
    isNamed ? { address, hostname } : { address },
  );
  return { namespace, name, addresses: targets.sort((a, b) => (a.address < b.address ? -1 : 1)) };
}
