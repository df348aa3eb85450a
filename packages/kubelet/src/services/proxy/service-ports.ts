import { listeningPort } from "../../network/host-ports.ts";
import { listenersOn } from "../../network/listeners.ts";
import type { ServiceRoute } from "../routes.ts";
import { Balancer, type Traffic } from "./balancer.ts";
import type { Backend, ListenerContext, Place, PlaceListener } from "./listener.ts";
import { TcpListener } from "./tcp.ts";
import { UdpListener } from "./udp.ts";

/** A place that cannot be listened on as it is, for an event of its Service. */
export interface PlaceProblem {
  /** `NAMESPACE/NAME` of the Service. */
  readonly service: string;
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
}

export interface ServicePortsOptions extends ListenerContext {
  /** Address of the nodes of this machine, for node ports. */
  readonly nodeAddress: string;
  /** Maximum number of listeners. */
  readonly maxListeners: number;
  /** Called once for each problem, as long as it lasts. */
  reported(problem: PlaceProblem): void;
}

/** A place of a Service, whether or not it is listened on. */
interface ServedPlace {
  readonly place: Place;
  backend: Backend;
  /** Undefined if the place cannot be listened on. */
  listener: PlaceListener | undefined;
}

/** Ports of one Service. */
interface ServedService {
  readonly balancers: ReadonlyMap<string, Balancer>;
  readonly places: Map<string, ServedPlace>;
}

/** Milliseconds after which places that could not be listened on are tried again. */
const retryInterval = 30_000;

/**
 * Listens on the addresses of Services, and leads their clients to endpoints. A place without endpoints is
 * not listened on: connections are refused there, and a program that listens on all addresses of the machine
 * can have the port.
 */
export class ServicePorts {
  readonly #options: ServicePortsOptions;
  readonly #services = new Map<string, ServedService>();
  /** Services by the places that they have. */
  readonly #owners = new Map<string, string>();
  /** Problems that were reported, by Service. */
  readonly #reported = new Map<string, Set<string>>();
  #listeners = 0;
  #cancelRetry: (() => void) | undefined;
  #change: Promise<void> = Promise.resolve();

  constructor(options: ServicePortsOptions) {
    this.#options = options;
  }

  /** Number of places that are listened on. */
  get listeners(): number {
    return this.#listeners;
  }

  /** Replaces the routes of a Service (`NAMESPACE/NAME`); an empty list for one that is gone. */
  update(service: string, routes: readonly ServiceRoute[]): Promise<void> {
    this.#change = this.#change.then(() => this.#update(service, routes));
    return this.#change;
  }

