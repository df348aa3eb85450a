import assert from "node:assert/strict";
import { test } from "node:test";
import type { Node, NodeSelectorTerm, Pod, PodSpec } from "@dray/api/core/v1";
import { partial } from "@dray/testing/partial";
import { admit } from "./admission.ts";

const node = partial<Node>({
  metadata: { name: "worker-1", labels: { zone: "a", cores: "8", model: "gpu-x1" } },
  status: { allocatable: { cpu: "4", memory: "8Gi", pods: "3" } },
});

const podOf = (spec: Partial<PodSpec>): Pod =>
  partial<Pod>({ metadata: { name: "p" }, spec: { containers: [{ name: "main" }], ...spec } });

const reason = (spec: Partial<PodSpec>, others: readonly Partial<PodSpec>[] = []): string | undefined =>
  admit(podOf(spec), node, others.map(podOf), { useClaims: false })?.reason;

test("pod-level requests replace the requests of the containers", () => {
  const whole = (cpu: string): Partial<PodSpec> => ({
    containers: [{ name: "main", resources: { requests: { cpu: "100m" } } }],
    resources: { requests: { cpu } },
  });
  assert.equal(reason(whole("4")), undefined);
  assert.equal(reason(whole("5")), "OutOfcpu");
  // The pod counts in the admission of later ones.
  assert.equal(reason(whole("2"), [whole("3")]), "OutOfcpu");
  assert.equal(reason(whole("1"), [whole("3")]), undefined);
});

test("overhead and sidecars count, and the message says by how much it does not fit", () => {
  const spec: Partial<PodSpec> = {
    containers: [{ name: "main", resources: { requests: { memory: "4Gi" } } }],
    initContainers: [{ name: "side", restartPolicy: "Always", resources: { requests: { memory: "4Gi" } } }],
  };
  assert.equal(reason(spec), undefined);
  const over = admit(podOf({ ...spec, overhead: { memory: "1Mi" } }), node, [], { useClaims: false });
  assert.deepEqual(over, {
    reason: "OutOfmemory",
    message: "Node didn't have enough resource: memory, requested: 8590983168, used: 0, capacity: 8589934592",
  });
});

test("no more pods than the node takes", () => {
  assert.equal(reason({}, [{}, {}]), undefined);
  assert.equal(reason({}, [{}, {}, {}]), "OutOfpods");
});

test("a pod for another operating system than the node's is rejected", () => {
  const linux = { ...node, metadata: { ...node.metadata, labels: { "kubernetes.io/os": "linux" } } };
  const reasonOn = (pod: Pod) => admit(pod, linux, [], { useClaims: false })?.reason;
  const labelled = (os: string): Pod => {
    const pod = podOf({});
    return { ...pod, metadata: { ...pod.metadata, labels: { "kubernetes.io/os": os } } };
  };
  assert.equal(reasonOn(podOf({ os: { name: "linux" } })), undefined);
  assert.equal(reasonOn(podOf({ os: { name: "windows" } })), "PodOSNotSupported");
  assert.equal(reasonOn(labelled("linux")), undefined);
  assert.equal(reasonOn(labelled("windows")), "PodOSSelectorNodeLabelDoesNotMatch");
  assert.equal(reason({ os: { name: "windows" } }), undefined, "the node names none");
});

test("a node affinity with Gt on a label that is not a number rejects the pod without throwing", () => {
  const affinity = (...terms: NodeSelectorTerm[]): Partial<PodSpec> => ({
    affinity: {
      nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms } },
    },
  });
  const greater = (key: string, value: string): NodeSelectorTerm => ({
    matchExpressions: [{ key, operator: "Gt", values: [value] }],
  });
  assert.equal(reason(affinity(greater("cores", "4"))), undefined);
  assert.equal(reason(affinity(greater("model", "4"))), "NodeAffinity");
  assert.equal(reason(affinity(greater("cores", "many"))), "NodeAffinity");
  assert.equal(reason(affinity(greater("model", "4"), greater("cores", "4"))), undefined);
  assert.equal(reason({ nodeSelector: { zone: "b" } }), "NodeAffinity");
});
