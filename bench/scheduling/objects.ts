/** The objects that the workloads are made of, with the names and values of upstream's templates. */

export interface Made {
  readonly path: string;
  readonly object: object;
  readonly status?: object;
}

export const namespace = "bench";
export const driver = "test-driver.cdi.k8s.io";
export const testClassName = "test-class";
export const resource = "/apis/resource.k8s.io/v1";

export const range = <T>(count: number, make: (i: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => make(i));

export const nodeName = (i: number): string => `scheduler-perf-dra-${i}`;

export function node(i: number): Made {
  const amounts = { cpu: "4", memory: "32Gi", pods: "110" };
  const now = new Date().toISOString().replace(/\.\d+Z$/, "Z");
  const ready = {
    type: "Ready",
    status: "True",
    reason: "Ready",
    lastHeartbeatTime: now,
    lastTransitionTime: now,
  };
  const labels = { "kubernetes.io/hostname": nodeName(i), "node-with-dra": "true" };
  return {
    path: "/api/v1/nodes",
    object: { apiVersion: "v1", kind: "Node", metadata: { name: nodeName(i), labels } },
    status: { status: { capacity: amounts, allocatable: amounts, conditions: [ready] } },
  };
}

export function deviceClass(name: string, expression = `device.driver == "${driver}"`, more = {}): Made {
  const spec = { selectors: [{ cel: { expression } }], ...more };
  return {
    path: `${resource}/deviceclasses`,
    object: { apiVersion: "resource.k8s.io/v1", kind: "DeviceClass", metadata: { name }, spec },
  };
}

export function claim(name: string, devices: object, status?: object): Made {
  return {
    path: `${resource}/namespaces/${namespace}/resourceclaims`,
    object: {
      apiVersion: "resource.k8s.io/v1",
      kind: "ResourceClaim",
      metadata: { name, namespace },
      spec: { devices },
    },
    ...(status === undefined ? {} : { status: { status } }),
  };
}

export function claimTemplate(devices: object): Made {
  return {
    path: `${resource}/namespaces/${namespace}/resourceclaimtemplates`,
    object: {
      apiVersion: "resource.k8s.io/v1",
      kind: "ResourceClaimTemplate",
      metadata: { name: "test-claim-template", namespace },
      spec: { spec: { devices } },
    },
  };
}

export function podGroup(i: number, claimSource: object, schedulingPolicy: object): Made {
  return {
    path: `/apis/scheduling.k8s.io/v1beta1/namespaces/${namespace}/podgroups`,
    object: {
      apiVersion: "scheduling.k8s.io/v1beta1",
      kind: "PodGroup",
      metadata: { name: `test-dra-${i}`, namespace },
      spec: { resourceClaims: [{ name: "resource", ...claimSource }], schedulingPolicy },
    },
  };
}

export function pod(spec: object, container: object = {}): object {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "pod-{i}", namespace },
    spec: { containers: [{ name: "pause", image: "registry.k8s.io/pause:3.10.1", ...container }], ...spec },
  };
}

/** A pod with one claim, and with more in its spec. */
export const podWithClaim = (source: object, spec: object = {}): object =>
  pod(
    { resourceClaims: [{ name: "resource", ...source }], ...spec },
    { resources: { claims: [{ name: "resource" }] } },
  );

export const podWithTemplate = podWithClaim({ resourceClaimTemplateName: "test-claim-template" });
