import assert from "node:assert/strict";
import { test } from "node:test";
import type { Kind, KubeObject } from "@dray/api";
import { DaemonSet, Deployment, ReplicaSet, StatefulSet } from "@dray/api/apps/v1";
import { CronJob, Job } from "@dray/api/batch/v1";
import { Event, Pod, ReplicationController, ResourceQuota, Service } from "@dray/api/core/v1";
import { ResourceClaimTemplate } from "@dray/api/resource/v1";
import {
  type ControllerContext,
  servedResources,
  startCronJobController,
  startDaemonSetController,
  startDeploymentController,
  startEndpointSliceController,
  startEndpointsController,
  startEphemeralVolumeController,
  startJobController,
  startReplicaSetController,
  startReplicationController,
  startResourceClaimController,
  startStatefulSetController,
} from "@dray/controllers";
import { createInformers } from "./shared/informers.ts";
import { type TestCluster, withCluster } from "./testing/cluster.ts";
import { countingClient } from "./testing/write-counts.ts";

const labels = { app: "a" };
const template = { metadata: { labels }, spec: { containers: [{ name: "c", image: "i" }] } };
const onFailure = { ...template, spec: { ...template.spec, restartPolicy: "OnFailure" } };
const selector = { matchLabels: labels };
const podTemplate = { metadata: { labels }, spec: template.spec };

interface Case {
  readonly start: (context: ControllerContext) => Promise<unknown>;
  /** The objects, of which the last has the events. */
  readonly objects: readonly (readonly [kind: Kind<KubeObject>, object: object])[];
  /** The resource of the objects that are refused. */
  readonly refused: string;
  readonly tries: string;
}

const of = <T extends KubeObject>(kind: Kind<T>, spec: object): Case["objects"][number] => [
  kind as unknown as Kind<KubeObject>,
  { metadata: { name: "x", labels }, spec },
];
const withClaim = { ...template.spec, resourceClaims: [{ name: "g", resourceClaimTemplateName: "x" }] };
const scratch = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };
const volumes = [{ name: "v", ephemeral: { volumeClaimTemplate: { spec: scratch } } }];
const claimSpec = { devices: { requests: [{ name: "g", exactly: { deviceClassName: "g" } }] } };

/** Each controller that makes objects for others. */
const cases: Readonly<Record<string, Case>> = {
  replicaset: {
    start: startReplicaSetController,
    objects: [of(ReplicaSet, { replicas: 3, selector, template: podTemplate })],
    refused: "pods",
    tries: "create Pod",
  },
  replicationcontroller: {
    start: startReplicationController,
    objects: [of(ReplicationController, { replicas: 3, selector: labels, template: podTemplate })],
    refused: "pods",
    tries: "create Pod",
  },
  deployment: {
    start: startDeploymentController,
    objects: [of(Deployment, { replicas: 3, selector, template: podTemplate })],
    refused: "replicasets.apps",
    tries: "create ReplicaSet",
  },
  statefulset: {
    start: startStatefulSetController,
    objects: [of(StatefulSet, { replicas: 3, selector, template: podTemplate, serviceName: "x" })],
    refused: "pods",
    tries: "create Pod",
  },
  daemonset: {
    start: startDaemonSetController,
    objects: [of(DaemonSet, { selector, template: podTemplate })],
    refused: "pods",
    tries: "create Pod",
  },
  job: {
    start: startJobController,
    objects: [of(Job, { parallelism: 3, completions: 3, template: onFailure })],
    refused: "pods",
    tries: "create Pod",
  },
  cronjob: {
    start: startCronJobController,
    objects: [of(CronJob, { schedule: "* * * * *", jobTemplate: { spec: { template: onFailure } } })],
    refused: "jobs.batch",
    tries: "create Job",
  },
  resourceclaim: {
    start: async (context) => startResourceClaimController(context, await servedResources(context)),
    objects: [of(ResourceClaimTemplate, { spec: claimSpec }), of(Pod, withClaim)],
    refused: "resourceclaims.resource.k8s.io",
    tries: "create ResourceClaim",
  },
  ephemeral: {
    start: startEphemeralVolumeController,
    objects: [of(Pod, { ...template.spec, volumes })],
    refused: "persistentvolumeclaims",
    tries: "create PersistentVolumeClaim",
  },
  endpointslice: {
    start: startEndpointSliceController,
    objects: [of(Service, { selector: labels, ports: [{ port: 80 }] })],
    refused: "endpointslices.discovery.k8s.io",
    tries: "create EndpointSlice",
  },
  endpoint: {
    start: startEndpointsController,
    objects: [of(Service, { selector: labels, ports: [{ port: 80 }] })],
    refused: "endpoints",
    tries: "create Endpoints",
  },
};

/** Rounds of one key with 5 ms before the second, doubled with each, in a minute: 14. */
const maxTries = 16;
/** Nine messages one by one, the others combined. */
const maxEvents = 10;
/** The first round, and one more at most that the controller's own status asks for. */
const maxStatusWrites = 2;

async function refuse(cluster: TestCluster, resource: string): Promise<void> {
  const hard = { [`count/${resource}`]: "0" };
  const quota = await cluster.create(ResourceQuota, { metadata: { name: "none" }, spec: { hard } });
  await cluster.client
    .resource(ResourceQuota)
    .update({ ...quota, status: { hard, used: { [`count/${resource}`]: "0" } } }, { subresource: "status" });
}

for (const [name, { start, objects, refused, tries }] of Object.entries(cases))
  test(`${name}: a refusal that lasts costs a bounded number of writes and events`, () =>
    withCluster(
      async () => {},
      async (cluster) => {
        await cluster.node("n");
        await refuse(cluster, refused);
        const { client, counts } = countingClient(cluster.context.client);
        await start({ ...cluster.context, client, informers: createInformers(client) });
        for (const [kind, object] of objects) await cluster.create(kind, object);
        await cluster.settle();
        if (name === "cronjob") cluster.clock.advance(60_000);
        await cluster.clock.advanceInSteps(60_000, 200);
        const counted = Object.fromEntries(counts);
        const owner = objects.at(-1)![0].kind;
        const status = (counts.get(`update ${owner}`) ?? 0) + (counts.get(`apply ${owner}`) ?? 0);
        const events = await cluster.list(Event);
        const message = JSON.stringify(counted);
        assert.ok((counts.get(tries) ?? 0) >= 5, message);
        assert.ok((counts.get(tries) ?? 0) <= maxTries, message);
        assert.ok(status <= maxStatusWrites, message);
        assert.ok(events.length > 0 && events.length <= maxEvents, `${events.length} events: ${message}`);
        assert.ok((counts.get("create Event") ?? 0) <= maxEvents, message);
        assert.ok((counts.get("patch Event") ?? 0) <= maxTries, message);
        cluster.problems.length = 0;
      },
    ));
