/** Helpers of trials for nodes, and for pods in the namespace `default`. */
import { type Container, Node, Pod, type PodSpec } from "@dray/api/core/v1";
import type { Client } from "@dray/client";
import { eventually } from "@dray/testing/eventually";

export const namespace = "default";

/** Creates a pod of one container that runs a command of this machine once. */
export function runOnce(
  client: Client,
  name: string,
  main: Omit<Container, "name">,
  spec: Partial<PodSpec> = {},
): Promise<Pod> {
  return client.resource(Pod).create({
    metadata: { name, namespace },
    spec: {
      restartPolicy: "Never",
      terminationGracePeriodSeconds: 5,
      containers: [{ name: "main", image: "host", ...main }],
      ...spec,
    },
  });
}

/** Waits until the pod has ended; returns its log. Rejects if it has failed. */
export async function outputOf(client: Client, name: string): Promise<string> {
  const { status } = await eventually(`the end of pod ${name}`, async () => {
    const pod = await client.resource(Pod).get({ namespace, name });
    return ["Succeeded", "Failed"].includes(pod.status?.phase ?? "") && pod;
  });
  if (status?.phase === "Succeeded") return logOf(client, name);
  const log = status?.reason === undefined ? await logOf(client, name) : "";
  throw new Error(`pod ${name} is ${status?.phase}: ${status?.message ?? ""}\n${log}`);
}

export function logOf(client: Client, name: string): Promise<string> {
  return client.text("GET", `/api/v1/namespaces/${namespace}/pods/${name}/log`);
}

/** Waits until the node has this capacity of an extended resource, and this much of it allocatable. */
export async function nodeOffers(
  client: Client,
  name: string,
  resource: string,
  { capacity, allocatable }: { readonly capacity: number; readonly allocatable: number },
): Promise<void> {
  await eventually(`${allocatable} of ${capacity} ${resource}`, async () => {
    const { status } = await client.resource(Node).get({ name });
    return (
      status?.capacity?.[resource] === String(capacity) &&
      status.allocatable?.[resource] === String(allocatable)
    );
  });
}

/** Waits until the scheduler says that no node has enough for a pod; returns its message. */
export async function unschedulable(client: Client, name: string): Promise<string> {
  return eventually(`pod ${name} cannot be scheduled`, async () => {
    const { status } = await client.resource(Pod).get({ namespace, name });
    return status?.conditions?.find(({ reason }) => reason === "Unschedulable")?.message;
  });
}

/** Waits until the pod is gone. */
export async function deletePod(client: Client, name: string): Promise<void> {
  const pods = client.resource(Pod);
  await pods.delete({ namespace, name });
  await eventually(`pod ${name} is gone`, async () => {
    const { items } = await pods.list({ namespace });
    return !items.some(({ metadata }) => metadata.name === name);
  });
}
