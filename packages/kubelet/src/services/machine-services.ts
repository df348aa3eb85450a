import { createServer } from "node:net";
import type { Service } from "@dray/api/core/v1";
import {
  type Client,
  type Clock,
  createEventRecorder,
  type EventRecorder,
  type Log,
  sleep,
} from "@dray/client";
import { Budget, shareOfFiles } from "@dray/streams";
import { type DnsServer, startDnsServer } from "../dns/server.ts";
import { type Claim, claimName } from "../network/claim.ts";
import { listeningPort, readUnprivilegedPortStart } from "../network/host-ports.ts";
import { ServiceNames } from "./names.ts";
import { type PlaceProblem, ServicePorts } from "./proxy/service-ports.ts";
import { routesOfService } from "./routes.ts";
import { dnsZone, type ServiceCaches, serviceCaches, serviceOf } from "./zone.ts";

/** A node of this process whose pods use the addresses and names of Services. */
export interface ServiceMember {
  /** Client of the user `system:kube-proxy`, which may read Services and EndpointSlices. */
  readonly client: Client;
  readonly node: string;
  /** Address of the node, for node ports. */
  readonly nodeAddress: string;
  /** Address of the Service `kubernetes`: the first of the range of Services. */
  readonly firstAddress: string;
  /** Pods have a resolv.conf of their own. */
  readonly writesResolvConf: boolean;
  /** Domain of the cluster, such as `cluster.local`. */
  readonly domain: string;
  /** resolv.conf of the machine, whose servers resolve other names. */
  readonly resolvConf: string;
  readonly clock: Clock;
  readonly random: () => number;
  /** Returns a new UUID. */
  readonly newId: () => string;
  readonly log: Log;
  /** Called when the lines of `names` may have changed. */
  namesChanged(): void;
}

/** The Services of a cluster as the pods of a node reach them. */
export interface MemberServices {
  /** Resolves when the Services are known; before, there are no names. */
  readonly ready: Promise<void>;
  /**
   * Address of the DNS server of the cluster at port 53; undefined where this process may not listen there.
   */
  readonly dnsServer: string | undefined;
  /** Port at which a port of a Service is served. */
  servedPort(port: number): number;
  /** Lines of /etc/hosts for pods of a namespace. */
  names(namespace: string): string;
  leave(): Promise<void>;
}

/** Milliseconds for which changes are collected. */
const changeDelay = 50;
/** Milliseconds between two changes of the names, which are written for each pod. */
const namesDelay = 500;
/** Interval in milliseconds at which a process tries to take over from another one of the machine. */
const claimInterval = 1000;
/** Delay in milliseconds before a failed start is repeated. */
const retryInterval = 5000;
/** Minimum milliseconds between two warnings that sockets have run out. */
const exhaustedInterval = 60_000;

/**
 * Leads the addresses of Services, in 127.0.0.0/8, to their endpoints by connections of this process, for all
 * nodes of a cluster on this machine: pods there are processes of the machine. If several processes have
 * nodes of the cluster, one of them does so; each keeps the names for its own nodes.
 */
export class MachineServices {
  readonly #members: ServiceMember[] = [];
  #cluster: ClusterServices | undefined;

  /** Adds a node; all are nodes of one cluster. */
  join(member: ServiceMember): MemberServices {
    const before = this.#cluster;
    this.#cluster ??= new ClusterServices(this.#members, member);
    const cluster = this.#cluster;
    this.#members.push(member);
    if (before === undefined) cluster.start();
    return {
      ready: cluster.synced,
      get dnsServer() {
        return cluster.servesDns ? dnsAddress(member.firstAddress) : undefined;
      },
      servedPort: (port) => cluster.servedPort(port),
      names: (namespace) => cluster.names(namespace),
      leave: () => this.#leave(member),
    };
  }

  async #leave(member: ServiceMember): Promise<void> {
    this.#members.splice(this.#members.indexOf(member), 1);
    const cluster = this.#cluster;
    if (this.#members.length > 0) return cluster?.memberLeft(member);
    this.#cluster = undefined;
    await cluster?.stop();
  }
}

/** The tenth address of the range of Services, as kubeadm has it (GetDNSIP). */
function dnsAddress(firstAddress: string): string {
  const bytes = firstAddress.split(".").map(Number);
  return [...bytes.slice(0, 3), bytes[3]! + 9].join(".");
}

