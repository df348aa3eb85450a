import {
  type Client,
  type ClientMetrics,
  createClient,
  httpsTransport,
  type Log,
  loadKubeconfig,
} from "@dray/client";

export interface Connection {
  readonly client: Client;
  /** Name of the context; "" in a pod. */
  readonly context: string;
  readonly server: string;
  /** PEM; undefined if the system's authorities apply. */
  readonly ca: string | undefined;
  /** PEM; undefined if the client is not known by a certificate. */
  readonly cert: string | undefined;
  readonly namespace: string;
}

/**
 * Connects by the kubeconfig, with kubectl's precedence of flags, environment and files. `metrics` counts the
 * requests.
 */
export async function connect(
  flags: { readonly kubeconfig?: string; readonly context?: string },
  userAgent: string,
  log?: Log,
  metrics?: ClientMetrics,
): Promise<Connection> {
  const { connection, context, namespace } = await loadKubeconfig({
    ...(flags.kubeconfig === undefined ? {} : { file: flags.kubeconfig }),
    ...(flags.context === undefined ? {} : { context: flags.context }),
  });
  const client = createClient({
    transport: httpsTransport(connection),
    userAgent,
    ...(log && { log }),
    ...(metrics && { observer: metrics.requestsTo(connection.server) }),
  });
  const { server, ca, cert } = connection;
  return { client, context, server, ca, cert, namespace };
}
