import type { Client, Clock, Log } from "@dray/client";
import { type ComponentCheck, ComponentEndpoints } from "../component-server/endpoints.ts";
import { type SecureServer, serveSecurely } from "../component-server/secure-server.ts";
import type { Credentials } from "../credentials/credentials.ts";
import type { ComponentClient } from "./clients.ts";
import { componentPorts, publishComponents, unpublishComponents } from "./component-services.ts";

/** A component that runs in this process. Its client asks what clients of the component may do. */
export interface RunningComponent extends ComponentClient<keyof typeof componentPorts> {
  readonly checks?: readonly ComponentCheck[];
  /** In the text format of Prometheus. */
  metrics(): string;
}

export interface ComponentServersOptions {
  readonly components: readonly RunningComponent[];
  readonly credentials: Pick<Credentials, "server" | "authority">;
  readonly clock: Clock;
  readonly log: Log;
  /** The address to listen on, and the one that others reach. */
  readonly bindAddress: string;
  readonly advertisedAddress: string;
  /** Pods reach that address: others do not reach the loopback address of the machine. */
  readonly isReached: boolean;
  /** As the administrator. */
  readonly admin: Client;
}

/**
 * Serves health and metrics of the scheduler and the controllers as upstream's components do, with the
 * certificate of the API server, at whose address they are. Their Services say at which ports, if pods reach
 * them there.
 */
export async function serveComponents(options: ComponentServersOptions): Promise<{ close(): Promise<void> }> {
  const { components, credentials, clock, log, bindAddress, advertisedAddress, isReached, admin } = options;
  const servers: (SecureServer & { readonly name: string })[] = [];
  const close = async (): Promise<void> => {
    await Promise.all(servers.map((server) => server.close()));
  };
  try {
    for (const { name, client, log: ownLog, requests, checks = [], metrics } of components) {
      const server = await serveSecurely({
        host: bindAddress,
        port: componentPorts[name],
        certificate: credentials.server.certificate,
        key: credentials.server.key,
        clientAuthority: credentials.authority.certificate,
        client,
        clock,
        log: ownLog,
        endpoints: new ComponentEndpoints({ checks, metrics: () => `${requests.text()}${metrics()}` }),
      });
      servers.push({ ...server, name });
    }
  } catch (error) {
    await close();
    throw error;
  }
  const places = servers.map(({ name, port }) => ({ name, port, address: advertisedAddress }));
  // A webhook or policy of the user's may refuse them, which does not concern the cluster.
  const published = isReached
    ? publishComponents(admin, places)
    : unpublishComponents(
        admin,
        places.map(({ name }) => name),
      );
  await published.catch((error: Error) =>
    log.warn({ err: error }, "the Services of scheduler and controllers could not be written"),
  );
  return { close };
}
