import type { ApiServer } from "@dray/apiserver";
import { type Client, ClientMetrics, type Clock, createClient, type Log, withFields } from "@dray/client";

/** A component of the control plane as a client of the API server. */
export interface ComponentClient<Name extends string = string> {
  readonly name: Name;
  readonly log: Log;
  /** Metrics of its requests. */
  readonly requests: ClientMetrics;
  readonly client: Client;
}

export interface ControlPlaneClients {
  /** The administrator. */
  readonly admin: Client;
  /** A component such as `kube-scheduler`, which is the user `system:kube-scheduler`. */
  component<Name extends string>(name: Name): ComponentClient<Name>;
}

export interface ClientsOptions {
  readonly server: ApiServer;
  readonly url: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Milliseconds from any point on, with fractions. */
  readonly elapsed: () => number;
}

/** Makes clients in process. */
export function createClients({ server, url, clock, log, elapsed }: ClientsOptions): ControlPlaneClients {
  const user = (name: string, groups: readonly string[]) => ({
    transport: server.transport({ name, groups: [...groups, "system:authenticated"] }),
    userAgent: `${name.replace(/^system:/, "")}/dray`,
    clock,
  });
  return {
    admin: createClient({ ...user("kubernetes-admin", ["system:masters"]), log }),
    component(name) {
      const ownLog = withFields(log, { component: name.replace(/^kube-/, "") });
      const requests = new ClientMetrics(elapsed);
      const client = createClient({
        ...user(`system:${name}`, []),
        log: ownLog,
        observer: requests.requestsTo(url),
      });
      return { name, log: ownLog, requests, client };
    },
  };
}
