import { StatusError } from "@dray/api";
import { Namespace, Pod } from "@dray/api/core/v1";
import { ResourceClaim, ResourceSlice } from "@dray/api/resource/v1";
import type { Client } from "@dray/client";

/** One step of the tutorial: its explanation, its command, and the condition for the next step. */
export interface Step {
  readonly heading?: string;
  readonly words: string;
  readonly command: string;
  /** Polled until it resolves to true: the step has taken effect. */
  readonly until?: (client: Client) => Promise<boolean>;
}

const namespace = "dra-tutorial";
const driverLabel = "app.kubernetes.io/name=dra-example-driver";

async function podsRunning(client: Client, labelSelector: string, count: number): Promise<boolean> {
  const { items } = await client.resource(Pod).list({ namespace, labelSelector });
  const ready = items.filter((pod) =>
    pod.status?.conditions?.some((c) => c.type === "Ready" && c.status === "True"),
  );
  return ready.length === count && items.length === count;
}

async function slices(client: Client): Promise<number> {
  return (await client.resource(ResourceSlice).list()).items.length;
}

async function allocated(client: Client): Promise<boolean> {
  const claim = await client.resource(ResourceClaim).get({ namespace, name: "some-gpu" });
  return claim.status?.allocation !== undefined;
}

async function gone(client: Client): Promise<boolean> {
  try {
    await client.resource(Namespace).get({ name: namespace });
    return false;
  } catch (error) {
    if (StatusError.is(error, "NotFound")) return true;
    throw error;
  }
}

/**
 * The tutorial "Install Drivers and Allocate Devices with DRA" of the Kubernetes documentation, on `nodes`
 * nodes.
 */
export function tutorial(files: string, nodes: number): Step[] {
  const apply = (file: string): string => `kubectl apply --server-side -f ${files}/${file}`;
  return [
    {
      heading: "Explore the initial cluster state",
      words: "No driver is installed, so there is no class of devices,",
      command: "kubectl get deviceclasses",
    },
    { words: "no device is advertised,", command: "kubectl get resourceslices" },
    {
      words: "and nothing claims one.",
      command: "kubectl get resourceclaims -A; kubectl get resourceclaimtemplates -A",
    },
    {
      heading: "Install the example driver",
      words: "A namespace makes the clean-up easy.",
      command: "kubectl create namespace dra-tutorial",
    },
    { words: "The class of devices that the driver serves.", command: apply("deviceclass.yaml") },
    { words: "The account of the driver,", command: apply("serviceaccount.yaml") },
    { words: "its rights,", command: apply("clusterrole.yaml") },
    { words: "and the binding that grants them to the account.", command: apply("clusterrolebinding.yaml") },
    { words: "Drivers should not be preempted.", command: apply("priorityclass.yaml") },
    {
      words: "The driver itself, on every node. It simulates nine GPUs on each.",
      command: apply("daemonset.yaml"),
      until: async (client) =>
        (await podsRunning(client, driverLabel, nodes)) && (await slices(client)) === nodes,
    },
    { words: "Its pods run,", command: `kubectl get pod -l ${driverLabel} -n dra-tutorial` },
    { words: "and each advertises the devices of its node.", command: "kubectl get resourceslices" },
    {
      heading: "Claim a device and run a pod with it",
      words: "The claim asks for a GPU with at least 10Gi of memory.",
      command: apply("example/resourceclaim.yaml"),
    },
    {
      words: "The pod refers to the claim.",
      command: apply("example/pod.yaml"),
      until: (client) => podsRunning(client, "app=pod", 1),
    },
    { words: "It runs,", command: "kubectl get pod pod0 -n dra-tutorial" },
    {
      words: "and has the name of its GPU in a variable that the driver set.",
      command: `kubectl logs pod0 -c ctr0 -n dra-tutorial | grep -E "GPU_DEVICE_[0-9]+=" | grep -v "RESOURCE_CLAIM"`,
    },
    {
      words: "The claim is allocated, and reserved for the pod.",
      command: "kubectl get resourceclaims -n dra-tutorial",
    },
    {
      words: "Its status says which device, on which node, for whom.",
      command: "kubectl get resourceclaim some-gpu -n dra-tutorial -o yaml",
    },
    {
      words: "The driver's log shows how it prepared the device.",
      command: `kubectl logs -l ${driverLabel} -n dra-tutorial`,
    },
    {
      heading: "Delete the pod",
      words: "With its last pod the claim loses the device.",
      command: "kubectl delete pod pod0 -n dra-tutorial",
      until: async (client) => !(await allocated(client)),
    },
    { words: "The claim waits for the next pod,", command: "kubectl get resourceclaims -n dra-tutorial" },
    {
      words: "and the driver has unprepared the device.",
      command: `kubectl logs -l ${driverLabel} -n dra-tutorial`,
    },
    {
      heading: "Clean up",
      words: "Deleting the namespace deletes all that is in it.",
      command: "kubectl delete namespace dra-tutorial",
      until: gone,
    },
    { words: "The rest belongs to the cluster.", command: "kubectl delete deviceclass gpu.example.com" },
    { words: "", command: "kubectl delete clusterrole dra-example-driver-role" },
    { words: "", command: "kubectl delete clusterrolebinding dra-example-driver-role-binding" },
    { words: "", command: "kubectl delete priorityclass dra-driver-high-priority" },
  ];
}
