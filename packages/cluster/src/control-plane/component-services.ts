import { Endpoints, Service } from "@dray/api/core/v1";
import type { Client } from "@dray/client";

/** Address of a component of the control plane. */
export interface ComponentPlace {
  /** `kube-scheduler` */
  readonly name: string;
  readonly address: string;
  readonly port: number;
}

/** Ports of upstream's components: PortOfKubeScheduler and PortOfKubeControllerManager. */
export const componentPorts = { "kube-scheduler": 10_259, "kube-controller-manager": 10_257 } as const;

/**
 * Makes components of the control plane known by Services without selectors, since no pods run them. The
 * label and the name of the port are those that the ServiceMonitors of kube-prometheus select.
 */
export async function publishComponents(client: Client, places: readonly ComponentPlace[]): Promise<void> {
  await Promise.all(places.map((place) => publish(client, place)));
}

async function publish(client: Client, { name, address, port }: ComponentPlace): Promise<void> {
  const namespace = "kube-system";
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
