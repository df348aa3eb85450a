import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { eventually } from "@dray/testing/eventually";
import { type ExposedSample, readExposition } from "@dray/testing/exposition";
import { httpsRequest } from "@dray/testing/http";
import { startCluster, type TestCluster, withoutKubectl } from "./harness.ts";
import { readMetrics, type Scraped } from "./metrics/mixin.ts";

const workload = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: kept}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: keeper}
spec:
  containers:
  - name: main
    image: busybox
    command: [sleep, "1000"]
    readinessProbe: {exec: {command: ["true"]}, periodSeconds: 1}
    volumeMounts: [{name: data, mountPath: /data}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: kept}}]
`;

/** User and rights of Prometheus in kube-prometheus (manifests/prometheus-clusterRole.yaml). */
const prometheus = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: prometheus-k8s}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: prometheus-k8s}
rules:
- {apiGroups: [""], resources: [nodes/metrics], verbs: [get]}
- {nonResourceURLs: [/metrics, /metrics/slis], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: prometheus-k8s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: prometheus-k8s}
subjects: [{kind: ServiceAccount, name: prometheus-k8s, namespace: default}]
`;

/** Services by which ServiceMonitors find a component: their label and the name of the port. */
const services: Readonly<Record<string, { readonly selector: string; readonly port: string }>> = {
  apiserver: { selector: "component=apiserver,provider=kubernetes", port: "https" },
  "kube-scheduler": { selector: "app.kubernetes.io/name=kube-scheduler", port: "https-metrics" },
  "kube-controller-manager": {
    selector: "app.kubernetes.io/name=kube-controller-manager",
    port: "https-metrics",
  },
};

interface Slice {
  readonly ports: readonly { readonly name: string; readonly port: number }[];
  readonly endpoints: readonly { readonly addresses: readonly string[] }[];
}

describe("the configuration of kube-prometheus", { skip: withoutKubectl }, () => {
  let cluster: TestCluster;
  let token = "";
  before(async () => {
    cluster = await startCluster("--nodes", "1", "--store", "memory");
    const applied = await cluster.tryKubectl(["apply", "-f", "-"], `${prometheus}---${workload}`);
    assert.equal(applied.code, 0, applied.stderr);
    await cluster.kubectl("wait", "--for=condition=Ready", "pod/keeper", "--timeout=60s");
    token = (await cluster.kubectl("create", "token", "prometheus-k8s")).trim();
  });
  after(() => cluster?.down());

  async function json<T>(...args: string[]): Promise<T> {
    return JSON.parse(await cluster.kubectl(...args, "-o", "json")) as T;
  }

  /** `host:port` of a component, as Prometheus discovers it. */
  async function placeOf(component: string): Promise<string> {
    const service = services[component];
    if (service === undefined) {
      const [address = "", port = ""] = await Promise.all(
        [
          '{.items[0].status.addresses[?(@.type=="InternalIP")].address}',
          "{.items[0].status.daemonEndpoints.kubeletEndpoint.Port}",
        ].map((path) => cluster.kubectl("get", "nodes", "-o", `jsonpath=${path}`)),
      );
      return `${address}:${port}`;
    }
    const all = await json<{ items: { metadata: { namespace: string; name: string } }[] }>(
      ...["get", "services", "-A", "-l", service.selector],
    );
    assert.equal(all.items.length, 1, `one Service of ${component}`);
    const { namespace, name } = all.items[0]!.metadata;
    const slices = await json<{ items: Slice[] }>(
      ...["get", "endpointslices", "-n", namespace, "-l", `kubernetes.io/service-name=${name}`],
    );
    const [{ ports = [], endpoints = [] } = {}] = slices.items;
    const port = ports.find((one) => one.name === service.port)?.port;
    return `${endpoints[0]?.addresses[0]}:${port}`;
  }

  async function scrape(from: Scraped): Promise<ReturnType<typeof readExposition>> {
    const [component = "", path = ""] = from.split(" ");
    const { status, body } = await httpsRequest(`https://${await placeOf(component)}${path}`, {
      rejectUnauthorized: false,
      headers: { authorization: `Bearer ${token}` },
    });
    assert.equal(status, 200, `${from}: ${body}`);
    return readExposition(body.toString());
  }

  for (const from of new Set(readMetrics.map((one) => one.from)))
    test(`${from} has the metrics and labels that dashboards and alerts read`, async () => {
      const rows = readMetrics.filter((one) => one.from === from);
      const missing = async (): Promise<string[]> => {
        const samples = [...(await scrape(from)).values()].flatMap((metric) => metric.samples);
        return rows.flatMap(({ name, labels, maybe }) => {
          const own = samples.filter((sample) => sample.name === name);
          const isThere = own.some((sample) => labels.every((label) => hasValue(sample, label)));
          const fits = own.every((sample) => labels.every((label) => label in sample.labels));
          return fits && (isThere || maybe) ? [] : [`${name}{${labels.join()}}`];
        });
      };
      // Some are counted a moment after what they count, such as the first probe.
      await eventually(`nothing is missing at ${from}`, async () => (await missing()).length === 0).catch(
        async () => assert.deepEqual(await missing(), []),
      );
    });
});

function hasValue({ labels }: ExposedSample, label: string): boolean {
  return (labels[label] ?? "") !== "";
}