/** Work for the nodes of one cluster. The client of the first node that is there is used. */
class ClusterServices {
  readonly synced: Promise<void>;
  readonly #members: readonly ServiceMember[];
  readonly #first: ServiceMember;
  readonly #names: ServiceNames;
  readonly #stop = new AbortController();
  readonly #unprivilegedPortStart = readUnprivilegedPortStart();
  readonly #isSynced: () => void;
  /** This process may listen on every port. */
  #isPrivileged = false;
  /** Maximum number of connections of Services, each of two files, and of their listeners. */
  readonly #socketUnits = shareOfFiles(1 / 8);
  #ports: ServicePorts | undefined;
  #dns: DnsServer | undefined;
  #claim: Claim | undefined;
  #caches: ServiceCaches | undefined;
  #events: EventRecorder | undefined;
  /** Ends the use of the client of a member. */
  #using: { readonly member: ServiceMember; readonly end: AbortController } | undefined;
  readonly #changed = new Set<string>();
  /** Names outside of the cluster that were reported, by Service. */
  readonly #foreignNames = new Map<string, string>();
  #cancelChange: (() => void) | undefined;
  #cancelNames: (() => void) | undefined;
  #running: Promise<unknown> = Promise.resolve();
  #namesOmitted = false;
  #exhaustedAt = Number.NEGATIVE_INFINITY;

  constructor(members: readonly ServiceMember[], first: ServiceMember) {
    this.#members = members;
    this.#first = first;
    this.#names = new ServiceNames(first.domain);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.synced = promise;
    this.#isSynced = resolve;
  }

