/**
 * A node without containers: does through the API what a kubelet does (its Node, Lease, ResourceSlice, tokens
 * and the statuses of its pods), as the user that a kubelet is, so that the node authorizer and
 * NodeRestriction take part.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { StatusError } from "@dray/api";
import { Lease } from "@dray/api/coordination/v1";
import {
  ConfigMap,
  type ContainerStatus,
  Node,
  type NodeStatus,
  Pod,
  Secret,
  ServiceAccount,
} from "@dray/api/core/v1";
import { podClaims } from "@dray/api/pod";
import { ResourceClaim, ResourceSlice } from "@dray/api/resource/v1";
import { type Client, ConnectionError } from "@dray/client";
import type { Users } from "./credentials.ts";

export const driver = "gpu.interop.dray.test";
const devices = 4;
const leaseNamespace = "kube-node-lease";
/** Of the Lease, as the kubelet renews it. */
const renewMilliseconds = 10_000;
/** A tenth of a second apart. */
const attempts = 100;

const seconds = (): string => `${new Date().toISOString().slice(0, 19)}Z`;

export interface HollowNode {
  readonly name: string;
  /** Refused requests and other failures. Empty if all is well. */
  readonly failures: readonly string[];
  stop(): Promise<void>;
}

/** Registers node number `index` and begins to run the pods that are bound to it. */
export async function startHollowNode(users: Users, index: number): Promise<HollowNode> {
  const name = `hollow-${index}`;
  const client = await users.client(`system:node:${name}`, ["system:nodes"]);
  const failures: string[] = [];
  const stop = new AbortController();
  await register(client, name, index);
  const uid = (await client.resource(Node).get({ name })).metadata.uid;
  await renew(client, name, uid);
  const running = new Map<string, Promise<void>>();
  const sync = (seen: Pod): void => {
    const { uid, namespace, name: podName } = seen.metadata;
    const step = async (): Promise<void> => {
      for (let attempt = 1; !stop.signal.aborted; attempt++) {
        const pod = pods.get({ namespace, name: podName });
        if (pod?.metadata.uid !== uid) return;
        try {
          return await runPod(client, name, index, pod);
        } catch (error) {
          if (!isPassing(error) || attempt === attempts) throw error;
          await sleep(100);
        }
      }
    };
    const work = (running.get(uid) ?? Promise.resolve()).then(step).catch((error: Error) => {
      if (!stop.signal.aborted) failures.push(`${name}: pod ${namespace}/${podName}: ${error.message}`);
    });
    running.set(uid, work);
  };
  const pods = client.informer(Pod, { fieldSelector: `spec.nodeName=${name}` });
  pods.handle({ add: sync, update: sync, delete: (pod) => running.delete(pod.metadata.uid) });
  await pods.start(stop.signal);
  const heart = setInterval(() => {
    renew(client, name, uid).catch((error: Error) => {
      if (!(error instanceof ConnectionError)) failures.push(`${name}: lease: ${error.message}`);
    });
  }, renewMilliseconds);
  return {
    name,
    failures,
    async stop() {
      clearInterval(heart);
      stop.abort();
      await Promise.all(running.values());
      client.close();
    },
  };
}

