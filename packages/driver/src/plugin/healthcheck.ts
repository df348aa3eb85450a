import type { Log } from "@dray/client";
import { RpcError, type RpcServer, service, tcpServer, unixChannel } from "@dray/rpc";
import { DRAPluginDefinition as DRAPluginV1 } from "@dray/rpc/dra/v1";
import { DRAPluginDefinition as DRAPluginV1beta1 } from "@dray/rpc/dra/v1beta1";
import { HealthDefinition, HealthCheckResponse_ServingStatus as Status } from "@dray/rpc/grpchealth/v1";
import { RegistrationDefinition } from "@dray/rpc/pluginregistration/v1";
import type { NodeAPI, SocketPaths } from "./plugin.ts";

export interface HealthcheckOptions {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  /** Called with `host:port`. */
  readonly onListening?: (address: string) => void;
}

/** Timeout of a call to one of our own sockets, in milliseconds. */
const timeout = 2000;

/**
 * gRPC's health check for the kubelet's liveness probes, for the services "" and `liveness`. It is not a flag
 * that says "I run": each check calls the driver through both of its sockets, as the kubelet does.
 */
export async function serveHealthcheck(
  { host, port, onListening }: HealthcheckOptions,
  paths: SocketPaths,
  nodeAPIs: readonly NodeAPI[],
  log: Log,
): Promise<RpcServer> {
  const registration = unixChannel(paths.registration);
  const dra = unixChannel(paths.dra);
  const definition = nodeAPIs.includes("v1") ? DRAPluginV1 : DRAPluginV1beta1;
  const server = await tcpServer(host, port, [
    service(HealthDefinition, {
      async check({ service }) {
        if (service !== "" && service !== "liveness") {
          throw new RpcError("NotFound", `unknown service ${JSON.stringify(service)}`);
        }
        try {
          await registration.caller(RegistrationDefinition).getInfo({}, { timeout });
          await dra.caller(definition).nodePrepareResources({ claims: [] }, { timeout });
          return { status: Status.SERVING };
        } catch (error) {
          log.error(
            { error: (error as Error).message },
            "The health check found a socket that does not answer",
          );
          return { status: Status.NOT_SERVING };
        }
      },
      // biome-ignore lint/correctness/useYield: there is nothing to say
      async *watch() {
        throw new RpcError("Unimplemented", "ask Check");
      },
    }),
  ]);
  onListening?.(server.address);
  return {
    address: server.address,
    async close(grace) {
      registration.close();
      dra.close();
      await server.close(grace);
    },
  };
}
