import { type Kind, StatusError } from "@dray/api";
import { Endpoints, Service } from "@dray/api/core/v1";
import type { Client } from "@dray/client";

/** Address of a component of the control plane. */
export interface ComponentPlace {
  /** `kube-scheduler` */
  readonly name: string;
  readonly address: string;
  readonly port: number;
}

const namespace = "kube-system";

/** Ports of upstream's components: PortOfKubeScheduler and PortOfKubeControllerManager. */
export const componentPorts = { "kube-scheduler": 10_259, "kube-controller-manager": 10_257 } as const;

/** Removes the Services of components that pods do not reach, which an earlier start may have left. */
export async function unpublishComponents(client: Client, names: readonly string[]): Promise<void> {
  for (const name of names)
    for (const kind of [Service, Endpoints])
      await client
        .resource(kind as Kind<Service | Endpoints>, { ignoreWarnings: true })
        .delete({ namespace, name })
        .catch((error: unknown) => {
          if (!StatusError.is(error, "NotFound")) throw error;
        });
}

/**
 * Makes components of the control plane known by Services without selectors, since no pods run them. The
 * label and the name of the port are those that the ServiceMonitors of kube-prometheus select.
 */
export async function publishComponents(client: Client, places: readonly ComponentPlace[]): Promise<void> {
  await Promise.all(places.map((place) => publish(client, place)));
}

async function publish(client: Client, { name, address, port }: ComponentPlace): Promise<void> {
  const metadata = { name, namespace, labels: { "app.kubernetes.io/name": name, component: name } };
  const options = { fieldManager: "dray", force: true };
  const portName = "https-metrics";
  await client
    .resource(Service)
    .apply({ metadata, spec: { clusterIP: "None", ports: [{ name: portName, port }] } }, options);
  // Its EndpointSlice is a mirror of them.
  await client
    .resource(Endpoints, { ignoreWarnings: true })
    .apply(
      { metadata, subsets: [{ addresses: [{ ip: address }], ports: [{ name: portName, port }] }] },
      options,
    );
}