async function register(client: Client, name: string, index: number): Promise<void> {
  const labels = {
    "kubernetes.io/hostname": name,
    "kubernetes.io/os": "linux",
    "kubernetes.io/arch": "amd64",
  };
  const amounts = { cpu: "16", memory: "64Gi", pods: "110", "ephemeral-storage": "100Gi" };
  const node = await client.resource(Node).create({ metadata: { name, labels }, spec: {} });
  const now = seconds();
  const condition = (type: string, status: string, reason: string, message: string) => ({
    type,
    status,
    reason,
    message,
    lastHeartbeatTime: now,
    lastTransitionTime: now,
  });
  const status: NodeStatus = {
    capacity: amounts,
    allocatable: amounts,
    addresses: [
      { type: "InternalIP", address: `192.0.2.${index + 1}` },
      { type: "Hostname", address: name },
    ],
    conditions: [
      condition(
        "MemoryPressure",
        "False",
        "KubeletHasSufficientMemory",
        "kubelet has sufficient memory available",
      ),
      condition("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
      condition("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
      condition("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
    ],
  };
  await client.resource(Node).patch({ name }, "strategic", { status }, { subresource: "status" });
  await client.resource(ResourceSlice).create({
    metadata: {
      name: `${name}-${driver}`,
      ownerReferences: [{ apiVersion: "v1", kind: "Node", name, uid: node.metadata.uid, controller: true }],
    },
    spec: {
      driver,
      nodeName: name,
      pool: { name, generation: 1, resourceSliceCount: 1 },
      devices: Array.from({ length: devices }, (_, device) => ({
        name: `gpu-${device}`,
        attributes: { model: { string: device % 2 === 0 ? "small" : "large" }, index: { int: device } },
        capacity: { memory: { value: "16Gi" } },
      })),
    },
  });
}

async function renew(client: Client, name: string, uid: string): Promise<void> {
  const leases = client.resource(Lease);
  const spec = {
    holderIdentity: name,
    leaseDurationSeconds: 40,
    renewTime: new Date().toISOString().replace("Z", "000Z"),
  };
  try {
    const lease = await leases.get({ namespace: leaseNamespace, name });
    await leases.update({ ...lease, spec: { ...lease.spec, ...spec } });
  } catch (error) {
    if (!StatusError.is(error, "NotFound")) throw error;
    const ownerReferences = [{ apiVersion: "v1", kind: "Node", name, uid }];
    await leases.create({ metadata: { namespace: leaseNamespace, name, ownerReferences }, spec });
  }
}

/**
 * Failures that a kubelet waits out: no answer, a write that came too late, and what the node authorizer says
 * of a pod that it has not yet seen on this node, or no longer.
 */
const isPassing = (error: unknown): boolean =>
  error instanceof ConnectionError ||
  StatusError.is(error, "Conflict") ||
  StatusError.is(error, "NotFound") ||
  (StatusError.is(error, "Forbidden") &&
    /no relationship found between node|on a different node/.test(error.message));

/** One step for a pod: starts it, ends it if it is meant to end, or takes it away. */
async function runPod(client: Client, node: string, index: number, pod: Pod): Promise<void> {
  const ref = { namespace: pod.metadata.namespace, name: pod.metadata.name };
  const pods = client.resource(Pod);
  const report = (status: object) =>
    pods.patch(ref, "strategic", { metadata: { uid: pod.metadata.uid }, status }, { subresource: "status" });
  if (pod.metadata.deletionTimestamp !== undefined) {
    if (pod.status?.phase === "Running") await report(ended(pod, "Running"));
    await pods.delete(ref, { gracePeriodSeconds: 0, preconditions: { uid: pod.metadata.uid } });
    return;
  }
  if (pod.status?.phase === "Pending") {
    await prepare(client, pod, node);
    await report(started(pod, index));
  } else if (pod.status?.phase === "Running" && pod.spec.restartPolicy !== "Always") {
    await sleep(100);
    await report(ended(pod, "Succeeded"));
  }
}

/** Fetches the objects that a kubelet fetches before it starts the containers of a pod. */
async function prepare(client: Client, pod: Pod, node: string): Promise<void> {
  const { namespace } = pod.metadata;
  for (const { configMap, secret, projected } of pod.spec.volumes ?? []) {
    if (configMap?.name !== undefined)
      await client.resource(ConfigMap).get({ namespace, name: configMap.name });
    if (secret?.secretName !== undefined)
      await client.resource(Secret).get({ namespace, name: secret.secretName });
    for (const source of projected?.sources ?? []) {
      if (source.configMap?.name !== undefined)
        await client.resource(ConfigMap).get({ namespace, name: source.configMap.name });
      if (source.serviceAccountToken !== undefined)
        await client
          .resource(ServiceAccount)
          .post({ namespace, name: pod.spec.serviceAccountName ?? "default" }, "token", {
            apiVersion: "authentication.k8s.io/v1",
            kind: "TokenRequest",
            spec: {
              audiences: [],
              expirationSeconds: source.serviceAccountToken.expirationSeconds,
              boundObjectRef: {
                apiVersion: "v1",
                kind: "Pod",
                name: pod.metadata.name,
                uid: pod.metadata.uid,
              },
            },
          });
    }
  }
  for (const { entry, name: claimName } of podClaims(pod)) {
    if (claimName === null) continue;
    if (claimName === undefined) throw new Error(`its claim ${entry?.name} is not named in its status`);
    const claim = await client.resource(ResourceClaim).get({ namespace, name: claimName });
    const results = claim.status?.allocation?.devices?.results ?? [];
    if (results.length === 0 || results.some(({ pool }) => pool !== node))
      throw new Error(`its claim ${claimName} has no device of this node`);
    if (!claim.status?.reservedFor?.some(({ uid }) => uid === pod.metadata.uid))
      throw new Error(`its claim ${claimName} is not reserved for it`);
  }
}

const conditions = (ready: string) =>
  ["PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready"].map((type) => ({
    type,
    status: type === "Initialized" ? "True" : ready,
    lastTransitionTime: seconds(),
  }));

function started(pod: Pod, index: number): object {
  const now = seconds();
  const ip = `10.244.${index}.${2 + (Number.parseInt(pod.metadata.uid.slice(0, 4), 16) % 250)}`;
  return {
    phase: "Running",
    hostIP: `192.0.2.${index + 1}`,
    hostIPs: [{ ip: `192.0.2.${index + 1}` }],
    podIP: ip,
    podIPs: [{ ip }],
    startTime: now,
    conditions: conditions("True"),
    containerStatuses: pod.spec.containers.map(({ name, image }) => ({
      name,
      image,
      imageID: `hollow://${image}`,
      containerID: `hollow://${pod.metadata.uid}/${name}`,
      ready: true,
      started: true,
      restartCount: 0,
      state: { running: { startedAt: now } },
    })),
  };
}

function ended(pod: Pod, phase: string): object {
  const finished = (status: ContainerStatus): object => ({
    ...status,
    ready: false,
    started: false,
    state: {
      terminated: {
        exitCode: 0,
        reason: "Completed",
        startedAt: status.state?.running?.startedAt ?? seconds(),
        finishedAt: seconds(),
        containerID: status.containerID,
      },
    },
  });
  return {
    phase,
    conditions: conditions("False"),
    containerStatuses: (pod.status?.containerStatuses ?? []).map(finished),
  };
}
