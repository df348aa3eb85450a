import type { ServiceRoute } from "./routes.ts";

/** What leads packets to Services, for all nodes that share a network of pods. */
export interface ServiceNetwork {
  /** The machine's address in the network. */
  readonly gateway: string;
  /** Replaces where Services lead; stays when the agent ends. */
  setServices(services: LedServices): Promise<void>;
  /** Does again what `setServices` did, should another program have undone it. */
  repair(): Promise<void>;
  /** Runs `work` while no other agent that shares the network runs one. Rejects if `signal` aborts before. */
  lead(work: () => Promise<void>, signal: AbortSignal): Promise<void>;
}

export interface LedServices {
  readonly routes: readonly ServiceRoute[];
  /** The port of `gateway` at which the cluster's DNS server listens; pods ask port 53. */
  readonly dnsPort?: number;
}
