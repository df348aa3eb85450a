import type { ServiceRoute } from "./routes.ts";

/** Routes packets to Services, for all nodes that share a network of pods. */
export interface ServiceNetwork {
  /** The machine's address in the network. */
  readonly gateway: string;
  /** Replaces the routes of Services; they stay when the agent ends. */
  setServices(services: LedServices): Promise<void>;
  /** Repeats `setServices`, in case another program has removed its rules. */
  repair(): Promise<void>;
  /** Runs `work` while no other agent that shares the network runs one. Rejects if `signal` aborts before. */
  lead(work: () => Promise<void>, signal: AbortSignal): Promise<void>;
}

export interface LedServices {
  readonly routes: readonly ServiceRoute[];
  /** Port of the cluster's DNS server at `gateway`; pods query port 53. */
  readonly dnsPort?: number;
}
