import { type FieldError, invalid, pathSegment, quoted, StatusError } from "@dray/api";
import type { Service, ServiceSpec } from "@dray/api/core/v1";
import type { ServiceCIDR } from "@dray/api/networking/v1";
import { objectKey } from "../../../storage/keys.ts";
import type { Storage } from "../../../storage/storage.ts";
import type { ChosenValues } from "../../strategy.ts";
import {
  type AddressRange,
  addressNumber,
  addressText,
  chooseFree,
  type Family,
  familyOf,
  parseRange,
} from "./ranges.ts";

const kind = { group: "", kind: "Service" };

/** Returns the cluster addresses of a service; an empty list for a headless service and for ExternalName. */
export function heldAddresses(service: Service | undefined): readonly string[] {
  const spec = service?.spec;
  if (!spec || spec.type === "ExternalName" || spec.clusterIPs?.[0] === "None") return [];
  return spec.clusterIPs ?? [];
}

/**
 * Chooses cluster addresses from the ranges of ready ServiceCIDRs (KEP-1880). An address is reserved only
 * once its IPAddress is created; until then, another service may get it.
 */
export class Addresses {
  readonly #storage: Storage;
  readonly #random: () => number;
  readonly #ranges = new Map<string, AddressRange | undefined>();

  /** `random` returns a number from 0 to below 1. */
  constructor(storage: Storage, random: () => number) {
    this.#storage = storage;
    this.#random = random;
  }

  /** Yields the ranges of ready ServiceCIDRs. */
  *#ready(): Generator<AddressRange> {
    for (const serviceCIDR of this.#serviceCIDRs()) {
      const { metadata, status } = serviceCIDR;
      const ready = status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True");
      if (ready && metadata.deletionTimestamp === undefined) yield* this.#rangesOf(serviceCIDR);
    }
  }

  *#serviceCIDRs(): Generator<ServiceCIDR> {
    const cache = this.#storage.cache("servicecidrs");
    for (const { object } of cache.range(cache.prefix)) yield object as ServiceCIDR;
  }

  *#rangesOf({ spec }: ServiceCIDR): Generator<AddressRange> {
    for (const cidr of spec?.cidrs ?? []) {
      if (!this.#ranges.has(cidr)) this.#ranges.set(cidr, parseRange(cidr));
      const range = this.#ranges.get(cidr);
      if (range) yield range;
    }
  }

  /** Reports whether an IPAddress of this name exists. */
  taken(address: string): boolean {
    return this.#storage.cache("ipaddresses").get(objectKey("ipaddresses", "", address)) !== undefined;
  }

  /** Returns a free address for this service, noted in `chosen`. Throws 500 if none is free, as upstream. */
  choose(service: Service, family: Family, { addresses }: ChosenValues, passed?: string): string {
    const free = (number: bigint): boolean => {
      const address = addressText(number, family);
      return address !== passed && !this.taken(address);
    };
    for (const range of this.#ready()) {
      if (range.family !== family) continue;
      const number = chooseFree(range, (candidate) => !free(candidate), this.#random);
      if (number === undefined) continue;
      const address = addressText(number, family);
      checkParent(service, undefined, address);
      addresses.add(address);
      return address;
    }
    const name = quoted(service.metadata.name);
    throw internalError(`failed to allocate a serviceIP for Service ${name}: range is full`);
  }

  /** Rejects a requested address that is in no range or belongs to another service. Throws 422. */
  check(service: Service, address: string): void {
    const number = addressNumber(address);
    const family = familyOf(address);
    const inRange = [...this.#ready()].some(
      (range) =>
        range.family === family && number !== undefined && number >= range.first && number <= range.last,
    );
    if (!inRange) throw refused(service, address, "the provided network does not match the current range");
    checkParent(service, address, address);
    if (this.taken(address)) throw this.alreadyTaken(service, address);
  }

  /**
   * For dry runs: any range of the family is accepted, ready or not, and allocated addresses are not looked
   * up (ipallocator's DryRun). Without a requested address, returns that of the network. Throws 422.
   */
  pretend(service: Service, family: Family, asked: string | undefined): string {
    const [range] = [...this.#serviceCIDRs()]
      .flatMap((serviceCIDR) => [...this.#rangesOf(serviceCIDR)])
      .filter((each) => each.family === family);
    if (range === undefined) throw refused(service, asked, "allocator not ready");
    if (asked === undefined) return addressText(range.first - 1n, family);
    const number = addressNumber(asked);
    if (number === undefined || number < range.first || number > range.last) {
      const valid = `The range of valid IPs is ${range.text}`;
      throw refused(service, asked, `the provided IP (${asked}) is not in the valid range. ${valid}`);
    }
    return asked;
  }

  alreadyTaken(service: Service, address: string): StatusError {
    return refused(service, address, "provided IP is already allocated");
  }

  /**
   * Returns a replacement for a chosen address that another service has got; undefined for a requested
   * address.
   */
  instead(service: Service, lost: string, chosen: ChosenValues): string | undefined {
    if (!chosen.addresses.has(lost)) return undefined;
    const address = this.choose(service, familyOf(lost), chosen, lost);
    const spec = service.spec as ServiceSpec;
    spec.clusterIPs = (spec.clusterIPs ?? []).map((own) => (own === lost ? address : own));
    if (spec.clusterIP === lost) spec.clusterIP = address;
    return address;
  }
}

/**
 * Validates the IPAddress of a service. This precedes the validation of the service itself, so a wrong name
 * is reported here first. Throws 422.
 *
 * Upstream: pkg/registry/core/service/ipallocator/ipallocator.go, createIPAddress
 */
function checkParent(service: Service, asked: string | undefined, address: string): void {
  const { name } = service.metadata;
  const problems = name ? pathSegment(name) : [];
  if (name && problems.length === 0) return;
  const path = "spec.parentRef.name";
  const errors: FieldError[] = name
    ? problems.map((detail) => ({ type: "Invalid", path, value: quoted(name), detail }))
    : [{ type: "Required", path, detail: "" }];
  const error = invalid({ group: "networking.k8s.io", kind: "IPAddress" }, address, errors);
  throw refused(service, asked, error.message);
}

/** Returns a 500 with the message as its cause (apierrors.NewInternalError). */
export function internalError(message: string): StatusError {
  return StatusError.of("InternalError", `Internal error occurred: ${message}`, { causes: [{ message }] });
}

function refused(service: Service, address: string | undefined, why: string): StatusError {
  const { clusterIPs = [], ipFamilies = [] } = service.spec ?? {};
  // One address for each family; empty if no address is requested.
  const shown = [...clusterIPs, ...ipFamilies.slice(clusterIPs.length).map(() => "")];
  return invalid(kind, service.metadata.name, [
    {
      type: "Invalid",
      path: "spec.clusterIPs",
      value: JSON.stringify(shown),
      detail: `failed to allocate IP${address === undefined ? "" : ` ${address}`}: ${why}`,
    },
  ]);
}