  /** Stops listening. Connections go on. */
  async close(): Promise<void> {
    this.#cancelRetry?.();
    await Promise.all([...this.#services.keys()].map((service) => this.update(service, [])));
    this.#cancelRetry?.();
  }

  async #update(service: string, routes: readonly ServiceRoute[]): Promise<void> {
    const before = this.#services.get(service);
    const balancers = new Map(
      routes.map((route) => {
        const balancer = before?.balancers.get(route.name) ?? new Balancer(route, this.#options.now);
        balancer.route = route;
        return [route.name, balancer] as const;
      }),
    );
    const wanted = this.#wanted(balancers.values());
    const places = before?.places ?? new Map<string, ServedPlace>();
    for (const [key, served] of places) if (!wanted.has(key)) this.#release(service, places, key, served);
    for (const [key, { place, backend }] of wanted) {
      const served = places.get(key);
      if (served === undefined) {
        if (this.#owners.has(key)) continue;
        this.#owners.set(key, service);
        places.set(key, { place, backend, listener: undefined });
        continue;
      }
      served.backend = backend;
      if (served.listener !== undefined) served.listener.backend = backend;
    }
    if (routes.length === 0) {
      this.#services.delete(service);
      this.#reported.delete(service);
    } else this.#services.set(service, { balancers, places });
    await this.#listenAll(service, places);
  }

  #release(service: string, places: Map<string, ServedPlace>, key: string, served: ServedPlace): void {
    places.delete(key);
    if (this.#owners.get(key) === service) this.#owners.delete(key);
    if (served.listener === undefined) return;
    served.listener.close();
    this.#listeners--;
  }

  /**
   * The places at which clients find an endpoint. Upstream: pkg/proxy/userspace and iptables, syncProxyRules.
   */
  #wanted(balancers: Iterable<Balancer>): ReadonlyMap<string, Omit<ServedPlace, "listener">> {
    const wanted = new Map<string, Omit<ServedPlace, "listener">>();
    for (const balancer of balancers) {
      const { protocol, clusterIP, port, externalIPs, nodePort } = balancer.route;
      const add = (address: string, port: number, traffic: Traffic): void => {
        if (!balancer.serves(traffic)) return;
        const place = { protocol, address, port };
        wanted.set(keyOf(place), { place, backend: { balancer, traffic } });
      };
      add(clusterIP, port, "internal");
      for (const address of externalIPs) add(address, port, "external");
      if (nodePort !== undefined) add(this.#options.nodeAddress, nodePort, "external");
    }
    return wanted;
  }

  async #listenAll(service: string, places: ReadonlyMap<string, ServedPlace>): Promise<void> {
    for (const served of places.values())
      if (served.listener === undefined && !(await this.#listen(service, served))) this.#retryLater();
  }

  #retryLater(): void {
    this.#cancelRetry ??= this.#options.after(retryInterval, () => {
      this.#cancelRetry = undefined;
      for (const [service, { places }] of this.#services)
        this.#change = this.#change.then(() => this.#listenAll(service, places));
    });
  }

  /** Returns false if the place is to be tried again. */
  async #listen(service: string, served: ServedPlace): Promise<boolean> {
    const { place, backend } = served;
    const { protocol, address, port } = place;
    if (protocol === "sctp") {
      this.#report(service, "UnsupportedProtocol", `port ${port}: SCTP is not led to endpoints by this node`);
      return true;
    }
    if (this.#listeners >= this.#options.maxListeners) {
      const text = `${address}:${port} is not served: ${this.#listeners} ports of Services are open, which is the limit; raise that of open files (ulimit -n) and start the node again`;
      this.#report(service, "TooManyPorts", text);
      return false;
    }
    const Listener = protocol === "tcp" ? TcpListener : UdpListener;
    const { unprivilegedPortStart } = this.#options;
    const ports = [...new Set([port, listeningPort(port, unprivilegedPortStart)])];
    let code = "";
    for (const each of ports) {
      const listener = new Listener(backend, this.#options);
      try {
        await listener.listen(address, each);
      } catch (error) {
        listener.close();
        code = (error as NodeJS.ErrnoException).code ?? (error as Error).message;
        if (code === "EACCES") continue;
        break;
      }
      served.listener = listener;
      this.#listeners++;
      if (each !== port) this.#reportMoved(service, place, each);
      return true;
    }
    this.#reportFailure(service, served, code);
    return false;
  }

  #reportMoved(service: string, { address, port }: Place, moved: number): void {
    // Pods have another address of the API server.
    if (service === "default/kubernetes") return;
    const text = `port ${port} is served at ${address}:${moved}: this node may not listen on ports below ${this.#options.unprivilegedPortStart} (net.ipv4.ip_unprivileged_port_start)`;
    this.#report(service, "PortMoved", text, "Normal");
  }

  #reportFailure(service: string, { place, backend }: ServedPlace, code: string): void {
    const { address, port } = place;
    if (code === "EADDRINUSE") {
      // A program that listens on all addresses: its connections reach it without the proxy.
      const { endpoints } = backend.balancer.route;
      if (endpoints.some((endpoint) => endpoint.port === port) && isTakenEverywhere(port)) return;
      const text = `${address}:${port} is not served: another program of this machine has the port (see ss -ltnup); it is tried again every ${retryInterval / 1000} s`;
      this.#report(service, "PortInUse", text);
    } else if (code === "EADDRNOTAVAIL") {
      const text = `${address}:${port} is not served: this machine does not have the address`;
      this.#report(service, "AddressNotAvailable", text);
    } else this.#report(service, "PortNotServed", `${address}:${port} is not served: ${code}`);
  }

  #report(service: string, reason: string, message: string, type: "Normal" | "Warning" = "Warning"): void {
    const known = this.#reported.get(service) ?? new Set();
    this.#reported.set(service, known);
    if (known.has(message)) return;
    known.add(message);
    this.#options.reported({ service, type, reason, message });
  }
}

function keyOf({ protocol, address, port }: Place): string {
  return `${protocol} ${address}:${port}`;
}

function isTakenEverywhere(port: number): boolean {
  return listenersOn(port).some(({ address }) => address === "0.0.0.0" || address === "0".repeat(32));
}
