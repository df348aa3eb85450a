import type { Event } from "@dray/api/core/v1";
import { type Manifest, plain, pod } from "../plan/testing.ts";
import { cluster, finds, now, rule, uidOfPod } from "./testing.ts";

const service = (more: object = {}): Manifest => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: "web", namespace: "default", uid: "web" },
  spec: { selector: { app: "web" }, ports: [{ port: 80 }], ...more },
});

const endpoints = (ready: boolean, namespace = "default"): Manifest => ({
  apiVersion: "discovery.k8s.io/v1",
  kind: "EndpointSlice",
  metadata: { name: "web-1", namespace, labels: { "kubernetes.io/service-name": "web" } },
  addressType: "IPv4",
  endpoints: [{ addresses: ["10.0.0.1"], conditions: { ready } }],
  ports: [],
});

const event = (reason: string, about: object, message: string, more: object = {}): Event =>
  ({
    apiVersion: "v1",
    kind: "Event",
    metadata: { name: reason, namespace: "default", uid: reason, resourceVersion: "1" },
    involvedObject: { namespace: "default", name: "web", ...about },
    reason,
    message,
    lastTimestamp: new Date(now - 60_000).toISOString(),
    ...more,
  }) as unknown as Event;

rule("endpoints-not-written", () => {
  const text =
    "Error updating Endpoint Slices for Service default/web: 127.0.0.2 may not be in the loopback range";
  const message = "endpoints-not-written: Service default/web its endpoints cannot be written";
  const failed = event("FailedToUpdateEndpointSlices", { kind: "Service", uid: "web" }, text, { count: 5 });
  finds(cluster([service()]), [message], {
    around: { events: [failed] },
    evidence: /FailedToUpdateEndpointSlices, 5 times, the last at .*may not be in the loopback range/,
    fix: "kubectl get endpointslices -n default -l kubernetes.io/service-name=web -o wide",
  });
  // Endpoints that could not be created have no uid.
  const endpoint = event("FailedToCreateEndpoint", { kind: "Endpoints" }, "Failed to create endpoint");
  finds(cluster([service()]), [message], { around: { events: [endpoint] } });
  const other = event("FailedToUpdateEndpointSlices", { kind: "Service", uid: "before" }, text);
  const old = { ...failed, lastTimestamp: new Date(now - 20 * 60_000).toISOString() };
  finds(cluster([service()]), [], { around: { events: [other, old] } });
});

rule("endpoints-not-ready", () => {
  const web = (name: string, ready: string, since = "2026-01-01T11:50:00Z"): Manifest =>
    pod(
      name,
      plain({ nodeName: "a" }),
      { uid: uidOfPod(name), labels: { app: "web" } },
      {
        status: {
          phase: "Running",
          conditions: [{ type: "Ready", status: ready, lastTransitionTime: since }],
        },
      },
    );
  const message = "endpoints-not-ready: Service default/web none of its pods is ready: w";
  const unhealthy = event(
    "Unhealthy",
    { kind: "Pod", name: "w", uid: uidOfPod("w") },
    "Readiness probe failed: 404",
  );
  finds(cluster([service(), web("w", "False")]), [message], {
    around: { events: [unhealthy] },
    evidence: /pod default\/w: Unhealthy: Readiness probe failed: 404/,
    fix: "kubectl describe pod w -n default",
  });
  finds(cluster([service(), web("w", "False"), web("v", "True")]), []);
  finds(cluster([service(), web("w", "False", "2026-01-01T11:59:30Z")]), []);
  finds(cluster([service({ publishNotReadyAddresses: true }), web("w", "False")]), []);
  finds(cluster([service({ selector: { app: "other" } }), web("w", "False")]), []);
});

rule("service-port-not-served", () => {
  const about = { kind: "Service", uid: "web" };
  const text =
    "127.64.0.9:8080 is not served: another program of this machine has the port (see ss -ltnup); it is tried again every 5 s";
  finds(
    cluster([service()]),
    ["service-port-not-served: Service default/web port 8080 is not served by a node"],
    {
      around: { events: [event("PortInUse", about, text)] },
      evidence: /event PortInUse, at .*another program of this machine has the port/,
      fix: "ss -ltnup 'sport = :8080'",
    },
  );
  finds(
    cluster([service()]),
    ["service-port-not-served: Service default/web some of its ports are not served by a node"],
    {
      around: { events: [event("TooManyPorts", about, "too many")] },
    },
  );
  finds(cluster([]), [], { around: { events: [event("PortInUse", about, text)] } });
});

/** A webhook with these settings. */
const webhook = (more: object = {}, kind = "ValidatingWebhookConfiguration"): Manifest => ({
  apiVersion: "admissionregistration.k8s.io/v1",
  kind,
  metadata: { name: "check" },
  webhooks: [
    {
      name: "check.example.com",
      admissionReviewVersions: ["v1"],
      sideEffects: "None",
      failurePolicy: "Fail",
      clientConfig: { service: { namespace: "default", name: "web" } },
      ...more,
    },
  ],
});

/** There is always a webhook of each kind, so that all are known. */
const idle = webhook(
  { clientConfig: { url: "https://example.com/" }, name: "idle.example.com" },
  "MutatingWebhookConfiguration",
);

rule("webhook-down", () => {
  const message = "webhook-down: ValidatingWebhookConfiguration check webhook check.example.com is down";
  const around = (...objects: readonly Manifest[]): readonly Manifest[] => cluster([idle, ...objects]);
  finds(around(webhook(), service(), endpoints(true)), []);
  finds(around(webhook(), service(), endpoints(false)), [message], {
    evidence: /Service default\/web has 1 endpoints, none of them ready\nfailurePolicy is Fail/,
    fix: "kubectl get pods -n default -l app=web -o wide",
  });
  finds(around(webhook(), service(), endpoints(true, "other")), [message], {
    evidence: /web has no endpoints/,
  });
  const other = { ...service(), metadata: { name: "other", namespace: "default", uid: "other" } };
  finds(around(webhook({ failurePolicy: "Ignore" }), other, endpoints(true)), [`warning ${message}`], {
    evidence: /there is no Service default\/web/,
    fix: "kubectl delete validatingwebhookconfiguration check",
  });
  // One that is outside of the cluster: what others report of it.
  const url = webhook({ clientConfig: { url: "https://example.com/" } });
  const text = 'failed calling webhook "check.example.com": connection refused';
  const refused = event("FailedCreate", { kind: "ReplicaSet", name: "r" }, text);
  const fails = message.replace("is down", "fails");
  finds(around(url, service(), endpoints(true)), [fails], {
    around: { events: [refused] },
    evidence: /an event says: failed/,
  });
  const definition = {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "lamps.example.com" },
    spec: {
      group: "example.com",
      scope: "Cluster",
      names: { plural: "lamps", kind: "Lamp", singular: "lamp", listKind: "LampList" },
      versions: [
        { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } },
      ],
      conversion: {
        strategy: "Webhook",
        webhook: {
          conversionReviewVersions: ["v1"],
          clientConfig: { service: { namespace: "default", name: "gone" } },
        },
      },
    },
  };
  finds(around(url, service(), endpoints(true), definition), [
    "webhook-down: CustomResourceDefinition lamps.example.com webhook of conversion of lamps.example.com is down",
  ]);
});