  /** Port 53 can be listened on, and pods have a resolv.conf that names it. */
  get servesDns(): boolean {
    if (!this.#first.writesResolvConf) return false;
    return this.#isPrivileged || this.#unprivilegedPortStart <= 53;
  }

  servedPort(port: number): number {
    return this.#isPrivileged ? port : listeningPort(port, this.#unprivilegedPortStart);
  }

  names(namespace: string): string {
    const { text, omitted } = this.#names.lines(namespace);
    if (omitted > 0 && !this.#namesOmitted)
      this.#first.log.warn(
        { namespace, omitted },
        "pods do not find all Services by name: their hosts files would be too long",
      );
    this.#namesOmitted = omitted > 0;
    return text;
  }

  start(): void {
    this.#running = Promise.all([this.#follow(), this.#lead()]);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    this.#isSynced();
    this.#cancelChange?.();
    this.#cancelNames?.();
    await this.#running;
    await this.#ports?.close();
    await this.#dns?.close();
    this.#claim?.close();
  }

  memberLeft(member: ServiceMember): void {
    if (this.#using?.member === member) this.#using.end.abort();
  }

  /** Follows the Services with the client of one member after the other. */
  async #follow(): Promise<void> {
    const { signal } = this.#stop;
    this.#isPrivileged = await mayListen(this.#first.firstAddress, 1);
    while (!signal.aborted) {
      const [member] = this.#members;
      if (member === undefined) return;
      const end = new AbortController();
      this.#using = { member, end };
      const used = AbortSignal.any([signal, end.signal]);
      try {
        await this.#followWith(member, used);
      } catch (error) {
        if (used.aborted) continue;
        member.log.warn({ err: error }, "Services are not led to their endpoints yet");
        end.abort();
        await sleep(member.clock, retryInterval, signal);
      }
    }
  }

  async #followWith(member: ServiceMember, signal: AbortSignal): Promise<void> {
    const { client, clock, log, random, node } = member;
    this.#events = createEventRecorder({ client, clock, log, random, component: "kube-proxy", host: node });
    const caches = serviceCaches(client);
    const { services, slices } = caches;
    const ofService = ({ metadata }: Service): void => this.#note(`${metadata.namespace}/${metadata.name}`);
    services.handle({ add: ofService, update: ofService, delete: ofService });
    slices.handle({
      add: (slice) => this.#note(serviceOf(slice)),
      update: (slice, old) => {
        this.#note(serviceOf(slice));
        if (serviceOf(old) !== serviceOf(slice)) this.#note(serviceOf(old));
      },
      delete: (slice) => this.#note(serviceOf(slice)),
    });
    await Promise.all([services.start(signal), slices.start(signal)]);
    if (signal.aborted) return;
    // Services that went while no cache was followed.
    for (const { metadata } of this.#caches?.services.list() ?? [])
      this.#note(`${metadata.namespace}/${metadata.name}`);
    this.#caches = caches;
    this.#applyAll();
    this.#isSynced();
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener("abort", () => resolve(), { once: true });
    });
  }

  /** Becomes the process that listens, once no other one of the machine does. */
  async #lead(): Promise<void> {
    const { firstAddress, clock, log, nodeAddress } = this.#first;
    const { signal } = this.#stop;
    await this.synced;
    while (this.#claim === undefined && !signal.aborted) {
      this.#claim = await claimName(`dray-services-${firstAddress}`);
      if (this.#claim === undefined) await sleep(clock, claimInterval, signal);
    }
    if (signal.aborted) return;
    this.#ports = new ServicePorts({
      nodeAddress,
      unprivilegedPortStart: this.#unprivilegedPortStart,
      sockets: new Budget(this.#socketUnits),
      maxListeners: this.#socketUnits,
      after: (milliseconds, run) => clock.after(milliseconds, run),
      now: () => clock.now(),
      exhausted: () => this.#warnExhausted(),
      reported: (problem) => this.#report(problem),
    });
    log.info({ first: firstAddress }, "leading Services to their endpoints");
    for (const { metadata } of this.#caches?.services.list() ?? [])
      this.#note(`${metadata.namespace}/${metadata.name}`);
    if (this.servesDns) await this.#serveDns();
  }

  async #serveDns(): Promise<void> {
    const { firstAddress, domain, resolvConf, clock, newId, log } = this.#first;
    const address = dnsAddress(firstAddress);
    const zone = dnsZone(domain, address, () => this.#caches ?? noCaches());
    try {
      this.#dns = await startDnsServer({ zone, address, port: 53, resolvConf, clock, newId, log });
    } catch (error) {
      log.warn({ err: error, address }, "names of Services are not resolved: port 53 is in use");
    }
  }

  #note(service: string): void {
    this.#changed.add(service);
    this.#cancelChange ??= this.#first.clock.after(changeDelay, () => this.#applyAll());
  }

  #applyAll(): void {
    this.#cancelChange?.();
    this.#cancelChange = undefined;
    const caches = this.#caches;
    if (caches === undefined || this.#stop.signal.aborted) return;
    let renamed = false;
    for (const key of this.#changed) {
      const [namespace = "", name = ""] = key.split("/");
      const service = caches.services.get({ namespace, name });
      const slices = caches.slices.byIndex("service", key);
      const routes = service === undefined ? [] : routesOfService(service, slices);
      void this.#ports?.update(key, routes);
      if (this.servesDns) continue;
      renamed = this.#names.update(namespace, name, service, slices) || renamed;
      this.#reportForeignName(key, service);
    }
    this.#changed.clear();
    if (renamed)
      this.#cancelNames ??= this.#first.clock.after(namesDelay, () => {
        this.#cancelNames = undefined;
        for (const member of this.#members) member.namesChanged();
      });
  }

  /** A hosts file has no aliases. Reports an `ExternalName` outside of the cluster once. */
  #reportForeignName(key: string, service: Service | undefined): void {
    const { type, externalName = "" } = service?.spec ?? {};
    const isInside = `${externalName.replace(/\.$/, "")}.`.endsWith(`.svc.${this.#first.domain}.`);
    if (type !== "ExternalName" || isInside) {
      this.#foreignNames.delete(key);
      return;
    }
    if (this.#foreignNames.get(key) === externalName) return;
    this.#foreignNames.set(key, externalName);
    const message = `pods do not find ${externalName} under the name of this Service: names are lines of their hosts files here, since this node may not listen on port 53`;
    this.#report({ service: key, type: "Warning", reason: "NameNotResolved", message });
  }

  #report({ service, type, reason, message }: PlaceProblem): void {
    const [namespace = "", name = ""] = service.split("/");
    const object = this.#caches?.services.get({ namespace, name });
    if (object !== undefined) this.#events?.event(object, type, reason, message);
  }

  #warnExhausted(): void {
    const { clock, log } = this.#first;
    if (clock.now() < this.#exhaustedAt + exhaustedInterval) return;
    this.#exhaustedAt = clock.now();
    log.warn(
      { units: this.#socketUnits },
      "clients of Services are turned away: too many connections are open; raise the limit of open files",
    );
  }
}

function noCaches(): never {
  throw new Error("the Services are not known yet");
}

/** Reports whether this process may listen on a port: it is free, or in use. */
function mayListen(address: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", ({ code }: NodeJS.ErrnoException) => resolve(code !== "EACCES"));
    server.listen({ host: address, port, exclusive: true }, () => server.close(() => resolve(true)));
  });
}
